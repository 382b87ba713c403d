//! The outbox: side effects written in the transaction that causes them, done afterwards.
//!
//! A worker claims rows for a while and does them outside of any transaction. The claim carries a lease that
//! nobody else has: only with it the outcome is noted. A row whose worker died is due again when its claim ends.

use domain::Millis;
use domain::account::MailView;
use serde_json::Value;
use sqlx::postgres::PgRow;
use sqlx::{PgExecutor, Row as _};
use uuid::Uuid;

/// Longest reason of a failure that is kept, in characters.
const ERROR_MAX_CHARS: usize = 500;

/// A side effect that one worker has in hand.
pub(crate) struct Claimed {
    pub(crate) id: i64,
    /// What the claim is known by.
    pub(crate) lease: Uuid,
    pub(crate) dedupe: String,
    pub(crate) payload: Value,
    /// How often it failed before.
    pub(crate) tries: i32,
    pub(crate) created: Millis,
    /// The endpoint of a webhook.
    pub(crate) endpoint: Option<Uuid>,
}

fn claimed(row: &PgRow) -> sqlx::Result<Claimed> {
    Ok(Claimed {
        id: row.try_get("id")?,
        lease: row.try_get("lease")?,
        dedupe: row.try_get("dedupe")?,
        payload: row.try_get("payload")?,
        tries: row.try_get("tries")?,
        created: Millis(row.try_get("created_ms")?),
        endpoint: row.try_get("endpoint_id")?,
    })
}

/// How a side effect ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The other side has it.
    Delivered,
    /// It is not tried again.
    GivenUp,
}

impl Outcome {
    /// The text form, as stored.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::GivenUp => "given_up",
        }
    }
}

/// Adds a side effect; a second one with the same `dedupe` is the same and adds nothing.
pub(crate) async fn insert(
    db: impl PgExecutor<'_>,
    kind: &str,
    dedupe: &str,
    payload: &Value,
    now: Millis,
) -> sqlx::Result<()> {
    sqlx::query(
        "insert into outbox (kind, dedupe, payload, created_ms, next_try_ms) values ($1, $2, $3, $4, $4)
         on conflict (dedupe) do nothing",
    )
    .bind(kind)
    .bind(dedupe)
    .bind(payload)
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(())
}

/// Claims mails that are due, until an instant.
pub(crate) async fn claim_mails(
    db: impl PgExecutor<'_>,
    lease: Uuid,
    now: Millis,
    until: Millis,
    most: i64,
) -> sqlx::Result<Vec<Claimed>> {
    sqlx::query(
        "with due as (
            select id from outbox where kind = 'mail' and done_ms is null and next_try_ms <= $1
            order by next_try_ms limit $2 for update skip locked)
         update outbox o set lease = $3, next_try_ms = $4 from due where o.id = due.id
         returning o.id, o.lease, o.dedupe, o.payload, o.tries, o.created_ms, o.endpoint_id",
    )
    .bind(now.0)
    .bind(most)
    .bind(lease)
    .bind(until.0)
    .fetch_all(db)
    .await?
    .iter()
    .map(claimed)
    .collect()
}

/// Claims webhooks that are due, until an instant: a few of each endpoint, and none of those that are busy, so
/// that a slow one takes no more than its share of the places.
pub(crate) async fn claim_webhooks(
    db: impl PgExecutor<'_>,
    lease: Uuid,
    (now, until): (Millis, Millis),
    busy: &[Uuid],
    most_of_each: i64,
    most: i64,
) -> sqlx::Result<Vec<Claimed>> {
    sqlx::query(
        "with due as (
            select d.id from webhook_endpoints w cross join lateral (
                select o.id from outbox o
                where o.kind = 'webhook' and o.done_ms is null and o.endpoint_id = w.id and o.next_try_ms <= $1
                order by o.next_try_ms limit $6 for update skip locked) d
            where w.id <> all($5) limit $2)
         update outbox o set lease = $3, next_try_ms = $4 from due where o.id = due.id
         returning o.id, o.lease, o.dedupe, o.payload, o.tries, o.created_ms, o.endpoint_id",
    )
    .bind(now.0)
    .bind(most)
    .bind(lease)
    .bind(until.0)
    .bind(busy)
    .bind(most_of_each)
    .fetch_all(db)
    .await?
    .iter()
    .map(claimed)
    .collect()
}

/// Ends a side effect; `false` when the claim was lost: it was in hand for too long, or was ended otherwise.
pub(crate) async fn finish(
    db: impl PgExecutor<'_>,
    row: &Claimed,
    outcome: Outcome,
    error: Option<&str>,
    now: Millis,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update outbox set done_ms = $3, outcome = $4, error = $5, lease = null
         where id = $1 and lease = $2 and done_ms is null",
    )
    .bind(row.id)
    .bind(row.lease)
    .bind(now.0)
    .bind(outcome.as_str())
    .bind(error.map(storable))
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Puts a side effect off after a failure; `false` when the claim was lost.
pub(crate) async fn retry(db: impl PgExecutor<'_>, row: &Claimed, error: &str, next_try: Millis) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update outbox set tries = tries + 1, next_try_ms = $3, error = $4, lease = null
         where id = $1 and lease = $2 and done_ms is null",
    )
    .bind(row.id)
    .bind(row.lease)
    .bind(next_try.0)
    .bind(storable(error))
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// A reason as it can be stored: others wrote parts of it.
pub(crate) fn storable(text: &str) -> String {
    text.chars().filter(|c| *c != '\0').take(ERROR_MAX_CHARS).collect()
}

/// How many side effects of a kind wait.
pub(crate) async fn waiting(db: impl PgExecutor<'_>, kind: &str) -> sqlx::Result<i64> {
    sqlx::query_scalar("select count(*) from outbox where done_ms is null and kind = $1").bind(kind).fetch_one(db).await
}

/// Puts a mail into the development mailbox, once per outbox row.
pub(crate) async fn deliver(db: impl PgExecutor<'_>, outbox: i64, mail: &MailView) -> sqlx::Result<()> {
    sqlx::query(
        "insert into mailbox (outbox_id, recipient, subject, body, sent_ms) values ($1, $2, $3, $4, $5)
         on conflict (outbox_id) do nothing",
    )
    .bind(outbox)
    .bind(&mail.to)
    .bind(&mail.subject)
    .bind(&mail.body)
    .bind(mail.sent.0)
    .execute(db)
    .await?;
    Ok(())
}

/// The newest mails of the development mailbox.
pub(crate) async fn mailbox(db: impl PgExecutor<'_>, most: i64) -> sqlx::Result<Vec<MailView>> {
    sqlx::query("select recipient, subject, body, sent_ms from mailbox order by id desc limit $1")
        .bind(most)
        .fetch_all(db)
        .await?
        .iter()
        .map(|row| {
            Ok(MailView {
                to: row.try_get("recipient")?,
                subject: row.try_get("subject")?,
                body: row.try_get("body")?,
                sent: Millis(row.try_get("sent_ms")?),
            })
        })
        .collect()
}
