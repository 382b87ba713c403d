//! What fans give back of their own orders.

use super::asking::{NewRefund, refundable, refundable_seen};
use super::views::{SeatNames, order_item, refund_view};
use crate::backend::Backend;
use crate::catalog::{Sale, zoned};
use crate::error::{Error, Result, not_found, refuse};
use crate::mail;
use crate::postgres::orders::{self, OrderRow};
use crate::postgres::terms::{self, PolicyRow};
use crate::postgres::{attempts::AttemptRow, detached, one_snapshot, refunds as rows};
use domain::account::Session;
use domain::money::fees::Rate;
use domain::refund::policy::{Quote, RefundPolicy, RefundableOrder, Scope, Terms, quote};
use domain::refund::view::{RefundOffer, RefundQuote, RefundView, Refused, ReturnableSeat};
use domain::refund::{Approval, Cause};
use domain::{Code, Millis, Money, OrderId, RefundId, SeatNo};
use sqlx::PgConnection;
use std::sync::Arc;

/// All that an answer about giving back an order needs, as of one moment.
pub(super) struct Asked {
    pub(super) sale: Arc<Sale>,
    pub(super) terms: PolicyRow,
    pub(super) found: Option<(RefundableOrder, AttemptRow)>,
    pub(super) now: Millis,
}

impl Asked {
    /// What seats come to for a cause.
    pub(super) fn quote(&self, order: &RefundableOrder, cause: Cause, seats: &[SeatNo]) -> Result<Quote> {
        let starts = self.sale.row.starts;
        let terms = Terms { cause, policy: &self.terms.policy, now: self.now, starts };
        Ok(quote(order, &Scope::Seats(seats.to_vec()), terms)?)
    }

    /// Why nothing can be given back by a fan, or by staff.
    fn refused(&self, cause: Cause) -> Option<Refused> {
        let Some((order, _)) = &self.found else { return Some(Refused::NothingLeft) };
        if order.balance.disputed_minor > 0 {
            return Some(Refused::Disputed);
        }
        if cause != Cause::Wish {
            return None;
        }
        if self.sale.row.cancelled {
            return Some(Refused::Cancelled);
        }
        match (self.terms.policy.ends_before_start_ms, self.terms.policy.kept(self.now, self.sale.row.starts)) {
            (None, _) => Some(Refused::Never),
            (Some(_), Err(_)) => Some(Refused::TooLate),
            (Some(_), Ok(_)) => None,
        }
    }

    /// Why nothing comes back for any of these seats, though giving back is not refused as a whole.
    fn nothing(&self, cause: Cause, seats: &[ReturnableSeat]) -> Option<Refused> {
        if seats.iter().any(|seat| seat.returns.is_some()) {
            return None;
        }
        let starts = self.sale.row.starts;
        let all_is_kept = cause == Cause::Wish
            && self.terms.policy.kept(self.now, starts) == Ok(Rate::WHOLE)
            && seats.iter().any(|seat| !seat.given_back);
        Some(if all_is_kept { Refused::AllKept } else { Refused::NothingLeft })
    }
}

/// The refusal where no payment was captured with which the order was sold.
pub(super) fn not_paid<T>() -> Result<T> {
    refuse(Code::WrongState, "the order is not paid")
}

/// The refusal of a page's word.
fn refusal<T>(why: Refused) -> Result<T> {
    refuse(
        Code::WrongState,
        match why {
            Refused::Never => "tickets of this performance can't be given back",
            Refused::TooLate => "the time for giving tickets back has ended",
            Refused::NothingLeft => "nothing is left to give back",
            Refused::Disputed => "the payment was disputed: the bank decides about it",
            Refused::Cancelled => "the performance was cancelled: all comes back by itself",
            Refused::AllKept => "the terms of the performance keep all of these tickets now",
        },
    )
}

/// What of the chosen seats' prices and fees is kept, in minor units.
fn kept_minor(order: &RefundableOrder, quoted: &Quote) -> i64 {
    let of_seats = |seat: Option<SeatNo>| seat.is_some_and(|seat| quoted.seats.contains(&seat));
    let had: i64 = order.lines.iter().filter(|line| of_seats(line.line.seat)).map(|line| line.left_minor()).sum();
    let back: i64 = quoted.parts.iter().filter(|part| of_seats(part.seat)).map(|part| part.amounts.gross_minor).sum();
    (had - back).max(0)
}

impl Backend {
    /// What a fan may give back of one's own order.
    ///
    /// # Errors
    /// `not_found`, also for another's order.
    pub async fn refund_offer(self: &Arc<Self>, session: &Session, order: OrderId) -> Result<RefundOffer> {
        let row = self.own_order(session, order).await?;
        let this = Arc::clone(self);
        detached(async move { this.offer(&row, Cause::Wish).await }).await
    }

    async fn own_order(&self, session: &Session, order: OrderId) -> Result<OrderRow> {
        match orders::one(&self.pg, order).await? {
            Some(row) if row.account == session.account => Ok(row),
            _ => not_found("order"),
        }
    }

    /// Reads all that is asked about by who takes of the money, with the rows locked. The sale was read before: who
    /// holds locks waits for no other connection.
    pub(super) async fn asked(&self, db: &mut PgConnection, row: &OrderRow, sale: Arc<Sale>) -> Result<Asked> {
        let found = refundable(&mut *db, row.id).await?;
        self.with_terms(db, row, sale, found).await
    }

    /// [`Self::asked`] for a page, at the beginning of a transaction: it sees one moment and locks nothing.
    async fn looked_at(&self, db: &mut PgConnection, row: &OrderRow, sale: Arc<Sale>) -> Result<Asked> {
        one_snapshot(&mut *db).await?;
        let found = refundable_seen(&mut *db, row.id).await?;
        self.with_terms(db, row, sale, found).await
    }

    async fn with_terms(
        &self,
        db: &mut PgConnection,
        row: &OrderRow,
        sale: Arc<Sale>,
        found: Option<(RefundableOrder, AttemptRow)>,
    ) -> Result<Asked> {
        let terms = terms::policy(&mut *db, row.performance).await?;
        Ok(Asked { sale, terms, found, now: self.now() })
    }

    /// What may be given back of an order for a cause: by wish, or by goodwill all that is left.
    pub(super) async fn offer(&self, row: &OrderRow, cause: Cause) -> Result<RefundOffer> {
        let sale = self.sale(row.performance).await?;
        let mut tx = self.pg.begin().await?;
        let asked = self.looked_at(&mut tx, row, sale).await?;
        let items = orders::items(&mut *tx, &[row.id.0]).await?;
        let refunds = rows::of_order(&mut *tx, row.id).await?;
        tx.rollback().await?;
        let (names, zone) = (SeatNames::of(&items), asked.sale.row.time_zone.as_str());
        let refused = asked.refused(cause);
        let returns = |seat: SeatNo| -> Option<Money> {
            let (order, _) = asked.found.as_ref().filter(|_| refused.is_none())?;
            asked.quote(order, cause, &[seat]).ok().map(|quoted| quoted.total())
        };
        let is_back = |seat: SeatNo| {
            let mut lines = asked.found.iter().flat_map(|(order, _)| &order.lines);
            lines.any(|line| line.line.seat == Some(seat) && line.given_back)
        };
        let seats: Vec<ReturnableSeat> = items
            .into_iter()
            .map(|item| ReturnableSeat {
                returns: returns(item.seat),
                given_back: item.given_back || is_back(item.seat),
                item: order_item(item, row.currency),
            })
            .collect();
        let nothing = asked.nothing(cause, &seats);
        let policy = if cause == Cause::Wish { asked.terms.policy.clone() } else { RefundPolicy::default() };
        let until = policy.ends_before_start_ms.map(|ms| asked.sale.row.starts.plus(ms.saturating_neg()));
        Ok(RefundOffer {
            order: row.id,
            seats,
            until: until.map(|at| zoned(at, zone)).transpose()?,
            tiers: policy.tiers,
            returns_service_fee: policy.returns_service_fee || cause != Cause::Wish,
            refused: refused.or(nothing),
            refunds: refunds.iter().map(|refund| refund_view(refund, &names, zone)).collect::<Result<_>>()?,
        })
    }

    /// What a choice of seats comes to now.
    ///
    /// # Errors
    /// `not_found`; `unknown_seat`, `invalid_input`; `wrong_state` when nothing comes back.
    pub async fn refund_quote(
        self: &Arc<Self>,
        session: &Session,
        order: OrderId,
        seats: &[SeatNo],
    ) -> Result<RefundQuote> {
        let row = self.own_order(session, order).await?;
        let (this, seats) = (Arc::clone(self), seats.to_vec());
        detached(async move {
            let sale = this.sale(row.performance).await?;
            let mut tx = this.pg.begin().await?;
            let asked = this.looked_at(&mut tx, &row, sale).await?;
            let approval = this.approval(&mut tx, &row).await?;
            tx.rollback().await?;
            let (order, quoted) = wish(&asked, &seats)?;
            let returns = quoted.total();
            Ok(RefundQuote {
                order: row.id,
                kept: Money::new(kept_minor(order, &quoted), order.currency),
                approval: approval.needed(Cause::Wish, returns.minor),
                seats: quoted.seats,
                returns,
            })
        })
        .await
    }

    /// The rule of the organization that an order's performance is of.
    pub(super) async fn approval(&self, db: &mut PgConnection, row: &OrderRow) -> Result<domain::refund::ApprovalRule> {
        match terms::organization(&mut *db, row.performance).await? {
            Some(organization) => Ok(terms::rule(&mut *db, organization).await?),
            None => Err(Error::Broken(format!("performance {} has no organization", row.performance))),
        }
    }

    /// Gives seats of one's own order back. `expected_minor` is what the page showed.
    ///
    /// # Errors
    /// As [`Backend::refund_quote`]; `wrong_state` when another amount would come back now.
    pub async fn ask_refund(
        self: &Arc<Self>,
        session: &Session,
        order: OrderId,
        seats: &[SeatNo],
        expected_minor: i64,
    ) -> Result<RefundView> {
        let row = self.own_order(session, order).await?;
        let (this, seats) = (Arc::clone(self), seats.to_vec());
        detached(async move {
            let sale = this.sale(row.performance).await?;
            let mut tx = this.pg.begin().await?;
            let asked = this.asked(&mut tx, &row, sale).await?;
            let (_, quoted) = wish(&asked, &seats)?;
            let amount = quoted.total();
            if amount.minor != expected_minor {
                return refuse(Code::WrongState, "another amount would come back now: look at it again");
            }
            let Some((_, attempt)) = &asked.found else { return not_paid() };
            let approval = this.approval(&mut tx, &row).await?.needed(Cause::Wish, amount.minor);
            let new = NewRefund {
                order: row.id,
                attempt: attempt.id,
                amount,
                cause: Cause::Wish,
                parts: &quoted.parts,
                seats: &quoted.seats,
                asked_by: Some(row.account),
                approval,
                note: "",
                due: asked.now,
            };
            let id = this.reserve_refund(&mut tx, &new).await?;
            let words = amount.to_string();
            match approval {
                Approval::Automatic => this.mail_decided(&mut tx, row.id, id, &words, None).await?,
                Approval::Finance => {
                    let key = format!("refund-asked:{id}");
                    this.mail_owner(&mut tx, row.id, &key, |to, event, page, lang| {
                        mail::refund_asked(to, event, &words, page, lang)
                    })
                    .await?;
                }
            }
            this.fault("before-ask-commit");
            tx.commit().await?;
            this.fault("refund-asked");
            this.wake_refunds();
            this.refund_view_of(id, &asked.sale.row.time_zone).await
        })
        .await
    }

    /// Tells the fan that a refund was agreed to, or turned down with these words.
    pub(super) async fn mail_decided(
        &self,
        db: &mut PgConnection,
        order: OrderId,
        refund: RefundId,
        amount: &str,
        turned_down: Option<&str>,
    ) -> Result<()> {
        let key = format!("refund-decided:{refund}");
        self.mail_owner(db, order, &key, |to, event, page, lang| match turned_down {
            None => mail::refund_approved(to, event, amount, page, lang),
            Some(note) => mail::refund_rejected(to, event, (amount, note), page, lang),
        })
        .await
    }

    /// A refund as pages show it.
    pub(super) async fn refund_view_of(&self, id: RefundId, zone: &str) -> Result<RefundView> {
        let Some(row) = rows::one(&self.pg, id).await? else { return not_found("refund") };
        let items = orders::items(&self.pg, &[row.order.0]).await?;
        refund_view(&row, &SeatNames::of(&items), zone)
    }
}

/// What a fan's choice comes to.
fn wish<'a>(asked: &'a Asked, seats: &[SeatNo]) -> Result<(&'a RefundableOrder, Quote)> {
    let Some((order, _)) = &asked.found else { return not_paid() };
    if let Some(why) = asked.refused(Cause::Wish) {
        return refusal(why);
    }
    let quoted = asked.quote(order, Cause::Wish, seats)?;
    Ok((order, quoted))
}
