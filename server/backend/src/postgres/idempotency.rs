//! Requests that clients sent under keys of their own, and their answers.
//!
//! Each change is one statement and names what it expects: who is late changes nothing.

use super::catalog::bad;
use crate::idempotency::{KeptAnswer, Lease};
use domain::idempotency::{Fingerprint, Progress, Record};
use domain::{AccountId, Millis};
use sqlx::postgres::PgRow;
use sqlx::{PgExecutor, Row as _};

/// What is stored under a key.
pub(crate) struct Stored {
    pub(crate) record: Record,
    /// The answer, once there is one.
    pub(crate) answer: Option<KeptAnswer>,
}

/// What a request asks for, and until when it may run.
pub(crate) struct Asked<'a> {
    pub(crate) endpoint: &'a str,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) now: Millis,
    pub(crate) until: Millis,
}

fn stored(row: &PgRow) -> sqlx::Result<Stored> {
    let fingerprint: Vec<u8> = row.try_get("fingerprint")?;
    let answered: Option<i64> = row.try_get("answered_ms")?;
    let status: Option<i32> = row.try_get("status")?;
    let answer = status
        .map(|status| {
            Ok::<_, sqlx::Error>(KeptAnswer {
                status: u16::try_from(status).map_err(|e| bad("status", e))?,
                content_type: row.try_get("content_type")?,
                body: row.try_get("body")?,
            })
        })
        .transpose()?;
    Ok(Stored {
        record: Record {
            fingerprint: Fingerprint::of_bytes(&fingerprint).ok_or_else(|| bad("fingerprint", "not 32 bytes"))?,
            began: Millis(row.try_get("began_ms")?),
            progress: match answered {
                Some(_) => Progress::Answered,
                None => Progress::Running { until: Millis(row.try_get("until_ms")?) },
            },
        },
        answer,
    })
}

/// What is stored under a key, if anything is.
pub(crate) async fn find(db: impl PgExecutor<'_>, lease: &Lease) -> sqlx::Result<Option<Stored>> {
    sqlx::query("select * from idempotency_keys where account_id = $1 and key_hash = $2")
        .bind(lease.account.0)
        .bind(&lease.key[..])
        .fetch_optional(db)
        .await?
        .as_ref()
        .map(stored)
        .transpose()
}

/// How many keys of an account are stored.
pub(crate) async fn count(db: impl PgExecutor<'_>, account: AccountId) -> sqlx::Result<i64> {
    sqlx::query_scalar("select count(*) from idempotency_keys where account_id = $1")
        .bind(account.0)
        .fetch_one(db)
        .await
}

/// Takes a free key; `false` when it is not free, or the account has as many as it may.
pub(crate) async fn insert(db: impl PgExecutor<'_>, lease: &Lease, asked: &Asked<'_>, most: i64) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "insert into idempotency_keys (account_id, key_hash, endpoint, fingerprint, lease, until_ms, began_ms)
         select $1, $2, $3, $4, $5, $6, $7
         where (select count(*) from idempotency_keys where account_id = $1) < $8
         on conflict (account_id, key_hash) do nothing",
    )
    .bind(lease.account.0)
    .bind(&lease.key[..])
    .bind(asked.endpoint)
    .bind(&asked.fingerprint.to_bytes()[..])
    .bind(lease.id)
    .bind(asked.until.0)
    .bind(asked.now.0)
    .bind(most)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Takes a key whose answer is kept no longer; `false` when somebody else did.
pub(crate) async fn renew(
    db: impl PgExecutor<'_>,
    lease: &Lease,
    asked: &Asked<'_>,
    began: Millis,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update idempotency_keys set endpoint = $3, fingerprint = $4, lease = $5, until_ms = $6, began_ms = $7,
            answered_ms = null, status = null, content_type = null, body = null
         where account_id = $1 and key_hash = $2 and answered_ms is not null and began_ms = $8",
    )
    .bind(lease.account.0)
    .bind(&lease.key[..])
    .bind(asked.endpoint)
    .bind(&asked.fingerprint.to_bytes()[..])
    .bind(lease.id)
    .bind(asked.until.0)
    .bind(asked.now.0)
    .bind(began.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Takes the place of who has gone; `false` when somebody else did, or the answer came after all.
pub(crate) async fn take_over(
    db: impl PgExecutor<'_>,
    lease: &Lease,
    until: Millis,
    from: Millis,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update idempotency_keys set lease = $3, until_ms = $4
         where account_id = $1 and key_hash = $2 and answered_ms is null and until_ms = $5",
    )
    .bind(lease.account.0)
    .bind(&lease.key[..])
    .bind(lease.id)
    .bind(until.0)
    .bind(from.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Keeps the answer; `false` when another has taken over meanwhile.
pub(crate) async fn answer(
    db: impl PgExecutor<'_>,
    lease: &Lease,
    answer: &KeptAnswer,
    now: Millis,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update idempotency_keys set answered_ms = $4, status = $5, content_type = $6, body = $7
         where account_id = $1 and key_hash = $2 and lease = $3 and answered_ms is null",
    )
    .bind(lease.account.0)
    .bind(&lease.key[..])
    .bind(lease.id)
    .bind(now.0)
    .bind(i32::from(answer.status))
    .bind(&answer.content_type)
    .bind(&answer.body)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Ends a lease without an answer: the same request may be carried out again at once.
pub(crate) async fn give_up(db: impl PgExecutor<'_>, lease: &Lease, now: Millis) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update idempotency_keys set until_ms = least(until_ms, $4)
         where account_id = $1 and key_hash = $2 and lease = $3 and answered_ms is null",
    )
    .bind(lease.account.0)
    .bind(&lease.key[..])
    .bind(lease.id)
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Forgets answers of requests that began before one instant, and requests that nobody finished whose lease
/// ended before another. Answers how many.
pub(crate) async fn forget(db: impl PgExecutor<'_>, began: Millis, unfinished: Millis, most: i64) -> sqlx::Result<u64> {
    let done = sqlx::query(
        "with old as (
            select account_id, key_hash from idempotency_keys
            where (answered_ms is not null and began_ms <= $1) or (answered_ms is null and until_ms <= $2)
            limit $3 for update skip locked)
         delete from idempotency_keys k using old where k.account_id = old.account_id and k.key_hash = old.key_hash",
    )
    .bind(began.0)
    .bind(unfinished.0)
    .bind(most)
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}
