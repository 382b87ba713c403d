//! Sending refunds, following them, and what their ends do to books, orders and fans.

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::mail::{self, Mail};
use crate::payment::{ProviderError, ProviderRefund};
use crate::postgres::refunds::{self as rows, Change, RefundRow};
use crate::postgres::{attempts, batches, ledger, orders, returns, webhooks};
use crate::refunds::NewRefund;
use crate::refunds::asking::{balance, parts_again};
use domain::ledger::Event;
use domain::order::{OrderEvent, OrderFacts, OrderStatus, transition as order_transition};
use domain::refund::{Approval, Cause, RefundEffect, RefundEvent, RefundStatus, Transition, transition};
use domain::{Millis, Money, OrderId};
use sqlx::PgConnection;
use std::sync::Arc;

/// How long after a first failed refund the next one is submitted; it doubles with each.
const AGAIN_MS: i64 = 2_000;
/// Doublings at most: from two seconds to about eight minutes.
const DOUBLINGS_MAX: i64 = 8;

/// When the next refund follows, after so many that failed.
fn again_at(now: Millis, failed: i64) -> Millis {
    now.plus(AGAIN_MS << (failed - 1).clamp(0, DOUBLINGS_MAX))
}

impl Backend {
    /// Submits and follows one refund. Asked again after a lost answer or a crash, the provider finds the refund
    /// of the first call by its name.
    ///
    /// # Errors
    /// Outages: the schedule calls again.
    pub(crate) async fn settle_refund(self: &Arc<Self>, row: &RefundRow) -> Result<()> {
        let provider = self.provider_named(&row.provider)?;
        match row.status {
            RefundStatus::Requested if row.reserved => return Ok(()),
            RefundStatus::Requested => self.approve_as_before(row).await?,
            _ => {}
        }
        self.fault("before-refund");
        let told = match (&row.provider_ref, &row.payment_ref) {
            (Some(id), _) => provider.get_refund(id).await?,
            (None, Some(payment)) => {
                match self.refund_there(provider, payment, row.amount, &format!("refund:{}", row.id)).await {
                    Ok(told) => told,
                    // A definite no: nothing was given back, and the same call would be refused again.
                    Err(Error::Provider(ProviderError::Refused { code } | ProviderError::Declined { code })) => {
                        return self.refund_refused(row, &code).await;
                    }
                    Err(error) => return Err(error),
                }
            }
            (None, None) => return Err(Error::Broken(format!("refund {} has no payment", row.id))),
        };
        self.fault("after-refund");
        self.refund_told(row, &told).await
    }

    /// A refund that the version before reserved needs nobody's approval.
    async fn approve_as_before(&self, row: &RefundRow) -> Result<()> {
        let mut tx = self.pg.begin().await?;
        attempts::lock(&mut *tx, row.attempt).await?;
        let step = transition(RefundStatus::Requested, RefundEvent::Approve)?;
        rows::step(&mut *tx, row.id, step, Change::default(), self.now()).await?;
        Ok(tx.commit().await?)
    }

    async fn refund_refused(self: &Arc<Self>, row: &RefundRow, code: &str) -> Result<()> {
        let mut tx = self.pg.begin().await?;
        attempts::lock(&mut *tx, row.attempt).await?;
        let Some(now) = rows::one(&mut *tx, row.id).await? else { return Ok(()) };
        // Told before, by whoever asked at the same time.
        let (Ok(step), None) = (transition(now.status, RefundEvent::Fail), &now.provider_ref) else { return Ok(()) };
        self.move_refund(&mut tx, &now, step, Change { failure: Some(code), ..Change::default() }).await?;
        self.fault("before-refund-commit");
        tx.commit().await?;
        self.fault("refund-committed");
        self.wake_refunds();
        Ok(())
    }

    /// Applies what the provider says of a refund. Idempotent, and in any order.
    pub(crate) async fn refund_told(self: &Arc<Self>, row: &RefundRow, told: &ProviderRefund) -> Result<()> {
        let mut tx = self.pg.begin().await?;
        attempts::lock(&mut *tx, row.attempt).await?;
        let Some(now) = rows::one(&mut *tx, row.id).await? else { return Ok(()) };
        self.apply_refund(&mut tx, now, told).await?;
        self.fault("before-refund-commit");
        tx.commit().await?;
        self.fault("refund-committed");
        self.wake_refunds();
        Ok(())
    }

    /// [`Self::refund_told`] in a transaction that has locked the attempt.
    pub(super) async fn apply_refund(
        &self,
        db: &mut PgConnection,
        mut row: RefundRow,
        told: &ProviderRefund,
    ) -> Result<()> {
        if let Ok(step) = transition(row.status, RefundEvent::Submit) {
            let change = Change { provider_ref: Some(&told.id), ..Change::default() };
            self.move_refund(db, &row, step, change).await?;
            row.status = step.to;
        }
        let event = match told.succeeded {
            Some(true) => RefundEvent::Succeed,
            Some(false) => RefundEvent::Fail,
            None => return Ok(()),
        };
        // No step: it was told before.
        let Ok(step) = transition(row.status, event) else { return Ok(()) };
        self.move_refund(db, &row, step, Change { failure: told.failure.as_deref(), ..Change::default() }).await
    }

    /// Takes one step of a refund, with all that it does to the money. The attempt is locked, and the row was
    /// read under that lock.
    pub(super) async fn move_refund(
        &self,
        db: &mut PgConnection,
        row: &RefundRow,
        step: Transition,
        change: Change<'_>,
    ) -> Result<()> {
        let now = self.now();
        if !rows::step(&mut *db, row.id, step, change, now).await? {
            return Err(Error::Broken(format!("refund {} changed while it was locked", row.id)));
        }
        let (refund, order, currency, origin) = (row.id, row.order, row.amount.currency, row.booked_from());
        match step.effect {
            RefundEffect::Kept => Ok(()),
            RefundEffect::Done => {
                if !row.reserved {
                    ledger::post(db, &Event::RefundReserved { refund, order, currency, origin }, now).await?;
                }
                ledger::post(db, &Event::RefundSucceeded { refund, order, amount: row.amount }, now).await?;
                self.refund_done(db, row).await
            }
            RefundEffect::Released => {
                if row.reserved {
                    ledger::post(db, &Event::RefundFailed { refund, order, currency, origin }, now).await?;
                }
                match step.to {
                    RefundStatus::Failed => self.refund_failed(db, row, row.cause == Cause::LateMoney).await,
                    _ => Ok(()),
                }
            }
            RefundEffect::Returned => {
                ledger::post(db, &Event::RefundReturned { refund, order, currency, origin }, now).await?;
                rows::unmark_attempt(&mut *db, row.attempt).await?;
                let by_itself = matches!(row.cause, Cause::LateMoney | Cause::Cancelled);
                self.refund_failed(db, row, by_itself).await
            }
        }
    }

    async fn refund_done(&self, db: &mut PgConnection, row: &RefundRow) -> Result<()> {
        rows::mark_attempt(&mut *db, row.attempt).await?;
        webhooks::tell_refund(&mut *db, row.id.0, self.now()).await?;
        // Of late money the fan was told when it was decided.
        if row.cause != Cause::LateMoney {
            let amount = row.amount.to_string();
            let key = format!("refund-done:{}", row.id);
            self.mail_owner(db, row.order, &key, |to, event, _, lang| mail::refund_done(to, event, &amount, lang))
                .await?;
        }
        self.close_if_all_is_back(db, row.order).await?;
        metrics::counter!("stararena_refunds_total", "outcome" => "succeeded").increment(1);
        Ok(())
    }

    /// The money is with us. Late money, and that of a cancelled performance, must not be: another refund
    /// follows by itself, under its own key. Everything else waits for the staff.
    async fn refund_failed(&self, db: &mut PgConnection, row: &RefundRow, by_itself: bool) -> Result<()> {
        let next = if by_itself { "again" } else { "staff" };
        metrics::counter!("stararena_refunds_total", "outcome" => "failed", "next" => next).increment(1);
        tracing::warn!(refund = %row.id, order = %row.order, by_itself, "a refund failed");
        if !by_itself {
            return Ok(());
        }
        let now = self.now();
        // The money goes back whatever the lines have left: then its parts stay as they were.
        let parts = parts_again(db, row).await?.unwrap_or_else(|| row.parts.clone());
        let again = NewRefund {
            order: row.order,
            attempt: row.attempt,
            amount: left_of(db, row).await?,
            cause: row.cause,
            parts: &parts,
            seats: &row.seats,
            asked_by: row.asked_by,
            approval: Approval::Automatic,
            note: &row.note,
            due: again_at(now, rows::failed(&mut *db, row.attempt).await?),
        };
        match self.reserve_refund(db, &again).await {
            Ok(id) => {
                rows::set_retried(&mut *db, row.id, id).await?;
                batches::follow(&mut *db, row.id, id).await?;
                Ok(())
            }
            // Somebody gave the money back at the provider, or a dispute took it.
            Err(Error::Refused(refusal)) => {
                tracing::warn!(refund = %row.id, %refusal, "too little is left to give it back again");
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Ends an order once all of its seats were given back, and all the money that can come back came back.
    pub(crate) async fn close_if_all_is_back(&self, db: &mut PgConnection, order: OrderId) -> Result<()> {
        let Some(row) = orders::lock(&mut *db, order).await? else { return Ok(()) };
        if !matches!(row.status, OrderStatus::Paid | OrderStatus::Fulfilled)
            || !returns::all_is_back(&mut *db, order).await?
        {
            return Ok(());
        }
        let (event, now) = (OrderEvent::AllRefunded, self.now());
        let step = order_transition(OrderFacts { status: row.status, expires: row.expires }, event, now)?;
        if orders::apply(&mut *db, &row, step, event, None, now).await? {
            Ok(())
        } else {
            Err(Error::Broken(format!("order {order} changed while it was locked")))
        }
    }

    /// Writes a mail to the account of an order, once for its key. `make` gets address, event, the address of the
    /// order's page, and language. All is read in the caller's transaction: who holds a lock waits for no other
    /// connection.
    pub(crate) async fn mail_owner(
        &self,
        db: &mut PgConnection,
        order: OrderId,
        key: &str,
        make: impl FnOnce(&str, &str, &str, &str) -> Mail + Send,
    ) -> Result<()> {
        let Some(owner) = orders::owner(&mut *db, order).await? else {
            return Err(Error::Broken(format!("order {order} has no account")));
        };
        let event = format!("{} – {}", owner.artist, owner.title);
        let page = format!("{}/orders/{order}", self.config.public_url);
        let mail = make(&owner.email, &event, &page, &owner.lang);
        mail::enqueue(&mut *db, key, &mail, self.now()).await
    }
}

/// What goes back at another try: of late money, which has no lines, what a dispute left of it.
async fn left_of(db: &mut PgConnection, row: &RefundRow) -> Result<Money> {
    if row.cause != Cause::LateMoney {
        return Ok(row.amount);
    }
    let Some(attempt) = attempts::lock(&mut *db, row.attempt).await? else { return Ok(row.amount) };
    let left_minor = balance(db, &attempt).await?.left_minor();
    // Where nothing is left, the reservation says so.
    let minor = if left_minor > 0 { row.amount.minor.min(left_minor) } else { row.amount.minor };
    Ok(Money::new(minor, row.amount.currency))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_refund_follows_later_each_time_and_within_minutes() {
        let wait = |failed| again_at(Millis(0), failed).0;
        assert_eq!((wait(0), wait(1), wait(2), wait(3)), (2_000, 2_000, 4_000, 8_000));
        assert_eq!((wait(9), wait(1_000)), (512_000, 512_000));
    }
}
