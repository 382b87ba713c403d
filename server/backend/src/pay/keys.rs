//! The keys of our calls to providers, which carry out a call once for its key.
//!
//! A provider may keep an answer of 500 under a key, and give it again for a day and longer: a key that never changes
//! would block the money. So a key carries the round of the schedule (`attempts.queries`). Calls that race within a
//! round share it, and a later round has another one. Refunds count their own (`refunds/calling.rs`).

use crate::postgres::attempts::AttemptRow;
use domain::OrderId;

/// From this round on a payment is opened under a key of its round. Until then a lost answer is found by the key.
const FRESH_FROM: i32 = 3;

/// Whether a payment that is opened now has a key of its own, so that it is looked for before.
pub(super) fn is_fresh(attempt: &AttemptRow) -> bool {
    attempt.queries >= FRESH_FROM
}

/// The key under which a payment is opened: the same in the first rounds, then another one in each.
///
/// A second page may come of it, where the answer to the first was lost and the provider has no list by our name. It
/// does no harm: an attempt has one address, fans are sent to that alone, and nobody was ever told the other page's.
/// So nobody pays there, and it ends by itself.
pub(super) fn create(order: OrderId, attempt: &AttemptRow) -> String {
    let number = attempt.number;
    if is_fresh(attempt) { format!("pi:{order}:{number}:{}", attempt.queries) } else { format!("pi:{order}:{number}") }
}

/// The key of taking the money. A payment is captured once, by its own state, under whatever key.
pub(super) fn capture(attempt: &AttemptRow) -> String {
    format!("cap:{}:{}", attempt.id, attempt.queries)
}

/// The key of ending the payment. It is ended once, by its own state, under whatever key.
pub(super) fn cancel(attempt: &AttemptRow) -> String {
    format!("cancel:{}:{}", attempt.id, attempt.queries)
}

/// The key of ending a payment that is not, or no more, the attempt's: another call than [`cancel`] in its round.
pub(super) fn cancel_unused(attempt: &AttemptRow) -> String {
    format!("cancel:{}:{}:unused", attempt.id, attempt.queries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::order::AttemptStatus;
    use domain::{AttemptId, Millis};
    use uuid::Uuid;

    fn attempt(queries: i32) -> AttemptRow {
        AttemptRow {
            id: AttemptId(Uuid::nil()),
            order: OrderId(Uuid::nil()),
            number: 2,
            status: AttemptStatus::Created,
            provider: "sandbox".to_owned(),
            provider_ref: None,
            pay_url: None,
            amount_minor: 100,
            currency: "EUR".parse().unwrap(),
            last_error: None,
            deadline: Millis(0),
            queries,
        }
    }

    #[test]
    fn the_first_rounds_open_a_payment_under_one_key_and_later_ones_under_their_own() {
        let key = |queries| create(OrderId(Uuid::nil()), &attempt(queries));
        assert_eq!(key(0), key(FRESH_FROM - 1));
        assert_ne!(key(0), key(FRESH_FROM));
        assert_ne!(key(FRESH_FROM), key(FRESH_FROM + 1));
    }

    #[test]
    fn each_round_has_keys_of_its_own_and_each_call_another() {
        for of in [capture, cancel, cancel_unused] {
            assert_eq!(of(&attempt(1)), of(&attempt(1)), "calls that race share it");
            assert_ne!(of(&attempt(1)), of(&attempt(2)));
        }
        let one = attempt(1);
        let keys = std::collections::BTreeSet::from([capture(&one), cancel(&one), cancel_unused(&one)]);
        assert_eq!(keys.len(), 3);
    }
}
