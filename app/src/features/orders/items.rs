//! What was ordered: the evening and the seats.

use crate::components::cover::CoverStrip;
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::order::{OrderItem, OrderView};
use leptos::prelude::*;

/// The evening.
#[component]
pub(super) fn Head(order: OrderView) -> impl IntoView {
    let lang = lang();
    view! {
        <header class="order-head">
            <CoverStrip cover=order.cover/>
            <div>
                <h1>{order.artist}</h1>
                <p class="order-event">{order.event}</p>
                <p class="facts">
                    <time datetime=format::machine_time(&order.starts)>{format::moment(lang, &order.starts)}</time>
                    <span>{order.venue}</span>
                </p>
            </div>
        </header>
    }
    .into_any()
}

/// The seats with their prices, and the sum of the order as it was made. Seats that were given back say so.
#[component]
pub(super) fn Seats(order: RwSignal<OrderView>) -> impl IntoView {
    let lang = lang();
    let (items, total) = order.with_untracked(|order| (order.items.clone(), order.total));
    view! {
        <ul class="order-items" data-testid="items">
            {items.into_iter().map(|item| view! { <li><Seat item/></li> }).collect_view()}
        </ul>
        <p class="order-total">
            <span>{td_string!(lang, orders.total)}</span>
            <b data-testid="total">{format::money(lang, total)}</b>
        </p>
    }
    .into_any()
}

#[component]
fn Seat(item: OrderItem) -> impl IntoView {
    let lang = lang();
    view! {
        <span class="order-seat">
            <b>{td_string!(lang, orders.seat_line, section = item.section, row = item.row, seat = item.label)}</b>
            <span class="quiet">{item.category}</span>
            {item
                .given_back
                .then(|| view! { <span class="quiet" data-testid="given-back">{td_string!(lang, orders.given_back)}</span> })}
        </span>
        <span class="order-price">{format::money(lang, item.price)}</span>
    }
    .into_any()
}
