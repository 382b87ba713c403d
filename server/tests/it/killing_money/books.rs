//! Disputes, money that was set aside, refunds that fail, and the daily match: what is booked is booked once.

use super::ways::Way;
use super::{Doomed, WAITING, bought, died_at, patient, points_of, refund};
use crate::arena::{Arena, SOON, Setup};
use crate::quarantine::{RETURNED, assert_books_are_even, misfit};
use crate::reclaim::booked;
use crate::reconciliation::clearing;
use domain::account::Role;
use domain::hold::SeatState;
use domain::settlement::schedule::{DAY_MS, day_of};
use serde_json::json;
use std::collections::BTreeSet;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_each_step_of_a_dispute_tickets_and_books_follow_it_once() {
    let mut arena = patient().await;
    let (held, started) = bought(&arena, 1).await.remove(0);
    let (order, total) = (held.order, held.total.minor);
    let mut doomed = Doomed::start(&mut arena, Way::Dispute).await;
    let id = arena.provider().dispute(&started, None).await;
    let frozen = "select count(*) from tickets where order_id = $1 and frozen_ms is not null and revoked_ms is null";
    survives!(doomed, &mut arena, "its tickets are frozen", {
        doomed.left.is_empty() && arena.count_of(order, frozen).await == 2 && arena.count(WAITING).await == 0
    });
    assert_eq!(booked(&arena, order, "disputes").await, total, "withheld once");
    assert_eq!(booked(&arena, order, "provider_clearing").await, 0);

    let mut doomed = Doomed::start(&mut arena, Way::Dispute).await;
    arena.provider().close_dispute(&id, "lost").await;
    let revoked = "select count(*) from tickets where order_id = $1 and revoked_ms is not null";
    survives!(doomed, &mut arena, "its tickets are revoked", {
        doomed.left.is_empty() && arena.count_of(order, revoked).await == 2 && arena.count(WAITING).await == 0
    });
    for account in ["disputes", "provider_clearing", "organizer_payable", "service_fees", "tax_payable"] {
        assert_eq!(booked(&arena, order, account).await, 0, "{account}: nobody has the money any more");
    }
    assert_eq!(arena.count("select count(*) from disputes").await, 1);
    let mails = "select count(*) from outbox where dedupe like 'dispute-%'";
    assert_eq!(arena.count(mails).await, 2, "the fan is told of both, once each");
    assert_eq!(arena.seat(held.seats[0].0).await, SeatState::Sold as u8, "nobody else has the seats");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_each_end_of_a_refund_of_money_set_aside_it_goes_back_once() {
    let mut arena = Arena::web(Setup::default()).await;
    let finance = arena.member(Role::Finance).await;
    let (_, held, started) = misfit(&arena, "10,11").await;
    let id: i64 = sqlx::query_scalar("select id from payment_quarantine").fetch_one(&arena.pg).await.unwrap();
    arena.provider().switch(json!({ "refund_fail": true })).await;
    let mut doomed = Doomed::start(&mut arena, Way::SetAside).await;
    arena.backend.return_set_aside(&finance.session, id).await.unwrap();
    survives!(doomed, &mut arena, "a refund has failed", !doomed.left.contains("quarantine-failed"));
    arena.provider().switch(json!({})).await;
    survives!(doomed, &mut arena, "it is back", doomed.left.is_empty() && arena.count(RETURNED).await == 1);
    assert_eq!(arena.provider().refunded(&started).await, held.total.minor, "all of it, once");
    assert_books_are_even(&arena).await;

    // The bank sends it back to us, and another refund follows.
    let refund: String = sqlx::query_scalar("select refund_ref from payment_quarantine where resolution = 'returned'")
        .fetch_one(&arena.pg)
        .await
        .unwrap();
    let mut doomed = Doomed::at(&mut arena, &["before-quarantine-failed", "quarantine-failed"]).await;
    arena.provider().settle_refund(&refund, "failed").await;
    survives!(doomed, &mut arena, "it is back again", doomed.left.is_empty() && arena.count(RETURNED).await == 1);
    assert_eq!(arena.provider().refunded(&started).await, held.total.minor, "all of it, once");
    assert_books_are_even(&arena).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_while_a_refund_meets_faults_fails_and_is_tried_again_its_money_goes_back_once() {
    let mut arena = patient().await;
    let owner = arena.member(Role::Owner).await;
    let (held, started) = bought(&arena, 1).await.remove(0);
    // Looking a refund up goes well: what fails is the call, and its answer is kept.
    arena.provider().switch(json!({ "fail_stored_permille": 1000 })).await;
    let mut doomed = Doomed::start(&mut arena, Way::Retry).await;
    refund(&arena, &owner, &held).await;
    survives!(doomed, &mut arena, "its calls meet faults", !doomed.left.contains("refund-fault-noted"));
    arena.provider().switch(json!({ "refund_fail": true })).await;
    // As if its calls without an answer were long over: another key is due, for the old one answers as before.
    for sql in [
        "update refund_keys set open_ms = '{}', faults = 3, since_ms = since_ms - 60000",
        "update refunds set due_ms = 0 where status in ('approved', 'submitted')",
    ] {
        sqlx::query(sql).execute(&arena.pg).await.unwrap();
    }
    let failed = "select count(*) from refunds where order_id = $1 and status = 'failed'";
    survives!(doomed, &mut arena, "it has failed", arena.count_of(held.order, failed).await == 1);
    arena.provider().switch(json!({})).await;
    let id: uuid::Uuid = sqlx::query_scalar("select id from refunds").fetch_one(&arena.pg).await.unwrap();
    let (shop, id) = (arena.shop(), id.to_string());
    survives!(doomed, &mut arena, "it is tried again", {
        let again = arena.count("select count(*) from refunds").await == 2;
        if !again {
            // Without an answer nobody knows whether it was written: the next look does.
            shop.call(&owner, "organizer-refund-retry", &[("refund", &id)]).await.ok();
        }
        again && doomed.left.is_empty()
    });
    survives!(doomed, &mut arena, "it went back", {
        arena.status(held.order).await.as_deref() == Some("refunded") && arena.count(WAITING).await == 0
    });
    assert_eq!(arena.provider().refunded(&started).await, held.total.minor, "all of it, once");
    let done = "select count(*) from outbox where dedupe in (
        select 'refund-done:' || r.id from refunds r where r.order_id = $1)";
    assert_eq!(arena.count_of(held.order, done).await, 1, "the fan is told once");
    for account in ["provider_clearing", "refunds_payable"] {
        assert_eq!(booked(&arena, held.order, account).await, 0, "{account}");
    }
    for seat in &held.seats {
        eventually!(SOON, format!("seat {seat} is free"), arena.seat(seat.0).await == SeatState::Available as u8);
    }
    arena.finish().await;
}

/// Matches today, and yesterday for midnight's sake, by command; the point at which it died, where it did.
async fn matched_by_command(arena: &Arena, left: &BTreeSet<&'static str>) -> Option<String> {
    let today = day_of(arena.backend.now());
    for day in [today, today.plus(-DAY_MS)] {
        let day = backend::day_text(day).unwrap();
        let died = died_at(arena, &["reconcile", "--day", &day], left).await;
        if died.is_some() {
            return died;
        }
    }
    None
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_each_step_of_the_daily_match_fees_and_refunds_are_booked_once() {
    let arena = patient().await;
    // Three deaths come after a difference was repaired, which is found no more then; a fourth difference is left.
    arena.provider().switch(json!({ "fee_basis_points": 150, "fee_fixed_minor": 25 })).await;
    let orders = bought(&arena, 3).await;
    arena.provider().drop_webhooks().await;
    arena.provider().give_back(&orders[0].1, 100).await;
    let mut left: BTreeSet<&'static str> = points_of(Way::Match).into_iter().collect();
    while let Some(point) = matched_by_command(&arena, &left).await {
        assert!(left.remove(point.as_str()), "{point} was not to be met");
    }
    assert!(left.is_empty(), "never reached: {left:?}");
    assert_eq!(matched_by_command(&arena, &left).await, None, "and a later run sees that it helped");
    assert_eq!(arena.count("select count(*) from ledger_entries where account = 'provider_fees'").await, 3);
    let taken_in = "select count(*) from refunds where status = 'succeeded' and amount_minor = 100";
    assert_eq!(arena.count(taken_in).await, 1, "the refund by hand is recorded once");
    assert_eq!(arena.count("select count(*) from differences where status <> 'repaired'").await, 0);
    assert_eq!(arena.count("select count(*) from differences").await, 4);
    let (ours, theirs) = clearing(&arena).await;
    assert_eq!(ours, theirs, "our money there is what the provider says");
    arena.finish().await;
}
