//! The organizer's page for another version of a plan, as a browser without JavaScript sees it: the dry
//! run, the step, and each refusal at the place where it is looked for.

use crate::arena::{Arena, Fan, ORGANIZATION, Reply, SOON, Setup};
use domain::account::Role;
use domain::hold::SeatState;
use domain::organizer::replanning::{PlanChange, ReplanningView};
use domain::venue::plan::{Category, Draft, DraftRow, DraftSeat, DraftSection, Kind};
use domain::venue::{Plan, Point};
use domain::{Code, PlanId};
use reqwest::Method;

/// One row of so many seats; the last version of the house says "Gallery" where others said "Floor".
fn house(section: &str, seats: usize) -> Plan {
    let seat = |at: usize| DraftSeat {
        guid: format!("seat-{at}"),
        label: (at + 1).to_string(),
        position: Point::new(at as f64 * 25.0, 0.0),
        radius: 10.0,
        category: 0,
        kind: Kind::Seat,
        restricted_view: false,
        start_direction: None,
        uuid: None,
    };
    let row = DraftRow { label: "A".to_owned(), seats: (0..seats).map(seat).collect(), ..DraftRow::default() };
    let draft = Draft {
        name: "Hall".to_owned(),
        categories: vec![Category { name: "Seated".to_owned(), color: None }],
        sections: vec![DraftSection { name: section.to_owned(), rows: vec![row], ..DraftSection::default() }],
        ..Draft::default()
    };
    draft.finish().unwrap()
}

async fn arena() -> Arena {
    Arena::web(Setup { plan: Some(house("Floor", 10)), ..Setup::default() }).await
}

async fn choices(arena: &Arena, owner: &Fan) -> ReplanningView {
    arena.call(Some(owner), "organizer-plan-choices", &[("id", &arena.performance.to_string())]).await.ok()
}

/// Stores a version of the house at the place that the sale is at.
async fn stored(arena: &Arena, owner: &Fan, plan: Plan) -> PlanId {
    let view = choices(arena, owner).await;
    let zone: String = sqlx::query_scalar("select time_zone from plans where venue = $1 limit 1")
        .bind(&view.venue)
        .fetch_one(&arena.pg)
        .await
        .unwrap();
    let member = arena.backend.command_line(ORGANIZATION).await.unwrap();
    arena.backend.store_plan(&member, plan, &view.venue, &view.city, &zone).await.unwrap().id
}

fn address(arena: &Arena, plan: PlanId) -> String {
    format!("/organizer/performances/{}/plan?plan={plan}", arena.performance)
}

async fn preview(arena: &Arena, owner: &Fan, plan: PlanId) -> PlanChange {
    let (id, plan) = (arena.performance.to_string(), plan.to_string());
    arena.call(Some(owner), "organizer-plan-preview", &[("id", &id), ("plan", &plan)]).await.ok()
}

/// Sends the form of the page as a browser does, and gives the page that it is led to.
async fn confirm(arena: &Arena, owner: &Fan, from: PlanId, plan: PlanId) -> (String, Reply) {
    let form = [("id", arena.performance.to_string()), ("from", from.to_string()), ("plan", plan.to_string())];
    let request = arena
        .plain_request(Method::POST, "/api/organizer-plan-replace")
        .header("origin", &arena.origin)
        .header("accept", "text/html")
        .header("referer", format!("{}{}", arena.origin, address(arena, plan)))
        .header("cookie", &owner.cookie)
        .form(&form);
    let reply = arena.send(request).await;
    assert_eq!(reply.status, 302, "{}", reply.body);
    let target = reply.headers["location"].to_str().unwrap().replace(&arena.origin, "");
    let page = arena.open(Some(owner), &target).await;
    (target, page)
}

fn has(page: &Reply, testid: &str) -> bool {
    page.body.contains(&format!("data-testid=\"{testid}\""))
}

fn refusal(page: &Reply, code: Code) -> bool {
    has(page, "refusal") && page.body.contains(&format!("data-code=\"{}\"", code.as_str()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_is_chosen_looked_at_and_put_in_place_by_forms() {
    let arena = arena().await;
    let owner = arena.member(Role::Owner).await;
    let page = format!("/organizer/performances/{}", arena.performance);
    assert!(has(&arena.open(Some(&owner), &page).await, "to-plan"));
    let risk = arena.member(Role::Risk).await;
    assert!(!has(&arena.open(Some(&risk), &page).await, "to-plan"), "who may not change it sees no way to it");
    let one = arena.open(Some(&owner), &format!("{page}/plan")).await;
    assert!(has(&one, "only-one-plan") && !has(&one, "choose-plan"), "{}", one.body);

    let longer = stored(&arena, &owner, house("Floor", 12)).await;
    let list = arena.open(Some(&owner), &format!("{page}/plan")).await;
    assert_eq!(list.body.matches("data-testid=\"plan-choice\"").count(), 2, "{}", list.body);
    assert!(has(&list, "in-use") && !has(&list, "plan-change") && !has(&list, "only-one-plan"));
    let look = arena.open(Some(&owner), &address(&arena, longer)).await;
    assert!(look.body.contains("data-allowed=\"true\"") && has(&look, "replace-form"), "{}", look.body);
    assert!(look.body.contains(">10 → 12<") && look.body.contains(">Floor; A; 11-12<"), "{}", look.body);
    assert!(!has(&look, "gone") && !has(&look, "lost") && !has(&look, "refusal"));
    let nowhere = arena.open(Some(&owner), &format!("{page}/plan?plan=%3Cb%3E")).await;
    assert!(nowhere.status == 200 && has(&nowhere, "choose-plan") && !has(&nowhere, "plan-change"));

    let from = preview(&arena, &owner, longer).await.from;
    let (target, done) = confirm(&arena, &owner, from, longer).await;
    assert_eq!((target, done.status), (format!("{page}?replaced=1"), 200));
    assert!(has(&done, "replaced"), "{}", done.body);
    assert!(!has(&arena.open(Some(&owner), &page).await, "replaced"), "it is told once");
    let view = choices(&arena, &owner).await;
    assert_eq!(view.seats, 12);
    assert_eq!(
        view.choices.iter().filter(|choice| choice.current).map(|choice| choice.id).collect::<Vec<_>>(),
        [longer]
    );
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_plan_would_take_from_somebody_is_listed_and_a_change_that_came_late_is_told() {
    let arena = arena().await;
    let owner = arena.member(Role::Owner).await;
    let fan = arena.one_inside().await;
    // Stored before: later the import itself would refuse it.
    let shorter = stored(&arena, &owner, house("Floor", 8)).await;
    let held = arena.held(&fan, "9").await;
    arena.await_status(held.order, "pending_payment").await;
    let look = arena.open(Some(&owner), &address(&arena, shorter)).await;
    assert!(has(&look, "lost") && has(&look, "lost-held") && !has(&look, "lost-sold"), "{}", look.body);
    assert!(look.body.contains("data-allowed=\"false\"") && !has(&look, "replace-form"));
    // Whoever sends the form all the same is refused, in the page that it was sent from.
    let from = preview(&arena, &owner, shorter).await.from;
    let (target, late) = confirm(&arena, &owner, from, shorter).await;
    assert!(target.starts_with(&address(&arena, shorter)), "{target}");
    assert!(
        refusal(&late, Code::SeatTaken) && late.body.contains("1 in open orders: Floor; A; 10") && has(&late, "lost"),
        "{}",
        late.body
    );
    assert_eq!(choices(&arena, &owner).await.seats, 10, "nothing was changed");

    let gallery = stored(&arena, &owner, house("Gallery", 11)).await;
    let longer = stored(&arena, &owner, house("Floor", 12)).await;
    let seen = preview(&arena, &owner, gallery).await.from;
    assert_eq!(confirm(&arena, &owner, seen, longer).await.1.status, 200, "somebody else was quicker");
    let (_, late) = confirm(&arena, &owner, seen, gallery).await;
    assert!(refusal(&late, Code::WrongState), "{}", late.body);
    assert!(has(&late, "replace-form"), "what would change now is shown beside it");
    let again = arena.open(Some(&owner), &address(&arena, longer)).await;
    assert!(refusal(&again, Code::InvalidInput) && !has(&again, "replace-form"), "it is in use: {}", again.body);
    eventually!(SOON, "still held", arena.seat(9).await & 3 == SeatState::Held as u8);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn buyers_whose_seats_get_other_words_are_listed_before_they_get_a_mail() {
    let arena = arena().await;
    let owner = arena.member(Role::Owner).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "3").await;
    arena.buy(&fan, held.order).await;
    eventually!(SOON, "sold", arena.seat(3).await & 3 == SeatState::Sold as u8);
    let gallery = stored(&arena, &owner, house("Gallery", 10)).await;
    let look = arena.open(Some(&owner), &address(&arena, gallery)).await;
    assert!(has(&look, "renamed-sold") && look.body.contains(">Floor A 4 → Gallery A 4<"), "{}", look.body);
    assert!(has(&look, "replace-form") && !has(&look, "added"));
    arena.finish().await;
}
