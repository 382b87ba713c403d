//! The buyers' map: the canvas with its legend, its status, what is said of seats, and what is read out.

use super::room::Room;
use crate::format;
use crate::i18n::td_string;
use crate::seatmap::canvas::Floor;
use crate::seatmap::house::House;
use crate::seatmap::legend::Legend;
use crate::seatmap::picking::Mode;
use crate::seatmap::scene::{Host, Meant, Status, Tip};
use crate::seatmap::words;
use domain::SeatNo;
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

/// The map with its legend, buttons, tip and announcements.
#[component]
pub fn HouseMap(
    /// The page's state.
    room: Room,
) -> impl IntoView {
    let lang = room.lang;
    let label = room.view.with_value(|view| td_string!(lang, seats.map_label, venue = &view.venue));
    let zones = room.scene.zones.get_value();
    let query = use_query_map();
    let start = query.with_untracked(|query| query.get("focus").and_then(|seat| seat.parse().ok()).map(SeatNo));
    let host = Host {
        scene: room.scene,
        meant: Callback::new(move |meant| match meant {
            Meant::Seat(seat) | Meant::Pressed(seat) => room.toggle(seat),
            // Nothing else is meant where one chooses seat by seat.
            Meant::Block(_) | Meant::Seats { .. } | Meant::Row | Meant::Section => {}
        }),
        tell: Callback::new(move |on| match on {
            Tip::Seat(seat, _) => Some(seat_lines(room, seat)),
            Tip::Block(block, _) => room.with_house(|house| block_lines(room, house, block)).flatten(),
        }),
        mode: Signal::stored(Mode::Move),
        any_seat: false,
    };
    view! {
        <section class="house" aria-label=td_string!(lang, seats.title) data-testid="house">
            <Floor host label help="map-help" start>
                <StatusLine room/>
            </Floor>
            <p id="map-help" class="visually-hidden">{td_string!(lang, seats.map_help)}</p>
            <Announcement room/>
            <Legend zones lang kept=Signal::derive(move || room.openings.read().any())/>
        </section>
    }
    .into_any()
}

/// Place, price and state of a seat.
fn seat_lines(room: Room, seat: SeatNo) -> [String; 2] {
    let details = room.with_house(|house| {
        let chart = house.chart();
        let price = room.scene.zones.with_value(|zones| {
            let zone = zones.of_category(chart.category(seat));
            words::price(room.lang, zone)
        });
        let state = words::standing(room.lang, house.standing(seat));
        let mut parts = vec![price.as_str()];
        parts.extend(words::kind(room.lang, chart.kind(seat)));
        // "Not for sale" is said once.
        if price != state {
            parts.push(state);
        }
        parts.join(words::comma(room.lang))
    });
    [room.place(seat), details.unwrap_or_default()]
}

/// Says which seat the keyboard is on: "Section 104, row C, seat 12, €45.00, available".
#[component]
fn Announcement(room: Room) -> impl IntoView {
    let text = Memo::new(move |_| {
        room.scene.version.track();
        room.scene.focus.get().map(|seat| seat_lines(room, seat).join(words::comma(room.lang)))
    });
    view! { <p class="visually-hidden" aria-live="polite" data-testid="announcement">{text}</p> }.into_any()
}

/// Name, free seats and prices of a section.
fn block_lines(room: Room, house: &House, index: usize) -> Option<[String; 2]> {
    let (block, tally) = (house.chart().blocks().get(index)?, house.tallies().get(index)?);
    let name = td_string!(room.lang, seats.section_name, section = &block.name);
    if tally.free == 0 {
        return Some([name, td_string!(room.lang, seats.section_none).to_owned()]);
    }
    let free = td_string!(room.lang, seats.section_available, count = format::number(tally.free));
    let prices: Vec<_> = room.scene.zones.with_value(|zones| {
        zones
            .list()
            .iter()
            .zip(&tally.by_zone)
            .filter(|(_, free)| **free > 0)
            .filter_map(|(zone, _)| zone.price)
            .collect()
    });
    let range = match (prices.last(), prices.first()) {
        (Some(from), Some(to)) if from != to => td_string!(
            room.lang,
            seats.price_range,
            from = format::money(room.lang, *from),
            to = format::money(room.lang, *to)
        ),
        (Some(price), _) => format::money(room.lang, *price),
        (None, _) => return Some([name, free]),
    };
    Some([name, format!("{free}{}{range}", words::comma(room.lang))])
}

/// Where the map stands: drawing, reconnecting, failed. Without script, the way to the list.
#[component]
fn StatusLine(room: Room) -> impl IntoView {
    let lang = room.lang;
    let list = format!("/performances/{}/list", room.performance);
    let link = list.clone();
    let body = move || {
        match room.scene.status.get() {
        Status::Loading => {
            view! { <div class="house-message is-waiting"><p>{td_string!(lang, seats.map_loading)}</p></div> }.into_any()
        }
        Status::Live => ().into_any(),
        Status::Reconnecting => {
            view! { <p class="house-status" data-testid="reconnecting">{td_string!(lang, seats.map_reconnecting)}</p> }.into_any()
        }
        Status::Failed => view! {
            <div class="house-message" data-testid="map-failed">
                <p>{td_string!(lang, seats.map_failed)}</p>
                <button type="button" class="button" on:click=move |_| room.load()>{td_string!(lang, seats.try_again)}</button>
                <a href=list.clone()>{td_string!(lang, seats.to_list)}</a>
            </div>
        }
        .into_any(),
    }
    };
    view! {
        <div role="status">{body}</div>
        // Shown by the style sheet where there is no script; a noscript element can't be hydrated.
        <div class="house-message is-unscripted">
            <p>{td_string!(lang, seats.map_needs_script)}</p>
            <a class="button" href=link>{td_string!(lang, seats.to_list)}</a>
        </div>
    }
    .into_any()
}
