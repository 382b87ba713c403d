//! What two sides tell differently, and what was done about it.

use super::catalog::bad;
use domain::organizer::money::DifferenceStatus;
use domain::settlement::schedule::Open;
use domain::settlement::{Difference, Ours, Owner, ProviderLine, Repair};
use domain::{AccountId, DifferenceId, Millis, OrderId, OrganizationId};
use serde_json::{Value, json};
use sqlx::postgres::PgRow;
use sqlx::{PgExecutor, Row as _};
use uuid::Uuid;

/// Longest reason that is kept of a repair that did not help, in characters.
const ERROR_MAX_CHARS: usize = 500;

/// A difference as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct DifferenceRow {
    pub(crate) id: DifferenceId,
    pub(crate) provider: String,
    pub(crate) key: String,
    /// As stored: also what stands still has one.
    pub(crate) kind: String,
    pub(crate) owner: Owner,
    pub(crate) repair: Repair,
    pub(crate) ours: Option<Ours>,
    pub(crate) theirs: Vec<ProviderLine>,
    pub(crate) day: Millis,
    pub(crate) first_seen: Millis,
    pub(crate) last_seen: Millis,
    pub(crate) status: DifferenceStatus,
    pub(crate) tries: i32,
    pub(crate) error: Option<String>,
    pub(crate) note: Option<String>,
    pub(crate) order: Option<OrderId>,
    pub(crate) organization: Option<OrganizationId>,
}

fn word<T>(row: &PgRow, column: &str, read: impl Fn(&str) -> Option<T>) -> sqlx::Result<T> {
    let text: String = row.try_get(column)?;
    read(&text).ok_or_else(|| bad(column, format!("`{text}` is not known")))
}

fn difference(row: &PgRow) -> sqlx::Result<DifferenceRow> {
    let mut evidence: Value = row.try_get("evidence")?;
    Ok(DifferenceRow {
        id: DifferenceId(row.try_get("id")?),
        provider: row.try_get("provider")?,
        key: row.try_get("key")?,
        kind: row.try_get("kind")?,
        owner: word(row, "owner", Owner::parse)?,
        repair: word(row, "repair", Repair::parse)?,
        ours: serde_json::from_value(evidence["ours"].take()).map_err(|e| bad("evidence", e))?,
        theirs: serde_json::from_value(evidence["theirs"].take()).map_err(|e| bad("evidence", e))?,
        day: Millis(row.try_get("day_ms")?),
        first_seen: Millis(row.try_get("first_seen_ms")?),
        last_seen: Millis(row.try_get("last_seen_ms")?),
        status: word(row, "status", DifferenceStatus::parse)?,
        tries: row.try_get("tries")?,
        error: row.try_get("error")?,
        note: row.try_get("note")?,
        order: row.try_get::<Option<Uuid>, _>("order_id")?.map(OrderId),
        organization: row.try_get::<Option<Uuid>, _>("organization_id")?.map(OrganizationId),
    })
}

/// Writes down what a day's match found. What was repaired and is back is open again; so is what was settled
/// while the provider showed something else.
pub(crate) async fn found(
    db: impl PgExecutor<'_>,
    provider: &str,
    day: Millis,
    found: &[Difference],
    now: Millis,
) -> sqlx::Result<()> {
    let column = |of: fn(&Difference) -> &str| found.iter().map(|one| of(one).to_owned()).collect::<Vec<_>>();
    let evidence: Vec<Value> = found.iter().map(|one| json!({ "ours": one.ours, "theirs": one.theirs })).collect();
    let orders: Vec<Option<Uuid>> = found.iter().map(|one| Some(one.ours.as_ref()?.order()?.0)).collect();
    let attempts: Vec<Option<Uuid>> = found.iter().map(|one| Some(one.ours.as_ref()?.attempt()?.0)).collect();
    // What only the provider shows is the order's that its line is known to be of.
    let lines: Vec<Option<String>> = found.iter().map(|one| Some(one.theirs.first()?.key())).collect();
    sqlx::query(
        "insert into differences (id, provider, key, kind, owner, repair, evidence, day_ms, first_seen_ms, last_seen_ms,
            order_id, organization_id)
         select f.id, $1, f.key, f.kind, f.owner, f.repair, f.evidence, $2, $3, $3, o.id, e.organization_id
         from unnest($4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::jsonb[], $10::uuid[], $11::uuid[],
            $12::text[]) as f (id, key, kind, owner, repair, evidence, order_id, attempt_id, line)
         left join attempts a on a.id = f.attempt_id
         left join settlement_lines s on s.provider = $1 and s.key = f.line and s.copy = 0
         left join orders o on o.id = coalesce(f.order_id, a.order_id, s.order_id)
         left join performances p on p.id = o.performance_id left join events e on e.id = p.event_id
         on conflict (provider, key) do update set
            last_seen_ms = excluded.last_seen_ms, evidence = excluded.evidence,
            order_id = coalesce(differences.order_id, excluded.order_id),
            organization_id = coalesce(differences.organization_id, excluded.organization_id),
            -- What is back is looked at with the day that found it: the day before may never be matched again.
            day_ms = case when differences.status = 'open' then differences.day_ms else excluded.day_ms end,
            -- Who has it, has it until it is over: people are not overruled by the next run.
            owner = case when differences.status = 'open' then differences.owner else excluded.owner end,
            repair = case when differences.status = 'open' then differences.repair else excluded.repair end,
            tries = case when differences.status = 'open' then differences.tries else 0 end,
            error = case when differences.status = 'open' then differences.error end,
            status = case when differences.status = 'settled' and differences.evidence -> 'theirs' = excluded.evidence -> 'theirs'
               then 'settled' else 'open' end",
    )
    .bind(provider)
    .bind(day.0)
    .bind(now.0)
    .bind(found.iter().map(|_| Uuid::now_v7()).collect::<Vec<_>>())
    .bind(column(|one| one.key.as_str()))
    .bind(column(|one| one.kind.as_str()))
    .bind(column(|one| one.owner.as_str()))
    .bind(column(|one| one.repair.as_str()))
    .bind(evidence)
    .bind(orders)
    .bind(attempts)
    .bind(lines)
    .execute(db)
    .await?;
    Ok(())
}

/// What a day's match does not find any more is repaired; how many there were.
pub(crate) async fn gone(
    db: impl PgExecutor<'_>,
    provider: &str,
    day: Millis,
    keys: &[String],
    now: Millis,
) -> sqlx::Result<u64> {
    let done = sqlx::query(
        "update differences set status = 'repaired', decided_ms = $4, error = null
         where provider = $1 and day_ms = $2 and status = 'open' and not starts_with(kind, 'stuck_') and key <> all($3)",
    )
    .bind(provider)
    .bind(day.0)
    .bind(keys)
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}

/// How many differences of a day are open, by who has them.
pub(crate) async fn open(db: impl PgExecutor<'_>, provider: &str, day: Millis) -> sqlx::Result<Open> {
    let row = sqlx::query(
        "select count(*) filter (where owner = 'worker') as worker, count(*) filter (where owner <> 'worker') as people
         from differences where provider = $1 and day_ms = $2 and status = 'open' and not starts_with(kind, 'stuck_')",
    )
    .bind(provider)
    .bind(day.0)
    .fetch_one(db)
    .await?;
    Ok(Open { worker: row.try_get("worker")?, people: row.try_get("people")? })
}

/// The differences of a day that were found by its last match and are not settled, by key.
pub(crate) async fn of_day(db: impl PgExecutor<'_>, provider: &str, day: Millis) -> sqlx::Result<Vec<DifferenceRow>> {
    sqlx::query(
        "select * from differences where provider = $1 and day_ms = $2 and status = 'open' and not starts_with(kind, 'stuck_')
         order by key",
    )
    .bind(provider)
    .bind(day.0)
    .fetch_all(db)
    .await?
    .iter()
    .map(difference)
    .collect()
}

/// Notes a try to repair; `to` is who has it from now on. `false` when it is not open any more.
pub(crate) async fn tried(
    db: impl PgExecutor<'_>,
    id: DifferenceId,
    error: Option<&str>,
    to: Option<Owner>,
) -> sqlx::Result<bool> {
    let error: Option<String> = error.map(|text| text.chars().filter(|c| *c != '\0').take(ERROR_MAX_CHARS).collect());
    let done = sqlx::query(
        "update differences set tries = tries + 1, error = $2, owner = coalesce($3, owner),
            repair = case when $3 is null then repair else 'ask_staff' end
         where id = $1 and status = 'open'",
    )
    .bind(id.0)
    .bind(error)
    .bind(to.map(Owner::as_str))
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// A difference of an organization.
pub(crate) async fn one(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    id: DifferenceId,
) -> sqlx::Result<Option<DifferenceRow>> {
    sqlx::query("select * from differences where id = $1 and organization_id = $2")
        .bind(id.0)
        .bind(organization.0)
        .fetch_optional(db)
        .await?
        .as_ref()
        .map(difference)
        .transpose()
}

/// The differences of an organization: the open ones, the oldest first, or the others, the newest first.
pub(crate) async fn of_organization(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    open: bool,
    most: i64,
) -> sqlx::Result<Vec<DifferenceRow>> {
    sqlx::query(
        "select * from differences where organization_id = $1 and (status = 'open') = $2
         order by case when $2 then first_seen_ms else -last_seen_ms end, id limit $3",
    )
    .bind(organization.0)
    .bind(open)
    .bind(most)
    .fetch_all(db)
    .await?
    .iter()
    .map(difference)
    .collect()
}

/// Settles a difference by somebody's word; `false` when it is not open any more.
pub(crate) async fn settle(
    db: impl PgExecutor<'_>,
    id: DifferenceId,
    account: Option<AccountId>,
    note: &str,
    now: Millis,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update differences set status = 'settled', note = $2, decided_by = $3, decided_ms = $4
         where id = $1 and status = 'open'",
    )
    .bind(id.0)
    .bind(note)
    .bind(account.map(|account| account.0))
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The open differences of no organization, the oldest first.
pub(crate) async fn of_nobody(db: impl PgExecutor<'_>, most: i64) -> sqlx::Result<Vec<DifferenceRow>> {
    sqlx::query(
        "select * from differences where status = 'open' and organization_id is null order by first_seen_ms, id limit $1",
    )
    .bind(most)
    .fetch_all(db)
    .await?
    .iter()
    .map(difference)
    .collect()
}

/// How many differences are open, by owner.
pub(crate) async fn open_by_owner(db: impl PgExecutor<'_>) -> sqlx::Result<Vec<(Owner, i64)>> {
    sqlx::query("select owner, count(*) as open from differences where status = 'open' group by owner")
        .fetch_all(db)
        .await?
        .iter()
        .map(|row| Ok((word(row, "owner", Owner::parse)?, row.try_get("open")?)))
        .collect()
}
