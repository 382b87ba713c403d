//! Disputes: a bank takes money back for its cardholder, and may return it.
//!
//! The money is withdrawn when the dispute is opened, and comes back when the merchant wins. Disputes
//! are opened and closed by a person at the provider; the merchant reads them and hears of them.

use redb::{ReadTransaction, ReadableTable};
use serde::{Deserialize, Serialize};

use super::ledger::{self, Outcome};
use super::payment::Payment;
use super::refusal::Refusal;
use super::settlement::{self, Kind, Movement};
use super::store::{self, StoreError, Tables, decode, encode};
use super::switches::Switches;

/// Where a dispute is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DisputeStatus {
    Open,
    Won,
    Lost,
}

impl DisputeStatus {
    fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Won => "won",
            Self::Lost => "lost",
        }
    }
}

/// How the bank decides, as the merchant sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Decision {
    Won,
    Lost,
}

/// What the cardholder says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reason {
    CreditNotProcessed,
    Duplicate,
    #[default]
    Fraudulent,
    General,
    ProductNotReceived,
    ProductUnacceptable,
    Unrecognized,
}

/// One dispute, as it is stored, answered and sent in events.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Dispute {
    id: String,
    object: String,
    status: DisputeStatus,
    payment: String,
    payment_reference: String,
    /// The payment's reference once more: a dispute has none of its own, and an event names where to look.
    reference: String,
    amount: i64,
    currency: String,
    merchant: String,
    reason: Reason,
    created_ms: i64,
    closed_ms: Option<i64>,
}

impl Dispute {
    fn close(&mut self, decision: Decision, now_ms: i64) -> Result<(), Refusal> {
        if self.status != DisputeStatus::Open {
            let message = format!("a dispute that is {} can't be closed", self.status.as_str());
            return Err(Refusal::conflict("dispute_unexpected_state", message, Some(self.status.as_str())));
        }
        self.status = match decision {
            Decision::Won => DisputeStatus::Won,
            Decision::Lost => DisputeStatus::Lost,
        };
        self.closed_ms = Some(now_ms);
        Ok(())
    }
}

/// What somebody asks for who opens a dispute.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewDispute {
    payment: String,
    amount: Option<i64>,
    #[serde(default)]
    reason: Reason,
}

/// Opens a dispute and withdraws its money, with the provider's fee if there is one.
pub(super) fn open(tables: &mut Tables<'_>, new: &NewDispute, now_ms: i64) -> Outcome<Dispute> {
    let Some(mut payment) = ledger::find_payment(tables, &new.payment)? else {
        return Ok(Err(Refusal::not_found("payment").with_param("payment")));
    };
    let amount = match payment.disputable(new.amount) {
        Ok(amount) => amount,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let dispute = Dispute {
        id: ledger::new_id("dp", now_ms)?,
        object: "dispute".to_owned(),
        status: DisputeStatus::Open,
        payment: payment.id.clone(),
        payment_reference: payment.reference.clone(),
        reference: payment.reference.clone(),
        amount,
        currency: payment.currency.clone(),
        merchant: payment.merchant.clone(),
        reason: new.reason,
        created_ms: now_ms,
        closed_ms: None,
    };
    payment.amount_disputed += amount;
    ledger::put_payment(tables, &payment)?;
    tables.disputes_by_payment.insert((dispute.payment.as_str(), dispute.id.as_str()), ())?;
    put(tables, &dispute)?;
    settlement::book(tables, line(Kind::Dispute, &dispute, &payment, -amount), now_ms)?;
    let fee_minor = i64::from(Switches::stored(tables)?.dispute_fee_minor);
    if fee_minor > 0 {
        settlement::book(tables, line(Kind::Fee, &dispute, &payment, 0).with_fee(fee_minor), now_ms)?;
    }
    ledger::emit(tables, "dispute.created", &dispute, now_ms)?;
    Ok(Ok(dispute))
}

/// Closes a dispute; won, its money comes back.
pub(super) fn close(tables: &mut Tables<'_>, id: &str, decision: Decision, now_ms: i64) -> Outcome<Dispute> {
    let row = tables.disputes.get(id)?.map(|row| decode::<Dispute>(row.value())).transpose()?;
    let Some(mut dispute) = row else {
        return Ok(Err(Refusal::not_found("dispute")));
    };
    let Some(mut payment) = ledger::find_payment(tables, &dispute.payment)? else {
        return Ok(Err(Refusal::not_found("payment")));
    };
    if let Err(refusal) = dispute.close(decision, now_ms) {
        return Ok(Err(refusal));
    }
    put(tables, &dispute)?;
    if decision == Decision::Won {
        payment.amount_disputed -= dispute.amount;
        ledger::put_payment(tables, &payment)?;
        settlement::book(tables, line(Kind::DisputeReversal, &dispute, &payment, dispute.amount), now_ms)?;
    }
    ledger::emit(tables, "dispute.closed", &dispute, now_ms)?;
    Ok(Ok(dispute))
}

fn line(kind: Kind, dispute: &Dispute, payment: &Payment, gross_minor: i64) -> Movement {
    Movement::new(kind, &dispute.id, payment, &dispute.reference, gross_minor)
}

fn put(tables: &mut Tables<'_>, dispute: &Dispute) -> Result<(), StoreError> {
    tables.disputes.insert(dispute.id.as_str(), encode(dispute)?.as_slice())?;
    Ok(())
}

/// One dispute as it is stored.
pub(super) fn by_id(txn: &ReadTransaction, id: &str) -> Result<Option<Dispute>, StoreError> {
    txn.open_table(store::DISPUTES)?.get(id)?.map(|row| decode(row.value())).transpose()
}

/// The disputes of one payment, oldest first, at most `LIST_MAX + 1` of those after the id `after`.
pub(super) fn of_payment(txn: &ReadTransaction, payment: &str, after: &str) -> Result<Vec<Dispute>, StoreError> {
    ledger::of_payment(txn, store::DISPUTES, store::DISPUTES_BY_PAYMENT, "dp", payment, after)
}
