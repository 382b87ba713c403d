//! Orders that end without money: their fan gives them up, nobody pays, the provider is away, or its page was opened
//! too late.

use super::ways::Way;
use super::{Doomed, FLOWS_MAX, HOLD_TTL_MS, WAITING, holding, patient, pay};
use crate::arena::provider::GOOD_CARD;
use crate::arena::{Arena, SOON, Setup};
use crate::purchase::assert_paid_once;
use crate::reclaim::ask_at;
use domain::hold::{Held, SeatState};
use domain::order::PayStarted;
use serde_json::json;

/// What must be so once an order has ended without money: it closed once, and nothing is left of it.
async fn assert_ended(arena: &Arena, held: &Held) {
    for (fact, sql, times) in [
        ("it closed once", "select count(*) from order_audit where order_id = $1 and to_status = 'closed'", 1),
        ("no money was taken", "select count(*) from ledger_entries where order_id = $1", 0),
        ("no claim", "select count(*) from seat_claims where order_id = $1", 0),
        ("no ticket", "select count(*) from tickets where order_id = $1", 0),
    ] {
        assert_eq!(arena.count_of(held.order, sql).await, times, "{fact}");
    }
    for seat in &held.seats {
        eventually!(SOON, format!("seat {seat} is free"), arena.seat(seat.0).await == SeatState::Available as u8);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_each_step_of_a_fans_cancel_its_payment_ends_and_its_seats_are_free() {
    let mut arena = patient().await;
    let fans = holding(&arena, FLOWS_MAX).await;
    let mut doomed = Doomed::start(&mut arena, Way::FanCancel).await;
    let shop = arena.shop();
    for (fan, held) in &fans {
        if doomed.is_done(&mut arena).await {
            break;
        }
        let started = pay(&mut doomed, &mut arena, fan, held).await;
        let order = held.order.to_string();
        survives!(doomed, &mut arena, "it is given up", {
            let over = arena.status(held.order).await.as_deref() == Some("closed");
            if !over {
                // Without an answer nobody knows whether it was done: the next look does.
                shop.call(fan, "order-cancel", &[("order", &order)]).await.ok();
            }
            over && arena.count(WAITING).await == 0
        });
        assert_eq!(arena.provider().status(&started).await, "canceled");
        assert_ended(&arena, held).await;
    }
    assert!(doomed.is_done(&mut arena).await, "never reached: {:?}", doomed.left);
    // What was given up can be sold.
    let (fan, (_, held)) = (arena.one_inside().await, &fans[0]);
    let again = arena.held(&fan, &domain::ids::join_seats(&held.seats)).await;
    arena.buy(&fan, again.order).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_while_an_order_closes_whose_provider_is_away_nothing_is_taken_and_its_seats_are_free() {
    let setup = Setup { hold_ttl_ms: 1_500, ..Setup::default() }.provider_deadline(3_000, 500);
    let mut arena = Arena::web(setup).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "1,2").await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    arena.provider().switch(json!({ "webhooks": "drop", "fail_permille": 1000 })).await;
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    let mut doomed = Doomed::at(&mut arena, &["before-step-commit", "step-committed"]).await;
    survives!(doomed, &mut arena, "it is closed", {
        doomed.left.is_empty() && arena.status(held.order).await.as_deref() == Some("closed")
    });
    arena.provider().drop_webhooks().await;
    ask_at(&arena, 0).await;
    eventually!(SOON, "the yes of the bank is given up", arena.provider().status(&started).await == "canceled");
    eventually!(SOON, "nothing waits", arena.count(WAITING).await == 0);
    assert_ended(&arena, &held).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_while_it_ends_a_page_that_was_opened_too_late_another_attempt_pays_once() {
    let setup = Setup { hold_ttl_ms: HOLD_TTL_MS, ..Setup::default() }.provider_deadline(1_500, 500);
    let mut arena = Arena::web(setup).await;
    let (fan, held) = holding(&arena, 1).await.remove(0);
    let (shop, order) = (arena.shop(), held.order.to_string());
    // Each page has closed by itself before the answer says that it was opened.
    arena.provider().switch(json!({ "answer_delay_ms": 4_000 })).await;
    let mut doomed = Doomed::start(&mut arena, Way::Unused).await;
    survives!(doomed, &mut arena, "it has died at both", {
        let over = doomed.left.is_empty();
        if !over {
            shop.call(&fan, "order-pay", &[("order", &order)]).await.ok();
        }
        over
    });
    arena.provider().switch(json!({})).await;
    survives!(doomed, &mut arena, "no attempt is open", {
        arena.status(held.order).await.as_deref() == Some("pending_payment") && arena.count(WAITING).await == 0
    });
    let started = pay(&mut doomed, &mut arena, &fan, &held).await;
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    arena.await_status(held.order, "fulfilled").await;
    assert_paid_once(&arena, held.order, 2).await;
    let others = "select count(*) from attempts where order_id = $1 and status not in ('captured', 'canceled')";
    assert_eq!(arena.count_of(held.order, others).await, 0, "all others are over");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_each_step_of_an_expiry_the_order_closes_once_and_its_seats_are_free() {
    let mut arena = Arena::web(Setup { hold_ttl_ms: 1_500, ..Setup::default() }).await;
    let fans = arena.inside(FLOWS_MAX).await;
    let mut doomed = Doomed::start(&mut arena, Way::Expire).await;
    let released = "select count(*) from orders where id = $1 and released_ms is not null";
    for (fan, first) in fans.iter().zip([0, 2, 4]) {
        if doomed.is_done(&mut arena).await {
            break;
        }
        let held = arena.take(fan, &[first, first + 1], "mine").await.unwrap();
        survives!(doomed, &mut arena, "it is over", arena.count_of(held.order, released).await == 1);
        assert_eq!(arena.status(held.order).await.as_deref(), Some("closed"));
        assert_ended(&arena, &held).await;
    }
    assert!(doomed.is_done(&mut arena).await, "never reached: {:?}", doomed.left);
    arena.finish().await;
}
