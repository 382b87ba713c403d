//! From records to lines: what each line of the table says, and what is wrong with it.
//!
//! Owns the reading of one line at a time. What can only be told from all lines together (repeated
//! seats, coordinates for some) is for the step after it.

use std::collections::HashMap;

use super::cells::{self, NoAmount, Type};
use super::columns::{Column, Columns};
use super::records::Record;
use crate::money::{Currency, Money};
use crate::venue::finding::{Code, Finding, Findings};
use crate::venue::geometry::Point;
use crate::venue::plan::{Kind, MAX_SEATS, MAX_SECTIONS, MAX_TEXT_BYTES};

/// The section of a line that names none.
pub(super) const DEFAULT_SECTION: &str = "Main";
/// The category of a line that names none.
pub(super) const DEFAULT_CATEGORY: &str = "Standard";

/// What a place costs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Price {
    /// An amount of money.
    Money(Money),
    /// A number without a currency.
    Bare(String),
}

/// A section by name, and the part of the house that its first line is in.
pub(super) struct SectionName {
    pub(super) name: String,
    pub(super) stand: String,
}

/// What a line says.
pub(super) struct Line {
    pub(super) line: u32,
    pub(super) section: usize,
    pub(super) row: String,
    pub(super) labels: Vec<String>,
    /// Whether the labels are the places of a standing area.
    pub(super) area: bool,
    pub(super) place: Option<Point>,
    pub(super) category: String,
    pub(super) price: Option<Price>,
    pub(super) kind: Kind,
    pub(super) blocked: bool,
    pub(super) restricted_view: bool,
    pub(super) note: String,
    pub(super) id: String,
}

/// Reads lines and remembers what they have in common.
pub(super) struct Reader<'a> {
    columns: &'a Columns,
    /// Whether a comma may stand for the decimal point.
    comma: bool,
    findings: &'a mut Findings,
    pub(super) sections: Vec<SectionName>,
    section_index: HashMap<String, usize>,
    /// Seats that may still come.
    left: usize,
    /// A limit was passed: what follows would only repeat it.
    over: bool,
    /// For each default: its column, the value, the first line and how many.
    defaults: Vec<(Column, &'static str, u32, usize)>,
    /// Lines with a price but no currency, and the first of them.
    bare_prices: (usize, u32),
}

impl<'a> Reader<'a> {
    pub(super) fn new(columns: &'a Columns, comma: bool, findings: &'a mut Findings) -> Self {
        Self {
            columns,
            comma,
            findings,
            sections: Vec::new(),
            section_index: HashMap::new(),
            left: MAX_SEATS,
            over: false,
            defaults: Vec::new(),
            bare_prices: (0, 0),
        }
    }

    /// Whether a limit was passed: what follows would only repeat it.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    fn tell(&mut self, code: Code, column: Column, line: u32, message: impl Into<String>) {
        self.findings.tell(Finding { line: Some(line), ..Finding::new(code, self.columns.path(column), message) });
    }

    fn default(&mut self, column: Column, value: &'static str, line: u32) {
        match self.defaults.iter_mut().find(|default| default.0 == column) {
            Some(default) => default.3 += 1,
            None => self.defaults.push((column, value, line, 1)),
        }
    }

    /// Tells, once each, what stood in for empty cells.
    pub(super) fn finish(self) -> Vec<SectionName> {
        for (column, value, line, count) in self.defaults {
            let message = if self.columns.has(column) {
                format!("empty in {count} lines; {value:?} is used")
            } else {
                format!("no such column; {value:?} is used")
            };
            let line = self.columns.has(column).then_some(line);
            self.findings.tell(Finding { line, ..Finding::new(Code::DefaultUsed, self.columns.path(column), message) });
        }
        if self.bare_prices.0 > 0 {
            let message =
                format!("{} lines have a price but no currency; such prices are set aside", self.bare_prices.0);
            let path = self.columns.path(Column::Price);
            self.findings
                .tell(Finding { line: Some(self.bare_prices.1), ..Finding::new(Code::PriceSetAside, path, message) });
        }
        self.sections
    }

    fn raw<'r>(&self, record: &'r Record<'_>, column: Column) -> &'r str {
        let cell = self.columns.place(column).and_then(|place| record.cells.get(place));
        cell.map_or("", |cell| cell.trim())
    }

    /// A text as plans keep it; empty where it can't be kept, which is told.
    fn text(&mut self, record: &Record<'_>, column: Column) -> (String, bool) {
        let (raw, literal) = cells::unguarded(self.raw(record, column), column == Column::Seat);
        if raw.len() > MAX_TEXT_BYTES {
            let message = format!("{} bytes, the limit is {MAX_TEXT_BYTES}", raw.len());
            self.tell(Code::TextTooLong, column, record.line, message);
            return (String::new(), literal);
        }
        let label = cells::label(raw);
        if label.text.len() > MAX_TEXT_BYTES {
            let message = format!("{} bytes when normalised, the limit is {MAX_TEXT_BYTES}", label.text.len());
            self.tell(Code::TextTooLong, column, record.line, message);
            return (String::new(), literal);
        }
        if label.joined {
            self.tell(Code::TextCleaned, column, record.line, "line breaks or tabs became spaces");
        }
        if let Some(removed) = label.removed {
            self.control(column, record.line, removed);
        }
        (label.text, literal)
    }

    fn control(&mut self, column: Column, line: u32, removed: char) {
        let message =
            format!("the invisible character U+{:04X} has no place here; it is taken out", u32::from(removed));
        self.tell(Code::ControlCharacter, column, line, message);
    }

    /// An id as written, but for outer spaces.
    fn id(&mut self, record: &Record<'_>) -> String {
        let (raw, _) = cells::unguarded(self.raw(record, Column::Id), false);
        let steers = |c: char| cells::steers(c) || matches!(c, '\u{2028}' | '\u{2029}');
        if let Some(removed) = raw.chars().find(|c| steers(*c)) {
            self.control(Column::Id, record.line, removed);
        }
        if raw.len() > MAX_TEXT_BYTES {
            let message = format!("{} bytes, the limit is {MAX_TEXT_BYTES}", raw.len());
            self.tell(Code::TextTooLong, Column::Id, record.line, message);
            return String::new();
        }
        raw.chars().filter(|c| !steers(*c)).collect::<String>().trim().to_owned()
    }

    /// The line of a record; none when it names no place, which is told.
    pub(super) fn line(&mut self, record: &Record<'_>) -> Option<Line> {
        self.count_cells(record);
        let (kind, blocked) = self.kind(record);
        let section = self.section(record);
        let row = self.row(record);
        let place = self.place(record);
        let restricted_view = self.restricted_view(record);
        let price = self.price(record);
        let category = self.category(record, price.is_some());
        let (note, _) = self.text(record, Column::Note);
        let id = self.id(record);
        let (labels, area) = self.labels(record, kind)?;
        if labels.len() > 1 && !area && place.is_some() {
            let message = format!("{} seats can't stand at one place: write a line for each", labels.len());
            self.tell(Code::RangeAtOnePlace, Column::Seat, record.line, message);
        }
        let line = record.line;
        Some(Line {
            line,
            section: section?,
            row,
            labels,
            area,
            place,
            category,
            price,
            kind,
            blocked,
            restricted_view,
            note,
            id,
        })
    }

    fn count_cells(&mut self, record: &Record<'_>) {
        let wanted = self.columns.headers.len();
        let spare = record.cells.iter().skip(wanted).any(|cell| !cell.trim().is_empty());
        let (code, message) = if record.count < wanted {
            (Code::CellsMissing, format!("{} cells, the header has {wanted}", record.count))
        } else if spare || record.count > super::records::MAX_CELLS {
            (Code::CellsExtra, format!("{} cells, the header has {wanted}", record.count))
        } else {
            return;
        };
        self.findings.tell(Finding { line: Some(record.line), ..Finding::new(code, "line", message) });
    }

    fn kind(&mut self, record: &Record<'_>) -> (Kind, bool) {
        let word = self.raw(record, Column::Type);
        if word.is_empty() {
            return (Kind::Seat, false);
        }
        match cells::type_of(word) {
            Some(Type::Of(kind)) => (kind, false),
            Some(Type::Blocked) => (Kind::Seat, true),
            None => {
                let message = format!(
                    "{:?} is none of seat, standing, wheelchair, companion, blocked; it is taken for a seat",
                    short(word)
                );
                self.tell(Code::UnknownValue, Column::Type, record.line, message);
                (Kind::Seat, false)
            }
        }
    }

    fn section(&mut self, record: &Record<'_>) -> Option<usize> {
        let (mut name, literal) = self.text(record, Column::Section);
        if name.is_empty() && !literal {
            self.default(Column::Section, DEFAULT_SECTION, record.line);
            name = DEFAULT_SECTION.to_owned();
        }
        if let Some(&index) = self.section_index.get(&name) {
            return Some(index);
        }
        let index = self.sections.len();
        if index >= MAX_SECTIONS {
            self.tell(Code::LimitExceeded, Column::Section, record.line, format!("more sections than {MAX_SECTIONS}"));
            self.over = true;
            return None;
        }
        let stand = cells::label(short(self.raw(record, Column::Stand))).text;
        self.section_index.insert(name.clone(), index);
        self.sections.push(SectionName { name, stand });
        Some(index)
    }

    fn row(&mut self, record: &Record<'_>) -> String {
        if !self.columns.has(Column::Row) {
            self.default(Column::Row, "", record.line);
        }
        self.text(record, Column::Row).0
    }

    fn category(&mut self, record: &Record<'_>, priced: bool) -> String {
        let (name, literal) = self.text(record, Column::Category);
        if name.is_empty() && !literal && !priced {
            self.default(Column::Category, DEFAULT_CATEGORY, record.line);
            return DEFAULT_CATEGORY.to_owned();
        }
        name
    }

    fn place(&mut self, record: &Record<'_>) -> Option<Point> {
        let mut read = |column| {
            let text = self.raw(record, column);
            if text.is_empty() {
                return None;
            }
            let value = cells::coordinate(text, self.comma);
            if value.is_none() {
                let message = format!("{:?} is no coordinate within ±1,000,000", short(text));
                self.tell(Code::NumberMalformed, column, record.line, message);
            }
            Some(value.unwrap_or_default())
        };
        match (read(Column::X), read(Column::Y)) {
            (Some(x), Some(y)) => Some(Point::new(x, y)),
            (None, None) => None,
            (x, _) => {
                let column = if x.is_some() { Column::Y } else { Column::X };
                self.tell(Code::CoordinatesPartial, column, record.line, "one of the two coordinates is missing");
                // The line is refused; it need not be told again that others have both.
                Some(Point::default())
            }
        }
    }

    fn restricted_view(&mut self, record: &Record<'_>) -> bool {
        let word = self.raw(record, Column::RestrictedView);
        cells::yes_or_no(word).unwrap_or_else(|| {
            let message = format!("{:?} is neither yes nor no; it is taken for no", short(word));
            self.tell(Code::UnknownValue, Column::RestrictedView, record.line, message);
            false
        })
    }

    fn price(&mut self, record: &Record<'_>) -> Option<Price> {
        let (text, code) = (self.raw(record, Column::Price), self.raw(record, Column::Currency));
        if text.is_empty() {
            return None;
        }
        if code.is_empty() {
            self.bare_prices =
                (self.bare_prices.0 + 1, if self.bare_prices.0 == 0 { record.line } else { self.bare_prices.1 });
            if cells::decimal(text, self.comma).is_none() {
                self.tell(Code::NumberMalformed, Column::Price, record.line, format!("{:?} is no price", short(text)));
                return None;
            }
            return Some(Price::Bare(text.to_owned()));
        }
        let currency: Currency = match code.parse() {
            Ok(currency) => currency,
            Err(_) => {
                let message = format!("{:?} is no currency: three letters of ISO 4217 are expected", short(code));
                self.tell(Code::NumberMalformed, Column::Currency, record.line, message);
                return None;
            }
        };
        match cells::amount(text, self.comma, currency.exponent()) {
            Ok(minor) => Some(Price::Money(Money::new(minor, currency))),
            Err(error) => {
                let message = match error {
                    NoAmount::Malformed => format!("{:?} is no price", short(text)),
                    NoAmount::Digits => {
                        format!("{:?} has more than the {} decimals of {currency}", short(text), currency.exponent())
                    }
                };
                self.tell(Code::NumberMalformed, Column::Price, record.line, message);
                None
            }
        }
    }

    /// The labels of the line's places, and whether they are those of a standing area.
    fn labels(&mut self, record: &Record<'_>, kind: Kind) -> Option<(Vec<String>, bool)> {
        let line = record.line;
        let capacity = self.raw(record, Column::Capacity);
        let (seat, literal) = self.text(record, Column::Seat);
        if !capacity.is_empty() {
            if kind != Kind::Standing || !seat.is_empty() {
                let message = "a capacity belongs to a line of the type standing without a seat";
                self.tell(Code::CapacityMisplaced, Column::Capacity, line, message);
                return None;
            }
            let count = match capacity.parse::<u64>() {
                Ok(count) if count > 0 => count,
                _ => {
                    let message = format!("{:?} is no number of places", short(capacity));
                    self.tell(Code::NumberMalformed, Column::Capacity, line, message);
                    return None;
                }
            };
            self.take(count, Column::Capacity, line)?;
            return Some(((1..=count).map(|number| number.to_string()).collect(), true));
        }
        if seat.is_empty() && !literal {
            let (column, message) = match kind {
                Kind::Standing => (Column::Capacity, "a standing area needs its capacity, a standing place its number"),
                _ => (Column::Seat, "the line names no seat"),
            };
            self.tell(Code::MissingProperty, column, line, message);
            return None;
        }
        let count = if literal { None } else { cells::range_count(&seat) };
        self.take(count.unwrap_or(1), Column::Seat, line)?;
        let labels = if count.is_some() { cells::range_labels(&seat) } else { vec![seat] };
        Some((labels, false))
    }

    /// Takes places from what a plan may hold.
    fn take(&mut self, count: u64, column: Column, line: u32) -> Option<()> {
        match usize::try_from(count).ok().and_then(|count| self.left.checked_sub(count)) {
            Some(left) => {
                self.left = left;
                Some(())
            }
            None => {
                let message = format!("{count} more places are more than the {MAX_SEATS} that a plan may hold");
                self.tell(Code::LimitExceeded, column, line, message);
                self.over = true;
                None
            }
        }
    }
}

/// A cell as findings quote it.
pub(super) fn short(text: &str) -> &str {
    const MOST_CHARS: usize = 60;
    text.char_indices().nth(MOST_CHARS).map_or(text, |(end, _)| text.get(..end).unwrap_or_default())
}
