//! One fan's line to a server: a kept-alive HTTP/1.1 connection from the fan's own source address, and
//! the cookies that the answers set.
//!
//! A shared client pool would let all fans speak from one address; rate limits and risk rules then
//! see one client instead of thousands. This module knows nothing of queues, seats or orders.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// How long a call may take before its outcome counts as unknown.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// Largest answer that is read: an order with twenty tickets has a few kilobytes.
const ANSWER_MAX_BYTES: usize = 1 << 20;
/// Most cookies kept for one fan: the server sets two for a performance.
const COOKIES_MAX: usize = 16;

/// Where requests go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) addr: SocketAddr,
    /// Host and port, for the Host header.
    pub(super) authority: String,
}

impl Target {
    /// Reads and resolves the origin of an `http://` address.
    pub(super) async fn resolve(url: &str) -> anyhow::Result<(Self, Uri)> {
        let uri: Uri = url.parse().with_context(|| format!("`{url}` is not an address"))?;
        if uri.scheme_str() != Some("http") {
            bail!("`{url}`: the simulator speaks plain http only; point it at the address behind the TLS proxy");
        }
        let authority = uri.authority().with_context(|| format!("`{url}` names no host"))?;
        let host = authority.host().trim_matches(['[', ']']);
        let port = authority.port_u16().unwrap_or(80);
        let addr = match host.parse::<IpAddr>() {
            Ok(ip) => SocketAddr::new(ip, port),
            Err(_) => tokio::net::lookup_host((host, port))
                .await
                .with_context(|| format!("looking up {host}"))?
                .next()
                .with_context(|| format!("{host} has no address"))?,
        };
        Ok((Self { addr, authority: authority.as_str().to_owned() }, uri))
    }

    /// What a browser on this site states as its origin.
    pub(super) fn origin(&self) -> String {
        format!("http://{}", self.authority)
    }
}

/// The source address of fan `index`: 127.1.1.1, 127.1.1.2, … of the loopback network, so that the
/// server sees one address per fan.
pub(crate) fn source_address(index: usize) -> IpAddr {
    const PER_BLOCK: usize = 255 * 255;
    let part = |n: usize| u8::try_from(n).unwrap_or(u8::MAX);
    let (block, rest) = (index / PER_BLOCK % 254, index % PER_BLOCK);
    IpAddr::V4(Ipv4Addr::new(127, part(1 + block), part(1 + rest / 255), part(1 + rest % 255)))
}

/// Whether fans can have addresses of their own: the target is on loopback, and this system routes
/// the whole loopback network (macOS only has 127.0.0.1).
pub(super) async fn has_source_addresses(target: &Target) -> bool {
    matches!(target.addr.ip(), IpAddr::V4(ip) if ip.is_loopback())
        && open(target.addr, Some(source_address(0))).await.is_ok()
}

/// Opens a TCP connection, from `source` where one is given.
pub(crate) async fn open(addr: SocketAddr, source: Option<IpAddr>) -> std::io::Result<TcpStream> {
    let socket = if addr.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    if let Some(ip) = source
        && ip.is_ipv4() == addr.is_ipv4()
        && addr.ip().is_loopback()
    {
        socket.bind(SocketAddr::new(ip, 0))?;
    }
    let stream = socket.connect(addr).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// The cookies of one fan: the session's header value as it was minted, and what answers set since.
#[derive(Clone, Debug, Default)]
pub(super) struct Cookies {
    session: String,
    set: BTreeMap<String, String>,
}

impl Cookies {
    pub(super) fn new(session: String) -> Self {
        Self { session, set: BTreeMap::new() }
    }

    /// The value of the Cookie header.
    pub(super) fn header(&self) -> String {
        let mut out = self.session.clone();
        for (name, value) in &self.set {
            if !out.is_empty() {
                out.push_str("; ");
            }
            out.push_str(name);
            out.push('=');
            out.push_str(value);
        }
        out
    }

    /// Keeps what an answer sets, and forgets what it removes.
    pub(super) fn keep(&mut self, headers: &HeaderMap) {
        for text in headers.get_all(header::SET_COOKIE).iter().filter_map(|value| value.to_str().ok()) {
            let mut parts = text.split(';').map(str::trim);
            let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else { continue };
            if value.is_empty() || parts.any(|part| part.eq_ignore_ascii_case("max-age=0")) {
                self.set.remove(name);
            } else if self.set.len() < COOKIES_MAX || self.set.contains_key(name) {
                self.set.insert(name.to_owned(), value.to_owned());
            }
        }
    }
}

/// An answer with its whole body.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The request never reached the server.
    Failed,
    /// It may have reached the server: nobody can say what it did.
    Unknown,
}

struct Connection {
    addr: SocketAddr,
    sender: SendRequest<Full<Bytes>>,
    /// Gives the place among open connections back when the connection is dropped.
    _permit: OwnedSemaphorePermit,
}

/// One fan's line: at most one open connection at a time.
pub(super) struct Line {
    source: Option<IpAddr>,
    /// Bounds the open connections of all fans.
    places: Arc<Semaphore>,
    connection: Option<Connection>,
    pub(super) cookies: Cookies,
}

impl Line {
    pub(super) fn new(source: Option<IpAddr>, places: Arc<Semaphore>, cookies: Cookies) -> Self {
        Self { source, places, connection: None, cookies }
    }

    pub(super) fn source(&self) -> Option<IpAddr> {
        self.source
    }

    /// Closes the connection: for long waits, as a phone does in the pocket.
    pub(super) fn hang_up(&mut self) {
        self.connection = None;
    }

    /// Reads a resource with GET.
    pub(super) async fn get(&mut self, target: &Target, path: &str) -> Result<Answer, Fault> {
        let request = Request::get(path)
            .header(header::HOST, &target.authority)
            .header(header::ACCEPT, "application/json")
            .body(Full::default());
        self.send(target, request).await
    }

    /// Sends a form of the fan's own site, as its pages do.
    pub(super) async fn post(&mut self, target: &Target, path: &str, form: &[(&str, &str)]) -> Result<Answer, Fault> {
        let request = Request::post(path)
            .header(header::HOST, &target.authority)
            .header(header::ORIGIN, target.origin())
            .header(header::ACCEPT, "application/json")
            .header(header::COOKIE, self.cookies.header())
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Full::from(encode_form(form)));
        self.send(target, request).await
    }

    /// Sends a form to another site: no cookies of ours.
    pub(super) async fn post_elsewhere(
        &mut self,
        target: &Target,
        path: &str,
        form: &[(&str, &str)],
    ) -> Result<Answer, Fault> {
        let request = Request::post(path)
            .header(header::HOST, &target.authority)
            .header(header::ORIGIN, target.origin())
            .header(header::ACCEPT, "text/html")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Full::from(encode_form(form)));
        self.send(target, request).await
    }

    async fn send(&mut self, target: &Target, request: http::Result<Request<Full<Bytes>>>) -> Result<Answer, Fault> {
        let request = request.map_err(|_| Fault::Failed)?;
        let outcome = timeout(CALL_TIMEOUT, self.exchange(target, request)).await.unwrap_or(Err(Fault::Unknown));
        if outcome.is_err() {
            self.connection = None;
        }
        outcome
    }

    async fn exchange(&mut self, target: &Target, request: Request<Full<Bytes>>) -> Result<Answer, Fault> {
        let sender = self.ready(target.addr).await?;
        let response = match sender.try_send_request(request).await {
            Ok(response) => response,
            // A kept-alive connection that the server closed meanwhile: hyper gives the request back unsent.
            Err(mut error) => {
                let request = error.take_message().ok_or(Fault::Unknown)?;
                self.connection = None;
                let sender = self.ready(target.addr).await?;
                sender.send_request(request).await.map_err(|_| Fault::Unknown)?
            }
        };
        let (parts, body) = response.into_parts();
        self.cookies.keep(&parts.headers);
        let body = Limited::new(body, ANSWER_MAX_BYTES).collect().await.map_err(|_| Fault::Unknown)?;
        Ok(Answer { status: parts.status, body: body.to_bytes() })
    }

    async fn ready(&mut self, addr: SocketAddr) -> Result<&mut SendRequest<Full<Bytes>>, Fault> {
        let usable = match &mut self.connection {
            Some(open) => open.addr == addr && open.sender.ready().await.is_ok(),
            None => false,
        };
        if !usable {
            self.connection = None;
            self.connection = Some(self.connect(addr).await?);
        }
        self.connection.as_mut().map(|open| &mut open.sender).ok_or(Fault::Failed)
    }

    async fn connect(&self, addr: SocketAddr) -> Result<Connection, Fault> {
        let permit = Arc::clone(&self.places).acquire_owned().await.map_err(|_| Fault::Failed)?;
        let stream = open(addr, self.source).await.map_err(|_| Fault::Failed)?;
        let (sender, driver) = http1::handshake(TokioIo::new(stream)).await.map_err(|_| Fault::Failed)?;
        // Ends by itself: with the sender dropped, the driver closes the connection.
        tokio::spawn(driver);
        Ok(Connection { addr, sender, _permit: permit })
    }
}

/// `application/x-www-form-urlencoded`.
pub(crate) fn encode_form(fields: &[(&str, &str)]) -> String {
    let mut out = String::new();
    for (name, value) in fields {
        if !out.is_empty() {
            out.push('&');
        }
        encode_text(&mut out, name);
        out.push('=');
        encode_text(&mut out, value);
    }
    out
}

fn encode_text(out: &mut String, text: &str) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'*' => out.push(char::from(byte)),
            b' ' => out.push('+'),
            _ => {
                out.push('%');
                out.push(char::from(HEX[usize::from(byte >> 4)]));
                out.push(char::from(HEX[usize::from(byte & 15)]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_encoded_as_browsers_do() {
        assert_eq!(encode_form(&[("seats", "1,2"), ("a b", "ü=&")]), "seats=1%2C2&a+b=%C3%BC%3D%26");
    }

    #[test]
    fn every_fan_has_an_address_of_its_own() {
        let addresses: std::collections::HashSet<_> = (0..100_000).map(source_address).collect();
        assert_eq!(addresses.len(), 100_000);
        assert_eq!(source_address(0).to_string(), "127.1.1.1");
        assert_eq!(source_address(65_025).to_string(), "127.2.1.1");
        assert!(addresses.iter().all(IpAddr::is_loopback));
    }

    #[test]
    fn cookies_are_kept_replaced_and_removed() {
        let mut headers = HeaderMap::new();
        let mut set = |text: &'static str| headers.append(header::SET_COOKIE, text.parse().unwrap());
        set("sa-q-1=abc; HttpOnly; Path=/");
        set("sa-p-1=x");
        set("sa-p-1=y; Secure");
        set("old=; Max-Age=0");
        let mut cookies = Cookies::new("sa-session=s".to_owned());
        cookies.keep(&headers);
        assert_eq!(cookies.header(), "sa-session=s; sa-p-1=y; sa-q-1=abc");
        let mut gone = HeaderMap::new();
        gone.append(header::SET_COOKIE, "sa-p-1=y; Max-Age=0".parse().unwrap());
        cookies.keep(&gone);
        assert_eq!(cookies.header(), "sa-session=s; sa-q-1=abc");
    }

    #[tokio::test]
    async fn only_plain_http_is_spoken() {
        let (target, uri) = Target::resolve("http://127.0.0.1:8080/pay/7?x=1").await.unwrap();
        assert_eq!((target.addr.port(), target.origin().as_str()), (8080, "http://127.0.0.1:8080"));
        assert_eq!(uri.path_and_query().unwrap().as_str(), "/pay/7?x=1");
        assert!(Target::resolve("https://127.0.0.1/").await.is_err());
    }
}
