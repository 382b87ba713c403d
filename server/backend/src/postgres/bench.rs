//! Orders written plainly, many rows in a statement, with no rule between: what benchmarks compare the
//! order writer with, and how they fill a house ahead.

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
         select id, $1, account, status, 'EUR', 5800, 1, $5, $6,
                case when status = 'fulfilled' then $5 end, case when status = 'fulfilled' then $5 end
         from unnest($2::uuid[], $3::uuid[], $4::text[]) as o (id, account, status)",
    )
    .bind(performance.0)
    .bind(&orders.ids)
    .bind(&orders.accounts)
    .bind(&orders.statuses)
    .bind(now.0)
    .bind(expires.0)
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

/// How many orders a performance has.
pub(crate) async fn count_orders(db: impl PgExecutor<'_>, performance: PerformanceId) -> sqlx::Result<i64> {
    sqlx::query_scalar("select count(*) from orders where performance_id = $1").bind(performance.0).fetch_one(db).await
}

/// The version of the server.
pub(crate) async fn version(db: impl PgExecutor<'_>) -> sqlx::Result<String> {
    sqlx::query_scalar("show server_version").fetch_one(db).await
}
