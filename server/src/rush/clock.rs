//! The run's own time line, and the server's clock on it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use domain::Millis;
use tokio::time::Instant;

/// Microseconds since the start of the run, and where the server's clock lies on that line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    start: Instant,
    /// What the server's clock showed at `start`.
    server_start: Millis,
}

impl Clock {
    /// Starts the line; the server's clock is taken to be this machine's until it is measured.
    pub(super) fn start() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { start: Instant::now(), server_start: Millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX)) }
    }

    /// Takes the server's clock from an answer to a request that took from `sent_us` to `ended_us`.
    pub(super) fn set_server(&mut self, server_now: Millis, sent_us: u64, ended_us: u64) {
        let middle_ms = i64::try_from((sent_us + ended_us) / 2 / 1_000).unwrap_or(i64::MAX);
        self.server_start = server_now.plus(-middle_ms);
    }

    pub(super) fn now_us(&self) -> u64 {
        self.us(Instant::now())
    }

    /// An instant on the line; 0 before its start.
    pub(super) fn us(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.start).as_micros()).unwrap_or(u64::MAX)
    }

    /// An instant of the server's clock on the line; 0 before its start.
    pub(super) fn at(&self, server: Millis) -> u64 {
        u64::try_from(self.server_start.until(server)).unwrap_or(0).saturating_mul(1_000)
    }

    /// How long the run has lasted.
    pub(super) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_clock_is_placed_on_the_line() {
        let mut clock = Clock::start();
        clock.set_server(Millis(1_000_000), 2_000, 4_000);
        assert_eq!(clock.at(Millis(1_000_000)), 3_000);
        assert_eq!(clock.at(Millis(1_001_000)), 1_003_000);
        assert_eq!(clock.at(Millis(1)), 0);
        assert_eq!(clock.us(clock.start), 0);
    }
}
