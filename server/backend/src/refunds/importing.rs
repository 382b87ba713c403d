//! Refunds that the provider made on its own: by hand on its pages, or told by its settlement.

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::payment::ProviderRefund;
use crate::postgres::attempts::{self, AttemptRow};
use crate::postgres::refunds::{self as rows, RefundRow};
use crate::postgres::{ledger, quarantine};
use crate::refunds::NewRefund;
use crate::refunds::asking::refundable;
use domain::order::AttemptStatus;
use domain::refund::import::{parts_of, seats_of};
use domain::refund::{Approval, Cause, RefundOrigin, RefundStatus};
use domain::{Millis, Money, RefundId};
use std::sync::Arc;

/// What people read beside such a refund; the program goes by its origin.
const NOTE: &str = "made at the provider";

impl Backend {
    /// Records a refund that the provider made on its own: posts it, and returns seats only where the amount
    /// leaves one reading. Idempotent by attempt and the provider's id; `false` when it was known, is one of
    /// ours, is of another payment, or came to nothing.
    ///
    /// # Errors
    /// Outages, and a payment whose capture is not known here yet: whoever calls, calls again.
    pub(crate) async fn import_refund(
        self: &Arc<Self>,
        attempt: &AttemptRow,
        provider_ref: &str,
        amount: Money,
        at: Millis,
    ) -> Result<bool> {
        if rows::by_reference(&self.pg, &attempt.provider, provider_ref).await?.is_some() {
            return Ok(false);
        }
        let told = self.provider_named(&attempt.provider)?.get_refund(provider_ref).await?;
        if self.set_aside_refund_told(&attempt.provider, &told).await? {
            return Ok(false);
        }
        self.import_told(attempt, &told, amount, at).await
    }

    /// [`Self::import_refund`] of a refund that was read, and is none of money that was set aside: that has no sale
    /// and is followed by itself.
    pub(crate) async fn import_told(
        self: &Arc<Self>,
        attempt: &AttemptRow,
        told: &ProviderRefund,
        amount: Money,
        at: Millis,
    ) -> Result<bool> {
        if !is_recorded(attempt) {
            // Its capture comes first, and with it the id of its payment; also of an attempt that had ended without.
            self.settle(attempt).await?;
        }
        let Some(attempt) = attempts::one(&self.pg, attempt.id).await? else { return Ok(false) };
        let attempt = &attempt;
        let amount = told.amount.unwrap_or(amount);
        let its_own = self.is_of_payment(attempt, told).await?;
        if its_own && let Some(own) = self.own_refund(attempt, told).await? {
            // Ours: the provider's word was quicker than our own note of its answer.
            self.refund_told(&own, told).await?;
            return Ok(false);
        }
        if !its_own || !is_recorded(attempt) {
            let payment = if its_own { attempt.provider_ref.as_deref() } else { told.payment.as_deref() };
            let noted = self.note_beside(attempt, payment, told, amount).await?;
            if noted || !its_own {
                tracing::warn!(attempt = %attempt.id, payment, refund = told.id, %amount, noted, "money that is no sale's was given back at the provider");
                return Ok(false);
            }
        }
        if told.succeeded == Some(false) {
            return Ok(false);
        }
        if amount.minor <= 0 || amount.currency != attempt.currency {
            return Err(Error::Broken(format!("refund {} of attempt {} comes to {amount}", told.id, attempt.id)));
        }
        self.fault("before-import");
        let imported = self.take_in(attempt, told, amount, at).await?;
        if imported {
            self.wake_refunds();
            metrics::counter!("stararena_refunds_imported_total").increment(1);
            tracing::warn!(attempt = %attempt.id, refund = told.id, %amount, "a refund was made at the provider and was taken in");
        }
        Ok(imported)
    }

    /// The refund of ours, of the same attempt, that the provider's object names by its key; none where it is
    /// nobody's, is known here as another object, which somebody made under its name, or ended here as failed: then
    /// money went that nobody counts on.
    async fn own_refund(&self, attempt: &AttemptRow, told: &ProviderRefund) -> Result<Option<RefundRow>> {
        let key = told.key.as_deref().and_then(|key| key.strip_prefix("refund:"));
        let Some(id) = key.and_then(|id| id.parse::<RefundId>().ok()) else { return Ok(None) };
        let is_it = |row: &RefundRow| row.provider_ref.as_deref().is_none_or(|known| known == told.id);
        let found = rows::one(&self.pg, id).await?.filter(|row| row.attempt == attempt.id && is_it(row));
        Ok(found.filter(|row| !matches!(row.status, RefundStatus::Failed | RefundStatus::Rejected)))
    }

    /// Whether a refund gives back money of the attempt's own payment, and not of another one that was made under
    /// its name. Where one of the two is not known, the name decides.
    async fn is_of_payment(&self, attempt: &AttemptRow, told: &ProviderRefund) -> Result<bool> {
        let (Some(named), Some(own)) = (told.payment.as_deref(), attempt.provider_ref.as_deref()) else {
            return Ok(true);
        };
        if named == own {
            return Ok(true);
        }
        // The attempt may be known by the page that its payment was made on.
        let payment = self.provider_named(&attempt.provider)?.get(own).await?;
        Ok(payment.paid_as.as_deref() == Some(named))
    }

    /// A refund of money that is no sale's is shown to people beside that money, where it was set aside. Nothing of
    /// it is booked, as the money is not. `false` where nothing of that payment was set aside.
    async fn note_beside(
        &self,
        attempt: &AttemptRow,
        payment: Option<&str>,
        told: &ProviderRefund,
        amount: Money,
    ) -> Result<bool> {
        let Some(payment) = payment else { return Ok(false) };
        let state = match told.succeeded {
            Some(true) => "succeeded",
            Some(false) => "failed",
            None => "pending",
        };
        let words = format!("{amount} {state}");
        Ok(quarantine::note_refund(&self.pg, &attempt.provider, payment, &told.id, &words).await?)
    }

    async fn take_in(
        self: &Arc<Self>,
        attempt: &AttemptRow,
        told: &ProviderRefund,
        amount: Money,
        at: Millis,
    ) -> Result<bool> {
        let mut tx = self.pg.begin().await?;
        let Some(attempt) = attempts::lock(&mut *tx, attempt.id).await? else { return Ok(false) };
        if rows::by_reference(&mut *tx, &attempt.provider, &told.id).await?.is_some() {
            return Ok(false);
        }
        if !is_recorded(&attempt) {
            return Err(Error::Broken(format!("the capture of attempt {} is not known yet", attempt.id)));
        }
        let (mut parts, mut seats) = (Vec::new(), Vec::new());
        if !ledger::is_late(&mut *tx, attempt.id).await?
            && let Some((order, sold)) = refundable(&mut tx, attempt.order).await?
            && sold.id == attempt.id
        {
            seats = seats_of(&order, amount.minor).unwrap_or_default();
            parts = parts_of(&order, &seats, amount.minor)
                .ok_or_else(|| Error::Broken(format!("the lines of order {} do not add up", attempt.order)))?;
        }
        let new = NewRefund {
            order: attempt.order,
            attempt: attempt.id,
            amount,
            cause: Cause::Goodwill,
            parts: &parts,
            seats: &seats,
            asked_by: None,
            approval: Approval::Automatic,
            note: NOTE,
            due: at,
        };
        // The money went whatever is left by our own count.
        let id = self.write_refund(&mut tx, &new, RefundOrigin::Provider).await?;
        let Some(row) = rows::one(&mut *tx, id).await? else { return Ok(false) };
        self.apply_refund(&mut tx, row, told).await?;
        tx.commit().await?;
        self.fault("imported");
        Ok(true)
    }
}

/// Whether the money of an attempt is in our books as taken.
fn is_recorded(attempt: &AttemptRow) -> bool {
    matches!(attempt.status, AttemptStatus::Captured | AttemptStatus::Refunded)
}
