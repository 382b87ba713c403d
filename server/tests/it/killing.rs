//! `kill -9` at random moments of a running sale, and workers that stand still and wake up again. The
//! moments follow from seeds; after each blow the sale must go on, and at the end all is accounted for.

use crate::arena::crowd::{Crowd, Habits, Weather};
use crate::arena::{Arena, SOON, Setup};
use nix::sys::signal::Signal;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use std::collections::HashSet;
use std::time::{Duration, Instant};

const HOUSE: u32 = 40;
const LIMIT: u32 = 4;
const FANS: usize = 30;
/// Blows in one sale.
const ROUNDS: usize = 4;
/// Holds that prove that the sale goes on.
const PROOF: u64 = 15;
/// How long the sale may stand still after a blow: stores start again, leaders change, seats are rebuilt.
const RECOVERY: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Server,
    Worker,
    Redis,
    RedisAndItsFile,
    Postgres,
}

async fn strike(arena: &mut Arena, victim: Victim) {
    match victim {
        Victim::Server => arena.restart_server(&[]).await,
        Victim::Worker => arena.restart_worker(0).await,
        Victim::Redis => arena.restart_redis(false).await,
        Victim::RedisAndItsFile => arena.restart_redis(true).await,
        Victim::Postgres => arena.restart_postgres().await,
    }
}

async fn sale(workers: usize) -> Arena {
    let setup = Setup { hold_ttl_ms: 4_000, seat_limit: LIMIT, ..Setup::default() }.provider_deadline(4_000, 500);
    let arena = Arena::apart(setup, workers).await;
    arena.keep_open(HOUSE).await;
    // Each loss of Redis skips numbers of the queue that may have been given: later fans shall not wait for them.
    sqlx::query("update performances set release_per_min = 100000000 where id = $1")
        .bind(arena.performance.0)
        .execute(&arena.pg)
        .await
        .unwrap();
    arena
}

/// Kills one part again and again while fans shop.
async fn the_sale_survives(victim: Victim, seed: u64) {
    let mut arena = sale(1).await;
    let fans = arena.inside(FANS).await;
    let visits = "select count(*) from admissions where performance_id = $1";
    eventually!(SOON, "all visits are written", arena.count(visits).await >= i64::try_from(FANS).unwrap());
    let habits = Habits { paid: 120, ..Habits::lively(seed, HOUSE, Weather::Stormy) };
    let mut crowd = Crowd::start(&arena, fans, &habits);
    let mut moments = StdRng::seed_from_u64(seed);
    for round in 0..ROUNDS {
        tokio::time::sleep(Duration::from_millis(moments.random_range(100..1_500))).await;
        strike(&mut arena, victim).await;
        let before = crowd.accepted();
        let what = format!("the sale goes on after round {round}");
        eventually!(RECOVERY, what, {
            crowd.check();
            crowd.accepted() >= before + PROOF
        });
    }
    let journal = crowd.end().await;
    eventually!(RECOVERY, "the seats can be read", arena.backend.watch(arena.performance).await.is_ok());
    eprintln!("{victim:?}: {} holds; {:?}", journal.told.len(), journal.outcomes);
    let lost = match victim {
        // A lease may go with Redis before it is written; nothing else may go with anything.
        Victim::Redis | Victim::RedisAndItsFile => journal.unwritten(&arena).await,
        _ => HashSet::new(),
    };
    journal.assert_no_seat_told_twice(&lost);
    journal.assert_no_payment_lost(&arena).await;
    arena.assert_every_seat_is_sold_or_holdable(HOUSE, LIMIT as usize).await;
    // What a loss leaves behind is the reconciler's work: it is over when two whole runs found nothing.
    let mut clean = 0;
    eventually!(RECOVERY, "nothing is left to be put right", {
        let done = arena.backend.reconcile(arena.performance).await;
        clean = if done.is_ok_and(|done| done.repairs.is_empty()) { clean + 1 } else { 0 };
        clean == 2
    });
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_killed_at_random_moments_loses_nothing_that_it_acknowledged() {
    the_sale_survives(Victim::Server, 9_001).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_worker_killed_at_random_moments_loses_no_order_and_no_payment() {
    the_sale_survives(Victim::Worker, 9_002).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_killed_at_random_moments_and_back_with_its_file_doubles_no_seat() {
    the_sale_survives(Victim::Redis, 9_003).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_killed_at_random_moments_and_back_empty_doubles_no_seat() {
    the_sale_survives(Victim::RedisAndItsFile, 9_004).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_killed_at_random_moments_loses_no_order_and_no_payment() {
    the_sale_survives(Victim::Postgres, 9_005).await;
}

/// Whether orders are being written now: a hold that is taken from here on gets its row.
async fn orders_are_written(arena: &Arena) {
    let rows = "select count(*) from orders where performance_id = $1";
    let before = arena.count(rows).await;
    eventually!(SOON, "orders are written", arena.count(rows).await > before + 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_stands_still_is_replaced_and_when_it_wakes_up_it_writes_nothing_twice() {
    let arena = sale(2).await;
    let fans = arena.inside(FANS).await;
    // Holds outlast the pause between leaders; everything else is as lively as ever.
    let habits = Habits { run_out: 0, walked_away: 0, ..Habits::lively(77, HOUSE, Weather::Rough) };
    let mut crowd = Crowd::start(&arena, fans, &habits);
    let mut moments = StdRng::seed_from_u64(77);
    let first = arena.terms().await;
    // One of the two leads at first, so at least one of the first two is stopped while it leads.
    for number in [0, 1, 0, 1] {
        tokio::time::sleep(Duration::from_millis(moments.random_range(50..600))).await;
        arena.worker(number).signal(Signal::SIGSTOP);
        orders_are_written(&arena).await;
        arena.worker(number).signal(Signal::SIGCONT);
        crowd.check();
    }
    assert!(arena.terms().await > first, "nobody took over");
    let journal = crowd.end().await;
    eprintln!("{} holds; {:?}", journal.told.len(), journal.outcomes);
    journal.assert_written_once_each(&arena).await;
    journal.assert_no_seat_told_twice(&HashSet::new());
    journal.assert_no_payment_lost(&arena).await;
    arena.assert_every_seat_is_sold_or_holdable(HOUSE, LIMIT as usize).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaders_cut_off_again_and_again_hand_the_log_over_without_a_gap_or_a_double() {
    const CUTS: usize = 10;
    let arena = sale(2).await;
    let fans = arena.inside(FANS).await;
    let mut crowd = Crowd::start(&arena, fans, &Habits::lively(78, HOUSE, Weather::Rough));
    let mut moments = StdRng::seed_from_u64(78);
    for _ in 0..CUTS {
        tokio::time::sleep(Duration::from_millis(moments.random_range(0..700))).await;
        let term = arena.terms().await;
        eventually!(SOON, "a leader is cut off", arena.cut_the_leader().await);
        eventually!(SOON, "somebody leads again", arena.terms().await > term);
        crowd.check();
    }
    orders_are_written(&arena).await;
    let ended = Instant::now();
    let journal = crowd.end().await;
    eprintln!("{} holds, {:?} to end; {:?}", journal.told.len(), ended.elapsed(), journal.outcomes);
    journal.assert_written_once_each(&arena).await;
    journal.assert_no_seat_told_twice(&HashSet::new());
    journal.assert_no_payment_lost(&arena).await;
    arena.assert_every_seat_is_sold_or_holdable(HOUSE, LIMIT as usize).await;
    arena.finish().await;
}
