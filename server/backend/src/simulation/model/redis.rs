//! The hot state of one performance, and what each script does to it.

use super::Wrong;
use super::reclaim::Reclaimed;
use crate::redis::{PayAnswer, ShortAnswer};
use domain::hold::{HoldState, SeatByte, SeatState};
use domain::live::LogPosition;
use domain::{AccountId, Millis, OrderId, SeatNo};
use std::collections::BTreeMap;

/// An ended hold is remembered for a day.
pub(crate) const TOMB_TTL_MS: i64 = 86_400_000;

/// The pass of seats that late money took and of which nobody knows the visit: no visit ends with their sale.
pub(crate) const NO_VISIT: u64 = u64::MAX;

/// A hold's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) account: AccountId,
    pub(crate) seats: Vec<u32>,
    /// The request; none where the record was rebuilt from its order.
    pub(crate) wish: Option<u64>,
    pub(crate) version: i32,
    pub(crate) created: i64,
    pub(crate) expires: i64,
    pub(crate) first_end: i64,
    pub(crate) state: HoldState,
    /// Number of the newest attempt that it was told of; its state says whether that one runs.
    pub(crate) attempt: i32,
    pub(crate) pass: Option<u64>,
    /// How late money took these seats; it stays when they have gone back.
    pub(crate) reclaim: Option<Reclaimed>,
    /// All of its seats were given back, by its account or of its paid order.
    pub(crate) returned: bool,
}

impl Record {
    /// What a rebuild knows of a hold that ended.
    pub(crate) fn ended(account: AccountId) -> Self {
        Self {
            account,
            seats: Vec::new(),
            wish: None,
            version: 1,
            created: 0,
            expires: 0,
            first_end: 0,
            state: HoldState::Closed,
            attempt: 0,
            pass: None,
            reclaim: None,
            returned: false,
        }
    }

    /// Whether late money has these seats, and Postgres decides about it.
    pub(crate) fn is_reclaiming(&self) -> bool {
        self.reclaim.is_some() && self.state == HoldState::Paying
    }
}

/// What changed, for the order writer and the maps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) what: What,
    /// Holds that it ended.
    pub(crate) ends: Vec<OrderId>,
    /// Seats with their new bytes.
    pub(crate) delta: Vec<(u32, u8)>,
}

/// The kinds of entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Hold {
        id: OrderId,
        account: AccountId,
        seats: Vec<u32>,
        version: i32,
        created: i64,
        expires: i64,
    },
    Enter {
        account: AccountId,
        nonce: u64,
        entered: i64,
        expires: i64,
    },
    Leave(AccountId),
    Sold(OrderId, AccountId),
    End(OrderId),
    Block,
    Allocate,
    Mend,
    Rebuilt,
    /// An entry that can't be understood, with the hold that it speaks of.
    Poison(OrderId),
}

/// The settings and numbers of a sale.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Meta {
    pub(crate) settings: Settings,
    pub(crate) serving: i64,
    pub(crate) term: i64,
    pub(crate) run: u64,
    pub(crate) written: LogPosition,
}

/// What an organizer sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) version: i64,
    pub(crate) opens: i64,
    pub(crate) closes: i64,
    pub(crate) limit: u32,
    pub(crate) ttl_ms: i64,
    pub(crate) price_version: i32,
    pub(crate) shoppers_max: usize,
    pub(crate) paused: bool,
}

/// What a state consists of, beside its epoch and its log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) meta: Meta,
    pub(crate) seats: Vec<u8>,
    pub(crate) owner: BTreeMap<u32, OrderId>,
    pub(crate) holds: BTreeMap<OrderId, Record>,
    pub(crate) expiry: BTreeMap<OrderId, i64>,
    /// Seats held or bought, and the open hold.
    pub(crate) held_by: BTreeMap<AccountId, (usize, Option<OrderId>)>,
    pub(crate) shoppers: BTreeMap<AccountId, i64>,
    pub(crate) entered: BTreeMap<AccountId, u64>,
    pub(crate) tombs: BTreeMap<OrderId, i64>,
}

/// All keys of one performance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hot {
    pub(crate) epoch: Option<i64>,
    pub(crate) state: State,
    pub(crate) log: Vec<(LogPosition, Entry)>,
    /// The run of the server, which is no key.
    pub(crate) server: u64,
    /// Staging keys of a rebuild, with the epoch that they are for.
    pub(crate) staging: Option<(i64, State)>,
    /// Not of the store: whether it lost anything since this state, and since the staged one, was built.
    pub(crate) tainted: (bool, bool),
    pub(crate) wrong: Option<Wrong>,
}

/// The instants of one script: its own clock, and the one that numbers its entry of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At {
    pub(crate) now: i64,
    pub(crate) log: i64,
}

impl At {
    pub(crate) fn new(now: i64) -> Self {
        Self { now, log: now }
    }
}

pub(crate) fn no(word: &str, seats: &[u32]) -> ShortAnswer {
    ShortAnswer::No(word.to_owned(), seats.iter().copied().map(SeatNo).collect())
}

impl State {
    pub(crate) fn count_of(&self, account: AccountId) -> (usize, Option<OrderId>) {
        self.held_by.get(&account).copied().unwrap_or_default()
    }

    pub(crate) fn set_count(&mut self, account: AccountId, count: usize, open: Option<OrderId>) {
        if count == 0 && open.is_none() {
            self.held_by.remove(&account);
        } else {
            self.held_by.insert(account, (count, open));
        }
    }

    /// Gives a seat another state; it stays in its allocation.
    pub(crate) fn set_state(&mut self, seat: u32, state: SeatState, delta: &mut Vec<(u32, u8)>) {
        let byte = &mut self.seats[seat as usize];
        *byte = SeatByte::new(state, SeatByte(*byte).allocation()).0;
        delta.push((seat, *byte));
    }
}

impl Hot {
    /// The state is complete, of the epoch that the caller knows, and built in this run of the server. One that
    /// another run left behind is not trusted again, whoever finds it.
    pub(crate) fn is_complete(&mut self, epoch: i64) -> bool {
        if self.epoch == Some(epoch) && self.state.meta.run != self.server {
            self.epoch = None;
        }
        self.epoch == Some(epoch)
    }

    pub(crate) fn last(&self) -> LogPosition {
        self.log.last().map(|(at, _)| *at).unwrap_or_default()
    }

    pub(crate) fn append(&mut self, at: At, what: What, ends: Vec<OrderId>, delta: Vec<(u32, u8)>) {
        let last = self.last();
        let ms = u64::try_from(at.log).unwrap_or(0);
        let next = if self.log.is_empty() || ms > last.ms {
            LogPosition { ms, seq: 0 }
        } else {
            LogPosition { ms: last.ms, seq: last.seq + 1 }
        };
        self.log.push((next, Entry { what, ends, delta }));
    }

    /// Ends a hold: its own seats go back, its account's count falls, a tombstone stays.
    pub(crate) fn end_hold(&mut self, id: OrderId, now: i64, delta: &mut Vec<(u32, u8)>) {
        let Some(mut record) = self.state.holds.get(&id).cloned() else { return };
        for seat in &record.seats {
            let own = self.state.owner.get(seat) == Some(&id);
            if own {
                self.state.set_state(*seat, SeatState::Available, delta);
                self.state.owner.remove(seat);
            }
        }
        self.state.expiry.remove(&id);
        let (count, open) = self.state.count_of(record.account);
        let open = open.filter(|open| *open != id);
        self.state.set_count(record.account, count.saturating_sub(record.seats.len()), open);
        record.state = HoldState::Closed;
        self.state.holds.insert(id, record);
        self.state.tombs.insert(id, now + TOMB_TTL_MS);
    }

    pub(super) fn end_and_log(&mut self, at: At, id: OrderId) -> ShortAnswer {
        let mut delta = Vec::new();
        self.end_hold(id, at.now, &mut delta);
        self.append(at, What::End(id), vec![id], delta);
        ShortAnswer::Done
    }

    /// `release.lua`
    pub(crate) fn release(&mut self, at: At, epoch: i64, id: OrderId, account: AccountId) -> ShortAnswer {
        if !self.is_complete(epoch) {
            return ShortAnswer::Rebuilding;
        }
        match self.state.holds.get(&id).filter(|record| record.account == account).map(|record| record.state) {
            None => no("missing", &[]),
            Some(HoldState::Closed | HoldState::Closing) => ShortAnswer::Again,
            Some(HoldState::Paying) => no("paying", &[]),
            Some(HoldState::Sold) => no("sold", &[]),
            Some(HoldState::Held) => {
                self.set_returned(id);
                self.end_and_log(at, id)
            }
        }
    }

    /// `finish.lua`, by whoever ends the hold of an order that has closed.
    pub(crate) fn finish(&mut self, at: At, epoch: i64, id: OrderId) -> ShortAnswer {
        self.finish_by(at, epoch, id, None)
    }

    /// `unsell.lua`
    pub(crate) fn unsell(&mut self, at: At, epoch: i64, id: OrderId) -> ShortAnswer {
        if !self.is_complete(epoch) {
            return ShortAnswer::Rebuilding;
        }
        match self.state.holds.get(&id).map(|record| record.state) {
            None => no("missing", &[]),
            Some(HoldState::Closed) => ShortAnswer::Again,
            Some(_) => {
                self.set_returned(id);
                self.end_and_log(at, id)
            }
        }
    }

    /// `confirm.lua`
    pub(crate) fn confirm(&mut self, at: At, epoch: i64, id: OrderId) -> ShortAnswer {
        if !self.is_complete(epoch) {
            return ShortAnswer::Rebuilding;
        }
        let Some(mut record) = self.state.holds.get(&id).cloned() else { return no("missing", &[]) };
        match record.state {
            HoldState::Sold => return ShortAnswer::Again,
            HoldState::Closed => return no("closed", &[]),
            HoldState::Held | HoldState::Paying | HoldState::Closing => {}
        }
        let mut lost = record.seats.clone();
        lost.retain(|seat| self.state.owner.get(seat) != Some(&id));
        if !lost.is_empty() {
            return no("lost", &lost);
        }
        let mut delta = Vec::new();
        for seat in &record.seats {
            self.state.set_state(*seat, SeatState::Sold, &mut delta);
        }
        let account = record.account;
        record.state = HoldState::Sold;
        // Only the visit that bought ends.
        if record.pass.is_none() || self.state.entered.get(&account).copied() == record.pass {
            self.state.shoppers.remove(&account);
            self.state.entered.remove(&account);
        }
        self.state.holds.insert(id, record);
        self.state.expiry.remove(&id);
        let (count, open) = self.state.count_of(account);
        self.state.set_count(account, count, open.filter(|open| *open != id));
        self.append(at, What::Sold(id, account), Vec::new(), delta);
        ShortAnswer::Done
    }

    /// `pay.lua`
    pub(crate) fn pay(
        &mut self,
        at: At,
        epoch: i64,
        id: OrderId,
        account: AccountId,
        attempt: i32,
        (allowed_ms, cap_ms): (i64, i64),
    ) -> PayAnswer {
        if !self.is_complete(epoch) {
            return PayAnswer::Rebuilding;
        }
        let shortens = self.wrong == Some(Wrong::PayShortens);
        let Some(record) = self.state.holds.get_mut(&id).filter(|record| record.account == account) else {
            return PayAnswer::Gone;
        };
        let runs = match record.state {
            HoldState::Sold => return PayAnswer::Sold,
            HoldState::Closing | HoldState::Closed => return PayAnswer::Gone,
            // The order has ended: late money alone has its seats now.
            HoldState::Held | HoldState::Paying if record.reclaim.is_some() => return PayAnswer::Gone,
            HoldState::Held if record.expires <= at.now => return PayAnswer::Gone,
            HoldState::Held => false,
            HoldState::Paying => true,
        };
        if runs && attempt == record.attempt {
            return PayAnswer::Until(Millis(record.expires));
        }
        // Each attempt begins when those before it are over.
        if attempt <= record.attempt {
            return PayAnswer::OtherAttempt;
        }
        let allowed = (at.now + allowed_ms).min(record.created + cap_ms);
        let until = if shortens { allowed } else { allowed.max(record.expires) };
        if until <= at.now {
            return PayAnswer::Gone;
        }
        (record.state, record.attempt, record.expires) = (HoldState::Paying, attempt, until);
        self.state.expiry.remove(&id);
        PayAnswer::Until(Millis(until))
    }

    /// `unpay.lua`
    pub(crate) fn unpay(
        &mut self,
        at: At,
        epoch: i64,
        id: OrderId,
        attempt: i32,
        (least_ms, cap_ms): (i64, i64),
    ) -> PayAnswer {
        if !self.is_complete(epoch) {
            return PayAnswer::Rebuilding;
        }
        let Some(record) = self.state.holds.get_mut(&id) else { return PayAnswer::Gone };
        match record.state {
            HoldState::Sold => return PayAnswer::Sold,
            HoldState::Closing | HoldState::Closed => return PayAnswer::Gone,
            HoldState::Held => {}
            HoldState::Paying if attempt < record.attempt => return PayAnswer::OtherAttempt,
            HoldState::Paying => {
                let least = (at.now + least_ms).min(record.created + cap_ms);
                let until = record.first_end.max(least);
                record.state = HoldState::Held;
                (record.expires, record.first_end) = (until, until);
                self.state.expiry.insert(id, until);
            }
        }
        record.attempt = record.attempt.max(attempt);
        PayAnswer::Until(Millis(record.expires))
    }

    /// `enter.lua`
    pub(crate) fn enter(
        &mut self,
        at: At,
        epoch: i64,
        account: AccountId,
        nonce: u64,
        visit_ms: i64,
    ) -> Result<Millis, String> {
        let word = |word: &str| Err(word.to_owned());
        if !self.is_complete(epoch) {
            return word("rebuilding");
        }
        let settings = self.state.meta.settings;
        if at.now < settings.opens || at.now >= settings.closes {
            return word("sale_closed");
        }
        self.state.shoppers.retain(|_, ends| *ends > at.now);
        let expires = match self.state.shoppers.get(&account) {
            Some(ends) if self.state.entered.get(&account) == Some(&nonce) => return Ok(Millis(*ends)),
            Some(ends) => *ends,
            None if settings.paused => return word("paused"),
            None if self.state.shoppers.len() >= settings.shoppers_max => return word("full"),
            None => at.now + visit_ms,
        };
        self.state.shoppers.insert(account, expires);
        self.state.entered.insert(account, nonce);
        self.append(at, What::Enter { account, nonce, entered: at.now, expires }, Vec::new(), Vec::new());
        Ok(Millis(expires))
    }

    /// `leave.lua`
    pub(crate) fn leave(&mut self, at: At, epoch: i64, account: AccountId) -> ShortAnswer {
        if !self.is_complete(epoch) {
            return ShortAnswer::Rebuilding;
        }
        self.state.shoppers.remove(&account);
        self.state.entered.remove(&account);
        self.append(at, What::Leave(account), Vec::new(), Vec::new());
        ShortAnswer::Done
    }

    /// `sweep.lua`
    pub(crate) fn sweep(&mut self, at: At, epoch: i64, most: usize) -> Option<Vec<OrderId>> {
        if !self.is_complete(epoch) {
            return None;
        }
        let mut due = Vec::new();
        for id in self.run_out(at.now, most) {
            match self.state.holds.get_mut(&id) {
                // Only Postgres knows whether late money has paid for these seats.
                Some(record) if record.is_reclaiming() => due.push(id),
                Some(record) if matches!(record.state, HoldState::Held | HoldState::Closing) => {
                    record.state = HoldState::Closing;
                    due.push(id);
                }
                _ => {
                    self.state.expiry.remove(&id);
                }
            }
        }
        if self.wrong == Some(Wrong::LeaseIgnored) {
            due.extend(self.state.holds.iter().filter(|(_, record)| record.is_reclaiming()).map(|(id, _)| *id));
        }
        let mut tombs: Vec<(i64, OrderId)> =
            self.state.tombs.iter().filter(|(_, at_ms)| **at_ms <= at.now).map(|(id, at_ms)| (*at_ms, *id)).collect();
        tombs.sort_unstable();
        for (_, id) in tombs.into_iter().take(most) {
            self.state.holds.remove(&id);
            self.state.tombs.remove(&id);
        }
        self.state.shoppers.retain(|_, ends| *ends > at.now);
        Some(due)
    }

    /// Holds whose end has come, the earliest first.
    pub(crate) fn run_out(&self, now: i64, most: usize) -> Vec<OrderId> {
        let mut due: Vec<(i64, OrderId)> =
            self.state.expiry.iter().filter(|(_, ends)| **ends <= now).map(|(id, ends)| (*ends, *id)).collect();
        due.sort_unstable();
        due.into_iter().take(most).map(|(_, id)| id).collect()
    }
}
