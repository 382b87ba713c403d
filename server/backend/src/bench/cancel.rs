//! A performance that is sold out and cancelled: how fast the refunds of its orders are reserved.

use super::{Bench, LONG_MS, ORDERS_BATCH, Run, plain_orders};
use crate::error::{Error, Result, not_found};
use crate::postgres::batches;
use crate::postgres::bench as rows;
use crate::seeding::RUSH_ORGANIZATION;
use domain::{AccountId, PerformanceId};
use std::time::Instant;

impl Bench {
    /// Writes paid orders of so many seats, from seat 0 on, one for each account: with their payments, postings and
    /// tickets, by plain statements. No seat store is told.
    ///
    /// # Errors
    /// Outages only.
    pub async fn sell_out(&self, id: PerformanceId, accounts: &[AccountId], seats_each: u32) -> Result<()> {
        let now = self.backend.now();
        let mut connection = self.backend.pg.acquire().await?;
        for batch in plain_orders(accounts, seats_each, true) {
            let mut tx = sqlx::Connection::begin(&mut *connection).await?;
            rows::insert_plainly(&mut tx, id, &batch, (now, now.plus(LONG_MS))).await?;
            rows::insert_payments(&mut tx, id, &batch.ids, now).await?;
            tx.commit().await?;
        }
        Ok(())
    }

    /// Cancels a performance, and lets the batch reserve the refund of every order. None is sent: no job of this
    /// installation may run meanwhile.
    ///
    /// # Errors
    /// `not_found`, `wrong_state` when it was cancelled before; broken when an order was left out.
    pub async fn cancel(&self, id: PerformanceId) -> Result<Run> {
        let backend = &self.backend;
        let member = backend.command_line(RUSH_ORGANIZATION).await?;
        let Some(title) = batches::title(&backend.pg, member.organization, id).await? else {
            return not_found("performance");
        };
        backend.cancel_performance_for(&member, id, &title).await?;
        let started = Instant::now();
        // As the job does: look after look, until one finds no order.
        while backend.refund_cancelled().await? {}
        let elapsed = started.elapsed();
        let Some(batch) = backend.refund_batch_for(&member, id).await? else {
            return Err(Error::Broken(format!("performance {id} was cancelled and has no batch")));
        };
        if batch.reserved != batch.orders || batch.failed > 0 {
            return Err(Error::Broken(format!("{} of {} refunds were reserved", batch.reserved, batch.orders)));
        }
        Ok(Run { count: usize::try_from(batch.reserved).unwrap_or(0), elapsed })
    }

    /// Writes the refunds of all orders of a performance with plain multi-row statements, with no rule, list or mail:
    /// refund, posting, returned seats, revoked tickets, freed claims.
    ///
    /// # Errors
    /// Outages only.
    pub async fn refund_plainly(&self, id: PerformanceId) -> Result<Run> {
        let now = self.backend.now();
        let mut connection = self.backend.pg.acquire().await?;
        let orders = rows::order_ids(&mut *connection, id).await?;
        let started = Instant::now();
        for batch in orders.chunks(ORDERS_BATCH) {
            let mut tx = sqlx::Connection::begin(&mut *connection).await?;
            rows::refund_plainly(&mut tx, batch, now).await?;
            tx.commit().await?;
        }
        Ok(Run { count: orders.len(), elapsed: started.elapsed() })
    }
}
