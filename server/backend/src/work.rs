//! The workers: everything that must happen although nobody asks.
//!
//! Each is a reconciler: without input, idempotent, periodic and poked, with one code path for "now"
//! and "again after a crash". Duties over one log (writer, sweeper, door, rebuild) belong to one
//! leader with a term that the stores verify; jobs over rows are shared by all workers through
//! `for update skip locked`.

mod auditing;
mod door;
mod drawing;
pub(crate) mod guardian;
mod invoicing;
mod jobs;
mod leader;
mod money_sweep;
mod outbox;
mod pass;
mod reconciler;
pub(crate) mod sweeper;
mod tidying;
pub(crate) mod writer;

pub use pass::Setback;
pub use reconciler::Reconciled;

use crate::backend::Backend;
use crate::error::{Error, Result};
use domain::Millis;
use futures::FutureExt as _;
use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How long a stop waits for the step under way.
const STOP_TIMEOUT: Duration = Duration::from_secs(8);
/// How long a sale's orders may still be under way after its end: provider deadlines and retries.
pub(crate) const AFTER_SALE_MS: i64 = 24 * 3_600_000;

/// The running workers of one process.
pub struct Workers {
    tasks: JoinSet<()>,
    stop: CancellationToken,
}

impl Workers {
    /// Starts all workers.
    pub fn start(backend: &Arc<Backend>) -> Self {
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(leader::lead(Arc::clone(backend), stop.clone()));
        jobs::spawn_all(&mut tasks, backend, &stop);
        outbox::spawn_all(&mut tasks, backend, &stop);
        tidying::spawn_all(&mut tasks, backend, &stop);
        money_sweep::spawn_all(&mut tasks, backend, &stop);
        Self { tasks, stop }
    }

    /// Stops them: each ends the step that it is in, within a bound.
    pub async fn stop(mut self) {
        self.stop.cancel();
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(STOP_TIMEOUT, all).await.is_err() {
            // Every step is safe to be cut: that is what a crash would do.
            self.tasks.abort_all();
        }
    }
}

/// A step of a duty. A panic in it is a failure like any other: the duty goes on, and nothing of what it keeps between
/// its steps decides about money or seats.
async fn caught<T>(step: impl Future<Output = Result<T>>) -> Result<T> {
    match AssertUnwindSafe(step).catch_unwind().await {
        Ok(outcome) => outcome,
        Err(panic) => {
            let why = panic_text(&*panic);
            tracing::error!(why, "a step ended in a panic; it is made again");
            Err(Error::Broken(format!("a step ended in a panic: {why}")))
        }
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "of no text".to_owned())
}

/// A step of a job, which tells when it last went well.
async fn told<T>(backend: &Backend, job: &'static str, step: impl Future<Output = Result<T>>) -> Result<T> {
    let outcome = caught(step).await;
    if outcome.is_ok() {
        went_well(job, backend.now());
    }
    outcome
}

/// Tells that a job went well, or begins: an alarm rings when that was too long ago, however slowly it fails.
#[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 are far below 2^52")]
fn went_well(job: &'static str, now: Millis) {
    metrics::gauge!("stararena_job_done_timestamp_seconds", "job" => job).set(now.0 as f64 / 1_000.0);
}

/// Keeps the revocations of sessions fresh: every serving process runs it.
pub(crate) async fn watch_revocations(backend: Arc<Backend>, stop: CancellationToken) {
    /// "Signed out everywhere" takes effect within five seconds.
    const EVERY: Duration = Duration::from_secs(2);
    let mut every = tokio::time::interval(EVERY);
    loop {
        tokio::select! {
            _ = every.tick() => {}
            () = stop.cancelled() => return,
        }
        if let Err(error) = backend.refresh_revoked().await {
            tracing::warn!(error = &error as &dyn std::error::Error, "revoked sessions could not be read");
        }
    }
}

/// Measures how long a connection to Postgres is waited for: the door's controller lets fewer in when it is long.
async fn watch_pool(backend: Arc<Backend>, stop: CancellationToken) {
    const EVERY: Duration = Duration::from_secs(1);
    let mut every = tokio::time::interval(EVERY);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = every.tick() => {}
            () = stop.cancelled() => return,
        }
        let asked = std::time::Instant::now();
        // An outage is as long a wait as one can have.
        drop(backend.pg.acquire().await);
        backend.pulses.note_pool_wait(asked.elapsed());
    }
}

impl Backend {
    /// How busy this process is.
    pub fn load(&self) -> &Arc<crate::load::Load> {
        &self.load
    }

    /// Starts what every serving process keeps up by itself, until `stop`.
    pub fn start_serving(self: &Arc<Self>, stop: CancellationToken) {
        tokio::spawn(watch_revocations(Arc::clone(self), stop.clone()));
        tokio::spawn(watch_pool(Arc::clone(self), stop.clone()));
        let this = Arc::clone(self);
        tokio::spawn(async move { this.load.watch(|| this.joining.fullness(), &stop).await });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_a_failure_that_says_why_and_an_outcome_stays_what_it_is() {
        let number = 7;
        let panicked = caught(async { if number > 0 { panic!("a seat without a row") } else { Ok(()) } }).await;
        assert!(panicked.unwrap_err().to_string().ends_with("panic: a seat without a row"));
        let panicked = caught(async { if number > 0 { panic!("seat {number}") } else { Ok(()) } }).await;
        assert!(panicked.unwrap_err().to_string().ends_with("panic: seat 7"));
        assert_eq!(caught(async { Ok(7) }).await.unwrap(), 7);
        let failed = caught::<()>(async { Err(Error::Broken("as it was".to_owned())) }).await;
        assert_eq!(failed.unwrap_err().to_string(), "broken expectation: as it was");
    }
}
