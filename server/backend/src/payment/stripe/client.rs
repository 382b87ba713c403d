//! Stripe's interface over HTTP: forms go out, JSON comes back, and errors have three kinds.

use crate::config::StripeSettings;
use crate::error::{Error, Result};
use crate::payment::ProviderError;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::time::Duration;
use url::form_urlencoded::Serializer;

/// The version of the interface that this client speaks, whatever the account's own default is. Those after
/// 2022-08-01 make the payment of a hosted page only when the fan pays there.
const API_VERSION: &str = "2025-09-30.clover";
/// A call that takes longer is made again by the schedule, with the same key.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(8);

/// Fields of a request, in Stripe's own notation: `line_items[0][quantity]`.
pub(super) type Form = Vec<(String, String)>;

/// The connection to one account.
pub(super) struct Client {
    http: reqwest::Client,
    url: String,
    api_key: String,
}

#[derive(Default, Deserialize)]
struct Failure {
    #[serde(default)]
    error: FailureBody,
}

#[derive(Default, Deserialize)]
struct FailureBody {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    decline_code: Option<String>,
}

impl Client {
    /// A client with bounds on time, which follows no redirect.
    pub(super) fn new(settings: &StripeSettings) -> Result<Self> {
        crate::beacon::use_tls();
        let http = reqwest::Client::builder()
            .timeout(REQUEST_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .tcp_nodelay(true)
            .build()
            .map_err(|e| Error::Broken(format!("the HTTP client for Stripe could not be built: {e}")))?;
        Ok(Self { http, url: settings.url.clone(), api_key: settings.api_key.clone() })
    }

    /// Reads an object or a list.
    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, &str)],
    ) -> std::result::Result<T, ProviderError> {
        let mut address = format!("{}{path}", self.url);
        if !query.is_empty() {
            address.push('?');
            address.push_str(&Serializer::new(String::new()).extend_pairs(query).finish());
        }
        self.send(self.http.get(address)).await
    }

    /// Changes something, once for its key.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        key: &str,
        form: &Form,
    ) -> std::result::Result<T, ProviderError> {
        let request = self.http.post(format!("{}{path}", self.url)).header("Idempotency-Key", key);
        self.send(request.form(form)).await
    }

    async fn send<T: DeserializeOwned>(
        &self,
        request: reqwest::RequestBuilder,
    ) -> std::result::Result<T, ProviderError> {
        let request = request.bearer_auth(&self.api_key).header("Stripe-Version", API_VERSION);
        let response = request.send().await.map_err(ProviderError::unreadable)?;
        let status = response.status().as_u16();
        let body = response.bytes().await.map_err(ProviderError::unreadable)?;
        if (200..300).contains(&status) {
            return serde_json::from_slice(&body).map_err(ProviderError::unreadable);
        }
        Err(failure(status, &body))
    }
}

/// An id as a part of a path: letters, digits and underscores, or it is none of Stripe's.
pub(super) fn checked(id: &str) -> std::result::Result<&str, ProviderError> {
    if !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        Ok(id)
    } else {
        Err(ProviderError::Refused { code: format!("`{id}` is no id of Stripe's") })
    }
}

/// What a failed call means. The bank's "no" is a decline. A conflict with a call under the same key (409), too
/// many calls (429), a fault behind the other side (424, 502 and more), a key that is not taken (401, 403), which its
/// owner puts right, and what is no answer at all (3xx) say nothing about what happened: the same call is made again. A 500 is over, and Stripe keeps it under the call's key.
/// Everything else is a definite "no".
fn failure(status: u16, body: &[u8]) -> ProviderError {
    let FailureBody { kind, code, decline_code } =
        serde_json::from_slice::<Failure>(body).map(|failure| failure.error).unwrap_or_default();
    let word = code.or_else(|| kind.clone()).unwrap_or_else(|| status.to_string());
    match status {
        402 => ProviderError::Declined { code: decline_code.unwrap_or(word) },
        400..=499 if kind.as_deref() == Some("card_error") => {
            ProviderError::Declined { code: decline_code.unwrap_or(word) }
        }
        401 | 403 | 408 | 409 | 424 | 429 => ProviderError::unreadable(format!("Stripe answered {status}: {word}")),
        400..=499 => ProviderError::Refused { code: word },
        500 => ProviderError::Faulted { code: word },
        _ => ProviderError::unreadable(format!("Stripe answered {status}: {word}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_declines_refusals_or_no_answers() {
        let declined = br#"{"error":{"type":"card_error","code":"card_declined","decline_code":"insufficient_funds","message":"x"}}"#;
        assert!(
            matches!(failure(402, declined), ProviderError::Declined { code } if code == "insufficient_funds"),
            "the bank's own reason is told"
        );
        let expired = br#"{"error":{"type":"card_error","code":"expired_card"}}"#;
        assert!(matches!(failure(402, expired), ProviderError::Declined { code } if code == "expired_card"));
        assert!(matches!(failure(400, expired), ProviderError::Declined { .. }), "whatever its status");
        for (status, body) in [
            (400, r#"{"error":{"type":"invalid_request_error","code":"payment_intent_unexpected_state"}}"#),
            (400, r#"{"error":{"type":"idempotency_error","message":"other parameters"}}"#),
            (404, r#"{"error":{"type":"invalid_request_error","code":"resource_missing"}}"#),
            (404, "no JSON"),
        ] {
            let error = failure(status, body.as_bytes());
            assert!(matches!(error, ProviderError::Refused { .. }) && error.is_final(), "{status} {body}: {error}");
        }
        for status in [302, 401, 403, 408, 409, 424, 429, 502, 503, 504] {
            let error = failure(status, br#"{"error":{"type":"api_error"}}"#);
            assert!(matches!(error, ProviderError::Unreachable(_)) && !error.is_final(), "{status}: {error}");
        }
        let fault = failure(500, br#"{"error":{"type":"api_error"}}"#);
        assert!(matches!(&fault, ProviderError::Faulted { code } if code == "api_error") && !fault.is_final());
        assert!(matches!(failure(404, b""), ProviderError::Refused { code } if code == "404"));
    }

    #[test]
    fn an_id_never_leaves_its_place_in_the_path() {
        assert_eq!(checked("cs_test_a1B2").unwrap(), "cs_test_a1B2");
        for bad in ["", "pi_1/cancel", "../x", "pi_1?expand", "pi 1", "pi_\u{e9}"] {
            assert!(matches!(checked(bad), Err(ProviderError::Refused { .. })), "{bad}");
        }
    }
}
