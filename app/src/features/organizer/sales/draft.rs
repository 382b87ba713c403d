//! A performance in the making: where and when, limits, what is missing, publishing.

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
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use domain::hold::SEATS_PER_HOLD_MAX;
use domain::organizer::Action;
use domain::organizer::draft::{Check, Detail, FLOW_MAX, Item, State};
use domain::organizer::sales::{DraftView, LocalText, hold_minutes};
use domain::{Code, Currency, PerformanceId};
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

/// Where, when, and the limits.
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
                <WhereWhen view=view.clone()/>
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

#[component]
fn WhereWhen(view: DraftView) -> impl IntoView {
    let lang = lang();
    let chosen = RwSignal::new(view.plan.as_ref().map(|plan| plan.id.to_string()).unwrap_or_default());
    let current = chosen.get_untracked();
    let plans = StoredValue::new(view.plans.clone());
    let zone = Signal::derive(move || {
        let chosen = chosen.get();
        plans.with_value(|plans| plans.iter().find(|plan| plan.id.to_string() == chosen).map(|plan| plan.zone.clone()))
    });
    let options = view
        .plans
        .into_iter()
        .map(|plan| {
            let id = plan.id.to_string();
            let name = format!("{}, {} · {}", plan.venue, plan.city, format::number(plan.seats));
            view! { <option value=id.clone() selected=id == current>{name}</option> }
        })
        .collect_view();
    let none = view.plan.is_none().then(|| view! { <option value="">{td_string!(lang, sales.choose_plan)}</option> });
    view! {
        <label class="field" id="field-plan">
            <span>{td_string!(lang, sales.plan)}</span>
            <select name="form[plan]" on:change=move |event| chosen.set(event_target_value(&event))>{none}{options}</select>
        </label>
        {view.loses_with_plan.then(|| view! {
            <label class="sales-check">
                <input type="checkbox" name="form[drop_zones]" value="yes"/>
                <span>{td_string!(lang, sales.drop_zones)}</span>
            </label>
        })}
        <LocalTime name="starts" label=td_string!(lang, sales.starts) value=view.starts zone/>
        <LocalTime name="opens" label=td_string!(lang, sales.opens) value=view.opens zone/>
        <LocalTime name="closes" label=td_string!(lang, sales.closes) value=view.closes zone/>
    }
    .into_any()
}

/// A local time of the venue, with the zone beside it, and an offset for the hour that comes twice.
#[component]
fn LocalTime(name: &'static str, label: &'static str, value: LocalText, zone: Signal<Option<String>>) -> impl IntoView {
    let lang = lang();
    // Seconds are asked for only where there are some.
    let step = if value.text.len() > "2027-03-28T20:00".len() { "1" } else { "60" };
    let shown = value.zoned.as_ref().map(|zoned| format::zoned_moment(lang, zoned));
    view! {
        <div class="field sales-time" id=format!("field-{name}")>
            <label class="field">
                <span>{label}</span>
                <input type="datetime-local" name=format!("form[{name}]") value=value.text step=step/>
            </label>
            <label class="field sales-offset">
                <span>{td_string!(lang, sales.offset)}</span>
                <input name=format!("form[{name}_offset]") value=value.offset placeholder="+02:00" maxlength="6" autocomplete="off"/>
            </label>
            <small data-testid=format!("zone-{name}")>
                {move || zone.get().map_or_else(
                    || td_string!(lang, sales.zone_unknown).to_owned(),
                    |zone| td_string!(lang, sales.zone_known, zone = zone).to_string(),
                )}
                {shown.map(|shown| format!(" {shown}"))}
            </small>
        </div>
    }
    .into_any()
}

#[component]
fn Limits(view: DraftView) -> impl IntoView {
    let lang = lang();
    let chosen = view.currency.map(|currency| currency.code().to_owned());
    let currencies = Currency::in_force()
        .map(|code| view! { <option value=code selected=chosen.as_deref() == Some(code)>{code}</option> })
        .collect_view();
    let number = |name: &'static str, id: &'static str, label: &'static str, value: u32, max: u32| {
        view! {
            <label class="field" id=id>
                <span>{label}</span>
                <input type="number" name=name min="1" max=max.to_string() required value=value.to_string()/>
            </label>
        }
    };
    let limit_max = u32::try_from(SEATS_PER_HOLD_MAX).unwrap_or(u32::MAX);
    view! {
        <label class="field" id="field-currency">
            <span>{td_string!(lang, sales.currency)}</span>
            <select name="form[currency]">
                <option value="" selected=chosen.is_none()>{td_string!(lang, sales.choose_currency)}</option>
                {currencies}
            </select>
        </label>
        {number("form[seat_limit]", "field-seat_limit", td_string!(lang, sales.seat_limit), view.seat_limit, limit_max)}
        <label class="field" id="field-hold_time">
            <span>{td_string!(lang, sales.hold_time)}</span>
            <input name="form[hold_ttl_min]" inputmode="decimal" required maxlength="10" value=hold_minutes(view.hold_ttl_ms)/>
        </label>
        <label class="sales-check" id="field-single_seat">
            <input type="checkbox" name="form[single_seat_rule]" value="yes" checked=view.single_seat_rule/>
            <span>{td_string!(lang, sales.single_seat)}</span>
        </label>
        {number("form[shoppers_max]", "field-shoppers", td_string!(lang, sales.shoppers), view.shoppers_max, FLOW_MAX)}
        {number("form[release_per_min]", "field-release", td_string!(lang, sales.release), view.release_per_min, FLOW_MAX)}
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

fn item_text(lang: Locale, item: Item) -> &'static str {
    match item {
        Item::Plan => td_string!(lang, sales.plan),
        Item::Starts => td_string!(lang, sales.starts),
        Item::Opens => td_string!(lang, sales.opens),
        Item::Closes => td_string!(lang, sales.closes),
        Item::Currency => td_string!(lang, sales.currency),
        Item::Zones => td_string!(lang, sales.item_zones),
        Item::Prices => td_string!(lang, sales.item_prices),
        Item::SeatLimit => td_string!(lang, sales.seat_limit),
        Item::HoldTime => td_string!(lang, sales.hold_time),
        Item::Shoppers => td_string!(lang, sales.shoppers),
        Item::Release => td_string!(lang, sales.release),
    }
}

fn detail_text(lang: Locale, detail: &Detail) -> String {
    let plain = match detail {
        Detail::Fine => "",
        Detail::Unset => td_string!(lang, sales.unset),
        Detail::Past => td_string!(lang, sales.past),
        Detail::OpensAtOnce => td_string!(lang, sales.opens_at_once),
        Detail::OpensAfterStart => td_string!(lang, sales.opens_after_start),
        Detail::ClosesBeforeOpening => td_string!(lang, sales.closes_before_opening),
        Detail::ClosesAfterStart => td_string!(lang, sales.closes_after_start),
        Detail::NoCurrency => td_string!(lang, sales.no_currency),
        Detail::NothingForSale => td_string!(lang, sales.nothing_for_sale),
        Detail::ZonesUnfit => td_string!(lang, sales.zones_unfit),
        Detail::Unpriced(zones) => {
            let list: Vec<String> =
                zones.iter().map(|(name, count)| format!("{name} ({})", format::number(*count))).collect();
            let list = list.join(if lang == Locale::en { ", " } else { "、" });
            return td_string!(lang, sales.unpriced, zones = list).to_string();
        }
        Detail::PriceOutOfRange(zone) => {
            return td_string!(lang, sales.price_out_of_range, zone = zone.clone()).to_string();
        }
        Detail::SeatsOutside(count) => {
            return td_string!(lang, sales.seats_outside, count = format::number(*count)).to_string();
        }
        Detail::SeatsTwice(count) => {
            return td_string!(lang, sales.seats_twice, count = format::number(*count)).to_string();
        }
        Detail::OutOfRange(from, to) => {
            return td_string!(lang, sales.out_of_range, from = *from, to = *to).to_string();
        }
    };
    plain.to_owned()
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
