//! From the places of one row object to lines of neighbours.
//!
//! Most row objects are one line, straight or curved, with or without aisles. Real files also hold
//! a whole block in one object, a row that goes around a corner or around the house, and seats in
//! an order of their own, so nothing is assumed but that a neighbour is near and nobody is between.

use crate::venue::geometry::{Point, Rect};
use crate::venue::spatial::Grid;

/// How many times the usual way to the next seat is still no gap: half a seat of air is an aisle.
const GAP: f64 = 1.4;
/// In a block, how far from the direction of its rows the next seat may lie: cosine of 35 degrees.
const ALONG_COS: f64 = 0.82;
/// Below this share of agreement, the order of the file says nothing of the direction of a block's rows.
const AGREEMENT: f64 = 0.5;
/// Seats that a ring has at least; fewer in a circle are a small block.
const RING_SEATS_MIN: usize = 5;
/// From so many seats on, a row tells its own usual step; of fewer, the house's bounds it.
const SURE_SEATS: usize = 5;
/// Shorter ways are none: seats that are drawn over each other aren't neighbours.
const OVERLAP: f64 = 1e-6;

/// The lines of neighbours of each row object: indices, each once, in the order of sitting.
pub(super) fn all(rows: &[Vec<Point>], focal: Point) -> Vec<Vec<Vec<usize>>> {
    let steps: Vec<Option<f64>> = rows.iter().map(|row| usual_step(row)).collect();
    let sure = |row: &&Vec<Point>| row.len() >= SURE_SEATS;
    let mut of_house: Vec<f64> =
        rows.iter().zip(&steps).filter(|(row, _)| sure(row)).filter_map(|(_, step)| *step).collect();
    of_house.sort_unstable_by(f64::total_cmp);
    let of_house = of_house.get(of_house.len() / 2).copied().unwrap_or(f64::INFINITY);
    rows.iter()
        .zip(steps)
        .map(|(row, step)| {
            let step = step.map(|step| if sure(&row) { step } else { step.min(of_house * GAP) });
            lines(row, step, focal)
        })
        .collect()
}

/// The lines of neighbours among places that are usually one step from each other.
fn lines(points: &[Point], step: Option<f64>, focal: Point) -> Vec<Vec<usize>> {
    let links = match step {
        Some(step) => linked(points, step * GAP),
        None => vec![Vec::new(); points.len()],
    };
    let links = if is_block(&links) { along_rows(points, &links, focal) } else { links };
    walk(points, links, focal)
}

/// The median way to the nearest other place; none without two places.
fn usual_step(points: &[Point]) -> Option<f64> {
    let bounds = Rect::bounding(points.iter().copied())?;
    let upright = bounds.height() > bounds.width();
    // Along the longer side, few places lie between one and its nearest.
    let along = |point: &Point| if upright { (point.y, point.x) } else { (point.x, point.y) };
    let mut sorted: Vec<Point> = points.to_vec();
    sorted.sort_by(|a, b| {
        let (a, b) = (along(a), along(b));
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    sorted.dedup_by(|a, b| a.distance(*b) <= OVERLAP);
    let nearest = |index: usize| {
        let point = *sorted.get(index)?;
        let mut best = f64::INFINITY;
        let after = sorted.iter().skip(index + 1);
        let before = sorted.iter().take(index).rev();
        for side in [&mut after.into_iter() as &mut dyn Iterator<Item = &Point>, &mut before.into_iter()] {
            for other in side {
                if (along(other).0 - along(&point).0).abs() >= best {
                    break;
                }
                let distance = other.distance(point);
                if distance > OVERLAP {
                    best = best.min(distance);
                }
            }
        }
        best.is_finite().then_some(best)
    };
    let mut steps: Vec<f64> = (0..sorted.len()).filter_map(nearest).collect();
    steps.sort_unstable_by(f64::total_cmp);
    // The lower middle: of a few seats, the near ones tell the step, not the aisle.
    steps.get(steps.len().saturating_sub(1) / 2).copied()
}

/// For each place those within reach to which nobody is nearer from both ends: of three in a line the
/// outer two are not linked, and of a square its diagonals are not.
fn linked(points: &[Point], reach: f64) -> Vec<Vec<usize>> {
    let grid = Grid::over(points);
    let mut found = Vec::new();
    let near: Vec<Vec<usize>> = points
        .iter()
        .enumerate()
        .map(|(index, point)| {
            grid.in_rect(Rect::around(*point, reach), &mut found);
            let mut near: Vec<usize> =
                found.iter().map(|other| *other as usize).filter(|other| *other != index).collect();
            near.retain(|other| points.get(*other).is_some_and(|other| fits(*point, *other, reach)));
            near.sort_unstable();
            near
        })
        .collect();
    let apart = |a: usize, b: usize| match (points.get(a), points.get(b)) {
        (Some(a), Some(b)) => a.distance(*b),
        _ => f64::INFINITY,
    };
    near.iter()
        .enumerate()
        .map(|(a, others)| {
            let free = |b: &usize| {
                let way = apart(a, *b) - OVERLAP;
                !others.iter().any(|c| c != b && apart(a, *c) < way && apart(*b, *c) < way)
            };
            others.iter().copied().filter(free).collect()
        })
        .collect()
}

fn fits(a: Point, b: Point, reach: f64) -> bool {
    let distance = a.distance(b);
    distance > OVERLAP && distance <= reach
}

/// Whether the links are more than lines: somewhere they fork, or go around in a small circle.
fn is_block(links: &[Vec<usize>]) -> bool {
    if links.iter().any(|near| near.len() > 2) {
        return true;
    }
    let mut seen = vec![false; links.len()];
    (0..links.len()).any(|start| {
        let (round, closed) = follow(start, links, &mut seen);
        closed && round.len() < RING_SEATS_MIN
    })
}

/// Follows links from a place over places not seen yet; whether the way leads back to its start.
fn follow(start: usize, links: &[Vec<usize>], seen: &mut [bool]) -> (Vec<usize>, bool) {
    let of = |index: usize| links.get(index).map_or(&[][..], Vec::as_slice);
    let mut way = Vec::new();
    let mut next = (!seen.get(start).copied().unwrap_or(true)).then_some(start);
    while let Some(at) = next {
        if let Some(seen) = seen.get_mut(at) {
            *seen = true;
        }
        way.push(at);
        next = of(at).iter().copied().find(|other| !seen.get(*other).copied().unwrap_or(true));
    }
    let closed = way.len() > 2 && way.last().is_some_and(|last| of(*last).contains(&start));
    (way, closed)
}

/// Of a block's links those that run along its rows: at most one to each side, wanted by both ends.
fn along_rows(points: &[Point], links: &[Vec<usize>], focal: Point) -> Vec<Vec<usize>> {
    let axis = rows_direction(points, links, focal);
    let at = |index: usize| points.get(index).copied().unwrap_or_default();
    let best = |index: usize, side: f64| {
        let near = links.get(index)?.iter().copied();
        near.filter_map(|other| {
            let way = at(other).minus(at(index));
            let length = at(other).distance(at(index));
            let cos = side * (way.x * axis.x + way.y * axis.y) / length;
            (cos >= ALONG_COS).then_some((cos, length, other))
        })
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)).then(b.2.cmp(&a.2)))
        .map(|(_, _, other)| other)
    };
    let next: Vec<Option<usize>> = (0..points.len()).map(|index| best(index, 1.0)).collect();
    let mut kept = vec![Vec::new(); points.len()];
    for (index, next) in next.into_iter().enumerate() {
        let Some(next) = next.filter(|next| best(*next, -1.0) == Some(index)) else { continue };
        for (a, b) in [(index, next), (next, index)] {
            if let Some(list) = kept.get_mut(a) {
                list.push(b);
            }
        }
    }
    kept
}

/// Where the rows of a block run: as its file goes from seat to seat, else across the view.
fn rows_direction(points: &[Point], links: &[Vec<usize>], focal: Point) -> Point {
    // Doubled angles make the two ways along one line the same direction.
    let (mut sum, mut votes) = (Point::default(), 0.0);
    for (index, pair) in points.windows(2).enumerate() {
        if links.get(index).is_some_and(|near| near.contains(&(index + 1))) {
            let way = pair[1].minus(pair[0]);
            let angle = 2.0 * way.y.atan2(way.x);
            sum = sum.plus(Point::new(angle.cos(), angle.sin()));
            votes += 1.0;
        }
    }
    let angle = if sum.distance(Point::default()) > AGREEMENT * votes {
        sum.y.atan2(sum.x) / 2.0
    } else {
        let middle = Rect::bounding(points.iter().copied()).unwrap_or_default().center();
        let view = focal.minus(middle);
        view.y.atan2(view.x) + std::f64::consts::FRAC_PI_2
    };
    Point::new(angle.cos(), angle.sin())
}

/// Lines from their ends; then rings, each cut where it is farthest from what everyone looks at.
fn walk(points: &[Point], links: Vec<Vec<usize>>, focal: Point) -> Vec<Vec<usize>> {
    let mut seen = vec![false; points.len()];
    let mut lines = Vec::new();
    for (start, near) in links.iter().enumerate() {
        if near.len() < 2 {
            let (line, _) = follow(start, &links, &mut seen);
            lines.push(line);
        }
    }
    for start in 0..points.len() {
        let (mut ring, _) = follow(start, &links, &mut seen);
        let far = |index: &usize| points.get(*index).map_or(0.0, |point| point.distance_squared(focal));
        let cut = ring.iter().enumerate().max_by(|a, b| far(a.1).total_cmp(&far(b.1)).then(b.0.cmp(&a.0)));
        if let Some(cut) = cut.map(|(cut, _)| cut) {
            ring.rotate_left(cut);
        }
        lines.push(ring);
    }
    lines.retain(|line| !line.is_empty());
    lines
}
