//! What a cell can say: labels, numbers, words of a kind, ranges of seats.
//!
//! Owns single values, both ways: what [`guarded`] writes, [`unguarded`] reads back. Knows neither
//! lines nor findings.

use unicode_normalization::UnicodeNormalization as _;

use crate::venue::plan::{Kind, MAX_COORDINATE, stepped};

/// Characters that make a spreadsheet take a cell for a formula.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

/// A cell as it is written. An apostrophe is put before text that a spreadsheet would run as a
/// formula, before text that begins so already, in place of an empty text that means itself, and, in
/// the column of seats, before a label that looks like a range.
pub(super) fn guarded(text: &str, seat: bool) -> String {
    let begins = text.starts_with(FORMULA) || text == "'" || text.strip_prefix('\'').is_some_and(escapes);
    let range = seat && (looks_like_range(text) || text.strip_prefix('\'').is_some_and(looks_like_range));
    if text.is_empty() || begins || range { format!("'{text}") } else { text.to_owned() }
}

fn escapes(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('\'') || rest.starts_with(FORMULA)
}

/// The text that a cell means, and whether it was guarded, so that it is no range.
pub(super) fn unguarded(cell: &str, seat: bool) -> (&str, bool) {
    match cell.strip_prefix('\'') {
        Some(rest) if escapes(rest) || (seat && looks_like_range(rest)) => (rest, true),
        _ => (cell, false),
    }
}

/// A label as plans keep it, and what was done to it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) text: String,
    /// Line breaks became spaces.
    pub(super) joined: bool,
    /// The first character that was taken out.
    pub(super) removed: Option<char>,
}

/// Normalises to NFC and trims; takes out what steers devices or turns the direction of writing.
pub(super) fn label(text: &str) -> Label {
    let mut label = Label::default();
    for c in text.trim().nfc() {
        if matches!(c, '\n' | '\r' | '\t' | '\u{85}' | '\u{2028}' | '\u{2029}') {
            label.joined = true;
            if !label.text.ends_with(' ') {
                label.text.push(' ');
            }
        } else if steers(c) {
            label.removed.get_or_insert(c);
        } else {
            label.text.push(c);
        }
    }
    let trimmed = label.text.trim();
    if trimmed.len() != label.text.len() {
        label.text = trimmed.to_owned();
    }
    label
}

/// Control characters, and invisible ones that reorder what people read.
pub(super) fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// A decimal number; the comma as its point only where it separates no cells.
pub(super) fn decimal(text: &str, comma: bool) -> Option<String> {
    let plain = if comma && !text.contains('.') { text.replacen(',', ".", 1) } else { text.to_owned() };
    // Some programs write a true minus.
    let plain = plain.replace('\u{2212}', "-");
    let digits = plain.strip_prefix(['-', '+']).unwrap_or(&plain);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    let all = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (all(whole) && all(part)).then_some(plain)
}

/// A coordinate in plan units.
pub(super) fn coordinate(text: &str, comma: bool) -> Option<f64> {
    let value: f64 = decimal(text, comma)?.parse().ok()?;
    (value.is_finite() && value.abs() <= MAX_COORDINATE).then(|| stepped(value))
}

/// What an amount in minor units can't be made of.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoAmount {
    /// No number, or a negative one.
    Malformed,
    /// More digits behind the point than the currency has.
    Digits,
}

/// An amount in minor units of a currency with that many digits behind the point.
pub(super) fn amount(text: &str, comma: bool, digits: u32) -> Result<i64, NoAmount> {
    let plain = decimal(text, comma).filter(|plain| !plain.starts_with('-')).ok_or(NoAmount::Malformed)?;
    let plain = plain.trim_start_matches('+');
    let (whole, part) = plain.split_once('.').unwrap_or((plain, ""));
    let part = part.trim_end_matches('0');
    if part.len() > digits as usize {
        return Err(NoAmount::Digits);
    }
    format!("{whole}{part:0<width$}", width = digits as usize).parse().map_err(|_| NoAmount::Malformed)
}

/// What a line is, by its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// A place of that kind.
    Of(Kind),
    /// A seat that is never sold.
    Blocked,
}

/// Words for what a line is, in several languages.
const TYPES: [(Type, &[&str]); 5] = [
    (
        Type::Of(Kind::Seat),
        &[
            "seat",
            "seated",
            "sitz",
            "sitzplatz",
            "siège",
            "assis",
            "asiento",
            "место",
            "сидячее",
            "сидение",
            "сидяче",
            "座位",
            "坐席",
            "座席",
            "席",
            "좌석",
        ],
    ),
    (
        Type::Of(Kind::Standing),
        &[
            "standing",
            "stand",
            "ga",
            "stehplatz",
            "steh",
            "debout",
            "de pie",
            "стоячее",
            "стоя",
            "танцпол",
            "фан-зона",
            "стояче",
            "站票",
            "站席",
            "站位",
            "立見",
            "立ち見",
            "スタンディング",
            "스탠딩",
        ],
    ),
    (
        Type::Of(Kind::Wheelchair),
        &[
            "wheelchair",
            "accessible",
            "rollstuhl",
            "rollstuhlplatz",
            "pmr",
            "fauteuil roulant",
            "silla de ruedas",
            "инвалидное",
            "для инвалидов",
            "колясочник",
            "візок",
            "轮椅",
            "轮椅席",
            "輪椅",
            "車椅子",
            "車いす",
            "휠체어",
        ],
    ),
    (
        Type::Of(Kind::Companion),
        &[
            "companion",
            "carer",
            "begleitung",
            "begleitperson",
            "accompagnateur",
            "acompañante",
            "сопровождающий",
            "супровід",
            "陪同",
            "陪护",
            "同伴",
            "付添",
            "付き添い",
            "동반자",
        ],
    ),
    (
        Type::Blocked,
        &[
            "blocked",
            "house",
            "kill",
            "killed",
            "gesperrt",
            "bloqué",
            "bloqueado",
            "заблокировано",
            "заблокировано",
            "закрыто",
            "заблоковано",
            "锁定",
            "不可售",
            "封锁",
            "販売不可",
            "차단",
        ],
    ),
];

/// What a line is, by its word; case does not count.
pub(super) fn type_of(word: &str) -> Option<Type> {
    let word = word.to_lowercase();
    TYPES.iter().find(|(_, words)| words.contains(&word.as_str())).map(|(of, _)| *of)
}

/// The word of a type as it is written.
pub(super) fn type_word(kind: Kind, blocked: bool) -> &'static str {
    match (blocked, kind) {
        (true, _) => "blocked",
        (false, Kind::Seat) => "seat",
        (false, Kind::Standing) => "standing",
        (false, Kind::Wheelchair) => "wheelchair",
        (false, Kind::Companion) => "companion",
    }
}

/// Yes or no in several languages.
pub(super) fn yes_or_no(word: &str) -> Option<bool> {
    const YES: [&str; 16] =
        ["yes", "y", "true", "1", "x", "да", "ja", "oui", "si", "sí", "так", "是", "有", "はい", "✓", "예"];
    const NO: [&str; 13] = ["", "no", "n", "false", "0", "нет", "nein", "non", "ні", "否", "无", "いいえ", "아니요"];
    let word = word.to_lowercase();
    if YES.contains(&word.as_str()) {
        Some(true)
    } else if NO.contains(&word.as_str()) {
        Some(false)
    } else {
        None
    }
}

/// Seats from a number to another in steps; `width` digits, where the file wrote leading zeros.
struct Range {
    from: u64,
    to: u64,
    step: u64,
    width: usize,
}

impl Range {
    fn count(&self) -> u64 {
        // The step is at least one.
        self.from.abs_diff(self.to) / self.step + 1
    }
}

/// Whether the cell is a list of seats and not a label: numbers and ranges of numbers alone, at least
/// one range or two numbers.
pub(super) fn looks_like_range(cell: &str) -> bool {
    ranges(cell).is_some()
}

/// `1-10,12-16`, `1-19/2` (every second), `10-1` (from right to left), `01-09` (two digits).
fn ranges(cell: &str) -> Option<Vec<Range>> {
    let mut list = Vec::new();
    let mut several = false;
    for item in cell.split([',', ';']) {
        let (span, step) = match item.split_once('/') {
            Some((span, step)) => (span, number(step.trim())?),
            None => (item, 1),
        };
        let ends = span.split_once(['-', '\u{2013}']);
        several |= ends.is_some();
        let (from, to) = ends.unwrap_or((span, span));
        let (from, to) = (from.trim(), to.trim());
        if step == 0 || (ends.is_none() && item.contains('/')) {
            return None;
        }
        let width = if from.starts_with('0') { from.len() } else { 1 };
        list.push(Range { from: number(from)?, to: number(to)?, step, width });
    }
    (several || list.len() > 1).then_some(list)
}

fn number(text: &str) -> Option<u64> {
    // Sixteen digits are more than any seat has, and add up without overflow.
    let fits = !text.is_empty() && text.len() <= 16 && text.bytes().all(|byte| byte.is_ascii_digit());
    if fits { text.parse().ok() } else { None }
}

/// How many seats the ranges of a cell hold; none for a label.
pub(super) fn range_count(cell: &str) -> Option<u64> {
    Some(ranges(cell)?.iter().map(Range::count).fold(0, u64::saturating_add))
}

/// The labels of a cell's ranges. The caller has looked at [`range_count`] before.
pub(super) fn range_labels(cell: &str) -> Vec<String> {
    let mut labels = Vec::new();
    for Range { from, to, step, width } in ranges(cell).unwrap_or_default() {
        let count = from.abs_diff(to) / step;
        for index in 0..=count {
            let number = if from <= to { from + index * step } else { from - index * step };
            labels.push(format!("{number:0width$}"));
        }
    }
    labels
}
