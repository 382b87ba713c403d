//! The circuit before one server: how many calls may wait for it, and when it is not asked at all.
//!
//! A server that hangs would otherwise collect every caller for the length of a time-out. After a few
//! failures in a row the circuit opens: callers are told at once, and one of them is let through now
//! and then to see whether the server is back.

use metrics::{Counter, Gauge, counter, gauge};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Most calls of this process that wait for one server's answer. A server that answers 20,000 scripts
/// a second has done so many in 50 ms: whoever comes behind them is better told to come again.
pub(crate) const CALLS_MAX: usize = 1_024;
/// Failures in a row that open the circuit: one lost connection alone must not.
const FAILURES_TO_OPEN: u32 = 5;
/// Failures further apart than this are not in a row.
const FAILURES_WITHIN: Duration = Duration::from_secs(5);
/// How often one call is let through an open circuit.
const PROBE_EVERY: Duration = Duration::from_millis(250);

/// Why a call was not let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turned {
    /// The circuit is open.
    Open,
    /// As many as allowed wait already.
    Full,
}

/// What a call came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The server answered, whatever it said.
    Answered,
    /// It could not be reached, did not answer in time, or can't serve yet.
    Away,
}

/// One server's circuit.
pub(super) struct Circuit {
    waiting: AtomicUsize,
    /// Whether there is anything in `trouble`: the way of a healthy server takes no lock.
    troubled: AtomicBool,
    trouble: Mutex<Trouble>,
    calls: Gauge,
    open: Gauge,
    turned_open: Counter,
    turned_full: Counter,
}

#[derive(Default)]
struct Trouble {
    failures: u32,
    last: Option<Instant>,
    /// While the circuit is open: when the next call is let through.
    probe_at: Option<Instant>,
}

/// A call that was let through; it counts as waiting until this is dropped.
pub(super) struct Pass<'a> {
    circuit: &'a Circuit,
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.circuit.waiting.fetch_sub(1, Ordering::Relaxed);
        self.circuit.calls.decrement(1.0);
    }
}

impl Circuit {
    /// A closed circuit before the named server.
    pub(super) fn new(server: &str) -> Self {
        let server = server.to_owned();
        Self {
            waiting: AtomicUsize::new(0),
            troubled: AtomicBool::new(false),
            trouble: Mutex::default(),
            calls: gauge!("stararena_redis_calls", "server" => server.clone()),
            open: gauge!("stararena_redis_circuit_open", "server" => server),
            turned_open: counter!("stararena_redis_calls_turned_away_total", "reason" => "open"),
            turned_full: counter!("stararena_redis_calls_turned_away_total", "reason" => "full"),
        }
    }

    /// Lets a call through, or turns it away.
    pub(super) fn enter(&self, now: Instant) -> Result<Pass<'_>, Turned> {
        if self.troubled.load(Ordering::Acquire) {
            let mut trouble = self.trouble();
            if let Some(probe_at) = trouble.probe_at {
                if now < probe_at {
                    self.turned_open.increment(1);
                    return Err(Turned::Open);
                }
                trouble.probe_at = Some(now + PROBE_EVERY);
            }
        }
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= CALLS_MAX {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            self.turned_full.increment(1);
            return Err(Turned::Full);
        }
        self.calls.increment(1.0);
        Ok(Pass { circuit: self })
    }

    /// Notes what a call came to; whether that opened the circuit.
    pub(super) fn settle(&self, verdict: Verdict, now: Instant) -> bool {
        match verdict {
            Verdict::Answered if !self.troubled.load(Ordering::Acquire) => false,
            Verdict::Answered => {
                *self.trouble() = Trouble::default();
                self.troubled.store(false, Ordering::Release);
                self.open.set(0.0);
                false
            }
            Verdict::Away => {
                let mut trouble = self.trouble();
                self.troubled.store(true, Ordering::Release);
                let in_row = trouble.last.is_some_and(|last| now.duration_since(last) <= FAILURES_WITHIN);
                trouble.failures = if in_row { trouble.failures.saturating_add(1) } else { 1 };
                trouble.last = Some(now);
                if trouble.failures < FAILURES_TO_OPEN {
                    return false;
                }
                let opens = trouble.probe_at.is_none();
                trouble.probe_at = Some(now + PROBE_EVERY);
                self.open.set(1.0);
                opens
            }
        }
    }

    fn trouble(&self) -> MutexGuard<'_, Trouble> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fail(circuit: &Circuit, now: Instant, times: u32) -> bool {
        (0..times).fold(false, |_, _| {
            drop(circuit.enter(now));
            circuit.settle(Verdict::Away, now)
        })
    }

    #[test]
    fn it_opens_after_failures_in_a_row_and_closes_with_the_first_answer() {
        let (circuit, start) = (Circuit::new("test"), Instant::now());
        assert!(!fail(&circuit, start, FAILURES_TO_OPEN - 1));
        assert!(circuit.enter(start).is_ok(), "four failures are not enough");
        assert!(fail(&circuit, start, 1), "the fifth opens it");
        assert_eq!(circuit.enter(start).err(), Some(Turned::Open));
        let later = start + PROBE_EVERY;
        assert!(circuit.enter(later).is_ok(), "one probe");
        assert_eq!(circuit.enter(later).err(), Some(Turned::Open), "and no second");
        assert!(!circuit.settle(Verdict::Away, later), "it was open before");
        let last = later + PROBE_EVERY;
        assert!(circuit.enter(last).is_ok());
        circuit.settle(Verdict::Answered, last);
        assert!(circuit.enter(last).is_ok(), "closed again");
        assert!(!fail(&circuit, last, FAILURES_TO_OPEN - 1), "and it counts from the beginning");
    }

    #[test]
    fn failures_between_which_the_server_answered_or_long_passed_are_not_in_a_row() {
        let (circuit, start) = (Circuit::new("test"), Instant::now());
        for _ in 0..FAILURES_TO_OPEN {
            fail(&circuit, start, FAILURES_TO_OPEN - 1);
            circuit.settle(Verdict::Answered, start);
        }
        assert!(circuit.enter(start).is_ok());
        for step in 0..FAILURES_TO_OPEN {
            assert!(!fail(&circuit, start + (FAILURES_WITHIN + PROBE_EVERY) * step, 1));
        }
    }

    #[test]
    fn so_many_wait_and_no_more() {
        let (circuit, now) = (Circuit::new("test"), Instant::now());
        let mut passes: Vec<_> = (0..CALLS_MAX).map(|_| circuit.enter(now).unwrap_or_else(|_| panic!())).collect();
        assert_eq!(circuit.enter(now).err(), Some(Turned::Full));
        passes.pop();
        assert!(circuit.enter(now).is_ok());
    }
}
