//! The server's clock in the browser: an offset measured from answers, and a tick a second.
//!
//! Countdowns use this clock only: the device's own may be hours off. Until the first answer the
//! views show what the server rendered.

use crate::browser;
use domain::Millis;
use leptos::prelude::*;
use serde::Deserialize;
use std::time::Duration;

/// How often the clock looks whether a new second has begun: late by at most this.
const TICK_MS: u64 = 200;

/// The server's clock.
#[derive(Clone, Copy, Debug)]
pub struct ServerClock {
    now: RwSignal<Option<Millis>>,
    offset_ms: StoredValue<Option<f64>>,
}

#[derive(Deserialize)]
struct ServerTime {
    now: Millis,
}

/// Makes the clock for all pages, and starts it in the browser.
pub fn provide() {
    let clock = ServerClock { now: RwSignal::new(None), offset_ms: StoredValue::new(None) };
    provide_context(clock);
    Effect::new(move |_| {
        if let Ok(handle) = set_interval_with_handle(move || clock.tick(), Duration::from_millis(TICK_MS)) {
            on_cleanup(move || handle.clear());
        }
    });
}

/// The clock of this page.
///
/// # Panics
/// Panics outside of the application, which provides it.
pub fn use_clock() -> ServerClock {
    expect_context()
}

impl ServerClock {
    /// The server's time, whole seconds, tracked; `None` until it has been measured.
    pub fn now(self) -> Option<Millis> {
        self.now.get()
    }

    /// The server's time, or `rendered`, the server's when it made the page.
    pub fn now_or(self, rendered: Millis) -> Millis {
        self.now.get().unwrap_or(rendered)
    }

    /// The server's time to the millisecond, not tracked.
    pub fn exact(self) -> Option<Millis> {
        self.offset_ms.get_value().map(|offset| whole_ms(browser::monotonic_ms() + offset))
    }

    /// Learns from an answer that carried the server's time. A cached answer is older, never newer,
    /// so the largest offset is the truest.
    pub fn observe(self, server: Millis, sent_ms: f64, received_ms: f64) {
        // Lossless: milliseconds since 1970 take 41 bits of the 53.
        #[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 fit into 53 bits")]
        let measured = server.0 as f64 - f64::midpoint(sent_ms, received_ms);
        self.offset_ms.update_value(|offset| *offset = Some(offset.map_or(measured, |known| known.max(measured))));
        self.tick();
    }

    /// Asks the server for its time once; for pages that poll nothing.
    pub fn measure(self) {
        Effect::new(move |_| {
            leptos::task::spawn_local(async move {
                let sent_ms = browser::monotonic_ms();
                let Ok(answer) = gloo_net::http::Request::get("/api/server-time").send().await else { return };
                if let Ok(time) = answer.json::<ServerTime>().await {
                    self.observe(time.now, sent_ms, browser::monotonic_ms());
                }
            });
        });
    }

    fn tick(self) {
        let Some(exact) = self.exact() else { return };
        let second = Some(Millis(exact.0 - exact.0.rem_euclid(1_000)));
        if self.now.get_untracked() != second {
            self.now.set(second);
        }
    }
}

/// Rounds to whole milliseconds.
#[expect(clippy::cast_possible_truncation, reason = "milliseconds since 1970 fit into 53 bits")]
fn whole_ms(ms: f64) -> Millis {
    Millis(ms.round() as i64)
}
