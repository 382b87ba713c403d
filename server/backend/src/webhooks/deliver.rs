//! One try of a delivery that a worker has in hand, and all that follows from it.

use super::sender::Tried;
use super::{EndpointId, EndpointStatus, KEPT_MS, schedule};
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::mail;
use crate::postgres::members;
use crate::postgres::outbox::{self, Claimed, Outcome};
use crate::postgres::webhooks::{self as rows, DeliveryRow};
use domain::Millis;
use sqlx::{Postgres, Transaction};

/// Why what waited for an endpoint that is not told any more was given up.
const NOT_TOLD: &str = "the endpoint is not told of events any more";
/// Rows that are forgotten in one statement.
const FORGET_MAX: i64 = 1_000;

impl Backend {
    /// Sends a webhook and notes what came back. The claim ends with it, or is left to run out.
    ///
    /// # Errors
    /// Outages: the webhook is tried again.
    pub(crate) async fn deliver_webhook(&self, claimed: &Claimed) -> Result<()> {
        let Some(delivery) = rows::delivery(&self.pg, claimed.id).await? else {
            return Err(Error::Broken(format!("the webhook {} has no endpoint or no event", claimed.id)));
        };
        if delivery.status != EndpointStatus::Enabled {
            // Its change was under way while the endpoint was disabled.
            outbox::finish(&self.pg, claimed, Outcome::GivenUp, Some(NOT_TOLD), self.now()).await?;
            return Ok(());
        }
        let tried = self.webhooks.send(&delivery, self.now()).await;
        self.fault("after-webhook");
        self.note_attempt(claimed, &delivery, &tried).await
    }

    /// Writes the try down, and in the same transaction what becomes of the delivery and of the endpoint.
    async fn note_attempt(&self, claimed: &Claimed, delivery: &DeliveryRow, tried: &Tried) -> Result<()> {
        let (now, attempt) = (self.now(), &tried.attempt);
        let succeeded = attempt.status.is_some_and(|status| (200..300).contains(&status));
        let mut tx = self.pg.begin().await?;
        // The endpoint comes first: whoever disables it takes its lock and then those of what waits.
        let since = if succeeded {
            rows::set_working(&mut *tx, delivery.endpoint).await?;
            None
        } else {
            Some(rows::set_failing(&mut *tx, delivery.endpoint, now).await?)
        };
        rows::insert_attempt(&mut *tx, claimed.id, attempt).await?;
        let outcome = if succeeded {
            outbox::finish(&mut *tx, claimed, Outcome::Delivered, None, now).await?;
            "delivered"
        } else {
            let why = match (&attempt.error, attempt.status) {
                (Some(error), _) => error.clone(),
                (None, status) => format!("it answered {}", status.unwrap_or_default()),
            };
            match schedule::pause_ms(claimed.tries.saturating_add(1), tried.retry_after_s, claimed.id) {
                Some(pause) => {
                    outbox::retry(&mut *tx, claimed, &why, now.plus(pause)).await?;
                    "retried"
                }
                None => {
                    outbox::finish(&mut *tx, claimed, Outcome::GivenUp, Some(&why), now).await?;
                    "given_up"
                }
            }
        };
        let ends = since.and_then(|since| schedule::ends(attempt.status, since, now));
        let disabled = match ends {
            Some(reason) => self.disable_endpoint(&mut tx, delivery, reason, now).await?,
            None => false,
        };
        tx.commit().await?;
        metrics::counter!("stararena_webhook_deliveries_total", "outcome" => outcome).increment(1);
        if disabled {
            metrics::counter!("stararena_webhook_endpoints_disabled_total").increment(1);
            tracing::warn!(endpoint = %delivery.endpoint, reason = ends, "an endpoint was disabled; its owners are told");
            self.wake.outbox.notify_one();
        }
        Ok(())
    }

    /// Stops telling an endpoint, gives up what waits for it, and tells the owners by mail. `false` when somebody
    /// else did.
    async fn disable_endpoint(
        &self,
        tx: &mut Transaction<'_, Postgres>,
        delivery: &DeliveryRow,
        reason: &str,
        now: Millis,
    ) -> Result<bool> {
        let (id, from, to) = (delivery.endpoint, EndpointStatus::Enabled, EndpointStatus::Disabled);
        if !rows::set_status(&mut **tx, id, from, to, Some(reason)).await? {
            return Ok(false);
        }
        self.end_waiting_for(tx, id, now).await?;
        let name = members::organization_name(&mut **tx, delivery.organization).await?.unwrap_or_default();
        for owner in rows::owners(&mut **tx, delivery.organization).await? {
            let mail = mail::webhook_disabled(&owner.email, &name, &delivery.url, reason, &owner.lang);
            let dedupe = format!("webhook-disabled:{id}:{}:{}", now.0, owner.account);
            mail::enqueue(&mut **tx, &dedupe, &mail, now).await?;
        }
        Ok(true)
    }

    /// Gives up what waits for an endpoint whose row is locked by this transaction.
    pub(super) async fn end_waiting_for(
        &self,
        tx: &mut Transaction<'_, Postgres>,
        id: EndpointId,
        now: Millis,
    ) -> Result<()> {
        rows::end_waiting(&mut **tx, id, NOT_TOLD, now).await?;
        Ok(())
    }

    /// Forgets what is kept no longer; whether there may be more.
    pub(crate) async fn forget_webhooks(&self) -> Result<bool> {
        let before = self.now().plus(-KEPT_MS);
        let deliveries = rows::forget_deliveries(&self.pg, before, FORGET_MAX).await?;
        let events = rows::forget_events(&self.pg, before, FORGET_MAX).await?;
        Ok(deliveries.max(events) >= FORGET_MAX.unsigned_abs())
    }
}
