//! The rows that matter to inventory and orders, and what each statement or transaction does to them.

use super::Wrong;
use super::redis::{Record, Settings, State, TOMB_TTL_MS};
use domain::hold::{HoldState, SeatByte, SeatState};
use domain::live::LogPosition;
use domain::order::{AttemptStatus, OrderEvent, OrderFacts, OrderStatus, transition};
use domain::{AccountId, AttemptId, Millis, OrderId};
use std::collections::{BTreeMap, BTreeSet};

/// An order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) account: AccountId,
    pub(crate) status: OrderStatus,
    pub(crate) version: i32,
    pub(crate) price_version: i32,
    pub(crate) created: i64,
    pub(crate) expires: i64,
    pub(crate) paid: bool,
    pub(crate) confirmed: bool,
    pub(crate) released: bool,
    pub(crate) items: BTreeSet<u32>,
    /// Seats that were given back, and whether Redis knows.
    pub(crate) returned: BTreeMap<u32, bool>,
}

impl Order {
    /// Its seats without those that were given back.
    pub(crate) fn kept(&self) -> impl Iterator<Item = u32> {
        self.items.iter().copied().filter(move |seat| !self.returned.contains_key(seat))
    }

    /// What it comes to, in minor units.
    pub(crate) fn total(&self) -> i64 {
        price_of(self.items.len())
    }
}

/// An attempt to pay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attempt {
    pub(crate) order: OrderId,
    pub(crate) number: i32,
    pub(crate) status: AttemptStatus,
    pub(crate) known_there: bool,
    /// Redis knows that it is over.
    pub(crate) taken_back: bool,
    pub(crate) deadline: i64,
    pub(crate) amount: i64,
}

/// Where a refund stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefundStatus {
    /// Decided, and perhaps submitted.
    Open,
    Succeeded,
    Failed,
}

/// Money on its way back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refund {
    pub(crate) attempt: AttemptId,
    pub(crate) status: RefundStatus,
    /// In minor units.
    pub(crate) amount: i64,
}

/// A visit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Visit {
    pub(crate) nonce: u64,
    pub(crate) entered: i64,
    pub(crate) expires: i64,
    pub(crate) left: bool,
}

/// Everything that is committed about one performance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) epoch: i64,
    pub(crate) settings: Settings,
    pub(crate) seat_count: usize,
    /// Seats without a price are not for sale.
    pub(crate) unpriced: BTreeSet<u32>,
    pub(crate) position: Option<(i64, LogPosition)>,
    pub(crate) orders: BTreeMap<OrderId, Order>,
    pub(crate) claims: BTreeMap<u32, OrderId>,
    pub(crate) attempts: BTreeMap<AttemptId, Attempt>,
    pub(crate) refunds: Vec<Refund>,
    /// Minor units by source and account.
    pub(crate) ledger: BTreeMap<(String, &'static str), i64>,
    pub(crate) blocked: BTreeSet<u32>,
    /// Number of the allocation by seat.
    pub(crate) kept: BTreeMap<u32, u8>,
    pub(crate) visits: BTreeMap<AccountId, Visit>,
    pub(crate) set_aside: BTreeSet<(i64, LogPosition)>,
    /// Accounts that there are: an entry that names another can't be written.
    pub(crate) accounts: BTreeSet<AccountId>,
    pub(crate) wrong: Option<Wrong>,
}

/// What a seat costs.
const PRICE: i64 = 100;

/// What so many seats cost, in minor units.
pub(crate) fn price_of(seats: usize) -> i64 {
    PRICE * i64::try_from(seats).unwrap_or(0)
}

impl Rows {
    /// Raises the epoch, if it is still the one that was read.
    pub(crate) fn raise_epoch(&mut self, from: i64) -> Option<i64> {
        (self.epoch == from).then(|| {
            self.epoch += 1;
            self.epoch
        })
    }

    /// Starts an epoch at the beginning of its log.
    pub(crate) fn start_epoch(&mut self, epoch: i64) {
        if self.position.is_none_or(|(standing, _)| standing < epoch) {
            self.position = Some((epoch, LogPosition::default()));
        }
    }

    /// Moves an order as it was read, and frees its claims where the machine says so.
    pub(crate) fn apply(&mut self, id: OrderId, read: &Order, event: OrderEvent, expires: Option<i64>) -> bool {
        // The callers ask the machine at an instant that they have checked; only the step counts here.
        let now = if event == OrderEvent::Expire { read.expires } else { read.expires - 1 };
        let facts = OrderFacts { status: read.status, expires: Millis(read.expires) };
        let Ok(step) = transition(facts, event, Millis(now)) else { return false };
        let blind = self.wrong == Some(Wrong::ApplyWithoutVersion);
        let Some(order) = self.orders.get_mut(&id) else { return false };
        if !blind && (order.status != step.from || order.version != read.version) {
            return false;
        }
        order.status = step.to;
        order.version += 1;
        order.expires = expires.unwrap_or(order.expires);
        order.paid |= step.to == OrderStatus::Paid;
        if step.frees_seats {
            self.claims.retain(|_, owner| *owner != id);
        }
        true
    }

    /// Starts an attempt, unless another one is open or the number is taken.
    pub(crate) fn insert_attempt(&mut self, id: AttemptId, new: Attempt) -> bool {
        let clashes = |old: &Attempt| old.order == new.order && (old.status.is_open() || old.number == new.number);
        if self.attempts.values().any(clashes) || !self.orders.contains_key(&new.order) {
            return false;
        }
        self.attempts.insert(id, new);
        true
    }

    /// Notes that the provider knows the attempt; `false` when it has ended meanwhile.
    pub(crate) fn set_open(&mut self, id: AttemptId) -> bool {
        let Some(attempt) = self.attempts.get_mut(&id).filter(|attempt| attempt.status.is_open()) else { return false };
        if attempt.status == AttemptStatus::Created {
            attempt.status = AttemptStatus::Open;
        }
        attempt.known_there = true;
        true
    }

    /// The transaction in which an order begins to be paid: whether the attempt may still bring money, and
    /// whether the order moved.
    pub(crate) fn begin(&mut self, id: OrderId, read: &Order, attempt: AttemptId, until: i64) -> (bool, bool) {
        let open = self.attempts.get(&attempt).is_some_and(|one| one.status.is_open());
        (open, open && self.apply(id, read, OrderEvent::Pay, Some(until)))
    }

    /// Moves an open attempt.
    pub(crate) fn set_attempt(&mut self, id: AttemptId, to: AttemptStatus) -> bool {
        match self.attempts.get_mut(&id).filter(|attempt| attempt.status.is_open()) {
            Some(attempt) => {
                attempt.status = to;
                true
            }
            None => false,
        }
    }

    /// The order is open for its payment and owns all its seats.
    pub(crate) fn owns_all_seats(&self, id: OrderId) -> bool {
        self.orders.get(&id).is_some_and(|order| {
            order.status == OrderStatus::PaymentProcessing
                && !order.items.is_empty()
                && order.items.iter().all(|seat| self.claims.get(seat) == Some(&id))
        })
    }

    pub(super) fn post(&mut self, source: String, debit: &'static str, credit: &'static str, amount: i64) {
        self.ledger.entry((source.clone(), debit)).or_insert(amount);
        self.ledger.entry((source, credit)).or_insert(-amount);
    }

    /// The transaction that takes captured money in: `None` when the attempt has ended, `false` when the order
    /// moved since it was read, and nothing was changed.
    pub(crate) fn captured(&mut self, id: AttemptId, read: &Order) -> Option<bool> {
        let attempt = self.attempts.get(&id).filter(|attempt| attempt.status.is_open()).cloned()?;
        let facts = OrderFacts { status: read.status, expires: Millis(read.expires) };
        if transition(facts, OrderEvent::Captured, Millis(0)).is_ok() {
            if !self.apply(attempt.order, read, OrderEvent::Captured, None) {
                return Some(false);
            }
            self.post(format!("capture:{id}"), "provider_clearing", "organizer_payable", attempt.amount);
        } else {
            self.post(format!("capture:{id}"), "provider_clearing", "order_receivable", attempt.amount);
            if self.wrong != Some(Wrong::NoRefund) {
                self.reserve_refund(id);
            }
            // Somebody may have taken its seats and died: the release job looks once more.
            if let Some(order) = self.orders.get_mut(&attempt.order).filter(|one| one.status == OrderStatus::Closed) {
                order.released = false;
            }
        }
        self.set_attempt(id, AttemptStatus::Captured);
        Some(true)
    }

    /// The transaction that ends an attempt without money. `None` when it had ended, `false` when the order
    /// moved since it was read, and nothing was changed.
    pub(crate) fn canceled(&mut self, id: AttemptId, read: &Order, next: Option<OrderEvent>) -> Option<bool> {
        let order = self.attempts.get(&id).filter(|attempt| attempt.status.is_open())?.order;
        let now = self.orders.get(&order).map(|order| (order.status, order.version));
        if read.status == OrderStatus::PendingPayment && now != Some((read.status, read.version)) {
            return Some(false);
        }
        if let Some(event) = next
            && !self.apply(order, read, event, None)
        {
            return Some(false);
        }
        self.set_attempt(id, AttemptStatus::Canceled);
        Some(true)
    }

    /// Ends an attempt of which the provider was not told: another click may have gone further with it.
    pub(crate) fn cancel_unopened(&mut self, id: AttemptId) {
        if self
            .attempts
            .get(&id)
            .is_some_and(|attempt| attempt.status == AttemptStatus::Created && !attempt.known_there)
        {
            self.set_attempt(id, AttemptStatus::Canceled);
        }
    }

    /// Notes when the hold of a pending order ends, if the order is still as it was read.
    pub(crate) fn set_expires(&mut self, id: OrderId, read: &Order, expires: i64) {
        let same = |order: &&mut Order| order.status == OrderStatus::PendingPayment && order.version == read.version;
        if let Some(order) = self.orders.get_mut(&id).filter(same) {
            order.expires = expires;
        }
    }

    /// Notes that Redis knows that a cancelled attempt is over.
    pub(crate) fn set_taken_back(&mut self, id: AttemptId) {
        if let Some(attempt) = self.attempts.get_mut(&id) {
            attempt.taken_back |= attempt.status == AttemptStatus::Canceled;
        }
    }

    /// Cancelled attempts of which Redis may not know yet that they are over.
    pub(crate) fn not_taken_back(&self) -> Vec<(AttemptId, Attempt)> {
        let due = |one: &Attempt| one.status == AttemptStatus::Canceled && !one.taken_back;
        self.attempts.iter().filter(|(_, one)| due(one)).map(|(id, one)| (*id, one.clone())).collect()
    }

    /// Number of the attempt of a pending order that begins.
    pub(crate) fn begins(&self, order: OrderId) -> Option<i32> {
        let pending = self.orders.get(&order).is_some_and(|order| order.status == OrderStatus::PendingPayment);
        self.open_attempt(order).filter(|_| pending).map(|(_, one)| one.number)
    }

    /// The number of the newest attempt of which the hold must know: of one that only begins it must not.
    fn newest_attempt(&self, order: OrderId) -> i32 {
        let pending = self.orders.get(&order).is_some_and(|order| order.status == OrderStatus::PendingPayment);
        let known = |one: &&Attempt| one.order == order && !(pending && one.status.is_open());
        self.attempts.values().filter(known).map(|one| one.number).max().unwrap_or(0)
    }

    /// The open attempt of an order.
    pub(crate) fn open_attempt(&self, order: OrderId) -> Option<(AttemptId, Attempt)> {
        let found = self.attempts.iter().find(|(_, one)| one.order == order && one.status.is_open());
        found.map(|(id, one)| (*id, one.clone()))
    }

    /// Orders that own a seat, with the seats that they own.
    pub(crate) fn owning(&self) -> BTreeMap<OrderId, Vec<u32>> {
        let mut owning: BTreeMap<OrderId, Vec<u32>> = BTreeMap::new();
        for (seat, order) in &self.claims {
            owning.entry(*order).or_default().push(*seat);
        }
        owning
    }

    /// The record of the hold of an order.
    pub(crate) fn record_of(&self, id: OrderId, seats: &[u32]) -> Option<Record> {
        let order = self.orders.get(&id)?;
        Some(Record {
            account: order.account,
            seats: seats.to_vec(),
            wish: None,
            version: order.price_version,
            created: order.created,
            expires: order.expires,
            first_end: order.expires,
            state: hold_state(order.status),
            attempt: self.newest_attempt(id),
            pass: None,
            reclaim: None,
            returned: false,
        })
    }

    /// The hot state that these rows come to.
    pub(crate) fn build(&self, now: i64, run: u64) -> State {
        let mut state = State { seats: self.bytes(), ..State::default() };
        state.meta.settings = self.settings;
        state.meta.run = run;
        for (id, seats) in self.owning() {
            let Some(record) = self.record_of(id, &seats) else { continue };
            let open = (record.state != HoldState::Sold).then_some(id);
            let (count, before) = state.count_of(record.account);
            state.set_count(record.account, count + seats.len(), open.or(before));
            for seat in seats {
                state.owner.insert(seat, id);
            }
            if record.state == HoldState::Held {
                state.expiry.insert(id, record.expires);
            }
            state.holds.insert(id, record);
        }
        for (id, order) in self.orders.iter().filter(|(_, order)| order.created > now - TOMB_TTL_MS) {
            let over = matches!(order.status, OrderStatus::Closed | OrderStatus::Refused | OrderStatus::Refunded);
            // It also ended where all of its seats were given back.
            if over || (is_sold(order.status) && !self.owns_any(*id)) {
                state.holds.insert(*id, Record::ended(order.account));
                state.tombs.insert(*id, order.created + TOMB_TTL_MS);
            }
        }
        for (account, visit) in self.visits.iter().filter(|(_, visit)| !visit.left && visit.expires > now) {
            state.shoppers.insert(*account, visit.expires);
            state.entered.insert(*account, visit.nonce);
        }
        state
    }

    /// The byte of each seat.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        (0..u32::try_from(self.seat_count).unwrap_or(0))
            .map(|seat| {
                let owner = self.claims.get(&seat).and_then(|id| self.orders.get(id));
                let state = match owner {
                    Some(order) if is_sold(order.status) => SeatState::Sold,
                    Some(_) => SeatState::Held,
                    None if self.blocked.contains(&seat) || self.unpriced.contains(&seat) => SeatState::Blocked,
                    None => SeatState::Available,
                };
                SeatByte::new(state, self.kept.get(&seat).copied().unwrap_or(0)).0
            })
            .collect()
    }
}

pub(crate) fn is_sold(status: OrderStatus) -> bool {
    matches!(status, OrderStatus::Paid | OrderStatus::Fulfilled)
}

fn hold_state(status: OrderStatus) -> HoldState {
    match status {
        OrderStatus::PendingPayment => HoldState::Held,
        OrderStatus::PaymentProcessing => HoldState::Paying,
        _ => HoldState::Sold,
    }
}
