//! The routes under `/control`: the switches, and what the provider's own people can do by hand.
//!
//! The merchant knows nothing of these calls; it hears of what they did as of everything else.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use redb::ReadableTable;
use serde::Deserialize;
use serde_json::{Value, json};

use super::disputes::{self, Decision, Dispute, NewDispute};
use super::input::{bytes, parse};
use super::payment::Payment;
use super::payouts::{self, Payout};
use super::refunds::{self, NewRefund, Origin, Refund};
use super::refusal::Refusal;
use super::steps::Step;
use super::switches::Switches;
use super::{Inner, ledger, now_ms, webhook};

type Body = Result<Bytes, BytesRejection>;

/// The routes under `/control`; the caller adds authentication.
pub(super) fn routes() -> Router<Arc<Inner>> {
    Router::new()
        .route("/control/switches", get(show).put(set).patch(change).delete(reset))
        .route("/control/redeliver", post(redeliver))
        .route("/control/flush", post(flush))
        .route("/control/payments/{id}/succeed", post(succeed))
        .route("/control/refunds", post(refund))
        .route("/control/refunds/{id}/settle", post(settle_refund))
        .route("/control/disputes", post(open_dispute))
        .route("/control/disputes/{id}/close", post(close_dispute))
        .route("/control/payouts", post(pay_out))
        .route("/control/payouts/{id}/fail", post(fail_payout))
}

async fn show(State(psp): State<Arc<Inner>>) -> Json<Switches> {
    Json(psp.in_force().switches)
}

/// Sets all switches: those that the body leaves out go back to their defaults.
async fn set(State(psp): State<Arc<Inner>>, body: Body) -> Result<Json<Switches>, Refusal> {
    let body = bytes(body)?;
    switch(&psp, |_| Switches::read(&body)).await
}

/// Sets the switches that the body names.
async fn change(State(psp): State<Arc<Inner>>, body: Body) -> Result<Json<Switches>, Refusal> {
    let body = bytes(body)?;
    switch(&psp, |switches| switches.changed(&body)).await
}

/// Puts all switches back to their defaults.
async fn reset(State(psp): State<Arc<Inner>>) -> Result<Json<Switches>, Refusal> {
    switch(&psp, |_| Ok(Switches::default())).await
}

/// One change at a time, so that none is built on switches that another one is about to replace.
async fn switch(
    psp: &Inner,
    change: impl FnOnce(&Switches) -> Result<Switches, Refusal>,
) -> Result<Json<Switches>, Refusal> {
    let _turn = psp.switching.lock().await;
    let switches = change(&psp.in_force().switches)?;
    switches.keep(&psp.store).await?;
    psp.set_switches(switches.clone());
    tracing::info!(?switches, "the switches changed");
    Ok(Json(switches))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Redeliver {
    event: String,
}

async fn redeliver(State(psp): State<Arc<Inner>>, body: Body) -> Result<Json<Value>, Refusal> {
    let Redeliver { event } = parse(body)?;
    let seq = ledger::event_seq(&event);
    let queued = psp.store.write(move |tables| {
        let Some(seq) = seq else { return Ok(false) };
        if tables.events.get(seq)?.is_none() {
            return Ok(false);
        }
        webhook::queue_again(tables, seq)?;
        Ok(true)
    });
    if !queued.await? {
        return Err(Refusal::not_found("event").with_param("event"));
    }
    webhook::reload(&psp);
    Ok(Json(json!({"queued": 1})))
}

async fn flush(State(psp): State<Arc<Inner>>) -> Result<Json<Value>, Refusal> {
    Ok(Json(json!({"queued": webhook::flush(&psp).await?})))
}

/// The bank's yes: to an open payment, or, too late, to one that has expired.
async fn succeed(State(psp): State<Arc<Inner>>, Path(id): Path<String>) -> Result<Json<Payment>, Refusal> {
    let outcome = psp.store.write(move |tables| ledger::succeed_late(tables, &id, now_ms()));
    outcome.await?.map(Json)
}

/// A refund that the merchant did not ask for.
async fn refund(State(psp): State<Arc<Inner>>, body: Body) -> Result<Json<Refund>, Refusal> {
    let new: NewRefund = parse(body)?;
    new.check()?;
    let outcome = psp.store.write(move |tables| refunds::create(tables, &new, Origin::Provider, now_ms()));
    outcome.await?.map(Json)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settle {
    outcome: Step,
}

/// Ends a pending refund now, or takes a success back.
async fn settle_refund(
    State(psp): State<Arc<Inner>>,
    Path(id): Path<String>,
    body: Body,
) -> Result<Json<Refund>, Refusal> {
    let Settle { outcome } = parse(body)?;
    let settled = psp.store.write(move |tables| refunds::settle(tables, &id, outcome, now_ms()));
    settled.await?.map(Json)
}

async fn open_dispute(State(psp): State<Arc<Inner>>, body: Body) -> Result<Json<Dispute>, Refusal> {
    let new: NewDispute = parse(body)?;
    let outcome = psp.store.write(move |tables| disputes::open(tables, &new, now_ms()));
    outcome.await?.map(Json)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Close {
    outcome: Decision,
}

async fn close_dispute(
    State(psp): State<Arc<Inner>>,
    Path(id): Path<String>,
    body: Body,
) -> Result<Json<Dispute>, Refusal> {
    let Close { outcome } = parse(body)?;
    let closed = psp.store.write(move |tables| disputes::close(tables, &id, outcome, now_ms()));
    closed.await?.map(Json)
}

/// Pays out what this day came to until now, by currency.
async fn pay_out(State(psp): State<Arc<Inner>>) -> Result<Json<Value>, Refusal> {
    let payouts = psp.store.write(|tables| payouts::now(tables, now_ms())).await?;
    Ok(Json(json!({"data": payouts})))
}

/// Lets a payout come back from the bank.
async fn fail_payout(State(psp): State<Arc<Inner>>, Path(id): Path<String>) -> Result<Json<Payout>, Refusal> {
    let failed = psp.store.write(move |tables| payouts::fail(tables, &id, now_ms()));
    failed.await?.map(Json)
}
