//! Many clients, none of which has a good network: in the end all of them have the server's map.

use super::client::{Client, Seen};
use crate::arena::{Arena, SOON, Setup};
use domain::hold::{SeatByte, SeatState};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinHandle;

const CLIENTS: u64 = 50;
const FANS: usize = 12;
const STORM: Duration = Duration::from_secs(5);
/// From the last change on, every map is the server's within this time.
const CONVERGENCE_LIMIT: Duration = Duration::from_secs(3);

type Truth = Option<(Vec<SeatState>, Instant)>;

/// Follows badly until the truth is known, then well, until the map is the truth.
fn client(arena: &Arc<Arena>, seed: u64, mut truth: watch::Receiver<Truth>) -> JoinHandle<Seen> {
    let arena = Arc::clone(arena);
    tokio::spawn(async move {
        let mut client = Client::new(seed);
        loop {
            let known = truth.borrow_and_update().clone();
            if let Some((seats, since)) = &known {
                if client.map.seats() == seats {
                    return client.seen;
                }
                assert!(since.elapsed() < CONVERGENCE_LIMIT, "client {seed} has not got there: {:?}", client.seen);
            }
            client.step(&arena, known.is_none()).await;
        }
    })
}

/// Fans who hold and give back until the storm is over; refusals and outages are part of it.
async fn storm(arena: &Arc<Arena>, emptied: bool) {
    let fans = arena.inside(FANS).await;
    let ends = Instant::now() + STORM;
    let fans = fans.into_iter().enumerate().map(|(n, fan)| {
        let arena = Arc::clone(arena);
        tokio::spawn(async move {
            for round in 0.. {
                let seat = rand::random_range(0..198);
                let held = arena.take(&fan, &[seat, seat + 1], &format!("r{n}-{round}")).await;
                if Instant::now() >= ends {
                    return;
                }
                match held {
                    // After a loss it may be unknown: then its time will end it.
                    Ok(held) => drop(arena.give_back(&fan, held.order).await),
                    Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            }
        })
    });
    let fans = tokio::spawn(futures::future::join_all(fans));
    if emptied {
        eventually!(SOON, "the storm is at its height", Instant::now() + STORM / 2 >= ends);
        let () = redis::cmd("FLUSHALL").query_async(&mut arena.redis().await).await.unwrap();
    }
    for outcome in fans.await.unwrap() {
        outcome.unwrap();
    }
}

async fn every_client_converges(setup: Setup, emptied: bool) {
    let arena = Arc::new(Arena::web(setup).await);
    let (told, truth) = watch::channel(None);
    let clients: Vec<_> = (0..CLIENTS).map(|seed| client(&arena, seed, truth.clone())).collect();
    storm(&arena, emptied).await;
    if emptied {
        let epoch = "select epoch from performances where id = $1";
        eventually!(SOON, "the state was built anew", arena.count(epoch).await >= 2);
        let all = async || arena.backend.seat_bytes(arena.performance).await.is_ok_and(|bytes| !bytes.is_empty());
        eventually!(SOON, "and is in place", all().await);
    }
    let bytes = arena.backend.seat_bytes(arena.performance).await.unwrap();
    let seats: Vec<SeatState> = bytes.into_iter().map(|byte| SeatByte(byte).shown()).collect();
    told.send(Some((seats, Instant::now()))).unwrap();
    let mut all = Seen::default();
    for client in clients {
        let seen = client.await.unwrap();
        all.missed += seen.missed;
        all.gaps += seen.gaps;
        all.breaks += seen.breaks;
        all.pauses += seen.pauses;
    }
    assert!(
        all.missed > 50 && all.gaps > 50 && all.breaks > 5 && all.pauses > 5,
        "a storm without trouble is none: {all:?}"
    );
    Arc::into_inner(arena).expect("the storm is over").finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_breaks_pauses_and_missed_frames_every_clients_map_is_the_servers() {
    every_client_converges(Setup::default(), false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_redis_emptied_under_them_all_clients_come_to_the_new_map() {
    every_client_converges(Setup::default(), true).await;
}
