//! Forgets what is kept for a while only: any number of workers share it.

use crate::backend::Backend;
use crate::error::Result;
use crate::postgres::setbacks;
use futures::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How often it looks: what it forgets was kept for minutes or longer.
const EVERY: Duration = Duration::from_secs(60);

/// Forgets some; whether there may be more.
type Step<'a> = BoxFuture<'a, Result<bool>>;

/// Starts all of it, each by itself.
pub(super) fn spawn_all(tasks: &mut JoinSet<()>, backend: &Arc<Backend>, stop: &CancellationToken) {
    let (b, s) = (Arc::clone(backend), stop.clone());
    tasks.spawn(async move { repeat("forget keys", &b, &s, |b| Box::pin(b.forget_keys())).await });
    let (b, s) = (Arc::clone(backend), stop.clone());
    tasks.spawn(async move { repeat("forget setbacks", &b, &s, |b| Box::pin(forget_setbacks(b))).await });
}

/// Forgets until stopped.
async fn repeat(
    job: &'static str,
    backend: &Arc<Backend>,
    stop: &CancellationToken,
    step: impl Fn(&Arc<Backend>) -> Step<'_>,
) {
    super::went_well(job, backend.now());
    let mut every = tokio::time::interval(EVERY);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = every.tick() => {}
            () = stop.cancelled() => return,
        }
        loop {
            match super::told(backend, job, step(backend)).await {
                Ok(true) if !stop.is_cancelled() => {}
                Ok(_) => break,
                Err(error) => {
                    metrics::counter!("stararena_job_failures_total", "job" => job).increment(1);
                    tracing::warn!(
                        job,
                        error = &error as &dyn std::error::Error,
                        "what is old could not be forgotten yet"
                    );
                    break;
                }
            }
        }
    }
}

/// What failed once and is tried no more: all in one statement.
async fn forget_setbacks(backend: &Arc<Backend>) -> Result<bool> {
    setbacks::forget(&backend.pg, backend.now()).await?;
    Ok(false)
}
