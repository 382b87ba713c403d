//! The live map's socket: a snapshot, then every change, and the way back after a gap.

use crate::arena::{Arena, SOON, Setup};
use domain::hold::SeatState;
use domain::live::{Frame, FrameError, LiveMap, RESYNC};
use futures::{SinkExt as _, StreamExt as _};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

/// A hold by one shows on the other's map within this time.
const DELTA_LIMIT: Duration = Duration::from_secs(1);

struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    async fn open(arena: &Arena, origin: Option<&str>) -> Result<Self, u16> {
        let url = format!("{}/ws/performances/{}", arena.origin.replacen("http", "ws", 1), arena.performance);
        let mut request = url.into_client_request().unwrap();
        if let Some(origin) = origin {
            request.headers_mut().insert("origin", origin.parse().unwrap());
        }
        match tokio_tungstenite::connect_async(request).await {
            Ok((socket, _)) => Ok(Self(socket)),
            Err(Error::Http(answer)) => Err(answer.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    async fn own(arena: &Arena) -> Self {
        Self::open(arena, Some(&arena.origin)).await.unwrap()
    }

    /// The next frame, if one comes within the limit.
    async fn frame(&mut self, limit: Duration) -> Option<Frame> {
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

    async fn resync(&mut self) {
        self.0.send(Message::text(RESYNC)).await.unwrap();
    }

    /// Applies frames until a seat is in a state.
    async fn until(&mut self, map: &mut LiveMap, seat: u32, state: SeatState, limit: Duration) {
        let deadline = Instant::now() + limit;
        while map.state(seat) != Some(state) {
            let left = deadline.saturating_duration_since(Instant::now());
            let frame =
                self.frame(left).await.unwrap_or_else(|| panic!("seat {seat} is not {state:?} within {limit:?}"));
            map.apply(frame).expect("frames of one socket continue each other");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hold_shows_on_another_fans_map_within_a_second_and_comes_back_when_it_runs_out() {
    let arena = Arena::web(Setup { hold_ttl_ms: 2_000, ..Setup::default() }).await;
    let fan = arena.one_inside().await;
    let mut socket = Socket::own(&arena).await;
    let mut map = LiveMap::new();
    let first = socket.frame(SOON).await.unwrap();
    assert!(matches!(first, Frame::Snapshot { .. }), "a snapshot comes first");
    map.apply(first).unwrap();
    assert_eq!(map.state(33), Some(SeatState::Available));

    let held = arena.held(&fan, "33,34").await;
    socket.until(&mut map, 33, SeatState::Held, DELTA_LIMIT).await;
    assert_eq!(map.state(34), Some(SeatState::Held));
    eventually!(SOON, "the hold ran out", arena.redis_now().await >= held.expires);
    socket.until(&mut map, 33, SeatState::Available, Duration::from_secs(5)).await;

    socket.resync().await;
    let again = socket.frame(SOON).await.unwrap();
    let Frame::Snapshot { seats, .. } = &again else { panic!("resync is answered with a snapshot: {again:?}") };
    assert_eq!(seats, map.seats());
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_socket_from_another_site_is_refused() {
    let arena = Arena::web(Setup::default()).await;
    assert_eq!(Socket::open(&arena, Some("http://evil.example")).await.err(), Some(403));
    assert_eq!(Socket::open(&arena, None).await.err(), Some(403));
    assert!(Socket::open(&arena, Some(&arena.origin)).await.is_ok());
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_random_drops_and_resyncs_the_clients_map_is_the_servers() {
    const STORM: Duration = Duration::from_secs(3);
    let arena = Arc::new(Arena::web(Setup::default()).await);
    let fans = arena.inside(12).await;
    let mut socket = Socket::own(&arena).await;
    let ends = Instant::now() + STORM;
    let storm = fans.into_iter().map(|fan| {
        let arena = Arc::clone(&arena);
        tokio::spawn(async move {
            for round in 0.. {
                let seat = rand::random_range(0..180);
                let Ok(held) = arena.take(&fan, &[seat, seat + 1], &format!("r{round}")).await else { continue };
                if Instant::now() >= ends {
                    return;
                }
                arena.give_back(&fan, held.order).await.unwrap();
            }
        })
    });
    let storm = tokio::spawn(futures::future::join_all(storm));
    let (mut map, mut dropped, mut gaps) = (LiveMap::new(), 0, 0);
    while Instant::now() < ends {
        let Some(frame) = socket.frame(Duration::from_millis(300)).await else { continue };
        if !map.seats().is_empty() && rand::random_range(0..4) == 0 {
            dropped += 1;
            continue;
        }
        if map.apply(frame) == Err(FrameError::Gap) {
            gaps += 1;
            socket.resync().await;
        }
    }
    for outcome in storm.await.unwrap() {
        outcome.unwrap();
    }
    assert!(dropped > 0 && gaps > 0, "a storm without drops is none: {dropped} dropped, {gaps} gaps");
    let settled = Instant::now();
    loop {
        let truth: Vec<SeatState> =
            arena.backend.seat_bytes(arena.performance).await.unwrap().into_iter().map(SeatState::from_byte).collect();
        if map.seats() == truth {
            break;
        }
        assert!(settled.elapsed() < Duration::from_secs(3), "client map = server map within three seconds");
        match socket.frame(Duration::from_millis(300)).await {
            Some(frame) => {
                if map.apply(frame) == Err(FrameError::Gap) {
                    socket.resync().await;
                }
            }
            // The last delta was dropped, and nothing comes after it: that is what a client's timer is for.
            None => socket.resync().await,
        }
    }
    drop(socket);
    Arc::into_inner(arena).expect("the storm is over").finish().await;
}
