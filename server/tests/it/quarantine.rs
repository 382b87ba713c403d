//! Money that fits no attempt: it goes back by itself, or people settle it.

use crate::arena::provider::GOOD_CARD;
use crate::arena::{Arena, Fan, SOON, Setup, program, run_to_end};
use crate::late_success::taken_after_all;
use crate::reclaim::ask_at;
use crate::reconciliation::matched;
use domain::account::Role;
use domain::hold::Held;
use domain::order::PayStarted;
use domain::organizer::disputes::{DisputeDesk, SetAsideState, SetAsideView};
use domain::{Code, OrderId};

/// So that money goes back within a test.
const SOON_MS: &str = "200";
const WAITING: &str = "select count(*) from payment_quarantine where kind = 'payment' and resolved_ms is null";
pub(crate) const RETURNED: &str = "select count(*) from payment_quarantine where resolution = 'returned'";
const CANCELED: &str = "select count(*) from attempts where order_id = $1 and status = 'canceled'";

/// A payment whose attempt expects another amount, and which was taken at the provider all the same.
pub(crate) async fn misfit(arena: &Arena, seats: &str) -> (Fan, Held, PayStarted) {
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, seats).await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    expect_more(arena, &started).await;
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    eventually!(SOON, "it is set aside", of(arena, held.order).await.is_some());
    arena.provider().capture(&started).await;
    (fan, held, started)
}

/// From now on its attempt expects another amount.
async fn expect_more(arena: &Arena, started: &PayStarted) {
    let sql = "update attempts set amount_minor = amount_minor + 1 where id = $1";
    sqlx::query(sql).bind(started.attempt.0).execute(&arena.pg).await.unwrap();
}

/// The number of what was set aside of an order.
async fn of(arena: &Arena, order: OrderId) -> Option<i64> {
    sqlx::query_scalar(
        "select q.id from payment_quarantine q join attempts a on a.id::text = q.evidence ->> 'attempt' where a.order_id = $1",
    )
    .bind(order.0)
    .fetch_optional(&arena.pg)
    .await
    .unwrap()
}

async fn listed(arena: &Arena, member: &Fan, id: i64) -> SetAsideView {
    let desk: DisputeDesk = arena.call(Some(member), "organizer-disputes", &[]).await.ok();
    desk.set_aside.into_iter().find(|row| row.id == id).expect("it is shown")
}

/// The sum of an account over all postings, in minor units.
async fn balance(arena: &Arena, account: &str) -> i64 {
    sqlx::query_scalar("select coalesce(sum(amount_minor), 0)::bigint from ledger_entries where account = $1")
        .bind(account)
        .fetch_one(&arena.pg)
        .await
        .unwrap()
}

/// The books after money went back that was nobody's sale.
pub(crate) async fn assert_books_are_even(arena: &Arena) {
    for account in ["provider_clearing", "order_receivable", "refunds_payable"] {
        assert_eq!(balance(arena, account).await, 0, "{account}");
    }
}

/// The server dies at a point of giving money back, and is started again.
async fn killed_at(point: &str, seats: &str) -> (Arena, Held, PayStarted) {
    let mut arena = Arena::web(Setup::default()).await;
    arena.restart_server(&[("STARARENA_FAULT_POINTS", point)]).await;
    let finance = arena.member(Role::Finance).await;
    let (_, held, started) = misfit(&arena, seats).await;
    assert_eq!(arena.provider().refunded(&started).await, 0, "for an hour it waits for people");
    let id = of(&arena, held.order).await.unwrap();
    arena.backend.return_set_aside(&finance.session, id).await.unwrap();
    assert!(!arena.server().ended().await.success(), "killed {point}");
    assert_eq!(arena.count(RETURNED).await, 0, "nothing is known of a return");
    let late = arena.backend.settle_aside(&finance.session, id, "by hand").await.unwrap_err();
    assert_eq!(late.refusal().code, Code::WrongState, "what may be on its way is not settled another way");
    // A worker that died has the row in hand for a while: that time is over.
    sqlx::query("update payment_quarantine set next_try_ms = 0").execute(&arena.pg).await.unwrap();
    (arena, held, started)
}

/// The money went back once, and the books are even.
async fn assert_returned(arena: Arena, held: Held, started: PayStarted) {
    eventually!(3 * SOON, "it is known", arena.count(RETURNED).await == 1);
    assert_eq!(arena.provider().refunded(&started).await, held.total.minor, "given back once");
    assert_eq!(arena.count(WAITING).await, 0);
    assert_eq!(arena.count_of(held.order, CANCELED).await, 1, "its attempt is over");
    assert_eq!(arena.count("select count(*) from refunds").await, 0, "it was never a sale's money");
    let late = "select count(distinct source) from ledger_entries where source like 'capture:%' and account = 'order_receivable'";
    assert_eq!(arena.count(late).await, 1, "booked as money without a right to seats");
    assert_books_are_even(&arena).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_before_the_call_the_money_goes_back_all_the_same() {
    let (mut arena, held, started) = killed_at("before-quarantine-refund", "10,11").await;
    assert_eq!(arena.provider().refunded(&started).await, 0, "nothing was given back yet");
    arena.start_server(&[]).await;
    assert_returned(arena, held, started).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_after_the_call_the_refund_is_found_and_not_made_again() {
    let (mut arena, held, started) = killed_at("after-quarantine-refund", "15,16").await;
    assert_eq!(arena.provider().refunded(&started).await, held.total.minor, "the money is on its way");
    arena.start_server(&[]).await;
    assert_returned(arena, held, started).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refund_that_fails_is_made_again_under_another_key() {
    let mut arena = Arena::web(Setup::default()).await;
    let (_, held, started) = misfit(&arena, "17,18").await;
    arena.provider().switch(serde_json::json!({ "refund_fail": true })).await;
    arena.restart_server(&[("STARARENA_QUARANTINE_REFUND_MS", SOON_MS)]).await;
    let failed =
        "select count(*) from payment_quarantine where failures > 0 and error is not null and resolved_ms is null";
    eventually!(3 * SOON, "the first refund fails", arena.count(failed).await == 1);
    assert_eq!(arena.provider().refunded(&started).await, 0);
    arena.provider().switch(serde_json::json!({})).await;
    eventually!(3 * SOON, "the money is back", arena.count(RETURNED).await == 1);
    assert_eq!(arena.provider().refunded(&started).await, held.total.minor);
    assert_books_are_even(&arena).await;
    arena.finish().await;
}

/// Money that was set aside and went back, until the bank sends it back to us while further refunds fail: the
/// number of its row, and the refund's id there.
async fn sent_back(arena: &Arena, finance: &Fan, held: &Held) -> (i64, String) {
    let id = of(arena, held.order).await.unwrap();
    arena.backend.return_set_aside(&finance.session, id).await.unwrap();
    eventually!(3 * SOON, "it went back", arena.count(RETURNED).await == 1);
    assert_books_are_even(arena).await;
    let refund: String = sqlx::query_scalar("select refund_ref from payment_quarantine where resolution = 'returned'")
        .fetch_one(&arena.pg)
        .await
        .unwrap();
    arena.provider().switch(serde_json::json!({ "refund_fail": true })).await;
    arena.provider().settle_refund(&refund, "failed").await;
    (id, refund)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn money_that_went_back_and_is_sent_back_waits_for_people_again_and_goes_by_another_refund() {
    let arena = Arena::web(Setup::default()).await;
    let finance = arena.member(Role::Finance).await;
    let (_, held, started) = misfit(&arena, "32,33").await;
    let (id, _) = sent_back(&arena, &finance, &held).await;
    eventually!(SOON, "people see it, with the reason", {
        let shown = listed(&arena, &finance, id).await;
        !shown.state.is_over() && shown.error.is_some_and(|error| error.contains("_by_bank"))
    });
    assert_eq!(arena.provider().refunded(&started).await, 0);
    assert_eq!(balance(&arena, "provider_clearing").await, held.total.minor, "with us again");

    arena.provider().switch(serde_json::json!({})).await;
    eventually!(3 * SOON, "and goes by another refund", arena.count(RETURNED).await == 1);
    assert_eq!(arena.provider().refunded(&started).await, held.total.minor);
    assert_books_are_even(&arena).await;
    // All that was told, told once more and in any order, changes nothing.
    sqlx::query("update payment_inbox set applied_ms = null, next_try_ms = 0").execute(&arena.pg).await.unwrap();
    eventually!(
        SOON,
        "all events are applied again",
        arena.count("select count(*) from payment_inbox where applied_ms is null").await == 0
    );
    assert_eq!(arena.count(RETURNED).await, 1);
    assert_books_are_even(&arena).await;
    let shown = listed(&arena, &finance, id).await;
    assert!(!shown.evidence.iter().any(|(name, _)| name.starts_with("refunds.")), "all refunds were our own");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn money_that_was_sent_back_can_be_settled_by_people_and_the_daily_match_knows_its_refund() {
    let arena = Arena::web(Setup::default()).await;
    let finance = arena.member(Role::Finance).await;
    let (_, held, started) = misfit(&arena, "34,35").await;
    let (id, refund) = sent_back(&arena, &finance, &held).await;
    eventually!(
        3 * SOON,
        "people settle it between two tries",
        arena.backend.settle_aside(&finance.session, id, "paid by bank transfer").await.is_ok()
    );
    assert_eq!(arena.provider().refunded(&started).await, 0);
    assert_eq!(balance(&arena, "refunds_payable").await, 0, "nothing is on its way");
    assert_eq!(balance(&arena, "provider_clearing").await, held.total.minor);
    assert_eq!(listed(&arena, &finance, id).await.state, SetAsideState::Settled);
    let told = matched(&arena).await;
    assert!(told.iter().all(|one| !one.key.contains(&refund)), "both of its lines are known: {told:?}");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_staff_settled_stays_and_what_staff_gives_back_goes_at_once() {
    let mut arena = Arena::web(Setup::default()).await;
    let (finance, operator) = (arena.member(Role::Finance).await, arena.member(Role::Operator).await);
    let foreign = arena.member_of("Another Promoter", Role::Owner).await;
    let (_, kept, kept_payment) = misfit(&arena, "20,21").await;
    let (_, back, back_payment) = misfit(&arena, "22,23").await;
    let (kept_id, back_id) = (of(&arena, kept.order).await.unwrap(), of(&arena, back.order).await.unwrap());
    let waiting = listed(&arena, &finance, kept_id).await;
    assert_eq!((waiting.state, waiting.order), (SetAsideState::Waiting, kept.order));
    assert!(waiting.returns.is_some_and(|at| at.at.0 - waiting.since.at.0 == 3_600_000), "after an hour");
    assert!(waiting.evidence.iter().any(|(name, _)| name == "found.amount"), "{:?}", waiting.evidence);
    let page = arena.open(Some(&finance), "/organizer/money/disputes").await;
    assert!(page.status == 200 && page.body.contains(r#"data-testid="give-back""#), "{}", page.status);
    let page = arena.open(Some(&operator), "/organizer/money/disputes").await;
    assert!(page.status == 200 && !page.body.contains(r#"data-testid="give-back""#), "who decides is finance");

    let (kept_number, back_number) = (kept_id.to_string(), back_id.to_string());
    let settle = [("id", kept_number.as_str()), ("note", "paid back by hand at the provider")];
    let give = [("id", back_number.as_str())];
    for (who, code) in [(&operator, Code::Forbidden), (&foreign, Code::NotFound)] {
        assert_eq!(arena.call(Some(who), "organizer-quarantine-settle", &settle).await.code(), code);
        assert_eq!(arena.call(Some(who), "organizer-quarantine-return", &give).await.code(), code);
    }
    let blank = [("id", kept_number.as_str()), ("note", "  ")];
    assert_eq!(arena.call(Some(&finance), "organizer-quarantine-settle", &blank).await.code(), Code::InvalidInput);
    let () = arena.call(Some(&finance), "organizer-quarantine-settle", &settle).await.ok();
    let () = arena.call(Some(&finance), "organizer-quarantine-return", &give).await.ok();
    eventually!(3 * SOON, "it goes back long before its time", arena.count(RETURNED).await == 1);
    assert_eq!(arena.provider().refunded(&back_payment).await, back.total.minor);
    assert_eq!(arena.call(Some(&finance), "organizer-quarantine-settle", &settle).await.code(), Code::WrongState);
    assert_eq!(arena.call(Some(&finance), "organizer-quarantine-return", &give).await.code(), Code::WrongState);
    let settled = listed(&arena, &finance, kept_id).await;
    assert_eq!((settled.state, settled.note.as_deref()), (SetAsideState::Settled, Some(settle[1].1)));
    let recorded = "select count(*) from audit_log where action in ('quarantine.settle', 'quarantine.return')";
    assert_eq!(arena.count(recorded).await, 2);

    // Its order may be paid by another payment.
    ask_at(&arena, 0).await;
    eventually!(SOON, "its attempt is over", arena.count_of(kept.order, CANCELED).await == 1);

    // Another one goes back by itself; what was settled does not, however late it is.
    let (_, third, third_payment) = misfit(&arena, "24,25").await;
    arena.restart_server(&[("STARARENA_QUARANTINE_REFUND_MS", SOON_MS)]).await;
    eventually!(3 * SOON, "the third goes back", arena.provider().refunded(&third_payment).await == third.total.minor);
    assert_eq!(arena.provider().refunded(&kept_payment).await, 0, "settled is settled");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn money_that_fits_by_now_is_booked_and_none_goes_back() {
    let mut arena = Arena::web(Setup::default()).await;
    let (_, held, started) = misfit(&arena, "27,28").await;
    arena.kill_server().await;
    sqlx::query("update attempts set amount_minor = amount_minor - 1 where id = $1")
        .bind(started.attempt.0)
        .execute(&arena.pg)
        .await
        .unwrap();
    arena.start_server(&[("STARARENA_QUARANTINE_REFUND_MS", "0")]).await;
    arena.await_status(held.order, "fulfilled").await;
    let booked = "select count(*) from payment_quarantine where resolution = 'booked'";
    eventually!(3 * SOON, "it is told", arena.count(booked).await == 1);
    assert_eq!(arena.provider().refunded(&started).await, 0);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn money_that_came_to_nothing_and_is_taken_afterwards_goes_back() {
    let arena = Arena::web(Setup::default().provider_deadline(6_000, 500)).await;
    arena.provider().drop_webhooks().await;
    let (finance, fan) = (arena.member(Role::Finance).await, arena.one_inside().await);
    let held = arena.held(&fan, "36,37").await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    expect_more(&arena, &started).await;
    eventually!(SOON, "it is set aside", of(&arena, held.order).await.is_some());
    eventually!(SOON, "its page closes, and its attempt is over", arena.count_of(held.order, CANCELED).await == 1);
    let id = of(&arena, held.order).await.unwrap();
    arena.backend.return_set_aside(&finance.session, id).await.unwrap();
    eventually!(3 * SOON, "nothing is there to go back", {
        listed(&arena, &finance, id).await.state == SetAsideState::Nothing
    });
    taken_after_all(&arena, &started).await;
    arena.provider().flush().await;
    eventually!(3 * SOON, "it goes back", arena.count(RETURNED).await == 1);
    assert_eq!(arena.provider().refunded(&started).await, held.total.minor);
    assert_eq!(listed(&arena, &finance, id).await.state, SetAsideState::Returned, "it is the same row");
    assert_books_are_even(&arena).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refund_by_hand_of_money_set_aside_is_shown_beside_it_and_is_no_sales() {
    let arena = Arena::web(Setup::default()).await;
    let finance = arena.member(Role::Finance).await;
    let (_, held, started) = misfit(&arena, "30,31").await;
    let id = of(&arena, held.order).await.unwrap();
    let refund = arena.provider().give_back(&started, held.total.minor).await;
    let expected = (format!("refunds.{refund}"), format!("{} succeeded", held.total));
    eventually!(SOON, "it is shown", listed(&arena, &finance, id).await.evidence.contains(&expected));
    assert_eq!(arena.count("select count(*) from refunds").await, 0, "it was never a sale's money");
    assert_eq!(arena.count("select count(*) from ledger_entries").await, 0, "and is in no book");
    assert_eq!(listed(&arena, &finance, id).await.state, SetAsideState::Waiting, "people decide");
    arena.backend.settle_aside(&finance.session, id, "given back by hand").await.unwrap();
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_belongs_to_no_order_is_told_by_doctor_and_decided_by_command() {
    let arena = Arena::web(Setup::default()).await;
    let run = async |args: &[&str]| {
        let mut command = program(arena.settings());
        command.args(args);
        run_to_end(command).await
    };
    let insert = "insert into payment_quarantine (provider, provider_ref, reason, evidence, created_ms)
         values ('sandbox', 'evt_nobody', 'an unknown attempt', '{}', 1000) returning id";
    let id: i64 = sqlx::query_scalar(insert).fetch_one(&arena.pg).await.unwrap();
    let number = id.to_string();
    let (code, out, err) = run(&["doctor"]).await;
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(out.contains(&format!("wrong  quarantine {id}: event of no order")), "{out}");
    let (code, out, err) = run(&["quarantine", "list"]).await;
    assert!(code == Some(0) && out.contains("evt_nobody") && out.contains("no order"), "{out}{err}");
    let (code, _, err) = run(&["quarantine", "return", &number]).await;
    assert!(code == Some(1) && err.contains("nothing was taken"), "{err}");
    let settle = ["quarantine", "settle", number.as_str(), "--note", "of the old installation"];
    assert_eq!(run(&settle).await.0, Some(0));
    let (code, _, err) = run(&settle).await;
    assert!(code == Some(1) && err.contains("decided before"), "{err}");
    let (_, out, _) = run(&["quarantine", "list"]).await;
    assert!(!out.contains("evt_nobody"), "{out}");
    let (_, out, _) = run(&["quarantine", "list", "--ended"]).await;
    assert!(out.contains("settled") && out.contains("of the old installation"), "{out}");
    let (code, _, err) = run(&["quarantine", "settle", "999999", "--note", "x"]).await;
    assert!(code == Some(1) && err.contains("no such money"), "{err}");
    arena.finish().await;
}
