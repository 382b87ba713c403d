//! What documents say: invoices from the lines of their orders, credit notes from the parts of their refunds.

use crate::error::{Error, Result};
use crate::postgres::invoices::{BilledRow, CreditRow, HeldRefund, Rates, billed};
use crate::postgres::{lines, orders};
use domain::document::{Paper, PaperLine, SeatName, by_rate, spread};
use domain::money::fees::{Amounts, Line, LineKind};
use domain::{OrderId, SeatNo};
use sqlx::PgConnection;
use std::collections::HashMap;
use uuid::Uuid;

/// The names of seats by their order.
type Names = HashMap<(OrderId, SeatNo), SeatName>;

/// What an invoice says, and the rates of tax that it was made with.
pub(super) struct Billed {
    pub(super) paper: Paper,
    /// The beginning of the number that it gets.
    pub(super) prefix: String,
    rates: Rates,
}

/// What the invoices of paid orders say. Orders that were never paid are left out.
///
/// # Errors
/// Also when the lines of an order are not what it comes to.
pub(super) async fn of_orders(db: &mut PgConnection, ids: &[Uuid]) -> Result<HashMap<OrderId, Billed>> {
    let orders = billed(&mut *db, ids).await?;
    let names = names(&mut *db, ids).await?;
    let mut lines = lines::of_orders(db, ids).await?;
    let mut papers = HashMap::with_capacity(orders.len());
    for row in orders {
        let (order, rates, prefix) = (row.order, row.rates, row.details.prefix.clone());
        let lines = lines.remove(&order).unwrap_or_default();
        papers.insert(order, Billed { paper: invoice(row, &lines, &names)?, prefix, rates });
    }
    Ok(papers)
}

async fn names(db: &mut PgConnection, ids: &[Uuid]) -> Result<Names> {
    let mut names = Names::new();
    for item in orders::items(db, ids).await? {
        let name = SeatName { section: item.section, row: item.row, label: item.label };
        names.insert((item.order, item.seat), name);
    }
    Ok(names)
}

fn invoice(row: BilledRow, lines: &[Line], names: &Names) -> Result<Paper> {
    let order = row.order;
    let taxes = by_rate(lines.iter().map(|line| (row.rates.on(line.kind), line.amounts)));
    let totals = Amounts::sum(lines.iter().map(|line| line.amounts));
    let (Some(taxes), Some(totals)) = (taxes, totals) else {
        return Err(Error::Broken(format!("the lines of order {order} come to more than there is")));
    };
    if totals.gross_minor != row.total.minor {
        let (lines, total) = (totals.gross_minor, row.total.minor);
        return Err(Error::Broken(format!("order {order} comes to {total}, its lines to {lines}")));
    }
    Ok(Paper {
        lines: lines.iter().map(|line| paper_line(names, order, line.kind, line.seat, line.amounts)).collect(),
        seller: row.seller,
        address: row.details.address,
        tax_id: row.details.tax_id,
        buyer: row.buyer,
        artist: row.artist,
        event: row.event,
        venue: row.venue,
        city: row.city,
        starts: row.starts,
        time_zone: row.time_zone,
        currency: row.total.currency,
        taxes,
        totals,
        provider: row.provider,
        paid: row.paid,
        of: None,
    })
}

fn paper_line(names: &Names, order: OrderId, kind: LineKind, seat: Option<SeatNo>, amounts: Amounts) -> PaperLine {
    let seat = seat.and_then(|seat| names.get(&(order, seat)).cloned());
    PaperLine { kind: Some(kind), seat, amounts }
}

/// What a credit note of `minor` for a refund says. `today` is what the invoice would say now, which has the
/// names of today; `credit` what it said under its number. Where the parts of the refund are not that sum, or
/// nobody knows them, each rate of tax has its share of it.
///
/// # Errors
/// When the sum is more than the invoice.
pub(super) async fn credit_note(
    db: &mut PgConnection,
    today: Billed,
    credit: CreditRow,
    refund: &HeldRefund,
    minor: i64,
) -> Result<Paper> {
    let more = || Error::Broken(format!("{minor} is more than the invoice {} says", credit.label));
    let Billed { paper: today, rates, .. } = today;
    let parts = &refund.parts;
    let of_parts = Amounts::sum(parts.iter().map(|part| part.amounts)).ok_or_else(more)?;
    let (lines, taxes, totals) = if of_parts.gross_minor == minor && !parts.is_empty() {
        let names = names(db, &[refund.order.0]).await?;
        let taxes = by_rate(parts.iter().map(|part| (rates.on(part.kind), part.amounts))).ok_or_else(more)?;
        let lines = parts.iter().map(|part| paper_line(&names, refund.order, part.kind, part.seat, part.amounts));
        (lines.collect(), taxes, of_parts)
    } else {
        let taxes = spread(&credit.paper.taxes, minor).ok_or_else(more)?;
        let totals = Amounts::sum(taxes.iter().map(|row| row.amounts)).ok_or_else(more)?;
        (vec![PaperLine { kind: None, seat: None, amounts: totals }], taxes, totals)
    };
    Ok(Paper { lines, taxes, totals, of: Some(credit.label), ..today })
}
