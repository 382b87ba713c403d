//! Performances in the making.

use domain::organizer::draft::Draft;
use domain::{EventId, Millis, OrganizationId, PerformanceId};
use sqlx::types::Json;
use sqlx::{PgExecutor, Row as _};

/// A stored draft.
pub(crate) struct DraftRow {
    pub(crate) id: PerformanceId,
    pub(crate) event: EventId,
    pub(crate) draft: Draft,
    pub(crate) version: i32,
    pub(crate) published: Option<Millis>,
}

fn draft(row: &sqlx::postgres::PgRow) -> sqlx::Result<DraftRow> {
    Ok(DraftRow {
        id: PerformanceId(row.try_get("id")?),
        event: EventId(row.try_get("event_id")?),
        draft: row.try_get::<Json<Draft>, _>("document")?.0,
        version: row.try_get("version")?,
        published: row.try_get::<Option<i64>, _>("published_ms")?.map(Millis),
    })
}

/// A draft of this organization.
pub(crate) async fn get(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    id: PerformanceId,
) -> sqlx::Result<Option<DraftRow>> {
    sqlx::query("select * from performance_drafts where id = $1 and organization_id = $2")
        .bind(id.0)
        .bind(organization.0)
        .fetch_optional(db)
        .await?
        .as_ref()
        .map(draft)
        .transpose()
}

/// Adds a draft.
pub(crate) async fn insert(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    event: EventId,
    id: PerformanceId,
    draft: &Draft,
    now: Millis,
) -> sqlx::Result<()> {
    sqlx::query(
        "insert into performance_drafts (id, organization_id, event_id, document, created_ms) values ($1, $2, $3, $4, $5)",
    )
    .bind(id.0)
    .bind(organization.0)
    .bind(event.0)
    .bind(Json(draft))
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(())
}

/// Replaces an unpublished draft of that version; `false` when it moved on meanwhile.
pub(crate) async fn put(db: impl PgExecutor<'_>, id: PerformanceId, version: i32, draft: &Draft) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update performance_drafts set document = $3, version = version + 1
         where id = $1 and version = $2 and published_ms is null",
    )
    .bind(id.0)
    .bind(version)
    .bind(Json(draft))
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}
