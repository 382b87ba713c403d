//! Bad input everywhere: the right 4xx with a stable code and a sentence, never a 5xx, nothing changed. And pages
//! for everybody, which are kept for nobody else.

use crate::arena::http::cookies;
use crate::arena::{Arena, Fan, Reply, SOON, Setup};
use domain::Code;
use reqwest::Method;
use std::collections::HashMap;
use std::time::Instant;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const FORM: &str = "application/x-www-form-urlencoded";
/// Server functions that take something, with a field that is no such thing.
const FUNCTIONS: [(&str, &str); 23] = [
    ("sign-up", "email"),
    ("sign-in", "email"),
    ("confirm-email", "token"),
    ("event", "slug"),
    ("performance", "id"),
    ("seat-list", "id"),
    ("queue-view", "performance"),
    ("queue-join", "performance"),
    ("queue-enter", "performance"),
    ("hold", "performance"),
    ("hold-list", "performance"),
    ("my-hold", "performance"),
    ("hold-release", "order"),
    ("order", "id"),
    ("order-pay", "order"),
    ("order-cancel", "order"),
    ("organizer-event", "id"),
    ("organizer-event-save", "fields"),
    ("organizer-draft-new", "event"),
    ("organizer-draft", "id"),
    ("organizer-draft-save", "form"),
    ("organizer-draft-publish", "id"),
    ("organizer-draft-delete", "id"),
];

/// What the server says to bytes as they are; the connection is closed for writing behind them.
async fn spoken(arena: &Arena, bytes: &str) -> String {
    let mut stream = TcpStream::connect(arena.origin.trim_start_matches("http://")).await.unwrap();
    stream.write_all(bytes.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = Vec::new();
    tokio::time::timeout(SOON, stream.read_to_end(&mut answer)).await.expect("the connection ends").ok();
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_input_is_refused_by_every_server_function_with_a_stable_code() {
    // The limit of sign-ins would answer in place of what is tried here.
    let setup = Setup { settings: vec![("STARARENA_SIGN_INS_PER_MIN", "100000".to_owned())], ..Setup::default() };
    let arena = Arena::web(setup).await;
    let fan = arena.one_inside().await;
    let nobody = uuid::Uuid::new_v4().to_string();
    for (function, field) in FUNCTIONS {
        let bodies: [(&str, Vec<u8>); 9] = [
            (FORM, Vec::new()),
            (FORM, format!("{field}=").into_bytes()),
            (FORM, format!("{field}=not-an-id").into_bytes()),
            (FORM, format!("{field}={nobody}").into_bytes()),
            (FORM, format!("{field}=%ff%fe%00").into_bytes()),
            (FORM, format!("{field}[a][b]=1&{field}=2&&=&==").into_bytes()),
            (FORM, format!("{field}=' or 1=1 --").into_bytes()),
            ("application/json", b"{\"half\":".to_vec()),
            ("text/plain; charset=nonsense", vec![0xff, 0x00, 0xfe]),
        ];
        for (content_type, body) in bodies {
            let shown = String::from_utf8_lossy(&body).into_owned();
            let reply = arena.call_raw(&fan, function, content_type, body).await;
            assert!((400..500).contains(&reply.status), "{function} `{shown}`: {} {}", reply.status, reply.body);
            reply.refusal();
        }
    }
    assert_eq!(arena.count("select count(*) from orders").await, 0, "nothing changed");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_there_is_404_and_what_is_too_large_is_413() {
    let arena = Arena::web(Setup::default()).await;
    let fan = arena.one_inside().await;
    let nobody = uuid::Uuid::new_v4();
    for path in [
        format!("/api/performances/{nobody}/queue/status"),
        "/api/performances/x/queue/status".to_owned(),
        format!("/maps/{}.bin", "0".repeat(64)),
        "/maps/..%2f..%2fetc%2fpasswd.bin".to_owned(),
        "/maps/x.exe".to_owned(),
    ] {
        let reply = arena.open(Some(&fan), &path).await;
        assert_eq!((reply.status, reply.code()), (404, Code::NotFound), "{path}");
    }
    for path in [
        format!("/orders/{nobody}"),
        "/orders/x".to_owned(),
        "/events/nothing".to_owned(),
        "/events/nothing%20at%20all".to_owned(),
        format!("/performances/{nobody}/queue"),
        "/performances/x/seats".to_owned(),
        "/performances/x/list".to_owned(),
        "/no/such/page".to_owned(),
    ] {
        assert_eq!(arena.open(Some(&fan), &path).await.status, 404, "{path}");
    }
    let large = vec![b'x'; 65 * 1024];
    let reply = arena.call_raw(&fan, "hold", FORM, large.clone()).await;
    assert_eq!((reply.status, reply.code()), (413, Code::TooLarge));
    let chunked = "POST /api/hold HTTP/1.1\r\nhost: x\r\norigin: ORIGIN\r\ntransfer-encoding: chunked\r\n\r\n";
    let answer = spoken(&arena, &chunked.replace("ORIGIN", &arena.origin)).await;
    assert!(
        answer.starts_with("HTTP/1.1 413") && answer.contains("too_large"),
        "without a length it could grow for ever: {answer}"
    );
    for nonsense in ["hello\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET /%zz HTTP/1.1\r\nhost: \u{7f}\r\n\r\n"] {
        let answer = spoken(&arena, nonsense).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{nonsense:?}: {answer}");
    }
    let reply = arena.call_raw(&fan, "sign-in", FORM, format!("email={}", "a".repeat(60_000)).into_bytes()).await;
    assert!((400..500).contains(&reply.status), "{}", reply.status);
    let method = arena.send(arena.request(Method::DELETE, "/api/hold")).await;
    assert!((400..500).contains(&method.status), "{}", method.status);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_from_another_site_changes_nothing() {
    let arena = Arena::web(Setup::default()).await;
    let fan = arena.one_inside().await;
    let performance = arena.performance.to_string();
    let form = [("performance", performance.as_str()), ("seats", "1"), ("key", "k")];
    let own = arena.origin.as_str();
    let port = own.rsplit(':').next().unwrap();
    let foreign = [
        format!("http://127.0.0.1.evil.example:{port}"),
        format!("https://127.0.0.1:{port}"),
        "null".to_owned(),
        "http://evil.example".to_owned(),
    ];
    let mut refused: Vec<Vec<(&str, &str)>> = vec![vec![]];
    refused.extend(foreign.iter().map(|origin| vec![("origin", origin.as_str())]));
    refused.extend(["cross-site", "same-site", "nonsense"].map(|site| vec![("origin", own), ("sec-fetch-site", site)]));
    for headers in refused {
        let mut request = arena.plain_request(Method::POST, "/api/hold").header("cookie", cookies(&fan)).form(&form);
        for (name, value) in &headers {
            request = request.header(*name, *value);
        }
        let reply = arena.send(request).await;
        assert_eq!((reply.status, reply.code()), (403, Code::CrossSite), "{headers:?}");
    }
    assert_eq!(arena.seat(1).await, 0, "nothing is held");
    let browser = arena
        .plain_request(Method::POST, "/api/hold")
        .header("sec-fetch-site", "same-origin")
        .header("cookie", cookies(&fan));
    assert_eq!(arena.send(browser.form(&form)).await.status, 200);
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_without_javascript_is_sent_onward_and_every_answer_is_guarded() {
    let arena = Arena::web(Setup::default()).await;
    let fan = arena.one_inside().await;
    let form = [
        ("performance", arena.performance.to_string()),
        ("key", "nojs".to_owned()),
        ("seats[0]", "5".to_owned()),
        ("seats[1]", "6".to_owned()),
    ];
    let request = arena
        .plain_request(Method::POST, "/api/hold-list")
        .header("origin", &arena.origin)
        .header("accept", "text/html");
    let reply = arena.send(request.header("cookie", cookies(&fan)).form(&form)).await;
    assert_eq!(reply.status, 302, "{}", reply.body);
    let target = reply.headers["location"].to_str().unwrap().to_owned();
    assert!(target.starts_with("/orders/"), "{target}");
    let page = arena.open(Some(&fan), &target).await;
    assert_eq!(page.status, 200);
    for (name, part) in [
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "script-src"),
        ("cache-control", "no-store"),
        ("x-request-id", ""),
        ("referrer-policy", "strict-origin"),
    ] {
        let value = page.headers.get(name).unwrap_or_else(|| panic!("{name} is missing")).to_str().unwrap();
        assert!(value.contains(part), "{name}: {value}");
    }
    let stranger: Option<&Fan> = None;
    assert_eq!(arena.open(stranger, "/metrics").await.status, 200, "for this machine");
    let proxied = arena.plain_request(Method::GET, "/metrics").header("x-forwarded-for", "203.0.113.9");
    assert_eq!(arena.send(proxied).await.status, 404, "not for a proxy's visitors");
    arena.finish().await;
}

/// The nonce of a page, which its body and its policy must have in common.
#[track_caller]
fn nonce(page: &Reply) -> String {
    assert_eq!(page.status, 200, "{}", page.body);
    let policy = page.header("content-security-policy");
    let (_, rest) = policy.split_once("'nonce-").expect("a policy names a nonce");
    let nonce = rest.split('\'').next().unwrap().to_owned();
    assert!(page.body.contains(&nonce), "the body has the nonce of its policy: {}", page.body);
    nonce
}

/// The address of the arena's event.
async fn event_page(arena: &Arena) -> String {
    format!("/events/{}", arena.backend.performance(arena.performance).await.unwrap().slug)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_on_a_page_for_everybody_is_a_few_renderings() {
    const VISITS: usize = 60;
    let arena = Arena::web(Setup::default()).await;
    for path in [event_page(&arena).await, "/".to_owned()] {
        // What the first rendering of a process has to read is not what this is about.
        assert_eq!(arena.open(None, &format!("{path}?first")).await.status, 200);
        let (before, started) = (arena.metric("stararena_pages_kept_total").await, Instant::now());
        let pages = futures::future::join_all((0..VISITS).map(|_| arena.open(None, &path))).await;
        let kept = arena.metric("stararena_pages_kept_total").await - before;
        let mut shown: HashMap<String, &Reply> = HashMap::new();
        for page in &pages {
            assert!(page.header("cache-control").starts_with("public, max-age=2"), "{path}");
            let first = shown.entry(nonce(page)).or_insert(page);
            assert_eq!(first.body, page.body, "{path}: one nonce is one page");
        }
        // One rendering in two seconds, and a visitor who waited too long for it has one of their own.
        let most = 2.0 + started.elapsed().as_secs_f64();
        assert!((shown.len() as f64) <= most, "{path}: {} renderings for {VISITS} visits", shown.len());
        assert!((kept - (VISITS - shown.len()) as f64).abs() < f64::EPSILON, "{path}: {kept} were kept ones");
    }
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kept_page_is_for_nobody_else_and_ends_with_its_seconds() {
    let arena = Arena::web(Setup::default()).await;
    let fan = arena.fans(1).await.remove(0);
    let path = event_page(&arena).await;
    let ask = async |method: Method, path: &str, name: &str, value: &str| {
        arena.send(arena.plain_request(method, path).header(name, value)).await
    };
    let shown = arena.open(None, &path).await;
    let first = nonce(&shown);
    assert!(shown.body.contains("<html lang=\"en\""), "{}", shown.body);
    let own = arena.open(Some(&fan), &path).await;
    assert_ne!(nonce(&own), first, "a session has pages of its own");
    assert!(own.body.contains(&fan.session.email), "{}", own.body);
    assert_eq!(own.header("cache-control"), "no-store");
    for wishes in ["zh-CN,zh;q=0.9,en;q=0.8", "fr, zh;q=0.5"] {
        let chinese = ask(Method::GET, &path, "accept-language", wishes).await;
        assert!(chinese.body.contains("<html lang=\"zh\""), "{wishes}: {}", chinese.body);
        assert_ne!(nonce(&chinese), first);
    }
    let english = ask(Method::GET, &path, "accept-language", "en-GB,en;q=0.9,zh;q=0.1").await;
    assert!(english.body.contains("<html lang=\"en\"") && !english.body.contains(&fan.session.email));
    let queried = arena.open(None, &format!("{path}?from=mail")).await;
    assert_ne!(nonce(&queried), nonce(&arena.open(None, &format!("{path}?from=mail")).await), "none of these is kept");

    // Neither a head nor a condition is answered by what is kept.
    let head = ask(Method::HEAD, &path, "accept", "text/html").await;
    assert_eq!((head.status, head.body.as_str(), head.header("cache-control")), (200, "", "no-store"));
    let conditional = ask(Method::GET, &path, "if-none-match", "*").await;
    assert!(conditional.status == 200 && !conditional.body.is_empty(), "a page has no tag that could be the same");
    for _ in 0..2 {
        let missing = arena.open(None, "/events/no-such-event").await;
        assert_eq!((missing.status, missing.header("cache-control")), (404, "no-store"));
    }

    let title = "An evening that was renamed";
    assert!(!shown.body.contains(title));
    sqlx::query("update events set title = $1 where slug = $2")
        .bind(title)
        .bind(path.trim_start_matches("/events/"))
        .execute(&arena.pg)
        .await
        .unwrap();
    eventually!(SOON, "what was changed is shown", arena.open(None, &path).await.body.contains(title));
    arena.finish().await;
}
