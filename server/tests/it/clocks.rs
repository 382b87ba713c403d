//! Clocks that are wrong, and work that is cut short.

use crate::arena::{Arena, SOON, Setup, seats};
use backend::{Backend, Client, Config, ManualClock, Workers};
use domain::hold::SeatState;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

const TTL_MS: i64 = 2_000;
const TEN_MINUTES_MS: i64 = 600_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_the_applications_clock_ten_minutes_off_a_hold_lasts_as_long_as_it_should() {
    for offset_ms in [-TEN_MINUTES_MS, TEN_MINUTES_MS] {
        let mut arena = Arena::bare(Setup { hold_ttl_ms: TTL_MS, ..Setup::default() }).await;
        arena.stop_workers().await;
        let clock = ManualClock::default();
        clock.shift(offset_ms);
        let config = Config::read(|name| arena.settings().get(name).cloned()).unwrap();
        let (database, redis) = (config.database_url.clone().unwrap(), config.redis_url.clone().unwrap());
        let wrong = Backend::connect(config, &database, &redis, Arc::new(clock)).await.unwrap();
        let workers = Workers::start(&wrong);
        let fan = arena.one_inside().await;

        let before = arena.redis_now().await;
        let held = wrong.hold(&fan.session, fan.pass(), arena.performance, seats(&[1, 2]), "k").await.unwrap();
        let after = arena.redis_now().await;
        assert!(
            held.expires >= before.plus(TTL_MS) && held.expires <= after.plus(TTL_MS),
            "by one authority: {held:?}"
        );
        arena.await_status(held.order, "pending_payment").await;
        eventually!(SOON, "half of its time is over", {
            let now = arena.redis_now().await;
            // Whatever is read before its end must still be held then.
            let byte = arena.seat(1).await;
            assert!(byte == SeatState::Held as u8 || arena.redis_now().await >= held.expires, "ended early at {now:?}");
            now >= held.expires.plus(-TTL_MS / 2)
        });
        arena.await_status(held.order, "closed").await;
        assert!(arena.redis_now().await >= held.expires, "not a moment earlier");
        assert!(arena.redis_now().await <= held.expires.plus(5_000), "nor much later");
        workers.stop().await;
        arena.finish().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_is_cut_short_leaves_every_connection_clean() {
    const CONNECTIONS: usize = 10;
    let setup = Setup { settings: vec![("STARARENA_SIGN_INS_PER_MIN", "100000".to_owned())], ..Setup::default() };
    let arena = Arena::bare(setup).await;
    let client = Client { ip: IpAddr::V4(Ipv4Addr::LOCALHOST) };
    let fan = arena.one_inside().await;
    for round in 0..40u64 {
        let email = format!("cut-{round}@fans.example");
        let cut = Duration::from_millis(round * 3);
        // Dropped at another point of its way each time; the first ones before they began.
        let sign_up = arena.backend.sign_up(&email, "a long password", "en", &client);
        let resend = arena.backend.orders(&fan.session);
        let both = async { tokio::join!(sign_up, resend) };
        drop(tokio::time::timeout(cut, both).await);
    }
    let busy = "select count(*) from pg_stat_activity where application_name = 'stararena' and state like 'idle in transaction%'";
    eventually!(SOON, "no connection is inside a transaction", arena.count(busy).await == 0);
    for _ in 0..3 {
        let all = futures::future::join_all((0..3 * CONNECTIONS).map(|_| arena.backend.events())).await;
        assert!(all.iter().all(Result::is_ok), "every connection is usable");
    }
    let half = "select count(*) from accounts a where email like 'cut-%'
                and not exists (select 1 from email_confirmations c where c.account_id = a.id)";
    assert_eq!(arena.count(half).await, 0, "an account is made whole or not at all");
    let late = arena.backend.sign_up("whole@fans.example", "a long password", "en", &client).await;
    assert!(late.is_ok());
    arena.finish().await;
}
