//! A performance in the making: what is known so far, and what is still missing.
//!
//! Pure: times are instants here; turning the venue's local times into instants needs a time-zone
//! database and is done by the server.

mod checks;

pub use checks::{Check, Detail, Item, State, missing};

use crate::ids::{PlanId, SeatNo};
use crate::money::Currency;
use crate::queue::Mode;
use crate::time::Millis;
use crate::venue::import::{House, HouseBlock};
use serde::{Deserialize, Serialize};

/// Longest hold, in milliseconds: a day.
pub const HOLD_TTL_MAX_MS: i64 = 86_400_000;
/// Shortest hold, in milliseconds: below a second nobody reaches the checkout.
pub const HOLD_TTL_MIN_MS: i64 = 1_000;
/// Highest price of a seat in minor units: twenty of them still add up far below the range of sums.
pub const PRICE_MAX_MINOR: i64 = crate::money::AMOUNT_MAX_MINOR;
/// Most shoppers inside, and most places released a minute: beyond any house.
pub const FLOW_MAX: u32 = 1_000_000;
/// Shortest window of a lottery, in milliseconds: below a second nobody enters in time.
pub const WINDOW_MIN_MS: i64 = 1_000;
/// Longest window of a lottery, in milliseconds: a week.
pub const WINDOW_MAX_MS: i64 = 7 * 86_400_000;
/// Length of a lottery's window unless another one is chosen, in milliseconds: half an hour.
pub const WINDOW_MS: i64 = 30 * 60_000;

/// Why a seat is off sale, where the venue's file gives no reason of its own.
const BLOCKED_BY_FILE: &str = "Off sale in the venue's file";

/// What a draft must know of its plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanFacts {
    /// Names of the categories, by index.
    pub categories: Vec<String>,
    /// The category of each seat, by its number.
    pub seat_categories: Vec<u8>,
    /// What the plan's file says about selling.
    pub house: House,
}

/// A performance in the making, stored as one document with a version. A document of an older program
/// lacks what was added since, one of a newer program may have more: both are read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Draft {
    /// The venue's plan; zones and blocked seats are of this plan.
    pub plan: Option<PlanId>,
    /// When the performance begins.
    pub starts: Option<Millis>,
    /// When the on-sale opens.
    pub opens: Option<Millis>,
    /// How places become turns.
    pub mode: Mode,
    /// From when on places can be taken; none: from publication on.
    pub registers: Option<Millis>,
    /// Accounts that were made after this instant get no place; none: all may.
    pub account_cutoff: Option<Millis>,
    /// Length of a lottery's window.
    pub window_ms: i64,
    /// When the sale ends (the off-sale).
    pub closes: Option<Millis>,
    /// Most seats that one account may hold and buy.
    pub seat_limit: u32,
    /// Length of a hold.
    pub hold_ttl_ms: i64,
    /// Whether a choice that leaves one seat alone is refused.
    pub single_seat_rule: bool,
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
            mode: Mode::default(),
            registers: None,
            account_cutoff: None,
            window_ms: WINDOW_MS,
            closes: None,
            seat_limit: 6,
            hold_ttl_ms: 15 * 60_000,
            single_seat_rule: false,
            shoppers_max: 2_000,
            release_per_min: 1_200,
            currency: None,
            zones: Vec::new(),
            blocked: Vec::new(),
        }
    }
}

impl Draft {
    /// The zone of each seat: its category, unless an added zone took it. Seats outside of the plan
    /// are left out.
    #[must_use]
    pub fn seat_zones(&self, plan: &PlanFacts) -> Vec<u8> {
        let mut zones = plan.seat_categories.clone();
        for (index, zone) in self.zones.iter().enumerate() {
            for seat in &zone.seats {
                if let (Some(slot), Ok(index)) = (zones.get_mut(seat.0 as usize), u8::try_from(index)) {
                    *slot = index;
                }
            }
        }
        zones
    }

    /// The zone of one seat; none when the plan has no such seat.
    #[must_use]
    pub fn zone_of(&self, seat: SeatNo, plan: &PlanFacts) -> Option<u8> {
        let category = *plan.seat_categories.get(seat.0 as usize)?;
        let added = self.zones.iter().rposition(|zone| zone.seats.contains(&seat));
        Some(added.and_then(|index| u8::try_from(index).ok()).unwrap_or(category))
    }

    /// Whether each seat is off sale, by its number.
    #[must_use]
    pub fn seats_blocked(&self, plan: &PlanFacts) -> Vec<bool> {
        let mut blocked = vec![false; plan.seat_categories.len()];
        for seat in self.blocked.iter().flat_map(|group| &group.seats) {
            if let Some(slot) = blocked.get_mut(seat.0 as usize) {
                *slot = true;
            }
        }
        blocked
    }

    /// Seats of each zone that are for sale, by the zone's index.
    #[must_use]
    pub fn sellable(&self, plan: &PlanFacts) -> Vec<u32> {
        let mut counts = vec![0; self.zones.len()];
        for (zone, blocked) in self.seat_zones(plan).into_iter().zip(self.seats_blocked(plan)) {
            if let Some(count) = counts.get_mut(usize::from(zone)).filter(|_| !blocked) {
                *count += 1;
            }
        }
        counts
    }

    /// Whether buyers see other zones than the plan's categories: added, renamed or recoloured ones.
    #[must_use]
    pub fn has_own_zones(&self, plan: &PlanFacts) -> bool {
        self.zones.len() != plan.categories.len()
            || self
                .zones
                .iter()
                .zip(&plan.categories)
                .any(|(zone, category)| zone.name != *category || zone.color.is_some() || !zone.seats.is_empty())
    }

    /// Whether choosing another plan would drop work: added zones, or blocked seats. `categories` is
    /// how many the present plan has.
    #[must_use]
    pub fn loses_with_plan(&self, categories: usize) -> bool {
        self.zones.len() > categories
            || self.zones.iter().any(|zone| !zone.seats.is_empty())
            || !self.blocked.is_empty()
    }

    /// Takes another plan: its categories become the zones and keep the prices of equal names; added
    /// zones and blocked seats belonged to the old plan and go. What the plan's file says about
    /// selling is where the new ones begin: seats off sale, prices, and the currency if none is chosen.
    pub fn choose_plan(&mut self, plan: PlanId, facts: &PlanFacts) {
        let old = std::mem::take(&mut self.zones);
        self.zones = facts
            .categories
            .iter()
            .map(|name| Zone {
                name: name.clone(),
                color: None,
                price_minor: old.iter().find(|zone| zone.name == *name).and_then(|zone| zone.price_minor),
                seats: Vec::new(),
            })
            .collect();
        self.blocked = facts.house.blocks.iter().map(blocked_by_file).collect();
        for hint in &facts.house.prices {
            let currency = *self.currency.get_or_insert(hint.price.currency);
            if let Some(zone) = self.zones.get_mut(hint.category)
                && zone.price_minor.is_none()
                && hint.price.currency == currency
                && hint.price.minor > 0
            {
                zone.price_minor = Some(hint.price.minor);
            }
        }
        self.plan = Some(plan);
    }
}

/// Seats that the venue's own file takes off sale.
fn blocked_by_file(block: &HouseBlock) -> Blocked {
    let reason = if block.reason.is_empty() { BLOCKED_BY_FILE } else { &block.reason };
    let mut seats: Vec<SeatNo> = block.seats.iter().copied().map(SeatNo).collect();
    seats.sort_unstable();
    Blocked { reason: reason.to_owned(), seats }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::Money;
    use crate::venue::import::PriceHint;
    use uuid::Uuid;

    fn facts() -> PlanFacts {
        PlanFacts {
            categories: vec!["Floor".into(), "Tier".into()],
            seat_categories: vec![0, 0, 1, 1, 1],
            house: House::default(),
        }
    }

    fn draft() -> Draft {
        let mut draft = Draft::default();
        draft.choose_plan(PlanId(Uuid::nil()), &facts());
        draft
    }

    #[test]
    fn a_document_of_an_older_program_is_read_as_a_queue_that_is_open_from_publication_on() {
        let old = r#"{"plan":null,"starts":5,"opens":3,"closes":5,"seat_limit":4}"#;
        let draft: Draft = serde_json::from_str(old).unwrap();
        assert_eq!((draft.mode, draft.registers, draft.account_cutoff), (Mode::Queue, None, None));
        assert_eq!((draft.window_ms, draft.seat_limit), (WINDOW_MS, 4));
    }

    #[test]
    fn a_seat_is_in_its_category_until_an_added_zone_takes_it() {
        let (plan, mut draft) = (facts(), draft());
        assert!(!draft.has_own_zones(&plan));
        draft.zones.push(Zone {
            name: "Front".into(),
            color: None,
            price_minor: None,
            seats: vec![SeatNo(1), SeatNo(9)],
        });
        assert_eq!(draft.seat_zones(&plan), [0, 2, 1, 1, 1]);
        for (seat, zone) in [(0, Some(0)), (1, Some(2)), (4, Some(1)), (5, None), (9, None)] {
            assert_eq!(draft.zone_of(SeatNo(seat), &plan), zone, "seat {seat}");
        }
        draft.blocked.push(Blocked { reason: "camera".into(), seats: vec![SeatNo(2), SeatNo(7)] });
        assert_eq!(draft.sellable(&plan), [1, 2, 1]);
        assert!(draft.has_own_zones(&plan) && draft.loses_with_plan(2));
    }

    #[test]
    fn a_zone_that_buyers_see_otherwise_is_the_performances_own() {
        let (plan, mut draft) = (facts(), draft());
        draft.zones[0].price_minor = Some(1);
        assert!(!draft.has_own_zones(&plan), "a price is no other zone");
        draft.zones[0].name = "Parquet".into();
        assert!(draft.has_own_zones(&plan) && !draft.loses_with_plan(2));
    }

    #[test]
    fn another_plan_keeps_the_prices_of_equal_names_and_begins_with_what_its_file_says() {
        let mut draft = draft();
        draft.zones[1].price_minor = Some(4_500);
        draft.zones.push(Zone { name: "Front".into(), color: None, price_minor: Some(9), seats: vec![SeatNo(1)] });
        draft.blocked.push(Blocked { reason: "camera".into(), seats: vec![SeatNo(2)] });
        let next = PlanId(Uuid::from_u128(7));
        let house = House {
            blocks: vec![
                HouseBlock { seats: vec![4, 2], reason: "pillar".into() },
                HouseBlock { seats: vec![0], reason: String::new() },
            ],
            prices: vec![
                PriceHint { category: 0, price: Money::new(100, "EUR".parse().unwrap()) },
                PriceHint { category: 1, price: Money::new(900, "EUR".parse().unwrap()) },
            ],
        };
        let other = PlanFacts {
            categories: vec!["Tier".into(), "Balcony".into()],
            seat_categories: vec![0, 0, 1, 1, 1],
            house,
        };
        draft.choose_plan(next, &other);
        assert_eq!(draft.plan, Some(next));
        let prices: Vec<_> = draft.zones.iter().map(|zone| (zone.name.as_str(), zone.price_minor)).collect();
        assert_eq!(prices, [("Tier", Some(4_500)), ("Balcony", Some(900))], "what was decided wins over the file");
        let blocked: Vec<_> = draft.blocked.iter().map(|b| (b.reason.as_str(), b.seats.as_slice())).collect();
        assert_eq!(blocked, [("pillar", &[SeatNo(2), SeatNo(4)][..]), (BLOCKED_BY_FILE, &[SeatNo(0)])]);
        assert_eq!(draft.currency.map(|c| c.to_string()).as_deref(), Some("EUR"));
    }
}
