//! Venue plans and their seats.

use domain::venue::import::House;
use domain::{Millis, OrganizationId, PlanId, SeatNo};
use sqlx::postgres::PgRow;
use sqlx::types::Json;
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
    /// The plan without loss, where it can be written so.
    pub(crate) document: Option<&'a str>,
    /// What its file says about selling.
    pub(crate) house: &'a House,
    pub(crate) categories: Vec<String>,
    pub(crate) sections_no: Vec<i16>,
    pub(crate) sections: Vec<String>,
    pub(crate) rows_no: Vec<i32>,
    pub(crate) rows: Vec<String>,
    pub(crate) labels: Vec<String>,
    pub(crate) seat_categories: Vec<i16>,
    pub(crate) accessible: Vec<bool>,
    pub(crate) standing: Vec<bool>,
    pub(crate) gone: Vec<bool>,
    /// The organizer's plan that this one carries over into the numbers of an older one.
    pub(crate) renews: Option<PlanId>,
    pub(crate) now: Millis,
}

/// The category of a seat that is gone: none, so that it has no price and is counted nowhere.
const NO_CATEGORY: u8 = u8::MAX;

/// Adds a plan with all its seats, or finds the same one: the same drawing, seat ids, venue, city and zone.
pub(crate) async fn insert(db: &mut PgConnection, plan: &PlanInsert<'_>) -> sqlx::Result<PlanId> {
    let added = sqlx::query(
        "insert into plans
             (id, organization_id, venue, city, time_zone, map_digest, seat_count, source, document, created_ms, house,
              gone_count, renews)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
         on conflict (organization_id, venue, city, time_zone, map_digest, md5(coalesce(document, source))) do nothing",
    )
    .bind(plan.id.0)
    .bind(plan.organization.0)
    .bind(plan.venue)
    .bind(plan.city)
    .bind(plan.time_zone)
    .bind(plan.map_digest)
    .bind(i32::try_from(plan.labels.len()).unwrap_or(i32::MAX))
    .bind(plan.source)
    .bind(plan.document)
    .bind(plan.now.0)
    .bind(Json(plan.house))
    .bind(i32::try_from(plan.gone.iter().filter(|gone| **gone).count()).unwrap_or(i32::MAX))
    .bind(plan.renews.map(|id| id.0))
    .execute(&mut *db)
    .await?;
    if added.rows_affected() == 0 {
        let same: uuid::Uuid = sqlx::query_scalar(
            "update plans set house = $8
             where organization_id = $1 and venue = $2 and city = $3 and time_zone = $4 and map_digest = $5
                 and md5(coalesce(document, source)) = md5(coalesce($6, $7)) returning id",
        )
        .bind(plan.organization.0)
        .bind(plan.venue)
        .bind(plan.city)
        .bind(plan.time_zone)
        .bind(plan.map_digest)
        .bind(plan.document)
        .bind(plan.source)
        .bind(Json(plan.house))
        .fetch_one(&mut *db)
        .await?;
        return Ok(PlanId(same));
    }
    sqlx::query(
        "insert into plan_categories (plan_id, category, name)
         select $1, (n - 1)::smallint, name from unnest($2::text[]) with ordinality as c (name, n)",
    )
    .bind(plan.id.0)
    .bind(&plan.categories)
    .execute(&mut *db)
    .await?;
    sqlx::query(
        "insert into plan_seats (plan_id, seat_no, section_no, section, row_no, row_label, seat_label, category, accessible,
             standing, gone)
         select $1, (n - 1)::integer, section_no, section, row_no, row_label, seat_label, category, accessible, standing,
                gone
         from unnest($2::smallint[], $3::text[], $4::integer[], $5::text[], $6::text[], $7::smallint[], $8::boolean[],
                     $9::boolean[], $10::boolean[])
             with ordinality as s (section_no, section, row_no, row_label, seat_label, category, accessible, standing,
                                   gone, n)",
    )
    .bind(plan.id.0)
    .bind(&plan.sections_no)
    .bind(&plan.sections)
    .bind(&plan.rows_no)
    .bind(&plan.rows)
    .bind(&plan.labels)
    .bind(&plan.seat_categories)
    .bind(&plan.accessible)
    .bind(&plan.standing)
    .bind(&plan.gone)
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
    /// [`NO_CATEGORY`] for a seat that is gone.
    pub(crate) category: u8,
    pub(crate) accessible: bool,
    pub(crate) standing: bool,
    /// Taken away by a newer version of the plan: its number stays its own, it is neither shown nor sold.
    pub(crate) gone: bool,
}

fn seat(row: &PgRow) -> sqlx::Result<PlanSeatRow> {
    let small = |column: &str| -> sqlx::Result<u16> {
        u16::try_from(row.try_get::<i16, _>(column)?)
            .map_err(|e| sqlx::Error::ColumnDecode { index: column.to_owned(), source: e.into() })
    };
    let gone: bool = row.try_get("gone")?;
    let category = if gone { NO_CATEGORY } else { u8::try_from(small("category")?).unwrap_or(NO_CATEGORY) };
    Ok(PlanSeatRow {
        section_no: small("section_no")?,
        section: row.try_get("section")?,
        row_no: row.try_get("row_no")?,
        row: row.try_get("row_label")?,
        label: row.try_get("seat_label")?,
        category,
        accessible: row.try_get("accessible")?,
        standing: row.try_get("standing")?,
        gone,
    })
}

/// All seats of a plan, by number.
pub(crate) async fn seats(db: impl PgExecutor<'_>, id: PlanId) -> sqlx::Result<Vec<PlanSeatRow>> {
    sqlx::query(
        "select section_no, section, row_no, row_label, seat_label, category, accessible, standing, gone
         from plan_seats where plan_id = $1 order by seat_no",
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

/// What the file of a plan said about selling.
pub(crate) async fn house(db: impl PgExecutor<'_>, id: PlanId) -> sqlx::Result<House> {
    let house: Option<Option<Json<House>>> =
        sqlx::query_scalar("select house from plans where id = $1").bind(id.0).fetch_optional(db).await?;
    Ok(house.flatten().map(|house| house.0).unwrap_or_default())
}

/// The newest plan of an organization's venue.
pub(crate) async fn by_venue(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    venue: &str,
) -> sqlx::Result<Option<PlanId>> {
    let sql = "select id from plans where organization_id = $1 and venue = $2 and renews is null
               order by created_ms desc limit 1";
    Ok(sqlx::query_scalar(sql).bind(organization.0).bind(venue).fetch_optional(db).await?.map(PlanId))
}

/// A plan in the list of its organization.
pub(crate) struct PlanListRow {
    pub(crate) id: PlanId,
    pub(crate) venue: String,
    pub(crate) city: String,
    pub(crate) time_zone: String,
    pub(crate) map_digest: String,
    pub(crate) seats: u32,
    pub(crate) performances: u32,
    pub(crate) newest: bool,
    pub(crate) created: Millis,
}

/// Plans of an organization, the newest first; one alone where its id is given. Those that carry another
/// over are not listed: they count for that one.
pub(crate) async fn of_organization(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    one: Option<PlanId>,
    most: i64,
) -> sqlx::Result<Vec<PlanListRow>> {
    sqlx::query(
        "select id, venue, city, time_zone, map_digest, seat_count, created_ms,
                (select count(*) from performances f join plans used on used.id = f.plan_id
                 where p.id in (used.id, used.renews)) as performances,
                not exists (select 1 from plans later where later.organization_id = p.organization_id
                    and later.venue = p.venue and later.renews is null and (later.created_ms, later.id) > (p.created_ms, p.id)) as newest
         from plans p where organization_id = $1 and (id = $2 or ($2::uuid is null and renews is null))
         order by created_ms desc, id desc limit $3",
    )
    .bind(organization.0)
    .bind(one.map(|id| id.0))
    .bind(most)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        Ok(PlanListRow {
            id: PlanId(row.try_get("id")?),
            venue: row.try_get("venue")?,
            city: row.try_get("city")?,
            time_zone: row.try_get("time_zone")?,
            map_digest: row.try_get("map_digest")?,
            seats: u32::try_from(row.try_get::<i32, _>("seat_count")?).unwrap_or(0),
            performances: u32::try_from(row.try_get::<i64, _>("performances")?).unwrap_or(u32::MAX),
            newest: row.try_get("newest")?,
            created: Millis(row.try_get("created_ms")?),
        })
    })
    .collect()
}

/// A plan as it was stored: the exchange form, and the whole one where there is one.
pub(crate) struct Written {
    pub(crate) source: String,
    pub(crate) document: Option<String>,
}

/// The written forms of a plan.
pub(crate) async fn written(db: impl PgExecutor<'_>, id: PlanId) -> sqlx::Result<Option<Written>> {
    sqlx::query("select source, document from plans where id = $1")
        .bind(id.0)
        .fetch_optional(db)
        .await?
        .map(|row| Ok(Written { source: row.try_get("source")?, document: row.try_get("document")? }))
        .transpose()
}

/// Seats of a venue's plans that somebody holds or has bought for a performance that is still to come or
/// still sold, by plan and number, each once.
pub(crate) async fn taken_seats(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    venue: &str,
    now: Millis,
) -> sqlx::Result<Vec<(PlanId, SeatNo)>> {
    sqlx::query(
        "select distinct p.id, c.seat_no
         from plans p join performances f on f.plan_id = p.id join seat_claims c on c.performance_id = f.id
         where p.organization_id = $1 and p.venue = $2 and greatest(f.starts_ms, f.closes_ms) > $3
         order by p.id, c.seat_no",
    )
    .bind(organization.0)
    .bind(venue)
    .bind(now.0)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        let seat: i32 = row.try_get("seat_no")?;
        Ok((PlanId(row.try_get("id")?), SeatNo(u32::try_from(seat).unwrap_or(u32::MAX))))
    })
    .collect()
}
