//! One request to an endpoint, and what came back.

use super::address::{CheckedResolver, Reach};
use super::{WebhookAttempt, message_id, signature};
use crate::config::DeliverySettings;
use crate::error::{Error, Result, chain};
use crate::postgres::webhooks::DeliveryRow;
use domain::Millis;
use reqwest::header::RETRY_AFTER;
use std::time::{Duration, Instant};

/// How much of an answer is kept, in bytes.
const ANSWER_MAX_BYTES: usize = 1_024;
/// Connections that are kept open to one endpoint between two events.
const IDLE_MAX: usize = 1;
/// How long they are kept: a name that leads elsewhere meanwhile is noticed soon.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// Sends webhooks.
pub(crate) struct WebhookSender {
    http: reqwest::Client,
    reach: Reach,
}

/// A try, and what its answer asks for.
pub(super) struct Tried {
    pub(super) attempt: WebhookAttempt,
    /// Seconds until the next try, where the answer named them.
    pub(super) retry_after_s: Option<i64>,
}

impl WebhookSender {
    /// A client with bounds on time and on where it goes.
    ///
    /// # Errors
    /// When TLS can't be set up.
    pub(crate) fn new(settings: &DeliverySettings) -> Result<Self> {
        crate::beacon::use_tls();
        let reach = Reach { loopback: settings.webhook_loopback };
        let http = reqwest::Client::builder()
            .timeout(Duration::from_millis(settings.webhook_timeout_ms.unsigned_abs()))
            .redirect(reqwest::redirect::Policy::none())
            // A proxy would make the connection for us, to wherever the name leads it.
            .no_proxy()
            .dns_resolver(CheckedResolver(reach))
            .https_only(!settings.webhook_loopback)
            .pool_max_idle_per_host(IDLE_MAX)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .user_agent("StarArena-Webhooks/1")
            .build()
            .map_err(|e| Error::Broken(format!("the HTTP client of webhooks could not be built: {e}")))?;
        Ok(Self { http, reach })
    }

    /// How far requests may go.
    pub(super) fn reach(&self) -> Reach {
        self.reach
    }

    /// Sends what a delivery says, once.
    pub(super) async fn send(&self, delivery: &DeliveryRow, now: Millis) -> Tried {
        let started = Instant::now();
        let mut tried = Tried {
            attempt: WebhookAttempt { at: now, status: None, duration_ms: 0, answer: String::new(), error: None },
            retry_after_s: None,
        };
        if let Err(what) = self.request(delivery, now, &mut tried).await {
            tried.attempt.error = Some(what);
        }
        tried.attempt.duration_ms = i64::try_from(started.elapsed().as_millis()).unwrap_or(i64::MAX);
        tried
    }

    async fn request(&self, delivery: &DeliveryRow, now: Millis, tried: &mut Tried) -> std::result::Result<(), String> {
        // The rule may have become stricter since the endpoint was added.
        let url = self.reach.check(&delivery.url)?;
        let (id, unix_s) = (message_id(delivery.event), now.0.div_euclid(1_000));
        let mut secrets = vec![delivery.secret.as_slice()];
        if let Some(old) = delivery.old_secret.as_deref().filter(|_| delivery.old_until.is_some_and(|end| now < end)) {
            secrets.push(old);
        }
        let request = self
            .http
            .post(url)
            .header("content-type", "application/json")
            .header("webhook-id", &id)
            .header("webhook-timestamp", unix_s.to_string())
            .header("webhook-signature", signature::sign(&secrets, &id, unix_s, &delivery.body))
            .body(delivery.body.clone());
        let mut response = request.send().await.map_err(|e| chain(&e.without_url()))?;
        tried.attempt.status = Some(response.status().as_u16());
        tried.retry_after_s =
            response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let mut answer = Vec::new();
        // The status has been said: a body that breaks off takes nothing of it back.
        while answer.len() < ANSWER_MAX_BYTES
            && let Ok(Some(chunk)) = response.chunk().await
        {
            answer.extend_from_slice(&chunk);
        }
        answer.truncate(ANSWER_MAX_BYTES);
        tried.attempt.answer = String::from_utf8_lossy(&answer).into_owned();
        Ok(())
    }
}
