//! What a fan sees of own orders.

use crate::backend::Backend;
use crate::catalog::{Sale, zoned};
use crate::error::{Error, Result, not_found};
use crate::postgres::orders::{self, OrderRow};
use crate::postgres::{attempts, fees, lines, tickets};
use crate::refunds::order_item;
use domain::account::Session;
use domain::money::fees::Bill;
use domain::money::summary::Summary;
use domain::order::{OrderItem, OrderRow as ListedOrder, OrderStatus, OrderView};
use domain::{Currency, Millis, Money, OrderId};
use sqlx::PgConnection;
use std::sync::Arc;

/// Most orders in one's list.
const ORDERS_MAX: i64 = 100;

/// What the total of a written order is made of, by its lines; none where it is the prices of its seats.
pub(crate) async fn charges_of(db: &mut PgConnection, id: OrderId, currency: Currency) -> Result<Option<Summary>> {
    let Some(schedule) = fees::of_order(&mut *db, id).await? else { return Ok(None) };
    let Some(lines) = lines::of_orders(db, &[id.0]).await?.remove(&id) else { return Ok(None) };
    let bill = Bill::of_lines(currency, lines)
        .map_err(|e| Error::Broken(format!("the lines of order {id} are no bill: {e}")))?;
    Ok(Some(Summary::of(&schedule, &bill)))
}

impl Backend {
    /// One's own order. Until its row is written the hold stands in for it.
    ///
    /// # Errors
    /// `not_found`, also for another's order.
    pub async fn order(self: &Arc<Self>, session: &Session, id: OrderId) -> Result<OrderView> {
        match orders::one(&self.pg, id).await? {
            Some(row) if row.account == session.account => self.written_view(row).await,
            Some(_) => not_found("order"),
            None => self.held_view(session, id).await,
        }
    }

    async fn written_view(self: &Arc<Self>, row: OrderRow) -> Result<OrderView> {
        let sale = self.sale(row.performance).await?;
        let items = orders::items(&self.pg, &[row.id.0]).await?;
        let attempts = attempts::of_order(&self.pg, row.id).await?;
        let open = attempts.iter().find(|attempt| attempt.status.is_open());
        let last = attempts.first();
        let waiting = matches!(row.status, OrderStatus::PendingPayment | OrderStatus::PaymentProcessing);
        let tickets =
            if row.status == OrderStatus::Fulfilled { tickets::of_order(&self.pg, row.id).await? } else { Vec::new() };
        let mut view = self.frame(&sale, row.id, row.status, row.expires)?;
        view.total = Money::new(row.total_minor, row.currency);
        // A performance has a schedule for every version of its prices, or for none.
        if sale.view.fees.is_some() {
            let mut db = self.pg.acquire().await?;
            view.charges = charges_of(&mut db, row.id, row.currency).await?;
        }
        view.items = items.into_iter().map(|item| order_item(item, row.currency)).collect();
        view.pay_url = open.and_then(|attempt| attempt.pay_url.clone());
        view.decline = last.filter(|_| waiting).and_then(|attempt| attempt.last_error.clone());
        view.attempts = u32::try_from(attempts.len()).unwrap_or(u32::MAX);
        view.tickets = tickets;
        Ok(view)
    }

    async fn held_view(self: &Arc<Self>, session: &Session, id: OrderId) -> Result<OrderView> {
        let Some((sale, record)) = self.find_hold(session.account, id).await? else { return not_found("order") };
        let seats = domain::ids::parse_seats(&record.s)
            .map_err(|part| Error::Broken(format!("a hold names the seat {part}")))?;
        let mut view = self.frame(&sale, id, Self::status_of_record(&record), Millis(record.x))?;
        let prices = self.prices_of(&sale, record.v).await?;
        view.total = prices.total(&sale, &seats)?;
        view.charges = prices.charges(&sale, &seats)?;
        for seat in seats {
            let names = sale.seats.seats.get(seat.0 as usize);
            let (Some(names), Some(price)) = (names, prices.of(&sale, seat)) else {
                return Err(Error::Broken(format!("held seat {seat} is not in the plan")));
            };
            view.items.push(OrderItem {
                seat,
                section: names.section.clone(),
                row: names.row.clone(),
                label: names.label.clone(),
                category: sale.seats.categories.get(usize::from(names.category)).cloned().unwrap_or_default(),
                price,
                given_back: false,
            });
        }
        Ok(view)
    }

    fn frame(&self, sale: &Sale, id: OrderId, status: OrderStatus, expires: Millis) -> Result<OrderView> {
        Ok(OrderView {
            id,
            status,
            performance: sale.id(),
            event: sale.row.title.clone(),
            artist: sale.row.artist.clone(),
            venue: sale.row.venue.clone(),
            cover: sale.row.cover,
            starts: zoned(sale.row.starts, &sale.row.time_zone)?,
            now: self.now(),
            expires,
            items: Vec::new(),
            charges: None,
            total: Money::new(0, sale.row.currency),
            pay_url: None,
            decline: None,
            attempts: 0,
            tickets: Vec::new(),
        })
    }

    /// One's own orders, newest first.
    ///
    /// # Errors
    /// Outages only.
    pub async fn orders(self: &Arc<Self>, session: &Session) -> Result<Vec<ListedOrder>> {
        let mut list = Vec::new();
        for row in orders::of_account(&self.pg, session.account, ORDERS_MAX).await? {
            let sale = self.sale(row.performance).await?;
            list.push(ListedOrder {
                id: row.id,
                status: row.status,
                event: sale.row.title.clone(),
                artist: sale.row.artist.clone(),
                venue: sale.row.venue.clone(),
                cover: sale.row.cover,
                starts: zoned(sale.row.starts, &sale.row.time_zone)?,
                seats: u32::try_from(row.seats).unwrap_or(0),
                total: Money::new(row.total_minor, row.currency),
            });
        }
        Ok(list)
    }
}
