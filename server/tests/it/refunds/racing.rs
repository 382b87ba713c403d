//! Refunds of one payment that are asked for at once, in every way there is: together they would be far more than
//! was paid.

use super::{account, assert_books_balance, await_refund, bought, code, status};
use crate::arena::{Arena, SOON, Setup, seats};
use domain::Code;
use domain::account::Role;
use domain::refund::RefundStatus;
use domain::refund::view::RefundView;

/// The seats of the order.
const SEATS: [u32; 4] = [24, 25, 26, 27];
/// What is asked for at once: each seat four times, and four times all of them.
const ASKS: u32 = 20;

/// The sum of an order's refunds that succeeded, by our own rows.
const DONE_MINOR: &str =
    "select coalesce(sum(amount_minor), 0)::bigint from refunds where order_id = $1 and status = 'succeeded'";
const ON_THE_WAY: &str = "select count(*) from refunds where order_id = $1 and status in ('approved', 'submitted')";
const BY_HAND: &str =
    "select count(*) from refunds where order_id = $1 and note = 'made at the provider' and status = 'succeeded'";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn seats_the_whole_order_and_a_refund_by_hand_at_once_never_exceed_the_payment() {
    let arena = Arena::web(Setup::default()).await;
    let order = bought(&arena, &SEATS).await;
    let (asking, deciding) = (arena.member(Role::Operator).await, arena.member(Role::Finance).await);
    let total = order.total.minor;
    let asks = (0..ASKS).map(|number| {
        let (backend, session, order) = (arena.backend.clone(), asking.session.clone(), order.order);
        let wanted = match number % 5 {
            4 => seats(&SEATS),
            seat => seats(&[SEATS[0] + seat]),
        };
        async move { backend.staff_refund(&session, order, &wanted, "a try").await }
    });
    let mut made: Vec<RefundView> = Vec::new();
    for outcome in futures::future::join_all(asks).await {
        match outcome {
            Ok(refund) => made.push(refund),
            Err(error) => assert_eq!(error.refusal().code, Code::WrongState, "nothing is left: {error}"),
        }
    }
    assert_eq!(made.iter().map(|refund| refund.amount.minor).sum::<i64>(), total, "of all of these, what was paid");
    assert_eq!(account(&arena, order.order, "refunds_payable").await, -total, "is reserved");
    let more = arena.backend.staff_refund(&asking.session, order.order, &seats(&SEATS), "one more").await;
    assert_eq!(code(more), Code::WrongState);

    // At the provider somebody gives money back by hand. We hear of it while all the others are agreed to.
    arena.provider().drop_webhooks().await;
    let by_hand = total / 4 + total / 8;
    arena.provider().give_back(&order.started, by_hand).await;
    arena.provider().switch(serde_json::json!({})).await;
    let decide = |refund: &RefundView, approve: bool| {
        let (backend, session, id) = (arena.backend.clone(), deciding.session.clone(), refund.id);
        async move { backend.decide_refund(&session, id, approve, "").await }
    };
    let decisions = futures::future::join_all(made.iter().map(|refund| decide(refund, true)));
    let (decided, ()) = futures::future::join(decisions, arena.provider().flush()).await;
    for refused in decided.into_iter().filter_map(Result::err) {
        assert_eq!(refused.refusal().code, Code::WrongState, "more was promised than is left: {refused}");
    }
    eventually!(2 * SOON, "it is taken in", arena.count_of(order.order, BY_HAND).await == 1);
    eventually!(2 * SOON, "the others have ended", arena.count_of(order.order, ON_THE_WAY).await == 0);
    for refund in &made {
        if status(&arena, refund.id).await == RefundStatus::Requested {
            decide(refund, false).await.unwrap();
        }
    }

    let back = arena.provider().refunded(&order.started).await;
    assert!((by_hand..=total).contains(&back), "{back} of {total} went back");
    assert_eq!(arena.count_of(order.order, DONE_MINOR).await, back, "our rows say the same");
    for (name, expected) in [
        ("refunds_payable", 0),
        ("provider_clearing", total - back),
        ("organizer_payable", back - total),
        ("order_receivable", 0),
    ] {
        assert_eq!(account(&arena, order.order, name).await, expected, "{name}");
    }
    let failed =
        "select count(*) from refunds where order_id = $1 and status not in ('succeeded', 'rejected', 'failed')";
    assert_eq!(arena.count_of(order.order, failed).await, 0, "each has its end");
    assert_books_balance(&arena).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refund_by_hand_that_took_of_what_waits_is_named_to_who_decides_and_the_rest_can_be_asked_for_anew() {
    let arena = Arena::web(Setup::default()).await;
    let order = bought(&arena, &SEATS).await;
    let (asking, deciding) = (arena.member(Role::Operator).await, arena.member(Role::Finance).await);
    let ask = async || arena.backend.staff_refund(&asking.session, order.order, &seats(&SEATS), "").await.unwrap();
    let asked = ask().await;
    arena.provider().give_back(&order.started, 1).await;
    eventually!(2 * SOON, "it is taken in", arena.count_of(order.order, BY_HAND).await == 1);
    let refused = arena.backend.decide_refund(&deciding.session, asked.id, true, "").await.unwrap_err().refusal();
    assert_eq!(refused.code, Code::WrongState);
    let message = refused.message;
    assert!(message.contains("given back at the provider") && !message.contains("dispute"), "{message}");
    assert_eq!(status(&arena, asked.id).await, RefundStatus::Requested, "nothing was changed");

    arena.backend.decide_refund(&deciding.session, asked.id, false, "a part went already").await.unwrap();
    let rest = ask().await;
    assert_eq!(rest.amount.minor, order.total.minor - 1);
    arena.backend.decide_refund(&deciding.session, rest.id, true, "").await.unwrap();
    await_refund(&arena, rest.id, RefundStatus::Succeeded).await;
    arena.await_status(order.order, "refunded").await;
    assert_eq!(arena.provider().refunded(&order.started).await, order.total.minor);
    assert_eq!(account(&arena, order.order, "organizer_payable").await, 0);
    assert_books_balance(&arena).await;
    arena.finish().await;
}
