//! From an event to its first ticket: what organizers may do, what publishing refuses, what buyers pay.

use crate::arena::{Arena, Fan, Reply, SOON, Setup, seats};
use domain::account::Role;
use domain::hold::Held;
use domain::order::OrderView;
use domain::organizer::draft::{Blocked, Draft, Item, State, Zone};
use domain::organizer::sales::{DraftView, EventLine, OrganizerEvent, Readiness};
use domain::venue::generate;
use domain::{Code, EventId, Millis, OrganizationId, PerformanceId, PlanId, SeatNo};

/// An organization with a plan, and its people.
struct House {
    organization: OrganizationId,
    plan: PlanId,
}

impl House {
    async fn new(arena: &Arena, name: &str) -> Self {
        let organization = arena.backend.ensure_organization(name).await.unwrap();
        let plan = generate::arena(generate::MIN_ARENA_SEATS, name);
        let owner = arena.backend.command_line(name).await.unwrap();
        let stored = arena.backend.store_plan(&owner, plan, name, "Berlin", "Europe/Berlin").await.unwrap();
        Self { organization, plan: stored.id }
    }

    async fn person(&self, arena: &Arena, role: Role) -> Fan {
        let person = arena.fans(1).await.remove(0);
        sqlx::query("insert into members (organization_id, account_id, role) values ($1, $2, $3)")
            .bind(self.organization.0)
            .bind(person.account.0)
            .bind(role.as_str())
            .execute(&arena.pg)
            .await
            .unwrap();
        person
    }
}

/// What the form of a draft says; later pairs win over earlier ones.
struct Form(Vec<(String, String)>);

impl Form {
    fn of(view: &DraftView, plan: PlanId) -> Self {
        Self(vec![
            ("id".into(), view.id.to_string()),
            ("version".into(), view.version.to_string()),
            ("form[plan]".into(), plan.to_string()),
            ("form[starts]".into(), "2100-07-01T20:00".into()),
            // Long past: the sale opens as soon as it is published.
            ("form[opens]".into(), "2020-01-01T10:00".into()),
            ("form[closes]".into(), "2100-07-01T20:00".into()),
            ("form[seat_limit]".into(), "4".into()),
            ("form[hold_ttl_min]".into(), "2".into()),
            ("form[shoppers_max]".into(), "2000".into()),
            ("form[release_per_min]".into(), "600000".into()),
            ("form[currency]".into(), "EUR".into()),
        ])
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.0.retain(|(found, _)| found != name);
        self.0.push((name.to_owned(), value.to_owned()));
        self
    }

    async fn send(&self, arena: &Arena, person: &Fan) -> Reply {
        let pairs: Vec<(&str, &str)> = self.0.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        arena.call(Some(person), "organizer-draft-save", &pairs).await
    }
}

async fn new_event(arena: &Arena, person: &Fan, title: &str) -> EventId {
    let form = [("fields[title]", title), ("fields[artist]", "Nobody"), ("fields[description]", "One\r\n\r\nTwo")];
    arena.call(Some(person), "organizer-event-save", &form).await.ok()
}

async fn new_draft(arena: &Arena, person: &Fan, event: EventId) -> PerformanceId {
    arena.call(Some(person), "organizer-draft-new", &[("event", &event.to_string())]).await.ok()
}

async fn view(arena: &Arena, person: &Fan, id: PerformanceId) -> DraftView {
    arena.call(Some(person), "organizer-draft", &[("id", &id.to_string())]).await.ok()
}

async fn publish(arena: &Arena, person: &Fan, id: PerformanceId, version: i32) -> Reply {
    let form = [("id", id.to_string()), ("version", version.to_string())];
    let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
    arena.call(Some(person), "organizer-draft-publish", &form).await
}

/// Changes the document of a draft as the page of prices does.
async fn redraw(arena: &Arena, id: PerformanceId, change: impl FnOnce(&mut Draft)) {
    let text: String = sqlx::query_scalar("select document::text from performance_drafts where id = $1")
        .bind(id.0)
        .fetch_one(&arena.pg)
        .await
        .unwrap();
    let mut draft: Draft = serde_json::from_str(&text).unwrap();
    change(&mut draft);
    sqlx::query("update performance_drafts set document = $2::jsonb, version = version + 1 where id = $1")
        .bind(id.0)
        .bind(serde_json::to_string(&draft).unwrap())
        .execute(&arena.pg)
        .await
        .unwrap();
}

async fn hold_at(arena: &Arena, fan: &Fan, id: PerformanceId, list: &str) -> Reply {
    let (id, key) = (id.to_string(), uuid::Uuid::new_v4().simple().to_string());
    arena.call(Some(fan), "hold", &[("performance", &id), ("seats", list), ("key", &key)]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_draft_is_published_only_when_complete_and_sold_at_the_prices_of_its_zones() {
    let arena = Arena::web(Setup::default()).await;
    let house = House::new(&arena, "Publishing House").await;
    let owner = house.person(&arena, Role::Owner).await;
    let event = new_event(&arena, &owner, "Tide & Stone").await;
    let made: OrganizerEvent = arena.call(Some(&owner), "organizer-event", &[("id", &event.to_string())]).await.ok();
    assert_eq!((made.line.slug.as_str(), made.description.as_str()), ("tide-and-stone", "One\n\nTwo"));
    let id = new_draft(&arena, &owner, event).await;

    // Everything that is missing is told at once, and nothing is published.
    let refused = publish(&arena, &owner, id, 1).await.refusal();
    assert_eq!(refused.code, Code::NotReady);
    for item in ["plan", "starts", "opens", "closes", "currency", "prices"] {
        assert!(refused.message.contains(&format!("{item}: not set")), "{item}: {}", refused.message);
    }
    Form::of(&view(&arena, &owner, id).await, house.plan).send(&arena, &owner).await.ok::<()>();
    let draft = view(&arena, &owner, id).await;
    let missing: Vec<Item> = draft.checks.iter().filter(|c| c.state == State::Missing).map(|c| c.item).collect();
    assert_eq!(missing, [Item::Prices]);
    let refused = publish(&arena, &owner, id, draft.version).await.refusal();
    let unpriced = draft.zones.iter().find(|zone| zone.sellable > 0).unwrap();
    let named = format!("{} ({})", unpriced.name, unpriced.sellable);
    assert!(refused.code == Code::NotReady && refused.message.contains(&named), "{named}: {}", refused.message);
    let page = arena.open(Some(&owner), &format!("/organizer/performances/{id}")).await;
    assert!(page.status == 200 && page.body.contains(r#"data-item="prices" data-state="missing""#), "{}", page.body);

    // One seat moved into a zone of its own, one blocked, all priced.
    redraw(&arena, id, |draft| {
        for zone in &mut draft.zones {
            zone.price_minor = Some(5_000);
        }
        draft.zones.push(Zone {
            name: "Front".into(),
            color: Some("#ff0000".into()),
            price_minor: Some(9_900),
            seats: seats(&[5]),
        });
        draft.blocked.push(Blocked { reason: "camera".into(), seats: seats(&[9]) });
    })
    .await;
    assert_eq!(publish(&arena, &owner, id, draft.version).await.code(), Code::WrongState, "an old version");

    // Fans see nothing of it; then two publish at the same time, and one does.
    for path in
        ["/events/tide-and-stone".to_owned(), format!("/performances/{id}/queue"), format!("/performances/{id}/seats")]
    {
        assert_eq!(arena.open(None, &path).await.status, 404, "{path}");
    }
    assert_eq!(arena.call(None, "performance", &[("id", &id.to_string())]).await.code(), Code::NotFound);
    let version = view(&arena, &owner, id).await.version;
    let (one, two) = tokio::join!(publish(&arena, &owner, id, version), publish(&arena, &owner, id, version));
    let mut answers = [one.status, two.status];
    answers.sort_unstable();
    assert_eq!(answers, [200, 409], "{} {}", one.body, two.body);
    assert_eq!(publish(&arena, &owner, id, version).await.code(), Code::WrongState);
    let again = Form::of(&draft, house.plan).with("version", &version.to_string()).send(&arena, &owner).await;
    assert_eq!(again.code(), Code::WrongState, "what is published is not edited as a draft");

    sold_at_the_prices_of_its_zones(&arena, &owner, &house, id).await;
    let count = arena.count("select count(*) from audit_log where action in ('event.create', 'performance.draft', 'performance.publish') and account_id is not null").await;
    assert_eq!(count, 3);
    arena.finish().await;
}

/// The seats are warmed up, held and bought; a change of prices never changes what was told.
async fn sold_at_the_prices_of_its_zones(arena: &Arena, owner: &Fan, house: &House, id: PerformanceId) {
    let readiness =
        async || -> Readiness { arena.call(Some(owner), "organizer-readiness", &[("id", &id.to_string())]).await.ok() };
    eventually!(SOON, "the seats are in place", matches!(readiness().await, Readiness::Ready { .. }));
    let Readiness::Ready { seats: total, sections, .. } = readiness().await else { panic!("they were ready") };
    assert_eq!(total, generate::MIN_ARENA_SEATS);
    assert_eq!(sections.iter().map(|section| section.seats).sum::<u32>(), total);
    assert_eq!(sections.iter().map(|section| section.blocked).sum::<u32>(), 1);
    let published = view(arena, owner, id).await;
    let commitment: String =
        sqlx::query_scalar("select encode(sha256(draw_seed), 'hex') from performances where id = $1")
            .bind(id.0)
            .fetch_one(&arena.pg)
            .await
            .unwrap();
    assert_eq!(published.published.unwrap().commitment, commitment);
    let told: String = sqlx::query_scalar(
        "select detail ->> 'commitment' from audit_log where action = 'performance.publish' and organization_id = $1",
    )
    .bind(house.organization.0)
    .fetch_one(&arena.pg)
    .await
    .unwrap();
    assert_eq!(told, commitment, "what was committed to can be looked up");
    assert_eq!(arena.open(None, "/events/tide-and-stone").await.status, 200);
    let shown = arena.backend.performance(id).await.unwrap();
    let of_plan: String = sqlx::query_scalar("select map_digest from plans where id = $1")
        .bind(house.plan.0)
        .fetch_one(&arena.pg)
        .await
        .unwrap();
    assert_ne!(shown.map_digest, of_plan, "the map shows the zones of this performance");
    let map = arena.open(None, &format!("/maps/{}.json", shown.map_digest)).await;
    assert!(map.status == 200 && map.body.contains(r##"{"name":"Front","color":"#ff0000"}"##));

    let mut fans = arena.fans(3).await.into_iter();
    let mut next = async || arena.let_in(fans.next().unwrap(), id).await;
    let (first, second, third) = (next().await, next().await, next().await);
    let blocked = hold_at(arena, &first, id, "8,9").await.refusal();
    assert_eq!((blocked.code, blocked.seats), (Code::SeatNotForSale, seats(&[9])));
    let held: Held = hold_at(arena, &first, id, "5,6").await.ok();
    assert_eq!(held.total.minor, 9_900 + 5_000);
    let early: Held = hold_at(arena, &second, id, "20").await.ok();
    assert_eq!(early.total.minor, 5_000);
    change_prices(arena, id).await;
    let mine: Option<Held> = arena.call(Some(&second), "my-hold", &[("performance", &id.to_string())]).await.ok();
    assert_eq!(mine, Some(early.clone()), "what is held keeps its price");
    let late: Held = hold_at(arena, &third, id, "21").await.ok();
    assert_eq!(late.total.minor, 10_000);

    let bought: OrderView = arena.buy(&first, held.order).await;
    let items: Vec<(SeatNo, &str, i64)> =
        bought.items.iter().map(|item| (item.seat, item.category.as_str(), item.price.minor)).collect();
    assert_eq!((items[0].0, items[0].1, items[0].2), (SeatNo(5), "Front", 9_900));
    assert!(items[1].0 == SeatNo(6) && items[1].1 != "Front" && items[1].2 == 5_000, "{items:?}");
    assert_eq!(bought.total.minor, 14_900);
    assert_eq!(arena.buy(&second, early.order).await.total.minor, 5_000);
    assert_eq!(arena.buy(&third, late.order).await.total.minor, 10_000);
    let list: Vec<EventLine> = arena.call(Some(owner), "organizer-events", &[]).await.ok();
    assert_eq!(list[0].performances[0].sold, 4);
}

/// Doubles every price, as a new version, and waits until holds are made with it.
async fn change_prices(arena: &Arena, id: PerformanceId) {
    let sql = "with doubled as (
            insert into prices (performance_id, version, category, amount_minor)
            select performance_id, 2, category, amount_minor * 2 from prices where performance_id = $1)
        update performances set price_version = 2 where id = $1";
    sqlx::query(sql).bind(id.0).execute(&arena.pg).await.unwrap();
    let key = format!("sa:1:{{p{}}}:meta", id.simple());
    let mut redis = arena.redis().await;
    eventually!(SOON, "the guardian carries the prices into the sale", {
        let version: Option<String> =
            redis::cmd("HGET").arg(&key).arg("version").query_async(&mut redis).await.unwrap();
        version.as_deref() == Some("2")
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drafts_belong_to_their_organization_and_local_times_are_never_guessed() {
    let arena = Arena::web(Setup::default()).await;
    let (house, other) = (House::new(&arena, "Our House").await, House::new(&arena, "Other House").await);
    let owner = house.person(&arena, Role::Owner).await;
    let stranger = other.person(&arena, Role::Owner).await;
    let fan = arena.fans(1).await.remove(0);
    let event = new_event(&arena, &owner, "北极光巡演").await;
    let id = new_draft(&arena, &owner, event).await;
    let draft = view(&arena, &owner, id).await;
    let (event, draft_id) = (event.to_string(), id.to_string());

    // Who is somebody else finds nothing; whose role is another one is told so.
    for person in [&stranger, &fan] {
        for (function, field, value) in [
            ("organizer-event", "id", &event),
            ("organizer-draft-new", "event", &event),
            ("organizer-draft", "id", &draft_id),
            ("organizer-readiness", "id", &draft_id),
        ] {
            assert_eq!(
                arena.call(Some(person), function, &[(field, value)]).await.code(),
                Code::NotFound,
                "{function}"
            );
        }
        assert_eq!(publish(&arena, person, id, 1).await.code(), Code::NotFound);
        assert_eq!(Form::of(&draft, house.plan).send(&arena, person).await.code(), Code::NotFound);
        let fields =
            [("id", event.as_str()), ("fields[title]", "X"), ("fields[artist]", "Y"), ("fields[description]", "Z")];
        assert_eq!(arena.call(Some(person), "organizer-event-save", &fields).await.code(), Code::NotFound);
        assert_eq!(arena.open(Some(person), &format!("/organizer/performances/{id}")).await.status, 404);
    }
    for role in [Role::Finance, Role::Risk, Role::Door] {
        let person = house.person(&arena, role).await;
        assert_eq!(view(&arena, &person, id).await.id, id, "every member may look");
        assert_eq!(publish(&arena, &person, id, 1).await.code(), Code::Forbidden);
        assert_eq!(Form::of(&draft, house.plan).send(&arena, &person).await.code(), Code::Forbidden);
        assert_eq!(
            arena.call(Some(&person), "organizer-draft-new", &[("event", &event)]).await.code(),
            Code::Forbidden
        );
        let page = arena.open(Some(&person), "/organizer").await;
        assert!(page.status == 200 && !page.body.contains("new-event"), "what the role doesn't allow isn't offered");
    }
    assert_eq!(arena.call(None, "organizer-events", &[]).await.code(), Code::SignInRequired);

    refused_fields(&arena, &owner, &draft, house.plan, other.plan).await;

    // The hour that comes twice is taken with its offset, shown again, and saved again as it was.
    let form =
        Form::of(&draft, house.plan).with("form[opens]", "2026-10-25T02:30").with("form[opens_offset]", "+01:00");
    form.send(&arena, &owner).await.ok::<()>();
    let shown = view(&arena, &owner, id).await.opens;
    assert_eq!((shown.text.as_str(), shown.offset.as_str()), ("2026-10-25T02:30", "+01:00"));
    assert_eq!(shown.zoned.unwrap().at, Millis(1_792_891_800_000));
    assert_eq!(form.send(&arena, &owner).await.code(), Code::WrongState, "the version moved on");

    // Two events never share an address, and a draft that is dropped is gone.
    let same =
        [("fields[slug]", "twice"), ("fields[title]", "A"), ("fields[artist]", "B"), ("fields[description]", "C")];
    let _: EventId = arena.call(Some(&owner), "organizer-event-save", &same).await.ok();
    let refused = arena.call(Some(&stranger), "organizer-event-save", &same).await.refusal();
    assert!(refused.code == Code::InvalidInput && refused.message.starts_with("slug: "), "{}", refused.message);
    let dropped = [("id", draft_id.as_str()), ("version", "2")];
    let _: EventId = arena.call(Some(&owner), "organizer-draft-delete", &dropped).await.ok();
    assert_eq!(arena.call(Some(&owner), "organizer-draft", &[("id", &draft_id)]).await.code(), Code::NotFound);
    arena.finish().await;
}

async fn refused_fields(arena: &Arena, owner: &Fan, draft: &DraftView, plan: PlanId, foreign: PlanId) {
    for (name, value, said) in [
        ("form[opens]", "2027-03-28T02:30", "opens: 2027-03-28T02:30 does not exist"),
        ("form[opens]", "2026-10-25T02:30", "opens: 2026-10-25T02:30 happens twice"),
        ("form[starts]", "2027-07-01T20:00+05:00", "starts: Europe/Berlin is at +02:00 then"),
        ("form[closes]", "soon", "closes: "),
        ("form[plan]", "", "starts: choose the plan first"),
        ("form[plan]", "x", "plan: "),
        ("form[plan]", foreign.to_string().as_str(), "plan: one of your plans"),
        ("form[seat_limit]", "21", "seat_limit: "),
        ("form[hold_ttl_min]", "0", "hold_ttl_min: "),
        ("form[shoppers_max]", "0", "shoppers_max: "),
        ("form[release_per_min]", "many", "release_per_min: "),
        ("form[currency]", "XAU", "currency: "),
    ] {
        let refusal = Form::of(draft, plan).with(name, value).send(arena, owner).await.refusal();
        assert_eq!(refusal.code, Code::InvalidInput, "{name}={value}");
        assert!(refusal.message.starts_with(said), "{name}={value}: {}", refusal.message);
    }
    assert_eq!(view(arena, owner, draft.id).await.version, draft.version, "nothing was changed");
}
