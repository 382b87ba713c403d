//! Another plan for a performance that is on sale.

use domain::{Millis, OrganizationId, PerformanceId, PlanId};
use sqlx::postgres::PgRow;
use sqlx::{PgExecutor, Row as _};

/// A performance as a change of its plan needs it.
pub(crate) struct PlannedRow {
    pub(crate) plan: PlanId,
    /// The organizer's plan that it carries, where it is not one itself.
    pub(crate) renews: Option<PlanId>,
    pub(crate) venue: String,
    pub(crate) city: String,
    pub(crate) time_zone: String,
}

/// The plan of a published performance of an organization.
pub(crate) async fn planned(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    id: PerformanceId,
) -> sqlx::Result<Option<PlannedRow>> {
    let row = sqlx::query(
        "select l.id, l.renews, l.venue, l.city, l.time_zone
         from performances p join events e on e.id = p.event_id join plans l on l.id = p.plan_id
         where p.id = $1 and e.organization_id = $2",
    )
    .bind(id.0)
    .bind(organization.0)
    .fetch_optional(db)
    .await?;
    row.map(|row| {
        Ok(PlannedRow {
            plan: PlanId(row.try_get("id")?),
            renews: row.try_get::<Option<uuid::Uuid>, _>("renews")?.map(PlanId),
            venue: row.try_get("venue")?,
            city: row.try_get("city")?,
            time_zone: row.try_get("time_zone")?,
        })
    })
    .transpose()
}

/// A plan of an organizer's own, at one place.
pub(crate) struct ChoiceRow {
    pub(crate) id: PlanId,
    pub(crate) created: Millis,
    pub(crate) seats: u32,
}

/// The plans of an organization at a place, the newest first.
pub(crate) async fn choices(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    at: &PlannedRow,
) -> sqlx::Result<Vec<ChoiceRow>> {
    sqlx::query(
        "select id, created_ms, seat_count from plans
         where organization_id = $1 and venue = $2 and city = $3 and time_zone = $4 and renews is null
         order by created_ms desc, id desc",
    )
    .bind(organization.0)
    .bind(&at.venue)
    .bind(&at.city)
    .bind(&at.time_zone)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        Ok(ChoiceRow {
            id: PlanId(row.try_get("id")?),
            created: Millis(row.try_get("created_ms")?),
            seats: u32::try_from(row.try_get::<i32, _>("seat_count")?).unwrap_or(0),
        })
    })
    .collect()
}

/// Puts a plan in the place of another and raises the epoch, under the condition that neither changed:
/// the new epoch. Whoever changes seats, allocations or payments waits until the transaction ends.
pub(crate) async fn replace(
    db: impl PgExecutor<'_>,
    id: PerformanceId,
    (from, to): (PlanId, PlanId),
    map_digest: Option<&str>,
    epoch: i64,
) -> sqlx::Result<Option<i64>> {
    sqlx::query_scalar(
        "update performances set plan_id = $3, map_digest = $4, epoch = epoch + 1
         where id = $1 and plan_id = $2 and epoch = $5 returning epoch",
    )
    .bind(id.0)
    .bind(from.0)
    .bind(to.0)
    .bind(map_digest)
    .bind(epoch)
    .fetch_optional(db)
    .await
}

/// A sold seat with who is to be told about it.
pub(crate) struct HolderRow {
    pub(crate) seat: u32,
    pub(crate) order: uuid::Uuid,
    pub(crate) email: String,
    pub(crate) lang: String,
}

fn seat(row: &PgRow) -> sqlx::Result<u32> {
    let column = "seat_no";
    u32::try_from(row.try_get::<i32, _>(column)?)
        .map_err(|e| sqlx::Error::ColumnDecode { index: column.to_owned(), source: e.into() })
}

/// Who bought some seats, by order.
pub(crate) async fn holders(db: impl PgExecutor<'_>, id: PerformanceId, seats: &[i32]) -> sqlx::Result<Vec<HolderRow>> {
    sqlx::query(
        "select c.seat_no, c.order_id, a.email, a.lang
         from seat_claims c join orders o on o.id = c.order_id join accounts a on a.id = o.account_id
         where c.performance_id = $1 and c.seat_no = any($2) and o.status in ('paid', 'fulfilled')
         order by c.order_id, c.seat_no",
    )
    .bind(id.0)
    .bind(seats)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        Ok(HolderRow {
            seat: seat(row)?,
            order: row.try_get("order_id")?,
            email: row.try_get("email")?,
            lang: row.try_get("lang")?,
        })
    })
    .collect()
}
