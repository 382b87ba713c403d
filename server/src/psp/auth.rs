//! Who may call: the merchant with its key under `/v1`, the provider's own people with theirs under
//! `/control`.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::Inner;
use super::refusal::Refusal;

/// Lets the merchant in.
pub(super) async fn merchant(State(psp): State<Arc<Inner>>, request: Request, next: Next) -> Response {
    admit(&psp.config.api_key, request, next).await
}

/// Lets the provider's people in.
pub(super) async fn operator(State(psp): State<Arc<Inner>>, request: Request, next: Next) -> Response {
    admit(psp.config.control_key(), request, next).await
}

/// Lets only callers with the key in. Digests are compared, so that neither length nor prefix shows.
async fn admit(key: &str, request: Request, next: Next) -> Response {
    let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let given = given.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
    let known = Sha256::digest(given.as_bytes()).ct_eq(&Sha256::digest(key.as_bytes()));
    if bool::from(known) {
        return next.run(request).await;
    }
    let refusal = Refusal::of(StatusCode::UNAUTHORIZED, "unauthorized", "the key is missing or wrong");
    let mut response = refusal.with_param("Authorization").into_response();
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}
