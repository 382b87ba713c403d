//! Tables of places: reading them in any of their shapes, and writing one.
//!
//! Owns the format that `docs/venues.md` describes: a line for each seat, range of seats or standing
//! area. Reading tells every problem of a file at once, each at the file's own line, and makes a plan
//! of all lines or of none; what can be drawn is drawn also where the file is refused.
//!
//! It owns neither the choice between formats nor what a plan may hold.

mod build;
mod cells;
mod columns;
mod export;
mod layout;
mod lines;
mod order;
mod prices;
mod records;
mod text;

pub use export::{export, losses};

use std::collections::HashMap;

use super::finding::{Code, Finding, Findings};
use super::import::{Format, HouseBlock, Options, Report, Table};
use super::plan::Plan;
use super::pretix::{Mode, overlapping};
use build::Built;
use columns::{Column, Columns};
use lines::{Line, Reader, SectionName, short};
use records::{MAX_CELLS, Quote, Record, Records};

/// Separators that are told from the header.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// Lines after the header that a report shows.
const SAMPLE_LINES: usize = 5;
/// Seats that one finding names.
const MAX_SEATS_NAMED: usize = 100;

/// Where a plan sets aside the note of a seat.
fn note_path(guid: &str) -> String {
    format!("seats[{guid:?}].note")
}

/// Where a plan says that a seat is blocked.
fn blocked_path(guid: &str) -> String {
    format!("seats[{guid:?}].blocked")
}

/// Where a plan sets aside the price of a category.
fn price_path(category: &str) -> String {
    format!("categories[{category:?}].price")
}

/// Reads a table.
#[must_use]
pub fn read(bytes: &[u8], name: &str, options: &Options) -> Report {
    let mut findings = Findings::new(if options.tolerant { Mode::Tolerant } else { Mode::Strict });
    let mut table = None;
    let built = text::decode(bytes, options.encoding.as_deref(), &mut findings)
        .and_then(|text| table_of(&text, name, options, &mut findings, &mut table));
    let mut report = Report::empty(Format::Csv);
    report.table = table;
    let (mut seats_of, mut repeats_line) = (HashMap::new(), HashMap::new());
    if let Some((built, lines)) = built {
        if let Some(plan) = &built.plan {
            advise(plan, &built.seats_of, &mut findings);
            report.house_blocks = house_blocks(&lines, &built.seats_of);
            report.price_hints = built.prices.hints();
        }
        report.plan = built.plan.filter(|plan| !plan.seats.is_empty());
        (seats_of, repeats_line) = (built.seats_of, built.repeats_line);
    }
    let found = findings.into_errors();
    (report.errors, report.warnings) = (found.errors, found.warnings);
    (report.errors_left_out, report.warnings_left_out) = (found.errors_left_out, found.warnings_left_out);
    for findings in [&mut report.errors, &mut report.warnings] {
        findings.sort_by_key(|finding| finding.line);
        findings.iter_mut().for_each(|finding| name_seats(finding, &seats_of, &repeats_line));
    }
    report
}

/// Header, lines, plan; none when the header says that there is nothing to read.
fn table_of(
    text: &text::Text,
    name: &str,
    options: &Options,
    findings: &mut Findings,
    table: &mut Option<Table>,
) -> Option<(Built, Vec<Line>)> {
    let (separator, start) = separator(&text.text, options.separator, findings)?;
    let mut records = Records::new(&text.text, separator);
    let header = records.by_ref().find(|record| record.line >= start && !record.is_blank());
    let Some(header) = header else {
        findings.add(Code::NothingThere, String::new(), "the file is empty".into());
        return None;
    };
    tell_quotes(&header, findings);
    if header.count > MAX_CELLS {
        let message = format!("{} columns, the limit is {MAX_CELLS}", header.count);
        findings.tell(Finding { line: Some(header.line), ..Finding::new(Code::LimitExceeded, "header", message) });
        return None;
    }
    let names = header.cells.iter().map(|cell| cells::label(short(cell.trim())).text).collect();
    let columns = columns::matched(names, &options.columns, header.line, findings);
    *table = Some(Table {
        encoding: text.encoding.clone(),
        separator: char::from(separator),
        headers: columns.headers.clone(),
        columns: columns.meaning.iter().map(|meaning| meaning.map(|column| column.name().to_owned())).collect(),
        sample: sample(records.clone()),
    });
    required(&columns, header.line, findings)?;
    let (lines, sections) = read_lines(records, &columns, separator, findings);
    if lines.is_empty() {
        if !findings.has_errors() {
            findings.add(Code::NothingThere, String::new(), "the table names no place".into());
        }
        return None;
    }
    Some((build::build(name.to_owned(), &lines, &sections, findings), lines))
}

fn read_lines(
    records: Records<'_>,
    columns: &Columns,
    separator: u8,
    findings: &mut Findings,
) -> (Vec<Line>, Vec<SectionName>) {
    // The reader holds the findings; quotes are told before it gets them back.
    let mut quotes = Vec::new();
    let mut reader = Reader::new(columns, separator != b',', findings);
    let mut lines = Vec::new();
    for record in records {
        if record.is_blank() {
            continue;
        }
        quotes.extend(record.broken);
        // What an unclosed quote swallowed is no line.
        if matches!(record.broken, Some((_, Quote::Unclosed))) {
            break;
        }
        lines.extend(reader.line(&record));
        if reader.is_over() {
            break;
        }
    }
    let sections = reader.finish();
    for (line, quote) in quotes {
        tell_quote(line, quote, findings);
    }
    (lines, sections)
}

fn tell_quotes(record: &Record<'_>, findings: &mut Findings) {
    if let Some((line, quote)) = record.broken {
        tell_quote(line, quote, findings);
    }
}

fn tell_quote(line: u32, quote: Quote, findings: &mut Findings) {
    let (code, message) = match quote {
        Quote::Unclosed => (Code::QuoteUnclosed, "the quoted cell that begins here never ends"),
        Quote::Misplaced => (Code::QuoteMisplaced, "text follows the end of a quoted cell; quotes within are doubled"),
    };
    findings.tell(Finding { line: Some(line), ..Finding::new(code, "line", message) });
}

/// The separator, and the line from which the table begins: spreadsheets take a first line `sep=;`.
fn separator(text: &str, chosen: Option<char>, findings: &mut Findings) -> Option<(u8, u32)> {
    if let Some(chosen) = chosen {
        let usable = u8::try_from(chosen).ok().filter(|byte| {
            *byte == b'\t' || (byte.is_ascii_graphic() && !byte.is_ascii_alphanumeric() && !b"\"'-.".contains(byte))
        });
        let Some(byte) = usable else {
            let message = format!("{chosen:?} can't separate cells; a comma, semicolon, tab or bar is expected");
            findings.add(Code::OptionUnusable, "separator".into(), message);
            return None;
        };
        let told = text.lines().next().is_some_and(|line| line.trim().eq_ignore_ascii_case(&format!("sep={chosen}")));
        return Some((byte, if told { 2 } else { 1 }));
    }
    let told = text.lines().next().and_then(|line| line.trim_end().strip_prefix("sep="));
    if let Some(separator) = told.and_then(|told| SEPARATORS.into_iter().find(|byte| told.as_bytes() == [*byte])) {
        return Some((separator, 2));
    }
    // The one by which the header tells most; then the one that cuts it into most pieces.
    let weight = |separator: u8| {
        let header = Records::new(text, separator).find(|record| !record.is_blank());
        header.map_or((0, 0), |header| (Columns::known(&header.cells), header.count))
    };
    let best = SEPARATORS
        .into_iter()
        .map(|separator| (weight(separator), separator))
        .reduce(|best, other| if other.0 > best.0 { other } else { best });
    Some((best.map_or(b',', |(_, separator)| separator), 1))
}

fn sample(records: Records<'_>) -> Vec<Vec<String>> {
    records
        .filter(|record| !record.is_blank())
        .take(SAMPLE_LINES)
        .map(|record| record.cells.iter().map(|cell| short(cell.trim()).to_owned()).collect())
        .collect()
}

/// A table needs seats, or standing areas with their type and capacity.
fn required(columns: &Columns, line: u32, findings: &mut Findings) -> Option<()> {
    if columns.has(Column::Seat) || (columns.has(Column::Type) && columns.has(Column::Capacity)) {
        return Some(());
    }
    let headers: Vec<String> = columns.headers.iter().map(|header| format!("{header:?}")).collect();
    let message = format!(
        "no column \"seat\" (or \"type\" and \"capacity\" for standing areas); the headers are {}",
        headers.join(", ")
    );
    findings.tell(Finding { line: Some(line), ..Finding::new(Code::ColumnMissing, "column \"seat\"", message) });
    None
}

/// Tells what is allowed but odd.
fn advise(plan: &Plan, seats_of: &HashMap<u32, Vec<u32>>, findings: &mut Findings) {
    // Where places are missing or wrong, what lies over what says nothing yet.
    if findings.has_errors() {
        return;
    }
    let (pairs, searched) = overlapping(plan);
    let lines: HashMap<u32, u32> =
        seats_of.iter().flat_map(|(line, seats)| seats.iter().map(move |seat| (*seat, *line))).collect();
    for (seat, other) in pairs {
        let numbers = [seat, other].map(|seat| u32::try_from(seat).unwrap_or(u32::MAX));
        let [line, other_line] = numbers.map(|seat_no| lines.get(&seat_no).copied());
        let message = format!("drawn over the place of line {}", other_line.unwrap_or_default());
        let finding = Finding::new(Code::SeatsOverlap, "x, y", message);
        findings.tell(Finding { line, seats: numbers.to_vec(), ..finding });
    }
    if let Some(index) = searched {
        let message = format!("overlaps were searched among the first {index} seats only");
        findings.add(Code::OverlapCheckIncomplete, String::new(), message);
    }
}

/// Blocked seats by what their notes say, in the order of the plan.
fn house_blocks(lines: &[Line], seats_of: &HashMap<u32, Vec<u32>>) -> Vec<HouseBlock> {
    let mut blocks: Vec<HouseBlock> = Vec::new();
    let mut index: HashMap<&str, usize> = HashMap::new();
    for line in lines.iter().filter(|line| line.blocked) {
        let block = *index.entry(&line.note).or_insert_with(|| {
            blocks.push(HouseBlock { seats: Vec::new(), reason: line.note.clone() });
            blocks.len() - 1
        });
        if let Some(block) = blocks.get_mut(block) {
            block.seats.extend(seats_of.get(&line.line).into_iter().flatten());
        }
    }
    blocks.iter_mut().for_each(|block| block.seats.sort_unstable());
    blocks.sort_by_key(|block| block.seats.first().copied());
    blocks
}

/// The seats of a finding's line; for a line that was left out, those of the line that it repeats.
fn name_seats(finding: &mut Finding, seats_of: &HashMap<u32, Vec<u32>>, repeats_line: &HashMap<u32, u32>) {
    if !finding.seats.is_empty() {
        return;
    }
    let Some(line) = finding.line else { return };
    let of = |line: &u32| seats_of.get(line).into_iter().flatten().copied();
    let seats = of(&line).chain(repeats_line.get(&line).into_iter().flat_map(of));
    finding.seats = seats.take(MAX_SEATS_NAMED).collect();
}
