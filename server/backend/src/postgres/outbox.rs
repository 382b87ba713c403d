//! The outbox: side effects written in the transaction that causes them, done afterwards.

use domain::Millis;
use domain::account::MailView;
use serde_json::Value;
use sqlx::{PgExecutor, Row as _};

/// A side effect that is due.
pub(crate) struct OutboxRow {
    pub(crate) id: i64,
    pub(crate) kind: String,
    pub(crate) payload: Value,
    pub(crate) tries: i32,
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

/// Takes what is due, locked for this transaction.
pub(crate) async fn due(db: impl PgExecutor<'_>, now: Millis, most: i64) -> sqlx::Result<Vec<OutboxRow>> {
    sqlx::query(
        "select id, kind, payload, tries from outbox where done_ms is null and next_try_ms <= $1
         order by id limit $2 for update skip locked",
    )
    .bind(now.0)
    .bind(most)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        Ok(OutboxRow {
            id: row.try_get("id")?,
            kind: row.try_get("kind")?,
            payload: row.try_get("payload")?,
            tries: row.try_get("tries")?,
        })
    })
    .collect()
}

pub(crate) async fn done(db: impl PgExecutor<'_>, id: i64, now: Millis) -> sqlx::Result<()> {
    sqlx::query("update outbox set done_ms = $2 where id = $1 and done_ms is null")
        .bind(id)
        .bind(now.0)
        .execute(db)
        .await?;
    Ok(())
}

pub(crate) async fn retry(db: impl PgExecutor<'_>, id: i64, next_try: Millis) -> sqlx::Result<()> {
    sqlx::query("update outbox set tries = tries + 1, next_try_ms = $2 where id = $1")
        .bind(id)
        .bind(next_try.0)
        .execute(db)
        .await?;
    Ok(())
}

/// How many side effects wait.
pub(crate) async fn waiting(db: impl PgExecutor<'_>) -> sqlx::Result<i64> {
    sqlx::query_scalar("select count(*) from outbox where done_ms is null").fetch_one(db).await
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
