//! `reclaim.lua` and the transaction that follows it: late money takes the seats of its closed order once more.

use super::Wrong;
use super::postgres::{Order, Rows};
use super::redis::{At, Hot, NO_VISIT, Record, What, no};
use crate::redis::{ReclaimAnswer, ShortAnswer};
use domain::hold::{HoldState, SeatByte, SeatState};
use domain::live::LogPosition;
use domain::order::{AttemptStatus, OrderEvent, OrderStatus};
use domain::{AccountId, AttemptId, OrderId};

/// What late money asks for: all seats of its order.
#[derive(Clone, Debug)]
pub(crate) struct Again {
    pub(crate) hold: OrderId,
    pub(crate) account: AccountId,
    /// Number of the attempt that was captured.
    pub(crate) attempt: i32,
    /// Ascending.
    pub(crate) seats: Vec<u32>,
    pub(crate) allocations: Vec<u8>,
    pub(crate) version: i32,
    pub(crate) created: i64,
    /// How long the seats wait for Postgres, in ms.
    pub(crate) lease_ms: i64,
}

/// How late money took seats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reclaimed {
    /// Number of its attempt.
    pub(crate) attempt: i32,
    /// The entry of the log.
    pub(crate) entry: LogPosition,
    /// What the try that asked last was told: no other one gives these seats up.
    pub(crate) fence: i64,
}

impl Hot {
    /// `reclaim.lua`: takes all seats, or goes on with them; where they were not taken before, only if `anew`.
    pub(crate) fn reclaim(&mut self, at: At, epoch: i64, ask: &Again, anew: bool) -> ReclaimAnswer {
        if !self.is_complete(epoch) {
            return ReclaimAnswer::Rebuilding;
        }
        let before = self.state.holds.get(&ask.hold).cloned();
        if let Some(record) = before.as_ref().filter(|record| record.is_reclaiming())
            && let Some(taken) = record.reclaim
        {
            if taken.attempt != ask.attempt {
                return ReclaimAnswer::OtherAttempt;
            }
            let (till, fence) = (at.now + ask.lease_ms, taken.fence + 1);
            let reclaim = Some(Reclaimed { fence, ..taken });
            self.state.holds.insert(ask.hold, Record { expires: till, first_end: till, reclaim, ..record.clone() });
            self.state.expiry.insert(ask.hold, till);
            return ReclaimAnswer::Took { entry: taken.entry, fence };
        }
        if !anew {
            return ReclaimAnswer::Gone;
        }
        let stands = |record: &Record| record.state != HoldState::Closed || record.account != ask.account;
        if before.as_ref().is_some_and(stands) {
            return ReclaimAnswer::Standing;
        }
        if before.as_ref().is_some_and(|record| record.returned) {
            return ReclaimAnswer::Returned;
        }
        let mut ends = Vec::new();
        // An open hold of the account is another order: it stays, and counts.
        let (mut count, open) = self.state.count_of(ask.account);
        if let Some(open) = open.filter(|open| self.has_run_out(open, at.now)) {
            count = count.saturating_sub(self.state.holds.get(&open).map_or(0, |record| record.seats.len()));
            ends.push(open);
        }
        for seat in &ask.seats {
            if let Some(refusal) = self.refuses(at.now, ask, *seat, &mut ends) {
                return refusal;
            }
        }
        if count + ask.seats.len() > self.state.meta.settings.limit as usize {
            return ReclaimAnswer::Limit;
        }
        self.take_again(at, ask, before.as_ref(), ends)
    }

    /// `finish.lua`, where need be by the try that gives up what late money has taken, with its fence.
    pub(crate) fn finish_by(&mut self, at: At, epoch: i64, id: OrderId, fence: Option<i64>) -> ShortAnswer {
        if !self.is_complete(epoch) {
            return ShortAnswer::Rebuilding;
        }
        let Some(record) = self.state.holds.get(&id) else { return ShortAnswer::Again };
        let state = record.state;
        let waits = record.is_reclaiming() && record.expires > at.now && self.wrong != Some(Wrong::LeaseIgnored);
        let own = record.is_reclaiming() && record.reclaim.map(|taken| taken.fence) == fence;
        let strange = fence.is_some() && !own && self.wrong != Some(Wrong::GiveUpUnfenced);
        match state {
            HoldState::Closed => ShortAnswer::Again,
            HoldState::Sold => no("sold", &[]),
            HoldState::Held | HoldState::Paying | HoldState::Closing if strange => no("other", &[]),
            HoldState::Held | HoldState::Paying | HoldState::Closing if fence.is_none() && waits => {
                no("reclaiming", &[])
            }
            HoldState::Held | HoldState::Paying | HoldState::Closing => self.end_and_log(at, id),
        }
    }

    /// Why a seat can't be had again, or the hold that ends by it.
    fn refuses(&self, now: i64, ask: &Again, seat: u32, ends: &mut Vec<OrderId>) -> Option<ReclaimAnswer> {
        let Some(byte) = self.state.seats.get(seat as usize).map(|byte| SeatByte(*byte)) else {
            return Some(ReclaimAnswer::NotForSale);
        };
        let reserved = byte.allocation() != 0 && !ask.allocations.contains(&byte.allocation());
        match byte.state() {
            SeatState::Blocked => Some(ReclaimAnswer::NotForSale),
            _ if reserved => Some(ReclaimAnswer::NotForSale),
            SeatState::Available => None,
            _ if self.wrong == Some(Wrong::ReclaimOfTaken) => None,
            SeatState::Sold => Some(ReclaimAnswer::Taken),
            SeatState::Held => match self.state.owner.get(&seat) {
                Some(owner) if self.has_run_out(owner, now) => {
                    if !ends.contains(owner) {
                        ends.push(*owner);
                    }
                    None
                }
                _ => Some(ReclaimAnswer::Taken),
            },
        }
    }

    fn take_again(&mut self, at: At, ask: &Again, before: Option<&Record>, ends: Vec<OrderId>) -> ReclaimAnswer {
        let mut delta = Vec::new();
        for hold in &ends {
            self.end_hold(*hold, at.now, &mut delta);
        }
        for seat in &ask.seats {
            self.state.set_state(*seat, SeatState::Held, &mut delta);
            self.state.owner.insert(*seat, ask.hold);
        }
        let (count, open) = self.state.count_of(ask.account);
        self.state.set_count(ask.account, count + ask.seats.len(), open);
        self.append(at, What::Block, ends, delta);
        let (entry, till) = (self.last(), at.now + ask.lease_ms);
        // No fence is told twice, also when the seats went back in between.
        let fence = 1 + before.and_then(|record| record.reclaim).map_or(0, |taken| taken.fence);
        let record = Record {
            account: ask.account,
            seats: ask.seats.clone(),
            wish: before.and_then(|record| record.wish),
            version: ask.version,
            created: ask.created,
            expires: till,
            first_end: till,
            state: HoldState::Paying,
            attempt: ask.attempt,
            pass: before.and_then(|record| record.pass).or(Some(NO_VISIT)),
            reclaim: Some(Reclaimed { attempt: ask.attempt, entry, fence }),
            returned: false,
        };
        self.state.holds.insert(ask.hold, record);
        self.state.tombs.remove(&ask.hold);
        self.state.expiry.insert(ask.hold, till);
        ReclaimAnswer::Took { entry, fence }
    }
}

impl Rows {
    /// What the late money of an attempt asks for; none where it is not what its order comes to.
    pub(crate) fn chosen(&self, id: AttemptId, allocations: Vec<u8>, lease_ms: i64) -> Option<Again> {
        let attempt = self.attempts.get(&id)?;
        let order = self.orders.get(&attempt.order).filter(|order| order.total() == attempt.amount)?;
        Some(Again {
            hold: attempt.order,
            account: order.account,
            attempt: attempt.number,
            seats: order.items.iter().copied().collect(),
            allocations,
            version: order.price_version,
            created: order.created,
            lease_ms,
        })
    }

    /// Whether an attempt is open and its order is as it was read.
    pub(crate) fn is_undecided(&self, id: AttemptId, read: &Order) -> bool {
        self.attempts.get(&id).filter(|attempt| attempt.status.is_open()).is_some_and(|attempt| {
            let order = self.orders.get(&attempt.order);
            order.is_some_and(|order| order.status == read.status && order.version == read.version)
        })
    }

    /// The transaction that makes a closed order paid by its late money; `false` when the attempt has ended, the
    /// order has moved since it was read, or another order claims one of its seats: then nothing was changed.
    pub(crate) fn reclaim(&mut self, id: AttemptId, read: &Order) -> bool {
        let Some(attempt) = self.attempts.get(&id).filter(|_| self.is_undecided(id, read)).cloned() else {
            return false;
        };
        let free = read.items.iter().all(|seat| !self.claims.contains_key(seat));
        if !free || !self.apply(attempt.order, read, OrderEvent::Reclaimed, None) {
            return false;
        }
        if self.wrong != Some(Wrong::ReclaimWithoutClaims) {
            self.claims.extend(read.items.iter().map(|seat| (*seat, attempt.order)));
        }
        if let Some(order) = self.orders.get_mut(&attempt.order) {
            (order.confirmed, order.released) = (false, false);
        }
        self.set_attempt(id, AttemptStatus::Captured);
        self.post(format!("capture:{id}"), "provider_clearing", "order_receivable", attempt.amount);
        self.post(format!("reclaim:{id}"), "order_receivable", "organizer_payable", attempt.amount);
        if self.wrong == Some(Wrong::ReclaimAndRefund) {
            self.reserve_refund(id);
        }
        true
    }

    /// Accounts whose late money may have seats in Redis at this moment.
    pub(crate) fn reclaiming_accounts(&self) -> Vec<AccountId> {
        let closed = self.orders.iter().filter(|(_, order)| order.status == OrderStatus::Closed);
        let undecided = closed.filter(|(id, order)| !order.released || self.open_attempt(**id).is_some());
        undecided.map(|(_, order)| order.account).collect()
    }
}
