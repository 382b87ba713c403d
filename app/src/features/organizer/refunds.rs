//! Refunds for the staff: the list with its decisions, a refund in a fan's place, and the terms of a
//! performance with its end.

mod api;
mod decide;
mod order;
mod rule;
mod terms;

pub use order::OrderRefundPage;
pub use terms::TermsPage;

use super::frame::{Frame, Sub, Subnav, Tab};
use super::search::{option, performance_options};
use crate::components::missing::Failure;
use crate::components::notice::RefusedAs;
use crate::components::raw_text::Title;
use crate::components::refund::{cause_text, status_text};
use crate::error::AppError;
use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use api::{LIST, RefundDesk, organizer_refunds};
use decide::{Acts, Decision};
use domain::organizer::search::PerformanceChoice;
use domain::refund::RefundStatus;
use domain::refund::view::StaffRefund;
use domain::{Code, Currency, PerformanceId};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use leptos_router::params::ParamsMap;
use rule::Rule;
use std::collections::BTreeSet;

/// What the address of the list asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Query {
    status: Option<String>,
    performance: Option<String>,
    before: Option<String>,
}

impl Query {
    fn of(query: &ParamsMap) -> Self {
        let text = |name| query.get(name).filter(|text| !text.trim().is_empty());
        Self { status: text("status"), performance: text("performance"), before: text("before") }
    }

    /// The address of the page that goes on there.
    fn address(&self, before: Option<String>) -> String {
        let mut query = ParamsMap::new();
        for (name, value) in [("status", &self.status), ("performance", &self.performance), ("before", &before)] {
            if let Some(value) = value {
                query.insert(name, value.clone());
            }
        }
        format!("{LIST}{}", query.to_query_string())
    }

    /// That of all refunds of a status.
    fn of_status(status: RefundStatus) -> String {
        Self { status: Some(status.as_str().to_owned()), ..Self::default() }.address(None)
    }

    /// That of all refunds of a performance.
    fn of_performance(performance: PerformanceId) -> String {
        Self { performance: Some(performance.to_string()), ..Self::default() }.address(None)
    }

    fn is_narrow(&self) -> bool {
        self.status.is_some() || self.performance.is_some()
    }
}

/// The refunds of the organization.
#[component]
pub fn RefundsPage() -> impl IntoView {
    let lang = lang();
    let (query, acts) = (use_query_map(), Acts::new());
    let query = Memo::new(move |_| Query::of(&query.read()));
    let found = Resource::new(
        move || (query.get(), acts.changes()),
        |(query, _)| organizer_refunds(query.status, query.performance, query.before),
    );
    view! {
        <Title text=td_string!(lang, refunds.title)/>
        <Frame tab=Tab::Money>
            <header class="org-head">
                <h1>{td_string!(lang, refunds.title)}</h1>
                <p class="quiet">{td_string!(lang, refunds.list_text)}</p>
            </header>
            <Subnav current=Sub::Refunds/>
            <Refusal error=Signal::derive(move || acts.error())/>
            <Transition>
                {move || Suspend::new(async move {
                    match found.await {
                        Ok(desk) => view! { <Shown desk query=query.get_untracked() acts/> }.into_any(),
                        Err(error) => view! { <Failure error back=LIST/> }.into_any(),
                    }
                })}
            </Transition>
        </Frame>
    }
    .into_any()
}

#[component]
fn Shown(desk: RefundDesk, query: Query, acts: Acts) -> impl IntoView {
    let lang = lang();
    let RefundDesk { list, performances } = desk;
    let empty = list.refunds.is_empty().then(|| {
        let narrow = query.is_narrow() || query.before.is_some();
        if narrow { td_string!(lang, refunds.none_found) } else { td_string!(lang, refunds.none_yet) }
    });
    let older = list.next.map(|next| query.address(Some(next.to_string())));
    let newest = query.before.as_ref().map(|_| query.address(None));
    let here = query.address(query.before.clone());
    let figure = |name: &'static str, testid: &'static str, count: u32, status: RefundStatus| {
        view! {
            <a class="refunds-figure" href=Query::of_status(status) data-testid=testid data-care=(count > 0).then_some("")>
                <b>{format::number(count)}</b>
                <span>{name}</span>
            </a>
        }
    };
    let (waiting, failed, rule) = (list.waiting, list.failed, list.rule);
    let currencies: BTreeSet<Currency> = list.refunds.iter().map(|staff| staff.refund.amount.currency).collect();
    let none = list.refunds.is_empty();
    let rows = list.refunds.into_iter().map(|staff| view! { <Row staff here=here.clone() acts/> }).collect_view();
    view! {
        <div class="refunds-figures">
            {figure(td_string!(lang, refunds.waiting), "waiting", waiting, RefundStatus::Requested)}
            {figure(td_string!(lang, refunds.failed), "failed", failed, RefundStatus::Failed)}
        </div>
        <Filter performances query/>
        {empty.map(|text| view! { <p class="search-empty" role="status" data-testid="empty">{text}</p> })}
        {(!none).then(|| view! { <Table>{rows}</Table> })}
        <nav class="org-pager" aria-label=td_string!(lang, organizer.pages)>
            {newest.map(|href| view! { <a class="button" href=href>{td_string!(lang, organizer.newest)}</a> })}
            {older.map(|href| view! { <a class="button" href=href data-testid="older">{td_string!(lang, organizer.older)}</a> })}
        </nav>
        <Rule rule currencies acts/>
    }
    .into_any()
}

#[component]
fn Filter(performances: Vec<PerformanceChoice>, query: Query) -> impl IntoView {
    let lang = lang();
    let performances = performance_options(lang, performances, query.performance.as_deref());
    let statuses = RefundStatus::ALL
        .iter()
        .map(|status| {
            option(status.as_str().to_owned(), status_text(lang, *status).to_owned(), query.status.as_deref())
        })
        .collect_view();
    view! {
        <form class="org-line" method="get" action=LIST role="search">
            <label class="field">
                <span>{td_string!(lang, refunds.status)}</span>
                <select name="status" data-testid="status"><option value="">{td_string!(lang, organizer.any)}</option>{statuses}</select>
            </label>
            <label class="field">
                <span>{td_string!(lang, refunds.performance)}</span>
                <select name="performance"><option value="">{td_string!(lang, organizer.any)}</option>{performances}</select>
            </label>
            <button class="button" type="submit" data-testid="filter">{td_string!(lang, organizer.filter)}</button>
        </form>
    }
    .into_any()
}

/// The refunds in columns; on a phone each is a card, whose values carry the names of their columns.
#[component]
fn Table(children: Children) -> impl IntoView {
    let lang = lang();
    view! {
        <table class="refunds-table" data-testid="refunds">
            <thead>
                <tr>
                    <th scope="col">{td_string!(lang, refunds.when)}</th>
                    <th scope="col">{td_string!(lang, refunds.who)}</th>
                    <th scope="col">{td_string!(lang, refunds.seats)}</th>
                    <th scope="col">{td_string!(lang, refunds.amount)}</th>
                    <th scope="col">{td_string!(lang, refunds.status)}</th>
                    <th scope="col">{td_string!(lang, refunds.asked_by)}</th>
                    <th scope="col">{td_string!(lang, refunds.action)}</th>
                </tr>
            </thead>
            <tbody>{children()}</tbody>
        </table>
    }
    .into_any()
}

#[component]
fn Row(staff: StaffRefund, here: String, acts: Acts) -> impl IntoView {
    let lang = lang();
    let StaffRefund { refund, email, artist, event, starts, asked_by, may_decide, may_retry } = staff;
    let by = asked_by.unwrap_or_else(|| td_string!(lang, refunds.asked_by_fan).to_owned());
    let story = format!("/organizer/orders/{}", refund.order);
    let (id, status, amount) = (refund.id, refund.status, refund.amount);
    let decides = may_decide && status == RefundStatus::Requested;
    let decision = (decides || may_retry).then(|| {
        view! { <Decision id amount email=email.clone() decides retries=may_retry here acts/> }
    });
    view! {
        <tr data-testid="refund" data-refund=id.to_string() data-order=refund.order.to_string() data-status=status.as_str()>
            <td data-label=td_string!(lang, refunds.when)>
                <a href=story>
                    <time datetime=format::machine_time(&refund.asked)>{format::moment(lang, &refund.asked)}</time>
                </a>
            </td>
            <td data-label=td_string!(lang, refunds.who)>
                <b>{email}</b>
                <small>{artist} " · " {event} ", " {format::day(lang, &starts)}</small>
            </td>
            <td data-label=td_string!(lang, refunds.seats)>{refund.seats.join(", ")}</td>
            <td data-label=td_string!(lang, refunds.amount)>
                <b>{format::money(lang, amount)}</b>
                <small>{cause_text(lang, refund.cause)}</small>
            </td>
            <td data-label=td_string!(lang, refunds.status)>
                <span class="refund-status" data-status=status.as_str()>{status_text(lang, status)}</span>
                {refund.failure.map(|failure| view! { <small lang="en" data-testid="failure">{failure}</small> })}
            </td>
            <td data-label=td_string!(lang, refunds.asked_by)>
                {by}
                {(!refund.note.is_empty()).then(|| view! { <small>{refund.note}</small> })}
            </td>
            <td data-label=td_string!(lang, refunds.action)>{decision}</td>
        </tr>
    }
    .into_any()
}

/// Why a change was refused, more closely than its code says.
fn refusal_text(lang: Locale, error: &AppError) -> &'static str {
    let about = error.0.message.split_once(':').map(|(field, _)| field);
    match (error.code(), about) {
        (Code::WrongState, Some("version")) => td_string!(lang, refunds.conflict),
        (Code::WrongState, _) => td_string!(lang, refunds.moved),
        (Code::Forbidden, _) => td_string!(lang, refunds.four_eyes),
        (Code::InvalidInput, Some("note")) => td_string!(lang, refunds.note_missing),
        (Code::InvalidInput, Some("typed")) => td_string!(lang, refunds.cancel_mismatch),
        _ => error.text(lang),
    }
}

/// The sentence that names the field.
fn particulars(error: &AppError) -> Option<String> {
    matches!(error.code(), Code::InvalidInput | Code::LimitExceeded).then(|| error.0.message.clone())
}

/// A refusal of these pages with the sentence that names the field, announced when it appears.
#[component]
fn Refusal(
    /// The refusal, while there is one.
    error: Signal<Option<AppError>>,
) -> impl IntoView {
    view! { <RefusedAs error text=refusal_text detail=particulars/> }.into_any()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Refusal;

    #[test]
    fn an_address_keeps_its_filters_from_page_to_page() {
        let query = Query { status: Some("failed".to_owned()), ..Query::default() };
        assert_eq!(query.address(None), "/organizer/money/refunds?status=failed");
        assert_eq!(query.address(Some("7".to_owned())), "/organizer/money/refunds?status=failed&before=7");
        assert_eq!(Query::of_status(RefundStatus::Requested), "/organizer/money/refunds?status=requested");
        assert!(query.is_narrow() && !Query::default().is_narrow());
    }

    #[test]
    fn refusals_are_told_as_they_concern_refunds() {
        for (code, message) in [
            (Code::WrongState, "a refund that is approved does not take an approval"),
            (Code::WrongState, "version: 2 is in force"),
            (Code::Forbidden, "a refund of this amount is decided by another member"),
            (Code::InvalidInput, "typed: another name"),
            (Code::InvalidInput, "note: why is expected"),
        ] {
            let error = AppError(Refusal::new(code, message));
            for lang in [Locale::en, Locale::zh] {
                assert_ne!(refusal_text(lang, &error), error.text(lang), "{message}");
            }
        }
    }
}
