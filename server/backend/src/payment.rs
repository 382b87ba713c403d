//! Payment providers behind one trait: create, look up, capture, cancel, refund.
//!
//! Whatever an event said, a decision is made on the provider's own object, read again. This module
//! knows no order and no SQL.

mod sandbox;

pub(crate) use sandbox::{SandboxProvider, verify_signature};

use domain::{Currency, Millis};
use futures::future::BoxFuture;

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
    /// Where the fan pays.
    pub hosted_url: String,
    /// Why the last card was declined.
    pub last_error: Option<String>,
}

/// A payment to be opened.
#[derive(Clone, Debug)]
pub struct NewPayment {
    /// The same for every try of the same attempt.
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
}

/// Why a provider did not do as asked.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// No usable answer: it may or may not have happened. Ask again with the same key.
    #[error("no usable answer from the payment provider")]
    Unreachable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A definite no.
    #[error("the payment provider refused: {code}")]
    Refused {
        /// The provider's code.
        code: String,
    },
}

/// A payment provider.
pub trait PaymentProvider: Send + Sync + 'static {
    /// Its name in rows and metrics.
    fn name(&self) -> &'static str;
    /// Opens a payment; the same key and parameters give the same payment.
    fn create(&self, new: NewPayment) -> BoxFuture<'_, Result<ProviderPayment, ProviderError>>;
    /// Reads a payment.
    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<ProviderPayment, ProviderError>>;
    /// Finds a payment by our reference.
    fn find<'a>(&'a self, reference: &'a str) -> BoxFuture<'a, Result<Option<ProviderPayment>, ProviderError>>;
    /// Takes authorised money.
    fn capture<'a>(&'a self, id: &'a str, key: &'a str) -> BoxFuture<'a, Result<ProviderPayment, ProviderError>>;
    /// Ends a payment that was not captured.
    fn cancel<'a>(&'a self, id: &'a str, key: &'a str) -> BoxFuture<'a, Result<ProviderPayment, ProviderError>>;
    /// Gives captured money back.
    fn refund<'a>(
        &'a self,
        payment: &'a str,
        amount_minor: i64,
        key: &'a str,
    ) -> BoxFuture<'a, Result<ProviderRefund, ProviderError>>;
    /// Reads a refund.
    fn get_refund<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<ProviderRefund, ProviderError>>;
}
