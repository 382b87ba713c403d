//! How other systems lost count of their seats: what a lost reply, a forged request, a parallel order
//! or another spelling of a path must not do here.

use crate::arena::provider::GOOD_CARD;
use crate::arena::shop::{hold_form, written};
use crate::arena::{Arena, Fan, SOON, Setup, seats};
use crate::purchase::assert_paid_once;
use domain::Code;
use domain::hold::{Held, SeatState};
use domain::order::PayStarted;

const LIMIT: u32 = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hold_whose_reply_was_lost_is_the_same_hold_when_it_is_asked_for_again() {
    let arena = Arena::web(Setup::default()).await;
    let (shop, performance) = (arena.shop(), arena.performance.to_string());
    let fans = arena.inside(20).await;
    for (number, fan) in (0u32..).zip(&fans) {
        let list = written(&[4 * number + 1, 4 * number]);
        let form = hold_form(&performance, &list, "lost");
        let bytes = shop.spelled(fan, "/api/hold", &form);
        for _ in 0..=number % 3 {
            shop.hang_up_after(&bytes).await;
        }
        if number % 4 == 0 {
            // The first half of a request alone changes nothing.
            shop.hang_up_after(&bytes[..bytes.len() - 3]).await;
        }
        let held: Held = arena.hold(fan, &list, "lost").await.ok();
        assert_eq!(held.seats, seats(&[4 * number, 4 * number + 1]), "one set of seats");
        assert_eq!(arena.hold(fan, &list, "lost").await.ok::<Held>(), held, "and one end");
        assert_eq!(arena.my_hold(fan).await, Some(held.clone()));

        // Giving back: the answer is lost, the repeat finds it done.
        let order = held.order.to_string();
        let bytes = shop.spelled(fan, "/api/hold-release", &[("order", &order)]);
        shop.hang_up_after(&bytes).await;
        let () = arena.call(Some(fan), "hold-release", &[("order", &order)]).await.ok();
        let () = arena.call(Some(fan), "hold-release", &[("order", &order)]).await.ok();
        assert_eq!(arena.hold(fan, &list, "lost").await.code(), Code::HoldClosed, "what has ended stays ended");
    }
    let bytes = arena.backend.seat_bytes(arena.performance).await.unwrap();
    assert!(bytes.iter().all(|byte| SeatState::from_byte(*byte) == SeatState::Available), "nothing is held");
    let rows = "select count(*) from orders where performance_id = $1";
    eventually!(SOON, "one order each", arena.count(rows).await == i64::try_from(fans.len()).unwrap());
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pay_whose_reply_was_lost_leads_to_one_payment() {
    let arena = Arena::web(Setup::default()).await;
    let shop = arena.shop();
    for (number, fan) in (0u32..).zip(&arena.inside(5).await) {
        let held = arena.held(fan, &written(&[4 * number, 4 * number + 1])).await;
        let order = held.order.to_string();
        let bytes = shop.spelled(fan, "/api/order-pay", &[("order", &order)]);
        for _ in 0..=number % 3 {
            shop.hang_up_after(&bytes).await;
        }
        let mut started = None;
        eventually!(SOON, "Pay is answered", {
            let reply = arena.pay(fan, held.order).await;
            if reply.status == 200 {
                started = Some(reply.ok::<PayStarted>());
            } else {
                assert_eq!(reply.code(), Code::WrongState, "a click whose answer was lost is being worked at");
            }
            started.is_some()
        });
        let started = started.unwrap();
        assert_eq!(arena.provider().status(&started).await, "requires_payment");
        assert_eq!(arena.count_of(held.order, "select count(*) from attempts where order_id = $1").await, 1);
        assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
        arena.await_status(held.order, "fulfilled").await;
        assert_paid_once(&arena, held.order, 2).await;
    }
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn however_many_orders_one_account_sends_at_once_it_never_has_more_than_its_limit() {
    const WINDOWS: u32 = 40;
    let arena = Arena::web(Setup { seat_limit: LIMIT, ..Setup::default() }).await;
    let mut fan = arena.one_inside().await;
    let owned = "select coalesce(max(n), 0) from (select count(*) as n from orders o join order_items i on i.order_id = o.id
                 where o.performance_id = $1 and o.status in ('pending_payment', 'payment_processing', 'paid', 'fulfilled')
                 group by o.account_id) a";
    let sampler = arena.sampler(LIMIT as usize, LIMIT as usize).await;
    let mut bought = 0;
    // Two purchases of three seats would be six: the second one may have a single seat.
    for round in 0..2u32 {
        let wishes = (0..WINDOWS).map(|n| (format!("{round}-{n}"), written(&[3 * n, 3 * n + 1, 3 * n + 2])));
        let wishes: Vec<(String, String)> = wishes.collect();
        let replies = futures::future::join_all(wishes.iter().map(|(key, list)| arena.hold(&fan, list, key))).await;
        let accepted: Vec<Held> =
            replies.iter().filter(|reply| reply.status == 200).map(crate::arena::Reply::ok).collect();
        assert_eq!(accepted.len(), usize::from(round == 0), "round {round}");
        for reply in replies.iter().filter(|reply| reply.status != 200) {
            let code = reply.code();
            assert!(matches!(code, Code::HoldOpen | Code::LimitExceeded | Code::SeatTaken), "{code:?}");
        }
        for held in accepted {
            bought += arena.buy(&fan, held.order).await.tickets.len();
            eventually!(SOON, "the seats are sold", arena.seat(held.seats[0].0).await == SeatState::Sold as u8);
            fan = arena.let_in(Fan { pass: None, ..fan }, arena.performance).await;
        }
    }
    let last = arena.held(&fan, "150").await;
    bought += arena.buy(&fan, last.order).await.tickets.len();
    assert_eq!(bought, LIMIT as usize);
    assert_eq!(arena.count(owned).await, i64::from(LIMIT));
    assert!(sampler.end().await > 0);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forged_quantities_and_seats_hold_nothing_and_say_why() {
    let arena = Arena::web(Setup { seat_limit: LIMIT, ..Setup::default() }).await;
    let fan = arena.one_inside().await;
    let total = u32::try_from(arena.backend.seat_bytes(arena.performance).await.unwrap().len()).unwrap();
    let many = |count: u32| written(&(0..count).collect::<Vec<u32>>());
    for (list, code) in [
        (many(LIMIT + 1), Code::LimitExceeded),
        (many(20), Code::LimitExceeded),
        (many(21), Code::LimitExceeded),
        (many(600), Code::LimitExceeded),
        (format!("{},{}", total - 1, total), Code::UnknownSeat),
        (u32::MAX.to_string(), Code::UnknownSeat),
        ("18446744073709551616".to_owned(), Code::InvalidInput),
        ("0x10".to_owned(), Code::InvalidInput),
        ("1e1".to_owned(), Code::InvalidInput),
        ("1,1,1".to_owned(), Code::InvalidInput),
        ("-1".to_owned(), Code::InvalidInput),
        ("1\u{0}".to_owned(), Code::InvalidInput),
        ("１".to_owned(), Code::InvalidInput),
    ] {
        let reply = arena.hold(&fan, &list, "forged").await;
        let refusal = reply.refusal();
        assert!((400..500).contains(&reply.status), "{list}: {}", reply.status);
        assert_eq!(refusal.code, code, "{list}: {}", refusal.message);
    }
    // Fields that the form doesn't have say nothing: neither a price nor an amount nor another's account.
    let performance = arena.performance.to_string();
    let forged = [
        ("performance", performance.as_str()),
        ("seats", "7"),
        ("key", "extra"),
        ("account", "00000000-0000-0000-0000-000000000000"),
        ("limit", "600"),
        ("quantity", "600"),
        ("total", "1"),
        ("price", "0"),
    ];
    let reply = arena.call(Some(&fan), "hold", &forged).await;
    if reply.status == 200 {
        let held: Held = reply.ok();
        assert_eq!(held.seats, seats(&[7]));
        assert!(held.total.minor > 1, "the price is the server's: {held:?}");
        let () = arena.call(Some(&fan), "hold-release", &[("order", &held.order.to_string())]).await.ok();
    } else {
        assert_eq!(reply.code(), Code::InvalidInput);
    }
    let bytes = arena.backend.seat_bytes(arena.performance).await.unwrap();
    assert!(bytes.iter().all(|byte| SeatState::from_byte(*byte) != SeatState::Held), "nothing is held");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_spelling_of_a_path_holds_seats_without_a_pass() {
    let arena = Arena::web(Setup::default()).await;
    let shop = arena.shop();
    let outside = arena.fans(1).await.remove(0);
    let inside = arena.one_inside().await;
    let performance = arena.performance.to_string();
    let form = hold_form(&performance, "1,2", "around-the-door");
    for path in [
        "/api/hold",
        "/api/hold/",
        "//api/hold",
        "/api//hold",
        "/api/./hold",
        "/api/x/../hold",
        "/API/hold",
        "/api/HOLD",
        "/api/%68old",
        "/%61pi/hold",
        "/api/hold%00",
        "/api/hold%2f",
        "/api/hold;x=1",
        "/api/hold?performance=x",
        "/api/hold#x",
        "/api/hold-list",
        "/api/hold-list/",
        "/./api/hold-list",
        "/pkg/../api/hold",
        "/webhooks/../api/hold",
    ] {
        let answer = shop.answer_to(&shop.spelled(&outside, path, &form)).await;
        let status: u16 = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(400);
        // A form without a script is sent back to its page, which says why.
        assert!((300..500).contains(&status), "{path}: {answer}");
        assert!(!answer.contains("\"expires\""), "{path}: {answer}");
    }
    // Other methods change nothing, pass or not.
    for method in [reqwest::Method::GET, reqwest::Method::PUT, reqwest::Method::PATCH, reqwest::Method::HEAD] {
        let path = format!("/api/hold?performance={performance}&seats=1,2&key=k");
        let request = arena.request(method.clone(), &path).header("cookie", crate::arena::http::cookies(&inside));
        let status = arena.send(request).await.status;
        assert!((400..500).contains(&status), "{method}: {status}");
    }
    let overridden = arena
        .request(reqwest::Method::GET, "/api/hold")
        .header("x-http-method-override", "POST")
        .header("cookie", crate::arena::http::cookies(&inside));
    assert!((400..500).contains(&arena.send(overridden).await.status));
    let bytes = arena.backend.seat_bytes(arena.performance).await.unwrap();
    assert!(bytes.iter().all(|byte| SeatState::from_byte(*byte) == SeatState::Available), "nothing is held");
    assert_eq!(arena.count("select count(*) from orders").await, 0);
    // Orders ask for their owner, however they are spelled: there is no order without a hold behind it.
    let held = arena.held(&inside, "1,2").await;
    let order = held.order.to_string();
    for path in [
        "/api/order-pay",
        "/api/order-pay/",
        "//api/order-pay",
        "/api/%6frder-pay",
        "/api/order-cancel",
        "/api/hold-release",
    ] {
        let answer = shop.answer_to(&shop.spelled(&outside, path, &[("order", &order)])).await;
        assert!(answer.split(' ').nth(1).is_some_and(|status| status.starts_with('4')), "{path}: {answer}");
    }
    assert_eq!(arena.my_hold(&inside).await, Some(held), "nothing moved");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn seats_of_another_performance_are_not_this_passs_to_hold() {
    let arena = Arena::web(Setup::default()).await;
    let fan = arena.one_inside().await;
    let elsewhere = arena.another_sale().await.to_string();
    let reply = arena.call(Some(&fan), "hold", &hold_form(&elsewhere, "1,2", "elsewhere")).await;
    assert_eq!((reply.status, reply.code()), (403, Code::PassRequired), "a pass is its performance's");
    let held: Held = arena.hold(&fan, "1,2", "here").await.ok();
    let reply = arena.call(Some(&fan), "my-hold", &[("performance", &elsewhere)]).await;
    assert_eq!(reply.ok::<Option<Held>>(), None, "a hold is its performance's");
    let () = arena.call(Some(&fan), "hold-release", &[("order", &held.order.to_string())]).await.ok();
    assert_eq!(arena.seat(1).await, SeatState::Available as u8);
    arena.finish().await;
}
