//! What an order's page says about giving back: the way there, and what went back so far.

use super::api::page_of;
use crate::components::refund::status_text;
use crate::error::AppError;
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::OrderId;
use domain::refund::view::{RefundOffer, RefundView, Refused, ReturnableSeat};
use leptos::prelude::*;

/// What was read of it with the page: tickets are shown also where this can't be had.
#[component]
pub(in crate::features::orders) fn GivenBack(
    order: OrderId,
    /// None while it is on its way.
    offer: Option<Result<RefundOffer, AppError>>,
) -> impl IntoView {
    match offer {
        Some(Ok(offer)) => view! { <Brief offer/> }.into_any(),
        // The page behind the link says why.
        Some(Err(_)) => view! { <Way order/> }.into_any(),
        None => ().into_any(),
    }
}

#[component]
fn Brief(offer: RefundOffer) -> impl IntoView {
    let lang = lang();
    let RefundOffer { order, seats, refused, refunds, .. } = offer;
    if refused == Some(Refused::Never) && refunds.is_empty() {
        return view! { <p class="quiet refund-brief" data-testid="no-refunds">{td_string!(lang, refunds.policy_never)}</p> }
            .into_any();
    }
    let history = (!refunds.is_empty()).then(|| {
        let gone = seats.into_iter().filter(|seat| seat.given_back).map(|seat| view! { <Gone seat/> }).collect_view();
        let lines = refunds.into_iter().map(|refund| view! { <Line refund/> }).collect_view();
        view! {
            <h2>{td_string!(lang, refunds.history)}</h2>
            <ul class="refund-gone">{gone}</ul>
            <ul class="refund-brief-lines">{lines}</ul>
        }
    });
    let link = |text: &'static str| {
        view! { <p><a href=page_of(&order.to_string()) data-testid="refund-details">{text}</a></p> }.into_any()
    };
    let way = match (refused, history.is_some()) {
        (None, _) => Some(view! { <Way order/> }.into_any()),
        (Some(_), true) => Some(link(td_string!(lang, refunds.details))),
        (Some(Refused::NothingLeft | Refused::Cancelled), false) => None,
        // Why not is told there.
        (Some(_), false) => Some(link(td_string!(lang, refunds.give_back))),
    };
    view! { <section class="refund-brief" data-testid="refunds-brief">{history}{way}</section> }.into_any()
}

/// The way to giving back.
#[component]
fn Way(order: OrderId) -> impl IntoView {
    let lang = lang();
    view! {
        <p class="refund-brief">
            <a class="button" href=page_of(&order.to_string()) data-testid="give-tickets-back">{td_string!(lang, refunds.give_back)}</a>
        </p>
    }
    .into_any()
}

/// A seat that is gone.
#[component]
fn Gone(seat: ReturnableSeat) -> impl IntoView {
    let lang = lang();
    let item = seat.item;
    view! {
        <li data-testid="given-back">
            <s>{td_string!(lang, orders.seat_line, section = item.section, row = item.row, seat = item.label)}</s>
            <span class="visually-hidden">" " {td_string!(lang, refunds.was_given_back)}</span>
        </li>
    }
    .into_any()
}

#[component]
fn Line(refund: RefundView) -> impl IntoView {
    let lang = lang();
    view! {
        <li data-testid="refund-brief" data-status=refund.status.as_str()>
            <b>{format::money(lang, refund.amount)}</b>
            <span>{status_text(lang, refund.status)}</span>
            <time datetime=format::machine_time(&refund.asked)>{format::day(lang, &refund.asked)}</time>
        </li>
    }
    .into_any()
}
