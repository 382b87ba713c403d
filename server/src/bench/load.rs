//! The load tool: requests that are written down ahead, over kept-alive connections, one at a time on
//! each, closed loop (the next when the last is answered) or open loop (each at its own moment,
//! latency from that moment).
//!
//! It reads as little of an answer as it must, since it shares two cores with what it measures: the
//! length of its body, or where its last chunk ends.

use super::figure::{count, latencies, note, per_second};
use crate::rush::http::{open, source_address};
use anyhow::{Context as _, bail};
use bytes::Bytes;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::Instant;

/// How long an answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Largest answer: the arrival list of 200,000 fans has 3.2 MB.
const ANSWER_MAX_BYTES: usize = 1 << 22;

/// One kept-alive connection.
pub(crate) struct Line {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// An answer; it is in the line's buffer until the next call.
pub(crate) struct Answer<'a> {
    pub(crate) status: u16,
    head: &'a [u8],
    /// As it came: chunks are not put together.
    pub(crate) body: &'a [u8],
}

impl<'a> Answer<'a> {
    /// The first header of a name.
    pub(crate) fn header(&self, name: &str) -> Option<&'a str> {
        let text = std::str::from_utf8(self.head).ok()?;
        let mut fields = text.split("\r\n").filter_map(|line| line.split_once(':'));
        fields.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }
}

impl Line {
    /// Opens a connection from a source address of its own.
    pub(crate) async fn open(address: SocketAddr, number: usize) -> anyhow::Result<Self> {
        let stream = open(address, Some(source_address(number))).await.context("connecting to the server")?;
        Ok(Self { stream, buffer: Vec::with_capacity(4_096) })
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn call(&mut self, request: &[u8]) -> anyhow::Result<Answer<'_>> {
        let (status, from) = tokio::time::timeout(ANSWER_TIMEOUT, self.exchange(request))
            .await
            .context("an answer did not come in time")??;
        let (head, body) = self.buffer.split_at(from);
        Ok(Answer { status, head, body })
    }

    async fn exchange(&mut self, request: &[u8]) -> anyhow::Result<(u16, usize)> {
        self.buffer.clear();
        self.stream.write_all(request).await?;
        let head = loop {
            self.read_more().await?;
            if let Some(head) = head_of(&self.buffer)? {
                break head;
            }
        };
        match head.length {
            Length::Known(length) => {
                while self.buffer.len() < head.from + length {
                    self.read_more().await?;
                }
            }
            Length::Chunks => {
                let mut at = head.from;
                while !has_ended(&self.buffer, &mut at)? {
                    self.read_more().await?;
                }
            }
        }
        Ok((head.status, head.from))
    }

    async fn read_more(&mut self) -> anyhow::Result<()> {
        if self.stream.read_buf(&mut self.buffer).await? == 0 {
            bail!("the server closed a connection before its answer was whole");
        }
        if self.buffer.len() > ANSWER_MAX_BYTES {
            bail!("an answer is larger than any that is expected");
        }
        Ok(())
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    from: usize,
    length: Length,
}

/// How the end of a body is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Known(usize),
    /// By a chunk without content.
    Chunks,
}

/// Status, begin and length of the body, once the whole head is there.
fn head_of(bytes: &[u8]) -> anyhow::Result<Option<Head>> {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(None) };
    let text = std::str::from_utf8(&bytes[..end]).context("the head of an answer is no text")?;
    let mut lines = text.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok());
    let length = lines.filter_map(|line| line.split_once(':')).find_map(|(name, value)| {
        if name.eq_ignore_ascii_case("content-length") {
            return value.trim().parse().ok().map(Length::Known);
        }
        let chunks = name.eq_ignore_ascii_case("transfer-encoding") && value.trim().eq_ignore_ascii_case("chunked");
        chunks.then_some(Length::Chunks)
    });
    match (status, length) {
        // These have no body, whatever their head says of the one that they stand for.
        (Some(status @ (204 | 304)), _) => Ok(Some(Head { status, from: end + 4, length: Length::Known(0) })),
        (Some(status), Some(length)) => Ok(Some(Head { status, from: end + 4, length })),
        _ => bail!("an answer without a status or a length: {text}"),
    }
}

/// Moves `at` behind the chunks that are whole, and says whether the last one was among them.
fn has_ended(bytes: &[u8], at: &mut usize) -> anyhow::Result<bool> {
    while let Some(line) = bytes[*at..].windows(2).position(|two| two == b"\r\n") {
        let text = std::str::from_utf8(&bytes[*at..*at + line]).context("the size of a chunk is no text")?;
        let size = usize::from_str_radix(text.trim(), 16).with_context(|| format!("a chunk of the size `{text}`"))?;
        let next = *at + line + 2 + size + 2;
        if bytes.len() < next {
            return Ok(false);
        }
        *at = next;
        if size == 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A GET of a path.
pub(crate) fn get(address: SocketAddr, path: &str) -> Bytes {
    format!("GET {path} HTTP/1.1\r\nhost: {address}\r\naccept: */*\r\n\r\n").into()
}

/// What a load came to.
pub(crate) struct Loaded {
    /// Answers by status.
    pub(super) statuses: BTreeMap<u16, usize>,
    /// The body of the first answer that was not 200.
    pub(super) refusal: Option<String>,
    /// Latencies of the answers with 200, in microseconds.
    pub(super) latencies: Histogram<u64>,
    /// From the first request to the last answer.
    pub(super) elapsed: Duration,
}

impl Loaded {
    fn empty() -> Self {
        Self { statuses: BTreeMap::new(), refusal: None, latencies: latencies(), elapsed: Duration::ZERO }
    }

    fn note(&mut self, answer: &Answer<'_>, latency: Duration) {
        *self.statuses.entry(answer.status).or_default() += 1;
        if answer.status == 200 {
            note(&mut self.latencies, latency);
        } else if self.refusal.is_none() {
            self.refusal = Some(String::from_utf8_lossy(answer.body).chars().take(200).collect());
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (status, count) in &other.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
        if self.refusal.is_none() {
            self.refusal.clone_from(&other.refusal);
        }
        self.latencies.add(&other.latencies).expect("all histograms have the same bounds");
    }

    /// How many were answered with 200.
    pub(super) fn accepted(&self) -> usize {
        self.statuses.get(&200).copied().unwrap_or(0)
    }

    /// How many were told to come back later.
    pub(super) fn turned_away(&self) -> f64 {
        count([503_u16, 429].iter().filter_map(|status| self.statuses.get(status)).sum())
    }

    /// Answers with 200 a second.
    pub(crate) fn rate(&self) -> f64 {
        per_second(self.accepted(), self.elapsed)
    }

    /// Half of the rate that was reached: for an open loop behind a closed one.
    pub(super) fn half_rate(&self) -> u32 {
        let accepted = u128::try_from(self.accepted()).unwrap_or(u128::MAX);
        u32::try_from(accepted.saturating_mul(500) / self.elapsed.as_millis().max(1)).unwrap_or(u32::MAX).max(1)
    }

    /// Refuses a load that had other answers than 200 and the given ones, or none.
    pub(super) fn expect(&self, also: &[u16]) -> anyhow::Result<()> {
        let wrong = self.statuses.keys().find(|status| **status != 200 && !also.contains(status));
        if let Some(status) = wrong {
            let refusal = self.refusal.as_deref().unwrap_or_default();
            bail!("{} answers had the status {status}: {refusal}", self.statuses[status]);
        }
        if self.accepted() == 0 {
            bail!("no request was answered with 200: {:?}", self.statuses);
        }
        Ok(())
    }
}

/// Which request comes when: `None` when there is none left. Numbers come in order from 0.
pub(crate) type Source = Arc<dyn Fn(usize) -> Option<Bytes> + Send + Sync>;

/// The same request again and again.
pub(crate) fn always(request: Bytes) -> Source {
    Arc::new(move |_| Some(request.clone()))
}

/// Each request once.
pub(super) fn each(requests: Vec<Bytes>) -> Source {
    Arc::new(move |number| requests.get(number).cloned())
}

/// When the requests of a load are due.
#[derive(Clone, Copy)]
enum Pace {
    Closed,
    /// So long after one another.
    Open(Duration),
}

/// As many requests as `connections` lines can carry within the time.
pub(crate) async fn closed(
    address: SocketAddr,
    connections: usize,
    source: Source,
    limit: Duration,
) -> anyhow::Result<Loaded> {
    load(address, connections, source, limit, Pace::Closed).await
}

/// `rate` requests a second, each at its own moment, over as many lines.
pub(super) async fn open_loop(
    address: SocketAddr,
    connections: usize,
    source: Source,
    limit: Duration,
    rate: u32,
) -> anyhow::Result<Loaded> {
    load(address, connections, source, limit, Pace::Open(Duration::from_secs(1) / rate.max(1))).await
}

async fn load(
    address: SocketAddr,
    connections: usize,
    source: Source,
    limit: Duration,
    pace: Pace,
) -> anyhow::Result<Loaded> {
    let mut lines = Vec::with_capacity(connections);
    for number in 0..connections {
        lines.push(Line::open(address, number).await?);
    }
    let next = Arc::new(AtomicUsize::new(0));
    let started = Instant::now();
    let tasks: Vec<_> = lines
        .into_iter()
        .map(|line| tokio::spawn(drive(line, Arc::clone(&source), Arc::clone(&next), started, limit, pace)))
        .collect();
    let mut all = Loaded::empty();
    let mut failed = None;
    for task in tasks {
        match task.await? {
            Ok(part) => all.add(&part),
            Err(error) => failed = Some(error),
        }
    }
    all.elapsed = started.elapsed();
    match failed {
        Some(error) => Err(error),
        None => Ok(all),
    }
}

async fn drive(
    mut line: Line,
    source: Source,
    next: Arc<AtomicUsize>,
    started: Instant,
    limit: Duration,
    pace: Pace,
) -> anyhow::Result<Loaded> {
    let mut part = Loaded::empty();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let due = match pace {
            Pace::Closed => Instant::now(),
            Pace::Open(step) => started + step * u32::try_from(number).unwrap_or(u32::MAX),
        };
        if due.saturating_duration_since(started) >= limit {
            return Ok(part);
        }
        let Some(request) = source(number) else { return Ok(part) };
        if matches!(pace, Pace::Open(_)) {
            tokio::time::sleep_until(due).await;
        }
        let answer = line.call(&request).await?;
        part.note(&answer, due.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_when_they_are_whole() {
        let answer = b"HTTP/1.1 409 Conflict\r\nContent-Length: 3\r\nx: y\r\n\r\nabc";
        assert_eq!(head_of(&answer[..30]).unwrap(), None);
        assert_eq!(head_of(answer).unwrap(), Some(Head { status: 409, from: 50, length: Length::Known(3) }));
        let unchanged = head_of(b"HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n").unwrap().unwrap();
        assert_eq!((unchanged.status, unchanged.length), (304, Length::Known(0)));
        assert!(head_of(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n").is_err());
    }

    #[test]
    fn chunks_are_read_up_to_the_last_one_however_they_come() {
        let wire = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab\r\nc\r\n1a\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n";
        let head = head_of(wire).unwrap().unwrap();
        assert_eq!(head.length, Length::Chunks);
        let mut at = head.from;
        for end in head.from..wire.len() {
            assert!(!has_ended(&wire[..end], &mut at).unwrap(), "{end} bytes are not all");
        }
        assert!(has_ended(wire, &mut at).unwrap());
        assert_eq!(at, wire.len());
        assert!(has_ended(b"hello\r\n", &mut 0).is_err());
    }

    #[test]
    fn headers_are_found_by_their_names() {
        let head = b"HTTP/1.1 200 OK\r\nETag: \"7\"\r\nretry-after: 2\r\n\r\n";
        let answer = Answer { status: 200, head, body: b"" };
        assert_eq!((answer.header("etag"), answer.header("Retry-After")), (Some("\"7\""), Some("2")));
        assert_eq!(answer.header("age"), None);
    }

    /// An answer in parts, as pages are sent.
    async fn streamed() -> axum::body::Body {
        let parts = ["<p>", "a page", "</p>"].map(|part| Ok::<_, std::convert::Infallible>(Bytes::from(part)));
        axum::body::Body::from_stream(futures::stream::iter(parts))
    }

    #[tokio::test]
    async fn both_loops_ask_and_count_and_a_source_that_ends_ends_them() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = axum::Router::new()
            .route("/yes", axum::routing::get(|| async { "yes" }))
            .route("/no", axum::routing::get(|| async { (http::StatusCode::CONFLICT, "no") }))
            .route("/page", axum::routing::get(streamed));
        tokio::spawn(async move { axum::serve(listener, router).await });
        let requests = vec![get(address, "/yes"), get(address, "/no"), get(address, "/yes")];
        let minute = Duration::from_secs(60);
        let done = closed(address, 2, each(requests.clone()), minute).await.unwrap();
        assert_eq!(done.statuses, BTreeMap::from([(200, 2), (409, 1)]));
        assert_eq!((done.refusal.as_deref(), done.latencies.len()), (Some("no"), 2));
        assert!(done.expect(&[]).is_err() && done.expect(&[409]).is_ok());
        let done = closed(address, 1, each(vec![get(address, "/page"); 3]), minute).await.unwrap();
        assert_eq!(done.accepted(), 3, "pages without a length are read to their end");
        let done = open_loop(address, 2, always(requests[0].clone()), Duration::from_millis(100), 100).await.unwrap();
        assert_eq!(done.accepted(), 10, "as many moments as fit into the time");
    }
}
