//! What people do with endpoints: adding, looking, rotating secrets, sending again.
//!
//! Whoever acts was checked by [`Backend::member`] or runs commands on the machine; each change leaves a row in
//! the log of the organization.

use super::address::Reach;
use super::signature::{new_secret, shown};
use super::{EndpointId, EndpointStatus, NewEndpoint, WebhookAttempt, WebhookDelivery, WebhookEndpoint, WebhookEvent};
use crate::backend::Backend;
use crate::error::{Result, not_found, refuse};
use crate::organizer::Member;
use crate::postgres::{detached, members, webhooks as rows};
use domain::Code;
use serde_json::{Value, json};
use sqlx::{Postgres, Transaction};
use std::sync::Arc;

/// Most endpoints of one organization: each gets every event, and has workers wait for it.
const ENDPOINTS_MAX: i64 = 10;
/// How long the secret before the last rotation signs as well: a day to put the new one in place.
const OLD_SECRET_MS: i64 = 24 * 3_600_000;
/// Most rows of the log of deliveries at once.
const DELIVERIES_MAX: i64 = 1_000;

impl Backend {
    /// Adds an endpoint. Its secret is answered this once.
    ///
    /// # Errors
    /// `invalid_input` names the field; `limit_exceeded`.
    pub async fn add_webhook(
        self: &Arc<Self>,
        member: &Member,
        url: &str,
        events: &[WebhookEvent],
    ) -> Result<NewEndpoint> {
        let url = match self.webhooks_reach().check(url.trim()) {
            Ok(url) => url.to_string(),
            Err(what) => return refuse(Code::InvalidInput, format!("url: {what}")),
        };
        let mut wanted: Vec<WebhookEvent> = Vec::new();
        for event in events {
            if !wanted.contains(event) {
                wanted.push(*event);
            }
        }
        if wanted.is_empty() {
            return refuse(Code::InvalidInput, "events: at least one is expected");
        }
        let (this, member) = (Arc::clone(self), member.clone());
        detached(async move {
            let (id, secret, now) = (EndpointId(uuid::Uuid::now_v7()), new_secret(), this.now());
            let mut tx = this.pg.begin().await?;
            // Two who add at once come one after the other.
            if !members::lock(&mut *tx, member.organization).await? {
                return not_found("organization");
            }
            if rows::count(&mut *tx, member.organization).await? >= ENDPOINTS_MAX {
                return refuse(
                    Code::LimitExceeded,
                    format!("endpoints: an organization has at most {ENDPOINTS_MAX}; remove one first"),
                );
            }
            rows::insert_endpoint(&mut *tx, member.organization, id, (&url, &wanted), &secret, now).await?;
            let words: Vec<&str> = wanted.iter().map(|event| event.as_str()).collect();
            let detail = json!({ "url": url, "events": words });
            this.record_webhook(&mut tx, &member, "webhook.add", id, &detail).await?;
            tx.commit().await?;
            Ok(NewEndpoint { id, secret: shown(&secret) })
        })
        .await
    }

    /// The endpoints of the organization.
    ///
    /// # Errors
    /// Outages only.
    pub async fn webhooks_of(&self, member: &Member) -> Result<Vec<WebhookEndpoint>> {
        Ok(rows::endpoints(&self.pg, member.organization).await?)
    }

    /// Takes an endpoint out. What waits for it is given up; its deliveries are kept for a while.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn remove_webhook(self: &Arc<Self>, member: &Member, id: EndpointId) -> Result<()> {
        let (this, member) = (Arc::clone(self), member.clone());
        detached(async move {
            let mut tx = this.pg.begin().await?;
            let from = this.hold_endpoint(&mut tx, &member, id).await?;
            rows::set_status(&mut *tx, id, from, EndpointStatus::Removed, None).await?;
            this.end_waiting_for(&mut tx, id, this.now()).await?;
            this.record_webhook(&mut tx, &member, "webhook.remove", id, &json!({})).await?;
            tx.commit().await?;
            Ok(())
        })
        .await
    }

    /// Tells an endpoint of events again that was disabled. What it missed is sent by [`Backend::redeliver`].
    ///
    /// # Errors
    /// `not_found`; `wrong_state` when it is enabled.
    pub async fn enable_webhook(self: &Arc<Self>, member: &Member, id: EndpointId) -> Result<()> {
        let (this, member) = (Arc::clone(self), member.clone());
        detached(async move {
            let mut tx = this.pg.begin().await?;
            let from = this.hold_endpoint(&mut tx, &member, id).await?;
            if from == EndpointStatus::Enabled {
                return refuse(Code::WrongState, "endpoint: it is enabled already");
            }
            rows::set_status(&mut *tx, id, from, EndpointStatus::Enabled, None).await?;
            this.record_webhook(&mut tx, &member, "webhook.enable", id, &json!({})).await?;
            tx.commit().await?;
            Ok(())
        })
        .await
    }

    /// Gives an endpoint a new secret, which is answered this once. The one so far signs as well for a day.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn rotate_webhook(self: &Arc<Self>, member: &Member, id: EndpointId) -> Result<String> {
        let (this, member) = (Arc::clone(self), member.clone());
        detached(async move {
            let (secret, until) = (new_secret(), this.now().plus(OLD_SECRET_MS));
            let mut tx = this.pg.begin().await?;
            if !rows::rotate(&mut *tx, member.organization, id, &secret, until).await? {
                return not_found("endpoint");
            }
            this.record_webhook(&mut tx, &member, "webhook.rotate", id, &json!({ "old_until_ms": until })).await?;
            tx.commit().await?;
            Ok(shown(&secret))
        })
        .await
    }

    /// The newest deliveries of an endpoint.
    ///
    /// # Errors
    /// Outages only: of somebody else's endpoint there are none.
    pub async fn webhook_deliveries(&self, member: &Member, id: EndpointId, most: u32) -> Result<Vec<WebhookDelivery>> {
        let most = i64::from(most).min(DELIVERIES_MAX);
        Ok(rows::deliveries(&self.pg, member.organization, id, most).await?)
    }

    /// Every try of a delivery.
    ///
    /// # Errors
    /// Outages only: of somebody else's delivery there are none.
    pub async fn webhook_attempts(&self, member: &Member, delivery: i64) -> Result<Vec<WebhookAttempt>> {
        Ok(rows::attempts(&self.pg, member.organization, delivery).await?)
    }

    /// Sends again what has ended, under the same `webhook-id`: one delivery, or all that were given up. Answers
    /// how many.
    ///
    /// # Errors
    /// `not_found` where there is no such endpoint, or no such delivery that has ended; `wrong_state` when the
    /// endpoint is not enabled.
    pub async fn redeliver(self: &Arc<Self>, member: &Member, id: EndpointId, delivery: Option<i64>) -> Result<u64> {
        let (this, member) = (Arc::clone(self), member.clone());
        detached(async move {
            let mut tx = this.pg.begin().await?;
            if this.hold_endpoint(&mut tx, &member, id).await? != EndpointStatus::Enabled {
                return refuse(Code::WrongState, "endpoint: it is disabled; enable it first");
            }
            let count = rows::redeliver(&mut *tx, id, delivery, this.now()).await?;
            if count == 0 && delivery.is_some() {
                return not_found("delivery that has ended");
            }
            let detail = json!({ "delivery": delivery, "count": count });
            this.record_webhook(&mut tx, &member, "webhook.redeliver", id, &detail).await?;
            tx.commit().await?;
            Ok(count)
        })
        .await
    }

    fn webhooks_reach(&self) -> Reach {
        self.webhooks.reach()
    }

    /// The status of an endpoint that is there, which stays so until the transaction ends.
    async fn hold_endpoint(
        &self,
        tx: &mut Transaction<'static, Postgres>,
        member: &Member,
        id: EndpointId,
    ) -> Result<EndpointStatus> {
        match rows::hold_status(&mut **tx, member.organization, id).await? {
            Some(status) if status != EndpointStatus::Removed => Ok(status),
            _ => not_found("endpoint"),
        }
    }

    async fn record_webhook(
        &self,
        tx: &mut Transaction<'static, Postgres>,
        member: &Member,
        action: &str,
        id: EndpointId,
        detail: &Value,
    ) -> Result<()> {
        self.record(&mut **tx, member, action, &format!("webhook {id}"), detail).await
    }
}
