//! Whole evenings that don't take place, and money that the provider gave back by itself.

use super::{ANYBODY, Bought, account, assert_books_balance, bought, bought_of, code, terms};
use crate::arena::provider::GOOD_CARD;
use crate::arena::{Arena, Fan, ORGANIZATION, SOON, Setup, program, run_to_end};
use domain::Code;
use domain::account::Role;
use domain::hold::SeatState;
use domain::order::PayStarted;
use domain::refund::RefundStatus;
use domain::refund::view::{RefundFilter, Refused};
use futures::StreamExt as _;

/// Orders of the evening that is cancelled.
const ORDERS: u32 = 60;
/// Fans who buy at once.
const AT_ONCE: usize = 8;

async fn buy_one(arena: &Arena, fan: Fan, seat: u32) -> Bought {
    bought_of(arena, fan, arena.performance, &[seat]).await
}

/// The title of the arena's event, as who cancels types it.
async fn title(arena: &Arena) -> String {
    sqlx::query_scalar("select e.title from performances p join events e on e.id = p.event_id where p.id = $1")
        .bind(arena.performance.0)
        .fetch_one(&arena.pg)
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_evening_is_refunded_order_by_order_also_when_it_is_interrupted_and_what_comes_later_too() {
    let mut arena = Arena::web(Setup::default()).await;
    let fans = arena.inside(usize::try_from(ORDERS).unwrap() + 2).await;
    let (buyers, rest) = fans.split_at(usize::try_from(ORDERS).unwrap());
    let orders: Vec<Bought> = futures::stream::iter((0_u32..).zip(buyers.to_vec()))
        .map(|(seat, fan)| buy_one(&arena, fan, seat))
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    let (late, pending) = (&rest[0], &rest[1]);
    let paying = arena.held(late, "100,101").await;
    let started: PayStarted = arena.pay(late, paying.order).await.ok();
    let open = arena.held(pending, "102").await;
    arena.await_status(open.order, "pending_payment").await;
    let (finance, operator) = (arena.member(Role::Finance).await, arena.member(Role::Operator).await);
    let (id, title) = (arena.performance, title(&arena).await);
    assert_eq!(code(arena.backend.cancel_performance(&operator.session, id, &title).await), Code::Forbidden);
    assert_eq!(code(arena.backend.cancel_performance(&finance.session, id, "another").await), Code::InvalidInput);
    let before = arena.backend.performance_terms(&finance.session, id).await.unwrap();
    assert_eq!((before.paid_orders, before.batch), (ORDERS, None));

    // The process that refunds ends after its first order.
    arena.restart_server(&[("STARARENA_FAULT_POINTS", "batch-order-done")]).await;
    let batch = arena.backend.cancel_performance(&finance.session, id, &title).await.unwrap();
    assert!(!batch.done);
    assert_eq!(code(arena.backend.cancel_performance(&finance.session, id, &title).await), Code::WrongState);
    assert!(!arena.server().ended().await.success(), "killed");
    let half = arena.backend.refund_batch(&finance.session, id).await.unwrap().unwrap();
    assert_eq!((half.orders, half.reserved, half.done), (ORDERS, 1, false));
    // While nobody of ours looks, the last fan pays and the provider takes the money.
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    arena.provider().capture(&started).await;
    arena.start_server(&[]).await;
    assert_eq!(arena.pay(pending, open.order).await.code(), Code::SaleClosed, "nothing new is paid");
    arena.backend.cancel_order(&pending.session, open.order).await.unwrap();

    let view = async || arena.backend.refund_batch(&finance.session, id).await.unwrap().unwrap();
    eventually!(8 * SOON, "all is given back", view().await.done);
    let done = view().await;
    assert_eq!((done.orders, done.succeeded, done.failed), (ORDERS + 1, ORDERS + 1, 0));
    for order in &orders {
        assert_eq!(arena.provider().refunded(&order.started).await, order.total.minor, "each once");
        assert_eq!(arena.status(order.order).await.as_deref(), Some("refunded"));
    }
    assert_eq!(arena.provider().refunded(&started).await, paying.total.minor, "late money, too");
    let total: i64 = orders.iter().map(|order| order.total.minor).sum::<i64>() + paying.total.minor;
    assert_eq!(done.returned.minor, total);
    assert_eq!(arena.count("select count(*) from refunds").await, i64::from(ORDERS) + 1);
    assert_eq!(arena.count("select count(*) from tickets where revoked_ms is null").await, 0);
    let told = "select count(*) from outbox where dedupe like 'cancelled:%'";
    assert_eq!(arena.count(told).await, i64::from(ORDERS) + 1, "each fan is told once");
    eventually!(SOON, "the seats are off sale", arena.seat(0).await == SeatState::Blocked as u8);
    assert_eq!(arena.backend.performance_terms(&finance.session, id).await.unwrap().paid.minor, 0);
    assert_books_balance(&arena).await;
    let breaches = arena.backend.audit(id).await.unwrap();
    assert!(breaches.is_empty(), "the sale has ended, so that nobody else looks: {breaches:?}");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_evenings_failed_refunds_are_listed_and_tried_again_by_command_and_page() {
    let arena = Arena::web(Setup::default()).await;
    let order = bought(&arena, &[3]).await;
    let owner = arena.member(Role::Owner).await;
    arena.provider().switch(serde_json::json!({ "refund_fail": true })).await;
    let run = async |verb: &str, further: &[&str]| {
        let mut command = program(arena.settings());
        command.args(["performance", verb, &arena.performance.to_string(), "--organization", ORGANIZATION]);
        command.args(further);
        run_to_end(command).await
    };
    let (ended, _, said) = run("cancel", &["--event", "Another evening"]).await;
    assert!(ended != Some(0) && said.contains("name"), "{said}");
    let (ended, said, errors) = run("cancel", &["--event", &title(&arena).await]).await;
    assert_eq!(ended, Some(0), "{said}{errors}");
    let id = arena.performance;
    let view = async || arena.backend.refund_batch(&owner.session, id).await.unwrap().unwrap();
    eventually!(2 * SOON, "it failed", view().await.failed == 1);
    assert!(!view().await.done);
    let why = async || arena.backend.refund_offer(&order.fan.session, order.order).await.unwrap().refused;
    eventually!(SOON, "the fan reads why nothing can be given back", why().await == Some(Refused::Cancelled));
    let (_, said, _) = run("refund-status", &[]).await;
    assert!(said.contains("failed     1"), "{said}");
    arena.provider().switch(serde_json::json!({})).await;
    arena.backend.retry_batch(&owner.session, id).await.unwrap();
    eventually!(2 * SOON, "and is done", view().await.done);
    assert_eq!((view().await.succeeded, view().await.failed), (1, 0));
    assert_eq!(arena.provider().refunded(&order.started).await, order.total.minor);
    arena.await_status(order.order, "refunded").await;
    let list = arena.backend.refund_list(&owner.session, &RefundFilter::default()).await.unwrap();
    assert_eq!((list.refunds.len(), list.failed), (2, 0), "the failed one was tried again");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refund_that_was_made_at_the_provider_is_taken_in_and_its_seats_return_when_there_is_no_doubt() {
    let arena = Arena::web(Setup::default()).await;
    terms(&arena, arena.performance, Vec::new(), true, ANYBODY).await;
    let order = bought(&arena, &[80, 81]).await;
    let taken_in = "select count(*) from refunds where origin = 'provider' and status = 'succeeded'";
    arena.provider().give_back(&order.started, 1).await;
    eventually!(2 * SOON, "a part is taken in", arena.count(taken_in).await == 1);
    let valid = "select count(*) from tickets where order_id = $1 and revoked_ms is null";
    assert_eq!(arena.count_of(order.order, valid).await, 2, "no seat costs that: both stay");
    assert_eq!(account(&arena, order.order, "organizer_payable").await, 1 - order.total.minor);
    let list = arena.member(Role::Finance).await;
    let list = arena.backend.refund_list(&list.session, &RefundFilter::default()).await.unwrap();
    assert_eq!((list.refunds[0].refund.amount.minor, list.refunds[0].refund.status), (1, RefundStatus::Succeeded));

    let rest = order.total.minor - 1;
    arena.provider().give_back(&order.started, rest).await;
    eventually!(2 * SOON, "and the rest", arena.count(taken_in).await == 2);
    arena.await_status(order.order, "refunded").await;
    eventually!(SOON, "all seats are free", arena.seat(81).await == SeatState::Available as u8);
    assert_eq!(account(&arena, order.order, "organizer_payable").await, 0);
    let refused = arena.backend.ask_refund(&order.fan.session, order.order, &crate::arena::seats(&[80]), 1).await;
    assert_eq!(code(refused), Code::WrongState, "nothing is left");
    assert_books_balance(&arena).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refund_of_another_payment_under_the_same_name_is_not_the_sales() {
    let arena = Arena::web(Setup::default()).await;
    let order = bought(&arena, &[84, 85]).await;
    let second = arena.provider().foreign_payment(&order.started.attempt.to_string()).await;
    arena.provider().give_back_payment(&second, 700).await;
    let applied = "select count(*) from payment_inbox where body ->> 'type' like 'refund.%' and applied_ms is not null";
    eventually!(SOON, "it was told of", arena.count(applied).await == 1);
    assert_eq!(arena.count("select count(*) from refunds").await, 0, "nothing of the sale went back");
    assert_eq!(account(&arena, order.order, "provider_clearing").await, order.total.minor);
    assert_eq!(account(&arena, order.order, "organizer_payable").await, -order.total.minor);
    let valid = "select count(*) from tickets where order_id = $1 and revoked_ms is null";
    assert_eq!(arena.count_of(order.order, valid).await, 2);

    // A refund of the sale's own payment still is.
    arena.provider().give_back(&order.started, 1).await;
    let taken_in = "select count(*) from refunds where origin = 'provider' and status = 'succeeded'";
    eventually!(2 * SOON, "it is taken in", arena.count(taken_in).await == 1);
    assert_eq!(account(&arena, order.order, "provider_clearing").await, order.total.minor - 1);
    assert_books_balance(&arena).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_of_a_cancelled_evening_that_can_not_be_refunded_rings_and_is_refunded_once_it_is_mended() {
    let arena = Arena::web(Setup::default()).await;
    let order = bought(&arena, &[3]).await;
    let owner = arena.member(Role::Owner).await;
    let post = async |from: &str, to: &str| {
        let moved = sqlx::query("update ledger_entries set account = $2 where source = $3 and account = $1")
            .bind(from)
            .bind(to)
            .bind(format!("capture:{}", order.started.attempt))
            .execute(&arena.pg)
            .await
            .unwrap();
        assert!(moved.rows_affected() > 0, "{from} to {to}");
    };
    // As if it had been paid without a right to its seats: then it was sold with no payment that is known.
    post("organizer_payable", "order_receivable").await;
    let (id, title) = (arena.performance, title(&arena).await);
    arena.backend.cancel_performance(&owner.session, id, &title).await.unwrap();
    let view = async || arena.backend.refund_batch(&owner.session, id).await.unwrap().unwrap();
    eventually!(SOON, "it failed", view().await.failed == 1);
    let rings = r#"stararena_refunds_total{outcome="failed",next="staff"}"#;
    eventually!(SOON, "and rings", arena.metric(rings).await.total_cmp(&1.0).is_ge());
    assert_eq!(arena.count("select count(*) from refunds").await, 0);
    post("order_receivable", "organizer_payable").await;
    arena.backend.retry_batch(&owner.session, id).await.unwrap();
    eventually!(2 * SOON, "it is refunded", view().await.done);
    assert_eq!((view().await.succeeded, view().await.failed), (1, 0));
    assert_eq!(arena.provider().refunded(&order.started).await, order.total.minor);
    arena.await_status(order.order, "refunded").await;
    arena.finish().await;
}
