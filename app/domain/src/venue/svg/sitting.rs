//! In which order the seats of a row sit.
//!
//! Owns the geometry of rows. A row may be straight, bent, a horseshoe or a whole ring, drawn in any
//! order and numbered in any way; who sits beside whom is told by the drawing alone. Of a few ways
//! along the seats the shortest is taken.

use std::cmp::Ordering;

use crate::venue::Point;

/// Another way must be shorter by this much: rounding decides nothing.
const SHORTER: f64 = 0.999;

/// The order of sitting as indices: along the row, beginning where the numbers do.
pub(super) fn order(seats: &[(Point, &str)]) -> Vec<usize> {
    let by = |key: &dyn Fn(usize) -> f64| {
        let keys: Vec<f64> = (0..seats.len()).map(key).collect();
        let mut order: Vec<usize> = (0..seats.len()).collect();
        order.sort_by(|one, other| keys[*one].total_cmp(&keys[*other]));
        order
    };
    let (center, axis) = main_direction(seats);
    let along = |index: usize| {
        let offset = seats[index].0.minus(center);
        offset.x * axis.x + offset.y * axis.y
    };
    let around = |index: usize| {
        let offset = seats[index].0.minus(center);
        offset.y.atan2(offset.x)
    };
    let ring = from_greatest_gap(seats, by(&around));
    let mut numbered: Vec<usize> = (0..seats.len()).collect();
    numbered.sort_by(|one, other| compare(seats[*one].1, seats[*other].1));
    let mut best = by(&along);
    let mut shortest = length(seats, &best);
    for other in [ring, numbered, (0..seats.len()).collect()] {
        let length = length(seats, &other);
        if length < shortest * SHORTER {
            (best, shortest) = (other, length);
        }
    }
    if runs_backwards(seats, &best) {
        best.reverse();
    }
    best
}

/// The middle of the seats and the direction in which they spread most.
fn main_direction(seats: &[(Point, &str)]) -> (Point, Point) {
    let count = seats.len().max(1) as f64;
    let sum = seats.iter().fold(Point::default(), |sum, (point, _)| sum.plus(*point));
    let center = Point::new(sum.x / count, sum.y / count);
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (point, _) in seats {
        let offset = point.minus(center);
        xx += offset.x * offset.x;
        xy += offset.x * offset.y;
        yy += offset.y * offset.y;
    }
    // The greater axis of the ellipse of inertia.
    let angle = 0.5 * (2.0 * xy).atan2(xx - yy);
    (center, Point::new(angle.cos(), angle.sin()))
}

/// The ring, cut where two that follow each other are farthest apart.
fn from_greatest_gap(seats: &[(Point, &str)], mut ring: Vec<usize>) -> Vec<usize> {
    let gap = |at: usize| seats[ring[at]].0.distance_squared(seats[ring[(at + 1) % ring.len()]].0);
    if let Some(at) = (0..ring.len()).max_by(|one, other| gap(*one).total_cmp(&gap(*other))) {
        let count = ring.len();
        ring.rotate_left((at + 1) % count);
    }
    ring
}

fn length(seats: &[(Point, &str)], order: &[usize]) -> f64 {
    order.windows(2).map(|pair| seats[pair[0]].0.distance(seats[pair[1]].0)).sum()
}

/// Whether most numbers fall along the row; where they say nothing, whether it runs from right to
/// left, or upwards.
fn runs_backwards(seats: &[(Point, &str)], order: &[usize]) -> bool {
    let mut balance = 0_i64;
    for pair in order.windows(2) {
        balance += match compare(seats[pair[0]].1, seats[pair[1]].1) {
            Ordering::Less => 1,
            Ordering::Equal => 0,
            Ordering::Greater => -1,
        };
    }
    let (Some(first), Some(last)) = (order.first(), order.last()) else { return false };
    let (first, last) = (seats[*first].0, seats[*last].0);
    match balance.cmp(&0) {
        Ordering::Less => true,
        Ordering::Greater => false,
        Ordering::Equal => first.x.total_cmp(&last.x).then(first.y.total_cmp(&last.y)) == Ordering::Greater,
    }
}

/// Numbers by value, and before other labels; those by their letters.
fn compare(one: &str, other: &str) -> Ordering {
    match (one.parse::<i64>(), other.parse::<i64>()) {
        (Ok(one), Ok(other)) => one.cmp(&other),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => one.cmp(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sat(seats: &[(f64, f64, &str)]) -> String {
        let seats: Vec<(Point, &str)> = seats.iter().map(|(x, y, label)| (Point::new(*x, *y), *label)).collect();
        order(&seats).into_iter().map(|index| seats[index].1).collect()
    }

    #[test]
    fn a_row_sits_along_its_direction_whatever_its_numbers() {
        assert_eq!(sat(&[(20.0, 0.0, "2"), (0.0, 0.0, "3"), (10.0, 0.0, "1")]), "312", "odd and even sides");
        assert_eq!(sat(&[(0.0, 0.0, "3"), (10.0, 5.0, "2"), (20.0, 10.0, "1")]), "123");
        assert_eq!(sat(&[(0.0, 20.0, "C"), (0.0, 0.0, "A"), (0.0, 10.0, "B")]), "ABC");
        assert_eq!(sat(&[(5.0, 0.0, "x"), (0.0, 0.0, "x")]), "xx");
        assert_eq!(sat(&[]), "");
    }

    #[test]
    fn a_horseshoe_sits_around_its_bend() {
        // Along three sides of a square, opened to the right.
        let seats = [
            (30.0, 0.0, "1"),
            (10.0, 0.0, "2"),
            (0.0, 10.0, "3"),
            (0.0, 30.0, "4"),
            (10.0, 40.0, "5"),
            (30.0, 40.0, "6"),
        ];
        let mut mixed = seats;
        mixed.swap(0, 3);
        mixed.swap(1, 5);
        assert_eq!(sat(&mixed), "123456");
    }
}
