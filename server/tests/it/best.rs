//! Best available: what is given to a wish, to many at once, and to the same one twice; and the rule
//! against leaving one seat alone.

use crate::arena::{Arena, Fan, Reply, SOON, Setup, seats};
use domain::hold::{Held, Picked, SeatState};
use domain::venue::Plan;
use domain::venue::best::Seating;
use domain::venue::generate::{self, SEAT_PITCH};
use domain::venue::plan::Kind;
use domain::{Code, SeatNo};
use std::collections::BTreeSet;

/// Fans who ask at the same moment.
const CROWD: usize = 60;

fn house(seats: u32) -> (Setup, Plan) {
    (Setup { seats, ..Setup::default() }, generate::arena(seats, "House"))
}

async fn pick(arena: &Arena, fan: &Fan, count: &str, further: &[(&str, &str)], key: &str) -> Reply {
    let performance = arena.performance.to_string();
    let mut form = vec![("performance", performance.as_str()), ("count", count), ("key", key)];
    form.extend_from_slice(further);
    arena.call(Some(fan), "hold-best", &form).await
}

fn kind(plan: &Plan, seat: SeatNo) -> Kind {
    plan.seat(seat.0).unwrap().kind
}

/// Two seats of one row object, no farther from each other than neighbours are.
fn side_by_side(plan: &Plan, pair: &[SeatNo]) -> bool {
    let [a, b] = [0, 1].map(|index| plan.seat(pair[index].0).unwrap());
    pair.len() == 2 && a.row == b.row && a.center().distance(b.center()) < 1.2 * SEAT_PITCH
}

fn far(plan: &Plan, seat: u32) -> f64 {
    plan.seat(seat).unwrap().center().distance(plan.focal_point())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_best_two_of_an_empty_house_are_neighbours_near_the_stage() {
    let (setup, plan) = house(1_500);
    let arena = Arena::web(setup).await;
    let fan = arena.one_inside().await;
    let picked: Picked = pick(&arena, &fan, "2", &[], "key").await.ok();
    assert_eq!(picked.seating, Seating::Together);
    assert!(side_by_side(&plan, &picked.held.seats), "{picked:?}");
    let nearest = (0..1_500).map(|seat| far(&plan, seat)).fold(f64::INFINITY, f64::min);
    for seat in &picked.held.seats {
        assert_eq!(kind(&plan, *seat), Kind::Seat);
        assert!(far(&plan, seat.0) < nearest + 10.0 * SEAT_PITCH, "seat {seat} is far from the stage");
        assert_eq!(arena.seat(seat.0).await, SeatState::Held as u8);
    }
    let mine: Option<Held> =
        arena.call(Some(&fan), "my-hold", &[("performance", &arena.performance.to_string())]).await.ok();
    assert_eq!(mine, Some(picked.held.clone()), "a hold like any other");
    arena.buy(&fan, picked.held.order).await;

    let other = arena.one_inside().await;
    // The last seat's zone is not that of the best seats.
    let zone = plan.seats.iter().rfind(|seat| seat.kind == Kind::Seat).unwrap().category;
    let picked: Picked = pick(&arena, &other, "3", &[("zone", &zone.to_string())], "key").await.ok();
    for seat in &picked.held.seats {
        assert_eq!(plan.seat(seat.0).unwrap().category, zone, "of the zone that was asked for");
    }
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_who_ask_at_once_all_sit_side_by_side_and_none_twice() {
    let (setup, plan) = house(500);
    let arena = Arena::web(setup).await;
    let fans = arena.inside(CROWD).await;
    let replies = futures::future::join_all(fans.iter().map(|fan| pick(&arena, fan, "2", &[], "key"))).await;
    let mut given = BTreeSet::new();
    for reply in &replies {
        let picked: Picked = reply.ok();
        assert!(side_by_side(&plan, &picked.held.seats), "{picked:?}");
        for seat in picked.held.seats {
            assert!(given.insert(seat), "seat {seat} is told to two fans");
        }
    }
    assert_eq!(given.len(), 2 * CROWD);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_key_is_the_same_hold_wherever_the_map_has_moved() {
    let (setup, _) = house(500);
    let arena = Arena::web(setup).await;
    let (fan, other) = (arena.one_inside().await, arena.one_inside().await);
    let first: Picked = pick(&arena, &fan, "2", &[], "key").await.ok();
    let _: Picked = pick(&arena, &other, "4", &[], "key").await.ok();
    for _ in 0..3 {
        let again: Picked = pick(&arena, &fan, "2", &[("zone", "")], "key").await.ok();
        assert_eq!(again, first);
    }
    assert_eq!(pick(&arena, &fan, "3", &[], "key").await.code(), Code::KeyReused);
    assert_eq!(pick(&arena, &fan, "2", &[("zone", "1")], "key").await.code(), Code::KeyReused);
    assert_eq!(arena.hold(&fan, &domain::ids::join_seats(&first.held.seats), "key").await.code(), Code::KeyReused);
    assert_eq!(pick(&arena, &fan, "2", &[], "another").await.code(), Code::HoldOpen);
    let () = arena.call(Some(&fan), "hold-release", &[("order", &first.held.order.to_string())]).await.ok();
    assert_eq!(pick(&arena, &fan, "2", &[], "key").await.code(), Code::HoldClosed);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn places_for_wheelchairs_stay_until_somebody_asks_for_one() {
    let (setup, plan) = house(500);
    let arena = Arena::web(setup).await;
    let ordinary: Vec<SeatNo> = (0..500).map(SeatNo).filter(|seat| kind(&plan, *seat) == Kind::Seat).collect();
    let owner = arena.backend.command_line(crate::arena::ORGANIZATION).await.unwrap();
    arena.backend.block_for(&owner, arena.performance, &ordinary, Some("full")).await.unwrap();
    let fan = arena.one_inside().await;
    eventually!(SOON, "ordinary seats are gone", {
        let reply = pick(&arena, &fan, "1", &[], &uuid::Uuid::new_v4().simple().to_string()).await;
        reply.status != 200 && reply.code() == Code::NoneLeft
    });
    let picked: Picked = pick(&arena, &fan, "2", &[("wheelchair", "yes")], "wheelchair").await.ok();
    assert_eq!(picked.seating, Seating::Accessible);
    let kinds: Vec<Kind> = picked.held.seats.iter().map(|seat| kind(&plan, *seat)).collect();
    assert!(kinds.contains(&Kind::Wheelchair) && kinds.contains(&Kind::Companion), "{kinds:?}");
    arena.backend.block_for(&owner, arena.performance, &ordinary, None).await.unwrap();
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_left_is_told_with_what_is() {
    let (setup, plan) = house(200);
    let arena = Arena::web(setup).await;
    // Of one row, two neighbours and one beyond an aisle of blocked seats stay.
    let row: Vec<SeatNo> = (0..200).map(SeatNo).filter(|seat| plan.seat(seat.0).unwrap().row == 0).collect();
    assert!(row.len() > 4);
    let left = [row[0], row[1], row[3]];
    let gone: Vec<SeatNo> = (0..200).map(SeatNo).filter(|seat| !left.contains(seat)).collect();
    let owner = arena.backend.command_line(crate::arena::ORGANIZATION).await.unwrap();
    arena.backend.block_for(&owner, arena.performance, &gone, Some("gone")).await.unwrap();
    let fan = arena.one_inside().await;
    eventually!(SOON, "three are left", {
        let refusal = pick(&arena, &fan, "3", &[], "three").await.refusal();
        refusal.code == Code::NoneLeft && refusal.message.contains("2 + 1")
    });
    assert!(pick(&arena, &fan, "4", &[], "four").await.refusal().message.contains("no 4"));
    let picked: Picked = pick(&arena, &fan, "2", &[], "two").await.ok();
    assert_eq!(picked.held.seats, left[..2]);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forged_wishes_are_refused_and_change_nothing() {
    let (setup, _) = house(200);
    let arena = Arena::web(setup).await;
    let fan = arena.one_inside().await;
    for (count, further, code) in [
        ("0", None, Code::InvalidInput),
        ("-1", None, Code::InvalidInput),
        ("21", None, Code::InvalidInput),
        ("4294967296", None, Code::InvalidInput),
        ("two", None, Code::InvalidInput),
        ("", None, Code::InvalidInput),
        ("5", None, Code::LimitExceeded),
        ("2", Some(("zone", "250")), Code::InvalidInput),
        ("2", Some(("zone", "-1")), Code::InvalidInput),
        ("2", Some(("zone", "cheap")), Code::InvalidInput),
        ("2", Some(("key", "a b")), Code::InvalidInput),
    ] {
        let further: Vec<(&str, &str)> = further.into_iter().collect();
        let key = if further.iter().any(|(name, _)| *name == "key") { "a b" } else { "key" };
        let further: Vec<(&str, &str)> = further.into_iter().filter(|(name, _)| *name != "key").collect();
        assert_eq!(pick(&arena, &fan, count, &further, key).await.code(), code, "{count} {further:?}");
    }
    let without = Fan { pass: None, ..fan.clone() };
    assert_eq!(pick(&arena, &without, "2", &[], "key").await.code(), Code::PassRequired);
    let stranger = [("performance", arena.performance.to_string()), ("count", "2".into()), ("key", "key".into())];
    let stranger: Vec<(&str, &str)> = stranger.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(arena.call(None, "hold-best", &stranger).await.code(), Code::SignInRequired);
    let bytes = arena.backend.seat_bytes(arena.performance).await.unwrap();
    assert!(bytes.iter().all(|byte| *byte != SeatState::Held as u8), "nothing is held");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_the_rule_is_on_a_choice_that_leaves_one_is_refused_and_the_suggestion_is_taken() {
    let (setup, plan) = house(500);
    let arena = Arena::web(setup).await;
    let fan = arena.one_inside().await;
    let row: Vec<u32> = (0..500).filter(|seat| plan.seat(*seat).unwrap().row == 0).collect();
    assert!(row.len() > 5);
    let choice = format!("{},{}", row[1], row[2]);
    // Off unless it was asked for.
    let held = arena.held(&fan, &choice).await;
    let () = arena.call(Some(&fan), "hold-release", &[("order", &held.order.to_string())]).await.ok();

    sqlx::query("update performances set single_seat_rule = true where id = $1")
        .bind(arena.performance.0)
        .execute(&arena.pg)
        .await
        .unwrap();
    eventually!(SOON, "the rule is on", {
        let reply = arena.hold(&fan, &choice, &uuid::Uuid::new_v4().simple().to_string()).await;
        if reply.status == 200 {
            let held: Held = reply.ok();
            let () = arena.call(Some(&fan), "hold-release", &[("order", &held.order.to_string())]).await.ok();
        }
        reply.status != 200
    });
    let refusal = arena.hold(&fan, &choice, "single").await.refusal();
    assert_eq!((refusal.code, refusal.seats), (Code::LeavesSingle, seats(&[row[0]])));
    assert!(refusal.message.contains(&plan.seat(row[0]).unwrap().label), "{}", refusal.message);
    assert_eq!(refusal.instead.len(), 2);
    let instead = domain::ids::join_seats(&refusal.instead);
    let held: Held = arena.hold(&fan, &instead, "instead").await.ok();
    assert_eq!(held.seats, refusal.instead);
    let again: Held = arena.hold(&fan, &instead, "instead").await.ok();
    assert_eq!(again, held, "what was allowed once is the same hold");

    // What is picked obeys as well.
    let other = arena.one_inside().await;
    let picked: Picked = pick(&arena, &other, "2", &[], "key").await.ok();
    assert!(side_by_side(&plan, &picked.held.seats));
    arena.finish().await;
}
