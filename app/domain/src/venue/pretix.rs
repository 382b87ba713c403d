//! The seating-plan format of pretix: import in two modes, and export.
//!
//! Owns the mapping between that JSON and a [`Plan`]. The schema is walked by hand, because people
//! must be told every problem at once, each with the exact path of the value.
//!
//! **Strict** takes what the schema allows, with unique guids and declared categories.
//! **Tolerant** also takes older and foreign files: it fills in defaults, sets unknown properties
//! aside and repairs guids, and lists each such act. Neither mode merges or drops a seat.

mod check;
mod export;
mod node;
mod walk;

pub use super::finding::{Code, Finding, ImportErrors};
#[cfg(feature = "import")]
pub(in crate::venue) use check::overlapping;
pub use export::{export, losses};

use super::finding::Findings;
use super::plan::Plan;
use node::Node;
use walk::Walk;

/// Bytes of one file. A plan of the largest size takes about 30 MB with long guids and UUIDs.
pub const MAX_FILE_BYTES: usize = 64 * 1024 * 1024;
/// Findings that are told one by one; beyond, only their number is.
pub const MAX_FINDINGS: usize = 100_000;

/// How much an import forgives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The schema, unique guids, declared categories: any deviation refuses the file.
    Strict,
    /// Deviations that lose nothing are repaired by a stable rule and listed.
    Tolerant,
}

/// A plan, and what people should know about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The layout.
    pub plan: Plan,
    /// Repairs, defaults and oddities.
    pub warnings: Vec<Finding>,
    /// Warnings beyond [`MAX_FINDINGS`].
    pub warnings_left_out: usize,
}

/// Reads a pretix seating plan.
///
/// # Errors
///
/// Every problem of the file, not only the first, each with its path.
pub fn import(text: &str, mode: Mode) -> Result<Imported, ImportErrors> {
    let mut findings = Findings::new(mode);
    if text.len() > MAX_FILE_BYTES {
        findings.add(Code::FileTooLarge, String::new(), format!("{} bytes, the limit is {MAX_FILE_BYTES}", text.len()));
        return Err(findings.into_errors());
    }
    // A byte order mark is no part of JSON, but many editors write one.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let root: Node = match serde_json::from_str(text) {
        Ok(root) => root,
        Err(error) => {
            findings.add(
                Code::JsonSyntax,
                format!("line {} column {}", error.line(), error.column()),
                error.to_string(),
            );
            return Err(findings.into_errors());
        }
    };
    let mut walk = Walk::new(mode, &mut findings);
    let draft = walk.plan(&root);
    let guids = walk.into_guids();
    let repairs = check::guids(&guids, &mut findings);
    let Some(mut draft) = draft.filter(|_| !findings.has_errors()) else {
        return Err(findings.into_errors());
    };
    check::apply(&mut draft, repairs);
    match draft.finish() {
        Ok(plan) => {
            check::advise(&plan, &mut findings);
            let (warnings, warnings_left_out) = findings.into_warnings();
            Ok(Imported { plan, warnings, warnings_left_out })
        }
        Err(error) => {
            findings.add(Code::LimitExceeded, String::new(), error.to_string());
            Err(findings.into_errors())
        }
    }
}
