//! What can be done with seats: off sale and back, into zones of their own; the lists of both.

use super::{FieldError, Sheet, Why};
use crate::features::organizer::sales::prices_api::{SeatsChange, ZoneRemove, ZoneRename};
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::organizer::pricing::{BlockedGroup, NAME_MAX_CHARS, SeatSet, ZoneTotal};
use leptos::html;
use leptos::prelude::*;

/// Hidden fields that every form of a version carries.
#[component]
fn Versioned(sheet: Sheet) -> impl IntoView {
    view! {
        <input type="hidden" name="id" value=sheet.id().to_string()/>
        <input type="hidden" name="version" value=move || sheet.view.read().version.to_string()/>
    }
    .into_any()
}

/// The form over the chosen seats. Its first button is the one that Enter presses: taking off sale
/// needs a reason, so that nothing happens by mistake.
#[component]
pub(super) fn SeatForms(sheet: Sheet) -> impl IntoView {
    let lang = lang();
    let action = ServerAction::<SeatsChange>::new();
    let error = Signal::derive(move || action.value().get().and_then(Result::err));
    let form = NodeRef::<html::Form>::new();
    sheet.refresh_after(
        move || action.value().get(),
        true,
        move || {
            sheet.selection.update(std::collections::BTreeSet::clear);
            if let Some(form) = form.get_untracked() {
                form.reset();
            }
        },
    );
    let published = sheet.view.read_untracked().published;
    let picked = move || sheet.selection.read().iter().copied().collect::<SeatSet>().to_string();
    let pending = move || action.pending().get();
    view! {
        <section class="prices-seats" aria-labelledby="seats-title">
            <h2 id="seats-title">{td_string!(lang, sales.block_title)}</h2>
            <Selected sheet/>
            <ActionForm action node_ref=form attr:class="form" attr:data-testid="seats-form">
                <Why error/>
                <Versioned sheet/>
                <input type="hidden" name="form[picked]" value=picked data-testid="picked"/>
                <label class="field">
                    <span>{td_string!(lang, sales.block_typed)}</span>
                    <textarea name="form[typed]" rows="3" data-testid="typed-seats"></textarea>
                    <small>{td_string!(lang, sales.block_typed_hint)}</small>
                    <FieldError error field="seats"/>
                </label>
                <fieldset class="prices-step">
                    <legend>{td_string!(lang, sales.block_legend)}</legend>
                    <label class="field">
                        <span>{td_string!(lang, sales.block_reason)}</span>
                        <input type="text" name="form[reason]" maxlength=NAME_MAX_CHARS.to_string() autocomplete="off" data-testid="reason"/>
                        <FieldError error field="reason"/>
                    </label>
                    <button class="button" type="submit" name="form[step]" value="block" data-testid="block" disabled=pending>
                        {td_string!(lang, sales.block_block)}
                    </button>
                    <button class="button" type="submit" name="form[step]" value="unblock" data-testid="unblock" disabled=pending>
                        {td_string!(lang, sales.block_unblock)}
                    </button>
                </fieldset>
                {(!published).then(|| view! { <ZoneSteps sheet error pending=Signal::derive(pending)/> })}
            </ActionForm>
        </section>
    }
    .into_any()
}

/// How many seats are picked on the map.
#[component]
fn Selected(sheet: Sheet) -> impl IntoView {
    let lang = lang();
    let count = move || sheet.selection.read().len();
    let text = move || match count() {
        0 => td_string!(lang, sales.block_selected_none).to_owned(),
        1 => td_string!(lang, sales.block_selected_one).to_owned(),
        count => {
            td_string!(lang, sales.block_selected, count = format::number(u32::try_from(count).unwrap_or(u32::MAX)))
        }
    };
    view! {
        <p class="prices-selected" role="status" data-testid="selected">
            <span>{text}</span>
            {move || {
                (count() > 0).then(|| view! {
                    <button class="link" type="button" data-testid="clear-selection"
                        on:click=move |_| sheet.selection.update(std::collections::BTreeSet::clear)>
                        {td_string!(lang, sales.block_clear)}
                    </button>
                })
            }}
        </p>
    }
    .into_any()
}

/// A zone of their own, another zone, or back to their categories.
#[component]
fn ZoneSteps(sheet: Sheet, error: Signal<Option<crate::error::AppError>>, pending: Signal<bool>) -> impl IntoView {
    let lang = lang();
    let added = move || {
        let view = sheet.view.get();
        view.zones
            .into_iter()
            .filter(|zone| zone.added)
            .map(|zone| view! { <option value=zone.zone.to_string()>{zone.name}</option> })
            .collect_view()
    };
    view! {
        <fieldset class="prices-step">
            <legend>{td_string!(lang, sales.block_new_zone)}</legend>
            <label class="field">
                <span>{td_string!(lang, sales.block_zone_name)}</span>
                <input type="text" name="form[name]" maxlength=NAME_MAX_CHARS.to_string() autocomplete="off" data-testid="zone-name"/>
                <FieldError error field="name"/>
            </label>
            <label class="field">
                <span>{td_string!(lang, sales.block_zone_price)}</span>
                <input type="text" name="form[price]" inputmode="decimal" maxlength="40" autocomplete="off" data-testid="zone-price"/>
                <FieldError error field="price"/>
            </label>
            <button class="button" type="submit" name="form[step]" value="add" data-testid="add-zone" disabled=pending>
                {td_string!(lang, sales.block_add)}
            </button>
        </fieldset>
        <fieldset class="prices-step">
            <legend>{td_string!(lang, sales.block_move_title)}</legend>
            <label class="field">
                <span>{td_string!(lang, sales.block_move_to)}</span>
                <select name="form[zone]" data-testid="move-to">
                    <option value="">{td_string!(lang, sales.block_move_back)}</option>
                    {added}
                </select>
                <FieldError error field="zone"/>
            </label>
            <button class="button" type="submit" name="form[step]" value="move" data-testid="move-seats" disabled=pending>
                {td_string!(lang, sales.block_move)}
            </button>
        </fieldset>
    }
    .into_any()
}

/// A button that picks seats on the map and goes there.
#[component]
fn ShowSeats(sheet: Sheet, seats: SeatSet) -> impl IntoView {
    let lang = lang();
    let show = move |_| {
        sheet.focus.set(seats.list().first().copied());
        if sheet.editing {
            sheet.selection.set(seats.list().iter().copied().collect());
        }
    };
    view! { <button class="link" type="button" data-testid="show" on:click=show>{td_string!(lang, sales.price_show)}</button> }.into_any()
}

/// Seats off sale, by reason.
#[component]
pub(super) fn BlockedGroups(sheet: Sheet) -> impl IntoView {
    let lang = lang();
    let action = ServerAction::<SeatsChange>::new();
    // A refusal that the address brought back is told by the form above.
    let error = Signal::derive(move || {
        let sent_here = action.version().get() > 0;
        action.value().get().and_then(Result::err).filter(|_| sent_here)
    });
    sheet.refresh_after(move || action.value().get(), true, || ());
    let groups = move || {
        let groups = sheet.view.get().blocked;
        if groups.is_empty() {
            return view! { <p>{td_string!(lang, sales.block_none)}</p> }.into_any();
        }
        let groups = groups.into_iter().map(|group| view! { <Group sheet group action/> }).collect_view();
        view! { <ul class="prices-groups">{groups}</ul> }.into_any()
    };
    view! {
        <section aria-labelledby="blocked-title">
            <h2 id="blocked-title">{td_string!(lang, sales.block_groups)}</h2>
            <Why error/>
            {groups}
        </section>
    }
    .into_any()
}

#[component]
fn Group(sheet: Sheet, group: BlockedGroup, action: ServerAction<SeatsChange>) -> impl IntoView {
    let lang = lang();
    let count = format::number(u32::try_from(group.seats.len()).unwrap_or(u32::MAX));
    let picked = group.seats.to_string();
    let places = group.places.into_iter().map(|place| view! { <li>{place}</li> }).collect_view();
    view! {
        <li class="prices-group" data-testid="blocked-group">
            <div>
                <b>{group.reason}</b> " · " {td_string!(lang, sales.block_count, count = count)}
                <ul class="prices-places">{places}</ul>
            </div>
            <ShowSeats sheet seats=group.seats/>
            {sheet.editing.then(|| view! {
                <ActionForm action>
                    <Versioned sheet/>
                    <input type="hidden" name="form[picked]" value=picked/>
                    <button class="link" type="submit" name="form[step]" value="unblock" data-testid="unblock-group">
                        {td_string!(lang, sales.block_unblock)}
                    </button>
                </ActionForm>
            })}
        </li>
    }
    .into_any()
}

/// The zones of a performance in the making: other names, and away with those that were added.
#[component]
pub(super) fn ZoneList(sheet: Sheet) -> impl IntoView {
    let lang = lang();
    let (rename, remove) = (ServerAction::<ZoneRename>::new(), ServerAction::<ZoneRemove>::new());
    let error = Signal::derive(move || {
        let of = |answer: Option<Result<(), crate::error::AppError>>| answer.and_then(Result::err);
        of(rename.value().get()).or_else(|| of(remove.value().get()))
    });
    sheet.refresh_after(move || rename.value().get(), true, || ());
    sheet.refresh_after(move || remove.value().get(), true, || ());
    let zones = move || {
        let zones = sheet.view.get().zones;
        zones.into_iter().map(|zone| view! { <ZoneItem sheet zone rename remove/> }).collect_view()
    };
    view! {
        <section aria-labelledby="zones-title">
            <h2 id="zones-title">{td_string!(lang, sales.price_zones)}</h2>
            <Why error/>
            <ul class="prices-groups">{zones}</ul>
        </section>
    }
    .into_any()
}

#[component]
fn ZoneItem(
    sheet: Sheet,
    zone: ZoneTotal,
    rename: ServerAction<ZoneRename>,
    remove: ServerAction<ZoneRemove>,
) -> impl IntoView {
    let lang = lang();
    let index = zone.zone.to_string();
    let seats =
        sheet.view.with_untracked(|view| view.moved.iter().find(|(at, _)| *at == zone.zone).map(|(_, s)| s.clone()));
    let (of_removal, of_rename) = (index.clone(), index.clone());
    let removal = zone.added.then(|| {
        view! {
            <ActionForm action=remove>
                <Versioned sheet/>
                <input type="hidden" name="zone" value=of_removal/>
                <button class="link" type="submit" data-testid="remove-zone">{td_string!(lang, sales.price_remove)}</button>
            </ActionForm>
        }
    });
    view! {
        <li class="prices-group" data-testid="zone-item" data-zone=index>
            <ActionForm action=rename attr:class="prices-rename">
                <Versioned sheet/>
                <input type="hidden" name="zone" value=of_rename/>
                <input
                    type="text"
                    name="name"
                    required
                    maxlength=NAME_MAX_CHARS.to_string()
                    autocomplete="off"
                    value=zone.name.clone()
                    aria-label=td_string!(lang, sales.price_new_name, zone = &zone.name)
                    data-testid="new-name"
                />
                <button class="link" type="submit" data-testid="rename-zone">{td_string!(lang, sales.price_rename)}</button>
            </ActionForm>
            {seats.map(|seats| view! { <ShowSeats sheet seats/> })}
            {removal}
        </li>
    }
    .into_any()
}
