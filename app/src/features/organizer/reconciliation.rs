//! The daily match: days with their state, and what differs with both sides.

mod api;
mod sides;
mod words;

use super::frame::{Frame, Sub, Subnav, Tab, may};
use crate::components::missing::Failure;
use crate::components::notice::Refused;
use crate::components::raw_text::Title;
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use api::{OrganizerDifferenceRepair, OrganizerDifferenceSettle};
use domain::organizer::Action;
use domain::organizer::money::{
    DayState, DifferenceStatus, DifferenceView, MatchedDay, NOTE_MAX_CHARS, Reconciliation, What,
};
use domain::settlement::Repair;
use leptos::prelude::*;
use sides::{At, OurSide, TheirSide};
use words::{day_text, owner_text, repair_text, status_text, what_text};

/// What can be done on the page.
#[derive(Clone, Copy)]
struct Actions {
    repair: ServerAction<OrganizerDifferenceRepair>,
    settle: ServerAction<OrganizerDifferenceSettle>,
}

impl Actions {
    fn new() -> Self {
        Self { repair: ServerAction::new(), settle: ServerAction::new() }
    }

    /// Changes with each answer: the page is read anew.
    fn versions(self) -> [usize; 2] {
        [self.repair.version().get(), self.settle.version().get()]
    }
}

/// The page.
#[component]
pub fn ReconciliationPage() -> impl IntoView {
    let lang = lang();
    let actions = Actions::new();
    let page = Resource::new(move || actions.versions(), |_| api::organizer_reconciliation());
    let refused = Signal::derive(move || {
        let repair = actions.repair.value().get().and_then(Result::err);
        repair.or_else(|| actions.settle.value().get().and_then(Result::err))
    });
    view! {
        <Title text=td_string!(lang, reconciliation.title)/>
        <Frame tab=Tab::Money>
            <header class="org-head">
                <h1>{td_string!(lang, reconciliation.title)}</h1>
                <p class="quiet">{td_string!(lang, reconciliation.text)}</p>
            </header>
            <Subnav current=Sub::Reconciliation/>
            <Refused error=refused detail=true/>
            <Transition>
                {move || Suspend::new(async move {
                    match page.await {
                        Ok(page) => view! { <Shown page actions/> }.into_any(),
                        Err(error) => view! { <Failure error back="/organizer/money/reconciliation"/> }.into_any(),
                    }
                })}
            </Transition>
        </Frame>
    }
    .into_any()
}

#[component]
fn Shown(page: Reconciliation, actions: Actions) -> impl IntoView {
    let lang = lang();
    let Reconciliation { days, open, closed, more } = page;
    let none = open.is_empty();
    let open = open.into_iter().map(|difference| view! { <li><Card difference actions/></li> }).collect_view();
    let any_closed = !closed.is_empty();
    let closed = closed.into_iter().map(|difference| view! { <li><Card difference actions/></li> }).collect_view();
    view! {
        <section class="org-part">
            <h2>{td_string!(lang, reconciliation.open)}</h2>
            {none.then(|| view! { <p class="money-empty" role="status" data-testid="empty">{td_string!(lang, reconciliation.open_none)}</p> })}
            <ul class="recon-list" data-testid="open">{open}</ul>
            {more.then(|| view! { <p class="quiet">{td_string!(lang, reconciliation.more)}</p> })}
        </section>
        <Days days/>
        {any_closed.then(|| view! {
            <section class="org-part">
                <details class="org-more" data-testid="closed">
                    <summary>{td_string!(lang, reconciliation.closed)}</summary>
                    <ul class="recon-list">{closed}</ul>
                </details>
            </section>
        })}
    }
    .into_any()
}

#[component]
fn Days(days: Vec<MatchedDay>) -> impl IntoView {
    let lang = lang();
    let (lines, open) = (td_string!(lang, reconciliation.lines), td_string!(lang, reconciliation.open));
    let (state, matched) = (td_string!(lang, reconciliation.state), td_string!(lang, reconciliation.matched));
    let rows = days
        .into_iter()
        .map(|day| {
            let word = if day.failed && day.state != DayState::Differences {
                td_string!(lang, reconciliation.day_failed)
            } else {
                day_text(lang, day.state)
            };
            let when = match day.matched {
                Some(time) => view! { <At time/> }.into_any(),
                None => view! { <span>"–"</span> }.into_any(),
            };
            view! {
                <tr data-testid="day" data-state=day.state.as_str()>
                    <th scope="row">
                        {format::day(lang, &day.day)}
                        <span class="quiet">" " {day.provider}</span>
                    </th>
                    <td data-label=state><span class="recon-state" data-state=day.state.as_str()>{word}</span></td>
                    <td class="money-number" data-label=lines>{format::number(day.lines)}</td>
                    <td class="money-number" data-label=open>{format::number(day.open)}</td>
                    <td data-label=matched>{when}</td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <section class="org-part">
            <h2>{td_string!(lang, reconciliation.days)}</h2>
            <p class="quiet">{td_string!(lang, reconciliation.days_text)}</p>
            <table class="money-table">
                <caption class="visually-hidden">{td_string!(lang, reconciliation.days)}</caption>
                <thead>
                    <tr>
                        <th scope="col">{td_string!(lang, reconciliation.day)}</th>
                        <th scope="col">{state}</th>
                        <th scope="col" class="money-number">{lines}</th>
                        <th scope="col" class="money-number">{open}</th>
                        <th scope="col">{matched}</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </section>
    }
    .into_any()
}

#[component]
fn Card(difference: DifferenceView, actions: Actions) -> impl IntoView {
    let lang = lang();
    let decides = may(Action::DecideMoney) && difference.status == DifferenceStatus::Open;
    let DifferenceView { id, provider, day, what, owner, repair, status, .. } = difference;
    let order = difference.order.map(|order| {
        view! { <a href=format!("/organizer/orders/{order}")>{td_string!(lang, reconciliation.order)}</a> }
    });
    let near = day.clone();
    let both = matches!(what, What::Match(_)).then(|| {
        view! {
            <div class="recon-sides">
                <OurSide ours=difference.ours near=near.clone()/>
                <TheirSide theirs=difference.theirs near=near/>
            </div>
        }
    });
    let error = difference.error.map(|error| {
        view! { <p class="recon-error" lang="en" data-testid="repair-error">{error}</p> }
    });
    let note = difference.note.map(|note| view! { <p class="recon-note"><q>{note}</q></p> });
    view! {
        <article class="recon-card" data-testid="difference" data-status=status.as_str() data-owner=owner.as_str()>
            <header>
                <h3>{what_text(lang, what)}</h3>
                <p class="facts">
                    <span>{status_text(lang, status)}</span>
                    <span>{format::day(lang, &day)}</span>
                    <span>{provider}</span>
                    {order.map(|order| view! { <span>{order}</span> })}
                </p>
            </header>
            {both}
            <dl class="pairs">
                <div><dt>{td_string!(lang, reconciliation.owner)}</dt><dd>{owner_text(lang, owner)}</dd></div>
                <div><dt>{td_string!(lang, reconciliation.repair)}</dt><dd>{repair_text(lang, repair)}</dd></div>
                <div><dt>{td_string!(lang, reconciliation.first_seen)}</dt><dd><At time=difference.first_seen/></dd></div>
                <div><dt>{td_string!(lang, reconciliation.last_seen)}</dt><dd><At time=difference.last_seen/></dd></div>
                <div><dt>{td_string!(lang, reconciliation.tries)}</dt><dd>{difference.tries}</dd></div>
            </dl>
            {error}
            {note}
            {decides.then(|| view! { <Decide id repair actions/> })}
        </article>
    }
    .into_any()
}

/// What a member may do about an open difference.
#[component]
fn Decide(id: domain::DifferenceId, repair: Repair, actions: Actions) -> impl IntoView {
    let lang = lang();
    let again = if repair == Repair::AskStaff {
        td_string!(lang, reconciliation.look_again)
    } else {
        td_string!(lang, reconciliation.repair_now)
    };
    let Actions { repair, settle } = actions;
    view! {
        <div class="recon-decide">
            <ActionForm action=repair>
                <input type="hidden" name="id" value=id.to_string()/>
                <button class="button" type="submit" data-testid="repair" disabled=move || repair.pending().get()>{again}</button>
            </ActionForm>
            <ActionForm action=settle attr:class="org-line recon-settle">
                <input type="hidden" name="id" value=id.to_string()/>
                <label class="field">
                    <span>{td_string!(lang, reconciliation.note)}</span>
                    <input type="text" name="note" required autocomplete="off" maxlength=NOTE_MAX_CHARS.to_string()/>
                </label>
                <button class="button" type="submit" data-testid="settle" disabled=move || settle.pending().get()>
                    {td_string!(lang, reconciliation.settle)}
                </button>
            </ActionForm>
        </div>
    }
    .into_any()
}
