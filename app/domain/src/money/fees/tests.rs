//! Bills of known carts in currencies of every exponent, and sums of ten thousand that nobody chose.

use super::*;
use proptest::prelude::*;

fn currency(code: &str) -> Currency {
    code.parse().unwrap()
}

fn rate(basis_points: u32) -> Rate {
    basis_points.try_into().unwrap()
}

fn tax(basis_points: u32, mode: TaxMode) -> TaxRule {
    TaxRule { rate: rate(basis_points), mode }
}

fn seats(code: &str, prices: &[i64]) -> Vec<PricedSeat> {
    let seat =
        |(seat_no, minor): (u32, &i64)| PricedSeat { seat: SeatNo(seat_no), price: Money::new(*minor, currency(code)) };
    (0..).zip(prices).map(seat).collect()
}

/// Kind, net, tax and gross of each line.
fn told(bill: &Bill) -> Vec<(LineKind, i64, i64, i64)> {
    let told = |line: &Line| (line.kind, line.amounts.net_minor, line.amounts.tax_minor, line.amounts.gross_minor);
    bill.lines().iter().map(told).collect()
}

#[test]
fn two_tickets_in_euro_with_the_tax_inside() {
    let fees = FeeSchedule {
        service_fixed_minor: 100,
        service_rate: rate(250),
        order_fixed_minor: 199,
        ticket_tax: tax(700, TaxMode::Inclusive),
        service_tax: tax(1_900, TaxMode::Inclusive),
        order_tax: tax(1_900, TaxMode::Inclusive),
        ..FeeSchedule::none(currency("EUR"))
    };
    let bill = fees.bill(&seats("EUR", &[4_999, 1_234])).unwrap();
    // 4999 · 7/107 = 327.04; its fee 100 + 124.975 = 225, of which 225 · 19/119 = 35.92 is tax.
    assert_eq!(
        told(&bill),
        [
            (LineKind::Ticket, 4_672, 327, 4_999),
            (LineKind::ServiceFee, 189, 36, 225),
            (LineKind::Ticket, 1_153, 81, 1_234),
            (LineKind::ServiceFee, 110, 21, 131),
            (LineKind::OrderFee, 167, 32, 199),
        ]
    );
    assert_eq!(bill.totals(), Amounts { net_minor: 6_291, tax_minor: 497, gross_minor: 6_788 });
    assert_eq!(bill.total().to_string(), "EUR 67.88");
}

#[test]
fn tax_on_top_is_exact_in_the_currencys_own_digits() {
    for (code, price, basis_points, tax_minor) in [
        ("JPY", 5_000, 1_000, 500),
        ("JPY", 5_005, 1_000, 501),
        ("KWD", 1_235, 500, 62),
        ("CNY", 68_050, 600, 4_083),
        ("CLF", 10_001, 1_900, 1_900),
        ("EUR", 1, 1_900, 0),
        ("EUR", 50, 100, 1),
        ("EUR", 49, 100, 0),
    ] {
        let fees = FeeSchedule { ticket_tax: tax(basis_points, TaxMode::Added), ..FeeSchedule::none(currency(code)) };
        let bill = fees.bill(&seats(code, &[price])).unwrap();
        assert_eq!(told(&bill), [(LineKind::Ticket, price, tax_minor, price + tax_minor)], "{code} {price}");
    }
}

#[test]
fn what_is_given_away_has_no_fee() {
    let fees = FeeSchedule { service_fixed_minor: 100, order_fixed_minor: 50, ..FeeSchedule::none(currency("EUR")) };
    assert_eq!(told(&fees.bill(&seats("EUR", &[0, 0])).unwrap()).len(), 2, "two tickets alone");
    let kinds: Vec<LineKind> = fees.bill(&seats("EUR", &[0, 900])).unwrap().lines().iter().map(|l| l.kind).collect();
    assert_eq!(kinds, [LineKind::Ticket, LineKind::Ticket, LineKind::ServiceFee, LineKind::OrderFee]);
}

#[test]
fn what_does_not_fit_is_named() {
    let fees = FeeSchedule::none(currency("EUR"));
    assert_eq!(fees.bill(&[]), Err(BillError::Empty));
    let other = BillError::OtherCurrency { seat: SeatNo(0), found: currency("USD"), expected: currency("EUR") };
    assert_eq!(fees.bill(&seats("USD", &[1])), Err(other));
    for price in [-1, AMOUNT_MAX_MINOR + 1] {
        assert_eq!(fees.bill(&seats("EUR", &[1, price])), Err(BillError::OutOfRange(SeatNo(1))));
    }
    let twice = [seats("EUR", &[1]), seats("EUR", &[1])].concat();
    assert_eq!(fees.bill(&twice), Err(BillError::BadLine(1)));
    let bad = Line {
        kind: LineKind::Ticket,
        seat: Some(SeatNo(0)),
        amounts: Amounts { net_minor: 1, tax_minor: 1, gross_minor: 3 },
    };
    assert_eq!(Bill::of_lines(currency("EUR"), vec![bad]), Err(BillError::BadLine(0)));
    let negative = FeeSchedule { order_fixed_minor: -1, ..fees };
    assert!(negative.check().unwrap_err().message.starts_with("order_fixed_minor: "));
    assert!(fees.check().is_ok());
}

#[test]
fn a_rate_is_at_most_the_whole() {
    assert_eq!(Rate::try_from(10_000_u32), Ok(Rate::WHOLE));
    assert_eq!(Rate::try_from(10_001_u32), Err(NotARate(10_001)));
    assert!(serde_json::from_str::<Rate>("10001").is_err());
    assert_eq!(serde_json::from_str::<Rate>("1900").unwrap(), rate(1_900));
    assert_eq!(Rate::WHOLE.of(i64::MAX), i64::MAX);
}

#[test]
fn kinds_are_read_back() {
    for kind in LineKind::ALL {
        assert_eq!(LineKind::parse(kind.as_str()), Some(*kind));
    }
    assert_eq!(LineKind::parse("tip"), None);
}

fn any_tax() -> impl Strategy<Value = TaxRule> {
    let mode = prop::sample::select(vec![TaxMode::Inclusive, TaxMode::Added]);
    (0..=WHOLE_BASIS_POINTS, mode).prop_map(|(basis_points, mode)| tax(basis_points, mode))
}

fn any_fees() -> impl Strategy<Value = FeeSchedule> {
    let code = prop::sample::select(vec!["JPY", "EUR", "KWD", "CNY", "CLF"]);
    let amounts = (0..2_000_i64, 0..=WHOLE_BASIS_POINTS, 0..2_000_i64);
    (code, amounts, any_tax(), any_tax(), any_tax()).prop_map(|(code, amounts, ticket_tax, service_tax, order_tax)| {
        FeeSchedule {
            currency: currency(code),
            service_fixed_minor: amounts.0,
            service_rate: rate(amounts.1),
            order_fixed_minor: amounts.2,
            ticket_tax,
            service_tax,
            order_tax,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    /// Lines add up, totals are their sums, and giving all of it back piece by piece leaves no unit of
    /// net or tax behind, wherever it is cut.
    #[test]
    fn ten_thousand_carts_sum_to_the_minor_unit(
        fees in any_fees(),
        prices in prop::collection::vec(0..1_000_000_i64, 1..7),
        cuts in prop::collection::vec(0..=10_000_u64, 1..4),
    ) {
        let bill = fees.bill(&seats(fees.currency.code(), &prices)).unwrap();
        let mut sums = Amounts::default();
        for line in bill.lines() {
            prop_assert!(line.amounts.adds_up());
            sums = sums.checked_add(line.amounts).unwrap();
            let mut returned = Amounts::default();
            for cut in &cuts {
                let piece = share(line.amounts.gross_minor - returned.gross_minor, *cut, 10_000).unwrap();
                let part = line.amounts.part(returned.gross_minor, piece).unwrap();
                prop_assert!(part.adds_up());
                returned = returned.checked_add(part).unwrap();
            }
            let rest = line.amounts.gross_minor - returned.gross_minor;
            let last = line.amounts.part(returned.gross_minor, rest).unwrap();
            prop_assert!(last.adds_up());
            prop_assert_eq!(returned.checked_add(last), Some(line.amounts));
            prop_assert_eq!(line.amounts.part(0, line.amounts.gross_minor + 1), None);
        }
        prop_assert_eq!(sums, bill.totals());
        prop_assert!(bill.totals().adds_up());
        let stated: i64 = prices.iter().sum();
        prop_assert!(bill.totals().gross_minor >= stated);
    }
}

#[test]
fn rates_are_typed_in_per_cent() {
    for (text, basis_points) in [
        ("19", 1_900),
        (" 8.25 ", 825),
        ("8,25 %", 825),
        ("0.5", 50),
        ("100%", 10_000),
        ("", 0),
        (" ", 0),
        ("７％", 700),
    ] {
        assert_eq!(Rate::parse_percent(text), Ok(rate(basis_points)), "{text:?}");
    }
    for text in ["19.123", "x", "%", "-1", "1e1", "100.01", "1000", "99999999999"] {
        assert!(Rate::parse_percent(text).is_err(), "{text:?}");
    }
    for (basis_points, text) in [(1_900, "19"), (825, "8.25"), (50, "0.5"), (5, "0.05"), (0, "0"), (10_000, "100")] {
        assert_eq!(rate(basis_points).percent(), text);
        assert_eq!(Rate::parse_percent(text), Ok(rate(basis_points)));
    }
}

#[test]
fn a_schedule_that_leaves_orders_as_they_are_is_nothing() {
    let none = FeeSchedule::none(currency("EUR"));
    // Tax on a fee that nobody pays is no tax.
    assert!(FeeSchedule { service_tax: tax(1_900, TaxMode::Added), ..none }.is_nothing());
    assert!(none.is_nothing());
    for some in [
        FeeSchedule { service_fixed_minor: 1, ..none },
        FeeSchedule { service_rate: rate(1), ..none },
        FeeSchedule { order_fixed_minor: 1, ..none },
        FeeSchedule { ticket_tax: tax(1, TaxMode::Inclusive), ..none },
    ] {
        assert!(!some.is_nothing(), "{some:?}");
    }
}

#[test]
fn places_without_numbers_come_to_the_same_bill() {
    let fees = FeeSchedule { service_rate: rate(500), order_fixed_minor: 300, ..FeeSchedule::none(currency("EUR")) };
    let prices = [Money::new(5_000, currency("EUR")), Money::new(5_000, currency("EUR"))];
    assert_eq!(fees.bill_of_prices(&prices), fees.bill(&seats("EUR", &[5_000, 5_000])));
    assert_eq!(fees.bill_of_prices(&prices).unwrap().total().minor, 10_800);
}
