//! Venue plans as their pages see them: files on their way in, and plans that were accepted.
//!
//! Owns the bounds of what is kept and shown of a check. The check itself is `venue::import`.

mod choices;
mod outline;

pub use crate::venue::import::COLUMNS;
pub use choices::{Choices, ColumnChoice, ENCODINGS, SEPARATORS};
pub use outline::{CategoryRow, Counts, Outline, SectionRow, StandingRow};

use crate::ids::{ImportId, PlanId, SeatNo};
use crate::time::ZonedTime;
use crate::venue::finding::Finding;
use crate::venue::import::{Format, Options, Report, Table};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Findings of one kind that are kept to be read; of the others, only their number is. Nobody reads
/// more before the file is mended and checked again.
pub const FINDINGS_KEPT_MAX: usize = 2_000;
/// Findings on one page of the list.
pub const FINDINGS_A_PAGE: usize = 100;
/// Seats that are marked on the drawing, of errors and of warnings each.
pub const MARKS_MAX: usize = 5_000;
/// Seats that are kept with one finding.
const SEATS_A_FINDING_MAX: usize = 100;
/// Longest text of a finding that is kept, in characters: files may hold labels of a kilobyte.
const TEXT_MAX_CHARS: usize = 400;
/// Longest cell of a sample line, in characters.
const CELL_MAX_CHARS: usize = 60;
/// Most columns of a table that are shown and mapped.
pub const COLUMNS_MAX: usize = 100;
/// Lines of a table that are shown.
const SAMPLE_LINES_MAX: usize = 5;

/// What a check found, as it is kept beside the file: bounded, whatever the file was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    /// The format that was read.
    pub format: Format,
    /// Whether the plan may be accepted.
    pub accepted: bool,
    /// What can be drawn.
    pub outline: Option<Outline>,
    /// The first errors.
    pub errors: Vec<Finding>,
    /// All errors.
    pub error_count: u32,
    /// The first warnings.
    pub warnings: Vec<Finding>,
    /// All warnings.
    pub warning_count: u32,
    /// Seats that errors are about.
    pub bad: Vec<SeatNo>,
    /// Seats that warnings alone are about.
    pub care: Vec<SeatNo>,
    /// How a table was understood.
    pub table: Option<Table>,
}

impl Checked {
    /// What is kept of a report.
    #[must_use]
    pub fn of(report: &Report) -> Self {
        let bad = seats_of(&report.errors);
        let care = seats_of(&report.warnings).difference(&bad).copied().collect::<BTreeSet<_>>();
        let first = |seats: BTreeSet<SeatNo>| seats.into_iter().take(MARKS_MAX).collect();
        Self {
            format: report.format,
            accepted: report.accepted(),
            outline: report.plan.as_ref().map(Outline::of),
            errors: kept(&report.errors),
            error_count: count(report.errors.len() + report.errors_left_out),
            warnings: kept(&report.warnings),
            warning_count: count(report.warnings.len() + report.warnings_left_out),
            care: first(care),
            bad: first(bad),
            table: report.table.as_ref().map(shown_table),
        }
    }

    /// One page of the findings, errors first, with the number of pages: at least one.
    #[must_use]
    pub fn page(&self, filter: Filter, page: u32) -> (Vec<Told>, u32) {
        let tell = |refuses: bool| move |finding: &Finding| Told { finding: finding.clone(), refuses };
        let errors = self.errors.iter().filter(|_| filter != Filter::Warnings).map(tell(true));
        let warnings = self.warnings.iter().filter(|_| filter != Filter::Errors).map(tell(false));
        let all = match filter {
            Filter::All => self.errors.len() + self.warnings.len(),
            Filter::Errors => self.errors.len(),
            Filter::Warnings => self.warnings.len(),
        };
        let pages = all.div_ceil(FINDINGS_A_PAGE).max(1);
        let page = (page.max(1) as usize).min(pages);
        let told = errors.chain(warnings).skip((page - 1) * FINDINGS_A_PAGE).take(FINDINGS_A_PAGE).collect();
        (told, count(pages))
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn seats_of(findings: &[Finding]) -> BTreeSet<SeatNo> {
    findings.iter().flat_map(|finding| &finding.seats).copied().map(SeatNo).collect()
}

fn kept(findings: &[Finding]) -> Vec<Finding> {
    let bounded = |finding: &Finding| Finding {
        path: shown(&finding.path, TEXT_MAX_CHARS),
        line: finding.line,
        code: finding.code,
        message: shown(&finding.message, TEXT_MAX_CHARS),
        seats: finding.seats.iter().copied().take(SEATS_A_FINDING_MAX).collect(),
    };
    findings.iter().take(FINDINGS_KEPT_MAX).map(bounded).collect()
}

fn shown_table(table: &Table) -> Table {
    let cells = |cells: &[String], most: usize| -> Vec<String> {
        cells.iter().take(COLUMNS_MAX).map(|cell| shown(cell, most)).collect()
    };
    Table {
        encoding: table.encoding.clone(),
        // Where nothing was read, there is none.
        separator: if table.separator == '\0' { ',' } else { table.separator },
        headers: cells(&table.headers, TEXT_MAX_CHARS),
        columns: table.columns.iter().take(COLUMNS_MAX).cloned().collect(),
        sample: table.sample.iter().take(SAMPLE_LINES_MAX).map(|line| cells(line, CELL_MAX_CHARS)).collect(),
    }
}

/// A text of a file as it can be kept and shown: cut, and without the NUL that no store takes.
#[must_use]
pub fn shown(text: &str, most_chars: usize) -> String {
    let clean = |c: char| if c == '\0' { char::REPLACEMENT_CHARACTER } else { c };
    if text.chars().nth(most_chars).is_none() {
        return text.chars().map(clean).collect();
    }
    text.chars().take(most_chars).map(clean).chain(['…']).collect()
}

/// Which findings are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Filter {
    /// Errors, then warnings.
    #[default]
    All,
    /// What refuses the file.
    Errors,
    /// Repairs, defaults and oddities.
    Warnings,
}

impl Filter {
    /// The text form, as in addresses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Errors => "errors",
            Self::Warnings => "warnings",
        }
    }

    /// Reads the text form; anything else is all.
    #[must_use]
    pub fn parse(text: Option<&str>) -> Self {
        match text {
            Some("errors") => Self::Errors,
            Some("warnings") => Self::Warnings,
            _ => Self::All,
        }
    }
}

/// A finding as it is listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// The finding.
    pub finding: Finding,
    /// Whether the file is refused for it.
    pub refuses: bool,
}

/// Where a file stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportState {
    /// Its errors must be mended, or other choices made.
    Refused,
    /// It can be accepted.
    Ready,
    /// It became a plan.
    Accepted,
}

impl ImportState {
    /// The state of a file by its check and its plan.
    #[must_use]
    pub fn of(accepted: bool, plan: Option<PlanId>) -> Self {
        match (plan, accepted) {
            (Some(_), _) => Self::Accepted,
            (None, true) => Self::Ready,
            (None, false) => Self::Refused,
        }
    }

    /// The stable text form.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Ready => "ready",
            Self::Accepted => "accepted",
        }
    }
}

/// A file in the list of uploads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportRow {
    /// The upload.
    pub id: ImportId,
    /// Name of the file.
    pub file_name: String,
    /// Where it stands.
    pub state: ImportState,
    /// Seats of what can be drawn.
    pub seats: Option<u32>,
    /// All errors.
    pub error_count: u32,
    /// All warnings.
    pub warning_count: u32,
    /// The plan that it became.
    pub plan: Option<PlanId>,
    /// When it was uploaded, in UTC.
    pub uploaded: ZonedTime,
}

/// A venue that is known already: to take a newer plan without typing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Name of the venue.
    pub venue: String,
    /// City.
    pub city: String,
    /// Time zone, such as `Europe/Berlin`.
    pub time_zone: String,
}

/// A file between upload and acceptance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportView {
    /// The upload.
    pub id: ImportId,
    /// Name of the file.
    pub file_name: String,
    /// Raised by each new check; changes name the one that they saw.
    pub version: i32,
    /// Where it stands.
    pub state: ImportState,
    /// What was chosen.
    pub options: Options,
    /// The format that was read.
    pub format: Format,
    /// What can be drawn.
    pub outline: Option<Outline>,
    /// Name of the published map of what can be drawn.
    pub map_digest: Option<String>,
    /// All errors.
    pub error_count: u32,
    /// All warnings.
    pub warning_count: u32,
    /// Which findings are listed.
    pub filter: Filter,
    /// The page of the list, from 1.
    pub page: u32,
    /// Pages of the list.
    pub pages: u32,
    /// The findings of this page.
    pub findings: Vec<Told>,
    /// Findings that are told one by one, over all pages.
    pub findings_kept: u32,
    /// Seats that errors are about.
    pub bad: Vec<SeatNo>,
    /// Seats that warnings alone are about.
    pub care: Vec<SeatNo>,
    /// How a table was understood.
    pub table: Option<Table>,
    /// The plan that it became.
    pub plan: Option<PlanId>,
    /// When it was uploaded, in UTC.
    pub uploaded: ZonedTime,
    /// Venues that are known already, the newest first.
    pub places: Vec<Place>,
}

/// A plan in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanRow {
    /// The plan.
    pub id: PlanId,
    /// Where it is of.
    pub place: Place,
    /// Seats.
    pub seats: u32,
    /// Performances on it.
    pub performances: u32,
    /// Whether it is the newest of its venue.
    pub newest: bool,
    /// When it was accepted, at the venue.
    pub made: ZonedTime,
}

/// The list of plans, and the files that were uploaded lately.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanList {
    /// Plans, the newest first.
    pub plans: Vec<PlanRow>,
    /// Files, the newest first.
    pub imports: Vec<ImportRow>,
}

/// A plan in full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanView {
    /// The plan in the list.
    pub row: PlanRow,
    /// Name of its published map.
    pub map_digest: String,
    /// What it holds.
    pub outline: Outline,
    /// What an export to pretix JSON can't carry: the first of it.
    pub losses: Vec<Finding>,
    /// All of that.
    pub loss_count: u32,
}

/// Losses that are listed with a plan.
pub const LOSSES_SHOWN_MAX: usize = 20;

/// A form in which a plan is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExportFormat {
    /// pretix JSON.
    Json,
    /// A table.
    Csv,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::venue::finding::Code;

    fn report(errors: usize, warnings: usize) -> Report {
        let finding = |index: usize| Finding {
            seats: vec![u32::try_from(index).unwrap(), 1],
            ..Finding::new(Code::GuidRepeated, "x".repeat(2_000), format!("number {index}\0"))
        };
        Report {
            errors: (0..errors).map(finding).collect(),
            warnings: (0..warnings).map(finding).collect(),
            errors_left_out: 7,
            warnings_left_out: 0,
            table: Some(Table {
                headers: vec!["h".repeat(900); 500],
                columns: vec![None; 500],
                sample: vec![vec!["s".repeat(900); 500]; 50],
                ..Table::default()
            }),
            ..Report::empty(Format::Csv)
        }
    }

    #[test]
    fn what_is_kept_of_a_check_is_bounded_and_all_is_counted() {
        let checked = Checked::of(&report(9_000, 30_000));
        assert_eq!((checked.errors.len(), checked.warnings.len()), (FINDINGS_KEPT_MAX, FINDINGS_KEPT_MAX));
        assert_eq!((checked.error_count, checked.warning_count), (9_007, 30_000));
        assert_eq!((checked.bad.len(), checked.care.len()), (MARKS_MAX, MARKS_MAX));
        assert!(!checked.care.contains(&SeatNo(3)), "an error says more than a warning");
        assert!(!checked.accepted);
        let json = serde_json::to_string(&checked).unwrap();
        assert!(json.len() < 3_000_000, "{} bytes", json.len());
        assert!(!json.contains("\\u0000"), "no store takes it");
    }

    #[test]
    fn pages_list_errors_first_and_none_is_beyond_the_last() {
        let checked = Checked::of(&report(150, 60));
        let (first, pages) = checked.page(Filter::All, 1);
        assert_eq!((first.len(), pages), (100, 3));
        assert!(first.iter().all(|told| told.refuses));
        let (second, _) = checked.page(Filter::All, 2);
        assert_eq!(second.iter().filter(|told| told.refuses).count(), 50);
        assert_eq!(checked.page(Filter::All, u32::MAX).0.len(), 10);
        assert_eq!(checked.page(Filter::All, 0).0, first);
        let (warnings, pages) = checked.page(Filter::Warnings, 1);
        assert_eq!((warnings.len(), pages), (60, 1));
        assert!(warnings.iter().all(|told| !told.refuses));
        assert_eq!(Checked::of(&report(0, 0)).page(Filter::Errors, 1), (Vec::new(), 1));
    }
}
