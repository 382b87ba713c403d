//! Each way in which the sandbox provider can be made to misbehave (docs/sandbox-provider.md), against the shop:
//! in the end there is one payment, one refund, and the state that is right. What providers do with failing calls
//! and with events in other orders is in `payments.rs` and `permutations.rs`.

use crate::arena::provider::{CHALLENGED_CARD, GOOD_CARD};
use crate::arena::{Arena, Fan, Reply, SOON, Setup, program, run_to_end};
use crate::killing_money::{assert_refunded_once, refund};
use crate::purchase::assert_paid_once;
use crate::reconciliation::{clearing, keys, matched};
use domain::account::Role;
use domain::hold::{Held, SeatState};
use domain::order::{OrderView, PayStarted};
use domain::{Code, OrderId};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// How long a fan waits for an answer before pressing again.
const PATIENCE: Duration = Duration::from_millis(1_500);
const STORED: &str = "select count(*) from payment_inbox";
const WAITING: &str = "select count(*) from payment_inbox where applied_ms is null";

/// What a button of an order answers; none when the fan gave up waiting for it.
async fn pressed(arena: &Arena, fan: &Fan, function: &str, order: OrderId) -> Option<Reply> {
    let order = order.to_string();
    let form = [("order", order.as_str())];
    tokio::time::timeout(PATIENCE, arena.call(Some(fan), function, &form)).await.ok()
}

/// Two seats with tickets.
async fn bought(arena: &Arena, fan: &Fan, seats: &str) -> (Held, PayStarted) {
    let held = arena.held(fan, seats).await;
    let started: PayStarted = arena.pay(fan, held.order).await.ok();
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    arena.await_status(held.order, "fulfilled").await;
    (held, started)
}

/// Pay is pressed, and its answer is lost: the payment is found by its reference, and pressing again leads to it.
async fn opened_without_an_answer(arena: &Arena, fan: &Fan, held: &Held) -> PayStarted {
    if let Some(reply) = pressed(arena, fan, "order-pay", held.order).await {
        assert_eq!((reply.status, reply.code()), (503, Code::ProviderUnavailable));
    }
    let open = "select count(*) from attempts where order_id = $1 and status = 'open'";
    eventually!(SOON, "the payment is found", arena.count_of(held.order, open).await == 1);
    arena.pay(fan, held.order).await.ok()
}

/// No answer says that a payment was opened, or that its money was taken: it is paid once.
async fn paid_without_an_answer(arena: &Arena, fan: &Fan) {
    let held = arena.held(fan, "1,2").await;
    let started = opened_without_an_answer(arena, fan, &held).await;
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    arena.await_status(held.order, "fulfilled").await;
    assert_eq!(arena.provider().status(&started).await, "captured", "one payment");
    assert_paid_once(arena, held.order, 2).await;
}

/// No answer says that a payment was ended there: its seats go back, and nobody can pay it any more.
async fn given_up_without_an_answer(arena: &Arena, fan: &Fan) {
    let held = arena.held(fan, "11,12").await;
    let started = opened_without_an_answer(arena, fan, &held).await;
    eventually!(
        SOON,
        "it is given up",
        pressed(arena, fan, "order-cancel", held.order).await.is_some_and(|reply| reply.status == 200)
    );
    arena.await_status(held.order, "closed").await;
    assert_eq!(arena.provider().status(&started).await, "canceled", "one payment");
    assert_eq!(arena.count_of(held.order, "select count(*) from attempts where order_id = $1").await, 1);
    assert_ne!(arena.provider().card(&started, GOOD_CARD).await, 303);
    eventually!(SOON, "its seats are free", arena.seat(11).await == SeatState::Available as u8);
}

/// No answer says that money went back: it goes back once.
async fn refunded_without_an_answer(arena: &Arena, held: &Held, started: &PayStarted, lost: &Value) {
    let owner = arena.member(Role::Owner).await;
    arena.provider().switch(lost.clone()).await;
    refund(arena, &owner, held).await;
    let gone = async || arena.provider().refunded(started).await == held.total.minor;
    eventually!(SOON, "the provider has given it back", gone().await);
    if lost["webhooks"] == "drop" {
        // Nobody tells us either: asking again must find it once there are answers.
        arena.provider().drop_webhooks().await;
    }
    assert_refunded_once(arena, held, started, "without an answer").await;
    assert_eq!(arena.provider().refunds_of(started).await.len(), 1);
}

/// Every write is done at the provider, and none is answered.
async fn every_answer_is_lost(lost: Value) {
    let arena = Arena::web(Setup::default()).await;
    let (one, two, three) = (arena.one_inside().await, arena.one_inside().await, arena.one_inside().await);
    let (held, started) = bought(&arena, &one, "21,22").await;
    refunded_without_an_answer(&arena, &held, &started, &lost).await;
    arena.provider().switch(lost).await;
    futures::future::join(paid_without_an_answer(&arena, &two), given_up_without_an_answer(&arena, &three)).await;
    arena.provider().switch(json!({})).await;
    arena.provider().flush().await;
    assert_eq!(arena.status(held.order).await.as_deref(), Some("refunded"));
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_every_write_done_and_answered_by_a_time_out_each_has_one_effect() {
    every_answer_is_lost(json!({ "webhooks": "drop", "timeout_after_commit_permille": 1000 })).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_every_write_done_and_never_answered_each_has_one_effect() {
    every_answer_is_lost(json!({ "silent_after_commit_permille": 1000 })).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_takes_its_time_costs_time_alone() {
    let arena = Arena::web(Setup::default()).await;
    let owner = arena.member(Role::Owner).await;
    let fan = arena.one_inside().await;
    arena.provider().switch(json!({ "api_delay_ms": 500, "answer_delay_ms": 500 })).await;
    let held = arena.held(&fan, "1,2").await;
    let begun = Instant::now();
    let clicks = futures::future::join_all((0..5).map(|_| arena.pay(&fan, held.order))).await;
    assert!(begun.elapsed() >= Duration::from_secs(1), "the provider was waited for");
    let started: Vec<PayStarted> = clicks.iter().filter(|reply| reply.status == 200).map(Reply::ok).collect();
    assert!(!started.is_empty() && started.iter().all(|one| *one == started[0]), "{clicks:?}");
    assert_eq!(arena.provider().card(&started[0], GOOD_CARD).await, 303);
    arena.await_status(held.order, "fulfilled").await;
    assert_eq!(arena.provider().status(&started[0]).await, "captured", "one payment");
    assert_paid_once(&arena, held.order, 2).await;
    refund(&arena, &owner, &held).await;
    assert_refunded_once(&arena, &held, &started[0], "slowly").await;
    assert_eq!(arena.provider().refunds_of(&started[0]).await.len(), 1);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhooks_that_come_long_after_the_schedule_asked_change_nothing() {
    let arena = Arena::web(Setup::default()).await;
    let fan = arena.one_inside().await;
    arena.provider().switch(json!({ "webhook_delay_ms": 4_000 })).await;
    let (held, started) = bought(&arena, &fan, "1,2").await;
    eventually!(SOON, "both words come", arena.count(STORED).await == 2);
    let early = "select count(*) from payment_inbox where received_ms - (body ->> 'created_ms')::bigint < 3900";
    assert_eq!(arena.count(early).await, 0, "late");
    eventually!(SOON, "and are applied", arena.count(WAITING).await == 0);
    assert_eq!(arena.status(held.order).await.as_deref(), Some("fulfilled"));
    assert_eq!(arena.provider().status(&started).await, "captured");
    assert_paid_once(&arena, held.order, 2).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_half_of_the_webhooks_lost_all_are_paid_and_those_that_come_in_the_end_change_nothing() {
    let arena = Arena::web(Setup::default()).await;
    // By this seed the third, fifth and sixth event are lost.
    arena.provider().switch(json!({ "webhook_drop_permille": 500, "seed": 7 })).await;
    let fans = arena.inside(3).await;
    let orders = [(0_usize, "1,2"), (1, "3,4"), (2, "5,6")].map(|(fan, seats)| bought(&arena, &fans[fan], seats));
    let orders = futures::future::join_all(orders).await;
    eventually!(SOON, "the others are told", arena.count(STORED).await == 3);
    arena.provider().flush().await;
    eventually!(SOON, "those that were lost come", arena.count(STORED).await == 6);
    eventually!(SOON, "and are applied", arena.count(WAITING).await == 0);
    for (held, started) in &orders {
        assert_eq!(arena.status(held.order).await.as_deref(), Some("fulfilled"));
        assert_eq!(arena.provider().status(started).await, "captured");
        assert_paid_once(&arena, held.order, 2).await;
    }
    arena.finish().await;
}

/// Why the last card failed, as the fan is told.
async fn decline(arena: &Arena, fan: &Fan, order: OrderId) -> Option<String> {
    arena.order(fan, order).await.ok::<OrderView>().decline
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_every_card_declined_the_seats_stay_and_a_later_card_pays() {
    let arena = Arena::web(Setup::default()).await;
    let fan = arena.one_inside().await;
    arena.provider().switch(json!({ "decline_all": true })).await;
    let held = arena.held(&fan, "1,2").await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 402);
    let told = async || decline(&arena, &fan, held.order).await.as_deref() == Some("card_declined");
    eventually!(SOON, "the fan is told", told().await);
    assert_eq!(arena.status(held.order).await.as_deref(), Some("payment_processing"));
    assert_eq!(arena.seat(1).await, SeatState::Held as u8);
    arena.provider().switch(json!({})).await;
    let again: PayStarted = arena.pay(&fan, held.order).await.ok();
    assert_eq!(again, started, "the same payment goes on");
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    arena.await_status(held.order, "fulfilled").await;
    assert_eq!(arena.provider().status(&started).await, "captured", "one payment");
    assert_paid_once(&arena, held.order, 2).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_card_that_its_bank_asks_about_pays_once_its_owner_confirms() {
    let arena = Arena::web(Setup::default()).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "1,2").await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    let back_to_the_page = 303;
    assert_eq!(arena.provider().card(&started, CHALLENGED_CARD).await, back_to_the_page);
    assert_eq!(arena.provider().status(&started).await, "requires_action");
    assert_eq!(arena.status(held.order).await.as_deref(), Some("payment_processing"), "nothing is paid by asking");
    assert_eq!(arena.provider().confirm(&started, false).await, 402, "somebody else's card");
    let told = async || decline(&arena, &fan, held.order).await.as_deref() == Some("authentication_failed");
    eventually!(SOON, "the fan is told", told().await);
    assert_eq!(arena.seat(1).await, SeatState::Held as u8);

    assert_eq!(arena.provider().card(&started, CHALLENGED_CARD).await, back_to_the_page);
    assert_eq!(arena.provider().confirm(&started, true).await, 303, "back to the shop");
    arena.await_status(held.order, "fulfilled").await;
    assert_eq!(decline(&arena, &fan, held.order).await, None);
    assert_eq!(arena.provider().status(&started).await, "captured", "one payment");
    assert_paid_once(&arena, held.order, 2).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_dispute_costs_is_booked_once_however_it_ends() {
    const FEE_MINOR: i64 = 1_500;
    let arena = Arena::web(Setup::default()).await;
    arena.provider().switch(json!({ "dispute_fee_minor": FEE_MINOR })).await;
    let (one, two) = (arena.one_inside().await, arena.one_inside().await);
    for (fan, seats, outcome) in [(&one, "1,2", "won"), (&two, "3,4", "lost")] {
        let (held, started) = bought(&arena, fan, seats).await;
        let id = arena.provider().dispute(&started, None).await;
        arena.provider().close_dispute(&id, outcome).await;
        let ended = async || -> i64 {
            let sql = "select count(*) from disputes where order_id = $1 and status = $2";
            sqlx::query_scalar(sql).bind(held.order.0).bind(outcome).fetch_one(&arena.pg).await.unwrap()
        };
        eventually!(SOON, format!("it is {outcome}"), ended().await == 1);
    }
    let found = matched(&arena).await;
    let fees = keys(&found).iter().filter(|key| key.starts_with("fee_line:fee:dp_")).count();
    assert_eq!((found.len(), fees), (2, 2), "{found:?}");
    for _ in 0..2 {
        assert_eq!(keys(&matched(&arena).await), [""; 0], "what was posted is found no more");
        let booked =
            "select coalesce(sum(amount_minor), 0)::bigint from ledger_entries where account = 'provider_fees'";
        assert_eq!(arena.count(booked).await, 2 * FEE_MINOR);
        assert_eq!(arena.count("select count(*) from ledger_entries where account = 'provider_fees'").await, 2);
    }
    let (ours, theirs) = clearing(&arena).await;
    assert_eq!(ours, theirs, "our money there is what it says");
    arena.finish().await;
}

/// Runs `stararena psp-control` against the arena's provider: exit code, standard output, standard error.
async fn controlled(arena: &Arena, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = program(arena.settings());
    command.arg("psp-control").args(args);
    run_to_end(command).await
}

/// The JSON that a command of `psp-control` answers.
async fn answered(arena: &Arena, args: &[&str]) -> Value {
    let (code, said, errors) = controlled(arena, args).await;
    assert_eq!(code, Some(0), "{args:?}: {said}{errors}");
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("{args:?}: {error}: {said}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_switches_the_provider_reads_it_back_and_does_what_its_people_do() {
    let arena = Arena::web(Setup::default()).await;
    let fan = arena.one_inside().await;
    let set = answered(&arena, &["set", "decline_all=true", "webhooks=drop", "seed=7"]).await;
    let shown = answered(&arena, &["show"]).await;
    assert_eq!(set, shown, "what was set is read back");
    assert_eq!(
        (&shown["decline_all"], &shown["webhooks"], &shown["seed"], &shown["webhook_copies"]),
        (&json!(true), &json!("drop"), &json!(7), &json!(1))
    );
    for (wrong, word) in [("decline_some=true", "decline_some"), ("webhook_copies=51", "webhook_copies must be")] {
        let (code, _, said) = controlled(&arena, &["set", wrong]).await;
        assert!(code == Some(1) && said.contains(word), "{wrong}: {said}");
    }
    assert_eq!(answered(&arena, &["show"]).await, shown, "what was refused changed nothing");
    let held = arena.held(&fan, "1,2").await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 402, "the bank declines");

    let changed = answered(&arena, &["set", "decline_all=false"]).await;
    assert_eq!((&changed["decline_all"], &changed["webhooks"]), (&json!(false), &json!("drop")), "the others stay");
    let payment = arena.provider().payments(&started).await[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(answered(&arena, &["succeed", &payment]).await["id"], payment.as_str());
    arena.await_status(held.order, "fulfilled").await;
    let reset = answered(&arena, &["reset"]).await;
    assert_eq!((&reset["webhooks"], &reset["seed"]), (&json!("deliver"), &Value::Null));
    let lost = answered(&arena, &["flush"]).await["queued"].as_u64().unwrap();
    assert!(lost >= 1, "what was lost is delivered now");

    let dispute = answered(&arena, &["dispute", &payment, "--reason", "duplicate"]).await;
    let open = "select count(*) from disputes where order_id = $1 and status = 'opened'";
    eventually!(SOON, "the shop hears of the dispute", arena.count_of(held.order, open).await == 1);
    let closed = answered(&arena, &["close-dispute", dispute["id"].as_str().unwrap(), "won"]).await;
    assert_eq!((&dispute["reason"], &closed["status"]), (&json!("duplicate"), &json!("won")));
    let won = "select count(*) from disputes where order_id = $1 and status = 'won'";
    eventually!(SOON, "and of its end", arena.count_of(held.order, won).await == 1);
    let total = held.total.minor;
    assert_eq!(answered(&arena, &["refund", &payment]).await["amount"], json!(total));
    arena.await_status(held.order, "refunded").await;
    assert_eq!(
        (arena.provider().refunded(&started).await, arena.provider().refunds_of(&started).await.len()),
        (total, 1)
    );
    arena.finish().await;
}
