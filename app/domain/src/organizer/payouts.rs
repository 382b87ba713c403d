//! Payouts to an organization: what its finance notes of a transfer, and the page that lists them.

use crate::ids::PayoutId;
use crate::money::{Currency, Money, parse_amount};
use crate::refusal::{Code, Refusal};
use crate::time::ZonedTime;
use serde::{Deserialize, Serialize};

/// Longest reference, in characters: those of SEPA have 140.
pub const REFERENCE_MAX_CHARS: usize = 140;
/// Longest reason of a reversal, in characters.
pub const REASON_MAX_CHARS: usize = 500;

/// What a form says about a transfer: texts, as people typed them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PayoutForm {
    /// In major units.
    pub amount: String,
    /// Three letters.
    pub currency: String,
    /// A date such as `2026-01-31`.
    pub day: String,
    /// What the bank's statement says.
    pub reference: String,
}

fn invalid(field: &str, what: impl std::fmt::Display) -> Refusal {
    Refusal::new(Code::InvalidInput, format!("{field}: {what}"))
}

/// A text of 1 to so many characters without line breaks and other control characters, trimmed.
fn line<'a>(field: &str, text: &'a str, max_chars: usize) -> Result<&'a str, Refusal> {
    let text = text.trim();
    if (1..=max_chars).contains(&text.chars().count()) && !text.chars().any(char::is_control) {
        return Ok(text);
    }
    Err(invalid(field, format_args!("1 to {max_chars} characters on one line are expected")))
}

impl PayoutForm {
    /// Amount and reference. The day is read by who has a calendar.
    ///
    /// # Errors
    /// `invalid_input` names the field.
    pub fn read(&self) -> Result<(Money, &str), Refusal> {
        let currency: Currency = self.currency.trim().parse().map_err(|e| invalid("currency", e))?;
        let minor = parse_amount(&self.amount, currency).map_err(|e| invalid("amount", e))?;
        if minor == 0 {
            return Err(invalid("amount", "more than nothing is expected"));
        }
        let reference = line("reference", &self.reference, REFERENCE_MAX_CHARS)?;
        Ok((Money::new(minor, currency), reference))
    }
}

/// Reads why a payout is reversed.
///
/// # Errors
/// `invalid_input` names the field.
pub fn read_reason(reason: &str) -> Result<&str, Refusal> {
    line("reason", reason, REASON_MAX_CHARS)
}

/// That a payout was reversed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reversal {
    /// When, in UTC.
    pub at: ZonedTime,
    /// Address of who did it; none for the command line.
    pub by: Option<String>,
    /// Why.
    pub reason: String,
}

/// A payout in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayoutView {
    /// Its id.
    pub id: PayoutId,
    /// How much.
    pub amount: Money,
    /// The day of the transfer, as its beginning in UTC.
    pub day: ZonedTime,
    /// What the bank's statement says.
    pub reference: String,
    /// When it was noted, in UTC.
    pub recorded: ZonedTime,
    /// Address of who noted it; none for the command line.
    pub recorded_by: Option<String>,
    /// Its reversal, where it was reversed.
    pub reversed: Option<Reversal>,
}

/// A page of payouts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayoutDesk {
    /// What is owed by the books now, by currency; below zero where more went back than was left.
    pub owed: Vec<Money>,
    /// Payouts, the newest first.
    pub payouts: Vec<PayoutView>,
    /// Where the next page begins, if there is one: after this payout.
    pub next: Option<PayoutId>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(amount: &str, currency: &str, reference: &str) -> PayoutForm {
        let text = str::to_owned;
        PayoutForm { amount: text(amount), currency: text(currency), reference: text(reference), day: String::new() }
    }

    #[test]
    fn a_form_is_read_in_its_currency_or_its_field_is_named() {
        let form_of = form(" 1.234,50 ", "eur", "  RF18 5390 ");
        let (amount, reference) = form_of.read().unwrap();
        assert_eq!((amount, reference), (Money::new(123_450, "EUR".parse().unwrap()), "RF18 5390"));
        assert_eq!(form("12", "JPY", "x").read().unwrap().0.minor, 12);
        let long = "座".repeat(REFERENCE_MAX_CHARS + 1);
        for (amount, currency, reference, field) in [
            ("", "EUR", "x", "amount: "),
            ("0,00", "EUR", "x", "amount: "),
            ("-5", "EUR", "x", "amount: "),
            ("1.005", "EUR", "x", "amount: "),
            ("5", "euro", "x", "currency: "),
            ("5", "EUR", " ", "reference: "),
            ("5", "EUR", "two\nlines", "reference: "),
            ("5", "EUR", long.as_str(), "reference: "),
        ] {
            let refusal = form(amount, currency, reference).read().unwrap_err();
            assert!(refusal.code == Code::InvalidInput && refusal.message.starts_with(field), "{refusal:?}");
        }
    }

    #[test]
    fn a_reason_says_something() {
        assert_eq!(read_reason(" sent back by the bank ").unwrap(), "sent back by the bank");
        for bad in ["", "  ", &"座".repeat(REASON_MAX_CHARS + 1)] {
            assert!(read_reason(bad).unwrap_err().message.starts_with("reason: "));
        }
    }
}
