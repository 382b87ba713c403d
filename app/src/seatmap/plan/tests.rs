//! The seam between a map and the organizers' page: what is meant on the map, and what comes of it.

use super::*;
use crate::i18n::Locale;
use crate::seatmap::chart::Chart;
use crate::seatmap::chart::tests::{all_zones, chart, chart_with, replaced};
use domain::venue::Point;
use domain::venue::plan::Kind;

fn shown(chart: Chart, selection: Option<RwSignal<BTreeSet<SeatNo>>>) -> Plan {
    let zones = all_zones(&chart);
    let scene = Scene::new(Locale::en, zones.clone(), RwSignal::new(None));
    let mut house = House::all_free(chart);
    house.colour_by(&zones, &[]);
    scene.put(house);
    Plan {
        scene,
        digest: Signal::default(),
        painted: Memo::new(move |_| zones.clone()),
        moved: Signal::default(),
        blocked: Signal::default(),
        marks: Signal::default(),
        live: None,
        selection,
        mode: RwSignal::new(Mode::Move),
    }
}

/// Runs with a plan on which seats can be selected.
fn selecting(test: impl FnOnce(Plan, RwSignal<BTreeSet<SeatNo>>)) {
    let owner = Owner::new();
    owner.with(|| {
        let selection = RwSignal::new(BTreeSet::new());
        test(shown(chart(1_000), Some(selection)), selection);
    });
}

fn set(seats: &[SeatNo]) -> BTreeSet<SeatNo> {
    seats.iter().copied().collect()
}

#[test]
fn a_tap_goes_to_a_seat_while_moving_and_selects_it_while_selecting() {
    selecting(|plan, selection| {
        let seat = SeatNo(4);
        plan.take(Meant::Seat(seat));
        assert_eq!((plan.scene.focus.get_untracked(), selection.get_untracked()), (Some(seat), set(&[])));
        plan.mode.set(Mode::Add);
        plan.take(Meant::Seat(seat));
        assert_eq!(selection.get_untracked(), set(&[seat]));
        plan.take(Meant::Seat(seat));
        assert_eq!(selection.get_untracked(), set(&[]));
        plan.mode.set(Mode::Move);
        plan.take(Meant::Pressed(seat));
        assert_eq!(selection.get_untracked(), set(&[seat]), "a key selects whatever a drag does");
    });
}

#[test]
fn rectangles_rows_and_sections_select_and_take_away() {
    selecting(|plan, selection| {
        let (a, b, c) = (SeatNo(0), SeatNo(1), SeatNo(2));
        plan.take(Meant::Seats { seats: vec![a, b, c], removes: false });
        plan.take(Meant::Seats { seats: vec![b], removes: true });
        assert_eq!(selection.get_untracked(), set(&[a, c]));
        plan.take(Meant::Row);
        assert_eq!(selection.get_untracked(), set(&[a, c]), "no seat is in focus");
        plan.scene.focus.set(Some(a));
        plan.take(Meant::Row);
        let row = plan.focused_row();
        assert!(row.contains(&a) && row.len() > 1);
        assert!(selection.get_untracked().is_superset(&set(&row)));
        let block = plan.scene.with_house(|house| house.chart().block_of(a)).unwrap();
        plan.take(Meant::Section);
        assert_eq!(selection.get_untracked(), set(&plan.block_seats(block)));
        plan.mode.set(Mode::Remove);
        plan.take(Meant::Row);
        assert_eq!(selection.get_untracked().len(), plan.block_seats(block).len() - row.len());
        plan.take(Meant::Block(block));
        assert_eq!(selection.get_untracked(), set(&[]));
        plan.take(Meant::Block(block));
        assert_eq!(selection.get_untracked(), set(&[]), "taking away never adds");
    });
}

#[test]
fn where_nothing_can_be_selected_a_tap_shows_what_a_seat_is() {
    let owner = Owner::new();
    owner.with(|| {
        let plan = shown(chart(1_000), None);
        plan.take(Meant::Block(0));
        plan.take(Meant::Seats { seats: vec![SeatNo(0)], removes: false });
        plan.take(Meant::Pressed(SeatNo(1)));
        assert_eq!(plan.scene.focus.get_untracked(), None);
        plan.take(Meant::Seat(SeatNo(1)));
        assert_eq!(plan.scene.focus.get_untracked(), Some(SeatNo(1)));
    });
}

#[test]
fn a_seat_is_told_with_zone_price_selection_block_and_mark() {
    selecting(|plan, _| {
        let seat = SeatNo(3);
        let told = || plan.tell(Tip::Seat(seat, Point::default())).unwrap();
        let [place, details] = told();
        assert!(place.starts_with("Section ") && place.contains("row ") && place.contains("seat "), "{place}");
        assert!(details.starts_with("Zone ") && details.contains('€'), "{details}");
        assert!(!details.contains("available"), "without live states, free says nothing: {details}");
        plan.scene.update(|house| house.set_blocked(set(&[seat])));
        plan.scene.update(|house| house.set_marks(vec![SeatMark { seat, tone: Tone::Bad }]));
        assert!(told()[1].ends_with("not for sale, has an error"), "{}", told()[1]);
        plan.scene.update(|house| house.set_chosen(set(&[seat])));
        assert!(told()[1].contains("selected"), "{}", told()[1]);
        let block = plan.scene.with_house(|house| house.chart().block_of(seat)).unwrap();
        let [_, details] = plan.tell(Tip::Block(block, Point::default())).unwrap();
        assert!(details.contains("1 selected") && details.contains("1 marked"), "{details}");
        assert_eq!(plan.tell(Tip::Seat(SeatNo(u32::MAX), Point::default())), None);
    });
}

#[test]
fn what_is_gone_is_neither_told_nor_selected() {
    let owner = Owner::new();
    owner.with(|| {
        let (chart, row, gone, added) = replaced();
        let members = chart.row_seats(row);
        let selection = RwSignal::new(BTreeSet::new());
        let plan = shown(chart, Some(selection));
        assert_eq!(plan.tell(Tip::Seat(gone, Point::default())), None);
        plan.take(Meant::Block(0));
        assert_eq!(selection.get_untracked(), set(&[]), "nothing is left of this section");
        plan.scene.focus.set(Some(gone));
        plan.take(Meant::Section);
        assert_eq!(selection.get_untracked(), set(&[]), "it is in no section");
        plan.scene.focus.set(Some(added[1]));
        plan.take(Meant::Row);
        assert_eq!(selection.get_untracked(), set(&members));
    });
}

#[test]
fn a_standing_place_is_told_without_a_number() {
    let owner = Owner::new();
    owner.with(|| {
        let plan = shown(chart_with(1_000, |plan| plan.seats[3].kind = Kind::Standing), None);
        let [place, details] = plan.tell(Tip::Seat(SeatNo(3), Point::default())).unwrap();
        assert!(place.ends_with("standing place"), "{place}");
        assert!(!place.contains("seat ") && !details.contains("tanding"), "{place}; {details}");
    });
}
