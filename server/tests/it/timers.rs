//! The timers of holds: one authority, one extension, and nothing that failed or came twice moves them.

use crate::arena::shop::written;
use crate::arena::{Arena, Fan, SOON, Setup, seats};
use domain::hold::{Held, SeatState};
use domain::order::PayStarted;
use domain::{Code, Millis, OrderId};
use std::time::Duration;

const DEADLINE_MS: i64 = 6_000;
const GRACE_MS: i64 = 1_000;
const DAY_MS: i64 = 86_400_000;
/// What a call may take on a busy machine.
const CALL_MS: i64 = 5_000;

fn key(arena: &Arena, name: &str) -> String {
    format!("sa:1:{{p{}}}:{name}", arena.performance.simple())
}

/// The score of a member of a sorted set: an instant of Redis's clock.
async fn score(arena: &Arena, set: &str, member: &str) -> Option<i64> {
    let score: Option<f64> =
        redis::cmd("ZSCORE").arg(key(arena, set)).arg(member).query_async(&mut arena.redis().await).await.unwrap();
    score.map(|score| format!("{score:.0}").parse().unwrap())
}

/// A hold's own record.
async fn record_of(arena: &Arena, order: OrderId) -> serde_json::Value {
    let raw: String = redis::cmd("HGET")
        .arg(key(arena, "holds"))
        .arg(order.simple())
        .query_async(&mut arena.redis().await)
        .await
        .unwrap();
    serde_json::from_str(&raw).unwrap()
}

/// When a hold ends, by its own record: whatever state it is in.
async fn end_of(arena: &Arena, order: OrderId) -> i64 {
    record_of(arena, order).await["x"].as_i64().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pay_at_the_last_instant_succeeds_and_extends_the_hold_once() {
    const TTL_MS: i64 = 2_500;
    /// How long before the end Pay is pressed.
    const LAST_MS: i64 = 300;
    let setup = Setup { hold_ttl_ms: TTL_MS, ..Setup::default() }.provider_deadline(DEADLINE_MS, GRACE_MS);
    let arena = Arena::web(setup).await;
    // A busy machine may miss the instant: the next fan tries again.
    for fan in arena.inside(5).await {
        let held = arena.held(&fan, "1,2").await;
        arena.await_status(held.order, "pending_payment").await;
        eventually!(SOON, "the last instant", arena.redis_now().await >= held.expires.plus(-LAST_MS));
        let before = arena.redis_now().await;
        let reply = arena.pay(&fan, held.order).await;
        if reply.status != 200 {
            assert!(arena.redis_now().await >= held.expires, "refused in time: {}", reply.body);
            assert_eq!(reply.code(), Code::HoldClosed);
            eventually!(SOON, "the seats are free", arena.seat(1).await == SeatState::Available as u8);
            continue;
        }
        let (started, after): (PayStarted, Millis) = (reply.ok(), arena.redis_now().await);
        let extended = end_of(&arena, held.order).await;
        let allowed = DEADLINE_MS + GRACE_MS;
        assert!(extended >= before.0 + allowed && extended <= after.0 + allowed, "deadline and grace, once: {held:?}");
        assert!(extended <= held.expires.0 + allowed, "never beyond the cap");
        for _ in 0..5 {
            assert_eq!(arena.pay(&fan, held.order).await.ok::<PayStarted>(), started);
            assert_eq!(arena.hold(&fan, "3", "another").await.code(), Code::HoldOpen);
        }
        assert_eq!(end_of(&arena, held.order).await, extended, "no further click moves it");
        let mine: Held = arena.my_hold(&fan).await.expect("the hold stands");
        assert_eq!(mine.expires.0, extended, "and the fan is shown this end");

        // The payment fails: the hold runs out again, not later than its cap, and a second one extends anew.
        arena.provider().cancel(&started).await;
        let listed = async || score(&arena, "expiry", &held.order.simple()).await;
        eventually!(SOON, "it can run out", listed().await.is_some());
        assert_eq!(arena.status(held.order).await.as_deref(), Some("pending_payment"), "which its order knew before");
        let cap = held.expires.0 + allowed;
        let again = end_of(&arena, held.order).await;
        assert!(again <= cap && again > arena.redis_now().await.0, "{again} of {cap}");
        assert_eq!(listed().await, Some(again));
        arena.pay(&fan, held.order).await.ok::<PayStarted>();
        assert!(end_of(&arena, held.order).await <= cap, "a second payment ends within the cap too");
        arena.await_status(held.order, "closed").await;
        assert!(arena.redis_now().await.0 <= cap + CALL_MS, "and the end comes");
        arena.finish().await;
        return;
    }
    panic!("five fans missed the last instant");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pay_never_shortens_a_hold_which_runs_on_after_the_provider_s_deadline() {
    const DEADLINE_MS: i64 = 1_500;
    let arena = Arena::web(Setup::default().provider_deadline(DEADLINE_MS, 500)).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "1,2").await;
    let order_end = "select expires_ms from orders where id = $1";
    arena.await_status(held.order, "pending_payment").await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    assert_eq!(end_of(&arena, held.order).await, held.expires.0, "it had longer than the provider has");
    assert_eq!(arena.count_of(held.order, order_end).await, held.expires.0, "and so has its order");
    let deadline = arena.count_of(held.order, "select deadline_ms from attempts where order_id = $1").await;
    assert!(deadline <= arena.redis_now().await.0 + DEADLINE_MS, "the attempt ends as before");

    // The fan walks away from the pay page: the payment ends with its deadline, the hold does not.
    eventually!(SOON, "the payment has ended there", arena.provider().status(&started).await == "canceled");
    arena.await_status(held.order, "pending_payment").await;
    let listed = async || score(&arena, "expiry", &held.order.simple()).await;
    eventually!(SOON, "the hold can run out", listed().await.is_some());
    assert_eq!(listed().await, Some(held.expires.0), "at the end that it had");
    eventually!(SOON, "both agree", arena.count_of(held.order, order_end).await == held.expires.0);
    assert_eq!(arena.my_hold(&fan).await.map(|mine| mine.expires), Some(held.expires), "the fan is shown the same");
    arena.buy(&fan, held.order).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_that_the_provider_leaves_open_is_ended_after_its_deadline_though_the_hold_runs_on() {
    let mut arena = Arena::web(Setup::default().provider_deadline(600_000, GRACE_MS)).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "1,2").await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    // Its deadline passes here long before the provider's own clock would end it.
    arena.kill_server().await;
    sqlx::query("update attempts set deadline_ms = $2 where order_id = $1")
        .bind(held.order.0)
        .bind(arena.redis_now().await.0 - GRACE_MS)
        .execute(&arena.pg)
        .await
        .unwrap();
    arena.start_server(&[]).await;
    eventually!(SOON, "we end it there", arena.provider().status(&started).await == "canceled");
    arena.await_status(held.order, "pending_payment").await;
    arena.buy(&fan, held.order).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_and_repeated_calls_never_move_the_end_of_a_hold() {
    let arena = Arena::web(Setup::default()).await;
    let (fan, other) = (arena.one_inside().await, arena.one_inside().await);
    let held: Held = arena.hold(&fan, "1,2", "mine").await.ok();
    arena.await_status(held.order, "pending_payment").await;
    let order = held.order.to_string();
    let end = end_of(&arena, held.order).await;
    assert_eq!(end, held.expires.0);
    for round in 0..3 {
        let again: Held = arena.hold(&fan, "2,1", "mine").await.ok();
        assert_eq!(again, held);
        assert_eq!(arena.hold(&fan, "1", "mine").await.code(), Code::KeyReused);
        assert_eq!(arena.hold(&fan, "3", &format!("more-{round}")).await.code(), Code::HoldOpen);
        assert_eq!(arena.hold(&other, "2,3", &format!("theirs-{round}")).await.code(), Code::SeatTaken);
        for function in ["hold-release", "order-pay", "order-cancel"] {
            let reply = arena.call(Some(&other), function, &[("order", &order)]).await;
            assert_eq!((reply.status, reply.code()), (404, Code::NotFound), "{function} by another");
        }
        assert_eq!(arena.my_hold(&fan).await.as_ref(), Some(&held));
        assert_eq!(end_of(&arena, held.order).await, end, "round {round}");
        assert_eq!(score(&arena, "expiry", &held.order.simple()).await, Some(end));
    }
    // Pay that the provider refuses to take: the attempt stays, the end moves once and no further.
    arena.provider().switch(serde_json::json!({ "fail_permille": 1000 })).await;
    assert_eq!(arena.pay(&fan, held.order).await.code(), Code::ProviderUnavailable);
    let extended = end_of(&arena, held.order).await;
    for _ in 0..3 {
        assert_eq!(arena.pay(&fan, held.order).await.code(), Code::ProviderUnavailable);
    }
    assert_eq!(end_of(&arena, held.order).await, extended, "a provider that is away moves nothing");
    arena.provider().switch(serde_json::json!({})).await;
    arena.buy(&fan, held.order).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_timer_has_the_unit_that_it_was_set_in() {
    const TTL_MS: i64 = 120_000;
    const VISIT_MS: i64 = 40 * 60_000;
    const DEADLINE_MS: i64 = 7 * 60_000;
    let mut setup = Setup { hold_ttl_ms: TTL_MS, ..Setup::default() }.provider_deadline(DEADLINE_MS, 30_000);
    setup.settings.push(("STARARENA_VISIT_TTL_MS", VISIT_MS.to_string()));
    let arena = Arena::web(setup).await;
    let about = |what: &str, end: i64, now: Millis, length: i64| {
        let left = end - now.0;
        assert!(left <= length && left >= length - CALL_MS, "{what}: {left} of {length} ms are left");
    };
    let fan = arena.one_inside().await;
    let visit = score(&arena, "shoppers", &fan.account.simple()).await.expect("the visit runs");
    about("a visit", visit, arena.redis_now().await, VISIT_MS);
    let held = arena.held(&fan, "1,2").await;
    about("a hold", held.expires.0, arena.redis_now().await, TTL_MS);
    about(
        "a hold's end",
        score(&arena, "expiry", &held.order.simple()).await.unwrap(),
        arena.redis_now().await,
        TTL_MS,
    );
    arena.await_status(held.order, "pending_payment").await;
    let row = "select expires_ms from orders where id = $1";
    assert_eq!(arena.count_of(held.order, row).await, held.expires.0, "the order's end is the hold's");

    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    let now = arena.redis_now().await;
    let deadline = arena.count_of(held.order, "select deadline_ms from attempts where order_id = $1").await;
    about("a payment", deadline, now, DEADLINE_MS);
    about("a hold that is paid for", end_of(&arena, held.order).await, now, DEADLINE_MS + 30_000);
    let there = arena.provider().payments(&started).await.remove(0);
    let there = there["expires_at_ms"].as_i64().unwrap();
    assert!((there - deadline).abs() <= 1_000, "the provider's page ends with the attempt: {there} and {deadline}");

    let () = arena.call(Some(&fan), "order-cancel", &[("order", &held.order.to_string())]).await.ok();
    eventually!(SOON, "the hold has ended", arena.seat(1).await == SeatState::Available as u8);
    let tomb = score(&arena, "tombs", &held.order.simple()).await.expect("an ended hold is remembered");
    about("the memory of an ended hold", tomb, arena.redis_now().await, DAY_MS);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_the_workers_stopped_a_set_across_two_expired_holds_ends_both_whole() {
    // Nobody writes orders here: that is not what this test speaks of.
    let settings = vec![("STARARENA_WRITER_LAG_MAX_MS", "600000".to_owned())];
    let mut arena = Arena::bare(Setup { hold_ttl_ms: 2_500, settings, ..Setup::default() }).await;
    let fans = arena.inside(5).await;
    let [first, second, third, fourth, fifth] = fans.as_slice() else { panic!("five fans") };
    arena.stop_workers().await;
    let one = arena.take(first, &[10, 11, 12], "one").await.unwrap();
    let two = arena.take(second, &[13, 14, 15], "two").await.unwrap();
    assert_eq!(arena.take(third, &[12, 13], "too-early").await, Err(Code::SeatTaken));
    eventually!(SOON, "both ran out", arena.redis_now().await >= one.expires.max(two.expires));
    let over = arena.take(third, &[13, 12], "across").await.expect("the first try succeeds");
    assert_eq!(over.seats, seats(&[12, 13]));
    for seat in [10, 11, 14, 15] {
        assert_eq!(arena.seat(seat).await, SeatState::Available as u8, "seat {seat} goes back with its whole hold");
    }
    for (fan, held) in [(first, &one), (second, &two)] {
        assert_eq!(arena.give_back(fan, held.order).await, Ok(()), "what has ended counts as given back");
        let late = arena.backend.my_hold(&fan.session, arena.performance).await.unwrap();
        assert_eq!(late, None, "and is shown to nobody");
    }
    assert_eq!(arena.seat(12).await, SeatState::Held as u8, "and frees nothing that is another's");
    // Both may hold at once again, as often as their limit says: nothing is counted against them.
    arena.take(first, &[10, 11, 14, 15], "again").await.expect("the whole limit is free");
    assert_eq!(arena.take(second, &[10], "again").await, Err(Code::SeatTaken));
    arena.take(second, &[16, 17, 18, 19], "others").await.expect("the whole limit is free");
    // Two at once over the same expired holds: one of them wins everything.
    eventually!(SOON, "all ran out", arena.redis_now().await >= over.expires.plus(1_500));
    let (left, right) = tokio::join!(arena.take(fourth, &[11, 13], "race"), arena.take(fifth, &[13, 11], "race"));
    assert_eq!(usize::from(left.is_ok()) + usize::from(right.is_ok()), 1, "{left:?} {right:?}");
    arena.start_workers();
    for held in [&one, &two] {
        arena.await_status(held.order, "closed").await;
    }
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hold_that_is_being_closed_gives_way_at_the_first_try() {
    let arena = Arena::bare(Setup { hold_ttl_ms: 2_500, ..Setup::default() }).await;
    let fans = arena.inside(2).await;
    let [first, second] = fans.as_slice() else { panic!("two fans") };
    let one = arena.take(first, &[10, 11], "one").await.unwrap();
    arena.await_status(one.order, "pending_payment").await;
    // The sweeper gets as far as the order's row, which somebody else has: the hold stays between its states.
    let mut busy = arena.pg.begin().await.unwrap();
    sqlx::query("select 1 from orders where id = $1 for update").bind(one.order.0).execute(&mut *busy).await.unwrap();
    eventually!(SOON, "the hold is closing", record_of(&arena, one.order).await["st"] == "closing");
    let two = arena.take(second, &[11], "two").await.expect("an expired seat is free at the first try");
    assert_eq!(two.seats, seats(&[11]));
    assert_eq!(arena.seat(10).await, SeatState::Available as u8, "the hold that gave way went as a whole");
    busy.rollback().await.unwrap();
    arena.await_status(one.order, "closed").await;
    arena.await_status(two.order, "pending_payment").await;
    arena.finish().await;
}

/// A wish, and what it takes until the seats are back after they are due.
async fn back_within_five_seconds(arena: &Arena, what: &str, list: &[u32], due: Millis) {
    let free = async || {
        let bytes = arena.backend.seat_bytes(arena.performance).await.unwrap();
        list.iter().all(|seat| SeatState::from_byte(bytes[*seat as usize]) == SeatState::Available)
    };
    eventually!(SOON, format!("{what}: the seats are back"), free().await);
    let took = arena.redis_now().await.0 - due.0;
    assert!(took <= 5_000, "{what}: back on the map {took} ms after they were due");
    let next = arena.one_inside().await;
    arena.held(&next, &written(list)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn abandoned_seats_are_back_on_the_map_within_five_seconds_of_being_due() {
    let setup = Setup { hold_ttl_ms: 3_000, ..Setup::default() }.provider_deadline(3_000, 500);
    let arena = Arena::web(setup).await;
    let fans = arena.inside(6).await;
    let hold = async |fan: &Fan, list: [u32; 2]| -> Held { arena.held(fan, &written(&list)).await };

    let held = hold(&fans[0], [0, 1]).await;
    let () = arena.call(Some(&fans[0]), "hold-release", &[("order", &held.order.to_string())]).await.ok();
    back_within_five_seconds(&arena, "given back", &[0, 1], arena.redis_now().await).await;

    let held = hold(&fans[1], [4, 5]).await;
    let () = arena.call(Some(&fans[1]), "order-cancel", &[("order", &held.order.to_string())]).await.ok();
    back_within_five_seconds(&arena, "cancelled", &[4, 5], arena.redis_now().await).await;

    let held = hold(&fans[2], [8, 9]).await;
    back_within_five_seconds(&arena, "the browser was closed", &[8, 9], held.expires).await;

    let held = hold(&fans[3], [12, 13]).await;
    let started: PayStarted = arena.pay(&fans[3], held.order).await.ok();
    assert_eq!(arena.provider().card(&started, crate::arena::provider::DECLINED_CARD).await, 402);
    let () = arena.call(Some(&fans[3]), "order-cancel", &[("order", &held.order.to_string())]).await.ok();
    back_within_five_seconds(&arena, "declined, then cancelled", &[12, 13], arena.redis_now().await).await;

    let held = hold(&fans[4], [16, 17]).await;
    arena.pay(&fans[4], held.order).await.ok::<PayStarted>();
    // The provider's page ends first; what is left of the hold then, another card may use.
    let due = held.expires.plus(3_500);
    back_within_five_seconds(&arena, "walked away from the pay page", &[16, 17], due).await;

    let held = hold(&fans[5], [20, 21]).await;
    let started: PayStarted = arena.pay(&fans[5], held.order).await.ok();
    arena.provider().cancel(&started).await;
    let runs = async || score(&arena, "expiry", &held.order.simple()).await.is_some();
    eventually!(SOON, "the hold runs on", runs().await);
    let due = Millis(end_of(&arena, held.order).await);
    back_within_five_seconds(&arena, "the payment failed, and no other followed", &[20, 21], due).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pass_does_not_outlive_its_visit_and_shoppers_stay_below_the_maximum_under_churn() {
    const MAX: u32 = 6;
    const FANS: usize = 48;
    const VISIT_MS: i64 = 1_500;
    let mut setup = Setup { shoppers_max: MAX, ..Setup::default() };
    setup.settings.push(("STARARENA_VISIT_TTL_MS", VISIT_MS.to_string()));
    let arena = std::sync::Arc::new(Arena::bare(setup).await);
    // Everybody is called at once, so that the maximum alone keeps them out.
    arena.call_everybody().await;
    let fans = arena.fans(FANS).await;
    let crowd = fans.into_iter().enumerate().map(|(number, fan)| {
        let arena = std::sync::Arc::clone(&arena);
        tokio::spawn(async move {
            let ticket = arena.backend.join_queue(&fan.session, arena.performance, None).await.unwrap().ticket;
            let entered = loop {
                match arena.backend.enter(&fan.session, arena.performance, &ticket, "once").await {
                    Ok(entered) => break entered,
                    Err(error) => {
                        let code = error.refusal().code;
                        assert!(matches!(code, Code::NotYourTurn | Code::Full), "{code:?}");
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                }
            };
            let fan = Fan { pass: Some((arena.performance, entered.pass)), ..fan };
            match number % 5 {
                // Two of five close their browser without a word.
                0 | 1 => {}
                2 => arena.backend.leave(&fan.session, arena.performance).await.unwrap(),
                _ => {
                    let seat = u32::try_from(number).unwrap();
                    if let Ok(held) = arena.take(&fan, &[seat], "one").await {
                        arena.give_back(&fan, held.order).await.unwrap();
                    }
                }
            }
            (fan, entered.expires)
        })
    });
    let crowd = tokio::spawn(futures::future::join_all(crowd));
    let shoppers = key(&arena, "shoppers");
    let mut redis = arena.redis().await;
    let mut most = 0;
    while !crowd.is_finished() {
        // Counted by the clock that decides: a visit that is over counts no more.
        let now = arena.redis_now().await.0;
        let inside: u32 = redis::cmd("ZCOUNT")
            .arg(&shoppers)
            .arg(format!("({now}"))
            .arg("+inf")
            .query_async(&mut redis)
            .await
            .unwrap();
        assert!(inside <= MAX, "{inside} shoppers are inside, {MAX} are allowed");
        most = most.max(inside);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(most, MAX, "closed browsers don't block the inlet: the house fills up");
    let visits: Vec<(Fan, Millis)> = crowd.await.unwrap().into_iter().map(|visit| visit.unwrap()).collect();
    assert_eq!(visits.len(), FANS, "everybody came in");
    for (fan, expires) in &visits {
        eventually!(SOON, "the visit is over", arena.redis_now().await >= *expires);
        assert_eq!(arena.take(fan, &[100], "late").await, Err(Code::PassRequired), "a pass is worth its visit");
    }
    std::sync::Arc::into_inner(arena).expect("the churn is over").finish().await;
}
