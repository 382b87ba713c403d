//! The lines of orders: what each ticket and each fee came to, with its tax.

use super::catalog::bad;
use crate::error::Result;
use domain::money::fees::{Amounts, Line, LineKind};
use domain::{OrderId, SeatNo};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, PgExecutor, Row as _};
use std::collections::HashMap;
use uuid::Uuid;

/// Lines to be written, in columns.
#[derive(Debug, Default)]
pub(crate) struct NewLines {
    orders: Vec<Uuid>,
    kinds: Vec<&'static str>,
    seats: Vec<Option<i32>>,
    net: Vec<i64>,
    tax: Vec<i64>,
    gross: Vec<i64>,
}

impl NewLines {
    /// Adds a line of an order.
    pub(crate) fn push(&mut self, order: Uuid, line: &Line) {
        self.orders.push(order);
        self.kinds.push(line.kind.as_str());
        self.seats.push(line.seat.map(|seat| i32::try_from(seat.0).unwrap_or(i32::MAX)));
        self.net.push(line.amounts.net_minor);
        self.tax.push(line.amounts.tax_minor);
        self.gross.push(line.amounts.gross_minor);
    }
}

/// Writes lines: those of the orders that are named, which were written in the same transaction.
pub(crate) async fn insert(db: impl PgExecutor<'_>, lines: &NewLines, of: &[Uuid]) -> sqlx::Result<()> {
    sqlx::query(
        "insert into order_lines (order_id, kind, seat_no, net_minor, tax_minor, gross_minor)
         select * from unnest($1::uuid[], $2::text[], $3::integer[], $4::bigint[], $5::bigint[], $6::bigint[])
             as l (id, kind, seat, net, tax, gross)
         where l.id = any($7)",
    )
    .bind(&lines.orders)
    .bind(&lines.kinds)
    .bind(&lines.seats)
    .bind(&lines.net)
    .bind(&lines.tax)
    .bind(&lines.gross)
    .bind(of)
    .execute(db)
    .await?;
    Ok(())
}

fn line(row: &PgRow) -> sqlx::Result<(OrderId, Line)> {
    let kind: String = row.try_get("kind")?;
    let seat = row.try_get::<Option<i32>, _>("seat_no")?.map(u32::try_from).transpose();
    let amounts = Amounts {
        net_minor: row.try_get("net_minor")?,
        tax_minor: row.try_get("tax_minor")?,
        gross_minor: row.try_get("gross_minor")?,
    };
    let line = Line {
        kind: LineKind::parse(&kind).ok_or_else(|| bad("kind", "an unknown kind"))?,
        seat: seat.map_err(|e| bad("seat_no", e))?.map(SeatNo),
        amounts,
    };
    Ok((OrderId(row.try_get("order_id")?), line))
}

/// The lines of orders as they were billed, each ticket with its fee, the order's fee last. Orders from before
/// fees were configured have one line a ticket, without fee and tax.
pub(crate) async fn of_orders(db: &mut PgConnection, orders: &[Uuid]) -> Result<HashMap<OrderId, Vec<Line>>> {
    let rows = sqlx::query(
        "select order_id, kind, seat_no, net_minor, tax_minor, gross_minor from order_lines where order_id = any($1)
         union all
         select i.order_id, 'ticket', i.seat_no, i.amount_minor, 0::bigint, i.amount_minor from order_items i
         where i.order_id = any($1) and not exists (select 1 from order_lines l where l.order_id = i.order_id)",
    )
    .bind(orders)
    .fetch_all(db)
    .await?;
    let mut all: HashMap<OrderId, Vec<Line>> = HashMap::new();
    for row in &rows {
        let (order, line) = line(row)?;
        all.entry(order).or_default().push(line);
    }
    for lines in all.values_mut() {
        lines.sort_by_key(|line| (line.seat.is_none(), line.seat, line.kind));
    }
    Ok(all)
}
