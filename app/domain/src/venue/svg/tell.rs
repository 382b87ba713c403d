//! What there is to say about a drawing, while it gathers.
//!
//! Owns bounds on the number of findings and the counting of what comes in thousands.

use crate::venue::finding::Code;
use crate::venue::pretix::{MAX_FINDINGS, Mode};

/// Seats that one finding names by guid; its message counts all.
pub(super) const MAX_GUIDS: usize = 1_000;
/// Bytes between two counts of lines.
const BLOCK_BYTES: usize = 4_096;

/// One thing that there is to say about a drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The kind.
    pub code: Code,
    /// Whether the file is refused for it.
    pub refuses: bool,
    /// The element, such as `svg/g[2]/circle[5]#id`; empty for the whole file.
    pub path: String,
    /// The line of the file, from 1.
    pub line: Option<u32>,
    /// The particulars, in words.
    pub message: String,
    /// The seats concerned, by guid; at most a thousand.
    pub guids: Vec<String>,
}

/// Where something is to be said.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// The whole file.
    File,
    /// A line.
    Line(u32),
    /// An element and its line.
    Element(String, u32),
}

/// Something that comes in numbers and is told once.
struct Counted {
    code: Code,
    what: &'static str,
    place: Place,
    count: usize,
    examples: Vec<String>,
}

/// Findings while they gather.
pub(super) struct Tells {
    mode: Mode,
    list: Vec<Told>,
    counted: Vec<Counted>,
    refuses: bool,
    left_out: usize,
    left_out_refuses: bool,
}

impl Tells {
    pub(super) fn new(mode: Mode) -> Self {
        Self { mode, list: Vec::new(), counted: Vec::new(), refuses: false, left_out: 0, left_out_refuses: false }
    }

    /// Whether anything so far refuses the file.
    pub(super) fn refuses(&self) -> bool {
        self.refuses
    }

    pub(super) fn add(&mut self, code: Code, place: Place, message: String, mut guids: Vec<String>) {
        let refuses = code.refuses(self.mode);
        self.refuses |= refuses;
        if self.list.len() >= MAX_FINDINGS {
            self.left_out += 1;
            self.left_out_refuses |= refuses;
            return;
        }
        guids.truncate(MAX_GUIDS);
        let (path, line) = match place {
            Place::File => (String::new(), None),
            Place::Line(line) => (String::new(), Some(line)),
            Place::Element(path, line) => (path, Some(line)),
        };
        self.list.push(Told { code, refuses, path, line, message, guids });
    }

    /// Counts one more of a kind; the first is where it is told. `place` is only asked for that.
    pub(super) fn count(&mut self, code: Code, what: &'static str, example: &str, place: impl FnOnce() -> Place) {
        const FEW: usize = 5;
        let known = self.counted.iter().position(|counted| counted.code == code && counted.what == what);
        let index = known.unwrap_or_else(|| {
            self.counted.push(Counted { code, what, place: place(), count: 0, examples: Vec::new() });
            self.counted.len() - 1
        });
        if let Some(counted) = self.counted.get_mut(index) {
            counted.count += 1;
            if counted.examples.len() < FEW && !example.is_empty() {
                counted.examples.push(format!("{:?}", super::label::short(example)));
            }
        }
    }

    /// All findings: of the whole file first, then by line.
    pub(super) fn into_list(mut self) -> Vec<Told> {
        for Counted { code, what, place, count, examples } in std::mem::take(&mut self.counted) {
            let more = if examples.is_empty() { String::new() } else { format!(": {}", examples.join(", ")) };
            let more = if !examples.is_empty() && examples.len() < count { format!("{more}, …") } else { more };
            self.add(code, place, format!("{count} × {what}{more}"), Vec::new());
        }
        self.list.sort_by_key(|told| told.line);
        if self.left_out > 0 {
            self.list.push(Told {
                code: Code::LimitExceeded,
                refuses: self.left_out_refuses,
                path: String::new(),
                line: None,
                message: format!("and {} more findings", self.left_out),
                guids: Vec::new(),
            });
        }
        self.list
    }
}

/// The lines of a text, found by byte.
pub(super) struct Lines<'t> {
    text: &'t [u8],
    before: Vec<u32>,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let mut before = vec![0_u32];
        for block in text.as_bytes().chunks(BLOCK_BYTES) {
            before.push(before.last().copied().unwrap_or(0) + breaks(block));
        }
        Self { text: text.as_bytes(), before }
    }

    /// The line of that byte, from 1.
    pub(super) fn at(&self, byte: usize) -> u32 {
        let byte = byte.min(self.text.len());
        let block = byte / BLOCK_BYTES;
        self.before.get(block).copied().unwrap_or(0) + breaks(&self.text[block * BLOCK_BYTES..byte]) + 1
    }
}

fn breaks(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |count, byte| count + u32::from(*byte == b'\n'))
}
