//! Numbers without gaps, what the documents behind them say, and who may read them.

use crate::arena::provider::GOOD_CARD;
use crate::arena::{Arena, Fan, SOON, Setup};
use domain::account::Role;
use domain::document::{DetailsView, DocumentKind, Issued, Receipt};
use domain::order::{OrderView, PayStarted};
use domain::{Code, OrderId};
use futures::StreamExt as _;
use serde_json::json;

const ALL: &str = "select count(*) from invoices";
/// Fans at the till at once.
const AT_ONCE: usize = 8;

async fn bought(arena: &Arena, seats: &str) -> (Fan, OrderView) {
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, seats).await;
    let order = arena.buy(&fan, held.order).await;
    (fan, order)
}

async fn numbered(arena: &Arena, count: i64) {
    eventually!(3 * SOON, format!("{count} documents have numbers"), arena.count(ALL).await == count);
}

async fn receipt(arena: &Arena, fan: &Fan, order: OrderId) -> Receipt {
    arena.call(Some(fan), "order-receipt", &[("id", &order.to_string())]).await.ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_orders_that_are_paid_at_once_get_the_numbers_from_1_to_200() {
    const ORDERS: usize = 200;
    let arena = Arena::web(Setup { seats: 600, ..Setup::default() }).await;
    let fans = arena.inside(ORDERS).await;
    futures::stream::iter(fans.iter().enumerate())
        .for_each_concurrent(AT_ONCE, |(seat, fan)| {
            let arena = &arena;
            async move {
                let held = arena.held(fan, &seat.to_string()).await;
                let started: PayStarted = arena.pay(fan, held.order).await.ok();
                assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
            }
        })
        .await;
    numbered(&arena, 200).await;
    assert_eq!(arena.count("select count(distinct number) from invoices").await, 200);
    assert_eq!(arena.count("select min(number) + max(number) from invoices").await, 201, "from 1 to 200");
    assert_eq!(arena.count("select count(distinct order_id) from invoices where kind = 'invoice'").await, 200);
    assert_eq!(arena.count("select last_number from invoice_sequences").await, 200);
    let odd = "select count(*) from invoices where label <> 'SA-' || to_char(to_timestamp(issued_ms / 1000.0)
               at time zone 'UTC', 'YYYY') || '-' || lpad(number::text, 6, '0')";
    assert_eq!(arena.count(odd).await, 0, "each reads as prefix, year and place");
    let other =
        "select count(*) from invoices i join orders o on o.id = i.order_id where i.gross_minor <> o.total_minor";
    assert_eq!(arena.count(other).await, 0, "each says what was paid");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_between_number_and_commit_no_number_is_lost() {
    let mut arena = Arena::web(Setup::default()).await;
    arena.restart_server(&[("STARARENA_FAULT_POINTS", "before-numbers-commit")]).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "1,2").await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    assert!(!arena.server().ended().await.success(), "killed");
    assert_eq!(arena.count(ALL).await, 0);
    assert_eq!(arena.count("select coalesce(max(last_number), 0) from invoice_sequences").await, 0);

    arena.start_server(&[]).await;
    arena.await_status(held.order, "fulfilled").await;
    numbered(&arena, 1).await;
    let (_, second) = bought(&arena, "3").await;
    numbered(&arena, 2).await;
    let number = "select number from invoices where order_id = $1";
    assert_eq!((arena.count_of(held.order, number).await, arena.count_of(second.id, number).await), (1, 2));
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receipt_is_its_buyers_alone_and_says_what_was_paid() {
    let arena = Arena::web(Setup::default()).await;
    let (fan, order) = bought(&arena, "10,11").await;
    let early = receipt(&arena, &fan, order.id).await;
    assert_eq!((early.kind, early.paper.total()), (DocumentKind::Invoice, order.total), "before or with its number");
    numbered(&arena, 1).await;
    let receipt = receipt(&arena, &fan, order.id).await;
    let issued = receipt.issued.expect("it has its number");
    assert!(issued.label.starts_with("SA-") && issued.label.ends_with("-000001"), "{}", issued.label);
    assert_eq!(issued.issued.zone, "UTC");
    assert_eq!(receipt.paper, early.paper, "the number changes nothing else");
    assert_eq!(receipt.paper.total(), order.total);
    assert_eq!(receipt.paper.buyer, fan.session.email);
    assert_eq!(
        (receipt.paper.seller.as_str(), receipt.paper.provider.as_str()),
        (crate::arena::ORGANIZATION, "sandbox")
    );
    let lines: i64 = receipt.paper.lines.iter().map(|line| line.amounts.gross_minor).sum();
    let taxes: i64 = receipt.paper.taxes.iter().map(|row| row.amounts.gross_minor).sum();
    assert_eq!((lines, taxes), (order.total.minor, order.total.minor));
    assert_eq!(receipt.paper.lines.iter().filter(|line| line.seat.is_some()).count(), 2);
    assert!(receipt.others.is_empty());

    let path = format!("/orders/{}/receipt", order.id);
    let page = arena.open(Some(&fan), &path).await;
    assert!(page.status == 200 && page.body.contains(&issued.label), "{}", page.status);
    assert!(page.body.contains("data-testid=\"receipt-line\"") && page.body.contains(&fan.session.email));
    assert_eq!(arena.open(None, &path).await.status, 401);
    let other = arena.one_inside().await;
    assert_eq!(arena.open(Some(&other), &path).await.status, 404);
    let form = [("id", &*order.id.to_string())];
    assert_eq!(arena.call(Some(&other), "order-receipt", &form).await.code(), Code::NotFound);
    let held = arena.held(&other, "20").await;
    let unpaid = [("id", &*held.order.to_string())];
    arena.await_status(held.order, "pending_payment").await;
    assert_eq!(arena.call(Some(&other), "order-receipt", &unpaid).await.code(), Code::NotFound, "nothing was paid");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn taxes_are_summed_by_their_rate() {
    let arena = Arena::web(Setup::default()).await;
    let (fan, order) = bought(&arena, "12,13").await;
    numbered(&arena, 1).await;
    let [first, second] = [&order.items[0], &order.items[1]];
    // The same order, billed with a tax of 19 % inside of its prices, and numbered once more.
    let net = |gross: i64| gross - (gross * 19 + 59) / 119;
    let mut tx = arena.pg.begin().await.unwrap();
    sqlx::query("delete from order_lines").execute(&mut *tx).await.unwrap();
    for item in [first, second] {
        let gross = item.price.minor;
        sqlx::query("insert into order_lines (order_id, kind, seat_no, net_minor, tax_minor, gross_minor) values ($1, 'ticket', $2, $3, $4, $5)")
            .bind(order.id.0)
            .bind(i32::try_from(item.seat.0).unwrap())
            .bind(net(gross))
            .bind(gross - net(gross))
            .bind(gross)
            .execute(&mut *tx)
            .await
            .unwrap();
    }
    for sql in [
        "insert into performance_fees select o.performance_id, o.price_version, o.currency, 0, 0, 0, 1900, 'inclusive',
            700, 'added', 0, 'inclusive' from orders o
            on conflict (performance_id, version) do update set ticket_tax_bp = excluded.ticket_tax_bp",
        "delete from invoices",
        "update invoice_sequences set last_number = 0",
        "update orders set invoiced_ms = null",
    ] {
        sqlx::query(sql).execute(&mut *tx).await.unwrap();
    }
    tx.commit().await.unwrap();
    numbered(&arena, 1).await;
    let paper = receipt(&arena, &fan, order.id).await.paper;
    assert_eq!(paper.taxes.len(), 1, "{:?}", paper.taxes);
    let (rate, amounts) = (paper.taxes[0].rate, paper.taxes[0].amounts);
    assert_eq!((rate.basis_points(), amounts), (1_900, paper.totals));
    assert_eq!(amounts.gross_minor, order.total.minor);
    assert_eq!(amounts.net_minor, net(first.price.minor) + net(second.price.minor));
    let page = arena.open(Some(&fan), &format!("/orders/{}/receipt", order.id)).await;
    assert!(page.body.contains("data-testid=\"tax-row\""));
    arena.finish().await;
}

/// Writes a refund of the order's payment as one that the provider made; answers its id.
async fn refunded(arena: &Arena, order: OrderId, minor: i64, cause: &str, parts: serde_json::Value) -> uuid::Uuid {
    let id = uuid::Uuid::now_v7();
    let done = sqlx::query(
        "insert into refunds (id, attempt_id, amount_minor, currency, reason, status, created_ms, next_try_ms, cause, parts)
         select $1, id, $2, currency, 'test', 'succeeded', created_ms, created_ms, $3, $4
         from attempts where order_id = $5 and status = 'captured'",
    )
    .bind(id)
    .bind(minor)
    .bind(cause)
    .bind(parts)
    .bind(order.0)
    .execute(&arena.pg)
    .await
    .unwrap();
    assert_eq!(done.rows_affected(), 1);
    id
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_goes_back_has_a_credit_note_and_only_once() {
    let arena = Arena::web(Setup::default()).await;
    let (fan, order) = bought(&arena, "14,15").await;
    numbered(&arena, 1).await;
    let ticket = &order.items[0];
    let minor = ticket.price.minor;
    let amounts = json!({ "net_minor": minor, "tax_minor": 0, "gross_minor": minor });
    let parts = json!([{ "kind": "ticket", "seat": ticket.seat, "amounts": amounts }]);
    let first = refunded(&arena, order.id, minor, "wish", parts.clone()).await;
    numbered(&arena, 2).await;
    let invoice = receipt(&arena, &fan, order.id).await;
    assert_eq!(invoice.kind, DocumentKind::Invoice, "the invoice stays what it was");
    let note = invoice.others[0].clone();
    assert!(note.kind == DocumentKind::CreditNote && note.label.ends_with("-000002"), "{note:?}");
    let form = [("id", &*order.id.to_string()), ("document", &*note.id.to_string())];
    let said: Receipt = arena.call(Some(&fan), "order-receipt", &form).await.ok();
    assert_eq!((said.kind, said.paper.totals.gross_minor), (DocumentKind::CreditNote, minor));
    assert_eq!(said.paper.of.as_deref(), invoice.issued.as_ref().map(|issued| issued.label.as_str()));
    assert_eq!(said.paper.lines[0].seat.as_ref().map(|seat| &seat.label), Some(&ticket.label));
    let page = arena.open(Some(&fan), &format!("/orders/{}/receipt?document={}", order.id, note.id)).await;
    assert!(page.status == 200 && page.body.contains("data-kind=\"credit_note\""), "{}", page.status);

    // It fails after all, and another refund follows in its place: that was said before.
    sqlx::query("update refunds set status = 'failed' where id = $1").bind(first).execute(&arena.pg).await.unwrap();
    refunded(&arena, order.id, minor, "wish", parts).await;
    // Money without a right to seats was never invoiced; a sum that nobody put down to lines is spread.
    refunded(&arena, order.id, 1, "late_money", json!([])).await;
    refunded(&arena, order.id, 100, "goodwill", json!([])).await;
    let undecided = "select count(*) from refunds where status = 'succeeded' and credited_ms is null";
    eventually!(SOON, "each is decided on", arena.count(undecided).await == 0);
    numbered(&arena, 3).await;
    assert_eq!(arena.count("select gross_minor from invoices where number = 3").await, 100);
    let noted = "select sum(gross_minor)::bigint from invoices where kind = 'credit_note'";
    assert_eq!(arena.count(noted).await, minor + 100, "what went back, once");

    // What the test wrote past the books goes again, and with it the numbers that it took.
    let mut tx = arena.pg.begin().await.unwrap();
    for sql in [
        "delete from invoices where kind = 'credit_note'",
        "delete from refunds",
        "update invoice_sequences set last_number = (select count(*) from invoices)",
    ] {
        sqlx::query(sql).execute(&mut *tx).await.unwrap();
    }
    tx.commit().await.unwrap();
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn finance_says_who_sells_and_keeps_the_list() {
    let arena = Arena::web(Setup::default()).await;
    let (finance, operator) = (arena.member(Role::Finance).await, arena.member(Role::Operator).await);
    let foreign = arena.member_of("Another Promoter", Role::Owner).await;
    let (_, first) = bought(&arena, "16").await;
    numbered(&arena, 1).await;
    let settings = async || -> DetailsView { arena.call(Some(&finance), "organizer-details", &[]).await.ok() };
    let before = settings().await;
    assert_eq!((before.version, before.last_number, before.newest.len()), (0, 1, 1));
    let form = |prefix: &'static str, version: &'static str| {
        [("address", "Main Street 1\r\n10115 Berlin"), ("tax_id", "DE 123"), ("prefix", prefix), ("version", version)]
    };
    let set = async |who: &Fan, prefix: &'static str, version: &'static str| {
        arena.call(Some(who), "organizer-details-set", &form(prefix, version)).await
    };
    assert_eq!(set(&operator, "HALL", "0").await.code(), Code::Forbidden);
    assert_eq!(set(&finance, "not a prefix", "0").await.code(), Code::InvalidInput);
    let () = set(&finance, "hall", "0").await.ok();
    assert_eq!(set(&finance, "LATE", "0").await.code(), Code::WrongState, "somebody changed it before");
    let () = set(&finance, "HALL", "1").await.ok();
    let after = settings().await;
    assert_eq!((after.version, after.details.address.as_str()), (2, "Main Street 1\n10115 Berlin"));
    assert!(after.next.starts_with("HALL-") && after.next.ends_with("-000002"), "{}", after.next);
    let changes = "select count(*) from audit_log where action = 'organization.details'";
    assert_eq!(arena.count(changes).await, 2);

    let (fan, second) = bought(&arena, "17").await;
    numbered(&arena, 2).await;
    let paper = receipt(&arena, &fan, second.id).await.paper;
    assert_eq!((paper.address.as_str(), paper.tax_id.as_str()), ("Main Street 1\n10115 Berlin", "DE 123"));
    let old = "select count(*) from invoices where number = 1 and paper ->> 'address' = '' and label like 'SA-%'";
    assert_eq!(arena.count(old).await, 1, "what has its number stays as it was");

    let csv = arena.open(Some(&finance), "/api/organizer-invoices").await;
    assert!(csv.status == 200 && csv.header("content-type").starts_with("text/csv"), "{}", csv.status);
    let rows: Vec<&str> = csv.body.lines().collect();
    assert_eq!(rows.len(), 3, "{}", csv.body);
    assert!(rows[0].starts_with("number,kind,") && rows[1].contains(&first.id.to_string()), "{}", csv.body);
    assert!(rows[2].starts_with(&after.next) && rows[2].ends_with(&second.total.decimal()), "{}", csv.body);
    let rest = arena.open(Some(&finance), "/api/organizer-invoices?after=1").await;
    assert_eq!(rest.body.lines().count(), 2);
    let none = arena.open(Some(&foreign), "/api/organizer-invoices").await;
    assert_eq!(none.body.lines().count(), 1, "another organization has documents of its own");
    assert_eq!(arena.open(Some(&fan), "/api/organizer-invoices").await.code(), Code::NotFound);
    assert_eq!(arena.open(None, "/api/organizer-invoices").await.code(), Code::SignInRequired);

    let of_order = [("order", &*second.id.to_string())];
    let listed: Vec<Issued> = arena.call(Some(&finance), "organizer-order-documents", &of_order).await.ok();
    assert_eq!(listed.iter().map(|row| row.label.as_str()).collect::<Vec<_>>(), [after.next.as_str()]);
    assert_eq!(arena.call(Some(&foreign), "organizer-order-documents", &of_order).await.code(), Code::NotFound);
    let page = arena.open(Some(&finance), "/organizer/settings/details").await;
    assert!(page.status == 200 && page.body.contains("data-testid=\"documents-csv\""), "{}", page.status);
    assert_eq!(arena.open(Some(&operator), "/organizer/settings/details").await.status, 403);
    assert_eq!(arena.open(Some(&fan), "/organizer/settings/details").await.status, 404);
    arena.finish().await;
}
