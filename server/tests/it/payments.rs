//! What the provider says, late, often, wrong or never.

use crate::arena::provider::{GOOD_CARD, signed, unix_s};
use crate::arena::{Arena, Reply, SOON, Setup};
use crate::purchase::assert_paid_once;
use crate::reclaim::{hasty, taken_by};
use domain::Code;
use domain::hold::SeatState;
use domain::order::PayStarted;
use reqwest::Method;

/// Delivers a webhook as the provider would.
pub(crate) async fn deliver(arena: &Arena, body: &str, signature: &str) -> Reply {
    let request = arena.plain_request(Method::POST, "/webhooks/sandbox").header("starpay-signature", signature);
    arena.send(request.header("content-type", "application/json").body(body.to_owned())).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_event_delivered_fifty_times_at_once_has_one_effect() {
    let arena = Arena::web(Setup::default()).await;
    arena.provider().drop_webhooks().await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "10,11").await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    let event = arena.provider().event("payment.authorized").await.expect("the provider kept its event");
    let signature = signed(&event, unix_s());
    let replies = futures::future::join_all((0..50).map(|_| deliver(&arena, &event, &signature))).await;
    assert!(replies.iter().all(|reply| reply.status == 200), "each copy is acknowledged");
    // The return page and the fan's impatience come on top of it.
    futures::future::join_all((0..10).map(|_| arena.order(&fan, held.order))).await;
    arena.await_status(held.order, "fulfilled").await;
    assert_eq!(deliver(&arena, &event, &signature).await.status, 200, "a straggler");
    assert_eq!(arena.count("select count(*) from payment_inbox").await, 1, "stored once");
    eventually!(SOON, "applied", arena.count("select count(*) from payment_inbox where applied_ms is null").await == 0);
    assert_paid_once(&arena, held.order, 2).await;
    assert_eq!(arena.provider().status(&started).await, "captured");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_every_webhook_lost_the_order_is_fulfilled_by_asking() {
    let arena = Arena::web(Setup::default()).await;
    arena.provider().drop_webhooks().await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "20,21").await;
    let order = arena.buy(&fan, held.order).await;
    assert_eq!(order.tickets.len(), 2);
    assert_eq!(arena.count("select count(*) from payment_inbox").await, 0, "nobody told us");
    assert_paid_once(&arena, held.order, 2).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_out_of_order_and_a_provider_that_fails_change_nothing_but_the_time() {
    let arena = Arena::web(Setup::default()).await;
    let switches = serde_json::json!({
        "webhook_copies": 5, "webhook_shuffle": true, "fail_permille": 200, "timeout_after_commit_permille": 50,
    });
    arena.provider().switch(switches).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "25,26").await;
    let mut started = None;
    eventually!(SOON, "Pay reaches the provider", {
        let reply = arena.pay(&fan, held.order).await;
        if reply.status == 200 {
            started = Some(reply.ok::<PayStarted>());
        } else {
            assert_eq!((reply.status, reply.code()), (503, Code::ProviderUnavailable));
        }
        started.is_some()
    });
    assert_eq!(arena.provider().card(&started.unwrap(), GOOD_CARD).await, 303);
    eventually!(2 * SOON, "the order is fulfilled", arena.status(held.order).await.as_deref() == Some("fulfilled"));
    arena.provider().switch(serde_json::json!({})).await;
    assert_paid_once(&arena, held.order, 2).await;
    arena.finish().await;
}

/// How many webhooks the server refused for their signatures, as the alarm counts them.
async fn refused_signatures(arena: &Arena) -> usize {
    let text = arena.send(arena.plain_request(Method::GET, "/metrics")).await.body;
    let counts = text
        .lines()
        .filter(|line| line.starts_with("stararena_webhooks_total{") && line.contains("outcome=\"bad_signature\""));
    counts.filter_map(|line| line.rsplit_once(' ')?.1.parse::<usize>().ok()).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_that_is_forged_old_or_malformed_is_refused_and_not_stored() {
    let arena = Arena::web(Setup::default()).await;
    let body = r#"{"id":"evt_forged","type":"payment.captured","data":{"object":{"reference":"x"}}}"#;
    let good = signed(body, unix_s());
    let forged = [
        ("no signature", String::new()),
        ("nonsense", "t=1,v1=zz".to_owned()),
        ("another body's", signed("{}", unix_s())),
        ("an altered time", good.replacen("t=", "t=1", 1)),
        ("ten minutes old", signed(body, unix_s() - 600)),
        ("ten minutes ahead", signed(body, unix_s() + 600)),
    ];
    for (what, signature) in &forged {
        let reply = deliver(&arena, body, signature).await;
        assert_eq!((reply.status, reply.code()), (400, Code::BadSignature), "{what}");
    }
    assert_eq!(refused_signatures(&arena).await, forged.len(), "each of them counts for the alarm");
    for malformed in ["", "{", "[]", "null", r#"{"id":""}"#, r#"{"id":7}"#, r#"{"id":"evt_nul","pad":"\u0000"}"#] {
        let reply = deliver(&arena, malformed, &signed(malformed, unix_s())).await;
        assert_eq!((reply.status, reply.code()), (400, Code::InvalidInput), "{malformed}");
    }
    let large = format!(r#"{{"id":"evt_large","pad":"{}"}}"#, "x".repeat(70_000));
    assert_eq!(deliver(&arena, &large, &signed(&large, unix_s())).await.code(), Code::TooLarge);
    assert_eq!(arena.count("select count(*) from payment_inbox").await, 0, "nothing is stored");

    // An event of an order that is not known (yet) is stored and tried again.
    let unknown = format!(
        r#"{{"id":"evt_early","type":"payment.captured","data":{{"object":{{"reference":"{}"}}}}}}"#,
        uuid::Uuid::new_v4()
    );
    assert_eq!(deliver(&arena, &unknown, &signed(&unknown, unix_s())).await.status, 200);
    eventually!(
        SOON,
        "tried",
        arena.count("select count(*) from payment_inbox where tries > 0 and applied_ms is null").await == 1
    );
    sqlx::query("delete from payment_inbox").execute(&arena.pg).await.unwrap();
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_of_another_amount_is_set_aside_and_no_ticket_is_issued() {
    let arena = Arena::web(Setup::default()).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "70,71").await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    let tamper = |delta: i64| {
        let query = sqlx::query("update attempts set amount_minor = amount_minor + $2 where id = $1")
            .bind(started.attempt.0)
            .bind(delta);
        query.execute(&arena.pg)
    };
    tamper(1).await.unwrap();
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    eventually!(
        SOON,
        "set aside",
        arena.count("select count(*) from payment_quarantine where reason = 'another amount'").await == 1
    );
    let rings = async || arena.metric("stararena_payments_quarantined_total").await >= 1.0;
    eventually!(SOON, "it rings", rings().await);
    assert_eq!(arena.status(held.order).await.as_deref(), Some("payment_processing"), "the order stays");
    assert_eq!(arena.count_of(held.order, "select count(*) from tickets where order_id = $1").await, 0);
    assert_eq!(arena.count("select count(*) from ledger_entries").await, 0, "no money is booked");
    assert_eq!(arena.provider().status(&started).await, "authorized", "and none is taken");
    assert_eq!(arena.seat(70).await, SeatState::Held as u8);

    tamper(-1).await.unwrap();
    eventually!(
        3 * SOON,
        "once the amounts agree, asking goes on",
        arena.status(held.order).await.as_deref() == Some("fulfilled")
    );
    assert_paid_once(&arena, held.order, 2).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_that_never_comes_is_cancelled_at_the_provider_and_its_seats_go_back() {
    // Its own time is over by then: a hold that still had some would run on, for another card.
    let setup = Setup { hold_ttl_ms: 1_500, ..Setup::default() }.provider_deadline(1_500, 500);
    let arena = Arena::web(setup).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "80,81").await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    arena.await_status(held.order, "closed").await;
    eventually!(SOON, "cancelled there", arena.provider().status(&started).await == "canceled");
    assert_ne!(arena.provider().card(&started, GOOD_CARD).await, 303, "the provider's page has ended with the hold");
    eventually!(SOON, "the seats are free", arena.seat(80).await == SeatState::Available as u8);
    assert_eq!(arena.count_of(held.order, "select count(*) from seat_claims where order_id = $1").await, 0);
    let other = arena.one_inside().await;
    arena.held(&other, "80,81").await;
    assert_eq!(arena.pay(&fan, held.order).await.code(), Code::HoldClosed);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_the_provider_away_an_order_closes_at_its_end_and_late_money_is_not_taken() {
    let setup = Setup { hold_ttl_ms: 1_500, ..Setup::default() }.provider_deadline(1_500, 500);
    let arena = Arena::web(setup).await;
    let fan = arena.one_inside().await;
    let other = arena.one_inside().await;
    let held = arena.held(&fan, "90,91").await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    arena.provider().switch(serde_json::json!({ "webhooks": "drop", "fail_permille": 1000 })).await;
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303, "the fan paid in time, and we can't know it");
    arena.await_status(held.order, "closed").await;
    eventually!(SOON, "the seats are free", arena.seat(90).await == SeatState::Available as u8);
    let theirs = arena.held(&other, "90,91").await;
    arena.provider().switch(serde_json::json!({})).await;
    eventually!(3 * SOON, "the money is given up", arena.provider().status(&started).await == "canceled");
    let open = "select count(*) from attempts where order_id = $1 and status in ('created', 'open', 'authorized')";
    eventually!(SOON, "the attempt is final", arena.count_of(held.order, open).await == 0);
    assert_eq!(arena.count("select count(*) from ledger_entries").await, 0, "nothing was taken, nothing is owed");
    assert_eq!(arena.status(held.order).await.as_deref(), Some("closed"));
    assert_ne!(theirs.order, held.order);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn money_captured_after_the_end_goes_back_in_full_even_when_the_first_refund_fails() {
    let mut arena = Arena::web(hasty()).await;
    let (fan, other) = (arena.one_inside().await, arena.one_inside().await);
    let held = arena.held(&fan, "95,96").await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    arena.provider().switch(serde_json::json!({ "webhooks": "drop", "fail_permille": 1000 })).await;
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    arena.await_status(held.order, "closed").await;
    let theirs = taken_by(&arena, &other, "95,96").await;
    // With nobody of ours asking, the provider captures by itself: the fan is charged, the seats are gone.
    arena.kill_server().await;
    arena.provider().switch(serde_json::json!({ "webhooks": "drop", "refund_fail": true })).await;
    arena.provider().capture(&started).await;
    arena.start_server(&[]).await;
    let failed = "select count(*) from refunds where status = 'failed'";
    eventually!(3 * SOON, "the first refund fails", arena.count(failed).await > 0);
    arena.provider().switch(serde_json::json!({})).await;
    let back = "select count(*) from refunds where status = 'succeeded'";
    eventually!(3 * SOON, "the money is back", arena.count(back).await == 1);
    assert_eq!(arena.provider().refunded(&started).await, held.total.minor);
    assert_eq!(
        arena
            .count(
                "select coalesce(sum(amount_minor), 0)::bigint from ledger_entries where account = 'provider_clearing'"
            )
            .await,
        0
    );
    assert_eq!(arena.status(held.order).await.as_deref(), Some("closed"), "late money never takes seats from anybody");
    arena.buy(&other, theirs.order).await;
    let mails = "select count(*) from outbox where dedupe like 'refund:%'";
    assert_eq!(arena.count(mails).await, 1, "the fan is told once");
    arena.finish().await;
}
