//! When something is tried again, and the wait until then, which a bell can end early.

use gloo_timers::future::TimeoutFuture;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// Each wait is stretched by up to this part of itself, so that clients don't fall into step.
pub(super) const JITTER: f64 = 0.3;
/// The first wait after a failure; doubles up to [`RETRY_MAX_MS`].
const RETRY_MS: f64 = 1_000.0;
/// The longest wait after failures: who comes back after a long outage is on the page again within it.
const RETRY_MAX_MS: f64 = 30_000.0;
/// Doublings until the longest wait is reached.
const DOUBLINGS_MAX: u32 = 5;
/// The longest wait that a server can ask for: an answer that says more is a mistake.
const TOLD_MAX_MS: f64 = 300_000.0;

/// When something is tried next: later after each failure, never before the server wants it. All times are
/// milliseconds of the page's own clock, `spread` a number from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tries {
    failures: u32,
    next_ms: f64,
    not_before_ms: f64,
}

impl Tries {
    /// Whether it is time.
    pub(super) fn is_due(&self, now_ms: f64) -> bool {
        now_ms >= self.next_ms
    }

    /// How long until it is time.
    pub(super) fn left_ms(&self, now_ms: f64) -> f64 {
        (self.next_ms - now_ms).max(0.0)
    }

    /// It went well; the next time is then.
    pub(super) fn succeeded(&mut self, next_ms: f64) {
        *self = Self { failures: 0, next_ms, not_before_ms: 0.0 };
    }

    /// It is tried again after this time, and nothing was wrong.
    pub(super) fn wait(&mut self, now_ms: f64, wait_ms: f64, spread: f64) {
        self.succeeded(now_ms + wait_ms.clamp(0.0, TOLD_MAX_MS) * (1.0 + JITTER * spread));
        self.not_before_ms = self.next_ms;
    }

    /// It failed; `told_ms` is how long the server wants to be left alone.
    pub(super) fn failed(&mut self, now_ms: f64, told_ms: Option<u32>, spread: f64) {
        self.failures = self.failures.saturating_add(1);
        let doubled = RETRY_MS * f64::from(1_u32 << (self.failures - 1).min(DOUBLINGS_MAX));
        let backoff = doubled.min(RETRY_MAX_MS) * (0.5 + spread);
        let told = told_ms.map_or(0.0, |ms| f64::from(ms).min(TOLD_MAX_MS) * (1.0 + JITTER * spread));
        self.not_before_ms = now_ms + told;
        self.next_ms = now_ms + backoff.max(told);
    }

    /// Something changed that makes a try worthwhile now, unless the server asked for patience.
    pub(super) fn sooner(&mut self, now_ms: f64) {
        self.next_ms = self.next_ms.min(now_ms.max(self.not_before_ms));
    }

    /// There is no sense in trying again.
    pub(super) fn never_again(&mut self) {
        (self.next_ms, self.not_before_ms) = (f64::INFINITY, f64::INFINITY);
    }
}

/// Ends a wait early: rung when the page is seen again, or the network is back. Browsers hold back the
/// timers of pages that nobody sees, and a device that slept has missed them all.
#[derive(Clone, Default)]
pub(super) struct Bell(Rc<Clapper>);

#[derive(Default)]
struct Clapper {
    rung: Cell<bool>,
    waiting: RefCell<Option<Waker>>,
}

impl Bell {
    /// Ends the present wait, or the next one.
    pub(super) fn ring(&self) {
        self.0.rung.set(true);
        if let Some(waker) = self.0.waiting.take() {
            waker.wake();
        }
    }

    /// Waits so long, or until the bell rings: whether it rang.
    pub(super) async fn wait(&self, ms: u32) -> bool {
        let mut timer = pin!(TimeoutFuture::new(ms));
        poll_fn(|context| {
            if self.0.rung.take() {
                return Poll::Ready(true);
            }
            self.0.waiting.replace(Some(context.waker().clone()));
            timer.as_mut().poll(context).map(|()| false)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_stay_bounded() {
        let mut tries = Tries::default();
        assert!(tries.is_due(0.0));
        let mut before = 0.0;
        for _ in 0..5 {
            tries.failed(0.0, None, 0.5);
            let left = tries.left_ms(0.0);
            assert!(left > before, "{left} after {before}");
            before = left;
        }
        for _ in 0..100 {
            tries.failed(0.0, None, 1.0);
        }
        assert!(tries.left_ms(0.0) <= RETRY_MAX_MS * 1.5);
        tries.succeeded(7.0);
        tries.failed(0.0, None, 0.0);
        assert!((tries.left_ms(0.0) - RETRY_MS / 2.0).abs() < 1e-9);
    }

    #[test]
    fn the_server_is_never_asked_before_it_wants_to_be() {
        for spread in [0.0, 0.3, 1.0] {
            let mut tries = Tries::default();
            tries.failed(100.0, Some(5_000), spread);
            tries.sooner(200.0);
            assert!(!tries.is_due(5_099.0));
            assert!(tries.is_due(100.0 + 5_000.0 * (1.0 + JITTER)));
        }
        let mut tries = Tries::default();
        tries.failed(100.0, None, 1.0);
        tries.sooner(200.0);
        assert!(tries.is_due(200.0));
        tries.never_again();
        tries.sooner(300.0);
        assert!(!tries.is_due(1e12));
    }
}
