//! The live map's socket: a snapshot, then every change, and the way back after a gap.

mod client;
mod crowd;
mod storm;

use crate::arena::{Arena, SOON, Setup};
use client::Socket;
use domain::hold::SeatState;
use domain::live::{Frame, GOING_AWAY, LiveMap};
use domain::queue::QueueStatus;
use futures::{SinkExt as _, StreamExt as _};
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt as _;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame as Piece;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

/// A hold by one shows on the other's map within this time.
const DELTA_LIMIT: Duration = Duration::from_secs(1);

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
async fn what_a_client_says_wrong_closes_its_own_socket_alone() {
    let arena = Arena::web(Setup::default()).await;
    let fan = arena.one_inside().await;
    let mut good = Socket::own(&arena).await;
    let mut map = LiveMap::new();
    map.apply(good.frame(SOON).await.unwrap()).unwrap();
    let piece = |text: &'static str, code, last| Message::Frame(Piece::message(text, OpCode::Data(code), last));
    let wrong: [(&str, Vec<Message>, Option<u16>); 6] = [
        ("text", vec![Message::text("hello")], Some(1008)),
        ("binary", vec![Message::binary(vec![0xff; 100])], Some(1003)),
        ("oversized", vec![Message::text("x".repeat(5_000))], Some(1002)),
        ("in pieces", vec![piece("res", Data::Text, false), piece("ist", Data::Continue, true)], Some(1008)),
        ("a piece of nothing", vec![piece("x", Data::Continue, true)], Some(1002)),
        (
            "not even text",
            vec![Message::Frame(Piece::message(vec![0xff, 0xfe], OpCode::Data(Data::Text), true))],
            Some(1002),
        ),
    ];
    for (what, messages, code) in wrong {
        let mut socket = Socket::own(&arena).await;
        for message in messages {
            socket.0.send(message).await.unwrap();
        }
        let close = socket.closed().await;
        assert_eq!(close.map(|close| close.code.into()), code, "{what}");
    }
    // No frames at all: bytes as they come, and half of a frame that never ends.
    for bytes in [&[0x00; 64][..], &[0x81, 0xfe, 0x03][..]] {
        let mut socket = Socket::own(&arena).await;
        socket.0.get_mut().write_all(bytes).await.unwrap();
        socket.0.get_mut().shutdown().await.unwrap();
        socket.closed().await;
    }
    eventually!(SOON, "only the good one is left", arena.metric("stararena_sockets").await == 1.0);
    arena.held(&fan, "33").await;
    good.until(&mut map, 33, SeatState::Held, DELTA_LIMIT).await;
    drop(good);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_for_snapshots_are_answered_once_a_second_and_a_flood_of_them_ends_the_socket() {
    let arena = Arena::web(Setup::default()).await;
    let mut socket = Socket::own(&arena).await;
    let started = Instant::now();
    for _ in 0..10 {
        socket.resync().await;
    }
    assert!(matches!(socket.frame(SOON).await, Some(Frame::Snapshot { .. })), "the first");
    assert!(matches!(socket.frame(SOON).await, Some(Frame::Snapshot { .. })), "one for all ten");
    assert!(started.elapsed() >= Duration::from_millis(900), "and not at once");
    assert_eq!(arena.metric("stararena_snapshots_sent_total").await, 2.0);
    assert_eq!(arena.metric("stararena_snapshots_encoded_total").await, 1.0, "the map has not changed");
    for _ in 0..100 {
        // The server may have had enough before the last of them.
        if socket.0.send(Message::text("resync")).await.is_err() {
            break;
        }
    }
    assert_eq!(socket.closed().await.map(|close| close.code.into()), Some(1008_u16));
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_sockets_than_the_limit_are_told_to_come_again() {
    let setup = Setup { settings: vec![("STARARENA_SOCKETS_MAX", "3".to_owned())], ..Setup::default() };
    let arena = Arena::web(setup).await;
    let mut open = Vec::new();
    for _ in 0..3 {
        open.push(Socket::own(&arena).await);
    }
    assert_eq!(Socket::open(&arena, Some(&arena.origin)).await.err(), Some(503));
    assert_eq!(arena.metric("stararena_sockets").await, 3.0);
    let mut left = open.remove(0);
    left.0.close(None).await.unwrap();
    while let Some(Ok(_)) = left.0.next().await {}
    eventually!(SOON, "a place is free again", Socket::open(&arena, Some(&arena.origin)).await.is_ok());
    drop(open);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_socket_that_gives_no_sign_of_life_is_let_go() {
    let setup = Setup { settings: vec![("STARARENA_SOCKET_SILENCE_MS", "900".to_owned())], ..Setup::default() };
    let arena = Arena::web(setup).await;
    let mut alive = Socket::own(&arena).await;
    // Closed browsers, as the server sees those whose network went with them: nobody answers.
    let mut gone = Vec::new();
    for _ in 0..20 {
        gone.push(Socket::own(&arena).await);
    }
    assert_eq!(arena.metric("stararena_sockets").await, 21.0);
    // Reading is what answers the server's pings.
    let living = tokio::spawn(async move {
        while let Some(Ok(_)) = alive.0.next().await {}
        panic!("a socket that answers stays open");
    });
    eventually!(SOON, "the silent ones are gone", arena.metric("stararena_sockets").await == 1.0);
    let until = Instant::now() + Duration::from_secs(2);
    eventually!(SOON, "twice the silence has passed", Instant::now() >= until);
    assert_eq!(arena.metric("stararena_sockets").await, 1.0);
    living.abort();
    drop(gone);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_socket_is_told_that_the_server_restarts_and_it_ends_in_time() {
    let mut arena = Arena::web(Setup::default()).await;
    let mut sockets = Vec::new();
    for _ in 0..50 {
        sockets.push(Socket::own(&arena).await);
    }
    // One of them neither reads nor answers: the others' end doesn't wait for it.
    let stuck = Socket::own(&arena).await;
    let told = tokio::spawn(async move {
        for socket in &mut sockets {
            let close = socket.closed().await.expect("a close comes first");
            assert_eq!((u16::from(close.code), close.reason.as_str()), (GOING_AWAY, "the server restarts"));
        }
    });
    arena.server().terminate();
    assert!(arena.server().ended().await.success());
    told.await.unwrap();
    drop(stuck);
    arena.start_server(&[]).await;
    let again = Socket::own(&arena).await;
    drop(again);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hub_that_nobody_watches_ends_and_the_next_one_is_right_from_the_start() {
    let setup = Setup { settings: vec![("STARARENA_HUB_IDLE_MS", "1000".to_owned())], ..Setup::default() };
    let arena = Arena::web(setup).await;
    let path = format!("/api/performances/{}/queue/status", arena.performance);
    let status = async || arena.open(None, &path).await.ok::<QueueStatus>();
    let fan = arena.one_inside().await;
    let socket = Socket::own(&arena).await;
    let stock = status().await.stock;
    let (joined, serving) = (status().await.joined, status().await.serving);
    assert!(joined == 1 && serving >= 1, "{joined} {serving}");
    let until = Instant::now() + Duration::from_secs(2);
    eventually!(SOON, "twice the time has passed", Instant::now() >= until);
    assert_eq!(arena.metric("stararena_hubs").await, 1.0, "watched, it stays");
    drop(socket);
    eventually!(SOON, "the hub ends", arena.metric("stararena_hubs").await == 0.0);
    eventually!(SOON, "so does its reader", arena.metric("stararena_log_readers").await == 0.0);
    arena.held(&fan, "33,34").await;
    let first = status().await;
    assert_eq!(first.stock, stock - 2, "what happened meanwhile is in the first answer");
    assert!(first.joined == joined && first.serving >= serving, "a place never gets worse: {first:?}");
    assert_eq!(arena.metric("stararena_hubs_started_total").await, 2.0);
    // Asked for, it stays as well.
    let until = Instant::now() + Duration::from_secs(2);
    eventually!(SOON, "polled all the time", {
        status().await;
        Instant::now() >= until
    });
    assert_eq!(arena.metric("stararena_hubs_started_total").await, 2.0);
    arena.finish().await;
}
