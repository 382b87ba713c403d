//! Logs and metrics. Logs go to standard error, one event a line, without personal data: accounts,
//! orders and performances by id, never addresses or names.

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use std::io::IsTerminal as _;
use tracing_subscriber::EnvFilter;

/// Bounds of the time histograms, in seconds: from a fast script to an outage.
const SECONDS: &[f64] = &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0];

/// Levels unless set otherwise: the database's notices about steps that were done before are no news.
const DEFAULT_LEVELS: &str = "info,sqlx=warn";

/// Starts logging: `STARARENA_LOG` sets levels (as `info,backend=debug`), `STARARENA_LOG_FORMAT=json`
/// writes JSON.
pub fn start_logs() {
    let filter = std::env::var("STARARENA_LOG").unwrap_or_else(|_| DEFAULT_LEVELS.to_owned());
    let builder = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new(DEFAULT_LEVELS)))
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    // A second start (tests) keeps the first.
    let started = if std::env::var("STARARENA_LOG_FORMAT").is_ok_and(|format| format == "json") {
        builder.json().try_init()
    } else {
        builder.compact().try_init()
    };
    drop(started);
}

/// Starts collecting metrics; the handle renders them in Prometheus's text form.
///
/// # Errors
/// When another recorder was installed before.
pub fn start_metrics() -> anyhow::Result<PrometheusHandle> {
    Ok(PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), SECONDS)?
        .install_recorder()?)
}
