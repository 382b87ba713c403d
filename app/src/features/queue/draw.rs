//! How the draw can be checked, and what can't be: in short. The page of the draw has it at length.

use super::{stages::venue_time, state::State};
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use leptos::either::Either;
use leptos::prelude::*;

/// The short form, closed at first.
#[component]
pub(super) fn Draw(state: State) -> impl IntoView {
    let lang = lang();
    let commitment = Memo::new(move |_| state.status.with(|status| status.commitment.clone()));
    let seed = Memo::new(move |_| state.status.with(|status| status.drawn.as_ref().map(|drawn| drawn.seed.clone())));
    let lobby = Memo::new(move |_| state.status.with(|status| status.lobby));
    let page = state.performance.with_value(|view| format!("/performances/{}/draw", view.id));
    view! {
        <p class="queue-beacon quiet" data-testid="beacon"><Beacon state/></p>
        <details class="queue-draw">
            <summary>{td_string!(lang, queue.draw_title)}</summary>
            <p>{td_string!(lang, queue.draw_text)}</p>
            <dl>
                <dt>{td_string!(lang, queue.commitment)}</dt>
                <dd><code>{move || commitment.get()}</code></dd>
                <dt>{td_string!(lang, queue.seed)}</dt>
                <dd>
                    {move || match seed.get() {
                        Some(seed) => Either::Left(view! { <code data-testid="seed">{seed}</code> }),
                        None => Either::Right(td_string!(lang, queue.not_yet)),
                    }}
                </dd>
                <dt>{td_string!(lang, queue.lobby_size)}</dt>
                <dd>{move || lobby.get().map_or_else(|| td_string!(lang, queue.not_yet).to_owned(), format::number)}</dd>
            </dl>
            <p><a href=page rel="external" data-testid="to-draw">{td_string!(lang, queue.draw_page)}</a></p>
        </details>
    }
}

/// Where the chance of this draw comes from, or that the operator could have influenced it.
#[component]
fn Beacon(state: State) -> impl IntoView {
    let lang = lang();
    let known = Memo::new(move |_| {
        state.status.with(|status| (status.beacon_due, status.drawn.as_ref().map(|drawn| drawn.beacon.is_empty())))
    });
    move || match known.get() {
        (None, _) => td_string!(lang, queue.beacon_none).to_owned(),
        (Some(_), Some(true)) => td_string!(lang, queue.beacon_silent).to_owned(),
        (Some(_), Some(false)) => td_string!(lang, queue.beacon_used).to_owned(),
        (Some(due), None) => {
            let time = format::exact_clock(lang, &venue_time(state, due));
            td_string!(lang, queue.beacon_due, time = time).to_string()
        }
    }
}
