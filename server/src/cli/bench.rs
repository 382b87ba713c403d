//! `stararena bench`: measures, prints a table, writes the report.

use super::{parent_is_gone, print, tell};
use crate::bench::{self, BenchConfig};
use anyhow::Context as _;
use backend::Config;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(super) struct BenchArgs {
    /// Groups to measure, separated by commas; all without it
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Small houses and few connections: shows that it works, not how fast
    #[arg(long)]
    quick: bool,
    /// Length of one timed load in seconds; 5, or 0.3 with --quick
    #[arg(long)]
    seconds: Option<f64>,
    /// Where to write the report as JSON
    #[arg(long)]
    report: Option<PathBuf>,
    /// What was built, for the report
    #[arg(long)]
    commit: Option<String>,
    /// Name the groups and end
    #[arg(long)]
    list: bool,
    /// Be the bare application that others are compared with, until standard input closes
    #[arg(long, hide = true)]
    hello: bool,
}

pub(super) async fn run(args: BenchArgs) -> anyhow::Result<ExitCode> {
    if !Config::from_env()?.is_development() {
        anyhow::bail!("benchmarks refuse to start in production");
    }
    if args.hello {
        bench::serve_hello(parent_is_gone(), print).await?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.list {
        for (name, about) in bench::groups() {
            print(&format!("{name:<10} {about}"));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let seconds = args.seconds.unwrap_or(if args.quick { 0.3 } else { 5.0 });
    let only = args.only.into_iter().filter(|name| !name.is_empty()).collect();
    let config = BenchConfig { only, quick: args.quick, seconds, commit: args.commit };
    let report = bench::run(&config, tell).await?;
    if let Some(path) = &args.report {
        let text = serde_json::to_string_pretty(&report.to_json())?;
        std::fs::write(path, text + "\n").with_context(|| format!("writing {}", path.display()))?;
    }
    print(&report.table());
    // A budget that is missed is a result; what could not be measured is a failure.
    Ok(if report.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
