//! Webhooks to organizers' own systems, in the form of the Standard Webhooks specification, version 1.0.0.
//!
//! An event is written with the change that it tells of (`postgres/webhooks.rs`), one row of the outbox for each
//! endpoint that wants to know. A worker sends them (`work/outbox.rs`, [`deliver`]), to public addresses only
//! ([`address`]), signed ([`signature`]), again and again for three days ([`schedule`]). What people do with
//! endpoints is in [`endpoints`].

mod address;
mod deliver;
mod endpoints;
mod schedule;
mod sender;
mod signature;

pub(crate) use sender::WebhookSender;

pub use domain::EndpointId;
use domain::Millis;
use uuid::Uuid;

/// How long events and their deliveries are kept once they are over.
pub(crate) const KEPT_MS: i64 = 30 * 24 * 3_600_000;

/// What an organization can be told of. The text form is public and never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WebhookEvent {
    /// An order's money arrived while it owned its seats, or could have them again.
    OrderPaid,
    /// An order ended without money; its seats went back.
    OrderClosed,
    /// All of an order's money went back.
    OrderRefunded,
    /// An order's tickets were issued.
    TicketIssued,
    /// The provider has given money back.
    RefundSucceeded,
}

impl WebhookEvent {
    /// Every event.
    pub const ALL: &[Self] =
        &[Self::OrderPaid, Self::OrderClosed, Self::OrderRefunded, Self::TicketIssued, Self::RefundSucceeded];

    /// The text form, as sent and stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OrderPaid => "order.paid",
            Self::OrderClosed => "order.closed",
            Self::OrderRefunded => "order.refunded",
            Self::TicketIssued => "ticket.issued",
            Self::RefundSucceeded => "refund.succeeded",
        }
    }

    /// Reads the text form.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|event| event.as_str() == text)
    }

    /// What is told when an order comes into a status.
    pub(crate) fn of_order(status: domain::order::OrderStatus) -> Option<Self> {
        use domain::order::OrderStatus;
        match status {
            OrderStatus::Paid => Some(Self::OrderPaid),
            OrderStatus::Closed => Some(Self::OrderClosed),
            OrderStatus::Refunded => Some(Self::OrderRefunded),
            _ => None,
        }
    }
}

/// Whether an endpoint is told of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointStatus {
    /// It is.
    Enabled,
    /// It failed for too long, or said that it is gone.
    Disabled,
    /// It was taken out; its deliveries are kept for a while.
    Removed,
}

impl EndpointStatus {
    /// The text form, as stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enabled => "enabled",
            Self::Disabled => "disabled",
            Self::Removed => "removed",
        }
    }

    /// Reads the text form.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Enabled, Self::Disabled, Self::Removed].into_iter().find(|status| status.as_str() == text)
    }
}

/// An endpoint as its owners see it. Its secret is shown once, when it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookEndpoint {
    /// Its id.
    pub id: EndpointId,
    /// Where it is.
    pub url: String,
    /// What it wants to know.
    pub events: Vec<WebhookEvent>,
    /// Whether it is told.
    pub status: EndpointStatus,
    /// Why it is not.
    pub reason: Option<String>,
    /// Since when it fails; none while it works.
    pub failing_since: Option<Millis>,
    /// When it was added.
    pub created: Millis,
}

/// An endpoint that was just made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEndpoint {
    /// Its id.
    pub id: EndpointId,
    /// The key of its signatures, `whsec_` and base64: shown this once.
    pub secret: String,
}

/// One event on its way to one endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookDelivery {
    /// Its number.
    pub id: i64,
    /// The `webhook-id`, the same in every try.
    pub message: String,
    /// The event, in its text form.
    pub event: String,
    /// When it happened.
    pub created: Millis,
    /// When the delivery ended; none while it is tried.
    pub done: Option<Millis>,
    /// How it ended: `delivered` or `given_up`.
    pub outcome: Option<String>,
    /// Why the last try failed.
    pub error: Option<String>,
    /// When it is tried next.
    pub next_try: Option<Millis>,
    /// How often it was tried.
    pub attempts: i64,
}

/// One try of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookAttempt {
    /// When it began.
    pub at: Millis,
    /// HTTP status; none where no answer came.
    pub status: Option<u16>,
    /// How long it took.
    pub duration_ms: i64,
    /// The first KiB of the answer.
    pub answer: String,
    /// What went wrong on the way.
    pub error: Option<String>,
}

/// The `webhook-id` of an event: without a full stop, which separates the parts of what is signed.
pub(crate) fn message_id(event: Uuid) -> String {
    format!("evt_{}", event.simple())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_as_it_is_written() {
        for event in WebhookEvent::ALL {
            assert_eq!(WebhookEvent::parse(event.as_str()), Some(*event));
        }
        for status in [EndpointStatus::Enabled, EndpointStatus::Disabled, EndpointStatus::Removed] {
            assert_eq!(EndpointStatus::parse(status.as_str()), Some(status));
        }
        assert_eq!(WebhookEvent::parse("order.PAID"), None);
        assert!(!message_id(Uuid::nil()).contains('.'));
    }
}
