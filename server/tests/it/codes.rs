//! Who may take kept seats: codes, the house's guests, people who need an accessible place.

use crate::arena::{Arena, Fan, SOON, Setup, kept_from as from, seat_set as set};
use domain::account::Role;
use domain::allocation::AllocationKind::{Accessible, Channel, House, Presale};
use domain::hold::SeatState;
use domain::organizer::allocations::CodeForm;
use domain::organizer::desk::DeskView;
use domain::{Code, PerformanceId};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_code_opens_nothing_and_can_not_be_guessed() {
    let arena = Arena::bare(Setup::default()).await;
    let owner = arena.member(Role::Owner).await;
    let other_sale = arena.another_sale().await;
    let club = arena.keep("Club", Channel, &[10]).await.unwrap();
    arena.add_code(club, "CLUB-2027").await;
    let [fan, late, other]: [Fan; 3] = arena.fans(3).await.try_into().unwrap();
    assert_eq!(arena.enter_code(&fan, "CLUB-2028", 1).await, Err(Code::CodeInvalid));
    assert_eq!(arena.enter_code(&fan, "", 1).await, Err(Code::CodeInvalid));
    assert_eq!(arena.enter_code(&fan, "'; drop table allocation_codes", 1).await, Err(Code::CodeInvalid));
    let elsewhere = arena.backend.open_by_code(&fan.session, other_sale, "CLUB-2027", &from(1)).await;
    assert_eq!(elsewhere.unwrap_err().refusal().code, Code::CodeInvalid, "another performance's");
    assert_eq!(arena.enter_code(&fan, "club 2027", 1).await, Ok(()));
    assert_eq!(arena.enter_code(&fan, "club 2027", 1).await, Ok(()), "again is the same");
    let code = arena.view(&owner).await.open[0].codes[0].clone();
    assert_eq!((code.uses, code.revoked), (1, false), "an account counts once");

    arena.backend.revoke_code(&owner.session, arena.performance, code.id).await.unwrap();
    assert_eq!(arena.enter_code(&late, "CLUB-2027", 2).await, Err(Code::CodeInvalid), "revoked");
    let inside = arena.let_in(fan, arena.performance).await;
    assert_eq!(arena.take(&inside, &[10], "a").await, Err(Code::SeatNotForSale), "what it opened is closed");
    // Neither an account with many addresses nor an address with many accounts may go on guessing.
    let mut limited = false;
    for number in 0..40_u8 {
        limited = limited || arena.enter_code(&other, "GUESS-1", 100 + number).await == Err(Code::TooManyRequests);
    }
    assert!(limited, "by account");
    let mut limited = false;
    for fan in arena.fans(60).await {
        limited = limited || arena.enter_code(&fan, "GUESS-1", 99).await == Err(Code::TooManyRequests);
    }
    assert!(limited, "by address");
    assert_eq!(
        arena.count("select count(*) from allocation_codes where digest::text like '%434c5542%'").await,
        0,
        "no code is stored as it is"
    );
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_is_used_by_exactly_as_many_accounts_as_it_may() {
    const MOST: usize = 5;
    let arena = Arena::bare(Setup::default()).await;
    let owner = arena.member(Role::Owner).await;
    let club = arena.keep("Club", Presale, &[10]).await.unwrap();
    let form = CodeForm { code: "CLUB-2027".into(), label: "Members".into(), uses_max: MOST.to_string() };
    arena.backend.add_code(&owner.session, arena.performance, club, form.clone()).await.unwrap();
    let again = arena.backend.add_code(&owner.session, arena.performance, club, form).await;
    assert_eq!(again.unwrap_err().refusal().code, Code::InvalidInput, "the same code twice");
    let fans = arena.fans(20).await;
    let tries = fans.iter().zip(1..).map(|(fan, address)| arena.enter_code(fan, "CLUB-2027", address));
    let answers = futures::future::join_all(tries).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), MOST);
    assert!(answers.iter().filter_map(|answer| answer.err()).all(|code| code == Code::CodeInvalid), "{answers:?}");
    assert_eq!(arena.count("select count(*) from allocation_grants").await, i64::try_from(MOST).unwrap());
    let winner = answers.iter().position(Result::is_ok).unwrap();
    assert_eq!(arena.enter_code(&fans[winner], "CLUB-2027", 77).await, Ok(()), "who has it keeps it");
    let view = arena.view(&owner).await;
    let code = &view.open[0].codes[0];
    assert_eq!((code.label.as_str(), code.uses, code.uses_max), ("Members", 5, Some(5)));
    assert_eq!(view.open[0].accounts, 5);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_house_is_opened_for_accounts_by_a_member_and_never_by_codes() {
    let arena = Arena::bare(Setup::default()).await;
    let owner = arena.member(Role::Owner).await;
    let fan = arena.one_inside().await;
    let house = arena.keep("Guests", House, &[10, 11]).await.unwrap();
    let form = CodeForm { code: "GUESTS-1".into(), label: String::new(), uses_max: String::new() };
    let code = arena.backend.add_code(&owner.session, arena.performance, house, form).await;
    assert_eq!(code.unwrap_err().refusal().code, Code::WrongState);
    let grant = async |email: &str| {
        let done = arena.backend.grant_allocation(&owner.session, arena.performance, house, email).await;
        done.map_err(|error| error.refusal().code)
    };
    assert_eq!(grant("nobody@mail.example").await, Err(Code::InvalidInput));
    assert_eq!(arena.take(&fan, &[10], "a").await, Err(Code::SeatNotForSale));
    assert_eq!(grant(&fan.session.email).await, Ok(()));
    let openings = arena.backend.openings(Some(&fan.session), arena.performance).await.unwrap();
    assert_eq!((openings.codes, openings.free(), openings.opened[0].name.as_str()), (false, set(&[10, 11]), "Guests"));
    assert!(arena.take(&fan, &[10, 11], "b").await.is_ok());
    let openings = arena.backend.openings(Some(&fan.session), arena.performance).await.unwrap();
    assert_eq!((openings.free(), openings.seats()), (set(&[]), set(&[10, 11])));
    assert!(!arena.backend.openings(None, arena.performance).await.unwrap().any());
    arena.finish().await;
}

/// Seats of a zone, told apart by whether they are accessible: the least zone that has both.
async fn zone_with_accessible(arena: &Arena, performance: PerformanceId) -> (Vec<u32>, Vec<u32>) {
    let rows: Vec<(i32, i16, bool)> = sqlx::query_as(
        "select s.seat_no, s.category, s.accessible from plan_seats s join performances p on p.plan_id = s.plan_id
         where p.id = $1 order by s.seat_no",
    )
    .bind(performance.0)
    .fetch_all(&arena.pg)
    .await
    .unwrap();
    let zone = rows.iter().find(|(.., accessible)| *accessible).expect("a house with accessible seats").1;
    let of = |wanted: bool| {
        rows.iter()
            .filter(|(_, category, accessible)| *category == zone && *accessible == wanted)
            .map(|(seat, ..)| u32::try_from(*seat).unwrap())
            .collect::<Vec<_>>()
    };
    (of(true), of(false))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accessible_seats_are_for_who_needs_one_with_three_companions() {
    let arena = Arena::bare(Setup { seat_limit: 8, ..Setup::default() }).await;
    let fan = arena.one_inside().await;
    let (accessible, others) = zone_with_accessible(&arena, arena.performance).await;
    let need = async |sure| {
        let done = arena.backend.open_accessible(&fan.session, arena.performance, sure).await;
        done.map_err(|error| error.refusal().code)
    };
    assert_eq!(need(true).await, Err(Code::NotFound), "nothing of the kind is kept");
    let kept: Vec<u32> = accessible.iter().take(1).chain(others.iter().take(5)).copied().collect();
    arena.keep("Wheelchairs", Accessible, &kept).await.unwrap();
    assert_eq!(arena.take(&fan, &kept[..1], "a").await, Err(Code::SeatNotForSale));
    assert_eq!(need(false).await, Err(Code::InvalidInput), "the need is to be declared");
    assert_eq!((need(true).await, need(true).await), (Ok(()), Ok(())));
    assert_eq!(arena.take(&fan, &kept[1..3], "b").await, Err(Code::LimitExceeded), "companions come with somebody");
    assert_eq!(arena.take(&fan, &kept[..5], "c").await, Err(Code::LimitExceeded), "four companions");
    let held = arena.take(&fan, &kept[..4], "d").await.unwrap();
    assert_eq!(held.seats.len(), 4);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accessible_seats_are_kept_until_their_price_level_is_sold_out() {
    let arena = Arena::web(Setup::default()).await;
    let owner = arena.member(Role::Owner).await;
    let (accessible, mut others) = zone_with_accessible(&arena, arena.performance).await;
    arena.keep("Wheelchairs", Accessible, &accessible).await.unwrap();
    // Two seats of the level are left on general sale.
    let (last, rest) = (others.split_off(others.len() - 2), others);
    arena.backend.block_seats(&owner.session, arena.performance, set(&rest), "stage").await.unwrap();
    let (buyer, holder) = (arena.one_inside().await, arena.one_inside().await);
    let first = arena.held(&buyer, &last[0].to_string()).await;
    arena.buy(&buyer, first.order).await;
    let second = arena.held(&holder, &last[1].to_string()).await;
    eventually!(SOON, "one is sold", arena.byte(last[0]).await.0 == SeatState::Sold);
    arena.await_status(second.order, "pending_payment").await;
    assert_ne!(arena.byte(accessible[0]).await.1, 0, "a held seat may come back");
    arena.buy(&holder, second.order).await;
    eventually!(SOON, "the level is sold out", arena.byte(accessible[0]).await == (SeatState::Available, 0));
    eventually!(SOON, "all of them are released", {
        arena.count("select count(*) from allocations where released_ms is null").await == 0
    });
    assert_eq!(arena.count("select count(*) from audit_log where action = 'allocation.soldout'").await, 1);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_show_what_is_kept_and_the_desk_counts_it_apart() {
    let arena = Arena::web(Setup::default()).await;
    let owner = arena.member(Role::Owner).await;
    let fan = arena.fans(1).await.remove(0);
    let id = arena.performance;
    let list = format!("/performances/{id}/list?section=0");
    assert!(!arena.open(Some(&fan), &list).await.body.contains("data-testid=\"have-code\""), "nothing is kept");
    let club = arena.keep("Fan club", Channel, &[0, 1, 2]).await.unwrap();
    arena.add_code(club, "CLUB-2027").await;
    eventually!(SOON, "the form is there", {
        arena.open(Some(&fan), &list).await.body.contains("data-testid=\"have-code\"")
    });
    let wrong = arena.call(Some(&fan), "seat-code", &[("performance", &id.to_string()), ("code", "NOTHING")]).await;
    assert_eq!((wrong.status, wrong.code()), (404, Code::CodeInvalid));
    let right = arena.call(Some(&fan), "seat-code", &[("performance", &id.to_string()), ("code", "club-2027")]).await;
    assert_eq!(right.status, 200, "{}", right.body);
    let page = arena.open(Some(&fan), &list).await.body;
    assert!(page.contains("Kept for you: Fan club") && page.contains("data-testid=\"seat-kept\""), "{page}");
    let page = arena.open(Some(&owner), &format!("/organizer/performances/{id}/allocations")).await;
    assert_eq!(page.status, 200);
    assert!(page.body.contains("Fan club") && !page.body.contains("CLUB"), "a code is shown once");
    eventually!(SOON, "the desk counts them apart", {
        let desk: DeskView =
            arena.call(Some(&owner), "organizer-sale-desk", &[("performance", &id.to_string())]).await.ok();
        desk.seats.kept == 3 && desk.seats.free == Setup::default().seats - 3
    });
    arena.finish().await;
}
