//! What the pages of settings say: refusals, secrets that are shown once, and words for events and states.

use crate::components::icon::{Icon, Sign};
use crate::components::notice::RefusedAs;
use crate::error::AppError;
use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use domain::Code;
use domain::organizer::settings::{EndpointSecret, EndpointView};
use leptos::prelude::*;

/// Why a change was refused, more closely than its code says.
fn refusal_text(lang: Locale, error: &AppError) -> &'static str {
    let about = error.0.message.split_once(':').map(|(field, _)| field);
    match (error.code(), about) {
        (Code::InvalidInput, Some("url")) => td_string!(lang, settings.bad_url),
        (Code::InvalidInput, Some("events")) => td_string!(lang, settings.bad_kinds),
        (Code::InvalidInput, Some("provider")) => td_string!(lang, settings.bad_provider),
        (Code::LimitExceeded, _) => td_string!(lang, settings.endpoints_full),
        (Code::WrongState, _) => td_string!(lang, settings.endpoint_moved),
        (Code::NotFound, _) => td_string!(lang, settings.gone),
        _ => error.text(lang),
    }
}

/// What is wrong with what was typed.
fn what_is_wrong(error: &AppError) -> Option<String> {
    if error.code() != Code::InvalidInput {
        return None;
    }
    error.0.message.split_once(": ").map(|(_, what)| what.to_owned())
}

/// A refusal, announced when it appears; of what was typed it says what is wrong with it.
#[component]
pub(super) fn Said(
    /// The refusal, while there is one.
    #[prop(into)]
    error: Signal<Option<AppError>>,
) -> impl IntoView {
    view! { <RefusedAs error text=refusal_text detail=what_is_wrong/> }.into_any()
}

/// A secret that was made just now.
#[component]
pub(super) fn Once(
    /// The secret, while this page knows it.
    #[prop(into)]
    secret: Signal<Option<EndpointSecret>>,
) -> impl IntoView {
    let lang = lang();
    view! {
        <div class="notice-place" role="status">
            {move || secret.get().map(|made| view! {
                <div class="notice notice-care settings-secret" data-testid="secret-shown">
                    <Sign icon=Icon::Attention/>
                    <div>
                        <p><b>{td_string!(lang, settings.secret_title)}</b></p>
                        <code data-testid="secret">{made.secret}</code>
                        <p>{td_string!(lang, settings.secret_text)}</p>
                    </div>
                </div>
            })}
        </div>
    }
    .into_any()
}

/// An event in words; one that is not known here is told as it is.
pub(super) fn kind_text(lang: Locale, kind: &str) -> String {
    match kind {
        "order.paid" => td_string!(lang, settings.kind_order_paid),
        "order.closed" => td_string!(lang, settings.kind_order_closed),
        "order.refunded" => td_string!(lang, settings.kind_order_refunded),
        "ticket.issued" => td_string!(lang, settings.kind_ticket_issued),
        "refund.succeeded" => td_string!(lang, settings.kind_refund_succeeded),
        other => other,
    }
    .to_owned()
}

/// How an endpoint is doing: a dot and a word.
#[component]
pub(super) fn Doing(endpoint: EndpointView) -> impl IntoView {
    let lang = lang();
    let (state, text) = match (endpoint.enabled, &endpoint.failing_since) {
        (false, _) => ("off", td_string!(lang, settings.state_off).to_owned()),
        (true, Some(since)) => ("fails", td_string!(lang, settings.state_fails, since = format::moment(lang, since))),
        (true, None) => ("works", td_string!(lang, settings.state_works).to_owned()),
    };
    view! { <span class="settings-state" data-state=state data-testid="endpoint-state">{text}</span> }.into_any()
}

/// When the last delivery ended, and how.
pub(super) fn last_text(lang: Locale, endpoint: &EndpointView) -> String {
    match &endpoint.last {
        Some(last) if last.delivered => {
            td_string!(lang, settings.last_delivered, at = format::moment(lang, &last.at))
        }
        Some(last) => td_string!(lang, settings.last_given_up, at = format::moment(lang, &last.at)),
        None => td_string!(lang, settings.last_none).to_owned(),
    }
}
