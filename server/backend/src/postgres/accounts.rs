//! Accounts, sessions, confirmations and members.

use domain::account::Role;
use domain::{AccountId, Millis, OrganizationId, SessionId};
use sqlx::{PgExecutor, Row as _};

/// An account as sign-in needs it.
pub(crate) struct AccountRow {
    pub(crate) id: AccountId,
    pub(crate) email: String,
    pub(crate) password_hash: String,
    pub(crate) verified: bool,
    pub(crate) lang: String,
    pub(crate) created: Millis,
    pub(crate) role: Option<Role>,
}

fn account(row: &sqlx::postgres::PgRow) -> sqlx::Result<AccountRow> {
    Ok(AccountRow {
        id: AccountId(row.try_get("id")?),
        email: row.try_get("email")?,
        password_hash: row.try_get("password_hash")?,
        verified: row.try_get::<Option<i64>, _>("verified_ms")?.is_some(),
        lang: row.try_get("lang")?,
        created: Millis(row.try_get("created_ms")?),
        role: row.try_get::<Option<String>, _>("role")?.as_deref().and_then(Role::parse),
    })
}

/// Adds an account; `false` when the address is taken.
pub(crate) async fn insert(
    db: impl PgExecutor<'_>,
    id: AccountId,
    email: &str,
    password_hash: &str,
    lang: &str,
    verified: Option<Millis>,
    now: Millis,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "insert into accounts (id, email, password_hash, lang, verified_ms, created_ms)
         values ($1, $2, $3, $4, $5, $6) on conflict (email) do nothing",
    )
    .bind(id.0)
    .bind(email)
    .bind(password_hash)
    .bind(lang)
    .bind(verified.map(|at| at.0))
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub(crate) async fn by_email(db: impl PgExecutor<'_>, email: &str) -> sqlx::Result<Option<AccountRow>> {
    sqlx::query("select a.*, m.role from accounts a left join members m on m.account_id = a.id where a.email = $1")
        .bind(email)
        .fetch_optional(db)
        .await?
        .as_ref()
        .map(account)
        .transpose()
}

/// The account of a session that still stands.
pub(crate) async fn by_session(db: impl PgExecutor<'_>, session: SessionId) -> sqlx::Result<Option<AccountRow>> {
    sqlx::query(
        "select a.*, m.role from sessions s join accounts a on a.id = s.account_id
         left join members m on m.account_id = a.id where s.id = $1 and s.revoked_ms is null",
    )
    .bind(session.0)
    .fetch_optional(db)
    .await?
    .as_ref()
    .map(account)
    .transpose()
}

pub(crate) async fn by_id(db: impl PgExecutor<'_>, id: AccountId) -> sqlx::Result<Option<AccountRow>> {
    sqlx::query("select a.*, m.role from accounts a left join members m on m.account_id = a.id where a.id = $1")
        .bind(id.0)
        .fetch_optional(db)
        .await?
        .as_ref()
        .map(account)
        .transpose()
}

pub(crate) async fn insert_session(
    db: impl PgExecutor<'_>,
    id: SessionId,
    account: AccountId,
    now: Millis,
) -> sqlx::Result<()> {
    sqlx::query("insert into sessions (id, account_id, created_ms) values ($1, $2, $3)")
        .bind(id.0)
        .bind(account.0)
        .bind(now.0)
        .execute(db)
        .await?;
    Ok(())
}

pub(crate) async fn revoke_session(db: impl PgExecutor<'_>, id: SessionId, now: Millis) -> sqlx::Result<bool> {
    let done = sqlx::query("update sessions set revoked_ms = $2 where id = $1 and revoked_ms is null")
        .bind(id.0)
        .bind(now.0)
        .execute(db)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Sessions revoked since an instant: what processes keep to refuse cookies that still look fresh.
pub(crate) async fn revoked_since(db: impl PgExecutor<'_>, since: Millis) -> sqlx::Result<Vec<SessionId>> {
    Ok(sqlx::query_scalar("select id from sessions where revoked_ms > $1")
        .bind(since.0)
        .fetch_all(db)
        .await?
        .into_iter()
        .map(SessionId)
        .collect())
}

pub(crate) async fn insert_confirmation(
    db: impl PgExecutor<'_>,
    digest: &[u8],
    account: AccountId,
    expires: Millis,
) -> sqlx::Result<()> {
    sqlx::query("insert into email_confirmations (token_digest, account_id, expires_ms) values ($1, $2, $3)")
        .bind(digest)
        .bind(account.0)
        .bind(expires.0)
        .execute(db)
        .await?;
    Ok(())
}

/// Uses a confirmation once and marks its account; `None` when it was used, ran out or never was.
pub(crate) async fn confirm(db: impl PgExecutor<'_>, digest: &[u8], now: Millis) -> sqlx::Result<Option<AccountId>> {
    let id: Option<uuid::Uuid> = sqlx::query_scalar(
        "with used as (
            update email_confirmations set used_ms = $2
            where token_digest = $1 and used_ms is null and expires_ms > $2 returning account_id)
         update accounts set verified_ms = coalesce(verified_ms, $2) where id in (select account_id from used) returning id",
    )
    .bind(digest)
    .bind(now.0)
    .fetch_optional(db)
    .await?;
    Ok(id.map(AccountId))
}

pub(crate) async fn ensure_organization(
    db: impl PgExecutor<'_>,
    id: OrganizationId,
    name: &str,
    now: Millis,
) -> sqlx::Result<OrganizationId> {
    let id: uuid::Uuid = sqlx::query_scalar(
        "insert into organizations (id, name, created_ms) values ($1, $2, $3)
         on conflict (name) do update set name = excluded.name returning id",
    )
    .bind(id.0)
    .bind(name)
    .bind(now.0)
    .fetch_one(db)
    .await?;
    Ok(OrganizationId(id))
}

pub(crate) async fn set_member(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    account: AccountId,
    role: Role,
) -> sqlx::Result<()> {
    sqlx::query(
        "insert into members (organization_id, account_id, role) values ($1, $2, $3)
         on conflict (organization_id, account_id) do update set role = excluded.role",
    )
    .bind(organization.0)
    .bind(account.0)
    .bind(role.as_str())
    .execute(db)
    .await?;
    Ok(())
}

/// Adds many confirmed accounts with a session each, as a simulation needs them.
pub(crate) async fn insert_many(
    db: impl PgExecutor<'_>,
    ids: &[uuid::Uuid],
    emails: &[String],
    sessions: &[uuid::Uuid],
    now: Millis,
) -> sqlx::Result<()> {
    sqlx::query(
        "with fans as (
            insert into accounts (id, email, password_hash, verified_ms, created_ms)
            select id, email, '!', $4, $4 from unnest($1::uuid[], $2::text[]) as fan (id, email))
         insert into sessions (id, account_id, created_ms)
         select session, id, $4 from unnest($1::uuid[], $3::uuid[]) as fan (id, session)",
    )
    .bind(ids)
    .bind(emails)
    .bind(sessions)
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(())
}
