//! Orders that have closed and whose money came late: their seats, claimed once more.

use super::refunds::seat;
use domain::{AccountId, Millis, OrderId, PerformanceId, SeatNo};
use sqlx::{PgExecutor, Row as _};

/// What a closed order had chosen, and when.
pub(crate) struct ChosenRow {
    /// Ascending.
    pub(crate) seats: Vec<SeatNo>,
    pub(crate) price_version: i32,
    pub(crate) created: Millis,
}

/// What an order had chosen.
pub(crate) async fn chosen(db: impl PgExecutor<'_>, order: OrderId) -> sqlx::Result<Option<ChosenRow>> {
    let row = sqlx::query(
        "select o.price_version, o.created_ms,
            array(select i.seat_no from order_items i where i.order_id = o.id order by i.seat_no) as seats
         from orders o where o.id = $1",
    )
    .bind(order.0)
    .fetch_optional(db)
    .await?;
    row.map(|row| {
        let seats: Vec<i32> = row.try_get("seats")?;
        Ok(ChosenRow {
            seats: seats.into_iter().map(seat).collect::<sqlx::Result<_>>()?,
            price_version: row.try_get("price_version")?,
            created: Millis(row.try_get("created_ms")?),
        })
    })
    .transpose()
}

/// Claims every seat of an order; `false` when another order has one of them: then nothing of the transaction may
/// stay.
pub(crate) async fn claim(db: impl PgExecutor<'_>, performance: PerformanceId, order: OrderId) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "with wanted as (select seat_no from order_items where order_id = $2),
         claimed as (
            insert into seat_claims (performance_id, seat_no, order_id)
            select $1, seat_no, $2 from wanted order by seat_no
            on conflict (performance_id, seat_no) do nothing returning seat_no)
         select (select count(*) from wanted) = (select count(*) from claimed)",
    )
    .bind(performance.0)
    .bind(order.0)
    .fetch_one(db)
    .await
}

/// Whether the fan gave the seats of an order back, as its use-case notes it or the order writer: whoever is first.
pub(crate) async fn given_up(db: impl PgExecutor<'_>, order: OrderId) -> sqlx::Result<bool> {
    sqlx::query_scalar("select exists (select 1 from order_audit where order_id = $1 and event = 'cancel')")
        .bind(order.0)
        .fetch_one(db)
        .await
}

/// Makes a reclaimed order one whose seats are still to be marked sold, and, if it is refunded once, to be released.
/// Whether it is paid.
pub(crate) async fn revive(db: impl PgExecutor<'_>, order: OrderId) -> sqlx::Result<bool> {
    let done =
        sqlx::query("update orders set released_ms = null, confirmed_ms = null where id = $1 and status = 'paid'")
            .bind(order.0)
            .execute(db)
            .await?;
    Ok(done.rows_affected() == 1)
}

/// Has the release job look once more whether anything is left of a closed order's hold: a process that died may
/// have taken its seats.
pub(crate) async fn release_again(db: impl PgExecutor<'_>, order: OrderId) -> sqlx::Result<()> {
    sqlx::query("update orders set released_ms = null where id = $1 and status = 'closed'")
        .bind(order.0)
        .execute(db)
        .await?;
    Ok(())
}

/// The accounts of closed orders whose late money may have their seats in Redis at this moment, or had.
pub(crate) async fn undecided(db: impl PgExecutor<'_>, performance: PerformanceId) -> sqlx::Result<Vec<AccountId>> {
    let accounts: Vec<uuid::Uuid> = sqlx::query_scalar(
        "select distinct o.account_id from orders o where o.performance_id = $1 and o.status = 'closed'
            and (o.released_ms is null or exists (select 1 from attempts a
                where a.order_id = o.id and (a.status in ('created', 'open', 'authorized')
                    or (a.status = 'canceled' and a.late_money_ms is not null))))",
    )
    .bind(performance.0)
    .fetch_all(db)
    .await?;
    Ok(accounts.into_iter().map(AccountId).collect())
}
