//! The door holds: by whatever path, at whatever time, and for whoever comes.

use crate::arena::{Arena, Fan, Reply, SOON, Setup};
use domain::queue::{Entered, Joined};
use domain::{Code, Millis};

/// Every endpoint that gives seats, with a form that is right but for the pass.
const GIVING: [&str; 3] = ["hold", "hold-list", "hold-best"];

fn form(arena: &Arena, endpoint: &str) -> Vec<(&'static str, String)> {
    let wish = match endpoint {
        "hold" => vec![("seats", "1".to_owned()), ("areas", String::new())],
        "hold-list" => vec![("seats[0]", "1".to_owned())],
        _ => vec![("count", "1".to_owned())],
    };
    [("performance", arena.performance.to_string()), ("key", "key".to_owned())].into_iter().chain(wish).collect()
}

async fn ask(arena: &Arena, fan: &Fan, endpoint: &str) -> Reply {
    let form = form(arena, endpoint);
    let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
    arena.call(Some(fan), endpoint, &form).await
}

async fn seats_taken(arena: &Arena) -> usize {
    let bytes = arena.backend.seat_bytes(arena.performance).await.unwrap();
    bytes.iter().filter(|byte| **byte % 4 == 1 || **byte % 4 == 2).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_spelling_of_an_address_leads_past_the_door() {
    let arena = Arena::web(Setup::default()).await;
    let fan = arena.fans(1).await.remove(0);
    for endpoint in GIVING {
        let reply = ask(&arena, &fan, endpoint).await;
        assert_eq!((reply.status, reply.code()), (403, Code::PassRequired), "{endpoint}");
        let form = form(&arena, endpoint);
        for path in [
            format!("//api/{endpoint}"),
            format!("/api//{endpoint}"),
            format!("/API/{endpoint}"),
            format!("/api/{endpoint}/"),
            format!("/api/%68old{}", endpoint.trim_start_matches("hold")),
            format!("/api/./{endpoint}"),
            format!("/queue/../api/{endpoint}"),
            format!("/api/{endpoint};x=1"),
            format!("/api/{endpoint}?pass=anything"),
        ] {
            let request = arena.request(reqwest::Method::POST, &path).header("cookie", &fan.cookie);
            let reply = arena.send(request.form(&form)).await;
            assert!(reply.status >= 400, "{path}: {} {}", reply.status, reply.body);
        }
    }
    assert_eq!(seats_taken(&arena).await, 0);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn before_the_opening_nothing_can_be_bought_through_any_endpoint_also_with_a_pass() {
    let arena = Arena::web(Setup::default()).await;
    // This fan came in while the sale was open, so that only the time is against it.
    let early = arena.one_inside().await;
    let waiting = arena.fans(1).await.remove(0);
    let hour = arena.backend.now().plus(3_600_000);
    sqlx::query("update performances set opens_ms = $2, settings_version = settings_version + 1 where id = $1")
        .bind(arena.performance.0)
        .bind(hour.0)
        .execute(&arena.pg)
        .await
        .unwrap();
    let known = async || {
        let meta = format!("sa:1:{{p{}}}:meta", arena.performance.simple());
        let opens: i64 = redis::cmd("HGET").arg(meta).arg("opens").query_async(&mut arena.redis().await).await.unwrap();
        opens == hour.0
    };
    eventually!(SOON, "the opening is known", known().await);
    for endpoint in GIVING {
        let code = ask(&arena, &early, endpoint).await.code();
        assert!(matches!(code, Code::SaleClosed | Code::NoneLeft), "{endpoint}: {code:?}");
    }
    let performance = arena.performance.to_string();
    let joined = arena.call(Some(&waiting), "queue-join", &[("performance", &performance)]).await.ok::<Joined>();
    let form = [("performance", performance.as_str()), ("ticket", joined.ticket.as_str()), ("nonce", "n")];
    let code = arena.call(Some(&waiting), "queue-enter", &form).await.code();
    assert!(matches!(code, Code::NotYourTurn | Code::SaleClosed), "{code:?}");
    assert_eq!(seats_taken(&arena).await, 0);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tickets_and_passes_outlive_a_change_of_keys_as_long_as_the_old_one_is_kept() {
    let old = "an old key of thirty-two bytes or more, kept";
    let settings = vec![("STARARENA_TOKEN_KEYS", old.to_owned())];
    let mut arena = Arena::web(Setup { settings, ..Setup::default() }).await;
    let fan = arena.fans(1).await.remove(0);
    let performance = arena.performance.to_string();
    let ticket = arena.call(Some(&fan), "queue-join", &[("performance", &performance)]).await.ok::<Joined>().ticket;
    arena.kill_server().await;
    let both = format!("a new key of thirty-two bytes or more, first,{old}");
    arena.start_server(&[("STARARENA_TOKEN_KEYS", &both)]).await;
    let enter = async |ticket: &str| {
        let form = [("performance", performance.as_str()), ("ticket", ticket), ("nonce", "n")];
        arena.call(Some(&fan), "queue-enter", &form).await
    };
    eventually!(SOON, "the old ticket opens the door", enter(&ticket).await.status == 200);
    let again = arena.call(Some(&fan), "queue-join", &[("performance", &performance)]).await.ok::<Joined>();
    assert_ne!(again.ticket, ticket, "signed anew, by the new key");
    let entered: Entered = enter(&again.ticket).await.ok();
    assert!(entered.expires > Millis(0));
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_that_is_too_much_is_turned_away_at_once_with_times_of_its_own_and_loses_nothing() {
    // A process that may hold no memory at all is beyond its bound from the first look on.
    let settings = vec![("STARARENA_SHED_MEMORY_BYTES", "1".to_owned())];
    let arena = Arena::web(Setup { settings, ..Setup::default() }).await;
    let fan = arena.fans(1).await.remove(0);
    let path = format!("/api/performances/{}/queue/join", arena.performance);
    let join = async || {
        let request = arena.request(reqwest::Method::POST, &path).header("cookie", &fan.cookie);
        arena.send(request.header("content-length", "0")).await
    };
    eventually!(SOON, "newcomers are turned away", join().await.status == 503);
    let mut waits = std::collections::BTreeSet::new();
    let mut arrivals = std::collections::BTreeSet::new();
    for _ in 0..400 {
        let reply = join().await;
        if reply.status == 200 {
            arrivals.insert(reply.ok::<Joined>().arrival);
            continue;
        }
        let refusal = reply.refusal();
        assert_eq!(refusal.code, Code::Overloaded);
        waits.insert(refusal.retry_after_ms.unwrap());
    }
    assert!(waits.len() > 50, "times are spread: {}", waits.len());
    assert!(arrivals.len() <= 1, "whoever gets through keeps one place: {arrivals:?}");
    let page = arena.open(None, &format!("/performances/{}/queue", arena.performance)).await;
    assert!(page.status == 503 || page.status == 200, "{}", page.status);
    if page.status == 503 {
        assert!(page.body.contains("http-equiv=\"refresh\""), "the page comes again by itself: {}", page.body);
    }
    let status = arena.open(None, &format!("/api/performances/{}/queue/status", arena.performance)).await;
    assert_eq!(status.status, 200, "who waits is served all the same");
    arena.finish().await;
}
