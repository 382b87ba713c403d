//! Every endpoint and every page of organizers, tried by everybody: strangers, fans, each role, and
//! the owner of another organization. A new endpoint without a line fails the first test.

mod lines;

use crate::arena::upload::{form, send, uploaded};
use crate::arena::{Arena, Fan, ORGANIZATION, Reply, Setup};
use backend::WebhookEvent;
use domain::account::Role;
use domain::allocation::AllocationKind;
use domain::organizer::Action;
use domain::organizer::payouts::PayoutForm;
use domain::organizer::sales::EventFields;
use domain::refund::RefundStatus;
use domain::venue::{generate, pretix};
use domain::{Code, ImportId, Money, OrderId, PayoutId, RefundId, SeatNo};
use lines::{BY_LINK, LINES, Line, Others, PAGES, ROUTES};
use std::collections::BTreeSet;
use std::path::Path;

/// What is posted, as a table.
const MONEY_TABLE: &str = "/api/organizer-money-table/postings.csv?period=all";
/// Documents, as a table.
const INVOICES: &str = "/api/organizer-invoices";

/// The things of one organization, by the names that the table uses for them.
struct Things {
    event: String,
    draft: String,
    performance: String,
    plan: String,
    import: String,
    order: String,
    account: String,
    allocation: String,
    code: String,
    difference: String,
    endpoint: String,
    /// An order that was paid.
    bought: String,
    /// A refund of it that waits for a decision.
    refund: String,
    /// The number of a dispute about it that was set aside.
    aside: String,
    /// A payout of a part of its money.
    payout: String,
}

impl Things {
    async fn new(arena: &Arena, owner: &Fan) -> Self {
        let fields = EventFields {
            title: "Evening".to_owned(),
            artist: "Nobody".to_owned(),
            description: "Text".to_owned(),
            ..EventFields::default()
        };
        let acting = arena.backend.command_line(ORGANIZATION).await.unwrap();
        let event = arena.backend.save_event_for(&acting, None, fields).await.unwrap().to_string();
        let draft: String = arena.call(Some(owner), "organizer-draft-new", &[("event", &event)]).await.ok();
        let plan: uuid::Uuid = sqlx::query_scalar("select plan_id from performances where id = $1")
            .bind(arena.performance.0)
            .fetch_one(&arena.pg)
            .await
            .unwrap();
        let file = pretix::export(&generate::arena(generate::MIN_ARENA_SEATS, "Hall"));
        let fan = arena.one_inside().await;
        let order = arena.held(&fan, "1").await.order.to_string();
        arena.await_status(order.parse().unwrap(), "pending_payment").await;
        let keep = arena.backend.create_allocation_for(
            &acting,
            arena.performance,
            ("Club", AllocationKind::Channel),
            [SeatNo(40), SeatNo(41)].into_iter().collect(),
            None,
        );
        let allocation = keep.await.unwrap();
        arena.backend.add_code_for(&acting, arena.performance, allocation, None).await.unwrap();
        let code: uuid::Uuid = sqlx::query_scalar("select id from allocation_codes where allocation_id = $1")
            .bind(allocation.0)
            .fetch_one(&arena.pg)
            .await
            .unwrap();
        let difference: uuid::Uuid = sqlx::query_scalar(
            "insert into differences (id, provider, key, kind, owner, repair, evidence, day_ms, first_seen_ms, last_seen_ms, organization_id)
             select gen_random_uuid(), 'sandbox', 'amount_differs:charge:pay_x', 'amount_differs', 'finance', 'ask_staff',
                '{\"ours\": null, \"theirs\": []}', 0, 0, 0, organization_id from events where id = $1 returning id",
        )
        .bind(uuid::Uuid::parse_str(&event).unwrap())
        .fetch_one(&arena.pg)
        .await
        .unwrap();
        // What it is told of does not happen here.
        let told = [WebhookEvent::RefundSucceeded];
        let endpoint = arena.backend.add_webhook(&acting, "https://hooks.example.org/", &told).await.unwrap().id;
        let (bought, refund) = waiting_refund(arena, owner).await;
        Self {
            bought: bought.to_string(),
            refund: refund.to_string(),
            aside: set_aside(arena, bought).await.to_string(),
            payout: paid_out(arena, owner).await.to_string(),
            difference: difference.to_string(),
            endpoint: endpoint.to_string(),
            allocation: allocation.to_string(),
            code: code.to_string(),
            event,
            draft,
            performance: arena.performance.to_string(),
            plan: plan.to_string(),
            import: uploaded(arena, owner, "hall.json", file.as_bytes()).await,
            order,
            account: arena.member(Role::Risk).await.account.to_string(),
        }
    }

    fn fill(&self, text: &str) -> String {
        let names = [
            ("{event}", &self.event),
            ("{draft}", &self.draft),
            ("{performance}", &self.performance),
            ("{plan}", &self.plan),
            ("{import}", &self.import),
            ("{order}", &self.order),
            ("{account}", &self.account),
            ("{allocation}", &self.allocation),
            ("{code}", &self.code),
            ("{difference}", &self.difference),
            ("{endpoint}", &self.endpoint),
            ("{bought}", &self.bought),
            ("{refund}", &self.refund),
            ("{aside}", &self.aside),
            ("{payout}", &self.payout),
        ];
        names.into_iter().fold(text.to_owned(), |text, (name, id)| text.replace(name, id))
    }

    async fn call(&self, arena: &Arena, who: Option<&Fan>, line: &Line) -> Reply {
        let form: Vec<(&str, String)> = line.1.iter().map(|(name, value)| (*name, self.fill(value))).collect();
        let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
        arena.call(who, line.0, &form).await
    }
}

/// An order with tickets, and a refund of one of its seats that the owner asked for and nobody decided.
async fn waiting_refund(arena: &Arena, owner: &Fan) -> (OrderId, RefundId) {
    let buyer = arena.one_inside().await;
    let held = arena.held(&buyer, "2,3").await;
    arena.buy(&buyer, held.order).await;
    let asked = arena.backend.staff_refund(&owner.session, held.order, &[SeatNo(2)], "a kindness").await.unwrap();
    assert_eq!(asked.status, RefundStatus::Requested);
    (held.order, asked.id)
}

/// A payout of the least of what is owed.
async fn paid_out(arena: &Arena, owner: &Fan) -> PayoutId {
    let owed = arena.backend.payout_desk(&owner.session, None).await.unwrap().owed[0];
    let form = PayoutForm {
        amount: Money::new(1, owed.currency).decimal(),
        currency: owed.currency.code().to_owned(),
        day: "2026-01-31".to_owned(),
        reference: "RF18 0001".to_owned(),
    };
    arena.backend.record_payout(&owner.session, &form).await.unwrap()
}

/// What the provider's two words about a dispute of an order would leave behind.
async fn set_aside(arena: &Arena, order: OrderId) -> i64 {
    sqlx::query_scalar(
        "insert into payment_quarantine (provider, provider_ref, reason, evidence, created_ms)
         select provider, 'dp_x', 'a dispute with two ends',
            jsonb_build_object('dispute', 'dp_x', 'attempt', id::text), created_ms
         from attempts where order_id = $1 returning id",
    )
    .bind(order.0)
    .fetch_one(&arena.pg)
    .await
    .unwrap()
}

/// Names of all endpoints in the sources that begin as organizers' do.
fn endpoints() -> BTreeSet<String> {
    fn walk(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            for (at, start) in
                text.match_indices("endpoint = \"organizer-").chain(text.match_indices("\"/api/organizer-"))
            {
                let rest = &text[at + start.find("organizer-").unwrap()..];
                let name = rest.split(['"', '?', '/']).next().unwrap();
                // The export names its plan in the path.
                if name != "organizer-plan-export" {
                    found.insert(name.to_owned());
                }
            }
        }
    }
    let mut found = BTreeSet::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    walk(&root.join("app/src"), &mut found);
    walk(&root.join("server/src/http"), &mut found);
    found
}

#[test]
fn every_endpoint_of_organizers_is_in_the_table() {
    let known: BTreeSet<String> =
        LINES.iter().map(|line| line.0).chain(BY_LINK).chain(ROUTES).map(str::to_owned).collect();
    let found = endpoints();
    assert!(found.len() > 30, "the sources were read");
    assert_eq!(found.difference(&known).collect::<Vec<_>>(), Vec::<&String>::new(), "without a line in the table");
    assert_eq!(known.difference(&found).collect::<Vec<_>>(), Vec::<&String>::new(), "gone from the sources");
}

#[test]
fn every_page_of_organizers_is_in_the_table() {
    let source = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../app/src/lib.rs")).unwrap();
    let routes: BTreeSet<String> = source
        .split("path!(\"/organizer")
        .skip(1)
        .map(|rest| format!("/organizer{}", rest.split('"').next().unwrap()))
        // It is opened by the secret of a link.
        .filter(|route| route != "/organizer/join")
        .collect();
    assert!(routes.len() > 10, "the sources were read");
    let shape = |page: &str| -> String {
        let part = |part: &str| if part.starts_with('{') { ":id".to_owned() } else { part.to_owned() };
        page.split('/').map(part).collect::<Vec<_>>().join("/")
    };
    let tried: BTreeSet<String> = PAGES.iter().map(|(page, ..)| shape(page)).collect();
    assert_eq!(routes, tried);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_endpoint_serves_its_roles_alone() {
    let arena = Arena::web(Setup::default()).await;
    let owner = arena.member(Role::Owner).await;
    let things = Things::new(&arena, &owner).await;
    let other = arena.member_of("Other Promoter", Role::Owner).await;
    let fan = arena.fans(1).await.remove(0);
    let mut roles = Vec::new();
    // Owners last: what they end, the others have tried.
    for role in Role::ALL.iter().rev() {
        roles.push((*role, arena.member(*role).await));
    }
    for line in LINES {
        let (name, action, others) = (line.0, line.2, line.3);
        assert_eq!(things.call(&arena, None, line).await.code(), Code::SignInRequired, "{name}, a stranger");
        assert_eq!(things.call(&arena, Some(&fan), line).await.code(), Code::NotFound, "{name}, a fan");
        let reply = things.call(&arena, Some(&other), line).await;
        match others {
            Others::NotFound => {
                assert_eq!(reply.code(), Code::NotFound, "{name}, another organization: {}", reply.body)
            }
            Others::Own => {
                assert!(reply.status < 500 && reply.status != 404, "{name}: {} {}", reply.status, reply.body)
            }
        }
        for (role, person) in roles.iter().filter(|(role, _)| !role.may(action)) {
            assert_eq!(things.call(&arena, Some(person), line).await.code(), Code::Forbidden, "{name}, {role:?}");
        }
        for (index, (role, person)) in roles.iter().filter(|(role, _)| role.may(action)).enumerate() {
            let reply = things.call(&arena, Some(person), line).await;
            // What the first of them discarded, removed or revoked is gone for the next.
            let gone = index > 0
                && reply.status == 404
                && ["discard", "remove", "revoke"].iter().any(|end| name.ends_with(end));
            assert!(
                gone || (reply.status < 500 && ![401, 403, 404].contains(&reply.status)),
                "{name}, {role:?}: {} {}",
                reply.status,
                reply.body
            );
        }
    }
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_and_file_serves_its_roles_alone() {
    let arena = Arena::web(Setup::default()).await;
    let owner = arena.member(Role::Owner).await;
    let things = Things::new(&arena, &owner).await;
    let other = arena.member_of("Other Promoter", Role::Owner).await;
    let fan = arena.fans(1).await.remove(0);
    let mut roles = Vec::new();
    for role in Role::ALL {
        roles.push((*role, arena.member(*role).await));
    }
    for (page, action, others) in PAGES {
        let path = things.fill(page);
        assert_eq!(arena.open(None, &path).await.status, 401, "{page}, a stranger");
        assert_eq!(arena.open(Some(&fan), &path).await.status, 404, "{page}, a fan");
        let expected = if *others == Others::Own { 200 } else { 404 };
        assert_eq!(arena.open(Some(&other), &path).await.status, expected, "{page}, another organization");
        for (role, person) in &roles {
            let expected = if role.may(*action) { 200 } else { 403 };
            assert_eq!(arena.open(Some(person), &path).await.status, expected, "{page}, {role:?}");
        }
    }
    files(&arena, &things, &roles, &other, &fan).await;
    arena.finish().await;
}

/// Uploads and downloads, which are no server functions.
async fn files(arena: &Arena, things: &Things, roles: &[(Role, Fan)], other: &Fan, fan: &Fan) {
    let picture = things.fill("/api/organizer-picture-upload?event={event}");
    let remove = things.fill("/api/organizer-picture-remove?event={event}");
    let export = things.fill("/api/organizer-plan-export/{plan}.csv");
    let put = async |who: Option<&Fan>, path: &str| {
        send(arena, who, path, "application/json", form("file", "a.csv", b"section,row,seat\nA,1,1\n")).await
    };
    for (who, status) in [(None, 401), (Some(fan), 404)] {
        for path in ["/api/organizer-plan-upload", &picture, &remove] {
            assert_eq!(put(who, path).await.status, status, "{path}");
        }
        for path in [export.as_str(), MONEY_TABLE, INVOICES] {
            assert_eq!(arena.open(who, path).await.status, status, "{path}");
        }
    }
    for path in [&picture, &remove] {
        assert_eq!(put(Some(other), path).await.code(), Code::NotFound, "{path}, another organization");
    }
    assert_eq!(arena.open(Some(other), &export).await.status, 404);
    for path in [MONEY_TABLE, INVOICES] {
        let table = arena.open(Some(other), path).await;
        assert_eq!((table.status, table.body.lines().count()), (200, 1), "{path}: another organization has its own");
    }
    for (role, person) in roles {
        let plans = put(Some(person), "/api/organizer-plan-upload").await;
        assert_eq!(plans.status, if role.may(Action::EditPlans) { 200 } else { 403 }, "{role:?}: {}", plans.body);
        if role.may(Action::EditPlans) {
            assert!(
                serde_json::from_str::<serde_json::Value>(&plans.body).unwrap()["id"]
                    .as_str()
                    .unwrap()
                    .parse::<ImportId>()
                    .is_ok()
            );
        }
        let pictures = put(Some(person), &picture).await;
        let expected = if role.may(Action::EditEvents) { Code::InvalidInput } else { Code::Forbidden };
        assert_eq!(pictures.code(), expected, "{role:?}: a table is no picture");
        let expected = if role.may(Action::ReadPlans) { 200 } else { 403 };
        assert_eq!(arena.open(Some(person), &export).await.status, expected, "{role:?}");
        let expected = if role.may(Action::ReadMoney) { 200 } else { 403 };
        for path in [MONEY_TABLE, INVOICES] {
            assert_eq!(arena.open(Some(person), path).await.status, expected, "{path}, {role:?}");
        }
    }
}
