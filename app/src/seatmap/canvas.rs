//! The canvas in the page: its element with its events, the zoom buttons and the tip.
//!
//! The server renders an empty canvas with its buttons; everything else begins in effects.

use super::board::{Board, Press};
use super::browser_only::BrowserOnly;
use super::chart::Direction;
use super::scene::{Host, Meant, Tip};
use crate::i18n::{Locale, td_string};
use domain::SeatNo;
use domain::hold::SeatState;
use domain::venue::Point;
use leptos::ev::{KeyboardEvent, PointerEvent, WheelEvent};
use leptos::html::Canvas;
use leptos::prelude::*;
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
    fn new(canvas: &HtmlCanvasElement, host: Host, tip: RwSignal<Option<Tip>>) -> Option<Self> {
        let board = Board::new(canvas.clone(), host, tip)?;
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

/// The canvas with zoom buttons and tip; `children` lie over it.
#[component]
pub fn Floor(
    /// The map's state and its page.
    host: Host,
    /// The accessible name of the map.
    #[prop(into)]
    label: String,
    /// The id of the text that says how to use it.
    help: &'static str,
    /// The seat to begin at.
    start: Option<SeatNo>,
    /// What lies over the canvas.
    children: Children,
) -> impl IntoView {
    let scene = host.scene;
    let canvas = NodeRef::<Canvas>::new();
    let place = Place::new();
    let tip = RwSignal::new(None);
    mount(host, canvas, place, tip, start);
    let available = move || {
        scene.version.track();
        scene.with_house(|house| house.is_ready().then(|| house.available().to_string())).flatten()
    };
    let last_change = move || scene.change.get().map(|change| format!("{}:{}", change.seat, state_word(change.state)));
    let over_seat = move || match tip.get() {
        Some(Tip::Seat(seat, _)) => host.any_seat || scene.with_house(|house| house.is_free(seat)) == Some(true),
        Some(Tip::Block(block, _)) => {
            !host.any_seat && scene.with_house(|house| house.chart().pit_of_block(block).is_some()) == Some(true)
        }
        None => false,
    };
    view! {
        <div class="house-floor">
            <canvas
                node_ref=canvas
                class:over-seat=over_seat
                tabindex="0"
                role="application"
                aria-label=label
                aria-describedby=help
                data-testid="seat-map"
                data-ready=move || available().map(|_| "true")
                data-available=available
                data-last-change=last_change
                on:pointerdown=move |ev| with_board(place, |board| pointer_down(board, &ev))
                on:pointermove=move |ev: PointerEvent| with_board(place, |board| board.pointer_move(press(&ev)))
                on:pointerup=move |ev: PointerEvent| with_board(place, |board| board.pointer_up(press(&ev)))
                on:pointercancel=move |ev: PointerEvent| with_board(place, |board| board.pointer_gone(ev.pointer_id()))
                on:pointerleave=move |ev: PointerEvent| with_board(place, |board| board.pointer_gone(ev.pointer_id()))
                on:wheel=move |ev| with_board(place, |board| wheel(board, &ev))
                on:keydown=move |ev| with_board(place, |board| key(board, &ev))
            ></canvas>
            <ZoomButtons lang=scene.lang place/>
            <TipBox host tip canvas/>
            {children()}
        </div>
    }
    .into_any()
}

/// Starts the board in the browser, and keeps it up to the scene.
fn mount(host: Host, canvas: NodeRef<Canvas>, place: Place, tip: RwSignal<Option<Tip>>, start: Option<SeatNo>) {
    let scene = host.scene;
    Effect::new(move |_| {
        if let Some(mounted) = canvas.get().and_then(|canvas| Mounted::new(&canvas, host, tip)) {
            place.set(mounted);
        }
    });
    Effect::new(move |_| {
        scene.version.track();
        with_board(place, Board::redraw);
    });
    Effect::new(move |_| {
        let changed = scene.changed.get();
        with_board(place, |board| board.pulse(&changed));
    });
    // Once a chart is there: the first view, and the seat to begin at.
    Effect::new(move |shown: Option<u32>| {
        let charts = scene.charts.get();
        if charts == 0 || canvas.get().is_none() {
            return 0;
        }
        if shown != Some(charts) {
            with_board(place, |board| {
                if scene.is_newer() {
                    return board.exchange();
                }
                board.renew();
                if let Some(seat) = scene.focus.get_untracked().or(start) {
                    board.focus(seat);
                }
            });
        }
        charts
    });
    Effect::new(move |_| {
        let seat = scene.focus.get();
        with_board(place, |board| board.follow(seat));
    });
}

fn press(ev: &PointerEvent) -> Press {
    Press {
        id: ev.pointer_id(),
        at: Point::new(ev.offset_x().into(), ev.offset_y().into()),
        touch: ev.pointer_type() != "mouse",
        removes: ev.shift_key() || ev.alt_key(),
        now_ms: ev.time_stamp(),
    }
}

fn pointer_down(board: &Board, ev: &PointerEvent) {
    if ev.button() != 0 {
        return;
    }
    if let Some(target) = ev.target().and_then(|target| target.dyn_into::<web_sys::Element>().ok()) {
        // Fails when the pointer is up again already; then nothing is to be followed.
        drop(target.set_pointer_capture(ev.pointer_id()));
    }
    board.pointer_down(press(ev));
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
        "r" | "R" => board.ask(Meant::Row),
        "s" | "S" => board.ask(Meant::Section),
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

/// Closer, farther, whole house.
#[component]
fn ZoomButtons(lang: Locale, place: Place) -> impl IntoView {
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
    .into_any()
}

/// What the mouse rests on. Only ever shown by a browser, so its place may be set in script.
#[component]
fn TipBox(host: Host, tip: RwSignal<Option<Tip>>, canvas: NodeRef<Canvas>) -> impl IntoView {
    move || {
        host.scene.version.track();
        let on = tip.get()?;
        let (Tip::Seat(_, at) | Tip::Block(_, at)) = on;
        let [place, details] = host.tell.run(on)?;
        let width = canvas.get_untracked().map_or(0.0, |canvas| canvas.client_width().into());
        let x = (at.x - TIP_PX / 2.0).clamp(8.0, f64::max(8.0, width - TIP_PX - 8.0)).round();
        let above = at.y > TIP_TOP_PX;
        let y = if above { at.y - 10.0 } else { at.y + 34.0 }.round();
        let shift = if above { "-100%" } else { "0" };
        Some(view! {
            <div class="seat-tip" aria-hidden="true" data-testid="seat-tip" style:transform=format!("translate({x}px, {y}px) translateY({shift})")>
                <strong>{place}</strong>
                <span>{details}</span>
            </div>
        })
    }
}
