//! Fees and tax from the organizer's form to the charge: what a hold says is what the lines say, what
//! the checkout says, and what the provider takes.

use crate::arena::provider::GOOD_CARD;
use crate::arena::{Arena, Fan, Reply, SOON, Setup, seats};
use domain::account::Role;
use domain::hold::Held;
use domain::money::fees::{FeeSchedule, PricedSeat};
use domain::order::{OrderView, PayStarted};
use domain::organizer::fees::{FeesEntry, FeesForm};
use domain::organizer::pricing::PricingView;
use domain::organizer::search::OrderStory;
use domain::venue::generate;
use domain::{Code, Currency, Money, OrderId, PerformanceId, SeatNo};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// Saves the form of a currency.
pub(crate) async fn save(arena: &Arena, who: &Fan, version: i32, fields: &[(&str, &str)]) -> Reply {
    let version = version.to_string();
    let names: Vec<String> = fields.iter().map(|(name, _)| format!("form[{name}]")).collect();
    let mut form = vec![("version", version.as_str())];
    form.extend(names.iter().map(String::as_str).zip(fields.iter().map(|(_, value)| *value)));
    arena.call(Some(who), "organizer-fees-save", &form).await
}

/// A sale of the same organization that is published now: every seat at this price.
pub(crate) async fn publish(arena: &Arena, house: &str, currency: &str, price: i64) -> PerformanceId {
    let currency: Currency = currency.parse().unwrap();
    let plan = generate::arena(generate::MIN_ARENA_SEATS, house);
    let id = arena
        .backend
        .seed_sale(plan, house, |sale| {
            sale.currency = currency;
            sale.release_per_min = 600_000;
            for (_, amount) in &mut sale.prices {
                *amount = price;
            }
        })
        .await
        .unwrap();
    eventually!(SOON, "the seats are built", arena.backend.watch(id).await.is_ok());
    id
}

async fn view(arena: &Arena, fan: &Fan, order: OrderId) -> OrderView {
    arena.order(fan, order).await.ok()
}

async fn lines_sum(arena: &Arena, order: OrderId) -> i64 {
    arena.count_of(order, "select coalesce(sum(gross_minor), 0)::bigint from order_lines where order_id = $1").await
}

/// A currency with its fees, the price of every seat, and what two seats then come to.
struct Case {
    currency: &'static str,
    fees: &'static [(&'static str, &'static str)],
    price: i64,
    /// Total, fees as stated, tax on top, all tax.
    told: [i64; 4],
}

const CASES: [Case; 3] = [
    Case {
        currency: "JPY",
        fees: &[
            ("service_fixed", "110"),
            ("service_rate", "3"),
            ("order_fixed", "220"),
            ("ticket_tax", "10"),
            ("service_tax", "10"),
            ("service_mode", "added"),
            ("order_tax", "10"),
            ("order_mode", "added"),
        ],
        price: 5_000,
        // Two fees of 110 + 150 and one of 220, with 26, 26 and 22 on top; 5000 · 10/110 = 454.5 inside, twice.
        told: [10_814, 740, 74, 74 + 2 * 455],
    },
    Case {
        currency: "EUR",
        fees: &[
            ("service_rate", "7,5 %"),
            ("order_fixed", "2,50"),
            ("ticket_tax", "19"),
            ("ticket_mode", "added"),
            ("service_tax", "19"),
            ("service_mode", "added"),
            ("order_tax", "19"),
            ("order_mode", "added"),
        ],
        price: 4_550,
        // 864.5 on each ticket; fees of 341.25 with 64.79; 250 with 47.5.
        told: [11_940, 932, 2 * 865 + 2 * 65 + 48, 2 * 865 + 2 * 65 + 48],
    },
    Case {
        currency: "KWD",
        fees: &[
            ("service_fixed", "0.500"),
            ("order_fixed", "1.000"),
            ("ticket_tax", "5"),
            ("service_tax", "5"),
            ("order_tax", "5"),
        ],
        price: 12_345,
        // Inside: 12345 · 5/105 = 587.86 and 500 · 5/105 = 23.81, twice; 1000 · 5/105 = 47.62.
        told: [26_690, 2_000, 0, 2 * 588 + 2 * 24 + 48],
    },
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_told_before_the_hold_is_what_is_charged_in_every_currency() {
    let mut arena = Arena::web(Setup::default()).await;
    let owner = arena.member(Role::Owner).await;
    for case in CASES {
        let fields: Vec<(&str, &str)> =
            std::iter::once(("currency", case.currency)).chain(case.fees.iter().copied()).collect();
        assert_eq!(save(&arena, &owner, 0, &fields).await.ok::<String>(), case.currency);
        arena.performance = publish(&arena, &format!("House of {}", case.currency), case.currency, case.price).await;
        let id = arena.performance;

        // What the basket computes in the browser, from what its page is given.
        let shown = arena.backend.performance(id).await.unwrap();
        let currency: Currency = case.currency.parse().unwrap();
        let price = Money::new(case.price, currency);
        assert_eq!(shown.zones[0].price, Some(price), "zones show stated prices");
        let total = shown.fees.unwrap().bill_of_prices(&[price, price]).unwrap().total();
        let [expected, fees, added, tax] = case.told;
        assert_eq!(total.minor, expected, "{}", case.currency);

        let fan = arena.one_inside().await;
        let held = arena.held(&fan, "0,1").await;
        assert_eq!(held.total, total, "the hold");
        let again: Option<Held> = arena.call(Some(&fan), "my-hold", &[("performance", &id.to_string())]).await.ok();
        assert_eq!(again.unwrap().total, total, "the own hold, found again");
        let early = view(&arena, &fan, held.order).await;
        arena.await_status(held.order, "pending_payment").await;
        let order = view(&arena, &fan, held.order).await;
        assert_eq!((early.total, &early.charges), (order.total, &order.charges), "before and after it is written");
        let charges = order.charges.unwrap();
        assert_eq!((order.total, charges.total), (total, total), "the checkout");
        assert_eq!((charges.fees().minor, charges.tax_added().minor), (fees, added));
        assert_eq!(charges.taxes.iter().map(|sum| sum.amount.minor).sum::<i64>(), tax);
        assert_eq!(lines_sum(&arena, held.order).await, total.minor, "the lines");
        let page = arena.open(Some(&fan), &format!("/orders/{}", held.order)).await;
        assert!(page.status == 200 && page.body.contains("data-testid=\"charges\""), "the page says what is in it");

        let started: PayStarted = arena.pay(&fan, held.order).await.ok();
        let payments = arena.provider().payments(&started).await;
        assert_eq!((payments.len(), payments[0]["amount"].as_i64()), (1, Some(total.minor)), "the provider");
        assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
        arena.await_status(held.order, "fulfilled").await;
        assert_eq!(view(&arena, &fan, held.order).await.total, total, "the paid order");
        let told = arena.call(Some(&owner), "organizer-order", &[("id", &held.order.to_string())]).await;
        let story: OrderStory = told.ok();
        assert_eq!((story.head.total, story.head.charges), (total, Some(charges)), "the organizer's view");
    }
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_change_of_prices_or_fees_reaches_an_order_or_what_is_published() {
    let mut arena = Arena::web(Setup::default()).await;
    let owner = arena.member(Role::Owner).await;
    // Published before there were any fees.
    let plain = arena.one_inside().await;
    let old = arena.held(&plain, "0").await;
    let schedule = [("currency", "EUR"), ("service_fixed", "1"), ("order_fixed", "2")];
    assert_eq!(save(&arena, &owner, 0, &schedule).await.ok::<String>(), "EUR");
    let house = "House of fees";
    let (first, id) = (arena.performance, publish(&arena, house, "EUR", 5_000).await);
    arena.performance = id;
    let fans = arena.inside(2).await;
    let before = arena.held(&fans[0], "0,1").await;
    assert_eq!(before.total.minor, 2 * 5_100 + 200);
    arena.await_status(before.order, "pending_payment").await;

    let sheet: PricingView = arena.call(Some(&owner), "organizer-prices", &[("id", &id.to_string())]).await.ok();
    let (id_text, count) = (id.to_string(), sheet.zones.len());
    let mut form = vec![("id", id_text.as_str()), ("version", "1")];
    form.extend(std::iter::repeat_n(("prices[]", "60"), count));
    let () = arena.call(Some(&owner), "organizer-prices-change", &form).await.ok();
    let dearer = [("currency", "EUR"), ("service_fixed", "9"), ("ticket_tax", "10"), ("ticket_mode", "added")];
    assert_eq!(save(&arena, &owner, 0, &dearer).await.code(), Code::WrongState, "there is a schedule already");
    assert_eq!(save(&arena, &owner, 1, &dearer).await.ok::<String>(), "EUR");
    assert_eq!(save(&arena, &owner, 1, &dearer).await.code(), Code::WrongState, "somebody was quicker");

    let order = view(&arena, &fans[0], before.order).await;
    assert_eq!(order.total, before.total, "an order keeps its prices and its fees");
    assert_eq!(lines_sum(&arena, before.order).await, before.total.minor);
    let mut newer;
    eventually!(SOON, "new holds have the new prices with the fees of the publication", {
        let held = arena.held(&fans[1], "2").await;
        arena.await_status(held.order, "pending_payment").await;
        let version = arena.count_of(held.order, "select price_version::bigint from orders where id = $1").await;
        let () = arena.call(Some(&fans[1]), "hold-release", &[("order", &held.order.to_string())]).await.ok();
        newer = held;
        version == 2
    });
    assert_eq!(newer.total.minor, 6_000 + 100 + 200);
    assert_eq!(lines_sum(&arena, newer.order).await, newer.total.minor, "also of an order that has ended");
    let paid = arena.buy(&fans[0], before.order).await;
    assert_eq!(paid.total, before.total);
    assert_eq!(
        arena.count("select count(*) from performance_fees where performance_id = $1").await,
        2,
        "each version of the prices has its schedule"
    );

    // What was published without fees stays without, to the last row.
    arena.performance = first;
    let (none, order) = (lines_sum(&arena, old.order).await, view(&arena, &plain, old.order).await);
    assert_eq!((none, order.charges), (0, None));
    assert_eq!(order.total, order.items[0].price);

    let later = publish(&arena, "House of later", "EUR", 5_000).await;
    let shown = arena.backend.performance(later).await.unwrap().fees.unwrap();
    let price = Money::new(5_000, shown.currency);
    assert_eq!(shown.bill_of_prices(&[price]).unwrap().total().minor, 5_000 + 500 + 900);
    // Zeros take the fees back, for what comes.
    assert_eq!(save(&arena, &owner, 2, &[("currency", "EUR")]).await.ok::<String>(), "EUR");
    let without = publish(&arena, "House without", "EUR", 5_000).await;
    assert_eq!(arena.backend.performance(without).await.unwrap().fees, None);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_input_names_its_field_and_changes_nothing() {
    let arena = Arena::web(Setup::default()).await;
    let finance = arena.member(Role::Finance).await;
    for (currency, field, text) in [
        ("XXX", "currency", "XXX"),
        ("", "currency", ""),
        ("JPY", "service_fixed", "1.5"),
        ("EUR", "service_fixed", "1.005"),
        ("EUR", "service_fixed", "-1"),
        ("KWD", "order_fixed", "1,234"),
        ("EUR", "order_fixed", "<script>"),
        ("EUR", "order_fixed", "99999999999999999999"),
        ("EUR", "service_rate", "100.01"),
        ("EUR", "service_rate", "NaN"),
        ("EUR", "ticket_tax", "8.875"),
        ("EUR", "ticket_mode", "both"),
        ("EUR", "service_tax", "19 percent"),
        ("EUR", "service_mode", "Added"),
        ("EUR", "order_tax", "1e1"),
        ("EUR", "order_mode", "\u{0}"),
    ] {
        let mut fields = vec![("currency", currency)];
        if field != "currency" {
            fields.push((field, text));
        }
        let refused = save(&arena, &finance, 0, &fields).await.refusal();
        assert_eq!(refused.code, Code::InvalidInput, "{field} {text:?}");
        assert!(refused.message.starts_with(&format!("{field}: ")), "{field} {text:?}: {}", refused.message);
    }
    let operator = arena.member(Role::Operator).await;
    assert_eq!(save(&arena, &operator, 0, &[("currency", "EUR")]).await.code(), Code::Forbidden);
    assert_eq!(arena.count("select count(*) from organization_fees").await, 0);
    assert_eq!(arena.count("select count(*) from audit_log where action = 'fees.edit'").await, 0);

    let good = [("currency", "kwd"), ("service_fixed", "0,500"), ("ticket_tax", "5 %")];
    assert_eq!(save(&arena, &finance, 0, &good).await.ok::<String>(), "KWD");
    let list: Vec<FeesEntry> = arena.call(Some(&finance), "organizer-fees", &[]).await.ok();
    assert_eq!((list.len(), list[0].version, list[0].schedule.service_fixed_minor), (1, 1, 500));
    assert_eq!(arena.count("select count(*) from audit_log where action = 'fees.edit'").await, 1);
    let page = arena.open(Some(&finance), "/organizer/settings/fees").await;
    assert_eq!(page.status, 200);
    for part in ["value=\"0.500\"", "value=\"5\"", "KWD\u{a0}50.000", "data-testid=\"fees-example\""] {
        assert!(page.body.contains(part), "{part}");
    }
    arena.finish().await;
}

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

/// Fans, and how many carts each of them fills and gives back.
const FANS: usize = 6;
const CARTS: usize = 50;
/// Seats that a fan chooses from, so that no two meet.
const OWN_SEATS: usize = 30;

/// Kind, seat, net, tax, gross.
type Row = (String, Option<i32>, i64, i64, i64);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_hundred_carts_come_to_the_same_in_the_domain_and_in_postgres() {
    let mut arena = Arena::bare(Setup::default()).await;
    let owner = arena.member(Role::Owner).await;
    let form = FeesForm {
        currency: "EUR".to_owned(),
        service_fixed: "0.37".to_owned(),
        service_rate: "3.33".to_owned(),
        order_fixed: "1.99".to_owned(),
        ticket_tax: "7".to_owned(),
        service_tax: "19".to_owned(),
        service_mode: "added".to_owned(),
        order_tax: "8.25".to_owned(),
        ..FeesForm::default()
    };
    let schedule = form.schedule().unwrap();
    arena.backend.save_fees(&owner.session, 0, &form).await.unwrap();
    let mut dice = Dice(31);
    let plan = generate::arena(generate::MIN_ARENA_SEATS, "House of carts");
    let odd: Vec<i64> = (0..64).map(|_| 1 + i64::try_from(dice.below(20_000)).unwrap()).collect();
    let sale = arena.backend.seed_sale(plan, "House of carts", |sale| {
        sale.release_per_min = 600_000;
        for ((_, amount), odd) in sale.prices.iter_mut().zip(odd) {
            *amount = odd;
        }
    });
    arena.performance = sale.await.unwrap();
    eventually!(SOON, "the seats are built", arena.backend.watch(arena.performance).await.is_ok());

    let mut told: BTreeMap<Uuid, i64> = BTreeMap::new();
    for (at, fan) in arena.inside(FANS).await.iter().enumerate() {
        for cart in 0..CARTS {
            let wanted: BTreeSet<u32> =
                (0..=dice.below(6)).map(|_| u32::try_from(at * OWN_SEATS + dice.below(OWN_SEATS)).unwrap()).collect();
            let list: Vec<u32> = wanted.into_iter().collect();
            let held = arena.take(fan, &list, &format!("cart-{at}-{cart}")).await.unwrap();
            assert_eq!(held.seats, seats(&list));
            told.insert(held.order.0, held.total.minor);
            arena.give_back(fan, held.order).await.unwrap();
        }
    }
    assert_eq!(told.len(), FANS * CARTS);
    let written = "select count(*) from orders where performance_id = $1";
    let all = i64::try_from(told.len()).unwrap();
    eventually!(SOON, "every cart is written", arena.count(written).await == all);

    let found = rows_of(&arena).await;
    let billed = bills_of(&arena, &schedule).await;
    assert_eq!(found.len(), told.len());
    for (order, total) in &told {
        let (bill, rows) = &billed[order];
        assert_eq!(bill, total, "{order}");
        assert_eq!(rows, &found[order], "{order}");
        assert_eq!(found[order].iter().map(|row| row.4).sum::<i64>(), *total, "{order}");
    }
    let totals: i64 = told.values().sum();
    let sum = "select sum(total_minor)::bigint from orders where performance_id = $1";
    assert_eq!(arena.count(sum).await, totals);
    arena.finish().await;
}

/// The lines in Postgres by order.
async fn rows_of(arena: &Arena) -> BTreeMap<Uuid, BTreeSet<Row>> {
    let rows: Vec<(Uuid, String, Option<i32>, i64, i64, i64)> = sqlx::query_as(
        "select l.order_id, l.kind, l.seat_no, l.net_minor, l.tax_minor, l.gross_minor
         from order_lines l join orders o on o.id = l.order_id where o.performance_id = $1",
    )
    .bind(arena.performance.0)
    .fetch_all(&arena.pg)
    .await
    .unwrap();
    let mut found: BTreeMap<Uuid, BTreeSet<Row>> = BTreeMap::new();
    for (order, kind, seat, net, tax, gross) in rows {
        assert!(found.entry(order).or_default().insert((kind, seat, net, tax, gross)));
    }
    found
}

/// The bills of all orders, from the stated prices of their items: total and lines.
async fn bills_of(arena: &Arena, schedule: &FeeSchedule) -> BTreeMap<Uuid, (i64, BTreeSet<Row>)> {
    let items: Vec<(Uuid, i32, i64)> = sqlx::query_as(
        "select i.order_id, i.seat_no, i.amount_minor from order_items i join orders o on o.id = i.order_id
         where o.performance_id = $1 order by i.order_id, i.seat_no",
    )
    .bind(arena.performance.0)
    .fetch_all(&arena.pg)
    .await
    .unwrap();
    let mut carts: BTreeMap<Uuid, Vec<PricedSeat>> = BTreeMap::new();
    for (order, seat, minor) in items {
        let seat = SeatNo(u32::try_from(seat).unwrap());
        carts.entry(order).or_default().push(PricedSeat { seat, price: Money::new(minor, schedule.currency) });
    }
    let row = |line: &domain::money::fees::Line| -> Row {
        let seat = line.seat.map(|seat| i32::try_from(seat.0).unwrap());
        let amounts = line.amounts;
        (line.kind.as_str().to_owned(), seat, amounts.net_minor, amounts.tax_minor, amounts.gross_minor)
    };
    carts
        .into_iter()
        .map(|(order, cart)| {
            let bill = schedule.bill(&cart).unwrap();
            (order, (bill.total().minor, bill.lines().iter().map(row).collect()))
        })
        .collect()
}
