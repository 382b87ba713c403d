//! The fields of the form: where and when, how fans come in, and limits.

use super::words::mode_text;
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::Currency;
use domain::hold::SEATS_PER_HOLD_MAX;
use domain::organizer::draft::FLOW_MAX;
use domain::organizer::sales::{DraftView, LocalText, minutes_text};
use domain::queue::Mode;
use leptos::prelude::*;

/// The plan, and the times of performance and sale. `chosen` follows the plan, `zone` tells its time zone.
#[component]
pub(super) fn WhereWhen(view: DraftView, chosen: RwSignal<String>, zone: Signal<Option<String>>) -> impl IntoView {
    let lang = lang();
    let current = chosen.get_untracked();
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

/// How much of everything.
#[component]
pub(super) fn Limits(view: DraftView) -> impl IntoView {
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
            <input name="form[hold_ttl_min]" inputmode="decimal" required maxlength="10" value=minutes_text(view.hold_ttl_ms)/>
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

/// How fans come in: by a queue or a lottery, from when on, and with accounts from before when.
#[component]
pub(super) fn WaitingRoom(view: DraftView, zone: Signal<Option<String>>) -> impl IntoView {
    let lang = lang();
    let chosen = view.mode;
    let options = [Mode::Queue, Mode::Lottery]
        .into_iter()
        .map(|mode| view! { <option value=mode.as_str() selected=mode == chosen>{mode_text(lang, mode)}</option> })
        .collect_view();
    // Beside the fields: the name of a field is its label alone.
    view! {
        <label class="field" id="field-mode">
            <span>{td_string!(lang, sales.mode)}</span>
            <select name="form[mode]" data-testid="mode">{options}</select>
        </label>
        <p class="quiet">{td_string!(lang, sales.mode_text)}</p>
        <label class="field" id="field-window">
            <span>{td_string!(lang, sales.window)}</span>
            <input name="form[window_min]" inputmode="decimal" required maxlength="10" value=minutes_text(view.window_ms)/>
        </label>
        <LocalTime name="registers" label=td_string!(lang, sales.registers) value=view.registers zone/>
        <p class="quiet">{td_string!(lang, sales.registers_text)}</p>
        <LocalTime name="account_cutoff" label=td_string!(lang, sales.account_cutoff) value=view.account_cutoff zone/>
        <p class="quiet">{td_string!(lang, sales.account_cutoff_text)}</p>
    }
    .into_any()
}
