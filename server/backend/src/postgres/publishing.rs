//! The step from a performance in the making to one that fans see, and what the sale then is.

use domain::organizer::draft::Draft;
use domain::{EventId, Millis, OrganizationId, PerformanceId, PlanId};
use sqlx::{PgConnection, PgExecutor, Row as _};

/// A performance to be published, all in columns.
pub(crate) struct PerformanceInsert<'a> {
    pub(crate) id: PerformanceId,
    pub(crate) event: EventId,
    pub(crate) plan: PlanId,
    pub(crate) draft: &'a Draft,
    /// The three instants, which a complete draft has.
    pub(crate) starts: Millis,
    pub(crate) opens: Millis,
    pub(crate) closes: Millis,
    pub(crate) currency: &'a str,
    /// The map with its own zones; the plan's otherwise.
    pub(crate) map_digest: Option<&'a str>,
    /// Seats in another zone than their category, with that zone.
    pub(crate) moved: &'a [(i32, i16)],
    pub(crate) seed: &'a [u8],
    pub(crate) now: Millis,
}

/// Marks a draft of that version published; `false` when it moved on, or was published before.
pub(crate) async fn mark(db: impl PgExecutor<'_>, id: PerformanceId, version: i32, now: Millis) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update performance_drafts set published_ms = $3 where id = $1 and version = $2 and published_ms is null",
    )
    .bind(id.0)
    .bind(version)
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Drops an unpublished draft of that version; `false` when it moved on.
pub(crate) async fn delete(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    id: PerformanceId,
    version: i32,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "delete from performance_drafts
         where id = $1 and organization_id = $2 and version = $3 and published_ms is null",
    )
    .bind(id.0)
    .bind(organization.0)
    .bind(version)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Adds a performance with its prices, its zones, its blocked seats and its row of the queue.
pub(crate) async fn insert(db: &mut PgConnection, new: &PerformanceInsert<'_>) -> sqlx::Result<()> {
    let draft = new.draft;
    let zones = || (0_i16..).zip(&draft.zones);
    sqlx::query(
        "insert into performances (id, event_id, plan_id, starts_ms, opens_ms, closes_ms, seat_limit, hold_ttl_ms, shoppers_max,
            release_per_min, currency, draw_seed, draw_commitment, created_ms, map_digest, zone_count,
            single_seat_rule, mode, registers_ms, account_cutoff_ms, window_ms)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, sha256($12), $13, $14, $15, $16, $17, $18, $19, $20)",
    )
    .bind(new.id.0)
    .bind(new.event.0)
    .bind(new.plan.0)
    .bind(new.starts.0)
    .bind(new.opens.0)
    .bind(new.closes.0)
    .bind(i32::try_from(draft.seat_limit).unwrap_or(i32::MAX))
    .bind(draft.hold_ttl_ms)
    .bind(i32::try_from(draft.shoppers_max).unwrap_or(i32::MAX))
    .bind(i32::try_from(draft.release_per_min).unwrap_or(i32::MAX))
    .bind(new.currency)
    .bind(new.seed)
    .bind(new.now.0)
    .bind(new.map_digest)
    .bind(new.map_digest.and_then(|_| i16::try_from(draft.zones.len()).ok()))
    .bind(draft.single_seat_rule)
    .bind(draft.mode.as_str())
    .bind(draft.registers.map(|at| at.0))
    .bind(draft.account_cutoff.map(|at| at.0))
    .bind(draft.window_ms)
    .execute(&mut *db)
    .await?;
    sqlx::query("insert into queue_state (performance_id) values ($1)").bind(new.id.0).execute(&mut *db).await?;
    let (priced, amounts): (Vec<i16>, Vec<i64>) =
        zones().filter_map(|(index, zone)| Some((index, zone.price_minor?))).unzip();
    sqlx::query(
        "insert into prices (performance_id, version, category, amount_minor)
         select $1, 1, category, amount from unnest($2::smallint[], $3::bigint[]) as price (category, amount)",
    )
    .bind(new.id.0)
    .bind(priced)
    .bind(amounts)
    .execute(&mut *db)
    .await?;
    if new.map_digest.is_some() {
        insert_zones(&mut *db, new).await?;
    }
    for group in &draft.blocked {
        let seats: Vec<i32> = group.seats.iter().filter_map(|seat| i32::try_from(seat.0).ok()).collect();
        super::catalog::insert_blocked(&mut *db, new.id, &seats, &group.reason).await?;
    }
    Ok(())
}

async fn insert_zones(db: &mut PgConnection, new: &PerformanceInsert<'_>) -> sqlx::Result<()> {
    let names: Vec<&str> = new.draft.zones.iter().map(|zone| zone.name.as_str()).collect();
    let colors: Vec<Option<&str>> = new.draft.zones.iter().map(|zone| zone.color.as_deref()).collect();
    sqlx::query(
        "insert into performance_zones (performance_id, zone, name, color)
         select $1, (n - 1)::smallint, name, color
         from unnest($2::text[], $3::text[]) with ordinality as z (name, color, n)",
    )
    .bind(new.id.0)
    .bind(names)
    .bind(colors)
    .execute(&mut *db)
    .await?;
    let (seats, zones): (Vec<i32>, Vec<i16>) = new.moved.iter().copied().unzip();
    sqlx::query(
        "insert into performance_seat_zones (performance_id, seat_no, zone)
         select $1, seat, zone from unnest($2::integer[], $3::smallint[]) as s (seat, zone)",
    )
    .bind(new.id.0)
    .bind(seats)
    .bind(zones)
    .execute(db)
    .await?;
    Ok(())
}

/// Names of a performance's own zones, by index; empty when they are the plan's categories.
pub(crate) async fn zones(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar("select name from performance_zones where performance_id = $1 order by zone")
        .bind(id.0)
        .fetch_all(db)
        .await
}

/// Seats of a performance that are in another zone than their category.
pub(crate) async fn moved(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<Vec<(usize, u8)>> {
    let bad = |column: &str, e: std::num::TryFromIntError| sqlx::Error::ColumnDecode {
        index: column.to_owned(),
        source: e.into(),
    };
    sqlx::query("select seat_no, zone from performance_seat_zones where performance_id = $1")
        .bind(id.0)
        .fetch_all(db)
        .await?
        .iter()
        .map(|row| {
            let seat = usize::try_from(row.try_get::<i32, _>("seat_no")?).map_err(|e| bad("seat_no", e))?;
            Ok((seat, u8::try_from(row.try_get::<i16, _>("zone")?).map_err(|e| bad("zone", e))?))
        })
        .collect()
}
