//! `stararena reconcile`: the daily match by hand, a line for each difference.

use super::{print, with_backend};
use anyhow::bail;
use backend::{Backend, DayMatched, OpenDifference, day_text, read_day};
use domain::Millis;
use domain::settlement::Owner;
use std::process::ExitCode;
use std::sync::Arc;

/// Most differences of no organization that `doctor` lists.
const LISTED_MAX: usize = 20;

#[derive(clap::Args)]
pub(super) struct ReconcileArgs {
    /// This provider alone; all that are configured where it is left out
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// The day in UTC, such as 2026-01-31; yesterday where it is left out
    #[arg(long, value_name = "YYYY-MM-DD")]
    day: Option<String>,
}

/// Matches, and fails when people have something open on the day.
pub(super) async fn run(args: ReconcileArgs) -> anyhow::Result<ExitCode> {
    with_backend(async |backend| {
        let day = match &args.day {
            Some(text) => read_day(text)?,
            None => backend.yesterday(),
        };
        let known = backend.provider_names();
        let providers: Vec<&str> = match &args.provider {
            Some(name) if !known.contains(&name.as_str()) => {
                bail!("provider: `{name}` is not configured here, one of {} is expected", known.join(", "))
            }
            Some(name) => vec![name.as_str()],
            None => known,
        };
        let mut for_people = 0;
        for provider in providers {
            for_people += tell(&backend.match_day(provider, day).await?)?;
        }
        Ok(if for_people == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    })
    .await
}

/// Prints what a day came to; how much of it people have.
fn tell(matched: &DayMatched) -> backend::Result<usize> {
    for one in &matched.open {
        print(&line(one)?);
    }
    let for_people = matched.open.iter().filter(|one| one.owner != Owner::Worker).count();
    print(&format!(
        "{} {}: {} lines, {} differences open ({} for people), {} repaired since the last run",
        matched.provider,
        day_text(matched.day)?,
        matched.lines,
        matched.open.len(),
        for_people,
        matched.repaired
    ));
    Ok(for_people)
}

fn line(one: &OpenDifference) -> backend::Result<String> {
    let day: Millis = one.day;
    let mut text =
        format!("{} {} {} owner={} repair={}", one.provider, day_text(day)?, one.key, one.owner.as_str(), one.repair);
    if one.tries > 0 {
        text.push_str(&format!(" tries={}", one.tries));
    }
    if !one.on_a_page {
        text.push_str(" (of no organization)");
    }
    if let Some(error) = &one.error {
        text.push_str(": ");
        text.push_str(error);
    }
    Ok(text)
}

/// What `doctor` says of the daily match: whether a line is fine, and the line.
pub(super) async fn findings(backend: &Arc<Backend>) -> backend::Result<Vec<(bool, String)>> {
    let state = backend.match_state().await?;
    let mut findings = Vec::new();
    if state.late_days > 0 {
        findings.push((false, format!("money: {} days of providers should have been matched", state.late_days)));
    }
    if state.for_people > 0 {
        findings.push((false, format!("money: people have {} open differences", state.for_people)));
    }
    for one in state.on_no_page.iter().take(LISTED_MAX) {
        findings.push((false, format!("money: {}", line(one)?)));
    }
    if findings.is_empty() {
        let text = format!("money: nothing is open for people, the program has {} differences in hand", state.in_hand);
        findings.push((true, text));
    }
    Ok(findings)
}
