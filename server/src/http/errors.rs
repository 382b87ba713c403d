//! Refusals as HTTP answers: the JSON of the refusal under the status of its code.

use axum::Json;
use axum::response::{IntoResponse, Response};
use domain::{Code, Refusal};
use http::{HeaderValue, StatusCode, header};

/// The answer that carries a refusal.
pub(super) fn answer(refusal: &Refusal) -> Response {
    let status = StatusCode::from_u16(refusal.code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, Json(refusal)).into_response();
    if let Some(wait_ms) = refusal.retry_after_ms {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(wait_ms.div_ceil(1_000)));
    }
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// A refusal made here.
pub(super) fn refuse(code: Code, message: &str) -> Response {
    answer(&Refusal::new(code, message))
}

/// The answer to a use-case's error; faults are reported here, once.
pub(super) fn failed(error: &backend::Error) -> Response {
    if !error.is_refusal() {
        tracing::error!(error = error as &dyn std::error::Error, "a use-case failed");
    }
    answer(&error.refusal())
}
