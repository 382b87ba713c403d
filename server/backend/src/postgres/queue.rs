//! What the waiting room keeps in Postgres: numbers that must not be lost with Redis, and admissions.

use domain::{AccountId, Millis, PerformanceId};
use sqlx::{PgExecutor, Row as _};

/// The checkpointed numbers of a queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueRow {
    pub(crate) joined: i64,
    pub(crate) lobby: Option<i64>,
    pub(crate) serving: i64,
}

pub(crate) async fn read(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<QueueRow> {
    let row = sqlx::query("select joined, lobby, serving from queue_state where performance_id = $1")
        .bind(id.0)
        .fetch_optional(db)
        .await?;
    row.map_or(Ok(QueueRow::default()), |row| {
        Ok(QueueRow { joined: row.try_get("joined")?, lobby: row.try_get("lobby")?, serving: row.try_get("serving")? })
    })
}

/// Writes a checkpoint of a leader's term. Numbers never fall, the lobby is frozen once.
pub(crate) async fn checkpoint(
    db: impl PgExecutor<'_>,
    id: PerformanceId,
    term: i64,
    row: QueueRow,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update queue_state set joined = greatest(joined, $3), lobby = coalesce(lobby, $4), serving = greatest(serving, $5), term = $2
         where performance_id = $1 and term <= $2",
    )
    .bind(id.0)
    .bind(term)
    .bind(row.joined)
    .bind(row.lobby)
    .bind(row.serving)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// A visit, as it is restored after a loss of Redis.
pub(crate) struct AdmissionRow {
    pub(crate) account: AccountId,
    pub(crate) nonce: String,
    pub(crate) expires: Millis,
}

/// Visits that have not ended.
pub(crate) async fn admissions(
    db: impl PgExecutor<'_>,
    id: PerformanceId,
    now: Millis,
) -> sqlx::Result<Vec<AdmissionRow>> {
    sqlx::query("select account_id, nonce, expires_ms from admissions where performance_id = $1 and expires_ms > $2 and left_ms is null")
        .bind(id.0)
        .bind(now.0)
        .fetch_all(db)
        .await?
        .iter()
        .map(|row| {
            Ok(AdmissionRow {
                account: AccountId(row.try_get("account_id")?),
                nonce: row.try_get("nonce")?,
                expires: Millis(row.try_get("expires_ms")?),
            })
        })
        .collect()
}
