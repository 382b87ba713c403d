//! One way in for every format of venue file: what was read, what is wrong, what can be drawn.
//!
//! Owns the choice of the format and the report; each format owns its own reading.

use super::finding::{Code, Finding};
use super::plan::Plan;
use super::{csv, pretix};
use crate::money::Money;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Bytes of one file.
pub const MAX_FILE_BYTES: usize = pretix::MAX_FILE_BYTES;
/// Findings of one report that are told one by one, errors and warnings each: more than anybody reads,
/// and few enough to store and to send.
pub const MAX_FINDINGS: usize = 10_000;
/// Seats that one finding of a pretix plan names.
const MAX_SEATS_NAMED: usize = 50;
/// Bytes from the beginning that tell a format.
const SNIFFED_BYTES: usize = 1_024;

/// A format of venue files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// The seating plan of pretix, in JSON.
    Pretix,
    /// A table, a line for each seat, range of seats or standing area.
    Csv,
    /// A drawing with `data-seat` and the like, or with telling ids.
    Svg,
}

/// What people chose about a file; everything that is not chosen is detected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The format; by name and content otherwise.
    pub format: Option<Format>,
    /// Repair what can be repaired without loss, and list it.
    pub tolerant: bool,
    /// Encoding of a table, by its WHATWG label.
    pub encoding: Option<String>,
    /// Separator of a table.
    pub separator: Option<char>,
    /// Columns of a table: our name of the column to its header in the file.
    pub columns: BTreeMap<String, String>,
    /// Pattern of ids of a drawing, with groups named `seat`, `row`, `section`.
    pub id_pattern: Option<String>,
}

/// How a table was understood.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// The encoding, by its WHATWG label.
    pub encoding: String,
    /// The separator.
    pub separator: char,
    /// The headers, as in the file.
    pub headers: Vec<String>,
    /// Our name of the column for each header; none for a column that is set aside.
    pub columns: Vec<Option<String>>,
    /// The first lines after the header.
    pub sample: Vec<Vec<String>>,
}

/// What became of a file.
#[derive(Clone, Debug)]
pub struct Report {
    /// The format that was read.
    pub format: Format,
    /// What can be drawn, also when there are errors; none when nothing could be made out.
    pub plan: Option<Plan>,
    /// All that refuses the file, in the order of the file.
    pub errors: Vec<Finding>,
    /// Repairs, defaults and oddities.
    pub warnings: Vec<Finding>,
    /// Errors beyond the number that is told one by one.
    pub errors_left_out: usize,
    /// Warnings beyond it.
    pub warnings_left_out: usize,
    /// How a table was understood.
    pub table: Option<Table>,
    /// Seats that the file says are never sold; the plan has them as seats.
    pub house_blocks: Vec<HouseBlock>,
    /// What the file says that categories cost.
    pub price_hints: Vec<PriceHint>,
}

/// Seats that are never sold, for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HouseBlock {
    /// Their numbers in the plan.
    pub seats: Vec<u32>,
    /// What the file says about them; may be empty.
    pub reason: String,
}

/// What a category costs, by the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceHint {
    /// Index into the plan's categories.
    pub category: usize,
    /// The price of one place.
    pub price: Money,
}

/// Reads a file of any format. Nothing is stored and nothing is lost: what the chosen rules refuse is
/// told, and drawn as far as it can be.
#[must_use]
pub fn read(bytes: &[u8], file_name: &str, options: &Options) -> Report {
    let format = options.format.unwrap_or_else(|| detect(bytes, file_name));
    if bytes.len() > MAX_FILE_BYTES {
        let message = format!("{} bytes, the limit is {MAX_FILE_BYTES}", bytes.len());
        return Report::refusal(format, Finding::new(Code::FileTooLarge, "", message));
    }
    if let Some(kind) = foreign(bytes) {
        let message = format!("this is {kind}; save it as CSV, SVG or pretix JSON first");
        return Report::refusal(format, Finding::new(Code::FormatUnknown, "", message));
    }
    let mut report = match format {
        Format::Pretix => plan_of_pretix(bytes, options.tolerant),
        Format::Csv => csv::read(bytes, stem(file_name), options),
        Format::Svg => drawing(bytes, options),
    };
    for (findings, left_out) in
        [(&mut report.errors, &mut report.errors_left_out), (&mut report.warnings, &mut report.warnings_left_out)]
    {
        *left_out += findings.len().saturating_sub(MAX_FINDINGS);
        findings.truncate(MAX_FINDINGS);
    }
    report
}

/// The format of a file by its content; where that can be anything, by its name.
#[must_use]
pub fn detect(bytes: &[u8], file_name: &str) -> Format {
    let extension = file_name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    let head = bytes.get(..SNIFFED_BYTES).unwrap_or(bytes);
    let mark = [0xEF, 0xBB, 0xBF, 0xFE, 0xFF, 0];
    match head.iter().find(|byte| !mark.contains(byte) && !byte.is_ascii_whitespace()) {
        Some(b'{') => Format::Pretix,
        Some(b'<') => Format::Svg,
        _ => match extension.as_deref() {
            Some("json") => Format::Pretix,
            Some("svg" | "svgz" | "xml") => Format::Svg,
            _ => Format::Csv,
        },
    }
}

/// Files that people take for one of ours.
fn foreign(bytes: &[u8]) -> Option<&'static str> {
    const KINDS: [(&[u8], &str); 4] = [
        (b"PK\x03\x04", "a workbook or another zipped file"),
        (b"\xD0\xCF\x11\xE0", "a workbook of the old kind"),
        (b"\x1F\x8B", "a compressed file"),
        (b"%PDF", "a PDF"),
    ];
    KINDS.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, kind)| *kind)
}

/// The name of a file without folders and extension.
fn stem(file_name: &str) -> &str {
    let name = file_name.rsplit(['/', '\\']).next().unwrap_or(file_name);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    // A plan's name is a text like any other.
    if stem.is_empty() || stem.len() > super::plan::MAX_TEXT_BYTES { "Plan" } else { stem }
}

/// A drawing.
fn drawing(_bytes: &[u8], _options: &Options) -> Report {
    let message = "drawings can't be read; a table or a pretix seating plan is expected";
    Report::refusal(Format::Svg, Finding::new(Code::FormatUnknown, "", message))
}

fn plan_of_pretix(bytes: &[u8], tolerant: bool) -> Report {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let breaks = before.iter().filter(|byte| **byte == b'\n').count();
            let message = format!("not UTF-8 at byte {}", error.valid_up_to());
            let line = u32::try_from(breaks + 1).ok();
            return Report::refusal(
                Format::Pretix,
                Finding { line, ..Finding::new(Code::EncodingBroken, "", message) },
            );
        }
    };
    let mut report = Report::empty(Format::Pretix);
    let mode = if tolerant { pretix::Mode::Tolerant } else { pretix::Mode::Strict };
    match pretix::import(text, mode) {
        Ok(imported) => {
            report.plan = Some(imported.plan);
            report.warnings = imported.warnings;
            report.warnings_left_out = imported.warnings_left_out;
        }
        Err(found) => {
            // What tolerance would make of it can be drawn.
            report.plan = pretix::import(text, pretix::Mode::Tolerant).ok().map(|imported| imported.plan);
            report.errors = found.errors;
            report.errors_left_out = found.errors_left_out;
            report.warnings = found.warnings;
            report.warnings_left_out = found.warnings_left_out;
        }
    }
    if let Some(plan) = &report.plan {
        let seats = SeatsByPath::new(plan);
        for finding in report.errors.iter_mut().chain(&mut report.warnings).take(2 * MAX_FINDINGS) {
            finding.seats = seats.named(finding);
        }
    }
    report
}

/// From the paths of a file to the seats of its plan.
struct SeatsByPath {
    /// The first row of each section.
    first_row: Vec<usize>,
    /// The seats of each row, in file order.
    rows: Vec<Vec<u32>>,
}

impl SeatsByPath {
    fn new(plan: &Plan) -> Self {
        let of = |section| plan.rows.partition_point(|row| usize::from(row.section) < section);
        Self { first_row: (0..=plan.sections.len()).map(of).collect(), rows: plan.seats_by_row() }
    }

    /// The seats that a finding's path and words name, such as `zones[0].rows[3].seats[7]`.
    fn named(&self, finding: &Finding) -> Vec<u32> {
        let mut seats = Vec::new();
        for text in [&finding.path, &finding.message] {
            for (at, _) in text.match_indices("zones[") {
                seats.extend(self.seats(text.get(at..).unwrap_or_default()));
                if seats.len() >= MAX_SEATS_NAMED {
                    seats.truncate(MAX_SEATS_NAMED);
                    return seats;
                }
            }
        }
        seats
    }

    /// The seat that a path begins with, or all of the row where it names no seat.
    fn seats(&self, path: &str) -> Vec<u32> {
        let number = |text: &str| -> Option<usize> { text.split_once(']')?.0.parse().ok() };
        let row = || -> Option<(&Vec<u32>, Option<usize>)> {
            let rest = path.strip_prefix("zones[")?;
            let zone = number(rest)?;
            let rest = rest.split_once("].")?.1.strip_prefix("rows[")?;
            let row = self.first_row.get(zone)?.checked_add(number(rest)?)?;
            if row >= *self.first_row.get(zone + 1)? {
                return None;
            }
            let seat = rest.split_once("].").and_then(|(_, rest)| number(rest.strip_prefix("seats[")?));
            Some((self.rows.get(row)?, seat))
        };
        match row() {
            Some((row, Some(seat))) => row.get(seat).copied().into_iter().collect(),
            Some((row, None)) => row.iter().copied().take(MAX_SEATS_NAMED).collect(),
            None => Vec::new(),
        }
    }
}

impl Report {
    /// A report without anything in it.
    #[must_use]
    pub fn empty(format: Format) -> Self {
        Self {
            format,
            plan: None,
            errors: Vec::new(),
            warnings: Vec::new(),
            errors_left_out: 0,
            warnings_left_out: 0,
            table: None,
            house_blocks: Vec::new(),
            price_hints: Vec::new(),
        }
    }

    fn refusal(format: Format, finding: Finding) -> Self {
        Self { errors: vec![finding], ..Self::empty(format) }
    }

    /// Whether the plan may be stored.
    #[must_use]
    pub fn accepted(&self) -> bool {
        self.errors.is_empty() && self.errors_left_out == 0 && self.plan.is_some()
    }
}
