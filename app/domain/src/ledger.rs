//! The books: a chart of accounts, one balanced posting for each business event, and their balances.
//!
//! An entry is positive for a debit and negative for a credit, in minor units. A [`Posting`] is made of
//! moves, each of which debits one account and credits another with the same amount: so the entries of
//! every posting sum to zero, and nothing else can be built. All of a posting is in one currency. There
//! is no account for rounding: amounts are split so that their parts sum to them
//! ([`crate::money::fees`], [`crate::money::split`]).
//!
//! | event | source key | debit | credit |
//! |---|---|---|---|
//! | order captured | `capture:{attempt}` | provider clearing | organizer, fees, tax |
//! | late money | `capture:{attempt}` | provider clearing | order receivable |
//! | late money reclaimed | `reclaim:{attempt}` | order receivable | organizer, fees, tax |
//! | refund reserved | `refund-reserved:{refund}` | organizer, fees, tax, or order receivable | refunds payable |
//! | refund succeeded | `refund:{refund}` | refunds payable | provider clearing |
//! | refund failed, or rejected | `refund-failed:{refund}` | refunds payable | as reserved |
//! | refund failed after success | `refund-returned:{refund}` | provider clearing | as reserved |
//! | dispute opened | `dispute:{dispute}` | disputes | provider clearing |
//! | dispute won | `dispute-won:{dispute}` | provider clearing | disputes |
//! | dispute lost | `dispute-lost:{dispute}` | organizer, fees, tax, or order receivable | disputes |
//! | provider's fee | `provider-fee:{provider}:{line}` | provider fees | provider clearing |
//! | provider pays out | `provider-payout:{provider}:{payout}` | bank | provider clearing |
//! | provider's payout fails | `provider-payout-failed:{provider}:{payout}` | provider clearing | bank |
//! | organizer is paid out | `organizer-payout:{payout}` | organizer payable | bank |
//! | that is reversed | `organizer-payout-reversed:{payout}` | bank | organizer payable |
//!
//! A source key is posted once, whoever posts it: the same attempt is never captured twice here, and is
//! either an order's money or late money. That a refund fails once, before or after its success, is the
//! rule of [`crate::refund`].
//!
//! The order receivable is what stands between the money of an order and a right to its seats. Money
//! that came too late has it in credit, since it belongs to the fan; sold seats or a refund clear it.
//!
//! Books that know two accounts alone are a part of this. A capture from `provider_clearing` to
//! `organizer_payable` is [`Event::OrderCaptured`] with [`Shares::all_to_organizer`], to the letter. A
//! refund that was posted from `organizer_payable` to `provider_clearing` under `refund:{refund}` equals
//! [`Event::RefundReserved`] and [`Event::RefundSucceeded`] together; only the second has that key here.
//! A report of what is owed to an organizer therefore sums the account over all sources.

pub mod books;
pub mod event;
pub mod report;

pub use event::Event;

use crate::ids::{OrderId, OrganizationId};
use crate::money::Currency;
use crate::money::fees::{Amounts, LineKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The chart of accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Account {
    /// Our money at payment providers.
    ProviderClearing,
    /// Our money at the bank.
    Bank,
    /// What fans owe for orders (debit), or paid without a right to seats (credit).
    OrderReceivable,
    /// What organizers are owed for tickets, without tax.
    OrganizerPayable,
    /// What was earned by service fees and fees of orders, without tax.
    ServiceFees,
    /// Tax that is owed to the state.
    TaxPayable,
    /// What is on its way back to fans.
    RefundsPayable,
    /// What providers withhold while a dispute is open.
    Disputes,
    /// What providers charge.
    ProviderFees,
}

impl Account {
    /// Every account.
    pub const ALL: &[Self] = &[
        Self::ProviderClearing,
        Self::Bank,
        Self::OrderReceivable,
        Self::OrganizerPayable,
        Self::ServiceFees,
        Self::TaxPayable,
        Self::RefundsPayable,
        Self::Disputes,
        Self::ProviderFees,
    ];

    /// The text form, as stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ProviderClearing => "provider_clearing",
            Self::Bank => "bank",
            Self::OrderReceivable => "order_receivable",
            Self::OrganizerPayable => "organizer_payable",
            Self::ServiceFees => "service_fees",
            Self::TaxPayable => "tax_payable",
            Self::RefundsPayable => "refunds_payable",
            Self::Disputes => "disputes",
            Self::ProviderFees => "provider_fees",
        }
    }

    /// Reads the text form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|account| account.as_str() == text)
    }
}

/// Whom an amount of an order belongs to, in minor units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Shares {
    /// The organizer's: tickets, without tax.
    pub organizer_minor: i64,
    /// Ours: fees, without tax.
    pub fees_minor: i64,
    /// The state's.
    pub tax_minor: i64,
}

impl Shares {
    /// An amount without fees and tax.
    #[must_use]
    pub fn all_to_organizer(minor: i64) -> Self {
        Self { organizer_minor: minor, ..Self::default() }
    }

    /// The shares of the lines of a bill, or of the parts of a refund. `None` when a sum leaves the
    /// range.
    pub fn of(lines: impl IntoIterator<Item = (LineKind, Amounts)>) -> Option<Self> {
        let mut shares = Self::default();
        for (kind, amounts) in lines {
            let net = match kind {
                LineKind::Ticket => &mut shares.organizer_minor,
                LineKind::ServiceFee | LineKind::OrderFee => &mut shares.fees_minor,
            };
            *net = net.checked_add(amounts.net_minor)?;
            shares.tax_minor = shares.tax_minor.checked_add(amounts.tax_minor)?;
        }
        Some(shares)
    }

    /// The account of each share.
    fn accounts(self) -> [(Account, i64); 3] {
        [
            (Account::OrganizerPayable, self.organizer_minor),
            (Account::ServiceFees, self.fees_minor),
            (Account::TaxPayable, self.tax_minor),
        ]
    }
}

/// Where money that goes back, or is disputed, was booked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// With a sale.
    Sale(Shares),
    /// As late money, in minor units.
    Late(i64),
}

impl Origin {
    fn accounts(self) -> Vec<(Account, i64)> {
        match self {
            Self::Sale(shares) => shares.accounts().to_vec(),
            Self::Late(minor) => vec![(Account::OrderReceivable, minor)],
        }
    }
}

/// Why an event can't be posted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    /// It moves nothing.
    #[error("{0}: it moves no money")]
    Empty(String),
    /// An amount below zero where money goes one way.
    #[error("{0}: an amount is below zero")]
    Negative(String),
    /// A sum leaves 64 bits.
    #[error("{0}: the amounts are too large")]
    TooLarge(String),
}

/// Whom a posting is about: balances are kept by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// An order.
    Order(OrderId),
    /// An organizer.
    Organization(OrganizationId),
    /// A provider as a whole.
    Provider,
}

/// One side of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Entry {
    /// The account.
    pub account: Account,
    /// Minor units: a debit is positive, a credit negative.
    pub amount_minor: i64,
}

/// Entries that sum to zero, under a key that is posted once. One entry an account at most, none of 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Posting {
    source: String,
    subject: Subject,
    currency: Currency,
    entries: Vec<Entry>,
}

/// An amount from one account to another: a debit of the first and a credit of the second.
struct Move {
    debit: Account,
    credit: Account,
    minor: i64,
}

impl Posting {
    /// Nets moves by account. This is the only way to a posting, and it keeps the sum at zero.
    fn of(source: String, subject: Subject, currency: Currency, moves: Vec<Move>) -> Result<Self, LedgerError> {
        let mut sums: BTreeMap<Account, i64> = BTreeMap::new();
        for Move { debit, credit, minor } in moves {
            for (account, minor) in [(debit, Some(minor)), (credit, minor.checked_neg())] {
                let sum = sums.entry(account).or_default();
                match minor.and_then(|minor| sum.checked_add(minor)) {
                    Some(next) => *sum = next,
                    None => return Err(LedgerError::TooLarge(source)),
                }
            }
        }
        let entries: Vec<Entry> = sums
            .into_iter()
            .filter(|(_, amount_minor)| *amount_minor != 0)
            .map(|(account, amount_minor)| Entry { account, amount_minor })
            .collect();
        if entries.is_empty() {
            return Err(LedgerError::Empty(source));
        }
        Ok(Self { source, subject, currency, entries })
    }

    /// The key that is posted once.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whom it is about.
    #[must_use]
    pub fn subject(&self) -> Subject {
        self.subject
    }

    /// The currency of all entries.
    #[must_use]
    pub fn currency(&self) -> Currency {
        self.currency
    }

    /// The entries, by account.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

#[cfg(test)]
mod tests;
