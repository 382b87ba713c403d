//! What doors need to know, and tickets as files to keep: paper and calendar.

use super::State;
use super::errors::{answer, failed, refuse};
use crate::paper;
use app::context::Caller;
use axum::extract::{Path, State as Extract};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use axum::{Extension, Json, Router};
use backend::Papers;
use domain::account::Session;
use domain::{Code, OrderId, PerformanceId, Refusal, TicketId};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde_json::json;

/// How long caches may keep what doors are told: a door is behind by no more than this and its own looks.
const DOOR_CACHE: &str = "public, max-age=2";
/// Files that belong to one person.
const PRIVATE: &str = "private, no-store";

/// The routes of this module.
pub(super) fn routes() -> Router<State> {
    Router::new()
        .route("/api/ticket-key", get(ticket_key))
        .route("/api/ticket-keys", get(ticket_keys))
        .route("/api/performances/{id}/revocations", get(revocations))
        .route("/orders/{id}/tickets.pdf", get(order_paper))
        .route("/orders/{id}/event.ics", get(calendar))
        .route("/tickets/{file}", get(ticket_paper))
}

/// The key that signs now: for devices that know of one key alone.
async fn ticket_key(Extract(state): Extract<State>) -> Response {
    let (id, key) = state.backend.ticket_verify_key();
    Json(json!({ "algorithm": "Ed25519", "key_id": id, "key": hex::encode(key) })).into_response()
}

/// The keys with which door devices verify tickets offline: public by their nature, the newest first.
async fn ticket_keys(Extract(state): Extract<State>) -> Response {
    let keys: Vec<_> =
        state.backend.ticket_keys().map(|(id, key)| json!({ "key_id": id, "key": hex::encode(key) })).collect();
    let cache = [(header::CACHE_CONTROL, HeaderValue::from_static(DOOR_CACHE))];
    (cache, Json(json!({ "algorithm": "Ed25519", "keys": keys }))).into_response()
}

/// The tickets of a performance that doors refuse although their signature is right.
async fn revocations(Extract(state): Extract<State>, Path(id): Path<String>, headers: HeaderMap) -> Response {
    let Ok(id) = id.parse::<PerformanceId>() else { return refuse(Code::NotFound, "there is no such performance") };
    let list = match state.backend.revocations(id).await {
        Ok(list) => list,
        Err(error) => return failed(&error),
    };
    let same = headers.get(header::IF_NONE_MATCH).is_some_and(|value| value.as_bytes() == list.etag.as_bytes());
    let mut response = if same { StatusCode::NOT_MODIFIED.into_response() } else { list.json.clone().into_response() };
    let sent = response.headers_mut();
    sent.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    sent.insert(header::CACHE_CONTROL, HeaderValue::from_static(DOOR_CACHE));
    let signature = HeaderName::from_static("x-stararena-signature");
    for (name, value) in [(header::ETAG, &list.etag), (signature, &list.signature)] {
        if let Ok(value) = HeaderValue::from_str(value) {
            sent.insert(name, value);
        }
    }
    response
}

/// The tickets of an order on paper.
async fn order_paper(
    Extract(state): Extract<State>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let (id, session) = match order_and_session(&id, &caller, &headers) {
        Ok(found) => found,
        Err(no) => return *no,
    };
    match state.backend.order_papers(&session, id).await {
        Ok(papers) => printed(papers, &format!("tickets-{id}.pdf")).await,
        Err(error) => failed(&error),
    }
}

/// One ticket on paper: `<ticket>.pdf`.
async fn ticket_paper(
    Extract(state): Extract<State>,
    Extension(caller): Extension<Caller>,
    Path(file): Path<String>,
    headers: HeaderMap,
) -> Response {
    let id = file.strip_suffix(".pdf").and_then(|id| id.parse::<TicketId>().ok());
    let Some(id) = id else { return refuse(Code::NotFound, "there is no such ticket") };
    let session = match signed_in(&caller, &headers, &format!("/tickets?ticket={id}")) {
        Ok(session) => session,
        Err(no) => return *no,
    };
    match state.backend.ticket_paper(&session, id).await {
        Ok(papers) => printed(papers, &format!("ticket-{id}.pdf")).await,
        Err(error) => failed(&error),
    }
}

/// The evening of an order for calendars.
async fn calendar(
    Extract(state): Extract<State>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let (id, session) = match order_and_session(&id, &caller, &headers) {
        Ok(found) => found,
        Err(no) => return *no,
    };
    match state.backend.calendar_file(&session, id).await {
        Ok(text) => file("text/calendar; charset=utf-8", "attachment; filename=\"event.ics\"", text.into_bytes()),
        Err(error) => failed(&error),
    }
}

/// The order that is asked for, and who asks.
fn order_and_session(id: &str, caller: &Caller, headers: &HeaderMap) -> Result<(OrderId, Session), Box<Response>> {
    let Ok(id) = id.parse::<OrderId>() else {
        return Err(Box::new(refuse(Code::NotFound, "there is no such order")));
    };
    Ok((id, signed_in(caller, headers, &format!("/orders/{id}"))?))
}

/// Who asks. A person who follows a link is led through the sign-in to the page that has it; a program is refused.
fn signed_in(caller: &Caller, headers: &HeaderMap, page: &str) -> Result<Session, Box<Response>> {
    if let Some(session) = &caller.session {
        return Ok(session.clone());
    }
    let person = headers.get(header::ACCEPT).and_then(|v| v.to_str().ok()).is_some_and(|v| v.contains("text/html"));
    Err(Box::new(if person {
        Redirect::to(&format!("/sign-in?next={page}")).into_response()
    } else {
        answer(&Refusal::new(Code::SignInRequired, "sign in first"))
    }))
}

/// Drawing takes a core for a moment: it is done beside the requests.
async fn printed(papers: Papers, name: &str) -> Response {
    match tokio::task::spawn_blocking(move || paper::pdf(&papers)).await {
        Ok(Ok(content)) => file("application/pdf", &format!("inline; filename=\"{name}\""), content),
        Ok(Err(error)) => {
            tracing::error!(error = &error as &dyn std::error::Error, "tickets could not be printed");
            refuse(Code::Internal, "the tickets could not be printed; they are on their page")
        }
        Err(_) => refuse(Code::Internal, "the tickets could not be printed; they are on their page"),
    }
}

fn file(content_type: &'static str, disposition: &str, content: Vec<u8>) -> Response {
    let disposition = HeaderValue::from_str(disposition).unwrap_or_else(|_| HeaderValue::from_static("attachment"));
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(content_type)),
        (header::CONTENT_DISPOSITION, disposition),
        (header::CACHE_CONTROL, HeaderValue::from_static(PRIVATE)),
    ];
    (headers, content).into_response()
}
