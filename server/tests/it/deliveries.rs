//! What leaves the house: mails by a relay and webhooks to organizers' own systems, with relays, systems and
//! workers that fail.

pub(crate) mod receiver;
mod relay;

use crate::arena::{Arena, ORGANIZATION, SOON, Setup, program, run_to_end};
use backend::Client;
use domain::OrderId;
use domain::account::Role;
use receiver::{ANSWER, Receiver, SLOW};
use relay::Relay;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

const DAY_MS: i64 = 24 * 3_600_000;

/// Short bounds, so that their ends are seen within a test.
fn quick() -> Setup {
    let settings = [
        ("STARARENA_SMTP_TIMEOUT_MS", "1000"),
        ("STARARENA_WEBHOOK_TIMEOUT_MS", "1000"),
        ("STARARENA_DELIVERY_LEASE_MS", "2000"),
    ];
    Setup { settings: settings.map(|(name, value)| (name, value.to_owned())).to_vec(), ..Setup::default() }
}

fn with_relay(relay: &Relay) -> Setup {
    let mut setup = quick();
    setup.settings.push(("STARARENA_SMTP_URL", format!("smtp://127.0.0.1:{}?tls=none", relay.port)));
    setup.settings.push(("STARARENA_MAIL_FROM", "StarArena <tickets@stararena.example>".to_owned()));
    setup
}

/// Webhooks may go to this machine.
pub(crate) fn with_loopback() -> Setup {
    let mut setup = quick();
    setup.settings.push(("STARARENA_WEBHOOK_LOOPBACK", "yes".to_owned()));
    setup
}

/// Makes an account, whose confirmation is mailed; answers its address.
async fn sign_up(arena: &Arena, name: &str) -> String {
    let address = format!("{name}@fans.example");
    let client = Client { ip: IpAddr::V4(Ipv4Addr::LOCALHOST) };
    arena.backend.sign_up(&address, "correct horse battery", "en", &client).await.unwrap();
    address
}

/// Runs `stararena webhook …` for the organization of the sale: exit code, standard output, standard error.
async fn webhook(arena: &Arena, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = program(arena.settings());
    command.arg("webhook").args(args).args(["--organization", ORGANIZATION]);
    run_to_end(command).await
}

/// The same where it must succeed: standard output.
async fn webhook_ok(arena: &Arena, args: &[&str]) -> String {
    let (code, out, err) = webhook(arena, args).await;
    assert_eq!(code, Some(0), "{args:?}: {out}{err}");
    out
}

/// Adds an endpoint for some events, or for all: its id and its secret.
async fn add(arena: &Arena, url: &str, events: Option<&str>) -> (String, String) {
    let mut args = vec!["add", "--url", url];
    args.extend(events.iter().flat_map(|events| ["--events", *events]));
    let out = webhook_ok(arena, &args).await;
    let word = |name: &str| out.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned();
    (word("endpoint "), word("secret "))
}

/// An order that was written and then given back: `order.closed`.
pub(crate) async fn close_one(arena: &Arena, seats: &[u32]) -> OrderId {
    let fan = arena.one_inside().await;
    let held = arena.take(&fan, seats, "given-back-soon").await.unwrap();
    arena.await_status(held.order, "pending_payment").await;
    arena.give_back(&fan, held.order).await.unwrap();
    arena.await_status(held.order, "closed").await;
    held.order
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_mail_is_sent_once_and_a_bad_recipient_holds_up_nobody() {
    let relay = Relay::start().await;
    relay.set_moody(true);
    let arena = Arena::bare(with_relay(&relay)).await;
    let hang = sign_up(&arena, "hang").await;
    let never = sign_up(&arena, "never").await;
    let later = sign_up(&arena, "later").await;
    let mut good = Vec::new();
    for number in 0..5 {
        good.push(sign_up(&arena, &format!("good{number}")).await);
    }
    for address in &good {
        eventually!(SOON, format!("{address} has the mail"), relay.taken(address).len() == 1);
    }
    let given_up = "select count(*) from outbox where outcome = 'given_up' and error like '%550%'";
    eventually!(SOON, "what is refused for good is given up", arena.count(given_up).await == 1);
    let waiting = "select count(*) from outbox where done_ms is null and tries > 0 and error is not null";
    eventually!(SOON, "the others are tried again", arena.count(waiting).await == 2);

    relay.set_moody(false);
    for address in [&hang, &later] {
        eventually!(2 * SOON, format!("{address} has the mail"), relay.taken(address).len() == 1);
    }
    let waiting = "select count(*) from outbox where done_ms is null";
    eventually!(SOON, "nothing waits", arena.count(waiting).await == 0);
    assert!(relay.taken(&never).is_empty());
    assert_eq!(relay.count(), good.len() + 2, "each once");
    let mail = relay.taken(&good[0]).remove(0);
    assert_eq!(mail.header("From"), "StarArena <tickets@stararena.example>");
    assert_eq!(mail.header("Subject"), "Confirm your e-mail address");
    assert!(mail.header("Message-ID").ends_with("@stararena.example>"), "{}", mail.content);
    let (text, html) = (mail.content.find("text/plain"), mail.content.find("text/html"));
    assert!(text.is_some() && text < html, "the text comes first, the richer form last: {}", mail.content);
    assert_eq!(arena.count("select count(*) from mailbox").await, 0, "the page of development has none");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_between_relay_and_note_a_mail_goes_again_under_the_same_message_id() {
    let relay = Relay::start().await;
    let mut arena = Arena::web(with_relay(&relay)).await;
    arena.restart_server(&[("STARARENA_FAULT_POINTS", "after-mail")]).await;
    let address = sign_up(&arena, "ana").await;
    assert!(!arena.server().ended().await.success(), "killed");
    assert_eq!(relay.taken(&address).len(), 1, "the relay has it");
    let waiting = "select count(*) from outbox where done_ms is null and tries = 0";
    assert_eq!(arena.count(waiting).await, 1, "and we don't know it");

    arena.start_server(&[]).await;
    let delivered = "select count(*) from outbox where outcome = 'delivered' and lease is null";
    eventually!(SOON, "it is noted", arena.count(delivered).await == 1);
    let taken = relay.taken(&address);
    assert_eq!(taken.len(), 2, "sent again once the claim of the dead had run out");
    for name in ["Message-ID", "Date"] {
        assert_eq!(taken[0].header(name), taken[1].header(name), "by which it is known for the same");
    }
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_purchase_is_told_to_who_wants_to_know_signed_and_without_people() {
    let receiver = Receiver::start().await;
    let arena = Arena::web(with_loopback()).await;
    let (_, secret) = add(&arena, &receiver.url("/all"), None).await;
    let (_, other) = add(&arena, &receiver.url("/closed"), Some("order.closed")).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "10,11").await;
    arena.buy(&fan, held.order).await;
    let kinds = || receiver.seen().iter().map(receiver::Request::kind).collect::<BTreeSet<_>>();
    let expected: BTreeSet<String> = ["order.paid", "ticket.issued"].map(str::to_owned).into();
    eventually!(SOON, "both events are told", kinds() == expected);
    for request in receiver.seen() {
        assert_eq!(request.path, "/all", "who did not ask is not told");
        assert_eq!(request.signed_by(&secret), Some(0), "{request:?}");
        assert_eq!(request.signed_by(&other), None);
        assert!((crate::arena::provider::unix_s() - request.timestamp).abs() < 60, "{request:?}");
        assert!(!request.body.contains(&fan.session.email) && !request.body.contains('@'), "{}", request.body);
        let json = request.json();
        assert_eq!(json["version"], 1);
        assert!(json["timestamp"].as_str().unwrap().ends_with('Z'), "{json}");
        assert_eq!(json["data"]["order"], held.order.to_string().as_str());
        assert_eq!(json["data"]["performance"], arena.performance.to_string().as_str());
        let part = if request.kind() == "order.paid" { "seats" } else { "tickets" };
        let seats: Vec<i64> =
            json["data"][part].as_array().unwrap().iter().map(|seat| seat["seat_no"].as_i64().unwrap()).collect();
        assert_eq!(seats, [10, 11]);
        if request.kind() == "order.paid" {
            assert_eq!(json["data"]["total_minor"], held.total.minor);
        }
    }

    let closed = close_one(&arena, &[12]).await;
    eventually!(SOON, "the closed order is told to both", receiver.seen().len() == 4);
    let told: Vec<_> = receiver.seen().into_iter().filter(|request| request.kind() == "order.closed").collect();
    assert_eq!(
        told.iter().map(|request| request.path.as_str()).collect::<BTreeSet<_>>(),
        BTreeSet::from(["/all", "/closed"])
    );
    assert_eq!(told[0].id, told[1].id, "one event has one id");
    for request in told {
        assert_eq!(request.json()["data"]["order"], closed.to_string().as_str());
        let by = if request.path == "/all" { &secret } else { &other };
        assert_eq!(request.signed_by(by), Some(0), "{request:?}");
    }
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_one_secret_follows_another_both_sign() {
    let receiver = Receiver::start().await;
    let arena = Arena::bare(with_loopback()).await;
    let (endpoint, old) = add(&arena, &receiver.url("/"), None).await;
    let out = webhook_ok(&arena, &["rotate", "--endpoint", &endpoint]).await;
    let new = out.trim().strip_prefix("secret ").unwrap().to_owned();
    assert_ne!(old, new);
    close_one(&arena, &[1]).await;
    eventually!(SOON, "told", receiver.seen().len() == 1);
    let both = receiver.seen().remove(0);
    assert_eq!((both.signed_by(&new), both.signed_by(&old)), (Some(0), Some(1)), "{both:?}");

    sqlx::query("update webhook_endpoints set old_until_ms = 1").execute(&arena.pg).await.unwrap();
    close_one(&arena, &[2]).await;
    eventually!(SOON, "told", receiver.seen().len() == 2);
    let one = receiver.seen().remove(1);
    assert_eq!((one.signed_by(&new), one.signed_by(&old)), (Some(0), None), "the old one has had its day");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_webhook_is_tried_again_logged_and_sent_once_more_on_request() {
    let receiver = Receiver::start().await;
    let arena = Arena::bare(with_loopback()).await;
    let (endpoint, secret) = add(&arena, &receiver.url("/"), Some("order.closed,order.paid")).await;
    receiver.answer(500);
    close_one(&arena, &[1]).await;
    let failed = "select count(*) from webhook_attempts where status = 500";
    eventually!(SOON, "the failure is logged", arena.count(failed).await == 1);
    receiver.answer(202);
    let delivered = "select count(*) from outbox where kind = 'webhook' and outcome = 'delivered'";
    eventually!(SOON, "it is tried again within seconds", arena.count(delivered).await == 1);
    let failing = "select count(*) from webhook_endpoints where failing_since_ms is not null";
    assert_eq!(arena.count(failing).await, 0, "and the endpoint works");
    let seen = receiver.seen();
    assert_eq!(seen.len(), 2);
    assert!(seen.iter().all(|request| request.id == seen[0].id && request.body == seen[0].body), "{seen:?}");
    assert!(seen.iter().all(|request| request.signed_by(&secret) == Some(0)), "each with its own time: {seen:?}");

    let list = webhook_ok(&arena, &["deliveries", "--endpoint", &endpoint]).await;
    assert!(
        list.contains(&seen[0].id) && list.contains("order.closed") && list.contains("2 tries, delivered"),
        "{list}"
    );
    let number = list.split_whitespace().next().unwrap().to_owned();
    let tries = webhook_ok(&arena, &["deliveries", "--endpoint", &endpoint, "--delivery", &number]).await;
    let lines: Vec<&str> = tries.lines().collect();
    assert!(lines.len() == 2 && lines[0].contains(" 500 ") && lines[0].contains(ANSWER), "{tries}");
    assert!(lines[1].contains(" 202 "), "{tries}");

    let out = webhook_ok(&arena, &["redeliver", "--endpoint", &endpoint, "--delivery", &number]).await;
    assert!(out.starts_with("1 "), "{out}");
    eventually!(SOON, "sent once more", receiver.seen().len() == 3);
    assert_eq!(receiver.seen()[2].id, seen[0].id, "under its own id");
    let (code, _, err) = webhook(&arena, &["redeliver", "--endpoint", &endpoint, "--delivery", "999999"]).await;
    assert!(code == Some(1) && err.contains("no such"), "{err}");
    let logged = "select count(*) from audit_log where action like 'webhook.%'";
    assert_eq!(arena.count(logged).await, 2, "one for the endpoint, one for the delivery");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn addresses_inside_are_refused_when_typed_and_when_a_name_leads_there() {
    let receiver = Receiver::start().await;
    let arena = Arena::bare(quick()).await;
    let port = receiver.address.port();
    for url in [
        format!("http://127.0.0.1:{port}/"),
        format!("https://127.0.0.1:{port}/"),
        format!("https://[::ffff:127.0.0.1]:{port}/"),
        "https://169.254.169.254/latest".to_owned(),
        "https://10.0.0.1/".to_owned(),
        "http://hooks.example.org/".to_owned(),
        "https://ana:secret@hooks.example.org/".to_owned(),
        "ftp://hooks.example.org/".to_owned(),
    ] {
        let (code, out, err) = webhook(&arena, &["add", "--url", &url]).await;
        assert!(code == Some(1) && err.contains("url: "), "{url}: {out}{err}");
    }
    let (endpoint, _) = add(&arena, &format!("https://localhost:{port}/"), None).await;
    close_one(&arena, &[1]).await;
    let refused = "select count(*) from webhook_attempts where status is null and error like '%not a public address%'";
    eventually!(SOON, "refused where the connection would be made", arena.count(refused).await == 1);
    assert!(receiver.seen().is_empty(), "nobody was asked");

    webhook_ok(&arena, &["remove", "--endpoint", &endpoint]).await;
    let given_up = "select count(*) from outbox where kind = 'webhook' and outcome = 'given_up'";
    assert_eq!(arena.count(given_up).await, 1, "what waited for it is over");
    assert_eq!(webhook_ok(&arena, &["list"]).await.trim(), "");
    close_one(&arena, &[2]).await;
    assert_eq!(arena.count("select count(*) from webhook_events").await, 1, "nobody listens any more");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_that_fails_for_days_is_disabled_and_its_owners_are_told() {
    let receiver = Receiver::start().await;
    let arena = Arena::bare(with_loopback()).await;
    let owner = arena.member(Role::Owner).await;
    let (endpoint, _) = add(&arena, &receiver.url("/"), None).await;
    receiver.answer(503);
    close_one(&arena, &[1]).await;
    eventually!(SOON, "it fails", arena.count("select count(*) from webhook_attempts").await == 1);
    let since = sqlx::query("update webhook_endpoints set failing_since_ms = failing_since_ms - $1").bind(4 * DAY_MS);
    since.execute(&arena.pg).await.unwrap();
    let due = "update outbox set next_try_ms = 0 where kind = 'webhook' and done_ms is null";
    sqlx::query(due).execute(&arena.pg).await.unwrap();
    let disabled = "select count(*) from webhook_endpoints where status = 'disabled' and reason is not null";
    eventually!(SOON, "it is disabled", arena.count(disabled).await == 1);
    let mails = async || -> i64 {
        sqlx::query_scalar("select count(*) from mailbox where recipient = $1 and body like $2")
            .bind(&owner.session.email)
            .bind(format!("%{}%", receiver.url("/")))
            .fetch_one(&arena.pg)
            .await
            .unwrap()
    };
    eventually!(SOON, "the owner is told", mails().await == 1);
    let waiting = "select count(*) from outbox where done_ms is null";
    eventually!(SOON, "nothing waits", arena.count(waiting).await == 0);
    let seen = receiver.seen().len();
    close_one(&arena, &[2]).await;
    assert_eq!(arena.count("select count(*) from webhook_events").await, 1, "it is told of nothing new");
    assert_eq!(receiver.seen().len(), seen);

    // Once it works again, what it missed can be sent.
    receiver.answer(200);
    let (code, _, err) = webhook(&arena, &["redeliver", "--endpoint", &endpoint, "--given-up"]).await;
    assert!(code == Some(1) && err.contains("enable"), "{err}");
    webhook_ok(&arena, &["enable", "--endpoint", &endpoint]).await;
    let out = webhook_ok(&arena, &["redeliver", "--endpoint", &endpoint, "--given-up"]).await;
    assert!(out.starts_with("1 "), "{out}");
    let delivered = "select count(*) from outbox where kind = 'webhook' and outcome = 'delivered'";
    eventually!(SOON, "it arrives", receiver.seen().len() == seen + 1 && arena.count(delivered).await == 1);

    receiver.answer(410);
    close_one(&arena, &[3]).await;
    eventually!(SOON, "gone is gone at once", arena.count(disabled).await == 1);
    eventually!(SOON, "the owner is told again", mails().await == 2);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_endpoint_holds_up_no_other_and_a_killed_worker_loses_nothing() {
    let receiver = Receiver::start().await;
    let mut arena = Arena::web(with_loopback()).await;
    let (slow, _) = add(&arena, &receiver.url(SLOW), Some("order.closed")).await;
    add(&arena, &receiver.url("/quick"), Some("order.closed")).await;
    let to = |path: &str| receiver.seen().into_iter().filter(|request| request.path == path).collect::<Vec<_>>();
    for seat in 0..6 {
        close_one(&arena, &[seat]).await;
    }
    eventually!(SOON, "the quick one knows all", to("/quick").len() == 6);
    let timed_out = "select count(*) from webhook_attempts where status is null and duration_ms >= 1000";
    eventually!(SOON, "the slow one is given its time", arena.count(timed_out).await >= 1);
    webhook_ok(&arena, &["remove", "--endpoint", &slow]).await;
    let waiting = "select count(*) from outbox where kind = 'webhook' and done_ms is null";
    eventually!(SOON, "nothing waits", arena.count(waiting).await == 0);

    arena.restart_server(&[("STARARENA_FAULT_POINTS", "after-webhook")]).await;
    let order = close_one(&arena, &[20]).await;
    assert!(!arena.server().ended().await.success(), "killed");
    let told = || {
        let about = |request: &receiver::Request| request.json()["data"]["order"] == order.to_string().as_str();
        to("/quick").into_iter().filter(about).collect::<Vec<_>>()
    };
    assert_eq!(told().len(), 1, "it has been told, and we don't know it");
    arena.start_server(&[]).await;
    eventually!(SOON, "it is told again and noted", told().len() == 2 && arena.count(waiting).await == 0);
    assert_eq!(told()[0].id, told()[1].id, "by which it is known for the same");
    arena.finish().await;
}
