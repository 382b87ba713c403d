//! What providers tell us: verified and stored before it is acknowledged, applied afterwards by reading the
//! provider's own object. An event only says where to look.

use crate::backend::Backend;
use crate::error::{Error, Result, not_found, refuse};
use crate::pay::settle::refund_due;
use crate::payment::{DisputeState, Notice, PaymentProvider};
use crate::postgres::attempts;
use crate::postgres::inbox::{self, InboxRow};
use crate::postgres::refunds::{self, RefundRow};
use domain::{AttemptId, Code, Millis, Refusal};
use serde_json::Value;
use std::sync::Arc;

/// How long an event about an attempt that is not known here is tried again. After that it is set aside: the
/// account seems to serve another installation as well.
const UNKNOWN_FOR_MS: i64 = 3_600_000;

impl Backend {
    /// The header that carries the signature of a provider's webhooks, in lower case; none where that provider
    /// is not configured.
    pub fn webhook_header(&self, provider: &str) -> Option<&'static str> {
        self.providers.get(provider).map(|provider| provider.signature_header())
    }

    /// Stores what a provider says, once, before it is acknowledged.
    ///
    /// # Errors
    /// `not_found` for a provider that is not configured, `bad_signature`, `invalid_input`; an outage means
    /// that nothing is acknowledged and the provider tries again.
    pub async fn receive_webhook(self: &Arc<Self>, provider: &str, signature: &str, body: &[u8]) -> Result<()> {
        let Some(provider) = self.providers.get(provider) else { return not_found("provider") };
        let count = |outcome: &'static str| {
            metrics::counter!("stararena_webhooks_total", "provider" => provider.name(), "outcome" => outcome)
                .increment(1);
        };
        if !provider.verify(signature, body, self.now()) {
            count("bad_signature");
            return refuse(Code::BadSignature, "the signature does not fit this body");
        }
        let event: Value = serde_json::from_slice(body)
            .map_err(|e| Error::Refused(Refusal::new(Code::InvalidInput, format!("body: {e}"))))?;
        let Some(id) = event["id"].as_str().filter(|id| !id.is_empty()) else {
            return refuse(Code::InvalidInput, "id: the event's id is expected");
        };
        let new = inbox::insert(&self.pg, provider.name(), id, &event, self.now()).await?;
        count(if new { "stored" } else { "repeated" });
        self.wake.inbox.notify_one();
        Ok(())
    }

    /// Applies one event of the inbox. Idempotent, in any order.
    ///
    /// # Errors
    /// Outages, and what is not known yet: the event stays in the inbox and is applied again.
    pub(crate) async fn apply_event(self: &Arc<Self>, row: &InboxRow) -> Result<()> {
        let provider = self.provider_named(&row.provider)?;
        match provider.notice(&row.body) {
            Notice::Payment { reference, told } => self.payment_moved(row, &reference, told).await,
            Notice::Refund { id } => self.refund_moved(provider, &id).await,
            Notice::Dispute { id } => dispute_moved(provider, &id).await,
            Notice::Foreign { reason } => self.set_event_aside(row, reason).await,
            Notice::Nothing => Ok(()),
        }
    }

    async fn payment_moved(self: &Arc<Self>, row: &InboxRow, reference: &str, told: Option<Millis>) -> Result<()> {
        let attempt = match reference.parse().map(AttemptId) {
            Ok(id) => attempts::one(&self.pg, id).await?,
            Err(_) => None,
        };
        match attempt {
            Some(attempt) if attempt.provider == row.provider => self.settle(&attempt).await,
            Some(_) => self.set_event_aside(row, "an attempt of another provider").await,
            None if told.is_some_and(|told| told.until(self.now()) > UNKNOWN_FOR_MS) => {
                self.set_event_aside(row, "an unknown attempt").await
            }
            // Unknown here: it may be ahead of our own row. It stays in the inbox and is tried again.
            None => Err(Error::Broken(format!("no attempt is known for `{reference}`"))),
        }
    }

    /// Keeps an event that is not ours as evidence, once, and goes on without it.
    async fn set_event_aside(&self, row: &InboxRow, reason: &str) -> Result<()> {
        if attempts::quarantine(&self.pg, &row.provider, &row.event, reason, &row.body, self.now()).await? {
            metrics::counter!("stararena_payments_quarantined_total").increment(1);
            tracing::error!(
                provider = row.provider,
                event = row.event,
                reason,
                "an event is not ours and was set aside"
            );
        }
        Ok(())
    }

    /// Refunds are followed by their own schedule; an event makes it quicker, and is the only sign of a refund
    /// that fails after it succeeded, which providers document. Of refunds that are not ours nothing is known.
    pub(crate) async fn refund_moved(self: &Arc<Self>, provider: &dyn PaymentProvider, id: &str) -> Result<()> {
        let Some((row, status)) = refunds::by_reference(&self.pg, provider.name(), id).await? else { return Ok(()) };
        match status.as_str() {
            "requested" | "submitted" => self.settle_refund(&row).await,
            "succeeded" => match provider.get_refund(id).await?.succeeded {
                Some(false) => self.refund_came_back(&row).await,
                Some(true) | None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// The bank did not take the money: it is with us again and must not be. The posting is turned round, and
    /// another refund follows under its own key.
    async fn refund_came_back(self: &Arc<Self>, row: &RefundRow) -> Result<()> {
        let now = self.now();
        let mut tx = self.pg.begin().await?;
        if !refunds::fail_after_success(&mut *tx, row.id).await? {
            return Ok(());
        }
        let (source, back, from) = (format!("refund-returned:{}", row.id), "provider_clearing", "organizer_payable");
        attempts::post(&mut tx, &source, back, from, row.amount_minor, row.currency, now).await?;
        refunds::unmark_attempt(&mut *tx, row.attempt).await?;
        let due = refund_due(now, refunds::failed(&mut *tx, row.attempt).await?);
        if !refunds::reserve_again(&mut *tx, uuid::Uuid::now_v7(), row.id, now, due).await? {
            return Err(Error::Broken(format!("refund {} failed, and no other could be reserved", row.id)));
        }
        tx.commit().await?;
        metrics::counter!("stararena_refunds_total", "outcome" => "failed").increment(1);
        tracing::warn!(refund = %row.id, "a refund failed after it had succeeded; another one follows");
        self.wake.query.notify_one();
        Ok(())
    }
}

/// Says aloud what a dispute is about: people decide about it at the provider.
async fn dispute_moved(provider: &dyn PaymentProvider, id: &str) -> Result<()> {
    let dispute = provider.get_dispute(id).await?;
    metrics::counter!("stararena_disputes_total", "state" => dispute.state.as_str()).increment(1);
    let attempt = dispute.reference.as_deref().unwrap_or("none of ours");
    let (amount, currency, reason) = (dispute.amount_minor, dispute.currency.code(), dispute.reason.as_str());
    let state = dispute.state.as_str();
    match dispute.state {
        DisputeState::Won => tracing::info!(id, attempt, amount, currency, reason, state, "a dispute has ended"),
        DisputeState::Open | DisputeState::Lost => {
            tracing::error!(
                id,
                attempt,
                amount,
                currency,
                reason,
                state,
                "a payment is disputed: look at the provider"
            );
        }
    }
    Ok(())
}
