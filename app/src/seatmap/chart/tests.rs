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
