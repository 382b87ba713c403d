//! What providers tell us: verified and stored before it is acknowledged, applied afterwards by reading the
//! provider's own object. An event only says where to look.

use crate::backend::Backend;
use crate::error::{Error, Result, not_found, refuse};
use crate::payment::{Notice, PaymentProvider};
use crate::postgres::attempts;
use crate::postgres::inbox::{self, InboxRow};
use crate::postgres::refunds;
use domain::refund::RefundStatus;
use domain::{AttemptId, Code, Millis, Money, Refusal};
use serde_json::Value;
use std::sync::Arc;

/// How long an event about an attempt that is not known here is tried again. After that it is set aside: the
/// account seems to serve another installation as well.
pub(super) const UNKNOWN_FOR_MS: i64 = 3_600_000;

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
        self.fault("before-inbox");
        let new = inbox::insert(&self.pg, provider.name(), id, &event, self.now()).await?;
        self.fault("after-inbox");
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
        self.fault("before-event");
        match provider.notice(&row.body) {
            Notice::Payment { reference, told } => self.payment_moved(row, &reference, told).await,
            Notice::Refund { id } => self.refund_moved(provider, &id).await,
            Notice::Dispute { id } => self.dispute_moved(provider, &id).await,
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
    /// that fails after it succeeded, which providers document, and of one that was made at the provider by hand.
    pub(crate) async fn refund_moved(self: &Arc<Self>, provider: &dyn PaymentProvider, id: &str) -> Result<()> {
        let Some(row) = refunds::by_reference(&self.pg, provider.name(), id).await? else {
            return self.unknown_refund(provider, id).await;
        };
        match row.status {
            RefundStatus::Requested | RefundStatus::Approved | RefundStatus::Submitted => {
                self.settle_refund(&row).await
            }
            RefundStatus::Succeeded => {
                let told = provider.get_refund(id).await?;
                self.refund_told(&row, &told).await
            }
            RefundStatus::Failed | RefundStatus::Rejected => Ok(()),
        }
    }

    /// A refund that no refund here names: of money that was set aside, ours whose answer we have not noted yet, or
    /// made by others. Of payments that are not ours nothing is known.
    async fn unknown_refund(self: &Arc<Self>, provider: &dyn PaymentProvider, id: &str) -> Result<()> {
        let told = match provider.get_refund(id).await {
            Ok(told) => told,
            Err(error) if error.is_final() => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        if self.set_aside_refund_told(provider.name(), &told).await? {
            return Ok(());
        }
        let Some(attempt) = told.reference.as_deref().and_then(|reference| reference.parse::<AttemptId>().ok()) else {
            return Ok(());
        };
        let Some(attempt) = attempts::one(&self.pg, attempt).await?.filter(|row| row.provider == provider.name())
        else {
            return Ok(());
        };
        let amount = Money::new(0, attempt.currency);
        self.import_told(&attempt, &told, told.amount.unwrap_or(amount), self.now()).await?;
        Ok(())
    }
}
