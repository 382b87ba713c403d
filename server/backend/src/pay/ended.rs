//! What a provider says of an attempt that has ended here.
//!
//! A provider may say "cancelled" first and take the money afterwards. So an attempt that ended is never done with:
//! whoever is told of it, an event, the daily match or the schedule, which asks three times within an hour, reads the
//! payment again. What is still open there is ended there; reserved money is given up; money that was taken goes the
//! way of all late money (`settle.rs`). The attempt goes from canceled straight to captured: it is never open again,
//! so that it stands in no other payment's way.

use crate::backend::Backend;
use crate::error::{Error, Result, refuse};
use crate::payment::{ProviderPayment, ProviderState};
use crate::postgres::attempts::{self, AttemptRow};
use crate::postgres::orders::{self, OrderRow};
use domain::{Code, Millis};
use std::sync::Arc;

/// When an attempt is first asked about after its end.
const FIRST_MS: i64 = 60_000;
/// When a payment that was not over is looked at again; it doubles with each question where no money was taken.
const AGAIN_MS: i64 = 2_000;
/// Doublings of that at most: a minute.
const DOUBLINGS_MAX: i32 = 5;
/// How long found money of an order that is not over waits for Redis to let the hold run on. Then it goes back all the
/// same, and a job tells Redis later: after an outage fans are not to wait for it.
const WITHOUT_SEATS_MS: i64 = 120_000;

/// When an attempt that ends now is asked about again.
pub(super) fn first_question(now: Millis) -> Millis {
    now.plus(FIRST_MS)
}

impl Backend {
    /// Ended attempts whose question is due.
    pub(crate) async fn due_ended(&self, most: i64) -> Result<Vec<AttemptRow>> {
        Ok(attempts::take_due_ended(&self.pg, self.now(), most).await?)
    }

    /// Asks about an ended attempt, and notes that it was answered, where its payment is over. One that has brought its
    /// money meanwhile is asked about no more.
    ///
    /// # Errors
    /// Outages: the schedule calls again.
    pub(crate) async fn ask_about_ended(self: &Arc<Self>, attempt: &AttemptRow) -> Result<()> {
        if !self.settle_ended(attempt, None).await? {
            // Still open there, or reserved: that is no answer.
            return Ok(());
        }
        self.fault("ended-answered");
        Ok(attempts::asked_ended(&self.pg, attempt.id, self.now()).await?)
    }

    /// Reads the payment of an attempt that ended without money, and acts on it. Idempotent, in any order. `told` is
    /// the provider's id of the payment where the attempt does not have it. An attempt without any was told to nobody:
    /// nobody can pay there. Whether the payment is over.
    ///
    /// # Errors
    /// Outages; `unavailable` while nothing can be said about the seats. The schedule calls again.
    pub(crate) async fn settle_ended(self: &Arc<Self>, attempt: &AttemptRow, told: Option<&str>) -> Result<bool> {
        let Some(id) = attempt.provider_ref.as_deref().or(told) else { return Ok(true) };
        let provider = self.provider_named(&attempt.provider)?;
        self.fault("before-ended-read");
        let payment = provider.get(id).await?;
        self.fault("after-ended-read");
        if payment.state == ProviderState::Canceled {
            return Ok(true);
        }
        let Some(order) = orders::one(&self.pg, attempt.order).await? else {
            return Err(Error::Broken(format!("attempt {} has no order", attempt.id)));
        };
        let taken = payment.state == ProviderState::Captured;
        if let Some(reason) = self.mismatch(attempt, &payment)? {
            self.note_misfit(attempt, &payment, reason).await?;
            return if taken { Ok(true) } else { self.end_there(&order, attempt, &payment).await };
        }
        let now = self.now();
        let wait_ms = if taken { AGAIN_MS } else { AGAIN_MS << attempt.queries.clamp(0, DOUBLINGS_MAX) };
        let noted = attempts::note_late(&self.pg, attempt.id, &payment.id, taken, (now, now.plus(wait_ms))).await?;
        // None: somebody else has settled it, or its money was set aside and goes back from there.
        let Some(since) = noted else { return Ok(true) };
        self.fault("late-noted");
        if !taken {
            return self.end_there(&order, attempt, &payment).await;
        }
        // Its hold must not stay with a payment that is over when the money goes back.
        match self.take_back(attempt).await {
            Ok(true) => {}
            Ok(false) | Err(_) if since.until(now) >= WITHOUT_SEATS_MS => {
                tracing::warn!(attempt = %attempt.id, "late money goes on, though Redis can't be told that its attempt is over");
            }
            Ok(false) => return refuse(Code::Unavailable, "late money waits: the seats are being rebuilt"),
            Err(error) => return Err(error),
        }
        tracing::info!(attempt = %attempt.id, order = %order.id, "money was taken after its attempt had ended");
        self.captured(attempt).await?;
        Ok(true)
    }

    /// Ends at the provider what was not captured there; whether it is over then.
    async fn end_there(
        self: &Arc<Self>,
        order: &OrderRow,
        attempt: &AttemptRow,
        payment: &ProviderPayment,
    ) -> Result<bool> {
        self.cancel_there(order, attempt, payment).await?;
        let state = self.provider_named(&attempt.provider)?.get(&payment.id).await?.state;
        Ok(matches!(state, ProviderState::Canceled | ProviderState::Captured))
    }
}
