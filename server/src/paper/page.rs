//! One page that is drawn on: lines, blocks, fields, a code. Positions are in points from the lower left.

use super::letters::{self, Run};
use pdf_writer::{Content, Str};
use qrcode::{Color, QrCode};

/// Light modules around a code that scanners need (ISO/IEC 18004).
const QUIET_ZONE: u16 = 4;
/// Sizes that are tried, as parts of the wanted one, before a text is cut.
const SMALLER: [f32; 5] = [1.0, 0.85, 0.7, 0.55, 0.45];
/// From line to line, as a part of the size.
const LEADING: f32 = 1.2;

/// A page in the making.
pub(super) struct Sheet {
    content: Content,
    /// In place of a text that can't be drawn.
    elsewhere: &'static str,
}

impl Sheet {
    pub(super) fn new(elsewhere: &'static str) -> Self {
        Self { content: Content::new(), elsewhere }
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.content.finish().to_vec()
    }

    /// A line of text from `x` on.
    pub(super) fn line(&mut self, x: f32, y: f32, text: &str, size: f32, bold: bool) {
        let runs = self.runs(text, bold);
        self.content.begin_text();
        self.content.next_line(x, y);
        for run in &runs {
            self.content.set_font(run.face.name(), size);
            self.content.show(Str(&run.bytes));
        }
        self.content.end_text();
    }

    /// A line of text that ends at `x`.
    pub(super) fn line_to(&mut self, x: f32, y: f32, text: &str, size: f32) {
        let start = x - self.width(text, size, false);
        self.line(start, y, text, size, false);
    }

    /// A line of text around `x`.
    pub(super) fn center(&mut self, x: f32, y: f32, text: &str, size: f32) {
        let start = x - self.width(text, size, false) / 2.0;
        self.line(start, y, text, size, false);
    }

    /// A text in bold over at most `most` lines, smaller where it is long, cut where it is longer still; answers
    /// where the next thing may stand.
    pub(super) fn block(&mut self, x: f32, y: f32, width: f32, text: &str, size: f32, most: usize) -> f32 {
        let text = if letters::runs(text, true).is_some() { text } else { self.elsewhere };
        let mut chosen = (size, Vec::new());
        for part in SMALLER {
            let smaller = size * part;
            let lines = wrap(text, width, smaller);
            let fits = lines.len() <= most;
            chosen = (smaller, lines);
            if fits {
                break;
            }
        }
        let (size, mut lines) = chosen;
        if lines.len() > most {
            lines.truncate(most);
            if let Some(last) = lines.last_mut() {
                last.push('…');
            }
        }
        let mut y = y;
        for line in &lines {
            self.line(x, y, line, size, true);
            y -= size * LEADING;
        }
        y
    }

    /// A small label with its value below; answers where the next thing may stand.
    pub(super) fn field(&mut self, x: f32, y: f32, width: f32, label: &str, value: &str, size: f32) -> f32 {
        self.content.set_fill_gray(0.35);
        self.line(x, y, label, 10.0, false);
        self.content.set_fill_gray(0.0);
        let value = if value.is_empty() { "–" } else { value };
        self.block(x, y - size.max(14.0) * 1.05, width, value, size, 2)
    }

    /// A thin line.
    pub(super) fn rule(&mut self, x: f32, y: f32, width: f32) {
        self.content.rect(x, y, width, 0.75).fill_nonzero();
    }

    /// A code with its quiet zone in a square: dark modules as rectangles, a run of a row at a time.
    pub(super) fn qr(&mut self, code: &QrCode, x: f32, y: f32, side: f32) {
        let width = code.width();
        let modules = f32::from(u16::try_from(width).unwrap_or(u16::MAX) + 2 * QUIET_ZONE);
        let module = side / modules;
        let top = y + side - f32::from(QUIET_ZONE) * module;
        let left = x + f32::from(QUIET_ZONE) * module;
        let number = |count: usize| f32::from(u16::try_from(count).unwrap_or(u16::MAX));
        self.content.set_fill_gray(0.0);
        for (line, row) in code.to_colors().chunks(width).enumerate() {
            let mut column = 0;
            while column < width {
                let run = row[column..].iter().take_while(|color| **color == Color::Dark).count();
                if run > 0 {
                    let lower = top - number(line + 1) * module;
                    self.content.rect(left + number(column) * module, lower, number(run) * module, module);
                }
                column += run.max(1);
            }
        }
        self.content.fill_nonzero();
    }

    fn runs(&self, text: &str, bold: bool) -> Vec<Run> {
        letters::runs(text, bold).or_else(|| letters::runs(self.elsewhere, bold)).unwrap_or_default()
    }

    fn width(&self, text: &str, size: f32, bold: bool) -> f32 {
        points(self.runs(text, bold).iter().map(|run| run.width).sum(), size)
    }
}

/// Thousandths of a size as points.
fn points(thousandths: u32, size: f32) -> f32 {
    // A line is far shorter than this bound.
    f32::from(u16::try_from(thousandths / 10).unwrap_or(u16::MAX)) / 100.0 * size
}

/// A text in lines that fit a width: broken at spaces, and beside letters of East Asia.
fn wrap(text: &str, width: f32, size: f32) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for piece in pieces(text) {
        let last = lines.last_mut().expect("there is always a line");
        let with = format!("{last}{piece}");
        if last.is_empty() || points(letters::width(with.trim_end(), true), size) <= width {
            *last = with;
        } else {
            lines.push(piece);
        }
    }
    // A single word that is too long makes the text smaller, as a line too many does.
    let too_long = lines.iter().any(|line| points(letters::width(line.trim_end(), true), size) > width);
    if too_long {
        lines = lines.iter().flat_map(|line| hard(line, width, size)).collect();
    }
    lines
}

/// Words with the space behind them, and letters of East Asia one by one.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut open = false;
    for c in text.chars() {
        let wide = u32::from(c) >= 0x2e80;
        match pieces.last_mut() {
            Some(last) if open && !wide => last.push(c),
            _ => pieces.push(c.to_string()),
        }
        open = !wide && c != ' ';
    }
    pieces
}

/// A line cut into pieces that fit, letter by letter.
fn hard(line: &str, width: f32, size: f32) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for c in line.chars() {
        let last = lines.last_mut().expect("there is always a line");
        let with = format!("{last}{c}");
        if last.is_empty() || points(letters::width(&with, true), size) <= width {
            *last = with;
        } else {
            lines.push(c.to_string());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_between_wide_letters() {
        assert_eq!(pieces("an evening 上海"), ["an ", "evening ", "上", "海"]);
        let lines = wrap("an evening with friends", 60.0, 10.0);
        assert!(lines.len() > 1 && lines.iter().all(|line| !line.starts_with(' ')), "{lines:?}");
        assert_eq!(lines.concat(), "an evening with friends");
        assert_eq!(wrap("上海上海", 20.0, 10.0), ["上海", "上海"]);
        assert_eq!(wrap("一", 5.0, 10.0), ["一"], "never an endless search for a fit");
        let cut = wrap("Donaudampfschifffahrt", 30.0, 10.0);
        assert!(cut.len() > 2 && cut.concat() == "Donaudampfschifffahrt", "{cut:?}");
    }
}
