//! The connection to the live map: opens, reopens, hands on frames. Browser only in effect; it is
//! created from an effect, which never runs on the server.
//!
//! Owns the socket and its timer. It reads no frame: what to do with one is decided by its owner.

use crate::browser;
use domain::PerformanceId;
use domain::live::RESYNC;
use leptos::leptos_dom::helpers::{TimeoutHandle, set_timeout_with_handle};
use leptos::prelude::window;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use wasm_bindgen::prelude::*;
use web_sys::{BinaryType, Event, MessageEvent, WebSocket};

/// Longest wait between two tries to reach the live map: the spread of a whole audience.
pub const RECONNECT_MAX_MS: f64 = 30_000.0;
/// Wait before the first try.
const RECONNECT_FIRST_MS: f64 = 800.0;

/// How long to wait before a try: doubling, and spread evenly, so that an audience that lost its
/// connection at once does not come back at once. `random` is from 0 to below 1.
pub fn reconnect_delay_ms(attempt: u32, random: f64) -> f64 {
    let ceiling = (RECONNECT_FIRST_MS * 2f64.powi(i32::try_from(attempt.min(16)).unwrap_or(16))).min(RECONNECT_MAX_MS);
    // Never at once: a server that closes every socket must not be asked in a loop.
    ceiling.mul_add(random.clamp(0.0, 1.0), 250.0).min(RECONNECT_MAX_MS)
}

/// What the connection reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// A frame came.
    Frame(Vec<u8>),
    /// The connection is lost; another try is under way.
    Lost,
}

type OnMessage = Closure<dyn FnMut(MessageEvent)>;
type OnEvent = Closure<dyn FnMut(Event)>;

/// One open socket with the closures that it calls.
struct Open {
    socket: WebSocket,
    _message: OnMessage,
    _close: OnEvent,
}

impl Drop for Open {
    fn drop(&mut self) {
        // The closures go away with this value: the socket must not call them any more.
        self.socket.set_onmessage(None);
        self.socket.set_onclose(None);
        // Closing twice is allowed; a code that can't be refused is not given.
        drop(self.socket.close());
    }
}

struct Inner {
    url: String,
    report: Box<dyn Fn(Report)>,
    open: RefCell<Option<Open>>,
    /// Tries since the last frame.
    attempt: Cell<u32>,
    timer: Cell<Option<TimeoutHandle>>,
    ended: Cell<bool>,
}

/// A live connection that comes back by itself; ends when this value is dropped.
pub struct Link(Handle);

/// What the closures of a socket hold: they don't keep the connection alive.
#[derive(Clone)]
struct Handle(Rc<Inner>);

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Link").field(&self.0.0.url).finish()
    }
}

impl Link {
    /// Connects to the live map of a performance.
    pub fn open(performance: PerformanceId, report: impl Fn(Report) + 'static) -> Self {
        let location = window().location();
        let scheme = if location.protocol().is_ok_and(|p| p == "https:") { "wss" } else { "ws" };
        let url = format!("{scheme}://{}/ws/performances/{performance}", location.host().unwrap_or_default());
        let link = Handle(Rc::new(Inner {
            url,
            report: Box::new(report),
            open: RefCell::default(),
            attempt: Cell::new(0),
            timer: Cell::new(None),
            ended: Cell::new(false),
        }));
        link.connect();
        Self(link)
    }

    /// Asks for a new snapshot.
    pub fn resync(&self) {
        if let Some(open) = &*self.0.0.open.borrow() {
            // A socket that can't send is closing: the reconnection brings a snapshot anyway.
            drop(open.socket.send_with_str(RESYNC));
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let inner = &self.0.0;
        inner.ended.set(true);
        if let Some(timer) = inner.timer.take() {
            timer.clear();
        }
        // Breaks the circle of socket and closures.
        drop(inner.open.borrow_mut().take());
    }
}

impl Handle {
    fn connect(&self) {
        if self.0.ended.get() {
            return;
        }
        let Ok(socket) = WebSocket::new(&self.0.url) else {
            self.retry();
            return;
        };
        socket.set_binary_type(BinaryType::Arraybuffer);
        let link = self.clone();
        let message = OnMessage::new(move |event: MessageEvent| {
            if let Ok(buffer) = event.data().dyn_into::<js_sys::ArrayBuffer>() {
                link.0.attempt.set(0);
                (link.0.report)(Report::Frame(js_sys::Uint8Array::new(&buffer).to_vec()));
            }
        });
        let link = self.clone();
        // An error is always followed by a close.
        let close = OnEvent::new(move |_| link.retry());
        socket.set_onmessage(Some(message.as_ref().unchecked_ref()));
        socket.set_onclose(Some(close.as_ref().unchecked_ref()));
        *self.0.open.borrow_mut() = Some(Open { socket, _message: message, _close: close });
    }

    fn retry(&self) {
        (self.0.report)(Report::Lost);
        let attempt = self.0.attempt.get();
        self.0.attempt.set(attempt.saturating_add(1));
        let delay_ms = reconnect_delay_ms(attempt, browser::spread());
        let link = self.clone();
        // The old socket is let go in the timer, not here: this runs inside one of its closures.
        let timer = set_timeout_with_handle(
            move || {
                link.0.open.borrow_mut().take();
                link.connect();
            },
            Duration::from_secs_f64(delay_ms / 1_000.0),
        );
        self.0.timer.set(timer.ok());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reconnects_are_spread_and_bounded() {
        for attempt in 0..40 {
            for random in [0.0, 0.3, 0.999] {
                let delay = reconnect_delay_ms(attempt, random);
                assert!((250.0..=RECONNECT_MAX_MS).contains(&delay), "{attempt} {random}: {delay}");
            }
        }
        assert!(reconnect_delay_ms(0, 0.999) < 1_100.0);
        assert!(reconnect_delay_ms(10, 0.999) > 29_000.0);
        assert!(reconnect_delay_ms(10, 0.1) < 4_000.0, "the spread reaches down");
    }
}
