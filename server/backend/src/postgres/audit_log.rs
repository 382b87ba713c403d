//! What organizers did: append only.

use domain::organizer::members::AuditFilter;
use domain::{AccountId, Millis, OrganizationId};
use serde_json::Value;
use sqlx::postgres::PgRow;
use sqlx::{PgExecutor, Row as _};

/// Adds a row.
pub(crate) async fn insert(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    account: Option<AccountId>,
    action: &str,
    subject: &str,
    detail: &Value,
    now: Millis,
) -> sqlx::Result<()> {
    sqlx::query(
        "insert into audit_log (organization_id, account_id, action, subject, detail, at_ms) values ($1, $2, $3, $4, $5, $6)",
    )
    .bind(organization.0)
    .bind(account.map(|account| account.0))
    .bind(action)
    .bind(subject)
    .bind(detail)
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(())
}

/// A row of the log.
pub(crate) struct LogRow {
    pub(crate) id: i64,
    pub(crate) at: Millis,
    pub(crate) who: Option<String>,
    pub(crate) action: String,
    pub(crate) subject: String,
    pub(crate) detail: Value,
}

fn log_row(row: &PgRow) -> sqlx::Result<LogRow> {
    Ok(LogRow {
        id: row.try_get("id")?,
        at: Millis(row.try_get("at_ms")?),
        who: row.try_get("email")?,
        action: row.try_get("action")?,
        subject: row.try_get("subject")?,
        detail: row.try_get("detail")?,
    })
}

/// Rows of an organization's log, newest first. `who` is an address, or empty for the command line.
pub(crate) async fn page(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    filter: &AuditFilter,
    most: i64,
) -> sqlx::Result<Vec<LogRow>> {
    sqlx::query(
        "select l.*, a.email from audit_log l left join accounts a on a.id = l.account_id
         where l.organization_id = $1 and l.id < $2
            and ($3::text is null or l.action = $3)
            and ($4::text is null or strpos(l.subject, $4) > 0)
            and ($5::text is null or coalesce(a.email, '') = $5)
         order by l.id desc limit $6",
    )
    .bind(organization.0)
    .bind(filter.before.unwrap_or(i64::MAX))
    .bind(&filter.action)
    .bind(&filter.subject)
    .bind(&filter.who)
    .bind(most)
    .fetch_all(db)
    .await?
    .iter()
    .map(log_row)
    .collect()
}

/// Rows about one thing, newest first.
pub(crate) async fn about(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    subject: &str,
    most: i64,
) -> sqlx::Result<Vec<LogRow>> {
    sqlx::query(
        "select l.*, a.email from audit_log l left join accounts a on a.id = l.account_id
         where l.organization_id = $1 and l.subject = $2 order by l.id desc limit $3",
    )
    .bind(organization.0)
    .bind(subject)
    .bind(most)
    .fetch_all(db)
    .await?
    .iter()
    .map(log_row)
    .collect()
}

/// Every action and everybody in the newest rows of the log, for filters.
pub(crate) async fn choices(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    rows: i64,
    most: i64,
) -> sqlx::Result<(Vec<String>, Vec<String>)> {
    let row = sqlx::query(
        "with newest as (
            select l.action, a.email from audit_log l left join accounts a on a.id = l.account_id
            where l.organization_id = $1 order by l.id desc limit $2)
         select array(select distinct action from newest order by 1 limit $3) as actions,
                array(select distinct email from newest where email is not null order by 1 limit $3) as people",
    )
    .bind(organization.0)
    .bind(rows)
    .bind(most)
    .fetch_one(db)
    .await?;
    Ok((row.try_get("actions")?, row.try_get("people")?))
}
