//! Files that organizers send, and plans as files on their way back: plain routes, so that they work
//! as forms without JavaScript.
//!
//! Who sends is checked before a byte of the body is read. Bodies are bounded, few are in memory at
//! once, and one that is too large is read to its end and thrown away, or browsers would show a broken
//! connection in place of our answer.

use super::State;
use super::errors::{answer, failed, refuse};
use app::context::Caller;
use axum::Json;
use axum::body::Body;
use axum::extract::multipart::Field;
use axum::extract::{DefaultBodyLimit, FromRequest as _, Multipart, Path, Query, Request, State as Extract};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::{MethodRouter, get, post};
use axum::{Extension, Router};
use backend::PICTURE_MAX_BYTES;
use bytes::{Bytes, BytesMut};
use domain::account::Session;
use domain::organizer::Action;
use domain::organizer::plans::ExportFormat;
use domain::venue::import::MAX_FILE_BYTES;
use domain::{Code, EventId, PlanId, Refusal};
use futures::StreamExt as _;
use http::{HeaderMap, HeaderValue, header};
use serde::Deserialize;
use serde_json::json;
use std::sync::LazyLock;
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Where plans are sent to.
const PLAN_UPLOAD: &str = "/api/organizer-plan-upload";
/// Where pictures are sent to.
const PICTURE_UPLOAD: &str = "/api/organizer-picture-upload";
/// What a form adds to its file: boundaries, names, other fields.
const FORM_MAX_BYTES: usize = 64 * 1024;
/// Uploads whose bodies are in memory at once; others wait for their turn.
const UPLOADS_AT_ONCE: usize = 2;
/// How long an upload waits for its turn, and is told to come back after.
const TURN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a body may take: whoever is slower holds a turn for nothing.
const BODY_TIMEOUT: Duration = Duration::from_secs(120);
/// Bodies that are too large are read and thrown away up to here; beyond, the connection ends.
const THROWN_AWAY_MAX_BYTES: usize = 256 * 1024 * 1024;

static UPLOADS: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(UPLOADS_AT_ONCE));

/// The routes of this module.
pub(super) fn routes() -> Router<State> {
    Router::new()
        .route(PLAN_UPLOAD, bounded(post(plan), MAX_FILE_BYTES))
        .route(PICTURE_UPLOAD, bounded(post(picture), PICTURE_MAX_BYTES))
        .route("/api/organizer-picture-remove", post(remove_picture))
        .route("/api/organizer-plan-export/{name}", get(export))
        .route("/pictures/{name}", get(super::maps::picture))
}

fn bounded(route: MethodRouter<State>, file_max_bytes: usize) -> MethodRouter<State> {
    route.layer(DefaultBodyLimit::max(file_max_bytes + FORM_MAX_BYTES))
}

/// Whether a path takes larger bodies than forms have: its handler bounds them by itself.
pub(super) fn takes_files(path: &str) -> bool {
    matches!(path, PLAN_UPLOAD | PICTURE_UPLOAD)
}

/// Which event a picture is for.
#[derive(Deserialize)]
struct OfEvent {
    event: Option<String>,
}

impl OfEvent {
    fn id(&self) -> Result<EventId, Refusal> {
        let id = self.event.as_deref().and_then(|event| event.parse().ok());
        id.ok_or_else(|| Refusal::new(Code::NotFound, "there is no such event"))
    }
}

/// Takes a venue file.
async fn plan(Extract(state): Extract<State>, Extension(caller): Extension<Caller>, request: Request) -> Response {
    const BACK: &str = "/organizer/plans";
    let form = is_form(request.headers());
    let taken = async {
        let session = signed_in(&caller)?;
        state.backend.member(&session, Action::EditPlans).await.map_err(No::Failed)?;
        let file = receive(request, &state, MAX_FILE_BYTES).await?;
        state.backend.upload_plan(&session, &file.name, file.content.clone()).await.map_err(No::Failed)
    };
    match taken.await {
        Ok(id) if form => Redirect::to(&format!("/organizer/imports/{id}")).into_response(),
        Ok(id) => Json(json!({ "id": id })).into_response(),
        Err(no) => no.answer(form.then_some(BACK)),
    }
}

/// Takes the picture of an event.
async fn picture(
    Extract(state): Extract<State>,
    Extension(caller): Extension<Caller>,
    Query(of): Query<OfEvent>,
    request: Request,
) -> Response {
    let form = is_form(request.headers());
    let taken = async {
        let session = signed_in(&caller)?;
        state.backend.member(&session, Action::EditEvents).await.map_err(No::Failed)?;
        let event = of.id()?;
        state.backend.editor_of(&session, event).await.map_err(No::Failed)?;
        let file = receive(request, &state, PICTURE_MAX_BYTES).await?;
        state.backend.set_event_picture(&session, event, file.content.clone()).await.map_err(No::Failed)
    };
    event_answer(taken.await, &of, form)
}

/// Takes the picture of an event away.
async fn remove_picture(
    Extract(state): Extract<State>,
    Extension(caller): Extension<Caller>,
    Query(of): Query<OfEvent>,
    headers: HeaderMap,
) -> Response {
    let removed = async {
        let session = signed_in(&caller)?;
        state.backend.member(&session, Action::EditEvents).await.map_err(No::Failed)?;
        state.backend.remove_event_picture(&session, of.id()?).await.map_err(No::Failed)
    };
    event_answer(removed.await, &of, is_form(&headers))
}

fn event_answer(done: Result<(), No>, of: &OfEvent, form: bool) -> Response {
    let back = of.id().map_or_else(|_| "/organizer".to_owned(), |id| format!("/organizer/events/{id}"));
    match done {
        Ok(()) if form => Redirect::to(&back).into_response(),
        Ok(()) => Json(json!({})).into_response(),
        Err(no) => no.answer(form.then_some(back.as_str())),
    }
}

/// A plan as a file to keep: `<plan>.json` or `<plan>.csv`.
async fn export(
    Extract(state): Extract<State>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Response {
    let (format, ext, content_type) = match name.rsplit_once('.') {
        Some((_, "json")) => (ExportFormat::Json, "json", "application/json"),
        Some((_, "csv")) => (ExportFormat::Csv, "csv", "text/csv; charset=utf-8"),
        _ => return refuse(Code::NotFound, "there is no such plan"),
    };
    let file = async {
        let session = signed_in(&caller)?;
        state.backend.member(&session, Action::ReadPlans).await.map_err(No::Failed)?;
        let id = name.rsplit_once('.').and_then(|(id, _)| id.parse::<PlanId>().ok());
        let id = id.ok_or_else(|| Refusal::new(Code::NotFound, "there is no such plan"))?;
        state.backend.plan_file(&session, id, format).await.map_err(No::Failed)
    };
    match file.await {
        Ok(file) => {
            let disposition = disposition(&file.venue, ext);
            let headers = [
                (header::CONTENT_TYPE, HeaderValue::from_static(content_type)),
                (header::CONTENT_DISPOSITION, disposition),
            ];
            (headers, file.content).into_response()
        }
        Err(no) => no.answer(None),
    }
}

/// `attachment` with a name that is safe in every file system, and the whole name by RFC 5987.
fn disposition(venue: &str, ext: &str) -> HeaderValue {
    let plain: String =
        venue.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).take(80).collect();
    let plain = plain.trim_matches('_');
    let plain = if plain.is_empty() { "plan" } else { plain };
    // Separators of folders would be obeyed by some programs.
    let whole: String = venue.chars().filter(|c| !c.is_control() && !matches!(c, '/' | '\\')).take(120).collect();
    let mut encoded = String::new();
    for byte in whole.trim_start_matches('.').bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~') {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    let text = format!("attachment; filename=\"{plain}.{ext}\"; filename*=UTF-8''{encoded}.{ext}");
    HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static("attachment"))
}

/// Why a file was not taken, or not given.
enum No {
    /// Refused here.
    Refused(Refusal),
    /// Refused, or failed, behind.
    Failed(backend::Error),
}

impl From<Refusal> for No {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl No {
    /// The refusal itself, or the way back to the page of the form, which tells it by its code. The body
    /// may be unread: the connection can't be used again, and says so.
    fn answer(self, back: Option<&str>) -> Response {
        let (mut response, refusal) = match self {
            Self::Refused(refusal) => (answer(&refusal), refusal),
            Self::Failed(error) => (failed(&error), error.refusal()),
        };
        if let Some(back) = back {
            response = match refusal.code {
                Code::SignInRequired => Redirect::to(&format!("/sign-in?next={back}")).into_response(),
                code => Redirect::to(&format!("{back}?refused={}", code.as_str())).into_response(),
            };
        }
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        response
    }
}

/// A file that arrived. Its turn ends with it, not before: that bounds what is in memory.
struct Arrived {
    name: String,
    content: Bytes,
    _turn: SemaphorePermit<'static>,
}

fn signed_in(caller: &Caller) -> Result<Session, No> {
    caller.session.clone().ok_or_else(|| No::Refused(Refusal::new(Code::SignInRequired, "sign in first")))
}

/// Whether a page's form asks, rather than a client of the API.
fn is_form(headers: &HeaderMap) -> bool {
    headers.get(header::ACCEPT).and_then(|v| v.to_str().ok()).is_some_and(|accept| accept.contains("text/html"))
}

/// The file of a form, with its name: bounded in bytes, time and number.
async fn receive(request: Request, state: &State, file_max_bytes: usize) -> Result<Arrived, No> {
    let length = request
        .headers()
        .get(header::CONTENT_LENGTH)
        .and_then(|v| v.to_str().ok())
        .and_then(|v| v.parse::<usize>().ok())
        // Without a length there is no body, or one that is bounded as it arrives.
        .unwrap_or(0);
    if length > file_max_bytes + FORM_MAX_BYTES {
        if length <= THROWN_AWAY_MAX_BYTES {
            throw_away(request.into_body()).await;
        }
        return Err(too_large(file_max_bytes).into());
    }
    let turn = turn().await?;
    let read = async {
        let mut form = Multipart::from_request(request, state).await.map_err(|_| no_file())?;
        while let Some(field) = form.next_field().await.map_err(|_| no_file())? {
            if field.name() == Some("file") {
                return content(field, file_max_bytes).await;
            }
        }
        Err(no_file())
    };
    match tokio::time::timeout(BODY_TIMEOUT, read).await {
        Ok(read) => read.map(|(name, content)| Arrived { name, content, _turn: turn }),
        Err(_) => Err(No::Refused(Refusal::new(Code::InvalidInput, "file: it took too long to arrive"))),
    }
}

async fn content(mut field: Field<'_>, file_max_bytes: usize) -> Result<(String, Bytes), No> {
    let name = field.file_name().unwrap_or_default().to_owned();
    let mut content = BytesMut::new();
    while let Some(chunk) = field.chunk().await.map_err(|_| no_file())? {
        if content.len() + chunk.len() > file_max_bytes {
            return Err(too_large(file_max_bytes).into());
        }
        content.extend_from_slice(&chunk);
    }
    Ok((name, content.freeze()))
}

async fn turn() -> Result<SemaphorePermit<'static>, No> {
    match tokio::time::timeout(TURN_TIMEOUT, UPLOADS.acquire()).await {
        Ok(Ok(permit)) => Ok(permit),
        _ => Err(No::Refused(
            Refusal::new(Code::Unavailable, "other files are on their way; nothing was changed, try again soon")
                .retry_after_ms(10_000),
        )),
    }
}

async fn throw_away(body: Body) {
    let mut body = body.into_data_stream();
    // Whoever is slow, or breaks off, gets no answer that could be read.
    let _ = tokio::time::timeout(BODY_TIMEOUT, async { while let Some(Ok(_)) = body.next().await {} }).await;
}

fn too_large(file_max_bytes: usize) -> Refusal {
    Refusal::new(Code::TooLarge, format!("file: at most {} MiB are expected", file_max_bytes / 1024 / 1024))
}

fn no_file() -> No {
    No::Refused(Refusal::new(Code::InvalidInput, "file: a form (multipart/form-data) with one file is expected"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_download_has_a_name_that_no_program_obeys() {
        let header = |venue: &str| disposition(venue, "csv").to_str().map(str::to_owned).unwrap_or_default();
        assert_eq!(header("Arena"), "attachment; filename=\"Arena.csv\"; filename*=UTF-8''Arena.csv");
        assert_eq!(
            header("../../x\"; y\r\nz"),
            "attachment; filename=\"x___y__z.csv\"; filename*=UTF-8''x%22%3B%20yz.csv"
        );
        assert_eq!(
            header("国家体育场"),
            "attachment; filename=\"plan.csv\"; filename*=UTF-8''%E5%9B%BD%E5%AE%B6%E4%BD%93%E8%82%B2%E5%9C%BA.csv"
        );
    }
}
