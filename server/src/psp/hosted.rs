//! The hosted payment page's routes: what a fan's browser does at the provider, without JavaScript.
//!
//! Knowing a payment's id opens its page; no session, no cookie. How pages look is [`super::page`]'s.

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Deserialize;

use super::payment::{Payment, Status, Verdict};
use super::refusal::Refusal;
use super::{Inner, ledger, now_ms, page};

const STYLE: &str = include_str!("style.css");

/// The routes that browsers use.
pub(super) fn routes() -> Router<Arc<Inner>> {
    Router::new()
        .route("/pay/{id}", get(show).post(pay))
        .route("/pay/{id}/confirm", post(confirm))
        .route("/pay/{id}/leave", post(leave))
        .route("/style.css", get(style))
}

async fn style() -> Response {
    let headers = [(header::CONTENT_TYPE, "text/css; charset=utf-8"), (header::CACHE_CONTROL, "public, max-age=3600")];
    (headers, STYLE).into_response()
}

async fn show(State(psp): State<Arc<Inner>>, Path(id): Path<String>) -> Response {
    answer(load(&psp, &id).await.map(|payment| current(&payment)))
}

/// The form's other fields are asked for as a real page does, and never read.
#[derive(Deserialize)]
struct Card {
    #[serde(default)]
    card: String,
}

async fn pay(
    State(psp): State<Arc<Inner>>,
    Path(id): Path<String>,
    form: Result<Form<Card>, FormRejection>,
) -> Response {
    let card = form.map(|Form(form)| form.card).unwrap_or_default();
    let verdict = Verdict::of(&card, psp.in_force().switches.decline_all);
    answer(tried(&psp, &id, verdict).await)
}

async fn tried(psp: &Inner, id: &str, verdict: Option<Verdict>) -> Result<Response, Refusal> {
    let Some(verdict) = verdict else {
        let payment = load(psp, id).await?;
        if !is_open(&payment) {
            return Ok(current(&payment));
        }
        let message = "This card number is not complete. Please check it.";
        return Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &payment, page::form(&payment, Some(message))));
    };
    let wanted = id.to_owned();
    let outcome = psp.store.write(move |tables| ledger::pay(tables, &wanted, &verdict, now_ms())).await?;
    after_change(psp, id, outcome).await
}

#[derive(Deserialize)]
struct Decision {
    #[serde(default)]
    decision: String,
}

async fn confirm(
    State(psp): State<Arc<Inner>>,
    Path(id): Path<String>,
    form: Result<Form<Decision>, FormRejection>,
) -> Response {
    let approved = form.is_ok_and(|Form(form)| form.decision == "approve");
    answer(confirmed(&psp, &id, approved).await)
}

async fn confirmed(psp: &Inner, id: &str, approved: bool) -> Result<Response, Refusal> {
    let wanted = id.to_owned();
    let outcome = psp.store.write(move |tables| {
        let now_ms = now_ms();
        ledger::change_payment(tables, &wanted, now_ms, |payment| payment.confirm(approved, now_ms).map(Some))
    });
    after_change(psp, id, outcome.await?).await
}

/// Where the browser goes after a card or a confirmation. A second press of a button finds the payment
/// moved on, and is led to where the first one went.
async fn after_change(psp: &Inner, id: &str, outcome: Result<Payment, Refusal>) -> Result<Response, Refusal> {
    let payment = match outcome {
        Ok(payment) => payment,
        Err(refusal) if refusal.http == StatusCode::CONFLICT => load(psp, id).await?,
        Err(refusal) => return Err(refusal),
    };
    Ok(match (payment.status, &payment.last_error) {
        (Status::Authorized | Status::Captured, _) => see_other(&page::return_address(&payment)),
        (Status::RequiresAction, _) => see_other(&format!("/pay/{}", payment.id)),
        (Status::RequiresPayment, Some(error)) if is_open(&payment) => {
            html(StatusCode::PAYMENT_REQUIRED, &payment, page::form(&payment, Some(&error.message)))
        }
        _ => current(&payment),
    })
}

async fn leave(State(psp): State<Arc<Inner>>, Path(id): Path<String>) -> Response {
    answer(load(&psp, &id).await.map(|payment| see_other(&page::return_address(&payment))))
}

async fn load(psp: &Inner, id: &str) -> Result<Payment, Refusal> {
    let wanted = id.to_owned();
    let payment = psp.store.read(move |txn| ledger::payment(txn, &wanted)).await?;
    payment.ok_or_else(|| Refusal::not_found("payment"))
}

fn is_open(payment: &Payment) -> bool {
    !ledger::is_over(payment, now_ms()) && matches!(payment.status, Status::RequiresPayment | Status::RequiresAction)
}

/// The page that fits the payment as it is.
fn current(payment: &Payment) -> Response {
    if ledger::is_over(payment, now_ms()) {
        return html(StatusCode::GONE, payment, page::over(payment));
    }
    let body = match payment.status {
        Status::RequiresAction => page::confirm(payment),
        Status::Authorized | Status::Captured => page::paid(payment),
        Status::RequiresPayment | Status::Canceled => {
            page::form(payment, payment.last_error.as_ref().map(|error| error.message.as_str()))
        }
    };
    html(StatusCode::OK, payment, body)
}

fn answer(response: Result<Response, Refusal>) -> Response {
    match response {
        Ok(response) => response,
        Err(refusal) if refusal.http == StatusCode::NOT_FOUND => {
            with_headers((refusal.http, page::unknown()).into_response(), "'self'")
        }
        Err(refusal) => with_headers((refusal.http, page::outage()).into_response(), "'self'"),
    }
}

fn html(status: StatusCode, payment: &Payment, body: String) -> Response {
    // Browsers hold the redirect that answers a form against `form-action` too.
    let merchant = reqwest::Url::parse(&payment.return_url).map(|url| url.origin().ascii_serialization());
    let form_action = format!("'self' {}", merchant.unwrap_or_default());
    with_headers((status, body).into_response(), &form_action)
}

fn with_headers(mut response: Response, form_action: &str) -> Response {
    let policy = format!(
        "default-src 'none'; style-src 'self'; form-action {form_action}; base-uri 'none'; frame-ancestors 'none'"
    );
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

fn see_other(address: &str) -> Response {
    match HeaderValue::from_str(address) {
        Ok(address) => {
            let headers = [(header::LOCATION, address), (header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
            (StatusCode::SEE_OTHER, headers).into_response()
        }
        // A parsed address is ASCII, so this is a row that someone else wrote.
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
