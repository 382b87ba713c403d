//! Codes that open allocations, and the accounts that may take from them.

use domain::{AccountId, AllocationCodeId, AllocationId, Millis, PerformanceId};
use sqlx::{PgConnection, PgExecutor, Row as _};

/// A code, without what it says.
pub(crate) struct CodeRow {
    pub(crate) id: AllocationCodeId,
    pub(crate) allocation: AllocationId,
    pub(crate) label: String,
    pub(crate) uses: i32,
    pub(crate) uses_max: Option<i32>,
    pub(crate) revoked: bool,
}

/// A code to be stored.
pub(crate) struct CodeInsert<'a> {
    pub(crate) id: AllocationCodeId,
    pub(crate) allocation: AllocationId,
    pub(crate) digest: &'a [u8],
    pub(crate) label: &'a str,
    pub(crate) uses_max: Option<i32>,
    pub(crate) now: Millis,
}

/// Codes of a performance's allocations that keep seats, the newest first.
pub(crate) async fn codes(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<Vec<CodeRow>> {
    sqlx::query(
        "select c.id, c.allocation_id, c.label, c.uses, c.uses_max, c.revoked_ms
         from allocation_codes c join allocations a on a.id = c.allocation_id
         where a.performance_id = $1 and a.released_ms is null order by c.created_ms desc, c.id desc",
    )
    .bind(id.0)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        Ok(CodeRow {
            id: AllocationCodeId(row.try_get("id")?),
            allocation: AllocationId(row.try_get("allocation_id")?),
            label: row.try_get("label")?,
            uses: row.try_get("uses")?,
            uses_max: row.try_get("uses_max")?,
            revoked: row.try_get::<Option<i64>, _>("revoked_ms")?.is_some(),
        })
    })
    .collect()
}

/// How many codes an allocation has, revoked ones included.
pub(crate) async fn count_codes(db: impl PgExecutor<'_>, id: AllocationId) -> sqlx::Result<i64> {
    sqlx::query_scalar("select count(*) from allocation_codes where allocation_id = $1").bind(id.0).fetch_one(db).await
}

/// Adds a code; `false` when the allocation has had the same.
pub(crate) async fn insert_code(db: impl PgExecutor<'_>, code: &CodeInsert<'_>) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "insert into allocation_codes (id, allocation_id, digest, label, uses_max, created_ms)
         values ($1, $2, $3, $4, $5, $6) on conflict (allocation_id, digest) do nothing",
    )
    .bind(code.id.0)
    .bind(code.allocation.0)
    .bind(code.digest)
    .bind(code.label)
    .bind(code.uses_max)
    .bind(code.now.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Revokes a code of a performance, and what it gave: its note, or none when there is no such code.
pub(crate) async fn revoke_code(
    db: &mut PgConnection,
    performance: PerformanceId,
    id: AllocationCodeId,
    now: Millis,
) -> sqlx::Result<Option<(AllocationId, String)>> {
    let row = sqlx::query(
        "update allocation_codes c set revoked_ms = coalesce(c.revoked_ms, $3) from allocations a
         where a.id = c.allocation_id and a.performance_id = $1 and c.id = $2 returning c.allocation_id, c.label",
    )
    .bind(performance.0)
    .bind(id.0)
    .bind(now.0)
    .fetch_optional(&mut *db)
    .await?;
    sqlx::query("delete from allocation_grants where code_id = $1").bind(id.0).execute(db).await?;
    row.map(|row| Ok((AllocationId(row.try_get("allocation_id")?), row.try_get("label")?))).transpose()
}

/// The code of one of these allocations with the digest beside it, if it was not revoked.
pub(crate) async fn find_code(
    db: impl PgExecutor<'_>,
    allocations: &[uuid::Uuid],
    digests: &[Vec<u8>],
) -> sqlx::Result<Option<(AllocationId, AllocationCodeId)>> {
    let row = sqlx::query(
        "select c.allocation_id, c.id from unnest($1::uuid[], $2::bytea[]) as w (allocation_id, digest)
         join allocation_codes c on c.allocation_id = w.allocation_id and c.digest = w.digest
         join allocations a on a.id = c.allocation_id
         where c.revoked_ms is null and a.released_ms is null order by a.created_ms limit 1",
    )
    .bind(allocations)
    .bind(digests)
    .fetch_optional(db)
    .await?;
    row.map(|row| Ok((AllocationId(row.try_get("allocation_id")?), AllocationCodeId(row.try_get("id")?)))).transpose()
}

/// Lets an account take from an allocation that keeps seats; `false` when it may already.
pub(crate) async fn insert_grant(
    db: impl PgExecutor<'_>,
    allocation: AllocationId,
    account: AccountId,
    code: Option<AllocationCodeId>,
    now: Millis,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "insert into allocation_grants (allocation_id, account_id, code_id, granted_ms)
         select id, $2, $3, $4 from allocations where id = $1 and released_ms is null
         on conflict (allocation_id, account_id) do nothing",
    )
    .bind(allocation.0)
    .bind(account.0)
    .bind(code.map(|code| code.0))
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Counts one more account that used a code; `false` when it was revoked or as many as may used it.
pub(crate) async fn count_use(db: impl PgExecutor<'_>, code: AllocationCodeId) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update allocation_codes set uses = uses + 1
         where id = $1 and revoked_ms is null and (uses_max is null or uses < uses_max)",
    )
    .bind(code.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The allocations of a performance that an account may take from, by number.
pub(crate) async fn numbers(
    db: impl PgExecutor<'_>,
    account: AccountId,
    performance: PerformanceId,
) -> sqlx::Result<Vec<u8>> {
    let numbers: Vec<i16> = sqlx::query_scalar(
        "select a.number from allocation_grants g join allocations a on a.id = g.allocation_id
         where g.account_id = $1 and a.performance_id = $2 and a.released_ms is null order by a.number",
    )
    .bind(account.0)
    .bind(performance.0)
    .fetch_all(db)
    .await?;
    Ok(numbers.into_iter().filter_map(|number| u8::try_from(number).ok()).collect())
}

/// How many accounts may take from each allocation of a performance.
pub(crate) async fn accounts(
    db: impl PgExecutor<'_>,
    performance: PerformanceId,
) -> sqlx::Result<Vec<(AllocationId, i64)>> {
    sqlx::query(
        "select g.allocation_id, count(*) as accounts
         from allocation_grants g join allocations a on a.id = g.allocation_id
         where a.performance_id = $1 and a.released_ms is null group by g.allocation_id",
    )
    .bind(performance.0)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| Ok((AllocationId(row.try_get("allocation_id")?), row.try_get("accounts")?)))
    .collect()
}
