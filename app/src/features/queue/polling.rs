//! The page's own activity in the browser: taking a place, polling, entering. One loop, so that no
//! two of them can contradict each other; it ends with the page.

use super::{
    Guest,
    api::{queue_enter, queue_join},
    room::State,
};
use crate::alive::Alive;
use crate::browser;
use domain::{
    Code, PerformanceId,
    queue::{Phase, QueueStatus, Standing},
};
use gloo_net::http::Request;
use gloo_timers::future::TimeoutFuture;
use leptos::{prelude::*, task::spawn_local};
use leptos_router::{NavigateOptions, hooks::use_navigate};

/// The first poll after the opening comes within this time, spread over everybody who waits.
const OPENING_SPREAD_MS: f64 = 3_000.0;
/// Each wait is stretched by up to this part of itself, so that polls don't fall into step.
const JITTER: f64 = 0.3;
/// Bounds of a wait, whatever the server says.
const WAIT_MIN_MS: f64 = 500.0;
const WAIT_MAX_MS: f64 = 60_000.0;
/// The first wait after a failed request; doubles up to [`WAIT_MAX_MS`].
const RETRY_MS: f64 = 1_000.0;
/// How long a refused entry waits when the server doesn't say.
const ENTER_AGAIN_MS: u32 = 2_000;

/// Starts the loop in the browser; the server runs no effects.
pub(super) fn start(state: State) {
    let navigate = use_navigate();
    let alive = Alive::until_cleanup();
    // A form that took a place, or entered, says so to the page.
    let to_map = navigate.clone();
    Effect::new(move |_| {
        if let Some(Ok(joined)) = state.join.value().get() {
            state.arrival.set(Some(joined.arrival));
        }
        if let Some(Ok(_)) = state.enter.value().get() {
            to_map(&map_path(id(state)), NavigateOptions::default());
        }
    });
    Effect::new(move |_| {
        let (alive, navigate) = (alive.clone(), navigate.clone());
        spawn_local(async move {
            Watch { state, alive, failures: 0 }.run(navigate).await;
        });
    });
}

fn id(state: State) -> PerformanceId {
    state.performance.with_value(|view| view.id)
}

fn map_path(performance: PerformanceId) -> String {
    format!("/performances/{performance}/seats")
}

fn nonce_key(performance: PerformanceId) -> String {
    format!("sa-nonce-{}", performance.simple())
}

struct Watch {
    state: State,
    alive: Alive,
    failures: u32,
}

impl Watch {
    async fn run(mut self, navigate: impl Fn(&str, NavigateOptions)) {
        let performance = id(self.state);
        self.poll(performance).await;
        while self.is_alive() {
            let mut wait_ms = self.wait_ms();
            if self.state.guest == Guest::Ready {
                self.join(performance).await;
                if !self.is_alive() {
                    return;
                }
                if let Some(Standing::Turn { .. }) = self.standing() {
                    match self.enter(performance).await {
                        Ok(()) => {
                            if self.is_alive() {
                                navigate(&map_path(performance), NavigateOptions::default());
                            }
                            return;
                        }
                        Err(again_ms) => wait_ms = f64::from(again_ms) * (1.0 + JITTER * browser::spread()),
                    }
                }
            }
            TimeoutFuture::new(whole(wait_ms)).await;
            if self.is_alive() {
                self.poll(performance).await;
            }
        }
    }

    fn is_alive(&self) -> bool {
        self.alive.get()
    }

    fn standing(&self) -> Option<Standing> {
        let arrival = self.state.arrival.get_untracked()?;
        Some(self.state.status.with_untracked(|status| status.standing(arrival)))
    }

    /// How long to wait before the next poll: as the server says, but at the opening everybody comes
    /// within a few seconds and not all at once.
    fn wait_ms(&self) -> f64 {
        if self.failures > 0 {
            let wait = RETRY_MS * f64::from(1u32 << self.failures.min(6)) / 2.0;
            return wait.min(WAIT_MAX_MS) * (0.5 + browser::spread());
        }
        let (refresh_ms, phase, opens_at) =
            self.state.status.with_untracked(|status| (status.refresh_ms, status.phase, status.opens_at));
        let usual = (f64::from(refresh_ms) * (1.0 + JITTER * browser::spread())).clamp(WAIT_MIN_MS, WAIT_MAX_MS);
        let to_opening = self.state.clock.exact().map(|now| opens_at.0 - now.0).and_then(|ms| u32::try_from(ms).ok());
        match (phase, to_opening) {
            (Phase::Announced | Phase::Lobby, Some(left)) if f64::from(left) < usual => {
                f64::from(left) + OPENING_SPREAD_MS * browser::spread()
            }
            _ => usual,
        }
    }

    async fn poll(&mut self, performance: PerformanceId) {
        let sent_ms = browser::monotonic_ms();
        let answer = async {
            let response = Request::get(&format!("/api/performances/{performance}/queue/status")).send().await.ok()?;
            if response.ok() { response.json::<QueueStatus>().await.ok() } else { None }
        }
        .await;
        if !self.is_alive() {
            return;
        }
        match answer {
            Some(status) => {
                self.failures = 0;
                self.state.clock.observe(status.now, sent_ms, browser::monotonic_ms());
                // An answer from a cache may be older than what is shown: time doesn't run backwards.
                if self.state.status.with_untracked(|shown| shown.now <= status.now) {
                    self.state.status.set(status);
                }
                self.state.offline.set(false);
            }
            None => {
                self.failures = self.failures.saturating_add(1);
                self.state.offline.set(true);
            }
        }
    }

    /// Takes a place once there can be one.
    async fn join(&mut self, performance: PerformanceId) {
        let can_join =
            self.state.status.with_untracked(|status| !matches!(status.phase, Phase::Announced | Phase::Ended));
        if self.state.arrival.get_untracked().is_some() || !can_join {
            return;
        }
        let answer = queue_join(performance).await;
        if !self.is_alive() {
            return;
        }
        match answer {
            Ok(joined) => {
                self.state.refusal.set(None);
                self.state.arrival.set(Some(joined.arrival));
            }
            Err(error) => self.state.refusal.set(Some(error)),
        }
    }

    /// Enters; otherwise says after how many milliseconds to try again.
    async fn enter(&mut self, performance: PerformanceId) -> Result<(), u32> {
        let key = nonce_key(performance);
        let nonce = browser::kept_for_tab(&key, browser::random_uuid);
        match queue_enter(performance, None, nonce).await {
            Ok(_) => {
                browser::forget_for_tab(&key);
                Ok(())
            }
            Err(error) => {
                let again_ms = error.0.retry_after_ms.unwrap_or(ENTER_AGAIN_MS);
                // Not yet, full and paused are part of waiting; anything else needs the reader.
                let calm = matches!(error.code(), Code::NotYourTurn | Code::Paused);
                if self.is_alive() {
                    self.state.refusal.set((!calm).then_some(error));
                }
                Err(again_ms)
            }
        }
    }
}

/// Milliseconds for a timer.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped into the range of the type")]
fn whole(ms: f64) -> u32 {
    ms.clamp(0.0, WAIT_MAX_MS * 2.0) as u32
}
