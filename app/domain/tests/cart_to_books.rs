//! A cart's money from its bill through refunds of every kind to the books: no minor unit is lost on the way, in
//! currencies without minor digits, with two and with three.

use domain::ledger::books::Books;
use domain::ledger::{Account, Event, Origin, Shares};
use domain::money::fees::{Amounts, Bill, FeeSchedule, Line, PricedSeat, Rate, TaxMode, TaxRule, WHOLE_BASIS_POINTS};
use domain::refund::policy::{DAY_MS, OrderLine, Quote, RefundPolicy, RefundableOrder, Scope, Terms, Tier, quote};
use domain::refund::{Cause, RefundBalance, RefundEffect, RefundEvent, RefundStatus, transition};
use domain::{AttemptId, Currency, Millis, Money, OrderId, RefundId, SeatNo};
use proptest::prelude::*;
use std::collections::BTreeMap;
use uuid::Uuid;

/// Carts that share one set of books.
const CARTS_A_BOOK: usize = 4;
/// With so many books there are ten thousand carts.
const BOOKS: u32 = 2_500;
/// When every performance here begins.
const STARTS: Millis = Millis(100 * DAY_MS);

/// How a refund ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Rejected,
    Fails,
    Succeeds,
    /// It succeeds, and the bank sends the money back.
    Returned,
}

impl Fate {
    fn way(self) -> &'static [RefundEvent] {
        use RefundEvent::{Approve, Fail, Reject, Submit, Succeed};
        match self {
            Self::Rejected => &[Reject],
            Self::Fails => &[Approve, Submit, Fail],
            Self::Succeeds => &[Approve, Submit, Succeed],
            Self::Returned => &[Approve, Submit, Succeed, Fail],
        }
    }
}

/// One refund that somebody asks for: why, of which seats (a bit each), how long before the start, its end. And which
/// of those that are on their way go a step on before the next is asked for, one after another.
#[derive(Clone, Debug)]
struct Step {
    cause: Cause,
    seats: u8,
    days_left: i64,
    fate: Fate,
    told: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Cart {
    fees: FeeSchedule,
    prices: Vec<i64>,
    policy: RefundPolicy,
    steps: Vec<Step>,
}

fn rate(basis_points: u32) -> Rate {
    Rate::try_from(basis_points).expect("it is at most the whole")
}

fn any_tax() -> impl Strategy<Value = TaxRule> {
    let mode = prop::sample::select(vec![TaxMode::Inclusive, TaxMode::Added]);
    (0..=WHOLE_BASIS_POINTS, mode).prop_map(|(basis_points, mode)| TaxRule { rate: rate(basis_points), mode })
}

fn any_fees() -> impl Strategy<Value = FeeSchedule> {
    let code = prop::sample::select(vec!["JPY", "EUR", "KWD"]);
    let amounts = (0..2_000_i64, 0..=WHOLE_BASIS_POINTS, 0..2_000_i64);
    (code, amounts, any_tax(), any_tax(), any_tax()).prop_map(|(code, amounts, ticket_tax, service_tax, order_tax)| {
        FeeSchedule {
            currency: code.parse().expect("it is a currency"),
            service_fixed_minor: amounts.0,
            service_rate: rate(amounts.1),
            order_fixed_minor: amounts.2,
            ticket_tax,
            service_tax,
            order_tax,
        }
    })
}

fn any_policy() -> impl Strategy<Value = RefundPolicy> {
    let kept = (0..=WHOLE_BASIS_POINTS, 0..=WHOLE_BASIS_POINTS);
    (kept, any::<bool>(), any::<bool>()).prop_map(|((one, other), returns_service_fee, returns_order_fee)| {
        RefundPolicy {
            ends_before_start_ms: Some(DAY_MS),
            tiers: vec![
                Tier { days_left: 30, kept: rate(one.min(other)) },
                Tier { days_left: 7, kept: rate(one.max(other)) },
            ],
            returns_service_fee,
            returns_order_fee,
        }
    })
}

fn any_step() -> impl Strategy<Value = Step> {
    let cause = prop::sample::select(vec![Cause::Wish, Cause::Wish, Cause::Goodwill]);
    let fate = prop::sample::select(vec![
        Fate::Rejected,
        Fate::Fails,
        Fate::Succeeds,
        Fate::Succeeds,
        Fate::Succeeds,
        Fate::Returned,
    ]);
    let told = prop::collection::vec(0..4_usize, 0..6);
    (cause, any::<u8>(), 0..40_i64, fate, told).prop_map(|(cause, seats, days_left, fate, told)| Step {
        cause,
        seats,
        days_left,
        fate,
        told,
    })
}

fn any_cart() -> impl Strategy<Value = Cart> {
    let prices = prop::collection::vec(1..1_000_000_i64, 1..6);
    let steps = prop::collection::vec(any_step(), 0..6);
    (any_fees(), prices, any_policy(), steps).prop_map(|(fees, prices, policy, steps)| Cart {
        fees,
        prices,
        policy,
        steps,
    })
}

/// A refund, and what is yet to come of it.
struct Asked {
    id: RefundId,
    quote: Quote,
    status: RefundStatus,
    way: &'static [RefundEvent],
}

impl Asked {
    /// Whether its money went, or is to go.
    fn lives(&self) -> bool {
        self.status.is_pending() || self.status == RefundStatus::Succeeded
    }
}

/// A paid order with its refunds, of which many may be on their way at once.
struct Paid {
    order: OrderId,
    bill: Bill,
    refunds: Vec<Asked>,
}

impl Paid {
    /// What went back or is to go, as the next refund finds it.
    fn live(&self) -> impl Iterator<Item = &Quote> {
        self.refunds.iter().filter(|asked| asked.lives()).map(|asked| &asked.quote)
    }

    /// Where the refunds are that have not come to their end.
    fn on_the_way(&self) -> Vec<usize> {
        (0..self.refunds.len()).filter(|at| !self.refunds[*at].way.is_empty()).collect()
    }

    fn refundable(&self) -> RefundableOrder {
        let with_line = |line: &Line| {
            let parts = self.live().flat_map(|quote| &quote.parts);
            let parts = parts.filter(|part| (part.kind, part.seat) == (line.kind, line.seat));
            let returned = Amounts::sum(parts.map(|part| part.amounts)).expect("the sums are small");
            let given_back = line.seat.is_some_and(|seat| self.live().any(|quote| quote.seats.contains(&seat)));
            OrderLine { line: *line, returned, given_back }
        };
        let amounts = self.refunds.iter().map(|asked| (asked.status, asked.quote.totals.gross_minor));
        RefundableOrder {
            order: self.order,
            currency: self.bill.currency(),
            lines: self.bill.lines().iter().map(with_line).collect(),
            balance: RefundBalance::of(self.bill.totals().gross_minor, 0, amounts).expect("the sums are small"),
        }
    }

    /// What of the bill went back or is to go: net, tax and gross.
    fn returned(&self) -> Amounts {
        Amounts::sum(self.live().map(|quote| quote.totals)).expect("the sums are small")
    }

    /// What of it is to go, in minor units.
    fn pending_minor(&self) -> i64 {
        let pending = self.refunds.iter().filter(|asked| asked.status.is_pending());
        pending.map(|asked| asked.quote.totals.gross_minor).sum()
    }
}

/// Posts what happened, once.
fn post(books: &mut Books, event: &Event) {
    let posting = event.posting().expect("it moves money");
    assert!(books.post(&posting), "{} is new", posting.source());
}

/// From where the money of a quote is booked.
fn origin_of(quote: &Quote) -> Origin {
    let shares = Shares::of(quote.parts.iter().map(|part| (part.kind, part.amounts))).expect("the sums are small");
    Origin::Sale(shares)
}

/// Reserves a refund; how it ends is known already.
fn ask(books: &mut Books, paid: &mut Paid, id: RefundId, quote: Quote, fate: Fate) {
    let (order, currency, origin) = (paid.order, quote.currency, origin_of(&quote));
    let before = paid.refundable().balance;
    let reserved = before.reserve(quote.totals.gross_minor).expect("a quote is never more than is left");
    assert!(!reserved.is_overdrawn());
    post(books, &Event::RefundReserved { refund: id, order, currency, origin });
    paid.refunds.push(Asked { id, quote, status: RefundStatus::Requested, way: fate.way() });
}

/// One refund goes a step on its way.
fn go_on(books: &mut Books, paid: &mut Paid, at: usize) {
    let (order, asked) = (paid.order, &mut paid.refunds[at]);
    let Some((event, rest)) = asked.way.split_first() else { return };
    let step = transition(asked.status, *event).expect("the machine has this step");
    (asked.status, asked.way) = (step.to, rest);
    let (refund, currency, amount) = (asked.id, asked.quote.currency, asked.quote.total());
    let origin = origin_of(&asked.quote);
    match step.effect {
        RefundEffect::Kept => {}
        RefundEffect::Done => post(books, &Event::RefundSucceeded { refund, order, amount }),
        RefundEffect::Released => post(books, &Event::RefundFailed { refund, order, currency, origin }),
        RefundEffect::Returned => post(books, &Event::RefundReturned { refund, order, currency, origin }),
    }
}

/// The evening is cancelled: all that is left is given back, and then all refunds come to their end.
fn give_back_all(books: &mut Books, paid: &mut Paid, id: RefundId) {
    let never = RefundPolicy::default();
    let terms = Terms { cause: Cause::Cancelled, policy: &never, now: STARTS, starts: STARTS };
    match quote(&paid.refundable(), &Scope::Order, terms) {
        Ok(quote) => ask(books, paid, id, quote, Fate::Succeeds),
        Err(refusal) => assert_eq!(paid.refundable().balance.left_minor(), 0, "{refusal}"),
    }
    assert_books_say(books, paid);
    while let Some(at) = paid.on_the_way().first().copied() {
        go_on(books, paid, at);
        assert_books_say(books, paid);
    }
}

/// What the accounts of an order say, against bill and refunds that were added up apart from them.
fn assert_books_say(books: &Books, paid: &Paid) {
    let currency = paid.bill.currency();
    let of = |account| books.of_order(paid.order, account, currency);
    let (billed, returned) = (paid.bill.totals(), paid.returned());
    let pending_minor = paid.pending_minor();
    let with_us = i128::from(billed.gross_minor - returned.gross_minor + pending_minor);
    assert_eq!(of(Account::ProviderClearing), with_us, "what was captured and did not go back");
    assert_eq!(of(Account::RefundsPayable), -i128::from(pending_minor), "what is on its way");
    assert_eq!(of(Account::TaxPayable), -i128::from(billed.tax_minor - returned.tax_minor), "the tax of it");
    let net = i128::from(billed.net_minor - returned.net_minor);
    assert_eq!(of(Account::OrganizerPayable) + of(Account::ServiceFees), -net, "the rest of it");
    assert!(of(Account::OrganizerPayable) <= 0 && of(Account::ServiceFees) <= 0 && of(Account::TaxPayable) <= 0);
    assert!(books.trial_balance().values().all(|minor| *minor == 0), "{:?}", books.trial_balance());
}

/// The seats whose bit is set; none: the first.
fn chosen(prices: &[i64], bits: u8) -> Vec<SeatNo> {
    let seats: Vec<SeatNo> =
        (0..).zip(prices).filter(|(seat, _)| (bits >> (seat % 8)) & 1 == 1).map(|(seat, _)| SeatNo(seat)).collect();
    if seats.is_empty() { vec![SeatNo(0)] } else { seats }
}

fn bought(books: &mut Books, cart: &Cart, number: u128) -> Paid {
    let currency = cart.fees.currency;
    let priced = |(seat, minor): (u32, &i64)| PricedSeat { seat: SeatNo(seat), price: Money::new(*minor, currency) };
    let seats: Vec<PricedSeat> = (0..).zip(&cart.prices).map(priced).collect();
    let bill = cart.fees.bill(&seats).expect("the prices are in range");
    let (order, attempt) = (OrderId(Uuid::from_u128(number)), AttemptId(Uuid::from_u128(number)));
    let shares = Shares::of(bill.lines().iter().map(|line| (line.kind, line.amounts))).expect("the sums are small");
    post(books, &Event::OrderCaptured { attempt, order, currency, shares });
    Paid { order, bill, refunds: Vec::new() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(BOOKS))]

    /// Ten thousand carts: whatever is given back of them, by policy or beyond it, turned down, failed or sent back
    /// by a bank, bill, refunds and books say the same after each step. When the evening is cancelled in the end,
    /// every line has come back to the unit, and no account has anything left.
    #[test]
    fn ten_thousand_carts_come_through_refunds_and_books_without_losing_a_unit(
        carts in prop::collection::vec(any_cart(), CARTS_A_BOOK),
    ) {
        let mut books = Books::default();
        let mut captured = BTreeMap::<Currency, i128>::new();
        let (mut refunds, mut all) = (0_u128, Vec::new());
        let mut next = || {
            refunds += 1;
            RefundId(Uuid::from_u128(refunds))
        };
        for (number, cart) in (1_u128..).zip(&carts) {
            prop_assert!(cart.policy.check().is_ok() && cart.fees.check().is_ok());
            let mut paid = bought(&mut books, cart, number);
            *captured.entry(cart.fees.currency).or_default() += i128::from(paid.bill.totals().gross_minor);
            assert_books_say(&books, &paid);
            for step in &cart.steps {
                let now = STARTS.plus(-step.days_left * DAY_MS);
                let terms = Terms { cause: step.cause, policy: &cart.policy, now, starts: STARTS };
                let scope = Scope::Seats(chosen(&cart.prices, step.seats));
                // Too late, given back before, or nothing is left: then nothing moves.
                if let Ok(quote) = quote(&paid.refundable(), &scope, terms) {
                    prop_assert!(quote.totals.adds_up() && quote.totals.gross_minor > 0);
                    prop_assert!(quote.parts.iter().all(|part| part.amounts.adds_up()));
                    ask(&mut books, &mut paid, next(), quote, step.fate);
                }
                assert_books_say(&books, &paid);
                for which in &step.told {
                    let on_the_way = paid.on_the_way();
                    if let Some(at) = on_the_way.get(which % on_the_way.len().max(1)) {
                        go_on(&mut books, &mut paid, *at);
                        assert_books_say(&books, &paid);
                    }
                }
            }
            all.push(paid);
        }
        for (currency, captured) in captured {
            let left: i128 = all
                .iter()
                .filter(|paid| paid.bill.currency() == currency)
                .map(|paid| i128::from(paid.returned().gross_minor - paid.pending_minor()))
                .fold(captured, |left, returned| left - returned);
            prop_assert_eq!(books.balance(Account::ProviderClearing, currency), left);
        }
        for paid in &mut all {
            // What was on its way may come back: then it is given back once more.
            give_back_all(&mut books, paid, next());
            give_back_all(&mut books, paid, next());
            prop_assert_eq!(paid.returned(), paid.bill.totals());
            for line in paid.bill.lines() {
                let parts = paid.live().flat_map(|quote| &quote.parts);
                let parts = parts.filter(|part| (part.kind, part.seat) == (line.kind, line.seat));
                prop_assert_eq!(Amounts::sum(parts.map(|part| part.amounts)), Some(line.amounts));
            }
            for account in Account::ALL {
                prop_assert_eq!(books.of_order(paid.order, *account, paid.bill.currency()), 0, "{:?}", account);
            }
        }
        prop_assert!(books.trial_balance().values().all(|minor| *minor == 0));
    }
}
