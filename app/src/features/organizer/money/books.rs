//! One currency of the report: its figures, its performances, and the accounts behind them.

use super::super::search::performance_text;
use crate::components::icon::{Icon, Sign};
use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use domain::ledger::Account;
use domain::ledger::report::{AccountSum, CurrencyReport, Figures, PerformanceFigures};
use domain::organizer::search::PerformanceChoice;
use domain::{Currency, Money};
use leptos::prelude::*;

/// An account in words.
fn account_text(lang: Locale, account: Account) -> &'static str {
    match account {
        Account::ProviderClearing => td_string!(lang, money.account_provider_clearing),
        Account::Bank => td_string!(lang, money.account_bank),
        Account::OrderReceivable => td_string!(lang, money.account_order_receivable),
        Account::OrganizerPayable => td_string!(lang, money.account_organizer_payable),
        Account::ServiceFees => td_string!(lang, money.account_service_fees),
        Account::TaxPayable => td_string!(lang, money.account_tax_payable),
        Account::RefundsPayable => td_string!(lang, money.account_refunds_payable),
        Account::Disputes => td_string!(lang, money.account_disputes),
        Account::ProviderFees => td_string!(lang, money.account_provider_fees),
    }
}

/// Everything about one currency.
#[component]
pub(super) fn OneCurrency(
    /// The report.
    report: CurrencyReport,
    /// Whether it is of all sales, since ever.
    whole: bool,
    /// Names of performances.
    choices: Vec<PerformanceChoice>,
) -> impl IntoView {
    let code = report.currency;
    let (debit_minor, credit_minor) = report.sides_minor();
    view! {
        <section class="org-part money-currency" data-testid="money-currency" data-currency=code.code().to_owned()>
            <h2>{code.code().to_owned()}</h2>
            <FiguresShown figures=report.figures whole code/>
            <Performances rows=report.performances code choices/>
            <Books accounts=report.accounts code debit_minor credit_minor/>
        </section>
    }
    .into_any()
}

#[component]
fn FiguresShown(figures: Figures, whole: bool, code: Currency) -> impl IntoView {
    let lang = lang();
    let main = [
        ("captured", td_string!(lang, money.captured), figures.captured_minor),
        ("refunded", td_string!(lang, money.refunded), figures.refunded_minor),
        ("disputed", td_string!(lang, money.disputed), figures.disputed_minor),
        ("fees", td_string!(lang, money.fees), figures.fees_minor),
        ("tax", td_string!(lang, money.tax), figures.tax_minor),
        ("provider-fees", td_string!(lang, money.provider_fees), figures.provider_fees_minor),
        ("paid-out", td_string!(lang, money.paid_out), figures.paid_out_minor),
    ];
    let owed = if whole { td_string!(lang, money.owed) } else { td_string!(lang, money.owed_change) };
    // Rare enough to be shown only when there is some.
    let rare = [
        ("waiting", td_string!(lang, money.waiting), figures.waiting_minor),
        ("late", td_string!(lang, money.late), figures.late_minor),
    ];
    let shown = main.into_iter().chain(rare.into_iter().filter(|(.., minor)| *minor != 0));
    view! {
        <dl class="money-figures">
            <div class="money-figure money-owed" data-testid="figure-owed">
                <dt>{owed}</dt>
                <dd>{format::money(lang, Money::new(figures.owed_minor, code))}</dd>
            </div>
            {shown
                .map(|(name, text, minor)| view! {
                    <div class="money-figure" data-testid=format!("figure-{name}")>
                        <dt>{text}</dt>
                        <dd>{format::money(lang, Money::new(minor, code))}</dd>
                    </div>
                })
                .collect_view()}
        </dl>
    }
    .into_any()
}

#[component]
fn Performances(rows: Vec<PerformanceFigures>, code: Currency, choices: Vec<PerformanceChoice>) -> impl IntoView {
    let lang = lang();
    let amount = move |minor| format::money(lang, Money::new(minor, code));
    let heads = [
        td_string!(lang, money.captured),
        td_string!(lang, money.refunded),
        td_string!(lang, money.provider_fees),
        td_string!(lang, money.paid_out),
        td_string!(lang, money.owed_column),
    ];
    let rows = rows
        .into_iter()
        .map(|row| {
            let name = match row.performance {
                None => td_string!(lang, money.no_performance).to_owned(),
                Some(id) => choices
                    .iter()
                    .find(|choice| choice.id == id)
                    .map_or_else(|| id.to_string(), |choice| performance_text(lang, choice)),
            };
            let figures = row.figures;
            let cells = [
                figures.captured_minor,
                figures.refunded_minor,
                figures.provider_fees_minor,
                figures.paid_out_minor,
                figures.owed_minor,
            ];
            let cells = heads
                .into_iter()
                .zip(cells)
                .map(|(head, minor)| view! { <td class="money-number" data-label=head>{amount(minor)}</td> })
                .collect_view();
            view! { <tr data-testid="money-performance"><th scope="row">{name}</th>{cells}</tr> }
        })
        .collect_view();
    view! {
        <table class="money-table">
            <caption>{td_string!(lang, money.by_performance)}</caption>
            <thead>
                <tr>
                    <th scope="col">{td_string!(lang, money.performance)}</th>
                    {heads.into_iter().map(|head| view! { <th scope="col" class="money-number">{head}</th> }).collect_view()}
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
    }
    .into_any()
}

/// The accounts with both sides, which are equal.
#[component]
fn Books(accounts: Vec<AccountSum>, code: Currency, debit_minor: i64, credit_minor: i64) -> impl IntoView {
    let lang = lang();
    let amount = move |minor| format::money(lang, Money::new(minor, code));
    let (debit, credit) = (td_string!(lang, money.debit), td_string!(lang, money.credit));
    let equal = debit_minor == credit_minor;
    let rows = accounts
        .into_iter()
        .map(|sum| {
            view! {
                <tr>
                    <th scope="row">{account_text(lang, sum.account)}</th>
                    <td class="money-number" data-label=debit>{amount(sum.debit_minor)}</td>
                    <td class="money-number" data-label=credit>{amount(sum.credit_minor)}</td>
                </tr>
            }
        })
        .collect_view();
    let (class, icon, text) = if equal {
        ("money-sides", Icon::Check, td_string!(lang, money.sides_equal))
    } else {
        ("money-sides money-unequal", Icon::Attention, td_string!(lang, money.sides_differ))
    };
    view! {
        <p class=class data-testid="sides" data-equal=equal.to_string()><Sign icon/><span>{text}</span></p>
        <details class="org-more">
            <summary>{td_string!(lang, money.books)}</summary>
            <table class="money-table" data-testid="books">
                <caption class="visually-hidden">{td_string!(lang, money.books)}</caption>
                <thead>
                    <tr>
                        <th scope="col">{td_string!(lang, money.account)}</th>
                        <th scope="col" class="money-number">{debit}</th>
                        <th scope="col" class="money-number">{credit}</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
                <tfoot>
                    <tr>
                        <th scope="row">{td_string!(lang, money.sum)}</th>
                        <td class="money-number" data-label=debit data-testid="debits">{amount(debit_minor)}</td>
                        <td class="money-number" data-label=credit data-testid="credits">{amount(credit_minor)}</td>
                    </tr>
                </tfoot>
            </table>
        </details>
    }
    .into_any()
}
