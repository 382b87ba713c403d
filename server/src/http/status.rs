//! The status that a whole crowd polls, once a second each. What this process has at hand is answered before the
//! router sees the request: its work for a request is more than that of the answer, which is a few headers that
//! never change, and an etag and a body that all answers share.

use super::State;
use super::errors::{failed, refuse};
use axum::body::Body;
use axum::extract::{Path, State as Extract};
use axum::response::Response;
use backend::{Backend, StatusText};
use bytes::Bytes;
use domain::{Code, PerformanceId};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use http_body_util::Full;
use metrics::Counter;
use std::sync::LazyLock;

static REQUESTS: LazyLock<Counter> = LazyLock::new(|| metrics::counter!("stararena_status_requests_total"));

/// The answer to a poll, where it is one and its performance is followed by this process; everything else is the
/// router's, which may have to wait for it or to refuse it.
pub(super) fn at_hand<B>(backend: &Backend, request: &http::Request<B>) -> Option<http::Response<Full<Bytes>>> {
    if *request.method() != Method::GET {
        return None;
    }
    let text = backend.queue_status_at_hand(polled(request.uri().path())?)?;
    REQUESTS.increment(1);
    Some(answer(&text, request.headers()))
}

/// The performance whose status is at a path, as pages write it.
fn polled(path: &str) -> Option<PerformanceId> {
    path.strip_prefix("/api/performances/")?.strip_suffix("/queue/status")?.parse().ok()
}

/// The polled object: the same for everybody, kept by caches for a second.
pub(super) async fn status(Extract(state): Extract<State>, Path(id): Path<String>, headers: HeaderMap) -> Response {
    REQUESTS.increment(1);
    let Ok(id) = id.parse::<PerformanceId>() else { return refuse(Code::NotFound, "there is no such performance") };
    match state.backend.queue_status_text(id).await {
        Ok(text) => answer(&text, &headers).map(Body::new),
        Err(error) => failed(&error),
    }
}

/// Sends the object, or that it is the one which the client has.
fn answer(text: &StatusText, asked: &HeaderMap) -> http::Response<Full<Bytes>> {
    let same = asked.get(header::IF_NONE_MATCH).is_some_and(|value| value.as_bytes() == &text.etag[..]);
    let mut response = http::Response::new(if same { Full::default() } else { Full::new(text.json.clone()) });
    if same {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let mut headers = HeaderMap::with_capacity(4);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=1"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Ok(etag) = HeaderValue::from_maybe_shared(text.etag.clone()) {
        headers.insert(header::ETAG, etag);
    }
    *response.headers_mut() = headers;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poll_is_known_by_its_whole_path() {
        let id = PerformanceId(uuid::Uuid::from_u128(7));
        assert_eq!(polled(&format!("/api/performances/{id}/queue/status")), Some(id));
        for others in [
            format!("/api/performances/{id}/queue/status/"),
            format!("/api/performances//{id}/queue/status"),
            format!("/api/performances/{id}//queue/status"),
            format!("//api/performances/{id}/queue/status"),
            format!("/api/performances/{id}/more/queue/status"),
            format!("/api/performances/{}/queue/status", id.to_string().replace('-', "%2d")),
            format!("/api/performances/{id}/queue/%73tatus"),
            format!("/API/performances/{id}/queue/status"),
            format!("/api/performances/{id}/queue/join"),
            "/api/performances/x/queue/status".to_owned(),
            "/api/performances//queue/status".to_owned(),
            "/api/performances/queue/status".to_owned(),
        ] {
            assert_eq!(polled(&others), None, "{others}");
        }
    }
}
