//! Payments as they failed other systems in public: each test is named after what must hold.

use crate::arena::provider::{GOOD_CARD, signed, told, unix_s};
use crate::arena::{Arena, SOON, Setup};
use crate::payments::deliver;
use crate::purchase::assert_paid_once;
use domain::order::{OrderStatus, OrderView, PayStarted};

/// Makes every insert into a table fail, and counts the tries: a sequence keeps what a transaction takes back.
async fn break_table(arena: &Arena, table: &str) {
    for sql in [
        format!("create sequence tries_{table}"),
        format!(
            "create function no_{table}() returns trigger language plpgsql as
             $$ begin perform nextval('tries_{table}'); raise exception 'out of order'; end $$"
        ),
        format!("create trigger no_{table} before insert on {table} for each row execute function no_{table}()"),
    ] {
        sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&arena.pg).await.unwrap();
    }
}

async fn mend_table(arena: &Arena, table: &str) {
    for sql in [
        format!("drop trigger no_{table} on {table}"),
        format!("drop function no_{table}()"),
        format!("drop sequence tries_{table}"),
    ] {
        sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&arena.pg).await.unwrap();
    }
}

/// How often an insert into a broken table was tried.
async fn tries(arena: &Arena, table: &str) -> i64 {
    let sql = format!("select case when is_called then last_value else 0 end from tries_{table}");
    sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_one(&arena.pg).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_tickets_mail_and_invoices_down_an_order_stays_paid_and_gets_each_once_when_they_are_back() {
    let arena = Arena::web(Setup::default()).await;
    for table in ["tickets", "mailbox", "invoices"] {
        break_table(&arena, table).await;
    }
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "1,2").await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    eventually!(SOON, "issuing is tried", tries(&arena, "tickets").await >= 2);
    assert_eq!(arena.status(held.order).await.as_deref(), Some("paid"), "what failed later takes no payment back");
    assert_eq!(arena.count_of(held.order, "select count(*) from tickets where order_id = $1").await, 0);
    let refunds = "select count(*) from refunds r join attempts a on a.id = r.attempt_id where a.order_id = $1";
    assert_eq!(arena.count_of(held.order, refunds).await, 0, "nobody gives the money back for it");
    let invoices = "select count(*) from invoices where order_id = $1";
    assert_eq!(arena.count_of(held.order, invoices).await, 0);

    mend_table(&arena, "tickets").await;
    eventually!(3 * SOON, "it is issued", arena.status(held.order).await.as_deref() == Some("fulfilled"));
    eventually!(SOON, "the mail is tried", tries(&arena, "mailbox").await >= 1);
    eventually!(SOON, "and a number", tries(&arena, "invoices").await >= 1);
    let order: OrderView = arena.order(&fan, held.order).await.ok();
    assert_eq!((order.status, order.tickets.len()), (OrderStatus::Fulfilled, 2), "the site shows them meanwhile");
    let mails = "select count(*) from mailbox";
    assert_eq!((arena.count(mails).await, arena.count_of(held.order, invoices).await), (0, 0));

    mend_table(&arena, "mailbox").await;
    mend_table(&arena, "invoices").await;
    eventually!(3 * SOON, "the mail comes", arena.count(mails).await >= 1);
    eventually!(3 * SOON, "and the invoice", arena.count_of(held.order, invoices).await == 1);
    assert_eq!(arena.count("select max(number) from invoices").await, 1, "no number was lost on the way");
    assert_paid_once(&arena, held.order, 2).await;
    let sent =
        "select count(*) from mailbox m join outbox o on o.id = m.outbox_id where o.dedupe = 'tickets:' || $1::uuid";
    assert_eq!(arena.count_of(held.order, sent).await, 1, "one mail");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_told_while_no_worker_runs_is_stored_before_it_is_acknowledged_and_applied_later() {
    let mut arena = Arena::apart(Setup::default(), 1).await;
    arena.provider().drop_webhooks().await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "1,2").await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    arena.kill_worker(0).await;
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    let event = arena.provider().event("payment.authorized").await.expect("the provider kept its event");
    assert_eq!(deliver(&arena, &event, &signed(&event, unix_s())).await.status, 200);
    let waiting = "select count(*) from payment_inbox where applied_ms is null";
    assert_eq!(arena.count(waiting).await, 1, "it is stored, and nobody has applied it");
    assert_eq!(arena.status(held.order).await.as_deref(), Some("payment_processing"));
    arena.start_worker(0).await;
    arena.await_status(held.order, "fulfilled").await;
    assert_paid_once(&arena, held.order, 2).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn succeeded_failed_and_pending_in_all_six_orders_come_to_paid() {
    let arena = Arena::web(Setup::default()).await;
    arena.provider().drop_webhooks().await;
    let (succeeded, failed, pending) = ("payment.captured", "payment.failed", "payment.processing");
    let orders = [
        [succeeded, failed, pending],
        [succeeded, pending, failed],
        [failed, succeeded, pending],
        [failed, pending, succeeded],
        [pending, succeeded, failed],
        [pending, failed, succeeded],
    ];
    for (number, kinds) in orders.into_iter().enumerate() {
        let fan = arena.one_inside().await;
        let held = arena.held(&fan, &format!("{},{}", 2 * number, 2 * number + 1)).await;
        let started: PayStarted = arena.pay(&fan, held.order).await.ok();
        assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
        for kind in kinds {
            let event = told(&started, kind);
            assert_eq!(deliver(&arena, &event, &signed(&event, unix_s())).await.status, 200, "{kinds:?}");
        }
        arena.await_status(held.order, "fulfilled").await;
        let waiting = "select count(*) from payment_inbox where applied_ms is null";
        eventually!(SOON, "all is applied", arena.count(waiting).await == 0);
        assert_eq!(arena.status(held.order).await.as_deref(), Some("fulfilled"), "{kinds:?}");
        assert_paid_once(&arena, held.order, 2).await;
    }
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paid_in_time_and_posted_late_it_costs_what_the_order_said() {
    let mut arena = Arena::web(Setup::default()).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "1,2").await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    // The fan pays while nobody of ours listens; prices double before anybody does.
    arena.kill_server().await;
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    for sql in [
        "insert into prices (performance_id, version, category, amount_minor)
         select performance_id, 2, category, 2 * amount_minor from prices where version = 1",
        "update performances set price_version = 2, settings_version = settings_version + 1",
    ] {
        sqlx::query(sql).execute(&arena.pg).await.unwrap();
    }
    arena.start_server(&[]).await;
    arena.await_status(held.order, "fulfilled").await;
    let order: OrderView = arena.order(&fan, held.order).await.ok();
    assert_eq!(order.total, held.total, "the price is the order's");
    let booked = "select coalesce(sum(l.amount_minor), 0)::bigint from ledger_entries l
        join attempts a on l.source = 'capture:' || a.id where a.order_id = $1 and l.account = 'provider_clearing'";
    assert_eq!(arena.count_of(held.order, booked).await, held.total.minor);
    assert_paid_once(&arena, held.order, 2).await;
    arena.finish().await;
}

/// As if an attempt had been made in another currency, or again in its own.
async fn set_currency(arena: &Arena, started: &PayStarted, currency: &str) {
    sqlx::query("update attempts set currency = $2 where id = $1")
        .bind(started.attempt.0)
        .bind(currency)
        .execute(&arena.pg)
        .await
        .unwrap();
}

/// The server is started with this, an attempt is of that currency: its payment is set aside, nothing else
/// happens, and once they agree the order is paid.
async fn is_set_aside(arena: &mut Arena, seats: &str, reason: &str, currency: &str, settings: &[(&str, &str)]) {
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, seats).await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    arena.kill_server().await;
    set_currency(arena, &started, currency).await;
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    arena.start_server(settings).await;
    let aside = async || -> i64 {
        let query = sqlx::query_scalar("select count(*) from payment_quarantine where reason = $1");
        query.bind(reason).fetch_one(&arena.pg).await.unwrap()
    };
    eventually!(SOON, format!("set aside: {reason}"), aside().await == 1);
    let rings = async || arena.metric("stararena_payments_quarantined_total").await >= 1.0;
    eventually!(SOON, "it rings", rings().await);
    assert_eq!(arena.status(held.order).await.as_deref(), Some("payment_processing"), "the order stays");
    assert_eq!(arena.count_of(held.order, "select count(*) from tickets where order_id = $1").await, 0);
    assert_eq!(arena.provider().status(&started).await, "authorized", "no money is taken");

    arena.kill_server().await;
    set_currency(arena, &started, "EUR").await;
    arena.start_server(&[]).await;
    eventually!(3 * SOON, "asking goes on", arena.status(held.order).await.as_deref() == Some("fulfilled"));
    assert_paid_once(arena, held.order, 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_in_another_currency_is_set_aside_and_rings() {
    let mut arena = Arena::web(Setup::default()).await;
    is_set_aside(&mut arena, "1,2", "another currency", "USD", &[]).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_to_another_merchant_is_set_aside_and_rings() {
    let mut arena = Arena::web(Setup::default()).await;
    let settings = [("STARARENA_PSP_MERCHANT", "somebody-else")];
    is_set_aside(&mut arena, "1,2", "another merchant", "EUR", &settings).await;
    arena.finish().await;
}
