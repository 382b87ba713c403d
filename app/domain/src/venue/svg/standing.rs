//! Places to stand, spread over an outline.
//!
//! Owns the grid. A place to stand needs a spot on the map, which says nothing to anybody; it only
//! has to lie inside the area, apart from the others.

use crate::venue::Point;
use crate::venue::geometry::{Rect, whole};

/// Tries, each with a denser grid.
const MAX_TRIES: usize = 60;
/// By how much the grid gets denser.
const DENSER: f64 = 0.93;
/// Edges that are looked at for all areas of a drawing together.
pub(super) const MAX_LOOKS: usize = 200_000_000;
/// Spots closer than this are no longer told apart on the map.
const LEAST_SPACING: f64 = 1e-3;

/// Exactly `count` spots inside the outline, row by row, and the distance between them; `None`
/// where the outline has no room. `looks` is what may still be spent.
pub(super) fn spots(rings: &[Vec<Point>], count: usize, looks: &mut usize) -> Option<(Vec<Point>, f64)> {
    let bounds = Rect::bounding(rings.iter().flatten().copied())?;
    let area = bounds.width() * bounds.height();
    if count == 0 || !area.is_finite() || area <= 0.0 {
        return None;
    }
    let mut spacing = (area / count as f64).sqrt();
    for _ in 0..MAX_TRIES {
        if spacing < LEAST_SPACING {
            return None;
        }
        let spots = grid(rings, bounds, spacing, looks)?;
        if spots.len() >= count {
            // More than needed: leave out evenly.
            let chosen = (0..count).filter_map(|index| spots.get(index * spots.len() / count).copied()).collect();
            return Some((chosen, spacing));
        }
        spacing *= DENSER;
    }
    None
}

/// All points of a grid that lie inside, half a step from the edges of the box.
fn grid(rings: &[Vec<Point>], bounds: Rect, spacing: f64, looks: &mut usize) -> Option<Vec<Point>> {
    let edges: usize = rings.iter().map(Vec::len).sum();
    let (columns, lines) = (whole(bounds.width() / spacing).max(1), whole(bounds.height() / spacing).max(1));
    *looks = looks.checked_sub(lines.saturating_mul(edges.max(1)).saturating_add(columns))?;
    let (width, height) = (bounds.width() / columns as f64, bounds.height() / lines as f64);
    let mut spots = Vec::new();
    for line in 0..lines {
        let y = bounds.min.y + (line as f64 + 0.5) * height;
        let crossings = crossings(rings, y);
        for pair in crossings.chunks_exact(2) {
            let at = |x: f64| (x - bounds.min.x) / width - 0.5;
            let (first, end) = (whole(at(pair[0]).ceil()), whole((at(pair[1]).floor() + 1.0).max(0.0)).min(columns));
            *looks = looks.checked_sub(end.saturating_sub(first))?;
            for column in first..end {
                let x = bounds.min.x + (column as f64 + 0.5) * width;
                if x > pair[0] && x < pair[1] {
                    spots.push(Point::new(x, y));
                }
            }
        }
    }
    Some(spots)
}

/// Where a level line enters and leaves the outline, from left to right.
fn crossings(rings: &[Vec<Point>], y: f64) -> Vec<f64> {
    let mut list = Vec::new();
    for ring in rings {
        for (index, from) in ring.iter().enumerate() {
            let to = ring[(index + 1) % ring.len()];
            // Half open, so that a corner counts once.
            if (from.y <= y) != (to.y <= y) {
                list.push(from.x + (y - from.y) / (to.y - from.y) * (to.x - from.x));
            }
        }
    }
    list.sort_by(f64::total_cmp);
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_wanted_lie_inside_and_apart() {
        let star: Vec<Point> = (0..10)
            .map(|corner| {
                let angle = f64::from(corner) * std::f64::consts::PI / 5.0;
                let radius = if corner % 2 == 0 { 100.0 } else { 40.0 };
                Point::new(radius * angle.cos(), radius * angle.sin())
            })
            .collect();
        for count in [1, 2, 7, 300, 5_000] {
            let mut looks = MAX_LOOKS;
            let (spots, spacing) = spots(std::slice::from_ref(&star), count, &mut looks).expect("room");
            assert_eq!(spots.len(), count);
            for (index, spot) in spots.iter().enumerate() {
                let inside =
                    crossings(std::slice::from_ref(&star), spot.y).iter().filter(|x| **x < spot.x).count() % 2 == 1;
                assert!(inside, "{spot:?}");
                let near = spots.iter().skip(index + 1).take(200).map(|other| other.distance(*spot));
                assert!(near.fold(f64::INFINITY, f64::min) >= spacing * 0.99);
            }
        }
    }

    #[test]
    fn a_line_has_no_room_and_a_sliver_ends() {
        let line = vec![Point::new(0.0, 0.0), Point::new(100.0, 0.0)];
        assert!(spots(&[line], 10, &mut MAX_LOOKS.clone()).is_none());
        let sliver = vec![Point::new(0.0, 0.0), Point::new(1e6, 1e6), Point::new(1e6, 1e6 + 1e-3)];
        let mut looks = MAX_LOOKS;
        assert!(spots(&[sliver], 100_000, &mut looks).is_none());
    }
}
