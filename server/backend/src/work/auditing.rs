//! The leader's look at the invariants: the trial balance and the checks of the whole system, once in some minutes, as
//! gauges for alarms. What people run as `stararena doctor` says more, and looks at Redis, too.

use crate::audit::{Check, Finding, Scope, checks};
use crate::backend::Backend;
use crate::error::Result;
use crate::postgres::audited;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Audits until stopped, at once at first. A check that the stop cuts short has only read.
pub(super) async fn keep(backend: Arc<Backend>, stop: CancellationToken) {
    let every = Duration::from_millis(backend.config.audit_every_ms.unsigned_abs());
    // The alarm on too few audits goes by it, and sees the first one when the count began before it.
    metrics::gauge!("stararena_audit_every_seconds").set(every.as_secs_f64());
    metrics::counter!("stararena_audits_total", "outcome" => "done").increment(0);
    let mut told = Told::default();
    loop {
        let outcome = tokio::select! {
            outcome = super::caught(told.tell(&backend)) => outcome,
            () = stop.cancelled() => return,
        };
        let word = if outcome.is_ok() { "done" } else { "failed" };
        metrics::counter!("stararena_audits_total", "outcome" => word).increment(1);
        if let Err(error) = outcome {
            tracing::warn!(error = &error as &dyn std::error::Error, "some invariants could not be checked");
        }
        tokio::select! {
            () = tokio::time::sleep(every) => {}
            () = stop.cancelled() => return,
        }
    }
}

/// What this process tells.
#[derive(Default)]
struct Told {
    /// Of which currencies it told a balance.
    currencies: BTreeSet<String>,
}

impl Told {
    /// Tells the trial balance, and what the checks of the whole system found. What can't be looked at hides nothing
    /// else, and is the error.
    async fn tell(&mut self, backend: &Backend) -> Result<()> {
        let balances = audited::balances(&backend.pg).await.map(|balances| self.balances(balances));
        backend.tell_system(|Finding { check, count, .. }| breaches(*check, *count)).await?;
        Ok(balances?)
    }

    fn balances(&mut self, balances: Vec<(String, i64)>) {
        let before = std::mem::take(&mut self.currencies);
        for (currency, minor) in balances {
            balance(&currency, minor);
            self.currencies.insert(currency);
        }
        // One without entries is balanced.
        before.difference(&self.currencies).for_each(|currency| balance(currency, 0));
    }
}

/// Whoever leads next looks anew: what this process saw last would be told for ever.
impl Drop for Told {
    fn drop(&mut self) {
        self.currencies.iter().for_each(|currency| balance(currency, 0));
        for check in checks().into_iter().filter(|check| check.scope == Scope::System) {
            breaches(check, 0);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "what is not zero is an alarm, whatever its last digits")]
fn balance(currency: &str, minor: i64) {
    metrics::gauge!("stararena_books_balance_minor", "currency" => currency.to_owned()).set(minor as f64);
}

#[expect(clippy::cast_precision_loss, reason = "counts of rows are far below 2^52")]
fn breaches(check: Check, count: usize) {
    let Check { invariant, title, .. } = check;
    metrics::gauge!("stararena_invariant_breaches", "invariant" => invariant, "check" => title).set(count as f64);
}
