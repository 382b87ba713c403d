//! Money that was set aside: what was found, when it goes back, and what people decide.

use super::Actions;
use super::words::{aside_text, evidence_lines, kind_text, state_text};
use crate::features::organizer::frame::may;
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::ZonedTime;
use domain::organizer::Action;
use domain::organizer::disputes::{NOTE_MAX_CHARS, SetAsideKind, SetAsideState, SetAsideView};
use leptos::prelude::*;

/// A name and a moment in a list of facts.
fn pair_at(name: &'static str, time: Option<ZonedTime>) -> impl IntoView {
    let lang = lang();
    time.map(|time| {
        view! {
            <div>
                <dt>{name}</dt>
                <dd><time datetime=format::machine_time(&time)>{format::moment(lang, &time)}</time></dd>
            </div>
        }
    })
}

/// One of them.
#[component]
pub(super) fn SetAside(row: SetAsideView, actions: Actions) -> impl IntoView {
    let lang = lang();
    let decides = may(Action::DecideMoney);
    let can_return = decides && row.state == SetAsideState::Waiting && row.kind == SetAsideKind::Payment;
    let can_settle = decides && row.state.can_be_settled();
    let evidence = evidence_lines(lang, &row.evidence)
        .into_iter()
        .map(|(name, value)| view! { <div><dt>{name}</dt><dd>{value}</dd></div> })
        .collect_view();
    view! {
        <article class="dispute" data-testid="set-aside" data-state=row.state.as_str() data-kind=row.kind.as_str()>
            <header class="dispute-head">
                <h3>{aside_text(lang, &row.reason)}</h3>
                {row.amount.map(|amount| view! { <b class="dispute-sum">{format::money(lang, amount)}</b> })}
                <span class="dispute-state" data-over=row.state.is_over().then_some("")>{state_text(lang, row.state)}</span>
            </header>
            <p class="facts">
                <span>{kind_text(lang, row.kind)}</span>
                <a href=format!("/organizer/orders/{}", row.order)>{td_string!(lang, search.order, id = super::short_id(row.order))}</a>
                <span>{row.provider}</span>
                <code>{row.reference}</code>
            </p>
            <dl class="pairs">
                {pair_at(td_string!(lang, disputes.since), Some(row.since))}
                {pair_at(td_string!(lang, disputes.returns), row.returns)}
                {pair_at(td_string!(lang, disputes.resolved), row.resolved)}
                {row.note.map(|note| view! { <div><dt>{td_string!(lang, disputes.note)}</dt><dd>{note}</dd></div> })}
                {row.error.map(|error| view! { <div><dt>{td_string!(lang, disputes.error)}</dt><dd>{error}</dd></div> })}
            </dl>
            <dl class="pairs dispute-evidence" aria-label=td_string!(lang, search.evidence)>{evidence}</dl>
            {(can_return || can_settle).then(|| view! {
                <div class="dispute-acts">
                    {can_return.then(|| view! { <GiveBack id=row.id actions/> })}
                    {can_settle.then(|| view! { <Settle id=row.id actions/> })}
                </div>
            })}
        </article>
    }
    .into_any()
}

#[component]
fn GiveBack(id: i64, actions: Actions) -> impl IntoView {
    let lang = lang();
    view! {
        <details class="org-more" data-testid="give-back">
            <summary>{td_string!(lang, disputes.give_back)}</summary>
            <ActionForm action=actions.give_back attr:class="form">
                <input type="hidden" name="id" value=id.to_string()/>
                <p class="quiet">{td_string!(lang, disputes.give_back_text)}</p>
                <button class="button" type="submit">{td_string!(lang, disputes.give_back_sure)}</button>
            </ActionForm>
        </details>
    }
    .into_any()
}

#[component]
fn Settle(id: i64, actions: Actions) -> impl IntoView {
    let lang = lang();
    view! {
        <details class="org-more" data-testid="settle">
            <summary>{td_string!(lang, disputes.settle)}</summary>
            <ActionForm action=actions.settle attr:class="form">
                <input type="hidden" name="id" value=id.to_string()/>
                <label class="field">
                    <span>{td_string!(lang, disputes.note_label)}</span>
                    <input type="text" name="note" required maxlength=NOTE_MAX_CHARS.to_string() autocomplete="off" data-testid="note"/>
                    <small>{td_string!(lang, disputes.note_hint)}</small>
                </label>
                <button class="button" type="submit">{td_string!(lang, disputes.settle_sure)}</button>
            </ActionForm>
        </details>
    }
    .into_any()
}
