//! The sweeper: holds that ran out are marked closing in Redis, their orders close in Postgres, and
//! only then do the seats go back. Redis's clock decides; nothing here reads another.

use crate::backend::Backend;
use crate::catalog::Sale;
use crate::error::Result;
use crate::postgres::orders;
use domain::order::{OrderEvent, OrderFacts, OrderStatus, transition};
use domain::{OrderId, PerformanceId};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How often it looks.
const EVERY: Duration = Duration::from_millis(250);
/// Holds in one look.
const SWEEP_MAX: usize = 200;

/// Sweeps until stopped.
pub(super) async fn sweep(backend: &Arc<Backend>, id: PerformanceId, stop: &CancellationToken) {
    let mut every = tokio::time::interval(EVERY);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = every.tick() => {}
            () = stop.cancelled() => return,
        }
        if let Err(error) = super::caught(sweep_once(backend, id)).await {
            metrics::counter!("stararena_sweeper_failures_total").increment(1);
            tracing::debug!(%id, error = &error as &dyn std::error::Error, "holds could not be swept");
        }
    }
}

async fn sweep_once(backend: &Arc<Backend>, id: PerformanceId) -> Result<()> {
    let sale = backend.sale(id).await?;
    let Some(due) = backend.seats.sweep(&sale.keys, sale.row.epoch, SWEEP_MAX).await? else { return Ok(()) };
    let mut failure = None;
    for hold in due {
        match end_hold(backend, &sale, hold).await {
            Ok(()) => {}
            Err(error) if error.is_outage() => return Err(error),
            // One that can't be ended holds up no other.
            Err(error) => {
                tracing::warn!(%hold, error = &error as &dyn std::error::Error, "a hold that ran out could not be ended yet");
                failure = Some(error);
            }
        }
    }
    failure.map_or(Ok(()), Err)
}

async fn end_hold(backend: &Arc<Backend>, sale: &Sale, hold: OrderId) -> Result<()> {
    backend.fault("hold-swept");
    if close_order(backend, hold).await? {
        backend.seats.finish(&sale.keys, sale.row.epoch, hold).await?;
        backend.fault("hold-ended");
        metrics::counter!("stararena_holds_expired_total").increment(1);
    }
    Ok(())
}

/// Closes the order of a hold that ran out; whether the hold may end now.
pub(crate) async fn close_order(backend: &Arc<Backend>, id: OrderId) -> Result<bool> {
    let Some(order) = orders::one(&backend.pg, id).await? else {
        // Not written yet: the hold's end follows it in the log, and the writer folds both.
        return Ok(true);
    };
    match order.status {
        OrderStatus::PendingPayment => {
            // Redis's clock found the hold expired; the machine is asked at that instant.
            let step = transition(
                OrderFacts { status: order.status, expires: order.expires },
                OrderEvent::Expire,
                order.expires,
            )?;
            let mut tx = backend.pg.begin().await?;
            let moved = orders::apply(&mut tx, &order, step, OrderEvent::Expire, None, backend.now()).await?;
            backend.fault("before-close-commit");
            tx.commit().await?;
            backend.fault("order-closed");
            Ok(moved)
        }
        OrderStatus::Closed | OrderStatus::Refused | OrderStatus::Refunded => Ok(true),
        OrderStatus::PaymentProcessing | OrderStatus::Paid | OrderStatus::Fulfilled => Ok(false),
    }
}
