//! Fans, house, seats and stores, tick by tick. What will happen is counted by the tick in which it does.

use super::chance::Chance;
use super::{Scenario, TICK_MS};
use crate::queue::Phase;
use crate::queue::control::Measured;

/// Most seats that one fan asks for.
const PARTY_MAX: u32 = 4;
/// Who meets a full house tries again after so many milliseconds.
const RETRY_MS: f64 = 1_000.0;
/// The polled object is up to so many milliseconds old.
const CACHE_MS: f64 = 1_000.0;

/// What the stores do for an entry, in operations.
const OPERATIONS_PER_ENTRY: f64 = 0.5;
/// For seats that are held, ordered and paid.
const OPERATIONS_PER_HOLD: f64 = 4.0;
/// For each shopper inside, in operations a second.
const OPERATIONS_PER_SHOPPER_S: f64 = 0.03;
/// A hold at rest takes so many milliseconds at the 99th percentile.
const HOLD_REST_MS: f64 = 15.0;
/// Use of the capacity beyond which a hold takes no longer, but waits.
const USE_MAX: f64 = 0.97;
/// Time constant in milliseconds of what is measured: percentiles look back.
const MEASURE_MS: f64 = 2_000.0;
/// Largest part by which a measure is off by chance.
const NOISE: f64 = 0.1;
/// A tick in seconds.
const TICK_S: f64 = TICK_MS as f64 / 1_000.0;

/// Ticks in a length of time.
#[expect(clippy::cast_sign_loss, reason = "a length of time is not negative")]
pub(super) fn ticks(length_ms: i64) -> usize {
    (length_ms.max(0) / TICK_MS) as usize
}

/// Counts by the tick in which they fall due. What is due after the run is forgotten.
struct Due(Vec<u32>);

impl Due {
    fn at(&self, tick: usize) -> u32 {
        self.0.get(tick).copied().unwrap_or(0)
    }

    #[expect(clippy::cast_sign_loss, reason = "a delay is at least one tick")]
    fn after(&mut self, tick: usize, delay_ms: f64, count: u32) {
        let ticks = (delay_ms / TICK_MS as f64).ceil().max(1.0) as usize;
        if let Some(due) = self.0.get_mut(tick.saturating_add(ticks)) {
            *due += count;
        }
    }
}

/// Everything but the controller.
pub(super) struct World<'a> {
    scenario: &'a Scenario,
    chance: Chance,
    served: u32,
    shoppers: u32,
    entered: u64,
    met_full: u64,
    available: u32,
    held: u32,
    sold: u32,
    /// Fans at the door, shoppers who leave, parties of 1 to 4 that want seats, seats that are paid or
    /// come back.
    arrivals: Due,
    leaving: Due,
    wanting: [Due; PARTY_MAX as usize],
    paid: Due,
    back: Due,
    /// Operations that wait for the stores.
    backlog: f64,
    hold_p99_ms: f64,
}

impl<'a> World<'a> {
    pub(super) fn new(scenario: &'a Scenario) -> Self {
        let due = || Due(vec![0; ticks(scenario.horizon_ms)]);
        Self {
            scenario,
            chance: Chance::new(scenario.seed),
            served: 0,
            shoppers: 0,
            entered: 0,
            met_full: 0,
            available: scenario.seats,
            held: 0,
            sold: 0,
            arrivals: due(),
            leaving: due(),
            wanting: std::array::from_fn(|_| due()),
            paid: due(),
            back: due(),
            backlog: 0.0,
            hold_p99_ms: HOLD_REST_MS,
        }
    }

    pub(super) fn entered(&self) -> u64 {
        self.entered
    }

    pub(super) fn met_full(&self) -> u64 {
        self.met_full
    }

    pub(super) fn served(&self) -> u32 {
        self.served
    }

    pub(super) fn sold(&self) -> u32 {
        self.sold
    }

    /// Whether nobody is inside, or comes any more.
    pub(super) fn is_quiet(&self, tick: usize) -> bool {
        self.shoppers == 0 && self.held == 0 && self.arrivals.0.iter().skip(tick).all(|due| *due == 0)
    }

    /// One tick passes; what is measured at its end.
    pub(super) fn pass(&mut self, tick: usize) -> Measured {
        let now = Scenario::now(tick);
        let paused = self.scenario.pause.is_some_and(|span| span.holds(now.0));
        let (paid, back) = (self.paid.at(tick), self.back.at(tick));
        self.held -= paid + back;
        self.sold += paid;
        self.available += back;
        self.shoppers -= self.leaving.at(tick);
        let holds = self.hold(tick);
        let entries = self.enter(tick, paused);
        let lag_ms = self.work(now.0, entries, holds);
        let noise = |chance: &mut Chance| chance.between(1.0 - NOISE, 1.0 + NOISE);
        let hold_p99_ms = self.hold_p99_ms * noise(&mut self.chance);
        Measured {
            now,
            phase: if paused { Phase::Paused } else { Phase::Open },
            drawn: true,
            joined: self.scenario.fans,
            serving: self.served,
            shoppers: self.shoppers,
            entered: self.entered,
            met_full: self.met_full,
            available: self.available,
            held: self.held,
            hold_p99_ms: (self.shoppers > 0).then_some(hold_p99_ms),
            writer_lag_ms: lag_ms,
            pool_wait_ms: None,
        }
    }

    /// Places are released: their fans see it at their next poll, later, or never.
    pub(super) fn release(&mut self, tick: usize, places: u32) {
        self.served += places;
        let scenario = self.scenario;
        for _ in 0..places {
            if !self.chance.happens(scenario.show_up) {
                continue;
            }
            let mut delay_ms = self.chance.between(0.0, scenario.poll_ms)
                + self.chance.between(0.0, scenario.jitter_ms)
                + self.chance.between(0.0, CACHE_MS);
            if self.chance.happens(scenario.late) {
                delay_ms += self.chance.exponential(scenario.late_mean_ms);
            }
            self.arrivals.after(tick, delay_ms, 1);
        }
    }

    /// Parties take seats where there are enough for them; how many tried.
    fn hold(&mut self, tick: usize) -> u32 {
        let mut tried = 0;
        for party in 1..=PARTY_MAX {
            let parties = self.wanting[party as usize - 1].at(tick);
            tried += parties;
            for _ in 0..parties {
                if self.available < party {
                    continue;
                }
                self.available -= party;
                self.held += party;
                if self.chance.happens(self.scenario.abandoned) {
                    self.back.after(tick, self.scenario.hold_ms, party);
                } else {
                    let delay_ms = self.chance.between(0.2, 0.8) * self.scenario.visit_mean_ms;
                    self.paid.after(tick, delay_ms, party);
                }
            }
        }
        tried
    }

    /// Fans at the door come in while there is room; how many did.
    fn enter(&mut self, tick: usize, paused: bool) -> u32 {
        let at_door = self.arrivals.at(tick);
        let free = self.scenario.limits.shoppers_max.saturating_sub(self.shoppers);
        let entries = if paused { 0 } else { at_door.min(free) };
        if paused {
            // Each polls on in its own rhythm.
            for _ in 0..at_door {
                let delay_ms = self.scenario.poll_ms + self.chance.between(0.0, self.scenario.jitter_ms);
                self.arrivals.after(tick, delay_ms, 1);
            }
        } else {
            self.met_full += u64::from(at_door - entries);
            self.arrivals.after(tick, RETRY_MS, at_door - entries);
        }
        self.shoppers += entries;
        self.entered += u64::from(entries);
        for _ in 0..entries {
            self.visit(tick);
        }
        entries
    }

    fn visit(&mut self, tick: usize) {
        let (scenario, chance) = (self.scenario, &mut self.chance);
        if chance.happens(scenario.idle) {
            self.leaving.after(tick, scenario.visit_max_ms, 1);
            return;
        }
        let beyond_ms = chance.exponential(scenario.visit_mean_ms - scenario.visit_min_ms);
        let visit_ms = (scenario.visit_min_ms + beyond_ms).min(scenario.visit_max_ms);
        self.leaving.after(tick, visit_ms, 1);
        if chance.happens(scenario.buyers) {
            let hold_ms = visit_ms * chance.between(0.2, 0.8);
            // Most come in pairs.
            let party: usize = match chance.share() {
                share if share < 0.2 => 1,
                share if share < 0.7 => 2,
                share if share < 0.85 => 3,
                _ => 4,
            };
            self.wanting[party - 1].after(tick, hold_ms, 1);
        }
    }

    /// The stores work; the order writer's lag in milliseconds.
    fn work(&mut self, at_ms: i64, entries: u32, holds: u32) -> f64 {
        let slow = self.scenario.slow.filter(|slow| slow.span.holds(at_ms));
        let capacity = self.scenario.capacity_per_s * slow.map_or(1.0, |slow| slow.capacity);
        let wanted = f64::from(entries) * OPERATIONS_PER_ENTRY
            + f64::from(holds) * OPERATIONS_PER_HOLD
            + f64::from(self.shoppers) * OPERATIONS_PER_SHOPPER_S * TICK_S;
        let possible = capacity * TICK_S;
        self.backlog = (self.backlog + wanted - possible).max(0.0);
        let lag_ms = self.backlog / capacity * 1_000.0;
        let in_use = (wanted / possible).min(USE_MAX);
        let takes_ms = HOLD_REST_MS / (1.0 - in_use) + lag_ms;
        self.hold_p99_ms += (takes_ms - self.hold_p99_ms) * (TICK_MS as f64 / MEASURE_MS);
        lag_ms
    }
}
