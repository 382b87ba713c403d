//! Signing up, confirming, signing in and out, over HTTP.

use crate::arena::{Arena, Fan, Reply, SOON, Setup};
use domain::Code;
use domain::account::{MailView, Me};

const EMAIL: &str = "ana@fans.example";
const PASSWORD: &str = "correct horse battery";

async fn sign_in(arena: &Arena, email: &str, password: &str) -> Reply {
    arena.call(None, "sign-in", &[("email", email), ("password", password)]).await
}

async fn with_cookie(arena: &Arena, reply: &Reply) -> Fan {
    let cookie = reply.cookie("sa-session").expect("a session cookie is set");
    let (session, _) = arena.backend.read_session(cookie.split_once('=').unwrap().1).await.unwrap().unwrap();
    Fan { account: session.account, session, cookie, pass: None }
}

async fn me(arena: &Arena, fan: &Fan) -> Option<Me> {
    arena.call(Some(fan), "me", &[]).await.ok()
}

async fn mails_to(arena: &Arena, address: &str) -> Vec<MailView> {
    let list: Vec<MailView> = arena.call(None, "mailbox", &[]).await.ok();
    list.into_iter().filter(|mail| mail.to == address).collect()
}

/// The token in the newest confirmation mail, once it is delivered.
async fn token(arena: &Arena, mails: usize) -> String {
    eventually!(SOON, "the mail is there", mails_to(arena, EMAIL).await.len() >= mails);
    let found = mails_to(arena, EMAIL).await;
    let (_, rest) = found[0].body.split_once("/confirm?token=").expect("the mail carries its link");
    rest.split_whitespace().next().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_is_made_confirmed_once_and_signed_out() {
    let arena = Arena::web(Setup::default()).await;
    let reply = arena.call(None, "sign-up", &[("email", " Ana@Fans.example "), ("password", PASSWORD)]).await;
    let made: Me = reply.ok();
    assert_eq!((made.email.as_str(), made.verified, made.role), (EMAIL, false, None));
    let set = reply.headers.get("set-cookie").unwrap().to_str().unwrap().to_owned();
    assert!(set.contains("HttpOnly") && set.contains("SameSite=Lax") && set.contains("Path=/"), "{set}");
    let fan = with_cookie(&arena, &reply).await;

    let taken = arena.call(None, "sign-up", &[("email", "ANA@fans.example"), ("password", PASSWORD)]).await;
    assert_eq!((taken.status, taken.code()), (409, Code::EmailTaken));
    for (email, password) in [("ana", PASSWORD), ("b@fans.example", "short"), ("b@fans.example", &"x".repeat(300))] {
        let reply = arena.call(None, "sign-up", &[("email", email), ("password", password)]).await;
        assert_eq!((reply.status, reply.code()), (400, Code::InvalidInput), "{email}");
    }

    let first = token(&arena, 1).await;
    let () = arena.call(Some(&fan), "resend-confirmation", &[]).await.ok();
    let second = token(&arena, 2).await;
    assert_ne!(first, second);
    sqlx::query("update email_confirmations set expires_ms = 1").execute(&arena.pg).await.unwrap();
    for bad in [first.as_str(), second.as_str(), "", "0", &"f".repeat(500)] {
        assert_eq!(arena.call(Some(&fan), "confirm-email", &[("token", bad)]).await.code(), Code::LinkInvalid);
    }
    assert!(!me(&arena, &fan).await.unwrap().verified, "an expired link confirms nobody");
    sqlx::query("update email_confirmations set expires_ms = 9000000000000").execute(&arena.pg).await.unwrap();
    let confirmed = arena.call(Some(&fan), "confirm-email", &[("token", &second)]).await;
    let () = confirmed.ok();
    let fan = with_cookie(&arena, &confirmed).await;
    assert!(me(&arena, &fan).await.unwrap().verified, "the browser of the sign-in knows at once");
    assert_eq!(
        arena.call(Some(&fan), "confirm-email", &[("token", &second)]).await.code(),
        Code::LinkInvalid,
        "a link works once"
    );
    assert_eq!(arena.call(Some(&fan), "resend-confirmation", &[]).await.code(), Code::WrongState);

    let () = arena.call(Some(&fan), "sign-out", &[]).await.ok();
    assert_eq!(me(&arena, &fan).await, None, "a session that was ended is none, with its cookie still there");
    assert_eq!(arena.call(Some(&fan), "orders", &[]).await.code(), Code::SignInRequired);
    let () = arena.call(Some(&fan), "sign-out", &[]).await.ok();

    for (email, password) in
        [(EMAIL, "wrong password"), ("nobody@fans.example", PASSWORD), ("", ""), (EMAIL, &"x".repeat(5_000))]
    {
        let reply = sign_in(&arena, email, password).await;
        assert_eq!((reply.status, reply.code()), (401, Code::WrongCredentials), "{email}");
        assert_eq!(reply.cookie("sa-session"), None);
    }
    let back = with_cookie(&arena, &sign_in(&arena, "ANA@FANS.EXAMPLE", PASSWORD).await).await;
    assert_eq!(me(&arena, &back).await.map(|me| (me.email, me.verified)), Some((EMAIL.to_owned(), true)));
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_many_sign_ins_from_one_address_are_told_to_wait() {
    let arena = Arena::web(Setup::default()).await;
    let mut codes = Vec::new();
    for _ in 0..40 {
        // No address at all: the limit comes first and costs nothing.
        codes.push(sign_in(&arena, "x", "x").await.refusal());
    }
    assert!(codes[..20].iter().all(|refusal| refusal.code == Code::WrongCredentials));
    let last = codes.last().unwrap();
    assert_eq!(last.code, Code::TooManyRequests);
    assert!(last.retry_after_ms.is_some());
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forged_session_is_nobody() {
    let arena = Arena::web(Setup::default()).await;
    let fan = arena.fans(1).await.remove(0);
    let keys = domain::token::TokenKeys::new(vec![b"a key that is not the server's own".to_vec()]);
    let forged = keys.sign(domain::account::SESSION_PURPOSE, &fan.session);
    let long = "x".repeat(2_000);
    for token in [forged.as_str(), &fan.cookie["sa-session=".len() + 1..], "", "...", &long] {
        let stranger = Fan { cookie: format!("sa-session={token}"), ..fan.clone() };
        assert_eq!(me(&arena, &stranger).await, None);
        assert_eq!(arena.call(Some(&stranger), "orders", &[]).await.code(), Code::SignInRequired);
    }
    arena.finish().await;
}
