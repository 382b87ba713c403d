//! The frame of the waiting room, and the state that its stages show.

use super::{
    Guest,
    api::{QueueEnter, QueueJoin, RoomView},
    polling,
    stages::{Draw, Ended, Lobby, SignInFirst, Turn, Waiting},
};
use crate::clock::{ServerClock, use_clock};
use crate::components::{
    cover::CoverStrip,
    icon::{Icon, Sign},
    notice::{Refused, Remark},
};
use crate::error::AppError;
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::{
    catalog::PerformanceView,
    queue::{Phase, QueueStatus, Standing},
};
use leptos::prelude::*;

/// How often a page without JavaScript loads itself anew, in seconds.
const RELOAD_S: u32 = 10;

/// What the page knows; learnt from the server-rendered data, then from polling.
#[derive(Clone, Copy)]
pub(super) struct State {
    pub(super) performance: StoredValue<PerformanceView>,
    pub(super) status: RwSignal<QueueStatus>,
    pub(super) arrival: RwSignal<Option<u32>>,
    /// The last poll failed: the page says so, and goes on trying.
    pub(super) offline: RwSignal<bool>,
    /// A refusal that needs the reader.
    pub(super) refusal: RwSignal<Option<AppError>>,
    pub(super) join: ServerAction<QueueJoin>,
    pub(super) enter: ServerAction<QueueEnter>,
    pub(super) clock: ServerClock,
    pub(super) guest: Guest,
}

/// Which part of the page is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    SignIn,
    Join,
    Lobby,
    Waiting,
    Turn,
    Ended,
}

impl State {
    /// Where this visitor stands; `None` without a place.
    pub(super) fn standing(self) -> Option<Standing> {
        let arrival = self.arrival.get()?;
        Some(self.status.with(|status| status.standing(arrival)))
    }

    fn stage(self) -> Stage {
        match self.standing() {
            _ if self.status.with(|status| status.phase == Phase::Ended) => Stage::Ended,
            _ if self.guest != Guest::Ready => Stage::SignIn,
            None => Stage::Join,
            Some(Standing::Lobby { .. }) => Stage::Lobby,
            Some(Standing::Waiting { .. }) => Stage::Waiting,
            Some(Standing::Turn { .. }) => Stage::Turn,
            Some(Standing::Ended) => Stage::Ended,
        }
    }
}

/// The waiting room.
#[component]
pub(super) fn Room(view: RoomView) -> impl IntoView {
    let lang = lang();
    let guest = Guest::of(&view);
    let state = State {
        performance: StoredValue::new(view.performance.clone()),
        status: RwSignal::new(view.status),
        arrival: RwSignal::new(view.arrival),
        offline: RwSignal::new(false),
        refusal: RwSignal::new(None),
        join: ServerAction::new(),
        enter: ServerAction::new(),
        clock: use_clock(),
        guest,
    };
    polling::start(state);
    let stage = Memo::new(move |_| state.stage());
    let nonce = StoredValue::new(view.nonce);
    // What a form without JavaScript was told, or what a background call needs the reader for.
    let refusal = Signal::derive(move || {
        let of_forms = || {
            state.enter.value().get().and_then(Result::err).or_else(|| state.join.value().get().and_then(Result::err))
        };
        state.refusal.get().or_else(of_forms)
    });
    view! {
        <section class="queue" data-testid="queue" data-stage=move || stage_name(stage.get())>
            <Performance view=view.performance/>
            <div class="queue-panel">
                <Refused error=refusal/>
                {move || match stage.get() {
                    Stage::SignIn => view! { <SignInFirst state/> }.into_any(),
                    Stage::Join => view! { <Join state/> }.into_any(),
                    Stage::Lobby => view! { <Lobby state/> }.into_any(),
                    Stage::Waiting => view! { <Waiting state/> }.into_any(),
                    Stage::Turn => view! { <Turn state nonce=nonce.get_value()/> }.into_any(),
                    Stage::Ended => view! { <Ended state/> }.into_any(),
                }}
                <div aria-live="polite">
                    {move || state.offline.get().then(|| view! {
                        <Remark icon=Icon::Attention><p>{td_string!(lang, queue.offline)}</p></Remark>
                    })}
                </div>
            </div>
            <Draw state/>
            <noscript inner_html=format!("<meta http-equiv=\"refresh\" content=\"{RELOAD_S}\">")></noscript>
        </section>
    }
    .into_any()
}

fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::SignIn => "sign-in",
        Stage::Join => "join",
        Stage::Lobby => "lobby",
        Stage::Waiting => "waiting",
        Stage::Turn => "turn",
        Stage::Ended => "ended",
    }
}

/// What is waited for.
#[component]
fn Performance(view: PerformanceView) -> impl IntoView {
    let lang = lang();
    view! {
        <header class="queue-head">
            <CoverStrip cover=view.cover picture=view.picture.clone()/>
            <div>
                <p class="overline">{td_string!(lang, queue.title)}</p>
                <h1><a href=format!("/events/{}", view.slug)>{view.artist}</a></h1>
                <p class="facts">
                    <time datetime=format::machine_time(&view.starts)>{format::moment(lang, &view.starts)}</time>
                    <span>{format!("{}, {}", view.venue, view.city)}</span>
                </p>
            </div>
        </header>
    }
    .into_any()
}

/// Taking a place: by itself with JavaScript, by this button without.
#[component]
fn Join(state: State) -> impl IntoView {
    let lang = lang();
    let performance = state.performance.with_value(|view| view.id.to_string());
    let closed = move || state.status.with(|status| status.phase == Phase::Announced);
    view! {
        <h2 class="queue-title">{td_string!(lang, queue.join_title)}</h2>
        {move || if closed() {
            view! { <p>{td_string!(lang, queue.announced)}</p> }.into_any()
        } else {
            let performance = performance.clone();
            view! {
                <p>{td_string!(lang, queue.join_text)}</p>
                <ActionForm action=state.join>
                    <input type="hidden" name="performance" value=performance/>
                    <button class="button button-accent button-large" type="submit" data-testid="join">
                        {td_string!(lang, queue.join)}
                        <Sign icon=Icon::Arrow/>
                    </button>
                </ActionForm>
            }
            .into_any()
        }}
    }
    .into_any()
}
