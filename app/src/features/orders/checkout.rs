//! The checkout: seats held, time left, and the way to pay.

use super::{
    api::{OrderCancel, OrderPay},
    items::Seats,
};
use crate::browser;
use crate::clock::use_clock;
use crate::components::{
    icon::{Icon, Sign},
    notice::{Refused, Remark},
};
use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use domain::order::OrderView;
use leptos::prelude::*;

/// From here on the end is near: the page warns once.
const WARNING_S: i64 = 120;

/// Paying, while the seats are held.
#[component]
pub(super) fn Checkout(order: RwSignal<OrderView>, offline: RwSignal<bool>) -> impl IntoView {
    let lang = lang();
    let (pay, cancel) = (ServerAction::<OrderPay>::new(), ServerAction::<OrderCancel>::new());
    let (paid, cancelled) = (pay.value(), cancel.value());
    Effect::new(move |_| {
        if let Some(Ok(started)) = paid.get() {
            browser::leave_for(&started.redirect_url);
        }
    });
    let refusal =
        Signal::derive(move || paid.get().and_then(Result::err).or_else(|| cancelled.get().and_then(Result::err)));
    let left = time_left(order);
    let over = Memo::new(move |_| left.get() == 0);
    let leaving = move || pay.pending().get() || matches!(paid.get(), Some(Ok(_)));
    let (id, total) = order.with_untracked(|order| (order.id.to_string(), format::money(lang, order.total)));
    let id_to_cancel = id.clone();
    view! {
        <div class="checkout">
            <Seats order/>
            <Decline order/>
            <Refused error=refusal/>
            <TimeLeft left/>
            {move || offline.get().then(|| view! {
                <Remark icon=Icon::Attention><p>{td_string!(lang, orders.offline)}</p></Remark>
            })}
            <div class="checkout-actions">
                <ActionForm action=pay>
                    <input type="hidden" name="order" value=id/>
                    <button
                        class="button button-accent button-large button-wide"
                        type="submit"
                        disabled=move || leaving() || over.get()
                        data-testid="pay"
                    >
                        {td_string!(lang, orders.pay, total = total)}
                        <Sign icon=Icon::Arrow/>
                    </button>
                </ActionForm>
                <ActionForm action=cancel>
                    <input type="hidden" name="order" value=id_to_cancel/>
                    <button class="button button-wide" type="submit" disabled=move || cancel.pending().get() data-testid="give-back">
                        {td_string!(lang, orders.give_back)}
                    </button>
                </ActionForm>
            </div>
            <p class="quiet">{td_string!(lang, orders.pay_text)}</p>
        </div>
    }
    .into_any()
}

/// Whole seconds until the seats go back, by the server's clock.
fn time_left(order: RwSignal<OrderView>) -> Memo<i64> {
    let clock = use_clock();
    Memo::new(move |_| order.with(|order| format::seconds_left(clock.now_or(order.now), order.expires)))
}

#[component]
fn TimeLeft(left: Memo<i64>) -> impl IntoView {
    let lang = lang();
    // Read out once a minute at most, and not every second.
    let minutes = Memo::new(move |_| (left.get() + 59) / 60);
    let warn = Memo::new(move |_| left.get() <= WARNING_S);
    view! {
        <div class="time-left" class:time-left-short=move || warn.get()>
            <p>
                <span class="overline">{td_string!(lang, orders.held_for)}</span>
                <b class="time-left-clock" role="timer" aria-live="off" data-testid="time-left">
                    {move || format::short_clock(left.get())}
                </b>
            </p>
            <p class="time-left-text" aria-live="polite">
                {move || if left.get() == 0 {
                    td_string!(lang, orders.time_over).to_owned()
                } else if warn.get() {
                    td_string!(lang, orders.time_short).to_owned()
                } else {
                    td_string!(lang, orders.time_text, minutes = minutes.get()).to_string()
                }}
            </p>
        </div>
    }
    .into_any()
}

/// Why the last attempt failed, and that nothing is lost.
#[component]
fn Decline(order: RwSignal<OrderView>) -> impl IntoView {
    let lang = lang();
    let decline = Memo::new(move |_| order.with(|order| order.decline.clone()));
    view! {
        <div role="alert">
            {move || decline.get().map(|reason| view! {
                <p class="notice notice-care" data-testid="decline">
                    <Sign icon=Icon::Attention/>
                    <span>
                        <b>{decline_text(lang, &reason)}</b> " "
                        {td_string!(lang, orders.decline_next)}
                    </span>
                </p>
            })}
        </div>
    }
    .into_any()
}

/// The provider's reason in the reader's words; an unknown one is a decline without details.
fn decline_text(lang: Locale, reason: &str) -> &'static str {
    match reason {
        "insufficient_funds" => td_string!(lang, orders.decline_funds),
        "expired_card" => td_string!(lang, orders.decline_expired),
        "timeout" | "expired" | "abandoned" => td_string!(lang, orders.decline_timeout),
        "canceled" | "cancelled" | "canceled_by_customer" => td_string!(lang, orders.decline_canceled),
        _ => td_string!(lang, orders.decline_card),
    }
}
