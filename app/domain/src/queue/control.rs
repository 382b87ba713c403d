//! The door's controller: how far to raise `serving`, decided four times a second from what was measured.
//!
//! Pure: the caller measures, keeps the [`Memory`] beside `serving`, and carries the decision out. What
//! bounds a step: the free slots (`arrivals` tells how many of the released fans are still to come,
//! `departures` how many will have left by then), the stock, and a rate that gives way to a slow hold
//! path (`pressure`).

mod arrivals;
mod departures;
mod pressure;
#[cfg(test)]
mod tests;

use super::{Phase, Supply};
use crate::time::Millis;
use arrivals::Arrivals;
use departures::Departures;
use pressure::Pressure;
use serde::{Deserialize, Serialize};

/// Longest time in milliseconds that one step makes up for. After a crash the door goes on at its
/// rate; releasing what was missed would let a crowd in at once.
const STEP_MAX_MS: i64 = 1_000;

/// Shoppers for each seat that is left. Some of them hold seats already, some walked away and keep their
/// slot until their visit ends; with fewer, the last seats would wait for takers.
const SHOPPERS_PER_SEAT: u32 = 3;

/// Share of the house that may be inside while any seat is left, however few: the last seats come back
/// one by one from holds that end, and shoppers who walked away must not keep the door shut.
const LAST_SHARE: f64 = 0.01;

/// Standard deviations of the number of fans on their way that are kept free, so that a cohort that
/// turns up in larger numbers than expected seldom meets a full house.
const RESERVE_DEVIATIONS: f64 = 2.0;

/// Largest share of the house that is kept free for it: in a small house chance would take every slot.
const RESERVE_SHARE_MAX: f64 = 0.05;

/// Time constant in milliseconds of the pace that waiting fans are told: long enough that an estimate
/// stands still between two looks at it, short enough that a slower door is seen within a minute.
const PACE_MS: f64 = 45_000.0;

/// A minute in milliseconds.
const MINUTE_MS: f64 = 60_000.0;

/// What the organizer allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most shoppers inside at once.
    pub shoppers_max: u32,
    /// Most places released a minute.
    pub rate_max_per_min: u32,
}

/// What the hold path may take before fewer fans are let in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budgets {
    /// 99th percentile of a hold, in milliseconds.
    pub hold_p99_ms: f64,
    /// Longest wait of an entry of the log for the order writer, in milliseconds.
    pub writer_lag_ms: f64,
    /// Wait for a connection to Postgres, in milliseconds.
    pub pool_wait_ms: f64,
}

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The store's clock.
    pub now: Millis,
    /// Where the sale stands.
    pub phase: Phase,
    /// Whether the draw was made: before it nobody can be served.
    pub drawn: bool,
    /// Places given.
    pub joined: u32,
    /// Places served so far.
    pub serving: u32,
    /// Shoppers inside.
    pub shoppers: u32,
    /// Visits begun so far; begins again from 0 when the state was rebuilt.
    pub entered: u64,
    /// Entries that met a full house so far; begins again from 0 when the state was rebuilt.
    pub met_full: u64,
    /// Seats available.
    pub available: u32,
    /// Seats held or being paid for.
    pub held: u32,
    /// 99th percentile of recent holds in milliseconds; none without samples, which is healthy.
    pub hold_p99_ms: Option<f64>,
    /// The order writer's lag in milliseconds.
    pub writer_lag_ms: f64,
    /// Wait for a connection to Postgres in milliseconds; none without samples.
    pub pool_wait_ms: Option<f64>,
}

/// Why the door serves as it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The sale is not open, is paused or has ended, or the draw is to come.
    #[default]
    Closed,
    /// Everybody who came is served.
    NobodyWaits,
    /// No seat is left to be chosen.
    NoStock,
    /// As many are inside or on their way as allowed.
    House,
    /// Entries meet a full house.
    MeetsFull,
    /// The organizer's rate bounds it.
    Rate,
    /// Holds take too long.
    HoldsSlow,
    /// The order writer is behind.
    WriterBehind,
    /// Connections to Postgres are waited for.
    PoolWaits,
    /// Free slots are filled.
    Fills,
}

/// What the controller remembers from step to step. It is written in one script with `serving`, and read
/// with it before the next step, so that a new leader goes on where the old one stopped. Without it
/// (`Memory::default()`) places that were served already are taken to be on their way for a while.
///
/// Everything that passes is kept as a length of time, no instant but one, so that a clock which is set
/// changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// The clock at the last step; none before the first.
    at: Option<Millis>,
    /// Whether the door was open then.
    open: bool,
    /// Places served after it.
    serving: u32,
    /// The counters then.
    entered: u64,
    met_full: u64,
    /// Places that the rate allows and that were not released yet: below one, except when held back.
    credit: f64,
    arrivals: Arrivals,
    departures: Departures,
    pressure: Pressure,
    /// Released places, older ones counting less, and the milliseconds in which they were released.
    paced: f64,
    paced_ms: f64,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// Places to be served from now on; never fewer than before.
    pub serving: u32,
    /// Released places a minute, smoothed, for estimates.
    pub pace_per_min: u32,
    /// The bound of the rate at present, in places a minute.
    pub rate_per_min: u32,
    /// Share of released places whose fans come in, as measured, from 0 to 1.
    pub show_up: f64,
    /// Why.
    pub reason: Reason,
}

impl Memory {
    /// One step.
    pub fn step(&mut self, limits: Limits, budgets: Budgets, measured: &Measured) -> Decision {
        let open = measured.phase == Phase::Open && measured.drawn;
        let passed_ms = self.observe(limits, measured, open);
        let (released, reason) = if open {
            let slow = self.pressure.step(limits.rate_max_per_min, self.pace_per_min(), budgets, measured, passed_ms);
            let (released, reason) = self.release(limits, measured, slow, passed_ms);
            self.keep_pace(released, passed_ms);
            (released, reason)
        } else {
            (0, Reason::Closed)
        };
        self.serving = measured.serving.saturating_add(released);
        Decision {
            serving: self.serving,
            pace_per_min: whole(self.pace_per_min().round()),
            rate_per_min: whole(self.pressure.rate_per_min(limits.rate_max_per_min).round()),
            show_up: self.arrivals.show_up(),
            reason,
        }
    }

    /// Notes that places are served up to here although nobody has those beyond the decision: none of their fans
    /// is expected.
    pub fn serve_up_to(&mut self, serving: u32) {
        self.serving = serving;
    }

    /// Takes in what happened since the last step; the milliseconds that this one may make up for.
    fn observe(&mut self, limits: Limits, measured: &Measured, open: bool) -> i64 {
        let first = self.at.is_none();
        let elapsed_ms = self.at.map_or(0, |at| at.until(measured.now));
        // A pause keeps everybody out who is on the way: they are still to come when it ends.
        let aged_ms = if open && self.open { elapsed_ms } else { 0 };
        let entered = if first { 0 } else { increase(self.entered, measured.entered) };
        let met_full = if first { 0 } else { increase(self.met_full, measured.met_full) };
        self.arrivals.pass(limits.shoppers_max, aged_ms, entered, met_full);
        if measured.entered < self.entered {
            // The state was rebuilt: who is missing did not leave.
            self.departures = Departures::default();
        }
        self.departures.pass(aged_ms, entered, measured.shoppers);
        if measured.serving > self.serving {
            self.arrivals.served_unseen();
        } else {
            // The last decision was not carried out.
            self.arrivals.take_back(self.serving - measured.serving);
        }
        (self.at, self.open) = (Some(measured.now), open);
        (self.entered, self.met_full) = (measured.entered, measured.met_full);
        aged_ms.min(STEP_MAX_MS)
    }

    /// How many places are released in this step, and why not more.
    fn release(&mut self, limits: Limits, measured: &Measured, slow: Option<Reason>, passed_ms: i64) -> (u32, Reason) {
        let earned = self.pressure.rate_per_min(limits.rate_max_per_min) * milliseconds(passed_ms) / MINUTE_MS;
        // What the house or the stock held back is not made up for; a fraction of a place is kept.
        self.credit = (self.credit + earned).min(1.0 + earned);
        let waiting = measured.joined.saturating_sub(measured.serving);
        if waiting == 0 {
            return (0, Reason::NobodyWaits);
        }
        if measured.available == 0 {
            return (0, Reason::NoStock);
        }
        if self.arrivals.meets_full() {
            return (0, Reason::MeetsFull);
        }
        let (room, allowed) = (self.room(limits, measured), whole(self.credit));
        let released = room.min(allowed).min(waiting);
        self.credit -= f64::from(released);
        self.arrivals.released(released);
        let reason = match slow {
            Some(slow) => slow,
            None if room == 0 => Reason::House,
            None if allowed < room.min(waiting) => self.pressure.cause().unwrap_or(Reason::Rate),
            None => Reason::Fills,
        };
        (released, reason)
    }

    /// How many places the free slots and the stock are good for, by how many of their fans will come.
    fn room(&self, limits: Limits, measured: &Measured) -> u32 {
        if self.arrivals.settling() {
            return 0;
        }
        let (coming, going) = (self.arrivals.coming(), self.departures.expected(arrivals::MEAN_MS));
        let house = f64::from(limits.shoppers_max);
        let reserve = (RESERVE_DEVIATIONS * (coming.variance + going).sqrt()).min(RESERVE_SHARE_MAX * house);
        // Who is let in now arrives when others have left.
        let inside = f64::from(measured.shoppers) + coming.expected;
        let slots = house - reserve - (inside - going);
        let worth = f64::from(measured.available.saturating_mul(SHOPPERS_PER_SEAT)).max(LAST_SHARE * house);
        whole(slots.min(worth - inside) / self.arrivals.show_up())
    }

    fn keep_pace(&mut self, released: u32, passed_ms: i64) {
        let passed_ms = milliseconds(passed_ms);
        let kept = (-passed_ms / PACE_MS).exp();
        self.paced = self.paced * kept + f64::from(released);
        self.paced_ms = self.paced_ms * kept + passed_ms;
    }

    /// Released places a minute over the last while.
    fn pace_per_min(&self) -> f64 {
        if self.paced_ms > 0.0 { self.paced / self.paced_ms * MINUTE_MS } else { 0.0 }
    }
}

/// By how much a counter rose that begins again from 0 when its store was rebuilt.
fn increase(before: u64, now: u64) -> u64 {
    now.checked_sub(before).unwrap_or(now)
}

/// Whole places; none where the number is below one or no number.
#[expect(clippy::cast_sign_loss, reason = "the conversion saturates: below zero is 0")]
fn whole(places: f64) -> u32 {
    places as u32
}

/// A length of time to calculate with: exact below 285,000 years.
fn milliseconds(length_ms: i64) -> f64 {
    length_ms as f64
}

/// What is left, as waiting fans are told.
pub fn supply(available: u32, held: u32) -> Supply {
    match (available, held) {
        (0, 0) => Supply::SoldOut,
        (0, _) => Supply::Returns,
        _ => Supply::OnSale,
    }
}
