//! Many sockets at once, and one that is too slow for what the others read.

use super::client::Socket;
use crate::arena::{Arena, SOON, Setup};
use domain::hold::SeatState;
use domain::live::{Frame, LiveMap};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

const CROWD: usize = 1_000;
/// Process memory of one socket (DESIGN §10).
const SOCKET_MAX_KIB: f64 = 20.0;
/// Of a house of 2,000 seats, those that change again and again: 6 KB a frame.
const RESTLESS: std::ops::Range<u32> = 0..1_500;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::cast_precision_loss, reason = "a count of kibibytes is far below 2^52")]
async fn a_thousand_first_watchers_share_one_hub_one_reader_and_one_snapshot_and_cost_little() {
    let mut arena = Arena::web(Setup { seats: 20_000, ..Setup::default() }).await;
    // Whatever a first page makes the process load is no memory of sockets.
    assert_eq!(arena.open(None, "/healthz").await.status, 200);
    let before = arena.server().memory_kib();
    let arena = Arc::new(arena);
    let mut opening = JoinSet::new();
    for _ in 0..CROWD {
        let arena = Arc::clone(&arena);
        opening.spawn(async move {
            let mut socket = Socket::own(&arena).await;
            let first = socket.frame(SOON).await;
            assert!(matches!(first, Some(Frame::Snapshot { .. })), "nobody is shown an empty house");
            socket
        });
    }
    let sockets = opening.join_all().await;
    assert_eq!(arena.metric("stararena_sockets").await, CROWD as f64);
    assert_eq!(arena.metric("stararena_hubs_started_total").await, 1.0);
    assert_eq!(arena.metric("stararena_log_readers").await, 1.0);
    assert_eq!(arena.metric("stararena_snapshots_encoded_total").await, 1.0, "once for all of them");
    let mut arena = Arc::into_inner(arena).expect("all sockets are open");
    let each_kib = (arena.server().memory_kib() as f64 - before as f64) / CROWD as f64;
    eprintln!("{each_kib:.1} KiB of memory for each of {CROWD} sockets");
    assert!(each_kib <= SOCKET_MAX_KIB, "{each_kib:.1} KiB a socket");
    drop(sockets);
    eventually!(SOON, "all sockets are gone", arena.metric("stararena_sockets").await == 0.0);
    arena.finish().await;
}

/// Turns the restless seats to one state, as one entry of the log.
async fn turn(arena: &Arena, redis: &mut redis::aio::MultiplexedConnection, state: SeatState) {
    let byte = state as u8;
    let key = |name: &str| format!("sa:1:{{p{}}}:{name}", arena.performance.simple());
    let delta: Vec<String> = RESTLESS.map(|seat| format!("{seat}:{byte}")).collect();
    let fields = [("t", "block"), ("e", ""), ("d", &delta.join(","))];
    redis::pipe()
        .atomic()
        .cmd("SETRANGE")
        .arg(key("seats"))
        .arg(RESTLESS.start)
        .arg(vec![byte; RESTLESS.len()])
        .cmd("XADD")
        .arg(key("log"))
        .arg("*")
        .arg(&fields)
        .query_async::<()>(redis)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_reader_owes_little_is_given_a_snapshot_and_slows_nobody() {
    const TURNS: u32 = 36;
    // The seats are turned behind Postgres's back, which nobody is to put right meanwhile.
    let settings = vec![("STARARENA_RECONCILE_EVERY_MS", "600000".to_owned())];
    let arena = Arena::web(Setup { seats: 2_000, settings, ..Setup::default() }).await;
    let mut redis = arena.redis().await;
    let mut slow = Socket::open_with(&arena, Some(&arena.origin), Some(2_048)).await.unwrap();
    let mut quick = Socket::own(&arena).await;
    let (mut quick_map, mut slow_map) = (LiveMap::new(), LiveMap::new());
    quick_map.apply(quick.frame(SOON).await.unwrap()).unwrap();
    slow_map.apply(slow.frame(SOON).await.unwrap()).unwrap();
    let restless = &quick_map.seats()[RESTLESS.start as usize..RESTLESS.end as usize];
    assert!(restless.iter().all(|state| *state == SeatState::Available), "as they are left in the end");
    for turned in 0..TURNS {
        let state = if turned % 2 == 0 { SeatState::Blocked } else { SeatState::Available };
        turn(&arena, &mut redis, state).await;
        quick.until(&mut quick_map, RESTLESS.start, state, SOON).await;
    }
    let mut frames = 0;
    let mut snapshots = 0;
    while slow_map != quick_map {
        let frame = slow.frame(SOON).await.expect("it is given what brings it up to date");
        frames += 1;
        snapshots += u32::from(matches!(frame, Frame::Snapshot { .. }));
        slow_map.apply(frame).expect("what it is given continues, or begins anew");
        while let Some(frame) = quick.frame(Duration::ZERO).await {
            quick_map.apply(frame).unwrap();
        }
    }
    assert!(snapshots > 0, "it was {frames} frames behind and got no snapshot");
    assert!(frames < TURNS / 2, "{frames} of {TURNS} frames were kept for it");
    assert!(arena.metric("stararena_sockets_lagged_total").await >= 1.0);
    assert_eq!(arena.metric("stararena_sockets").await, 2.0, "it was never closed");
    arena.finish().await;
}
