//! `stararena queue`: the door in virtual time, and the check of a draw that anybody can make.

mod chart;

use super::{print, tell};
use anyhow::{Context as _, bail};
use clap::Subcommand;
use domain::queue::control::Limits;
use domain::queue::facts::{CheckOutcome, DrawFacts, ENTRY_BYTES};
use domain::queue::simulation::{self, Run, Scenario, Slow, Span};
use domain::{AccountId, PerformanceId};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Largest list of arrivals that is read, in bytes: four million fans.
const LIST_MAX_BYTES: usize = 4_000_000 * ENTRY_BYTES;
/// Largest facts that are read, in bytes: a commitment is a few hundred, and a sale is seldom moved.
const FACTS_MAX_BYTES: usize = 1 << 20;
/// Longest wait for an answer: the list of a million fans is 16 MB.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Subcommand)]
pub(super) enum QueueCommand {
    /// Let fans through the door in virtual time, and say how the controller did
    Simulate(SimulateArgs),
    /// Check what was published about a draw; fails when a check does
    Verify(VerifyArgs),
}

#[derive(clap::Args)]
pub(super) struct SimulateArgs {
    /// How many fans wait at the opening
    #[arg(long, default_value_t = 1_000_000)]
    fans: u32,
    /// How many seats
    #[arg(long, default_value_t = 20_000)]
    seats: u32,
    /// Most shoppers inside at once
    #[arg(long, default_value_t = 2_000)]
    shoppers_max: u32,
    /// Most places released a minute
    #[arg(long, default_value_t = 60_000)]
    rate_per_min: u32,
    /// Share of fans who come when it is their turn, from 0 to 1
    #[arg(long, default_value_t = 0.6, value_parser = share)]
    show_up: f64,
    /// Seconds from the opening in which the stores are slow, such as 200-320
    #[arg(long, value_name = "FROM-TO", value_parser = seconds)]
    slow: Option<Span>,
    /// What is left of their capacity meanwhile, from 0 to 1
    #[arg(long, default_value_t = 0.15, value_parser = share)]
    slow_capacity: f64,
    /// Seconds from the opening in which entry is paused, such as 400-460
    #[arg(long, value_name = "FROM-TO", value_parser = seconds)]
    pause: Option<Span>,
    /// Longest run in seconds of virtual time
    #[arg(long, default_value_t = 3_600, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    limit_s: u32,
    /// All chance follows from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Draw the run into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

#[derive(clap::Args)]
pub(super) struct VerifyArgs {
    /// File of the published facts, JSON
    #[arg(long, value_name = "FILE", required_unless_present = "url", conflicts_with = "url")]
    facts: Option<PathBuf>,
    /// File of the arrival list
    #[arg(long, value_name = "FILE", requires = "facts")]
    list: Option<PathBuf>,
    /// Installation to ask for both, such as http://127.0.0.1:3000
    #[arg(long, requires = "performance")]
    url: Option<String>,
    /// Performance to ask for
    #[arg(long, value_name = "ID", requires = "url")]
    performance: Option<PerformanceId>,
    /// Say the place of this arrival number, from 0
    #[arg(long, value_name = "NUMBER")]
    arrival: Option<u32>,
    /// Say the place of this account
    #[arg(long, value_name = "ID")]
    account: Option<AccountId>,
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().map_err(|_| "a number is expected")?;
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err("a number from 0 to 1 is expected".to_owned()) }
}

fn seconds(text: &str) -> Result<Span, String> {
    let expected = "two numbers of seconds are expected, such as 200-320";
    let (from, to) = text.split_once('-').ok_or(expected)?;
    let milliseconds = |text: &str| text.trim().parse::<u32>().map(|seconds| i64::from(seconds) * 1_000);
    let (Ok(from_ms), Ok(to_ms)) = (milliseconds(from), milliseconds(to)) else { return Err(expected.to_owned()) };
    if from_ms < to_ms { Ok(Span { from_ms, to_ms }) } else { Err("the end comes after the begin".to_owned()) }
}

pub(super) async fn run(command: QueueCommand) -> anyhow::Result<ExitCode> {
    match command {
        QueueCommand::Simulate(args) => simulate(&args),
        QueueCommand::Verify(args) => verify(&args).await,
    }
}

fn simulate(args: &SimulateArgs) -> anyhow::Result<ExitCode> {
    let scenario = Scenario {
        fans: args.fans,
        seats: args.seats,
        limits: Limits { shoppers_max: args.shoppers_max, rate_max_per_min: args.rate_per_min },
        show_up: args.show_up,
        slow: args.slow.map(|span| Slow { span, capacity: args.slow_capacity }),
        pause: args.pause,
        horizon_ms: i64::from(args.limit_s) * 1_000,
        seed: args.seed,
        ..Scenario::default()
    };
    let run = simulation::run(&scenario);
    for (what, value) in told(&scenario, &run) {
        print(&format!("{what:<24} {value}"));
    }
    if let Some(path) = &args.svg {
        std::fs::write(path, chart::draw(&scenario, &run)?).with_context(|| format!("writing {}", path.display()))?;
        tell(&format!("drawn into {}", path.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// The summary, a line each.
fn told(scenario: &Scenario, run: &Run) -> Vec<(&'static str, String)> {
    let summary = &run.summary;
    let slots = summary.slot_use.map_or("never steady".to_owned(), |share| format!("{:.1} %", share * 100.0));
    let sold_out = summary.sold_out_ms.map_or("not within the run".to_owned(), |at_ms| format!("{} s", at_ms / 1_000));
    vec![
        ("slots used when steady", slots),
        ("fewest shoppers then", summary.steady_shoppers_min.to_string()),
        ("most shoppers", format!("{} of {}", summary.shoppers_max, scenario.limits.shoppers_max)),
        ("entered", summary.entered.to_string()),
        ("met a full house", summary.met_full.to_string()),
        ("places released", format!("{} of {}", summary.served, scenario.fans)),
        ("largest step", format!("{} places", summary.largest_step)),
        ("seats sold", format!("{} of {}", summary.sold, scenario.seats)),
        ("sold out after", sold_out),
        ("lowest rate", format!("{} a minute", summary.rate_min_per_min)),
        ("turns of the rate", summary.turns.to_string()),
    ]
}

async fn verify(args: &VerifyArgs) -> anyhow::Result<ExitCode> {
    let (facts, list) = match (&args.facts, &args.url, args.performance) {
        (Some(path), _, _) => {
            let list = args.list.as_deref().map(|path| read(path, LIST_MAX_BYTES)).transpose()?;
            (read(path, FACTS_MAX_BYTES)?, list)
        }
        (None, Some(url), Some(performance)) => published(url, performance).await?,
        _ => bail!("--facts with a file, or --url with --performance, is needed"),
    };
    let facts: DrawFacts = serde_json::from_slice(&facts).context("reading the facts of the draw")?;
    let mut failed = false;
    for check in facts.verify(list.as_deref()) {
        let outcome = match check.outcome {
            CheckOutcome::Holds => "holds".to_owned(),
            CheckOutcome::Skipped(why) => format!("not checked: {why}"),
            CheckOutcome::Fails(why) => {
                failed = true;
                format!("FAILS: {why}")
            }
        };
        print(&format!("{}: {outcome}", check.what));
    }
    if let Some(arrival) = args.arrival {
        print(&place(&facts, arrival));
    }
    if let Some(account) = args.account {
        print(&match list.as_deref().map(|list| facts.arrival_in(list, account)) {
            None => "the account can't be looked for: the list was not read".to_owned(),
            Some(None) => "the account is not in the list: it came after the opening, or never".to_owned(),
            Some(Some(arrival)) => place(&facts, arrival),
        });
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn place(facts: &DrawFacts, arrival: u32) -> String {
    match facts.draw() {
        Some(draw) => format!("arrival {arrival} has place {}, counted from 0", draw.place(arrival)),
        None => format!("arrival {arrival} has no place yet: the draw is to come"),
    }
}

/// A file, unless it is larger than it can be.
fn read(path: &Path, most: usize) -> anyhow::Result<Vec<u8>> {
    let size = std::fs::metadata(path).with_context(|| format!("reading {}", path.display()))?.len();
    if size > most as u64 {
        bail!("{}: {size} bytes are more than the {most} allowed", path.display());
    }
    std::fs::read(path).with_context(|| format!("reading {}", path.display()))
}

/// What an installation publishes: the facts, and the list where there is one.
async fn published(url: &str, performance: PerformanceId) -> anyhow::Result<(Vec<u8>, Option<Vec<u8>>)> {
    backend::use_tls();
    let client = reqwest::Client::builder().timeout(REQUEST_TIMEOUT).build().context("making an HTTP client")?;
    let base = format!("{}/api/performances/{performance}/queue", url.trim_end_matches('/'));
    let facts = fetched(&client, &format!("{base}/draw"), FACTS_MAX_BYTES).await?;
    let facts = facts.with_context(|| format!("{base}/draw: there is no such performance"))?;
    Ok((facts, fetched(&client, &format!("{base}/arrivals"), LIST_MAX_BYTES).await?))
}

/// The body of an answer; `None` where nothing is published there.
async fn fetched(client: &reqwest::Client, url: &str, most: usize) -> anyhow::Result<Option<Vec<u8>>> {
    let answer = client.get(url).send().await.with_context(|| format!("asking {url}"))?;
    if answer.status() == reqwest::StatusCode::NOT_FOUND {
        return Ok(None);
    }
    let mut answer = answer.error_for_status()?;
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.with_context(|| format!("reading {url}"))? {
        if body.len() + chunk.len() > most {
            bail!("{url}: more than the {most} bytes allowed");
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_of_seconds_is_read() {
        assert_eq!(seconds("200-320"), Ok(Span { from_ms: 200_000, to_ms: 320_000 }));
        for wrong in ["", "200", "200-", "-5-7", "320-200", "a-b"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_share_is_no_percentage() {
        assert_eq!(share("0.6"), Ok(0.6));
        for wrong in ["60", "-0.1", "NaN", ""] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_run_is_told_and_drawn() {
        let scenario = Scenario { fans: 2_000, seats: 200, horizon_ms: 120_000, ..Scenario::default() };
        let run = simulation::run(&scenario);
        assert_eq!(told(&scenario, &run).len(), 11);
        let svg = chart::draw(&scenario, &run).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
        assert_eq!(svg.matches("<polyline").count(), 7, "a line for each number and bound: {svg}");
    }
}
