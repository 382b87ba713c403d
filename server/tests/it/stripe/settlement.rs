//! The daily match against Stripe's balance transactions, over HTTP: pages of movements, the look-ups of their payments,
//! disputes and refunds, and what becomes of a difference.

use super::refunds::{anybody_may_give_back, asked_back, succeeded};
use super::{bought, event, tell};
use crate::arena::stripe::wire::Call;
use crate::arena::stripe::{GOOD_CARD, Stripe};
use crate::arena::{Arena, SOON, Setup};
use crate::purchase::assert_paid_once;
use crate::reclaim::ask_at;
use crate::reconciliation::{clearing, keys, matched_at};
use crate::refunds::{account, assert_books_balance};
use backend::OpenDifference;
use domain::OrderId;
use domain::account::Role;
use domain::order::PayStarted;
use domain::settlement::Owner;
use domain::settlement::schedule::day_of;

async fn matched(arena: &Arena) -> Vec<OpenDifference> {
    matched_at(arena, "stripe").await
}

/// Nothing is open, and our money at Stripe is what Stripe says.
async fn assert_clean(arena: &Arena) {
    assert_eq!(keys(&matched(arena).await), [""; 0]);
    let (ours, theirs) = clearing(arena).await;
    assert_eq!(ours, theirs);
}

/// The map says sold: what comes now finds nothing under way.
async fn confirmed(arena: &Arena, order: OrderId) {
    let confirmed = "select count(*) from orders where id = $1 and confirmed_ms is not null";
    eventually!(SOON, "the map says sold", arena.count_of(order, confirmed).await == 1);
}

/// What a payment is called in keys: its page.
async fn page_of(arena: &Arena, started: &PayStarted) -> String {
    sqlx::query_scalar("select provider_ref from attempts where id = $1")
        .bind(started.attempt.0)
        .fetch_one(&arena.pg)
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_day_of_three_pages_is_read_whole_its_fees_are_posted_once_and_strangers_are_passed_over() {
    let stripe = Stripe::start().await;
    let arena = stripe.sale(Setup::default()).await;
    let (one, two) = (arena.one_inside().await, arena.one_inside().await);
    let (_, first) = bought(&stripe, &arena, &one, "10,11").await;
    let (_, second) = bought(&stripe, &arena, &two, "20").await;
    // The newest come first, a hundred to a page: each of ours is on another one.
    stripe.settles(&first, 95).await;
    stripe.tops_up(120);
    stripe.settles(&second, 60).await;
    stripe.tops_up(98);
    let fee = stripe.takes_fee(300);
    let foreign = stripe.settles_foreign().await;

    let found = matched(&arena).await;
    let mut expected = vec![format!("fee_line:fee:{fee}")];
    for started in [&first, &second] {
        expected.push(format!("fee_line:charge:{}", page_of(&arena, started).await));
    }
    expected.sort();
    let mut posted = keys(&found);
    posted.sort_unstable();
    assert_eq!(posted, expected, "{found:?}");
    assert!(found.iter().all(|one| one.owner == Owner::Worker && one.error.is_none()), "{found:?}");
    for _ in 0..2 {
        assert_clean(&arena).await;
        assert_eq!(arena.count("select count(*) from ledger_entries where account = 'provider_fees'").await, 3);
    }
    assert_eq!(arena.count("select count(*) from settlement_lines").await, 3, "ours, and the account's own fee");

    let before = stripe.calls().len();
    let day = arena.backend.match_day("stripe", day_of(arena.backend.now())).await.unwrap();
    assert_eq!((day.lines, day.open.len()), (3, 0));
    let calls: Vec<Call> = stripe.calls().split_off(before);
    let asked = |path: &str| calls.iter().filter(|call| call.path == path).collect::<Vec<_>>();
    let pages = asked("/v1/balance_transactions");
    assert_eq!(pages.len(), 3, "{pages:?}");
    assert!(pages.iter().all(|call| call.method == "GET" && call.query.contains("limit=100")), "{pages:?}");
    let after = pages.iter().map(|call| call.query.contains("starting_after=txn_"));
    assert_eq!(after.collect::<Vec<_>>(), [false, true, true]);
    assert_eq!(asked("/v1/checkout/sessions").len(), 3, "each payment's page is looked for once");
    let intents = calls.iter().filter(|call| call.path.starts_with("/v1/payment_intents/"));
    assert_eq!(
        intents.map(|call| call.path.as_str()).collect::<Vec<_>>(),
        [format!("/v1/payment_intents/{foreign}")],
        "and the payment itself where it has none"
    );
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_amount_waits_for_finance_until_stripe_corrects_it_and_money_that_nobody_recorded_is_found() {
    let stripe = Stripe::start().await;
    let mut arena = stripe.sale(Setup::default()).await;
    let (one, two) = (arena.one_inside().await, arena.one_inside().await);
    let (held, started) = bought(&stripe, &arena, &one, "30").await;
    let movement = stripe.settles(&started, 0).await;
    assert_clean(&arena).await;

    stripe.corrects(&movement, held.total.minor - 100);
    for _ in 0..2 {
        let found = matched(&arena).await;
        assert_eq!(keys(&found), [format!("amount_differs:charge:{}", page_of(&arena, &started).await)], "{found:?}");
        assert_eq!(found[0].owner, Owner::Finance);
    }
    assert_eq!(arena.count("select count(*) from payment_quarantine").await, 0, "money with tickets is left alone");
    stripe.corrects(&movement, held.total.minor);
    assert_clean(&arena).await;
    let repaired = "select count(*) from differences where status = 'repaired' and provider = 'stripe'";
    assert_eq!(arena.count(repaired).await, 1);

    let late = arena.held(&two, "31,32").await;
    let started: PayStarted = arena.pay(&two, late.order).await.ok();
    ask_at(&arena, i64::MAX / 2).await;
    assert_eq!(stripe.card(&started, GOOD_CARD).await, 200);
    // From here on nobody of ours asks, and the money is taken by hand.
    arena.kill_server().await;
    stripe.capture(&started).await;
    stripe.settles(&started, 0).await;
    let found = matched(&arena).await;
    assert_eq!(keys(&found), [format!("captured_not_recorded:charge:{}", page_of(&arena, &started).await)]);
    assert!(found[0].owner == Owner::Worker && found[0].error.is_none(), "{found:?}");
    assert_eq!(arena.status(late.order).await.as_deref(), Some("paid"));
    assert_clean(&arena).await;
    arena.start_workers();
    arena.await_status(late.order, "fulfilled").await;
    assert_paid_once(&arena, late.order, 2).await;
    arena.finish().await;
}

const FROZEN: &str =
    "select count(*) from tickets where order_id = $1 and frozen_ms is not null and revoked_ms is null";
const VALID: &str = "select count(*) from tickets where order_id = $1 and frozen_ms is null and revoked_ms is null";
const REVOKED: &str = "select count(*) from tickets where order_id = $1 and revoked_ms is not null";
const OPENED: &str = "select count(*) from disputes where order_id = $1 and status = 'opened'";
const WON: &str = "select count(*) from disputes where order_id = $1 and status = 'won'";
const LOST: &str = "select count(*) from disputes where order_id = $1 and status = 'lost'";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dispute_that_the_balance_alone_tells_of_freezes_the_tickets_and_a_lost_one_revokes_them() {
    let stripe = Stripe::start().await;
    let arena = stripe.sale(Setup::default()).await;
    let fan = arena.one_inside().await;
    let (held, started) = bought(&stripe, &arena, &fan, "40,41").await;
    confirmed(&arena, held.order).await;
    let page = page_of(&arena, &started).await;
    stripe.settles(&started, 95).await;
    let id = stripe.dispute(&started).await;
    stripe.withdraws(&id, 1_500);

    let told = arena.backend.provider("stripe").expect("it is configured").get_dispute(&id).await.unwrap();
    assert_eq!((told.id.as_str(), told.state.as_str(), told.withdrawn), (id.as_str(), "open", true));
    assert_eq!((told.amount_minor, told.currency), (held.total.minor, held.total.currency));
    assert_eq!(told.reference, Some(started.attempt.to_string()), "its payment was asked for with it");

    let found = matched(&arena).await;
    let expected =
        [format!("dispute_unknown:dispute:{id}"), format!("fee_line:charge:{page}"), format!("fee_line:dispute:{id}")];
    assert_eq!(keys(&found), expected, "{found:?}");
    assert!(found.iter().all(|one| one.owner == Owner::Worker && one.error.is_none()), "{found:?}");
    assert_eq!((arena.count_of(held.order, OPENED).await, arena.count_of(held.order, FROZEN).await), (1, 2));
    assert_clean(&arena).await;

    let lost = stripe.decides(&id, "lost");
    tell(&arena, &event("evt_lost", "charge.dispute.closed", &lost)).await;
    eventually!(SOON, "it is lost", arena.count_of(held.order, LOST).await == 1);
    assert_eq!(arena.count_of(held.order, REVOKED).await, 2);
    assert_eq!(account(&arena, held.order, "disputes").await, 0);
    // The money left when it was withdrawn: a lost dispute moves nothing more.
    assert_clean(&arena).await;
    assert_books_balance(&arena).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_won_dispute_is_known_by_the_money_that_comes_back() {
    let stripe = Stripe::start().await;
    let arena = stripe.sale(Setup::default()).await;
    let fan = arena.one_inside().await;
    let (held, started) = bought(&stripe, &arena, &fan, "42,43").await;
    confirmed(&arena, held.order).await;
    stripe.settles(&started, 0).await;
    let id = stripe.dispute(&started).await;
    let opened = stripe.decides(&id, "under_review");
    tell(&arena, &event("evt_opened", "charge.dispute.created", &opened)).await;
    eventually!(SOON, "it is known", arena.count_of(held.order, OPENED).await == 1);
    stripe.withdraws(&id, 0);
    assert_clean(&arena).await;
    assert_eq!(account(&arena, held.order, "disputes").await, held.total.minor, "Stripe withholds it");

    stripe.decides(&id, "won");
    stripe.reinstates(&id);
    let found = matched(&arena).await;
    assert_eq!(keys(&found), [format!("dispute_unknown:dispute_reversal:{id}")], "{found:?}");
    assert_eq!((arena.count_of(held.order, WON).await, arena.count_of(held.order, VALID).await), (1, 2));
    assert_clean(&arena).await;
    assert_eq!(account(&arena, held.order, "provider_clearing").await, held.total.minor);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refund_that_fails_after_its_success_is_found_by_the_balance_and_made_again_by_the_staff() {
    let stripe = Stripe::start().await;
    let arena = stripe.sale(Setup::default()).await;
    anybody_may_give_back(&arena).await;
    let finance = arena.member(Role::Finance).await;
    let fan = arena.one_inside().await;
    let (held, started) = bought(&stripe, &arena, &fan, "80,81").await;
    stripe.settles(&started, 0).await;
    let asked = asked_back(&arena, &fan, held.order, "80").await;
    succeeded(&arena, &asked).await;
    let payment = stripe.intent(&started).await["id"].as_str().unwrap().to_owned();
    let first = stripe.refunds(&payment).await.remove(0);
    stripe.settles_refund(&first);
    assert_clean(&arena).await;
    assert_eq!(account(&arena, held.order, "provider_clearing").await, held.total.minor - asked.amount.minor);

    // No event comes: the day's movements are the only sign.
    stripe.send_back(first["id"].as_str().unwrap());
    stripe.settles_return(&first);
    let found = matched(&arena).await;
    assert_eq!(keys(&found), [format!("refund_missing_there:{}", asked.id)], "{found:?}");
    assert!(found[0].owner == Owner::Worker && found[0].error.is_none(), "{found:?}");
    let failed = "select count(*) from refunds where status = 'failed' and failure = 'expired_or_canceled_card'";
    assert_eq!(arena.count(failed).await, 1);
    assert_eq!(account(&arena, held.order, "provider_clearing").await, held.total.minor, "with us again");
    assert_clean(&arena).await;
    assert_eq!(arena.count("select count(*) from refunds").await, 1, "nothing follows by itself");

    arena.backend.retry_refund(&finance.session, asked.id).await.unwrap();
    let back = "select count(*) from refunds where status = 'succeeded'";
    eventually!(3 * SOON, "the money is back", arena.count(back).await == 1);
    let made = stripe.refunds(&payment).await;
    assert_eq!(made.len(), 2, "a refund of its own");
    let second = made.iter().find(|one| one["id"] != first["id"]).unwrap();
    stripe.settles_refund(second);
    assert_clean(&arena).await;
    assert_eq!(account(&arena, held.order, "provider_clearing").await, held.total.minor - asked.amount.minor);
    assert_books_balance(&arena).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payout_is_posted_once_and_posted_back_when_it_fails() {
    let stripe = Stripe::start().await;
    let arena = stripe.sale(Setup::default()).await;
    let fan = arena.one_inside().await;
    let (held, started) = bought(&stripe, &arena, &fan, "10,11").await;
    stripe.settles(&started, 0).await;
    assert_clean(&arena).await;
    let payout = stripe.pays_out(held.total.minor);
    assert_eq!(keys(&matched(&arena).await), [format!("payout_not_posted:payout:{payout}")]);
    for _ in 0..2 {
        assert_clean(&arena).await;
        assert_eq!(clearing(&arena).await.0, 0, "all of it is at the bank");
    }
    stripe.payout_fails(&payout, held.total.minor);
    assert_eq!(keys(&matched(&arena).await), [format!("payout_not_posted:payout_failure:{payout}")]);
    for _ in 0..2 {
        assert_clean(&arena).await;
        assert_eq!(clearing(&arena).await.0, held.total.minor, "it is at Stripe again");
    }
    assert_eq!(arena.count("select count(distinct source) from ledger_entries where provider = 'stripe'").await, 2);
    arena.finish().await;
}
