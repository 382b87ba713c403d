//! What each call does to the stored payments, refunds, events and settlement lines.
//!
//! Functions of one commit's tables and a time; each checks first and writes last, so that a refusal
//! leaves nothing behind but a deadline that had passed anyway. HTTP, delivery and waiting are elsewhere.

use redb::{ReadTransaction, ReadableTable};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::idempotency;
use super::payment::{CaptureMode, Notice, Payment, Refund, RefundStatus, Status, Verdict};
use super::refusal::Refusal;
use super::store::{self, StoreError, Tables, decode, encode};
use super::webhook::Delivery;

/// Most payments that one sweep ends, so that it never holds a commit up.
pub(super) const SWEEP_MAX: usize = 256;
/// Most objects in one page of a list.
pub(super) const LIST_MAX: usize = 100;

/// A stored outcome, or a refusal with its reason.
pub(super) type Outcome<T> = Result<Result<T, Refusal>, StoreError>;

/// What a merchant asks for when it creates a payment.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewPayment {
    pub(super) amount: i64,
    pub(super) currency: String,
    pub(super) reference: String,
    #[serde(default)]
    pub(super) description: String,
    pub(super) return_url: String,
    pub(super) expires_at_ms: Option<i64>,
    #[serde(default = "manual")]
    pub(super) capture: CaptureMode,
    #[serde(default)]
    pub(super) metadata: std::collections::BTreeMap<String, String>,
}

fn manual() -> CaptureMode {
    CaptureMode::Manual
}

/// What a merchant asks for when it gives money back.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewRefund {
    pub(super) payment: String,
    pub(super) amount: Option<i64>,
    #[serde(default)]
    pub(super) reference: String,
}

/// `<prefix>_` and 32 hex digits: 48 bits of time, so that rows of one moment lie together, then 80
/// random bits, because knowing a payment's id opens its page.
pub(super) fn new_id(prefix: &str, now_ms: i64) -> Result<String, StoreError> {
    let mut random = [0_u8; 10];
    getrandom::fill(&mut random)?;
    Ok(format!("{prefix}_{:012x}{}", now_ms & 0xffff_ffff_ffff, hex::encode(random)))
}

/// Stores a new payment.
pub(super) fn insert_payment(tables: &mut Tables<'_>, payment: &Payment) -> Result<(), StoreError> {
    let key = (payment.reference.as_str(), payment.id.as_str());
    tables.payments_by_reference.insert(key, ())?;
    put_payment(tables, payment)
}

/// Loads a payment, applies `change` to it and stores the outcome with its event. A deadline that has
/// passed is applied first, even when the change is refused then.
pub(super) fn change_payment(
    tables: &mut Tables<'_>,
    id: &str,
    now_ms: i64,
    change: impl FnOnce(&mut Payment) -> Result<Option<Notice>, Refusal>,
) -> Outcome<Payment> {
    let Some(mut payment) = find_payment(tables, id)? else {
        return Ok(Err(Refusal::not_found("payment")));
    };
    if let Some(notice) = payment.expire(now_ms) {
        put_payment(tables, &payment)?;
        announce(tables, &payment, notice, now_ms)?;
    }
    let notice = match change(&mut payment) {
        Ok(notice) => notice,
        Err(refusal) => return Ok(Err(refusal)),
    };
    put_payment(tables, &payment)?;
    if let Some(notice) = notice {
        announce(tables, &payment, notice, now_ms)?;
    }
    Ok(Ok(payment))
}

/// One card at the hosted page.
pub(super) fn pay(tables: &mut Tables<'_>, id: &str, verdict: &Verdict, now_ms: i64) -> Outcome<Payment> {
    change_payment(tables, id, now_ms, |payment| payment.pay(verdict, now_ms))
}

/// Gives money back, or records that the bank would not take it.
pub(super) fn refund(tables: &mut Tables<'_>, new: &NewRefund, fails: bool, now_ms: i64) -> Outcome<Refund> {
    let Some(mut payment) = find_payment(tables, &new.payment)? else {
        return Ok(Err(Refusal::not_found("payment").with_param("payment")));
    };
    let amount = match payment.refundable(new.amount) {
        Ok(amount) => amount,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let refund = Refund {
        id: new_id("re", now_ms)?,
        object: "refund".to_owned(),
        status: if fails { RefundStatus::Failed } else { RefundStatus::Succeeded },
        payment: payment.id.clone(),
        payment_reference: payment.reference.clone(),
        reference: new.reference.clone(),
        amount,
        currency: payment.currency.clone(),
        merchant: payment.merchant.clone(),
        created_ms: now_ms,
        failure_reason: fails.then(|| "declined_by_bank".to_owned()),
    };
    tables.refunds.insert(refund.id.as_str(), encode(&refund)?.as_slice())?;
    tables.refunds_by_payment.insert((refund.payment.as_str(), refund.id.as_str()), ())?;
    if fails {
        emit(tables, "refund.failed", &refund, now_ms)?;
        return Ok(Ok(refund));
    }
    payment.amount_refunded += amount;
    put_payment(tables, &payment)?;
    let seq = emit(tables, "refund.succeeded", &refund, now_ms)?;
    let line =
        settlement_line(now_ms, "refund", &refund.id, &refund.payment, amount, &refund.currency, &refund.reference);
    tables.settlement.insert((now_ms, seq), line.as_str())?;
    Ok(Ok(refund))
}

/// Ends payments whose deadline has passed; answers whether more wait. Old idempotency keys go too.
pub(super) fn sweep(tables: &mut Tables<'_>, now_ms: i64) -> Result<bool, StoreError> {
    let mut due = Vec::new();
    for entry in tables.deadlines.range(..(now_ms + 1, ""))?.take(SWEEP_MAX) {
        let (key, _) = entry?;
        let (deadline_ms, id) = key.value();
        due.push((deadline_ms, id.to_owned()));
    }
    for (deadline_ms, id) in &due {
        tables.deadlines.remove((*deadline_ms, id.as_str()))?;
        if let Some(mut payment) = find_payment(tables, id)?
            && let Some(notice) = payment.expire(now_ms)
        {
            put_payment(tables, &payment)?;
            announce(tables, &payment, notice, now_ms)?;
        }
    }
    let more_keys = idempotency::forget_old(tables, now_ms)?;
    Ok(more_keys || due.len() == SWEEP_MAX)
}

/// Whether a sweep would find work: asked of a snapshot, so that an idle provider writes nothing.
pub(super) fn sweep_is_due(txn: &ReadTransaction, now_ms: i64) -> Result<bool, StoreError> {
    let deadline_due = match txn.open_table(store::DEADLINES)?.first()? {
        Some((key, _)) => key.value().0 <= now_ms,
        None => false,
    };
    Ok(deadline_due || idempotency::has_old(txn, now_ms)?)
}

fn find_payment(tables: &Tables<'_>, id: &str) -> Result<Option<Payment>, StoreError> {
    tables.payments.get(id)?.map(|row| decode(row.value())).transpose()
}

fn put_payment(tables: &mut Tables<'_>, payment: &Payment) -> Result<(), StoreError> {
    if let Some(deadline_ms) = payment.deadline_ms() {
        tables.deadlines.insert((deadline_ms, payment.id.as_str()), ())?;
    }
    tables.payments.insert(payment.id.as_str(), encode(payment)?.as_slice())?;
    Ok(())
}

fn announce(tables: &mut Tables<'_>, payment: &Payment, notice: Notice, now_ms: i64) -> Result<(), StoreError> {
    let seq = emit(tables, notice.event_type(), payment, now_ms)?;
    if notice == Notice::Captured {
        let amount = payment.amount_captured;
        let line =
            settlement_line(now_ms, "capture", &payment.id, &payment.id, amount, &payment.currency, &payment.reference);
        tables.settlement.insert((now_ms, seq), line.as_str())?;
    }
    Ok(())
}

/// Writes an event and its place in the delivery queue; answers its sequence number.
fn emit(tables: &mut Tables<'_>, kind: &str, object: &impl Serialize, now_ms: i64) -> Result<u64, StoreError> {
    let seq = tables.events.last()?.map_or(1, |(seq, _)| seq.value() + 1);
    let mut random = [0_u8; 6];
    getrandom::fill(&mut random)?;
    let event = json!({
        "id": format!("evt_{seq:016x}{}", hex::encode(random)),
        "object": "event",
        "type": kind,
        "created_ms": now_ms,
        "data": {"object": object},
    });
    tables.events.insert(seq, encode(&event)?.as_slice())?;
    tables.deliveries.insert(seq, u8::from(Delivery::Due))?;
    tables.emitted = true;
    Ok(seq)
}

/// The sequence number that an event's id carries.
pub(super) fn event_seq(id: &str) -> Option<u64> {
    u64::from_str_radix(id.strip_prefix("evt_")?.get(..16)?, 16).ok()
}

/// The first line of every settlement file.
pub(super) const SETTLEMENT_HEADER: &str = "time_ms,type,id,payment,amount,currency,reference\n";

fn settlement_line(
    at_ms: i64,
    kind: &str,
    id: &str,
    payment: &str,
    amount: i64,
    currency: &str,
    reference: &str,
) -> String {
    let reference = reference.replace('"', "\"\"");
    format!("{at_ms},{kind},{id},{payment},{amount},{currency},\"{reference}\"\n")
}

/// The captures and refunds of `[from_ms, to_ms)` as CSV.
pub(super) fn settlement(txn: &ReadTransaction, from_ms: i64, to_ms: i64) -> Result<String, StoreError> {
    let mut csv = SETTLEMENT_HEADER.to_owned();
    for entry in txn.open_table(store::SETTLEMENT)?.range((from_ms, 0)..(to_ms, 0))? {
        csv.push_str(entry?.1.value());
    }
    Ok(csv)
}

/// One payment as it is stored.
pub(super) fn payment(txn: &ReadTransaction, id: &str) -> Result<Option<Payment>, StoreError> {
    txn.open_table(store::PAYMENTS)?.get(id)?.map(|row| decode(row.value())).transpose()
}

/// The payments of one reference, oldest first.
pub(super) fn payments_of(txn: &ReadTransaction, reference: &str) -> Result<Vec<Payment>, StoreError> {
    let rows = txn.open_table(store::PAYMENTS)?;
    let index = txn.open_table(store::PAYMENTS_BY_REFERENCE)?;
    let mut found = Vec::new();
    for entry in index.range((reference, "")..=(reference, "pay_~"))?.take(LIST_MAX + 1) {
        if let Some(row) = rows.get(entry?.0.value().1)? {
            found.push(decode(row.value())?);
        }
    }
    Ok(found)
}

/// One refund as it is stored.
pub(super) fn refund_by_id(txn: &ReadTransaction, id: &str) -> Result<Option<Refund>, StoreError> {
    txn.open_table(store::REFUNDS)?.get(id)?.map(|row| decode(row.value())).transpose()
}

/// The refunds of one payment, oldest first, at most `LIST_MAX + 1` of those after the id `after`.
pub(super) fn refunds_of(txn: &ReadTransaction, payment: &str, after: &str) -> Result<Vec<Refund>, StoreError> {
    let rows = txn.open_table(store::REFUNDS)?;
    let index = txn.open_table(store::REFUNDS_BY_PAYMENT)?;
    let mut found = Vec::new();
    for entry in index.range((payment, after)..=(payment, "re_~"))?.take(LIST_MAX + 2) {
        let (key, _) = entry?;
        let (_, id) = key.value();
        if id != after
            && let Some(row) = rows.get(id)?
        {
            found.push(decode(row.value())?);
        }
    }
    Ok(found)
}

/// Events after a sequence number, oldest first.
pub(super) fn events_after(txn: &ReadTransaction, after: u64, limit: usize) -> Result<Vec<Vec<u8>>, StoreError> {
    let mut found = Vec::new();
    for entry in txn.open_table(store::EVENTS)?.range(after.saturating_add(1)..)?.take(limit) {
        found.push(entry?.1.value().to_vec());
    }
    Ok(found)
}

/// A payment that nobody can pay any more, as the hosted page needs to know it.
pub(super) fn is_over(payment: &Payment, now_ms: i64) -> bool {
    payment.status == Status::Canceled
        || (payment.deadline_ms().is_some_and(|deadline_ms| deadline_ms <= now_ms)
            && payment.status != Status::Authorized)
}
