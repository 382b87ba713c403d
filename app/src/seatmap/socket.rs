//! The connection to the live map: opens, reopens, hands on frames. Browser only in effect; it is
//! created from an effect, which never runs on the server.
//!
//! Owns the socket, its timers and its listeners. It reads no frame: what to do with one is decided by
//! its owner; when to try again, by [`super::reconnect`].

use super::reconnect::{Backoff, Moment, RECONNECT_MAX_MS, Verdict, judge};
use crate::browser;
use domain::PerformanceId;
use domain::live::{Frame, RESYNC};
use leptos::leptos_dom::helpers::{
    IntervalHandle, TimeoutHandle, WindowListenerHandle, set_interval_with_handle, set_timeout_with_handle,
    window_event_listener_untyped,
};
use leptos::prelude::{document, window};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use wasm_bindgen::prelude::*;
use web_sys::{BinaryType, CloseEvent, MessageEvent, WebSocket};

/// How often an open connection is looked at: a fifth of the silence that it may keep.
const WATCH_EVERY: Duration = Duration::from_secs(5);
/// The code of a connection that was given up here; none that a server could send.
const GIVEN_UP: u16 = 0;

/// What the connection reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// A frame came.
    Frame(Vec<u8>),
    /// The connection is lost; another try is under way.
    Lost,
}

type OnMessage = Closure<dyn FnMut(MessageEvent)>;
type OnClose = Closure<dyn FnMut(CloseEvent)>;

/// One open socket with the closures that it calls.
struct Open {
    socket: WebSocket,
    _message: OnMessage,
    _close: OnClose,
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
    backoff: Cell<Backoff>,
    /// When the first frame of this connection came, by the wall clock: others may stand still while
    /// the device sleeps.
    stands_since: Cell<Option<f64>>,
    /// When the last frame came, or the connection was begun.
    heard: Cell<f64>,
    /// When a snapshot was asked for that has not come yet.
    asked: Cell<Option<f64>>,
    /// Runs while a try is waited for.
    timer: Cell<Option<TimeoutHandle>>,
    ended: Cell<bool>,
}

/// A live connection that comes back by itself; ends when this value is dropped.
pub struct Link {
    handle: Handle,
    watch: Option<IntervalHandle>,
    listeners: Vec<WindowListenerHandle>,
}

/// What the closures of a socket hold: they don't keep the connection alive.
#[derive(Clone)]
struct Handle(Rc<Inner>);

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Link").field(&self.handle.0.url).finish()
    }
}

impl Link {
    /// Connects to the live map of a performance.
    pub fn open(performance: PerformanceId, report: impl Fn(Report) + 'static) -> Self {
        let location = window().location();
        let scheme = if location.protocol().is_ok_and(|p| p == "https:") { "wss" } else { "ws" };
        let url = format!("{scheme}://{}/ws/performances/{performance}", location.host().unwrap_or_default());
        let handle = Handle(Rc::new(Inner {
            url,
            report: Box::new(report),
            open: RefCell::default(),
            backoff: Cell::default(),
            stands_since: Cell::new(None),
            heard: Cell::new(0.0),
            asked: Cell::new(None),
            timer: Cell::new(None),
            ended: Cell::new(false),
        }));
        handle.connect();
        Self { watch: handle.watch(), listeners: handle.listen(), handle }
    }

    /// Asks for a new snapshot.
    pub fn resync(&self) {
        self.handle.ask();
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let inner = &self.handle.0;
        inner.ended.set(true);
        if let Some(timer) = inner.timer.take() {
            timer.clear();
        }
        if let Some(watch) = self.watch.take() {
            watch.clear();
        }
        self.listeners.drain(..).for_each(WindowListenerHandle::remove);
        // Breaks the circle of socket and closures.
        drop(inner.open.borrow_mut().take());
    }
}

impl Handle {
    fn connect(&self) {
        if self.0.ended.get() {
            return;
        }
        self.0.stands_since.set(None);
        self.0.asked.set(None);
        self.0.heard.set(browser::wall_ms());
        let Ok(socket) = WebSocket::new(&self.0.url) else {
            self.lost(GIVEN_UP);
            return;
        };
        socket.set_binary_type(BinaryType::Arraybuffer);
        let link = self.clone();
        let message = OnMessage::new(move |event: MessageEvent| {
            if let Ok(buffer) = event.data().dyn_into::<js_sys::ArrayBuffer>() {
                link.heard(js_sys::Uint8Array::new(&buffer).to_vec());
            }
        });
        let link = self.clone();
        // An error is always followed by a close.
        let close = OnClose::new(move |event: CloseEvent| link.lost(event.code()));
        socket.set_onmessage(Some(message.as_ref().unchecked_ref()));
        socket.set_onclose(Some(close.as_ref().unchecked_ref()));
        *self.0.open.borrow_mut() = Some(Open { socket, _message: message, _close: close });
    }

    fn heard(&self, frame: Vec<u8>) {
        let now = browser::wall_ms();
        self.0.heard.set(now);
        if self.0.stands_since.get().is_none() {
            self.0.stands_since.set(Some(now));
        }
        if Frame::is_snapshot(&frame) {
            self.0.asked.set(None);
        }
        (self.0.report)(Report::Frame(frame));
    }

    fn ask(&self) {
        if let Some(open) = &*self.0.open.borrow() {
            if self.0.asked.get().is_none() {
                self.0.asked.set(Some(browser::wall_ms()));
            }
            // A socket that can't send is closing: the reconnection brings a snapshot anyway.
            drop(open.socket.send_with_str(RESYNC));
        }
    }

    fn lost(&self, code: u16) {
        (self.0.report)(Report::Lost);
        let stood_ms = self.0.stands_since.get().map(|since| browser::wall_ms() - since);
        let mut backoff = self.0.backoff.get();
        backoff.lost(stood_ms, code);
        self.0.backoff.set(backoff);
        self.try_in(backoff.wait_ms(browser::spread()));
    }

    fn try_in(&self, delay_ms: f64) {
        if let Some(timer) = self.0.timer.take() {
            timer.clear();
        }
        let link = self.clone();
        // The old socket is let go in the timer, not before: this may run inside one of its closures.
        let timer = set_timeout_with_handle(
            move || {
                link.0.timer.set(None);
                if window().navigator().on_line() {
                    link.0.open.borrow_mut().take();
                    link.connect();
                } else {
                    // Coming online ends this wait; should the device be wrong about it, so does time.
                    link.try_once_more();
                }
            },
            Duration::from_secs_f64(delay_ms / 1_000.0),
        );
        self.0.timer.set(timer.ok());
    }

    /// Waits the longest time, then tries whatever the device says.
    fn try_once_more(&self) {
        let link = self.clone();
        let timer = set_timeout_with_handle(
            move || {
                link.0.timer.set(None);
                link.0.open.borrow_mut().take();
                link.connect();
            },
            Duration::from_secs_f64(RECONNECT_MAX_MS / 1_000.0),
        );
        self.0.timer.set(timer.ok());
    }

    /// Looks at the connection: is it dead, has it missed something, should a try come sooner?
    fn look(&self, moment: Moment) {
        if let Some(timer) = self.0.timer.take() {
            self.0.timer.set(Some(timer));
            if moment != Moment::Watch
                && let Some(delay_ms) = self.0.backoff.get().sooner_ms(browser::spread())
            {
                self.try_in(delay_ms);
            }
            return;
        }
        let now = browser::wall_ms();
        match judge(moment, now - self.0.heard.get(), self.0.asked.get().map(|asked| now - asked)) {
            Verdict::Keep => {}
            Verdict::Ask => self.ask(),
            Verdict::Renew => {
                // Its events come no more: not even the close that a dead network holds back.
                drop(self.0.open.borrow_mut().take());
                self.lost(GIVEN_UP);
            }
        }
    }

    fn watch(&self) -> Option<IntervalHandle> {
        let link = self.clone();
        set_interval_with_handle(move || link.look(Moment::Watch), WATCH_EVERY).ok()
    }

    fn listen(&self) -> Vec<WindowListenerHandle> {
        let (shown, online, offline) = (self.clone(), self.clone(), self.clone());
        vec![
            window_event_listener_untyped("visibilitychange", move |_| {
                if !document().hidden() {
                    shown.look(Moment::Shown);
                }
            }),
            window_event_listener_untyped("online", move |_| online.look(Moment::Online)),
            // The socket may survive it; until then the page says that it may be behind.
            window_event_listener_untyped("offline", move |_| (offline.0.report)(Report::Lost)),
        ]
    }
}
