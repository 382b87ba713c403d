//! Trouble at the payment provider while fans shop: what is made to fail, and how long payments take to end once
//! the provider is well again.

use super::super::psp_control;
use backend::Backend;
use domain::PerformanceId;
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt;
use std::time::{Duration, Instant};

/// By then every payment has ended, counted from the moment at which the provider is well again (I2).
const BOUND: Duration = Duration::from_secs(120);
/// How often payments are looked at meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Calls of a thousand that a flaky provider fails.
const FLAKY_PERMILLE: u32 = 333;

/// Settings of a server in trouble: payments that nobody goes on with are ended by their deadline, which is short
/// enough that they, too, end within the bound.
pub(super) const SETTINGS: [(&str, &str); 2] =
    [("STARARENA_PROVIDER_DEADLINE_MS", "45000"), ("STARARENA_PROVIDER_GRACE_MS", "5000")];

/// What becomes of webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Webhooks {
    /// They are delivered.
    Deliver,
    /// All of them are lost, also after the run.
    Drop,
}

/// How the provider is while fans shop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mood {
    /// It answers.
    Well,
    /// A third of its calls fail.
    Flaky,
}

/// What is made to fail, and where.
pub(super) struct Trouble {
    webhooks: Webhooks,
    provider: Mood,
    url: String,
    api_key: String,
}

/// How the payments came to their ends after that.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Recovery {
    webhooks: Webhooks,
    provider: Mood,
    /// Orders whose payment, tickets or refund had not ended when the provider was well again.
    unsettled: i64,
    /// Those that had not ended at the bound.
    unsettled_at_bound: i64,
    /// Seconds until all had ended; none where that took longer than the bound.
    final_after_s: Option<f64>,
    /// The bound, in seconds.
    bound_s: u64,
}

impl Trouble {
    /// What was asked for, at a provider; none where nothing is to fail.
    pub(super) fn of((webhooks, provider): (Webhooks, Mood), url: &str, api_key: &str) -> Option<Self> {
        let fails = webhooks == Webhooks::Drop || provider == Mood::Flaky;
        fails.then(|| Self { webhooks, provider, url: url.to_owned(), api_key: api_key.to_owned() })
    }

    /// The switches of the provider in a mood.
    fn switches(&self, mood: Mood) -> Value {
        let fail_permille = if mood == Mood::Flaky { FLAKY_PERMILLE } else { 0 };
        json!({ "webhooks": self.webhooks, "fail_permille": fail_permille })
    }

    /// Makes it fail.
    pub(super) async fn begin(&self) -> anyhow::Result<()> {
        psp_control::set_all(&self.url, &self.api_key, self.switches(self.provider)).await
    }

    /// Makes the provider well again, without bringing any webhook back, and waits until nothing is unsettled, or
    /// the bound is reached.
    pub(super) async fn end(&self, backend: &Backend, performance: PerformanceId) -> anyhow::Result<Recovery> {
        psp_control::set_all(&self.url, &self.api_key, self.switches(Mood::Well)).await?;
        let well = Instant::now();
        let first = backend.unsettled(performance).await?;
        let mut left = first;
        while left > 0 && well.elapsed() < BOUND {
            tokio::time::sleep(LOOK_EVERY).await;
            left = backend.unsettled(performance).await?;
        }
        let after_s = (well.elapsed().as_secs_f64() * 10.0).round() / 10.0;
        Ok(Recovery {
            webhooks: self.webhooks,
            provider: self.provider,
            unsettled: first,
            unsettled_at_bound: left,
            final_after_s: (left == 0).then_some(after_s),
            bound_s: BOUND.as_secs(),
        })
    }
}

impl Recovery {
    /// What of I2 did not hold.
    pub(super) fn breach(&self) -> Option<String> {
        (self.unsettled_at_bound > 0).then(|| {
            format!(
                "I2: {} payments had not ended {} s after the provider was well again",
                self.unsettled_at_bound, self.bound_s
            )
        })
    }
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { unsettled, unsettled_at_bound, bound_s, .. } = self;
        match self.final_after_s {
            Some(after_s) => write!(
                f,
                "ok: {unsettled} payments were open when the provider was well again, all had ended {after_s} s later (bound {bound_s} s)"
            ),
            None => write!(
                f,
                "wrong: {unsettled_at_bound} of {unsettled} payments had not ended {bound_s} s after the provider was well again"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_trouble_nothing_is_switched_and_with_it_webhooks_stay_lost() {
        let trouble = |webhooks, provider| Trouble::of((webhooks, provider), "http://127.0.0.1:1", "key");
        assert!(trouble(Webhooks::Deliver, Mood::Well).is_none());
        let both = trouble(Webhooks::Drop, Mood::Flaky).unwrap();
        assert_eq!(both.switches(Mood::Flaky), json!({ "webhooks": "drop", "fail_permille": 333 }));
        assert_eq!(both.switches(Mood::Well), json!({ "webhooks": "drop", "fail_permille": 0 }));
        let flaky = trouble(Webhooks::Deliver, Mood::Flaky).unwrap();
        assert_eq!(flaky.switches(Mood::Flaky), json!({ "webhooks": "deliver", "fail_permille": 333 }));
    }

    #[test]
    fn payments_that_are_open_at_the_bound_are_a_breach() {
        let recovery = |left, after_s| Recovery {
            webhooks: Webhooks::Drop,
            provider: Mood::Flaky,
            unsettled: 7,
            unsettled_at_bound: left,
            final_after_s: after_s,
            bound_s: 120,
        };
        let (good, bad) = (recovery(0, Some(31.5)), recovery(2, None));
        assert_eq!(good.breach(), None);
        assert!(good.to_string().starts_with("ok: 7 payments") && good.to_string().contains("31.5 s later"));
        assert!(bad.breach().unwrap().starts_with("I2: 2 payments"));
        assert!(bad.to_string().starts_with("wrong: 2 of 7"));
    }
}
