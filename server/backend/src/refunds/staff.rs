//! Refunds in the hands of the staff: the list, decisions, another try, goodwill.

use super::NOTE_MAX_CHARS;
use super::asking::{NewRefund, balance, parts_again};
use super::fan::not_paid;
use super::views::{SeatNames, refund_view};
use crate::backend::Backend;
use crate::catalog::zoned;
use crate::error::{Result, not_found, refuse};
use crate::organizer::Member;
use crate::postgres::orders::{self, OrderRow};
use crate::postgres::refunds::{self as rows, Change};
use crate::postgres::{attempts, batches, detached, refund_lists as lists, terms};
use domain::account::Session;
use domain::organizer::Action;
use domain::refund::view::{RefundFilter, RefundList, RefundOffer, RefundView, StaffRefund};
use domain::refund::{Approval, Cause, RefundEvent, RefundOrigin, RefundStatus, transition};
use domain::{Code, OrderId, RefundId, SeatNo};
use serde_json::json;
use std::sync::Arc;

/// Refunds on a page.
const PAGE_REFUNDS: usize = 50;

fn checked(note: &str) -> Result<&str> {
    let note = note.trim();
    if note.chars().count() > NOTE_MAX_CHARS {
        return refuse(Code::InvalidInput, format!("note: at most {NOTE_MAX_CHARS} characters are expected"));
    }
    Ok(note)
}

fn count(of: i64) -> u32 {
    u32::try_from(of).unwrap_or(u32::MAX)
}

impl Backend {
    /// Refunds of the organization, the newest first.
    ///
    /// # Errors
    /// `not_found` for who is no member, `forbidden` by role.
    pub async fn refund_list(&self, session: &Session, filter: &RefundFilter) -> Result<RefundList> {
        let member = self.member(session, Action::ReadMoney).await?;
        let organization = member.organization;
        let rule = terms::rule(&self.pg, organization).await?;
        let most = i64::try_from(PAGE_REFUNDS + 1).unwrap_or(i64::MAX);
        let mut found = lists::page(&self.pg, organization, filter, most).await?;
        let more = found.len() > PAGE_REFUNDS;
        found.truncate(PAGE_REFUNDS);
        let orders: Vec<uuid::Uuid> = found.iter().map(|row| row.refund.order.0).collect();
        let names = SeatNames::of(&orders::items(&self.pg, &orders).await?);
        let (waiting, failed) = lists::counts(&self.pg, organization).await?;
        let next = found.last().filter(|_| more).map(|row| row.refund.id);
        let decides = member.role.may(Action::DecideMoney);
        let may_decide = |row: &lists::ListedRefund| {
            let (refund, minor) = (&row.refund, row.refund.amount.minor);
            decides
                && refund.status == RefundStatus::Requested
                && rule.check(member.role, session.account, refund.asked_by, minor).is_ok()
        };
        let refunds = found
            .into_iter()
            .map(|row| {
                Ok(StaffRefund {
                    refund: refund_view(&row.refund, &names, &row.time_zone)?,
                    may_decide: may_decide(&row),
                    may_retry: decides && row.refund.waits_for_staff(),
                    starts: zoned(row.starts, &row.time_zone)?,
                    asked_by: row.asked_by.filter(|_| row.refund.asked_by != Some(row.owner)),
                    email: row.email,
                    artist: row.artist,
                    event: row.event,
                })
            })
            .collect::<Result<_>>()?;
        Ok(RefundList { refunds, next, waiting: count(waiting), failed: count(failed), rule })
    }

    /// Agrees to a refund, or turns it down with a note for the fan.
    ///
    /// # Errors
    /// `not_found` for another organization's; `forbidden` by role, or when another member must decide;
    /// `wrong_state` when it waits for no decision any more, or when a dispute or a refund that was made at the
    /// provider took the money meanwhile: the message says which.
    pub async fn decide_refund(
        self: &Arc<Self>,
        session: &Session,
        refund: RefundId,
        approve: bool,
        note: &str,
    ) -> Result<()> {
        let member = self.member(session, Action::DecideMoney).await?;
        let (this, account, note) = (Arc::clone(self), session.account, checked(note)?.to_owned());
        detached(async move {
            let Some(row) = lists::own(&this.pg, member.organization, refund).await? else {
                return not_found("refund");
            };
            let mut tx = this.pg.begin().await?;
            let Some(attempt) = attempts::lock(&mut *tx, row.attempt).await? else { return not_found("refund") };
            let Some(row) = rows::one(&mut *tx, refund).await? else { return not_found("refund") };
            let rule = terms::rule(&mut *tx, member.organization).await?;
            rule.check(member.role, account, row.asked_by, row.amount.minor)?;
            let amount = row.amount.to_string();
            if approve {
                // First whether it waits at all: of what was decided before, that is the reason.
                transition(row.status, RefundEvent::Approve)?;
                balance(&mut tx, &attempt).await?.check_covered()?;
                this.approve_refund(&mut tx, &row, Some(account), this.now()).await?;
                this.mail_decided(&mut tx, row.order, refund, &amount, None).await?;
            } else {
                let step = transition(row.status, RefundEvent::Reject)?;
                let change = Change {
                    note: Some(note.as_str()).filter(|note| !note.is_empty()),
                    approved_by: Some(account),
                    ..Change::default()
                };
                this.move_refund(&mut tx, &row, step, change).await?;
                this.mail_decided(&mut tx, row.order, refund, &amount, Some(&note)).await?;
            }
            let word = if approve { "refund.approve" } else { "refund.reject" };
            let detail = json!({ "refund": refund, "amount": amount, "note": note });
            this.record(&mut *tx, &member, word, &format!("order {}", row.order), &detail).await?;
            this.fault("before-decide-commit");
            tx.commit().await?;
            this.fault("refund-decided");
            this.wake_refunds();
            Ok(())
        })
        .await
    }

    /// Tries a failed refund again: a new one, of the same parts, under its own key.
    ///
    /// # Errors
    /// `not_found`, `forbidden`; `wrong_state` when it did not fail, was tried again, or is tried again by
    /// itself, or when its seats' money went by another refund; `limit_exceeded` when less is left of the payment.
    pub async fn retry_refund(self: &Arc<Self>, session: &Session, refund: RefundId) -> Result<()> {
        let member = self.member(session, Action::DecideMoney).await?;
        let (this, account) = (Arc::clone(self), session.account);
        detached(async move {
            let Some(row) = lists::own(&this.pg, member.organization, refund).await? else {
                return not_found("refund");
            };
            let mut tx = this.pg.begin().await?;
            attempts::lock(&mut *tx, row.attempt).await?;
            let Some(row) = rows::one(&mut *tx, refund).await? else { return not_found("refund") };
            if !row.waits_for_staff() {
                return refuse(Code::WrongState, "this refund is not to be tried again");
            }
            // Another refund may have given back the same seats since: nobody is paid twice for them.
            let Some(parts) = parts_again(&mut tx, &row).await? else {
                return refuse(Code::WrongState, "what it gives back went, or is to go, by another refund");
            };
            // That the provider's people made it was true of the first one alone.
            let note = if row.origin == RefundOrigin::Provider { "" } else { row.note.as_str() };
            let new = NewRefund {
                order: row.order,
                attempt: row.attempt,
                amount: row.amount,
                cause: row.cause,
                parts: &parts,
                seats: &row.seats,
                asked_by: Some(account),
                approval: Approval::Automatic,
                note,
                due: this.now(),
            };
            let id = this.reserve_refund(&mut tx, &new).await?;
            if !rows::set_retried(&mut *tx, refund, id).await? {
                return refuse(Code::WrongState, "this refund was tried again meanwhile");
            }
            batches::follow(&mut *tx, refund, id).await?;
            let detail = json!({ "refund": refund, "again": id, "amount": row.amount.to_string() });
            this.record(&mut *tx, &member, "refund.retry", &format!("order {}", row.order), &detail).await?;
            this.fault("before-retry-commit");
            tx.commit().await?;
            this.fault("refund-retried");
            this.wake_refunds();
            Ok(())
        })
        .await
    }

    /// What staff may give back of an order beyond the policy: all that is left.
    ///
    /// # Errors
    /// `not_found` for another organization's order; `forbidden`.
    pub async fn staff_refund_offer(self: &Arc<Self>, session: &Session, order: OrderId) -> Result<RefundOffer> {
        let member = self.member(session, Action::AskRefunds).await?;
        let row = self.order_of(&member, order).await?;
        let this = Arc::clone(self);
        detached(async move { this.offer(&row, Cause::Goodwill).await }).await
    }

    async fn order_of(&self, member: &Member, order: OrderId) -> Result<OrderRow> {
        let Some(row) = orders::one(&self.pg, order).await? else { return not_found("order") };
        if terms::organization(&self.pg, row.performance).await? == Some(member.organization) {
            Ok(row)
        } else {
            not_found("order")
        }
    }

    /// Asks for a refund in a fan's place: all that is left of these seats. Finance decides about it.
    ///
    /// # Errors
    /// `not_found`, `forbidden`, `invalid_input`, `unknown_seat`; `wrong_state` when nothing is left.
    pub async fn staff_refund(
        self: &Arc<Self>,
        session: &Session,
        order: OrderId,
        seats: &[SeatNo],
        note: &str,
    ) -> Result<RefundView> {
        let member = self.member(session, Action::AskRefunds).await?;
        let row = self.order_of(&member, order).await?;
        let (this, account) = (Arc::clone(self), session.account);
        let (seats, note) = (seats.to_vec(), checked(note)?.to_owned());
        detached(async move {
            let sale = this.sale(row.performance).await?;
            let mut tx = this.pg.begin().await?;
            let asked = this.asked(&mut tx, &row, sale).await?;
            let Some((found, attempt)) = &asked.found else {
                return not_paid();
            };
            let quoted = asked.quote(found, Cause::Goodwill, &seats)?;
            let amount = quoted.total();
            let approval = this.approval(&mut tx, &row).await?.needed(Cause::Goodwill, amount.minor);
            let new = NewRefund {
                order: row.id,
                attempt: attempt.id,
                amount,
                cause: Cause::Goodwill,
                parts: &quoted.parts,
                seats: &quoted.seats,
                asked_by: Some(account),
                approval,
                note: &note,
                due: asked.now,
            };
            let id = this.reserve_refund(&mut tx, &new).await?;
            let detail = json!({ "refund": id, "amount": amount.to_string(), "seats": quoted.seats, "note": note });
            this.record(&mut *tx, &member, "refund.ask", &format!("order {}", row.id), &detail).await?;
            this.fault("before-ask-commit");
            tx.commit().await?;
            this.fault("refund-asked");
            this.wake_refunds();
            this.refund_view_of(id, &asked.sale.row.time_zone).await
        })
        .await
    }
}
