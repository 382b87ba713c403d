//! Keeps an order on the page up to date while something can still happen to it.

use super::api;
use crate::alive::Alive;
use domain::order::OrderView;
use gloo_timers::future::TimeoutFuture;
use leptos::{prelude::*, task::spawn_local};

/// How often the order is asked for.
const POLL_MS: u32 = 1_000;
/// The longest wait after failures.
const POLL_MAX_MS: u32 = 15_000;

/// Starts asking in the browser; the server runs no effects.
pub(super) fn start(order: RwSignal<OrderView>, offline: RwSignal<bool>) {
    let alive = Alive::until_cleanup();
    Effect::new(move |_| {
        let alive = alive.clone();
        spawn_local(async move {
            let mut wait_ms = POLL_MS;
            while alive.get() && !order.with_untracked(|order| order.status.is_final()) {
                TimeoutFuture::new(wait_ms).await;
                if !alive.get() {
                    return;
                }
                let id = order.with_untracked(|order| order.id);
                let answer = api::order(id.to_string()).await;
                if !alive.get() {
                    return;
                }
                offline.set(answer.is_err());
                wait_ms = if answer.is_err() { (wait_ms * 2).min(POLL_MAX_MS) } else { POLL_MS };
                if let Ok(fresh) = answer {
                    order.set(fresh);
                }
            }
        });
    });
}
