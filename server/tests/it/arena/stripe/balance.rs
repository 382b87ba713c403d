//! What moves the balance of the account at Stripe: charges, refunds, disputes, and what is no business of ours. The
//! objects are recorded ones with the ids and amounts of a test; lists are told page by page.

use super::{Front, GOOD_CARD, Stripe, recorded, refusal};
use crate::arena::provider::unix_s;
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse as _, Response};
use domain::order::PayStarted;
use http::{Method, Uri};
use serde_json::{Value, json};
use std::future::{Ready, ready};

/// Most objects of one answer.
const LIMIT_MAX: usize = 100;

/// The fields of a question.
type Asked = Vec<(String, String)>;

fn field<'a>(asked: &'a [(String, String)], name: &str) -> Option<&'a str> {
    asked.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
}

fn list(url: &str, data: &[Value], has_more: bool) -> Response {
    Json(json!({ "object": "list", "url": url, "has_more": has_more, "data": data })).into_response()
}

/// The pages that a payment was made on.
pub(super) async fn list_pages(State(front): State<Front>, Query(asked): Query<Asked>) -> Response {
    let of = field(&asked, "payment_intent").map(str::to_owned);
    let ids: Vec<String> = {
        let pages = front.pages();
        if pages.away {
            return refusal(503, "away");
        }
        let made = pages.pages.iter().filter(|(_, page)| of.is_some() && page.intent == of);
        made.map(|(id, _)| id.clone()).collect()
    };
    let mut data = Vec::new();
    for id in ids {
        data.extend(front.page(&id, false).await);
    }
    list("/v1/checkout/sessions", &data, false)
}

/// A page of the movements of an interval, the newest first.
pub(super) fn list_movements(State(front): State<Front>, Query(asked): Query<Asked>) -> Ready<Response> {
    ready(movements(&front, &asked))
}

fn movements(front: &Front, asked: &[(String, String)]) -> Response {
    let pages = front.pages();
    if pages.away {
        return refusal(503, "away");
    }
    let number = |name: &str| field(asked, name).and_then(|text| text.parse::<i64>().ok());
    let (Some(from), Some(to)) = (number("created[gte]"), number("created[lt]")) else {
        return refusal(400, "parameter_missing");
    };
    let limit = field(asked, "limit").and_then(|text| text.parse::<usize>().ok()).unwrap_or(10);
    if !(1..=LIMIT_MAX).contains(&limit) {
        return refusal(400, "parameter_invalid_integer");
    }
    let within = |one: &&Value| (from..to).contains(&one["created"].as_i64().unwrap());
    let found: Vec<&Value> = pages.movements.iter().rev().filter(within).collect();
    let begin = match field(asked, "starting_after") {
        None => 0,
        Some(after) => match found.iter().position(|one| one["id"] == after) {
            Some(at) => at + 1,
            None => return refusal(400, "resource_missing"),
        },
    };
    let is_expanded = field(asked, "expand[]") == Some("data.source");
    let shown = |one: &Value| {
        let mut one = one.clone();
        if !is_expanded {
            one["source"] = one["source"]["id"].take();
        }
        one
    };
    let data: Vec<Value> = found.iter().skip(begin).take(limit).copied().map(shown).collect();
    list("/v1/balance_transactions", &data, found.len() > begin + limit)
}

/// A dispute, with its payment where that is asked for.
pub(super) async fn show_dispute(State(front): State<Front>, Path(id): Path<String>, uri: Uri) -> Response {
    let known = {
        let pages = front.pages();
        if pages.away {
            return refusal(503, "away");
        }
        pages.disputes.get(&id).cloned()
    };
    let Some(mut dispute) = known else { return refusal(404, "resource_missing") };
    if uri.query().is_some_and(|query| query.contains("payment_intent")) {
        let path = format!("/v1/payment_intents/{}", dispute["payment_intent"].as_str().unwrap());
        dispute["payment_intent"] = front.ask(Method::GET, &path, &[]).await.1;
    }
    Json(dispute).into_response()
}

fn new_id(prefix: &str) -> String {
    format!("{prefix}_{}", uuid::Uuid::new_v4().simple())
}

/// A movement by type and category; the fee is what Stripe keeps of it.
fn transaction(kind: &str, category: &str, (amount, fee): (i64, i64), source: Value) -> Value {
    let mut transaction = recorded::object("balance_transaction");
    for (name, value) in [
        ("id", json!(new_id("txn"))),
        ("type", json!(kind)),
        ("reporting_category", json!(category)),
        ("amount", json!(amount)),
        ("fee", json!(fee)),
        ("net", json!(amount - fee)),
        ("created", json!(unix_s())),
        ("available_on", json!(unix_s())),
        ("source", source),
    ] {
        transaction[name] = value;
    }
    transaction
}

fn charge(intent: &str, amount: i64) -> Value {
    let mut charge = recorded::object("charge");
    charge["id"] = json!(new_id("ch"));
    charge["amount"] = json!(amount);
    charge["amount_captured"] = json!(amount);
    charge["payment_intent"] = json!(intent);
    charge
}

impl Stripe {
    /// Lists a movement; its id.
    fn moves(&self, transaction: Value) -> String {
        let id = transaction["id"].as_str().unwrap().to_owned();
        self.front.pages().movements.push(transaction);
        id
    }

    /// Lists the charge of a payment that was captured, with what Stripe keeps of it: the movement's id.
    pub(crate) async fn settles(&self, started: &PayStarted, fee: i64) -> String {
        let intent = self.intent(started).await;
        let amount = intent["amount"].as_i64().unwrap();
        let source = charge(intent["id"].as_str().unwrap(), amount);
        self.moves(transaction("charge", "charge", (amount, fee), source))
    }

    /// Corrects the amount of a charge that was listed without a fee.
    pub(crate) fn corrects(&self, movement: &str, amount: i64) {
        let mut pages = self.front.pages();
        let found = pages.movements.iter_mut().find(|one| one["id"] == movement).unwrap();
        found["amount"] = json!(amount);
        found["net"] = json!(amount);
    }

    /// Lists a refund.
    pub(crate) fn settles_refund(&self, refund: &Value) {
        let amount = refund["amount"].as_i64().unwrap();
        self.moves(transaction("refund", "refund", (-amount, 0), refund.clone()));
    }

    /// Lists that a refund came back.
    pub(crate) fn settles_return(&self, refund: &Value) {
        let amount = refund["amount"].as_i64().unwrap();
        self.moves(transaction("adjustment", "refund_failure", (amount, 0), refund.clone()));
    }

    /// Lists what is no business of ours: topups, so many.
    pub(crate) fn tops_up(&self, count: usize) {
        for _ in 0..count {
            let topup = json!({ "id": new_id("tu"), "object": "topup" });
            self.moves(transaction("topup", "topup", (1_000, 0), topup));
        }
    }

    /// Lists that money went to the bank: the payout's id.
    pub(crate) fn pays_out(&self, amount: i64) -> String {
        let id = new_id("po");
        self.moves(transaction("payout", "payout", (-amount, 0), json!({ "id": id, "object": "payout" })));
        id
    }

    /// Lists that a payout came back.
    pub(crate) fn payout_fails(&self, payout: &str, amount: i64) {
        let source = json!({ "id": payout, "object": "payout" });
        self.moves(transaction("payout_failure", "payout_reversal", (amount, 0), source));
    }

    /// Lists a fee of the account's own: the movement's id.
    pub(crate) fn takes_fee(&self, amount: i64) -> String {
        self.moves(transaction("stripe_fee", "fee", (-amount, 0), Value::Null))
    }

    /// Lists a charge of another program on the same account; its payment.
    pub(crate) async fn settles_foreign(&self) -> String {
        let intent = self.intent_with("1900", ("metadata[order]", "7"), GOOD_CARD).await;
        self.moves(transaction("charge", "charge", (1_900, 60), charge(&intent, 1_900)));
        intent
    }

    /// A cardholder's bank disputes a whole payment: the dispute's id.
    pub(crate) async fn dispute(&self, started: &PayStarted) -> String {
        let intent = self.intent(started).await;
        let mut dispute = recorded::object("dispute");
        let id = new_id("du");
        for (name, value) in [
            ("id", json!(id)),
            ("amount", intent["amount"].clone()),
            ("created", json!(unix_s())),
            ("charge", intent["latest_charge"]["id"].clone()),
            ("payment_intent", intent["id"].clone()),
        ] {
            dispute[name] = value;
        }
        self.front.pages().disputes.insert(id.clone(), dispute);
        id
    }

    /// A dispute gets another status: as Stripe tells it then.
    pub(crate) fn decides(&self, dispute: &str, status: &str) -> Value {
        let mut pages = self.front.pages();
        let found = pages.disputes.get_mut(dispute).unwrap();
        found["status"] = json!(status);
        found.clone()
    }

    /// Lists that disputed money was withdrawn, with what Stripe keeps for it.
    pub(crate) fn withdraws(&self, dispute: &str, fee: i64) {
        let source = self.front.pages().disputes[dispute].clone();
        let amount = source["amount"].as_i64().unwrap();
        self.moves(transaction("adjustment", "dispute", (-amount, fee), source));
    }

    /// Lists that disputed money was given back.
    pub(crate) fn reinstates(&self, dispute: &str) {
        let source = self.front.pages().disputes[dispute].clone();
        let amount = source["amount"].as_i64().unwrap();
        self.moves(transaction("adjustment", "dispute_reversal", (amount, 0), source));
    }
}
