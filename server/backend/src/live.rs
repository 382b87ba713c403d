//! One hub for each performance and process: it follows the log once, keeps the map, and gives every
//! socket the same encoded frames; beside it the board keeps the polled status of the queue.
//!
//! No request of a waiting or watching fan touches Redis: hubs and boards do, a few times a second
//! for each performance, however many fans there are. A hub starts with the first who asks and ends
//! when nobody watches or asks any more.

mod hub;

pub(crate) use hub::Live;
pub use hub::{Feed, StatusText};

use crate::backend::Backend;
use crate::catalog::Sale;
use crate::error::{Error, Result, refuse};
use crate::postgres::queue as queue_rows;
use crate::redis::{LOG_BATCH, LogEntry, SeatsRead, read_log};
use domain::hold::{SeatByte, SeatState};
use domain::live::BEAT_MS;
use domain::queue::control::supply;
use domain::queue::{Phase, QueueStatus, Supply};
use domain::{Code, Millis, PerformanceId};
use hub::Hub;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long one read of the log waits for news; after it the epoch is looked at again.
const LOG_WAIT_MS: usize = 1_000;
/// A read that takes longer than its wait and this is one from a store that is gone.
const LOG_ANSWER_MAX: Duration = Duration::from_secs(3);
/// Reads of the log for one frame: bounds a frame, and is far more than a store can write in a tick.
const LOG_BATCHES_MAX: usize = 16;
/// The log is kept for a minute. Who has not read it for this long (a process that was stopped) can't
/// know what it missed, and begins again with a snapshot.
const LOG_GAP_MAX: Duration = Duration::from_secs(30);
/// How often the polled status is made anew.
const BOARD_EVERY: Duration = Duration::from_millis(250);
/// How long to wait after a store failed to answer.
const RETRY_EVERY: Duration = Duration::from_millis(250);
/// How often a caller that waits for the warm-up looks.
const WARM_LOOK_EVERY: Duration = Duration::from_millis(50);
/// How often waiting clients poll at least and at most, whatever the load.
const REFRESH_MIN_MS: u32 = 1_000;
const REFRESH_MAX_MS: u32 = 30_000;
/// From this part of what the process can take on, polls are stretched.
const CALM: f64 = 0.5;
/// How much at twice that.
const STRETCH: f64 = 4.0;
/// How often this process tells the door's controller how it is.
const PULSE_EVERY: Duration = Duration::from_secs(1);

impl Backend {
    /// The map of a performance as it stands, and its changes from then on.
    ///
    /// # Errors
    /// `not_found`; `unavailable` until the first snapshot is there.
    pub async fn watch(self: &Arc<Self>, id: PerformanceId) -> Result<Feed> {
        match self.hub(id).await?.feed() {
            Some(feed) => Ok(feed),
            None => refuse(Code::Unavailable, "the seats are being prepared; try again in a moment"),
        }
    }

    /// The polled object of a queue: made four times a second, the same for everybody.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn queue_status(self: &Arc<Self>, id: PerformanceId) -> Result<Arc<QueueStatus>> {
        Ok(Arc::clone(&self.hub(id).await?.status().status))
    }

    /// [`Backend::queue_status`] as it is sent: encoded once, however many ask.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn queue_status_text(self: &Arc<Self>, id: PerformanceId) -> Result<Arc<StatusText>> {
        Ok(self.hub(id).await?.status())
    }

    /// [`Backend::queue_status_text`] of a performance that this process follows already; none of any other.
    pub fn queue_status_at_hand(&self, id: PerformanceId) -> Option<Arc<StatusText>> {
        self.live.status(id)
    }

    /// Waits until the seats of a sale are in place, as far as `bound` allows; whether they are.
    ///
    /// # Errors
    /// `not_found`; outages.
    pub async fn wait_until_warm(self: &Arc<Self>, id: PerformanceId, bound: Duration) -> Result<bool> {
        let started = Instant::now();
        loop {
            let sale = self.reload_sale(id).await?;
            if sale.row.epoch > 0 && self.seats.snapshot(&sale.keys, sale.row.epoch).await?.is_some() {
                return Ok(true);
            }
            if started.elapsed() > bound {
                return Ok(false);
            }
            tokio::time::sleep(WARM_LOOK_EVERY).await;
        }
    }

    /// The states of all seats as this process knows them.
    pub(crate) async fn seat_states(self: &Arc<Self>, sale: &Sale) -> Result<Vec<SeatState>> {
        let states = self.hub(sale.id()).await?.seats();
        if states.is_empty() {
            return refuse(Code::Unavailable, "the seats are being prepared; try again in a moment");
        }
        Ok(states)
    }

    /// The hub of a performance: started by the first who asks, while all others wait for that one.
    async fn hub(self: &Arc<Self>, id: PerformanceId) -> Result<Arc<Hub>> {
        self.live.hub(id, || self.start_hub(id)).await
    }

    async fn start_hub(self: &Arc<Self>, id: PerformanceId) -> Result<Arc<Hub>> {
        let sale = self.sale(id).await?;
        let kept = queue_rows::read(&self.pg, id).await?;
        let number = |kept: i64| u32::try_from(kept).unwrap_or(u32::MAX);
        let mut status = base_status(&sale, self.now(), number(kept.serving));
        status.joined = number(kept.joined);
        status.lobby = status.lobby.or(kept.lobby.map(number));
        let hub = Arc::new(Hub::new(status));
        // One read each before the first answer, so that nobody is shown an empty house.
        if let Ok(Some(read)) = self.seats.snapshot(&sale.keys, sale.row.epoch).await {
            take_over(&hub, sale.row.epoch, &read);
        }
        if let Err(error) = self.refresh_board(&hub, id).await {
            tracing::warn!(%id, error = &error as &dyn std::error::Error, "the queue's status could not be read yet");
        }
        metrics::counter!("stararena_hubs_started_total").increment(1);
        metrics::gauge!("stararena_hubs").increment(1.0);
        tokio::spawn(follow(Arc::clone(self), Arc::clone(&hub), id));
        tokio::spawn(board(Arc::clone(self), Arc::clone(&hub), id));
        Ok(hub)
    }

    async fn refresh_board(&self, hub: &Hub, id: PerformanceId) -> Result<()> {
        let sale = self.sale(id).await?;
        let before = Arc::clone(&hub.status().status);
        let queue = self.seats.lobby(&sale.keys).await?;
        let (serving, pace, window) = self.seats.served(&sale.keys).await?;
        let now = queue.map_or_else(|| self.now(), |queue| queue.now);
        // A place never gets worse: not even while Redis is being rebuilt.
        let mut status = base_status(&sale, now, before.serving.max(serving.unwrap_or(0)));
        if let Some(queue) = queue {
            status.joined = queue.joined;
            status.lobby = queue.lobby;
        } else {
            status.joined = before.joined;
            status.lobby = before.lobby;
        }
        if let Some(drawn) = &sale.row.drawn {
            status.lobby = Some(drawn.lobby);
            status.drawn = Some(drawn.published(&sale.row.draw_seed));
        }
        status.window = window.or(before.window.filter(|_| serving.is_none()));
        status.rate_per_min = if status.phase == Phase::Open { pace } else { 0 };
        let (available, held) = hub.stock();
        status.stock = available;
        // An empty map is one that was not read yet: nobody is told that nothing is left.
        status.supply = if hub.is_read() { supply(available, held) } else { before.supply };
        let waiting = status.joined.saturating_sub(status.serving);
        status.refresh_ms = refresh_ms(waiting, self.config.queue.polls_per_s, self.load.pressure());
        hub.set_status(status);
        Ok(())
    }
}

fn base_status(sale: &Sale, now: Millis, serving: u32) -> QueueStatus {
    QueueStatus {
        performance: sale.id(),
        mode: sale.row.mode,
        phase: sale.phase(now),
        now,
        registers_at: sale.row.registers,
        opens_at: sale.row.opens,
        closes_at: sale.row.closes,
        joined: 0,
        lobby: sale.row.lobby,
        commitment: hex::encode(&sale.row.draw_commitment),
        beacon_due: sale.row.beacon_due,
        drawn: None,
        serving,
        window: None,
        rate_per_min: 0,
        stock: 0,
        supply: Supply::OnSale,
        refresh_ms: REFRESH_MIN_MS,
    }
}

/// How often so many who wait should poll, so that their polls are as many as wanted; more seldom while the
/// process is busy.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped into the range of the type")]
fn refresh_ms(waiting: u32, polls_per_s: u32, pressure: f64) -> u32 {
    let even = f64::from(waiting) * 1_000.0 / f64::from(polls_per_s.max(1));
    let stretched = even.max(f64::from(REFRESH_MIN_MS)) * (1.0 + STRETCH * (pressure - CALM).max(0.0));
    // Rounded, so that the object does not change with every breath of the load.
    let rounded = (stretched / 100.0).round() * 100.0;
    rounded.clamp(f64::from(REFRESH_MIN_MS), f64::from(REFRESH_MAX_MS)) as u32
}

/// What a byte of Redis is to the public.
fn shown(byte: u8) -> SeatState {
    SeatByte(byte).shown()
}

/// The epoch as frames carry it.
fn wire_epoch(epoch: i64) -> u64 {
    u64::try_from(epoch).unwrap_or(0)
}

/// Shows a state that was read from Redis; whether it is as new as what is shown already.
fn take_over(hub: &Hub, epoch: i64, read: &SeatsRead) -> bool {
    hub.take_over(wire_epoch(epoch), read.at, read.bytes.iter().copied().map(shown).collect())
}

/// Makes the polled object anew, again and again, until the hub ends; and ends it, once nobody watches
/// or asks any more.
async fn board(backend: Arc<Backend>, hub: Arc<Hub>, id: PerformanceId) {
    let idle = Duration::from_millis(backend.config.live.hub_idle_ms.unsigned_abs());
    let mut told: Option<Instant> = None;
    let mut every = tokio::time::interval(BOARD_EVERY);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        every.tick().await;
        if backend.live.retire(id, &hub, idle) {
            metrics::gauge!("stararena_hubs").decrement(1.0);
            return;
        }
        // Also while Redis is away: it is the connection to this process that is alive.
        hub.beat(Duration::from_millis(u64::from(BEAT_MS)));
        if let Err(error) = backend.refresh_board(&hub, id).await {
            metrics::counter!("stararena_board_failures_total").increment(1);
            tracing::debug!(%id, error = &error as &dyn std::error::Error, "the queue's status could not be read");
        }
        if told.is_none_or(|at| at.elapsed() >= PULSE_EVERY) {
            told = Some(Instant::now());
            if let Ok(sale) = backend.sale(id).await {
                // Untold is unmeasured, which is taken as healthy.
                drop(backend.pulses.tell(&backend.seats, &sale.keys, id, hub.status().status.now).await);
            }
        }
    }
}

/// Follows the log of one performance until its hub ends.
async fn follow(backend: Arc<Backend>, hub: Arc<Hub>, id: PerformanceId) {
    let following = async {
        loop {
            if let Err(error) = follow_epoch(&backend, &hub, id).await {
                metrics::counter!("stararena_hub_failures_total").increment(1);
                tracing::debug!(%id, error = &error as &dyn std::error::Error, "the log could not be followed");
            }
            tokio::time::sleep(RETRY_EVERY).await;
        }
    };
    hub.stop.run_until_cancelled(following).await;
}

/// Counts a reader of the log for as long as it is held.
struct Reading;

impl Reading {
    fn new() -> Self {
        metrics::gauge!("stararena_log_readers").increment(1.0);
        Self
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        metrics::gauge!("stararena_log_readers").decrement(1.0);
    }
}

/// Follows until the epoch changes: a snapshot, then deltas.
async fn follow_epoch(backend: &Arc<Backend>, hub: &Hub, id: PerformanceId) -> Result<()> {
    let sale = backend.reload_sale(id).await?;
    let epoch = sale.row.epoch;
    let Some(read) = backend.seats.snapshot(&sale.keys, epoch).await? else { return Ok(()) };
    if !take_over(hub, epoch, &read) {
        return Err(Error::Broken(format!("the seats of {id} are older than what is shown")));
    }
    let mut at = read.at;
    // A blocking read holds up everything behind it: a connection of its own.
    let mut connection = backend.seats.own_connection(&sale.keys).await?;
    let _reading = Reading::new();
    loop {
        let asked = Instant::now();
        let entries = read_tick(&mut connection, &sale, hub, &at.to_string()).await?;
        let standing: Option<i64> = redis::cmd("GET").arg(sale.keys.epoch()).query_async(&mut connection).await?;
        if standing != Some(epoch) || asked.elapsed() > LOG_GAP_MAX {
            return Ok(());
        }
        let Some(upto) = entries.last().and_then(LogEntry::position) else { continue };
        let changes = entries.iter().flat_map(LogEntry::changes).map(|(seat, byte)| (seat, shown(byte)));
        if !hub.change(upto, changes) {
            return Err(Error::Broken(format!("a change of {id} is of a seat that there isn't")));
        }
        at = upto;
    }
}

/// Waits for news in the log, and for the tick: the first change after a quiet time is shown at once,
/// those that follow it closely travel together.
async fn read_tick(
    connection: &mut impl redis::aio::ConnectionLike,
    sale: &Sale,
    hub: &Hub,
    after: &str,
) -> Result<Vec<LogEntry>> {
    let bound = Duration::from_millis(LOG_WAIT_MS as u64) + LOG_ANSWER_MAX;
    let silent = |_| Error::Broken("the log's store does not answer".to_owned());
    let first = read_log(connection, &sale.keys, after, Some(LOG_WAIT_MS));
    let mut entries = tokio::time::timeout(bound, first).await.map_err(silent)??;
    if entries.is_empty() {
        return Ok(entries);
    }
    if let Some(left) = hub.since_sent().and_then(|since| hub.tick().checked_sub(since)) {
        tokio::time::sleep(left).await;
    }
    for _ in 1..LOG_BATCHES_MAX {
        let Some(last) = entries.last().map(|entry| entry.id.clone()) else { break };
        let more = read_log(connection, &sale.keys, &last, None);
        let more = tokio::time::timeout(bound, more).await.map_err(silent)??;
        let full = more.len() == LOG_BATCH;
        entries.extend(more);
        if !full {
            break;
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::refresh_ms;

    #[test]
    fn polls_stretch_with_the_crowd_and_with_the_load() {
        assert_eq!(refresh_ms(100, 10_000, 0.0), 1_000);
        assert_eq!(refresh_ms(50_000, 10_000, 0.0), 5_000);
        assert_eq!(refresh_ms(50_000, 10_000, 1.0), 15_000);
        assert_eq!(refresh_ms(4_000_000_000, 10_000, 9.0), 30_000);
        assert_eq!(refresh_ms(0, 10_000, 0.75), 2_000);
    }
}
