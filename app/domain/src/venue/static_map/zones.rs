//! The map of a performance whose price zones are not the plan's categories.
//!
//! Owns the exchange of the one column and the one list that say what a seat costs; everything else
//! of the published map stays as it is, byte for byte.

use super::encode::{PALETTE, safe_color};
use super::format::{HEADER_BYTES, MapCategory, Meta};
use super::{DecodeError, StaticMap, decode};

/// A zone as it is to be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneColor<'a> {
    /// Its name.
    pub name: &'a str,
    /// A CSS colour as written, or none for the category's or the palette's.
    pub color: Option<&'a str>,
}

/// The published map with these zones in place of the categories; `zone_of` names the zone of each
/// seat by its number.
///
/// # Errors
/// When the files are no map, or the zones don't fit it.
pub fn with_zones(map: &StaticMap, zones: &[ZoneColor<'_>], zone_of: &[u8]) -> Result<StaticMap, DecodeError> {
    let seats = decode(&map.bin, &map.json)?.seat_categories().len();
    if zone_of.len() != seats || zone_of.iter().any(|zone| usize::from(*zone) >= zones.len()) {
        return Err(DecodeError::Contradiction("each seat has one of the zones"));
    }
    let mut meta: Meta = serde_json::from_str(&map.json).map_err(|error| DecodeError::Json(error.to_string()))?;
    let colors = zones.iter().zip(PALETTE.iter().cycle()).enumerate().map(|(index, (zone, fallback))| MapCategory {
        name: zone.name.to_owned(),
        color: safe_color(zone.color)
            .or_else(|| meta.categories.get(index).map(|category| category.color.clone()))
            .unwrap_or_else(|| (*fallback).to_owned()),
    });
    meta.categories = colors.collect();
    let json = serde_json::to_string(&meta).map_err(|error| DecodeError::Json(error.to_string()))?;
    let mut bin = map.bin.clone();
    // Behind the header: x and y, two bytes each a seat, then the column of categories.
    let start = HEADER_BYTES + seats * 4;
    bin.get_mut(start..start + seats)
        .ok_or(DecodeError::Contradiction("the columns end within the categories"))?
        .copy_from_slice(zone_of);
    Ok(StaticMap { bin, json })
}

#[cfg(test)]
mod tests {
    use super::super::encode;
    use super::*;
    use crate::venue::generate;

    #[test]
    fn only_prices_change_in_the_map_of_a_performance() {
        let plan = generate::arena(generate::MIN_ARENA_SEATS, "House");
        let map = encode(&plan);
        let mut zones: Vec<ZoneColor<'_>> =
            plan.categories.iter().map(|category| ZoneColor { name: &category.name, color: None }).collect();
        zones.push(ZoneColor { name: "Front", color: Some("red;x") });
        let added = u8::try_from(zones.len() - 1).unwrap();
        let mut zone_of: Vec<u8> = plan.seats.iter().map(|seat| seat.category).collect();
        zone_of[7] = added;
        let changed = with_zones(&map, &zones, &zone_of).unwrap();
        let (before, after) = (decode(&map.bin, &map.json).unwrap(), decode(&changed.bin, &changed.json).unwrap());
        assert_eq!(after.categories().len(), before.categories().len() + 1);
        assert_eq!(after.categories()[..before.categories().len()], before.categories()[..], "their colours stay");
        let front = after.categories().last().unwrap();
        assert_eq!(front.name, "Front");
        assert!(!front.color.contains(';'), "a colour is one, or the palette's");
        for seat in 0..u32::try_from(plan.seats.len()).unwrap() {
            let (old, new) = (before.seat(seat).unwrap(), after.seat(seat).unwrap());
            let wanted = if seat == 7 { added } else { old.category };
            assert_eq!(new, super::super::SeatInfo { category: wanted, ..old }, "seat {seat}");
        }
    }

    #[test]
    fn zones_that_do_not_fit_the_map_are_refused() {
        let plan = generate::arena(generate::MIN_ARENA_SEATS, "House");
        let map = encode(&plan);
        let zone = [ZoneColor { name: "All", color: None }];
        assert!(with_zones(&map, &zone, &vec![0; plan.seats.len()]).is_ok());
        assert!(with_zones(&map, &zone, &vec![1; plan.seats.len()]).is_err());
        assert!(with_zones(&map, &zone, &[0]).is_err());
        assert!(with_zones(&StaticMap { bin: Vec::new(), json: map.json }, &zone, &[0]).is_err());
    }
}
