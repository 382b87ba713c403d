//! Organizations, their members, and who was invited.

use domain::account::Role;
use domain::{AccountId, Millis, OrganizationId};
use sqlx::postgres::PgRow;
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
    row.map(|row| Ok(MemberRow { organization: OrganizationId(row.try_get("organization_id")?), role: role(&row)? }))
        .transpose()
}

fn role(row: &PgRow) -> sqlx::Result<Role> {
    let text: String = row.try_get("role")?;
    Role::parse(&text).ok_or_else(|| sqlx::Error::ColumnDecode { index: "role".to_owned(), source: text.into() })
}

/// The name of an organization.
pub(crate) async fn organization_name(db: impl PgExecutor<'_>, id: OrganizationId) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar("select name from organizations where id = $1").bind(id.0).fetch_optional(db).await
}

/// The name of the provider through which an organization is paid.
pub(crate) async fn provider(db: impl PgExecutor<'_>, id: OrganizationId) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar("select provider from organizations where id = $1").bind(id.0).fetch_optional(db).await
}

/// The organization of that name.
pub(crate) async fn organization_by_name(db: impl PgExecutor<'_>, name: &str) -> sqlx::Result<Option<OrganizationId>> {
    let id: Option<uuid::Uuid> =
        sqlx::query_scalar("select id from organizations where name = $1").bind(name).fetch_optional(db).await?;
    Ok(id.map(OrganizationId))
}

/// Adds an organization; `false` when there is one of that name.
pub(crate) async fn insert_organization(
    db: impl PgExecutor<'_>,
    id: OrganizationId,
    name: &str,
    now: Millis,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "insert into organizations (id, name, created_ms) values ($1, $2, $3) on conflict (name) do nothing",
    )
    .bind(id.0)
    .bind(name)
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Makes other changes of this organization's members wait until this transaction ends, so that each
/// sees what the one before it did. Does not hold up rows that refer to the organization.
pub(crate) async fn lock(db: impl PgExecutor<'_>, id: OrganizationId) -> sqlx::Result<bool> {
    let done =
        sqlx::query("select 1 from organizations where id = $1 for no key update").bind(id.0).execute(db).await?;
    Ok(done.rows_affected() == 1)
}

/// A member with the address.
pub(crate) struct ListedMember {
    pub(crate) account: AccountId,
    pub(crate) email: String,
    pub(crate) role: Role,
}

/// The members of an organization by address.
pub(crate) async fn list(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    most: i64,
) -> sqlx::Result<Vec<ListedMember>> {
    sqlx::query(
        "select m.account_id, m.role, a.email from members m join accounts a on a.id = m.account_id
         where m.organization_id = $1 order by m.role <> 'owner', a.email limit $2",
    )
    .bind(organization.0)
    .bind(most)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        Ok(ListedMember {
            account: AccountId(row.try_get("account_id")?),
            email: row.try_get("email")?,
            role: role(row)?,
        })
    })
    .collect()
}

/// Members and open invitations of an organization.
pub(crate) async fn count(db: impl PgExecutor<'_>, organization: OrganizationId) -> sqlx::Result<i64> {
    sqlx::query_scalar(
        "select (select count(*) from members where organization_id = $1)
              + (select count(*) from member_invitations where organization_id = $1 and used_ms is null)",
    )
    .bind(organization.0)
    .fetch_one(db)
    .await
}

/// Makes an account a member; `false` when it is one already, here or elsewhere.
pub(crate) async fn insert(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    account: AccountId,
    role: Role,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "insert into members (organization_id, account_id, role) values ($1, $2, $3) on conflict do nothing",
    )
    .bind(organization.0)
    .bind(account.0)
    .bind(role.as_str())
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Gives a member of one role another; `false` when the member has not that role, or is the last
/// owner. Only right behind [`lock`].
pub(crate) async fn set_role(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    account: AccountId,
    from: Role,
    to: Role,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update members set role = $4 where organization_id = $1 and account_id = $2 and role = $3
            and ($3 <> 'owner' or $4 = 'owner' or exists (
                select 1 from members other where other.organization_id = $1 and other.role = 'owner' and other.account_id <> $2))",
    )
    .bind(organization.0)
    .bind(account.0)
    .bind(from.as_str())
    .bind(to.as_str())
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Ends a membership; `false` when there is none of that role, or it is the last owner's. Only right
/// behind [`lock`].
pub(crate) async fn remove(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    account: AccountId,
    role: Role,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "delete from members where organization_id = $1 and account_id = $2 and role = $3
            and ($3 <> 'owner' or exists (
                select 1 from members other where other.organization_id = $1 and other.role = 'owner' and other.account_id <> $2))",
    )
    .bind(organization.0)
    .bind(account.0)
    .bind(role.as_str())
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// An invitation as it is stored.
pub(crate) struct InvitationRow {
    pub(crate) organization: OrganizationId,
    pub(crate) email: String,
    pub(crate) role: Role,
    pub(crate) expires: Millis,
}

fn invitation(row: &PgRow) -> sqlx::Result<InvitationRow> {
    Ok(InvitationRow {
        organization: OrganizationId(row.try_get("organization_id")?),
        email: row.try_get("email")?,
        role: role(row)?,
        expires: Millis(row.try_get("expires_ms")?),
    })
}

/// Invites an address; an earlier link to it works no more.
pub(crate) async fn invite(
    db: impl PgExecutor<'_>,
    digest: &[u8],
    new: &InvitationRow,
    now: Millis,
) -> sqlx::Result<()> {
    sqlx::query(
        "insert into member_invitations (token_digest, organization_id, email, role, created_ms, expires_ms)
         values ($1, $2, $3, $4, $5, $6)
         on conflict (organization_id, email) do update set token_digest = excluded.token_digest, role = excluded.role,
            created_ms = excluded.created_ms, expires_ms = excluded.expires_ms, used_ms = null",
    )
    .bind(digest)
    .bind(new.organization.0)
    .bind(&new.email)
    .bind(new.role.as_str())
    .bind(now.0)
    .bind(new.expires.0)
    .execute(db)
    .await?;
    Ok(())
}

/// Invitations of an organization that were not used, the newest first.
pub(crate) async fn invitations(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    most: i64,
) -> sqlx::Result<Vec<InvitationRow>> {
    sqlx::query(
        "select * from member_invitations where organization_id = $1 and used_ms is null
         order by created_ms desc, email limit $2",
    )
    .bind(organization.0)
    .bind(most)
    .fetch_all(db)
    .await?
    .iter()
    .map(invitation)
    .collect()
}

/// The invitation behind a link that still works.
pub(crate) async fn by_link(
    db: impl PgExecutor<'_>,
    digest: &[u8],
    now: Millis,
) -> sqlx::Result<Option<InvitationRow>> {
    sqlx::query("select * from member_invitations where token_digest = $1 and used_ms is null and expires_ms > $2")
        .bind(digest)
        .bind(now.0)
        .fetch_optional(db)
        .await?
        .as_ref()
        .map(invitation)
        .transpose()
}

/// Uses an invitation once; `None` when it was used, revoked, ran out, or is another address's.
pub(crate) async fn use_invitation(
    db: impl PgExecutor<'_>,
    digest: &[u8],
    email: &str,
    now: Millis,
) -> sqlx::Result<Option<InvitationRow>> {
    sqlx::query(
        "update member_invitations set used_ms = $3
         where token_digest = $1 and email = $2 and used_ms is null and expires_ms > $3 returning *",
    )
    .bind(digest)
    .bind(email)
    .bind(now.0)
    .fetch_optional(db)
    .await?
    .as_ref()
    .map(invitation)
    .transpose()
}

/// Takes an invitation back; `false` when there is none that is unused.
pub(crate) async fn revoke(db: impl PgExecutor<'_>, organization: OrganizationId, email: &str) -> sqlx::Result<bool> {
    let done =
        sqlx::query("delete from member_invitations where organization_id = $1 and email = $2 and used_ms is null")
            .bind(organization.0)
            .bind(email)
            .execute(db)
            .await?;
    Ok(done.rows_affected() == 1)
}
