//! Many sections: rings of blocks around a pitch.
//!
//! Owns the rings. Each is a polygon whose corners lie on an oval, an edge for each block; a block
//! stands on the outside of its edge. The oval is just large enough for the edges to close.

use std::f64::consts::{PI, TAU};

use super::{AISLE, Block, MARGIN, Stand, hundredth, scenery};
use crate::venue::geometry::{Point, Rect, Size};
use crate::venue::plan::DraftArea;

/// Fewer sections stand in shelves.
const MIN_SECTIONS: usize = 12;
/// Fewer seats make no bowl.
const MIN_SEATS: usize = 1_500;
/// More sections make rings without end.
const MAX_SECTIONS: usize = 400;
/// Part of the ring that one block may take; a longer edge would cut through the pitch.
const MAX_PART: f64 = 1.0 / 7.0;
/// Rings behind each other.
const MAX_RINGS: usize = 3;
/// How much farther than the rings are deep the inner edge may be from the middle.
const OPENNESS: f64 = 1.7;
/// Half the width and half the height of the oval, and how square it is.
const HALF_WIDTH: f64 = 1.2;
const HALF_HEIGHT: f64 = 0.9;
const SQUARENESS: f64 = 2.5;
/// Passage between two rings.
const PASSAGE: f64 = 90.0;
/// Halvings of a search: enough for a millionth of the largest plan.
const HALVINGS: usize = 44;

/// One ring: blocks in order, each with the length of its edge.
struct Ring {
    blocks: Vec<usize>,
    edges: Vec<f64>,
    /// How many of the blocks, from the first, belong to the first stand.
    first_stand: usize,
    depth: f64,
}

/// The point of the oval in that direction; clockwise on the screen.
fn oval(angle: f64, scale: f64) -> Point {
    let (sin, cos) = angle.sin_cos();
    let reach = ((cos.abs() / HALF_WIDTH).powf(SQUARENESS) + (sin.abs() / HALF_HEIGHT).powf(SQUARENESS))
        .powf(-1.0 / SQUARENESS)
        * scale;
    Point::new(cos * reach, sin * reach)
}

/// Stands for all blocks, if a bowl suits them.
pub(super) fn arrange(blocks: &[Block], stands: &[&str]) -> Option<(Vec<Stand>, DraftArea)> {
    let seats: usize = blocks.iter().flat_map(|block| &block.rows).map(|(_, places)| places.len()).sum();
    let total: f64 = blocks.iter().map(|block| block.size.width + AISLE).sum();
    let widest = blocks.iter().map(|block| block.size.width).fold(0.0, f64::max);
    if !(MIN_SECTIONS..=MAX_SECTIONS).contains(&blocks.len()) || seats < MIN_SEATS {
        return None;
    }
    let order = clockwise(stands);
    let rings = (1..=MAX_RINGS).map(|count| rings(blocks, &order, count)).find(|rings| {
        let depth: f64 = rings.iter().map(|ring| ring.depth + PASSAGE).sum();
        let inner: f64 = rings.first().map_or(0.0, |ring| ring.edges.iter().sum());
        inner / TAU <= OPENNESS * depth
    });
    let rings = rings.unwrap_or_else(|| self::rings(blocks, &order, MAX_RINGS));
    if rings.iter().any(|ring| widest_part(ring) > MAX_PART) || widest > total * MAX_PART {
        return None;
    }
    place(blocks, &rings)
}

fn widest_part(ring: &Ring) -> f64 {
    let total: f64 = ring.edges.iter().sum();
    ring.edges.iter().copied().fold(0.0, f64::max) / total.max(1.0)
}

/// Sections by stand, clockwise from the west where the names of stands are those of the compass,
/// else in the order of the table; each inner list is a stand.
fn clockwise(stands: &[&str]) -> Vec<Vec<usize>> {
    let mut names: Vec<&str> = Vec::new();
    let mut order: Vec<Vec<usize>> = Vec::new();
    for (section, stand) in stands.iter().enumerate() {
        match names.iter().position(|name| name == stand) {
            Some(index) => order[index].push(section),
            None => {
                names.push(stand);
                order.push(vec![section]);
            }
        }
    }
    let compass: Option<Vec<u8>> = names.iter().map(|name| compass(name)).collect();
    if let Some(compass) = compass {
        let mut keyed: Vec<(u8, Vec<usize>)> = compass.into_iter().zip(order).collect();
        keyed.sort_by_key(|(quarter, _)| *quarter);
        return keyed.into_iter().map(|(_, sections)| sections).collect();
    }
    order
}

/// Quarters clockwise from the west.
fn compass(stand: &str) -> Option<u8> {
    const QUARTERS: [&[&str]; 4] = [
        &["west", "ouest", "oeste", "ovest", "запад", "захід", "захід", "західн", "西"],
        &["north", "nord", "norte", "север", "північ", "північн", "北"],
        &["east", "ost", "est", "восток", "восточ", "схід", "східн", "东", "東"],
        &["south", "süd", "sud", "sur", "sul", "юг", "юж", "південь", "південн", "南"],
    ];
    let stand = stand.trim().to_lowercase();
    let quarter = QUARTERS.iter().position(|words| words.iter().any(|word| stand.starts_with(word)))?;
    u8::try_from(quarter).ok()
}

/// Each stand is cut into as many parts of about one length as there are rings.
fn rings(blocks: &[Block], order: &[Vec<usize>], count: usize) -> Vec<Ring> {
    let mut rings: Vec<Ring> =
        (0..count).map(|_| Ring { blocks: Vec::new(), edges: Vec::new(), first_stand: 0, depth: 0.0 }).collect();
    for (stand, sections) in order.iter().enumerate() {
        let edge = |section: &usize| blocks.get(*section).map_or(0.0, |block| block.size.width + AISLE);
        let total: f64 = sections.iter().map(edge).sum();
        let mut before = 0.0;
        for section in sections {
            let length = edge(section);
            let part = (before + length / 2.0) / total.max(1.0) * count as f64;
            before += length;
            let depth = blocks.get(*section).map_or(0.0, |block| block.size.height);
            if let Some(ring) = rings.get_mut(crate::venue::geometry::index_clamped(part, count - 1)) {
                ring.blocks.push(*section);
                ring.edges.push(length);
                ring.first_stand += usize::from(stand == 0);
                ring.depth = ring.depth.max(depth);
            }
        }
    }
    rings.retain(|ring| !ring.blocks.is_empty());
    rings
}

/// Corners of the polygon, one more than edges; none when it would go round more than once.
fn corners(edges: &[f64], gap: f64, scale: f64, start: f64) -> Option<Vec<Point>> {
    let mut angle = start;
    let mut corners = vec![oval(angle, scale)];
    for edge in edges {
        let from = oval(angle, scale);
        let wanted = edge + gap;
        let (mut low, mut high) = (0.0, PI * 0.75);
        if from.distance(oval(angle + high, scale)) < wanted {
            return None;
        }
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            if from.distance(oval(angle + middle, scale)) < wanted { low = middle } else { high = middle }
        }
        angle += high;
        if angle > start + TAU {
            return None;
        }
        corners.push(oval(angle, scale));
    }
    Some(corners)
}

/// The smallest oval that the edges fit on, not below `least`, and the widest gaps that close it.
fn closed(ring: &Ring, least: f64, start: f64) -> Option<(f64, Vec<Point>)> {
    let total: f64 = ring.edges.iter().sum();
    let (mut low, mut high) = (0.0, total);
    corners(&ring.edges, 0.0, high, start)?;
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if corners(&ring.edges, 0.0, middle, start).is_some() { high = middle } else { low = middle }
    }
    let scale = high.max(least);
    let (mut low, mut high) = (0.0, scale * 2.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if corners(&ring.edges, middle, scale, start).is_some() { low = middle } else { high = middle }
    }
    Some((scale, corners(&ring.edges, low, scale, start)?))
}

/// The start that puts the middle of the first stand at the west.
fn started(ring: &Ring, least: f64) -> Option<(f64, Vec<Point>)> {
    const TURNS: usize = 5;
    let mut start = PI - TAU * ring.first_stand as f64 / ring.edges.len() as f64 / 2.0;
    let mut found = closed(ring, least, start)?;
    for _ in 0..TURNS {
        let last = found.1.get(ring.first_stand)?;
        let end = start + (last.y.atan2(last.x) - start).rem_euclid(TAU);
        start += (PI - f64::midpoint(start, end)).clamp(-1.0, 1.0);
        found = closed(ring, least, start)?;
    }
    Some(found)
}

fn place(blocks: &[Block], rings: &[Ring]) -> Option<(Vec<Stand>, DraftArea)> {
    let mut placed = vec![Stand { corner: Point::default(), sin: 0.0, cos: 1.0, back_left: true }; blocks.len()];
    // The far corners of all blocks so far, which the next ring must lie outside of.
    let mut outer: Vec<Point> = Vec::new();
    let mut least = 0.0_f64;
    let mut inner = None;
    for ring in rings {
        let polygon = outside(ring, least, &outer)?;
        inner.get_or_insert(polygon.0);
        least = polygon.0;
        outer.clear();
        for ((&index, edge), ends) in ring.blocks.iter().zip(&ring.edges).zip(polygon.1.windows(2)) {
            let (from, to) = (ends[0], ends[1]);
            let length = from.distance(to);
            let (cos, sin) = ((to.x - from.x) / length, (to.y - from.y) / length);
            let block = blocks.get(index)?;
            // The block in the middle of its edge; what is left over is aisle.
            let shift = (length - (edge - AISLE)) / 2.0;
            let corner = Point::new(from.x + cos * shift, from.y + sin * shift);
            let stand = Stand { corner, sin, cos, back_left: true };
            outer.push(stand.place(Point::new(0.0, block.size.height)));
            outer.push(stand.place(Point::new(block.size.width, block.size.height)));
            if let Some(slot) = placed.get_mut(index) {
                *slot = stand;
            }
        }
    }
    let corners = blocks.iter().zip(&placed).flat_map(|(block, stand)| {
        let Size { width, height } = block.size;
        [(0.0, 0.0), (width, 0.0), (0.0, height), (width, height)].map(|(x, y)| stand.place(Point::new(x, y)))
    });
    let bounds = Rect::bounding(corners)?;
    let shift = Point::new(MARGIN - bounds.min.x, MARGIN - bounds.min.y);
    for stand in &mut placed {
        stand.corner = stand.corner.plus(shift);
    }
    // Within the oval and, with what its edges cut off, within the innermost polygon.
    let half = inner? * 0.55;
    let size = Size { width: hundredth(2.0 * half * HALF_WIDTH), height: hundredth(2.0 * half * HALF_HEIGHT) };
    let corner = shift.minus(Point::new(size.width / 2.0, size.height / 2.0));
    Some((placed, scenery("Pitch", Point::new(hundredth(corner.x), hundredth(corner.y)), size)))
}

/// A ring around everything so far.
fn outside(ring: &Ring, least: f64, outer: &[Point]) -> Option<(f64, Vec<Point>)> {
    const TRIES: usize = 400;
    const STEP: f64 = 1.02;
    let mut least = least;
    for _ in 0..TRIES {
        let (scale, polygon) = started(ring, least)?;
        let clear =
            polygon.windows(2).chain(std::iter::once([*polygon.last()?, *polygon.first()?].as_slice())).all(|ends| {
                let (from, to) = (ends[0], ends[1]);
                let length = from.distance(to);
                // The inside of a polygon that is walked clockwise on the screen is to the right.
                let inside = |point: &Point| {
                    ((to.x - from.x) * (point.y - from.y) - (to.y - from.y) * (point.x - from.x)) / length.max(1.0)
                };
                length < 1.0 || outer.iter().all(|point| inside(point) >= PASSAGE)
            });
        if clear {
            return Some((scale, polygon));
        }
        least = scale * STEP;
    }
    None
}
