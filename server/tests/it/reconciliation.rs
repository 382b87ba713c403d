//! The daily match against the provider's own settlement, what is repaired by itself, what waits for people, and
//! what the books say.

use crate::arena::provider::GOOD_CARD;
use crate::arena::{Arena, Fan, SOON, Setup, program, run_to_end};
use crate::purchase::assert_paid_once;
use backend::OpenDifference;
use domain::account::Role;
use domain::hold::Held;
use domain::order::PayStarted;
use domain::organizer::money::{DayState, MoneyReport, Reconciliation};
use domain::settlement::schedule::{DAY_MS, day_of};
use domain::settlement::stuck::StuckKind;
use domain::settlement::{Ours, Owner};
use domain::{Code, OrderId};
use serde_json::json;

/// Matches today and yesterday of a provider, so that midnight is no trouble; what is open afterwards.
pub(crate) async fn matched_at(arena: &Arena, provider: &str) -> Vec<OpenDifference> {
    let today = day_of(arena.backend.now());
    let mut open = Vec::new();
    for day in [today.plus(-DAY_MS), today] {
        open.extend(arena.backend.match_day(provider, day).await.unwrap().open);
    }
    // A day that ended within the test has paid itself out.
    open.retain(|one| one.day == today || !one.key.starts_with("payout_not_posted:"));
    open
}

pub(crate) async fn matched(arena: &Arena) -> Vec<OpenDifference> {
    matched_at(arena, "sandbox").await
}

pub(crate) fn keys(open: &[OpenDifference]) -> Vec<&str> {
    open.iter().map(|one| one.key.as_str()).collect()
}

/// Pays, and waits for the tickets.
async fn bought(arena: &Arena, fan: &Fan, seats: &str) -> (Held, PayStarted) {
    let held = arena.held(fan, seats).await;
    let started: PayStarted = arena.pay(fan, held.order).await.ok();
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    eventually!(2 * SOON, "the order is fulfilled", arena.status(held.order).await.as_deref() == Some("fulfilled"));
    (held, started)
}

async fn page(arena: &Arena, member: &Fan) -> Reconciliation {
    arena.call(Some(member), "organizer-reconciliation", &[]).await.ok()
}

/// What is at the provider by our books, and by its own lines.
pub(crate) async fn clearing(arena: &Arena) -> (i64, i64) {
    let ours = "select coalesce(sum(amount_minor), 0)::bigint from ledger_entries where account = 'provider_clearing'";
    let theirs = "select coalesce(sum(net_minor), 0)::bigint from settlement_lines";
    (arena.count(ours).await, arena.count(theirs).await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fees_are_posted_once_and_a_refund_by_hand_is_imported_once_however_often_a_day_is_matched() {
    let arena = Arena::web(Setup::default()).await;
    arena.provider().switch(json!({ "webhooks": "drop", "fee_basis_points": 150, "fee_fixed_minor": 25 })).await;
    let (one, two) = (arena.one_inside().await, arena.one_inside().await);
    let (_, started) = bought(&arena, &one, "10,11").await;
    bought(&arena, &two, "20").await;

    let found = matched(&arena).await;
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().all(|one| one.key.starts_with("fee_line:charge:") && one.owner == Owner::Worker), "{found:?}");
    for _ in 0..2 {
        assert_eq!(keys(&matched(&arena).await), [""; 0], "what was posted is found no more");
        assert_eq!(arena.count("select count(*) from ledger_entries where account = 'provider_fees'").await, 2);
    }
    assert_eq!(arena.count("select count(*) from differences where status = 'repaired'").await, 2);
    let (ours, theirs) = clearing(&arena).await;
    assert_eq!(ours, theirs, "our money there is what it says");

    let refund = arena.provider().give_back(&started, 100).await;
    let found = matched(&arena).await;
    assert_eq!(keys(&found), [format!("refund_unknown_here:refund:{refund}")], "{found:?}");
    for _ in 0..2 {
        assert_eq!(keys(&matched(&arena).await), [""; 0]);
        assert_eq!(
            arena.count("select count(*) from refunds where status = 'succeeded' and amount_minor = 100").await,
            1,
            "recorded once"
        );
    }
    let (ours, theirs) = clearing(&arena).await;
    assert_eq!(ours, theirs);
    let settled = "select count(*) from settlement_days where last_run_ms is not null";
    assert_eq!(arena.count(settled).await, 2);
    arena.finish().await;
}

/// What the books have at the bank.
async fn at_the_bank(arena: &Arena) -> i64 {
    arena.count("select coalesce(sum(amount_minor), 0)::bigint from ledger_entries where account = 'bank'").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payouts_are_posted_once_those_that_fail_are_posted_back_and_one_that_nobody_lists_waits_for_finance() {
    let arena = Arena::web(Setup::default()).await;
    let fan = arena.one_inside().await;
    let (held, _) = bought(&arena, &fan, "10,11").await;
    assert_eq!(keys(&matched(&arena).await), [""; 0]);

    let first = arena.provider().pay_out().await;
    let found = matched(&arena).await;
    assert_eq!(keys(&found), [format!("payout_not_posted:payout:{first}")], "{found:?}");
    assert_eq!(found[0].owner, Owner::Worker);
    for _ in 0..2 {
        assert_eq!(keys(&matched(&arena).await), [""; 0], "what was posted is found no more");
        assert_eq!((clearing(&arena).await, at_the_bank(&arena).await), ((0, 0), held.total.minor));
    }
    arena.provider().fail_payout(&first).await;
    let found = matched(&arena).await;
    assert_eq!(keys(&found), [format!("payout_not_posted:payout_failure:{first}")], "{found:?}");
    for _ in 0..2 {
        assert_eq!(keys(&matched(&arena).await), [""; 0]);
        let there = held.total.minor;
        assert_eq!((clearing(&arena).await, at_the_bank(&arena).await), ((there, there), 0), "it is there again");
    }
    let second = arena.provider().pay_out().await;
    assert_ne!(first, second);
    assert_eq!(keys(&matched(&arena).await), [format!("payout_not_posted:payout:{second}")]);
    assert_eq!(keys(&matched(&arena).await), [""; 0]);
    assert_eq!((clearing(&arena).await, at_the_bank(&arena).await), ((0, 0), held.total.minor));

    // Another amount in the books than in the file, on both sides, so that they balance.
    let tamper = async |delta: i64| {
        sqlx::query(
            "update ledger_entries set amount_minor = amount_minor + case account when 'bank' then $2 else -$2 end
             where source = 'provider-payout:sandbox:' || $1",
        )
        .bind(&second)
        .bind(delta)
        .execute(&arena.pg)
        .await
        .unwrap();
    };
    tamper(1).await;
    let found = matched(&arena).await;
    assert_eq!(keys(&found), [format!("amount_differs:payout:{second}")], "{found:?}");
    assert_eq!(found[0].owner, Owner::Finance);
    tamper(-1).await;
    assert_eq!(keys(&matched(&arena).await), [""; 0]);

    sqlx::query(
        "insert into ledger_entries (source, account, currency, amount_minor, at_ms, provider)
         select 'provider-payout:sandbox:po_x', account, currency, amount_minor, at_ms, provider
         from ledger_entries where source = 'provider-payout:sandbox:' || $1",
    )
    .bind(&second)
    .execute(&arena.pg)
    .await
    .unwrap();
    let found = matched(&arena).await;
    assert_eq!(keys(&found), ["payout_missing_there:payout:po_x"], "{found:?}");
    assert_eq!(found[0].owner, Owner::Finance);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn money_that_nobody_recorded_is_found_and_its_orders_are_fulfilled() {
    let mut arena = Arena::web(Setup::default()).await;
    arena.provider().drop_webhooks().await;
    let (one, two) = (arena.one_inside().await, arena.one_inside().await);
    let (first, second) = (arena.held(&one, "30,31").await, arena.held(&two, "40").await);
    let lost: PayStarted = arena.pay(&one, first.order).await.ok();
    let ended: PayStarted = arena.pay(&two, second.order).await.ok();
    // From here on nobody of ours asks: the provider takes the money and tells nobody.
    arena.kill_server().await;
    for started in [&lost, &ended] {
        assert_eq!(arena.provider().card(started, GOOD_CARD).await, 303);
        arena.provider().capture(started).await;
    }
    // One attempt even ended here without money.
    sqlx::query("update attempts set status = 'canceled', taken_back_ms = 1 where id = $1")
        .bind(ended.attempt.0)
        .execute(&arena.pg)
        .await
        .unwrap();

    let found = matched(&arena).await;
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().all(|one| one.key.starts_with("captured_not_recorded:charge:")), "{found:?}");
    assert!(found.iter().all(|one| one.owner == Owner::Worker && one.error.is_none()), "{found:?}");
    for order in [first.order, second.order] {
        assert_eq!(arena.status(order).await.as_deref(), Some("paid"));
    }
    assert_eq!(keys(&matched(&arena).await), [""; 0], "and a later run sees that it helped");
    arena.start_workers();
    for (order, seats) in [(first.order, 2), (second.order, 1)] {
        arena.await_status(order, "fulfilled").await;
        assert_paid_once(&arena, order, seats).await;
    }
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paid_order_without_tickets_gets_them() {
    let mut arena = Arena::web(Setup::default()).await;
    let fan = arena.one_inside().await;
    let (held, _) = bought(&arena, &fan, "50,51").await;
    arena.kill_server().await;
    // As if the last step had never been taken.
    for sql in [
        "delete from tickets where order_id = $1",
        "delete from order_audit where id = (select max(id) from order_audit where order_id = $1) and event = 'issued'",
        "update orders set status = 'paid', version = version - 1, paid_ms = paid_ms - 600000 where id = $1",
    ] {
        sqlx::query(sql).bind(held.order.0).execute(&arena.pg).await.unwrap();
    }
    let found = matched(&arena).await;
    assert!(keys(&found).contains(&format!("paid_not_issued:{}", held.order).as_str()), "{found:?}");
    assert_eq!(arena.status(held.order).await.as_deref(), Some("fulfilled"));
    assert_eq!(keys(&matched(&arena).await), [""; 0]);
    arena.start_workers();
    assert_paid_once(&arena, held.order, 2).await;
    arena.finish().await;
}

/// Changes what we recorded of an order's payment.
async fn tamper(arena: &Arena, order: OrderId, delta: i64) {
    sqlx::query("update attempts set amount_minor = amount_minor + $2 where order_id = $1")
        .bind(order.0)
        .bind(delta)
        .execute(&arena.pg)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_amount_waits_for_finance_with_both_sides_until_somebody_settles_it() {
    let arena = Arena::web(Setup::default()).await;
    let (owner, finance) = (arena.member(Role::Owner).await, arena.member(Role::Finance).await);
    let operator = arena.member(Role::Operator).await;
    let foreign = arena.member_of("Another Promoter", Role::Owner).await;
    let fan = arena.one_inside().await;
    let (held, _) = bought(&arena, &fan, "60,61").await;
    let day = backend::day_text(day_of(arena.backend.now())).unwrap();
    let command = async || {
        let mut command = program(arena.settings());
        command.args(["reconcile", "--day", &day]);
        run_to_end(command).await
    };
    assert!(matched(&arena).await.is_empty());
    tamper(&arena, held.order, 1).await;
    let found = matched(&arena).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].key.starts_with("amount_differs:charge:") && found[0].owner == Owner::Finance, "{found:?}");
    assert_eq!(arena.count("select count(*) from payment_quarantine").await, 0, "money with tickets is left alone");

    let shown = page(&arena, &finance).await;
    assert_eq!((shown.open.len(), shown.closed.len()), (1, 0));
    let one = &shown.open[0];
    let Some(Ours::Attempt(ours)) = &one.ours else { panic!("{one:?}") };
    assert_eq!((ours.amount.minor - 1, one.theirs[0].gross_minor), (held.total.minor, held.total.minor));
    assert_eq!(one.order, Some(held.order));
    assert!(shown.days.iter().any(|day| day.state == DayState::Differences && day.open == 1), "{:?}", shown.days);
    assert!(page(&arena, &foreign).await.open.is_empty(), "another organization's money is its own");
    let html = arena.open(Some(&finance), "/organizer/money/reconciliation").await;
    assert!(html.body.contains("data-testid=\"difference\"") && html.body.contains("data-testid=\"settle\""));
    let html = arena.open(Some(&operator), "/organizer/money/reconciliation").await;
    assert!(html.body.contains("data-testid=\"difference\"") && !html.body.contains("data-testid=\"settle\""));

    let id = one.id.to_string();
    let settle = async |who: &Fan, note: &str| {
        arena.call(Some(who), "organizer-difference-settle", &[("id", &id), ("note", note)]).await
    };
    assert_eq!(settle(&operator, "fine").await.code(), Code::Forbidden);
    assert_eq!(settle(&foreign, "fine").await.code(), Code::NotFound);
    assert_eq!(settle(&finance, "  ").await.code(), Code::InvalidInput);
    let () = arena.call(Some(&owner), "organizer-difference-repair", &[("id", &id)]).await.ok();
    assert_eq!(page(&arena, &finance).await.open.len(), 1, "looking again does not make it go away");
    let (code, out, err) = command().await;
    // Over midnight it is yesterday's, and today has none.
    assert!(code == Some(1) || day_of(arena.backend.now()) != day_of(ours.captured.unwrap()), "{out}{err}");
    let () = settle(&finance, "seen with the bank").await.ok();
    assert_eq!(settle(&finance, "again").await.code(), Code::WrongState);
    let (code, out, err) = command().await;
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.contains("sandbox ") && out.contains("0 differences open"), "{out}");
    assert!(page(&arena, &finance).await.open.is_empty(), "what is settled stays so while the provider says the same");
    let shown = page(&arena, &finance).await;
    assert_eq!((shown.open.len(), shown.closed[0].note.as_deref()), (0, Some("seen with the bank")));
    let noted = "select count(*) from audit_log where action in ('difference.repair', 'difference.settle')";
    assert_eq!(arena.count(noted).await, 2);
    tamper(&arena, held.order, -1).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_refuses_what_it_does_not_know() {
    let arena = Arena::web(Setup::default()).await;
    for (args, word) in [
        (["--provider", "paypal"], "is not configured here"),
        (["--day", "yesterday"], "a date such as 2026-01-31 is expected"),
    ] {
        let mut command = program(arena.settings());
        command.arg("reconcile").args(args);
        let (code, _, err) = run_to_end(command).await;
        assert!(code == Some(1) && err.contains(word), "{args:?}: {err}");
    }
    arena.finish().await;
}

pub(crate) async fn report(arena: &Arena, member: &Fan, form: &[(&str, &str)]) -> MoneyReport {
    arena.call(Some(member), "organizer-money", form).await.ok()
}

/// A table as a member downloads it: rows with their names.
pub(crate) async fn table(arena: &Arena, member: &Fan, name: &str) -> Vec<std::collections::HashMap<String, String>> {
    let reply = arena.open(Some(member), &format!("/api/organizer-money-table/{name}.csv?period=all")).await;
    assert_eq!((reply.status, reply.header("content-type")), (200, "text/csv; charset=utf-8"), "{}", reply.body);
    assert!(reply.header("content-disposition").starts_with("attachment"));
    assert!(!reply.body.starts_with('\u{feff}'));
    csv::Reader::from_reader(reply.body.as_bytes()).deserialize().map(|row| row.unwrap()).collect()
}

pub(crate) fn sum<'a>(cells: impl Iterator<Item = &'a str>) -> i64 {
    cells.map(|cell| cell.parse::<i64>().unwrap()).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_report_and_its_tables_say_what_the_books_say() {
    let arena = Arena::web(Setup::default()).await;
    arena.provider().switch(json!({ "fee_basis_points": 150 })).await;
    let (finance, risk) = (arena.member(Role::Finance).await, arena.member(Role::Risk).await);
    let foreign = arena.member_of("Another Promoter", Role::Owner).await;
    assert!(report(&arena, &finance, &[]).await.currencies.is_empty());
    sqlx::query("update events set title = '=HYPERLINK(\"x\"), it says'").execute(&arena.pg).await.unwrap();
    let (one, two) = (arena.one_inside().await, arena.one_inside().await);
    let (first, _) = bought(&arena, &one, "70,71").await;
    let (second, _) = bought(&arena, &two, "80").await;
    matched(&arena).await;

    let told = report(&arena, &finance, &[("period", "week")]).await;
    assert_eq!(told.currencies.len(), 1);
    let books = &told.currencies[0];
    let captured = first.total.minor + second.total.minor;
    assert_eq!(books.figures.captured_minor, captured);
    assert_eq!(books.figures.owed_minor + books.figures.fees_minor + books.figures.tax_minor, captured);
    let fees =
        arena.count("select sum(amount_minor)::bigint from ledger_entries where account = 'provider_fees'").await;
    assert!(fees > 0 && books.figures.provider_fees_minor == fees);
    let (debit, credit) = books.sides_minor();
    assert_eq!(debit, credit);
    let entries = arena.count("select sum(amount_minor)::bigint from ledger_entries where amount_minor > 0").await;
    assert_eq!(debit, entries, "all that was posted is this organization's");
    assert_eq!(books.performances.len(), 1);
    assert_eq!(books.performances[0].performance, Some(arena.performance));
    let other = arena.another_sale().await.to_string();
    assert!(report(&arena, &finance, &[("performance", &other)]).await.currencies.is_empty());
    assert!(report(&arena, &foreign, &[]).await.currencies.is_empty());

    let postings = table(&arena, &finance, "postings").await;
    let of =
        |account: &str| sum(postings.iter().filter(|row| row["account"] == account).map(|row| &*row["amount_minor"]));
    assert_eq!(sum(postings.iter().map(|row| &*row["amount_minor"])), 0);
    assert_eq!((of("provider_fees"), of("organizer_payable")), (fees, -books.figures.owed_minor));
    assert!(postings.iter().all(|row| row["event"] == "'=HYPERLINK(\"x\"), it says"), "{:?}", postings[0]);
    let lines = table(&arena, &finance, "match").await;
    let charges = lines.iter().filter(|row| row["movement"] == "charge");
    assert_eq!(sum(charges.map(|row| &*row["gross_minor"])), captured);
    assert!(lines.iter().any(|row| row["difference"] == "fee_line"), "{lines:?}");
    assert!(table(&arena, &foreign, "postings").await.is_empty());

    let fan = arena.fans(1).await.remove(0);
    for (who, status) in [(None, 401), (Some(&fan), 404), (Some(&risk), 403)] {
        for path in ["/api/organizer-money-table/postings.csv", "/organizer/money", "/organizer/money/reconciliation"] {
            assert_eq!(arena.open(who, path).await.status, status, "{path}");
        }
    }
    for path in ["postings.xml", "secrets.csv", "postings.csv?period=never", "match.csv?performance=x"] {
        let reply = arena.open(Some(&finance), &format!("/api/organizer-money-table/{path}")).await;
        assert_eq!(reply.status, 404, "{path}");
    }
    let html = arena.open(Some(&finance), "/organizer/money").await;
    assert!(html.status == 200 && html.body.contains("data-equal=\"true\""), "{}", html.status);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_stands_still_is_poked_and_after_an_hour_people_are_told() {
    let arena = Arena::bare(Setup::default()).await;
    let body = json!({
        "id": "evt_stuck", "type": "payment.captured", "data": { "object": { "reference": uuid::Uuid::new_v4() } },
    });
    sqlx::query(
        "insert into payment_inbox (provider, event_id, body, received_ms, next_try_ms) values ('sandbox', 'evt_stuck', $1, 0, $2)",
    )
    .bind(body)
    .bind(i64::MAX)
    .execute(&arena.pg)
    .await
    .unwrap();
    let inbox = async || {
        let counts = arena.backend.sweep_money().await.unwrap();
        counts.into_iter().find(|(kind, _)| *kind == StuckKind::Inbox).unwrap().1
    };
    assert_eq!(inbox().await, 1);
    let tried = "select count(*) from payment_inbox where tries > 0";
    eventually!(SOON, "it was made due and tried", arena.count(tried).await == 1);
    assert_eq!(arena.count("select count(*) from differences").await, 0, "an hour is not over");
    sqlx::query("update stuck_money set first_seen_ms = 0").execute(&arena.pg).await.unwrap();
    assert_eq!(inbox().await, 1);
    let state = arena.backend.match_state().await.unwrap();
    assert_eq!(keys(&state.on_no_page), ["stuck_inbox:sandbox evt_stuck"]);
    assert_eq!((state.on_no_page[0].owner, state.for_people), (Owner::Operator, 1));
    sqlx::query("delete from payment_inbox").execute(&arena.pg).await.unwrap();
    assert_eq!(inbox().await, 0);
    let state = arena.backend.match_state().await.unwrap();
    assert_eq!((state.on_no_page.len(), state.for_people), (0, 0));
    arena.finish().await;
}
