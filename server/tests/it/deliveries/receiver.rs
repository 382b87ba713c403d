//! An organizer's own system: it takes webhooks and checks their signatures by a computation of its own.

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;

/// Requests to it are never answered.
pub(crate) const SLOW: &str = "/slow";
/// What its answers say.
pub(crate) const ANSWER: &str = "taken, or not";

/// A request that came in.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) id: String,
    pub(crate) timestamp: i64,
    pub(crate) signature: String,
    pub(crate) body: String,
}

impl Request {
    /// The body, and what it is about.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn kind(&self) -> String {
        self.json()["type"].as_str().unwrap().to_owned()
    }

    /// Which of the signatures is that of a secret, from 0.
    pub(crate) fn signed_by(&self, secret: &str) -> Option<usize> {
        let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
        let content = format!("{}.{}.{}", self.id, self.timestamp, self.body);
        let expected = format!("v1,{}", STANDARD.encode(hmac_sha256(&key, content.as_bytes())));
        self.signature.split(' ').position(|signature| signature == expected)
    }
}

/// HMAC by its definition (RFC 2104), for keys up to a block: a fault of the program's library is not shared.
fn hmac_sha256(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut block = [0_u8; 64];
    block[..key.len()].copy_from_slice(key);
    let inner = Sha256::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(block.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize().to_vec()
}

#[derive(Clone)]
struct Shared {
    seen: Arc<Mutex<Vec<Request>>>,
    status: Arc<AtomicU16>,
}

/// The running system.
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    shared: Shared,
}

impl Receiver {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Shared { seen: Arc::default(), status: Arc::new(AtomicU16::new(200)) };
        let router = Router::new().fallback(take).with_state(shared.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, shared }
    }

    /// The address of a path of it.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// From now on it answers with this status.
    pub(crate) fn answer(&self, status: u16) {
        self.shared.status.store(status, Ordering::Relaxed);
    }

    /// What came in, in order.
    pub(crate) fn seen(&self) -> Vec<Request> {
        self.shared.seen.lock().unwrap().clone()
    }
}

async fn take(State(shared): State<Shared>, uri: Uri, headers: HeaderMap, body: String) -> (StatusCode, &'static str) {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let path = uri.path().to_owned();
    let is_slow = path == SLOW;
    let request = Request {
        path,
        id: header("webhook-id"),
        timestamp: header("webhook-timestamp").parse().unwrap(),
        signature: header("webhook-signature"),
        body,
    };
    shared.seen.lock().unwrap().push(request);
    if is_slow {
        std::future::pending::<()>().await;
    }
    (StatusCode::from_u16(shared.status.load(Ordering::Relaxed)).unwrap(), ANSWER)
}
