//! What a provider's object means for our attempt and order.

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::mail;
use crate::payment::{ProviderPayment, ProviderState};
use crate::postgres::attempts::{self, AttemptRow};
use crate::postgres::orders::{self, OrderRow};
use crate::postgres::{accounts, refunds, webhooks};
use domain::order::{AttemptStatus, OrderEvent, OrderFacts, OrderStatus, transition};
use domain::{Millis, Money};
use serde_json::json;
use std::sync::Arc;

/// Why captured money goes back.
const LATE_CAPTURE: &str = "captured without seats";
/// How long after a first failed refund the next one is submitted; it doubles with each.
const REFUND_AGAIN_MS: i64 = 2_000;
/// Doublings at most: from two seconds to about eight minutes.
const REFUND_DOUBLINGS_MAX: i64 = 8;

impl Backend {
    /// Reads the payment of an attempt at the provider and acts on it. Idempotent; safe to call at any
    /// time by anybody: webhook, return page, schedule, closer.
    ///
    /// # Errors
    /// Outages: the schedule calls again.
    pub(crate) async fn settle(self: &Arc<Self>, attempt: &AttemptRow) -> Result<()> {
        let Some(attempt) = attempts::one(&self.pg, attempt.id).await?.filter(|attempt| attempt.status.is_open())
        else {
            return Ok(());
        };
        let Some(order) = orders::one(&self.pg, attempt.order).await? else {
            return Err(Error::Broken(format!("attempt {} has no order", attempt.id)));
        };
        let payment = match self.payment_of(&order, &attempt).await? {
            Some(payment) => payment,
            None => return self.attempt_canceled(&order, &attempt).await,
        };
        let moves_money = payment.state != ProviderState::Canceled;
        if let Some(reason) = self.mismatch(&attempt, &payment)?.filter(|_| moves_money) {
            return self.set_aside(&order, &attempt, &payment, reason).await;
        }
        match payment.state {
            ProviderState::Open => self.still_open(&order, &attempt, &payment).await,
            ProviderState::Authorized => self.authorized(&order, &attempt, &payment).await,
            ProviderState::Captured => self.captured(&attempt).await,
            ProviderState::Canceled => self.attempt_canceled(&order, &attempt).await,
        }
    }

    /// The payment at the provider; `None` when there is none and there will be none.
    async fn payment_of(&self, order: &OrderRow, attempt: &AttemptRow) -> Result<Option<ProviderPayment>> {
        let provider = self.provider_named(&attempt.provider)?;
        if let Some(id) = &attempt.provider_ref {
            return Ok(Some(provider.get(id).await?));
        }
        if let Some(found) = provider.find(&attempt.id.to_string()).await? {
            attempts::set_open(&self.pg, attempt.id, &found.id, &found.hosted_url).await?;
            return Ok(Some(found));
        }
        if order.status == OrderStatus::PaymentProcessing
            && self.seats.time_of(order.performance).await? < attempt.deadline
        {
            return Ok(Some(self.open_at_provider(order, attempt).await?));
        }
        Ok(None)
    }

    /// What does not fit between an attempt and its payment.
    fn mismatch(&self, attempt: &AttemptRow, payment: &ProviderPayment) -> Result<Option<&'static str>> {
        let merchant = self.provider_named(&attempt.provider)?.merchant();
        Ok(if payment.amount_minor != attempt.amount_minor {
            Some("another amount")
        } else if payment.currency != attempt.currency {
            Some("another currency")
        } else if payment.merchant != merchant {
            Some("another merchant")
        } else if payment.reference != attempt.id.to_string() {
            Some("another reference")
        } else {
            None
        })
    }

    /// Keeps the evidence, once. What was not captured yet is given up when it has had its time.
    async fn set_aside(
        self: &Arc<Self>,
        order: &OrderRow,
        attempt: &AttemptRow,
        payment: &ProviderPayment,
        reason: &str,
    ) -> Result<()> {
        let evidence = json!({
            "attempt": attempt.id, "expected": { "amount": attempt.amount_minor, "currency": attempt.currency },
            "found": { "amount": payment.amount_minor, "currency": payment.currency, "merchant": payment.merchant, "reference": payment.reference },
        });
        if attempts::quarantine(&self.pg, &attempt.provider, &payment.id, reason, &evidence, self.now()).await? {
            metrics::counter!("stararena_payments_quarantined_total").increment(1);
            tracing::error!(attempt = %attempt.id, payment = payment.id, reason, "a payment does not fit its attempt and was set aside");
        }
        if payment.state != ProviderState::Captured && self.has_had_its_time(order, attempt).await? {
            return self.cancel_there(order, attempt, payment).await;
        }
        Ok(())
    }

    /// The fan is at the provider: note a declined card; end it there when it has had its time.
    async fn still_open(
        self: &Arc<Self>,
        order: &OrderRow,
        attempt: &AttemptRow,
        payment: &ProviderPayment,
    ) -> Result<()> {
        attempts::set_error(&self.pg, attempt.id, payment.last_error.as_deref()).await?;
        if self.has_had_its_time(order, attempt).await? {
            return self.cancel_there(order, attempt, payment).await;
        }
        Ok(())
    }

    /// Whether an attempt is waited for no more: its order has moved on or ends, or the provider has had its
    /// deadline and the grace. The hold may run longer than that, for another card.
    async fn has_had_its_time(&self, order: &OrderRow, attempt: &AttemptRow) -> Result<bool> {
        if order.status != OrderStatus::PaymentProcessing {
            return Ok(true);
        }
        let ends = order.expires.min(attempt.deadline.plus(self.config.provider_grace_ms));
        Ok(self.seats.time_of(order.performance).await? >= ends)
    }

    async fn cancel_there(
        self: &Arc<Self>,
        order: &OrderRow,
        attempt: &AttemptRow,
        payment: &ProviderPayment,
    ) -> Result<()> {
        let provider = self.provider_named(&attempt.provider)?;
        match provider.cancel(&payment.id, &format!("cancel:{}", attempt.id)).await {
            Ok(ended) if ended.state == ProviderState::Canceled => self.attempt_canceled(order, attempt).await,
            Ok(ended) if ended.state == ProviderState::Captured => self.captured(attempt).await,
            Ok(_) => Ok(()),
            Err(e) if e.is_final() => match provider.get(&payment.id).await?.state {
                ProviderState::Captured => self.captured(attempt).await,
                ProviderState::Canceled => self.attempt_canceled(order, attempt).await,
                ProviderState::Open | ProviderState::Authorized => Ok(()),
            },
            Err(e) => Err(e.into()),
        }
    }

    /// Authorise → the order still owns its seats → capture; otherwise the authorisation is given up
    /// and no refund is needed.
    async fn authorized(
        self: &Arc<Self>,
        order: &OrderRow,
        attempt: &AttemptRow,
        payment: &ProviderPayment,
    ) -> Result<()> {
        if !orders::owns_all_seats(&self.pg, attempt.order).await? {
            return self.cancel_there(order, attempt, payment).await;
        }
        let provider = self.provider_named(&attempt.provider)?;
        self.fault("before-capture");
        match provider.capture(&payment.id, &format!("cap:{}", attempt.id)).await {
            Ok(captured) if captured.state == ProviderState::Captured => {
                self.fault("after-capture");
                self.captured(attempt).await
            }
            Ok(_) => Ok(()),
            Err(e) if e.is_final() => match provider.get(&payment.id).await?.state {
                ProviderState::Captured => self.captured(attempt).await,
                ProviderState::Canceled => self.attempt_canceled(order, attempt).await,
                ProviderState::Open | ProviderState::Authorized => Ok(()),
            },
            Err(e) => Err(e.into()),
        }
    }

    /// The money is ours: the order is paid, or, where it owns no seats any more, all of it goes back.
    pub(crate) async fn captured(self: &Arc<Self>, attempt: &AttemptRow) -> Result<()> {
        for _ in 0..5 {
            let Some(order) = orders::one(&self.pg, attempt.order).await? else {
                return Err(Error::Broken(format!("attempt {} has no order", attempt.id)));
            };
            let now = self.now();
            let step =
                transition(OrderFacts { status: order.status, expires: order.expires }, OrderEvent::Captured, now);
            let mut tx = self.pg.begin().await?;
            if !attempts::set_status(&mut *tx, attempt.id, AttemptStatus::Captured).await? {
                return Ok(());
            }
            let source = format!("capture:{}", attempt.id);
            attempts::post(
                &mut tx,
                &source,
                "provider_clearing",
                "organizer_payable",
                attempt.amount_minor,
                attempt.currency,
                now,
            )
            .await?;
            let moved = match step {
                Ok(step) => orders::apply(&mut tx, &order, step, OrderEvent::Captured, None, now).await?,
                Err(_) => {
                    // A late capture, or a second one: the seats are not this order's to sell.
                    refunds::reserve_whole(&mut tx, uuid::Uuid::now_v7(), attempt.id, LATE_CAPTURE, now, now).await?;
                    self.mail_refund(&mut tx, &order, attempt).await?;
                    true
                }
            };
            if moved {
                tx.commit().await?;
                metrics::counter!("stararena_payments_captured_total").increment(1);
                self.wake.issue.notify_one();
                self.wake.confirm.notify_one();
                return Ok(());
            }
            tx.rollback().await?;
        }
        Err(Error::Broken(format!("the order of attempt {} keeps changing", attempt.id)))
    }

    async fn mail_refund(
        &self,
        tx: &mut sqlx::Transaction<'_, sqlx::Postgres>,
        order: &OrderRow,
        attempt: &AttemptRow,
    ) -> Result<()> {
        let Some(account) = accounts::by_id(&mut **tx, order.account).await? else {
            return Err(Error::Broken(format!("order {} has no account", order.id)));
        };
        let sale = self.sale(order.performance).await?;
        let amount = Money::new(attempt.amount_minor, attempt.currency).to_string();
        let mail = mail::refunded(
            &account.email,
            &format!("{} – {}", sale.row.artist, sale.row.title),
            &amount,
            &account.lang,
        );
        mail::enqueue(&mut **tx, &format!("refund:{}", attempt.id), &mail, self.now()).await
    }

    /// The attempt ended without money: the order may be paid anew, or closes. Postgres first; then the hold
    /// runs on.
    pub(crate) async fn attempt_canceled(self: &Arc<Self>, order: &OrderRow, attempt: &AttemptRow) -> Result<()> {
        let next = match order.status {
            OrderStatus::PaymentProcessing if self.seats.time_of(order.performance).await? >= order.expires => {
                Some(OrderEvent::ProviderCancelled)
            }
            OrderStatus::PaymentProcessing => Some(OrderEvent::AttemptFailed),
            _ => None,
        };
        let mut tx = self.pg.begin().await?;
        if !attempts::set_status(&mut *tx, attempt.id, AttemptStatus::Canceled).await? {
            return Ok(());
        }
        let unmoved = match next {
            Some(event) => {
                let step = transition(OrderFacts { status: order.status, expires: order.expires }, event, self.now())?;
                orders::apply(&mut tx, order, step, event, None, self.now()).await?
            }
            // Pay may be moving this order right now: then the attempt is not over.
            None if order.status == OrderStatus::PendingPayment => orders::hold_unchanged(&mut *tx, order).await?,
            None => true,
        };
        if !unmoved {
            // Leave the attempt open, the schedule looks again.
            tx.rollback().await?;
            return Ok(());
        }
        tx.commit().await?;
        self.fault("before-take-back");
        self.wake.release.notify_one();
        self.take_back(attempt).await?;
        Ok(())
    }

    /// Ends a processing order whose time is over: ask, cancel there, close. Where the provider can't
    /// be reached the order closes all the same; its attempt stays under query, and late money goes back.
    pub(crate) async fn close_overdue(self: &Arc<Self>, id: domain::OrderId, now: Millis) -> Result<()> {
        if let Some(attempt) = self.open_attempt_of(id).await?
            && let Err(error) = self.settle(&attempt).await
        {
            tracing::warn!(order = %id, error = &error as &dyn std::error::Error, "the provider can't be asked; the order closes at its cap");
        }
        match orders::one(&self.pg, id).await? {
            Some(order) if order.status == OrderStatus::PaymentProcessing && now >= order.expires => {
                self.step(&order, OrderEvent::ProviderCancelled, None).await?;
                self.wake.release.notify_one();
            }
            _ => {}
        }
        Ok(())
    }

    /// Submits and follows one refund.
    pub(crate) async fn settle_refund(self: &Arc<Self>, row: &refunds::RefundRow) -> Result<()> {
        let provider = self.provider_named(&row.provider)?;
        let refund = match (&row.provider_ref, &row.payment_ref) {
            (Some(id), _) => provider.get_refund(id).await?,
            (None, Some(payment)) => provider.refund(payment, row.amount_minor, &format!("refund:{}", row.id)).await?,
            (None, None) => return Err(Error::Broken(format!("refund {} has no payment", row.id))),
        };
        refunds::submitted(&self.pg, row.id, &refund.id).await?;
        let Some(succeeded) = refund.succeeded else { return Ok(()) };
        let mut tx = self.pg.begin().await?;
        let (ended, now) = (refunds::finish(&mut *tx, row.id, succeeded).await?, self.now());
        if ended && !succeeded {
            // The money is still ours and must not be: another refund, under its own key, follows.
            let failed = refunds::failed(&mut *tx, row.attempt).await?;
            let due = refund_due(now, failed);
            refunds::reserve_whole(&mut tx, uuid::Uuid::now_v7(), row.attempt, LATE_CAPTURE, now, due).await?;
        }
        if ended && succeeded {
            let source = format!("refund:{}", row.id);
            attempts::post(
                &mut tx,
                &source,
                "organizer_payable",
                "provider_clearing",
                row.amount_minor,
                row.currency,
                self.now(),
            )
            .await?;
            refunds::mark_attempt(&mut *tx, row.attempt).await?;
            webhooks::tell_refund(&mut *tx, row.id, now).await?;
        }
        tx.commit().await?;
        metrics::counter!("stararena_refunds_total", "outcome" => if succeeded { "succeeded" } else { "failed" })
            .increment(1);
        Ok(())
    }
}

/// When the next refund follows, after so many that failed.
pub(super) fn refund_due(now: Millis, failed: i64) -> Millis {
    now.plus(REFUND_AGAIN_MS << (failed - 1).clamp(0, REFUND_DOUBLINGS_MAX))
}
