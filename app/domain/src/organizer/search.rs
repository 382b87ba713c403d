//! Finding orders, and one order told in full.

mod story;
mod wanted;

pub use story::{
    Moment, OrderStory, SetAside, StoryAttempt, StoryHead, StoryMail, StoryRefund, StoryStep, StoryTicket,
    StoryWebhook, What,
};
pub use wanted::{Cursor, EMAIL_PREFIX_MIN_CHARS, ID_PREFIX_MIN_DIGITS, TEXT_MAX_BYTES, Wanted};

use crate::ids::{OrderId, PerformanceId};
use crate::money::Money;
use crate::order::OrderStatus;
use crate::time::ZonedTime;
use serde::{Deserialize, Serialize};

/// An order in the list of what was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundOrder {
    /// The order.
    pub id: OrderId,
    /// Address of its account.
    pub email: String,
    /// The performance.
    pub performance: PerformanceId,
    /// Who plays.
    pub artist: String,
    /// Name of the event.
    pub event: String,
    /// When the performance begins, at the venue.
    pub starts: ZonedTime,
    /// How many seats.
    pub seats: u32,
    /// The sum.
    pub total: Money,
    /// Where it stands.
    pub status: OrderStatus,
    /// When it was made, at the venue.
    pub created: ZonedTime,
}

/// A performance to choose from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerformanceChoice {
    /// The performance.
    pub id: PerformanceId,
    /// Who plays.
    pub artist: String,
    /// Name of the event.
    pub event: String,
    /// When it begins, at the venue.
    pub starts: ZonedTime,
}

/// A page of what was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Orders, newest first.
    pub orders: Vec<FoundOrder>,
    /// Where the next page begins, when there is one.
    pub next: Option<Cursor>,
    /// Whether the text has the form of anything that is searched for.
    pub understood: bool,
    /// The organization's performances, for the filter.
    pub performances: Vec<PerformanceChoice>,
}
