//! Stripe's objects: the few fields that are read of them, and what they mean. Unknown fields are passed over,
//! and what may be missing may be missing: a new version of theirs loses no payment.

use super::amounts;
use crate::payment::{DisputeState, ProviderDispute, ProviderError, ProviderPayment, ProviderRefund, ProviderState};
use domain::{Currency, Millis, Money};
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;

/// Where a payment carries the attempt's id: a name that no other program takes on the same account.
pub(super) const REFERENCE: &str = "stararena_attempt";
/// Where a refund carries our name of it.
pub(super) const REFUND_KEY: &str = "stararena_refund";

/// A hosted page (Checkout Session).
#[derive(Deserialize)]
pub(super) struct Page {
    pub(super) id: String,
    status: Option<String>,
    url: Option<String>,
    amount_total: Option<i64>,
    currency: Option<Currency>,
    metadata: Option<HashMap<String, Value>>,
    #[serde(default)]
    livemode: bool,
    /// Made when the fan pays.
    pub(super) payment_intent: Option<Expandable<Intent>>,
}

impl Page {
    /// Whether somebody may still pay there.
    pub(super) fn is_open(&self) -> bool {
        self.status.as_deref() == Some("open")
    }
}

/// A payment (PaymentIntent).
#[derive(Deserialize)]
pub(super) struct Intent {
    pub(super) id: String,
    status: String,
    amount: i64,
    amount_received: Option<i64>,
    pub(super) currency: Currency,
    metadata: Option<HashMap<String, Value>>,
    last_payment_error: Option<LastError>,
    #[serde(default)]
    livemode: bool,
    /// Another account, for which the money is taken.
    on_behalf_of: Option<Value>,
    /// Another account, to which the money goes.
    transfer_data: Option<Value>,
}

#[derive(Deserialize)]
struct LastError {
    code: Option<String>,
    decline_code: Option<String>,
}

/// An object, or its id alone.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Expandable<T> {
    Id(String),
    Object(Box<T>),
}

/// Money on its way back.
#[derive(Deserialize)]
pub(super) struct Refund {
    id: String,
    status: Option<String>,
    amount: Option<i64>,
    currency: Option<Currency>,
    failure_reason: Option<String>,
    metadata: Option<HashMap<String, Value>>,
    /// Its payment; with it our name for the attempt.
    pub(super) payment_intent: Option<Expandable<Intent>>,
}

/// Objects of one kind.
#[derive(Deserialize)]
pub(super) struct List<T> {
    pub(super) data: Vec<T>,
}

/// A dispute; its payment is asked for with it.
#[derive(Deserialize)]
pub(super) struct Dispute {
    id: String,
    amount: i64,
    currency: Currency,
    status: String,
    reason: Option<String>,
    /// Seconds since 1970.
    #[serde(default)]
    created: i64,
    payment_intent: Option<Expandable<Intent>>,
}

/// The word that tells real money from practice.
pub(super) fn mode(live: bool) -> &'static str {
    if live { "live" } else { "test" }
}

fn text(metadata: &Option<HashMap<String, Value>>, name: &str) -> Option<String> {
    Some(metadata.as_ref()?.get(name)?.as_str()?.to_owned())
}

fn minor(amount: i64, currency: Currency) -> Result<i64, ProviderError> {
    amounts::from_stripe(amount, currency).map_err(ProviderError::unreadable)
}

impl Intent {
    /// Each documented status. While it is `processing` nobody can decide; it ends in another one.
    fn state(&self) -> Result<ProviderState, ProviderError> {
        Ok(match self.status.as_str() {
            "requires_payment_method" | "requires_confirmation" | "requires_action" | "processing" => {
                ProviderState::Open
            }
            "requires_capture" => ProviderState::Authorized,
            "succeeded" => ProviderState::Captured,
            "canceled" => ProviderState::Canceled,
            other => return Err(ProviderError::unreadable(format!("unknown status `{other}` of a payment"))),
        })
    }

    /// Our own mode, and the other account where the money is another's.
    fn merchant(&self) -> String {
        let other = [&self.on_behalf_of, &self.transfer_data].into_iter().flatten().next();
        match other {
            Some(account) => format!("{} for {account}", mode(self.livemode)),
            None => mode(self.livemode).to_owned(),
        }
    }

    /// Our name for it: the attempt's id; none where it is not ours.
    pub(super) fn reference(&self) -> Option<String> {
        text(&self.metadata, REFERENCE)
    }

    fn last_error(&self) -> Option<String> {
        let error = self.last_payment_error.as_ref()?;
        error.decline_code.clone().or_else(|| error.code.clone())
    }

    /// The payment by itself.
    pub(super) fn payment(&self) -> Result<ProviderPayment, ProviderError> {
        let state = self.state()?;
        let amount = match (state, self.amount_received) {
            // What was taken, which is less where a part was captured by hand.
            (ProviderState::Captured, Some(received)) => received,
            _ => self.amount,
        };
        Ok(ProviderPayment {
            id: self.id.clone(),
            paid_as: Some(self.id.clone()),
            state,
            amount_minor: minor(amount, self.currency)?,
            currency: self.currency,
            reference: text(&self.metadata, REFERENCE).unwrap_or_default(),
            merchant: self.merchant(),
            hosted_url: String::new(),
            last_error: self.last_error().filter(|_| state == ProviderState::Open),
        })
    }
}

/// A page with the payment that was made there, if one was. Where the payment has money, it decides; else
/// the page tells whether there may be any.
pub(super) fn payment_of(page: &Page, intent: Option<&Intent>) -> Result<ProviderPayment, ProviderError> {
    let hosted_url = page.url.clone().unwrap_or_default();
    let made = intent.map(Intent::payment).transpose()?;
    let has_money =
        |payment: &ProviderPayment| matches!(payment.state, ProviderState::Authorized | ProviderState::Captured);
    if let Some(payment) = made.as_ref().filter(|payment| has_money(payment)) {
        return Ok(ProviderPayment { id: page.id.clone(), hosted_url, ..payment.clone() });
    }
    let state = match (page.status.as_deref(), &made) {
        (Some("open"), _) => ProviderState::Open,
        (Some("expired"), _) => ProviderState::Canceled,
        (Some("complete"), Some(payment)) => payment.state,
        (status, _) => return Err(ProviderError::unreadable(format!("status {status:?} of a page without a payment"))),
    };
    if let Some(payment) = made {
        return Ok(ProviderPayment { id: page.id.clone(), state, hosted_url, ..payment });
    }
    let (Some(amount), Some(currency)) = (page.amount_total, page.currency) else {
        return Err(ProviderError::unreadable("a page without an amount"));
    };
    Ok(ProviderPayment {
        id: page.id.clone(),
        paid_as: None,
        state,
        amount_minor: minor(amount, currency)?,
        currency,
        reference: text(&page.metadata, REFERENCE).unwrap_or_default(),
        merchant: mode(page.livemode).to_owned(),
        hosted_url,
        last_error: None,
    })
}

impl Refund {
    /// Whether it is the refund that we call so.
    pub(super) fn is_of(&self, reference: &str) -> bool {
        text(&self.metadata, REFUND_KEY).as_deref() == Some(reference)
    }

    /// The refund with its payment, where that is known.
    pub(super) fn of(self, intent: Option<Intent>) -> Self {
        match intent {
            Some(intent) => Self { payment_intent: Some(Expandable::Object(Box::new(intent))), ..self },
            None => self,
        }
    }

    /// What became of it. A refund that waits for the bank, or for somebody's action, has not ended.
    ///
    /// # Errors
    /// When the amount can't be read in minor units.
    pub(super) fn told(self) -> Result<ProviderRefund, ProviderError> {
        let succeeded = match self.status.as_deref() {
            Some("succeeded") => Some(true),
            Some("failed" | "canceled") => Some(false),
            _ => None,
        };
        let amount = match (self.amount, self.currency) {
            (Some(amount), Some(currency)) => Some(Money::new(minor(amount, currency)?, currency)),
            _ => None,
        };
        let (payment, reference) = match self.payment_intent {
            Some(Expandable::Object(intent)) => (Some(intent.id.clone()), intent.reference()),
            Some(Expandable::Id(id)) => (Some(id), None),
            None => (None, None),
        };
        Ok(ProviderRefund {
            key: text(&self.metadata, REFUND_KEY),
            id: self.id,
            succeeded,
            amount,
            payment,
            reference,
            failure: self.failure_reason,
        })
    }
}

impl Dispute {
    /// What the dispute is about. An inquiry (`warning_…`) and a dispute that was prevented take no money.
    pub(super) fn told(self) -> Result<ProviderDispute, ProviderError> {
        let state = match self.status.as_str() {
            "won" | "warning_closed" | "prevented" => DisputeState::Won,
            "lost" => DisputeState::Lost,
            "needs_response" | "under_review" | "warning_needs_response" | "warning_under_review" => DisputeState::Open,
            other => return Err(ProviderError::unreadable(format!("unknown status `{other}` of a dispute"))),
        };
        let reference = match &self.payment_intent {
            Some(Expandable::Object(intent)) => intent.reference(),
            Some(Expandable::Id(_)) | None => None,
        };
        Ok(ProviderDispute {
            withdrawn: matches!(self.status.as_str(), "needs_response" | "under_review" | "won" | "lost"),
            opened: Millis(self.created.saturating_mul(1_000)),
            id: self.id,
            reference,
            state,
            amount_minor: minor(self.amount, self.currency)?,
            currency: self.currency,
            reason: self.reason.unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests;
