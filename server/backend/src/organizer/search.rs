//! Finding orders of one's organization.

use crate::backend::Backend;
use crate::catalog::zoned;
use crate::error::{Result, refuse};
use crate::postgres::search::{self as rows, FoundRow, Narrow};
use domain::account::Session;
use domain::order::OrderStatus;
use domain::organizer::Action;
use domain::organizer::search::{Cursor, Found, FoundOrder, PerformanceChoice, TEXT_MAX_BYTES, Wanted};
use domain::{Code, Money, PerformanceId};

/// Orders on a page.
const PAGE_ORDERS: usize = 50;
/// Most performances to choose from.
const CHOICES_MAX: i64 = 200;

/// What is searched for, as the form says it.
#[derive(Clone, Debug, Default)]
pub struct OrderSearch {
    /// Anything: part of an order's id, an address, a ticket, a ticket's code. All orders when empty.
    pub text: String,
    /// Orders of this performance only.
    pub performance: Option<PerformanceId>,
    /// Orders of this status only.
    pub status: Option<OrderStatus>,
    /// Where the page before ended.
    pub before: Option<Cursor>,
}

impl Backend {
    /// Orders of the organization, newest first.
    ///
    /// # Errors
    /// `not_found`, `forbidden`; `invalid_input` for a text that is too long.
    pub async fn find_orders(&self, session: &Session, search: &OrderSearch) -> Result<Found> {
        let member = self.member(session, Action::ReadOrders).await?;
        if search.text.len() > TEXT_MAX_BYTES {
            return refuse(Code::InvalidInput, format!("text: at most {TEXT_MAX_BYTES} bytes are expected"));
        }
        let narrow = Narrow {
            organization: member.organization,
            performance: search.performance,
            status: search.status,
            before: search.before,
            most: i64::try_from(PAGE_ORDERS + 1).unwrap_or(i64::MAX),
        };
        let wanted = Wanted::parse(&search.text);
        let all = search.text.trim().is_empty();
        let mut found = if all { rows::latest(&self.pg, &narrow).await? } else { self.find(&narrow, &wanted).await? };
        let more = found.len() > PAGE_ORDERS;
        found.truncate(PAGE_ORDERS);
        let next = found.last().filter(|_| more).map(|row| Cursor { created: row.created, id: row.id });
        let choices = rows::performances(&self.pg, member.organization, CHOICES_MAX).await?;
        Ok(Found {
            orders: found.into_iter().map(found_order).collect::<Result<_>>()?,
            next,
            understood: all || !wanted.is_nothing(),
            performances: choices
                .into_iter()
                .map(|row| {
                    let starts = zoned(row.starts, &row.time_zone)?;
                    Ok(PerformanceChoice { id: row.id, artist: row.artist, event: row.event, starts })
                })
                .collect::<Result<_>>()?,
        })
    }

    /// All meanings of a text, each by its own index, as one list.
    async fn find(&self, narrow: &Narrow, wanted: &Wanted) -> Result<Vec<FoundRow>> {
        let mut found = Vec::new();
        if wanted.orders.is_some() || wanted.ticket.is_some() {
            found.extend(rows::by_id(&self.pg, narrow, wanted.orders, wanted.ticket).await?);
        }
        if let Some(prefix) = &wanted.email {
            found.extend(rows::by_email(&self.pg, narrow, prefix).await?);
        }
        found.sort_by_key(|row| std::cmp::Reverse((row.created, row.id)));
        found.dedup_by_key(|row| row.id);
        Ok(found)
    }
}

fn found_order(row: FoundRow) -> Result<FoundOrder> {
    Ok(FoundOrder {
        id: row.id,
        email: row.email,
        performance: row.performance,
        artist: row.artist,
        event: row.event,
        starts: zoned(row.starts, &row.time_zone)?,
        seats: u32::try_from(row.seats).unwrap_or(u32::MAX),
        total: Money::new(row.total_minor, row.currency),
        status: row.status,
        created: zoned(row.created, &row.time_zone)?,
    })
}
