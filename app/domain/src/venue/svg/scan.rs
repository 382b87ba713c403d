//! A look at the raw text before it is parsed: what would make parsing itself slow or unsafe.
//!
//! Owns the bounds that the parser lacks (depth, attributes of one element, namespaces), and the
//! document type, which is never read: the plain one that old drawing programs write is blanked
//! out, any other refuses the file.

use std::borrow::Cow;

use super::tell::{Lines, Place, Tells};
use crate::venue::finding::Code;

/// Elements within each other. Drawing programs nest layers and groups a dozen deep.
pub(super) const MAX_DEPTH: usize = 256;
/// Attributes of one element: the parser compares each with each.
const MAX_ATTRIBUTES: usize = 256;
/// Namespace declarations of a file: the parser copies them from element to element.
const MAX_NAMESPACES: usize = 256;
/// Angle brackets, for which the parser sets memory aside: two for each node.
const MAX_BRACKETS: usize = 2 * super::MAX_NODES as usize;
/// Equals signs, for which the parser sets memory aside: twenty for each seat of the largest house.
const MAX_EQUALS: usize = 2_000_000;

/// What is wrong, and at which byte.
type Wrong = (Code, usize, String);

/// The text as it may be parsed; `None` after it was refused.
pub(super) fn check<'t>(text: &'t str, tells: &mut Tells) -> Option<Cow<'t, str>> {
    match scan(text) {
        Ok(None) => Some(Cow::Borrowed(text)),
        Ok(Some((start, end))) => {
            let message = "the document type is not read; nothing is fetched for it".to_owned();
            let line = Lines::new(text).at(start);
            tells.add(Code::ActiveContent, Place::Line(line), message, Vec::new());
            // As long as before, so that every place in the text keeps its line.
            let blank: String = text[start..end].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect();
            Some(Cow::Owned([&text[..start], &blank, &text[end..]].concat()))
        }
        Err((code, byte, message)) => {
            tells.add(code, Place::Line(Lines::new(text).at(byte)), message, Vec::new());
            None
        }
    }
}

/// The range of a harmless document type, if there is one.
fn scan(text: &str) -> Result<Option<(usize, usize)>, Wrong> {
    let count = |wanted: u8| text.bytes().filter(|byte| *byte == wanted).count();
    for (what, limit) in [(b'<', MAX_BRACKETS), (b'=', MAX_EQUALS)] {
        let got = count(what);
        if got > limit {
            let message = format!("{got} times {:?}, the limit is {limit}", char::from(what));
            return Err((Code::LimitExceeded, 0, message));
        }
    }
    let (mut at, mut depth, mut namespaces, mut doctype) = (0, 0_usize, 0, None);
    while let Some(start) = text[at..].find('<').map(|found| at + found) {
        let rest = &text[start..];
        at = if rest.starts_with("<!--") {
            after(text, start + 4, "-->")
        } else if rest.starts_with("<![CDATA[") {
            after(text, start + 9, "]]>")
        } else if rest.starts_with("<?") {
            after(text, start + 2, "?>")
        } else if rest.starts_with("<!DOCTYPE") {
            let end = plain_doctype(text, start)?;
            if doctype.replace((start, end)).is_some() {
                return Err((Code::XmlDoctype, start, "a second document type".to_owned()));
            }
            end
        } else if rest.starts_with("</") {
            depth = depth.saturating_sub(1);
            after(text, start + 2, ">")
        } else {
            let tag = Tag::read(text, start)?;
            namespaces += tag.namespaces;
            if namespaces > MAX_NAMESPACES {
                return Err((Code::LimitExceeded, start, format!("more than {MAX_NAMESPACES} namespaces")));
            }
            depth += usize::from(!tag.empty);
            if depth > MAX_DEPTH {
                let message = format!("elements are nested more than {MAX_DEPTH} deep");
                return Err((Code::LimitExceeded, start, message));
            }
            tag.end
        };
    }
    Ok(doctype)
}

/// The byte after the next `mark`, or the end.
fn after(text: &str, from: usize, mark: &str) -> usize {
    text[from..].find(mark).map_or(text.len(), |found| from + found + mark.len())
}

/// The end of a document type that only names the standard one.
fn plain_doctype(text: &str, start: usize) -> Result<usize, Wrong> {
    let mut quote = None;
    for (offset, byte) in text[start..].bytes().enumerate() {
        match (quote, byte) {
            (Some(open), _) if byte == open => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'[') => break,
            (None, b'>') => {
                let end = start + offset + 1;
                let standard = text[start..end].contains("\"-//W3C//DTD SVG ");
                let bare = text[start..end].split_ascii_whitespace().count() <= 2;
                if standard || bare {
                    return Ok(end);
                }
                break;
            }
            (None, _) => {}
        }
    }
    let message = "a document type of its own is never read, nor are entities; save the drawing without it".to_owned();
    Err((Code::XmlDoctype, start, message))
}

/// The begin of an element.
struct Tag {
    end: usize,
    empty: bool,
    namespaces: usize,
}

impl Tag {
    fn read(text: &str, start: usize) -> Result<Self, Wrong> {
        let bytes = text.as_bytes();
        let (mut quote, mut attributes, mut namespaces, mut at) = (None, 0, 0, start + 1);
        while let Some(&byte) = bytes.get(at) {
            match (quote, byte) {
                (Some(open), _) if byte == open => quote = None,
                (Some(_), _) => {}
                (None, b'"' | b'\'') => quote = Some(byte),
                (None, b'=') => attributes += 1,
                (None, b'x') if bytes[at..].starts_with(b"xmlns") => namespaces += 1,
                (None, b'>') => break,
                (None, _) => {}
            }
            at += 1;
        }
        if attributes > MAX_ATTRIBUTES {
            let message = format!("an element with {attributes} attributes, the limit is {MAX_ATTRIBUTES}");
            return Err((Code::LimitExceeded, start, message));
        }
        Ok(Self { end: (at + 1).min(bytes.len()), empty: bytes.get(at - 1) == Some(&b'/'), namespaces })
    }
}
