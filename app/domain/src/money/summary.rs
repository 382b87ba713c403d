//! What an order comes to, in the few sums that people read.

use super::Money;
use super::fees::{Bill, FeeSchedule, LineKind, TaxMode, TaxRule};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// The tax of one rule in an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaxSum {
    /// Rate and mode.
    pub rule: TaxRule,
    /// All of it.
    pub amount: Money,
}

/// The sums of a bill. Tickets, fees and the taxes that were added make the total; taxes that prices
/// contain are told beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The tickets at their stated prices.
    pub tickets: Money,
    /// The service fees as stated.
    pub service: Money,
    /// The order's fee as stated.
    pub order: Money,
    /// The taxes, those that were added first, higher rates first; without those that come to nothing.
    pub taxes: Vec<TaxSum>,
    /// What is paid.
    pub total: Money,
}

impl Summary {
    /// The sums of a bill that was made by a schedule.
    #[must_use]
    pub fn of(schedule: &FeeSchedule, bill: &Bill) -> Self {
        let mut taxes: Vec<(TaxRule, i64)> = Vec::new();
        let mut stated = [0_i64; LineKind::ALL.len()];
        // No sum here is above the total, which the bill has added already.
        for line in bill.lines() {
            let (rule, amounts) = (schedule.tax_on(line.kind), line.amounts);
            let at = LineKind::ALL.iter().position(|kind| *kind == line.kind).unwrap_or_default();
            stated[at] += match rule.mode {
                TaxMode::Inclusive => amounts.gross_minor,
                TaxMode::Added => amounts.net_minor,
            };
            match taxes.iter_mut().find(|(known, _)| *known == rule) {
                Some((_, minor)) => *minor += amounts.tax_minor,
                None => taxes.push((rule, amounts.tax_minor)),
            }
        }
        taxes.retain(|(_, minor)| *minor > 0);
        taxes.sort_by_key(|(rule, _)| (rule.mode == TaxMode::Inclusive, Reverse(rule.rate)));
        let money = |minor| Money::new(minor, bill.currency());
        let [tickets, service, order] = stated.map(money);
        let taxes = taxes.into_iter().map(|(rule, minor)| TaxSum { rule, amount: money(minor) }).collect();
        Self { tickets, service, order, taxes, total: bill.total() }
    }

    /// Service fees and the order's fee together, as stated.
    #[must_use]
    pub fn fees(&self) -> Money {
        Money::new(self.service.minor + self.order.minor, self.total.currency)
    }

    /// The tax on top of what is stated.
    #[must_use]
    pub fn tax_added(&self) -> Money {
        let added = self.taxes.iter().filter(|tax| tax.rule.mode == TaxMode::Added);
        Money::new(added.map(|tax| tax.amount.minor).sum(), self.total.currency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::fees::Rate;
    use proptest::prelude::*;

    fn rule(basis_points: u32, mode: TaxMode) -> TaxRule {
        TaxRule { rate: Rate::try_from(basis_points).unwrap(), mode }
    }

    fn schedule() -> FeeSchedule {
        FeeSchedule {
            service_fixed_minor: 250,
            order_fixed_minor: 300,
            ticket_tax: rule(700, TaxMode::Inclusive),
            service_tax: rule(1_900, TaxMode::Added),
            order_tax: rule(1_900, TaxMode::Added),
            ..FeeSchedule::none("EUR".parse().unwrap())
        }
    }

    #[test]
    fn what_is_added_makes_the_total_and_what_is_contained_does_not() {
        let fees = schedule();
        let price = Money::new(5_000, fees.currency);
        let summary = Summary::of(&fees, &fees.bill_of_prices(&[price, price]).unwrap());
        assert_eq!((summary.tickets.minor, summary.service.minor, summary.order.minor), (10_000, 500, 300));
        let taxes: Vec<_> = summary.taxes.iter().map(|tax| (tax.rule, tax.amount.minor)).collect();
        // 2 · (250 · 19 %, 47.5) and 300 · 19 %; 2 · (5000 · 7/107, 327.1).
        assert_eq!(taxes, [(rule(1_900, TaxMode::Added), 48 + 48 + 57), (rule(700, TaxMode::Inclusive), 654)]);
        assert_eq!(summary.total.minor, 10_000 + 500 + 300 + 153);
        assert_eq!((summary.fees().minor, summary.tax_added().minor), (800, 153));
    }

    proptest! {
        #[test]
        fn the_sums_are_the_bill(
            prices in prop::collection::vec(0_i64..1_000_000, 1..20),
            fixed in 0_i64..10_000,
            order in 0_i64..10_000,
            rates in prop::collection::vec((0_u32..=10_000, any::<bool>()), 4),
        ) {
            let tax = |at: usize| rule(rates[at].0, if rates[at].1 { TaxMode::Added } else { TaxMode::Inclusive });
            let fees = FeeSchedule {
                service_fixed_minor: fixed,
                service_rate: Rate::try_from(rates[3].0).unwrap(),
                order_fixed_minor: order,
                ticket_tax: tax(0),
                service_tax: tax(1),
                order_tax: tax(2),
                ..FeeSchedule::none("EUR".parse().unwrap())
            };
            let prices: Vec<Money> = prices.into_iter().map(|minor| Money::new(minor, fees.currency)).collect();
            let bill = fees.bill_of_prices(&prices).unwrap();
            let summary = Summary::of(&fees, &bill);
            prop_assert_eq!(summary.tickets.minor, prices.iter().map(|price| price.minor).sum::<i64>());
            let parts = summary.tickets.minor + summary.fees().minor + summary.tax_added().minor;
            prop_assert_eq!(parts, bill.total().minor);
            prop_assert_eq!(summary.total, bill.total());
            let taxes: i64 = summary.taxes.iter().map(|tax| tax.amount.minor).sum();
            prop_assert_eq!(taxes, bill.totals().tax_minor);
        }
    }
}
