//! Seating plans drawn as SVG: seats are marked by `data-seat` and the like, or by telling ids.
//!
//! Owns the reading of a drawing into a [`Draft`], and all that is to be said about it. A drawing
//! comes from outside and is never trusted: its size, depth, references and repetitions are bounded,
//! a document type is never read, and nothing of it is ever served. Only numbers, plain texts and
//! checked colours enter the draft; scripts, styles, pictures and links stay behind and are told.
//!
//! **Invariant: nothing is dropped unsaid.** What was meant as a seat is either in the draft or named
//! by a finding; of the background, what is left out is counted.

mod backdrop;
mod build;
mod fit;
mod guid;
mod label;
mod naming;
mod paint;
mod pattern;
mod scan;
mod shape;
mod sitting;
mod standing;
mod state;
mod survey;
mod tell;
mod walk;
mod words;

pub use tell::Told;

use super::finding::Code;
use super::plan::Draft;
use super::pretix::{MAX_FILE_BYTES, Mode};
use pattern::Pattern;
use roxmltree::{Document, Error, ParsingOptions};
use tell::{Lines, Place, Tells};

/// Nodes of one drawing: a house of the greatest size with ten for each seat.
const MAX_NODES: u32 = 1_000_000;

/// What became of a drawing.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What can be drawn, also when there are findings that refuse the file.
    pub draft: Option<Draft>,
    /// All that there is to say, in the order of the file.
    pub findings: Vec<Told>,
}

/// Reads a drawing. `id_pattern` tells seats by their ids where `data-seat` is missing: either
/// with placeholders, such as `seat-{seat}-{row}-{section}`, or a regular expression with groups of
/// these names. `tolerant` repairs what can be repaired without loss.
#[must_use]
pub fn read(text: &str, id_pattern: Option<&str>, tolerant: bool) -> Outcome {
    let mut tells = Tells::new(if tolerant { Mode::Tolerant } else { Mode::Strict });
    let draft = draw(text, id_pattern, &mut tells);
    Outcome { draft, findings: tells.into_list() }
}

fn draw(text: &str, id_pattern: Option<&str>, tells: &mut Tells) -> Option<Draft> {
    if text.len() > MAX_FILE_BYTES {
        let message = format!("{} bytes, the limit is {MAX_FILE_BYTES}", text.len());
        tells.add(Code::FileTooLarge, Place::File, message, Vec::new());
        return None;
    }
    let pattern = id_pattern.map(str::trim).filter(|text| !text.is_empty()).and_then(|text| {
        Pattern::new(text).map_err(|message| tells.add(Code::PatternInvalid, Place::File, message, Vec::new())).ok()
    });
    let pattern_failed = tells.refuses();
    // A byte order mark is no part of XML, but many editors write one.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = scan::check(text, tells)?;
    let options = ParsingOptions { allow_dtd: false, nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    let document = match Document::parse_with_options(&text, options) {
        Ok(document) => document,
        Err(error) => {
            tell_syntax(&error, &text, tells);
            return None;
        }
    };
    let root = document.root_element();
    if survey::svg_name(root) != Some("svg") {
        let message = format!("the outermost element is <{}>, a drawing begins with <svg>", root.tag_name().name());
        tells.add(Code::XmlSyntax, Place::Line(1), message, Vec::new());
        return None;
    }
    let lines = Lines::new(&text);
    let survey = survey::Survey::of(&document, &lines, tells);
    let sheet = paint::Sheet::parse(&survey.css);
    let mut found = walk::Walk::new(&survey, &sheet, pattern.as_ref(), &lines, tells).run(root);
    if found.is_empty() && !pattern_failed {
        tell_no_seats(&found.unmarked, id_pattern, tells);
    }
    build::draft(&mut found, tells)
}

fn tell_syntax(error: &Error, text: &str, tells: &mut Tells) {
    let last = u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
    let (code, line, message) = match error {
        Error::DtdDetected => (Code::XmlDoctype, 1, "a document type is never read; save without one".to_owned()),
        Error::UnknownEntityReference(name, at) => {
            (Code::XmlDoctype, at.row, format!("the entity &{name}; is declared nowhere, and entities are never read"))
        }
        Error::NodesLimitReached => {
            (Code::LimitExceeded, 1, format!("more than {MAX_NODES} elements, texts and comments"))
        }
        Error::UnexpectedEndOfStream | Error::UnclosedRootNode => {
            (Code::XmlSyntax, last.max(1), "the file ends in the middle of an element".to_owned())
        }
        other => (Code::XmlSyntax, other.pos().row, other.to_string()),
    };
    tells.add(code, Place::Line(line), message, Vec::new());
}

fn tell_no_seats(ids: &[&str], id_pattern: Option<&str>, tells: &mut Tells) {
    let hint = match pattern::guess(ids) {
        Some(guess) => format!("the ids look as if the pattern {guess} would tell them"),
        None if ids.is_empty() => "mark each seat with data-seat, data-row and data-section".to_owned(),
        None => format!("mark seats with data-seat, or give a pattern for ids such as {}", examples(ids)),
    };
    let what = match id_pattern {
        Some(given) => format!("no element has data-seat, and the pattern {given} matches no id"),
        None => "no element has data-seat, and no pattern of ids was given".to_owned(),
    };
    tells.add(Code::NoSeats, Place::File, format!("{what}; {hint}"), Vec::new());
}

/// The first few of a list, quoted.
fn examples(ids: &[&str]) -> String {
    const FEW: usize = 5;
    ids.iter().take(FEW).map(|id| format!("{:?}", label::short(id))).collect::<Vec<_>>().join(", ")
}
