//! Places to stand: fans ask for a number of them, and the server draws which. Pure.

use std::collections::{BTreeMap, BTreeSet};

use domain::SeatNo;
use domain::hold::{AreaWish, HoldWish, SeatState};
use domain::venue::Plan;
use domain::venue::plan::Kind;

/// A standing area.
#[derive(Clone, Debug)]
pub struct StandingArea {
    /// The number of its row object in the plan.
    pub area: u32,
    /// Its places.
    pub places: BTreeSet<u32>,
}

impl StandingArea {
    /// The standing areas of a plan.
    pub fn of(plan: &Plan) -> Vec<Self> {
        let mut areas: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for (number, seat) in (0..).zip(&plan.seats).filter(|(_, seat)| seat.kind == Kind::Standing) {
            areas.entry(seat.row).or_default().insert(number);
        }
        areas.into_iter().map(|(area, places)| Self { area, places }).collect()
    }
}

/// Places of the area with most of them left; `None` where none is.
pub(super) fn roomiest(areas: &[StandingArea], states: &[SeatState], wanted: usize) -> Option<HoldWish> {
    let is_free = |place: &&u32| states.get(**place as usize) == Some(&SeatState::Available);
    let (left, area) = areas.iter().map(|area| (area.places.iter().filter(is_free).count(), area.area)).max()?;
    let count = u32::try_from(wanted.min(left)).unwrap_or(u32::MAX);
    (count > 0).then(|| HoldWish { seats: Vec::new(), areas: vec![AreaWish { area, count }] })
}

/// Whether exactly what was asked for was given: the seats, and as many places of each area.
pub(super) fn fits(areas: &[StandingArea], wish: &HoldWish, given: &[SeatNo]) -> bool {
    let mut rest: BTreeSet<u32> = given.iter().map(|seat| seat.0).collect();
    let unique = rest.len() == given.len();
    let seats = wish.seats.iter().all(|seat| rest.remove(&seat.0));
    let places = wish.areas.iter().all(|wish| {
        let before = rest.len();
        if let Some(area) = areas.iter().find(|area| area.area == wish.area) {
            rest.retain(|place| !area.places.contains(place));
        }
        before - rest.len() == wish.count as usize
    });
    unique && seats && places && rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seats(list: &[u32]) -> Vec<SeatNo> {
        list.iter().copied().map(SeatNo).collect()
    }

    #[test]
    fn places_are_wanted_where_most_are_left_and_no_more_than_there_are() {
        let area = |area, places: std::ops::Range<u32>| StandingArea { area, places: places.collect() };
        let areas = [area(3, 0..2), area(5, 2..6)];
        let mut states = vec![SeatState::Available; 6];
        let wish = |states: &[SeatState]| roomiest(&areas, states, 3).map(|wish| wish.areas[0]);
        assert_eq!(wish(&states), Some(AreaWish { area: 5, count: 3 }));
        states[3..6].fill(SeatState::Held);
        assert_eq!(wish(&states), Some(AreaWish { area: 3, count: 2 }));
        assert_eq!(wish(&[SeatState::Sold; 6]), None);
    }

    #[test]
    fn what_was_given_is_what_was_asked_for() {
        let areas = [StandingArea { area: 5, places: (10..20).collect() }];
        let wish = HoldWish { seats: seats(&[1]), areas: vec![AreaWish { area: 5, count: 2 }] };
        assert!(fits(&areas, &wish, &seats(&[1, 10, 19])));
        for other in [&[1, 10][..], &[10, 11, 12], &[1, 10, 10], &[1, 10, 20], &[1, 2, 10, 11]] {
            assert!(!fits(&areas, &wish, &seats(other)), "{other:?}");
        }
    }
}
