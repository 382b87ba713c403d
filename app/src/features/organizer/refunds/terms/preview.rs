//! The policy as fans will read it, with an example, while it is typed.

use crate::components::refund::{Policy, moment};
use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use domain::refund::policy::RefundPolicy;
use domain::refund::stages::stages;
use domain::refund::typed::{TermsForm, rate_text};
use domain::{Currency, Millis, Money, ZonedTime};
use leptos::prelude::*;

/// Price of the ticket of the example, in major units.
const EXAMPLE: i64 = 100;

/// What the form says now.
#[component]
pub(super) fn Preview(
    form: RwSignal<TermsForm>,
    /// When the performance begins, at the venue.
    starts: ZonedTime,
    /// Currency of the example.
    currency: Currency,
) -> impl IntoView {
    let lang = lang();
    let policy = Memo::new(move |_| form.with(TermsForm::policy));
    let body = move || match policy.get() {
        Ok(policy) => view! { <Words policy starts=starts.clone() currency/> }.into_any(),
        Err(refusal) => {
            view! { <p class="notice notice-care" lang="en" data-testid="preview-error">{refusal.message}</p> }
                .into_any()
        }
    };
    view! {
        <section class="terms-preview" aria-labelledby="terms-preview" aria-live="polite" data-testid="preview">
            <h3 id="terms-preview">{td_string!(lang, refunds.preview_title)}</h3>
            {body}
        </section>
    }
    .into_any()
}

#[component]
fn Words(policy: RefundPolicy, starts: ZonedTime, currency: Currency) -> impl IntoView {
    let lang = lang();
    let Some(ends_ms) = policy.ends_before_start_ms else {
        return view! { <p>{td_string!(lang, refunds.policy_never)}</p> }.into_any();
    };
    let ends = starts.at.plus(ends_ms.saturating_neg());
    let rows = examples(lang, &policy, ends, &starts, currency)
        .into_iter()
        .map(|row| {
            view! {
                <tr>
                    <th scope="row">{row.until}</th>
                    <td>{row.rate} "% · " {row.kept}</td>
                    <td>{row.returns}</td>
                </tr>
            }
        })
        .collect_view();
    let caption = td_string!(lang, refunds.example, price = format::money(lang, example(currency)));
    view! {
        <Policy
            tiers=policy.tiers.clone()
            ends
            starts
            service_fee=policy.returns_service_fee
            order_fee=policy.returns_order_fee
        />
        <table class="terms-example">
            <caption>{caption}</caption>
            <thead>
                <tr>
                    <th scope="col">{td_string!(lang, refunds.example_until)}</th>
                    <th scope="col">{td_string!(lang, refunds.example_kept)}</th>
                    <th scope="col">{td_string!(lang, refunds.example_returns)}</th>
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
    }
    .into_any()
}

/// The price of the example's ticket.
fn example(currency: Currency) -> Money {
    Money::new(EXAMPLE.saturating_mul(10_i64.saturating_pow(currency.exponent())), currency)
}

/// What becomes of the example's ticket in one stage.
#[derive(Debug, PartialEq, Eq)]
struct Example {
    until: String,
    rate: String,
    kept: String,
    returns: String,
}

/// The example in each stage, as the rule itself decides just before the stage ends.
fn examples(lang: Locale, policy: &RefundPolicy, ends: Millis, starts: &ZonedTime, currency: Currency) -> Vec<Example> {
    let price = example(currency);
    stages(&policy.tiers, ends, starts.at)
        .into_iter()
        .filter_map(|stage| {
            let rate = policy.kept(stage.until.plus(-1), starts.at).ok()?;
            let kept = Money::new(rate.of(price.minor), currency);
            let returns = Money::new(price.minor.saturating_sub(kept.minor), currency);
            Some(Example {
                until: moment(lang, stage.until, starts),
                rate: rate_text(rate),
                kept: format::money(lang, kept),
                returns: format::money(lang, returns),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::money::fees::Rate;
    use domain::refund::policy::{DAY_MS, Tier};

    #[test]
    fn the_example_is_what_the_rule_decides() {
        let starts = format::beside(
            Millis(1_796_497_200_000),
            &ZonedTime {
                at: Millis(0),
                zone: "Europe/Berlin".to_owned(),
                year: 1970,
                month: 1,
                day: 1,
                hour: 1,
                minute: 0,
                weekday: 4,
                offset_min: 60,
            },
        );
        let tier = |days_left, points: u32| Tier { days_left, kept: Rate::try_from(points).unwrap() };
        let policy = RefundPolicy {
            ends_before_start_ms: Some(DAY_MS),
            tiers: vec![tier(30, 0), tier(7, 1_250)],
            returns_service_fee: true,
            returns_order_fee: false,
        };
        let ends = starts.at.plus(-DAY_MS);
        let told = |code: &str| {
            let rows = examples(Locale::en, &policy, ends, &starts, code.parse().unwrap());
            rows.into_iter().map(|row| format!("{} {} {}", row.rate, row.kept, row.returns)).collect::<Vec<_>>()
        };
        assert_eq!(told("EUR"), ["0 €0.00 €100.00", "12.5 €12.50 €87.50", "100 €100.00 €0.00"]);
        assert_eq!(told("JPY"), ["0 ¥0 ¥100", "12.5 ¥13 ¥87", "100 ¥100 ¥0"], "rounded half up, as it is paid");
    }
}
