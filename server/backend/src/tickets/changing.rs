//! What the holder of a ticket does to it: another code, another name. The rules are in
//! [`domain::ticket::change`]; here they are applied behind the lock of the ticket's order, so that of
//! everything that happens to a ticket at the same moment one comes after the other.

use super::event_words;
use crate::backend::Backend;
use crate::catalog::Sale;
use crate::error::{Error, Result, not_found, refuse};
use crate::mail;
use crate::postgres::tickets::{self as rows, Replacement, TicketRow};
use crate::postgres::{detached, transfers};
use domain::account::Session;
use domain::ticket::TicketCode;
use domain::ticket::change::{Outcome, Step, decide};
use domain::ticket::holder::parse_name;
use domain::{AccountId, Code, OrderId, SeatNo, TicketId};
use sqlx::{PgConnection, Postgres, Transaction};
use std::sync::Arc;

/// A change under way: nothing else happens to the tickets of the order until it ends.
pub(super) struct Change {
    pub(super) tx: Transaction<'static, Postgres>,
    pub(super) row: TicketRow,
    /// Read before the transaction began: a second connection while others wait for the lock could be one that
    /// none of them gives back.
    pub(super) sale: Arc<Sale>,
}

/// Who has the ticket that takes another's place, and what it says.
pub(super) struct NextTicket<'a> {
    pub(super) issue: u8,
    pub(super) holder: AccountId,
    pub(super) name: Option<&'a str>,
    /// Why the old one ends.
    pub(super) reason: &'a str,
    /// What is written down beside the order's steps.
    pub(super) event: &'a str,
}

impl Backend {
    /// Another code for a ticket whose code may have been copied: the old one works no more.
    ///
    /// # Errors
    /// `not_found`, also for another's ticket; `wrong_state` says what stands in the way; `limit_exceeded`.
    pub async fn reissue_ticket(self: &Arc<Self>, session: &Session, id: TicketId) -> Result<TicketId> {
        let (this, account) = (Arc::clone(self), session.account);
        detached(async move {
            let Change { mut tx, row, sale } = this.begin_held(account, id).await?;
            let issue = next_issue(&row, Step::Reissue, &this)?;
            let next = NextTicket {
                issue,
                holder: row.holder,
                name: row.name.as_deref(),
                reason: "reissue",
                event: "ticket_reissued",
            };
            let new = this.replace_ticket(&mut tx, &row, &next).await?;
            this.mail_replaced(&mut tx, &row, &sale, new).await?;
            this.fault("before-reissue-commit");
            tx.commit().await?;
            this.fault("ticket-reissued");
            this.wake.outbox.notify_one();
            Ok(new)
        })
        .await
    }

    /// Another name on a ticket, or none; its code becomes another one, so that the paper with the old name
    /// works no more. The same name again changes nothing.
    ///
    /// # Errors
    /// `invalid_input` for what is no name; `not_found`; `wrong_state` when it is too late, or the ticket can't
    /// be changed; `limit_exceeded`.
    pub async fn rename_ticket(self: &Arc<Self>, session: &Session, id: TicketId, name: &str) -> Result<TicketId> {
        let name = parse_name(name)?;
        let (this, account) = (Arc::clone(self), session.account);
        detached(async move {
            let Change { mut tx, row, sale } = this.begin_held(account, id).await?;
            let issue = next_issue(&row, Step::Rename, &this)?;
            if row.name == name {
                return Ok(row.id);
            }
            let next = NextTicket {
                issue,
                holder: row.holder,
                name: name.as_deref(),
                reason: "name",
                event: "ticket_renamed",
            };
            let new = this.replace_ticket(&mut tx, &row, &next).await?;
            this.mail_replaced(&mut tx, &row, &sale, new).await?;
            this.fault("before-rename-commit");
            tx.commit().await?;
            this.fault("ticket-renamed");
            this.wake.outbox.notify_one();
            Ok(new)
        })
        .await
    }

    /// Freezes the tickets of an order, or lets them go; answers how many changed. Disputes do it by themselves;
    /// this is for who runs commands on the machine. Whom the fan gave a ticket to is told by mail.
    ///
    /// # Errors
    /// Outages only.
    pub async fn freeze_tickets(self: &Arc<Self>, order: OrderId, frozen: bool) -> Result<u64> {
        let this = Arc::clone(self);
        detached(async move {
            let mut tx = this.pg.begin().await?;
            let changed = rows::set_frozen(&mut tx, order, frozen, this.now()).await?;
            this.fault("before-freeze-commit");
            tx.commit().await?;
            this.fault("tickets-frozen");
            this.wake.outbox.notify_one();
            Ok(changed)
        })
        .await
    }

    /// Revokes the tickets of an order, those of some seats alone when seats are given: the part of a refund that
    /// concerns tickets, by itself. Answers how many.
    ///
    /// # Errors
    /// Outages only.
    pub async fn revoke_tickets(
        self: &Arc<Self>,
        order: OrderId,
        seats: Option<Vec<SeatNo>>,
        reason: &str,
    ) -> Result<u64> {
        let (this, reason) = (Arc::clone(self), reason.to_owned());
        detached(async move {
            let (mut tx, now) = (this.pg.begin().await?, this.now());
            let revoked = match seats {
                Some(seats) => rows::revoke_seats(&mut tx, order, &seats, &reason, now).await?,
                None => rows::revoke_order(&mut tx, order, &reason, now).await?,
            };
            tx.commit().await?;
            this.wake.outbox.notify_one();
            Ok(revoked)
        })
        .await
    }

    /// Begins a change of a ticket: behind every other change of its order's tickets, refunds among them.
    pub(super) async fn begin_change(&self, id: TicketId) -> Result<Change> {
        let Some((order, performance)) = rows::order_of(&self.pg, id).await? else { return not_found("ticket") };
        let sale = self.sale(performance).await?;
        let mut tx = self.pg.begin().await?;
        rows::lock_order(&mut *tx, order).await?;
        match rows::one(&mut *tx, id).await? {
            Some(row) => Ok(Change { tx, row, sale }),
            None => not_found("ticket"),
        }
    }

    /// As [`Self::begin_change`], for the ticket's holder alone.
    pub(super) async fn begin_held(&self, account: AccountId, id: TicketId) -> Result<Change> {
        let change = self.begin_change(id).await?;
        if change.row.holder == account { Ok(change) } else { not_found("ticket") }
    }

    /// Revokes a ticket and puts the next one in its place, in the caller's transaction.
    pub(super) async fn replace_ticket(
        &self,
        db: &mut PgConnection,
        old: &TicketRow,
        next: &NextTicket<'_>,
    ) -> Result<TicketId> {
        let (id, now) = (TicketId(uuid::Uuid::now_v7()), self.now());
        let code = self.ticket_signer.code(TicketCode {
            key_id: self.ticket_signer.id(),
            performance: old.performance,
            ticket: id,
            seat: old.seat,
            issue: next.issue,
        });
        let replacement = Replacement {
            id,
            issue: next.issue,
            code: &code,
            holder: next.holder,
            name: next.name,
            reason: next.reason,
        };
        if !rows::replace(&mut *db, old, &replacement, now).await? {
            return Err(Error::Broken(format!("ticket {} changed while its order was locked", old.id)));
        }
        rows::note(&mut *db, old, next.event, now).await?;
        metrics::counter!("stararena_tickets_replaced_total").increment(1);
        Ok(id)
    }

    /// Where the page of a ticket is.
    pub(super) fn ticket_link(&self, id: TicketId) -> String {
        format!("{}/tickets?ticket={id}", self.config.public_url)
    }

    async fn mail_replaced(&self, db: &mut PgConnection, old: &TicketRow, sale: &Sale, new: TicketId) -> Result<()> {
        let (seat, link) = (old.words(&old.holder_lang), self.ticket_link(new));
        let mail = mail::ticket_replaced(&old.holder_email, &event_words(sale), &seat, &link, &old.holder_lang);
        mail::enqueue(db, &format!("ticket-replaced:{new}"), &mail, self.now()).await
    }

    /// Ends the pending offer of a ticket that was read behind its lock, and makes the ticket valid again.
    pub(super) async fn end_offer(
        &self,
        db: &mut PgConnection,
        row: &TicketRow,
        ended: transfers::Ended,
        event: &str,
    ) -> Result<()> {
        let Some(pending) = &row.pending else {
            return refuse(Code::WrongState, "transfer: this ticket is not offered to anybody");
        };
        let now = self.now();
        if !transfers::finish(&mut *db, pending.id, ended, now).await? || !rows::touch(&mut *db, row.id).await? {
            return Err(Error::Broken(format!("the offer of ticket {} changed while it was locked", row.id)));
        }
        Ok(rows::note(db, row, event, now).await?)
    }
}

/// The issue that a step leads to.
pub(super) fn next_issue(row: &TicketRow, step: Step, backend: &Backend) -> Result<u8> {
    match decide(&row.facts(), step, backend.now())? {
        Outcome::Replace(issue) => Ok(issue),
        other => Err(Error::Broken(format!("{step:?} of ticket {} leads to {other:?}", row.id))),
    }
}
