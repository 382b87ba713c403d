//! Memory of processes, as Linux counts it; and of a whole installation while nobody buys.

use super::Context;
use super::figure::{Budget, Figure};
use super::house;
use anyhow::Context as _;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

/// How long the installation rests before it is looked at.
const REST: Duration = Duration::from_secs(5);
/// The budget, in MB of 1,000,000 bytes.
const BUDGET_MB: f64 = 200.0;
const MB: f64 = 1_000_000.0;

pub(super) async fn measure(context: Arc<Context>) -> anyhow::Result<Vec<Figure>> {
    house::within(&context, true, async |house| {
        let id = house.sale(context.size(20_000, 1_000)).await?;
        house.warm(id).await?;
        // Somebody has looked at the queue, so that all of the sale's state is there.
        let mut line = super::load::Line::open(house.address()?, 0).await?;
        let request = super::load::get(house.address()?, &format!("/api/performances/{id}/queue/status"));
        line.call(&request).await?;
        // What the benchmark itself has open is no part of the installation.
        house.bench.hang_up().await;
        tokio::time::sleep(context.size(REST, Duration::from_millis(200))).await;
        let server = house.server.as_ref().and_then(crate::run::ServerProcess::pid).context("the server has ended")?;
        let (postgres, redis) = house.stores.pids().await.context("the stores are not this process's own")?;
        let server = share(server)?;
        let postgres = family(postgres)?;
        let redis = share(redis)?;
        let total = Figure::new("memory.total", (server + postgres + redis) / MB, "MB");
        Ok(vec![
            Figure::new("memory.server_and_worker", server / MB, "MB"),
            Figure::new("memory.postgres", postgres / MB, "MB"),
            Figure::new("memory.redis", redis / MB, "MB"),
            total.within(Budget::AtMost(BUDGET_MB)),
        ])
    })
    .await
}

/// Resident memory of a process, in bytes.
pub(crate) fn resident(pid: u32) -> anyhow::Result<f64> {
    field(&format!("/proc/{pid}/status"), "VmRSS:")
}

/// A process's own memory and its share of what it has in common with others, in bytes: the shared
/// buffers of Postgres are in each of its processes, and count once.
fn share(pid: u32) -> anyhow::Result<f64> {
    field(&format!("/proc/{pid}/smaps_rollup"), "Pss:")
}

/// The shares of a process and of its children.
fn family(pid: u32) -> anyhow::Result<f64> {
    let mut sum = share(pid)?;
    for entry in fs::read_dir("/proc")?.flatten() {
        let Some(child) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let Ok(status) = fs::read_to_string(entry.path().join("status")) else { continue };
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).map(str::trim);
        if parent == Some(pid.to_string().as_str()) {
            // A child that ended meanwhile has nothing any more.
            sum += share(child).unwrap_or(0.0);
        }
    }
    Ok(sum)
}

/// A line such as `VmRSS:   1234 kB`, in bytes.
fn field(path: &str, name: &str) -> anyhow::Result<f64> {
    let text = fs::read_to_string(path).with_context(|| format!("reading {path}: memory is counted on Linux alone"))?;
    let line =
        text.lines().find_map(|line| line.strip_prefix(name)).with_context(|| format!("{path} has no {name}"))?;
    let kib: f64 = line.trim().trim_end_matches(" kB").trim().parse().with_context(|| format!("{name} in {path}"))?;
    Ok(kib * 1_024.0)
}
