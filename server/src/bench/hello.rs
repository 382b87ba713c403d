//! Requests a second: a bare application of two lines, and the queue's polled status beside it.

use super::figure::{Budget, Figure, ms, quantile_ms};
use super::load::{Loaded, Source, always, closed, get};
use super::{Context, house};
use anyhow::Context as _;
use axum::Router;
use axum::routing;
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};

/// Lines of the load: enough that the server always has something to do.
const CONNECTIONS: usize = 64;
/// How often both are measured in turns, so that a slow moment of the machine meets both.
const ROUNDS: u32 = 3;
/// How long the bare application may take to listen.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// The bare application, on a free port that it prints, until `until`.
///
/// # Errors
/// When no port can be had.
pub async fn serve(until: impl Future<Output = ()> + Send + 'static, print: fn(&str)) -> anyhow::Result<()> {
    let listener = tokio::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).await?;
    print(&format!("listening on {}", listener.local_addr()?));
    let router = Router::new().route("/", routing::get(|| async { "hello" }));
    axum::serve(listener, router).with_graceful_shutdown(until).await?;
    Ok(())
}

/// The bare application as a process of its own; it ends when its standard input closes.
pub(crate) struct Hello {
    pub(crate) address: SocketAddr,
    child: Child,
    stdin: ChildStdin,
}

impl Hello {
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["bench", "--hello"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .context("starting the bare application")?;
        let stdin = child.stdin.take().context("the bare application has no standard input")?;
        let stdout = child.stdout.take().context("the bare application has no standard output")?;
        let mut lines = BufReader::new(stdout).lines();
        let line = tokio::time::timeout(START_TIMEOUT, lines.next_line())
            .await
            .context("the bare application did not listen in time")??
            .context("the bare application ended before it listened")?;
        let address = line.rsplit(' ').next().unwrap_or_default().parse().context("its address")?;
        Ok(Self { address, child, stdin })
    }

    pub(crate) async fn stop(mut self) {
        drop(self.stdin);
        // It has nothing to lose: whoever doesn't end by itself is ended.
        if tokio::time::timeout(Duration::from_secs(2), self.child.wait()).await.is_err() {
            drop(self.child.kill().await);
        }
    }
}

pub(super) async fn measure(context: Arc<Context>) -> anyhow::Result<Vec<Figure>> {
    let hello = Hello::start().await?;
    let outcome = house::within(&context, true, async |house| {
        let id = house.sale(context.size(20_000, 1_000)).await?;
        house.warm(id).await?;
        let address = house.address()?;
        let path = format!("/api/performances/{id}/queue/status");
        both(&context, (hello.address, "/"), (address, &path)).await
    })
    .await;
    hello.stop().await;
    let [bare, status] = outcome?;
    let latency = |name: &str, quantile| Figure::new(name, quantile_ms(&status.latencies, quantile), "ms");
    Ok(vec![
        Figure::new("hello.rate", bare.rate(), "requests/s"),
        Figure::new("status.rate", status.rate(), "requests/s").beside(bare.rate()).within(Budget::Share(0.8)),
        latency("status.p50", 0.5).beside(quantile_ms(&bare.latencies, 0.5)),
        latency("status.p99", 0.99).beside(quantile_ms(&bare.latencies, 0.99)),
    ])
}

/// Loads both in turns.
async fn both(context: &Context, first: (SocketAddr, &str), second: (SocketAddr, &str)) -> anyhow::Result<[Loaded; 2]> {
    let connections = context.size(CONNECTIONS, 4);
    let requests: [(SocketAddr, Source); 2] = [first, second].map(|(at, path)| (at, always(get(at, path))));
    let mut sums: [Option<Loaded>; 2] = [None, None];
    let started = Instant::now();
    for _ in 0..ROUNDS {
        for (sum, (address, source)) in sums.iter_mut().zip(&requests) {
            let part = closed(*address, connections, Arc::clone(source), context.load / ROUNDS).await?;
            match sum {
                Some(sum) => {
                    sum.add(&part);
                    sum.elapsed += part.elapsed;
                }
                None => *sum = Some(part),
            }
        }
    }
    tracing::debug!(took_ms = ms(started.elapsed()), "both were loaded");
    let [Some(first), Some(second)] = sums else { anyhow::bail!("nothing was loaded") };
    first.expect(&[])?;
    second.expect(&[])?;
    Ok([first, second])
}
