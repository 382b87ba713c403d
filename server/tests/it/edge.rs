//! Bad input everywhere: the right 4xx with a stable code and a sentence, never a 5xx, nothing changed.

use crate::arena::http::cookies;
use crate::arena::{Arena, Fan, SOON, Setup};
use domain::Code;
use reqwest::Method;
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
