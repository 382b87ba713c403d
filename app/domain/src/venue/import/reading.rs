//! The reading of a file by its format.

use super::super::finding::{Code, Finding};
use super::super::pretix::{self, Mode};
use super::{Format, Options, Report};

/// Reads a venue file: what it holds, and all that is wrong with it.
#[must_use]
pub fn read(bytes: &[u8], _file_name: &str, options: &Options) -> Report {
    let mode = if options.tolerant { Mode::Tolerant } else { Mode::Strict };
    let mut report = Report {
        format: Format::Pretix,
        plan: None,
        errors: Vec::new(),
        warnings: Vec::new(),
        errors_left_out: 0,
        warnings_left_out: 0,
        table: None,
    };
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let message = format!("not UTF-8 at byte {}", error.valid_up_to());
            report.errors.push(Finding::new(Code::JsonSyntax, String::new(), message));
            return report;
        }
    };
    match pretix::import(text, mode) {
        Ok(imported) => {
            report.plan = Some(imported.plan);
            report.warnings = imported.warnings;
            report.warnings_left_out = imported.warnings_left_out;
        }
        Err(refused) => {
            report.errors = refused.errors;
            report.errors_left_out = refused.errors_left_out;
            report.warnings = refused.warnings;
            // What the strict mode refuses can often be drawn all the same, with its faults marked.
            report.plan = pretix::import(text, Mode::Tolerant).ok().map(|imported| imported.plan);
        }
    }
    report
}
