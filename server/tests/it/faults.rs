//! Processes and stores that end at the worst moment.

use crate::arena::provider::GOOD_CARD;
use crate::arena::{Arena, Fan, SOON, Setup};
use crate::purchase::assert_paid_once;
use domain::Code;
use domain::hold::{Held, SeatState};
use domain::order::{OrderStatus, OrderView, PayStarted};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::time::{Duration, Instant};

/// Redis emptied → first accepted hold (DESIGN §10).
const REBUILD_BUDGET: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_between_capture_and_webhook_the_order_ends_with_tickets() {
    let mut arena = Arena::web(Setup::default()).await;
    arena.restart_server(&[("STARARENA_FAULT_POINTS", "after-capture")]).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "1,2").await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    let status = arena.server().ended().await;
    assert!(!status.success(), "killed: {status}");
    assert_eq!(arena.provider().status(&started).await, "captured", "the money is taken");
    assert_eq!(arena.status(held.order).await.as_deref(), Some("payment_processing"), "and we don't know it");

    arena.start_server(&[]).await;
    arena.await_status(held.order, "fulfilled").await;
    let order: OrderView = arena.order(&fan, held.order).await.ok();
    assert_eq!(order.tickets.len(), 2);
    assert_paid_once(&arena, held.order, 2).await;
    arena.finish().await;
}

/// Where a hold stands in Redis, and whether it can run out.
async fn hold_state(arena: &Arena, order: domain::OrderId) -> (String, bool) {
    let key = |name: &str| format!("sa:1:{{p{}}}:{name}", arena.performance.simple());
    let (record, end): (String, Option<f64>) = redis::pipe()
        .hget(key("holds"), order.simple())
        .zscore(key("expiry"), order.simple())
        .query_async(&mut arena.redis().await)
        .await
        .unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    (record["st"].as_str().unwrap().to_owned(), end.is_some())
}

/// A hold whose payment failed: Postgres has its order back, and the server died before it told Redis.
async fn failed_and_not_told(arena: &mut Arena, fan: &Fan, seats: &str) -> (Held, PayStarted) {
    arena.restart_server(&[("STARARENA_FAULT_POINTS", "before-take-back")]).await;
    let held = arena.held(fan, seats).await;
    let started: PayStarted = arena.pay(fan, held.order).await.ok();
    arena.provider().cancel(&started).await;
    assert!(!arena.server().ended().await.success(), "killed");
    assert_eq!(arena.status(held.order).await.as_deref(), Some("pending_payment"));
    assert_eq!(hold_state(arena, held.order).await, ("paying".to_owned(), false), "its seats are nobody's to take");
    (held, started)
}

/// Attempts whose end Redis may not know.
const NOT_TOLD: &str =
    "select count(*) from attempts where order_id = $1 and status = 'canceled' and taken_back_ms is null";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_while_a_failed_payment_is_taken_back_the_hold_runs_on_by_itself() {
    let mut arena = Arena::web(Setup::default()).await;
    let fan = arena.one_inside().await;
    let (held, _) = failed_and_not_told(&mut arena, &fan, "1,2").await;
    arena.start_server(&[]).await;
    eventually!(SOON, "the hold runs on", hold_state(&arena, held.order).await == ("held".to_owned(), true));
    eventually!(SOON, "it is noted", arena.count_of(held.order, NOT_TOLD).await == 0);
    let end = "select expires_ms from orders where id = $1";
    assert_eq!(arena.count_of(held.order, end).await, held.expires.0, "to its own end, in both stores");
    let mine = arena.my_hold(&fan).await.map(|mine| mine.expires);
    assert_eq!(mine, Some(held.expires), "which the fan is shown");
    let repairs = "select count(*) from repairs where performance_id = $1";
    assert_eq!(arena.count(repairs).await, 0, "nothing had to be repaired");
    arena.buy(&fan, held.order).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn before_redis_knows_of_a_failed_payment_its_fan_can_pay_again_or_give_the_seats_back() {
    let mut arena = Arena::web(Setup::default()).await;
    let (fan, other) = (arena.one_inside().await, arena.one_inside().await);
    // No server and no worker runs: only what the fan does can go on from here.
    let (held, first) = failed_and_not_told(&mut arena, &fan, "3,4").await;
    let second = arena.backend.pay(&fan.session, held.order).await.unwrap();
    assert_ne!(second.attempt, first.attempt, "a new attempt");
    arena.start_server(&[]).await;
    eventually!(SOON, "the first attempt is over", arena.count_of(held.order, NOT_TOLD).await == 0);
    assert_eq!(hold_state(&arena, held.order).await, ("paying".to_owned(), false), "and does not end the second");
    assert_eq!(arena.provider().card(&second, GOOD_CARD).await, 303);
    arena.await_status(held.order, "fulfilled").await;
    assert_paid_once(&arena, held.order, 2).await;

    let (held, _) = failed_and_not_told(&mut arena, &other, "5,6").await;
    assert_eq!(arena.give_back(&other, held.order).await, Ok(()));
    assert_eq!(arena.seat(5).await, SeatState::Available as u8);
    arena.start_server(&[]).await;
    arena.await_status(held.order, "closed").await;
    let next = arena.one_inside().await;
    let held = arena.held(&next, "5,6").await;
    arena.buy(&next, held.order).await;
    let refused = "select count(*) from orders where performance_id = $1 and status = 'refused'";
    assert_eq!(arena.count(refused).await, 0, "nobody's hold is refused for it");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_any_moment_what_was_acknowledged_is_there_again() {
    let mut arena = Arena::web(Setup::default()).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "3,4").await;
    // The hold is in Redis and in its log; its order may or may not be written.
    arena.restart_server(&[]).await;
    arena.await_status(held.order, "pending_payment").await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    arena.restart_server(&[]).await;
    let again: PayStarted = arena.pay(&fan, held.order).await.ok();
    assert_eq!(again, started, "the same payment goes on");
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    arena.restart_server(&[]).await;
    arena.await_status(held.order, "fulfilled").await;
    assert_paid_once(&arena, held.order, 2).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_emptied_mid_sale_nothing_sold_or_pending_can_be_held_and_holding_works_within_two_seconds() {
    let arena = Arena::web(Setup::default()).await;
    let (buyer, pending, paying, next) =
        (arena.one_inside().await, arena.one_inside().await, arena.one_inside().await, arena.one_inside().await);
    let sold = arena.held(&buyer, "1,2").await;
    arena.buy(&buyer, sold.order).await;
    let open = arena.held(&pending, "3,4").await;
    let started_order = arena.held(&paying, "5").await;
    let started: PayStarted = arena.pay(&paying, started_order.order).await.ok();
    arena.await_status(open.order, "pending_payment").await;
    eventually!(SOON, "the seats are sold", arena.seat(1).await == SeatState::Sold as u8);
    eventually!(
        SOON,
        "all visits are written",
        arena.count("select count(*) from admissions where performance_id = $1").await == 4
    );

    let mut redis = arena.redis().await;
    let () = redis::cmd("FLUSHALL").query_async(&mut redis).await.unwrap();
    let emptied = Instant::now();
    let mut first = None;
    eventually!(SOON, "holding works again", {
        let reply = arena.hold(&next, "7,8", "after-the-loss").await;
        if reply.status == 200 {
            first = Some(reply.ok::<Held>());
        } else {
            assert_eq!((reply.status, reply.code()), (503, Code::Unavailable), "it never guesses");
        }
        first.is_some()
    });
    assert!(emptied.elapsed() < REBUILD_BUDGET, "it took {:?}", emptied.elapsed());
    let () = arena.call(Some(&next), "hold-release", &[("order", &first.unwrap().order.to_string())]).await.ok();
    for seat in ["1", "2", "3", "4", "5"] {
        let reply = arena.hold(&next, seat, &format!("seat-{seat}")).await;
        assert_eq!((reply.status, reply.code()), (409, Code::SeatTaken), "seat {seat}");
    }
    assert_eq!(arena.order(&buyer, sold.order).await.ok::<OrderView>().status, OrderStatus::Fulfilled);
    arena.buy(&pending, open.order).await;
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    arena.await_status(started_order.order, "fulfilled").await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_redis_away_holding_answers_503_with_retry_after_and_works_again_after_its_restart() {
    let mut arena = Arena::web(Setup::default()).await;
    let (fan, other) = (arena.one_inside().await, arena.one_inside().await);
    let held = arena.held(&fan, "1,2").await;
    arena.await_status(held.order, "pending_payment").await;
    eventually!(
        SOON,
        "both visits are written",
        arena.count("select count(*) from admissions where performance_id = $1").await == 2
    );

    let pid = arena.stores.as_ref().unwrap().redis_pid().unwrap();
    kill(Pid::from_raw(i32::try_from(pid).unwrap()), Signal::SIGKILL).unwrap();
    let reply = arena.hold(&other, "3", "meanwhile").await;
    let refusal = reply.refusal();
    assert_eq!((reply.status, refusal.code), (503, Code::Unavailable));
    assert!(refusal.retry_after_ms.is_some(), "the answer says when to try again");
    assert_eq!(arena.open(None, "/readyz").await.status, 503);
    assert_eq!(arena.open(None, "/healthz").await.status, 200, "the process itself lives");
    let status = arena.order(&fan, held.order).await.ok::<OrderView>().status;
    assert_eq!(status, OrderStatus::PendingPayment, "orders can be read all the same");

    arena.stores.as_mut().unwrap().restart_redis().await.unwrap();
    let mut first = None;
    eventually!(SOON, "holding works again", {
        let reply = arena.hold(&other, "3", "again").await;
        if reply.status == 200 {
            first = Some(reply.ok::<Held>());
        }
        first.is_some()
    });
    let rebuilt = "select epoch from performances where id = $1";
    eventually!(SOON, "the state is built anew", arena.count(rebuilt).await == 2);
    // Accepted before or after the rebuild: where the log was kept, no hold is lost.
    let theirs = first.unwrap();
    arena.await_status(theirs.order, "pending_payment").await;
    let mine = async || arena.backend.my_hold(&other.session, arena.performance).await.ok().flatten();
    eventually!(SOON, "the new hold stands", mine().await.as_ref() == Some(&theirs));
    eventually!(SOON, "the old one, too", arena.take(&other, &[1], "one").await == Err(Code::HoldOpen));
    arena.buy(&fan, held.order).await;
    arena.finish().await;
}
