//! The plain requests of a waiting page: the polled status, taking a place, going in. Each is given up after
//! a while, and says what was in the way. In the browser alone.

use super::api::QueueEnter;
use crate::browser::{self, Deadline};
use crate::error::AppError;
use domain::{
    PerformanceId, Refusal,
    queue::{Joined, QueueStatus},
};
use gloo_net::http::{Request, RequestBuilder};
use leptos::server_fn::ServerFn as _;
use serde::de::{DeserializeOwned, IgnoredAny};

/// An answer that takes longer is given up: the next one is as good, and a hanging connection isn't noticed
/// in any other way.
const ANSWER_MAX_MS: u32 = 10_000;
/// Form fields, as the entry takes them with and without JavaScript. A nonce needs no escaping.
const FORM: &str = "application/x-www-form-urlencoded";

/// What is in the way between this page and StarArena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The device has no network.
    Device,
    /// No answer came.
    Silence,
    /// An answer came that helps nobody.
    Fault,
}

impl Trouble {
    /// What it is when no answer came.
    pub(super) fn of_silence() -> Self {
        if browser::has_network() { Self::Silence } else { Self::Device }
    }
}

/// A request without success.
#[derive(Clone, Debug)]
pub(super) struct Failed {
    /// What was in the way.
    pub(super) trouble: Trouble,
    /// The refusal, where it was one.
    pub(super) refusal: Option<AppError>,
    /// How long the server wants to be left alone.
    pub(super) told_ms: Option<u32>,
}

impl Failed {
    fn silence() -> Self {
        Self { trouble: Trouble::of_silence(), refusal: None, told_ms: None }
    }
}

/// The object that all waiting pages poll.
pub(super) async fn status(performance: PerformanceId) -> Result<QueueStatus, Failed> {
    ask(Request::get(&format!("/api/performances/{performance}/queue/status"))).await
}

/// Takes a place, or finds the one that the account has: the same on each of its devices.
pub(super) async fn join(performance: PerformanceId) -> Result<Joined, Failed> {
    ask(Request::post(&format!("/api/performances/{performance}/queue/join"))).await
}

/// Exchanges the place for the right to be inside. The same nonce again is the same entry.
pub(super) async fn enter(performance: PerformanceId, nonce: &str) -> Result<(), Failed> {
    let form = format!("performance={performance}&nonce={nonce}");
    let request = Request::post(QueueEnter::PATH).header("content-type", FORM);
    ask_with::<IgnoredAny>(request, |request| request.body(form)).await.map(|_| ())
}

async fn ask<T: DeserializeOwned>(request: RequestBuilder) -> Result<T, Failed> {
    ask_with(request, RequestBuilder::build).await
}

async fn ask_with<T: DeserializeOwned>(
    request: RequestBuilder,
    built: impl FnOnce(RequestBuilder) -> Result<Request, gloo_net::Error>,
) -> Result<T, Failed> {
    let deadline = Deadline::after(ANSWER_MAX_MS);
    let request = built(request.abort_signal(deadline.signal())).map_err(|_| Failed::silence())?;
    let response = request.send().await.map_err(|_| Failed::silence())?;
    if response.ok() {
        return response.json::<T>().await.map_err(|_| Failed::silence());
    }
    let told = retry_after_ms(response.headers().get("retry-after").as_deref());
    // A proxy in between answers in words of its own.
    let refusal = response.json::<Refusal>().await.ok();
    let told_ms = refusal.as_ref().and_then(|refusal| refusal.retry_after_ms).max(told);
    Err(Failed { trouble: Trouble::Fault, refusal: refusal.map(AppError::from), told_ms })
}

/// Whole seconds, as our server and proxies write them; the other form, a date, would need a clock to trust.
fn retry_after_ms(header: Option<&str>) -> Option<u32> {
    header?.trim().parse::<u32>().ok()?.checked_mul(1_000)
}

#[cfg(test)]
mod tests {
    use super::retry_after_ms;

    #[test]
    fn seconds_are_read_and_nothing_else() {
        assert_eq!(retry_after_ms(Some(" 3 ")), Some(3_000));
        assert_eq!(retry_after_ms(None), None);
        for odd in ["", "-1", "1.5", "Wed, 21 Oct 2026 07:28:00 GMT", "99999999999", "4294968"] {
            assert_eq!(retry_after_ms(Some(odd)), None, "{odd}");
        }
    }
}
