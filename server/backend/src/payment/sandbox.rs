//! The client of the sandbox provider, which runs as a process of its own.

use super::{NewPayment, PaymentProvider, ProviderError, ProviderPayment, ProviderRefund, ProviderState};
use crate::config::PspSettings;
use crate::error::{Error, Result};
use domain::{Currency, Millis};
use futures::future::BoxFuture;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::Sha256;
use std::time::Duration;

/// A provider that takes longer is asked again by the schedule.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(8);
/// How far a signature's time may be from ours, in seconds: the provider's documented tolerance.
const SIGNATURE_TOLERANCE_S: i64 = 300;

/// The sandbox provider over HTTP.
pub(crate) struct SandboxProvider {
    http: reqwest::Client,
    url: String,
    api_key: String,
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
}

fn unreadable(what: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> ProviderError {
    ProviderError::Unreachable(what.into())
}

impl TryFrom<Payment> for ProviderPayment {
    type Error = ProviderError;

    fn try_from(payment: Payment) -> std::result::Result<Self, ProviderError> {
        let state = match payment.status.as_str() {
            "requires_payment" | "requires_action" => ProviderState::Open,
            "authorized" => ProviderState::Authorized,
            "captured" => ProviderState::Captured,
            "canceled" | "failed" => ProviderState::Canceled,
            other => return Err(unreadable(format!("unknown payment status `{other}`"))),
        };
        // A code or an object with one: both forms are in use.
        let last_error = payment.last_error.and_then(|error| match error {
            Value::String(code) => Some(code),
            Value::Object(map) => map.get("code").and_then(Value::as_str).map(str::to_owned),
            _ => None,
        });
        Ok(Self {
            id: payment.id,
            state,
            amount_minor: payment.amount,
            currency: payment.currency.parse::<Currency>().map_err(unreadable)?,
            reference: payment.reference,
            merchant: payment.merchant,
            hosted_url: payment.hosted_url,
            last_error,
        })
    }
}

impl SandboxProvider {
    /// A client with bounds on time.
    pub(crate) fn new(settings: &PspSettings) -> Result<Self> {
        crate::beacon::use_tls();
        let http = reqwest::Client::builder()
            .timeout(REQUEST_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .tcp_nodelay(true)
            .build()
            .map_err(|e| Error::Broken(format!("the HTTP client could not be built: {e}")))?;
        Ok(Self { http, url: settings.url.clone(), api_key: settings.api_key.clone() })
    }

    async fn send<T: serde::de::DeserializeOwned>(
        &self,
        method: reqwest::Method,
        path: &str,
        key: Option<&str>,
        body: Option<Value>,
    ) -> std::result::Result<T, ProviderError> {
        let mut request = self.http.request(method, format!("{}{path}", self.url)).bearer_auth(&self.api_key);
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.map_err(unreadable)?;
        let status = response.status();
        let body = response.bytes().await.map_err(unreadable)?;
        if status.is_success() {
            return serde_json::from_slice(&body).map_err(unreadable);
        }
        if status.is_server_error() || status.as_u16() == 429 {
            return Err(unreadable(format!("the provider answered {status}")));
        }
        let code =
            serde_json::from_slice::<Value>(&body).ok().and_then(|v| v["error"]["code"].as_str().map(str::to_owned));
        Err(ProviderError::Refused { code: code.unwrap_or_else(|| status.as_u16().to_string()) })
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

fn refund(refund: Refund) -> ProviderRefund {
    let succeeded = match refund.status.as_str() {
        "succeeded" => Some(true),
        "failed" => Some(false),
        _ => None,
    };
    ProviderRefund { id: refund.id, succeeded }
}

impl PaymentProvider for SandboxProvider {
    fn name(&self) -> &'static str {
        "sandbox"
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
            let found: Vec<Payment> = serde_json::from_value(items).map_err(unreadable)?;
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
        key: &'a str,
    ) -> BoxFuture<'a, std::result::Result<ProviderRefund, ProviderError>> {
        Box::pin(async move {
            let body = json!({ "payment": payment, "amount": amount_minor, "reference": key });
            Ok(refund(self.send(reqwest::Method::POST, "/v1/refunds", Some(key), Some(body)).await?))
        })
    }

    fn get_refund<'a>(&'a self, id: &'a str) -> BoxFuture<'a, std::result::Result<ProviderRefund, ProviderError>> {
        Box::pin(
            async move { Ok(refund(self.send(reqwest::Method::GET, &format!("/v1/refunds/{id}"), None, None).await?)) },
        )
    }
}

/// Checks a webhook's signature header `t=<seconds>,v1=<hex>[,v1=<hex>]` over `t.body` (HMAC-SHA256,
/// the form that Stripe documents): any of the secrets, any of the signatures, within the tolerance.
pub(crate) fn verify_signature(secrets: &[String], header: &str, body: &[u8], now: Millis) -> bool {
    let mut time = None;
    let mut signatures = Vec::new();
    for part in header.split(',') {
        match part.trim().split_once('=') {
            Some(("t", value)) => time = value.parse::<i64>().ok(),
            Some(("v1", value)) => signatures.extend(hex::decode(value)),
            _ => {}
        }
    }
    let Some(time) = time else { return false };
    if (now.0 / 1000 - time).abs() > SIGNATURE_TOLERANCE_S {
        return false;
    }
    secrets.iter().any(|secret| {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("HMAC takes keys of any length");
        mac.update(format!("{time}.").as_bytes());
        mac.update(body);
        signatures.iter().any(|signature| mac.clone().verify_slice(signature).is_ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sign(secret: &str, time: i64, body: &[u8]) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
        mac.update(format!("{time}.").as_bytes());
        mac.update(body);
        hex::encode(mac.finalize().into_bytes())
    }

    #[test]
    fn a_signature_needs_the_secret_the_body_and_the_time() {
        let secrets = ["new".to_owned(), "old".to_owned()];
        let now = Millis(1_000_000_000);
        let good = format!("t=1000000,v1={}", sign("old", 1_000_000, b"x"));
        assert!(verify_signature(&secrets, &good, b"x", now));
        assert!(verify_signature(&secrets, &format!("t=1000000,v1=00,v1={}", sign("new", 1_000_000, b"x")), b"x", now));
        assert!(!verify_signature(&secrets, &good, b"y", now));
        assert!(!verify_signature(&secrets, &good.replace("t=1000000", "t=1000001"), b"x", now));
        assert!(!verify_signature(&secrets, &format!("t=1000000,v1={}", sign("other", 1_000_000, b"x")), b"x", now));
        assert!(!verify_signature(&secrets, &good, b"x", now.plus(301_000)));
        for bad in ["", "t=", "v1=00", "t=1000000", "nonsense"] {
            assert!(!verify_signature(&secrets, bad, b"x", now), "{bad}");
        }
    }
}
