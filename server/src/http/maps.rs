//! Static maps and pictures: files under the digest of their content; maps were compressed when they
//! were published.

use super::State;
use super::errors::refuse;
use axum::extract::{Path, State as Extract};
use axum::response::{IntoResponse, Response};
use domain::Code;
use http::{HeaderMap, header};

/// What is named by its content never changes.
const IMMUTABLE: &str = "public, max-age=31536000, immutable";

fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// One file of a map, in the best form that the client takes.
pub(super) async fn file(Extract(state): Extract<State>, Path(name): Path<String>, headers: HeaderMap) -> Response {
    let missing = || refuse(Code::NotFound, "there is no such map");
    let Some((digest, ext)) = name.split_once('.') else { return missing() };
    let content_type = match ext {
        "bin" => "application/octet-stream",
        "json" => "application/json",
        _ => return missing(),
    };
    if !is_digest(digest) {
        return missing();
    }
    let path = state.backend.config().maps_dir().join(&name);
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let takes = |coding: &str| accepted.split(',').any(|part| part.trim().split(';').next() == Some(coding));
    let forms = [("br", Some("br")), ("gzip", Some("gz")), ("", None)];
    for (coding, suffix) in forms {
        if suffix.is_some() && !takes(coding) {
            continue;
        }
        let mut full = path.clone().into_os_string();
        if let Some(suffix) = suffix {
            full.push(format!(".{suffix}"));
        }
        let Ok(content) = tokio::fs::read(full).await else { continue };
        let base = [
            (header::CONTENT_TYPE, content_type),
            (header::CACHE_CONTROL, IMMUTABLE),
            (header::VARY, "accept-encoding"),
        ];
        return match suffix {
            Some(_) => (base, [(header::CONTENT_ENCODING, coding)], content).into_response(),
            None => (base, content).into_response(),
        };
    }
    missing()
}

/// One picture.
pub(super) async fn picture(Extract(state): Extract<State>, Path(name): Path<String>) -> Response {
    let missing = || refuse(Code::NotFound, "there is no such picture");
    if !name.strip_suffix(".jpg").is_some_and(is_digest) {
        return missing();
    }
    match tokio::fs::read(state.backend.config().pictures_dir().join(&name)).await {
        Ok(content) => {
            ([(header::CONTENT_TYPE, "image/jpeg"), (header::CACHE_CONTROL, IMMUTABLE)], content).into_response()
        }
        Err(_) => missing(),
    }
}
