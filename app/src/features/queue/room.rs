//! The frame of the waiting room: who plays, the present stage, what is in the way, and the voices for
//! screen readers.

use super::{
    announce,
    api::{RoomView, Waited},
    call::{self, Call},
    draw::Draw,
    line::{SoldOut, Waiting},
    polling,
    requests::Trouble,
    stages::{Announced, Closed, Ended, Join, Lobby, Passed, SignInFirst, Turn},
    state::{Again, Pending, Stage, State},
    steps::Steps,
};
use crate::components::{
    cover::CoverStrip,
    icon::Icon,
    notice::{Refused, Remark},
    raw_text::Title,
};
use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use leptos::{either::Either, prelude::*, task::spawn_local};

/// How often a page without JavaScript loads itself anew, in seconds.
const RELOAD_S: u32 = 10;

/// The waiting room.
#[component]
pub(super) fn Room(view: RoomView) -> impl IntoView {
    let lang = lang();
    let nonce = StoredValue::new(view.nonce.clone());
    let performance = view.performance.clone();
    let state = State::new(view);
    let stage = Memo::new(move |_| state.stage());
    polling::start(state);
    let (polite, assertive) = announce::start(state, stage);
    view! {
        <Title text=move || title(lang, state, stage.get())/>
        <section class="queue" data-testid="queue" data-stage=move || stage.get().name()>
            <Performance view=performance/>
            <div class="queue-panel">
                <Refused error=state.refusal/>
                {move || match stage.get() {
                    Stage::SignIn => view! { <SignInFirst state/> }.into_any(),
                    Stage::Announced => view! { <Announced state/> }.into_any(),
                    Stage::Join => view! { <Join state/> }.into_any(),
                    Stage::Closed => view! { <Closed state/> }.into_any(),
                    Stage::Lobby => view! { <Lobby state/> }.into_any(),
                    Stage::Waiting => view! { <Waiting state/> }.into_any(),
                    Stage::SoldOut => view! { <SoldOut state nonce=nonce.get_value()/> }.into_any(),
                    Stage::Turn => view! { <Turn state nonce=nonce.get_value()/> }.into_any(),
                    Stage::Passed => view! { <Passed state/> }.into_any(),
                    Stage::Ended => view! { <Ended state/> }.into_any(),
                }}
                <InTheWay state/>
                <CallMe state stage/>
            </div>
            <Steps state stage/>
            <Draw state/>
            // The only places that speak: what is shown changes far more often than anybody wants to hear.
            <p class="visually-hidden" role="status" data-testid="voice">{move || polite.get()}</p>
            <p class="visually-hidden" role="alert" data-testid="voice-now">{move || assertive.get()}</p>
            <noscript inner_html=format!("<meta http-equiv=\"refresh\" content=\"{RELOAD_S}\">")></noscript>
        </section>
    }
    .into_any()
}

/// The title, which is all that is seen of a page behind others.
fn title(lang: Locale, state: State, stage: Stage) -> String {
    let words = match (stage, state.ahead()) {
        (Stage::Turn, _) => td_string!(lang, queue.title_turn).to_owned(),
        (Stage::Waiting, Some(ahead)) => td_string!(lang, queue.title_ahead, ahead = format::number(ahead)).to_string(),
        _ => td_string!(lang, queue.title).to_owned(),
    };
    format!("{words} · {}", state.performance.with_value(|view| view.artist.clone()))
}

/// What is waited for.
#[component]
fn Performance(view: Waited) -> impl IntoView {
    let lang = lang();
    view! {
        <header class="queue-head">
            <CoverStrip cover=view.cover picture=view.picture.clone()/>
            <div>
                <p class="overline">{td_string!(lang, queue.title)}</p>
                <h1><a href=format!("/events/{}", view.slug) rel="external">{view.artist}</a></h1>
                <p class="facts">
                    <time datetime=format::machine_time(&view.starts)>{format::moment(lang, &view.starts)}</time>
                    <span>{format!("{}, {}", view.venue, view.city)}</span>
                </p>
            </div>
        </header>
    }
}

/// What is in the way: what happened, since when, what is safe; or what is tried again in how long.
#[component]
fn InTheWay(state: State) -> impl IntoView {
    let lang = lang();
    let silent_for = move || {
        let heard = state.heard.get();
        let since = state.clock.now().map_or(0, |now| heard.until(now) / 1_000);
        td_string!(lang, queue.silent_for, time = format::short_clock(since)).to_string()
    };
    let again_in = move |again: Again| {
        let seconds = state.clock.now().map_or(0, |now| format::seconds_left(now, again.at));
        td_string!(lang, queue.again_in, seconds = seconds.max(1)).to_string()
    };
    view! {
        <div class="queue-in-the-way">
            {move || {
                let (trouble, again) = (state.trouble.get(), state.again.get());
                let (icon, name, text) = match (trouble, again) {
                    (Some(trouble), _) => (Icon::Attention, "offline", trouble_text(lang, trouble)),
                    (None, Some(again)) => (Icon::Clock, "again", pending_text(lang, again.what)),
                    (None, None) => return None,
                };
                let time = move || match again.filter(|_| trouble.is_none()) {
                    Some(again) => again_in(again),
                    None => silent_for(),
                };
                Some(view! {
                    <Remark icon>
                        <p data-testid=name>{text}</p>
                        <p class="figure">{time}</p>
                        {trouble.map(|_| view! { <p>{safe_text(lang, state)}</p> })}
                    </Remark>
                })
            }}
        </div>
    }
}

/// What keeps the page from StarArena.
pub(super) fn trouble_text(lang: Locale, trouble: Trouble) -> &'static str {
    match trouble {
        Trouble::Device => td_string!(lang, queue.offline_device),
        Trouble::Silence => td_string!(lang, queue.offline),
        Trouble::Fault => td_string!(lang, queue.offline_fault),
    }
}

/// What stays safe meanwhile.
fn safe_text(lang: Locale, state: State) -> &'static str {
    if state.arrival.get().is_some() {
        td_string!(lang, queue.offline_safe)
    } else {
        td_string!(lang, queue.offline_again)
    }
}

fn pending_text(lang: Locale, what: Pending) -> &'static str {
    match what {
        Pending::Join => td_string!(lang, queue.crowd),
        Pending::Full => td_string!(lang, queue.full),
        Pending::Enter => td_string!(lang, queue.door_busy),
    }
}

/// The offer to be called. Appears in the browser alone: without JavaScript nobody could call.
#[component]
fn CallMe(state: State, stage: Memo<Stage>) -> impl IntoView {
    let lang = lang();
    Effect::new(move |_| state.call.set(call::look()));
    let waits = move || matches!(stage.get(), Stage::Lobby | Stage::Waiting | Stage::SoldOut);
    let turn_on = move |_| {
        spawn_local(async move {
            let now = call::turn_on().await;
            // The page may be gone by the time that the question is answered.
            let _gone = state.call.try_set(now);
        });
    };
    let turn_off = move |_| state.call.set(call::turn_off());
    view! {
        <div class="queue-call">
            {move || match state.call.get() {
                Call::Unknown => None,
                _ if !waits() => None,
                Call::Offered => Some(Either::Left(view! {
                    <button class="button" type="button" on:click=turn_on data-testid="call-me">
                        {td_string!(lang, queue.call_me)}
                    </button>
                })),
                on => Some(Either::Right(view! {
                    <p class="quiet" data-testid="called">{called_text(lang, on)}</p>
                    <button class="link" type="button" on:click=turn_off data-testid="call-off">
                        {td_string!(lang, queue.call_off)}
                    </button>
                })),
            }}
        </div>
    }
}

fn called_text(lang: Locale, call: Call) -> &'static str {
    if call == Call::On { td_string!(lang, queue.called) } else { td_string!(lang, queue.called_by_sound) }
}
