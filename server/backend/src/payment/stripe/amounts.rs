//! Amounts as Stripe wants them, which are not always the minor units of ISO 4217.
//!
//! From Stripe's page on supported currencies: some currencies have no decimals, also where ISO 4217 has two
//! (MGA); three decimals end in 0; ISK and UGX have no decimals and are still stated with two.

use domain::{Currency, Money};

/// Currencies that Stripe states in whole units.
const NO_DECIMALS: &[&str] =
    &["BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "VND", "VUV", "XAF", "XOF", "XPF"];
/// Currencies that Stripe states in thousandths, of which the last digit must be 0.
const THREE_DECIMALS: &[&str] = &["BHD", "JOD", "KWD", "OMR", "TND"];
/// Currencies of whole units that Stripe states in hundredths.
const WHOLE_IN_HUNDREDTHS: &[&str] = &["ISK", "UGX"];

/// How Stripe states a currency: its decimals, and what an amount must be a multiple of. None for a currency
/// that Stripe does not take.
fn rule(currency: Currency) -> Option<(u32, i64)> {
    let code = currency.code();
    if NO_DECIMALS.contains(&code) {
        Some((0, 1))
    } else if THREE_DECIMALS.contains(&code) {
        Some((3, 10))
    } else if WHOLE_IN_HUNDREDTHS.contains(&code) {
        Some((2, 100))
    } else {
        (currency.exponent() == 2).then_some((2, 1))
    }
}

/// The amount that Stripe is told.
///
/// # Errors
/// A sentence that names the amount and the rule: a currency that Stripe does not take, a fraction that it
/// does not know, no amount at all.
pub(super) fn to_stripe(minor: i64, currency: Currency) -> Result<i64, String> {
    let money = Money::new(minor, currency);
    let Some((decimals, multiple)) = rule(currency) else {
        return Err(format!("Stripe does not take {currency}: choose another currency"));
    };
    if minor <= 0 {
        return Err(format!("{money} is no charge: an amount above zero is expected"));
    }
    let ours = currency.exponent();
    let amount = if decimals >= ours {
        minor.checked_mul(10_i64.pow(decimals - ours))
    } else {
        let step = 10_i64.pow(ours - decimals);
        if minor % step != 0 {
            return Err(format!("{money} can't be charged: Stripe takes {currency} in whole units"));
        }
        Some(minor / step)
    };
    match amount {
        Some(amount) if amount % multiple == 0 => Ok(amount),
        Some(_) => Err(format!("{money} can't be charged: Stripe wants the last digit of {currency} to be 0")),
        None => Err(format!("{money} is more than can be charged")),
    }
}

/// What Stripe's amount is in minor units.
///
/// # Errors
/// Says what can't be read.
pub(super) fn from_stripe(amount: i64, currency: Currency) -> Result<i64, String> {
    let Some((decimals, _)) = rule(currency) else { return Err(format!("Stripe told an amount in {currency}")) };
    let ours = currency.exponent();
    let minor = if decimals > ours {
        let step = 10_i64.pow(decimals - ours);
        (amount % step == 0).then_some(amount / step)
    } else {
        amount.checked_mul(10_i64.pow(ours - decimals))
    };
    minor.ok_or_else(|| format!("Stripe told {amount} {currency}, which is no amount of it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn currency(code: &str) -> Currency {
        code.parse().unwrap()
    }

    #[test]
    fn each_currency_is_stated_as_stripe_documents_it_and_read_back() {
        for (code, minor, amount) in [
            ("EUR", 1_234, 1_234),
            ("USD", 1, 1),
            ("JPY", 5_000, 5_000),
            ("KRW", 77_000, 77_000),
            ("KWD", 1_230, 1_230),
            ("BHD", 10, 10),
            ("ISK", 5, 500),
            ("UGX", 5, 500),
            ("MGA", 50_000, 500),
            ("HUF", 104_500, 104_500),
            ("TWD", 80_050, 80_050),
        ] {
            assert_eq!(to_stripe(minor, currency(code)), Ok(amount), "{code}");
            assert_eq!(from_stripe(amount, currency(code)), Ok(minor), "{code}");
        }
    }

    #[test]
    fn what_cannot_be_charged_is_refused_with_the_amount_and_the_rule() {
        for (code, minor, words) in [
            ("KWD", 1_235, "KWD 1.235 can't be charged: Stripe wants the last digit"),
            ("MGA", 50_050, "MGA 500.50 can't be charged: Stripe takes MGA in whole units"),
            ("CLF", 10_000, "Stripe does not take CLF"),
            ("IQD", 1_000, "Stripe does not take IQD"),
            ("EUR", 0, "EUR 0.00 is no charge"),
            ("EUR", -5, "EUR -0.05 is no charge"),
            ("ISK", i64::MAX, "is more than can be charged"),
        ] {
            let error = to_stripe(minor, currency(code)).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn an_answer_that_is_no_amount_of_its_currency_is_not_believed() {
        assert!(from_stripe(550, currency("ISK")).unwrap_err().contains("550 ISK"));
        assert!(from_stripe(5, currency("CLF")).is_err());
        assert!(from_stripe(i64::MAX, currency("MGA")).is_err());
    }
}
