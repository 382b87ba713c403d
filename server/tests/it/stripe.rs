//! Stripe: the page, the money, refunds and signed events, against a stand-in of its interface that others wrote.

mod refunds;
mod settlement;
mod wire;

use crate::arena::provider::{GOOD_CARD as SANDBOX_CARD, unix_s};
use crate::arena::stripe::{ASKING_CARD, DECLINED_CARD, GOOD_CARD, SECRETS, Stripe, recorded};
use crate::arena::{Arena, Fan, ORGANIZATION, Reply, SOON, Setup, program, run_to_end};
use crate::purchase::assert_paid_once;
use crate::reclaim::{hasty, taken_by};
use backend::{ProviderError, ProviderState};
use domain::Code;
use domain::hold::{Held, SeatState};
use domain::order::{OrderView, PayStarted};
use reqwest::Method;
use serde_json::{Value, json};
use server::psp::signature;

/// The schedule asks after two seconds for the first time, and then backs off.
const BY_ASKING: std::time::Duration = SOON.saturating_mul(2);

async fn fulfilled(arena: &Arena, order: domain::OrderId) {
    eventually!(BY_ASKING, "the order is fulfilled", arena.status(order).await.as_deref() == Some("fulfilled"));
}

async fn deliver(arena: &Arena, provider: &str, body: &str, signature: &str) -> Reply {
    let request = arena.plain_request(Method::POST, &format!("/webhooks/{provider}"));
    arena.send(request.header("stripe-signature", signature).body(body.to_owned())).await
}

fn event(id: &str, kind: &str, object: &Value) -> Value {
    let mut event = recorded::object("event");
    event["id"] = json!(id);
    event["type"] = json!(kind);
    event["created"] = json!(unix_s());
    event["data"]["object"] = object.clone();
    event
}

/// Tells the program something, signed as Stripe signs.
async fn tell(arena: &Arena, event: &Value) {
    let body = event.to_string();
    let signed = signature::sign(SECRETS[0], body.as_bytes(), unix_s());
    assert_eq!(deliver(arena, "stripe", &body, &signed).await.status, 200);
}

/// Pays seats on the hosted page, and waits for the tickets.
async fn bought(stripe: &Stripe, arena: &Arena, fan: &Fan, seats: &str) -> (Held, PayStarted) {
    let held = arena.held(fan, seats).await;
    let started: PayStarted = arena.pay(fan, held.order).await.ok();
    assert_eq!(stripe.card(&started, GOOD_CARD).await, 200);
    fulfilled(arena, held.order).await;
    (held, started)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_seats_are_paid_on_the_hosted_page_and_the_signed_event_is_stored_and_applied() {
    let stripe = Stripe::start().await;
    let arena = stripe.sale(Setup::default()).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "30,31").await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    assert_eq!(arena.pay(&fan, held.order).await.ok::<PayStarted>(), started, "a reload leads to the same page");
    // Whatever the organization chooses now: this payment stays where it was made.
    arena.choose_provider("sandbox").await;
    assert_eq!(stripe.card(&started, GOOD_CARD).await, 200);
    fulfilled(&arena, held.order).await;
    assert_paid_once(&arena, held.order, 2).await;
    let intent = stripe.intent(&started).await;
    assert_eq!((&intent["status"], intent["amount"].as_i64()), (&json!("succeeded"), Some(held.total.minor)));
    let stored = "select count(*) from payment_inbox where provider = 'stripe' and applied_ms is not null
                  and body ->> 'type' = 'payment_intent.succeeded'";
    eventually!(SOON, "its own event came, signed, and was applied", arena.count(stored).await == 1);
    let through = "select count(*) from attempts where order_id = $1 and provider = 'stripe'";
    assert_eq!(arena.count_of(held.order, through).await, 1);

    let other = arena.one_inside().await;
    let theirs = arena.held(&other, "40").await;
    let started: PayStarted = arena.pay(&other, theirs.order).await.ok();
    assert_eq!(arena.provider().card(&started, SANDBOX_CARD).await, 303, "a new payment goes to the new choice");
    fulfilled(&arena, theirs.order).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_declined_card_is_told_and_another_one_pays() {
    let stripe = Stripe::start().await;
    let arena = stripe.sale(Setup::default()).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "10,11").await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    assert_eq!(stripe.card(&started, DECLINED_CARD).await, 402);
    eventually!(
        BY_ASKING,
        "the fan is told",
        arena.order(&fan, held.order).await.ok::<OrderView>().decline.as_deref() == Some("card_declined")
    );
    assert_eq!(arena.status(held.order).await.as_deref(), Some("payment_processing"));
    assert_eq!(stripe.card(&started, GOOD_CARD).await, 200, "on the same page");
    fulfilled(&arena, held.order).await;
    assert_paid_once(&arena, held.order, 2).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bank_that_asks_the_fan_first_is_waited_for() {
    let stripe = Stripe::start().await;
    let arena = stripe.sale(Setup::default()).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "12").await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    assert_eq!(stripe.card(&started, ASKING_CARD).await, 200);
    let asked = "select count(*) from attempts where order_id = $1 and queries >= 1 and status = 'open'";
    eventually!(BY_ASKING, "we asked meanwhile", arena.count_of(held.order, asked).await == 1);
    assert_eq!(arena.status(held.order).await.as_deref(), Some("payment_processing"));
    stripe.authenticate(&started).await;
    fulfilled(&arena, held.order).await;
    assert_paid_once(&arena, held.order, 1).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_where_nobody_paid_ends_with_the_hold_although_stripe_would_keep_it_for_half_an_hour() {
    let stripe = Stripe::start().await;
    let setup = Setup { hold_ttl_ms: 1_500, ..Setup::default() }.provider_deadline(1_500, 500);
    let arena = stripe.sale(setup).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "80,81").await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    assert_eq!(stripe.page_status(&started), "open");
    arena.await_status(held.order, "closed").await;
    eventually!(SOON, "the page has ended", stripe.page_status(&started) == "expired");
    assert_eq!(stripe.card(&started, GOOD_CARD).await, 410);
    eventually!(SOON, "the seats are free", arena.seat(80).await == SeatState::Available as u8);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn late_money_goes_back_and_again_when_the_bank_sends_the_refund_back() {
    let stripe = Stripe::start().await;
    let mut arena = stripe.sale(hasty()).await;
    let (fan, other) = (arena.one_inside().await, arena.one_inside().await);
    let held = arena.held(&fan, "90,91").await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    stripe.away(true);
    assert_eq!(stripe.card(&started, GOOD_CARD).await, 200, "the fan paid in time, and we can't know it");
    arena.await_status(held.order, "closed").await;
    taken_by(&arena, &other, "90,91").await;
    // With nobody of ours asking, somebody captures by hand: the fan is charged, the seats are gone.
    arena.kill_server().await;
    stripe.capture(&started).await;
    stripe.away(false);
    arena.start_server(&[]).await;
    let back = "select count(*) from refunds where status = 'succeeded'";
    eventually!(3 * SOON, "the money is back", arena.count(back).await == 1);
    let intent = stripe.intent(&started).await["id"].as_str().unwrap().to_owned();
    let refund = stripe.refunds(&intent).await.remove(0);
    assert_eq!(refund["amount"].as_i64(), Some(held.total.minor));

    stripe.send_back(refund["id"].as_str().unwrap());
    let body = event("evt_sent_back", "refund.failed", &refund).to_string();
    let signed = signature::sign(SECRETS[1], body.as_bytes(), unix_s());
    assert_eq!(deliver(&arena, "stripe", &body, &signed).await.status, 200, "the older secret still counts");
    let failed = "select count(*) from refunds where status = 'failed'";
    eventually!(SOON, "the success is taken back", arena.count(failed).await == 1);
    eventually!(3 * SOON, "another refund follows", arena.count(back).await == 1);
    assert_eq!(stripe.refunds(&intent).await.len(), 2, "under a key of its own");
    let balance =
        "select coalesce(sum(amount_minor), 0)::bigint from ledger_entries where account = 'provider_clearing'";
    assert_eq!(arena.count(balance).await, 0);
    let again = deliver(&arena, "stripe", &body, &signature::sign(SECRETS[1], body.as_bytes(), unix_s())).await;
    assert_eq!((again.status, arena.count(failed).await), (200, 1), "told twice, done once");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refund_by_hand_is_taken_in_for_the_page_that_was_paid_on_and_not_for_another_payment_under_its_name() {
    let stripe = Stripe::start().await;
    let arena = stripe.sale(Setup::default()).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "34,35").await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    assert_eq!(stripe.card(&started, GOOD_CARD).await, 200);
    fulfilled(&arena, held.order).await;
    let other = stripe.intent_of("700", &started.attempt.to_string(), GOOD_CARD).await;
    assert_eq!(stripe.confirm(&other).await.0, 200);
    let client = arena.backend.provider("stripe").expect("it is configured");
    client.capture(&other, "cap:by-hand").await.unwrap();
    let own = stripe.intent(&started).await["id"].as_str().unwrap().to_owned();

    for (id, intent, amount) in [("evt_other", &other, "300"), ("evt_own", &own, "100")] {
        let refund = stripe.give_back(intent, amount).await;
        let body = event(id, "refund.created", &refund).to_string();
        let signed = signature::sign(SECRETS[0], body.as_bytes(), unix_s());
        assert_eq!(deliver(&arena, "stripe", &body, &signed).await.status, 200);
    }
    let applied =
        "select count(*) from payment_inbox where event_id in ('evt_other', 'evt_own') and applied_ms is not null";
    eventually!(BY_ASKING, "both are applied", arena.count(applied).await == 2);
    let taken_in = "select coalesce(sum(amount_minor), 0)::bigint from refunds where origin = 'provider'";
    assert_eq!(arena.count(taken_in).await, 100, "the page's own alone");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn charges_captures_cancellations_and_refunds_are_told_as_they_are() {
    let stripe = Stripe::start().await;
    let arena = stripe.sale(Setup::default()).await;
    // These payments belong to no attempt: their events would wait for one.
    stripe.mute().await;
    let client = arena.backend.provider("stripe").expect("it is configured");

    let paid = stripe.intent_of("10000", "attempt-1", GOOD_CARD).await;
    assert_eq!(client.get(&paid).await.unwrap().state, ProviderState::Open);
    assert_eq!(stripe.confirm(&paid).await.0, 200);
    let authorized = client.get(&paid).await.unwrap();
    assert_eq!((authorized.state, authorized.amount_minor), (ProviderState::Authorized, 10_000));
    assert_eq!((authorized.reference.as_str(), authorized.merchant.as_str()), ("attempt-1", client.merchant()));
    assert_eq!(client.capture(&paid, "cap:1").await.unwrap().state, ProviderState::Captured);
    assert!(client.capture(&paid, "cap:1").await.unwrap_err().is_final(), "what is captured can't be captured");
    assert_eq!(client.cancel(&paid, "cancel:1").await.unwrap().state, ProviderState::Captured, "nor cancelled");
    let part = client.refund(&paid, 2_500, "refund:1", "refund:1").await.unwrap();
    assert_eq!(part.succeeded, Some(true));
    assert_eq!(
        client.refund(&paid, 2_500, "refund:1", "refund:1").await.unwrap(),
        part,
        "asked again: the same refund"
    );
    client.refund(&paid, 7_500, "refund:2", "refund:2").await.unwrap();
    let amounts: Vec<i64> = stripe.refunds(&paid).await.iter().map(|one| one["amount"].as_i64().unwrap()).collect();
    assert_eq!((amounts.len(), amounts.iter().sum::<i64>()), (2, 10_000), "each once, though no key is kept there");
    assert_eq!(client.get_refund(&part.id).await.unwrap(), part);

    let declined = stripe.intent_of("500", "attempt-2", DECLINED_CARD).await;
    assert_eq!(stripe.confirm(&declined).await.0, 402);
    let told = client.get(&declined).await.unwrap();
    assert_eq!((told.state, told.last_error.as_deref()), (ProviderState::Open, Some("card_declined")));
    assert_eq!(client.cancel(&declined, "cancel:2").await.unwrap().state, ProviderState::Canceled);

    let held = stripe.intent_of("500", "attempt-3", GOOD_CARD).await;
    assert_eq!(stripe.confirm(&held).await.0, 200);
    assert_eq!(client.cancel(&held, "cancel:3").await.unwrap().state, ProviderState::Canceled, "no refund is needed");
    assert_eq!(client.cancel(&held, "cancel:3").await.unwrap().state, ProviderState::Canceled, "asked again");

    assert!(matches!(client.get("pi_nobody").await, Err(ProviderError::Refused { .. })));
    assert!(matches!(client.get("cs_nobody").await, Err(ProviderError::Refused { .. })));
    stripe.away(true);
    assert!(matches!(client.get(&paid).await, Err(ProviderError::Unreachable(_))));
    stripe.away(false);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_that_are_forged_are_refused_foreign_ones_set_aside_and_unknown_ones_change_nothing() {
    let stripe = Stripe::start().await;
    let arena = stripe.sale(Setup::default()).await;
    let sign = |body: &str, at: i64| signature::sign(SECRETS[0], body.as_bytes(), at);
    let unknown = event("evt_unknown", "tax.settings.updated", &json!({ "object": "tax.settings" })).to_string();
    for (what, signed) in [
        ("none", String::new()),
        ("another secret's", signature::sign("whsec_other", unknown.as_bytes(), unix_s())),
        ("another body's", sign("{}", unix_s())),
        ("an old one", sign(&unknown, unix_s() - 600)),
    ] {
        let reply = deliver(&arena, "stripe", &unknown, &signed).await;
        assert_eq!((reply.status, reply.code()), (400, Code::BadSignature), "{what}");
    }
    assert_eq!(deliver(&arena, "paypal", &unknown, &sign(&unknown, unix_s())).await.code(), Code::NotFound);
    assert_eq!(arena.count("select count(*) from payment_inbox").await, 0, "nothing is stored");

    let intent = json!({
        "object": "payment_intent", "id": "pi_1", "metadata": { "stararena_attempt": uuid::Uuid::new_v4().to_string() },
    });
    let mut live = event("evt_live", "payment_intent.succeeded", &intent);
    live["livemode"] = json!(true);
    let mut connected = event("evt_connected", "payment_intent.succeeded", &intent);
    connected["account"] = json!("acct_another");
    let mut forgotten = event("evt_forgotten", "payment_intent.succeeded", &intent);
    forgotten["created"] = json!(unix_s() - 7_200);
    let others = event("evt_others", "payment_intent.succeeded", &json!({ "object": "payment_intent", "id": "pi_2" }));
    for body in [live.to_string(), connected.to_string(), forgotten.to_string(), others.to_string(), unknown] {
        assert_eq!(deliver(&arena, "stripe", &body, &sign(&body, unix_s())).await.status, 200);
        assert_eq!(deliver(&arena, "stripe", &body, &sign(&body, unix_s())).await.status, 200, "again");
    }
    let applied = "select count(*) from payment_inbox where provider = 'stripe' and applied_ms is not null";
    eventually!(SOON, "all five are done with", arena.count(applied).await == 5);
    let mut aside: Vec<String> =
        sqlx::query_scalar("select provider_ref from payment_quarantine").fetch_all(&arena.pg).await.unwrap();
    aside.sort();
    assert_eq!(aside, ["evt_connected", "evt_forgotten", "evt_live"]);
    assert_eq!(arena.count("select count(*) from ledger_entries").await, 0);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_is_configured_no_more_leaves_its_payments_waiting_and_rings() {
    let stripe = Stripe::start().await;
    let mut arena = stripe.sale(Setup::default()).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "20,21").await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    let without = [("STARARENA_STRIPE_API_KEY", ""), ("STARARENA_STRIPE_WEBHOOK_SECRETS", "")];
    arena.restart_server(&without).await;
    assert_eq!(stripe.card(&started, GOOD_CARD).await, 200, "the page goes on without us");
    let rings = async || {
        let text = arena.send(arena.plain_request(Method::GET, "/metrics")).await.body;
        text.lines().any(|line| line.starts_with("stararena_provider_missing_total{provider=\"stripe\"}"))
    };
    eventually!(3 * SOON, "the metric counts", rings().await);
    assert_eq!(arena.status(held.order).await.as_deref(), Some("payment_processing"));
    let other = arena.one_inside().await;
    let theirs = arena.held(&other, "22").await;
    assert_eq!(arena.pay(&other, theirs.order).await.code(), Code::ProviderUnavailable, "and nobody is charged");
    arena.restart_server(&[]).await;
    eventually!(3 * SOON, "nothing was lost", arena.status(held.order).await.as_deref() == Some("fulfilled"));
    assert_paid_once(&arena, held.order, 2).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_organization_chooses_among_what_is_configured_and_the_choice_is_logged() {
    let arena = Arena::bare(Setup::default()).await;
    let choose = async |organization: &str, name: &str| {
        let mut command = program(arena.settings());
        command.args(["organization", "provider", organization, name]);
        run_to_end(command).await
    };
    let chosen = "select count(*) from organizations where provider = 'sandbox'";
    assert!(arena.count(chosen).await > 0, "the sandbox, where nobody chose");
    let (code, _, err) = choose(ORGANIZATION, "stripe").await;
    assert!(code == Some(1) && err.contains("provider: `stripe` is not configured here"), "{err}");
    let (code, _, err) = choose("Nobody", "sandbox").await;
    assert!(code == Some(1) && err.contains("no such organization"), "{err}");
    let logged = "select count(*) from audit_log where action = 'organization.provider'";
    assert_eq!(arena.count(logged).await, 0);
    let (code, out, err) = choose(ORGANIZATION, "sandbox").await;
    assert_eq!(code, Some(0), "{out}{err}");
    assert_eq!(arena.count(logged).await, 1);
    arena.finish().await;
}
