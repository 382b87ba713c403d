//! Tickets as their holders see them: on pages, on paper, in calendars.

use super::event_words;
use crate::backend::Backend;
use crate::catalog::{Sale, zoned};
use crate::error::{Result, not_found, refuse};
use crate::postgres::tickets::{self as rows, TicketRow};
use crate::postgres::{accounts, orders};
use domain::account::Session;
use domain::order::OrderStatus;
use domain::ticket::calendar::{self, Entry};
use domain::ticket::change::{HeldTicket, Step, decide};
use domain::{AccountId, Code, OrderId, TicketId};
use std::sync::Arc;

/// Most tickets on the page of one's tickets.
const HELD_MAX: i64 = 100;
/// So long after its beginning an evening is among those that are over.
const OVER_AFTER_MS: i64 = 12 * 3_600_000;

/// Tickets to be printed.
#[derive(Clone, Debug)]
pub struct Papers {
    /// The tickets that are at hand, by seat.
    pub tickets: Vec<HeldTicket>,
    /// Language of the account: `en` or `zh`.
    pub lang: String,
}

impl Backend {
    /// The tickets of one's own order, those among them that are somebody else's by now.
    ///
    /// # Errors
    /// `not_found`, also for another's order.
    pub async fn order_tickets(self: &Arc<Self>, session: &Session, order: OrderId) -> Result<Vec<HeldTicket>> {
        match orders::one(&self.pg, order).await? {
            Some(row) if row.account == session.account && row.status == OrderStatus::Fulfilled => {
                self.held_tickets(rows::rows_of_order(&self.pg, order).await?, session.account).await
            }
            Some(row) if row.account == session.account => Ok(Vec::new()),
            _ => not_found("order"),
        }
    }

    /// The tickets that the caller holds, whoever bought them: the next evening first, what is over last.
    ///
    /// # Errors
    /// Outages only.
    pub async fn my_tickets(self: &Arc<Self>, session: &Session) -> Result<Vec<HeldTicket>> {
        let over = self.now().plus(-OVER_AFTER_MS);
        self.held_tickets(rows::of_holder(&self.pg, session.account, over, HELD_MAX).await?, session.account).await
    }

    /// One ticket that the caller holds, to be printed.
    ///
    /// # Errors
    /// `not_found`, also for another's and for what is not valid any more; `wrong_state` while it is offered.
    pub async fn ticket_paper(self: &Arc<Self>, session: &Session, id: TicketId) -> Result<Papers> {
        let row = rows::one(&self.pg, id).await?.filter(|row| row.holder == session.account && is_in_force(row));
        let Some(row) = row else { return not_found("ticket") };
        self.papers(vec![row], session.account).await
    }

    /// The tickets of an order that its buyer has at hand, to be printed.
    ///
    /// # Errors
    /// `not_found`, also for another's order; `wrong_state` when none is at hand.
    pub async fn order_papers(self: &Arc<Self>, session: &Session, order: OrderId) -> Result<Papers> {
        let own = orders::one(&self.pg, order).await?.is_some_and(|row| row.account == session.account);
        if !own {
            return not_found("order");
        }
        let held = rows::rows_of_order(&self.pg, order).await?;
        let at_hand = held.into_iter().filter(|row| row.holder == session.account && is_in_force(row));
        self.papers(at_hand.collect(), session.account).await
    }

    /// The evening of an order as a calendar file, for its buyer and for who holds one of its tickets.
    ///
    /// # Errors
    /// `not_found`, also for an order that is not in force.
    pub async fn calendar_file(self: &Arc<Self>, session: &Session, order: OrderId) -> Result<String> {
        let held = rows::rows_of_order(&self.pg, order).await?;
        let concerns = |row: &TicketRow| row.buyer == session.account || row.holder == session.account;
        let Some(first) = held.iter().find(|row| concerns(row) && is_in_force(row)) else { return not_found("order") };
        let sale = self.sale(first.performance).await?;
        let lang = self.lang_of(session.account).await?;
        let seats: Vec<String> =
            held.iter().filter(|row| row.holder == session.account).map(|row| row.words(&lang)).collect();
        // The buyer's way is the order, everybody else's the ticket.
        let url = if first.buyer == session.account {
            format!("{}/orders/{order}", self.config.public_url)
        } else {
            self.ticket_link(first.id)
        };
        let host = self.config.public_url.split_once("://").map_or("", |(_, host)| host);
        let host = host.split([':', '/']).next().unwrap_or_default();
        Ok(calendar::file(&Entry {
            uid: &format!("performance-{}@{host}", first.performance),
            // The time of a published performance does not change.
            sequence: 0,
            made: self.now(),
            starts: &zoned(sale.row.starts, &sale.row.time_zone)?,
            summary: &event_words(&sale),
            location: &format!("{}, {}", sale.row.venue, sale.row.city),
            lines: &seats,
            url: &url,
        }))
    }

    async fn papers(self: &Arc<Self>, found: Vec<TicketRow>, account: AccountId) -> Result<Papers> {
        let mut tickets = self.held_tickets(found, account).await?;
        // The door refuses what is offered: on paper it would only look like a ticket.
        tickets.retain(|ticket| !ticket.is_offered());
        if tickets.is_empty() {
            return refuse(Code::WrongState, "tickets: none is at hand; what is offered can be taken back");
        }
        Ok(Papers { tickets, lang: self.lang_of(account).await? })
    }

    async fn lang_of(&self, account: AccountId) -> Result<String> {
        Ok(accounts::by_id(&self.pg, account).await?.map_or_else(|| "en".to_owned(), |account| account.lang))
    }

    /// Tickets as an account may see them.
    async fn held_tickets(self: &Arc<Self>, found: Vec<TicketRow>, reader: AccountId) -> Result<Vec<HeldTicket>> {
        let mut list = Vec::with_capacity(found.len());
        for row in found {
            let sale = self.sale(row.performance).await?;
            list.push(self.held_ticket(row, &sale, reader)?);
        }
        Ok(list)
    }

    fn held_ticket(&self, row: TicketRow, sale: &Sale, reader: AccountId) -> Result<HeldTicket> {
        let (facts, zone, own) = (row.facts(), &sale.row.time_zone, row.holder == reader);
        let may = |step| own && decide(&facts, step, self.now()).is_ok();
        Ok(HeldTicket {
            event: sale.row.title.clone(),
            artist: sale.row.artist.clone(),
            venue: sale.row.venue.clone(),
            city: sale.row.city.clone(),
            cover: sale.row.cover,
            starts: zoned(sale.row.starts, zone)?,
            issue: row.issue,
            bought: row.buyer == reader,
            frozen: row.frozen,
            transfer: row.transfer_for(reader),
            names_until: zoned(facts.names_until(), zone)?,
            may_reissue: may(Step::Reissue),
            may_rename: may(Step::Rename),
            may_offer: may(Step::Offer),
            id: row.id,
            order: row.order,
            performance: row.performance,
            section: row.section,
            row: row.row,
            seat: row.label,
            category: row.category,
            code: if own { row.code } else { String::new() },
            holder: row.name.filter(|_| own),
        })
    }
}

/// Whether a ticket opens doors, or would if it were not frozen or offered.
fn is_in_force(row: &TicketRow) -> bool {
    !row.revoked && row.status == OrderStatus::Fulfilled
}
