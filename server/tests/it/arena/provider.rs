//! The payment provider as a process, as its merchant and its payers see it.

use super::process;
use domain::order::PayStarted;
use serde_json::{Value, json};
use server::psp::signature;
use std::collections::HashMap;
use std::fs::OpenOptions;
use std::path::Path;
use std::process::Stdio;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::process::{Child, ChildStdin};

const API_KEY: &str = "sandbox-api-key";
const WEBHOOK_SECRET: &str = "sandbox-webhook-secret";
/// A card that every bank takes.
pub(crate) const GOOD_CARD: &str = "4242 4242 4242 4242";
/// A card whose bank asks its owner first.
pub(crate) const CHALLENGED_CARD: &str = "4000 0000 0000 3220";
/// A card that every bank declines.
pub(crate) const DECLINED_CARD: &str = "4000 0000 0000 0002";

/// The running provider.
pub(crate) struct Provider {
    /// Its base address.
    pub(crate) url: String,
    client: reqwest::Client,
    child: Child,
    // It ends when its standard input closes: also when this process is killed.
    stdin: ChildStdin,
}

impl Provider {
    pub(super) async fn start(root: &Path, origin: &str) -> Self {
        let log = root.join("psp.log");
        let file = OpenOptions::new().append(true).create(true).open(&log).unwrap();
        let mut command = process::program(&HashMap::new());
        command.args(["psp", "--with-parent", "--listen", "127.0.0.1:0", "--data-dir"]).arg(root.join("psp"));
        command.args(["--webhook-url", &format!("{origin}/webhooks/sandbox")]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(file).spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let url = process::address(child.stdout.take().unwrap(), &log).await;
        backend::use_tls();
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build().unwrap();
        Self { url, client, child, stdin }
    }

    pub(super) async fn stop(mut self) {
        drop(self.stdin);
        let status = tokio::time::timeout(super::SOON, self.child.wait())
            .await
            .expect("the provider ends with its parent")
            .unwrap();
        assert!(status.success(), "{status}");
    }

    async fn get(&self, path: &str) -> Value {
        let answer = self.client.get(format!("{}{path}", self.url)).bearer_auth(API_KEY).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        answer.json().await.unwrap()
    }

    /// Makes it misbehave; what is left out goes back to its default.
    pub(crate) async fn switch(&self, switches: Value) {
        let request = self.client.put(format!("{}/control/switches", self.url)).bearer_auth(API_KEY).json(&switches);
        assert_eq!(request.send().await.unwrap().status(), 200);
    }

    /// Loses every webhook from now on.
    pub(crate) async fn drop_webhooks(&self) {
        self.switch(json!({ "webhooks": "drop" })).await;
    }

    /// Types a card into the hosted page: the status of the answer.
    pub(crate) async fn card(&self, started: &PayStarted, number: &str) -> u16 {
        let form = [("card", number), ("expiry", "12/40"), ("cvc", "123")];
        self.client.post(&started.redirect_url).form(&form).send().await.unwrap().status().as_u16()
    }

    /// Answers the bank's question about a card: the status of the answer.
    pub(crate) async fn confirm(&self, started: &PayStarted, is_the_owner: bool) -> u16 {
        let decision = if is_the_owner { "approve" } else { "reject" };
        let request = self.client.post(format!("{}/confirm", started.redirect_url)).form(&[("decision", decision)]);
        request.send().await.unwrap().status().as_u16()
    }

    /// Every payment that was opened for an attempt.
    pub(crate) async fn payments(&self, started: &PayStarted) -> Vec<Value> {
        self.get(&format!("/v1/payments?reference={}", started.attempt)).await["data"].as_array().unwrap().clone()
    }

    /// The state of the one payment of an attempt.
    pub(crate) async fn status(&self, started: &PayStarted) -> String {
        let list = self.payments(started).await;
        assert_eq!(list.len(), 1, "one attempt is one payment: {list:?}");
        list[0]["status"].as_str().unwrap().to_owned()
    }

    /// Ends the payment of an attempt at the provider, as its staff could.
    pub(crate) async fn cancel(&self, started: &PayStarted) {
        self.order(started, "cancel").await;
    }

    /// Takes the authorised money of an attempt at the provider, as its staff could.
    pub(crate) async fn capture(&self, started: &PayStarted) {
        self.order(started, "capture").await;
    }

    /// Has the bank say yes to the payment of an attempt: also too late, when its page has closed by itself.
    pub(crate) async fn succeed(&self, started: &PayStarted) {
        let id = self.payments(started).await[0]["id"].as_str().unwrap().to_owned();
        self.control(&format!("payments/{id}/succeed"), &json!({})).await;
    }

    /// Every refund of an attempt's payment.
    pub(crate) async fn refunds(&self, started: &PayStarted) -> Vec<Value> {
        let id = self.payments(started).await[0]["id"].as_str().unwrap().to_owned();
        self.get(&format!("/v1/refunds?payment={id}")).await["data"].as_array().unwrap().clone()
    }

    /// How much of an attempt's money the provider gave back, in minor units.
    pub(crate) async fn refunded(&self, started: &PayStarted) -> i64 {
        self.payments(started).await[0]["amount_refunded"].as_i64().unwrap()
    }

    /// Every refund of the payment of an attempt, whoever made it and however it ended.
    pub(crate) async fn refunds_of(&self, started: &PayStarted) -> Vec<Value> {
        let payment = self.payments(started).await[0]["id"].as_str().unwrap().to_owned();
        self.get(&format!("/v1/refunds?payment={payment}")).await["data"].as_array().unwrap().clone()
    }

    /// Opens a dispute as a cardholder's bank does, over all that is left where no amount is given: its id.
    pub(crate) async fn dispute(&self, started: &PayStarted, amount: Option<i64>) -> String {
        let payment = self.payments(started).await[0]["id"].clone();
        let answer = self.control("disputes", &json!({ "payment": payment, "amount": amount })).await;
        answer["id"].as_str().unwrap().to_owned()
    }

    /// Closes a dispute as the bank does: `won` or `lost`, as the merchant sees it.
    pub(crate) async fn close_dispute(&self, id: &str, outcome: &str) {
        self.control(&format!("disputes/{id}/close"), &json!({ "outcome": outcome })).await;
    }

    /// Ends a refund as the bank does: `succeeded`, or `failed`, also after it had succeeded.
    pub(crate) async fn settle_refund(&self, refund: &str, outcome: &str) {
        self.control(&format!("refunds/{refund}/settle"), &json!({ "outcome": outcome })).await;
    }

    /// Pays out what the day came to until now, in its one currency: the payout's id.
    pub(crate) async fn pay_out(&self) -> String {
        let answer = self.control("payouts", &json!({})).await;
        assert_eq!(answer["data"].as_array().unwrap().len(), 1, "{answer}");
        answer["data"][0]["id"].as_str().unwrap().to_owned()
    }

    /// Lets a payout come back from the bank.
    pub(crate) async fn fail_payout(&self, id: &str) {
        self.control(&format!("payouts/{id}/fail"), &json!({})).await;
    }

    /// Delivers every webhook that was held back.
    pub(crate) async fn flush(&self) {
        self.control("flush", &json!({})).await;
    }

    /// A payment that was made for something else and is paid at once: what its page is called by.
    pub(crate) async fn foreign_payment(&self, reference: &str) -> String {
        let body = json!({
            "amount": 700, "currency": "EUR", "reference": reference, "description": "Something else",
            "return_url": "http://127.0.0.1/elsewhere", "capture": "automatic",
        });
        let request = self.client.post(format!("{}/v1/payments", self.url)).bearer_auth(API_KEY);
        let answer = request.header("Idempotency-Key", format!("other:{reference}")).json(&body).send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.status());
        let made: Value = answer.json().await.unwrap();
        let id = made["id"].as_str().unwrap().to_owned();
        self.control(&format!("payments/{id}/succeed"), &json!({})).await;
        id
    }

    /// Opens a dispute over a payment by its id.
    pub(crate) async fn dispute_payment(&self, payment: &str) -> String {
        let answer = self.control("disputes", &json!({ "payment": payment, "amount": null })).await;
        answer["id"].as_str().unwrap().to_owned()
    }

    /// What the provider's own people do.
    async fn control(&self, path: &str, body: &Value) -> Value {
        let request = self.client.post(format!("{}/control/{path}", self.url)).bearer_auth(API_KEY).json(body);
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        answer.json().await.unwrap()
    }

    /// Gives money of an attempt back at the provider, as its staff could; its id there.
    pub(crate) async fn give_back(&self, started: &PayStarted, amount_minor: i64) -> String {
        let payment = self.payments(started).await[0]["id"].as_str().unwrap().to_owned();
        self.give_back_payment(&payment, amount_minor).await
    }

    /// Gives money of a payment back, by the payment's id; the refund's id there.
    pub(crate) async fn give_back_payment(&self, payment: &str, amount_minor: i64) -> String {
        self.give_back_as(payment, amount_minor, "").await
    }

    /// The same, under a name that its staff gives to the refund.
    pub(crate) async fn give_back_as(&self, payment: &str, amount_minor: i64, name: &str) -> String {
        let request = self.client.post(format!("{}/v1/refunds", self.url)).bearer_auth(API_KEY);
        let request = request.header("Idempotency-Key", format!("staff:refund:{payment}:{amount_minor}"));
        let body = json!({ "payment": payment, "amount": amount_minor, "reference": name });
        let answer = request.json(&body).send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.status());
        answer.json::<Value>().await.unwrap()["id"].as_str().unwrap().to_owned()
    }

    async fn order(&self, started: &PayStarted, verb: &str) {
        let id = self.payments(started).await[0]["id"].as_str().unwrap().to_owned();
        let request = self.client.post(format!("{}/v1/payments/{id}/{verb}", self.url)).bearer_auth(API_KEY);
        let key = format!("staff:{verb}:{id}");
        let answer = request.header("Idempotency-Key", key).json(&json!({})).send().await.unwrap();
        assert_eq!(answer.status(), 200);
    }

    /// The first event of a kind, with the bytes that its webhook carries.
    pub(crate) async fn event(&self, kind: &str) -> Option<String> {
        let list = self.get("/v1/events").await;
        list["data"].as_array().unwrap().iter().find(|event| event["type"] == kind).map(ToString::to_string)
    }

    /// Every event about an attempt, its refunds included, with bytes as a webhook may carry them.
    pub(crate) async fn events_of(&self, started: &PayStarted) -> Vec<String> {
        let list = self.get("/v1/events").await;
        let reference = started.attempt.to_string();
        let is_about = |event: &&Value| {
            let object = &event["data"]["object"];
            object["reference"] == reference || object["payment_reference"] == reference
        };
        list["data"].as_array().unwrap().iter().filter(is_about).map(ToString::to_string).collect()
    }
}

/// An event about an attempt's payment, with an id of its own: it may tell what has not happened (yet).
pub(crate) fn told(started: &PayStarted, kind: &str) -> String {
    let id = format!("evt_{}", uuid::Uuid::new_v4().simple());
    json!({ "id": id, "type": kind, "data": { "object": { "reference": started.attempt } } }).to_string()
}

/// Seconds since 1970.
pub(crate) fn unix_s() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap()
}

/// The signature header of a webhook that left the provider at that second.
pub(crate) fn signed(body: &str, unix_s: i64) -> String {
    signature::sign(WEBHOOK_SECRET, body.as_bytes(), unix_s)
}
