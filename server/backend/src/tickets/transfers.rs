//! Tickets for somebody else: offered by a mail, and theirs once they accept. The order, and what is refunded
//! for it, stay with who bought it.

use super::changing::{Change, NextTicket, next_issue};
use super::{evening_words, event_words};
use crate::backend::{Backend, random_bytes};
use crate::catalog::{Sale, zoned};
use crate::error::{Error, Result, refuse};
use crate::mail::{self, OfferEnd};
use crate::postgres::setbacks::{Job, LeftOut};
use crate::postgres::tickets::{self as rows, TicketRow};
use crate::postgres::transfers::{self as offers, Ended, NewTransfer, OfferRow};
use crate::postgres::{accounts, detached, setbacks};
use domain::account::{Session, parse_email};
use domain::ticket::change::{Outcome, Step, TransferOffer, decide};
use domain::{AccountId, Code, TicketId};
use sha2::{Digest as _, Sha256};
use sqlx::PgConnection;
use std::sync::Arc;
use uuid::Uuid;

/// Offers in one look for those whose time is over.
const EXPIRED_MAX: i64 = 100;

impl Backend {
    /// Offers a ticket to an address. Until it is accepted or comes back, no door takes it.
    ///
    /// # Errors
    /// `invalid_input` for an address that can't be offered to; `not_found`, also for another's ticket;
    /// `wrong_state` says what stands in the way; `limit_exceeded`.
    pub async fn offer_ticket(
        self: &Arc<Self>,
        session: &Session,
        id: TicketId,
        email: &str,
        lang: &str,
    ) -> Result<()> {
        let recipient = parse_email(email)?;
        let (this, account, lang) = (Arc::clone(self), session.account, lang.to_owned());
        detached(async move {
            let Change { mut tx, row, sale } = this.begin_held(account, id).await?;
            if recipient == row.holder_email {
                return refuse(Code::InvalidInput, "recipient: this ticket is yours already; name another address");
            }
            let now = this.now();
            let Outcome::Offered(expires) = decide(&row.facts(), Step::Offer, now)? else {
                return Err(Error::Broken(format!("an offer of ticket {id} leads elsewhere")));
            };
            let secret = hex::encode(random_bytes::<24>());
            let digest = digest_of(&secret);
            let new = NewTransfer {
                id: Uuid::now_v7(),
                ticket: id,
                from: account,
                recipient: &recipient,
                digest: &digest,
                expires,
            };
            if !offers::insert(&mut *tx, &new, now).await? || !rows::touch(&mut *tx, id).await? {
                return refuse(Code::WrongState, "transfer: this ticket is offered already");
            }
            rows::note(&mut *tx, &row, "ticket_offered", now).await?;
            this.mail_offer(&mut tx, (&row, &sale), &new, &secret, &lang).await?;
            this.fault("before-offer-commit");
            tx.commit().await?;
            this.fault("ticket-offered");
            this.wake.outbox.notify_one();
            Ok(())
        })
        .await
    }

    /// Takes an offer back: the ticket is valid again at once.
    ///
    /// # Errors
    /// `not_found`, also for another's ticket; `wrong_state` when it is not offered any more.
    pub async fn take_ticket_back(self: &Arc<Self>, session: &Session, id: TicketId) -> Result<()> {
        let (this, account) = (Arc::clone(self), session.account);
        detached(async move {
            let Change { mut tx, row, .. } = this.begin_held(account, id).await?;
            decide(&row.facts(), Step::TakeBack, this.now())?;
            this.end_offer(&mut tx, &row, Ended::TakenBack, "ticket_taken_back").await?;
            this.fault("before-take-back-commit");
            tx.commit().await?;
            this.fault("ticket-taken-back");
            Ok(())
        })
        .await
    }

    /// What the link of an offer offers to the caller. Changes nothing.
    ///
    /// # Errors
    /// `link_invalid`; `forbidden` for another address than the one that it was offered to; `email_unconfirmed`.
    pub async fn ticket_offer(self: &Arc<Self>, session: &Session, token: &str) -> Result<TransferOffer> {
        let Some(offer) = offers::by_link(&self.pg, &digest_of(token), self.now()).await? else {
            return link_invalid();
        };
        self.check_recipient(session.account, &offer).await?;
        let Some(row) = rows::one(&self.pg, offer.ticket).await? else { return link_invalid() };
        let sale = self.sale(row.performance).await?;
        Ok(TransferOffer {
            from: offer.from,
            event: sale.row.title.clone(),
            artist: sale.row.artist.clone(),
            venue: sale.row.venue.clone(),
            starts: zoned(sale.row.starts, &sale.row.time_zone)?,
            section: row.section,
            row: row.row,
            seat: row.label,
            until: zoned(offer.expires, &sale.row.time_zone)?,
            frozen: row.frozen,
        })
    }

    /// Accepts an offer: the ticket so far is revoked, and the caller holds the next one.
    ///
    /// # Errors
    /// As [`Self::ticket_offer`]; `wrong_state` says what stands in the way.
    pub async fn accept_ticket(self: &Arc<Self>, session: &Session, token: &str) -> Result<TicketId> {
        let (this, account, digest) = (Arc::clone(self), session.account, digest_of(token));
        detached(async move {
            let Some(offer) = offers::by_link(&this.pg, &digest, this.now()).await? else { return link_invalid() };
            this.check_recipient(account, &offer).await?;
            let Change { mut tx, row, sale } = this.begin_change(offer.ticket).await?;
            if row.pending.as_ref().is_none_or(|pending| pending.id != offer.id) {
                return link_invalid();
            }
            let issue = next_issue(&row, Step::Accept, &this)?;
            let next = NextTicket { issue, holder: account, name: None, reason: "transfer", event: "ticket_accepted" };
            let new = this.replace_ticket(&mut tx, &row, &next).await?;
            if !offers::finish(&mut *tx, offer.id, Ended::Accepted(new), this.now()).await? {
                return Err(Error::Broken(format!("offer {} changed while it was locked", offer.id)));
            }
            this.mail_accepted(&mut tx, (&row, &sale), account, &offer, new).await?;
            this.fault("before-accept-commit");
            tx.commit().await?;
            this.fault("ticket-accepted");
            this.wake.outbox.notify_one();
            Ok(new)
        })
        .await
    }

    /// Declines an offer: the ticket is its holder's again at once.
    ///
    /// # Errors
    /// As [`Self::ticket_offer`].
    pub async fn decline_ticket(self: &Arc<Self>, session: &Session, token: &str) -> Result<()> {
        let (this, account, digest) = (Arc::clone(self), session.account, digest_of(token));
        detached(async move {
            let Some(offer) = offers::by_link(&this.pg, &digest, this.now()).await? else { return link_invalid() };
            this.check_recipient(account, &offer).await?;
            let Change { mut tx, row, sale } = this.begin_change(offer.ticket).await?;
            if row.pending.as_ref().is_none_or(|pending| pending.id != offer.id) {
                return link_invalid();
            }
            decide(&row.facts(), Step::Decline, this.now())?;
            this.end_offer(&mut tx, &row, Ended::Declined, "ticket_declined").await?;
            this.mail_ended(&mut tx, (&row, &sale), &offer.recipient, OfferEnd::Declined, offer.id).await?;
            this.fault("before-decline-commit");
            tx.commit().await?;
            this.fault("ticket-declined");
            this.wake.outbox.notify_one();
            Ok(())
        })
        .await
    }

    /// Ends offers whose time is over. Answers how many ended.
    pub(crate) async fn expire_offers(self: &Arc<Self>) -> Result<usize> {
        let out = LeftOut { job: Job::Transfers, now: self.now(), sales: Vec::new() };
        let due = offers::due(&self.pg, &out, EXPIRED_MAX).await?;
        let (mut ended, mut over) = (0, Vec::new());
        for (id, ticket) in due {
            let this = Arc::clone(self);
            match detached(async move { this.expire_offer(id, ticket).await }).await {
                // Also where it had ended another way: it fails no more.
                Ok(by_us) => {
                    ended += usize::from(by_us);
                    over.push(id);
                }
                // One that can't be ended must not keep the others waiting.
                Err(error) => self.set_back(Job::Transfers, id, error).await?,
            }
        }
        if !over.is_empty() {
            setbacks::clear(&self.pg, Job::Transfers, &over).await?;
        }
        Ok(ended)
    }

    async fn expire_offer(&self, id: Uuid, ticket: TicketId) -> Result<bool> {
        let Change { mut tx, row, sale } = self.begin_change(ticket).await?;
        let Some(pending) = row.pending.as_ref().filter(|pending| pending.id == id) else { return Ok(false) };
        if row.revoked {
            // What revokes a ticket ends its offer with it; a row that was changed by hand ends here.
            let ended = offers::finish(&mut *tx, id, Ended::Void, self.now()).await?;
            tx.commit().await?;
            return Ok(ended);
        }
        decide(&row.facts(), Step::Expire, self.now())?;
        self.end_offer(&mut tx, &row, Ended::Expired, "ticket_expired").await?;
        self.mail_ended(&mut tx, (&row, &sale), &pending.recipient, OfferEnd::Expired, id).await?;
        self.fault("before-expiry-commit");
        tx.commit().await?;
        self.fault("offer-expired");
        self.wake.outbox.notify_one();
        Ok(true)
    }

    /// Refuses everybody but the confirmed account of the offered address. The row decides, not the cookie.
    async fn check_recipient(&self, account: AccountId, offer: &OfferRow) -> Result<()> {
        let Some(account) = accounts::by_id(&self.pg, account).await? else {
            return refuse(Code::SignInRequired, "sign in first");
        };
        if account.email != offer.recipient {
            return refuse(
                Code::Forbidden,
                "email: this ticket is offered to another address; sign in with the address that the mail came to",
            );
        }
        if !account.verified {
            return refuse(Code::EmailUnconfirmed, "confirm your address first, then open the offer again");
        }
        Ok(())
    }

    async fn mail_offer(
        &self,
        db: &mut PgConnection,
        (row, sale): (&TicketRow, &Sale),
        new: &NewTransfer<'_>,
        secret: &str,
        lang: &str,
    ) -> Result<()> {
        // In the language of who gets it, where that is known.
        let known = accounts::by_email(&mut *db, new.recipient).await?.map(|account| account.lang);
        let lang = known.as_deref().unwrap_or(lang);
        let (event, evening) = (event_words(sale), evening_words(sale)?);
        let link = format!("{}/transfers/{secret}", self.config.public_url);
        let mail =
            mail::transfer_offered(new.recipient, &row.holder_email, (&event, &evening), &row.words(lang), &link, lang);
        mail::enqueue(db, &format!("transfer:{}", new.id), &mail, self.now()).await
    }

    async fn mail_ended(
        &self,
        db: &mut PgConnection,
        (row, sale): (&TicketRow, &Sale),
        whom: &str,
        end: OfferEnd,
        offer: Uuid,
    ) -> Result<()> {
        let (event, seat) = (event_words(sale), row.words(&row.holder_lang));
        let mail = mail::transfer_ended(&row.holder_email, whom, &event, &seat, end, &row.holder_lang);
        mail::enqueue(db, &format!("transfer-ended:{offer}"), &mail, self.now()).await
    }

    async fn mail_accepted(
        &self,
        db: &mut PgConnection,
        (row, sale): (&TicketRow, &Sale),
        account: AccountId,
        offer: &OfferRow,
        new: TicketId,
    ) -> Result<()> {
        self.mail_ended(&mut *db, (row, sale), &offer.recipient, OfferEnd::Accepted, offer.id).await?;
        let lang = accounts::by_id(&mut *db, account).await?.map_or_else(|| "en".to_owned(), |account| account.lang);
        let (event, evening) = (event_words(sale), evening_words(sale)?);
        let link = self.ticket_link(new);
        let mail = mail::ticket_received(&offer.recipient, (&event, &evening), &row.words(&lang), &link, &lang);
        mail::enqueue(db, &format!("ticket-received:{new}"), &mail, self.now()).await
    }
}

fn digest_of(secret: &str) -> Vec<u8> {
    Sha256::digest(secret.as_bytes()).to_vec()
}

fn link_invalid<T>() -> Result<T> {
    refuse(Code::LinkInvalid, "this offer was answered or taken back, or its time is over")
}
