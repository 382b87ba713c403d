//! The numbers of the on-sale desk, samples of sales, and the settings of a running sale.

use super::catalog::bad;
use domain::organizer::desk::{DoorSample, MinuteSum, SaleSettings, Sample};
use domain::queue::control::Reason;
use domain::{Millis, PerformanceId};
use sqlx::postgres::PgRow;
use sqlx::{PgExecutor, Row as _};

fn count(row: &PgRow, column: &str) -> sqlx::Result<u32> {
    u32::try_from(row.try_get::<i64, _>(column)?).map_err(|e| bad(column, e))
}

fn small(row: &PgRow, column: &str) -> sqlx::Result<u32> {
    u32::try_from(row.try_get::<i32, _>(column)?).map_err(|e| bad(column, e))
}

/// The settings of a sale, locked until the transaction ends.
pub(crate) async fn lock_settings(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<Option<SaleSettings>> {
    let row = sqlx::query(
        "select registers_ms, opens_ms, closes_ms, paused, release_per_min, shoppers_max from performances where id = $1 for update",
    )
    .bind(id.0)
    .fetch_optional(db)
    .await?;
    row.map(|row| {
        Ok(SaleSettings {
            registers: row.try_get::<Option<i64>, _>("registers_ms")?.map_or(Millis(0), Millis),
            opens: Millis(row.try_get("opens_ms")?),
            closes: Millis(row.try_get("closes_ms")?),
            paused: row.try_get("paused")?,
            rate_per_min: small(&row, "release_per_min")?,
            shoppers_max: small(&row, "shoppers_max")?,
        })
    })
    .transpose()
}

/// Whether the lobby of a queue is frozen: from then on its opening stays as it was.
pub(crate) async fn frozen(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "select exists (select 1 from queue_state where performance_id = $1 and lobby is not null)
             or exists (select 1 from draws where performance_id = $1)",
    )
    .bind(id.0)
    .fetch_one(db)
    .await
}

/// Replaces the settings that stand; `false` when others do.
pub(crate) async fn put_settings(
    db: impl PgExecutor<'_>,
    id: PerformanceId,
    old: &SaleSettings,
    new: &SaleSettings,
) -> sqlx::Result<bool> {
    let small = |value: u32| i32::try_from(value).unwrap_or(i32::MAX);
    let done = sqlx::query(
        "update performances set opens_ms = $7, closes_ms = $8, paused = $9, release_per_min = $10, shoppers_max = $11,
            settings_version = settings_version + 1
         where id = $1 and opens_ms = $2 and closes_ms = $3 and paused = $4 and release_per_min = $5 and shoppers_max = $6",
    )
    .bind(id.0)
    .bind(old.opens.0)
    .bind(old.closes.0)
    .bind(old.paused)
    .bind(small(old.rate_per_min))
    .bind(small(old.shoppers_max))
    .bind(new.opens.0)
    .bind(new.closes.0)
    .bind(new.paused)
    .bind(small(new.rate_per_min))
    .bind(small(new.shoppers_max))
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Counts that change with every order.
pub(crate) struct CountsRow {
    pub(crate) admitted: u32,
    pub(crate) in_payment: u32,
    pub(crate) paid: u32,
    /// Paid since the instant that was asked for.
    pub(crate) paid_since: u32,
}

pub(crate) async fn counts(db: impl PgExecutor<'_>, id: PerformanceId, since: Millis) -> sqlx::Result<CountsRow> {
    let row = sqlx::query(
        "select (select count(*) from admissions where performance_id = $1) as admitted,
                (select count(*) from orders where performance_id = $1 and status = 'payment_processing') as in_payment,
                (select count(*) from orders where performance_id = $1 and paid_ms is not null
                    and status in ('paid', 'fulfilled')) as paid,
                (select count(*) from orders where performance_id = $1 and paid_ms > $2) as paid_since",
    )
    .bind(id.0)
    .bind(since.0)
    .fetch_one(db)
    .await?;
    Ok(CountsRow {
        admitted: count(&row, "admitted")?,
        in_payment: count(&row, "in_payment")?,
        paid: count(&row, "paid")?,
        paid_since: count(&row, "paid_since")?,
    })
}

/// The ledger's entries of what the organizer is owed for the paid orders of a performance, whatever they come
/// from: captures are negative there, refunds positive, from the moment at which they are reserved.
const OWED: &str = "
    with owed as (
        select l.at_ms, -l.amount_minor as minor from orders o
            join ledger_entries l on l.order_id = o.id and l.account = 'organizer_payable'
        where o.performance_id = $1 and o.paid_ms is not null)";

/// Captured minus refunded, in all and since an instant, in minor units.
pub(crate) async fn revenue(db: impl PgExecutor<'_>, id: PerformanceId, since: Millis) -> sqlx::Result<(i64, i64)> {
    let row = sqlx::query(sqlx::AssertSqlSafe(format!(
        "{OWED} select coalesce(sum(minor), 0)::bigint as total,
            coalesce(sum(minor) filter (where at_ms > $2), 0)::bigint as recent from owed"
    )))
    .bind(id.0)
    .bind(since.0)
    .fetch_one(db)
    .await?;
    Ok((row.try_get("total")?, row.try_get("recent")?))
}

/// What paid orders came to, by price zone, in minor units.
pub(crate) async fn revenue_by_zone(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<Vec<(u8, i64)>> {
    sqlx::query(
        "select i.category, sum(i.amount_minor)::bigint as minor from orders o
         join order_items i on i.order_id = o.id and i.returned_ms is null
         where o.performance_id = $1 and o.paid_ms is not null and o.status in ('paid', 'fulfilled') group by i.category",
    )
    .bind(id.0)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        let zone = u8::try_from(row.try_get::<i16, _>("category")?).map_err(|e| bad("category", e))?;
        Ok((zone, row.try_get("minor")?))
    })
    .collect()
}

/// Orders paid and money captured by minute of the clock; minutes without either are absent.
pub(crate) async fn minutes(db: impl PgExecutor<'_>, id: PerformanceId, since: Millis) -> sqlx::Result<Vec<MinuteSum>> {
    sqlx::query(sqlx::AssertSqlSafe(format!(
        "{OWED}, sums as (
            select at_ms / 60000 as minute, 0 as orders, minor from owed where at_ms >= $2
            union all
            select paid_ms / 60000, 1, 0 from orders where performance_id = $1 and paid_ms >= $2)
         select minute * 60000 as at_ms, sum(orders)::bigint as orders, sum(minor)::bigint as minor
         from sums group by minute order by minute"
    )))
    .bind(id.0)
    .bind(since.0)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        Ok(MinuteSum {
            at: Millis(row.try_get("at_ms")?),
            orders: count(row, "orders")?,
            revenue_minor: row.try_get("minor")?,
        })
    })
    .collect()
}

/// Adds a sample of a leader's term: one an instant, and none by a leader that was replaced.
pub(crate) async fn insert_sample(
    db: impl PgExecutor<'_>,
    id: PerformanceId,
    term: i64,
    sample: &Sample,
) -> sqlx::Result<bool> {
    let small = |value: u32| i32::try_from(value).unwrap_or(i32::MAX);
    let door = sample.door.as_ref();
    let done = sqlx::query(
        "insert into sale_samples (performance_id, at_ms, waiting, serving, shoppers, available, held, sold,
            rate_per_min, pace_per_min, show_up, hold_p99_ms, writer_lag_ms, pool_wait_ms, reason)
         select $1, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16
         from queue_state where performance_id = $1 and term <= $2
         on conflict (performance_id, at_ms) do nothing",
    )
    .bind(id.0)
    .bind(term)
    .bind(sample.at.0)
    .bind(small(sample.waiting))
    .bind(i64::from(sample.serving))
    .bind(small(sample.shoppers))
    .bind(small(sample.available))
    .bind(small(sample.held))
    .bind(small(sample.sold))
    .bind(door.map(|door| small(door.rate_per_min)))
    .bind(door.map(|door| small(door.pace_per_min)))
    .bind(door.map(|door| door.show_up))
    .bind(door.and_then(|door| door.hold_p99_ms))
    .bind(door.map(|door| small(door.writer_lag_ms)))
    .bind(door.and_then(|door| door.pool_wait_ms))
    .bind(door.and_then(|door| word(door.reason)))
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The stable word of a reason.
fn word(reason: Reason) -> Option<String> {
    match serde_json::to_value(reason) {
        Ok(serde_json::Value::String(word)) => Some(word),
        _ => None,
    }
}

/// The door's part of a sample; none in a row of an older program, or of a newer one with other reasons.
fn door(row: &PgRow) -> sqlx::Result<Option<DoorSample>> {
    let (Some(rate), Some(word)) =
        (row.try_get::<Option<i32>, _>("rate_per_min")?, row.try_get::<Option<String>, _>("reason")?)
    else {
        return Ok(None);
    };
    let Ok(reason) = serde_json::from_value::<Reason>(serde_json::Value::String(word)) else { return Ok(None) };
    let small = |value: Option<i32>| value.and_then(|value| u32::try_from(value).ok()).unwrap_or(0);
    // What is no number can't be shown, nor sent.
    let number = |column: &str| -> sqlx::Result<Option<f32>> {
        Ok(row.try_get::<Option<f32>, _>(column)?.filter(|value| value.is_finite()))
    };
    Ok(Some(DoorSample {
        rate_per_min: small(Some(rate)),
        pace_per_min: small(row.try_get("pace_per_min")?),
        show_up: number("show_up")?.unwrap_or(1.0),
        hold_p99_ms: number("hold_p99_ms")?,
        writer_lag_ms: small(row.try_get("writer_lag_ms")?),
        pool_wait_ms: number("pool_wait_ms")?,
        reason,
    }))
}

/// The door's part of the newest sample since an instant.
pub(crate) async fn last_door(
    db: impl PgExecutor<'_>,
    id: PerformanceId,
    since: Millis,
) -> sqlx::Result<Option<DoorSample>> {
    let row =
        sqlx::query("select * from sale_samples where performance_id = $1 and at_ms >= $2 order by at_ms desc limit 1")
            .bind(id.0)
            .bind(since.0)
            .fetch_optional(db)
            .await?;
    row.as_ref().map_or(Ok(None), door)
}

/// Forgets samples from before an instant.
pub(crate) async fn prune_samples(db: impl PgExecutor<'_>, before: Millis) -> sqlx::Result<u64> {
    Ok(sqlx::query("delete from sale_samples where at_ms < $1").bind(before.0).execute(db).await?.rows_affected())
}

/// The samples since an instant, by time.
pub(crate) async fn samples(db: impl PgExecutor<'_>, id: PerformanceId, since: Millis) -> sqlx::Result<Vec<Sample>> {
    sqlx::query("select * from sale_samples where performance_id = $1 and at_ms >= $2 order by at_ms")
        .bind(id.0)
        .bind(since.0)
        .fetch_all(db)
        .await?
        .iter()
        .map(|row| {
            Ok(Sample {
                at: Millis(row.try_get("at_ms")?),
                waiting: small(row, "waiting")?,
                serving: count(row, "serving")?,
                shoppers: small(row, "shoppers")?,
                available: small(row, "available")?,
                held: small(row, "held")?,
                sold: small(row, "sold")?,
                door: door(row)?,
            })
        })
        .collect()
}

/// The greatest maximum of shoppers that was replaced by another since an instant.
pub(crate) async fn maximum_since(
    db: impl PgExecutor<'_>,
    id: PerformanceId,
    since: Millis,
) -> sqlx::Result<Option<i64>> {
    sqlx::query_scalar(
        "select max((detail -> 'old' ->> 'shoppers_max')::bigint) from audit_log
         where subject = $1 and action = 'sale.maximum' and at_ms >= $2",
    )
    .bind(format!("performance {id}"))
    .bind(since.0)
    .fetch_one(db)
    .await
}
