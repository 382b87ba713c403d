//! What each call does to the stored payments and events.
//!
//! Functions of one commit's tables and a time; each checks first and writes last, so that a refusal
//! leaves nothing behind but a deadline that had passed anyway. HTTP, delivery and waiting are elsewhere,
//! and so are refunds, disputes and the settlement, which work in the same way.

use redb::{ReadTransaction, ReadableTable, TableDefinition};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::idempotency;
use super::payment::{CancelReason, CaptureMode, Notice, Payment, Status, Verdict};
use super::refusal::Refusal;
use super::settlement::{self, Kind, Movement};
use super::steps::{self, Step};
use super::store::{self, StoreError, Tables, decode, encode};
use super::switches::Switches;
use super::webhook::Delivery;

/// Most payments that one sweep ends, so that it never holds a commit up.
pub(super) const SWEEP_MAX: usize = 256;
/// Most objects in one page of a list.
pub(super) const LIST_MAX: usize = 100;
/// Longest reference of a payment or a refund.
pub(super) const REFERENCE_MAX_CHARS: usize = 200;

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
    expire(tables, &mut payment, now_ms)?;
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

/// The bank's yes after a page has closed by itself, or while it is open.
pub(super) fn succeed_late(tables: &mut Tables<'_>, id: &str, now_ms: i64) -> Outcome<Payment> {
    change_payment(tables, id, now_ms, |payment| payment.succeed_late(now_ms).map(Some))
}

/// Ends a payment whose deadline has passed. The switch may have its money come all the same, later.
fn expire(tables: &mut Tables<'_>, payment: &mut Payment, now_ms: i64) -> Result<(), StoreError> {
    let Some(notice) = payment.expire(now_ms) else {
        return Ok(());
    };
    put_payment(tables, payment)?;
    announce(tables, payment, notice, now_ms)?;
    let switches = Switches::stored(tables)?;
    if switches.late_success && payment.cancel_reason == Some(CancelReason::Expired) {
        let wait_ms = i64::try_from(switches.late_success_ms).unwrap_or_default();
        steps::plan(tables, now_ms + wait_ms, &payment.id, Step::Succeed)?;
    }
    Ok(())
}

/// Ends payments whose deadline has passed, and takes the steps that are due; answers whether more wait.
/// Old idempotency keys go too.
pub(super) fn sweep(tables: &mut Tables<'_>, now_ms: i64) -> Result<bool, StoreError> {
    let mut due = Vec::new();
    for entry in tables.deadlines.range(..(now_ms + 1, ""))?.take(SWEEP_MAX) {
        let (key, _) = entry?;
        let (deadline_ms, id) = key.value();
        due.push((deadline_ms, id.to_owned()));
    }
    for (deadline_ms, id) in &due {
        tables.deadlines.remove((*deadline_ms, id.as_str()))?;
        if let Some(mut payment) = find_payment(tables, id)? {
            expire(tables, &mut payment, now_ms)?;
        }
    }
    let more_steps = steps::take_due(tables, now_ms)?;
    let more_keys = idempotency::forget_old(tables, now_ms)?;
    Ok(more_steps || more_keys || due.len() == SWEEP_MAX)
}

/// Whether a sweep would find work: asked of a snapshot, so that an idle provider writes nothing.
pub(super) fn sweep_is_due(txn: &ReadTransaction, now_ms: i64) -> Result<bool, StoreError> {
    let deadline_due = match txn.open_table(store::DEADLINES)?.first()? {
        Some((key, _)) => key.value().0 <= now_ms,
        None => false,
    };
    Ok(deadline_due || steps::is_due(txn, now_ms)? || idempotency::has_old(txn, now_ms)?)
}

/// One payment as a commit finds it.
pub(super) fn find_payment(tables: &Tables<'_>, id: &str) -> Result<Option<Payment>, StoreError> {
    tables.payments.get(id)?.map(|row| decode(row.value())).transpose()
}

/// Stores a payment, and when time alone changes it.
pub(super) fn put_payment(tables: &mut Tables<'_>, payment: &Payment) -> Result<(), StoreError> {
    if let Some(deadline_ms) = payment.deadline_ms() {
        tables.deadlines.insert((deadline_ms, payment.id.as_str()), ())?;
    }
    tables.payments.insert(payment.id.as_str(), encode(payment)?.as_slice())?;
    Ok(())
}

fn announce(tables: &mut Tables<'_>, payment: &Payment, notice: Notice, now_ms: i64) -> Result<(), StoreError> {
    emit(tables, notice.event_type(), payment, now_ms)?;
    if notice == Notice::Captured {
        let fee_minor = Switches::stored(tables)?.charge_fee_minor(payment.amount_captured);
        let charge = Movement::new(Kind::Charge, &payment.id, payment, &payment.reference, payment.amount_captured);
        settlement::book(tables, charge.with_fee(fee_minor), now_ms)?;
    }
    Ok(())
}

/// Writes an event and its place in the delivery queue.
pub(super) fn emit(
    tables: &mut Tables<'_>,
    kind: &str,
    object: &impl Serialize,
    now_ms: i64,
) -> Result<(), StoreError> {
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
    Ok(())
}

/// The sequence number that an event's id carries.
pub(super) fn event_seq(id: &str) -> Option<u64> {
    u64::from_str_radix(id.strip_prefix("evt_")?.get(..16)?, 16).ok()
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

/// What belongs to one payment, oldest first, at most `LIST_MAX + 1` of those after the id `after`. Ids begin with
/// `kind`.
pub(super) fn of_payment<T: DeserializeOwned>(
    txn: &ReadTransaction,
    rows: TableDefinition<'_, &'static str, &'static [u8]>,
    index: TableDefinition<'_, (&'static str, &'static str), ()>,
    kind: &str,
    payment: &str,
    after: &str,
) -> Result<Vec<T>, StoreError> {
    // Behind every id.
    let end = format!("{kind}_~");
    let (rows, index) = (txn.open_table(rows)?, txn.open_table(index)?);
    let mut found = Vec::new();
    for entry in index.range((payment, after)..=(payment, end.as_str()))?.take(LIST_MAX + 2) {
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
