//! The house: columns stay true whatever comes, own seats, blocks and marks.

use super::*;
use crate::seatmap::chart::Direction;
use crate::seatmap::chart::tests::{all_zones, chart, standing_chart};

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
fn a_map_of_another_size_is_not_applied() {
    let mut house = House::new(chart(1_000));
    let frame = Frame::Snapshot { epoch: 1, at: at(1), seats: vec![SeatState::Available; 7] };
    assert_eq!(house.apply(&frame.encode()), Applied::NeedsSnapshot);
    assert!(!house.is_ready());
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
