//! How the hold path of this process is: measured here, told to the door's controller through the store.

use crate::error::Result;
use crate::redis::{Keys, RedisSeats};
use domain::{Millis, PerformanceId};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Holds whose times are kept of a second: enough for a 99th percentile, and a bound.
const SAMPLES_MAX: usize = 4_096;
/// Fewer samples than this say nothing about a 99th percentile.
const SAMPLES_MIN: usize = 5;
/// What a process told longer ago than this is of yesterday.
const FRESH_MS: i64 = 5_000;
/// A process that has been silent for this long is forgotten.
const FORGOTTEN_MS: i64 = 60_000;

/// What one process tells of itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Told {
    at: i64,
    hold_p99_ms: Option<f64>,
    pool_wait_ms: Option<f64>,
}

/// What all processes together come to: the worst of each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Pulse {
    pub(crate) hold_p99_ms: Option<f64>,
    pub(crate) pool_wait_ms: Option<f64>,
}

/// The times of holds of this process since they were last told, by performance.
#[derive(Default)]
pub(crate) struct Pulses {
    holds: Mutex<HashMap<PerformanceId, Vec<f64>>>,
    pool_wait_ms: Mutex<Option<f64>>,
}

impl Pulses {
    fn lock(&self) -> MutexGuard<'_, HashMap<PerformanceId, Vec<f64>>> {
        self.holds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes how long a hold took.
    pub(crate) fn note_hold(&self, id: PerformanceId, took: Duration) {
        let mut holds = self.lock();
        let samples = holds.entry(id).or_default();
        if samples.len() < SAMPLES_MAX {
            samples.push(took.as_secs_f64() * 1_000.0);
        }
    }

    /// Notes how long a connection to Postgres was waited for.
    pub(crate) fn note_pool_wait(&self, took: Duration) {
        *self.pool_wait_ms.lock().unwrap_or_else(PoisonError::into_inner) = Some(took.as_secs_f64() * 1_000.0);
    }

    fn take(&self, id: PerformanceId, now: Millis) -> Told {
        let samples = self.lock().remove(&id).unwrap_or_default();
        let pool_wait_ms = *self.pool_wait_ms.lock().unwrap_or_else(PoisonError::into_inner);
        Told { at: now.0, hold_p99_ms: p99(samples), pool_wait_ms }
    }

    /// Tells what was measured since the last time.
    pub(crate) async fn tell(&self, seats: &RedisSeats, keys: &Keys, id: PerformanceId, now: Millis) -> Result<()> {
        let told = self.take(id, now);
        let text = serde_json::to_string(&told).unwrap_or_default();
        seats.tell_pulse(keys, &process(), &text, FORGOTTEN_MS).await
    }
}

/// This process among all that serve: a host may run several, and containers share numbers of processes.
fn process() -> String {
    static NAME: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| uuid::Uuid::new_v4().simple().to_string());
    NAME.clone()
}

fn p99(mut samples: Vec<f64>) -> Option<f64> {
    if samples.len() < SAMPLES_MIN {
        return None;
    }
    samples.sort_unstable_by(f64::total_cmp);
    samples.get((samples.len() - 1) * 99 / 100).copied()
}

/// Reads what the processes told: the worst of those that are fresh.
pub(crate) async fn read(seats: &RedisSeats, keys: &Keys, now: Millis) -> Result<Pulse> {
    let told = seats.pulses(keys).await?;
    let (pulse, gone) = worst(&told, now);
    seats.forget_pulses(keys, &gone).await?;
    Ok(pulse)
}

fn worst(told: &HashMap<String, String>, now: Millis) -> (Pulse, Vec<String>) {
    let mut gone = Vec::new();
    let mut pulse = Pulse::default();
    let greater = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    };
    for (process, text) in told {
        match serde_json::from_str::<Told>(text) {
            Ok(told) if now.0 - told.at <= FRESH_MS => {
                pulse.hold_p99_ms = greater(pulse.hold_p99_ms, told.hold_p99_ms);
                pulse.pool_wait_ms = greater(pulse.pool_wait_ms, told.pool_wait_ms);
            }
            Ok(told) if now.0 - told.at <= FORGOTTEN_MS => {}
            _ => gone.push(process.clone()),
        }
    }
    (pulse, gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_fresh_process_counts_and_silent_ones_are_forgotten() {
        let told = |at: i64, p99: Option<f64>, wait: Option<f64>| {
            serde_json::to_string(&Told { at, hold_p99_ms: p99, pool_wait_ms: wait }).unwrap()
        };
        let all: HashMap<String, String> = [
            ("a", told(100_000, Some(5.0), None)),
            ("b", told(99_000, Some(9.0), Some(1.0))),
            ("stale", told(90_000, Some(500.0), None)),
            ("gone", told(1_000, Some(500.0), None)),
            ("broken", "?".to_owned()),
        ]
        .map(|(name, text)| (name.to_owned(), text))
        .into();
        let (pulse, mut gone) = worst(&all, Millis(100_500));
        gone.sort();
        assert_eq!(pulse, Pulse { hold_p99_ms: Some(9.0), pool_wait_ms: Some(1.0) });
        assert_eq!(gone, ["broken", "gone"]);
    }

    #[test]
    fn a_percentile_needs_some_samples() {
        assert_eq!(p99(vec![1.0; SAMPLES_MIN - 1]), None);
        let samples: Vec<f64> = (1..=200).map(f64::from).collect();
        assert_eq!(p99(samples), Some(198.0));
        let pulses = Pulses::default();
        let id = PerformanceId(uuid::Uuid::nil());
        for _ in 0..10 {
            pulses.note_hold(id, Duration::from_millis(7));
        }
        assert_eq!(pulses.take(id, Millis(1)).hold_p99_ms, Some(7.0));
        assert_eq!(pulses.take(id, Millis(2)).hold_p99_ms, None, "told once");
    }
}
