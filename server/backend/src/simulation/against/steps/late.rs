//! Late money and seats that are given back: which of their steps come next, and those that ask several scripts.

use super::real::{list, numbers};
use super::{Again, At, Both, Hot, Random, Rows, Step, attempts, catalog, read, read_log, sale};
use crate::error::Error;
use crate::postgres::returns;
use crate::redis::{ReclaimAnswer, ReclaimCall, ShortAnswer};
use crate::simulation::model::postgres::{Order, is_sold};
use crate::simulation::model::redis::{TOMB_TTL_MS, What};
use crate::work::writer;
use domain::order::OrderStatus;
use domain::{AttemptId, Millis, OrderId};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long seats that late money took wait for Postgres, as the real code has it.
const LEASE_MS: i64 = 60_000;
/// How often the log is looked at while late money waits for it to be written.
const LOOK_EVERY: Duration = Duration::from_millis(1);

impl Both {
    /// Money of a closed order, once its log is written and its hold has ended: what comes before that are other
    /// steps, so that at most two scripts are asked in one.
    pub(super) fn late_step(
        &self,
        random: &mut Random,
        hold: OrderId,
        status: OrderStatus,
        attempt: Option<AttemptId>,
    ) -> Option<Step> {
        let attempt = attempt.filter(|_| status == OrderStatus::Closed && !random.one_in(4))?;
        let written = self.rows.position.map(|(_, position)| position).unwrap_or_default();
        if self.hot.log.iter().any(|(at, _)| *at > written) {
            return Some(self.take_step(random));
        }
        Some(match self.hot.state.holds.get(&hold) {
            Some(record) if record.is_reclaiming() => Step::Late(attempt),
            Some(record) if read::is_open(record.state) => Step::Finish(hold),
            _ => Step::Late(attempt),
        })
    }

    /// The script alone, mostly for an order that has closed.
    pub(super) fn reclaim_step(&self, random: &mut Random) -> Step {
        let closed: Vec<(OrderId, &Order)> = self
            .rows
            .orders
            .iter()
            .filter(|(_, order)| order.status == OrderStatus::Closed)
            .map(|(id, order)| (*id, order))
            .collect();
        let chosen = if closed.is_empty() { None } else { Some(*random.pick(&closed)) };
        let own = chosen.map(|(_, order)| order.items.iter().copied().collect::<Vec<u32>>());
        let mut seats = own.filter(|_| !random.one_in(5)).unwrap_or_else(|| Self::some_seats(random));
        if random.one_in(20) {
            seats.push(12);
        }
        let ask = Again {
            hold: chosen.map_or_else(|| self.some_hold(random), |(id, _)| id),
            account: chosen
                .filter(|_| !random.one_in(8))
                .map_or_else(|| self.account(random), |(_, order)| order.account),
            attempt: i32::try_from(random.between(1, 2)).unwrap(),
            seats,
            allocations: if random.one_in(3) { vec![sale::ALLOCATION] } else { Vec::new() },
            version: chosen.map_or(1, |(_, order)| order.price_version),
            created: chosen.map_or(1, |(_, order)| order.created),
            lease_ms: random.between(20, 200),
        };
        Step::Reclaim(ask, !random.one_in(4))
    }

    /// Seats of a paid order that go back in both stores, or the script alone.
    pub(super) fn return_step(&self, random: &mut Random) -> Step {
        let paid: Vec<(OrderId, &Order)> = self
            .rows
            .orders
            .iter()
            .filter(|(_, order)| is_sold(order.status))
            .map(|(id, order)| (*id, order))
            .collect();
        if !paid.is_empty() && !random.one_in(3) {
            let (id, order) = *random.pick(&paid);
            if random.one_in(2) {
                return Step::TellReturns(id);
            }
            let mut seats: Vec<u32> = order.items.iter().copied().filter(|_| random.one_in(2)).collect();
            seats.extend(Self::some_seats(random));
            seats.sort_unstable();
            seats.dedup();
            return Step::GiveBack(id, seats, !random.one_in(3));
        }
        let holds: Vec<OrderId> = self.hot.state.holds.keys().copied().collect();
        let hold = if holds.is_empty() { self.some_hold(random) } else { *random.pick(&holds) };
        let own = self.hot.state.holds.get(&hold).map(|record| record.seats.clone()).unwrap_or_default();
        let mut seats = if random.one_in(3) { own.clone() } else { Self::some_seats(random) };
        // What a correction gave to a hold and did not count is no seat of it.
        seats.retain(|seat| own.contains(seat) || self.hot.state.owner.get(seat) != Some(&hold));
        let (back, off) = seats.into_iter().partition(|_| random.one_in(2));
        Step::ReturnSeats(hold, back, off)
    }

    /// The instants at which late money asked its script once more and gave its seats up, by what that left in Redis;
    /// `log` numbers the last entry. None for all other steps.
    pub(in super::super) fn later_of(&self, step: &Step, real: &Hot, log: i64) -> Option<(At, At)> {
        let Step::Late(attempt) = step else { return None };
        let order = self.rows.attempts.get(attempt)?.order;
        let asked = real.state.holds.get(&order)?.expires - LEASE_MS;
        let gave_up = real.state.tombs.get(&order).map_or(asked, |at_ms| at_ms - TOMB_TTL_MS);
        Some((At { now: asked, log }, At { now: gave_up, log }))
    }

    /// What the model says that such a step answers and leaves.
    pub(super) fn back_by_the_model(&self, step: &Step, at: At, hot: &mut Hot, rows: &mut Rows) -> String {
        match step {
            Step::Reclaim(ask, anew) => format!("{:?}", hot.reclaim(at, self.epoch, ask, *anew)),
            Step::GiveUp(hold, fence) => format!("{:?}", hot.finish_by(at, self.epoch, *hold, Some(*fence))),
            Step::ReturnSeats(hold, back, off) => {
                format!("{:?}", hot.return_seats(at, self.epoch, *hold, back, off))
            }
            Step::Late(attempt) => self.model_late(at, hot, rows, *attempt),
            Step::GiveBack(hold, seats, sells_again) => {
                rows.take_seats(*hold, seats, *sells_again);
                "done".to_owned()
            }
            Step::TellReturns(hold) => {
                let (back, off) = rows.waiting(*hold);
                let told = hot.return_seats(at, rows.epoch, *hold, &back, &off) != ShortAnswer::Rebuilding;
                if told {
                    rows.set_told(*hold, &[back, off].concat());
                }
                told.to_string()
            }
            other => unreachable!("{other:?} is done elsewhere"),
        }
    }

    /// What such a step really answers.
    pub(super) async fn really_back(&self, step: &Step) -> String {
        let (seats, keys, epoch) = (&self.backend.seats, &self.sale.keys, self.epoch);
        match step {
            Step::Reclaim(ask, anew) => {
                let call = ReclaimCall {
                    hold: ask.hold,
                    account: ask.account,
                    attempt: ask.attempt,
                    seats: &list(&ask.seats),
                    allocations: &ask.allocations,
                    price_version: ask.version,
                    created: Millis(ask.created),
                    lease_ms: ask.lease_ms,
                };
                format!("{:?}", seats.reclaim(keys, epoch, &call, *anew).await.unwrap())
            }
            Step::GiveUp(hold, fence) => {
                format!("{:?}", seats.give_up(keys, epoch, *hold, *fence).await.unwrap())
            }
            Step::ReturnSeats(hold, back, off) => {
                format!("{:?}", seats.return_seats(keys, epoch, *hold, &list(back), &list(off)).await.unwrap())
            }
            Step::Late(attempt) => self.really_late(*attempt).await,
            Step::GiveBack(hold, seats, sells_again) => {
                self.really_give_back(*hold, seats, *sells_again).await;
                "done".to_owned()
            }
            Step::TellReturns(hold) => self.backend.return_seats(*hold, self.sale.id()).await.unwrap().to_string(),
            other => unreachable!("{other:?} is done elsewhere"),
        }
    }

    /// What an approved refund takes from an order, without its money.
    async fn really_give_back(&self, hold: OrderId, seats: &[u32], sells_again: bool) {
        let mut tx = self.backend.pg.begin().await.unwrap();
        let taken = returns::take(&mut tx, hold, &list(seats), None, Millis(1)).await.unwrap();
        if !sells_again {
            let taken: Vec<u32> = taken.iter().map(|seat| seat.0).collect();
            catalog::insert_blocked(&mut *tx, self.sale.id(), &numbers(&taken), "returned").await.unwrap();
        }
        tx.commit().await.unwrap();
    }

    fn model_late(&self, at: At, hot: &mut Hot, rows: &mut Rows, id: AttemptId) -> String {
        let Some(order) = rows.attempts.get(&id).and_then(|one| rows.orders.get(&one.order)).cloned() else {
            return "none".to_owned();
        };
        match self.model_reclaim(at, hot, rows, (id, &order)) {
            None => return "undecided".to_owned(),
            Some(true) => {}
            Some(false) => {
                rows.captured(id, &order);
            }
        }
        "done".to_owned()
    }

    /// Whether late money has its seats again; none where nobody can say so now.
    fn model_reclaim(&self, at: At, hot: &mut Hot, rows: &mut Rows, (id, order): (AttemptId, &Order)) -> Option<bool> {
        let (asked, gave_up) = self.later.unwrap_or((at, at));
        let epoch = rows.epoch;
        let Some(ask) = rows.chosen(id, Vec::new(), LEASE_MS) else { return Some(false) };
        let first = match hot.reclaim(at, epoch, &ask, true) {
            ReclaimAnswer::Took { fence, .. } => fence,
            ReclaimAnswer::Returned | ReclaimAnswer::Limit | ReclaimAnswer::Taken | ReclaimAnswer::NotForSale => {
                return Some(false);
            }
            ReclaimAnswer::Rebuilding | ReclaimAnswer::Gone | ReclaimAnswer::Standing | ReclaimAnswer::OtherAttempt => {
                return None;
            }
        };
        let written = rows.position.map(|(_, position)| position).unwrap_or_default();
        let entry = Self::to_take(hot, written, 1);
        if !entry.is_empty() {
            rows.take(epoch, written, &entry);
        }
        let mut last = first;
        if let ReclaimAnswer::Took { fence, .. } = hot.reclaim(asked, epoch, &ask, false) {
            if rows.reclaim(id, order) {
                return Some(true);
            }
            last = fence;
        }
        hot.finish_by(gave_up, epoch, ask.hold, Some(last));
        Some(false)
    }

    /// Takes late money in, while a writer writes the one entry by which it takes its seats.
    async fn really_late(&self, attempt: AttemptId) -> String {
        let row = attempts::one(&self.backend.pg, attempt).await.unwrap().unwrap();
        let is_over = AtomicBool::new(false);
        let settles = async {
            let done = self.backend.captured(&row).await;
            is_over.store(true, Ordering::Relaxed);
            done
        };
        let writes = async {
            while !is_over.load(Ordering::Relaxed) && !self.write_taking().await {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        match tokio::join!(settles, writes).0 {
            Ok(()) => "done".to_owned(),
            Err(Error::Refused(_)) => "undecided".to_owned(),
            Err(error) => panic!("late money: {error}"),
        }
    }

    /// Writes the first entry that is not written, if seats were taken by it; whether it did.
    async fn write_taking(&self) -> bool {
        let written = self.rows.position.map(|(_, position)| position).unwrap_or_default().to_string();
        let mut connection = self.backend.seats.connection();
        let mut entries = read_log(&mut connection, &self.sale.keys, &written, None).await.unwrap();
        entries.truncate(1);
        let is_taking = read::entries(&entries).iter().any(|(_, entry)| entry.what == What::Block);
        is_taking && writer::take(&self.backend, &self.sale, &written, &entries).await.unwrap()
    }
}
