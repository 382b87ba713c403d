//! The list of one's orders.

use super::api;
use crate::components::raw_text::Title;
use crate::components::{
    cover::CoverStrip,
    icon::{Icon, Sign},
    missing::Failure,
    order_status::status_text,
};
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use crate::session::use_visitor;
use domain::order::OrderRow;
use leptos::prelude::*;

/// All orders of the account, the newest first.
#[component]
pub fn OrdersPage() -> impl IntoView {
    let (lang, visitor) = (lang(), use_visitor());
    let orders = Resource::new(move || visitor.changes(), |_| api::orders());
    view! {
        <Title text=td_string!(lang, common.my_orders)/>
        <Suspense>
            {move || Suspend::new(async move {
                match orders.await {
                    Ok(list) => view! { <List list/> }.into_any(),
                    Err(error) => view! { <Failure error back="/orders"/> }.into_any(),
                }
            })}
        </Suspense>
    }
    .into_any()
}

#[component]
fn List(list: Vec<OrderRow>) -> impl IntoView {
    let lang = lang();
    let empty = list.is_empty();
    view! {
        <section class="column orders">
            <header class="orders-head">
                <h1>{td_string!(lang, common.my_orders)}</h1>
                <a class="button" href="/tickets" data-testid="tickets-link">
                    <Sign icon=Icon::Ticket/>
                    {td_string!(lang, tickets.title)}
                </a>
            </header>
            {empty.then(|| view! {
                <p>{td_string!(lang, orders.none)}</p>
                <p><a class="button" href="/">{td_string!(lang, common.missing_link)}</a></p>
            })}
            <ul class="order-list">
                {list.into_iter().map(|row| view! { <li><Row row/></li> }).collect_view()}
            </ul>
        </section>
    }
    .into_any()
}

#[component]
fn Row(row: OrderRow) -> impl IntoView {
    let lang = lang();
    view! {
        <a class="order-row" href=format!("/orders/{}", row.id) data-testid="order-row">
            <CoverStrip cover=row.cover/>
            <span class="order-row-what">
                <b>{row.artist}</b>
                <span>{row.event}</span>
                <span class="facts">
                    <time datetime=format::machine_time(&row.starts)>{format::moment(lang, &row.starts)}</time>
                    <span>{row.venue}</span>
                </span>
            </span>
            <span class="order-row-sum">
                <b>{format::money(lang, row.total)}</b>
                <span>{td_string!(lang, orders.seats, seats = row.seats)}</span>
                <span class="order-status" data-status=row.status.as_str()>{status_text(lang, row.status)}</span>
            </span>
        </a>
    }
    .into_any()
}
