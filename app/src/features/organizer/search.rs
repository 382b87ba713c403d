//! Orders: found, and told in full.

mod api;
mod sections;
mod story;
mod words;

pub use story::OrderPage;

use super::frame::{Frame, Tab};
use crate::components::raw_text::Title;
use crate::components::{missing::Failure, order_status::status_text};
use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use domain::order::OrderStatus;
use domain::organizer::search::{Found, FoundOrder, PerformanceChoice};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use leptos_router::params::ParamsMap;

/// Digits of an order's id that people say to each other.
const SHORT_ID_DIGITS: usize = 8;

/// What the address of the page asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Query {
    text: Option<String>,
    performance: Option<String>,
    status: Option<String>,
    before: Option<String>,
}

impl Query {
    fn of(query: &ParamsMap) -> Self {
        let text = |name| query.get(name).filter(|text| !text.trim().is_empty());
        Self { text: text("text"), performance: text("performance"), status: text("status"), before: text("before") }
    }

    /// The address of the page that goes on there.
    fn address(&self, before: Option<String>) -> String {
        let mut query = ParamsMap::new();
        let fields =
            [("text", &self.text), ("performance", &self.performance), ("status", &self.status), ("before", &before)];
        for (name, value) in fields {
            if let Some(value) = value {
                query.insert(name, value.clone());
            }
        }
        format!("/organizer/orders{}", query.to_query_string())
    }

    fn is_narrow(&self) -> bool {
        self.text.is_some() || self.performance.is_some() || self.status.is_some()
    }
}

/// The beginning of an order's id.
fn short_id(id: domain::OrderId) -> String {
    id.simple().chars().take(SHORT_ID_DIGITS).collect()
}

/// The search.
#[component]
pub fn OrdersPage() -> impl IntoView {
    let lang = lang();
    let query = use_query_map();
    let query = Memo::new(move |_| Query::of(&query.read()));
    let found = Resource::new(
        move || query.get(),
        |query| api::organizer_orders(query.text, query.performance, query.status, query.before),
    );
    view! {
        <Title text=td_string!(lang, search.title)/>
        <Frame tab=Tab::Orders>
            <header class="org-head">
                <h1>{td_string!(lang, search.title)}</h1>
            </header>
            <Transition>
                {move || Suspend::new(async move {
                    match found.await {
                        Ok(found) => view! { <Shown found query=query.get_untracked()/> }.into_any(),
                        Err(error) => view! { <Failure error back="/organizer/orders"/> }.into_any(),
                    }
                })}
            </Transition>
        </Frame>
    }
    .into_any()
}

#[component]
fn Shown(found: Found, query: Query) -> impl IntoView {
    let lang = lang();
    let Found { orders, next, understood, performances } = found;
    let empty = orders.is_empty().then(|| match (understood, query.is_narrow()) {
        (false, _) => td_string!(lang, search.not_understood),
        (true, true) => td_string!(lang, search.nothing_found),
        (true, false) => td_string!(lang, search.none_yet),
    });
    let older = next.map(|next| query.address(Some(next.to_string())));
    let newest = query.before.as_ref().map(|_| query.address(None));
    view! {
        <Form performances query/>
        {empty.map(|text| view! { <p class="search-empty" role="status" data-testid="empty">{text}</p> })}
        <ul class="search-list">
            {orders.into_iter().map(|order| view! { <li><Row order/></li> }).collect_view()}
        </ul>
        <nav class="org-pager" aria-label=td_string!(lang, organizer.pages)>
            {newest.map(|href| view! { <a class="button" href=href>{td_string!(lang, organizer.newest)}</a> })}
            {older.map(|href| view! { <a class="button" href=href data-testid="older">{td_string!(lang, organizer.older)}</a> })}
        </nav>
    }
    .into_any()
}

/// One choice of a filter: as it stands in the address, and as people read it.
pub(super) fn option(value: String, text: String, chosen: Option<&str>) -> impl IntoView + use<> {
    let selected = chosen == Some(value.as_str());
    view! { <option value=value selected=selected>{text}</option> }
}

/// A performance by its names.
pub(super) fn performance_text(lang: Locale, choice: &PerformanceChoice) -> String {
    format!("{} · {} · {}", choice.artist, choice.event, format::day(lang, &choice.starts))
}

/// The performances that a filter offers.
pub(super) fn performance_options(
    lang: Locale,
    performances: Vec<PerformanceChoice>,
    chosen: Option<&str>,
) -> impl IntoView + use<> {
    performances
        .into_iter()
        .map(|choice| option(choice.id.to_string(), performance_text(lang, &choice), chosen))
        .collect_view()
}

#[component]
fn Form(performances: Vec<PerformanceChoice>, query: Query) -> impl IntoView {
    let lang = lang();
    let performances = performance_options(lang, performances, query.performance.as_deref());
    let statuses = OrderStatus::ALL
        .iter()
        .map(|status| {
            option(status.as_str().to_owned(), status_text(lang, *status).to_owned(), query.status.as_deref())
        })
        .collect_view();
    view! {
        <form class="search-form" method="get" action="/organizer/orders" role="search">
            <label class="field search-text">
                <span>{td_string!(lang, search.text)}</span>
                <input
                    type="search"
                    name="text"
                    value=query.text.clone().unwrap_or_default()
                    autocomplete="off"
                    autocapitalize="off"
                    spellcheck="false"
                    maxlength="200"
                    aria-describedby="search-hint"
                    data-testid="search"
                />
                <small id="search-hint">{td_string!(lang, search.text_hint)}</small>
            </label>
            <label class="field">
                <span>{td_string!(lang, search.performance)}</span>
                <select name="performance"><option value="">{td_string!(lang, organizer.any)}</option>{performances}</select>
            </label>
            <label class="field">
                <span>{td_string!(lang, search.status)}</span>
                <select name="status"><option value="">{td_string!(lang, organizer.any)}</option>{statuses}</select>
            </label>
            <button class="button button-accent" type="submit">{td_string!(lang, search.search)}</button>
        </form>
    }
    .into_any()
}

#[component]
fn Row(order: FoundOrder) -> impl IntoView {
    let lang = lang();
    view! {
        <a class="search-row" href=format!("/organizer/orders/{}", order.id) data-testid="found-order" data-order=order.id.to_string()>
            <span class="search-row-id"><code>{short_id(order.id)}</code></span>
            <span class="search-row-who">
                <b>{order.email}</b>
                <span class="facts">
                    <span>{order.artist} " · " {order.event}</span>
                    <time datetime=format::machine_time(&order.starts)>{format::date_time(lang, &order.starts)}</time>
                </span>
            </span>
            <span class="search-row-when">
                <span class="visually-hidden">{td_string!(lang, search.ordered)} " "</span>
                <time datetime=format::machine_time(&order.created)>{format::moment(lang, &order.created)}</time>
            </span>
            <span class="search-row-sum">
                <b>{format::money(lang, order.total)}</b>
                <span>{td_string!(lang, orders.seats, seats = order.seats)}</span>
            </span>
            <span class="order-status" data-status=order.status.as_str()>{status_text(lang, order.status)}</span>
        </a>
    }
    .into_any()
}
