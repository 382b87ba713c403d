//! The provider as its merchant and its payers see it: through HTTP, on a port of its own.

use std::collections::{BTreeMap, BTreeSet};
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

use super::{Psp, PspConfig, Running, now_ms, signature};

const GOOD_CARD: &str = "4242 4242 4242 4242";
const DECLINED_CARD: &str = "4000 0000 0000 0002";
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
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
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
            api_key: "key".to_owned(),
            webhook_url: webhook_url.map(str::to_owned),
            webhook_secret: "new,old".to_owned(),
            merchant: "Shop <&>".to_owned(),
        });
        crate::tls::choose();
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy();
        Self { running: running.await.unwrap(), client: client.build().unwrap() }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.running.addr)
    }

    async fn get(&self, path: &str) -> Value {
        let response = self.client.get(self.url(path)).bearer_auth("key").send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        response.json().await.unwrap()
    }

    async fn post(&self, path: &str, key: &str, body: Value) -> (u16, Value) {
        let mut request = self.client.post(self.url(path)).bearer_auth("key").json(&body);
        if !key.is_empty() {
            request = request.header("Idempotency-Key", key);
        }
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    async fn switches(&self, body: Value) {
        let request = self.client.put(self.url("/control/switches")).bearer_auth("key").json(&body);
        assert_eq!(request.send().await.unwrap().status(), 200);
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

fn order(reference: &str) -> Value {
    json!({
        "amount": 10_000, "currency": "EUR", "reference": reference, "description": "2 seats <b>",
        "return_url": "http://shop.test/orders/1?a=b", "capture": "manual", "metadata": {"order": "1"},
    })
}

#[tokio::test]
async fn a_whole_life_with_signed_webhooks() {
    let (folder, merchant) = (Folder::new(), Merchant::start().await);
    let psp = Provider::start(&folder, Some(&merchant.url)).await;
    let id = psp.create("order-1").await;

    let page = psp.client.get(psp.url(&format!("/pay/{id}"))).send().await.unwrap();
    let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
    assert!(policy.contains("form-action 'self' http://shop.test;"), "{policy}");
    let html = page.text().await.unwrap();
    assert!(html.contains("EUR 100.00") && html.contains("2 seats &lt;b&gt;") && !html.contains("<b>"));

    let (status, location) = psp.pay(&id, GOOD_CARD).await;
    assert_eq!((status, location), (303, format!("http://shop.test/orders/1?a=b&payment={id}")));
    assert_eq!(psp.pay(&id, GOOD_CARD).await.0, 303, "a second press leads to the same place");
    assert_eq!(psp.get(&format!("/v1/payments/{id}")).await["status"], "authorized");
    let (status, payment) = psp.post(&format!("/v1/payments/{id}/capture"), "cap", json!({"amount": 9000})).await;
    assert_eq!((status, &payment["status"], &payment["amount_captured"]), (200, &json!("captured"), &json!(9000)));
    let (status, error) = psp.post(&format!("/v1/payments/{id}/cancel"), "", json!({})).await;
    assert_eq!((status, &error["error"]["status"]), (409, &json!("captured")));

    let (status, refund) =
        psp.post("/v1/refunds", "r1", json!({"payment": id, "amount": 4000, "reference": "x"})).await;
    assert_eq!((status, &refund["status"], &refund["merchant"]), (200, &json!("succeeded"), &json!("Shop <&>")));
    let refund_id = refund["id"].as_str().unwrap();
    assert_eq!(psp.get(&format!("/v1/refunds/{refund_id}")).await, refund);
    assert_eq!(psp.get(&format!("/v1/refunds?payment={id}")).await["data"], json!([refund]));
    let listed = psp.get("/v1/payments?reference=order-1").await;
    assert_eq!((&listed["data"][0]["amount_refunded"], listed["data"].as_array().unwrap().len()), (&json!(4000), 1));

    for kind in ["payment.authorized", "payment.captured", "refund.succeeded"] {
        merchant.expect(kind, 1).await;
    }
    for (header, body) in merchant.seen.deliveries.lock().unwrap().iter() {
        let unix_s = header.split(',').next().unwrap().strip_prefix("t=").unwrap().parse().unwrap();
        assert_eq!(header, &signature::sign("new,old", body, unix_s));
        assert!(header.contains(&signature::mac("old", body, unix_s)) && (now_ms() / 1000 - unix_s) < 60);
    }
    let events = psp.get("/v1/events?limit=2").await;
    assert_eq!((events["has_more"].as_bool(), events["data"].as_array().unwrap().len()), (Some(true), 2));
    let last = events["data"][1]["id"].as_str().unwrap();
    let rest = psp.get(&format!("/v1/events?after={last}")).await;
    assert_eq!(rest["data"].as_array().unwrap().len(), 1);
    assert_eq!(rest["data"][0], merchant.events()[rest["data"][0]["id"].as_str().unwrap()]);
    psp.running.stop().await;
}

#[tokio::test]
async fn settlement_names_captures_and_refunds_of_a_day() {
    let folder = Folder::new();
    let psp = Provider::start(&folder, None).await;
    let id = psp.captured("odd \"order\"").await;
    psp.post("/v1/refunds", "", json!({"payment": id, "amount": 1, "reference": "r"})).await;
    // The first of these days is today, whatever the clock says; a day far away is empty.
    let days = now_ms() / (24 * 3_600_000);
    let mut lines = Vec::new();
    for day in [date(days), date(days - 400)] {
        let url = psp.url(&format!("/v1/settlement?day={day}"));
        let csv = psp.client.get(url).bearer_auth("key").send().await.unwrap().text().await.unwrap();
        lines.push(csv.lines().map(str::to_owned).collect::<Vec<_>>());
    }
    assert_eq!((lines[0].len(), lines[1].len()), (3, 1), "{lines:?}");
    assert!(lines[0][1].ends_with(&format!("capture,{id},{id},10000,EUR,\"odd \"\"order\"\"\"")), "{lines:?}");
    assert!(lines[0][2].contains(",refund,re_"), "{lines:?}");
    psp.running.stop().await;
}

/// The date of a day since 1970, counted year by year.
fn date(mut days: i64) -> String {
    let leap = |year: i64| i64::from(year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
    let mut year = 1970;
    while days >= 365 + leap(year) {
        days -= 365 + leap(year);
        year += 1;
    }
    let lengths = [31, 28 + leap(year), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    format!("{year}-{:02}-{:02}", month + 1, days + 1)
}

#[tokio::test]
async fn a_declined_card_then_another() {
    let (folder, merchant) = (Folder::new(), Merchant::start().await);
    let psp = Provider::start(&folder, Some(&merchant.url)).await;
    let id = psp.create("order").await;
    let (status, page) = psp.pay(&id, DECLINED_CARD).await;
    assert!(status == 402 && page.contains("declined") && page.contains("role=\"alert\""), "{status} {page}");
    let payment = psp.get(&format!("/v1/payments/{id}")).await;
    assert_eq!(
        (&payment["status"], &payment["last_error"]["code"]),
        (&json!("requires_payment"), &json!("card_declined"))
    );
    assert_eq!(psp.pay(&id, "4242").await.0, 422, "an unreadable number is no attempt");

    // The bank asks to confirm; the payer says no, then yes.
    for (decision, expected) in [("reject", 402), ("approve", 303)] {
        assert_eq!(psp.pay(&id, CHALLENGED_CARD).await, (303, format!("/pay/{id}")));
        assert_eq!(psp.get(&format!("/v1/payments/{id}")).await["status"], "requires_action");
        let (status, _) = psp.submit(&format!("/pay/{id}/confirm"), &[("decision", decision)]).await;
        assert_eq!(status, expected, "{decision}");
    }
    let payment = psp.get(&format!("/v1/payments/{id}")).await;
    assert_eq!((&payment["status"], &payment["last_error"]), (&json!("authorized"), &Value::Null));
    merchant.expect("payment.declined", 2).await;
    merchant.expect("payment.authorized", 1).await;

    let other = psp.create("order").await;
    psp.switches(json!({"decline_all": true})).await;
    assert_eq!(psp.pay(&other, GOOD_CARD).await.0, 402);
    let (status, location) = psp.submit(&format!("/pay/{other}/leave"), &[]).await;
    assert!(status == 303 && location.ends_with(&other));
    psp.running.stop().await;
}

#[tokio::test]
async fn one_key_one_outcome() {
    let folder = Folder::new();
    let psp = Arc::new(Provider::start(&folder, None).await);
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let psp = Arc::clone(&psp);
        calls.spawn(async move { psp.post("/v1/payments", "pi:1", order("order")).await });
    }
    let answers = calls.join_all().await.into_iter().map(|(status, payment)| (status, payment.to_string()));
    let answers: BTreeSet<_> = answers.collect();
    assert_eq!(answers.len(), 1);
    let id = serde_json::from_str::<Value>(&answers.first().unwrap().1).unwrap()["id"].as_str().unwrap().to_owned();
    let (status, error) = psp.post("/v1/payments", "pi:1", order("other")).await;
    assert_eq!((status, &error["error"]["code"]), (409, &json!("idempotency_mismatch")));

    // A stored refusal is answered again even when the call would succeed by now.
    let capture = format!("/v1/payments/{id}/capture");
    let refused = psp.post(&capture, "cap:1", json!({})).await;
    assert_eq!(refused.0, 409);
    psp.pay(&id, GOOD_CARD).await;
    assert_eq!(psp.post(&capture, "cap:1", json!({})).await, refused);

    // Work whose answer was lost is found again by its key; work that failed before is done.
    psp.switches(json!({"timeout_after_commit_permille": 1000})).await;
    assert_eq!(psp.post(&capture, "cap:2", json!({})).await.0, 504);
    psp.switches(json!({"fail_permille": 1000})).await;
    assert_eq!(psp.post("/v1/refunds", "re:1", json!({"payment": id})).await.0, 500);
    psp.switches(json!({})).await;
    let (status, payment) = psp.post(&capture, "cap:2", json!({})).await;
    assert_eq!((status, &payment["amount_refunded"]), (200, &json!(0)));
    assert_eq!(psp.post("/v1/refunds", "re:1", json!({"payment": id})).await.1["amount"], 10_000);
    Arc::into_inner(psp).unwrap().running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_refunds_never_exceed_the_capture() {
    let folder = Folder::new();
    let psp = Arc::new(Provider::start(&folder, None).await);
    let id = psp.captured("order").await;
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..20 {
        let (psp, id) = (Arc::clone(&psp), id.clone());
        calls.spawn(async move {
            psp.post("/v1/refunds", &format!("re:{number}"), json!({"payment": id, "amount": 900})).await
        });
    }
    let answers = calls.join_all().await;
    assert_eq!(answers.iter().filter(|(status, _)| *status == 200).count(), 11);
    let refused = answers.iter().filter(|(_, body)| body["error"]["code"] == "refund_exceeds_captured").count();
    assert_eq!(refused, 9);
    assert_eq!(psp.get(&format!("/v1/payments/{id}")).await["amount_refunded"], 9900);

    psp.switches(json!({"refund_fail": true})).await;
    let (status, refund) = psp.post("/v1/refunds", "", json!({"payment": id})).await;
    assert_eq!((status, &refund["status"], &refund["amount"]), (200, &json!("failed"), &json!(100)));
    assert_eq!(psp.get(&format!("/v1/payments/{id}")).await["amount_refunded"], 9900);
    Arc::into_inner(psp).unwrap().running.stop().await;
}

#[tokio::test]
async fn ended_payments_take_no_money() {
    let (folder, merchant) = (Folder::new(), Merchant::start().await);
    let psp = Provider::start(&folder, Some(&merchant.url)).await;
    let id = psp.create("order").await;
    psp.pay(&id, GOOD_CARD).await;
    let (status, payment) = psp.post(&format!("/v1/payments/{id}/cancel"), "", json!({})).await;
    assert_eq!((status, &payment["cancel_reason"]), (200, &json!("requested_by_merchant")));
    let (status, error) = psp.post(&format!("/v1/payments/{id}/capture"), "", json!({})).await;
    assert_eq!(
        (status, &error["error"]["code"], &error["error"]["status"]),
        (409, &json!("payment_unexpected_state"), &json!("canceled"))
    );
    let (status, page) = psp.pay(&id, GOOD_CARD).await;
    assert!(status == 410 && page.contains("was cancelled"));

    let mut soon = order("late");
    soon["expires_at_ms"] = json!(now_ms() + 300);
    let (_, payment) = psp.post("/v1/payments", "", soon).await;
    let late = payment["id"].as_str().unwrap();
    merchant.expect("payment.canceled", 2).await;
    assert_eq!(psp.get(&format!("/v1/payments/{late}")).await["cancel_reason"], "expired");
    let (status, page) = psp.pay(late, GOOD_CARD).await;
    assert!(status == 410 && page.contains("has expired"));
    assert_eq!(psp.pay("pay_unknown", GOOD_CARD).await.0, 404);
    psp.running.stop().await;
}

#[tokio::test]
async fn webhooks_are_retried_copied_dropped_and_flushed() {
    let (folder, merchant) = (Folder::new(), Merchant::start().await);
    let psp = Provider::start(&folder, Some(&merchant.url)).await;
    merchant.seen.failures_left.store(3, Ordering::Release);
    let id = psp.create("order").await;
    psp.pay(&id, GOOD_CARD).await;
    merchant.expect("payment.authorized", 1).await;
    assert_eq!(merchant.seen.failures_left.load(Ordering::Acquire), 0);

    psp.switches(json!({"webhook_copies": 3, "webhook_shuffle": true, "webhook_delay_ms": 20})).await;
    psp.post(&format!("/v1/payments/{id}/capture"), "", json!({})).await;
    eventually(|| async { merchant.seen.deliveries.lock().unwrap().len() == 4 }).await;

    psp.switches(json!({"webhooks": "drop"})).await;
    psp.post("/v1/refunds", "", json!({"payment": id, "amount": 1})).await;
    psp.post("/v1/refunds", "", json!({"payment": id, "amount": 2})).await;
    let events = psp.get("/v1/events").await;
    assert_eq!((events["data"].as_array().unwrap().len(), merchant.count("refund.succeeded")), (4, 0));
    let event = json!({"event": events["data"][2]["id"]});
    assert_eq!(psp.post("/control/redeliver", "", event).await.0, 200);
    merchant.expect("refund.succeeded", 1).await;
    eventually(|| async {
        psp.post("/control/flush", "", json!({})).await;
        merchant.count("refund.succeeded") == 2
    })
    .await;
    assert_eq!(psp.post("/control/redeliver", "", json!({"event": "evt_none"})).await.0, 404);
    psp.running.stop().await;
}

#[tokio::test]
async fn a_restart_keeps_payments_keys_switches_and_deliveries() {
    let (folder, merchant) = (Folder::new(), Merchant::start().await);
    // Nobody listens on the discard port, so that every delivery of the first process fails.
    let psp = Provider::start(&folder, Some("http://127.0.0.1:9/hook")).await;
    let id = psp.create("order").await;
    psp.pay(&id, GOOD_CARD).await;
    let captured = psp.post(&format!("/v1/payments/{id}/capture"), "cap", json!({})).await;
    psp.switches(json!({"api_delay_ms": 1})).await;
    psp.running.stop().await;

    let psp = Provider::start(&folder, Some(&merchant.url)).await;
    assert_eq!(psp.get(&format!("/v1/payments/{id}")).await["status"], "captured");
    assert_eq!(psp.post(&format!("/v1/payments/{id}/capture"), "cap", json!({})).await, captured);
    assert_eq!(psp.get("/control/switches").await["api_delay_ms"], 1);
    merchant.expect("payment.authorized", 1).await;
    merchant.expect("payment.captured", 1).await;
    psp.running.stop().await;
}

#[tokio::test]
async fn bad_calls_are_refused() {
    let folder = Folder::new();
    let psp = Provider::start(&folder, None).await;
    let call = psp.client.get(psp.url("/v1/payments/x")).bearer_auth("wrong").send().await.unwrap();
    assert_eq!(call.status(), 401);
    assert_eq!(psp.client.get(psp.url("/control/switches")).send().await.unwrap().status(), 401);
    assert_eq!(psp.client.get(psp.url("/healthz")).send().await.unwrap().status(), 200);
    let wrong = [
        ("amount", json!(0)),
        ("currency", json!("ABC")),
        ("reference", json!("")),
        ("return_url", json!("javascript:alert(1)")),
        ("expires_at_ms", json!(now_ms() - 1)),
    ];
    for (param, value) in wrong {
        let mut body = order("order");
        body[param] = value;
        let (status, error) = psp.post("/v1/payments", "", body).await;
        assert_eq!((status, &error["error"]["param"]), (400, &json!(param)), "{error}");
    }
    let mut unknown = order("order");
    unknown["amuont"] = json!(1);
    assert_eq!(psp.post("/v1/payments", "", unknown).await.0, 400);
    let (status, _) = psp.post("/v1/payments", "", json!({"description": "x".repeat(70_000)})).await;
    assert_eq!(status, 413);
    let (status, error) = psp.post("/v1/payments/pay_none/capture", "", json!({})).await;
    assert_eq!((status, &error["error"]["code"]), (404, &json!("not_found")));
    psp.running.stop().await;
}
