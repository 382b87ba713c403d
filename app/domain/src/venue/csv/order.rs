//! The order of sitting, and how large a place is drawn.
//!
//! Owns what is told from places alone. Neighbours are physical: a table that is sorted as text
//! (1, 10, 11, 2) must not make seat 1 the neighbour of seat 10.

use std::cmp::Ordering;

use super::build::{Entry, RowOf};
use super::layout::{self, Outline};
use crate::venue::geometry::Point;
use crate::venue::plan::{DEFAULT_RADIUS, stepped};

/// The lines' own order stays unless it walks more than so many times as far as a better one.
const DETOUR: f64 = 2.0;
/// Distances between seats that the usual radius fits.
const USUAL_PITCH: std::ops::RangeInclusive<f64> = 20.0..=60.0;
/// Followers that are looked at for the nearest place.
const MAX_FOLLOWERS: usize = 64;

/// Without places: by number where all labels are numbers, else as the lines are.
pub(super) fn by_number(row: &mut RowOf<'_>) {
    if let Some(order) = numbers(&row.entries) {
        reorder(row, &order);
    }
}

/// With places: as the lines are, unless that is a detour; then by number or along the row, whichever
/// walks less.
pub(super) fn by_place(row: &mut RowOf<'_>) {
    if row.standing || row.entries.len() < 3 {
        return;
    }
    let walked = |order: &[usize]| -> f64 {
        let at = |index: usize| row.entries.get(index).map_or_else(Point::default, |entry| entry.at);
        order.windows(2).map(|pair| at(pair[0]).distance(at(pair[1]))).sum()
    };
    let as_is: Vec<usize> = (0..row.entries.len()).collect();
    let mut candidates = vec![along(&row.entries)];
    candidates.extend(numbers(&row.entries));
    let best = candidates
        .into_iter()
        .map(|order| (walked(&order), order))
        .min_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal));
    if let Some((length, order)) = best
        && walked(&as_is) > DETOUR * length
    {
        reorder(row, &order);
    }
}

fn numbers(entries: &[Entry<'_>]) -> Option<Vec<usize>> {
    let numbers: Option<Vec<u64>> = entries.iter().map(|entry| entry.label.parse().ok()).collect();
    let numbers = numbers?;
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|index| numbers.get(*index));
    Some(order)
}

/// From one end of the row's main direction to the other.
fn along(entries: &[Entry<'_>]) -> Vec<usize> {
    let count = entries.len() as f64;
    let sum = entries.iter().fold(Point::default(), |sum, entry| sum.plus(entry.at));
    let middle = Point::new(sum.x / count, sum.y / count);
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for entry in entries {
        let d = entry.at.minus(middle);
        (xx, xy, yy) = (xx + d.x * d.x, xy + d.x * d.y, yy + d.y * d.y);
    }
    // The principal axis of the places' covariance.
    let angle = 0.5 * (2.0 * xy).atan2(xx - yy);
    let (sin, cos) = angle.sin_cos();
    let key = |index: &usize| {
        let d = entries.get(*index).map_or_else(Point::default, |entry| entry.at.minus(middle));
        (d.x * cos + d.y * sin, d.y * cos - d.x * sin)
    };
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by(|a, b| {
        let ((a_along, a_across), (b_along, b_across)) = (key(a), key(b));
        let guids = || entries.get(*a).map(|entry| &entry.guid).cmp(&entries.get(*b).map(|entry| &entry.guid));
        a_along.total_cmp(&b_along).then_with(|| a_across.total_cmp(&b_across)).then_with(guids)
    });
    order
}

fn reorder(row: &mut RowOf<'_>, order: &[usize]) {
    let mut taken: Vec<Option<Entry<'_>>> = std::mem::take(&mut row.entries).into_iter().map(Some).collect();
    row.entries = order.iter().filter_map(|index| taken.get_mut(*index)?.take()).collect();
}

/// Spreads the places of each standing area around its middle, and gives the outlines.
pub(super) fn spread(rows: &mut [RowOf<'_>]) -> Vec<Option<Outline>> {
    rows.iter_mut()
        .map(|row| {
            let middle = row.entries.iter().find(|entry| entry.line.area).map(|entry| entry.at)?;
            let count = row.entries.iter().filter(|entry| entry.line.area).count();
            let grid = layout::standing_grid(count);
            let corner = middle.minus(Point::new(grid.size.width / 2.0, grid.size.height / 2.0));
            for (entry, place) in row.entries.iter_mut().filter(|entry| entry.line.area).zip(grid.places) {
                entry.at = corner.plus(place);
            }
            Some(Outline { corner, size: grid.size, rotation: 0.0 })
        })
        .collect()
}

/// The radius of seats, and that of places to stand.
pub(super) fn radii(rows: &[RowOf<'_>]) -> (f64, f64) {
    let of = |standing: bool| -> Vec<Point> {
        rows.iter().filter(|row| row.standing == standing).flat_map(|row| &row.entries).map(|entry| entry.at).collect()
    };
    let seats = match pitch(of(false)) {
        Some(pitch) if pitch < *USUAL_PITCH.start() => two_digits(pitch * 0.45),
        Some(pitch) if pitch > *USUAL_PITCH.end() => two_digits(pitch * 0.35),
        _ => DEFAULT_RADIUS,
    };
    let standing = pitch(of(true)).map_or(layout::STANDING_RADIUS, |pitch| two_digits(pitch * 0.45));
    (seats, standing)
}

/// How near places are to each other: nine of ten have their nearest no nearer.
fn pitch(mut places: Vec<Point>) -> Option<f64> {
    places.sort_by(|a, b| a.x.total_cmp(&b.x).then_with(|| a.y.total_cmp(&b.y)));
    let mut nearest = vec![f64::INFINITY; places.len()];
    for (index, place) in places.iter().enumerate() {
        for (other, follower) in places.iter().enumerate().skip(index + 1).take(MAX_FOLLOWERS) {
            if follower.x - place.x > nearest[index] {
                break;
            }
            let distance = place.distance(*follower);
            // Two places at one spot are a fault of the table, which is told; they say nothing here.
            if distance > 0.0 {
                nearest[index] = nearest[index].min(distance);
                nearest[other] = nearest[other].min(distance);
            }
        }
    }
    let mut nearest: Vec<f64> = nearest.into_iter().filter(|distance| distance.is_finite()).collect();
    let tenth = nearest.len() / 10;
    if nearest.is_empty() {
        return None;
    }
    Some(*nearest.select_nth_unstable_by(tenth, f64::total_cmp).1)
}

/// Two digits of a positive number: places are rounded, radii should not follow that.
fn two_digits(value: f64) -> f64 {
    let unit = 10_f64.powf(value.log10().floor() - 1.0);
    let rounded = (value / unit).round() * unit;
    // A radius is never nothing, however near the places are.
    stepped(rounded).max(0.000_001)
}
