//! A crowd that waits while the stores and the processes die under it: no place is lost, given twice or
//! made worse, and the door goes on at its pace. The fans are sign-ins that nobody checks again: a place
//! needs no account's row.

use crate::arena::{Arena, SOON, Setup};
use domain::account::Session;
use domain::venue::generate;
use domain::{AccountId, Code, Millis, PerformanceId, SessionId};
use futures::StreamExt as _;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Fans who join at the same time.
const AT_ONCE: usize = 256;
/// Beyond every test: nobody is let in.
const HOUR_MS: i64 = 3_600_000;
/// How long a place may be out of reach after a blow: stores start again, the state is built anew.
const RECOVERY: Duration = Duration::from_secs(30);
/// A crashed leader is replaced within this time.
const LEADER_CHANGE: Duration = Duration::from_secs(2);
/// Fans who ask for their place again, of all who wait.
const SAMPLE: usize = 500;
/// Bytes of an account among the written arrivals.
const ACCOUNT_BYTES: usize = 16;

/// The sign-in of a fan by its number.
fn session(fan: u32) -> Session {
    signed_in(fan, u128::from(fan))
}

fn signed_in(fan: u32, session: u128) -> Session {
    Session {
        account: account(fan),
        session: SessionId(Uuid::from_u128(session)),
        email: format!("fan-{fan}@fans.example"),
        verified: true,
        role: None,
        created: Millis(0),
        fresh_until: Millis(i64::MAX),
    }
}

fn account(fan: u32) -> AccountId {
    AccountId(Uuid::from_u128((77 << 64) + u128::from(fan)))
}

/// A place, asked for without a ticket until there is an answer.
async fn place(arena: &Arena, session: Session) -> u32 {
    let deadline = Instant::now() + RECOVERY;
    loop {
        let code = match arena.backend.join_queue(&session, arena.performance, None).await {
            Ok(joined) => return joined.arrival,
            Err(error) => error.refusal().code,
        };
        assert!(matches!(code, Code::Overloaded | Code::Unavailable), "a join is refused: {code:?}");
        assert!(Instant::now() < deadline, "no place within {RECOVERY:?}: {code:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The places of fans, in their order.
async fn places(arena: &Arena, fans: impl IntoIterator<Item = u32>) -> Vec<u32> {
    futures::stream::iter(fans).map(|fan| place(arena, session(fan))).buffered(AT_ONCE).collect().await
}

/// Lets a crowd join, and checks that each has a place of its own and none was skipped.
async fn crowd(arena: &Arena, fans: Range<u32>) -> Vec<u32> {
    let started = Instant::now();
    let told = places(arena, fans.clone()).await;
    eprintln!("{} joins in {:?}", told.len(), started.elapsed());
    let distinct: HashSet<u32> = told.iter().copied().collect();
    assert_eq!(distinct, fans.collect(), "no number is given twice, none is skipped");
    told
}

/// Some fans, spread over all, ask again without a ticket: their places are the same.
async fn assert_places_stand(arena: &Arena, told: &[u32]) {
    let some: Vec<u32> = (0..u32::try_from(told.len()).unwrap()).step_by((told.len() / SAMPLE).max(1)).collect();
    let again = places(arena, some.iter().copied()).await;
    for (fan, now) in some.iter().zip(again) {
        assert_eq!(now, told[*fan as usize], "the place of fan {fan} moved");
    }
}

/// Newcomers have numbers of their own behind all that were given.
async fn assert_newcomers_are_behind(arena: &Arena, told: &[u32], count: u32) {
    let first = u32::try_from(told.len()).unwrap();
    let new = places(arena, first..first + count).await;
    let last = told.iter().max().unwrap();
    assert!(new.iter().all(|number| number > last), "a newcomer has {:?}, {last} was given", new.iter().min());
    assert_eq!(new.iter().collect::<HashSet<_>>().len(), new.len(), "two newcomers have one number");
}

/// How many arrivals are written down.
async fn written(arena: &Arena) -> i64 {
    let sql = "select coalesce(sum(length(accounts) / 16), 0)::bigint from queue_arrivals where performance_id = $1";
    arena.count(sql).await
}

/// Every place that was told is written under its number, and nobody is written twice.
async fn assert_all_are_written(arena: &Arena, told: &[u32]) {
    let count = i64::try_from(told.len()).unwrap();
    eventually!(RECOVERY, "all arrivals are written", written(arena).await >= count);
    let stretches: Vec<(i64, Vec<u8>)> =
        sqlx::query_as("select first, accounts from queue_arrivals where performance_id = $1 order by first")
            .bind(arena.performance.0)
            .fetch_all(&arena.pg)
            .await
            .unwrap();
    let mut list = Vec::new();
    for (first, accounts) in stretches {
        assert_eq!(usize::try_from(first).unwrap() * ACCOUNT_BYTES, list.len(), "a gap, or a number written twice");
        list.extend(accounts);
    }
    let entries: Vec<&[u8]> = list.chunks_exact(ACCOUNT_BYTES).collect();
    for (fan, arrival) in (0..).zip(told) {
        assert_eq!(entries[*arrival as usize], account(fan).0.as_bytes(), "arrival {arrival} is another's");
    }
    let named: Vec<&[u8]> = entries.into_iter().filter(|entry| *entry != [0_u8; ACCOUNT_BYTES]).collect();
    assert_eq!(named.iter().collect::<HashSet<_>>().len(), named.len(), "somebody is written twice");
}

/// A sale in whose lobby fans wait until after the test.
async fn lobby() -> Arena {
    let mut arena = Arena::bare(Setup::default()).await;
    let plan = generate::arena(generate::MIN_ARENA_SEATS, "Lobby house");
    let id = arena.backend.seed_sale(plan, "Lobby house", |sale| sale.opens = sale.opens.plus(HOUR_MS)).await.unwrap();
    eventually!(SOON, "the seats are built", arena.backend.watch(id).await.is_ok());
    arena.performance = id;
    arena
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_thousand_fans_keep_their_places_when_redis_is_killed() {
    const FANS: u32 = 100_000;
    let mut arena = lobby().await;
    let told = crowd(&arena, 0..FANS).await;
    arena.restart_redis(false).await;
    assert_newcomers_are_behind(&arena, &told, 200).await;
    assert_places_stand(&arena, &told).await;
    assert_all_are_written(&arena, &told).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_thousand_fans_get_their_places_back_when_redis_has_lost_everything() {
    const FANS: u32 = 20_000;
    let arena = lobby().await;
    let told = crowd(&arena, 0..FANS).await;
    assert_all_are_written(&arena, &told).await;
    let () = redis::cmd("FLUSHALL").query_async(&mut arena.redis().await).await.unwrap();
    assert_places_stand(&arena, &told).await;
    assert_newcomers_are_behind(&arena, &told, 200).await;
    assert_all_are_written(&arena, &told).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_sign_ins_of_one_account_are_one_place() {
    const SIGN_INS: u128 = 10_000;
    let arena = lobby().await;
    let all = (0..SIGN_INS).map(|number| place(&arena, signed_in(7, number)));
    let told = futures::future::join_all(all).await;
    assert!(told.iter().all(|number| *number == told[0]), "one account has places {:?}", &told[..20]);
    assert_eq!(told[0], 0);
    assert_eq!(place(&arena, session(8)).await, 1, "no number went to the other sign-ins");
    let joined = async || arena.backend.queue_status(arena.performance).await.unwrap().joined;
    eventually!(SOON, "two accounts are counted", joined().await == 2);
    arena.finish().await;
}

/// Places that the door of the last test releases in a second.
const PACE_PER_S: u32 = 20;
/// What the door may release at once on top of its pace: one step makes up for a second at most, and a
/// look at the status comes a second late.
const STEP_MAX: u32 = 3 * PACE_PER_S;

/// What a waiting fan sees, again and again: the moment, and how far the door has come.
struct Watch {
    stop: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<Vec<(Instant, u32)>>,
}

impl Watch {
    fn start(arena: &Arena) -> Self {
        let (stop, backend, id) = (Arc::<AtomicBool>::default(), Arc::clone(&arena.backend), arena.performance);
        let stopped = Arc::clone(&stop);
        let task = tokio::spawn(async move {
            let mut seen = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                if let Ok(status) = backend.queue_status(id).await {
                    seen.push((Instant::now(), status.serving));
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            seen
        });
        Self { stop, task }
    }

    /// Ends it, and checks that the door never went back, and nowhere faster than its pace.
    async fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        let seen = self.task.await.unwrap();
        assert!(seen.len() > 50, "a door that is looked at {} times is not watched", seen.len());
        for (index, (from, before)) in seen.iter().enumerate() {
            for (at, after) in &seen[index..] {
                assert!(after >= before, "the door went back from {before} to {after}");
                let lasted = at.duration_since(*from);
                let paced = f64::from(PACE_PER_S) * lasted.as_secs_f64() + f64::from(STEP_MAX);
                assert!(f64::from(after - before) <= paced, "the door jumped from {before} to {after} in {lasted:?}");
            }
        }
    }
}

async fn serving(arena: &Arena) -> u32 {
    arena.backend.queue_status(arena.performance).await.unwrap().serving
}

/// What fans of the server read, over HTTP.
async fn shown(arena: &Arena, id: PerformanceId) -> u32 {
    let reply = arena.open(None, &format!("/api/performances/{id}/queue/status")).await;
    reply.ok::<domain::queue::QueueStatus>().serving
}

/// More places are served than before, on the server's own word too.
async fn goes_on(arena: &Arena, before: u32) {
    eventually!(RECOVERY, "the door goes on", serving(arena).await > before + 2 * PACE_PER_S);
    assert!(shown(arena, arena.performance).await >= before, "what was shown is never taken back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_the_server_and_the_leader_killed_the_door_goes_on_at_its_pace() {
    const FANS: u32 = 5_000;
    // So many that neither the house nor its seats hold the door back.
    let setup = Setup { seats: 4_000, shoppers_max: 4_000, ..Setup::default() };
    let mut arena = Arena::apart(setup, 2).await;
    sqlx::query("update performances set release_per_min = $2 where id = $1")
        .bind(arena.performance.0)
        .bind(i32::try_from(60 * PACE_PER_S).unwrap())
        .execute(&arena.pg)
        .await
        .unwrap();
    // A sale's settings are used for a second before they are read again.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let told = crowd(&arena, 0..FANS).await;
    eventually!(RECOVERY, "the door has begun", serving(&arena).await > 0);
    let watch = Watch::start(&arena);
    let before = serving(&arena).await;
    arena.restart_server(&[]).await;
    goes_on(&arena, before).await;

    let mut changes = Vec::new();
    for (round, number) in [0, 1, 0].into_iter().enumerate() {
        let (before, term, killed) = (serving(&arena).await, arena.terms().await, Instant::now());
        arena.kill_worker(number).await;
        // At first either may lead. From then on it is the one that was left alone in the last round.
        if round > 0 {
            eventually!(RECOVERY, "the other one leads", arena.terms().await > term);
            changes.push(killed.elapsed());
        }
        goes_on(&arena, before).await;
        arena.start_worker(number).await;
    }
    // The machine may be busy with something else at one of them, the design is seen in the other.
    assert!(changes.iter().any(|change| *change < LEADER_CHANGE), "a new leader came after {changes:?}");
    watch.end().await;
    assert!(serving(&arena).await < FANS, "the pace was never to be seen");
    assert_places_stand(&arena, &told).await;
    assert_newcomers_are_behind(&arena, &told, 50).await;
    arena.finish().await;
}
