//! The ticket, made to be kept: artist, venue, the seat in large, and a code for the door that is
//! black on white in both themes.

use super::api::{self, TicketQr};
use crate::components::{
    cover::theme,
    icon::{Icon, Sign},
    missing::Failure,
};
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::{
    TicketId,
    order::{OrderItem, OrderView},
};
use leptos::prelude::*;

/// All tickets of an order.
#[component]
pub(super) fn Tickets(order: RwSignal<OrderView>) -> impl IntoView {
    let lang = lang();
    let view = order.get_untracked();
    let (id, back) = (view.id, format!("/orders/{}", view.id));
    let codes = Resource::new(move || id, api::order_qr);
    let view = StoredValue::new(view);
    view! {
        <p class="queue-safe" role="status" data-testid="fulfilled">
            <Sign icon=Icon::Check/>
            {td_string!(lang, orders.fulfilled)}
        </p>
        <Suspense fallback=move || view! { <p class="quiet">{td_string!(lang, orders.drawing)}</p> }>
            {move || {
                let back = back.clone();
                Suspend::new(async move {
                    match codes.await {
                        Ok(codes) => view! { <Sheet order=view.get_value() codes/> }.into_any(),
                        Err(error) => view! { <Failure error back/> }.into_any(),
                    }
                })
            }}
        </Suspense>
        <p class="quiet">{td_string!(lang, orders.ticket_text)}</p>
    }
    .into_any()
}

#[component]
fn Sheet(order: OrderView, codes: Vec<TicketQr>) -> impl IntoView {
    let tickets = order
        .tickets
        .iter()
        .filter_map(|ticket| {
            let item = order.items.iter().find(|item| item.seat == ticket.seat)?.clone();
            let code = codes.iter().find(|code| code.ticket == ticket.id)?.clone();
            Some(view! { <Ticket order=order.clone() item code id=ticket.id/> })
        })
        .collect_view();
    view! { <div class="tickets">{tickets}</div> }
}

#[component]
fn Ticket(order: OrderView, item: OrderItem, code: TicketQr, id: TicketId) -> impl IntoView {
    let lang = lang();
    let (side, cover) = (code.side, theme(order.cover));
    view! {
        <article class=format!("ticket cover-{cover}") data-testid="ticket" data-ticket=id.to_string()>
            <div class="ticket-art"><img src=format!("/covers/{cover}.svg") alt="" width="600" height="800"/></div>
            <div class="ticket-body">
                <header>
                    <h2>{order.artist}</h2>
                    <p>{order.event}</p>
                </header>
                <dl class="ticket-when">
                    <div>
                        <dt>{td_string!(lang, orders.date)}</dt>
                        <dd>{format::day(lang, &order.starts)}</dd>
                    </div>
                    <div>
                        <dt>{td_string!(lang, orders.time)}</dt>
                        <dd>{format::venue_clock(lang, &order.starts)}</dd>
                    </div>
                    <div>
                        <dt>{td_string!(lang, orders.venue)}</dt>
                        <dd>{order.venue}</dd>
                    </div>
                </dl>
                <dl class="ticket-seat" data-testid="ticket-seat">
                    <div>
                        <dt>{td_string!(lang, orders.section)}</dt>
                        <dd>{item.section}</dd>
                    </div>
                    <div>
                        <dt>{td_string!(lang, orders.row)}</dt>
                        <dd>{item.row}</dd>
                    </div>
                    <div>
                        <dt>{td_string!(lang, orders.seat)}</dt>
                        <dd>{item.label}</dd>
                    </div>
                </dl>
            </div>
            <div class="ticket-code">
                <svg
                    viewBox=format!("0 0 {side} {side}")
                    role="img"
                    aria-label=td_string!(lang, orders.code)
                    shape-rendering="crispEdges"
                    data-testid="qr"
                >
                    <rect width=side.to_string() height=side.to_string() fill="#fff"></rect>
                    <path d=code.path fill="#000"></path>
                </svg>
                <p>{format!("{} · {}", item.category, format::money(lang, item.price))}</p>
            </div>
        </article>
    }
    .into_any()
}
