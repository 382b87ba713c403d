//! The call that asks a provider for a refund, and the key that it carries.
//!
//! A provider may keep an answer of 500 under a key, and give it again for a day and longer. Such a refund needs
//! another key, and a refund of a part could then be made twice: the amount alone would not forbid it. So another
//! key is taken only when the refund is not there for sure. Calls under the old key were answered with a 500, several
//! times in a row and over some seconds, and none is under way that could be carried out later. And the provider's
//! list of the payment's refunds, which is read before each call, has none of that name. A time-out, a broken
//! connection and a gateway's word (502, 503, 504) say nothing of a call: such a call counts as under way for as long
//! as one can take, and then counting begins anew.

use crate::backend::Backend;
use crate::error::Result;
use crate::payment::{PaymentProvider, ProviderError, ProviderRefund};
use crate::postgres::refund_keys::{self, Calls};
use domain::{Millis, Money};

/// Answers of 500 in a row after which a refund gets another key.
const FAULTS_MIN: i32 = 3;
/// Over so long a time at least: a provider that fails for a moment needs no other key.
const SPREAD_MS: i64 = 5_000;
/// So long after its beginning no call is under way: what is looked up before takes sixteen seconds at most, the
/// request that makes the refund eight.
const CALL_MAX_MS: i64 = 25_000;

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
        let (generation, began) = self.begin_refund_call(reference).await?;
        let told = provider.refund(payment, amount.minor, reference, &key(reference, generation)).await;
        if matches!(told, Err(ProviderError::Faulted { .. })) {
            self.refund_call_faulted(reference, generation, began).await?;
        }
        Ok(told?)
    }

    /// Notes that a call begins, which is committed before it is made: the generation of its key, and its instant.
    async fn begin_refund_call(&self, reference: &str) -> Result<(i32, Millis)> {
        let (now, mut tx) = (self.now(), self.pg.begin().await?);
        let (calls, began) = begun(refund_keys::lock(&mut tx, reference, now).await?, now);
        refund_keys::save(&mut *tx, reference, &calls).await?;
        self.fault("before-refund-call");
        tx.commit().await?;
        self.fault("refund-call-begun");
        Ok((calls.generation, began))
    }

    /// Notes that a call was answered with a 500.
    async fn refund_call_faulted(&self, reference: &str, generation: i32, began: Millis) -> Result<()> {
        let mut tx = self.pg.begin().await?;
        let calls = faulted(refund_keys::lock(&mut tx, reference, self.now()).await?, generation, began);
        refund_keys::save(&mut *tx, reference, &calls).await?;
        self.fault("before-fault-commit");
        tx.commit().await?;
        self.fault("refund-fault-noted");
        Ok(())
    }
}

/// The calls of a refund after another one began, and its instant, which no other call has.
fn begun(mut calls: Calls, now: Millis) -> (Calls, Millis) {
    let none_is_open = calls.open.is_empty();
    let before = calls.open.len();
    calls.open.retain(|began| Millis(*began).until(now) < CALL_MAX_MS);
    if none_is_open && calls.faults >= FAULTS_MIN && calls.since.until(now) >= SPREAD_MS {
        calls = Calls { generation: calls.generation + 1, faults: 0, since: now, open: Vec::new() };
    } else if calls.open.len() < before || calls.faults == 0 {
        // One had no answer: from here on they count in a row.
        calls = Calls { faults: 0, since: now, ..calls };
    }
    let latest = calls.open.iter().copied().max().unwrap_or(i64::MIN);
    let began = now.0.max(latest.saturating_add(1));
    calls.open.push(began);
    (calls, Millis(began))
}

/// The calls of a refund after one of them was answered with a 500. One that took too long counts no more.
fn faulted(mut calls: Calls, generation: i32, began: Millis) -> Calls {
    if calls.generation == generation
        && let Some(place) = calls.open.iter().position(|open| *open == began.0)
    {
        calls.open.remove(place);
        calls.faults = calls.faults.saturating_add(1);
    }
    calls
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

    fn none() -> Calls {
        Calls { generation: 0, faults: 0, since: Millis(0), open: Vec::new() }
    }

    /// A call at that instant which is answered with a 500 at once.
    fn fails_at(calls: Calls, at_ms: i64) -> Calls {
        let (calls, began) = begun(calls, Millis(at_ms));
        let generation = calls.generation;
        faulted(calls, generation, began)
    }

    fn generation_at(calls: &Calls, at_ms: i64) -> i32 {
        begun(calls.clone(), Millis(at_ms)).0.generation
    }

    #[test]
    fn a_key_is_the_name_of_its_refund_until_it_needs_another_one() {
        assert_eq!((key("refund:1", 0), key("refund:1", 2)), ("refund:1".to_owned(), "refund:1/2".to_owned()));
        assert_ne!(key("quarantine:7", 1), key("quarantine:7:1", 0), "no other refund's key");
    }

    #[test]
    fn another_key_follows_three_faults_in_a_row_over_some_seconds() {
        let two = [1_000, 9_000].into_iter().fold(none(), fails_at);
        assert_eq!(generation_at(&two, 60_000), 0, "too few");
        let three = [1_000, 2_000, 4_000].into_iter().fold(none(), fails_at);
        assert_eq!(generation_at(&three, 1_000 + SPREAD_MS - 1), 0, "too soon");
        assert_eq!(generation_at(&three, 1_000 + SPREAD_MS), 1);
        let again = fails_at(three, 1_000 + SPREAD_MS);
        assert_eq!((again.generation, again.faults), (1, 1), "counted anew");
    }

    #[test]
    fn while_a_call_may_be_under_way_there_is_no_other_key() {
        // Also where others, which began before it and after it, are answered.
        let (calls, slow) = begun(none(), Millis(0));
        let (calls, lost) = begun(calls, Millis(20_000));
        let mut calls = faulted(calls, 0, slow);
        for at_ms in [24_000, 30_000, 36_000, 42_000] {
            calls = fails_at(calls, at_ms);
        }
        assert_eq!(calls.open, [lost.0]);
        assert_eq!(generation_at(&calls, lost.0 + CALL_MAX_MS - 1), 0, "it may be carried out yet");
        let (mut calls, began) = begun(calls, Millis(lost.0 + CALL_MAX_MS));
        assert_eq!((calls.generation, calls.faults), (0, 0), "it is over: from here on they count");
        calls = faulted(calls, 0, began);
        calls = [began.0 + 16_000, began.0 + 32_000].into_iter().fold(calls, fails_at);
        assert_eq!(generation_at(&calls, began.0 + 48_000), 1);
        assert_eq!(faulted(calls.clone(), 0, lost), calls, "what took too long counts no more");
    }

    #[test]
    fn two_calls_at_one_instant_are_two() {
        let (calls, one) = begun(none(), Millis(5));
        let (calls, two) = begun(calls, Millis(5));
        assert_ne!(one, two);
        assert_eq!(faulted(calls, 0, one).open, [two.0]);
    }
}
