//! The minutely look at money that stands still: what should have moved by itself is poked, counted for alarms,
//! and put before operators when an hour of that did not help. And the days that are to be matched.
//!
//! Every worker does all of it: pokes and notes are the same however many make them, and the day of a provider
//! is taken by one.

use crate::backend::Backend;
use crate::error::Result;
use crate::postgres::stuck;
use domain::Millis;
use domain::settlement::schedule::day_of;
use domain::settlement::stuck::{StuckKind, TELL_AFTER_MS};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Their names for metrics.
const SWEEP: &str = "money sweep";
const MATCH: &str = "settlement";
/// How often it is looked.
const EVERY: Duration = Duration::from_secs(60);
/// Most that is found of one kind: beyond that the number says enough.
const FOUND_MAX: i64 = 1_000;
/// What stands in place of a provider where none has to do with it.
const HOME: &str = "stararena";

/// Starts both looks.
pub(super) fn spawn_all(tasks: &mut JoinSet<()>, backend: &Arc<Backend>, stop: &CancellationToken) {
    tasks.spawn(sweep(Arc::clone(backend), stop.clone()));
    tasks.spawn(match_days(Arc::clone(backend), stop.clone()));
}

async fn sweep(backend: Arc<Backend>, stop: CancellationToken) {
    super::went_well(SWEEP, backend.now());
    while pause(&stop).await {
        if let Err(error) = super::told(&backend, SWEEP, backend.sweep_money()).await {
            interrupted(SWEEP, &error);
        }
    }
}

async fn match_days(backend: Arc<Backend>, stop: CancellationToken) {
    super::went_well(MATCH, backend.now());
    while pause(&stop).await {
        loop {
            match super::told(&backend, MATCH, backend.match_due_day()).await {
                Ok(true) if !stop.is_cancelled() => {}
                Ok(_) => break,
                Err(error) => {
                    interrupted(MATCH, &error);
                    break;
                }
            }
        }
    }
}

/// Waits until it is time; `false` when it is time to stop.
async fn pause(stop: &CancellationToken) -> bool {
    tokio::select! {
        () = tokio::time::sleep(EVERY) => true,
        () = stop.cancelled() => false,
    }
}

fn interrupted(job: &'static str, error: &crate::Error) {
    metrics::counter!("stararena_job_failures_total", "job" => job).increment(1);
    tracing::warn!(job, error = error as &dyn std::error::Error, "a job was interrupted; it goes on by itself");
}

impl Backend {
    /// Looks for money that stands still, and pokes it; how much there is of each kind.
    ///
    /// # Errors
    /// Outages only: the last of them, when everything else was done.
    pub async fn sweep_money(&self) -> Result<Vec<(StuckKind, usize)>> {
        let now = self.now();
        let (mut counts, mut failure) = (Vec::new(), None);
        for kind in StuckKind::ALL {
            match self.sweep_kind(*kind, now).await {
                Ok(found) => counts.push((*kind, found)),
                Err(error) => failure = Some(error),
            }
        }
        let told = stuck::tell(&self.pg, now.plus(-TELL_AFTER_MS), now, day_of(now), HOME).await;
        for outcome in [told, stuck::untell(&self.pg, now).await] {
            if let Err(error) = outcome {
                failure = Some(error.into());
            }
        }
        failure.map_or(Ok(counts), Err)
    }

    /// The number is told also when nothing else could be done about it.
    #[expect(clippy::cast_precision_loss, reason = "counts of rows are far below 2^52")]
    async fn sweep_kind(&self, kind: StuckKind, now: Millis) -> Result<usize> {
        let grace_ms = if kind == StuckKind::Attempt { self.config.provider_grace_ms } else { 0 };
        let before = now.plus(-kind.allowed_ms() - grace_ms);
        let found = stuck::find(&self.pg, kind, before, FOUND_MAX).await?;
        metrics::gauge!("stararena_money_stuck", "kind" => kind.as_str()).set(found.len() as f64);
        if !found.is_empty() {
            stuck::poke(&self.pg, kind, &found, now).await?;
            stuck::remember(&self.pg, kind, &found, now).await?;
            self.wake_for(kind);
        }
        stuck::forget(&self.pg, kind, &found).await?;
        Ok(found.len())
    }

    fn wake_for(&self, kind: StuckKind) {
        match kind {
            StuckKind::Attempt | StuckKind::Refund | StuckKind::Quarantine => self.wake.query.notify_one(),
            StuckKind::Issue => self.wake.issue.notify_one(),
            StuckKind::Inbox => self.wake.inbox.notify_one(),
            StuckKind::Outbox => self.wake.outbox.notify_one(),
        }
    }
}
