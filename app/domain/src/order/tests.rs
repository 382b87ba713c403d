//! The machine in the orders that providers choose: late, twice, in any order, and with words left out.

use super::*;
use proptest::prelude::*;

fn facts(status: OrderStatus) -> OrderFacts {
    OrderFacts { status, expires: Millis(1000) }
}

#[test]
fn a_late_failure_never_takes_a_paid_order_back() {
    for event in [OrderEvent::AttemptFailed, OrderEvent::Expire, OrderEvent::Cancel, OrderEvent::ProviderCancelled] {
        for status in [OrderStatus::Paid, OrderStatus::Fulfilled] {
            let refusal = transition(facts(status), event, Millis(5000)).unwrap_err();
            assert_eq!(refusal.code, Code::WrongState, "{status:?} {event:?}");
        }
    }
}

#[test]
fn paying_at_the_last_moment_succeeds_and_after_it_does_not() {
    assert_eq!(
        transition(facts(OrderStatus::PendingPayment), OrderEvent::Pay, Millis(999)).unwrap().to,
        OrderStatus::PaymentProcessing
    );
    let late = transition(facts(OrderStatus::PendingPayment), OrderEvent::Pay, Millis(1000)).unwrap_err();
    assert_eq!(late.code, Code::HoldClosed);
}

#[test]
fn an_order_does_not_expire_early() {
    assert!(transition(facts(OrderStatus::PendingPayment), OrderEvent::Expire, Millis(999)).is_err());
    let step = transition(facts(OrderStatus::PendingPayment), OrderEvent::Expire, Millis(1000)).unwrap();
    assert!(step.frees_seats);
    assert_eq!(step.to, OrderStatus::Closed);
}

fn any_event() -> impl Strategy<Value = OrderEvent> {
    prop::sample::select(vec![
        OrderEvent::Pay,
        OrderEvent::AttemptFailed,
        OrderEvent::Captured,
        OrderEvent::Expire,
        OrderEvent::Cancel,
        OrderEvent::ProviderCancelled,
        OrderEvent::Reclaimed,
        OrderEvent::Issued,
        OrderEvent::AllRefunded,
    ])
}

proptest! {
    /// Money decides: once captured, an order owns its seats until the money is given back.
    #[test]
    fn seats_stay_with_captured_money(events in prop::collection::vec((any_event(), 0i64..2000), 0..40)) {
        let mut order = facts(OrderStatus::PendingPayment);
        let mut captured = false;
        for (event, now) in events {
            let Ok(step) = transition(order, event, Millis(now)) else { continue };
            prop_assert_eq!(step.from, order.status);
            prop_assert_eq!(step.frees_seats, order.status.owns_seats() && !step.to.owns_seats());
            captured |= matches!(event, OrderEvent::Captured | OrderEvent::Reclaimed);
            if captured && step.to != OrderStatus::Refunded {
                prop_assert!(step.to.owns_seats());
            }
            prop_assert!(step.to != OrderStatus::Fulfilled || captured);
            order.status = step.to;
        }
    }

    /// What is told in any order, more than once, and again until nothing moves, comes to one end: the inbox
    /// keeps what can't be applied yet. Words that come too late for a captured payment are among it.
    #[test]
    fn in_any_order_and_told_again_the_same_words_come_to_one_end(
        told in Just(vec![
            OrderEvent::Captured, OrderEvent::Captured, OrderEvent::Issued, OrderEvent::Issued,
            OrderEvent::AllRefunded, OrderEvent::Pay, OrderEvent::Expire, OrderEvent::Cancel, OrderEvent::Reclaimed,
        ]).prop_shuffle(),
        refunds in any::<bool>(),
    ) {
        let mut order = facts(OrderStatus::PaymentProcessing);
        let mut entered = Vec::new();
        for _ in 0..told.len() {
            for event in told.iter().filter(|event| refunds || **event != OrderEvent::AllRefunded) {
                let Ok(step) = transition(order, *event, Millis(5_000)) else { continue };
                order.status = step.to;
                entered.push(step.to);
            }
        }
        let end = if refunds { OrderStatus::Refunded } else { OrderStatus::Fulfilled };
        prop_assert_eq!(order.status, end);
        let paid = entered.iter().filter(|status| **status == OrderStatus::Paid).count();
        prop_assert_eq!(paid, 1, "one payment: {:?}", entered);
    }

    /// After the hold, with any words left out, and with failures and cancellations among them: where the
    /// order ends follows from the money. Expiry is our own word and is never left out; captured money that
    /// finds a closed order has its seats once more.
    #[test]
    fn with_words_left_out_and_failures_among_them_money_decides_the_end(
        told in any_words(
            vec![OrderEvent::Captured, OrderEvent::Reclaimed, OrderEvent::Expire],
            vec![
                OrderEvent::Pay, OrderEvent::Cancel, OrderEvent::AttemptFailed, OrderEvent::ProviderCancelled,
                OrderEvent::Issued, OrderEvent::AllRefunded,
            ],
        ),
        money in any::<bool>(),
    ) {
        let is_money = |event: &OrderEvent| matches!(event, OrderEvent::Captured | OrderEvent::Reclaimed);
        let told: Vec<OrderEvent> = told.into_iter().filter(|event| money || !is_money(event)).collect();
        let ended = told.contains(&OrderEvent::AttemptFailed) || told.contains(&OrderEvent::ProviderCancelled);
        let end = if money {
            with_money(&told)
        } else if ended {
            OrderStatus::Closed
        } else {
            OrderStatus::PaymentProcessing
        };
        let (status, paid) = told_until_nothing_moves(&told, Millis(5_000));
        prop_assert_eq!((status, paid), (end, usize::from(money)));
    }

    /// While the hold stands, a card may fail and another one pay: whatever is told first, the order is paid.
    #[test]
    fn a_failed_card_and_a_good_one_come_to_a_paid_order_in_any_order(
        told in any_words(
            vec![OrderEvent::AttemptFailed, OrderEvent::Pay, OrderEvent::Captured],
            vec![OrderEvent::Expire, OrderEvent::Issued, OrderEvent::AllRefunded],
        ),
        failed in any::<bool>(),
    ) {
        let counts = |event: &OrderEvent| failed || *event != OrderEvent::AttemptFailed;
        let told: Vec<OrderEvent> = told.into_iter().filter(counts).collect();
        prop_assert_eq!(told_until_nothing_moves(&told, Millis(500)), (with_money(&told), 1));
    }
}

/// Words in any order: some that are always told, others once, twice or not at all.
fn any_words(always: Vec<OrderEvent>, perhaps: Vec<OrderEvent>) -> impl Strategy<Value = Vec<OrderEvent>> {
    prop::collection::vec(0..=2_usize, perhaps.len()).prop_flat_map(move |copies| {
        let some = perhaps.iter().zip(copies).flat_map(|(event, copies)| std::iter::repeat_n(*event, copies));
        Just(always.iter().copied().chain(some).collect::<Vec<_>>()).prop_shuffle()
    })
}

/// Where an order ends that was paid.
fn with_money(told: &[OrderEvent]) -> OrderStatus {
    if told.contains(&OrderEvent::AllRefunded) {
        OrderStatus::Refunded
    } else if told.contains(&OrderEvent::Issued) {
        OrderStatus::Fulfilled
    } else {
        OrderStatus::Paid
    }
}

/// Tells an order with a running payment these words, what it can't take yet again and again; where it ends,
/// and how often it was paid.
fn told_until_nothing_moves(told: &[OrderEvent], now: Millis) -> (OrderStatus, usize) {
    let (mut order, mut waiting, mut paid) = (facts(OrderStatus::PaymentProcessing), told.to_vec(), 0);
    loop {
        let before = waiting.len();
        waiting.retain(|event| {
            let Ok(step) = transition(order, *event, now) else { return true };
            order.status = step.to;
            paid += usize::from(step.to == OrderStatus::Paid);
            false
        });
        if waiting.len() == before {
            return (order.status, paid);
        }
    }
}
