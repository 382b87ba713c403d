//! Seats that are given back: once in Postgres, with their claims; then once in Redis.

use super::refunds::{numbers, seat};
use super::setbacks::LeftOut;
use domain::{Millis, OrderId, PerformanceId, RefundId, SeatNo};
use sqlx::{PgConnection, PgExecutor, Row as _};

/// Takes seats back from an order with their claims: those of them that it still had. The order is locked.
pub(crate) async fn take(
    db: &mut PgConnection,
    order: OrderId,
    seats: &[SeatNo],
    refund: Option<RefundId>,
    now: Millis,
) -> sqlx::Result<Vec<SeatNo>> {
    let taken: Vec<i32> = sqlx::query_scalar(
        "with taken as (
            update order_items set returned_ms = $4, returned_refund = $3
            where order_id = $1 and seat_no = any($2) and returned_ms is null returning seat_no),
         freed as (delete from seat_claims where order_id = $1 and seat_no in (select seat_no from taken))
         select seat_no from taken order by seat_no",
    )
    .bind(order.0)
    .bind(numbers(seats))
    .bind(refund.map(|refund| refund.0))
    .bind(now.0)
    .fetch_all(db)
    .await?;
    taken.into_iter().map(seat).collect()
}

/// The seats of an order that were given back.
pub(crate) async fn of_order(db: impl PgExecutor<'_>, order: OrderId) -> sqlx::Result<Vec<SeatNo>> {
    let seats: Vec<i32> =
        sqlx::query_scalar("select seat_no from order_items where order_id = $1 and returned_ms is not null")
            .bind(order.0)
            .fetch_all(db)
            .await?;
    seats.into_iter().map(seat).collect()
}

/// Whether all seats of an order were given back, and no money of it is on its way, failed to go, or is with a bank
/// that may still give it back to us.
pub(crate) async fn all_is_back(db: impl PgExecutor<'_>, order: OrderId) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "select not exists (select 1 from order_items where order_id = $1 and returned_ms is null)
            and not exists (select 1 from attempts a join refunds r on r.attempt_id = a.id
                where a.order_id = $1 and (r.status in ('requested', 'approved', 'submitted')
                    or (r.status = 'failed' and r.retried_as is null)))
            and not exists (select 1 from disputes where order_id = $1 and status = 'opened')",
    )
    .bind(order.0)
    .fetch_one(db)
    .await
}

/// Whether an order owns any seat.
pub(crate) async fn owns_any(db: impl PgExecutor<'_>, order: OrderId) -> sqlx::Result<bool> {
    sqlx::query_scalar("select exists (select 1 from seat_claims where order_id = $1)")
        .bind(order.0)
        .fetch_one(db)
        .await
}

/// Orders with seats of which Redis does not know yet that they were given back, the oldest first.
pub(crate) async fn due(
    db: impl PgExecutor<'_>,
    out: &LeftOut,
    most: i64,
) -> sqlx::Result<Vec<(OrderId, PerformanceId)>> {
    sqlx::query(
        "select i.order_id, o.performance_id from order_items i join orders o on o.id = i.order_id
         where i.returned_ms is not null and i.released_ms is null
            and o.performance_id <> all($4) and not exists (select 1 from setbacks b
                where b.job = $2 and b.subject = i.order_id and b.next_try_ms > $3)
         group by i.order_id, o.performance_id order by min(i.returned_ms) limit $1",
    )
    .bind(most)
    .bind(out.job.as_str())
    .bind(out.now.0)
    .bind(&out.sales)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| Ok((OrderId(row.try_get("order_id")?), PerformanceId(row.try_get("performance_id")?))))
    .collect()
}

/// The seats of an order of which Redis does not know yet, each with whether it is off sale.
pub(crate) async fn waiting(db: impl PgExecutor<'_>, order: OrderId) -> sqlx::Result<Vec<(SeatNo, bool)>> {
    sqlx::query(
        "select i.seat_no, exists (select 1 from blocked_seats b
                where b.performance_id = o.performance_id and b.seat_no = i.seat_no) as off
         from order_items i join orders o on o.id = i.order_id
         where i.order_id = $1 and i.returned_ms is not null and i.released_ms is null order by i.seat_no",
    )
    .bind(order.0)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| Ok((seat(row.try_get("seat_no")?)?, row.try_get("off")?)))
    .collect()
}

/// Notes that Redis knows.
pub(crate) async fn set_released(
    db: impl PgExecutor<'_>,
    order: OrderId,
    seats: &[SeatNo],
    now: Millis,
) -> sqlx::Result<()> {
    sqlx::query(
        "update order_items set released_ms = $3
         where order_id = $1 and seat_no = any($2) and returned_ms is not null and released_ms is null",
    )
    .bind(order.0)
    .bind(numbers(seats))
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(())
}

/// Whether seats of a performance are on their way back: until Redis knows, both stores differ rightly.
pub(crate) async fn under_way(db: impl PgExecutor<'_>, performance: PerformanceId) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "select exists (select 1 from order_items i join orders o on o.id = i.order_id
            where o.performance_id = $1 and i.returned_ms is not null and i.released_ms is null)",
    )
    .bind(performance.0)
    .fetch_one(db)
    .await
}
