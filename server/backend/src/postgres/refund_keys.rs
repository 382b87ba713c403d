//! The calls that ask a provider for a refund, by our name of the refund. What they mean for its key is decided by
//! `refunds/calling.rs`.

use domain::Millis;
use sqlx::{PgConnection, PgExecutor, Row as _};

/// The calls under the key in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Calls {
    /// Which key that is.
    pub(crate) generation: i32,
    /// Answers of 500 in a row.
    pub(crate) faults: i32,
    /// Since when these are counted.
    pub(crate) since: Millis,
    /// When calls began that have no answer, each instant once.
    pub(crate) open: Vec<i64>,
}

/// The calls of a refund, which nobody else changes until this transaction ends. There are none at first.
pub(crate) async fn lock(db: &mut PgConnection, reference: &str, now: Millis) -> sqlx::Result<Calls> {
    sqlx::query("insert into refund_keys (reference, since_ms) values ($1, $2) on conflict (reference) do nothing")
        .bind(reference)
        .bind(now.0)
        .execute(&mut *db)
        .await?;
    let row =
        sqlx::query("select generation, faults, since_ms, open_ms from refund_keys where reference = $1 for update")
            .bind(reference)
            .fetch_one(&mut *db)
            .await?;
    Ok(Calls {
        generation: row.try_get("generation")?,
        faults: row.try_get("faults")?,
        since: Millis(row.try_get("since_ms")?),
        open: row.try_get("open_ms")?,
    })
}

/// Writes the calls of a refund, which [`lock`] has read.
pub(crate) async fn save(db: impl PgExecutor<'_>, reference: &str, calls: &Calls) -> sqlx::Result<()> {
    sqlx::query(
        "update refund_keys set generation = $2, faults = $3, since_ms = $4, open_ms = $5 where reference = $1",
    )
    .bind(reference)
    .bind(calls.generation)
    .bind(calls.faults)
    .bind(calls.since.0)
    .bind(&calls.open)
    .execute(db)
    .await?;
    Ok(())
}
