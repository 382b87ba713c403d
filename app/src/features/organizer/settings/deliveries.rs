//! What was sent to an endpoint, newest first; one of them opened, with its body and every try.

use super::api::page_of;
use super::endpoint::Acts;
use super::said::kind_text;
use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use domain::EndpointId;
use domain::organizer::settings::{DeliveryState, DeliveryView, OpenedDelivery, TryView, indented};
use leptos::prelude::*;

/// The list, and the form that sends everything again that was given up.
#[component]
pub(super) fn Deliveries(
    id: EndpointId,
    /// Whether the endpoint is told: nothing is sent to one that isn't.
    enabled: bool,
    rows: Vec<DeliveryView>,
    opened: Option<OpenedDelivery>,
    /// Whether one delivery was asked for.
    asked: bool,
    acts: Acts,
) -> impl IntoView {
    let lang = lang();
    let none = rows.is_empty();
    let over = asked && opened.is_none();
    let given_up = rows.iter().any(|row| row.state == DeliveryState::GivenUp);
    let mut opened = opened;
    let list = rows
        .into_iter()
        .map(|row| {
            let shown = opened.take_if(|opened| opened.id == row.id);
            view! { <li><Row id enabled row opened=shown acts/></li> }
        })
        .collect_view();
    view! {
        {over.then(|| view! { <p class="settings-none" data-testid="over">{td_string!(lang, settings.delivery_over)}</p> })}
        {none.then(|| view! { <p class="settings-none" data-testid="no-deliveries">{td_string!(lang, settings.deliveries_none)}</p> })}
        {(given_up && enabled).then(|| view! {
            <ActionForm action=acts.redeliver>
                <input type="hidden" name="id" value=id.to_string()/>
                <button class="button" type="submit" data-testid="redeliver-all">{td_string!(lang, settings.redeliver_all)}</button>
            </ActionForm>
        })}
        <ul class="settings-list">{list}</ul>
    }
    .into_any()
}

/// The words for how far a delivery has come, and the sign of it.
fn state_text(lang: Locale, state: DeliveryState) -> (&'static str, &'static str) {
    match state {
        DeliveryState::Waiting => ("fails", td_string!(lang, settings.delivery_waiting)),
        DeliveryState::Delivered => ("works", td_string!(lang, settings.delivery_delivered)),
        DeliveryState::GivenUp => ("off", td_string!(lang, settings.delivery_given_up)),
    }
}

#[component]
fn Row(id: EndpointId, enabled: bool, row: DeliveryView, opened: Option<OpenedDelivery>, acts: Acts) -> impl IntoView {
    let lang = lang();
    let (sign, state) = state_text(lang, row.state);
    let href = format!("{}?delivery={}", page_of(id), row.id);
    let tries = td_string!(lang, settings.tries, count = format::number(row.tries));
    let next = row
        .next_try
        .as_ref()
        .map(|at| td_string!(lang, settings.next_try, at = format::exact(lang, at)))
        .map(|text| view! { <span>{text}</span> });
    let error = row.error.clone().map(|error| view! { <small class="settings-why" lang="en">{error}</small> });
    let current = opened.is_some().then_some("true");
    let again = enabled && row.state != DeliveryState::Waiting;
    let opened = opened.map(|opened| view! { <Opened id opened message=row.message.clone() again acts/> });
    view! {
        <article class="settings-delivery" data-testid="delivery" data-id=row.id.to_string() data-state=row.state.as_str()>
            <p class="settings-delivery-what">
                <a href=href aria-current=current data-testid="open">{kind_text(lang, &row.kind)}</a>
                <span class="settings-state" data-state=sign>{state}</span>
            </p>
            <p class="facts">
                <time datetime=format::machine_time(&row.created)>{format::exact(lang, &row.created)}</time>
                <span>{tries}</span>
                {next}
            </p>
            {error}
            {opened}
        </article>
    }
    .into_any()
}

/// A delivery in full.
#[component]
fn Opened(
    id: EndpointId,
    opened: OpenedDelivery,
    message: String,
    /// Whether it can be sent again.
    again: bool,
    acts: Acts,
) -> impl IntoView {
    let lang = lang();
    let number = opened.id.to_string();
    let none = opened.tries.is_empty();
    let tries = opened.tries.into_iter().map(|one| view! { <li><Tried one/></li> }).collect_view();
    view! {
        <div class="settings-opened" data-testid="opened">
            <dl class="pairs"><div><dt>"webhook-id"</dt><dd><code>{message}</code></dd></div></dl>
            <h3>{td_string!(lang, settings.body)}</h3>
            <pre class="settings-body"><code data-testid="body">{indented(&opened.body)}</code></pre>
            <h3>{td_string!(lang, settings.tries_title)}</h3>
            {none.then(|| view! { <p class="quiet">{td_string!(lang, settings.tries_none)}</p> })}
            <ol class="settings-tries">{tries}</ol>
            {again.then(|| view! {
                <ActionForm action=acts.redeliver>
                    <input type="hidden" name="id" value=id.to_string()/>
                    <input type="hidden" name="delivery" value=number/>
                    <button class="button" type="submit" data-testid="redeliver">{td_string!(lang, settings.redeliver)}</button>
                </ActionForm>
            })}
        </div>
    }
    .into_any()
}

#[component]
fn Tried(one: TryView) -> impl IntoView {
    let lang = lang();
    let TryView { at, status, duration_ms, answer, error } = one;
    let status = match status {
        Some(status) => status.to_string(),
        None => td_string!(lang, settings.no_answer).to_owned(),
    };
    let took = td_string!(lang, settings.took, ms = format::number(duration_ms));
    view! {
        <div class="settings-try" data-testid="try">
            <p class="facts">
                <time datetime=format::machine_time(&at)>{format::exact(lang, &at)}</time>
                <b data-testid="try-status">{status}</b>
                <span>{took}</span>
            </p>
            {error.map(|error| view! { <small class="settings-why" lang="en">{error}</small> })}
            {(!answer.is_empty()).then(|| view! { <code class="settings-answer" data-testid="answer">{answer}</code> })}
        </div>
    }
    .into_any()
}
