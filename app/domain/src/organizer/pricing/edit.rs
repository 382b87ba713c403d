//! The operations on zones, prices and blocked seats of a performance in the making.

use super::typed::{typed_price, typed_prices};
use super::{House, SeatSet};
use crate::ids::SeatNo;
use crate::money::AMOUNT_MAX_MINOR;
use crate::organizer::draft::{Blocked, Draft, Zone};
use crate::refusal::{Code, Refusal};
use crate::venue::plan::MAX_CATEGORIES;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Longest name of a zone and longest reason, in characters: the interface shows both on one line.
pub const NAME_MAX_CHARS: usize = 120;
/// Most different reasons at once: people read them as a list.
pub const BLOCK_GROUPS_MAX: usize = 200;

/// One change of a performance in the making. Amounts are texts in the draft's currency, as people
/// write them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Edit {
    /// Sets the price of every zone, by index; an empty text takes the price away.
    SetPrices {
        /// One amount a zone.
        amounts: Vec<String>,
    },
    /// Makes a zone of seats, wherever they were.
    AddZone {
        /// Its name.
        name: String,
        /// Its price, or empty.
        amount: String,
        /// `#rrggbb`, or none for the palette's.
        color: Option<String>,
        /// Its seats, at least one.
        seats: SeatSet,
    },
    /// Moves seats to an added zone, or back to their categories.
    MoveSeats {
        /// Where to; none for the categories.
        zone: Option<u8>,
        /// Which, at least one.
        seats: SeatSet,
    },
    /// Takes an added zone away: its seats go back to their categories.
    RemoveZone {
        /// Which.
        zone: u8,
    },
    /// Gives a zone another name.
    RenameZone {
        /// Which.
        zone: u8,
        /// Its new name.
        name: String,
    },
    /// Takes seats off sale. A seat has one reason: the last.
    Block {
        /// Which, at least one.
        seats: SeatSet,
        /// Why.
        reason: String,
    },
    /// Puts seats back on sale.
    Unblock {
        /// Which, at least one.
        seats: SeatSet,
    },
}

fn invalid<T>(message: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::new(Code::InvalidInput, message))
}

/// A name or a reason without the spaces around it.
///
/// # Errors
/// `invalid_input` names the field.
pub fn check_name<'a>(field: &str, text: &'a str) -> Result<&'a str, Refusal> {
    let text = text.trim();
    let count = text.chars().count();
    if count == 0 || count > NAME_MAX_CHARS || text.chars().any(char::is_control) {
        return invalid(format!("{field}: 1 to {NAME_MAX_CHARS} characters without control characters are expected"));
    }
    Ok(text)
}

/// The zone of each seat, by number.
#[must_use]
pub fn zone_by_seat(draft: &Draft, house: &House) -> Vec<u8> {
    let mut zones = house.seats.clone();
    for (index, zone) in (0_u8..).zip(&draft.zones) {
        for seat in &zone.seats {
            if let Some(slot) = zones.get_mut(seat.0 as usize) {
                *slot = index;
            }
        }
    }
    zones
}

impl Edit {
    /// The draft after this change.
    ///
    /// # Errors
    /// `invalid_input` names the field; `unknown_seat` with the seats; `wrong_state` when no plan is
    /// chosen, or no currency where an amount is given.
    pub fn applied(&self, draft: &Draft, house: &House) -> Result<Draft, Refusal> {
        if draft.plan.is_none() || draft.zones.len() < house.categories.len() {
            return Err(Refusal::new(Code::WrongState, "plan: choose the plan first"));
        }
        let mut after = draft.clone();
        match self {
            Self::SetPrices { amounts } => set_prices(&mut after, amounts)?,
            Self::AddZone { name, amount, color, seats } => {
                add_zone(&mut after, house, name, amount, color.as_deref(), seats)?;
            }
            Self::MoveSeats { zone, seats } => move_seats(&mut after, house, *zone, seats)?,
            Self::RemoveZone { zone } => {
                after.zones.remove(added(&after, house, *zone)?);
            }
            Self::RenameZone { zone, name } => rename_zone(&mut after, *zone, name)?,
            Self::Block { seats, reason } => block(&mut after, house, seats, reason)?,
            Self::Unblock { seats } => unblock(&mut after, house, seats)?,
        }
        Ok(after)
    }

    /// The change in a few words for the audit log: how many seats, not which.
    #[must_use]
    pub fn told(&self) -> Value {
        match self {
            Self::SetPrices { amounts } => json!({ "prices": amounts }),
            Self::AddZone { name, amount, seats, .. } => {
                json!({ "add_zone": name, "price": amount, "seats": seats.len() })
            }
            Self::MoveSeats { zone, seats } => json!({ "move_seats": seats.len(), "to_zone": zone }),
            Self::RemoveZone { zone } => json!({ "remove_zone": zone }),
            Self::RenameZone { zone, name } => json!({ "rename_zone": zone, "name": name }),
            Self::Block { seats, reason } => json!({ "block": seats.len(), "reason": reason }),
            Self::Unblock { seats } => json!({ "unblock": seats.len() }),
        }
    }
}

/// Sets or takes away the price of one zone, in minor units.
fn set_price(draft: &mut Draft, zone: usize, price_minor: Option<i64>) -> Result<(), Refusal> {
    if price_minor.is_some_and(|minor| minor <= 0 || minor > AMOUNT_MAX_MINOR) {
        return invalid(format!("prices[{zone}]: more than zero is expected"));
    }
    match draft.zones.get_mut(zone) {
        Some(zone) => zone.price_minor = price_minor,
        None => return invalid(format!("prices[{zone}]: there is no such zone")),
    }
    Ok(())
}

fn set_prices(draft: &mut Draft, amounts: &[String]) -> Result<(), Refusal> {
    let prices = match draft.currency {
        Some(currency) => typed_prices(amounts, draft.zones.len(), currency)?,
        None => return Err(Refusal::new(Code::WrongState, "currency: choose the currency first")),
    };
    prices.into_iter().enumerate().try_for_each(|(zone, price)| set_price(draft, zone, price))
}

/// Checks that seats are there, and at least one.
fn check_seats(house: &House, seats: &SeatSet) -> Result<(), Refusal> {
    if seats.is_empty() {
        return invalid("seats: at least one seat is expected");
    }
    let unknown: Vec<SeatNo> = seats.list().iter().copied().filter(|s| s.0 as usize >= house.seats.len()).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let text = format!("seats: there is no seat {} in this plan", SeatSet::from_iter(unknown.iter().copied()));
    Err(Refusal::new(Code::UnknownSeat, text).with_seats(unknown))
}

/// The index of an added zone.
fn added(draft: &Draft, house: &House, zone: u8) -> Result<usize, Refusal> {
    let index = usize::from(zone);
    if index >= draft.zones.len() {
        return invalid(format!("zone: there is no zone {zone}"));
    }
    if index < house.categories.len() {
        return invalid("zone: a category of the plan stays; only zones that were added can be changed so");
    }
    Ok(index)
}

fn free_name<'a>(draft: &Draft, name: &'a str, but: Option<usize>) -> Result<&'a str, Refusal> {
    let name = check_name("name", name)?;
    let same = |zone: &Zone| zone.name.to_lowercase() == name.to_lowercase();
    if draft.zones.iter().enumerate().any(|(at, zone)| Some(at) != but && same(zone)) {
        return invalid("name: another zone has this name");
    }
    Ok(name)
}

fn take_from_zones(draft: &mut Draft, house: &House, seats: &SeatSet) {
    for zone in draft.zones.iter_mut().skip(house.categories.len()) {
        zone.seats.retain(|seat| !seats.contains(*seat));
    }
}

fn add_zone(
    draft: &mut Draft,
    house: &House,
    name: &str,
    amount: &str,
    color: Option<&str>,
    seats: &SeatSet,
) -> Result<(), Refusal> {
    check_seats(house, seats)?;
    let name = free_name(draft, name, None)?.to_owned();
    if draft.zones.len() >= MAX_CATEGORIES {
        return invalid(format!("name: at most {MAX_CATEGORIES} zones are possible"));
    }
    let hex = |color: &str| {
        color.strip_prefix('#').is_some_and(|digits| digits.len() == 6 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    if color.is_some_and(|color| !hex(color)) {
        return invalid("color: # and six hexadecimal digits are expected");
    }
    let price_minor = match draft.currency {
        Some(currency) => typed_price("price", amount, currency)?,
        None if amount.trim().is_empty() => None,
        None => return Err(Refusal::new(Code::WrongState, "currency: choose the currency first")),
    };
    take_from_zones(draft, house, seats);
    draft.zones.push(Zone { name, color: color.map(str::to_owned), price_minor, seats: seats.list().to_vec() });
    Ok(())
}

fn move_seats(draft: &mut Draft, house: &House, zone: Option<u8>, seats: &SeatSet) -> Result<(), Refusal> {
    check_seats(house, seats)?;
    let target = zone.map(|zone| added(draft, house, zone)).transpose()?;
    take_from_zones(draft, house, seats);
    if let Some(zone) = target.and_then(|index| draft.zones.get_mut(index)) {
        zone.seats.extend_from_slice(seats.list());
        zone.seats.sort_unstable();
    }
    Ok(())
}

fn rename_zone(draft: &mut Draft, zone: u8, name: &str) -> Result<(), Refusal> {
    let index = usize::from(zone);
    let name = free_name(draft, name, Some(index))?.to_owned();
    match draft.zones.get_mut(index) {
        Some(zone) => zone.name = name,
        None => return invalid(format!("zone: there is no zone {zone}")),
    }
    Ok(())
}

fn release(draft: &mut Draft, seats: &SeatSet) {
    for group in &mut draft.blocked {
        group.seats.retain(|seat| !seats.contains(*seat));
    }
    draft.blocked.retain(|group| !group.seats.is_empty());
}

fn block(draft: &mut Draft, house: &House, seats: &SeatSet, reason: &str) -> Result<(), Refusal> {
    check_seats(house, seats)?;
    let reason = check_name("reason", reason)?;
    release(draft, seats);
    let full = draft.blocked.len() >= BLOCK_GROUPS_MAX;
    match draft.blocked.iter_mut().find(|group| group.reason == reason) {
        Some(group) => {
            group.seats.extend_from_slice(seats.list());
            group.seats.sort_unstable();
        }
        None if full => {
            return invalid(format!("reason: at most {BLOCK_GROUPS_MAX} different reasons are possible"));
        }
        None => draft.blocked.push(Blocked { reason: reason.to_owned(), seats: seats.list().to_vec() }),
    }
    Ok(())
}

fn unblock(draft: &mut Draft, house: &House, seats: &SeatSet) -> Result<(), Refusal> {
    check_seats(house, seats)?;
    let before = draft.blocked.clone();
    release(draft, seats);
    if draft.blocked == before { invalid("seats: none of them is blocked") } else { Ok(()) }
}
