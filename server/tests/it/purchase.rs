//! The main job over HTTP, with the provider as its own process: seats, money, tickets.

use crate::arena::provider::{DECLINED_CARD, GOOD_CARD};
use crate::arena::{Arena, Fan, SOON, Setup};
use domain::hold::SeatState;
use domain::order::{OrderStatus, OrderView, PayStarted};
use domain::ticket::{TicketCode, TicketCodeError};
use domain::{Code, OrderId};
use ed25519_dalek::VerifyingKey;

/// One of each: captured attempt, posting of two entries, ticket mail; a valid ticket a seat.
pub(crate) async fn assert_paid_once(arena: &Arena, order: OrderId, seats: i64) {
    let captured = "select count(*) from attempts where order_id = $1 and status = 'captured'";
    assert_eq!(arena.count_of(order, captured).await, 1, "one payment is applied");
    let entries =
        "select count(*) from ledger_entries l join attempts a on l.source = 'capture:' || a.id where a.order_id = $1";
    assert_eq!(arena.count_of(order, entries).await, 2, "one posting of two entries");
    let tickets = "select count(*) from tickets where order_id = $1 and revoked_ms is null";
    assert_eq!(arena.count_of(order, tickets).await, seats, "one ticket a seat");
    let mails = "select count(*) from outbox where dedupe = 'tickets:' || $1::uuid";
    assert_eq!(arena.count_of(order, mails).await, 1, "one mail");
    let delivered =
        "select count(*) from mailbox m join outbox o on o.id = m.outbox_id where o.dedupe = 'tickets:' || $1::uuid";
    eventually!(SOON, "the mail is delivered", arena.count_of(order, delivered).await == 1);
    assert_eq!(
        arena
            .count_of(
                order,
                "select count(*) from refunds r join attempts a on a.id = r.attempt_id where a.order_id = $1"
            )
            .await,
        0
    );
}

async fn verify_offline(arena: &Arena, order: &OrderView) {
    let reply = arena.open(None, "/api/ticket-key").await.ok::<serde_json::Value>();
    let key: [u8; 32] = hex::decode(reply["key"].as_str().unwrap()).unwrap().try_into().unwrap();
    let key = VerifyingKey::from_bytes(&key).unwrap();
    for ticket in &order.tickets {
        let code = TicketCode::verify(&ticket.code, arena.performance, &key).expect("the code is ours");
        assert_eq!((code.ticket, code.seat), (ticket.id, ticket.seat));
        let other = domain::PerformanceId(uuid::Uuid::new_v4());
        assert_eq!(TicketCode::verify(&ticket.code, other, &key), Err(TicketCodeError::OtherPerformance));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_seats_are_bought_and_twenty_clicks_on_pay_open_one_payment() {
    two_seats_are_bought(Setup::default()).await;
}

/// The whole way from seats to tickets.
pub(crate) async fn two_seats_are_bought(setup: Setup) {
    let arena = Arena::web(setup).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "30,31").await;
    let clicks = futures::future::join_all((0..20).map(|_| arena.pay(&fan, held.order))).await;
    let started: Vec<PayStarted> =
        clicks.iter().filter(|reply| reply.status == 200).map(crate::arena::Reply::ok).collect();
    assert!(!started.is_empty(), "{clicks:?}");
    assert!(started.iter().all(|one| *one == started[0]), "all lead to one payment: {started:?}");
    for late in clicks.iter().filter(|reply| reply.status != 200) {
        assert_eq!(late.code(), Code::WrongState, "a click that came in between says to look again");
    }
    let reload: PayStarted = arena.pay(&fan, held.order).await.ok();
    assert_eq!(reload, started[0], "and so does a reload");
    assert_eq!(arena.provider().status(&reload).await, "requires_payment");
    assert_eq!(arena.count_of(held.order, "select count(*) from attempts where order_id = $1").await, 1);

    assert_eq!(arena.provider().card(&reload, GOOD_CARD).await, 303, "back to the shop");
    arena.await_status(held.order, "fulfilled").await;
    let order: OrderView = arena.order(&fan, held.order).await.ok();
    assert_eq!((order.status, order.total), (OrderStatus::Fulfilled, held.total));
    assert_eq!(order.tickets.iter().map(|ticket| ticket.seat).collect::<Vec<_>>(), held.seats);
    assert_eq!(order.items.iter().map(|item| item.price.minor).sum::<i64>(), held.total.minor);
    verify_offline(&arena, &order).await;
    assert_paid_once(&arena, held.order, 2).await;
    eventually!(
        SOON,
        "the seats are sold",
        arena.seat(30).await == SeatState::Sold as u8 && arena.seat(31).await == SeatState::Sold as u8
    );
    assert_eq!(arena.pay(&fan, held.order).await.code(), Code::WrongState, "paid is paid");
    assert_eq!(
        arena.call(Some(&fan), "order-cancel", &[("order", &held.order.to_string())]).await.code(),
        Code::WrongState
    );
    let list: Vec<domain::order::OrderRow> = arena.call(Some(&fan), "orders", &[]).await.ok();
    assert_eq!(list.iter().map(|row| (row.id, row.status)).collect::<Vec<_>>(), [(held.order, OrderStatus::Fulfilled)]);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_declined_card_keeps_the_seats_and_another_card_pays() {
    let arena = Arena::web(Setup::default()).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "40,41").await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    assert_eq!(arena.provider().card(&started, DECLINED_CARD).await, 402);
    eventually!(
        SOON,
        "the fan is told",
        arena.order(&fan, held.order).await.ok::<OrderView>().decline.as_deref() == Some("card_declined")
    );
    assert_eq!(arena.seat(40).await, SeatState::Held as u8);
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    arena.await_status(held.order, "fulfilled").await;
    let order: OrderView = arena.order(&fan, held.order).await.ok();
    assert_eq!((order.decline, order.tickets.len()), (None, 2), "a late word about the first card changes nothing");
    assert_paid_once(&arena, held.order, 2).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_payment_was_cancelled_at_the_provider_another_one_can_be_started() {
    let arena = Arena::web(Setup::default()).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "50").await;
    let first: PayStarted = arena.pay(&fan, held.order).await.ok();
    arena.provider().cancel(&first).await;
    arena.await_status(held.order, "pending_payment").await;
    let second: PayStarted = arena.pay(&fan, held.order).await.ok();
    assert_ne!(second, first, "a new attempt");
    assert_eq!(arena.provider().card(&second, GOOD_CARD).await, 303);
    arena.await_status(held.order, "fulfilled").await;
    assert_paid_once(&arena, held.order, 1).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_limit_counts_what_the_account_bought_before() {
    let arena = Arena::web(Setup { seat_limit: 3, ..Setup::default() }).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "60,61").await;
    arena.buy(&fan, held.order).await;
    eventually!(SOON, "the seats are sold", arena.seat(60).await == SeatState::Sold as u8);
    assert_eq!(arena.hold(&fan, "62", "the-old-pass").await.code(), Code::PassRequired, "buying ends the visit");
    let again = arena.let_in(Fan { pass: None, ..fan.clone() }, arena.performance).await;
    assert_eq!(arena.hold(&again, "62,63", "two-more").await.code(), Code::LimitExceeded);
    let one = arena.held(&again, "62").await;
    arena.buy(&again, one.order).await;
    eventually!(SOON, "the seat is sold", arena.seat(62).await == SeatState::Sold as u8);
    let full = arena.let_in(Fan { pass: None, ..fan }, arena.performance).await;
    assert_eq!(arena.hold(&full, "64", "one-more").await.code(), Code::LimitExceeded);
    arena.finish().await;
}
