//! One allocation: its numbers, its seats, and what can be done with it.

use super::codes::Codes;
use super::{Board, ReleaseField, kind_text};
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::allocation::AllocationKind;
use domain::organizer::allocations::{AllocationView, NAME_MAX_CHARS};
use leptos::prelude::*;

/// Hidden fields that every form of an allocation carries.
#[component]
pub(super) fn Of(board: Board, allocation: domain::AllocationId) -> impl IntoView {
    view! {
        <input type="hidden" name="id" value=board.id().to_string()/>
        <input type="hidden" name="allocation" value=allocation.to_string()/>
    }
    .into_any()
}

/// One allocation.
#[component]
pub(super) fn Card(board: Board, one: AllocationView) -> impl IntoView {
    let lang = lang();
    let release = match (&one.release, one.kind) {
        (Some(at), _) => {
            at.zoned.as_ref().map(|at| td_string!(lang, sales.kept_release_at, time = format::moment(lang, at)))
        }
        (None, AllocationKind::Accessible) => Some(td_string!(lang, sales.kept_release_sold_out).to_owned()),
        (None, _) => Some(td_string!(lang, sales.kept_release_by_hand).to_owned()),
    };
    let places = one.places.iter().map(|place| view! { <li>{place.clone()}</li> }).collect_view();
    let seats = one.seats.clone();
    let show = move |_| {
        board.focus.set(seats.list().first().copied());
        if board.editing {
            board.selection.set(seats.list().iter().copied().collect());
        }
    };
    let forms = board.editing.then(|| {
        view! {
            {one.kind.has_codes().then(|| view! { <Codes board one=one.clone()/> })}
            <Grant board one=one.clone()/>
            <Seats board one=one.clone()/>
            <Edit board one=one.clone()/>
            <Release board one=one.clone()/>
        }
    });
    view! {
        <li class="kept-card" data-testid="allocation" data-allocation=one.id.to_string()>
            <h3>{one.name.clone()}</h3>
            <p class="kept-kind">{kind_text(lang, one.kind)} " · " {release}</p>
            <Counts one=one.clone()/>
            <ul class="prices-places">{places}</ul>
            <p><button class="link" type="button" data-testid="show" on:click=show>{td_string!(lang, sales.price_show)}</button></p>
            {forms}
        </li>
    }
    .into_any()
}

/// Its seats by state, and its accounts.
#[component]
fn Counts(one: AllocationView) -> impl IntoView {
    let lang = lang();
    let fact = |name: &'static str, testid: &'static str, count: u32| {
        view! { <div><dt>{name}</dt><dd data-testid=testid>{format::number(count)}</dd></div> }
    };
    let total = u32::try_from(one.seats.len()).unwrap_or(u32::MAX);
    let states = one.counts.map(|counts| {
        view! {
            {fact(td_string!(lang, sales.kept_free), "free", counts.free)}
            {fact(td_string!(lang, sales.kept_held), "held", counts.held)}
            {fact(td_string!(lang, sales.kept_sold), "sold", counts.sold)}
            {(counts.blocked > 0).then(|| fact(td_string!(lang, sales.kept_blocked), "blocked", counts.blocked))}
        }
    });
    view! {
        <dl class="kept-counts">
            {fact(td_string!(lang, sales.kept_seats), "seats", total)}
            {states}
            {fact(td_string!(lang, sales.kept_accounts), "accounts", one.accounts)}
        </dl>
    }
    .into_any()
}

/// Lets single accounts take seats.
#[component]
fn Grant(board: Board, one: AllocationView) -> impl IntoView {
    let lang = lang();
    let action = board.acts.grant;
    view! {
        <details class="kept-step">
            <summary>{td_string!(lang, sales.kept_grant)}</summary>
            <ActionForm action attr:class="form" attr:data-testid="grant-form">
                <Of board allocation=one.id/>
                <label class="field">
                    <span>{td_string!(lang, sales.kept_email)}</span>
                    <input type="email" name="email" required maxlength="254" autocomplete="off" data-testid="email"/>
                </label>
                <button class="button" type="submit" data-testid="grant">{td_string!(lang, sales.kept_grant_do)}</button>
            </ActionForm>
        </details>
    }
    .into_any()
}

/// Further seats, or fewer.
#[component]
fn Seats(board: Board, one: AllocationView) -> impl IntoView {
    let lang = lang();
    let action = board.acts.seats;
    view! {
        <details class="kept-step">
            <summary>{td_string!(lang, sales.kept_change)}</summary>
            <ActionForm action attr:class="form" attr:data-testid="kept-seats-form">
                <Of board allocation=one.id/>
                <input type="hidden" name="picked" value=move || board.picked()/>
                <label class="field">
                    <span>{td_string!(lang, sales.block_typed)}</span>
                    <textarea name="typed" rows="2" data-testid="typed-seats"></textarea>
                </label>
                <p class="kept-buttons">
                    <button class="button" type="submit" name="step" value="add" data-testid="add-seats">{td_string!(lang, sales.kept_add)}</button>
                    <button class="button" type="submit" name="step" value="remove" data-testid="remove-seats">{td_string!(lang, sales.kept_remove)}</button>
                </p>
            </ActionForm>
        </details>
    }
    .into_any()
}

/// Another name, another instant of release.
#[component]
fn Edit(board: Board, one: AllocationView) -> impl IntoView {
    let lang = lang();
    let action = board.acts.edit;
    let release = one.release.map(|at| format!("{}{}", at.text, at.offset)).unwrap_or_default();
    view! {
        <details class="kept-step">
            <summary>{td_string!(lang, sales.kept_edit)}</summary>
            <ActionForm action attr:class="form" attr:data-testid="kept-edit-form">
                <Of board allocation=one.id/>
                <input type="hidden" name="version" value=one.version.to_string()/>
                <label class="field">
                    <span>{td_string!(lang, sales.kept_name)}</span>
                    <input type="text" name="name" required value=one.name maxlength=NAME_MAX_CHARS.to_string() autocomplete="off" data-testid="name"/>
                </label>
                <ReleaseField board name="release" value=release/>
                <button class="button" type="submit" data-testid="edit">{td_string!(lang, sales.kept_save)}</button>
            </ActionForm>
        </details>
    }
    .into_any()
}

/// General sale now, behind a box to tick.
#[component]
fn Release(board: Board, one: AllocationView) -> impl IntoView {
    let lang = lang();
    let action = board.acts.release;
    view! {
        <details class="kept-step">
            <summary>{td_string!(lang, sales.kept_release_now)}</summary>
            <ActionForm action attr:class="form" attr:data-testid="release-form">
                <Of board allocation=one.id/>
                <p>{td_string!(lang, sales.kept_release_effect)}</p>
                <label class="kept-check">
                    <input type="checkbox" name="sure" value="true" required data-testid="sure"/>
                    <span>{td_string!(lang, sales.kept_release_sure)}</span>
                </label>
                <button class="button" type="submit" data-testid="release">{td_string!(lang, sales.kept_release_do)}</button>
            </ActionForm>
        </details>
    }
    .into_any()
}
