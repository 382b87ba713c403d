//! Seats that are given back: their refund, their claims, and `return_seats.lua`. Money goes back by its refund.

use super::Wrong;
use super::postgres::{Refund, RefundStatus, Rows, is_sold, price_of};
use super::redis::{At, Hot, What, no};
use crate::redis::ShortAnswer;
use domain::hold::{HoldState, SeatState};
use domain::order::{AttemptStatus, OrderEvent};
use domain::{AttemptId, OrderId};
use std::collections::BTreeSet;

impl Hot {
    /// Notes that all seats of a hold are given back: late money has them no more.
    pub(super) fn set_returned(&mut self, id: OrderId) {
        if let Some(record) = self.state.holds.get_mut(&id) {
            record.returned = true;
        }
    }

    /// `return_seats.lua`: takes seats out of a hold, back to sale and off it.
    pub(crate) fn return_seats(&mut self, at: At, epoch: i64, id: OrderId, back: &[u32], off: &[u32]) -> ShortAnswer {
        if !self.is_complete(epoch) {
            return ShortAnswer::Rebuilding;
        }
        let Some(mut record) = self.state.holds.get(&id).cloned() else { return no("missing", &[]) };
        if record.state == HoldState::Closed {
            return ShortAnswer::Again;
        }
        let (mut gone, mut delta) = (BTreeSet::new(), Vec::new());
        for (list, state) in [(back, SeatState::Available), (off, SeatState::Blocked)] {
            for seat in list {
                let owner = self.state.owner.get(seat);
                if owner == Some(&id) || (owner.is_some() && self.wrong == Some(Wrong::ReturnOfAnothers)) {
                    self.state.set_state(*seat, state, &mut delta);
                    self.state.owner.remove(seat);
                    gone.insert(*seat);
                }
            }
        }
        if gone.is_empty() {
            return ShortAnswer::Again;
        }
        if record.seats.iter().all(|seat| gone.contains(seat)) {
            self.set_returned(id);
            self.end_hold(id, at.now, &mut delta);
            self.append(at, What::End(id), vec![id], delta);
            return ShortAnswer::Done;
        }
        let (count, open) = self.state.count_of(record.account);
        self.state.set_count(record.account, count.saturating_sub(gone.len()), open);
        record.seats.retain(|seat| !gone.contains(seat));
        self.state.holds.insert(id, record);
        self.append(at, What::Block, Vec::new(), delta);
        ShortAnswer::Done
    }
}

impl Rows {
    /// Whether the money of an attempt is no sale: it came late and did not have its seats again.
    fn is_late(&self, id: AttemptId) -> bool {
        self.ledger.contains_key(&(format!("capture:{id}"), "order_receivable"))
            && !self.ledger.contains_key(&(format!("reclaim:{id}"), "order_receivable"))
    }

    /// The attempt that an order was sold with.
    fn sold_with(&self, order: OrderId) -> Option<AttemptId> {
        let has_money = |status| matches!(status, AttemptStatus::Captured | AttemptStatus::Refunded);
        let own = self.attempts.iter().filter(|(_, one)| one.order == order && has_money(one.status));
        own.filter(|(id, _)| !self.is_late(**id)).min_by_key(|(_, one)| one.number).map(|(id, _)| *id)
    }

    /// The transaction in which a paid order gives seats back: each once, with what was paid for it. Where they are
    /// not sold again, they go off sale.
    pub(crate) fn give_back(&mut self, id: OrderId, seats: &[u32], sells_again: bool) {
        let Some(attempt) = self.sold_with(id) else { return };
        let twice = self.wrong == Some(Wrong::ReturnTwice);
        let Some(order) = self.orders.get(&id).filter(|order| is_sold(order.status)) else { return };
        let may = |seat: &u32| order.items.contains(seat) && (twice || !order.returned.contains_key(seat));
        let back: Vec<u32> = seats.iter().copied().filter(may).collect();
        if back.is_empty() {
            return;
        }
        self.refunds.push(Refund { attempt, status: RefundStatus::Open, amount: price_of(back.len()) });
        self.take_seats(id, &back, sells_again);
    }

    /// Takes seats from an order with their claims; Redis is told by a job.
    pub(crate) fn take_seats(&mut self, id: OrderId, seats: &[u32], sells_again: bool) {
        let keeps = self.wrong == Some(Wrong::ReturnKeepsClaims);
        let Some(order) = self.orders.get_mut(&id) else { return };
        for seat in seats {
            if !order.items.contains(seat) || order.returned.contains_key(seat) {
                continue;
            }
            order.returned.insert(*seat, false);
            if !keeps && self.claims.get(seat) == Some(&id) {
                self.claims.remove(seat);
            }
            if !sells_again {
                self.blocked.insert(*seat);
            }
        }
    }

    /// Orders with seats of which Redis does not know yet that they were given back.
    pub(crate) fn returns_due(&self) -> Vec<OrderId> {
        let due = self.orders.iter().filter(|(_, order)| order.returned.values().any(|told| !told));
        due.map(|(id, _)| *id).collect()
    }

    /// The seats of an order of which Redis does not know yet: those that go back to sale, and those that go off it.
    pub(crate) fn waiting(&self, id: OrderId) -> (Vec<u32>, Vec<u32>) {
        let returned = self.orders.get(&id).into_iter().flat_map(|order| &order.returned);
        let waiting = returned.filter(|(_, told)| !**told).map(|(seat, _)| *seat);
        waiting.partition(|seat| !self.blocked.contains(seat) && !self.unpriced.contains(seat))
    }

    /// Notes that Redis knows.
    pub(crate) fn set_told(&mut self, id: OrderId, seats: &[u32]) {
        let Some(order) = self.orders.get_mut(&id) else { return };
        for seat in seats {
            if let Some(told) = order.returned.get_mut(seat) {
                *told = true;
            }
        }
    }

    /// Whether an order owns any seat.
    pub(crate) fn owns_any(&self, id: OrderId) -> bool {
        self.claims.values().any(|owner| *owner == id)
    }

    /// Reserves a refund of all that is left of an attempt, if anything is.
    pub(crate) fn reserve_refund(&mut self, id: AttemptId) {
        let live = self.refunds.iter().filter(|one| one.attempt == id && one.status != RefundStatus::Failed);
        let gone: i64 = live.map(|one| one.amount).sum();
        let amount = self.attempts.get(&id).map_or(0, |attempt| attempt.amount) - gone;
        if amount > 0 {
            self.refunds.push(Refund { attempt: id, status: RefundStatus::Open, amount });
        }
    }

    /// The transaction that ends a refund; a failed one is followed by another.
    pub(crate) fn finish_refund(&mut self, index: usize, succeeded: bool) {
        let Some(refund) = self.refunds.get(index).filter(|one| one.status == RefundStatus::Open).cloned() else {
            return;
        };
        if !succeeded {
            self.refunds[index].status = RefundStatus::Failed;
            self.refunds.push(refund);
            return;
        }
        self.refunds[index].status = RefundStatus::Succeeded;
        let id = refund.attempt;
        let from = if self.is_late(id) { "order_receivable" } else { "organizer_payable" };
        self.post(format!("refund:{index}"), from, "provider_clearing", refund.amount);
        let done = self.refunds.iter().filter(|one| one.attempt == id && one.status == RefundStatus::Succeeded);
        let back: i64 = done.map(|one| one.amount).sum();
        let Some(attempt) = self.attempts.get_mut(&id) else { return };
        if attempt.status == AttemptStatus::Captured && attempt.amount <= back {
            attempt.status = AttemptStatus::Refunded;
        }
        let order = attempt.order;
        self.close_if_all_is_back(order);
    }

    /// Ends an order once all of its seats were given back and none of its money is on its way.
    fn close_if_all_is_back(&mut self, id: OrderId) {
        let Some(read) = self.orders.get(&id).filter(|order| is_sold(order.status)).cloned() else { return };
        let of_order = |one: &AttemptId| self.attempts.get(one).is_some_and(|attempt| attempt.order == id);
        let on_its_way = |one: &Refund| one.status == RefundStatus::Open && of_order(&one.attempt);
        if read.kept().next().is_none() && !self.refunds.iter().any(on_its_way) {
            self.apply(id, &read, OrderEvent::AllRefunded, None);
        }
    }
}
