//! The small sale of the simulation: few seats and many fans, so that they meet all the time. Its times are
//! short, so that a run of some seconds sees many of them end.

use super::model::postgres::Rows;
use super::model::redis::Settings;
use domain::AccountId;
use std::collections::BTreeSet;
use uuid::Uuid;

/// Seats of the plan.
pub(crate) const SEATS: u64 = 12;
/// A standing area in two stretches.
pub(crate) const AREA: [(u32, u32); 2] = [(6, 8), (10, 11)];
/// A seat without a price.
const UNPRICED: u32 = 5;
/// Number of the one allocation.
pub(crate) const ALLOCATION: u8 = 3;
/// Its seats at the start.
const ALLOCATED: [u32; 2] = [2, 8];
/// Accounts; the last one has two browsers.
pub(crate) const ACCOUNTS: u128 = 4;
/// Length of a hold.
const HOLD_TTL_MS: i64 = 2_000;
/// Length of a visit.
pub(crate) const VISIT_MS: i64 = 5_000;
/// How long the provider gives a fan to pay: shorter than a hold, so that some run on after it.
pub(crate) const DEADLINE_MS: i64 = 1_200;
/// What is added to that before the payment is ended.
pub(crate) const GRACE_MS: i64 = 300;
/// Both.
pub(crate) const ALLOWED_MS: i64 = DEADLINE_MS + GRACE_MS;
/// The longest life of a hold.
pub(crate) const CAP_MS: i64 = HOLD_TTL_MS + ALLOWED_MS;
/// What a fan has left after a payment that failed, at least.
pub(crate) const AFTER_FAILURE_MS: i64 = 400;
/// How long the provider may say nothing about a payment: some of their orders have closed by then.
pub(crate) const SILENCE_MAX_MS: u64 = 6_000;
/// How long seats that late money took wait for Postgres: longer than anything in this world is late.
pub(crate) const RECLAIM_LEASE_MS: i64 = 12_000;
/// The longest that a transaction of Postgres stands still before its server ends it.
pub(crate) const TRANSACTION_MS: i64 = 3_000;
/// How long after its end an order waits for seats of which nothing can be said.
pub(crate) const UNDECIDED_MS: i64 = 1_500;
/// Holding is refused while the log is further behind.
pub(crate) const LAG_MAX_MS: i64 = 3_000;
/// Most seats of one account.
const LIMIT: u32 = 5;
/// Fans inside at once.
const SHOPPERS_MAX: usize = 4;

pub(crate) fn account(number: u128) -> AccountId {
    AccountId(Uuid::from_u128(1 + number))
}

/// The rows before anybody came.
pub(crate) fn rows() -> Rows {
    Rows {
        settings: Settings {
            version: 0,
            opens: 0,
            closes: i64::MAX,
            limit: LIMIT,
            ttl_ms: HOLD_TTL_MS,
            price_version: 1,
            shoppers_max: SHOPPERS_MAX,
            paused: false,
        },
        seat_count: usize::try_from(SEATS).unwrap_or(0),
        unpriced: BTreeSet::from([UNPRICED]),
        kept: ALLOCATED.into_iter().map(|seat| (seat, ALLOCATION)).collect(),
        accounts: (0..ACCOUNTS).map(account).collect(),
        ..Rows::default()
    }
}
