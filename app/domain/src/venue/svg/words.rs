//! Texts of a drawing, line by line.
//!
//! Owns where a text stands. Fonts are unknown here, so that widths are estimates; good enough to
//! read a plan by.

use kurbo::{Affine, Point, Rect};
use roxmltree::Node;
use svgtypes::LengthListParser;

use super::label;
use super::paint::{Anchor, Look};
use super::shape::pixels;

/// Width of a letter as a part of the height, for alphabets and for ideographs.
const NARROW: f64 = 0.55;
const WIDE: f64 = 1.0;
/// From the base line up to the middle of the letters, as a part of the height.
const MIDDLE: f64 = 0.35;
/// Bytes of one text: a plan has names, no prose.
const MAX_WORDS_BYTES: usize = 200;
/// Lines of one text.
const MAX_LINES: usize = 50;

/// One line of text in the coordinates of the drawing.
pub(super) struct Words {
    pub(super) text: String,
    pub(super) center: kurbo::Point,
    pub(super) size: f64,
    /// Degrees clockwise.
    pub(super) rotation: f64,
    pub(super) bounds: Rect,
}

struct Line {
    text: String,
    at: Point,
}

/// The lines of a `<text>`; the second is whether something was cut.
pub(super) fn lines(node: Node<'_, '_>, look: Look, affine: Affine) -> (Vec<Words>, bool) {
    let first = |node: Node<'_, '_>, name: &str| {
        let length = LengthListParser::from(node.attribute(name)?).next()?.ok()?;
        pixels(length, 0.0)
    };
    let start = Point::new(first(node, "x").unwrap_or(0.0), first(node, "y").unwrap_or(0.0));
    let mut list = vec![Line { text: String::new(), at: start }];
    let mut cut = false;
    for child in node.descendants().skip(1) {
        if child.is_element() {
            let (x, y, dy) = (first(child, "x"), first(child, "y"), first(child, "dy"));
            let last = list.last().map_or(start, |line| line.at);
            let at = Point::new(x.unwrap_or(last.x), y.unwrap_or(last.y) + dy.unwrap_or(0.0));
            if (x.is_some() || y.is_some() || dy.is_some()) && at != last {
                if list.len() >= MAX_LINES {
                    cut = true;
                    break;
                }
                list.push(Line { text: String::new(), at });
            }
        } else if let (Some(text), Some(line)) = (child.text(), list.last_mut()) {
            let room = (4 * MAX_WORDS_BYTES).saturating_sub(line.text.len());
            cut |= text.len() > room;
            line.text.push_str(label::cut(text, room));
        }
    }
    let words = list.into_iter().filter_map(|line| words(&line, look, affine, &mut cut)).collect();
    (words, cut)
}

fn words(line: &Line, look: Look, affine: Affine, cut: &mut bool) -> Option<Words> {
    let clean = label::clean(&line.text);
    let text = label::cut(&clean, MAX_WORDS_BYTES).trim_end().to_owned();
    *cut |= text.len() < clean.len();
    if text.is_empty() {
        return None;
    }
    let size = look.font_size;
    let width = size * text.chars().map(|c| if c >= '\u{2e80}' { WIDE } else { NARROW }).sum::<f64>();
    let left = match look.anchor {
        Anchor::Start => line.at.x,
        Anchor::Middle => line.at.x - width / 2.0,
        Anchor::End => line.at.x - width,
    };
    let own = Rect::new(left, line.at.y - 2.0 * MIDDLE * size, left + width, line.at.y);
    let bounds = affine.transform_rect_bbox(own);
    let [a, b, c, d, ..] = affine.as_coeffs();
    let size = size * (a * d - b * c).abs().sqrt();
    let usable = super::shape::fits(bounds) && size.is_finite() && size > 0.0;
    usable.then(|| Words { text, center: affine * own.center(), size, rotation: b.atan2(a).to_degrees(), bounds })
}
