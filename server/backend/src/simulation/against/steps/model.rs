//! A step by the model.

use super::{AFTER_FAILURE_MS, Both, Step};
use crate::redis::{PayAnswer, ShortAnswer};
use crate::simulation::model::postgres::{Attempt, Rows};
use crate::simulation::model::redis::{At, Entry, Hot, What};
use crate::simulation::sale::ALLOCATION;
use domain::AttemptId;
use domain::hold::SeatState;
use domain::live::LogPosition;
use domain::order::{AttemptStatus, OrderEvent, OrderStatus};

impl Both {
    /// What the model says that a step answers and leaves.
    pub(in super::super) fn by_the_model(&self, step: &Step, at: At, hot: &mut Hot, rows: &mut Rows) -> String {
        let epoch = self.epoch;
        match step {
            Step::Enter(account, nonce, visit) => format!("{:?}", hot.enter(at, epoch, *account, *nonce, *visit)),
            Step::Leave(account) => format!("{:?}", hot.leave(at, epoch, *account)),
            Step::Hold(ask) => format!("{:?}", hot.hold(at, epoch, ask)),
            Step::Release(hold, account) => format!("{:?}", hot.release(at, epoch, *hold, *account)),
            Step::Finish(hold) => format!("{:?}", hot.finish(at, epoch, *hold)),
            Step::Confirm(hold) => format!("{:?}", hot.confirm(at, epoch, *hold)),
            Step::Unsell(hold) => format!("{:?}", hot.unsell(at, epoch, *hold)),
            Step::Pay(hold, account, attempt, times) => {
                format!("{:?}", hot.pay(at, epoch, *hold, *account, *attempt, *times))
            }
            Step::Unpay(hold, attempt, times) => format!("{:?}", hot.unpay(at, epoch, *hold, *attempt, *times)),
            Step::Sweep(most) => format!("{:?}", hot.sweep(at, epoch, *most)),
            Step::Written(position) => format!("{:?}", hot.written(epoch, *position)),
            Step::Serve(term, places) => format!("{:?}", hot.serve(epoch, *term, *places)),
            Step::Settings(settings) => format!("{:?}", hot.settings(epoch, *settings) == ShortAnswer::Done),
            Step::Mend(seat, found, wanted, record) => {
                format!("{:?}", hot.mend(at, epoch, *seat, *found, *wanted, record.as_ref()))
            }
            Step::MendCount(account, found, wanted) => {
                format!("{:?}", hot.mend_count(epoch, *account, *found, *wanted))
            }
            Step::MendHold(hold, found, wanted) => format!("{:?}", hot.mend_hold(epoch, *hold, found, wanted)),
            Step::Peek(first, last) => Self::peek(hot, epoch, *first, *last),
            Step::Snapshot => {
                format!("{:?}", hot.is_complete(epoch).then(|| (hot.state.seats.clone(), hot.last())))
            }
            Step::Owns(hold) => rows.owns_all_seats(*hold).to_string(),
            other if other.is_back() => self.back_by_the_model(other, at, hot, rows),
            other => self.rarer(other, at, hot, rows),
        }
    }

    fn rarer(&self, step: &Step, at: At, hot: &mut Hot, rows: &mut Rows) -> String {
        match step {
            Step::Block(seats, off) => return self.model_block(at, hot, rows, seats, *off),
            Step::Allocate(seats, keep) => {
                let answer = hot.allocate(at, self.epoch, seats, ALLOCATION, *keep);
                if matches!(answer, ShortAnswer::Done | ShortAnswer::Again) {
                    for seat in seats {
                        if *keep {
                            rows.kept.insert(*seat, ALLOCATION)
                        } else {
                            rows.kept.remove(seat)
                        };
                    }
                }
                return format!("{answer:?}");
            }
            Step::Distrust => hot.distrust(),
            Step::Empty => *hot = Hot { server: hot.server, ..Hot::default() },
            Step::Back => hot.clone_from(self.kept.as_ref().map_or(&self.hot, |(_, kept)| kept)),
            Step::Poison(hold) => hot.append(at, What::Poison(*hold), Vec::new(), Vec::new()),
            Step::Take(from, most) => return self.model_take(at, hot, rows, *from, *most),
            Step::Rebuild(from) => {
                if let Some(epoch) = rows.raise_epoch(*from) {
                    rows.start_epoch(epoch);
                    hot.stage(epoch, rows.build(at.now, hot.server));
                    let written = hot.last();
                    hot.swap(at, epoch, rows.seat_count, written);
                }
            }
            Step::Close(hold) => {
                let Some(order) = rows.orders.get(hold).cloned() else { return "true".to_owned() };
                let over = matches!(order.status, OrderStatus::Closed | OrderStatus::Refused | OrderStatus::Refunded);
                return match order.status {
                    OrderStatus::PendingPayment => rows.apply(*hold, &order, OrderEvent::Expire, None).to_string(),
                    _ => over.to_string(),
                };
            }
            Step::Attempt(hold, id, number, amount) => {
                let (status, amount) = (AttemptStatus::Created, *amount);
                let new = Attempt {
                    order: *hold,
                    number: *number,
                    status,
                    known_there: false,
                    taken_back: false,
                    deadline: 5,
                    amount,
                };
                return rows.insert_attempt(*id, new).to_string();
            }
            Step::Apply(hold, event, expires) => {
                let Some(order) = rows.orders.get(hold).cloned() else { return "none".to_owned() };
                if Self::transition(rows, *hold, *event).is_none() {
                    return "none".to_owned();
                }
                return rows.apply(*hold, &order, *event, *expires).to_string();
            }
            Step::Captured(attempt) => {
                let order = rows.attempts.get(attempt).and_then(|one| rows.orders.get(&one.order)).cloned();
                if let Some(order) = order {
                    rows.captured(*attempt, &order);
                }
            }
            Step::Canceled(attempt) => return self.model_canceled(at, hot, rows, *attempt),
            Step::TakeBack(id) => {
                let Some(attempt) = rows.attempts.get(id).cloned() else { return "none".to_owned() };
                return self.model_take_back(at, hot, rows, *id, &attempt).to_string();
            }
            Step::Marked(hold) => {
                if let Some(order) = rows.orders.get_mut(hold) {
                    order.confirmed = true;
                    order.released |= !order.status.owns_seats();
                }
            }
            _ => {}
        }
        "done".to_owned()
    }

    fn model_block(&self, at: At, hot: &mut Hot, rows: &mut Rows, seats: &[u32], off: bool) -> String {
        let (available, blocked) = (SeatState::Available, SeatState::Blocked);
        let (from, to) = if off { (available, blocked) } else { (blocked, available) };
        let answer = hot.block(at, self.epoch, seats, from, to);
        if matches!(answer, ShortAnswer::Done | ShortAnswer::Again) {
            for seat in seats {
                if off {
                    rows.blocked.insert(*seat)
                } else {
                    rows.blocked.remove(seat)
                };
            }
        }
        format!("{answer:?}")
    }

    fn peek(hot: &mut Hot, epoch: i64, first: u32, last: u32) -> String {
        if !hot.is_complete(epoch) {
            return "None".to_owned();
        }
        let state = &hot.state;
        let owner: Vec<_> = state.owner.range(first..=last).collect();
        let mut holds: Vec<_> =
            owner.iter().map(|(_, id)| (**id, state.holds.contains_key(*id), state.expiry.get(*id))).collect();
        holds.sort_unstable();
        holds.dedup();
        format!("{:?} {:?} {owner:?} {holds:?}", hot.last(), &state.seats[first as usize..=last as usize])
    }

    /// The entries that a step takes: those after a position, as they stand now.
    pub(super) fn to_take(hot: &Hot, from: LogPosition, most: usize) -> Vec<(LogPosition, Entry)> {
        hot.log.iter().filter(|(at, _)| *at > from).take(most).cloned().collect()
    }

    fn model_take(&self, at: At, hot: &mut Hot, rows: &mut Rows, from: LogPosition, most: usize) -> String {
        let entries = Self::to_take(hot, from, most);
        let epoch = self.sale.row.epoch;
        let taken = rows.take(epoch, from, &entries);
        if !taken.refused.is_empty() {
            hot.distrust();
        }
        for hold in &taken.set_aside {
            hot.finish(at, epoch, *hold);
        }
        taken.moved.to_string()
    }

    fn model_canceled(&self, at: At, hot: &mut Hot, rows: &mut Rows, id: AttemptId) -> String {
        let Some(attempt) = rows.attempts.get(&id).cloned() else { return "none".to_owned() };
        let Some(order) = rows.orders.get(&attempt.order).cloned() else { return "none".to_owned() };
        let next = match order.status {
            OrderStatus::PaymentProcessing if at.now >= order.expires => Some(OrderEvent::ProviderCancelled),
            OrderStatus::PaymentProcessing => Some(OrderEvent::AttemptFailed),
            _ => None,
        };
        if rows.canceled(id, &order, next) == Some(true) {
            self.model_take_back(at, hot, rows, id, &attempt);
        }
        "done".to_owned()
    }

    fn model_take_back(&self, at: At, hot: &mut Hot, rows: &mut Rows, id: AttemptId, attempt: &Attempt) -> bool {
        let Some(order) = rows.orders.get(&attempt.order).cloned() else { return false };
        if order.status == OrderStatus::PendingPayment {
            let times = (AFTER_FAILURE_MS, self.backend.hold_cap(&self.sale));
            match hot.unpay(at, self.sale.row.epoch, attempt.order, attempt.number, times) {
                PayAnswer::Until(until) => rows.set_expires(attempt.order, &order, until.0),
                PayAnswer::Rebuilding => return false,
                PayAnswer::Gone => {
                    rows.apply(attempt.order, &order, OrderEvent::Expire, None);
                }
                PayAnswer::Sold | PayAnswer::OtherAttempt => {}
            }
        }
        rows.set_taken_back(id);
        true
    }
}
