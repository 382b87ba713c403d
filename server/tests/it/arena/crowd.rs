//! A seeded crowd: fans who hold, give back, cancel, let run out, pay, are declined or walk away, all
//! through HTTP, and who write down what they were told. What they do follows from the seed alone;
//! how their steps interleave is the machine's.

use super::journal::{Journal, Told};
use super::provider::{DECLINED_CARD, GOOD_CARD};
use super::shop::{Shop, hold_form, now_us, written};
use super::{Arena, Fan, Reply};
use domain::Code;
use domain::hold::{Held, hold_id};
use domain::order::{OrderStatus, OrderView, PayStarted};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Pause before a request is repeated.
const AGAIN: Duration = Duration::from_millis(40);
/// How long a fan waits for any one thing: beyond every recovery that is tested.
const PATIENCE: Duration = Duration::from_secs(60);

/// What fans may meet without the test having failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weather {
    /// Every request is answered, none with a 5xx.
    Fair,
    /// 503 with Retry-After, while a store is being disturbed.
    Rough,
    /// Connections break as well: processes end.
    Stormy,
}

/// What a crowd does.
#[derive(Clone, Debug)]
pub(crate) struct Habits {
    pub(crate) seed: u64,
    /// The seats that are wanted.
    pub(crate) seats: Vec<u32>,
    /// Seats in one hold.
    pub(crate) at_once: std::ops::RangeInclusive<usize>,
    /// Fans who may buy, once each; the others only try.
    pub(crate) buyers: usize,
    /// Of a thousand holds of a buyer: how many are paid.
    pub(crate) paid: u32,
    /// Of a thousand holds: how many meet a card that is declined, then are cancelled.
    pub(crate) declined: u32,
    /// How many are left behind on the provider's page.
    pub(crate) walked_away: u32,
    /// How many are cancelled as orders.
    pub(crate) cancelled: u32,
    /// How many run out. The rest is given back.
    pub(crate) run_out: u32,
    /// Longest pause between two wishes, in milliseconds.
    pub(crate) pause_ms: u64,
    pub(crate) weather: Weather,
}

impl Habits {
    /// A lively crowd that wants seats from 0.
    pub(crate) fn lively(seed: u64, seats: u32, weather: Weather) -> Self {
        Self {
            seed,
            seats: (0..seats).collect(),
            at_once: 1..=4,
            buyers: 4,
            paid: 60,
            declined: 15,
            walked_away: 15,
            cancelled: 80,
            run_out: 30,
            pause_ms: 60,
            weather,
        }
    }
}

/// What is done with a hold.
#[derive(Clone, Copy, Debug)]
enum Act {
    Buy,
    Decline,
    WalkAway,
    Cancel,
    RunOut,
    GiveBack,
}

/// A crowd at work.
pub(crate) struct Crowd {
    stop: Arc<AtomicBool>,
    accepted: Arc<AtomicU64>,
    fans: JoinSet<Journal>,
}

impl Crowd {
    /// Lets fans who are inside begin.
    pub(crate) fn start(arena: &Arena, fans: Vec<Fan>, habits: &Habits) -> Self {
        let (stop, accepted, mut tasks) = (Arc::default(), Arc::default(), JoinSet::new());
        for (number, fan) in fans.into_iter().enumerate() {
            let shopper = Shopper {
                rng: StdRng::seed_from_u64(habits.seed.wrapping_mul(1_000_003).wrapping_add(number as u64)),
                may_buy: number < habits.buyers,
                shop: arena.shop(),
                habits: habits.clone(),
                journal: Journal::default(),
                stop: Arc::clone(&stop),
                accepted: Arc::clone(&accepted),
                number,
                fan,
            };
            tasks.spawn(shopper.shop_around());
        }
        Self { stop, accepted, fans: tasks }
    }

    /// How many holds were accepted so far.
    pub(crate) fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::Relaxed)
    }

    /// Fails with a fan's own words if one has failed already.
    pub(crate) fn check(&mut self) {
        if let Some(ended) = self.fans.try_join_next() {
            ended.unwrap();
            panic!("a fan went home before the end");
        }
    }

    /// Lets everybody end what they are at, and gathers what they wrote down.
    pub(crate) async fn end(mut self) -> Journal {
        self.stop.store(true, Ordering::Relaxed);
        let mut all = Journal::default();
        while let Some(journal) = self.fans.join_next().await {
            all.add(journal.unwrap());
        }
        all
    }
}

struct Shopper {
    number: usize,
    fan: Fan,
    shop: Shop,
    habits: Habits,
    may_buy: bool,
    rng: StdRng,
    journal: Journal,
    stop: Arc<AtomicBool>,
    accepted: Arc<AtomicU64>,
}

impl Shopper {
    async fn shop_around(mut self) -> Journal {
        let performance = self.shop.performance.to_string();
        let mut bought = false;
        for round in 0u32.. {
            let pause = self.rng.random_range(0..=self.habits.pause_ms);
            tokio::time::sleep(Duration::from_millis(pause)).await;
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            if bought {
                continue;
            }
            let (seats, act) = (self.wish(), self.act());
            let (list, key) = (written(&seats), format!("{}-{round}", self.habits.seed));
            let reply = self.insist("hold", &hold_form(&performance, &list, &key)).await;
            if reply.status != 200 {
                self.refused("hold", &reply, &[Code::SeatTaken, Code::HoldOpen, Code::HoldClosed]);
                if reply.code() == Code::HoldClosed {
                    self.journal.unheard.insert(hold_id(self.fan.account, self.shop.performance, &key));
                }
                continue;
            }
            let held: Held = reply.ok();
            self.accepted.fetch_add(1, Ordering::Relaxed);
            self.journal.told.push(Told::new(self.number, &held, now_us()));
            bought = self.carry_out(act, &held).await;
        }
        self.journal
    }

    /// Distinct seats in a random order of numbers.
    fn wish(&mut self) -> Vec<u32> {
        let count = self.rng.random_range(self.habits.at_once.clone()).min(self.habits.seats.len());
        let mut seats = Vec::with_capacity(count);
        while seats.len() < count {
            let seat = self.habits.seats[self.rng.random_range(0..self.habits.seats.len())];
            if !seats.contains(&seat) {
                seats.push(seat);
            }
        }
        seats
    }

    fn act(&mut self) -> Act {
        let habits = &self.habits;
        let mut draw = self.rng.random_range(0..1_000u32);
        for (act, share) in [
            (Act::Buy, if self.may_buy { habits.paid } else { 0 }),
            (Act::Decline, habits.declined),
            (Act::WalkAway, habits.walked_away),
            (Act::Cancel, habits.cancelled),
            (Act::RunOut, habits.run_out),
        ] {
            if draw < share {
                return act;
            }
            draw -= share;
        }
        Act::GiveBack
    }

    /// Does what was meant with a hold; whether the seats were bought.
    async fn carry_out(&mut self, act: Act, held: &Held) -> bool {
        match act {
            Act::GiveBack => self.end_by("hold-release", held).await,
            Act::Cancel => self.end_by("order-cancel", held).await,
            Act::RunOut => self.sleep_until(held.expires.0).await,
            Act::WalkAway => drop(self.pay(held).await),
            Act::Decline => {
                if let Some(started) = self.pay(held).await {
                    self.card(&started, DECLINED_CARD).await;
                    self.end_by("order-cancel", held).await;
                }
            }
            Act::Buy => return self.buy(held).await,
        }
        false
    }

    /// From the moment in which this is sent, nobody claims to own the seats.
    async fn end_by(&mut self, function: &str, held: &Held) {
        self.last().until_us = now_us();
        let order = held.order.to_string();
        let reply = self.insist(function, &[("order", &order)]).await;
        if reply.status != 200 {
            // A lease may be lost with Redis, and an order may have run out while it was cancelled.
            self.refused(function, &reply, &[Code::NotFound, Code::WrongState]);
        }
    }

    async fn pay(&mut self, held: &Held) -> Option<PayStarted> {
        let order = held.order.to_string();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let reply = self.insist("order-pay", &[("order", &order)]).await;
            if reply.status == 200 {
                return Some(reply.ok());
            }
            let ran_out = now_us() / 1_000 >= held.expires.0;
            match reply.code() {
                Code::HoldClosed | Code::NotFound if ran_out || self.habits.weather > Weather::Fair => {
                    *self.journal.outcomes.entry("pay: too late".to_owned()).or_default() += 1;
                    return None;
                }
                // Another click of ours, whose answer was lost, is being worked at.
                Code::WrongState if Instant::now() < deadline => tokio::time::sleep(AGAIN).await,
                code => panic!("Pay for {held:?} was refused: {code:?} {}", reply.body),
            }
        }
    }

    /// The status of the answer to a card; a page whose time is over answers 4xx.
    async fn card(&mut self, started: &PayStarted, number: &str) -> u16 {
        self.shop.card(started, number).await.expect("the provider answers")
    }

    async fn buy(&mut self, held: &Held) -> bool {
        let Some(started) = self.pay(held).await else { return false };
        if self.card(&started, GOOD_CARD).await != 303 {
            return false;
        }
        self.last().charged = Some(started);
        let id = held.order.to_string();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let reply = self.insist("order", &[("id", &id)]).await;
            match reply.ok::<OrderView>().status {
                OrderStatus::Fulfilled => {
                    self.last().until_us = i64::MAX;
                    return true;
                }
                OrderStatus::Closed | OrderStatus::Refused | OrderStatus::Refunded => return false,
                _ => {}
            }
            assert!(Instant::now() < deadline, "order {id} of an accepted card has no outcome");
            tokio::time::sleep(AGAIN).await;
        }
    }

    fn last(&mut self) -> &mut Told {
        self.journal.told.last_mut().unwrap()
    }

    async fn sleep_until(&self, end_ms: i64) {
        while now_us() / 1_000 < end_ms && !self.stop.load(Ordering::Relaxed) {
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Repeats a request, the same in all, until it is answered.
    async fn insist(&mut self, function: &str, form: &[(&str, &str)]) -> Reply {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let heard = self.shop.call(&self.fan, function, form).await;
            let word = match heard {
                Ok(reply) if reply.status == 503 && self.habits.weather > Weather::Fair => {
                    assert!(reply.refusal().retry_after_ms.is_some(), "{function}: {}", reply.body);
                    "503"
                }
                Ok(reply) => {
                    assert!(reply.status < 500, "{function}: {} {}", reply.status, reply.body);
                    return reply;
                }
                Err(error) => {
                    assert!(self.habits.weather == Weather::Stormy, "{function} was not answered: {error:?}");
                    "no answer"
                }
            };
            *self.journal.outcomes.entry(format!("{function}: {word}")).or_default() += 1;
            assert!(Instant::now() < deadline, "{function} {form:?} is not answered: {word}");
            tokio::time::sleep(AGAIN).await;
        }
    }

    fn refused(&mut self, function: &str, reply: &Reply, expected: &[Code]) {
        let code = reply.code();
        assert!(expected.contains(&code), "{function}: {}", reply.body);
        *self.journal.outcomes.entry(format!("{function}: {}", code.as_str())).or_default() += 1;
    }
}
