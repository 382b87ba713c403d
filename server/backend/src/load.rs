//! How busy this process is, and whom it turns away when it is too busy.
//!
//! A server that takes more than it can do answers everybody late; one that turns some away at once answers
//! the others in time. What is measured is what hurts first: how late the process's own timers fire (busy
//! cores), memory, open connections, and the line of joins. From it follows the share of newcomers that is
//! let through: it falls by a factor while something is beyond its bound and rises by steps otherwise, as
//! congestion control does. Who is inside already, who polls and who pays is never turned away here.

use crate::config::QueueSettings;
use domain::{Code, Refusal};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How often the process is measured.
const EVERY: Duration = Duration::from_millis(100);
/// Weight of a new measurement: a single late timer is no load.
const WEIGHT: f64 = 0.2;
/// The share falls by this factor at each look that finds something beyond its bound.
const FALL: f64 = 0.8;
/// The share rises by this step at each look that finds nothing: back to all within seconds.
const RISE: f64 = 0.03;
/// The least share: some always get through, so that recovery is noticed.
const SHARE_MIN: f64 = 0.02;
/// Part of the connections, or of the line, beyond which newcomers are turned away.
const FULL_BEYOND: f64 = 0.85;
/// Part of the memory that may be used where no bound is set.
const MEMORY_PART: f64 = 0.9;
/// Those who are turned away come again after this time and up to as much again, spread by chance.
const AGAIN_MS: u32 = 2_000;
/// Scale of the share as it is kept.
const SCALE: f64 = 10_000.0;

/// How busy a process is.
pub struct Load {
    lateness_max_ms: f64,
    memory_max: u64,
    /// Share of newcomers that is let through, in ten-thousandths.
    share: AtomicU32,
    /// The greatest of the measurements, as part of its bound, in ten-thousandths.
    pressure: AtomicU32,
    connections: AtomicU64,
    connections_max: AtomicU64,
}

impl Load {
    pub(crate) fn new(settings: &QueueSettings) -> Self {
        let memory_max =
            if settings.shed_memory_bytes > 0 { settings.shed_memory_bytes } else { part(memory_limit(), MEMORY_PART) };
        Self {
            lateness_max_ms: settings.shed_lateness_ms as f64,
            memory_max,
            share: AtomicU32::new(scaled(1.0)),
            pressure: AtomicU32::new(0),
            connections: AtomicU64::new(0),
            connections_max: AtomicU64::new(u64::MAX),
        }
    }

    /// Notes how many connections are open, of how many.
    pub fn note_connections(&self, open: usize, most: usize) {
        self.connections.store(open as u64, Ordering::Relaxed);
        self.connections_max.store(most as u64, Ordering::Relaxed);
    }

    /// Lets a newcomer through, or says when to come again.
    ///
    /// # Errors
    /// `overloaded`, with a time that is spread by chance.
    pub fn admit(&self) -> Result<(), Refusal> {
        let share = self.share.load(Ordering::Relaxed);
        if share >= scaled(1.0) {
            return Ok(());
        }
        let drawn: u64 = rand::random();
        if drawn % u64::from(scaled(1.0)) < u64::from(share) {
            return Ok(());
        }
        metrics::counter!("stararena_joins_shed_total", "why" => "load").increment(1);
        Err(Refusal::new(Code::Overloaded, "the server is very busy: nothing is lost, come again")
            .retry_after_ms(AGAIN_MS + u32::try_from((drawn >> 32) % u64::from(AGAIN_MS)).unwrap_or(0)))
    }

    /// The greatest of the measurements, as part of its bound: above 1 newcomers are turned away.
    pub fn pressure(&self) -> f64 {
        f64::from(self.pressure.load(Ordering::Relaxed)) / SCALE
    }

    /// Spreads a time by up to as much again.
    pub fn spread_ms(&self, ms: u32) -> u32 {
        ms + rand::random::<u32>() % ms.max(1)
    }

    /// One look: the share follows from the pressure.
    fn settle(&self, pressure: f64) {
        self.pressure.store(scaled(pressure), Ordering::Relaxed);
        let share = f64::from(self.share.load(Ordering::Relaxed)) / SCALE;
        let share = if pressure > 1.0 { share * FALL } else { share + RISE };
        let share = share.clamp(SHARE_MIN, 1.0);
        self.share.store(scaled(share), Ordering::Relaxed);
        metrics::gauge!("stararena_admitted_share").set(share);
        metrics::gauge!("stararena_load_pressure").set(pressure);
    }

    fn pressure_now(&self, lateness_ms: f64, line: f64) -> f64 {
        let open = self.connections.load(Ordering::Relaxed) as f64;
        let most = self.connections_max.load(Ordering::Relaxed) as f64;
        let memory = resident_bytes() as f64 / self.memory_max.max(1) as f64;
        [lateness_ms / self.lateness_max_ms, open / most / FULL_BEYOND, line / FULL_BEYOND, memory]
            .into_iter()
            .fold(0.0, f64::max)
    }

    /// Measures until stopped. `line` says how full the longest line of joins is.
    pub(crate) async fn watch(&self, line: impl Fn() -> f64, stop: &CancellationToken) {
        let mut lateness_ms = 0.0;
        loop {
            let asked = Instant::now();
            tokio::select! {
                () = tokio::time::sleep(EVERY) => {}
                () = stop.cancelled() => return,
            }
            let late_ms = asked.elapsed().saturating_sub(EVERY).as_secs_f64() * 1_000.0;
            lateness_ms += WEIGHT * (late_ms - lateness_ms);
            self.settle(self.pressure_now(lateness_ms, line()));
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to what fits")]
fn scaled(value: f64) -> u32 {
    (value.clamp(0.0, 100_000.0) * SCALE) as u32
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a part of a number of bytes"
)]
fn part(bytes: u64, part: f64) -> u64 {
    (bytes as f64 * part) as u64
}

/// Memory that this process holds; 0 where the system does not say.
fn resident_bytes() -> u64 {
    const PAGE_BYTES: u64 = 4_096;
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).map_or(0, |pages| pages * PAGE_BYTES)
}

/// What the machine, or the group that this process is in, allows.
fn memory_limit() -> u64 {
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|text| text.trim().parse().ok());
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?.trim().to_owned();
        line.strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1_024)
    });
    [group, machine].into_iter().flatten().min().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    fn load() -> Load {
        Load::new(&Config::read(|_| None).unwrap().queue)
    }

    fn admitted(load: &Load) -> usize {
        (0..10_000).filter(|_| load.admit().is_ok()).count()
    }

    #[test]
    fn a_calm_process_turns_nobody_away() {
        let load = load();
        load.settle(0.9);
        assert_eq!(admitted(&load), 10_000);
    }

    #[test]
    fn the_share_falls_under_pressure_and_comes_back() {
        let load = load();
        for _ in 0..5 {
            load.settle(1.5);
        }
        let few = admitted(&load);
        assert!((2_900..3_700).contains(&few), "0.8 to the fifth of all: {few}");
        for _ in 0..100 {
            load.settle(3.0);
        }
        assert!((100..400).contains(&admitted(&load)), "some always get through");
        for _ in 0..40 {
            load.settle(0.5);
        }
        assert_eq!(admitted(&load), 10_000);
    }

    #[test]
    fn who_is_turned_away_is_told_a_time_of_ones_own() {
        let load = load();
        for _ in 0..100 {
            load.settle(3.0);
        }
        let times: std::collections::BTreeSet<u32> =
            (0..1_000).filter_map(|_| load.admit().err()?.retry_after_ms).collect();
        assert!(times.len() > 500, "{}", times.len());
        assert!(times.iter().all(|ms| (AGAIN_MS..2 * AGAIN_MS).contains(ms)));
    }

    #[test]
    fn each_measurement_alone_can_press() {
        let load = load();
        load.note_connections(10, 100);
        assert!(load.pressure_now(0.0, 0.0) < 1.0);
        assert!(load.pressure_now(300.0, 0.0) > 1.0);
        assert!(load.pressure_now(0.0, 0.9) > 1.0);
        load.note_connections(90, 100);
        assert!(load.pressure_now(0.0, 0.0) > 1.0);
        let small = Load { memory_max: 1, ..self::load() };
        assert!(small.pressure_now(0.0, 0.0) > 1.0);
    }
}
