//! From text to records: separators, quotes, line breaks, and the file's own line numbers.
//!
//! Owns RFC 4180, told strictly: a quote that never ends would swallow the rest of the file, so it is
//! an error at the line where it began, not a very long cell.

use std::borrow::Cow;

/// Cells of one record that are looked at; a plan has fourteen columns.
pub(super) const MAX_CELLS: usize = 256;

/// A record of the file.
pub(super) struct Record<'t> {
    /// The line that it begins in, from 1.
    pub(super) line: u32,
    /// Its cells, at most [`MAX_CELLS`].
    pub(super) cells: Vec<Cow<'t, str>>,
    /// How many cells there are.
    pub(super) count: usize,
    /// What is wrong with its quotes, and in which line.
    pub(super) broken: Option<(u32, Quote)>,
}

/// What can be wrong with a quoted cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quote {
    /// The text ended within it.
    Unclosed,
    /// Text follows it.
    Misplaced,
}

/// The records of a text, one after the other.
#[derive(Clone)]
pub(super) struct Records<'t> {
    text: &'t str,
    at: usize,
    line: u32,
    separator: u8,
}

impl<'t> Records<'t> {
    /// From the beginning; the separator is ASCII.
    pub(super) fn new(text: &'t str, separator: u8) -> Self {
        Self { text, at: 0, line: 1, separator }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Steps over a line break, if there is one here.
    fn line_break(&mut self) -> bool {
        let length = match self.byte() {
            Some(b'\r') if self.text.as_bytes().get(self.at + 1) == Some(&b'\n') => 2,
            Some(b'\r' | b'\n') => 1,
            _ => return false,
        };
        self.at += length;
        self.line += 1;
        true
    }

    /// A slice between two places that are next to ASCII characters.
    fn slice(&self, from: usize, to: usize) -> &'t str {
        self.text.get(from..to).unwrap_or_default()
    }

    fn plain(&mut self) -> Cow<'t, str> {
        let from = self.at;
        while let Some(byte) = self.byte() {
            if byte == self.separator || byte == b'\n' || byte == b'\r' {
                break;
            }
            self.at += 1;
        }
        Cow::Borrowed(self.slice(from, self.at))
    }

    fn quoted(&mut self, broken: &mut Option<(u32, Quote)>) -> Cow<'t, str> {
        let opened = self.line;
        self.at += 1;
        let mut from = self.at;
        let mut text = Cow::Borrowed("");
        loop {
            match self.byte() {
                None => {
                    broken.get_or_insert((opened, Quote::Unclosed));
                    text += self.slice(from, self.at);
                    return text;
                }
                Some(b'"') => {
                    text += self.slice(from, self.at);
                    self.at += 1;
                    if self.byte() != Some(b'"') {
                        break;
                    }
                    // The second of two quotes is the text that they stand for.
                    from = self.at;
                    self.at += 1;
                }
                Some(b'\r' | b'\n') => {
                    self.line_break();
                }
                Some(_) => self.at += 1,
            }
        }
        let line = self.line;
        let rest = self.plain();
        if !rest.trim().is_empty() {
            broken.get_or_insert((line, Quote::Misplaced));
            text += rest;
        }
        text
    }
}

impl<'t> Iterator for Records<'t> {
    type Item = Record<'t>;

    fn next(&mut self) -> Option<Record<'t>> {
        self.byte()?;
        let mut record = Record { line: self.line, cells: Vec::new(), count: 0, broken: None };
        loop {
            let cell = if self.byte() == Some(b'"') { self.quoted(&mut record.broken) } else { self.plain() };
            record.count += 1;
            if record.count <= MAX_CELLS {
                record.cells.push(cell);
            }
            if self.byte() == Some(self.separator) {
                self.at += 1;
            } else {
                break;
            }
        }
        self.line_break();
        Some(record)
    }
}

impl Record<'_> {
    /// Whether nothing is written in any cell.
    pub(super) fn is_blank(&self) -> bool {
        self.broken.is_none() && self.count <= MAX_CELLS && self.cells.iter().all(|cell| cell.trim().is_empty())
    }
}
