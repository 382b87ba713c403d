//! Orders of an organization: found by id, address, ticket or time, each along an index of its own.

use super::catalog::currency;
use super::orders::status;
use domain::order::OrderStatus;
use domain::organizer::search::Cursor;
use domain::{Currency, Millis, OrderId, OrganizationId, PerformanceId, TicketId};
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{AssertSqlSafe, PgExecutor, Postgres, Row as _};
use uuid::Uuid;

/// An order that was found.
pub(crate) struct FoundRow {
    pub(crate) id: OrderId,
    pub(crate) email: String,
    pub(crate) performance: PerformanceId,
    pub(crate) artist: String,
    pub(crate) event: String,
    pub(crate) starts: Millis,
    pub(crate) time_zone: String,
    pub(crate) seats: i64,
    pub(crate) total_minor: i64,
    pub(crate) currency: Currency,
    pub(crate) status: OrderStatus,
    pub(crate) created: Millis,
}

/// What narrows every search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Narrow {
    pub(crate) organization: OrganizationId,
    pub(crate) performance: Option<PerformanceId>,
    pub(crate) status: Option<OrderStatus>,
    pub(crate) before: Option<Cursor>,
    pub(crate) most: i64,
}

fn found(row: &PgRow) -> sqlx::Result<FoundRow> {
    Ok(FoundRow {
        id: OrderId(row.try_get("id")?),
        email: row.try_get("email")?,
        performance: PerformanceId(row.try_get("performance_id")?),
        artist: row.try_get("artist")?,
        event: row.try_get("title")?,
        starts: Millis(row.try_get("starts_ms")?),
        time_zone: row.try_get("time_zone")?,
        seats: row.try_get("seats")?,
        total_minor: row.try_get("total_minor")?,
        currency: currency(row, "currency")?,
        status: status(row, "status")?,
        created: Millis(row.try_get("created_ms")?),
    })
}

/// The newest hits of `from`, which names `o`, `p` and `e` and filters, with what [`found`] reads.
/// Joins that only name things come behind the limit.
fn newest(from: &str) -> AssertSqlSafe<String> {
    AssertSqlSafe(format!(
        "with hit as (
            select o.*, p.plan_id, p.starts_ms, e.artist, e.title {from} order by o.created_ms desc, o.id desc limit $6)
         select h.*, a.email, l.time_zone, (select count(*) from order_items where order_id = h.id) as seats
         from hit h join accounts a on a.id = h.account_id join plans l on l.id = h.plan_id
         order by h.created_ms desc, h.id desc"
    ))
}

/// Every search by something is narrowed so; $4 and $5 are where the page before ended.
const NARROWED: &str = "join performances p on p.id = o.performance_id join events e on e.id = p.event_id
     where e.organization_id = $1 and ($2::uuid is null or o.performance_id = $2)
        and ($3::text is null or o.status = $3) and (o.created_ms, o.id) < ($4, $5)";

type Bound = sqlx::query::Query<'static, Postgres, PgArguments>;

fn bound(sql: AssertSqlSafe<String>, narrow: &Narrow) -> Bound {
    sqlx::query(sql)
        .bind(narrow.organization.0)
        .bind(narrow.performance.map(|id| id.0))
        .bind(narrow.status.map(OrderStatus::as_str))
        .bind(narrow.before.map_or(i64::MAX, |before| before.created.0))
        .bind(narrow.before.map_or(Uuid::max(), |before| before.id.0))
        .bind(narrow.most)
}

async fn fetch(db: impl PgExecutor<'_>, query: Bound) -> sqlx::Result<Vec<FoundRow>> {
    query.fetch_all(db).await?.iter().map(found).collect()
}

/// The newest orders: some of each performance along its own index, then the newest of those.
pub(crate) async fn latest(db: impl PgExecutor<'_>, narrow: &Narrow) -> sqlx::Result<Vec<FoundRow>> {
    let sql = newest(
        "from events e join performances p on p.event_id = e.id
         cross join lateral (
            select * from orders own where own.performance_id = p.id and ($3::text is null or own.status = $3)
               and (own.created_ms, own.id) < ($4, $5)
            order by own.created_ms desc, own.id desc limit $6) o
         where e.organization_id = $1 and ($2::uuid is null or p.id = $2)",
    );
    fetch(db, bound(sql, narrow)).await
}

/// Orders by a range of ids, or by a ticket.
pub(crate) async fn by_id(
    db: impl PgExecutor<'_>,
    narrow: &Narrow,
    range: Option<(OrderId, OrderId)>,
    ticket: Option<TicketId>,
) -> sqlx::Result<Vec<FoundRow>> {
    let sql = newest(&format!(
        "from (select id from orders where id between $7 and $8 union select order_id from tickets where id = $9) wanted
         join orders o on o.id = wanted.id {NARROWED}"
    ));
    let query = bound(sql, narrow)
        .bind(range.map(|(first, _)| first.0))
        .bind(range.map(|(_, last)| last.0))
        .bind(ticket.map(|ticket| ticket.0));
    fetch(db, query).await
}

/// Orders of accounts whose address begins so, bytewise: addresses are stored in lower case.
pub(crate) async fn by_email(db: impl PgExecutor<'_>, narrow: &Narrow, prefix: &str) -> sqlx::Result<Vec<FoundRow>> {
    let sql = newest(&format!(
        "from accounts w join orders o on o.account_id = w.id {NARROWED} and w.email ~>=~ $7 and w.email ~<~ $8"
    ));
    // Behind every text that begins so: the last character there is.
    let query = bound(sql, narrow).bind(prefix.to_owned()).bind(format!("{prefix}\u{10FFFF}"));
    fetch(db, query).await
}

/// A performance to choose from.
pub(crate) struct ChoiceRow {
    pub(crate) id: PerformanceId,
    pub(crate) artist: String,
    pub(crate) event: String,
    pub(crate) starts: Millis,
    pub(crate) time_zone: String,
}

/// The performances of an organization, the latest evening first.
pub(crate) async fn performances(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    most: i64,
) -> sqlx::Result<Vec<ChoiceRow>> {
    sqlx::query(
        "select p.id, e.artist, e.title, p.starts_ms, l.time_zone
         from events e join performances p on p.event_id = e.id join plans l on l.id = p.plan_id
         where e.organization_id = $1 order by p.starts_ms desc, p.id limit $2",
    )
    .bind(organization.0)
    .bind(most)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        Ok(ChoiceRow {
            id: PerformanceId(row.try_get("id")?),
            artist: row.try_get("artist")?,
            event: row.try_get("title")?,
            starts: Millis(row.try_get("starts_ms")?),
            time_zone: row.try_get("time_zone")?,
        })
    })
    .collect()
}
