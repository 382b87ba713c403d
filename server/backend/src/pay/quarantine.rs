//! Money that was set aside goes back by itself.
//!
//! What fits no attempt waits for people, and after a while is returned to its payer: nobody's money stays here
//! because nobody looked. The payment is read again first: what fits by now is booked as any other, and where no
//! money was taken there is none to return. From the row's claim on, which is committed before the provider is
//! called, nobody can settle it another way; its name at the provider makes the refund be made once.
//!
//! A refund that succeeded may fail later, of which the provider's event is the only sign at once: then the money
//! waits again, with the reason, and goes back by another refund unless people settle it.

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::payment::{PaymentProvider, ProviderPayment, ProviderRefund, ProviderState};
use crate::postgres::attempts::{self, AttemptRow};
use crate::postgres::quarantine::{self, DueRow, Return};
use crate::postgres::{ledger, orders};
use domain::ledger::{Event, Origin};
use domain::order::AttemptStatus;
use domain::organizer::disputes::SetAsideState;
use domain::{Millis, Money, RefundId};
use sqlx::PgConnection;
use std::sync::Arc;
use uuid::Uuid;

/// How long a worker has a row in hand before others take it for dead: longer than a call takes that makes a refund
/// (`refunds/calling.rs`), so that no two calls under one key are under way.
const LEASE_MS: i64 = 25_000;
/// When what did not end is looked at again; it doubles with each try, up to the lease.
const LOOK_AGAIN_MS: i64 = 1_000;
/// Doublings of that at most.
const LOOK_DOUBLINGS_MAX: i32 = 4;
/// How long after a refund that failed, or was refused, the next one follows; it doubles with each.
const AGAIN_MS: i64 = 2_000;
/// Doublings at most: from two seconds to about half an hour. People are alarmed meanwhile.
const DOUBLINGS_MAX: i32 = 10;
/// What is said where the books could not be told, since nobody knows whose money it was.
const NOT_BOOKED: &str = "not booked: it belongs to no attempt of ours";
/// What is said where the provider gives no reason.
const NO_REASON: &str = "the provider says that the refund failed";
/// What is said of money that had gone.
const CAME_BACK: &str = "the refund went out and came back";

impl Backend {
    /// Money that was set aside and waits no more for people.
    pub(crate) async fn due_set_aside(&self, most: i64) -> Result<Vec<DueRow>> {
        let now = self.now();
        let (since, lease) = (now.plus(-self.config.quarantine_refund_ms), now.plus(LEASE_MS));
        Ok(quarantine::take_due(&self.pg, now, (since, lease), most).await?)
    }

    /// Takes money that was set aside one step further: begins to return it, or follows its refund. Idempotent.
    ///
    /// # Errors
    /// Outages: the schedule calls again.
    pub(crate) async fn settle_set_aside(self: &Arc<Self>, row: &DueRow) -> Result<()> {
        let outcome = match &row.returning {
            Some(begun) => self.follow_return(row, begun).await,
            None => self.begin_return(row).await,
        };
        if let Err(error) = &outcome {
            let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
            quarantine::note_error(&self.pg, row.id, &format!("{error}{cause}")).await?;
        }
        let wait_ms = LOOK_AGAIN_MS << row.tries.clamp(0, LOOK_DOUBLINGS_MAX);
        quarantine::let_go(&self.pg, row, self.now().plus(wait_ms)).await?;
        outcome
    }

    async fn begin_return(self: &Arc<Self>, row: &DueRow) -> Result<()> {
        let provider = self.provider_named(&row.provider)?;
        let attempt = match row.attempt {
            Some(id) => attempts::one(&self.pg, id).await?,
            None => None,
        };
        // An attempt whose amounts agree by now is booked here.
        if let Some(attempt) = &attempt {
            self.settle(attempt).await?;
        }
        let payment = provider.get(&row.payment).await?;
        match payment.state {
            ProviderState::Captured if payment.amount_minor > 0 => {}
            ProviderState::Canceled | ProviderState::Captured => return self.end(row, SetAsideState::Nothing).await,
            // Nothing was taken yet: the schedule of its attempt ends it.
            ProviderState::Open | ProviderState::Authorized => return Ok(()),
        }
        let attempt = match attempt {
            Some(attempt) => match self.given_up(&attempt, &payment, provider.merchant()).await? {
                GivenUp::Yes => Some(attempt),
                GivenUp::NotYet => return Ok(()),
                GivenUp::Booked => return self.end(row, SetAsideState::Booked).await,
            },
            None => None,
        };
        let amount = Money::new(payment.amount_minor, payment.currency);
        let begun = Return { refund: RefundId(Uuid::now_v7()), amount, reference: None };
        let (now, mut tx) = (self.now(), self.pg.begin().await?);
        if !quarantine::begin(&mut *tx, row.id, (begun.refund, amount), now, now.plus(LEASE_MS)).await? {
            // People settled it meanwhile, or another worker is at it.
            return Ok(());
        }
        if let Some(attempt) = &attempt {
            self.book_late(&mut tx, attempt, &begun).await?;
        }
        tx.commit().await?;
        self.fault("before-quarantine-refund");
        self.follow_return(row, &begun).await
    }

    /// Ends an attempt whose payment is captured and does not fit it, so that its order may be paid by another one.
    async fn given_up(
        self: &Arc<Self>,
        attempt: &AttemptRow,
        payment: &ProviderPayment,
        merchant: &str,
    ) -> Result<GivenUp> {
        let fits = payment.amount_minor == attempt.amount_minor
            && payment.currency == attempt.currency
            && payment.merchant == merchant
            && payment.reference == attempt.id.to_string();
        if !fits {
            let Some(order) = orders::one(&self.pg, attempt.order).await? else {
                return Err(Error::Broken(format!("attempt {} has no order", attempt.id)));
            };
            self.attempt_canceled(&order, attempt).await?;
        }
        Ok(match attempts::one(&self.pg, attempt.id).await?.map(|attempt| attempt.status) {
            Some(AttemptStatus::Canceled) => GivenUp::Yes,
            Some(AttemptStatus::Captured | AttemptStatus::Refunded) => GivenUp::Booked,
            // What fits is booked by its schedule.
            Some(AttemptStatus::Created | AttemptStatus::Open | AttemptStatus::Authorized) | None => GivenUp::NotYet,
        })
    }

    /// Books what came without a right to seats, and that it goes back. After a refund that failed the first is
    /// booked already.
    async fn book_late(&self, db: &mut PgConnection, attempt: &AttemptRow, begun: &Return) -> Result<()> {
        let (order, now, amount) = (attempt.order, self.now(), begun.amount);
        let late = Event::LateMoney { attempt: attempt.id, order, amount };
        ledger::post(&mut *db, &late, now).await?;
        let (refund, origin) = (begun.refund, Origin::Late(amount.minor));
        let reserved = Event::RefundReserved { refund, order, currency: amount.currency, origin };
        ledger::post(&mut *db, &reserved, now).await?;
        Ok(())
    }

    async fn follow_return(self: &Arc<Self>, row: &DueRow, begun: &Return) -> Result<()> {
        let provider = self.provider_named(&row.provider)?;
        let refund = match &begun.reference {
            Some(id) => provider.get_refund(id).await?,
            None => match self.refund_set_aside(provider, row, begun.amount).await {
                Ok(refund) => refund,
                Err(Error::Provider(error)) if error.is_final() => {
                    return self.return_failed(row, begun, &error.to_string()).await;
                }
                Err(error) => return Err(error),
            },
        };
        self.return_told(row, begun, &refund).await
    }

    /// Applies what the provider says of a refund, whatever was known of it. Idempotent, and in any order.
    async fn return_told(&self, row: &DueRow, begun: &Return, told: &ProviderRefund) -> Result<()> {
        quarantine::submitted(&self.pg, row.id, begun.refund, &told.id).await?;
        match told.succeeded {
            None => Ok(()),
            Some(true) => self.return_succeeded(row, begun).await,
            Some(false) => self.return_failed(row, begun, told.failure.as_deref().unwrap_or(NO_REASON)).await,
        }
    }

    /// Applies what the provider says of a refund of money that was set aside; `false` where it is none of those.
    /// It may have ended here as done, or not be noted yet.
    ///
    /// # Errors
    /// Outages.
    pub(crate) async fn set_aside_refund_told(&self, provider: &str, told: &ProviderRefund) -> Result<bool> {
        let named = told.key.as_deref();
        let found = quarantine::of_refund(&self.pg, provider, &told.id, named.and_then(number_in)).await?;
        let current = found.as_ref().and_then(|row| Some((row, row.returning.as_ref()?)));
        match current {
            // One that is not noted yet carries the key that is in use; another key is that of a refund before it.
            Some((row, begun)) if begun.reference.is_some() || named == Some(reference(row).as_str()) => {
                self.return_told(row, begun, told).await?;
                Ok(true)
            }
            // One that has failed stays so.
            _ => Ok(quarantine::has_failed(&self.pg, provider, &told.id).await?),
        }
    }

    /// Asks the provider for the refund, under a name that is the same until it failed.
    async fn refund_set_aside(
        &self,
        provider: &dyn PaymentProvider,
        row: &DueRow,
        amount: Money,
    ) -> Result<ProviderRefund> {
        let refund = self.refund_there(provider, &row.payment, amount, &reference(row)).await?;
        self.fault("after-quarantine-refund");
        Ok(refund)
    }

    async fn return_succeeded(&self, row: &DueRow, begun: &Return) -> Result<()> {
        let (now, attempt) = (self.now(), self.attempt_of(row).await?);
        let note = if attempt.is_some() { "" } else { NOT_BOOKED };
        let mut tx = self.pg.begin().await?;
        let ended = (SetAsideState::Returned, note);
        if !quarantine::end(&mut *tx, row.id, Some(begun.refund), ended, now).await? {
            return Ok(());
        }
        if let Some(attempt) = attempt {
            let event = Event::RefundSucceeded { refund: begun.refund, order: attempt.order, amount: begun.amount };
            ledger::post(&mut tx, &event, now).await?;
        }
        self.fault("before-quarantine-returned");
        tx.commit().await?;
        self.fault("quarantine-returned");
        metrics::counter!("stararena_quarantine_returned_total").increment(1);
        tracing::info!(quarantine = row.id, payment = row.payment, "money that was set aside went back");
        Ok(())
    }

    /// The money is with us: what was reserved is free, or what went is back. Another refund follows, under another
    /// key, unless people settle it before.
    async fn return_failed(&self, row: &DueRow, begun: &Return, why: &str) -> Result<()> {
        let (now, attempt) = (self.now(), self.attempt_of(row).await?);
        let next = again(now, row.failures);
        let mut tx = self.pg.begin().await?;
        quarantine::keep_failed(&mut *tx, row.id, begun.refund, now).await?;
        let had_gone = !quarantine::failed(&mut *tx, row.id, begun.refund, why, next).await?;
        if had_gone
            && !quarantine::came_back(&mut *tx, row.id, begun.refund, &format!("{CAME_BACK}: {why}"), next).await?
        {
            // It was told before.
            return Ok(());
        }
        if let Some(attempt) = attempt {
            let (refund, order, currency) = (begun.refund, attempt.order, begun.amount.currency);
            let origin = Origin::Late(begun.amount.minor);
            let event = if had_gone {
                Event::RefundReturned { refund, order, currency, origin }
            } else {
                Event::RefundFailed { refund, order, currency, origin }
            };
            ledger::post(&mut tx, &event, now).await?;
        }
        self.fault("before-quarantine-failed");
        tx.commit().await?;
        self.fault("quarantine-failed");
        tracing::error!(
            quarantine = row.id,
            payment = row.payment,
            had_gone,
            why,
            "money that was set aside is still with us"
        );
        Ok(())
    }

    async fn attempt_of(&self, row: &DueRow) -> Result<Option<AttemptRow>> {
        match row.attempt {
            Some(id) => Ok(attempts::one(&self.pg, id).await?),
            None => Ok(None),
        }
    }

    /// Ends what needs no refund.
    async fn end(&self, row: &DueRow, state: SetAsideState) -> Result<()> {
        quarantine::end(&self.pg, row.id, None, (state, ""), self.now()).await?;
        Ok(())
    }
}

/// Whether an attempt is over, so that its money may go back.
enum GivenUp {
    Yes,
    /// Its order moves at this moment, or it fits by now and is about to be booked.
    NotYet,
    /// Its money was booked: it fits.
    Booked,
}

/// What we call a refund at the provider: the same until it failed.
fn reference(row: &DueRow) -> String {
    match row.failures {
        0 => format!("quarantine:{}", row.id),
        failures => format!("quarantine:{}:{failures}", row.id),
    }
}

/// The row that a [`key`] names.
fn number_in(key: &str) -> Option<i64> {
    key.strip_prefix("quarantine:")?.split(':').next()?.parse().ok()
}

/// When the next refund follows, after so many that failed before this one.
fn again(now: Millis, failures: i32) -> Millis {
    now.plus(AGAIN_MS << failures.clamp(0, DOUBLINGS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(failures: i32) -> DueRow {
        DueRow {
            id: 7,
            provider: "sandbox".to_owned(),
            payment: "pay_1".to_owned(),
            attempt: None,
            returning: None,
            failures,
            tries: 1,
        }
    }

    #[test]
    fn a_name_is_used_until_its_refund_failed() {
        assert_eq!((reference(&row(0)), reference(&row(1))), ("quarantine:7".to_owned(), "quarantine:7:1".to_owned()));
        assert_eq!((number_in(&reference(&row(0))), number_in(&reference(&row(1)))), (Some(7), Some(7)));
        assert_eq!((number_in("refund:7"), number_in("quarantine:x")), (None, None));
    }

    #[test]
    fn the_next_refund_waits_longer_each_time_up_to_a_bound() {
        assert_eq!(again(Millis(0), 0), Millis(2_000));
        assert_eq!(again(Millis(0), 3), Millis(16_000));
        assert_eq!(again(Millis(0), i32::MAX), again(Millis(0), DOUBLINGS_MAX));
    }
}
