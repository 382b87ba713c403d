//! Tickets that change hands: paper and calendars, another code, names, offers, doors, and keys that are renewed.

use crate::arena::{Arena, Fan, SOON, Setup, program, run_to_end};
use domain::account::Role;
use domain::order::OrderView;
use domain::ticket::change::{REISSUES_MAX, TransferState};
use domain::ticket::{TicketCode, TicketKeys};
use domain::{Code, OrderId, TicketId};
use ed25519_dalek::{Signature, Verifier as _, VerifyingKey};
use reqwest::Method;
use reqwest::header::{ACCEPT, IF_NONE_MATCH};
use serde_json::Value;
use std::collections::BTreeMap;

/// A fan with a paid order of some seats.
async fn bought(arena: &Arena, seats: &str) -> (Fan, OrderView) {
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, seats).await;
    let order = arena.buy(&fan, held.order).await;
    (fan, order)
}

/// What doors are told, by ticket.
async fn told(arena: &Arena) -> BTreeMap<String, String> {
    let path = format!("/api/performances/{}/revocations", arena.performance);
    let list = arena.open(None, &path).await.ok::<Value>();
    let entry =
        |entry: &Value| (entry["ticket"].as_str().unwrap().to_owned(), entry["state"].as_str().unwrap().to_owned());
    list["tickets"].as_array().unwrap().iter().map(entry).collect()
}

/// Waits until doors are told a state of a ticket; none for one that they take.
async fn await_told(arena: &Arena, ticket: TicketId, state: Option<&str>) {
    let id = ticket.to_string();
    eventually!(SOON, format!("{id} is {state:?}"), told(arena).await.get(&id).map(String::as_str) == state);
}

/// What the newest offer's link carries.
pub(crate) async fn newest_token(arena: &Arena) -> String {
    let body: String = sqlx::query_scalar(
        "select payload ->> 'body' from outbox where dedupe like 'transfer:%' order by id desc limit 1",
    )
    .fetch_one(&arena.pg)
    .await
    .unwrap();
    body.split("/transfers/").nth(1).unwrap().split_whitespace().next().unwrap().to_owned()
}

async fn offer(arena: &Arena, fan: &Fan, ticket: TicketId, to: &Fan) -> String {
    let form = [("ticket", ticket.to_string()), ("email", to.session.email.clone())];
    let form = form.each_ref().map(|(name, value)| (*name, value.as_str()));
    arena.call(Some(fan), "ticket-offer", &form).await.ok::<()>();
    newest_token(arena).await
}

/// The tickets that an account holds, as its page lists them.
async fn mine(arena: &Arena, fan: &Fan) -> Vec<Value> {
    let sheets: Vec<Value> = arena.call(Some(fan), "my-tickets", &[]).await.ok();
    sheets.into_iter().map(|sheet| sheet["ticket"].clone()).collect()
}

async fn door_keys(arena: &Arena) -> Vec<(u8, VerifyingKey)> {
    let published = arena.open(None, "/api/ticket-keys").await.ok::<Value>();
    let key = |entry: &Value| {
        let bytes: [u8; 32] = hex::decode(entry["key"].as_str().unwrap()).unwrap().try_into().unwrap();
        let id = u8::try_from(entry["key_id"].as_u64().unwrap()).unwrap();
        (id, VerifyingKey::from_bytes(&bytes).unwrap())
    };
    published["keys"].as_array().unwrap().iter().map(key).collect()
}

async fn valid_tickets(arena: &Arena, order: OrderId) -> i64 {
    arena.count_of(order, "select count(*) from tickets where order_id = $1 and revoked_ms is null").await
}

/// The code of the ticket for a seat, from the row: pages show it as a drawing.
async fn code_of(arena: &Arena, ticket: TicketId) -> String {
    sqlx::query_scalar("select code from tickets where id = $1").bind(ticket.0).fetch_one(&arena.pg).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paper_and_calendar_are_for_who_holds_the_tickets() {
    let arena = Arena::web(Setup::default()).await;
    let (fan, order) = bought(&arena, "30,31").await;
    let stranger = arena.fans(1).await.remove(0);
    let (pdf, ics) = (format!("/orders/{}/tickets.pdf", order.id), format!("/orders/{}/event.ics", order.id));
    let one = format!("/tickets/{}.pdf", order.tickets[0].id);
    for (path, pages) in [(&pdf, "/Count 2"), (&one, "/Count 1")] {
        let file = arena.open(Some(&fan), path).await;
        assert_eq!((file.status, file.header("content-type")), (200, "application/pdf"), "{path}");
        assert_eq!(file.header("cache-control"), "private, no-store");
        assert!(file.body.starts_with("%PDF-") && file.body.contains(pages), "{path}");
        assert!(file.body.contains(&order.id.to_string()), "the order's number is on it");
    }
    sqlx::query("update plans set time_zone = 'Asia/Kathmandu'").execute(&arena.pg).await.unwrap();
    let instant: String = sqlx::query_scalar(
        "select to_char(to_timestamp(starts_ms / 1000) at time zone 'UTC', 'YYYYMMDD\"T\"HH24MISS\"Z\"')
         from performances where id = $1",
    )
    .bind(arena.performance.0)
    .fetch_one(&arena.pg)
    .await
    .unwrap();
    eventually!(SOON, "the calendar tells the venue's zone beside the instant", {
        let file = arena.open(Some(&fan), &ics).await;
        assert_eq!((file.status, file.header("cache-control")), (200, "private, no-store"));
        let whole = file.body.replace("\r\n ", "");
        assert!(whole.contains(&format!("\r\nDTSTART:{instant}\r\n")), "{whole}");
        whole.contains("(UTC+05:45\\, Asia/Kathmandu)")
    });
    for path in [&pdf, &one, &ics] {
        assert_eq!(arena.open(Some(&stranger), path).await.status, 404, "{path}");
        let led = arena.open(None, path).await;
        assert!(led.status == 303 && led.header("location").starts_with("/sign-in?next=/"), "{path}: {led:?}");
        let program = arena.send(arena.plain_request(Method::GET, path).header(ACCEPT, "*/*")).await;
        assert_eq!(program.code(), Code::SignInRequired, "{path}");
    }
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copied_code_is_replaced_and_doors_refuse_the_old_one() {
    let arena = Arena::web(Setup::default()).await;
    let (fan, order) = bought(&arena, "30").await;
    let stranger = arena.fans(1).await.remove(0);
    let first = order.tickets[0].clone();
    assert_eq!(told(&arena).await, BTreeMap::new());
    let reissue = async |who: &Fan, ticket: TicketId| {
        arena.call(Some(who), "ticket-reissue", &[("ticket", &ticket.to_string())]).await
    };
    assert_eq!(reissue(&stranger, first.id).await.code(), Code::NotFound);
    let mut newest: TicketId = reissue(&fan, first.id).await.ok();
    await_told(&arena, first.id, Some("revoked")).await;
    assert_eq!(reissue(&fan, first.id).await.code(), Code::WrongState, "what is revoked stays so");
    let keys = TicketKeys::new(door_keys(&arena).await);
    let read = async |ticket| TicketCode::verify_by(&code_of(&arena, ticket).await, arena.performance, &keys).unwrap();
    let (old, new) = (read(first.id).await, read(newest).await);
    assert_eq!((old.issue, new.issue, new.seat), (0, 1, old.seat));
    for _ in 1..REISSUES_MAX {
        newest = reissue(&fan, newest).await.ok();
    }
    assert_eq!(reissue(&fan, newest).await.code(), Code::LimitExceeded);
    assert_eq!(valid_tickets(&arena, order.id).await, 1);
    let steps = "select count(*) from order_audit where order_id = $1 and event = 'ticket_reissued'";
    assert_eq!(arena.count_of(order.id, steps).await, REISSUES_MAX);
    assert_eq!(arena.count("select count(*) from outbox where dedupe like 'ticket-replaced:%'").await, REISSUES_MAX);

    for (ticket, says, code) in [(first.id, "revoked", 1), (newest, "valid", 0)] {
        let mut command = program(arena.settings());
        command.args(["ticket", "verify", &code_of(&arena, ticket).await]);
        let (ended, out, err) = run_to_end(command).await;
        assert!(ended == Some(code) && out.starts_with(says), "{says}: {ended:?} {out} {err}");
    }
    let mut command = program(arena.settings());
    command.args(["ticket", "verify", "NOTHING"]);
    assert!(run_to_end(command).await.1.starts_with("malformed"));
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_list_of_revocations_is_signed_and_its_position_only_rises() {
    let arena = Arena::web(Setup::default()).await;
    let (fan, order) = bought(&arena, "30,31").await;
    let path = format!("/api/performances/{}/revocations", arena.performance);
    let position = |body: &str| serde_json::from_str::<Value>(body).unwrap()["position"].as_i64().unwrap();
    let before = arena.open(None, &path).await;
    assert_eq!(position(&before.body), 0);
    arena.backend.freeze_tickets(order.id, true).await.unwrap();
    await_told(&arena, order.tickets[0].id, Some("frozen")).await;
    let frozen = arena.open(None, &path).await;
    let (id, signature) = frozen.header("x-stararena-signature").split_once(':').unwrap();
    let (known, key) = door_keys(&arena).await[0];
    assert_eq!(id, known.to_string());
    let signature = Signature::from_slice(&hex::decode(signature).unwrap()).unwrap();
    let signed = format!("stararena revocations\n{}", frozen.body);
    assert!(key.verify(signed.as_bytes(), &signature).is_ok());
    assert!(key.verify(frozen.body.as_bytes(), &signature).is_err());
    assert!(!frozen.body.contains('@') && frozen.header("cache-control").contains("max-age=2"));
    let again = arena.plain_request(Method::GET, &path).header(IF_NONE_MATCH, frozen.header("etag"));
    assert_eq!(arena.send(again).await.status, 304);
    let form = [("ticket", order.tickets[0].id.to_string())];
    let form = form.each_ref().map(|(name, value)| (*name, value.as_str()));
    assert_eq!(arena.call(Some(&fan), "ticket-reissue", &form).await.code(), Code::WrongState, "frozen");
    arena.backend.freeze_tickets(order.id, false).await.unwrap();
    await_told(&arena, order.tickets[0].id, None).await;
    let thawed = arena.open(None, &path).await;
    assert!(position(&before.body) < position(&frozen.body) && position(&frozen.body) < position(&thawed.body));
    let nowhere = "/api/performances/018f0000-0000-7000-8000-000000000000/revocations";
    assert_eq!(arena.open(None, nowhere).await.status, 404);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_is_typed_until_its_cutoff_and_each_change_makes_another_code() {
    let arena = Arena::web(Setup::default()).await;
    let operator = arena.member(Role::Operator).await;
    let (fan, order) = bought(&arena, "30").await;
    let first = order.tickets[0].id;
    let rename = async |ticket: TicketId, name: &str| {
        arena.call(Some(&fan), "ticket-rename", &[("ticket", &ticket.to_string()), ("name", name)]).await
    };
    assert_eq!(rename(first, &"x".repeat(81)).await.code(), Code::InvalidInput);
    let named: TicketId = rename(first, "  Jose\u{301}   Ruiz ").await.ok();
    assert_ne!(named, first);
    assert_eq!(rename(named, "José Ruiz").await.ok::<TicketId>(), named, "the same name changes nothing");
    let view: OrderView = arena.order(&fan, order.id).await.ok();
    assert_eq!(view.tickets[0].holder.as_deref(), Some("José Ruiz"));
    assert!(!view.tickets[0].code.is_empty());
    await_told(&arena, first, Some("revoked")).await;

    let performance = arena.performance.to_string();
    let terms = async |from: &str, hours: &str| {
        let form = [("id", performance.as_str()), ("from", from), ("hours", hours)];
        arena.call(Some(&operator), "organizer-names-set", &form).await
    };
    assert_eq!(terms("", "8760").await.status, 200);
    assert_eq!(terms("", "24").await.code(), Code::WrongState, "somebody else was quicker");
    assert_eq!(terms("8760", "soon").await.code(), Code::InvalidInput);
    let starts = arena
        .count("select starts_ms - (extract(epoch from now()) * 1000)::bigint from performances where id = $1")
        .await;
    assert!(starts < 8_760 * 3_600_000, "the evening is within a year");
    assert_eq!(rename(named, "Ana").await.code(), Code::WrongState, "too late");
    assert_eq!(arena.count("select count(*) from audit_log where action = 'performance.names'").await, 1);
    let page = arena.open(Some(&operator), &format!("/organizer/performances/{performance}")).await;
    assert!(page.body.contains("data-testid=\"names-until\""), "{}", page.body);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_offered_ticket_becomes_the_recipients_and_nobody_elses() {
    let arena = Arena::web(Setup::default()).await;
    let (fan, order) = bought(&arena, "30,31").await;
    let [friend, other]: [Fan; 2] = arena.fans(2).await.try_into().unwrap();
    let given = order.tickets[0].id;
    let own = [("ticket", given.to_string()), ("email", fan.session.email.clone())];
    let own = own.each_ref().map(|(name, value)| (*name, value.as_str()));
    assert_eq!(arena.call(Some(&fan), "ticket-offer", &own).await.code(), Code::InvalidInput);
    assert_eq!(arena.call(Some(&other), "ticket-offer", &own).await.code(), Code::NotFound);
    let token = offer(&arena, &fan, given, &friend).await;
    await_told(&arena, given, Some("pending")).await;
    assert_eq!(arena.open(Some(&fan), &format!("/tickets/{given}.pdf")).await.status, 409, "offered, so not at hand");
    for function in ["transfer", "transfer-accept", "transfer-decline"] {
        assert_eq!(arena.call(Some(&other), function, &[("token", &token)]).await.code(), Code::Forbidden);
        assert_eq!(arena.call(None, function, &[("token", &token)]).await.code(), Code::SignInRequired);
        assert_eq!(arena.call(Some(&friend), function, &[("token", "guess")]).await.code(), Code::LinkInvalid);
    }
    let page = arena.open(Some(&friend), &format!("/transfers/{token}")).await;
    assert!(page.status == 200 && page.body.contains("data-testid=\"accept\""), "{}", page.body);
    sqlx::query("update accounts set verified_ms = null where id = $1")
        .bind(friend.account.0)
        .execute(&arena.pg)
        .await
        .unwrap();
    let unconfirmed = arena.call(Some(&friend), "transfer-accept", &[("token", &token)]).await;
    assert_eq!(unconfirmed.code(), Code::EmailUnconfirmed);
    sqlx::query("update accounts set verified_ms = 1 where id = $1")
        .bind(friend.account.0)
        .execute(&arena.pg)
        .await
        .unwrap();
    let got: TicketId = arena.call(Some(&friend), "transfer-accept", &[("token", &token)]).await.ok();
    assert_eq!(arena.call(Some(&friend), "transfer-accept", &[("token", &token)]).await.code(), Code::LinkInvalid);
    await_told(&arena, given, Some("revoked")).await;
    let held = mine(&arena, &friend).await;
    assert_eq!((held.len(), held[0]["id"].as_str().unwrap()), (1, got.to_string().as_str()));
    assert_eq!((held[0]["issue"].as_u64(), held[0]["bought"].as_bool()), (Some(1), Some(false)));
    assert_eq!(arena.open(Some(&friend), &format!("/tickets/{got}.pdf")).await.status, 200);
    assert_eq!(arena.open(Some(&friend), &format!("/orders/{}/event.ics", order.id)).await.status, 200);
    assert_eq!(arena.order(&friend, order.id).await.code(), Code::NotFound, "the order stays the buyer's");

    let view: OrderView = arena.order(&fan, order.id).await.ok();
    let gone = view.tickets.iter().find(|ticket| ticket.id == got).unwrap();
    assert!(gone.code.is_empty(), "the buyer can't show what was given away");
    assert_eq!(gone.transfer.as_ref().map(|transfer| transfer.state), Some(TransferState::Gone));
    assert_eq!(mine(&arena, &fan).await.len(), 1);
    let again = arena.call(Some(&fan), "ticket-reissue", &[("ticket", &got.to_string())]).await;
    assert_eq!(again.code(), Code::NotFound, "nor take it back by another code");
    assert!(arena.open(Some(&fan), &format!("/orders/{}/tickets.pdf", order.id)).await.body.contains("/Count 1"));
    let renewed = arena.call(Some(&friend), "ticket-reissue", &[("ticket", &got.to_string())]).await;
    let renewed: TicketId = renewed.ok();
    let token = offer(&arena, &friend, renewed, &other).await;
    let passed: TicketId = arena.call(Some(&other), "transfer-accept", &[("token", &token)]).await.ok();
    let view: OrderView = arena.order(&fan, order.id).await.ok();
    let gone = view.tickets.iter().find(|ticket| ticket.id == passed).unwrap();
    let to = gone.transfer.as_ref().map(|transfer| transfer.to.as_str());
    assert_eq!(to, Some(friend.session.email.as_str()), "whom others gave it to is not the buyer's to know");
    assert!(mine(&arena, &friend).await.is_empty());

    // With the money goes the ticket, whoever holds it.
    assert_eq!(arena.backend.revoke_tickets(order.id, None, "refund").await.unwrap(), 2);
    await_told(&arena, passed, Some("revoked")).await;
    assert!(mine(&arena, &other).await.is_empty());
    let mails: i64 = sqlx::query_scalar("select count(*) from outbox where dedupe = $1 and payload ->> 'to' = $2")
        .bind(format!("ticket-ended:{passed}"))
        .bind(&other.session.email)
        .fetch_one(&arena.pg)
        .await
        .unwrap();
    assert_eq!(mails, 1, "the holder is told");
    // The order keeps its money here, which the audit at a test's end would report: what a refund does besides is
    // tested with refunds.
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_offer_comes_back_by_hand_by_its_answer_and_by_time() {
    let arena = Arena::web(Setup::default()).await;
    let (fan, order) = bought(&arena, "30").await;
    let friend = arena.fans(1).await.remove(0);
    let ticket = order.tickets[0].id;
    let id = ticket.to_string();
    let take_back = async || arena.call(Some(&fan), "ticket-take-back", &[("ticket", &id)]).await;
    assert_eq!(take_back().await.code(), Code::WrongState, "nothing is offered");

    let token = offer(&arena, &fan, ticket, &friend).await;
    let twice = [("ticket", id.as_str()), ("email", "nobody@mail.example")];
    assert_eq!(arena.call(Some(&fan), "ticket-offer", &twice).await.code(), Code::WrongState, "one offer at a time");
    take_back().await.ok::<()>();
    assert_eq!(arena.call(Some(&friend), "transfer-accept", &[("token", &token)]).await.code(), Code::LinkInvalid);

    let token = offer(&arena, &fan, ticket, &friend).await;
    arena.call(Some(&friend), "transfer-decline", &[("token", &token)]).await.ok::<()>();
    await_told(&arena, ticket, None).await;

    let token = offer(&arena, &fan, ticket, &friend).await;
    arena.backend.freeze_tickets(order.id, true).await.unwrap();
    let frozen = arena.call(Some(&friend), "transfer-accept", &[("token", &token)]).await;
    assert_eq!(frozen.code(), Code::WrongState, "not while it is frozen");
    arena.backend.freeze_tickets(order.id, false).await.unwrap();
    sqlx::query("update ticket_transfers set expires_ms = 1 where state = 'pending'").execute(&arena.pg).await.unwrap();
    let over = "select count(*) from ticket_transfers where state = 'expired'";
    eventually!(SOON, "the offer runs out", arena.count(over).await == 1);
    await_told(&arena, ticket, None).await;
    assert_eq!(valid_tickets(&arena, order.id).await, 1);
    assert_eq!(arena.count("select count(*) from outbox where dedupe like 'transfer-ended:%'").await, 2);

    sqlx::query("update performances set starts_ms = 1 where id = $1")
        .bind(arena.performance.0)
        .execute(&arena.pg)
        .await
        .unwrap();
    let late = [("ticket", id.as_str()), ("email", "friend@mail.example")];
    assert_eq!(arena.call(Some(&fan), "ticket-offer", &late).await.code(), Code::WrongState, "the evening has begun");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happens_at_once_leaves_one_valid_ticket_a_seat() {
    const ROUNDS: usize = 8;
    let arena = Arena::web(Setup::default()).await;
    let (fan, order) = bought(&arena, "30").await;
    let friend = arena.fans(1).await.remove(0);
    let current = async || -> (TicketId, uuid::Uuid) {
        let row: (uuid::Uuid, Option<uuid::Uuid>) =
            sqlx::query_as("select id, holder_account from tickets where order_id = $1 and revoked_ms is null")
                .bind(order.id.0)
                .fetch_one(&arena.pg)
                .await
                .unwrap();
        (TicketId(row.0), row.1.unwrap_or(fan.account.0))
    };
    for round in 0..ROUNDS {
        let (ticket, holder) = current().await;
        let (from, to) = if holder == fan.account.0 { (&fan, &friend) } else { (&friend, &fan) };
        arena.backend.offer_ticket(&from.session, ticket, &to.session.email, "en").await.unwrap();
        let token = newest_token(&arena).await;
        // The same name again would change nothing, and so succeed beside another change.
        let name = format!("Ana {round}");
        let (accepted, declined, taken, reissued, renamed) = futures::join!(
            arena.backend.accept_ticket(&to.session, &token),
            arena.backend.decline_ticket(&to.session, &token),
            arena.backend.take_ticket_back(&from.session, ticket),
            arena.backend.reissue_ticket(&from.session, ticket),
            arena.backend.rename_ticket(&from.session, ticket, &name),
        );
        let ended = usize::from(accepted.is_ok()) + usize::from(declined.is_ok()) + usize::from(taken.is_ok());
        assert_eq!(ended, 1, "round {round}: an offer ends once: {accepted:?} {declined:?} {taken:?}");
        let replaced = usize::from(reissued.is_ok()) + usize::from(renamed.is_ok());
        assert!(replaced == 0 || accepted.is_err(), "round {round}: {accepted:?} {reissued:?} {renamed:?}");
        assert!(replaced <= 1, "round {round}: both were asked for the same ticket");
        assert_eq!(valid_tickets(&arena, order.id).await, 1, "round {round}");
        let pending = "select count(*) from ticket_transfers where state = 'pending'";
        assert_eq!(arena.count(pending).await, 0, "round {round}");
    }
    let issues = "select count(*) - count(distinct issue) from tickets where order_id = $1";
    assert_eq!(arena.count_of(order.id, issues).await, 0, "each ticket of a seat has an issue of its own");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ticket_that_is_made_while_its_order_is_revoked_does_not_survive() {
    let arena = Arena::web(Setup::default()).await;
    let friend = arena.fans(1).await.remove(0);
    for seat in ["30", "31", "32", "33"] {
        let (fan, order) = bought(&arena, seat).await;
        let ticket = order.tickets[0].id;
        arena.backend.offer_ticket(&fan.session, ticket, &friend.session.email, "en").await.unwrap();
        let token = newest_token(&arena).await;
        let (accepted, taken, revoked) = futures::join!(
            arena.backend.accept_ticket(&friend.session, &token),
            arena.backend.take_ticket_back(&fan.session, ticket),
            arena.backend.revoke_tickets(order.id, None, "refund"),
        );
        assert_eq!(revoked.unwrap(), 1, "whichever ticket was valid: {accepted:?} {taken:?}");
        assert_eq!(valid_tickets(&arena, order.id).await, 0);
        let open = "select count(*) from ticket_transfers x join tickets t on t.id = x.ticket_id
                    where t.order_id = $1 and x.state = 'pending'";
        assert_eq!(arena.count_of(order.id, open).await, 0);
    }
    // The orders keep their money here, which the audit at a test's end would report.
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn renewed_keys_sign_new_codes_and_old_codes_still_open_doors() {
    let (old, new) = (format!("1:{}", "a1".repeat(32)), format!("9:{}", "b2".repeat(32)));
    let settings = vec![("STARARENA_TICKET_KEYS", old.clone())];
    let mut arena = Arena::web(Setup { settings, ..Setup::default() }).await;
    let (fan, order) = bought(&arena, "30,31").await;
    assert_eq!(door_keys(&arena).await.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [1]);
    arena.restart_server(&[("STARARENA_TICKET_KEYS", &format!("{new},{old}"))]).await;
    let keys = door_keys(&arena).await;
    assert_eq!(keys.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [9, 1]);
    let renewed = arena.call(Some(&fan), "ticket-reissue", &[("ticket", &order.tickets[0].id.to_string())]).await;
    let renewed: TicketId = renewed.ok();
    let all = TicketKeys::new(keys.clone());
    for (ticket, key) in [(renewed, 9), (order.tickets[1].id, 1)] {
        let code = TicketCode::verify_by(&code_of(&arena, ticket).await, arena.performance, &all).unwrap();
        assert_eq!((code.ticket, code.key_id), (ticket, key));
    }
    let newest = TicketKeys::new(keys.into_iter().take(1).collect());
    let code = code_of(&arena, order.tickets[1].id).await;
    assert!(TicketCode::verify_by(&code, arena.performance, &newest).is_err(), "a dropped key opens nothing");
    let told = arena.open(None, "/api/ticket-key").await.ok::<Value>();
    assert_eq!(told["key_id"].as_u64(), Some(9));
    arena.finish().await;
}
