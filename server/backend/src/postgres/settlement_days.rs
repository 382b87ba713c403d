//! Days of providers: when each was matched, and is matched next.

use domain::{Millis, OrganizationId};
use sqlx::{PgExecutor, Row as _};

/// The oldest day of a provider that is known.
pub(crate) async fn oldest(db: impl PgExecutor<'_>, provider: &str) -> sqlx::Result<Option<Millis>> {
    let oldest: Option<i64> = sqlx::query_scalar("select min(day_ms) from settlement_days where provider = $1")
        .bind(provider)
        .fetch_one(db)
        .await?;
    Ok(oldest.map(Millis))
}

/// Plans days; those that are there stay as they are.
pub(crate) async fn plan(db: impl PgExecutor<'_>, provider: &str, days: &[Millis], now: Millis) -> sqlx::Result<()> {
    sqlx::query(
        "insert into settlement_days (provider, day_ms, next_run_ms) select $1, day_ms, $3 from unnest($2::bigint[]) as d (day_ms)
         on conflict (provider, day_ms) do nothing",
    )
    .bind(provider)
    .bind(days.iter().map(|day| day.0).collect::<Vec<_>>())
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(())
}

/// Takes one day that is due, and sets when it is due again should this worker not finish.
pub(crate) async fn take_due(
    db: impl PgExecutor<'_>,
    providers: &[&str],
    now: Millis,
    again: Millis,
) -> sqlx::Result<Option<(String, Millis)>> {
    let row = sqlx::query(
        "with due as (
            select provider, day_ms from settlement_days where next_run_ms <= $2 and provider = any($1)
            order by next_run_ms, day_ms limit 1 for update skip locked)
         update settlement_days d set next_run_ms = $3 from due
         where d.provider = due.provider and d.day_ms = due.day_ms returning d.provider, d.day_ms",
    )
    .bind(providers)
    .bind(now.0)
    .bind(again.0)
    .fetch_optional(db)
    .await?;
    row.map(|row| Ok((row.try_get("provider")?, Millis(row.try_get("day_ms")?)))).transpose()
}

/// Notes that a day was matched.
pub(crate) async fn matched(
    db: impl PgExecutor<'_>,
    provider: &str,
    day: Millis,
    now: Millis,
    next: Option<Millis>,
) -> sqlx::Result<()> {
    sqlx::query(
        "insert into settlement_days (provider, day_ms, runs, last_run_ms, next_run_ms) values ($1, $2, 1, $3, $4)
         on conflict (provider, day_ms) do update set runs = settlement_days.runs + 1, last_run_ms = $3, next_run_ms = $4, error = null",
    )
    .bind(provider)
    .bind(day.0)
    .bind(now.0)
    .bind(next.map(|next| next.0))
    .execute(db)
    .await?;
    Ok(())
}

/// Notes why a day could not be matched, and when it is tried again.
pub(crate) async fn failed(
    db: impl PgExecutor<'_>,
    provider: &str,
    day: Millis,
    error: &str,
    again: Millis,
) -> sqlx::Result<()> {
    sqlx::query("update settlement_days set error = $3, next_run_ms = $4 where provider = $1 and day_ms = $2")
        .bind(provider)
        .bind(day.0)
        .bind(error)
        .bind(again.0)
        .execute(db)
        .await?;
    Ok(())
}

/// A day as far as an organization goes.
pub(crate) struct DayRow {
    pub(crate) provider: String,
    pub(crate) day: Millis,
    pub(crate) last_run: Option<Millis>,
    pub(crate) failed: bool,
    /// Lines of the organization's orders on the day.
    pub(crate) lines: i64,
    /// Open differences of the organization.
    pub(crate) open: i64,
}

/// Days since an instant: those of a provider, and those on which the organization has something with another
/// one; the newest first.
pub(crate) async fn of_organization(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    provider: &str,
    since: Millis,
    day_ms: i64,
) -> sqlx::Result<Vec<DayRow>> {
    sqlx::query(
        "with moved as (
            select s.provider, s.at_ms - s.at_ms % $4 as day_ms, count(*) as lines
            from settlement_lines s join orders o on o.id = s.order_id join performances p on p.id = o.performance_id
            join events e on e.id = p.event_id
            where e.organization_id = $1 and s.at_ms >= $3 group by 1, 2),
         wrong as (
            select provider, day_ms, count(*) as open from differences
            where organization_id = $1 and status = 'open' group by 1, 2)
         select d.provider, d.day_ms, d.last_run_ms, d.error is not null as failed,
            coalesce(m.lines, 0) as lines, coalesce(w.open, 0) as open
         from settlement_days d
         left join moved m on m.provider = d.provider and m.day_ms = d.day_ms
         left join wrong w on w.provider = d.provider and w.day_ms = d.day_ms
         where d.day_ms >= $3 and (d.provider = $2 or m.lines is not null or w.open is not null)
         order by d.day_ms desc, d.provider",
    )
    .bind(organization.0)
    .bind(provider)
    .bind(since.0)
    .bind(day_ms)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        Ok(DayRow {
            provider: row.try_get("provider")?,
            day: Millis(row.try_get("day_ms")?),
            last_run: row.try_get::<Option<i64>, _>("last_run_ms")?.map(Millis),
            failed: row.try_get("failed")?,
            lines: row.try_get("lines")?,
            open: row.try_get("open")?,
        })
    })
    .collect()
}

/// The provider that an organization has chosen.
pub(crate) async fn provider_of(db: impl PgExecutor<'_>, organization: OrganizationId) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar("select provider from organizations where id = $1").bind(organization.0).fetch_optional(db).await
}

/// How many days are overdue: they should have been matched before an instant.
pub(crate) async fn overdue(db: impl PgExecutor<'_>, before: Millis) -> sqlx::Result<i64> {
    sqlx::query_scalar("select count(*) from settlement_days where last_run_ms is null and day_ms < $1")
        .bind(before.0)
        .fetch_one(db)
        .await
}
