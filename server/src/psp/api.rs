//! The merchant's API under `/v1`: reading calls, authentication, and faults on purpose.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::idempotency::{Answer, Key, once};
use super::ledger::{self, LIST_MAX, NewPayment, NewRefund, Outcome};
use super::payment::{Payment, Refund, Status};
use super::refusal::Refusal;
use super::store::Tables;
use super::{Inner, currency, now_ms};

/// Largest amount, in minor units: far above any order, far below an overflow of sums.
const AMOUNT_MAX: i64 = 1_000_000_000_000_000;
const REFERENCE_MAX_CHARS: usize = 200;
const DESCRIPTION_MAX_CHARS: usize = 500;
const RETURN_URL_MAX_BYTES: usize = 2048;
const METADATA_MAX: usize = 50;
const METADATA_VALUE_MAX_CHARS: usize = 500;
/// How long a payment can be paid when the merchant does not say.
const EXPIRY_DEFAULT_MS: i64 = 24 * 3_600_000;
const EXPIRY_MAX_MS: i64 = 30 * 24 * 3_600_000;
/// How long a call that times out on purpose keeps its caller.
const PRETENDED_TIMEOUT: Duration = Duration::from_secs(1);

/// The routes under `/v1`; the caller adds authentication.
pub(super) fn routes(psp: &Arc<Inner>) -> Router<Arc<Inner>> {
    Router::new()
        .route("/v1/payments", post(create_payment).get(list_payments))
        .route("/v1/payments/{id}", get(show_payment))
        .route("/v1/payments/{id}/capture", post(capture))
        .route("/v1/payments/{id}/cancel", post(cancel))
        .route("/v1/refunds", post(create_refund).get(list_refunds))
        .route("/v1/refunds/{id}", get(show_refund))
        .route("/v1/events", get(list_events))
        .route("/v1/settlement", get(settlement))
        .layer(axum::middleware::from_fn_with_state(Arc::clone(psp), faults))
}

/// Lets only callers with the key in. Digests are compared, so that neither length nor prefix shows.
pub(super) async fn authenticate(State(psp): State<Arc<Inner>>, request: Request, next: Next) -> Response {
    let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let given = given.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
    let known = Sha256::digest(given.as_bytes()).ct_eq(&Sha256::digest(psp.config.api_key.as_bytes()));
    if bool::from(known) {
        return next.run(request).await;
    }
    let mut response =
        Refusal::of(StatusCode::UNAUTHORIZED, "unauthorized", "the API key is missing or wrong").into_response();
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

async fn faults(State(psp): State<Arc<Inner>>, request: Request, next: Next) -> Response {
    let switches = psp.switches();
    if switches.api_delay_ms > 0 {
        tokio::time::sleep(Duration::from_millis(switches.api_delay_ms)).await;
    }
    if one_of_many(switches.fail_permille) {
        let message = "a switch made this call fail; nothing was done";
        return Refusal::of(StatusCode::INTERNAL_SERVER_ERROR, "provider_error", message).into_response();
    }
    let writes = request.method() == Method::POST;
    let response = next.run(request).await;
    if writes && one_of_many(switches.timeout_after_commit_permille) {
        tokio::time::sleep(PRETENDED_TIMEOUT).await;
        let message = "the outcome of this call is unknown";
        return Refusal::of(StatusCode::GATEWAY_TIMEOUT, "timeout", message).into_response();
    }
    response
}

fn one_of_many(permille: u32) -> bool {
    permille > 0 && rand::random_range(0..1000) < permille
}

/// Reads a JSON body; an empty one counts as `{}`.
pub(super) fn parse<T: DeserializeOwned>(body: Result<Bytes, BytesRejection>) -> Result<T, Refusal> {
    let body = body.map_err(|rejection| Refusal::of(rejection.status(), "body_unreadable", rejection.body_text()))?;
    let body: &[u8] = if body.is_empty() { b"{}" } else { &body };
    serde_json::from_slice(body)
        .map_err(|error| Refusal::of(StatusCode::BAD_REQUEST, "invalid_request", error.to_string()))
}

fn query<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, Refusal> {
    match query {
        Ok(Query(query)) => Ok(query),
        Err(rejection) => Err(Refusal::of(StatusCode::BAD_REQUEST, "invalid_request", rejection.body_text())),
    }
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
    let answer = psp.store.write(move |tables| {
        let now_ms = now_ms();
        once(tables, key.as_ref(), now_ms, |tables| work(tables, &params, now_ms))
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
        let id = ledger::new_id("pay", now_ms)?;
        let payment = Payment {
            hosted_url: format!("{base_url}/pay/{id}"),
            id,
            object: "payment".to_owned(),
            status: Status::RequiresPayment,
            amount: new.amount,
            amount_captured: 0,
            amount_refunded: 0,
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

fn is_line(text: &str, max_chars: usize) -> bool {
    text.chars().count() <= max_chars && !text.chars().any(char::is_control)
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
    if !is_line(&new.reference, REFERENCE_MAX_CHARS) {
        let message = format!("reference must be one line of {REFERENCE_MAX_CHARS} characters");
        return Err(Refusal::invalid("parameter_invalid", "reference", message));
    }
    let fails = psp.switches().refund_fail;
    write(&psp, &headers, "/v1/refunds", new, move |tables, new, now_ms| ledger::refund(tables, new, fails, now_ms))
        .await
}

async fn show_payment(State(psp): State<Arc<Inner>>, Path(id): Path<String>) -> Result<Json<Payment>, Refusal> {
    let payment = psp.store.read(move |txn| ledger::payment(txn, &id)).await?;
    payment.map(Json).ok_or_else(|| Refusal::not_found("payment"))
}

async fn show_refund(State(psp): State<Arc<Inner>>, Path(id): Path<String>) -> Result<Json<Refund>, Refusal> {
    let refund = psp.store.read(move |txn| ledger::refund_by_id(txn, &id)).await?;
    refund.map(Json).ok_or_else(|| Refusal::not_found("refund"))
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
    let found = psp.store.read(move |txn| ledger::refunds_of(txn, &payment, &after)).await?;
    Ok(page(found, LIST_MAX))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct After {
    after: Option<String>,
    limit: Option<usize>,
}

async fn list_events(
    State(psp): State<Arc<Inner>>,
    params: Result<Query<After>, QueryRejection>,
) -> Result<Json<Value>, Refusal> {
    let After { after, limit } = query(params)?;
    let limit = limit.unwrap_or(LIST_MAX).clamp(1, LIST_MAX);
    let after = match after.as_deref() {
        None | Some("") => 0,
        Some(id) => ledger::event_seq(id).ok_or_else(|| Refusal::not_found("event").with_param("after"))?,
    };
    let found = psp.store.read(move |txn| ledger::events_after(txn, after, limit + 1)).await?;
    let events: Result<Vec<Value>, _> = found.iter().map(|event| serde_json::from_slice(event)).collect();
    let events = events.map_err(|error| Refusal::from(super::store::StoreError::from(error)))?;
    Ok(page(events, limit))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Day {
    day: String,
}

async fn settlement(
    State(psp): State<Arc<Inner>>,
    params: Result<Query<Day>, QueryRejection>,
) -> Result<Response, Refusal> {
    const DAY_MS: i64 = 24 * 3_600_000;
    let Day { day } = query(params)?;
    let from_ms = day_start_ms(&day)
        .ok_or_else(|| Refusal::invalid("parameter_invalid", "day", "day must be a date such as 2026-01-31, in UTC"))?;
    let csv = psp.store.read(move |txn| ledger::settlement(txn, from_ms, from_ms + DAY_MS)).await?;
    Ok(([(header::CONTENT_TYPE, "text/csv; charset=utf-8")], csv).into_response())
}

/// The first millisecond (UTC) of `YYYY-MM-DD`, by the proleptic Gregorian calendar.
fn day_start_ms(day: &str) -> Option<i64> {
    let mut parts = day.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day_of_month) = (parts.next()??, parts.next()??, parts.next()??);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let longest = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1970..=9999).contains(&year) || !(1..=longest).contains(&day_of_month) {
        return None;
    }
    // Years begin in March here, so that the leap day is the last of its year.
    let (shifted_year, shifted_month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, year_of_era) = (shifted_year.div_euclid(400), shifted_year.rem_euclid(400));
    let day_of_year = (153 * shifted_month + 2) / 5 + day_of_month - 1;
    let days = era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468;
    Some(days * 24 * 3_600_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_in_utc() {
        assert_eq!(day_start_ms("1970-01-01"), Some(0));
        assert_eq!(day_start_ms("2000-03-01"), Some(951_868_800_000));
        assert_eq!(day_start_ms("2024-02-29"), Some(1_709_164_800_000));
        for wrong in ["2023-02-29", "2024-13-01", "2024-1", "today", "", "2024-00-10"] {
            assert_eq!(day_start_ms(wrong), None, "{wrong}");
        }
    }
}
