//! In the line: how many are ahead, how far it has come, how long it may take, and whether anything is
//! left.

use super::{
    stages::{EnterForm, PutDown, Safe},
    state::State,
};
use crate::browser;
use crate::components::{icon::Icon, notice::Remark};
use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use domain::queue::{Phase, Standing, Supply};
use leptos::prelude::*;

/// From so many minutes on an estimate is told in hours: more digits would promise too much.
const HOURS_FROM_MIN: i64 = 90;

/// Drawn, and not yet reached.
#[component]
pub(super) fn Waiting(state: State) -> impl IntoView {
    let lang = lang();
    let words = Memo::new(move |_| estimate(lang, state));
    let paused = Memo::new(move |_| state.status.with(|status| status.phase == Phase::Paused));
    let returns = Memo::new(move |_| state.status.with(|status| status.supply == Supply::Returns));
    view! {
        <Safe/>
        <Figures state/>
        <Line state/>
        <p class="queue-estimate" data-testid="estimate">{move || words.get()}</p>
        {move || paused.get().then(|| view! {
            <Remark icon=Icon::Clock><p data-testid="paused">{td_string!(lang, queue.paused)}</p></Remark>
        })}
        {move || returns.get().then(|| view! {
            <Remark icon=Icon::Ticket><p data-testid="returns">{td_string!(lang, queue.no_stock)}</p></Remark>
        })}
        <PutDown state/>
    }
    .into_any()
}

/// In the line, and no seat is left: said plainly, and nobody is sent away.
#[component]
pub(super) fn SoldOut(state: State, nonce: String) -> impl IntoView {
    let lang = lang();
    let reached = Memo::new(move |_| matches!(state.standing(), Some(Standing::Turn { .. })));
    view! {
        <h2 class="queue-title" data-testid="sold-out">{td_string!(lang, queue.sold_out)}</h2>
        <p>{td_string!(lang, queue.sold_out_text)}</p>
        <Safe/>
        <Figures state/>
        <p>{td_string!(lang, queue.sold_out_stay)}</p>
        {move || reached.get().then(|| view! { <EnterForm state nonce=nonce.clone() quiet=true/> })}
    }
    .into_any()
}

/// Ahead and place. Both are counted as people count: the first place is 1.
#[component]
fn Figures(state: State) -> impl IntoView {
    let lang = lang();
    let ahead = move || state.ahead().unwrap_or(0);
    let place = move || match state.standing() {
        Some(Standing::Waiting { place, .. } | Standing::Turn { place, .. } | Standing::Passed { place }) => {
            u64::from(place) + 1
        }
        _ => 0,
    };
    view! {
        <div class="queue-figures">
            <p>
                <span class="overline">{td_string!(lang, queue.ahead)}</span>
                <b class="queue-ahead" data-testid="ahead">{move || format::number(ahead())}</b>
            </p>
            <p>
                <span class="overline">{td_string!(lang, queue.place)}</span>
                <b class="queue-place" data-testid="place">{move || format::number(place())}</b>
            </p>
        </div>
    }
}

/// The line from where this tab first saw the place to the door. Without JavaScript nothing remembers that:
/// there it begins with the first place.
#[component]
fn Line(state: State) -> impl IntoView {
    let lang = lang();
    Effect::new(move |_| {
        let Some(ahead) = state.ahead() else { return };
        if state.first_ahead.get_untracked().is_none() {
            let key = format!("sa-line-{}", state.id().simple());
            let first = browser::kept_for_tab(&key, || ahead.to_string()).parse().unwrap_or(ahead);
            state.first_ahead.set(Some(first.max(ahead)));
        }
    });
    let bounds = Memo::new(move |_| {
        let ahead = u64::from(state.ahead().unwrap_or(0));
        match (state.first_ahead.get(), state.standing()) {
            (Some(first), _) => (u64::from(first) + 1, u64::from(first).saturating_sub(ahead)),
            (None, Some(Standing::Waiting { place, .. })) => {
                (u64::from(place) + 1, u64::from(place).saturating_sub(ahead))
            }
            _ => (1, 0),
        }
    });
    view! {
        <progress
            class="queue-line"
            max=move || bounds.get().0.to_string()
            value=move || bounds.get().1.to_string()
            aria-label=td_string!(lang, queue.progress)
        ></progress>
    }
}

/// The estimate in words: a range, or why there is none.
pub(super) fn estimate(lang: Locale, state: State) -> String {
    let wait_ms = match state.standing() {
        Some(Standing::Waiting { wait_ms, .. }) => wait_ms,
        _ => return String::new(),
    };
    match wait_ms.map(format::wait_minutes) {
        None if state.is_lottery() => td_string!(lang, queue.no_estimate_lottery).to_owned(),
        None if state.ahead() == Some(0) => td_string!(lang, queue.next).to_owned(),
        None => td_string!(lang, queue.no_estimate).to_owned(),
        Some(None) => td_string!(lang, queue.soon).to_owned(),
        Some(Some((low, high))) if low >= HOURS_FROM_MIN => {
            let (low, high) = (low / 60, (high + 59) / 60);
            td_string!(lang, queue.estimate_hours, low = low, high = high).to_string()
        }
        Some(Some((low, high))) => td_string!(lang, queue.estimate, low = low, high = high).to_string(),
    }
}
