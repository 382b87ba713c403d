//! The application's clock. Seats and queue go by Redis's own clock instead; this one dates rows.

use domain::Millis;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// A source of the current time.
pub trait Clock: Send + Sync + 'static {
    /// The current instant.
    fn now(&self) -> Millis;
}

/// The clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Millis {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// A clock that is off by a chosen amount, or moved by hand: for tests.
#[derive(Debug, Default)]
pub struct ManualClock {
    offset_ms: AtomicI64,
}

impl ManualClock {
    /// Moves the clock by `delta_ms` against the machine's.
    pub fn shift(&self, delta_ms: i64) {
        self.offset_ms.fetch_add(delta_ms, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Millis {
        SystemClock.now().plus(self.offset_ms.load(Ordering::Relaxed))
    }
}
