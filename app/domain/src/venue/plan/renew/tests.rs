//! What stays and what is gone when a plan takes the place of another, in houses of a few rows.

use super::super::{Category, Draft, DraftRow, DraftSeat, DraftSection};
use super::*;
use crate::ids::SeatNo;
use crate::venue::adjacency::Adjacency;
use crate::venue::geometry::Point;
use crate::venue::static_map;
use proptest::prelude::*;

/// Section, row, seat, guid, category; a section "Pit" is one to stand in.
type Told = (&'static str, String, String, String, usize);

fn plan(seats: &[Told]) -> Plan {
    let mut draft = Draft {
        name: "House".to_owned(),
        categories: ["Front", "Back"].map(|name| Category { name: name.to_owned(), color: None }).to_vec(),
        ..Draft::default()
    };
    for (section, row, label, guid, category) in seats {
        let at = draft.sections.iter().position(|drawn| drawn.name == *section).unwrap_or_else(|| {
            draft.sections.push(DraftSection { name: (*section).to_owned(), ..DraftSection::default() });
            draft.sections.len() - 1
        });
        let rows = &mut draft.sections[at].rows;
        let at = rows.iter().position(|drawn| drawn.label == *row).unwrap_or_else(|| {
            let position = Point::new(0.0, rows.len() as f64 * 30.0);
            rows.push(DraftRow { label: row.clone(), position, ..DraftRow::default() });
            rows.len() - 1
        });
        let seats = &mut rows[at].seats;
        seats.push(DraftSeat {
            guid: guid.clone(),
            label: label.clone(),
            position: Point::new(seats.len() as f64 * 25.0, 0.0),
            radius: 10.0,
            category: *category,
            kind: if *section == "Pit" { Kind::Standing } else { Kind::Seat },
            restricted_view: false,
            start_direction: None,
            uuid: None,
        });
    }
    draft.finish().unwrap()
}

fn seat(section: &'static str, row: &str, label: &str) -> Told {
    (section, row.to_owned(), label.to_owned(), format!("{section}-{row}-{label}"), 0)
}

fn row(section: &'static str, row: &str, labels: std::ops::RangeInclusive<u32>) -> Vec<Told> {
    labels.map(|label| seat(section, row, &label.to_string())).collect()
}

fn number(plan: &Plan, guid: &str) -> u32 {
    let mut found = (0..).zip(&plan.seats).filter(|(_, seat)| !seat.gone && seat.guid == guid);
    let (number, _) = found.next().unwrap_or_else(|| panic!("no seat {guid}"));
    assert!(found.next().is_none(), "two seats {guid}");
    number
}

fn label(plan: &Plan, number: u32) -> String {
    let label = plan.seat_label(number).unwrap();
    format!("{}/{}/{}", label.section, label.row, label.seat)
}

#[test]
fn the_same_plan_changes_nothing() {
    let old = plan(&[row("Floor", "1", 1..=4), row("Pit", "", 1..=3)].concat());
    let told = renew(&old, &old).unwrap();
    assert_eq!(told.plan, old);
    assert_eq!((told.kept, told.moved, told.recategorized), (7, 0, 0));
    assert!(told.changes_nothing(&old));
    assert!(told.added.is_empty() && told.gone.is_empty() && told.renamed.is_empty() && told.revived.is_empty());
}

#[test]
fn seats_keep_their_numbers_whatever_is_put_before_or_taken_from_between_them() {
    let old = plan(&[row("Floor", "2", 1..=4), row("Floor", "3", 1..=4)].concat());
    let mut seats = [row("Stage", "0", 1..=2), row("Floor", "1", 1..=3), row("Floor", "2", 1..=6)].concat();
    seats.extend(row("Floor", "3", 1..=4));
    seats.retain(|seat| seat.3 != "Floor-2-2");
    let new = plan(&seats);
    let told = renew(&old, &new).unwrap();
    for (no, before) in (0..).zip(&old.seats) {
        let after = &told.plan.seats[no as usize];
        assert_eq!((after.guid.as_str(), after.gone), (before.guid.as_str(), before.guid == "Floor-2-2"));
        assert_eq!(label(&told.plan, no), label(&old, no));
    }
    assert_eq!(told.gone, [number(&old, "Floor-2-2")]);
    assert_eq!(told.kept, 7);
    let added: Vec<String> = told.added.iter().map(|no| label(&told.plan, *no)).collect();
    assert_eq!(added, ["Stage/0/1", "Stage/0/2", "Floor/1/1", "Floor/1/2", "Floor/1/3", "Floor/2/5", "Floor/2/6"]);
    assert_eq!(told.added, [8, 9, 10, 11, 12, 13, 14]);
    // Rows are told by index where places to stand are drawn from: they stay, too.
    assert_eq!(told.plan.rows.iter().map(|row| row.label.as_str()).collect::<Vec<_>>(), ["2", "3", "0", "1"]);
    assert_eq!(told.plan.sections.iter().map(|section| section.name.as_str()).collect::<Vec<_>>(), ["Floor", "Stage"]);
    // In the order of sitting, not of numbers; without the one that is gone.
    let sitting = told.plan.seats_by_row();
    let labels: Vec<String> = sitting[0].iter().map(|no| told.plan.seats[*no as usize].label.clone()).collect();
    assert_eq!(labels, ["1", "3", "4", "5", "6"]);
}

#[test]
fn seats_of_other_ids_are_known_by_their_words_where_these_are_told_once() {
    let old = plan(&[row("Floor", "1", 1..=3), vec![("Floor", "1".into(), "x".into(), "first".into(), 0)]].concat());
    let mut seats = row("Floor", "1", 1..=3);
    seats.iter_mut().for_each(|seat| seat.3 = format!("other-{}", seat.2));
    seats.push(("Floor", "1".to_owned(), "x".to_owned(), "second".to_owned(), 0));
    seats.push(("Floor", "1".to_owned(), "x".to_owned(), "third".to_owned(), 0));
    let told = renew(&old, &plan(&seats)).unwrap();
    assert_eq!((told.kept, told.added.len()), (3, 2), "nobody knows which of the two seats x the old one is");
    assert_eq!(told.gone, [number(&old, "first")]);
    assert_eq!(told.plan.seats[0].guid, "other-1");
}

#[test]
fn a_seat_that_moves_is_renamed_or_changes_its_category_is_told_and_keeps_its_category() {
    let old = plan(&row("Floor", "1", 1..=3));
    let mut seats = row("Floor", "1", 1..=3);
    seats[1].2 = "2 bis".to_owned();
    seats[2].4 = 1;
    let told = renew(&old, &plan(&seats)).unwrap();
    assert!(!told.changes_nothing(&old));
    let renamed = number(&old, "Floor-1-2");
    assert_eq!((told.renamed.as_slice(), told.recategorized), (&[renamed][..], 1));
    assert_eq!(label(&told.plan, renamed), "Floor/1/2 bis");
    assert_eq!(told.plan.seats[number(&old, "Floor-1-3") as usize].category, 0);
}

#[test]
fn a_row_of_another_label_leaves_the_seats_that_are_gone_their_old_words() {
    let old = plan(&row("Floor", "1", 1..=3));
    let mut seats = row("Floor", "A", 1..=2);
    seats.iter_mut().zip(["Floor-1-1", "Floor-1-2"]).for_each(|(seat, guid)| guid.clone_into(&mut seat.3));
    let told = renew(&old, &plan(&seats)).unwrap();
    assert_eq!(label(&told.plan, 0), "Floor/A/1");
    assert_eq!((told.gone.as_slice(), label(&told.plan, 2).as_str()), (&[2][..], "Floor/1/3"));
    let read = Plan::from_document(&told.plan.to_renewed_document()).unwrap();
    assert_eq!(read, told.plan);
}

#[test]
fn a_place_to_stand_never_becomes_a_seat_and_an_area_keeps_its_index() {
    let old = plan(&[row("Floor", "1", 1..=2), row("Pit", "", 1..=4)].concat());
    let mut seats = [row("Balcony", "1", 1..=2), row("Floor", "1", 1..=2), row("Pit", "", 1..=6)].concat();
    // One place of the pit comes back as a seat on the balcony.
    seats[0].3 = "Pit--2".to_owned();
    seats.retain(|seat| !(seat.0 == "Pit" && seat.2 == "2"));
    let told = renew(&old, &plan(&seats)).unwrap();
    assert_eq!(told.gone, [number(&old, "Pit--2")]);
    let pit = old.seats[number(&old, "Pit--1") as usize].row;
    for place in told.plan.seats.iter().filter(|seat| stands(seat)) {
        assert_eq!(place.row, pit, "{place:?}");
    }
}

#[test]
fn a_seat_that_comes_back_has_its_old_number() {
    let old = plan(&row("Floor", "1", 1..=4));
    let without = renew(&old, &plan(&[row("Floor", "1", 1..=1), row("Floor", "1", 3..=4)].concat())).unwrap().plan;
    let told = renew(&without, &plan(&row("Floor", "1", 1..=5))).unwrap();
    assert_eq!((told.revived.as_slice(), told.added.as_slice(), told.kept), (&[1][..], &[4][..], 3));
    assert!(told.gone.is_empty() && told.plan.seats.iter().all(|seat| !seat.gone));
}

#[test]
fn seats_are_not_added_in_categories_without_a_price() {
    let old = plan(&row("Floor", "1", 1..=2));
    let mut new = plan(&row("Floor", "1", 1..=3));
    new.categories[0].name = "Lounge".to_owned();
    assert_eq!(renew(&old, &new), Err(RenewError::Categories(vec!["Lounge".to_owned()])));
    new.seats.pop();
    assert!(renew(&old, &new).is_ok(), "seats that are kept stay in their category");
}

#[test]
fn what_is_gone_is_in_no_row_no_outline_and_beside_nobody() {
    let old = plan(&[row("Floor", "1", 1..=5), row("Attic", "1", 1..=2)].concat());
    let mut seats = row("Floor", "1", 1..=5);
    seats.remove(2);
    let told = renew(&old, &plan(&seats)).unwrap();
    let map = static_map::encode(&told.plan);
    let map = static_map::decode(&map.bin, &map.json).unwrap();
    assert_eq!(map.seat_count(), 7);
    let gone: Vec<u32> = (0..7).filter(|no| map.seat(*no).unwrap().flags.gone()).collect();
    assert_eq!(gone, told.gone);
    assert_eq!(map.row_seats(0), [0, 1, 3, 4]);
    assert_eq!(map.sections().iter().map(|section| section.seats).collect::<Vec<_>>(), [4, 0]);
    assert!(map.sections()[1].outline.is_empty());
    let beside = Adjacency::of(&told.plan);
    assert!(beside.runs().flatten().all(|seat| !gone.contains(&seat.0)));
    assert!(beside.runs().flatten().any(|seat| *seat == SeatNo(1)));
}

#[test]
fn the_same_version_again_changes_nothing_also_when_the_first_was_stored_meanwhile() {
    let old = crate::venue::generate::arena(1_000, "House");
    let mut new = old.clone();
    let last = new.seats.len() - 1;
    // Coordinates that no short text has.
    new.seats[last].x += 1.0 / 3.0;
    new.seats.remove(0);
    let first = renew(&old, &new).unwrap();
    assert!(!first.changes_nothing(&old));
    let stored = Plan::from_document(&first.plan.to_renewed_document()).unwrap();
    let again = renew(&stored, &new).unwrap();
    assert_eq!((again.moved, again.kept), (0, last));
    assert!(again.changes_nothing(&stored));
}

#[test]
fn a_document_whose_indices_lead_nowhere_is_refused() {
    let old = plan(&row("Floor", "1", 1..=3));
    let good = renew(&old, &plan(&row("Floor", "1", 2..=4))).unwrap().plan;
    assert_eq!(Plan::from_document(&good.to_renewed_document()).unwrap(), good);
    let breaks: [fn(&mut Plan); 5] = [
        |plan| plan.seats[0].row = 7,
        |plan| plan.seats[0].section = 3,
        |plan| plan.seats[0].category = 9,
        |plan| plan.rows[0].section = 9,
        |plan| plan.seats[0].radius = 0.0,
    ];
    for harm in breaks {
        let mut bad = good.clone();
        harm(&mut bad);
        assert!(Plan::from_document(&bad.to_renewed_document()).is_err());
    }
    assert!(Plan::from_document(&good.to_document()).is_err(), "it is not in the canonical order");
}

/// Which of twelve seats in three rows there are in a version, and which rows come first.
fn version() -> impl Strategy<Value = Vec<Told>> {
    (prop::collection::vec(any::<bool>(), 12), any::<bool>()).prop_filter_map("a plan has seats", |(there, turned)| {
        let mut rows: Vec<Vec<Told>> = ["1", "2", "3"].iter().map(|name| row("Floor", name, 1..=4)).collect();
        if turned {
            rows.reverse();
        }
        let seats: Vec<Told> =
            rows.concat().into_iter().zip(there).filter_map(|(seat, there)| there.then_some(seat)).collect();
        (!seats.is_empty()).then_some(seats)
    })
}

proptest! {
    /// However often a plan is replaced, a number that was once a seat's is that seat's for ever.
    #[test]
    fn a_number_means_one_seat_for_ever(versions in prop::collection::vec(version(), 2..6)) {
        let mut current = plan(&versions[0]);
        for version in &versions[1..] {
            let before = current.clone();
            let told = renew(&before, &plan(version)).unwrap();
            current = told.plan;
            for (no, seat) in (0_u32..).zip(&before.seats) {
                prop_assert_eq!(&current.seats[no as usize].guid, &seat.guid);
                prop_assert_eq!(label(&current, no), label(&before, no));
            }
            let mut there: Vec<&str> = current.seats.iter().filter(|seat| !seat.gone).map(|seat| seat.guid.as_str()).collect();
            let mut wanted: Vec<&str> = version.iter().map(|seat| seat.3.as_str()).collect();
            there.sort_unstable();
            wanted.sort_unstable();
            prop_assert_eq!(there, wanted);
            prop_assert_eq!(told.kept + told.added.len() + told.revived.len(), version.len());
            let map = static_map::encode(&current);
            prop_assert!(static_map::decode(&map.bin, &map.json).is_ok());
            prop_assert_eq!(Plan::from_document(&current.to_renewed_document()).unwrap(), current.clone());
        }
    }
}
