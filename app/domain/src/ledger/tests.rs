//! Each event's entries, and books that stay balanced whatever happens in whatever order.

use super::books::Books;
use super::*;
use crate::ids::{AttemptId, DisputeId, RefundId};
use crate::money::Money;
use crate::refund::{RefundEffect, RefundEvent, RefundStatus, transition};
use proptest::prelude::*;
use uuid::Uuid;

fn currency(code: &str) -> Currency {
    code.parse().unwrap()
}

fn order(number: u128) -> OrderId {
    OrderId(Uuid::from_u128(number))
}

fn attempt(number: u128) -> AttemptId {
    AttemptId(Uuid::from_u128(number))
}

fn shares() -> Shares {
    Shares { organizer_minor: 4_672, fees_minor: 356, tax_minor: 395 }
}

fn captured() -> Event {
    Event::OrderCaptured { attempt: attempt(7), order: order(1), currency: currency("EUR"), shares: shares() }
}

/// Accounts and amounts of an event.
fn entries(event: &Event) -> Vec<(&'static str, i64)> {
    let posting = event.posting().unwrap();
    posting.entries().iter().map(|entry| (entry.account.as_str(), entry.amount_minor)).collect()
}

#[test]
fn a_capture_is_shared_out_and_says_its_source() {
    assert_eq!(
        entries(&captured()),
        [("provider_clearing", 5_423), ("organizer_payable", -4_672), ("service_fees", -356), ("tax_payable", -395)]
    );
    let posting = captured().posting().unwrap();
    assert_eq!(posting.source(), "capture:00000000-0000-0000-0000-000000000007");
    assert_eq!((posting.subject(), posting.currency()), (Subject::Order(order(1)), currency("EUR")));
}

#[test]
fn books_of_two_accounts_are_a_part_of_this_chart() {
    let shares = Shares::all_to_organizer(900);
    let (order, eur) = (order(1), currency("EUR"));
    let capture = Event::OrderCaptured { attempt: attempt(7), order, currency: eur, shares };
    assert_eq!(entries(&capture), [("provider_clearing", 900), ("organizer_payable", -900)]);
    let refund = RefundId(Uuid::from_u128(3));
    let mut books = Books::default();
    for event in [
        Event::RefundReserved { refund, order, currency: eur, origin: Origin::Sale(shares) },
        Event::RefundSucceeded { refund, order, amount: Money::new(900, eur) },
    ] {
        assert!(books.post(&event.posting().unwrap()));
    }
    assert_eq!(books.balance(Account::OrganizerPayable, eur), 900);
    assert_eq!(books.balance(Account::ProviderClearing, eur), -900);
    assert_eq!(books.balance(Account::RefundsPayable, eur), 0);
}

#[test]
fn one_attempt_is_a_sale_or_late_money_and_never_both() {
    let late = Event::LateMoney { attempt: attempt(7), order: order(1), amount: Money::new(5_423, currency("EUR")) };
    assert_eq!(entries(&late), [("provider_clearing", 5_423), ("order_receivable", -5_423)]);
    let mut books = Books::default();
    assert!(books.post(&late.posting().unwrap()));
    assert!(!books.post(&captured().posting().unwrap()));
    let reclaimed =
        Event::LateMoneyReclaimed { attempt: attempt(7), order: order(1), currency: currency("EUR"), shares: shares() };
    assert!(books.post(&reclaimed.posting().unwrap()));
    let mut sold = Books::default();
    assert!(sold.post(&captured().posting().unwrap()));
    for account in Account::ALL {
        let eur = currency("EUR");
        assert_eq!(books.of_order(order(1), *account, eur), sold.of_order(order(1), *account, eur), "{account:?}");
    }
}

#[test]
fn a_dispute_takes_the_money_and_a_won_one_brings_it_back() {
    let (dispute, order, eur) = (DisputeId(Uuid::from_u128(5)), order(1), currency("EUR"));
    let amount = Money::new(5_423, eur);
    let opened = Event::DisputeOpened { dispute, order, amount };
    assert_eq!(entries(&opened), [("provider_clearing", -5_423), ("disputes", 5_423)]);
    let won = Event::DisputeWon { dispute, order, amount };
    assert_eq!(entries(&won), [("provider_clearing", 5_423), ("disputes", -5_423)]);
    let lost = Event::DisputeLost { dispute, order, currency: eur, origin: Origin::Sale(shares()) };
    assert_eq!(
        entries(&lost),
        [("organizer_payable", 4_672), ("service_fees", 356), ("tax_payable", 395), ("disputes", -5_423)]
    );
    let sources: std::collections::BTreeSet<String> =
        [opened, won, lost].iter().map(|event| event.posting().unwrap().source().to_owned()).collect();
    assert_eq!(sources.len(), 3, "{sources:?}");
}

#[test]
fn money_leaves_through_the_bank_and_fees_may_come_back() {
    let amount = |minor| Money::new(minor, currency("EUR"));
    let fee = |minor| Event::ProviderFee { provider: "sandbox".into(), line: "fee_1".into(), amount: amount(minor) };
    assert_eq!(entries(&fee(35)), [("provider_clearing", -35), ("provider_fees", 35)]);
    assert_eq!(entries(&fee(-35)), [("provider_clearing", 35), ("provider_fees", -35)]);
    let paid = Event::ProviderPayout { provider: "sandbox".into(), payout: "po_1".into(), amount: amount(5_388) };
    assert_eq!(entries(&paid), [("provider_clearing", -5_388), ("bank", 5_388)]);
    let organization = OrganizationId(Uuid::from_u128(2));
    let out = Event::OrganizerPayout { payout: "2026-11".into(), organization, amount: amount(4_672) };
    assert_eq!(entries(&out), [("bank", -4_672), ("organizer_payable", 4_672)]);
    let posting = out.posting().unwrap();
    assert_eq!(
        (posting.source(), posting.subject()),
        ("organizer-payout:2026-11", Subject::Organization(organization))
    );
}

#[test]
fn payouts_that_fail_or_are_reversed_leave_nothing_and_each_is_posted_once() {
    let eur = currency("EUR");
    let (provider, payout) = ("sandbox".to_owned(), "po_1".to_owned());
    let organization = OrganizationId(Uuid::from_u128(2));
    let mut books = Books::default();
    // A provider collects where more went back than came in.
    for minor in [5_388, -700] {
        let (provider, payout) = (provider.clone(), format!("{payout}{minor}"));
        let amount = Money::new(minor, eur);
        let paid = Event::ProviderPayout { provider: provider.clone(), payout: payout.clone(), amount };
        assert!(books.post(&paid.posting().unwrap()) && !books.post(&paid.posting().unwrap()));
        assert_eq!(books.balance(Account::Bank, eur), i128::from(minor));
        let failed = Event::ProviderPayoutFailed { provider, payout, amount };
        assert!(books.post(&failed.posting().unwrap()) && !books.post(&failed.posting().unwrap()));
        assert_eq!(books.balance(Account::Bank, eur), 0);
        assert_eq!(books.balance(Account::ProviderClearing, eur), 0);
    }
    let amount = Money::new(4_672, eur);
    let out = Event::OrganizerPayout { payout: payout.clone(), organization, amount };
    assert!(books.post(&out.posting().unwrap()));
    assert_eq!(books.balance(Account::OrganizerPayable, eur), 4_672);
    let back = Event::OrganizerPayoutReversed { payout, organization, amount };
    assert_eq!(entries(&back), [("bank", 4_672), ("organizer_payable", -4_672)]);
    assert_eq!(back.posting().unwrap().subject(), Subject::Organization(organization));
    assert!(books.post(&back.posting().unwrap()) && !books.post(&back.posting().unwrap()));
    assert_eq!(books.balance(Account::OrganizerPayable, eur), 0);
    assert_eq!(books.trial_balance().into_iter().collect::<Vec<_>>(), [(eur, 0)]);
    let less = Event::OrganizerPayoutReversed { payout: "x".into(), organization, amount: Money::new(-1, eur) };
    assert_eq!(less.posting(), Err(LedgerError::Negative("organizer-payout-reversed:x".to_owned())));
}

#[test]
fn nothing_less_than_nothing_and_too_much_are_refused() {
    let succeeded = |minor| Event::RefundSucceeded {
        refund: RefundId(Uuid::from_u128(3)),
        order: order(1),
        amount: Money::new(minor, currency("JPY")),
    };
    let source = || "refund:00000000-0000-0000-0000-000000000003".to_owned();
    assert_eq!(succeeded(0).posting(), Err(LedgerError::Empty(source())));
    assert_eq!(succeeded(-1).posting(), Err(LedgerError::Negative(source())));
    let huge = Shares { organizer_minor: i64::MAX, fees_minor: 1, tax_minor: 0 };
    let event = Event::OrderCaptured { attempt: attempt(7), order: order(1), currency: currency("JPY"), shares: huge };
    assert!(matches!(event.posting(), Err(LedgerError::TooLarge(_))));
}

#[test]
fn accounts_are_read_back_and_shares_are_those_of_the_lines() {
    for account in Account::ALL {
        assert_eq!(Account::parse(account.as_str()), Some(*account));
    }
    assert_eq!(Account::parse("rounding"), None);
    let amounts = |net_minor, tax_minor| Amounts { net_minor, tax_minor, gross_minor: net_minor + tax_minor };
    let lines = [
        (LineKind::Ticket, amounts(4_672, 327)),
        (LineKind::ServiceFee, amounts(189, 36)),
        (LineKind::OrderFee, amounts(167, 32)),
    ];
    assert_eq!(Shares::of(lines), Some(shares()));
}

/// The way of a refund of which nothing is heard until it is done.
const NO_EVENTS: &[RefundEvent] = &[];

/// What becomes of one order: its shares, whether its money came late, and the parts that are given
/// back, each with the events of its way.
type Story = (Shares, bool, Vec<(u8, Vec<RefundEvent>)>, &'static str);

fn any_story() -> impl Strategy<Value = Story> {
    let shares = (1..1_000_000_i64, 0..10_000_i64, 0..10_000_i64);
    let event = prop::sample::select(vec![
        RefundEvent::Approve,
        RefundEvent::Reject,
        RefundEvent::Submit,
        RefundEvent::Succeed,
        RefundEvent::Fail,
    ]);
    let refunds = prop::collection::vec((1..=100_u8, prop::collection::vec(event, 0..8)), 0..5);
    let code = prop::sample::select(vec!["JPY", "EUR", "KWD", "CNY", "CLF"]);
    (shares, any::<bool>(), refunds, code).prop_map(
        |((organizer_minor, fees_minor, tax_minor), late, refunds, code)| {
            (Shares { organizer_minor, fees_minor, tax_minor }, late, refunds, code)
        },
    )
}

/// Part of what is left of each share, in hundredths.
fn part(left: Shares, hundredths: u8) -> Shares {
    let part = |minor: i64| minor * i64::from(hundredths) / 100;
    Shares {
        organizer_minor: part(left.organizer_minor),
        fees_minor: part(left.fees_minor),
        tax_minor: part(left.tax_minor),
    }
}

fn total(shares: Shares) -> i64 {
    shares.organizer_minor + shares.fees_minor + shares.tax_minor
}

fn minus(a: Shares, b: Shares) -> Shares {
    Shares {
        organizer_minor: a.organizer_minor - b.organizer_minor,
        fees_minor: a.fees_minor - b.fees_minor,
        tax_minor: a.tax_minor - b.tax_minor,
    }
}

/// Posts an event with whatever it moves, twice: the second time changes nothing.
fn post(books: &mut Books, event: &Event) {
    match event.posting() {
        Ok(posting) => {
            assert!(books.post(&posting), "{} is new", posting.source());
            let before = books.clone();
            assert!(!books.post(&posting), "{} is posted once", posting.source());
            assert_eq!(*books, before);
        }
        Err(error) => assert!(matches!(error, LedgerError::Empty(_)), "{error}"),
    }
    assert!(books.trial_balance().values().all(|minor| *minor == 0));
}

/// One refund on its way to its end; answers whether the money went back.
fn give_back(
    books: &mut Books,
    order: OrderId,
    refund: RefundId,
    origin: Origin,
    minor: Money,
    way: &[RefundEvent],
) -> bool {
    let currency = minor.currency;
    post(books, &Event::RefundReserved { refund, order, currency, origin });
    let mut status = RefundStatus::Requested;
    for event in way {
        let Ok(step) = transition(status, *event) else { continue };
        status = step.to;
        match step.effect {
            RefundEffect::Kept => {}
            RefundEffect::Done => post(books, &Event::RefundSucceeded { refund, order, amount: minor }),
            RefundEffect::Released => post(books, &Event::RefundFailed { refund, order, currency, origin }),
            RefundEffect::Returned => post(books, &Event::RefundReturned { refund, order, currency, origin }),
        }
    }
    // Whatever still waits is done in the end.
    for event in [RefundEvent::Approve, RefundEvent::Submit, RefundEvent::Succeed] {
        if let Ok(step) = transition(status, event) {
            status = step.to;
            if step.effect == RefundEffect::Done {
                post(books, &Event::RefundSucceeded { refund, order, amount: minor });
            }
        }
    }
    status == RefundStatus::Succeeded
}

proptest! {
    /// Any orders in any currencies with any refunds, failed and returned ones too: the trial balance is
    /// zero after each posting, and when all was given back nothing of any order is left in any account.
    #[test]
    fn after_all_refunds_nothing_of_an_order_is_left(stories in prop::collection::vec(any_story(), 1..6)) {
        let mut books = Books::default();
        let mut refunds = 0_u128;
        for (number, (shares, late, ways, code)) in (1_u128..).zip(&stories) {
            let (order, attempt, currency) = (order(number), attempt(number), currency(code));
            let origin = |shares: Shares| if *late { Origin::Late(total(shares)) } else { Origin::Sale(shares) };
            let capture = if *late {
                Event::LateMoney { attempt, order, amount: Money::new(total(*shares), currency) }
            } else {
                Event::OrderCaptured { attempt, order, currency, shares: *shares }
            };
            post(&mut books, &capture);
            let mut left = *shares;
            // The last way gives back the rest.
            for (hundredths, way) in ways.iter().map(|(part, way)| (*part, &way[..])).chain([(100, NO_EVENTS)]) {
                let some = part(left, hundredths);
                if total(some) == 0 {
                    continue;
                }
                refunds += 1;
                let refund = RefundId(Uuid::from_u128(refunds));
                let amount = Money::new(total(some), currency);
                if give_back(&mut books, order, refund, origin(some), amount, way) {
                    left = minus(left, some);
                }
            }
            prop_assert_eq!(left, Shares::default());
            for account in Account::ALL {
                prop_assert_eq!(books.of_order(order, *account, currency), 0, "{:?}", account);
                prop_assert_eq!(books.balance(*account, currency), 0, "{:?}", account);
            }
        }
        prop_assert!(books.trial_balance().values().all(|minor| *minor == 0));
    }
}
