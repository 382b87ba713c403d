//! What is given to a wish in houses that people can picture.

use crate::{DEPTH, best, house, wish};
use domain::SeatNo;
use domain::venue::Point;
use domain::venue::adjacency::Adjacency;
use domain::venue::best::{COMPANIONS_MAX, SPREAD_AMONG, Seating, Spread, Tier, Wish};
use domain::venue::generate::{SEAT_PITCH, arena};
use domain::venue::plan::Kind;
use std::collections::BTreeSet;

#[test]
fn two_in_an_empty_arena_sit_side_by_side_at_the_stage() {
    let plan = arena(20_000, "Arena");
    let adjacency = Adjacency::of(&plan);
    let found = best(&adjacency, &wish(2), |_| true).unwrap();
    assert_eq!(found.tier, Tier::Together);
    assert_eq!(adjacency.seating(&found.seats), Seating::Together);
    let far = |seat: u32| plan.seat(seat).unwrap().center().distance(plan.focal_point());
    let nearest = (0..20_000).map(far).fold(f64::INFINITY, f64::min);
    assert!(found.seats.iter().all(|seat| far(seat.0) < nearest + 3.0 * SEAT_PITCH));
    assert_eq!(best(&adjacency, &wish(2), |_| true), Some(found), "the same again");
}

#[test]
fn those_who_ask_at_once_are_given_different_seats_as_good() {
    let adjacency = Adjacency::of(&arena(20_000, "Arena"));
    let first = best(&adjacency, &wish(2), |_| true).unwrap();
    let mut given = BTreeSet::new();
    for number in 1..=200 {
        let spread = Spread { number, among: SPREAD_AMONG };
        let found = adjacency.best(&wish(2), |_| true, |_| true, spread).unwrap();
        assert_eq!(found.tier, first.tier);
        given.insert(found.seats);
    }
    assert_eq!(given.len(), SPREAD_AMONG);
    let seats: BTreeSet<SeatNo> = given.iter().flatten().copied().collect();
    assert_eq!(seats.len(), 2 * SPREAD_AMONG, "they share no seat");
}

#[test]
fn places_for_wheelchairs_are_for_those_who_ask_for_them() {
    let plan = arena(1_500, "Arena");
    let adjacency = Adjacency::of(&plan);
    let kind = |seat: SeatNo| plan.seat(seat.0).unwrap().kind;
    let protected = |seat: SeatNo| kind(seat) != Kind::Seat;
    assert!(adjacency.best(&wish(1), protected, |_| true, Spread::NONE).unwrap_err().groups.is_empty());
    for companions in 0..=COMPANIONS_MAX {
        let wish = Wish::new(1 + companions, Vec::new(), None, 1).unwrap();
        let Some(found) = best(&adjacency, &wish, |_| true) else { continue };
        assert_eq!((found.tier, adjacency.seating(&found.seats)), (Tier::Accessible, Seating::Accessible));
        let of = |wanted: Kind| found.seats.iter().filter(|seat| kind(**seat) == wanted).count();
        assert_eq!((of(Kind::Wheelchair), of(Kind::Companion)), (1, companions as usize));
        let sections: BTreeSet<u16> = found.seats.iter().map(|seat| plan.seat(seat.0).unwrap().section).collect();
        assert_eq!(sections.len(), 1);
    }
    let pair = best(&adjacency, &Wish::new(2, Vec::new(), None, 1).unwrap(), |_| true).unwrap();
    let [a, b] = [0, 1].map(|index| plan.seat(pair.seats[index].0).unwrap().center());
    assert!(a.distance(b) < 3.0 * SEAT_PITCH, "the companion sits beside");
    assert!(Wish::new(5, Vec::new(), None, 1).is_err(), "more companions than allowed");
    assert!(Wish::new(1, Vec::new(), None, 2).is_err());
    for forged in [0, 21, u32::MAX] {
        assert!(Wish::new(forged, Vec::new(), None, 0).is_err(), "{forged}");
    }
    assert_eq!(Wish::new(2, vec![3, 1, 3], None, 0).unwrap().line(), Wish::new(2, vec![1, 3], None, 0).unwrap().line());
}

#[test]
fn a_group_that_fits_no_row_sits_in_two_one_behind_the_other() {
    let line = |y: f64| (0..3).map(|at| (Point::new(f64::from(at) * 24.0, y), Kind::Seat)).collect::<Vec<_>>();
    let apart = line(400.0).into_iter().map(|(at, kind)| (at.plus(Point::new(600.0, 0.0)), kind)).collect();
    let plan = house(vec![vec![line(0.0), line(DEPTH), apart]]);
    let adjacency = Adjacency::of(&plan);
    let found = best(&adjacency, &wish(4), |_| true).unwrap();
    assert_eq!((found.tier, adjacency.seating(&found.seats)), (Tier::OneSection, Seating::Behind));
    assert!(found.seats.iter().all(|seat| seat.0 < 6), "{found:?}");
    assert_eq!(adjacency.best(&wish(4), |seat| seat.0 % 3 != 1, |_| true, Spread::NONE).unwrap_err().groups, [1; 4]);
    let three = adjacency.best(&wish(3), |seat| [0, 1, 3].contains(&seat.0), |_| true, Spread::NONE).unwrap_err();
    assert_eq!(three.groups, [2, 1]);
}
