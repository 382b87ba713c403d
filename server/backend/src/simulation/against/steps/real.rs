//! A step on the real stores, through the real functions.

use super::{
    AttemptRow, Both, HoldCall, OrderEvent, Rows, SeatMend, SeatNo, SeatState, Step, attempts, catalog, orders, read,
    read_log,
};
use crate::redis::QueueStart;
use crate::simulation::sale::ALLOCATION;
use crate::work::{guardian, sweeper, writer};
use domain::live::LogPosition;
use domain::order::AttemptStatus;
use domain::queue::Mode;
use domain::{AttemptId, Millis, OrderId};
use std::time::Duration;

/// Ends that are further away are not waited for.
const WAIT_MAX_MS: i64 = 300;

pub(super) fn list(seats: &[u32]) -> Vec<SeatNo> {
    seats.iter().copied().map(SeatNo).collect()
}

pub(super) fn numbers(seats: &[u32]) -> Vec<i32> {
    seats.iter().filter_map(|seat| i32::try_from(*seat).ok()).collect()
}

fn count_text(pair: Option<(usize, Option<OrderId>)>) -> String {
    pair.map(|(count, open)| format!("{count}:{}", open.map(|id| id.simple()).unwrap_or_default())).unwrap_or_default()
}

impl Both {
    /// What a step really answers.
    pub(in super::super) async fn really(&mut self, step: &Step) -> String {
        let (seats, keys, epoch) = (&self.backend.seats, &self.sale.keys, self.epoch);
        match step {
            Step::Enter(account, nonce, visit) => {
                format!("{:?}", seats.enter(keys, epoch, *account, &nonce.to_string(), *visit).await.unwrap())
            }
            Step::Leave(account) => format!("{:?}", seats.leave(keys, epoch, *account).await.unwrap()),
            Step::Hold(ask) => {
                let call = HoldCall {
                    hold: ask.hold,
                    account: ask.account,
                    nonce: &ask.nonce.to_string(),
                    wish: &ask.wish.to_string(),
                    seats: &list(&ask.seats),
                    areas: &ask.areas,
                    allocations: &ask.allocations,
                    lag_max_ms: ask.lag_max_ms,
                };
                format!("{:?}", seats.hold(keys, epoch, &call).await.unwrap())
            }
            Step::Release(hold, account) => {
                format!("{:?}", seats.release(keys, epoch, *hold, *account).await.unwrap())
            }
            Step::Finish(hold) => format!("{:?}", seats.finish(keys, epoch, *hold).await.unwrap()),
            Step::Confirm(hold) => format!("{:?}", seats.confirm(keys, epoch, *hold).await.unwrap()),
            Step::Unsell(hold) => format!("{:?}", seats.unsell(keys, epoch, *hold).await.unwrap()),
            Step::Pay(hold, account, attempt, times) => {
                format!("{:?}", seats.pay(keys, epoch, *hold, *account, *attempt, *times).await.unwrap())
            }
            Step::Unpay(hold, attempt, times) => {
                format!("{:?}", seats.unpay(keys, epoch, *hold, *attempt, *times).await.unwrap())
            }
            Step::Sweep(most) => format!("{:?}", seats.sweep(keys, epoch, *most).await.unwrap()),
            Step::Written(position) => {
                format!("{:?}", seats.written(keys, epoch, &position.to_string()).await.unwrap())
            }
            Step::Serve(term, places) => {
                format!("{:?}", seats.serve(keys, epoch, *term, *places, (0, "", None)).await.unwrap())
            }
            Step::Snapshot => {
                let read = seats.snapshot(keys, epoch).await.unwrap();
                format!("{:?}", read.map(|read| (read.bytes, read.at)))
            }
            Step::Owns(hold) => orders::owns_all_seats(&self.backend.pg, *hold).await.unwrap().to_string(),
            Step::Peek(first, last) => self.peeked(*first, *last).await,
            Step::Mend(..) | Step::MendCount(..) | Step::MendHold(..) | Step::Settings(..) => {
                self.corrected(step).await
            }
            other if other.is_back() => self.really_back(other).await,
            other => self.rarely(other).await,
        }
    }

    async fn peeked(&self, first: u32, last: u32) -> String {
        let Some(read) = self.backend.seats.peek(&self.sale.keys, self.epoch, first, last).await.unwrap() else {
            return "None".to_owned();
        };
        let mut owner: Vec<_> = read.owner.iter().collect();
        owner.sort_unstable();
        let expiry = |text: &String| text.parse::<i64>().unwrap();
        let ends: Vec<Option<i64>> = read.holds.values().map(|hold| hold.expiry.as_ref().map(expiry)).collect();
        let mut holds: Vec<_> = read
            .holds
            .iter()
            .zip(&ends)
            .map(|((id, hold), ends)| (*id, hold.record.is_some(), ends.as_ref()))
            .collect();
        holds.sort_unstable();
        format!("{:?} {:?} {owner:?} {holds:?}", read.at, read.bytes)
    }

    async fn corrected(&self, step: &Step) -> String {
        let (seats, keys, epoch) = (&self.backend.seats, &self.sale.keys, self.epoch);
        match step {
            Step::Mend(seat, found, wanted, record) => {
                let record = record.as_ref().map(read::raw).unwrap_or_default();
                let mend = SeatMend { seat: SeatNo(*seat), found: *found, wanted: *wanted, record: &record };
                seats.mend(keys, epoch, &mend).await.unwrap().to_string()
            }
            Step::MendCount(account, found, wanted) => {
                let pair = (count_text(*found), count_text(*wanted));
                seats.mend_count(keys, epoch, *account, (&pair.0, &pair.1)).await.unwrap().to_string()
            }
            Step::MendHold(hold, found, wanted) => {
                // As the reconciler does: the record as it was found, in its own words.
                let id = hold.simple();
                let mut connection = seats.connection();
                let is: String =
                    redis::cmd("HGET").arg(keys.holds()).arg(id).query_async(&mut connection).await.unwrap();
                let found = if read::record(&is) == *found { is } else { read::raw(found) };
                seats.mend_hold(keys, epoch, *hold, (&found, &read::raw(wanted))).await.unwrap().to_string()
            }
            Step::Settings(settings) => {
                let fields = [
                    ("opens", settings.opens.to_string()),
                    ("closes", settings.closes.to_string()),
                    ("limit", settings.limit.to_string()),
                    ("ttl", settings.ttl_ms.to_string()),
                    ("version", settings.price_version.to_string()),
                    ("max", settings.shoppers_max.to_string()),
                    ("paused", u8::from(settings.paused).to_string()),
                ];
                let queue = keys.queue()[1].clone();
                let () = redis::cmd("DEL").arg(queue).query_async(&mut seats.connection()).await.unwrap();
                let (opens, closes) = (Millis(settings.opens), Millis(settings.closes));
                let start = QueueStart {
                    registers: Millis(0),
                    opens,
                    closes,
                    mode: Mode::Queue,
                    next: 0,
                    lobby: None,
                    holes: false,
                };
                seats.queue_init(keys, &start).await.unwrap();
                let times = (Millis(0), opens, closes);
                seats.put_settings(keys, epoch, settings.version, &fields, times).await.unwrap().to_string()
            }
            _ => unreachable!("only corrections come here"),
        }
    }

    async fn rarely(&mut self, step: &Step) -> String {
        let (backend, sale, id) = (self.backend.clone(), self.sale.clone(), self.sale.id());
        let (seats, keys) = (&backend.seats, &sale.keys);
        match step {
            Step::Block(list, off) => return self.really_block(list, *off).await,
            Step::Allocate(list, keep) => return self.really_allocate(list, *keep).await,
            Step::Distrust => seats.distrust(keys).await.unwrap(),
            Step::Empty => {
                let () = redis::cmd("DEL").arg(keys.all()).query_async(&mut seats.connection()).await.unwrap();
            }
            Step::Keep => self.keep().await,
            Step::Back => self.back().await,
            Step::Poison(hold) => {
                let mut call = redis::cmd("XADD");
                call.arg(keys.log()).arg("*").arg("t").arg("surprise").arg("h").arg(hold.simple());
                call.arg("e").arg("").arg("d").arg("");
                let _: String = call.query_async(&mut seats.connection()).await.unwrap();
            }
            Step::Take(from, most) => return self.really_take(*from, *most).await,
            Step::Rebuild(from) => {
                let run = seats.store_run(keys).await.unwrap();
                let written = self.hot.last().to_string();
                guardian::rebuild(&backend, id, (*from, &written), &run).await.unwrap();
                self.sale = backend.reload_sale(id).await.unwrap();
            }
            Step::Close(hold) => return sweeper::close_order(&backend, *hold).await.unwrap().to_string(),
            Step::Attempt(hold, attempt, number, amount) => {
                let row = Self::attempt_row(*hold, *attempt, *number, *amount);
                let done = attempts::insert(&backend.pg, &row, Millis(i64::MAX), Millis(1)).await;
                return done.unwrap_or(false).to_string();
            }
            Step::Apply(hold, event, expires) => return self.really_apply(*hold, *event, *expires).await,
            Step::Captured(attempt) => {
                let row = attempts::one(&backend.pg, *attempt).await.unwrap().unwrap();
                backend.captured(&row).await.unwrap();
            }
            Step::Canceled(attempt) => {
                let row = attempts::one(&backend.pg, *attempt).await.unwrap().unwrap();
                let order = orders::one(&backend.pg, row.order).await.unwrap().unwrap();
                return if backend.attempt_canceled(&order, &row).await.is_ok() { "done" } else { "refused" }
                    .to_owned();
            }
            Step::TakeBack(attempt) => {
                let row = attempts::one(&backend.pg, *attempt).await.unwrap().unwrap();
                return backend.take_back(&row).await.unwrap().to_string();
            }
            Step::Marked(hold) => {
                orders::set_confirmed(&backend.pg, &[hold.0], Millis(1)).await.unwrap();
                orders::set_released(&backend.pg, &[hold.0], Millis(1)).await.unwrap();
            }
            Step::Wait => self.wait().await,
            other => unreachable!("{other:?} is done elsewhere"),
        }
        "done".to_owned()
    }

    /// Until the first hold has run out, by Redis's clock.
    async fn wait(&self) {
        let Some(ends) = self.hot.state.expiry.values().min().copied() else { return };
        loop {
            let now = self.backend.seats.time(&self.sale.keys).await.unwrap().0;
            if now > ends || ends - now > WAIT_MAX_MS {
                return;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    fn attempt_row(order: OrderId, id: AttemptId, number: i32, amount_minor: i64) -> AttemptRow {
        AttemptRow {
            id,
            order,
            number,
            status: AttemptStatus::Created,
            provider: "test".to_owned(),
            provider_ref: None,
            pay_url: None,
            amount_minor,
            currency: "EUR".parse().unwrap(),
            last_error: None,
            deadline: Millis(5),
            queries: 0,
        }
    }

    async fn really_block(&self, seats: &[u32], off: bool) -> String {
        let (available, blocked) = (SeatState::Available, SeatState::Blocked);
        let (from, to) = if off { (available, blocked) } else { (blocked, available) };
        let answer = self.backend.seats.block(&self.sale.keys, self.epoch, &list(seats), from, to).await.unwrap();
        if matches!(answer, crate::redis::ShortAnswer::Done | crate::redis::ShortAnswer::Again) {
            let (pg, id) = (&self.backend.pg, self.sale.id());
            if off {
                catalog::insert_blocked(pg, id, &numbers(seats), "test").await.unwrap();
            } else {
                catalog::delete_blocked(pg, id, &numbers(seats)).await.unwrap();
            }
        }
        format!("{answer:?}")
    }

    async fn really_allocate(&self, seats: &[u32], keep: bool) -> String {
        let (backend, id) = (&self.backend, self.sale.id());
        let answer = backend.seats.allocate(&self.sale.keys, self.epoch, &list(seats), ALLOCATION, keep).await.unwrap();
        if matches!(answer, crate::redis::ShortAnswer::Done | crate::redis::ShortAnswer::Again) {
            let sql = if keep {
                "insert into allocation_seats (performance_id, seat_no, allocation_id)
                 select $1, seat, $1 from unnest($2::integer[]) as s (seat) on conflict do nothing"
            } else {
                "delete from allocation_seats where performance_id = $1 and seat_no = any($2)"
            };
            sqlx::query(sql).bind(id.0).bind(numbers(seats)).execute(&backend.pg).await.unwrap();
        }
        format!("{answer:?}")
    }

    async fn really_take(&self, from: LogPosition, most: usize) -> String {
        let mut connection = self.backend.seats.connection();
        let mut entries = read_log(&mut connection, &self.sale.keys, &from.to_string(), None).await.unwrap();
        entries.truncate(most);
        assert_eq!(read::entries(&entries), Self::to_take(&self.hot, from, most), "the log is the same");
        writer::take(&self.backend, &self.sale, &from.to_string(), &entries).await.unwrap().to_string()
    }

    async fn really_apply(&self, hold: OrderId, event: OrderEvent, expires: Option<i64>) -> String {
        let rows: &Rows = &self.rows;
        let Some(step) = Self::transition(rows, hold, event) else { return "none".to_owned() };
        let row = orders::one(&self.backend.pg, hold).await.unwrap().unwrap();
        let mut tx = self.backend.pg.begin().await.unwrap();
        let done = orders::apply(&mut tx, &row, step, event, expires.map(Millis), Millis(1)).await.unwrap();
        tx.commit().await.unwrap();
        done.to_string()
    }

    async fn keep(&mut self) {
        let mut connection = self.backend.seats.connection();
        let mut dumps = Vec::new();
        for key in self.sale.keys.all() {
            dumps.push(redis::cmd("DUMP").arg(key).query_async(&mut connection).await.unwrap());
        }
        self.kept = Some((dumps, self.hot.clone()));
    }

    async fn back(&mut self) {
        let Some((dumps, _)) = &self.kept else { return };
        let mut connection = self.backend.seats.connection();
        let () = redis::cmd("DEL").arg(self.sale.keys.all()).query_async(&mut connection).await.unwrap();
        for (key, dump) in self.sale.keys.all().iter().zip(dumps) {
            if let Some(dump) = dump {
                let mut restore = redis::cmd("RESTORE");
                restore.arg(key).arg(0).arg(dump.as_slice());
                let () = restore.query_async(&mut connection).await.unwrap();
            }
        }
    }
}
