//! The event page: what it is, its evenings, and the way to the waiting room.

pub mod api;

use crate::clock::use_clock;
use crate::components::raw_text::Title;
use crate::components::{
    countdown::Countdown,
    cover::Cover,
    icon::{Icon, Sign},
    missing::Failure,
    phase::PhaseLabel,
};
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::{
    ZonedTime,
    catalog::{EventView, PerformanceRow},
    queue::{Mode, Phase},
};
use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

/// One event.
#[component]
pub fn EventPage() -> impl IntoView {
    let params = use_params_map();
    let slug = move || params.read().get("slug").unwrap_or_default();
    let event = Resource::new(slug, api::event);
    use_clock().measure();
    view! {
        <Suspense>
            {move || Suspend::new(async move {
                match event.await {
                    Ok(event) => view! { <Event event/> }.into_any(),
                    Err(error) => {
                        let back = format!("/events/{}", slug());
                        view! { <Failure error back/> }.into_any()
                    }
                }
            })}
        </Suspense>
    }
    .into_any()
}

#[component]
fn Event(event: EventView) -> impl IntoView {
    let lang = lang();
    // One accent on the page: the first evening that can be acted on.
    let next = event.performances.iter().position(|row| row.phase != Phase::Ended);
    let rows = event
        .performances
        .into_iter()
        .enumerate()
        .map(|(i, row)| view! { <li><Evening row accent=Some(i) == next/></li> })
        .collect_view();
    let paragraphs = event
        .description
        .split("\n\n")
        .filter(|text| !text.trim().is_empty())
        .map(|text| view! { <p>{text.trim().to_owned()}</p> })
        .collect_view();
    view! {
        <Title text=format!("{} – {}", event.artist, event.title)/>
        <article class="event">
            <div class="event-poster">
                <Cover cover=event.cover picture=event.picture artist=event.artist.clone() first=true/>
            </div>
            <div class="event-body">
                <h1>{event.artist}</h1>
                <p class="event-title">{event.title}</p>
                <section aria-labelledby="evenings">
                    <h2 id="evenings" class="overline">{td_string!(lang, event.evenings)}</h2>
                    <ol class="evenings">{rows}</ol>
                </section>
                <div class="event-about">{paragraphs}</div>
            </div>
        </article>
    }
    .into_any()
}

/// One evening: date, place, where its sale stands, and the step that is possible now.
#[component]
fn Evening(row: PerformanceRow, accent: bool) -> impl IntoView {
    let lang = lang();
    let (date, month, weekday) = format::day_parts(lang, &row.starts);
    let ahead = matches!(row.phase, Phase::Announced | Phase::Lobby);
    let (id, opens, phase) = (row.id.to_string(), row.opens.clone(), row.phase);
    let lottery = row.mode == Mode::Lottery;
    let registers = row.registers.clone().filter(|_| phase == Phase::Announced);
    let from = row.from_price.map(|price| td_string!(lang, event.from, price = format::money(lang, price)).to_string());
    let (venue, city, starts, seats) = (row.venue.clone(), row.city.clone(), row.starts.clone(), seats_text(&row));
    view! {
        <div class="evening" data-testid="evening" data-performance=id>
            <time class="evening-date" datetime=format::machine_time(&starts)>
                <span>{weekday}</span>
                <b>{date}</b>
                <span>{month}</span>
            </time>
            <div class="evening-facts">
                <p class="evening-venue">{venue}</p>
                <p class="facts">
                    <span>{city}</span>
                    <span>{format::venue_clock(lang, &starts)}</span>
                    {from.map(|from| view! { <span>{from}</span> })}
                    <span>{seats}</span>
                    {lottery.then(|| view! { <span data-testid="lottery">{td_string!(lang, event.lottery)}</span> })}
                </p>
                <PhaseLabel phase mode=row.mode/>
            </div>
            <div class="evening-step">
                <Step row accent/>
            </div>
            {ahead.then(|| view! { <Opens registers opens lottery/> })}
        </div>
    }
    .into_any()
}

/// What comes next, with the time until then: that places are given, or that the sale opens.
#[component]
fn Opens(registers: Option<ZonedTime>, opens: ZonedTime, lottery: bool) -> impl IntoView {
    let lang = lang();
    let until = registers.as_ref().map_or(opens.at, |registers| registers.at);
    let text = if lottery { td_string!(lang, event.draws) } else { td_string!(lang, event.opens) };
    view! {
        <div class="evening-opens">
            {registers.map(|registers| view! {
                <p data-testid="registers">
                    {td_string!(lang, event.registers)}
                    " "
                    <time datetime=format::machine_time(&registers)>{format::moment(lang, &registers)}</time>
                </p>
            })}
            <p>
                {text}
                " "
                <time datetime=format::machine_time(&opens)>{format::moment(lang, &opens)}</time>
            </p>
            <Countdown until/>
        </div>
    }
    .into_any()
}

fn seats_text(row: &PerformanceRow) -> String {
    let lang = lang();
    if matches!(row.phase, Phase::Open | Phase::Paused) {
        td_string!(lang, event.stock, stock = format::number(row.stock), seats = format::number(row.seats)).to_string()
    } else {
        td_string!(lang, event.seats, seats = format::number(row.seats)).to_string()
    }
}

#[component]
fn Step(row: PerformanceRow, accent: bool) -> impl IntoView {
    let lang = lang();
    let text = match (row.phase, row.mode) {
        (Phase::Ended, _) => return view! { <p class="quiet">{td_string!(lang, event.ended)}</p> }.into_any(),
        (Phase::Announced, _) => td_string!(lang, event.look_in),
        (Phase::Lobby, Mode::Queue) => td_string!(lang, event.join),
        (Phase::Lobby, Mode::Lottery) => td_string!(lang, event.register),
        (Phase::Open | Phase::Paused, Mode::Queue) => td_string!(lang, event.get_tickets),
        (Phase::Open | Phase::Paused, Mode::Lottery) => td_string!(lang, event.see_turn),
    };
    let class = if accent { "button button-accent" } else { "button" };
    view! {
        <a class=class href=format!("/performances/{}/queue", row.id) data-testid="to-queue">
            {text}
            <Sign icon=Icon::Arrow/>
        </a>
    }
    .into_any()
}
