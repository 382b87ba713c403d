//! What must hold after each step, and what must have come of it in the end.

use super::model::postgres::{RefundStatus, is_sold, price_of};
use super::provider::There;
use super::world::{Stores, World};
use domain::hold::{HoldState, SeatByte, SeatState};
use domain::order::{AttemptStatus, OrderStatus};
use std::collections::BTreeMap;

/// I1 and I4 after a step, as a sentence where one is broken.
pub(crate) fn after_step(world: &World) -> Option<String> {
    let stores = &world.stores;
    world
        .beliefs
        .broken(stores)
        .map(|why| format!("I1: {why}"))
        .or_else(|| rows_add_up(stores).map(|why| format!("I4 in Postgres: {why}")))
        .or_else(|| hot_adds_up(stores).map(|why| format!("I4 in Redis: {why}")))
        .or_else(|| unguarded(stores))
        .or_else(|| unseated(stores))
        .or_else(|| {
            let lossless = stores.losses == 0;
            (lossless && stores.refused > 0).then(|| "a hold was refused, and Redis had lost nothing".to_owned())
        })
}

/// Claims are the items of open and paid orders.
fn rows_add_up(stores: &Stores) -> Option<String> {
    let rows = &stores.rows;
    let mut items = 0;
    for (id, order) in rows.orders.iter().filter(|(_, order)| order.status.owns_seats()) {
        items += order.kept().count();
        if let Some(seat) = order.kept().find(|seat| rows.claims.get(seat) != Some(id)) {
            return Some(format!("order {} is {:?} and does not own seat {seat}", id.0.as_u128(), order.status));
        }
    }
    (items != rows.claims.len()).then(|| format!("{} claims for {items} items", rows.claims.len()))
}

/// Byte, owner and hold say the same, and counts add up.
fn hot_adds_up(stores: &Stores) -> Option<String> {
    let state = &stores.hot.state;
    if stores.hot.epoch.is_none() || stores.half_mended {
        return None;
    }
    for (seat, byte) in (0_u32..).zip(&state.seats) {
        let owner = state.owner.get(&seat);
        let record = owner.and_then(|id| state.holds.get(id));
        let fits = match (SeatByte(*byte).state(), record.map(|record| record.state)) {
            (SeatState::Available | SeatState::Blocked, None) => owner.is_none(),
            (SeatState::Held, Some(HoldState::Held | HoldState::Paying | HoldState::Closing)) => true,
            (SeatState::Sold, Some(HoldState::Sold)) => true,
            _ => false,
        };
        if !fits || record.is_some_and(|record| !record.seats.contains(&seat)) {
            return Some(format!("seat {seat} is {byte}, owned by {owner:?}: {record:?}"));
        }
    }
    let mut counts: BTreeMap<_, usize> = BTreeMap::new();
    for record in state.owner.values().filter_map(|id| state.holds.get(id)) {
        *counts.entry(record.account).or_default() += 1;
    }
    for (account, (count, open)) in &state.held_by {
        let open_state = open.and_then(|id| state.holds.get(&id)).map(|record| record.state);
        let fits =
            open.is_none() || matches!(open_state, Some(HoldState::Held | HoldState::Paying | HoldState::Closing));
        if counts.get(account).copied().unwrap_or(0) != *count || !fits {
            return Some(format!("account {} holds {count} with {open:?}", account.0.as_u128()));
        }
    }
    let total: usize = state.held_by.values().map(|(count, _)| *count).sum();
    (total != state.owner.len()).then(|| format!("accounts hold {total} seats, {} are owned", state.owner.len()))
}

/// Whether Redis has a state of which something may be said: complete, of this run, not half corrected.
fn is_whole(stores: &Stores) -> bool {
    let (rows, hot) = (&stores.rows, &stores.hot);
    hot.epoch == Some(rows.epoch) && hot.state.meta.run == stores.run && !stores.half_mended
}

/// A paid order has its seats in Redis, however late its money came: nobody else can take them.
fn unseated(stores: &Stores) -> Option<String> {
    let (rows, hot) = (&stores.rows, &stores.hot);
    if !is_whole(stores) {
        return None;
    }
    let paid = rows.orders.iter().filter(|(_, order)| is_sold(order.status));
    let mut lost = paid.flat_map(|(id, order)| order.kept().map(move |seat| (id, seat)));
    lost.find(|(id, seat)| hot.state.owner.get(seat) != Some(*id))
        .map(|(id, seat)| format!("order {} is paid, and seat {seat} is not its own in Redis", id.0.as_u128()))
}

/// The hold of an order at the provider is `paying`: in no other state are its seats out of everybody's reach.
fn unguarded(stores: &Stores) -> Option<String> {
    let (rows, hot) = (&stores.rows, &stores.hot);
    if !is_whole(stores) {
        return None;
    }
    let at_provider = rows.orders.iter().filter(|(_, order)| order.status == OrderStatus::PaymentProcessing);
    at_provider.map(|(id, _)| (id, hot.state.holds.get(id).map(|record| record.state))).find_map(|(id, state)| {
        (state != Some(HoldState::Paying))
            .then(|| format!("order {} is at the provider, and its hold is {state:?}", id.0.as_u128()))
    })
}

/// What is still under way, as a sentence; nothing may be in the end.
pub(crate) fn unfinished(world: &World) -> Option<String> {
    let (rows, hot) = (&world.stores.rows, &world.stores.hot);
    if !world.nothing_late() {
        return Some("a request is on its way".to_owned());
    }
    if hot.epoch != Some(rows.epoch) || hot.state.meta.run != world.stores.run {
        return Some(format!("Redis has epoch {:?}, Postgres {}", hot.epoch, rows.epoch));
    }
    if rows.position != Some((rows.epoch, hot.last())) {
        return Some(format!("the log is written to {:?} of {}", rows.position, hot.last()));
    }
    for (id, order) in &rows.orders {
        let done = match order.status {
            OrderStatus::PendingPayment | OrderStatus::PaymentProcessing | OrderStatus::Paid => false,
            OrderStatus::Fulfilled => order.confirmed,
            OrderStatus::Refunded | OrderStatus::Closed | OrderStatus::Refused => order.released,
        };
        if !done {
            return Some(format!("order {} is {:?}", id.0.as_u128(), order.status));
        }
    }
    if let Some((id, one)) = rows.attempts.iter().find(|(_, one)| one.status.is_open()) {
        return Some(format!("attempt {} is {:?}", id.0.as_u128(), one.status));
    }
    if let Some((id, _)) = rows.not_taken_back().first() {
        return Some(format!("attempt {} is not taken back", id.0.as_u128()));
    }
    if let Some(id) = rows.returns_due().first() {
        return Some(format!("Redis does not know of seats that order {} gave back", id.0.as_u128()));
    }
    if let Some((id, _)) = hot.state.holds.iter().find(|(_, record)| record.is_reclaiming()) {
        return Some(format!("late money has the seats of {}", id.0.as_u128()));
    }
    rows.refunds.iter().any(|one| one.status == RefundStatus::Open).then(|| "a refund is open".to_owned())
}

/// What came of it all: Redis equals Postgres, every seat is sold or can be held, money adds up.
pub(crate) fn in_the_end(stores: &Stores) -> Option<String> {
    let (rows, hot) = (&stores.rows, &stores.hot.state);
    let wanted = rows.build(stores.clock, stores.run);
    if hot.seats != wanted.seats || hot.owner != wanted.owner || hot.held_by != wanted.held_by {
        return Some(format!(
            "Redis differs from Postgres: {:?} {:?} {:?}, wanted {:?} {:?} {:?}",
            hot.seats, hot.owner, hot.held_by, wanted.seats, wanted.owner, wanted.held_by
        ));
    }
    if !hot.expiry.is_empty() {
        return Some(format!("holds are left to run out: {:?}", hot.expiry));
    }
    if let Some(seat) = hot.seats.iter().position(|byte| SeatByte(*byte).state() == SeatState::Held) {
        return Some(format!("seat {seat} is neither sold nor to be had"));
    }
    money(stores)
}

/// I2 and I3: all captured money is that of seats of a paid order, or went back, late money like any other; and the
/// books say so.
fn money(stores: &Stores) -> Option<String> {
    let (rows, provider) = (&stores.rows, &stores.provider);
    let mut earned = 0;
    for (id, payment) in &provider.payments {
        let ours = rows.attempts.get(id);
        let row = ours.and_then(|one| rows.orders.get(&one.order));
        let (order, seats) = (row.map(|order| order.status), row.map_or(0, |order| order.kept().count()));
        let (number, left) = (id.0.as_u128(), payment.amount - provider.refunded(*id));
        match (payment.state, left == 0) {
            (There::Captured, false) => {
                earned += left;
                if ours.is_none_or(|one| one.status != AttemptStatus::Captured) || order != Some(OrderStatus::Fulfilled)
                {
                    return Some(format!("I2: attempt {number} is captured and kept, its order is {order:?}"));
                }
                if left != price_of(seats) {
                    return Some(format!("I2: {left} of attempt {number} is kept for {seats} seats"));
                }
            }
            (There::Captured, true) if order == Some(OrderStatus::Fulfilled) => {
                let paid = |one: &super::model::postgres::Attempt| {
                    Some(one.order) == ours.map(|ours| ours.order) && one.status == AttemptStatus::Captured
                };
                if !rows.attempts.values().any(paid) {
                    return Some(format!("I2: the order of attempt {number} has its seats and its money"));
                }
            }
            // An authorisation that nobody captures lapses by itself; ours must not wait for one.
            (There::Open | There::Authorized, _) if ours.is_some_and(|one| one.status.is_open()) => {
                return Some(format!("I2: attempt {number} stays {:?}", payment.state));
            }
            _ => {}
        }
    }
    let of = |account: &str| -> i64 {
        rows.ledger.iter().filter(|((_, name), _)| *name == account).map(|(_, amount)| *amount).sum()
    };
    if of("provider_clearing") != earned || of("organizer_payable") != -earned || earned != provider.kept() {
        return Some(format!("I3: earned {earned}, the books say {}", of("provider_clearing")));
    }
    if of("order_receivable") != 0 {
        return Some(format!("I3: {} belongs to fans who have neither seats nor money", of("order_receivable")));
    }
    None
}
