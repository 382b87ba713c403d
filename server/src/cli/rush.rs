//! `stararena rush`: starts what a simulated on-sale needs, lives it, audits the stores, reports.

mod trouble;

use super::{print, tell};
use crate::bench::hello::Hello;
use crate::bench::{load, memory};
use crate::run::{ServerProcess, StoreAccess, TemporaryFolder};
use crate::rush::{self, FanLogin, Memory, Report, RushConfig, StandingArea, Steps, WaitConfig, WaitReport};
use anyhow::Context as _;
use app::context::queue_cookie;
use backend::bench::Bench;
use backend::{Backend, Config, Finding, SystemClock};
use domain::PerformanceId;
use domain::venue::generate;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use trouble::{Mood, Recovery, Trouble, Webhooks};

/// Length of a visit in milliseconds: short, so that the slots of fans who walked away, and keep theirs
/// until it ends, return within the run.
const VISIT_TTL_MS: &str = "20000";
/// From the sale's making to its opening, beside the time in which the lobby joins: its seats are put in
/// place meanwhile, and a machine that is slower than the fans has some time to catch up.
const LOBBY_MARGIN_MS: i64 = 8_000;
/// How long the seats of a sale may take to be in place.
const WARM_LIMIT: Duration = Duration::from_secs(30);
/// The share of a waiting crowd that joins after the opening.
const LATE: f64 = 0.1;
/// The share that presses Join twice.
const TWICE: f64 = 0.05;
/// Connections of a waiting crowd.
const CROWD_CONNECTIONS: usize = 256;
/// How long the bare application is loaded that stands beside the figures, and over how many lines.
const HELLO_LOAD: Duration = Duration::from_secs(3);
const HELLO_CONNECTIONS: usize = 64;

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
    /// Stay at the door: fans join before and after an opening, poll, watch the draw, and go in or never
    /// come. Up to 200,000 fans; nobody buys
    #[arg(long)]
    queue_only: bool,
    /// The share of fans who never come when they are called; with --queue-only
    #[arg(long, default_value_t = 0.3)]
    no_show: f64,
    /// How many seconds fans are let in; with --queue-only
    #[arg(long, default_value_t = 45.0)]
    entry_seconds: f64,
    /// What becomes of the provider's webhooks, during the run and after it
    #[arg(long, value_enum, default_value_t = Webhooks::Deliver, conflicts_with_all = ["url", "queue_only"])]
    webhooks: Webhooks,
    /// How the provider is while the fans are at it: flaky fails a third of its calls. Then it is well, and the
    /// report tells how long it took until every payment had ended
    #[arg(long, value_enum, default_value_t = Mood::Well, conflicts_with_all = ["url", "queue_only"])]
    provider: Mood,
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
    let (report, breached) = outcome?;
    print(&report);
    Ok(if breached { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The report as JSON, and whether it tells of a breach.
async fn run_on(args: &RushArgs, mut config: Config, stores: &StoreAccess) -> anyhow::Result<(String, bool)> {
    let mut settings = vec![("STARARENA_VISIT_TTL_MS", VISIT_TTL_MS)];
    if args.webhooks == Webhooks::Drop || args.provider == Mood::Flaky {
        settings.extend(trouble::SETTINGS);
    }
    let server = match &args.url {
        Some(_) => None,
        None => Some(ServerProcess::start(&config, stores, &settings).await?),
    };
    let trouble = server
        .as_ref()
        .and_then(|server| Trouble::of((args.webhooks, args.provider), server.provider_url(), &config.psp.api_key));
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
        if args.queue_only {
            let door = Door { backend: &backend, stores, server: server.as_ref().and_then(ServerProcess::pid), url };
            let report = door.wait(args).await?;
            return anyhow::Ok((serde_json::to_string(&report)?, !report.breaches.is_empty()));
        }
        let told = drive(args, &backend, url, trouble.as_ref()).await?;
        anyhow::Ok((serde_json::to_string(&told)?, !told.report.breaches.is_empty()))
    }
    .await;
    if let Some(server) = server {
        server.stop().await;
    }
    outcome
}

/// The report, with what was made to fail beside it.
#[derive(serde::Serialize)]
struct Told {
    #[serde(flatten)]
    report: Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    recovery: Option<Recovery>,
}

async fn drive(
    args: &RushArgs,
    backend: &Arc<Backend>,
    url: String,
    trouble: Option<&Trouble>,
) -> anyhow::Result<Told> {
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
    config.journal.clone_from(&args.journal);
    config.verify_key = ed25519_dalek::VerifyingKey::from_bytes(&backend.ticket_verify_key().1).ok();
    if let Some(trouble) = trouble {
        trouble.begin().await.context("making the provider misbehave")?;
    }
    let ended = OnceLock::new();
    let steps = Steps {
        recovery: trouble.map(|trouble| recovery(trouble, backend, performance, &ended)),
        audit: Some(audit(backend, performance, args.url.is_none())),
    };
    let report = rush::run(config, steps, |progress| tell(&progress.to_string())).await?;
    for breach in &report.breaches {
        tell(&format!("breach: {breach}"));
    }
    Ok(Told { report, recovery: ended.into_inner() })
}

/// Ends the trouble, and waits until every payment has ended.
fn recovery<'a>(
    trouble: &'a Trouble,
    backend: &'a Arc<Backend>,
    performance: PerformanceId,
    ended: &'a OnceLock<Recovery>,
) -> rush::Step<'a> {
    Box::pin(async move {
        let recovery = trouble.end(backend, performance).await?;
        tell(&recovery.to_string());
        let breaches = recovery.breach().into_iter().collect();
        ended.set(recovery).ok();
        Ok(breaches)
    })
}

/// The audit of the sale and, where the stores are of this run alone, of everything in them.
fn audit(backend: &Arc<Backend>, performance: PerformanceId, whole: bool) -> rush::Step<'_> {
    Box::pin(async move {
        let mut breaches = backend.audit(performance).await?;
        if whole {
            breaches.extend(backend.audit_system().await?.iter().filter_map(Finding::breach));
        }
        Ok(breaches.iter().map(ToString::to_string).collect())
    })
}

/// The door before which a crowd waits.
struct Door<'a> {
    backend: &'a Arc<Backend>,
    stores: &'a StoreAccess,
    /// The server's process, where this one started it.
    server: Option<u32>,
    url: String,
}

impl Door<'_> {
    async fn wait(&self, args: &RushArgs) -> anyhow::Result<WaitReport> {
        anyhow::ensure!((0.0..=3_600.0).contains(&args.entry_seconds), "entry seconds: from 0 to 3600");
        anyhow::ensure!((0.0..=3_600.0).contains(&args.join_seconds), "join seconds: from 0 to 3600");
        tell(&format!("seeding {} fans", args.fans));
        let fans = self.backend.seed_fans(args.fans).await?;
        let fans = fans.into_iter().map(|fan| FanLogin { account: fan.account, cookie: fan.cookie }).collect();
        tell("asking a bare application under the same tool");
        let hello_per_s = hello().await?;
        let performance = self.sale(args).await?;
        let config = WaitConfig {
            base_url: self.url.clone(),
            performance,
            fans,
            ticket_cookie: self.backend.cookie_name(&queue_cookie(performance)),
            join_seconds: args.join_seconds,
            late: LATE,
            twice: TWICE,
            no_show: args.no_show,
            max_shoppers: args.shoppers_max,
            connections: CROWD_CONNECTIONS,
            entry: Duration::from_secs_f64(args.entry_seconds),
            limit: Duration::from_secs(args.limit_s),
            seed: args.seed,
        };
        let bench = Bench::new(self.backend, &self.stores.redis_url)?;
        let weigh = async || self.memory(&bench).await;
        let mut report = rush::wait(config, weigh, tell).await?;
        report.put_beside(hello_per_s);
        let audit = self.backend.audit(performance).await?;
        report.breaches.extend(audit.iter().map(|breach| format!("audit: {breach}")));
        for breach in &report.breaches {
            tell(&format!("breach: {breach}"));
        }
        Ok(report)
    }

    /// A sale that opens when its lobby has joined.
    async fn sale(&self, args: &RushArgs) -> anyhow::Result<PerformanceId> {
        let lobby = Duration::from_secs_f64(args.join_seconds).as_millis();
        let opens_in_ms = i64::try_from(lobby)?.saturating_add(LOBBY_MARGIN_MS);
        let plan = generate::standing_arena(args.seats, "Rush Arena");
        let performance = self
            .backend
            .seed_sale(plan, "Rush Arena", |sale| {
                sale.opens = sale.opens.plus(opens_in_ms);
                sale.shoppers_max = args.shoppers_max;
                sale.release_per_min = args.release_per_min;
            })
            .await?;
        anyhow::ensure!(
            self.backend.wait_until_warm(performance, WARM_LIMIT).await?,
            "the seats of the sale were not put in place"
        );
        Ok(performance)
    }

    async fn memory(&self, bench: &Bench) -> anyhow::Result<Memory> {
        // A rewrite of the append-only file would be counted for the fans.
        bench.quiet().await?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a process's memory in bytes")]
        let server = self.server.map(memory::resident).transpose()?.map(|bytes| bytes as u64);
        Ok(Memory { redis: Some(bench.redis_memory().await?), server })
    }
}

/// Requests a second of a bare application.
async fn hello() -> anyhow::Result<f64> {
    let hello = Hello::start().await?;
    let request = load::always(load::get(hello.address, "/"));
    let loaded = load::closed(hello.address, HELLO_CONNECTIONS, request, HELLO_LOAD).await;
    hello.stop().await;
    Ok(loaded?.rate().round())
}
