//! The provider says that a payment is cancelled, and takes the money afterwards.

use crate::arena::provider::GOOD_CARD;
use crate::arena::{Arena, Fan, SOON, Setup};
use crate::circuit::signal;
use crate::reclaim::{assert_reclaimed, assert_went_back, booked, hasty, taken_by};
use crate::reconciliation::matched;
use domain::hold::{Held, SeatState};
use domain::order::PayStarted;
use nix::sys::signal::Signal;
use serde_json::json;

const CANCELED: &str = "select count(*) from attempts where order_id = $1 and status = 'canceled'";
const REFUNDED: &str = "select count(*) from attempts where order_id = $1 and status = 'refunded'";

/// A payment whose page has closed by itself, so that its attempt is over, here and there.
async fn page_closed(arena: &Arena, fan: &Fan, seats: &str) -> (Held, PayStarted) {
    let held = arena.held(fan, seats).await;
    let started: PayStarted = arena.pay(fan, held.order).await.ok();
    eventually!(SOON, "the attempt is over", arena.count_of(held.order, CANCELED).await == 1);
    assert_eq!(arena.provider().status(&started).await, "canceled");
    (held, started)
}

/// The same, when the order has closed with it and its seats are free.
pub(crate) async fn order_closed(arena: &Arena, fan: &Fan, seats: &str) -> (Held, PayStarted) {
    let (held, started) = page_closed(arena, fan, seats).await;
    arena.await_status(held.order, "closed").await;
    for seat in &held.seats {
        eventually!(SOON, "the seats are free", arena.seat(seat.0).await == SeatState::Available as u8);
    }
    (held, started)
}

/// The bank says yes too late, and the provider takes the money: nobody of ours is told.
pub(crate) async fn taken_after_all(arena: &Arena, started: &PayStarted) {
    arena.provider().succeed(started).await;
    arena.provider().capture(started).await;
}

/// The time of the schedule's next question about ended attempts has come.
pub(crate) async fn question_is_due(arena: &Arena) {
    let sql = "update attempts set next_query_ms = 0 where status = 'canceled' and ended_queries is not null";
    sqlx::query(sql).execute(&arena.pg).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn money_after_cancelled_takes_its_free_seats_as_soon_as_it_is_told() {
    let arena = Arena::web(hasty()).await;
    arena.provider().drop_webhooks().await;
    let fan = arena.one_inside().await;
    let (held, started) = order_closed(&arena, &fan, "10,11").await;
    taken_after_all(&arena, &started).await;
    arena.provider().flush().await;
    assert_reclaimed(&arena, &held, &started).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn money_after_cancelled_goes_back_where_another_fan_has_a_seat() {
    let arena = Arena::web(hasty()).await;
    arena.provider().drop_webhooks().await;
    let (fan, other) = (arena.one_inside().await, arena.one_inside().await);
    let (held, started) = order_closed(&arena, &fan, "20,21").await;
    let theirs = taken_by(&arena, &other, "21").await;
    taken_after_all(&arena, &started).await;
    arena.provider().flush().await;
    assert_went_back(&arena, &held, &started).await;
    assert_eq!(arena.seat(20).await, SeatState::Available as u8);
    arena.buy(&other, theirs.order).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_every_webhook_lost_money_after_cancelled_is_found_by_asking() {
    let arena = Arena::web(hasty()).await;
    arena.provider().drop_webhooks().await;
    let (fan, unlucky, other) = (arena.one_inside().await, arena.one_inside().await, arena.one_inside().await);
    let (held, started) = order_closed(&arena, &fan, "30,31").await;
    let (lost, lost_payment) = order_closed(&arena, &unlucky, "40,41").await;
    let theirs = taken_by(&arena, &other, "40").await;
    for started in [&started, &lost_payment] {
        taken_after_all(&arena, started).await;
    }
    let planned = "select count(*) from attempts where order_id = $1 and ended_queries = 0
        and next_query_ms > (extract(epoch from now()) * 1000)::bigint";
    assert_eq!(arena.count_of(held.order, planned).await, 1, "a question is planned");
    question_is_due(&arena).await;
    assert_reclaimed(&arena, &held, &started).await;
    assert_went_back(&arena, &lost, &lost_payment).await;
    assert_eq!(arena.count("select count(*) from payment_inbox").await, 0, "nobody told us");
    arena.buy(&other, theirs.order).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ended_attempt_is_asked_about_three_times_and_not_while_the_provider_is_away() {
    let arena = Arena::web(hasty()).await;
    let fan = arena.one_inside().await;
    let (held, _) = order_closed(&arena, &fan, "45,46").await;
    let queries = "select coalesce(max(queries), 0)::bigint from attempts where order_id = $1";
    let answered = "select coalesce(max(ended_queries), -1)::bigint from attempts where order_id = $1";
    arena.provider().switch(json!({ "fail_permille": 1000 })).await;
    let before = arena.count_of(held.order, queries).await;
    question_is_due(&arena).await;
    eventually!(SOON, "it is asked", arena.count_of(held.order, queries).await > before);
    let failed = async || arena.metric(r#"stararena_job_failures_total{job="ended"}"#).await >= 1.0;
    eventually!(SOON, "in vain", failed().await);
    assert_eq!(arena.count_of(held.order, answered).await, 0, "no answer is no answer");
    arena.provider().switch(json!({})).await;
    for expected in [1, 2, -1] {
        question_is_due(&arena).await;
        eventually!(SOON, "it is answered", arena.count_of(held.order, answered).await == expected);
    }
    assert_eq!(arena.count_of(held.order, CANCELED).await, 1);
    assert_eq!(arena.backend.unsettled(arena.performance).await.unwrap(), 0, "nothing waits for it");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_captures_of_one_order_the_second_goes_back() {
    let arena = Arena::web(Setup::default().provider_deadline(1_500, 500)).await;
    arena.provider().drop_webhooks().await;
    let fan = arena.one_inside().await;
    let (held, first) = page_closed(&arena, &fan, "50,51").await;
    arena.await_status(held.order, "pending_payment").await;
    let second: PayStarted = arena.pay(&fan, held.order).await.ok();
    assert_ne!(second.attempt, first.attempt);
    assert_eq!(arena.provider().card(&second, GOOD_CARD).await, 303);
    eventually!(2 * SOON, "it is paid", arena.status(held.order).await.as_deref() == Some("fulfilled"));

    taken_after_all(&arena, &first).await;
    arena.provider().flush().await;
    eventually!(2 * SOON, "the second is back", arena.count_of(held.order, REFUNDED).await == 1);
    assert_eq!(arena.provider().refunded(&first).await, held.total.minor, "all of it");
    assert_eq!(arena.provider().refunds(&first).await.len(), 1, "once");
    assert_eq!(arena.provider().refunded(&second).await, 0, "the order keeps the money of one");
    assert_eq!(arena.status(held.order).await.as_deref(), Some("fulfilled"));
    assert_eq!(booked(&arena, held.order, "provider_clearing").await, held.total.minor);
    for account in ["order_receivable", "refunds_payable"] {
        assert_eq!(booked(&arena, held.order, account).await, 0, "{account}");
    }
    let tickets = "select count(*) from tickets where order_id = $1 and revoked_ms is null";
    assert_eq!(arena.count_of(held.order, tickets).await, 2);
    for seat in &held.seats {
        assert_eq!(arena.seat(seat.0).await, SeatState::Sold as u8);
    }
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_its_order_waits_for_another_payment_money_after_cancelled_goes_back_and_the_other_pays() {
    let arena = Arena::web(Setup::default().provider_deadline(6_000, 500)).await;
    arena.provider().drop_webhooks().await;
    let (one, two) = (arena.one_inside().await, arena.one_inside().await);

    // No other payment has begun.
    let (held, first) = page_closed(&arena, &one, "60,61").await;
    arena.await_status(held.order, "pending_payment").await;
    taken_after_all(&arena, &first).await;
    arena.provider().flush().await;
    eventually!(2 * SOON, "it is back", arena.count_of(held.order, REFUNDED).await == 1);
    assert_eq!(arena.status(held.order).await.as_deref(), Some("pending_payment"));
    arena.buy(&one, held.order).await;
    assert_eq!(arena.provider().refunded(&first).await, held.total.minor);

    // Another one is open.
    let (held, first) = page_closed(&arena, &two, "62,63").await;
    arena.await_status(held.order, "pending_payment").await;
    taken_after_all(&arena, &first).await;
    let second: PayStarted = arena.pay(&two, held.order).await.ok();
    arena.provider().flush().await;
    let taken =
        "select count(*) from attempts where order_id = $1 and number = 1 and status in ('captured', 'refunded')";
    eventually!(SOON, "it is known", arena.count_of(held.order, taken).await == 1);
    assert_eq!(arena.status(held.order).await.as_deref(), Some("payment_processing"), "the other one decides");
    assert_eq!(arena.provider().card(&second, GOOD_CARD).await, 303);
    eventually!(2 * SOON, "it pays", arena.status(held.order).await.as_deref() == Some("fulfilled"));
    eventually!(2 * SOON, "the first is back", arena.count_of(held.order, REFUNDED).await == 1);
    assert_eq!(arena.provider().refunded(&first).await, held.total.minor);
    assert_eq!(arena.provider().refunded(&second).await, 0);
    assert_eq!(booked(&arena, held.order, "provider_clearing").await, held.total.minor);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_redis_hangs_money_of_an_order_that_waits_for_its_fan_goes_back_after_two_minutes() {
    let arena = Arena::web(Setup::default().provider_deadline(1_500, 500)).await;
    arena.provider().drop_webhooks().await;
    let fan = arena.one_inside().await;
    let (held, started) = page_closed(&arena, &fan, "90,91").await;
    arena.await_status(held.order, "pending_payment").await;
    let told = "select count(*) from attempts where order_id = $1 and taken_back_ms is not null";
    eventually!(SOON, "Redis knows that its payment is over", arena.count_of(held.order, told).await == 1);
    signal(&arena, Signal::SIGSTOP);
    taken_after_all(&arena, &started).await;
    question_is_due(&arena).await;
    let found =
        "select count(*) from attempts where order_id = $1 and status = 'canceled' and late_money_ms is not null";
    eventually!(SOON, "it is found, and waits", arena.count_of(held.order, found).await == 1);
    // Two minutes later, and as if Redis had been told of nothing before.
    let later = "update attempts set late_money_ms = late_money_ms - 120000, next_query_ms = 0, taken_back_ms = null
         where order_id = $1";
    sqlx::query(later).bind(held.order.0).execute(&arena.pg).await.unwrap();
    eventually!(3 * SOON, "it is back", arena.count_of(held.order, REFUNDED).await == 1);
    assert_eq!(arena.provider().refunded(&started).await, held.total.minor);
    assert_eq!(arena.count_of(held.order, told).await, 0, "Redis can't be told");
    signal(&arena, Signal::SIGCONT);
    eventually!(3 * SOON, "it is told", arena.count_of(held.order, told).await == 1);
    assert_eq!(arena.status(held.order).await.as_deref(), Some("pending_payment"));
    arena.buy(&fan, held.order).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_authorisation_after_cancelled_is_given_up_and_nothing_is_taken() {
    let arena = Arena::web(hasty()).await;
    arena.provider().switch(json!({ "late_success": true, "late_success_ms": 4_000 })).await;
    let fan = arena.one_inside().await;
    let (held, started) = page_closed(&arena, &fan, "70,71").await;
    eventually!(SOON, "the bank says yes", arena.provider().event("payment.authorized").await.is_some());
    eventually!(SOON, "and is told no", arena.provider().status(&started).await == "canceled");
    arena.await_status(held.order, "closed").await;
    assert_eq!(arena.count("select count(*) from ledger_entries").await, 0, "nothing was taken, nothing is owed");
    assert_eq!(arena.count_of(held.order, CANCELED).await, 1);
    eventually!(SOON, "the seats are free", arena.seat(70).await == SeatState::Available as u8);

    // The same where only the schedule finds it.
    arena.provider().drop_webhooks().await;
    let (held, started) = order_closed(&arena, &fan, "72,73").await;
    arena.provider().succeed(&started).await;
    assert_eq!(arena.provider().status(&started).await, "authorized");
    question_is_due(&arena).await;
    eventually!(SOON, "it is given up", arena.provider().status(&started).await == "canceled");
    assert_eq!(arena.count("select count(*) from ledger_entries").await, 0);
    assert_eq!(arena.status(held.order).await.as_deref(), Some("closed"));
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_seats_that_their_fan_gave_back_in_any_way_money_after_cancelled_goes_back() {
    let mut arena = Arena::web(Setup::default().provider_deadline(1_500, 500)).await;
    arena.provider().drop_webhooks().await;
    let mut given_up = Vec::new();
    for (way, seats) in [("order-cancel", "80,81"), ("hold-release", "82,83"), ("hold-release", "84,85")] {
        let fan = arena.one_inside().await;
        let (held, started) = page_closed(&arena, &fan, seats).await;
        arena.await_status(held.order, "pending_payment").await;
        let () = arena.call(Some(&fan), way, &[("order", &held.order.to_string())]).await.ok();
        arena.await_status(held.order, "closed").await;
        let noted = "select count(*) from order_audit where order_id = $1 and event = 'cancel'";
        assert_eq!(arena.count_of(held.order, noted).await, 1, "{way} is noted as the fan's will");
        given_up.push((held, started));
    }
    let (last, last_payment) = given_up.pop().unwrap();
    for (held, started) in &given_up {
        taken_after_all(&arena, started).await;
        question_is_due(&arena).await;
        assert_went_back(&arena, held, started).await;
    }
    // Redis has forgotten it: the books have not.
    taken_after_all(&arena, &last_payment).await;
    arena.kill_server().await;
    arena.restart_redis(true).await;
    question_is_due(&arena).await;
    arena.start_server(&[]).await;
    assert_went_back(&arena, &last, &last_payment).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_daily_match_settles_money_after_cancelled_the_same_way() {
    let arena = Arena::web(hasty()).await;
    arena.provider().drop_webhooks().await;
    let fan = arena.one_inside().await;
    let (held, started) = order_closed(&arena, &fan, "85,86").await;
    taken_after_all(&arena, &started).await;
    let found = matched(&arena).await;
    assert!(found.iter().any(|one| one.key.starts_with("captured_not_recorded:charge:")), "{found:?}");
    assert_reclaimed(&arena, &held, &started).await;
    arena.finish().await;
}
