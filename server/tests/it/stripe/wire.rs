//! What goes to Stripe over the wire: each operation has a key of its own, which a call that is made again after a lost
//! one repeats, and every call names the version of the interface.
//!
//! Nobody asks by the schedule in these tests: a round of its questions may have keys of its own. Events are tried
//! again within one.

use super::refunds::{anybody_may_give_back, asked_back, succeeded};
use super::{event, fulfilled, tell};
use crate::arena::stripe::wire::Lost;
use crate::arena::stripe::{GOOD_CARD, Stripe};
use crate::arena::{SOON, Setup};
use crate::purchase::assert_paid_once;
use crate::reclaim::ask_at;
use domain::hold::SeatState;
use domain::order::PayStarted;
use serde_json::json;
use std::collections::HashSet;

/// The version that the adapter pins. Whoever changes it reads Stripe's pages again, and says so in the heads of what
/// was recorded.
const VERSION: &str = "2025-09-30.clover";
/// The call is lost, then the answer.
const TWICE: &[Lost] = &[Lost::Call, Lost::Answer];
/// When nobody asks any more.
const NEVER_MS: i64 = i64::MAX / 2;

const PAGE: &str = "/v1/checkout/sessions";
const EXPIRE: &str = "/expire";
const CAPTURE: &str = "/capture";
const CANCEL: &str = "/cancel";
const REFUND: &str = "/v1/refunds";

/// The one key of an operation that was called so often at least.
fn one_key(stripe: &Stripe, end: &str, calls: usize) -> String {
    let keys = stripe.keys(end);
    assert!(keys.len() >= calls, "{end}: {keys:?}");
    assert!(!keys[0].is_empty() && keys.iter().all(|key| *key == keys[0]), "{end}: {keys:?}");
    keys[0].clone()
}

fn assert_all_differ(keys: &[String]) {
    assert_eq!(keys.iter().collect::<HashSet<_>>().len(), keys.len(), "{keys:?}");
}

/// Reads and writes alike.
fn assert_each_call_names_the_version(stripe: &Stripe) {
    let calls = stripe.calls();
    let without = calls.iter().find(|call| call.version.as_deref() != Some(VERSION));
    assert!(without.is_none(), "{without:?}");
    for method in ["GET", "POST"] {
        assert!(calls.iter().any(|call| call.method == method), "{method}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_a_capture_and_a_refund_whose_calls_or_answers_are_lost_are_made_once_each_under_its_key() {
    let stripe = Stripe::start().await;
    let arena = stripe.sale(Setup::default()).await;
    anybody_may_give_back(&arena).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "50,51").await;

    stripe.lose(PAGE, &[Lost::Answer]);
    assert_ne!(arena.pay(&fan, held.order).await.status, 200, "nobody can be sent to a page that is not known");
    ask_at(&arena, NEVER_MS).await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    let page = one_key(&stripe, PAGE, 2);
    assert_eq!(stripe.page_count(), 1, "Stripe made one page");

    assert_eq!(stripe.card(&started, GOOD_CARD).await, 200);
    stripe.lose(CAPTURE, TWICE);
    let intent = stripe.intent(&started).await;
    tell(&arena, &event("evt_authorized", "payment_intent.amount_capturable_updated", &intent)).await;
    fulfilled(&arena, held.order).await;
    assert_paid_once(&arena, held.order, 2).await;
    let capture = one_key(&stripe, CAPTURE, 2);

    stripe.lose(REFUND, TWICE);
    let asked = asked_back(&arena, &fan, held.order, "50").await;
    succeeded(&arena, &asked).await;
    let refund = one_key(&stripe, REFUND, 2);
    let made = stripe.refunds(intent["id"].as_str().unwrap()).await;
    assert_eq!((made.len(), made[0]["amount"].as_i64()), (1, Some(asked.amount.minor)), "Stripe made one refund");

    assert_all_differ(&[page, capture, refund]);
    assert!(stripe.keys(CANCEL).is_empty() && stripe.keys(EXPIRE).is_empty(), "and nothing was ended");
    assert_each_call_names_the_version(&stripe);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_page_and_of_a_payment_are_told_again_under_their_keys_when_they_are_lost() {
    let stripe = Stripe::start().await;
    // Long enough for both fans to be at Stripe before the first order ends.
    let setup = Setup { hold_ttl_ms: 4_000, ..Setup::default() }.provider_deadline(4_000, 500);
    let arena = stripe.sale(setup).await;
    let (one, two) = (arena.one_inside().await, arena.one_inside().await);
    let unpaid = arena.held(&one, "60,61").await;
    let page: PayStarted = arena.pay(&one, unpaid.order).await.ok();
    let paid = arena.held(&two, "62,63").await;
    let payment: PayStarted = arena.pay(&two, paid.order).await.ok();
    ask_at(&arena, NEVER_MS).await;
    // Stripe can't be asked while the orders end: one fan has paid nothing, the other one in time.
    stripe.away(true);
    assert_eq!(stripe.card(&payment, GOOD_CARD).await, 200);
    for order in [unpaid.order, paid.order] {
        arena.await_status(order, "closed").await;
    }
    stripe.lose(EXPIRE, TWICE);
    stripe.lose(CANCEL, TWICE);
    stripe.away(false);

    // Of an event the name alone counts: nothing has expired yet.
    let named = json!({ "object": "checkout.session", "metadata": { "stararena_attempt": page.attempt } });
    tell(&arena, &event("evt_page", "checkout.session.expired", &named)).await;
    let intent = stripe.intent(&payment).await;
    tell(&arena, &event("evt_payment", "payment_intent.amount_capturable_updated", &intent)).await;
    let ended = "select count(*) from attempts where status = 'canceled'";
    eventually!(2 * SOON, "both have ended", arena.count(ended).await == 2);
    assert_eq!(stripe.page_status(&page), "expired");
    assert_eq!(stripe.intent(&payment).await["status"], "canceled", "what was reserved is free, without a refund");

    let mut keys = stripe.keys(PAGE);
    assert_eq!(keys.len(), 2);
    keys.extend([one_key(&stripe, EXPIRE, 2), one_key(&stripe, CANCEL, 2)]);
    assert_all_differ(&keys);
    assert!(stripe.keys(CAPTURE).is_empty() && stripe.keys(REFUND).is_empty(), "no money moved");
    assert_each_call_names_the_version(&stripe);
    for seat in [60, 62] {
        eventually!(SOON, "the seats are free", arena.seat(seat).await == SeatState::Available as u8);
    }
    arena.finish().await;
}
