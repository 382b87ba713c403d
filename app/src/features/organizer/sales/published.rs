//! A published performance: what is fixed, whether its seats are in place, and the ways on.

use super::draft::{Terms, Zones, mode_text};
use super::names::NamesPart;
use crate::components::icon::{Icon, Sign};
use crate::components::phase::PhaseLabel;
use crate::features::organizer::frame::may;
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::organizer::Action;
use domain::organizer::sales::{DraftView, LocalText, Published, Readiness, SectionReady, minutes_text};
use domain::queue::Mode;
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use std::time::Duration;

/// How often the page looks whether the seats are in place.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What a published performance is.
#[component]
pub(super) fn PublishedPart(view: DraftView, published: Published, changed: Callback<()>) -> impl IntoView {
    let lang = lang();
    let (id, slug) = (view.id, view.slug.clone());
    view! {
        <header class="sales-head">
            <h1>{td_string!(lang, sales.performance)}</h1>
            <PhaseLabel phase=published.phase mode=view.mode/>
        </header>
        <Replaced/>
        <p class="actions">
            {may(Action::ReadDesk).then(|| view! {
                <a class="button button-accent" href=format!("/organizer/performances/{id}/desk") data-testid="to-desk">
                    {td_string!(lang, sales.to_desk)}
                </a>
            })}
            <a class="button" href=format!("/organizer/performances/{id}/allocations") data-testid="to-allocations">
                {td_string!(lang, sales.kept_title)}
            </a>
            <a class="button" href=format!("/organizer/performances/{id}/prices") data-testid="to-prices">
                {td_string!(lang, sales.to_prices)}
            </a>
            {may(Action::EditEvents).then(|| view! {
                <a class="button" href=format!("/organizer/performances/{id}/plan") data-testid="to-plan">
                    {td_string!(lang, sales.replan_title)}
                </a>
            })}
            {may(Action::ReadMoney).then(|| view! {
                <a class="button" href=format!("/organizer/performances/{id}/refunds") data-testid="to-terms">
                    {td_string!(lang, refunds.terms)}
                </a>
            })}
            <a class="button" href=format!("/events/{slug}") data-testid="to-event">{td_string!(lang, sales.to_event)}</a>
        </p>
        <Seats readiness=published.readiness changed/>
        <Facts view=view.clone() commitment=published.commitment/>
        <NamesPart performance=id terms=published.names changed/>
        <section class="sales-part" aria-labelledby="zones">
            <h2 id="zones">{td_string!(lang, sales.prices)}</h2>
            <Zones view=view.clone()/>
            <Terms schedule=view.fees/>
        </section>
    }
    .into_any()
}

/// That another plan was put in place, to whom that led here.
#[component]
fn Replaced() -> impl IntoView {
    let lang = lang();
    let replaced = use_query_map().read_untracked().get_str("replaced").is_some();
    view! {
        <div role="status" class="notice-place">
            {replaced.then(|| view! {
                <p class="notice" data-testid="replaced"><Sign icon=Icon::Check/><span>{td_string!(lang, sales.replan_done)}</span></p>
            })}
        </div>
    }
    .into_any()
}

/// Whether the seats are in place, counted by section.
#[component]
fn Seats(readiness: Readiness, changed: Callback<()>) -> impl IntoView {
    let lang = lang();
    match readiness {
        Readiness::Building { seats } => {
            // Only a browser looks again by itself.
            Effect::new(move |_| set_timeout(move || changed.run(()), LOOK_EVERY));
            view! {
                <p class="notice" role="status" data-testid="readiness" data-ready="false">
                    {td_string!(lang, sales.building, seats = format::number(seats))}
                </p>
            }
            .into_any()
        }
        Readiness::Ready { seats, sections, .. } => {
            let counted: u32 = sections.iter().map(|section| section.seats).sum();
            let rows = sections.into_iter().map(|section| view! { <Section section/> }).collect_view();
            view! {
                <details class="sales-ready" data-testid="readiness" data-ready="true">
                    <summary>
                        {td_string!(lang, sales.ready, counted = format::number(counted), seats = format::number(seats))}
                    </summary>
                    <table class="sales-zones">
                        <thead>
                            <tr>
                                <th scope="col">{td_string!(lang, sales.section)}</th>
                                <th scope="col">{td_string!(lang, sales.seats)}</th>
                                <th scope="col">{td_string!(lang, sales.taken)}</th>
                                <th scope="col">{td_string!(lang, sales.off_sale)}</th>
                            </tr>
                        </thead>
                        <tbody>{rows}</tbody>
                    </table>
                </details>
            }
            .into_any()
        }
    }
}

#[component]
fn Section(section: SectionReady) -> impl IntoView {
    view! {
        <tr>
            <th scope="row">{section.name}</th>
            <td>{format::number(section.seats)}</td>
            <td>{format::number(section.taken)}</td>
            <td>{format::number(section.blocked)}</td>
        </tr>
    }
    .into_any()
}

#[component]
fn Facts(view: DraftView, commitment: String) -> impl IntoView {
    let lang = lang();
    let at = |time: &LocalText| time.zoned.as_ref().map(|zoned| format::zoned_moment(lang, zoned)).unwrap_or_default();
    let place = view.plan.as_ref().map(|plan| format!("{}, {}", plan.venue, plan.city)).unwrap_or_default();
    let yes_no = |on: bool| if on { td_string!(lang, sales.yes) } else { td_string!(lang, sales.no) }.to_owned();
    let or = |time: &LocalText, none: &'static str| if time.zoned.is_some() { at(time) } else { none.to_owned() };
    let window = (view.mode == Mode::Lottery).then(|| (td_string!(lang, sales.window), minutes_text(view.window_ms)));
    let facts = [
        (td_string!(lang, sales.plan), place),
        (td_string!(lang, sales.starts), at(&view.starts)),
        (td_string!(lang, sales.opens), at(&view.opens)),
        (td_string!(lang, sales.closes), at(&view.closes)),
        (td_string!(lang, sales.mode), mode_text(lang, view.mode).to_owned()),
        (td_string!(lang, sales.registers), or(&view.registers, td_string!(lang, sales.registers_at_once))),
        (td_string!(lang, sales.account_cutoff), or(&view.account_cutoff, td_string!(lang, sales.no_cutoff))),
        (td_string!(lang, sales.seat_limit), view.seat_limit.to_string()),
        (td_string!(lang, sales.hold_time), minutes_text(view.hold_ttl_ms)),
        (td_string!(lang, sales.single_seat), yes_no(view.single_seat_rule)),
        (td_string!(lang, sales.shoppers), format::number(view.shoppers_max)),
        (td_string!(lang, sales.release), format::number(view.release_per_min)),
    ];
    let rows = facts
        .into_iter()
        .chain(window)
        .map(|(name, value)| view! { <div><dt>{name}</dt><dd>{value}</dd></div> })
        .collect_view();
    view! {
        <dl class="sales-facts" data-testid="published">
            {rows}
            <div>
                <dt>{td_string!(lang, sales.commitment)}</dt>
                <dd><code data-testid="commitment">{commitment}</code></dd>
            </div>
        </dl>
        <p class="quiet">{td_string!(lang, sales.commitment_text)}</p>
    }
    .into_any()
}
