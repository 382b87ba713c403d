//! The on-sale desk: its numbers follow the sale, its controls take effect and leave their traces.

use crate::arena::provider::GOOD_CARD;
use crate::arena::{Arena, Fan, Reply, SOON, Setup};
use domain::account::Role;
use domain::hold::SeatState;
use domain::order::PayStarted;
use domain::organizer::desk::{DeskView, Readiness, SaleChange};
use domain::queue::{Joined, Phase, commitment};
use domain::venue::generate;
use domain::{Code, PerformanceId};

const HOUR_MS: i64 = 3_600_000;

/// A member of the organization whose sale the arena seeded.
async fn member(arena: &Arena, role: Role) -> Fan {
    let fan = arena.fans(1).await.remove(0);
    sqlx::query(
        "insert into members (organization_id, account_id, role)
         select e.organization_id, $2, $3 from performances p join events e on e.id = p.event_id where p.id = $1",
    )
    .bind(arena.performance.0)
    .bind(fan.account.0)
    .bind(role.as_str())
    .execute(&arena.pg)
    .await
    .unwrap();
    fan
}

/// The owner of an organization that has nothing to do with the sale.
async fn stranger(arena: &Arena) -> Fan {
    let fan = arena.fans(1).await.remove(0);
    let organization = arena.backend.ensure_organization("Somebody else").await.unwrap();
    sqlx::query("insert into members (organization_id, account_id, role) values ($1, $2, 'owner')")
        .bind(organization.0)
        .bind(fan.account.0)
        .execute(&arena.pg)
        .await
        .unwrap();
    fan
}

async fn ask(arena: &Arena, who: &Fan, function: &str, further: &[(&str, &str)]) -> Reply {
    let performance = arena.performance.to_string();
    let form: Vec<(&str, &str)> = [("performance", performance.as_str())].iter().chain(further).copied().collect();
    arena.call(Some(who), &format!("organizer-sale-{function}"), &form).await
}

async fn desk(arena: &Arena, who: &Fan) -> DeskView {
    ask(arena, who, "desk", &[]).await.ok()
}

/// How often an action is in the audit log of the sale.
async fn traces(arena: &Arena, id: PerformanceId, action: &str) -> Vec<serde_json::Value> {
    sqlx::query_scalar("select detail from audit_log where subject = $1 and action = $2 order by id")
        .bind(format!("performance {id}"))
        .bind(action)
        .fetch_all(&arena.pg)
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_desks_numbers_follow_a_fan_from_the_queue_to_the_tickets() {
    let arena = Arena::web(Setup::default()).await;
    let owner = member(&arena, Role::Owner).await;
    let before = desk(&arena, &owner).await;
    assert_eq!((before.phase, before.readiness), (Phase::Open, Readiness::Ready));
    assert_eq!((before.waiting, before.shoppers, before.seats.held, before.paid_orders), (0, 0, 0, 0));
    assert_eq!((before.seats.free, before.settings.shoppers_max), (Setup::default().seats, 2_000));

    let fan = arena.fans(1).await.remove(0);
    let performance = arena.performance.to_string();
    let joined = arena.call(Some(&fan), "queue-join", &[("performance", &performance)]).await;
    assert_eq!(joined.status, 200);
    eventually!(SOON, "one waits", desk(&arena, &owner).await.waiting == 1);
    let fan = arena.let_in(fan, arena.performance).await;
    eventually!(SOON, "one shops and none waits", {
        let now = desk(&arena, &owner).await;
        (now.waiting, now.shoppers, now.joined) == (0, 1, 1)
    });
    let held = arena.held(&fan, "10,11").await;
    eventually!(SOON, "two seats are held", {
        let now = desk(&arena, &owner).await;
        (now.seats.held, now.open_holds, now.seats.sold) == (2, 1, 0)
    });
    arena.buy(&fan, held.order).await;
    eventually!(SOON, "two seats are sold and paid", {
        let now = desk(&arena, &owner).await;
        let by_zone: i64 = now.zones.iter().map(|zone| zone.revenue.minor).sum();
        let sold: u32 = now.zones.iter().map(|zone| zone.seats.sold).sum();
        (now.seats.sold, now.paid_orders, now.orders_per_min, now.open_holds) == (2, 1, 1, 0)
            && (now.revenue, now.revenue_per_min) == (held.total, held.total)
            && (by_zone, sold) == (held.total.minor, 2)
    });

    eventually!(
        SOON,
        "the leader took a sample of the sold seats",
        arena.count("select count(*) from sale_samples where performance_id = $1 and sold = 2").await > 0
    );
    let series = arena.backend.desk_series(&owner.session, arena.performance, 60).await.unwrap();
    assert_eq!(series.minutes.len(), 60);
    assert_eq!(series.minutes.iter().map(|point| point.sum.orders).sum::<u32>(), 1);
    assert_eq!(series.minutes.iter().map(|point| point.sum.revenue_minor).sum::<i64>(), held.total.minor);
    assert!(series.samples.windows(2).all(|pair| pair[0].sample.at < pair[1].sample.at) && !series.samples.is_empty());
    let page = arena.open(Some(&owner), &format!("/organizer/performances/{performance}/desk")).await;
    assert_eq!(page.status, 200);
    for part in ["data-testid=\"desk-sold\">2<", "<svg class=\"chart\"", "<polyline", "data-testid=\"desk-pause\""] {
        assert!(page.body.contains(part), "{part} in {}", page.body);
    }
    assert!(!page.body.contains("style=\""), "the content policy refuses it");
    let asked = arena.open(Some(&owner), &format!("/organizer/performances/{performance}/desk?confirm=pause")).await;
    assert!(asked.body.contains("data-testid=\"desk-confirm\""), "without JavaScript a control asks first, too");
    assert!(traces(&arena, arena.performance, "sale.pause").await.is_empty(), "and changes nothing by itself");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pausing_stops_entry_and_closing_stops_holds_but_what_is_held_is_paid() {
    let arena = Arena::web(Setup::default()).await;
    let operator = member(&arena, Role::Operator).await;
    let (first, second) = (arena.one_inside().await, arena.one_inside().await);
    let waiting = arena.fans(1).await.remove(0);
    let performance = arena.performance.to_string();
    let ticket = arena.call(Some(&waiting), "queue-join", &[("performance", &performance)]).await.ok::<Joined>().ticket;
    let enter = [("performance", performance.as_str()), ("ticket", ticket.as_str()), ("nonce", "n")];

    let of_first = arena.held(&first, "20").await;
    ask(&arena, &operator, "pause", &[]).await.ok::<()>();
    assert_eq!(desk(&arena, &operator).await.phase, Phase::Paused);
    assert_eq!(arena.call(Some(&waiting), "queue-enter", &enter).await.code(), Code::Paused);
    assert_eq!(ask(&arena, &operator, "pause", &[]).await.code(), Code::WrongState, "once is enough");
    arena.buy(&first, of_first.order).await;
    ask(&arena, &operator, "resume", &[]).await.ok::<()>();
    eventually!(SOON, "the door is open again", arena.call(Some(&waiting), "queue-enter", &enter).await.status == 200);

    let of_second = arena.held(&second, "21").await;
    let started: PayStarted = arena.pay(&second, of_second.order).await.ok();
    let seen = async || arena.backend.queue_status(arena.performance).await.unwrap().phase;
    eventually!(SOON, "every process knows it", seen().await == Phase::Open);
    let third = arena.one_inside().await;
    let of_third = arena.held(&third, "22").await;
    ask(&arena, &operator, "close", &[]).await.ok::<()>();
    assert_eq!(desk(&arena, &operator).await.phase, Phase::Ended);
    let late = arena.hold(&first, "23", "late").await.code();
    assert!(matches!(late, Code::SaleClosed | Code::PassRequired), "{late:?}");
    let inside = arena.hold(&third, "23", "late").await.code();
    assert_eq!(inside, Code::SaleClosed, "not even by who is inside");
    assert_eq!(arena.provider().card(&started, GOOD_CARD).await, 303, "a payment under way goes on");
    arena.await_status(of_second.order, "fulfilled").await;
    arena.buy(&third, of_third.order).await;
    eventually!(SOON, "both are sold", arena.seat(22).await == SeatState::Sold as u8);
    assert_eq!(ask(&arena, &operator, "resume", &[]).await.code(), Code::WrongState, "what has ended stays so");

    for action in ["sale.pause", "sale.resume", "sale.close"] {
        let rows = traces(&arena, arena.performance, action).await;
        assert_eq!(rows.len(), 1, "{action}: one change, one row; a refusal leaves none");
        assert_ne!(rows[0]["old"], rows[0]["new"], "{action}");
    }
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opening_now_freezes_the_lobby_and_reveals_its_draw() {
    let arena = Arena::bare(Setup::default()).await;
    let operator = member(&arena, Role::Operator).await;
    let plan = generate::arena(generate::MIN_ARENA_SEATS, "Later house");
    let id = arena
        .backend
        .seed_sale(plan, "Later house", |sale| {
            sale.opens = sale.opens.plus(HOUR_MS);
            sale.closes = sale.closes.plus(HOUR_MS);
            sale.release_per_min = 600_000;
        })
        .await
        .unwrap();
    eventually!(SOON, "the seats are built", arena.backend.watch(id).await.is_ok());
    let status = async || (*arena.backend.queue_status(id).await.unwrap()).clone();
    let fans = arena.fans(8).await;
    for fan in &fans {
        arena.backend.join_queue(&fan.session, id, None).await.unwrap();
    }
    eventually!(SOON, "eight are in the lobby", status().await.joined == 8);
    let lobby = status().await;
    assert_eq!((lobby.phase, lobby.lobby, &lobby.drawn), (Phase::Lobby, None, &None));
    let close = arena.backend.change_sale(&operator.session, id, SaleChange::Close).await;
    assert_eq!(close.unwrap_err().refusal().code, Code::WrongState, "what has not opened is not closed");

    arena.backend.change_sale(&operator.session, id, SaleChange::Open).await.unwrap();
    eventually!(SOON, "the draw is out", status().await.drawn.is_some() && status().await.phase == Phase::Open);
    let open = status().await;
    assert_eq!(open.lobby, Some(8));
    let seed: [u8; 32] = hex::decode(&open.drawn.as_ref().unwrap().seed).unwrap().try_into().unwrap();
    assert_eq!(hex::encode(commitment(&seed)), lobby.commitment, "the seed that was committed to");
    assert_eq!(open.commitment, lobby.commitment);
    let published: Vec<(i32, String, i64)> = sqlx::query_as(
        "select number, encode(commitment, 'hex'), opens_ms from draw_commitments where performance_id = $1 order by number",
    )
    .bind(id.0)
    .fetch_all(&arena.pg)
    .await
    .unwrap();
    let told: Vec<(i32, &str)> = published.iter().map(|(number, text, _)| (*number, text.as_str())).collect();
    assert_eq!(told, [(0, open.commitment.as_str()), (1, open.commitment.as_str())], "the seed stays what it was");
    assert!(published[1].2 < published[0].2 && published[1].2 == open.opens_at.0, "the last one tells the opening");
    let late = arena.fans(1).await.remove(0);
    assert_eq!(arena.backend.join_queue(&late.session, id, None).await.unwrap().arrival, 8);
    assert_eq!(open.draw().unwrap().place(8), 8, "who comes later is behind the lobby");
    for fan in fans {
        let inside = arena.let_in(fan, id).await;
        assert!(inside.pass().is_some());
    }
    let again = arena.backend.change_sale(&operator.session, id, SaleChange::Open).await;
    assert_eq!(again.unwrap_err().refusal().code, Code::WrongState);
    let rows = traces(&arena, id, "sale.open").await;
    assert_eq!(rows.len(), 1);
    assert!(rows[0]["new"]["opens_ms"].as_i64() < rows[0]["old"]["opens_ms"].as_i64(), "{rows:?}");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_role_does_its_own_at_the_desk_and_what_it_sets_reaches_the_running_sale() {
    let arena = Arena::web(Setup::default()).await;
    let (operator, finance) = (member(&arena, Role::Operator).await, member(&arena, Role::Finance).await);
    let (door, stranger) = (member(&arena, Role::Door).await, stranger(&arena).await);
    let fan = arena.fans(1).await.remove(0);
    let rate = [("from", "600000"), ("to", "900")];
    for (who, read, control) in [
        (&finance, 200, Code::Forbidden),
        (&door, 403, Code::Forbidden),
        (&stranger, 404, Code::NotFound),
        (&fan, 404, Code::NotFound),
    ] {
        assert_eq!(ask(&arena, who, "desk", &[]).await.status, read);
        assert_eq!(ask(&arena, who, "series", &[("language", "en")]).await.status, read);
        for (function, further) in [("open", &[][..]), ("pause", &[]), ("resume", &[]), ("close", &[]), ("rate", &rate)]
        {
            assert_eq!(ask(&arena, who, function, further).await.code(), control, "{function}");
        }
    }
    let page = arena.open(Some(&finance), &format!("/organizer/performances/{}/desk", arena.performance)).await;
    assert!(page.body.contains("desk-revenue") && !page.body.contains("desk-pause"), "numbers without controls");

    let epochs = "select epoch from performances where id = $1";
    let epoch = arena.count(epochs).await;
    ask(&arena, &operator, "rate", &rate).await.ok::<()>();
    ask(&arena, &operator, "maximum", &[("from", "2000"), ("to", "3")]).await.ok::<()>();
    let meta = format!("sa:1:{{p{}}}:meta", arena.performance.simple());
    let most: u32 = redis::cmd("HGET").arg(&meta).arg("max").query_async(&mut arena.redis().await).await.unwrap();
    assert_eq!(most, 3, "at once, not with the next look of a worker");
    let shown = desk(&arena, &operator).await.settings;
    assert_eq!((shown.rate_per_min, shown.shoppers_max), (900, 3));
    assert_eq!(ask(&arena, &operator, "rate", &rate).await.code(), Code::WrongState, "it is not 600,000 any more");
    for wrong in ["0", "1000001", "-1", "many"] {
        let refusal = ask(&arena, &operator, "maximum", &[("from", "3"), ("to", wrong)]).await.refusal();
        assert_eq!(refusal.code, Code::InvalidInput, "{wrong}");
    }
    assert_eq!(traces(&arena, arena.performance, "sale.maximum").await.len(), 1);
    assert_eq!(traces(&arena, arena.performance, "sale.rate").await.len(), 1);
    assert_eq!(arena.count(epochs).await, epoch, "settings change without a rebuild");
    arena.finish().await;
}
