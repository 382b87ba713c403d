//! The endpoints of the organization, and the form for another one.

use super::Acts;
use super::api::{WebhookAdd, page_of};
use super::said::{Doing, Once, Said, kind_text, last_text};
use crate::components::icon::{Icon, Sign};
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::organizer::settings::{EndpointSecret, EndpointView, URL_MAX_BYTES, WebhookList};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

/// Who is told of events.
#[component]
pub(super) fn Webhooks(
    list: WebhookList,
    /// The secret of an endpoint that a form without JavaScript added.
    handed: Option<EndpointSecret>,
    acts: Acts,
) -> impl IntoView {
    let lang = lang();
    let action = acts.add;
    let value = action.value();
    let secret = Signal::derive(move || match value.get() {
        Some(answer) => answer.ok(),
        None => handed.clone(),
    });
    let WebhookList { endpoints, kinds } = list;
    let none = endpoints.is_empty();
    let open = none || value.get_untracked().is_some_and(|answer| answer.is_err());
    // What the address says is about what was done before this page was here.
    let fresh = value.get_untracked().is_none();
    let removed = (fresh && use_query_map().read_untracked().get_str("removed").is_some()).then(|| {
        view! {
            <p class="notice" data-testid="removed">
                <Sign icon=Icon::Check/>
                <span>{td_string!(lang, settings.removed)}</span>
            </p>
        }
    });
    view! {
        <section class="org-part" aria-labelledby="webhooks-title" data-testid="webhooks">
            <h2 id="webhooks-title">{td_string!(lang, settings.webhooks)}</h2>
            <p class="quiet">{td_string!(lang, settings.webhooks_text)}</p>
            <Once secret/>
            <Said error=Signal::derive(move || acts.latest.refusal(action))/>
            <div class="notice-place" role="status">{removed}</div>
            {none.then(|| view! {
                <p class="settings-none" data-testid="no-endpoints">{td_string!(lang, settings.endpoints_none)}</p>
            })}
            <ul class="settings-list">
                {endpoints.into_iter().map(|endpoint| view! { <li><Row endpoint/></li> }).collect_view()}
            </ul>
            <details class="org-more" data-testid="add" open=open>
                <summary>{td_string!(lang, settings.add)}</summary>
                <Add kinds action/>
            </details>
        </section>
    }
    .into_any()
}

#[component]
fn Row(endpoint: EndpointView) -> impl IntoView {
    let lang = lang();
    let kinds: Vec<String> = endpoint.kinds.iter().map(|kind| kind_text(lang, kind)).collect();
    let kinds = kinds.into_iter().map(|kind| view! { <span>{kind}</span> }).collect_view();
    let last = last_text(lang, &endpoint);
    let waiting = (endpoint.waiting > 0)
        .then(|| td_string!(lang, settings.waiting, count = format::number(endpoint.waiting)))
        .map(|text| view! { <span>{text}</span> });
    let (href, url, word) = (page_of(endpoint.id), endpoint.url.clone(), endpoint.url.clone());
    view! {
        <a class="settings-endpoint" href=href data-testid="endpoint" data-url=word>
            <b class="settings-url">{url}</b>
            <Doing endpoint/>
            <span class="facts">{kinds}</span>
            <span class="facts"><span>{last}</span>{waiting}</span>
        </a>
    }
    .into_any()
}

/// The form for another endpoint: it is told of everything that is not taken out.
#[component]
fn Add(kinds: Vec<String>, action: ServerAction<WebhookAdd>) -> impl IntoView {
    let lang = lang();
    let boxes = kinds
        .into_iter()
        .map(|kind| {
            let (text, word) = (kind_text(lang, &kind), kind.clone());
            view! {
                <label class="settings-check">
                    <input type="checkbox" name="kinds[]" value=kind checked=true data-testid="kind"/>
                    <span>{text} " " <code>{word}</code></span>
                </label>
            }
        })
        .collect_view();
    view! {
        <ActionForm action attr:class="form settings-form" attr:data-testid="add-form">
            <label class="field">
                <span>{td_string!(lang, settings.url)}</span>
                <input
                    type="url"
                    name="url"
                    required
                    maxlength=URL_MAX_BYTES.to_string()
                    autocomplete="off"
                    spellcheck="false"
                    placeholder="https://hooks.example.org/stararena"
                    data-testid="url"
                />
                <small>{td_string!(lang, settings.url_hint)}</small>
            </label>
            <fieldset class="settings-kinds">
                <legend>{td_string!(lang, settings.kinds)}</legend>
                {boxes}
            </fieldset>
            <button class="button button-accent" type="submit" data-testid="add-now" disabled=move || action.pending().get()>
                {td_string!(lang, settings.add_now)}
            </button>
        </ActionForm>
    }
    .into_any()
}
