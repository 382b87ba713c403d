//! An order that waits for somebody else, or has ended without a ticket.

use super::{api::OrderCancel, items::Seats};
use crate::components::{
    icon::{Icon, Sign},
    notice::{Refused, Remark},
};
use crate::i18n::td_string;
use crate::lang::lang;
use domain::order::{OrderStatus, OrderView};
use leptos::prelude::*;

/// A payment runs at the provider.
#[component]
pub(super) fn Processing(order: RwSignal<OrderView>) -> impl IntoView {
    let lang = lang();
    let cancel = ServerAction::<OrderCancel>::new();
    let value = cancel.value();
    let pay_url = Memo::new(move |_| order.with(|order| order.pay_url.clone()));
    let id = order.with_untracked(|order| order.id.to_string());
    view! {
        <div class="checkout">
            <div class="steady" role="status" data-testid="processing">
                <h2>{td_string!(lang, orders.processing)}</h2>
                <p>{td_string!(lang, orders.processing_text)}</p>
            </div>
            <Seats order/>
            <Refused error=Signal::derive(move || value.get().and_then(Result::err))/>
            <div class="checkout-actions">
                {move || pay_url.get().map(|url| view! {
                    <a class="button button-accent button-large button-wide" rel="external" href=url data-testid="continue-paying">
                        {td_string!(lang, orders.continue_paying)}
                        <Sign icon=Icon::Arrow/>
                    </a>
                })}
                <ActionForm action=cancel>
                    <input type="hidden" name="order" value=id/>
                    <button class="button button-wide" type="submit">{td_string!(lang, orders.give_back)}</button>
                </ActionForm>
            </div>
        </div>
    }
    .into_any()
}

/// Paid; the tickets are being made.
#[component]
pub(super) fn Issuing(order: RwSignal<OrderView>) -> impl IntoView {
    let lang = lang();
    view! {
        <div class="checkout">
            <div class="steady steady-good" role="status" data-testid="issuing">
                <h2>{td_string!(lang, orders.paid)}</h2>
                <p>{td_string!(lang, orders.paid_text)}</p>
            </div>
            <Seats order/>
        </div>
    }
    .into_any()
}

/// All money was given back.
#[component]
pub(super) fn Refunded(order: RwSignal<OrderView>) -> impl IntoView {
    let lang = lang();
    view! {
        <div class="checkout">
            <Remark icon=Icon::Check>
                <h2>{td_string!(lang, orders.refunded)}</h2>
                <p>{td_string!(lang, orders.refunded_text)}</p>
            </Remark>
            <Seats order/>
        </div>
    }
    .into_any()
}

/// Ended without money: the seats went back, what was chosen stays to be seen.
#[component]
pub(super) fn Closed(order: RwSignal<OrderView>) -> impl IntoView {
    let lang = lang();
    let (status, performance) = order.with_untracked(|order| (order.status, order.performance));
    let (title, text) = if status == OrderStatus::Refused {
        (td_string!(lang, orders.refused), td_string!(lang, orders.refused_text))
    } else {
        (td_string!(lang, orders.closed), td_string!(lang, orders.closed_text))
    };
    view! {
        <div class="checkout">
            <div class="steady" role="status" data-testid="closed">
                <h2>{title}</h2>
                <p>{text}</p>
            </div>
            <Seats order/>
            <div class="checkout-actions">
                <a class="button button-accent button-large button-wide" href=format!("/performances/{performance}/seats") data-testid="hold-again">
                    {td_string!(lang, orders.hold_again)}
                    <Sign icon=Icon::Arrow/>
                </a>
            </div>
        </div>
    }
    .into_any()
}
