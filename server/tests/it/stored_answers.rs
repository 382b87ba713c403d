//! A provider that keeps its answer of 500 under the key of a call, and gives it again however often it is asked: each
//! call ends right all the same once the provider is well, and once there.

use crate::arena::provider::GOOD_CARD;
use crate::arena::{Arena, SOON, Setup};
use crate::killing_money::{assert_refunded_once, refund};
use crate::purchase::assert_paid_once;
use crate::quarantine::misfit;
use crate::reclaim::{ask_at, hasty, lost};
use domain::account::Role;
use domain::order::PayStarted;
use domain::refund::RefundStatus;
use domain::{Code, OrderId};
use serde_json::json;

const QUERIES: &str = "select coalesce(max(queries), 0)::bigint from attempts where order_id = $1";
/// Refunds that were answered with a 500 often enough.
const SPENT: &str = "select count(*) from refund_keys where faults >= 3 or generation > 0";

/// Every write fails from now on, and its key keeps answering so.
async fn keep_faults(arena: &Arena) {
    arena.provider().switch(json!({ "fail_stored_permille": 1000 })).await;
}

/// The schedule has asked so many times more.
async fn asked_more(arena: &Arena, order: OrderId, times: i64) {
    let before = arena.count_of(order, QUERIES).await;
    eventually!(3 * SOON, "it is asked", arena.count_of(order, QUERIES).await >= before + times);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_is_opened_though_a_fault_is_kept_under_its_key() {
    let arena = Arena::web(Setup::default()).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "1,2").await;
    keep_faults(&arena).await;
    assert_eq!(arena.pay(&fan, held.order).await.code(), Code::ProviderUnavailable);
    asked_more(&arena, held.order, 1).await;
    arena.provider().switch(json!({})).await;
    let open = "select count(*) from attempts where order_id = $1 and provider_ref is not null";
    eventually!(3 * SOON, "it is open", arena.count_of(held.order, open).await == 1);
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    assert_eq!(arena.provider().status(&started).await, "requires_payment", "one payment is there");
    assert_eq!(arena.count_of(held.order, "select count(*) from attempts where order_id = $1").await, 1);
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    arena.await_status(held.order, "fulfilled").await;
    assert_paid_once(&arena, held.order, 2).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn money_is_captured_though_a_fault_is_kept_under_its_key() {
    let arena = Arena::web(Setup::default()).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "10,11").await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    keep_faults(&arena).await;
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    asked_more(&arena, held.order, 2).await;
    assert_eq!(arena.provider().status(&started).await, "authorized", "nothing could be taken");
    arena.provider().switch(json!({})).await;
    eventually!(3 * SOON, "it is paid", arena.status(held.order).await.as_deref() == Some("fulfilled"));
    assert_eq!(arena.provider().status(&started).await, "captured");
    assert_eq!(arena.provider().payments(&started).await[0]["amount_captured"], held.total.minor);
    assert_paid_once(&arena, held.order, 2).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_authorisation_is_given_up_though_a_fault_is_kept_under_its_key() {
    let arena = Arena::web(hasty()).await;
    let fan = arena.one_inside().await;
    let (held, started) = lost(&arena, &fan, "20,21").await;
    arena.provider().switch(json!({ "webhooks": "drop", "fail_stored_permille": 1000 })).await;
    ask_at(&arena, 0).await;
    asked_more(&arena, held.order, 2).await;
    assert_eq!(arena.provider().status(&started).await, "authorized", "it could not be ended");
    arena.provider().drop_webhooks().await;
    eventually!(3 * SOON, "it is given up", arena.provider().status(&started).await == "canceled");
    let over = "select count(*) from attempts where order_id = $1 and status = 'canceled'";
    eventually!(SOON, "the attempt is over", arena.count_of(held.order, over).await == 1);
    assert_eq!(arena.count("select count(*) from ledger_entries").await, 0, "nothing was taken");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refunds_of_all_and_of_a_part_are_made_once_though_faults_are_kept_under_their_keys() {
    let arena = Arena::web(Setup::default()).await;
    let owner = arena.member(Role::Owner).await;
    let mut bought = Vec::new();
    for seats in ["30,31", "40,41"] {
        let fan = arena.one_inside().await;
        let held = arena.held(&fan, seats).await;
        let started: PayStarted = arena.pay(&fan, held.order).await.ok();
        assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
        arena.await_status(held.order, "fulfilled").await;
        bought.push((held, started));
    }
    let [(whole, whole_payment), (part, part_payment)] = bought.as_slice() else { panic!("two orders") };
    keep_faults(&arena).await;
    refund(&arena, &owner, whole).await;
    let asked = arena.backend.staff_refund(&owner.session, part.order, &part.seats[..1], "one of both").await.unwrap();
    if asked.status == RefundStatus::Requested {
        arena.backend.decide_refund(&owner.session, asked.id, true, "").await.unwrap();
    }
    eventually!(3 * SOON, "both fail for good under their keys", arena.count(SPENT).await == 2);
    arena.provider().switch(json!({})).await;

    // Who reads the switch late has to come to a third key.
    let done = "select count(*) from refunds where status = 'succeeded'";
    eventually!(8 * SOON, "both are made", arena.count(done).await == 2);
    assert_eq!(arena.count("select count(*) from refund_keys where generation > 0").await, 2, "under other keys");
    assert_refunded_once(&arena, whole, whole_payment, "kept faults").await;
    assert_eq!(arena.provider().refunds(whole_payment).await.len(), 1);
    let amount = "select coalesce(sum(amount_minor), 0)::bigint from refunds where order_id = $1";
    let amount = arena.count_of(part.order, amount).await;
    assert!(0 < amount && amount < part.total.minor, "{amount} is a part");
    assert_eq!(arena.provider().refunds(part_payment).await.len(), 1, "a part is given back once");
    assert_eq!(arena.provider().refunded(part_payment).await, amount);
    assert_eq!(arena.status(part.order).await.as_deref(), Some("fulfilled"));
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refund_whose_answers_are_lost_keeps_its_key_and_is_made_once() {
    let arena = Arena::web(Setup::default()).await;
    let owner = arena.member(Role::Owner).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "45,46").await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    arena.await_status(held.order, "fulfilled").await;
    // What is done is answered with a gateway's 504: it is found by its name.
    arena.provider().switch(json!({ "timeout_after_commit_permille": 1000 })).await;
    refund(&arena, &owner, &held).await;
    arena.await_status(held.order, "refunded").await;
    assert_eq!(arena.count("select count(*) from refund_keys where generation = 0 and faults = 0").await, 1);
    assert_refunded_once(&arena, &held, &started, "lost answers").await;
    assert_eq!(arena.provider().refunds(&started).await.len(), 1);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn money_that_was_set_aside_goes_back_once_though_a_fault_is_kept_under_its_key() {
    let arena = Arena::web(Setup::default()).await;
    let finance = arena.member(Role::Finance).await;
    let (_, held, started) = misfit(&arena, "50,51").await;
    let id: i64 = sqlx::query_scalar("select id from payment_quarantine").fetch_one(&arena.pg).await.unwrap();
    // Nobody waits for the lease of what is in hand no more.
    let hurry = async || {
        let sql = "update payment_quarantine set next_try_ms = 0 where resolved_ms is null";
        sqlx::query(sql).execute(&arena.pg).await.unwrap();
    };
    keep_faults(&arena).await;
    arena.backend.return_set_aside(&finance.session, id).await.unwrap();
    eventually!(3 * SOON, "it fails for good under its key", {
        hurry().await;
        arena.count(SPENT).await == 1
    });
    assert_eq!(arena.provider().refunds(&started).await.len(), 0);
    arena.provider().switch(json!({})).await;
    let returned = "select count(*) from payment_quarantine where resolution = 'returned'";
    eventually!(3 * SOON, "the money is back", {
        hurry().await;
        arena.count(returned).await == 1
    });
    assert_eq!(arena.provider().refunds(&started).await.len(), 1, "once");
    assert_eq!(arena.provider().refunded(&started).await, held.total.minor);
    arena.finish().await;
}
