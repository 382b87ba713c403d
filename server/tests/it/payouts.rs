//! What was transferred to an organization: noted once, never more than is owed, reversed with a reason, and told in
//! the report.

use crate::arena::{Arena, Fan, ORGANIZATION, Reply, Setup, program, run_to_end};
use crate::refunds::assert_books_balance;
use domain::account::Role;
use domain::organizer::money::MoneyReport;
use domain::organizer::payouts::PayoutDesk;
use domain::{Code, Money, PayoutId};
use reqwest::Method;

const PAGE: &str = "/organizer/money/payouts";
const DAY: &str = "2026-01-31";

async fn desk(arena: &Arena, who: &Fan) -> PayoutDesk {
    arena.call(Some(who), "organizer-payouts", &[]).await.ok()
}

/// Notes an amount on [`DAY`].
async fn record(arena: &Arena, who: &Fan, amount: Money, reference: &str) -> Reply {
    let (decimal, code) = (amount.decimal(), amount.currency.code().to_owned());
    let form = form(&decimal, &code, DAY, reference);
    arena.call(Some(who), "organizer-payout-record", &form).await
}

fn form<'a>(amount: &'a str, currency: &'a str, day: &'a str, reference: &'a str) -> [(&'static str, &'a str); 4] {
    [("form[amount]", amount), ("form[currency]", currency), ("form[day]", day), ("form[reference]", reference)]
}

async fn reverse(arena: &Arena, who: &Fan, id: PayoutId, reason: &str) -> Reply {
    arena.call(Some(who), "organizer-payout-reverse", &[("id", &id.to_string()), ("reason", reason)]).await
}

/// What the report says: paid out, and still owed.
async fn reported(arena: &Arena, who: &Fan) -> (i64, i64) {
    let report: MoneyReport = arena.call(Some(who), "organizer-money", &[]).await.ok();
    let (debit, credit) = report.currencies[0].sides_minor();
    assert_eq!(debit, credit);
    let figures = report.currencies[0].figures;
    (figures.paid_out_minor, figures.owed_minor)
}

/// A table as a member downloads it.
async fn table(arena: &Arena, who: &Fan, name: &str) -> Vec<std::collections::HashMap<String, String>> {
    let reply = arena.open(Some(who), &format!("/api/organizer-money-table/{name}.csv")).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    csv::Reader::from_reader(reply.body.as_bytes()).deserialize().map(|row| row.unwrap()).collect()
}

fn sum(rows: &[std::collections::HashMap<String, String>], column: &str) -> i64 {
    rows.iter().map(|row| row[column].parse::<i64>().unwrap()).sum()
}

/// A sale whose organizer is owed the money of two tickets: how much.
async fn sold(arena: &Arena, finance: &Fan) -> Money {
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "10,11").await;
    arena.buy(&fan, held.order).await;
    let desk = desk(arena, finance).await;
    assert!(desk.owed.len() == 1 && desk.owed[0].minor > 1 && desk.payouts.is_empty(), "{desk:?}");
    desk.owed[0]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payout_is_noted_once_up_to_what_is_owed_and_reversed_once_with_a_reason() {
    let arena = Arena::web(Setup::default()).await;
    let (finance, operator) = (arena.member(Role::Finance).await, arena.member(Role::Operator).await);
    let foreign = arena.member_of("Another Promoter", Role::Owner).await;
    let owed = sold(&arena, &finance).await;
    let part = Money::new(owed.minor / 2, owed.currency);
    let code = owed.currency.code().to_owned();

    let beyond = Money::new(owed.minor + 1, owed.currency);
    let refused = record(&arena, &finance, beyond, "RF1").await.refusal();
    assert_eq!((refused.code, refused.message.starts_with("amount: at most ")), (Code::InvalidInput, true));
    let decimal = part.decimal();
    for (form, field) in [
        (form("1", "KWD", DAY, "RF1"), "amount: "),
        (form("0", &code, DAY, "RF1"), "amount: "),
        (form(&decimal, &code, "2999-01-01", "RF1"), "day: "),
        (form(&decimal, &code, "yesterday", "RF1"), "day: "),
        (form(&decimal, &code, DAY, ""), "reference: "),
    ] {
        let refused = arena.call(Some(&finance), "organizer-payout-record", &form).await.refusal();
        assert!(refused.code == Code::InvalidInput && refused.message.starts_with(field), "{refused:?}");
    }
    assert_eq!(record(&arena, &operator, part, "RF1").await.code(), Code::Forbidden);
    assert_eq!(record(&arena, &foreign, part, "RF1").await.code(), Code::InvalidInput, "nothing is owed to them");
    assert_eq!(arena.count("select count(*) from organizer_payouts").await, 0);
    assert_eq!(reported(&arena, &finance).await, (0, owed.minor));

    let id: PayoutId = record(&arena, &finance, part, "=RF1").await.ok();
    assert_eq!(record(&arena, &finance, part, "  =RF1 ").await.ok::<PayoutId>(), id, "the same transfer once more");
    let other = Money::new(1, owed.currency);
    let refused = record(&arena, &finance, other, "=RF1").await.refusal();
    assert!(refused.code == Code::InvalidInput && refused.message.starts_with("reference: "), "{refused:?}");
    let left = Money::new(owed.minor - part.minor, owed.currency);
    assert_eq!(record(&arena, &finance, owed, "RF2").await.code(), Code::InvalidInput, "a part of it is gone");
    assert_eq!(reported(&arena, &finance).await, (part.minor, left.minor));
    let shown = desk(&arena, &operator).await;
    assert_eq!((shown.owed.as_slice(), shown.payouts.len()), (&[left][..], 1));
    assert_eq!((shown.payouts[0].id, shown.payouts[0].amount), (id, part));
    assert_eq!((&*shown.payouts[0].reference, shown.payouts[0].reversed.is_some()), ("=RF1", false));
    assert!(desk(&arena, &foreign).await.payouts.is_empty(), "another organization's are its own");

    let rows = table(&arena, &finance, "report").await;
    assert_eq!((sum(&rows, "paid_out_minor"), sum(&rows, "owed_minor")), (part.minor, left.minor));
    assert!(rows.iter().any(|row| row["performance"].is_empty() && row["paid_out_minor"] == part.minor.to_string()));
    let posted: Vec<_> = table(&arena, &finance, "postings").await;
    let named = posted.iter().filter(|row| row["reference"] == "'=RF1");
    assert_eq!(named.map(|row| row["amount_minor"].parse::<i64>().unwrap()).sum::<i64>(), 0, "{posted:?}");
    assert_eq!(posted.iter().filter(|row| row["source"] == format!("organizer-payout:{id}")).count(), 2);

    assert_eq!(reverse(&arena, &operator, id, "wrong").await.code(), Code::Forbidden);
    assert_eq!(reverse(&arena, &foreign, id, "wrong").await.code(), Code::NotFound);
    assert_eq!(reverse(&arena, &finance, id, "  ").await.code(), Code::InvalidInput);
    let () = reverse(&arena, &finance, id, "the bank sent it back").await.ok();
    assert_eq!(reverse(&arena, &finance, id, "again").await.code(), Code::WrongState);
    assert_eq!(record(&arena, &finance, part, "=RF1").await.code(), Code::WrongState, "a reference is used once");
    assert_eq!(reported(&arena, &finance).await, (0, owed.minor));
    let shown = desk(&arena, &finance).await;
    let reversal = shown.payouts[0].reversed.as_ref().unwrap();
    assert_eq!((shown.payouts.len(), &*reversal.reason), (1, "the bank sent it back"));
    let _: PayoutId = record(&arena, &finance, owed, "RF3").await.ok();
    assert_eq!(reported(&arena, &finance).await, (owed.minor, 0));
    assert!(desk(&arena, &finance).await.owed.is_empty());
    assert_eq!(arena.count("select count(*) from audit_log where action = 'payout.record'").await, 2);
    assert_eq!(arena.count("select count(*) from audit_log where action = 'payout.reverse'").await, 1);
    assert_books_balance(&arena).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_that_note_all_that_is_owed_at_once_exactly_one_wins() {
    let arena = Arena::web(Setup::default()).await;
    let finance = arena.member(Role::Finance).await;
    let owed = sold(&arena, &finance).await;
    let (one, two) = tokio::join!(record(&arena, &finance, owed, "one"), record(&arena, &finance, owed, "two"));
    let mut statuses = [one.status, two.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 400]);
    assert_eq!(reported(&arena, &finance).await, (owed.minor, 0));
    let known = if one.status == 200 { "one" } else { "two" };
    let id: PayoutId = if one.status == 200 { one.ok() } else { two.ok() };
    let (one, two) = tokio::join!(record(&arena, &finance, owed, known), record(&arena, &finance, owed, known));
    assert_eq!((one.ok::<PayoutId>(), two.ok::<PayoutId>()), (id, id));
    let (one, two) = tokio::join!(reverse(&arena, &finance, id, "one"), reverse(&arena, &finance, id, "two"));
    let mut statuses = [one.status, two.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409]);
    assert_eq!(reported(&arena, &finance).await, (0, owed.minor));
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_works_without_javascript_and_brings_back_what_was_refused() {
    let arena = Arena::web(Setup::default()).await;
    let (finance, operator) = (arena.member(Role::Finance).await, arena.member(Role::Operator).await);
    let owed = sold(&arena, &finance).await;
    let code = owed.currency.code().to_owned();
    let send = async |function: &str, form: &[(&str, &str)]| {
        let request = arena.plain_request(Method::POST, &format!("/api/{function}"));
        let request = request.header("origin", &arena.origin).header("accept", "text/html");
        let request = request.header("referer", format!("{}{PAGE}", arena.origin)).header("cookie", &finance.cookie);
        let reply = arena.send(request.form(form)).await;
        assert_eq!(reply.status, 302, "{}", reply.body);
        (reply.header("location").replace(&arena.origin, ""), reply)
    };
    let beyond = Money::new(owed.minor + 1, owed.currency).decimal();
    let (back, reply) = send("organizer-payout-record", &form(&beyond, &code, DAY, "typed just now")).await;
    let typed = reply.cookie("sa-typed").unwrap();
    let request = arena.plain_request(Method::GET, &back).header("accept", "text/html");
    let html = arena.send(request.header("cookie", format!("{}; {typed}", finance.cookie))).await.body;
    assert!(html.contains("data-code=\"invalid_input\""), "the reason stands there");
    assert!(html.contains("value=\"typed just now\"") && html.contains(&format!("value=\"{beyond}\"")), "{html}");

    let (page, _) = send("organizer-payout-record", &form(&owed.decimal(), &code, DAY, "RF1")).await;
    assert_eq!(page, PAGE);
    let html = arena.open(Some(&finance), PAGE).await.body;
    assert!(html.contains("data-state=\"paid\"") && html.contains("data-testid=\"reverse\""));
    assert!(html.contains("data-testid=\"none-owed\"") && !html.contains("data-testid=\"record-form\""));
    let html = arena.open(Some(&operator), PAGE).await.body;
    assert!(html.contains("data-state=\"paid\"") && !html.contains("data-testid=\"reverse\""));
    let id = desk(&arena, &finance).await.payouts[0].id.to_string();
    let (page, _) = send("organizer-payout-reverse", &[("id", id.as_str()), ("reason", "typed twice")]).await;
    assert_eq!(page, PAGE);
    let html = arena.open(Some(&finance), PAGE).await.body;
    assert!(html.contains("data-state=\"reversed\"") && html.contains("typed twice"));
    assert!(html.contains("data-testid=\"record-form\""));
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_runs_the_installation_notes_lists_and_reverses_by_command() {
    let arena = Arena::web(Setup::default()).await;
    let finance = arena.member(Role::Finance).await;
    let owed = sold(&arena, &finance).await;
    let command = async |args: &[&str]| {
        let mut command = program(arena.settings());
        command.arg("payout").args(args).args(["--organization", ORGANIZATION]);
        run_to_end(command).await
    };
    let (amount, code) = (owed.decimal(), owed.currency.code().to_owned());
    let args = ["record", "--amount", &amount, "--currency", &code, "--day", DAY, "--reference", "RF1"];
    let (status, out, err) = command(&args).await;
    assert_eq!(status, Some(0), "{out}{err}");
    let id = out.trim().strip_prefix("payout ").unwrap().to_owned();
    let (status, out, err) = command(&["list"]).await;
    assert_eq!((status, out.trim()), (Some(0), &*format!("{id} {DAY} {owed} \"RF1\"")), "{err}");
    let (status, out, err) = command(&["reverse", &id, "--reason", "typed twice"]).await;
    assert_eq!(status, Some(0), "{out}{err}");
    let (status, out, err) = command(&["list"]).await;
    let expected = format!("owed {owed}\n{id} {DAY} {owed} \"RF1\" (reversed: \"typed twice\")");
    assert_eq!((status, out.trim()), (Some(0), &*expected), "{err}");
    assert_eq!(command(&["reverse", &id, "--reason", "again"]).await.0, Some(1));
    assert_eq!(desk(&arena, &finance).await.payouts[0].recorded_by, None);
    arena.finish().await;
}
