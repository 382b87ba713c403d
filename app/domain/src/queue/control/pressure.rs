//! The bound of the rate: it falls by a factor while the hold path is slow, and rises again by steps.

use super::{Budgets, Measured, Reason, milliseconds};
use serde::{Deserialize, Serialize};

/// What a fall leaves of the rate. Three falls make a third of it.
const FALL: f64 = 0.7;

/// Least time between two falls, in milliseconds: fans let in before come within it, so that the next
/// decision sees what the last one did.
const HOLD_OFF_MS: i64 = 2_000;

/// A measure that came down to this share of what it was at the last fall improves: no other fall, only
/// another look after the hold-off. Whoever is inside still asks for seats, and a queue drains slowly.
const IMPROVING: f64 = 0.9;

/// Share of its budget below which a measure allows the rate to rise. Between it and the budget the rate
/// stays: without the gap it would swing.
const EASE: f64 = 0.8;

/// How long all is well before the rate rises, in milliseconds: percentiles look back for some seconds.
const CALM_MS: i64 = 5_000;

/// Factor by which the rate rises in a second, until it is near the rate of the last fall, and beyond it.
const RISE_PER_S: f64 = 1.1;

/// Factor by which it rises in a second near that rate: there it was too much before.
const CAREFUL_RISE_PER_S: f64 = 1.02;

/// From where to where, in parts of the rate of the last fall, it rises carefully.
const CAREFUL: std::ops::Range<f64> = 0.8..1.5;

/// The rate never falls below this share of the organizer's: the door stands almost still, and what it
/// lets in still tells whether the hold path has recovered.
const FLOOR_SHARE: f64 = 0.01;

/// The rate never falls below so many places a minute either, unless the organizer's is lower.
const FLOOR_PER_MIN: f64 = 60.0;

/// A second in milliseconds.
const SECOND_MS: f64 = 1_000.0;

/// State of the bound.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Pressure {
    /// Bound in places a minute; none while the organizer's rate holds alone.
    bound: Option<f64>,
    /// The rate at which the hold path became slow, in places a minute.
    knee: f64,
    /// Whether the bound rose since the last fall: then the next one finds a new knee.
    rose: bool,
    /// What became slow first.
    cause: Option<Reason>,
    /// The worst measure at the last fall or look, in parts of its budget; 0 while all are within.
    severity: f64,
    /// Milliseconds since the last fall or look.
    waited_ms: i64,
    /// Milliseconds for which all measures have been well within their budgets.
    calm_ms: i64,
}

impl Pressure {
    /// The bound at present, in places a minute.
    pub(super) fn rate_per_min(&self, rate_max_per_min: u32) -> f64 {
        let rate_max = f64::from(rate_max_per_min);
        self.bound.map_or(rate_max, |bound| bound.min(rate_max))
    }

    /// What bound the rate, while it is below the organizer's.
    pub(super) fn cause(&self) -> Option<Reason> {
        self.bound.and(self.cause)
    }

    /// One step; what is slow now. `pace_per_min` is what was released lately.
    pub(super) fn step(
        &mut self,
        rate_max_per_min: u32,
        pace_per_min: f64,
        budgets: Budgets,
        measured: &Measured,
        passed_ms: i64,
    ) -> Option<Reason> {
        let (severity, cause) = worst(budgets, measured);
        self.waited_ms = self.waited_ms.saturating_add(passed_ms);
        if severity > 1.0 {
            self.calm_ms = 0;
            // The first fall of a slow time does not wait.
            if self.severity <= 0.0 && self.bound.is_none() {
                self.fall(rate_max_per_min, pace_per_min, severity, cause);
            } else if self.waited_ms >= HOLD_OFF_MS {
                if severity >= IMPROVING * self.severity {
                    self.fall(rate_max_per_min, pace_per_min, severity, cause);
                } else {
                    (self.severity, self.waited_ms) = (severity, 0);
                }
            }
            return Some(cause);
        }
        self.severity = 0.0;
        self.calm_ms = if severity < EASE { self.calm_ms.saturating_add(passed_ms) } else { 0 };
        if self.calm_ms >= CALM_MS {
            self.rise(rate_max_per_min, passed_ms);
        }
        None
    }

    fn fall(&mut self, rate_max_per_min: u32, pace_per_min: f64, severity: f64, cause: Reason) {
        let rate_max = f64::from(rate_max_per_min);
        let floor = (rate_max * FLOOR_SHARE).max(FLOOR_PER_MIN.min(rate_max));
        // A rate that the house kept from being used would have to fall many times before it is felt.
        let used = self.rate_per_min(rate_max_per_min).min(pace_per_min.max(floor));
        if self.bound.is_none() || self.rose {
            self.knee = used;
            self.cause = Some(cause);
        }
        self.bound = Some((used * FALL).max(floor));
        (self.rose, self.severity, self.waited_ms) = (false, severity, 0);
    }

    fn rise(&mut self, rate_max_per_min: u32, passed_ms: i64) {
        let Some(bound) = self.bound else { return };
        let careful = CAREFUL.contains(&(bound / self.knee));
        let per_s = if careful { CAREFUL_RISE_PER_S } else { RISE_PER_S };
        let risen = bound * per_s.powf(milliseconds(passed_ms) / SECOND_MS);
        self.rose = true;
        // `bound` is none again at the organizer's rate, so that it follows when that is raised.
        self.bound = (risen < f64::from(rate_max_per_min)).then_some(risen);
    }
}

/// The worst measure in parts of its budget, and what it is. No samples are healthy.
fn worst(budgets: Budgets, measured: &Measured) -> (f64, Reason) {
    let measures = [
        (measured.hold_p99_ms.unwrap_or(0.0), budgets.hold_p99_ms, Reason::HoldsSlow),
        (measured.writer_lag_ms, budgets.writer_lag_ms, Reason::WriterBehind),
        (measured.pool_wait_ms.unwrap_or(0.0), budgets.pool_wait_ms, Reason::PoolWaits),
    ];
    let part = |value: f64, budget: f64| if budget > 0.0 && value.is_finite() { value / budget } else { 0.0 };
    measures
        .into_iter()
        .map(|(value, budget, reason)| (part(value, budget), reason))
        .fold((0.0, Reason::HoldsSlow), |worst, next| if next.0 > worst.0 { next } else { worst })
}
