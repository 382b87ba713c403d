//! What a price change does to a performance that is on sale.
//!
//! A new price holds for seats that are taken from then on. An order keeps the price at which its
//! seats were taken, paid or not.

use super::ZoneTotal;
use crate::money::{Currency, Money};
use crate::refusal::{Code, Refusal};
use serde::{Deserialize, Serialize};

/// What changes in one zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneEffect {
    /// The zone.
    pub zone: u8,
    /// Its name.
    pub name: String,
    /// The price so far.
    pub old: Option<Money>,
    /// The price from now on.
    pub new: Option<Money>,
    /// Seats that can still be sold, at the new price.
    pub sellable: u32,
    /// Seats in open orders: they keep the old price, unless they come back.
    pub held: u32,
    /// Seats sold: nothing changes for them.
    pub sold: u32,
    /// By how much the possible revenue of the sellable seats changes.
    pub difference: Money,
}

/// What a price change does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// The version of the prices that it changes.
    pub version: i32,
    /// The zones whose price changes; others stay.
    pub zones: Vec<ZoneEffect>,
    /// By how much the possible revenue changes in all.
    pub difference: Money,
}

/// The effect of new prices, one for each zone.
///
/// # Errors
/// `invalid_input` when nothing changes, or a zone with seats would lose its price: seats that fans
/// see must have one.
pub fn effect(
    version: i32,
    zones: &[ZoneTotal],
    prices: &[Option<i64>],
    currency: Currency,
) -> Result<Effect, Refusal> {
    let invalid = |message: String| Refusal::new(Code::InvalidInput, message);
    if prices.len() != zones.len() {
        return Err(invalid(format!("prices: {} amounts are expected, one for each zone", zones.len())));
    }
    let mut changes = Effect { version, zones: Vec::new(), difference: Money::new(0, currency) };
    for (index, (zone, price)) in zones.iter().zip(prices).enumerate() {
        if price.is_none() && zone.seats > 0 {
            let text = format!("prices[{index}]: the zone `{}` has {} seats and needs a price", zone.name, zone.seats);
            return Err(invalid(text));
        }
        let old = zone.price.map(|price| price.minor);
        if old == *price {
            continue;
        }
        let sellable = zone.sellable().saturating_sub(zone.held).saturating_sub(zone.sold);
        let difference = price
            .unwrap_or(0)
            .checked_sub(old.unwrap_or(0))
            .and_then(|step| step.checked_mul(i64::from(sellable)))
            .map(|minor| Money::new(minor, currency));
        let Some((difference, sum)) = difference.and_then(|d| Some((d, changes.difference.checked_add(d)?))) else {
            return Err(invalid(format!("prices[{index}]: the amount is too large")));
        };
        changes.difference = sum;
        changes.zones.push(ZoneEffect {
            zone: zone.zone,
            name: zone.name.clone(),
            old: zone.price,
            new: price.map(|minor| Money::new(minor, currency)),
            sellable,
            held: zone.held,
            sold: zone.sold,
            difference,
        });
    }
    if changes.zones.is_empty() {
        return Err(invalid("prices: no price differs from the one that stands".to_owned()));
    }
    Ok(changes)
}
