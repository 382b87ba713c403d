//! The door in virtual time: fans who come or don't, a house, seats, and a hold path that can become
//! slow, with the [`control`](super::control) that is to cope with all of it.
//!
//! It owns no clock and no randomness: a run follows from its [`Scenario`], seed included. Fans are counted,
//! not kept: a million of them take as long as those who are let in. It is a model; what a server does
//! under load is measured by `stararena rush`.

mod chance;
#[cfg(test)]
mod tests;
mod world;

use super::control::{Budgets, Decision, Limits, Measured, Memory, Reason};
use crate::time::Millis;
use world::World;

/// Length of a tick in milliseconds: the controller's step.
pub const TICK_MS: i64 = 250;

/// Every so many ticks a sample is kept: one a second.
const SAMPLE_TICKS: usize = 4;

/// After so long, in milliseconds, from the opening or a disturbance, the house counts as steady.
const SETTLED_MS: i64 = 60_000;

/// A length of virtual time, in milliseconds from the opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its begin.
    pub from_ms: i64,
    /// Its end, not part of it.
    pub to_ms: i64,
}

impl Span {
    fn holds(self, at_ms: i64) -> bool {
        self.from_ms <= at_ms && at_ms < self.to_ms
    }
}

/// A time in which the stores get less done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slow {
    /// When.
    pub span: Span,
    /// What is left of their capacity, from 0 to 1.
    pub capacity: f64,
}

/// What a run follows from.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Fans who took a place before the opening.
    pub fans: u32,
    /// Seats for sale.
    pub seats: u32,
    /// What the organizer allows.
    pub limits: Limits,
    /// What the hold path may take.
    pub budgets: Budgets,
    /// Share of released fans who ever come, from 0 to 1.
    pub show_up: f64,
    /// Share of those who come that do not see their turn at the next poll, from 0 to 1.
    pub late: f64,
    /// Mean delay of the late ones, in milliseconds.
    pub late_mean_ms: f64,
    /// Time between two polls, in milliseconds.
    pub poll_ms: f64,
    /// Most that is added to it by chance, in milliseconds.
    pub jitter_ms: f64,
    /// Shortest visit, in milliseconds.
    pub visit_min_ms: f64,
    /// Mean of visits that are not walked away from, in milliseconds.
    pub visit_mean_ms: f64,
    /// When a visit ends by itself, in milliseconds.
    pub visit_max_ms: f64,
    /// Share of shoppers who walk away and keep their slot until their visit ends, from 0 to 1.
    pub idle: f64,
    /// Share of the other shoppers who try to hold seats, from 0 to 1.
    pub buyers: f64,
    /// Share of holds that are not paid, from 0 to 1; their seats come back.
    pub abandoned: f64,
    /// Length of a hold, in milliseconds.
    pub hold_ms: f64,
    /// Operations a second that the stores can take.
    pub capacity_per_s: f64,
    /// When they take less.
    pub slow: Option<Slow>,
    /// When the organizer pauses entry.
    pub pause: Option<Span>,
    /// From the last step of one leader to the first of the next.
    pub leader_change: Option<Span>,
    /// Longest run, in milliseconds.
    pub horizon_ms: i64,
    /// All chance follows from it.
    pub seed: u64,
}

impl Default for Scenario {
    /// A million fans for an arena of 20,000; four in ten never come.
    fn default() -> Self {
        Self {
            fans: 1_000_000,
            seats: 20_000,
            limits: Limits { shoppers_max: 2_000, rate_max_per_min: 60_000 },
            budgets: Budgets { hold_p99_ms: 250.0, writer_lag_ms: 1_000.0, pool_wait_ms: 100.0 },
            show_up: 0.6,
            late: 0.1,
            late_mean_ms: 20_000.0,
            poll_ms: 1_000.0,
            jitter_ms: 500.0,
            visit_min_ms: 15_000.0,
            visit_mean_ms: 120_000.0,
            visit_max_ms: 600_000.0,
            idle: 0.05,
            buyers: 0.7,
            abandoned: 0.1,
            hold_ms: 300_000.0,
            capacity_per_s: 600.0,
            slow: None,
            pause: None,
            leader_change: None,
            horizon_ms: 3_600_000,
            seed: 1,
        }
    }
}

/// The state at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Milliseconds from the opening.
    pub at_ms: i64,
    /// Fans whose place is not released.
    pub waiting: u32,
    /// Places released.
    pub served: u32,
    /// Shoppers inside.
    pub shoppers: u32,
    /// Seats available.
    pub available: u32,
    /// Bound of the rate, in places a minute.
    pub rate_per_min: u32,
    /// Released places a minute, as fans are told.
    pub pace_per_min: u32,
    /// 99th percentile of a hold, in milliseconds; 0 without samples.
    pub hold_p99_ms: f64,
    /// Lag of the order writer, in milliseconds.
    pub writer_lag_ms: f64,
    /// Measured share of fans who come.
    pub show_up: f64,
    /// Why the door served as it did.
    pub reason: Reason,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Mean share of slots in use while the house was steady: a minute after the opening and after each
    /// disturbance, fans waiting, and seats for a full house; none where it never was.
    pub slot_use: Option<f64>,
    /// Fewest shoppers while the house was steady.
    pub steady_shoppers_min: u32,
    /// Most shoppers at once.
    pub shoppers_max: u32,
    /// Fans who entered.
    pub entered: u64,
    /// Entries that met a full house.
    pub met_full: u64,
    /// Places released.
    pub served: u32,
    /// Most places released in one step.
    pub largest_step: u32,
    /// Seats sold.
    pub sold: u32,
    /// When the last seat was sold, in milliseconds from the opening; none where seats were left.
    pub sold_out_ms: Option<i64>,
    /// Lowest bound of the rate, in places a minute.
    pub rate_min_per_min: u32,
    /// How often the bound of the rate turned from falling to rising or back.
    pub turns: u32,
}

/// A run: one sample a second, and the summary.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Oldest first.
    pub samples: Vec<Sample>,
    /// What came of it.
    pub summary: Summary,
}

/// Lives a scenario until all seats are sold, everybody was served and left, or its horizon.
pub fn run(scenario: &Scenario) -> Run {
    let mut world = World::new(scenario);
    let mut leader = Leader::default();
    let mut watch = Watch::default();
    for tick in 0..world::ticks(scenario.horizon_ms) {
        let measured = world.pass(tick);
        let at_ms = measured.now.0;
        let decision = leader.step(scenario, &measured);
        let released = decision.serving.saturating_sub(measured.serving);
        world.release(tick, released);
        watch.see(scenario, &measured, &decision, released);
        if tick.is_multiple_of(SAMPLE_TICKS) {
            watch.samples.push(sample(scenario, &measured, &decision));
        }
        let sold_out = measured.available == 0 && measured.held == 0;
        if sold_out {
            watch.sold_out_ms = Some(at_ms);
        }
        if sold_out || (decision.serving == scenario.fans && world.is_quiet(tick)) {
            break;
        }
    }
    watch.finish(&world)
}

/// Who steps the controller: its memory, and what is at rest while no leader is there.
#[derive(Default)]
struct Leader {
    memory: Memory,
    /// The memory as the old leader left it.
    stored: Option<String>,
    last: Option<Decision>,
}

impl Leader {
    fn step(&mut self, scenario: &Scenario, measured: &Measured) -> Decision {
        if scenario.leader_change.is_some_and(|span| span.holds(measured.now.0)) {
            self.stored = self.stored.take().or_else(|| serde_json::to_string(&self.memory).ok());
            if let Some(last) = self.last {
                return Decision { serving: measured.serving, ..last };
            }
        }
        if let Some(stored) = self.stored.take() {
            self.memory = serde_json::from_str(&stored).unwrap_or_default();
        }
        let decision = self.memory.step(scenario.limits, scenario.budgets, measured);
        *self.last.insert(decision)
    }
}

fn sample(scenario: &Scenario, measured: &Measured, decision: &Decision) -> Sample {
    Sample {
        at_ms: measured.now.0,
        waiting: scenario.fans.saturating_sub(decision.serving),
        served: decision.serving,
        shoppers: measured.shoppers,
        available: measured.available,
        rate_per_min: decision.rate_per_min,
        pace_per_min: decision.pace_per_min,
        hold_p99_ms: measured.hold_p99_ms.unwrap_or(0.0),
        writer_lag_ms: measured.writer_lag_ms,
        show_up: decision.show_up,
        reason: decision.reason,
    }
}

/// What is counted in every tick.
#[derive(Default)]
struct Watch {
    samples: Vec<Sample>,
    sold_out_ms: Option<i64>,
    used: f64,
    steady_ticks: u32,
    steady_shoppers_min: Option<u32>,
    shoppers_max: u32,
    largest_step: u32,
    rate: Option<u32>,
    rate_min: Option<u32>,
    rising: Option<bool>,
    turns: u32,
}

impl Watch {
    fn see(&mut self, scenario: &Scenario, measured: &Measured, decision: &Decision, released: u32) {
        self.shoppers_max = self.shoppers_max.max(measured.shoppers);
        self.largest_step = self.largest_step.max(released);
        if scenario.is_steady(measured) {
            self.used += f64::from(measured.shoppers) / f64::from(scenario.limits.shoppers_max.max(1));
            self.steady_ticks += 1;
            let fewest = self.steady_shoppers_min.get_or_insert(measured.shoppers);
            *fewest = measured.shoppers.min(*fewest);
        }
        let rate = decision.rate_per_min;
        let lowest = self.rate_min.get_or_insert(rate);
        *lowest = rate.min(*lowest);
        if let Some(before) = self.rate.replace(rate)
            && before != rate
            && let Some(was_rising) = self.rising.replace(rate > before)
        {
            self.turns += u32::from(was_rising != (rate > before));
        }
    }

    fn finish(self, world: &World<'_>) -> Run {
        let summary = Summary {
            slot_use: (self.steady_ticks > 0).then(|| self.used / f64::from(self.steady_ticks)),
            steady_shoppers_min: self.steady_shoppers_min.unwrap_or(0),
            shoppers_max: self.shoppers_max,
            entered: world.entered(),
            met_full: world.met_full(),
            served: world.served(),
            largest_step: self.largest_step,
            sold: world.sold(),
            sold_out_ms: self.sold_out_ms,
            rate_min_per_min: self.rate_min.unwrap_or(0),
            turns: self.turns,
        };
        Run { samples: self.samples, summary }
    }
}

impl Scenario {
    /// Whether the house should be full: fans wait, seats are there, and nothing disturbs it.
    fn is_steady(&self, measured: &Measured) -> bool {
        let at_ms = measured.now.0;
        let disturbances = [self.slow.map(|slow| slow.span), self.pause, self.leader_change];
        let disturbed = disturbances
            .into_iter()
            .flatten()
            .any(|span| Span { from_ms: span.from_ms, to_ms: span.to_ms.saturating_add(SETTLED_MS) }.holds(at_ms));
        at_ms >= SETTLED_MS
            && !disturbed
            && measured.serving < self.fans
            && measured.available >= self.limits.shoppers_max
    }

    fn now(tick: usize) -> Millis {
        Millis(i64::try_from(tick).unwrap_or(i64::MAX).saturating_mul(TICK_MS))
    }
}
