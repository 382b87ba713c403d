//! The leader's look at the invariants: the trial balance and the checks of the whole system, once in some minutes, as
//! gauges for alarms. What people run as `stararena doctor` says more, and looks at Redis, too.

use crate::audit::{Check, Finding, Scope, checks};
use crate::backend::Backend;
use crate::error::Result;
use crate::postgres::audited;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Audits until stopped. A check that the stop cuts short has only read.
pub(super) async fn keep(backend: Arc<Backend>, stop: CancellationToken) {
    let every = Duration::from_millis(backend.config.audit_every_ms.unsigned_abs());
    loop {
        tokio::select! {
            () = tokio::time::sleep(every) => {}
            () = stop.cancelled() => break,
        }
        let told = tokio::select! {
            told = tell(&backend) => told,
            () = stop.cancelled() => break,
        };
        let outcome = if told.is_ok() { "done" } else { "failed" };
        metrics::counter!("stararena_audits_total", "outcome" => outcome).increment(1);
        if let Err(error) = told {
            tracing::warn!(error = &error as &dyn std::error::Error, "some invariants could not be checked");
        }
    }
    // Whoever leads next looks anew: what this process saw last would be told for ever.
    for check in checks().into_iter().filter(|check| check.scope == Scope::System) {
        breaches(check, 0);
    }
}

/// Tells the trial balance, and what the checks of the whole system found.
async fn tell(backend: &Backend) -> Result<()> {
    let balances = audited::balances(&backend.pg).await?;
    balances.into_iter().for_each(|(currency, minor)| balance(currency, minor));
    backend.tell_system(|Finding { check, count, .. }| breaches(*check, *count)).await
}

#[expect(clippy::cast_precision_loss, reason = "what is not zero is an alarm, whatever its last digits")]
fn balance(currency: String, minor: i64) {
    metrics::gauge!("stararena_books_balance_minor", "currency" => currency).set(minor as f64);
}

#[expect(clippy::cast_precision_loss, reason = "counts of rows are far below 2^52")]
fn breaches(check: Check, count: usize) {
    let Check { invariant, title, .. } = check;
    metrics::gauge!("stararena_invariant_breaches", "invariant" => invariant, "check" => title).set(count as f64);
}
