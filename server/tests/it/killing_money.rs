//! `kill -9` at every point between two steps that move money, tickets or seats.
//!
//! The server is started with all points of a way switched on. It ends at the first that it comes to, and is
//! started again with the others, until it has died at each of them; meanwhile fans and staff press again what
//! got no answer. Everything must have happened once: one payment, one posting, one mail, or the money back. A
//! point that is never reached fails its test.

use crate::arena::provider::GOOD_CARD;
use crate::arena::{Arena, Fan, SOON, Setup, program, reached, run_to_end};
use crate::purchase::assert_paid_once;
use crate::reclaim::{ask_at, hasty, lost};
use backend::FAULT_POINTS;
use domain::account::Role;
use domain::hold::{Held, SeatState};
use domain::order::PayStarted;
use domain::refund::RefundStatus;
use std::collections::BTreeSet;
use std::time::Duration;
use ways::{Way, way};

/// How long a flow may take with all of its deaths: each costs a start of the program.
const FLOW_LIMIT: Duration = Duration::from_secs(90);
/// Flows at most until every point was met: after a death the rest may take another way to the same end.
const FLOWS_MAX: usize = 3;
/// Longer than a test takes.
const HOLD_TTL_MS: i64 = 600_000;

/// All points of a way.
fn points_of(wanted: Way) -> Vec<&'static str> {
    FAULT_POINTS.iter().copied().filter(|point| way(point) == Some(wanted)).collect()
}

/// A server that dies at each of some points.
struct Doomed {
    left: BTreeSet<&'static str>,
    /// Deaths of this arena so far.
    deaths: usize,
}

impl Doomed {
    /// The server is started anew, with the points of a way.
    async fn start(arena: &mut Arena, wanted: Way) -> Self {
        Self::at(arena, &points_of(wanted)).await
    }

    /// The server is started anew, with these points: of a way that has points of others in it.
    async fn at(arena: &mut Arena, points: &[&'static str]) -> Self {
        let left = points.iter().copied().collect();
        let doomed = Self { left, deaths: arena.points_reached().len() };
        arena.kill_server().await;
        doomed.bring_back(arena).await;
        doomed
    }

    async fn bring_back(&self, arena: &mut Arena) {
        let points: Vec<&str> = self.left.iter().copied().collect();
        arena.start_doomed(&points.join(",")).await;
    }

    /// Where the server has died, at a point that is still to be met, it comes back with the others.
    async fn revive(&mut self, arena: &mut Arena) {
        while let Some(status) = arena.server().has_ended() {
            let reached = arena.points_reached();
            let point = reached.get(self.deaths).unwrap_or_else(|| panic!("it ended at no point: {status}"));
            assert!(!status.success() && self.left.remove(point.as_str()), "{point}: {status}");
            self.deaths += 1;
            forget_claims(arena).await;
            self.bring_back(arena).await;
        }
    }

    /// Whether it has died at each of its points; it lives now.
    async fn is_done(&mut self, arena: &mut Arena) -> bool {
        self.revive(arena).await;
        self.left.is_empty()
    }
}

/// Runs a command that dies at the first of some points that it comes to: which one that was; none where it went
/// through.
async fn died_at(arena: &Arena, args: &[&str], points: &BTreeSet<&'static str>) -> Option<String> {
    let points: Vec<&str> = points.iter().copied().collect();
    let mut command = program(arena.settings());
    command.args(args).env("STARARENA_FAULT_POINTS", points.join(","));
    let (code, out, err) = run_to_end(command).await;
    let point = reached(&err).pop();
    // A process that was killed has no code.
    assert_eq!(code, if point.is_some() { None } else { Some(0) }, "{out}{err}");
    point
}

/// What a dead worker had in hand is due again: without this each death costs the time of its claim.
async fn forget_claims(arena: &Arena) {
    for sql in [
        "update payment_inbox set next_try_ms = 0 where applied_ms is null",
        "update attempts set next_query_ms = 0 where status in ('created', 'open', 'authorized')",
        "update attempts set next_query_ms = 0 where status = 'canceled' and ended_queries is not null",
        "update outbox set next_try_ms = 0 where done_ms is null",
        "update refunds set due_ms = 0 where status in ('approved', 'submitted')",
        "update payment_quarantine set next_try_ms = 0 where resolved_ms is null",
    ] {
        sqlx::query(sql).execute(&arena.pg).await.unwrap();
    }
}

/// Looks again until a condition holds, and brings the server back whenever it has died.
macro_rules! survives {
    ($doomed:expr, $arena:expr, $what:expr, $check:expr) => {{
        let limit = $crate::killing_money::FLOW_LIMIT;
        let deadline = std::time::Instant::now() + limit;
        loop {
            $doomed.revive($arena).await;
            if $check {
                break;
            }
            assert!(
                std::time::Instant::now() < deadline,
                "not within {limit:?}: {}; to meet: {:?}",
                $what,
                $doomed.left
            );
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }};
}

mod books;
mod changes;
mod ends;
mod late;
mod ways;

/// What still has to happen by itself.
const WAITING: &str = "select (select count(*) from outbox where done_ms is null)
    + (select count(*) from payment_inbox where applied_ms is null)
    + (select count(*) from attempts where taken_back_ms is null
        and (status = 'canceled' or late_money_ms is not null))
    + (select count(*) from refunds where status in ('approved', 'submitted'))
    + (select count(*) from order_items where returned_ms is not null and released_ms is null)
    + (select count(*) from orders where status = 'paid' or (status = 'fulfilled' and confirmed_ms is null))";

/// Fans with two seats each, and nothing that waits.
async fn holding(arena: &Arena, count: usize) -> Vec<(Fan, Held)> {
    let mut all = Vec::new();
    for (number, fan) in arena.inside(count).await.into_iter().enumerate() {
        let held = arena.held(&fan, &format!("{},{}", 2 * number, 2 * number + 1)).await;
        arena.await_status(held.order, "pending_payment").await;
        all.push((fan, held));
    }
    all
}

/// Fans with two paid seats each, and nothing that waits.
async fn bought(arena: &Arena, count: usize) -> Vec<(Held, PayStarted)> {
    let mut all = Vec::new();
    for (fan, held) in holding(arena, count).await {
        let started: PayStarted = arena.pay(&fan, held.order).await.ok();
        assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
        arena.await_status(held.order, "fulfilled").await;
        all.push((held, started));
    }
    eventually!(SOON, "nothing waits", arena.count(WAITING).await == 0);
    all
}

async fn patient() -> Arena {
    Arena::web(Setup { hold_ttl_ms: HOLD_TTL_MS, ..Setup::default() }).await
}

/// Presses Pay until there is an answer that leads to the provider.
async fn pay(doomed: &mut Doomed, arena: &mut Arena, fan: &Fan, held: &Held) -> PayStarted {
    let (shop, order) = (arena.shop(), held.order.to_string());
    let mut started = None;
    survives!(doomed, arena, "Pay is answered", {
        if let Ok(reply) = shop.call(fan, "order-pay", &[("order", &order)]).await
            && reply.status == 200
        {
            started = Some(reply.ok::<PayStarted>());
        }
        started.is_some()
    });
    started.unwrap()
}

/// Seats are paid while the server dies at each point of a way.
async fn purchases_survive(wanted: Way) {
    let mut arena = patient().await;
    let fans = holding(&arena, FLOWS_MAX).await;
    let mut doomed = Doomed::start(&mut arena, wanted).await;
    for (fan, held) in &fans {
        if doomed.is_done(&mut arena).await {
            break;
        }
        let started = pay(&mut doomed, &mut arena, fan, held).await;
        assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
        survives!(doomed, &mut arena, "it is fulfilled", {
            arena.status(held.order).await.as_deref() == Some("fulfilled") && arena.count(WAITING).await == 0
        });
        assert_paid_once(&arena, held.order, 2).await;
        assert_eq!(arena.provider().status(&started).await, "captured");
    }
    assert!(doomed.is_done(&mut arena).await, "never reached: {:?}", doomed.left);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_each_step_of_pay_one_payment_is_opened_and_paid() {
    purchases_survive(Way::Pay).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_each_step_from_the_providers_word_to_the_mail_it_is_paid_and_fulfilled_once() {
    purchases_survive(Way::Settle).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_each_step_of_ending_a_payment_its_seats_stay_held_and_another_payment_takes_them() {
    let mut arena = patient().await;
    let fans = holding(&arena, FLOWS_MAX).await;
    let mut doomed = Doomed::start(&mut arena, Way::End).await;
    for (fan, held) in &fans {
        if doomed.is_done(&mut arena).await {
            break;
        }
        let first = pay(&mut doomed, &mut arena, fan, held).await;
        // Its deadline and the grace are over here; the provider would wait on.
        sqlx::query("update attempts set deadline_ms = $2, next_query_ms = 0 where id = $1")
            .bind(first.attempt.0)
            .bind(arena.redis_now().await.0 - 60_000)
            .execute(&arena.pg)
            .await
            .unwrap();
        survives!(doomed, &mut arena, "it is over", {
            arena.status(held.order).await.as_deref() == Some("pending_payment") && arena.count(WAITING).await == 0
        });
        assert_eq!(arena.provider().status(&first).await, "canceled");
        let second = pay(&mut doomed, &mut arena, fan, held).await;
        assert_ne!(second.attempt, first.attempt, "another payment");
        assert_eq!(arena.provider().card(&second, GOOD_CARD).await, 303);
        survives!(doomed, &mut arena, "it is fulfilled", {
            arena.status(held.order).await.as_deref() == Some("fulfilled") && arena.count(WAITING).await == 0
        });
        assert_paid_once(&arena, held.order, 2).await;
    }
    assert!(doomed.is_done(&mut arena).await, "never reached: {:?}", doomed.left);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_each_step_of_reclaiming_late_money_has_its_seats_once() {
    let mut arena = Arena::web(hasty()).await;
    let fan = arena.one_inside().await;
    let (held, started) = lost(&arena, &fan, "1,2").await;
    let mut doomed = Doomed::start(&mut arena, Way::Reclaim).await;
    arena.provider().drop_webhooks().await;
    arena.provider().capture(&started).await;
    ask_at(&arena, 0).await;
    survives!(doomed, &mut arena, "it is fulfilled", {
        arena.status(held.order).await.as_deref() == Some("fulfilled") && arena.count(WAITING).await == 0
    });
    assert!(doomed.is_done(&mut arena).await, "never reached: {:?}", doomed.left);
    assert_paid_once(&arena, held.order, 2).await;
    let receivable = "select coalesce(sum(amount_minor), 0)::bigint from ledger_entries
        where order_id = $1 and account = 'order_receivable'";
    assert_eq!(arena.count_of(held.order, receivable).await, 0);
    assert_eq!(arena.seat(1).await, SeatState::Sold as u8);
    assert_eq!(arena.count("select count(*) from repairs where performance_id = $1").await, 0, "without any repair");
    arena.finish().await;
}

/// What must be so once a refund of two seats is done: everything once.
pub(crate) async fn assert_refunded_once(arena: &Arena, held: &Held, started: &PayStarted, what: &str) {
    arena.await_status(held.order, "refunded").await;
    for (fact, sql, times) in [
        ("one refund", "select count(*) from refunds where order_id = $1", 1),
        ("which succeeded", "select count(*) from refunds where order_id = $1 and status = 'succeeded'", 1),
        (
            "one posting of the money that went",
            "select count(*) from ledger_entries l join refunds r on l.source = 'refund:' || r.id
             where r.order_id = $1 and l.account = 'provider_clearing'",
            1,
        ),
        (
            "one mail",
            "select count(*) from outbox where dedupe in (
                select 'refund-done:' || r.id from refunds r where r.order_id = $1)",
            1,
        ),
        ("no valid ticket", "select count(*) from tickets where order_id = $1 and revoked_ms is null", 0),
        ("no claim", "select count(*) from seat_claims where order_id = $1", 0),
    ] {
        assert_eq!(arena.count_of(held.order, sql).await, times, "{what}: {fact}");
    }
    assert_eq!(arena.provider().refunded(started).await, held.total.minor, "{what}: all of it, once");
    for seat in &held.seats {
        eventually!(
            SOON,
            format!("{what}: seat {seat} is free"),
            arena.seat(seat.0).await == SeatState::Available as u8
        );
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

/// The refund of an order, with where it stands; none before there is one.
async fn refund_of(arena: &Arena, held: &Held) -> Option<(uuid::Uuid, String)> {
    sqlx::query_as("select id, status from refunds where order_id = $1")
        .bind(held.order.0)
        .fetch_optional(&arena.pg)
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_each_step_of_a_refund_money_and_seats_go_back_once() {
    let mut arena = patient().await;
    let owner = arena.member(Role::Owner).await;
    let orders = bought(&arena, FLOWS_MAX).await;
    let mut doomed = Doomed::start(&mut arena, Way::Refund).await;
    let shop = arena.shop();
    for (held, started) in &orders {
        if doomed.is_done(&mut arena).await {
            break;
        }
        let (order, seats) = (held.order.to_string(), domain::ids::join_seats(&held.seats));
        let form = [("order", order.as_str()), ("seats", seats.as_str()), ("note", "as agreed by telephone")];
        survives!(doomed, &mut arena, "the refund is asked for", {
            let known = refund_of(&arena, held).await.is_some();
            if !known {
                // Without an answer nobody knows whether it was written: the next look does.
                shop.call(&owner, "organizer-order-refund", &form).await.ok();
            }
            known
        });
        survives!(doomed, &mut arena, "it is decided", {
            let (id, status) = refund_of(&arena, held).await.unwrap();
            let waits = status == "requested";
            if waits {
                let id = id.to_string();
                let answer = [("refund", id.as_str()), ("answer", "approve")];
                shop.call(&owner, "organizer-refund-decide", &answer).await.ok();
            }
            !waits
        });
        survives!(doomed, &mut arena, "it went back", {
            arena.status(held.order).await.as_deref() == Some("refunded") && arena.count(WAITING).await == 0
        });
        assert_refunded_once(&arena, held, started, "after its deaths").await;
    }
    assert!(doomed.is_done(&mut arena).await, "never reached: {:?}", doomed.left);
    // Seats that came back once can be sold once.
    let (fan, (held, _)) = (arena.one_inside().await, &orders[0]);
    let again = arena.held(&fan, &domain::ids::join_seats(&held.seats)).await;
    arena.buy(&fan, again.order).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_while_it_takes_in_the_providers_own_refund_or_cancels_an_evening_each_order_is_refunded_once() {
    let mut arena = patient().await;
    let owner = arena.member(Role::Owner).await;
    let orders = bought(&arena, 3).await;
    let ((held, started), rest) = orders.split_first().unwrap();
    let mut doomed = Doomed::start(&mut arena, Way::Import).await;
    arena.provider().give_back(started, held.total.minor).await;
    survives!(doomed, &mut arena, "it is taken in", {
        arena.status(held.order).await.as_deref() == Some("refunded") && arena.count(WAITING).await == 0
    });
    assert!(doomed.is_done(&mut arena).await, "never reached: {:?}", doomed.left);
    assert_refunded_once(&arena, held, started, "taken in").await;

    let mut doomed = Doomed::start(&mut arena, Way::Cancel).await;
    let (shop, id) = (arena.shop(), arena.performance.to_string());
    let title = "select e.title from performances p join events e on e.id = p.event_id where p.id = $1";
    let title: String = sqlx::query_scalar(title).bind(arena.performance.0).fetch_one(&arena.pg).await.unwrap();
    let form = [("id", id.as_str()), ("typed", title.as_str())];
    survives!(doomed, &mut arena, "the evening is cancelled", {
        let cancelled = arena.count("select count(*) from refund_batches").await == 1;
        if !cancelled {
            shop.call(&owner, "organizer-performance-cancel", &form).await.ok();
        }
        cancelled
    });
    let done = "select count(*) from orders where status = 'fulfilled'";
    survives!(doomed, &mut arena, "all money went back", {
        arena.count(done).await == 0 && arena.count(WAITING).await == 0
    });
    assert!(doomed.is_done(&mut arena).await, "never reached: {:?}", doomed.left);
    for (held, started) in rest {
        assert_eq!(arena.provider().refunded(started).await, held.total.minor, "all of it, once");
        let refunds = "select count(*) from refunds where order_id = $1 and status = 'succeeded'";
        assert_eq!(arena.count_of(held.order, refunds).await, 1);
    }
    arena.finish().await;
}
