//! Prices of a performance by zone and by selection, seats off sale, and what it all comes to.
//!
//! Owns the operations on a performance in the making, their totals, and the effect of a price change
//! once it is on sale. Where prices and zones are stored, and who may change them, is the server's.
//!
//! **Invariant: each seat is in exactly one zone.** A zone that was added takes its seats away from
//! wherever they were; without it they are in the category that the plan gives them.

mod edit;
mod effect;
mod seats;
#[cfg(test)]
mod tests;
mod totals;
mod typed;

pub use edit::{BLOCK_GROUPS_MAX, Edit, NAME_MAX_CHARS, check_name, zone_by_seat};
pub use effect::{Effect, ZoneEffect, effect};
pub use seats::{NotSeats, SeatSet};
pub use totals::{GrandTotal, Marks, ZoneTotal, grand_total, totals, zone_totals};
pub use typed::{TYPED_LINES_MAX, tell_seats, typed_price, typed_prices, typed_seats};

use crate::ids::{EventId, PerformanceId};
use crate::money::Currency;
use serde::{Deserialize, Serialize};

/// What prices need to know of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct House {
    /// Names of its categories, by index.
    pub categories: Vec<String>,
    /// The category of each seat, by number.
    pub seats: Vec<u8>,
    /// Places to stand.
    pub standing: SeatSet,
}

/// Seats off sale for one reason, as pages show them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockedGroup {
    /// Why.
    pub reason: String,
    /// Which.
    pub seats: SeatSet,
    /// Where they are, as one would type them.
    pub places: Vec<String>,
}

/// Prices, zones and blocked seats of one performance, published or in the making.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PricingView {
    /// The performance.
    pub performance: PerformanceId,
    /// Its event.
    pub event: EventId,
    /// Title of the event.
    pub title: String,
    /// Whether it is published: then zones stay, and prices change as a whole.
    pub published: bool,
    /// Version of the draft, or of the prices once it is published.
    pub version: i32,
    /// Currency of all prices, once it is decided.
    pub currency: Option<Currency>,
    /// Name of the plan's map; none while no plan is chosen.
    pub map_digest: Option<String>,
    /// The zones by index: the plan's categories, then those that were added.
    pub zones: Vec<ZoneTotal>,
    /// The seats of each added zone.
    pub moved: Vec<(u8, SeatSet)>,
    /// Seats off sale.
    pub blocked: Vec<BlockedGroup>,
}

/// What to do with chosen seats, as the form of the page says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeatStep {
    /// Makes a zone of them.
    Add,
    /// Moves them to a zone that was added, or to their categories.
    Move,
    /// Takes them off sale.
    Block,
    /// Puts them back on sale.
    Unblock,
}

/// Chosen seats with what is to be done, as people filled it in. Fields that the step does not need
/// are not looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatsForm {
    /// What to do.
    pub step: SeatStep,
    /// Seats that were picked on the map, in the form of [`SeatSet`].
    #[serde(default)]
    pub picked: String,
    /// Seats that were typed, as [`typed_seats`] reads them.
    #[serde(default)]
    pub typed: String,
    /// Name of the new zone.
    #[serde(default)]
    pub name: String,
    /// Price of the new zone, as people write it; empty when it is not decided.
    #[serde(default)]
    pub price: String,
    /// Index of the zone to move to; empty for the seats' own categories.
    #[serde(default)]
    pub zone: String,
    /// Why the seats are off sale.
    #[serde(default)]
    pub reason: String,
}
