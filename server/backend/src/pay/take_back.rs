//! Letting a hold run on whose payment has failed.
//!
//! Postgres goes first: the attempt is cancelled and its order pending again before Redis hears of it. Until then
//! the hold stays `paying`, in which nobody gives it back, takes it over or lets it run out, so that its seats are
//! never free while its order has their claims. What is interrupted in between is noted on the attempt, and a job
//! goes on.

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::postgres::attempts::{self, AttemptRow};
use crate::postgres::orders;
use crate::redis::PayAnswer;
use crate::work::sweeper;
use domain::OrderId;
use domain::order::OrderStatus;
use std::sync::Arc;

/// What a fan has left after a payment that failed, at least.
const AFTER_FAILURE_MS: i64 = 60_000;

impl Backend {
    /// Tells Redis that an ended attempt is over, and its order when the hold ends now. Idempotent; `false`
    /// while the seats are being rebuilt.
    ///
    /// # Errors
    /// Outages: the job calls again.
    pub(crate) async fn take_back(self: &Arc<Self>, attempt: &AttemptRow) -> Result<bool> {
        let Some(order) = orders::one(&self.pg, attempt.order).await? else {
            return Err(Error::Broken(format!("attempt {} has no order", attempt.id)));
        };
        // In any other state the hold has ended or ends with its order, or a newer attempt has it.
        if order.status == OrderStatus::PendingPayment {
            let sale = self.sale(order.performance).await?;
            let times = (AFTER_FAILURE_MS, self.hold_cap(&sale));
            match self.seats.unpay(&sale.keys, sale.row.epoch, order.id, attempt.number, times).await? {
                PayAnswer::Until(until) => orders::set_expires(&self.pg, &order, until).await?,
                PayAnswer::Rebuilding => return Ok(false),
                // A hold that has ended never comes back.
                PayAnswer::Gone => {
                    sweeper::close_order(self, order.id).await?;
                }
                PayAnswer::Sold | PayAnswer::OtherAttempt => {}
            }
        }
        self.fault("taken-back");
        attempts::set_taken_back(&self.pg, attempt.id, self.now()).await?;
        self.fault("take-back-noted");
        Ok(true)
    }

    /// Takes the last attempt of an order back, if it is over; whether Redis knows now that nobody pays.
    pub(crate) async fn take_last_back(self: &Arc<Self>, order: OrderId) -> Result<bool> {
        match attempts::of_order(&self.pg, order).await?.first() {
            // Also one whose money came after its end, and went back: nobody pays by it.
            Some(last) if !last.status.is_open() => self.take_back(last).await,
            _ => Ok(false),
        }
    }
}
