//! A performance that does not take place: its sale ends, and all of its orders are refunded, each once.
//!
//! The batch has no list and no place where it stands: a job looks for paid orders that are not in it, one small
//! transaction for each. So it goes on wherever it was interrupted, and takes in money that arrives later.

use super::asking::{NewRefund, refundable};
use crate::backend::Backend;
use crate::error::{Error, Result, not_found, refuse};
use crate::mail;
use crate::organizer::Member;
use crate::postgres::batches::{self, BatchRow};
use crate::postgres::refunds::{self as rows, Change};
use crate::postgres::setbacks::{self, Job, LeftOut};
use crate::postgres::{desk, detached};
use domain::account::Session;
use domain::organizer::Action;
use domain::organizer::desk::SaleSettings;
use domain::refund::policy::{RefundPolicy, Scope, Terms, quote};
use domain::refund::view::BatchView;
use domain::refund::{Approval, Cause, RefundEvent, RefundStatus, transition};
use domain::{Code, Currency, Millis, Money, OrderId, PerformanceId, SeatNo};
use serde_json::json;
use sqlx::PgConnection;
use std::sync::Arc;

/// Orders in one look.
const ORDERS_MAX: i64 = 50;

/// A batch as pages show it.
pub(super) fn batch_view(row: &BatchRow, currency: Currency) -> BatchView {
    let count = |of: i64| u32::try_from(of).unwrap_or(u32::MAX);
    BatchView {
        cancelled: row.cancelled,
        by: row.by.clone(),
        orders: count(row.orders),
        reserved: count(row.reserved),
        pending: count(row.pending),
        succeeded: count(row.succeeded),
        failed: count(row.failed),
        returned: Money::new(row.returned_minor, currency),
        done: row.listed && row.pending == 0 && row.failed == 0,
    }
}

/// The settings of a sale that has ended now, also before its opening.
fn ended(old: &SaleSettings, now: Millis) -> SaleSettings {
    let opens = old.opens.min(now.plus(-1));
    SaleSettings { opens, closes: old.closes.min(now).max(opens.plus(1)), ..*old }
}

impl Backend {
    /// Cancels a performance: closes its sale and refunds all, also money that comes later. `typed` is the
    /// event's name, typed once more.
    ///
    /// # Errors
    /// `not_found` for another organization's performance; `forbidden`; `invalid_input` for another name;
    /// `wrong_state` when it was cancelled before.
    pub async fn cancel_performance(
        self: &Arc<Self>,
        session: &Session,
        performance: PerformanceId,
        typed: &str,
    ) -> Result<BatchView> {
        let member = self.member(session, Action::DecideMoney).await?;
        self.cancel_performance_for(&member, performance, typed).await
    }

    /// [`Backend::cancel_performance`] for a member who was checked.
    ///
    /// # Errors
    /// The same.
    pub async fn cancel_performance_for(
        self: &Arc<Self>,
        member: &Member,
        performance: PerformanceId,
        typed: &str,
    ) -> Result<BatchView> {
        let Some(title) = batches::title(&self.pg, member.organization, performance).await? else {
            return not_found("performance");
        };
        if typed.trim() != title.trim() {
            return refuse(Code::InvalidInput, format!("typed: the event's name is expected, `{title}`"));
        }
        // The seats go by Redis's clock. When it can't be asked, ours is near enough to close.
        let now = self.seats.time_of(performance).await.unwrap_or_else(|_| self.now());
        let (this, member) = (Arc::clone(self), member.clone());
        detached(async move {
            let mut tx = this.pg.begin().await?;
            let Some(old) = desk::lock_settings(&mut *tx, performance).await? else { return not_found("performance") };
            if !batches::begin(&mut tx, performance, member.account, this.now()).await? {
                return refuse(Code::WrongState, "the performance was cancelled before");
            }
            if !desk::put_settings(&mut *tx, performance, &old, &ended(&old, now)).await? {
                return Err(Error::Broken(format!("the sale of {performance} changed while it was locked")));
            }
            let (subject, detail) = (format!("performance {performance}"), json!({ "event": title }));
            this.record(&mut *tx, &member, "performance.cancel", &subject, &detail).await?;
            this.fault("before-cancel-commit");
            tx.commit().await?;
            this.fault("performance-cancelled");
            this.wake_refunds();
            this.carry_settings(performance).await?;
            this.batch_of(performance).await?.ok_or_else(|| Error::Broken("a batch went away".to_owned()))
        })
        .await
    }

    async fn batch_of(&self, performance: PerformanceId) -> Result<Option<BatchView>> {
        let sale = self.sale(performance).await?;
        Ok(batches::one(&self.pg, performance).await?.map(|row| batch_view(&row, sale.row.currency)))
    }

    /// How far a cancelled performance is refunded; none where it was not cancelled.
    ///
    /// # Errors
    /// `not_found` for another organization's performance; `forbidden`.
    pub async fn refund_batch(
        self: &Arc<Self>,
        session: &Session,
        performance: PerformanceId,
    ) -> Result<Option<BatchView>> {
        let member = self.member(session, Action::ReadMoney).await?;
        self.refund_batch_for(&member, performance).await
    }

    /// [`Backend::refund_batch`] for a member who was checked.
    ///
    /// # Errors
    /// The same.
    pub async fn refund_batch_for(
        self: &Arc<Self>,
        member: &Member,
        performance: PerformanceId,
    ) -> Result<Option<BatchView>> {
        self.own_performance(member, performance).await?;
        self.batch_of(performance).await
    }

    /// Tries the failed refunds of a cancelled performance again.
    ///
    /// # Errors
    /// `not_found`, `forbidden`; `wrong_state` where nothing was cancelled.
    pub async fn retry_batch(self: &Arc<Self>, session: &Session, performance: PerformanceId) -> Result<BatchView> {
        let member = self.member(session, Action::DecideMoney).await?;
        self.own_performance(&member, performance).await?;
        let this = Arc::clone(self);
        detached(async move {
            let mut tx = this.pg.begin().await?;
            if !batches::again(&mut tx, performance).await? {
                return refuse(Code::WrongState, "the performance was not cancelled");
            }
            let subject = format!("performance {performance}");
            this.record(&mut *tx, &member, "performance.retry", &subject, &json!({})).await?;
            tx.commit().await?;
            this.wake_refunds();
            this.batch_of(performance).await?.ok_or_else(|| Error::Broken("a batch went away".to_owned()))
        })
        .await
    }

    /// Refunds some orders of cancelled performances; whether there were any.
    ///
    /// # Errors
    /// Outages: the job goes on by itself.
    pub(crate) async fn refund_cancelled(self: &Arc<Self>) -> Result<bool> {
        let out = LeftOut { job: Job::Cancelled, now: self.now(), sales: Vec::new() };
        let due = batches::unlisted(&self.pg, &out, ORDERS_MAX).await?;
        let mut done = Vec::new();
        for (performance, order) in &due {
            let listed = match self.refund_one_cancelled(*performance, *order).await {
                Ok(()) => Ok(()),
                // It will not go better by itself: listed as failed, for the staff.
                Err(error @ (Error::Refused(_) | Error::Broken(_))) => {
                    let why = match &error {
                        Error::Refused(refusal) => refusal.message.clone(),
                        other => other.to_string(),
                    };
                    tracing::error!(%order, why, "an order of a cancelled performance could not be refunded");
                    let listed = batches::list(&self.pg, *performance, *order, Some(why.as_str()), self.now()).await;
                    if matches!(listed, Ok(true)) {
                        metrics::counter!("stararena_refunds_total", "outcome" => "failed", "next" => "staff")
                            .increment(1);
                    }
                    listed.map(drop).map_err(Error::from)
                }
                Err(error) => Err(error),
            };
            match listed {
                Ok(()) => done.push(order.0),
                // Another order may fare better.
                Err(error) => self.set_back(Job::Cancelled, order.0, error).await?,
            }
        }
        if !done.is_empty() {
            setbacks::clear(&self.pg, Job::Cancelled, &done).await?;
        }
        batches::finish(&self.pg, self.now()).await?;
        Ok(!due.is_empty())
    }

    async fn refund_one_cancelled(self: &Arc<Self>, performance: PerformanceId, order: OrderId) -> Result<()> {
        let starts = self.sale(performance).await?.row.starts;
        let mut tx = self.pg.begin().await?;
        self.drop_requests(&mut tx, order).await?;
        let Some((found, attempt)) = refundable(&mut tx, order).await? else {
            return Err(Error::Broken(format!("order {order} is paid without a captured payment")));
        };
        if !batches::list(&mut *tx, performance, order, None, self.now()).await? {
            return Ok(());
        }
        let policy = RefundPolicy::default();
        let terms = Terms { cause: Cause::Cancelled, policy: &policy, now: self.now(), starts };
        match quote(&found, &Scope::Order, terms) {
            Ok(quoted) => {
                let amount = quoted.total();
                let new = NewRefund {
                    order,
                    attempt: attempt.id,
                    amount,
                    cause: Cause::Cancelled,
                    parts: &quoted.parts,
                    seats: &quoted.seats,
                    asked_by: None,
                    approval: Approval::Automatic,
                    note: "",
                    due: self.now(),
                };
                let id = self.reserve_refund(&mut tx, &new).await?;
                // All that is left goes back now: nobody has to see to a part of it that failed before.
                for cause in [Cause::Cancelled, Cause::Wish, Cause::Goodwill] {
                    rows::set_all_retried(&mut *tx, attempt.id, cause, id).await?;
                }
                batches::set_refund(&mut *tx, performance, order, id).await?;
                let words = amount.to_string();
                let key = format!("cancelled:{order}");
                self.mail_owner(&mut tx, order, &key, |to, event, page, lang| {
                    mail::performance_cancelled(to, event, &words, page, lang)
                })
                .await?;
            }
            // Its money is back, on its way, or with the bank: only the seats go.
            Err(refusal) if refusal.code == Code::WrongState => {
                let seats: Vec<SeatNo> =
                    batches::seats(&mut *tx, order).await?.into_iter().map(rows::seat).collect::<sqlx::Result<_>>()?;
                self.take_seats(&mut tx, order, &seats, None).await?;
                self.close_if_all_is_back(&mut tx, order).await?;
            }
            Err(refusal) => return Err(refusal.into()),
        }
        self.fault("before-batch-commit");
        tx.commit().await?;
        self.fault("batch-order-done");
        self.wake_refunds();
        Ok(())
    }

    /// What fans asked for and nobody decided is part of the whole that comes back now.
    async fn drop_requests(&self, db: &mut PgConnection, order: OrderId) -> Result<()> {
        if refundable(&mut *db, order).await?.is_none() {
            return Ok(());
        }
        for row in rows::of_order(&mut *db, order).await? {
            if row.status == RefundStatus::Requested && row.reserved {
                let step = transition(row.status, RefundEvent::Reject)?;
                let change = Change { note: Some("the performance was cancelled"), ..Change::default() };
                self.move_refund(db, &row, step, change).await?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancelled_sale_has_ended_whenever_it_was_to_open() {
        let old = SaleSettings {
            registers: Millis(0),
            opens: Millis(1_000),
            closes: Millis(9_000),
            paused: false,
            rate_per_min: 60,
            shoppers_max: 100,
        };
        for now in [1, 500, 1_000, 1_001, 5_000, 9_000, 20_000] {
            let new = ended(&old, Millis(now));
            assert!(new.opens < new.closes, "{now}: the stores refuse a sale that ends before it opens");
            assert_eq!(new.phase(Millis(now)), domain::queue::Phase::Ended, "{now}");
        }
    }
}
