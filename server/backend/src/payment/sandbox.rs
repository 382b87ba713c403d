//! The client of the sandbox provider, which runs as a process of its own.

mod settlement;

use super::{
    DisputeState, NewPayment, Notice, PaymentProvider, ProviderDispute, ProviderError, ProviderPayment, ProviderRefund,
    ProviderState, looked_up, signature,
};
use crate::config::PspSettings;
use crate::error::{Error, Result};
use bytes::Bytes;
use domain::settlement::ProviderLine;
use domain::{Currency, Millis, Money};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// A provider that takes longer is asked again by the schedule.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(8);
/// Pages of a payment's refunds that are looked through: far more than an order has seats.
const REFUND_PAGES_MAX: usize = 20;

/// The sandbox provider over HTTP.
pub(super) struct SandboxProvider {
    http: reqwest::Client,
    settings: PspSettings,
}

#[derive(Deserialize)]
struct Payment {
    id: String,
    status: String,
    amount: i64,
    currency: String,
    reference: String,
    merchant: String,
    hosted_url: String,
    #[serde(default)]
    last_error: Option<Value>,
}

#[derive(Deserialize)]
struct Refund {
    id: String,
    status: String,
    amount: i64,
    currency: Currency,
    #[serde(default)]
    payment: Option<String>,
    #[serde(default)]
    payment_reference: Option<String>,
    #[serde(default)]
    reference: Option<String>,
    #[serde(default)]
    failure_reason: Option<String>,
}

#[derive(Deserialize)]
struct RefundPage {
    data: Vec<Refund>,
    has_more: bool,
}

#[derive(Deserialize)]
struct Dispute {
    id: String,
    status: String,
    payment_reference: String,
    amount: i64,
    currency: String,
    reason: String,
    created_ms: i64,
}

impl TryFrom<Dispute> for ProviderDispute {
    type Error = ProviderError;

    fn try_from(dispute: Dispute) -> std::result::Result<Self, ProviderError> {
        let state = match dispute.status.as_str() {
            "open" => DisputeState::Open,
            "won" => DisputeState::Won,
            "lost" => DisputeState::Lost,
            other => return Err(ProviderError::unreadable(format!("unknown dispute status `{other}`"))),
        };
        Ok(Self {
            id: dispute.id,
            reference: Some(dispute.payment_reference),
            state,
            amount_minor: dispute.amount,
            currency: dispute.currency.parse::<Currency>().map_err(ProviderError::unreadable)?,
            reason: dispute.reason,
            // It has no inquiries: each dispute takes its money when it is opened.
            withdrawn: true,
            opened: Millis(dispute.created_ms),
        })
    }
}

impl TryFrom<Payment> for ProviderPayment {
    type Error = ProviderError;

    fn try_from(payment: Payment) -> std::result::Result<Self, ProviderError> {
        let state = match payment.status.as_str() {
            "requires_payment" | "requires_action" => ProviderState::Open,
            "authorized" => ProviderState::Authorized,
            "captured" => ProviderState::Captured,
            "canceled" | "failed" => ProviderState::Canceled,
            other => return Err(ProviderError::unreadable(format!("unknown payment status `{other}`"))),
        };
        // A code or an object with one: both forms are in use.
        let last_error = payment.last_error.and_then(|error| match error {
            Value::String(code) => Some(code),
            Value::Object(map) => map.get("code").and_then(Value::as_str).map(str::to_owned),
            _ => None,
        });
        Ok(Self {
            paid_as: Some(payment.id.clone()),
            id: payment.id,
            state,
            amount_minor: payment.amount,
            currency: payment.currency.parse::<Currency>().map_err(ProviderError::unreadable)?,
            reference: payment.reference,
            merchant: payment.merchant,
            hosted_url: payment.hosted_url,
            last_error,
        })
    }
}

impl SandboxProvider {
    /// A client with bounds on time.
    pub(super) fn new(settings: &PspSettings) -> Result<Self> {
        crate::beacon::use_tls();
        let http = reqwest::Client::builder()
            .timeout(REQUEST_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .tcp_nodelay(true)
            .build()
            .map_err(|e| Error::Broken(format!("the HTTP client could not be built: {e}")))?;
        Ok(Self { http, settings: settings.clone() })
    }

    async fn send<T: serde::de::DeserializeOwned>(
        &self,
        method: reqwest::Method,
        path: &str,
        key: Option<&str>,
        body: Option<Value>,
    ) -> std::result::Result<T, ProviderError> {
        let address = format!("{}{path}", self.settings.url);
        let mut request = self.http.request(method, address).bearer_auth(&self.settings.api_key);
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        serde_json::from_slice(&answered(request).await?).map_err(ProviderError::unreadable)
    }

    /// The settlement of a day, such as `2026-01-31`, as the provider writes it.
    async fn settlement_file(&self, day: &str) -> std::result::Result<Bytes, ProviderError> {
        let address = format!("{}/v1/settlements/{day}.csv", self.settings.url);
        answered(self.http.get(address).bearer_auth(&self.settings.api_key)).await
    }

    /// The refund of a payment that we call so, if it was made.
    async fn made(&self, payment: &str, reference: &str) -> std::result::Result<Option<Refund>, ProviderError> {
        let mut after = String::new();
        for _ in 0..REFUND_PAGES_MAX {
            let path = format!("/v1/refunds?payment={payment}&after={after}");
            let page: RefundPage = self.send(reqwest::Method::GET, &path, None, None).await?;
            let last = page.data.last().map(|refund| refund.id.clone());
            let found = page.data.into_iter().find(|refund| refund.reference.as_deref() == Some(reference));
            match (found, last) {
                (Some(found), _) => return Ok(Some(found)),
                (None, Some(last)) if page.has_more => after = last,
                (None, _) => return Ok(None),
            }
        }
        Err(ProviderError::unreadable(format!("payment `{payment}` has more refunds than are looked through")))
    }

    async fn payment(
        &self,
        method: reqwest::Method,
        path: &str,
        key: Option<&str>,
        body: Option<Value>,
    ) -> std::result::Result<ProviderPayment, ProviderError> {
        self.send::<Payment>(method, path, key, body).await?.try_into()
    }
}

/// The body of a success.
async fn answered(request: reqwest::RequestBuilder) -> std::result::Result<Bytes, ProviderError> {
    let response = request.send().await.map_err(ProviderError::unreadable)?;
    let status = response.status();
    let body = response.bytes().await.map_err(ProviderError::unreadable)?;
    if status.is_success() {
        return Ok(body);
    }
    let code = serde_json::from_slice::<Value>(&body).ok().and_then(|v| v["error"]["code"].as_str().map(str::to_owned));
    let code = code.unwrap_or_else(|| status.as_u16().to_string());
    Err(match status.as_u16() {
        500 => ProviderError::Faulted { code },
        // A gateway's word, or too many calls: nobody knows what became of the call. A key that is not taken is put
        // right by its owner: then the same call goes through.
        401 | 403 | 429 | 501..=599 => ProviderError::unreadable(format!("the provider answered {status}")),
        _ => ProviderError::Refused { code },
    })
}

fn refund(refund: Refund) -> ProviderRefund {
    let succeeded = match refund.status.as_str() {
        "succeeded" => Some(true),
        "failed" => Some(false),
        _ => None,
    };
    let told = |text: Option<String>| text.filter(|text| !text.is_empty());
    ProviderRefund {
        id: refund.id,
        succeeded,
        amount: Some(Money::new(refund.amount, refund.currency)),
        payment: told(refund.payment),
        reference: told(refund.payment_reference),
        key: told(refund.reference),
        failure: told(refund.failure_reason),
    }
}

impl PaymentProvider for SandboxProvider {
    fn name(&self) -> &'static str {
        "sandbox"
    }

    fn merchant(&self) -> &str {
        &self.settings.merchant
    }

    /// Any amount above zero, in every currency.
    fn chargeable(&self, amount_minor: i64, currency: Currency) -> std::result::Result<(), String> {
        if amount_minor > 0 { Ok(()) } else { Err(format!("{amount_minor} minor units of {currency} are no charge")) }
    }

    fn signature_header(&self) -> &'static str {
        "starpay-signature"
    }

    fn verify(&self, signature: &str, body: &[u8], now: Millis) -> bool {
        signature::fits(&self.settings.webhook_secrets, signature, body, now)
    }

    fn notice(&self, event: &Value) -> Notice {
        let object = &event["data"]["object"];
        let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
        match event["type"].as_str().and_then(|kind| kind.split_once('.')) {
            Some(("payment", _)) => Notice::Payment { reference: text("reference"), told: None },
            Some(("refund", _)) => Notice::Refund { id: text("id") },
            Some(("dispute", _)) => Notice::Dispute { id: text("id") },
            _ => Notice::Nothing,
        }
    }

    fn create(&self, new: NewPayment) -> BoxFuture<'_, std::result::Result<ProviderPayment, ProviderError>> {
        Box::pin(async move {
            let body = json!({
                "amount": new.amount_minor, "currency": new.currency.code(), "reference": new.reference,
                "description": new.description, "return_url": new.return_url, "expires_at_ms": new.expires.0, "capture": "manual",
            });
            self.payment(reqwest::Method::POST, "/v1/payments", Some(&new.idempotency_key), Some(body)).await
        })
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, std::result::Result<ProviderPayment, ProviderError>> {
        Box::pin(async move { self.payment(reqwest::Method::GET, &format!("/v1/payments/{id}"), None, None).await })
    }

    fn find<'a>(
        &'a self,
        reference: &'a str,
    ) -> BoxFuture<'a, std::result::Result<Option<ProviderPayment>, ProviderError>> {
        Box::pin(async move {
            let list: Value =
                self.send(reqwest::Method::GET, &format!("/v1/payments?reference={reference}"), None, None).await?;
            let items = list.get("data").cloned().unwrap_or(list);
            let found: Vec<Payment> = serde_json::from_value(items).map_err(ProviderError::unreadable)?;
            found.into_iter().next().map(TryInto::try_into).transpose()
        })
    }

    fn capture<'a>(
        &'a self,
        id: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, std::result::Result<ProviderPayment, ProviderError>> {
        Box::pin(async move {
            self.payment(reqwest::Method::POST, &format!("/v1/payments/{id}/capture"), Some(key), Some(json!({}))).await
        })
    }

    fn cancel<'a>(
        &'a self,
        id: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, std::result::Result<ProviderPayment, ProviderError>> {
        Box::pin(async move {
            self.payment(reqwest::Method::POST, &format!("/v1/payments/{id}/cancel"), Some(key), Some(json!({}))).await
        })
    }

    fn refund<'a>(
        &'a self,
        payment: &'a str,
        amount_minor: i64,
        reference: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, std::result::Result<ProviderRefund, ProviderError>> {
        Box::pin(async move {
            if let Some(made) = looked_up(self.made(payment, reference)).await? {
                return Ok(refund(made));
            }
            let body = json!({ "payment": payment, "amount": amount_minor, "reference": reference });
            Ok(refund(self.send(reqwest::Method::POST, "/v1/refunds", Some(key), Some(body)).await?))
        })
    }

    fn get_refund<'a>(&'a self, id: &'a str) -> BoxFuture<'a, std::result::Result<ProviderRefund, ProviderError>> {
        Box::pin(
            async move { Ok(refund(self.send(reqwest::Method::GET, &format!("/v1/refunds/{id}"), None, None).await?)) },
        )
    }

    fn get_dispute<'a>(&'a self, id: &'a str) -> BoxFuture<'a, std::result::Result<ProviderDispute, ProviderError>> {
        Box::pin(async move {
            let path = format!("/v1/disputes/{id}");
            self.send::<Dispute>(reqwest::Method::GET, &path, None, None).await?.try_into()
        })
    }

    fn settlement(
        &self,
        from: Millis,
        to: Millis,
    ) -> BoxFuture<'_, std::result::Result<Vec<ProviderLine>, ProviderError>> {
        Box::pin(async move {
            let mut lines = Vec::new();
            for day in settlement::days(from, to)? {
                lines.extend(settlement::lines(&self.settlement_file(&day).await?)?);
            }
            lines.retain(|line| from <= line.at && line.at < to);
            Ok(lines)
        })
    }
}
