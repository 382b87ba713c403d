//! Cancelled performances: which orders are to be refunded, and how far that is.

use super::setbacks::LeftOut;
use domain::{AccountId, Millis, OrderId, OrganizationId, PerformanceId, RefundId};
use sqlx::{PgConnection, PgExecutor, Row as _};

/// Whether a performance was cancelled.
pub(crate) async fn is_cancelled(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<bool> {
    sqlx::query_scalar("select exists (select 1 from performances where id = $1 and cancelled_ms is not null)")
        .bind(id.0)
        .fetch_one(db)
        .await
}

/// Cancels a performance; `false` when it was before. Its refunds begin by themselves.
pub(crate) async fn begin(
    db: &mut PgConnection,
    id: PerformanceId,
    by: Option<AccountId>,
    now: Millis,
) -> sqlx::Result<bool> {
    let done = sqlx::query("update performances set cancelled_ms = $2 where id = $1 and cancelled_ms is null")
        .bind(id.0)
        .bind(now.0)
        .execute(&mut *db)
        .await?;
    if done.rows_affected() != 1 {
        return Ok(false);
    }
    sqlx::query("insert into refund_batches (performance_id, cancelled_by, cancelled_ms) values ($1, $2, $3)")
        .bind(id.0)
        .bind(by.map(|account| account.0))
        .bind(now.0)
        .execute(db)
        .await?;
    Ok(true)
}

/// Paid orders of cancelled performances that nobody has looked at, the oldest first.
pub(crate) async fn unlisted(
    db: impl PgExecutor<'_>,
    out: &LeftOut,
    most: i64,
) -> sqlx::Result<Vec<(PerformanceId, OrderId)>> {
    sqlx::query(
        "select o.performance_id, o.id from refund_batches b
         join orders o on o.performance_id = b.performance_id and o.status in ('paid', 'fulfilled')
         where b.done_ms is null and not exists (select 1 from refund_batch_orders d
            where d.performance_id = o.performance_id and d.order_id = o.id)
            and not exists (select 1 from setbacks s
                where s.job = $2 and s.subject = o.id and s.next_try_ms > $3)
         order by o.paid_ms limit $1",
    )
    .bind(most)
    .bind(out.job.as_str())
    .bind(out.now.0)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| Ok((PerformanceId(row.try_get("performance_id")?), OrderId(row.try_get("id")?))))
    .collect()
}

/// Takes an order into the batch; `false` when it is in it.
pub(crate) async fn list(
    db: impl PgExecutor<'_>,
    id: PerformanceId,
    order: OrderId,
    failure: Option<&str>,
    now: Millis,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "insert into refund_batch_orders (performance_id, order_id, failure, at_ms) values ($1, $2, $3, $4)
         on conflict (performance_id, order_id) do nothing",
    )
    .bind(id.0)
    .bind(order.0)
    .bind(failure)
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Notes the refund of an order.
pub(crate) async fn set_refund(
    db: impl PgExecutor<'_>,
    id: PerformanceId,
    order: OrderId,
    refund: RefundId,
) -> sqlx::Result<()> {
    sqlx::query("update refund_batch_orders set refund_id = $3 where performance_id = $1 and order_id = $2")
        .bind(id.0)
        .bind(order.0)
        .bind(refund.0)
        .execute(db)
        .await?;
    Ok(())
}

/// The batch follows from a failed refund to the one by which it is tried again.
pub(crate) async fn follow(db: impl PgExecutor<'_>, failed: RefundId, again: RefundId) -> sqlx::Result<()> {
    sqlx::query("update refund_batch_orders set refund_id = $2 where refund_id = $1")
        .bind(failed.0)
        .bind(again.0)
        .execute(db)
        .await?;
    Ok(())
}

/// Ends the batches in which no order is left, and none can be paid any more: an order is paid only after it was
/// being paid, and that can't begin once its performance is cancelled.
pub(crate) async fn finish(db: impl PgExecutor<'_>, now: Millis) -> sqlx::Result<()> {
    sqlx::query(
        "update refund_batches b set done_ms = $1 where b.done_ms is null
            and not exists (select 1 from orders o where o.performance_id = b.performance_id
                and o.status in ('pending_payment', 'payment_processing'))
            and not exists (select 1 from orders o where o.performance_id = b.performance_id
                and o.status in ('paid', 'fulfilled') and not exists (select 1 from refund_batch_orders d
                    where d.performance_id = o.performance_id and d.order_id = o.id))",
    )
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(())
}

/// Looks again at the orders whose refund failed, or could not be reserved; `false` where there is no batch.
pub(crate) async fn again(db: &mut PgConnection, id: PerformanceId) -> sqlx::Result<bool> {
    let done = sqlx::query("update refund_batches set done_ms = null where performance_id = $1")
        .bind(id.0)
        .execute(&mut *db)
        .await?;
    if done.rows_affected() != 1 {
        return Ok(false);
    }
    sqlx::query(
        "delete from refund_batch_orders d using orders o
         where d.performance_id = $1 and o.id = d.order_id and o.status in ('paid', 'fulfilled')
            and (d.failure is not null or exists (select 1 from refunds r
                where r.id = d.refund_id and r.status = 'failed' and r.retried_as is null))",
    )
    .bind(id.0)
    .execute(db)
    .await?;
    Ok(true)
}

/// Looks once more at an order of a cancelled performance, of which money came back to us; nothing where it is in
/// no batch yet.
pub(crate) async fn relist(db: &mut PgConnection, id: PerformanceId, order: OrderId) -> sqlx::Result<()> {
    sqlx::query("update refund_batches set done_ms = null where performance_id = $1")
        .bind(id.0)
        .execute(&mut *db)
        .await?;
    sqlx::query("delete from refund_batch_orders where performance_id = $1 and order_id = $2")
        .bind(id.0)
        .bind(order.0)
        .execute(db)
        .await?;
    Ok(())
}

/// How far a batch is.
pub(crate) struct BatchRow {
    pub(crate) cancelled: Millis,
    /// Address of who cancelled.
    pub(crate) by: Option<String>,
    pub(crate) orders: i64,
    pub(crate) reserved: i64,
    pub(crate) pending: i64,
    pub(crate) succeeded: i64,
    pub(crate) failed: i64,
    pub(crate) returned_minor: i64,
    /// Whether no order is left to be looked at.
    pub(crate) listed: bool,
}

/// How far the batch of a performance is; none where it was not cancelled.
pub(crate) async fn one(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<Option<BatchRow>> {
    let row = sqlx::query(
        "select b.cancelled_ms, b.done_ms is not null as listed, a.email, s.*,
            (select count(*) from orders o where o.performance_id = b.performance_id
                and o.status in ('paid', 'fulfilled') and not exists (select 1 from refund_batch_orders d
                    where d.performance_id = o.performance_id and d.order_id = o.id)) as unlisted
         from refund_batches b left join accounts a on a.id = b.cancelled_by
         cross join lateral (
            select count(*) as listed_orders, count(d.refund_id) as reserved,
                count(*) filter (where r.status in ('requested', 'approved', 'submitted')) as pending,
                count(*) filter (where r.status = 'succeeded') as succeeded,
                count(*) filter (where d.failure is not null
                    or (r.status = 'failed' and r.retried_as is null)) as failed,
                coalesce(sum(r.amount_minor) filter (where r.status = 'succeeded'), 0)::bigint as returned_minor
            from refund_batch_orders d left join refunds r on r.id = d.refund_id
            where d.performance_id = b.performance_id) s
         where b.performance_id = $1",
    )
    .bind(id.0)
    .fetch_optional(db)
    .await?;
    row.map(|row| {
        Ok(BatchRow {
            cancelled: Millis(row.try_get("cancelled_ms")?),
            by: row.try_get("email")?,
            orders: row.try_get::<i64, _>("listed_orders")? + row.try_get::<i64, _>("unlisted")?,
            reserved: row.try_get("reserved")?,
            pending: row.try_get("pending")?,
            succeeded: row.try_get("succeeded")?,
            failed: row.try_get("failed")?,
            returned_minor: row.try_get("returned_minor")?,
            listed: row.try_get("listed")?,
        })
    })
    .transpose()
}

/// Orders of a performance with money that is not given back, and their money in minor units.
pub(crate) async fn paid(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<(i64, i64)> {
    let row = sqlx::query(
        "select count(*) filter (where kept > 0) as orders,
            coalesce(sum(kept) filter (where kept > 0), 0)::bigint as minor
         from (select (select coalesce(sum(a.amount_minor), 0) from attempts a
                    where a.order_id = o.id and a.status in ('captured', 'refunded'))
                - (select coalesce(sum(r.amount_minor), 0) from attempts a join refunds r on r.attempt_id = a.id
                    where a.order_id = o.id and r.status = 'succeeded') as kept
            from orders o where o.performance_id = $1 and o.status in ('paid', 'fulfilled')) money",
    )
    .bind(id.0)
    .fetch_one(db)
    .await?;
    Ok((row.try_get("orders")?, row.try_get("minor")?))
}

/// The seats of an order.
pub(crate) async fn seats(db: impl PgExecutor<'_>, order: OrderId) -> sqlx::Result<Vec<i32>> {
    sqlx::query_scalar("select seat_no from order_items where order_id = $1").bind(order.0).fetch_all(db).await
}

/// The title of an organization's performance: typed once more by who cancels it.
pub(crate) async fn title(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    id: PerformanceId,
) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar(
        "select e.title from performances p join events e on e.id = p.event_id
         where p.id = $1 and e.organization_id = $2",
    )
    .bind(id.0)
    .bind(organization.0)
    .fetch_optional(db)
    .await
}
