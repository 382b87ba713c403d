//! Redis as a cluster: sales spread over its primaries, and primaries that end or hand over during one.

use crate::arena::cluster::PRIMARIES;
use crate::arena::provider::GOOD_CARD;
use crate::arena::{Arena, Fan, SOON, Setup, seats};
use domain::hold::SeatState;
use domain::order::PayStarted;
use domain::{Code, PerformanceId};
use nix::sys::signal::Signal;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

/// Sales that are made until every primary has one: by chance a handful is enough.
const SALES_MAX: usize = 30;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_seats_are_bought_on_a_cluster() {
    crate::purchase::two_seats_are_bought(Setup::on_a_cluster()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_500_wins_on_a_cluster() {
    crate::stock::one_of_500_wins(Setup::on_a_cluster()).await;
}

/// A sale on another primary than the arena's own.
async fn sale_elsewhere(arena: &Arena) -> PerformanceId {
    let here = arena.cluster().primary_of(arena.performance).await;
    for _ in 0..SALES_MAX {
        let sale = arena.another_sale().await;
        if arena.cluster().primary_of(sale).await != here {
            return sale;
        }
    }
    panic!("{SALES_MAX} sales are all on one primary");
}

async fn epoch(arena: &Arena, sale: PerformanceId) -> i64 {
    sqlx::query_scalar("select epoch from performances where id = $1").bind(sale.0).fetch_one(&arena.pg).await.unwrap()
}

/// A fan who goes on taking seats of a sale and giving them back, and what came of it.
struct Shopper {
    accepted: Arc<AtomicU32>,
    refused: Arc<AtomicU32>,
    stop: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<()>,
}

impl Shopper {
    fn start(arena: &Arena, fan: Fan, sale: PerformanceId, seat: u32) -> Self {
        let (accepted, refused, stop) = (Arc::<AtomicU32>::default(), Arc::<AtomicU32>::default(), Arc::default());
        let backend = Arc::clone(&arena.backend);
        let (taken, turned, ended) = (Arc::clone(&accepted), Arc::clone(&refused), Arc::<AtomicBool>::clone(&stop));
        let task = tokio::spawn(async move {
            for round in 0u32.. {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                let key = format!("round-{round}");
                match backend.hold(&fan.session, fan.pass(), sale, seats(&[seat]), &key).await {
                    Ok(held) => {
                        taken.fetch_add(1, Ordering::Relaxed);
                        backend.release(&fan.session, held.order).await.expect("an own hold can be given back");
                    }
                    Err(error) => {
                        assert_eq!(error.refusal().code, Code::Unavailable, "it never guesses: {error:?}");
                        turned.fetch_add(1, Ordering::Relaxed);
                    }
                }
                // A fan needs a moment for the next choice.
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        Self { accepted, refused, stop, task }
    }

    fn accepted(&self) -> u32 {
        self.accepted.load(Ordering::Relaxed)
    }

    /// How many calls were refused, after the last one.
    async fn stop(self) -> u32 {
        self.stop.store(true, Ordering::Relaxed);
        self.task.await.unwrap();
        self.refused.load(Ordering::Relaxed)
    }
}

/// Holds again as soon as the sale is open again; every refusal until then says so.
async fn hold_again(arena: &Arena, fan: &Fan, list: &[u32], key: &str) {
    eventually!(
        SOON,
        "holding works again",
        match arena.take(fan, list, key).await {
            Ok(_) => true,
            Err(code) => {
                assert_eq!(code, Code::Unavailable, "it never guesses");
                false
            }
        }
    );
}

async fn visits_are_written(arena: &Arena, count: i64) {
    let written = "select count(*) from admissions where performance_id = $1";
    eventually!(SOON, "all visits are written", arena.count(written).await == count);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sales_spread_over_the_primaries_and_each_is_sold_by_its_own() {
    let arena = Arena::bare(Setup::on_a_cluster()).await;
    let mut sales = vec![arena.performance];
    let mut primaries = HashSet::from([arena.cluster().primary_of(arena.performance).await]);
    while primaries.len() < PRIMARIES {
        assert!(sales.len() < SALES_MAX, "{SALES_MAX} sales leave a primary without one");
        let sale = arena.another_sale().await;
        primaries.insert(arena.cluster().primary_of(sale).await);
        sales.push(sale);
    }
    let fans = arena.fans(sales.len()).await;
    for (fan, sale) in fans.into_iter().zip(&sales) {
        let fan = arena.let_in(fan, *sale).await;
        let held = arena.backend.hold(&fan.session, fan.pass(), *sale, seats(&[1, 2]), "key").await.unwrap();
        arena.await_status(held.order, "pending_payment").await;
        let bytes = arena.backend.seat_bytes(*sale).await.unwrap();
        assert_eq!((bytes[1], bytes[2]), (SeatState::Held as u8, SeatState::Held as u8));
        eventually!(
            SOON,
            "the map shows it",
            arena.backend.queue_status(*sale).await.unwrap().stock as usize == bytes.len() - 2
        );
        assert_eq!(epoch(&arena, *sale).await, 1);
    }
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_that_is_killed_during_its_sale_counts_as_lost_and_the_sale_goes_on() {
    let mut arena = Arena::web(Setup::on_a_cluster()).await;
    let [buyer, pending, paying, next] = <[Fan; 4]>::try_from(arena.inside(4).await).unwrap();
    let elsewhere = sale_elsewhere(&arena).await;
    let shopper = arena.let_in(arena.fans(1).await.remove(0), elsewhere).await;
    let sold = arena.held(&buyer, "1,2").await;
    arena.buy(&buyer, sold.order).await;
    let open = arena.held(&pending, "3,4").await;
    let at_provider = arena.held(&paying, "5").await;
    let started: PayStarted = arena.pay(&paying, at_provider.order).await.ok();
    arena.await_status(open.order, "pending_payment").await;
    eventually!(SOON, "the seats are sold", arena.seat(1).await == SeatState::Sold as u8);
    visits_are_written(&arena, 4).await;

    let shopping = Shopper::start(&arena, shopper, elsewhere, 30);
    eventually!(SOON, "the other sale goes on", shopping.accepted() > 0);
    let primary = arena.cluster().primary_of(arena.performance).await;
    arena.cluster_mut().kill(primary).await;
    let reply = arena.hold(&next, "7", "meanwhile").await;
    assert_eq!((reply.status, reply.code()), (503, Code::Unavailable));
    let before = shopping.accepted();
    hold_again(&arena, &next, &[7, 8], "after").await;
    assert!(shopping.accepted() > before, "the other sale was open all the time");
    assert_eq!(shopping.stop().await, 0, "and none of its holds was refused");

    assert!(epoch(&arena, arena.performance).await >= 2, "the failover counts as a loss");
    assert_eq!(epoch(&arena, elsewhere).await, 1, "of that sale alone");
    let other = arena.one_inside().await;
    for seat in ["1", "2", "3", "4", "5", "7", "8"] {
        let reply = arena.hold(&other, seat, &format!("seat-{seat}")).await;
        assert_eq!((reply.status, reply.code()), (409, Code::SeatTaken), "seat {seat}");
    }
    arena.buy(&pending, open.order).await;
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    arena.await_status(at_provider.order, "fulfilled").await;
    assert_eq!(arena.count("select count(*) from orders where status = 'refused'").await, 0);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_that_hands_over_counts_as_lost_and_no_hold_is() {
    let arena = Arena::bare(Setup::on_a_cluster()).await;
    let [first, second, next] = <[Fan; 3]>::try_from(arena.inside(3).await).unwrap();
    let elsewhere = sale_elsewhere(&arena).await;
    visits_are_written(&arena, 3).await;
    let one = arena.take(&first, &[1, 2], "one").await.unwrap();
    let primary = arena.cluster().primary_of(arena.performance).await;
    let replica = arena.cluster().replica_of(primary).await;
    let two = arena.take(&second, &[3], "two").await.unwrap();
    arena.cluster().hand_over_to(replica).await;
    hold_again(&arena, &next, &[7], "after").await;
    eventually!(SOON, "it counts as a loss", epoch(&arena, arena.performance).await == 2);
    assert_eq!(epoch(&arena, elsewhere).await, 1, "of that sale alone");
    for held in [&one, &two] {
        arena.await_status(held.order, "pending_payment").await;
    }
    for seat in [1, 2, 3, 7] {
        eventually!(SOON, "nothing was lost", arena.seat(seat).await == SeatState::Held as u8);
    }

    // And back: the first primary ran all the time, and its old scripts are still there.
    arena.cluster().await_healthy().await;
    arena.cluster().hand_over_to(primary).await;
    let again = async || arena.give_back(&first, one.order).await;
    eventually!(
        SOON,
        "the sale goes on there, too",
        match again().await {
            Ok(()) => true,
            Err(code) => {
                assert_eq!(code, Code::Unavailable);
                false
            }
        }
    );
    eventually!(SOON, "it counts as a loss again", epoch(&arena, arena.performance).await == 3);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn state_that_came_back_with_another_primary_is_refused_until_a_worker_builds_it() {
    let mut arena = Arena::bare(Setup::on_a_cluster()).await;
    let fan = arena.one_inside().await;
    visits_are_written(&arena, 1).await;
    arena.stop_workers().await;
    let primary = arena.cluster().primary_of(arena.performance).await;
    let replica = arena.cluster().replica_of(primary).await;
    arena.cluster().hand_over_to(replica).await;
    for _ in 0..20 {
        assert_eq!(arena.take(&fan, &[1], "there").await, Err(Code::Unavailable));
    }
    // Back where it was built, and it isn't trusted there either: it was elsewhere meanwhile.
    arena.cluster().await_healthy().await;
    arena.cluster().hand_over_to(primary).await;
    for _ in 0..20 {
        assert_eq!(arena.take(&fan, &[1], "back").await, Err(Code::Unavailable));
    }
    arena.start_workers();
    hold_again(&arena, &fan, &[1], "built").await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_that_hangs_stops_its_own_sales_alone() {
    let arena = Arena::bare(Setup::on_a_cluster()).await;
    let fan = arena.one_inside().await;
    visits_are_written(&arena, 1).await;
    let elsewhere = sale_elsewhere(&arena).await;
    let shopper = arena.let_in(arena.fans(1).await.remove(0), elsewhere).await;
    let shopping = Shopper::start(&arena, shopper, elsewhere, 30);
    eventually!(SOON, "the other sale goes on", shopping.accepted() > 0);
    let primary = arena.cluster().primary_of(arena.performance).await;
    arena.cluster().signal(primary, Signal::SIGSTOP);
    let before = shopping.accepted();
    assert_eq!(arena.take(&fan, &[1], "hanging").await, Err(Code::Unavailable));
    hold_again(&arena, &fan, &[2], "replaced").await;
    assert!(shopping.accepted() > before, "the other sale was open all the time");
    assert_eq!(shopping.stop().await, 0, "and none of its holds was refused");
    // It wakes up and believes itself a primary still, until it hears otherwise.
    arena.cluster().signal(primary, Signal::SIGCONT);
    arena.cluster().await_healthy().await;
    let held = arena.backend.my_hold(&fan.session, arena.performance).await.unwrap().unwrap();
    assert_eq!(held.seats, seats(&[2]));
    arena.finish().await;
}
