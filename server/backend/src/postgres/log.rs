//! What the order writer commits: a folded batch of log entries and the new position, together.

use super::lines::{self, NewLines};
use super::webhooks;
use crate::webhooks::WebhookEvent;
use domain::{Millis, PerformanceId, SeatNo};
use sqlx::{PgConnection, PgExecutor, Row as _};
use uuid::Uuid;

/// Where the writer stands: the position up to which all entries are committed.
pub(crate) async fn position(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<Option<(i64, String)>> {
    let row = sqlx::query("select epoch, position from log_positions where performance_id = $1")
        .bind(id.0)
        .fetch_optional(db)
        .await?;
    row.map(|row| Ok((row.try_get("epoch")?, row.try_get("position")?))).transpose()
}

/// Starts an epoch at the beginning of its log.
pub(crate) async fn start_epoch(db: impl PgExecutor<'_>, id: PerformanceId, epoch: i64) -> sqlx::Result<()> {
    sqlx::query(
        "insert into log_positions (performance_id, epoch, position) values ($1, $2, '0-0')
         on conflict (performance_id) do update set epoch = excluded.epoch, position = '0-0'
         where log_positions.epoch < excluded.epoch",
    )
    .bind(id.0)
    .bind(epoch)
    .execute(db)
    .await?;
    Ok(())
}

/// Moves the position, if nobody else did and the epoch still stands in both tables.
pub(crate) async fn advance(
    db: impl PgExecutor<'_>,
    id: PerformanceId,
    epoch: i64,
    from: &str,
    to: &str,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update log_positions set position = $4 where performance_id = $1 and epoch = $2 and position = $3
         and exists (select 1 from performances where id = $1 and epoch = $2)",
    )
    .bind(id.0)
    .bind(epoch)
    .bind(from)
    .bind(to)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Orders to be written, in columns. `open` is false for a hold that ended within the same batch.
#[derive(Debug, Default)]
pub(crate) struct NewOrders {
    pub(crate) ids: Vec<Uuid>,
    pub(crate) accounts: Vec<Uuid>,
    pub(crate) open: Vec<bool>,
    pub(crate) price_versions: Vec<i32>,
    pub(crate) created: Vec<i64>,
    pub(crate) expires: Vec<i64>,
    /// One entry per seat: the order, and the seat.
    pub(crate) item_orders: Vec<Uuid>,
    pub(crate) item_seats: Vec<i32>,
}

/// What new orders come to, where fees or taxes are charged.
#[derive(Debug, Default)]
pub(crate) struct Bills {
    /// The totals, in the order of the ids.
    pub(crate) totals: Vec<i64>,
    pub(crate) lines: NewLines,
}

/// A seat of a new order at the stated price of its version.
pub(crate) struct PricedRow {
    pub(crate) order: Uuid,
    pub(crate) seat: SeatNo,
    pub(crate) amount_minor: i64,
}

/// Closes the pending orders of ended holds, gives their claims up, and tells the endpoints that want to know. Those
/// that their accounts gave back are noted as given up: their late money goes back.
pub(crate) async fn close_ended(
    db: &mut PgConnection,
    ended: &[Uuid],
    given_back: &[Uuid],
    now: Millis,
) -> sqlx::Result<()> {
    // Rows in one order everywhere: two transactions over the same orders never deadlock.
    let closed: Vec<Uuid> = sqlx::query_scalar(
        "with due as (select id from orders where id = any($1) and status = 'pending_payment' order by id for no key update),
         closed as (
            update orders o set status = 'closed', version = version + 1, released_ms = $2
            from due where o.id = due.id returning o.id),
         freed as (delete from seat_claims where order_id in (select id from closed))
         insert into order_audit (order_id, event, from_status, to_status, at_ms)
         select id, case when id = any($3) then 'cancel' else 'hold ended' end, 'pending_payment', 'closed', $2
         from closed returning order_id",
    )
    .bind(ended)
    .bind(now.0)
    .bind(given_back)
    .fetch_all(&mut *db)
    .await?;
    if !closed.is_empty() {
        webhooks::tell_orders(db, WebhookEvent::OrderClosed, &closed, now).await?;
    }
    Ok(())
}

/// Stated prices of the seats of new orders, by order and seat; without seats that have no price.
pub(crate) async fn stated_prices(
    db: impl PgExecutor<'_>,
    performance: PerformanceId,
    new: &NewOrders,
) -> sqlx::Result<Vec<PricedRow>> {
    sqlx::query(
        "select i.id, i.seat, r.amount_minor
         from unnest($2::uuid[], $3::integer[]) as i (id, seat)
         join unnest($4::uuid[], $5::integer[]) as o (id, version) on o.id = i.id
         join performances p on p.id = $1
         join plan_seats s on s.plan_id = p.plan_id and s.seat_no = i.seat and not s.gone
         left join performance_seat_zones z on z.performance_id = $1 and z.seat_no = i.seat
         join prices r on r.performance_id = $1 and r.version = o.version and r.category = coalesce(z.zone, s.category)
         order by i.id, i.seat",
    )
    .bind(performance.0)
    .bind(&new.item_orders)
    .bind(&new.item_seats)
    .bind(&new.ids)
    .bind(&new.price_versions)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        let seat = u32::try_from(row.try_get::<i32, _>("seat")?)
            .map_err(|e| sqlx::Error::ColumnDecode { index: "seat".to_owned(), source: e.into() })?;
        Ok(PricedRow { order: row.try_get("id")?, seat: SeatNo(seat), amount_minor: row.try_get("amount_minor")? })
    })
    .collect()
}

/// Writes orders with their items and claims, and with their lines where they have bills. Answers the
/// orders that did not get all their seats: they are `refused`, without claims.
pub(crate) async fn insert_orders(
    db: &mut PgConnection,
    performance: PerformanceId,
    new: &NewOrders,
    bills: Option<&Bills>,
    now: Millis,
) -> sqlx::Result<Vec<Uuid>> {
    match bills {
        Some(bills) => insert_billed(&mut *db, performance, new, bills, now).await?,
        None => insert_at_prices(&mut *db, performance, new, now).await?,
    }
    sqlx::query(
        "insert into order_items (order_id, seat_no, category, amount_minor)
         select i.id, i.seat, r.category, r.amount_minor
         from unnest($2::uuid[], $3::integer[]) as i (id, seat)
         join orders o on o.id = i.id
         join performances p on p.id = $1
         join plan_seats s on s.plan_id = p.plan_id and s.seat_no = i.seat and not s.gone
         left join performance_seat_zones z on z.performance_id = $1 and z.seat_no = i.seat
         join prices r on r.performance_id = $1 and r.version = o.price_version and r.category = coalesce(z.zone, s.category)
         on conflict (order_id, seat_no) do nothing",
    )
    .bind(performance.0)
    .bind(&new.item_orders)
    .bind(&new.item_seats)
    .execute(&mut *db)
    .await?;
    sqlx::query(
        "insert into seat_claims (performance_id, seat_no, order_id)
         select $1, i.seat, i.id from unnest($2::uuid[], $3::integer[]) as i (id, seat)
         join orders o on o.id = i.id and o.status = 'pending_payment'
         order by i.seat
         on conflict (performance_id, seat_no) do nothing",
    )
    .bind(performance.0)
    .bind(&new.item_orders)
    .bind(&new.item_seats)
    .execute(&mut *db)
    .await?;
    refuse_incomplete(db, performance, new, now).await
}

/// Orders that come to the prices of their seats: summed where they are written.
async fn insert_at_prices(
    db: &mut PgConnection,
    performance: PerformanceId,
    new: &NewOrders,
    now: Millis,
) -> sqlx::Result<()> {
    sqlx::query(
        "with o as (
            select * from unnest($2::uuid[], $3::uuid[], $4::boolean[], $5::integer[], $6::bigint[], $10::bigint[])
                as o (id, account, open, version, created, expires)),
         totals as (
            select o.id, sum(r.amount_minor) as total
            from unnest($7::uuid[], $8::integer[]) as i (id, seat)
            join o on o.id = i.id
            join performances p on p.id = $1
            join plan_seats s on s.plan_id = p.plan_id and s.seat_no = i.seat and not s.gone
            left join performance_seat_zones z on z.performance_id = $1 and z.seat_no = i.seat
            join prices r on r.performance_id = $1 and r.version = o.version and r.category = coalesce(z.zone, s.category)
            group by o.id)
         insert into orders (id, performance_id, account_id, status, currency, total_minor, price_version, created_ms, expires_ms, released_ms)
         select o.id, $1, o.account, case when o.open then 'pending_payment' else 'closed' end, p.currency,
                coalesce(t.total, 0), o.version, o.created, o.expires, case when o.open then null else $9 end
         from o join performances p on p.id = $1 left join totals t on t.id = o.id
         on conflict (id) do nothing",
    )
    .bind(performance.0)
    .bind(&new.ids)
    .bind(&new.accounts)
    .bind(&new.open)
    .bind(&new.price_versions)
    .bind(&new.created)
    .bind(&new.item_orders)
    .bind(&new.item_seats)
    .bind(now.0)
    .bind(&new.expires)
    .execute(db)
    .await?;
    Ok(())
}

/// Orders that come to their bills. An order that is there already keeps its lines.
async fn insert_billed(
    db: &mut PgConnection,
    performance: PerformanceId,
    new: &NewOrders,
    bills: &Bills,
    now: Millis,
) -> sqlx::Result<()> {
    let written: Vec<Uuid> = sqlx::query_scalar(
        "insert into orders (id, performance_id, account_id, status, currency, total_minor, price_version, created_ms, expires_ms, released_ms)
         select o.id, $1, o.account, case when o.open then 'pending_payment' else 'closed' end, p.currency,
                o.total, o.version, o.created, o.expires, case when o.open then null else $9 end
         from unnest($2::uuid[], $3::uuid[], $4::boolean[], $5::integer[], $6::bigint[], $7::bigint[], $8::bigint[])
             as o (id, account, open, version, created, expires, total)
         join performances p on p.id = $1
         on conflict (id) do nothing returning id",
    )
    .bind(performance.0)
    .bind(&new.ids)
    .bind(&new.accounts)
    .bind(&new.open)
    .bind(&new.price_versions)
    .bind(&new.created)
    .bind(&new.expires)
    .bind(&bills.totals)
    .bind(now.0)
    .fetch_all(&mut *db)
    .await?;
    lines::insert(&mut *db, &bills.lines, &written).await
}

async fn refuse_incomplete(
    db: &mut PgConnection,
    performance: PerformanceId,
    new: &NewOrders,
    now: Millis,
) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar(
        "with wanted as (
            select o.id, count(*) as seats from unnest($2::uuid[]) as i (id)
            join orders o on o.id = i.id and o.performance_id = $1 and o.status = 'pending_payment' and o.version = 0
            group by o.id),
         short as (
            select w.id from wanted w
            where w.seats <> (select count(*) from seat_claims c where c.order_id = w.id)),
         refused as (
            update orders set status = 'refused', version = version + 1
            where id in (select id from short) and status = 'pending_payment' returning id),
         freed as (delete from seat_claims where order_id in (select id from refused)),
         audited as (
            insert into order_audit (order_id, event, from_status, to_status, at_ms)
            select id, 'seats belong to another order', 'pending_payment', 'refused', $3 from refused)
         select id from refused",
    )
    .bind(performance.0)
    .bind(&new.item_orders)
    .bind(now.0)
    .fetch_all(db)
    .await
}

/// One of the new orders that has not as many items as seats: a seat of it is not in the plan or has no
/// price.
pub(crate) async fn incomplete(db: impl PgExecutor<'_>, new: &NewOrders) -> sqlx::Result<Option<Uuid>> {
    sqlx::query_scalar(
        "select i.id from unnest($1::uuid[], $2::integer[]) as i (id, seat) group by i.id
         having count(*) <> (select count(*) from order_items where order_id = i.id) limit 1",
    )
    .bind(&new.item_orders)
    .bind(&new.item_seats)
    .fetch_optional(db)
    .await
}

/// Those of new orders that were over before: the key of an ended hold was asked again, and Redis had
/// forgotten it. Their holds have no order and can't be paid.
pub(crate) async fn over_before(db: impl PgExecutor<'_>, new: &NewOrders) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar(
        "select o.id from unnest($1::uuid[], $2::boolean[]) as n (id, open) join orders o on o.id = n.id
         where n.open and (o.status in ('closed', 'refunded') or (o.status in ('paid', 'fulfilled')
            and not exists (select 1 from seat_claims c where c.order_id = o.id)))",
    )
    .bind(&new.ids)
    .bind(&new.open)
    .fetch_all(db)
    .await
}

/// Keeps an entry that can't be written, as evidence.
pub(crate) async fn set_aside(
    db: impl PgExecutor<'_>,
    id: PerformanceId,
    epoch: i64,
    position: &str,
    entry: &serde_json::Value,
    why: &str,
    now: Millis,
) -> sqlx::Result<()> {
    // A text with a character that Postgres can't store is kept without it.
    let entry = entry.to_string().replace("\\u0000", "");
    sqlx::query(
        "insert into log_set_aside (performance_id, epoch, position, entry, error, at_ms)
         values ($1, $2, $3, $4::jsonb, $5, $6) on conflict (performance_id, epoch, position) do nothing",
    )
    .bind(id.0)
    .bind(epoch)
    .bind(position)
    .bind(entry)
    .bind(why.replace('\0', ""))
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(())
}

/// Entries that were set aside and that nobody has looked at.
pub(crate) async fn set_aside_waiting(db: impl PgExecutor<'_>) -> sqlx::Result<i64> {
    sqlx::query_scalar("select count(*) from log_set_aside where resolved_ms is null").fetch_one(db).await
}

/// Visits from the log.
pub(crate) async fn insert_admissions(
    db: &mut PgConnection,
    performance: PerformanceId,
    accounts: &[Uuid],
    nonces: &[String],
    entered: &[i64],
    expires: &[i64],
) -> sqlx::Result<()> {
    sqlx::query(
        "insert into admissions (performance_id, account_id, nonce, entered_ms, expires_ms)
         select $1, account, nonce, entered, expires
         from unnest($2::uuid[], $3::text[], $4::bigint[], $5::bigint[]) as a (account, nonce, entered, expires)
         on conflict (performance_id, account_id) do update
         set nonce = excluded.nonce, entered_ms = excluded.entered_ms, expires_ms = excluded.expires_ms, left_ms = null",
    )
    .bind(performance.0)
    .bind(accounts)
    .bind(nonces)
    .bind(entered)
    .bind(expires)
    .execute(db)
    .await?;
    Ok(())
}

/// Visits that ended by a purchase.
pub(crate) async fn end_admissions(
    db: &mut PgConnection,
    performance: PerformanceId,
    accounts: &[Uuid],
    now: Millis,
) -> sqlx::Result<()> {
    sqlx::query(
        "update admissions set left_ms = $3 where performance_id = $1 and account_id = any($2) and left_ms is null",
    )
    .bind(performance.0)
    .bind(accounts)
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(())
}
