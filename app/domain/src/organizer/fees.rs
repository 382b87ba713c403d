//! Fees and tax as organizers set them: the form as people type it, and an example of what it comes to.

use crate::money::fees::{Bill, BillError, FeeSchedule, Rate, TaxMode, TaxRule};
use crate::money::{Currency, Money, parse_amount};
use crate::refusal::{Code, Refusal};
use serde::{Deserialize, Serialize};

/// Tickets of the example.
pub const EXAMPLE_TICKETS: usize = 2;

/// An organization's schedule for a currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeesEntry {
    /// Raised by every change; what is saved names the one that it began from.
    pub version: i32,
    /// Fees and taxes.
    pub schedule: FeeSchedule,
}

/// What a form says about fees and tax: texts, as people typed them. An empty amount or rate is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FeesForm {
    /// Three letters.
    pub currency: String,
    /// The fixed part of the fee of a ticket, in major units.
    pub service_fixed: String,
    /// The other part, in per cent of the ticket's price.
    pub service_rate: String,
    /// The fee of an order, in major units.
    pub order_fixed: String,
    /// Tax on tickets, in per cent.
    pub ticket_tax: String,
    /// `inclusive` or `added`; empty for the first.
    pub ticket_mode: String,
    /// Tax on service fees.
    pub service_tax: String,
    /// Its mode.
    pub service_mode: String,
    /// Tax on the order's fee.
    pub order_tax: String,
    /// Its mode.
    pub order_mode: String,
}

fn invalid(field: &str, what: impl std::fmt::Display) -> Refusal {
    Refusal::new(Code::InvalidInput, format!("{field}: {what}"))
}

fn amount(field: &str, text: &str, currency: Currency) -> Result<i64, Refusal> {
    if text.trim().is_empty() {
        return Ok(0);
    }
    parse_amount(text, currency).map_err(|e| invalid(field, e))
}

fn rate(field: &str, text: &str) -> Result<Rate, Refusal> {
    Rate::parse_percent(text).map_err(|e| invalid(field, e))
}

fn tax(fields: (&str, &str), rate_text: &str, mode: &str) -> Result<TaxRule, Refusal> {
    let rate = rate(fields.0, rate_text)?;
    let mode = match mode.trim() {
        "" => TaxMode::default(),
        mode => TaxMode::parse(mode).ok_or_else(|| invalid(fields.1, "inclusive or added is expected"))?,
    };
    Ok(TaxRule { rate, mode })
}

impl FeesForm {
    /// The form that shows a schedule. Amounts of nothing are left empty.
    #[must_use]
    pub fn of(schedule: &FeeSchedule) -> Self {
        let amount = |minor: i64| {
            if minor == 0 { String::new() } else { Money::new(minor, schedule.currency).decimal() }
        };
        let rate = |rate: Rate| if rate == Rate::NONE { String::new() } else { rate.percent() };
        let mode = |rule: TaxRule| rule.mode.as_str().to_owned();
        Self {
            currency: schedule.currency.code().to_owned(),
            service_fixed: amount(schedule.service_fixed_minor),
            service_rate: rate(schedule.service_rate),
            order_fixed: amount(schedule.order_fixed_minor),
            ticket_tax: rate(schedule.ticket_tax.rate),
            ticket_mode: mode(schedule.ticket_tax),
            service_tax: rate(schedule.service_tax.rate),
            service_mode: mode(schedule.service_tax),
            order_tax: rate(schedule.order_tax.rate),
            order_mode: mode(schedule.order_tax),
        }
    }

    /// What was typed, as a schedule.
    ///
    /// # Errors
    /// `invalid_input` names the field.
    pub fn schedule(&self) -> Result<FeeSchedule, Refusal> {
        let currency = self.currency.trim().parse::<Currency>().ok().filter(|currency| currency.is_in_force());
        let Some(currency) = currency else {
            return Err(invalid("currency", "three letters of a currency in force are expected, such as EUR"));
        };
        let schedule = FeeSchedule {
            currency,
            service_fixed_minor: amount("service_fixed", &self.service_fixed, currency)?,
            service_rate: rate("service_rate", &self.service_rate)?,
            order_fixed_minor: amount("order_fixed", &self.order_fixed, currency)?,
            ticket_tax: tax(("ticket_tax", "ticket_mode"), &self.ticket_tax, &self.ticket_mode)?,
            service_tax: tax(("service_tax", "service_mode"), &self.service_tax, &self.service_mode)?,
            order_tax: tax(("order_tax", "order_mode"), &self.order_tax, &self.order_mode)?,
        };
        schedule.check()?;
        Ok(schedule)
    }
}

/// The price of a ticket in the example: fifty of the currency, or five thousand where it has no minor unit.
#[must_use]
pub fn example_price(currency: Currency) -> Money {
    let minor = match currency.exponent() {
        0 => 5_000,
        digits => 50 * 10_i64.pow(digits),
    };
    Money::new(minor, currency)
}

/// The bill of the example: [`EXAMPLE_TICKETS`] tickets at [`example_price`].
///
/// # Errors
/// As [`FeeSchedule::bill`].
pub fn example(schedule: &FeeSchedule) -> Result<Bill, BillError> {
    let price = example_price(schedule.currency);
    schedule.bill_of_prices(&[price; EXAMPLE_TICKETS])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(currency: &str) -> FeesForm {
        FeesForm { currency: currency.to_owned(), ..FeesForm::default() }
    }

    #[test]
    fn a_form_is_read_in_the_currencys_own_digits_and_shown_again_the_same() {
        let typed = FeesForm {
            service_fixed: "0,500".to_owned(),
            service_rate: "2,5 %".to_owned(),
            order_fixed: "1.250".to_owned(),
            ticket_tax: "5".to_owned(),
            service_tax: "5".to_owned(),
            service_mode: "added".to_owned(),
            ..form("kwd")
        };
        let schedule = typed.schedule().unwrap();
        assert_eq!((schedule.service_fixed_minor, schedule.order_fixed_minor), (500, 1_250));
        assert_eq!(schedule.service_rate.basis_points(), 250);
        assert_eq!((schedule.ticket_tax.mode, schedule.service_tax.mode), (TaxMode::Inclusive, TaxMode::Added));
        assert_eq!(FeesForm::of(&schedule).schedule(), Ok(schedule));
        assert_eq!(FeesForm::of(&schedule).service_fixed, "0.500");
        let empty = form("JPY").schedule().unwrap();
        assert!(empty.is_nothing());
        assert_eq!(FeesForm::of(&empty).schedule(), Ok(empty));
    }

    #[test]
    fn what_is_wrong_names_its_field() {
        let wrong = |change: fn(&mut FeesForm)| {
            let mut form = form("JPY");
            change(&mut form);
            form.schedule().unwrap_err().message
        };
        for (message, field) in [
            (wrong(|form| form.currency = "XYZ".to_owned()), "currency: "),
            (wrong(|form| form.service_fixed = "1.5".to_owned()), "service_fixed: "),
            (wrong(|form| form.service_rate = "101".to_owned()), "service_rate: "),
            (wrong(|form| form.order_fixed = "-1".to_owned()), "order_fixed: "),
            (wrong(|form| form.ticket_tax = "8.875".to_owned()), "ticket_tax: "),
            (wrong(|form| form.ticket_mode = "both".to_owned()), "ticket_mode: "),
            (wrong(|form| form.service_tax = "x".to_owned()), "service_tax: "),
            (wrong(|form| form.service_mode = "none".to_owned()), "service_mode: "),
            (wrong(|form| form.order_tax = "1e9".to_owned()), "order_tax: "),
            (wrong(|form| form.order_mode = "<b>".to_owned()), "order_mode: "),
        ] {
            assert!(message.starts_with(field), "{message}");
        }
    }

    #[test]
    fn the_example_is_two_tickets_at_a_usual_price() {
        for (code, minor) in [("JPY", 10_000), ("EUR", 10_000), ("KWD", 100_000), ("CLF", 1_000_000)] {
            let bill = example(&FeeSchedule::none(code.parse().unwrap())).unwrap();
            assert_eq!((bill.lines().len(), bill.total().minor), (2, minor), "{code}");
        }
    }
}
