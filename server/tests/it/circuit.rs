//! Redis away, hanging, or back from another life: what callers are told meanwhile, and what it costs.

use crate::arena::{Arena, Fan, SOON, Setup};
use domain::Code;
use domain::hold::SeatState;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Nobody waits longer than for one answer and one connection, a busy machine included; far less than
/// the store hangs.
const ANSWERED_WITHIN: Duration = Duration::from_millis(2_500);
/// How long the store hangs.
const HANGS: Duration = Duration::from_secs(3);
/// What refused calls may leave behind, in KiB.
const MEMORY_MAX_KIB: u64 = 64 * 1024;
/// As the program bounds it: calls that wait for one server.
const CALLS_MAX: f64 = 1_024.0;

/// Sends a signal to the one Redis of an arena.
pub(crate) fn signal(arena: &Arena, signal: Signal) {
    let pid = arena.stores.as_ref().unwrap().redis_pid().unwrap();
    kill(Pid::from_raw(i32::try_from(pid).unwrap()), signal).unwrap();
}

/// One number of `/metrics`, summed over its labels.
async fn metric(arena: &Arena, name: &str) -> f64 {
    let text = arena.open(None, "/metrics").await.body;
    let lines =
        text.lines().filter(|line| line.starts_with(&format!("{name}{{")) || line.starts_with(&format!("{name} ")));
    lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
}

async fn visits_are_written(arena: &Arena, count: i64) {
    let written = "select count(*) from admissions where performance_id = $1";
    eventually!(SOON, "all visits are written", arena.count(written).await == count);
}

async fn epoch(arena: &Arena) -> i64 {
    arena.count("select epoch from performances where id = $1").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_hangs_under_load_is_answered_for_with_503_in_time_and_within_bounds() {
    const CALLERS: usize = 200;
    let arena = Arena::web(Setup::default()).await;
    let mut fans = arena.inside(CALLERS + 1).await;
    visits_are_written(&arena, 201).await;
    let patient = fans.pop().unwrap();
    let performance = arena.performance.to_string();
    let list = async || arena.call(None, "seat-list", &[("id", &performance)]).await;
    eventually!(SOON, "the server follows the map", list().await.status == 200);
    let first = arena.held(&patient, "150").await;
    let () = arena.call(Some(&patient), "hold-release", &[("order", &first.order.to_string())]).await.ok();
    let before_kib = arena.server_peak_kib();

    signal(&arena, Signal::SIGSTOP);
    let (over, slowest_ms, refused) = (AtomicBool::new(false), AtomicU32::new(0), AtomicU32::new(0));
    let call = async |number: usize, fan: &Fan| {
        for round in 0.. {
            if over.load(Ordering::Relaxed) {
                return;
            }
            let asked = Instant::now();
            let reply = arena.hold(fan, &(number % 100).to_string(), &format!("round-{round}")).await;
            slowest_ms.fetch_max(u32::try_from(asked.elapsed().as_millis()).unwrap(), Ordering::Relaxed);
            let refusal = reply.refusal();
            assert_eq!((reply.status, refusal.code), (503, Code::Unavailable));
            assert!(refusal.retry_after_ms.is_some(), "the answer says when to try again");
            refused.fetch_add(1, Ordering::Relaxed);
            // As it was told, if a little early.
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    let watch = async {
        let ends = Instant::now() + HANGS;
        let mut opened = false;
        while Instant::now() < ends {
            assert!(metric(&arena, "stararena_redis_calls").await <= CALLS_MAX);
            opened |= metric(&arena, "stararena_redis_circuit_open").await >= 1.0;
            assert_eq!(arena.open(None, "/healthz").await.status, 200);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        // What needs the map alone goes on from memory.
        let status = format!("/api/performances/{performance}/queue/status");
        assert_eq!(arena.open(None, &status).await.status, 200);
        assert_eq!(list().await.status, 200);
        over.store(true, Ordering::Relaxed);
        opened
    };
    let calls = futures::future::join_all(fans.iter().enumerate().map(|(number, fan)| call(number, fan)));
    let (_, opened) = tokio::join!(calls, watch);
    signal(&arena, Signal::SIGCONT);
    let (slowest, refused) = (Duration::from_millis(slowest_ms.into_inner().into()), refused.into_inner());
    assert!(slowest < ANSWERED_WITHIN, "somebody waited {slowest:?}");
    assert!(opened, "the circuit opened");
    assert!(refused as usize >= CALLERS, "{refused} calls were refused");
    let grown_kib = arena.server_peak_kib() - before_kib;
    assert!(grown_kib < MEMORY_MAX_KIB, "{grown_kib} KiB were taken meanwhile");

    eventually!(SOON, "holding works again", arena.hold(&patient, "150", "again").await.status == 200);
    // What was under way when it fell asleep was executed when it woke up: repeating finds that.
    let repeated = arena.hold(&fans[0], "0", "round-0").await;
    assert!(repeated.status == 200 || repeated.code() == Code::HoldOpen, "{repeated:?}");
    eventually!(SOON, "the circuit is closed", metric(&arena, "stararena_redis_circuit_open").await == 0.0);
    assert!(metric(&arena, "stararena_redis_calls_turned_away_total").await > 0.0);
    assert_eq!(epoch(&arena).await, 1, "a store that slept has lost nothing");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restarted_store_is_refused_by_every_call_until_a_worker_has_built_its_state() {
    let mut arena = Arena::bare(Setup::default()).await;
    let [fan, other] = <[Fan; 2]>::try_from(arena.inside(2).await).unwrap();
    let held = arena.take(&fan, &[1, 2], "before").await.unwrap();
    arena.await_status(held.order, "pending_payment").await;
    visits_are_written(&arena, 2).await;
    let id = arena.performance;
    let ticket = arena.backend.join_queue(&other.session, id, None).await.unwrap().ticket;
    arena.stop_workers().await;

    signal(&arena, Signal::SIGKILL);
    arena.stores.as_mut().unwrap().restart_redis().await.unwrap();
    eventually!(SOON, "the store answers again", arena.backend.ready().await.is_ok());
    let standing = arena.seat(1).await;
    assert_eq!(standing, SeatState::Held as u8, "the append-only file brought the state back");
    let code = |error: backend::Error| error.refusal().code;
    for round in 0..30 {
        let away = Some(Code::Unavailable);
        assert_eq!(arena.take(&other, &[3], &format!("round-{round}")).await.err(), away, "nothing is held");
        assert_eq!(arena.take(&fan, &[1, 2], "before").await.err(), away, "nor repeated");
        assert_eq!(arena.give_back(&fan, held.order).await.err(), away, "nor given back");
        assert_eq!(arena.backend.join_queue(&other.session, id, None).await.map_err(code).err(), away, "nor joined");
        assert_eq!(arena.backend.enter(&other.session, id, &ticket, "nonce").await.map_err(code).err(), away);
        assert_eq!(arena.backend.leave(&other.session, id).await.map_err(code).err(), away);
        assert_eq!(arena.backend.pay(&fan.session, held.order).await.map_err(code).err(), away);
    }
    assert_eq!(epoch(&arena).await, 1);
    arena.start_workers();
    eventually!(SOON, "holding works again", arena.take(&other, &[3], "after").await.is_ok());
    assert_eq!(epoch(&arena).await, 2, "the restart counts as a loss");
    assert_eq!(arena.take(&other, &[1], "theirs").await, Err(Code::HoldOpen));
    assert_eq!(arena.take(&fan, &[1, 2], "before").await, Ok(held), "the same key is the same hold");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_that_were_flushed_are_loaded_again_and_nobody_is_refused() {
    let arena = Arena::bare(Setup::default()).await;
    let fan = arena.one_inside().await;
    let mut redis = arena.redis().await;
    for round in 0..20 {
        let () = redis::cmd("SCRIPT").arg("FLUSH").query_async(&mut redis).await.unwrap();
        let held = arena.take(&fan, &[round], &format!("round-{round}")).await.expect("a flush is no loss");
        let () = redis::cmd("SCRIPT").arg("FLUSH").query_async(&mut redis).await.unwrap();
        arena.give_back(&fan, held.order).await.expect("a flush is no loss");
    }
    assert_eq!(epoch(&arena).await, 1);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn state_of_another_run_loses_its_epoch_with_the_first_call() {
    let mut arena = Arena::bare(Setup::default()).await;
    let fan = arena.one_inside().await;
    visits_are_written(&arena, 1).await;
    arena.stop_workers().await;
    let mut redis = arena.redis().await;
    let name = |what: &str| format!("sa:1:{{p{}}}:{what}", arena.performance.simple());
    let run: String = redis::cmd("HGET").arg(name("meta")).arg("run").query_async(&mut redis).await.unwrap();
    let put = async |run: &str, redis: &mut redis::aio::MultiplexedConnection| {
        redis::cmd("HSET").arg(name("meta")).arg("run").arg(run).query_async::<()>(redis).await.unwrap();
    };
    put("another", &mut redis).await;
    assert_eq!(arena.take(&fan, &[1], "one").await, Err(Code::Unavailable));
    put(&run, &mut redis).await;
    assert_eq!(arena.take(&fan, &[1], "two").await, Err(Code::Unavailable), "it is not trusted again by itself");
    arena.start_workers();
    eventually!(SOON, "holding works again", arena.take(&fan, &[1], "three").await.is_ok());
    arena.finish().await;
}
