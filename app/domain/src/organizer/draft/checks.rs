//! What is still missing before a performance can be published.

use super::{
    Draft, FLOW_MAX, HOLD_TTL_MAX_MS, HOLD_TTL_MIN_MS, PRICE_MAX_MINOR, PlanFacts, WINDOW_MAX_MS, WINDOW_MIN_MS,
};
use crate::hold::SEATS_PER_HOLD_MAX;
use crate::money::Currency;
use crate::queue::Mode;
use crate::time::Millis;
use crate::venue::plan::MAX_CATEGORIES;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A point of the checklist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Item {
    /// The venue's plan is chosen.
    Plan,
    /// When the performance begins.
    Starts,
    /// When the on-sale opens.
    Opens,
    /// When the sale ends.
    Closes,
    /// From when on places can be taken.
    Registers,
    /// By when accounts must have been made.
    AccountCutoff,
    /// Length of a lottery's window.
    Window,
    /// The currency of all prices.
    Currency,
    /// Zones and blocked seats fit the plan.
    Zones,
    /// Every seat for sale has a price.
    Prices,
    /// Most seats for one account.
    SeatLimit,
    /// Length of a hold.
    HoldTime,
    /// Most shoppers inside.
    Shoppers,
    /// Places released a minute.
    Release,
}

impl Item {
    /// The stable word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Starts => "starts",
            Self::Opens => "opens",
            Self::Closes => "closes",
            Self::Registers => "registers",
            Self::AccountCutoff => "account_cutoff",
            Self::Window => "window",
            Self::Currency => "currency",
            Self::Zones => "zones",
            Self::Prices => "prices",
            Self::SeatLimit => "seat_limit",
            Self::HoldTime => "hold_time",
            Self::Shoppers => "shoppers",
            Self::Release => "release",
        }
    }
}

/// How a point stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Done.
    Ok,
    /// Publishing is refused until it is done.
    Missing,
    /// Possible, and perhaps not meant.
    Warning,
}

/// Why a point stands as it does. The text form is an English sentence without its full stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// Nothing to say.
    Fine,
    /// Nothing was chosen or written.
    Unset,
    /// The instant is past.
    Past,
    /// The opening is past: the sale opens as soon as it is published.
    OpensAtOnce,
    /// The sale opens after the performance has begun.
    OpensAfterStart,
    /// The sale ends before it opens, or as it opens.
    ClosesBeforeOpening,
    /// The sale goes on after the performance has begun.
    ClosesAfterStart,
    /// A lottery opens at once, and nobody registers after its opening.
    NobodyRegisters,
    /// Places can be taken only when the sale opens, or later.
    RegistersAtOpening,
    /// Accounts that are made after the opening would get a place.
    CutoffAfterOpening,
    /// The lottery's sale ends before its first window does.
    NoWholeWindow,
    /// Not a currency in force.
    NoCurrency,
    /// These zones have so many seats for sale and no price.
    Unpriced(Vec<(String, u32)>),
    /// The price of this zone is not between one minor unit and the highest price.
    PriceOutOfRange(String),
    /// Every seat is blocked.
    NothingForSale,
    /// The zones are not those of the plan.
    ZonesUnfit,
    /// A zone or a block names so many seats that the plan does not have.
    SeatsOutside(u32),
    /// So many seats are in more than one added zone.
    SeatsTwice(u32),
    /// A whole number from the first to the second is expected.
    OutOfRange(i64, i64),
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fine => f.write_str("done"),
            Self::Unset => f.write_str("not set"),
            Self::Past => f.write_str("this is in the past"),
            Self::OpensAtOnce => f.write_str("this is in the past: the sale opens at once"),
            Self::OpensAfterStart => f.write_str("the sale opens after the performance has begun"),
            Self::ClosesBeforeOpening => f.write_str("the sale must end after it opens"),
            Self::ClosesAfterStart => f.write_str("the sale goes on after the performance has begun"),
            Self::NobodyRegisters => f.write_str("nobody could register: a lottery must open in the future"),
            Self::RegistersAtOpening => f.write_str("registration must open before the sale does"),
            Self::CutoffAfterOpening => f.write_str("this must not be later than the opening of the sale"),
            Self::NoWholeWindow => f.write_str("the sale must last at least as long as one window"),
            Self::NoCurrency => f.write_str("not a currency of ISO 4217 in force"),
            Self::Unpriced(zones) => {
                f.write_str("seats for sale without a price: ")?;
                for (index, (name, count)) in zones.iter().enumerate() {
                    let comma = if index > 0 { ", " } else { "" };
                    write!(f, "{comma}{name} ({count})")?;
                }
                Ok(())
            }
            Self::PriceOutOfRange(zone) => {
                write!(f, "the price of {zone} must be 1 to {PRICE_MAX_MINOR} minor units")
            }
            Self::NothingForSale => f.write_str("every seat is blocked"),
            Self::ZonesUnfit => f.write_str("the zones are not those of the plan"),
            Self::SeatsOutside(count) => write!(f, "{count} seats are not in the plan"),
            Self::SeatsTwice(count) => write!(f, "{count} seats are in more than one added zone"),
            Self::OutOfRange(from, to) => write!(f, "a whole number from {from} to {to} is expected"),
        }
    }
}

/// A point of the checklist with its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Which point.
    pub item: Item,
    /// How it stands.
    pub state: State,
    /// Why.
    pub detail: Detail,
}

/// What keeps a draft from being published, in one sentence for each point; empty when nothing does.
#[must_use]
pub fn missing(checks: &[Check]) -> String {
    checks
        .iter()
        .filter(|check| check.state == State::Missing)
        .map(|check| format!("{}: {}", check.item.as_str(), check.detail))
        .collect::<Vec<_>>()
        .join("; ")
}

type Found = (State, Detail);

const FINE: Found = (State::Ok, Detail::Fine);

fn lacks(detail: Detail) -> Found {
    (State::Missing, detail)
}

fn within(value: i64, from: i64, to: i64) -> Found {
    if (from..=to).contains(&value) { FINE } else { lacks(Detail::OutOfRange(from, to)) }
}

impl Draft {
    /// Every point of the checklist at an instant, in the order in which people fill the form.
    /// `plan` tells of the chosen plan.
    #[must_use]
    pub fn checklist(&self, plan: Option<&PlanFacts>, now: Millis) -> Vec<Check> {
        let plan = plan.filter(|_| self.plan.is_some());
        let limit_max = i64::try_from(SEATS_PER_HOLD_MAX).unwrap_or(i64::MAX);
        let flow_max = i64::from(FLOW_MAX);
        [
            (Item::Plan, if plan.is_some() { FINE } else { lacks(Detail::Unset) }),
            (Item::Starts, self.check_starts(now)),
            (Item::Opens, self.check_opens(now)),
            (Item::Closes, self.check_closes(now)),
            (Item::Registers, self.check_registers()),
            (Item::AccountCutoff, self.check_account_cutoff()),
            (Item::Window, self.check_window()),
            (Item::Currency, self.check_currency()),
            (Item::Zones, plan.map_or(lacks(Detail::Unset), |plan| self.check_zones(plan))),
            (Item::Prices, plan.map_or(lacks(Detail::Unset), |plan| self.check_prices(plan))),
            (Item::SeatLimit, within(i64::from(self.seat_limit), 1, limit_max)),
            (Item::HoldTime, within(self.hold_ttl_ms, HOLD_TTL_MIN_MS, HOLD_TTL_MAX_MS)),
            (Item::Shoppers, within(i64::from(self.shoppers_max), 1, flow_max)),
            (Item::Release, within(i64::from(self.release_per_min), 1, flow_max)),
        ]
        .into_iter()
        .filter(|(item, (state, _))| *state != State::Ok || self.asks_for(*item))
        .map(|(item, (state, detail))| Check { item, state, detail })
        .collect()
    }

    /// Whether a point is part of this draft: what was left open on purpose is not listed as done.
    fn asks_for(&self, item: Item) -> bool {
        match item {
            Item::Registers => self.registers.is_some(),
            Item::AccountCutoff => self.account_cutoff.is_some(),
            Item::Window => self.mode == Mode::Lottery,
            _ => true,
        }
    }

    fn check_starts(&self, now: Millis) -> Found {
        match self.starts {
            None => lacks(Detail::Unset),
            Some(starts) if starts <= now => lacks(Detail::Past),
            Some(_) => FINE,
        }
    }

    fn check_opens(&self, now: Millis) -> Found {
        match self.opens {
            None => lacks(Detail::Unset),
            Some(opens) if opens <= now && self.mode == Mode::Lottery => lacks(Detail::NobodyRegisters),
            Some(opens) if self.starts.is_some_and(|starts| opens >= starts) => {
                (State::Warning, Detail::OpensAfterStart)
            }
            Some(opens) if opens <= now => (State::Warning, Detail::OpensAtOnce),
            Some(_) => FINE,
        }
    }

    fn check_closes(&self, now: Millis) -> Found {
        match self.closes {
            None => lacks(Detail::Unset),
            Some(closes) if self.opens.is_some_and(|opens| opens >= closes) => lacks(Detail::ClosesBeforeOpening),
            Some(closes) if closes <= now => lacks(Detail::Past),
            Some(closes) if self.starts.is_some_and(|starts| closes > starts) => {
                (State::Warning, Detail::ClosesAfterStart)
            }
            Some(_) => FINE,
        }
    }

    fn check_registers(&self) -> Found {
        match self.registers.zip(self.opens) {
            Some((registers, opens)) if registers >= opens => lacks(Detail::RegistersAtOpening),
            _ => FINE,
        }
    }

    fn check_account_cutoff(&self) -> Found {
        match self.account_cutoff.zip(self.opens) {
            Some((cutoff, opens)) if cutoff > opens => lacks(Detail::CutoffAfterOpening),
            _ => FINE,
        }
    }

    fn check_window(&self) -> Found {
        let sold_ms = self.opens.zip(self.closes).map(|(opens, closes)| opens.until(closes));
        match within(self.window_ms, WINDOW_MIN_MS, WINDOW_MAX_MS) {
            FINE if self.mode == Mode::Lottery && sold_ms.is_some_and(|ms| ms < self.window_ms) => {
                lacks(Detail::NoWholeWindow)
            }
            found => found,
        }
    }

    fn check_currency(&self) -> Found {
        match self.currency {
            None => lacks(Detail::Unset),
            Some(currency) if Currency::is_in_force(currency) => FINE,
            Some(_) => lacks(Detail::NoCurrency),
        }
    }

    fn check_zones(&self, plan: &PlanFacts) -> Found {
        let (zones, seats) = (self.zones.len(), plan.seat_categories.len());
        if zones < plan.categories.len() || zones > MAX_CATEGORIES {
            return lacks(Detail::ZonesUnfit);
        }
        let (mut taken, mut twice, mut outside) = (vec![false; seats], 0, 0);
        for seat in self.zones.iter().flat_map(|zone| &zone.seats) {
            match taken.get_mut(seat.0 as usize) {
                Some(taken) if *taken => twice += 1,
                Some(taken) => *taken = true,
                None => outside += 1,
            }
        }
        let blocked = self.blocked.iter().flat_map(|group| &group.seats);
        outside += u32::try_from(blocked.filter(|seat| seat.0 as usize >= seats).count()).unwrap_or(u32::MAX);
        match (outside, twice) {
            (0, 0) => FINE,
            (0, twice) => lacks(Detail::SeatsTwice(twice)),
            (outside, _) => lacks(Detail::SeatsOutside(outside)),
        }
    }

    fn check_prices(&self, plan: &PlanFacts) -> Found {
        let sellable = self.sellable(plan);
        if sellable.iter().all(|count| *count == 0) {
            return lacks(Detail::NothingForSale);
        }
        let sold = || self.zones.iter().zip(&sellable).filter(|(_, count)| **count > 0);
        let unpriced: Vec<(String, u32)> = sold()
            .filter(|(zone, _)| zone.price_minor.is_none())
            .map(|(zone, count)| (zone.name.clone(), *count))
            .collect();
        if !unpriced.is_empty() {
            return lacks(Detail::Unpriced(unpriced));
        }
        let wrong = |price: i64| !(1..=PRICE_MAX_MINOR).contains(&price);
        match self.zones.iter().find(|zone| zone.price_minor.is_some_and(wrong)) {
            Some(zone) => lacks(Detail::PriceOutOfRange(zone.name.clone())),
            None => FINE,
        }
    }
}

#[cfg(test)]
mod tests;
