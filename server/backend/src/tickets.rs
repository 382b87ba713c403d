//! Tickets. Issuing is here: paid orders get their tickets, retried until done; it never undoes `paid`. What
//! holders do to them is in [`changing`] and [`transfers`], what doors are told in [`door`], and what is shown
//! and printed in [`papers`].

mod changing;
mod door;
mod keys;
mod papers;
mod transfers;

pub(crate) use door::CachedRevocations;
pub use door::{Examined, Revocations};
pub(crate) use keys::TicketSigner;
pub use papers::Papers;

use crate::backend::Backend;
use crate::catalog::{Sale, zoned};
use crate::error::{Error, Result};
use crate::mail;
use crate::organizer::ticket_words;
use crate::postgres::orders::{self, ItemRow, OrderRow};
use crate::postgres::setbacks::{Job, LeftOut};
use crate::postgres::{accounts, setbacks, tickets, webhooks};
use domain::order::{OrderEvent, OrderFacts, OrderStatus, transition};
use domain::ticket::{TicketCode, calendar};
use domain::venue::SeatLabel;
use domain::{OrderId, TicketId};
use std::collections::HashMap;
use std::sync::Arc;

/// Orders in one transaction of issuing.
const ISSUE_BATCH: i64 = 50;

impl Backend {
    /// Issues the tickets of some paid orders, all in one transaction; where that fails, each by itself. One that
    /// can't be issued is left alone for a while and holds up no other. Answers how many orders were done.
    ///
    /// # Errors
    /// Outages only.
    pub(crate) async fn issue_some(self: &Arc<Self>) -> Result<usize> {
        let mut tx = self.pg.begin().await?;
        let out = LeftOut { job: Job::Issue, now: self.now(), sales: Vec::new() };
        let (mut paid, mut failed) = (Vec::new(), Vec::new());
        for (id, order) in orders::unissued(&mut *tx, &out, ISSUE_BATCH).await? {
            match order {
                Ok(order) => paid.push(order),
                Err(error) => failed.push((id, Error::from(error))),
            }
        }
        let ids: Vec<OrderId> = paid.iter().map(|order| order.id).collect();
        let mut done = 0;
        match self.issue(tx, paid).await {
            Ok(count) => done = count,
            Err(error) if error.is_outage() => return Err(error),
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "a batch of orders could not be issued; each is tried by itself"
                );
                for id in ids {
                    match self.issue_one(id).await {
                        Ok(count) => done += count,
                        Err(error) if error.is_outage() => return Err(error),
                        Err(error) => failed.push((id, error)),
                    }
                }
            }
        }
        for (id, error) in failed {
            self.set_back(Job::Issue, id.0, error).await?;
        }
        Ok(done)
    }

    /// Issues one order by itself, unless somebody did meanwhile.
    async fn issue_one(self: &Arc<Self>, id: OrderId) -> Result<usize> {
        let mut tx = self.pg.begin().await?;
        let order = orders::lock(&mut *tx, id).await?.filter(|order| order.status == OrderStatus::Paid);
        self.issue(tx, order.into_iter().collect()).await
    }

    /// Issues orders that were locked in this transaction, and ends it. Answers how many.
    async fn issue(
        self: &Arc<Self>,
        mut tx: sqlx::Transaction<'static, sqlx::Postgres>,
        paid: Vec<OrderRow>,
    ) -> Result<usize> {
        if paid.is_empty() {
            return Ok(0);
        }
        let ids: Vec<uuid::Uuid> = paid.iter().map(|order| order.id.0).collect();
        let mut items: HashMap<OrderId, Vec<ItemRow>> = HashMap::new();
        // A seat that was given back before gets no ticket.
        for item in orders::items(&mut *tx, &ids).await?.into_iter().filter(|item| !item.given_back) {
            items.entry(item.order).or_default().push(item);
        }
        let now = self.now();
        let mut new = tickets::NewTickets::default();
        for order in &paid {
            for item in items.get(&order.id).map(Vec::as_slice).unwrap_or_default() {
                self.add_ticket(&mut new, order, item)?;
            }
        }
        tickets::insert(&mut tx, &new, now).await?;
        for order in &paid {
            let step =
                transition(OrderFacts { status: order.status, expires: order.expires }, OrderEvent::Issued, now)?;
            if !orders::apply(&mut tx, order, step, OrderEvent::Issued, None, now).await? {
                return Err(Error::Broken(format!("order {} changed while it was locked", order.id)));
            }
            if let Some(items) = items.get(&order.id) {
                self.mail_tickets(&mut tx, order, items).await?;
            }
        }
        webhooks::tell_tickets(&mut *tx, &ids, now).await?;
        setbacks::clear(&mut *tx, Job::Issue, &ids).await?;
        self.fault("before-issue-commit");
        tx.commit().await?;
        self.fault("issued");
        metrics::counter!("stararena_tickets_issued_total").increment(new.ids.len() as u64);
        self.wake.outbox.notify_one();
        Ok(paid.len())
    }

    fn add_ticket(&self, new: &mut tickets::NewTickets, order: &OrderRow, item: &ItemRow) -> Result<()> {
        let id = TicketId(uuid::Uuid::now_v7());
        let code = TicketCode {
            key_id: self.ticket_signer.id(),
            performance: order.performance,
            ticket: id,
            seat: item.seat,
            issue: 0,
        };
        new.ids.push(id.0);
        new.orders.push(order.id.0);
        new.performances.push(order.performance.0);
        new.seats.push(i32::try_from(item.seat.0).map_err(|e| Error::Broken(e.to_string()))?);
        new.codes.push(self.ticket_signer.code(code));
        Ok(())
    }

    async fn mail_tickets(
        &self,
        tx: &mut sqlx::Transaction<'_, sqlx::Postgres>,
        order: &OrderRow,
        items: &[ItemRow],
    ) -> Result<()> {
        let Some(account) = accounts::by_id(&mut **tx, order.account).await? else {
            return Err(Error::Broken(format!("order {} has no account", order.id)));
        };
        let sale = self.sale(order.performance).await?;
        let seats: Vec<String> = items
            .iter()
            .map(|item| {
                let label = SeatLabel { section: &item.section, row: &item.row, seat: &item.label };
                ticket_words(&label, &account.lang)
            })
            .collect();
        let link = format!("{}/orders/{}", self.config.public_url, order.id);
        let (event, evening) = (event_words(&sale), evening_words(&sale)?);
        let mail = mail::tickets_ready(&account.email, (&event, &evening), &seats, &link, &account.lang);
        mail::enqueue(&mut **tx, &format!("tickets:{}", order.id), &mail, self.now()).await
    }
}

/// Who plays, and the name of the event.
fn event_words(sale: &Sale) -> String {
    format!("{} – {}", sale.row.artist, sale.row.title)
}

/// When and where, in the venue's own time and in words of no language.
fn evening_words(sale: &Sale) -> Result<String> {
    Ok(evening(&zoned(sale.row.starts, &sale.row.time_zone)?, &sale.row.venue, &sale.row.city))
}

fn evening(at: &domain::ZonedTime, venue: &str, city: &str) -> String {
    format!("{} · {venue}, {city}", calendar::local(at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Millis;

    #[test]
    fn a_mail_says_the_venues_time_and_its_zone() {
        let at = zoned(Millis(1_792_891_800_000), "Europe/Berlin").unwrap();
        assert_eq!(
            evening(&at, "StarArena", "Berlin"),
            "2026-10-25 02:30 (UTC+01:00, Europe/Berlin) · StarArena, Berlin"
        );
    }
}
