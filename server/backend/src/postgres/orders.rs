//! Orders: conditional transitions with their audit rows, and what pages show.

use super::catalog::{bad, currency};
use super::setbacks::LeftOut;
use super::webhooks;
use crate::webhooks::WebhookEvent;
use domain::order::{OrderEvent, OrderStatus, Transition};
use domain::{AccountId, Currency, Millis, OrderId, PerformanceId, SeatNo};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, PgExecutor, Row as _};
use uuid::Uuid;

/// An order as use-cases decide on it.
#[derive(Clone, Debug)]
pub(crate) struct OrderRow {
    pub(crate) id: OrderId,
    pub(crate) performance: PerformanceId,
    pub(crate) account: AccountId,
    pub(crate) status: OrderStatus,
    pub(crate) version: i32,
    pub(crate) currency: Currency,
    pub(crate) total_minor: i64,
    pub(crate) expires: Millis,
}

/// Reads a status column.
pub(crate) fn status(row: &PgRow, column: &str) -> sqlx::Result<OrderStatus> {
    let text: String = row.try_get(column)?;
    OrderStatus::parse(&text).ok_or_else(|| bad(column, format!("`{text}` is no status of an order")))
}

fn order(row: &PgRow) -> sqlx::Result<OrderRow> {
    Ok(OrderRow {
        id: OrderId(row.try_get("id")?),
        performance: PerformanceId(row.try_get("performance_id")?),
        account: AccountId(row.try_get("account_id")?),
        status: status(row, "status")?,
        version: row.try_get("version")?,
        currency: currency(row, "currency")?,
        total_minor: row.try_get("total_minor")?,
        expires: Millis(row.try_get("expires_ms")?),
    })
}

/// One order.
pub(crate) async fn one(db: impl PgExecutor<'_>, id: OrderId) -> sqlx::Result<Option<OrderRow>> {
    sqlx::query("select * from orders where id = $1")
        .bind(id.0)
        .fetch_optional(db)
        .await?
        .as_ref()
        .map(order)
        .transpose()
}

/// One order; nobody else changes it until this transaction ends. An attempt of it is locked before. Rows that name
/// it pass: whoever has written one, for another attempt of the same order, would otherwise wait for this lock while it
/// waits for him.
pub(crate) async fn lock(db: impl PgExecutor<'_>, id: OrderId) -> sqlx::Result<Option<OrderRow>> {
    sqlx::query("select * from orders where id = $1 for no key update")
        .bind(id.0)
        .fetch_optional(db)
        .await?
        .as_ref()
        .map(order)
        .transpose()
}

/// Applies a transition to the order as it was read: `false` when it is not like that any more.
/// Frees the claims where the machine says so, leaves an audit row, and tells the endpoints that want to know.
pub(crate) async fn apply(
    db: &mut PgConnection,
    row: &OrderRow,
    step: Transition,
    event: OrderEvent,
    expires: Option<Millis>,
    now: Millis,
) -> sqlx::Result<bool> {
    let word = serde_json::to_value(event).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default();
    let done = sqlx::query(
        "with changed as (
            update orders set status = $4, version = version + 1, expires_ms = coalesce($5, expires_ms),
                paid_ms = case when $4 = 'paid' then $6 else paid_ms end
            where id = $1 and status = $2 and version = $3 returning id),
         freed as (delete from seat_claims where $7 and order_id in (select id from changed))
         insert into order_audit (order_id, event, from_status, to_status, at_ms)
         select id, $8, $2, $4, $6 from changed",
    )
    .bind(row.id.0)
    .bind(step.from.as_str())
    .bind(row.version)
    .bind(step.to.as_str())
    .bind(expires.map(|e| e.0))
    .bind(now.0)
    .bind(step.frees_seats)
    .bind(word)
    .execute(&mut *db)
    .await?;
    let moved = done.rows_affected() == 1;
    if moved && let Some(event) = WebhookEvent::of_order(step.to) {
        webhooks::tell_orders(db, event, &[row.id.0], now).await?;
    }
    Ok(moved)
}

/// Whether an order is still as it was read; it stays so until this transaction ends.
pub(crate) async fn hold_unchanged(db: impl PgExecutor<'_>, row: &OrderRow) -> sqlx::Result<bool> {
    let same: Option<i32> =
        sqlx::query_scalar("select 1 from orders where id = $1 and status = $2 and version = $3 for no key update")
            .bind(row.id.0)
            .bind(row.status.as_str())
            .bind(row.version)
            .fetch_optional(db)
            .await?;
    Ok(same.is_some())
}

/// Notes when the hold of a pending order ends, if the order is still as it was read.
pub(crate) async fn set_expires(db: impl PgExecutor<'_>, row: &OrderRow, expires: Millis) -> sqlx::Result<()> {
    sqlx::query("update orders set expires_ms = $3 where id = $1 and status = 'pending_payment' and version = $2")
        .bind(row.id.0)
        .bind(row.version)
        .bind(expires.0)
        .execute(db)
        .await?;
    Ok(())
}

/// Whether an order is waiting for its payment and owns every one of its seats: asked before a capture.
pub(crate) async fn owns_all_seats(db: impl PgExecutor<'_>, id: OrderId) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "select o.status = 'payment_processing'
            and (select count(*) from order_items where order_id = o.id) > 0
            and (select count(*) from order_items where order_id = o.id)
              = (select count(*) from seat_claims where performance_id = o.performance_id and order_id = o.id)
         from orders o where o.id = $1",
    )
    .bind(id.0)
    .fetch_optional(db)
    .await
    .map(|owns| owns.unwrap_or(false))
}

/// Whom an order is of, and what for: as mails need it.
pub(crate) struct OwnerRow {
    pub(crate) email: String,
    pub(crate) lang: String,
    pub(crate) artist: String,
    pub(crate) title: String,
}

/// Whom an order is of.
pub(crate) async fn owner(db: impl PgExecutor<'_>, id: OrderId) -> sqlx::Result<Option<OwnerRow>> {
    let row = sqlx::query(
        "select a.email, a.lang, e.artist, e.title from orders o join accounts a on a.id = o.account_id
         join performances p on p.id = o.performance_id join events e on e.id = p.event_id where o.id = $1",
    )
    .bind(id.0)
    .fetch_optional(db)
    .await?;
    row.map(|row| {
        Ok(OwnerRow {
            email: row.try_get("email")?,
            lang: row.try_get("lang")?,
            artist: row.try_get("artist")?,
            title: row.try_get("title")?,
        })
    })
    .transpose()
}

/// An order's item with the seat's names.
pub(crate) struct ItemRow {
    pub(crate) order: OrderId,
    pub(crate) seat: SeatNo,
    pub(crate) section: String,
    pub(crate) row: String,
    pub(crate) label: String,
    pub(crate) category: String,
    pub(crate) amount_minor: i64,
    /// Its seat was given back.
    pub(crate) given_back: bool,
}

/// The items of orders, by seat: also those that were given back.
pub(crate) async fn items(db: impl PgExecutor<'_>, ids: &[Uuid]) -> sqlx::Result<Vec<ItemRow>> {
    sqlx::query(
        "select i.order_id, i.seat_no, i.amount_minor, i.returned_ms is not null as given_back, s.section, s.row_label, s.seat_label, coalesce(z.name, c.name, '') as category
         from order_items i join orders o on o.id = i.order_id join performances p on p.id = o.performance_id
         join plan_seats s on s.plan_id = p.plan_id and s.seat_no = i.seat_no
         left join performance_zones z on z.performance_id = p.id and z.zone = i.category
         left join plan_categories c on c.plan_id = p.plan_id and c.category = i.category
         where i.order_id = any($1) order by i.order_id, i.seat_no",
    )
    .bind(ids)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        Ok(ItemRow {
            order: OrderId(row.try_get("order_id")?),
            seat: SeatNo(u32::try_from(row.try_get::<i32, _>("seat_no")?).map_err(|e| bad("seat_no", e))?),
            section: row.try_get("section")?,
            row: row.try_get("row_label")?,
            label: row.try_get("seat_label")?,
            category: row.try_get("category")?,
            amount_minor: row.try_get("amount_minor")?,
            given_back: row.try_get("given_back")?,
        })
    })
    .collect()
}

/// A row of one's orders.
pub(crate) struct ListedRow {
    pub(crate) id: OrderId,
    pub(crate) performance: PerformanceId,
    pub(crate) status: OrderStatus,
    pub(crate) currency: Currency,
    pub(crate) total_minor: i64,
    pub(crate) seats: i64,
}

/// An account's orders, newest first.
pub(crate) async fn of_account(db: impl PgExecutor<'_>, account: AccountId, most: i64) -> sqlx::Result<Vec<ListedRow>> {
    sqlx::query(
        "select o.*, (select count(*) from order_items where order_id = o.id) as seats
         from orders o where account_id = $1 order by created_ms desc limit $2",
    )
    .bind(account.0)
    .bind(most)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        Ok(ListedRow {
            id: OrderId(row.try_get("id")?),
            performance: PerformanceId(row.try_get("performance_id")?),
            status: status(row, "status")?,
            currency: currency(row, "currency")?,
            total_minor: row.try_get("total_minor")?,
            seats: row.try_get("seats")?,
        })
    })
    .collect()
}

/// Paid orders without tickets, locked for this transaction; each is read by itself.
pub(crate) async fn unissued(
    db: impl PgExecutor<'_>,
    out: &LeftOut,
    most: i64,
) -> sqlx::Result<Vec<(OrderId, sqlx::Result<OrderRow>)>> {
    sqlx::query(
        "select * from orders where status = 'paid' and not exists (select 1 from setbacks b
            where b.job = $2 and b.subject = orders.id and b.next_try_ms > $3)
         order by paid_ms limit $1 for no key update of orders skip locked",
    )
    .bind(most)
    .bind(out.job.as_str())
    .bind(out.now.0)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| Ok((OrderId(row.try_get("id")?), order(row))))
    .collect()
}

/// Orders whose seats must still be marked sold in Redis.
pub(crate) async fn unconfirmed(
    db: impl PgExecutor<'_>,
    out: &LeftOut,
    most: i64,
) -> sqlx::Result<Vec<(OrderId, PerformanceId)>> {
    pairs(
        sqlx::query(
            "select id, performance_id from orders where status in ('paid', 'fulfilled') and confirmed_ms is null
                and performance_id <> all($4) and not exists (select 1 from setbacks b
                    where b.job = $2 and b.subject = orders.id and b.next_try_ms > $3)
             order by paid_ms limit $1",
        )
        .bind(most)
        .bind(out.job.as_str())
        .bind(out.now.0)
        .bind(&out.sales)
        .fetch_all(db)
        .await?,
    )
}

/// Orders that ended and whose holds must still end in Redis.
pub(crate) async fn unreleased(
    db: impl PgExecutor<'_>,
    out: &LeftOut,
    most: i64,
) -> sqlx::Result<Vec<(OrderId, PerformanceId, OrderStatus)>> {
    sqlx::query(
        // Seats that were given back one by one go first: some of them don't go on sale again.
        "select id, performance_id, status from orders
         where status in ('closed', 'refused', 'refunded') and released_ms is null
            and not exists (select 1 from order_items i
                where i.order_id = orders.id and i.returned_ms is not null and i.released_ms is null)
            and performance_id <> all($4) and not exists (select 1 from setbacks b
                where b.job = $2 and b.subject = orders.id and b.next_try_ms > $3)
         order by expires_ms limit $1",
    )
    .bind(most)
    .bind(out.job.as_str())
    .bind(out.now.0)
    .bind(&out.sales)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| Ok((OrderId(row.try_get("id")?), PerformanceId(row.try_get("performance_id")?), status(row, "status")?)))
    .collect()
}

fn pairs(rows: Vec<PgRow>) -> sqlx::Result<Vec<(OrderId, PerformanceId)>> {
    rows.iter().map(|row| Ok((OrderId(row.try_get("id")?), PerformanceId(row.try_get("performance_id")?)))).collect()
}

pub(crate) async fn set_confirmed(db: impl PgExecutor<'_>, ids: &[Uuid], now: Millis) -> sqlx::Result<()> {
    sqlx::query("update orders set confirmed_ms = $2 where id = any($1) and confirmed_ms is null")
        .bind(ids)
        .bind(now.0)
        .execute(db)
        .await?;
    Ok(())
}

pub(crate) async fn set_released(db: impl PgExecutor<'_>, ids: &[Uuid], now: Millis) -> sqlx::Result<()> {
    sqlx::query(
        // Not of an order that its late money has made paid meanwhile.
        "update orders set released_ms = $2
         where id = any($1) and released_ms is null and status in ('closed', 'refused', 'refunded')",
    )
    .bind(ids)
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(())
}

/// The performances with orders at the provider.
pub(crate) async fn processing(db: impl PgExecutor<'_>) -> sqlx::Result<Vec<PerformanceId>> {
    Ok(sqlx::query_scalar("select distinct performance_id from orders where status = 'payment_processing'")
        .fetch_all(db)
        .await?
        .into_iter()
        .map(PerformanceId)
        .collect())
}

/// Processing orders of a performance whose time, deadline and grace are over, by the clock of its server.
pub(crate) async fn overdue(
    db: impl PgExecutor<'_>,
    (performance, clock): (PerformanceId, Millis),
    out: &LeftOut,
    most: i64,
) -> sqlx::Result<Vec<OrderId>> {
    Ok(sqlx::query_scalar(
        "select id from orders where status = 'payment_processing' and performance_id = $1 and expires_ms <= $2
            and not exists (select 1 from setbacks b
                where b.job = $4 and b.subject = orders.id and b.next_try_ms > $5)
         order by expires_ms limit $3",
    )
    .bind(performance.0)
    .bind(clock.0)
    .bind(most)
    .bind(out.job.as_str())
    .bind(out.now.0)
    .fetch_all(db)
    .await?
    .into_iter()
    .map(OrderId)
    .collect())
}

/// An order that owns seats, as a rebuild reads it.
#[derive(Clone, Debug)]
pub(crate) struct OwningRow {
    pub(crate) id: OrderId,
    pub(crate) account: AccountId,
    pub(crate) status: OrderStatus,
    pub(crate) created: Millis,
    pub(crate) expires: Millis,
    pub(crate) price_version: i32,
    /// Number of the newest attempt of which its hold must know: of one that only begins it must not.
    pub(crate) attempt: i32,
    /// Number of the attempt that begins: its hold may know of it, or not yet.
    pub(crate) begins: Option<i32>,
    pub(crate) seats: Vec<i32>,
}

/// The open and paid orders that own a seat, with all their seats; those alone that own one of the seats
/// from `first` to `last`, when a stretch is given.
pub(crate) async fn owning_in(
    db: impl PgExecutor<'_>,
    performance: PerformanceId,
    stretch: Option<(i32, i32)>,
) -> sqlx::Result<Vec<OwningRow>> {
    let (first, last) = stretch.unwrap_or((0, i32::MAX));
    sqlx::query(
        // From the claims to the orders, each by its key: right also before Postgres knows how large the
        // tables have become.
        "with wanted as materialized (
            select distinct order_id from seat_claims where performance_id = $1 and seat_no between $2 and $3)
         select o.*, array(select c.seat_no from seat_claims c where c.order_id = o.id order by c.seat_no) as seats,
            (select coalesce(max(a.number), 0) from attempts a where a.order_id = o.id
                and (o.status <> 'pending_payment' or a.status not in ('created', 'open', 'authorized'))) as attempt,
            (select a.number from attempts a where a.order_id = o.id
                and o.status = 'pending_payment' and a.status in ('created', 'open', 'authorized')) as begins
         from wanted w join orders o on o.id = w.order_id
         where o.performance_id = $1",
    )
    .bind(performance.0)
    .bind(first)
    .bind(last)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        Ok(OwningRow {
            id: OrderId(row.try_get("id")?),
            account: AccountId(row.try_get("account_id")?),
            status: status(row, "status")?,
            created: Millis(row.try_get("created_ms")?),
            expires: Millis(row.try_get("expires_ms")?),
            price_version: row.try_get("price_version")?,
            attempt: row.try_get("attempt")?,
            begins: row.try_get("begins")?,
            seats: row.try_get("seats")?,
        })
    })
    .collect()
}

/// All orders that own a seat.
pub(crate) async fn owning(db: impl PgExecutor<'_>, performance: PerformanceId) -> sqlx::Result<Vec<OwningRow>> {
    owning_in(db, performance, None).await
}

/// An order that ended, as a rebuild reads it.
#[derive(Clone, Debug)]
pub(crate) struct EndedRow {
    pub(crate) id: OrderId,
    pub(crate) account: AccountId,
    pub(crate) created: Millis,
}

/// The orders of a performance that were made after an instant and are over, or gave all of their seats back, the
/// newest first.
pub(crate) async fn ended_since(
    db: impl PgExecutor<'_>,
    performance: PerformanceId,
    since: Millis,
    most: i64,
) -> sqlx::Result<Vec<EndedRow>> {
    sqlx::query(
        "select id, account_id, created_ms from orders
         where performance_id = $1 and created_ms > $2 and (status in ('closed', 'refused', 'refunded')
            or (status in ('paid', 'fulfilled') and not exists (select 1 from seat_claims c where c.order_id = orders.id)))
         order by created_ms desc limit $3",
    )
    .bind(performance.0)
    .bind(since.0)
    .bind(most)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        Ok(EndedRow {
            id: OrderId(row.try_get("id")?),
            account: AccountId(row.try_get("account_id")?),
            created: Millis(row.try_get("created_ms")?),
        })
    })
    .collect()
}
