//! The page behind the link of an offer. The link shows buttons: mail scanners follow links, and must not
//! answer in somebody's place.

use super::actions::NotDone;
use super::tickets_api::{self, TransferAccept, TransferDecline};
use crate::components::raw_text::Title;
use crate::components::{
    icon::{Icon, Sign},
    missing::LinkFailure,
    notice::Remark,
};
use crate::error::AppError;
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use crate::latest::Latest;
use crate::session::use_visitor;
use domain::Code;
use domain::ticket::change::TransferOffer;
use leptos::prelude::*;
use leptos_router::{
    NavigateOptions,
    hooks::{use_navigate, use_params_map},
};

/// Accepts or declines a ticket.
#[component]
pub fn TransferPage() -> impl IntoView {
    let (lang, visitor) = (lang(), use_visitor());
    let token = use_params_map().read_untracked().get("token").unwrap_or_default();
    let sent = token.clone();
    let offer = Resource::new(move || visitor.changes(), move |_| tickets_api::transfer(sent.clone()));
    let latest = Latest::of_page();
    let (accept, decline) = (latest.action::<TransferAccept>(), latest.action::<TransferDecline>());
    let navigate = use_navigate();
    Effect::new(move |_| {
        if let Some(Ok(ticket)) = accept.value().get() {
            navigate(&format!("/tickets?ticket={ticket}"), NavigateOptions::default());
        } else if matches!(decline.value().get(), Some(Ok(()))) {
            navigate("/tickets?declined=1", NavigateOptions::default());
        }
    });
    view! {
        <Title text=td_string!(lang, tickets.offer_title)/>
        <section class="column account">
            <h1>{td_string!(lang, tickets.offer_title)}</h1>
            <Suspense>
                {move || {
                    let token = token.clone();
                    Suspend::new(async move {
                        match offer.await {
                            Ok(offer) => view! { <Answer offer token latest accept decline/> }.into_any(),
                            Err(error) => view! { <NotYet error token/> }.into_any(),
                        }
                    })
                }}
            </Suspense>
        </section>
    }
    .into_any()
}

#[component]
fn Answer(
    offer: TransferOffer,
    token: String,
    latest: Latest,
    accept: ServerAction<TransferAccept>,
    decline: ServerAction<TransferDecline>,
) -> impl IntoView {
    let lang = lang();
    let for_decline = token.clone();
    let (starts, until) = (format::moment(lang, &offer.starts), format::moment(lang, &offer.until));
    view! {
        <p>{td_string!(lang, tickets.offer_from, from = offer.from)}</p>
        <div class="transfer-what" data-testid="offer">
            <h2>{offer.artist}</h2>
            <p>{offer.event}</p>
            <p class="facts">
                <time datetime=format::machine_time(&offer.starts)>{starts}</time>
                <span>{offer.venue}</span>
            </p>
            <p class="transfer-seat">
                <b>{td_string!(lang, orders.seat_line, section = offer.section, row = offer.row, seat = offer.seat)}</b>
            </p>
        </div>
        {offer.frozen.then(|| view! {
            <Remark icon=Icon::Attention><p>{td_string!(lang, tickets.frozen_text)}</p></Remark>
        })}
        <p class="quiet">{td_string!(lang, tickets.offer_text, until = until)}</p>
        <NotDone error=Signal::derive(move || latest.refusal(accept))/>
        <NotDone error=Signal::derive(move || latest.refusal(decline))/>
        <ActionForm action=accept attr:class="form">
            <input type="hidden" name="token" value=token/>
            <button class="button button-accent button-wide" type="submit" data-testid="accept" disabled=move || accept.pending().get()>
                {td_string!(lang, tickets.accept)}
                <Sign icon=Icon::Ticket/>
            </button>
        </ActionForm>
        <ActionForm action=decline attr:class="form">
            <input type="hidden" name="token" value=for_decline/>
            <button class="button button-wide" type="submit" data-testid="decline" disabled=move || decline.pending().get()>
                {td_string!(lang, tickets.decline)}
            </button>
        </ActionForm>
    }
    .into_any()
}

/// Why the offer can't be answered by who looks at it, and what to do.
#[component]
fn NotYet(error: AppError, token: String) -> impl IntoView {
    let lang = lang();
    let text = match error.code() {
        Code::SignInRequired => td_string!(lang, tickets.offer_sign_in),
        Code::Forbidden => td_string!(lang, tickets.offer_other_address),
        Code::LinkInvalid => td_string!(lang, tickets.offer_over),
        _ => error.text(lang),
    };
    let back = format!("/transfers/{token}");
    view! { <LinkFailure error text back/> }.into_any()
}
