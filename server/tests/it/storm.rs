//! Many fans, few seats, the stores disturbed: what they are told is true all the same.

use crate::arena::crowd::{Crowd, Habits, Weather};
use crate::arena::journal::Journal;
use crate::arena::{Arena, SOON, Setup};
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// Seats on sale: few, so that fans are in each other's way.
const HOUSE: u32 = 40;
const LIMIT: u32 = 4;

fn setup(hold_ttl_ms: i64) -> Setup {
    Setup { hold_ttl_ms, seat_limit: LIMIT, ..Setup::default() }.provider_deadline(2_000, 500)
}

/// The judgement that every storm ends with.
async fn judge(arena: Arena, journal: &Journal, lost: &HashSet<domain::OrderId>) {
    eprintln!("{} holds; {:?}", journal.told.len(), journal.outcomes);
    journal.assert_no_seat_told_twice(lost);
    journal.assert_no_payment_lost(&arena).await;
    arena.assert_every_seat_is_sold_or_holdable(HOUSE, LIMIT as usize).await;
    assert_eq!(arena.deadlocks().await, 0);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_storm_of_a_minute_no_instant_shows_more_than_the_house_and_no_seat_is_told_twice() {
    const FANS: usize = 60;
    const STORM: Duration = Duration::from_secs(60);
    let arena = Arena::web(setup(2_000)).await;
    arena.keep_open(HOUSE).await;
    let fans = arena.inside(FANS).await;
    let sampler = arena.sampler(HOUSE as usize, LIMIT as usize).await;
    let habits = Habits { pause_ms: 150, ..Habits::lively(1_301, HOUSE, Weather::Fair) };
    let mut crowd = Crowd::start(&arena, fans, &habits);
    let ends = Instant::now() + STORM;
    while Instant::now() < ends {
        crowd.check();
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let journal = crowd.end().await;
    let looks = sampler.end().await;
    assert!(looks > 100, "a storm that is looked at {looks} times is not watched");
    assert!(journal.told.len() > 10 * FANS, "a storm of {} holds is none", journal.told.len());
    assert!(journal.count("hold: seat_taken") > 0, "nobody was in anybody's way");
    journal.assert_written_once_each(&arena).await;
    let refused = "select count(*) from orders where performance_id = $1 and status = 'refused'";
    assert_eq!(arena.count(refused).await, 0, "no accepted hold is refused later");
    judge(arena, &journal, &HashSet::new()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_clients_over_overlapping_sets_never_deadlock_and_never_see_a_fault() {
    const CLIENTS: usize = 200;
    const STORM: Duration = Duration::from_secs(20);
    let arena = Arena::web(setup(5_000)).await;
    arena.keep_open(HOUSE).await;
    let fans = arena.inside(CLIENTS).await;
    let habits = Habits {
        at_once: 2..=4,
        buyers: 0,
        declined: 0,
        walked_away: 0,
        pause_ms: 400,
        ..Habits::lively(719, HOUSE, Weather::Fair)
    };
    let mut crowd = Crowd::start(&arena, fans, &habits);
    let ends = Instant::now() + STORM;
    while Instant::now() < ends {
        crowd.check();
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let journal = crowd.end().await;
    assert!(journal.told.len() > CLIENTS, "a storm of {} holds is none", journal.told.len());
    assert!(journal.count("hold: seat_taken") > 0, "the sets did not overlap");
    journal.assert_written_once_each(&arena).await;
    judge(arena, &journal, &HashSet::new()).await;
}

/// Disturbs Redis again and again while fans shop, each time until the sale goes on without a restart.
async fn disturbed(seed: u64, rounds: usize, disturbance: &[&[&str]]) {
    let arena = Arena::web(setup(3_000)).await;
    arena.keep_open(HOUSE).await;
    let fans = arena.inside(30).await;
    let mut crowd = Crowd::start(&arena, fans, &Habits::lively(seed, HOUSE, Weather::Rough));
    let mut redis = arena.redis().await;
    eventually!(SOON, "the sale runs", crowd.accepted() > 30);
    for round in 0..rounds {
        for words in disturbance {
            let mut command = redis::cmd(words[0]);
            for word in &words[1..] {
                command.arg(*word);
            }
            let () = command.query_async(&mut redis).await.unwrap_or_default();
        }
        let before = crowd.accepted();
        eventually!(SOON, format!("the sale goes on after round {round}"), {
            crowd.check();
            crowd.accepted() >= before + 10
        });
    }
    let journal = crowd.end().await;
    journal.assert_written_once_each(&arena).await;
    judge(arena, &journal, &HashSet::new()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_every_connection_to_redis_killed_again_and_again_the_sale_goes_on_without_a_restart() {
    // Our own connection is spared: it says what to kill next.
    disturbed(11, 12, &[&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_redis_pausing_beyond_the_patience_of_calls_the_sale_goes_on_without_a_restart() {
    disturbed(12, 5, &[&["CLIENT", "PAUSE", "900", "ALL"]]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_the_scripts_flushed_again_and_again_no_fan_notices() {
    disturbed(13, 40, &[&["SCRIPT", "FLUSH"]]).await;
}
