//! What the page of settings tells: the payment provider, and the systems that are told of events. Changes are
//! made where their rules are (`pay/providers.rs`, `webhooks/endpoints.rs`).

use super::access::Member;
use crate::backend::Backend;
use crate::catalog::zoned;
use crate::error::{Result, not_found};
use crate::postgres::{members, webhook_pages, webhooks as rows};
use crate::webhooks::{EndpointId, EndpointStatus, WebhookAttempt, WebhookDelivery, WebhookEvent};
use domain::Millis;
use domain::account::Session;
use domain::organizer::Action;
use domain::organizer::settings::{
    DELIVERIES_SHOWN, DeliveryState, DeliveryView, EndpointPage, EndpointView, LastDelivery, OpenedDelivery,
    ProviderChoice, TryView, WebhookList,
};
use std::collections::HashMap;

/// The zone of times that belong to no venue.
const UTC: &str = "UTC";
/// How a delivery ended well, as it is stored.
const DELIVERED: &str = "delivered";

impl Backend {
    /// The provider through which the organization is paid, and those that are configured here.
    ///
    /// # Errors
    /// `not_found`, `forbidden`.
    pub async fn provider_choice(&self, session: &Session) -> Result<ProviderChoice> {
        let member = self.member(session, Action::EditSettings).await?;
        match members::provider(&self.pg, member.organization).await? {
            Some(current) => {
                let all = self.providers.all().into_iter().map(str::to_owned).collect();
                Ok(ProviderChoice { current, all })
            }
            None => not_found("organization"),
        }
    }

    /// The endpoints of the organization, and what one can be told of.
    ///
    /// # Errors
    /// `not_found`, `forbidden`.
    pub async fn webhook_list(&self, session: &Session) -> Result<WebhookList> {
        let member = self.member(session, Action::EditSettings).await?;
        let kinds = WebhookEvent::ALL.iter().map(|event| event.as_str().to_owned()).collect();
        Ok(WebhookList { endpoints: self.endpoint_views(&member).await?, kinds })
    }

    /// An endpoint with its newest deliveries; of the one that is asked for, everything.
    ///
    /// # Errors
    /// `not_found`, `forbidden`.
    pub async fn webhook_page(&self, session: &Session, id: EndpointId, delivery: Option<i64>) -> Result<EndpointPage> {
        let member = self.member(session, Action::EditSettings).await?;
        let Some(endpoint) = self.endpoint_views(&member).await?.into_iter().find(|endpoint| endpoint.id == id) else {
            return not_found("endpoint");
        };
        let rows = self.webhook_deliveries(&member, id, DELIVERIES_SHOWN).await?;
        let opened = match delivery.filter(|number| rows.iter().any(|row| row.id == *number)) {
            Some(number) => self.opened_delivery(&member, id, number).await?,
            None => None,
        };
        let deliveries = rows.into_iter().map(delivery_view).collect::<Result<_>>()?;
        Ok(EndpointPage { endpoint, deliveries, opened, secret: None })
    }

    async fn endpoint_views(&self, member: &Member) -> Result<Vec<EndpointView>> {
        let endpoints = rows::endpoints(&self.pg, member.organization).await?;
        let doing = webhook_pages::doing(&self.pg, member.organization).await?;
        let mut doing: HashMap<EndpointId, _> = doing.into_iter().map(|doing| (doing.endpoint, doing)).collect();
        endpoints
            .into_iter()
            .map(|row| {
                // One that was added between the two readings has nothing behind it yet.
                let (waiting, last) = match doing.remove(&row.id) {
                    Some(doing) => (doing.waiting, doing.last),
                    None => (0, None),
                };
                Ok(EndpointView {
                    id: row.id,
                    url: row.url,
                    kinds: row.events.iter().map(|event| event.as_str().to_owned()).collect(),
                    enabled: row.status == EndpointStatus::Enabled,
                    reason: row.reason,
                    failing_since: optional(row.failing_since)?,
                    created: zoned(row.created, UTC)?,
                    waiting: count(waiting),
                    last: match last {
                        Some((at, outcome)) => {
                            Some(LastDelivery { at: zoned(at, UTC)?, delivered: outcome == DELIVERED })
                        }
                        None => None,
                    },
                })
            })
            .collect()
    }

    async fn opened_delivery(&self, member: &Member, id: EndpointId, number: i64) -> Result<Option<OpenedDelivery>> {
        let Some(body) = webhook_pages::body(&self.pg, member.organization, id, number).await? else {
            return Ok(None);
        };
        let tries = self.webhook_attempts(member, number).await?;
        let tries = tries.into_iter().map(try_view).collect::<Result<_>>()?;
        Ok(Some(OpenedDelivery { id: number, body, tries }))
    }
}

fn delivery_view(row: WebhookDelivery) -> Result<DeliveryView> {
    let state = match row.outcome.as_deref() {
        None => DeliveryState::Waiting,
        Some(DELIVERED) => DeliveryState::Delivered,
        Some(_) => DeliveryState::GivenUp,
    };
    Ok(DeliveryView {
        id: row.id,
        message: row.message,
        kind: row.event,
        created: zoned(row.created, UTC)?,
        state,
        error: row.error,
        next_try: optional(row.next_try)?,
        tries: count(row.attempts),
    })
}

fn try_view(row: WebhookAttempt) -> Result<TryView> {
    Ok(TryView {
        at: zoned(row.at, UTC)?,
        status: row.status,
        duration_ms: u64::try_from(row.duration_ms).unwrap_or(0),
        answer: row.answer,
        error: row.error,
    })
}

fn optional(at: Option<Millis>) -> Result<Option<domain::ZonedTime>> {
    at.map(|at| zoned(at, UTC)).transpose()
}

/// A count as pages show it.
fn count(rows: i64) -> u32 {
    u32::try_from(rows).unwrap_or(u32::MAX)
}
