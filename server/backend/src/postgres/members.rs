//! Organizations and their members.

use domain::account::Role;
use domain::{AccountId, OrganizationId};
use sqlx::{PgExecutor, Row as _};

/// A membership.
pub(crate) struct MemberRow {
    pub(crate) organization: OrganizationId,
    pub(crate) role: Role,
}

/// The membership of an account: one at most.
pub(crate) async fn of_account(db: impl PgExecutor<'_>, account: AccountId) -> sqlx::Result<Option<MemberRow>> {
    let row = sqlx::query("select organization_id, role from members where account_id = $1")
        .bind(account.0)
        .fetch_optional(db)
        .await?;
    row.map(|row| {
        let role: String = row.try_get("role")?;
        let role = Role::parse(&role)
            .ok_or_else(|| sqlx::Error::ColumnDecode { index: "role".to_owned(), source: role.into() })?;
        Ok(MemberRow { organization: OrganizationId(row.try_get("organization_id")?), role })
    })
    .transpose()
}

/// The name of an organization.
pub(crate) async fn organization_name(db: impl PgExecutor<'_>, id: OrganizationId) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar("select name from organizations where id = $1").bind(id.0).fetch_optional(db).await
}

/// The organization of that name.
pub(crate) async fn organization_by_name(db: impl PgExecutor<'_>, name: &str) -> sqlx::Result<Option<OrganizationId>> {
    let id: Option<uuid::Uuid> =
        sqlx::query_scalar("select id from organizations where name = $1").bind(name).fetch_optional(db).await?;
    Ok(id.map(OrganizationId))
}
