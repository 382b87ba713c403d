//! The provider as its merchant, its payers and its own people see it: through HTTP, on a port of its own.

mod disputes;
mod faults;
mod keeping;
mod keys;
mod pages;
mod payments;
mod refunds;
mod settlement;
mod webhooks;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde_json::{Value, json};

use super::{Psp, PspConfig, Running, now_ms};

/// The merchant's key.
const KEY: &str = "key";
/// The key of the provider's own people.
const STAFF_KEY: &str = "staff";
const GOOD_CARD: &str = "4242 4242 4242 4242";
const DECLINED_CARD: &str = "4000 0000 0000 0002";
const EMPTY_CARD: &str = "4000 0000 0000 9995";
const CHALLENGED_CARD: &str = "4000 0000 0000 3220";
/// How long a test waits for something that must happen soon.
const PATIENCE: Duration = Duration::from_secs(20);

/// A merchant's webhook endpoint that keeps what it got.
struct Merchant {
    url: String,
    seen: Arc<Inbox>,
}

#[derive(Default)]
struct Inbox {
    deliveries: Mutex<Vec<(String, Bytes)>>,
    /// Deliveries still to be answered with 500.
    failures_left: AtomicU32,
}

impl Merchant {
    async fn start() -> Self {
        let seen = Arc::new(Inbox::default());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let router = Router::new().route("/hook", post(receive)).with_state(Arc::clone(&seen));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, seen }
    }

    /// The types of the events that arrived, by event id.
    fn events(&self) -> BTreeMap<String, Value> {
        let deliveries = self.seen.deliveries.lock().unwrap();
        let events = deliveries.iter().map(|(_, body)| serde_json::from_slice::<Value>(body).unwrap());
        events.map(|event| (event["id"].as_str().unwrap().to_owned(), event)).collect()
    }

    fn count(&self, kind: &str) -> usize {
        self.events().values().filter(|event| event["type"] == kind).count()
    }

    async fn expect(&self, kind: &str, count: usize) {
        eventually(|| async { self.count(kind) == count }).await;
    }
}

async fn receive(State(inbox): State<Arc<Inbox>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let less = |left: u32| left.checked_sub(1);
    if inbox.failures_left.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).is_ok() {
        return StatusCode::INTERNAL_SERVER_ERROR;
    }
    let signature = headers["starpay-signature"].to_str().unwrap().to_owned();
    inbox.deliveries.lock().unwrap().push((signature, body));
    StatusCode::OK
}

async fn eventually<F: Future<Output = bool>>(mut check: impl FnMut() -> F) {
    let settled = async {
        while !check().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, settled).await.expect("it should have happened by now");
}

/// A folder that goes away with the test.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new() -> Self {
        let name = format!("stararena-psp-{:016x}", rand::random::<u64>());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// A started provider and a client that follows no redirect.
struct Provider {
    running: Running,
    client: reqwest::Client,
}

impl Provider {
    async fn start(folder: &Folder, webhook_url: Option<&str>) -> Self {
        let running = Psp::start(PspConfig {
            listen: "127.0.0.1:0".parse().unwrap(),
            data_dir: folder.0.clone(),
            public_url: None,
            api_key: KEY.to_owned(),
            control_key: Some(STAFF_KEY.to_owned()),
            webhook_url: webhook_url.map(str::to_owned),
            webhook_secret: "new,old".to_owned(),
            merchant: "Shop <&>".to_owned(),
        });
        crate::tls::use_tls();
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy();
        Self { running: running.await.unwrap(), client: client.build().unwrap() }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.running.addr)
    }

    async fn get(&self, path: &str) -> Value {
        self.get_as(KEY, path).await
    }

    async fn get_as(&self, key: &str, path: &str) -> Value {
        let (status, answer) = answered(self.client.get(self.url(path)).bearer_auth(key)).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    async fn post(&self, path: &str, key: &str, body: Value) -> (u16, Value) {
        let mut request = self.client.post(self.url(path)).bearer_auth(KEY).json(&body);
        if !key.is_empty() {
            request = request.header("Idempotency-Key", key);
        }
        answered(request).await
    }

    /// What the provider's own people do by hand.
    async fn control(&self, path: &str, body: Value) -> (u16, Value) {
        answered(self.client.post(self.url(path)).bearer_auth(STAFF_KEY).json(&body)).await
    }

    /// Sets all switches; what is left out goes back to its default.
    async fn switches(&self, body: Value) {
        let request = self.client.put(self.url("/control/switches")).bearer_auth(STAFF_KEY).json(&body);
        let (status, answer) = answered(request).await;
        assert_eq!(status, 200, "{answer}");
    }

    async fn create(&self, reference: &str) -> String {
        let (status, payment) = self.post("/v1/payments", "", order(reference)).await;
        assert_eq!((status, &payment["status"]), (200, &json!("requires_payment")), "{payment}");
        payment["id"].as_str().unwrap().to_owned()
    }

    /// Posts a form of the hosted page; answers the status and where it leads (or the page itself).
    async fn submit(&self, path: &str, form: &[(&str, &str)]) -> (u16, String) {
        let response = self.client.post(self.url(path)).form(form).send().await.unwrap();
        let status = response.status().as_u16();
        match response.headers().get("location") {
            Some(location) => (status, location.to_str().unwrap().to_owned()),
            None => (status, response.text().await.unwrap()),
        }
    }

    async fn pay(&self, id: &str, card: &str) -> (u16, String) {
        self.submit(&format!("/pay/{id}"), &[("card", card), ("expiry", "12/40"), ("cvc", "123")]).await
    }

    async fn captured(&self, reference: &str) -> String {
        let id = self.create(reference).await;
        assert_eq!(self.pay(&id, GOOD_CARD).await.0, 303);
        let (status, payment) = self.post(&format!("/v1/payments/{id}/capture"), "", json!({})).await;
        assert_eq!((status, &payment["amount_captured"]), (200, &json!(10_000)), "{payment}");
        id
    }
}

async fn answered(request: reqwest::RequestBuilder) -> (u16, Value) {
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

fn order(reference: &str) -> Value {
    json!({
        "amount": 10_000, "currency": "EUR", "reference": reference, "description": "2 seats <b>",
        "return_url": "http://shop.test/orders/1?a=b", "capture": "manual", "metadata": {"order": "1"},
    })
}
