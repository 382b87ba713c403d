//! The reading of a file by its format.

use super::{Format, MAX_FILE_BYTES, MAX_FINDINGS, Options, Report};
use crate::venue::finding::{Code, Finding};
use crate::venue::plan::{Draft, MAX_TEXT_BYTES, Plan};
use crate::venue::{csv, pretix, svg};
use std::collections::HashMap;

/// Seats that one finding of a pretix plan names.
const MAX_SEATS_NAMED: usize = 50;
/// Bytes from the beginning that tell a format.
const SNIFFED_BYTES: usize = 1_024;

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
    if stem.is_empty() || stem.len() > MAX_TEXT_BYTES { "Plan" } else { stem }
}

/// A drawing.
fn drawing(bytes: &[u8], options: &Options) -> Report {
    let text = match text_of(bytes) {
        Ok(text) => text,
        Err(finding) => return Report::refusal(Format::Svg, finding),
    };
    let outcome = svg::read(text, options.id_pattern.as_deref(), options.tolerant);
    let mut report = Report::empty(Format::Svg);
    match outcome.draft.map(Draft::finish) {
        Some(Ok(plan)) => report.plan = Some(plan),
        Some(Err(error)) => report.errors.push(Finding::new(Code::LimitExceeded, "", error.to_string())),
        None => {}
    }
    let seats = report.plan.as_ref().map(|plan| &plan.seats);
    let numbers: HashMap<&str, u32> =
        seats.into_iter().flat_map(|seats| (0_u32..).zip(seats)).map(|(no, seat)| (seat.guid.as_str(), no)).collect();
    for told in outcome.findings {
        let seats = told.guids.iter().filter_map(|guid| numbers.get(guid.as_str()).copied()).take(MAX_SEATS_NAMED);
        let finding =
            Finding { line: told.line, seats: seats.collect(), ..Finding::new(told.code, told.path, told.message) };
        if told.refuses { report.errors.push(finding) } else { report.warnings.push(finding) }
    }
    if let Some(plan) = report.plan.as_ref().filter(|_| report.errors.is_empty()) {
        report.warnings.extend(overlaps(plan));
    }
    report
}

/// Seats of a drawing that lie over each other, named as tickets name them.
fn overlaps(plan: &Plan) -> impl Iterator<Item = Finding> {
    let (pairs, searched) = pretix::overlapping(plan);
    let name = |seat: usize| {
        let label = u32::try_from(seat).ok().and_then(|seat| plan.seat_label(seat));
        label.map(|label| format!("{}, row {}, seat {}", label.section, label.row, label.seat)).unwrap_or_default()
    };
    let tell = |(seat, other): (usize, usize)| {
        let message = format!("{} is drawn over {}", name(seat), name(other));
        let seats = [seat, other].into_iter().filter_map(|seat| u32::try_from(seat).ok()).collect();
        Finding { seats, ..Finding::new(Code::SeatsOverlap, "", message) }
    };
    let given_up = searched.map(|index| {
        let message = format!("overlaps were searched among the first {index} seats only");
        Finding::new(Code::OverlapCheckIncomplete, "", message)
    });
    pairs.into_iter().map(tell).chain(given_up).collect::<Vec<_>>().into_iter()
}

/// The text of a file that must be UTF-8.
fn text_of(bytes: &[u8]) -> Result<&str, Finding> {
    std::str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let breaks = before.iter().filter(|byte| **byte == b'\n').count();
        let message = format!("not UTF-8 at byte {}", error.valid_up_to());
        Finding { line: u32::try_from(breaks + 1).ok(), ..Finding::new(Code::EncodingBroken, "", message) }
    })
}

fn plan_of_pretix(bytes: &[u8], tolerant: bool) -> Report {
    let text = match text_of(bytes) {
        Ok(text) => text,
        Err(finding) => return Report::refusal(Format::Pretix, finding),
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
