//! Disputes: what a bank's word about a payment does to money, tickets and seats.
//!
//! A message says where to look; the provider's own object says what is so, and `domain::dispute` what that
//! changes. All disputes of one order wait for each other, so that its tickets follow from all of them. The attempt
//! is locked before its order, as refunds do: what is left of a payment is never counted while a dispute takes of it.

use super::events::UNKNOWN_FOR_MS;
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::mail;
use crate::payment::{DisputeState, PaymentProvider, ProviderDispute};
use crate::postgres::attempts::{self, AttemptRow};
use crate::postgres::disputes::{self, DisputeRow, NewDispute};
use crate::postgres::orders::{self, OrderRow};
use crate::postgres::{batches, ledger, tickets};
use domain::dispute::{Booking, DisputeStatus, TicketHold, Transition, borne_by, tickets_of, transition};
use domain::ledger::Event;
use domain::order::{AttemptStatus, OrderStatus};
use domain::{AttemptId, DisputeId, Millis, Money};
use serde_json::{Value, json};
use sqlx::PgConnection;
use std::sync::Arc;
use uuid::Uuid;

/// Why a dispute is set aside that was decided in two ways.
const TWO_ENDS: &str = "a dispute with two ends";
/// Why a dispute is set aside that can't be booked.
const NO_AMOUNT: &str = "a dispute of no amount, or of another currency";
/// Why its tickets were revoked, as pages know the word.
const REVOKED: &str = "dispute";

impl Backend {
    /// Reads a dispute at its provider and acts on it. Idempotent, in any order.
    ///
    /// # Errors
    /// Outages; an attempt that is not known yet, or whose tickets are being issued: the message stays in the
    /// inbox and is applied again.
    pub(crate) async fn dispute_moved(self: &Arc<Self>, provider: &dyn PaymentProvider, id: &str) -> Result<()> {
        let told = provider.get_dispute(id).await?;
        metrics::counter!("stararena_disputes_total", "state" => told.state.as_str()).increment(1);
        let Some(attempt) = self.disputed(provider.name(), &told).await? else { return Ok(()) };
        // What was captured is booked before it is withdrawn.
        self.settle(&attempt).await?;
        let mut tx = self.pg.begin().await?;
        if self.follow(&mut tx, provider.name(), &attempt, &told).await? {
            self.fault("before-dispute-commit");
            tx.commit().await?;
            self.fault("dispute-committed");
            self.wake.outbox.notify_one();
            self.wake.release.notify_one();
            self.wake.query.notify_one();
            say(&told, &attempt);
        }
        Ok(())
    }

    /// The attempt whose money is disputed; none where nothing is to be done about it.
    async fn disputed(&self, provider: &str, told: &ProviderDispute) -> Result<Option<AttemptRow>> {
        let reference = told.reference.as_deref().unwrap_or_default();
        let id = reference.parse::<AttemptId>().ok();
        let attempt = match id {
            Some(id) => attempts::one(&self.pg, id).await?,
            None => None,
        };
        let passed_over = match attempt {
            Some(attempt) if attempt.provider != provider => "another provider's payment",
            Some(attempt) if told.withdrawn => return Ok(Some(attempt)),
            Some(_) => "an inquiry, which takes no money",
            None if id.is_some() && told.opened.until(self.now()) <= UNKNOWN_FOR_MS => {
                // It may be ahead of our own row.
                return Err(Error::Broken(format!("no attempt is known for `{reference}`")));
            }
            None => "a payment that is not ours",
        };
        tracing::info!(provider, dispute = told.id, reference, passed_over, "a dispute was passed over");
        Ok(None)
    }

    /// One step of a dispute in the caller's transaction; `false` when nothing is to be kept.
    async fn follow(
        self: &Arc<Self>,
        db: &mut PgConnection,
        provider: &str,
        attempt: &AttemptRow,
        told: &ProviderDispute,
    ) -> Result<bool> {
        let Some(locked) = attempts::lock(&mut *db, attempt.id).await? else {
            return Err(Error::Broken(format!("there is no attempt {}", attempt.id)));
        };
        let attempt = &locked;
        let Some(order) = orders::lock(&mut *db, attempt.order).await? else {
            return Err(Error::Broken(format!("attempt {} has no order", attempt.id)));
        };
        if order.status == OrderStatus::Paid {
            // Tickets that come after this step would open the door.
            return Err(Error::Broken(format!("the tickets of order {} are being issued", order.id)));
        }
        let known = disputes::by_reference(&mut *db, provider, &told.id).await?;
        if known.is_none() && (told.amount_minor <= 0 || told.currency != attempt.currency) {
            return self.set_dispute_aside(db, provider, attempt, told, NO_AMOUNT).await;
        }
        let step = match transition(known.as_ref().map(|known| known.status), status_of(told.state)) {
            Ok(Some(step)) => step,
            Ok(None) => return Ok(false),
            Err(_) => return self.set_dispute_aside(db, provider, attempt, told, TWO_ENDS).await,
        };
        let before = hold_of(db, &order).await?;
        let Some(dispute) = self.write(db, provider, attempt, told, (known, step)).await? else { return Ok(false) };
        for booking in step.books {
            let event = booked(db, attempt, &dispute, *booking).await?;
            ledger::post(&mut *db, &event, self.now()).await?;
        }
        let after = hold_of(db, &order).await?;
        self.hold_tickets(db, &order, dispute.id, (before, after)).await?;
        match step.to {
            DisputeStatus::Opened => {}
            DisputeStatus::Won => self.pass_on(db, &order, attempt).await?,
            DisputeStatus::Lost => {
                self.close_if_all_is_back(db, order.id).await?;
                self.return_by_policy(db, &order, dispute.id).await?;
            }
        }
        Ok(true)
    }

    /// Money that the bank gave back and that is not ours to keep: late money goes on to its payer, and an order of
    /// a cancelled performance is refunded after all.
    async fn pass_on(&self, db: &mut PgConnection, order: &OrderRow, attempt: &AttemptRow) -> Result<()> {
        // Money that fits no attempt is followed where it was set aside.
        let captured = matches!(attempt.status, AttemptStatus::Captured | AttemptStatus::Refunded);
        if captured && ledger::is_late(&mut *db, attempt.id).await? {
            self.return_late_money(db, attempt).await?;
        }
        if batches::is_cancelled(&mut *db, order.performance).await? {
            Ok(batches::relist(db, order.performance, order.id).await?)
        } else {
            self.close_if_all_is_back(db, order.id).await
        }
    }

    /// Writes the step; none when somebody else wrote it meanwhile.
    async fn write(
        &self,
        db: &mut PgConnection,
        provider: &str,
        attempt: &AttemptRow,
        told: &ProviderDispute,
        (known, step): (Option<DisputeRow>, Transition),
    ) -> Result<Option<DisputeRow>> {
        let (now, evidence) = (self.now(), evidence(told, self.now()));
        if let Some(known) = known {
            let moved = disputes::end(&mut *db, known.id, (known.status, step.to), &evidence, now).await?;
            return Ok(moved.then_some(DisputeRow { status: step.to, ..known }));
        }
        let row = DisputeRow {
            id: DisputeId(Uuid::now_v7()),
            status: step.to,
            amount: Money::new(told.amount_minor, told.currency),
        };
        let new = NewDispute {
            id: row.id,
            provider,
            reference: &told.id,
            attempt: attempt.id,
            order: attempt.order,
            amount: row.amount,
            reason: &told.reason,
            status: row.status,
            opened: told.opened,
        };
        Ok(disputes::insert(&mut *db, &new, &evidence, now).await?.then_some(row))
    }

    /// Freezes, restores or revokes the tickets of an order, and tells its fan, where something changes for them.
    /// Whoever holds one that the fan gave away is told with the change itself, of the ticket alone.
    async fn hold_tickets(
        &self,
        db: &mut PgConnection,
        order: &OrderRow,
        dispute: DisputeId,
        (before, after): (TicketHold, TicketHold),
    ) -> Result<()> {
        if before == after {
            return Ok(());
        }
        let now = self.now();
        let changed = match after {
            TicketHold::Frozen => tickets::set_frozen(&mut *db, order.id, true, now).await?,
            TicketHold::Valid => tickets::set_frozen(&mut *db, order.id, false, now).await?,
            TicketHold::Revoked => tickets::revoke_order(&mut *db, order.id, REVOKED, now).await?,
        };
        // A dispute about money that came too late has no tickets, and its fan nothing to hear.
        if changed == 0 {
            return Ok(());
        }
        let word = match after {
            TicketHold::Frozen => "frozen",
            TicketHold::Valid => "restored",
            TicketHold::Revoked => "revoked",
        };
        let key = format!("dispute-{word}:{dispute}");
        self.mail_owner(db, order.id, &key, |to, event, page, lang| match after {
            TicketHold::Frozen => mail::tickets_frozen(to, event, page, lang),
            TicketHold::Valid => mail::tickets_restored(to, event, page, lang),
            TicketHold::Revoked => mail::tickets_revoked(to, event, page, lang),
        })
        .await
    }

    /// The seats of a lost dispute go back to sale where the organizer's policy says so. Doors check tickets
    /// without us and report nothing: that a ticket was used is told by the time alone, before which the policy
    /// sells no more.
    async fn return_by_policy(&self, db: &mut PgConnection, order: &OrderRow, dispute: DisputeId) -> Result<()> {
        let Some((policy, starts)) = disputes::policy_of_performance(&mut *db, order.performance).await? else {
            return Err(Error::Broken(format!("order {} has no performance", order.id)));
        };
        let (now, was_used) = (self.now(), false);
        if order.status == OrderStatus::Fulfilled && policy.frees(now, starts, was_used) {
            let seats = disputes::return_seats(&mut *db, dispute, order.id, now).await?;
            tracing::info!(order = %order.id, seats, "the seats of a lost dispute are sold again");
        }
        Ok(())
    }

    /// Keeps what can't be followed as evidence, once: people look at the provider and decide.
    async fn set_dispute_aside(
        &self,
        db: &mut PgConnection,
        provider: &str,
        attempt: &AttemptRow,
        told: &ProviderDispute,
        reason: &str,
    ) -> Result<bool> {
        let known = disputes::by_reference(&mut *db, provider, &told.id).await?;
        let evidence = json!({
            "dispute": told.id, "attempt": attempt.id, "known": known.map(|known| known.status.as_str()),
            "found": evidence(told, self.now()),
        });
        let new = attempts::quarantine(&mut *db, provider, &told.id, reason, &evidence, self.now()).await?;
        if new {
            metrics::counter!("stararena_payments_quarantined_total").increment(1);
            tracing::error!(provider, dispute = told.id, attempt = %attempt.id, reason, "a dispute was set aside");
        }
        Ok(new)
    }
}

/// What all disputes of an order make of its tickets.
async fn hold_of(db: &mut PgConnection, order: &OrderRow) -> Result<TicketHold> {
    let all = disputes::of_order(&mut *db, order.id).await?;
    Ok(tickets_of(all.into_iter().map(|(_, status)| status)))
}

/// What is posted for a part of a step.
async fn booked(db: &mut PgConnection, attempt: &AttemptRow, row: &DisputeRow, booking: Booking) -> Result<Event> {
    let (order, amount, dispute) = (attempt.order, row.amount, row.id);
    Ok(match booking {
        Booking::Opened => Event::DisputeOpened { dispute, order, amount },
        Booking::Won => Event::DisputeWon { dispute, order, amount },
        Booking::Lost => {
            let (taken, left) = disputes::shares_of(&mut *db, attempt.id).await?;
            let Some(origin) = borne_by(amount.minor, taken, left) else {
                return Err(Error::Broken(format!("dispute {dispute} can't be split")));
            };
            Event::DisputeLost { dispute, order, currency: amount.currency, origin }
        }
    })
}

fn status_of(state: DisputeState) -> DisputeStatus {
    match state {
        DisputeState::Open => DisputeStatus::Opened,
        DisputeState::Won => DisputeStatus::Won,
        DisputeState::Lost => DisputeStatus::Lost,
    }
}

/// What the provider said.
fn evidence(told: &ProviderDispute, now: Millis) -> Value {
    json!({
        "state": told.state.as_str(), "amount": told.amount_minor, "currency": told.currency,
        "reason": told.reason, "read_ms": now,
    })
}

/// Says aloud what moved: people answer disputes at the provider.
fn say(told: &ProviderDispute, attempt: &AttemptRow) {
    let (id, state, reason) = (told.id.as_str(), told.state.as_str(), told.reason.as_str());
    let (amount, currency, order) = (told.amount_minor, told.currency.code(), attempt.order);
    match told.state {
        DisputeState::Won => tracing::info!(id, %order, amount, currency, reason, state, "a dispute has ended"),
        DisputeState::Open | DisputeState::Lost => {
            tracing::error!(id, %order, amount, currency, reason, state, "a payment is disputed: look at the provider");
        }
    }
}
