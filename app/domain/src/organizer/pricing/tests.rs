//! What edits of zones, prices and blocks do, and that every seat stays in exactly one zone.

use super::*;
use crate::ids::{PlanId, SeatNo};
use crate::money::Money;
use crate::organizer::draft::{Draft, Zone};
use crate::refusal::Code;
use crate::venue::SeatLabel;
use proptest::prelude::*;
use uuid::Uuid;

const SEATS: u32 = 40;

fn eur() -> Currency {
    "EUR".parse().unwrap()
}

fn set(seats: impl IntoIterator<Item = u32>) -> SeatSet {
    seats.into_iter().map(SeatNo).collect()
}

/// Forty seats in two categories, the last ten to stand.
fn house() -> House {
    House {
        categories: vec!["Floor".to_owned(), "Balcony".to_owned()],
        seats: (0..SEATS).map(|seat| u8::from(seat >= 20)).collect(),
        standing: set(30..SEATS),
    }
}

fn draft() -> Draft {
    let zone = |name: &str| Zone { name: name.to_owned(), color: None, price_minor: None, seats: Vec::new() };
    Draft {
        plan: Some(PlanId(Uuid::from_u128(1))),
        currency: Some(eur()),
        zones: vec![zone("Floor"), zone("Balcony")],
        ..Draft::default()
    }
}

fn after(draft: &Draft, edit: Edit) -> Draft {
    edit.applied(draft, &house()).unwrap()
}

fn refusal(draft: &Draft, edit: Edit) -> crate::Refusal {
    edit.applied(draft, &house()).unwrap_err()
}

fn add(name: &str, seats: impl IntoIterator<Item = u32>) -> Edit {
    Edit::AddZone { name: name.to_owned(), amount: "200".to_owned(), color: None, seats: set(seats) }
}

fn prices(amounts: &[&str]) -> Edit {
    Edit::SetPrices { amounts: amounts.iter().map(|amount| (*amount).to_owned()).collect() }
}

fn block(seats: impl IntoIterator<Item = u32>, reason: &str) -> Edit {
    Edit::Block { seats: set(seats), reason: reason.to_owned() }
}

#[test]
fn prices_by_category_and_by_selection_add_up() {
    let priced = after(&draft(), prices(&["100", "49,50"]));
    let vip = after(&priced, add("VIP", [0, 1, 25]));
    let done = after(&vip, block([1, 2, 39], "camera"));
    let zones = totals(&done, &house());
    let seen: Vec<_> = zones.iter().map(|z| (z.seats, z.blocked, z.sellable(), z.standing, z.added)).collect();
    assert_eq!(seen, [(18, 1, 17, 0, false), (19, 1, 18, 10, false), (3, 1, 2, 0, true)]);
    let gross: Vec<_> = zones.iter().map(|z| z.gross().unwrap().minor).collect();
    assert_eq!(gross, [170_000, 89_100, 40_000]);
    let grand = grand_total(&zones, done.currency);
    assert_eq!((grand.seats, grand.blocked, grand.sellable, grand.standing, grand.unpriced), (40, 3, 37, 10, 0));
    assert_eq!(grand.gross, Some(Money::new(299_100, eur())));

    let without = after(&done, prices(&["100", "", "200"]));
    let grand = grand_total(&totals(&without, &house()), without.currency);
    assert_eq!((grand.unpriced, grand.gross), (18, Some(Money::new(210_000, eur()))));
}

#[test]
fn sums_never_wrap() {
    let mut big = draft();
    big.zones[0].price_minor = Some(i64::MAX / 2);
    big.zones[1].price_minor = Some(i64::MAX / 20);
    let zones = totals(&big, &house());
    assert_eq!(zones[0].gross(), None);
    assert_eq!(grand_total(&zones, big.currency).gross, None);
}

#[test]
fn seats_leave_the_zone_they_were_in_and_go_back_to_their_category() {
    let one = after(&draft(), add("One", 0..5));
    let two = after(&one, add("Two", 3..8));
    assert_eq!(two.zones[2].seats, set(0..3).list());
    assert_eq!(two.zones[3].seats, set(3..8).list());
    let moved = after(&two, Edit::MoveSeats { zone: Some(2), seats: set([7, 30]) });
    assert_eq!(zone_by_seat(&moved, &house())[30], 2);
    let back = after(&moved, Edit::MoveSeats { zone: None, seats: set([7, 30]) });
    assert_eq!((zone_by_seat(&back, &house())[7], zone_by_seat(&back, &house())[30]), (0, 1));
    let gone = after(&back, Edit::RemoveZone { zone: 2 });
    assert_eq!(gone.zones.len(), 3);
    assert_eq!(zone_by_seat(&gone, &house())[..5], [0, 0, 0, 2, 2], "the later zone moves up with its seats");
}

#[test]
fn a_seat_is_blocked_for_one_reason_the_last() {
    let camera = after(&draft(), block(0..4, " camera "));
    let both = after(&camera, block([3, 4], "house seats"));
    let again = after(&both, block([8], "camera"));
    let seen: Vec<_> = again.blocked.iter().map(|g| (g.reason.as_str(), g.seats.clone())).collect();
    assert_eq!(seen, [("camera", set([0, 1, 2, 8]).list().to_vec()), ("house seats", set([3, 4]).list().to_vec())]);
    let free = after(&again, Edit::Unblock { seats: set(0..9) });
    assert!(free.blocked.is_empty());
    assert!(refusal(&free, Edit::Unblock { seats: set([0]) }).message.starts_with("seats:"));
}

#[test]
fn hostile_edits_are_refused_with_their_field() {
    let vip = after(&draft(), add("VIP", [0]));
    let long = "x".repeat(121);
    let move_to = |zone, seats: SeatSet| Edit::MoveSeats { zone: Some(zone), seats };
    let rename = |zone, name: &str| Edit::RenameZone { zone, name: name.to_owned() };
    for (edit, field) in [
        (add("", [1]), "name"),
        (add("a\u{7}b", [1]), "name"),
        (add("vip", [1]), "name"),
        (add(&long, [1]), "name"),
        (add("New", []), "seats"),
        (prices(&["1", "2"]), "prices"),
        (prices(&["1", "-2", "3"]), "prices[1]"),
        (prices(&["1", "0", "3"]), "prices[1]"),
        (prices(&["1", "2", "1,234"]), "prices[2]"),
        (prices(&["1", "2", "9999999999999"]), "prices[2]"),
        (move_to(1, set([1])), "zone"),
        (move_to(9, set([1])), "zone"),
        (move_to(2, set([])), "seats"),
        (Edit::RemoveZone { zone: 0 }, "zone"),
        (Edit::RemoveZone { zone: 255 }, "zone"),
        (rename(7, "New"), "zone"),
        (rename(0, "VIP"), "name"),
        (block([1], " \t "), "reason"),
        (block([], "camera"), "seats"),
    ] {
        let refused = refusal(&vip, edit.clone());
        assert_eq!(refused.code, Code::InvalidInput, "{edit:?}");
        assert!(refused.message.starts_with(&format!("{field}: ")), "{edit:?}: {}", refused.message);
    }
    let color = Edit::AddZone {
        name: "New".to_owned(),
        amount: String::new(),
        color: Some("red;background:url(x)".to_owned()),
        seats: set([1]),
    };
    assert!(refusal(&vip, color).message.starts_with("color:"));
    let unknown = refusal(&vip, block([1, 40, 99_999], "camera"));
    assert_eq!((unknown.code, unknown.seats), (Code::UnknownSeat, set([40, 99_999]).list().to_vec()));
    assert_eq!(refusal(&Draft::default(), prices(&[])).code, Code::WrongState);
    assert_eq!(refusal(&Draft { currency: None, ..vip.clone() }, prices(&["", "", ""])).code, Code::WrongState);
    assert_eq!(after(&vip, rename(0, "floor")).zones[0].name, "floor", "a zone may change its own name's case");
}

#[test]
fn zones_and_reasons_have_a_bound() {
    let mut full = draft();
    while full.zones.len() < crate::venue::plan::MAX_CATEGORIES {
        full.zones.push(Zone { name: format!("z{}", full.zones.len()), color: None, price_minor: None, seats: vec![] });
    }
    assert!(refusal(&full, add("New", [1])).message.starts_with("name:"));
}

#[test]
fn a_price_change_shows_what_it_does_and_leaves_no_seat_without_a_price() {
    let mut zones = totals(&after(&draft(), prices(&["100", "50"])), &house());
    (zones[0].held, zones[0].sold, zones[0].blocked) = (2, 3, 1);
    let change = effect(7, &zones, &[Some(12_000), Some(5_000)], eur()).unwrap();
    assert_eq!((change.version, change.zones.len(), change.difference.minor), (7, 1, 28_000));
    let zone = &change.zones[0];
    assert_eq!((zone.sellable, zone.held, zone.sold, zone.difference.minor), (14, 2, 3, 28_000));
    assert_eq!((zone.old.unwrap().minor, zone.new.unwrap().minor), (10_000, 12_000));

    let lower = effect(7, &zones, &[Some(9_000), Some(4_000)], eur()).unwrap();
    assert_eq!(lower.difference.minor, -14_000 - 20_000);
    for (prices, field) in [
        (vec![Some(10_000), Some(5_000)], "prices: "),
        (vec![Some(10_000), None], "prices[1]: "),
        (vec![Some(10_000)], "prices: "),
    ] {
        let refused = effect(7, &zones, &prices, eur()).unwrap_err();
        assert!(refused.code == Code::InvalidInput && refused.message.starts_with(field), "{}", refused.message);
    }
}

#[test]
fn a_set_of_seats_survives_its_text_and_a_short_text_stays_small() {
    for (seats, text) in [(set([]), ""), (set([5]), "5"), (set([2, 0, 1, 9, 4, 5]), "0-2.4-5.9")] {
        assert_eq!(seats.to_string(), text);
        assert_eq!(text.parse(), Ok(seats));
    }
    for bad in ["a", "-1", "1-", "3-2", "2.1", "1.1", "0-100000", "0-99999.0-99999", "1,2", "4294967296", "1 2"] {
        assert!(bad.parse::<SeatSet>().is_err(), "{bad}");
    }
    assert_eq!("0-99999".parse::<SeatSet>().unwrap().len(), 100_000);
}

/// Two sections: `A, left` with rows 1 (seats 1 to 6, in two objects) and 2 (odd seats), and `场` with
/// one row of lettered seats.
fn labels() -> Vec<SeatLabel<'static>> {
    let label = |section, row, seat| SeatLabel { section, row, seat };
    let mut all: Vec<_> = ["1", "2", "3", "4", "5", "6"].map(|seat| label("A, left", "1", seat)).to_vec();
    all.extend(["1", "3", "5"].map(|seat| label("A, left", "2", seat)));
    all.extend(["A", "A-1", "12 bis"].map(|seat| label("场", "一", seat)));
    all
}

#[test]
fn seats_are_found_as_people_type_them() {
    let find = |text: &str| typed_seats(text, labels().into_iter()).map(|seats| SeatSet::from_iter(seats).to_string());
    for (text, seats) in [
        ("", ""),
        ("A, left; 1; 2-4, 6", "1-3.5"),
        ("A, left;2;1-5", "6-8"),
        ("A, left; 2", "6-8"),
        ("A, left;", ""),
        ("场, 一, A-1", "10"),
        ("场，一，12 bis", "11"),
        ("场", "9-11"),
        ("# 0-2, 11", "0-2.11"),
        ("\r\n场; 一; A\r\n\r\nA, left; 1; 1\r\n", "0.9"),
    ] {
        if seats.is_empty() && !text.is_empty() {
            assert!(find(text).is_err(), "{text}");
        } else {
            assert_eq!(find(text).as_deref(), Ok(seats), "{text}");
        }
    }
    for (text, says) in [
        ("B; 1; 1", "line 1: there is no section `B`"),
        ("场\nA, left; 9", "line 2: section `A, left` has no row `9`"),
        ("A, left; 1; 5-7", "no seat `7`"),
        ("A, left; 1; x", "no seat `x`"),
        ("# 12", "no seat `12`"),
        ("# 3-1", "is no seat number"),
        ("# -", "is no seat number"),
        ("# 0-18446744073709551615", "there is no seat"),
    ] {
        let message = find(text).unwrap_err().message;
        assert!(message.starts_with("seats: line ") && message.contains(says), "{text}: {message}");
    }
    assert!(find(&"场\n".repeat(TYPED_LINES_MAX + 1)).is_err());
    assert!(find(&format!("# {}", "0,".repeat(600))).is_err());
}

#[test]
fn told_seats_can_be_typed_again() {
    let labels = labels();
    let label = |seat: SeatNo| labels.get(seat.0 as usize).copied();
    let seats = set([0, 1, 2, 4, 6, 7, 10, 11]);
    let told = tell_seats(seats.list(), label, 10);
    assert_eq!(told, ["A, left; 1; 1-3, 5", "A, left; 2; 1, 3", "场; 一; A-1, 12 bis"]);
    assert_eq!(typed_seats(&told.join("\n"), labels.iter().copied()).unwrap(), seats.list());
    assert_eq!(tell_seats(seats.list(), label, 1).len(), 1);
}

fn edits() -> impl Strategy<Value = Edit> {
    let some = || proptest::collection::vec(0..SEATS, 1..12).prop_map(set);
    prop_oneof![
        (0..30_u32, some()).prop_map(|(name, seats)| Edit::AddZone {
            name: format!("z{name}"),
            amount: "5".to_owned(),
            color: None,
            seats
        }),
        (proptest::option::of(0..6_u8), some()).prop_map(|(zone, seats)| Edit::MoveSeats { zone, seats }),
        (0..6_u8).prop_map(|zone| Edit::RemoveZone { zone }),
        (some(), "[ab]").prop_map(|(seats, reason)| Edit::Block { seats, reason }),
        some().prop_map(|seats| Edit::Unblock { seats }),
        proptest::collection::vec("[0-9]{0,3}", 0..6).prop_map(|amounts| Edit::SetPrices { amounts }),
    ]
}

proptest! {
    #[test]
    fn after_any_edits_each_seat_is_in_one_zone_and_totals_add_up(edits in proptest::collection::vec(edits(), 0..40)) {
        let house = house();
        let mut draft = draft();
        for edit in edits {
            if let Ok(next) = edit.applied(&draft, &house) {
                draft = next;
            }
            let mut listed: Vec<SeatNo> = draft.zones.iter().flat_map(|zone| zone.seats.iter().copied()).collect();
            let count = listed.len();
            listed.sort_unstable();
            listed.dedup();
            prop_assert_eq!(listed.len(), count, "a seat is in one added zone at most");
            let mut blocked: Vec<SeatNo> = draft.blocked.iter().flat_map(|group| group.seats.iter().copied()).collect();
            let count = blocked.len();
            blocked.sort_unstable();
            blocked.dedup();
            prop_assert_eq!(blocked.len(), count, "a seat has one reason at most");

            let zones = totals(&draft, &house);
            let grand = grand_total(&zones, draft.currency);
            prop_assert_eq!(grand.seats, SEATS);
            prop_assert_eq!(grand.blocked as usize, blocked.len());
            prop_assert_eq!(grand.sellable, SEATS - grand.blocked);
            prop_assert_eq!(grand.standing, 10);
            let gross: i64 = zones.iter().filter_map(|zone| zone.gross()).map(|gross| gross.minor).sum();
            prop_assert_eq!(grand.gross, Some(Money::new(gross, eur())));
            let owned: Vec<u32> = zones.iter().map(|zone| zone.seats).collect();
            let mut counted = vec![0; zones.len()];
            for zone in zone_by_seat(&draft, &house) {
                counted[usize::from(zone)] += 1;
            }
            prop_assert_eq!(owned, counted);
        }
    }
}
