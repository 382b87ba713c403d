//! Forgets what is kept for a while only: any number of workers share it.

use crate::backend::Backend;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How often it looks: what it forgets was kept for a day or longer.
const EVERY: Duration = Duration::from_secs(60);

/// Forgets clients' keys until stopped.
pub(super) async fn forget_keys(backend: Arc<Backend>, stop: CancellationToken) {
    let mut every = tokio::time::interval(EVERY);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = every.tick() => {}
            () = stop.cancelled() => return,
        }
        loop {
            match backend.forget_keys().await {
                Ok(true) if !stop.is_cancelled() => {}
                Ok(_) => break,
                Err(error) => {
                    metrics::counter!("stararena_job_failures_total", "job" => "forget keys").increment(1);
                    tracing::warn!(error = &error as &dyn std::error::Error, "old keys could not be forgotten yet");
                    break;
                }
            }
        }
    }
}
