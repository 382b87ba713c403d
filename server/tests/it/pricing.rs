//! Prices by category and by selection, seats off sale, and price changes while fans buy.

use crate::arena::{Arena, Fan, Reply, SOON, Setup};
use domain::hold::{Held, SeatState};
use domain::order::OrderView;
use domain::organizer::draft::{Draft, Zone};
use domain::organizer::pricing::{Effect, PricingView};
use domain::{Code, PerformanceId, PlanId, SeatNo};
use serde_json::Value;
use uuid::Uuid;

/// A member of an organization; the one that the sale belongs to when none is named.
async fn member(arena: &Arena, role: &str, organization: Option<Uuid>) -> Fan {
    let fan = arena.fans(1).await.remove(0);
    let organization = match organization {
        Some(id) => id,
        None => sqlx::query_scalar(
            "select e.organization_id from events e join performances p on p.event_id = e.id where p.id = $1",
        )
        .bind(arena.performance.0)
        .fetch_one(&arena.pg)
        .await
        .unwrap(),
    };
    sqlx::query("insert into members (organization_id, account_id, role) values ($1, $2, $3)")
        .bind(organization)
        .bind(fan.account.0)
        .bind(role)
        .execute(&arena.pg)
        .await
        .unwrap();
    fan
}

/// An owner of another organization.
async fn stranger(arena: &Arena) -> Fan {
    let id = Uuid::new_v4();
    sqlx::query("insert into organizations (id, name, created_ms) values ($1, 'Others', 0)")
        .bind(id)
        .execute(&arena.pg)
        .await
        .unwrap();
    member(arena, "owner", Some(id)).await
}

/// A performance in the making on the plan of the sale.
async fn draft(arena: &Arena) -> PerformanceId {
    let (event, organization, plan): (Uuid, Uuid, Uuid) = sqlx::query_as(
        "select e.id, e.organization_id, p.plan_id from events e join performances p on p.event_id = e.id where p.id = $1",
    )
    .bind(arena.performance.0)
    .fetch_one(&arena.pg)
    .await
    .unwrap();
    let names: Vec<String> =
        sqlx::query_scalar("select name from plan_categories where plan_id = $1 order by category")
            .bind(plan)
            .fetch_all(&arena.pg)
            .await
            .unwrap();
    let zone = |name| Zone { name, color: None, price_minor: None, seats: Vec::new() };
    let document = Draft {
        plan: Some(PlanId(plan)),
        currency: Some("EUR".parse().unwrap()),
        zones: names.into_iter().map(zone).collect(),
        ..Draft::default()
    };
    let id = Uuid::now_v7();
    sqlx::query(
        "insert into performance_drafts (id, organization_id, event_id, document, created_ms) values ($1, $2, $3, $4, 0)",
    )
    .bind(id)
    .bind(organization)
    .bind(event)
    .bind(serde_json::to_value(&document).unwrap())
    .execute(&arena.pg)
    .await
    .unwrap();
    PerformanceId(id)
}

async fn view(arena: &Arena, fan: &Fan, id: PerformanceId) -> PricingView {
    arena.call(Some(fan), "organizer-prices", &[("id", &id.to_string())]).await.ok()
}

/// Calls with one amount for each zone.
async fn amounts(arena: &Arena, fan: &Fan, function: &str, id: PerformanceId, version: i32, list: &[String]) -> Reply {
    let (id, version) = (id.to_string(), version.to_string());
    let mut form = vec![("id", id.as_str()), ("version", version.as_str())];
    form.extend(list.iter().map(|amount| ("prices[]", amount.as_str())));
    arena.call(Some(fan), function, &form).await
}

/// Sends the form over chosen seats.
async fn change(arena: &Arena, fan: &Fan, id: PerformanceId, version: i32, fields: &[(&str, &str)]) -> Reply {
    let (id, version) = (id.to_string(), version.to_string());
    let names: Vec<String> = fields.iter().map(|(name, _)| format!("form[{name}]")).collect();
    let mut form = vec![("id", id.as_str()), ("version", version.as_str())];
    form.extend(names.iter().map(String::as_str).zip(fields.iter().map(|(_, value)| *value)));
    arena.call(Some(fan), "organizer-seats-change", &form).await
}

async fn audit(arena: &Arena, action: &str) -> Vec<Value> {
    sqlx::query_scalar("select detail from audit_log where action = $1 order by id")
        .bind(action)
        .fetch_all(&arena.pg)
        .await
        .unwrap()
}

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prices_in_the_making_are_versioned_add_up_and_are_their_organizations() {
    let arena = Arena::web(Setup::default()).await;
    let (owner, id) = (member(&arena, "owner", None).await, draft(&arena).await);
    let first = view(&arena, &owner, id).await;
    assert!(!first.published && first.version == 1 && first.zones.len() > 1);
    let count = first.zones.len();
    let total: u32 = first.zones.iter().map(|zone| zone.seats).sum();

    let list: Vec<String> = (0..count).map(|zone| format!("{}0,50", zone + 1)).collect();
    let () = amounts(&arena, &owner, "organizer-prices-set", id, 1, &list).await.ok();
    let stale = amounts(&arena, &owner, "organizer-prices-set", id, 1, &list).await;
    assert_eq!((stale.status, stale.code()), (409, Code::WrongState));
    let zone = [("step", "add"), ("picked", "0-3"), ("typed", "# 5"), ("name", "<script>VIP"), ("price", "1 000")];
    let () = change(&arena, &owner, id, 2, &zone).await.ok();
    let () = change(&arena, &owner, id, 3, &[("step", "block"), ("typed", "# 3-4"), ("reason", "camera")]).await.ok();
    let now = view(&arena, &owner, id).await;
    assert_eq!((now.version, now.zones.len()), (4, count + 1));
    assert_eq!(now.zones.iter().map(|zone| zone.seats).sum::<u32>(), total);
    let vip = now.zones.last().unwrap();
    assert_eq!((vip.seats, vip.blocked, vip.gross().unwrap().minor), (5, 1, 400_000));
    assert_eq!(now.moved, [(vip.zone, "0-3.5".parse().unwrap())]);
    assert_eq!(now.blocked.len(), 1);
    assert_eq!(audit(&arena, "prices.edit").await.len(), 3);

    for (function, fields) in [("organizer-zone-rename", vec![("name", "Best")]), ("organizer-zone-remove", vec![])] {
        let (id, version) = (id.to_string(), view(&arena, &owner, id).await.version.to_string());
        let zone = vip.zone.to_string();
        let mut form = vec![("id", id.as_str()), ("version", version.as_str()), ("zone", zone.as_str())];
        form.extend(fields);
        let () = arena.call(Some(&owner), function, &form).await.ok();
    }
    assert_eq!(view(&arena, &owner, id).await.zones.len(), count, "the zone is gone, and its seats are back");

    let (finance, other) = (member(&arena, "finance", None).await, stranger(&arena).await);
    let fan = arena.fans(1).await.remove(0);
    assert_eq!(view(&arena, &finance, id).await.version, 6, "finance may look");
    assert_eq!(amounts(&arena, &finance, "organizer-prices-set", id, 6, &list).await.code(), Code::Forbidden);
    for nobody in [&other, &fan] {
        let looked = arena.call(Some(nobody), "organizer-prices", &[("id", &id.to_string())]).await;
        assert_eq!((looked.status, looked.code()), (404, Code::NotFound));
        assert_eq!(amounts(&arena, nobody, "organizer-prices-set", id, 6, &list).await.code(), Code::NotFound);
        let sold = arena.performance;
        assert_eq!(amounts(&arena, nobody, "organizer-prices-change", sold, 1, &list).await.code(), Code::NotFound);
        let block = [("step", "block"), ("picked", "1"), ("reason", "mine")];
        assert_eq!(change(&arena, nobody, sold, 1, &block).await.code(), Code::NotFound);
    }
    assert_eq!(arena.call(None, "organizer-prices", &[("id", &id.to_string())]).await.code(), Code::SignInRequired);

    let page = arena.open(Some(&owner), &format!("/organizer/performances/{id}/prices")).await;
    assert_eq!(page.status, 200);
    assert!(page.body.contains("price-table") && page.body.contains("typed-seats") && page.body.contains("10.50"));
    let read_only = arena.open(Some(&finance), &format!("/organizer/performances/{id}/prices")).await;
    assert!(read_only.body.contains("read-only") && !read_only.body.contains("save-prices"));
    assert_eq!(arena.open(Some(&other), &format!("/organizer/performances/{id}/prices")).await.status, 404);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_prices_and_seats_are_refused_at_their_field_and_change_nothing() {
    let arena = Arena::web(Setup::default()).await;
    let (owner, id) = (member(&arena, "operator", None).await, draft(&arena).await);
    let count = view(&arena, &owner, id).await.zones.len();
    let acts = arena.count("select count(*) from audit_log").await;
    let with = |text: &str| {
        let mut list = vec!["1".to_owned(); count];
        list[1] = text.to_owned();
        list
    };
    for bad in ["-1", "0", "1,234", "1.234", "1e9", "NaN", "<b>", "99999999999999999999", "٣", "1\u{0}"] {
        for (function, id) in [
            ("organizer-prices-set", id),
            ("organizer-prices-change", arena.performance),
            ("organizer-prices-preview", arena.performance),
        ] {
            let refused = amounts(&arena, &owner, function, id, 1, &with(bad)).await.refusal();
            assert_eq!(refused.code, Code::InvalidInput, "{function} {bad:?}");
            assert!(refused.message.starts_with("prices[1]: "), "{function} {bad:?}: {}", refused.message);
        }
    }
    for list in [vec![], texts(&["1"]), vec!["1".to_owned(); count + 1], vec!["1".to_owned(); 2_000]] {
        assert_eq!(amounts(&arena, &owner, "organizer-prices-set", id, 1, &list).await.code(), Code::InvalidInput);
    }
    let (long, lines) = ("x".repeat(200), "x\n".repeat(5_000));
    for (fields, code, field) in [
        (vec![("step", "block"), ("reason", "camera")], Code::InvalidInput, "seats: "),
        (vec![("step", "block"), ("picked", "1"), ("reason", " ")], Code::InvalidInput, "reason: "),
        (vec![("step", "block"), ("picked", "1"), ("reason", "a\u{0}b")], Code::InvalidInput, "reason: "),
        (vec![("step", "block"), ("picked", "1"), ("reason", long.as_str())], Code::InvalidInput, "reason: "),
        (vec![("step", "block"), ("picked", "0-99999.0-99999"), ("reason", "a")], Code::InvalidInput, "seats: "),
        (vec![("step", "block"), ("picked", "99999"), ("reason", "a")], Code::UnknownSeat, "seats: "),
        (vec![("step", "block"), ("picked", "-1"), ("reason", "a")], Code::InvalidInput, "seats: "),
        (vec![("step", "block"), ("typed", "no such section"), ("reason", "a")], Code::InvalidInput, "seats: line 1"),
        (vec![("step", "block"), ("typed", lines.as_str()), ("reason", "a")], Code::InvalidInput, "seats: "),
        (vec![("step", "unblock"), ("picked", "1")], Code::InvalidInput, "seats: "),
        (vec![("step", "add"), ("picked", "1"), ("name", "")], Code::InvalidInput, "name: "),
        (vec![("step", "add"), ("picked", "1"), ("name", "A"), ("price", "1,2,3")], Code::InvalidInput, "price: "),
        (vec![("step", "move"), ("picked", "1"), ("zone", "-1")], Code::InvalidInput, "zone: "),
        (vec![("step", "move"), ("picked", "1"), ("zone", "0")], Code::InvalidInput, "zone: "),
        (vec![("step", "move"), ("picked", "1"), ("zone", "200")], Code::InvalidInput, "zone: "),
    ] {
        let refused = change(&arena, &owner, id, 1, &fields).await.refusal();
        assert_eq!(refused.code, code, "{fields:?}: {}", refused.message);
        assert!(refused.message.starts_with(field), "{fields:?}: {}", refused.message);
        if fields[0].1 == "block" || fields[0].1 == "unblock" {
            let refused = change(&arena, &owner, arena.performance, 1, &fields).await.refusal();
            assert_eq!(refused.code, code, "published, {fields:?}: {}", refused.message);
        }
    }
    assert_eq!(change(&arena, &owner, id, 1, &[("step", "explode"), ("picked", "1")]).await.code(), Code::InvalidInput);
    let missing = PerformanceId(Uuid::new_v4());
    assert_eq!(
        change(&arena, &owner, missing, 1, &[("step", "unblock"), ("picked", "1")]).await.code(),
        Code::NotFound
    );
    let add = [("step", "add"), ("picked", "1"), ("name", "A")];
    assert_eq!(change(&arena, &owner, arena.performance, 1, &add).await.code(), Code::WrongState);
    assert_eq!(view(&arena, &owner, id).await.version, 1, "nothing was changed");
    assert_eq!(arena.count("select count(*) from audit_log").await, acts);
    assert_eq!(arena.count("select count(*) from blocked_seats where performance_id = $1").await, 0);
    arena.finish().await;
}

/// The version of the prices of an order, once its row is there.
async fn price_version(arena: &Arena, held: &Held) -> i64 {
    arena.await_status(held.order, "pending_payment").await;
    arena.count_of(held.order, "select price_version::bigint from orders where id = $1").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_price_change_shows_its_effect_and_never_alters_orders() {
    let arena = Arena::web(Setup::default()).await;
    let owner = member(&arena, "owner", None).await;
    let fans = arena.inside(2).await;
    let before = arena.held(&fans[0], "0,1").await;
    assert_eq!(price_version(&arena, &before).await, 1);

    let standing = view(&arena, &owner, arena.performance).await;
    assert!(standing.published && standing.version == 1);
    let zone = standing.zones.iter().find(|zone| zone.held == 2).expect("the hold is counted in its zone");
    let at = usize::from(zone.zone);
    let old = zone.price.unwrap().minor;
    let mut list: Vec<String> = standing.zones.iter().map(|zone| zone.price.unwrap().decimal()).collect();
    let same = amounts(&arena, &owner, "organizer-prices-change", arena.performance, 1, &list).await;
    assert_eq!(same.code(), Code::InvalidInput, "a change that changes nothing is none");
    list[at] = domain::Money::new(old + 1_000, zone.price.unwrap().currency).decimal();

    let effect: Effect = amounts(&arena, &owner, "organizer-prices-preview", arena.performance, 1, &list).await.ok();
    assert_eq!((effect.version, effect.zones.len()), (1, 1));
    let shown = &effect.zones[0];
    assert_eq!((shown.sellable, shown.held, shown.sold), (zone.seats - 2, 2, 0));
    assert_eq!(effect.difference.minor, i64::from(zone.seats - 2) * 1_000);
    let query: String = list.iter().enumerate().map(|(zone, amount)| format!("&p{zone}={amount}")).collect();
    let page = format!("/organizer/performances/{}/prices", arena.performance);
    let step = arena.open(Some(&owner), &format!("{page}?{}", &query[1..])).await;
    assert!(step.status == 200 && step.body.contains("change-prices"), "the effect is a page of its own");
    assert_eq!(view(&arena, &owner, arena.performance).await.version, 1, "looking changed nothing");

    let () = amounts(&arena, &owner, "organizer-prices-change", arena.performance, 1, &list).await.ok();
    let again = amounts(&arena, &owner, "organizer-prices-change", arena.performance, 1, &list).await;
    assert_eq!((again.status, again.code()), (409, Code::WrongState));
    let mut none = list.clone();
    none[at] = String::new();
    let none = amounts(&arena, &owner, "organizer-prices-change", arena.performance, 2, &none).await.refusal();
    assert!(none.message.starts_with(&format!("prices[{at}]: ")), "{}", none.message);
    let trail = audit(&arena, "prices.change").await;
    assert_eq!(trail.len(), 1);
    assert_eq!(trail[0]["zones"][0]["new"], list[at]);

    let order: OrderView = arena.order(&fans[0], before.order).await.ok();
    assert_eq!(order.total.minor, 2 * old, "an open order keeps its price");
    eventually!(SOON, "new holds have the new price", {
        let held = arena.held(&fans[1], "2").await;
        let newer = price_version(&arena, &held).await == 2;
        if newer {
            let order: OrderView = arena.order(&fans[1], held.order).await.ok();
            assert_eq!(order.total.minor, old + 1_000);
        }
        let () = arena.call(Some(&fans[1]), "hold-release", &[("order", &held.order.to_string())]).await.ok();
        newer
    });
    let paid = arena.buy(&fans[0], before.order).await;
    assert_eq!(paid.total.minor, 2 * old, "what was held before the change is paid at the old price");
    let after = view(&arena, &owner, arena.performance).await;
    assert_eq!((after.version, after.zones[at].sold, after.zones[at].price.unwrap().minor), (2, 2, old + 1_000));
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blocking_a_published_seat_refuses_taken_ones_by_name_and_outlives_the_loss_of_redis() {
    let arena = Arena::web(Setup::default()).await;
    let owner = member(&arena, "owner", None).await;
    let id = arena.performance;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "7").await;
    let block =
        |picked: &'static str, reason: &'static str| [("step", "block"), ("picked", picked), ("reason", reason)];

    let refused = change(&arena, &owner, id, 0, &block("6-8", "camera")).await.refusal();
    assert_eq!((refused.code, refused.seats.as_slice()), (Code::SeatTaken, &[SeatNo(7)][..]));
    let (section, row, label): (String, String, String) =
        sqlx::query_as("select section, row_label, seat_label from plan_seats where seat_no = 7 limit 1")
            .fetch_one(&arena.pg)
            .await
            .unwrap();
    assert!(refused.message.contains(&format!("{section} {row} {label}")), "{}", refused.message);
    assert_eq!(arena.count("select count(*) from blocked_seats where performance_id = $1").await, 0);
    assert_eq!((arena.seat(6).await, audit(&arena, "seats.block").await.len()), (SeatState::Available as u8, 0));

    let () = change(&arena, &owner, id, 0, &block("10-12", "camera")).await.ok();
    assert_eq!(arena.seat(11).await, SeatState::Blocked as u8);
    let shown = view(&arena, &owner, id).await;
    assert_eq!(shown.blocked.len(), 1);
    assert_eq!((shown.blocked[0].reason.as_str(), shown.blocked[0].seats.to_string().as_str()), ("camera", "10-12"));
    assert_eq!(shown.zones.iter().map(|zone| zone.blocked).sum::<u32>(), 3);
    let trail = audit(&arena, "seats.block").await;
    assert_eq!((&trail[0]["seats"], &trail[0]["reason"]), (&Value::from(3), &Value::from("camera")));

    arena.await_status(held.order, "pending_payment").await;
    let _: () = redis::cmd("FLUSHALL").query_async(&mut arena.redis().await).await.unwrap();
    eventually!(SOON, "the seats are built again", !arena.backend.seat_bytes(id).await.unwrap().is_empty());
    assert_eq!(arena.seat(11).await, SeatState::Blocked as u8, "a rebuild keeps seats off sale");

    eventually!(SOON, "unblocked", {
        let reply = change(&arena, &owner, id, 0, &[("step", "unblock"), ("picked", "11")]).await;
        reply.status == 200
    });
    assert_eq!(arena.seat(11).await, SeatState::Available as u8);
    assert_eq!(arena.count("select count(*) from blocked_seats where performance_id = $1").await, 2);
    assert_eq!(audit(&arena, "seats.unblock").await.len(), 1);

    // Fan and organizer reach for the same seat: exactly one has it, and both stores say so.
    let runner = arena.let_in(Fan { pass: None, ..arena.fans(1).await.remove(0) }, id).await;
    for seat in 20..30_u32 {
        let picked = seat.to_string();
        let fields = [("step", "block"), ("picked", picked.as_str()), ("reason", "race")];
        let (blocked, taken) =
            tokio::join!(change(&arena, &owner, id, 0, &fields), arena.hold(&runner, &picked, &picked));
        assert_ne!(blocked.status == 200, taken.status == 200, "{} and {}", blocked.body, taken.body);
        let rows =
            arena.count("select count(*) from blocked_seats where performance_id = $1 and reason = 'race'").await;
        if taken.status == 200 {
            assert_eq!((blocked.code(), arena.seat(seat).await), (Code::SeatTaken, SeatState::Held as u8));
            let held: Held = taken.ok();
            let () = arena.call(Some(&runner), "hold-release", &[("order", &held.order.to_string())]).await.ok();
        } else {
            assert_eq!((taken.code(), arena.seat(seat).await), (Code::SeatNotForSale, SeatState::Blocked as u8));
        }
        let marked = arena.backend.seat_bytes(id).await.unwrap()[20..30].iter().filter(|b| **b == 3).count();
        assert_eq!(i64::try_from(marked).unwrap(), rows);
    }
    let () = arena.call(Some(&fan), "hold-release", &[("order", &held.order.to_string())]).await.ok();
    arena.finish().await;
}
