//! From a plan to the two files.
//!
//! Owns quantising, run-finding and the choice of what a browser may safely get.

use super::format::{
    Flags, HEADER_BYTES, MAGIC, MapArea, MapCategory, MapRow, MapSection, MapShape, MapText, Meta, RUN_BYTES,
    SEAT_BYTES, STEPS, SeatLabels,
};
use super::outline::{self, ring_contains};
use super::{StaticMap, VERSION};
use crate::venue::geometry::{Point, Rect, whole};
use crate::venue::plan::{Area, Kind, Plan, Seat, Shape};

/// Colours of categories that name none, told apart also without colour vision.
pub(super) const PALETTE: [&str; 8] =
    ["#f6c453", "#f0904f", "#df5d78", "#b45ccf", "#5b7be6", "#3fa7a0", "#8fbf5a", "#9aa3b2"];

/// The published form of the plan.
#[must_use]
pub fn encode(plan: &Plan) -> StaticMap {
    StaticMap { bin: columns(plan), json: meta(plan) }
}

fn columns(plan: &Plan) -> Vec<u8> {
    let rows = runs(plan.seats.iter().map(|seat| seat.row));
    let radii = runs(plan.seats.iter().map(|seat| (seat.radius as f32).to_bits()));
    let seats = &plan.seats;
    let origin = plan.view_box.min;
    let extent = plan.view_box.width().max(plan.view_box.height());
    let scale = if extent > 0.0 { extent / STEPS } else { 1.0 };
    let mut bin = Vec::with_capacity(HEADER_BYTES + seats.len() * SEAT_BYTES + (rows.len() + radii.len()) * RUN_BYTES);
    bin.extend(MAGIC);
    bin.extend(VERSION.to_le_bytes());
    bin.extend([0; 2]);
    for count in [seats.len(), plan.rows.len(), rows.len(), radii.len()] {
        bin.extend(count_u32(count).to_le_bytes());
    }
    for value in [origin.x, origin.y, scale] {
        bin.extend(value.to_le_bytes());
    }
    bin.resize(HEADER_BYTES, 0);
    column(&mut bin, seats.iter().map(|seat| step(seat.x - origin.x, scale)));
    column(&mut bin, seats.iter().map(|seat| step(seat.y - origin.y, scale)));
    bin.extend(seats.iter().map(|seat| seat.category));
    bin.extend(seats.iter().map(flags));
    for (value, count) in rows.into_iter().chain(radii) {
        bin.extend(value.to_le_bytes());
        bin.extend(count.to_le_bytes());
    }
    bin
}

/// Plans hold far fewer than 2^32 of anything (see the limits of [`Plan`]).
fn count_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn step(distance: f64, scale: f64) -> u16 {
    u16::try_from(whole((distance / scale).round())).unwrap_or(u16::MAX)
}

fn column(bin: &mut Vec<u8>, steps: impl Iterator<Item = u16>) {
    let mut before = 0_u16;
    for step in steps {
        bin.extend(step.wrapping_sub(before).to_le_bytes());
        before = step;
    }
}

fn flags(seat: &Seat) -> u8 {
    let kind = match seat.kind {
        Kind::Seat => 0,
        Kind::Wheelchair => Flags::WHEELCHAIR,
        Kind::Companion => Flags::COMPANION,
        Kind::Standing => Flags::STANDING,
    };
    let restricted_view = if seat.restricted_view { Flags::RESTRICTED_VIEW } else { 0 };
    kind | restricted_view | if seat.gone { Flags::GONE } else { 0 }
}

fn runs(values: impl Iterator<Item = u32>) -> Vec<(u32, u32)> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for value in values {
        match runs.last_mut() {
            Some((last, count)) if *last == value => *count += 1,
            _ => runs.push((value, 1)),
        }
    }
    runs
}

fn meta(plan: &Plan) -> String {
    let grain = Grain::of(plan.view_box);
    let view = plan.view_box;
    let meta = Meta {
        version: VERSION,
        name: plan.name.clone(),
        seat_count: count_u32(plan.seats.len()),
        view_box: [view.min.x, view.min.y, view.width(), view.height()].map(|v| grain.round(v)),
        focal: grain.pair(plan.focal_point()),
        categories: plan
            .categories
            .iter()
            .zip(PALETTE.iter().cycle())
            .map(|(category, fallback)| MapCategory {
                name: category.name.clone(),
                color: safe_color(category.color.as_deref()).unwrap_or_else(|| (*fallback).to_owned()),
            })
            .collect(),
        sections: sections(plan, grain),
        rows: rows(plan),
        areas: plan.areas.iter().map(|area| map_area(area, grain)).collect(),
    };
    serde_json::to_string(&meta).expect("plain structs of strings and finite numbers always serialise into memory")
}

/// Decimals worth writing: a fraction of what a screen can show, whatever unit the plan is in.
#[derive(Clone, Copy)]
struct Grain(f64);

impl Grain {
    fn of(view: Rect) -> Self {
        Self(if view.width().max(view.height()) >= 500.0 { 10.0 } else { 10_000.0 })
    }

    fn round(self, value: f64) -> f64 {
        (value * self.0).round() / self.0 + 0.0
    }

    fn pair(self, point: Point) -> [f64; 2] {
        [self.round(point.x), self.round(point.y)]
    }

    fn ring(self, points: &[Point]) -> Vec<f64> {
        points.iter().flat_map(|point| self.pair(*point)).collect()
    }
}

fn sections(plan: &Plan, grain: Grain) -> Vec<MapSection> {
    let pitch = outline::pitch(plan);
    let mut members: Vec<Vec<Point>> = vec![Vec::new(); plan.sections.len()];
    for seat in plan.seats.iter().filter(|seat| !seat.gone) {
        if let Some(points) = members.get_mut(usize::from(seat.section)) {
            points.push(seat.center());
        }
    }
    let mut row_counts = vec![0_usize; plan.sections.len()];
    for row in &plan.rows {
        if let Some(count) = row_counts.get_mut(usize::from(row.section)) {
            *count += 1;
        }
    }
    plan.sections
        .iter()
        .zip(members)
        .zip(row_counts)
        .map(|((section, points), row_count)| {
            let rings = outline::outline(&points, row_count, pitch);
            MapSection {
                name: section.name.clone(),
                seats: count_u32(points.len()),
                anchor: grain.pair(anchor(&points, &rings).unwrap_or(section.position)),
                outline: rings.iter().map(|ring| grain.ring(ring)).collect(),
            }
        })
        .collect()
}

/// The centre of the seats, or the seat nearest to it where the section bends around its centre.
fn anchor(points: &[Point], rings: &[Vec<Point>]) -> Option<Point> {
    let sum = points.iter().fold(Point::default(), |sum, point| sum.plus(*point));
    let count = points.len() as f64;
    let center = Point::new(sum.x / count, sum.y / count);
    if rings.iter().filter(|ring| ring_contains(ring, center)).count() % 2 == 1 {
        return Some(center);
    }
    points.iter().copied().min_by(|a, b| a.distance_squared(center).total_cmp(&b.distance_squared(center)))
}

fn rows(plan: &Plan) -> Vec<MapRow> {
    let mut rows: Vec<(u32, Vec<&str>)> = vec![(0, Vec::new()); plan.rows.len()];
    for (seat_no, seat) in (0_u32..).zip(&plan.seats) {
        if let Some((first, labels)) = rows.get_mut(seat.row as usize) {
            if labels.is_empty() {
                *first = seat_no;
            }
            labels.push(&seat.label);
        }
    }
    plan.rows
        .iter()
        .zip(rows)
        .map(|(row, (first, labels))| MapRow {
            section: row.section,
            label: row.label.clone(),
            first,
            count: count_u32(labels.len()),
            seats: seat_labels(&labels),
        })
        .collect()
}

fn seat_labels(labels: &[&str]) -> SeatLabels {
    numeric_run(labels).unwrap_or_else(|| SeatLabels::List(labels.iter().map(|label| (*label).to_owned()).collect()))
}

/// The labels as a run, only if writing the numbers gives the very same labels ("01" is text).
fn numeric_run(labels: &[&str]) -> Option<SeatLabels> {
    let number = |label: &str| label.parse::<i64>().ok().filter(|n| n.to_string() == label);
    let start = number(labels.first()?)?;
    let step = match labels.get(1) {
        Some(second) => number(second)?.checked_sub(start)?,
        None => 1,
    };
    let mut expected = start;
    for (index, label) in labels.iter().enumerate() {
        if index > 0 {
            expected = expected.checked_add(step)?;
        }
        if number(label)? != expected {
            return None;
        }
    }
    Some(SeatLabels::Run { start, step })
}

fn map_area(area: &Area, grain: Grain) -> MapArea {
    let (sin, cos) = area.rotation.to_radians().sin_cos();
    let turned =
        |local: Point| area.position.plus(Point::new(local.x * cos - local.y * sin, local.x * sin + local.y * cos));
    let polygon = |points: &[Point]| {
        let points: Vec<Point> = points.iter().map(|point| turned(*point)).collect();
        MapShape::Polygon { points: grain.ring(&points) }
    };
    let ellipse = |x: f64, y: f64| MapShape::Ellipse {
        center: grain.pair(area.position),
        radii: [grain.round(x.abs()), grain.round(y.abs())],
        rotation: area.rotation,
    };
    let shape = match &area.shape {
        Shape::Polygon(points) => polygon(points),
        Shape::Rectangle(size) => polygon(&[
            Point::default(),
            Point::new(size.width, 0.0),
            Point::new(size.width, size.height),
            Point::new(0.0, size.height),
        ]),
        Shape::Ellipse(radii) => ellipse(radii.x, radii.y),
        Shape::Circle(radius) => ellipse(*radius, *radius),
        Shape::Text => MapShape::Text,
    };
    MapArea {
        shape,
        color: safe_color(area.color.as_deref()),
        border_color: safe_color(area.border_color.as_deref()),
        text: area.text.as_ref().filter(|text| !text.text.is_empty()).map(|text| MapText {
            text: text.text.clone(),
            center: grain.pair(turned(text.local)),
            rotation: area.rotation,
            size: text.size,
            color: safe_color(text.color.as_deref()),
        }),
    }
}

/// The colour if it is plainly one: a plan comes from outside, and its colours may end in a style.
pub(super) fn safe_color(color: Option<&str>) -> Option<String> {
    let color = color?.trim();
    let is_hex = color
        .strip_prefix('#')
        .is_some_and(|hex| matches!(hex.len(), 3 | 4 | 6 | 8) && hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let is_name = !color.is_empty() && color.len() <= 24 && color.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_function = color.len() <= 64
        && ["rgb(", "rgba(", "hsl(", "hsla("].iter().any(|start| color.starts_with(start))
        && color.ends_with(')')
        && color.matches('(').count() == 1
        && color.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"(),.%/ -".contains(&byte));
    (is_hex || is_name || is_function).then(|| color.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_that_could_be_more_are_refused() {
        for good in ["#fff", "#12345678", "red", "rgba(1, 2, 3, 0.5)", "hsl(120deg 50% 50% / 20%)"] {
            assert_eq!(safe_color(Some(good)).as_deref(), Some(good));
        }
        for bad in ["", "#ggg", "url(//x)", "red;background:url(x)", "rgb(1,2,3);x:(", "var(--x)"] {
            assert_eq!(safe_color(Some(bad)), None, "{bad}");
        }
    }

    #[test]
    fn only_exact_numbers_make_a_run() {
        let run = |start, step| Some(SeatLabels::Run { start, step });
        assert_eq!(numeric_run(&["1", "2", "3"]), run(1, 1));
        assert_eq!(numeric_run(&["9", "7", "5"]), run(9, -2));
        assert_eq!(numeric_run(&["4"]), run(4, 1));
        for labels in [&["01", "02"][..], &["1", "2", "4"], &["1", "2A"], &["+1"], &[""], &[]] {
            assert_eq!(numeric_run(labels), None);
        }
        let ends = [i64::MIN.to_string(), i64::MAX.to_string()];
        assert_eq!(numeric_run(&[&ends[0], &ends[1]]), None);
    }
}
