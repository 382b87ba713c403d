//! Money that comes late: it is found by asking, has its seats or goes back, whoever is killed meanwhile.

use super::ways::Way;
use super::{Doomed, WAITING};
use crate::arena::Arena;
use crate::late_success::{order_closed, question_is_due, taken_after_all};
use crate::reclaim::{ask_at, assert_reclaimed, assert_went_back, hasty, lost, taken_by};
use domain::hold::SeatState;

/// The points of other ways that lie on the way back of late money.
const BACK: &[&str] = &[
    "before-payment-read",
    "after-payment-read",
    "before-captured-commit",
    "captured-committed",
    "before-refund",
    "after-refund",
    "before-refund-commit",
    "refund-committed",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_each_step_of_giving_late_money_back_it_goes_back_once() {
    let mut arena = Arena::web(hasty()).await;
    let (fan, other) = (arena.one_inside().await, arena.one_inside().await);
    let (held, started) = lost(&arena, &fan, "10,11").await;
    let theirs = taken_by(&arena, &other, "11").await;
    let mut doomed = Doomed::at(&mut arena, BACK).await;
    arena.provider().drop_webhooks().await;
    arena.provider().capture(&started).await;
    ask_at(&arena, 0).await;
    let back = "select count(*) from refunds where order_id = $1 and status = 'succeeded'";
    survives!(doomed, &mut arena, "it is back", {
        doomed.left.is_empty() && arena.count_of(held.order, back).await == 1 && arena.count(WAITING).await == 0
    });
    assert_went_back(&arena, &held, &started).await;
    assert_eq!(arena.provider().refunds(&started).await.len(), 1, "once");
    assert_eq!(arena.seat(10).await, SeatState::Available as u8);
    arena.buy(&other, theirs.order).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_each_step_of_asking_about_an_ended_attempt_its_money_has_its_seats_once() {
    let mut arena = Arena::web(hasty()).await;
    arena.provider().drop_webhooks().await;
    let fan = arena.one_inside().await;
    let (held, started) = order_closed(&arena, &fan, "20,21").await;
    let mut doomed = Doomed::start(&mut arena, Way::Ended).await;
    taken_after_all(&arena, &started).await;
    question_is_due(&arena).await;
    survives!(doomed, &mut arena, "it is fulfilled", {
        doomed.left.is_empty()
            && arena.status(held.order).await.as_deref() == Some("fulfilled")
            && arena.count(WAITING).await == 0
    });
    assert_reclaimed(&arena, &held, &started).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_while_it_gives_seats_of_late_money_up_they_are_taken_again_and_sold_once() {
    let mut arena = Arena::web(hasty()).await;
    let fan = arena.one_inside().await;
    let (held, started) = lost(&arena, &fan, "30,31").await;
    // The log of the sale can't be written: seats are taken in Redis, and can't be claimed.
    let mut standstill = arena.pg.begin().await.unwrap();
    sqlx::query("select 1 from log_positions where performance_id = $1 for update")
        .bind(arena.performance.0)
        .execute(&mut *standstill)
        .await
        .unwrap();
    let mut doomed = Doomed::start(&mut arena, Way::GiveUp).await;
    arena.provider().drop_webhooks().await;
    arena.provider().capture(&started).await;
    ask_at(&arena, 0).await;
    survives!(doomed, &mut arena, "it has died at both", doomed.left.is_empty());
    assert_eq!(arena.status(held.order).await.as_deref(), Some("closed"), "nothing is decided");
    standstill.rollback().await.unwrap();
    ask_at(&arena, 0).await;
    survives!(doomed, &mut arena, "it is fulfilled", {
        arena.status(held.order).await.as_deref() == Some("fulfilled") && arena.count(WAITING).await == 0
    });
    assert_reclaimed(&arena, &held, &started).await;
    arena.finish().await;
}
