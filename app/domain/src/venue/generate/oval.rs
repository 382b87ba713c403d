//! The open oval that all rows of the bowl run along.
//!
//! Owns its geometry: five tangent arcs, symmetric about the vertical axis, open towards the stage.
//! A place is told by the heading of the curve there, from minus to plus `reach`, 0 at the end
//! opposite the stage; and by its offset outwards. Parallel curves have the same centres, so lengths
//! and places need no approximation.

use crate::venue::geometry::Point;

/// The heading where the end's arc passes into the corner's.
const END_HEADING: f64 = 20.0;
/// The heading where the corner's arc passes into the side's.
const CORNER_HEADING: f64 = 72.0;
/// The heading at which the curve stops, beside the stage.
const REACH: f64 = 101.0;
/// Radii of end and corner in proportion: how square the house is.
const END_PROPORTION: f64 = 1.9;
const CORNER_PROPORTION: f64 = 0.62;

/// One arc of the right half.
#[derive(Clone, Copy, Debug)]
struct Arc {
    from: f64,
    to: f64,
    center: Point,
    radius: f64,
}

/// The curve of the innermost edge.
#[derive(Clone, Debug)]
pub(super) struct Oval {
    arcs: [Arc; 3],
}

impl Oval {
    /// The oval that is `half_width` wide at its widest and reaches from `bottom` up by `height`.
    pub(super) fn new(half_width: f64, bottom: f64, height: f64) -> Self {
        let (end, corner, reach) = (END_HEADING.to_radians(), CORNER_HEADING.to_radians(), REACH.to_radians());
        // Two unknowns, the scale of end and corner and the radius of the side, and two linear
        // conditions: where the heading is upright, x = half_width; at the stop, y = height.
        let a = END_PROPORTION * end.sin() + CORNER_PROPORTION * (corner.sin() - end.sin());
        let b = 1.0 - corner.sin();
        let c = END_PROPORTION * (1.0 - end.cos()) + CORNER_PROPORTION * (end.cos() - corner.cos());
        let d = corner.cos() - reach.cos();
        let determinant = a * d - b * c;
        let scale = (half_width * d - b * height) / determinant;
        let side = (a * height - c * half_width) / determinant;
        let radii = [scale * END_PROPORTION, scale * CORNER_PROPORTION, side];
        let headings = [0.0, end, corner, reach];
        let mut center = Point::new(0.0, bottom - radii[0]);
        let mut arcs = [Arc { from: 0.0, to: end, center, radius: radii[0] }; 3];
        for index in 1..3 {
            let from = headings[index];
            // Tangent arcs: the centres lie on one normal.
            let shift = radii[index - 1] - radii[index];
            center = center.plus(Point::new(shift * from.sin(), shift * from.cos()));
            arcs[index] = Arc { from, to: headings[index + 1], center, radius: radii[index] };
        }
        Self { arcs }
    }

    /// The greatest heading.
    pub(super) fn reach(&self) -> f64 {
        self.arcs[2].to
    }

    /// The place at that heading and offset.
    pub(super) fn at(&self, heading: f64, offset: f64) -> Point {
        let magnitude = heading.abs();
        let arc = self.arcs.iter().find(|arc| magnitude <= arc.to).unwrap_or(&self.arcs[2]);
        let radius = arc.radius + offset;
        Point::new((arc.center.x + radius * magnitude.sin()).copysign(heading), arc.center.y + radius * magnitude.cos())
    }

    /// The length from heading 0, negative to the left.
    pub(super) fn length_to(&self, heading: f64, offset: f64) -> f64 {
        let magnitude = heading.abs();
        let length: f64 =
            self.arcs.iter().map(|arc| (magnitude.min(arc.to) - arc.from).max(0.0) * (arc.radius + offset)).sum();
        length.copysign(heading)
    }

    /// The heading at that length from heading 0.
    pub(super) fn heading_at(&self, length: f64, offset: f64) -> f64 {
        let mut rest = length.abs();
        for arc in &self.arcs {
            let radius = arc.radius + offset;
            let whole = (arc.to - arc.from) * radius;
            if rest <= whole {
                return (arc.from + rest / radius).copysign(length);
            }
            rest -= whole;
        }
        self.reach().copysign(length)
    }

    /// Whether the curve has three real arcs that bend one way, and holds the point.
    pub(super) fn holds(&self, point: Point) -> bool {
        if self.arcs.iter().any(|arc| arc.radius <= 0.0) {
            return false;
        }
        // The curve is convex: inside is left of it at every one of many tangents.
        const TANGENTS: u32 = 64;
        (0..=TANGENTS).all(|step| {
            let heading = self.reach() * f64::from(step) / f64::from(TANGENTS);
            let edge = self.at(heading, 0.0);
            let outwards = Point::new(heading.sin(), heading.cos());
            let to_point = Point::new(point.x.abs(), point.y).minus(edge);
            to_point.x * outwards.x + to_point.y * outwards.y <= 0.0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arcs_are_tangent_and_lengths_invert() {
        let oval = Oval::new(900.0, 2000.0, 1900.0);
        for heading in [END_HEADING.to_radians(), CORNER_HEADING.to_radians()] {
            let before = oval.at(heading - 1e-9, 300.0);
            let after = oval.at(heading + 1e-9, 300.0);
            assert!(before.distance(after) < 1e-3);
        }
        assert!((oval.at(90_f64.to_radians(), 0.0).x - 900.0).abs() < 1e-6);
        assert!((oval.at(oval.reach(), 0.0).y - 100.0).abs() < 1e-6);
        for step in -20..=20 {
            let heading = oval.reach() * f64::from(step) / 20.0;
            let length = oval.length_to(heading, 123.0);
            assert!((oval.heading_at(length, 123.0) - heading).abs() < 1e-9);
        }
    }
}
