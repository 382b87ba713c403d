//! Sockets to the live map: each follows the map as a browser does, and writes down when it learned
//! that a seat is held.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use anyhow::{Context as _, bail};
use domain::hold::SeatState;
use domain::live::{Frame, FrameError, LiveMap, RESYNC};
use futures::{SinkExt as _, StreamExt as _};
use hdrhistogram::Histogram;
use http::header;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_util::sync::CancellationToken;

use super::clock::Clock;
use super::http::{Target, open};
use super::journal::{Claim, histogram};

/// Most arrivals written down for one socket: 500 sockets then take 32 MB.
const ARRIVALS_MAX: usize = 4_000;
/// Largest frame that is read: the snapshot of the largest map has 25 KB.
const FRAME_MAX_BYTES: usize = 1 << 18;
/// How long a socket may take to open.
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);
/// How often a socket is opened again before its fan gives up.
const REOPEN_MAX: u32 = 20;
/// Wait before a socket is opened again, once for each failure so far.
const REOPEN_STEP: Duration = Duration::from_millis(250);

/// The address of one socket and what it states about itself.
#[derive(Clone, Debug)]
pub(super) struct Door {
    pub(super) target: Target,
    pub(super) path: String,
    pub(super) source: Option<IpAddr>,
    pub(super) cookies: String,
}

type Socket = WebSocketStream<TcpStream>;

impl Door {
    async fn open(&self) -> anyhow::Result<Socket> {
        let mut request = format!("ws://{}{}", self.target.authority, self.path).into_client_request()?;
        request.headers_mut().insert(header::ORIGIN, self.target.origin().parse()?);
        if !self.cookies.is_empty() {
            request.headers_mut().insert(header::COOKIE, self.cookies.parse()?);
        }
        let config =
            WebSocketConfig::default().max_message_size(Some(FRAME_MAX_BYTES)).max_frame_size(Some(FRAME_MAX_BYTES));
        let opening = async {
            let stream = open(self.target.addr, self.source).await?;
            let (socket, _) = tokio_tungstenite::client_async_with_config(request, stream, Some(config)).await?;
            anyhow::Ok(socket)
        };
        timeout(OPEN_TIMEOUT, opening).await.context("the socket took too long to open")?
    }

    /// The map as a new visitor gets it.
    pub(super) async fn look(&self) -> anyhow::Result<LiveMap> {
        let mut socket = self.open().await?;
        let first = async {
            while let Some(message) = socket.next().await {
                if let Message::Binary(bytes) = message? {
                    let mut map = LiveMap::new();
                    map.apply(Frame::decode(&bytes)?)?;
                    return Ok(map);
                }
            }
            bail!("the socket closed without a snapshot")
        };
        timeout(OPEN_TIMEOUT, first).await.context("no snapshot came")?
    }
}

/// A map that one socket keeps current, for whoever looks at it.
pub(super) struct View {
    map: RwLock<LiveMap>,
    ready: watch::Sender<bool>,
}

impl View {
    pub(super) fn new() -> Self {
        Self { map: RwLock::new(LiveMap::new()), ready: watch::Sender::new(false) }
    }

    /// Looks at the states; empty before the first snapshot.
    pub(super) fn look<T>(&self, look: impl FnOnce(&[SeatState]) -> T) -> T {
        look(self.map.read().unwrap_or_else(PoisonError::into_inner).seats())
    }

    /// Waits for the first snapshot.
    pub(super) async fn ready(&self) {
        let mut ready = self.ready.subscribe();
        // The sender lives as long as this view; the guard would keep the follower from writing.
        drop(ready.wait_for(|ready| *ready).await);
    }
}

/// When a socket learned that a seat is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrival {
    pub(super) seat: u32,
    pub(super) at_us: u64,
}

/// What one socket saw.
#[derive(Clone, Debug, Default)]
pub(super) struct SocketLog {
    pub(super) arrivals: Vec<Arrival>,
    /// Snapshots that had to be asked for after a gap.
    pub(super) resyncs: u64,
    /// Times that the socket broke or did not open.
    pub(super) failures: u64,
    /// Frames that no map can be in.
    pub(super) malformed: u64,
}

/// Follows the map until `stop`, opening the socket again when it breaks.
pub(super) async fn follow(door: &Door, view: &View, clock: &Clock, stop: &CancellationToken) -> SocketLog {
    let mut log = SocketLog::default();
    let mut failures = 0;
    while !stop.is_cancelled() && failures <= REOPEN_MAX {
        let session = async {
            let socket = door.open().await?;
            listen(socket, view, clock, &mut log).await
        };
        let ended = stop.run_until_cancelled(session).await;
        if ended.is_some() {
            failures += 1;
            log.failures += 1;
            // Cut short by `stop`, the loop's condition ends it.
            let _stopped = stop.run_until_cancelled(sleep(REOPEN_STEP * failures)).await;
        }
    }
    log
}

async fn listen(mut socket: Socket, view: &View, clock: &Clock, log: &mut SocketLog) -> anyhow::Result<()> {
    while let Some(message) = socket.next().await {
        let Message::Binary(bytes) = message? else { continue };
        let outcome = Frame::decode(&bytes).and_then(|frame| take(frame, view, clock.now_us(), log));
        match outcome {
            Ok(()) => {
                view.ready.send_if_modified(|ready| !std::mem::replace(ready, true));
            }
            Err(FrameError::Gap) => {
                log.resyncs += 1;
                socket.send(Message::text(RESYNC)).await?;
            }
            Err(FrameError::Malformed) => log.malformed += 1,
        }
    }
    bail!("the server closed the socket")
}

fn take(frame: Frame, view: &View, now_us: u64, log: &mut SocketLog) -> Result<(), FrameError> {
    let mut map = view.map.write().unwrap_or_else(PoisonError::into_inner);
    // A snapshot says nothing about when its seats were taken.
    let Some(changed) = map.apply(frame)? else { return Ok(()) };
    for seat in changed {
        if map.state(seat) == Some(SeatState::Held) && log.arrivals.len() < ARRIVALS_MAX {
            log.arrivals.push(Arrival { seat, at_us: now_us });
        }
    }
    Ok(())
}

/// How long after a hold's answer its seats were held on the sockets' maps; 0 where the map knew first.
///
/// Each arrival belongs to the last hold of its seat that was asked for before it; a second one for the
/// same hold is another's, unknown here, and is left out.
pub(super) fn delta_latencies<'a>(claims: impl IntoIterator<Item = &'a Claim>, logs: &[SocketLog]) -> Histogram<u64> {
    let mut holds: HashMap<u32, Vec<(u64, u64)>> = HashMap::new();
    for claim in claims {
        for seat in &claim.seats {
            holds.entry(seat.0).or_default().push((claim.sent_us, claim.told_us));
        }
    }
    holds.values_mut().for_each(|list| list.sort_unstable());
    let mut latencies = histogram();
    for log in logs {
        let mut last: HashMap<u32, u64> = HashMap::new();
        for arrival in &log.arrivals {
            let Some(list) = holds.get(&arrival.seat) else { continue };
            let before = list.partition_point(|(sent_us, _)| *sent_us <= arrival.at_us);
            let Some((sent_us, told_us)) = before.checked_sub(1).and_then(|i| list.get(i)) else { continue };
            if last.insert(arrival.seat, *sent_us) != Some(*sent_us) {
                latencies.saturating_record(arrival.at_us.saturating_sub(*told_us));
            }
        }
    }
    latencies
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::SeatNo;
    use domain::hold::NO_ORDER;
    use domain::live::LogPosition;

    #[test]
    fn arrivals_are_paired_with_their_holds() {
        let claim = |sent_us, told_us| Claim::new(NO_ORDER, vec![SeatNo(5)], sent_us, told_us, u64::MAX);
        let arrival = |at_us| Arrival { seat: 5, at_us };
        let log = SocketLog {
            // Before the answer; 400 µs after the second one's; once more for the same hold; a stranger's seat.
            arrivals: vec![arrival(150), arrival(2_400), arrival(2_900), Arrival { seat: 6, at_us: 10 }],
            ..SocketLog::default()
        };
        let latencies = delta_latencies(&[claim(100, 200), claim(1_900, 2_000)], &[log]);
        assert_eq!(latencies.len(), 2);
        assert_eq!((latencies.min(), latencies.max()), (0, 400));
    }

    #[test]
    fn only_seats_that_become_held_are_written_down() {
        let (view, mut log) = (View::new(), SocketLog::default());
        let at = |ms| LogPosition { ms, seq: 0 };
        let snapshot = Frame::Snapshot {
            epoch: 1,
            at: at(1),
            seats: vec![SeatState::Held, SeatState::Available, SeatState::Held],
        };
        take(snapshot, &view, 10, &mut log).unwrap();
        let changes = vec![(0, SeatState::Sold), (1, SeatState::Held), (2, SeatState::Held)];
        take(Frame::Delta { epoch: 1, after: at(1), upto: at(2), changes }, &view, 20, &mut log).unwrap();
        assert_eq!(log.arrivals, vec![Arrival { seat: 1, at_us: 20 }]);
        let gap = Frame::Delta { epoch: 1, after: at(3), upto: at(4), changes: vec![] };
        assert_eq!(take(gap, &view, 30, &mut log), Err(FrameError::Gap));
    }
}
