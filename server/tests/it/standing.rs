//! Standing areas: fans say how many, the server draws which; in one hold together with seats.

use crate::arena::{Arena, Fan, ORGANIZATION, SOON, Setup, seats};
use domain::allocation::AllocationKind;
use domain::catalog::SeatList;
use domain::hold::{AreaWish, Held, HoldWish};
use domain::venue::plan::{Category, Draft, DraftRow, DraftSeat, DraftSection, Kind};
use domain::venue::{Plan, Point};
use domain::{Code, Refusal};
use futures::StreamExt as _;
use std::collections::BTreeSet;

/// Fans who ask at once.
const AT_ONCE: usize = 64;
/// Seats beside the area.
const CHAIRS: usize = 40;

/// A place of a draft; what it is called says who it is.
fn place(guid: String, label: usize, kind: Kind) -> DraftSeat {
    DraftSeat {
        guid,
        label: label.to_string(),
        position: Point::new(label as f64 * 10.0, 0.0),
        radius: 4.0,
        category: usize::from(kind == Kind::Standing),
        kind,
        restricted_view: false,
        start_direction: None,
        uuid: None,
    }
}

fn row(section: &str, label: &str, kind: Kind, labels: impl Iterator<Item = usize>) -> DraftRow {
    let seats = labels.map(|at| place(format!("{section}-{label}-{kind:?}-{at}"), at, kind)).collect();
    DraftRow { label: label.to_owned(), seats, ..DraftRow::default() }
}

fn hall(sections: Vec<(&str, Vec<DraftRow>)>) -> Plan {
    let category = |name: &str| Category { name: name.to_owned(), color: None };
    Draft {
        name: "Hall".to_owned(),
        size: None,
        categories: vec![category("Seated"), category("Standing")],
        sections: sections
            .into_iter()
            .map(|(name, rows)| DraftSection { name: name.to_owned(), rows, ..DraftSection::default() })
            .collect(),
        kept: Vec::new(),
    }
    .finish()
    .unwrap()
}

/// A pit of so many places, and chairs.
fn pit(places: usize) -> Setup {
    let pit = vec![row("Pit", "", Kind::Standing, 1..=places)];
    let chairs = vec![row("Stand", "1", Kind::Seat, 1..=CHAIRS)];
    Setup { plan: Some(hall(vec![("Pit", pit), ("Stand", chairs)])), ..Setup::default() }
}

/// The numbers of an area and of its places.
fn areas(plan: &Plan) -> Vec<(u32, BTreeSet<u32>)> {
    let mut found: Vec<(u32, BTreeSet<u32>)> = Vec::new();
    for (no, seat) in (0..).zip(&plan.seats).filter(|(_, seat)| seat.kind == Kind::Standing) {
        match found.iter_mut().find(|(area, _)| *area == seat.row) {
            Some((_, places)) => drop(places.insert(no)),
            None => found.push((seat.row, BTreeSet::from([no]))),
        }
    }
    found
}

/// The one area of a house, its places, and the first two chairs.
fn house(setup: &Setup) -> (u32, BTreeSet<u32>, Vec<u32>) {
    let plan = setup.plan.as_ref().unwrap();
    let (area, places) = areas(plan).remove(0);
    let chairs = (0..plan.seats.len() as u32).filter(|seat| !places.contains(seat)).take(2).collect();
    (area, places, chairs)
}

impl Arena {
    /// Asks for seats and for places of areas without HTTP between.
    async fn wish(&self, fan: &Fan, list: &[u32], areas: &[(u32, u32)], key: &str) -> Result<Held, Refusal> {
        let areas = areas.iter().map(|(area, count)| AreaWish { area: *area, count: *count }).collect();
        let wish = HoldWish { seats: seats(list), areas };
        let held = self.backend.hold(&fan.session, fan.pass(), self.performance, wish, key).await;
        held.map_err(|error| error.refusal())
    }

    /// How many of these places are free.
    async fn free_of(&self, places: &BTreeSet<u32>) -> usize {
        let bytes = self.backend.seat_bytes(self.performance).await.unwrap();
        places.iter().filter(|place| bytes[**place as usize] == 0).count()
    }
}

fn numbers(held: &Held) -> BTreeSet<u32> {
    held.seats.iter().map(|seat| seat.0).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn places_and_seats_are_held_together_or_not_at_all() {
    let setup = pit(30);
    let (area, places, chairs) = house(&setup);
    let arena = Arena::bare(setup).await;
    let fans = arena.inside(2).await;
    let held = arena.wish(&fans[0], &chairs, &[(area, 2)], "both").await.unwrap();
    let mine = numbers(&held);
    assert_eq!(mine.len(), 4);
    assert_eq!(mine.intersection(&places).count(), 2);
    assert!(chairs.iter().all(|seat| mine.contains(seat)));
    arena.await_status(held.order, "pending_payment").await;
    let total =
        arena.count_of(held.order, "select sum(amount_minor)::bigint from order_items where order_id = $1").await;
    assert_eq!(held.total.minor, total, "the places are priced as what they are");

    let before = arena.free_of(&places).await;
    let taken = arena.wish(&fans[1], &chairs[..1], &[(area, 2)], "a").await.unwrap_err();
    assert_eq!((taken.code, taken.seats), (Code::SeatTaken, seats(&chairs[..1])));
    let other = chairs[1] + 1;
    for (wish, code) in [
        ([(area, 2), (area, 1)].as_slice(), Code::InvalidInput),
        (&[(area, 0)], Code::InvalidInput),
        (&[(area, 4)], Code::LimitExceeded),
        (&[(area, u32::MAX)], Code::LimitExceeded),
        (&[(area + 1, 1)], Code::UnknownSeat),
        (&[(9_999, 1)], Code::UnknownSeat),
    ] {
        assert_eq!(arena.wish(&fans[1], &[other], wish, "b").await.unwrap_err().code, code, "{wish:?}");
    }
    assert_eq!(arena.free_of(&places).await, before, "nothing was held by any of them");
    assert_eq!(arena.seat(other).await, 0);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_hundred_fans_at_once_get_exactly_the_three_hundred_places_there_are() {
    let setup = pit(300);
    let (area, places, _) = house(&setup);
    let arena = Arena::bare(setup).await;
    let fans = arena.inside(500).await;
    let arena_ref = &arena;
    let answers: Vec<(usize, Result<Held, Refusal>)> = futures::stream::iter(fans.iter().enumerate())
        .map(|(at, fan)| async move { (at, arena_ref.wish(fan, &[], &[(area, 1)], "storm").await) })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    let mut given = BTreeSet::new();
    let mut winners = Vec::new();
    for (at, answer) in answers {
        match answer {
            Ok(held) => {
                let mine = numbers(&held);
                assert!(mine.len() == 1 && mine.is_disjoint(&given), "a place was given twice: {mine:?}");
                given.extend(mine);
                winners.push((at, held));
            }
            Err(refusal) => {
                assert_eq!((refusal.code, refusal.message.as_str()), (Code::AreaFull, "no place is left in Pit"))
            }
        }
    }
    assert_eq!(given, places, "each place was given once, and no other");

    // The number that is left is the true one.
    let loser = (0..fans.len()).find(|at| winners.iter().all(|(winner, _)| winner != at)).unwrap();
    for (gone, text) in [(1, "only one place is left in Pit"), (2, "only 2 places are left in Pit")] {
        let (winner, held) = winners.pop().unwrap();
        arena.give_back(&fans[winner], held.order).await.unwrap();
        let refusal = arena.wish(&fans[loser], &[], &[(area, gone + 1)], "late").await.unwrap_err();
        assert_eq!((refusal.code, refusal.message.as_str()), (Code::AreaFull, text));
    }
    let held = arena.wish(&fans[loser], &[], &[(area, 2)], "late").await.unwrap();
    assert_eq!(held.seats.len(), 2, "a refusal doesn't use its key up");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_key_gives_the_same_places_and_another_count_with_it_is_refused() {
    let setup = pit(30);
    let (area, places, chairs) = house(&setup);
    let arena = Arena::bare(setup).await;
    let fan = arena.one_inside().await;
    let first = arena.wish(&fan, &[], &[(area, 2)], "key").await.unwrap();
    assert_eq!(arena.wish(&fan, &[], &[(area, 2)], "key").await.unwrap(), first);
    for (list, count) in [(&[][..], 1), (&[], 3), (&chairs[..1], 2)] {
        let refusal = arena.wish(&fan, list, &[(area, count)], "key").await.unwrap_err();
        assert_eq!(refusal.code, Code::KeyReused, "{list:?} {count}");
    }
    assert_eq!(arena.free_of(&places).await, 28);

    // Given back, the places are there for everybody; the key is used up.
    arena.give_back(&fan, first.order).await.unwrap();
    assert_eq!(arena.free_of(&places).await, 30);
    assert_eq!(arena.wish(&fan, &[], &[(area, 2)], "key").await.unwrap_err().code, Code::HoldClosed);

    // What an account holds counts, whatever it is.
    let more = arena.wish(&fan, &chairs, &[(area, 3)], "more").await.unwrap_err();
    assert_eq!(more.code, Code::LimitExceeded);
    arena.wish(&fan, &chairs, &[(area, 2)], "all").await.unwrap();
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn places_of_holds_that_ran_out_are_drawn_before_anybody_swept_them() {
    let setup = Setup { hold_ttl_ms: 1_500, ..pit(4) };
    let (area, places, _) = house(&setup);
    let mut arena = Arena::bare(setup).await;
    let fans = arena.inside(3).await;
    arena.stop_workers().await;
    let first = arena.wish(&fans[0], &[], &[(area, 3)], "first").await.unwrap();
    let short = arena.wish(&fans[1], &[], &[(area, 2)], "second").await.unwrap_err();
    assert_eq!((short.code, short.message.as_str()), (Code::AreaFull, "only one place is left in Pit"));
    eventually!(SOON, "the first hold has run out", arena.redis_now().await > first.expires);
    let second = arena.wish(&fans[1], &[], &[(area, 4)], "second").await.unwrap();
    assert_eq!(numbers(&second), places, "the free place and the three that had run out");
    assert_eq!(arena.wish(&fans[0], &[], &[(area, 3)], "first").await.unwrap_err().code, Code::HoldClosed);
    arena.start_workers();
    arena.await_status(first.order, "closed").await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blocked_places_and_places_held_by_their_number_are_never_drawn() {
    let setup = pit(10);
    let (area, places, _) = house(&setup);
    let list: Vec<u32> = places.iter().copied().collect();
    let arena = Arena::bare(setup).await;
    let fans = arena.inside(3).await;
    let owner = arena.backend.command_line(ORGANIZATION).await.unwrap();
    arena.backend.block_for(&owner, arena.performance, &seats(&list[2..6]), Some("camera")).await.unwrap();
    // A place is a numbered place: who knows its number can ask for it, by the same rules.
    let single = arena.take(&fans[0], &list[7..8], "single").await.unwrap();
    assert_eq!(single.seats, seats(&list[7..8]));
    assert_eq!(arena.take(&fans[1], &list[7..8], "same").await.unwrap_err(), Code::SeatTaken);
    assert_eq!(arena.take(&fans[1], &list[2..3], "blocked").await.unwrap_err(), Code::SeatNotForSale);
    let mut left: BTreeSet<u32> = places.clone();
    left.retain(|place| *place != list[7] && !list[2..6].contains(place));
    let mut drawn = numbers(&arena.wish(&fans[1], &[], &[(area, 4)], "four").await.unwrap());
    // A named place of the area counts beside those that are drawn, and isn't drawn itself.
    let last: Vec<u32> = left.difference(&drawn).copied().collect();
    let both = arena.wish(&fans[2], &last, &[(area, 1)], "last").await.unwrap_err();
    assert_eq!((both.code, both.message.as_str()), (Code::AreaFull, "no place is left in Pit"));
    drawn.extend(numbers(&arena.wish(&fans[2], &[], &[(area, 1)], "one").await.unwrap()));
    assert_eq!(drawn, left);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_area_survives_an_emptied_redis() {
    let setup = pit(20);
    let (area, places, _) = house(&setup);
    let arena = Arena::bare(setup).await;
    let fans = arena.inside(6).await;
    let first = arena.wish(&fans[0], &[], &[(area, 4)], "key").await.unwrap();
    arena.await_status(first.order, "pending_payment").await;
    let () = redis::cmd("FLUSHALL").query_async(&mut arena.redis().await).await.unwrap();
    eventually!(SOON, "the places are built anew", {
        arena.backend.seat_bytes(arena.performance).await.is_ok_and(|bytes| bytes.len() == places.len() + CHAIRS)
    });
    let mut given = numbers(&first);
    eventually!(SOON, "the same key gives the same places", {
        arena.wish(&fans[0], &[], &[(area, 4)], "key").await.is_ok_and(|held| numbers(&held) == given)
    });
    for fan in &fans[1..5] {
        let fan = arena.let_in(fan.clone(), arena.performance).await;
        let held = arena.wish(&fan, &[], &[(area, 4)], "later").await.unwrap();
        assert!(numbers(&held).is_disjoint(&given));
        given.extend(numbers(&held));
    }
    assert_eq!(given, places);
    let last = arena.let_in(fans[5].clone(), arena.performance).await;
    assert_eq!(arena.wish(&last, &[], &[(area, 1)], "none").await.unwrap_err().code, Code::AreaFull);
    arena.finish().await;
}

/// Sections whose places to stand and chairs are numbered through one another, in patterns of their own.
fn striped() -> Plan {
    let patterns: [fn(usize) -> bool; 4] = [|at| at % 2 == 0, |at| at % 7 < 3, |at| at * at % 11 < 5, |at| at != 30];
    let names = ["Half", "Sevens", "Squares", "Nearly"];
    let sections = names.into_iter().zip(patterns).map(|(name, stands)| {
        let of = |kind| row(name, "1", kind, (1..=60).filter(move |at| stands(*at) == (kind == Kind::Standing)));
        (name, vec![of(Kind::Standing), of(Kind::Seat)])
    });
    hall(sections.collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn areas_of_many_stretches_give_each_of_their_places_once_and_no_chair() {
    let plan = striped();
    let areas = areas(&plan);
    for (area, places) in &areas {
        let gaps = places.iter().zip(places.iter().skip(1)).filter(|(a, b)| **a + 1 != **b).count();
        assert!(gaps > 0, "area {area} is one stretch");
    }
    let wanted: usize = areas.iter().map(|(_, places)| places.len()).sum();
    let arena = Arena::bare(Setup { plan: Some(plan), ..Setup::default() }).await;
    let fans = arena.inside(wanted).await;
    let (arena_ref, areas_ref) = (&arena, &areas);
    // From one to three places of an area at a time, until nobody is told anything but that it is full.
    let given: Vec<(usize, BTreeSet<u32>)> = futures::stream::iter(fans.iter().enumerate())
        .map(|(at, fan)| async move {
            let of = at % areas_ref.len();
            for count in (1..=1 + at as u32 % 3).rev() {
                match arena_ref.wish(fan, &[], &[(areas_ref[of].0, count)], &format!("{count}")).await {
                    Ok(held) => return (of, numbers(&held)),
                    Err(refusal) => assert_eq!(refusal.code, Code::AreaFull),
                }
            }
            (of, BTreeSet::new())
        })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    for (of, (area, places)) in areas.iter().enumerate() {
        let drawn: Vec<u32> = given.iter().filter(|(at, _)| *at == of).flat_map(|(_, seats)| seats.clone()).collect();
        assert_eq!(drawn.len(), places.len(), "area {area}");
        assert_eq!(&drawn.into_iter().collect::<BTreeSet<u32>>(), places, "area {area}");
    }
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_forms_take_areas_name_the_wrong_field_and_the_list_tells_what_is_free() {
    let setup = pit(300);
    let (area, places, chairs) = house(&setup);
    let arena = Arena::web(setup).await;
    let fans = arena.inside(2).await;
    let performance = arena.performance.to_string();
    let hold = async |fan: &Fan, seats: &str, areas: &str, key: &str| {
        let form = [("performance", performance.as_str()), ("seats", seats), ("areas", areas), ("key", key)];
        arena.call(Some(fan), "hold", &form).await
    };
    for wrong in ["x", "1", "1:", ":1", "1:2:3", "1:-1", "1:1.5", "4294967296:1", "1:4294967296"] {
        let refusal = hold(&fans[0], "", wrong, "k").await.refusal();
        assert_eq!(refusal.code, Code::InvalidInput, "{wrong}");
        assert!(refusal.message.starts_with("areas: "), "{wrong}: {}", refusal.message);
    }
    let held: Held = hold(&fans[0], &chairs[0].to_string(), &format!("{area}:2"), "k").await.ok();
    assert_eq!(numbers(&held).intersection(&places).count(), 2);

    let list: SeatList = arena.call(None, "seat-list", &[("id", &performance), ("section", "0")]).await.ok();
    assert!(list.rows.is_empty(), "no place is listed by itself");
    let [shown] = &list.areas[..] else { panic!("one area: {:?}", list.areas) };
    assert_eq!((shown.area, shown.name.as_str(), shown.free), (area, "Pit", 298));
    assert!(shown.from_price.is_some() && shown.from_price == shown.to_price);

    let (field, chair) = (format!("areas[{area}]"), chairs[1].to_string());
    let form = async |seat: &str, count: &str, key: &str| {
        let mut form = vec![("performance", performance.as_str()), ("key", key), (field.as_str(), count)];
        if !seat.is_empty() {
            form.push(("seats[0]", seat));
        }
        arena.call(Some(&fans[1]), "hold-list", &form).await
    };
    let wrong = form("", "two", "a").await.refusal();
    assert_eq!(wrong.code, Code::InvalidInput);
    assert!(wrong.message.starts_with(&field), "{}", wrong.message);
    assert_eq!(form("", "", "b").await.code(), Code::InvalidInput, "nothing is chosen");
    let held: Held = form(&chair, "3", "c").await.ok();
    assert_eq!((held.seats.len(), numbers(&held).intersection(&places).count()), (4, 3));
    let page = arena.open(None, &format!("/performances/{performance}/list?section=0")).await;
    assert!(page.body.contains(&format!("name=\"{field}\"")), "the form has one field for the area");
    assert!(!page.body.contains("seats[]"), "and no box for its places");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn places_kept_for_a_code_are_drawn_and_listed_for_those_alone_who_entered_it() {
    let setup = pit(6);
    let (area, places, _) = house(&setup);
    let list: Vec<u32> = places.iter().copied().collect();
    let arena = Arena::bare(setup).await;
    let fans = arena.inside(2).await;
    let club = arena.keep("Club", AllocationKind::Presale, &list[..4]).await.unwrap();
    arena.add_code(club, "CLUB-2027").await;
    arena.enter_code(&fans[1], "CLUB-2027", 1).await.unwrap();
    for (fan, free) in [(&fans[0], 2), (&fans[1], 6)] {
        eventually!(SOON, format!("{free} places are listed"), {
            let list = arena.backend.seat_list_for(Some(&fan.session), arena.performance, None).await.unwrap();
            list.areas[0].free == free
        });
    }
    let short = arena.wish(&fans[0], &[], &[(area, 3)], "three").await.unwrap_err();
    assert_eq!((short.code, short.message.as_str()), (Code::AreaFull, "only 2 places are left in Pit"));
    let kept = arena.wish(&fans[1], &[], &[(area, 4)], "four").await.unwrap();
    assert!(kept.seats.len() == 4 && numbers(&kept).is_subset(&places));
    // Both on general sale were among them; the two that are left are kept.
    assert_eq!(arena.wish(&fans[0], &[], &[(area, 1)], "one").await.unwrap_err().code, Code::AreaFull);
    arena.finish().await;
}
