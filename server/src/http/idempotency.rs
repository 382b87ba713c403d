//! Keys of clients: a layer around the calls of the API. A call with an `Idempotency-Key` is carried out once,
//! and answered as before when it comes again ("The Idempotency-Key HTTP Header Field", a draft of the IETF).
//!
//! Covered is every POST below `/api/` by somebody who is signed in, but for what has keys of its own (holds,
//! places in a queue), what takes files, and what signs in or out. Forms of pages send no headers of their own,
//! and are answered by redirects: they are left to the use-cases, each of which bears a second call.

use super::errors::{answer, failed, refuse};
use super::{BODY_MAX_BYTES, State, edge, uploads};
use app::context::Caller;
use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::{Request, State as Extract};
use axum::middleware::Next;
use axum::response::Response;
use backend::{KeptAnswer, Keyed};
use domain::idempotency::{ANSWER_MAX_BYTES, Fingerprint, HEADER, Key, is_kept};
use domain::{AccountId, Code, Refusal};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use tracing::Instrument as _;

/// What is covered begins with it.
const API: &str = "/api/";
/// The header as it comes.
const KEY: &str = "idempotency-key";
/// Says that an answer was given before.
const REPLAYED: &str = "idempotency-replayed";
/// Calls that have keys of their own, or are about the session itself.
const EXEMPT: &[&str] = &[
    "/api/hold",
    "/api/hold-list",
    "/api/hold-best",
    "/api/queue-join",
    "/api/queue-enter",
    "/api/queue-view",
    "/api/sign-in",
    "/api/sign-up",
    "/api/sign-out",
    "/api/confirm-email",
    "/api/resend-confirmation",
    "/api/language",
    "/api/me",
];

/// Passes a call on, once for each key.
pub(super) async fn keyed(Extract(state): Extract<State>, request: Request, next: Next) -> Response {
    let (account, key) = (covered(&request), key_of(request.headers()));
    let (account, key) = match (account, key) {
        (None, _) | (Some(_), Ok(None)) => return next.run(request).await,
        (Some(_), Err(refusal)) => return answer(&refusal),
        (Some(account), Ok(Some(key))) => (account, key),
    };
    // In a task of its own: a client that goes away is the one that comes again, and finds the answer then.
    let call = once(state, account, key, request, next).instrument(tracing::Span::current());
    match tokio::spawn(call).await {
        Ok(response) => response,
        Err(error) => {
            tracing::error!(%error, "a call with a key ended early");
            refuse(Code::Internal, "something went wrong on our side; it was recorded")
        }
    }
}

/// Whose call it is, if keys count for it.
fn covered(request: &Request) -> Option<AccountId> {
    let path = request.uri().path();
    if request.method() != Method::POST || !path.starts_with(API) {
        return None;
    }
    if EXEMPT.contains(&path) || uploads::takes_files(path) || wants_page(request.headers()) {
        return None;
    }
    request.extensions().get::<Caller>()?.session.as_ref().map(|session| session.account)
}

fn wants_page(headers: &HeaderMap) -> bool {
    headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).is_some_and(|value| value.contains("text/html"))
}

/// The key of a call, if it has one.
fn key_of(headers: &HeaderMap) -> Result<Option<Key>, Refusal> {
    let mut values = headers.get_all(KEY).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Refusal::new(Code::InvalidInput, format!("{HEADER}: one is expected")));
    }
    // What is no text is no key: an empty one is refused in the same words.
    Key::of_header(value.to_str().unwrap_or_default()).map(Some)
}

async fn once(state: State, account: AccountId, key: Key, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, BODY_MAX_BYTES).await else {
        return edge::unread(refuse(Code::TooLarge, "the body is larger than 64 KiB, or broke off"));
    };
    let endpoint = parts.uri.path().to_owned();
    let fingerprint = fingerprint(&parts, &body);
    let lease = match state.backend.begin_keyed(account, &endpoint, &key, fingerprint).await {
        Ok(Keyed::CarryOut(lease)) => lease,
        Ok(Keyed::Replay(kept)) => return replay(kept),
        Err(error) => return failed(&error),
    };
    let response = next.run(Request::from_parts(parts, Body::from(body))).await;
    let (response, kept) = copied(response).await;
    if let Err(error) = state.backend.end_keyed(&lease, kept.as_ref()).await {
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            "an answer could not be kept; the same call is carried out again when its lease has run out"
        );
    }
    response
}

/// What a call asks for: the same call again has the same.
fn fingerprint(parts: &http::request::Parts, body: &[u8]) -> Fingerprint {
    let address = parts.uri.path_and_query().map_or("", |both| both.as_str());
    let kind = parts.headers.get(header::CONTENT_TYPE).map_or(&b""[..], |value| value.as_bytes());
    Fingerprint::of(&[parts.method.as_str().as_bytes(), address.as_bytes(), kind, body])
}

/// An answer, and what of it is kept; nothing of one that is none.
async fn copied(response: Response) -> (Response, Option<KeptAnswer>) {
    let status = response.status().as_u16();
    if !is_kept(status, response.headers().contains_key(header::RETRY_AFTER)) {
        return (response, None);
    }
    let content_type = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content_type = content_type.map(str::to_owned);
    let size = response.body().size_hint().exact();
    if size.is_none_or(|size| size > ANSWER_MAX_BYTES as u64) {
        return (response, Some(KeptAnswer { status, content_type, body: None }));
    }
    let (parts, body) = response.into_parts();
    match to_bytes(body, ANSWER_MAX_BYTES).await {
        Ok(bytes) => {
            let kept = KeptAnswer { status, content_type, body: Some(bytes.to_vec()) };
            (Response::from_parts(parts, Body::from(bytes)), Some(kept))
        }
        Err(error) => {
            tracing::error!(error = &error as &dyn std::error::Error, "an answer broke off");
            (refuse(Code::Internal, "something went wrong on our side; it was recorded"), None)
        }
    }
}

/// An answer given again. Cookies were the first caller's, and are not.
fn replay(kept: KeptAnswer) -> Response {
    let mut response = match kept.body {
        Some(body) => {
            let mut response = Response::new(Body::from(body));
            *response.status_mut() = StatusCode::from_u16(kept.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            if let Some(kind) = kept.content_type.and_then(|kind| HeaderValue::from_str(&kind).ok()) {
                response.headers_mut().insert(header::CONTENT_TYPE, kind);
            }
            response
        }
        None => refuse(
            Code::WrongState,
            &format!(
                "{HEADER}: it was carried out and answered with status {}; the answer was too large to be kept, so \
                 read anew what it changed",
                kept.status
            ),
        ),
    };
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_one_key_or_none() {
        let mut headers = HeaderMap::new();
        assert!(matches!(key_of(&headers), Ok(None)));
        headers.append(KEY, HeaderValue::from_static("\"8e03978e-40d5\""));
        assert_eq!(key_of(&headers).map(|key| key.map(|key| key.to_string())), Ok(Some("8e03978e-40d5".to_owned())));
        headers.append(KEY, HeaderValue::from_static("another"));
        assert!(key_of(&headers).is_err_and(|refusal| refusal.message.starts_with("Idempotency-Key: ")));
        let mut headers = HeaderMap::new();
        headers.append(KEY, HeaderValue::from_bytes(b"\xff").unwrap_or(HeaderValue::from_static("")));
        assert!(key_of(&headers).is_err_and(|refusal| refusal.message.starts_with("Idempotency-Key: ")));
    }

    #[tokio::test]
    async fn a_large_answer_goes_out_whole_and_is_kept_by_its_status() {
        let large = "x".repeat(ANSWER_MAX_BYTES + 1);
        let (response, kept) = copied(Response::new(Body::from(large.clone()))).await;
        assert_eq!(kept, Some(KeptAnswer { status: 200, content_type: None, body: None }));
        assert_eq!(to_bytes(response.into_body(), usize::MAX).await.ok().map(|b| b.len()), Some(large.len()));
        let again = replay(KeptAnswer { status: 200, content_type: None, body: None });
        assert_eq!(again.status(), StatusCode::CONFLICT);
        assert!(again.headers().contains_key(REPLAYED));
        let (_, kept) = copied(refuse(Code::Unavailable, "later")).await;
        assert_eq!(kept, None);
        let (_, kept) = copied(answer(&Refusal::new(Code::WrongState, "later").retry_after_ms(1))).await;
        assert_eq!(kept, None, "who is told to come again was not answered");
        let (_, kept) = copied(refuse(Code::WrongState, "never")).await;
        assert_eq!(kept.map(|kept| kept.status), Some(409));
    }
}
