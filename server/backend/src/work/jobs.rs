//! Jobs over rows: any number of workers share them, and each row is done once.
//!
//! No row holds up another: those that have a schedule of their own are taken by it, one call each; the others go
//! through a [`Pass`], which sets back what fails.

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::postgres::attempts::NotTakenBack;
use crate::postgres::setbacks::{self, Job};
use crate::postgres::{attempts, inbox, log, orders, outbox, quarantine, refunds, returns};
use crate::redis::ShortAnswer;
use crate::work::AFTER_SALE_MS;
use crate::work::pass::{Outcome, Pass};
use domain::order::OrderStatus;
use domain::{OrderId, PerformanceId};
use futures::StreamExt as _;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Calls to the provider at once: a provider has limits of its own.
const PROVIDER_CALLS_MAX: usize = 32;
/// Of these at most about attempts that have ended: those under way go first.
const ENDED_CALLS_MAX: usize = 8;
/// Rows in one look.
const ROWS_MAX: i64 = 100;
/// How often each job looks although nobody poked it.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Starts every job.
pub(super) fn spawn_all(tasks: &mut JoinSet<()>, backend: &Arc<Backend>, stop: &CancellationToken) {
    macro_rules! job {
        ($name:literal, $wake:ident, $step:path) => {
            let (b, s) = (Arc::clone(backend), stop.clone());
            tasks.spawn(async move { repeat($name, &b, &s, |b| &b.wake.$wake, |b| Box::pin($step(b))).await });
        };
    }
    job!("inbox", inbox, inbox_step);
    job!("query", query, query_step);
    job!("ended", query, ended_step);
    job!("issue", issue, issue_step);
    job!("confirm", confirm, confirm_step);
    job!("release", release, release_step);
    job!("take back", query, take_back_step);
    job!("overdue", query, overdue_step);
    job!("refund", query, refund_step);
    job!("quarantine", query, quarantine_step);
    job!("cancelled", query, cancelled_step);
    job!("return", release, return_step);
    job!("kept seats", query, kept_step);
    job!("transfers", query, transfers_step);
    job!("gauges", query, gauges_step);
}

type Step<'a> = futures::future::BoxFuture<'a, Result<bool>>;

/// Runs a step until it says that nothing is left, then waits to be poked, or a little.
async fn repeat(
    name: &'static str,
    backend: &Arc<Backend>,
    stop: &CancellationToken,
    wake: impl Fn(&Backend) -> &Notify,
    step: impl Fn(&Arc<Backend>) -> Step<'_>,
) {
    super::went_well(name, backend.now());
    while !stop.is_cancelled() {
        let more = match super::told(backend, name, step(backend)).await {
            Ok(more) => more,
            Err(error) => {
                metrics::counter!("stararena_job_failures_total", "job" => name).increment(1);
                tracing::debug!(
                    name,
                    error = &error as &dyn std::error::Error,
                    "a job was interrupted; it goes on by itself"
                );
                false
            }
        };
        if more {
            continue;
        }
        tokio::select! {
            () = wake(backend).notified() => {}
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = stop.cancelled() => {}
        }
    }
}

async fn inbox_step(backend: &Arc<Backend>) -> Result<bool> {
    let due = inbox::take_due(&backend.pg, backend.now(), ROWS_MAX).await?;
    let any = !due.is_empty();
    futures::stream::iter(due)
        .for_each_concurrent(PROVIDER_CALLS_MAX, |row| async move {
            let outcome = backend.apply_event(&row).await;
            backend.fault("event-applied");
            let noted = match &outcome {
                Ok(()) => inbox::applied(&backend.pg, &row.provider, &row.event, backend.now()).await,
                Err(error) => inbox::failed(&backend.pg, &row.provider, &row.event, &error.to_string()).await,
            };
            if let Err(error) = noted {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the outcome of an event could not be noted; it is applied again"
                );
            }
        })
        .await;
    Ok(any)
}

async fn query_step(backend: &Arc<Backend>) -> Result<bool> {
    let due = attempts::take_due(&backend.pg, backend.now(), ROWS_MAX).await?;
    let any = !due.is_empty();
    futures::stream::iter(due)
        .for_each_concurrent(PROVIDER_CALLS_MAX, |attempt| async move {
            if let Err(error) = backend.settle(&attempt).await {
                metrics::counter!("stararena_job_failures_total", "job" => "query").increment(1);
                tracing::debug!(attempt = %attempt.id, error = &error as &dyn std::error::Error, "an attempt could not be settled yet");
            }
        })
        .await;
    Ok(any)
}

/// Attempts that have ended, of which the provider may say something else since.
async fn ended_step(backend: &Arc<Backend>) -> Result<bool> {
    let due = backend.due_ended(ROWS_MAX).await?;
    let any = !due.is_empty();
    futures::stream::iter(due)
        .for_each_concurrent(ENDED_CALLS_MAX, |attempt| async move {
            if let Err(error) = backend.ask_about_ended(&attempt).await {
                metrics::counter!("stararena_job_failures_total", "job" => "ended").increment(1);
                tracing::debug!(attempt = %attempt.id, error = &error as &dyn std::error::Error, "an ended attempt could not be asked about yet");
            }
        })
        .await;
    Ok(any)
}

async fn issue_step(backend: &Arc<Backend>) -> Result<bool> {
    Ok(backend.issue_some().await? > 0)
}

async fn confirm_step(backend: &Arc<Backend>) -> Result<bool> {
    let mut pass = Pass::new(backend, Job::Confirm);
    loop {
        let due = orders::unconfirmed(&backend.pg, &pass.left_out(), ROWS_MAX).await?;
        for (order, sale) in &due {
            if !pass.waits(*sale) {
                let outcome = confirm_one(backend, *order, *sale).await;
                pass.take(order.0, *sale, outcome).await?;
            }
        }
        note_all(backend, &mut pass, Mark::Confirmed).await?;
        if !pass.looks_again(due.len(), ROWS_MAX) {
            return pass.end().await;
        }
    }
}

/// Marks the seats of a paid order as sold in Redis.
async fn confirm_one(backend: &Arc<Backend>, order: OrderId, performance: PerformanceId) -> Result<Outcome> {
    let sale = backend.sale(performance).await?;
    backend.fault("before-confirm");
    let answer = backend.seats.confirm(&sale.keys, sale.row.epoch, order).await?;
    backend.fault("after-confirm");
    if matches!(answer, ShortAnswer::No(..)) && !returns::owns_any(&backend.pg, order).await? {
        // All of its seats were given back before they were marked.
        return Ok(Outcome::Done);
    }
    match answer {
        ShortAnswer::Done | ShortAnswer::Again => Ok(Outcome::Done),
        ShortAnswer::Rebuilding => Ok(Outcome::SaleWaits),
        ShortAnswer::No(word, _) => {
            // Paid, and Redis has no such hold: the state is wrong and must be built again. Should that not help, the
            // others of the sale go on until the next try.
            metrics::counter!("stararena_seats_out_of_step_total").increment(1);
            tracing::error!(%order, word, "a paid order has no hold: the state of the sale is built again");
            backend.seats.distrust(&sale.keys).await?;
            Err(Error::Broken(format!("order {order} is paid, but its hold is {word}")))
        }
    }
}

async fn release_step(backend: &Arc<Backend>) -> Result<bool> {
    let mut pass = Pass::new(backend, Job::Release);
    loop {
        let due = orders::unreleased(&backend.pg, &pass.left_out(), ROWS_MAX).await?;
        for (order, sale, status) in &due {
            if !pass.waits(*sale) {
                let outcome = release_one(backend, *order, *sale, *status).await;
                pass.take(order.0, *sale, outcome).await?;
            }
        }
        note_all(backend, &mut pass, Mark::Released).await?;
        if !pass.looks_again(due.len(), ROWS_MAX) {
            return pass.end().await;
        }
    }
}

/// Frees the seats of an order that is over in Redis.
async fn release_one(
    backend: &Arc<Backend>,
    order: OrderId,
    performance: PerformanceId,
    status: OrderStatus,
) -> Result<Outcome> {
    let sale = backend.sale(performance).await?;
    backend.fault("before-release");
    let answer = if status == OrderStatus::Refunded {
        backend.seats.unsell(&sale.keys, sale.row.epoch, order).await?
    } else {
        backend.seats.finish(&sale.keys, sale.row.epoch, order).await?
    };
    backend.fault("after-release");
    match answer {
        ShortAnswer::Done | ShortAnswer::Again => Ok(Outcome::Done),
        // Long after the sale its state is built no more, and nobody holds its seats.
        ShortAnswer::Rebuilding => Ok(Outcome::of(sale.row.closes.plus(AFTER_SALE_MS) <= backend.now())),
        // Nothing is left of it in Redis.
        ShortAnswer::No(word, _) if word == "missing" => Ok(Outcome::Done),
        // Late money has taken its seats, and is decided on: then the order is paid, or this is looked at again.
        ShortAnswer::No(word, _) if word == "reclaiming" => Ok(Outcome::Waits),
        ShortAnswer::No(word, _) => Err(Error::Broken(format!("order {order} is over, but its hold is {word}"))),
    }
}

/// What is noted of orders whose seats Redis was told of.
#[derive(Clone, Copy)]
enum Mark {
    Confirmed,
    Released,
}

impl Mark {
    async fn set(self, backend: &Backend, orders: &[Uuid]) -> sqlx::Result<()> {
        match self {
            Self::Confirmed => orders::set_confirmed(&backend.pg, orders, backend.now()).await,
            Self::Released => orders::set_released(&backend.pg, orders, backend.now()).await,
        }
    }
}

/// Notes what was done, in one statement; where that fails, one by one, so that one that can't be noted holds up no
/// other.
async fn note_all(backend: &Arc<Backend>, pass: &mut Pass<'_>, mark: Mark) -> Result<()> {
    let done = pass.take_done();
    if done.is_empty() || pass.noted(&done, mark.set(backend, &done).await).await? || done.len() == 1 {
        return Ok(());
    }
    for order in done {
        pass.noted(&[order], mark.set(backend, &[order]).await).await?;
    }
    Ok(())
}

/// Seats that were given back, of which Redis does not know yet.
async fn return_step(backend: &Arc<Backend>) -> Result<bool> {
    let mut pass = Pass::new(backend, Job::Return);
    loop {
        let due = returns::due(&backend.pg, &pass.left_out(), ROWS_MAX).await?;
        for (order, sale) in &due {
            if !pass.waits(*sale) {
                let outcome = backend.return_seats(*order, *sale).await.map(Outcome::of);
                pass.take(order.0, *sale, outcome).await?;
            }
        }
        if !pass.looks_again(due.len(), ROWS_MAX) {
            return pass.end().await;
        }
    }
}

/// Attempts whose end Redis was not told, because whoever ended them was interrupted.
async fn take_back_step(backend: &Arc<Backend>) -> Result<bool> {
    let mut pass = Pass::new(backend, Job::TakeBack);
    loop {
        let due = attempts::not_taken_back(&backend.pg, &pass.left_out(), ROWS_MAX).await?;
        let found = due.len();
        for NotTakenBack { id, sale, attempt } in due {
            if pass.waits(sale) {
                continue;
            }
            let outcome = match attempt {
                Ok(attempt) => backend.take_back(&attempt).await.map(Outcome::of),
                Err(error) => Err(error.into()),
            };
            pass.take(id.0, sale, outcome).await?;
        }
        if !pass.looks_again(found, ROWS_MAX) {
            return pass.end().await;
        }
    }
}

/// Orders at a provider whose time is over.
async fn overdue_step(backend: &Arc<Backend>) -> Result<bool> {
    let mut pass = Pass::new(backend, Job::Overdue);
    let mut due = Vec::new();
    for sale in orders::processing(&backend.pg).await? {
        // Ends are instants of the clock of the performance's own server; ours may be off. A server that
        // is away keeps its own orders waiting, and no other's.
        match backend.seats.time_of(sale).await {
            Ok(now) => {
                let orders = orders::overdue(&backend.pg, (sale, now), &pass.left_out(), ROWS_MAX).await?;
                due.extend(orders.into_iter().map(|order| (order, sale, now)));
            }
            Err(error) => {
                metrics::counter!("stararena_job_failures_total", "job" => Job::Overdue.as_str()).increment(1);
                tracing::debug!(%sale, error = &error as &dyn std::error::Error, "Redis's clock can't be read");
            }
        }
    }
    let outcomes: Vec<_> = futures::stream::iter(due)
        .map(|(order, sale, now)| async move { (order, sale, backend.close_overdue(order, now).await) })
        .buffer_unordered(PROVIDER_CALLS_MAX)
        .collect()
        .await;
    for (order, sale, outcome) in outcomes {
        pass.take(order.0, sale, outcome.map(|()| Outcome::Done)).await?;
    }
    pass.end().await
}

async fn refund_step(backend: &Arc<Backend>) -> Result<bool> {
    let due = refunds::take_due(&backend.pg, backend.now(), ROWS_MAX).await?;
    let any = !due.is_empty();
    futures::stream::iter(due)
        .for_each_concurrent(PROVIDER_CALLS_MAX, |refund| async move {
            if let Err(error) = backend.settle_refund(&refund).await {
                metrics::counter!("stararena_job_failures_total", "job" => "refund").increment(1);
                tracing::warn!(refund = %refund.id, error = &error as &dyn std::error::Error, "a refund could not be settled yet");
            }
        })
        .await;
    Ok(any)
}

/// Money that was set aside and waits no more for people.
async fn quarantine_step(backend: &Arc<Backend>) -> Result<bool> {
    let due = backend.due_set_aside(ROWS_MAX).await?;
    let any = !due.is_empty();
    futures::stream::iter(due)
        .for_each_concurrent(PROVIDER_CALLS_MAX, |row| async move {
            if let Err(error) = backend.settle_set_aside(&row).await {
                metrics::counter!("stararena_job_failures_total", "job" => "quarantine").increment(1);
                tracing::warn!(
                    quarantine = row.id,
                    error = &error as &dyn std::error::Error,
                    "money that was set aside could not be returned yet"
                );
            }
        })
        .await;
    Ok(any)
}

/// Orders of cancelled performances.
async fn cancelled_step(backend: &Arc<Backend>) -> Result<bool> {
    backend.refund_cancelled().await
}

/// Kept seats whose time has come, and accessible ones that nobody else can be waiting for.
async fn kept_step(backend: &Arc<Backend>) -> Result<bool> {
    backend.release_due(ROWS_MAX).await?;
    backend.release_sold_out().await?;
    // What could not be released now waits for the next look: it would fail again at once.
    Ok(false)
}

/// Offers of tickets whose time is over.
async fn transfers_step(backend: &Arc<Backend>) -> Result<bool> {
    Ok(backend.expire_offers().await? > 0)
}

/// Queue lengths that alarms look at. One that can't be counted hides no other.
#[expect(clippy::cast_precision_loss, reason = "counts of rows are far below 2^52")]
async fn gauges_step(backend: &Arc<Backend>) -> Result<bool> {
    let pg = &backend.pg;
    let mut failure: Option<Error> = None;
    for (name, counted) in [
        ("stararena_outbox_waiting", outbox::waiting(pg, "mail").await),
        ("stararena_webhooks_waiting", outbox::waiting(pg, "webhook").await),
        ("stararena_inbox_waiting", inbox::waiting(pg).await),
        ("stararena_quarantine_waiting", quarantine::waiting(pg).await),
        ("stararena_log_entries_set_aside", log::set_aside_waiting(pg).await),
    ] {
        match counted {
            Ok(count) => metrics::gauge!(name).set(count as f64),
            Err(error) => failure = Some(error.into()),
        }
    }
    match setbacks::counts(pg, backend.now()).await {
        Ok(counts) => {
            let failing: HashMap<String, i64> = counts.into_iter().collect();
            for job in Job::ALL {
                let count = failing.get(job.as_str()).copied().unwrap_or(0);
                metrics::gauge!("stararena_setbacks", "job" => job.as_str()).set(count as f64);
            }
        }
        Err(error) => failure = Some(error.into()),
    }
    failure.map_or(Ok(false), Err)
}
