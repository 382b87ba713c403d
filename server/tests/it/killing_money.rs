//! `kill -9` at every point between two steps that move money, tickets or seats. Each point is switched on, its
//! flow is driven until the process ends there (a point that is never reached fails the test), and after a start
//! without it everything has happened once: one payment, one posting, one mail, or the money back.

use crate::arena::provider::GOOD_CARD;
use crate::arena::{Arena, Fan, SOON, Setup};
use crate::purchase::assert_paid_once;
use backend::FAULT_POINTS;
use domain::account::Role;
use domain::hold::{Held, SeatState};
use domain::order::PayStarted;
use domain::refund::RefundStatus;
use std::collections::BTreeSet;
use std::path::Path;

/// The variable that switches points on.
const SWITCH: &str = "STARARENA_FAULT_POINTS";

/// What must be done to come to a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Two seats are bought.
    Purchase,
    /// A payment is ended at the provider.
    FailedPayment,
    /// Two seats of a paid order go back for their money.
    Refund,
    /// A payment that does not fit its attempt is captured, and returned.
    Quarantine,
    /// It is no step of a payment; its own tests come to it.
    Elsewhere,
}

/// The way to a point; none for one that nobody has thought of here.
fn way(point: &str) -> Option<Way> {
    Some(match point {
        "before-capture" | "after-capture" | "after-mail" => Way::Purchase,
        "before-take-back" => Way::FailedPayment,
        "before-refund"
        | "after-refund"
        | "before-refund-commit"
        | "refund-committed"
        | "before-return"
        | "after-return"
        | "returned" => Way::Refund,
        "before-quarantine-refund" | "after-quarantine-refund" => Way::Quarantine,
        "after-webhook"
        | "before-keyed-answer"
        | "before-numbers-commit"
        | "between-allocating"
        | "plan-change-at-rest"
        | "plan-change-committed" => Way::Elsewhere,
        _ => return None,
    })
}

/// The points on a way.
fn points(wanted: Way) -> Vec<&'static str> {
    FAULT_POINTS.iter().copied().filter(|point| way(point) == Some(wanted)).collect()
}

/// Names with which a source file calls for a fault.
fn called(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            called(&path, names);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            names.extend(code.filter_map(|line| Some(line.split_once(".fault(\"")?.1.split_once('"')?.0.to_owned())));
        }
    }
}

#[test]
fn every_point_is_listed_and_has_a_way_to_it() {
    let mut names = BTreeSet::new();
    called(&Path::new(env!("CARGO_MANIFEST_DIR")).join("backend").join("src"), &mut names);
    let listed: BTreeSet<String> = FAULT_POINTS.iter().map(|point| (*point).to_owned()).collect();
    assert_eq!(listed, names, "the list and the sources name the same points");
    let without: Vec<_> = FAULT_POINTS.iter().filter(|point| way(point).is_none()).collect();
    assert!(without.is_empty(), "nobody drives {without:?}");
}

/// Nothing waits that could come to a point before it is its turn.
async fn at_rest(arena: &Arena) {
    let waiting = "select (select count(*) from outbox where done_ms is null)
        + (select count(*) from payment_inbox where applied_ms is null)
        + (select count(*) from refunds where status in ('requested', 'approved', 'submitted'))
        + (select count(*) from order_items where returned_ms is not null and released_ms is null)
        + (select count(*) from orders where status = 'paid' or (status = 'fulfilled' and confirmed_ms is null))";
    eventually!(SOON, "the sale is at rest", arena.count(waiting).await == 0);
}

/// The server dies at the point by itself, and comes back without it.
async fn dies_and_returns(arena: &mut Arena, point: &str) {
    let status = arena.server().ended().await;
    assert!(!status.success(), "{point}: the server ended in good order: {status}");
    arena.start_server(&[]).await;
}

/// Two seats by number, as a form has them.
fn pair(number: usize) -> String {
    format!("{},{}", 2 * number, 2 * number + 1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_any_step_of_a_purchase_it_is_paid_and_fulfilled_once() {
    let mut arena = Arena::web(Setup::default()).await;
    for (number, point) in points(Way::Purchase).into_iter().enumerate() {
        let fan = arena.one_inside().await;
        let held = arena.held(&fan, &pair(number)).await;
        at_rest(&arena).await;
        arena.restart_server(&[(SWITCH, point)]).await;
        let started: PayStarted = arena.pay(&fan, held.order).await.ok();
        assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303, "{point}");
        dies_and_returns(&mut arena, point).await;
        arena.await_status(held.order, "fulfilled").await;
        assert_paid_once(&arena, held.order, 2).await;
        assert_eq!(arena.provider().status(&started).await, "captured", "{point}");
    }
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_while_a_payment_fails_its_seats_stay_held_and_another_card_pays() {
    let mut arena = Arena::web(Setup::default()).await;
    for (number, point) in points(Way::FailedPayment).into_iter().enumerate() {
        let fan = arena.one_inside().await;
        let held = arena.held(&fan, &pair(number)).await;
        at_rest(&arena).await;
        arena.restart_server(&[(SWITCH, point)]).await;
        let started: PayStarted = arena.pay(&fan, held.order).await.ok();
        arena.provider().cancel(&started).await;
        dies_and_returns(&mut arena, point).await;
        arena.await_status(held.order, "pending_payment").await;
        arena.buy(&fan, held.order).await;
        assert_paid_once(&arena, held.order, 2).await;
    }
    arena.finish().await;
}

/// What must be so once a refund of two seats is done: everything once.
pub(crate) async fn assert_refunded_once(arena: &Arena, held: &Held, started: &PayStarted, point: &str) {
    arena.await_status(held.order, "refunded").await;
    for (what, sql, times) in [
        (
            "one refund",
            "select count(*) from refunds r join attempts a on a.id = r.attempt_id where a.order_id = $1",
            1,
        ),
        (
            "which succeeded",
            "select count(*) from refunds r join attempts a on a.id = r.attempt_id
             where a.order_id = $1 and r.status = 'succeeded'",
            1,
        ),
        (
            "one posting of the money that went",
            "select count(*) from ledger_entries l join refunds r on l.source = 'refund:' || r.id
             join attempts a on a.id = r.attempt_id where a.order_id = $1 and l.account = 'provider_clearing'",
            1,
        ),
        (
            "one mail",
            "select count(*) from outbox where dedupe in (select 'refund-done:' || r.id
             from refunds r join attempts a on a.id = r.attempt_id where a.order_id = $1)",
            1,
        ),
        ("no valid ticket", "select count(*) from tickets where order_id = $1 and revoked_ms is null", 0),
        ("no claim", "select count(*) from seat_claims where order_id = $1", 0),
    ] {
        assert_eq!(arena.count_of(held.order, sql).await, times, "{point}: {what}");
    }
    assert_eq!(arena.provider().refunded(started).await, held.total.minor, "{point}: all of it, once");
    for seat in &held.seats {
        eventually!(SOON, format!("{point}: seat {seat} is free"), {
            arena.seat(seat.0).await == SeatState::Available as u8
        });
    }
}

/// A member of the house refunds two seats; whoever must agree does. The server does the rest.
pub(crate) async fn refund(arena: &Arena, owner: &Fan, held: &Held) {
    let (order, session) = (held.order, &owner.session);
    let asked = arena.backend.staff_refund(session, order, &held.seats, "as agreed by telephone").await.unwrap();
    if asked.status == RefundStatus::Requested {
        arena.backend.decide_refund(session, asked.id, true, "").await.unwrap();
    }
}

async fn refunds_survive(points: &[&'static str]) {
    assert!(!points.is_empty(), "refunds have points");
    let mut arena = Arena::web(Setup::default()).await;
    let owner = arena.member(Role::Owner).await;
    let mut bought = Vec::new();
    for (number, point) in points.iter().enumerate() {
        let fan = arena.one_inside().await;
        let held = arena.held(&fan, &pair(number)).await;
        let started: PayStarted = arena.pay(&fan, held.order).await.ok();
        assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
        arena.await_status(held.order, "fulfilled").await;
        bought.push((*point, held, started));
    }
    for (point, held, started) in &bought {
        at_rest(&arena).await;
        arena.restart_server(&[(SWITCH, *point)]).await;
        refund(&arena, &owner, held).await;
        dies_and_returns(&mut arena, point).await;
        assert_refunded_once(&arena, held, started, point).await;
    }
    // Seats that came back once can be sold once.
    let (fan, (_, held, _)) = (arena.one_inside().await, &bought[0]);
    let again = arena.held(&fan, &format!("{},{}", held.seats[0].0, held.seats[1].0)).await;
    arena.buy(&fan, again.order).await;
    arena.finish().await;
}

/// Two halves, which run beside each other.
fn halves() -> (Vec<&'static str>, Vec<&'static str>) {
    points(Way::Refund).into_iter().partition(|point| point.contains("refund"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_any_step_of_a_refund_the_money_goes_back_once() {
    refunds_survive(&halves().0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_while_seats_return_they_return_once() {
    refunds_survive(&halves().1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_while_money_that_fits_nothing_goes_back_it_goes_back_once() {
    let mut setup = Setup::default();
    setup.settings.push(("STARARENA_QUARANTINE_REFUND_MS", "0".to_owned()));
    let mut arena = Arena::web(setup).await;
    for (number, point) in points(Way::Quarantine).into_iter().enumerate() {
        let fan = arena.one_inside().await;
        let held = arena.held(&fan, &pair(number)).await;
        at_rest(&arena).await;
        let started: PayStarted = arena.pay(&fan, held.order).await.ok();
        // As if the provider had been asked for another amount; it takes the money all the same.
        arena.kill_server().await;
        sqlx::query("update attempts set amount_minor = amount_minor + 1 where id = $1")
            .bind(started.attempt.0)
            .execute(&arena.pg)
            .await
            .unwrap();
        assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303, "{point}");
        arena.provider().capture(&started).await;
        arena.start_server(&[(SWITCH, point)]).await;
        dies_and_returns(&mut arena, point).await;
        let returned = "select count(*) from payment_quarantine where evidence ->> 'attempt' in (
            select id::text from attempts where order_id = $1) and resolution = 'returned'";
        eventually!(SOON, format!("{point}: it went back"), arena.count_of(held.order, returned).await == 1);
        assert_eq!(arena.provider().refunded(&started).await, held.total.minor, "{point}: all of it, once");
        // The seats are still the fan's, and another payment takes them.
        arena.await_status(held.order, "pending_payment").await;
        let order = arena.buy(&fan, held.order).await;
        assert_eq!(order.tickets.len(), 2, "{point}");
        let captured = "select count(*) from attempts where order_id = $1 and status = 'captured'";
        assert_eq!(arena.count_of(held.order, captured).await, 1, "{point}: one payment is kept");
    }
    arena.finish().await;
}
