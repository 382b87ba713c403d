//! Files as browsers send them.

use super::{Arena, Fan, Reply};
use domain::ImportId;
use reqwest::Method;
use serde::Deserialize;

const BOUNDARY: &str = "----a-boundary-of-ours";

#[derive(Deserialize)]
struct Uploaded {
    id: ImportId,
}

/// A form with one file, as a browser writes it.
pub(crate) fn form(field: &str, name: &str, content: &[u8]) -> Vec<u8> {
    let head = format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"{name}\"\r\nContent-Type: application/octet-stream\r\n\r\n"
    );
    [head.as_bytes(), content, format!("\r\n--{BOUNDARY}--\r\n").as_bytes()].concat()
}

/// Sends a form with a file.
pub(crate) async fn send(arena: &Arena, who: Option<&Fan>, path: &str, accept: &str, body: Vec<u8>) -> Reply {
    let mut request = arena
        .plain_request(Method::POST, path)
        .header("origin", &arena.origin)
        .header("accept", accept)
        .header("content-type", format!("multipart/form-data; boundary={BOUNDARY}"))
        .body(body);
    if let Some(fan) = who {
        request = request.header("cookie", &fan.cookie);
    }
    arena.send(request).await
}

/// Uploads a venue file.
pub(crate) async fn upload(arena: &Arena, who: Option<&Fan>, name: &str, content: &[u8]) -> Reply {
    send(arena, who, "/api/organizer-plan-upload", "application/json", form("file", name, content)).await
}

/// Uploads a venue file that is taken in.
pub(crate) async fn uploaded(arena: &Arena, who: &Fan, name: &str, content: &[u8]) -> String {
    upload(arena, Some(who), name, content).await.ok::<Uploaded>().id.to_string()
}
