//! Tickets that change: another code, another name, another holder, frozen or not. A seat has one valid ticket,
//! whoever is killed meanwhile.

use super::ways::Way;
use super::{Doomed, WAITING, died_at, patient, points_of};
use crate::arena::{Arena, Fan};
use crate::tickets::newest_token;
use domain::OrderId;
use std::collections::BTreeSet;

/// What somebody asks for, again and again until it is done.
#[derive(Clone, Copy)]
struct Press<'a> {
    who: &'a Fan,
    function: &'a str,
    form: &'a [(&'a str, &'a str)],
}

/// What is written down of it beside an order, how often by then, and the last point on the way.
type Done = (OrderId, &'static str, i64, &'static str);

/// How often something was written down beside an order.
async fn steps(arena: &Arena, order: OrderId, event: &str) -> i64 {
    sqlx::query_scalar("select count(*) from order_audit where order_id = $1 and event = $2")
        .bind(order.0)
        .bind(event)
        .fetch_one(&arena.pg)
        .await
        .unwrap()
}

/// Presses until it is done and the server has died on the way, as far as it still had to.
async fn pressed(doomed: &mut Doomed, arena: &mut Arena, press: Press<'_>, (order, event, times, last): Done) {
    let shop = arena.shop();
    survives!(doomed, arena, event, {
        let is_done = steps(arena, order, event).await == times;
        if !is_done {
            // Without an answer nobody knows whether it was done: the next look does.
            shop.call(press.who, press.function, press.form).await.ok();
        }
        is_done && !doomed.left.contains(last)
    });
}

/// The one valid ticket of an order.
async fn valid(arena: &Arena, order: OrderId) -> String {
    let id: uuid::Uuid = sqlx::query_scalar("select id from tickets where order_id = $1 and revoked_ms is null")
        .bind(order.0)
        .fetch_one(&arena.pg)
        .await
        .unwrap();
    id.to_string()
}

/// Offers the ticket of an order: the token of the offer's link.
async fn offered(
    doomed: &mut Doomed,
    arena: &mut Arena,
    (from, to): (&Fan, &Fan),
    order: OrderId,
    times: i64,
) -> String {
    let ticket = valid(arena, order).await;
    let form = [("ticket", ticket.as_str()), ("email", to.session.email.as_str())];
    let press = Press { who: from, function: "ticket-offer", form: &form };
    pressed(doomed, arena, press, (order, "ticket_offered", times, "ticket-offered")).await;
    newest_token(arena).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_each_step_of_a_ticket_that_changes_its_seat_has_one_valid_ticket() {
    let mut arena = patient().await;
    let (fan, friend) = (arena.one_inside().await, arena.fans(1).await.remove(0));
    let order = arena.held(&fan, "30").await.order;
    arena.buy(&fan, order).await;
    let mut doomed = Doomed::start(&mut arena, Way::Change).await;

    let ticket = valid(&arena, order).await;
    let press = Press { who: &fan, function: "ticket-reissue", form: &[("ticket", &ticket)] };
    pressed(&mut doomed, &mut arena, press, (order, "ticket_reissued", 1, "ticket-reissued")).await;
    let ticket = valid(&arena, order).await;
    let press = Press { who: &fan, function: "ticket-rename", form: &[("ticket", &ticket), ("name", "Ana")] };
    pressed(&mut doomed, &mut arena, press, (order, "ticket_renamed", 1, "ticket-renamed")).await;

    offered(&mut doomed, &mut arena, (&fan, &friend), order, 1).await;
    let ticket = valid(&arena, order).await;
    let press = Press { who: &fan, function: "ticket-take-back", form: &[("ticket", &ticket)] };
    pressed(&mut doomed, &mut arena, press, (order, "ticket_taken_back", 1, "ticket-taken-back")).await;

    let token = offered(&mut doomed, &mut arena, (&fan, &friend), order, 2).await;
    let press = Press { who: &friend, function: "transfer-decline", form: &[("token", &token)] };
    pressed(&mut doomed, &mut arena, press, (order, "ticket_declined", 1, "ticket-declined")).await;

    offered(&mut doomed, &mut arena, (&fan, &friend), order, 3).await;
    sqlx::query("update ticket_transfers set expires_ms = 1 where state = 'pending'").execute(&arena.pg).await.unwrap();
    survives!(doomed, &mut arena, "the offer runs out", {
        steps(&arena, order, "ticket_expired").await == 1 && !doomed.left.contains("offer-expired")
    });

    let token = offered(&mut doomed, &mut arena, (&fan, &friend), order, 4).await;
    let press = Press { who: &friend, function: "transfer-accept", form: &[("token", &token)] };
    pressed(&mut doomed, &mut arena, press, (order, "ticket_accepted", 1, "ticket-accepted")).await;
    assert!(doomed.is_done(&mut arena).await, "never reached: {:?}", doomed.left);
    survives!(doomed, &mut arena, "nothing waits", arena.count(WAITING).await == 0);
    assert_changed_once(&arena, order, &friend).await;
    arena.finish().await;
}

/// A code, a name and a holder were changed once each; of four offers three came back.
async fn assert_changed_once(arena: &Arena, order: OrderId, holder: &Fan) {
    for (fact, sql, times) in [
        ("one is valid", "select count(*) from tickets where order_id = $1 and revoked_ms is null", 1),
        ("three were replaced", "select count(*) from tickets where order_id = $1 and revoked_ms is not null", 3),
        ("each has its issue", "select count(distinct issue) from tickets where order_id = $1", 4),
        (
            "four offers, of which none is open",
            "select count(*) from ticket_transfers x join tickets t on t.id = x.ticket_id
             where t.order_id = $1 and x.state <> 'pending'",
            4,
        ),
        ("one claim", "select count(*) from seat_claims where order_id = $1", 1),
    ] {
        assert_eq!(arena.count_of(order, sql).await, times, "{fact}");
    }
    for (mails, times) in [
        ("select count(*) from outbox where dedupe like 'ticket-replaced:%'", 2),
        ("select count(*) from outbox where dedupe like 'transfer:%'", 4),
        ("select count(*) from outbox where dedupe like 'transfer-ended:%'", 3),
        ("select count(*) from outbox where dedupe like 'ticket-received:%'", 1),
    ] {
        assert_eq!(arena.count(mails).await, times, "{mails}");
    }
    let held: uuid::Uuid =
        sqlx::query_scalar("select holder_account from tickets where order_id = $1 and revoked_ms is null")
            .bind(order.0)
            .fetch_one(&arena.pg)
            .await
            .unwrap();
    assert_eq!(held, holder.account.0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_while_tickets_are_frozen_by_command_they_are_frozen_once() {
    let arena = patient().await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "40,41").await;
    arena.buy(&fan, held.order).await;
    let order = held.order.to_string();
    let frozen = "select count(*) from tickets where order_id = $1 and frozen_ms is not null";
    let mut left: BTreeSet<&'static str> = points_of(Way::Freeze).into_iter().collect();
    for (point, by_then) in [("before-freeze-commit", 0), ("tickets-frozen", 2)] {
        let died = died_at(&arena, &["ticket", "freeze", &order], &left).await;
        assert_eq!(died.as_deref(), Some(point));
        assert_eq!(arena.count_of(held.order, frozen).await, by_then, "{point}");
        left.remove(point);
    }
    assert!(left.is_empty(), "never reached: {left:?}");
    for (word, by_then) in [("freeze", 2), ("thaw", 0)] {
        assert_eq!(died_at(&arena, &["ticket", word, &order], &left).await, None);
        assert_eq!(arena.count_of(held.order, frozen).await, by_then, "{word}");
    }
    arena.finish().await;
}
