//! One order that a job can't do, among others: the others are done, and it is done once it is mended.

use crate::arena::provider::GOOD_CARD;
use crate::arena::{Arena, Fan, SOON, Setup};
use crate::refunds::{ANYBODY, bought, give_back, terms};
use domain::OrderId;
use domain::hold::SeatState;
use domain::order::PayStarted;

/// What Postgres says of the rows that this test breaks.
const WHY: &str = "broken by a test";

/// Makes changes of rows fail: `what` is the event, such as `insert on tickets`, `when` says of which rows.
async fn break_rows(arena: &Arena, what: &str, when: &str) {
    let function = format!(
        "create or replace function refuse_by_test() returns trigger language plpgsql as
         $$ begin raise exception '{WHY}'; end $$"
    );
    let trigger = format!(
        "create trigger refused_by_test before {what} for each row when ({when}) execute function refuse_by_test()"
    );
    for sql in [function, trigger] {
        sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&arena.pg).await.unwrap();
    }
}

async fn mend_rows(arena: &Arena, table: &str) {
    let sql = format!("drop trigger refused_by_test on {table}");
    sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&arena.pg).await.unwrap();
}

/// Waits until operators can see that a job fails for this order alone, and why.
async fn await_setback(arena: &Arena, job: &str, order: OrderId) {
    eventually!(SOON, format!("{job} is set back for {order}"), {
        let failing = arena.backend.setbacks(10).await.unwrap();
        assert!(failing.iter().all(|one| one.subject == order.0), "nothing else fails: {failing:?}");
        failing.iter().any(|one| one.job == job && one.tries > 0 && one.error.contains(WHY))
    });
}

/// Waits until nothing is told as failing any more.
async fn await_none(arena: &Arena) {
    eventually!(SOON, "nothing fails any more", arena.backend.setbacks(10).await.unwrap().is_empty());
}

async fn pay(arena: &Arena, fan: &Fan, order: OrderId) {
    let started: PayStarted = arena.pay(fan, order).await.ok();
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_whose_tickets_can_not_be_issued_holds_up_nobody_elses_and_gets_them_once_it_is_mended() {
    let arena = Arena::web(Setup::default()).await;
    let fans = arena.inside(4).await;
    let mut orders = Vec::new();
    for (fan, seats) in fans.iter().zip(["1,2", "3,4", "5", "6"]) {
        orders.push(arena.held(fan, seats).await.order);
    }
    // The first that is paid is the bad one: from then on it is the oldest.
    let (bad, good) = (orders[0], &orders[1..]);
    break_rows(&arena, "insert on tickets", &format!("new.order_id = '{}'", bad.0)).await;
    pay(&arena, &fans[0], bad).await;
    await_setback(&arena, "issue", bad).await;
    for (fan, order) in fans[1..].iter().zip(good) {
        pay(&arena, fan, *order).await;
    }
    for order in good {
        arena.await_status(*order, "fulfilled").await;
    }
    assert_eq!(arena.status(bad).await.as_deref(), Some("paid"), "its money is not undone");
    mend_rows(&arena, "tickets").await;
    eventually!(2 * SOON, "its tickets come", arena.status(bad).await.as_deref() == Some("fulfilled"));
    await_none(&arena).await;
    crate::purchase::assert_paid_once(&arena, bad, 2).await;
    arena.finish().await;
}

const UNRELEASED: &str = "select count(*) from orders where id = $1 and released_ms is null";

/// Three orders for seats 1 to 3 that were cancelled and whose seats are free again, the oldest first.
async fn three_released(arena: &Arena) -> Vec<OrderId> {
    let fans = arena.inside(3).await;
    let mut orders = Vec::new();
    for (fan, seats) in fans.iter().zip(["1", "2", "3"]) {
        let order = arena.held(fan, seats).await.order;
        arena.await_status(order, "pending_payment").await;
        orders.push(order);
    }
    for (fan, order) in fans.iter().zip(&orders) {
        arena.backend.cancel_order(&fan.session, *order).await.unwrap();
    }
    for order in &orders {
        eventually!(SOON, "it is released", arena.count_of(*order, UNRELEASED).await == 0);
    }
    orders
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_whose_seats_can_not_be_released_holds_up_nobody_elses() {
    let arena = Arena::web(Setup::default()).await;
    let orders = three_released(&arena).await;
    // As if Redis had not been told of any of them, and the oldest were bad.
    let rows = format!("new.id = '{}' and new.released_ms is not null", orders[0].0);
    break_rows(&arena, "update of released_ms on orders", &rows).await;
    sqlx::query("update orders set released_ms = null").execute(&arena.pg).await.unwrap();
    await_setback(&arena, "release", orders[0]).await;
    for (order, seat) in orders[1..].iter().zip([2, 3]) {
        eventually!(SOON, "the others are released", arena.count_of(*order, UNRELEASED).await == 0);
        assert_eq!(arena.seat(seat).await, SeatState::Available as u8);
    }
    assert_eq!(arena.count_of(orders[0], UNRELEASED).await, 1);
    mend_rows(&arena, "orders").await;
    eventually!(2 * SOON, "it is released", arena.count_of(orders[0], UNRELEASED).await == 0);
    await_none(&arena).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn seats_that_can_not_be_given_back_hold_up_nobody_elses() {
    let arena = Arena::web(Setup::default()).await;
    terms(&arena, arena.performance, Vec::new(), true, ANYBODY).await;
    let (bad, good) = (bought(&arena, &[10, 11]).await, bought(&arena, &[20, 21]).await);
    let rows = format!("new.order_id = '{}' and new.released_ms is not null", bad.order.0);
    break_rows(&arena, "update of released_ms on order_items", &rows).await;
    give_back(&arena, &bad, &[10]).await;
    await_setback(&arena, "return", bad.order).await;
    give_back(&arena, &good, &[20]).await;
    let open =
        "select count(*) from order_items where order_id = $1 and returned_ms is not null and released_ms is null";
    eventually!(SOON, "the other seat is back", arena.seat(20).await == SeatState::Available as u8);
    eventually!(SOON, "and noted", arena.count_of(good.order, open).await == 0);
    assert_eq!(arena.count_of(bad.order, open).await, 1);
    mend_rows(&arena, "order_items").await;
    eventually!(2 * SOON, "its seat is noted, too", arena.count_of(bad.order, open).await == 0);
    await_none(&arena).await;
    assert_eq!(arena.seat(10).await, SeatState::Available as u8);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_whose_row_somebody_holds_locked_holds_up_nobody_elses() {
    let mut arena = Arena::web(Setup::default()).await;
    let orders = three_released(&arena).await;
    let (good, locked) = (&orders[..2], orders[2]);
    arena.kill_server().await;
    // As if Redis had not been told of any of them, and somebody had a transaction open that changes the newest.
    sqlx::query("update orders set released_ms = null").execute(&arena.pg).await.unwrap();
    let mut theirs = arena.pg.begin().await.unwrap();
    sqlx::query("select id from orders where id = $1 for update").bind(locked.0).execute(&mut *theirs).await.unwrap();
    arena.start_server(&[]).await;
    // Once Postgres has given up the wait for the lock, which takes ten seconds.
    for order in good {
        eventually!(2 * SOON, "the others are released", arena.count_of(*order, UNRELEASED).await == 0);
    }
    eventually!(2 * SOON, "it alone is set back", {
        let failing = arena.backend.setbacks(10).await.unwrap();
        assert!(failing.iter().all(|one| one.subject == locked.0), "nothing else fails: {failing:?}");
        failing.iter().any(|one| one.job == "release")
    });
    assert_eq!(arena.count_of(locked, UNRELEASED).await, 1);
    theirs.rollback().await.unwrap();
    eventually!(2 * SOON, "it is released", arena.count_of(locked, UNRELEASED).await == 0);
    await_none(&arena).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_job_tries_any_more_is_told_as_failing_for_a_minute() {
    let arena = Arena::bare(Setup::default()).await;
    let (now, [over, failing]) = (arena.backend.now(), [1, 2].map(uuid::Uuid::from_u128));
    // One that was to be tried long ago, as if it had been decided another way, and one whose time has just come.
    for (subject, due) in [(over, now.plus(-90_000)), (failing, now.plus(-10_000))] {
        let row = "insert into setbacks (job, subject, tries, next_try_ms, first_ms, last_ms, error)
            values ('release', $1, 3, $2, 1, 1, 'broken by a test')";
        sqlx::query(row).bind(subject).bind(due.0).execute(&arena.pg).await.unwrap();
    }
    let told = arena.backend.setbacks(10).await.unwrap();
    assert_eq!(told.iter().map(|one| one.subject).collect::<Vec<_>>(), [failing]);
    arena.finish().await;
}
