//! Best available: seats for those who would rather be given some than look for them.
//!
//! Owns the order of what is better than what, and who may be offered which place. It does not own
//! what is free: that comes in, from whichever map the caller trusts; nor the taking, which may fail
//! because somebody was quicker.
//!
//! The order: side by side, nearest to what everyone looks at, leaving no seat alone; the same, leaving
//! one; in groups of at least two in one section, as near to each other as possible; in such groups
//! across sections. Nobody is ever seated alone who did not come alone.

mod accessible;
mod split;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::adjacency::{Adjacency, tenths};
use crate::hold::SEATS_PER_HOLD_MAX;
use crate::ids::SeatNo;
use crate::refusal::{Code, Refusal};

/// Most who may come with somebody in a wheelchair.
pub const COMPANIONS_MAX: u32 = 3;
/// Equally good choices among which those who ask at the same moment are spread at first.
pub const SPREAD_AMONG: usize = 8;
/// How much farther an equally good choice may be than the best, in usual steps between seats: about
/// three metres.
const NEAR_STEPS: f64 = 6.0;
/// Zones that one wish may name: as many as a plan has categories.
const WISHED_ZONES_MAX: usize = super::plan::MAX_CATEGORIES;

/// What somebody wants to be given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    /// How many seats, everybody included.
    pub count: u32,
    /// The price zones that will do; none: any.
    pub zones: Vec<u8>,
    /// The section that they must be in.
    pub section: Option<u16>,
    /// How many of the seats are places for wheelchairs; the others are then companion seats.
    pub wheelchairs: u32,
}

impl Wish {
    /// A checked wish.
    ///
    /// # Errors
    /// `invalid_input` names the field.
    pub fn new(count: u32, mut zones: Vec<u8>, section: Option<u16>, wheelchairs: u32) -> Result<Self, Refusal> {
        let invalid = |message: String| Err(Refusal::new(Code::InvalidInput, message));
        if count == 0 || count as usize > SEATS_PER_HOLD_MAX {
            return invalid(format!("count: 1 to {SEATS_PER_HOLD_MAX} seats are expected"));
        }
        if zones.len() > WISHED_ZONES_MAX {
            return invalid(format!("zones: at most {WISHED_ZONES_MAX} are expected"));
        }
        if wheelchairs > count {
            return invalid("wheelchairs: no more places for wheelchairs than seats are expected".to_owned());
        }
        if wheelchairs > 0 && count - wheelchairs > wheelchairs * COMPANIONS_MAX {
            return invalid(format!("count: at most {COMPANIONS_MAX} companions for each wheelchair are expected"));
        }
        zones.sort_unstable();
        zones.dedup();
        Ok(Self { count, zones, section, wheelchairs })
    }

    /// The wish as one line, the same for equal wishes: what a repeated request is compared by.
    #[must_use]
    pub fn line(&self) -> String {
        let zones: Vec<String> = self.zones.iter().map(ToString::to_string).collect();
        let section = self.section.map_or_else(String::new, |section| section.to_string());
        format!("best {} zones {} section {section} wheelchairs {}", self.count, zones.join(","), self.wheelchairs)
    }
}

/// Keeps those who ask at the same moment from being given the same seats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Any number; 0 is given the very best.
    pub number: u64,
    /// Among how many equally good choices; the more, the farther from the best they may be.
    pub among: usize,
}

impl Spread {
    /// The very best, for everybody the same.
    pub const NONE: Self = Self { number: 0, among: 1 };
}

/// How good a choice is; the first is the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Side by side, and no seat is left alone.
    Together,
    /// Side by side, with a seat left alone that was not alone before.
    LeavingOne,
    /// In groups of at least two in one section.
    OneSection,
    /// In groups of at least two in several sections.
    Sections,
    /// Places for wheelchairs with the nearest companion seats.
    Accessible,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Best {
    /// The seats, ascending.
    pub seats: Vec<SeatNo>,
    /// How good it is.
    pub tier: Tier,
}

/// Why nothing was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoneLeft {
    /// The sizes of the groups in which as many people as possible could still sit, the largest first;
    /// with the last of them alone, or fewer than wanted.
    pub groups: Vec<u32>,
}

/// How seats lie to each other, for the words that tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seating {
    /// Side by side, or one seat.
    Together,
    /// In two rows, one behind the other.
    Behind,
    /// In groups in one section.
    OneSection,
    /// In several sections.
    Sections,
    /// With a place for a wheelchair.
    Accessible,
}

/// Free neighbours of one run that the wish allows.
#[derive(Clone, Debug)]
struct Stretch {
    /// Places that may be given.
    places: Range<usize>,
    /// All free places around them, wanted or not: who is left alone is seen in these.
    free: Range<usize>,
}

/// A choice: what it is compared by, and what it is made of.
struct Choice<T> {
    cost: u64,
    lowest: SeatNo,
    what: T,
}

impl Adjacency {
    /// The best free seats for a wish.
    ///
    /// `free` says whether a seat could be held now, `offered` whether it is in a zone of the wish.
    ///
    /// # Errors
    /// [`NoneLeft`], with what could still be had.
    pub fn best(
        &self,
        wish: &Wish,
        free: impl Fn(SeatNo) -> bool,
        offered: impl Fn(SeatNo) -> bool,
        spread: Spread,
    ) -> Result<Best, NoneLeft> {
        let offered = |seat: SeatNo| wish.section.is_none_or(|section| self.section(seat) == section) && offered(seat);
        if wish.wheelchairs > 0 {
            let seats = self.best_accessible(wish, |seat| free(seat) && offered(seat), spread);
            return seats.map(|seats| Best { seats, tier: Tier::Accessible }).ok_or(NoneLeft { groups: Vec::new() });
        }
        let count = wish.count as usize;
        let stretches = self.stretches(free, offered);
        let (whole, leaving) = self.windows(&stretches, count);
        for (windows, tier) in [(whole, Tier::Together), (leaving, Tier::LeavingOne)] {
            let seats = |from: &usize| self.at(*from..*from + count).to_vec();
            if let Some(from) = self.chosen(windows, spread, seats) {
                return Ok(Best { seats: sorted(seats(&from)), tier });
            }
        }
        if let Some((seats, tier)) = self.split(&stretches, count, spread) {
            return Ok(Best { seats: sorted(seats), tier });
        }
        Err(NoneLeft { groups: largest(&stretches, count) })
    }

    fn stretches(&self, free: impl Fn(SeatNo) -> bool, offered: impl Fn(SeatNo) -> bool) -> Vec<Stretch> {
        let mut stretches: Vec<Stretch> = Vec::new();
        for run in 0..self.run_count() {
            let bounds = self.bounds(run);
            let mut from = bounds.start;
            while from < bounds.end {
                let is_free = |place: usize| self.at(place..place + 1).iter().all(|seat| free(*seat));
                let length = (from..bounds.end).take_while(|place| is_free(*place)).count();
                self.wanted(from..from + length, &offered, &mut stretches);
                from += length + 1;
            }
        }
        stretches
    }

    /// The parts of free places that are in the wish's zones.
    fn wanted(&self, free: Range<usize>, offered: &impl Fn(SeatNo) -> bool, into: &mut Vec<Stretch>) {
        let mut from = free.start;
        while from < free.end {
            let is_wanted = |place: usize| self.at(place..place + 1).iter().all(|seat| offered(*seat));
            let length = (from..free.end).take_while(|place| is_wanted(*place)).count();
            if length > 0 {
                into.push(Stretch { places: from..from + length, free: free.clone() });
            }
            from += length + 1;
        }
    }

    /// Every way to sit side by side: those that leave nobody alone, and the others.
    fn windows(&self, stretches: &[Stretch], count: usize) -> (Vec<Choice<usize>>, Vec<Choice<usize>>) {
        let (mut whole, mut leaving) = (Vec::new(), Vec::new());
        for stretch in stretches.iter().filter(|stretch| stretch.places.len() >= count) {
            for from in stretch.places.start..=stretch.places.end - count {
                let places = from..from + count;
                let choice = Choice {
                    cost: tenths(self.distance(&places)),
                    lowest: self.at(places.clone()).iter().min().copied().unwrap_or(SeatNo(u32::MAX)),
                    what: from,
                };
                if stretch.leaves_one(&places) { leaving.push(choice) } else { whole.push(choice) }
            }
        }
        (whole, leaving)
    }

    /// The best of equal choices, or one of the first few that are nearly as good and share no seat.
    fn chosen<T>(&self, mut all: Vec<Choice<T>>, spread: Spread, seats: impl Fn(&T) -> Vec<SeatNo>) -> Option<T> {
        let best = all.iter().enumerate().min_by_key(|(_, choice)| (choice.cost, choice.lowest));
        let (best, cost) = best.map(|(index, choice)| (index, choice.cost))?;
        if spread.number == 0 || spread.among <= 1 {
            return Some(all.swap_remove(best).what);
        }
        // Twice as many choices may be twice as far from the best.
        let wider = spread.among as f64 / SPREAD_AMONG as f64;
        let limit = cost.saturating_add(tenths(self.pitch() * NEAR_STEPS * wider));
        all.retain(|choice| choice.cost <= limit);
        all.sort_by_key(|choice| (choice.cost, choice.lowest));
        let mut taken = vec![false; self.seat_count()];
        let mut apart: Vec<T> = Vec::with_capacity(spread.among);
        for choice in all {
            let seats = seats(&choice.what);
            if seats.iter().any(|seat| taken.get(seat.0 as usize).copied().unwrap_or(true)) {
                continue;
            }
            for seat in seats {
                if let Some(taken) = taken.get_mut(seat.0 as usize) {
                    *taken = true;
                }
            }
            apart.push(choice.what);
            if apart.len() == spread.among {
                break;
            }
        }
        let index = usize::try_from(mixed(spread.number) % apart.len().max(1) as u64).unwrap_or(0);
        (index < apart.len()).then(|| apart.swap_remove(index))
    }

    /// How seats lie to each other.
    #[must_use]
    pub fn seating(&self, seats: &[SeatNo]) -> Seating {
        let mut places = Vec::with_capacity(seats.len());
        for seat in seats {
            match self.place(*seat) {
                Some((_, place)) => places.push(place),
                None => return Seating::Accessible,
            }
        }
        places.sort_unstable();
        let of = |place: usize| self.at(place..place + 1).first().and_then(|seat| self.place(*seat)).map(|at| at.0);
        let groups: Vec<Vec<SeatNo>> = places
            .chunk_by(|a, b| a + 1 == *b && of(*a) == of(*b))
            .map(|group| group.iter().flat_map(|place| self.at(*place..*place + 1)).copied().collect())
            .collect();
        let section = |group: &Vec<SeatNo>| group.first().map(|seat| self.section(*seat));
        match groups.as_slice() {
            [] | [_] => Seating::Together,
            groups if groups.windows(2).any(|pair| section(&pair[0]) != section(&pair[1])) => Seating::Sections,
            [front, back] if self.is_behind(front, back) => Seating::Behind,
            _ => Seating::OneSection,
        }
    }
}

impl Stretch {
    fn leaves_one(&self, places: &Range<usize>) -> bool {
        places.start - self.free.start == 1 || self.free.end - places.end == 1
    }
}

/// The largest groups in which as many as possible of `count` people could sit.
fn largest(stretches: &[Stretch], count: usize) -> Vec<u32> {
    let mut lengths: Vec<usize> = stretches.iter().map(|stretch| stretch.places.len()).collect();
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    let mut rest = count;
    let mut groups = Vec::new();
    for length in lengths {
        let group = length.min(rest);
        if group == 0 {
            break;
        }
        groups.push(u32::try_from(group).unwrap_or(u32::MAX));
        rest -= group;
    }
    groups
}

fn sorted(mut seats: Vec<SeatNo>) -> Vec<SeatNo> {
    seats.sort_unstable();
    seats
}

/// Spreads numbers that follow each other (the finalizer of SplitMix64).
fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
