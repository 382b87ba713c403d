//! `stararena psp-control`: makes the sandbox provider misbehave, and does by hand what its people could.
//!
//! Each command is one call of the provider's `/control` routes and prints its answer as JSON.

use super::print;
use anyhow::{Context as _, bail};
use clap::{Subcommand, ValueEnum};
use reqwest::{Method, StatusCode};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Longest wait for an answer: these calls are not slowed down by switches.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);
/// The variable with the key of the calls under /control.
const CONTROL_KEY: &str = "STARARENA_PSP_CONTROL_KEY";

#[derive(clap::Args)]
pub(super) struct PspControlArgs {
    /// Address of the provider
    #[arg(long, env = "STARARENA_PSP_URL", default_value = "http://127.0.0.1:8090")]
    url: String,
    /// Key of the calls under /control; without one, the merchant's key
    #[arg(long, env = CONTROL_KEY, hide_env_values = true)]
    control_key: Option<String>,
    /// The merchant's key
    #[arg(long, env = "STARARENA_PSP_API_KEY", hide_env_values = true, default_value = "sandbox-api-key")]
    api_key: String,
    #[command(subcommand)]
    command: PspControlCommand,
}

#[derive(Subcommand)]
enum PspControlCommand {
    /// List all switches
    Show,
    /// Change the switches that are named; the others stay
    Set {
        /// Such as webhook_drop_permille=100 refund_pending=true seed=7
        #[arg(required = true, value_name = "SWITCH=VALUE", value_parser = assignment)]
        switches: Vec<(String, Value)>,
    },
    /// Put all switches back to their defaults
    Reset,
    /// Deliver again what was dropped, and now what waits
    Flush,
    /// Deliver one event again
    Redeliver {
        /// Its id (evt_…)
        event: String,
    },
    /// Let the bank say yes to a payment, even to one that has expired
    Succeed {
        /// Its id (pay_…)
        payment: String,
    },
    /// Give money back that the merchant did not ask for
    Refund {
        /// Id of the payment (pay_…)
        payment: String,
        /// In minor units; all that is left, if not given
        #[arg(long)]
        amount: Option<i64>,
    },
    /// End a pending refund now, or let one that had succeeded fail
    SettleRefund {
        /// Its id (re_…)
        refund: String,
        /// How it ends
        outcome: RefundOutcome,
    },
    /// Open a dispute over a payment
    Dispute {
        /// Id of the payment (pay_…)
        payment: String,
        /// In minor units; all that is left, if not given
        #[arg(long)]
        amount: Option<i64>,
        /// What the cardholder says: fraudulent, duplicate, product_not_received, …
        #[arg(long, default_value = "fraudulent")]
        reason: String,
    },
    /// Close a dispute
    CloseDispute {
        /// Its id (dp_…)
        dispute: String,
        /// How it ends, as the merchant sees it
        outcome: DisputeOutcome,
    },
    /// Pay out what the day came to until now
    Payout,
    /// Let a payout come back from the bank
    FailPayout {
        /// Its id (po_…)
        payout: String,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum RefundOutcome {
    Succeeded,
    Failed,
}

#[derive(Clone, Copy, ValueEnum)]
enum DisputeOutcome {
    Won,
    Lost,
}

/// `name=value`: a number, `true`, `false` or `null` as such, everything else as text.
fn assignment(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or("SWITCH=VALUE is expected")?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    Ok((name.to_owned(), value))
}

/// One call: its method, path and body.
struct Call {
    method: Method,
    path: String,
    body: Value,
}

impl Call {
    fn new(method: Method, path: &str, body: Value) -> Self {
        Self { method, path: format!("/control/{path}"), body }
    }

    fn post(path: &str, body: Value) -> Self {
        Self::new(Method::POST, path, body)
    }
}

impl From<PspControlCommand> for Call {
    fn from(command: PspControlCommand) -> Self {
        match command {
            PspControlCommand::Show => Self::new(Method::GET, "switches", Value::Null),
            PspControlCommand::Set { switches } => {
                Self::new(Method::PATCH, "switches", Value::Object(Map::from_iter(switches)))
            }
            PspControlCommand::Reset => Self::new(Method::DELETE, "switches", Value::Null),
            PspControlCommand::Flush => Self::post("flush", Value::Null),
            PspControlCommand::Redeliver { event } => Self::post("redeliver", json!({ "event": event })),
            PspControlCommand::Succeed { payment } => Self::post(&format!("payments/{payment}/succeed"), Value::Null),
            PspControlCommand::Refund { payment, amount } => {
                Self::post("refunds", json!({ "payment": payment, "amount": amount }))
            }
            PspControlCommand::SettleRefund { refund, outcome } => {
                let outcome = match outcome {
                    RefundOutcome::Succeeded => "succeeded",
                    RefundOutcome::Failed => "failed",
                };
                Self::post(&format!("refunds/{refund}/settle"), json!({ "outcome": outcome }))
            }
            PspControlCommand::Dispute { payment, amount, reason } => {
                Self::post("disputes", json!({ "payment": payment, "amount": amount, "reason": reason }))
            }
            PspControlCommand::CloseDispute { dispute, outcome } => {
                let outcome = match outcome {
                    DisputeOutcome::Won => "won",
                    DisputeOutcome::Lost => "lost",
                };
                Self::post(&format!("disputes/{dispute}/close"), json!({ "outcome": outcome }))
            }
            PspControlCommand::Payout => Self::post("payouts", Value::Null),
            PspControlCommand::FailPayout { payout } => Self::post(&format!("payouts/{payout}/fail"), Value::Null),
        }
    }
}

pub(super) async fn run(args: PspControlArgs) -> anyhow::Result<()> {
    let PspControlArgs { url, control_key, api_key, command } = args;
    let key = control_key.filter(|key| !key.is_empty()).unwrap_or(api_key);
    let answer = accepted(send(url.trim_end_matches('/'), &key, command.into()).await?)?;
    print(&serde_json::to_string_pretty(&answer)?);
    Ok(())
}

/// Sets all switches of a provider: what is not named goes back to its default.
pub(super) async fn set_all(url: &str, api_key: &str, switches: Value) -> anyhow::Result<()> {
    let key = std::env::var(CONTROL_KEY).ok().filter(|key| !key.is_empty()).unwrap_or_else(|| api_key.to_owned());
    accepted(send(url, &key, Call::new(Method::PUT, "switches", switches)).await?)?;
    Ok(())
}

fn accepted((status, answer): (StatusCode, Value)) -> anyhow::Result<Value> {
    if !status.is_success() {
        let error = &answer["error"];
        let (code, message) = (error["code"].as_str().unwrap_or("unknown"), error["message"].as_str());
        bail!("the provider refused ({status}, {code}): {}", message.unwrap_or("it gave no reason"));
    }
    Ok(answer)
}

async fn send(url: &str, key: &str, call: Call) -> anyhow::Result<(StatusCode, Value)> {
    backend::use_tls();
    let client = reqwest::Client::builder()
        .timeout(REQUEST_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
        .context("making an HTTP client")?;
    let mut request = client.request(call.method, format!("{url}{}", call.path)).bearer_auth(key);
    if !call.body.is_null() {
        request = request.json(&call.body);
    }
    let response = request.send().await.with_context(|| format!("reaching the provider at {url}"))?;
    let status = response.status();
    let body = response.bytes().await.context("reading the provider's answer")?;
    let answer = serde_json::from_slice(&body)
        .with_context(|| format!("{url} answered {status} and no JSON: is it the sandbox provider?"))?;
    Ok((status, answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_numbers_truths_or_words() {
        let value = |text| assignment(text).map(|(_, value)| value);
        assert_eq!(assignment("webhooks=drop"), Ok(("webhooks".to_owned(), json!("drop"))));
        assert_eq!(value("fail_permille=50"), Ok(json!(50)));
        assert_eq!(value("refund_fail=true"), Ok(json!(true)));
        assert_eq!(value("seed=null"), Ok(Value::Null));
        assert!(value("webhooks").is_err() && value("=1").is_err());
    }

    #[test]
    fn commands_are_calls_of_the_control_routes() {
        let set = Call::from(PspControlCommand::Set { switches: vec![("seed".to_owned(), json!(7))] });
        assert_eq!((set.method, set.path.as_str(), set.body), (Method::PATCH, "/control/switches", json!({"seed": 7})));
        let close = PspControlCommand::CloseDispute { dispute: "dp_1".to_owned(), outcome: DisputeOutcome::Won };
        let close = Call::from(close);
        assert_eq!((close.path.as_str(), close.body), ("/control/disputes/dp_1/close", json!({"outcome": "won"})));
    }
}
