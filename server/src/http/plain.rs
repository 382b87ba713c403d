//! Routes that are no pages: health, metrics, what is published about draws, webhooks.

use super::State;
use super::errors::{answer, failed, refuse};
use axum::Json;
use axum::body::Bytes;
use axum::extract::{ConnectInfo, Path, Request, State as Extract};
use axum::response::{IntoResponse, Response};
use domain::{Code, PerformanceId, Refusal};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::json;
use std::net::SocketAddr;
use tower::ServiceExt as _;
use tower_http::services::ServeFile;

/// The process lives.
pub(super) async fn healthz() -> &'static str {
    "ok"
}

/// The process can serve: both stores answer, and it is not winding down.
pub(super) async fn readyz(Extract(state): Extract<State>) -> Response {
    if state.stop.is_cancelled() {
        return refuse(Code::Unavailable, "the process is winding down");
    }
    match state.backend.ready().await {
        Ok(()) => "ready".into_response(),
        Err(error) => answer(&error.refusal()),
    }
}

/// Metrics, for those on this machine: a proxy's visitors don't get them.
pub(super) async fn metrics(
    Extract(state): Extract<State>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
) -> Response {
    if !peer.ip().is_loopback() || headers.contains_key("x-forwarded-for") {
        return refuse(Code::NotFound, "there is no such page");
    }
    let text = state.metrics.render();
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}

/// The server's clock, for countdowns.
pub(super) async fn server_time(Extract(state): Extract<State>) -> Response {
    Json(json!({ "now": state.backend.now() })).into_response()
}

/// Everything that is published about a draw: it grows until the draw is made, and never changes then.
pub(super) async fn draw_facts(Extract(state): Extract<State>, Path(id): Path<String>) -> Response {
    let Ok(id) = id.parse::<PerformanceId>() else { return refuse(Code::NotFound, "there is no such performance") };
    match state.backend.draw_facts(id).await {
        Ok(facts) => {
            ([(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=1"))], Json(facts)).into_response()
        }
        Err(error) => failed(&error),
    }
}

/// The published list of arrivals, under the digest that is published beside it.
pub(super) async fn arrivals(Extract(state): Extract<State>, Path(id): Path<String>, request: Request) -> Response {
    let Ok(id) = id.parse::<PerformanceId>() else { return refuse(Code::NotFound, "there is no such performance") };
    let list = match state.backend.arrival_list(id).await {
        Ok(list) => list,
        Err(error) => return failed(&error),
    };
    let etag = format!("\"{}\"", list.digest);
    let cache = [
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable")),
        (header::ETAG, HeaderValue::from_str(&etag).unwrap_or_else(|_| HeaderValue::from_static("\"\""))),
        (header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
    ];
    if request.headers().get(header::IF_NONE_MATCH).is_some_and(|value| value.as_bytes() == etag.as_bytes()) {
        return (StatusCode::NOT_MODIFIED, cache).into_response();
    }
    // In pieces, and a part of it where a part is asked for: a million arrivals are 16 MB.
    match ServeFile::new(list.path).oneshot(request).await {
        Ok(file) if file.status().is_success() => (cache, file).into_response(),
        Ok(other) => other.into_response(),
        Err(never) => match never {},
    }
}

/// What a payment provider tells us, at an address of its own. A 2xx means that it is stored.
pub(super) async fn webhook(
    Extract(state): Extract<State>,
    Path(provider): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if body.len() > super::BODY_MAX_BYTES {
        return answer(&Refusal::new(Code::TooLarge, "the body is larger than 64 KiB"));
    }
    let Some(header) = state.backend.webhook_header(&provider) else {
        return refuse(Code::NotFound, "there is no such provider");
    };
    let signature = headers.get(header).and_then(|v| v.to_str().ok()).unwrap_or_default().to_owned();
    // In a task of its own: a sender that goes away must not cut the storing short.
    let backend = state.backend.clone();
    let stored = tokio::spawn(async move { backend.receive_webhook(&provider, &signature, &body).await }).await;
    match stored {
        Ok(Ok(())) => (StatusCode::OK, "stored").into_response(),
        Ok(Err(error)) => failed(&error),
        Err(_) => refuse(Code::Internal, "the event could not be stored"),
    }
}
