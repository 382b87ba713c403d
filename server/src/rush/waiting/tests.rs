//! The crowd against a small door that can cheat.

use super::mock::{Fault, LobbyHouse};
use super::*;

const FANS: usize = 200;

async fn reported(fault: Fault) -> WaitReport {
    let house = LobbyHouse::open(Duration::from_secs(3), fault).await;
    let config = WaitConfig {
        base_url: house.url.clone(),
        performance: house.performance,
        fans: house.logins(FANS),
        ticket_cookie: "sa-q-1".to_owned(),
        join_seconds: 0.3,
        late: 0.1,
        twice: 0.2,
        no_show: 0.3,
        max_shoppers: mock::SHOPPERS_MAX,
        connections: 8,
        entry: Duration::from_secs(3),
        limit: Duration::from_secs(30),
        seed: 1,
    };
    let looks = std::sync::atomic::AtomicU64::new(0);
    let memory = async || {
        let look = looks.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        anyhow::Ok(Memory { redis: Some(1_000_000 + 20_000 * look), server: None })
    };
    run(config, memory, |_| {}).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_before_an_honest_door_finds_nothing() {
    let mut report = reported(Fault::None).await;
    assert_eq!(report.breaches, Vec::<String>::new());
    assert_eq!(report.errors, BTreeMap::new());
    assert_eq!((report.fans, report.placed), (200, 200));
    assert_eq!(u64::from(report.lobby) + report.late, 200, "{report:?}");
    assert!(report.shed > 0 && report.late > 0 && report.polls_per_s > 0.0, "{report:?}");
    assert!(report.entered > 0 && report.called > report.entered && report.met_full > 0, "{report:?}");
    assert_eq!(report.shoppers_peak, u64::from(mock::SHOPPERS_MAX));
    assert!(report.redis_bytes_a_fan.is_some_and(|bytes| bytes > 50.0), "{report:?}");
    assert_eq!(report.server_bytes_a_fan, None);
    report.put_beside(report.joins_per_s * 2.0);
    assert_eq!(report.join_ratio, Some(0.5));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_finds_out_a_door_that_cheats() {
    let cases = [
        (Fault::GivesTwice, "I6: arrival "),
        (Fault::OtherSeed, "I6: not true: the revealed seed"),
        (Fault::LetsLateIn, "came after the opening"),
        (Fault::Overcrowds, "I5: "),
    ];
    let runs = cases.map(|(fault, words)| async move {
        let report = reported(fault).await;
        assert!(report.breaches.iter().any(|what| what.contains(words)), "{fault:?}: {:?}", report.breaches);
    });
    futures::future::join_all(runs).await;
}

#[test]
fn impossible_crowds_are_refused() {
    let config = WaitConfig {
        base_url: "http://127.0.0.1:1".to_owned(),
        performance: PerformanceId(uuid::Uuid::nil()),
        fans: vec![FanLogin { account: domain::AccountId(uuid::Uuid::nil()), cookie: String::new() }],
        ticket_cookie: String::new(),
        join_seconds: 1.0,
        late: 0.0,
        twice: 0.0,
        no_show: 0.0,
        max_shoppers: 0,
        connections: 1,
        entry: Duration::ZERO,
        limit: Duration::ZERO,
        seed: 1,
    };
    assert!(config.check().is_ok());
    assert!(WaitConfig { fans: Vec::new(), ..config.clone() }.check().is_err());
    assert!(WaitConfig { no_show: 1.5, ..config.clone() }.check().is_err());
    assert!(WaitConfig { connections: 0, ..config }.check().is_err());
}
