//! The outline of a section, from its seats alone.
//!
//! Owns the way from points to rings: the field "how far within reach of a seat", on a grid, is cut
//! at zero by marching squares; the shape is shrunk back to a padding, which leaves small gaps
//! closed; and the rings are straightened. That follows bends and blocks, where a convex hull would
//! cover the pitch in the middle of a stadium.

use std::collections::HashMap;

use crate::venue::geometry::{Point, Rect, whole};
use crate::venue::plan::{DEFAULT_RADIUS, Plan};

/// Reaches that are tried, in pitches, until the rows of a block grow together.
const REACHES: [f64; 3] = [1.15, 1.8, 2.6];
/// What is left around the seats after shrinking, in pitches: neighbouring sections stay apart.
const PADDING: f64 = 0.9;
/// Grid cells to a pitch.
const CELLS_PER_PITCH: f64 = 2.5;
/// Grid nodes for one seat at most: plans drawn to be slow get a coarser outline instead.
const NODES_PER_SEAT: f64 = 128.0;
const NODES_AT_LEAST: f64 = 4_096.0;
/// How far, in paddings, a ring may be straightened: a little more than the scallops between seats.
const STRAIGHTEN: f64 = 0.2;

/// The distance from seat to neighbour that half of the seats of a plan don't exceed.
pub(super) fn pitch(plan: &Plan) -> f64 {
    let mut distances: Vec<f64> = plan
        .seats_by_row()
        .iter()
        .flat_map(|row| row.windows(2))
        .filter_map(|pair| {
            let [a, b] = pair else { return None };
            let distance = plan.seat(*a)?.center().distance(plan.seat(*b)?.center());
            (distance > 0.0).then_some(distance)
        })
        .collect();
    let middle = distances.len() / 2;
    if distances.is_empty() {
        return plan.seats.first().map_or(DEFAULT_RADIUS, |seat| seat.radius) * 2.5;
    }
    *distances.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// Closed rings around the points, padded; holes are rings too.
pub(super) fn outline(points: &[Point], rows: usize, pitch: f64) -> Vec<Vec<Point>> {
    let Some(bounds) = Rect::bounding(points.iter().copied()) else { return Vec::new() };
    let mut rings = Vec::new();
    for reach in REACHES {
        rings = at_reach(points, bounds, pitch, reach);
        // As many rings as rows: the rows are further apart than the seats.
        if rings.len() <= 1 || rings.len() * 3 <= rows {
            break;
        }
    }
    rings
}

fn at_reach(points: &[Point], bounds: Rect, pitch: f64, reach: f64) -> Vec<Vec<Point>> {
    let nodes = (points.len() as f64).mul_add(NODES_PER_SEAT, NODES_AT_LEAST);
    let grown = bounds.grown(pitch * reach);
    let coarse = (grown.width() * grown.height() / nodes).sqrt();
    // A long thin box is limited by its length alone.
    let coarse = coarse.max(grown.width().max(grown.height()) / nodes);
    let cell = coarse.max(pitch / CELLS_PER_PITCH);
    // A padding below the cell would slip through the grid.
    let padding = (pitch * PADDING).max(cell * 1.25);
    let reach = padding + pitch * (reach - PADDING);
    let mut field = Field::new(points, bounds, reach, cell);
    field.shrink(reach - padding);
    let mut rings = field.rings();
    rings.iter_mut().for_each(|ring| *ring = straightened(ring, padding * STRAIGHTEN));
    // A hole smaller than a seat's padding is a gap between seats, not a feature of the house.
    rings.retain(|ring| ring.len() >= 3 && area(ring) >= padding * padding);
    rings
}

/// Values at grid nodes, positive within reach of a point.
struct Field {
    origin: Point,
    cell: f64,
    columns: usize,
    lines: usize,
    values: Vec<f32>,
}

impl Field {
    fn new(points: &[Point], bounds: Rect, reach: f64, cell: f64) -> Self {
        let bounds = bounds.grown(reach + 2.0 * cell);
        let columns = whole((bounds.width() / cell).ceil()) + 1;
        let lines = whole((bounds.height() / cell).ceil()) + 1;
        let outside = -1.5 * cell;
        let mut field =
            Self { origin: bounds.min, cell, columns, lines, values: vec![outside as f32; columns * lines] };
        let window = reach + 1.5 * cell;
        for point in points {
            field.raise(*point, reach, window);
        }
        field
    }

    fn raise(&mut self, point: Point, reach: f64, window: f64) {
        self.around(point, window, |value, distance| value.max((reach - distance) as f32));
    }

    /// Moves the edge of the shape inwards.
    fn shrink(&mut self, by: f64) {
        let edge = self.rings();
        let deep = (1.5 * self.cell) as f32;
        let window = by + 1.5 * self.cell;
        for value in &mut self.values {
            *value = if *value > 0.0 { deep } else { *value - by as f32 };
        }
        for point in edge.into_iter().flatten() {
            self.around(point, window, |value, distance| value.min((distance - by) as f32));
        }
    }

    /// Replaces the values of the nodes in a box around the point, by value and distance.
    fn around(&mut self, point: Point, window: f64, change: impl Fn(f32, f64) -> f32) {
        let local = point.minus(self.origin);
        let index = |value: f64| whole(value / self.cell);
        let (left, right) = (index(local.x - window), index(local.x + window) + 1);
        let (top, bottom) = (index(local.y - window), index(local.y + window) + 1);
        for line in top..=bottom.min(self.lines - 1) {
            for column in left..=right.min(self.columns - 1) {
                let node = Point::new(column as f64 * self.cell, line as f64 * self.cell);
                let slot = &mut self.values[line * self.columns + column];
                *slot = change(*slot, node.distance(local));
            }
        }
    }

    fn value(&self, column: usize, line: usize) -> f32 {
        self.values[line * self.columns + column]
    }

    /// Edges of the grid are numbered: even ones go right from their node, odd ones down.
    fn edge(&self, column: usize, line: usize, down: bool) -> usize {
        2 * (line * self.columns + column) + usize::from(down)
    }

    /// Where the field is zero on the edge.
    fn crossing(&self, edge: usize) -> Point {
        let (node, down) = (edge / 2, edge % 2 == 1);
        let (column, line) = (node % self.columns, node / self.columns);
        let a = f64::from(self.value(column, line));
        let b = f64::from(self.value(column + usize::from(!down), line + usize::from(down)));
        let part = if a == b { 0.5 } else { (a / (a - b)).clamp(0.0, 1.0) };
        let (x, y) = if down { (0.0, part) } else { (part, 0.0) };
        self.origin.plus(Point::new((column as f64 + x) * self.cell, (line as f64 + y) * self.cell))
    }

    /// All closed lines of value zero, inside always on the same hand.
    fn rings(&self) -> Vec<Vec<Point>> {
        let mut order = Vec::new();
        let mut next: HashMap<usize, usize> = HashMap::new();
        for line in 0..self.lines - 1 {
            for column in 0..self.columns - 1 {
                for (from, to) in self.segments(column, line).into_iter().flatten() {
                    order.push(from);
                    next.insert(from, to);
                }
            }
        }
        let mut rings = Vec::new();
        // The order of the grid, not of the hash map: the same plan must give the same bytes.
        for start in order {
            let mut ring = Vec::new();
            let mut edge = start;
            while let Some(to) = next.remove(&edge) {
                ring.push(self.crossing(edge));
                edge = to;
            }
            if ring.len() >= 3 {
                rings.push(ring);
            }
        }
        rings
    }

    /// The one or two pieces of line through a cell, from edge to edge.
    fn segments(&self, column: usize, line: usize) -> [Option<(usize, usize)>; 2] {
        let inside = |dx: usize, dy: usize| self.value(column + dx, line + dy) > 0.0;
        let corners = [inside(0, 0), inside(1, 0), inside(1, 1), inside(0, 1)];
        let top = self.edge(column, line, false);
        let right = self.edge(column + 1, line, true);
        let bottom = self.edge(column, line + 1, false);
        let left = self.edge(column, line, true);
        let edges = [top, right, bottom, left];
        // Edge i lies between corner i and corner i + 1. A line enters where the inside ends.
        let mut pieces = [None, None];
        let mut count = 0;
        for start in 0..4 {
            let next = (start + 1) % 4;
            if corners[start] && !corners[next] {
                // The next edge on where the inside begins again closes around the outer corners.
                let end =
                    (1..4).map(|turn| (start + turn) % 4).find(|edge| !corners[*edge] && corners[(*edge + 1) % 4]);
                if let Some(end) = end {
                    pieces[count] = Some((edges[start], edges[end]));
                    count += 1;
                }
            }
        }
        pieces
    }
}

/// The ring with the points left out that lie within `tolerance` of the line between others.
fn straightened(ring: &[Point], tolerance: f64) -> Vec<Point> {
    // The two ends of the longest span are corners for sure.
    let Some(first) = ring.first() else { return Vec::new() };
    let far = |from: &Point| {
        let by_distance = |a: &(usize, &Point), b: &(usize, &Point)| {
            a.1.distance_squared(*from).total_cmp(&b.1.distance_squared(*from))
        };
        ring.iter().enumerate().max_by(by_distance).map_or(0, |(index, _)| index)
    };
    let start = far(first);
    let mut turned: Vec<Point> = ring[start..].iter().chain(&ring[..start]).copied().collect();
    turned.push(turned[0]);
    let mut keep = vec![false; turned.len()];
    let middle = (far(&turned[0]) + ring.len() - start) % ring.len();
    let last = turned.len() - 1;
    for index in [0, middle, last] {
        keep[index] = true;
    }
    let mut spans = vec![(0, middle), (middle, last)];
    while let Some((from, to)) = spans.pop() {
        let farthest = (from + 1..to)
            .map(|index| (index, distance_to_line(turned[index], turned[from], turned[to])))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((index, distance)) = farthest
            && distance > tolerance
        {
            keep[index] = true;
            spans.extend([(from, index), (index, to)]);
        }
    }
    keep[last] = false;
    turned.into_iter().zip(keep).filter_map(|(point, keep)| keep.then_some(point)).collect()
}

fn distance_to_line(point: Point, a: Point, b: Point) -> f64 {
    let along = b.minus(a);
    let to_point = point.minus(a);
    let length_squared = along.x * along.x + along.y * along.y;
    if length_squared == 0.0 {
        return point.distance(a);
    }
    let part = ((to_point.x * along.x + to_point.y * along.y) / length_squared).clamp(0.0, 1.0);
    point.distance(a.plus(Point::new(along.x * part, along.y * part)))
}

fn area(ring: &[Point]) -> f64 {
    let shifted = ring.iter().cycle().skip(1);
    let doubled: f64 = ring.iter().zip(shifted).map(|(a, b)| a.x * b.y - b.x * a.y).sum();
    doubled.abs() / 2.0
}

/// Whether the point lies within the ring.
pub(super) fn ring_contains(ring: &[Point], point: Point) -> bool {
    let shifted = ring.iter().cycle().skip(1);
    let crossings = ring.iter().zip(shifted).filter(|(a, b)| {
        (a.y > point.y) != (b.y > point.y) && point.x < (b.x - a.x) * (point.y - a.y) / (b.y - a.y) + a.x
    });
    crossings.count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(left: f64, columns: usize, lines: usize) -> Vec<Point> {
        (0..columns * lines)
            .map(|n| {
                let (column, line) = (n % columns, n / columns);
                Point::new(left + column as f64 * 24.0, line as f64 * 28.0)
            })
            .collect()
    }

    #[test]
    fn a_block_becomes_one_ring_around_all_its_seats() {
        let points = block(0.0, 12, 8);
        let rings = outline(&points, 8, 24.0);
        assert_eq!(rings.len(), 1);
        assert!(rings[0].len() <= 24, "{} points", rings[0].len());
        assert!(points.iter().all(|point| ring_contains(&rings[0], *point)));
    }

    #[test]
    fn two_blocks_stay_two() {
        let mut points = block(0.0, 6, 8);
        points.extend(block(400.0, 6, 8));
        assert_eq!(outline(&points, 16, 24.0).len(), 2);
    }

    #[test]
    fn degenerate_sections_have_an_outline_or_none() {
        assert!(outline(&[], 0, 24.0).is_empty());
        assert_eq!(outline(&[Point::new(5.0, 5.0)], 1, 24.0).len(), 1);
        let far = [Point::default(), Point::new(2e6, 2e6)];
        assert!(outline(&far, 2, 24.0).len() <= 2);
        assert_eq!(outline(&[Point::default(); 50], 1, 24.0).len(), 1);
    }
}
