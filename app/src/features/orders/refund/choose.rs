//! Which tickets, what they come to, and the button that names it.

use super::Quoted;
use super::api::{self, OrderRefundAsk, order_refund_quote};
use crate::components::notice::Refused;
use crate::components::seat_choice::{SeatChoice, asked_seats};
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::ids::join_seats;
use domain::refund::Approval;
use domain::refund::view::{RefundOffer, RefundQuote};
use domain::{OrderId, SeatNo};
use leptos::{prelude::*, task::spawn_local};
use leptos_router::hooks::use_query_map;
use std::collections::BTreeSet;

/// The boxes, and the quote of what is ticked.
#[component]
pub(super) fn Choose(
    offer: RefundOffer,
    /// What the seats of the address come to, which are ticked at first.
    quote: Quoted,
    ask: ServerAction<OrderRefundAsk>,
) -> impl IntoView {
    let lang = lang();
    let order = offer.order;
    let chosen = RwSignal::new(asked_seats(&use_query_map().read_untracked(), &offer.seats));
    let quoted = RwSignal::new(quote);
    follow(order, chosen, quoted);
    let show = format!(
        "<button class=\"button\" type=\"submit\" data-testid=\"refund-show\">{}</button>",
        td_string!(lang, refunds.show)
    );
    view! {
        <form class="refund-form" method="get" action=api::page_of(&order.to_string()) data-testid="refund-form">
            <fieldset class="refund-fields">
                <legend>{td_string!(lang, refunds.choose)}</legend>
                <SeatChoice seats=offer.seats chosen/>
            </fieldset>
            <noscript inner_html=show></noscript>
        </form>
        <div class="refund-quote" aria-live="polite">
            {move || match quoted.get() {
                Some(Ok(quote)) => view! { <Quote quote ask/> }.into_any(),
                Some(Err(error)) => view! { <Refused error=Some(error)/> }.into_any(),
                None => view! {
                    <p class="quiet" data-testid="choose-hint">{td_string!(lang, refunds.choose_hint)}</p>
                }
                .into_any(),
            }}
        </div>
    }
    .into_any()
}

/// Asks what the ticked boxes come to whenever they change. The quote of before stays until the answer is here.
fn follow(order: OrderId, chosen: RwSignal<BTreeSet<SeatNo>>, quoted: RwSignal<Quoted>) {
    let begun = chosen.get_untracked();
    Effect::new(move |before: Option<BTreeSet<SeatNo>>| {
        let now = chosen.get();
        if *before.as_ref().unwrap_or(&begun) != now {
            let asked = now.clone();
            spawn_local(async move {
                let answer = quote_of(order, asked.clone()).await;
                // Other boxes may be ticked by now, and the page may be gone.
                if chosen.try_with_untracked(|chosen| *chosen == asked) == Some(true) {
                    quoted.try_set(answer);
                }
            });
        }
        now
    });
}

/// The quote of a choice; none of an empty one.
pub(super) async fn quote_of(order: OrderId, seats: BTreeSet<SeatNo>) -> Quoted {
    let seats: Vec<SeatNo> = seats.into_iter().collect();
    if seats.is_empty() { None } else { Some(order_refund_quote(order, join_seats(&seats)).await) }
}

/// What comes back, who must agree, how long it takes, and the one button that does it.
#[component]
fn Quote(quote: RefundQuote, ask: ServerAction<OrderRefundAsk>) -> impl IntoView {
    let lang = lang();
    let RefundQuote { order, seats, returns, kept, approval } = quote;
    let agrees = match approval {
        Approval::Automatic => td_string!(lang, refunds.approval_automatic),
        Approval::Finance => td_string!(lang, refunds.approval_finance),
    };
    let amount = format::money(lang, returns);
    view! {
        <dl class="refund-sums">
            <div class="refund-sum-returns">
                <dt>{td_string!(lang, refunds.quote_returns)}</dt>
                <dd data-testid="quote-returns">{amount.clone()}</dd>
            </div>
            {(kept.minor > 0).then(|| view! {
                <div>
                    <dt>{td_string!(lang, refunds.quote_kept)}</dt>
                    <dd data-testid="quote-kept">{format::money(lang, kept)}</dd>
                </div>
            })}
        </dl>
        <ul class="refund-next">
            <li>{td_string!(lang, refunds.ask_text)}</li>
            <li data-testid="quote-agrees">{agrees}</li>
            <li>{td_string!(lang, refunds.days)}</li>
        </ul>
        <ActionForm action=ask attr:data-testid="refund-confirm">
            <input type="hidden" name="order" value=order.to_string()/>
            <input type="hidden" name="seats" value=join_seats(&seats)/>
            <input type="hidden" name="expected_minor" value=returns.minor.to_string()/>
            <button
                class="button button-accent button-large button-wide"
                type="submit"
                disabled=move || ask.pending().get()
                data-testid="refund-ask"
            >
                {td_string!(lang, refunds.ask, amount = amount)}
            </button>
        </ActionForm>
    }
    .into_any()
}
