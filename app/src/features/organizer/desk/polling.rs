//! Keeps the desk up to date while its page is seen: numbers each second, charts every few.

use super::{
    api::{sale_desk, sale_series},
    board::State,
};
use crate::alive::Alive;
use crate::browser;
use crate::lang::lang;
use gloo_timers::future::TimeoutFuture;
use leptos::{prelude::*, task::spawn_local};
use leptos_i18n::Locale as _;

/// How often the numbers are asked for.
const POLL_MS: u32 = 1_000;
/// The longest wait after failures.
const POLL_MAX_MS: u32 = 15_000;
/// Two processes that answer in turn differ by less; more is a clock that was exchanged.
const BEHIND_MAX_MS: i64 = 5_000;
/// The charts come with every so many polls: they gain a sample in that time.
const CHARTS_EVERY: u32 = 5;

/// Starts asking in the browser; the server runs no effects.
pub(super) fn start(state: State) {
    let (alive, language) = (Alive::until_cleanup(), lang().as_str());
    state.clock.measure();
    Effect::new(move |_| {
        let alive = alive.clone();
        spawn_local(async move {
            let (mut wait_ms, mut polls) = (POLL_MS, 0u32);
            loop {
                TimeoutFuture::new(wait_ms).await;
                if !alive.get() {
                    return;
                }
                // Nobody sees it: nothing is asked until somebody does.
                if document().hidden() {
                    continue;
                }
                let reached = poll(state, &alive).await;
                wait_ms = if reached { POLL_MS } else { (wait_ms * 2).min(POLL_MAX_MS) };
                polls = polls.wrapping_add(1);
                if reached && alive.get() && polls % CHARTS_EVERY == 0 {
                    let charts = sale_series(state.id(), language.to_owned()).await;
                    if let (true, Ok(charts)) = (alive.get(), charts) {
                        state.charts.set(Some(charts));
                    }
                }
            }
        });
    });
}

/// Asks at once, after a change of one's own.
pub(super) fn refresh(state: State, alive: Alive) {
    spawn_local(async move {
        poll(state, &alive).await;
    });
}

/// Asks for the numbers once; whether an answer came.
async fn poll(state: State, alive: &Alive) -> bool {
    let sent_ms = browser::monotonic_ms();
    let answer = sale_desk(state.id()).await;
    if !alive.get() {
        return true;
    }
    state.offline.set(answer.is_err());
    let Ok(fresh) = answer else { return false };
    state.clock.observe(fresh.now, sent_ms, browser::monotonic_ms());
    // Two processes may answer in turn: time doesn't run backwards.
    let behind_ms = state.view.with_untracked(|shown| fresh.now.until(shown.now));
    if behind_ms == 0 || behind_ms > BEHIND_MAX_MS {
        state.view.set(fresh);
    }
    true
}
