//! What fans were told, and how long each may rely on it.
//!
//! A fan owns seats from the moment in which "held until" arrives, and this belief is *valid* until
//! the first of these:
//! - Redis's clock reaches the end that the fan was told (a payment under way moves it, and when that payment
//!   ends without money, the end that was told before counts again);
//! - the fan is told "closed", or sends off the wish to give the seats back;
//! - Redis loses something before the order is written: a hold's lease may be lost with the store. From then on
//!   only what Postgres knows of the order keeps the belief valid. For the same reason a store that has lost
//!   something and is not rebuilt yet makes no belief valid by itself: until the order is written, it doesn't count.
//!
//! A hold that the arbiter refused is told so at once; in runs in which Redis loses nothing there must be none.
//!
//! "Paid" is valid until the order is refunded, and of each seat until it is given back.

use super::provider::There;
use super::world::Stores;
use domain::hold::HoldState;
use domain::order::OrderStatus;
use domain::{AccountId, AttemptId, OrderId};
use std::collections::{BTreeMap, BTreeSet};

/// The store that told something: how often it had lost anything, and whether it had been rebuilt since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    losses: u64,
    tainted: bool,
}

impl Told {
    pub(crate) fn by(stores: &Stores) -> Self {
        Self { losses: stores.losses, tainted: stores.hot.tainted.0 }
    }
}

#[derive(Clone, Debug)]
struct Belief {
    account: AccountId,
    seats: Vec<u32>,
    until: i64,
    /// While a payment runs: its end.
    paying: Option<(AttemptId, i64)>,
    paid: bool,
    told: Told,
}

/// All beliefs, by hold.
#[derive(Debug, Default)]
pub(crate) struct Beliefs(BTreeMap<OrderId, Belief>, BTreeSet<OrderId>);

impl Beliefs {
    /// "Held until", with the seats.
    pub(crate) fn held(&mut self, hold: OrderId, account: AccountId, seats: Vec<u32>, until: i64, told: Told) {
        // Given back by the same account in another window: a late word of it counts for nothing.
        if self.1.contains(&hold) {
            return;
        }
        self.0.insert(hold, Belief { account, seats, until, paying: None, paid: false, told });
    }

    /// "Pay until".
    pub(crate) fn paying(&mut self, hold: OrderId, attempt: AttemptId, until: i64) {
        if let Some(belief) = self.0.get_mut(&hold) {
            belief.paying = Some((attempt, until));
        }
    }

    /// "Paid".
    pub(crate) fn paid(&mut self, hold: OrderId) {
        if let Some(belief) = self.0.get_mut(&hold) {
            belief.paid = true;
        }
    }

    /// "Closed", or given back.
    pub(crate) fn ended(&mut self, hold: OrderId) {
        self.0.remove(&hold);
        self.1.insert(hold);
    }

    /// The first seat of which two fans are validly told that it is theirs, or a valid belief without anything behind
    /// it, as a sentence.
    pub(crate) fn broken(&self, stores: &Stores) -> Option<String> {
        let mut owners: BTreeMap<u32, OrderId> = BTreeMap::new();
        for (hold, belief) in &self.0 {
            let order = stores.rows.orders.get(hold);
            // A refund ends it, also where nobody has told the fan of the payment yet.
            let over = order.is_some_and(|order| matches!(order.status, OrderStatus::Refunded | OrderStatus::Refused));
            let runs = |attempt: &AttemptId| {
                let ours = stores.rows.attempts.get(attempt).is_some_and(|one| one.status.is_open());
                ours && stores.provider.find(*attempt) != Some(There::Canceled)
            };
            let until = belief.paying.filter(|(attempt, _)| runs(attempt)).map_or(belief.until, |(_, until)| until);
            if over || (!belief.paid && until <= stores.clock) {
                continue;
            }
            // A refund may come before the fan is told of the payment: seats that were given back are nobody's to rely
            // on, and a hold without any other is over.
            let given_back = |seat: &u32| order.is_some_and(|order| order.returned.contains_key(seat));
            let seats: Vec<u32> = belief.seats.iter().copied().filter(|seat| !given_back(seat)).collect();
            if seats.is_empty() {
                continue;
            }
            let of_store = belief.told == Told { losses: stores.losses, tainted: false };
            if of_store
                && !belief.paid
                && let Some(why) = unbacked(stores, *hold, &seats)
            {
                return Some(format!("hold {} of {} is valid, but {why}", short(hold.0), short(belief.account.0)));
            }
            for seat in &seats {
                let written = stores.rows.claims.get(seat) == Some(hold);
                if belief.paid && !written {
                    return Some(format!("hold {} was told paid, and seat {seat} is not its own", short(hold.0)));
                }
                if (of_store || written)
                    && let Some(other) = owners.insert(*seat, *hold)
                {
                    return Some(format!("seat {seat} is told to holds {} and {}", short(other.0), short(hold.0)));
                }
            }
        }
        None
    }
}

/// Why a hold that its store still stands for has not all its seats.
fn unbacked(stores: &Stores, hold: OrderId, seats: &[u32]) -> Option<String> {
    let state = &stores.hot.state;
    if stores.hot.epoch.is_none() || stores.hot.epoch != Some(stores.rows.epoch) || stores.half_mended {
        return None;
    }
    let Some(record) = state.holds.get(&hold) else { return Some("Redis has no such hold".to_owned()) };
    // The end may have come in the instant of this step.
    if matches!(record.state, HoldState::Closed | HoldState::Closing) {
        return Some(format!("it is {:?}", record.state));
    }
    let lost = seats.iter().find(|seat| state.owner.get(seat) != Some(&hold));
    lost.map(|seat| format!("seat {seat} is not its own in Redis"))
}

/// The last digits of an id: they are small numbers.
pub(crate) fn short(id: uuid::Uuid) -> u128 {
    id.as_u128()
}
