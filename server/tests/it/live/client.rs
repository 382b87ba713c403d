//! A browser's side of the live map: a socket, the map that it keeps, and the bad manners of networks.

use crate::arena::{Arena, SOON};
use domain::hold::SeatState;
use domain::live::{Frame, FrameError, LiveMap, RESYNC};
use futures::{SinkExt as _, StreamExt as _};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use std::time::{Duration, Instant};
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

/// A socket of a test reads this much at once: a thousand of them fit into the test.
const BUFFER_BYTES: usize = 4 * 1_024;

/// A client that hears nothing for this long asks what it missed.
const QUIET: Duration = Duration::from_millis(800);

pub(super) struct Socket(pub(super) WebSocketStream<TcpStream>);

impl Socket {
    pub(super) async fn open(arena: &Arena, origin: Option<&str>) -> Result<Self, u16> {
        Self::open_with(arena, origin, None).await
    }

    /// Opens a socket; a small receive buffer makes a slow reader felt at once.
    pub(super) async fn open_with(arena: &Arena, origin: Option<&str>, buffer: Option<u32>) -> Result<Self, u16> {
        let address = arena.origin.trim_start_matches("http://").parse().unwrap();
        let url = format!("{}/ws/performances/{}", arena.origin.replacen("http", "ws", 1), arena.performance);
        let mut request = url.into_client_request().unwrap();
        if let Some(origin) = origin {
            request.headers_mut().insert("origin", origin.parse().unwrap());
        }
        let socket = TcpSocket::new_v4().unwrap();
        if let Some(bytes) = buffer {
            socket.set_recv_buffer_size(bytes).unwrap();
        }
        let stream = socket.connect(address).await.expect("the server listens");
        let config = WebSocketConfig::default().read_buffer_size(BUFFER_BYTES);
        match tokio_tungstenite::client_async_with_config(request, stream, Some(config)).await {
            Ok((socket, _)) => Ok(Self(socket)),
            Err(Error::Http(answer)) => Err(answer.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    pub(super) async fn own(arena: &Arena) -> Self {
        Self::open(arena, Some(&arena.origin)).await.unwrap()
    }

    /// The next frame, if one comes within the limit.
    pub(super) async fn frame(&mut self, limit: Duration) -> Option<Frame> {
        let next = async {
            loop {
                match self.0.next().await.expect("the socket stays open").unwrap() {
                    Message::Binary(bytes) => return Frame::decode(&bytes).unwrap(),
                    _ => continue,
                }
            }
        };
        tokio::time::timeout(limit, next).await.ok()
    }

    pub(super) async fn resync(&mut self) {
        self.0.send(Message::text(RESYNC)).await.unwrap();
    }

    /// Applies frames until a seat is in a state.
    pub(super) async fn until(&mut self, map: &mut LiveMap, seat: u32, state: SeatState, limit: Duration) {
        let deadline = Instant::now() + limit;
        while map.state(seat) != Some(state) {
            let left = deadline.saturating_duration_since(Instant::now());
            let frame =
                self.frame(left).await.unwrap_or_else(|| panic!("seat {seat} is not {state:?} within {limit:?}"));
            map.apply(frame).expect("frames of one socket continue each other");
        }
    }

    /// Reads on until the server closes, and says how: `None` without a close frame.
    pub(super) async fn closed(&mut self) -> Option<CloseFrame> {
        let closing = async {
            loop {
                match self.0.next().await {
                    Some(Ok(Message::Close(close))) => return close,
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return None,
                }
            }
        };
        tokio::time::timeout(SOON, closing).await.expect("the server closes the socket")
    }
}

/// What a client went through.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    pub(super) missed: u32,
    pub(super) gaps: u32,
    pub(super) breaks: u32,
    pub(super) pauses: u32,
}

/// A client of which nothing goes as it should: by its own seed it misses frames, stops reading, and
/// loses its connection.
pub(super) struct Client {
    socket: Option<Socket>,
    pub(super) map: LiveMap,
    rng: StdRng,
    pub(super) seen: Seen,
    /// A snapshot was asked for, and has not come.
    waiting: bool,
}

impl Client {
    pub(super) fn new(seed: u64) -> Self {
        let rng = StdRng::seed_from_u64(seed);
        Self { socket: None, map: LiveMap::new(), rng, seen: Seen::default(), waiting: false }
    }

    /// Lives through one frame, or a little time without one, badly or well.
    pub(super) async fn step(&mut self, arena: &Arena, badly: bool) {
        if badly && self.misbehave().await {
            return;
        }
        let Some(socket) = &mut self.socket else {
            match Socket::open(arena, Some(&arena.origin)).await {
                Ok(socket) => self.socket = Some(socket),
                // Nothing to show yet: as a browser, it comes again.
                Err(status) => {
                    assert_eq!(status, 503);
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
            }
            self.waiting = true;
            return;
        };
        let Some(frame) = socket.frame(QUIET).await else {
            // The last frame was missed, and nothing comes after it.
            socket.resync().await;
            self.waiting = true;
            return;
        };
        if badly && !self.map.seats().is_empty() && self.rng.random_range(0..6) == 0 {
            self.seen.missed += 1;
            // A snapshot that never came is asked for again.
            self.waiting = false;
            return;
        }
        let is_snapshot = matches!(frame, Frame::Snapshot { .. });
        match self.map.apply(frame) {
            Ok(_) => self.waiting &= !is_snapshot,
            Err(FrameError::Gap) if self.waiting && !is_snapshot => {}
            Err(FrameError::Gap) => {
                self.seen.gaps += 1;
                self.waiting = true;
                socket.resync().await;
            }
            Err(FrameError::Malformed) => panic!("no map can be in that frame"),
        }
    }

    /// Whether something went wrong instead of the next frame.
    async fn misbehave(&mut self) -> bool {
        match self.rng.random_range(0..60) {
            // Cut, without a word.
            0 => {
                self.seen.breaks += 1;
                self.socket = None;
                true
            }
            // Stopped: nothing is read for a while.
            1 => {
                self.seen.pauses += 1;
                let pause = Duration::from_millis(self.rng.random_range(100..1_500));
                tokio::time::sleep(pause).await;
                true
            }
            _ => false,
        }
    }
}
