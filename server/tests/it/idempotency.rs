//! Keys of clients: a call that comes twice is carried out once, whatever happens in between.

use crate::arena::http::cookies;
use crate::arena::provider::GOOD_CARD;
use crate::arena::{Arena, Fan, Reply, SOON, Setup};
use backend::{Backend, Config, KeptAnswer, Keyed, ManualClock};
use domain::idempotency::{Fingerprint, KEEP_MS, KEEP_UNFINISHED_MS, KEYS_MAX, Key, LEASE_MS};
use domain::order::PayStarted;
use domain::{Code, OrderId};
use reqwest::header::COOKIE;
use reqwest::{Method, RequestBuilder};
use serde_json::json;
use std::sync::Arc;

const KEYS: &str = "select count(*) from idempotency_keys";
const ATTEMPTS: &str = "select count(*) from attempts where order_id = $1";

fn request(arena: &Arena, fan: &Fan, function: &str, form: &[(&str, &str)], key: &str) -> RequestBuilder {
    let request = arena.request(Method::POST, &format!("/api/{function}")).header(COOKIE, cookies(fan));
    request.header("idempotency-key", key).form(form)
}

async fn keyed(arena: &Arena, fan: &Fan, function: &str, form: &[(&str, &str)], key: &str) -> Reply {
    arena.send(request(arena, fan, function, form, key)).await
}

async fn pay(arena: &Arena, fan: &Fan, order: OrderId, key: &str) -> Reply {
    keyed(arena, fan, "order-pay", &[("order", &order.to_string())], key).await
}

fn still_runs(reply: &Reply) -> bool {
    reply.status == 409 && reply.headers.contains_key("retry-after")
}

fn is_replayed(reply: &Reply) -> bool {
    reply.header("idempotency-replayed") == "true"
}

/// As a client does it: the same call again while the first one runs.
async fn paid_in_the_end(arena: &Arena, fan: &Fan, order: OrderId, key: &str) -> Reply {
    let mut reply = pay(arena, fan, order, key).await;
    eventually!(SOON, "the call is answered", {
        if still_runs(&reply) {
            assert_eq!(reply.code(), Code::WrongState);
            reply = pay(arena, fan, order, key).await;
        }
        !still_runs(&reply)
    });
    reply
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_calls_to_pay_with_one_key_are_one_payment_and_one_answer() {
    let arena = Arena::web(Setup::default()).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "30,31").await;
    let calls = (0..20).map(|_| paid_in_the_end(&arena, &fan, held.order, "8e03978e-40d5"));
    let replies = futures::future::join_all(calls).await;
    let started: PayStarted = replies[0].ok();
    for reply in &replies {
        assert_eq!((reply.status, &reply.body), (200, &replies[0].body));
        assert_eq!(reply.header("content-type"), replies[0].header("content-type"));
    }
    assert_eq!(replies.iter().filter(|reply| !is_replayed(reply)).count(), 1, "one of them was carried out");
    assert_eq!(arena.count_of(held.order, ATTEMPTS).await, 1);
    assert_eq!(arena.provider().payments(&started).await.len(), 1);
    assert_eq!(arena.count(KEYS).await, 1);
    let quoted = pay(&arena, &fan, held.order, "\"8e03978e-40d5\"").await;
    assert!(is_replayed(&quoted) && quoted.ok::<PayStarted>() == started, "a key in quotes is the same key");

    // The key is for this call alone: not for another order, not for another endpoint.
    let other = OrderId(uuid::Uuid::new_v4());
    assert_eq!(pay(&arena, &fan, other, "8e03978e-40d5").await.code(), Code::KeyReused);
    let cancel = [("order", &*held.order.to_string())];
    assert_eq!(keyed(&arena, &fan, "order-cancel", &cancel, "8e03978e-40d5").await.code(), Code::KeyReused);
    assert_eq!(arena.status(held.order).await.as_deref(), Some("payment_processing"), "nothing was cancelled");

    // Another account's key of the same name is another key.
    let stranger = arena.fans(1).await.remove(0);
    let theirs = pay(&arena, &stranger, held.order, "8e03978e-40d5").await;
    assert!(theirs.code() == Code::NotFound && !is_replayed(&theirs));

    // Without a key, and where calls have keys of their own, nothing is kept.
    let keys = arena.count(KEYS).await;
    let _: PayStarted = arena.pay(&fan, held.order).await.ok();
    assert!(keyed(&arena, &fan, "me", &[], "who-am-i").await.status == 200);
    assert_eq!(arena.count(KEYS).await, keys);

    for bad in ["k".repeat(256), String::new(), "a b".to_owned()] {
        let refused = pay(&arena, &fan, held.order, &bad).await.refusal();
        assert_eq!(refused.code, Code::InvalidInput, "{bad}");
        assert!(refused.message.starts_with("Idempotency-Key: "), "{}", refused.message);
    }
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    arena.await_status(held.order, "fulfilled").await;
    let late = pay(&arena, &fan, held.order, "8e03978e-40d5").await;
    assert_eq!((late.status, late.ok::<PayStarted>()), (200, started), "the answer of then, not of now");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_is_kept_and_an_outage_is_not() {
    let arena = Arena::web(Setup::default()).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "40,41").await;
    let nothing = OrderId(uuid::Uuid::new_v4());
    for again in [false, true] {
        let reply = keyed(&arena, &fan, "order-cancel", &[("order", &nothing.to_string())], "none").await;
        assert_eq!((reply.code(), is_replayed(&reply)), (Code::NotFound, again));
    }
    arena.provider().switch(json!({ "fail_permille": 1000 })).await;
    for _ in 0..2 {
        let reply = pay(&arena, &fan, held.order, "outage").await;
        assert_eq!((reply.code(), is_replayed(&reply)), (Code::ProviderUnavailable, false));
    }
    let other = pay(&arena, &fan, nothing, "outage").await;
    assert_eq!(other.code(), Code::KeyReused, "it stays the key of the call that used it first");
    arena.provider().switch(json!({})).await;
    let reply = pay(&arena, &fan, held.order, "outage").await;
    assert!(reply.ok::<PayStarted>().redirect_url.starts_with("http") && !is_replayed(&reply));
    assert!(is_replayed(&pay(&arena, &fan, held.order, "outage").await));
    assert_eq!(arena.count_of(held.order, ATTEMPTS).await, 1);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_between_the_work_and_its_answer_the_call_is_carried_out_once_more_to_the_same_effect() {
    let mut arena = Arena::web(Setup::default()).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "50,51").await;
    arena.await_status(held.order, "pending_payment").await;
    arena.restart_server(&[("STARARENA_FAULT_POINTS", "before-keyed-answer")]).await;
    let form = [("order", &*held.order.to_string())];
    drop(request(&arena, &fan, "order-pay", &form, "crash").send().await);
    assert!(!arena.server().ended().await.success(), "killed");
    assert_eq!(arena.count_of(held.order, ATTEMPTS).await, 1, "the work was done");

    arena.start_server(&[]).await;
    let early = pay(&arena, &fan, held.order, "crash").await;
    assert!(still_runs(&early) && early.code() == Code::WrongState, "for all that is known, it still runs");
    let other = pay(&arena, &fan, OrderId(uuid::Uuid::new_v4()), "crash").await;
    assert_eq!(other.code(), Code::KeyReused);
    sqlx::query("update idempotency_keys set until_ms = 1").execute(&arena.pg).await.unwrap();
    let reply = pay(&arena, &fan, held.order, "crash").await;
    let started: PayStarted = reply.ok();
    assert!(!is_replayed(&reply));
    assert_eq!(arena.count_of(held.order, ATTEMPTS).await, 1, "Pay finds what it did");
    let again = pay(&arena, &fan, held.order, "crash").await;
    assert!(is_replayed(&again) && again.ok::<PayStarted>() == started);
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    arena.await_status(held.order, "fulfilled").await;
    crate::purchase::assert_paid_once(&arena, held.order, 2).await;
    arena.finish().await;
}

/// Whether a call is carried out; the answer that it is given otherwise.
async fn begun(backend: &Backend, fan: &Fan, key: &str, body: &str) -> Result<Keyed, Code> {
    let (key, print) = (key.parse::<Key>().unwrap(), Fingerprint::of(&[body.as_bytes()]));
    let begun = backend.begin_keyed(fan.account, "/api/test", &key, print).await;
    begun.map_err(|error| error.refusal().code)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_kept_for_a_day_and_what_nobody_finished_for_longer() {
    let mut arena = Arena::bare(Setup::default()).await;
    arena.stop_workers().await;
    let clock = Arc::new(ManualClock::default());
    let config = Config::read(|name| arena.settings().get(name).cloned()).unwrap();
    let (database, redis) = (config.database_url.clone().unwrap(), config.redis_url.clone().unwrap());
    let moved = Backend::connect(config, &database, &redis, clock.clone()).await.unwrap();
    let fan = arena.fans(1).await.remove(0);
    let answer = KeptAnswer { status: 200, content_type: None, body: Some(b"done".to_vec()) };

    let Ok(Keyed::CarryOut(lease)) = begun(&moved, &fan, "a", "x").await else { panic!("the key is free") };
    assert!(matches!(begun(&moved, &fan, "a", "x").await, Err(Code::WrongState)), "it runs");
    moved.end_keyed(&lease, Some(&answer)).await.unwrap();
    clock.shift(KEEP_MS - 60_000);
    moved.forget_keys().await.unwrap();
    let Ok(Keyed::Replay(kept)) = begun(&moved, &fan, "a", "x").await else { panic!("the answer is kept") };
    assert_eq!(kept, answer);
    assert!(matches!(begun(&moved, &fan, "a", "y").await, Err(Code::KeyReused)));
    clock.shift(60_000);
    // A day later the key is anybody's, whether the row is still there or not.
    let Ok(Keyed::CarryOut(lease)) = begun(&moved, &fan, "a", "y").await else { panic!("the key is free again") };

    // Whoever carried it out has gone: one other takes over, and the first can't answer any more.
    clock.shift(LEASE_MS);
    let Ok(Keyed::CarryOut(second)) = begun(&moved, &fan, "a", "y").await else { panic!("the lease has ended") };
    moved.end_keyed(&lease, Some(&answer)).await.unwrap();
    assert!(matches!(begun(&moved, &fan, "a", "y").await, Err(Code::WrongState)), "the second one still runs");
    moved.end_keyed(&second, None).await.unwrap();
    assert!(matches!(begun(&moved, &fan, "a", "x").await, Err(Code::KeyReused)), "given up, and not forgotten");
    clock.shift(KEEP_MS);
    moved.forget_keys().await.unwrap();
    assert_eq!(arena.count(KEYS).await, 1);
    clock.shift(KEEP_UNFINISHED_MS);
    moved.forget_keys().await.unwrap();
    assert_eq!(arena.count(KEYS).await, 0);

    // One account can't fill the table.
    sqlx::query(
        "insert into idempotency_keys (account_id, key_hash, endpoint, fingerprint, lease, until_ms, began_ms)
         select $1, sha256(n::text::bytea), 'x', sha256('x'::bytea), gen_random_uuid(), $2, $2 from generate_series(1, $3) n",
    )
    .bind(fan.account.0)
    .bind(moved.now().0)
    .bind(KEYS_MAX)
    .execute(&arena.pg)
    .await
    .unwrap();
    assert!(matches!(begun(&moved, &fan, "one-more", "x").await, Err(Code::TooManyRequests)));
    let other = arena.fans(1).await.remove(0);
    assert!(matches!(begun(&moved, &other, "one-more", "x").await, Ok(Keyed::CarryOut(_))));
    arena.finish().await;
}
