//! The stages around the line: what comes before a place, the lobby, the open door, and the ends.

use super::{
    Guest,
    api::{QueueEnter, QueueJoin},
    state::{State, Wish},
};
use crate::components::{
    countdown::Countdown,
    icon::{Icon, Sign},
};
use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use domain::{
    Millis, ZonedTime,
    queue::{Phase, Standing, Supply},
};
use leptos::ev::SubmitEvent;
use leptos::prelude::*;
use leptos::server_fn::ServerFn as _;

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
            <a class="button button-accent button-large" href=href rel="external">
                {action}
                <Sign icon=Icon::Arrow/>
            </a>
            {(!unconfirmed).then(|| view! {
                <a class="button" href=format!("/sign-up?next={next}") rel="external">{td_string!(lang, queue.sign_up)}</a>
            })}
        </p>
    }
    .into_any()
}

/// The countdown to the next opening that is ahead: of the registration, then of the sale.
#[component]
fn Opening(state: State) -> impl IntoView {
    let lang = lang();
    let next = Memo::new(move |_| {
        state.status.with(|status| match status.phase {
            Phase::Announced => Some((true, status.registers_at)),
            Phase::Lobby => Some((false, status.opens_at)),
            Phase::Open | Phase::Paused | Phase::Ended => None,
        })
    });
    move || {
        next.get().map(|(registration, until)| {
            let opens_at = state.status.with_untracked(|status| status.opens_at);
            let word = match (registration, state.is_lottery()) {
                (true, _) => td_string!(lang, queue.registers),
                (false, true) => td_string!(lang, queue.registration_until),
                (false, false) => td_string!(lang, queue.opens),
            };
            time_left(state, until, word, registration.then_some(opens_at))
        })
    }
}

/// The countdown to a moment, what happens then, and when the sale opens, where that comes later.
fn time_left(state: State, until: Millis, word: &'static str, opens: Option<Millis>) -> impl IntoView {
    let lang = lang();
    let rendered = state.status.with_untracked(|status| status.now);
    let moment = move |word: &'static str, at: Millis| {
        let at = venue_time(state, at);
        view! {
            <p class="queue-opens">
                {word} " " <time datetime=format::machine_time(&at)>{format::moment(lang, &at)}</time>
            </p>
        }
    };
    view! {
        <Countdown until rendered=Some(rendered)/>
        {moment(word, until)}
        {opens.map(|opens| moment(td_string!(lang, queue.opens), opens))}
    }
}

/// A moment on the venue's clock.
pub(super) fn venue_time(state: State, at: Millis) -> ZonedTime {
    state.performance.with_value(|view| format::beside(at, &view.opens))
}

/// Places can't be taken yet: when, and that nothing has to be done until then.
#[component]
pub(super) fn Announced(state: State) -> impl IntoView {
    let lang = lang();
    view! {
        <h2 class="queue-title">{td_string!(lang, queue.announced_title)}</h2>
        <Opening state/>
        <p>{td_string!(lang, queue.announced)}</p>
        <p class="quiet">{move || equal_chances(lang, state)}</p>
    }
    .into_any()
}

fn equal_chances(lang: Locale, state: State) -> &'static str {
    if state.is_lottery() { td_string!(lang, queue.lottery_text) } else { td_string!(lang, queue.lobby_text) }
}

/// Taking a place: by itself with JavaScript, by this button without.
#[component]
pub(super) fn Join(state: State) -> impl IntoView {
    let lang = lang();
    let performance = state.performance.with_value(|view| view.id.to_string());
    let sold_out =
        Memo::new(move |_| state.status.with(|status| status.supply == Supply::SoldOut && status.lobby.is_some()));
    view! {
        <h2 class="queue-title">{td_string!(lang, queue.join_title)}</h2>
        <Opening state/>
        {move || sold_out.get().then(|| view! { <p>{td_string!(lang, queue.sold_out_text)}</p> })}
        <p>{td_string!(lang, queue.join_text)}</p>
        <form action=QueueJoin::PATH method="post" on:submit=move |event| wish(state, &event, Wish::Join)>
            <input type="hidden" name="performance" value=performance/>
            <button class="button button-accent button-large" type="submit" data-testid="join">
                {td_string!(lang, queue.join)}
                <Sign icon=Icon::Arrow/>
            </button>
        </form>
    }
    .into_any()
}

/// The registration for a lottery is over. Whoever registered on another device finds the place again: by
/// itself with JavaScript, by the button without.
#[component]
pub(super) fn Closed(state: State) -> impl IntoView {
    let lang = lang();
    let performance = state.performance.with_value(|view| view.id.to_string());
    view! {
        <h2 class="queue-title">{td_string!(lang, queue.closed)}</h2>
        <p>{td_string!(lang, queue.closed_text)}</p>
        <form action=QueueJoin::PATH method="post" on:submit=move |event| wish(state, &event, Wish::Join)>
            <input type="hidden" name="performance" value=performance/>
            <button class="button" type="submit" data-testid="find-place">{td_string!(lang, queue.find_place)}</button>
        </form>
        <ToEvent state/>
    }
    .into_any()
}

/// Before the draw: everybody has the same chance.
#[component]
pub(super) fn Lobby(state: State) -> impl IntoView {
    let lang = lang();
    let joined = move || match state.standing() {
        Some(Standing::Lobby { joined }) => format::number(joined),
        _ => String::new(),
    };
    // Numbers are told from 1, as people count.
    let number = move || state.arrival.get().map_or_else(String::new, |arrival| format::number(u64::from(arrival) + 1));
    // After the opening the draw takes a moment to arrive.
    let drawing = Memo::new(move |_| state.status.with(|status| matches!(status.phase, Phase::Open | Phase::Paused)));
    let title = move || match (drawing.get(), state.is_lottery()) {
        (true, _) => td_string!(lang, queue.drawing),
        (false, true) => td_string!(lang, queue.lottery_title),
        (false, false) => td_string!(lang, queue.lobby_title),
    };
    view! {
        <p class="queue-safe"><Sign icon=Icon::Check/>{td_string!(lang, queue.in_lobby)}</p>
        <h2 class="queue-title">{title}</h2>
        <Opening state/>
        <p>{move || equal_chances(lang, state)}</p>
        <p class="facts">
            <span>
                {td_string!(lang, queue.number)} " " <b class="figure" data-testid="number">{number}</b>
            </span>
            <span>
                <b class="figure" data-testid="joined">{joined}</b> " " {td_string!(lang, queue.joined)}
            </span>
        </p>
        <PutDown state/>
    }
    .into_any()
}

/// May enter: the page goes on by itself; the button is for pages without JavaScript, and for trying
/// again.
#[component]
pub(super) fn Turn(state: State, nonce: String) -> impl IntoView {
    let lang = lang();
    let until = Memo::new(move |_| match state.standing() {
        Some(Standing::Turn { until, .. }) => until,
        _ => None,
    });
    view! {
        <h2 class="queue-title queue-turn" data-testid="turn">{td_string!(lang, queue.turn)}</h2>
        <p>{td_string!(lang, queue.turn_text)}</p>
        {move || until.get().map(|until| time_left(state, until, td_string!(lang, queue.window_until), None))}
        <EnterForm state nonce quiet=false/>
    }
    .into_any()
}

/// The way in by a button.
#[component]
pub(super) fn EnterForm(
    state: State,
    nonce: String,
    /// Whether it is an offer beside others, and not the next step.
    quiet: bool,
) -> impl IntoView {
    let lang = lang();
    let performance = state.performance.with_value(|view| view.id.to_string());
    let class = if quiet { "button" } else { "button button-accent button-large" };
    view! {
        <form action=QueueEnter::PATH method="post" on:submit=move |event| wish(state, &event, Wish::Enter)>
            <input type="hidden" name="performance" value=performance/>
            <input type="hidden" name="nonce" value=nonce/>
            <button class=class type="submit" data-testid="enter">
                {if quiet { td_string!(lang, queue.enter_anyway) } else { td_string!(lang, queue.enter) }}
                <Sign icon=Icon::Arrow/>
            </button>
        </form>
    }
}

/// Hands a form's wish to the page's own activity, which does nothing else either. Without JavaScript the form
/// is posted.
fn wish(state: State, event: &SubmitEvent, wish: Wish) {
    event.prevent_default();
    state.wish.set(Some(wish));
}

/// The window of the lottery is over.
#[component]
pub(super) fn Passed(state: State) -> impl IntoView {
    let lang = lang();
    view! {
        <h2 class="queue-title">{td_string!(lang, queue.passed)}</h2>
        <p>{td_string!(lang, queue.passed_text)}</p>
        <ToEvent state/>
    }
    .into_any()
}

/// The sale is over.
#[component]
pub(super) fn Ended(state: State) -> impl IntoView {
    let lang = lang();
    view! {
        <h2 class="queue-title">{td_string!(lang, queue.ended)}</h2>
        <p>{td_string!(lang, queue.ended_text)}</p>
        <ToEvent state/>
    }
    .into_any()
}

#[component]
fn ToEvent(state: State) -> impl IntoView {
    let lang = lang();
    let event = state.performance.with_value(|view| format!("/events/{}", view.slug));
    view! { <p><a class="button" href=event rel="external">{td_string!(lang, queue.to_event)}</a></p> }
}

/// The place is kept.
#[component]
pub(super) fn Safe() -> impl IntoView {
    let lang = lang();
    view! { <p class="queue-safe"><Sign icon=Icon::Check/>{td_string!(lang, queue.place_safe)}</p> }
}

/// Permission to put the phone down; in a lottery with the one thing that must not be missed.
#[component]
pub(super) fn PutDown(state: State) -> impl IntoView {
    let lang = lang();
    let text = move || {
        if state.is_lottery() { td_string!(lang, queue.put_down_lottery) } else { td_string!(lang, queue.put_down) }
    };
    view! { <p class="quiet queue-put-down">{text}</p> }
}
