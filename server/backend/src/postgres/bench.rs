//! Orders and refunds written plainly, many rows in a statement, with no rule between: what benchmarks compare the
//! order writer and cancelled performances with, and how they fill a house ahead.

use domain::{Millis, PerformanceId};
use sqlx::{PgConnection, PgExecutor};
use uuid::Uuid;

/// Orders in columns, and their seats with one entry each.
#[derive(Debug, Default)]
pub(crate) struct PlainOrders {
    pub(crate) ids: Vec<Uuid>,
    pub(crate) accounts: Vec<Uuid>,
    pub(crate) statuses: Vec<&'static str>,
    pub(crate) item_orders: Vec<Uuid>,
    pub(crate) item_seats: Vec<i32>,
    /// Seats of each order.
    pub(crate) seats_each: i64,
}

/// Writes orders with items and claims.
pub(crate) async fn insert_plainly(
    db: &mut PgConnection,
    performance: PerformanceId,
    orders: &PlainOrders,
    (now, expires): (Millis, Millis),
) -> sqlx::Result<()> {
    sqlx::query(
        "insert into orders (id, performance_id, account_id, status, currency, total_minor, price_version, created_ms,
                             expires_ms, paid_ms, confirmed_ms)
         select id, $1, account, status, 'EUR', $7 * 2900, 1, $5, $6,
                case when status = 'fulfilled' then $5 end, case when status = 'fulfilled' then $5 end
         from unnest($2::uuid[], $3::uuid[], $4::text[]) as o (id, account, status)",
    )
    .bind(performance.0)
    .bind(&orders.ids)
    .bind(&orders.accounts)
    .bind(&orders.statuses)
    .bind(now.0)
    .bind(expires.0)
    .bind(orders.seats_each)
    .execute(&mut *db)
    .await?;
    sqlx::query(
        "insert into order_items (order_id, seat_no, category, amount_minor)
         select id, seat, 0, 2900 from unnest($1::uuid[], $2::integer[]) as i (id, seat)",
    )
    .bind(&orders.item_orders)
    .bind(&orders.item_seats)
    .execute(&mut *db)
    .await?;
    sqlx::query(
        "insert into seat_claims (performance_id, seat_no, order_id)
         select $1, seat, id from unnest($2::uuid[], $3::integer[]) as i (id, seat)",
    )
    .bind(performance.0)
    .bind(&orders.item_orders)
    .bind(&orders.item_seats)
    .execute(&mut *db)
    .await?;
    Ok(())
}

/// Writes what paid orders have beside their seats: captured payments, their postings, and tickets.
pub(crate) async fn insert_payments(
    db: &mut PgConnection,
    performance: PerformanceId,
    orders: &[Uuid],
    now: Millis,
) -> sqlx::Result<()> {
    sqlx::query(
        "insert into attempts (id, order_id, number, status, provider, provider_ref, amount_minor, currency, created_ms,
                               deadline_ms, next_query_ms)
         select gen_random_uuid(), id, 1, 'captured', 'sandbox', 'bench-' || id, total_minor, currency, $2, $2, $2
         from orders where id = any($1)",
    )
    .bind(orders)
    .bind(now.0)
    .execute(&mut *db)
    .await?;
    sqlx::query(
        "insert into ledger_entries (source, account, currency, amount_minor, at_ms, order_id, organization_id)
         select 'capture:' || a.id, side.account, a.currency, side.sign * a.amount_minor, $3, a.order_id,
                e.organization_id
         from attempts a
         join performances p on p.id = $2 join events e on e.id = p.event_id
         cross join (values ('provider_clearing', 1), ('organizer_payable', -1)) as side (account, sign)
         where a.order_id = any($1)",
    )
    .bind(orders)
    .bind(performance.0)
    .bind(now.0)
    .execute(&mut *db)
    .await?;
    sqlx::query(
        "insert into tickets (id, order_id, performance_id, seat_no, code, created_ms)
         select gen_random_uuid(), order_id, $2, seat_no, 'bench-' || order_id || '-' || seat_no, $3
         from order_items where order_id = any($1)",
    )
    .bind(orders)
    .bind(performance.0)
    .bind(now.0)
    .execute(&mut *db)
    .await?;
    Ok(())
}

/// The orders of a performance.
pub(crate) async fn order_ids(db: impl PgExecutor<'_>, performance: PerformanceId) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar("select id from orders where performance_id = $1").bind(performance.0).fetch_all(db).await
}

/// Writes refunds of whole orders: refund, posting, and the seats that are given back.
pub(crate) async fn refund_plainly(db: &mut PgConnection, orders: &[Uuid], now: Millis) -> sqlx::Result<()> {
    let statements = [
        "with made as (
            insert into refunds (id, attempt_id, order_id, amount_minor, currency, reason, status, cause, seats, books,
                                 created_ms, next_try_ms, due_ms)
            select gen_random_uuid(), a.id, a.order_id, a.amount_minor, a.currency, 'the performance was cancelled',
                   'approved', 'cancelled', array(select seat_no from order_items i where i.order_id = a.order_id), 2,
                   $2, $2, $2
            from attempts a where a.order_id = any($1) returning id, order_id, currency, amount_minor)
         insert into ledger_entries (source, account, currency, amount_minor, at_ms, order_id, organization_id)
         select 'refund-reserved:' || m.id, side.account, m.currency, side.sign * m.amount_minor, $2, m.order_id,
                e.organization_id
         from made m join orders o on o.id = m.order_id
         join performances p on p.id = o.performance_id join events e on e.id = p.event_id
         cross join (values ('organizer_payable', 1), ('refunds_payable', -1)) as side (account, sign)",
        "update order_items set returned_ms = $2 where order_id = any($1)",
        "update tickets set revoked_ms = $2, revoked_reason = 'refund' where order_id = any($1)",
    ];
    for sql in statements {
        sqlx::query(sql).bind(orders).bind(now.0).execute(&mut *db).await?;
    }
    sqlx::query("delete from seat_claims where order_id = any($1)").bind(orders).execute(&mut *db).await?;
    Ok(())
}

/// How many orders a performance has.
pub(crate) async fn count_orders(db: impl PgExecutor<'_>, performance: PerformanceId) -> sqlx::Result<i64> {
    sqlx::query_scalar("select count(*) from orders where performance_id = $1").bind(performance.0).fetch_one(db).await
}

/// The version of the server.
pub(crate) async fn version(db: impl PgExecutor<'_>) -> sqlx::Result<String> {
    sqlx::query_scalar("show server_version").fetch_one(db).await
}
