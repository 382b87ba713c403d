//! Events, performances and prices.

use domain::queue::{Draw, Drawn, Mode};
use domain::{Currency, EventId, Millis, OrganizationId, PerformanceId, PlanId};
use sqlx::postgres::PgRow;
use sqlx::{PgExecutor, Row as _};

/// A performance with its event and venue, as most use-cases need it.
#[derive(Clone, Debug)]
pub(crate) struct PerformanceRow {
    pub(crate) id: PerformanceId,
    pub(crate) event: EventId,
    pub(crate) slug: String,
    pub(crate) title: String,
    pub(crate) artist: String,
    pub(crate) description: String,
    pub(crate) cover: u8,
    pub(crate) picture: Option<String>,
    pub(crate) plan: PlanId,
    pub(crate) venue: String,
    pub(crate) city: String,
    pub(crate) time_zone: String,
    pub(crate) map_digest: String,
    /// Its zones are not the plan's categories.
    pub(crate) own_zones: bool,
    /// Numbers of seats, those that are gone among them.
    pub(crate) seat_count: u32,
    /// Seats that a newer version of the plan took away.
    pub(crate) gone_count: u32,
    pub(crate) starts: Millis,
    /// Waiting room or lottery.
    pub(crate) mode: Mode,
    /// From when on places can be taken.
    pub(crate) registers: Millis,
    /// Accounts that were made later get no place.
    pub(crate) account_cutoff: Option<Millis>,
    /// Length of a lottery's window.
    pub(crate) window_ms: i64,
    pub(crate) opens: Millis,
    pub(crate) closes: Millis,
    pub(crate) paused: bool,
    /// It does not take place.
    pub(crate) cancelled: bool,
    pub(crate) seat_limit: u32,
    pub(crate) hold_ttl_ms: i64,
    /// Refuses choices that leave one seat alone.
    pub(crate) single_seat_rule: bool,
    pub(crate) shoppers_max: u32,
    pub(crate) release_per_min: u32,
    pub(crate) currency: Currency,
    pub(crate) price_version: i32,
    /// Raised by each change of what controls change: older settings never go over newer ones.
    pub(crate) settings_version: i64,
    pub(crate) epoch: i64,
    /// Raised by each change of allocations.
    pub(crate) allocation_version: i64,
    pub(crate) draw_seed: [u8; 32],
    pub(crate) draw_commitment: Vec<u8>,
    /// When the public randomness is due that was named last.
    pub(crate) beacon_due: Option<Millis>,
    pub(crate) lobby: Option<u32>,
    /// The draw, once it was made.
    pub(crate) drawn: Option<DrawnRow>,
    pub(crate) from_minor: Option<i64>,
}

/// What a draw was made with.
#[derive(Clone, Debug)]
pub(crate) struct DrawnRow {
    pub(crate) lobby: u32,
    pub(crate) list_digest: Vec<u8>,
    pub(crate) randomness: Option<Vec<u8>>,
}

impl DrawnRow {
    /// As it is published, once the seed may be.
    pub(crate) fn published(&self, seed: &[u8]) -> Drawn {
        Drawn {
            seed: hex::encode(seed),
            list: hex::encode(&self.list_digest),
            beacon: self.randomness.as_ref().map(hex::encode).unwrap_or_default(),
        }
    }
}

impl PerformanceRow {
    /// The draw, once it was made.
    pub(crate) fn draw(&self) -> Option<Draw> {
        let drawn = self.drawn.as_ref()?;
        drawn.published(&self.draw_seed).draw(drawn.lobby)
    }

    /// Seats that there are.
    pub(crate) fn seats(&self) -> u32 {
        self.seat_count.saturating_sub(self.gone_count)
    }

    /// From when on places can be taken; none where that was so from publication on.
    pub(crate) fn registers_from(&self) -> Option<Millis> {
        (self.registers > Millis(0)).then_some(self.registers)
    }
}

const PERFORMANCE: &str = "
    select p.*, e.slug, e.title, e.artist, e.description, e.cover, e.picture, l.venue, l.city, l.time_zone,
           coalesce(p.map_digest, l.map_digest) as shown_digest, l.seat_count, l.gone_count,
           q.lobby, d.lobby as drawn_lobby, d.list_digest, d.randomness,
           (select c.beacon_due_ms from draw_commitments c where c.performance_id = p.id order by c.number desc limit 1) as beacon_due_ms,
           (select min(amount_minor) from prices where performance_id = p.id and version = p.price_version) as from_minor
    from performances p
    join events e on e.id = p.event_id
    join plans l on l.id = p.plan_id
    left join queue_state q on q.performance_id = p.id
    left join draws d on d.performance_id = p.id";

/// What a column says that it never should.
pub(super) fn bad(column: &str, what: impl std::fmt::Display) -> sqlx::Error {
    sqlx::Error::ColumnDecode { index: column.to_owned(), source: what.to_string().into() }
}

fn unsigned(row: &PgRow, column: &str) -> sqlx::Result<u32> {
    u32::try_from(row.try_get::<i32, _>(column)?).map_err(|e| bad(column, e))
}

/// Reads a three-letter currency.
pub(crate) fn currency(row: &PgRow, column: &str) -> sqlx::Result<Currency> {
    row.try_get::<String, _>(column)?.parse().map_err(|e| bad(column, e))
}

fn performance(row: &PgRow) -> sqlx::Result<PerformanceRow> {
    let seed: Vec<u8> = row.try_get("draw_seed")?;
    Ok(PerformanceRow {
        id: PerformanceId(row.try_get("id")?),
        event: EventId(row.try_get("event_id")?),
        slug: row.try_get("slug")?,
        title: row.try_get("title")?,
        artist: row.try_get("artist")?,
        description: row.try_get("description")?,
        cover: u8::try_from(row.try_get::<i16, _>("cover")?).map_err(|e| bad("cover", e))?,
        picture: row.try_get("picture")?,
        plan: PlanId(row.try_get("plan_id")?),
        venue: row.try_get("venue")?,
        city: row.try_get("city")?,
        time_zone: row.try_get("time_zone")?,
        map_digest: row.try_get("shown_digest")?,
        own_zones: row.try_get::<Option<i16>, _>("zone_count")?.is_some(),
        seat_count: unsigned(row, "seat_count")?,
        gone_count: unsigned(row, "gone_count")?,
        starts: Millis(row.try_get("starts_ms")?),
        mode: Mode::parse(row.try_get("mode")?).ok_or_else(|| bad("mode", "an unknown mode"))?,
        registers: row.try_get::<Option<i64>, _>("registers_ms")?.map_or(Millis(0), Millis),
        account_cutoff: row.try_get::<Option<i64>, _>("account_cutoff_ms")?.map(Millis),
        window_ms: row.try_get("window_ms")?,
        opens: Millis(row.try_get("opens_ms")?),
        closes: Millis(row.try_get("closes_ms")?),
        paused: row.try_get("paused")?,
        cancelled: row.try_get::<Option<i64>, _>("cancelled_ms")?.is_some(),
        seat_limit: unsigned(row, "seat_limit")?,
        hold_ttl_ms: row.try_get("hold_ttl_ms")?,
        single_seat_rule: row.try_get("single_seat_rule")?,
        shoppers_max: unsigned(row, "shoppers_max")?,
        release_per_min: unsigned(row, "release_per_min")?,
        currency: currency(row, "currency")?,
        price_version: row.try_get("price_version")?,
        settings_version: row.try_get("settings_version")?,
        epoch: row.try_get("epoch")?,
        allocation_version: row.try_get("allocation_version")?,
        draw_seed: seed.try_into().map_err(|_| bad("draw_seed", "32 bytes are expected"))?,
        draw_commitment: row.try_get("draw_commitment")?,
        beacon_due: row.try_get::<Option<i64>, _>("beacon_due_ms")?.map(Millis),
        lobby: row.try_get::<Option<i64>, _>("lobby")?.and_then(|n| u32::try_from(n).ok()),
        drawn: match row.try_get::<Option<Vec<u8>>, _>("list_digest")? {
            Some(list_digest) => Some(DrawnRow {
                lobby: u32::try_from(row.try_get::<i64, _>("drawn_lobby")?).map_err(|e| bad("lobby", e))?,
                list_digest,
                randomness: row.try_get("randomness")?,
            }),
            None => None,
        },
        from_minor: row.try_get("from_minor")?,
    })
}

/// One performance.
pub(crate) async fn one(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<Option<PerformanceRow>> {
    sqlx::query(sqlx::AssertSqlSafe(format!("{PERFORMANCE} where p.id = $1")))
        .bind(id.0)
        .fetch_optional(db)
        .await?
        .as_ref()
        .map(performance)
        .transpose()
}

/// Every performance, by date; those of one event when a slug is given.
pub(crate) async fn all(db: impl PgExecutor<'_>, slug: Option<&str>) -> sqlx::Result<Vec<PerformanceRow>> {
    sqlx::query(sqlx::AssertSqlSafe(format!(
        "{PERFORMANCE} where $1::text is null or e.slug = $1 order by p.starts_ms, p.id"
    )))
    .bind(slug)
    .fetch_all(db)
    .await?
    .iter()
    .map(performance)
    .collect()
}

/// Performances whose sale has not ended, or whose last orders may still be under way.
pub(crate) async fn on_sale(db: impl PgExecutor<'_>, ended_after: Millis) -> sqlx::Result<Vec<PerformanceId>> {
    Ok(sqlx::query_scalar("select id from performances where closes_ms > $1 order by opens_ms")
        .bind(ended_after.0)
        .fetch_all(db)
        .await?
        .into_iter()
        .map(PerformanceId)
        .collect())
}

/// Performances whose sale ended before an instant, with their epochs, by their ids after `last`.
pub(crate) async fn ended(
    db: impl PgExecutor<'_>,
    before: Millis,
    last: Option<PerformanceId>,
    most: i64,
) -> sqlx::Result<Vec<(PerformanceId, i64)>> {
    sqlx::query(
        "select id, epoch from performances where closes_ms <= $1 and ($2::uuid is null or id > $2)
         order by id limit $3",
    )
    .bind(before.0)
    .bind(last.map(|id| id.0))
    .bind(most)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| Ok((PerformanceId(row.try_get("id")?), row.try_get("epoch")?)))
    .collect()
}

/// Prices of the current version, by category.
pub(crate) async fn prices(db: impl PgExecutor<'_>, id: PerformanceId, version: i32) -> sqlx::Result<Vec<(u8, i64)>> {
    sqlx::query("select category, amount_minor from prices where performance_id = $1 and version = $2")
        .bind(id.0)
        .bind(version)
        .fetch_all(db)
        .await?
        .iter()
        .map(|row| {
            let category = u8::try_from(row.try_get::<i16, _>("category")?).map_err(|e| bad("category", e))?;
            Ok((category, row.try_get("amount_minor")?))
        })
        .collect()
}

/// An event to be stored.
pub(crate) struct EventInsert<'a> {
    pub(crate) id: EventId,
    pub(crate) organization: OrganizationId,
    pub(crate) slug: &'a str,
    pub(crate) title: &'a str,
    pub(crate) artist: &'a str,
    pub(crate) description: &'a str,
    pub(crate) cover: u8,
    pub(crate) now: Millis,
}

/// Adds an event; `false` when the slug is taken.
pub(crate) async fn insert_event(db: impl PgExecutor<'_>, event: &EventInsert<'_>) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "insert into events (id, organization_id, slug, title, artist, description, cover, created_ms)
         values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (slug) do nothing",
    )
    .bind(event.id.0)
    .bind(event.organization.0)
    .bind(event.slug)
    .bind(event.title)
    .bind(event.artist)
    .bind(event.description)
    .bind(i16::from(event.cover))
    .bind(event.now.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Whether any event has this address.
pub(crate) async fn slug_taken(db: impl PgExecutor<'_>, slug: &str) -> sqlx::Result<bool> {
    sqlx::query_scalar("select exists (select 1 from events where slug = $1)").bind(slug).fetch_one(db).await
}

/// Seats of a performance that are not for sale, with reasons.
pub(crate) async fn blocked(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<Vec<u32>> {
    let seats: Vec<i32> = sqlx::query_scalar("select seat_no from blocked_seats where performance_id = $1")
        .bind(id.0)
        .fetch_all(db)
        .await?;
    Ok(seats.into_iter().filter_map(|s| u32::try_from(s).ok()).collect())
}

/// Blocks seats with a reason.
pub(crate) async fn insert_blocked(
    db: impl PgExecutor<'_>,
    id: PerformanceId,
    seats: &[i32],
    reason: &str,
) -> sqlx::Result<()> {
    sqlx::query(
        "insert into blocked_seats (performance_id, seat_no, reason) select $1, seat, $3 from unnest($2::integer[]) as s (seat)
         on conflict (performance_id, seat_no) do update set reason = excluded.reason",
    )
    .bind(id.0)
    .bind(seats)
    .bind(reason)
    .execute(db)
    .await?;
    Ok(())
}

/// Unblocks seats: how many were blocked.
pub(crate) async fn delete_blocked(db: impl PgExecutor<'_>, id: PerformanceId, seats: &[i32]) -> sqlx::Result<u64> {
    let done = sqlx::query("delete from blocked_seats where performance_id = $1 and seat_no = any($2)")
        .bind(id.0)
        .bind(seats)
        .execute(db)
        .await?;
    Ok(done.rows_affected())
}

/// Whether the seats of a performance may be built by who asks, until the transaction ends: false while
/// another one builds them. This keeps two from undoing each other; what keeps them right is the epoch.
pub(crate) async fn build_alone(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<bool> {
    sqlx::query_scalar("select pg_try_advisory_xact_lock(hashtextextended('build seats ' || ($1::uuid)::text, 0))")
        .bind(id.0)
        .fetch_one(db)
        .await
}

/// Raises the epoch before a rebuild: a writer of the old one can't commit afterwards. `None` when
/// somebody else raised it first.
pub(crate) async fn raise_epoch(db: impl PgExecutor<'_>, id: PerformanceId, from: i64) -> sqlx::Result<Option<i64>> {
    sqlx::query_scalar("update performances set epoch = epoch + 1 where id = $1 and epoch = $2 returning epoch")
        .bind(id.0)
        .bind(from)
        .fetch_optional(db)
        .await
}

/// Whether an event is the organization's.
pub(crate) async fn owns_event(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    event: EventId,
) -> sqlx::Result<bool> {
    sqlx::query_scalar("select exists (select 1 from events where id = $1 and organization_id = $2)")
        .bind(event.0)
        .bind(organization.0)
        .fetch_one(db)
        .await
}

/// Names the picture of an organization's event, or takes it away; `false` when there is no such event.
pub(crate) async fn set_picture(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    event: EventId,
    digest: Option<&str>,
) -> sqlx::Result<bool> {
    let done = sqlx::query("update events set picture = $3 where id = $1 and organization_id = $2")
        .bind(event.0)
        .bind(organization.0)
        .bind(digest)
        .execute(db)
        .await?;
    Ok(done.rows_affected() == 1)
}
