//! Settings that are the owners' own: the payment provider, and the systems that are told of events.

mod api;
mod deliveries;
mod endpoint;
mod said;
mod webhooks;

pub use endpoint::WebhookPage;

use self::said::Said;
use self::webhooks::Webhooks;
use super::frame::{Frame, Sub, Subnav, Tab};
use crate::components::icon::{Icon, Sign};
use crate::components::missing::Failure;
use crate::components::raw_text::Title;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use crate::latest::Latest;
use api::{ProviderChoose, WebhookAdd};
use domain::organizer::settings::{ProviderChoice, SettingsView};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

/// What can be done on the page.
#[derive(Clone, Copy)]
struct Acts {
    latest: Latest,
    choose: ServerAction<ProviderChoose>,
    add: ServerAction<WebhookAdd>,
}

impl Acts {
    fn new() -> Self {
        let latest = Latest::of_page();
        Self { latest, choose: latest.action(), add: latest.action() }
    }
}

/// Provider and webhooks.
#[component]
pub fn SettingsPage() -> impl IntoView {
    let lang = lang();
    let acts = Acts::new();
    let settings = Resource::new(|| (), |()| api::organizer_settings());
    let (chosen, added) = (acts.choose.value(), acts.add.value());
    // A refusal leaves what is typed where it is.
    Effect::new(move |_| {
        if matches!(chosen.get(), Some(Ok(()))) {
            settings.refetch();
        }
    });
    Effect::new(move |_| {
        if matches!(added.get(), Some(Ok(_))) {
            settings.refetch();
        }
    });
    view! {
        <Title text=td_string!(lang, settings.title)/>
        <Frame tab=Tab::Settings>
            <header class="org-head">
                <h1>{td_string!(lang, settings.title)}</h1>
                <p class="quiet">{td_string!(lang, settings.intro)}</p>
            </header>
            <Subnav current=Sub::General/>
            <Transition>
                {move || Suspend::new(async move {
                    match settings.await {
                        Ok(view) => view! { <Parts view acts/> }.into_any(),
                        Err(error) => view! { <Failure error back="/organizer/settings"/> }.into_any(),
                    }
                })}
            </Transition>
        </Frame>
    }
    .into_any()
}

#[component]
fn Parts(view: SettingsView, acts: Acts) -> impl IntoView {
    let SettingsView { provider, webhooks, secret } = view;
    view! {
        <Provider choice=provider acts/>
        <Webhooks list=webhooks handed=secret acts/>
    }
    .into_any()
}

/// Who takes the payments.
#[component]
fn Provider(choice: ProviderChoice, acts: Acts) -> impl IntoView {
    let lang = lang();
    let action = acts.choose;
    let value = action.value();
    // A form without JavaScript brings it back in the address.
    let before = use_query_map().read_untracked().get_str("chosen").is_some();
    let saved = move || match value.get() {
        Some(answer) => answer.is_ok(),
        None => before,
    };
    let missing = (!choice.is_configured()).then(|| {
        let text = td_string!(lang, settings.provider_missing, name = provider_name(lang, &choice.current));
        view! {
            <p class="notice notice-bad" data-testid="provider-missing">
                <Sign icon=Icon::Attention/>
                <span>{text}</span>
            </p>
        }
    });
    let none = choice.all.is_empty().then(|| {
        view! { <p class="settings-none" data-testid="no-providers">{td_string!(lang, settings.providers_none)}</p> }
    });
    let rows = choice
        .all
        .iter()
        .map(|name| {
            let (name, current) = (name.clone(), *name == choice.current);
            view! { <li><ProviderRow name current action/></li> }
        })
        .collect_view();
    view! {
        <section class="org-part" aria-labelledby="provider-title">
            <h2 id="provider-title">{td_string!(lang, settings.provider)}</h2>
            <p class="quiet">{td_string!(lang, settings.provider_text)}</p>
            <Said error=Signal::derive(move || acts.latest.refusal(action))/>
            <div class="notice-place" role="status">
                {move || saved().then(|| view! {
                    <p class="notice" data-testid="chosen">
                        <Sign icon=Icon::Check/>
                        <span>{td_string!(lang, settings.provider_chosen)}</span>
                    </p>
                })}
            </div>
            {missing}
            {none}
            <ul class="org-rows">{rows}</ul>
        </section>
    }
    .into_any()
}

#[component]
fn ProviderRow(name: String, current: bool, action: ServerAction<ProviderChoose>) -> impl IntoView {
    let lang = lang();
    let title = provider_name(lang, &name);
    let text = provider_text(lang, &name);
    let word = name.clone();
    let way = if current {
        view! { <span class="settings-state" data-state="works">{td_string!(lang, settings.provider_in_use)}</span> }
            .into_any()
    } else {
        let sure = td_string!(lang, settings.provider_sure, name = title.clone());
        view! {
            <details class="org-more settings-step" data-testid="choose">
                <summary>{td_string!(lang, settings.provider_use)}</summary>
                <ActionForm action>
                    <input type="hidden" name="name" value=name/>
                    <p>{sure}</p>
                    <button class="button" type="submit" data-testid="choose-now" disabled=move || action.pending().get()>
                        {td_string!(lang, settings.provider_use_now)}
                    </button>
                </ActionForm>
            </details>
        }
        .into_any()
    };
    view! {
        <div class="org-row settings-row" data-testid="provider" data-name=word data-current=current.to_string()>
            <p class="org-row-who">
                <b>{title}</b>
                <span class="quiet">{text}</span>
            </p>
            {way}
        </div>
    }
    .into_any()
}

/// The name of a provider for people; one that is not known here is called as it is.
fn provider_name(lang: Locale, name: &str) -> String {
    match name {
        "sandbox" => td_string!(lang, settings.provider_sandbox).to_owned(),
        "stripe" => td_string!(lang, settings.provider_stripe).to_owned(),
        other => other.to_owned(),
    }
}

/// What a provider is for.
fn provider_text(lang: Locale, name: &str) -> Option<&'static str> {
    match name {
        "sandbox" => Some(td_string!(lang, settings.provider_sandbox_text)),
        "stripe" => Some(td_string!(lang, settings.provider_stripe_text)),
        _ => None,
    }
}
