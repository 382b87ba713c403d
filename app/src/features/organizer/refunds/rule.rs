//! The organization's rule of who has to agree to refunds.
//!
//! The rule counts minor units, whatever the currency. Where all refunds of the page are in one, its
//! amounts are typed in it; where they are in several, or there is none yet, as minor units.

use super::decide::Acts;
use crate::components::icon::{Icon, Sign};
use crate::features::organizer::frame::may;
use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use domain::organizer::Action;
use domain::refund::ApprovalRule;
use domain::{Currency, Money};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use std::collections::BTreeSet;

/// The only one of several, if it is.
fn only(currencies: &BTreeSet<Currency>) -> Option<Currency> {
    currencies.first().copied().filter(|_| currencies.len() == 1)
}

/// An amount of the rule as it stands in its field.
fn field_text(minor: i64, currency: Option<Currency>) -> String {
    currency.map_or_else(|| minor.to_string(), |currency| Money::new(minor, currency).decimal())
}

/// An amount of the rule in words.
fn amount_text(lang: Locale, minor: i64, currency: Option<Currency>) -> String {
    currency.map_or_else(|| minor.to_string(), |currency| format::money(lang, Money::new(minor, currency)))
}

/// The rule, and its form for who may set it.
#[component]
pub(super) fn Rule(
    rule: ApprovalRule,
    /// Those of the refunds that are shown.
    currencies: BTreeSet<Currency>,
    acts: Acts,
) -> impl IntoView {
    let lang = lang();
    let currency = only(&currencies);
    let four_eyes = rule
        .four_eyes_from_minor
        .map_or_else(|| td_string!(lang, refunds.rule_never).to_owned(), |minor| amount_text(lang, minor, currency));
    let automatic = amount_text(lang, rule.automatic_to_minor, currency);
    let hint = currency.map_or_else(
        || td_string!(lang, refunds.rule_minor_hint).to_owned(),
        |currency| td_string!(lang, refunds.rule_currency_hint, currency = currency.to_string()),
    );
    let body = if may(Action::EditTerms) {
        view! { <Form rule currency acts/> }.into_any()
    } else {
        view! {
            <p data-testid="rule">{td_string!(lang, refunds.rule_now, automatic = automatic, four_eyes = four_eyes)}</p>
        }
        .into_any()
    };
    view! {
        <section class="org-part refunds-rule" aria-labelledby="refunds-rule">
            <h2 id="refunds-rule">{td_string!(lang, refunds.rule)}</h2>
            <p class="quiet">{td_string!(lang, refunds.rule_text)}</p>
            <p class="quiet">{hint}</p>
            {body}
        </section>
    }
    .into_any()
}

#[component]
fn Form(rule: ApprovalRule, currency: Option<Currency>, acts: Acts) -> impl IntoView {
    let lang = lang();
    let action = acts.rule;
    let value = action.value();
    let saved_before = use_query_map().read_untracked().get_str("saved").is_some();
    let saved = move || value.get().map_or(saved_before, |answer| answer.is_ok());
    let unit = move || {
        currency.map_or_else(|| td_string!(lang, refunds.rule_minor).to_owned(), |currency| currency.to_string())
    };
    let code = currency.map(|currency| currency.to_string()).unwrap_or_default();
    // Amounts that were typed in another unit would be others here.
    let (automatic, four_eyes) = match acts.typed_rule().filter(|typed| typed.currency == code) {
        Some(typed) => (typed.automatic, typed.four_eyes),
        None => (
            field_text(rule.automatic_to_minor, currency),
            rule.four_eyes_from_minor.map(|minor| field_text(minor, currency)).unwrap_or_default(),
        ),
    };
    view! {
        <div role="status" class="notice-place">
            {move || saved().then(|| view! {
                <p class="notice" data-testid="saved"><Sign icon=Icon::Check/><span>{td_string!(lang, refunds.saved)}</span></p>
            })}
        </div>
        <ActionForm action attr:class="org-line" attr:data-testid="rule-form">
            <input type="hidden" name="currency" value=code/>
            <label class="field">
                <span>{td_string!(lang, refunds.rule_automatic, unit = unit())}</span>
                <input type="text" name="automatic" inputmode="decimal" autocomplete="off" required maxlength="40" value=automatic data-testid="automatic"/>
                <small>{td_string!(lang, refunds.rule_automatic_hint)}</small>
            </label>
            <label class="field">
                <span>{td_string!(lang, refunds.rule_four_eyes, unit = unit())}</span>
                <input type="text" name="four_eyes" inputmode="decimal" autocomplete="off" maxlength="40" value=four_eyes data-testid="four-eyes"/>
                <small>{td_string!(lang, refunds.rule_four_eyes_hint)}</small>
            </label>
            <button class="button" type="submit" disabled=move || action.pending().get() data-testid="save-rule">
                {td_string!(lang, refunds.save)}
            </button>
        </ActionForm>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::refund::typed::typed_rule;

    #[test]
    fn a_rule_is_typed_as_it_is_shown() {
        let (euro, yen): (Currency, Currency) = ("EUR".parse().unwrap(), "JPY".parse().unwrap());
        assert_eq!(only(&BTreeSet::from([euro])), Some(euro));
        assert_eq!(only(&BTreeSet::from([euro, yen])), None);
        assert_eq!(only(&BTreeSet::new()), None);
        let rule = ApprovalRule { automatic_to_minor: 5_000, four_eyes_from_minor: Some(100_050) };
        for currency in [Some(euro), Some(yen), None] {
            let text = |minor| field_text(minor, currency);
            assert_eq!(typed_rule(&text(5_000), &text(100_050), currency), Ok(rule), "{currency:?}");
        }
    }
}
