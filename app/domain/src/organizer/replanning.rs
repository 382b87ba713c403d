//! Another version of the plan for a performance that is on sale: what it would change, and what it may not.

use crate::ids::{EventId, PerformanceId, PlanId};
use crate::time::ZonedTime;
use serde::{Deserialize, Serialize};

/// Most lines in which a report tells where seats are; a line is one row's.
pub const PLACES_MAX: usize = 40;
/// Most seats of other words that a report names one by one.
pub const RENAMED_MAX: usize = 40;

/// A plan that could take the place of the present one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanChoice {
    /// The plan.
    pub id: PlanId,
    /// When it was added, at the venue.
    pub made: ZonedTime,
    /// Number of seats.
    pub seats: u32,
    /// Whether it is the one in use.
    pub current: bool,
}

/// A published performance with the plans of its venue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplanningView {
    /// The performance.
    pub performance: PerformanceId,
    /// Its event.
    pub event: EventId,
    /// Title of the event.
    pub title: String,
    /// Venue and city.
    pub venue: String,
    /// City.
    pub city: String,
    /// Seats now.
    pub seats: u32,
    /// Plans of the venue, the newest first.
    pub choices: Vec<PlanChoice>,
}

/// Some seats: how many, and where, one row a line, up to [`PLACES_MAX`] lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatPlaces {
    /// How many.
    pub count: u32,
    /// Where.
    pub places: Vec<String>,
}

/// A sold seat that would read differently on the ticket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Renamed {
    /// Section, row and seat so far.
    pub before: String,
    /// Section, row and seat from then on.
    pub after: String,
}

/// Why seats can't be taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Taken {
    /// They are sold.
    Sold,
    /// They are in open orders.
    Held,
    /// They are kept in an allocation.
    Allocated,
}

/// What another plan would change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanChange {
    /// The plan in use that this was compared with: a change names it again, so that nobody confirms
    /// what they did not see.
    pub from: PlanId,
    /// The plan that would take its place.
    pub to: PlanId,
    /// Seats now.
    pub seats_before: u32,
    /// Seats then.
    pub seats_after: u32,
    /// Seats of both.
    pub kept: u32,
    /// Seats that are new.
    pub added: SeatPlaces,
    /// Seats that were taken away before, and come back.
    pub back: SeatPlaces,
    /// Seats that are taken away.
    pub gone: SeatPlaces,
    /// Kept seats that are drawn elsewhere.
    pub moved: u32,
    /// Kept seats that read differently.
    pub renamed: u32,
    /// The sold ones of these, whose buyers are told by mail, up to [`RENAMED_MAX`].
    pub renamed_sold: Vec<Renamed>,
    /// Kept seats in another category of the new plan: they keep their price zone.
    pub recategorized: u32,
    /// Seats that may not be taken away. The change is refused while there are any.
    pub lost: Vec<(Taken, SeatPlaces)>,
}

impl PlanChange {
    /// Whether nothing stands against it.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.lost.is_empty()
    }
}
