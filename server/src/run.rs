//! Running the parts together: stores, provider, workers, web server; and their orderly end.

mod provider;
mod scraping;
mod server;
mod stores;

pub use provider::ProviderProcess;
pub use server::{ServerProcess, TemporaryFolder};
pub use stores::StoreAccess;

use crate::http;
use anyhow::Context as _;
use app::document::DoorEntry;
use backend::{Backend, Config, SystemClock, Workers};
use leptos::config::{LeptosOptions, get_configuration};
use std::io::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// The venue of the demo's second evening: a real stadium (its licence is beside the file).
pub const DEMO_VENUE: &str = include_str!("../../app/domain/tests/fixtures/pretix-seatmap-canvas-stadium.json");

/// How long the start waits for the seats of the demo.
const WARM_UP_BOUND: Duration = Duration::from_secs(15);

/// Ports that may be chosen ahead of their use: below those from which systems draw the local ports of
/// outgoing connections, so that none is taken between the choice and the use.
const CHOSEN_PORTS: std::ops::Range<u16> = 12_000..32_000;

/// An address on the loopback interface on which nobody listens, for a process that is started next.
/// `draw` spreads the choices of several callers.
///
/// # Errors
/// When every port of the range is taken.
pub fn free_address(draw: u32) -> std::io::Result<SocketAddr> {
    let count = u32::from(CHOSEN_PORTS.end - CHOSEN_PORTS.start);
    let ports = (0..count).filter_map(|step| u16::try_from(draw.wrapping_add(step) % count).ok());
    for port in ports.map(|offset| CHOSEN_PORTS.start + offset) {
        if let Ok(listener) = std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, port)) {
            return listener.local_addr();
        }
    }
    Err(std::io::Error::new(std::io::ErrorKind::AddrInUse, "no port is free"))
}

/// Which parts one process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Web server and workers, and, in development, the provider as a child.
    All,
    /// The web server alone.
    Serve,
    /// The workers alone.
    Worker,
}

/// Where a process listens, and whom it believes.
#[derive(Clone, Debug)]
pub struct Listen {
    /// Where to listen.
    pub address: SocketAddr,
    /// Where scrapers of metrics and probes are answered, whatever the role; none: nowhere but there.
    pub metrics: Option<SocketAddr>,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpAddr>,
}

/// Runs a role until it is told to stop.
///
/// # Errors
/// When a part can't be started: the sentence names it.
pub async fn run(mut config: Config, listen: Listen, role: Role, demo: bool) -> anyhow::Result<()> {
    if demo && !config.is_development() {
        anyhow::bail!("the demo and its sign-ins refuse to start in production");
    }
    let stop = stop_on_signal();
    let listener = match role {
        Role::Worker => None,
        Role::All | Role::Serve => {
            Some(TcpListener::bind(listen.address).await.with_context(|| format!("listening on {}", listen.address))?)
        }
    };
    let scrapers = scraping::listen(listen.metrics).await?;
    if let (Some(listener), true) = (&listener, config.public_url.is_empty()) {
        config.public_url = format!("http://{}", listener.local_addr()?);
    }
    let stores = StoreAccess::open(&config).await?;
    let provider = match role {
        Role::All if config.psp.url.is_empty() && config.is_development() => {
            Some(ProviderProcess::start(&config).await?)
        }
        _ => None,
    };
    if let Some(provider) = &provider {
        config.psp.url.clone_from(&provider.url);
    }
    let listeners = Listeners { web: listener, scrapers };
    let outcome = work(config, &stores, listeners, &listen, role, demo, stop).await;
    if let Some(provider) = provider {
        provider.stop().await;
    }
    stores.close().await?;
    outcome
}

/// What a process listens with.
struct Listeners {
    web: Option<TcpListener>,
    scrapers: Option<TcpListener>,
}

async fn work(
    config: Config,
    stores: &StoreAccess,
    listeners: Listeners,
    listen: &Listen,
    role: Role,
    demo: bool,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let metrics = crate::telemetry::start_metrics()?;
    tokio::spawn(scraping::keep_up(metrics.clone(), stop.clone()));
    let backend = Backend::connect(config, &stores.database_url, &stores.redis_url, Arc::new(SystemClock))
        .await
        .context("opening the stores")?;
    if let Some(listener) = listeners.scrapers {
        let scraped = scraping::Scraped { backend: Arc::clone(&backend), metrics: metrics.clone(), stop: stop.clone() };
        tokio::spawn(scraping::serve(listener, scraped));
    }
    backend.start_serving(stop.clone());
    let workers = (role != Role::Serve).then(|| Workers::start(&backend));
    let demo = if demo { Some(backend.seed_demo(DEMO_VENUE).await.context("seeding the demo")?) } else { None };
    if let Some(demo) = demo.as_ref().filter(|_| workers.is_some()) {
        for id in &demo.performances {
            if !backend.wait_until_warm(*id, WARM_UP_BOUND).await.context("warming the demo up")? {
                tracing::warn!(%id, "the seats of a demo evening are not in place yet");
            }
        }
    }
    match listeners.web {
        Some(listener) => {
            let address = listener.local_addr()?;
            let leptos = site_options()?;
            let state = http::State {
                backend: Arc::clone(&backend),
                door: door_entry(&leptos)?,
                leptos,
                metrics,
                trusted_proxies: Arc::new(listen.trusted_proxies.clone()),
                sockets: http::Sockets::new(backend.config().live),
                stop,
            };
            announce(&format!("listening on http://{address}"), &backend, demo.as_ref())?;
            http::serve(listener, state).await?;
        }
        None => {
            announce("working", &backend, demo.as_ref())?;
            stop.cancelled().await;
        }
    }
    if let Some(workers) = workers {
        workers.stop().await;
    }
    Ok(())
}

/// Says on standard output where this runs, and how to sign in to the demo.
fn announce(first: &str, backend: &Backend, demo: Option<&backend::Demo>) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "stararena {first}")?;
    if let Some(demo) = demo {
        writeln!(out, "\nOpen {}\n\nDemo sign-ins:", backend.config().public_url)?;
        for (what, email, password) in &demo.sign_ins {
            writeln!(out, "  {what:<12} {email:<24} {password}")?;
        }
        writeln!(out, "\nMails arrive at {}/dev/mailbox", backend.config().public_url)?;
    }
    out.flush()
}

/// A token that is cancelled by Ctrl-C or SIGTERM.
fn stop_on_signal() -> CancellationToken {
    let stop = CancellationToken::new();
    let cancelled = stop.clone();
    tokio::spawn(async move {
        let mut terminate = match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(signal) => signal,
            Err(error) => {
                tracing::error!(%error, "SIGTERM can't be caught");
                return;
            }
        };
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
        tracing::info!("winding down");
        cancelled.cancel();
    });
    stop
}

/// Where the files of the small entry for the crowd's pages are: there is one in a release build, none while
/// the build tool watches the sources.
fn door_entry(site: &LeptosOptions) -> anyhow::Result<Option<DoorEntry>> {
    /// The names of its hashed files, beside the program.
    const HASHES: &str = "hash-door.txt";
    let beside = std::env::current_exe()?.parent().map(|folder| folder.join(HASHES));
    let is_built = site.hash_files && beside.is_some_and(|hashes| hashes.exists());
    Ok(is_built.then(|| {
        let mut options = site.clone();
        options.output_name = "door".into();
        options.hash_file = HASHES.into();
        DoorEntry(options)
    }))
}

/// Where the site's files are: as the build tool says, else beside the program.
fn site_options() -> anyhow::Result<LeptosOptions> {
    if std::env::var_os("LEPTOS_OUTPUT_NAME").is_some() {
        return Ok(get_configuration(None).context("reading the LEPTOS_ variables")?.leptos_options);
    }
    let beside: PathBuf = std::env::current_exe()?.parent().map(|dir| dir.join("site")).unwrap_or_default();
    Ok(LeptosOptions::builder()
        .output_name("stararena")
        .site_root(beside.to_string_lossy().into_owned())
        .site_pkg_dir("pkg")
        .hash_files(true)
        .build())
}
