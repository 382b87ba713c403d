//! Tickets.

use domain::order::TicketView;
use domain::{Millis, OrderId, SeatNo, TicketId};
use sqlx::{PgConnection, PgExecutor, Row as _};

/// Tickets to be written, in columns.
#[derive(Debug, Default)]
pub(crate) struct NewTickets {
    pub(crate) ids: Vec<uuid::Uuid>,
    pub(crate) orders: Vec<uuid::Uuid>,
    pub(crate) performances: Vec<uuid::Uuid>,
    pub(crate) seats: Vec<i32>,
    pub(crate) codes: Vec<String>,
}

/// Writes tickets. A second valid ticket for a seat is an error of the database, never a ticket.
pub(crate) async fn insert(db: &mut PgConnection, new: &NewTickets, now: Millis) -> sqlx::Result<u64> {
    let done = sqlx::query(
        "insert into tickets (id, order_id, performance_id, seat_no, code, created_ms)
         select id, order_id, performance_id, seat_no, code, $6
         from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::integer[], $5::text[]) as t (id, order_id, performance_id, seat_no, code)",
    )
    .bind(&new.ids)
    .bind(&new.orders)
    .bind(&new.performances)
    .bind(&new.seats)
    .bind(&new.codes)
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}

/// The valid tickets of an order, by seat.
pub(crate) async fn of_order(db: impl PgExecutor<'_>, order: OrderId) -> sqlx::Result<Vec<TicketView>> {
    sqlx::query("select id, seat_no, code from tickets where order_id = $1 and revoked_ms is null order by seat_no")
        .bind(order.0)
        .fetch_all(db)
        .await?
        .iter()
        .map(|row| {
            let seat = u32::try_from(row.try_get::<i32, _>("seat_no")?)
                .map_err(|e| sqlx::Error::ColumnDecode { index: "seat_no".to_owned(), source: e.into() })?;
            Ok(TicketView { id: TicketId(row.try_get("id")?), seat: SeatNo(seat), code: row.try_get("code")? })
        })
        .collect()
}
