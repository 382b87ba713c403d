//! The stages of waiting, from signing in to the open door.

use super::{Guest, room::State};
use crate::components::{
    countdown::Countdown,
    icon::{Icon, Sign},
    notice::Remark,
};
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::queue::{Phase, Standing};
use leptos::prelude::*;

/// What has to be done before a place can be taken.
#[component]
pub(super) fn SignInFirst(state: State) -> impl IntoView {
    let lang = lang();
    let next = state.performance.with_value(|view| format!("/performances/{}/queue", view.id));
    let unconfirmed = state.guest == Guest::Unconfirmed;
    let (text, href, action) = if unconfirmed {
        (td_string!(lang, queue.confirm_first), "/confirm".to_owned(), td_string!(lang, queue.confirm))
    } else {
        (td_string!(lang, queue.sign_in_first), format!("/sign-in?next={next}"), td_string!(lang, common.sign_in))
    };
    view! {
        <h2 class="queue-title">{td_string!(lang, queue.join_title)}</h2>
        <Opening state/>
        <p>{text}</p>
        <p class="actions">
            <a class="button button-accent button-large" href=href>
                {action}
                <Sign icon=Icon::Arrow/>
            </a>
            {(!unconfirmed).then(|| view! {
                <a class="button" href=format!("/sign-up?next={next}")>{td_string!(lang, queue.sign_up)}</a>
            })}
        </p>
    }
    .into_any()
}

/// The countdown to the opening, while it is ahead.
#[component]
fn Opening(state: State) -> impl IntoView {
    let lang = lang();
    let ahead = Memo::new(move |_| state.status.with(|status| matches!(status.phase, Phase::Announced | Phase::Lobby)));
    let opens = state.performance.with_value(|view| view.opens.clone());
    move || {
        ahead.get().then(|| {
            let (until, rendered) = state.status.with_untracked(|status| (status.opens_at, status.now));
            view! {
                <Countdown until rendered=Some(rendered)/>
                <p class="queue-opens">
                    {td_string!(lang, queue.opens)} " "
                    <time datetime=format::machine_time(&opens)>{format::moment(lang, &opens)}</time>
                </p>
            }
        })
    }
}

/// Before the draw: everybody has the same chance.
#[component]
pub(super) fn Lobby(state: State) -> impl IntoView {
    let lang = lang();
    let joined = move || match state.standing() {
        Some(Standing::Lobby { joined }) => format::number(joined),
        _ => String::new(),
    };
    // After the opening the draw takes a moment to arrive.
    let drawing = move || state.status.with(|status| matches!(status.phase, Phase::Open | Phase::Paused));
    view! {
        <p class="queue-safe" role="status"><Sign icon=Icon::Check/>{td_string!(lang, queue.in_lobby)}</p>
        {move || if drawing() {
            view! { <h2 class="queue-title">{td_string!(lang, queue.drawing)}</h2> }.into_any()
        } else {
            view! { <h2 class="queue-title">{td_string!(lang, queue.lobby_title)}</h2> }.into_any()
        }}
        <Opening state/>
        <p>{td_string!(lang, queue.lobby_text)}</p>
        <p class="quiet">
            <b class="figure" data-testid="joined">{joined}</b> " " {td_string!(lang, queue.joined)}
        </p>
        <PutDown/>
    }
    .into_any()
}

/// Drawn, and not yet reached.
#[component]
pub(super) fn Waiting(state: State) -> impl IntoView {
    let lang = lang();
    let standing = move || match state.standing() {
        Some(Standing::Waiting { place, ahead, wait_ms }) => (place, ahead, wait_ms),
        _ => (0, 0, None),
    };
    let place = move || u64::from(standing().0) + 1;
    let served = move || state.status.with(|status| u64::from(status.serving).min(place()));
    let estimate = move || estimate_text(standing().2);
    // Screen readers hear a new estimate, at most once a minute of it, not every poll.
    let announced = Memo::new(move |_| estimate());
    let paused = move || state.status.with(|status| status.phase == Phase::Paused);
    let sold_out = move || state.status.with(|status| status.stock == 0);
    view! {
        <p class="queue-safe"><Sign icon=Icon::Check/>{td_string!(lang, queue.place_safe)}</p>
        <div class="queue-figures">
            <p>
                <span class="overline">{td_string!(lang, queue.ahead)}</span>
                <b class="queue-ahead" data-testid="ahead">{move || format::number(standing().1)}</b>
            </p>
            <p>
                <span class="overline">{td_string!(lang, queue.place)}</span>
                <b class="queue-place" data-testid="place">{move || format::number(place())}</b>
            </p>
        </div>
        <progress
            class="queue-line"
            max=move || place().to_string()
            value=move || served().to_string()
            aria-label=td_string!(lang, queue.progress)
        ></progress>
        <p class="queue-estimate" aria-live="polite" data-testid="estimate">{move || announced.get()}</p>
        {move || paused().then(|| view! { <Remark icon=Icon::Clock><p>{td_string!(lang, queue.paused)}</p></Remark> })}
        {move || sold_out().then(|| view! { <Remark icon=Icon::Ticket><p>{td_string!(lang, queue.no_stock)}</p></Remark> })}
        <PutDown/>
    }
    .into_any()
}

fn estimate_text(wait_ms: Option<i64>) -> String {
    let lang = lang();
    match wait_ms.map(format::wait_minutes) {
        None => td_string!(lang, queue.no_estimate).to_owned(),
        Some(None) => td_string!(lang, queue.soon).to_owned(),
        Some(Some((low, high))) => td_string!(lang, queue.estimate, low = low, high = high).to_string(),
    }
}

/// May enter: the page goes on by itself; the button is for pages without JavaScript, and for trying
/// again.
#[component]
pub(super) fn Turn(state: State, nonce: String) -> impl IntoView {
    let lang = lang();
    let performance = state.performance.with_value(|view| view.id.to_string());
    view! {
        <h2 class="queue-title queue-turn" role="status" data-testid="turn">{td_string!(lang, queue.turn)}</h2>
        <p>{td_string!(lang, queue.turn_text)}</p>
        <ActionForm action=state.enter>
            <input type="hidden" name="performance" value=performance/>
            <input type="hidden" name="nonce" value=nonce/>
            <button class="button button-accent button-large" type="submit" data-testid="enter">
                {td_string!(lang, queue.enter)}
                <Sign icon=Icon::Arrow/>
            </button>
        </ActionForm>
    }
    .into_any()
}

/// The sale is over.
#[component]
pub(super) fn Ended(state: State) -> impl IntoView {
    let lang = lang();
    let event = state.performance.with_value(|view| format!("/events/{}", view.slug));
    view! {
        <h2 class="queue-title">{td_string!(lang, queue.ended)}</h2>
        <p>{td_string!(lang, queue.ended_text)}</p>
        <p><a class="button" href=event>{td_string!(lang, queue.to_event)}</a></p>
    }
    .into_any()
}

/// Permission to put the phone down.
#[component]
fn PutDown() -> impl IntoView {
    let lang = lang();
    view! { <p class="quiet queue-put-down">{td_string!(lang, queue.put_down)}</p> }
}

/// How the draw can be checked, and what can't be.
#[component]
pub(super) fn Draw(state: State) -> impl IntoView {
    let lang = lang();
    let commitment = move || state.status.with(|status| status.commitment.clone());
    let seed = move || state.status.with(|status| status.seed.clone());
    let lobby = move || state.status.with(|status| status.lobby);
    view! {
        <details class="queue-draw">
            <summary>{td_string!(lang, queue.draw_title)}</summary>
            <p>{td_string!(lang, queue.draw_text)}</p>
            <dl>
                <dt>{td_string!(lang, queue.commitment)}</dt>
                <dd><code>{commitment}</code></dd>
                <dt>{td_string!(lang, queue.seed)}</dt>
                <dd>
                    {move || match seed() {
                        Some(seed) => view! { <code>{seed}</code> }.into_any(),
                        None => td_string!(lang, queue.not_yet).into_any(),
                    }}
                </dd>
                <dt>{td_string!(lang, queue.lobby_size)}</dt>
                <dd>{move || lobby().map_or_else(|| td_string!(lang, queue.not_yet).to_owned(), format::number)}</dd>
            </dl>
            <p>{td_string!(lang, queue.draw_limit)}</p>
        </details>
    }
    .into_any()
}
