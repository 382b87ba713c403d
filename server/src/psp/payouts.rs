//! Payouts: what a day came to goes to the merchant's bank, by currency.
//!
//! A day's payout is its last line, written by the commit that closes the day: so the net of a closed day is zero. What
//! the provider's people paid out earlier that day is in the sum, and so is what came back. A day that took more than it
//! brought is collected from the bank, as a payout below zero.

use std::collections::BTreeMap;

use redb::ReadableTable;
use serde::{Deserialize, Serialize};

use super::ledger::{self, Outcome};
use super::refusal::Refusal;
use super::settlement::{self, DAY_MS, Kind, Movement};
use super::store::{StoreError, Tables, decode, encode};

/// Where a payout is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PayoutStatus {
    Paid,
    Failed,
}

/// One payout, as it is stored and answered.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Payout {
    id: String,
    object: String,
    status: PayoutStatus,
    /// Below zero where the bank paid the provider.
    amount: i64,
    currency: String,
    created_ms: i64,
    failed_ms: Option<i64>,
}

/// Pays out each day of an interval that begins and ends with days, as its last line.
pub(super) fn of_days(tables: &mut Tables<'_>, from_ms: i64, to_ms: i64) -> Result<(), StoreError> {
    for ((day, currency), net_minor) in sums(tables, from_ms, to_ms)? {
        pay_out(tables, &currency, net_minor, (day + 1) * DAY_MS - 1)?;
    }
    Ok(())
}

/// Pays out what this day came to until now.
pub(super) fn now(tables: &mut Tables<'_>, now_ms: i64) -> Result<Vec<Payout>, StoreError> {
    let from_ms = now_ms.div_euclid(DAY_MS) * DAY_MS;
    let mut paid = Vec::new();
    for ((_, currency), net_minor) in sums(tables, from_ms, from_ms + DAY_MS)? {
        paid.extend(pay_out(tables, &currency, net_minor, now_ms)?);
    }
    Ok(paid)
}

/// What the bank could not book comes back.
pub(super) fn fail(tables: &mut Tables<'_>, id: &str, now_ms: i64) -> Outcome<Payout> {
    let row = tables.payouts.get(id)?.map(|row| decode::<Payout>(row.value())).transpose()?;
    let Some(mut payout) = row else {
        return Ok(Err(Refusal::not_found("payout")));
    };
    if payout.status == PayoutStatus::Failed {
        let message = "a payout that failed can't fail again";
        return Ok(Err(Refusal::conflict("payout_unexpected_state", message, Some("failed"))));
    }
    payout.status = PayoutStatus::Failed;
    payout.failed_ms = Some(now_ms);
    put(tables, &payout)?;
    let line = Movement::of_balance(Kind::PayoutFailure, &payout.id, &payout.currency, payout.amount);
    settlement::book(tables, line, now_ms)?;
    Ok(Ok(payout))
}

/// The net of each day of an interval, by currency.
fn sums(tables: &Tables<'_>, from_ms: i64, to_ms: i64) -> Result<BTreeMap<(i64, String), i64>, StoreError> {
    let mut sums = BTreeMap::<(i64, String), i64>::new();
    for entry in tables.movements.range((from_ms, 0)..(to_ms, 0))? {
        let (key, row) = entry?;
        let (at_ms, _) = key.value();
        let movement: Movement = decode(row.value())?;
        let sum = sums.entry((at_ms.div_euclid(DAY_MS), movement.currency().to_owned())).or_default();
        // No day of a sandbox leaves 64 bits.
        *sum = sum.saturating_add(movement.net_minor());
    }
    Ok(sums)
}

/// Pays out an amount; nothing where there is nothing.
fn pay_out(tables: &mut Tables<'_>, currency: &str, amount: i64, at_ms: i64) -> Result<Option<Payout>, StoreError> {
    if amount == 0 {
        return Ok(None);
    }
    let payout = Payout {
        id: ledger::new_id("po", at_ms)?,
        object: "payout".to_owned(),
        status: PayoutStatus::Paid,
        amount,
        currency: currency.to_owned(),
        created_ms: at_ms,
        failed_ms: None,
    };
    put(tables, &payout)?;
    settlement::book(tables, Movement::of_balance(Kind::Payout, &payout.id, currency, -amount), at_ms)?;
    Ok(Some(payout))
}

fn put(tables: &mut Tables<'_>, payout: &Payout) -> Result<(), StoreError> {
    tables.payouts.insert(payout.id.as_str(), encode(payout)?.as_slice())?;
    Ok(())
}
