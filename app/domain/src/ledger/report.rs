//! What the books say, for people: sums of entries by currency and performance, put together into figures.
//!
//! Everything is derived from the ledger alone, never from the state of an order. A figure is positive where
//! its name says what happened: money captured, refunded, disputed, owed.

use super::Account;
use crate::ids::PerformanceId;
use crate::money::Currency;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Entries of one kind, added up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sum {
    /// The account.
    pub account: Account,
    /// What the source keys begin with, such as `capture`.
    pub source: String,
    /// Currency of the amounts.
    pub currency: Currency,
    /// The performance that the entries are about; none for an organization as a whole.
    pub performance: Option<PerformanceId>,
    /// Minor units, 0 or more.
    pub debit_minor: i64,
    /// Minor units, 0 or more.
    pub credit_minor: i64,
}

/// The figures of a report, in minor units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// What providers captured.
    pub captured_minor: i64,
    /// What went back to fans.
    pub refunded_minor: i64,
    /// What disputes took, less what came back.
    pub disputed_minor: i64,
    /// What providers charged.
    pub provider_fees_minor: i64,
    /// Our fees, without tax.
    pub fees_minor: i64,
    /// Tax.
    pub tax_minor: i64,
    /// What is still owed to the organizer, after what was paid out.
    pub owed_minor: i64,
    /// What was paid out to the organizer, less what was reversed. A payout is of no performance.
    pub paid_out_minor: i64,
    /// What is on its way back to fans.
    pub waiting_minor: i64,
    /// Money that came without a right to seats, and is to go back.
    pub late_minor: i64,
}

impl Figures {
    fn add(&mut self, sum: &Sum) {
        let debit_minor = sum.debit_minor.saturating_sub(sum.credit_minor);
        let credit_minor = debit_minor.saturating_neg();
        if sum.account == Account::OrganizerPayable
            && matches!(sum.source.as_str(), "organizer-payout" | "organizer-payout-reversed")
        {
            self.paid_out_minor = self.paid_out_minor.saturating_add(debit_minor);
        }
        let (figure, minor) = match (sum.account, sum.source.as_str()) {
            (Account::ProviderClearing, "capture") => (&mut self.captured_minor, debit_minor),
            (Account::ProviderClearing, "refund" | "refund-returned") => (&mut self.refunded_minor, credit_minor),
            (Account::ProviderClearing, "dispute" | "dispute-won") => (&mut self.disputed_minor, credit_minor),
            (Account::ProviderFees, _) => (&mut self.provider_fees_minor, debit_minor),
            (Account::ServiceFees, _) => (&mut self.fees_minor, credit_minor),
            (Account::TaxPayable, _) => (&mut self.tax_minor, credit_minor),
            (Account::OrganizerPayable, _) => (&mut self.owed_minor, credit_minor),
            (Account::RefundsPayable, _) => (&mut self.waiting_minor, credit_minor),
            (Account::OrderReceivable, _) => (&mut self.late_minor, credit_minor),
            // The other side of what is counted above.
            (Account::ProviderClearing | Account::Bank | Account::Disputes, _) => return,
        };
        *figure = figure.saturating_add(minor);
    }
}

/// One account with both of its sides, in minor units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountSum {
    /// The account.
    pub account: Account,
    /// All debits.
    pub debit_minor: i64,
    /// All credits.
    pub credit_minor: i64,
}

/// The figures of a performance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerformanceFigures {
    /// None for what is of no performance.
    pub performance: Option<PerformanceId>,
    /// Its figures.
    pub figures: Figures,
}

/// The report of one currency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CurrencyReport {
    /// The currency.
    pub currency: Currency,
    /// All together.
    pub figures: Figures,
    /// The accounts that moved, in the order of the chart.
    pub accounts: Vec<AccountSum>,
    /// By performance.
    pub performances: Vec<PerformanceFigures>,
}

impl CurrencyReport {
    /// All debits and all credits: equal, or a posting was tampered with.
    #[must_use]
    pub fn sides_minor(&self) -> (i64, i64) {
        self.accounts.iter().fold((0, 0), |(debit, credit), sum| {
            (debit.saturating_add(sum.debit_minor), credit.saturating_add(sum.credit_minor))
        })
    }
}

/// Puts sums together, by currency.
#[must_use]
pub fn report(sums: &[Sum]) -> Vec<CurrencyReport> {
    let mut currencies: BTreeMap<Currency, Vec<&Sum>> = BTreeMap::new();
    for sum in sums {
        currencies.entry(sum.currency).or_default().push(sum);
    }
    let one = |(currency, sums): (Currency, Vec<&Sum>)| {
        let mut figures = Figures::default();
        let mut accounts: BTreeMap<Account, (i64, i64)> = BTreeMap::new();
        let mut performances: BTreeMap<Option<PerformanceId>, Figures> = BTreeMap::new();
        for sum in sums {
            figures.add(sum);
            performances.entry(sum.performance).or_default().add(sum);
            let (debit, credit) = accounts.entry(sum.account).or_default();
            *debit = debit.saturating_add(sum.debit_minor);
            *credit = credit.saturating_add(sum.credit_minor);
        }
        CurrencyReport {
            currency,
            figures,
            accounts: accounts
                .into_iter()
                .map(|(account, (debit_minor, credit_minor))| AccountSum { account, debit_minor, credit_minor })
                .collect(),
            performances: performances
                .into_iter()
                .map(|(performance, figures)| PerformanceFigures { performance, figures })
                .collect(),
        }
    };
    currencies.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{AttemptId, DisputeId, OrderId, OrganizationId, RefundId};
    use crate::ledger::{Event, Origin, Shares};
    use crate::money::Money;
    use proptest::prelude::*;
    use uuid::Uuid;

    fn eur() -> Currency {
        "EUR".parse().unwrap()
    }

    fn evening(number: u128) -> Option<PerformanceId> {
        Some(PerformanceId(Uuid::from_u128(number)))
    }

    /// Entries of an event, as sums.
    fn sums(event: &Event, performance: Option<PerformanceId>) -> Vec<Sum> {
        let posting = event.posting().unwrap();
        let source = posting.source().split(':').next().unwrap().to_owned();
        let one = |entry: &super::super::Entry| Sum {
            account: entry.account,
            source: source.clone(),
            currency: posting.currency(),
            performance,
            debit_minor: entry.amount_minor.max(0),
            credit_minor: entry.amount_minor.min(0).saturating_neg(),
        };
        posting.entries().iter().map(one).collect()
    }

    fn id(number: u128) -> (AttemptId, OrderId, RefundId, DisputeId) {
        let uuid = Uuid::from_u128(number);
        (AttemptId(uuid), OrderId(uuid), RefundId(uuid), DisputeId(uuid))
    }

    fn captured(number: u128, shares: Shares) -> Event {
        let (attempt, order, ..) = id(number);
        Event::OrderCaptured { attempt, order, currency: eur(), shares }
    }

    #[test]
    fn each_event_shows_in_its_figure() {
        let (attempt, order, refund, dispute) = id(7);
        let shares = Shares { organizer_minor: 8_000, fees_minor: 900, tax_minor: 1_100 };
        let part = Origin::Sale(Shares { organizer_minor: 800, fees_minor: 90, tax_minor: 110 });
        let amount = |minor| Money::new(minor, eur());
        let events = [
            captured(1, shares),
            Event::LateMoney { attempt, order, amount: amount(500) },
            Event::RefundReserved { refund, order, currency: eur(), origin: part },
            Event::RefundSucceeded { refund, order, amount: amount(600) },
            Event::DisputeOpened { dispute, order, amount: amount(300) },
            Event::ProviderFee { provider: "sandbox".into(), line: "charge:pay_1".into(), amount: amount(25) },
        ];
        let sums: Vec<Sum> = events.iter().flat_map(|event| sums(event, evening(1))).collect();
        let reports = report(&sums);
        let figures = reports[0].figures;
        assert_eq!((figures.captured_minor, figures.refunded_minor, figures.disputed_minor), (10_500, 600, 300));
        assert_eq!((figures.fees_minor, figures.tax_minor, figures.owed_minor), (810, 990, 7_200));
        assert_eq!((figures.provider_fees_minor, figures.waiting_minor, figures.late_minor), (25, 400, 500));
        let (debit, credit) = reports[0].sides_minor();
        assert_eq!(debit, credit);
        assert_eq!(reports[0].performances, [PerformanceFigures { performance: evening(1), figures }]);
    }

    #[test]
    fn a_dispute_that_is_won_and_a_refund_that_comes_back_leave_nothing() {
        let (_, order, refund, dispute) = id(3);
        let amount = Money::new(300, eur());
        let origin = Origin::Sale(Shares::all_to_organizer(300));
        let events = [
            Event::DisputeOpened { dispute, order, amount },
            Event::DisputeWon { dispute, order, amount },
            Event::RefundReserved { refund, order, currency: eur(), origin },
            Event::RefundSucceeded { refund, order, amount },
            Event::RefundReturned { refund, order, currency: eur(), origin },
        ];
        let sums: Vec<Sum> = events.iter().flat_map(|event| sums(event, None)).collect();
        assert_eq!(report(&sums)[0].figures, Figures::default());
    }

    #[test]
    fn payouts_lower_what_is_owed_and_a_reversal_raises_it_again() {
        let organization = OrganizationId(Uuid::from_u128(2));
        let out = |payout: &str, minor| {
            let (payout, amount) = (payout.to_owned(), Money::new(minor, eur()));
            Event::OrganizerPayout { payout, organization, amount }
        };
        let (payout, amount) = ("2".to_owned(), Money::new(300, eur()));
        let mut all = sums(&captured(1, Shares::all_to_organizer(5_000)), evening(1));
        for event in [out("1", 2_000), out("2", 300), Event::OrganizerPayoutReversed { payout, organization, amount }] {
            all.extend(sums(&event, None));
        }
        let reports = report(&all);
        let figures = reports[0].figures;
        assert_eq!((figures.captured_minor, figures.paid_out_minor, figures.owed_minor), (5_000, 2_000, 3_000));
        let parts: Vec<_> = reports[0].performances.iter().map(|part| (part.performance, part.figures)).collect();
        assert_eq!((parts[0].0, parts[0].1.paid_out_minor, parts[0].1.owed_minor), (None, 2_000, -2_000));
        assert_eq!((parts[1].0, parts[1].1.paid_out_minor, parts[1].1.owed_minor), (evening(1), 0, 5_000));
        let (debit, credit) = reports[0].sides_minor();
        assert_eq!(debit, credit);
    }

    proptest! {
        /// However sales are spread over evenings: the parts sum to the whole, and the sides are equal.
        #[test]
        fn performances_sum_to_the_whole(
            sales in prop::collection::vec((1..4_u128, 1..9_999_i64, 0..999_i64, 0..999_i64), 1..30),
        ) {
            let mut all = Vec::new();
            for (number, (performance, organizer_minor, fees_minor, tax_minor)) in (0..).zip(&sales) {
                let shares = Shares {
                    organizer_minor: *organizer_minor, fees_minor: *fees_minor, tax_minor: *tax_minor,
                };
                all.extend(sums(&captured(number, shares), evening(*performance)));
            }
            let reports = report(&all);
            prop_assert_eq!(reports.len(), 1);
            let whole = reports[0].figures;
            let owed: i64 = reports[0].performances.iter().map(|part| part.figures.owed_minor).sum();
            prop_assert_eq!(owed, whole.owed_minor);
            prop_assert_eq!(whole.captured_minor, whole.owed_minor + whole.fees_minor + whole.tax_minor);
            let (debit, credit) = reports[0].sides_minor();
            prop_assert_eq!(debit, credit);
        }
    }
}
