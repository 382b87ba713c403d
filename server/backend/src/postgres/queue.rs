//! What the waiting room keeps in Postgres: numbers and arrivals that must not be lost with Redis, and
//! admissions.

use domain::{AccountId, Millis, PerformanceId};
use sqlx::{PgExecutor, Row as _};

/// The checkpointed numbers of a queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueueRow {
    pub(crate) joined: i64,
    /// Most numbers that were given between two checkpoints.
    pub(crate) joined_step: i64,
    pub(crate) lobby: Option<i64>,
    pub(crate) serving: i64,
    /// What the door's controller remembers; empty for nothing.
    pub(crate) control: String,
    /// The window of a lottery, as the store keeps it; empty for none.
    pub(crate) window: String,
}

pub(crate) async fn read(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<QueueRow> {
    let row = sqlx::query(
        "select joined, joined_step, lobby, serving, control, lottery_window from queue_state where performance_id = $1",
    )
    .bind(id.0)
    .fetch_optional(db)
    .await?;
    row.map_or(Ok(QueueRow::default()), |row| {
        Ok(QueueRow {
            joined: row.try_get("joined")?,
            joined_step: row.try_get("joined_step")?,
            lobby: row.try_get("lobby")?,
            serving: row.try_get("serving")?,
            control: row.try_get("control")?,
            window: row.try_get("lottery_window")?,
        })
    })
}

/// Writes a checkpoint of a leader's term. Numbers never fall, the lobby is frozen once.
pub(crate) async fn checkpoint(
    db: impl PgExecutor<'_>,
    id: PerformanceId,
    term: i64,
    row: &QueueRow,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update queue_state set
            joined_step = greatest(joined_step, least($3 - joined, $8)), joined = greatest(joined, $3),
            lobby = coalesce(lobby, $4), serving = greatest(serving, $5), control = $6, lottery_window = $7, term = $2
         where performance_id = $1 and term <= $2",
    )
    .bind(id.0)
    .bind(term)
    .bind(row.joined)
    .bind(row.lobby)
    .bind(row.serving)
    .bind(&row.control)
    .bind(&row.window)
    .bind(row.joined_step)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// How many arrival numbers are written, from 0 on.
pub(crate) async fn arrivals_written(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<i64> {
    sqlx::query_scalar(
        "select coalesce((select first + length(accounts) / 16 from queue_arrivals
            where performance_id = $1 order by first desc limit 1), 0)::bigint",
    )
    .bind(id.0)
    .fetch_one(db)
    .await
}

/// Adds a stretch of arrivals behind those that are written. Two leaders that add the same stretch add it once.
pub(crate) async fn add_arrivals(
    db: impl PgExecutor<'_>,
    id: PerformanceId,
    first: i64,
    accounts: &[u8],
) -> sqlx::Result<()> {
    sqlx::query(
        "insert into queue_arrivals (performance_id, first, accounts) values ($1, $2, $3)
         on conflict (performance_id, first) do nothing",
    )
    .bind(id.0)
    .bind(first)
    .bind(accounts)
    .execute(db)
    .await?;
    Ok(())
}

/// One stretch of arrivals.
pub(crate) struct ArrivalsRow {
    pub(crate) first: i64,
    pub(crate) accounts: Vec<u8>,
}

/// The stretch of arrivals that begins at a number or after it; none behind the last.
pub(crate) async fn arrivals_from(
    db: impl PgExecutor<'_>,
    id: PerformanceId,
    first: i64,
) -> sqlx::Result<Option<ArrivalsRow>> {
    let row = sqlx::query(
        "select first, accounts from queue_arrivals where performance_id = $1 and first >= $2 order by first limit 1",
    )
    .bind(id.0)
    .bind(first)
    .fetch_optional(db)
    .await?;
    row.map(|row| Ok(ArrivalsRow { first: row.try_get("first")?, accounts: row.try_get("accounts")? })).transpose()
}

/// Replaces the accounts of a stretch where those that were written lack somebody who came back since.
pub(crate) async fn put_arrivals(
    db: impl PgExecutor<'_>,
    id: PerformanceId,
    first: i64,
    accounts: &[u8],
) -> sqlx::Result<()> {
    sqlx::query(
        "update queue_arrivals set accounts = $3
         where performance_id = $1 and first = $2 and length(accounts) = length($3) and accounts <> $3
            and not exists (select 1 from queue_state where performance_id = $1 and list_digest is not null)",
    )
    .bind(id.0)
    .bind(first)
    .bind(accounts)
    .execute(db)
    .await?;
    Ok(())
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
