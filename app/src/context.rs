//! Who calls, and how to answer: the border between a request and the use-cases. Server only.
//!
//! The server puts a [`Caller`] into each request's extensions and the [`Backend`] into the context.

use crate::error::AppError;
use backend::{Backend, Client};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use cookie::{Cookie, SameSite, time::Duration};
use domain::{AccountId, Code, PerformanceId, account::Me, account::Session, queue::QueueTicket};
use http::{HeaderValue, header, request::Parts};
use leptos::server_fn::{ServerFn, error::ServerFnUrlError};
use leptos::{
    nonce::Nonce,
    prelude::{provide_context, use_context},
};
use leptos_axum::ResponseOptions;
use leptos_router::location::RequestUrl;
use serde::{Serialize, de::DeserializeOwned};
use std::sync::Arc;

/// Name of the cookie that carries the session.
pub const SESSION_COOKIE: &str = "sa-session";
/// Name of the cookie that carries the chosen language.
pub const LANG_COOKIE: &str = "sa-lang";
/// Name of the cookie that carries what a page shows once.
const ONCE_COOKIE: &str = "sa-once";
/// Name of the cookie that carries what was typed into a refused form.
const TYPED_COOKIE: &str = "sa-typed";
/// Longest value of it: a proxy in front takes all headers of an answer into one buffer, which nginx makes 4,096 bytes
/// long by default, and the others need their room.
const TYPED_MAX_BYTES: usize = 2_400;
/// How long both wait for their page.
const ONCE_COOKIE_S: i64 = 60;
/// How long a chosen language is kept.
const LANG_COOKIE_DAYS: i64 = 365;
/// How long a session cookie lives; the signed session inside ends when the stores say so.
const SESSION_COOKIE_DAYS: i64 = 30;
/// How long the cookies of a queue live: longer than any on-sale.
const QUEUE_COOKIE_DAYS: i64 = 7;

/// Where server functions are: tells a call of the API from the rendering of a page.
const API_PREFIX: &str = "/api/";

/// What the edge knows about a request.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The verified session, if there is one.
    pub session: Option<Session>,
    /// Whom the rate limits count.
    pub client: Client,
    /// Name and value of each cookie that came along.
    pub cookies: Vec<(String, String)>,
}

/// The nonce of one page, minted at the edge, which also sends the policy that names it.
#[derive(Clone, Debug)]
pub struct PageNonce(pub String);

/// Gives the page the nonce of its policy. Called for each request, before anything is rendered.
pub fn provide_nonce() {
    if let Some(PageNonce(nonce)) = use_context::<Parts>().and_then(|parts| parts.extensions.get().cloned()) {
        provide_context(Nonce::from_value(nonce));
    }
}

impl From<backend::Error> for AppError {
    /// A use-case's error as its caller sees it. Faults are reported here, once, with their causes.
    fn from(error: backend::Error) -> Self {
        if !error.is_refusal() {
            let causes = std::iter::successors(std::error::Error::source(&error), |e| e.source())
                .map(ToString::to_string)
                .collect::<Vec<_>>();
            tracing::error!(error = %error, causes = causes.join(": "), "a use-case failed");
        }
        Self::from(error.refusal())
    }
}

/// The use-cases.
///
/// # Errors
/// `internal` when the server was put together without them.
pub fn backend() -> Result<Arc<Backend>, AppError> {
    use_context::<Arc<Backend>>()
        .ok_or_else(|| AppError::new(Code::Internal, "the server was started without its use-cases"))
}

/// What the edge knows about this request; `None` while the routes are listed at start.
pub fn caller() -> Option<Caller> {
    use_context::<Parts>()?.extensions.get::<Caller>().cloned()
}

/// Whom the rate limits count.
///
/// # Errors
/// `internal` when the edge put no caller into the request.
pub fn client() -> Result<Client, AppError> {
    caller().map(|caller| caller.client).ok_or_else(|| AppError::new(Code::Internal, "the request carries no caller"))
}

/// The session.
///
/// # Errors
/// `sign_in_required` when nobody is signed in.
pub fn session() -> Result<Session, AppError> {
    caller().and_then(|caller| caller.session).ok_or_else(|| AppError::new(Code::SignInRequired, "sign in first"))
}

/// The signed-in person, as pages see it.
pub fn me_of(session: &Session) -> Me {
    Me { account: session.account, email: session.email.clone(), verified: session.verified, role: session.role }
}

/// Whether a server function is being called over HTTP, rather than during the rendering of a page.
pub fn is_api_call() -> bool {
    use_context::<Parts>().is_some_and(|parts| parts.uri.path().starts_with(API_PREFIX))
}

/// Whether the caller is a form of a page without JavaScript: it gets a redirect instead of a body.
pub fn is_form_post() -> bool {
    use_context::<Parts>().is_some_and(|parts| {
        parts
            .headers
            .get(header::ACCEPT)
            .and_then(|accept| accept.to_str().ok())
            .is_some_and(|accept| accept.contains("text/html"))
    })
}

/// What the form of a page without JavaScript was told, if it was one of those that post to `paths`: the
/// answer sent it back to its page with that in the address.
pub fn refused_form(paths: &[&str]) -> Option<AppError> {
    let url = use_context::<RequestUrl>()?.parse().ok()?;
    let told = url.search_params();
    let of = told.get_str("__path")?;
    paths.contains(&of).then(|| ServerFnUrlError::decode_err(told.get_str("__err").unwrap_or_default()))
}

/// The value of the cookie of that name.
pub fn cookie(name: &str) -> Option<String> {
    caller()?.cookies.into_iter().find(|(found, _)| found == name).map(|(_, value)| value)
}

/// The chosen language, else what the browser asks for, in the form of an Accept-Language header.
pub fn preferred_languages() -> Option<String> {
    let header = || {
        let parts = use_context::<Parts>()?;
        parts.headers.get(header::ACCEPT_LANGUAGE)?.to_str().ok().map(str::to_owned)
    };
    use_context::<Arc<Backend>>().and_then(|backend| cookie(&backend.cookie_name(LANG_COOKIE))).or_else(header)
}

/// Language of texts that the server writes for this caller, such as mails: `en` or `zh`.
pub fn mail_lang() -> &'static str {
    if preferred_languages().is_some_and(|list| list.to_ascii_lowercase().starts_with("zh")) { "zh" } else { "en" }
}

/// Sends a form without JavaScript onward; a page with JavaScript decides by itself.
pub fn redirect_form(target: &str) {
    if is_form_post() && HeaderValue::from_str(target).is_ok() {
        leptos_axum::redirect(target);
    }
}

/// Name of the cookie that carries the place in a performance's queue.
pub fn queue_cookie(performance: PerformanceId) -> String {
    format!("sa-q-{}", performance.simple())
}

/// Name of the cookie that carries the pass of a performance.
pub fn pass_cookie(performance: PerformanceId) -> String {
    format!("sa-p-{}", performance.simple())
}

fn cookie_text(name: String, value: String, days: i64, readable: bool) -> String {
    let secure = name.starts_with("__Host-");
    Cookie::build((name, value))
        .path("/")
        .http_only(!readable)
        .secure(secure)
        .same_site(SameSite::Lax)
        .max_age(Duration::days(days))
        .build()
        .to_string()
}

fn set_cookie(name: String, value: String, days: i64, readable: bool) {
    let Some(options) = use_context::<ResponseOptions>() else { return };
    if let Ok(value) = HeaderValue::from_str(&cookie_text(name, value, days, readable)) {
        options.append_header(header::SET_COOKIE, value);
    }
}

/// The value of the header that keeps a session in the browser. `name` as the origin has it.
pub fn session_header(name: String, token: String) -> String {
    cookie_text(name, token, SESSION_COOKIE_DAYS, false)
}

/// The value of the header that keeps a place in the browser. `name` as the origin has it.
pub fn place_header(name: String, ticket: String) -> String {
    cookie_text(name, ticket, QUEUE_COOKIE_DAYS, false)
}

/// Keeps the session in the browser.
pub fn set_session(backend: &Backend, token: String) {
    set_cookie(backend.cookie_name(SESSION_COOKIE), token, SESSION_COOKIE_DAYS, false);
}

/// Takes the session out of the browser.
pub fn clear_session(backend: &Backend) {
    set_cookie(backend.cookie_name(SESSION_COOKIE), String::new(), 0, false);
}

/// Keeps the chosen language in the browser.
pub fn set_lang(backend: &Backend, lang: &str) {
    set_cookie(backend.cookie_name(LANG_COOKIE), lang.to_owned(), LANG_COOKIE_DAYS, true);
}

/// Hands something to the page that a form without JavaScript is sent to. It goes in a cookie of a minute that
/// no script reads, and never into an address, which histories and logs keep.
pub fn hand_over(backend: &Backend, value: String) {
    set_once(backend.cookie_name(ONCE_COOKIE), value);
}

fn set_once(name: String, value: String) {
    let Some(options) = use_context::<ResponseOptions>().filter(|_| is_form_post()) else { return };
    let secure = name.starts_with("__Host-");
    let cookie = Cookie::build((name, value))
        .path("/")
        .http_only(true)
        .secure(secure)
        .same_site(SameSite::Strict)
        .max_age(Duration::seconds(ONCE_COOKIE_S))
        .build()
        .to_string();
    if let Ok(value) = HeaderValue::from_str(&cookie) {
        options.append_header(header::SET_COOKIE, value);
    }
}

/// What was handed over to this page, for this once.
pub fn handed_over(backend: &Backend) -> Option<String> {
    let name = backend.cookie_name(ONCE_COOKIE);
    let value = cookie(&name)?;
    set_cookie(name, String::new(), 0, false);
    Some(value)
}

/// What became of a form. Where it was refused and is one without JavaScript, what it says goes along to the page
/// that it is sent back to, for this account alone: `typed` finds it there. Not for forms with secrets.
///
/// # Errors
/// Those of the outcome.
pub fn keep_typed<T, S: ServerFn + Serialize>(
    outcome: Result<T, impl Into<AppError>>,
    form: impl FnOnce() -> S,
) -> Result<T, AppError> {
    outcome.map_err(|error| {
        if is_form_post() {
            hand_typed(&form());
        }
        error.into()
    })
}

fn hand_typed<S: ServerFn + Serialize>(form: &S) {
    let (Ok(backend), Some(session)) = (backend(), caller().and_then(|caller| caller.session)) else { return };
    let Ok(json) = serde_json::to_vec(&(session.account, S::PATH, form)) else { return };
    let value = URL_SAFE_NO_PAD.encode(json);
    if value.len() <= TYPED_MAX_BYTES {
        set_once(backend.cookie_name(TYPED_COOKIE), value);
    }
}

/// What the form before this page said, for this once, where it was this one and was refused.
pub fn typed<S: ServerFn + DeserializeOwned>() -> Option<S> {
    let session = caller()?.session?;
    let name = backend().ok()?.cookie_name(TYPED_COOKIE);
    let json = URL_SAFE_NO_PAD.decode(cookie(&name)?).ok()?;
    let (account, path, form): (AccountId, String, serde_json::Value) = serde_json::from_slice(&json).ok()?;
    if account != session.account || path != S::PATH {
        return None;
    }
    set_cookie(name, String::new(), 0, false);
    serde_json::from_value(form).ok()
}

/// Keeps a queue ticket or a pass in the browser.
pub fn set_queue_cookie(backend: &Backend, name: &str, value: String) {
    set_cookie(backend.cookie_name(name), value, QUEUE_COOKIE_DAYS, false);
}

/// The arrival number in the caller's own queue ticket, for display only: the signature is verified
/// when the ticket is exchanged.
pub fn shown_arrival(backend: &Backend, session: &Session, performance: PerformanceId) -> Option<u32> {
    let token = cookie(&backend.cookie_name(&queue_cookie(performance)))?;
    let payload = token.split('.').nth(1)?;
    let ticket: QueueTicket = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).ok()?).ok()?;
    (ticket.account == session.account && ticket.performance == performance).then_some(ticket.arrival)
}
