//! Giving tickets back: which, what comes back for them, who must agree, and how far it is.
//!
//! The choice is in the address (`?seats=…`) for pages without JavaScript: the form leads back here, with
//! the quote and the button that confirms it. With JavaScript the quote follows the ticked boxes.

pub mod api;
mod brief;
mod choose;

pub(super) use brief::GivenBack;

use super::api as order_api;
use super::items::Head;
use crate::components::missing::Failure;
use crate::components::raw_text::Title;
use crate::components::refund::{Policy, Steps, cause_text, next_text, status_text};
use crate::components::seat_choice::asked_seats;
use crate::components::{
    icon::Icon,
    notice::{RefusedAs, Remark},
};
use crate::error::AppError;
use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use crate::session::use_visitor;
use api::OrderRefundAsk;
use choose::Choose;
use domain::Code;
use domain::order::OrderView;
use domain::refund::view::{RefundOffer, RefundQuote, RefundView, Refused};
use leptos::prelude::*;
use leptos_router::hooks::{use_params_map, use_query_map};
use leptos_router::params::ParamsMap;
use serde::{Deserialize, Serialize};

/// What a choice of seats comes to; none of an empty one.
type Quoted = Option<Result<RefundQuote, AppError>>;

/// What the page shows: an order, what can be given back of it, and what the seats of the address come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Loaded {
    order: OrderView,
    offer: RefundOffer,
    quote: Quoted,
}

/// What a fan gives back of one order.
#[component]
pub fn RefundPage() -> impl IntoView {
    let (lang, visitor, params, query) = (lang(), use_visitor(), use_params_map(), use_query_map());
    let id = move || params.read().get("id").unwrap_or_default();
    let found =
        Resource::new(move || (id(), query.get_untracked(), visitor.changes()), |(id, query, _)| load(id, query));
    let ask = ServerAction::<OrderRefundAsk>::new();
    let value = ask.value();
    Effect::new(move |_| match value.get() {
        Some(Ok(_)) => found.refetch(),
        // What is shown is no longer so.
        Some(Err(error)) if error.code() == Code::WrongState => found.refetch(),
        Some(Err(_)) | None => (),
    });
    let said = move || value.get().is_some_and(|answer| answer.is_ok()).then(|| td_string!(lang, refunds.asked));
    view! {
        <Title text=td_string!(lang, refunds.give_back)/>
        <p class="visually-hidden" role="status">{said}</p>
        <Transition>
            {move || Suspend::new(async move {
                match found.await {
                    Ok(loaded) => view! { <Refund loaded ask/> }.into_any(),
                    Err(error) => {
                        let back = api::page_of(&id());
                        view! { <Failure error back/> }.into_any()
                    }
                }
            })}
        </Transition>
    }
    .into_any()
}

async fn load(id: String, query: ParamsMap) -> Result<Loaded, AppError> {
    let order = order_api::order(id.clone()).await?;
    let offer = api::order_refund_offer(id).await?;
    let quote = match offer.refused {
        Some(_) => None,
        None => choose::quote_of(order.id, asked_seats(&query, &offer.seats)).await,
    };
    Ok(Loaded { order, offer, quote })
}

#[component]
fn Refund(loaded: Loaded, ask: ServerAction<OrderRefundAsk>) -> impl IntoView {
    let lang = lang();
    let Loaded { order, offer, quote } = loaded;
    let back = format!("/orders/{}", order.id);
    let value = ask.value();
    let asked_before = use_query_map().read_untracked().get_str("asked").is_some();
    let asked = move || match value.get() {
        Some(answer) => answer.is_ok(),
        None => asked_before,
    };
    let error = Signal::derive(move || value.get().and_then(Result::err));
    let refunds = offer.refunds.clone();
    let terms = view! { <Terms offer=offer.clone() starts=order.starts.clone() now=order.now/> };
    let choice = match offer.refused {
        Some(why) => view! { <NotNow why/> }.into_any(),
        None => view! { <Choose offer quote ask/> }.into_any(),
    };
    view! {
        <section class="order refund" data-testid="refund-page">
            <p><a href=back data-testid="to-order">{td_string!(lang, refunds.to_order)}</a></p>
            <Head order/>
            <h2>{td_string!(lang, refunds.give_back)}</h2>
            {move || asked().then(|| view! {
                <div data-testid="asked"><Remark icon=Icon::Check><p>{td_string!(lang, refunds.asked)}</p></Remark></div>
            })}
            <NotDone error/>
            {choice}
            {terms}
            <History refunds/>
        </section>
    }
    .into_any()
}

/// Why it was refused; that something changed is said in the words of this page.
#[component]
fn NotDone(error: Signal<Option<AppError>>) -> impl IntoView {
    view! { <RefusedAs error text=refusal_text/> }.into_any()
}

fn refusal_text(lang: Locale, error: &AppError) -> &'static str {
    if error.code() == Code::WrongState { td_string!(lang, refunds.changed) } else { error.text(lang) }
}

/// The policy in words, where there is one.
#[component]
fn Terms(offer: RefundOffer, starts: domain::ZonedTime, now: domain::Millis) -> impl IntoView {
    let lang = lang();
    let RefundOffer { until, tiers, returns_service_fee, refused, .. } = offer;
    let Some(until) = until else { return ().into_any() };
    // Where nothing can be given back at all, what would come back is no news.
    if matches!(refused, Some(Refused::NothingLeft | Refused::Cancelled)) {
        return ().into_any();
    }
    view! {
        <section class="refund-part" aria-labelledby="refund-policy">
            <h3 id="refund-policy">{td_string!(lang, refunds.policy_title)}</h3>
            <Policy tiers ends=until.at starts service_fee=returns_service_fee now=now/>
        </section>
    }
    .into_any()
}

/// Why nothing can be given back, and what that means.
#[component]
fn NotNow(why: Refused) -> impl IntoView {
    let lang = lang();
    let (word, icon, text) = match why {
        Refused::Never => ("never", Icon::Ticket, td_string!(lang, refunds.refused_never)),
        Refused::TooLate => ("too_late", Icon::Clock, td_string!(lang, refunds.refused_too_late)),
        Refused::NothingLeft => ("nothing_left", Icon::Check, td_string!(lang, refunds.refused_nothing_left)),
        Refused::Disputed => ("disputed", Icon::Attention, td_string!(lang, refunds.refused_disputed)),
        Refused::Cancelled => ("cancelled", Icon::Attention, td_string!(lang, refunds.refused_cancelled)),
        Refused::AllKept => ("all_kept", Icon::Clock, td_string!(lang, refunds.refused_all_kept)),
    };
    view! { <div data-testid="refused" data-why=word><Remark icon><p>{text}</p></Remark></div> }.into_any()
}

/// Refunds so far, each with its way.
#[component]
fn History(refunds: Vec<RefundView>) -> impl IntoView {
    let lang = lang();
    if refunds.is_empty() {
        return ().into_any();
    }
    let lines = refunds.into_iter().map(|refund| view! { <li><Line refund/></li> }).collect_view();
    view! {
        <section class="refund-part" aria-labelledby="refund-history">
            <h3 id="refund-history">{td_string!(lang, refunds.history)}</h3>
            <ul class="refund-history">{lines}</ul>
        </section>
    }
    .into_any()
}

#[component]
fn Line(refund: RefundView) -> impl IntoView {
    let lang = lang();
    let RefundView { id, status, cause, amount, seats, asked, note, .. } = refund;
    view! {
        <article class="refund-line" data-testid="refund" data-refund=id.to_string() data-status=status.as_str()>
            <p class="refund-line-head">
                <b>{format::money(lang, amount)}</b>
                <span>{status_text(lang, status)}</span>
            </p>
            <p class="facts">
                <time datetime=format::machine_time(&asked)>{format::moment(lang, &asked)}</time>
                <span>{cause_text(lang, cause)}</span>
            </p>
            {(!seats.is_empty()).then(|| view! { <p>{seats.join(" · ")}</p> })}
            <Steps status/>
            <p class="quiet">{next_text(lang, status)}</p>
            {(!note.is_empty()).then(|| view! { <p class="refund-note">{td_string!(lang, refunds.note)} ": " {note}</p> })}
        </article>
    }
    .into_any()
}
