//! The live map's socket: a snapshot, then deltas; a socket that lags is given a snapshot again.

use super::State;
use super::errors::{failed, refuse};
use axum::body::Bytes;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Path, State as Extract};
use axum::response::Response;
use backend::{Backend, Feed};
use domain::live::RESYNC;
use domain::{Code, PerformanceId};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

/// Sockets of one process: about 10 KB each.
const SOCKETS_MAX: usize = 20_000;
/// A client sends a word now and then.
const MESSAGE_MAX_BYTES: usize = 1_024;
/// The library's defaults are 128 KiB for each; a frame has a few kilobytes.
const BUFFER_BYTES: usize = 1_024;
/// A snapshot of the largest map and some deltas; a socket that owes more is closed.
const WRITE_BUFFER_MAX_BYTES: usize = 256 * 1_024;
/// How often a sign of life is asked for.
const PING_EVERY: Duration = Duration::from_secs(20);
/// A client that was silent for this long is gone.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// A frame that can't be sent within this time belongs to a client that is gone.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// Snapshots on request are not given faster than this.
const RESYNC_EVERY: Duration = Duration::from_millis(250);
/// "Going away", RFC 6455.
const GOING_AWAY: u16 = 1001;

static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Counts a socket for as long as it is held.
struct Counted;

impl Counted {
    fn new() -> Option<Self> {
        if OPEN.fetch_add(1, Ordering::Relaxed) >= SOCKETS_MAX {
            OPEN.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        metrics::gauge!("stararena_sockets").increment(1.0);
        Some(Self)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
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
    let feed = match state.backend.watch(id).await {
        Ok(feed) => feed,
        Err(error) => return failed(&error),
    };
    let Some(counted) = Counted::new() else {
        return refuse(Code::Unavailable, "as many live maps as possible are open here");
    };
    socket
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES)
        .max_write_buffer_size(WRITE_BUFFER_MAX_BYTES)
        .max_message_size(MESSAGE_MAX_BYTES)
        .max_frame_size(MESSAGE_MAX_BYTES)
        .on_upgrade(move |socket| async move {
            let _counted = counted;
            follow(socket, &state.backend, id, feed, &state.stop).await;
        })
}

async fn send(socket: &mut WebSocket, message: Message) -> bool {
    matches!(tokio::time::timeout(SEND_TIMEOUT, socket.send(message)).await, Ok(Ok(())))
}

/// A new feed, whose snapshot is sent at once.
async fn resync(socket: &mut WebSocket, backend: &Arc<Backend>, id: PerformanceId) -> Option<Feed> {
    let feed = backend.watch(id).await.ok()?;
    send(socket, Message::Binary(feed.snapshot.clone())).await.then_some(feed)
}

async fn follow(
    mut socket: WebSocket,
    backend: &Arc<Backend>,
    id: PerformanceId,
    mut feed: Feed,
    stop: &CancellationToken,
) {
    if !send(&mut socket, Message::Binary(feed.snapshot.clone())).await {
        return;
    }
    feed.snapshot = Bytes::new();
    let mut heard = Instant::now();
    let mut synced = Instant::now();
    let mut ping = tokio::time::interval(PING_EVERY);
    loop {
        tokio::select! {
            frame = feed.frames.recv() => match frame {
                Ok(frame) => {
                    if !send(&mut socket, Message::Binary(frame)).await {
                        return;
                    }
                }
                Err(RecvError::Lagged(_)) => match resync(&mut socket, backend, id).await {
                    Some(fresh) => feed = fresh,
                    None => return,
                },
                Err(RecvError::Closed) => return,
            },
            message = socket.recv() => match message {
                Some(Ok(Message::Text(text))) if text.as_str() == RESYNC => {
                    heard = Instant::now();
                    if synced.elapsed() < RESYNC_EVERY {
                        continue;
                    }
                    synced = Instant::now();
                    match resync(&mut socket, backend, id).await {
                        Some(fresh) => feed = fresh,
                        None => return,
                    }
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => heard = Instant::now(),
            },
            _ = ping.tick() => {
                if heard.elapsed() > SILENCE_MAX || !send(&mut socket, Message::Ping(Bytes::new())).await {
                    return;
                }
            }
            () = stop.cancelled() => {
                let close = CloseFrame { code: GOING_AWAY, reason: "the server restarts".into() };
                send(&mut socket, Message::Close(Some(close))).await;
                return;
            }
        }
    }
}
