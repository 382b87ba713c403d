//! A business "no" of the provider: a stable code, a status, and one sentence.

use std::borrow::Cow;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::store::StoreError;

/// Why a call was refused, in the form in which it is answered (and stored under its idempotency key).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) http: StatusCode,
    pub(super) code: &'static str,
    message: String,
    /// The field, header or switch that is at fault.
    param: Option<Cow<'static, str>>,
    /// The state in which the object is.
    status: Option<&'static str>,
}

impl Refusal {
    pub(super) fn invalid(code: &'static str, param: &'static str, message: impl Into<String>) -> Self {
        Self::of(StatusCode::BAD_REQUEST, code, message).with_param(param)
    }

    pub(super) fn of(http: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { http, code, message: message.into(), param: None, status: None }
    }

    pub(super) fn conflict(code: &'static str, message: impl Into<String>, status: Option<&'static str>) -> Self {
        Self { status, ..Self::of(StatusCode::CONFLICT, code, message) }
    }

    pub(super) fn not_found(what: &str) -> Self {
        Self::of(StatusCode::NOT_FOUND, "not_found", format!("no such {what}"))
    }

    pub(super) fn with_param(self, param: impl Into<Cow<'static, str>>) -> Self {
        Self { param: Some(param.into()), ..self }
    }

    pub(super) fn body(&self) -> Value {
        json!({"error": {"code": self.code, "message": self.message, "param": self.param, "status": self.status}})
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.http, Json(self.body())).into_response();
        if matches!(self.http, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
            response.headers_mut().insert("retry-after", axum::http::HeaderValue::from_static("1"));
        }
        response
    }
}

/// An outage is not a refusal: it is reported here, once, and says nothing of the cause outside.
impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        tracing::error!(error = &error as &dyn std::error::Error, "the provider's storage failed");
        Self::of(StatusCode::INTERNAL_SERVER_ERROR, "provider_error", "the provider can't answer now")
    }
}
