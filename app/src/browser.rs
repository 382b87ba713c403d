//! What only a browser has: its clock, its randomness, its storage. Called from effects and event
//! handlers, never while a view is built.

use gloo_timers::callback::Timeout;
use leptos::prelude::window;
use wasm_bindgen::UnwrapThrowExt as _;
use web_sys::{AbortController, AbortSignal};

/// Milliseconds of a clock that never jumps, from an arbitrary zero.
pub(crate) fn monotonic_ms() -> f64 {
    window().performance().expect_throw("every browser that runs WASM has this clock").now()
}

/// Milliseconds of the device's clock, which goes on while it sleeps, and may be set.
pub(crate) fn wall_ms() -> f64 {
    js_sys::Date::now()
}

/// A number from 0 to 1, for spreading requests; not for secrets.
pub(crate) fn spread() -> f64 {
    js_sys::Math::random()
}

/// A value kept for this tab under `key`; made by `fresh` when there is none, or storage is off.
pub(crate) fn kept_for_tab(key: &str, fresh: impl FnOnce() -> String) -> String {
    let Ok(Some(storage)) = window().session_storage() else { return fresh() };
    if let Ok(Some(value)) = storage.get_item(key) {
        return value;
    }
    let value = fresh();
    // A full or forbidden storage only means that a reload makes a new value.
    drop(storage.set_item(key, &value));
    value
}

/// Forgets what [`kept_for_tab`] kept.
pub(crate) fn forget_for_tab(key: &str) {
    if let Ok(Some(storage)) = window().session_storage() {
        drop(storage.remove_item(key));
    }
}

/// A value kept for this device under `key`; `None` when there is none, or storage is off.
pub(crate) fn kept_for_device(key: &str) -> Option<String> {
    window().local_storage().ok().flatten()?.get_item(key).ok().flatten()
}

/// Keeps a value for this device, where the browser lets it.
pub(crate) fn keep_for_device(key: &str, value: &str) {
    if let Ok(Some(storage)) = window().local_storage() {
        drop(storage.set_item(key, value));
    }
}

/// Whether the device believes to have a network. It may have one and still reach nobody.
pub(crate) fn has_network() -> bool {
    window().navigator().on_line()
}

/// The bound of a request: it is given up when the time is over. Lives as long as the answer is read.
#[derive(Debug)]
pub(crate) struct Deadline {
    signal: Option<AbortSignal>,
    _timer: Option<Timeout>,
}

impl Deadline {
    /// Gives up after so many milliseconds.
    pub(crate) fn after(ms: u32) -> Self {
        let Ok(controller) = AbortController::new() else { return Self { signal: None, _timer: None } };
        let signal = Some(controller.signal());
        Self { signal, _timer: Some(Timeout::new(ms, move || controller.abort())) }
    }

    /// What the request has to listen to.
    pub(crate) fn signal(&self) -> Option<&AbortSignal> {
        self.signal.as_ref()
    }
}

/// A random UUID; falls back to weaker randomness outside a secure context.
pub(crate) fn random_uuid() -> String {
    let crypto = window().crypto().ok().filter(|c| js_sys::Reflect::has(c, &"randomUUID".into()).unwrap_or(false));
    crypto.map_or_else(|| format!("{:x}-{:x}", monotonic_ms().to_bits(), spread().to_bits()), |c| c.random_uuid())
}

/// Leaves for another site.
pub(crate) fn leave_for(url: &str) {
    // A refused navigation leaves the page as it is, with its button.
    drop(window().location().set_href(url));
}

/// Loads another page of this site as a whole, with the scripts that belong to it.
pub(crate) fn go_to(path: &str) {
    // A refused navigation leaves the page as it is, with its button.
    drop(window().location().assign(path));
}

/// Loads the page at the present address from the server.
#[cfg(not(feature = "ssr"))]
pub(crate) fn load_anew() {
    // A refused navigation leaves the page as it is.
    drop(window().location().reload());
}
