//! Who may take a place and when, and a lottery from its registration to its last window.

use crate::arena::{Arena, Fan, ORGANIZATION, Reply, SOON, Setup};
use domain::account::Role;
use domain::organizer::desk::{DeskView, SaleChange};
use domain::organizer::draft::{Item, State};
use domain::organizer::pricing::Edit;
use domain::organizer::sales::DraftForm;
use domain::queue::{Joined, Mode, Phase, QueueStatus};
use domain::{Code, PerformanceId};
use std::time::Duration;

const HOUR_MS: i64 = 3_600_000;
/// Long enough for a few calls on a busy machine, short enough that a test waits for the end of three.
const WINDOW_MS: i64 = 4_000;
/// By when the next window has come.
const NEXT_WINDOW: Duration = Duration::from_secs(20);

async fn join(arena: &Arena, fan: &Fan) -> Reply {
    arena.call(Some(fan), "queue-join", &[("performance", &arena.performance.to_string())]).await
}

async fn enter(arena: &Arena, (fan, joined): &(Fan, Joined)) -> Reply {
    let performance = arena.performance.to_string();
    let form = [("performance", performance.as_str()), ("ticket", joined.ticket.as_str()), ("nonce", "n")];
    arena.call(Some(fan), "queue-enter", &form).await
}

/// What the server tells everybody: it decides by the same.
async fn status(arena: &Arena) -> QueueStatus {
    arena.open(None, &format!("/api/performances/{}/queue/status", arena.performance)).await.ok()
}

async fn number(arena: &Arena) -> u32 {
    status(arena).await.window.map_or(0, |window| window.number)
}

async fn open_now(arena: &Arena) {
    let operator = arena.member(Role::Operator).await;
    arena.backend.change_sale(&operator.session, arena.performance, SaleChange::Open).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lottery_calls_the_drawn_order_in_windows_and_then_everybody_who_registered() {
    let setup =
        Setup { mode: Mode::Lottery, opens_in_ms: HOUR_MS, window_ms: WINDOW_MS, seat_limit: 2, ..Setup::default() };
    let arena = Arena::web(setup).await;
    // Two seats for each winner: two winners in a window.
    arena.keep_open(4).await;
    let mut registered = Vec::new();
    for fan in arena.fans(5).await {
        let joined: Joined = join(&arena, &fan).await.ok();
        registered.push((fan, joined));
    }
    assert_eq!((status(&arena).await.phase, status(&arena).await.mode), (Phase::Lobby, Mode::Lottery));
    assert_eq!(enter(&arena, &registered[0]).await.code(), Code::NotYourTurn);

    open_now(&arena).await;
    eventually!(SOON, "the first window is open", number(&arena).await == 1);
    let late = arena.fans(1).await.remove(0);
    assert_eq!(join(&arena, &late).await.code(), Code::QueueClosed, "nobody registers after the opening");
    let draw = status(&arena).await.draw().unwrap();
    registered.sort_by_key(|(_, joined)| draw.place(joined.arrival));
    let again: Joined = join(&arena, &registered[0].0).await.ok();
    assert_eq!(again.arrival, registered[0].1.arrival, "who registered keeps the place");

    // Places 0 and 1 are called, 4 is not; 1 lets the window pass.
    assert_eq!(enter(&arena, &registered[0]).await.status, 200);
    assert_eq!(enter(&arena, &registered[4]).await.code(), Code::NotYourTurn);
    eventually!(NEXT_WINDOW, "the second window is open", number(&arena).await == 2);
    assert_eq!(enter(&arena, &registered[1]).await.code(), Code::TurnPassed);
    assert_eq!(enter(&arena, &registered[2]).await.status, 200);
    let operator = arena.member(Role::Operator).await;
    let performance = arena.performance.to_string();
    let form = [("performance", performance.as_str())];
    let desk: DeskView = arena.call(Some(&operator), "organizer-sale-desk", &form).await.ok();
    assert!(
        desk.mode == Mode::Lottery && desk.window.is_some_and(|open| open.window.number >= 2 && open.window.from >= 2)
    );
    eventually!(NEXT_WINDOW, "the last window is open", number(&arena).await == 3);
    assert_eq!(enter(&arena, &registered[4]).await.status, 200);

    // Seats are left: whoever registered may come, in whatever window the turn was.
    let open_to_all = async || {
        let now = status(&arena).await;
        now.window.is_none() && now.serving == 5
    };
    eventually!(NEXT_WINDOW, "the door is open to all", open_to_all().await);
    for passed in [1, 3] {
        assert_eq!(enter(&arena, &registered[passed]).await.status, 200, "place {passed}");
    }
    assert_eq!(join(&arena, &late).await.code(), Code::QueueClosed, "and nobody else");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_made_after_the_cut_off_gets_no_place() {
    let arena = Arena::web(Setup { cutoff_in_ms: Some(-1_000), ..Setup::default() }).await;
    // Seeded sign-ins say that their accounts are of 1970; one that is read anew says when it was made.
    let (old, new) = (arena.fans(1).await.remove(0), arena.fans(1).await.remove(0));
    let new = arena.second_device(&new).await;
    let reply = join(&arena, &new).await;
    assert_eq!((reply.status, reply.code()), (403, Code::AccountTooNew));
    assert_eq!(join(&arena, &old).await.status, 200);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn places_are_given_from_when_registration_opens() {
    let setup = Setup { opens_in_ms: 2 * HOUR_MS, registers_in_ms: Some(HOUR_MS), ..Setup::default() };
    let arena = Arena::web(setup).await;
    let fan = arena.fans(1).await.remove(0);
    assert_eq!(join(&arena, &fan).await.code(), Code::QueueClosed);
    let told = status(&arena).await;
    assert!(told.phase == Phase::Announced && told.registers_at < told.opens_at, "{told:?}");
    let slug = arena.backend.performance(arena.performance).await.unwrap().slug.clone();
    let page = arena.open(None, &format!("/events/{slug}")).await;
    assert!(page.status == 200 && page.body.contains("data-testid=\"registers\""), "{}", page.body);
    // The registration comes; every process knows it within its second.
    sqlx::query("update performances set registers_ms = 1, settings_version = settings_version + 1 where id = $1")
        .bind(arena.performance.0)
        .execute(&arena.pg)
        .await
        .unwrap();
    eventually!(SOON, "places are given", join(&arena, &fan).await.status == 200);
    arena.finish().await;
}

/// The form of a lottery that opens at ten on an evening of 2099.
fn form(plan: &str) -> DraftForm {
    DraftForm {
        plan: plan.to_owned(),
        starts: "2099-05-01T20:00".to_owned(),
        opens: "2099-05-01T10:00".to_owned(),
        mode: "lottery".to_owned(),
        registers: "2099-04-30T10:00".to_owned(),
        account_cutoff: "2099-04-29T10:00".to_owned(),
        window_min: "20".to_owned(),
        closes: "2099-05-01T20:00".to_owned(),
        seat_limit: "4".to_owned(),
        hold_ttl_min: "2".to_owned(),
        shoppers_max: "100".to_owned(),
        release_per_min: "1000".to_owned(),
        currency: "EUR".to_owned(),
        ..DraftForm::default()
    }
}

/// A new draft of the arena's event, the id of its plan, and how many categories that has.
async fn draft(arena: &Arena, owner: &Fan) -> (PerformanceId, String, usize) {
    let member = arena.backend.command_line(ORGANIZATION).await.unwrap();
    let (plan, categories) = arena.backend.plan_of_venue(&member, "House").await.unwrap();
    let slug = arena.backend.performance(arena.performance).await.unwrap().slug.clone();
    let event = arena.backend.event_by_slug(&member, &slug).await.unwrap();
    let draft = arena.backend.new_draft(&owner.session, event).await.unwrap();
    (draft, plan.to_string(), categories.len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_draft_names_what_is_wrong_with_its_lottery_and_publishes_what_is_right() {
    let arena = Arena::bare(Setup::default()).await;
    let owner = arena.member(Role::Owner).await;
    let (id, plan, categories) = draft(&arena, &owner).await;
    for (field, wrong) in [
        ("mode", DraftForm { mode: "raffle".to_owned(), ..form(&plan) }),
        ("window_min", DraftForm { window_min: "0".to_owned(), ..form(&plan) }),
        ("window_min", DraftForm { window_min: "10081".to_owned(), ..form(&plan) }),
        ("registers", DraftForm { registers: "soon".to_owned(), ..form(&plan) }),
        ("account_cutoff", DraftForm { account_cutoff: "2027-03-28T02:30".to_owned(), ..form(&plan) }),
        (
            "registers",
            DraftForm {
                plan: String::new(),
                starts: String::new(),
                opens: String::new(),
                closes: String::new(),
                ..form(&plan)
            },
        ),
    ] {
        let refused = arena.backend.save_draft(&owner.session, id, 1, wrong).await.unwrap_err().refusal();
        let named = refused.message.starts_with(&format!("{field}: "));
        assert!(refused.code == Code::InvalidInput && named, "{field}: {}", refused.message);
    }

    let contradictory = DraftForm {
        registers: "2099-05-01T10:00".to_owned(),
        account_cutoff: "2099-05-01T10:01".to_owned(),
        closes: "2099-05-01T10:19".to_owned(),
        ..form(&plan)
    };
    arena.backend.save_draft(&owner.session, id, 1, contradictory).await.unwrap();
    let prices = Edit::SetPrices { amounts: vec!["50".to_owned(); categories] };
    let version = arena.backend.edit_zones(&owner.session, id, 2, prices).await.unwrap();
    let checks = arena.backend.draft(&owner.session, id).await.unwrap().checks;
    let missing: Vec<Item> = checks.iter().filter(|c| c.state == State::Missing).map(|c| c.item).collect();
    assert_eq!(missing, [Item::Registers, Item::AccountCutoff, Item::Window]);
    let refused = arena.backend.publish_draft(&owner.session, id, version).await.unwrap_err().refusal();
    for field in ["registers: ", "account_cutoff: ", "window: "] {
        assert!(refused.code == Code::NotReady && refused.message.contains(field), "{field}: {}", refused.message);
    }

    arena.backend.save_draft(&owner.session, id, version, form(&plan)).await.unwrap();
    arena.backend.publish_draft(&owner.session, id, version + 1).await.unwrap();
    let view = arena.backend.draft(&owner.session, id).await.unwrap();
    assert_eq!((view.mode, view.window_ms), (Mode::Lottery, 20 * 60_000));
    assert_eq!(
        (view.registers.text.as_str(), view.account_cutoff.text.as_str()),
        ("2099-04-30T10:00", "2099-04-29T10:00")
    );
    let shown = arena.backend.performance(id).await.unwrap();
    assert_eq!(
        (shown.mode, shown.registers.as_ref().map(|at| at.at)),
        (Mode::Lottery, view.registers.zoned.map(|at| at.at))
    );
    let commitments: i64 =
        sqlx::query_scalar("select count(*) from draw_commitments where performance_id = $1 and number = 0")
            .bind(id.0)
            .fetch_one(&arena.pg)
            .await
            .unwrap();
    assert_eq!(commitments, 1, "the first commitment is published with the performance");
    arena.finish().await;
}
