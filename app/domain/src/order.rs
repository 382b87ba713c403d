//! The order machine: one pure function decides every transition.
//!
//! ```text
//! pending_payment ─pay─▶ payment_processing ─captured─▶ paid ─issued─▶ fulfilled ─refunded─▶ refunded
//!        │                    │    │                     └─refunded before issue─▶ refunded
//!        │                    │    └─attempt failed─▶ pending_payment (another card)
//!        └─expire, cancel─▶ closed ◀─provider cancelled
//!                             └─captured late, seats reclaimed─▶ paid
//! ```
//!
//! The stores apply a transition with `… where id = $1 and status = $2 and version = $3` and check
//! that one row changed; every transition leaves an audit row.

use crate::ids::{AttemptId, OrderId, PerformanceId, SeatNo, TicketId};
use crate::money::Money;
use crate::money::summary::Summary;
use crate::refusal::{Code, Refusal};
use crate::ticket::change::Transfer;
use crate::time::{Millis, ZonedTime};
use serde::{Deserialize, Serialize};

/// Where an order stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderStatus {
    /// The seats are held; nothing has been paid.
    PendingPayment,
    /// A payment runs at the provider.
    PaymentProcessing,
    /// The money was captured; the tickets are being issued.
    Paid,
    /// Paid, and all tickets are there.
    Fulfilled,
    /// All money was given back.
    Refunded,
    /// Ended without money.
    Closed,
    /// The seats belonged to another order: never became open.
    Refused,
}

impl OrderStatus {
    /// Every status.
    pub const ALL: &[Self] = &[
        Self::PendingPayment,
        Self::PaymentProcessing,
        Self::Paid,
        Self::Fulfilled,
        Self::Refunded,
        Self::Closed,
        Self::Refused,
    ];

    /// The text form, as stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PendingPayment => "pending_payment",
            Self::PaymentProcessing => "payment_processing",
            Self::Paid => "paid",
            Self::Fulfilled => "fulfilled",
            Self::Refunded => "refunded",
            Self::Closed => "closed",
            Self::Refused => "refused",
        }
    }

    /// Reads the text form.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|status| status.as_str() == text)
    }

    /// Whether the order claims its seats: open or paid (invariants I1 and I4).
    pub fn owns_seats(self) -> bool {
        matches!(self, Self::PendingPayment | Self::PaymentProcessing | Self::Paid | Self::Fulfilled)
    }

    /// Whether nothing more happens by itself.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Fulfilled | Self::Refunded | Self::Closed | Self::Refused)
    }
}

/// What happens to an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderEvent {
    /// The fan presses Pay: an attempt starts.
    Pay,
    /// The provider says that the attempt failed for good; the hold still stands.
    AttemptFailed,
    /// The provider captured the money while the order owned its seats.
    Captured,
    /// The time of the hold ended.
    Expire,
    /// The fan or the staff gives the seats back.
    Cancel,
    /// The provider cancelled the last open attempt and the hold has ended.
    ProviderCancelled,
    /// Money arrived after the end and the seats could be claimed again.
    Reclaimed,
    /// Every ticket was issued.
    Issued,
    /// All captured money was given back.
    AllRefunded,
}

/// A step that the machine allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The state that is left: part of the condition of the update.
    pub from: OrderStatus,
    /// The state that is entered.
    pub to: OrderStatus,
    /// Whether the seats return to sale by this step.
    pub frees_seats: bool,
}

/// The facts of an order on which the machine decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderFacts {
    /// Where it stands.
    pub status: OrderStatus,
    /// When its hold ends.
    pub expires: Millis,
}

/// Decides one step.
///
/// Time alone decides nothing: `now` only refuses an expiry that has not been reached, and a payment
/// that starts after the end.
///
/// # Errors
/// `wrong_state` when the machine has no such step, `hold_closed` when Pay comes too late.
pub fn transition(order: OrderFacts, event: OrderEvent, now: Millis) -> Result<Transition, Refusal> {
    use OrderEvent as E;
    use OrderStatus as S;
    let step =
        |to| Ok(Transition { from: order.status, to, frees_seats: order.status.owns_seats() && !to.owns_seats() });
    match (order.status, event) {
        (S::PendingPayment, E::Pay) if now >= order.expires => {
            Err(Refusal::new(Code::HoldClosed, "the time for these seats has ended"))
        }
        (S::PendingPayment, E::Pay) => step(S::PaymentProcessing),
        (S::PaymentProcessing, E::AttemptFailed) => step(S::PendingPayment),
        (S::PaymentProcessing, E::Captured) => step(S::Paid),
        (S::PendingPayment, E::Expire) if now < order.expires => {
            Err(Refusal::new(Code::WrongState, "the order has not reached its end"))
        }
        (S::PendingPayment, E::Expire | E::Cancel) => step(S::Closed),
        (S::PaymentProcessing, E::ProviderCancelled) => step(S::Closed),
        (S::Closed, E::Reclaimed) => step(S::Paid),
        (S::Paid, E::Issued) => step(S::Fulfilled),
        (S::Paid | S::Fulfilled, E::AllRefunded) => step(S::Refunded),
        (status, event) => Err(Refusal::new(
            Code::WrongState,
            format!("an order that is {} does not take {}", status.as_str(), event_word(event)),
        )),
    }
}

fn event_word(event: OrderEvent) -> &'static str {
    match event {
        OrderEvent::Pay => "a payment",
        OrderEvent::AttemptFailed => "a failed attempt",
        OrderEvent::Captured => "a capture",
        OrderEvent::Expire => "an expiry",
        OrderEvent::Cancel => "a cancellation",
        OrderEvent::ProviderCancelled => "a cancelled payment",
        OrderEvent::Reclaimed => "reclaimed seats",
        OrderEvent::Issued => "issued tickets",
        OrderEvent::AllRefunded => "a full refund",
    }
}

/// Where one attempt to pay stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptStatus {
    /// Written here; the provider may not know it yet.
    Created,
    /// Open at the provider.
    Open,
    /// Authorised; capture is decided next.
    Authorized,
    /// Captured.
    Captured,
    /// Failed or cancelled, without money.
    Canceled,
    /// Captured and given back in full.
    Refunded,
}

impl AttemptStatus {
    /// Every status.
    pub const ALL: &[Self] =
        &[Self::Created, Self::Open, Self::Authorized, Self::Captured, Self::Canceled, Self::Refunded];

    /// The text form, as stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Open => "open",
            Self::Authorized => "authorized",
            Self::Captured => "captured",
            Self::Canceled => "canceled",
            Self::Refunded => "refunded",
        }
    }

    /// Reads the text form.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|status| status.as_str() == text)
    }

    /// Whether the provider may still move it.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Created | Self::Open | Self::Authorized)
    }
}

/// One seat of an order, as people read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderItem {
    /// The seat.
    pub seat: SeatNo,
    /// Section as named by the venue.
    pub section: String,
    /// Row as named by the venue.
    pub row: String,
    /// Seat as named by the venue.
    pub label: String,
    /// Price zone.
    pub category: String,
    /// Price, fixed when the order was made.
    pub price: Money,
    /// Whether it was given back: it is the order's no more.
    #[serde(default)]
    pub given_back: bool,
}

/// An issued ticket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TicketView {
    /// The ticket.
    pub id: TicketId,
    /// Its seat.
    pub seat: SeatNo,
    /// What the QR code says; empty for the buyer once the ticket is somebody else's.
    pub code: String,
    /// Whether the door refuses it while its payment is disputed.
    #[serde(default)]
    pub frozen: bool,
    /// The name on it.
    #[serde(default)]
    pub holder: Option<String>,
    /// To whom it is on its way, or went.
    #[serde(default)]
    pub transfer: Option<Transfer>,
}

/// An order as its owner sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderView {
    /// The order.
    pub id: OrderId,
    /// Where it stands.
    pub status: OrderStatus,
    /// The performance.
    pub performance: PerformanceId,
    /// Name of the event.
    pub event: String,
    /// Who plays.
    pub artist: String,
    /// Name of the venue.
    pub venue: String,
    /// Picture theme of the event, a number that the interface turns into a cover.
    pub cover: u8,
    /// When the doors' evening begins, at the venue.
    pub starts: ZonedTime,
    /// The server's clock when this was read.
    pub now: Millis,
    /// When the hold ends; of meaning while payment is pending.
    pub expires: Millis,
    /// The seats.
    pub items: Vec<OrderItem>,
    /// What the total is made of; none where it is the prices of the seats alone.
    #[serde(default)]
    pub charges: Option<Summary>,
    /// The sum.
    pub total: Money,
    /// Where to go on paying, while an attempt is open.
    pub pay_url: Option<String>,
    /// The last attempt, while it matters to the fan: why it failed.
    pub decline: Option<String>,
    /// Number of attempts so far.
    pub attempts: u32,
    /// The tickets, once issued.
    pub tickets: Vec<TicketView>,
}

/// A row in the list of one's orders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderRow {
    /// The order.
    pub id: OrderId,
    /// Where it stands.
    pub status: OrderStatus,
    /// Name of the event.
    pub event: String,
    /// Who plays.
    pub artist: String,
    /// Name of the venue.
    pub venue: String,
    /// Picture theme of the event.
    pub cover: u8,
    /// When it begins, at the venue.
    pub starts: ZonedTime,
    /// Number of seats.
    pub seats: u32,
    /// The sum.
    pub total: Money,
}

/// Where the browser goes after Pay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayStarted {
    /// The attempt.
    pub attempt: AttemptId,
    /// The provider's hosted page.
    pub redirect_url: String,
}

#[cfg(test)]
mod tests;
