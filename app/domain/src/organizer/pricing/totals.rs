//! What the zones come to: seats, blocked, standing, and money if every seat on sale is sold.

use super::{House, SeatSet, zone_by_seat};
use crate::ids::SeatNo;
use crate::money::{Currency, Money};
use crate::organizer::draft::{Draft, Zone};
use serde::{Deserialize, Serialize};

/// One zone with its counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneTotal {
    /// Its index.
    pub zone: u8,
    /// Its name.
    pub name: String,
    /// Its own colour, where it has one.
    pub color: Option<String>,
    /// Whether it was added to the plan's categories.
    pub added: bool,
    /// Seats in it, places to stand included.
    pub seats: u32,
    /// Those off sale.
    pub blocked: u32,
    /// Places to stand: the capacity of standing areas.
    pub standing: u32,
    /// Seats in open orders.
    pub held: u32,
    /// Seats sold.
    pub sold: u32,
    /// Price of a seat.
    pub price: Option<Money>,
}

impl ZoneTotal {
    /// Seats that are meant to be sold, or were.
    #[must_use]
    pub fn sellable(&self) -> u32 {
        self.seats.saturating_sub(self.blocked)
    }

    /// What all its sellable seats come to at this price: none without a price, or beyond the range.
    #[must_use]
    pub fn gross(&self) -> Option<Money> {
        let price = self.price?;
        Some(Money::new(price.minor.checked_mul(i64::from(self.sellable()))?, price.currency))
    }
}

/// All zones together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrandTotal {
    /// Seats.
    pub seats: u32,
    /// Those off sale.
    pub blocked: u32,
    /// Places to stand.
    pub standing: u32,
    /// Seats that are meant to be sold.
    pub sellable: u32,
    /// Sellable seats without a price.
    pub unpriced: u32,
    /// What the priced ones come to; none without a currency, or beyond the range.
    pub gross: Option<Money>,
}

/// What is special about seats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Off sale.
    pub blocked: SeatSet,
    /// Places to stand.
    pub standing: SeatSet,
    /// In open orders.
    pub held: SeatSet,
    /// Sold.
    pub sold: SeatSet,
}

/// Counts the seats of each zone. A seat that is held or sold does not count as blocked.
#[must_use]
pub fn zone_totals(
    zones: &[Zone],
    categories: usize,
    zone_of: &[u8],
    marks: &Marks,
    currency: Option<Currency>,
) -> Vec<ZoneTotal> {
    let mut totals: Vec<ZoneTotal> = (0_u8..)
        .zip(zones)
        .map(|(index, zone)| ZoneTotal {
            zone: index,
            name: zone.name.clone(),
            color: zone.color.clone(),
            added: usize::from(index) >= categories,
            seats: 0,
            blocked: 0,
            standing: 0,
            held: 0,
            sold: 0,
            price: zone.price_minor.zip(currency).map(|(minor, currency)| Money::new(minor, currency)),
        })
        .collect();
    for (seat, zone) in (0_u32..).map(SeatNo).zip(zone_of) {
        let Some(total) = totals.get_mut(usize::from(*zone)) else { continue };
        total.seats += 1;
        total.standing += u32::from(marks.standing.contains(seat));
        if marks.sold.contains(seat) {
            total.sold += 1;
        } else if marks.held.contains(seat) {
            total.held += 1;
        } else if marks.blocked.contains(seat) {
            total.blocked += 1;
        }
    }
    totals
}

/// The zones of a performance in the making.
#[must_use]
pub fn totals(draft: &Draft, house: &House) -> Vec<ZoneTotal> {
    let marks = Marks {
        blocked: draft.blocked.iter().flat_map(|group| group.seats.iter().copied()).collect(),
        standing: house.standing.clone(),
        ..Marks::default()
    };
    zone_totals(&draft.zones, house.categories.len(), &zone_by_seat(draft, house), &marks, draft.currency)
}

/// Adds zones up.
#[must_use]
pub fn grand_total(zones: &[ZoneTotal], currency: Option<Currency>) -> GrandTotal {
    let start = GrandTotal { gross: currency.map(|currency| Money::new(0, currency)), ..GrandTotal::default() };
    zones.iter().fold(start, |sum, zone| GrandTotal {
        seats: sum.seats + zone.seats,
        blocked: sum.blocked + zone.blocked,
        standing: sum.standing + zone.standing,
        sellable: sum.sellable + zone.sellable(),
        unpriced: sum.unpriced + if zone.price.is_none() { zone.sellable() } else { 0 },
        gross: match zone.price {
            Some(_) => sum.gross.zip(zone.gross()).and_then(|(sum, gross)| sum.checked_add(gross)),
            None => sum.gross,
        },
    })
}
