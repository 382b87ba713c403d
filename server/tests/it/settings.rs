//! The owners' settings: which provider takes payments, and which systems are told of events, with secrets that
//! are shown once.

use crate::arena::{Arena, Fan, Reply, SOON, Setup};
use crate::deliveries::receiver::{ANSWER, Receiver};
use crate::deliveries::{close_one, with_loopback};
use domain::account::Role;
use domain::organizer::members::AuditPage;
use domain::organizer::settings::{DeliveryState, EndpointPage, EndpointSecret, SettingsView, WebhookList};
use domain::{Code, EndpointId};
use reqwest::Method;

const PUBLIC: &str = "https://hooks.example.org/stararena";
const SETTINGS: &str = "/organizer/settings";
/// What hands a secret to the page after a form.
const ONCE: &str = "sa-once";
const FEES: &str = "/organizer/settings/fees";
/// What hands a refused form to its page.
const TYPED: &str = "sa-typed";

async fn settings(arena: &Arena, owner: &Fan) -> SettingsView {
    arena.call(Some(owner), "organizer-settings", &[]).await.ok()
}

async fn endpoints(arena: &Arena, owner: &Fan) -> WebhookList {
    settings(arena, owner).await.webhooks
}

async fn add(arena: &Arena, owner: &Fan, url: &str, kinds: &[&str]) -> Reply {
    let mut form = vec![("url", url)];
    form.extend(kinds.iter().map(|kind| ("kinds[]", *kind)));
    arena.call(Some(owner), "organizer-webhook-add", &form).await
}

async fn page(arena: &Arena, owner: &Fan, id: EndpointId, delivery: Option<i64>) -> EndpointPage {
    let (id, delivery) = (id.to_string(), delivery.map(|number| number.to_string()));
    let mut form = vec![("id", id.as_str())];
    form.extend(delivery.iter().map(|number| ("delivery", number.as_str())));
    arena.call(Some(owner), "organizer-webhook", &form).await.ok()
}

async fn act(arena: &Arena, owner: &Fan, what: &str, id: EndpointId) -> Reply {
    arena.call(Some(owner), &format!("organizer-webhook-{what}"), &[("id", &id.to_string())]).await
}

async fn redeliver(arena: &Arena, owner: &Fan, id: EndpointId, delivery: i64) -> Reply {
    let form = [("id", &*id.to_string()), ("delivery", &*delivery.to_string())];
    arena.call(Some(owner), "organizer-webhook-redeliver", &form).await
}

/// Sends a form as a browser without JavaScript does: where it is led to, and the answer.
async fn send(arena: &Arena, owner: &Fan, function: &str, from: &str, form: &[(&str, &str)]) -> (String, Reply) {
    let request = arena
        .plain_request(Method::POST, &format!("/api/{function}"))
        .header("origin", &arena.origin)
        .header("accept", "text/html")
        .header("referer", format!("{}{from}", arena.origin))
        .header("cookie", &owner.cookie)
        .form(form);
    let reply = arena.send(request).await;
    assert_eq!(reply.status, 302, "{}", reply.body);
    (reply.header("location").replace(&arena.origin, ""), reply)
}

/// Opens a page with one more cookie.
async fn open_with(arena: &Arena, fan: &Fan, path: &str, cookie: &str) -> Reply {
    let request = arena.plain_request(Method::GET, path).header("accept", "text/html");
    arena.send(request.header("cookie", format!("{}; {cookie}", fan.cookie))).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn owners_choose_among_the_providers_that_are_configured_here() {
    let mut setup = Setup::default();
    setup.settings.push(("STARARENA_STRIPE_API_KEY", "sk_test_nobody".to_owned()));
    setup.settings.push(("STARARENA_STRIPE_WEBHOOK_SECRETS", "whsec_nobody".to_owned()));
    setup.settings.push(("STARARENA_STRIPE_URL", "https://127.0.0.1:9".to_owned()));
    let arena = Arena::web(setup).await;
    let owner = arena.member(Role::Owner).await;
    let choice = settings(&arena, &owner).await.provider;
    assert_eq!(
        (choice.current.as_str(), choice.all.as_slice()),
        ("sandbox", &["sandbox", "stripe"].map(str::to_owned)[..])
    );
    assert!(choice.is_configured());

    let choose =
        async |who: &Fan, name: &str| arena.call(Some(who), "organizer-provider-choose", &[("name", name)]).await;
    for role in [Role::Operator, Role::Finance, Role::Risk, Role::Door] {
        let member = arena.member(role).await;
        assert_eq!(choose(&member, "stripe").await.code(), Code::Forbidden, "{role:?}");
        assert_eq!(arena.call(Some(&member), "organizer-settings", &[]).await.code(), Code::Forbidden, "{role:?}");
        let barred = arena.open(Some(&member), SETTINGS).await;
        assert!(barred.status == 403 && barred.body.contains("data-testid=\"barred\""), "{role:?}: {}", barred.status);
    }
    let fan = arena.fans(1).await.remove(0);
    assert_eq!(choose(&fan, "stripe").await.code(), Code::NotFound);
    assert_eq!(arena.open(Some(&fan), SETTINGS).await.status, 404);

    let refused = choose(&owner, "paypal").await.refusal();
    assert_eq!(refused.code, Code::InvalidInput);
    assert!(refused.message.contains("`paypal`") && refused.message.contains("sandbox, stripe"), "{}", refused.message);
    assert_eq!(settings(&arena, &owner).await.provider.current, "sandbox", "nothing has changed");
    let () = choose(&owner, "stripe").await.ok();
    assert_eq!(settings(&arena, &owner).await.provider.current, "stripe");
    let other = arena.member_of("Other Promoter", Role::Owner).await;
    assert_eq!(settings(&arena, &other).await.provider.current, "sandbox", "another organization has its own");
    let log: AuditPage = arena.call(Some(&owner), "organizer-audit", &[("action", "organization.provider")]).await.ok();
    assert_eq!(log.rows.len(), 1);
    assert!(log.rows[0].detail.contains(&("provider".to_owned(), "stripe".to_owned())), "{:?}", log.rows[0]);

    // As a form, and the one that nobody set up any more.
    let (target, _) = send(&arena, &owner, "organizer-provider-choose", SETTINGS, &[("name", "sandbox")]).await;
    let chosen = arena.open(Some(&owner), &target).await;
    assert!(chosen.body.contains("data-testid=\"chosen\""), "{target}");
    assert!(!chosen.body.contains("data-testid=\"provider-missing\""));
    let (target, _) = send(&arena, &owner, "organizer-provider-choose", SETTINGS, &[("name", "paypal")]).await;
    let refused = arena.open(Some(&owner), &target).await.body;
    assert!(refused.contains("data-testid=\"refusal\"") && refused.contains("paypal"), "{target}");
    sqlx::query("update organizations set provider = 'paypal'").execute(&arena.pg).await.unwrap();
    assert!(!settings(&arena, &owner).await.provider.is_configured());
    let missing = arena.open(Some(&owner), SETTINGS).await.body;
    assert!(missing.contains("data-testid=\"provider-missing\"") && missing.contains("paypal"));
    sqlx::query("update organizations set provider = 'sandbox'").execute(&arena.pg).await.unwrap();
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_is_added_and_removed_and_what_can_not_be_told_is_refused() {
    let arena = Arena::web(Setup::default()).await;
    let owner = arena.member(Role::Owner).await;
    let known = endpoints(&arena, &owner).await;
    assert!(known.endpoints.is_empty() && known.kinds.iter().any(|kind| kind == "order.paid"), "{known:?}");
    let bad: [(&str, &[&str], &str); 6] = [
        ("http://hooks.example.org/", &["order.paid"], "url: "),
        ("https://10.0.0.1/", &["order.paid"], "url: "),
        ("https://ana:secret@hooks.example.org/", &["order.paid"], "url: "),
        ("nowhere", &["order.paid"], "url: "),
        (PUBLIC, &[], "events: "),
        (PUBLIC, &["order.eaten"], "events: "),
    ];
    for (url, kinds, field) in bad {
        let refused = add(&arena, &owner, url, kinds).await.refusal();
        assert_eq!(refused.code, Code::InvalidInput, "{url} {kinds:?}");
        assert!(refused.message.starts_with(field), "{url} {kinds:?}: {}", refused.message);
    }
    let form = [("url", "https://10.0.0.1/"), ("kinds[]", "order.paid")];
    let (target, _) = send(&arena, &owner, "organizer-webhook-add", SETTINGS, &form).await;
    let told = arena.open(Some(&owner), &target).await.body;
    assert!(told.contains("10.0.0.1 is not a public address"), "the form says why: {target}");

    let reply = add(&arena, &owner, PUBLIC, &["order.paid", "ticket.issued", "order.paid"]).await;
    let made: EndpointSecret = reply.ok();
    assert!(
        made.secret.starts_with("whsec_") && reply.cookie(ONCE).is_none(),
        "the answer carries it: {:?}",
        reply.headers
    );
    let list = endpoints(&arena, &owner).await.endpoints;
    assert_eq!(list.len(), 1);
    let one = &list[0];
    assert_eq!((one.id, one.url.as_str(), one.enabled, one.waiting), (made.endpoint, PUBLIC, true, 0));
    assert_eq!(one.kinds, ["order.paid", "ticket.issued"]);
    assert!(one.last.is_none() && one.failing_since.is_none() && one.reason.is_none());
    assert_eq!(act(&arena, &owner, "enable", made.endpoint).await.code(), Code::WrongState, "it is on already");

    let other = arena.member_of("Other Promoter", Role::Owner).await;
    for what in ["enable", "rotate", "redeliver", "remove"] {
        assert_eq!(act(&arena, &other, what, made.endpoint).await.code(), Code::NotFound, "{what}, another's");
    }
    for number in 1..10 {
        let _: EndpointSecret = add(&arena, &owner, &format!("{PUBLIC}/{number}"), &["order.paid"]).await.ok();
    }
    assert_eq!(add(&arena, &owner, PUBLIC, &["order.paid"]).await.code(), Code::LimitExceeded);

    let () = act(&arena, &owner, "remove", made.endpoint).await.ok();
    assert_eq!(endpoints(&arena, &owner).await.endpoints.len(), 9);
    for what in ["remove", "rotate", "enable"] {
        assert_eq!(act(&arena, &owner, what, made.endpoint).await.code(), Code::NotFound, "{what}, gone");
    }
    let gone = arena.open(Some(&owner), &format!("{SETTINGS}/webhooks/{}", made.endpoint)).await;
    assert_eq!(gone.status, 404);
    assert_eq!(arena.open(Some(&owner), &format!("{SETTINGS}/webhooks/none")).await.status, 404);
    let logged = "select count(*) from audit_log where action in ('webhook.add', 'webhook.remove')";
    assert_eq!(arena.count(logged).await, 11, "ten were added, one removed");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_shows_a_secret_once_to_its_owner_and_leaves_it_in_no_address() {
    let arena = Arena::web(Setup::default()).await;
    let owner = arena.member(Role::Owner).await;
    let second = arena.member(Role::Owner).await;
    let form = [("url", PUBLIC), ("kinds[]", "order.paid")];
    let (target, reply) = send(&arena, &owner, "organizer-webhook-add", SETTINGS, &form).await;
    assert_eq!(target, SETTINGS, "the address says nothing");
    let once = reply.cookie(ONCE).expect("the secret goes to the next page");
    let endpoint = endpoints(&arena, &owner).await.endpoints[0].id;
    let secret = once.rsplit_once('.').unwrap().1.to_owned();
    assert!(secret.starts_with("whsec_"), "{once}");

    let foreign = open_with(&arena, &second, &target, &once).await;
    assert!(!foreign.body.contains(&secret), "it is for the one who made it");
    let shown = open_with(&arena, &owner, &target, &once).await;
    assert!(shown.body.contains(&secret) && shown.body.contains("data-testid=\"secret\""));
    assert_eq!(shown.header("cache-control"), "no-store");
    assert_eq!(shown.cookie(ONCE).as_deref(), Some("sa-once="), "and taken away");
    assert!(!arena.open(Some(&owner), &target).await.body.contains("whsec_"), "it is not there a second time");

    let path = format!("{SETTINGS}/webhooks/{endpoint}");
    let id = endpoint.to_string();
    let (target, reply) = send(&arena, &owner, "organizer-webhook-rotate", &path, &[("id", &id)]).await;
    assert_eq!(target, path);
    let fresh = reply.cookie(ONCE).unwrap();
    assert_ne!(fresh, once);
    let renewed = fresh.rsplit_once('.').unwrap().1;
    assert!(open_with(&arena, &owner, &path, &fresh).await.body.contains(renewed));
    let other = endpoints(&arena, &second).await;
    assert_eq!(other.endpoints.len(), 1, "a second owner sees the endpoint, and no secret");
    // Of an endpoint that is not the organization's nothing is shown, whoever planted it.
    let planted = format!("{ONCE}={}.{}.whsec_planted", owner.account, uuid::Uuid::new_v4());
    assert!(!open_with(&arena, &owner, SETTINGS, &planted).await.body.contains("whsec_planted"));

    let (target, _) = send(&arena, &owner, "organizer-webhook-remove", &path, &[("id", &id)]).await;
    assert!(arena.open(Some(&owner), &target).await.body.contains("data-testid=\"removed\""), "{target}");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_refused_form_said_stands_on_its_page_once_and_for_its_account_alone() {
    let arena = Arena::web(Setup::default()).await;
    let owner = arena.member(Role::Owner).await;
    let form = [("version", "0"), ("form[currency]", "ISK"), ("form[order_fixed]", "2.5")];
    let field = "value=\"2.5\"";
    let (target, reply) = send(&arena, &owner, "organizer-fees-save", FEES, &form).await;
    assert!(target.starts_with(&format!("{FEES}?")) && !target.contains("2.5"), "the reason alone: {target}");
    let typed = reply.cookie(TYPED).expect("the form goes to the next page");

    let second = arena.member(Role::Owner).await;
    assert!(!open_with(&arena, &second, &target, &typed).await.body.contains(field), "it is for the one who typed");
    let elsewhere = open_with(&arena, &owner, "/organizer/settings/details", &typed).await;
    assert!(elsewhere.status == 200 && elsewhere.cookie(TYPED).is_none(), "it waits for the page of its form");
    let shown = open_with(&arena, &owner, &target, &typed).await;
    assert!(shown.body.contains(field) && shown.body.contains("data-testid=\"refusal\""));
    assert_eq!(shown.cookie(TYPED).as_deref(), Some("sa-typed="), "and taken away");
    assert!(!arena.open(Some(&owner), &target).await.body.contains(field), "it is not there a second time");

    let reply = arena.call(Some(&owner), "organizer-fees-save", &form).await;
    assert!(reply.cookie(TYPED).is_none(), "a form with JavaScript never left its page");
    assert_eq!(reply.code(), Code::InvalidInput);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deliveries_are_told_with_every_try_and_sent_again() {
    let receiver = Receiver::start().await;
    let arena = Arena::web(with_loopback()).await;
    let owner = arena.member(Role::Owner).await;
    let made: EndpointSecret = add(&arena, &owner, &receiver.url("/"), &["order.closed"]).await.ok();
    let id = made.endpoint;
    assert!(page(&arena, &owner, id, None).await.deliveries.is_empty());
    receiver.answer(500);
    close_one(&arena, &[1]).await;
    eventually!(SOON, "the failure shows", page(&arena, &owner, id, None).await.endpoint.failing_since.is_some());
    let failing = page(&arena, &owner, id, None).await;
    assert_eq!(failing.endpoint.waiting, 1);
    assert_eq!((failing.deliveries.len(), failing.deliveries[0].state), (1, DeliveryState::Waiting));
    assert!(failing.deliveries[0].next_try.is_some() && failing.deliveries[0].error.is_some(), "{failing:?}");
    assert!(failing.opened.is_none());

    receiver.answer(202);
    let last = async || endpoints(&arena, &owner).await.endpoints.remove(0).last;
    eventually!(SOON, "it is tried again", last().await.is_some_and(|last| last.delivered));
    let number = failing.deliveries[0].id;
    let told = page(&arena, &owner, id, Some(number)).await;
    assert_eq!((told.deliveries[0].state, told.endpoint.waiting), (DeliveryState::Delivered, 0));
    let opened = told.opened.unwrap();
    assert_eq!(opened.body, receiver.seen()[0].body, "the very bytes");
    assert_eq!(u32::try_from(opened.tries.len()).unwrap(), told.deliveries[0].tries);
    let statuses: Vec<_> = opened.tries.iter().map(|one| one.status).collect();
    assert_eq!((statuses.first(), statuses.last()), (Some(&Some(500)), Some(&Some(202))));
    assert!(opened.tries.iter().all(|one| one.answer == ANSWER && one.error.is_none()), "{:?}", opened.tries);
    let path = format!("{SETTINGS}/webhooks/{id}?delivery={number}");
    let html = arena.open(Some(&owner), &path).await.body;
    assert!(
        html.contains("data-testid=\"opened\"") && html.contains(&told.deliveries[0].message) && html.contains(ANSWER)
    );

    let other = arena.member_of("Other Promoter", Role::Owner).await;
    assert_eq!(redeliver(&arena, &other, id, number).await.code(), Code::NotFound, "another's");
    assert_eq!(redeliver(&arena, &owner, id, 999_999).await.code(), Code::NotFound);
    assert!(page(&arena, &owner, id, Some(999_999)).await.opened.is_none());
    let seen = receiver.seen().len();
    assert_eq!(redeliver(&arena, &owner, id, number).await.ok::<u64>(), 1);
    eventually!(SOON, "sent once more", receiver.seen().len() == seen + 1);
    assert_eq!(receiver.seen()[seen].id, receiver.seen()[0].id, "under its own id");
    assert_eq!(receiver.seen()[seen].signed_by(&made.secret), Some(0));
    eventually!(SOON, "and noted", page(&arena, &owner, id, None).await.endpoint.waiting == 0);

    // The first one arrived under the first secret; from here both sign.
    let renewed: EndpointSecret = act(&arena, &owner, "rotate", id).await.ok();
    let form = [("id", &*id.to_string()), ("delivery", &*number.to_string())];
    let (target, _) = send(&arena, &owner, "organizer-webhook-redeliver", &path, &form).await;
    let sent = arena.open(Some(&owner), &target).await.body;
    assert!(sent.contains("data-testid=\"sent\"") && sent.contains("data-testid=\"opened\""), "{target}");
    eventually!(SOON, "sent a third time", receiver.seen().len() == seen + 2);
    let both = receiver.seen().remove(seen + 1);
    assert_eq!((both.signed_by(&renewed.secret), both.signed_by(&made.secret)), (Some(0), Some(1)));
    eventually!(SOON, "and noted", page(&arena, &owner, id, None).await.endpoint.waiting == 0);

    sqlx::query("update webhook_endpoints set status = 'disabled', reason = 'it said that it is gone'")
        .execute(&arena.pg)
        .await
        .unwrap();
    let off = arena.open(Some(&owner), &format!("{SETTINGS}/webhooks/{id}")).await.body;
    assert!(off.contains("it said that it is gone") && off.contains("data-testid=\"enable-now\""));
    assert!(!off.contains("data-testid=\"redeliver"), "nothing is sent to it now");
    assert_eq!(redeliver(&arena, &owner, id, number).await.code(), Code::WrongState);
    let () = act(&arena, &owner, "enable", id).await.ok();
    let on = page(&arena, &owner, id, None).await.endpoint;
    assert!(on.enabled && on.reason.is_none());
    arena.finish().await;
}
