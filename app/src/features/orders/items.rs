//! What was ordered: the evening and the seats.

use crate::components::{cover::CoverStrip, fees::Sums};
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

/// The seats with their prices, and what the order came to when it was made. Seats that were given back say so.
#[component]
pub(super) fn Seats(order: RwSignal<OrderView>) -> impl IntoView {
    let (items, charges, total) =
        order.with_untracked(|order| (order.items.clone(), order.charges.clone(), order.total));
    view! {
        <ul class="order-items" data-testid="items">
            {items.into_iter().map(|item| view! { <li><Seat item/></li> }).collect_view()}
        </ul>
        <Sums charges total/>
    }
    .into_any()
}

/// What was paid beside the prices that the tickets show; nothing where the prices are all of it.
#[component]
pub(super) fn Paid(order: RwSignal<OrderView>) -> impl IntoView {
    let lang = lang();
    let (charges, total) = order.with_untracked(|order| (order.charges.clone(), order.total));
    charges
        .map(|charges| {
            view! {
                <section class="order-paid" aria-labelledby="order-paid" data-testid="paid">
                    <h2 id="order-paid">{td_string!(lang, fees.paid)}</h2>
                    <Sums charges=Some(charges) total/>
                </section>
            }
        })
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
