//! Nobody gets a seat that somebody else has, however many try at once.

use crate::arena::{Arena, SOON, Setup};
use domain::Code;
use domain::hold::SeatState;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const RIVALS: usize = 500;
const SEAT: u32 = 17;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_seat_left_and_500_simultaneous_holds_have_exactly_one_winner() {
    one_of_500_wins(Setup::default()).await;
}

/// 500 fans who want the last seat in the same instant.
pub(crate) async fn one_of_500_wins(setup: Setup) {
    let arena = Arena::web(setup).await;
    let fans = arena.inside(RIVALS).await;
    let wanted = SEAT.to_string();
    let replies = futures::future::join_all(fans.iter().map(|fan| arena.hold(fan, &wanted, "last-seat"))).await;

    let winners: Vec<usize> =
        replies.iter().enumerate().filter(|(_, reply)| reply.status == 200).map(|(index, _)| index).collect();
    assert_eq!(winners.len(), 1, "exactly one wins");
    for (_, reply) in replies.iter().enumerate().filter(|(index, _)| *index != winners[0]) {
        let refusal = reply.refusal();
        assert_eq!((reply.status, refusal.code), (409, Code::SeatTaken));
        assert_eq!(refusal.seats, crate::arena::seats(&[SEAT]), "the refusal names the seat");
    }
    eventually!(
        SOON,
        "the claim is written",
        arena.count("select count(*) from seat_claims where performance_id = $1").await == 1
    );
    assert_eq!(arena.count("select count(*) from orders where performance_id = $1").await, 1);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_two_fans_are_told_at_once_that_they_own_a_seat() {
    const FANS: usize = 60;
    const SEATS: u32 = 40;
    const STORM: Duration = Duration::from_secs(4);
    let arena = Arc::new(Arena::bare(Setup::default()).await);
    let journal: Arc<Mutex<HashMap<u32, usize>>> = Arc::default();
    let ends = Instant::now() + STORM;
    let storm = arena.inside(FANS).await.into_iter().enumerate().map(|(number, fan)| {
        let (arena, journal) = (Arc::clone(&arena), Arc::clone(&journal));
        tokio::spawn(async move {
            let mut accepted = 0;
            for round in 0u32.. {
                if Instant::now() >= ends {
                    return accepted;
                }
                // Overlapping pairs, in both orders of numbers.
                let first = rand::random_range(0..SEATS);
                let pair = [first, (first + 1 + round % 3) % SEATS];
                match arena.take(&fan, &pair, &format!("round-{round}")).await {
                    Ok(held) => {
                        for seat in pair {
                            let before = journal.lock().unwrap().insert(seat, number);
                            assert_eq!(before, None, "seat {seat} is told to fan {number} and to another one");
                        }
                        accepted += 1;
                        for seat in pair {
                            journal.lock().unwrap().remove(&seat);
                        }
                        arena.give_back(&fan, held.order).await.unwrap();
                    }
                    Err(code) => assert_eq!(code, Code::SeatTaken),
                }
            }
            accepted
        })
    });
    let accepted: usize = futures::future::try_join_all(storm).await.unwrap().into_iter().sum();
    assert!(accepted > FANS, "a storm of {accepted} holds is none");
    let arena = Arc::into_inner(arena).expect("the storm is over");
    assert_eq!(
        arena.count("select count(*) from orders where status = 'refused'").await,
        0,
        "no accepted hold is refused later"
    );
    let deadlocks =
        "select coalesce(sum(deadlocks), 0)::bigint from pg_stat_database where datname = current_database()";
    assert_eq!(arena.count(deadlocks).await, 0);
    eventually!(SOON, "every seat is back", {
        arena
            .backend
            .seat_bytes(arena.performance)
            .await
            .unwrap()
            .iter()
            .all(|byte| *byte == SeatState::Available as u8)
    });
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parallel_orders_of_one_account_never_exceed_its_limit() {
    let arena = Arena::bare(Setup::default()).await;
    let fan = arena.one_inside().await;
    let keys: Vec<String> = (0..10).map(|n| format!("window-{n}")).collect();
    let wanted: Vec<[u32; 3]> = (0..10).map(|n| [3 * n, 3 * n + 1, 3 * n + 2]).collect();
    let replies =
        futures::future::join_all(keys.iter().zip(&wanted).map(|(key, list)| arena.take(&fan, list, key))).await;
    assert_eq!(replies.iter().filter(|reply| reply.is_ok()).count(), 1, "one open hold an account: {replies:?}");
    assert!(replies.iter().filter_map(|reply| reply.as_ref().err()).all(|code| *code == Code::HoldOpen), "{replies:?}");
    arena.finish().await;
}
