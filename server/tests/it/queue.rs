//! The waiting room: one stable place an account, and a door that holds.

use crate::arena::{Arena, Fan, SOON, Setup};
use domain::Code;
use domain::queue::{Entered, Joined};
use std::collections::BTreeSet;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_join_repeated_ten_times_at_once_is_one_stable_place() {
    let arena = Arena::web(Setup::default()).await;
    let fans = arena.fans(40).await;
    let performance = arena.performance.to_string();
    let form = [("performance", performance.as_str())];
    let ten = fans.iter().flat_map(|fan| std::iter::repeat_n(fan, 10));
    let replies = futures::future::join_all(ten.map(|fan| arena.call(Some(fan), "queue-join", &form))).await;
    let arrivals: Vec<u32> = replies.iter().map(|reply| reply.ok::<Joined>().arrival).collect();
    for mine in arrivals.chunks(10) {
        assert!(mine.iter().all(|arrival| *arrival == mine[0]), "{mine:?}");
    }
    let distinct: BTreeSet<u32> = arrivals.iter().copied().collect();
    assert_eq!(distinct, (0..40).collect(), "no number is given twice, none is skipped");
    let later: Joined = arena.call(Some(&fans[7]), "queue-join", &form).await.ok();
    assert_eq!(later.arrival, arrivals[70], "a place never gets worse");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_more_shoppers_are_inside_than_allowed_however_many_enter_at_once() {
    const MAX: u32 = 5;
    let arena = Arena::bare(Setup { shoppers_max: MAX, ..Setup::default() }).await;
    let fans = arena.fans(60).await;
    let mut tickets = Vec::new();
    for fan in &fans {
        tickets.push(arena.backend.join_queue(&fan.session, arena.performance, None).await.unwrap().ticket);
    }
    let served = u32::try_from(fans.len()).unwrap();
    // All are called at once, which the door's controller would not do: what is left is the door itself.
    let meta = format!("sa:1:{{p{}}}:meta", arena.performance.simple());
    let () =
        redis::cmd("HSET").arg(meta).arg("serving").arg(served).query_async(&mut arena.redis().await).await.unwrap();
    eventually!(
        crate::arena::SOON,
        "all places are served",
        arena.backend.queue_status(arena.performance).await.unwrap().serving >= served
    );
    let enter = async |index: usize| {
        let entered = arena.backend.enter(&fans[index].session, arena.performance, &tickets[index], "nonce").await;
        entered.map_err(|error| error.refusal())
    };
    let answers = futures::future::join_all((0..fans.len()).map(&enter)).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), MAX as usize);
    for refusal in answers.iter().filter_map(|answer| answer.as_ref().err()) {
        assert_eq!(refusal.code, Code::Full);
        assert!(refusal.retry_after_ms.is_some(), "full costs nothing: try again");
    }
    let inside = answers.iter().position(Result::is_ok).unwrap();
    let outside = answers.iter().position(Result::is_err).unwrap();
    arena.backend.leave(&fans[inside].session, arena.performance).await.unwrap();
    enter(outside).await.expect("a slot that came back is given again");
    assert_eq!(enter(inside).await.unwrap_err().code, Code::Full);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ticket_is_exchanged_by_its_owner_alone_and_a_repeated_nonce_is_the_same_visit() {
    let arena = Arena::web(Setup::default()).await;
    let (fan, other) = (arena.one_inside().await, arena.one_inside().await);
    let performance = arena.performance.to_string();
    let ticket = arena.call(Some(&fan), "queue-join", &[("performance", &performance)]).await.ok::<Joined>().ticket;
    let enter = async |fan: Option<&Fan>, performance: &str, ticket: &str, nonce: &str| {
        arena.call(fan, "queue-enter", &[("performance", performance), ("ticket", ticket), ("nonce", nonce)]).await
    };
    let first: Entered = enter(Some(&fan), &performance, &ticket, "one").await.ok();
    let again: Entered = enter(Some(&fan), &performance, &ticket, "one").await.ok();
    assert_eq!(again, first, "a lost reply is repeated by its nonce");
    assert_eq!(
        enter(Some(&other), &performance, &ticket, "one").await.code(),
        Code::PassInvalid,
        "replayed by another account"
    );
    assert_eq!(enter(None, &performance, &ticket, "one").await.code(), Code::SignInRequired);
    let elsewhere = arena.another_sale().await.to_string();
    assert_eq!(
        enter(Some(&fan), &elsewhere, &ticket, "one").await.code(),
        Code::PassInvalid,
        "for another performance"
    );
    assert_eq!(enter(Some(&fan), &performance, &ticket[1..], "one").await.code(), Code::PassInvalid, "forged");
    assert_eq!(
        enter(Some(&fan), &performance, &first.pass, "one").await.code(),
        Code::PassInvalid,
        "a pass is no ticket"
    );
    assert_eq!(enter(Some(&fan), &performance, &ticket, "").await.code(), Code::InvalidInput);

    // A second device takes the visit over: as long as before, not longer.
    let second = arena.second_device(&fan).await;
    let taken: Entered = enter(Some(&second), &performance, &ticket, "two").await.ok();
    assert_eq!(taken.expires, first.expires);
    let old = Fan { pass: Some((arena.performance, first.pass)), ..fan.clone() };
    assert_eq!(arena.hold(&old, "1", "a").await.code(), Code::PassRequired);
    let new = Fan { pass: Some((arena.performance, taken.pass)), ..second };
    assert_eq!(arena.hold(&new, "1", "a").await.status, 200);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_door_lets_nobody_in_and_whoever_is_inside_goes_on() {
    let arena = Arena::web(Setup::default()).await;
    let inside = arena.one_inside().await;
    let waiting = arena.fans(1).await.remove(0);
    let performance = arena.performance.to_string();
    let ticket = arena.call(Some(&waiting), "queue-join", &[("performance", &performance)]).await.ok::<Joined>().ticket;
    let owner = arena.backend.command_line(crate::arena::ORGANIZATION).await.unwrap();
    arena.backend.pause_for(&owner, arena.performance, true).await.unwrap();
    let form = [("performance", performance.as_str()), ("ticket", ticket.as_str()), ("nonce", "n")];
    eventually!(
        crate::arena::SOON,
        "the pause is known",
        arena.open(None, &format!("/api/performances/{performance}/queue/status")).await.body.contains("\"paused\"")
    );
    assert_eq!(arena.call(Some(&waiting), "queue-enter", &form).await.code(), Code::Paused);
    arena.held(&inside, "1").await;
    arena.backend.pause_for(&owner, arena.performance, false).await.unwrap();
    eventually!(
        crate::arena::SOON,
        "the door is open again",
        arena.call(Some(&waiting), "queue-enter", &form).await.status == 200
    );
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_that_is_not_confirmed_gets_no_place() {
    let arena = Arena::web(Setup::default()).await;
    let signed_up =
        arena.call(None, "sign-up", &[("email", "new@fans.example"), ("password", "a long password")]).await;
    let cookie = signed_up.cookie("sa-session").unwrap();
    let fan = Fan { cookie, ..arena.fans(1).await.remove(0) };
    let reply = arena.call(Some(&fan), "queue-join", &[("performance", &arena.performance.to_string())]).await;
    assert_eq!((reply.status, reply.code()), (403, Code::EmailUnconfirmed));
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signed_ticket_restores_its_place_after_redis_lost_it_and_no_number_is_given_twice() {
    let arena = Arena::web(Setup::default()).await;
    let fans = arena.fans(3).await;
    let id = arena.performance.to_string();
    let mut before = Vec::new();
    for fan in &fans[..2] {
        let reply = arena.call(Some(fan), "queue-join", &[("performance", &id)]).await;
        before.push(reply.ok::<Joined>());
    }
    let known = "select joined from queue_state where performance_id = $1";
    eventually!(SOON, "the numbers are checkpointed", arena.count(known).await >= 2);
    let () = redis::cmd("FLUSHALL").query_async(&mut arena.redis().await).await.unwrap();
    let newcomer = async || arena.call(Some(&fans[2]), "queue-join", &[("performance", &id)]).await;
    eventually!(SOON, "the queue is open again", newcomer().await.status == 200);
    let late = newcomer().await.ok::<Joined>().arrival;
    assert!(late > before[1].arrival, "a newcomer never takes a number that was given: {late}");
    for (fan, place) in fans.iter().zip(&before) {
        let name = format!("sa-q-{}", arena.performance.simple());
        let form = [("performance", id.as_str())];
        let reply = arena.call_with_cookie(fan, "queue-join", &form, &format!("{name}={}", place.ticket)).await;
        assert_eq!(reply.ok::<Joined>().arrival, place.arrival, "the place of the signed ticket");
        let again = arena.call(Some(fan), "queue-join", &form).await.ok::<Joined>();
        assert_eq!(again.arrival, place.arrival, "and from then on without it");
    }
    arena.finish().await;
}
