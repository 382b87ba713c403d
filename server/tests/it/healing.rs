//! The hot state and the orders differ, an entry can't be written, the order writer is away: what must
//! hold then, and how it ends.

use crate::arena::{Arena, Fan, SOON, Setup};
use domain::Code;
use domain::hold::{Held, SeatByte, SeatState};
use redis::AsyncCommands as _;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The name of a key of the sale, as the layout of the hot state has it.
fn key(arena: &Arena, name: &str) -> String {
    format!("sa:1:{{p{}}}:{name}", arena.performance.simple())
}

/// No comparison by itself: the test asks for each.
fn quiet() -> Setup {
    Setup { settings: vec![("STARARENA_RECONCILE_EVERY_MS", "86400000".to_owned())], ..Setup::default() }
}

/// Position, fields and error of an entry that was set aside.
type SetAside = (String, sqlx::types::Json<HashMap<String, String>>, String);

async fn log_entry(arena: &Arena, fields: &[(&str, &str)]) -> String {
    arena.redis().await.xadd(key(arena, "log"), "*", fields).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_entry_that_can_not_be_written_is_set_aside_with_its_evidence_and_holds_up_nobody() {
    let arena = Arena::bare(quiet()).await;
    let fans = arena.inside(2).await;
    let stranger = uuid::Uuid::new_v4().simple().to_string();
    let account = fans[1].account.simple();
    let ghost = uuid::Uuid::new_v4().simple().to_string();
    let hold = |id: &'static str, account: &str, seats: &str| -> Vec<(String, String)> {
        [
            ("t", "hold"),
            ("h", id),
            ("a", account),
            ("s", seats),
            ("v", "1"),
            ("c", "1"),
            ("x", "2"),
            ("e", ""),
            ("d", ""),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec()
    };
    let bad: [(&str, Vec<(String, String)>); 4] = [
        ("a kind that there is not", vec![("t".to_owned(), "surprise".to_owned())]),
        ("seats that are no numbers", hold("00000000000000000000000000000001", &account, "1,x")),
        ("an account that there is not", hold("00000000000000000000000000000002", &stranger, "1")),
        ("a seat that is not in the plan", hold("00000000000000000000000000000003", &account, "4000000")),
    ];
    let mut positions = Vec::new();
    for (_, fields) in &bad {
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        positions.push(log_entry(&arena, &fields).await);
    }
    let held = arena.take(&fans[0], &[5, 6], "after").await.unwrap();
    arena.await_status(held.order, "pending_payment").await;

    let rows: Vec<SetAside> = sqlx::query_as("select position, entry, error from log_set_aside order by id")
        .fetch_all(&arena.pg)
        .await
        .unwrap();
    assert_eq!(rows.iter().map(|(position, ..)| position.clone()).collect::<Vec<_>>(), positions);
    for ((what, fields), (_, entry, error)) in bad.iter().zip(&rows) {
        let fields: HashMap<String, String> = fields.iter().cloned().collect();
        assert_eq!(entry.0, fields, "{what}: the evidence is whole");
        assert!(!error.is_empty(), "{what}");
    }
    assert_eq!(arena.count("select count(*) from orders").await, 1, "nothing was made of them");

    // A hold that can't become an order is no hold: its seats go back, and so does what it had ended.
    let (owner, holds) = (key(&arena, "owner"), key(&arena, "holds"));
    let mut redis = arena.redis().await;
    let record = format!(
        r#"{{"a":"{stranger}","s":"9","n":1,"w":"9","v":1,"c":1,"x":9999999999999,"o":9999999999999,"st":"held","k":0,"p":"n"}}"#
    );
    let () = redis.hset(&holds, &ghost, record).await.unwrap();
    let () = redis.hset(&owner, 9, &ghost).await.unwrap();
    let () = redis.setrange(key(&arena, "seats"), 9, vec![1_u8]).await.unwrap();
    let () = redis.hset(key(&arena, "held_by"), &stranger, format!("1:{ghost}")).await.unwrap();
    let order = held.order.simple();
    let fields = [
        ("t", "hold"),
        ("h", ghost.as_str()),
        ("a", stranger.as_str()),
        ("s", "9"),
        ("v", "1"),
        ("c", "1"),
        ("x", "9999999999999"),
        ("e", order.as_str()),
        ("d", "9:1"),
    ];
    let () = redis
        .hset(&holds, &order, r#"{"a":"x","s":"","n":0,"v":1,"c":1,"x":1,"o":1,"st":"closed","k":0}"#)
        .await
        .unwrap();
    let () = redis.hdel(&owner, &[5, 6]).await.unwrap();
    let () = redis.setrange(key(&arena, "seats"), 5, vec![0_u8, 0]).await.unwrap();
    let () = redis.hdel(key(&arena, "held_by"), fans[0].account.simple()).await.unwrap();
    let () = redis.zrem(key(&arena, "expiry"), &order).await.unwrap();
    log_entry(&arena, &fields).await;
    arena.await_status(held.order, "closed").await;
    eventually!(SOON, "the seat is free", arena.seat(9).await == SeatState::Available as u8);
    assert!(arena.take(&fans[1], &[9], "again").await.is_ok());
    // People have decided about each: until then the audit tells of them.
    let found = arena.backend.audit_system().await.unwrap();
    assert!(found.iter().any(|finding| finding.check.invariant == "I7" && !finding.holds()), "{found:?}");
    sqlx::query("update log_set_aside set resolved_ms = 1").execute(&arena.pg).await.unwrap();
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holding_is_refused_while_the_order_writer_is_too_far_behind() {
    let setup = Setup { settings: vec![("STARARENA_WRITER_LAG_MAX_MS", "500".to_owned())], ..Setup::default() };
    let mut arena = Arena::bare(setup).await;
    let fans = arena.inside(3).await;
    arena.stop_workers().await;
    let first = arena.take(&fans[0], &[1, 2], "a").await.unwrap();
    let bound = first.expires.0 - Setup::default().hold_ttl_ms + 500;
    eventually!(SOON, "the log is too far behind", arena.redis_now().await.0 > bound);
    assert_eq!(arena.take(&fans[1], &[3], "b").await, Err(Code::Unavailable));
    assert_eq!(arena.seat(3).await, SeatState::Available as u8, "nothing was taken");
    assert_eq!(arena.take(&fans[0], &[1, 2], "a").await.unwrap(), first, "what stands is still told");
    assert_eq!(arena.give_back(&fans[0], first.order).await, Ok(()), "and can be given back");
    let refused =
        arena.backend.hold(&fans[2].session, fans[2].pass(), arena.performance, crate::arena::seats(&[4]), "c").await;
    let refusal = refused.unwrap_err().refusal();
    assert!(refusal.retry_after_ms.is_some(), "{refusal:?}");
    arena.start_workers();
    eventually!(SOON, "holding goes on", arena.take(&fans[1], &[3], "b").await.is_ok());
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_sale_is_not_behind() {
    let setup = Setup { settings: vec![("STARARENA_WRITER_LAG_MAX_MS", "100".to_owned())], ..Setup::default() };
    let arena = Arena::bare(setup).await;
    let fans = arena.inside(2).await;
    let held = arena.take(&fans[0], &[1], "a").await.unwrap();
    arena.await_status(held.order, "pending_payment").await;
    let written: String = arena.redis().await.hget(key(&arena, "meta"), "written").await.unwrap();
    let at: i64 = written.split_once('-').unwrap().0.parse().unwrap();
    eventually!(SOON, "the last entry is older than the bound", arena.redis_now().await.0 - at > 200);
    assert!(arena.take(&fans[1], &[2], "b").await.is_ok());
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_key_of_an_ended_hold_stays_closed_when_the_seats_were_built_again() {
    let arena = Arena::bare(quiet()).await;
    let fan = arena.one_inside().await;
    let held = arena.take(&fan, &[1, 2], "once").await.unwrap();
    arena.await_status(held.order, "pending_payment").await;
    arena.give_back(&fan, held.order).await.unwrap();
    arena.await_status(held.order, "closed").await;
    let () = redis::cmd("FLUSHALL").query_async(&mut arena.redis().await).await.unwrap();
    let mut answer: Result<Held, Code>;
    eventually!(SOON, "the seats are built again", {
        answer = arena.take(&fan, &[1, 2], "once").await;
        answer != Err(Code::Unavailable)
    });
    assert_eq!(answer, Err(Code::HoldClosed));
    assert!(arena.take(&fan, &[1, 2], "twice").await.is_ok());
    arena.finish().await;
}

/// A busy little sale: three open holds, and the fans who have them.
async fn three_holds(arena: &Arena) -> (Vec<Fan>, Vec<Held>) {
    let fans = arena.inside(4).await;
    let mut held = Vec::new();
    for (index, fan) in (0u32..).zip(&fans[..3]) {
        held.push(arena.take(fan, &[10 * index, 10 * index + 1], "k").await.unwrap());
    }
    for one in &held {
        arena.await_status(one.order, "pending_payment").await;
    }
    (fans, held)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_that_begins_is_no_difference_and_one_that_is_over_is_put_right() {
    let arena = Arena::bare(quiet()).await;
    let (_, held) = three_holds(&arena).await;
    let (order, mut redis) = (held[0].order, arena.redis().await);
    // As Pay leaves both stores between its two steps, for as long as Postgres may take.
    let raw: String = redis.hget(key(&arena, "holds"), order.simple()).await.unwrap();
    let mut record: serde_json::Value = serde_json::from_str(&raw).unwrap();
    (record["st"], record["k"]) = ("paying".into(), 1.into());
    let () = redis.hset(key(&arena, "holds"), order.simple(), record.to_string()).await.unwrap();
    let () = redis.zrem(key(&arena, "expiry"), order.simple()).await.unwrap();
    let attempt = "insert into attempts (id, order_id, number, status, provider, amount_minor, currency, created_ms, deadline_ms, next_query_ms)
        select gen_random_uuid(), id, 1, 'created', 'test', total_minor, currency, 1, 9e15, 9e15 from orders where id = $1";
    sqlx::query(attempt).bind(order.0).execute(&arena.pg).await.unwrap();
    let done = arena.backend.reconcile(arena.performance).await.unwrap();
    assert_eq!(done.repairs, Vec::<String>::new(), "its order follows, or its end does");

    let over = "update attempts set status = 'canceled', taken_back_ms = 1 where order_id = $1";
    sqlx::query(over).bind(order.0).execute(&arena.pg).await.unwrap();
    let done = arena.backend.reconcile(arena.performance).await.unwrap();
    assert!(done.repairs[0].starts_with(&format!("hold hold {order}")), "{:?}", done.repairs);
    let ends: Option<f64> = redis.zscore(key(&arena, "expiry"), order.simple()).await.unwrap();
    assert_eq!(ends.map(|ends| format!("{ends:.0}")), Some(held[0].expires.0.to_string()), "it can run out again");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_kind_of_difference_is_put_right_and_written_down() {
    let arena = Arena::bare(quiet()).await;
    let (fans, held) = three_holds(&arena).await;
    let mut redis = arena.redis().await;
    let (seats, owner, holds) = (key(&arena, "seats"), key(&arena, "owner"), key(&arena, "holds"));
    // A held seat looks free; a free seat looks sold by nobody; a free seat looks blocked.
    let () = redis.setrange(&seats, 0, vec![0_u8]).await.unwrap();
    let () = redis.setrange(&seats, 50, vec![2_u8]).await.unwrap();
    let () = redis.setrange(&seats, 51, vec![3_u8]).await.unwrap();
    // A seat lost its owner; a seat is owned by a hold that never was.
    let () = redis.hdel(&owner, 1).await.unwrap();
    let () = redis.hset(&owner, 60, uuid::Uuid::new_v4().simple().to_string()).await.unwrap();
    let () = redis.setrange(&seats, 60, vec![1_u8]).await.unwrap();
    // A hold lost its record, another its end, a third says that it is being paid.
    let () = redis.hdel(&holds, held[1].order.simple()).await.unwrap();
    let () = redis.hdel(&owner, 10).await.unwrap();
    let () = redis.zrem(key(&arena, "expiry"), held[2].order.simple()).await.unwrap();
    // A whole hold that no order knows, with a count; and a wrong count.
    let (stray, account) = (uuid::Uuid::new_v4().simple().to_string(), fans[3].account.simple());
    let record = format!(
        r#"{{"a":"{account}","s":"70","n":1,"w":"70","v":1,"c":1,"x":9999999999999,"o":9999999999999,"st":"held","k":0,"p":"n"}}"#
    );
    let () = redis.hset(&holds, &stray, record).await.unwrap();
    let () = redis.hset(&owner, 70, &stray).await.unwrap();
    let () = redis.setrange(&seats, 70, vec![1_u8]).await.unwrap();
    let () = redis.hset(key(&arena, "held_by"), &account, format!("1:{stray}")).await.unwrap();
    let () = redis.hset(key(&arena, "held_by"), fans[0].account.simple(), "7:").await.unwrap();

    let mut repairs = Vec::new();
    eventually!(SOON, "nothing is left to put right", {
        let done = arena.backend.reconcile(arena.performance).await.unwrap();
        repairs.extend(done.repairs.clone());
        done.repairs.is_empty()
    });
    for what in [
        "seat seat 0:",
        "seat seat 1:",
        "seat seat 50:",
        "seat seat 51:",
        "seat seat 60:",
        "stray hold seat 70:",
        "count account",
    ] {
        assert!(repairs.iter().any(|line| line.starts_with(what)), "{what} is not among {repairs:#?}");
    }
    let hold = format!("hold hold {}", held[2].order);
    assert!(repairs.iter().any(|line| line.starts_with(&hold)), "{hold} is not among {repairs:#?}");
    let written = arena.count("select count(*) from repairs where performance_id = $1").await;
    assert_eq!(written, i64::try_from(repairs.len()).unwrap(), "each is written down");
    assert_eq!(arena.count("select repaired::bigint from reconciliations where performance_id = $1").await, written);
    // What was right before is right again: the fans have their holds, and nobody else can take them.
    for (fan, one) in fans.iter().zip(&held) {
        assert_eq!(
            arena.backend.my_hold(&fan.session, arena.performance).await.unwrap().as_ref().map(|h| h.order),
            Some(one.order)
        );
    }
    assert_eq!(arena.take(&fans[3], &[0], "x").await, Err(Code::SeatTaken));
    assert!(arena.take(&fans[3], &[50, 51, 60, 70], "y").await.is_ok());
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_seat_that_is_sold_in_postgres_turns_sold_and_a_seat_kept_for_others_is_kept_again() {
    let arena = Arena::bare(quiet()).await;
    let (fans, held) = three_holds(&arena).await;
    // As if the money had been taken and the confirmation were lost.
    let mut tx = arena.pg.begin().await.unwrap();
    sqlx::query(
        "update orders set status = 'paid', version = version + 1, paid_ms = 1, confirmed_ms = 1 where id = $1",
    )
    .bind(held[0].order.0)
    .execute(&mut *tx)
    .await
    .unwrap();
    let allocation = uuid::Uuid::new_v4();
    sqlx::query("insert into allocations (id, performance_id, number, name, kind, created_ms) values ($1, $2, 5, 'Fan club', 'presale', 1)")
        .bind(allocation)
        .bind(arena.performance.0)
        .execute(&mut *tx)
        .await
        .unwrap();
    sqlx::query(
        "insert into allocation_seats (performance_id, seat_no, allocation_id) values ($1, 10, $2), ($1, 40, $2)",
    )
    .bind(arena.performance.0)
    .bind(allocation)
    .execute(&mut *tx)
    .await
    .unwrap();
    tx.commit().await.unwrap();
    arena.backend.reconcile(arena.performance).await.unwrap();
    let bytes = arena.backend.seat_bytes(arena.performance).await.unwrap();
    assert_eq!(bytes[0], SeatByte::new(SeatState::Sold, 0).0);
    assert_eq!(bytes[10], SeatByte::new(SeatState::Held, 5).0);
    assert_eq!(bytes[40], SeatByte::new(SeatState::Available, 5).0);
    assert_eq!(arena.take(&fans[3], &[40], "x").await, Err(Code::SeatNotForSale));
    // A held seat goes back into its allocation, and a rebuild knows it, too.
    arena.give_back(&fans[1], held[1].order).await.unwrap();
    assert_eq!(arena.seat(10).await, SeatByte::new(SeatState::Available, 5).0);
    let () = redis::cmd("FLUSHALL").query_async(&mut arena.redis().await).await.unwrap();
    eventually!(
        SOON,
        "the seats are built again",
        arena
            .backend
            .seat_bytes(arena.performance)
            .await
            .is_ok_and(|bytes| { bytes.get(40) == Some(&SeatByte::new(SeatState::Available, 5).0) })
    );
    // The money of the test was none: the order ends as it would have without it, also where its tickets were
    // issued meanwhile.
    let mut tx = arena.pg.begin().await.unwrap();
    for sql in [
        "update orders set status = 'pending_payment', confirmed_ms = null, paid_ms = null where id = $1",
        "delete from tickets where order_id = $1",
        "delete from order_audit where order_id = $1 and event = 'issued'",
        "update orders set version = (select count(*) from order_audit where order_id = $1) where id = $1",
    ] {
        sqlx::query(sql).bind(held[0].order.0).execute(&mut *tx).await.unwrap();
    }
    tx.commit().await.unwrap();
    arena.backend.reconcile(arena.performance).await.unwrap();
    assert_eq!(arena.seat(0).await, SeatByte::new(SeatState::Held, 0).0);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_sale_without_faults_needs_no_repair() {
    const FANS: usize = 30;
    const RUNS: usize = 5;
    let arena = Arc::new(Arena::bare(Setup { hold_ttl_ms: 1_000, ..quiet() }).await);
    let over = Arc::new(AtomicBool::new(false));
    let storm = arena.inside(FANS).await.into_iter().map(|fan| {
        let (arena, over) = (Arc::clone(&arena), Arc::clone(&over));
        tokio::spawn(async move {
            for round in 0u32.. {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let first = rand::random_range(0..60);
                if let Ok(held) = arena.take(&fan, &[first, first + 1], &format!("round-{round}")).await {
                    // Some are given back, some run out.
                    if round % 3 != 0 {
                        arena.give_back(&fan, held.order).await.ok();
                    }
                }
            }
        })
    });
    let storm: Vec<_> = storm.collect();
    let mut looked = 0;
    while looked < RUNS {
        let done = arena.backend.reconcile(arena.performance).await.unwrap();
        assert_eq!(done.repairs, Vec::<String>::new(), "nothing was wrong");
        looked += usize::from(done.seats > 0);
    }
    over.store(true, Ordering::Relaxed);
    futures::future::try_join_all(storm).await.unwrap();
    Arc::into_inner(arena).expect("the storm is over").finish().await;
}
