//! Members by role, the log of what they did, and orders found and told in full.

use crate::arena::ORGANIZATION;
use crate::arena::{Arena, Fan, Reply, SOON, Setup, program, run_to_end};
use domain::account::{MailView, Me, Role};
use domain::order::{OrderStatus, OrderView, PayStarted};
use domain::organizer::Desk;
use domain::organizer::members::{AuditPage, MemberList, Offer};
use domain::organizer::search::{Found, OrderStory, What};
use domain::{AccountId, Code, OrderId};

/// Hostile and unusual texts, one a line; lines that begin with `#` are comments.
const NAUGHTY: &str = include_str!("../../../app/domain/tests/fixtures/blns.txt");

fn naughty() -> impl Iterator<Item = &'static str> {
    NAUGHTY.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Another address of the same sign-up: an account that nobody confirmed.
async fn unconfirm(arena: &Arena, fan: &Fan) {
    sqlx::query("update accounts set verified_ms = null where id = $1")
        .bind(fan.account.0)
        .execute(&arena.pg)
        .await
        .unwrap();
}

async fn invite(arena: &Arena, owner: &Fan, email: &str, role: Role) -> Reply {
    arena.call(Some(owner), "organizer-member-invite", &[("email", email), ("role", role.as_str())]).await
}

/// What the newest invitation mail to an address carries, once so many were delivered.
async fn token(arena: &Arena, email: &str, mails: usize) -> String {
    let found = async || -> Vec<MailView> {
        let all: Vec<MailView> = arena.call(None, "mailbox", &[]).await.ok();
        all.into_iter().filter(|mail| mail.to == email).collect()
    };
    eventually!(SOON, "the invitation arrives", found().await.len() >= mails);
    let mail = found().await.remove(0);
    let (_, rest) = mail.body.split_once("/organizer/join?token=").expect("the mail carries its link");
    rest.split_whitespace().next().unwrap().to_owned()
}

async fn join(arena: &Arena, fan: &Fan, token: &str) -> Reply {
    arena.call(Some(fan), "organizer-join", &[("token", token)]).await
}

async fn set_role(arena: &Arena, owner: &Fan, account: AccountId, from: Role, to: Role) -> Reply {
    let form = [("account", &*account.to_string()), ("from", from.as_str()), ("role", to.as_str())];
    arena.call(Some(owner), "organizer-member-role", &form).await
}

async fn remove(arena: &Arena, owner: &Fan, account: AccountId, role: Role) -> Reply {
    let form = [("account", &*account.to_string()), ("role", role.as_str())];
    arena.call(Some(owner), "organizer-member-remove", &form).await
}

async fn desk_role(arena: &Arena, fan: &Fan) -> Result<Role, Code> {
    let reply = arena.call(Some(fan), "organizer-desk", &[]).await;
    if reply.status == 200 { Ok(reply.ok::<Desk>().role) } else { Err(reply.code()) }
}

async fn members(arena: &Arena, owner: &Fan) -> MemberList {
    arena.call(Some(owner), "organizer-members", &[]).await.ok()
}

async fn log(arena: &Arena, reader: &Fan, form: &[(&str, &str)]) -> AuditPage {
    arena.call(Some(reader), "organizer-audit", form).await.ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invited_address_becomes_a_member_at_once_and_is_none_at_once() {
    let arena = Arena::web(Setup::default()).await;
    let owner = arena.member(Role::Owner).await;
    let mut fans = arena.fans(3).await;
    let (fan, other, late) = (fans.remove(0), fans.remove(0), fans.remove(0));
    let email = fan.session.email.clone();
    assert_eq!(desk_role(&arena, &fan).await, Err(Code::NotFound), "for a fan there is nothing here");

    // Inviting again replaces the link; only the invited address may use it, only when confirmed, only once.
    let () = invite(&arena, &owner, &format!(" {} ", email.to_uppercase()), Role::Door).await.ok();
    let first = token(&arena, &email, 1).await;
    let () = invite(&arena, &owner, &email, Role::Operator).await.ok();
    let second = token(&arena, &email, 2).await;
    assert_eq!(members(&arena, &owner).await.invitations.len(), 1);
    assert_eq!(join(&arena, &fan, &first).await.code(), Code::LinkInvalid, "the earlier link works no more");
    assert_eq!(join(&arena, &other, &second).await.code(), Code::Forbidden, "the invitation is another's");
    assert_eq!(arena.call(None, "organizer-join", &[("token", &second)]).await.code(), Code::SignInRequired);
    unconfirm(&arena, &fan).await;
    assert_eq!(join(&arena, &fan, &second).await.code(), Code::EmailUnconfirmed);
    sqlx::query("update accounts set verified_ms = 1").execute(&arena.pg).await.unwrap();
    let path = format!("/organizer/join?token={second}");
    for _ in 0..2 {
        let offer: Offer = arena.call(Some(&fan), "organizer-invitation", &[("token", &second)]).await.ok();
        assert_eq!((offer.organization.as_str(), offer.role), (ORGANIZATION, Role::Operator));
        let page = arena.open(Some(&fan), &path).await;
        assert!(page.status == 200 && page.body.contains("data-testid=\"join\""), "{}", page.status);
    }
    assert_eq!(arena.open(None, &path).await.status, 401);
    assert_eq!(desk_role(&arena, &fan).await, Err(Code::NotFound), "looking at an invitation changes nothing");
    let joined = join(&arena, &fan, &second).await;
    let () = joined.ok();
    assert_eq!(desk_role(&arena, &fan).await, Ok(Role::Operator), "also with the cookie of before");
    assert_eq!(join(&arena, &fan, &second).await.code(), Code::LinkInvalid, "a link works once");
    let cookie = joined.cookie("sa-session").expect("joining renews the session");
    let fresh = Fan { cookie, ..fan.clone() };
    let me: Option<Me> = arena.call(Some(&fresh), "me", &[]).await.ok();
    assert_eq!(me.unwrap().role, Some(Role::Operator));

    // Links that ran out or were taken back; a member of another organization.
    let late_email = late.session.email.clone();
    let () = invite(&arena, &owner, &late_email, Role::Risk).await.ok();
    let expired = token(&arena, &late_email, 1).await;
    sqlx::query("update member_invitations set expires_ms = 1 where used_ms is null").execute(&arena.pg).await.unwrap();
    assert_eq!(join(&arena, &late, &expired).await.code(), Code::LinkInvalid);
    assert!(members(&arena, &owner).await.invitations[0].expired);
    let () = invite(&arena, &owner, &late_email, Role::Risk).await.ok();
    let revoked = token(&arena, &late_email, 2).await;
    let () = arena.call(Some(&owner), "organizer-invitation-revoke", &[("email", &late_email)]).await.ok();
    assert_eq!(join(&arena, &late, &revoked).await.code(), Code::LinkInvalid);
    assert_eq!(
        arena.call(Some(&owner), "organizer-invitation-revoke", &[("email", &late_email)]).await.code(),
        Code::NotFound
    );
    let elsewhere = arena.member_of("Another Promoter", Role::Owner).await;
    let there = elsewhere.session.email.clone();
    let () = invite(&arena, &owner, &there, Role::Finance).await.ok();
    let refused = join(&arena, &elsewhere, &token(&arena, &there, 1).await).await.refusal();
    assert_eq!(refused.code, Code::WrongState);
    assert!(refused.message.starts_with("organization: "), "{}", refused.message);
    assert_eq!(invite(&arena, &owner, &email, Role::Door).await.code(), Code::WrongState, "a member already");

    // A change works at once, whatever the cookie says; one that rests on an old reading is refused.
    assert_eq!(invite(&arena, &fresh, "x@example.org", Role::Owner).await.code(), Code::Forbidden);
    let () = set_role(&arena, &owner, fan.account, Role::Operator, Role::Owner).await.ok();
    let owning = Fan { cookie: join_cookie(&arena, &fan).await, ..fan.clone() };
    assert_eq!(members(&arena, &owning).await.members.len(), 2);
    let () = set_role(&arena, &owner, fan.account, Role::Owner, Role::Door).await.ok();
    assert_eq!(desk_role(&arena, &owning).await, Ok(Role::Door), "the row decides, not the cookie");
    assert_eq!(arena.call(Some(&owning), "organizer-members", &[]).await.code(), Code::Forbidden);
    assert_eq!(
        set_role(&arena, &owner, fan.account, Role::Owner, Role::Risk).await.code(),
        Code::WrongState,
        "somebody changed it before"
    );
    assert_eq!(set_role(&arena, &owner, owner.account, Role::Owner, Role::Risk).await.code(), Code::WrongState);
    assert_eq!(remove(&arena, &owner, owner.account, Role::Owner).await.code(), Code::WrongState, "the last owner");
    assert_eq!(remove(&arena, &owner, elsewhere.account, Role::Owner).await.code(), Code::NotFound, "another's");
    let () = remove(&arena, &owner, fan.account, Role::Door).await.ok();
    assert_eq!(desk_role(&arena, &owning).await, Err(Code::NotFound));

    log_tells(&arena, &owner, &email).await;
    arena.finish().await;
}

/// A cookie that is as fresh as can be.
async fn join_cookie(arena: &Arena, fan: &Fan) -> String {
    let signed_in = arena.backend.renew_session(fan.session.session).await.unwrap();
    format!("{}={}", arena.backend.cookie_name("sa-session"), signed_in.token)
}

/// The log has all of it, newest first; it can be narrowed, and is closed to other roles and houses.
async fn log_tells(arena: &Arena, owner: &Fan, email: &str) {
    let page = log(arena, owner, &[]).await;
    assert!(page.rows.is_sorted_by(|a, b| a.id > b.id));
    for action in ["member.invite", "member.revoke", "member.join", "member.role", "member.remove"] {
        assert!(page.rows.iter().any(|row| row.action == action), "{action}");
        assert!(page.actions.iter().any(|known| known == action), "{action}");
    }
    let joins = log(arena, owner, &[("action", "member.join")]).await.rows;
    assert_eq!(joins.len(), 1);
    assert_eq!(joins[0].who.as_deref(), Some(email));
    assert!(joins[0].detail.contains(&("role".to_owned(), "operator".to_owned())), "{:?}", joins[0].detail);
    assert!(log(arena, owner, &[("who", email)]).await.rows.iter().all(|row| row.who.as_deref() == Some(email)));
    let about = log(arena, owner, &[("subject", &format!("invitation {email}"))]).await.rows;
    assert_eq!(about.len(), 2);
    let rest = log(arena, owner, &[("before", &page.rows[0].id.to_string())]).await.rows;
    assert_eq!(rest.len() + 1, page.rows.len());
    assert_eq!(rest[0], page.rows[1]);

    let (finance, operator) = (arena.member(Role::Finance).await, arena.member(Role::Operator).await);
    assert_eq!(log(arena, &finance, &[]).await.rows.len(), page.rows.len());
    assert_eq!(arena.call(Some(&operator), "organizer-audit", &[]).await.code(), Code::Forbidden);
    let barred = arena.open(Some(&operator), "/organizer/audit").await;
    assert_eq!(barred.status, 403);
    assert!(barred.body.contains("data-testid=\"barred\"") && barred.body.contains("Finance"), "{}", barred.body);
    let foreign = arena.member_of("Another Promoter", Role::Owner).await;
    assert!(log(arena, &foreign, &[]).await.rows.is_empty(), "another organization has a log of its own");
    let page = arena.open(Some(owner), "/organizer/audit").await;
    assert!(page.status == 200 && page.body.contains("data-testid=\"audit-row\""), "{}", page.status);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_organization_keeps_an_owner_when_its_owners_go_at_the_same_time() {
    let arena = Arena::bare(Setup::default()).await;
    let owners = "select count(*) from members where role = 'owner'";
    for round in 0..20 {
        sqlx::query("delete from members").execute(&arena.pg).await.unwrap();
        let (a, b) = (arena.member(Role::Owner).await, arena.member(Role::Owner).await);
        let change = async |by: &Fan, of: &Fan| match round % 3 {
            0 => arena.backend.remove_member(&by.session, of.account, Role::Owner).await,
            _ => arena.backend.set_member_role(&by.session, of.account, Role::Owner, Role::Door).await,
        };
        // Each other in even rounds, oneself in odd ones.
        let (first, second) = if round % 2 == 0 { (&b, &a) } else { (&a, &b) };
        let (one, two) = tokio::join!(change(&a, first), change(&b, second));
        assert_eq!(u8::from(one.is_ok()) + u8::from(two.is_ok()), 1, "round {round}: {one:?} {two:?}");
        assert_eq!(arena.count(owners).await, 1, "round {round}");
    }
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_makes_organizations_and_their_first_owners() {
    let arena = Arena::web(Setup::default()).await;
    let fan = arena.fans(1).await.remove(0);
    let email = fan.session.email.clone();
    let run = async |args: &[&str]| {
        let mut command = program(arena.settings());
        command.arg("organization").args(args);
        run_to_end(command).await
    };
    let name = "北京鸟巢演出 <&> 'Co'";
    for _ in 0..2 {
        let (code, out, err) = run(&["create", "--name", name, "--owner", &email]).await;
        assert_eq!(code, Some(0), "{out}{err}");
        assert!(out.contains(&format!("{email} is owner")), "{out}");
    }
    let desk: Desk = arena.call(Some(&fan), "organizer-desk", &[]).await.ok();
    assert_eq!((desk.name.as_str(), desk.role), (name, Role::Owner));
    let page = arena.open(Some(&fan), "/organizer/members").await;
    assert!(page.body.contains("&lt;&amp;&gt;"), "names are shown as text");

    let member =
        |email: &'static str, role: &'static str| ["member", "--organization", name, "--email", email, "--role", role];
    let (code, out, err) = run(&member("new@promoter.example", "finance")).await;
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.contains("/organizer/join?token="), "{out}");
    let mailed = token(&arena, "new@promoter.example", 1).await;
    assert!(out.trim_end().ends_with(&mailed), "the printed link is the mailed one");
    let (code, _, err) = run(&["member", "--organization", name, "--email", &email, "--remove"]).await;
    assert_eq!(code, Some(1));
    assert!(err.contains("at least one owner"), "{err}");
    let (code, _, err) = run(&["member", "--organization", "Nobody", "--email", &email, "--remove"]).await;
    assert!(code == Some(1) && err.contains("no such organization"), "{err}");
    let removed = ["member", "--organization", name, "--email", "new@promoter.example", "--remove"];
    assert_eq!(run(&removed).await.0, Some(0));
    assert_eq!(run(&removed).await.0, Some(1), "there is nothing left to take back");
    let by_command = log(&arena, &fan, &[("who", "-")]).await.rows;
    let actions: Vec<&str> = by_command.iter().map(|row| row.action.as_str()).collect();
    assert_eq!(actions, ["member.revoke", "member.invite", "member.add", "organization.create"]);
    arena.finish().await;
}

async fn find(arena: &Arena, member: &Fan, text: &str) -> Vec<OrderId> {
    let found: Found = arena.call(Some(member), "organizer-orders", &[("text", text)]).await.ok();
    found.orders.into_iter().map(|order| order.id).collect()
}

async fn story(arena: &Arena, member: &Fan, order: OrderId) -> Reply {
    arena.call(Some(member), "organizer-order", &[("id", &order.to_string())]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_is_found_by_each_of_its_names_and_told_in_full() {
    let arena = Arena::web(Setup::default()).await;
    let (finance, door) = (arena.member(Role::Finance).await, arena.member(Role::Door).await);
    let empty = arena.open(Some(&finance), "/organizer/orders").await;
    assert!(empty.status == 200 && empty.body.contains("data-testid=\"empty\""), "{}", empty.status);
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "70,71").await;
    let started: PayStarted = arena.pay(&fan, held.order).await.ok();
    assert_eq!(arena.provider().card(&started, crate::arena::provider::DECLINED_CARD).await, 402);
    let order = arena.buy(&fan, held.order).await;
    crate::purchase::assert_paid_once(&arena, held.order, 2).await;
    let applied = "select count(*) from payment_inbox where applied_ms is null";
    eventually!(SOON, "all webhooks are acted upon", arena.count(applied).await == 0);
    let confirmed = "select count(*) from orders where id = $1 and confirmed_ms is not null";
    eventually!(SOON, "the map says sold", arena.count_of(order.id, confirmed).await == 1);

    is_found(&arena, &finance, &fan, &order).await;
    is_told(&arena, &finance, &fan, &order, &started).await;

    for path in ["/organizer/orders".to_owned(), format!("/organizer/orders/{}", order.id)] {
        assert_eq!(arena.open(Some(&door), &path).await.status, 403, "the door sees no orders");
        assert_eq!(arena.open(Some(&fan), &path).await.status, 404, "nor does a fan");
        assert_eq!(arena.open(None, &path).await.status, 401);
    }
    assert_eq!(story(&arena, &door, order.id).await.code(), Code::Forbidden);
    assert_eq!(arena.call(Some(&door), "organizer-orders", &[]).await.code(), Code::Forbidden);
    let foreign = arena.member_of("Another Promoter", Role::Owner).await;
    assert_eq!(story(&arena, &foreign, order.id).await.code(), Code::NotFound);
    assert_eq!(arena.open(Some(&foreign), &format!("/organizer/orders/{}", order.id)).await.status, 404);
    for text in [String::new(), order.id.to_string(), fan.session.email.clone(), order.tickets[0].code.clone()] {
        assert!(find(&arena, &foreign, &text).await.is_empty(), "{text}");
    }
    arena.finish().await;
}

async fn is_found(arena: &Arena, finance: &Fan, fan: &Fan, order: &OrderView) {
    let (id, email, ticket) = (order.id.to_string(), &fan.session.email, &order.tickets[1]);
    let texts = [
        String::new(),
        id.clone(),
        id.to_uppercase(),
        id[..8].to_owned(),
        id[..14].to_owned(),
        email.clone(),
        email.to_uppercase(),
        email[..20].to_owned(),
        "FAN".to_owned(),
        ticket.id.to_string(),
        ticket.code.clone(),
        format!("  {}\n{} ", &ticket.code[..80], &ticket.code[80..].to_lowercase()),
    ];
    for text in &texts {
        assert_eq!(find(arena, finance, text).await, [order.id], "{text}");
    }
    for text in
        ["no such thing", "zzz", "%", "___", &uuid::Uuid::new_v4().to_string(), "\u{10FFFF}\u{10FFFF}\u{10FFFF}"]
    {
        assert!(find(arena, finance, text).await.is_empty(), "{text}");
    }
    let count = async |form: &[(&str, &str)]| {
        arena.call(Some(finance), "organizer-orders", form).await.ok::<Found>().orders.len()
    };
    let performance = arena.performance.to_string();
    assert_eq!(count(&[("performance", &performance), ("status", "fulfilled"), ("text", &id)]).await, 1);
    assert_eq!(count(&[("performance", &performance), ("status", "closed")]).await, 0);
    assert_eq!(count(&[("performance", &uuid::Uuid::new_v4().to_string())]).await, 0);
    for (field, value) in [("performance", "x"), ("status", "x"), ("before", "x"), ("text", &*"x".repeat(5_000))] {
        let refusal = arena.call(Some(finance), "organizer-orders", &[(field, value)]).await.refusal();
        assert_eq!(refusal.code, Code::InvalidInput);
        assert!(refusal.message.starts_with(&format!("{field}: ")), "{}", refusal.message);
    }
    pages_are_whole(arena, finance, fan).await;
}

/// Sixty orders of one instant: every page goes on where the one before ended.
async fn pages_are_whole(arena: &Arena, finance: &Fan, fan: &Fan) {
    sqlx::query(
        "insert into orders (id, performance_id, account_id, status, currency, total_minor, price_version, created_ms, expires_ms, released_ms)
         select gen_random_uuid(), $1, $2, 'closed', 'EUR', 100, 1, 5000 + n / 20, 6000, 6000 from generate_series(1, 120) n",
    )
    .bind(arena.performance.0)
    .bind(fan.account.0)
    .execute(&arena.pg)
    .await
    .unwrap();
    for text in ["", "fan-"] {
        let (mut seen, mut before) = (Vec::new(), String::new());
        loop {
            let form = [("text", text), ("status", "closed"), ("before", &before)];
            let found: Found = arena.call(Some(finance), "organizer-orders", &form).await.ok();
            assert!(found.orders.len() <= 50);
            seen.extend(found.orders.into_iter().map(|order| order.id));
            match found.next {
                Some(next) => before = next.to_string(),
                None => break,
            }
        }
        let unique: std::collections::HashSet<_> = seen.iter().collect();
        assert_eq!((seen.len(), unique.len()), (120, 120), "{text:?}");
    }
    sqlx::query("delete from orders where total_minor = 100").execute(&arena.pg).await.unwrap();
}

async fn is_told(arena: &Arena, finance: &Fan, fan: &Fan, order: &OrderView, started: &PayStarted) {
    let told: OrderStory = story(arena, finance, order.id).await.ok();
    assert_eq!((told.head.status, &told.head.email), (OrderStatus::Fulfilled, &fan.session.email));
    assert_eq!((told.head.total, told.head.starts.zone.as_str()), (order.total, "Europe/Berlin"));
    assert_eq!(told.items, order.items);
    let to: Vec<OrderStatus> = told.steps.iter().map(|step| step.to).collect();
    assert_eq!(to, [OrderStatus::PaymentProcessing, OrderStatus::Paid, OrderStatus::Fulfilled]);
    assert_eq!(told.attempts.len(), 1, "a declined card is the same attempt");
    let attempt = &told.attempts[0];
    assert_eq!((attempt.id, attempt.provider.as_str(), attempt.amount), (started.attempt, "sandbox", order.total));
    assert!(attempt.reference.is_some() && attempt.next_query.is_none());
    assert!(told.webhooks.len() >= 2, "{:?}", told.webhooks);
    for webhook in &told.webhooks {
        assert!(webhook.applied.is_some() && webhook.tries >= 1 && webhook.kind.starts_with("payment."), "{webhook:?}");
        let body: serde_json::Value = serde_json::from_str(&webhook.body).unwrap();
        assert_eq!(body["data"]["object"]["reference"], started.attempt.to_string());
    }
    assert_eq!((told.refunds.len(), told.set_aside.len(), told.webhooks_left_out), (0, 0, false));
    assert_eq!(told.mails.len(), 1);
    assert_eq!((told.mails[0].kind.as_str(), &told.mails[0].to), ("tickets", &fan.session.email));
    assert!(told.mails[0].sent.is_some());
    assert_eq!(
        told.tickets.iter().map(|ticket| ticket.id).collect::<Vec<_>>(),
        [order.tickets[0].id, order.tickets[1].id]
    );
    let moments = told.timeline();
    assert!(moments.is_sorted_by_key(|moment| moment.at.at));
    assert_eq!(moments[0].what, What::Held);
    for wanted in [What::AttemptBegan(1), What::Issued(2), What::Confirmed] {
        assert!(moments.iter().any(|moment| moment.what == wanted), "{wanted:?} in {moments:?}");
    }

    let page = arena.open(Some(finance), &format!("/organizer/orders/{}", order.id)).await;
    assert_eq!(page.status, 200);
    for testid in ["order-story", "moment", "attempt", "webhook", "ticket", "story-mail", "items"] {
        assert!(page.body.contains(&format!("data-testid=\"{testid}\"")), "{testid}");
    }
    assert!(page.body.contains("UTC+"), "times are the venue's and say so");
    let answer = story(arena, finance, order.id).await.body;
    for ticket in &order.tickets {
        let code = &ticket.code;
        for secret in [code.as_str(), &code[10..40], &code[code.len() - 40..code.len() - 5]] {
            assert!(!page.body.contains(secret) && !answer.contains(secret), "a code would let its reader in");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_text_is_a_name_an_address_or_a_search_and_never_a_fault() {
    let arena = Arena::web(Setup::default()).await;
    let owner = arena.member(Role::Owner).await;
    let mut named = 0;
    for text in naughty() {
        match arena.backend.create_organization(text).await {
            Ok(_) => named += 1,
            Err(error) => assert_eq!(error.refusal().code, Code::InvalidInput, "{text}"),
        }
        let invited = invite(&arena, &owner, text, Role::Door).await;
        assert!(invited.status == 200 || invited.status == 400, "{text}: {} {}", invited.status, invited.body);
        let found = arena.call(Some(&owner), "organizer-orders", &[("text", text)]).await;
        assert!(found.status == 200 || found.status == 400, "{text}: {} {}", found.status, found.body);
        for filter in ["action", "subject", "who"] {
            let reply = arena.call(Some(&owner), "organizer-audit", &[(filter, text)]).await;
            assert!(reply.status == 200 || reply.status == 400, "{text}: {} {}", reply.status, reply.body);
        }
    }
    assert!(named > 300, "{named}");
    for text in naughty().filter(|text| text.contains('<')).take(40) {
        let query = reqwest::Url::parse_with_params("http://x/organizer/orders", [("text", text)]).unwrap();
        let page = arena.open(Some(&owner), &format!("/organizer/orders?{}", query.query().unwrap())).await;
        assert!(page.status < 500, "{text}");
        assert!(!page.body.contains(text), "shown as text, not as markup: {text}");
    }
    for nul in ["a\0b@example.org", "\0", "abc\0def"] {
        assert_eq!(invite(&arena, &owner, nul, Role::Door).await.code(), Code::InvalidInput);
        assert!(find(&arena, &owner, nul).await.is_empty());
    }
    for bad in ["nobody", "", "Owner"] {
        let form = [("email", "a@example.org"), ("role", bad)];
        assert_eq!(arena.call(Some(&owner), "organizer-member-invite", &form).await.code(), Code::InvalidInput);
    }
    // A name of markup, in every page that shows it.
    let markup = "<script>alert(1)</script>";
    let named = arena.member_of(markup, Role::Owner).await;
    for path in ["/organizer/members", "/organizer/audit", "/organizer/orders"] {
        let page = arena.open(Some(&named), path).await;
        assert!(page.status == 200 && !page.body.contains(markup), "{path}: {}", page.status);
        assert!(page.body.contains("&lt;script&gt;alert(1)"), "{path}");
    }
    arena.finish().await;
}
