//! What is drawn but not sold: stage, floor, mixing desk, gates; and the oval that clears them.
//!
//! Owns shapes and words of the areas of a generated house.

use super::bowl::Bowl;
use super::floor::Floor;
use super::oval::Oval;
use super::rounded;
use crate::venue::geometry::{Point, Size, whole};
use crate::venue::plan::{DraftArea, Shape};

/// Between the floor's chairs and the inner edge of the bowl, at least.
const MOAT: f64 = 76.0;
/// Behind the last floor row, for the mixing desk.
const MIX_DEPTH: f64 = 110.0;
/// From the outermost row to the gates' words; these are wider than high, so more at the sides.
const GATE_OFFSET: f64 = 60.0;
const GATE_SIDE_OFFSET: f64 = 60.0;
/// One gate for so many units of the outer edge.
const GATE_SPACING: f64 = 1_900.0;

fn stage_half_width(floor: &Floor) -> f64 {
    (floor.half_width() * 0.86).max(70.0)
}

fn stage_depth(floor: &Floor) -> f64 {
    (floor.half_width() * 0.52).max(60.0)
}

/// The tightest oval that holds the floor's corners, `extra` wider than needed.
pub(super) fn oval_around(floor: &Floor, extra: f64) -> Oval {
    let corner = Point::new(floor.half_width() + MOAT, floor.depth() + MOAT);
    let widened = |widening: f64| {
        let bottom = corner.y + MIX_DEPTH + widening;
        let height = bottom + stage_depth(floor) * 0.55;
        Oval::new(corner.x + widening * 0.5, bottom, height)
    };
    let mut needed = 0.0;
    // Ends: a wide enough oval holds any fixed point.
    loop {
        let oval = widened(needed);
        if oval.holds(corner) && oval.holds(Point::new(corner.x, 0.0)) {
            return widened(needed + extra);
        }
        needed += 4.0;
    }
}

pub(super) fn areas(floor: &Floor, bowl: &Bowl) -> Vec<DraftArea> {
    let mut areas = vec![arena_floor(floor, bowl), stage(floor), mix(floor)];
    areas.extend(gates(bowl));
    areas
}

/// The ground inside the bowl, so that the chairs stand on something.
fn arena_floor(floor: &Floor, bowl: &Bowl) -> DraftArea {
    const STEPS: i32 = 48;
    let oval = bowl.oval();
    let top = -stage_depth(floor);
    let mut points: Vec<Point> =
        (-STEPS..=STEPS).map(|step| oval.at(oval.reach() * f64::from(step) / f64::from(STEPS), 0.0)).collect();
    let end = oval.at(oval.reach(), 0.0);
    if end.y > top {
        points.push(Point::new(end.x, top));
        points.push(Point::new(-end.x, top));
    }
    DraftArea {
        position: Point::default(),
        rotation: 0.0,
        shape: Shape::Polygon(points.into_iter().map(rounded).collect()),
        color: Some("#8a94a61f".to_owned()),
        border_color: Some("#8a94a64d".to_owned()),
        text: None,
        uuid: None,
    }
}

/// A stage with a bowed front, seen from above.
fn stage(floor: &Floor) -> DraftArea {
    const STEPS: i32 = 16;
    let (half, depth) = (stage_half_width(floor), stage_depth(floor));
    let bow = depth * 0.16;
    let mut points = vec![Point::new(half * 0.88, -depth), Point::new(half, -depth * 0.82)];
    points.extend((0..=STEPS).map(|step| {
        let across = 1.0 - 2.0 * f64::from(step) / f64::from(STEPS);
        Point::new(half * across, -bow + bow * (1.0 - across * across))
    }));
    points.extend([Point::new(-half, -depth * 0.82), Point::new(-half * 0.88, -depth)]);
    DraftArea {
        position: Point::default(),
        rotation: 0.0,
        shape: Shape::Polygon(points.into_iter().map(rounded).collect()),
        color: Some("#2a2e39".to_owned()),
        border_color: Some("#f0b45a".to_owned()),
        text: Some((
            "STAGE".to_owned(),
            rounded(Point::new(0.0, -depth * 0.5)),
            Some("#f7ead2".to_owned()),
            (half * 0.22).round(),
        )),
        uuid: None,
    }
}

fn mix(floor: &Floor) -> DraftArea {
    let width = (floor.half_width() * 0.5).round();
    let height = MIX_DEPTH * 0.62;
    DraftArea {
        position: rounded(Point::new(-width / 2.0, floor.depth() + MOAT * 0.6)),
        rotation: 0.0,
        shape: Shape::Rectangle(Size { width, height }),
        color: Some("#5a6272".to_owned()),
        border_color: Some("#8a94a6".to_owned()),
        text: Some((
            "MIX".to_owned(),
            Point::new(width / 2.0, height / 2.0),
            Some("#f4f1ea".to_owned()),
            (width * 0.16).clamp(10.0, 30.0).round(),
        )),
        uuid: None,
    }
}

/// Where the gates are named, from the left of the stage to its right.
pub(super) fn gate_points(bowl: &Bowl) -> Vec<Point> {
    let oval = bowl.oval();
    let offset = bowl.outer_offset() + GATE_OFFSET;
    let whole_length = 2.0 * oval.length_to(oval.reach(), offset);
    let count = whole((whole_length / GATE_SPACING).round().clamp(2.0, 12.0));
    (0..count)
        .map(|gate| {
            let length = ((gate as f64 + 0.5) / count as f64 - 0.5) * whole_length;
            let heading = oval.heading_at(length, offset);
            oval.at(heading, offset + GATE_SIDE_OFFSET * heading.sin().abs())
        })
        .collect()
}

fn gates(bowl: &Bowl) -> Vec<DraftArea> {
    let points = gate_points(bowl).into_iter().zip(1..);
    points
        .map(|(position, number)| DraftArea {
            position,
            rotation: 0.0,
            shape: Shape::Text,
            color: None,
            border_color: None,
            text: Some((format!("Gate {number}"), Point::default(), Some("#8a94a6".to_owned()), 40.0)),
            uuid: None,
        })
        .collect()
}
