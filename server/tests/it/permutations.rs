//! What a provider tells of one order, in other orders than it happened: some of it twice, some of it never,
//! some of it ahead of its time. On real stores, by signed webhooks; the end is always the same. The sample
//! follows from seeds, and each permutation is printed before it is delivered.

use crate::arena::provider::{DECLINED_CARD, GOOD_CARD, signed, told, unix_s};
use crate::arena::{Arena, Fan, SOON, Setup};
use crate::killing_money::{assert_refunded_once, refund};
use crate::payments::deliver;
use crate::purchase::assert_paid_once;
use crate::reclaim::ask_at;
use crate::reconciliation::{keys, matched};
use domain::account::Role;
use domain::hold::Held;
use domain::order::PayStarted;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

/// Permutations of a payment that succeeds.
const PAID: u64 = 10;
/// Permutations of a payment that ends at the provider.
const ENDED: u64 = 4;
/// Permutations of a payment that is refunded.
const REFUNDED: u64 = 4;
/// Permutations of a payment that a bank calls into question: every second dispute is lost.
const DISPUTED: u64 = 4;
/// An event comes so often, or not at all.
const COPIES_MAX: usize = 3;
/// What a provider may tell of a payment, whether it happened or not: an event only says where to look.
const KINDS: [&str; 7] = [
    "payment.created",
    "payment.processing",
    "payment.declined",
    "payment.failed",
    "payment.authorized",
    "payment.captured",
    "payment.canceled",
];

/// Events in another order, each up to three times or not at all.
fn mixed(events: Vec<String>, seed: u64) -> Vec<String> {
    let mut dice = StdRng::seed_from_u64(seed);
    let mut all = Vec::new();
    for event in events {
        let copies = dice.random_range(0..=COPIES_MAX);
        all.extend(std::iter::repeat_n(event, copies));
    }
    all.shuffle(&mut dice);
    all
}

/// Delivers them one after another; each is acknowledged. What was delivered is printed first.
async fn deliver_all(arena: &Arena, what: &str, seed: u64, events: &[String]) {
    let kinds: Vec<String> = events
        .iter()
        .map(|event| {
            let event: Value = serde_json::from_str(event).unwrap();
            format!("{} {}", event["type"].as_str().unwrap(), event["id"].as_str().unwrap())
        })
        .collect();
    eprintln!("{what}, seed {seed}: {kinds:#?}");
    for event in events {
        let reply = deliver(arena, event, &signed(event, unix_s())).await;
        assert_eq!(reply.status, 200, "{what}, seed {seed}: {event}");
    }
}

/// Everything that was told is applied.
async fn all_is_applied(arena: &Arena) {
    let waiting = "select count(*) from payment_inbox where applied_ms is null";
    eventually!(2 * SOON, "all is applied", arena.count(waiting).await == 0);
}

/// A provider that tells nothing by itself.
async fn silent(arena: &Arena, further: &Value) {
    let mut switches = json!({ "webhooks": "drop" });
    switches.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
    arena.provider().switch(switches).await;
}

async fn paying(arena: &Arena, number: u64) -> (Fan, Held, PayStarted) {
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, &format!("{},{}", 2 * number, 2 * number + 1)).await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    (fan, held, started)
}

/// Two seats that are paid, with what the provider told of it in the order of a seed.
async fn paid(arena: &Arena, seed: u64) -> (Held, PayStarted) {
    let (_, held, started) = paying(arena, seed).await;
    assert_eq!(arena.provider().card(&started, DECLINED_CARD).await, 402);
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    let mut events = arena.provider().events_of(&started).await;
    assert!(events.len() >= 2, "the provider has declined and authorised: {events:?}");
    events.extend(KINDS.map(|kind| told(&started, kind)));
    deliver_all(arena, "paid", seed, &mixed(events, seed)).await;
    arena.await_status(held.order, "fulfilled").await;
    (held, started)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_the_order_of_words_a_good_card_pays_once() {
    let arena = Arena::web(Setup::default()).await;
    silent(&arena, &json!({})).await;
    for seed in 0..PAID {
        let (held, started) = paid(&arena, seed).await;
        // Late words about a payment that has ended.
        let late = KINDS.map(|kind| told(&started, kind)).to_vec();
        deliver_all(&arena, "late", seed, &mixed(late, seed + 1_000)).await;
        all_is_applied(&arena).await;
        assert_eq!(arena.status(held.order).await.as_deref(), Some("fulfilled"), "seed {seed}");
        assert_paid_once(&arena, held.order, 2).await;
        assert_eq!(arena.provider().status(&started).await, "captured", "seed {seed}");
    }
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_the_order_of_words_a_payment_that_ended_leaves_the_seats_to_the_next_one() {
    let arena = Arena::web(Setup::default()).await;
    silent(&arena, &json!({})).await;
    for seed in 0..ENDED {
        let (fan, held, started) = paying(&arena, seed).await;
        assert_eq!(arena.provider().card(&started, DECLINED_CARD).await, 402);
        arena.provider().cancel(&started).await;
        let mut events = arena.provider().events_of(&started).await;
        events.extend(KINDS.map(|kind| told(&started, kind)));
        deliver_all(&arena, "ended", seed, &mixed(events, seed)).await;
        arena.await_status(held.order, "pending_payment").await;
        all_is_applied(&arena).await;
        let booked = "select count(*) from ledger_entries l join attempts a on l.source = 'capture:' || a.id where a.order_id = $1";
        assert_eq!(arena.count_of(held.order, booked).await, 0, "seed {seed}: no money, no posting");
        arena.buy(&fan, held.order).await;
        assert_paid_once(&arena, held.order, 2).await;
    }
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_the_order_of_words_a_refund_goes_back_once() {
    let arena = Arena::web(Setup::default()).await;
    let owner = arena.member(Role::Owner).await;
    silent(&arena, &json!({ "refund_pending": true, "refund_settle_ms": 400 })).await;
    for seed in 0..REFUNDED {
        let (held, started) = paid(&arena, seed).await;
        refund(&arena, &owner, &held).await;
        let begun = async || arena.provider().events_of(&started).await.iter().any(|event| event.contains("\"refund."));
        eventually!(SOON, "the provider has the refund", begun().await);
        // Some of it before the bank has decided, all of it after that.
        deliver_all(&arena, "refund begun", seed, &mixed(arena.provider().events_of(&started).await, seed)).await;
        arena.await_status(held.order, "refunded").await;
        let mut events = arena.provider().events_of(&started).await;
        events.extend(KINDS.map(|kind| told(&started, kind)));
        deliver_all(&arena, "refund done", seed, &mixed(events, seed + 1_000)).await;
        all_is_applied(&arena).await;
        assert_refunded_once(&arena, &held, &started, &format!("seed {seed}")).await;
    }
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_the_order_of_words_a_dispute_is_booked_once_and_decides_about_the_tickets() {
    let arena = Arena::web(Setup::default()).await;
    silent(&arena, &json!({})).await;
    for seed in 0..DISPUTED {
        let (_, held, started) = paying(&arena, seed).await;
        // All of it happens before anybody here hears a word of it, that the card was good included.
        ask_at(&arena, i64::MAX / 2).await;
        assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
        arena.provider().capture(&started).await;
        let outcome = if seed % 2 == 0 { "won" } else { "lost" };
        let dispute = arena.provider().dispute(&started, None).await;
        let opened = arena.provider().events_of(&started).await;
        arena.provider().close_dispute(&dispute, outcome).await;
        let mut events = arena.provider().events_of(&started).await;
        assert!(events.len() > opened.len() && opened.iter().any(|event| event.contains("\"dispute.created\"")));
        events.extend(KINDS.map(|kind| told(&started, kind)));
        deliver_all(&arena, "disputed", seed, &mixed(events.clone(), seed)).await;
        ask_at(&arena, 0).await;
        arena.await_status(held.order, "fulfilled").await;
        all_is_applied(&arena).await;
        // Words of a dispute that never came: the daily match finds it.
        matched(&arena).await;
        deliver_all(&arena, "late", seed, &mixed(events, seed + 1_000)).await;
        all_is_applied(&arena).await;

        assert_eq!(arena.count_of(held.order, "select count(*) from disputes where order_id = $1").await, 1);
        let ended = "select count(*) from disputes where order_id = $1 and status = $2";
        let ended: i64 = sqlx::query_scalar(ended).bind(held.order.0).bind(outcome).fetch_one(&arena.pg).await.unwrap();
        assert_eq!(ended, 1, "seed {seed}: it is {outcome}");
        let booked = "select count(distinct l.source) from ledger_entries l
            join disputes d on l.source in ('dispute:' || d.id, 'dispute-won:' || d.id, 'dispute-lost:' || d.id)
            where d.order_id = $1";
        assert_eq!(arena.count_of(held.order, booked).await, 2, "seed {seed}: the withdrawal and its end, once");
        let taken = "select coalesce(sum(amount_minor), 0)::bigint from ledger_entries
            where order_id = $1 and account = 'provider_clearing'";
        let (left, valid) = if outcome == "won" { (held.total.minor, 2) } else { (0, 0) };
        assert_eq!(arena.count_of(held.order, taken).await, left, "seed {seed}");
        let frozen =
            "select count(*) from tickets where order_id = $1 and revoked_ms is null and frozen_ms is not null";
        assert_eq!(arena.count_of(held.order, frozen).await, 0, "seed {seed}: it is decided");
        assert_paid_once(&arena, held.order, valid).await;
    }
    assert_eq!(keys(&matched(&arena).await), [""; 0], "nothing differs");
    arena.finish().await;
}
