//! The web server: routes, the edge around them, and an accept loop with bounds of its own.

mod documents;
mod downloads;
mod edge;
mod errors;
mod hot;
mod idempotency;
mod listen;
mod maps;
mod plain;
mod shared;
mod socket;
mod status;
mod tickets;
mod uploads;

pub use listen::serve;
pub use socket::Sockets;

use app::document::DoorEntry;
use app::{App, shell};
use axum::Router;
use axum::extract::FromRef;
use axum::routing::{get, post};
use backend::Backend;
use leptos::config::LeptosOptions;
use leptos::prelude::provide_context;
use leptos_axum::{LeptosRoutes as _, generate_route_list};
use metrics_exporter_prometheus::PrometheusHandle;
use std::net::IpAddr;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Largest request body: the largest form has a description of a few kilobytes.
pub const BODY_MAX_BYTES: usize = 64 * 1024;

/// What every handler may use.
#[derive(Clone)]
pub struct State {
    /// The use-cases.
    pub backend: Arc<Backend>,
    /// Where the site's files are.
    pub leptos: LeptosOptions,
    /// Where the files of the small entry are, if the site was built with one.
    pub door: Option<DoorEntry>,
    /// Renders the metrics.
    pub metrics: PrometheusHandle,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Arc<Vec<IpAddr>>,
    /// The live maps that are open.
    pub sockets: Arc<Sockets>,
    /// Cancelled when the process winds down: sockets close, readiness ends.
    pub stop: CancellationToken,
}

impl FromRef<State> for LeptosOptions {
    fn from_ref(state: &State) -> Self {
        state.leptos.clone()
    }
}

/// All routes behind the edge.
fn router(state: State) -> Router {
    let options = state.leptos.clone();
    let backend = Arc::clone(&state.backend);
    let door = state.door.clone();
    let context = move || {
        provide_context(Arc::clone(&backend));
        if let Some(door) = &door {
            provide_context(door.clone());
        }
        app::context::provide_nonce();
    };
    Router::new()
        .route("/healthz", get(plain::healthz))
        .route("/readyz", get(plain::readyz))
        .route("/metrics", get(plain::metrics))
        .route("/api/server-time", get(plain::server_time))
        .route("/api/performances/{id}/queue/draw", get(plain::draw_facts))
        .route("/api/performances/{id}/queue/arrivals", get(plain::arrivals))
        .route("/webhooks/{provider}", post(plain::webhook))
        .route("/maps/{name}", get(maps::file))
        .route("/ws/performances/{id}", get(socket::upgrade))
        .merge(documents::routes())
        .merge(tickets::routes())
        .merge(uploads::routes())
        .merge(downloads::routes())
        .leptos_routes_with_context(&state, generate_route_list(App), context.clone(), {
            let options = options.clone();
            move || shell(options.clone())
        })
        .fallback(leptos_axum::file_and_error_handler_with_context::<State, _>(context, shell))
        // Inside of the edge, which says who calls.
        .layer(axum::middleware::from_fn_with_state(state.clone(), idempotency::keyed))
        .layer(axum::middleware::from_fn_with_state(state.clone(), edge::edge))
        // A page that is kept has been through the edge.
        .layer(axum::middleware::from_fn_with_state(Arc::new(shared::Pages::default()), shared::shared))
        // Routes that are added behind a layer are outside of it.
        .merge(hot::routes())
        .with_state(state)
}
