//! What is on: events, performances and prices as fans see them.

use crate::ids::{EventId, PerformanceId, SeatNo};
use crate::money::Money;
use crate::money::fees::FeeSchedule;
use crate::queue::{Mode, Phase};
use crate::time::{Millis, ZonedTime};
use serde::{Deserialize, Serialize};

/// A card on the home page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventCard {
    /// The event.
    pub id: EventId,
    /// Part of its address.
    pub slug: String,
    /// Title of the tour or evening.
    pub title: String,
    /// Who plays.
    pub artist: String,
    /// Name of the venue of the first performance.
    pub venue: String,
    /// City.
    pub city: String,
    /// Picture theme, a number that the interface turns into a cover.
    pub cover: u8,
    /// Digest of its own picture, shown in place of the theme.
    pub picture: Option<String>,
    /// First performance.
    pub starts: ZonedTime,
    /// Lowest price.
    pub from_price: Option<Money>,
    /// Where the sale of the first performance stands.
    pub phase: Phase,
    /// When that sale opens, at the venue.
    pub opens: ZonedTime,
    /// How its places become turns.
    #[serde(default)]
    pub mode: Mode,
    /// From when on places can be taken, at the venue; none: from publication on.
    pub registers: Option<ZonedTime>,
}

/// One evening on the event page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerformanceRow {
    /// The performance.
    pub id: PerformanceId,
    /// When it begins, at the venue.
    pub starts: ZonedTime,
    /// Name of the venue.
    pub venue: String,
    /// City.
    pub city: String,
    /// Where its sale stands.
    pub phase: Phase,
    /// When the sale opens, at the venue.
    pub opens: ZonedTime,
    /// How places become turns.
    #[serde(default)]
    pub mode: Mode,
    /// From when on places can be taken, at the venue; none: from publication on.
    pub registers: Option<ZonedTime>,
    /// Lowest price.
    pub from_price: Option<Money>,
    /// Seats in all.
    pub seats: u32,
    /// Seats available now.
    pub stock: u32,
}

/// The event page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventView {
    /// The event.
    pub id: EventId,
    /// Part of its address.
    pub slug: String,
    /// Title.
    pub title: String,
    /// Who plays.
    pub artist: String,
    /// What it is about, plain text with blank lines between paragraphs.
    pub description: String,
    /// Picture theme.
    pub cover: u8,
    /// Digest of its own picture.
    pub picture: Option<String>,
    /// Its evenings, by date.
    pub performances: Vec<PerformanceRow>,
}

/// A price zone of a performance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceZone {
    /// Index of the plan's category.
    pub category: u8,
    /// Its name.
    pub name: String,
    /// Price of a seat, or none: such seats are not for sale.
    pub price: Option<Money>,
}

/// A performance as the queue page and the seat map need it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerformanceView {
    /// The performance.
    pub id: PerformanceId,
    /// Address part of its event.
    pub slug: String,
    /// Title.
    pub title: String,
    /// Who plays.
    pub artist: String,
    /// Picture theme.
    pub cover: u8,
    /// Digest of its own picture.
    pub picture: Option<String>,
    /// Name of the venue.
    pub venue: String,
    /// City.
    pub city: String,
    /// When it begins, at the venue.
    pub starts: ZonedTime,
    /// When the sale opens, at the venue.
    pub opens: ZonedTime,
    /// How places become turns.
    #[serde(default)]
    pub mode: Mode,
    /// From when on places can be taken, at the venue; none: from publication on.
    pub registers: Option<ZonedTime>,
    /// When the sale ends.
    pub closes_at: Millis,
    /// The price zones, by category.
    pub zones: Vec<PriceZone>,
    /// Fees and tax that go with these prices; none where an order comes to its prices.
    #[serde(default)]
    pub fees: Option<FeeSchedule>,
    /// Most seats that one account may hold and buy.
    pub limit: u32,
    /// Length of a hold.
    pub hold_ttl_ms: i64,
    /// Name of the static map: `/maps/<digest>.bin` and `.json`.
    pub map_digest: String,
    /// Number of seats in the map.
    pub seat_count: u32,
}

/// One seat in the list alternative.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListSeat {
    /// The seat.
    pub seat: SeatNo,
    /// Its label.
    pub label: String,
    /// Index of its category.
    pub category: u8,
    /// Whether it can be held now.
    pub available: bool,
    /// A wheelchair place or a companion's.
    pub accessible: bool,
    /// Kept for who asks: not on general sale.
    #[serde(default)]
    pub kept: bool,
}

/// One row in the list alternative.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListRow {
    /// Its label.
    pub label: String,
    /// Its seats in plan order.
    pub seats: Vec<ListSeat>,
}

/// A standing area in the list alternative: its places are all alike and drawn by the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListArea {
    /// The area: the number of its row object in the plan.
    pub area: u32,
    /// Index of its section in the plan.
    pub section: u16,
    /// Its name, see [`area_name`].
    pub name: String,
    /// How many places can be held now.
    pub free: u32,
    /// Lowest price of its places.
    pub from_price: Option<Money>,
    /// Highest price of its places.
    pub to_price: Option<Money>,
}

/// What a standing area is called: its section, and its row where the plan gives that another name.
pub fn area_name(section: &str, row: &str) -> String {
    if row.is_empty() || row == section { section.to_owned() } else { format!("{section} {row}") }
}

/// One section in the list alternative.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListSection {
    /// Index of the section in the plan.
    pub index: u16,
    /// Its name.
    pub name: String,
    /// Seats available.
    pub available: u32,
    /// Lowest and highest price among them.
    pub from_price: Option<Money>,
    /// Highest price among them.
    pub to_price: Option<Money>,
}

/// The list alternative to the map: all sections and standing areas, and the rows of the chosen section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatList {
    /// All sections.
    pub sections: Vec<ListSection>,
    /// The chosen section's rows; empty when none is chosen.
    pub rows: Vec<ListRow>,
    /// All standing areas that have places for sale.
    pub areas: Vec<ListArea>,
    /// The chosen section.
    pub chosen: Option<u16>,
}
