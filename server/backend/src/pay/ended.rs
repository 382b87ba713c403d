//! What a provider says of an attempt that has ended here.
//!
//! A provider may say "cancelled" first and take the money afterwards. So an attempt that ended is never done with:
//! whoever is told of it, an event, the daily match or the schedule, which asks three times within an hour, reads the
//! payment again. What is still open there is ended there; reserved money is given up; money that was taken goes the
//! way of all late money (`settle.rs`). The attempt goes from canceled straight to captured: it is never open again,
//! so that it stands in no other payment's way.

use crate::backend::Backend;
use crate::error::{Error, Result, refuse};
use crate::payment::ProviderState;
use crate::postgres::attempts::{self, AttemptRow};
use crate::postgres::orders;
use domain::{Code, Millis};
use std::sync::Arc;

/// When an attempt is first asked about after its end.
const FIRST_MS: i64 = 60_000;
/// When a payment that was not over is looked at again.
const AGAIN_MS: i64 = 2_000;

/// When an attempt that ends now is asked about again.
pub(super) fn first_question(now: Millis) -> Millis {
    now.plus(FIRST_MS)
}

impl Backend {
    /// Ended attempts whose question is due.
    pub(crate) async fn due_ended(&self, most: i64) -> Result<Vec<AttemptRow>> {
        Ok(attempts::take_due_ended(&self.pg, self.now(), most).await?)
    }

    /// Asks about an ended attempt, and notes that it was answered. One that has brought its money meanwhile is
    /// asked about no more.
    ///
    /// # Errors
    /// Outages: the schedule calls again.
    pub(crate) async fn ask_about_ended(self: &Arc<Self>, attempt: &AttemptRow) -> Result<()> {
        self.settle_ended(attempt, None).await?;
        self.fault("ended-answered");
        Ok(attempts::asked_ended(&self.pg, attempt.id, self.now()).await?)
    }

    /// Reads the payment of an attempt that ended without money, and acts on it. Idempotent, in any order. `told` is
    /// the provider's id of the payment where the attempt does not have it. An attempt without any was told to nobody:
    /// nobody can pay there.
    ///
    /// # Errors
    /// Outages; `unavailable` while nothing can be said about the seats. The schedule calls again.
    pub(crate) async fn settle_ended(self: &Arc<Self>, attempt: &AttemptRow, told: Option<&str>) -> Result<()> {
        let Some(id) = attempt.provider_ref.as_deref().or(told) else { return Ok(()) };
        let provider = self.provider_named(&attempt.provider)?;
        self.fault("before-ended-read");
        let payment = provider.get(id).await?;
        self.fault("after-ended-read");
        if payment.state == ProviderState::Canceled {
            return Ok(());
        }
        let Some(order) = orders::one(&self.pg, attempt.order).await? else {
            return Err(Error::Broken(format!("attempt {} has no order", attempt.id)));
        };
        let taken = payment.state == ProviderState::Captured;
        if let Some(reason) = self.mismatch(attempt, &payment)? {
            self.note_misfit(attempt, &payment, reason).await?;
            return if taken { Ok(()) } else { self.cancel_there(&order, attempt, &payment).await };
        }
        let now = self.now();
        if !attempts::note_late(&self.pg, attempt.id, &payment.id, taken, (now, now.plus(AGAIN_MS))).await? {
            // Somebody else has settled it, or its money was set aside and goes back from there.
            return Ok(());
        }
        self.fault("late-noted");
        if !taken {
            return self.cancel_there(&order, attempt, &payment).await;
        }
        // Its hold must not stay with a payment that is over when the money goes back.
        if !self.take_back(attempt).await? {
            return refuse(Code::Unavailable, "late money waits: the seats are being rebuilt");
        }
        tracing::info!(attempt = %attempt.id, order = %order.id, "money was taken after its attempt had ended");
        self.captured(attempt).await
    }
}
