//! Balances of postings: by account, by order, and the trial balance that must be zero.

use super::{Account, Posting, Subject};
use crate::ids::OrderId;
use crate::money::Currency;
use std::collections::{BTreeMap, BTreeSet};

/// Postings added up. Sums have 128 bits: no number of 64-bit entries leaves them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Books {
    sources: BTreeSet<String>,
    balances: BTreeMap<(Subject, Currency, Account), i128>,
}

impl Books {
    /// Adds a posting; `false`, and nothing changed, when its source was posted before.
    pub fn post(&mut self, posting: &Posting) -> bool {
        if !self.sources.insert(posting.source().to_owned()) {
            return false;
        }
        for entry in posting.entries() {
            let key = (posting.subject(), posting.currency(), entry.account);
            *self.balances.entry(key).or_default() += i128::from(entry.amount_minor);
        }
        true
    }

    /// The sum of all entries by currency. Each is 0, or a posting was tampered with.
    #[must_use]
    pub fn trial_balance(&self) -> BTreeMap<Currency, i128> {
        let mut sums: BTreeMap<Currency, i128> = BTreeMap::new();
        for ((_, currency, _), minor) in &self.balances {
            *sums.entry(*currency).or_default() += minor;
        }
        sums
    }

    /// The balance of an account in minor units: a debit is positive, a credit negative.
    #[must_use]
    pub fn balance(&self, account: Account, currency: Currency) -> i128 {
        self.sum(|_, found| found == (currency, account))
    }

    /// The balance of an account as far as one order goes, in minor units.
    #[must_use]
    pub fn of_order(&self, order: OrderId, account: Account, currency: Currency) -> i128 {
        self.sum(|subject, found| subject == Subject::Order(order) && found == (currency, account))
    }

    fn sum(&self, wanted: impl Fn(Subject, (Currency, Account)) -> bool) -> i128 {
        self.balances
            .iter()
            .filter(|((subject, currency, account), _)| wanted(*subject, (*currency, *account)))
            .map(|(_, minor)| minor)
            .sum()
    }
}
