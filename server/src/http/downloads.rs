//! Tables that members keep: plain routes, so that a link is enough.

use super::State;
use super::errors::{failed, refuse};
use app::context::Caller;
use axum::extract::{Path, Query, State as Extract};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Extension, Router};
use domain::organizer::money::{MoneyTable, Period};
use domain::{Code, PerformanceId};
use http::{HeaderValue, header};
use serde::Deserialize;

/// The routes of this module.
pub(super) fn routes() -> Router<State> {
    Router::new().route("/api/organizer-money-table/{name}", get(money_table))
}

/// What a table is about. A field that a form left empty is one that is left out.
#[derive(Deserialize)]
struct About {
    #[serde(default)]
    period: String,
    #[serde(default)]
    performance: String,
}

impl About {
    fn period(&self) -> Option<Period> {
        if self.period.is_empty() { Some(Period::default()) } else { Period::parse(&self.period) }
    }

    fn performance(&self) -> Option<Option<PerformanceId>> {
        if self.performance.is_empty() { Some(None) } else { self.performance.parse().ok().map(Some) }
    }
}

/// `report.csv`, `postings.csv` and `match.csv`.
async fn money_table(
    Extract(state): Extract<State>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    Query(about): Query<About>,
) -> Response {
    let Some(session) = caller.session else { return refuse(Code::SignInRequired, "sign in first") };
    let table = name.strip_suffix(".csv").and_then(MoneyTable::parse);
    let (Some(table), Some(period), Some(performance)) = (table, about.period(), about.performance()) else {
        return refuse(Code::NotFound, "there is no such table");
    };
    match state.backend.money_table(&session, table, period, performance).await {
        Ok(text) => {
            let file = format!("attachment; filename=\"{}-{}.csv\"", table.as_str(), period.as_str());
            let file = HeaderValue::from_str(&file).unwrap_or_else(|_| HeaderValue::from_static("attachment"));
            let headers = [
                (header::CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8")),
                (header::CONTENT_DISPOSITION, file),
                (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
            ];
            (headers, text).into_response()
        }
        Err(error) => failed(&error),
    }
}
