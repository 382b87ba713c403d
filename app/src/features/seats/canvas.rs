//! The buyers' map: the canvas with its legend, its status, what is said of seats, and what is read out.

use super::room::Room;
use crate::format;
use crate::i18n::td_string;
use crate::seatmap::canvas::Floor;
use crate::seatmap::chart::Pit;
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
    let query = use_query_map();
    let start = query.with_untracked(|query| query.get("focus").and_then(|seat| seat.parse().ok()).map(SeatNo));
    let host = Host {
        scene: room.scene,
        meant: Callback::new(move |meant| match meant {
            Meant::Seat(seat) => room.mean(seat, false),
            Meant::Pressed(seat) => room.mean(seat, true),
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
    let kept = Signal::derive(move || room.openings.read().any());
    let legend = move || {
        room.renewed.track();
        view! { <Legend zones=room.scene.zones.get_value() lang kept/> }
    };
    view! {
        <section class="house" aria-label=td_string!(lang, seats.title) data-testid="house">
            <Floor host label help="map-help" start>
                <StatusLine room/>
            </Floor>
            <p id="map-help" class="visually-hidden">{td_string!(lang, seats.map_help)}</p>
            <Announcement room/>
            {legend}
        </section>
    }
    .into_any()
}

/// Place, price and state of a seat; of a standing area, how many places are free.
fn seat_lines(room: Room, seat: SeatNo) -> [String; 2] {
    if let Some(lines) = room.with_house(|house| pit_lines(room, house, house.chart().pit_of(seat)?)).flatten() {
        return lines;
    }
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

/// Name, price and free places of a standing area.
fn pit_lines(room: Room, house: &House, pit: &Pit) -> Option<[String; 2]> {
    let name = td_string!(room.lang, seats.area_name, area = &pit.name);
    let free = house.free_in(pit);
    if free == 0 {
        return Some([name, td_string!(room.lang, seats.section_none).to_owned()]);
    }
    let price = words::prices(room.lang, room.prices_in(house, pit.area));
    Some([name, td_string!(room.lang, seats.list_area_facts, price = price, count = format::number(free))])
}

/// Name, free seats and prices of a section.
fn block_lines(room: Room, house: &House, index: usize) -> Option<[String; 2]> {
    if let Some(pit) = house.chart().pit_of_block(index) {
        return pit_lines(room, house, pit);
    }
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
    if prices.is_empty() {
        return Some([name, free]);
    }
    let range = words::prices(room.lang, prices.last().copied().zip(prices.first().copied()));
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
