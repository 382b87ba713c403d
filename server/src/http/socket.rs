//! The live map's socket: a snapshot, then deltas; a socket that lags is given a snapshot again.
//!
//! A socket owns little: where it stands in the frames that all share, and the one frame that it is
//! being sent. Whatever a client does, reads slowly, floods, falls silent, costs no more than that and
//! ends no other socket.

use super::State;
use super::errors::{answer, failed, refuse};
use axum::body::Bytes;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Path, State as Extract};
use axum::response::Response;
use backend::{Feed, LiveSettings};
use domain::live::{GOING_AWAY, RESYNC, RESYNC_EVERY_MS};
use domain::{Code, PerformanceId, Refusal};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::{TaskTracker, task_tracker::TaskTrackerToken};

/// A client sends a word now and then.
const MESSAGE_MAX_BYTES: usize = 1_024;
/// The library's defaults are 128 KiB for each; a delta has some hundreds of bytes.
const BUFFER_BYTES: usize = 1_024;
/// One snapshot of the largest map (25 KB), or one delta of all of its seats, and a pong.
const WRITE_BUFFER_MAX_BYTES: usize = 512 * 1_024;
/// Signs of life are asked for so often within the longest silence: two of them may get lost.
const PINGS_IN_SILENCE: u32 = 3;
/// A frame that can't be sent within this time belongs to a client that is gone, or owes too much.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// Snapshots on request are not given faster than this.
const RESYNC_EVERY: Duration = Duration::from_millis(RESYNC_EVERY_MS as u64);
/// Messages of a client between two pings: twice as many as requests for snapshots make sense.
const MESSAGES_MAX: u32 = 40;
/// How long a closed socket waits for the client's own close, so that ours isn't lost on the way.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// When to come again if all sockets are taken: by then some have fallen silent.
const FULL_RETRY_MS: u32 = 10_000;

/// Close codes of RFC 6455.
const PROTOCOL_ERROR: u16 = 1002;
const UNSUPPORTED: u16 = 1003;
const POLICY: u16 = 1008;

/// The sockets of one process: how many there may be, and that all of them have ended.
#[derive(Debug)]
pub struct Sockets {
    settings: LiveSettings,
    open: AtomicUsize,
    tracker: TaskTracker,
}

impl Sockets {
    /// No socket yet.
    pub fn new(settings: LiveSettings) -> Arc<Self> {
        Arc::new(Self { settings, open: AtomicUsize::new(0), tracker: TaskTracker::new() })
    }

    /// Waits until all sockets have ended; call it when no more are opened.
    pub(super) async fn ended(&self) {
        self.tracker.close();
        self.tracker.wait().await;
    }

    fn admit(self: &Arc<Self>) -> Option<Admitted> {
        if self.open.fetch_add(1, Ordering::Relaxed) >= self.settings.sockets_max {
            self.open.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        metrics::gauge!("stararena_sockets").increment(1.0);
        Some(Admitted { _running: self.tracker.token(), sockets: Arc::clone(self) })
    }
}

/// Counts a socket for as long as it is held.
struct Admitted {
    sockets: Arc<Sockets>,
    _running: TaskTrackerToken,
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.sockets.open.fetch_sub(1, Ordering::Relaxed);
        metrics::gauge!("stararena_sockets").decrement(1.0);
    }
}

/// Opens the live map of a performance.
pub(super) async fn upgrade(
    Extract(state): Extract<State>,
    Path(id): Path<String>,
    socket: WebSocketUpgrade,
) -> Response {
    let Ok(id) = id.parse::<PerformanceId>() else { return refuse(Code::NotFound, "there is no such performance") };
    if state.stop.is_cancelled() {
        return refuse(Code::Unavailable, "the server restarts");
    }
    let Some(admitted) = state.sockets.admit() else {
        let full = Refusal::new(Code::Unavailable, "as many live maps as possible are open here");
        return answer(&full.retry_after_ms(FULL_RETRY_MS));
    };
    let feed = match state.backend.watch(id).await {
        Ok(feed) => feed,
        Err(error) => return failed(&error),
    };
    let stop = state.stop;
    socket
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES)
        .max_write_buffer_size(WRITE_BUFFER_MAX_BYTES)
        .max_message_size(MESSAGE_MAX_BYTES)
        .max_frame_size(MESSAGE_MAX_BYTES)
        .on_upgrade(move |socket| async move {
            let silence_max = Duration::from_millis(admitted.sockets.settings.silence_max_ms.unsigned_abs());
            Session::new(socket, feed, silence_max).run(&stop).await;
            drop(admitted);
        })
}

/// Why a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// There is nobody to say anything to.
    Gone,
    /// The client says goodbye; the library answers while it is read on.
    Left,
    /// What came can't be read, and neither can what follows it.
    Garbled,
    /// With a code and a reason.
    Close(u16, &'static str),
}

/// What a client's message asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    /// A new snapshot.
    Resync,
    /// Nothing: it lives.
    Alive,
    /// The end.
    End(End),
}

fn said(message: Option<Result<Message, axum::Error>>) -> Said {
    match message {
        Some(Ok(Message::Text(text))) if text.as_str() == RESYNC => Said::Resync,
        Some(Ok(Message::Text(_))) => Said::End(End::Close(POLICY, "only `resync` is understood here")),
        Some(Ok(Message::Binary(_))) => Said::End(End::Close(UNSUPPORTED, "binary messages are not understood here")),
        Some(Ok(Message::Ping(_) | Message::Pong(_))) => Said::Alive,
        Some(Ok(Message::Close(_))) => Said::End(End::Left),
        Some(Err(_)) => Said::End(End::Garbled),
        None => Said::End(End::Gone),
    }
}

/// One socket and what it needs to remember.
struct Session {
    socket: WebSocket,
    feed: Feed,
    silence_max: Duration,
    /// When the client last gave a sign of life.
    heard: Instant,
    /// When the last snapshot was sent.
    synced: Instant,
    /// Whether another one was asked for since.
    owes_snapshot: bool,
    /// Messages since the last ping.
    messages: u32,
}

impl Session {
    fn new(socket: WebSocket, feed: Feed, silence_max: Duration) -> Self {
        let now = Instant::now();
        Self { socket, feed, silence_max, heard: now, synced: now, owes_snapshot: false, messages: 0 }
    }

    async fn run(mut self, stop: &CancellationToken) {
        // A frame that a slow client does not take must not hold up the end of the process.
        let end = match stop.run_until_cancelled(self.serve()).await {
            Some(end) => end,
            None => End::Close(GOING_AWAY, "the server restarts"),
        };
        tracing::debug!(?end, "a live map's socket ends");
        let parting = async {
            let (parts, is_readable) = match end {
                End::Gone => (false, false),
                End::Left => (true, true),
                End::Close(code, reason) => (self.close(code, reason).await, true),
                End::Garbled => (self.close(PROTOCOL_ERROR, "the message can't be read, or is too long").await, false),
            };
            if parts && !is_readable {
                // Time alone lets our close arrive.
                std::future::pending::<()>().await;
            }
            // A socket that is dropped with something unread in it takes our close back.
            while parts && matches!(self.socket.recv().await, Some(Ok(_))) {}
        };
        // Whoever does not answer is left all the same.
        drop(timeout(CLOSE_TIMEOUT, parting).await);
    }

    async fn close(&mut self, code: u16, reason: &'static str) -> bool {
        let close = CloseFrame { code, reason: reason.into() };
        self.socket.send(Message::Close(Some(close))).await.is_ok()
    }

    async fn serve(&mut self) -> End {
        if !self.snapshot().await {
            return End::Gone;
        }
        let mut ping = self.pings();
        loop {
            let due = self.synced + RESYNC_EVERY;
            let done = tokio::select! {
                frame = self.feed.next() => send(&mut self.socket, Message::Binary(frame)).await,
                message = self.socket.recv() => {
                    self.heard = Instant::now();
                    match said(message) {
                        Said::End(end) => return end,
                        Said::Resync => self.owes_snapshot = true,
                        Said::Alive => {}
                    }
                    self.messages += 1;
                    if self.messages > MESSAGES_MAX {
                        return End::Close(POLICY, "too many messages");
                    }
                    true
                }
                () = sleep_until(due), if self.owes_snapshot => self.snapshot().await,
                _ = ping.tick() => {
                    self.messages = 0;
                    self.heard.elapsed() < self.silence_max && send(&mut self.socket, Message::Ping(Bytes::new())).await
                }
            };
            if !done {
                return End::Gone;
            }
        }
    }

    /// Pings of sockets that opened together are spread over the time between two.
    fn pings(&self) -> Interval {
        let every = self.silence_max / PINGS_IN_SILENCE;
        let mut pings = interval_at(Instant::now() + every.mul_f64(rand::random()), every);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        pings
    }

    async fn snapshot(&mut self) -> bool {
        self.owes_snapshot = false;
        let snapshot = self.feed.snapshot();
        let sent = send(&mut self.socket, Message::Binary(snapshot)).await;
        self.synced = Instant::now();
        sent
    }
}

async fn send(socket: &mut WebSocket, message: Message) -> bool {
    matches!(timeout(SEND_TIMEOUT, socket.send(message)).await, Ok(Ok(())))
}
