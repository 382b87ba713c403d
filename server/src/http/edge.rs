//! The edge that every request passes: request id, size, origin, caller, headers, measurement.

use super::errors::{self, failed, refuse};
use super::{BODY_MAX_BYTES, State, uploads};
use app::context::{Caller, PageNonce, SESSION_COOKIE, session_header};
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State as Extract};
use axum::middleware::Next;
use axum::response::Response;
use backend::Client;
use cookie::Cookie;
use domain::{Code, Refusal};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::LazyLock;
use std::time::Instant;
use tracing::Instrument as _;

/// Paths that other parties call without a browser.
const WEBHOOKS: &str = "/webhooks/";
/// Pages of offered tickets; what follows is the secret of one.
const OFFERS: &str = "/transfers/";
/// Files under the digest of their content: they never change.
const IMMUTABLE: &str = "public, max-age=31536000, immutable";
/// Pages that are the same for all who ask in a language: so long they are kept by caches, and by this process
/// (`shared.rs`).
const SHARED: &str = "public, max-age=2, stale-while-revalidate=5";
/// Whether the build tool watches the sources: its script listens for changes on a port of its own.
static LIVE_RELOAD: LazyLock<bool> = LazyLock::new(|| std::env::var_os("LEPTOS_WATCH").is_some());
/// Most cookies that are read from one request.
const COOKIES_MAX: usize = 64;

/// Passes one request through the edge.
pub(super) async fn edge(Extract(state): Extract<State>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = uuid::Uuid::now_v7().simple().to_string();
    let path = request.uri().path().to_owned();
    let method = request.method().clone();
    let https = state.backend.config().public_url.starts_with("https://");
    let span = tracing::info_span!("request", id, %method, path = logged(&path));
    let nonce = uuid::Uuid::new_v4().simple().to_string();
    let shared = is_shared(&request);
    request.extensions_mut().insert(PageNonce(nonce.clone()));
    let response = async {
        if let Some(refused) = check(&state, &request) {
            return refused;
        }
        if is_static(&path) {
            return next.run(request).await;
        }
        if is_for_newcomers(&path)
            && let Err(refusal) = state.backend.load().admit()
        {
            return busy(&refusal, &path);
        }
        let seen = seen(&state, &request);
        match caller(&state, seen, &path).await {
            Ok((caller, renewed)) => {
                request.extensions_mut().insert(caller);
                let mut response = next.run(request).await;
                if let Some(cookie) = renewed.and_then(|cookie| HeaderValue::from_str(&cookie).ok()) {
                    response.headers_mut().append(header::SET_COOKIE, cookie);
                }
                response
            }
            Err(response) => *response,
        }
    }
    .instrument(span)
    .await;
    measure(&method, &path, &response, started);
    finish(shared_page(response, shared), &path, &id, &nonce, https)
}

/// A path as logs may keep it: the link of an offer carries its secret there.
fn logged(path: &str) -> &str {
    if path.starts_with(OFFERS) { OFFERS } else { path }
}

/// The answer to who is turned away: a page that comes again by itself, or the refusal for programs.
fn busy(refusal: &Refusal, path: &str) -> Response {
    let mut response = errors::answer(refusal);
    if !path.starts_with("/api/") {
        let seconds = refusal.retry_after_ms.unwrap_or(2_000).div_ceil(1_000);
        *response.body_mut() = Body::from(format!(
            "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>StarArena</title>\
             <meta name=\"viewport\" content=\"width=device-width\"><meta http-equiv=\"refresh\" content=\"{seconds}\">\
             </head><body><main><h1>One moment</h1><p>Very many people are coming in. This page tries again by itself in \
             {seconds} s. Places and orders that you have are safe.</p><p lang=\"zh\">访问的人非常多。本页将在 {seconds} \
             秒后自动重试，您已有的排队位置和订单都不会丢失。</p></main></body></html>"
        ));
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    }
    response
}

/// What needs no store: the size that is announced, and where an unsafe request comes from.
fn check(state: &State, request: &Request) -> Option<Response> {
    let length = request
        .headers()
        .get(header::CONTENT_LENGTH)
        .and_then(|v| v.to_str().ok())
        .and_then(|v| v.parse::<usize>().ok());
    // Where files are taken, the handler says who may send them before it bounds them.
    let most = if uploads::takes_files(request.uri().path()) { usize::MAX } else { BODY_MAX_BYTES };
    if length.is_some_and(|length| length > most) {
        return Some(unread(refuse(Code::TooLarge, "the body is larger than 64 KiB")));
    }
    // Bodies without a length are no form of ours, and could grow without a bound.
    if request.headers().contains_key(header::TRANSFER_ENCODING) {
        return Some(unread(refuse(Code::TooLarge, "a body with its length is expected")));
    }
    let unsafe_method = !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let upgrade = request.headers().contains_key(header::UPGRADE);
    if (unsafe_method || upgrade) && !request.uri().path().starts_with(WEBHOOKS) && !same_site(state, request.headers())
    {
        return Some(refuse(Code::CrossSite, "this request came from another site, or does not say from where"));
    }
    None
}

/// An answer given before the body was read: the connection can't be used again, and says so, or a
/// client's next request on it would be lost.
pub(super) fn unread(mut response: Response) -> Response {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Browsers say where a request comes from, in one header or the other; what says neither is no page
/// of ours. A client that is no browser sends our origin.
pub(super) fn same_site(state: &State, headers: &HeaderMap) -> bool {
    if let Some(site) = headers.get("sec-fetch-site") {
        return matches!(site.as_bytes(), b"same-origin" | b"none");
    }
    let Some(origin) = headers.get(header::ORIGIN).and_then(|v| v.to_str().ok()) else { return false };
    if origin == state.backend.config().public_url {
        return true;
    }
    // In development the same server is reached under several names.
    state.backend.config().is_development()
        && headers
            .get(header::HOST)
            .and_then(|v| v.to_str().ok())
            .is_some_and(|host| origin == format!("http://{host}"))
}

fn is_static(path: &str) -> bool {
    ["/pkg/", "/maps/", "/pictures/", "/fonts/", "/healthz", "/readyz", "/metrics", WEBHOOKS, "/favicon"]
        .iter()
        .any(|prefix| path.starts_with(prefix))
        || (path.starts_with("/api/performances/")
            && ["/queue/draw", "/queue/arrivals", "/revocations"].iter().any(|end| path.ends_with(end)))
        || path == "/api/ticket-keys"
}

/// Whether a page is the same for all who ask for it in a language: a public one, for a visitor who brings
/// nothing along.
fn is_shared(request: &Request) -> bool {
    let path = request.uri().path();
    request.method() == Method::GET
        && (path == "/" || path.starts_with("/events/"))
        && !request.headers().contains_key(header::COOKIE)
        && !request.headers().contains_key(header::AUTHORIZATION)
}

/// Lets caches keep a shared page for a moment, so that a crowd on an event's page costs one rendering. Its
/// nonce is then that of some seconds, which is why only pages without anything of a visitor's are kept.
fn shared_page(mut response: Response, shared: bool) -> Response {
    let is_whole = response.status() == http::StatusCode::OK && !response.headers().contains_key(header::SET_COOKIE);
    if shared && is_whole {
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(SHARED));
        headers.append(header::VARY, HeaderValue::from_static("accept-language, cookie"));
    }
    response
}

/// What newcomers ask for: turned away first when the process has too much to do. Who is inside, who pays
/// and who sells goes elsewhere.
fn is_for_newcomers(path: &str) -> bool {
    path == "/"
        || ["/events/", "/sign-in", "/sign-up", "/api/queue-join", "/api/queue-view", "/api/sign-up"]
            .iter()
            .any(|prefix| path.starts_with(prefix))
        || (path.starts_with("/performances/") && (path.ends_with("/queue") || path.ends_with("/draw")))
}

/// What a request says about its caller, before anything is believed.
fn seen(state: &State, request: &Request) -> Caller {
    let cookies: Vec<(String, String)> = request
        .headers()
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(Cookie::split_parse)
        .filter_map(Result::ok)
        .take(COOKIES_MAX)
        .map(|cookie| (cookie.name().to_owned(), cookie.value().to_owned()))
        .collect();
    Caller { session: None, client: Client { ip: client_ip(state, request) }, cookies }
}

/// Who calls, and a renewed session cookie where the old one was no longer fresh.
async fn caller(state: &State, seen: Caller, path: &str) -> Result<(Caller, Option<String>), Box<Response>> {
    let name = state.backend.cookie_name(SESSION_COOKIE);
    let Some((_, token)) = seen.cookies.iter().find(|(found, _)| *found == name) else { return Ok((seen, None)) };
    match state.backend.read_session(token).await {
        Ok(Some((session, renewed))) => {
            let renewed = renewed.map(|token| session_header(name, token));
            Ok((Caller { session: Some(session), ..seen }, renewed))
        }
        Ok(None) => Ok((seen, None)),
        // Calls must not act for somebody who can't be checked; pages are shown as to a stranger.
        Err(error) if path.starts_with("/api/") || path.starts_with("/ws/") => Err(Box::new(failed(&error))),
        Err(_) => Ok((seen, None)),
    }
}

/// The right-most hop that is no trusted proxy.
fn client_ip(state: &State, request: &Request) -> IpAddr {
    let peer = request
        .extensions()
        .get::<ConnectInfo<SocketAddr>>()
        .map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |info| info.0.ip());
    if !state.trusted_proxies.contains(&peer) {
        return peer;
    }
    request
        .headers()
        .get_all("x-forwarded-for")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|hop| hop.trim().parse().ok())
        .rfind(|hop| !state.trusted_proxies.contains(hop))
        .unwrap_or(peer)
}

fn measure(method: &Method, path: &str, response: &Response, started: Instant) {
    // A few kinds, not paths: names of metrics must stay bounded.
    let kind = match path {
        "/" => "page",
        _ if path.starts_with("/api/") => "api",
        _ if path.starts_with("/ws/") => "socket",
        _ if path.starts_with(WEBHOOKS) => "webhook",
        _ if is_static(path) => "static",
        _ => "page",
    };
    let class = match response.status().as_u16() {
        100..=199 => "1xx",
        200..=299 => "2xx",
        300..=399 => "3xx",
        400..=499 => "4xx",
        _ => "5xx",
    };
    metrics::counter!("stararena_requests_total", "kind" => kind, "status" => class).increment(1);
    metrics::histogram!("stararena_request_seconds", "kind" => kind).record(started.elapsed().as_secs_f64());
    tracing::debug!(%method, path = logged(path), status = response.status().as_u16(), "answered");
}

/// Scripts run by nonce only, styles come from our files only. There is no `form-action`: a form
/// without JavaScript is redirected to the payment provider's page, and browsers apply that
/// directive to redirects as well.
fn page_policy(nonce: &str) -> String {
    let reload = if *LIVE_RELOAD { " ws://127.0.0.1:* ws://localhost:*" } else { "" };
    format!(
        "default-src 'self'; script-src 'self' 'nonce-{nonce}' 'wasm-unsafe-eval'; style-src 'self'; \
         img-src 'self' data:; connect-src 'self'{reload}; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
    )
}

/// Headers that every answer carries.
fn finish(mut response: Response, path: &str, id: &str, nonce: &str, https: bool) -> Response {
    let is_page =
        response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    let headers = response.headers_mut();
    let mut set = |name: &'static str, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.entry(HeaderName::from_static(name)).or_insert(value);
        }
    };
    set("x-request-id", id);
    set("x-content-type-options", "nosniff");
    set("referrer-policy", "strict-origin-when-cross-origin");
    set("permissions-policy", "camera=(), microphone=(), geolocation=(), payment=()");
    set("cross-origin-opener-policy", "same-origin");
    if is_page {
        set("content-security-policy", &page_policy(nonce));
    } else {
        set(
            "content-security-policy",
            "default-src 'none'; style-src 'self'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'",
        );
    }
    if https {
        set("strict-transport-security", "max-age=63072000; includeSubDomains");
    }
    if path.starts_with("/pkg/") {
        set("cache-control", IMMUTABLE);
    } else if path.starts_with("/fonts/") || path.starts_with("/favicon") {
        set("cache-control", "public, max-age=86400");
    } else {
        set("cache-control", "no-store");
    }
    response
}

#[cfg(test)]
mod tests {
    use super::logged;

    #[test]
    fn logs_keep_no_secret_of_an_offer() {
        assert_eq!(logged("/transfers/0123456789abcdef"), "/transfers/");
        assert_eq!(logged("/transfers/0123456789abcdef/"), "/transfers/");
        assert_eq!(logged("/orders/1"), "/orders/1");
    }
}
