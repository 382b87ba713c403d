//! One pass of a job over things that are each done by themselves, so that none holds up another.
//!
//! What fails for a reason of its own is noted and left alone for a while ([`crate::postgres::setbacks`]); where the
//! seats of a sale can't be reached, that sale waits until the next pass; where Postgres can't be reached, the pass
//! ends. Everything else goes on.

use crate::backend::Backend;
use crate::error::{Error, Result, chain};
use crate::postgres::setbacks::{self, Job, LeftOut};
use domain::{Millis, PerformanceId};
use std::collections::HashSet;
use std::sync::Arc;
use uuid::Uuid;

/// Looks of one pass at most: what is found is left out of the next one, unless a clock was moved.
const LOOKS_MAX: u32 = 100;

/// What became of one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Nothing is left to do.
    Done,
    /// The seats of its sale are being built: nothing of it can be done now.
    SaleWaits,
    /// It waits for something of its own.
    Waits,
}

impl Outcome {
    /// Of a call that says whether it was done, and does so unless the seats are being built.
    pub(super) fn of(done: bool) -> Self {
        if done { Self::Done } else { Self::SaleWaits }
    }
}

/// A pass under way.
pub(super) struct Pass<'a> {
    backend: &'a Arc<Backend>,
    job: Job,
    /// When it began: what fails or waits from then on comes back in another pass, and never in this one.
    began: Millis,
    looks: u32,
    /// Sales of which nothing can be done now.
    away: HashSet<PerformanceId>,
    /// Why the last of them could not be reached, where that is an outage.
    outage: Option<Error>,
    /// What was done, and is to be noted yet where its job notes many together.
    done: Vec<Uuid>,
    /// What was done and noted.
    noted: Vec<Uuid>,
}

impl<'a> Pass<'a> {
    pub(super) fn new(backend: &'a Arc<Backend>, job: Job) -> Self {
        let began = backend.now();
        Self { backend, job, began, looks: 0, away: HashSet::new(), outage: None, done: Vec::new(), noted: Vec::new() }
    }

    /// What the job's query leaves out now.
    pub(super) fn left_out(&self) -> LeftOut {
        LeftOut { job: self.job, now: self.began, sales: self.away.iter().map(|sale| sale.0).collect() }
    }

    /// Whether nothing can be done for a sale now.
    pub(super) fn waits(&self, sale: PerformanceId) -> bool {
        self.away.contains(&sale)
    }

    /// Takes what became of one thing of a sale.
    ///
    /// # Errors
    /// Outages of Postgres.
    pub(super) async fn take(&mut self, subject: Uuid, sale: PerformanceId, outcome: Result<Outcome>) -> Result<()> {
        let taken = self.sort(subject, sale, outcome).await;
        self.ends_on_fault(taken).await
    }

    async fn sort(&mut self, subject: Uuid, sale: PerformanceId, outcome: Result<Outcome>) -> Result<()> {
        match outcome {
            Ok(Outcome::Done) => self.done.push(subject),
            Ok(Outcome::SaleWaits) => {
                self.away.insert(sale);
            }
            Ok(Outcome::Waits) => {
                setbacks::put_off(&self.backend.pg, self.job, subject, self.backend.now()).await?;
            }
            Err(error) if error.is_outage_of_seats() => {
                if self.away.insert(sale) {
                    // Others may go on, and hide it: it counts by itself.
                    metrics::counter!("stararena_job_failures_total", "job" => self.job.as_str()).increment(1);
                    tracing::debug!(%sale, error = &error as &dyn std::error::Error, "the seats of a sale can't be reached");
                }
                self.outage = Some(error);
            }
            Err(error) => self.backend.set_back(self.job, subject, error).await?,
        }
        Ok(())
    }

    /// A fault ends the pass: what was done before it fails no more, and is told so.
    async fn ends_on_fault<T>(&self, outcome: Result<T>) -> Result<T> {
        if outcome.is_err()
            && let Err(error) = self.clear().await
        {
            tracing::debug!(error = &error as &dyn std::error::Error, "what was done is told as failing for a while");
        }
        outcome
    }

    /// Forgets earlier failures of what was done; whether anything was.
    async fn clear(&self) -> Result<bool> {
        let all: Vec<Uuid> = self.done.iter().chain(&self.noted).copied().collect();
        if !all.is_empty() {
            setbacks::clear(&self.backend.pg, self.job, &all).await?;
        }
        Ok(!all.is_empty())
    }

    /// What was done so far, to be noted: what could be goes to [`Self::noted`].
    pub(super) fn take_done(&mut self) -> Vec<Uuid> {
        std::mem::take(&mut self.done)
    }

    /// Notes what was done, all or one.
    ///
    /// # Errors
    /// Outages of Postgres.
    pub(super) async fn noted(&mut self, subjects: &[Uuid], outcome: sqlx::Result<()>) -> Result<bool> {
        let noted = match outcome.map_err(Error::from) {
            Ok(()) => {
                self.noted.extend_from_slice(subjects);
                Ok(true)
            }
            Err(error) => match subjects {
                [only] => self.backend.set_back(self.job, *only, error).await.map(|()| false),
                _ if error.is_outage() => Err(error),
                _ => Ok(false),
            },
        };
        self.ends_on_fault(noted).await
    }

    /// Whether to look again at once: the last look was full, and what failed, waits or can't be reached may have left
    /// none of the others in it. None of that is in the next look.
    pub(super) fn looks_again(&mut self, found: usize, most: i64) -> bool {
        self.looks += 1;
        self.looks < LOOKS_MAX && i64::try_from(found).is_ok_and(|found| found >= most)
    }

    /// Whether anything was done. A pass that did nothing but meet an outage failed.
    ///
    /// # Errors
    /// That outage, and those of Postgres.
    pub(super) async fn end(self) -> Result<bool> {
        let any = self.clear().await?;
        match self.outage {
            Some(error) if !any => Err(error),
            _ => Ok(any),
        }
    }
}

/// Something that a job failed to do, and tries again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setback {
    /// The job by its name, as metrics have it.
    pub job: String,
    /// The order, attempt, refund, allocation or offer.
    pub subject: Uuid,
    /// How often it failed on end.
    pub tries: u32,
    /// When it failed first.
    pub since: Millis,
    /// Why it failed last.
    pub error: String,
}

impl Backend {
    /// What jobs fail to do and try again, that which failed for the longest time first.
    ///
    /// # Errors
    /// Outages only.
    pub async fn setbacks(&self, most: u32) -> Result<Vec<Setback>> {
        let rows = setbacks::oldest(&self.pg, self.now(), i64::from(most)).await?;
        let view = |row: setbacks::SetbackRow| Setback {
            job: row.job,
            subject: row.subject,
            tries: u32::try_from(row.tries).unwrap_or(0),
            since: row.first,
            error: row.error,
        };
        Ok(rows.into_iter().map(view).collect())
    }

    /// Notes that a job failed for one thing, which is tried again after a pause and holds up nothing meanwhile.
    ///
    /// # Errors
    /// The fault itself where a store is out of reach, since everything else would fail as well; outages.
    pub(crate) async fn set_back(&self, job: Job, subject: Uuid, error: Error) -> Result<()> {
        if error.is_outage() {
            return Err(error);
        }
        let why = chain(&error);
        metrics::counter!("stararena_job_failures_total", "job" => job.as_str()).increment(1);
        tracing::warn!(job = job.as_str(), %subject, why, "a job failed for one thing; others go on, and it is tried again");
        Ok(setbacks::note(&self.pg, job, subject, &why, self.now()).await?)
    }
}
