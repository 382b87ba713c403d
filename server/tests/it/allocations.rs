//! Seats kept for somebody: nobody else gets them, whoever may take them does, and they are released
//! when they are due, whatever dies meanwhile.

use crate::arena::provider::GOOD_CARD;
use crate::arena::{Arena, ORGANIZATION, SOON, Setup, program, run_to_end, seat_set as set, seats};
use domain::account::Role;
use domain::allocation::AllocationKind::{Channel, House, Presale};
use domain::hold::{ALLOCATIONS_MAX, SeatByte, SeatState};
use domain::order::PayStarted;
use domain::organizer::allocations::{AllocationForm, KeptStep};
use domain::{AllocationId, Code};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kept_seat_is_refused_to_others_and_looks_like_one_that_is_not_for_sale() {
    let arena = Arena::bare(Setup::default()).await;
    let fans = arena.inside(2).await;
    let club = arena.keep("Club", Channel, &[10, 11, 12]).await.unwrap();
    assert_eq!(arena.byte(10).await, (SeatState::Available, 1));
    let refused = arena.backend.hold(&fans[0].session, fans[0].pass(), arena.performance, seats(&[9, 10]), "k").await;
    let refusal = refused.unwrap_err().refusal();
    assert_eq!((refusal.code, refusal.seats.clone()), (Code::SeatNotForSale, seats(&[10])), "{refusal:?}");
    assert_eq!(arena.byte(9).await, (SeatState::Available, 0), "nothing was held");
    eventually!(SOON, "the list doesn't offer it", {
        let list = arena.backend.seat_list(arena.performance, Some(0)).await.unwrap();
        let mut kept = list.rows.iter().flat_map(|row| &row.seats).filter(|seat| (10..13).contains(&seat.seat.0));
        kept.all(|seat| !seat.available)
    });
    // Somebody else's code opens nothing here, nor does a grant for another allocation.
    let house = arena.keep("House", House, &[20]).await.unwrap();
    assert_eq!(arena.byte(20).await, (SeatState::Available, 2));
    arena.add_code(club, "club 2027").await;
    assert_eq!(arena.enter_code(&fans[0], "Club-2027", 1).await, Ok(()));
    assert_eq!(arena.take(&fans[0], &[10, 20], "a").await, Err(Code::SeatNotForSale));
    assert!(arena.take(&fans[0], &[10, 11, 9], "b").await.is_ok(), "kept and general seats in one hold");
    assert_eq!(arena.let_go(house).await, Ok(()));
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn seats_that_come_back_come_back_to_their_allocation() {
    let setup = Setup { hold_ttl_ms: 1_500, ..Setup::default() };
    let arena = Arena::bare(setup).await;
    let fans = arena.inside(2).await;
    let club = arena.keep("Club", Presale, &[10, 11, 12]).await.unwrap();
    arena.add_code(club, "CLUB-2027").await;
    arena.enter_code(&fans[0], "club2027", 1).await.unwrap();
    let held = arena.take(&fans[0], &[10, 11], "a").await.unwrap();
    assert_eq!(arena.byte(10).await, (SeatState::Held, 1));
    arena.await_status(held.order, "closed").await;
    eventually!(SOON, "the seats are back", arena.byte(10).await == (SeatState::Available, 1));
    assert_eq!(arena.take(&fans[1], &[10], "b").await, Err(Code::SeatNotForSale), "not on general sale");
    // Taken over before the sweeper: still only by who may.
    let again = arena.take(&fans[0], &[10, 11], "c").await.unwrap();
    arena.give_back(&fans[0], again.order).await.unwrap();
    assert_eq!(arena.byte(11).await, (SeatState::Available, 1));
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn released_seats_keep_their_state_and_a_sold_one_stays_sold() {
    let arena = Arena::web(Setup::default()).await;
    let (buyer, holder, other) = (arena.one_inside().await, arena.one_inside().await, arena.one_inside().await);
    let club = arena.keep("Club", Channel, &[10, 11, 12, 13]).await.unwrap();
    arena.add_code(club, "CLUB-2027").await;
    for (fan, address) in [(&buyer, 1), (&holder, 2)] {
        arena.enter_code(fan, "CLUB-2027", address).await.unwrap();
    }
    let order = arena.held(&buyer, "10").await;
    let started: PayStarted = arena.pay(&buyer, order.order).await.ok();
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    arena.await_status(order.order, "fulfilled").await;
    eventually!(SOON, "sold", arena.byte(10).await == (SeatState::Sold, 1));
    let open = arena.held(&holder, "11").await;
    arena.let_go(club).await.unwrap();
    arena.let_go(club).await.unwrap();
    assert_eq!(arena.byte(10).await, (SeatState::Sold, 0));
    assert_eq!(arena.byte(11).await, (SeatState::Held, 0), "an open hold goes on");
    assert_eq!(arena.byte(12).await, (SeatState::Available, 0));
    assert_eq!(arena.hold(&other, "10", "a").await.code(), Code::SeatTaken);
    assert_eq!(arena.hold(&other, "12,13", "b").await.status, 200);
    assert_eq!(arena.count("select count(*) from allocation_seats where performance_id = $1").await, 0);
    assert_eq!(arena.count("select count(*) from allocation_grants").await, 0, "grants end with it");
    let release = "select count(*) from audit_log where action = 'allocation.release'";
    assert_eq!(arena.count(release).await, 1, "released once");
    // What was held under the allocation comes back to general sale.
    arena.give_back(&holder, open.order).await.unwrap();
    assert_eq!(arena.byte(11).await, (SeatState::Available, 0));
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn seats_are_released_on_schedule_and_reach_every_map() {
    let arena = Arena::web(Setup::default()).await;
    let fan = arena.one_inside().await;
    let due = arena.redis_now().await.plus(2_000);
    let club = arena.keep_until("Club", Channel, &[10, 11], Some(due)).await.unwrap();
    let before = arena.hold(&fan, "10", "before").await;
    assert_eq!(before.code(), Code::SeatNotForSale);
    let list = async || {
        let reply = arena.backend.seat_list(arena.performance, Some(0)).await.unwrap();
        reply.rows.iter().flat_map(|row| &row.seats).find(|seat| seat.seat.0 == 10).is_some_and(|seat| seat.available)
    };
    eventually!(SOON, "the instant has come", arena.redis_now().await >= due);
    eventually!(SOON, "another process shows it as free", list().await);
    assert_eq!(arena.byte(10).await, (SeatState::Available, 0));
    let traces = "select count(*) from audit_log where action = 'allocation.due' and account_id is null";
    eventually!(SOON, "it is written down", arena.count(traces).await == 1);
    assert_eq!(arena.hold(&fan, "10", "after").await.status, 200);
    assert_eq!(arena.let_go(club).await, Ok(()), "again changes nothing");
    assert_eq!(arena.count("select count(*) from audit_log where action = 'allocation.release'").await, 0);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_hold_and_an_allocation_exactly_one_gets_the_seat() {
    let arena = Arena::bare(Setup::default()).await;
    let fan = arena.one_inside().await;
    for round in 0..12_u32 {
        let seat = 30 + round;
        let (name, key, late) = (format!("Round {round}"), format!("k{round}"), format!("r{round}"));
        let wanted = [seat];
        let (kept, held) = tokio::join!(arena.keep(&name, House, &wanted), arena.take(&fan, &wanted, &key));
        let (state, number) = arena.byte(seat).await;
        match (kept, held) {
            (Ok(allocation), Err(code)) => {
                assert_eq!((code, state), (Code::SeatNotForSale, SeatState::Available));
                assert_ne!(number, 0);
                // Back on general sale against a hold: the hold wins, or comes too early.
                let (done, held) = tokio::join!(arena.let_go(allocation), arena.take(&fan, &wanted, &late));
                assert_eq!(done, Ok(()));
                assert!(matches!(held, Ok(_) | Err(Code::SeatNotForSale)), "{held:?}");
                if let Ok(held) = held {
                    assert_eq!(arena.byte(seat).await, (SeatState::Held, 0));
                    arena.give_back(&fan, held.order).await.unwrap();
                    arena.await_status(held.order, "closed").await;
                }
            }
            (Err(code), Ok(held)) => {
                assert_eq!((code, state, number), (Code::SeatTaken, SeatState::Held, 0));
                let rows = "select count(*) from allocation_seats where performance_id = $1";
                assert_eq!(arena.count(rows).await, 0, "all or nothing");
                arena.give_back(&fan, held.order).await.unwrap();
            }
            (kept, held) => panic!("exactly one wins: {kept:?} {held:?}"),
        }
    }
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn seats_that_are_taken_or_kept_are_refused_by_name_and_nothing_is_kept() {
    let arena = Arena::bare(Setup::default()).await;
    let owner = arena.member(Role::Owner).await;
    let fan = arena.one_inside().await;
    let held = arena.take(&fan, &[11], "a").await.unwrap();
    let form = |picked: &str, release: &str| AllocationForm {
        name: "Club".to_owned(),
        kind: "channel".to_owned(),
        release: release.to_owned(),
        picked: picked.to_owned(),
        typed: String::new(),
    };
    let keep = async |form| {
        let done = arena.backend.create_allocation(&owner.session, arena.performance, form).await;
        done.map_err(|error| error.refusal())
    };
    let refusal = keep(form("10-12", "")).await.unwrap_err();
    assert_eq!((refusal.code, refusal.seats), (Code::SeatTaken, seats(&[11])));
    assert_eq!(arena.byte(10).await, (SeatState::Available, 0));
    assert_eq!(arena.count("select count(*) from allocations").await, 0);
    arena.keep("Other", Presale, &[20]).await.unwrap();
    let refusal = keep(form("19-20", "")).await.unwrap_err();
    assert_eq!((refusal.code, refusal.seats), (Code::SeatTaken, seats(&[20])));
    for (bad, field) in [
        (form("", ""), "seats: "),
        (form("x", ""), "seats: "),
        (form("0", "yesterday"), "release: "),
        (form("0", "2001-01-01T10:00"), "release: "),
        (AllocationForm { name: " ".to_owned(), ..form("0", "") }, "name: "),
        (AllocationForm { name: "x".repeat(81), ..form("0", "") }, "name: "),
        (AllocationForm { kind: "friends".to_owned(), ..form("0", "") }, "kind: "),
    ] {
        let refusal = keep(bad).await.unwrap_err();
        assert_eq!(refusal.code, Code::InvalidInput, "{refusal:?}");
        assert!(refusal.message.starts_with(field), "{refusal:?}");
    }
    let beyond = keep(form("90000", "")).await.unwrap_err();
    assert_eq!(beyond.code, Code::UnknownSeat);
    arena.give_back(&fan, held.order).await.unwrap();
    // Further seats, fewer seats, another name.
    let club = keep(form("10-12", "")).await.unwrap();
    let change = async |step, picked: &str| {
        let seats = (picked, "");
        let done = arena.backend.change_allocation_seats(&owner.session, arena.performance, club, step, seats).await;
        done.map_err(|error| error.refusal())
    };
    change(KeptStep::Add, "12-13").await.unwrap();
    let foreign = change(KeptStep::Remove, "10.20").await.unwrap_err();
    assert_eq!((foreign.code, foreign.seats), (Code::InvalidInput, seats(&[20])));
    change(KeptStep::Remove, "10").await.unwrap();
    assert_eq!(arena.byte(10).await, (SeatState::Available, 0));
    let edit = async |version| {
        let fields = ("Fan club", "2199-01-01T10:00");
        let done = arena.backend.edit_allocation(&owner.session, arena.performance, club, version, fields).await;
        done.map_err(|error| error.refusal().code)
    };
    assert_eq!((edit(1).await, edit(1).await), (Ok(()), Err(Code::WrongState)));
    let view = arena.view(&owner).await;
    let one = view.open.iter().find(|one| one.id == club).unwrap();
    assert_eq!((one.name.as_str(), one.seats.to_string().as_str(), one.version), ("Fan club", "11-13", 2));
    assert_eq!(one.counts.map(|counts| counts.free), Some(3));
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_many_allocations_as_a_byte_has_numbers_for() {
    let arena = Arena::bare(Setup::default()).await;
    let mut first = None;
    for number in 0..u32::from(ALLOCATIONS_MAX) {
        let made = arena.keep(&format!("No. {number}"), House, &[number]).await.unwrap();
        first.get_or_insert(made);
    }
    assert_eq!(arena.keep("One more", House, &[100]).await, Err(Code::WrongState));
    assert_eq!(arena.byte(62).await, (SeatState::Available, 63));
    arena.let_go(first.unwrap()).await.unwrap();
    arena.keep("One more", House, &[100]).await.unwrap();
    assert_eq!(arena.byte(100).await, (SeatState::Available, 1), "the number that is free again");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_the_loss_of_redis_kept_seats_are_kept_again_and_blocking_does_not_take_them_out() {
    let arena = Arena::bare(Setup::default()).await;
    let owner = arena.member(Role::Owner).await;
    let fans = arena.inside(2).await;
    let club = arena.keep("Club", Channel, &[10, 11, 12]).await.unwrap();
    arena.add_code(club, "CLUB-2027").await;
    arena.enter_code(&fans[0], "CLUB-2027", 1).await.unwrap();
    let backend = &arena.backend;
    backend.block_seats(&owner.session, arena.performance, set(&[12]), "camera").await.unwrap();
    assert_eq!(arena.byte(12).await, (SeatState::Blocked, 1));
    assert_eq!(arena.take(&fans[0], &[12], "a").await, Err(Code::SeatNotForSale));
    let held = arena.take(&fans[0], &[10], "b").await.unwrap();
    arena.await_status(held.order, "pending_payment").await;
    let () = redis::cmd("FLUSHALL").query_async(&mut arena.redis().await).await.unwrap();
    eventually!(SOON, "built again", {
        let bytes = backend.seat_bytes(arena.performance).await.unwrap_or_default();
        bytes.get(10..13)
            == Some(
                [
                    SeatByte::new(SeatState::Held, 1).0,
                    SeatByte::new(SeatState::Available, 1).0,
                    SeatByte::new(SeatState::Blocked, 1).0,
                ]
                .as_slice(),
            )
    });
    let other = arena.let_in(fans[1].clone(), arena.performance).await;
    assert_eq!(arena.take(&other, &[11], "c").await, Err(Code::SeatNotForSale));
    backend.unblock_seats(&owner.session, arena.performance, set(&[12])).await.unwrap();
    assert_eq!(arena.byte(12).await, (SeatState::Available, 1), "back in its allocation");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_between_the_stores_both_agree_again() {
    let setup = Setup { settings: vec![("STARARENA_RECONCILE_EVERY_MS", "300".to_owned())], ..Setup::default() };
    let mut arena = Arena::web(setup).await;
    let owner = arena.member(Role::Owner).await;
    let club = arena.keep("Club", Channel, &[10, 11]).await.unwrap();
    let id = arena.performance.to_string();
    let keep = [("id", id.as_str()), ("form[name]", "House"), ("form[kind]", "house"), ("form[picked]", "20-21")];
    let fault = [("STARARENA_FAULT_POINTS", "between-allocating")];

    arena.restart_server(&fault).await;
    arena.call_to_a_dying_server(&owner, "organizer-allocation-create", &keep).await;
    assert!(!arena.server().ended().await.success());
    assert_ne!(arena.byte(20).await, (SeatState::Available, 0), "Redis keeps seats of which Postgres knows nothing");
    assert_eq!(arena.count("select count(*) from allocations").await, 1);
    arena.start_server(&[]).await;
    eventually!(SOON, "the reconciler frees them", arena.byte(20).await == (SeatState::Available, 0));
    arena.call(Some(&owner), "organizer-allocation-create", &keep).await.ok::<AllocationId>();
    assert_eq!(arena.byte(20).await, (SeatState::Available, 2));

    arena.restart_server(&fault).await;
    let club = club.to_string();
    let release = [("id", id.as_str()), ("allocation", club.as_str()), ("sure", "true")];
    arena.call_to_a_dying_server(&owner, "organizer-allocation-release", &release).await;
    assert!(!arena.server().ended().await.success());
    assert_eq!(arena.byte(10).await, (SeatState::Available, 0));
    assert_eq!(arena.count("select count(*) from allocation_seats").await, 4);
    arena.start_server(&[]).await;
    eventually!(SOON, "they are kept again", arena.byte(10).await == (SeatState::Available, 1));
    arena.call(Some(&owner), "organizer-allocation-release", &release).await.ok::<()>();
    assert_eq!(arena.byte(10).await, (SeatState::Available, 0));
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn seats_are_kept_and_released_by_command() {
    let arena = Arena::bare(Setup::default()).await;
    let fan = arena.one_inside().await;
    let id = arena.performance.to_string();
    let run = async |args: &[&str]| {
        let mut command = program(arena.settings());
        command.args(["performance", args[0], id.as_str()]).args(&args[1..]).args(["--organization", ORGANIZATION]);
        run_to_end(command).await
    };
    let keep = ["allocate", "--name", "Fan club", "--kind", "presale", "--seats", "1-3,7"];
    let with = |further: &[&'static str]| keep.iter().copied().chain(further.iter().copied()).collect::<Vec<_>>();
    for (bad, why) in
        [(["--code", "SHORT"], "code"), (["--release-at", "soon"], "--release-at"), (["--seats", "3-1"], "--seats")]
    {
        let bad = if bad[0] == "--seats" {
            vec!["allocate", "--name", "A", "--kind", "house", bad[0], bad[1]]
        } else {
            with(&bad)
        };
        let (code, _, error) = run(&bad).await;
        assert!(code != Some(0) && error.contains(why), "{bad:?}: {error}");
    }
    assert_eq!(arena.count("select count(*) from allocations").await, 0, "nothing was kept");
    let (code, out, error) = run(&with(&["--release-at", "+60", "--code", "auto", "--code", "club 2027"])).await;
    assert_eq!(code, Some(0), "{error}");
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!((lines.len(), lines[2]), (3, "club 2027"), "{out}");
    assert_eq!(arena.byte(7).await, (SeatState::Available, 1));
    assert_eq!(arena.enter_code(&fan, lines[1], 1).await, Ok(()), "the code that was made");
    assert!(arena.take(&fan, &[1, 2], "a").await.is_ok());
    let (code, _, error) = run(&["release", "--allocation", "Fan club"]).await;
    assert_eq!(code, Some(0), "{error}");
    assert_eq!((arena.byte(7).await, arena.byte(1).await), ((SeatState::Available, 0), (SeatState::Held, 0)));
    arena.finish().await;
}
