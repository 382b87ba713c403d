//! The door: measures, lets the controller decide how far to serve, and carries that out; writes down the
//! queue's numbers, and takes the samples that the on-sale desk looks back on.

use super::drawing::Drawing;
use crate::backend::Backend;
use crate::catalog::Sale;
use crate::error::Result;
use crate::postgres::desk;
use crate::postgres::queue::{self as rows, QueueRow};
use crate::pulse;
use crate::redis::{DoorRead, LobbyRead, window_text};
use domain::hold::{SeatByte, SeatState};
use domain::organizer::desk::{DoorSample, Sample};
use domain::queue::control::{Budgets, Decision, Limits, Measured, Memory};
use domain::queue::lottery::{Call, Called, next_window};
use domain::queue::{Mode, Phase, Window};
use domain::{Millis, PerformanceId};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How often places are released.
const EVERY: Duration = Duration::from_millis(250);
/// The door slows when the order writer's lag reaches this part of the bound beyond which holding is refused.
const WRITER_LAG_MARGIN: i64 = 2;
/// How often the numbers are written to Postgres where none of them that must not be lost has changed.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);
/// Places that one look passes over at most, when nobody has them: the rest follows in a quarter of a second.
const PASSED_MAX: u32 = 65_536;
/// Of these so many are asked about at once.
const PASSED_STEP: u32 = 4_096;
/// How often a sample is taken: one instant for all leaders, whose rows would meet there.
const SAMPLE_EVERY_MS: i64 = 5_000;
/// Samples begin so long before the opening: the lobby fills in that time.
const SAMPLES_BEFORE_MS: i64 = 3_600_000;
/// Samples are kept so long: a month's sales can be compared.
const SAMPLES_KEPT_MS: i64 = 30 * 24 * 3_600_000;
/// How often older ones are forgotten.
const PRUNE_EVERY: Duration = Duration::from_secs(3_600);

/// One performance's door, under one leader's term.
pub(super) struct Door {
    id: PerformanceId,
    term: i64,
    drawing: Drawing,
    /// What was written to Postgres last, and when.
    written: Option<(Instant, i64, bool)>,
    /// Places given at the last look: the steepest rise is what a loss of the store may cost.
    joined: Option<u32>,
    steepest: u32,
    decided: Option<(Measured, Decision)>,
    /// The instant of the last sample.
    sampled: Millis,
    pruned: Option<Instant>,
}

/// What the door does next.
struct Next {
    serving: u32,
    pace_per_min: u32,
    memory: Memory,
    window: Option<Window>,
}

impl Door {
    pub(super) fn new(id: PerformanceId, term: i64) -> Self {
        Self {
            id,
            term,
            drawing: Drawing::new(),
            written: None,
            joined: None,
            steepest: 0,
            decided: None,
            sampled: Millis(0),
            pruned: None,
        }
    }

    pub(super) async fn keep(mut self, backend: &Arc<Backend>, stop: &CancellationToken) {
        let mut every = tokio::time::interval(EVERY);
        every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = every.tick() => {}
                () = stop.cancelled() => return,
            }
            if let Err(error) = super::caught(self.look(backend)).await {
                metrics::counter!("stararena_door_failures_total").increment(1);
                tracing::debug!(id = %self.id, error = &error as &dyn std::error::Error, "places could not be released");
            }
        }
    }

    async fn look(&mut self, backend: &Arc<Backend>) -> Result<()> {
        let sale = backend.sale(self.id).await?;
        let Some(queue) = backend.seats.lobby(&sale.keys).await? else { return Ok(()) };
        let written = self.drawing.note_arrivals(backend, &sale, queue.joined).await?;
        if let Some(before) = self.joined.replace(queue.joined) {
            self.steepest = self.steepest.max(queue.joined.saturating_sub(before));
        }
        let Some(door) = backend.seats.door(&sale.keys, sale.row.epoch, self.term).await? else { return Ok(()) };
        let measured = measure(backend, &sale, &queue, &door).await?;
        let mut next = self.decide(backend, &sale, &measured, &door);
        if queue.holes && next.serving >= measured.serving {
            next = past_holes(backend, &sale, &measured, next).await?;
        }
        self.carry_out(backend, &sale, &queue, written, next).await?;
        // A sale that was read a moment ago may lack the lobby that was just written down.
        self.drawing.step(backend, &sale, &queue).await?;
        self.sample(backend, &sale, queue.now).await
    }

    fn decide(&mut self, backend: &Backend, sale: &Sale, measured: &Measured, door: &DoorRead) -> Next {
        let limits = Limits { shoppers_max: sale.row.shoppers_max, rate_max_per_min: sale.row.release_per_min };
        let mut memory: Memory = serde_json::from_str(&door.control).unwrap_or_default();
        let decision = memory.step(limits, budgets(backend), measured);
        self.decided = Some((*measured, decision));
        if sale.row.mode == Mode::Lottery {
            let (serving, window) = call(sale, measured, door.window);
            return Next { serving, pace_per_min: 0, memory, window };
        }
        Next { serving: decision.serving, pace_per_min: decision.pace_per_min, memory, window: None }
    }

    /// Postgres first, Redis then: what fans were shown is never more than what survives a loss of Redis.
    async fn carry_out(
        &mut self,
        backend: &Backend,
        sale: &Sale,
        queue: &LobbyRead,
        written: u32,
        next: Next,
    ) -> Result<()> {
        let serving = i64::from(next.serving);
        let control = serde_json::to_string(&next.memory).unwrap_or_default();
        let news = self.written.is_none_or(|(at, shown, frozen)| {
            serving > shown || frozen != queue.lobby.is_some() || at.elapsed() >= CHECKPOINT_EVERY
        });
        if news {
            let row = QueueRow {
                joined: i64::from(written),
                joined_step: i64::from(self.steepest),
                lobby: queue.lobby.map(i64::from),
                serving,
                control: control.clone(),
                window: window_text(next.window.as_ref()),
            };
            if !rows::checkpoint(&backend.pg, self.id, self.term, &row).await? {
                // A newer leader wrote: what this one decided is not carried out.
                return Ok(());
            }
            self.written = Some((Instant::now(), serving, queue.lobby.is_some()));
        }
        let told = (next.pace_per_min, control.as_str(), next.window.as_ref());
        if let Some(serving) = backend.seats.serve(&sale.keys, sale.row.epoch, self.term, serving, told).await? {
            note_numbers(self.id, serving, queue.joined);
        }
        Ok(())
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
            desk::insert_sample(
                &backend.pg,
                self.id,
                self.term,
                &Sample { at: due, door: self.decided.map(door_sample), ..sample },
            )
            .await?;
            self.sampled = due;
        }
        Ok(())
    }
}

/// However a door ends, who keeps it next tells its numbers: what this process saw last would be told for ever.
impl Drop for Door {
    fn drop(&mut self) {
        note_lag(self.id, 0.0);
        note_numbers(self.id, 0, 0);
    }
}

/// What the desk looks back on.
#[expect(clippy::cast_possible_truncation, reason = "milliseconds to some digits, and a share")]
fn door_sample((measured, decision): (Measured, Decision)) -> DoorSample {
    DoorSample {
        rate_per_min: decision.rate_per_min,
        pace_per_min: decision.pace_per_min,
        show_up: decision.show_up as f32,
        hold_p99_ms: measured.hold_p99_ms.map(|ms| ms as f32),
        writer_lag_ms: rounded(measured.writer_lag_ms),
        pool_wait_ms: measured.pool_wait_ms.map(|ms| ms as f32),
        reason: decision.reason,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped into the range of the type")]
fn rounded(ms: f64) -> u32 {
    ms.clamp(0.0, f64::from(u32::MAX)).round() as u32
}

/// Serves as many places that somebody has as were decided on: numbers that were skipped after a loss of the
/// store are passed over, so that nobody waits for fans who don't exist. Where all is decided that may be, those
/// that come next are passed over as well.
async fn past_holes(backend: &Backend, sale: &Sale, measured: &Measured, mut next: Next) -> Result<Next> {
    let Some(draw) = sale.row.draw() else { return Ok(next) };
    let mut wanted = next.serving - measured.serving;
    let mut upto = measured.serving;
    let last = measured.joined.min(measured.serving.saturating_add(PASSED_MAX));
    // Mostly all are there: no more than those who are called, and the next one, are asked about at first.
    let mut step = wanted.saturating_add(1).min(PASSED_STEP);
    while upto < last {
        let places: Vec<u32> = (upto..last.min(upto.saturating_add(step))).collect();
        step = PASSED_STEP;
        let arrivals: Vec<u32> = places.iter().map(|place| draw.arrival(*place)).collect();
        for (place, given) in places.iter().zip(backend.seats.are_given(&sale.keys, &arrivals).await?) {
            if given && wanted == 0 {
                next.serving = *place;
                next.memory.serve_up_to(next.serving);
                return Ok(next);
            }
            wanted -= u32::from(given);
            upto = place + 1;
        }
    }
    next.serving = upto.max(measured.serving);
    next.memory.serve_up_to(next.serving);
    Ok(next)
}

/// Whom a lottery calls now: places up to which it has called, and the window that is open.
fn call(sale: &Sale, measured: &Measured, window: Option<Window>) -> (u32, Option<Window>) {
    let called = Called {
        now: measured.now,
        phase: measured.phase,
        drawn: measured.drawn,
        joined: measured.joined,
        serving: measured.serving,
        window,
        available: measured.available,
        seat_limit: sale.row.seat_limit,
        window_ms: sale.row.window_ms,
    };
    match next_window(&called) {
        Call::Rests => (measured.serving, window),
        Call::Extends(window) => (measured.serving, Some(window)),
        Call::Opens { window, serving } => (serving, Some(window)),
        Call::OpensToAll => (measured.serving, None),
    }
}

/// Everything that the controller decides by.
async fn measure(backend: &Backend, sale: &Sale, queue: &LobbyRead, door: &DoorRead) -> Result<Measured> {
    let lag_ms = backend.seats.writer_lag_ms(&sale.keys).await?;
    let pulse = pulse::read(&backend.seats, &sale.keys, queue.now).await?;
    let phase = sale.phase(queue.now);
    // Before the opening and after the end nothing is decided by it, and the whole map is read for it.
    let (available, held) = if phase == Phase::Open { stock(backend, sale).await? } else { (0, 0) };
    let writer_lag_ms = lossy(lag_ms);
    note_lag(sale.id(), writer_lag_ms);
    Ok(Measured {
        now: door.now,
        phase,
        drawn: sale.row.drawn.is_some(),
        joined: queue.joined,
        serving: door.serving,
        shoppers: door.shoppers,
        entered: door.entered,
        met_full: door.met_full,
        available,
        held,
        hold_p99_ms: pulse.hold_p99_ms,
        writer_lag_ms,
        pool_wait_ms: pulse.pool_wait_ms,
    })
}

/// Seats that can be held, and seats that are held.
async fn stock(backend: &Backend, sale: &Sale) -> Result<(u32, u32)> {
    let Some(read) = backend.seats.snapshot(&sale.keys, sale.row.epoch).await? else { return Ok((0, 0)) };
    let count = |wanted: SeatState| {
        let seats = read.bytes.iter().filter(|byte| SeatByte(**byte).shown() == wanted).count();
        u32::try_from(seats).unwrap_or(u32::MAX)
    };
    Ok((count(SeatState::Available), count(SeatState::Held)))
}

fn budgets(backend: &Backend) -> Budgets {
    let config = &backend.config;
    Budgets {
        hold_p99_ms: lossy(config.queue.hold_p99_budget_ms),
        // Who is let in while holds are about to be refused would stand before closed shelves.
        writer_lag_ms: lossy(config.writer_lag_max_ms / WRITER_LAG_MARGIN),
        pool_wait_ms: lossy(config.queue.pool_wait_budget_ms),
    }
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds and places are far below 2^52")]
fn lossy(number: i64) -> f64 {
    number as f64
}

fn note_lag(id: PerformanceId, lag_ms: f64) {
    metrics::gauge!("stararena_writer_lag_seconds", "performance" => id.to_string()).set(lag_ms / 1000.0);
}

fn note_numbers(id: PerformanceId, serving: i64, joined: u32) {
    metrics::gauge!("stararena_queue_serving", "performance" => id.to_string()).set(lossy(serving));
    metrics::gauge!("stararena_queue_joined", "performance" => id.to_string()).set(f64::from(joined));
}
