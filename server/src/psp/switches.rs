//! The switches that make the provider misbehave on purpose: values, bounds, and where they are kept.
//!
//! All of them combine. What they do to a call is [`super::faults`]', to a webhook [`super::webhook`]'s,
//! and to money the modules' that move it.

use std::sync::Arc;

use redb::ReadableTable;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::chance::Chance;
use super::input;
use super::refusal::Refusal;
use super::store::{self, Store, StoreError, Tables, decode, encode};

/// Most copies of one webhook.
const COPIES_MAX: u32 = 50;
/// Longest delay that a switch can set, in milliseconds.
pub(super) const DELAY_MAX_MS: u64 = 60_000;
/// All of a thousand.
const PERMILLE_MAX: u32 = 1000;
/// All of an amount, in basis points.
const BASIS_POINTS_MAX: u32 = 10_000;
/// The row of the settings that holds the switches.
const ROW: &str = "switches";

/// What happens to webhooks that were not asked for by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WebhookMode {
    Deliver,
    Drop,
}

/// All switches; what a `PUT` leaves out goes back to its default.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Switches {
    pub(super) webhooks: WebhookMode,
    /// Webhooks of 1,000 that are dropped; a dropped one waits until it is asked for by hand.
    pub(super) webhook_drop_permille: u32,
    pub(super) webhook_delay_ms: u64,
    pub(super) webhook_copies: u32,
    /// Throws deliveries into a random order.
    pub(super) webhook_shuffle: bool,
    /// Calls of 1,000 that answer 500 before anything is done.
    pub(super) fail_permille: u32,
    /// Writes of 1,000 that do nothing, and whose 500 is filed under the idempotency key: a retry gets
    /// it again, another key does the work.
    pub(super) fail_stored_permille: u32,
    /// Writes of 1,000 that are done, and answer 504 all the same.
    pub(super) timeout_after_commit_permille: u32,
    /// Writes of 1,000 that are done, and that no caller with any patience sees answered.
    pub(super) silent_after_commit_permille: u32,
    /// How long a call waits before it is worked on.
    pub(super) api_delay_ms: u64,
    /// How long the answer of a write waits after its work is done.
    pub(super) answer_delay_ms: u64,
    /// The bank declines every card.
    pub(super) decline_all: bool,
    /// A payment that expired is paid all the same, `late_success_ms` later.
    pub(super) late_success: bool,
    pub(super) late_success_ms: u64,
    /// Refunds end as failed.
    pub(super) refund_fail: bool,
    /// Refunds are pending first, and end `refund_settle_ms` later.
    pub(super) refund_pending: bool,
    /// Refunds succeed, and fail `refund_settle_ms` after that.
    pub(super) refund_fail_late: bool,
    pub(super) refund_settle_ms: u64,
    /// What a charge costs the merchant: a share of its amount, in basis points, and a fixed part, in
    /// minor units of its currency.
    pub(super) fee_basis_points: u32,
    pub(super) fee_fixed_minor: u32,
    /// What each dispute costs the merchant, won or lost, in minor units of its currency.
    pub(super) dispute_fee_minor: u32,
    /// What chance follows from; without one, each change of the switches draws a seed of its own.
    pub(super) seed: Option<u64>,
}

impl Default for Switches {
    fn default() -> Self {
        Self {
            webhooks: WebhookMode::Deliver,
            webhook_drop_permille: 0,
            webhook_delay_ms: 0,
            webhook_copies: 1,
            webhook_shuffle: false,
            fail_permille: 0,
            fail_stored_permille: 0,
            timeout_after_commit_permille: 0,
            silent_after_commit_permille: 0,
            api_delay_ms: 0,
            answer_delay_ms: 0,
            decline_all: false,
            late_success: false,
            late_success_ms: 1_000,
            refund_fail: false,
            refund_pending: false,
            refund_fail_late: false,
            refund_settle_ms: 1_000,
            fee_basis_points: 0,
            fee_fixed_minor: 0,
            dispute_fee_minor: 0,
            seed: None,
        }
    }
}

/// The switches with the chance that their seed gives.
#[derive(Clone)]
pub(super) struct InForce {
    pub(super) switches: Switches,
    pub(super) chance: Arc<Chance>,
}

impl InForce {
    pub(super) fn new(switches: Switches) -> Self {
        let chance = Arc::new(Chance::new(switches.seed.unwrap_or_else(rand::random)));
        Self { switches, chance }
    }
}

impl Switches {
    /// The switches as the last process left them.
    pub(super) async fn load(store: &Store) -> Result<Self, StoreError> {
        let stored = store.read(|txn| {
            let row = txn.open_table(store::SETTINGS)?.get(ROW)?;
            row.map(|row| decode(row.value())).transpose()
        });
        Ok(stored.await?.unwrap_or_default())
    }

    /// The switches as a commit finds them: what moves money goes by these, so that one commit knows one rule.
    pub(super) fn stored(tables: &Tables<'_>) -> Result<Self, StoreError> {
        let row = tables.settings.get(ROW)?;
        let stored = row.map(|row| decode(row.value())).transpose()?;
        Ok(stored.unwrap_or_default())
    }

    /// Keeps them for the commits and processes to come.
    pub(super) async fn keep(&self, store: &Store) -> Result<(), StoreError> {
        let row = encode(self)?;
        store.write(move |tables| tables.settings.insert(ROW, row.as_slice()).map(drop).map_err(Into::into)).await
    }

    /// Switches from a body that names some or all; the others have their defaults.
    pub(super) fn read(body: &[u8]) -> Result<Self, Refusal> {
        let switches: Self = input::read(body)?;
        switches.check()?;
        Ok(switches)
    }

    /// These switches with those changed that a body names.
    pub(super) fn changed(&self, body: &[u8]) -> Result<Self, Refusal> {
        let named: Map<String, Value> = input::read(body)?;
        let mut all: Map<String, Value> = decode(&encode(self)?)?;
        all.extend(named);
        Self::read(&encode(&all)?)
    }

    /// The provider's part of a charge, rounded half up, and never more than the charge.
    pub(super) fn charge_fee_minor(&self, amount_minor: i64) -> i64 {
        let share = (i128::from(amount_minor) * i128::from(self.fee_basis_points) + 5_000) / 10_000;
        let fee = (share + i128::from(self.fee_fixed_minor)).min(i128::from(amount_minor));
        i64::try_from(fee).unwrap_or(amount_minor)
    }

    fn check(&self) -> Result<(), Refusal> {
        if self.webhook_copies < 1 {
            let message = format!("webhook_copies must be 1 to {COPIES_MAX}");
            return Err(Refusal::invalid("switch_out_of_range", "webhook_copies", message));
        }
        let counts = [
            ("webhook_copies", self.webhook_copies, COPIES_MAX),
            ("webhook_drop_permille", self.webhook_drop_permille, PERMILLE_MAX),
            ("fail_permille", self.fail_permille, PERMILLE_MAX),
            ("fail_stored_permille", self.fail_stored_permille, PERMILLE_MAX),
            ("timeout_after_commit_permille", self.timeout_after_commit_permille, PERMILLE_MAX),
            ("silent_after_commit_permille", self.silent_after_commit_permille, PERMILLE_MAX),
            ("fee_basis_points", self.fee_basis_points, BASIS_POINTS_MAX),
        ];
        let delays = [
            ("webhook_delay_ms", self.webhook_delay_ms, DELAY_MAX_MS),
            ("api_delay_ms", self.api_delay_ms, DELAY_MAX_MS),
            ("answer_delay_ms", self.answer_delay_ms, DELAY_MAX_MS),
            ("late_success_ms", self.late_success_ms, DELAY_MAX_MS),
            ("refund_settle_ms", self.refund_settle_ms, DELAY_MAX_MS),
        ];
        let counts = counts.map(|(param, value, most)| (param, u64::from(value), u64::from(most)));
        match counts.into_iter().chain(delays).find(|(_, value, most)| value > most) {
            Some((param, _, most)) => {
                Err(Refusal::invalid("switch_out_of_range", param, format!("{param} must be at most {most}")))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fee_rounds_half_up_and_stays_within_its_charge() {
        let fee = |basis_points, fixed, amount| {
            let rule = Switches { fee_basis_points: basis_points, fee_fixed_minor: fixed, ..Switches::default() };
            rule.charge_fee_minor(amount)
        };
        assert_eq!(fee(0, 0, 10_000), 0);
        assert_eq!(fee(150, 25, 10_000), 175);
        assert_eq!(fee(150, 0, 33), 0, "0.495 is nothing");
        assert_eq!(fee(150, 0, 34), 1, "0.51 is one");
        assert_eq!(fee(100, 0, 50), 1, "a half is one");
        assert_eq!(fee(150, 25, 10), 10);
        assert_eq!(fee(10_000, 1, i64::MAX), i64::MAX);
    }
}
