//! The house as this fan sees it: the static chart, the live states, and what is one's own.
//!
//! A pure reducer: frames and choices go in, precomputed columns for the renderer come out, so that
//! a frame of the canvas computes nothing per seat but its place. Owns no camera and no colour.

use super::chart::Chart;
use super::stamps::Look;
use super::zones::PALETTE;
use domain::SeatNo;
use domain::hold::SeatState;
use domain::live::{Frame, FrameError, LiveMap, LogPosition};
use domain::venue::Point;

/// Free seats of one section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// In all.
    pub free: u32,
    /// By colour of the palette.
    pub by_colour: [u32; PALETTE],
}

impl Tally {
    /// The colour of which most seats are free.
    pub fn main_colour(&self) -> usize {
        // The first of equals: the dearest.
        (0..PALETTE).rev().max_by_key(|colour| self.by_colour[*colour]).unwrap_or(0)
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
    chosen: Vec<SeatNo>,
    held: Vec<SeatNo>,
    waiting: bool,
}

impl House {
    /// A house before its first snapshot: nothing is free yet.
    pub fn new(chart: Chart) -> Self {
        let known = vec![SeatState::Blocked; chart.seat_count()];
        let looks = vec![0; chart.seat_count()];
        let tallies = vec![Tally::default(); chart.blocks().len()];
        let mut house = Self {
            chart,
            live: LiveMap::new(),
            known,
            looks,
            tallies,
            chosen: Vec::new(),
            held: Vec::new(),
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

    /// The state of a seat as the live map knows it; `None` before the first snapshot.
    pub fn state(&self, seat: SeatNo) -> Option<SeatState> {
        self.live.state(seat.0)
    }

    /// Whether the fan can choose this seat.
    pub fn is_free(&self, seat: SeatNo) -> bool {
        self.state(seat) == Some(SeatState::Available) && self.chart.colour(seat).is_some()
    }

    /// What the seat is to this fan.
    pub fn standing(&self, seat: SeatNo) -> Standing {
        if self.held.contains(&seat) {
            Standing::Mine
        } else if self.chosen.contains(&seat) {
            Standing::Chosen
        } else if self.chart.colour(seat).is_none() {
            Standing::Live(SeatState::Blocked)
        } else {
            Standing::Live(self.state(seat).unwrap_or(SeatState::Blocked))
        }
    }

    /// The fan's seats, chosen and held.
    pub fn own(&self) -> impl Iterator<Item = SeatNo> + '_ {
        self.chosen.iter().chain(&self.held).copied()
    }

    /// The free seat nearest to a place, else the nearest of all.
    pub fn entry(&self, place: Point) -> Option<SeatNo> {
        let places = self.chart.places();
        let nearest = |free_only: bool| {
            (0..)
                .map(SeatNo)
                .zip(places)
                .filter(|(seat, _)| !free_only || self.is_free(*seat))
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
        let before: Vec<SeatNo> = self.own().collect();
        self.chosen = chosen.to_vec();
        self.held = held.to_vec();
        for seat in before.into_iter().chain(chosen.iter().chain(held).copied()) {
            self.dress(seat);
        }
    }

    /// Applies a frame as it came from the wire.
    pub fn apply(&mut self, bytes: &[u8]) -> Applied {
        match Frame::decode(bytes).and_then(|frame| self.apply_frame(frame)) {
            Ok(Some(seats)) => Applied::Seats(seats),
            Ok(None) => Applied::Everything,
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

    fn apply_frame(&mut self, frame: Frame) -> Result<Option<Vec<u32>>, FrameError> {
        if let Frame::Snapshot { seats, .. } = &frame {
            if seats.len() != self.chart.seat_count() {
                return Err(FrameError::Malformed);
            }
            // Whatever comes of it, this was the snapshot: a stale one is to be asked for again.
            self.waiting = false;
        }
        let changed = self.live.apply(frame)?;
        match &changed {
            None => self.recount(),
            Some(seats) => seats.iter().for_each(|seat| self.update(SeatNo(*seat))),
        }
        Ok(changed)
    }

    fn recount(&mut self) {
        self.tallies.fill(Tally::default());
        self.known.fill(SeatState::Blocked);
        for seat in (0..).take(self.chart.seat_count()).map(SeatNo) {
            self.update(seat);
        }
    }

    /// Brings the columns of one seat up to its live state.
    fn update(&mut self, seat: SeatNo) {
        let (Some(colour), Some(state)) = (self.chart.colour(seat), self.state(seat)) else {
            self.dress(seat);
            return;
        };
        let before = std::mem::replace(&mut self.known[seat.0 as usize], state);
        if let Some(tally) = self.tallies.get_mut(self.chart.block_of(seat)) {
            let count = &mut tally.by_colour[usize::from(colour)];
            match (before == SeatState::Available, state == SeatState::Available) {
                (false, true) => (tally.free, *count) = (tally.free + 1, *count + 1),
                (true, false) => (tally.free, *count) = (tally.free.saturating_sub(1), count.saturating_sub(1)),
                _ => {}
            }
        }
        self.dress(seat);
    }

    fn dress(&mut self, seat: SeatNo) {
        let look = match (self.standing(seat), self.chart.colour(seat)) {
            (Standing::Mine | Standing::Chosen, _) => Look::Mine,
            (Standing::Live(SeatState::Available), Some(colour)) => Look::Available(colour),
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
mod tests {
    use super::super::chart::tests::chart;
    use super::*;

    fn at(ms: u64) -> LogPosition {
        LogPosition { ms, seq: 0 }
    }

    fn snapshot(house: &House, ms: u64) -> Vec<u8> {
        Frame::Snapshot { epoch: 1, at: at(ms), seats: vec![SeatState::Available; house.chart().seat_count()] }.encode()
    }

    fn delta(after: u64, upto: u64, changes: Vec<(u32, SeatState)>) -> Vec<u8> {
        Frame::Delta { epoch: 1, after: at(after), upto: at(upto), changes }.encode()
    }

    /// What the columns would be if they were computed from the start.
    fn assert_columns_are_true(house: &House) {
        let mut fresh = House::new(house.chart().clone());
        fresh.live = house.live.clone();
        fresh.chosen = house.chosen.clone();
        fresh.held = house.held.clone();
        fresh.recount();
        assert_eq!(fresh.tallies, house.tallies);
        assert_eq!(fresh.looks, house.looks);
    }

    #[test]
    fn frames_keep_columns_and_counts_true() {
        let mut house = House::new(chart(1_000));
        assert!(!house.is_ready());
        assert_eq!(house.apply(&delta(1, 2, vec![(0, SeatState::Held)])), Applied::NeedsSnapshot);
        assert_eq!(house.apply(&delta(2, 3, vec![(0, SeatState::Held)])), Applied::Waiting, "asked once");
        let first = snapshot(&house, 5);
        assert_eq!(house.apply(&first), Applied::Everything);
        let free = house.available();
        assert!(free > 0 && (free as usize) < house.chart().seat_count(), "what has no price is not free");
        let seat = (0..).map(SeatNo).find(|seat| house.is_free(*seat)).unwrap();
        assert_eq!(house.apply(&delta(5, 6, vec![(seat.0, SeatState::Held)])), Applied::Seats(vec![seat.0]));
        assert_eq!(house.available(), free - 1);
        assert_columns_are_true(&house);
        assert_eq!(house.apply(&delta(9, 10, vec![(seat.0, SeatState::Available)])), Applied::NeedsSnapshot, "a gap");
        let second = snapshot(&house, 10);
        assert_eq!(house.apply(&second), Applied::Everything);
        assert_eq!(house.available(), free);
        assert_columns_are_true(&house);
    }

    #[test]
    fn own_seats_are_shown_as_own_whatever_the_map_says() {
        let mut house = House::new(chart(1_000));
        let frame = snapshot(&house, 1);
        house.apply(&frame);
        let mut free = (0..).map(SeatNo).filter(|seat| house.is_free(*seat));
        let (a, b) = (free.next().unwrap(), free.next().unwrap());
        house.set_own(&[a], &[b]);
        assert_eq!((house.standing(a), house.standing(b)), (Standing::Chosen, Standing::Mine));
        assert!(house.own_hold_ended(), "a held seat that is free again");
        house.apply(&delta(1, 2, vec![(b.0, SeatState::Held)]));
        assert!(!house.own_hold_ended());
        assert_columns_are_true(&house);
        house.set_own(&[], &[]);
        assert_eq!(house.standing(b), Standing::Live(SeatState::Held));
        assert_columns_are_true(&house);
    }

    #[test]
    fn the_keyboard_enters_at_a_free_seat_nearby() {
        let mut house = House::new(chart(1_000));
        let frame = snapshot(&house, 1);
        house.apply(&frame);
        let place = house.chart().focal_point();
        let seat = house.entry(place).unwrap();
        assert!(house.is_free(seat));
    }

    #[test]
    fn a_map_of_another_size_is_not_applied() {
        let mut house = House::new(chart(1_000));
        let frame = Frame::Snapshot { epoch: 1, at: at(1), seats: vec![SeatState::Available; 7] };
        assert_eq!(house.apply(&frame.encode()), Applied::NeedsSnapshot);
        assert!(!house.is_ready());
    }
}
