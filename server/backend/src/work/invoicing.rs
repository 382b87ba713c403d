//! Numbers for invoices and credit notes: the leader's duty, so that one process gives them. Where two believe
//! to lead for a moment, the lock on an organization's sequence lets one of them through at a time.

use crate::backend::Backend;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Its name for metrics.
const JOB: &str = "invoices";
/// How often it looks: a number is there within a second of the payment.
const EVERY: Duration = Duration::from_millis(500);
/// The pause after a failure doubles up to this many times, so that what can't get a number fills no log.
const DOUBLINGS_MAX: u32 = 7;

/// Gives numbers until stopped.
pub(super) async fn keep(backend: Arc<Backend>, stop: CancellationToken) {
    let mut failures = 0_u32;
    super::went_well(JOB, backend.now());
    while !stop.is_cancelled() {
        match super::told(&backend, JOB, backend.assign_numbers()).await {
            Ok(true) => {
                failures = 0;
                continue;
            }
            Ok(false) => failures = 0,
            Err(error) => {
                failures = (failures + 1).min(DOUBLINGS_MAX);
                metrics::counter!("stararena_job_failures_total", "job" => JOB).increment(1);
                tracing::warn!(error = &error as &dyn std::error::Error, "documents could not get their numbers yet");
            }
        }
        tokio::select! {
            () = tokio::time::sleep(EVERY * 2_u32.pow(failures)) => {}
            () = stop.cancelled() => {}
        }
    }
}
