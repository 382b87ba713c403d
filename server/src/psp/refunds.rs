//! Refunds: their machine, and what each call does to the stored rows.
//!
//! A refund ends at once, or is pending first; and a bank may send money back that it had taken, so that
//! a success becomes a failure. Which of these happens is decided when the refund is made, by the
//! switches of that moment. Money that is asked for is reserved on its payment until the refund ends, so
//! that no two refunds give back the same.

use redb::{ReadTransaction, ReadableTable};
use serde::{Deserialize, Serialize};

use super::input::is_line;
use super::ledger::{self, Outcome, REFERENCE_MAX_CHARS};
use super::refusal::Refusal;
use super::settlement::{self, Kind, Movement};
use super::steps::{self, Step};
use super::store::{self, StoreError, Tables, decode, encode};
use super::switches::Switches;

/// Where a refund is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RefundStatus {
    Pending,
    Succeeded,
    Failed,
}

impl RefundStatus {
    fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
        }
    }
}

/// Who asked for a refund.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Origin {
    /// The merchant, by a call.
    #[default]
    Api,
    /// A person at the provider, by hand: the merchant did not ask for it.
    Provider,
}

/// One refund, as it is stored, answered and sent in events.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Refund {
    id: String,
    object: String,
    status: RefundStatus,
    payment: String,
    payment_reference: String,
    reference: String,
    amount: i64,
    currency: String,
    merchant: String,
    #[serde(default)]
    origin: Origin,
    created_ms: i64,
    /// When it got the status that it has; none while it is pending.
    #[serde(default)]
    settled_ms: Option<i64>,
    failure_reason: Option<String>,
}

impl Refund {
    /// Takes one step; answers the status that it had before.
    fn take(&mut self, step: Step, now_ms: i64) -> Result<RefundStatus, Refusal> {
        let before = self.status;
        self.status = match (before, step) {
            (RefundStatus::Pending, Step::Succeed) => RefundStatus::Succeeded,
            (RefundStatus::Pending | RefundStatus::Succeeded, Step::Fail) => RefundStatus::Failed,
            (RefundStatus::Succeeded, Step::Succeed) | (RefundStatus::Failed, _) => {
                let message = format!("a refund that is {} can't be settled so", before.as_str());
                return Err(Refusal::conflict("refund_unexpected_state", message, Some(before.as_str())));
            }
        };
        self.settled_ms = Some(now_ms);
        if step == Step::Fail {
            let late = before == RefundStatus::Succeeded;
            self.failure_reason = Some(if late { "returned_by_bank" } else { "declined_by_bank" }.to_owned());
        }
        Ok(before)
    }
}

/// What somebody asks for who gives money back.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewRefund {
    payment: String,
    amount: Option<i64>,
    #[serde(default)]
    reference: String,
}

impl NewRefund {
    /// What can be said about it without its payment.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        if is_line(&self.reference, REFERENCE_MAX_CHARS) {
            return Ok(());
        }
        let message = format!("reference must be one line of {REFERENCE_MAX_CHARS} characters");
        Err(Refusal::invalid("parameter_invalid", "reference", message))
    }
}

/// Makes a refund, and plans what happens to it later.
pub(super) fn create(tables: &mut Tables<'_>, new: &NewRefund, origin: Origin, now_ms: i64) -> Outcome<Refund> {
    let Some(mut payment) = ledger::find_payment(tables, &new.payment)? else {
        return Ok(Err(Refusal::not_found("payment").with_param("payment")));
    };
    let amount = match payment.refundable(new.amount) {
        Ok(amount) => amount,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let mut refund = Refund {
        id: ledger::new_id("re", now_ms)?,
        object: "refund".to_owned(),
        status: RefundStatus::Pending,
        payment: payment.id.clone(),
        payment_reference: payment.reference.clone(),
        reference: new.reference.clone(),
        amount,
        currency: payment.currency.clone(),
        merchant: payment.merchant.clone(),
        origin,
        created_ms: now_ms,
        settled_ms: None,
        failure_reason: None,
    };
    payment.amount_refund_pending += amount;
    ledger::put_payment(tables, &payment)?;
    tables.refunds_by_payment.insert((refund.payment.as_str(), refund.id.as_str()), ())?;
    put(tables, &refund)?;
    begin(tables, &mut refund, now_ms)
}

/// What the switches make of a new refund: its end now or later, and a failure after that.
fn begin(tables: &mut Tables<'_>, refund: &mut Refund, now_ms: i64) -> Outcome<Refund> {
    let switches = Switches::stored(tables)?;
    let wait_ms = i64::try_from(switches.refund_settle_ms).unwrap_or_default();
    let end = if switches.refund_fail { Step::Fail } else { Step::Succeed };
    let mut ends_ms = now_ms;
    if switches.refund_pending {
        ends_ms += wait_ms;
        steps::plan(tables, ends_ms, &refund.id, end)?;
        ledger::emit(tables, "refund.created", refund, now_ms)?;
    } else {
        if let Err(refusal) = advance(tables, refund, end, now_ms)? {
            return Ok(Err(refusal));
        }
        let event = if end == Step::Succeed { "refund.succeeded" } else { "refund.failed" };
        ledger::emit(tables, event, refund, now_ms)?;
    }
    if switches.refund_fail_late && end == Step::Succeed {
        // A millisecond more, since two steps of one refund can't share a moment.
        steps::plan(tables, ends_ms + wait_ms + 1, &refund.id, Step::Fail)?;
    }
    Ok(Ok(refund.clone()))
}

/// Ends a pending refund, or takes a success back.
pub(super) fn settle(tables: &mut Tables<'_>, id: &str, step: Step, now_ms: i64) -> Outcome<Refund> {
    let row = tables.refunds.get(id)?.map(|row| decode::<Refund>(row.value())).transpose()?;
    let Some(mut refund) = row else {
        return Ok(Err(Refusal::not_found("refund")));
    };
    if let Err(refusal) = advance(tables, &mut refund, step, now_ms)? {
        return Ok(Err(refusal));
    }
    let event = if step == Step::Succeed { "refund.updated" } else { "refund.failed" };
    ledger::emit(tables, event, &refund, now_ms)?;
    Ok(Ok(refund))
}

/// Takes one step of a stored refund, with its payment's sums and its line of the settlement.
fn advance(tables: &mut Tables<'_>, refund: &mut Refund, step: Step, now_ms: i64) -> Outcome<()> {
    let Some(mut payment) = ledger::find_payment(tables, &refund.payment)? else {
        return Ok(Err(Refusal::not_found("payment")));
    };
    let before = match refund.take(step, now_ms) {
        Ok(before) => before,
        Err(refusal) => return Ok(Err(refusal)),
    };
    match before {
        RefundStatus::Pending => payment.amount_refund_pending -= refund.amount,
        RefundStatus::Succeeded | RefundStatus::Failed => payment.amount_refunded -= refund.amount,
    }
    let moved = match (before, step) {
        (_, Step::Succeed) => Some((Kind::Refund, -refund.amount)),
        (RefundStatus::Succeeded, Step::Fail) => Some((Kind::RefundFailure, refund.amount)),
        (_, Step::Fail) => None,
    };
    if step == Step::Succeed {
        payment.amount_refunded += refund.amount;
    }
    ledger::put_payment(tables, &payment)?;
    put(tables, refund)?;
    if let Some((kind, gross_minor)) = moved {
        let line = Movement::new(kind, &refund.id, &payment, &refund.reference, gross_minor);
        settlement::book(tables, line, now_ms)?;
    }
    Ok(Ok(()))
}

fn put(tables: &mut Tables<'_>, refund: &Refund) -> Result<(), StoreError> {
    tables.refunds.insert(refund.id.as_str(), encode(refund)?.as_slice())?;
    Ok(())
}

/// One refund as it is stored.
pub(super) fn by_id(txn: &ReadTransaction, id: &str) -> Result<Option<Refund>, StoreError> {
    txn.open_table(store::REFUNDS)?.get(id)?.map(|row| decode(row.value())).transpose()
}

/// The refunds of one payment, oldest first, at most `LIST_MAX + 1` of those after the id `after`.
pub(super) fn of_payment(txn: &ReadTransaction, payment: &str, after: &str) -> Result<Vec<Refund>, StoreError> {
    ledger::of_payment(txn, store::REFUNDS, store::REFUNDS_BY_PAYMENT, "re", payment, after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refund(status: RefundStatus) -> Refund {
        Refund {
            id: "re_1".to_owned(),
            object: "refund".to_owned(),
            status,
            payment: "pay_1".to_owned(),
            payment_reference: "order".to_owned(),
            reference: String::new(),
            amount: 1,
            currency: "EUR".to_owned(),
            merchant: "Shop".to_owned(),
            origin: Origin::Api,
            created_ms: 1,
            settled_ms: None,
            failure_reason: None,
        }
    }

    #[test]
    fn a_success_may_fail_later_and_a_failure_is_final() {
        use RefundStatus::{Failed, Pending, Succeeded};
        for (before, step, after) in [
            (Pending, Step::Succeed, Some(Succeeded)),
            (Pending, Step::Fail, Some(Failed)),
            (Succeeded, Step::Fail, Some(Failed)),
            (Succeeded, Step::Succeed, None),
            (Failed, Step::Succeed, None),
            (Failed, Step::Fail, None),
        ] {
            let mut refund = refund(before);
            let taken = refund.take(step, 2);
            assert_eq!((taken.ok(), refund.status), (after.map(|_| before), after.unwrap_or(before)), "{before:?}");
            assert_eq!(refund.settled_ms, after.map(|_| 2));
            assert_eq!(refund.failure_reason.is_some(), after == Some(Failed), "{before:?} {step:?}");
        }
    }
}
