//! What the house does to the hot state: blocking, allocations, settings, corrections, rebuilt states.

use super::Wrong;
use super::redis::{At, Hot, Record, Settings, State, What, no};
use crate::redis::ShortAnswer;
use domain::hold::{HoldState, SeatByte, SeatState};
use domain::live::LogPosition;
use domain::{AccountId, OrderId};

/// A seat as it was found, or as it is wanted: its byte and its owner.
pub(crate) type SeatPair = (u8, Option<OrderId>);
/// What an account holds: seats, and the open hold; none where nothing is noted.
pub(crate) type CountPair = Option<(usize, Option<OrderId>)>;

impl Hot {
    /// Bytes that change, or the refusal: of each seat `next` says the new byte, or why there is none.
    fn change(
        &mut self,
        at: At,
        seats: &[u32],
        what: What,
        next: impl Fn(SeatByte) -> Result<Option<SeatByte>, ()>,
    ) -> ShortAnswer {
        let (mut unknown, mut taken, mut change) = (Vec::new(), Vec::new(), Vec::new());
        for seat in seats {
            match self.state.seats.get(*seat as usize).map(|byte| next(SeatByte(*byte))) {
                None => unknown.push(*seat),
                Some(Err(())) => taken.push(*seat),
                Some(Ok(Some(byte))) => change.push((*seat, byte.0)),
                Some(Ok(None)) => {}
            }
        }
        if !unknown.is_empty() {
            return no("unknown", &unknown);
        }
        if !taken.is_empty() {
            return no("taken", &taken);
        }
        if change.is_empty() {
            return ShortAnswer::Again;
        }
        for (seat, byte) in &change {
            self.state.seats[*seat as usize] = *byte;
        }
        self.append(at, what, Vec::new(), change);
        ShortAnswer::Done
    }

    /// `block.lua`
    pub(crate) fn block(&mut self, at: At, epoch: i64, seats: &[u32], from: SeatState, to: SeatState) -> ShortAnswer {
        if !self.is_complete(epoch) {
            return ShortAnswer::Rebuilding;
        }
        self.change(at, seats, What::Block, |byte| match byte.state() {
            state if state == from => Ok(Some(SeatByte::new(to, byte.allocation()))),
            state if state == to => Ok(None),
            _ => Err(()),
        })
    }

    /// `allocate.lua`
    pub(crate) fn allocate(&mut self, at: At, epoch: i64, seats: &[u32], number: u8, keep: bool) -> ShortAnswer {
        if !self.is_complete(epoch) {
            return ShortAnswer::Rebuilding;
        }
        self.change(at, seats, What::Allocate, |byte| match (keep, byte.allocation()) {
            (true, 0) if matches!(byte.state(), SeatState::Available | SeatState::Blocked) => {
                Ok(Some(SeatByte::new(byte.state(), number)))
            }
            (true, own) if own == number => Ok(None),
            (true, _) => Err(()),
            (false, own) if own == number => Ok(Some(SeatByte::new(byte.state(), 0))),
            (false, _) => Ok(None),
        })
    }

    /// `mend.lua`
    pub(crate) fn mend(
        &mut self,
        at: At,
        epoch: i64,
        seat: u32,
        found: SeatPair,
        wanted: SeatPair,
        record: Option<&Record>,
    ) -> bool {
        let is = (self.state.seats.get(seat as usize).copied().unwrap_or(0), self.state.owner.get(&seat).copied());
        if !self.is_complete(epoch) || is != found {
            return false;
        }
        match wanted.1 {
            None => {
                self.state.owner.remove(&seat);
            }
            Some(owner) => {
                match self.state.holds.get(&owner).map(|record| record.state) {
                    Some(HoldState::Closed | HoldState::Closing) => return false,
                    Some(_) => {}
                    None => {
                        let Some(record) = record else { return false };
                        self.state.holds.insert(owner, record.clone());
                        if record.state == HoldState::Held {
                            self.state.expiry.insert(owner, record.expires);
                        }
                    }
                }
                self.state.owner.insert(seat, owner);
            }
        }
        self.state.seats[seat as usize] = wanted.0;
        self.append(at, What::Mend, Vec::new(), vec![(seat, wanted.0)]);
        true
    }

    /// `mend_count.lua`
    pub(crate) fn mend_count(&mut self, epoch: i64, account: AccountId, found: CountPair, wanted: CountPair) -> bool {
        if !self.is_complete(epoch) || self.state.held_by.get(&account).copied() != found {
            return false;
        }
        match wanted {
            Some(wanted) => self.state.held_by.insert(account, wanted),
            None => self.state.held_by.remove(&account),
        };
        true
    }

    /// `mend_hold.lua`
    pub(crate) fn mend_hold(&mut self, epoch: i64, hold: OrderId, found: &Record, wanted: &Record) -> bool {
        if !self.is_complete(epoch) || self.state.holds.get(&hold) != Some(found) {
            return false;
        }
        self.state.holds.insert(hold, wanted.clone());
        if matches!(wanted.state, HoldState::Held | HoldState::Closing) {
            self.state.expiry.insert(hold, wanted.expires);
        } else {
            self.state.expiry.remove(&hold);
        }
        true
    }

    /// `written.lua`
    pub(crate) fn written(&mut self, epoch: i64, position: LogPosition) -> ShortAnswer {
        if !self.is_complete(epoch) {
            return ShortAnswer::Rebuilding;
        }
        let written = &mut self.state.meta.written;
        *written = position.max(*written);
        ShortAnswer::Done
    }

    /// `settings.lua`
    pub(crate) fn settings(&mut self, epoch: i64, settings: Settings) -> ShortAnswer {
        if !self.is_complete(epoch) {
            return ShortAnswer::Rebuilding;
        }
        if self.state.meta.settings.version > settings.version {
            return no("stale", &[]);
        }
        self.state.meta.settings = settings;
        ShortAnswer::Done
    }

    /// `serve.lua`
    pub(crate) fn serve(&mut self, epoch: i64, term: i64, places: i64) -> Option<i64> {
        let complete = self.is_complete(epoch);
        let meta = &mut self.state.meta;
        if !complete || meta.term > term {
            return None;
        }
        meta.term = term;
        meta.serving = meta.serving.max(places);
        Some(meta.serving)
    }

    /// Takes the mark away that the state is complete.
    pub(crate) fn distrust(&mut self) {
        self.epoch = None;
    }

    /// Writes the staging keys of a rebuild, in place of what was staged before.
    pub(crate) fn stage(&mut self, epoch: i64, state: State) {
        self.staging = Some((epoch, state));
        self.tainted.1 = false;
    }

    /// `swap.lua`
    pub(crate) fn swap(&mut self, at: At, epoch: i64, seats: usize, written: LogPosition) -> &'static str {
        if self.staging.as_ref().is_none_or(|(_, state)| state.meta.run != self.server) {
            return "other_run";
        }
        // Whoever rebuilds takes the epoch away first: one that stands was built meanwhile.
        let stands = self.epoch.is_some() || self.last() > written;
        if stands && self.wrong != Some(Wrong::SwapOverStanding) {
            return "newer";
        }
        match self.staging.take() {
            Some((_, state)) if state.seats.len() == seats => {
                self.state = state;
                self.tainted.0 = self.tainted.1;
            }
            other => {
                self.staging = other;
                return "incomplete";
            }
        }
        self.log.clear();
        self.append(at, What::Rebuilt, Vec::new(), Vec::new());
        self.state.meta.written = LogPosition::default();
        self.epoch = Some(epoch);
        "ok"
    }
}
