//! Receipts, invoices and credit notes: what they say, and the form of their numbers.
//!
//! A receipt is there as soon as an order is paid. Its number comes a moment later, from one sequence for
//! each organization that has no gap. What a numbered document says is kept as it was when it got its
//! number, whatever the settings say since.

use crate::ids::{DocumentId, OrderId};
use crate::money::fees::{Amounts, LineKind, Rate};
use crate::money::split::split;
use crate::money::{Currency, Money};
use crate::refusal::{Code, Refusal};
use crate::time::{Millis, ZonedTime};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The beginning of numbers where an organization chose none.
pub const DEFAULT_PREFIX: &str = "SA";
/// Longest beginning of a number, in characters.
pub const PREFIX_MAX_CHARS: usize = 8;
/// Longest address, in characters.
pub const ADDRESS_MAX_CHARS: usize = 400;
/// Longest tax number, in characters.
pub const TAX_ID_MAX_CHARS: usize = 40;
/// Most documents in one file of a list.
pub const LIST_MAX: i64 = 50_000;

/// What kind of document it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DocumentKind {
    /// For what was paid.
    Invoice,
    /// For what went back.
    CreditNote,
}

impl DocumentKind {
    /// Both kinds.
    pub const ALL: &[Self] = &[Self::Invoice, Self::CreditNote];

    /// The text form, as stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Invoice => "invoice",
            Self::CreditNote => "credit_note",
        }
    }

    /// Reads the text form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == text)
    }
}

/// The number of a document as people read it: `SA-2026-000001`. The year is that of UTC. Numbers go on
/// over the turn of a year, so the last part alone is unique within an organization.
#[must_use]
pub fn label(prefix: &str, year: i16, number: i64) -> String {
    format!("{prefix}-{year:04}-{number:06}")
}

/// What documents say about an organization besides its name, and how their numbers begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Details {
    /// Postal address, in lines; may be empty.
    pub address: String,
    /// Its number at the tax office; may be empty.
    pub tax_id: String,
    /// The beginning of numbers that are given from now on.
    pub prefix: String,
}

impl Default for Details {
    fn default() -> Self {
        Self { address: String::new(), tax_id: String::new(), prefix: DEFAULT_PREFIX.to_owned() }
    }
}

impl Details {
    /// Details as somebody typed them, without what forms add.
    ///
    /// # Errors
    /// `invalid_input` names the field.
    pub fn typed(address: &str, tax_id: &str, prefix: &str) -> Result<Self, Refusal> {
        let wrong = |message: String| Err(Refusal::new(Code::InvalidInput, message));
        let address: Vec<&str> = address.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let details = Self {
            address: address.join("\n"),
            tax_id: tax_id.trim().to_owned(),
            prefix: prefix.trim().to_ascii_uppercase(),
        };
        let is_odd = |c: char| c.is_control() && c != '\n';
        if details.address.chars().count() > ADDRESS_MAX_CHARS || details.address.chars().any(is_odd) {
            return wrong(format!("address: at most {ADDRESS_MAX_CHARS} characters are expected"));
        }
        if details.tax_id.chars().count() > TAX_ID_MAX_CHARS || details.tax_id.chars().any(char::is_control) {
            return wrong(format!("tax_id: at most {TAX_ID_MAX_CHARS} characters on one line are expected"));
        }
        let fits = (1..=PREFIX_MAX_CHARS).contains(&details.prefix.len());
        if !fits || !details.prefix.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit()) {
            return wrong(format!("prefix: 1 to {PREFIX_MAX_CHARS} letters (A to Z) and digits are expected"));
        }
        Ok(details)
    }
}

/// A seat as its venue names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatName {
    /// Section.
    pub section: String,
    /// Row.
    pub row: String,
    /// Seat.
    pub label: String,
}

/// A line of a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaperLine {
    /// What it is for; none for a part of the order that nobody put down to single lines.
    pub kind: Option<LineKind>,
    /// The seat; none for what belongs to the order as a whole.
    pub seat: Option<SeatName>,
    /// What it comes to.
    pub amounts: Amounts,
}

/// All lines of one rate of tax.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaxRow {
    /// The rate.
    pub rate: Rate,
    /// Their sums.
    pub amounts: Amounts,
}

/// What a document says, as it was when it got its number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paper {
    /// Name of the organization that sells.
    pub seller: String,
    /// Its address, in lines; may be empty.
    pub address: String,
    /// Its number at the tax office; may be empty.
    pub tax_id: String,
    /// Address of the buyer's account.
    pub buyer: String,
    /// Who plays.
    pub artist: String,
    /// Name of the event.
    pub event: String,
    /// Name of the venue.
    pub venue: String,
    /// Where it is.
    pub city: String,
    /// When the performance begins.
    pub starts: Millis,
    /// The venue's time zone.
    pub time_zone: String,
    /// Currency of all amounts.
    pub currency: Currency,
    /// The lines.
    pub lines: Vec<PaperLine>,
    /// Their sums by rate of tax, the highest first.
    pub taxes: Vec<TaxRow>,
    /// Their sums.
    pub totals: Amounts,
    /// Through whom it was paid.
    pub provider: String,
    /// When it was paid.
    pub paid: Millis,
    /// Of a credit note, the number of the invoice that it is about.
    pub of: Option<String>,
}

impl Paper {
    /// What it comes to.
    #[must_use]
    pub fn total(&self) -> Money {
        Money::new(self.totals.gross_minor, self.currency)
    }
}

/// Sums of amounts by rate of tax, the highest rate first; `None` when a sum leaves the range.
pub fn by_rate(lines: impl IntoIterator<Item = (Rate, Amounts)>) -> Option<Vec<TaxRow>> {
    let mut sums: BTreeMap<Rate, Amounts> = BTreeMap::new();
    for (rate, amounts) in lines {
        let sum = sums.entry(rate).or_default();
        *sum = sum.checked_add(amounts)?;
    }
    Some(sums.into_iter().rev().map(|(rate, amounts)| TaxRow { rate, amounts }).collect())
}

/// The part of an invoice that a sum is, where nobody knows which lines it was for: each rate of tax has its
/// share by largest remainder. `None` when the sum is more than the invoice.
#[must_use]
pub fn spread(taxes: &[TaxRow], gross_minor: i64) -> Option<Vec<TaxRow>> {
    let weights: Vec<u64> =
        taxes.iter().map(|row| u64::try_from(row.amounts.gross_minor)).collect::<Result<_, _>>().ok()?;
    let shares = split(gross_minor, &weights)?;
    let rows = taxes.iter().zip(shares).filter(|(_, minor)| *minor != 0);
    rows.map(|(row, minor)| Some(TaxRow { rate: row.rate, amounts: row.amounts.part(0, minor)? })).collect()
}

/// What the credit note of a refund that succeeded comes to, in minor units; 0: it has none. By sums over the
/// order: what notes say so far, and what went back, this refund included.
///
/// A refund may fail after it succeeded and had its note, and another one follows in its place: what that one
/// gives back was said before. So notes never say more than what went back when they are written, and in the
/// end say the same.
#[must_use]
pub fn note_minor(noted_minor: i64, returned_minor: i64, refund_minor: i64) -> i64 {
    returned_minor.saturating_sub(noted_minor).clamp(0, refund_minor.max(0))
}

/// A numbered document in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issued {
    /// The document.
    pub id: DocumentId,
    /// Its kind.
    pub kind: DocumentKind,
    /// Its number.
    pub label: String,
    /// When it got it, in UTC, as the year of the number is.
    pub issued: ZonedTime,
    /// What it comes to.
    pub total: Money,
}

/// A document as its buyer reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The order.
    pub order: OrderId,
    /// Which of the order's documents it is.
    pub kind: DocumentKind,
    /// Its number and when it was given; none while it is being assigned.
    pub issued: Option<Issued>,
    /// What it says.
    pub paper: Paper,
    /// When it was paid, at the venue.
    pub paid: ZonedTime,
    /// When the performance begins, at the venue.
    pub starts: ZonedTime,
    /// The other numbered documents of the order.
    pub others: Vec<Issued>,
}

/// What an organization says about itself on documents, as its settings show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DetailsView {
    /// Name of the organization.
    pub name: String,
    /// The rest.
    pub details: Details,
    /// Version of the details, for a change that must not overwrite another; 0 before the first.
    pub version: i32,
    /// The last number that was given, from 1; 0 before the first.
    pub last_number: i64,
    /// What the next number will look like, if it is given this year.
    pub next: String,
    /// The newest documents.
    pub newest: Vec<Issued>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(basis_points: u32, net_minor: i64, tax_minor: i64) -> TaxRow {
        let amounts = Amounts { net_minor, tax_minor, gross_minor: net_minor + tax_minor };
        TaxRow { rate: Rate::try_from(basis_points).unwrap(), amounts }
    }

    #[test]
    fn a_number_reads_as_prefix_year_and_place() {
        assert_eq!(label("SA", 2026, 1), "SA-2026-000001");
        assert_eq!(label("HALL7", 2027, 1_234_567), "HALL7-2027-1234567");
    }

    #[test]
    fn details_are_taken_as_people_type_them_within_bounds() {
        let details = Details::typed("  Main Street 1 \r\n\r\n10115 Berlin ", " DE 123 ", " sa2 ").unwrap();
        assert_eq!(details.address, "Main Street 1\n10115 Berlin");
        assert_eq!((details.tax_id.as_str(), details.prefix.as_str()), ("DE 123", "SA2"));
        assert_eq!(Details::typed("", "", "SA").unwrap(), Details::default());
        assert!(Details::typed(&"街".repeat(ADDRESS_MAX_CHARS), "", "A").is_ok());
        let long = "x".repeat(ADDRESS_MAX_CHARS + 1);
        for (address, tax_id, prefix, field) in [
            (long.as_str(), "", "SA", "address: "),
            ("a\u{7}b", "", "SA", "address: "),
            ("", &long[..TAX_ID_MAX_CHARS + 1], "SA", "tax_id: "),
            ("", "a\nb", "SA", "tax_id: "),
            ("", "", "", "prefix: "),
            ("", "", "S-A", "prefix: "),
            ("", "", "ÄÖ", "prefix: "),
            ("", "", "ABCDEFGHI", "prefix: "),
        ] {
            let refusal = Details::typed(address, tax_id, prefix).unwrap_err();
            assert_eq!(refusal.code, Code::InvalidInput);
            assert!(refusal.message.starts_with(field), "{field}{}", refusal.message);
        }
    }

    #[test]
    fn lines_are_summed_by_their_rate() {
        let lines = [row(700, 100, 7), row(1_900, 100, 19), row(700, 200, 14)].map(|row| (row.rate, row.amounts));
        assert_eq!(by_rate(lines), Some(vec![row(1_900, 100, 19), row(700, 300, 21)]));
        assert_eq!(by_rate([]), Some(Vec::new()));
    }

    #[test]
    fn a_refund_in_the_place_of_one_that_failed_has_no_second_note() {
        assert_eq!(note_minor(0, 100, 100), 100);
        assert_eq!(note_minor(30, 80, 50), 50, "a second part");
        assert_eq!(note_minor(100, 100, 100), 0, "the first one failed after its note");
        assert_eq!(note_minor(30, 50, 50), 20, "30 failed after their note");
        assert_eq!(note_minor(50, 80, 30), 30, "and are made up for");
        assert_eq!(note_minor(30, 20, 20), 0, "notes never say more than what went back");
    }

    proptest! {
        /// Refunds succeed, fail after it and are made again: once all is made up for, notes say what went back.
        #[test]
        fn notes_say_what_went_back(refunds in prop::collection::vec((1_i64..1_000, any::<bool>()), 1..12)) {
            let (mut noted, mut returned, mut failed) = (0_i64, 0_i64, Vec::new());
            for (minor, fails) in refunds {
                returned += minor;
                let note = note_minor(noted, returned, minor);
                prop_assert!(note >= 0 && note <= minor && (note == 0 || noted + note <= returned));
                noted += note;
                if fails {
                    returned -= minor;
                    failed.push(minor);
                }
            }
            for minor in failed {
                returned += minor;
                noted += note_minor(noted, returned, minor);
            }
            prop_assert_eq!(noted, returned);
        }

        /// A part of an invoice has whole minor units at each rate, and is all of the sum.
        #[test]
        fn a_sum_is_spread_to_the_last_unit(
            rows in prop::collection::vec((0_u32..=10_000, 0_i64..100_000, 0_i64..20_000), 1..4),
            percent in 0_i64..=100,
        ) {
            let taxes: Vec<TaxRow> = rows.iter().map(|(rate, net, tax)| row(*rate, *net, *tax)).collect();
            let whole: i64 = taxes.iter().map(|row| row.amounts.gross_minor).sum();
            let part = whole * percent / 100;
            if whole > 0 {
                let spread = spread(&taxes, part).unwrap();
                let sum = Amounts::sum(spread.iter().map(|row| row.amounts)).unwrap();
                prop_assert!(sum.adds_up());
                prop_assert_eq!(sum.gross_minor, part);
            }
        }
    }
}
