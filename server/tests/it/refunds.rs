//! Money and seats that go back: by fans, by staff, in any currency, and never more than was paid.

mod racing;
mod whole;

use crate::arena::provider::GOOD_CARD;
use crate::arena::{Arena, Fan, SOON, Setup, seats};
use domain::account::Role;
use domain::hold::SeatState;
use domain::money::fees::Rate;
use domain::order::{OrderView, PayStarted};
use domain::refund::policy::{RefundPolicy, Tier};
use domain::refund::view::{RefundFilter, RefundView, Refused};
use domain::refund::{Approval, ApprovalRule, Cause, RefundStatus};
use domain::venue::generate;
use domain::{Code, Money, OrderId, PerformanceId, RefundId};

const DAY_MS: i64 = 24 * 3_600_000;
/// Whatever a policy gives back needs nobody.
pub(crate) const ANYBODY: ApprovalRule = ApprovalRule { automatic_to_minor: i64::MAX, four_eyes_from_minor: None };

/// An order that was paid, with its payment.
pub(crate) struct Bought {
    pub(crate) fan: Fan,
    pub(crate) order: OrderId,
    pub(crate) started: PayStarted,
    pub(crate) total: Money,
}

/// Buys seats of a sale.
pub(crate) async fn bought_of(arena: &Arena, fan: Fan, sale: PerformanceId, list: &[u32]) -> Bought {
    let key = uuid::Uuid::new_v4().simple().to_string();
    let held = arena.backend.hold(&fan.session, fan.pass(), sale, seats(list), &key).await.unwrap();
    let started = arena.backend.pay(&fan.session, held.order).await.unwrap();
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    arena.await_status(held.order, "fulfilled").await;
    Bought { fan, order: held.order, started, total: held.total }
}

/// Buys seats of the arena's own sale.
pub(crate) async fn bought(arena: &Arena, list: &[u32]) -> Bought {
    bought_of(arena, arena.one_inside().await, arena.performance, list).await
}

/// Lets fans give back until the start, and sets who must agree.
pub(crate) async fn terms(arena: &Arena, sale: PerformanceId, tiers: Vec<Tier>, resells: bool, rule: ApprovalRule) {
    let owner = arena.member(Role::Owner).await;
    let policy = RefundPolicy { ends_before_start_ms: Some(0), tiers, ..RefundPolicy::default() };
    arena.backend.set_refund_policy(&owner.session, sale, 0, &policy, resells).await.unwrap();
    arena.backend.set_approval_rule(&owner.session, rule).await.unwrap();
}

fn kept(days_left: u32, basis_points: u32) -> Tier {
    Tier { days_left, kept: Rate::try_from(basis_points).unwrap() }
}

fn code<T: std::fmt::Debug>(outcome: Result<T, backend::Error>) -> Code {
    outcome.unwrap_err().refusal().code
}

async fn status(arena: &Arena, refund: RefundId) -> RefundStatus {
    let text: String = sqlx::query_scalar("select status from refunds where id = $1")
        .bind(refund.0)
        .fetch_one(&arena.pg)
        .await
        .unwrap();
    RefundStatus::parse(&text).unwrap()
}

async fn await_refund(arena: &Arena, refund: RefundId, wanted: RefundStatus) {
    eventually!(2 * SOON, format!("refund {refund} is {wanted:?}"), status(arena, refund).await == wanted);
}

/// A fan's whole way: what it comes to, then the wish itself.
pub(crate) async fn give_back(arena: &Arena, bought: &Bought, list: &[u32]) -> RefundView {
    let (session, list) = (&bought.fan.session, seats(list));
    let quote = arena.backend.refund_quote(session, bought.order, &list).await.unwrap();
    arena.backend.ask_refund(session, bought.order, &list, quote.returns.minor).await.unwrap()
}

/// What of an order stands in an account, in minor units.
pub(crate) async fn account(arena: &Arena, order: OrderId, account: &str) -> i64 {
    let sql = "select coalesce(sum(amount_minor), 0)::bigint from ledger_entries where order_id = $1 and account = $2";
    sqlx::query_scalar(sql).bind(order.0).bind(account).fetch_one(&arena.pg).await.unwrap()
}

/// Debits are credits, in every currency.
pub(crate) async fn assert_books_balance(arena: &Arena) {
    let unbalanced =
        "select count(*) from (select 1 from ledger_entries group by currency having sum(amount_minor) <> 0) c";
    assert_eq!(arena.count(unbalanced).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_seat_of_two_is_given_back_once_and_another_fan_buys_it() {
    let arena = Arena::web(Setup::default()).await;
    terms(&arena, arena.performance, Vec::new(), true, ANYBODY).await;
    let first = bought(&arena, &[10, 11]).await;
    let offer = arena.backend.refund_offer(&first.fan.session, first.order).await.unwrap();
    let price = offer.seats[0].returns.unwrap();
    assert_eq!((offer.refused, offer.seats.len(), price.minor * 2), (None, 2, first.total.minor));

    let asked = give_back(&arena, &first, &[10]).await;
    assert_eq!((asked.amount, asked.cause, asked.seats.len()), (price, Cause::Wish, 1));
    await_refund(&arena, asked.id, RefundStatus::Succeeded).await;
    assert_eq!(arena.provider().refunded(&first.started).await, price.minor);
    eventually!(SOON, "the seat is free", arena.seat(10).await == SeatState::Available as u8);
    assert_eq!(arena.seat(11).await, SeatState::Sold as u8, "and no other");
    let valid = "select count(*) from tickets where order_id = $1 and revoked_ms is null";
    assert_eq!(arena.count_of(first.order, valid).await, 1);
    let view: OrderView = arena.order(&first.fan, first.order).await.ok();
    assert_eq!(view.items.iter().map(|item| item.given_back).collect::<Vec<_>>(), [true, false]);
    assert_eq!(view.tickets.len(), 1);
    assert_eq!(account(&arena, first.order, "organizer_payable").await, -(first.total.minor - price.minor));
    assert_eq!(account(&arena, first.order, "refunds_payable").await, 0);

    let again = arena.backend.ask_refund(&first.fan.session, first.order, &seats(&[10]), price.minor).await;
    assert_eq!(code(again), Code::WrongState, "once");
    let second = bought(&arena, &[10]).await;
    assert_eq!(arena.seat(10).await, SeatState::Sold as u8);
    assert_eq!(code(arena.backend.refund_offer(&first.fan.session, second.order).await), Code::NotFound);

    let rest = give_back(&arena, &first, &[11]).await;
    await_refund(&arena, rest.id, RefundStatus::Succeeded).await;
    arena.await_status(first.order, "refunded").await;
    assert_eq!(arena.provider().refunded(&first.started).await, first.total.minor);
    eventually!(SOON, "the other seat is free", arena.seat(11).await == SeatState::Available as u8);
    assert_eq!(arena.seat(10).await, SeatState::Sold as u8, "it is the second fan's");
    let mails = "select count(*) from outbox where dedupe like 'refund-done:%'";
    assert_eq!(arena.count(mails).await, 2);
    assert_books_balance(&arena).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_only_looks_waits_for_nobody_who_has_the_payment_in_hand_and_who_asks_does() {
    let arena = Arena::web(Setup::default()).await;
    terms(&arena, arena.performance, Vec::new(), true, ANYBODY).await;
    let order = bought(&arena, &[90, 91]).await;
    let operator = arena.member(Role::Operator).await;
    let mut other = arena.pg.begin().await.unwrap();
    for sql in
        ["select 1 from attempts where order_id = $1 for update", "select 1 from orders where id = $1 for update"]
    {
        sqlx::query(sql).bind(order.order.0).execute(&mut *other).await.unwrap();
    }
    // A look that waited would end after ten seconds, with an error.
    let (session, seat) = (order.fan.session.clone(), seats(&[90]));
    let offer = arena.backend.refund_offer(&session, order.order).await.unwrap();
    let quote = arena.backend.refund_quote(&session, order.order, &seat).await.unwrap();
    assert_eq!((offer.refused, offer.seats[0].returns), (None, Some(quote.returns)));
    let staff = arena.backend.staff_refund_offer(&operator.session, order.order).await.unwrap();
    assert_eq!(staff.seats.len(), 2);

    let (backend, id, minor) = (arena.backend.clone(), order.order, quote.returns.minor);
    let asking = tokio::spawn(async move { backend.ask_refund(&session, id, &seat, minor).await });
    let waits = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
         and query like 'select a.* from attempts%'";
    eventually!(SOON, "who asks waits", arena.count(waits).await == 1);
    assert_eq!(arena.count("select count(*) from refunds").await, 0);
    other.rollback().await.unwrap();
    let asked = asking.await.unwrap().unwrap();
    await_refund(&arena, asked.id, RefundStatus::Succeeded).await;
    assert_eq!(arena.provider().refunded(&order.started).await, minor);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_refund_under_the_name_of_ours_is_the_providers_own() {
    let arena = Arena::web(Setup::default()).await;
    terms(&arena, arena.performance, Vec::new(), true, ANYBODY).await;
    let order = bought(&arena, &[15, 16]).await;
    let asked = give_back(&arena, &order, &[15]).await;
    await_refund(&arena, asked.id, RefundStatus::Succeeded).await;
    let payment = arena.provider().payments(&order.started).await[0]["id"].as_str().unwrap().to_owned();
    arena.provider().give_back_as(&payment, 100, &format!("refund:{}", asked.id)).await;
    let taken_in = "select coalesce(sum(amount_minor), 0)::bigint from refunds where origin = 'provider'";
    eventually!(SOON, "it is taken in", arena.count(taken_in).await == 100);
    assert_eq!(status(&arena, asked.id).await, RefundStatus::Succeeded);
    let back = asked.amount.minor + 100;
    assert_eq!(arena.provider().refunded(&order.started).await, back);
    assert_eq!(account(&arena, order.order, "provider_clearing").await, order.total.minor - back);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_partial_refunds_at_once_never_exceed_the_payment() {
    let arena = Arena::web(Setup::default()).await;
    let order = bought(&arena, &[20, 21, 22, 23]).await;
    let (asking, deciding) = (arena.member(Role::Operator).await, arena.member(Role::Finance).await);
    let asks = (0..20_u32).map(|number| {
        let (backend, session, order) = (arena.backend.clone(), asking.session.clone(), order.order);
        async move { backend.staff_refund(&session, order, &seats(&[20 + number % 4]), "a try").await }
    });
    let outcomes = futures::future::join_all(asks).await;
    let made: Vec<RefundView> = outcomes.into_iter().filter_map(Result::ok).collect();
    assert_eq!(made.len(), 4, "each seat once");
    assert_eq!(made.iter().map(|refund| refund.amount.minor).sum::<i64>(), order.total.minor);
    assert!(made.iter().all(|refund| refund.status == RefundStatus::Requested), "{made:?}");
    assert_eq!(account(&arena, order.order, "refunds_payable").await, -order.total.minor, "reserved");
    assert_eq!(arena.provider().refunded(&order.started).await, 0, "nothing is sent before somebody agrees");
    assert_eq!(arena.seat(20).await, SeatState::Sold as u8);
    let decide = |refund: RefundId| {
        let (backend, session) = (arena.backend.clone(), deciding.session.clone());
        async move { backend.decide_refund(&session, refund, true, "").await }
    };
    for outcome in futures::future::join_all(made.iter().map(|refund| decide(refund.id))).await {
        outcome.unwrap();
    }
    assert_eq!(code(decide(made[0].id).await), Code::WrongState, "once");
    for refund in &made {
        await_refund(&arena, refund.id, RefundStatus::Succeeded).await;
    }
    assert_eq!(arena.provider().refunded(&order.started).await, order.total.minor);
    arena.await_status(order.order, "refunded").await;
    eventually!(SOON, "the seats are free", arena.seat(23).await == SeatState::Available as u8);
    assert_eq!(account(&arena, order.order, "organizer_payable").await, 0);
    assert_books_balance(&arena).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_kept_grows_towards_the_start_and_then_nothing_comes_back() {
    let arena = Arena::web(Setup::default()).await;
    let order = bought(&arena, &[30]).await;
    let (session, seat) = (&order.fan.session, seats(&[30]));
    let offer = arena.backend.refund_offer(session, order.order).await.unwrap();
    assert_eq!((offer.refused, offer.until), (Some(Refused::Never), None), "without a policy");
    assert_eq!(code(arena.backend.refund_quote(session, order.order, &seat).await), Code::WrongState);
    let tiers = vec![kept(7, 1_000), kept(0, 5_000)];
    terms(&arena, arena.performance, tiers, true, ApprovalRule { automatic_to_minor: 1, ..ANYBODY }).await;

    let starts_in = async |ms: i64| {
        let sql = "update performances set starts_ms = $2 where id = $1";
        let query = sqlx::query(sql).bind(arena.performance.0).bind(arena.backend.now().0 + ms);
        query.execute(&arena.pg).await.unwrap();
    };
    let returns = async || {
        let quote = arena.backend.refund_quote(session, order.order, &seat).await;
        quote.ok().map(|quote| (quote.returns.minor, quote.kept.minor, quote.approval))
    };
    let total = order.total.minor;
    starts_in(10 * DAY_MS).await;
    eventually!(SOON, "a tenth", returns().await == Some((total - total / 10, total / 10, Approval::Finance)));
    starts_in(DAY_MS).await;
    eventually!(SOON, "a half", returns().await == Some((total / 2, total / 2, Approval::Finance)));
    let stale = arena.backend.ask_refund(session, order.order, &seat, total - total / 10).await;
    assert_eq!(code(stale), Code::WrongState, "the page showed another amount");
    assert_eq!(arena.count("select count(*) from refunds").await, 0, "and nothing was changed");
    starts_in(-1_000).await;
    eventually!(SOON, "too late", returns().await.is_none());
    let offer = arena.backend.refund_offer(session, order.order).await.unwrap();
    assert_eq!(offer.refused, Some(Refused::TooLate));

    starts_in(DAY_MS).await;
    eventually!(SOON, "a half again", returns().await.is_some());
    let asked = give_back(&arena, &order, &[30]).await;
    assert_eq!((asked.status, asked.amount.minor), (RefundStatus::Requested, total / 2));
    let finance = arena.member(Role::Finance).await;
    arena.backend.decide_refund(&finance.session, asked.id, true, "").await.unwrap();
    await_refund(&arena, asked.id, RefundStatus::Succeeded).await;
    arena.await_status(order.order, "refunded").await;
    assert_eq!(account(&arena, order.order, "organizer_payable").await, -(total - total / 2), "a half is kept");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_the_terms_keep_all_of_a_ticket_that_is_the_reason_and_not_that_nothing_is_left() {
    let arena = Arena::web(Setup::default()).await;
    terms(&arena, arena.performance, vec![kept(0, 10_000)], true, ANYBODY).await;
    let order = bought(&arena, &[31]).await;
    let session = &order.fan.session;
    let offer = arena.backend.refund_offer(session, order.order).await.unwrap();
    assert_eq!((offer.refused, offer.seats[0].returns), (Some(Refused::AllKept), None));
    let refused = arena.backend.refund_quote(session, order.order, &seats(&[31])).await.unwrap_err().refusal();
    assert_eq!(refused.code, Code::WrongState);
    assert!(refused.message.contains("keep"), "{}", refused.message);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_refunds_need_another_member_and_a_rejected_one_frees_its_money() {
    let arena = Arena::web(Setup::default()).await;
    let rule = ApprovalRule { automatic_to_minor: 0, four_eyes_from_minor: Some(1) };
    terms(&arena, arena.performance, Vec::new(), true, rule).await;
    let order = bought(&arena, &[40, 41]).await;
    let (finance, owner, operator, stranger) = (
        arena.member(Role::Finance).await,
        arena.member(Role::Owner).await,
        arena.member(Role::Operator).await,
        arena.member_of("Another house", Role::Owner).await,
    );
    let all = seats(&[40, 41]);
    let asked = arena.backend.staff_refund(&finance.session, order.order, &all, " a note ").await.unwrap();
    assert_eq!((asked.amount, asked.note.as_str()), (order.total, "a note"));
    for (who, expected) in [(&finance, Code::Forbidden), (&operator, Code::Forbidden), (&stranger, Code::NotFound)] {
        assert_eq!(code(arena.backend.decide_refund(&who.session, asked.id, true, "").await), expected);
    }
    let list = arena.backend.refund_list(&finance.session, &RefundFilter::default()).await.unwrap();
    assert_eq!((list.waiting, list.failed, list.refunds.len(), list.rule), (1, 0, 1, rule));
    assert!(!list.refunds[0].may_decide);
    assert_eq!(list.refunds[0].asked_by.as_deref(), Some(finance.session.email.as_str()));
    let mine = arena.backend.refund_list(&owner.session, &RefundFilter::default()).await.unwrap();
    assert!(mine.refunds[0].may_decide);
    let theirs = arena.backend.refund_list(&stranger.session, &RefundFilter::default()).await.unwrap();
    assert!(theirs.refunds.is_empty(), "{theirs:?}");

    arena.backend.decide_refund(&owner.session, asked.id, false, "no reason").await.unwrap();
    assert_eq!(status(&arena, asked.id).await, RefundStatus::Rejected);
    assert_eq!(account(&arena, order.order, "refunds_payable").await, 0, "the reservation is free");
    assert_eq!(arena.seat(40).await, SeatState::Sold as u8);
    let valid = "select count(*) from tickets where order_id = $1 and revoked_ms is null";
    assert_eq!(arena.count_of(order.order, valid).await, 2);
    assert_eq!(code(arena.backend.decide_refund(&owner.session, asked.id, true, "").await), Code::WrongState);
    assert_eq!(code(arena.backend.retry_refund(&owner.session, asked.id).await), Code::WrongState);

    let again = arena.backend.staff_refund(&finance.session, order.order, &all, "").await.unwrap();
    arena.backend.decide_refund(&owner.session, again.id, true, "").await.unwrap();
    await_refund(&arena, again.id, RefundStatus::Succeeded).await;
    arena.await_status(order.order, "refunded").await;
    let acted = "select count(*) from audit_log where action in ('refund.ask', 'refund.approve', 'refund.reject')";
    assert_eq!(arena.count(acted).await, 4);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refund_that_fails_after_it_succeeded_is_booked_back_and_waits_for_the_staff() {
    let arena = Arena::web(Setup::default()).await;
    terms(&arena, arena.performance, Vec::new(), false, ANYBODY).await;
    let order = bought(&arena, &[50]).await;
    let late = serde_json::json!({ "refund_fail_late": true, "refund_settle_ms": 300 });
    arena.provider().switch(late).await;
    let asked = give_back(&arena, &order, &[50]).await;
    await_refund(&arena, asked.id, RefundStatus::Failed).await;
    arena.provider().switch(serde_json::json!({})).await;
    assert_eq!(arena.count("select count(*) from ledger_entries where source like 'refund-returned:%'").await, 2);
    assert_eq!(account(&arena, order.order, "provider_clearing").await, order.total.minor, "with us again");
    assert_eq!(account(&arena, order.order, "refunds_payable").await, 0);
    assert_eq!(arena.count("select count(*) from refunds").await, 1, "nothing follows by itself");
    eventually!(SOON, "its seat is off sale by the policy", arena.seat(50).await == SeatState::Blocked as u8);

    let finance = arena.member(Role::Finance).await;
    let filter = RefundFilter { status: Some(RefundStatus::Failed), ..RefundFilter::default() };
    let list = arena.backend.refund_list(&finance.session, &filter).await.unwrap();
    assert_eq!((list.failed, list.refunds.len(), list.refunds[0].may_retry), (1, 1, true));
    arena.backend.retry_refund(&finance.session, asked.id).await.unwrap();
    assert_eq!(code(arena.backend.retry_refund(&finance.session, asked.id).await), Code::WrongState, "once");
    let back = "select count(*) from refunds where status = 'succeeded'";
    eventually!(2 * SOON, "the money is back", arena.count(back).await == 1);
    assert_eq!(arena.provider().refunded(&order.started).await, order.total.minor);
    assert_eq!(account(&arena, order.order, "provider_clearing").await, 0);
    assert_books_balance(&arena).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_between_the_providers_yes_and_our_note_no_second_refund_is_made() {
    let mut arena = Arena::web(Setup::default()).await;
    terms(&arena, arena.performance, Vec::new(), true, ANYBODY).await;
    let order = bought(&arena, &[60, 61]).await;
    for (point, seat) in [("after-refund", 60), ("before-refund-commit", 61)] {
        arena.restart_server(&[("STARARENA_FAULT_POINTS", point)]).await;
        let asked = give_back(&arena, &order, &[seat]).await;
        assert!(!arena.server().ended().await.success(), "killed at {point}");
        assert_ne!(
            status(&arena, asked.id).await,
            RefundStatus::Succeeded,
            "{point}: the money went, and we don't know it"
        );
        arena.start_server(&[]).await;
        await_refund(&arena, asked.id, RefundStatus::Succeeded).await;
    }
    assert_eq!(arena.provider().refunded(&order.started).await, order.total.minor);
    assert_eq!(arena.count("select count(*) from refunds").await, 2);
    arena.await_status(order.order, "refunded").await;
    assert_books_balance(&arena).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_while_seats_return_each_returns_once() {
    let mut arena = Arena::web(Setup::default()).await;
    terms(&arena, arena.performance, Vec::new(), true, ANYBODY).await;
    let order = bought(&arena, &[70, 71, 72]).await;
    for (point, seat) in [("before-return", 70), ("after-return", 71)] {
        arena.restart_server(&[("STARARENA_FAULT_POINTS", point)]).await;
        give_back(&arena, &order, &[seat]).await;
        assert!(!arena.server().ended().await.success(), "killed at {point}");
        arena.start_server(&[]).await;
        eventually!(2 * SOON, "the seat is free", arena.seat(seat).await == SeatState::Available as u8);
    }
    assert_eq!(arena.seat(72).await, SeatState::Sold as u8);
    let other = bought(&arena, &[70, 71]).await;
    assert_ne!(other.order, order.order);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn yen_dinars_and_euros_are_charged_and_given_back_to_the_last_unit() {
    let arena = Arena::web(Setup::default()).await;
    for (currency, minor, back, shown) in
        [("JPY", 5_000, 4_500, "JPY 4500"), ("KWD", 1_235, 1_111, "KWD 1.111"), ("EUR", 1_234, 1_111, "EUR 11.11")]
    {
        let house = generate::arena(generate::MIN_ARENA_SEATS, currency);
        let sale = arena
            .backend
            .seed_sale(house, currency, |sale| {
                sale.currency = currency.parse().unwrap();
                sale.prices.iter_mut().for_each(|(_, price)| *price = minor);
                sale.release_per_min = 600_000;
            })
            .await
            .unwrap();
        eventually!(SOON, "the seats are built", arena.backend.watch(sale).await.is_ok());
        terms(&arena, sale, vec![kept(0, 1_000)], true, ANYBODY).await;
        let fan = arena.let_in(arena.fans(1).await.remove(0), sale).await;
        let order = bought_of(&arena, fan, sale, &[1, 2]).await;
        assert_eq!((order.total.minor, order.total.currency.code()), (2 * minor, currency));
        let asked = give_back(&arena, &order, &[1]).await;
        assert_eq!((asked.amount.minor, asked.amount.to_string().as_str()), (back, shown));
        await_refund(&arena, asked.id, RefundStatus::Succeeded).await;
        assert_eq!(arena.provider().refunded(&order.started).await, back, "{currency}");
        assert_eq!(account(&arena, order.order, "provider_clearing").await, 2 * minor - back);
        assert_eq!(account(&arena, order.order, "organizer_payable").await, back - 2 * minor);
        let currencies: Vec<String> =
            sqlx::query_scalar("select distinct currency::text from ledger_entries where order_id = $1")
                .bind(order.order.0)
                .fetch_all(&arena.pg)
                .await
                .unwrap();
        assert_eq!(currencies, [currency]);
    }
    assert_books_balance(&arena).await;
    arena.finish().await;
}
