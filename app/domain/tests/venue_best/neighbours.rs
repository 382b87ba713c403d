//! Neighbours in made and in real houses.

use crate::house;
use domain::SeatNo;
use domain::venue::adjacency::Adjacency;
use domain::venue::generate::{SEAT_PITCH, arena};
use domain::venue::plan::{Kind, Plan};
use domain::venue::{Point, pretix};
use std::collections::BTreeSet;

/// One row object of ordinary seats.
fn row(places: &[(f64, f64)]) -> Plan {
    house(vec![vec![places.iter().map(|(x, y)| (Point::new(*x, *y), Kind::Seat)).collect()]])
}

/// Runs as the positions of their seats in the row, ascending by the first, each from its lower end.
fn runs(plan: &Plan) -> Vec<Vec<u32>> {
    let adjacency = Adjacency::of(plan);
    let index = |seat: &SeatNo| plan.seat(seat.0).unwrap().index_in_row;
    let mut runs: Vec<Vec<u32>> = adjacency.runs().map(|run| run.iter().map(index).collect()).collect();
    for run in &mut runs {
        if run.first() > run.last() {
            run.reverse();
        }
    }
    runs.sort();
    runs
}

#[test]
fn an_aisle_is_no_neighbour_and_a_usual_gap_is() {
    let aisle = [0.0, 24.0, 48.0, 90.0, 114.0, 138.0];
    assert_eq!(runs(&row(&aisle.map(|x| (x, 0.0)))), [vec![0, 1, 2], vec![3, 4, 5]]);
    // A seat that was taken out leaves a gap of two steps.
    let missing = [0.0, 22.0, 45.0, 89.0, 111.0, 134.0];
    assert_eq!(runs(&row(&missing.map(|x| (x, 0.0)))), [vec![0, 1, 2], vec![3, 4, 5]]);
    let wide = [0.0, 60.0, 120.0, 180.0, 240.0];
    assert_eq!(runs(&row(&wide.map(|x| (x, 0.0)))), [vec![0, 1, 2, 3, 4]]);
}

#[test]
fn the_order_of_sitting_is_told_from_places_and_not_from_the_file() {
    // Odd numbers to the left, even ones to the right of the middle.
    let places = [0.0, 24.0, -24.0, 48.0, -48.0, 72.0];
    assert_eq!(
        runs(&row(&places.map(|x| (x, 0.0)))),
        [vec![4, 2, 0, 1, 3, 5]]
            .map(|run| { if run[0] > run[5] { run.into_iter().rev().collect::<Vec<u32>>() } else { run } })
    );
}

#[test]
fn curved_rows_corners_and_rings_are_followed() {
    let arc = |from: f64, to: f64, count: u32| -> Vec<(f64, f64)> {
        (0..count)
            .map(|seat| {
                let angle = from + (to - from) * f64::from(seat) / f64::from(count);
                (200.0 * angle.cos(), 200.0 * angle.sin())
            })
            .collect()
    };
    let half = arc(0.0, std::f64::consts::PI, 26);
    assert_eq!(runs(&row(&half)), [(0..26).collect::<Vec<u32>>()]);
    let ring = runs(&row(&arc(0.0, std::f64::consts::TAU, 52)));
    assert_eq!((ring.len(), ring[0].len()), (1, 52), "a ring is cut once");
    let corner: Vec<(f64, f64)> =
        (0..6).map(|n| (f64::from(n) * 24.0, 0.0)).chain((1..6).map(|n| (120.0, f64::from(n) * 24.0))).collect();
    assert_eq!(runs(&row(&corner)), [(0..11).collect::<Vec<u32>>()]);
}

#[test]
fn a_block_in_one_row_object_falls_into_its_lines() {
    let block: Vec<(f64, f64)> =
        (0..5).flat_map(|line| (0..6).map(move |seat| (f64::from(seat) * 22.0, f64::from(line) * 22.0))).collect();
    let lines: Vec<Vec<u32>> = (0..5).map(|line| (line * 6..line * 6 + 6).collect()).collect();
    assert_eq!(runs(&row(&block)), lines);
    let square = [(0.0, 0.0), (24.0, 0.0), (0.0, 24.0), (24.0, 24.0)];
    assert_eq!(runs(&row(&square)), [vec![0, 1], vec![2, 3]]);
}

#[test]
fn seats_drawn_over_each_other_and_lone_seats_have_no_neighbours() {
    assert_eq!(runs(&row(&[(5.0, 5.0); 4])).len(), 4);
    assert_eq!(runs(&row(&[(5.0, 5.0)])).len(), 1);
    assert_eq!(Adjacency::of(&house(vec![])).runs().count(), 0);
}

#[test]
fn protected_and_standing_places_belong_to_no_run_and_end_it() {
    let kinds = [Kind::Seat, Kind::Seat, Kind::Wheelchair, Kind::Seat, Kind::Companion, Kind::Seat, Kind::Seat];
    let mixed = kinds.iter().enumerate().map(|(at, kind)| (Point::new(at as f64 * 24.0, 0.0), *kind)).collect();
    let standing = (0..9).map(|at| (Point::new(f64::from(at) * 10.0, 90.0), Kind::Standing)).collect();
    assert_eq!(runs(&house(vec![vec![mixed, standing]])), [vec![0, 1], vec![3], vec![5, 6]]);
}

/// Each ordinary seat once, neighbours near each other, in one row object, and none between them.
fn check_runs(plan: &Plan) -> Vec<usize> {
    let adjacency = Adjacency::of(plan);
    let mut seen = BTreeSet::new();
    let mut lengths = Vec::new();
    for run in adjacency.runs() {
        lengths.push(run.len());
        for seat in run {
            assert!(seen.insert(*seat));
            assert_eq!(plan.seat(seat.0).unwrap().kind, Kind::Seat);
        }
        for pair in run.windows(2) {
            let (a, b) = (plan.seat(pair[0].0).unwrap(), plan.seat(pair[1].0).unwrap());
            assert_eq!((a.row, a.section), (b.row, b.section));
        }
    }
    assert_eq!(seen.len(), plan.seats.iter().filter(|seat| seat.kind == Kind::Seat).count());
    lengths
}

#[test]
fn generated_houses_have_a_run_for_each_ordinary_row() {
    for seats in [200, 1_500, 20_000, 60_000] {
        let plan = arena(seats, "Arena");
        check_runs(&plan);
        let rows = plan.seats_by_row();
        let ordinary = rows.iter().filter(|row| plan.seat(row[0]).unwrap().kind == Kind::Seat).count();
        assert_eq!(Adjacency::of(&plan).runs().count(), ordinary, "{seats}");
        for run in Adjacency::of(&plan).runs() {
            for pair in run.windows(2) {
                let way = plan.seat(pair[0].0).unwrap().center().distance(plan.seat(pair[1].0).unwrap().center());
                assert!(way < SEAT_PITCH * 1.2, "{way}");
            }
        }
    }
}

#[test]
fn a_real_stadium_has_a_run_for_each_row() {
    let text = include_str!("../fixtures/pretix-seatmap-canvas-stadium.json");
    let plan = pretix::import(text, pretix::Mode::Tolerant).unwrap().plan;
    let lengths = check_runs(&plan);
    assert_eq!(lengths.len(), plan.rows.len());
}

#[cfg(feature = "import")]
#[test]
fn real_tables_with_blocks_sides_and_gaps_are_cut_where_people_walk() {
    use domain::venue::import::{Options, read};
    const HALLS: [&[u8]; 3] = [
        include_bytes!("../fixtures/ticketland-1115.csv"),
        include_bytes!("../fixtures/ticketland-1115.utf8bom.csv"),
        include_bytes!("../fixtures/ticketland-1115.cp1251-semicolon.csv"),
    ];
    let mut all = Vec::new();
    for hall in HALLS {
        let plan = read(hall, "hall.csv", &Options::default()).plan.unwrap();
        check_runs(&plan);
        let adjacency = Adjacency::of(&plan);
        for run in adjacency.runs() {
            for pair in run.windows(2) {
                let (a, b) = (plan.seat(pair[0].0).unwrap().center(), plan.seat(pair[1].0).unwrap().center());
                assert!(a.distance(b) <= 24.0, "{a:?} and {b:?}");
                // Rows of the floor run across, those of the boxes along the walls.
                assert!((a.x - b.x).abs() < 1.5 || (a.y - b.y).abs() < 1.5, "{a:?} and {b:?}");
            }
        }
        let floor =
            |run: &&[SeatNo]| plan.sections[usize::from(plan.seat(run[0].0).unwrap().section)].name.contains("партер");
        let lines: Vec<&[SeatNo]> = adjacency.runs().filter(floor).collect();
        assert_eq!(lines.iter().map(|run| run.len()).sum::<usize>(), 900);
        assert!(lines.iter().all(|run| run.len() >= 2), "nobody on the floor is alone");
        for run in lines {
            let y = plan.seat(run[0].0).unwrap().y;
            assert!(run.iter().all(|seat| (plan.seat(seat.0).unwrap().y - y).abs() < 1.5), "a line runs across");
        }
        all.push(adjacency.runs().map(<[SeatNo]>::len).collect::<Vec<_>>());
    }
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]));
    let metalist = include_bytes!("../fixtures/metalist-kharkiv-39616.csv");
    let plan = read(metalist, "metalist.csv", &Options::default()).plan.unwrap();
    assert!(check_runs(&plan).into_iter().filter(|length| *length == 1).count() < 40);
}
