//! `stararena rush`: starts what a simulated on-sale needs, lives it, audits the stores, reports.

use super::{print, tell};
use crate::run::{ServerProcess, StoreAccess, TemporaryFolder};
use crate::rush::{self, FanLogin, Report, RushConfig, StandingArea};
use anyhow::Context as _;
use backend::{Backend, Config, SystemClock};
use domain::PerformanceId;
use domain::venue::generate;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Length of a visit in milliseconds: short, so that the slots of fans who walked away, and keep theirs
/// until it ends, return within the run.
const VISIT_TTL_MS: &str = "20000";

#[derive(clap::Args)]
pub(super) struct RushArgs {
    /// How many fans
    #[arg(long, default_value_t = 2_000)]
    fans: usize,
    /// How many seats
    #[arg(long, default_value_t = 2_000)]
    seats: u32,
    /// Drive a running installation; its stores are found as every command finds them
    #[arg(long)]
    url: Option<String>,
    /// Seconds over which the fans join
    #[arg(long, default_value_t = 5.0)]
    join_seconds: f64,
    /// Most shoppers inside at once
    #[arg(long, default_value_t = 400)]
    shoppers_max: u32,
    /// Places released a minute
    #[arg(long, default_value_t = 6_000)]
    release_per_min: u32,
    /// Length of a hold in seconds: short, so that abandoned seats return within the run
    #[arg(long, default_value_t = 20)]
    hold_ttl_s: u32,
    /// Longest run in seconds
    #[arg(long, default_value_t = 240)]
    limit_s: u64,
    /// All choices of the fans follow from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Stop at the door: joins and polls only
    #[arg(long)]
    queue_only: bool,
    /// Write every operation of every fan to this file
    #[arg(long)]
    journal: Option<PathBuf>,
}

pub(super) async fn run(args: RushArgs) -> anyhow::Result<ExitCode> {
    let mut config = Config::from_env()?;
    if !config.is_development() {
        anyhow::bail!("a simulated on-sale refuses to start in production");
    }
    let folder = if args.url.is_some() { None } else { Some(TemporaryFolder::new("rush")?) };
    if let Some(folder) = &folder {
        config.data_dir = folder.path().to_owned();
        config.database_url = None;
        config.redis_url = None;
    }
    let stores = StoreAccess::open(&config).await?;
    let outcome = run_on(&args, config, &stores).await;
    stores.close().await?;
    drop(folder);
    // Printed when everything has stopped: nothing comes after it.
    let report = outcome?;
    print(&serde_json::to_string(&report)?);
    Ok(if report.breaches.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn run_on(args: &RushArgs, mut config: Config, stores: &StoreAccess) -> anyhow::Result<Report> {
    let server = match &args.url {
        Some(_) => None,
        None => Some(ServerProcess::start(&config, stores, &[("STARARENA_VISIT_TTL_MS", VISIT_TTL_MS)]).await?),
    };
    let url = match (&server, &args.url) {
        (Some(server), _) => server.url.clone(),
        (None, Some(url)) => url.trim_end_matches('/').to_owned(),
        (None, None) => anyhow::bail!("there is no server to drive"),
    };
    config.public_url.clone_from(&url);
    let outcome = async {
        let backend = Backend::connect(config, &stores.database_url, &stores.redis_url, Arc::new(SystemClock))
            .await
            .context("opening the stores")?;
        drive(args, &backend, url).await
    }
    .await;
    if let Some(server) = server {
        server.stop().await;
    }
    outcome
}

async fn drive(args: &RushArgs, backend: &Arc<Backend>, url: String) -> anyhow::Result<Report> {
    tell(&format!("seeding {} fans and {} seats", args.fans, args.seats));
    let plan = generate::standing_arena(args.seats, "Rush Arena");
    let areas = StandingArea::of(&plan);
    let performance: PerformanceId = backend
        .seed_sale(plan, "Rush Arena", |sale| {
            sale.shoppers_max = args.shoppers_max;
            sale.release_per_min = args.release_per_min;
            sale.hold_ttl_ms = i64::from(args.hold_ttl_s) * 1_000;
            sale.seat_limit = 4;
        })
        .await?;
    let fans = backend.seed_fans(args.fans).await?;
    let fans = fans.into_iter().map(|fan| FanLogin { account: fan.account, cookie: fan.cookie }).collect();
    let mut config = RushConfig::new(url, performance, fans, args.seats);
    config.max_shoppers = args.shoppers_max;
    config.limit = 4;
    config.areas = areas;
    config.join_seconds = args.join_seconds;
    config.duration_limit = Duration::from_secs(args.limit_s);
    config.seed = args.seed;
    config.queue_only = args.queue_only;
    config.journal.clone_from(&args.journal);
    config.verify_key = ed25519_dalek::VerifyingKey::from_bytes(&backend.ticket_verify_key()).ok();
    let audited = Arc::clone(backend);
    let audit: rush::Audit<'_> = Box::pin(async move {
        let breaches = audited.audit(performance).await?;
        Ok(breaches.iter().map(ToString::to_string).collect())
    });
    let report = rush::run(config, Some(audit), |progress| tell(&progress.to_string())).await?;
    for breach in &report.breaches {
        tell(&format!("breach: {breach}"));
    }
    Ok(report)
}
