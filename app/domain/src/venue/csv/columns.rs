//! Columns: their names in several languages, and which column of a file means what.
//!
//! Owns matching by name, in any order and case; people's own choice comes first.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization as _;

use crate::venue::finding::{Code, Finding, Findings};

/// What a column means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Section,
    Row,
    Seat,
    X,
    Y,
    Category,
    Price,
    Currency,
    Type,
    Capacity,
    RestrictedView,
    Note,
    Id,
    /// The part of the house that a section belongs to; it helps to lay out, and is not kept.
    Stand,
}

/// Our name of each column, and what else it is called. Case, spaces and `_-.` don't count.
const NAMES: [(Column, &str, &[&str]); 14] = [
    (
        Column::Section,
        "section",
        &[
            "sector",
            "block",
            "zone",
            "bereich",
            "sektor",
            "secteur",
            "bloc",
            "sección",
            "seccion",
            "bloque",
            "settore",
            "setor",
            "setor",
            "сектор",
            "секция",
            "зона",
            "блок",
            "секція",
            "区域",
            "区",
            "區域",
            "區",
            "看台区",
            "ブロック",
            "エリア",
            "セクション",
            "구역",
        ],
    ),
    (
        Column::Row,
        "row",
        &[
            "line",
            "reihe",
            "rang",
            "rangée",
            "rangee",
            "fila",
            "fileira",
            "ряд",
            "排",
            "排号",
            "行",
            "列",
            "列番号",
            "열",
            "rzad",
            "rząd",
            "řada",
        ],
    ),
    (
        Column::Seat,
        "seat",
        &[
            "seats",
            "seatnumber",
            "seatno",
            "place",
            "number",
            "platz",
            "sitz",
            "sitzplatz",
            "platznummer",
            "siège",
            "siege",
            "asiento",
            "butaca",
            "posto",
            "assento",
            "место",
            "номерместа",
            "номер",
            "місце",
            "座位",
            "座号",
            "座位号",
            "座",
            "座席",
            "席",
            "席番号",
            "座席番号",
            "좌석",
            "miejsce",
            "sedadlo",
        ],
    ),
    (Column::X, "x", &["posx", "positionx", "coordx", "xcoordinate", "координатах", "х"]),
    (Column::Y, "y", &["posy", "positiony", "coordy", "ycoordinate", "координатау", "у"]),
    (
        Column::Category,
        "category",
        &[
            "pricecategory",
            "pricelevel",
            "pricezone",
            "kategorie",
            "preiskategorie",
            "catégorie",
            "categorie",
            "categoría",
            "categoria",
            "категория",
            "ценоваякатегория",
            "категорія",
            "类别",
            "类型票",
            "票档",
            "价位",
            "類別",
            "券種",
            "カテゴリ",
            "カテゴリー",
            "등급",
        ],
    ),
    (
        Column::Price,
        "price",
        &[
            "amount",
            "preis",
            "prix",
            "precio",
            "prezzo",
            "preço",
            "цена",
            "стоимость",
            "ціна",
            "价格",
            "票价",
            "價格",
            "価格",
            "料金",
            "가격",
        ],
    ),
    (
        Column::Currency,
        "currency",
        &[
            "währung",
            "waehrung",
            "devise",
            "monnaie",
            "moneda",
            "divisa",
            "valuta",
            "moeda",
            "валюта",
            "货币",
            "币种",
            "貨幣",
            "通貨",
            "통화",
        ],
    ),
    (
        Column::Type,
        "type",
        &[
            "kind",
            "seattype",
            "art",
            "typ",
            "platzart",
            "genre",
            "tipo",
            "тип",
            "вид",
            "типместа",
            "种类",
            "座位类型",
            "種類",
            "種別",
            "유형",
        ],
    ),
    (
        Column::Capacity,
        "capacity",
        &[
            "places",
            "kapazität",
            "kapazitaet",
            "capacité",
            "capacite",
            "jauge",
            "capacidad",
            "aforo",
            "capacità",
            "вместимость",
            "ёмкость",
            "емкость",
            "місткість",
            "容量",
            "人数",
            "定員",
            "수용인원",
        ],
    ),
    (
        Column::RestrictedView,
        "restricted_view",
        &[
            "obstructedview",
            "limitedview",
            "sichtbehinderung",
            "sichteingeschränkt",
            "visibilitéréduite",
            "visibilidadreducida",
            "ограниченныйобзор",
            "обмеженийогляд",
            "视线受阻",
            "視線受阻",
            "見切れ",
            "見切れ席",
        ],
    ),
    (
        Column::Note,
        "note",
        &[
            "notes",
            "comment",
            "remark",
            "bemerkung",
            "notiz",
            "remarque",
            "commentaire",
            "nota",
            "comentario",
            "примечание",
            "комментарий",
            "примітка",
            "备注",
            "備註",
            "備考",
            "비고",
        ],
    ),
    (
        Column::Id,
        "id",
        &[
            "guid",
            "uuid",
            "seatguid",
            "seatid",
            "sourceid",
            "identifier",
            "kennung",
            "identifiant",
            "identificador",
            "ид",
            "идентификатор",
            "ідентифікатор",
            "编号",
            "標識",
            "識別子",
        ],
    ),
    (
        Column::Stand,
        "stand",
        &[
            "tribune",
            "tribüne",
            "tier",
            "level",
            "rangtribüne",
            "tribuna",
            "grada",
            "трибуна",
            "ярус",
            "看台",
            "スタンド",
            "관람석",
        ],
    ),
];

impl Column {
    /// Our name.
    pub(super) fn name(self) -> &'static str {
        NAMES.iter().find(|(column, ..)| *column == self).map_or("", |(_, name, _)| name)
    }

    fn by_name(name: &str) -> Option<Self> {
        NAMES.iter().find(|(_, ours, _)| *ours == name).map(|(column, ..)| *column)
    }
}

/// Which cell of a record holds what.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    /// What each column means.
    pub(super) meaning: Vec<Option<Column>>,
    /// Its header, trimmed.
    pub(super) headers: Vec<String>,
}

impl Columns {
    /// The place of a column.
    pub(super) fn place(&self, column: Column) -> Option<usize> {
        self.meaning.iter().position(|meaning| *meaning == Some(column))
    }

    pub(super) fn has(&self, column: Column) -> bool {
        self.place(column).is_some()
    }

    /// How people find the column: by the header in their file.
    pub(super) fn path(&self, column: Column) -> String {
        let header = self.place(column).and_then(|place| self.headers.get(place));
        format!("column {:?}", header.map_or(column.name(), String::as_str))
    }

    /// How many headers are known, without any choice: what the separator is told by.
    pub(super) fn known(headers: &[impl AsRef<str>]) -> usize {
        let mut known: Vec<Column> = Vec::new();
        for header in headers {
            match BY_NAME.get(&simple(header.as_ref())) {
                Some((column, _)) if !known.contains(column) => known.push(*column),
                _ => {}
            }
        }
        known.len()
    }
}

/// What a simplified header means, and whether it is our own name.
static BY_NAME: LazyLock<HashMap<String, (Column, bool)>> = LazyLock::new(|| {
    let others =
        NAMES.iter().flat_map(|(column, _, others)| others.iter().map(|other| (simple(other), (*column, false))));
    let ours = NAMES.iter().map(|(column, name, _)| (simple(name), (*column, true)));
    // Our own names come last, and stand over others.
    others.chain(ours).collect()
});

/// A header without what doesn't count. No name is long.
fn simple(header: &str) -> String {
    super::lines::short(header)
        .nfkc()
        .flat_map(char::to_lowercase)
        .filter(|c| !c.is_whitespace() && !matches!(c, '_' | '-' | '.'))
        .collect()
}

/// Finds out which column means what, and tells what is set aside or can't be.
pub(super) fn matched(
    headers: Vec<String>,
    chosen: &BTreeMap<String, String>,
    line: u32,
    findings: &mut Findings,
) -> Columns {
    let plain: Vec<String> = headers.iter().map(|header| simple(header)).collect();
    let mut columns = Columns { meaning: vec![None; headers.len()], headers };
    let mut settled = Vec::new();
    for (name, header) in chosen {
        let Some(column) = Column::by_name(name.trim()) else {
            let known: Vec<&str> = NAMES.iter().map(|(_, name, _)| *name).collect();
            let message = format!("there is no column {name:?}; there are {}", known.join(", "));
            findings.add(Code::OptionUnusable, "columns".into(), message);
            continue;
        };
        settled.push(column);
        // An empty choice says that the file has no such column, whatever its headers look like.
        if header.trim().is_empty() {
            continue;
        }
        match plain.iter().position(|plain| *plain == simple(header)) {
            Some(place) if columns.meaning[place].is_none() => columns.meaning[place] = Some(column),
            Some(_) => {
                let message = format!("the column {header:?} was chosen for two meanings");
                findings.add(Code::OptionUnusable, format!("columns.{name}"), message);
            }
            None => {
                let message = format!("the file has no column {header:?}");
                findings.add(Code::OptionUnusable, format!("columns.{name}"), message);
            }
        }
    }
    for (column, name, _) in NAMES {
        if !settled.contains(&column) {
            by_name(&mut columns, &plain, (column, name), line, findings);
        }
    }
    for (header, meaning) in columns.headers.iter().zip(&columns.meaning) {
        if meaning.is_none() && !header.is_empty() {
            let message = "plans have no such column; it is set aside";
            let path = format!("column {header:?}");
            findings.tell(Finding { line: Some(line), ..Finding::new(Code::ColumnSetAside, path, message) });
        }
    }
    columns
}

/// Our own name first, then the others; two of one rank can't be told apart.
fn by_name(
    columns: &mut Columns,
    plain: &[String],
    (column, name): (Column, &str),
    line: u32,
    findings: &mut Findings,
) {
    let free = |place: &usize| columns.meaning.get(*place).is_some_and(Option::is_none);
    let places = |ours: bool| -> Vec<usize> {
        let meant = plain.iter().enumerate().filter(|(_, plain)| BY_NAME.get(*plain) == Some(&(column, ours)));
        meant.map(|(place, _)| place).filter(free).collect()
    };
    let mut found = places(true);
    if found.is_empty() {
        found = places(false);
    }
    if let [first, second, ..] = found.as_slice() {
        let message = format!(
            "{:?} and {:?} both mean {name}: choose one of them",
            columns.headers.get(*first).map_or("", String::as_str),
            columns.headers.get(*second).map_or("", String::as_str),
        );
        findings.tell(Finding {
            line: Some(line),
            ..Finding::new(Code::ColumnRepeated, format!("column {name:?}"), message)
        });
    }
    if let Some(meaning) = found.first().and_then(|first| columns.meaning.get_mut(*first)) {
        *meaning = Some(column);
    }
}
