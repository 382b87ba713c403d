//! Metrics and health at an address of their own, for every role: scrapers and probes of other machines come here,
//! never by the address that fans use. A process without a web server is heard nowhere else.

use anyhow::Context as _;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use backend::Backend;
use metrics_exporter_prometheus::PrometheusHandle;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// How often what was measured is folded away.
const KEEP_UP_EVERY: Duration = Duration::from_secs(5);

/// What its handlers may use.
#[derive(Clone)]
pub(super) struct Scraped {
    pub(super) backend: Arc<Backend>,
    pub(super) metrics: PrometheusHandle,
    /// Cancelled when the process winds down.
    pub(super) stop: CancellationToken,
}

/// Listens on an address, if there is one.
pub(super) async fn listen(address: Option<SocketAddr>) -> anyhow::Result<Option<TcpListener>> {
    let Some(address) = address else { return Ok(None) };
    let listener =
        TcpListener::bind(address).await.with_context(|| format!("listening on {address} for scrapers of metrics"))?;
    Ok(Some(listener))
}

/// Answers scrapers and probes until the process winds down.
pub(super) async fn serve(listener: TcpListener, scraped: Scraped) {
    let until = scraped.stop.clone().cancelled_owned();
    let router = Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .with_state(scraped);
    if let Err(error) = axum::serve(listener, router).with_graceful_shutdown(until).await {
        tracing::error!(%error, "scrapers of metrics are answered no more");
    }
}

/// Folds away what was measured, also where nobody scrapes: until then each sample takes its memory.
pub(super) async fn keep_up(metrics: PrometheusHandle, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(KEEP_UP_EVERY) => metrics.run_upkeep(),
            () = stop.cancelled() => return,
        }
    }
}

async fn readyz(State(scraped): State<Scraped>) -> Response {
    if scraped.stop.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, "winding down").into_response();
    }
    match scraped.backend.ready().await {
        Ok(()) => "ready".into_response(),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.refusal().message).into_response(),
    }
}

async fn metrics(State(scraped): State<Scraped>) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], scraped.metrics.render()).into_response()
}
