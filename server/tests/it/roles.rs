//! Every endpoint and every page of organizers, tried by everybody: strangers, fans, each role, and
//! the owner of another organization. A new endpoint without a line here fails the first test.

use crate::arena::upload::{form, send, uploaded};
use crate::arena::{Arena, Fan, ORGANIZATION, Reply, Setup};
use backend::WebhookEvent;
use domain::account::Role;
use domain::allocation::AllocationKind;
use domain::organizer::Action;
use domain::organizer::sales::EventFields;
use domain::venue::{generate, pretix};
use domain::{Code, ImportId, SeatNo};
use std::collections::BTreeSet;
use std::path::Path;

/// What another organization's owner meets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Others {
    /// The thing is not there for them.
    NotFound,
    /// There is no thing: they act for their own organization.
    Own,
}

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
}

/// Endpoint, form, what it needs, what others meet. `{event}` and the like stand for ids. Versions are
/// of the past, so that whoever may try changes little.
type Line = (&'static str, &'static [(&'static str, &'static str)], Action, Others);

const LINES: &[Line] = {
    use Action::{
        DecideMoney, EditEvents, EditMembers, EditPlans, EditTerms, ReadAudit, ReadDesk, ReadEvents, ReadMoney,
        ReadOrders, ReadPlans, RunSale,
    };
    use Others::{NotFound, Own};
    &[
        ("organizer-desk", &[], ReadEvents, Own),
        ("organizer-events", &[], ReadEvents, Own),
        ("organizer-event", &[("id", "{event}")], ReadEvents, NotFound),
        (
            "organizer-event-save",
            &[
                ("id", "{event}"),
                ("fields[title]", "Evening"),
                ("fields[artist]", "Nobody"),
                ("fields[description]", "Text"),
            ],
            EditEvents,
            NotFound,
        ),
        ("organizer-draft-new", &[("event", "{event}")], EditEvents, NotFound),
        ("organizer-draft", &[("id", "{draft}")], ReadEvents, NotFound),
        (
            "organizer-draft-save",
            &[
                ("id", "{draft}"),
                ("version", "999"),
                ("form[plan]", "{plan}"),
                ("form[starts]", ""),
                ("form[opens]", ""),
                ("form[closes]", ""),
                ("form[seat_limit]", "4"),
                ("form[hold_ttl_min]", "2"),
                ("form[shoppers_max]", "1"),
                ("form[release_per_min]", "1"),
                ("form[currency]", "EUR"),
            ],
            EditEvents,
            NotFound,
        ),
        ("organizer-draft-delete", &[("id", "{draft}"), ("version", "999")], EditEvents, NotFound),
        ("organizer-draft-publish", &[("id", "{draft}"), ("version", "999")], EditEvents, NotFound),
        ("organizer-readiness", &[("id", "{performance}")], ReadEvents, NotFound),
        ("organizer-names", &[("id", "{performance}")], ReadEvents, NotFound),
        ("organizer-names-set", &[("id", "{performance}"), ("from", ""), ("hours", "")], EditEvents, NotFound),
        ("organizer-prices", &[("id", "{performance}")], ReadEvents, NotFound),
        ("organizer-prices-set", &[("id", "{draft}"), ("version", "999"), ("prices[0]", "10")], EditEvents, NotFound),
        ("organizer-prices-preview", &[("id", "{performance}"), ("prices[0]", "10")], EditEvents, NotFound),
        (
            "organizer-prices-change",
            &[("id", "{performance}"), ("version", "999"), ("prices[0]", "10")],
            EditEvents,
            NotFound,
        ),
        (
            "organizer-seats-change",
            &[
                ("id", "{draft}"),
                ("version", "999"),
                ("form[step]", "block"),
                ("form[picked]", "1"),
                ("form[reason]", "camera"),
            ],
            EditEvents,
            NotFound,
        ),
        (
            "organizer-zone-rename",
            &[("id", "{draft}"), ("version", "999"), ("zone", "0"), ("name", "Gold")],
            EditEvents,
            NotFound,
        ),
        ("organizer-zone-remove", &[("id", "{draft}"), ("version", "999"), ("zone", "0")], EditEvents, NotFound),
        ("organizer-plan-choices", &[("id", "{performance}")], ReadEvents, NotFound),
        // The plan in use: nothing changes.
        ("organizer-plan-preview", &[("id", "{performance}"), ("plan", "{plan}")], EditEvents, NotFound),
        (
            "organizer-plan-replace",
            &[("id", "{performance}"), ("from", "{plan}"), ("plan", "{plan}")],
            EditEvents,
            NotFound,
        ),
        ("organizer-allocations", &[("id", "{performance}")], ReadEvents, NotFound),
        (
            "organizer-allocation-create",
            &[("id", "{performance}"), ("form[name]", "Friends"), ("form[kind]", "house"), ("form[picked]", "50")],
            EditEvents,
            NotFound,
        ),
        (
            "organizer-allocation-edit",
            &[
                ("id", "{performance}"),
                ("allocation", "{allocation}"),
                ("version", "999"),
                ("name", "Club"),
                ("release", ""),
            ],
            EditEvents,
            NotFound,
        ),
        (
            "organizer-allocation-seats",
            &[
                ("id", "{performance}"),
                ("allocation", "{allocation}"),
                ("step", "add"),
                ("picked", "42"),
                ("typed", ""),
            ],
            EditEvents,
            NotFound,
        ),
        (
            "organizer-allocation-code-add",
            &[("id", "{performance}"), ("allocation", "{allocation}"), ("form[code]", "OPEN SESAME")],
            EditEvents,
            NotFound,
        ),
        ("organizer-allocation-code-revoke", &[("id", "{performance}"), ("code", "{code}")], EditEvents, NotFound),
        (
            "organizer-allocation-grant",
            &[("id", "{performance}"), ("allocation", "{allocation}"), ("email", "nobody@mail.example")],
            EditEvents,
            NotFound,
        ),
        // After all others: nobody can change it any more.
        (
            "organizer-allocation-release",
            &[("id", "{performance}"), ("allocation", "{allocation}"), ("sure", "true")],
            EditEvents,
            NotFound,
        ),
        ("organizer-plans", &[], ReadPlans, Own),
        ("organizer-plan", &[("id", "{plan}")], ReadPlans, NotFound),
        ("organizer-import", &[("id", "{import}"), ("filter", "all"), ("page", "1")], ReadPlans, NotFound),
        ("organizer-import-recheck", &[("id", "{import}"), ("version", "999")], EditPlans, NotFound),
        (
            "organizer-import-accept",
            &[
                ("id", "{import}"),
                ("version", "999"),
                ("venue", "Hall"),
                ("city", "Berlin"),
                ("time_zone", "Europe/Berlin"),
            ],
            EditPlans,
            NotFound,
        ),
        ("organizer-import-discard", &[("id", "{import}")], EditPlans, NotFound),
        ("organizer-settings", &[], Action::EditSettings, Own),
        ("organizer-provider-choose", &[("name", "sandbox")], Action::EditSettings, Own),
        (
            "organizer-webhook-add",
            &[("url", "https://hooks.example.org/"), ("kinds[0]", "refund.succeeded")],
            Action::EditSettings,
            Own,
        ),
        ("organizer-webhook", &[("id", "{endpoint}")], Action::EditSettings, NotFound),
        ("organizer-webhook-enable", &[("id", "{endpoint}")], Action::EditSettings, NotFound),
        ("organizer-webhook-rotate", &[("id", "{endpoint}")], Action::EditSettings, NotFound),
        ("organizer-webhook-redeliver", &[("id", "{endpoint}")], Action::EditSettings, NotFound),
        ("organizer-webhook-remove", &[("id", "{endpoint}")], Action::EditSettings, NotFound),
        ("organizer-sale-desk", &[("performance", "{performance}")], ReadDesk, NotFound),
        ("organizer-sale-series", &[("performance", "{performance}"), ("language", "en")], ReadDesk, NotFound),
        ("organizer-sale-open", &[("performance", "{performance}")], RunSale, NotFound),
        ("organizer-sale-pause", &[("performance", "{performance}")], RunSale, NotFound),
        ("organizer-sale-resume", &[("performance", "{performance}")], RunSale, NotFound),
        ("organizer-sale-rate", &[("performance", "{performance}"), ("from", "7"), ("to", "8")], RunSale, NotFound),
        ("organizer-sale-maximum", &[("performance", "{performance}"), ("from", "7"), ("to", "8")], RunSale, NotFound),
        ("organizer-orders", &[("text", "")], ReadOrders, Own),
        ("organizer-order", &[("id", "{order}")], ReadOrders, NotFound),
        ("organizer-members", &[], EditMembers, Own),
        ("organizer-member-invite", &[("email", "new@mail.example"), ("role", "door")], EditMembers, Own),
        ("organizer-invitation-revoke", &[("email", "new@mail.example")], EditMembers, Own),
        (
            "organizer-member-role",
            &[("account", "{account}"), ("from", "risk"), ("role", "risk")],
            EditMembers,
            NotFound,
        ),
        ("organizer-member-remove", &[("account", "{account}"), ("role", "finance")], EditMembers, NotFound),
        ("organizer-fees", &[], EditTerms, Own),
        ("organizer-fees-save", &[("version", "999"), ("form[currency]", "EUR")], EditTerms, Own),
        ("organizer-audit", &[], ReadAudit, Own),
        ("organizer-money", &[("period", "month")], ReadMoney, Own),
        ("organizer-reconciliation", &[], ReadMoney, Own),
        ("organizer-difference-settle", &[("id", "{difference}"), ("note", "seen")], DecideMoney, NotFound),
        ("organizer-difference-repair", &[("id", "{difference}")], DecideMoney, NotFound),
        // The last, because it ends the sale.
        ("organizer-sale-close", &[("performance", "{performance}")], RunSale, NotFound),
    ]
};

/// Endpoints that a link's secret opens, not a role.
const BY_LINK: [&str; 2] = ["organizer-invitation", "organizer-join"];
/// Routes beside the server functions, which have tests of their own below.
const ROUTES: [&str; 4] =
    ["organizer-plan-upload", "organizer-picture-upload", "organizer-picture-remove", "organizer-money-table"];

/// Pages, and what they need.
const PAGES: &[(&str, Action, Others)] = &[
    ("/organizer", Action::ReadEvents, Others::Own),
    ("/organizer/events/{event}", Action::ReadEvents, Others::NotFound),
    ("/organizer/performances/{draft}", Action::ReadEvents, Others::NotFound),
    ("/organizer/performances/{performance}", Action::ReadEvents, Others::NotFound),
    ("/organizer/performances/{draft}/prices", Action::ReadEvents, Others::NotFound),
    ("/organizer/performances/{performance}/prices", Action::ReadEvents, Others::NotFound),
    ("/organizer/performances/{performance}/allocations", Action::ReadEvents, Others::NotFound),
    ("/organizer/performances/{performance}/plan", Action::EditEvents, Others::NotFound),
    ("/organizer/performances/{performance}/desk", Action::ReadDesk, Others::NotFound),
    ("/organizer/plans", Action::ReadPlans, Others::Own),
    ("/organizer/settings", Action::EditSettings, Others::Own),
    ("/organizer/settings/webhooks/{endpoint}", Action::EditSettings, Others::NotFound),
    ("/organizer/plans/{plan}", Action::ReadPlans, Others::NotFound),
    ("/organizer/imports/{import}", Action::ReadPlans, Others::NotFound),
    ("/organizer/orders", Action::ReadOrders, Others::Own),
    ("/organizer/orders/{order}", Action::ReadOrders, Others::NotFound),
    ("/organizer/members", Action::EditMembers, Others::Own),
    ("/organizer/settings/fees", Action::EditTerms, Others::Own),
    ("/organizer/audit", Action::ReadAudit, Others::Own),
    ("/organizer/money", Action::ReadMoney, Others::Own),
    ("/organizer/money/reconciliation", Action::ReadMoney, Others::Own),
];

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
        Self {
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
        ];
        names.into_iter().fold(text.to_owned(), |text, (name, id)| text.replace(name, id))
    }

    async fn call(&self, arena: &Arena, who: Option<&Fan>, line: &Line) -> Reply {
        let form: Vec<(&str, String)> = line.1.iter().map(|(name, value)| (*name, self.fill(value))).collect();
        let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
        arena.call(who, line.0, &form).await
    }
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
        assert_eq!(arena.open(who, &export).await.status, status);
    }
    for path in [&picture, &remove] {
        assert_eq!(put(Some(other), path).await.code(), Code::NotFound, "{path}, another organization");
    }
    assert_eq!(arena.open(Some(other), &export).await.status, 404);
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
    }
}
