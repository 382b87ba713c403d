//! Terms of refunds as people type them.

use super::ApprovalRule;
use super::policy::{DAY_MS, RefundPolicy, Tier};
use crate::money::fees::Rate;
use crate::money::{AMOUNT_MAX_MINOR, Currency, parse_amount};
use crate::refusal::{Code, Refusal};
use serde::{Deserialize, Serialize};

/// The units in which the end of giving back is typed, by name, the largest first, in milliseconds.
pub const UNITS: &[(&str, i64)] = &[("days", DAY_MS), ("hours", 3_600_000), ("minutes", 60_000)];
/// The longest time before the start at which giving back can end: ten years.
const ENDS_MAX_MS: i64 = 3_650 * DAY_MS;
/// What a ticked box sends.
pub const TICKED: &str = "yes";

fn invalid(field: &str, what: &str) -> Refusal {
    Refusal::new(Code::InvalidInput, format!("{field}: {what}"))
}

/// The form of a performance's terms. A box that is not ticked is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TermsForm {
    /// Ticked: fans may give back.
    #[serde(default)]
    pub allowed: Option<String>,
    /// How long before the start giving back ends, in its unit.
    #[serde(default)]
    pub ends: String,
    /// One of [`UNITS`].
    #[serde(default)]
    pub unit: String,
    /// Days before the start, one a tier.
    #[serde(default)]
    pub days: Vec<String>,
    /// Per cent that are kept, one a tier.
    #[serde(default)]
    pub kept: Vec<String>,
    /// Ticked: the service fee comes back.
    #[serde(default)]
    pub returns_service_fee: Option<String>,
    /// Ticked: the order's fee comes back with the last ticket.
    #[serde(default)]
    pub returns_order_fee: Option<String>,
    /// Ticked: seats that are given back are sold again.
    #[serde(default)]
    pub resells: Option<String>,
}

fn tick(on: bool) -> Option<String> {
    on.then(|| TICKED.to_owned())
}

impl TermsForm {
    /// The form that says a policy.
    #[must_use]
    pub fn of(policy: &RefundPolicy, resells: bool) -> Self {
        let (ends, unit) = policy.ends_before_start_ms.map_or_else(|| ("1".to_owned(), "days"), ends_text);
        Self {
            allowed: tick(policy.ends_before_start_ms.is_some()),
            ends,
            unit: unit.to_owned(),
            days: policy.tiers.iter().map(|tier| tier.days_left.to_string()).collect(),
            kept: policy.tiers.iter().map(|tier| rate_text(tier.kept)).collect(),
            returns_service_fee: tick(policy.returns_service_fee),
            returns_order_fee: tick(policy.returns_order_fee),
            resells: tick(resells),
        }
    }

    /// The policy that the form says. Tiers may stand in any order; a row with nothing in it is none.
    ///
    /// # Errors
    /// `invalid_input` names the field, as `days[2]`.
    pub fn policy(&self) -> Result<RefundPolicy, Refusal> {
        let ends_before_start_ms = if self.allowed.is_some() { Some(self.ends_ms()?) } else { None };
        let mut tiers = Vec::new();
        for at in 0..self.days.len().max(self.kept.len()) {
            let text = |list: &[String]| list.get(at).map(|text| text.trim().to_owned()).unwrap_or_default();
            let (days, kept) = (text(&self.days), text(&self.kept));
            if days.is_empty() && kept.is_empty() {
                continue;
            }
            let days_left: u32 =
                days.parse().map_err(|_| invalid(&format!("days[{at}]"), "a whole number of days is expected"))?;
            tiers.push(Tier { days_left, kept: typed_rate(&format!("kept[{at}]"), &kept)? });
        }
        tiers.sort_by_key(|tier| std::cmp::Reverse(tier.days_left));
        let policy = RefundPolicy {
            ends_before_start_ms,
            tiers,
            returns_service_fee: self.returns_service_fee.is_some(),
            returns_order_fee: self.returns_order_fee.is_some(),
        };
        policy.check()?;
        Ok(policy)
    }

    fn ends_ms(&self) -> Result<i64, Refusal> {
        let (_, unit_ms) = UNITS
            .iter()
            .find(|(name, _)| *name == self.unit)
            .ok_or_else(|| invalid("unit", "days, hours or minutes are expected"))?;
        let count: u32 =
            self.ends.trim().parse().map_err(|_| invalid("ends", "a whole number of 0 or more is expected"))?;
        let ends_ms = i64::from(count).saturating_mul(*unit_ms);
        if ends_ms > ENDS_MAX_MS { Err(invalid("ends", "at most ten years are possible")) } else { Ok(ends_ms) }
    }
}

/// The end of giving back in the largest unit that says it exactly; what is finer than minutes is
/// rounded up to one.
fn ends_text(ms: i64) -> (String, &'static str) {
    let exact = UNITS.iter().find(|(_, unit_ms)| ms % unit_ms == 0);
    let (name, unit_ms) = exact.copied().unwrap_or(("minutes", 60_000));
    let rest = i64::from(ms % unit_ms != 0);
    ((ms / unit_ms + rest).to_string(), name)
}

/// A rate typed in per cent with at most two decimals: `10`, `12.5`, `12,5 %`.
///
/// # Errors
/// `invalid_input` names the field.
pub fn typed_rate(field: &str, text: &str) -> Result<Rate, Refusal> {
    let wrong = || invalid(field, "0 to 100 per cent are expected, such as 12.5");
    let text = text.trim().trim_end_matches(['%', '％']).trim_end().replace([',', '，'], ".");
    let (whole, fraction) = text.split_once('.').unwrap_or((text.as_str(), "0"));
    let digits =
        |part: &str, most: usize| (1..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole, 3) || !digits(fraction, 2) {
        return Err(wrong());
    }
    let basis_points: u32 = format!("{whole}{fraction:0<2}").parse().map_err(|_| wrong())?;
    Rate::try_from(basis_points).map_err(|_| wrong())
}

/// A rate in per cent, without its sign: `10`, `12.5`, `0.05`.
#[must_use]
pub fn rate_text(rate: Rate) -> String {
    let (whole, rest) = (rate.basis_points() / 100, rate.basis_points() % 100);
    if rest == 0 {
        whole.to_string()
    } else if rest.is_multiple_of(10) {
        format!("{whole}.{}", rest / 10)
    } else {
        format!("{whole}.{rest:02}")
    }
}

/// An organization's rule as it is typed: amounts of a currency, or plain minor units where the
/// organization sells in several. Without a second amount there are no four eyes.
///
/// # Errors
/// `invalid_input` names the field.
pub fn typed_rule(automatic: &str, four_eyes: &str, currency: Option<Currency>) -> Result<ApprovalRule, Refusal> {
    let automatic_to_minor = typed_minor("automatic", automatic, currency)?;
    let four_eyes_from_minor = match four_eyes.trim() {
        "" => None,
        text => Some(typed_minor("four_eyes", text, currency)?),
    };
    Ok(ApprovalRule { automatic_to_minor, four_eyes_from_minor })
}

fn typed_minor(field: &str, text: &str, currency: Option<Currency>) -> Result<i64, Refusal> {
    if let Some(currency) = currency {
        return parse_amount(text, currency).map_err(|error| invalid(field, &error.to_string()));
    }
    let minor = text.trim().parse::<i64>().ok().filter(|minor| (0..=AMOUNT_MAX_MINOR).contains(minor));
    minor.ok_or_else(|| invalid(field, "a whole number of minor units, 0 or more, is expected"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(basis_points: u32) -> Rate {
        Rate::try_from(basis_points).unwrap()
    }

    fn policy() -> RefundPolicy {
        RefundPolicy {
            ends_before_start_ms: Some(36 * 3_600_000),
            tiers: vec![Tier { days_left: 30, kept: rate(0) }, Tier { days_left: 7, kept: rate(1_250) }],
            returns_service_fee: true,
            returns_order_fee: false,
        }
    }

    #[test]
    fn a_form_says_its_policy_and_is_read_as_it() {
        let form = TermsForm::of(&policy(), true);
        assert_eq!((form.ends.as_str(), form.unit.as_str()), ("36", "hours"));
        assert_eq!((form.days.join(" "), form.kept.join(" ")), ("30 7".to_owned(), "0 12.5".to_owned()));
        assert_eq!(form.policy(), Ok(policy()));
        let never = TermsForm::of(&RefundPolicy::default(), false);
        assert_eq!(never.policy(), Ok(RefundPolicy::default()));
        assert_eq!(never.resells, None);
        for (ms, text) in [(2 * DAY_MS, "2 days"), (0, "0 days"), (90 * 60_000, "90 minutes"), (60_001, "2 minutes")] {
            let (ends, unit) = ends_text(ms);
            assert_eq!(format!("{ends} {unit}"), text);
        }
    }

    #[test]
    fn rows_may_be_empty_and_in_any_order_but_not_half() {
        let mut form = TermsForm::of(&policy(), false);
        form.days = ["7", " ", "30"].map(str::to_owned).to_vec();
        form.kept = ["12,5 %", "", "0"].map(str::to_owned).to_vec();
        assert_eq!(form.policy(), Ok(policy()));
        form.kept[0].clear();
        assert!(form.policy().unwrap_err().message.starts_with("kept[0]:"));
        form.kept[0] = "50".to_owned();
        form.days[0] = "a week".to_owned();
        assert!(form.policy().unwrap_err().message.starts_with("days[0]:"));
        form.days[0] = "30".to_owned();
        assert!(form.policy().unwrap_err().message.starts_with("tiers:"), "each number once");
    }

    #[test]
    fn the_end_of_giving_back_is_a_number_of_a_known_unit() {
        let with = |ends: &str, unit: &str| {
            let form = TermsForm { ends: ends.to_owned(), unit: unit.to_owned(), ..TermsForm::of(&policy(), false) };
            form.policy()
        };
        assert_eq!(with("2", "days").unwrap().ends_before_start_ms, Some(2 * DAY_MS));
        assert_eq!(with("0", "minutes").unwrap().ends_before_start_ms, Some(0));
        for (ends, unit, field) in
            [("", "days", "ends:"), ("-1", "days", "ends:"), ("3651", "days", "ends:"), ("1", "weeks", "unit:")]
        {
            assert!(with(ends, unit).unwrap_err().message.starts_with(field), "{ends} {unit}");
        }
        let closed = TermsForm { allowed: None, ends: "?".to_owned(), ..TermsForm::of(&policy(), false) };
        assert_eq!(closed.policy().unwrap().ends_before_start_ms, None, "what does not count is not read");
    }

    #[test]
    fn rates_are_read_as_they_are_written() {
        for (text, points) in [("0", 0), ("100", 10_000), ("12.5", 1_250), ("0,05%", 5), (" 33.33 % ", 3_333)] {
            assert_eq!(typed_rate("kept", text), Ok(rate(points)), "{text}");
            assert_eq!(typed_rate("kept", &rate_text(rate(points))), Ok(rate(points)));
        }
        for text in ["", "-1", "101", "100.01", "1.234", "1.", ".5", "ten", "1.2.3"] {
            assert_eq!(typed_rate("kept", text).unwrap_err().code, Code::InvalidInput, "{text}");
        }
        assert_eq!([rate_text(rate(1_250)), rate_text(rate(5)), rate_text(rate(700))], ["12.5", "0.05", "7"]);
    }

    #[test]
    fn a_rule_is_typed_in_amounts_or_in_minor_units() {
        let euro = Some("EUR".parse().unwrap());
        let rule = |automatic_to_minor, four_eyes_from_minor| ApprovalRule { automatic_to_minor, four_eyes_from_minor };
        assert_eq!(typed_rule("50", "1 000,50", euro), Ok(rule(5_000, Some(100_050))));
        assert_eq!(typed_rule("5000", " ", None), Ok(rule(5_000, None)));
        for (automatic, four_eyes, currency, field) in
            [("", "", euro, "automatic:"), ("-1", "", None, "automatic:"), ("0", "50.5", None, "four_eyes:")]
        {
            assert!(typed_rule(automatic, four_eyes, currency).unwrap_err().message.starts_with(field), "{automatic}");
        }
    }
}
