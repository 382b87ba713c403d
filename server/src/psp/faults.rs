//! What the switches do to the merchant's calls: delays, failures, and answers that are lost.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Inner;
use super::refusal::Refusal;
use super::switches::InForce;

/// How long a call that times out on purpose keeps its caller.
const PRETENDED_TIMEOUT: Duration = Duration::from_secs(1);

/// Applies the switches to one call. What is done to the work itself is [`fails_for_good`].
pub(super) async fn apply(State(psp): State<Arc<Inner>>, request: Request, next: Next) -> Response {
    let InForce { switches, chance } = psp.in_force();
    let call = chance.next_call();
    pause(switches.api_delay_ms).await;
    if chance.hits("fail", call, switches.fail_permille) {
        return failure("a switch made this call fail; nothing was done").into_response();
    }
    let writes = request.method() == Method::POST;
    let response = next.run(request).await;
    if !writes {
        return response;
    }
    pause(switches.answer_delay_ms).await;
    if chance.hits("silent_after_commit", call, switches.silent_after_commit_permille) {
        // Until the caller gives up, or the bound on all requests does.
        return std::future::pending().await;
    }
    if chance.hits("timeout_after_commit", call, switches.timeout_after_commit_permille) {
        tokio::time::sleep(PRETENDED_TIMEOUT).await;
        let message = "the outcome of this call is unknown";
        return Refusal::of(StatusCode::GATEWAY_TIMEOUT, "timeout", message).into_response();
    }
    response
}

/// Whether the work of this write fails in a way that is filed under its idempotency key.
pub(super) fn fails_for_good(psp: &Inner) -> bool {
    let InForce { switches, chance } = psp.in_force();
    let permille = switches.fail_stored_permille;
    permille > 0 && chance.hits("fail_stored", chance.next_call(), permille)
}

/// The provider's own failure.
pub(super) fn failure(message: &str) -> Refusal {
    Refusal::of(StatusCode::INTERNAL_SERVER_ERROR, "provider_error", message)
}

async fn pause(pause_ms: u64) {
    if pause_ms > 0 {
        tokio::time::sleep(Duration::from_millis(pause_ms)).await;
    }
}
