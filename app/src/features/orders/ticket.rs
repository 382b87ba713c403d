//! The ticket, made to be kept: artist, venue, the seat in large, and a code for the door that is
//! black on white in both themes.

use super::actions::{Actions, Manage, Refusals};
use super::tickets_api::{Qr, TicketSheet};
use crate::components::{
    cover::theme,
    icon::{Icon, Sign},
    missing::Failure,
};
use crate::error::AppError;
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::{
    OrderId,
    ticket::change::{HeldTicket, TransferState},
};
use leptos::prelude::*;

/// All tickets of an order.
#[component]
pub(super) fn Tickets(
    order: OrderId,
    /// As they were read with the page; none while they are on their way.
    list: Option<Result<Vec<TicketSheet>, AppError>>,
    actions: Actions,
) -> impl IntoView {
    let lang = lang();
    let back = format!("/orders/{order}");
    let sheets = match list {
        Some(Ok(list)) => view! { <Sheets list actions back/> }.into_any(),
        Some(Err(error)) => view! { <Failure error back/> }.into_any(),
        None => view! { <p class="quiet">{td_string!(lang, orders.drawing)}</p> }.into_any(),
    };
    view! {
        <p class="queue-safe" role="status" data-testid="fulfilled">
            <Sign icon=Icon::Check/>
            {td_string!(lang, orders.fulfilled)}
        </p>
        <Files order/>
        <Refusals actions/>
        {sheets}
        <p class="quiet">{td_string!(lang, orders.ticket_text)}</p>
    }
    .into_any()
}

/// The tickets of an order as files.
#[component]
fn Files(order: OrderId) -> impl IntoView {
    let lang = lang();
    view! {
        <p class="actions ticket-files">
            <a class="button" rel="external" href=format!("/orders/{order}/tickets.pdf") data-testid="tickets-pdf">
                <Sign icon=Icon::Ticket/>
                {td_string!(lang, tickets.pdf_all)}
            </a>
            <a class="button" rel="external" href=format!("/orders/{order}/event.ics") data-testid="event-ics">
                <Sign icon=Icon::Clock/>
                {td_string!(lang, tickets.calendar)}
            </a>
            <a class="button" href="/tickets">{td_string!(lang, tickets.title)}</a>
        </p>
    }
    .into_any()
}

/// Tickets in full, each with what can be done.
#[component]
pub(super) fn Sheets(list: Vec<TicketSheet>, actions: Actions, back: String) -> impl IntoView {
    let sheets = list
        .into_iter()
        .map(|sheet| {
            let back = back.clone();
            view! { <Ticket sheet actions back/> }
        })
        .collect_view();
    view! { <div class="tickets">{sheets}</div> }.into_any()
}

#[component]
fn Ticket(sheet: TicketSheet, actions: Actions, back: String) -> impl IntoView {
    let TicketSheet { ticket, qr } = sheet;
    let cover = theme(ticket.cover);
    let state = state(&ticket);
    let (id, issue, gone) = (ticket.id, ticket.issue, ticket.is_gone());
    let (body, managed) = (ticket.clone(), ticket.clone());
    view! {
        <article
            class=format!("ticket cover-{cover}")
            id=format!("ticket-{id}")
            data-testid="ticket"
            data-ticket=id.to_string()
            data-issue=issue.to_string()
            data-state=state
        >
            <div class="ticket-art"><img src=format!("/covers/{cover}.svg") alt="" width="600" height="800"/></div>
            <Body ticket=body/>
            <Code ticket qr/>
        </article>
        {(!gone).then(|| view! { <Manage ticket=managed actions back/> })}
    }
    .into_any()
}

/// Where a ticket stands, for styles and tests.
fn state(ticket: &HeldTicket) -> &'static str {
    match &ticket.transfer {
        _ if ticket.frozen => "frozen",
        Some(transfer) if transfer.state == TransferState::Gone => "gone",
        Some(_) => "offered",
        None => "valid",
    }
}

#[component]
fn Body(ticket: HeldTicket) -> impl IntoView {
    let lang = lang();
    view! {
        <div class="ticket-body">
            <header>
                <h2>{ticket.artist}</h2>
                <p>{ticket.event}</p>
            </header>
            <dl class="ticket-when">
                <div>
                    <dt>{td_string!(lang, orders.date)}</dt>
                    <dd>{format::day(lang, &ticket.starts)}</dd>
                </div>
                <div>
                    <dt>{td_string!(lang, orders.time)}</dt>
                    <dd>{format::venue_clock(lang, &ticket.starts)}</dd>
                </div>
                <div>
                    <dt>{td_string!(lang, orders.venue)}</dt>
                    <dd>{ticket.venue}</dd>
                </div>
                {ticket.holder.map(|name| view! {
                    <div>
                        <dt>{td_string!(lang, tickets.name)}</dt>
                        <dd data-testid="ticket-name">{name}</dd>
                    </div>
                })}
            </dl>
            <dl class="ticket-seat" data-testid="ticket-seat">
                <div>
                    <dt>{td_string!(lang, orders.section)}</dt>
                    <dd>{ticket.section}</dd>
                </div>
                <div>
                    <dt>{td_string!(lang, orders.row)}</dt>
                    <dd>{ticket.row}</dd>
                </div>
                <div>
                    <dt>{td_string!(lang, orders.seat)}</dt>
                    <dd>{ticket.seat}</dd>
                </div>
            </dl>
        </div>
    }
    .into_any()
}

/// The code, or why there is none to show.
#[component]
fn Code(ticket: HeldTicket, qr: Option<Qr>) -> impl IntoView {
    let lang = lang();
    let note = match &ticket.transfer {
        _ if ticket.frozen => Some(td_string!(lang, tickets.frozen_text).to_owned()),
        Some(transfer) if transfer.state == TransferState::Gone => {
            Some(td_string!(lang, tickets.gone, to = transfer.to.clone()))
        }
        Some(transfer) => Some(td_string!(lang, tickets.offered, to = transfer.to.clone())),
        None => None,
    };
    view! {
        <div class="ticket-code">
            {qr.map(|Qr { side, path }| view! {
                <svg
                    viewBox=format!("0 0 {side} {side}")
                    role="img"
                    aria-label=td_string!(lang, orders.code)
                    shape-rendering="crispEdges"
                    data-testid="qr"
                >
                    <rect width=side.to_string() height=side.to_string() fill="#fff"></rect>
                    <path d=path fill="#000"></path>
                </svg>
            })}
            {note.map(|note| view! { <p class="ticket-note" data-testid="ticket-note">{note}</p> })}
            <p>{ticket.category}</p>
        </div>
    }
    .into_any()
}
