//! What organizers did: append only.

use domain::{AccountId, Millis, OrganizationId};
use serde_json::Value;
use sqlx::PgExecutor;

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
