//! Groups that can't sit side by side: nobody alone, and as near to each other as possible.
//!
//! Owns the search for such a split. Whether there is one is decided exactly; of the many there may be,
//! the nearest few beginnings are tried and the most compact result is taken.

use std::ops::Range;

use super::{Choice, Spread, Stretch, Tier};
use crate::ids::SeatNo;
use crate::venue::adjacency::{Adjacency, tenths};
use crate::venue::geometry::Point;

/// Beginnings that are tried, the nearest to the focal point first.
const BEGINNINGS: usize = 16;
/// Rows that lie within so many usual steps count as one behind the other.
const BEHIND_STEPS: f64 = 3.0;
/// Groups within one such length of each other are equally near: a row of depth.
const COMPACT_STEPS: f64 = 2.0;

/// A group of neighbours to be seated: which stretch, and how many of it.
#[derive(Clone, Copy)]
struct Part {
    stretch: usize,
    count: usize,
}

impl Adjacency {
    /// Seats for a group in parts of at least two, in one section where that is possible.
    pub(super) fn split(&self, all: &[Stretch], count: usize, spread: Spread) -> Option<(Vec<SeatNo>, Tier)> {
        let mut usable: Vec<&Stretch> = all.iter().filter(|stretch| stretch.places.len() >= 2).collect();
        usable.sort_by_key(|stretch| self.section_of(stretch));
        let sections: Vec<&[&Stretch]> = usable
            .chunk_by(|a, b| self.section_of(a) == self.section_of(b))
            .filter(|section| can_split(section.iter().map(|stretch| stretch.places.len()), count))
            .collect();
        if let Some(seats) = self.nearest_split(&sections, count, spread) {
            return Some((seats, Tier::OneSection));
        }
        if !can_split(usable.iter().map(|stretch| stretch.places.len()), count) {
            return None;
        }
        self.nearest_split(&[usable.as_slice()], count, spread).map(|seats| (seats, Tier::Sections))
    }

    fn section_of(&self, stretch: &Stretch) -> u16 {
        self.at(stretch.places.clone()).first().map_or(u16::MAX, |seat| self.section(*seat))
    }

    /// The most compact split among those that begin at the nearest stretches.
    fn nearest_split(&self, pools: &[&[&Stretch]], count: usize, spread: Spread) -> Option<Vec<SeatNo>> {
        let mut beginnings: Vec<(u64, usize, usize)> = Vec::new();
        for (pool, stretches) in pools.iter().enumerate() {
            for (index, stretch) in stretches.iter().enumerate() {
                beginnings.push((tenths(self.distance(&stretch.places)), pool, index));
            }
        }
        let tried = BEGINNINGS.max(spread.among.min(4 * BEGINNINGS));
        beginnings.sort_unstable();
        let choices: Vec<Choice<Vec<SeatNo>>> = beginnings
            .into_iter()
            .take(tried)
            .filter_map(|(_, pool, index)| {
                let stretches = pools.get(pool)?;
                let parts = self.parts_from(stretches, index, count)?;
                let groups = self.seated(stretches, &parts);
                let seats: Vec<SeatNo> = groups.concat();
                Some(Choice { cost: self.cost(&groups), lowest: seats.iter().min().copied()?, what: seats })
            })
            .collect();
        self.chosen(choices, spread, Clone::clone)
    }

    /// Which stretches to take how much of, beginning with one and going on to what is nearest to it.
    fn parts_from(&self, stretches: &[&Stretch], first: usize, count: usize) -> Option<Vec<Part>> {
        let begin = stretches.get(first)?;
        let middle = self.middle(self.at(begin.places.clone()));
        let mut order: Vec<(u64, usize)> = stretches
            .iter()
            .enumerate()
            .map(|(index, stretch)| (if index == first { 0 } else { 1 + self.away(stretch, middle) }, index))
            .collect();
        order.sort_unstable();
        let order: Vec<usize> = order.into_iter().map(|(_, index)| index).collect();
        let length = |index: &usize| stretches.get(*index).map_or(0, |stretch| stretch.places.len());
        // Even groups where two will do, else whatever fits.
        [count.div_ceil(2), count].into_iter().find_map(|most| {
            let lengths: Vec<usize> = order.iter().map(|index| length(index).min(most)).collect();
            let needed = enough(&lengths, count)?;
            let counts = share(lengths.get(..needed)?, count)?;
            let parts = order.iter().zip(counts).filter(|(_, count)| *count > 0);
            Some(parts.map(|(stretch, count)| Part { stretch: *stretch, count }).collect())
        })
    }

    fn away(&self, stretch: &Stretch, from: Point) -> u64 {
        let seats = self.at(stretch.places.clone());
        tenths(seats.iter().map(|seat| self.point(*seat).distance(from)).fold(f64::INFINITY, f64::min))
    }

    /// The seats of each part: the first as near as possible to the focal point, the others to the first.
    fn seated(&self, stretches: &[&Stretch], parts: &[Part]) -> Vec<Vec<SeatNo>> {
        let mut groups: Vec<Vec<SeatNo>> = Vec::with_capacity(parts.len());
        let mut towards: Option<Point> = None;
        for part in parts {
            let Some(stretch) = stretches.get(part.stretch) else { continue };
            let far = |places: &Range<usize>| match towards {
                None => tenths(self.distance(places)),
                Some(point) => tenths(self.middle(self.at(places.clone())).distance(point)),
            };
            let places = (stretch.places.start..=stretch.places.end - part.count)
                .map(|from| from..from + part.count)
                .min_by_key(|places| (stretch.leaves_one(places), far(places), places.start));
            let group = self.at(places.unwrap_or_default()).to_vec();
            towards = towards.or_else(|| Some(self.middle(&group)));
            groups.push(group);
        }
        groups
    }

    /// Compact first, in steps of a row; then near to the focal point.
    fn cost(&self, groups: &[Vec<SeatNo>]) -> u64 {
        /// More than any distance within a plan, in tenths.
        const COMPACT_WEIGHT: u64 = 100_000_000;
        let apart = |group: &Vec<SeatNo>| {
            let others = groups.iter().filter(|other| *other != group).flatten();
            others
                .flat_map(|a| group.iter().map(|b| self.point(*a).distance(self.point(*b))))
                .fold(f64::INFINITY, f64::min)
        };
        let farthest = groups.iter().map(apart).fold(0.0, f64::max);
        let bucket = tenths(farthest) / tenths(self.pitch() * COMPACT_STEPS).max(1);
        let seats: Vec<SeatNo> = groups.concat();
        let near = seats.iter().map(|seat| self.distance_of(*seat)).sum::<f64>() / seats.len().max(1) as f64;
        bucket.saturating_mul(COMPACT_WEIGHT).saturating_add(tenths(near))
    }

    /// Whether two groups sit in two rows, one behind the other.
    pub(super) fn is_behind(&self, front: &[SeatNo], back: &[SeatNo]) -> bool {
        let ends = |group: &[SeatNo]| Some((self.point(*group.first()?), self.point(*group.last()?)));
        let (Some((a, b)), Some((c, d))) = (ends(front), ends(back)) else { return false };
        let (width, depth) = (a.distance(b), c.distance(d));
        if width == 0.0 {
            return false;
        }
        let along = Point::new((b.x - a.x) / width, (b.y - a.y) / width);
        let way = self.middle(back).minus(self.middle(front));
        let sideways = (way.x * along.x + way.y * along.y).abs();
        let behind = (way.x * along.y - way.y * along.x).abs();
        let reach = (width + depth) / 2.0 + self.pitch();
        sideways < reach && behind > 0.5 * self.pitch() && behind <= BEHIND_STEPS * self.pitch()
    }
}

/// Whether `count` people can sit in these stretches with nobody alone.
fn can_split(lengths: impl Iterator<Item = usize>, count: usize) -> bool {
    let (mut total, mut longest) = (0, 0);
    for length in lengths.filter(|length| *length >= 2) {
        total += length;
        longest = longest.max(length);
    }
    // Pairs alone make no odd number; with one longer stretch every number is made.
    count >= 2 && total >= count && (longest > 2 || count.is_multiple_of(2))
}

/// How many of the first stretches are enough.
fn enough(lengths: &[usize], count: usize) -> Option<usize> {
    (1..=lengths.len()).find(|first| lengths.get(..*first).is_some_and(|some| can_split(some.iter().copied(), count)))
}

/// How many to take of each stretch, in parts of at least two: as many as fit of the first ones. The
/// stretches must be enough.
fn share(lengths: &[usize], count: usize) -> Option<Vec<usize>> {
    let mut counts = vec![0; lengths.len()];
    let mut rest = count;
    for index in 0..lengths.len() {
        let mut part = lengths[index].min(rest);
        if rest - part == 1 {
            // One would be left over: from this part, or from an earlier one, or a longer stretch takes all three.
            if part > 2 {
                part -= 1;
            } else if let Some(earlier) = counts.iter_mut().find(|earlier| **earlier > 2) {
                *earlier -= 1;
                rest += 1;
            } else {
                part = 0;
            }
        }
        counts[index] = part;
        rest -= part;
    }
    (rest == 0).then_some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All ways to take 0 or at least 2 of each stretch.
    fn possible(lengths: &[usize], count: usize) -> bool {
        match lengths.split_first() {
            None => count == 0,
            Some((first, others)) => {
                (0..=(*first).min(count)).filter(|part| *part != 1).any(|part| possible(others, count - part))
            }
        }
    }

    #[test]
    fn whoever_can_be_split_is_and_nobody_else() {
        for code in 0..5_usize.pow(4) {
            let lengths: Vec<usize> =
                (0..4).map(|digit| code / 5_usize.pow(digit) % 5 + 2).take(1 + code % 4).collect();
            for count in 2..=20 {
                let can = can_split(lengths.iter().copied(), count);
                assert_eq!(can, possible(&lengths, count), "{count} in {lengths:?}");
                let needed = enough(&lengths, count);
                assert_eq!(needed.is_some(), can);
                let Some(needed) = needed else { continue };
                let counts = share(&lengths[..needed], count).unwrap();
                assert_eq!(counts.iter().sum::<usize>(), count);
                for (part, length) in counts.iter().zip(&lengths) {
                    assert!(*part != 1 && part <= length, "{counts:?} of {lengths:?}");
                }
            }
        }
    }
}
