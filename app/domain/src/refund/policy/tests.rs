//! What fans get by wish, what everybody gets when a performance is cancelled, and that no unit is lost.

use super::*;
use crate::money::fees::{Bill, FeeSchedule, PricedSeat, TaxMode, TaxRule};
use crate::refund::import::{parts_of, seats_of};
use crate::refund::{RefundEvent, RefundStatus, transition};
use proptest::prelude::*;
use uuid::Uuid;

const STARTS: Millis = Millis(100 * DAY_MS);

fn rate(basis_points: u32) -> Rate {
    basis_points.try_into().unwrap()
}

fn eur() -> Currency {
    "EUR".parse().unwrap()
}

fn policy() -> RefundPolicy {
    RefundPolicy {
        ends_before_start_ms: Some(2 * DAY_MS),
        tiers: vec![Tier { days_left: 30, kept: Rate::NONE }, Tier { days_left: 7, kept: rate(2_500) }],
        returns_service_fee: false,
        returns_order_fee: true,
    }
}

fn bill(prices: &[i64]) -> Bill {
    bill_with(prices, TaxRule { rate: rate(1_900), mode: TaxMode::Inclusive })
}

fn bill_with(prices: &[i64], tax: TaxRule) -> Bill {
    let fees = FeeSchedule {
        service_fixed_minor: 150,
        order_fixed_minor: 99,
        ticket_tax: tax,
        service_tax: tax,
        order_tax: tax,
        ..FeeSchedule::none(eur())
    };
    let seat = |(seat_no, minor): (u32, &i64)| PricedSeat { seat: SeatNo(seat_no), price: Money::new(*minor, eur()) };
    fees.bill(&(0..).zip(prices).map(seat).collect::<Vec<_>>()).unwrap()
}

fn order(prices: &[i64]) -> RefundableOrder {
    order_of(&bill(prices))
}

fn order_of(bill: &Bill) -> RefundableOrder {
    let line = |line: &Line| OrderLine { line: *line, returned: Amounts::default(), given_back: false };
    RefundableOrder {
        order: OrderId(Uuid::from_u128(1)),
        currency: bill.currency(),
        lines: bill.lines().iter().map(line).collect(),
        balance: RefundBalance { captured_minor: bill.totals().gross_minor, ..RefundBalance::default() },
    }
}

fn terms(cause: Cause, policy: &RefundPolicy, days_left: i64) -> Terms<'_> {
    Terms { cause, policy, now: STARTS.plus(-days_left * DAY_MS), starts: STARTS }
}

fn seats(seats: &[u32]) -> Scope {
    Scope::Seats(seats.iter().copied().map(SeatNo).collect())
}

/// Kind, seat and gross of each part.
fn told(quote: &Quote) -> Vec<(LineKind, Option<u32>, i64)> {
    quote.parts.iter().map(|part| (part.kind, part.seat.map(|seat| seat.0), part.amounts.gross_minor)).collect()
}

/// Books a quote as reserved or done.
fn apply(order: &mut RefundableOrder, quote: &Quote) {
    for part in &quote.parts {
        let line = order.lines.iter_mut().find(|l| (l.line.kind, l.line.seat) == (part.kind, part.seat)).unwrap();
        line.returned = line.returned.checked_add(part.amounts).unwrap();
    }
    for line in &mut order.lines {
        line.given_back |= line.line.seat.is_some_and(|seat| quote.seats.contains(&seat));
    }
    order.balance = order.balance.reserve(quote.totals.gross_minor).unwrap();
}

#[test]
fn the_days_that_are_left_decide_what_is_kept() {
    let policy = policy();
    for (days_left, kept) in [(60, 0), (30, 0), (29, 2_500), (7, 2_500), (6, 10_000), (3, 10_000)] {
        let terms = terms(Cause::Wish, &policy, days_left);
        assert_eq!(policy.kept(terms.now, STARTS), Ok(rate(kept)), "{days_left} days");
    }
    let last = STARTS.plus(-2 * DAY_MS);
    assert!(policy.kept(last.plus(-1), STARTS).is_ok());
    assert_eq!(policy.kept(last, STARTS).unwrap_err().code, Code::WrongState);
    let never = RefundPolicy::default();
    assert_eq!(never.kept(Millis(0), STARTS).unwrap_err().code, Code::WrongState);
    let simple = RefundPolicy { ends_before_start_ms: Some(0), ..never };
    assert_eq!(simple.kept(STARTS.plus(-1), STARTS), Ok(Rate::NONE));
}

#[test]
fn a_policy_that_turns_back_is_refused_by_its_field() {
    assert!(policy().check().is_ok());
    let tier = |days_left, kept| Tier { days_left, kept: rate(kept) };
    for (tiers, word) in [
        (vec![tier(7, 0), tier(7, 10)], "most days"),
        (vec![tier(7, 0), tier(9, 10)], "most days"),
        (vec![tier(9, 10), tier(7, 0)], "not less"),
        ((0..13).map(|day| tier(20 - day, 0)).collect(), "at most 12"),
    ] {
        let refusal = RefundPolicy { tiers, ..policy() }.check().unwrap_err();
        assert!(refusal.message.starts_with("tiers: ") && refusal.message.contains(word), "{}", refusal.message);
    }
    let refusal = RefundPolicy { ends_before_start_ms: Some(-1), ..policy() }.check().unwrap_err();
    assert!(refusal.message.starts_with("ends_before_start_ms: "));
}

#[test]
fn by_wish_a_seat_brings_its_price_less_what_is_kept_and_the_last_one_the_orders_fee() {
    let (mut order, policy) = (order(&[4_999, 1_000]), policy());
    let first = quote(&order, &seats(&[0]), terms(Cause::Wish, &policy, 10)).unwrap();
    // A quarter of 4999 is 1249.75, kept as 1250.
    assert_eq!(told(&first), [(LineKind::Ticket, Some(0), 3_749)]);
    assert_eq!((first.seats.as_slice(), first.total().minor), (&[SeatNo(0)][..], 3_749));
    apply(&mut order, &first);
    let again = quote(&order, &seats(&[1, 0]), terms(Cause::Wish, &policy, 10)).unwrap_err();
    assert_eq!((again.code, again.seats), (Code::WrongState, vec![SeatNo(0)]));
    let second = quote(&order, &Scope::Order, terms(Cause::Wish, &policy, 40)).unwrap();
    assert_eq!(told(&second), [(LineKind::Ticket, Some(1), 1_000), (LineKind::OrderFee, None, 99)]);
    apply(&mut order, &second);
    let nothing = quote(&order, &Scope::Order, terms(Cause::Wish, &policy, 40)).unwrap_err();
    assert_eq!(nothing.code, Code::WrongState);
    // What was kept comes back when there is no performance.
    let rest = quote(&order, &Scope::Order, terms(Cause::Cancelled, &policy, 1)).unwrap();
    assert_eq!(
        told(&rest),
        [
            (LineKind::Ticket, Some(0), 1_250),
            (LineKind::ServiceFee, Some(0), 150),
            (LineKind::ServiceFee, Some(1), 150)
        ]
    );
    apply(&mut order, &rest);
    assert_eq!(order.balance.left_minor(), 0);
}

#[test]
fn never_more_than_is_left_of_the_payment() {
    let (mut order, policy) = (order(&[1_000, 1_000]), policy());
    order.balance.done_minor = order.balance.captured_minor - 1_001;
    let cut = quote(&order, &Scope::Order, terms(Cause::Goodwill, &policy, 1)).unwrap();
    assert_eq!(cut.totals.gross_minor, 1_001);
    order.balance.done_minor = order.balance.captured_minor;
    let nothing = quote(&order, &Scope::Order, terms(Cause::Cancelled, &policy, 1)).unwrap_err();
    assert_eq!(nothing.code, Code::WrongState);
}

#[test]
fn why_nothing_comes_back_is_told_by_its_cause() {
    let (order, policy) = (order(&[1_000]), policy());
    let why = |order: &RefundableOrder, cause, days_left| {
        let refusal = quote(order, &Scope::Order, terms(cause, &policy, days_left)).unwrap_err();
        assert_eq!(refusal.code, Code::WrongState);
        refusal.message
    };
    let keeps_all = RefundPolicy { returns_order_fee: false, ..policy.clone() };
    let kept = quote(&order, &seats(&[0]), terms(Cause::Wish, &keeps_all, 3)).unwrap_err().message;
    assert!(kept.contains("keep"), "{kept}");
    let mut gone = order.clone();
    gone.balance.done_minor = gone.balance.captured_minor;
    assert_eq!(why(&gone, Cause::Goodwill, 10), "nothing is left of the payment");
    let mut disputed = order.clone();
    disputed.balance.disputed_minor = disputed.balance.captured_minor;
    assert!(why(&disputed, Cause::Goodwill, 10).contains("dispute"));
    let mut back = order.clone();
    let all = quote(&back, &Scope::Order, terms(Cause::Goodwill, &policy, 10)).unwrap();
    apply(&mut back, &all);
    assert_eq!(why(&back, Cause::Goodwill, 10), "nothing is left to give back");
}

#[test]
fn a_part_that_comes_back_before_a_later_one_takes_no_unit_of_the_tax_along() {
    let amounts = |net_minor, tax_minor| Amounts { net_minor, tax_minor, gross_minor: net_minor + tax_minor };
    let line = |returned| OrderLine {
        line: Line { kind: LineKind::Ticket, seat: Some(SeatNo(0)), amounts: amounts(84, 16) },
        returned,
        given_back: false,
    };
    let first = line(Amounts::default()).next_part(3).unwrap();
    let second = line(first).next_part(1).unwrap();
    assert_eq!((first, second), (amounts(3, 0), amounts(0, 1)));
    // The first one failed. The range of the line that it had is not given back a second time.
    let alone = line(second);
    assert_eq!(alone.next_part(1), Some(amounts(1, 0)), "a unit of tax went ahead");
    assert_eq!(alone.next_part(99), Some(amounts(84, 15)), "what is left of each");
    assert_eq!((alone.next_part(100), alone.next_part(-1)), (None, None));
}

#[test]
fn a_refund_that_is_tried_again_is_cut_by_what_lives_then() {
    let (mut order, policy) = (order(&[100]), policy());
    let asked = terms(Cause::Goodwill, &policy, 10);
    let whole = quote(&order, &Scope::Order, asked).unwrap();
    assert_eq!(parts_again(&order, &whole.parts).as_deref(), Some(&whole.parts[..]));
    let by_hand = parts_of(&order, &[SeatNo(0)], 3).unwrap();
    let first = order.lines.iter_mut().find(|line| line.line.kind == LineKind::Ticket).unwrap();
    first.returned = by_hand.iter().find(|part| part.kind == LineKind::Ticket).unwrap().amounts;
    assert_eq!(parts_again(&order, &whole.parts), None, "it would be given back twice");
}

#[test]
fn seats_of_others_and_no_seats_are_refused() {
    let (order, policy) = (order(&[1_000]), policy());
    let other = quote(&order, &seats(&[0, 7]), terms(Cause::Goodwill, &policy, 1)).unwrap_err();
    assert_eq!((other.code, other.seats), (Code::UnknownSeat, vec![SeatNo(7)]));
    let none = quote(&order, &seats(&[]), terms(Cause::Goodwill, &policy, 1)).unwrap_err();
    assert_eq!(none.code, Code::InvalidInput);
    let late = quote(&order, &seats(&[0]), terms(Cause::Wish, &policy, 1)).unwrap_err();
    assert_eq!(late.code, Code::WrongState);
}

#[test]
fn a_performance_is_given_back_order_by_order() {
    let policy = policy();
    let mut gone = order(&[500]);
    gone.order = OrderId(Uuid::from_u128(2));
    gone.balance = RefundBalance::of(gone.balance.captured_minor, 0, [(RefundStatus::Succeeded, 749)]).unwrap();
    let free = order(&[0]);
    let quotes = quote_all(&[order(&[500, 700]), gone, free], terms(Cause::Cancelled, &policy, 1));
    let outcomes: Vec<bool> = quotes.iter().map(|(_, quote)| quote.is_ok()).collect();
    assert_eq!(outcomes, [true, false, false]);
    let sums = sums(quotes.iter().filter_map(|(_, quote)| quote.as_ref().ok())).unwrap();
    assert_eq!(sums[&eur()].gross_minor, 500 + 700 + 2 * 150 + 99);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// Any wishes, then a cancelled performance: each step stays within what is left, and in the end
    /// exactly what was paid came back, net and tax to the minor unit.
    #[test]
    fn after_everything_came_back_nothing_is_left(
        prices in prop::collection::vec(1..100_000_i64, 1..6),
        wishes in prop::collection::vec((prop::collection::vec(0..6_u32, 1..4), 0..60_i64), 0..6),
        returns in any::<(bool, bool)>(),
    ) {
        let policy = RefundPolicy { returns_service_fee: returns.0, returns_order_fee: returns.1, ..policy() };
        let (mut order, paid) = (order(&prices), bill(&prices).totals());
        let mut back = Amounts::default();
        for (chosen, days_left) in wishes {
            let Ok(quote) = quote(&order, &seats(&chosen), terms(Cause::Wish, &policy, days_left)) else { continue };
            prop_assert!(quote.totals.gross_minor <= order.balance.left_minor());
            prop_assert!(quote.parts.iter().all(|part| part.amounts.adds_up()));
            back = back.checked_add(quote.totals).unwrap();
            apply(&mut order, &quote);
        }
        if let Ok(rest) = quote(&order, &Scope::Order, terms(Cause::Cancelled, &policy, 0)) {
            back = back.checked_add(rest.totals).unwrap();
            apply(&mut order, &rest);
        }
        prop_assert_eq!(back, paid);
        prop_assert_eq!(order.balance.left_minor(), 0);
        prop_assert!(order.lines.iter().all(|line| line.left_minor() == 0));
    }
}

/// An order whose refunds come and go in any order: the parts and seats of each, and where it stands.
struct Story {
    paid: RefundableOrder,
    refunds: Vec<(Vec<Part>, Vec<SeatNo>, RefundStatus)>,
}

/// What happens next.
#[derive(Clone, Debug)]
enum Happens {
    /// Seats are given back, so many days before the start.
    Asked(Cause, Vec<u32>, i64),
    /// An amount is given back at the provider.
    ByHand(i64),
    /// One of the refunds takes a step, where its machine has it.
    Told(usize, RefundEvent),
    /// One that failed is tried again.
    Again(usize),
}

fn anything() -> impl Strategy<Value = Happens> {
    use RefundEvent::{Approve, Fail, Reject, Submit, Succeed};
    let cause = prop::sample::select(vec![Cause::Wish, Cause::Goodwill]);
    let asked = (cause, prop::collection::vec(0..3_u32, 1..3), 0..60_i64);
    let event = prop::sample::select(vec![Approve, Reject, Submit, Succeed, Fail, Fail]);
    prop_oneof![
        2 => asked.prop_map(|(cause, seats, days_left)| Happens::Asked(cause, seats, days_left)),
        3 => (1..200_i64).prop_map(Happens::ByHand),
        8 => (0..12_usize, event).prop_map(|(which, event)| Happens::Told(which, event)),
        2 => (0..12_usize).prop_map(Happens::Again),
    ]
}

impl Story {
    fn live(&self) -> impl Iterator<Item = &(Vec<Part>, Vec<SeatNo>, RefundStatus)> {
        self.refunds.iter().filter(|(_, _, status)| status.is_pending() || *status == RefundStatus::Succeeded)
    }

    /// The order as the next refund finds it.
    fn order(&self) -> RefundableOrder {
        let mut order = self.paid.clone();
        for line in &mut order.lines {
            let (kind, seat) = (line.line.kind, line.line.seat);
            let parts = self.live().flat_map(|(parts, _, _)| parts);
            let parts = parts.filter(|part| (part.kind, part.seat) == (kind, seat));
            line.returned = Amounts::sum(parts.map(|part| part.amounts)).unwrap();
            line.given_back = seat.is_some_and(|seat| self.live().any(|(_, seats, _)| seats.contains(&seat)));
        }
        let gross = |parts: &[Part]| parts.iter().map(|part| part.amounts.gross_minor).sum::<i64>();
        let refunds = self.refunds.iter().map(|(parts, _, status)| (*status, gross(parts)));
        order.balance = RefundBalance::of(order.balance.captured_minor, 0, refunds).unwrap();
        order
    }

    fn add(&mut self, parts: Vec<Part>, seats: Vec<SeatNo>) {
        if !parts.is_empty() {
            self.refunds.push((parts, seats, RefundStatus::Requested));
        }
    }

    fn give_back(&mut self, scope: &Scope, terms: Terms<'_>) {
        if let Ok(quote) = quote(&self.order(), scope, terms) {
            self.add(quote.parts, quote.seats);
        }
    }

    fn goes_on(&mut self, what: Happens, policy: &RefundPolicy) {
        let order = self.order();
        match what {
            Happens::Asked(cause, chosen, days_left) => {
                self.give_back(&seats(&chosen), terms(cause, policy, days_left));
            }
            Happens::ByHand(minor) => {
                let minor = minor.min(order.balance.left_minor());
                let seats = seats_of(&order, minor).unwrap_or_default();
                self.add(parts_of(&order, &seats, minor).unwrap(), seats);
            }
            Happens::Told(which, event) => {
                if let Some((_, _, status)) = self.refunds.get_mut(which)
                    && let Ok(step) = transition(*status, event)
                {
                    *status = step.to;
                }
            }
            Happens::Again(which) => {
                if let Some((parts, seats, RefundStatus::Failed)) = self.refunds.get(which)
                    && let Some(parts) = parts_again(&order, parts)
                {
                    let seats = seats.clone();
                    self.add(parts, seats);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Refunds of the same lines by policy, beyond it and by hand at the provider, many on their way at once, which
    /// succeed, fail, are turned down, come back and are tried again in any order: no part is ever below zero, no line
    /// gives more net or tax than it has, and once all is back, each line is, net and tax to the unit.
    #[test]
    fn whatever_the_order_in_which_parts_come_and_go_a_line_comes_back_to_the_unit(
        prices in prop::collection::vec(1..300_i64, 1..3),
        tax in (0..10_000_u32, any::<bool>()),
        happens in prop::collection::vec(anything(), 0..40),
    ) {
        let mode = if tax.1 { TaxMode::Inclusive } else { TaxMode::Added };
        let bill = bill_with(&prices, TaxRule { rate: rate(tax.0), mode });
        let mut story = Story { paid: order_of(&bill), refunds: Vec::new() };
        let policy = policy();
        for what in happens {
            story.goes_on(what, &policy);
            let order = story.order();
            prop_assert_eq!(order.balance.left_minor(), order.lines.iter().map(OrderLine::left_minor).sum::<i64>());
            prop_assert!(story.refunds.iter().flat_map(|(parts, _, _)| parts).all(|part| part.amounts.adds_up()));
            for OrderLine { line, returned, .. } in &order.lines {
                prop_assert!(returned.adds_up(), "{:?}", returned);
                prop_assert!(returned.net_minor <= line.amounts.net_minor, "{:?} of {:?}", returned, line);
                prop_assert!(returned.tax_minor <= line.amounts.tax_minor, "{:?} of {:?}", returned, line);
            }
        }
        story.give_back(&Scope::Order, terms(Cause::Cancelled, &policy, 0));
        for line in story.order().lines {
            prop_assert_eq!(line.returned, line.line.amounts);
        }
    }
}
