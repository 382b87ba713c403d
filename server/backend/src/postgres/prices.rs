//! Prices, zones and seats off sale of published performances.

use super::catalog::bad;
use domain::{Currency, EventId, OrganizationId, PerformanceId, PlanId};
use sqlx::postgres::PgRow;
use sqlx::{PgExecutor, Row as _};

/// A published performance of an organization, as its prices need it.
pub(crate) struct PricedRow {
    pub(crate) event: EventId,
    pub(crate) title: String,
    pub(crate) plan: PlanId,
    pub(crate) currency: Currency,
    pub(crate) price_version: i32,
}

/// A seat in an open or paid order.
pub(crate) struct ClaimRow {
    pub(crate) seat: u32,
    pub(crate) sold: bool,
}

fn zone(row: &PgRow) -> sqlx::Result<u8> {
    u8::try_from(row.try_get::<i16, _>("zone")?).map_err(|e| bad("zone", e))
}

fn seat(row: &PgRow) -> sqlx::Result<u32> {
    u32::try_from(row.try_get::<i32, _>("seat_no")?).map_err(|e| bad("seat_no", e))
}

/// A published performance of this organization.
pub(crate) async fn published(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    id: PerformanceId,
) -> sqlx::Result<Option<PricedRow>> {
    let row = sqlx::query(
        "select p.event_id, e.title, p.plan_id, p.currency, p.price_version
         from performances p join events e on e.id = p.event_id
         where p.id = $1 and e.organization_id = $2",
    )
    .bind(id.0)
    .bind(organization.0)
    .fetch_optional(db)
    .await?;
    row.map(|row| {
        Ok(PricedRow {
            event: EventId(row.try_get("event_id")?),
            title: row.try_get("title")?,
            plan: PlanId(row.try_get("plan_id")?),
            currency: super::catalog::currency(&row, "currency")?,
            price_version: row.try_get("price_version")?,
        })
    })
    .transpose()
}

/// The title of an event.
pub(crate) async fn event_title(db: impl PgExecutor<'_>, event: EventId) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar("select title from events where id = $1").bind(event.0).fetch_optional(db).await
}

/// Name of a plan's map, if the plan is this organization's.
pub(crate) async fn map_digest(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    plan: PlanId,
) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar("select map_digest from plans where id = $1 and organization_id = $2")
        .bind(plan.0)
        .bind(organization.0)
        .fetch_optional(db)
        .await
}

/// Zones of a published performance with their names and colours, by index; none where the plan's
/// categories are all there is.
pub(crate) async fn zones(
    db: impl PgExecutor<'_>,
    id: PerformanceId,
) -> sqlx::Result<Vec<(u8, String, Option<String>)>> {
    sqlx::query("select zone, name, color from performance_zones where performance_id = $1 order by zone")
        .bind(id.0)
        .fetch_all(db)
        .await?
        .iter()
        .map(|row| Ok((zone(row)?, row.try_get("name")?, row.try_get("color")?)))
        .collect()
}

/// Seats of a published performance whose zone is not their category.
pub(crate) async fn seat_zones(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<Vec<(u32, u8)>> {
    sqlx::query("select seat_no, zone from performance_seat_zones where performance_id = $1 order by seat_no")
        .bind(id.0)
        .fetch_all(db)
        .await?
        .iter()
        .map(|row| Ok((seat(row)?, zone(row)?)))
        .collect()
}

/// Seats in open and paid orders.
pub(crate) async fn claims(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<Vec<ClaimRow>> {
    sqlx::query(
        "select c.seat_no, o.status in ('paid', 'fulfilled') as sold
         from seat_claims c join orders o on o.id = c.order_id where c.performance_id = $1",
    )
    .bind(id.0)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| Ok(ClaimRow { seat: seat(row)?, sold: row.try_get("sold")? }))
    .collect()
}

/// Seats off sale by reason.
pub(crate) async fn blocked(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<Vec<(String, Vec<i32>)>> {
    sqlx::query(
        "select reason, array_agg(seat_no order by seat_no) as seats from blocked_seats
         where performance_id = $1 group by reason order by reason",
    )
    .bind(id.0)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| Ok((row.try_get("reason")?, row.try_get("seats")?)))
    .collect()
}

/// Moves the prices of a performance to their next version; none when they moved on meanwhile.
pub(crate) async fn next_version(
    db: impl PgExecutor<'_>,
    id: PerformanceId,
    version: i32,
) -> sqlx::Result<Option<i32>> {
    sqlx::query_scalar(
        "update performances set price_version = price_version + 1, settings_version = settings_version + 1
         where id = $1 and price_version = $2 returning price_version",
    )
    .bind(id.0)
    .bind(version)
    .fetch_optional(db)
    .await
}

/// Adds all prices of a version.
pub(crate) async fn insert_version(
    db: impl PgExecutor<'_>,
    id: PerformanceId,
    version: i32,
    zones: &[i16],
    amounts: &[i64],
) -> sqlx::Result<()> {
    sqlx::query(
        "insert into prices (performance_id, version, category, amount_minor)
         select $1, $2, zone, amount from unnest($3::smallint[], $4::bigint[]) as price (zone, amount)",
    )
    .bind(id.0)
    .bind(version)
    .bind(zones)
    .bind(amounts)
    .execute(db)
    .await?;
    Ok(())
}

/// The epoch of a performance's seats, which stays until this transaction ends: whoever builds them
/// anew raises it first, and so waits for what is being changed here.
pub(crate) async fn hold_epoch(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<Option<i64>> {
    sqlx::query_scalar("select epoch from performances where id = $1 for share").bind(id.0).fetch_optional(db).await
}
