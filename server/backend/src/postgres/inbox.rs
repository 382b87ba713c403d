//! The payment inbox: what providers told us, stored before it is acknowledged.

use domain::Millis;
use serde_json::Value;
use sqlx::{PgExecutor, Row as _};

/// Stores an event; `false` when it was there.
pub(crate) async fn insert(
    db: impl PgExecutor<'_>,
    provider: &str,
    event: &str,
    body: &Value,
    now: Millis,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "insert into payment_inbox (provider, event_id, body, received_ms, next_try_ms) values ($1, $2, $3, $4, $4)
         on conflict (provider, event_id) do nothing",
    )
    .bind(provider)
    .bind(event)
    .bind(body)
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// An event that waits to be applied.
#[derive(Debug)]
pub(crate) struct InboxRow {
    pub(crate) provider: String,
    pub(crate) event: String,
    pub(crate) body: Value,
}

/// Takes events that are due, and sets when each is due again should this worker not finish.
pub(crate) async fn take_due(db: impl PgExecutor<'_>, now: Millis, most: i64) -> sqlx::Result<Vec<InboxRow>> {
    sqlx::query(
        "with due as (
            select provider, event_id from payment_inbox where applied_ms is null and next_try_ms <= $1
            order by next_try_ms limit $2 for update skip locked)
         update payment_inbox i set tries = tries + 1, next_try_ms = $1 + least(60000, 2000 * (1 << least(tries, 5)))
         from due where i.provider = due.provider and i.event_id = due.event_id returning i.*",
    )
    .bind(now.0)
    .bind(most)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        Ok(InboxRow { provider: row.try_get("provider")?, event: row.try_get("event_id")?, body: row.try_get("body")? })
    })
    .collect()
}

/// Marks events as applied.
pub(crate) async fn applied(db: impl PgExecutor<'_>, provider: &str, event: &str, now: Millis) -> sqlx::Result<()> {
    sqlx::query("update payment_inbox set applied_ms = $3, error = null where provider = $1 and event_id = $2 and applied_ms is null")
        .bind(provider)
        .bind(event)
        .bind(now.0)
        .execute(db)
        .await?;
    Ok(())
}

/// Notes why an event could not be applied yet.
pub(crate) async fn failed(db: impl PgExecutor<'_>, provider: &str, event: &str, error: &str) -> sqlx::Result<()> {
    sqlx::query("update payment_inbox set error = $3 where provider = $1 and event_id = $2")
        .bind(provider)
        .bind(event)
        .bind(error)
        .execute(db)
        .await?;
    Ok(())
}

/// How many events wait.
pub(crate) async fn waiting(db: impl PgExecutor<'_>) -> sqlx::Result<i64> {
    sqlx::query_scalar("select count(*) from payment_inbox where applied_ms is null").fetch_one(db).await
}
