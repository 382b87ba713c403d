//! Money that came late has its seats where nobody else has them, and goes back where somebody has.

use crate::arena::provider::GOOD_CARD;
use crate::arena::{Arena, Fan, SOON, Setup};
use crate::killing_money::{assert_refunded_once, refund};
use crate::purchase::assert_paid_once;
use domain::account::Role;
use domain::hold::{Held, SeatState};
use domain::order::{OrderView, PayStarted};
use domain::{Code, OrderId};
use redis::AsyncCommands as _;
use serde_json::{Value, json};

/// A sale whose holds and payments end while a test looks.
pub(crate) fn hasty() -> Setup {
    Setup { hold_ttl_ms: 1_500, ..Setup::default() }.provider_deadline(1_500, 500)
}

/// Whoever holds seats from now on has time.
async fn let_holds_last(arena: &Arena) {
    sqlx::query("update performances set hold_ttl_ms = 600000, settings_version = settings_version + 1 where id = $1")
        .bind(arena.performance.0)
        .execute(&arena.pg)
        .await
        .unwrap();
    let ttl = async || -> i64 { arena.redis().await.hget(key(arena, "meta"), "ttl").await.unwrap() };
    eventually!(SOON, "holds last", ttl().await == 600_000);
}

/// Seats of an order that has closed are another fan's for longer than a test takes.
pub(crate) async fn taken_by(arena: &Arena, fan: &Fan, seats: &str) -> Held {
    let_holds_last(arena).await;
    for seat in domain::ids::parse_seats(seats).unwrap() {
        eventually!(SOON, "the seats are free", arena.seat(seat.0).await == SeatState::Available as u8);
    }
    let held = arena.held(fan, seats).await;
    arena.await_status(held.order, "pending_payment").await;
    held
}

fn key(arena: &Arena, name: &str) -> String {
    format!("sa:1:{{p{}}}:{name}", arena.performance.simple())
}

/// When the schedule asks about the open attempts.
pub(crate) async fn ask_at(arena: &Arena, ms: i64) {
    let sql = "update attempts set next_query_ms = $1, queries = 0 where status in ('created', 'open', 'authorized')";
    sqlx::query(sql).bind(ms).execute(&arena.pg).await.unwrap();
}

/// The card is good, and we can't know it before the order has closed and its seats are free. Then nobody asks.
pub(crate) async fn lost(arena: &Arena, fan: &Fan, seats: &str) -> (Held, PayStarted) {
    arena.provider().drop_webhooks().await;
    let held = arena.held(fan, seats).await;
    let started: PayStarted = arena.pay(fan, held.order).await.ok();
    arena.provider().switch(json!({ "webhooks": "drop", "fail_permille": 1000 })).await;
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303, "the fan paid in time");
    arena.await_status(held.order, "closed").await;
    for seat in &held.seats {
        eventually!(SOON, "the seats are free", arena.seat(seat.0).await == SeatState::Available as u8);
    }
    ask_at(arena, i64::MAX / 2).await;
    (held, started)
}

/// The provider takes the money while no server runs, and is asked as soon as one does.
async fn taken_late(arena: &mut Arena, payments: &[&PayStarted]) {
    arena.kill_server().await;
    arena.provider().drop_webhooks().await;
    for started in payments {
        arena.provider().capture(started).await;
    }
    ask_at(arena, 0).await;
}

/// What an account of the books has of an order.
pub(crate) async fn booked(arena: &Arena, order: OrderId, account: &str) -> i64 {
    sqlx::query_scalar(
        "select coalesce(sum(amount_minor), 0)::bigint from ledger_entries where order_id = $1 and account = $2",
    )
    .bind(order.0)
    .bind(account)
    .fetch_one(&arena.pg)
    .await
    .unwrap()
}

/// All of the money went back once, its fan was told once, and the order stays closed.
pub(crate) async fn assert_went_back(arena: &Arena, held: &Held, started: &PayStarted) {
    let back = "select count(*) from refunds where order_id = $1 and status = 'succeeded' and cause = 'late_money'";
    eventually!(3 * SOON, "the money is back", arena.count_of(held.order, back).await == 1);
    assert_eq!(arena.provider().refunded(started).await, held.total.minor);
    assert_eq!(arena.status(held.order).await.as_deref(), Some("closed"));
    for account in ["provider_clearing", "order_receivable", "refunds_payable", "organizer_payable"] {
        assert_eq!(booked(arena, held.order, account).await, 0, "{account}");
    }
    let mails = "select count(*) from outbox where dedupe in (
        select 'refund:' || a.id from attempts a where a.order_id = $1)";
    assert_eq!(arena.count_of(held.order, mails).await, 1, "the fan is told once");
    assert_eq!(arena.count_of(held.order, "select count(*) from seat_claims where order_id = $1").await, 0);
    assert_eq!(arena.count_of(held.order, "select count(*) from tickets where order_id = $1").await, 0);
}

/// The order is paid by its late money, once, at its own price.
pub(crate) async fn assert_reclaimed(arena: &Arena, held: &Held, started: &PayStarted) {
    arena.await_status(held.order, "fulfilled").await;
    assert_paid_once(arena, held.order, i64::try_from(held.seats.len()).unwrap()).await;
    let steps = "select count(*) from order_audit where order_id = $1 and event = 'reclaimed'";
    assert_eq!(arena.count_of(held.order, steps).await, 1);
    assert_eq!(booked(arena, held.order, "order_receivable").await, 0, "nothing is owed to the fan");
    assert_eq!(booked(arena, held.order, "provider_clearing").await, held.total.minor);
    assert_eq!(arena.provider().refunded(started).await, 0);
    for seat in &held.seats {
        eventually!(SOON, format!("seat {seat} is sold"), arena.seat(seat.0).await == SeatState::Sold as u8);
    }
    assert_eq!(arena.count("select count(*) from repairs where performance_id = $1").await, 0, "without any repair");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn late_money_has_its_free_seats_at_the_price_of_its_order_and_they_can_be_given_back() {
    let mut arena = Arena::web(hasty()).await;
    let (fan, owner) = (arena.one_inside().await, arena.member(Role::Owner).await);
    let (held, started) = lost(&arena, &fan, "1,2").await;
    for sql in [
        "insert into prices (performance_id, version, category, amount_minor)
         select performance_id, 2, category, 2 * amount_minor from prices where version = 1",
        "update performances set price_version = 2, settings_version = settings_version + 1",
    ] {
        sqlx::query(sql).execute(&arena.pg).await.unwrap();
    }
    taken_late(&mut arena, &[&started]).await;
    arena.start_server(&[]).await;
    assert_reclaimed(&arena, &held, &started).await;
    let order: OrderView = arena.order(&fan, held.order).await.ok();
    assert_eq!(order.total, held.total, "the price is the order's");
    assert_eq!(arena.hold(&fan, "1", "mine").await.status / 100, 4, "what is sold is held by nobody");
    refund(&arena, &owner, &held).await;
    assert_refunded_once(&arena, &held, &started, "reclaimed and given back").await;
    let next = arena.one_inside().await;
    arena.held(&next, "1,2").await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn seats_that_another_fan_has_by_then_stay_his_and_the_money_goes_back_in_full() {
    let mut arena = Arena::web(hasty()).await;
    let (fan, other) = (arena.one_inside().await, arena.one_inside().await);
    let (held, started) = lost(&arena, &fan, "10,11").await;
    // One of both is enough: all, or none.
    let theirs = taken_by(&arena, &other, "11").await;
    taken_late(&mut arena, &[&started]).await;
    arena.start_server(&[]).await;
    assert_went_back(&arena, &held, &started).await;
    assert_eq!(arena.seat(10).await, SeatState::Available as u8);
    arena.buy(&other, theirs.order).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_meanwhile_as_many_seats_as_an_account_may_have_gets_the_money_back() {
    let mut arena = Arena::web(Setup { seat_limit: 3, ..hasty() }).await;
    let fan = arena.one_inside().await;
    let (held, started) = lost(&arena, &fan, "20,21").await;
    let instead = taken_by(&arena, &fan, "22,23").await;
    taken_late(&mut arena, &[&started]).await;
    arena.start_server(&[]).await;
    assert_went_back(&arena, &held, &started).await;
    arena.buy(&fan, instead.order).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_hold_of_the_same_fan_stays_beside_the_seats_of_late_money() {
    let mut arena = Arena::web(hasty()).await;
    let fan = arena.one_inside().await;
    let (held, started) = lost(&arena, &fan, "25,26").await;
    let instead = taken_by(&arena, &fan, "27,28").await;
    taken_late(&mut arena, &[&started]).await;
    arena.start_server(&[]).await;
    assert_reclaimed(&arena, &held, &started).await;
    assert_eq!(arena.my_hold(&fan).await.map(|mine| mine.order), Some(instead.order));
    arena.buy(&fan, instead.order).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_cancelled_evening_late_money_goes_back() {
    let mut arena = Arena::web(hasty()).await;
    let (fan, finance) = (arena.one_inside().await, arena.member(Role::Finance).await);
    let (held, started) = lost(&arena, &fan, "30,31").await;
    let title = "select e.title from performances p join events e on e.id = p.event_id where p.id = $1";
    let title: String = sqlx::query_scalar(title).bind(arena.performance.0).fetch_one(&arena.pg).await.unwrap();
    arena.backend.cancel_performance(&finance.session, arena.performance, &title).await.unwrap();
    taken_late(&mut arena, &[&started]).await;
    arena.start_server(&[]).await;
    assert_went_back(&arena, &held, &started).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_late_payments_for_one_seat_one_has_it_and_the_other_goes_back() {
    let mut arena = Arena::web(hasty()).await;
    let (one, two) = (arena.one_inside().await, arena.one_inside().await);
    let first = lost(&arena, &one, "40,41").await;
    // Whoever asks at this moment goes on in vain: the provider answers again for the second fan.
    arena.restart_server(&[]).await;
    let second = lost(&arena, &two, "41,42").await;
    taken_late(&mut arena, &[&first.1, &second.1]).await;
    arena.start_server(&[]).await;
    let ends = "select count(*) from orders where performance_id = $1 and (status = 'fulfilled' or exists (
        select 1 from refunds r where r.order_id = orders.id and r.status = 'succeeded'))";
    eventually!(3 * SOON, "both are decided", arena.count(ends).await == 2);
    let first_won = arena.status(first.0.order).await.as_deref() == Some("fulfilled");
    let (winner, loser) = if first_won { (&first, &second) } else { (&second, &first) };
    assert_reclaimed(&arena, &winner.0, &winner.1).await;
    assert_went_back(&arena, &loser.0, &loser.1).await;
    arena.finish().await;
}

/// The hold of an order as Redis has it.
async fn record(arena: &Arena, order: OrderId) -> Value {
    let raw: String = arena.redis().await.hget(key(arena, "holds"), order.simple()).await.unwrap();
    serde_json::from_str(&raw).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn seats_that_were_taken_and_that_nobody_comes_back_for_end_by_themselves() {
    let mut arena = Arena::web(hasty()).await;
    let (fan, other) = (arena.one_inside().await, arena.one_inside().await);
    let (held, started) = lost(&arena, &fan, "50,51").await;
    taken_late(&mut arena, &[&started]).await;
    arena.start_doomed("reclaim-taken").await;
    assert!(!arena.server().ended().await.success(), "killed");
    assert_eq!(arena.status(held.order).await.as_deref(), Some("closed"), "nothing is decided");
    assert_eq!(arena.seat(50).await, SeatState::Held as u8);

    // Nobody can go on: the provider is away, and nobody asks it.
    arena.provider().switch(json!({ "webhooks": "drop", "fail_permille": 1000 })).await;
    ask_at(&arena, i64::MAX / 2).await;
    arena.start_server(&[]).await;
    let taken = arena.hold(&other, "50,51", "theirs").await;
    assert_eq!(taken.code(), Code::SeatTaken);
    let breaches = arena.backend.audit(arena.performance).await.unwrap();
    assert!(breaches.is_empty(), "what is undecided is no breach: {breaches:?}");
    let repairs = arena.backend.reconcile(arena.performance).await.unwrap().repairs;
    assert!(repairs.is_empty(), "and nothing to put right: {repairs:?}");
    assert_eq!(arena.seat(50).await, SeatState::Held as u8);

    // Their time is over.
    let mut hold = record(&arena, held.order).await;
    assert_eq!(hold["st"], "paying");
    hold["x"] = json!(1);
    let mut redis = arena.redis().await;
    let id = held.order.simple();
    let () = redis.hset(key(&arena, "holds"), &id, hold.to_string()).await.unwrap();
    let () = redis.zadd(key(&arena, "expiry"), &id, 1).await.unwrap();
    eventually!(SOON, "the sweeper has ended it", arena.seat(50).await == SeatState::Available as u8);
    assert_eq!(record(&arena, held.order).await["st"], "closed");
    let theirs = taken_by(&arena, &other, "50,51").await;
    assert_eq!(arena.count("select count(*) from repairs where performance_id = $1").await, 0);

    arena.provider().drop_webhooks().await;
    ask_at(&arena, 0).await;
    assert_went_back(&arena, &held, &started).await;
    arena.buy(&other, theirs.order).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_rebuild_that_knows_the_order_only_as_ended_its_late_money_has_the_seats() {
    let mut arena = Arena::web(hasty()).await;
    let fan = arena.one_inside().await;
    let (held, started) = lost(&arena, &fan, "60,61").await;
    taken_late(&mut arena, &[&started]).await;
    arena.restart_redis(true).await;
    arena.start_server(&[]).await;
    assert_reclaimed(&arena, &held, &started).await;
    arena.finish().await;
}
