//! `hold.lua`: taking seats and drawing places, all or nothing.

use super::Wrong;
use super::redis::{At, Hot, Record, What};
use crate::redis::{AREA_START_MAX, AreaDraw, HoldAnswer};
use domain::hold::{HoldState, SeatByte, SeatState};
use domain::{AccountId, Millis, OrderId, SeatNo};
use std::collections::BTreeSet;

/// Holds that have run out and are looked at for a place, at most.
const EXPIRED_MAX: usize = 200;

/// What one hold asks for.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) hold: OrderId,
    pub(crate) account: AccountId,
    pub(crate) nonce: u64,
    pub(crate) wish: u64,
    pub(crate) seats: Vec<u32>,
    pub(crate) areas: Vec<AreaDraw>,
    pub(crate) allocations: Vec<u8>,
    pub(crate) lag_max_ms: i64,
}

/// What a hold has come to so far.
#[derive(Default)]
struct Choice {
    seats: BTreeSet<u32>,
    /// Holds that it ends, in the order in which they were met.
    ends: Vec<OrderId>,
}

impl Choice {
    fn end(&mut self, hold: OrderId) {
        if !self.ends.contains(&hold) {
            self.ends.push(hold);
        }
    }
}

/// A refusal that names seats.
type Refuse = fn(Vec<SeatNo>) -> HoldAnswer;

fn list(seats: Vec<u32>) -> Vec<SeatNo> {
    seats.into_iter().map(SeatNo).collect()
}

impl Hot {
    /// `hold.lua`
    pub(crate) fn hold(&mut self, at: At, epoch: i64, ask: &Ask) -> HoldAnswer {
        if !self.is_complete(epoch) {
            return HoldAnswer::Rebuilding;
        }
        if let Some(record) = self.state.holds.get(&ask.hold) {
            return before(record, ask);
        }
        let settings = self.state.meta.settings;
        if at.now < settings.opens || at.now >= settings.closes {
            return HoldAnswer::SaleClosed;
        }
        if self.is_behind(at.now, ask.lag_max_ms) {
            return HoldAnswer::Behind;
        }
        let visit = self.state.shoppers.get(&ask.account).is_some_and(|ends| *ends > at.now);
        if !visit || self.state.entered.get(&ask.account) != Some(&ask.nonce) {
            return HoldAnswer::PassRequired;
        }
        let mut choice = Choice::default();
        let (mut count, open) = self.state.count_of(ask.account);
        if let Some(open) = open
            && let Some(record) = self.state.holds.get(&open)
        {
            if !self.has_run_out(&open, at.now) {
                return HoldAnswer::HoldOpen(Some(open));
            }
            count = count.saturating_sub(record.seats.len());
            choice.end(open);
        }
        if let Some(refusal) = self.choose_seats(at.now, ask, &mut choice) {
            return refusal;
        }
        if let Some(refusal) = self.choose_places(at.now, ask, &mut choice) {
            return refusal;
        }
        if count + choice.seats.len() > settings.limit as usize {
            return HoldAnswer::Limit;
        }
        self.make(at, ask, choice)
    }

    /// The oldest entry that is not written has waited too long.
    fn is_behind(&self, now: i64, lag_max_ms: i64) -> bool {
        let written = self.state.meta.written;
        let old = |ms: u64| now - i64::try_from(ms).unwrap_or(0) > lag_max_ms;
        old(written.ms) && self.log.iter().find(|(at, _)| *at > written).is_some_and(|(at, _)| old(at.ms))
    }

    pub(super) fn has_run_out(&self, hold: &OrderId, now: i64) -> bool {
        let state = self.state.holds.get(hold).map(|record| (record.state, record.expires));
        match state {
            Some((HoldState::Held | HoldState::Closing, expires)) => expires <= now,
            Some((HoldState::Paying, _)) => self.wrong == Some(Wrong::TakeOverOfPaying),
            _ => false,
        }
    }

    fn choose_seats(&self, now: i64, ask: &Ask, choice: &mut Choice) -> Option<HoldAnswer> {
        let (mut unknown, mut taken, mut blocked, mut reserved) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for seat in &ask.seats {
            let Some(byte) = self.state.seats.get(*seat as usize).map(|byte| SeatByte(*byte)) else {
                unknown.push(*seat);
                continue;
            };
            match byte.state() {
                SeatState::Blocked => blocked.push(*seat),
                _ if byte.allocation() != 0 && !ask.allocations.contains(&byte.allocation()) => reserved.push(*seat),
                SeatState::Available => {}
                SeatState::Sold => taken.push(*seat),
                SeatState::Held => match self.state.owner.get(seat) {
                    Some(owner) if self.has_run_out(owner, now) => choice.end(*owner),
                    _ => taken.push(*seat),
                },
            }
            choice.seats.insert(*seat);
        }
        let refusals: [(Vec<u32>, Refuse); 4] = [
            (unknown, HoldAnswer::Unknown),
            (blocked, HoldAnswer::Blocked),
            (reserved, HoldAnswer::Reserved),
            (taken, HoldAnswer::Taken),
        ];
        refusals.into_iter().find(|(seats, _)| !seats.is_empty()).map(|(seats, answer)| answer(list(seats)))
    }

    fn choose_places(&self, now: i64, ask: &Ask, choice: &mut Choice) -> Option<HoldAnswer> {
        for (position, area) in ask.areas.iter().enumerate() {
            if let Some((_, last)) = area.ranges.iter().find(|(_, last)| *last as usize >= self.state.seats.len()) {
                return Some(HoldAnswer::Unknown(vec![SeatNo(*last)]));
            }
            let free = self.free_places(area, &ask.allocations, choice);
            let mut left = area.count as usize;
            for seat in free.into_iter().take(left) {
                choice.seats.insert(seat);
                left -= 1;
            }
            for hold in self.run_out(now, EXPIRED_MAX) {
                let Some(record) = self.state.holds.get(&hold).filter(|_| self.has_run_out(&hold, now)) else {
                    continue;
                };
                for seat in &record.seats {
                    let within = area.ranges.iter().any(|(first, last)| (first..=last).contains(&seat));
                    let byte = SeatByte(self.state.seats[*seat as usize]);
                    let may = byte.allocation() == 0 || ask.allocations.contains(&byte.allocation());
                    let can = byte.state() == SeatState::Held && may && !choice.seats.contains(seat);
                    if left > 0 && within && can {
                        choice.seats.insert(*seat);
                        choice.end(hold);
                        left -= 1;
                    }
                }
            }
            if left > 0 {
                return Some(HoldAnswer::AreaFull(position, area.count - u32::try_from(left).unwrap_or(0)));
            }
        }
        None
    }

    /// The available places of an area, from its start on and round to it again. Within each stretch those
    /// on general sale come first, then the allocations in the order of the call.
    fn free_places(&self, area: &AreaDraw, allocations: &[u8], choice: &Choice) -> Vec<u32> {
        let all: Vec<(usize, u32)> = area
            .ranges
            .iter()
            .enumerate()
            .flat_map(|(index, (first, last))| (*first..=*last).map(move |seat| (index, seat)))
            .collect();
        let start = (area.start % AREA_START_MAX) as usize % all.len();
        let mut stretches: Vec<(usize, Vec<u32>)> = Vec::new();
        for at in (start..all.len()).chain(0..start) {
            let (index, seat) = all[at];
            match stretches.last_mut().filter(|(last, _)| *last == index && at != 0) {
                Some((_, seats)) => seats.push(seat),
                None => stretches.push((index, vec![seat])),
            }
        }
        let mut found = Vec::new();
        for (_, stretch) in stretches {
            for number in std::iter::once(0).chain(allocations.iter().copied()) {
                let byte = SeatByte::new(SeatState::Available, number).0;
                let fits = |seat: &&u32| self.state.seats[**seat as usize] == byte && !choice.seats.contains(*seat);
                found.extend(stretch.iter().filter(fits));
            }
        }
        found
    }

    fn make(&mut self, at: At, ask: &Ask, choice: Choice) -> HoldAnswer {
        let mut delta = Vec::new();
        if self.wrong != Some(Wrong::TakeOverWithoutEnding) {
            for hold in &choice.ends {
                self.end_hold(*hold, at.now, &mut delta);
            }
        }
        let settings = self.state.meta.settings;
        let expires = at.now + settings.ttl_ms;
        let seats: Vec<u32> = choice.seats.iter().copied().collect();
        for seat in &seats {
            self.state.set_state(*seat, SeatState::Held, &mut delta);
            self.state.owner.insert(*seat, ask.hold);
        }
        let record = Record {
            account: ask.account,
            seats: seats.clone(),
            wish: Some(ask.wish),
            version: settings.price_version,
            created: at.now,
            expires,
            first_end: expires,
            state: HoldState::Held,
            attempt: 0,
            pass: Some(ask.nonce),
            reclaim: None,
            returned: false,
        };
        self.state.holds.insert(ask.hold, record);
        self.state.expiry.insert(ask.hold, expires);
        let (count, _) = self.state.count_of(ask.account);
        self.state.set_count(ask.account, count + seats.len(), Some(ask.hold));
        let what = What::Hold {
            id: ask.hold,
            account: ask.account,
            seats: seats.clone(),
            version: settings.price_version,
            created: at.now,
            expires,
        };
        self.append(at, what, choice.ends, delta);
        HoldAnswer::Held { expires: Millis(expires), price_version: settings.price_version, seats: list(seats) }
    }
}

/// What a repeated call is told.
fn before(record: &Record, ask: &Ask) -> HoldAnswer {
    // The tombstone of a hold that ended before its state was rebuilt knows no more than that.
    if record.account == ask.account && record.state == HoldState::Closed && record.wish.is_none() {
        return HoldAnswer::Closed;
    }
    let same = match record.wish {
        Some(wish) => wish == ask.wish,
        // Rebuilt from its order: the seats must fit, where some were named.
        None => !ask.areas.is_empty() || ask.seats.is_empty() || record.seats == ask.seats,
    };
    if record.account != ask.account || !same {
        return HoldAnswer::KeyReused;
    }
    // It ended, and late money is about to have its seats: that is no answer to this request.
    if record.is_reclaiming() {
        return HoldAnswer::Closed;
    }
    match record.state {
        HoldState::Closed | HoldState::Closing => HoldAnswer::Closed,
        HoldState::Held | HoldState::Paying | HoldState::Sold => HoldAnswer::Held {
            expires: Millis(record.expires),
            price_version: record.version,
            seats: list(record.seats.clone()),
        },
    }
}
