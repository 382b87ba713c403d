//! The merchant's API under `/v1`: reading calls, and doing each write once.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::disputes::{self, Dispute};
use super::idempotency::{Answer, Key, once};
use super::input::{is_line, parse, query};
use super::ledger::{self, LIST_MAX, NewPayment, Outcome, REFERENCE_MAX_CHARS};
use super::payment::{self, Payment, Status};
use super::refunds::{self, NewRefund, Origin, Refund};
use super::refusal::Refusal;
use super::store::{StoreError, Tables};
use super::{Inner, currency, faults, now_ms, settlement};

/// Largest amount, in minor units: far above any order, far below an overflow of sums.
const AMOUNT_MAX: i64 = 1_000_000_000_000_000;
const DESCRIPTION_MAX_CHARS: usize = 500;
const RETURN_URL_MAX_BYTES: usize = 2048;
const METADATA_MAX: usize = 50;
const METADATA_VALUE_MAX_CHARS: usize = 500;
/// How long a payment can be paid when the merchant does not say.
const EXPIRY_DEFAULT_MS: i64 = 24 * 3_600_000;
const EXPIRY_MAX_MS: i64 = 30 * 24 * 3_600_000;

/// The routes under `/v1`; the caller adds authentication and faults.
pub(super) fn routes() -> Router<Arc<Inner>> {
    Router::new()
        .route("/v1/payments", post(create_payment).get(list_payments))
        .route("/v1/payments/{id}", get(show_payment))
        .route("/v1/payments/{id}/capture", post(capture))
        .route("/v1/payments/{id}/cancel", post(cancel))
        .route("/v1/refunds", post(create_refund).get(list_refunds))
        .route("/v1/refunds/{id}", get(show_refund))
        .route("/v1/disputes", get(list_disputes))
        .route("/v1/disputes/{id}", get(show_dispute))
        .route("/v1/events", get(list_events))
        .route("/v1/settlements/{file}", get(settlement::show))
}

/// Runs one writing call under its idempotency key.
async fn write<P, T>(
    psp: &Inner,
    headers: &HeaderMap,
    path: &str,
    params: P,
    work: impl FnOnce(&mut Tables<'_>, &P, i64) -> Outcome<T> + Send + 'static,
) -> Result<Answer, Refusal>
where
    P: Serialize + Send + 'static,
    T: Serialize,
{
    let key = Key::read(headers, path, &params)?;
    let fails = faults::fails_for_good(psp);
    let answer = psp.store.write(move |tables| {
        let now_ms = now_ms();
        once(tables, key.as_ref(), now_ms, |tables| {
            if fails {
                return Ok(Err(faults::failure("a switch made this call fail for good; nothing was done")));
            }
            work(tables, &params, now_ms)
        })
    });
    Ok(answer.await?)
}

async fn create_payment(
    State(psp): State<Arc<Inner>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Answer, Refusal> {
    let new: NewPayment = parse(body)?;
    let (merchant, base_url) = (psp.config.merchant.clone(), psp.base_url.clone());
    write(&psp, &headers, "/v1/payments", new, move |tables, new, now_ms| {
        if let Err(refusal) = check(new, now_ms) {
            return Ok(Err(refusal));
        }
        let id = ledger::new_id(payment::ID_PREFIX, now_ms)?;
        let payment = Payment {
            hosted_url: format!("{base_url}/pay/{id}"),
            id,
            object: "payment".to_owned(),
            status: Status::RequiresPayment,
            amount: new.amount,
            amount_captured: 0,
            amount_refunded: 0,
            amount_refund_pending: 0,
            amount_disputed: 0,
            currency: new.currency.to_ascii_uppercase(),
            merchant,
            reference: new.reference.clone(),
            description: new.description.clone(),
            capture: new.capture,
            metadata: new.metadata.clone(),
            return_url: new.return_url.clone(),
            created_ms: now_ms,
            expires_at_ms: new.expires_at_ms.unwrap_or(now_ms + EXPIRY_DEFAULT_MS),
            authorized_ms: None,
            captured_ms: None,
            canceled_ms: None,
            cancel_reason: None,
            card_last4: None,
            last_error: None,
        };
        ledger::insert_payment(tables, &payment)?;
        Ok(Ok(payment))
    })
    .await
}

fn check(new: &NewPayment, now_ms: i64) -> Result<(), Refusal> {
    let invalid = |param: &'static str, message: String| Err(Refusal::invalid("parameter_invalid", param, message));
    if !(1..=AMOUNT_MAX).contains(&new.amount) {
        return invalid("amount", format!("amount must be 1 to {AMOUNT_MAX} minor units"));
    }
    if currency::exponent(&new.currency.to_ascii_uppercase()).is_none() {
        return invalid("currency", "currency must be an ISO 4217 code".to_owned());
    }
    if new.reference.is_empty() || !is_line(&new.reference, REFERENCE_MAX_CHARS) {
        return invalid("reference", format!("reference must be 1 to {REFERENCE_MAX_CHARS} characters of one line"));
    }
    if !is_line(&new.description, DESCRIPTION_MAX_CHARS) {
        return invalid("description", format!("description must be one line of {DESCRIPTION_MAX_CHARS} characters"));
    }
    let url = reqwest::Url::parse(&new.return_url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    if url.is_none() || new.return_url.len() > RETURN_URL_MAX_BYTES {
        return invalid("return_url", "return_url must be an http or https address".to_owned());
    }
    let earliest_ms = now_ms + 1;
    if new.expires_at_ms.is_some_and(|at_ms| !(earliest_ms..=now_ms + EXPIRY_MAX_MS).contains(&at_ms)) {
        return invalid("expires_at_ms", "expires_at_ms must lie in the next 30 days".to_owned());
    }
    let fits = |(key, value): (&String, &String)| {
        is_line(key, METADATA_VALUE_MAX_CHARS) && value.chars().count() <= METADATA_VALUE_MAX_CHARS
    };
    if new.metadata.len() > METADATA_MAX || !new.metadata.iter().all(fits) {
        return invalid("metadata", format!("metadata takes {METADATA_MAX} short texts"));
    }
    Ok(())
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Capture {
    amount: Option<i64>,
}

async fn capture(
    State(psp): State<Arc<Inner>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Answer, Refusal> {
    let params: Capture = parse(body)?;
    let path = format!("/v1/payments/{id}/capture");
    write(&psp, &headers, &path, params, move |tables, params, now_ms| {
        ledger::change_payment(tables, &id, now_ms, |payment| payment.capture(params.amount, now_ms).map(Some))
    })
    .await
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cancel {}

async fn cancel(
    State(psp): State<Arc<Inner>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Answer, Refusal> {
    let params: Cancel = parse(body)?;
    let path = format!("/v1/payments/{id}/cancel");
    write(&psp, &headers, &path, params, move |tables, _, now_ms| {
        ledger::change_payment(tables, &id, now_ms, |payment| payment.cancel(now_ms).map(Some))
    })
    .await
}

async fn create_refund(
    State(psp): State<Arc<Inner>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Answer, Refusal> {
    let new: NewRefund = parse(body)?;
    new.check()?;
    write(&psp, &headers, "/v1/refunds", new, |tables, new, now_ms| refunds::create(tables, new, Origin::Api, now_ms))
        .await
}

async fn show_payment(State(psp): State<Arc<Inner>>, Path(id): Path<String>) -> Result<Json<Payment>, Refusal> {
    let payment = psp.store.read(move |txn| ledger::payment(txn, &id)).await?;
    payment.map(Json).ok_or_else(|| Refusal::not_found("payment"))
}

async fn show_refund(State(psp): State<Arc<Inner>>, Path(id): Path<String>) -> Result<Json<Refund>, Refusal> {
    let refund = psp.store.read(move |txn| refunds::by_id(txn, &id)).await?;
    refund.map(Json).ok_or_else(|| Refusal::not_found("refund"))
}

async fn show_dispute(State(psp): State<Arc<Inner>>, Path(id): Path<String>) -> Result<Json<Dispute>, Refusal> {
    let dispute = psp.store.read(move |txn| disputes::by_id(txn, &id)).await?;
    dispute.map(Json).ok_or_else(|| Refusal::not_found("dispute"))
}

/// One page of a list, with what asks for the next.
fn page<T: Serialize>(mut found: Vec<T>, limit: usize) -> Json<Value> {
    let has_more = found.len() > limit;
    found.truncate(limit);
    Json(json!({"object": "list", "data": found, "has_more": has_more}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ByReference {
    reference: String,
}

async fn list_payments(
    State(psp): State<Arc<Inner>>,
    params: Result<Query<ByReference>, QueryRejection>,
) -> Result<Json<Value>, Refusal> {
    let ByReference { reference } = query(params)?;
    let found = psp.store.read(move |txn| ledger::payments_of(txn, &reference)).await?;
    Ok(page(found, LIST_MAX))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ByPayment {
    payment: String,
    #[serde(default)]
    after: String,
}

async fn list_refunds(
    State(psp): State<Arc<Inner>>,
    params: Result<Query<ByPayment>, QueryRejection>,
) -> Result<Json<Value>, Refusal> {
    let ByPayment { payment, after } = query(params)?;
    let found = psp.store.read(move |txn| refunds::of_payment(txn, &payment, &after)).await?;
    Ok(page(found, LIST_MAX))
}

async fn list_disputes(
    State(psp): State<Arc<Inner>>,
    params: Result<Query<ByPayment>, QueryRejection>,
) -> Result<Json<Value>, Refusal> {
    let ByPayment { payment, after } = query(params)?;
    let found = psp.store.read(move |txn| disputes::of_payment(txn, &payment, &after)).await?;
    Ok(page(found, LIST_MAX))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct After {
    after: Option<String>,
    /// Text, so that a wrong one is refused by its name.
    limit: Option<String>,
}

async fn list_events(
    State(psp): State<Arc<Inner>>,
    params: Result<Query<After>, QueryRejection>,
) -> Result<Json<Value>, Refusal> {
    let After { after, limit } = query(params)?;
    let limit = limit.map_or(Some(LIST_MAX), |limit| limit.parse().ok()).filter(|limit| (1..=LIST_MAX).contains(limit));
    let Some(limit) = limit else {
        return Err(Refusal::invalid("parameter_invalid", "limit", format!("limit must be 1 to {LIST_MAX}")));
    };
    let after = match after.as_deref() {
        None | Some("") => 0,
        Some(id) => ledger::event_seq(id).ok_or_else(|| Refusal::not_found("event").with_param("after"))?,
    };
    let found = psp.store.read(move |txn| ledger::events_after(txn, after, limit + 1)).await?;
    let events: Result<Vec<Value>, _> = found.iter().map(|event| serde_json::from_slice(event)).collect();
    let events = events.map_err(|error| Refusal::from(StoreError::from(error)))?;
    Ok(page(events, limit))
}
