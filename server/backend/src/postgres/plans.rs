//! Venue plans and their seats.

use domain::{Millis, OrganizationId, PlanId};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, PgExecutor, Row as _};

/// A plan to be stored, with its seats in columns.
pub(crate) struct PlanInsert<'a> {
    pub(crate) id: PlanId,
    pub(crate) organization: OrganizationId,
    pub(crate) venue: &'a str,
    pub(crate) city: &'a str,
    pub(crate) time_zone: &'a str,
    pub(crate) map_digest: &'a str,
    pub(crate) source: &'a str,
    pub(crate) categories: Vec<String>,
    pub(crate) sections_no: Vec<i16>,
    pub(crate) sections: Vec<String>,
    pub(crate) rows_no: Vec<i32>,
    pub(crate) rows: Vec<String>,
    pub(crate) labels: Vec<String>,
    pub(crate) seat_categories: Vec<i16>,
    pub(crate) accessible: Vec<bool>,
    pub(crate) now: Millis,
}

/// Adds a plan with all its seats, or finds the same one.
pub(crate) async fn insert(db: &mut PgConnection, plan: &PlanInsert<'_>) -> sqlx::Result<PlanId> {
    let same: Option<uuid::Uuid> =
        sqlx::query_scalar("select id from plans where organization_id = $1 and venue = $2 and map_digest = $3")
            .bind(plan.organization.0)
            .bind(plan.venue)
            .bind(plan.map_digest)
            .fetch_optional(&mut *db)
            .await?;
    if let Some(id) = same {
        return Ok(PlanId(id));
    }
    sqlx::query(
        "insert into plans (id, organization_id, venue, city, time_zone, map_digest, seat_count, source, created_ms)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(plan.id.0)
    .bind(plan.organization.0)
    .bind(plan.venue)
    .bind(plan.city)
    .bind(plan.time_zone)
    .bind(plan.map_digest)
    .bind(i32::try_from(plan.labels.len()).unwrap_or(i32::MAX))
    .bind(plan.source)
    .bind(plan.now.0)
    .execute(&mut *db)
    .await?;
    sqlx::query(
        "insert into plan_categories (plan_id, category, name)
         select $1, (n - 1)::smallint, name from unnest($2::text[]) with ordinality as c (name, n)",
    )
    .bind(plan.id.0)
    .bind(&plan.categories)
    .execute(&mut *db)
    .await?;
    sqlx::query(
        "insert into plan_seats (plan_id, seat_no, section_no, section, row_no, row_label, seat_label, category, accessible)
         select $1, (n - 1)::integer, section_no, section, row_no, row_label, seat_label, category, accessible
         from unnest($2::smallint[], $3::text[], $4::integer[], $5::text[], $6::text[], $7::smallint[], $8::boolean[])
             with ordinality as s (section_no, section, row_no, row_label, seat_label, category, accessible, n)",
    )
    .bind(plan.id.0)
    .bind(&plan.sections_no)
    .bind(&plan.sections)
    .bind(&plan.rows_no)
    .bind(&plan.rows)
    .bind(&plan.labels)
    .bind(&plan.seat_categories)
    .bind(&plan.accessible)
    .execute(db)
    .await?;
    Ok(plan.id)
}

/// One seat of a plan.
#[derive(Clone)]
pub(crate) struct PlanSeatRow {
    pub(crate) section_no: u16,
    pub(crate) section: String,
    pub(crate) row_no: i32,
    pub(crate) row: String,
    pub(crate) label: String,
    pub(crate) category: u8,
    pub(crate) accessible: bool,
}

fn seat(row: &PgRow) -> sqlx::Result<PlanSeatRow> {
    let small = |column: &str| -> sqlx::Result<u16> {
        u16::try_from(row.try_get::<i16, _>(column)?)
            .map_err(|e| sqlx::Error::ColumnDecode { index: column.to_owned(), source: e.into() })
    };
    Ok(PlanSeatRow {
        section_no: small("section_no")?,
        section: row.try_get("section")?,
        row_no: row.try_get("row_no")?,
        row: row.try_get("row_label")?,
        label: row.try_get("seat_label")?,
        category: u8::try_from(small("category")?).unwrap_or(u8::MAX),
        accessible: row.try_get("accessible")?,
    })
}

/// All seats of a plan, by number.
pub(crate) async fn seats(db: impl PgExecutor<'_>, id: PlanId) -> sqlx::Result<Vec<PlanSeatRow>> {
    sqlx::query(
        "select section_no, section, row_no, row_label, seat_label, category, accessible from plan_seats where plan_id = $1 order by seat_no",
    )
    .bind(id.0)
    .fetch_all(db)
    .await?
    .iter()
    .map(seat)
    .collect()
}

/// Names of a plan's categories, by index.
pub(crate) async fn categories(db: impl PgExecutor<'_>, id: PlanId) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar("select name from plan_categories where plan_id = $1 order by category")
        .bind(id.0)
        .fetch_all(db)
        .await
}

/// The source of a stored plan, in the pretix form.
pub(crate) async fn source(db: impl PgExecutor<'_>, id: PlanId) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar("select source from plans where id = $1").bind(id.0).fetch_optional(db).await
}

/// The newest plan of a venue.
pub(crate) async fn by_venue(db: impl PgExecutor<'_>, venue: &str) -> sqlx::Result<Option<PlanId>> {
    Ok(sqlx::query_scalar("select id from plans where venue = $1 order by created_ms desc limit 1")
        .bind(venue)
        .fetch_optional(db)
        .await?
        .map(PlanId))
}
