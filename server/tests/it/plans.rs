//! Venue plans and pictures through HTTP: what goes in, what is refused and how, what comes out.

use crate::arena::upload::{form, send, upload, uploaded};
use crate::arena::{Arena, Fan, Reply, SOON, Setup};
use domain::account::Role;
use domain::organizer::plans::{ImportState, ImportView, PlanList, PlanView};
use domain::organizer::sales::EventFields;
use domain::venue::{generate, pretix};
use domain::{Code, PlanId};

const STADIUM: &str = include_str!("../../../app/domain/tests/fixtures/pretix-seatmap-canvas-stadium.json");
/// One red pixel.
const PNG: &str = "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d4944415478da\
6364f8cf500f00038601805a347d6b0000000049454e44ae426082";

async fn import(arena: &Arena, who: &Fan, id: &str) -> Reply {
    arena.call(Some(who), "organizer-import", &[("id", id), ("filter", "all"), ("page", "1")]).await
}

async fn accept(arena: &Arena, who: &Fan, id: &str, version: &str, venue: &str, further: &[(&str, &str)]) -> Reply {
    let mut fields = vec![("id", id), ("version", version), ("venue", venue), ("city", "Istanbul")];
    if !further.iter().any(|(name, _)| *name == "time_zone") {
        fields.push(("time_zone", "Europe/Istanbul"));
    }
    fields.extend_from_slice(further);
    arena.call(Some(who), "organizer-import-accept", &fields).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_stadium_goes_in_is_repaired_and_confirmed_and_comes_out_the_same() {
    let arena = Arena::web(Setup::default()).await;
    let owner = arena.member_of("House A", Role::Owner).await;
    let id = uploaded(&arena, &owner, "../halls/stadium.json", STADIUM.as_bytes()).await;
    let strict: ImportView = import(&arena, &owner, &id).await.ok();
    assert_eq!((strict.state, strict.error_count, strict.version), (ImportState::Refused, 126, 1));
    assert_eq!(strict.file_name, "stadium.json");
    assert!(!strict.bad.is_empty(), "the drawing points at the seats");
    assert!(strict.findings.iter().any(|told| told.refuses && !told.finding.seats.is_empty()));
    let map = format!("/maps/{}.json", strict.map_digest.unwrap());
    assert_eq!(arena.open(None, &map).await.status, 200, "what was refused can be seen all the same");
    let page = arena.open(Some(&owner), &format!("/organizer/imports/{id}?show=errors&page=2")).await;
    assert_eq!(page.status, 200);
    assert!(page.body.contains("data-testid=\"finding\"") && page.body.contains("guid-repeated"), "without JavaScript");
    assert_eq!(accept(&arena, &owner, &id, "1", "Stadium", &[("confirmed", "true")]).await.code(), Code::WrongState);

    let tolerant = [("id", id.as_str()), ("version", "1"), ("choices[tolerant]", "true")];
    let () = arena.call(Some(&owner), "organizer-import-recheck", &tolerant).await.ok();
    let stale = arena.call(Some(&owner), "organizer-import-recheck", &tolerant).await;
    assert_eq!(stale.code(), Code::WrongState, "somebody was faster");
    let ready: ImportView = import(&arena, &owner, &id).await.ok();
    assert_eq!((ready.state, ready.error_count, ready.version), (ImportState::Ready, 0, 2));
    let counts = ready.outline.unwrap().counts;
    assert_eq!((counts.seats, counts.rows, counts.sections), (738, 90, 2));
    assert!(ready.warning_count >= 126, "each repair is told: {}", ready.warning_count);

    let silent = accept(&arena, &owner, &id, "2", "Stadium", &[]).await.refusal();
    assert!(silent.code == Code::InvalidInput && silent.message.starts_with("confirmed:"), "{}", silent.message);
    let mars = [("confirmed", "true"), ("time_zone", "Mars/Olympus")];
    assert!(accept(&arena, &owner, &id, "2", "Stadium", &mars).await.refusal().message.starts_with("time_zone:"));
    assert!(accept(&arena, &owner, &id, "2", "", &[]).await.refusal().message.starts_with("venue:"));
    let plan: PlanId = accept(&arena, &owner, &id, "2", "Stadium", &[("confirmed", "true")]).await.ok();
    let again: PlanId = accept(&arena, &owner, &id, "2", "Stadium", &[("confirmed", "true")]).await.ok();
    assert_eq!(plan, again);

    let list: PlanList = arena.call(Some(&owner), "organizer-plans", &[]).await.ok();
    assert_eq!((list.plans.len(), list.plans[0].id, list.plans[0].seats), (1, plan, 738));
    assert_eq!((list.imports.len(), list.imports[0].state), (1, ImportState::Accepted));
    let view: PlanView = arena.call(Some(&owner), "organizer-plan", &[("id", &plan.to_string())]).await.ok();
    assert_eq!(view.outline.categories.iter().map(|category| category.seats).sum::<u32>(), 738);
    for path in ["/organizer/plans".to_owned(), format!("/organizer/plans/{plan}")] {
        let page = arena.open(Some(&owner), &path).await;
        assert!(page.status == 200 && page.body.contains("Stadium"), "{path}: {}", page.status);
    }

    let json = arena.open(Some(&owner), &format!("/api/organizer-plan-export/{plan}.json")).await;
    assert_eq!(
        json.headers["content-disposition"],
        "attachment; filename=\"Stadium.json\"; filename*=UTF-8''Stadium.json"
    );
    let exported = pretix::import(&json.body, pretix::Mode::Strict).expect("what comes out is strictly valid");
    let repaired = pretix::import(STADIUM, pretix::Mode::Tolerant).unwrap();
    assert_eq!(exported.plan, repaired.plan, "and the same");
    let csv = arena.open(Some(&owner), &format!("/api/organizer-plan-export/{plan}.csv")).await;
    assert_eq!(csv.headers["content-type"], "text/csv; charset=utf-8");
    assert_eq!(csv.headers["x-content-type-options"], "nosniff");
    assert_eq!(csv.body.lines().count(), 739);

    let back = uploaded(&arena, &owner, "back.json", json.body.as_bytes()).await;
    let same: PlanId = accept(&arena, &owner, &back, "1", "Stadium", &[("confirmed", "true")]).await.ok();
    assert_eq!(same, plan, "the same plan again is the same");
    let trail = "select count(*) from audit_log where action in ('plan.upload', 'plan.recheck', 'plan.accept')";
    assert_eq!(arena.count(trail).await, 5, "two uploads, one further check, two acceptances");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plans_and_pictures_are_for_the_roles_that_may_and_for_their_own_organization() {
    let arena = Arena::web(Setup::default()).await;
    let operator = arena.member_of("House A", Role::Operator).await;
    let stranger = arena.member_of("House B", Role::Owner).await;
    let fan = arena.fans(1).await.remove(0);
    let id = uploaded(&arena, &operator, "stadium.json", STADIUM.as_bytes()).await;
    let tolerant = [("id", id.as_str()), ("version", "1"), ("choices[tolerant]", "true")];
    let () = arena.call(Some(&operator), "organizer-import-recheck", &tolerant).await.ok();
    let plan: PlanId = accept(&arena, &operator, &id, "2", "Stadium", &[("confirmed", "true")]).await.ok();
    let plan = plan.to_string();
    let other = uploaded(&arena, &operator, "stadium.json", STADIUM.as_bytes()).await;
    let event = event_of(&arena, "House A").await;
    let picture = format!("/api/organizer-picture-upload?event={event}");
    let png = || form("file", "p.png", &hex::decode(PNG).unwrap());

    let mut refused = vec![(None, 401), (Some(&fan), 404)];
    let few = [Role::Door, Role::Finance, Role::Risk];
    let mut members = Vec::new();
    for role in few {
        members.push(arena.member_of("House A", role).await);
    }
    refused.extend(members.iter().map(|fan| (Some(fan), 403)));
    for (who, status) in refused {
        let replies = [
            upload(&arena, who, "a.json", b"{}").await,
            send(&arena, who, &picture, "application/json", png()).await,
            arena.call(who, "organizer-plans", &[]).await,
            arena.call(who, "organizer-plan", &[("id", &plan)]).await,
            arena.call(who, "organizer-import", &[("id", &other), ("filter", "all"), ("page", "1")]).await,
            arena.call(who, "organizer-import-recheck", &[("id", &other), ("version", "1")]).await,
            arena.call(who, "organizer-import-discard", &[("id", &other)]).await,
            arena.open(who, &format!("/api/organizer-plan-export/{plan}.csv")).await,
        ];
        for (index, reply) in replies.into_iter().enumerate() {
            assert_eq!(reply.status, status, "{index}: {}", reply.body);
            reply.refusal();
        }
    }
    let replies = [
        send(&arena, Some(&stranger), &picture, "application/json", png()).await,
        arena.call(Some(&stranger), "organizer-plan", &[("id", &plan)]).await,
        import(&arena, &stranger, &other).await,
        arena.call(Some(&stranger), "organizer-import-recheck", &[("id", &other), ("version", "1")]).await,
        arena.call(Some(&stranger), "organizer-import-discard", &[("id", &other)]).await,
        accept(&arena, &stranger, &other, "1", "Stadium", &[("confirmed", "true")]).await,
        arena.open(Some(&stranger), &format!("/api/organizer-plan-export/{plan}.json")).await,
        arena.open(Some(&stranger), "/api/organizer-plan-export/x.json").await,
        arena.open(Some(&stranger), &format!("/api/organizer-plan-export/{plan}.exe")).await,
    ];
    for (index, reply) in replies.into_iter().enumerate() {
        assert_eq!((reply.status, reply.code()), (404, Code::NotFound), "{index}");
    }
    let none: PlanList = arena.call(Some(&stranger), "organizer-plans", &[]).await.ok();
    assert!(none.plans.is_empty() && none.imports.is_empty());
    assert_eq!(arena.count("select count(*) from plan_imports").await, 2, "nothing was added or taken away");
    let () = arena.call(Some(&operator), "organizer-import-discard", &[("id", &other)]).await.ok();
    assert_eq!(import(&arena, &operator, &other).await.code(), Code::NotFound);
    arena.finish().await;
}

async fn event_of(arena: &Arena, organization: &str) -> String {
    let owner = arena.backend.command_line(organization).await.unwrap();
    let fields = EventFields {
        title: "Evening".to_owned(),
        artist: "Somebody".to_owned(),
        description: "Text.".to_owned(),
        ..EventFields::default()
    };
    arena.backend.save_event_for(&owner, None, fields).await.unwrap().to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_sent_as_a_file_gets_a_clear_answer() {
    let arena = Arena::web(Setup::default()).await;
    let owner = arena.member_of("House A", Role::Owner).await;
    let large = upload(&arena, Some(&owner), "large.json", &vec![b' '; 100_000_000]).await;
    assert_eq!((large.status, large.code()), (413, Code::TooLarge));
    assert!(large.refusal().message.contains("64 MiB"), "{}", large.body);
    let formless = arena.call_raw(&owner, "organizer-plan-upload", "application/json", b"{}".to_vec()).await;
    assert_eq!((formless.status, formless.code()), (400, Code::InvalidInput), "no form");
    for body in [Vec::new(), b"--nonsense".to_vec(), form("other", "a.json", b"{}"), form("file", "a.json", b"")] {
        let reply = send(&arena, Some(&owner), "/api/organizer-plan-upload", "application/json", body).await;
        assert_eq!((reply.status, reply.code()), (400, Code::InvalidInput));
        assert!(reply.refusal().message.starts_with("file:"));
    }
    // A browser without JavaScript is sent to where it can read the answer.
    let by_form = send(&arena, Some(&owner), "/api/organizer-plan-upload", "text/html", form("file", "", b"")).await;
    assert_eq!((by_form.status, by_form.header("location")), (303, "/organizer/plans?refused=invalid_input"));
    let shown = arena.open(Some(&owner), "/organizer/plans?refused=invalid_input").await;
    assert!(shown.body.contains("data-code=\"invalid_input\""));
    let stranger = send(&arena, None, "/api/organizer-plan-upload", "text/html", form("file", "a", b"x")).await;
    assert_eq!((stranger.status, stranger.header("location")), (303, "/sign-in?next=/organizer/plans"));

    let hostile: [&[u8]; 4] =
        [b"\xff\xfe\x00\x01garbage\x00", b"null", b"{\"name\":\"<script>alert(1)</script>\\u0000\"}", b"[[[[[[["];
    for content in hostile {
        let id = uploaded(&arena, &owner, "<script>x</script>.json", content).await;
        let view: ImportView = import(&arena, &owner, &id).await.ok();
        assert_eq!(view.state, ImportState::Refused);
        assert!(view.error_count > 0 && view.plan.is_none());
        let page = arena.open(Some(&owner), &format!("/organizer/imports/{id}?show=nonsense&page=-4")).await;
        assert_eq!(page.status, 200);
        assert!(!page.body.contains("<script>alert") && !page.body.contains("<script>x"), "never as markup");
        assert!(view.findings.iter().all(|told| !told.finding.message.is_empty()));
    }
    pictures(&arena, &owner).await;
    arena.finish().await;
}

async fn pictures(arena: &Arena, owner: &Fan) {
    let event = event_of(arena, "House A").await;
    let path = format!("/api/organizer-picture-upload?event={event}");
    let put = async |body: Vec<u8>| send(arena, Some(owner), &path, "application/json", body).await;
    let good = hex::decode(PNG).unwrap();
    for broken in [&b"GIF89a"[..], b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"no picture", &good[..40]] {
        let reply = put(form("file", "p.png", broken)).await;
        assert_eq!((reply.status, reply.code()), (400, Code::InvalidInput));
        assert!(reply.refusal().message.starts_with("picture:"), "{}", reply.body);
    }
    let large = put(form("file", "p.png", &vec![0; 9 * 1024 * 1024])).await;
    assert_eq!((large.status, large.code()), (413, Code::TooLarge));
    let nowhere =
        send(arena, Some(owner), "/api/organizer-picture-upload", "application/json", form("file", "p", &good));
    assert_eq!(nowhere.await.code(), Code::NotFound);
    assert_eq!(put(form("file", "p.png", &good)).await.status, 200);
    let picture = async || -> Option<String> {
        sqlx::query_scalar("select picture from events where id = $1::uuid")
            .bind(&event)
            .fetch_one(&arena.pg)
            .await
            .unwrap()
    };
    let digest = picture().await.unwrap();
    let served = arena.open(None, &format!("/pictures/{digest}.jpg")).await;
    assert_eq!((served.status, served.header("content-type")), (200, "image/jpeg"));
    assert!(served.headers["cache-control"].to_str().unwrap().contains("immutable"));
    for name in [format!("{digest}.png"), "..%2f..%2fx.jpg".to_owned(), format!("{}.jpg", "0".repeat(64))] {
        assert_eq!(arena.open(None, &format!("/pictures/{name}")).await.code(), Code::NotFound, "{name}");
    }
    let remove = format!("organizer-picture-remove?event={event}");
    assert_eq!(arena.call(Some(owner), &remove, &[]).await.status, 200);
    assert_eq!(picture().await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_newer_plan_without_a_seat_that_somebody_holds_is_refused_with_its_label() {
    let arena = Arena::web(Setup::default()).await;
    let owner = arena.member_of("StarArena Rush", Role::Owner).await;
    let fan = arena.one_inside().await;
    let held = arena.take(&fan, &[5], "mine").await.unwrap();
    eventually!(SOON, "the claim is written", arena.status(held.order).await.is_some());
    let mut newer = generate::arena(Setup::default().seats, "House");
    let label = newer.seat_label(5).map(|l| format!("{}, row {}, seat {}", l.section, l.row, l.seat)).unwrap();
    newer.seats.remove(5);
    let id = uploaded(&arena, &owner, "newer.json", pretix::export(&newer).as_bytes()).await;
    let refusal = accept(&arena, &owner, &id, "1", "House", &[("confirmed", "true")]).await.refusal();
    assert_eq!(refusal.code, Code::SeatTaken);
    assert!(refusal.message.contains(&label), "{} lacks {label}", refusal.message);
    arena.give_back(&fan, held.order).await.unwrap();
    eventually!(
        SOON,
        "the claim is gone",
        arena.count("select count(*) from seat_claims where performance_id = $1").await == 0
    );
    let _: PlanId = accept(&arena, &owner, &id, "1", "House", &[("confirmed", "true")]).await.ok();
    assert_eq!(arena.count("select count(*) from plans where venue = 'House'").await, 2);
    let kept = "select l.seat_count::bigint from performances p join plans l on l.id = p.plan_id where p.id = $1";
    assert_eq!(arena.count(kept).await, i64::from(Setup::default().seats), "the performance keeps its plan");
    arena.finish().await;
}
