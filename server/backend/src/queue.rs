//! The waiting room: a place for each account, and the exchange of a reached place for a pass.

mod joining;
mod published;

pub(crate) use joining::Joining;
pub use published::ArrivalList;
pub(crate) use published::Lists;

use crate::backend::Backend;
use crate::error::{Error, Result, refuse};
use crate::holds::rebuilding;
use crate::redis::{JoinAnswer, JoinCall};
use domain::account::Session;
use domain::queue::{Entered, Joined, PASS_PURPOSE, Pass, QueueTicket, TICKET_PURPOSE, may_enter};
use domain::{Code, PerformanceId, Refusal};
use std::sync::Arc;

/// How long a fan waits before the door is tried again when the house is full.
const FULL_RETRY_MS: u32 = 1_000;
/// Longest nonce that a client may choose.
const NONCE_MAX_BYTES: usize = 64;

impl Backend {
    /// Takes a place, or finds the one that the account has: the same however often it is called. A
    /// signed ticket from before restores its place, should Redis have lost it.
    ///
    /// # Errors
    /// `email_unconfirmed`; `account_too_new`; `queue_closed` before places are given, after the sale and
    /// after the registration of a lottery; `overloaded`; `not_found`; `unavailable`.
    pub async fn join_queue(
        self: &Arc<Self>,
        session: &Session,
        performance: PerformanceId,
        ticket: Option<&str>,
    ) -> Result<Joined> {
        if !session.verified {
            return refuse(Code::EmailUnconfirmed, "confirm your e-mail address first: the link is in your mailbox");
        }
        let sale = self.sale(performance).await?;
        if sale.row.account_cutoff.is_some_and(|cutoff| session.created > cutoff) {
            return refuse(
                Code::AccountTooNew,
                "places in this on-sale are given to accounts that were made before its cut-off only",
            );
        }
        let known =
            ticket.and_then(|ticket| self.read_ticket(session, performance, ticket).ok()).map(|ticket| ticket.arrival);
        let started = std::time::Instant::now();
        let call = JoinCall { account: session.account, known };
        let arrival = match self.joining.join(&self.seats, performance, &sale.keys, call).await? {
            JoinAnswer::Place(arrival) => arrival,
            JoinAnswer::Ended => return refuse(Code::QueueClosed, "the sale has ended"),
            JoinAnswer::NotYet => return refuse(Code::QueueClosed, "places can't be taken yet"),
            JoinAnswer::RegistrationOver => {
                return refuse(Code::QueueClosed, "the registration for this draw is over");
            }
            JoinAnswer::Rebuilding => return rebuilding(),
        };
        metrics::histogram!("stararena_join_seconds").record(started.elapsed().as_secs_f64());
        let ticket = QueueTicket { account: session.account, performance, arrival };
        Ok(Joined { ticket: self.tokens.sign(TICKET_PURPOSE, &ticket), arrival })
    }

    /// Reads a queue ticket of this account for this performance.
    ///
    /// # Errors
    /// `pass_invalid` for a forged, foreign or other ticket.
    pub fn read_ticket(&self, session: &Session, performance: PerformanceId, ticket: &str) -> Result<QueueTicket> {
        let Ok(ticket) = self.tokens.read::<QueueTicket>(TICKET_PURPOSE, ticket) else {
            return refuse(Code::PassInvalid, "this is not a place of our queue");
        };
        if ticket.account != session.account || ticket.performance != performance {
            return refuse(Code::PassInvalid, "this place in the queue belongs to another account or performance");
        }
        Ok(ticket)
    }

    /// Exchanges a reached place for a pass. A repeated call with the same nonce gives the same pass;
    /// another session's call takes the visit over.
    ///
    /// # Errors
    /// `pass_invalid`, `not_your_turn`, `turn_passed`, `paused`, `full`, `sale_closed`, `invalid_input`, `unavailable`.
    pub async fn enter(
        self: &Arc<Self>,
        session: &Session,
        performance: PerformanceId,
        ticket: &str,
        nonce: &str,
    ) -> Result<Entered> {
        if nonce.is_empty() || nonce.len() > NONCE_MAX_BYTES || !nonce.bytes().all(|b| b.is_ascii_graphic()) {
            return refuse(
                Code::InvalidInput,
                format!("nonce: 1 to {NONCE_MAX_BYTES} printable ASCII characters are expected"),
            );
        }
        let ticket = self.read_ticket(session, performance, ticket)?;
        let status = self.queue_status(performance).await?;
        may_enter(&ticket, session.account, performance, &status)?;
        let sale = self.sale(performance).await?;
        // The nonce is bound to the session: two devices that chose the same one are still two.
        let bound = format!("{}:{nonce}", session.session.simple());
        let answer = match self
            .seats
            .enter(&sale.keys, sale.row.epoch, session.account, &bound, self.config.visit_ttl_ms)
            .await?
        {
            Err(word) if word == "rebuilding" => {
                let sale = self.reload_sale(performance).await?;
                self.seats.enter(&sale.keys, sale.row.epoch, session.account, &bound, self.config.visit_ttl_ms).await?
            }
            answer => answer,
        };
        match answer {
            Ok(expires) => {
                // Should Redis have lost the place, the signed ticket restores it.
                let call = JoinCall { account: session.account, known: Some(ticket.arrival) };
                if let Err(error) = self.joining.join(&self.seats, performance, &sale.keys, call).await {
                    tracing::debug!(error = &error as &dyn std::error::Error, "a place was not restored");
                }
                let pass =
                    Pass { account: session.account, performance, session: session.session, nonce: bound, expires };
                Ok(Entered { pass: self.tokens.sign(PASS_PURPOSE, &pass), expires })
            }
            Err(word) => match word.as_str() {
                "full" => Err(Error::Refused(
                    Refusal::new(Code::Full, "as many fans as allowed are choosing seats; your turn stays yours")
                        .retry_after_ms(FULL_RETRY_MS),
                )),
                "paused" => refuse(Code::Paused, "the organizer has paused entry; your place is kept"),
                "sale_closed" => refuse(Code::SaleClosed, "the sale has not opened yet, or has ended"),
                _ => rebuilding(),
            },
        }
    }

    /// Ends the fan's own visit; an open hold stays payable.
    ///
    /// # Errors
    /// `not_found`; `unavailable`.
    pub async fn leave(self: &Arc<Self>, session: &Session, performance: PerformanceId) -> Result<()> {
        let sale = self.sale(performance).await?;
        match self.seats.leave(&sale.keys, sale.row.epoch, session.account).await? {
            crate::redis::ShortAnswer::Rebuilding => rebuilding(),
            _ => Ok(()),
        }
    }
}
