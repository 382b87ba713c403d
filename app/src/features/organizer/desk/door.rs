//! What the door does and why, and the open window of a lottery.

use super::board::{State, venue_time};
use crate::components::countdown::Countdown;
use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use domain::organizer::desk::{DeskWindow, DoorSample};
use domain::queue::Mode;
use domain::queue::control::Reason;
use leptos::prelude::*;

/// In place of a number that was not measured.
const NONE: &str = "–";

/// What the controller of the door decided last, with what it decides by.
#[component]
pub(super) fn Door(state: State) -> impl IntoView {
    let lang = lang();
    let door = Memo::new(move |_| state.view.with(|view| view.door));
    let lottery = state.view.with_untracked(|view| view.mode == Mode::Lottery);
    view! {
        <section class="desk-door" aria-labelledby="desk-door-title">
            <h2 id="desk-door-title">{td_string!(lang, desk.door)}</h2>
            {lottery.then(|| view! { <Windows state/> })}
            {move || match door.get() {
                Some(door) => view! { <Decided door/> }.into_any(),
                None => view! { <p class="quiet" data-testid="desk-door">{td_string!(lang, desk.door_rests)}</p> }.into_any(),
            }}
        </section>
    }
    .into_any()
}

#[component]
fn Decided(door: DoorSample) -> impl IntoView {
    let lang = lang();
    let ms = |value: String| td_string!(lang, desk.ms, count = value).to_string();
    let perhaps = |value: Option<f32>| value.map_or_else(|| NONE.to_owned(), |value| ms(format!("{value:.1}")));
    let (word, text) = reason(lang, door.reason);
    let numbers = [
        (td_string!(lang, desk.show_up), format!("{:.0}%", door.show_up * 100.0)),
        (td_string!(lang, desk.pace), format::number(door.pace_per_min)),
        (td_string!(lang, desk.rate_bound), format::number(door.rate_per_min)),
        (td_string!(lang, desk.hold_p99), perhaps(door.hold_p99_ms)),
        (td_string!(lang, desk.lag), ms(format::number(door.writer_lag_ms))),
        (td_string!(lang, desk.pool_wait), perhaps(door.pool_wait_ms)),
    ];
    let numbers =
        numbers.into_iter().map(|(name, value)| view! { <div><dt>{name}</dt><dd>{value}</dd></div> }).collect_view();
    view! {
        <p class="desk-reason" data-testid="desk-door" data-reason=word>{text}</p>
        <dl>{numbers}</dl>
    }
    .into_any()
}

/// The window of a lottery: which places, and until when.
#[component]
fn Windows(state: State) -> impl IntoView {
    let lang = lang();
    let open = Memo::new(move |_| state.view.with(|view| view.window.clone().map(|open| (open, view.serving))));
    view! {
        <div class="desk-window" data-testid="desk-window">
            {move || match open.get() {
                Some((open, serving)) => view! { <OpenWindow open serving/> }.into_any(),
                None => view! { <p class="quiet">{td_string!(lang, desk.no_window)}</p> }.into_any(),
            }}
        </div>
    }
    .into_any()
}

#[component]
fn OpenWindow(open: DeskWindow, serving: u32) -> impl IntoView {
    let lang = lang();
    let number = format::number(open.window.number);
    // People count places from one.
    let from = format::number(open.window.from.saturating_add(1));
    let places = td_string!(lang, desk.window, number = number, from = from, to = format::number(serving)).to_string();
    view! {
        <p class="desk-reason" data-number=open.window.number.to_string()>{places}</p>
        <p>{td_string!(lang, desk.window_closes)} " " {venue_time(&open.closes)}</p>
        <Countdown until=open.window.closes/>
    }
    .into_any()
}

/// Why the door serves as it does: a word for tests, and a sentence.
fn reason(lang: Locale, reason: Reason) -> (&'static str, &'static str) {
    match reason {
        Reason::Closed => ("closed", td_string!(lang, desk.door_closed)),
        Reason::NobodyWaits => ("nobody_waits", td_string!(lang, desk.door_nobody_waits)),
        Reason::NoStock => ("no_stock", td_string!(lang, desk.door_no_stock)),
        Reason::House => ("house", td_string!(lang, desk.door_house)),
        Reason::MeetsFull => ("meets_full", td_string!(lang, desk.door_meets_full)),
        Reason::Rate => ("rate", td_string!(lang, desk.door_rate)),
        Reason::HoldsSlow => ("holds_slow", td_string!(lang, desk.door_holds_slow)),
        Reason::WriterBehind => ("writer_behind", td_string!(lang, desk.door_writer_behind)),
        Reason::PoolWaits => ("pool_waits", td_string!(lang, desk.door_pool_waits)),
        Reason::Fills => ("fills", td_string!(lang, desk.door_fills)),
    }
}
