//! What happens to refunds and payments by itself, later: steps that are planned when their cause is
//! stored, so that neither a restart nor a change of the switches loses or alters them.

use redb::{ReadTransaction, ReadableTable};
use serde::Deserialize;

use super::ledger::{self, SWEEP_MAX};
use super::store::{self, StoreError, Tables};
use super::{payment, refunds};

/// What the bank does in the end; also how a person at the provider says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Step {
    #[serde(rename = "succeeded")]
    Succeed,
    #[serde(rename = "failed")]
    Fail,
}

impl From<Step> for u8 {
    fn from(step: Step) -> Self {
        match step {
            Step::Succeed => 0,
            Step::Fail => 1,
        }
    }
}

impl From<u8> for Step {
    fn from(byte: u8) -> Self {
        if byte == 0 { Self::Succeed } else { Self::Fail }
    }
}

/// Plans a step of a refund or a payment.
pub(super) fn plan(tables: &mut Tables<'_>, at_ms: i64, id: &str, step: Step) -> Result<(), StoreError> {
    tables.steps.insert((at_ms, id), u8::from(step))?;
    Ok(())
}

/// Whether a step is due.
pub(super) fn is_due(txn: &ReadTransaction, now_ms: i64) -> Result<bool, StoreError> {
    let steps = txn.open_table(store::STEPS)?;
    let first = steps.first()?;
    Ok(first.is_some_and(|(key, _)| key.value().0 <= now_ms))
}

/// Takes the steps that are due; answers whether more wait. One that fits no more (somebody was there
/// first by hand) is left out.
pub(super) fn take_due(tables: &mut Tables<'_>, now_ms: i64) -> Result<bool, StoreError> {
    let mut due = Vec::new();
    for entry in tables.steps.range(..(now_ms + 1, ""))?.take(SWEEP_MAX) {
        let (key, step) = entry?;
        let (at_ms, id) = key.value();
        due.push((at_ms, id.to_owned(), Step::from(step.value())));
    }
    for (at_ms, id, step) in &due {
        tables.steps.remove((*at_ms, id.as_str()))?;
        let refused = if id.starts_with(payment::ID_PREFIX) {
            ledger::succeed_late(tables, id, now_ms)?.err()
        } else {
            refunds::settle(tables, id, *step, now_ms)?.err()
        };
        if let Some(refusal) = refused {
            tracing::debug!(code = refusal.code, %id, "a planned step fits no more");
        }
    }
    Ok(due.len() == SWEEP_MAX)
}
