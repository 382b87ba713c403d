//! The chart of a generated house: columns, neighbours, rectangles, rows, moved zones.

use super::*;
use domain::Money;
use domain::catalog::PriceZone;
use domain::venue::generate::{arena, standing_arena};
use domain::venue::static_map::{decode, encode};

/// A generated house whose last category has no price.
pub(in crate::seatmap) fn chart(seats: u32) -> Chart {
    chart_with(seats, |_| {})
}

/// The same of a plan that was changed.
pub(in crate::seatmap) fn chart_with(seats: u32, change: impl FnOnce(&mut domain::venue::Plan)) -> Chart {
    let mut plan = arena(seats, "Test hall");
    change(&mut plan);
    published(&plan)
}

/// The house of [`chart`] after a newer version of its plan took away the first section, a row, and the
/// first seat of another row, and put a seat in front of that row and one behind it. The numbers of the row,
/// of the seat that is gone, and of the two that are new.
pub(in crate::seatmap) fn replaced() -> (Chart, u32, SeatNo, [SeatNo; 2]) {
    let mut told = None;
    let chart = chart_with(1_000, |plan| {
        let rows = plan.seats_by_row();
        let long = |section: u16| {
            let of_section = |row: &u32| plan.rows[*row as usize].section == section;
            (0..)
                .take(rows.len())
                .filter(of_section)
                .filter(|row: &u32| rows[*row as usize].len() > 3)
                .collect::<Vec<_>>()
        };
        let (empty, row) = (long(1)[0], long(1)[1]);
        let (first, last) = (rows[row as usize][0], *rows[row as usize].last().unwrap());
        let step = plan.seats[rows[row as usize][1] as usize].center().minus(plan.seats[first as usize].center());
        for seat in plan.seats.iter_mut().filter(|seat| seat.section == 0 || seat.row == empty) {
            seat.gone = true;
        }
        let next_number = u32::try_from(plan.seats.len()).unwrap();
        let added = [(first, -1.0), (last, 1.0)].map(|(beside, way)| {
            let beside = &plan.seats[beside as usize];
            let number = beside.label.parse::<i32>().unwrap() + if way < 0.0 { 0 } else { 1 };
            domain::venue::plan::Seat {
                // In front stands what replaces the first seat, a little aside of it.
                x: beside.x + step.x * if way < 0.0 { -0.5 } else { way },
                y: beside.y + step.y * if way < 0.0 { -0.5 } else { way },
                guid: format!("added {way}"),
                label: number.to_string(),
                ..beside.clone()
            }
        });
        plan.seats[first as usize].gone = true;
        plan.seats.extend(added);
        told = Some((row, SeatNo(first), [SeatNo(next_number), SeatNo(next_number + 1)]));
    });
    let (row, gone, added) = told.unwrap();
    (chart, row, gone, added)
}

/// A house with places to stand before the stage.
pub(in crate::seatmap) fn standing_chart(seats: u32) -> Chart {
    published(&standing_arena(seats, "Test hall"))
}

fn published(plan: &domain::venue::Plan) -> Chart {
    let files = encode(plan);
    let map = decode(&files.bin, &files.json).unwrap();
    let prices = prices(&map);
    Chart::new(map, &Zones::of(&prices))
}

fn prices(map: &MapData) -> Vec<PriceZone> {
    let last = map.seat_categories().iter().copied().max().unwrap();
    (0..=last)
        .map(|category| PriceZone {
            category,
            name: format!("category {category}"),
            price: (category != last).then(|| Money::new(9_000 - 500 * i64::from(category), "EUR".parse().unwrap())),
        })
        .collect()
}

/// The zones of [`chart`], priced or not.
pub(in crate::seatmap) fn all_zones(chart: &Chart) -> Zones {
    Zones::painted(crate::seatmap::Paint::ByZone, &prices(&chart.map))
}

#[test]
fn every_seat_has_its_columns_and_lies_in_its_section() {
    let chart = chart(2_000);
    assert!(chart.seat_count() >= 1_900);
    for seat in (0..).take(chart.seat_count()).map(SeatNo) {
        let block = &chart.blocks()[chart.block_of(seat)];
        assert!(block.bounds.contains(chart.place(seat).unwrap()));
        assert!(chart.label(seat).is_some() && chart.radius(seat) > 0.0);
    }
    assert!(!chart.row_marks().is_empty());
}

#[test]
fn a_rectangle_holds_the_seats_whose_centre_lies_in_it_and_no_other() {
    let chart = chart(2_000);
    let all = chart.view_box();
    let area = Rect { min: all.min, max: all.center() };
    let found: std::collections::BTreeSet<SeatNo> = chart.centres_in(area).into_iter().collect();
    let by_hand = (0..).map(SeatNo).zip(chart.places()).filter(|(_, place)| area.contains(**place));
    assert_eq!(found, by_hand.map(|(seat, _)| seat).collect());
    assert!(!found.is_empty() && found.len() < chart.seat_count());
    assert_eq!(chart.centres_in(all).len(), chart.seat_count());
}

#[test]
fn rows_and_sections_part_the_house() {
    let chart = chart(2_000);
    let mut seen = 0;
    for block in 0..chart.blocks().len() {
        let seats = chart.block_seats(block);
        let of_rows: Vec<SeatNo> = chart.block_rows(block).iter().flat_map(|(row, _)| chart.row_seats(*row)).collect();
        assert_eq!(of_rows.iter().collect::<std::collections::BTreeSet<_>>(), seats.iter().collect());
        assert!(seats.iter().all(|seat| chart.block_of(*seat) == block));
        seen += seats.len();
    }
    assert_eq!(seen, chart.seat_count());
}

#[test]
fn moved_seats_have_their_new_zone_until_they_are_moved_back() {
    let mut chart = chart(2_000);
    let zones = all_zones(&chart);
    chart.colour_by(&zones, &[]);
    let before = chart.zone_sizes();
    assert_eq!(before.iter().sum::<u32>() as usize, chart.seat_count());
    let seat = SeatNo(5);
    let (from, other) = (chart.category(seat), if chart.category(seat) == 0 { 1 } else { 0 });
    let colouring = chart.colouring();
    chart.colour_by(&zones, &[(seat, other), (SeatNo(u32::MAX), 0)]);
    assert_ne!(chart.colouring(), colouring);
    assert_eq!((chart.category(seat), chart.zone(seat)), (other, Some(usize::from(other))));
    assert_eq!(chart.zone_sizes()[usize::from(other)], before[usize::from(other)] + 1);
    // A category that nobody knows is in no zone, as it would be not for sale.
    chart.colour_by(&zones, &[(seat, 251)]);
    assert_eq!(chart.zone(seat), None);
    chart.colour_by(&zones, &[]);
    assert_eq!((chart.category(seat), chart.zone_sizes()), (from, before));
}

#[test]
fn arrows_lead_to_neighbours_and_back_along_a_row() {
    let chart = chart(2_000);
    let start = chart.nearest(chart.focal_point(), f64::MAX.sqrt() / 4.0).unwrap();
    let mut reached = std::collections::BTreeSet::from([start]);
    let mut open = vec![start];
    while let Some(seat) = open.pop() {
        for direction in [Direction::Left, Direction::Right, Direction::Up, Direction::Down] {
            if let Some(next) = chart.beside(seat, direction) {
                let step = chart.place(next).unwrap().minus(chart.place(seat).unwrap());
                let ahead = match direction {
                    Direction::Left => -step.x,
                    Direction::Right => step.x,
                    Direction::Up => -step.y,
                    Direction::Down => step.y,
                };
                assert!(ahead > 0.0, "an arrow never leads backwards");
                if reached.insert(next) {
                    open.push(next);
                }
            }
        }
    }
    // By keyboard alone, practically the whole house can be reached.
    assert!(reached.len() * 100 >= chart.seat_count() * 99, "{} of {}", reached.len(), chart.seat_count());
}

#[test]
fn what_is_gone_is_in_no_section_row_zone_or_count_and_found_by_nothing() {
    let (mut chart, row, gone, added) = replaced();
    let zones = all_zones(&chart);
    chart.colour_by(&zones, &[(gone, 0)]);
    assert!(chart.is_gone(gone) && !chart.is_gone(added[0]));
    assert_eq!((chart.place(gone), chart.zone(gone)), (None, None));
    assert!(chart.label(gone).is_some(), "who has chosen it is told what it was");
    let there = (0..).map(SeatNo).take(chart.seat_count()).filter(|seat| !chart.is_gone(*seat)).count();
    assert_eq!(chart.place_count(), there);
    assert!(there < chart.seat_count());
    assert_eq!(chart.zone_sizes().iter().sum::<u32>() as usize, there);
    assert_eq!(chart.blocks().iter().map(|block| block.seats).sum::<u32>() as usize, there);
    assert_eq!(chart.centres_in(chart.view_box().grown(1e6)).len(), there);
    assert_eq!((chart.block_sizes()[0], chart.blocks()[0].rings.len()), (0, 0));
    assert!(chart.block_seats(0).is_empty() && chart.block_rows(0).is_empty());
    let of_block = chart.block_rows(chart.block_of(added[0]));
    assert!(of_block.iter().any(|(index, _)| *index == row));
    assert!(of_block.iter().all(|(index, _)| !chart.row_seats(*index).is_empty()), "an emptied row is not listed");
    assert_ne!(chart.block_of(gone), chart.block_of(added[0]));
    assert!(chart.block_seats(chart.block_of(gone)).is_empty());
    let all = chart.blocks().len();
    let sum = (0..all).map(|block| chart.block_seats(block).len()).sum::<usize>();
    assert_eq!(sum, there);
}

#[test]
fn a_row_is_named_and_walked_as_it_sits_whatever_its_numbers_are() {
    let (chart, row, gone, added) = replaced();
    let members = chart.row_seats(row);
    assert!(members.contains(&added[0]) && members.contains(&added[1]) && !members.contains(&gone));
    let place = |seat: SeatNo| chart.place(seat).unwrap();
    let marked = chart.row_marks().iter().map(|mark| mark.at);
    let nearest = marked.min_by(|a, b| a.distance(place(added[0])).total_cmp(&b.distance(place(added[0])))).unwrap();
    assert!(
        nearest.distance(place(added[0])) < chart.radius(added[0]) * 2.2,
        "the name stands beside the new first seat"
    );
    assert!(members.iter().all(|seat| nearest.distance(place(*seat)) > chart.radius(*seat)), "and on none");
    // From the new seat in front along the whole row to the one behind.
    let ahead = place(members[1]).minus(place(added[0]));
    let direction = match (ahead.x.abs() >= ahead.y.abs(), ahead.x > 0.0, ahead.y > 0.0) {
        (true, true, _) => Direction::Right,
        (true, false, _) => Direction::Left,
        (false, _, true) => Direction::Down,
        (false, _, false) => Direction::Up,
    };
    let (mut at, mut walked) = (added[0], vec![added[0]]);
    while at != added[1] {
        at = chart.beside(at, direction).unwrap();
        walked.push(at);
        assert!(members.contains(&at), "{at} is not of the row");
    }
    assert_eq!(walked.len(), members.len());
}

#[test]
fn a_plan_that_was_not_replaced_names_its_rows_before_their_lowest_seat() {
    let chart = chart(2_000);
    for mark in chart.row_marks() {
        let first = chart.nearest(mark.at, f64::MAX.sqrt() / 4.0).unwrap();
        let row = chart.row_of(first).unwrap();
        assert_eq!(chart.row_seats(row).first(), Some(&first));
    }
}
