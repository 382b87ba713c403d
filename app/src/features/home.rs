//! The home page: what is on, as posters.

pub mod api;

use crate::components::raw_text::Title;
use crate::components::{
    cover::Cover,
    icon::{Icon, Sign},
    missing::Failure,
    phase::PhaseLabel,
};
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::{
    catalog::EventCard,
    queue::{Mode, Phase},
};
use leptos::{either::Either, prelude::*};

/// All events, the next one large.
#[component]
pub fn HomePage() -> impl IntoView {
    let lang = lang();
    let events = Resource::new(|| (), |()| api::events());
    view! {
        <Title text=td_string!(lang, home.title)/>
        <Suspense>
            {move || Suspend::new(async move {
                match events.await {
                    Ok(list) => Either::Left(view! { <Posters list/> }),
                    Err(error) => Either::Right(view! { <Failure error back="/"/> }),
                }
            })}
        </Suspense>
    }
    .into_any()
}

#[component]
fn Posters(list: Vec<EventCard>) -> impl IntoView {
    let lang = lang();
    let mut list = list.into_iter();
    let Some(lead) = list.next() else {
        return view! {
            <section class="column dead-end">
                <h1>{td_string!(lang, home.heading)}</h1>
                <p>{td_string!(lang, home.empty)}</p>
            </section>
        }
        .into_any();
    };
    let rest: Vec<_> = list.collect();
    let more = !rest.is_empty();
    view! {
        <div class="home">
            <Lead card=lead/>
            <Show when=move || more>
                <h2 class="home-more">{td_string!(lang, home.more)}</h2>
            </Show>
            <ul class="posters">
                {rest.into_iter().map(|card| view! { <li><Poster card/></li> }).collect_view()}
            </ul>
        </div>
    }
    .into_any()
}

fn address(card: &EventCard) -> String {
    format!("/events/{}", card.slug)
}

/// The next event: poster, facts, and the page's one action.
#[component]
fn Lead(card: EventCard) -> impl IntoView {
    let lang = lang();
    let href = address(&card);
    let action = match (card.phase, card.mode) {
        (Phase::Open | Phase::Paused, Mode::Queue) => td_string!(lang, home.get_tickets),
        (Phase::Lobby, Mode::Queue) => td_string!(lang, home.join),
        (Phase::Lobby, Mode::Lottery) => td_string!(lang, home.register),
        // After its opening a lottery is for those who registered.
        (Phase::Open | Phase::Paused, Mode::Lottery) | (Phase::Announced | Phase::Ended, _) => {
            td_string!(lang, home.look)
        }
    };
    view! {
        <section class="lead">
            <a class="lead-poster" href=href.clone() tabindex="-1" aria-hidden="true">
                <Cover cover=card.cover picture=card.picture.clone() artist=card.artist.clone() first=true/>
            </a>
            <div class="lead-facts">
                <PhaseLabel phase=card.phase mode=card.mode/>
                <h1 class="lead-artist">{card.artist.clone()}</h1>
                <p class="lead-title">{card.title.clone()}</p>
                <CardFacts card=card.clone()/>
                <a class="button button-accent button-large" href=href data-testid="lead">
                    {action}
                    <Sign icon=Icon::Arrow/>
                </a>
            </div>
        </section>
    }
    .into_any()
}

#[component]
fn Poster(card: EventCard) -> impl IntoView {
    view! {
        <a class="poster" href=address(&card) data-testid="event">
            <Cover cover=card.cover picture=card.picture.clone() artist=card.artist.clone()/>
            <h3>{card.artist.clone()}</h3>
            <p class="poster-title">{card.title.clone()}</p>
            <CardFacts card=card.clone()/>
            <PhaseLabel phase=card.phase mode=card.mode/>
        </a>
    }
    .into_any()
}

/// When, where, from how much.
#[component]
fn CardFacts(card: EventCard) -> impl IntoView {
    let lang = lang();
    let place = format!("{}, {}", card.venue, card.city);
    let opens = matches!(card.phase, Phase::Announced | Phase::Lobby)
        .then(|| td_string!(lang, home.opens, moment = format::moment(lang, &card.opens)));
    let registers = card.registers.as_ref().filter(|_| card.phase == Phase::Announced);
    let registers = registers.map(|at| td_string!(lang, home.registers, moment = format::moment(lang, at)));
    view! {
        <p class="facts">
            <time datetime=format::machine_time(&card.starts)>{format::date_time(lang, &card.starts)}</time>
            <span>{place}</span>
            {card.from_price.map(|price| view! { <span>{td_string!(lang, home.from, price = format::money(lang, price))}</span> })}
            {registers.map(|registers| view! { <span class="facts-opens">{registers}</span> })}
            {opens.map(|opens| view! { <span class="facts-opens">{opens}</span> })}
        </p>
    }
    .into_any()
}
