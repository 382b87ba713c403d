//! The sandbox payment provider: an outside system that happens to live in this program.
//!
//! It owns payments with manual capture, a hosted page, signed webhooks, refunds, disputes, a settlement
//! by day, and switches that make it misbehave. Always a process of its own with storage of its own: it
//! shares no code, no database and no memory with the shop, which knows it by HTTP alone.
//!
//! **Invariant:** nothing here depends on `backend`, `app` or `domain`.

mod api;
mod auth;
mod chance;
mod control;
mod currency;
mod disputes;
mod faults;
mod hosted;
mod idempotency;
mod input;
mod ledger;
mod page;
mod payment;
mod payouts;
mod refunds;
mod refusal;
mod settlement;
/// Signing of webhooks, for the provider and for whoever imitates it in a test.
pub mod signature;
mod steps;
mod store;
mod switches;
#[cfg(test)]
mod tests;
mod webhook;

use std::fmt;
use std::future::Future;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use tokio::net::TcpListener;
use tokio::sync::{Mutex, Semaphore, watch};
use tokio::task::JoinHandle;
use tower_http::set_header::SetResponseHeaderLayer;

use refusal::Refusal;
use store::Store;
use switches::{InForce, Switches};
use webhook::{Dispatcher, Reload};

/// Largest request body, in bytes.
const BODY_MAX_BYTES: usize = 64 * 1024;
/// Requests under way at once; more are asked to come back.
const REQUESTS_MAX: usize = 4096;
/// The longest that one request may take: the longest delays of the switches, before and after its work,
/// and some more.
const REQUEST_TIMEOUT: Duration = Duration::from_millis(2 * switches::DELAY_MAX_MS + 15_000);
/// How often deadlines are looked at.
const SWEEP_INTERVAL: Duration = Duration::from_millis(250);
/// How long open connections may finish at the end.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

/// What the provider needs to know; also its command line.
#[derive(Clone, clap::Args)]
pub struct PspConfig {
    /// Address to listen on
    #[arg(long, env = "STARARENA_PSP_LISTEN", default_value = "127.0.0.1:8090")]
    pub listen: SocketAddr,
    /// Folder of the provider's own database; made if missing
    #[arg(long, env = "STARARENA_PSP_DATA_DIR", default_value = "data/psp")]
    pub data_dir: PathBuf,
    /// Address under which browsers reach the provider, if not the one it listens on
    #[arg(long, env = "STARARENA_PSP_PUBLIC_URL")]
    pub public_url: Option<String>,
    /// Key that the merchant's calls carry as a bearer token
    #[arg(long, env = "STARARENA_PSP_API_KEY", hide_env_values = true, default_value = "sandbox-api-key")]
    pub api_key: String,
    /// Key of the calls under /control; without one, the merchant's key opens them too
    #[arg(long, env = "STARARENA_PSP_CONTROL_KEY", hide_env_values = true)]
    pub control_key: Option<String>,
    /// Address that receives webhooks; without one, events wait until there is
    #[arg(long, env = "STARARENA_PSP_WEBHOOK_URL")]
    pub webhook_url: Option<String>,
    /// Secret that signs webhooks; while it changes, the new and the old one, separated by a comma
    #[arg(
        long,
        env = "STARARENA_PSP_WEBHOOK_SECRET",
        hide_env_values = true,
        default_value = "sandbox-webhook-secret"
    )]
    pub webhook_secret: String,
    /// The merchant's name, on pages and in every payment
    #[arg(long, env = "STARARENA_PSP_MERCHANT", default_value = "StarArena")]
    pub merchant: String,
}

impl PspConfig {
    fn control_key(&self) -> &str {
        self.control_key.as_deref().filter(|key| !key.is_empty()).unwrap_or(&self.api_key)
    }
}

impl fmt::Debug for PspConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PspConfig")
            .field("listen", &self.listen)
            .field("data_dir", &self.data_dir)
            .field("public_url", &self.public_url)
            .field("webhook_url", &self.webhook_url)
            .field("merchant", &self.merchant)
            .finish_non_exhaustive()
    }
}

/// What all requests share.
struct Inner {
    config: PspConfig,
    store: Store,
    /// Read by every call, changed by hand.
    switches: RwLock<InForce>,
    /// Held by whoever changes the switches.
    switching: Mutex<()>,
    /// How hosted pages are addressed, without a slash at its end.
    base_url: String,
    /// Set when the table of deliveries changed behind the dispatcher's back.
    reload: Reload,
    /// Bounds the webhook requests under way, copies included.
    requests: Semaphore,
    /// Bounds the calls under way.
    calls: Semaphore,
}

impl Inner {
    fn in_force(&self) -> InForce {
        self.switches.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_switches(&self, switches: Switches) {
        *self.switches.write().unwrap_or_else(PoisonError::into_inner) = InForce::new(switches);
    }
}

/// The provider as a value that can be started.
#[derive(Debug)]
pub struct Psp;

impl Psp {
    /// Opens the storage, listens, and goes on with deliveries that a former process left.
    pub async fn start(config: PspConfig) -> anyhow::Result<Running> {
        anyhow::ensure!(!config.api_key.is_empty(), "the payment provider needs an API key");
        anyhow::ensure!(
            config.webhook_secret.split(',').any(|secret| !secret.trim().is_empty()),
            "the payment provider needs a webhook secret"
        );
        let dir = config.data_dir.clone();
        let store = tokio::task::spawn_blocking(move || {
            std::fs::create_dir_all(&dir).with_context(|| format!("can't make the folder {}", dir.display()))?;
            Store::open(&dir).with_context(|| format!("can't open the storage in {}", dir.display()))
        });
        let store = store.await.context("opening the storage panicked")??;
        let switches = Switches::load(&store).await.context("can't read the switches")?;
        let listener =
            TcpListener::bind(config.listen).await.with_context(|| format!("can't listen on {}", config.listen))?;
        let addr = listener.local_addr().context("the listener has no address")?;
        let base_url = match &config.public_url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => format!("http://{addr}"),
        };
        let webhook_url = config.webhook_url.clone().filter(|url| !url.is_empty());
        let inner = Arc::new(Inner {
            config,
            store,
            switches: RwLock::new(InForce::new(switches)),
            switching: Mutex::new(()),
            base_url,
            reload: Reload::default(),
            requests: Semaphore::new(webhook::REQUESTS_MAX),
            calls: Semaphore::new(REQUESTS_MAX),
        });

        let (stop, stopped) = watch::channel(false);
        let mut tasks = vec![tokio::spawn(sweep(Arc::clone(&inner), stopped.clone()))];
        if let Some(url) = webhook_url {
            let dispatcher = Dispatcher::new(Arc::clone(&inner), url).context("can't make an HTTP client")?;
            tasks.push(tokio::spawn(dispatcher.run(stopped.clone())));
        }
        let server = tokio::spawn(serve(listener, router(&inner), stopped));
        Ok(Running { addr, inner, stop, server, tasks })
    }
}

/// A provider at work. Dropping it leaves it running; [`Running::stop`] ends it.
pub struct Running {
    /// The address it listens on.
    pub addr: SocketAddr,
    inner: Arc<Inner>,
    stop: watch::Sender<bool>,
    server: JoinHandle<std::io::Result<()>>,
    /// The sweep and the dispatcher.
    tasks: Vec<JoinHandle<()>>,
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("addr", &self.addr).finish_non_exhaustive()
    }
}

impl Running {
    /// Finishes what is under way, within a few seconds, and closes the storage.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        let server = self.server.abort_handle();
        match tokio::time::timeout(SHUTDOWN_GRACE, self.server).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => tracing::error!(error = &error as &dyn std::error::Error, "listening failed"),
            Ok(Err(error)) => tracing::error!(error = &error as &dyn std::error::Error, "the server panicked"),
            Err(_) => server.abort(),
        }
        for task in self.tasks {
            if let Err(error) = task.await {
                tracing::error!(error = &error as &dyn std::error::Error, "a task of the provider panicked");
            }
        }
        self.inner.store.close().await;
    }
}

/// Runs the provider until `shutdown` is done.
pub async fn run(config: PspConfig, shutdown: impl Future) -> anyhow::Result<()> {
    let mut running = Psp::start(config).await?;
    let addr = running.addr;
    tracing::info!("psp listening on http://{addr}");
    // Scripts wait for this line; a closed output is no reason to stop.
    writeln!(std::io::stdout(), "psp listening on http://{addr}").ok();
    tokio::select! {
        _ = shutdown => {}
        _ = &mut running.server => anyhow::bail!("the payment provider's listener ended by itself"),
    }
    running.stop().await;
    Ok(())
}

fn router(inner: &Arc<Inner>) -> Router {
    let merchant = api::routes()
        .layer(from_fn_with_state(Arc::clone(inner), faults::apply))
        .layer(from_fn_with_state(Arc::clone(inner), auth::merchant));
    let operator = control::routes().layer(from_fn_with_state(Arc::clone(inner), auth::operator));
    Router::new()
        .merge(merchant)
        .merge(operator)
        .merge(hosted::routes())
        .route("/healthz", get(health))
        .fallback(|| async { Refusal::not_found("route") })
        .method_not_allowed_fallback(|| async {
            Refusal::of(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "this route takes another method")
        })
        .layer(DefaultBodyLimit::max(BODY_MAX_BYTES))
        .layer(from_fn_with_state(Arc::clone(inner), bound))
        .layer(SetResponseHeaderLayer::overriding(
            axum::http::header::SERVER,
            HeaderValue::from_static("starpay-sandbox"),
        ))
        .with_state(Arc::clone(inner))
}

async fn serve(listener: TcpListener, router: Router, mut stopped: watch::Receiver<bool>) -> std::io::Result<()> {
    let shutdown = async move {
        // A dropped sender means that nobody can stop it any more: it serves on.
        if stopped.wait_for(|stopped| *stopped).await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    axum::serve(listener, router).with_graceful_shutdown(shutdown).await
}

/// Bounds how many requests are under way, and how long each may take.
async fn bound(State(psp): State<Arc<Inner>>, request: Request, next: Next) -> Response {
    let Ok(_permit) = psp.calls.try_acquire() else {
        return Refusal::of(StatusCode::SERVICE_UNAVAILABLE, "overloaded", "too many calls at once").into_response();
    };
    match tokio::time::timeout(REQUEST_TIMEOUT, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Refusal::of(StatusCode::REQUEST_TIMEOUT, "timeout", "the request took too long").into_response(),
    }
}

async fn health(State(psp): State<Arc<Inner>>) -> Result<Response, Refusal> {
    psp.store.read(|_| Ok(())).await?;
    Ok(Json(serde_json::json!({"status": "ok"})).into_response())
}

/// Ends payments whose time is over and takes the steps that were planned, until told to stop.
async fn sweep(psp: Arc<Inner>, mut stopped: watch::Receiver<bool>) {
    let mut ticks = tokio::time::interval(SWEEP_INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = stopped.wait_for(|stopped| *stopped) => return,
            _ = ticks.tick() => {}
        }
        if let Err(error) = sweep_once(&psp).await {
            tracing::error!(error = &error as &dyn std::error::Error, "the sweep failed");
        }
    }
}

async fn sweep_once(psp: &Inner) -> Result<(), store::StoreError> {
    if !psp.store.read(|txn| ledger::sweep_is_due(txn, now_ms())).await? {
        return Ok(());
    }
    while psp.store.write(|tables| ledger::sweep(tables, now_ms())).await? {}
    Ok(())
}

/// Milliseconds since 1970; the one place of this provider that looks at a clock.
fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
