//! The house as its viewer sees it: the static chart, the live states, and what is one's own: a fan's
//! seats, an organizer's selection, blocks and marks.
//!
//! A pure reducer: frames and choices go in, precomputed columns for the renderer come out, so that
//! a frame of the canvas computes nothing per seat but its place. Owns no camera and no colour.

use super::chart::{Chart, Pit};
use super::stamps::{Look, colour_of};
use super::zones::Zones;
use super::{SeatMark, Tone};
use domain::SeatNo;
use domain::hold::{AreaWish, SeatState};
use domain::live::{Frame, FrameError, LiveMap, LogPosition};
use domain::venue::Point;
use std::collections::BTreeSet;

/// Free seats of one section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// In all.
    pub free: u32,
    /// By zone.
    pub by_zone: Vec<u32>,
}

impl Tally {
    /// The zone of which most seats are free.
    pub fn main_zone(&self) -> usize {
        // The first of equals: the dearest.
        (0..self.by_zone.len()).rev().max_by_key(|zone| self.by_zone[*zone]).unwrap_or(0)
    }

    /// The first and the last zone with free seats.
    pub fn ends(&self) -> Option<(usize, usize)> {
        let free = |count: &u32| *count > 0;
        Some((self.by_zone.iter().position(free)?, self.by_zone.iter().rposition(free)?))
    }
}

/// Marks of one section, by [`Tone`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarkTally {
    /// [`Tone::Bad`].
    pub bad: u32,
    /// [`Tone::Care`].
    pub care: u32,
    /// [`Tone::Note`].
    pub note: u32,
}

impl MarkTally {
    /// In all.
    pub fn count(self) -> u32 {
        self.bad + self.care + self.note
    }

    /// The gravest tone there is.
    pub fn tone(self) -> Tone {
        match self {
            Self { bad: 1.., .. } => Tone::Bad,
            Self { care: 1.., .. } => Tone::Care,
            _ => Tone::Note,
        }
    }
}

/// What a seat is to this fan now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// As the live map says.
    Live(SeatState),
    /// Chosen, not held yet.
    Chosen,
    /// In the fan's own hold.
    Mine,
}

/// What a frame did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    /// A snapshot: anything may have changed.
    Everything,
    /// A snapshot of a sale that was built anew, or for more seats than the chart has: applied to those
    /// that it has, and the map itself may be another one by now.
    Rebuilt,
    /// These seats changed.
    Seats(Vec<u32>),
    /// It can't be applied: ask for a snapshot.
    NeedsSnapshot,
    /// A snapshot was asked for and is on its way; until then, deltas are of no use.
    Waiting,
}

/// Chart, live states and own seats, with the columns that are drawn.
#[derive(Debug)]
pub struct House {
    chart: Chart,
    live: LiveMap,
    /// The states that the columns below were computed from.
    known: Vec<SeatState>,
    looks: Vec<u8>,
    tallies: Vec<Tally>,
    chosen: BTreeSet<SeatNo>,
    held: BTreeSet<SeatNo>,
    /// The viewer's seats by section.
    own_by_block: Vec<u32>,
    /// The chosen places of standing areas.
    wanted: Vec<AreaWish>,
    blocked: BTreeSet<SeatNo>,
    /// Seats that are kept for this viewer: shown to everybody else as not for sale.
    opened: BTreeSet<SeatNo>,
    marks: Vec<SeatMark>,
    mark_tallies: Vec<MarkTally>,
    waiting: bool,
}

impl House {
    /// A house before its first snapshot: nothing is free yet.
    pub fn new(chart: Chart) -> Self {
        let known = vec![SeatState::Blocked; chart.seat_count()];
        let looks = vec![0; chart.seat_count()];
        let mark_tallies = vec![MarkTally::default(); chart.blocks().len()];
        let mut house = Self {
            chart,
            live: LiveMap::new(),
            known,
            looks,
            tallies: Vec::new(),
            chosen: BTreeSet::new(),
            held: BTreeSet::new(),
            own_by_block: Vec::new(),
            wanted: Vec::new(),
            blocked: BTreeSet::new(),
            opened: BTreeSet::new(),
            marks: Vec::new(),
            mark_tallies,
            waiting: false,
        };
        house.recount();
        house
    }

    /// A house without live states: every seat is free.
    pub fn all_free(chart: Chart) -> Self {
        let seats = vec![SeatState::Available; chart.seat_count()];
        let mut house = Self::new(chart);
        let applied = house.apply_frame(Frame::Snapshot { epoch: 0, at: LogPosition::default(), seats });
        debug_assert!(applied.is_ok(), "a first snapshot of the right size is always applied");
        house
    }

    /// The static part.
    pub fn chart(&self) -> &Chart {
        &self.chart
    }

    /// The look of each seat, by number.
    pub fn looks(&self) -> &[u8] {
        &self.looks
    }

    /// The free seats of each section, by index.
    pub fn tallies(&self) -> &[Tally] {
        &self.tallies
    }

    /// Whether a snapshot has come.
    pub fn is_ready(&self) -> bool {
        !self.live.seats().is_empty()
    }

    /// Free seats of the whole house.
    pub fn available(&self) -> u32 {
        self.tallies.iter().map(|tally| tally.free).sum()
    }

    /// Free seats of the whole house by zone.
    pub fn free_by_zone(&self) -> Vec<u32> {
        let mut free = vec![0; self.chart.zone_count()];
        for tally in &self.tallies {
            free.iter_mut().zip(&tally.by_zone).for_each(|(sum, count)| *sum += count);
        }
        free
    }

    /// The state of a seat as the live map knows it, and that what is kept for this viewer can be had;
    /// `None` before the first snapshot.
    pub fn state(&self, seat: SeatNo) -> Option<SeatState> {
        match self.live.state(seat.0) {
            Some(SeatState::Available | SeatState::Blocked) if self.chart.is_gone(seat) => Some(SeatState::Blocked),
            Some(SeatState::Blocked) if self.opened.contains(&seat) => Some(SeatState::Available),
            state => state,
        }
    }

    /// Whether the fan can choose this seat.
    pub fn is_free(&self, seat: SeatNo) -> bool {
        self.shown(seat) == SeatState::Available
    }

    /// What the seat is to this fan.
    pub fn standing(&self, seat: SeatNo) -> Standing {
        if self.held.contains(&seat) {
            Standing::Mine
        } else if self.chosen.contains(&seat) {
            Standing::Chosen
        } else {
            Standing::Live(self.shown(seat))
        }
    }

    /// The live state, and that a seat without a zone, or blocked by the viewer, is not for sale.
    fn shown(&self, seat: SeatNo) -> SeatState {
        let live = self.chart.zone(seat).and_then(|_| self.state(seat)).unwrap_or(SeatState::Blocked);
        // What is held or sold stays so, whatever is planned for it.
        if live == SeatState::Available && self.blocked.contains(&seat) { SeatState::Blocked } else { live }
    }

    /// The viewer's seats, chosen and held.
    pub fn own(&self) -> impl Iterator<Item = SeatNo> + '_ {
        self.chosen.iter().chain(&self.held).copied()
    }

    /// How many seats are the viewer's.
    pub fn own_count(&self) -> usize {
        self.chosen.len() + self.held.len()
    }

    /// How many of the viewer's seats each section has, by index; empty when there are none at all.
    pub fn own_by_block(&self) -> &[u32] {
        &self.own_by_block
    }

    /// How many of these seats are chosen.
    pub fn chosen_of(&self, seats: &[SeatNo]) -> usize {
        seats.iter().filter(|seat| self.chosen.contains(seat)).count()
    }

    /// The marked seats, the gravest last.
    pub fn marks(&self) -> &[SeatMark] {
        &self.marks
    }

    /// The gravest mark of a seat.
    pub fn mark_of(&self, seat: SeatNo) -> Option<Tone> {
        self.marks.iter().filter(|mark| mark.seat == seat).map(|mark| mark.tone).min()
    }

    /// The marks of each section, by index.
    pub fn mark_tallies(&self) -> &[MarkTally] {
        &self.mark_tallies
    }

    /// Shows these places of standing areas as wanted.
    pub fn set_wanted(&mut self, wanted: &[AreaWish]) {
        self.wanted = wanted.to_vec();
    }

    /// How many places of a standing area are the viewer's: wanted, chosen or held.
    pub fn own_in(&self, pit: &Pit) -> u32 {
        let wanted = self.wanted.iter().filter(|wish| wish.area == pit.area).map(|wish| wish.count).sum::<u32>();
        let own = self.own().filter(|seat| self.chart.pit_of(*seat).is_some_and(|of| of.area == pit.area)).count();
        wanted + u32::try_from(own).unwrap_or(u32::MAX)
    }

    /// How many places of a standing area can be held now.
    pub fn free_in(&self, pit: &Pit) -> u32 {
        if pit.whole {
            return self.tallies.get(pit.block).map_or(0, |tally| tally.free);
        }
        let free = self.chart.row_seats(pit.area).into_iter().filter(|seat| self.is_free(*seat)).count();
        u32::try_from(free).unwrap_or(u32::MAX)
    }

    /// The free seat nearest to a place, else the nearest of all.
    pub fn entry(&self, place: Point) -> Option<SeatNo> {
        let places = self.chart.places();
        let nearest = |free_only: bool| {
            (0..)
                .map(SeatNo)
                .zip(places)
                .filter(|(seat, _)| if free_only { self.is_free(*seat) } else { !self.chart.is_gone(*seat) })
                .min_by(|a, b| a.1.distance_squared(place).total_cmp(&b.1.distance_squared(place)))
                .map(|(seat, _)| seat)
        };
        nearest(true).or_else(|| nearest(false))
    }

    /// Whether any of the fan's held seats is free again: the hold has ended.
    pub fn own_hold_ended(&self) -> bool {
        self.held.iter().any(|seat| self.state(*seat) == Some(SeatState::Available))
    }

    /// Shows these seats as the fan's: chosen, and held.
    pub fn set_own(&mut self, chosen: &[SeatNo], held: &[SeatNo]) {
        let before = std::mem::replace(&mut self.held, held.iter().copied().collect());
        for seat in before.into_iter().chain(held.iter().copied()) {
            self.dress(seat);
        }
        self.set_chosen(chosen.iter().copied().collect());
    }

    /// Shows exactly these seats as chosen.
    pub fn set_chosen(&mut self, chosen: BTreeSet<SeatNo>) {
        let before = std::mem::replace(&mut self.chosen, chosen);
        let changed: Vec<SeatNo> = self.chosen.symmetric_difference(&before).copied().collect();
        changed.into_iter().for_each(|seat| self.dress(seat));
        let mut counts = vec![0; if self.own_count() > 0 { self.chart.blocks().len() } else { 0 }];
        for seat in self.own() {
            if let Some(count) = counts.get_mut(self.chart.block_of(seat)) {
                *count += 1;
            }
        }
        self.own_by_block = counts;
    }

    /// Shows exactly these seats as off sale, where they are free.
    pub fn set_blocked(&mut self, blocked: BTreeSet<SeatNo>) {
        let before = std::mem::replace(&mut self.blocked, blocked);
        let changed: Vec<SeatNo> = self.blocked.symmetric_difference(&before).copied().collect();
        changed.into_iter().for_each(|seat| self.update(seat));
    }

    /// Shows exactly these seats as kept for this viewer: each has a mark, and can be chosen where it is
    /// neither held nor sold.
    pub fn set_opened(&mut self, opened: BTreeSet<SeatNo>) {
        self.set_marks(opened.iter().map(|seat| SeatMark { seat: *seat, tone: Tone::Note }).collect());
        let before = std::mem::replace(&mut self.opened, opened);
        let changed: Vec<SeatNo> = self.opened.symmetric_difference(&before).copied().collect();
        changed.into_iter().for_each(|seat| self.update(seat));
    }

    /// Colours the seats anew, see [`Chart::colour_by`].
    pub fn colour_by(&mut self, zones: &Zones, moved: &[(SeatNo, u8)]) {
        self.chart.colour_by(zones, moved);
        self.recount();
    }

    /// Marks exactly these seats; those that the map lacks are left out.
    pub fn set_marks(&mut self, mut marks: Vec<SeatMark>) {
        marks.retain(|mark| self.chart.place(mark.seat).is_some());
        marks.sort_by_key(|mark| (std::cmp::Reverse(mark.tone), mark.seat));
        self.mark_tallies.fill(MarkTally::default());
        for mark in &marks {
            if let Some(tally) = self.mark_tallies.get_mut(self.chart.block_of(mark.seat)) {
                match mark.tone {
                    Tone::Bad => tally.bad += 1,
                    Tone::Care => tally.care += 1,
                    Tone::Note => tally.note += 1,
                }
            }
        }
        self.marks = marks;
    }

    /// Applies a frame as it came from the wire.
    pub fn apply(&mut self, bytes: &[u8]) -> Applied {
        match Frame::decode(bytes).and_then(|frame| self.apply_frame(frame)) {
            Ok(applied) => applied,
            Err(_) if self.waiting => Applied::Waiting,
            Err(_) => {
                self.waiting = true;
                Applied::NeedsSnapshot
            }
        }
    }

    /// The connection was lost: the next one brings a snapshot unasked.
    pub fn disconnected(&mut self) {
        self.waiting = true;
    }

    /// Another chart of the same house has come: seat numbers mean what they meant, so that everything
    /// that is known of them stays.
    pub fn exchange(&mut self, chart: Chart) {
        self.known = vec![SeatState::Blocked; chart.seat_count()];
        self.looks = vec![0; chart.seat_count()];
        self.mark_tallies = vec![MarkTally::default(); chart.blocks().len()];
        self.chart = chart;
        self.recount();
        self.set_chosen(self.chosen.clone());
        self.set_marks(self.marks.clone());
    }

    /// How many seats the live map has: more than the chart, once a newer plan added some.
    pub fn live_count(&self) -> usize {
        self.live.seats().len()
    }

    fn apply_frame(&mut self, frame: Frame) -> Result<Applied, FrameError> {
        let known = self.chart.seat_count();
        let mut rebuilt = false;
        if let Frame::Snapshot { epoch, seats, .. } = &frame {
            if seats.len() < known {
                return Err(FrameError::Malformed);
            }
            // Whatever comes of it, this was the snapshot: a stale one is to be asked for again.
            self.waiting = false;
            rebuilt = seats.len() > known || (self.is_ready() && *epoch != self.live.epoch());
        }
        let Some(mut changed) = self.live.apply(frame)? else {
            self.recount();
            return Ok(if rebuilt { Applied::Rebuilt } else { Applied::Everything });
        };
        changed.retain(|seat| (*seat as usize) < known);
        changed.iter().for_each(|seat| self.update(SeatNo(*seat)));
        Ok(Applied::Seats(changed))
    }

    fn recount(&mut self) {
        let empty = Tally { free: 0, by_zone: vec![0; self.chart.zone_count()] };
        self.tallies = vec![empty; self.chart.blocks().len()];
        self.known.fill(SeatState::Blocked);
        for seat in (0..).take(self.chart.seat_count()).map(SeatNo) {
            self.update(seat);
        }
    }

    /// Brings the columns of one seat up to its live state.
    fn update(&mut self, seat: SeatNo) {
        let state = self.shown(seat);
        if let (Some(zone), Some(known)) = (self.chart.zone(seat), self.known.get_mut(seat.0 as usize)) {
            let before = std::mem::replace(known, state);
            if let Some(tally) = self.tallies.get_mut(self.chart.block_of(seat)) {
                let count = &mut tally.by_zone[zone];
                match (before == SeatState::Available, state == SeatState::Available) {
                    (false, true) => (tally.free, *count) = (tally.free + 1, *count + 1),
                    (true, false) => (tally.free, *count) = (tally.free.saturating_sub(1), count.saturating_sub(1)),
                    _ => {}
                }
            }
        }
        self.dress(seat);
    }

    fn dress(&mut self, seat: SeatNo) {
        let look = match (self.standing(seat), self.chart.zone(seat)) {
            (Standing::Mine | Standing::Chosen, _) => Look::Mine,
            (Standing::Live(SeatState::Available), Some(zone)) => Look::Available(colour_of(zone)),
            (Standing::Live(SeatState::Held), _) => Look::Held,
            (Standing::Live(SeatState::Sold), _) => Look::Sold,
            (Standing::Live(SeatState::Available | SeatState::Blocked), _) => Look::Blocked,
        };
        if let Some(slot) = self.looks.get_mut(seat.0 as usize) {
            *slot = look.index(self.chart.kind(seat));
        }
    }
}

#[cfg(test)]
mod tests;
