//! The door: raises the served places at the sale's rate, checkpoints the queue's numbers, and takes
//! the samples that the on-sale desk looks back on.

use crate::backend::Backend;
use crate::catalog::Sale;
use crate::error::Result;
use crate::postgres::desk;
use crate::postgres::queue::{self as rows, QueueRow};
use domain::organizer::desk::Sample;
use domain::queue::Phase;
use domain::{Millis, PerformanceId};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How often places are released.
const EVERY: Duration = Duration::from_millis(250);
/// How often the numbers are written to Postgres.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);
/// How often a sample is taken: one instant for all leaders, whose rows would meet there.
const SAMPLE_EVERY_MS: i64 = 5_000;
/// Samples begin so long before the opening: the lobby fills in that time.
const SAMPLES_BEFORE_MS: i64 = 3_600_000;
/// Samples are kept so long: a month's sales can be compared.
const SAMPLES_KEPT_MS: i64 = 30 * 24 * 3_600_000;
/// How often older ones are forgotten.
const PRUNE_EVERY: Duration = Duration::from_secs(3_600);

/// The door stops to release places when the order writer's lag reaches this part of the bound beyond
/// which holding is refused.
const WRITER_LAG_MARGIN: i64 = 2;

/// One performance's door, under one leader's term.
pub(super) struct Door {
    id: PerformanceId,
    term: i64,
    /// Released places, with their fraction: a slow rate still moves.
    released: f64,
    last: Option<Instant>,
    written: Option<Instant>,
    /// The instant of the last sample.
    sampled: Millis,
    pruned: Option<Instant>,
}

impl Door {
    pub(super) fn new(id: PerformanceId, term: i64) -> Self {
        Self { id, term, released: 0.0, last: None, written: None, sampled: Millis(0), pruned: None }
    }

    pub(super) async fn keep(mut self, backend: &Arc<Backend>, stop: &CancellationToken) {
        let mut every = tokio::time::interval(EVERY);
        every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = every.tick() => {}
                () = stop.cancelled() => return,
            }
            if let Err(error) = self.release(backend).await {
                metrics::counter!("stararena_door_failures_total").increment(1);
                tracing::debug!(id = %self.id, error = &error as &dyn std::error::Error, "places could not be released");
            }
        }
    }

    async fn release(&mut self, backend: &Arc<Backend>) -> Result<()> {
        let sale = backend.sale(self.id).await?;
        let Some(queue) = backend.seats.lobby(&sale.keys).await? else { return Ok(()) };
        let elapsed = self.last.replace(Instant::now()).map_or(Duration::ZERO, |last| last.elapsed());
        let lag_ms = backend.seats.writer_lag_ms(&sale.keys).await?;
        note_lag(self.id, lag_ms);
        // Who is let in while holds are about to be refused would stand before closed shelves.
        let keeps_up = lag_ms * WRITER_LAG_MARGIN <= backend.config.writer_lag_max_ms;
        if keeps_up && sale.phase(queue.now) == Phase::Open && queue.lobby.is_some() {
            self.released += f64::from(sale.row.release_per_min) / 60.0 * elapsed.as_secs_f64();
            // Nobody waits behind the last place: the door never runs ahead of those who came.
            self.released = self.released.min(f64::from(queue.joined));
        }
        let Some(serving) = backend.seats.serve(&sale.keys, sale.row.epoch, self.term, whole(self.released)).await?
        else {
            return Ok(());
        };
        // A former leader, or a checkpoint, may be ahead of this one: places never fall.
        self.released = self.released.max(exact(serving));
        metrics::gauge!("stararena_queue_serving", "performance" => self.id.to_string()).set(self.released);
        metrics::gauge!("stararena_queue_joined", "performance" => self.id.to_string()).set(f64::from(queue.joined));
        if self.written.is_none_or(|at| at.elapsed() >= CHECKPOINT_EVERY) {
            let row = QueueRow { joined: i64::from(queue.joined), lobby: queue.lobby.map(i64::from), serving };
            rows::checkpoint(&backend.pg, self.id, self.term, row).await?;
            self.written = Some(Instant::now());
        }
        self.sample(backend, &sale, queue.now).await
    }

    /// Takes a sample when the next one is due, from an hour before the opening to the end.
    async fn sample(&mut self, backend: &Backend, sale: &Sale, now: Millis) -> Result<()> {
        if self.pruned.is_none_or(|at| at.elapsed() >= PRUNE_EVERY) {
            desk::prune_samples(&backend.pg, now.plus(-SAMPLES_KEPT_MS)).await?;
            self.pruned = Some(Instant::now());
        }
        let due = Millis(now.0 - now.0.rem_euclid(SAMPLE_EVERY_MS));
        let wanted = sale.row.opens.plus(-SAMPLES_BEFORE_MS) <= now && now <= sale.row.closes;
        if !wanted || due <= self.sampled {
            return Ok(());
        }
        if let Some(sample) = backend.sample(sale).await? {
            desk::insert_sample(&backend.pg, self.id, self.term, &Sample { at: due, ..sample }).await?;
            self.sampled = due;
        }
        Ok(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "a lag in milliseconds is far below 2^52")]
fn note_lag(id: PerformanceId, lag_ms: i64) {
    metrics::gauge!("stararena_writer_lag_seconds", "performance" => id.to_string()).set(lag_ms as f64 / 1000.0);
}

#[expect(clippy::cast_possible_truncation, reason = "places are below 2^32")]
fn whole(released: f64) -> i64 {
    released.floor() as i64
}

#[expect(clippy::cast_precision_loss, reason = "places are below 2^32")]
fn exact(serving: i64) -> f64 {
    serving as f64
}
