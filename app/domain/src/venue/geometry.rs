//! Points, sizes and boxes of a plan: `x` to the right, `y` downwards, in plan units.
//!
//! Owns plain arithmetic only; nothing here knows seats or screens.

use serde::{Deserialize, Serialize};

/// A place, or an offset, in plan units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// To the right.
    pub x: f64,
    /// Downwards.
    pub y: f64,
}

impl Point {
    /// A point from its coordinates.
    #[must_use]
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }

    /// This point moved by `offset`. Absolute places are always added from the outside in, so that
    /// one file gives the same bits wherever it is read.
    #[must_use]
    pub fn plus(self, offset: Self) -> Self {
        Self::new(self.x + offset.x, self.y + offset.y)
    }

    /// The offset that leads from `origin` to this point.
    #[must_use]
    pub fn minus(self, origin: Self) -> Self {
        Self::new(self.x - origin.x, self.y - origin.y)
    }

    /// The square of the distance to `other`.
    #[must_use]
    pub fn distance_squared(self, other: Self) -> f64 {
        let (dx, dy) = (self.x - other.x, self.y - other.y);
        dx * dx + dy * dy
    }

    /// The distance to `other`.
    #[must_use]
    pub fn distance(self, other: Self) -> f64 {
        self.distance_squared(other).sqrt()
    }
}

/// Width and height in plan units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Size {
    /// From left to right.
    pub width: f64,
    /// From top to bottom.
    pub height: f64,
}

/// An upright box: `min` is its top left, `max` its bottom right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rect {
    /// Top left.
    pub min: Point,
    /// Bottom right.
    pub max: Point,
}

impl Rect {
    /// A box from its four edges.
    #[must_use]
    pub const fn new(left: f64, top: f64, right: f64, bottom: f64) -> Self {
        Self { min: Point::new(left, top), max: Point::new(right, bottom) }
    }

    /// The box around a point with `reach` to each side.
    #[must_use]
    pub fn around(point: Point, reach: f64) -> Self {
        Self::new(point.x - reach, point.y - reach, point.x + reach, point.y + reach)
    }

    /// The smallest box that holds all points; `None` without any.
    #[must_use]
    pub fn bounding(points: impl IntoIterator<Item = Point>) -> Option<Self> {
        let mut points = points.into_iter();
        let first = points.next()?;
        Some(points.fold(Self::around(first, 0.0), |bounds, point| bounds.union(Self::around(point, 0.0))))
    }

    /// The smallest box that holds both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self::new(
            self.min.x.min(other.min.x),
            self.min.y.min(other.min.y),
            self.max.x.max(other.max.x),
            self.max.y.max(other.max.y),
        )
    }

    /// This box grown by `margin` on every side.
    #[must_use]
    pub fn grown(self, margin: f64) -> Self {
        Self::new(self.min.x - margin, self.min.y - margin, self.max.x + margin, self.max.y + margin)
    }

    /// Whether the point lies in the box or on its edge.
    #[must_use]
    pub fn contains(self, point: Point) -> bool {
        point.x >= self.min.x && point.x <= self.max.x && point.y >= self.min.y && point.y <= self.max.y
    }

    /// Whether the boxes share at least an edge.
    #[must_use]
    pub fn touches(self, other: Self) -> bool {
        self.min.x <= other.max.x && other.min.x <= self.max.x && self.min.y <= other.max.y && other.min.y <= self.max.y
    }

    /// From left to right.
    #[must_use]
    pub fn width(self) -> f64 {
        self.max.x - self.min.x
    }

    /// From top to bottom.
    #[must_use]
    pub fn height(self) -> f64 {
        self.max.y - self.min.y
    }

    /// The middle.
    #[must_use]
    pub fn center(self) -> Point {
        Point::new(f64::midpoint(self.min.x, self.max.x), f64::midpoint(self.min.y, self.max.y))
    }
}

/// The whole part of `value` as an index, between 0 and `last`; not-a-number counts as 0.
#[expect(clippy::cast_sign_loss, reason = "clamped to a non-negative range first; the cast of a float saturates")]
pub(crate) fn index_clamped(value: f64, last: usize) -> usize {
    (value.max(0.0) as usize).min(last)
}

/// A whole number of things out of a float that is known to be one or to be cut down to one.
pub(crate) fn whole(value: f64) -> usize {
    index_clamped(value, usize::MAX)
}
