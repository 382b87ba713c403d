//! Pages that are the same for all who ask in a language: rendered once, however many ask, and kept as bytes for
//! the seconds that their own `Cache-Control` allows. A page is kept whole, since its body names the nonce of the
//! policy in its head.
//!
//! Owns what is kept and who waits for it. Which pages are for everybody, and for how long, the edge says.

use super::errors::refuse;
use app::lang;
use axum::body::Body;
use axum::extract::{Request, State as Extract};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use domain::Code;
use domain::organizer::sales::check_slug;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use metrics::Counter;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Most pages that are kept at a time.
const PAGES_MAX: usize = 256;
/// Most bytes of all of them.
const BYTES_MAX: usize = 16 << 20;
/// How long a visitor waits for another one's page before one of their own is rendered.
const WAIT_MAX: Duration = Duration::from_secs(5);

static FROM_KEPT: LazyLock<Counter> = LazyLock::new(|| metrics::counter!("stararena_pages_kept_total"));

/// Answers from what is kept, waits for what is being rendered, or renders.
pub(super) async fn shared(Extract(pages): Extract<Arc<Pages>>, request: Request, next: Next) -> Response {
    let Some(key) = key(&request) else { return next.run(request).await };
    let page = match pages.find(key, Instant::now()) {
        Found::Kept(page) => Some(page),
        Found::Coming(coming) => arrived(coming).await,
        Found::Nothing(flight) => return render(flight, request, next).await,
    };
    match page {
        Some(page) => {
            FROM_KEPT.increment(1);
            page.answer(Instant::now())
        }
        // What could not be kept was not for everybody, or an error: each visitor has their own.
        None => next.run(request).await,
    }
}

/// Path and language of a page for everybody; none where a request brings something along, or has a word more
/// to say than its path.
fn key(request: &Request) -> Option<String> {
    let (path, headers) = (request.uri().path(), request.headers());
    let is_public = path == "/" || path.strip_prefix("/events/").is_some_and(|slug| check_slug(slug).is_ok());
    let own =
        [header::COOKIE, header::AUTHORIZATION, header::UPGRADE, header::CONTENT_LENGTH, header::TRANSFER_ENCODING];
    let is_plain = *request.method() == Method::GET
        && request.uri().query().is_none()
        && !own.iter().any(|name| headers.contains_key(name));
    if !is_public || !is_plain {
        return None;
    }
    let wishes = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    Some(format!("{} {path}", lang::wished(wishes)))
}

/// Renders in a task of its own: others wait for the page also when the first visitor goes away.
async fn render(flight: Flight, request: Request, next: Next) -> Response {
    match tokio::spawn(async move { flight.land(next.run(request).await).await }).await {
        Ok(response) => response,
        Err(_) => refuse(Code::Internal, "the page could not be rendered"),
    }
}

/// The page that somebody else has rendered, if it came in time and may be kept.
async fn arrived(mut coming: Coming) -> Option<Arc<Page>> {
    let page = tokio::time::timeout(WAIT_MAX, coming.wait_for(Option::is_some)).await.ok()?.ok()?;
    page.clone()
}

/// Told once, or never where the rendering came to nothing.
type Coming = watch::Receiver<Option<Arc<Page>>>;

/// What is kept in this process, and what is being rendered.
#[derive(Default)]
pub(super) struct Pages {
    slots: Mutex<HashMap<String, Slot>>,
}

enum Slot {
    Coming(Coming),
    Kept(Arc<Page>),
}

enum Found {
    Kept(Arc<Page>),
    Coming(Coming),
    Nothing(Flight),
}

impl Pages {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What there is of a page; where there is nothing, the caller is the one to render it.
    fn find(self: &Arc<Self>, key: String, now: Instant) -> Found {
        let mut slots = self.lock();
        match slots.get(&key) {
            Some(Slot::Kept(page)) if page.is_fresh(now) => return Found::Kept(Arc::clone(page)),
            Some(Slot::Coming(coming)) => return Found::Coming(coming.clone()),
            Some(Slot::Kept(_)) | None => {}
        }
        let (told, coming) = watch::channel(None);
        slots.insert(key.clone(), Slot::Coming(coming));
        Found::Nothing(Flight { pages: Arc::clone(self), key, told, began: now, is_kept: false })
    }

    /// Keeps a page in place of its rendering, as far as the bounds allow; whether it is kept.
    fn keep(&self, key: &str, page: &Arc<Page>, now: Instant) -> bool {
        let mut slots = self.lock();
        slots.retain(|_, slot| !matches!(slot, Slot::Kept(page) if !page.is_fresh(now)));
        let kept = slots.values().filter_map(|slot| match slot {
            Slot::Kept(page) => Some(page.body.len()),
            Slot::Coming(_) => None,
        });
        let (count, bytes) = kept.fold((0, page.body.len()), |(count, bytes), more| (count + 1, bytes + more));
        let fits = count < PAGES_MAX && bytes <= BYTES_MAX && page.is_fresh(now);
        if fits {
            slots.insert(key.to_owned(), Slot::Kept(Arc::clone(page)));
        }
        fits
    }
}

/// A page that is being rendered. However it ends, its key is free for the next one then.
struct Flight {
    pages: Arc<Pages>,
    key: String,
    told: watch::Sender<Option<Arc<Page>>>,
    /// What a page shows is at least as new as this.
    began: Instant,
    is_kept: bool,
}

impl Flight {
    /// Takes the answer, and tells it to all who wait if it may be kept.
    async fn land(mut self, response: Response) -> Response {
        let Some(keep) = lifetime(&response) else { return response };
        let (parts, body) = response.into_parts();
        let Ok(body) = axum::body::to_bytes(body, usize::MAX).await else {
            return refuse(Code::Internal, "the page could not be rendered to its end");
        };
        let page = Arc::new(Page { head: parts.headers, body, began: self.began, keep });
        let now = Instant::now();
        self.is_kept = self.pages.keep(&self.key, &page, now);
        self.told.send_replace(Some(Arc::clone(&page)));
        page.answer(now)
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if !self.is_kept {
            self.pages.lock().remove(&self.key);
        }
    }
}

/// A page as it is sent.
struct Page {
    head: HeaderMap,
    body: Bytes,
    began: Instant,
    keep: Duration,
}

impl Page {
    fn is_fresh(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.began) < self.keep
    }

    /// The answer, with its age in whole seconds for caches behind this one.
    fn answer(&self, now: Instant) -> Response {
        let mut response = Response::new(Body::from(self.body.clone()));
        *response.headers_mut() = self.head.clone();
        let age_s = now.saturating_duration_since(self.began).as_secs();
        if age_s > 0 {
            response.headers_mut().insert(header::AGE, HeaderValue::from(age_s));
        }
        response
    }
}

/// How long an answer may be kept for everybody, as it says itself.
fn lifetime(response: &Response) -> Option<Duration> {
    let headers = response.headers();
    if response.status() != StatusCode::OK || headers.contains_key(header::SET_COOKIE) {
        return None;
    }
    let rules = headers.get(header::CACHE_CONTROL)?.to_str().ok()?;
    let mut rules = rules.split(',').map(str::trim);
    if !rules.clone().any(|rule| rule == "public") {
        return None;
    }
    let keep_s: u64 = rules.find_map(|rule| rule.strip_prefix("max-age="))?.parse().ok()?;
    (keep_s > 0).then(|| Duration::from_secs(keep_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: Method, uri: &str, headers: &[(&'static str, &'static str)]) -> Request {
        let mut builder = http::Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        builder.body(Body::empty()).unwrap()
    }

    fn response(rules: &'static str, text: &'static str) -> Response {
        let mut response = Response::new(Body::from(text));
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static(rules));
        response
    }

    #[test]
    fn a_page_is_known_by_its_path_and_language_alone() {
        let get = |uri: &str, headers: &[(&'static str, &'static str)]| key(&request(Method::GET, uri, headers));
        assert_eq!(get("/events/tide-1", &[]).as_deref(), Some("en /events/tide-1"));
        assert_eq!(get("/", &[("accept-language", "zh-CN,zh;q=0.9,en;q=0.8")]).as_deref(), Some("zh /"));
        assert_eq!(get("/", &[("accept-language", "fr, zh;q=0.5")]).as_deref(), Some("zh /"));
        assert_eq!(get("/", &[("accept-language", "nonsense;;,")]).as_deref(), Some("en /"));
        let others: [(&str, &[(&'static str, &'static str)]); 10] = [
            ("/?x", &[]),
            ("/events/", &[]),
            ("/events/tide%2d1", &[]),
            ("/events/tide-1/", &[]),
            ("/sign-in", &[]),
            ("/", &[("cookie", "theme=dark")]),
            ("/", &[("authorization", "x")]),
            ("/", &[("upgrade", "websocket")]),
            ("/", &[("content-length", "3")]),
            ("/", &[("transfer-encoding", "chunked")]),
        ];
        for (uri, headers) in others {
            assert_eq!(get(uri, headers), None, "{uri} {headers:?}");
        }
        assert_eq!(key(&request(Method::HEAD, "/", &[])), None);
        assert_eq!(key(&request(Method::POST, "/", &[])), None);
    }

    #[test]
    fn only_what_says_so_is_kept() {
        assert_eq!(
            lifetime(&response("public, max-age=2, stale-while-revalidate=5", "")),
            Some(Duration::from_secs(2))
        );
        for rules in ["no-store", "max-age=2", "private, max-age=2", "public", "public, max-age=0", "public, max-age=x"]
        {
            assert_eq!(lifetime(&response(rules, "")), None, "{rules}");
        }
        let mut cookie = response("public, max-age=2", "");
        cookie.headers_mut().insert(header::SET_COOKIE, HeaderValue::from_static("a=1"));
        assert_eq!(lifetime(&cookie), None);
        let mut missing = response("public, max-age=2", "");
        *missing.status_mut() = StatusCode::NOT_FOUND;
        assert_eq!(lifetime(&missing), None);
    }

    #[tokio::test]
    async fn one_renders_and_all_others_wait_until_its_seconds_are_over() {
        let (pages, now) = (Arc::new(Pages::default()), Instant::now());
        let Found::Nothing(flight) = pages.find("en /".into(), now) else { panic!("nothing is kept yet") };
        let Found::Coming(coming) = pages.find("en /".into(), now) else { panic!("it is being rendered") };
        let Found::Nothing(other) = pages.find("zh /".into(), now) else { panic!("another language is another page") };
        drop(other);
        let first = flight.land(response("public, max-age=600", "page")).await;
        let told = arrived(coming).await.expect("it may be kept");
        assert_eq!((first.headers(), &told.body[..]), (&told.head, &b"page"[..]));
        let Found::Kept(kept) = pages.find("en /".into(), now) else { panic!("it is kept") };
        assert!(Arc::ptr_eq(&kept, &told));
        let later = now + Duration::from_secs(599);
        assert_eq!(kept.answer(later).headers()[header::AGE], "599");
        assert!(matches!(pages.find("en /".into(), later), Found::Kept(_)));
        assert!(matches!(pages.find("en /".into(), now + Duration::from_secs(600)), Found::Nothing(_)));
        assert!(pages.lock().is_empty(), "what came to nothing leaves nothing");
    }

    #[tokio::test]
    async fn an_error_is_kept_from_nobody_and_for_nobody() {
        let (pages, now) = (Arc::new(Pages::default()), Instant::now());
        let Found::Nothing(flight) = pages.find("en /".into(), now) else { panic!("nothing is kept yet") };
        let Found::Coming(coming) = pages.find("en /".into(), now) else { panic!("it is being rendered") };
        let failed = flight.land(response("no-store", "sorry")).await;
        assert_eq!(failed.headers()[header::CACHE_CONTROL], "no-store");
        assert!(arrived(coming).await.is_none(), "who waited goes on at once");
        assert!(matches!(pages.find("en /".into(), now), Found::Nothing(_)));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let (pages, now) = (Pages::default(), Instant::now());
        let page = |bytes: usize, keep_s: u64| {
            let body = Bytes::from(vec![0; bytes]);
            Arc::new(Page { head: HeaderMap::new(), body, began: now, keep: Duration::from_secs(keep_s) })
        };
        assert!(!pages.keep("large", &page(BYTES_MAX + 1, 9), now));
        assert!(!pages.keep("late", &page(1, 0), now), "its rendering took longer than it may be kept");
        assert!(pages.keep("half", &page(BYTES_MAX / 2, 2), now));
        assert!(!pages.keep("more", &page(BYTES_MAX / 2 + 1, 9), now));
        let later = now + Duration::from_secs(2);
        assert!(pages.keep("more", &page(BYTES_MAX / 2 + 1, 9), later), "what is over makes room");
        for number in 1..PAGES_MAX {
            assert!(pages.keep(&number.to_string(), &page(1, 9), later));
        }
        assert!(!pages.keep("one more", &page(1, 9), later));
    }
}
