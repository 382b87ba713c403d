//! The switches that make the provider misbehave on purpose, and their routes under `/control`.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::routing::{get, post};
use axum::{Json, Router};
use redb::ReadableTable;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::api::parse;
use super::refusal::Refusal;
use super::store::{self, Store, StoreError, decode, encode};
use super::{Inner, ledger, webhook};

/// Most copies of one webhook.
const COPIES_MAX: u32 = 50;
/// Longest delay that a switch can set, in milliseconds.
pub(super) const DELAY_MAX_MS: u64 = 60_000;
/// The row of the settings that holds the switches.
const ROW: &str = "switches";

/// What happens to webhooks that were not asked for by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WebhookMode {
    Deliver,
    Drop,
}

/// All switches; what a `PUT` leaves out goes back to its default.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Switches {
    pub(super) webhooks: WebhookMode,
    pub(super) webhook_delay_ms: u64,
    pub(super) webhook_copies: u32,
    /// Throws deliveries into a random order.
    pub(super) webhook_shuffle: bool,
    /// Calls of 1,000 that answer 500 before anything is done.
    pub(super) fail_permille: u32,
    /// Writes of 1,000 that are done, and answer 504 all the same.
    pub(super) timeout_after_commit_permille: u32,
    /// The bank declines every card.
    pub(super) decline_all: bool,
    /// Refunds are recorded as failed.
    pub(super) refund_fail: bool,
    pub(super) api_delay_ms: u64,
}

impl Default for Switches {
    fn default() -> Self {
        Self {
            webhooks: WebhookMode::Deliver,
            webhook_delay_ms: 0,
            webhook_copies: 1,
            webhook_shuffle: false,
            fail_permille: 0,
            timeout_after_commit_permille: 0,
            decline_all: false,
            refund_fail: false,
            api_delay_ms: 0,
        }
    }
}

impl Switches {
    /// The switches as the last process left them.
    pub(super) async fn load(store: &Store) -> Result<Self, StoreError> {
        let stored = store.read(|txn| {
            let row = txn.open_table(store::SETTINGS)?.get(ROW)?;
            row.map(|row| decode(row.value())).transpose()
        });
        Ok(stored.await?.unwrap_or_default())
    }

    fn check(&self) -> Result<(), Refusal> {
        let out_of_range = |param, most: u64| {
            Err(Refusal::invalid("switch_out_of_range", param, format!("{param} must be at most {most}")))
        };
        if self.webhook_copies < 1 || self.webhook_copies > COPIES_MAX {
            let message = format!("webhook_copies must be 1 to {COPIES_MAX}");
            return Err(Refusal::invalid("switch_out_of_range", "webhook_copies", message));
        }
        match self {
            _ if self.fail_permille > 1000 => out_of_range("fail_permille", 1000),
            _ if self.timeout_after_commit_permille > 1000 => out_of_range("timeout_after_commit_permille", 1000),
            _ if self.webhook_delay_ms > DELAY_MAX_MS => out_of_range("webhook_delay_ms", DELAY_MAX_MS),
            _ if self.api_delay_ms > DELAY_MAX_MS => out_of_range("api_delay_ms", DELAY_MAX_MS),
            _ => Ok(()),
        }
    }
}

/// The routes under `/control`; the caller adds authentication.
pub(super) fn routes() -> Router<Arc<Inner>> {
    Router::new()
        .route("/control/switches", get(show).put(set))
        .route("/control/redeliver", post(redeliver))
        .route("/control/flush", post(flush))
}

async fn show(State(psp): State<Arc<Inner>>) -> Json<Switches> {
    Json(psp.switches())
}

async fn set(State(psp): State<Arc<Inner>>, body: Result<Bytes, BytesRejection>) -> Result<Json<Switches>, Refusal> {
    let switches: Switches = parse(body)?;
    switches.check()?;
    let row = encode(&switches)?;
    psp.store.write(move |tables| tables.settings.insert(ROW, row.as_slice()).map(drop).map_err(Into::into)).await?;
    psp.set_switches(switches.clone());
    tracing::info!(?switches, "the switches changed");
    Ok(Json(switches))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Redeliver {
    event: String,
}

async fn redeliver(State(psp): State<Arc<Inner>>, body: Result<Bytes, BytesRejection>) -> Result<Json<Value>, Refusal> {
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
