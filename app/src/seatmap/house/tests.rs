//! The house: columns stay true whatever comes, own seats, blocks and marks.

use super::*;
use crate::seatmap::chart::Direction;
use crate::seatmap::chart::tests::{all_zones, chart, replaced, standing_chart};

fn at(ms: u64) -> LogPosition {
    LogPosition { ms, seq: 0 }
}

fn snapshot(house: &House, ms: u64) -> Vec<u8> {
    Frame::Snapshot { epoch: 1, at: at(ms), seats: vec![SeatState::Available; house.chart().seat_count()] }.encode()
}

fn delta(after: u64, upto: u64, changes: Vec<(u32, SeatState)>) -> Vec<u8> {
    Frame::Delta { epoch: 1, after: at(after), upto: at(upto), changes }.encode()
}

/// What the columns would be if they were computed from the start.
fn assert_columns_are_true(house: &House) {
    let mut fresh = House::new(house.chart().clone());
    fresh.live = house.live.clone();
    fresh.chosen = house.chosen.clone();
    fresh.held = house.held.clone();
    fresh.blocked = house.blocked.clone();
    fresh.opened = house.opened.clone();
    fresh.recount();
    assert_eq!(fresh.tallies, house.tallies);
    assert_eq!(fresh.looks, house.looks);
}

#[test]
fn frames_keep_columns_and_counts_true() {
    let mut house = House::new(chart(1_000));
    assert!(!house.is_ready());
    assert_eq!(house.apply(&delta(1, 2, vec![(0, SeatState::Held)])), Applied::NeedsSnapshot);
    assert_eq!(house.apply(&delta(2, 3, vec![(0, SeatState::Held)])), Applied::Waiting, "asked once");
    let first = snapshot(&house, 5);
    assert_eq!(house.apply(&first), Applied::Everything);
    let free = house.available();
    assert!(free > 0 && (free as usize) < house.chart().seat_count(), "what has no price is not free");
    let seat = (0..).map(SeatNo).find(|seat| house.is_free(*seat)).unwrap();
    assert_eq!(house.apply(&delta(5, 6, vec![(seat.0, SeatState::Held)])), Applied::Seats(vec![seat.0]));
    assert_eq!(house.available(), free - 1);
    assert_columns_are_true(&house);
    assert_eq!(house.apply(&delta(9, 10, vec![(seat.0, SeatState::Available)])), Applied::NeedsSnapshot, "a gap");
    let second = snapshot(&house, 10);
    assert_eq!(house.apply(&second), Applied::Everything);
    assert_eq!(house.available(), free);
    assert_columns_are_true(&house);
}

#[test]
fn own_seats_are_shown_as_own_whatever_the_map_says() {
    let mut house = House::new(chart(1_000));
    let frame = snapshot(&house, 1);
    house.apply(&frame);
    let mut free = (0..).map(SeatNo).filter(|seat| house.is_free(*seat));
    let (a, b) = (free.next().unwrap(), free.next().unwrap());
    house.set_own(&[a], &[b]);
    assert_eq!((house.standing(a), house.standing(b)), (Standing::Chosen, Standing::Mine));
    assert!(house.own_hold_ended(), "a held seat that is free again");
    house.apply(&delta(1, 2, vec![(b.0, SeatState::Held)]));
    assert!(!house.own_hold_ended());
    assert_columns_are_true(&house);
    house.set_own(&[], &[]);
    assert_eq!(house.standing(b), Standing::Live(SeatState::Held));
    assert_columns_are_true(&house);
}

#[test]
fn without_live_states_every_seat_with_a_zone_is_free_but_the_blocked() {
    let mut house = House::all_free(chart(1_000));
    assert!(house.is_ready());
    let free = house.available();
    let seats: Vec<SeatNo> = (0..).map(SeatNo).filter(|seat| house.is_free(*seat)).take(3).collect();
    house.set_blocked(seats.iter().copied().collect());
    assert_eq!(house.available(), free - 3);
    assert!(seats.iter().all(|seat| house.standing(*seat) == Standing::Live(SeatState::Blocked)));
    assert_columns_are_true(&house);
    house.set_blocked(BTreeSet::from([seats[0]]));
    assert_eq!(house.available(), free - 1);
    assert_columns_are_true(&house);
}

#[test]
fn what_is_sold_stays_sold_when_it_is_to_be_blocked() {
    let mut house = House::new(chart(1_000));
    let frame = snapshot(&house, 1);
    house.apply(&frame);
    let seat = (0..).map(SeatNo).find(|seat| house.is_free(*seat)).unwrap();
    house.apply(&delta(1, 2, vec![(seat.0, SeatState::Sold)]));
    house.set_blocked(BTreeSet::from([seat]));
    assert_eq!(house.standing(seat), Standing::Live(SeatState::Sold));
    house.apply(&delta(2, 3, vec![(seat.0, SeatState::Available)]));
    assert_eq!(house.standing(seat), Standing::Live(SeatState::Blocked));
    assert_columns_are_true(&house);
}

#[test]
fn seats_kept_for_the_viewer_can_be_chosen_unless_another_has_them() {
    let mut house = House::new(chart(1_000));
    let frame = snapshot(&house, 1);
    house.apply(&frame);
    let seats: Vec<SeatNo> = (0..).map(SeatNo).filter(|seat| house.is_free(*seat)).take(2).collect();
    let free = house.available();
    let kept = seats.iter().map(|seat| (seat.0, SeatState::Blocked)).collect();
    house.apply(&delta(1, 2, kept));
    assert_eq!(house.available(), free - 2, "nobody's, as far as anybody knows");
    house.set_opened(seats.iter().copied().collect());
    assert!(seats.iter().all(|seat| house.is_free(*seat) && house.mark_of(*seat) == Some(Tone::Note)));
    house.apply(&delta(2, 3, vec![(seats[0].0, SeatState::Held)]));
    assert_eq!(house.standing(seats[0]), Standing::Live(SeatState::Held));
    assert_columns_are_true(&house);
    house.set_own(&[], &[seats[1]]);
    assert!(house.own_hold_ended(), "a held seat that is kept for the viewer again");
    house.set_opened(BTreeSet::new());
    assert_eq!((house.state(seats[1]), house.marks().len()), (Some(SeatState::Blocked), 0));
    assert_columns_are_true(&house);
}

#[test]
fn moved_seats_are_coloured_and_counted_in_their_new_zone() {
    let mut house = House::all_free(chart(1_000));
    let zones = all_zones(house.chart());
    house.colour_by(&zones, &[]);
    assert_eq!(house.available() as usize, house.chart().seat_count(), "priced or not");
    let seat = SeatNo(3);
    let block = house.chart().block_of(seat);
    let to = (0..2).find(|category| *category != house.chart().category(seat)).unwrap();
    let before = house.tallies()[block].by_zone[usize::from(to)];
    house.colour_by(&zones, &[(seat, to)]);
    assert_eq!(house.tallies()[block].by_zone[usize::from(to)], before + 1);
    assert_eq!(house.looks()[3], Look::Available(colour_of(usize::from(to))).index(house.chart().kind(seat)));
}

#[test]
fn marks_are_counted_by_section_and_its_gravest_tone_shows() {
    let mut house = House::all_free(chart(1_000));
    let block = house.chart().block_of(SeatNo(0));
    let mark = |seat, tone| SeatMark { seat: SeatNo(seat), tone };
    house.set_marks(vec![mark(0, Tone::Bad), mark(0, Tone::Note), mark(1, Tone::Care), mark(u32::MAX, Tone::Bad)]);
    assert_eq!(house.marks().len(), 3, "a seat that is not in the map can't be marked");
    assert_eq!(house.marks().last().map(|mark| mark.tone), Some(Tone::Bad), "the gravest is drawn over the others");
    let tally = house.mark_tallies()[block];
    assert_eq!((tally.count(), tally.tone()), (3, Tone::Bad));
    assert_eq!(house.mark_tallies().iter().map(|tally| tally.count()).sum::<u32>(), 3);
    house.set_marks(vec![mark(1, Tone::Care)]);
    assert_eq!((house.mark_tallies()[block].count(), house.mark_tallies()[block].tone()), (1, Tone::Care));
}

#[test]
fn a_large_selection_is_shown_and_counted_by_section() {
    let mut house = House::all_free(chart(1_000));
    let all: BTreeSet<SeatNo> = (0..).map(SeatNo).take(house.chart().seat_count()).collect();
    house.set_chosen(all.clone());
    assert_eq!(house.own_by_block().iter().sum::<u32>() as usize, all.len());
    assert!(house.looks().iter().all(|look| Look::is_mine(*look)));
    assert_eq!(house.chosen_of(&house.chart().row_seats(0)), house.chart().row_seats(0).len());
    house.set_chosen(BTreeSet::new());
    assert_eq!(house.own_count(), 0);
    assert_columns_are_true(&house);
}

#[test]
fn the_keyboard_enters_at_a_free_seat_nearby() {
    let mut house = House::new(chart(1_000));
    let frame = snapshot(&house, 1);
    house.apply(&frame);
    let place = house.chart().focal_point();
    let seat = house.entry(place).unwrap();
    assert!(house.is_free(seat));
}

#[test]
fn a_map_with_fewer_seats_than_the_chart_is_not_applied() {
    let mut house = House::new(chart(1_000));
    let frame = Frame::Snapshot { epoch: 1, at: at(1), seats: vec![SeatState::Available; 7] };
    assert_eq!(house.apply(&frame.encode()), Applied::NeedsSnapshot);
    assert!(!house.is_ready());
}

#[test]
fn a_sale_with_more_seats_than_the_map_is_followed_for_those_that_are_known() {
    let mut house = House::new(chart(1_000));
    let known = u32::try_from(house.chart().seat_count()).unwrap();
    let more = |epoch, ms| {
        let seats = vec![SeatState::Available; known as usize + 5];
        Frame::Snapshot { epoch, at: at(ms), seats }.encode()
    };
    assert_eq!(house.apply(&more(1, 1)), Applied::Rebuilt, "the map was old when it was drawn");
    assert_eq!(house.live_count(), known as usize + 5);
    let seat = (0..).map(SeatNo).find(|seat| house.is_free(*seat)).unwrap();
    let changes = vec![(seat.0, SeatState::Held), (known + 2, SeatState::Sold)];
    assert_eq!(house.apply(&delta(1, 2, changes)), Applied::Seats(vec![seat.0]), "and no snapshot is asked for");
    assert_eq!(house.apply(&delta(2, 3, vec![(known + 3, SeatState::Held)])), Applied::Seats(Vec::new()));
    assert_eq!(house.standing(seat), Standing::Live(SeatState::Held));
    assert_eq!(house.looks().len(), known as usize);
    assert_columns_are_true(&house);
    assert_eq!(house.apply(&more(1, 4)), Applied::Rebuilt, "asked again with each snapshot");
}

#[test]
fn a_sale_that_was_built_anew_is_told_once() {
    let mut house = House::new(chart(1_000));
    let states = vec![SeatState::Available; house.chart().seat_count()];
    let frame = |epoch, ms| Frame::Snapshot { epoch, at: at(ms), seats: states.clone() }.encode();
    assert_eq!(house.apply(&frame(3, 1)), Applied::Everything, "the first of this page");
    assert_eq!(house.apply(&frame(3, 2)), Applied::Everything);
    house.disconnected();
    assert_eq!(house.apply(&frame(4, 1)), Applied::Rebuilt);
    assert_eq!(house.apply(&frame(4, 2)), Applied::Everything);
    assert_eq!(house.apply(&frame(3, 9)), Applied::NeedsSnapshot, "of a process that is behind");
}

#[test]
fn a_newer_chart_takes_over_all_that_is_known_of_seats() {
    let (newer, _, gone, added) = replaced();
    let mut house = House::new(chart(1_000));
    let mut states = vec![SeatState::Available; newer.seat_count()];
    states[gone.0 as usize] = SeatState::Blocked;
    let sold = (0..).map(SeatNo).find(|seat| !newer.is_gone(*seat) && newer.zone(*seat).is_some()).unwrap();
    states[sold.0 as usize] = SeatState::Sold;
    let frame = Frame::Snapshot { epoch: 1, at: at(1), seats: states.clone() };
    assert_eq!(house.apply(&frame.encode()), Applied::Rebuilt);
    let free: Vec<SeatNo> =
        (0..).map(SeatNo).filter(|seat| house.is_free(*seat) && !newer.is_gone(*seat)).take(2).collect();
    house.set_own(&free[..1], &free[1..]);
    house.set_opened(BTreeSet::from([gone, sold]));
    assert!(!house.chart().is_gone(gone) && house.chart().place(added[0]).is_none());
    house.exchange(newer);
    assert_eq!(house.chart().seat_count(), states.len());
    assert_eq!((house.standing(free[0]), house.standing(free[1])), (Standing::Chosen, Standing::Mine));
    assert_eq!(house.own_by_block().iter().sum::<u32>(), 2);
    assert_eq!(house.standing(sold), Standing::Live(SeatState::Sold));
    assert_eq!(house.is_free(added[0]), house.chart().zone(added[0]).is_some());
    assert_eq!(house.state(gone), Some(SeatState::Blocked), "even where it is kept for somebody");
    assert_eq!(house.marks().len(), 1, "there is no place that a mark could stand at");
    assert_columns_are_true(&house);
    assert_eq!(house.apply(&delta(1, 2, vec![(added[1].0, SeatState::Held)])), Applied::Seats(vec![added[1].0]));
    assert_eq!(house.standing(added[1]), Standing::Live(SeatState::Held));
    assert_columns_are_true(&house);
}

#[test]
fn what_is_gone_is_neither_free_nor_entered() {
    let (chart, row, gone, added) = replaced();
    let mut house = House::all_free(chart);
    let zones = all_zones(house.chart());
    house.colour_by(&zones, &[]);
    assert_eq!(house.available() as usize, house.chart().place_count());
    assert_eq!(house.tallies()[0], Tally { free: 0, by_zone: vec![0; house.chart().zone_count()] });
    assert_eq!((house.is_free(gone), house.state(gone)), (false, Some(SeatState::Blocked)));
    let place = house.chart().place(added[0]).unwrap();
    assert_eq!(house.entry(place), Some(added[0]));
    // Nothing is free: the nearest of all, and still not one that is gone.
    let all = (0..).map(SeatNo).take(house.chart().seat_count()).collect();
    house.set_blocked(all);
    let old = house.chart().places()[gone.0 as usize];
    assert!(house.chart().row_seats(row).contains(&house.entry(old).unwrap()));
}

#[test]
fn a_standing_area_is_one_step_of_the_keyboard_and_counts_its_own_and_its_free_places() {
    let mut house = House::new(standing_chart(2_000));
    let frame = snapshot(&house, 1);
    house.apply(&frame);
    let pit = house.chart().pits()[0].clone();
    assert!(pit.whole && pit.name == "Pit");
    let places = house.chart().row_seats(pit.area);
    assert!(places.iter().all(|place| house.chart().in_whole_pit(*place)));
    let all = u32::try_from(places.len()).unwrap();
    assert_eq!(house.free_in(&pit), all);
    house.apply(&delta(1, 2, vec![(places[0].0, SeatState::Sold)]));
    assert_eq!(house.free_in(&pit), all - 1);
    house.set_wanted(&[AreaWish { area: pit.area, count: 3 }]);
    house.set_own(&[], &places[1..3]);
    assert_eq!(house.own_in(&pit), 5);
    for direction in [Direction::Left, Direction::Right, Direction::Up, Direction::Down] {
        let next = house.chart().beyond(places[places.len() / 2], direction);
        assert!(
            next.is_none_or(|next| house.chart().pit_of(next).is_none_or(|of| of.area != pit.area)),
            "{direction:?}"
        );
    }
}
