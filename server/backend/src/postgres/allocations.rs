//! Seats kept for somebody.

use super::catalog::bad;
use super::setbacks::LeftOut;
use domain::allocation::AllocationKind;
use domain::hold::ALLOCATIONS_MAX;
use domain::{AllocationId, Millis, OrganizationId, PerformanceId, SeatNo};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, PgExecutor, Row as _};

/// The seats that are in an allocation, with its number, by seat.
pub(crate) async fn kept(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<Vec<(u32, u8)>> {
    let rows = sqlx::query(
        "select s.seat_no, a.number from allocation_seats s join allocations a on a.id = s.allocation_id
         where s.performance_id = $1 and a.released_ms is null order by s.seat_no",
    )
    .bind(id.0)
    .fetch_all(db)
    .await?;
    rows.iter()
        .map(|row| {
            let seat = u32::try_from(row.try_get::<i32, _>("seat_no")?).map_err(|e| bad("seat_no", e))?;
            let number = u8::try_from(row.try_get::<i16, _>("number")?).map_err(|e| bad("number", e))?;
            Ok((seat, number))
        })
        .collect()
}

/// An allocation that keeps seats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AllocationRow {
    pub(crate) id: AllocationId,
    pub(crate) number: u8,
    pub(crate) name: String,
    pub(crate) kind: AllocationKind,
    pub(crate) release: Option<Millis>,
    pub(crate) version: i32,
}

fn allocation(row: &PgRow) -> sqlx::Result<AllocationRow> {
    Ok(AllocationRow {
        id: AllocationId(row.try_get("id")?),
        number: u8::try_from(row.try_get::<i16, _>("number")?).map_err(|e| bad("number", e))?,
        name: row.try_get("name")?,
        kind: row.try_get::<String, _>("kind")?.parse().map_err(|e| bad("kind", e))?,
        release: row.try_get::<Option<i64>, _>("release_ms")?.map(Millis),
        version: row.try_get("version")?,
    })
}

const ALLOCATION: &str = "select id, number, name, kind, release_ms, version from allocations";

/// Allocations of a performance that keep seats, in the order in which they were made.
pub(crate) async fn open(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<Vec<AllocationRow>> {
    sqlx::query(sqlx::AssertSqlSafe(format!(
        "{ALLOCATION} where performance_id = $1 and released_ms is null order by created_ms, id"
    )))
    .bind(id.0)
    .fetch_all(db)
    .await?
    .iter()
    .map(allocation)
    .collect()
}

/// One allocation of a performance that keeps seats. Who changes it has the row of the performance.
pub(crate) async fn one(
    db: impl PgExecutor<'_>,
    performance: PerformanceId,
    id: AllocationId,
) -> sqlx::Result<Option<AllocationRow>> {
    sqlx::query(sqlx::AssertSqlSafe(format!(
        "{ALLOCATION} where performance_id = $1 and id = $2 and released_ms is null"
    )))
    .bind(performance.0)
    .bind(id.0)
    .fetch_optional(db)
    .await?
    .as_ref()
    .map(allocation)
    .transpose()
}

/// Name, kind and instant of what was released, the newest first.
pub(crate) async fn released(
    db: impl PgExecutor<'_>,
    id: PerformanceId,
    most: i64,
) -> sqlx::Result<Vec<(String, AllocationKind, Millis)>> {
    sqlx::query(
        "select name, kind, released_ms from allocations where performance_id = $1 and released_ms is not null
         order by released_ms desc, id limit $2",
    )
    .bind(id.0)
    .bind(most)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        let kind = row.try_get::<String, _>("kind")?.parse().map_err(|e| bad("kind", e))?;
        Ok((row.try_get("name")?, kind, Millis(row.try_get("released_ms")?)))
    })
    .collect()
}

/// Begins a change of a performance's allocations: the epoch of its seats. Until the transaction ends
/// nobody else changes them or builds the seats anew, and every process reads them again afterwards.
pub(crate) async fn begin_change(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<Option<i64>> {
    sqlx::query_scalar(
        "update performances set allocation_version = allocation_version + 1 where id = $1 returning epoch",
    )
    .bind(id.0)
    .fetch_optional(db)
    .await
}

/// As [`begin_change`]; `None` also while somebody else has the row.
pub(crate) async fn begin_change_unless_busy(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<Option<i64>> {
    sqlx::query_scalar(
        "update performances set allocation_version = allocation_version + 1
         where id = (select id from performances where id = $1 for no key update skip locked) returning epoch",
    )
    .bind(id.0)
    .fetch_optional(db)
    .await
}

/// The number that was out of use for longest: who read allocations a moment ago still takes another
/// one for nobody's. `None` when all are in use.
pub(crate) async fn free_number(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<Option<i16>> {
    sqlx::query_scalar(
        "select n::smallint from generate_series(1, $2) as n
         where not exists (select 1 from allocations where performance_id = $1 and number = n and released_ms is null)
         order by (select max(released_ms) from allocations where performance_id = $1 and number = n) nulls first, n
         limit 1",
    )
    .bind(id.0)
    .bind(i32::from(ALLOCATIONS_MAX))
    .fetch_optional(db)
    .await
}

/// Adds an allocation without seats.
pub(crate) async fn insert(
    db: impl PgExecutor<'_>,
    performance: PerformanceId,
    row: &AllocationRow,
    now: Millis,
) -> sqlx::Result<()> {
    sqlx::query(
        "insert into allocations (id, performance_id, number, name, kind, release_ms, created_ms)
         values ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(row.id.0)
    .bind(performance.0)
    .bind(i16::from(row.number))
    .bind(&row.name)
    .bind(row.kind.as_str())
    .bind(row.release.map(|at| at.0))
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(())
}

/// Gives an allocation another name and release; `false` when it was changed since that version.
pub(crate) async fn edit(
    db: impl PgExecutor<'_>,
    performance: PerformanceId,
    id: AllocationId,
    version: i32,
    name: &str,
    release: Option<Millis>,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update allocations set name = $4, release_ms = $5, version = version + 1
         where performance_id = $1 and id = $2 and version = $3 and released_ms is null",
    )
    .bind(performance.0)
    .bind(id.0)
    .bind(version)
    .bind(name)
    .bind(release.map(|at| at.0))
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

fn unsigned(seats: Vec<i32>) -> Vec<SeatNo> {
    seats.into_iter().filter_map(|seat| u32::try_from(seat).ok()).map(SeatNo).collect()
}

fn signed(seats: &[SeatNo]) -> Vec<i32> {
    seats.iter().filter_map(|seat| i32::try_from(seat.0).ok()).collect()
}

/// The seats of an allocation, ascending.
pub(crate) async fn seats(db: impl PgExecutor<'_>, id: AllocationId) -> sqlx::Result<Vec<SeatNo>> {
    sqlx::query_scalar("select seat_no from allocation_seats where allocation_id = $1 order by seat_no")
        .bind(id.0)
        .fetch_all(db)
        .await
        .map(unsigned)
}

/// Those of the seats that are in another allocation than this.
pub(crate) async fn elsewhere(
    db: impl PgExecutor<'_>,
    performance: PerformanceId,
    id: AllocationId,
    list: &[SeatNo],
) -> sqlx::Result<Vec<SeatNo>> {
    sqlx::query_scalar(
        "select seat_no from allocation_seats
         where performance_id = $1 and allocation_id <> $2 and seat_no = any($3) order by seat_no",
    )
    .bind(performance.0)
    .bind(id.0)
    .bind(signed(list))
    .fetch_all(db)
    .await
    .map(unsigned)
}

/// Puts seats into an allocation; those that are in it stay.
pub(crate) async fn insert_seats(
    db: impl PgExecutor<'_>,
    performance: PerformanceId,
    id: AllocationId,
    list: &[SeatNo],
) -> sqlx::Result<()> {
    sqlx::query(
        "insert into allocation_seats (performance_id, seat_no, allocation_id)
         select $1, seat, $2 from unnest($3::integer[]) as s (seat) on conflict (performance_id, seat_no) do nothing",
    )
    .bind(performance.0)
    .bind(id.0)
    .bind(signed(list))
    .execute(db)
    .await?;
    Ok(())
}

/// Takes seats out of an allocation: how many were in it.
pub(crate) async fn delete_seats(db: impl PgExecutor<'_>, id: AllocationId, list: &[SeatNo]) -> sqlx::Result<u64> {
    let done = sqlx::query("delete from allocation_seats where allocation_id = $1 and seat_no = any($2)")
        .bind(id.0)
        .bind(signed(list))
        .execute(db)
        .await?;
    Ok(done.rows_affected())
}

/// Ends an allocation by the database's clock: its seats leave it, and nobody may take from it any more.
pub(crate) async fn release(db: &mut PgConnection, id: AllocationId) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update allocations set released_ms = (extract(epoch from clock_timestamp()) * 1000)::bigint, version = version + 1
         where id = $1 and released_ms is null",
    )
    .bind(id.0)
    .execute(&mut *db)
    .await?;
    sqlx::query("delete from allocation_seats where allocation_id = $1").bind(id.0).execute(&mut *db).await?;
    sqlx::query("delete from allocation_grants where allocation_id = $1").bind(id.0).execute(db).await?;
    Ok(done.rows_affected() == 1)
}

/// The database's clock.
pub(crate) async fn clock(db: impl PgExecutor<'_>) -> sqlx::Result<Millis> {
    sqlx::query_scalar("select (extract(epoch from clock_timestamp()) * 1000)::bigint").fetch_one(db).await.map(Millis)
}

/// An allocation that somebody is to look at, with who owns it.
pub(crate) struct DueRow {
    pub(crate) id: AllocationId,
    pub(crate) performance: PerformanceId,
    pub(crate) organization: OrganizationId,
}

fn due_row(row: &PgRow) -> sqlx::Result<DueRow> {
    Ok(DueRow {
        id: AllocationId(row.try_get("id")?),
        performance: PerformanceId(row.try_get("performance_id")?),
        organization: OrganizationId(row.try_get("organization_id")?),
    })
}

/// Allocations whose instant has come by the database's clock, of sales that have not ended.
pub(crate) async fn due(db: impl PgExecutor<'_>, out: &LeftOut, most: i64) -> sqlx::Result<Vec<DueRow>> {
    sqlx::query(
        "select a.id, a.performance_id, e.organization_id
         from (select (extract(epoch from clock_timestamp()) * 1000)::bigint as ms) as clock, allocations a
         join performances p on p.id = a.performance_id join events e on e.id = p.event_id
         where a.released_ms is null and a.release_ms <= clock.ms and p.closes_ms > clock.ms
            and not exists (select 1 from setbacks b
                where b.job = $2 and b.subject = a.id and b.next_try_ms > $3)
         order by a.release_ms limit $1",
    )
    .bind(most)
    .bind(out.job.as_str())
    .bind(out.now.0)
    .fetch_all(db)
    .await?
    .iter()
    .map(due_row)
    .collect()
}

/// Allocations of accessible places in sales that are open by the database's clock.
pub(crate) async fn accessible(db: impl PgExecutor<'_>, out: &LeftOut) -> sqlx::Result<Vec<DueRow>> {
    sqlx::query(
        "select a.id, a.performance_id, e.organization_id
         from (select (extract(epoch from clock_timestamp()) * 1000)::bigint as ms) as clock, allocations a
         join performances p on p.id = a.performance_id join events e on e.id = p.event_id
         where a.released_ms is null and a.kind = 'accessible' and p.opens_ms <= clock.ms and p.closes_ms > clock.ms
            and not exists (select 1 from setbacks b
                where b.job = $1 and b.subject = a.id and b.next_try_ms > $2)
         order by a.performance_id, a.id",
    )
    .bind(out.job.as_str())
    .bind(out.now.0)
    .fetch_all(db)
    .await?
    .iter()
    .map(due_row)
    .collect()
}
