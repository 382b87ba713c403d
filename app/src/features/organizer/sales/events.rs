//! The list of events, each with its performances.

use super::api;
use crate::components::raw_text::Title;
use crate::components::{cover::CoverStrip, missing::Failure, phase::PhaseLabel};
use crate::features::organizer::frame::{Frame, Tab, may};
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use crate::session::use_visitor;
use domain::organizer::Action;
use domain::organizer::sales::{EventLine, PerformanceLine};
use leptos::prelude::*;

/// All events of the organization.
#[component]
pub fn EventsPage() -> impl IntoView {
    let visitor = use_visitor();
    let events = Resource::new(move || visitor.changes(), |_| api::organizer_events());
    view! {
        <Frame tab=Tab::Events>
            <Transition>
                {move || Suspend::new(async move {
                    match events.await {
                        Ok(list) => view! { <Events list/> }.into_any(),
                        Err(error) => view! { <Failure error back="/organizer"/> }.into_any(),
                    }
                })}
            </Transition>
        </Frame>
    }
    .into_any()
}

#[component]
fn Events(list: Vec<EventLine>) -> impl IntoView {
    let lang = lang();
    let edit = may(Action::EditEvents);
    let empty = list.is_empty();
    let lines = list.into_iter().map(|line| view! { <li><Line line/></li> }).collect_view();
    view! {
        <Title text=td_string!(lang, sales.title)/>
        <header class="sales-head">
            <h1>{td_string!(lang, sales.title)}</h1>
            {edit.then(|| view! {
                <a class=if empty { "button button-accent" } else { "button" } href="/organizer/events/new" data-testid="new-event">
                    {td_string!(lang, sales.new_event)}
                </a>
            })}
        </header>
        {empty.then(|| view! {
            <div class="sales-empty" data-testid="no-events">
                <p>{td_string!(lang, sales.no_events)}</p>
                {edit.then(|| view! { <p class="quiet">{td_string!(lang, sales.no_events_step)}</p> })}
            </div>
        })}
        <ul class="sales-events">{lines}</ul>
    }
    .into_any()
}

#[component]
fn Line(line: EventLine) -> impl IntoView {
    let lang = lang();
    let none = line.performances.is_empty();
    view! {
        <article class="sales-event" data-testid="organizer-event">
            <CoverStrip cover=line.cover picture=line.picture/>
            <div>
                <h2><a href=format!("/organizer/events/{}", line.id)>{line.title}</a></h2>
                <p class="quiet">{line.artist}</p>
                {none.then(|| view! { <p class="quiet">{td_string!(lang, sales.no_performances)}</p> })}
                <Performances list=line.performances/>
            </div>
        </article>
    }
    .into_any()
}

/// Performances of an event, each a way to its page.
#[component]
pub(super) fn Performances(list: Vec<PerformanceLine>) -> impl IntoView {
    let rows = list.into_iter().map(|line| view! { <li><Performance line/></li> }).collect_view();
    view! { <ul class="sales-performances">{rows}</ul> }.into_any()
}

#[component]
fn Performance(line: PerformanceLine) -> impl IntoView {
    let lang = lang();
    let name = line
        .starts
        .as_ref()
        .map_or_else(|| td_string!(lang, sales.no_date).to_owned(), |starts| format::zoned_moment(lang, starts));
    let sold = line.phase.map(|_| {
        td_string!(lang, sales.sold, sold = format::number(line.sold), seats = format::number(line.seats)).to_string()
    });
    let state = match line.phase {
        Some(phase) => view! { <PhaseLabel phase mode=line.mode/> }.into_any(),
        None => view! { <span class="sales-draft">{td_string!(lang, sales.draft)}</span> }.into_any(),
    };
    view! {
        <div class="sales-performance" data-testid="organizer-performance" data-performance=line.id.to_string()>
            <a href=format!("/organizer/performances/{}", line.id)>{name}</a>
            <p class="facts">
                {line.venue.map(|venue| view! { <span>{venue}</span> })}
                {sold.map(|sold| view! { <span>{sold}</span> })}
            </p>
            {state}
        </div>
    }
    .into_any()
}
