//! A day that matches, each way in which it may not, and the same answer in any order.

use super::compare::compare;
use super::*;
use proptest::prelude::*;
use uuid::Uuid;

const FROM: Millis = Millis(1_000_000);
const TO: Millis = Millis(2_000_000);
const NOON: Millis = Millis(1_500_000);

fn eur(minor: i64) -> Money {
    Money::new(minor, "EUR".parse().unwrap())
}

fn attempt_id(number: u32) -> AttemptId {
    AttemptId(Uuid::from_u128(0xa00 + u128::from(number)))
}

fn line(movement: Movement, id: String, number: u32, recorded_minor: i64) -> ProviderLine {
    let away = matches!(movement, Movement::Refund | Movement::Dispute | Movement::Payout);
    let gross_minor = if away { -recorded_minor } else { recorded_minor };
    ProviderLine {
        movement,
        id,
        payment: format!("pay_{number}"),
        reference: attempt_id(number).to_string(),
        currency: eur(0).currency,
        gross_minor,
        fee_minor: 0,
        net_minor: gross_minor,
        at: NOON,
    }
}

fn charge(number: u32) -> ProviderLine {
    line(Movement::Charge, format!("pay_{number}"), number, 5_000 + i64::from(number))
}

/// Adds an order of two seats that was paid at noon and has its tickets.
fn sell(day: &mut Day, number: u32) {
    let order = OrderId(Uuid::from_u128(0xb00 + u128::from(number)));
    let seats = BTreeSet::from([SeatNo(2 * number), SeatNo(2 * number + 1)]);
    day.attempts.push(OurAttempt {
        attempt: attempt_id(number),
        order,
        payment: Some(format!("pay_{number}")),
        amount: eur(5_000 + i64::from(number)),
        status: AttemptStatus::Captured,
        captured: Some(NOON),
    });
    day.orders.push(OurOrder {
        order,
        status: OrderStatus::Fulfilled,
        total_minor: 5_000 + i64::from(number),
        paid: Some(NOON),
        seats: seats.clone(),
        tickets: seats,
    });
    day.lines.push(charge(number));
}

fn refund(day: &mut Day, number: u32, status: RefundStatus) {
    day.refunds.push(OurRefund {
        refund: RefundId(Uuid::from_u128(0xc00 + u128::from(number))),
        attempt: attempt_id(number),
        provider_ref: Some(format!("re_{number}")),
        amount: eur(700),
        status,
        at: NOON,
    });
}

fn dispute(day: &mut Day, number: u32, status: DisputeStatus) {
    day.disputes.push(OurDispute {
        dispute: DisputeId(Uuid::from_u128(0xd00 + u128::from(number))),
        provider_ref: format!("dp_{number}"),
        attempt: attempt_id(number),
        amount: eur(900),
        status,
        opened: NOON,
    });
}

fn payout(day: &mut Day, id: &str, failed: Option<Millis>) {
    day.payouts.push(OurPayout { payout: id.to_owned(), amount: eur(4_000), at: NOON, failed });
}

/// A line of a payout, or of its way back: it names no payment.
fn payout_line(movement: Movement, id: &str) -> ProviderLine {
    let none = String::new;
    ProviderLine { payment: none(), reference: none(), ..line(movement, id.to_owned(), 0, 4_000) }
}

fn refund_line(number: u32) -> ProviderLine {
    line(Movement::Refund, format!("re_{number}"), number, 700)
}

fn dispute_line(number: u32) -> ProviderLine {
    line(Movement::Dispute, format!("dp_{number}"), number, 900)
}

fn empty() -> Day {
    Day {
        from: FROM,
        to: TO,
        as_of: TO,
        attempts: Vec::new(),
        refunds: Vec::new(),
        disputes: Vec::new(),
        orders: Vec::new(),
        payouts: Vec::new(),
        fees_posted: BTreeSet::new(),
        lines: Vec::new(),
    }
}

/// Six orders: a plain one, refunded, refund failed, disputed, dispute won, and one with a posted fee. Two payouts, of
/// which one came back.
fn matching() -> Day {
    let mut day = empty();
    for number in 0..6 {
        sell(&mut day, number);
    }
    refund(&mut day, 1, RefundStatus::Succeeded);
    day.lines.push(refund_line(1));
    refund(&mut day, 2, RefundStatus::Failed);
    day.lines.push(refund_line(2));
    day.lines.push(line(Movement::RefundFailure, "re_2".into(), 2, 700));
    dispute(&mut day, 3, DisputeStatus::Opened);
    day.lines.push(dispute_line(3));
    dispute(&mut day, 4, DisputeStatus::Won);
    day.lines.push(dispute_line(4));
    day.lines.push(line(Movement::DisputeReversal, "dp_4".into(), 4, 900));
    day.lines[5].fee_minor = 30;
    day.lines[5].net_minor -= 30;
    day.fees_posted.insert("charge:pay_5".into());
    payout(&mut day, "po_1", None);
    day.lines.push(payout_line(Movement::Payout, "po_1"));
    payout(&mut day, "po_2", Some(NOON));
    day.lines.push(payout_line(Movement::Payout, "po_2"));
    day.lines.push(payout_line(Movement::PayoutFailure, "po_2"));
    day
}

/// Kind, owner and repair of each difference.
fn told(day: &Day) -> Vec<(Kind, Owner, Repair)> {
    compare(day).iter().map(|found| (found.kind, found.owner, found.repair)).collect()
}

/// The matching day with a change, and what is told of it.
fn after(change: impl FnOnce(&mut Day)) -> Vec<(Kind, Owner, Repair)> {
    let mut day = matching();
    change(&mut day);
    told(&day)
}

#[test]
fn a_day_that_matches_has_no_differences() {
    assert!(told(&matching()).is_empty(), "{:?}", told(&matching()));
    assert!(told(&empty()).is_empty());
}

#[test]
fn money_that_only_one_side_has() {
    let query = (Owner::Worker, Repair::QueryAgain);
    let lost = after(|day| {
        day.attempts[0].status = AttemptStatus::Open;
        (day.orders[0].status, day.orders[0].paid) = (OrderStatus::PaymentProcessing, None);
        day.orders[0].tickets.clear();
    });
    assert_eq!(lost, [(Kind::CapturedNotRecorded, query.0, query.1)]);
    let unknown = after(|day| {
        let stranger = ProviderLine { id: "pay_x".into(), payment: "pay_x".into(), reference: "?".into(), ..charge(0) };
        day.lines.push(stranger);
    });
    assert_eq!(unknown, [(Kind::CapturedNotRecorded, Owner::Finance, Repair::Quarantine)]);
    // A second payment under a reference whose payment is known is nobody's, even if it says ours.
    let second = after(|day| {
        day.lines.push(ProviderLine { id: "pay_x".into(), payment: "pay_x".into(), ..charge(0) });
    });
    assert_eq!(second, [(Kind::CapturedNotRecorded, Owner::Finance, Repair::Quarantine)]);
    let missing = after(|day| day.lines.retain(|line| line.id != "pay_0"));
    assert_eq!(missing, [(Kind::RecordedNotCaptured, query.0, query.1)]);
    let by_reference = after(|day| day.attempts[0].payment = None);
    assert!(by_reference.is_empty(), "found by our reference");
}

#[test]
fn amounts_and_currencies_that_differ() {
    let other = after(|day| {
        day.lines[0].gross_minor += 1;
        day.lines[0].net_minor += 1;
    });
    assert_eq!(other, [(Kind::AmountDiffers, Owner::Finance, Repair::Quarantine)]);
    let currency = after(|day| day.lines[0].currency = "USD".parse().unwrap());
    assert_eq!(currency, [(Kind::CurrencyDiffers, Owner::Finance, Repair::Quarantine)]);
    let net = after(|day| day.lines[0].net_minor += 1);
    assert_eq!(net, [(Kind::AmountDiffers, Owner::Finance, Repair::AskStaff)]);
    let wrong_way = after(|day| {
        let line = day.lines.iter_mut().find(|line| line.id == "re_1").unwrap();
        (line.gross_minor, line.net_minor) = (700, 700);
    });
    assert_eq!(wrong_way, [(Kind::AmountDiffers, Owner::Finance, Repair::Quarantine)]);
}

#[test]
fn refunds_that_only_one_side_knows() {
    let by_hand = after(|day| day.lines.push(refund_line(5)));
    assert_eq!(by_hand, [(Kind::RefundUnknownHere, Owner::Worker, Repair::Import)]);
    let lost_answer = after(|day| {
        refund(day, 5, RefundStatus::Approved);
        day.refunds[2].provider_ref = None;
        day.lines.push(refund_line(5));
    });
    assert_eq!(lost_answer, [(Kind::RefundUnknownHere, Owner::Worker, Repair::QueryAgain)], "not imported twice");
    let behind = after(|day| day.refunds[0].status = RefundStatus::Submitted);
    assert_eq!(behind, [(Kind::RefundUnknownHere, Owner::Worker, Repair::QueryAgain)]);
    let missing = after(|day| day.lines.retain(|line| line.id != "re_1"));
    assert_eq!(missing, [(Kind::RefundMissingThere, Owner::Worker, Repair::QueryAgain)]);
    let came_back = after(|day| day.refunds[1].status = RefundStatus::Succeeded);
    assert_eq!(came_back, [(Kind::RefundMissingThere, Owner::Worker, Repair::QueryAgain)]);
    let strange = after(|day| {
        day.lines.push(ProviderLine { payment: "pay_x".into(), reference: String::new(), ..refund_line(9) })
    });
    assert_eq!(strange, [(Kind::RefundUnknownHere, Owner::Finance, Repair::Quarantine)]);
    let strange_back = after(|day| day.lines.push(line(Movement::RefundFailure, "re_9".into(), 0, 700)));
    assert_eq!(strange_back, [(Kind::RefundUnknownHere, Owner::Finance, Repair::AskStaff)]);
}

#[test]
fn disputes_that_only_one_side_knows() {
    let new = after(|day| day.lines.push(dispute_line(5)));
    assert_eq!(new, [(Kind::DisputeUnknown, Owner::Worker, Repair::Import)]);
    let behind = after(|day| day.disputes[1].status = DisputeStatus::Opened);
    assert_eq!(behind, [(Kind::DisputeUnknown, Owner::Worker, Repair::QueryAgain)]);
    let missing = after(|day| day.lines.retain(|line| line.id != "dp_3"));
    assert_eq!(missing, [(Kind::DisputeMissingThere, Owner::Worker, Repair::QueryAgain)]);
}

#[test]
fn payouts_are_posted_once_and_those_that_fail_are_posted_back() {
    let (post, finance) = ((Owner::Worker, Repair::Post), (Owner::Finance, Repair::AskStaff));
    let new = after(|day| day.lines.push(payout_line(Movement::Payout, "po_3")));
    assert_eq!(new, [(Kind::PayoutNotPosted, post.0, post.1)]);
    let back = after(|day| day.lines.push(payout_line(Movement::PayoutFailure, "po_1")));
    assert_eq!(back, [(Kind::PayoutNotPosted, post.0, post.1)]);
    let both = after(|day| {
        let lines = [Movement::Payout, Movement::PayoutFailure].map(|movement| payout_line(movement, "po_3"));
        day.lines.extend(lines);
    });
    assert_eq!(both, [(Kind::PayoutNotPosted, post.0, post.1); 2]);
    let never_left = after(|day| day.lines.push(payout_line(Movement::PayoutFailure, "po_3")));
    assert_eq!(never_left, [(Kind::PayoutNotPosted, finance.0, finance.1)]);
    let nothing = after(|day| {
        let line = payout_line(Movement::Payout, "po_3");
        day.lines.push(ProviderLine { gross_minor: 0, net_minor: 0, ..line });
    });
    assert!(nothing.is_empty(), "{nothing:?}");
}

#[test]
fn payouts_that_the_two_sides_tell_differently() {
    let other = after(|day| day.payouts[0].amount = eur(4_001));
    assert_eq!(other, [(Kind::AmountDiffers, Owner::Finance, Repair::Quarantine)]);
    let other_twice = after(|day| day.payouts[1].amount = eur(4_001));
    assert_eq!(other_twice, [(Kind::AmountDiffers, Owner::Finance, Repair::Quarantine); 2], "the way there and back");
    let currency = after(|day| day.payouts[0].amount.currency = "USD".parse().unwrap());
    assert_eq!(currency, [(Kind::CurrencyDiffers, Owner::Finance, Repair::Quarantine)]);
    let missing = after(|day| day.lines.retain(|line| line.id != "po_1"));
    assert_eq!(missing, [(Kind::PayoutMissingThere, Owner::Finance, Repair::AskStaff)]);
    let stayed_away = after(|day| day.lines.retain(|line| line.movement != Movement::PayoutFailure));
    assert_eq!(stayed_away, [(Kind::PayoutMissingThere, Owner::Finance, Repair::AskStaff)]);
    let of_yesterday = after(|day| {
        day.lines.retain(|line| line.id != "po_1");
        day.payouts[0].at = FROM.plus(-5);
    });
    assert!(of_yesterday.is_empty(), "{of_yesterday:?}");
}

#[test]
fn tickets_without_money_and_money_without_tickets() {
    let unissued = after(|day| {
        day.orders[0].tickets.pop_first();
    });
    assert_eq!(unissued, [(Kind::PaidNotIssued, Owner::Worker, Repair::Issue)]);
    let just_paid = after(|day| {
        day.orders[0].tickets.clear();
        day.as_of = NOON.plus(ISSUE_GRACE_MS - 1);
    });
    assert!(just_paid.is_empty(), "issuing has its time");
    let given_back = after(|day| {
        day.orders[0].seats.pop_first();
    });
    assert_eq!(given_back, [(Kind::IssuedNotPaid, Owner::Operator, Repair::AskStaff)]);
    let nobody_paid = after(|day| {
        day.attempts[0].status = AttemptStatus::Canceled;
        day.lines.retain(|line| line.id != "pay_0");
    });
    assert_eq!(nobody_paid, [(Kind::IssuedNotPaid, Owner::Operator, Repair::AskStaff)]);
    let only_said_to_be = after(|day| {
        day.attempts[0].status = AttemptStatus::Canceled;
        day.lines.retain(|line| line.id != "pay_0");
        day.orders[0].tickets.clear();
    });
    assert_eq!(only_said_to_be, [(Kind::RecordedNotCaptured, Owner::Finance, Repair::AskStaff)]);
    let free = after(|day| {
        day.attempts.remove(0);
        day.lines.retain(|line| line.id != "pay_0");
        day.orders[0].total_minor = 0;
    });
    assert!(free.is_empty(), "{free:?}");
}

#[test]
fn lines_twice_and_fees_that_nobody_posted() {
    let twice = after(|day| day.lines.push(charge(0)));
    assert_eq!(twice, [(Kind::DuplicateLine, Owner::Finance, Repair::AskStaff)]);
    let fee = after(|day| day.fees_posted.clear());
    assert_eq!(fee, [(Kind::FeeLine, Owner::Worker, Repair::Post)]);
    let alone = after(|day| {
        let fee = line(Movement::Fee, "fee_1".into(), 0, 0);
        day.lines.push(ProviderLine { payment: String::new(), fee_minor: 1_500, net_minor: -1_500, ..fee });
    });
    assert_eq!(alone, [(Kind::FeeLine, Owner::Worker, Repair::Post)]);
}

#[test]
fn partners_may_lie_beyond_the_days_edges_and_are_not_reported_themselves() {
    let settled_after_midnight = after(|day| day.lines[0].at = TO.plus(5));
    assert!(settled_after_midnight.is_empty(), "{settled_after_midnight:?}");
    let recorded_the_day_before = after(|day| day.attempts[0].captured = Some(FROM.plus(-5)));
    assert!(recorded_the_day_before.is_empty(), "{recorded_the_day_before:?}");
    let of_tomorrow = after(|day| {
        let line = refund_line(5);
        day.lines.push(ProviderLine { at: TO, ..line });
    });
    assert!(of_tomorrow.is_empty(), "{of_tomorrow:?}");
}

#[test]
fn a_difference_carries_both_sides_under_a_lasting_key() {
    let mut day = matching();
    day.refunds[0].status = RefundStatus::Submitted;
    let found = compare(&day);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].key, "refund_unknown_here:refund:re_1");
    assert_eq!(found[0].ours, Some(Ours::Refund(day.refunds[0].clone())));
    assert_eq!(found[0].theirs, [refund_line(1)]);
    for movement in Movement::ALL {
        assert_eq!(Movement::parse(movement.as_str()), Some(*movement));
    }
}

#[test]
fn the_words_of_a_difference_are_read_back() {
    for kind in Kind::ALL {
        assert_eq!(Kind::parse(kind.as_str()), Some(*kind));
    }
    for owner in Owner::ALL {
        assert_eq!(Owner::parse(owner.as_str()), Some(*owner));
    }
    for repair in Repair::ALL {
        assert_eq!(Repair::parse(repair.as_str()), Some(*repair));
    }
    assert_eq!((Kind::parse("stuck_attempt"), Owner::parse(""), Repair::parse("wait")), (None, None, None));
}

/// One of the ways in which a day can go wrong.
fn spoil(day: &mut Day, which: u8, at: usize) {
    let lines = day.lines.len();
    match which {
        0 => drop(day.lines.remove(at % lines)),
        1 => day.lines.push(day.lines[at % lines].clone()),
        2 => day.lines[at % lines].gross_minor += 1,
        3 => day.lines[at % lines].currency = "JPY".parse().unwrap(),
        4 => day.attempts[at % 6].status = AttemptStatus::Open,
        5 => day.attempts[at % 6].payment = None,
        6 => day.orders[at % 6].tickets.clear(),
        7 => day.orders[at % 6].seats.clear(),
        8 => day.refunds[at % 2].provider_ref = None,
        9 => day.disputes[at % 2].status = DisputeStatus::Lost,
        _ => day.lines[at % lines].payment = format!("pay_{}", at % 7),
    }
}

fn shuffled<T: Clone>(all: &[T], keys: &[u32]) -> Vec<T> {
    let mut pairs: Vec<(u32, T)> = keys.iter().copied().zip(all.iter().cloned()).collect();
    pairs.sort_by_key(|(key, _)| *key);
    pairs.into_iter().map(|(_, one)| one).collect()
}

proptest! {
    /// However a day went wrong: lines and records in another order tell the same, each key is told
    /// once, and every difference shows some evidence.
    #[test]
    fn the_order_of_lines_and_records_changes_nothing(
        wrongs in prop::collection::vec((0..11_u8, 0..40_usize), 0..8),
        keys in prop::collection::vec(any::<u32>(), 32),
    ) {
        let mut day = matching();
        for (which, at) in wrongs {
            spoil(&mut day, which, at);
        }
        let other = Day {
            attempts: shuffled(&day.attempts, &keys),
            refunds: shuffled(&day.refunds, &keys),
            disputes: shuffled(&day.disputes, &keys),
            orders: shuffled(&day.orders, &keys),
            payouts: shuffled(&day.payouts, &keys),
            lines: shuffled(&day.lines, &keys),
            ..day.clone()
        };
        prop_assert_eq!(other.lines.len(), day.lines.len());
        let found = compare(&day);
        prop_assert_eq!(&compare(&other), &found);
        let keys: BTreeSet<&str> = found.iter().map(|difference| difference.key.as_str()).collect();
        prop_assert_eq!(keys.len(), found.len());
        prop_assert!(found.iter().all(|difference| difference.ours.is_some() || !difference.theirs.is_empty()));
    }

    #[test]
    fn matching_days_of_any_size_have_no_differences(orders in 0..60_u32, refunded in 0..60_u32) {
        let mut day = empty();
        for number in 0..orders {
            sell(&mut day, number);
            if number < refunded {
                refund(&mut day, number, RefundStatus::Succeeded);
                day.lines.push(refund_line(number));
            }
        }
        prop_assert!(compare(&day).is_empty());
    }
}
