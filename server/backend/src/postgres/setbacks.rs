//! What jobs could not do for one thing: when each is tried again, and why it failed.
//!
//! A job's own query leaves out what is set back until later ([`LeftOut`]), so that what fails
//! holds up nothing behind it.

use super::outbox::storable;
use domain::Millis;
use sqlx::{PgExecutor, Row as _};
use uuid::Uuid;

/// Pause after the first failure, in milliseconds; it doubles with each.
const PAUSE_MS: i64 = 500;
/// Longest pause: what was mended is done within this time.
const PAUSE_MAX_MS: i64 = 60_000;
/// How long what only waits is left alone: others come first meanwhile.
const WAIT_MS: i64 = 1_000;
/// What was not tried for so long after its time is told as failing no more: whatever still fails is tried when its time
/// has come.
const TOLD_MS: i64 = 60_000;
/// What was not tried for so long after its time is nobody's work any more.
const FORGET_MS: i64 = 2 * TOLD_MS;

/// A job that goes through things one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    Issue,
    Confirm,
    Release,
    Return,
    TakeBack,
    Overdue,
    Cancelled,
    KeptSeats,
    Transfers,
    Invoices,
    CreditNotes,
}

impl Job {
    /// All of them.
    pub(crate) const ALL: [Self; 11] = [
        Self::Issue,
        Self::Confirm,
        Self::Release,
        Self::Return,
        Self::TakeBack,
        Self::Overdue,
        Self::Cancelled,
        Self::KeptSeats,
        Self::Transfers,
        Self::Invoices,
        Self::CreditNotes,
    ];

    /// The text form, as stored and as metrics have it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Issue => "issue",
            Self::Confirm => "confirm",
            Self::Release => "release",
            Self::Return => "return",
            Self::TakeBack => "take back",
            Self::Overdue => "overdue",
            Self::Cancelled => "cancelled",
            Self::KeptSeats => "kept seats",
            Self::Transfers => "transfers",
            Self::Invoices => "invoices",
            Self::CreditNotes => "credit notes",
        }
    }
}

/// What a job's query leaves out.
#[derive(Debug)]
pub(crate) struct LeftOut {
    /// What of this job is set back …
    pub(crate) job: Job,
    /// … until after this instant.
    pub(crate) now: Millis,
    /// Sales of which nothing can be done now.
    pub(crate) sales: Vec<Uuid>,
}

/// Notes that something failed: it is tried again after a pause, which doubles each time.
pub(crate) async fn note(
    db: impl PgExecutor<'_>,
    job: Job,
    subject: Uuid,
    error: &str,
    now: Millis,
) -> sqlx::Result<()> {
    sqlx::query(
        "insert into setbacks (job, subject, tries, next_try_ms, first_ms, last_ms, error)
         values ($1, $2, 1, $3::bigint + $5::bigint, $3, $3, $4)
         on conflict (job, subject) do update set tries = setbacks.tries + 1, last_ms = $3, error = $4,
            first_ms = case when setbacks.error is null then $3 else setbacks.first_ms end,
            next_try_ms = $3::bigint + least($6::bigint, $5::bigint * (1 << least(setbacks.tries, 7)))",
    )
    .bind(job.as_str())
    .bind(subject)
    .bind(now.0)
    .bind(storable(error))
    .bind(PAUSE_MS)
    .bind(PAUSE_MAX_MS)
    .execute(db)
    .await?;
    Ok(())
}

/// Leaves something alone for a moment that only waits: nothing is wrong with it.
pub(crate) async fn put_off(db: impl PgExecutor<'_>, job: Job, subject: Uuid, now: Millis) -> sqlx::Result<()> {
    sqlx::query(
        "insert into setbacks (job, subject, tries, next_try_ms, first_ms, last_ms) values ($1, $2, 0, $4, $3, $3)
         on conflict (job, subject) do update set tries = 0, next_try_ms = $4, last_ms = $3, error = null",
    )
    .bind(job.as_str())
    .bind(subject)
    .bind(now.0)
    .bind(now.plus(WAIT_MS).0)
    .execute(db)
    .await?;
    Ok(())
}

/// Forgets the failures of what was done.
pub(crate) async fn clear(db: impl PgExecutor<'_>, job: Job, subjects: &[Uuid]) -> sqlx::Result<()> {
    sqlx::query("delete from setbacks where job = $1 and subject = any($2)")
        .bind(job.as_str())
        .bind(subjects)
        .execute(db)
        .await?;
    Ok(())
}

/// Forgets what its job does not come to any more, because it was decided another way.
pub(crate) async fn forget(db: impl PgExecutor<'_>, now: Millis) -> sqlx::Result<()> {
    sqlx::query("delete from setbacks where next_try_ms < $1").bind(now.plus(-FORGET_MS).0).execute(db).await?;
    Ok(())
}

/// How much of each job fails and is tried again; jobs of which nothing does are left out.
pub(crate) async fn counts(db: impl PgExecutor<'_>, now: Millis) -> sqlx::Result<Vec<(String, i64)>> {
    sqlx::query(
        "select job, count(*) as failing from setbacks where error is not null and next_try_ms > $1 group by job",
    )
    .bind(now.plus(-TOLD_MS).0)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| Ok((row.try_get("job")?, row.try_get("failing")?)))
    .collect()
}

/// Something that fails and is tried again.
#[derive(Debug)]
pub(crate) struct SetbackRow {
    pub(crate) job: String,
    pub(crate) subject: Uuid,
    pub(crate) tries: i32,
    pub(crate) first: Millis,
    pub(crate) error: String,
}

/// What has failed for the longest time.
pub(crate) async fn oldest(db: impl PgExecutor<'_>, now: Millis, most: i64) -> sqlx::Result<Vec<SetbackRow>> {
    sqlx::query(
        "select job, subject, tries, first_ms, error from setbacks where error is not null and next_try_ms > $2
         order by first_ms, job, subject limit $1",
    )
    .bind(most)
    .bind(now.plus(-TOLD_MS).0)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        Ok(SetbackRow {
            job: row.try_get("job")?,
            subject: row.try_get("subject")?,
            tries: row.try_get("tries")?,
            first: Millis(row.try_get("first_ms")?),
            error: row.try_get("error")?,
        })
    })
    .collect()
}
