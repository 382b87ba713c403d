//! A part of a payment goes back through the shop.

use super::bought;
use crate::arena::stripe::Stripe;
use crate::arena::{Arena, Fan, SOON, Setup};
use crate::refunds::{ANYBODY, account, assert_books_balance, terms};
use domain::hold::SeatState;
use domain::money::fees::Rate;
use domain::order::OrderView;
use domain::refund::policy::Tier;
use domain::refund::view::{RefundQuote, RefundView};
use domain::refund::{ApprovalRule, Cause};
use domain::{Code, OrderId};
use serde_json::json;

/// Fans may give back until the start, and nobody needs to agree.
pub(super) async fn anybody_may_give_back(arena: &Arena) {
    let rule = ApprovalRule { automatic_to_minor: i64::MAX, four_eyes_from_minor: None };
    terms(arena, arena.performance, Vec::new(), true, rule).await;
}

/// A fan's whole way over HTTP: what it comes to, then the wish itself.
pub(super) async fn asked_back(arena: &Arena, fan: &Fan, order: OrderId, seats: &str) -> RefundView {
    let order = order.to_string();
    let quote = [("order", order.as_str()), ("seats", seats)];
    let quote: RefundQuote = arena.call(Some(fan), "order-refund-quote", &quote).await.ok();
    let expected = quote.returns.minor.to_string();
    let wish = [("order", order.as_str()), ("seats", seats), ("expected_minor", expected.as_str())];
    arena.call(Some(fan), "order-refund-ask", &wish).await.ok()
}

/// Waits until a refund went out.
pub(super) async fn succeeded(arena: &Arena, asked: &RefundView) {
    let status = async || -> String {
        let query = sqlx::query_scalar("select status from refunds where id = $1").bind(asked.id.0);
        query.fetch_one(&arena.pg).await.unwrap()
    };
    eventually!(3 * SOON, "the refund succeeds", status().await == "succeeded");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_seat_of_two_is_given_back_and_stripe_the_order_and_the_books_show_that_part() {
    let stripe = Stripe::start().await;
    let arena = stripe.sale(Setup::default()).await;
    anybody_may_give_back(&arena).await;
    let fan = arena.one_inside().await;
    let (held, started) = bought(&stripe, &arena, &fan, "70,71").await;
    let total = held.total.minor;

    let asked = asked_back(&arena, &fan, held.order, "70").await;
    let part = asked.amount.minor;
    assert_eq!((asked.cause, asked.seats.len(), part * 2), (Cause::Wish, 1, total));
    succeeded(&arena, &asked).await;

    let payment = stripe.intent(&started).await;
    let made = stripe.refunds(payment["id"].as_str().unwrap()).await;
    assert_eq!(made.len(), 1);
    assert_eq!((&made[0]["status"], made[0]["amount"].as_i64()), (&json!("succeeded"), Some(part)));
    let named = made[0]["metadata"]["stararena_refund"].as_str().unwrap();
    assert!(named.contains(&asked.id.to_string()), "{named} names our refund");
    let charge = &payment["latest_charge"];
    assert_eq!((charge["amount_refunded"].as_i64(), charge["refunded"].as_bool()), (Some(part), Some(false)));
    assert_eq!(payment["status"], "succeeded");

    let view: OrderView = arena.order(&fan, held.order).await.ok();
    assert_eq!(view.items.iter().map(|item| item.given_back).collect::<Vec<_>>(), [true, false]);
    assert_eq!(view.tickets.len(), 1);
    assert_eq!(arena.status(held.order).await.as_deref(), Some("fulfilled"), "the other seat is still the fan's");
    eventually!(SOON, "the seat is free", arena.seat(70).await == SeatState::Available as u8);
    assert_eq!(arena.seat(71).await, SeatState::Sold as u8);
    for (name, minor) in
        [("provider_clearing", total - part), ("organizer_payable", part - total), ("refunds_payable", 0)]
    {
        assert_eq!(account(&arena, held.order, name).await, minor, "{name}");
    }

    let rest = asked_back(&arena, &fan, held.order, "71").await;
    succeeded(&arena, &rest).await;
    arena.await_status(held.order, "refunded").await;
    let charge = stripe.intent(&started).await["latest_charge"].clone();
    assert_eq!((charge["amount_refunded"].as_i64(), charge["refunded"].as_bool()), (Some(total), Some(true)));
    assert_eq!(account(&arena, held.order, "provider_clearing").await, 0);
    assert_books_balance(&arena).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_part_that_stripe_never_gives_back_is_refused_before_anything_is_taken() {
    let stripe = Stripe::start().await;
    let arena = stripe.sale(Setup::default()).await;
    // So that an odd amount comes back.
    let kept = Tier { days_left: 0, kept: Rate::try_from(1_111).unwrap() };
    terms(&arena, arena.performance, vec![kept], true, ANYBODY).await;
    let fan = arena.one_inside().await;
    let (held, _) = bought(&stripe, &arena, &fan, "72,73").await;
    // As if it had been paid in a currency whose last digit must be 0 there.
    let paid_in = async |currency: &str| {
        let sql = "update attempts set currency = $2 where order_id = $1";
        sqlx::query(sql).bind(held.order.0).bind(currency).execute(&arena.pg).await.unwrap();
    };
    paid_in("KWD").await;
    let quote = arena.backend.refund_quote(&fan.session, held.order, &held.seats[..1]).await.unwrap();
    assert_ne!(quote.returns.minor % 10, 0);
    let asked = arena.backend.ask_refund(&fan.session, held.order, &held.seats[..1], quote.returns.minor).await;
    let refusal = asked.unwrap_err().refusal();
    assert!(refusal.code == Code::InvalidInput && refusal.message.contains("last digit of KWD"), "{refusal:?}");
    assert_eq!(arena.count("select count(*) from refunds").await, 0);
    let valid = "select count(*) from tickets where order_id = $1 and revoked_ms is null";
    assert_eq!(arena.count_of(held.order, valid).await, 2, "both seats are still the fan's");
    paid_in("EUR").await;
    arena.finish().await;
}
