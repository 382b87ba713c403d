//! Events of an organization with their performances, and the plans that they may take.

use super::catalog::{EventInsert, bad};
use domain::organizer::sales::PlanHead;
use domain::queue::Mode;
use domain::{EventId, Millis, OrganizationId, PerformanceId, PlanId};
use sqlx::postgres::PgRow;
use sqlx::{PgExecutor, Row as _};
use uuid::Uuid;

/// An event.
#[derive(Clone, Debug)]
pub(crate) struct EventRow {
    pub(crate) id: EventId,
    pub(crate) slug: String,
    pub(crate) title: String,
    pub(crate) artist: String,
    pub(crate) description: String,
    pub(crate) cover: u8,
    pub(crate) picture: Option<String>,
}

fn event(row: &PgRow) -> sqlx::Result<EventRow> {
    Ok(EventRow {
        id: EventId(row.try_get("id")?),
        slug: row.try_get("slug")?,
        title: row.try_get("title")?,
        artist: row.try_get("artist")?,
        description: row.try_get("description")?,
        cover: u8::try_from(row.try_get::<i16, _>("cover")?).map_err(|e| bad("cover", e))?,
        picture: row.try_get("picture")?,
    })
}

/// The newest events of an organization.
pub(crate) async fn of_organization(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    most: i64,
) -> sqlx::Result<Vec<EventRow>> {
    sqlx::query("select * from events where organization_id = $1 order by created_ms desc, id desc limit $2")
        .bind(organization.0)
        .bind(most)
        .fetch_all(db)
        .await?
        .iter()
        .map(event)
        .collect()
}

/// One event of an organization.
pub(crate) async fn get(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    id: EventId,
) -> sqlx::Result<Option<EventRow>> {
    sqlx::query("select * from events where id = $1 and organization_id = $2")
        .bind(id.0)
        .bind(organization.0)
        .fetch_optional(db)
        .await?
        .as_ref()
        .map(event)
        .transpose()
}

/// One event of an organization, by its address.
pub(crate) async fn by_slug(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    slug: &str,
) -> sqlx::Result<Option<EventId>> {
    let id: Option<Uuid> = sqlx::query_scalar("select id from events where slug = $1 and organization_id = $2")
        .bind(slug)
        .bind(organization.0)
        .fetch_optional(db)
        .await?;
    Ok(id.map(EventId))
}

/// Changes an event. Its address changes only while no performance was published; `false` when that,
/// or the event, is not as expected.
pub(crate) async fn update(db: impl PgExecutor<'_>, to: &EventInsert<'_>) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update events e set slug = $3, title = $4, artist = $5, description = $6, cover = $7
         where id = $1 and organization_id = $2
         and (slug = $3 or not exists (select 1 from performances p where p.event_id = e.id))",
    )
    .bind(to.id.0)
    .bind(to.organization.0)
    .bind(to.slug)
    .bind(to.title)
    .bind(to.artist)
    .bind(to.description)
    .bind(i16::from(to.cover))
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// A published performance in its organizer's list.
pub(crate) struct PublishedRow {
    pub(crate) id: PerformanceId,
    pub(crate) event: EventId,
    pub(crate) venue: String,
    pub(crate) city: String,
    pub(crate) time_zone: String,
    pub(crate) starts: Millis,
    pub(crate) mode: Mode,
    pub(crate) registers: Millis,
    pub(crate) opens: Millis,
    pub(crate) closes: Millis,
    pub(crate) paused: bool,
    pub(crate) seats: u32,
    pub(crate) sold: u32,
}

/// Published performances of events, by date, with the seats of paid orders.
pub(crate) async fn published(db: impl PgExecutor<'_>, events: &[Uuid]) -> sqlx::Result<Vec<PublishedRow>> {
    let unsigned = |row: &PgRow, column: &str| -> sqlx::Result<u32> {
        u32::try_from(row.try_get::<i64, _>(column)?).map_err(|e| bad(column, e))
    };
    sqlx::query(
        "select p.id, p.event_id, p.starts_ms, p.mode, p.registers_ms, p.opens_ms, p.closes_ms, p.paused, l.venue, l.city, l.time_zone,
                (l.seat_count - l.gone_count)::bigint as seats,
                (select count(*) from orders o join order_items i on i.order_id = o.id and i.returned_ms is null
                 where o.performance_id = p.id and o.status in ('paid', 'fulfilled')) as sold
         from performances p join plans l on l.id = p.plan_id
         where p.event_id = any($1) order by p.starts_ms, p.id",
    )
    .bind(events)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        Ok(PublishedRow {
            id: PerformanceId(row.try_get("id")?),
            event: EventId(row.try_get("event_id")?),
            venue: row.try_get("venue")?,
            city: row.try_get("city")?,
            time_zone: row.try_get("time_zone")?,
            starts: Millis(row.try_get("starts_ms")?),
            mode: Mode::parse(row.try_get("mode")?).ok_or_else(|| bad("mode", "an unknown mode"))?,
            registers: row.try_get::<Option<i64>, _>("registers_ms")?.map_or(Millis(0), Millis),
            opens: Millis(row.try_get("opens_ms")?),
            closes: Millis(row.try_get("closes_ms")?),
            paused: row.try_get("paused")?,
            seats: unsigned(row, "seats")?,
            sold: unsigned(row, "sold")?,
        })
    })
    .collect()
}

/// A performance in the making in its organizer's list.
pub(crate) struct DraftLine {
    pub(crate) id: PerformanceId,
    pub(crate) event: EventId,
    pub(crate) plan: Option<PlanId>,
    pub(crate) starts: Option<Millis>,
    pub(crate) opens: Option<Millis>,
}

/// Performances of events that are in the making.
pub(crate) async fn drafts(db: impl PgExecutor<'_>, events: &[Uuid]) -> sqlx::Result<Vec<DraftLine>> {
    sqlx::query(
        "select id, event_id, (document ->> 'plan')::uuid as plan, (document ->> 'starts')::bigint as starts,
                (document ->> 'opens')::bigint as opens
         from performance_drafts where event_id = any($1) and published_ms is null order by created_ms, id",
    )
    .bind(events)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        Ok(DraftLine {
            id: PerformanceId(row.try_get("id")?),
            event: EventId(row.try_get("event_id")?),
            plan: row.try_get::<Option<Uuid>, _>("plan")?.map(PlanId),
            starts: row.try_get::<Option<i64>, _>("starts")?.map(Millis),
            opens: row.try_get::<Option<i64>, _>("opens")?.map(Millis),
        })
    })
    .collect()
}

/// The newest plans of an organization.
pub(crate) async fn plan_heads(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    most: i64,
) -> sqlx::Result<Vec<PlanHead>> {
    sqlx::query(
        "select id, venue, city, time_zone, map_digest, seat_count from plans
         where organization_id = $1 order by created_ms desc, id desc limit $2",
    )
    .bind(organization.0)
    .bind(most)
    .fetch_all(db)
    .await?
    .iter()
    .map(plan_head)
    .collect()
}

/// One plan of an organization.
pub(crate) async fn plan_of(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    id: PlanId,
) -> sqlx::Result<Option<PlanHead>> {
    sqlx::query(
        "select id, venue, city, time_zone, map_digest, seat_count from plans where organization_id = $1 and id = $2",
    )
    .bind(organization.0)
    .bind(id.0)
    .fetch_optional(db)
    .await?
    .as_ref()
    .map(plan_head)
    .transpose()
}

fn plan_head(row: &PgRow) -> sqlx::Result<PlanHead> {
    Ok(PlanHead {
        id: PlanId(row.try_get("id")?),
        venue: row.try_get("venue")?,
        city: row.try_get("city")?,
        zone: row.try_get("time_zone")?,
        map_digest: row.try_get("map_digest")?,
        seats: u32::try_from(row.try_get::<i32, _>("seat_count")?).map_err(|e| bad("seat_count", e))?,
    })
}

/// Whether a published performance is one of this organization's.
pub(crate) async fn owns_performance(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    id: PerformanceId,
) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "select exists (select 1 from performances p join events e on e.id = p.event_id
         where p.id = $1 and e.organization_id = $2)",
    )
    .bind(id.0)
    .bind(organization.0)
    .fetch_one(db)
    .await
}
