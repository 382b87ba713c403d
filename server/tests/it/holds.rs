//! Holds: what they refuse, how they repeat, and how they end.

use crate::arena::{Arena, Fan, SOON, Setup, seats};
use domain::hold::{Held, SeatState};
use domain::queue::{PASS_PURPOSE, Pass};
use domain::token::TokenKeys;
use domain::{Code, Millis, OrderId};
use std::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_key_is_the_same_hold_and_other_seats_with_it_are_refused() {
    let arena = Arena::web(Setup::default()).await;
    let fan = arena.one_inside().await;
    let first: Held = arena.hold(&fan, "4,3", "key").await.ok();
    assert_eq!(first.seats, seats(&[3, 4]));
    let again: Held = arena.hold(&fan, "3,4", "key").await.ok();
    assert_eq!(again, first, "a repeated call moves no expiry");
    assert_eq!(arena.hold(&fan, "3", "key").await.code(), Code::KeyReused);
    assert_eq!(arena.hold(&fan, "3,4,5", "key").await.code(), Code::KeyReused);
    let mine: Option<Held> =
        arena.call(Some(&fan), "my-hold", &[("performance", &arena.performance.to_string())]).await.ok();
    assert_eq!(mine, Some(first.clone()), "a reload finds the hold again");

    let () = arena.call(Some(&fan), "hold-release", &[("order", &first.order.to_string())]).await.ok();
    let late = arena.hold(&fan, "3,4", "key").await;
    assert_eq!((late.status, late.code()), (410, Code::HoldClosed));
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn seats_that_are_not_for_sale_are_refused_with_the_reason_and_nothing_is_held() {
    let arena = Arena::web(Setup::default()).await;
    let fan = arena.one_inside().await;
    let total = u32::try_from(arena.backend.seat_bytes(arena.performance).await.unwrap().len()).unwrap();
    let owner = arena.backend.command_line(crate::arena::ORGANIZATION).await.unwrap();
    arena.backend.block_for(&owner, arena.performance, &seats(&[9]), Some("camera")).await.unwrap();

    let unknown = arena.hold(&fan, &format!("1,{total}"), "a").await.refusal();
    assert_eq!((unknown.code, unknown.seats), (Code::UnknownSeat, seats(&[total])));
    let blocked = arena.hold(&fan, "8,9", "b").await.refusal();
    assert_eq!((blocked.code, blocked.seats), (Code::SeatNotForSale, seats(&[9])));
    for (forged, code) in [
        ("", Code::InvalidInput),
        (",", Code::InvalidInput),
        ("1,1", Code::InvalidInput),
        ("-1", Code::InvalidInput),
        ("1;2", Code::InvalidInput),
        ("1.5", Code::InvalidInput),
        ("4294967296", Code::InvalidInput),
        ("1,2,3,4,5", Code::LimitExceeded),
    ] {
        assert_eq!(arena.hold(&fan, forged, "c").await.code(), code, "{forged:?}");
    }
    for key in ["", "a b", "ключ", &"k".repeat(65)] {
        assert_eq!(arena.hold(&fan, "1", key).await.code(), Code::InvalidInput, "{key:?}");
    }

    // A price that is taken away takes its seats off sale, within the second that settings are kept.
    let category: i16 =
        sqlx::query_scalar("select category from plan_seats where seat_no = 1").fetch_one(&arena.pg).await.unwrap();
    let amount: i64 =
        sqlx::query_scalar("delete from prices where performance_id = $1 and category = $2 returning amount_minor")
            .bind(arena.performance.0)
            .bind(category)
            .fetch_one(&arena.pg)
            .await
            .unwrap();
    // What the server keeps is waited for by reading: a hold that it takes meanwhile could not be billed.
    let id = arena.performance.to_string();
    eventually!(SOON, "the price is gone", {
        let shown: serde_json::Value = arena.call(None, "performance", &[("id", &id)]).await.ok();
        shown["zones"].as_array().unwrap().iter().any(|zone| zone["price"].is_null())
    });
    let refused = arena.hold(&fan, "1", "priceless").await.refusal();
    assert_eq!((refused.code, refused.seats), (Code::SeatNotForSale, seats(&[1])));
    let insert = "insert into prices (performance_id, version, category, amount_minor) values ($1, 1, $2, $3)";
    sqlx::query(insert).bind(arena.performance.0).bind(category).bind(amount).execute(&arena.pg).await.unwrap();

    let bytes = arena.backend.seat_bytes(arena.performance).await.unwrap();
    assert!(bytes.iter().all(|byte| *byte != SeatState::Held as u8), "nothing is held");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hold_needs_a_pass_of_this_account_this_sign_in_and_this_performance() {
    let arena = Arena::web(Setup::default()).await;
    let fan = arena.one_inside().await;
    let other = arena.one_inside().await;
    let with = |pass: Option<&str>| Fan { pass: pass.map(|pass| (arena.performance, pass.to_owned())), ..fan.clone() };
    let own = fan.pass().unwrap();

    let refused = arena.hold(&with(None), "1", "a").await;
    assert_eq!((refused.status, refused.code()), (403, Code::PassRequired));
    let stranger = arena
        .call(None, "hold", &[("performance", &arena.performance.to_string()), ("seats", "1"), ("key", "a")])
        .await;
    assert_eq!(stranger.code(), Code::SignInRequired);

    let elsewhere = arena.another_sale().await;
    let foreign = arena.let_in(Fan { pass: None, ..fan.clone() }, elsewhere).await;
    let claims = Pass {
        account: fan.account,
        performance: arena.performance,
        session: fan.session.session,
        nonce: "x".to_owned(),
        expires: Millis(i64::MAX),
    };
    let forged = TokenKeys::new(vec![b"a key that is not the server's own".to_vec()]).sign(PASS_PURPOSE, &claims);
    for (what, pass) in [
        ("another account's", other.pass().unwrap()),
        ("another performance's", foreign.pass().unwrap()),
        ("forged", forged.as_str()),
        ("altered", &own[..own.len() - 2]),
        ("nonsense", "pass"),
    ] {
        let reply = arena.hold(&with(Some(pass)), "1", "a").await;
        assert_eq!((reply.status, reply.code()), (403, Code::PassInvalid), "{what}");
    }

    // The visit goes on on the second device: the first device's pass is worth nothing any more.
    let second = arena.let_in(arena.second_device(&fan).await, arena.performance).await;
    let replaced = arena.hold(&fan, "1", "a").await;
    assert_eq!((replaced.status, replaced.code()), (403, Code::PassRequired));
    assert_eq!(
        arena.hold(&Fan { pass: fan.pass.clone(), ..second.clone() }, "1", "a").await.code(),
        Code::PassInvalid,
        "the old pass, shared"
    );
    let held: Held = arena.hold(&second, "1", "a").await.ok();
    assert_eq!(held.seats, seats(&[1]));
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_the_sweeper_stopped_an_expired_seat_is_held_by_another_fan_at_the_first_try() {
    let mut arena = Arena::bare(Setup { hold_ttl_ms: 1_000, ..Setup::default() }).await;
    let (first, second) = (arena.one_inside().await, arena.one_inside().await);
    arena.stop_workers().await;
    let held = arena.take(&first, &[5, 6], "first").await.unwrap();
    assert_eq!(arena.take(&second, &[6, 7], "too-early").await, Err(Code::SeatTaken));
    eventually!(SOON, "the hold ran out", arena.redis_now().await >= held.expires);

    let taken = arena.take(&second, &[6, 7], "second").await.expect("the first try succeeds");
    assert_eq!(taken.seats, seats(&[6, 7]));
    assert_eq!(arena.seat(5).await, SeatState::Available as u8, "taking one seat of an expired hold ends the whole");
    assert_eq!(arena.take(&first, &[5, 6], "first").await, Err(Code::HoldClosed));
    assert_eq!(arena.give_back(&first, held.order).await, Ok(()), "what has ended counts as given back");
    assert_eq!(arena.seat(6).await, SeatState::Held as u8, "and frees nothing that is another's");

    arena.start_workers();
    arena.await_status(held.order, "closed").await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hold_that_runs_out_closes_its_order_and_can_not_be_paid() {
    let arena = Arena::web(Setup { hold_ttl_ms: 1_500, ..Setup::default() }).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "11,12").await;
    let due = Instant::now() + Duration::from_millis(1_500);
    arena.await_status(held.order, "closed").await;
    eventually!(SOON, "the seats are free", arena.seat(11).await == SeatState::Available as u8);
    assert!(due.elapsed() < Duration::from_secs(5), "back on sale within five seconds of being due");
    let late = arena.pay(&fan, held.order).await;
    assert_eq!((late.status, late.code()), (410, Code::HoldClosed));
    let mine: Option<Held> =
        arena.call(Some(&fan), "my-hold", &[("performance", &arena.performance.to_string())]).await.ok();
    assert_eq!(mine, None);
    arena.held(&fan, "11,12").await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_step_names_its_owner_and_its_state() {
    let arena = Arena::web(Setup::default()).await;
    let (fan, other) = (arena.one_inside().await, arena.one_inside().await);
    let held = arena.held(&fan, "1,2").await;
    let order = held.order.to_string();
    let nobodys = OrderId(uuid::Uuid::new_v4()).to_string();
    let call = async |fan: &Fan, function: &str, order: &str| {
        let field = if function == "order" { "id" } else { "order" };
        arena.call(Some(fan), function, &[(field, order)]).await
    };
    // Before the row is written and after: the hold stands in for it.
    for _ in 0..2 {
        for function in ["hold-release", "order", "order-pay", "order-cancel", "order-qr"] {
            assert_eq!(call(&other, function, &order).await.code(), Code::NotFound, "{function} of another's order");
            assert_eq!(call(&fan, function, &nobodys).await.code(), Code::NotFound, "{function} of no order");
        }
        arena.await_status(held.order, "pending_payment").await;
    }
    assert_eq!(arena.open(Some(&other), &format!("/orders/{order}")).await.status, 404, "the page of another's order");
    assert_eq!(arena.open(Some(&fan), &format!("/orders/{order}")).await.status, 200);
    assert_eq!(arena.seat(1).await, SeatState::Held as u8);

    arena.pay(&fan, held.order).await.ok::<domain::order::PayStarted>();
    assert_eq!(call(&fan, "hold-release", &order).await.code(), Code::WrongState, "being paid for");
    for _ in 0..2 {
        let () = call(&fan, "order-cancel", &order).await.ok();
    }
    arena.await_status(held.order, "closed").await;
    let () = call(&fan, "hold-release", &order).await.ok();
    assert_eq!(call(&fan, "order-pay", &order).await.code(), Code::HoldClosed);
    eventually!(SOON, "the seats are free", arena.seat(1).await == SeatState::Available as u8);
    arena.finish().await;
}
