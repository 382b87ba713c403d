//! What a provider's object means for our attempt and order.

use super::{ended, keys};
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::mail;
use crate::payment::{ProviderPayment, ProviderState};
use crate::postgres::attempts::{self, AttemptRow};
use crate::postgres::orders::{self, OrderRow};
use crate::postgres::{batches, ledger, quarantine, reclaims, refunds};
use crate::refunds::NewRefund;
use crate::refunds::asking::{balance, lines};
use domain::ledger::Event;
use domain::order::{AttemptStatus, OrderEvent, OrderFacts, OrderStatus, transition};
use domain::refund::{Approval, Cause};
use domain::{Millis, Money};
use serde_json::json;
use sqlx::PgConnection;
use std::sync::Arc;

impl Backend {
    /// Reads the payment of an attempt at the provider and acts on it. Idempotent; safe to call at any
    /// time by anybody: webhook, return page, schedule, closer.
    ///
    /// # Errors
    /// Outages: the schedule calls again.
    pub(crate) async fn settle(self: &Arc<Self>, attempt: &AttemptRow) -> Result<()> {
        let Some(attempt) = attempts::one(&self.pg, attempt.id).await? else { return Ok(()) };
        match attempt.status {
            AttemptStatus::Created | AttemptStatus::Open | AttemptStatus::Authorized => {}
            AttemptStatus::Canceled => return self.settle_ended(&attempt, None).await.map(|_| ()),
            AttemptStatus::Captured | AttemptStatus::Refunded => return Ok(()),
        }
        let Some(order) = orders::one(&self.pg, attempt.order).await? else {
            return Err(Error::Broken(format!("attempt {} has no order", attempt.id)));
        };
        self.fault("before-payment-read");
        let payment = match self.payment_of(&order, &attempt).await? {
            Some(payment) => payment,
            None => return self.attempt_canceled(&order, &attempt).await,
        };
        self.fault("after-payment-read");
        let moves_money = payment.state != ProviderState::Canceled;
        if let Some(reason) = self.mismatch(&attempt, &payment)?.filter(|_| moves_money) {
            return self.set_payment_aside(&order, &attempt, &payment, reason).await;
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
            if attempts::set_open(&self.pg, attempt.id, &found.id, &found.hosted_url).await? {
                return Ok(Some(found));
            }
            // Another round's payment is the attempt's by now, or it has ended: then by what it ended with.
            let own = attempts::one(&self.pg, attempt.id).await?.and_then(|row| row.provider_ref);
            return Ok(Some(match own {
                Some(id) => provider.get(&id).await?,
                None => found,
            }));
        }
        if order.status == OrderStatus::PaymentProcessing
            && self.seats.time_of(order.performance).await? < attempt.deadline
        {
            return Ok(Some(self.open_at_provider(order, attempt).await?));
        }
        Ok(None)
    }

    /// What does not fit between an attempt and its payment.
    pub(super) fn mismatch(&self, attempt: &AttemptRow, payment: &ProviderPayment) -> Result<Option<&'static str>> {
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

    /// Sets a payment aside. What was not captured yet is given up when it has had its time; what was, and has been
    /// settled by people since or went back, keeps its order from no other payment.
    async fn set_payment_aside(
        self: &Arc<Self>,
        order: &OrderRow,
        attempt: &AttemptRow,
        payment: &ProviderPayment,
        reason: &str,
    ) -> Result<()> {
        self.note_misfit(attempt, payment, reason).await?;
        if payment.state == ProviderState::Captured {
            if quarantine::is_settled(&self.pg, &attempt.provider, &payment.id).await? {
                return self.attempt_canceled(order, attempt).await;
            }
            return Ok(());
        }
        if self.has_had_its_time(order, attempt).await? {
            return self.cancel_there(order, attempt, payment).await;
        }
        Ok(())
    }

    /// Keeps the evidence of a payment that does not fit its attempt, once. Where it had come to nothing, and brought
    /// money since, it waits again.
    pub(super) async fn note_misfit(
        &self,
        attempt: &AttemptRow,
        payment: &ProviderPayment,
        reason: &str,
    ) -> Result<()> {
        let evidence = json!({
            "attempt": attempt.id, "expected": { "amount": attempt.amount_minor, "currency": attempt.currency },
            "found": { "amount": payment.amount_minor, "currency": payment.currency, "merchant": payment.merchant, "reference": payment.reference },
        });
        let (provider, id, now) = (&attempt.provider, &payment.id, self.now());
        let taken = payment.state == ProviderState::Captured && payment.amount_minor > 0;
        if attempts::quarantine(&self.pg, provider, id, reason, &evidence, now).await?
            || (taken && quarantine::reopen(&self.pg, provider, id, reason, &evidence, now).await?)
        {
            metrics::counter!("stararena_payments_quarantined_total").increment(1);
            tracing::error!(attempt = %attempt.id, payment = payment.id, reason, "a payment does not fit its attempt and was set aside");
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

    /// Ends a payment at the provider, and its attempt with it; what was taken meanwhile is ours.
    pub(super) async fn cancel_there(
        self: &Arc<Self>,
        order: &OrderRow,
        attempt: &AttemptRow,
        payment: &ProviderPayment,
    ) -> Result<()> {
        let provider = self.provider_named(&attempt.provider)?;
        self.fault("before-cancel");
        let ended = provider.cancel(&payment.id, &keys::cancel(attempt)).await;
        self.fault("after-cancel");
        match ended {
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
        // Of a cancelled performance nothing is taken that would only go back.
        if !orders::owns_all_seats(&self.pg, attempt.order).await?
            || batches::is_cancelled(&self.pg, order.performance).await?
        {
            return self.cancel_there(order, attempt, payment).await;
        }
        let provider = self.provider_named(&attempt.provider)?;
        self.fault("before-capture");
        match provider.capture(&payment.id, &keys::capture(attempt)).await {
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

    /// The money is ours: the order is paid, or, where it owns no seats any more and can't have them again, all of
    /// it goes back.
    pub(crate) async fn captured(self: &Arc<Self>, attempt: &AttemptRow) -> Result<()> {
        let mut seats_are_gone = false;
        for _ in 0..5 {
            let Some(order) = orders::one(&self.pg, attempt.order).await? else {
                return Err(Error::Broken(format!("attempt {} has no order", attempt.id)));
            };
            if order.status == OrderStatus::Closed && !seats_are_gone {
                if self.reclaim(&order, attempt).await? {
                    self.wake_after_capture();
                    return Ok(());
                }
                // It may have moved meanwhile: by another payment, or by another worker with this one.
                seats_are_gone = true;
                continue;
            }
            let now = self.now();
            let step =
                transition(OrderFacts { status: order.status, expires: order.expires }, OrderEvent::Captured, now);
            let mut tx = self.pg.begin().await?;
            if !attempts::set_captured(&mut *tx, attempt.id, now).await? {
                return Ok(());
            }
            // Of an attempt that had ended: another one may bring the money of the order at any time, and two must
            // not pay for it. No attempt begins while the order is as it was read.
            let alone = !attempts::other_is_open(&mut *tx, order.id, attempt.id).await?;
            let moved = match step {
                Ok(step) if alone => {
                    self.book_sale(&mut tx, attempt).await?;
                    orders::apply(&mut tx, &order, step, OrderEvent::Captured, None, now).await?
                }
                Ok(_) | Err(_) => {
                    // A late capture, or a second one: the seats are not this order's to sell.
                    self.give_late_money_back(&mut tx, attempt).await?;
                    reclaims::release_again(&mut *tx, order.id).await?;
                    true
                }
            };
            if moved {
                self.fault("before-captured-commit");
                tx.commit().await?;
                self.fault("captured-committed");
                self.wake_after_capture();
                return Ok(());
            }
            tx.rollback().await?;
        }
        Err(Error::Broken(format!("the order of attempt {} keeps changing", attempt.id)))
    }

    /// Wakes those who go on with money that was booked.
    fn wake_after_capture(&self) {
        metrics::counter!("stararena_payments_captured_total").increment(1);
        self.wake.issue.notify_one();
        self.wake.confirm.notify_one();
        // A refund, or a performance that was cancelled meanwhile.
        self.wake.query.notify_one();
        self.wake.release.notify_one();
    }

    /// Books captured money to whom the lines of its order belong.
    async fn book_sale(&self, db: &mut PgConnection, attempt: &AttemptRow) -> Result<()> {
        let lines = lines(db, attempt.order).await?;
        let shares = refunds::shares_of(lines.iter().map(|line| (line.kind, line.amounts)), attempt.amount_minor);
        let (order, currency) = (attempt.order, attempt.currency);
        ledger::post(db, &Event::OrderCaptured { attempt: attempt.id, order, currency, shares }, self.now()).await?;
        Ok(())
    }

    /// Books money that came without a right to seats, and reserves its way back.
    async fn give_late_money_back(&self, db: &mut PgConnection, attempt: &AttemptRow) -> Result<()> {
        let (now, amount) = (self.now(), Money::new(attempt.amount_minor, attempt.currency));
        ledger::post(db, &Event::LateMoney { attempt: attempt.id, order: attempt.order, amount }, now).await?;
        self.return_late_money(db, attempt).await
    }

    /// Reserves the way back of all that is left of late money. A refund that failed is tried again with it.
    pub(super) async fn return_late_money(&self, db: &mut PgConnection, attempt: &AttemptRow) -> Result<()> {
        // What a dispute took already, the bank has given back.
        let left = Money::new(balance(db, attempt).await?.left_minor(), attempt.currency);
        if left.minor == 0 {
            return Ok(());
        }
        let new = NewRefund {
            order: attempt.order,
            attempt: attempt.id,
            amount: left,
            cause: Cause::LateMoney,
            parts: &[],
            seats: &[],
            asked_by: None,
            approval: Approval::Automatic,
            note: "",
            due: self.now(),
        };
        let id = self.reserve_refund(db, &new).await?;
        refunds::set_all_retried(&mut *db, attempt.id, Cause::LateMoney, id).await?;
        let (key, words) = (format!("refund:{}", attempt.id), left.to_string());
        self.mail_owner(db, attempt.order, &key, |to, event, _, lang| mail::refunded(to, event, &words, lang)).await
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
        if !attempts::cancel(&mut *tx, attempt.id, ended::first_question(self.now())).await? {
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
        self.fault("before-canceled-commit");
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
}
