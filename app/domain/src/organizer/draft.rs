//! A performance in the making: what is known so far, and what is still missing.
//!
//! Pure: times are instants here; turning the venue's local times into instants needs a time-zone
//! database and is done by the server.

use crate::ids::{PlanId, SeatNo};
use crate::money::Currency;
use crate::time::Millis;
use serde::{Deserialize, Serialize};

/// A performance in the making, stored as one document with a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draft {
    /// The venue's plan; zones and blocked seats are of this plan.
    pub plan: Option<PlanId>,
    /// When the performance begins.
    pub starts: Option<Millis>,
    /// When the on-sale opens.
    pub opens: Option<Millis>,
    /// When the sale ends (the off-sale).
    pub closes: Option<Millis>,
    /// Most seats that one account may hold and buy.
    pub seat_limit: u32,
    /// Length of a hold.
    pub hold_ttl_ms: i64,
    /// Most shoppers inside at once.
    pub shoppers_max: u32,
    /// Places of the queue released a minute.
    pub release_per_min: u32,
    /// Currency of all prices.
    pub currency: Option<Currency>,
    /// Price zones. The first ones are the plan's categories in their order; the others were added,
    /// and take the seats that they list away from their categories.
    pub zones: Vec<Zone>,
    /// Seats taken off sale.
    pub blocked: Vec<Blocked>,
}

/// A price zone in the making.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// Its name, as buyers see it.
    pub name: String,
    /// A CSS colour, or none for the palette's.
    pub color: Option<String>,
    /// Price of a seat in minor units, once it is decided.
    pub price_minor: Option<i64>,
    /// Seats that an added zone took; empty for a category of the plan. A seat is in one zone at most.
    pub seats: Vec<SeatNo>,
}

/// Seats off sale, for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blocked {
    /// Why, for colleagues.
    pub reason: String,
    /// The seats, in order, none twice.
    pub seats: Vec<SeatNo>,
}

impl Default for Draft {
    fn default() -> Self {
        Self {
            plan: None,
            starts: None,
            opens: None,
            closes: None,
            seat_limit: 6,
            hold_ttl_ms: 15 * 60_000,
            shoppers_max: 2_000,
            release_per_min: 1_200,
            currency: None,
            zones: Vec::new(),
            blocked: Vec::new(),
        }
    }
}
