//! Another version of the plan while seats are sold: numbers, tickets, holds and open maps stay right,
//! nobody loses a seat, and whatever dies in between, the sale goes on with one plan or the other.

use crate::arena::crowd::{Crowd, Habits, Weather};
use crate::arena::provider::GOOD_CARD;
use crate::arena::{Arena, Fan, ORGANIZATION, SOON, Setup, program, run_to_end};
use backend::Member;
use domain::account::{MailView, Role};
use domain::allocation::AllocationKind::House;
use domain::catalog::{PerformanceView, SeatList};
use domain::hold::{AreaWish, HoldWish, SeatState};
use domain::live::{Frame, LiveMap};
use domain::order::{OrderView, PayStarted};
use domain::organizer::pricing::Edit;
use domain::organizer::replanning::{PlanChange, Taken};
use domain::organizer::sales::DraftForm;
use domain::venue::plan::{Category, Draft, DraftRow, DraftSeat, DraftSection, Kind};
use domain::venue::static_map::{self, MapData};
use domain::venue::{Plan, Point};
use domain::{Code, PlanId, SeatNo};
use std::collections::HashSet;

/// A row of so many seats: section, label, numbers.
type Told = (&'static str, &'static str, Vec<u32>);

/// A house of these rows; a section "Pit" is one to stand in, "Balcony" is of the second category.
fn house(rows: &[Told]) -> Plan {
    let mut draft = Draft {
        name: "Hall".to_owned(),
        categories: ["Seated", "Balcony"].map(|name| Category { name: name.to_owned(), color: None }).to_vec(),
        ..Draft::default()
    };
    for (depth, (section, label, numbers)) in rows.iter().enumerate() {
        let seats = numbers.iter().enumerate().map(|(at, number)| DraftSeat {
            guid: format!("{section}-{label}-{number}"),
            label: number.to_string(),
            position: Point::new(at as f64 * 25.0, depth as f64 * 30.0),
            radius: 10.0,
            category: usize::from(*section == "Balcony"),
            kind: if *section == "Pit" { Kind::Standing } else { Kind::Seat },
            restricted_view: false,
            start_direction: None,
            uuid: None,
        });
        let row = DraftRow { label: (*label).to_owned(), seats: seats.collect(), ..DraftRow::default() };
        match draft.sections.iter_mut().find(|drawn| drawn.name == *section) {
            Some(drawn) => drawn.rows.push(row),
            None => draft.sections.push(DraftSection {
                name: (*section).to_owned(),
                rows: vec![row],
                ..DraftSection::default()
            }),
        }
    }
    draft.finish().unwrap()
}

fn first_version() -> Vec<Told> {
    vec![
        ("Floor", "2", (1..=10).collect()),
        ("Floor", "3", (1..=10).collect()),
        ("Balcony", "1", (1..=10).collect()),
        ("Pit", "", (1..=20).collect()),
    ]
}

/// A row and a section in front, a longer row, a smaller one, a larger pit.
fn second_version() -> Vec<Told> {
    vec![
        ("Box", "A", (1..=4).collect()),
        ("Floor", "1", (1..=10).collect()),
        ("Floor", "2", (1..=12).collect()),
        ("Floor", "3", (1..=8).collect()),
        ("Balcony", "1", (1..=10).collect()),
        ("Pit", "", (1..=30).collect()),
    ]
}

fn setup() -> Setup {
    Setup { plan: Some(house(&first_version())), ..Setup::default() }
}

/// The number of a seat, by the words for it.
fn number(plan: &Plan, section: &str, row: &str, seat: u32) -> u32 {
    let wanted = (section, row, seat.to_string());
    let is = |no: &u32| {
        let label = plan.seat_label(*no).unwrap();
        (label.section, label.row, label.seat.to_owned()) == wanted
    };
    (0..u32::try_from(plan.seats.len()).unwrap()).find(is).unwrap()
}

async fn owner(arena: &Arena) -> Member {
    arena.backend.command_line(ORGANIZATION).await.unwrap()
}

/// Stores another version of the house.
async fn stored(arena: &Arena, rows: &[Told]) -> PlanId {
    arena.backend.store_plan(&owner(arena).await, house(rows), "Hall", "Berlin", "Europe/Berlin").await.unwrap().id
}

async fn preview(arena: &Arena, plan: PlanId) -> Result<PlanChange, domain::Refusal> {
    let owner = owner(arena).await;
    arena.backend.preview_plan_change_for(&owner, arena.performance, plan).await.map_err(|error| error.refusal())
}

async fn replace(arena: &Arena, plan: PlanId) -> Result<PlanChange, domain::Refusal> {
    let (owner, from) = (owner(arena).await, preview(arena, plan).await?.from);
    arena.backend.change_plan_for(&owner, arena.performance, from, plan).await.map_err(|error| error.refusal())
}

async fn view(arena: &Arena) -> std::sync::Arc<PerformanceView> {
    arena.backend.performance(arena.performance).await.unwrap()
}

/// The map that fans load now, from the files that the server gives away.
async fn map(arena: &Arena) -> MapData {
    let digest = view(arena).await.map_digest.clone();
    let dir = std::path::Path::new(&arena.settings()["STARARENA_DATA_DIR"]).join("maps");
    let bin = std::fs::read(dir.join(format!("{digest}.bin"))).unwrap();
    static_map::decode(&bin, &std::fs::read_to_string(dir.join(format!("{digest}.json"))).unwrap()).unwrap()
}

/// The number of a seat on the map that fans load.
fn drawn(map: &MapData, section: &str, row: &str, seat: u32) -> Option<u32> {
    let wanted = seat.to_string();
    (0..map.seat_count()).find(|no| {
        let label = map.seat_label(*no).unwrap();
        (label.section, label.row, label.seat) == (section, row, wanted.as_str())
            && !map.seat(*no).unwrap().flags.gone()
    })
}

async fn sold(arena: &Arena, fan: &Fan, seat: u32) -> OrderView {
    let held = arena.held(fan, &seat.to_string()).await;
    let started: PayStarted = arena.pay(fan, held.order).await.ok();
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303);
    arena.await_status(held.order, "fulfilled").await;
    eventually!(SOON, "sold", arena.seat(seat).await & 3 == SeatState::Sold as u8);
    arena.order(fan, held.order).await.ok()
}

fn codes(order: &OrderView) -> Vec<String> {
    order.tickets.iter().map(|ticket| ticket.code.clone()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sold_held_kept_and_free_seats_stay_what_they_are_under_another_plan() {
    let arena = Arena::web(setup()).await;
    let old = house(&first_version());
    let at = |section: &str, row: &str, seat: u32| number(&old, section, row, seat);
    let fans = arena.inside(5).await;
    let paid = sold(&arena, &fans[0], at("Floor", "3", 1)).await;
    let held = arena.held(&fans[1], &at("Floor", "2", 5).to_string()).await;
    arena.keep("Friends", House, &[at("Balcony", "1", 1)]).await.unwrap();
    let lost = [at("Floor", "3", 9), at("Floor", "3", 10)];
    let owner = owner(&arena).await;
    let off = [SeatNo(lost[1]), SeatNo(at("Balcony", "1", 10))];
    arena.backend.block_for(&owner, arena.performance, &off, Some("camera")).await.unwrap();
    let mut open_page = arena.backend.watch(arena.performance).await.unwrap();
    let mut live = LiveMap::new();
    live.apply(Frame::decode(&open_page.snapshot()).unwrap()).unwrap();
    let before = view(&arena).await;

    let plan = stored(&arena, &second_version()).await;
    let shown = preview(&arena, plan).await.unwrap();
    assert_eq!((shown.seats_before, shown.seats_after, shown.kept), (50, 74, 48));
    assert_eq!((shown.added.count, shown.gone.count, shown.back.count, shown.renamed), (26, 2, 0, 0));
    assert_eq!(shown.gone.places, ["Floor; 3; 9-10"]);
    assert!(shown.added.places.contains(&"Box; A; 1-4".to_owned()), "{:?}", shown.added.places);
    assert_eq!(replace(&arena, plan).await.unwrap(), shown);

    // Every process takes it over within its second; open pages get the larger house on their connection.
    eventually!(SOON, "the new map is told", view(&arena).await.map_digest != before.map_digest);
    let bytes = async || arena.backend.seat_bytes(arena.performance).await.unwrap_or_default();
    eventually!(SOON, "the seats are in place", bytes().await.len() == 76);
    while live.seats().len() != 76 {
        let frame = tokio::time::timeout(SOON, open_page.next()).await.expect("a frame comes");
        live.apply(Frame::decode(&frame).unwrap()).unwrap();
    }
    let map = map(&arena).await;
    for (no, seat) in (0_u32..).zip(&old.seats) {
        let label = old.seat_label(no).unwrap();
        let here = drawn(&map, label.section, label.row, seat.label.parse().unwrap());
        assert_eq!(here, (!lost.contains(&no)).then_some(no), "{label:?}");
    }
    assert_eq!(arena.seat(at("Floor", "3", 1)).await & 3, SeatState::Sold as u8);
    assert_eq!(arena.seat(at("Floor", "2", 5)).await & 3, SeatState::Held as u8);
    assert_eq!(arena.byte(at("Balcony", "1", 1)).await, (SeatState::Available, 1));
    assert_eq!(arena.seat(at("Balcony", "1", 10)).await & 3, SeatState::Blocked as u8);
    let after: OrderView = arena.order(&fans[0], paid.id).await.ok();
    assert_eq!((codes(&after), &after.items), (codes(&paid), &paid.items), "tickets stay as they are");
    assert_eq!(arena.my_hold(&fans[1]).await.map(|held| held.order), Some(held.order));
    let order: OrderView = arena.buy(&fans[1], held.order).await;
    assert_eq!(order.items[0].seat, SeatNo(at("Floor", "2", 5)));

    // New seats are sold, at the price of their zone; seats that are gone are not, whoever asks.
    let new = drawn(&map, "Floor", "1", 1).unwrap();
    let bought = sold(&arena, &fans[2], new).await;
    assert_eq!(bought.total, paid.total);
    assert_eq!((bought.items[0].row.as_str(), bought.items[0].label.as_str()), ("1", "1"));
    for seat in lost {
        let refused = arena.hold(&fans[3], &seat.to_string(), "gone").await.refusal();
        assert_eq!((refused.code, refused.seats), (Code::SeatNotForSale, vec![SeatNo(seat)]));
    }
    let section =
        |list: &SeatList, name: &str| list.sections.iter().find(|section| section.name == name).unwrap().index;
    let floor = section(&arena.backend.seat_list(arena.performance, None).await.unwrap(), "Floor");
    let list = arena.backend.seat_list(arena.performance, Some(floor)).await.unwrap();
    let told: Vec<(&str, Vec<&str>)> = list
        .rows
        .iter()
        .map(|row| (row.label.as_str(), row.seats.iter().map(|seat| seat.label.as_str()).collect()))
        .collect();
    let numbers = |upto: u32| -> Vec<String> { (1..=upto).map(|seat| seat.to_string()).collect() };
    for (row, upto) in [("1", 10), ("2", 12), ("3", 8)] {
        let seats = told.iter().find(|(label, _)| *label == row).map(|(_, seats)| seats.clone());
        assert_eq!(seats.unwrap_or_default(), numbers(upto), "row {row}, in the order in which one counts");
    }
    assert_eq!(list.areas[0].free, 30, "the pit has grown under its old number");
    let wish = HoldWish { seats: Vec::new(), areas: vec![AreaWish { area: list.areas[0].area, count: 3 }] };
    let fan = &fans[4];
    let standing = arena.backend.hold(&fan.session, fan.pass(), arena.performance, wish, "pit").await;
    assert_eq!(standing.unwrap().seats.len(), 3);
    let trail = "select count(*) from audit_log where action = 'plan.replace'";
    assert_eq!(arena.count(trail).await, 1);
    assert_eq!(arena.count("select count(*) from mailbox where subject like '%new names%'").await, 0);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_that_takes_seats_from_somebody_is_refused_with_their_names_and_changes_nothing() {
    let arena = Arena::web(setup()).await;
    let old = house(&first_version());
    let at = |section: &str, row: &str, seat: u32| number(&old, section, row, seat);
    let fans = arena.inside(2).await;
    // Stored before anything is sold: later the import itself would refuse it.
    let smaller = stored(&arena, &[("Floor", "2", (1..=9).collect()), ("Pit", "", (1..=20).collect())]).await;
    sold(&arena, &fans[0], at("Floor", "3", 4)).await;
    let held = arena.held(&fans[1], &at("Floor", "2", 10).to_string()).await;
    eventually!(SOON, "the hold is written", arena.status(held.order).await.is_some());
    arena.keep("Friends", House, &[at("Balcony", "1", 2), at("Balcony", "1", 3)]).await.unwrap();
    let shown = preview(&arena, smaller).await.unwrap();
    let lost: Vec<(Taken, u32, &str)> =
        shown.lost.iter().map(|(taken, seats)| (*taken, seats.count, seats.places[0].as_str())).collect();
    let wanted =
        [(Taken::Sold, 1, "Floor; 3; 4"), (Taken::Held, 1, "Floor; 2; 10"), (Taken::Allocated, 2, "Balcony; 1; 2-3")];
    assert_eq!(lost, wanted);
    let (epoch, digest) = ("select epoch from performances where id = $1", view(&arena).await.map_digest.clone());
    let epoch_before = arena.count(epoch).await;
    let refusal = replace(&arena, smaller).await.unwrap_err();
    assert_eq!(refusal.code, Code::SeatTaken);
    for place in ["Floor; 3; 4", "Floor; 2; 10", "Balcony; 1; 2-3"] {
        assert!(refusal.message.contains(place), "{}", refusal.message);
    }
    assert_eq!((arena.count(epoch).await, &view(&arena).await.map_digest), (epoch_before, &digest), "undisturbed");

    // What can't be meant at all.
    let owner = owner(&arena).await;
    let current = preview(&arena, smaller).await.unwrap().from;
    let same = preview(&arena, current).await.unwrap_err();
    assert!(same.code == Code::InvalidInput && same.message.contains("nothing would change"), "{}", same.message);
    let elsewhere = arena.backend.store_plan(&owner, house(&second_version()), "Other hall", "Berlin", "Europe/Berlin");
    let refusal = preview(&arena, elsewhere.await.unwrap().id).await.unwrap_err();
    assert!(refusal.code == Code::InvalidInput && refusal.message.contains("Hall, Berlin"), "{}", refusal.message);
    let mut lounge = house(&second_version());
    lounge.categories[0].name = "Lounge".to_owned();
    let lounge = arena.backend.store_plan(&owner, lounge, "Hall", "Berlin", "Europe/Berlin").await;
    // The import itself misses the seats that are sold by their names: they are there.
    let refusal = preview(&arena, lounge.unwrap().id).await.unwrap_err();
    assert!(refusal.code == Code::InvalidInput && refusal.message.contains("Lounge"), "{}", refusal.message);

    // Confirmed against a plan that is not the one in use any more.
    let larger = stored(&arena, &[&first_version()[..], &[("Box", "A", vec![1])]].concat()).await;
    replace(&arena, larger).await.unwrap();
    let larger_still = stored(&arena, &[&first_version()[..], &[("Box", "A", vec![1, 2])]].concat()).await;
    let stale = arena.backend.change_plan_for(&owner, arena.performance, current, larger_still).await;
    assert_eq!(stale.unwrap_err().refusal().code, Code::WrongState);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_bought_a_seat_that_gets_another_name_is_told_and_the_ticket_stays_valid() {
    let arena = Arena::web(setup()).await;
    let old = house(&first_version());
    let fan = arena.one_inside().await;
    let seat = number(&old, "Floor", "3", 4);
    let order = sold(&arena, &fan, seat).await;
    let mut renamed = house(&first_version());
    renamed.sections.iter_mut().filter(|section| section.name == "Floor").for_each(|s| s.name = "Parkett".to_owned());
    let owner = owner(&arena).await;
    let plan = arena.backend.store_plan(&owner, renamed, "Hall", "Berlin", "Europe/Berlin").await.unwrap().id;
    let change = replace(&arena, plan).await.unwrap();
    assert_eq!((change.renamed, change.renamed_sold.len(), change.added.count, change.gone.count), (20, 1, 0, 0));
    assert_eq!(change.renamed_sold[0].before, "Floor 3 4");
    assert_eq!(change.renamed_sold[0].after, "Parkett 3 4");
    eventually!(SOON, "the order tells the new words", {
        let now: OrderView = arena.order(&fan, order.id).await.ok();
        assert_eq!(codes(&now), codes(&order));
        now.items[0].section == "Parkett"
    });
    let mails = async || -> Vec<MailView> {
        let all: Vec<MailView> = arena.call(None, "mailbox", &[]).await.ok();
        all.into_iter().filter(|mail| mail.subject.contains("new names")).collect()
    };
    eventually!(SOON, "the mail is out", !mails().await.is_empty());
    let mails = mails().await;
    assert_eq!((mails.len(), &mails[0].to), (1, &fan.session.email));
    assert!(mails[0].body.contains("Floor · row 3 · seat 4") && mails[0].body.contains("Parkett · row 3 · seat 4"));
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn zones_of_a_performance_of_their_own_go_along() {
    let arena = Arena::bare(setup()).await;
    let owner = arena.member(Role::Owner).await;
    let first = stored(&arena, &first_version()).await;
    let event = arena.backend.performance(arena.performance).await.unwrap();
    let event = arena.backend.event_by_slug(&self::owner(&arena).await, &event.slug).await.unwrap();
    let draft = arena.backend.new_draft(&owner.session, event).await.unwrap();
    let form = DraftForm {
        plan: first.to_string(),
        starts: "2099-05-01T20:00".to_owned(),
        opens: "2026-01-01T10:00".to_owned(),
        closes: "2099-05-01T20:00".to_owned(),
        seat_limit: "4".to_owned(),
        hold_ttl_min: "2".to_owned(),
        shoppers_max: "100".to_owned(),
        release_per_min: "1000".to_owned(),
        currency: "EUR".to_owned(),
        ..DraftForm::default()
    };
    arena.backend.save_draft(&owner.session, draft, 1, form).await.unwrap();
    let old = house(&first_version());
    let front: Vec<SeatNo> = (1..=4).map(|seat| SeatNo(number(&old, "Floor", "3", seat))).collect();
    let edit = Edit::AddZone {
        name: "Front".to_owned(),
        amount: "99".to_owned(),
        color: Some("#aa0000".to_owned()),
        seats: front.iter().copied().collect(),
    };
    let version = arena.backend.edit_zones(&owner.session, draft, 2, edit).await.unwrap();
    let prices = Edit::SetPrices { amounts: ["50", "40", "99"].map(str::to_owned).to_vec() };
    let version = arena.backend.edit_zones(&owner.session, draft, version, prices).await.unwrap();
    arena.backend.publish_draft(&owner.session, draft, version).await.unwrap();
    assert!(arena.backend.wait_until_warm(draft, SOON).await.unwrap());
    let plan = stored(&arena, &second_version()).await;
    let from = arena.backend.preview_plan_change(&owner.session, draft, plan).await.unwrap().from;
    arena.backend.change_plan(&owner.session, draft, from, plan).await.unwrap();
    assert!(arena.backend.wait_until_warm(draft, SOON).await.unwrap());
    let shown = arena.backend.pricing(&owner.session, draft).await.unwrap();
    let totals: Vec<(&str, u32)> = shown.zones.iter().map(|zone| (zone.name.as_str(), zone.seats)).collect();
    assert_eq!(totals, [("Seated", 60), ("Balcony", 10), ("Front", 4)]);
    let view = arena.backend.performance(draft).await.unwrap();
    let dir = std::path::Path::new(&arena.settings()["STARARENA_DATA_DIR"]).join("maps");
    let bin = std::fs::read(dir.join(format!("{}.bin", view.map_digest))).unwrap();
    let json = std::fs::read_to_string(dir.join(format!("{}.json", view.map_digest))).unwrap();
    let map = static_map::decode(&bin, &json).unwrap();
    for (no, category) in (0_u32..).zip(map.seat_categories()) {
        let label = map.seat_label(no).unwrap();
        let wanted = if front.contains(&SeatNo(no)) { 2 } else { u8::from(label.section == "Balcony") };
        assert_eq!(*category, wanted, "{label:?}");
    }
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_shops_on_while_the_plan_is_replaced_again_and_again() {
    const HOUSE: u32 = 40;
    let rows = |back: u32, front: bool| {
        let mut rows: Vec<Told> = vec![("Floor", "2", (1..=20).collect()), ("Floor", "3", (1..=20).collect())];
        rows.push(("Floor", "9", (1..=back).collect()));
        if front {
            rows.insert(0, ("Floor", "1", (1..=20).collect()));
        }
        rows
    };
    let setup = Setup { plan: Some(house(&rows(100, false))), hold_ttl_ms: 3_000, ..Setup::default() };
    let arena = Arena::web(setup.provider_deadline(2_000, 500)).await;
    arena.keep_open(HOUSE).await;
    let fans = arena.inside(40).await;
    let mut crowd = Crowd::start(&arena, fans, &Habits::lively(2_026, HOUSE, Weather::Rough));
    let mut numbers = 140;
    for (round, (back, front)) in [(90, true), (120, false), (60, true), (130, true)].into_iter().enumerate() {
        let before = crowd.accepted();
        eventually!(SOON, format!("the sale runs before change {round}"), crowd.accepted() > before + 20);
        let plan = stored(&arena, &rows(back, front)).await;
        let change = replace(&arena, plan).await.unwrap();
        numbers += change.added.count;
        crowd.check();
        eventually!(SOON, format!("the seats of change {round} are in place"), {
            let bytes = arena.backend.seat_bytes(arena.performance).await.unwrap_or_default();
            bytes.len() == numbers as usize
        });
    }
    let journal = crowd.end().await;
    eprintln!("{} holds; {:?}", journal.told.len(), journal.outcomes);
    assert!(journal.told.len() > 100, "a crowd of {} holds is none", journal.told.len());
    journal.assert_written_once_each(&arena).await;
    journal.assert_no_seat_told_twice(&HashSet::new());
    journal.assert_no_payment_lost(&arena).await;
    let refused = "select count(*) from orders where performance_id = $1 and status = 'refused'";
    assert_eq!(arena.count(refused).await, 0, "no accepted hold is refused later");
    assert_eq!(arena.count("select count(*) from log_set_aside").await, 0, "nothing is set aside");
    arena.assert_every_seat_is_sold_or_holdable(HOUSE, 4).await;
    arena.finish().await;
}

async fn by_command(arena: &Arena, further: &[&str], fault: Option<&str>) -> (Option<i32>, String, String) {
    let mut command = program(arena.settings());
    command.args(["performance", "replace-plan", &arena.performance.to_string(), "--organization", ORGANIZATION]);
    command.args(further);
    if let Some(fault) = fault {
        command.env("STARARENA_FAULT_POINTS", fault);
    }
    run_to_end(command).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_dies_within_the_change_the_sale_goes_on_with_one_plan_or_the_other() {
    let arena = Arena::web(setup()).await;
    let fans = arena.inside(3).await;
    let held = arena.held(&fans[0], "3").await;
    let plan = stored(&arena, &second_version()).await.to_string();
    let bytes = async || arena.backend.seat_bytes(arena.performance).await.unwrap_or_default().len();
    let (code, said, _) = by_command(&arena, &["--dry-run"], None).await;
    assert_eq!(code, Some(0));
    assert!(said.starts_with("50 seats now, 74 then; 48 stay"), "{said}");
    assert!(said.contains("gone: 2\n  Floor; 3; 9-10"), "{said}");
    assert_eq!(bytes().await, 50, "a dry run changes nothing");

    let (code, _, log) = by_command(&arena, &["--plan", &plan], Some("plan-change-at-rest")).await;
    assert!(code.is_none() && log.contains("plan-change-at-rest"), "it died there: {log}");
    eventually!(SOON, "the sale goes on with the old plan", bytes().await == 50);
    // Refused with a Retry-After until the server has seen the new epoch.
    eventually!(SOON, "seats are held again", arena.hold(&fans[1], "4", "after").await.status == 200);
    let again = arena.my_hold(&fans[1]).await.unwrap();
    assert_eq!(arena.count("select count(*) from audit_log where action = 'plan.replace'").await, 0);

    let (code, _, log) = by_command(&arena, &["--plan", &plan], Some("plan-change-committed")).await;
    assert!(code.is_none() && log.contains("plan-change-committed"), "it died there: {log}");
    eventually!(SOON, "the sale goes on with the new plan", bytes().await == 76);
    assert_eq!(arena.count("select count(*) from audit_log where action = 'plan.replace'").await, 1);
    for (fan, held) in [(&fans[0], &held), (&fans[1], &again)] {
        assert_eq!(arena.my_hold(fan).await.map(|mine| mine.order), Some(held.order));
    }
    eventually!(SOON, "the last of the new numbers is held", arena.hold(&fans[2], "75", "new").await.status == 200);
    let (code, _, said) = by_command(&arena, &["--plan", &plan], None).await;
    assert!(code == Some(1) && said.contains("nothing would change"), "{said}");
    arena.finish().await;
}
