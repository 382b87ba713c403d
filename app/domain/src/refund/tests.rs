//! The machine in any order of events, the balance under many refunds, and who agrees.

use super::*;
use proptest::prelude::*;
use uuid::Uuid;

const EVENTS: [RefundEvent; 5] =
    [RefundEvent::Approve, RefundEvent::Reject, RefundEvent::Submit, RefundEvent::Succeed, RefundEvent::Fail];

fn account(number: u128) -> AccountId {
    AccountId(Uuid::from_u128(number))
}

#[test]
fn a_refund_goes_its_way_and_each_message_counts_once() {
    let mut status = RefundStatus::Requested;
    for (event, to, effect) in [
        (RefundEvent::Approve, RefundStatus::Approved, RefundEffect::Kept),
        (RefundEvent::Submit, RefundStatus::Submitted, RefundEffect::Kept),
        (RefundEvent::Succeed, RefundStatus::Succeeded, RefundEffect::Done),
        (RefundEvent::Fail, RefundStatus::Failed, RefundEffect::Returned),
    ] {
        let step = transition(status, event).unwrap();
        assert_eq!(step, Transition { from: status, to, effect });
        assert_eq!(transition(to, event).unwrap_err().code, Code::WrongState, "{event:?} a second time");
        status = to;
    }
}

#[test]
fn what_may_have_been_sent_is_not_rejected() {
    assert_eq!(transition(RefundStatus::Requested, RefundEvent::Reject).unwrap().effect, RefundEffect::Released);
    for status in [RefundStatus::Approved, RefundStatus::Submitted, RefundStatus::Succeeded] {
        let refusal = transition(status, RefundEvent::Reject).unwrap_err();
        assert_eq!(refusal.code, Code::WrongState);
        assert!(refusal.message.contains(status.as_str()), "{}", refusal.message);
    }
}

#[test]
fn states_and_causes_are_read_back() {
    for status in RefundStatus::ALL {
        assert_eq!(RefundStatus::parse(status.as_str()), Some(*status));
        assert_ne!(status.is_pending(), status.is_settled());
    }
    for cause in Cause::ALL {
        assert_eq!(Cause::parse(cause.as_str()), Some(*cause));
    }
    for origin in RefundOrigin::ALL {
        assert_eq!(RefundOrigin::parse(origin.as_str()), Some(*origin));
    }
    assert_eq!((RefundStatus::parse("done"), Cause::parse(""), RefundOrigin::parse("theirs")), (None, None, None));
}

#[test]
fn what_a_dispute_took_is_not_given_back_as_well() {
    let refunds = [
        (RefundStatus::Succeeded, 100),
        (RefundStatus::Submitted, 20),
        (RefundStatus::Requested, 3),
        (RefundStatus::Failed, 500),
        (RefundStatus::Rejected, 500),
    ];
    let balance = RefundBalance::of(1_000, 400, refunds).unwrap();
    assert_eq!((balance.done_minor, balance.pending_minor, balance.left_minor()), (100, 23, 477));
    assert_eq!(balance.reserve(477).unwrap().left_minor(), 0);
    assert_eq!(balance.reserve(478).unwrap_err().code, Code::LimitExceeded);
    for nothing in [0, -1] {
        assert_eq!(balance.reserve(nothing).unwrap_err().code, Code::InvalidInput);
    }
    assert_eq!(RefundBalance { disputed_minor: 1_000, ..balance }.left_minor(), 0);
    assert!(!RefundBalance { disputed_minor: 877, ..balance }.is_overdrawn(), "what is reserved is still there");
    assert!(RefundBalance { disputed_minor: 878, ..balance }.is_overdrawn());
}

#[test]
fn what_overdrew_a_payment_is_told_by_its_cause() {
    let reserved = RefundBalance { captured_minor: 1_000, pending_minor: 1_000, ..RefundBalance::default() };
    assert_eq!(reserved.check_covered(), Ok(()));
    for (done_minor, disputed_minor, cause) in
        [(1, 0, "at the provider"), (0, 1, "dispute"), (0, 1_000, "dispute"), (1, 1, "at the provider")]
    {
        let refusal = RefundBalance { done_minor, disputed_minor, ..reserved }.check_covered().unwrap_err();
        assert_eq!(refusal.code, Code::WrongState);
        assert!(refusal.message.contains(cause), "{done_minor} and {disputed_minor}: {}", refusal.message);
    }
}

#[test]
fn late_money_needs_nobody_and_goodwill_needs_finance() {
    let rule = ApprovalRule { automatic_to_minor: 5_000, four_eyes_from_minor: Some(10_000) };
    for (cause, minor, approval) in [
        (Cause::LateMoney, 1_000_000, Approval::Automatic),
        (Cause::Cancelled, 1_000_000, Approval::Automatic),
        (Cause::Wish, 5_000, Approval::Automatic),
        (Cause::Wish, 5_001, Approval::Finance),
        (Cause::Goodwill, 1, Approval::Finance),
    ] {
        assert_eq!(rule.needed(cause, minor), approval, "{cause:?} {minor}");
    }
    assert_eq!(ApprovalRule::default().needed(Cause::Wish, 1), Approval::Finance);
}

#[test]
fn large_refunds_are_decided_by_another_than_who_asked() {
    let rule = ApprovalRule { automatic_to_minor: 0, four_eyes_from_minor: Some(10_000) };
    assert!(rule.check(Role::Finance, account(1), Some(account(1)), 9_999).is_ok());
    let refusal = rule.check(Role::Owner, account(1), Some(account(1)), 10_000).unwrap_err();
    assert_eq!(refusal.code, Code::Forbidden);
    assert!(rule.check(Role::Owner, account(2), Some(account(1)), 10_000).is_ok());
    assert!(rule.check(Role::Finance, account(2), None, 10_000).is_ok());
    for role in [Role::Operator, Role::Risk, Role::Door] {
        assert!(rule.check(role, account(2), None, 1).is_err(), "{role:?}");
    }
}

proptest! {
    /// Many refunds of one payment, each moved by any events: what is done and pending never exceeds
    /// what was captured, also when refunds fail after they succeeded.
    #[test]
    fn done_and_pending_never_exceed_what_was_captured(
        captured in 0..10_000_i64,
        steps in prop::collection::vec((0..8_usize, 0..6_usize, 1..4_000_i64), 0..80),
    ) {
        let mut refunds: Vec<(RefundStatus, i64)> = Vec::new();
        for (which, event, minor) in steps {
            let balance = RefundBalance::of(captured, 0, refunds.iter().copied()).unwrap();
            match (refunds.get_mut(which), EVENTS.get(event)) {
                (Some((status, _)), Some(event)) => {
                    let Ok(step) = transition(*status, *event) else { continue };
                    prop_assert_eq!(step.from, *status);
                    let reserved = matches!(step.effect, RefundEffect::Kept | RefundEffect::Done);
                    prop_assert_eq!(reserved, step.to.is_pending() || step.to == RefundStatus::Succeeded);
                    *status = step.to;
                }
                // A failed one comes back as another: also then the room decides.
                _ => if balance.reserve(minor).is_ok() {
                    refunds.push((RefundStatus::Requested, minor));
                },
            }
            let after = RefundBalance::of(captured, 0, refunds.iter().copied()).unwrap();
            prop_assert!(after.done_minor + after.pending_minor <= captured);
            prop_assert_eq!(after.left_minor(), captured - after.done_minor - after.pending_minor);
        }
    }

    /// Messages of one refund in any order, twice, and again until nothing moves: it comes to one end, and
    /// its money leaves once.
    #[test]
    fn in_any_order_and_told_again_a_refund_comes_to_one_end(
        told in Just(vec![
            RefundEvent::Approve, RefundEvent::Submit, RefundEvent::Succeed,
            RefundEvent::Approve, RefundEvent::Submit, RefundEvent::Succeed,
        ]).prop_shuffle(),
    ) {
        let (mut status, mut gone) = (RefundStatus::Requested, 0);
        for event in std::iter::repeat_n(&told, told.len()).flatten() {
            let Ok(step) = transition(status, *event) else { continue };
            gone += i32::from(step.effect == RefundEffect::Done);
            status = step.to;
        }
        prop_assert_eq!((status, gone), (RefundStatus::Succeeded, 1));
    }
}
