//! The command line: one program, a subcommand for each role and task.

mod bench;
mod catalog;
mod doctor;
mod organization;
mod payout;
mod psp_control;
mod quarantine;
mod queue;
mod reconcile;
mod refund;
mod rush;
mod ticket;
mod venue;
mod webhook;

use crate::psp::{self, PspConfig};
use crate::run::{self, Listen, Role, StoreAccess};
use anyhow::Context as _;
use backend::{Backend, Config, SystemClock};
use clap::{Parser, Subcommand};
use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a provider that was told to follow its parent waits for a predecessor to leave its folder.
const PREDECESSOR_TIMEOUT: Duration = Duration::from_secs(8);

#[derive(Parser)]
#[command(name = "stararena", version, about = "Ticketing for extreme on-sales")]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: RunArgs,
}

#[derive(clap::Args, Clone)]
struct RunArgs {
    /// Address to listen on; port 0 takes a free one
    #[arg(long, env = "STARARENA_LISTEN", default_value = "127.0.0.1:3000", global = true)]
    listen: SocketAddr,
    /// Address for scrapers of metrics and probes (/metrics, /healthz, /readyz), for every role; off by default
    #[arg(long, env = "STARARENA_METRICS_LISTEN", global = true)]
    metrics_listen: Option<SocketAddr>,
    /// Proxies whose X-Forwarded-For is believed, separated by commas
    #[arg(long, env = "STARARENA_TRUSTED_PROXIES", value_delimiter = ',', global = true)]
    trusted_proxies: Vec<IpAddr>,
    /// Seed the demo and print its sign-ins
    #[arg(long, global = true)]
    demo: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Web server and workers, with stores and provider of their own where none are named (the default)
    All,
    /// The web server alone
    Serve,
    /// The workers alone
    Worker,
    /// Apply the migrations that are missing
    Migrate,
    /// The sandbox payment provider
    Psp {
        #[command(flatten)]
        config: PspConfig,
        /// End when standard input closes
        #[arg(long)]
        with_parent: bool,
    },
    /// Make the sandbox payment provider misbehave, and act for its people
    PspControl(psp_control::PspControlArgs),
    /// Check, import, generate and export venue plans
    Venue {
        #[command(subcommand)]
        command: venue::VenueCommand,
    },
    /// Make organizations and their members
    Organization {
        #[command(subcommand)]
        command: organization::OrganizationCommand,
    },
    /// Tell organizers' own systems of events
    Webhook {
        #[command(subcommand)]
        command: webhook::WebhookCommand,
    },
    /// Look at money that fits no payment of ours, and decide about it
    Quarantine {
        #[command(subcommand)]
        command: quarantine::QuarantineCommand,
    },
    /// Note what was transferred to an organization, list it, reverse it
    Payout {
        #[command(subcommand)]
        command: payout::PayoutCommand,
    },
    /// Make events
    Event {
        #[command(subcommand)]
        command: catalog::EventCommand,
    },
    /// Make performances and steer their sale
    Performance {
        #[command(subcommand)]
        command: catalog::PerformanceCommand,
    },
    /// Say what a door says about a ticket, and freeze the tickets of an order
    Ticket {
        #[command(subcommand)]
        command: ticket::TicketCommand,
    },
    /// Seed the demo into the stores and print its sign-ins
    Demo,
    /// Try the door in virtual time, and check a draw
    Queue {
        #[command(subcommand)]
        command: queue::QueueCommand,
    },
    /// Simulate an on-sale; the last line is the result as JSON
    Rush(rush::RushArgs),
    /// Measure what the program does, beside baselines of the same run
    Bench(bench::BenchArgs),
    /// Match a provider's day with our records, repair what can be, and list what differs
    Reconcile(reconcile::ReconcileArgs),
    /// Say what is wrong with settings, stores and invariants
    Doctor(doctor::DoctorArgs),
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    crate::telemetry::start_logs();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&anyhow::Error::new(error).context("starting the runtime")),
    };
    match runtime.block_on(dispatch(cli)) {
        Ok(code) => code,
        Err(error) => fail(&error),
    }
}

/// One clear sentence, with its causes.
fn fail(error: &anyhow::Error) -> ExitCode {
    let mut text = error.to_string();
    for cause in error.chain().skip(1) {
        text.push_str(": ");
        text.push_str(&cause.to_string());
    }
    // Refusals carry their sentence inside.
    if let Some(backend::Error::Refused(refusal)) = error.downcast_ref::<backend::Error>() {
        text = refusal.to_string();
    }
    tell(&format!("stararena: {text}"));
    ExitCode::FAILURE
}

/// A line for people on standard error.
fn tell(line: &str) {
    eprintln!("{line}");
}

/// A line of output. A reader that has seen enough (`| head`) is no fault.
fn print(line: &str) {
    use std::io::Write as _;
    if writeln!(std::io::stdout(), "{line}").is_err() {
        std::process::exit(0);
    }
}

async fn dispatch(cli: Cli) -> anyhow::Result<ExitCode> {
    let listen = Listen {
        address: cli.run.listen,
        metrics: cli.run.metrics_listen,
        trusted_proxies: cli.run.trusted_proxies.clone(),
    };
    let serve = async |role| run::run(Config::from_env()?, listen, role, cli.run.demo).await;
    match cli.command.unwrap_or(Command::All) {
        Command::All => serve(Role::All).await?,
        Command::Serve => serve(Role::Serve).await?,
        Command::Worker => serve(Role::Worker).await?,
        Command::Migrate => with_backend(async |_| Ok(())).await?,
        Command::Psp { config, with_parent } => provider(config, with_parent).await?,
        Command::PspControl(args) => psp_control::run(args).await?,
        Command::Venue { command } => return venue::run(command).await,
        Command::Organization { command } => organization::run(command).await?,
        Command::Webhook { command } => webhook::run(command).await?,
        Command::Quarantine { command } => quarantine::run(command).await?,
        Command::Payout { command } => payout::run(command).await?,
        Command::Event { command } => catalog::event(command).await?,
        Command::Performance { command } => catalog::performance(command).await?,
        Command::Ticket { command } => return ticket::run(command).await,
        Command::Demo => with_backend(demo).await?,
        Command::Queue { command } => return queue::run(command).await,
        Command::Rush(args) => return rush::run(args).await,
        Command::Bench(args) => return bench::run(args).await,
        Command::Reconcile(args) => return reconcile::run(args).await,
        Command::Doctor(args) => return doctor::run(&args).await,
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens the stores for one task, and closes what was started for it.
async fn with_backend<T>(task: impl AsyncFnOnce(Arc<Backend>) -> anyhow::Result<T>) -> anyhow::Result<T> {
    let config = Config::from_env()?;
    let stores = StoreAccess::open(&config).await?;
    let outcome = async {
        let backend = Backend::connect(config, &stores.database_url, &stores.redis_url, Arc::new(SystemClock))
            .await
            .context("opening the stores")?;
        task(backend).await
    }
    .await;
    stores.close().await?;
    outcome
}

async fn demo(backend: Arc<Backend>) -> anyhow::Result<()> {
    let demo = backend.seed_demo(run::DEMO_VENUE).await?;
    for (what, email, password) in &demo.sign_ins {
        print(&format!("{what:<12} {email:<24} {password}"));
    }
    Ok(())
}

/// The sandbox provider, until a signal, or until its parent goes away.
async fn provider(config: PspConfig, with_parent: bool) -> anyhow::Result<()> {
    if std::env::var("STARARENA_ENV").is_ok_and(|env| env == "production") {
        anyhow::bail!("the sandbox payment provider refuses to start in production");
    }
    let started = Instant::now();
    loop {
        let until = async {
            if with_parent {
                parent_is_gone().await;
            } else {
                terminated().await;
            }
        };
        match psp::run(config.clone(), until).await {
            // A predecessor whose parent was killed may still be leaving the folder.
            Err(error) if with_parent && started.elapsed() < PREDECESSOR_TIMEOUT => {
                tracing::warn!(error = %error, "the provider could not start yet");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            outcome => return outcome,
        }
    }
}

/// Ends when standard input closes: whoever started this process is gone.
async fn parent_is_gone() {
    use tokio::io::AsyncReadExt as _;
    let mut byte = [0u8; 64];
    let mut input = tokio::io::stdin();
    while matches!(input.read(&mut byte).await, Ok(count) if count > 0) {}
}

async fn terminated() {
    match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        Ok(mut terminate) => {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
        }
        Err(error) => tracing::error!(%error, "SIGTERM can't be caught"),
    }
}
