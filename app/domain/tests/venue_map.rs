//! The published map: small, faithful, and never trusted.

use domain::venue::plan::{MAX_SEATS, Plan};
use domain::venue::spatial::Grid;
use domain::venue::static_map::{MapData, MapShape, SeatLabels, decode, encode};
use domain::venue::{Point, Rect, generate, pretix};
use proptest::prelude::*;

const STADIUM: &str = include_str!("fixtures/pretix-seatmap-canvas-stadium.json");

fn stadium() -> Plan {
    pretix::import(STADIUM, pretix::Mode::Tolerant).expect("repairable").plan
}

fn published(plan: &Plan) -> MapData {
    let map = encode(plan);
    decode(&map.bin, &map.json).expect("what was written can be read")
}

fn assert_faithful(plan: &Plan) {
    let map = published(plan);
    assert_eq!(map.seat_count() as usize, plan.seats.len());
    let step = plan.view_box.width().max(plan.view_box.height()) / 65_535.0;
    for (seat_no, seat) in (0_u32..).zip(&plan.seats) {
        let info = map.seat(seat_no).expect("numbered");
        assert_eq!((info.section, info.row, info.category), (seat.section, seat.row, seat.category));
        assert!(Point::new(info.x, info.y).distance(seat.center()) <= step);
        assert!((info.radius - seat.radius).abs() < 1e-3);
        assert_eq!(info.flags.restricted_view(), seat.restricted_view);
        assert_eq!(map.seat_label(seat_no), plan.seat_label(seat_no));
    }
    assert_eq!(map.seat(map.seat_count()), None);
    assert_eq!(map.seat_label(u32::MAX), None);
    for (row, seats) in (0_u32..).zip(plan.seats_by_row()) {
        let mut seats = seats;
        seats.sort_unstable();
        assert_eq!(map.row_seats(row), seats);
    }
}

#[test]
fn a_real_plan_and_a_made_one_are_published_faithfully() {
    assert_faithful(&stadium());
    assert_faithful(&generate::arena(3_000, "Arena"));
}

#[test]
fn the_columns_of_20_000_seats_are_small() {
    let plan = generate::arena(20_000, "Arena");
    let map = encode(&plan);
    assert!(map.bin.len() <= 160_000, "{} bytes", map.bin.len());
    assert!(map.json.len() <= 300_000, "{} bytes", map.json.len());
    assert_eq!(map, encode(&plan), "the same plan gives the same bytes");
    let data = published(&plan);
    let lists = data.rows().iter().filter(|row| matches!(row.seats, SeatLabels::List(_))).count();
    assert!(lists < 60, "only companions' labels are no numbers");
}

#[test]
fn every_section_has_an_outline_that_holds_its_seats() {
    let plan = generate::arena(20_000, "Arena");
    let map = published(&plan);
    let contains = |ring: &[f64], point: Point| {
        let corners: Vec<Point> = ring.chunks(2).map(|pair| Point::new(pair[0], pair[1])).collect();
        let next = corners.iter().cycle().skip(1);
        let crossed = corners.iter().zip(next).filter(|(a, b)| {
            (a.y > point.y) != (b.y > point.y) && point.x < (b.x - a.x) * (point.y - a.y) / (b.y - a.y) + a.x
        });
        crossed.count() % 2 == 1
    };
    for section in map.sections() {
        assert_eq!(section.outline.len(), 1, "section {}", section.name);
        let points = section.outline[0].len() / 2;
        assert!((4..60).contains(&points), "section {} has {points} corners", section.name);
        assert!(contains(&section.outline[0], Point::new(section.anchor[0], section.anchor[1])));
    }
    for seat_no in 0..map.seat_count() {
        let seat = map.seat(seat_no).expect("numbered");
        let section = &map.sections()[usize::from(seat.section)];
        let point = Point::new(seat.x, seat.y);
        assert!(contains(&section.outline[0], point), "seat {seat_no} outside {}", section.name);
        let others = map.sections().iter().filter(|other| contains(&other.outline[0], point));
        assert_eq!(others.count(), 1, "seat {seat_no} in two outlines");
    }
}

#[test]
fn hostile_colours_and_turned_areas_are_made_safe() {
    let mut plan = stadium();
    plan.categories[0].color = Some("red;background:url(//x)".to_owned());
    plan.areas[0].color = Some("url(//x)".to_owned());
    plan.areas[0].rotation = 90.0;
    let map = published(&plan);
    assert!(map.categories()[0].color.starts_with('#'));
    assert_eq!(map.areas()[0].color, None);
    assert_eq!(map.areas()[0].border_color.as_deref(), Some("#FFFFFF"));
    let MapShape::Polygon { points } = &map.areas()[0].shape else { panic!("a turned box") };
    // A quarter turn clockwise: the top right corner comes straight below the position.
    assert!((points[2] - points[0]).abs() < 0.2 && points[3] > points[1]);
}

#[test]
fn the_empty_plan_is_a_map_too() {
    let plan = domain::venue::plan::Draft::default().finish().expect("nothing is within limits");
    let map = published(&plan);
    assert_eq!(map.seat_count(), 0);
    assert_eq!(Grid::build(&map).nearest(0.0, 0.0, 1e9), None);
}

#[test]
fn a_place_that_is_gone_keeps_its_number_and_is_found_nowhere() {
    let mut plan = generate::arena(200, "Arena");
    let whole = published(&plan);
    plan.seats[3].gone = true;
    let map = published(&plan);
    assert_eq!(
        (map.seat_count(), map.seat_label(3), map.seat_label(4)),
        (200, whole.seat_label(3), whole.seat_label(4))
    );
    assert!(map.seat_flags()[3].gone() && !map.seat_flags()[4].gone());
    let at = whole.points()[3];
    assert_eq!(Grid::build(&whole).nearest(at.x, at.y, 1e9), Some(3));
    assert_ne!(Grid::build(&map).nearest(at.x, at.y, 1e9), Some(3));
    let row = map.seat_rows()[3];
    assert!(whole.row_seats(row).contains(&3) && !map.row_seats(row).contains(&3));
}

#[test]
fn files_that_do_not_belong_together_are_refused() {
    let (one, two) = (encode(&stadium()), encode(&generate::arena(200, "Arena")));
    assert!(decode(&one.bin, &two.json).is_err());
    assert!(decode(&one.bin[..one.bin.len() - 1], &one.json).is_err());
    assert!(decode(&[], &one.json).is_err());
    assert!(decode(&one.bin, "{}").is_err());
    let mut later = one.bin.clone();
    later[4] = 9;
    assert!(decode(&later, &one.json).is_err());
    let huge = one.json.replace("\"seat_count\":738", &format!("\"seat_count\":{}", MAX_SEATS + 1));
    assert!(decode(&one.bin, &huge).is_err());
}

#[test]
fn the_grid_finds_what_a_search_of_all_finds() {
    let map = published(&generate::arena(2_000, "Arena"));
    let grid = Grid::build(&map);
    let view = map.view_box();
    let mut found = vec![7];
    for step in 0..40 {
        let part = f64::from(step) / 40.0;
        let at = Point::new(view.min.x + view.width() * part, view.min.y + view.height() * (1.0 - part));
        let rect = Rect::around(at, 150.0);
        grid.in_rect(rect, &mut found);
        found.sort_unstable();
        let wanted: Vec<u32> =
            (0_u32..).zip(map.points()).filter(|(_, p)| rect.contains(**p)).map(|(n, _)| n).collect();
        assert_eq!(found, wanted);
        let nearest = (0_u32..)
            .zip(map.points())
            .map(|(seat_no, p)| (p.distance_squared(at), seat_no))
            .filter(|(distance, _)| *distance <= 90.0 * 90.0)
            .min_by(|a, b| a.partial_cmp(b).expect("finite"))
            .map(|(_, seat_no)| seat_no);
        assert_eq!(grid.nearest(at.x, at.y, 90.0), nearest);
    }
    grid.in_rect(Rect::new(-900.0, -900.0, -800.0, -800.0), &mut found);
    assert!(found.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_bytes_panic(
        flips in prop::collection::vec((0_usize..5_000, any::<u8>()), 1..6),
        json_flips in prop::collection::vec((0_usize..60_000, 32_u8..127), 0..3),
        cut in 0_usize..6_000,
    ) {
        let plan = generate::arena(200, "Arena");
        let map = encode(&plan);
        let mut bin = map.bin;
        let length = bin.len();
        for (at, byte) in flips {
            bin[at % length] = byte;
        }
        let mut json = map.json.into_bytes();
        let length = json.len();
        for (at, byte) in json_flips {
            json[at % length] = byte;
        }
        let json = String::from_utf8_lossy(&json).into_owned();
        if let Ok(map) = decode(&bin, &json) {
            for seat_no in 0..map.seat_count() {
                prop_assert!(map.seat(seat_no).is_some() && map.seat_label(seat_no).is_some());
            }
            let _ = Grid::build(&map).nearest(0.0, 0.0, 100.0);
        }
        bin.truncate(cut);
        let _ = decode(&bin, &json);
    }

    #[test]
    fn the_grid_agrees_with_a_full_search(
        points in prop::collection::vec((-500.0..500.0_f64, prop_oneof![Just(0.0), -9.0..9.0_f64]), 0..60),
        x in -600.0..600.0_f64,
        reach in 0.0..700.0_f64,
    ) {
        let points: Vec<Point> = points.into_iter().map(|(x, y)| Point::new(x, y)).collect();
        let at = Point::new(x, 1.0);
        let wanted = (0_u32..)
            .zip(&points)
            .map(|(seat_no, p)| (p.distance_squared(at), seat_no))
            .filter(|(distance, _)| *distance <= reach * reach)
            .min_by(|a, b| a.partial_cmp(b).expect("finite"))
            .map(|(_, seat_no)| seat_no);
        prop_assert_eq!(Grid::over(&points).nearest(at.x, at.y, reach), wanted);
    }
}
