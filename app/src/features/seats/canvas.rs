//! The map's place in the page: the canvas with its events, what lies over it, and what is read out.
//!
//! The server renders an empty canvas with legend and buttons; everything else begins in effects.

use super::board::{Board, Tip};
use super::browser_only::BrowserOnly;
use super::chart::Direction;
use super::house::House;
use super::legend::Legend;
use super::room::{Room, Status};
use super::words;
use crate::format;
use crate::i18n::td_string;
use domain::SeatNo;
use domain::hold::SeatState;
use domain::venue::Point;
use leptos::ev::{KeyboardEvent, PointerEvent, WheelEvent};
use leptos::html::Canvas;
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use wasm_bindgen::JsCast as _;
use wasm_bindgen::closure::Closure;
use web_sys::{HtmlCanvasElement, MediaQueryList, ResizeObserver};

/// Rough width of the tip, to keep it inside the map.
const TIP_PX: f64 = 176.0;
/// Above this, there is no room for the tip over its seat.
const TIP_TOP_PX: f64 = 92.0;

/// The board and what keeps it informed; ends with the page.
#[derive(Debug)]
struct Mounted {
    board: Board,
    observer: Option<ResizeObserver>,
    dark: Option<MediaQueryList>,
    _resized: Closure<dyn FnMut()>,
    _rethemed: Closure<dyn FnMut()>,
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.observer.iter().for_each(ResizeObserver::disconnect);
        self.dark.iter().for_each(|query| query.set_onchange(None));
    }
}

impl Mounted {
    fn new(canvas: &HtmlCanvasElement, room: Room, tip: RwSignal<Option<Tip>>) -> Option<Self> {
        let board = Board::new(canvas.clone(), room, tip)?;
        let on_resize = board.clone();
        let resized = Closure::<dyn FnMut()>::new(move || on_resize.resize());
        let observer = ResizeObserver::new(resized.as_ref().unchecked_ref()).ok();
        observer.iter().for_each(|observer| observer.observe(canvas));
        let on_theme = board.clone();
        let rethemed = Closure::<dyn FnMut()>::new(move || on_theme.retheme());
        let dark = window().match_media("(prefers-color-scheme: dark)").ok().flatten();
        dark.iter().for_each(|query| query.set_onchange(Some(rethemed.as_ref().unchecked_ref())));
        Some(Self { board, observer, dark, _resized: resized, _rethemed: rethemed })
    }
}

type Place = BrowserOnly<Mounted>;

fn with_board(place: Place, act: impl FnOnce(&Board)) {
    // The board is cloned out: what it does may reach back to this place.
    let board = place.with(|mounted| mounted.board.clone());
    if let Some(board) = board {
        act(&board);
    }
}

/// The map with its legend, buttons, tip and announcements.
#[component]
pub fn HouseMap(
    /// The page's state.
    room: Room,
) -> impl IntoView {
    let lang = room.lang;
    let canvas = NodeRef::<Canvas>::new();
    let place = Place::new();
    let tip = RwSignal::new(None);
    mount(room, canvas, place, tip);
    let label = room.view.with_value(|view| td_string!(lang, seats.map_label, venue = &view.venue));
    let zones = room.zones.get_value();
    let available = move || {
        room.version.track();
        room.with_house(|house| house.is_ready().then(|| house.available().to_string())).flatten()
    };
    let last_change = move || room.change.get().map(|change| format!("{}:{}", change.seat, state_word(change.state)));
    let over_seat = move || matches!(tip.get(), Some(Tip::Seat(seat, _)) if room.with_house(|house| house.is_free(seat)) == Some(true));
    view! {
        <section class="house" aria-label=td_string!(lang, seats.title) data-testid="house">
            <div class="house-floor">
                <canvas
                    node_ref=canvas
                    class:over-seat=over_seat
                    tabindex="0"
                    role="application"
                    aria-label=label
                    aria-describedby="map-help"
                    data-testid="seat-map"
                    data-ready=move || available().map(|_| "true")
                    data-available=available
                    data-last-change=last_change
                    on:pointerdown=move |ev| with_board(place, |board| pointer_down(board, &ev))
                    on:pointermove=move |ev: PointerEvent| with_board(place, |board| {
                        board.pointer_move(ev.pointer_id(), at(&ev), is_touch(&ev));
                    })
                    on:pointerup=move |ev: PointerEvent| with_board(place, |board| {
                        board.pointer_up(ev.pointer_id(), at(&ev), is_touch(&ev), ev.time_stamp());
                    })
                    on:pointercancel=move |ev: PointerEvent| with_board(place, |board| board.pointer_gone(ev.pointer_id()))
                    on:pointerleave=move |ev: PointerEvent| with_board(place, |board| board.pointer_gone(ev.pointer_id()))
                    on:wheel=move |ev| with_board(place, |board| wheel(board, &ev))
                    on:keydown=move |ev| with_board(place, |board| key(board, &ev))
                ></canvas>
                <ZoomButtons room place/>
                <TipBox room tip canvas/>
                <StatusLine room/>
            </div>
            <p id="map-help" class="visually-hidden">{td_string!(lang, seats.map_help)}</p>
            <Announcement room/>
            <Legend zones lang/>
        </section>
    }
}

/// Starts the board in the browser, and keeps it up to the room.
fn mount(room: Room, canvas: NodeRef<Canvas>, place: Place, tip: RwSignal<Option<Tip>>) {
    let query = use_query_map();
    let asked = query.with_untracked(|query| query.get("focus").and_then(|seat| seat.parse().ok()).map(SeatNo));
    Effect::new(move |_| {
        if let Some(mounted) = canvas.get().and_then(|canvas| Mounted::new(&canvas, room, tip)) {
            place.set(mounted);
        }
    });
    Effect::new(move |_| {
        room.version.track();
        with_board(place, Board::redraw);
    });
    Effect::new(move |_| {
        let changed = room.changed.get();
        with_board(place, |board| board.pulse(&changed));
    });
    // Once the chart is there: the first view, and the seat that the address asks for.
    Effect::new(move |loaded: Option<bool>| {
        room.version.track();
        let there = room.with_house(|_| ()).is_some() && canvas.get().is_some();
        if there && loaded != Some(true) {
            with_board(place, |board| {
                board.resize();
                if let Some(seat) = asked {
                    board.focus(seat);
                }
            });
        }
        there
    });
}

fn at(ev: &PointerEvent) -> Point {
    Point::new(ev.offset_x().into(), ev.offset_y().into())
}

fn is_touch(ev: &PointerEvent) -> bool {
    ev.pointer_type() != "mouse"
}

fn pointer_down(board: &Board, ev: &PointerEvent) {
    if ev.button() != 0 {
        return;
    }
    if let Some(target) = ev.target().and_then(|target| target.dyn_into::<web_sys::Element>().ok()) {
        // Fails when the pointer is up again already; then nothing is to be followed.
        drop(target.set_pointer_capture(ev.pointer_id()));
    }
    board.pointer_down(ev.pointer_id(), at(ev), is_touch(ev), ev.time_stamp());
}

fn wheel(board: &Board, ev: &WheelEvent) {
    ev.prevent_default();
    let unit_px = if ev.delta_mode() == WheelEvent::DOM_DELTA_PIXEL { 1.0 } else { 24.0 };
    let at = Point::new(ev.offset_x().into(), ev.offset_y().into());
    board.wheel(at, ev.delta_y() * unit_px, ev.ctrl_key());
}

fn key(board: &Board, ev: &KeyboardEvent) {
    if ev.ctrl_key() || ev.meta_key() || ev.alt_key() {
        return;
    }
    match ev.key().as_str() {
        "ArrowLeft" => board.arrow(Direction::Left, ev.shift_key()),
        "ArrowRight" => board.arrow(Direction::Right, ev.shift_key()),
        "ArrowUp" => board.arrow(Direction::Up, ev.shift_key()),
        "ArrowDown" => board.arrow(Direction::Down, ev.shift_key()),
        "+" | "=" => board.zoom(true),
        "-" | "_" => board.zoom(false),
        "0" => board.fit(),
        "Enter" | " " => board.press(),
        "Escape" => board.leave(),
        _ => return,
    }
    ev.prevent_default();
}

fn state_word(state: SeatState) -> &'static str {
    match state {
        SeatState::Available => "available",
        SeatState::Held => "held",
        SeatState::Sold => "sold",
        SeatState::Blocked => "blocked",
    }
}

/// Place, price and state of a seat.
fn seat_lines(room: Room, seat: SeatNo) -> [String; 2] {
    let details = room.with_house(|house| {
        let chart = house.chart();
        let price = room.zones.with_value(|zones| {
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
        room.version.track();
        room.focus.get().map(|seat| seat_lines(room, seat).join(words::comma(room.lang)))
    });
    view! { <p class="visually-hidden" aria-live="polite" data-testid="announcement">{text}</p> }
}

/// Closer, farther, whole house.
#[component]
fn ZoomButtons(room: Room, place: Place) -> impl IntoView {
    let lang = room.lang;
    let button = move |name: &'static str, testid: &'static str, path: &'static str, act: fn(&Board)| {
        view! {
            <button type="button" aria-label=name title=name data-testid=testid on:click=move |_| with_board(place, act)>
                <svg viewBox="0 0 20 20" aria-hidden="true" focusable="false"><path d=path></path></svg>
            </button>
        }
    };
    view! {
        <div class="house-zoom">
            {button(td_string!(lang, seats.zoom_in), "zoom-in", "M10 4v12M4 10h12", |board| board.zoom(true))}
            {button(td_string!(lang, seats.zoom_out), "zoom-out", "M4 10h12", |board| board.zoom(false))}
            {button(td_string!(lang, seats.fit), "zoom-fit", "M4 8V4h4M12 4h4v4M16 12v4h-4M8 16H4v-4", Board::fit)}
        </div>
    }
}

/// What the mouse rests on. Only ever shown by a browser, so its place may be set in script.
#[component]
fn TipBox(room: Room, tip: RwSignal<Option<Tip>>, canvas: NodeRef<Canvas>) -> impl IntoView {
    move || {
        room.version.track();
        let (lines, at) = match tip.get()? {
            Tip::Seat(seat, at) => (seat_lines(room, seat), at),
            Tip::Block(block, at) => (room.with_house(|house| block_lines(room, house, block)).flatten()?, at),
        };
        let width = canvas.get_untracked().map_or(0.0, |canvas| canvas.client_width().into());
        let x = (at.x - TIP_PX / 2.0).clamp(8.0, f64::max(8.0, width - TIP_PX - 8.0)).round();
        let above = at.y > TIP_TOP_PX;
        let y = if above { at.y - 10.0 } else { at.y + 34.0 }.round();
        let shift = if above { "-100%" } else { "0" };
        let [place, details] = lines;
        Some(view! {
            <div class="seat-tip" aria-hidden="true" data-testid="seat-tip" style:transform=format!("translate({x}px, {y}px) translateY({shift})")>
                <strong>{place}</strong>
                <span>{details}</span>
            </div>
        })
    }
}

/// Name, free seats and prices of a section.
fn block_lines(room: Room, house: &House, index: usize) -> Option<[String; 2]> {
    let (block, tally) = (house.chart().blocks().get(index)?, house.tallies().get(index)?);
    let name = td_string!(room.lang, seats.section_name, section = &block.name);
    if tally.free == 0 {
        return Some([name, td_string!(room.lang, seats.section_none).to_owned()]);
    }
    let free = td_string!(room.lang, seats.section_available, count = format::number(tally.free));
    let prices: Vec<_> = room.zones.with_value(|zones| {
        zones
            .list()
            .iter()
            .filter(|zone| tally.by_colour[usize::from(zone.colour)] > 0)
            .map(|zone| zone.price)
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
        match room.status.get() {
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
}
