//! A performance in the making: its form, what is missing, publishing.

mod fields;
mod terms;
mod words;

use self::fields::{Limits, WaitingRoom, WhereWhen};
pub(super) use self::terms::Terms;
pub(super) use self::words::mode_text;
use self::words::{detail_text, item_text};
use super::api;
use super::event::{Kept, Saved};
use super::published::PublishedPart;
use crate::components::raw_text::Title;
use crate::components::{
    icon::{Icon, Sign},
    missing::Failure,
    notice::Refused,
};
use crate::error::AppError;
use crate::features::organizer::frame::{Frame, Tab, may};
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::organizer::Action;
use domain::organizer::draft::{Check, Item, State};
use domain::organizer::sales::DraftView;
use domain::{Code, PerformanceId};
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_navigate, use_params_map};

/// One performance.
#[component]
pub fn DraftPage() -> impl IntoView {
    let params = use_params_map();
    let id = move || params.read().get("id").unwrap_or_default();
    let draft = Resource::new(id, |id| async move {
        match id.parse::<PerformanceId>() {
            Ok(id) => api::organizer_draft(id).await,
            Err(_) => Err(AppError::new(Code::NotFound, "there is no such performance")),
        }
    });
    let changed = Callback::new(move |()| draft.refetch());
    Kept::provide();
    view! {
        <Frame tab=Tab::Events>
            <Transition>
                {move || Suspend::new(async move {
                    match draft.await {
                        Ok(view) => view! { <Performance view changed/> }.into_any(),
                        Err(error) => {
                            let back = format!("/organizer/performances/{}", id());
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
fn Performance(view: DraftView, changed: Callback<()>) -> impl IntoView {
    let lang = lang();
    let title = format!("{} – {}", view.title, td_string!(lang, sales.performance));
    let event = (format!("/organizer/events/{}", view.event), view.title.clone());
    let body = match view.published.clone() {
        Some(published) => view! { <PublishedPart view published changed/> }.into_any(),
        None => view! { <Making view changed/> }.into_any(),
    };
    view! {
        <Title text=title/>
        <nav class="sales-back">
            <a href="/organizer">{td_string!(lang, sales.title)}</a>
            <a href=event.0>{event.1}</a>
        </nav>
        {body}
    }
    .into_any()
}

#[component]
fn Making(view: DraftView, changed: Callback<()>) -> impl IntoView {
    let lang = lang();
    let edit = may(Action::EditEvents);
    let prices = format!("/organizer/performances/{}/prices", view.id);
    view! {
        <header class="sales-head">
            <h1>{td_string!(lang, sales.performance)}</h1>
            <span class="sales-draft" data-testid="draft">{td_string!(lang, sales.draft)}</span>
        </header>
        <p class="quiet">{td_string!(lang, sales.draft_text)}</p>
        <div class="sales-columns">
            <div class="sales-part">
                <Settings view=view.clone() edit changed/>
                <section class="sales-part" aria-labelledby="zones">
                    <h2 id="zones">{td_string!(lang, sales.prices)}</h2>
                    <Zones view=view.clone()/>
                    <p><a class="button" href=prices data-testid="to-prices">{td_string!(lang, sales.to_prices)}</a></p>
                </section>
            </div>
            <aside class="sales-part sales-aside">
                <Checklist id=view.id checks=view.checks.clone()/>
                {view.currency.is_some().then(|| view! { <Terms schedule=view.fees open=true/> })}
                {edit.then(|| view! { <Publish id=view.id version=view.version checks=view.checks.clone() changed/> })}
                {edit.then(|| view! { <Delete id=view.id version=view.version/> })}
            </aside>
        </div>
    }
    .into_any()
}

/// Price zones with what is for sale in them.
#[component]
pub(super) fn Zones(view: DraftView) -> impl IntoView {
    let lang = lang();
    if view.zones.is_empty() {
        return view! { <p class="quiet">{td_string!(lang, sales.no_zones)}</p> }.into_any();
    }
    let rows = view
        .zones
        .into_iter()
        .map(|zone| {
            let price = zone
                .price
                .map_or_else(|| td_string!(lang, sales.no_price).to_owned(), |price| format::money(lang, price));
            view! {
                <tr data-testid="zone">
                    <th scope="row">{zone.name}</th>
                    <td>{format::number(zone.sellable)}</td>
                    <td>{price}</td>
                </tr>
            }
        })
        .collect_view();
    let blocked = (view.blocked > 0)
        .then(|| td_string!(lang, sales.blocked, count = format::number(view.blocked)).to_string())
        .map(|text| view! { <p class="quiet">{text}</p> });
    view! {
        <table class="sales-zones">
            <thead>
                <tr>
                    <th scope="col">{td_string!(lang, sales.zone)}</th>
                    <th scope="col">{td_string!(lang, sales.for_sale)}</th>
                    <th scope="col">{td_string!(lang, sales.price)}</th>
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
        {blocked}
    }
    .into_any()
}

/// Where, when, how fans come in, and the limits.
#[component]
fn Settings(view: DraftView, edit: bool, changed: Callback<()>) -> impl IntoView {
    let lang = lang();
    let action = ServerAction::<api::DraftSave>::new();
    let value = action.value();
    let kept = Kept::of_page();
    Effect::new(move |_| kept.follow(action.pending().get(), matches!(value.get(), Some(Ok(())))));
    Effect::new(move |_| {
        if matches!(value.get(), Some(Ok(()))) {
            changed.run(());
        }
    });
    let no_plans = view.plans.is_empty();
    let chosen = RwSignal::new(view.plan.as_ref().map(|plan| plan.id.to_string()).unwrap_or_default());
    let plans = StoredValue::new(view.plans.clone());
    let zone = Signal::derive(move || {
        let chosen = chosen.get();
        plans.with_value(|plans| plans.iter().find(|plan| plan.id.to_string() == chosen).map(|plan| plan.zone.clone()))
    });
    view! {
        <Refused error=Signal::derive(move || value.get().and_then(Result::err)) detail=true/>
        <Saved/>
        {no_plans.then(|| view! {
            <p class="notice notice-care">
                <Sign icon=Icon::Attention/>
                <span>{td_string!(lang, sales.no_plans)} " " <a href="/organizer/plans">{td_string!(lang, sales.to_plans)}</a></span>
            </p>
        })}
        <ActionForm action attr:class="form sales-form" attr:data-testid="draft-form">
            <input type="hidden" name="id" value=view.id.to_string()/>
            <input type="hidden" name="version" value=view.version.to_string()/>
            <fieldset class="sales-fields" disabled=!edit>
                <legend>{td_string!(lang, sales.where_when)}</legend>
                <WhereWhen view=view.clone() chosen zone/>
            </fieldset>
            <fieldset class="sales-fields" disabled=!edit>
                <legend>{td_string!(lang, sales.waiting_room)}</legend>
                <WaitingRoom view=view.clone() zone/>
            </fieldset>
            <fieldset class="sales-fields" disabled=!edit>
                <legend>{td_string!(lang, sales.limits)}</legend>
                <Limits view/>
            </fieldset>
            {edit.then(|| view! {
                <button class="button" type="submit" disabled=move || action.pending().get() data-testid="save-draft">
                    {td_string!(lang, sales.save)}
                </button>
            })}
        </ActionForm>
    }
    .into_any()
}

/// What is done, and what is missing, each with the way to where it is done.
#[component]
fn Checklist(id: PerformanceId, checks: Vec<Check>) -> impl IntoView {
    let lang = lang();
    let items = checks
        .into_iter()
        .map(|check| {
            let (state, icon, word) = match check.state {
                State::Ok => ("ok", Icon::Check, td_string!(lang, sales.state_ok)),
                State::Missing => ("missing", Icon::Attention, td_string!(lang, sales.state_missing)),
                State::Warning => ("warning", Icon::Clock, td_string!(lang, sales.state_warning)),
            };
            let href = match check.item {
                Item::Prices | Item::Zones => format!("/organizer/performances/{id}/prices"),
                item => format!("#field-{}", item.as_str()),
            };
            let detail = (check.state != State::Ok).then(|| detail_text(lang, &check.detail));
            view! {
                <li class="sales-item" data-testid="check" data-item=check.item.as_str() data-state=state>
                    <Sign icon/>
                    <div>
                        <a href=href>{item_text(lang, check.item)}</a>
                        <span class="visually-hidden">{word}</span>
                        {detail.map(|detail| view! { <p>{detail}</p> })}
                    </div>
                </li>
            }
        })
        .collect_view();
    view! {
        <section aria-labelledby="checklist">
            <h2 id="checklist">{td_string!(lang, sales.checklist)}</h2>
            <ul class="sales-checks">{items}</ul>
        </section>
    }
    .into_any()
}

/// The last step, in two: what becomes fixed is told before it is done.
#[component]
fn Publish(id: PerformanceId, version: i32, checks: Vec<Check>, changed: Callback<()>) -> impl IntoView {
    let lang = lang();
    let action = ServerAction::<api::DraftPublish>::new();
    let value = action.value();
    Effect::new(move |_| {
        if matches!(value.get(), Some(Ok(()))) {
            changed.run(());
        }
    });
    let lacking = checks.iter().filter(|check| check.state == State::Missing).count();
    let step = if lacking > 0 {
        view! { <p class="quiet" data-testid="not-ready">{td_string!(lang, sales.not_ready, count = lacking)}</p> }
            .into_any()
    } else {
        view! {
            <details class="sales-confirm">
                <summary class="button button-accent" data-testid="publish">{td_string!(lang, sales.publish)}</summary>
                <p>{td_string!(lang, sales.publish_text)}</p>
                <ActionForm action>
                    <input type="hidden" name="id" value=id.to_string()/>
                    <input type="hidden" name="version" value=version.to_string()/>
                    <button class="button" type="submit" disabled=move || action.pending().get() data-testid="publish-now">
                        {td_string!(lang, sales.publish_now)}
                    </button>
                </ActionForm>
            </details>
        }
        .into_any()
    };
    view! {
        <section class="sales-part" aria-labelledby="publishing">
            <h2 id="publishing">{td_string!(lang, sales.publishing)}</h2>
            <Refused error=Signal::derive(move || value.get().and_then(Result::err)) detail=true/>
            {step}
        </section>
    }
    .into_any()
}

#[component]
fn Delete(id: PerformanceId, version: i32) -> impl IntoView {
    let lang = lang();
    let action = ServerAction::<api::DraftDelete>::new();
    let value = action.value();
    let navigate = use_navigate();
    Effect::new(move |_| {
        if let Some(Ok(event)) = value.get() {
            navigate(&format!("/organizer/events/{event}"), NavigateOptions::default());
        }
    });
    view! {
        <Refused error=Signal::derive(move || value.get().and_then(Result::err)) detail=true/>
        <details class="sales-confirm">
            <summary class="link">{td_string!(lang, sales.delete)}</summary>
            <p>{td_string!(lang, sales.delete_text)}</p>
            <ActionForm action>
                <input type="hidden" name="id" value=id.to_string()/>
                <input type="hidden" name="version" value=version.to_string()/>
                <button class="button" type="submit" data-testid="delete-draft">{td_string!(lang, sales.delete_now)}</button>
            </ActionForm>
        </details>
    }
    .into_any()
}
