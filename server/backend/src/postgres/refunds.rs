//! Refunds: reserved in the transaction that decides them, submitted afterwards.

use super::catalog::currency;
use domain::{AttemptId, Currency, Millis};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, PgExecutor, Row as _};
use uuid::Uuid;

/// A refund that is due.
#[derive(Debug)]
pub(crate) struct RefundRow {
    pub(crate) id: Uuid,
    pub(crate) attempt: AttemptId,
    pub(crate) amount_minor: i64,
    pub(crate) currency: Currency,
    /// The provider that took the money.
    pub(crate) provider: String,
    pub(crate) provider_ref: Option<String>,
    pub(crate) payment_ref: Option<String>,
}

fn refund(row: &PgRow) -> sqlx::Result<RefundRow> {
    Ok(RefundRow {
        id: row.try_get("id")?,
        attempt: AttemptId(row.try_get("attempt_id")?),
        amount_minor: row.try_get("amount_minor")?,
        currency: currency(row, "currency")?,
        provider: row.try_get("provider")?,
        provider_ref: row.try_get("provider_ref")?,
        payment_ref: row.try_get("payment_ref")?,
    })
}

/// Reserves a refund of the whole attempt, unless there is one: money goes back once. It is submitted
/// at `due`; after a failed refund that is a while later.
pub(crate) async fn reserve_whole(
    db: &mut PgConnection,
    id: Uuid,
    attempt: AttemptId,
    reason: &str,
    now: Millis,
    due: Millis,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "insert into refunds (id, attempt_id, amount_minor, currency, reason, status, created_ms, next_try_ms)
         select $1, a.id, a.amount_minor, a.currency, $3, 'requested', $4, $5 from attempts a
         where a.id = $2 and not exists (select 1 from refunds r where r.attempt_id = a.id and r.status <> 'failed')",
    )
    .bind(id)
    .bind(attempt.0)
    .bind(reason)
    .bind(now.0)
    .bind(due.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Takes refunds that are due, and sets when each is due again.
pub(crate) async fn take_due(db: impl PgExecutor<'_>, now: Millis, most: i64) -> sqlx::Result<Vec<RefundRow>> {
    sqlx::query(
        "with due as (
            select id from refunds where status in ('requested', 'submitted') and next_try_ms <= $1
            order by next_try_ms limit $2 for update skip locked)
         update refunds r set tries = tries + 1, next_try_ms = $1 + least(30000, 1000 * (1 << least(r.tries, 5)))
         from due, attempts a where r.id = due.id and a.id = r.attempt_id returning r.*, a.provider, a.provider_ref as payment_ref",
    )
    .bind(now.0)
    .bind(most)
    .fetch_all(db)
    .await?
    .iter()
    .map(refund)
    .collect()
}

/// Notes that the provider has it.
pub(crate) async fn submitted(db: impl PgExecutor<'_>, id: Uuid, provider_ref: &str) -> sqlx::Result<()> {
    sqlx::query("update refunds set status = 'submitted', provider_ref = $2 where id = $1 and status in ('requested', 'submitted')")
        .bind(id)
        .bind(provider_ref)
        .execute(db)
        .await?;
    Ok(())
}

/// Ends a refund; `false` when it had ended.
pub(crate) async fn finish(db: impl PgExecutor<'_>, id: Uuid, succeeded: bool) -> sqlx::Result<bool> {
    let done = sqlx::query("update refunds set status = $2 where id = $1 and status in ('requested', 'submitted')")
        .bind(id)
        .bind(if succeeded { "succeeded" } else { "failed" })
        .execute(db)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// How many refunds of an attempt failed.
pub(crate) async fn failed(db: impl PgExecutor<'_>, attempt: AttemptId) -> sqlx::Result<i64> {
    sqlx::query_scalar("select count(*) from refunds where attempt_id = $1 and status = 'failed'")
        .bind(attempt.0)
        .fetch_one(db)
        .await
}

/// Marks an attempt as refunded in full.
pub(crate) async fn mark_attempt(db: impl PgExecutor<'_>, attempt: AttemptId) -> sqlx::Result<()> {
    sqlx::query("update attempts set status = 'refunded' where id = $1 and status = 'captured'")
        .bind(attempt.0)
        .execute(db)
        .await?;
    Ok(())
}

/// The refund that a provider knows under this id, with its status.
pub(crate) async fn by_reference(
    db: impl PgExecutor<'_>,
    provider: &str,
    provider_ref: &str,
) -> sqlx::Result<Option<(RefundRow, String)>> {
    sqlx::query(
        "select r.*, a.provider, a.provider_ref as payment_ref from refunds r join attempts a on a.id = r.attempt_id
         where a.provider = $1 and r.provider_ref = $2",
    )
    .bind(provider)
    .bind(provider_ref)
    .fetch_optional(db)
    .await?
    .as_ref()
    .map(|row| Ok((refund(row)?, row.try_get("status")?)))
    .transpose()
}

/// Takes a success back: the money is with us again. `false` when it had not succeeded.
pub(crate) async fn fail_after_success(db: impl PgExecutor<'_>, id: Uuid) -> sqlx::Result<bool> {
    let done = sqlx::query("update refunds set status = 'failed' where id = $1 and status = 'succeeded'")
        .bind(id)
        .execute(db)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Reserves what a failed refund was to give back once more, under an id of its own.
pub(crate) async fn reserve_again(
    db: impl PgExecutor<'_>,
    id: Uuid,
    failed: Uuid,
    now: Millis,
    due: Millis,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "insert into refunds (id, attempt_id, amount_minor, currency, reason, status, created_ms, next_try_ms)
         select $1, attempt_id, amount_minor, currency, reason, 'requested', $3, $4 from refunds
         where id = $2 and status = 'failed'",
    )
    .bind(id)
    .bind(failed)
    .bind(now.0)
    .bind(due.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// An attempt whose refund came back is captured again.
pub(crate) async fn unmark_attempt(db: impl PgExecutor<'_>, attempt: AttemptId) -> sqlx::Result<()> {
    sqlx::query("update attempts set status = 'captured' where id = $1 and status = 'refunded'")
        .bind(attempt.0)
        .execute(db)
        .await?;
    Ok(())
}
