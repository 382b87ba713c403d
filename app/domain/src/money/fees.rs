//! What an order comes to: tickets, service fees, the order's fee, and the tax in each of them.
//!
//! Every line stands by itself: its tax is rounded once, half up by magnitude, to the minor unit of the
//! currency, and its net and tax sum to its gross. Totals are sums of lines, so nothing is ever rounded
//! twice and no rounding account is needed. Exact in every currency, since all of it is integers.

use super::split::share;
use super::{AMOUNT_MAX_MINOR, Currency, Money};
use crate::ids::SeatNo;
use crate::refusal::{Code, Refusal};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The whole, in basis points.
pub const WHOLE_BASIS_POINTS: u32 = 10_000;

/// A rate in basis points, hundredths of a per cent: 1900 is 19 %. From nothing to the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Rate(u32);

/// More than the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a rate is 0 to 10000 basis points, not {0}")]
pub struct NotARate(u32);

impl Rate {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// All of it.
    pub const WHOLE: Self = Self(WHOLE_BASIS_POINTS);

    /// The rate in basis points.
    #[must_use]
    pub fn basis_points(self) -> u32 {
        self.0
    }

    /// The rate of an amount, in minor units, rounded half up by magnitude.
    #[must_use]
    pub fn of(self, amount_minor: i64) -> i64 {
        share(amount_minor, self.0.into(), WHOLE_BASIS_POINTS.into()).expect("at most the amount itself")
    }
}

/// Why a text is no rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RateError {
    /// No number, or one with too many digits.
    #[error("a rate in per cent is expected, such as 19 or 8.25: {0}")]
    NotANumber(super::AmountError),
    /// More than the whole.
    #[error("a rate is 0 to 100 per cent")]
    TooMuch,
}

impl Rate {
    /// Reads a rate in per cent as people write it: `19`, `8.25`, `8,25 %`; nothing typed is no rate.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn parse_percent(text: &str) -> Result<Self, RateError> {
        let number = text.trim().trim_end_matches(['%', '\u{ff05}']).trim_end();
        if text.trim().is_empty() {
            return Ok(Self::NONE);
        }
        let basis_points = super::parse_decimal(number, 2).map_err(RateError::NotANumber)?;
        u32::try_from(basis_points).ok().and_then(|rate| Self::try_from(rate).ok()).ok_or(RateError::TooMuch)
    }

    /// The rate in per cent, without zeros that say nothing: `19`, `8.25`, `0.5`.
    #[must_use]
    pub fn percent(self) -> String {
        let (whole, hundredths) = (self.0 / 100, self.0 % 100);
        match (hundredths, hundredths % 10) {
            (0, _) => whole.to_string(),
            (_, 0) => format!("{whole}.{}", hundredths / 10),
            _ => format!("{whole}.{hundredths:02}"),
        }
    }
}

impl TryFrom<u32> for Rate {
    type Error = NotARate;

    fn try_from(basis_points: u32) -> Result<Self, Self::Error> {
        if basis_points <= WHOLE_BASIS_POINTS { Ok(Self(basis_points)) } else { Err(NotARate(basis_points)) }
    }
}

impl From<Rate> for u32 {
    fn from(rate: Rate) -> Self {
        rate.0
    }
}

/// Whether a stated price has its tax inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaxMode {
    /// The stated price is what is paid; the tax is part of it.
    #[default]
    Inclusive,
    /// The tax comes on top of the stated price.
    Added,
}

impl TaxMode {
    /// Every mode.
    pub const ALL: &[Self] = &[Self::Inclusive, Self::Added];

    /// The text form, as stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Inclusive => "inclusive",
            Self::Added => "added",
        }
    }

    /// Reads the text form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|mode| mode.as_str() == text)
    }
}

/// The tax on one kind of line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TaxRule {
    /// The rate, always of the net price.
    pub rate: Rate,
    /// Whether stated prices have it inside.
    pub mode: TaxMode,
}

impl TaxRule {
    /// What a stated price comes to. Added: the tax is the rate of the price. Inclusive: the tax is
    /// `price × rate / (1 + rate)`. `None` when the gross leaves the range.
    #[must_use]
    pub fn of(self, stated_minor: i64) -> Option<Amounts> {
        match self.mode {
            TaxMode::Added => {
                let tax_minor = self.rate.of(stated_minor);
                let gross_minor = stated_minor.checked_add(tax_minor)?;
                Some(Amounts { net_minor: stated_minor, tax_minor, gross_minor })
            }
            TaxMode::Inclusive => {
                let rate = u64::from(self.rate.basis_points());
                let tax_minor = share(stated_minor, rate, u64::from(WHOLE_BASIS_POINTS) + rate)?;
                Some(Amounts { net_minor: stated_minor - tax_minor, tax_minor, gross_minor: stated_minor })
            }
        }
    }
}

/// An amount with the tax in it, in minor units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Amounts {
    /// Without tax.
    pub net_minor: i64,
    /// The tax.
    pub tax_minor: i64,
    /// Both: what is paid.
    pub gross_minor: i64,
}

impl Amounts {
    /// Both together, or `None` when a sum leaves the range.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        Some(Self {
            net_minor: self.net_minor.checked_add(other.net_minor)?,
            tax_minor: self.tax_minor.checked_add(other.tax_minor)?,
            gross_minor: self.gross_minor.checked_add(other.gross_minor)?,
        })
    }

    /// The sum of many, or `None` when it leaves the range.
    pub fn sum(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        all.into_iter().try_fold(Self::default(), Self::checked_add)
    }

    /// Whether nothing is below zero, and net and tax are the gross.
    #[must_use]
    pub fn adds_up(self) -> bool {
        self.net_minor >= 0
            && self.tax_minor >= 0
            && self.net_minor.checked_add(self.tax_minor) == Some(self.gross_minor)
    }

    /// The part that takes the gross from `before_minor` to `before_minor + gross_minor`. Where pieces come
    /// back again, they are cut by [`crate::refund::policy::OrderLine::next_part`].
    ///
    /// The tax of a part is the difference of the rounded taxes up to its two ends. So parts that cover
    /// the gross sum to exactly this net and this tax, however they were cut. `None` when the part
    /// reaches outside.
    #[must_use]
    pub fn part(self, before_minor: i64, gross_minor: i64) -> Option<Self> {
        let after_minor = before_minor.checked_add(gross_minor)?;
        if before_minor < 0 || gross_minor < 0 || after_minor > self.gross_minor {
            return None;
        }
        let tax_minor = self.tax_up_to(after_minor)? - self.tax_up_to(before_minor)?;
        Some(Self { net_minor: gross_minor - tax_minor, tax_minor, gross_minor })
    }

    fn tax_up_to(self, gross_minor: i64) -> Option<i64> {
        if self.gross_minor == 0 {
            return Some(0);
        }
        share(self.tax_minor, u64::try_from(gross_minor).ok()?, u64::try_from(self.gross_minor).ok()?)
    }
}

/// What a line is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    /// The seat itself.
    Ticket,
    /// The fee for selling that seat.
    ServiceFee,
    /// The fee for the order as a whole.
    OrderFee,
}

impl LineKind {
    /// Every kind.
    pub const ALL: &[Self] = &[Self::Ticket, Self::ServiceFee, Self::OrderFee];

    /// The text form, as stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ticket => "ticket",
            Self::ServiceFee => "service_fee",
            Self::OrderFee => "order_fee",
        }
    }

    /// Reads the text form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == text)
    }
}

/// A line of a bill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Line {
    /// What it is for.
    pub kind: LineKind,
    /// The seat; none for the order's fee.
    pub seat: Option<SeatNo>,
    /// What it comes to.
    pub amounts: Amounts,
}

/// A seat and its stated price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PricedSeat {
    /// The seat.
    pub seat: SeatNo,
    /// The price as its zone states it.
    pub price: Money,
}

/// Why there is no bill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BillError {
    /// An order has a seat.
    #[error("seats: at least one is expected")]
    Empty,
    /// One currency an order.
    #[error("seat {seat}: its price is in {found}, the fees are in {expected}")]
    OtherCurrency {
        /// The seat.
        seat: SeatNo,
        /// The currency of its price.
        found: Currency,
        /// The currency of the fees.
        expected: Currency,
    },
    /// A price from 0 to [`AMOUNT_MAX_MINOR`].
    #[error("seat {0}: its price is out of range")]
    OutOfRange(SeatNo),
    /// A line that is there twice, that has or lacks a seat against its kind, or that does not add up.
    #[error("line {0}: it does not fit its bill")]
    BadLine(usize),
    /// The sum leaves 64 bits.
    #[error("the total is too large")]
    TooLarge,
}

/// All lines of an order with their totals: lines add up, and so do the totals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bill {
    currency: Currency,
    lines: Vec<Line>,
    totals: Amounts,
}

impl Bill {
    /// A bill of lines that were computed before, as the tables keep them.
    ///
    /// # Errors
    /// [`BillError`] names the line that does not fit.
    pub fn of_lines(currency: Currency, lines: Vec<Line>) -> Result<Self, BillError> {
        let mut seen = BTreeSet::new();
        for (at, line) in lines.iter().enumerate() {
            let seat_fits = line.seat.is_some() == (line.kind != LineKind::OrderFee);
            if !seat_fits || !line.amounts.adds_up() || !seen.insert((line.kind, line.seat)) {
                return Err(BillError::BadLine(at));
            }
        }
        if !lines.iter().any(|line| line.kind == LineKind::Ticket) {
            return Err(BillError::Empty);
        }
        let totals = Amounts::sum(lines.iter().map(|line| line.amounts)).ok_or(BillError::TooLarge)?;
        Ok(Self { currency, lines, totals })
    }

    /// The currency of all of it.
    #[must_use]
    pub fn currency(&self) -> Currency {
        self.currency
    }

    /// The lines: each ticket with its service fee, the order's fee last.
    #[must_use]
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The sums of the lines.
    #[must_use]
    pub fn totals(&self) -> Amounts {
        self.totals
    }

    /// What the fan pays.
    #[must_use]
    pub fn total(&self) -> Money {
        Money::new(self.totals.gross_minor, self.currency)
    }
}

/// The fees of a performance and the taxes on them.
///
/// A free ticket carries no service fee, and an order of free tickets alone no fee at all: what is given
/// away needs no payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeeSchedule {
    /// Currency of the fixed amounts, and of all prices that they go with.
    pub currency: Currency,
    /// The fixed part of the service fee of a ticket, in minor units.
    pub service_fixed_minor: i64,
    /// The other part: a rate of the stated price of the ticket.
    pub service_rate: Rate,
    /// The fee of an order, in minor units.
    pub order_fixed_minor: i64,
    /// Tax on tickets.
    pub ticket_tax: TaxRule,
    /// Tax on service fees.
    pub service_tax: TaxRule,
    /// Tax on the order's fee.
    pub order_tax: TaxRule,
}

impl FeeSchedule {
    /// No fee and no tax: an order comes to its prices.
    #[must_use]
    pub fn none(currency: Currency) -> Self {
        Self {
            currency,
            service_fixed_minor: 0,
            service_rate: Rate::NONE,
            order_fixed_minor: 0,
            ticket_tax: TaxRule::default(),
            service_tax: TaxRule::default(),
            order_tax: TaxRule::default(),
        }
    }

    /// Whether it leaves every order as it is: no fee, and no tax on tickets.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.service_fixed_minor == 0
            && self.service_rate == Rate::NONE
            && self.order_fixed_minor == 0
            && self.ticket_tax.rate == Rate::NONE
    }

    /// The rule for the tax on lines of a kind.
    #[must_use]
    pub fn tax_on(&self, kind: LineKind) -> TaxRule {
        match kind {
            LineKind::Ticket => self.ticket_tax,
            LineKind::ServiceFee => self.service_tax,
            LineKind::OrderFee => self.order_tax,
        }
    }

    /// Checks what was typed.
    ///
    /// # Errors
    /// `invalid_input` names the field.
    pub fn check(&self) -> Result<(), Refusal> {
        for (field, minor) in
            [("service_fixed_minor", self.service_fixed_minor), ("order_fixed_minor", self.order_fixed_minor)]
        {
            if !(0..=AMOUNT_MAX_MINOR).contains(&minor) {
                return Err(Refusal::new(
                    Code::InvalidInput,
                    format!("{field}: 0 to {AMOUNT_MAX_MINOR} minor units are possible"),
                ));
            }
        }
        Ok(())
    }

    /// The bill of places whose seats are not known yet: they are numbered from 0.
    ///
    /// # Errors
    /// As [`Self::bill`].
    pub fn bill_of_prices(&self, prices: &[Money]) -> Result<Bill, BillError> {
        let seats: Vec<PricedSeat> =
            (0..).map(SeatNo).zip(prices).map(|(seat, price)| PricedSeat { seat, price: *price }).collect();
        self.bill(&seats)
    }

    /// The bill of an order.
    ///
    /// # Errors
    /// [`BillError`] names the seat whose price does not fit.
    pub fn bill(&self, seats: &[PricedSeat]) -> Result<Bill, BillError> {
        let mut lines = Vec::with_capacity(2 * seats.len() + 1);
        for PricedSeat { seat, price } in seats.iter().copied() {
            if price.currency != self.currency {
                return Err(BillError::OtherCurrency { seat, found: price.currency, expected: self.currency });
            }
            if !(0..=AMOUNT_MAX_MINOR).contains(&price.minor) {
                return Err(BillError::OutOfRange(seat));
            }
            lines.push(line(LineKind::Ticket, Some(seat), self.ticket_tax, price.minor)?);
            let fee_minor =
                self.service_fixed_minor.checked_add(self.service_rate.of(price.minor)).ok_or(BillError::TooLarge)?;
            if price.minor > 0 && fee_minor > 0 {
                lines.push(line(LineKind::ServiceFee, Some(seat), self.service_tax, fee_minor)?);
            }
        }
        if self.order_fixed_minor > 0 && seats.iter().any(|seat| seat.price.minor > 0) {
            lines.push(line(LineKind::OrderFee, None, self.order_tax, self.order_fixed_minor)?);
        }
        Bill::of_lines(self.currency, lines)
    }
}

fn line(kind: LineKind, seat: Option<SeatNo>, tax: TaxRule, stated_minor: i64) -> Result<Line, BillError> {
    let amounts = tax.of(stated_minor).ok_or(BillError::TooLarge)?;
    Ok(Line { kind, seat, amounts })
}

#[cfg(test)]
mod tests;
