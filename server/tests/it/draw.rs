//! The draw as anybody can check it: frozen once, published in the right order, revealed exactly once.

use crate::arena::{Arena, SOON, Setup};
use domain::queue::facts::{CheckOutcome, DrawFacts, ENTRY_BYTES, Randomness, entry};
use domain::queue::{Joined, QueueStatus};
use domain::{Code, PerformanceId};
use std::collections::BTreeSet;

/// Time to take places before the opening, on a busy machine.
const LOBBY_MS: i64 = 4_000;

fn lobby() -> Setup {
    Setup { opens_in_ms: LOBBY_MS, ..Setup::default() }
}

async fn facts(arena: &Arena) -> DrawFacts {
    arena.open(None, &format!("/api/performances/{}/queue/draw", arena.performance)).await.ok()
}

async fn status(arena: &Arena) -> QueueStatus {
    arena.open(None, &format!("/api/performances/{}/queue/status", arena.performance)).await.ok()
}

async fn list(arena: &Arena) -> Vec<u8> {
    let path = format!("{}/api/performances/{}/queue/arrivals", arena.origin, arena.performance);
    reqwest::get(path).await.unwrap().bytes().await.unwrap().to_vec()
}

fn failures(facts: &DrawFacts, list: &[u8]) -> Vec<String> {
    let failed = |outcome: &CheckOutcome| matches!(outcome, CheckOutcome::Fails(_));
    facts.verify(Some(list)).into_iter().filter(|check| failed(&check.outcome)).map(|check| check.what).collect()
}

/// Takes places by the route that browsers use.
async fn join(arena: &Arena, fan: &crate::arena::Fan) -> crate::arena::Reply {
    let path = format!("/api/performances/{}/queue/join", arena.performance);
    let request = arena.request(reqwest::Method::POST, &path).header("cookie", &fan.cookie);
    arena.send(request.header("content-length", "0")).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_lobby_is_drawn_by_published_facts_and_who_comes_later_follows_behind_it() {
    let arena = Arena::web(lobby()).await;
    let fans = arena.fans(30).await;
    let mut arrivals = Vec::new();
    for fan in &fans[..25] {
        arrivals.push(join(&arena, fan).await.ok::<Joined>().arrival);
    }
    let before = facts(&arena).await;
    assert_eq!((before.seed.as_ref(), before.lobby, before.commitments.len()), (None, None, 1), "nothing is known yet");
    assert_eq!(status(&arena).await.drawn, None);
    eventually!(SOON, "the draw is made", status(&arena).await.drawn.is_some());

    let late = join(&arena, &fans[25]).await.ok::<Joined>().arrival;
    let (known, list) = (facts(&arena).await, list(&arena).await);
    assert_eq!(known.lobby, Some(25));
    assert_eq!(known.randomness, Randomness::None, "and the pages say what that means");
    assert_eq!(failures(&known, &list), Vec::<String>::new());
    assert_eq!(known.commitments, before.commitments);
    for (fan, arrival) in fans.iter().zip(&arrivals) {
        assert_eq!(known.arrival_in(&list, fan.account), Some(*arrival), "every fan is in the list at the own number");
    }
    assert_eq!(known.arrival_in(&list, fans[25].account), None, "who came later is not in it");
    assert_eq!(list.len(), 25 * ENTRY_BYTES);
    assert_ne!(entry(PerformanceId(uuid::Uuid::nil()), fans[0].account).as_slice(), &list[..ENTRY_BYTES]);

    let draw = known.draw().unwrap();
    let places: BTreeSet<u32> = arrivals.iter().map(|arrival| draw.place(*arrival)).collect();
    assert_eq!(places, (0..25).collect(), "each place once");
    assert_eq!(draw.place(late), late, "a late joiner never precedes the lobby");
    assert_eq!(status(&arena).await.draw(), Some(draw), "the polled object says the same");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn public_randomness_is_named_before_and_used_after_the_list_is_published() {
    let settings = vec![
        ("STARARENA_BEACON", "sandbox".to_owned()),
        // A round far enough behind the opening that the list is published before it.
        ("STARARENA_BEACON_DELAY_MS", "3000".to_owned()),
    ];
    let arena = Arena::web(Setup { settings, ..lobby() }).await;
    let fans = arena.fans(8).await;
    for fan in &fans {
        join(&arena, fan).await.ok::<Joined>();
    }
    let named = facts(&arena).await.commitments.last().unwrap().beacon.clone().expect("a round is named");
    assert_eq!(status(&arena).await.beacon_due, Some(named.due));
    eventually!(SOON, "the list is published", facts(&arena).await.list.is_some());
    let published = facts(&arena).await;
    if published.revealed.is_none() {
        assert_eq!(published.randomness, Randomness::Awaited);
        assert_eq!(published.seed, None, "no seed before the round");
    }
    eventually!(SOON, "the draw is made", facts(&arena).await.revealed.is_some());
    let (known, list) = (facts(&arena).await, list(&arena).await);
    assert!(matches!(known.randomness, Randomness::Used { .. }), "{:?}", known.randomness);
    assert!(known.revealed.unwrap() >= named.due);
    assert_eq!(failures(&known, &list), Vec::<String>::new());
    eventually!(SOON, "the status has it", status(&arena).await.drawn.is_some_and(|drawn| !drawn.beacon.is_empty()));
    assert_eq!(status(&arena).await.draw(), known.draw());
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_beacon_that_stays_silent_is_given_up_and_that_is_said() {
    let settings = vec![
        ("STARARENA_BEACON", "drand".to_owned()),
        // Nobody listens there.
        ("STARARENA_BEACON_URLS", "http://127.0.0.1:9".to_owned()),
        ("STARARENA_BEACON_DELAY_MS", "0".to_owned()),
        ("STARARENA_BEACON_PATIENCE_MS", "1500".to_owned()),
    ];
    let arena = Arena::bare(Setup { settings, opens_in_ms: 500, ..Setup::default() }).await;
    eventually!(2 * SOON, "the draw is made without it", {
        let facts = arena.backend.draw_facts(arena.performance).await.unwrap();
        facts.revealed.is_some() && facts.randomness == Randomness::Silent
    });
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_join_says_why_not_and_the_draw_is_shown_to_nobody_before_it_is_made() {
    let arena = Arena::web(lobby()).await;
    let fan = arena.fans(1).await.remove(0);
    let path = format!("/api/performances/{}/queue/join", arena.performance);
    let other_site = arena.plain_request(reqwest::Method::POST, &path).header("origin", "https://elsewhere.example");
    assert_eq!(arena.send(other_site.header("content-length", "0")).await.code(), Code::CrossSite);
    let stranger = arena.request(reqwest::Method::POST, &path).header("content-length", "0");
    assert_eq!(arena.send(stranger).await.code(), Code::SignInRequired);
    let with_body = arena.request(reqwest::Method::POST, &path).header("cookie", &fan.cookie).body("x");
    assert_eq!(arena.send(with_body).await.code(), Code::TooLarge);
    let nowhere = path.replace(&arena.performance.to_string(), &PerformanceId(uuid::Uuid::nil()).to_string());
    let request = arena.request(reqwest::Method::POST, &nowhere).header("cookie", &fan.cookie);
    assert_eq!(arena.send(request.header("content-length", "0")).await.code(), Code::NotFound);
    let list = arena.open(None, &path.replace("/join", "/arrivals")).await;
    assert_eq!(list.code(), Code::NotFound, "there is no list before the freeze");
    let reply = join(&arena, &fan).await;
    let cookie = reply.cookie(&format!("sa-q-{}", arena.performance.simple())).unwrap();
    assert!(cookie.ends_with(&reply.ok::<Joined>().ticket));
    arena.finish().await;
}
