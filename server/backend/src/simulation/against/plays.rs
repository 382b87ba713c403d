//! Short plays, step by step on both sides: what random steps meet too rarely.

use super::compared;
use super::setup::Real;
use super::steps::{Both, Step};
use crate::simulation::model::hold::Ask;
use crate::simulation::model::house::CountPair;
use crate::simulation::model::reclaim::Again;
use crate::simulation::model::redis::Settings;
use crate::simulation::sale;
use domain::OrderId;
use uuid::Uuid;

/// Longer than a play takes.
const LONG_MS: i64 = 600_000;

/// Does a step on both sides; what both answered.
async fn done(both: &mut Both, step: Step) -> String {
    both.know_epoch();
    compared(both, &step).await.unwrap_or_else(|why| panic!("{step:?}\n{why}"))
}

/// Late money of an order that has closed.
fn late(number: u128, seats: &[u32]) -> Again {
    Again {
        hold: OrderId(Uuid::from_u128(number)),
        account: sale::account(0),
        attempt: 1,
        seats: seats.to_vec(),
        allocations: Vec::new(),
        version: 1,
        created: 1,
        lease_ms: LONG_MS,
    }
}

/// Asks for seats anew; the answer must be that they were taken, with this fence.
async fn taken(both: &mut Both, ask: &Again, fence: i64) {
    let answer = done(both, Step::Reclaim(ask.clone(), true)).await;
    assert!(answer.starts_with("Took") && answer.ends_with(&format!("fence: {fence} }}")), "{answer}");
}

/// One seat that the account wants, inside by its pass 7.
fn wish(hold: OrderId, seat: u32) -> Ask {
    Ask {
        hold,
        account: sale::account(0),
        nonce: 7,
        wish: 1,
        seats: vec![seat],
        areas: Vec::new(),
        allocations: Vec::new(),
        lag_max_ms: LONG_MS,
    }
}

/// Notes what the account has, in words of its own.
async fn note(both: &Both, text: &str) {
    let mut connection = both.backend.seats.connection();
    let (key, account) = (both.sale.keys.held_by(), sale::account(0).simple());
    let () = redis::cmd("HSET").arg(key).arg(account).arg(text).query_async(&mut connection).await.unwrap();
}

/// What the account has.
fn has(both: &Both) -> CountPair {
    both.hot.state.held_by.get(&sale::account(0)).copied()
}

async fn only_the_try_that_asked_last_gives_up(both: &mut Both) {
    let ask = late(1, &[0, 1]);
    taken(both, &ask, 1).await;
    taken(both, &ask, 2).await;
    assert_eq!(done(both, Step::GiveUp(ask.hold, 1)).await, r#"No("other", [])"#);
    assert_eq!(done(both, Step::Finish(ask.hold)).await, r#"No("reclaiming", [])"#);
    assert_eq!(done(both, Step::GiveUp(ask.hold, 2)).await, "Done");
    assert_eq!(done(both, Step::GiveUp(ask.hold, 2)).await, "Again");
    // The same request once more, when a later try has taken the seats anew.
    taken(both, &ask, 3).await;
    assert_eq!(done(both, Step::GiveUp(ask.hold, 2)).await, r#"No("other", [])"#);
    assert_eq!(done(both, Step::Confirm(ask.hold)).await, "Done");
    assert_eq!(done(both, Step::GiveUp(ask.hold, 3)).await, r#"No("sold", [])"#);
}

async fn seats_that_were_given_back_are_not_taken_by_a_late_request(both: &mut Both) {
    // Sold by the play before.
    let one_by_one = late(1, &[0, 1]);
    assert_eq!(done(both, Step::ReturnSeats(one_by_one.hold, vec![0], Vec::new())).await, "Done");
    assert_eq!(done(both, Step::Reclaim(one_by_one.clone(), true)).await, "Standing");
    assert_eq!(done(both, Step::ReturnSeats(one_by_one.hold, Vec::new(), vec![1])).await, "Done");
    assert_eq!(done(both, Step::Reclaim(one_by_one.clone(), true)).await, "Returned");
    assert_eq!(done(both, Step::Reclaim(one_by_one, false)).await, "Gone");
    // The seats of another one go back before they were marked sold.
    let at_once = late(2, &[3, 4]);
    taken(both, &at_once, 1).await;
    assert_eq!(done(both, Step::Unsell(at_once.hold)).await, "Done");
    assert_eq!(done(both, Step::Reclaim(at_once, true)).await, "Returned");
}

async fn no_account_has_less_than_nothing(both: &mut Both) {
    let settings = Settings { version: 9, ttl_ms: LONG_MS, ..both.rows.settings };
    assert_eq!(done(both, Step::Settings(settings)).await, "true");
    let (account, open) = (sale::account(0), OrderId(Uuid::from_u128(3)));
    done(both, Step::Enter(account, 7, LONG_MS)).await;
    done(both, Step::Hold(wish(open, 6))).await;
    let ask = late(4, &[7, 9]);
    taken(both, &ask, 1).await;
    assert_eq!(has(both), Some((3, Some(open))));
    // The reconciler knows of the open hold alone; then the seats go back.
    let found = has(both);
    assert_eq!(done(both, Step::MendCount(account, found, Some((1, Some(open))))).await, "true");
    assert_eq!(done(both, Step::GiveUp(ask.hold, 1)).await, "Done");
    assert_eq!(has(both), Some((0, Some(open))));
    // What was noted before that was right, or can't be read, stops nobody.
    note(both, &format!("-1:{}", open.simple())).await;
    assert_eq!(done(both, Step::Release(open, account)).await, "Done");
    assert_eq!(has(both), None);
    note(both, "nothing").await;
    taken(both, &late(5, &[10]), 1).await;
    assert_eq!(has(both), Some((1, None)));
}

async fn a_hold_that_its_account_gave_back_is_not_taken_by_late_money(both: &mut Both) {
    // Inside since the play before.
    let open = OrderId(Uuid::from_u128(6));
    done(both, Step::Hold(wish(open, 6))).await;
    assert_eq!(done(both, Step::Release(open, sale::account(0))).await, "Done");
    assert_eq!(done(both, Step::Reclaim(late(6, &[6]), true)).await, "Returned");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn late_requests_take_and_end_nothing_that_is_not_theirs() {
    let real = Real::start().await;
    let mut both = Both::begin(&real).await;
    let epoch = both.rows.epoch;
    done(&mut both, Step::Rebuild(epoch)).await;
    only_the_try_that_asked_last_gives_up(&mut both).await;
    seats_that_were_given_back_are_not_taken_by_a_late_request(&mut both).await;
    no_account_has_less_than_nothing(&mut both).await;
    a_hold_that_its_account_gave_back_is_not_taken_by_late_money(&mut both).await;
    real.stop().await;
}
