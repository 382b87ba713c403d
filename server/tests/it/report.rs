//! What organizers read about their money, where it did not all stay: sales with refunds, disputes and orders that
//! were never paid, on the page and as tables; and in currencies of every scale.

use crate::arena::provider::GOOD_CARD;
use crate::arena::{Arena, Fan, SOON, Setup, seats};
use crate::fees::{publish, save};
use crate::reconciliation::{keys, matched, report, sum, table};
use domain::account::Role;
use domain::hold::Held;
use domain::order::PayStarted;
use domain::{Money, OrderId, SeatNo};
use serde_json::json;
use std::collections::HashMap;

/// What a dispute costs here.
const DISPUTE_FEE_MINOR: i64 = 1_500;

async fn bought(arena: &Arena, fan: &Fan, seats: &str) -> (Held, PayStarted) {
    let held = arena.held(fan, seats).await;
    let started: PayStarted = arena.pay(fan, held.order).await.ok();
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    eventually!(2 * SOON, "the order is fulfilled", arena.status(held.order).await.as_deref() == Some("fulfilled"));
    (held, started)
}

/// Staff gives seats of an order back; the money is with the fan.
async fn given_back(arena: &Arena, owner: &Fan, order: OrderId, list: &[SeatNo]) {
    let asked = arena.backend.staff_refund(&owner.session, order, list, "").await.unwrap();
    arena.backend.decide_refund(&owner.session, asked.id, true, "").await.unwrap();
    let done = "select count(*) from refunds where order_id = $1 and status = 'succeeded'";
    eventually!(2 * SOON, "the money went back", arena.count_of(order, done).await == 1);
}

/// A bank takes all money of an order, and decides.
async fn disputed(arena: &Arena, order: OrderId, started: &PayStarted, outcome: &str) {
    let id = arena.provider().dispute(started, None).await;
    arena.provider().close_dispute(&id, outcome).await;
    let ended = async || -> i64 {
        let sql = "select count(*) from disputes where order_id = $1 and status = $2";
        sqlx::query_scalar(sql).bind(order.0).bind(outcome).fetch_one(&arena.pg).await.unwrap()
    };
    eventually!(SOON, format!("the dispute is {outcome}"), ended().await == 1);
}

/// A figure of the page, with what is around it.
fn figure<'a>(html: &'a str, name: &str) -> &'a str {
    let (_, rest) = html.split_once(&format!("data-testid=\"figure-{name}\"")).expect("the page has the figure");
    rest.split_once("</dd>").expect("it has an end").0
}

/// The amounts of a table are written with exactly the digits of their currency.
fn assert_written_out(rows: &[HashMap<String, String>], digits: usize) {
    for row in rows {
        let (minor, amount) = (&row["amount_minor"], &row["amount"]);
        assert_eq!(amount.split_once('.').map_or(0, |(_, fraction)| fraction.len()), digits, "{amount}");
        assert_eq!(amount.replace('.', "").parse::<i64>().unwrap(), minor.parse::<i64>().unwrap(), "{amount}");
    }
}

/// What the lines of orders come to: tickets and fees without tax, and the tax. Without seat 3, which went back.
async fn lines_of(arena: &Arena, orders: &[OrderId]) -> (i64, i64, i64) {
    let orders: Vec<uuid::Uuid> = orders.iter().map(|order| order.0).collect();
    sqlx::query_as(
        "select coalesce(sum(net_minor) filter (where kind = 'ticket'), 0)::bigint,
            coalesce(sum(net_minor) filter (where kind <> 'ticket'), 0)::bigint,
            coalesce(sum(tax_minor), 0)::bigint
         from order_lines where order_id = any($1) and seat_no is distinct from 3",
    )
    .bind(orders)
    .fetch_one(&arena.pg)
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gross_refunds_disputes_and_net_are_those_of_the_money_and_an_unpaid_order_is_in_none() {
    let mut arena = Arena::web(Setup::default()).await;
    arena.provider().switch(json!({ "fee_basis_points": 150, "dispute_fee_minor": DISPUTE_FEE_MINOR })).await;
    let (owner, finance) = (arena.member(Role::Owner).await, arena.member(Role::Finance).await);
    let fees = [
        ("currency", "EUR"),
        ("service_rate", "7,5 %"),
        ("order_fixed", "2,50"),
        ("ticket_tax", "19"),
        ("service_tax", "19"),
        ("service_mode", "added"),
        ("order_tax", "7"),
    ];
    assert_eq!(save(&arena, &owner, 0, &fees).await.ok::<String>(), "EUR");
    arena.performance = publish(&arena, "House of reports", "EUR", 4_550).await;
    let fans = arena.inside(6).await;
    let orders = [(0_usize, "1,2"), (1, "3,4"), (2, "5,6"), (3, "7,8"), (4, "9,10")];
    let orders = orders.map(|(fan, seats)| bought(&arena, &fans[fan], seats));
    let orders = futures::future::join_all(orders).await;
    let [(kept, _), (part, part_paid), (whole, _), (won, won_paid), (lost, lost_paid)] = &orders[..] else {
        panic!("five orders")
    };
    let never_paid = arena.held(&fans[5], "11,12").await;
    arena.await_status(never_paid.order, "pending_payment").await;
    let cancelled = [("order", &*never_paid.order.to_string())];
    let () = arena.call(Some(&fans[5]), "order-cancel", &cancelled).await.ok();
    given_back(&arena, &owner, part.order, &seats(&[3])).await;
    given_back(&arena, &owner, whole.order, &whole.seats).await;
    disputed(&arena, won.order, won_paid, "won").await;
    disputed(&arena, lost.order, lost_paid, "lost").await;
    matched(&arena).await;
    assert_eq!(keys(&matched(&arena).await), [""; 0], "fees are posted, and nothing else is found");

    let total = kept.total.minor;
    let (captured, disputed) = (5 * total, total);
    let refunded = arena.provider().refunded(part_paid).await + total;
    let costs = 5 * ((total * 150 + 5_000) / 10_000) + 2 * DISPUTE_FEE_MINOR;
    let told = report(&arena, &finance, &[]).await;
    assert_eq!(told.currencies.len(), 1);
    let books = &told.currencies[0];
    let figures = books.figures;
    assert_eq!((figures.captured_minor, figures.refunded_minor), (captured, refunded));
    assert_eq!((figures.disputed_minor, figures.provider_fees_minor), (disputed, costs));
    assert_eq!((figures.waiting_minor, figures.late_minor), (0, 0));
    let net = captured - refunded - disputed;
    assert_eq!(figures.owed_minor + figures.fees_minor + figures.tax_minor, net, "the net is shared out");
    let stays = lines_of(&arena, &[kept.order, part.order, won.order]).await;
    assert_eq!((figures.owed_minor, figures.fees_minor, figures.tax_minor), stays, "as the lines that stay say");
    assert_eq!(books.performances.len(), 1);
    let (performance, whole_house) = (books.performances[0].performance, books.performances[0].figures);
    assert_eq!((performance, whole_house), (Some(arena.performance), figures));
    let (debit, credit) = books.sides_minor();
    assert_eq!(debit, credit);

    let postings = table(&arena, &finance, "postings").await;
    assert_written_out(&postings, 2);
    let of = |source: &str| {
        let rows = postings.iter().filter(|row| row["account"] == "provider_clearing");
        sum(rows.filter(|row| row["source"].split(':').next() == Some(source)).map(|row| &*row["amount_minor"]))
    };
    assert_eq!((of("capture"), of("refund"), of("provider-fee")), (captured, -refunded, -costs));
    assert_eq!((of("dispute"), of("dispute-won")), (-2 * total, total));
    assert_eq!(sum(postings.iter().map(|row| &*row["amount_minor"])), 0);
    assert!(postings.iter().all(|row| row["order"] != never_paid.order.to_string()), "it moved no money");
    let lines = table(&arena, &finance, "match").await;
    let listed = |movement: &str, column: &str| {
        sum(lines.iter().filter(|row| row["movement"] == movement).map(|row| &*row[column]))
    };
    assert_eq!((listed("charge", "gross_minor"), listed("refund", "gross_minor")), (captured, -refunded));
    let disputes = listed("dispute", "gross_minor") + listed("dispute_reversal", "gross_minor");
    assert_eq!((disputes, listed("fee", "net_minor")), (-disputed, -2 * DISPUTE_FEE_MINOR));
    let html = arena.open(Some(&finance), "/organizer/money").await.body;
    for (name, minor) in
        [("captured", captured), ("refunded", refunded), ("disputed", disputed), ("provider-fees", costs)]
    {
        let amount = format!("€{}", Money::new(minor, kept.total.currency).decimal());
        assert!(figure(&html, name).contains(&amount), "{name}: {amount} in {}", figure(&html, name));
    }
    arena.finish().await;
}

/// A currency with the price of a seat, what the provider takes of two, and texts of one seat and of two.
struct Case {
    currency: &'static str,
    digits: usize,
    price: i64,
    fee: i64,
    one: &'static str,
    two: &'static str,
}

const CASES: [Case; 2] = [
    // 1.5 % of 10000 are 150, and one unit more.
    Case { currency: "JPY", digits: 0, price: 5_000, fee: 151, one: "¥5,000", two: "¥10,000" },
    // 1.5 % of 24690 are 370.35.
    Case { currency: "KWD", digits: 3, price: 12_345, fee: 371, one: "KWD\u{a0}12.345", two: "KWD\u{a0}24.690" },
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn yen_and_dinars_are_exact_on_pages_in_settlements_in_the_report_and_in_tables() {
    let mut arena = Arena::web(Setup::default()).await;
    arena.provider().switch(json!({ "fee_basis_points": 150, "fee_fixed_minor": 1 })).await;
    let (owner, finance) = (arena.member(Role::Owner).await, arena.member(Role::Finance).await);
    for case in &CASES {
        arena.performance = publish(&arena, &format!("House of {}", case.currency), case.currency, case.price).await;
        let fan = arena.one_inside().await;
        let held = arena.held(&fan, "1,2").await;
        arena.await_status(held.order, "pending_payment").await;
        let page = format!("/orders/{}", held.order);
        let html = arena.open(Some(&fan), &page).await.body;
        assert!(html.contains(case.one) && html.contains(case.two), "{}: prices and total", case.currency);
        arena.buy(&fan, held.order).await;
        let receipt = arena.open(Some(&fan), &format!("{page}/receipt")).await.body;
        assert!(receipt.contains(case.two), "{}: the receipt", case.currency);
        given_back(&arena, &owner, held.order, &seats(&[1])).await;
    }
    matched(&arena).await;
    assert_eq!(keys(&matched(&arena).await), [""; 0], "fees are posted, and nothing else is found");

    let told = report(&arena, &finance, &[]).await;
    let (postings, lines) = (table(&arena, &finance, "postings").await, table(&arena, &finance, "match").await);
    let html = arena.open(Some(&finance), "/organizer/money").await.body;
    assert_eq!(told.currencies.len(), CASES.len(), "nothing is added up over currencies");
    for case in &CASES {
        let (code, two) = (case.currency, 2 * case.price);
        let sides: Vec<(i64, i64, i64)> = sqlx::query_as(
            "select gross_minor, fee_minor, net_minor from settlement_lines where currency = $1 order by gross_minor",
        )
        .bind(code)
        .fetch_all(&arena.pg)
        .await
        .unwrap();
        assert_eq!(sides, [(-case.price, 0, -case.price), (two, case.fee, two - case.fee)], "{code}: settled");
        let books = told.currencies.iter().find(|books| books.currency.code() == code).unwrap();
        let figures = books.figures;
        let shown = (figures.captured_minor, figures.refunded_minor, figures.owed_minor, figures.provider_fees_minor);
        assert_eq!(shown, (two, case.price, case.price, case.fee), "{code}: the report");

        let own: Vec<HashMap<String, String>> =
            postings.iter().filter(|row| row["currency"] == code).cloned().collect();
        assert_written_out(&own, case.digits);
        assert_eq!(sum(own.iter().map(|row| &*row["amount_minor"])), 0, "{code}");
        let clearing = own.iter().filter(|row| row["account"] == "provider_clearing");
        let left = case.price - case.fee;
        assert_eq!(sum(clearing.map(|row| &*row["amount_minor"])), left, "{code}: what is left there");
        let own = lines.iter().filter(|row| row["currency"] == code);
        assert_eq!(sum(own.map(|row| &*row["net_minor"])), left, "{code}: as the provider has it");

        let start = format!("data-currency=\"{code}\"");
        let (_, section) = html.split_once(&start).expect("the page has the currency");
        assert!(figure(section, "captured").contains(case.two), "{code}: {}", figure(section, "captured"));
        assert!(figure(section, "refunded").contains(case.one), "{code}: {}", figure(section, "refunded"));
    }
    arena.finish().await;
}
