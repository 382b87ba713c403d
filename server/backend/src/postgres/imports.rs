//! Venue files between upload and acceptance.

use domain::organizer::plans::{Checked, Counts, ImportRow, ImportState, Place};
use domain::venue::import::Options;
use domain::{AccountId, ImportId, Millis, OrganizationId, PlanId, ZonedTime};
use sqlx::types::Json;
use sqlx::{PgConnection, PgExecutor, Row as _};

/// A file to be kept.
pub(crate) struct ImportInsert<'a> {
    pub(crate) id: ImportId,
    pub(crate) organization: OrganizationId,
    pub(crate) account: Option<AccountId>,
    pub(crate) file_name: &'a str,
    pub(crate) content: &'a [u8],
    pub(crate) options: &'a Options,
    pub(crate) checked: &'a Checked,
    pub(crate) map_digest: Option<&'a str>,
    pub(crate) now: Millis,
}

/// Keeps a file with what its check found.
pub(crate) async fn insert(db: impl PgExecutor<'_>, row: &ImportInsert<'_>) -> sqlx::Result<()> {
    sqlx::query(
        "insert into plan_imports
             (id, organization_id, account_id, file_name, content, options, report, map_digest, created_ms)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(row.id.0)
    .bind(row.organization.0)
    .bind(row.account.map(|account| account.0))
    .bind(row.file_name)
    .bind(row.content)
    .bind(Json(row.options))
    .bind(Json(row.checked))
    .bind(row.map_digest)
    .bind(row.now.0)
    .execute(db)
    .await?;
    Ok(())
}

/// Drops the oldest files of an organization that never became a plan, beyond so many.
pub(crate) async fn drop_oldest(db: impl PgExecutor<'_>, organization: OrganizationId, keep: i64) -> sqlx::Result<u64> {
    let done = sqlx::query(
        "delete from plan_imports where id in (
             select id from plan_imports where organization_id = $1 and plan_id is null
             order by created_ms desc, id desc offset $2)",
    )
    .bind(organization.0)
    .bind(keep)
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}

/// A kept file, without its content.
pub(crate) struct ImportFile {
    pub(crate) file_name: String,
    pub(crate) options: Options,
    pub(crate) checked: Checked,
    pub(crate) map_digest: Option<String>,
    pub(crate) version: i32,
    pub(crate) plan: Option<PlanId>,
    pub(crate) created: Millis,
}

/// A file of this organization.
pub(crate) async fn get(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    id: ImportId,
) -> sqlx::Result<Option<ImportFile>> {
    sqlx::query(
        "select file_name, options, report, map_digest, version, plan_id, created_ms
         from plan_imports where id = $1 and organization_id = $2",
    )
    .bind(id.0)
    .bind(organization.0)
    .fetch_optional(db)
    .await?
    .map(|row| {
        Ok(ImportFile {
            file_name: row.try_get("file_name")?,
            options: row.try_get::<Json<Options>, _>("options")?.0,
            checked: row.try_get::<Json<Checked>, _>("report")?.0,
            map_digest: row.try_get("map_digest")?,
            version: row.try_get("version")?,
            plan: row.try_get::<Option<uuid::Uuid>, _>("plan_id")?.map(PlanId),
            created: Millis(row.try_get("created_ms")?),
        })
    })
    .transpose()
}

/// The content of a file.
pub(crate) async fn content(db: impl PgExecutor<'_>, id: ImportId) -> sqlx::Result<Option<Vec<u8>>> {
    sqlx::query_scalar("select content from plan_imports where id = $1").bind(id.0).fetch_optional(db).await
}

/// Version and plan of a file, which nobody else changes until the transaction ends.
pub(crate) async fn lock(
    db: &mut PgConnection,
    organization: OrganizationId,
    id: ImportId,
) -> sqlx::Result<Option<(i32, Option<PlanId>)>> {
    let row =
        sqlx::query("select version, plan_id from plan_imports where id = $1 and organization_id = $2 for update")
            .bind(id.0)
            .bind(organization.0)
            .fetch_optional(db)
            .await?;
    row.map(|row| Ok((row.try_get("version")?, row.try_get::<Option<uuid::Uuid>, _>("plan_id")?.map(PlanId))))
        .transpose()
}

/// Replaces choices and findings of a file of that version; `false` when it moved on or became a plan.
pub(crate) async fn put(
    db: impl PgExecutor<'_>,
    id: ImportId,
    version: i32,
    options: &Options,
    checked: &Checked,
    map_digest: Option<&str>,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update plan_imports set options = $3, report = $4, map_digest = $5, version = version + 1
         where id = $1 and version = $2 and plan_id is null",
    )
    .bind(id.0)
    .bind(version)
    .bind(Json(options))
    .bind(Json(checked))
    .bind(map_digest)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Says which plan a file became; `false` when it moved on or had become one. The content goes: the
/// plan has all of it that counts.
pub(crate) async fn link(db: impl PgExecutor<'_>, id: ImportId, version: i32, plan: PlanId) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update plan_imports set plan_id = $3, content = ''
         where id = $1 and version = $2 and plan_id is null",
    )
    .bind(id.0)
    .bind(version)
    .bind(plan.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Forgets a file that became no plan; `false` when there is none of this organization.
pub(crate) async fn delete(db: impl PgExecutor<'_>, organization: OrganizationId, id: ImportId) -> sqlx::Result<bool> {
    let done = sqlx::query("delete from plan_imports where id = $1 and organization_id = $2 and plan_id is null")
        .bind(id.0)
        .bind(organization.0)
        .execute(db)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// The newest files of an organization; `zoned` turns instants into what people read.
pub(crate) async fn newest(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    most: i64,
    zoned: impl Fn(Millis) -> sqlx::Result<ZonedTime>,
) -> sqlx::Result<Vec<ImportRow>> {
    // Findings are many, and not for the list.
    sqlx::query(
        "select id, file_name, plan_id, created_ms, (report->>'accepted')::boolean as accepted,
                (report->>'error_count')::bigint as errors, (report->>'warning_count')::bigint as warnings,
                report->'outline'->'counts' as counts
         from plan_imports where organization_id = $1 order by created_ms desc, id desc limit $2",
    )
    .bind(organization.0)
    .bind(most)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        let number = |column: &str| -> sqlx::Result<u32> {
            Ok(u32::try_from(row.try_get::<i64, _>(column)?).unwrap_or(u32::MAX))
        };
        let plan = row.try_get::<Option<uuid::Uuid>, _>("plan_id")?.map(PlanId);
        Ok(ImportRow {
            id: ImportId(row.try_get("id")?),
            file_name: row.try_get("file_name")?,
            state: ImportState::of(row.try_get("accepted")?, plan),
            seats: row.try_get::<Option<Json<Counts>>, _>("counts")?.map(|counts| counts.0.seats),
            error_count: number("errors")?,
            warning_count: number("warnings")?,
            plan,
            uploaded: zoned(Millis(row.try_get("created_ms")?))?,
        })
    })
    .collect()
}

/// Venues of an organization with their city and zone, the newest first.
pub(crate) async fn places(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    most: i64,
) -> sqlx::Result<Vec<Place>> {
    sqlx::query(
        "select venue, city, time_zone from (
             select distinct on (venue) venue, city, time_zone, created_ms from plans
             where organization_id = $1 order by venue, created_ms desc) as newest
         order by created_ms desc limit $2",
    )
    .bind(organization.0)
    .bind(most)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        Ok(Place { venue: row.try_get("venue")?, city: row.try_get("city")?, time_zone: row.try_get("time_zone")? })
    })
    .collect()
}
