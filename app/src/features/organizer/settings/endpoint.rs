//! One endpoint: how it is doing, what can be done with it, and what was sent to it.

use super::api::{self, WebhookEnable, WebhookRedeliver, WebhookRemove, WebhookRotate};
use super::deliveries::Deliveries;
use super::said::{Doing, Once, Said, kind_text, last_text};
use crate::components::icon::{Icon, Sign};
use crate::components::missing::Failure;
use crate::components::raw_text::Title;
use crate::error::AppError;
use crate::features::organizer::frame::{Frame, Sub, Subnav, Tab};
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use crate::latest::Latest;
use domain::organizer::settings::{EndpointPage, EndpointView};
use domain::{Code, EndpointId};
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_navigate, use_params_map, use_query_map};

/// What can be done on the page. One of each: a refusal that the address brings back is told once, on top.
#[derive(Clone, Copy)]
pub(super) struct Acts {
    latest: Latest,
    enable: ServerAction<WebhookEnable>,
    rotate: ServerAction<WebhookRotate>,
    remove: ServerAction<WebhookRemove>,
    /// Sends again what has ended.
    pub(super) redeliver: ServerAction<WebhookRedeliver>,
}

impl Acts {
    fn new() -> Self {
        let latest = Latest::of_page();
        Self {
            latest,
            enable: latest.action(),
            rotate: latest.action(),
            remove: latest.action(),
            redeliver: latest.action(),
        }
    }

    /// Why the last one was refused.
    fn error(self) -> Option<AppError> {
        let Self { latest, enable, rotate, remove, redeliver } = self;
        latest
            .refusal(enable)
            .or_else(|| latest.refusal(remove))
            .or_else(|| latest.refusal(rotate))
            .or_else(|| latest.refusal(redeliver))
    }
}

/// The endpoint, and whether one delivery was asked for.
async fn load((id, delivery): (String, Option<i64>)) -> Result<(EndpointPage, bool), AppError> {
    match id.parse::<EndpointId>() {
        Ok(id) => Ok((api::organizer_webhook(id, delivery).await?, delivery.is_some())),
        Err(_) => Err(AppError::new(Code::NotFound, "there is no such endpoint")),
    }
}

/// One endpoint.
#[component]
pub fn WebhookPage() -> impl IntoView {
    let lang = lang();
    let acts = Acts::new();
    let (params, query) = (use_params_map(), use_query_map());
    let id = move || params.read().get("id").unwrap_or_default();
    let delivery = move || query.read().get_str("delivery").and_then(|number| number.parse::<i64>().ok());
    let page = Resource::new(move || (id(), delivery()), load);
    let (enabled, rotated, sent) = (acts.enable.value(), acts.rotate.value(), acts.redeliver.value());
    Effect::new(move |_| {
        // All three are read, so that all three are followed.
        let done = matches!(enabled.get(), Some(Ok(())))
            | matches!(rotated.get(), Some(Ok(_)))
            | matches!(sent.get(), Some(Ok(_)));
        if done {
            page.refetch();
        }
    });
    let (removed, navigate) = (acts.remove.value(), use_navigate());
    Effect::new(move |_| {
        if matches!(removed.get(), Some(Ok(()))) {
            navigate("/organizer/settings?removed=1", NavigateOptions::default());
        }
    });
    view! {
        <Title text=td_string!(lang, settings.endpoint)/>
        <Frame tab=Tab::Settings>
            <Transition>
                {move || Suspend::new(async move {
                    match page.await {
                        Ok((page, asked)) => view! { <Endpoint page acts asked/> }.into_any(),
                        Err(error) => {
                            let back = format!("/organizer/settings/webhooks/{}", id());
                            view! { <Failure error back/> }.into_any()
                        }
                    }
                })}
            </Transition>
        </Frame>
    }
    .into_any()
}

#[component]
fn Endpoint(
    page: EndpointPage,
    acts: Acts,
    /// Whether one delivery was asked for.
    asked: bool,
) -> impl IntoView {
    let lang = lang();
    let EndpointPage { endpoint, deliveries, opened, secret: handed } = page;
    let rotated = acts.rotate.value();
    let secret = Signal::derive(move || match rotated.get() {
        Some(answer) => answer.ok(),
        None => handed.clone(),
    });
    let (id, enabled, url) = (endpoint.id, endpoint.enabled, endpoint.url.clone());
    view! {
        <header class="org-head">
            <h1>{td_string!(lang, settings.endpoint)}</h1>
            <p class="settings-url" data-testid="endpoint-url">{url}</p>
        </header>
        <Subnav current=Sub::General/>
        <section class="org-part" aria-labelledby="state-title">
            <h2 id="state-title">{td_string!(lang, settings.state)}</h2>
            <Once secret/>
            <Said error=Signal::derive(move || acts.error())/>
            <Facts endpoint/>
            <div class="settings-steps">
                {(!enabled).then(|| view! { <Enable id acts/> })}
                <Rotate id acts/>
                <Remove id acts/>
            </div>
        </section>
        <section class="org-part" aria-labelledby="deliveries-title">
            <h2 id="deliveries-title">{td_string!(lang, settings.deliveries)}</h2>
            <p class="quiet">{td_string!(lang, settings.deliveries_text)}</p>
            <Sent acts/>
            <Deliveries id enabled rows=deliveries opened asked acts/>
        </section>
    }
    .into_any()
}

#[component]
fn Facts(endpoint: EndpointView) -> impl IntoView {
    let lang = lang();
    let kinds: Vec<String> = endpoint.kinds.iter().map(|kind| kind_text(lang, kind)).collect();
    let comma = if lang == crate::i18n::Locale::en { ", " } else { "、" };
    let (kinds, last) = (kinds.join(comma), last_text(lang, &endpoint));
    let created = endpoint.created.clone();
    let reason = endpoint.reason.clone().filter(|_| !endpoint.enabled).map(|reason| {
        view! { <div><dt>{td_string!(lang, settings.reason)}</dt><dd lang="en" data-testid="reason">{reason}</dd></div> }
    });
    let waiting = format::number(endpoint.waiting);
    view! {
        <p><Doing endpoint/></p>
        <dl class="pairs">
            {reason}
            <div><dt>{td_string!(lang, settings.kinds)}</dt><dd>{kinds}</dd></div>
            <div><dt>{td_string!(lang, settings.last)}</dt><dd>{last}</dd></div>
            <div><dt>{td_string!(lang, settings.waiting_name)}</dt><dd data-testid="waiting">{waiting}</dd></div>
            <div>
                <dt>{td_string!(lang, settings.created)}</dt>
                <dd><time datetime=format::machine_time(&created)>{format::moment(lang, &created)}</time></dd>
            </div>
        </dl>
    }
    .into_any()
}

#[component]
fn Enable(id: EndpointId, acts: Acts) -> impl IntoView {
    let lang = lang();
    view! {
        <details class="org-more settings-step" data-testid="enable">
            <summary>{td_string!(lang, settings.enable)}</summary>
            <ActionForm action=acts.enable>
                <input type="hidden" name="id" value=id.to_string()/>
                <p>{td_string!(lang, settings.enable_text)}</p>
                <button class="button" type="submit" data-testid="enable-now">{td_string!(lang, settings.enable_now)}</button>
            </ActionForm>
        </details>
    }
    .into_any()
}

#[component]
fn Rotate(id: EndpointId, acts: Acts) -> impl IntoView {
    let lang = lang();
    view! {
        <details class="org-more settings-step" data-testid="rotate">
            <summary>{td_string!(lang, settings.rotate)}</summary>
            <ActionForm action=acts.rotate>
                <input type="hidden" name="id" value=id.to_string()/>
                <p>{td_string!(lang, settings.rotate_text)}</p>
                <button class="button" type="submit" data-testid="rotate-now">{td_string!(lang, settings.rotate_now)}</button>
            </ActionForm>
        </details>
    }
    .into_any()
}

#[component]
fn Remove(id: EndpointId, acts: Acts) -> impl IntoView {
    let lang = lang();
    view! {
        <details class="org-more settings-step" data-testid="remove">
            <summary>{td_string!(lang, settings.remove)}</summary>
            <ActionForm action=acts.remove>
                <input type="hidden" name="id" value=id.to_string()/>
                <p>{td_string!(lang, settings.remove_text)}</p>
                <button class="button" type="submit" data-testid="remove-now">{td_string!(lang, settings.remove_now)}</button>
            </ActionForm>
        </details>
    }
    .into_any()
}

/// How many were just put on their way again.
#[component]
fn Sent(acts: Acts) -> impl IntoView {
    let lang = lang();
    let value = acts.redeliver.value();
    // A form without JavaScript brings it back in the address.
    let before = use_query_map().read_untracked().get_str("sent").and_then(|count| count.parse::<u64>().ok());
    let sent = move || match value.get() {
        Some(answer) => answer.ok(),
        None => before,
    };
    view! {
        <div class="notice-place" role="status">
            {move || sent().map(|count| view! {
                <p class="notice" data-testid="sent">
                    <Sign icon=Icon::Check/>
                    <span>{td_string!(lang, settings.sent, count = format::number(count))}</span>
                </p>
            })}
        </div>
    }
    .into_any()
}
