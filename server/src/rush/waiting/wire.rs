//! The crowd's requests as bytes, the lines that carry them, and how answers are read. Many fans share
//! a line: what is measured is the server, and a connection for each would measure the kernel.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use domain::PerformanceId;
use domain::refusal::{Code, Refusal};
use hdrhistogram::Histogram;
use serde::de::DeserializeOwned;

use crate::bench::load::{Answer, Line};

use super::super::http::encode_form;
use super::super::journal::histogram;

/// A line that rested longer is opened anew: servers close lines that are silent for long.
const REST_MAX: Duration = Duration::from_secs(5);
/// Wait before another try where the server names none.
const RETRY_MS: u64 = 1_000;
/// Longest wait before another try, whatever the server asks for.
const RETRY_MAX_MS: u64 = 10_000;

/// The whole request for a place in a queue. `cookies` is the value of the header.
pub(crate) fn join_request(authority: &str, id: PerformanceId, cookies: &str) -> Bytes {
    format!(
        "POST /api/performances/{id}/queue/join HTTP/1.1\r\nhost: {authority}\r\norigin: http://{authority}\r\n\
         accept: application/json\r\ncookie: {cookies}\r\ncontent-length: 0\r\n\r\n"
    )
    .into()
}

/// The whole request to be let in.
pub(super) fn enter_request(authority: &str, cookies: &str, form: &[(&str, &str)]) -> Bytes {
    let body = encode_form(form);
    format!(
        "POST /api/queue-enter HTTP/1.1\r\nhost: {authority}\r\norigin: http://{authority}\r\n\
         accept: application/json\r\ncookie: {cookies}\r\ncontent-type: application/x-www-form-urlencoded\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into()
}

/// A GET, conditional where an earlier answer's tag is known.
pub(super) fn get_request(authority: &str, path: &str, tag: Option<&str>) -> Bytes {
    let condition = tag.map(|tag| format!("if-none-match: {tag}\r\n")).unwrap_or_default();
    format!("GET {path} HTTP/1.1\r\nhost: {authority}\r\naccept: application/json\r\n{condition}\r\n").into()
}

/// A line that is opened when it is needed, and anew after it broke.
pub(super) struct Wire {
    address: SocketAddr,
    number: usize,
    line: Option<(Line, Instant)>,
}

impl Wire {
    pub(super) fn new(address: SocketAddr, number: usize) -> Self {
        Self { address, number, line: None }
    }

    /// Sends a request and reads its answer. After an error nobody knows what the server did.
    pub(super) async fn call<T>(&mut self, request: &[u8], read: impl FnOnce(&Answer<'_>) -> T) -> anyhow::Result<T> {
        let rested = self.line.take().filter(|(_, used)| used.elapsed() < REST_MAX);
        let mut line = match rested {
            Some((line, _)) => line,
            None => Line::open(self.address, self.number).await?,
        };
        let read = line.call(request).await.map(|answer| read(&answer))?;
        self.line = Some((line, Instant::now()));
        Ok(read)
    }
}

/// What an answer says.
pub(super) enum Heard<T> {
    /// A success.
    Ok(T),
    /// The same request may be answered otherwise after this time, in milliseconds.
    Later(Code, u64),
    /// A business "no".
    No(Code),
    /// Nothing that can be read.
    Unread(u16),
}

/// Reads the answer to a call.
pub(super) fn heard<T: DeserializeOwned>(answer: &Answer<'_>) -> Heard<T> {
    if answer.status == 200 {
        return serde_json::from_slice(answer.body).map_or(Heard::Unread(200), Heard::Ok);
    }
    let refusal = serde_json::from_slice::<Refusal>(answer.body).ok();
    let seconds = answer.header("retry-after").and_then(|seconds| seconds.parse::<u64>().ok());
    let asked_ms = refusal
        .as_ref()
        .and_then(|refusal| refusal.retry_after_ms.map(u64::from))
        .or(seconds.map(|seconds| seconds.saturating_mul(1_000)));
    let wait_ms = asked_ms.unwrap_or(RETRY_MS).min(RETRY_MAX_MS);
    match (answer.status, refusal.map(|refusal| refusal.code)) {
        (429, code) => Heard::Later(code.unwrap_or(Code::TooManyRequests), wait_ms),
        (503, code) => Heard::Later(code.unwrap_or(Code::Overloaded), wait_ms),
        (_, Some(code @ (Code::NotYourTurn | Code::Paused))) => Heard::Later(code, wait_ms),
        (_, Some(code)) => Heard::No(code),
        (status, None) => Heard::Unread(status),
    }
}

/// What the lines of one stage came to.
pub(super) struct Tally {
    /// Microseconds from the moment at which the fan meant to act to the success, waits that the server
    /// asked for included.
    pub(super) latencies: Histogram<u64>,
    /// Microseconds from the moment of the try to its success.
    pub(super) answers: Histogram<u64>,
    /// Answers that asked to come again, by code.
    pub(super) later: BTreeMap<&'static str, u64>,
    /// What should not happen on a healthy server.
    pub(super) errors: BTreeMap<String, u64>,
}

impl Tally {
    pub(super) fn new() -> Self {
        Self { latencies: histogram(), answers: histogram(), later: BTreeMap::new(), errors: BTreeMap::new() }
    }

    pub(super) fn later(&mut self, code: Code) {
        *self.later.entry(code.as_str()).or_default() += 1;
    }

    pub(super) fn error(&mut self, what: &str, why: impl std::fmt::Display) {
        *self.errors.entry(format!("{what}: {why}")).or_default() += 1;
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.latencies.add(&other.latencies).expect("all histograms have the same bounds");
        self.answers.add(&other.answers).expect("all histograms have the same bounds");
        for (code, count) in &other.later {
            *self.later.entry(*code).or_default() += count;
        }
        for (what, count) in &other.errors {
            *self.errors.entry(what.clone()).or_default() += count;
        }
    }

    /// How often a code was answered that asks to come again.
    pub(super) fn later_by(&self, code: Code) -> u64 {
        self.later.get(code.as_str()).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn requests_are_whole() {
        let id = PerformanceId(Uuid::from_u128(7));
        let join = join_request("h:1", id, "sa-session=x");
        let join = std::str::from_utf8(&join).unwrap();
        assert!(join.starts_with(&format!("POST /api/performances/{id}/queue/join HTTP/1.1\r\nhost: h:1\r\n")));
        assert!(join.contains("\r\norigin: http://h:1\r\n") && join.ends_with("content-length: 0\r\n\r\n"));
        let enter = enter_request("h:1", "c", &[("nonce", "a b")]);
        assert!(std::str::from_utf8(&enter).unwrap().ends_with("content-length: 9\r\n\r\nnonce=a+b"));
        let poll = get_request("h:1", "/x", Some("\"7\""));
        assert!(std::str::from_utf8(&poll).unwrap().ends_with("\r\nif-none-match: \"7\"\r\n\r\n"));
    }
}
