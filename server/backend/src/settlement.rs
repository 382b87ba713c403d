//! The daily match: a provider's day is read and kept, compared with our records, and what differs is repaired by
//! the program or put before people.
//!
//! A run repairs and does not believe itself: only a later run, which does not find a difference any more, calls
//! it repaired. Every step can be done again by anybody at any time: lines are kept by key, differences have
//! lasting keys, repairs are idempotent. What differs and who sees to it is decided in `domain::settlement`.

mod repair;
mod staff;

use crate::backend::Backend;
use crate::error::{Error, Result, not_found, refuse};
use crate::postgres::differences::DifferenceRow;
use crate::postgres::{detached, differences, settlement as rows, settlement_days as days};
use domain::settlement::compare::compare;
use domain::settlement::schedule::{DAY_MS, EDGE_MS, day_of, due_days, first_run, next_run};
use domain::settlement::{Owner, ProviderLine};
use domain::{Code, Millis};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::sync::Arc;

/// A worker that takes a day has it for so long: far above what a large one takes.
const LEASE_MS: i64 = 30 * 60_000;
/// When a day is tried again whose provider did not answer.
const RETRY_MS: i64 = 5 * 60_000;
/// A day that was not matched so long after its time is late.
const LATE_MS: i64 = 6 * 3_600_000;
/// Most differences of no organization that are listed.
const LISTED_MAX: i64 = 10_000;

/// What a run of a day came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DayMatched {
    /// The provider.
    pub provider: String,
    /// The beginning of the day.
    pub day: Millis,
    /// How many lines the provider told, with those around the day.
    pub lines: usize,
    /// What is open after it.
    pub open: Vec<OpenDifference>,
    /// How many differences were found no more.
    pub repaired: u64,
}

/// An open difference, for people at a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenDifference {
    /// Kind and subject.
    pub key: String,
    /// The provider.
    pub provider: String,
    /// The beginning of its day.
    pub day: Millis,
    /// Who sees to it.
    pub owner: Owner,
    /// What repairs it.
    pub repair: &'static str,
    /// Whether an organization sees it on its page.
    pub on_a_page: bool,
    /// How often the program tried to repair it.
    pub tries: i32,
    /// Why that did not help.
    pub error: Option<String>,
}

impl From<DifferenceRow> for OpenDifference {
    fn from(row: DifferenceRow) -> Self {
        Self {
            key: row.key,
            provider: row.provider,
            day: row.day,
            owner: row.owner,
            repair: row.repair.as_str(),
            on_a_page: row.organization.is_some(),
            tries: row.tries,
            error: row.error,
        }
    }
}

/// What of the daily match needs attention, for `doctor`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatchState {
    /// Open differences that people have, of no organization: shown on no page.
    pub on_no_page: Vec<OpenDifference>,
    /// How many open differences people have in all.
    pub for_people: i64,
    /// How many the program has in hand.
    pub in_hand: i64,
    /// How many days should have been matched and were not.
    pub late_days: i64,
}

/// A day of UTC as people write it, such as `2026-01-31`.
///
/// # Errors
/// An instant that no calendar has.
pub fn day_text(day: Millis) -> Result<String> {
    let at = jiff::Timestamp::from_millisecond(day.0).map_err(|e| Error::Broken(format!("{}: {e}", day.0)))?;
    Ok(at.to_zoned_datetime(TimeZone::UTC).date().to_string())
}

/// Reads a day of UTC such as `2026-01-31`: its beginning.
///
/// # Errors
/// `invalid_input`.
pub fn read_day(text: &str) -> Result<Millis> {
    match midnight(text) {
        Ok(at) => Ok(at),
        Err(e) => refuse(Code::InvalidInput, format!("day: a date such as 2026-01-31 is expected ({e})")),
    }
}

fn midnight(text: &str) -> std::result::Result<Millis, jiff::Error> {
    let date: Date = text.parse()?;
    Ok(Millis(date.to_zoned_datetime(TimeZone::UTC)?.timestamp().as_millisecond()))
}

impl Backend {
    /// The names of the providers that are configured here.
    pub fn provider_names(&self) -> Vec<&'static str> {
        self.providers.all()
    }

    /// The day before this one, in UTC: the newest that is over.
    pub fn yesterday(&self) -> Millis {
        day_of(self.now()).plus(-DAY_MS)
    }

    /// Plans the days that are due and matches one of them; `false` when none is left.
    pub(crate) async fn match_due_day(self: &Arc<Self>) -> Result<bool> {
        let (now, grace_ms) = (self.now(), self.config.settlement_grace_ms);
        let providers = self.provider_names();
        for provider in &providers {
            let due = due_days(days::oldest(&self.pg, provider).await?, grace_ms, now);
            days::plan(&self.pg, provider, &due, now).await?;
        }
        self.count_open().await?;
        let Some((provider, day)) = days::take_due(&self.pg, &providers, now, now.plus(LEASE_MS)).await? else {
            return Ok(false);
        };
        if let Err(error) = self.match_day(&provider, day).await {
            let why = chain(&error);
            tracing::warn!(provider, day = day.0, why, "a day could not be matched; it is tried again");
            metrics::counter!("stararena_settlement_failures_total", "provider" => provider.clone()).increment(1);
            days::failed(&self.pg, &provider, day, &why, self.now().plus(RETRY_MS)).await?;
        }
        Ok(true)
    }

    /// Matches a day of a provider: reads what it settled, compares, repairs what the program can. What was
    /// repaired is open until the next run does not find it any more.
    ///
    /// # Errors
    /// `not_found` for a provider that is not configured here; outages, of the provider as well.
    pub async fn match_day(self: &Arc<Self>, provider: &str, day: Millis) -> Result<DayMatched> {
        let (this, name) = (Arc::clone(self), provider.to_owned());
        detached(async move {
            let lines = this.read_settlement(&name, day).await?;
            let repaired = this.compare_day(&name, day).await?;
            this.repair_day(&name, day).await?;
            let open = differences::of_day(&this.pg, &name, day).await?;
            this.count_open().await?;
            let open = open.into_iter().map(OpenDifference::from).collect();
            Ok(DayMatched { provider: name, day, lines, open, repaired })
        })
        .await
    }

    /// Reads what a provider settled on a day and around it, and keeps it; how many lines that were.
    async fn read_settlement(&self, provider: &str, day: Millis) -> Result<usize> {
        let Some(there) = self.providers.get(provider) else { return not_found("provider") };
        let (from, to) = (day.plus(-EDGE_MS), day.plus(DAY_MS + EDGE_MS));
        let lines: Vec<ProviderLine> = there.settlement(from, to).await?;
        let mut tx = self.pg.begin().await?;
        rows::keep(&mut tx, provider, &lines, self.now()).await?;
        rows::name_orders(&mut *tx, provider, from, to).await?;
        self.fault("before-lines-commit");
        tx.commit().await?;
        self.fault("lines-kept");
        Ok(lines.len())
    }

    /// Compares a day by what is kept, without asking the provider; how many differences are gone.
    async fn compare_day(&self, provider: &str, day: Millis) -> Result<u64> {
        let now = self.now();
        // One snapshot: sides that were read apart would differ by themselves.
        let mut tx = self.pg.begin().await?;
        sqlx::query("set transaction isolation level repeatable read, read only").execute(&mut *tx).await?;
        let sides = rows::day(&mut tx, provider, day, now).await?;
        tx.rollback().await?;
        let found = compare(&sides);
        let keys: Vec<String> = found.iter().map(|one| one.key.clone()).collect();
        let mut tx = self.pg.begin().await?;
        differences::found(&mut *tx, provider, day, &found, now).await?;
        let gone = differences::gone(&mut *tx, provider, day, &keys, now).await?;
        let open = differences::open(&mut *tx, provider, day).await?;
        let next = next_run(day, self.config.settlement_grace_ms, now, open);
        days::matched(&mut *tx, provider, day, now, next).await?;
        self.fault("before-differences-commit");
        tx.commit().await?;
        self.fault("differences-kept");
        for one in &found {
            metrics::counter!("stararena_differences_total", "kind" => one.kind.as_str()).increment(1);
        }
        Ok(gone)
    }

    /// Gauges that alarms look at.
    #[expect(clippy::cast_precision_loss, reason = "counts of rows are far below 2^52")]
    async fn count_open(&self) -> Result<()> {
        let open = differences::open_by_owner(&self.pg).await?;
        for owner in Owner::ALL {
            let count = open.iter().find(|(of, _)| of == owner).map_or(0, |(_, count)| *count);
            metrics::gauge!("stararena_differences_open", "owner" => owner.as_str()).set(count as f64);
        }
        let late = days::overdue(&self.pg, self.late_before()).await?;
        metrics::gauge!("stararena_settlement_days_late").set(late as f64);
        Ok(())
    }

    /// Days that began before this instant should have been matched.
    fn late_before(&self) -> Millis {
        let spare = first_run(Millis(0), self.config.settlement_grace_ms).0 + LATE_MS;
        self.now().plus(-spare)
    }

    /// What of the daily match needs attention.
    ///
    /// # Errors
    /// Outages only.
    pub async fn match_state(&self) -> Result<MatchState> {
        let mut state =
            MatchState { late_days: days::overdue(&self.pg, self.late_before()).await?, ..MatchState::default() };
        for (owner, count) in differences::open_by_owner(&self.pg).await? {
            match owner {
                Owner::Worker => state.in_hand += count,
                Owner::Finance | Owner::Operator => state.for_people += count,
            }
        }
        let open = differences::of_nobody(&self.pg, LISTED_MAX).await?;
        let theirs = open.into_iter().filter(|row| row.owner != Owner::Worker);
        state.on_no_page = theirs.map(OpenDifference::from).collect();
        Ok(state)
    }
}

/// An error with its causes, in one line.
fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text.chars().filter(|c| *c != '\0').take(500).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_written_and_read_in_utc() {
        let leap = Millis(1_709_164_800_000);
        assert_eq!(day_text(leap).unwrap(), "2024-02-29");
        assert_eq!(read_day("2024-02-29").unwrap(), leap);
        assert_eq!(day_text(leap.plus(DAY_MS - 1)).unwrap(), "2024-02-29");
        for wrong in ["", "yesterday", "2023-02-29", "2024-13-01"] {
            assert_eq!(read_day(wrong).unwrap_err().refusal().code, Code::InvalidInput, "{wrong}");
        }
    }
}
