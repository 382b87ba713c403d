//! From the drawing's coordinates to those of the plan.
//!
//! Owns origin and scale: a plan begins at its sheet's top left, has sides of some hundred to some
//! ten thousand units, and numbers that its exchange format gives back exactly.

use kurbo::Rect;

use super::tell::{Place, Tells};
use super::walk::Drawing;
use crate::venue::Point;
use crate::venue::finding::Code;
use crate::venue::geometry::Size;

/// Parts of a unit that are told apart, as in the exchange format.
const STEPS_PER_UNIT: f64 = 1_000_000.0;
/// A sheet with a longer side than this is scaled down to it.
const LONGEST_SIDE: f64 = 100_000.0;
/// A sheet with a shorter long side than this (drawn in metres, say) is scaled up to ten times of it.
const SHORTEST_SIDE: f64 = 100.0;
/// A sheet that is so much larger than all seats together says nothing.
const IDLE_SHEET: f64 = 1_000.0;
/// Around the seats of a drawing without a sheet, as a part of their extent.
const MARGIN_SHARE: f64 = 0.05;

/// Origin and scale.
pub(super) struct Fit {
    origin: kurbo::Point,
    scale: f64,
    /// The sheet of the plan, in whole units.
    pub(super) size: Size,
}

impl Fit {
    pub(super) fn of(drawing: &Drawing<'_>, tells: &mut Tells) -> Self {
        let seats = drawing.places.iter().filter_map(|place| place.bounds).reduce(|one, other| one.union(other));
        let content = seats.or(drawing.backdrop.bounds);
        let longest = |rect: Rect| rect.width().max(rect.height());
        let sheet = drawing.sheet.filter(|sheet| longest(*sheet) > 0.0).filter(|sheet| {
            let idle = content.is_some_and(|content| {
                longest(*sheet) > LONGEST_SIDE && longest(*sheet) > IDLE_SHEET * longest(content).max(1.0)
            });
            if idle {
                let message = "the view box is a thousand times as large as the seats; it is not used".to_owned();
                tells.add(Code::GeometryLeftOut, Place::Line(1), message, Vec::new());
            }
            !idle
        });
        let sheet = sheet.unwrap_or_else(|| around(content, drawing.backdrop.bounds));
        let all = content.map_or(sheet, |content| sheet.union(content));
        let side = longest(all);
        let scale = if side > LONGEST_SIDE {
            LONGEST_SIDE / side
        } else if side < SHORTEST_SIDE {
            SHORTEST_SIDE * 10.0 / side
        } else {
            1.0
        };
        let whole = |side: f64| (side * scale).ceil().max(1.0);
        Self {
            origin: sheet.origin(),
            scale,
            size: Size { width: whole(sheet.width()), height: whole(sheet.height()) },
        }
    }

    pub(super) fn point(&self, point: kurbo::Point) -> Point {
        let offset = (point - self.origin) * self.scale;
        rounded(Point::new(offset.x, offset.y))
    }

    pub(super) fn length(&self, length: f64) -> f64 {
        round(length * self.scale)
    }
}

/// A sheet for a drawing without one: the seats, and what is drawn near them.
fn around(content: Option<Rect>, backdrop: Option<Rect>) -> Rect {
    let Some(content) = content else { return Rect::new(0.0, 0.0, SHORTEST_SIDE, SHORTEST_SIDE) };
    let extent = content.width().max(content.height()).max(1.0);
    let near = content.inflate(extent, extent);
    let drawn = backdrop.map_or(content, |backdrop| content.union(backdrop.intersect(near)));
    drawn.inflate(extent * MARGIN_SHARE, extent * MARGIN_SHARE)
}

/// The point as the exchange format gives it back.
pub(super) fn rounded(point: Point) -> Point {
    Point::new(round(point.x), round(point.y))
}

/// The number as the exchange format gives it back.
pub(super) fn round(value: f64) -> f64 {
    (value * STEPS_PER_UNIT).round() / STEPS_PER_UNIT + 0.0
}
