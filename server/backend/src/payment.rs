//! Payment providers behind one trait: create, look up, capture, cancel, refund, and what their events mean.
//!
//! Whatever an event said, a decision is made on the provider's own object, read again. This module
//! knows no order and no SQL.

mod registry;
mod sandbox;
mod signature;
mod stripe;

pub(crate) use registry::Registry;

use domain::settlement::ProviderLine;
use domain::{Currency, Millis, Money};
use futures::future::BoxFuture;
use serde_json::Value;
use std::time::Duration;

/// So long a payment's refunds are looked through before another one is made, at most. With the request that makes it,
/// of eight seconds, a call takes no longer than `refunds/calling.rs` counts with.
const LOOK_UP_MAX: Duration = Duration::from_secs(16);

/// Where a payment stands at the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderState {
    /// The fan has not paid yet; a declined card leaves it here.
    Open,
    /// The money is reserved; we decide about the capture.
    Authorized,
    /// The money is ours.
    Captured,
    /// Ended without money.
    Canceled,
}

/// A payment as the provider tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderPayment {
    /// The provider's id.
    pub id: String,
    /// The id by which refunds name it: another one where `id` is the page that it was made on. None as long as
    /// nobody has paid.
    pub paid_as: Option<String>,
    /// Where it stands.
    pub state: ProviderState,
    /// Amount in minor units.
    pub amount_minor: i64,
    /// Currency.
    pub currency: Currency,
    /// What we called it: the attempt's id.
    pub reference: String,
    /// Whose money it is.
    pub merchant: String,
    /// Where the fan pays; empty once nobody can pay there any more.
    pub hosted_url: String,
    /// Why the last card was declined.
    pub last_error: Option<String>,
}

/// A payment to be opened.
#[derive(Clone, Debug)]
pub struct NewPayment {
    /// The same for tries that may be under way at once.
    pub idempotency_key: String,
    /// The attempt's id.
    pub reference: String,
    /// Amount in minor units.
    pub amount_minor: i64,
    /// Currency.
    pub currency: Currency,
    /// What the fan reads at the provider.
    pub description: String,
    /// Where the fan comes back.
    pub return_url: String,
    /// When the provider stops taking it.
    pub expires: Millis,
}

/// A refund as the provider tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderRefund {
    /// The provider's id.
    pub id: String,
    /// Whether it has ended, and how.
    pub succeeded: Option<bool>,
    /// How much; none where the provider does not say.
    pub amount: Option<Money>,
    /// The payment whose money goes back, as in [`ProviderPayment::paid_as`]; none where the provider does not say.
    /// Our name for a payment can't tell it: somebody may make another one under the same name.
    pub payment: Option<String>,
    /// What we called the payment: the attempt's id; none where the payment is not one of ours.
    pub reference: Option<String>,
    /// What we call the refund, as [`PaymentProvider::refund`] was told; none where it was made by others.
    pub key: Option<String>,
    /// Why it failed, in the provider's words.
    pub failure: Option<String>,
}

/// Where a dispute stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisputeState {
    /// Not decided; the money may have been withdrawn.
    Open,
    /// Decided for us, or withdrawn: the money is ours.
    Won,
    /// Decided for the fan's bank: the money is gone.
    Lost,
}

impl DisputeState {
    /// A word for metrics and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Won => "won",
            Self::Lost => "lost",
        }
    }
}

/// A dispute as the provider tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderDispute {
    /// The provider's id.
    pub id: String,
    /// What we called the payment: the attempt's id; none where the payment is not one of ours.
    pub reference: Option<String>,
    /// Where it stands.
    pub state: DisputeState,
    /// The disputed amount in minor units.
    pub amount_minor: i64,
    /// Currency.
    pub currency: Currency,
    /// The bank's reason, as the provider calls it.
    pub reason: String,
    /// Whether money was taken from us for it. An inquiry of the bank, or a warning, takes none.
    pub withdrawn: bool,
    /// When it was opened.
    pub opened: Millis,
}

/// What an event of a provider says: where to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A payment that carries our name moved.
    Payment {
        /// What we called it.
        reference: String,
        /// When the provider told, where it says so.
        told: Option<Millis>,
    },
    /// A refund moved.
    Refund {
        /// The provider's id of the refund.
        id: String,
    },
    /// A dispute was opened, or moved.
    Dispute {
        /// The provider's id of the dispute.
        id: String,
    },
    /// It is about somebody else's money and should not have come here.
    Foreign {
        /// Why it is not ours.
        reason: &'static str,
    },
    /// Nothing that we follow.
    Nothing,
}

/// Why a provider did not do as asked.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// No usable answer: it may or may not have happened. Ask again with the same key.
    #[error("no usable answer from the payment provider")]
    Unreachable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It answered that it failed, with the status 500: the call is over. Some keep such an answer under the key and
    /// give it again to whoever uses that key.
    #[error("the payment provider failed: {code}")]
    Faulted {
        /// The provider's code.
        code: String,
    },
    /// The fan's bank says no.
    #[error("the card was declined: {code}")]
    Declined {
        /// The bank's reason, as the provider calls it.
        code: String,
    },
    /// A definite no.
    #[error("the payment provider refused: {code}")]
    Refused {
        /// The provider's code.
        code: String,
    },
}

impl ProviderError {
    /// Wraps what kept an answer from being of use.
    fn unreadable(what: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Unreachable(what.into())
    }

    /// Whether the provider decided: then its object tells where the payment stands.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Declined { .. } | Self::Refused { .. })
    }
}

/// What a provider is asked before it makes a refund. A fault of it is none of the refund's own call, so that no other
/// key follows it, and neither is an answer that takes too long.
async fn looked_up<T>(asked: impl Future<Output = Result<T, ProviderError>>) -> Result<T, ProviderError> {
    match tokio::time::timeout(LOOK_UP_MAX, asked).await {
        Ok(Err(ProviderError::Faulted { code })) => {
            Err(ProviderError::unreadable(format!("the payment's refunds can't be read: {code}")))
        }
        Ok(told) => told,
        Err(slow) => Err(ProviderError::unreadable(slow)),
    }
}

/// A payment provider.
pub trait PaymentProvider: Send + Sync + 'static {
    /// Its name in rows, addresses and metrics.
    fn name(&self) -> &'static str;
    /// Whose money a payment of ours must be, in the provider's words.
    fn merchant(&self) -> &str;
    /// Whether an amount can be charged, or given back: the rule is the same.
    ///
    /// # Errors
    /// A sentence that names amount and rule.
    fn chargeable(&self, amount_minor: i64, currency: Currency) -> Result<(), String>;
    /// The header that carries the signature of a webhook, in lower case.
    fn signature_header(&self) -> &'static str;
    /// Whether a webhook's bytes are the provider's own, and fresh.
    fn verify(&self, signature: &str, body: &[u8], now: Millis) -> bool;
    /// What an event says. Kinds that are not known here say nothing.
    fn notice(&self, event: &Value) -> Notice;
    /// Opens a payment; the same key and parameters give the same payment.
    fn create(&self, new: NewPayment) -> BoxFuture<'_, Result<ProviderPayment, ProviderError>>;
    /// Reads a payment.
    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<ProviderPayment, ProviderError>>;
    /// Finds the payment of a [`create`](Self::create) whose answer was lost, by our reference. None also
    /// where nobody can pay it, because nobody was told its address.
    fn find<'a>(&'a self, reference: &'a str) -> BoxFuture<'a, Result<Option<ProviderPayment>, ProviderError>>;
    /// Takes authorised money.
    fn capture<'a>(&'a self, id: &'a str, key: &'a str) -> BoxFuture<'a, Result<ProviderPayment, ProviderError>>;
    /// Ends a payment that was not captured.
    fn cancel<'a>(&'a self, id: &'a str, key: &'a str) -> BoxFuture<'a, Result<ProviderPayment, ProviderError>>;
    /// Gives captured money back, all of it or a part. `reference` is our name of the refund, which the provider
    /// keeps with it: the payment's refunds are looked through for it first, so that it is made once, whenever it is
    /// asked for again and under whatever key.
    fn refund<'a>(
        &'a self,
        payment: &'a str,
        amount_minor: i64,
        reference: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<ProviderRefund, ProviderError>>;
    /// Reads a refund. One that succeeded may have failed since.
    fn get_refund<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<ProviderRefund, ProviderError>>;
    /// Reads a dispute. A provider that has none refuses.
    fn get_dispute<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<ProviderDispute, ProviderError>> {
        Box::pin(async move { Err(ProviderError::Refused { code: format!("there is no dispute `{id}`") }) })
    }
    /// What moved from an instant on and before another one: every line of our payments, each once, in the
    /// signs of [`ProviderLine`]. A provider that settles nothing refuses.
    fn settlement(&self, _from: Millis, _to: Millis) -> BoxFuture<'_, Result<Vec<ProviderLine>, ProviderError>> {
        let code = format!("{} tells no settlement", self.name());
        Box::pin(async move { Err(ProviderError::Refused { code }) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_fault_of_a_look_up_is_no_answer_to_the_refund() {
        let faulted = async { Err::<(), _>(ProviderError::Faulted { code: "api_error".to_owned() }) };
        assert!(matches!(looked_up(faulted).await, Err(ProviderError::Unreachable(_))));
        let refused = async { Err::<(), _>(ProviderError::Refused { code: "resource_missing".to_owned() }) };
        assert!(matches!(looked_up(refused).await, Err(ProviderError::Refused { .. })), "a no stays one");
        assert!(matches!(looked_up(async { Ok(7) }).await, Ok(7)));
    }
}
