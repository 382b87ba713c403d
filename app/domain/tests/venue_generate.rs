//! Generated arenas: exact, even, free of overlaps.

use std::collections::{HashMap, HashSet};

use domain::venue::generate::{SEAT_PITCH, arena, standing_arena};
use domain::venue::plan::{Kind, Plan};
use domain::venue::spatial::Grid;
use domain::venue::{Point, Rect, summary};
use proptest::prelude::*;

fn closest_pair(plan: &Plan) -> f64 {
    let points: Vec<Point> = plan.seats.iter().map(|seat| seat.center()).collect();
    let grid = Grid::over(&points);
    let mut found = Vec::new();
    let mut closest = f64::INFINITY;
    for (index, point) in points.iter().enumerate() {
        grid.in_rect(Rect::around(*point, SEAT_PITCH), &mut found);
        for other in found.iter().map(|seat_no| *seat_no as usize).filter(|other| *other != index) {
            closest = closest.min(point.distance(points[other]));
        }
    }
    closest
}

fn check(seats: u32) {
    let plan = arena(seats, "Arena");
    assert_eq!(plan.seats.len(), seats as usize);
    assert!(summary(&plan).starts_with(&format!("{seats} seats, ")));
    let closest = closest_pair(&plan);
    assert!(closest >= SEAT_PITCH * 0.9, "{seats}: two seats are {closest} apart");
    let sheet = Rect::new(0.0, 0.0, plan.size.width, plan.size.height);
    assert_eq!(plan.view_box, sheet, "{seats}: content outside the sheet");
    for seat in &plan.seats {
        assert!(sheet.contains(seat.center()));
    }
}

#[test]
fn a_standing_floor_has_as_many_places_as_the_chairs_it_takes_the_place_of() {
    for seats in [200, 1_500, 20_000] {
        let (seated, standing) = (arena(seats, "Arena"), standing_arena(seats, "Arena"));
        assert_eq!((standing.seats.len(), standing.view_box), (seats as usize, seated.view_box));
        let places = standing.seats.iter().filter(|seat| seat.kind == Kind::Standing).count();
        let chairs = seated.seats.iter().filter(|seat| seat.category <= 1).count();
        assert!(places > 0 && places == chairs, "{seats}: {places} places for {chairs} chairs");
        let names: Vec<&str> = standing.sections.iter().map(|section| section.name.as_str()).take(2).collect();
        assert!(names[0] == "Pit" && (seats < 20_000 || names[1] == "Floor"), "{names:?}");
    }
}

#[test]
fn the_usual_sizes_are_exact_and_clear() {
    for seats in [200, 201, 500, 1_499, 1_500, 5_999, 6_000, 12_345, 20_000, 60_000] {
        check(seats);
    }
    assert_eq!(arena(1, "Small").seats.len(), 200);
    assert_eq!(arena(u32::MAX, "Large").seats.len(), 60_000);
    assert_eq!(arena(200, &"長".repeat(1_000)).name.chars().count(), 341);
}

#[test]
fn the_same_arguments_give_the_same_plan() {
    assert_eq!(arena(20_000, "Arena"), arena(20_000, "Arena"));
}

#[test]
fn twenty_thousand_seats_make_a_whole_house() {
    let plan = arena(20_000, "Arena");
    let names: HashSet<&str> = plan.sections.iter().map(|section| section.name.as_str()).collect();
    for name in ["A1", "C4", "101", "112", "201", "301", "324"] {
        assert!(names.contains(name), "no section {name}");
    }
    let mut by_kind: HashMap<u8, usize> = HashMap::new();
    for seat in &plan.seats {
        *by_kind.entry(seat.kind as u8).or_default() += 1;
    }
    assert!(by_kind[&(Kind::Wheelchair as u8)] >= 80);
    assert_eq!(by_kind[&(Kind::Wheelchair as u8)], by_kind[&(Kind::Companion as u8)]);
    let used: HashSet<u8> = plan.seats.iter().map(|seat| seat.category).collect();
    assert_eq!(used.len(), 6);
    let gates = plan.areas.iter().filter_map(|area| area.text.as_ref());
    assert!(gates.filter(|text| text.text.starts_with("Gate ")).count() >= 4);
    // Everyone looks at the stage: in the middle of the house, above the first row.
    let focal = plan.focal_point();
    let top = plan.seats.iter().filter(|seat| seat.category == 0).map(|seat| seat.y);
    assert!((focal.x - plan.size.width / 2.0).abs() < 2.0);
    assert!(focal.y < top.fold(f64::INFINITY, f64::min));
}

#[test]
fn the_house_is_symmetric_and_its_last_row_nearly_full() {
    let plan = arena(20_000, "Arena");
    let axis = plan.focal_point().x;
    let points: Vec<Point> =
        plan.seats.iter().filter(|seat| seat.kind == Kind::Seat).map(|seat| seat.center()).collect();
    let grid = Grid::over(&points);
    let lonely = points.iter().filter(|point| grid.nearest(2.0 * axis - point.x, point.y, 2.0).is_none()).count();
    assert!(lonely <= 40, "{lonely} seats have no mirror image");
}

#[test]
fn rows_are_even() {
    let plan = arena(20_000, "Arena");
    for row in plan.seats_by_row() {
        let place = |seat_no: u32| plan.seat(seat_no).expect("numbered").center();
        let gaps: Vec<f64> = row.windows(2).map(|pair| place(pair[0]).distance(place(pair[1]))).collect();
        let least = gaps.iter().copied().fold(f64::INFINITY, f64::min);
        let most = gaps.iter().copied().fold(0.0, f64::max);
        // Where a row runs from one arc into the next, equal arc lengths have unlike chords.
        assert!(gaps.is_empty() || most - least < 0.2, "a row with gaps from {least} to {most}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_size_is_exact_and_clear(seats in prop_oneof![200_u32..3_000, 200_u32..60_000]) {
        check(seats);
    }
}
