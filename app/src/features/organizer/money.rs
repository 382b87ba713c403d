//! The report: what the books say, by currency and performance, and as tables to keep.

mod api;
mod books;

use super::frame::{Frame, Sub, Subnav, Tab};
use super::search::performance_options;
use crate::components::missing::Failure;
use crate::components::raw_text::Title;
use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use books::OneCurrency;
use domain::organizer::money::{MoneyReport, MoneyTable, Period};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use leptos_router::params::ParamsMap;

/// What the address of the page asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Query {
    period: Option<String>,
    performance: Option<String>,
}

impl Query {
    fn of(query: &ParamsMap) -> Self {
        let text = |name| query.get(name).filter(|text| !text.is_empty());
        Self { period: text("period"), performance: text("performance") }
    }
}

/// A period in words.
fn period_text(lang: Locale, period: Period) -> &'static str {
    match period {
        Period::Today => td_string!(lang, money.period_today),
        Period::Week => td_string!(lang, money.period_week),
        Period::Month => td_string!(lang, money.period_month),
        Period::All => td_string!(lang, money.period_all),
    }
}

/// Where a table of the same period and performance is.
fn table_address(table: MoneyTable, report: &MoneyReport) -> String {
    let mut query = ParamsMap::new();
    query.insert("period", report.period.as_str().to_owned());
    if let Some(performance) = report.performance {
        query.insert("performance", performance.to_string());
    }
    format!("/api/organizer-money-table/{}.csv{}", table.as_str(), query.to_query_string())
}

/// The report.
#[component]
pub fn MoneyPage() -> impl IntoView {
    let lang = lang();
    let query = use_query_map();
    let query = Memo::new(move |_| Query::of(&query.read()));
    let report = Resource::new(move || query.get(), |query| api::organizer_money(query.period, query.performance));
    view! {
        <Title text=td_string!(lang, money.title)/>
        <Frame tab=Tab::Money>
            <header class="org-head">
                <h1>{td_string!(lang, money.title)}</h1>
                <p class="quiet">{td_string!(lang, money.text)}</p>
            </header>
            <Subnav current=Sub::Report/>
            <Transition>
                {move || Suspend::new(async move {
                    match report.await {
                        Ok(report) => view! { <Shown report/> }.into_any(),
                        Err(error) => view! { <Failure error back="/organizer/money"/> }.into_any(),
                    }
                })}
            </Transition>
        </Frame>
    }
    .into_any()
}

#[component]
fn Shown(report: MoneyReport) -> impl IntoView {
    let lang = lang();
    let tables = [
        (table_address(MoneyTable::Report, &report), td_string!(lang, money.table_report)),
        (table_address(MoneyTable::Postings, &report), td_string!(lang, money.table_postings)),
        (table_address(MoneyTable::Match, &report), td_string!(lang, money.table_match)),
    ];
    let empty = report.currencies.is_empty().then(|| match report.period {
        Period::All => td_string!(lang, money.none_yet),
        _ => td_string!(lang, money.none_then),
    });
    let since = report.since.clone();
    let made = report.made.clone();
    let choices = report.choices.clone();
    // Of a part of the time or of the sales, the sum is no balance.
    let whole = report.period == Period::All && report.performance.is_none();
    let currencies = report
        .currencies
        .clone()
        .into_iter()
        .map(|report| view! { <OneCurrency report whole choices=choices.clone()/> })
        .collect_view();
    view! {
        <Narrow report/>
        <p class="facts money-when">
            <span>
                {match since {
                    Some(since) => td_string!(lang, money.since, day = format::day(lang, &since)),
                    None => td_string!(lang, money.since_ever).to_owned(),
                }}
            </span>
            <time datetime=format::machine_time(&made)>{td_string!(lang, money.made, time = format::moment(lang, &made))}</time>
        </p>
        {empty.map(|text| view! { <p class="money-empty" role="status" data-testid="empty">{text}</p> })}
        {currencies}
        <section class="org-part">
            <h2>{td_string!(lang, money.tables)}</h2>
            <p class="quiet">{td_string!(lang, money.tables_text)}</p>
            <p class="money-tables">
                {tables
                    .into_iter()
                    .map(|(href, text)| view! { <a class="button" href=href rel="external" download="">{text}</a> })
                    .collect_view()}
            </p>
        </section>
    }
    .into_any()
}

/// The form that narrows the report.
#[component]
fn Narrow(report: MoneyReport) -> impl IntoView {
    let lang = lang();
    let MoneyReport { period, performance, choices, .. } = report;
    let periods = Period::ALL
        .iter()
        .map(|each| {
            view! { <option value=each.as_str() selected=*each == period>{period_text(lang, *each)}</option> }
        })
        .collect_view();
    let chosen = performance.map(|id| id.to_string());
    let performances = performance_options(lang, choices, chosen.as_deref());
    view! {
        <form class="org-line" method="get" action="/organizer/money" data-testid="money-form">
            <label class="field">
                <span>{td_string!(lang, money.period)}</span>
                <select name="period">{periods}</select>
            </label>
            <label class="field">
                <span>{td_string!(lang, money.performance)}</span>
                <select name="performance"><option value="">{td_string!(lang, money.all_performances)}</option>{performances}</select>
            </label>
            <button class="button" type="submit">{td_string!(lang, money.show)}</button>
        </form>
    }
    .into_any()
}
