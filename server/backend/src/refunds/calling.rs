//! The call that asks a provider for a refund, and the key that it carries.
//!
//! A provider may keep an answer of 500 under a key, and give it again for a day and longer. Such a refund needs
//! another key, and a refund of a part could then be made twice: the amount alone would not forbid it. So another
//! key is taken only when the refund is not there for sure. Every call under the old key was answered, with a 500,
//! several times and over some seconds: none is under way that could be carried out later. And the provider's list
//! of the payment's refunds, which is read before each call, has none of that name. A time-out, a broken connection
//! and a gateway's word (502, 503, 504) say nothing of a call: such a call counts as under way for as long as one
//! can take.

use crate::backend::Backend;
use crate::error::Result;
use crate::payment::{PaymentProvider, ProviderError, ProviderRefund};
use crate::postgres::refund_keys::{self, Limits};
use domain::Money;

/// When a refund gets another key. A call has at most three requests of eight seconds each.
const LIMITS: Limits = Limits { faults: 3, spread_ms: 5_000, call_ms: 25_000 };

impl Backend {
    /// Asks a provider for the refund that we call by `reference`, as often as it takes: it is made once.
    ///
    /// # Errors
    /// `Provider`, also when it says a definite no; outages.
    pub(crate) async fn refund_there(
        &self,
        provider: &dyn PaymentProvider,
        payment: &str,
        amount: Money,
        reference: &str,
    ) -> Result<ProviderRefund> {
        let began = self.now();
        let generation = refund_keys::begin_call(&self.pg, reference, LIMITS, began).await?;
        let told = provider.refund(payment, amount.minor, reference, &key(reference, generation)).await;
        if let Err(ProviderError::Faulted { .. }) = &told {
            refund_keys::faulted(&self.pg, reference, generation, began).await?;
        }
        Ok(told?)
    }
}

/// The key of a refund. Money that was set aside counts its refunds behind a colon, so that a generation stands
/// behind another sign.
fn key(reference: &str, generation: i32) -> String {
    match generation {
        0 => reference.to_owned(),
        _ => format!("{reference}/{generation}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_the_name_of_its_refund_until_it_needs_another_one() {
        assert_eq!((key("refund:1", 0), key("refund:1", 2)), ("refund:1".to_owned(), "refund:1/2".to_owned()));
        assert_ne!(key("quarantine:7", 1), key("quarantine:7:1", 0), "no other refund's key");
    }
}
