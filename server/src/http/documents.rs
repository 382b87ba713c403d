//! The list of an organization's invoices and credit notes as a table to keep.

use super::State;
use super::errors::{failed, refuse};
use app::context::Caller;
use axum::extract::{Query, State as Extract};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Extension, Router};
use domain::Code;
use http::{HeaderValue, header};
use serde::Deserialize;

/// The routes of this module.
pub(super) fn routes() -> Router<State> {
    Router::new().route("/api/organizer-invoices", get(list))
}

/// Where a list begins.
#[derive(Deserialize)]
struct Behind {
    /// The number before its first; none: from the first on.
    after: Option<i64>,
}

async fn list(
    Extract(state): Extract<State>,
    Extension(caller): Extension<Caller>,
    Query(behind): Query<Behind>,
) -> Response {
    let Some(session) = caller.session else { return refuse(Code::SignInRequired, "sign in first") };
    match state.backend.documents_csv(&session, behind.after.unwrap_or_default()).await {
        Ok(text) => {
            let headers = [
                (header::CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8")),
                (header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"invoices.csv\"")),
            ];
            (headers, text).into_response()
        }
        Err(error) => failed(&error),
    }
}
