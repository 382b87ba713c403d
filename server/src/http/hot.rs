//! The routes that a whole crowd calls: the polled status (`status.rs`), and the join. They bypass the edge around
//! the pages, whose work for each request (a span, a page's nonce, policies for documents) is more than their own,
//! and check by themselves what the edge checks: where an unsafe request comes from, its size, its session.

use super::errors::{answer, failed, refuse};
use super::{State, edge, status};
use app::context::{SESSION_COOKIE, place_header, queue_cookie, session_header};
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State as Extract};
use axum::response::Response;
use axum::routing::{get, post};
use domain::queue::Joined;
use domain::{Code, PerformanceId, Refusal};
use http::{HeaderMap, HeaderValue, header};
use metrics::Counter;
use std::sync::LazyLock;

static JOIN_REQUESTS: LazyLock<Counter> = LazyLock::new(|| metrics::counter!("stararena_join_requests_total"));

/// The routes, to be added behind the edge.
pub(super) fn routes() -> Router<State> {
    Router::new()
        .route("/api/performances/{id}/queue/status", get(status::status))
        .route("/api/performances/{id}/queue/join", post(join))
}

/// Takes a place, or finds the one that the account has. The ticket comes as JSON and as a cookie.
async fn join(Extract(state): Extract<State>, Path(id): Path<String>, headers: HeaderMap) -> Response {
    JOIN_REQUESTS.increment(1);
    match try_join(&state, &id, &headers).await {
        Ok(response) => response,
        Err(refused) => *refused,
    }
}

async fn try_join(state: &State, id: &str, headers: &HeaderMap) -> Result<Response, Box<Response>> {
    let no = |code, message: &str| Box::new(refuse(code, message));
    if !edge::same_site(state, headers) {
        return Err(no(Code::CrossSite, "this request came from another site, or does not say from where"));
    }
    if has_body(headers) {
        return Err(Box::new(edge::unread(refuse(Code::TooLarge, "a join has no body"))));
    }
    let id = id.parse::<PerformanceId>().map_err(|_| no(Code::NotFound, "there is no such performance"))?;
    state.backend.load().admit().map_err(|refusal| Box::new(answer(&refusal)))?;
    let (session_name, place_name) =
        (state.backend.cookie_name(SESSION_COOKIE), state.backend.cookie_name(&queue_cookie(id)));
    let token = cookie(headers, &session_name).ok_or_else(|| no(Code::SignInRequired, "sign in first"))?;
    let (session, renewed) = match state.backend.read_session(token).await {
        Ok(Some(found)) => found,
        Ok(None) => return Err(no(Code::SignInRequired, "sign in first")),
        Err(error) => return Err(Box::new(failed(&error))),
    };
    let ticket = cookie(headers, &place_name);
    let joined =
        state.backend.join_queue(&session, id, ticket).await.map_err(|error| Box::new(spread(state, &error)))?;
    Ok(joined_response(&joined, place_name, renewed.map(|token| session_header(session_name, token))))
}

fn joined_response(joined: &Joined, place_name: String, renewed: Option<String>) -> Response {
    let json = serde_json::to_vec(joined).unwrap_or_default();
    let mut response = Response::new(Body::from(json));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let place = place_header(place_name, joined.ticket.clone());
    for cookie in std::iter::once(place).chain(renewed) {
        if let Ok(value) = HeaderValue::from_str(&cookie) {
            headers.append(header::SET_COOKIE, value);
        }
    }
    response
}

/// A refusal of a crowd: those who are told to come again don't come together.
fn spread(state: &State, error: &backend::Error) -> Response {
    if !error.is_refusal() {
        return failed(error);
    }
    let refusal = error.refusal();
    match refusal.retry_after_ms {
        Some(ms) if refusal.code == Code::Overloaded || refusal.code == Code::Unavailable => {
            answer(&Refusal { retry_after_ms: Some(state.backend.load().spread_ms(ms)), ..refusal })
        }
        _ => answer(&refusal),
    }
}

/// A join says everything in its address and its cookies.
fn has_body(headers: &HeaderMap) -> bool {
    headers.contains_key(header::TRANSFER_ENCODING)
        || headers.get(header::CONTENT_LENGTH).is_some_and(|length| length.as_bytes() != b"0")
}

/// The value of a cookie, without taking all of them apart.
fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(found, _)| *found == name)
        .map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_by_its_whole_name() {
        let mut headers = HeaderMap::new();
        headers.append(header::COOKIE, HeaderValue::from_static("a=1; sa-session=abc.def; sa-session2=x"));
        headers.append(header::COOKIE, HeaderValue::from_static("sa-q-1=ticket"));
        assert_eq!(cookie(&headers, "sa-session"), Some("abc.def"));
        assert_eq!(cookie(&headers, "sa-q-1"), Some("ticket"));
        assert_eq!(cookie(&headers, "session"), None);
    }

    #[test]
    fn a_join_with_a_body_is_seen() {
        let with = |name: header::HeaderName, value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            has_body(&headers)
        };
        assert!(!has_body(&HeaderMap::new()));
        assert!(!with(header::CONTENT_LENGTH, "0"));
        assert!(with(header::CONTENT_LENGTH, "5"));
        assert!(with(header::TRANSFER_ENCODING, "chunked"));
    }
}
