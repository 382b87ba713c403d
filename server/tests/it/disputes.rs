//! A bank calls a payment into question: what becomes of tickets, seats and books.

use crate::arena::provider::{GOOD_CARD, signed, unix_s};
use crate::arena::{Arena, Fan, SOON, Setup, seats};
use crate::tickets::newest_token;
use domain::hold::{Held, SeatState};
use domain::order::{OrderView, PayStarted};
use domain::organizer::disputes::DisputeDesk;
use domain::{Code, OrderId, account::Role};
use reqwest::Method;

/// A fan with tickets for two seats.
async fn bought(arena: &Arena, seats: &str) -> (Fan, Held, PayStarted) {
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, seats).await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    arena.await_status(held.order, "fulfilled").await;
    eventually!(SOON, "the map says sold", arena.count_of(held.order, CONFIRMED).await == 1);
    (fan, held, started)
}

const CONFIRMED: &str = "select count(*) from orders where id = $1 and confirmed_ms is not null";
const FROZEN: &str =
    "select count(*) from tickets where order_id = $1 and frozen_ms is not null and revoked_ms is null";
const VALID: &str = "select count(*) from tickets where order_id = $1 and frozen_ms is null and revoked_ms is null";
const REVOKED: &str = "select count(*) from tickets where order_id = $1 and revoked_ms is not null";
const OPENED: &str = "select count(*) from disputes where order_id = $1 and status = 'opened'";
const WON: &str = "select count(*) from disputes where order_id = $1 and status = 'won'";
const LOST: &str = "select count(*) from disputes where order_id = $1 and status = 'lost'";
const MAILS: &str = "select count(*) from outbox where dedupe like 'dispute-%'";

/// The sum of an account over all postings, in minor units: a debit is positive.
async fn balance(arena: &Arena, account: &str) -> i64 {
    sqlx::query_scalar("select coalesce(sum(amount_minor), 0)::bigint from ledger_entries where account = $1")
        .bind(account)
        .fetch_one(&arena.pg)
        .await
        .unwrap()
}

/// How many postings have a source that begins so.
async fn postings(arena: &Arena, source: &str) -> i64 {
    sqlx::query_scalar("select count(distinct source) from ledger_entries where source like $1 || ':%'")
        .bind(source)
        .fetch_one(&arena.pg)
        .await
        .unwrap()
}

/// Applies every event once more, as if none had been noted as applied.
async fn apply_again(arena: &Arena) {
    sqlx::query("update payment_inbox set applied_ms = null, next_try_ms = 0").execute(&arena.pg).await.unwrap();
    let waiting = "select count(*) from payment_inbox where applied_ms is null";
    eventually!(SOON, "all are applied again", arena.count(waiting).await == 0);
}

async fn desk(arena: &Arena, member: &Fan) -> DisputeDesk {
    arena.call(Some(member), "organizer-disputes", &[]).await.ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dispute_freezes_the_tickets_and_a_won_one_restores_them() {
    let arena = Arena::web(Setup::default()).await;
    let finance = arena.member(Role::Finance).await;
    let (fan, held, started) = bought(&arena, "30,31").await;
    let total = held.total.minor;
    let id = arena.provider().dispute(&started, None).await;
    eventually!(SOON, "it is known", arena.count_of(held.order, OPENED).await == 1);
    assert_eq!(arena.count_of(held.order, FROZEN).await, 2, "both tickets open no door");
    assert_eq!(balance(&arena, "disputes").await, total, "the provider withholds it");
    assert_eq!(balance(&arena, "provider_clearing").await, 0);
    assert_eq!(arena.status(held.order).await.as_deref(), Some("fulfilled"));
    assert_eq!(arena.seat(30).await, SeatState::Sold as u8);
    assert_eq!(arena.order(&fan, held.order).await.status, 200, "the fan still sees the order");

    let page = arena.open(Some(&finance), "/organizer/money/disputes").await;
    assert_eq!(page.status, 200);
    assert!(page.body.contains(r#"data-tickets="frozen""#) && page.body.contains(&id), "{}", page.body);
    let shown = desk(&arena, &finance).await.disputes;
    assert_eq!((shown.len(), shown[0].order, shown[0].amount), (1, held.order, held.total));
    let foreign = arena.member_of("Another Promoter", Role::Owner).await;
    assert!(desk(&arena, &foreign).await.disputes.is_empty(), "another organization has its own");
    let door = arena.member(Role::Door).await;
    assert_eq!(arena.call(Some(&door), "organizer-disputes", &[]).await.code(), Code::Forbidden);

    arena.provider().close_dispute(&id, "won").await;
    eventually!(SOON, "it is won", arena.count_of(held.order, WON).await == 1);
    assert_eq!(arena.count_of(held.order, VALID).await, 2, "the tickets open the door again");
    assert_eq!((balance(&arena, "disputes").await, balance(&arena, "provider_clearing").await), (0, total));
    apply_again(&arena).await;
    assert_eq!((postings(&arena, "dispute").await, postings(&arena, "dispute-won").await), (1, 1), "each once");
    assert_eq!(arena.count(MAILS).await, 2, "the fan is told that they were frozen, and that they are valid");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_dispute_revokes_the_tickets_and_the_seats_stay_empty() {
    let arena = Arena::web(Setup::default()).await;
    let (_, held, started) = bought(&arena, "40,41").await;
    let owed = balance(&arena, "organizer_payable").await;
    let id = arena.provider().dispute(&started, None).await;
    arena.provider().close_dispute(&id, "lost").await;
    eventually!(SOON, "it is lost", arena.count_of(held.order, LOST).await == 1);
    assert_eq!((arena.count_of(held.order, REVOKED).await, arena.count_of(held.order, VALID).await), (2, 0));
    let accounts = ["disputes", "provider_clearing", "organizer_payable", "service_fees", "tax_payable"];
    for account in accounts {
        assert_eq!(balance(&arena, account).await, 0, "{account}: nobody has the money any more; {owed} was owed");
    }
    assert!(owed < 0, "the sale was booked");
    let claims = "select count(*) from seat_claims where order_id = $1";
    assert_eq!(arena.count_of(held.order, claims).await, 2, "nobody else can have the seats");
    assert_eq!(arena.seat(40).await, SeatState::Sold as u8);
    let other = arena.one_inside().await;
    assert_eq!(arena.hold(&other, "40", "not-for-sale").await.code(), Code::SeatTaken);
    let revoked = "select count(*) from outbox where dedupe like 'dispute-revoked:%'";
    assert_eq!(arena.count(revoked).await, 1, "the fan is told");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn by_the_organizers_policy_the_seats_of_a_lost_dispute_are_sold_again() {
    let arena = Arena::web(Setup::default()).await;
    let (owner, operator) = (arena.member(Role::Owner).await, arena.member(Role::Operator).await);
    let (sell, bad) = ([("seats", "sell"), ("hours", "0")], [("seats", "sell"), ("hours", "soon")]);
    assert_eq!(arena.call(Some(&operator), "organizer-dispute-policy", &sell).await.code(), Code::Forbidden);
    let refusal = arena.call(Some(&owner), "organizer-dispute-policy", &bad).await.refusal();
    assert!(refusal.code == Code::InvalidInput && refusal.message.starts_with("hours: "), "{}", refusal.message);
    let () = arena.call(Some(&owner), "organizer-dispute-policy", &sell).await.ok();
    let recorded = "select count(*) from audit_log where action = 'dispute.seats'";
    assert_eq!(arena.count(recorded).await, 1);

    let (_, held, started) = bought(&arena, "50,51").await;
    let id = arena.provider().dispute(&started, None).await;
    arena.provider().close_dispute(&id, "lost").await;
    eventually!(SOON, "it is lost", arena.count_of(held.order, LOST).await == 1);
    eventually!(SOON, "the seats are free", arena.seat(50).await == SeatState::Available as u8);
    apply_again(&arena).await;
    let next = arena.one_inside().await;
    let again = arena.held(&next, "50,51").await;
    let order = arena.buy(&next, again.order).await;
    assert_eq!(order.tickets.len(), 2);
    assert_eq!((arena.count_of(held.order, REVOKED).await, arena.count_of(held.order, VALID).await), (2, 0));
    assert_eq!(desk(&arena, &owner).await.disputes[0].seats_sold, 2);
    arena.finish().await;
}

async fn deliver(arena: &Arena, body: &str) {
    let request = arena.plain_request(Method::POST, "/webhooks/sandbox");
    let request =
        request.header("starpay-signature", signed(body, unix_s())).header("content-type", "application/json");
    assert_eq!(arena.send(request.body(body.to_owned())).await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_heard_before_the_beginning_and_all_of_it_twice_comes_to_the_same() {
    let arena = Arena::web(Setup::default()).await;
    arena.provider().drop_webhooks().await;
    let (_, held, started) = bought(&arena, "60,61").await;
    let id = arena.provider().dispute(&started, None).await;
    arena.provider().close_dispute(&id, "lost").await;
    assert_eq!(arena.count("select count(*) from disputes").await, 0, "nobody has told us");
    let closed = arena.provider().event("dispute.closed").await.expect("the provider kept its event");
    let created = arena.provider().event("dispute.created").await.expect("and this one");
    for body in [&closed, &closed, &created, &created, &closed] {
        deliver(&arena, body).await;
    }
    eventually!(SOON, "it is lost", arena.count_of(held.order, LOST).await == 1);
    apply_again(&arena).await;
    arena.provider().flush().await;
    apply_again(&arena).await;
    assert_eq!(arena.count("select count(*) from disputes").await, 1);
    let booked = (postings(&arena, "dispute").await, postings(&arena, "dispute-lost").await);
    assert_eq!(booked, (1, 1), "the withdrawal and its end, each once");
    assert_eq!(arena.count_of(held.order, REVOKED).await, 2);
    assert_eq!(arena.count(MAILS).await, 1, "one mail: the tickets were never frozen for the fan to see");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_disputes_of_one_order_the_worse_decides_about_the_tickets() {
    let arena = Arena::web(Setup::default()).await;
    let (_, held, started) = bought(&arena, "70,71").await;
    let half = held.total.minor / 2;
    let first = arena.provider().dispute(&started, Some(half)).await;
    let second = arena.provider().dispute(&started, Some(half)).await;
    eventually!(SOON, "both are open", arena.count_of(held.order, OPENED).await == 2);
    assert_eq!(arena.count_of(held.order, FROZEN).await, 2);
    arena.provider().close_dispute(&first, "won").await;
    eventually!(SOON, "one is won", arena.count_of(held.order, WON).await == 1);
    assert_eq!(arena.count_of(held.order, FROZEN).await, 2, "the other one still stands against them");
    assert_eq!(arena.count(MAILS).await, 1, "nothing changed for the fan since the first");
    arena.provider().close_dispute(&second, "lost").await;
    eventually!(SOON, "the other is lost", arena.count_of(held.order, LOST).await == 1);
    assert_eq!(arena.count_of(held.order, REVOKED).await, 2);
    assert_eq!(balance(&arena, "disputes").await, 0);
    assert_eq!(balance(&arena, "provider_clearing").await, held.total.minor - half);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dispute_that_ends_in_two_ways_waits_for_people() {
    let arena = Arena::web(Setup::default()).await;
    let finance = arena.member(Role::Finance).await;
    let (_, held, started) = bought(&arena, "80,81").await;
    let id = arena.provider().dispute(&started, None).await;
    arena.provider().close_dispute(&id, "won").await;
    eventually!(SOON, "it is won", arena.count_of(held.order, WON).await == 1);
    // What was known here is turned round: now the provider contradicts it.
    let lost = "update disputes set status = 'lost' where order_id = $1";
    sqlx::query(lost).bind(held.order.0).execute(&arena.pg).await.unwrap();
    apply_again(&arena).await;
    apply_again(&arena).await;
    let set_aside = "select count(*) from payment_quarantine where kind = 'dispute' and resolved_ms is null";
    assert_eq!(arena.count(set_aside).await, 1, "set aside once");
    assert_eq!(arena.count_of(held.order, LOST).await, 1, "and nothing is decided by itself");
    assert_eq!(arena.count_of(held.order, VALID).await, 2);
    let shown = desk(&arena, &finance).await.set_aside;
    assert_eq!((shown.len(), shown[0].order, shown[0].returns.clone()), (1, held.order, None));
    let number = shown[0].id.to_string();
    let back = arena.call(Some(&finance), "organizer-quarantine-return", &[("id", &number)]).await;
    assert_eq!(back.code(), Code::WrongState, "there is no money in it");
    let form = [("id", number.as_str()), ("note", "the bank's letter says won")];
    let () = arena.call(Some(&finance), "organizer-quarantine-settle", &form).await.ok();
    assert_eq!(arena.count(set_aside).await, 0);
    // What the test turned round is as it was.
    let won = "update disputes set status = 'won' where order_id = $1";
    sqlx::query(won).bind(held.order.0).execute(&arena.pg).await.unwrap();
    arena.finish().await;
}

/// Mails to a fan under keys that begin so: their texts, the first first.
async fn mails_to(arena: &Arena, fan: &Fan, key: &str) -> Vec<String> {
    sqlx::query_scalar(
        "select payload ->> 'body' from outbox where payload ->> 'to' = $1 and dedupe like $2 || ':%' order by id",
    )
    .bind(&fan.session.email)
    .bind(key)
    .fetch_all(&arena.pg)
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_was_given_a_ticket_is_told_what_becomes_of_it_and_nothing_of_the_payment() {
    let arena = Arena::web(Setup::default()).await;
    let (fan, held, started) = bought(&arena, "54,55").await;
    let friend = arena.fans(1).await.remove(0);
    let order: OrderView = arena.order(&fan, held.order).await.ok();
    arena.backend.offer_ticket(&fan.session, order.tickets[0].id, &friend.session.email, "en").await.unwrap();
    let given = arena.backend.accept_ticket(&friend.session, &newest_token(&arena).await).await.unwrap();

    let first = arena.provider().dispute(&started, None).await;
    eventually!(SOON, "both tickets are frozen", arena.count_of(held.order, FROZEN).await == 2);
    assert_eq!(mails_to(&arena, &friend, &format!("ticket-frozen:{given}")).await.len(), 1);
    arena.provider().close_dispute(&first, "won").await;
    eventually!(SOON, "both are valid again", arena.count_of(held.order, VALID).await == 2);
    assert_eq!(mails_to(&arena, &friend, &format!("ticket-restored:{given}")).await.len(), 1);
    apply_again(&arena).await;
    let second = arena.provider().dispute(&started, None).await;
    eventually!(SOON, "frozen once more", arena.count_of(held.order, FROZEN).await == 2);
    assert_eq!(mails_to(&arena, &friend, &format!("ticket-frozen:{given}")).await.len(), 2, "and told once more");
    arena.provider().close_dispute(&second, "lost").await;
    eventually!(
        SOON,
        "the tickets end",
        arena.count_of(held.order, VALID).await + arena.count_of(held.order, FROZEN).await == 0
    );
    assert_eq!(mails_to(&arena, &friend, "ticket-ended").await.len(), 1);

    let told = mails_to(&arena, &friend, "ticket-%").await;
    assert_eq!(told.len(), 5, "the ticket itself, and four changes: {told:?}");
    let total = held.total.to_string();
    let own = [fan.session.email.as_str(), total.as_str(), "bank", "payment", "dispute", "/orders/"];
    for body in &told[1..] {
        assert!(own.iter().all(|word| !body.contains(*word)), "that is the buyer's: {body}");
    }
    for key in ["ticket-frozen", "ticket-restored", "ticket-ended"] {
        assert!(mails_to(&arena, &fan, key).await.is_empty(), "the buyer is told of the order");
    }
    assert_eq!(arena.count(MAILS).await, 4);
    assert!(mails_to(&arena, &friend, "dispute-%").await.is_empty());
    arena.finish().await;
}

/// Whether a dispute can't be followed yet, and is tried again and again.
async fn waits(arena: &Arena) -> bool {
    let sql = "select count(*) from payment_inbox
         where body ->> 'type' like 'dispute.%' and applied_ms is null and tries > 1 and error is not null";
    arena.count(sql).await == 1
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dispute_ahead_of_its_payment_waits_and_one_of_anothers_payment_is_passed_over() {
    let arena = Arena::web(Setup::default()).await;
    let theirs = arena.provider().foreign_payment("another program's order 7").await;
    arena.provider().dispute_payment(&theirs).await;
    let all =
        "select count(*) from payment_inbox i where i.body ->> 'type' = 'dispute.created' and applied_ms is not null";
    eventually!(SOON, "it is noted", arena.count(all).await == 1);
    assert_eq!(arena.count("select count(*) from disputes").await, 0, "and dropped");
    sqlx::query("delete from payment_inbox").execute(&arena.pg).await.unwrap();

    // The name of an attempt that nobody here knows yet.
    let unknown = uuid::Uuid::new_v4();
    let early = arena.provider().foreign_payment(&unknown.to_string()).await;
    arena.provider().dispute_payment(&early).await;
    eventually!(SOON, "it is tried again", waits(&arena).await);

    // Its row comes: the same event is applied now.
    let (_, held, started) = bought(&arena, "90,91").await;
    arena_adopts(&arena, held.order, &started, unknown).await;
    sqlx::query("update payment_inbox set next_try_ms = 0 where applied_ms is null").execute(&arena.pg).await.unwrap();
    eventually!(SOON, "it is followed", arena.count_of(held.order, OPENED).await == 1);
    assert_eq!(arena.count_of(held.order, FROZEN).await, 2);
    let id: String = sqlx::query_scalar("select provider_ref from disputes").fetch_one(&arena.pg).await.unwrap();
    arena.provider().close_dispute(&id, "won").await;
    eventually!(SOON, "it ends", arena.count_of(held.order, WON).await == 1);
    sqlx::query("delete from payment_inbox").execute(&arena.pg).await.unwrap();
    arena.finish().await;
}

/// A second attempt of an order, under the name that a payment at the provider was made with. It brought no
/// money here, since the first one did.
async fn arena_adopts(arena: &Arena, order: OrderId, started: &PayStarted, id: uuid::Uuid) {
    let sql =
        "insert into attempts (id, order_id, number, status, provider, amount_minor, currency, created_ms, deadline_ms,
            next_query_ms, taken_back_ms)
         select $1, order_id, 2, 'canceled', provider, 700, currency, created_ms, deadline_ms, next_query_ms, 0
         from attempts where id = $2 and order_id = $3";
    let done = sqlx::query(sql).bind(id).bind(started.attempt.0).bind(order.0).execute(&arena.pg).await.unwrap();
    assert_eq!(done.rows_affected(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_won_dispute_gives_back_of_a_cancelled_evening_goes_on_to_the_fan() {
    let arena = Arena::web(Setup::default()).await;
    let finance = arena.member(Role::Finance).await;
    let (_, held, started) = bought(&arena, "62,63").await;
    let id = arena.provider().dispute(&started, None).await;
    eventually!(SOON, "it is known", arena.count_of(held.order, OPENED).await == 1);
    let title: String =
        sqlx::query_scalar("select e.title from performances p join events e on e.id = p.event_id where p.id = $1")
            .bind(arena.performance.0)
            .fetch_one(&arena.pg)
            .await
            .unwrap();
    arena.backend.cancel_performance(&finance.session, arena.performance, &title).await.unwrap();
    let listed = "select count(*) from refund_batch_orders where order_id = $1";
    eventually!(3 * SOON, "the batch has seen the order", arena.count_of(held.order, listed).await == 1);
    assert_eq!(arena.count("select count(*) from refunds").await, 0, "the bank has the money");
    assert_eq!(arena.status(held.order).await.as_deref(), Some("fulfilled"), "it is not decided whose it is");
    arena.provider().close_dispute(&id, "won").await;
    eventually!(3 * SOON, "the money goes back", arena.provider().refunded(&started).await == held.total.minor);
    arena.await_status(held.order, "refunded").await;
    let batch = arena.backend.refund_batch(&finance.session, arena.performance).await.unwrap().unwrap();
    assert_eq!((batch.orders, batch.succeeded, batch.returned), (1, 1, held.total));
    assert_eq!((balance(&arena, "disputes").await, balance(&arena, "provider_clearing").await), (0, 0));
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refund_that_was_asked_for_before_a_dispute_is_not_agreed_to_while_the_bank_has_the_money() {
    let arena = Arena::web(Setup::default()).await;
    let (finance, operator) = (arena.member(Role::Finance).await, arena.member(Role::Operator).await);
    let (_, held, started) = bought(&arena, "64,65").await;
    let asked = arena.backend.staff_refund(&operator.session, held.order, &seats(&[64, 65]), "").await.unwrap();
    let id = arena.provider().dispute(&started, None).await;
    eventually!(SOON, "it is known", arena.count_of(held.order, OPENED).await == 1);
    let refused = arena.backend.decide_refund(&finance.session, asked.id, true, "").await.unwrap_err().refusal();
    assert_eq!(refused.code, Code::WrongState, "the fan would be paid twice");
    assert!(refused.message.contains("dispute"), "{}", refused.message);
    arena.provider().close_dispute(&id, "won").await;
    eventually!(SOON, "it is won", arena.count_of(held.order, WON).await == 1);
    arena.backend.decide_refund(&finance.session, asked.id, true, "").await.unwrap();
    eventually!(3 * SOON, "now it goes", arena.provider().refunded(&started).await == held.total.minor);
    arena.await_status(held.order, "refunded").await;
    arena.finish().await;
}
