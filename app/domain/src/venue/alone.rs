//! The single-seat rule: nobody's choice should leave one seat that no two people can use.
//!
//! Owns what counts as left alone, when it is nobody's fault, and the nearest choice that obeys. It
//! looks at runs of ordinary seats alone; whether the rule is in force belongs to the performance.

use std::ops::Range;

use super::adjacency::Adjacency;
use crate::ids::SeatNo;

/// What a choice would leave, and what could be chosen in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeavesAlone {
    /// Free seats that would be left without a free neighbour and have one now, ascending.
    pub lonely: Vec<SeatNo>,
    /// As many seats in the same runs, as near as possible to the choice, that leave nobody alone.
    pub instead: Vec<SeatNo>,
}

/// Free neighbours of one run, and how many of them are chosen.
struct Stretch {
    places: Range<usize>,
    chosen: Vec<usize>,
}

/// Names the free seats that a choice would leave alone and that were not alone before: none where no
/// choice of that many seats in that run could avoid it. Side by side is compared with side by side.
///
/// `free` says whether a seat could be held; every chosen seat counts as free.
#[must_use]
pub fn leaves_alone(runs: &Adjacency, free: impl Fn(SeatNo) -> bool, chosen: &[SeatNo]) -> Vec<SeatNo> {
    check(runs, free, chosen).map(|found| found.lonely).unwrap_or_default()
}

/// As [`leaves_alone`], with the choice that obeys; none when the choice is allowed.
#[must_use]
pub fn check(runs: &Adjacency, free: impl Fn(SeatNo) -> bool, chosen: &[SeatNo]) -> Option<LeavesAlone> {
    let mut places: Vec<(usize, usize)> = chosen.iter().filter_map(|seat| runs.place(*seat)).collect();
    places.sort_unstable();
    places.dedup();
    let mut found = LeavesAlone { lonely: Vec::new(), instead: chosen.to_vec() };
    for group in places.chunk_by(|a, b| a.0 == b.0) {
        let Some((run, _)) = group.first() else { continue };
        let own: Vec<usize> = group.iter().map(|(_, place)| *place).collect();
        let stretches = stretches(runs, *run, &free, &own);
        let lonely = lonely(&stretches);
        if lonely.is_empty() {
            continue;
        }
        let Some(instead) = avoid(&stretches, &own) else { continue };
        let seat = |place: usize| runs.at(place..place + 1).first().copied();
        found.lonely.extend(lonely.into_iter().filter_map(seat));
        let given_up: Vec<SeatNo> = own.iter().filter_map(|place| seat(*place)).collect();
        found.instead.retain(|seat| !given_up.contains(seat));
        found.instead.extend(instead.into_iter().filter_map(seat));
    }
    found.lonely.sort_unstable();
    found.instead.sort_unstable();
    (!found.lonely.is_empty()).then_some(found)
}

fn stretches(runs: &Adjacency, run: usize, free: &impl Fn(SeatNo) -> bool, own: &[usize]) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    for place in runs.bounds(run) {
        let is_own = own.binary_search(&place).is_ok();
        if !is_own && !runs.at(place..place + 1).iter().all(|seat| free(*seat)) {
            continue;
        }
        match stretches.last_mut() {
            Some(last) if last.places.end == place => last.places.end += 1,
            _ => stretches.push(Stretch { places: place..place + 1, chosen: Vec::new() }),
        }
        if let Some(last) = stretches.last_mut().filter(|_| is_own) {
            last.chosen.push(place);
        }
    }
    stretches
}

/// Places that stay free between what is chosen and are alone there.
fn lonely(stretches: &[Stretch]) -> Vec<usize> {
    let mut lonely = Vec::new();
    for stretch in stretches.iter().filter(|stretch| !stretch.chosen.is_empty()) {
        let mut from = stretch.places.start;
        for end in stretch.chosen.iter().copied().chain([stretch.places.end]) {
            if end == from + 1 {
                lonely.push(from);
            }
            from = end + 1;
        }
    }
    lonely
}

/// Whether so many neighbours can be taken from a stretch of this length and leave nobody alone.
const fn obeys(length: usize, taken: usize) -> bool {
    taken == 0 || taken == length || taken + 1 < length
}

/// As many places of the run that leave nobody alone, as near to the choice as possible; none when
/// there are none.
fn avoid(stretches: &[Stretch], own: &[usize]) -> Option<Vec<usize>> {
    let (first, count) = (*own.first()?, own.len());
    let together = stretches
        .iter()
        .filter(|stretch| count <= stretch.places.len() && obeys(stretch.places.len(), count))
        .filter_map(|stretch| beside(&stretch.places, count, first))
        .min_by_key(|from| (from.abs_diff(first), *from))
        .map(|from| (from..from + count).collect());
    let in_one_piece = own.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    if together.is_some() || in_one_piece {
        return together;
    }
    shared_out(stretches, count, first)
}

/// Where `count` neighbours begin in a stretch, nearest to a place, so that nobody is left alone.
fn beside(places: &Range<usize>, count: usize, near: usize) -> Option<usize> {
    let last = places.end.checked_sub(count)?;
    (places.start..=last)
        .filter(|from| from - places.start != 1 && last - from != 1)
        .min_by_key(|from| (from.abs_diff(near), *from))
}

/// Takes some of several stretches, with the fewest changes against what was chosen of each.
fn shared_out(stretches: &[Stretch], count: usize, near: usize) -> Option<Vec<usize>> {
    // By how many are taken so far: the changes, and what is taken of each stretch.
    let mut ways: Vec<Option<(usize, Vec<usize>)>> = vec![None; count + 1];
    ways[0] = Some((0, Vec::new()));
    for stretch in stretches {
        let (length, own) = (stretch.places.len(), stretch.chosen.len());
        let mut next: Vec<Option<(usize, Vec<usize>)>> = vec![None; count + 1];
        for (so_far, way) in ways.iter().enumerate() {
            let Some((changes, taken)) = way else { continue };
            for more in (0..=length.min(count - so_far)).filter(|more| obeys(length, *more)) {
                let changes = changes + more.abs_diff(own);
                if next[so_far + more].as_ref().is_none_or(|best| changes < best.0) {
                    let taken = taken.iter().copied().chain([more]).collect();
                    next[so_far + more] = Some((changes, taken));
                }
            }
        }
        ways = next;
    }
    let (_, taken) = ways.pop()??;
    let mut places = Vec::with_capacity(count);
    for (stretch, taken) in stretches.iter().zip(taken).filter(|(_, taken)| *taken > 0) {
        let near = stretch.chosen.first().copied().unwrap_or(near);
        let from = beside(&stretch.places, taken, near)?;
        places.extend(from..from + taken);
    }
    Some(places)
}
