//! Steps that both sides take.

use super::read;
use super::setup::Real;
use crate::backend::Backend;
use crate::catalog::Sale;
use crate::postgres::attempts::{self, AttemptRow};
use crate::postgres::{catalog, orders};
use crate::redis::{AreaDraw, HoldCall, SeatMend, read_log};
use crate::simulation::model::hold::Ask;
use crate::simulation::model::house::{CountPair, SeatPair};
use crate::simulation::model::postgres::Rows;
use crate::simulation::model::reclaim::Again;
use crate::simulation::model::redis::{At, Hot, Record, Settings};
use crate::simulation::random::Random;
use crate::simulation::sale;
use domain::hold::SeatState;
use domain::live::LogPosition;
use domain::order::{AttemptStatus, OrderEvent, OrderFacts, OrderStatus, transition};
use domain::{AccountId, AttemptId, Millis, OrderId, SeatNo};
use std::sync::Arc;
use uuid::Uuid;

mod late;
mod model;
mod real;

/// What a payment adds at the least, as the real code has it.
const AFTER_FAILURE_MS: i64 = 60_000;

/// One step.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Enter(AccountId, u64, i64),
    Leave(AccountId),
    Hold(Ask),
    Release(OrderId, AccountId),
    Finish(OrderId),
    Confirm(OrderId),
    Unsell(OrderId),
    Pay(OrderId, AccountId, i32, (i64, i64)),
    Unpay(OrderId, i32, (i64, i64)),
    Sweep(usize),
    Block(Vec<u32>, bool),
    Allocate(Vec<u32>, bool),
    Written(LogPosition),
    Serve(i64, i64),
    Settings(Settings),
    Mend(u32, SeatPair, SeatPair, Option<Record>),
    MendCount(AccountId, CountPair, CountPair),
    MendHold(OrderId, Record, Record),
    Peek(u32, u32),
    Snapshot,
    Distrust,
    /// Redis is emptied.
    Empty,
    /// The state of Redis is kept, or the kept one is put back.
    Keep,
    Back,
    /// An entry that can't be understood.
    Poison(OrderId),
    /// The writer commits so many entries after a position; the written one, unless it is a stale writer.
    Take(LogPosition, usize),
    /// The state is built anew from an epoch.
    Rebuild(i64),
    /// The sweeper closes the order of a hold.
    Close(OrderId),
    /// An attempt is written, with its amount in minor units.
    Attempt(OrderId, AttemptId, i32, i64),
    /// An order takes an event.
    Apply(OrderId, OrderEvent, Option<i64>),
    Captured(AttemptId),
    /// Money comes after its order has closed: it has its seats again, or goes back.
    Late(AttemptId),
    /// The script by which late money takes seats, anew or only to go on.
    Reclaim(Again, bool),
    /// A try gives up what late money has taken, with its fence.
    GiveUp(OrderId, i64),
    /// The script by which seats go back to sale, and off it.
    ReturnSeats(OrderId, Vec<u32>, Vec<u32>),
    /// A paid order gives seats back in Postgres; whether they are sold again.
    GiveBack(OrderId, Vec<u32>, bool),
    /// Redis is told, perhaps again, of the seats that an order gave back.
    TellReturns(OrderId),
    Canceled(AttemptId),
    /// Redis is told, perhaps again, that a cancelled attempt is over.
    TakeBack(AttemptId),
    Owns(OrderId),
    Marked(OrderId),
    /// Time passes until a hold has run out.
    Wait,
}

impl Step {
    /// The scripts that it runs.
    pub(super) fn scripts(&self) -> Vec<&'static str> {
        match self {
            Self::Enter(..) => vec!["enter"],
            Self::Leave(..) => vec!["leave"],
            Self::Hold(..) => vec!["hold"],
            Self::Release(..) => vec!["release"],
            Self::Finish(..) => vec!["finish"],
            Self::Confirm(..) => vec!["confirm"],
            Self::Unsell(..) => vec!["unsell"],
            Self::Pay(..) => vec!["pay"],
            Self::Unpay(..) => vec!["unpay"],
            Self::Sweep(..) => vec!["sweep"],
            Self::Block(..) => vec!["block"],
            Self::Allocate(..) => vec!["allocate"],
            Self::Written(..) => vec!["written"],
            Self::Serve(..) => vec!["serve"],
            Self::Settings(..) => vec!["settings"],
            Self::Mend(..) => vec!["mend"],
            Self::MendCount(..) => vec!["mend_count"],
            Self::MendHold(..) => vec!["mend_hold"],
            Self::Peek(..) => vec!["peek"],
            Self::Snapshot => vec!["snapshot"],
            Self::Rebuild(..) => vec!["swap"],
            Self::Reclaim(..) => vec!["reclaim"],
            Self::GiveUp(..) => vec!["finish"],
            Self::ReturnSeats(..) => vec!["return_seats"],
            _ => Vec::new(),
        }
    }

    /// Whether late money takes seats, or seats are given back.
    fn is_back(&self) -> bool {
        matches!(
            self,
            Self::Late(..)
                | Self::Reclaim(..)
                | Self::GiveUp(..)
                | Self::ReturnSeats(..)
                | Self::GiveBack(..)
                | Self::TellReturns(..)
        )
    }

    /// Whether Postgres may change.
    pub(super) fn touches_rows(&self) -> bool {
        matches!(
            self,
            Self::Block(..)
                | Self::Allocate(..)
                | Self::Take(..)
                | Self::Rebuild(..)
                | Self::Close(..)
                | Self::Attempt(..)
                | Self::Apply(..)
                | Self::Captured(..)
                | Self::Late(..)
                | Self::GiveBack(..)
                | Self::TellReturns(..)
                | Self::Canceled(..)
                | Self::TakeBack(..)
                | Self::Marked(..)
        )
    }
}

/// One performance on both sides, as they agree.
pub(super) struct Both {
    pub(super) backend: Arc<Backend>,
    pub(super) sale: Arc<Sale>,
    pub(super) hot: Hot,
    pub(super) rows: Rows,
    asks: Vec<Ask>,
    kept: Option<(Vec<Option<Vec<u8>>>, Hot)>,
    /// The epoch of the next call: now and then an old one.
    epoch: i64,
    /// The instants of the later scripts of a step that asks several.
    pub(super) later: Option<(At, At)>,
}

impl Both {
    pub(super) async fn begin(real: &Real) -> Self {
        let id = real.performance().await;
        let sale = real.backend.reload_sale(id).await.unwrap();
        let row = &sale.row;
        let mut like = sale::rows();
        like.settings = Settings {
            version: row.settings_version,
            opens: row.opens.0,
            closes: row.closes.0,
            limit: row.seat_limit,
            ttl_ms: row.hold_ttl_ms,
            price_version: row.price_version,
            shoppers_max: row.shoppers_max as usize,
            paused: row.paused,
        };
        let rows = read::rows(&real.backend.pg, id, &like).await;
        let run = real.backend.seats.store_run(&sale.keys).await.unwrap();
        let hot = Hot { server: read::run_number(&run.run), ..Hot::default() };
        let backend = Arc::clone(&real.backend);
        Self { backend, sale, hot, rows, asks: Vec::new(), kept: None, epoch: 0, later: None }
    }

    /// The next calls know the epoch that there is.
    pub(super) fn know_epoch(&mut self) {
        self.epoch = self.rows.epoch;
    }

    fn account(&self, random: &mut Random) -> AccountId {
        // The last one is in no table: what it holds can't be written.
        sale::account(u128::from(if random.one_in(12) { 4 } else { random.below(4) }))
    }

    /// A hold that there is, or one that there isn't.
    fn some_hold(&self, random: &mut Random) -> OrderId {
        match self.asks.is_empty() || random.one_in(20) {
            true => OrderId(Uuid::from_u128(u128::from(random.next()))),
            false => random.pick(&self.asks).hold,
        }
    }

    /// A hold in use, where there is one.
    fn live_hold(&self, random: &mut Random) -> OrderId {
        let open = self.hot.state.holds.iter().filter(|(_, record)| read::is_open(record.state));
        let open: Vec<OrderId> = open.map(|(id, _)| *id).collect();
        if open.is_empty() || random.one_in(5) { self.some_hold(random) } else { *random.pick(&open) }
    }

    fn some_seats(random: &mut Random) -> Vec<u32> {
        let mut seats: Vec<u32> = (0..1 + random.below(3)).map(|_| u32::try_from(random.below(12)).unwrap()).collect();
        seats.sort_unstable();
        seats.dedup();
        seats
    }

    fn ask(&mut self, random: &mut Random) -> Ask {
        if !self.asks.is_empty() && random.one_in(6) {
            // The same again, or with another wish.
            let mut again = random.pick(&self.asks).clone();
            if random.one_in(3) {
                again.wish += 1;
                again.seats = Self::some_seats(random);
            }
            return again;
        }
        let account = self.account(random);
        let seats = if random.one_in(4) { Vec::new() } else { Self::some_seats(random) };
        let draw = AreaDraw {
            count: 1 + u32::try_from(random.below(3)).unwrap(),
            start: u32::try_from(random.below(9)).unwrap(),
            ranges: if random.one_in(30) { vec![(6, 14)] } else { sale::AREA.to_vec() },
        };
        let areas = if seats.is_empty() || random.one_in(4) { vec![draw] } else { Vec::new() };
        let ask = Ask {
            hold: OrderId(Uuid::from_u128(u128::from(random.next()) << 64 | Uuid::new_v4().as_u128() >> 64)),
            account,
            nonce: self.hot.state.entered.get(&account).copied().unwrap_or(7),
            wish: random.below(1 << 40),
            seats: if random.one_in(30) { vec![3, 12] } else { seats },
            areas,
            allocations: if random.one_in(3) { vec![sale::ALLOCATION] } else { Vec::new() },
            lag_max_ms: if random.one_in(15) { random.between(0, 5) } else { 600_000 },
        };
        self.asks.push(ask.clone());
        ask
    }

    /// The next step: mostly what fans do, and a little of everything.
    pub(super) fn next_step(&mut self, random: &mut Random, number: u64) -> Step {
        self.epoch = self.rows.epoch - i64::from(random.one_in(25));
        if number == 0 || (self.hot.epoch.is_none() && random.one_in(2)) {
            return Step::Rebuild(self.rows.epoch);
        }
        match random.below(100) {
            0..12 => Step::Enter(self.account(random), random.below(3), random.between(1, 2_000)),
            12..36 => Step::Hold(self.ask(random)),
            36..50 => self.take_step(random),
            50..75 => self.order_step(random),
            75..92 => self.hold_step(random),
            92..98 => self.house_step(random),
            98 => Step::Wait,
            _ => self.loss_step(random),
        }
    }

    fn take_step(&self, random: &mut Random) -> Step {
        let written = self.rows.position.map(|(_, position)| position).unwrap_or_default();
        let from = if random.one_in(15) { LogPosition { ms: 1, seq: 1 } } else { written };
        let mut most = 1 + usize::try_from(random.below(6)).unwrap();
        // At most one that can't be written: each ends its hold at an instant of its own.
        let bad = |most: usize| {
            let entries = Self::to_take(&self.hot, from, most);
            entries.iter().filter(|(_, entry)| !self.rows.can_write(entry)).count() > 1
        };
        while bad(most) {
            most -= 1;
        }
        Step::Take(from, most)
    }

    fn hold_step(&self, random: &mut Random) -> Step {
        let hold = self.live_hold(random);
        let account = self.hot.state.holds.get(&hold).map_or(sale::account(0), |record| record.account);
        match random.below(13) {
            0 => Step::Release(hold, if random.one_in(8) { sale::account(0) } else { account }),
            1 => Step::Finish(hold),
            2 => Step::Confirm(hold),
            3 => Step::Unsell(hold),
            4 | 5 => Step::Sweep(1 + usize::try_from(random.below(3)).unwrap()),
            6 => Step::Leave(account),
            7 => Step::Peek(0, 11),
            8 => self.reclaim_step(random),
            9 => {
                // By the try that asked last, or by the one before it.
                let taken = self.hot.state.holds.get(&hold).and_then(|record| record.reclaim);
                Step::GiveUp(hold, taken.map_or(1, |taken| taken.fence) - random.between(0, 1))
            }
            10 | 11 => self.return_step(random),
            _ => Step::Wait,
        }
    }

    fn order_step(&self, random: &mut Random) -> Step {
        let written: Vec<OrderId> = self.rows.orders.keys().copied().collect();
        let hold = if written.is_empty() { self.live_hold(random) } else { *random.pick(&written) };
        let attempt = self.rows.open_attempt(hold).map(|(id, _)| id);
        let number = i32::try_from(self.rows.attempts.values().filter(|one| one.order == hold).count()).unwrap();
        // Mostly the newest; now and then one before it, or one that is still to come.
        let told = if random.one_in(3) { number + i32::try_from(random.between(-1, 1)).unwrap() } else { number };
        let order = self.rows.orders.get(&hold);
        let account = order.map_or(sale::account(0), |order| order.account);
        let times = (random.between(20, 300), random.between(60, 2_000));
        let over =
            self.rows.attempts.iter().find(|(_, one)| one.order == hold && one.status == AttemptStatus::Canceled);
        if let Some((id, _)) = over.filter(|_| random.one_in(8)) {
            return Step::TakeBack(*id);
        }
        if let Some(step) = order.and_then(|order| self.late_step(random, hold, order.status, attempt)) {
            return step;
        }
        match (random.below(8), attempt, order) {
            (0, _, _) => Step::Close(hold),
            (1, _, _) => Step::Marked(hold),
            (2, _, _) => Step::Owns(hold),
            (3, None, _) | (_, None, None) => Step::Pay(hold, account, number + 1, times),
            (_, None, Some(row)) => {
                let amount = if random.one_in(6) { 100 } else { row.total() };
                Step::Attempt(hold, AttemptId(Uuid::new_v4()), number + 1, amount)
            }
            (3, Some(attempt), _) if order.is_none_or(|one| one.status != OrderStatus::Closed) => {
                Step::Captured(attempt)
            }
            (4, Some(attempt), _) => Step::Canceled(attempt),
            (5, Some(_), _) => Step::Unpay(hold, told, times),
            (6, Some(_), _) => Step::Pay(hold, account, told, times),
            (_, Some(_), _) => {
                let until = self.hot.state.holds.get(&hold).map(|record| record.expires);
                let event = *random.pick(&[OrderEvent::Pay, OrderEvent::Pay, OrderEvent::Cancel, OrderEvent::Issued]);
                Step::Apply(hold, event, until.filter(|_| event == OrderEvent::Pay))
            }
        }
    }

    fn house_step(&self, random: &mut Random) -> Step {
        let seat = u32::try_from(random.below(12)).unwrap();
        let found =
            (self.hot.state.seats.get(seat as usize).copied().unwrap_or(0), self.hot.state.owner.get(&seat).copied());
        match random.below(9) {
            0 => Step::Block(Self::some_seats(random), random.one_in(2)),
            1 | 2 => Step::Allocate(Self::some_seats(random), !random.one_in(3)),
            3 => Step::Written(self.hot.log.get(1).map(|(at, _)| *at).unwrap_or_default()),
            4 => Step::Serve(random.between(0, 3), random.between(0, 100)),
            5 => {
                let version = random.between(0, 3);
                let (limit, ttl_ms) = (u32::try_from(random.between(2, 6)).unwrap(), random.between(20, 200));
                Step::Settings(Settings { version, limit, ttl_ms, paused: random.one_in(4), ..self.rows.settings })
            }
            6 => {
                let hold = self.live_hold(random);
                let record = self.rows.record_of(hold, &[seat]);
                let record = record.filter(|record| !self.hot.state.held_by.contains_key(&record.account));
                let wanted = if random.one_in(2) { (0, None) } else { (1, Some(hold)) };
                Step::Mend(seat, if random.one_in(4) { (9, None) } else { found }, wanted, record)
            }
            7 => {
                let account = self.account(random);
                let found = self.hot.state.held_by.get(&account).copied();
                Step::MendCount(
                    account,
                    found.filter(|_| !random.one_in(4)),
                    found.map(|(count, open)| (count + 1, open)),
                )
            }
            _ => match self.hot.state.holds.iter().next() {
                Some((hold, found)) => {
                    let wanted = Record { expires: found.expires + 5, ..found.clone() };
                    Step::MendHold(*hold, if random.one_in(4) { wanted.clone() } else { found.clone() }, wanted)
                }
                None => Step::Snapshot,
            },
        }
    }

    fn loss_step(&self, random: &mut Random) -> Step {
        match random.below(8) {
            0 => Step::Empty,
            1 => Step::Distrust,
            2 | 3 => Step::Keep,
            4 if self.kept.is_some() => Step::Back,
            5 => Step::Poison(self.some_hold(random)),
            6 => Step::Rebuild(self.rows.epoch - 1),
            _ => Step::Snapshot,
        }
    }

    /// The step of the machine that an event makes, at an instant at which it may.
    fn transition(rows: &Rows, hold: OrderId, event: OrderEvent) -> Option<domain::order::Transition> {
        let order = rows.orders.get(&hold)?;
        let now = if event == OrderEvent::Expire { order.expires } else { order.expires - 1 };
        transition(OrderFacts { status: order.status, expires: Millis(order.expires) }, event, Millis(now)).ok()
    }
}
