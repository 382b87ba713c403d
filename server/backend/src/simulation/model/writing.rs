//! What the order writer commits: a batch of the log and the new position, together or not at all.

use super::Wrong;
use super::postgres::{Order, Rows, Visit};
use super::redis::{Entry, What};
use domain::AccountId;
use domain::OrderId;
use domain::live::LogPosition;
use domain::order::{OrderEvent, OrderStatus};
use std::collections::{BTreeMap, BTreeSet};

/// How a batch ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    /// The position and the epoch were as expected.
    pub(crate) moved: bool,
    /// Orders that did not get all their seats.
    pub(crate) refused: Vec<OrderId>,
    /// Holds whose entry was set aside.
    pub(crate) set_aside: Vec<OrderId>,
}

type Batch = [(LogPosition, Entry)];

impl Rows {
    /// Commits entries that follow `from`: all at once, or each by itself where one can't be written.
    pub(crate) fn take(&mut self, epoch: i64, from: LogPosition, entries: &Batch) -> Taken {
        if entries.iter().all(|(_, entry)| self.can_write(entry)) {
            return self.commit(epoch, from, entries);
        }
        let (mut from, mut taken) = (from, Taken { moved: true, ..Taken::default() });
        for one in entries {
            let (at, entry) = one;
            if self.can_write(entry) {
                let done = self.commit(epoch, from, std::slice::from_ref(one));
                taken.refused.extend(done.refused);
                taken.moved = done.moved;
            } else {
                taken.moved = self.put_aside(epoch, from, *at, entry, &mut taken.set_aside);
            }
            if !taken.moved {
                return taken;
            }
            from = *at;
        }
        taken
    }

    pub(crate) fn can_write(&self, entry: &Entry) -> bool {
        match &entry.what {
            What::Poison(_) => false,
            What::Hold { account, seats, .. } => {
                let for_sale = |seat: &u32| (*seat as usize) < self.seat_count && !self.unpriced.contains(seat);
                self.accounts.contains(account) && seats.iter().all(for_sale)
            }
            _ => true,
        }
    }

    /// Moves the position, if nobody else did and the epoch still stands.
    fn advance(&mut self, epoch: i64, from: LogPosition, to: LogPosition) -> bool {
        let Some((standing, position)) = self.position else { return false };
        let epoch_fits = standing == epoch && self.epoch == epoch;
        let fits = (epoch_fits || self.wrong == Some(Wrong::WriterUnfenced))
            && (position == from || matches!(self.wrong, Some(Wrong::WriterIgnoresPosition | Wrong::WriterUnfenced)));
        if fits {
            self.position = Some((standing, to));
        }
        fits
    }

    fn put_aside(
        &mut self,
        epoch: i64,
        from: LogPosition,
        at: LogPosition,
        entry: &Entry,
        holds: &mut Vec<OrderId>,
    ) -> bool {
        if !self.advance(epoch, from, at) {
            return false;
        }
        self.set_aside.insert((epoch, at));
        self.close_ended(&entry.ends.iter().copied().collect());
        if let What::Hold { id, .. } = &entry.what {
            holds.push(*id);
        }
        true
    }

    /// Closes the pending orders of ended holds and gives their claims up.
    fn close_ended(&mut self, ended: &BTreeSet<OrderId>) {
        for id in ended {
            let Some(order) = self.orders.get(id).filter(|order| order.status == OrderStatus::PendingPayment) else {
                continue;
            };
            let read = order.clone();
            if self.apply(*id, &read, OrderEvent::Cancel, None)
                && let Some(order) = self.orders.get_mut(id)
            {
                order.released = true;
            }
        }
    }

    /// A hold that ended within its own batch becomes an order that is closed from the start; what ended
    /// gives its claims up before anything new is claimed.
    fn commit(&mut self, epoch: i64, from: LogPosition, entries: &Batch) -> Taken {
        let Some((to, _)) = entries.last() else { return Taken { moved: true, ..Taken::default() } };
        if !self.advance(epoch, from, *to) {
            return Taken::default();
        }
        self.write(entries)
    }

    /// The rows of a batch, without the position.
    pub(crate) fn write(&mut self, entries: &Batch) -> Taken {
        let ended: BTreeSet<OrderId> = entries.iter().flat_map(|(_, entry)| entry.ends.iter().copied()).collect();
        self.close_ended(&ended);
        let mut made: Vec<(OrderId, Vec<u32>)> = Vec::new();
        for (index, (_, entry)) in entries.iter().enumerate() {
            if let What::Hold { id, account, seats, version, created, expires } = &entry.what {
                let over = entries[index + 1..].iter().any(|(_, later)| later.ends.contains(id));
                let order = Order {
                    account: *account,
                    status: if over { OrderStatus::Closed } else { OrderStatus::PendingPayment },
                    version: 0,
                    price_version: *version,
                    created: *created,
                    expires: *expires,
                    paid: false,
                    confirmed: false,
                    released: over,
                    items: seats.iter().copied().collect(),
                    returned: BTreeMap::new(),
                };
                let row = self.orders.entry(*id).or_insert(order);
                row.items.extend(seats);
                if row.status == OrderStatus::PendingPayment {
                    made.push((*id, seats.clone()));
                }
            }
        }
        let refused = self.claim(&made);
        self.visits_of(entries);
        Taken { moved: true, refused, set_aside: Vec::new() }
    }

    /// Claims the seats of new orders; those that don't get all of theirs are refused.
    fn claim(&mut self, made: &[(OrderId, Vec<u32>)]) -> Vec<OrderId> {
        let mut wanted: Vec<(u32, OrderId)> =
            made.iter().flat_map(|(id, seats)| seats.iter().map(|seat| (*seat, *id))).collect();
        // By seat; where two orders want one seat, the first of the log has it.
        wanted.sort_by_key(|(seat, _)| *seat);
        for (seat, id) in wanted {
            self.claims.entry(seat).or_insert(id);
        }
        let mut refused = Vec::new();
        for (id, seats) in made {
            let short = seats.iter().any(|seat| self.claims.get(seat) != Some(id));
            if let Some(order) = self.orders.get_mut(id).filter(|order| short && order.version == 0)
                && order.status == OrderStatus::PendingPayment
            {
                order.status = OrderStatus::Refused;
                order.version += 1;
                self.claims.retain(|_, owner| owner != id);
                refused.push(*id);
            }
        }
        refused
    }

    /// The last word of a batch about an account's visit counts.
    fn visits_of(&mut self, entries: &Batch) {
        let mut entered: BTreeMap<AccountId, Visit> = BTreeMap::new();
        let mut left: BTreeSet<AccountId> = BTreeSet::new();
        for (_, entry) in entries {
            match &entry.what {
                What::Enter { account, nonce, entered: since, expires } => {
                    let visit = Visit { nonce: *nonce, entered: *since, expires: *expires, left: false };
                    entered.insert(*account, visit);
                    left.remove(account);
                }
                What::Leave(account) | What::Sold(_, account) => {
                    left.insert(*account);
                }
                _ => {}
            }
        }
        self.visits.extend(entered);
        for account in left {
            if let Some(visit) = self.visits.get_mut(&account) {
                visit.left = true;
            }
        }
    }
}
