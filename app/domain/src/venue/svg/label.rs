//! Texts of a drawing as labels: normalised, bounded, without what only a machine sees.

use unicode_normalization::UnicodeNormalization;

use crate::venue::plan::MAX_TEXT_BYTES;

/// Bytes of a label: room for what a repair appends stays.
pub(super) const MAX_LABEL_BYTES: usize = MAX_TEXT_BYTES - 32;

/// The text in NFC, white space collapsed and trimmed, without control characters and without marks
/// that turn the direction of what stands around a label.
pub(super) fn clean(text: &str) -> String {
    let mut label = String::with_capacity(text.len().min(2 * MAX_TEXT_BYTES));
    for word in text.split(|c: char| c.is_whitespace() || c == '\u{0}') {
        let start = label.len();
        label.extend(word.chars().filter(|c| !c.is_control() && !turns(*c)).nfc());
        if label.len() > start && start > 0 {
            label.insert(start, ' ');
        }
    }
    label
}

/// [`clean`], and cut at [`MAX_LABEL_BYTES`]; the second is whether it was cut.
pub(super) fn bounded(text: &str) -> (String, bool) {
    // Normalising may lengthen a text threefold, and never shortens it to a tenth.
    const MARGIN: usize = 10 * MAX_LABEL_BYTES;
    let label = clean(cut(text, MARGIN));
    let fits = text.len() <= MARGIN && label.len() <= MAX_LABEL_BYTES;
    (cut(&label, MAX_LABEL_BYTES).trim_end().to_owned(), !fits)
}

/// A text for a message.
pub(super) fn short(text: &str) -> &str {
    cut(text, 80)
}

/// The text up to a number of bytes, at the end of a character.
pub(super) fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

fn turns(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}
