//! One hub for each performance and process: it follows the log once, keeps the map, and gives every
//! socket the same encoded frames; beside it the board keeps the polled status of the queue.
//!
//! No request of a waiting or watching fan touches Redis: hubs and boards do, a few times a second
//! for each performance, however many fans there are.

use crate::backend::Backend;
use crate::catalog::Sale;
use crate::error::{Error, Result, refuse};
use crate::postgres::queue as queue_rows;
use crate::redis::read_log;
use bytes::Bytes;
use domain::hold::{SeatByte, SeatState};
use domain::live::{Frame, LiveMap, LogPosition};
use domain::queue::{Phase, QueueStatus};
use domain::{Code, Millis, PerformanceId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};
use tokio::sync::broadcast;

/// Frames that wait for a slow socket before it is given a snapshot instead.
const FRAMES_BUFFERED: usize = 64;
/// Changes within this time travel in one frame.
const TICK: Duration = Duration::from_millis(100);
/// How long one read of the log waits for news; after it the epoch is looked at again.
const LOG_WAIT_MS: usize = 1_000;
/// How often the polled status is made anew.
const BOARD_EVERY: Duration = Duration::from_millis(250);
/// How long to wait after a store failed to answer.
const RETRY_EVERY: Duration = Duration::from_millis(250);
/// How often a caller that waits for the warm-up looks.
const WARM_LOOK_EVERY: Duration = Duration::from_millis(50);
/// How often waiting clients poll.
const REFRESH_MS: u32 = 1_000;

/// The hubs of one process.
#[derive(Default)]
pub(crate) struct Live {
    hubs: Mutex<HashMap<PerformanceId, Arc<Hub>>>,
}

/// One performance as this process follows it.
pub(crate) struct Hub {
    map: RwLock<LiveMap>,
    frames: broadcast::Sender<Bytes>,
    status: RwLock<Arc<QueueStatus>>,
}

/// What a socket gets: the whole map first, then every change, without a gap between.
pub struct Feed {
    /// The map as it stands, encoded.
    pub snapshot: Bytes,
    /// Every later frame. A receiver that lags asks for a new feed.
    pub frames: broadcast::Receiver<Bytes>,
}

impl Hub {
    fn feed(&self) -> Option<Feed> {
        // The lock is held while subscribing, and by the follower while it applies and sends: no
        // change can fall between snapshot and subscription.
        let map = self.map.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        if map.seats().is_empty() {
            return None;
        }
        Some(Feed { snapshot: map.snapshot().encode().into(), frames: self.frames.subscribe() })
    }

    fn apply(&self, frame: Frame) -> bool {
        let mut map = self.map.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        let encoded = Bytes::from(frame.encode());
        if map.apply(frame).is_err() {
            return false;
        }
        // No receiver is no error: nobody watches.
        drop(self.frames.send(encoded));
        true
    }

    fn status(&self) -> Arc<QueueStatus> {
        Arc::clone(&self.status.read().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

impl Backend {
    /// The map of a performance as it stands, and its changes from then on.
    ///
    /// # Errors
    /// `not_found`; `unavailable` until the first snapshot is there.
    pub async fn watch(self: &Arc<Self>, id: PerformanceId) -> Result<Feed> {
        let hub = self.hub(id).await?;
        match hub.feed() {
            Some(feed) => Ok(feed),
            None => refuse(Code::Unavailable, "the seats are being prepared; try again in a moment"),
        }
    }

    /// The polled object of a queue: made four times a second, the same for everybody.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn queue_status(self: &Arc<Self>, id: PerformanceId) -> Result<Arc<QueueStatus>> {
        Ok(self.hub(id).await?.status())
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
        let hub = self.hub(sale.id()).await?;
        let states = hub.map.read().unwrap_or_else(std::sync::PoisonError::into_inner).seats().to_vec();
        if states.is_empty() {
            return refuse(Code::Unavailable, "the seats are being prepared; try again in a moment");
        }
        Ok(states)
    }

    async fn hub(self: &Arc<Self>, id: PerformanceId) -> Result<Arc<Hub>> {
        let found = self.live.hubs.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get(&id).cloned();
        if let Some(hub) = found {
            return Ok(hub);
        }
        let sale = self.sale(id).await?;
        let kept = queue_rows::read(&self.pg, id).await?;
        let status = base_status(&sale, self.now(), u32::try_from(kept.serving).unwrap_or(u32::MAX));
        let hub = Arc::new(Hub {
            map: RwLock::default(),
            frames: broadcast::channel(FRAMES_BUFFERED).0,
            status: RwLock::new(Arc::new(status)),
        });
        let first = {
            let mut hubs = self.live.hubs.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            match hubs.get(&id) {
                Some(other) => return Ok(Arc::clone(other)),
                None => hubs.insert(id, Arc::clone(&hub)).is_none(),
            }
        };
        if first {
            // One read each before the first answer, so that nobody is shown an empty house.
            if let Ok(Some(read)) = self.seats.snapshot(&sale.keys, sale.row.epoch).await {
                hub.apply(snapshot_frame(sale.row.epoch, &read.bytes, read.at));
            }
            if let Err(error) = self.refresh_board(&hub, id).await {
                tracing::warn!(%id, error = &error as &dyn std::error::Error, "the queue's status could not be read yet");
            }
            tokio::spawn(follow(Arc::clone(self), Arc::clone(&hub), id));
            tokio::spawn(board(Arc::clone(self), Arc::clone(&hub), id));
        }
        Ok(hub)
    }

    async fn refresh_board(&self, hub: &Hub, id: PerformanceId) -> Result<()> {
        let sale = self.sale(id).await?;
        let before = hub.status();
        let queue = self.seats.lobby(&sale.keys).await?;
        let serving: Option<u32> =
            redis::cmd("HGET").arg(sale.keys.meta()).arg("serving").query_async(&mut self.seats.connection()).await?;
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
        status.seed = status.lobby.map(|_| hex::encode(sale.row.draw_seed));
        status.stock = hub.map.read().unwrap_or_else(std::sync::PoisonError::into_inner).available();
        *hub.status.write().unwrap_or_else(std::sync::PoisonError::into_inner) = Arc::new(status);
        Ok(())
    }
}

fn base_status(sale: &Sale, now: Millis, serving: u32) -> QueueStatus {
    QueueStatus {
        performance: sale.id(),
        phase: sale.phase(now),
        now,
        opens_at: sale.row.opens,
        closes_at: sale.row.closes,
        joined: 0,
        lobby: sale.row.lobby,
        commitment: hex::encode(&sale.row.draw_commitment),
        seed: None,
        serving,
        rate_per_min: if sale.phase(now) == Phase::Open { sale.row.release_per_min } else { 0 },
        stock: 0,
        refresh_ms: REFRESH_MS,
    }
}

fn snapshot_frame(epoch: i64, bytes: &[u8], at: LogPosition) -> Frame {
    Frame::Snapshot {
        epoch: u64::try_from(epoch).unwrap_or(0),
        at,
        seats: bytes.iter().map(|b| SeatByte(*b).shown()).collect(),
    }
}

/// Makes the polled object anew, again and again.
async fn board(backend: Arc<Backend>, hub: Arc<Hub>, id: PerformanceId) {
    let mut every = tokio::time::interval(BOARD_EVERY);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        every.tick().await;
        if let Err(error) = backend.refresh_board(&hub, id).await {
            metrics::counter!("stararena_board_failures_total").increment(1);
            tracing::debug!(%id, error = &error as &dyn std::error::Error, "the queue's status could not be read");
        }
    }
}

/// Follows the log of one performance for ever.
async fn follow(backend: Arc<Backend>, hub: Arc<Hub>, id: PerformanceId) {
    loop {
        if let Err(error) = follow_epoch(&backend, &hub, id).await {
            metrics::counter!("stararena_hub_failures_total").increment(1);
            tracing::debug!(%id, error = &error as &dyn std::error::Error, "the log could not be followed");
        }
        tokio::time::sleep(RETRY_EVERY).await;
    }
}

/// Follows until the epoch changes: a snapshot, then deltas.
async fn follow_epoch(backend: &Arc<Backend>, hub: &Hub, id: PerformanceId) -> Result<()> {
    let sale = backend.reload_sale(id).await?;
    let epoch = sale.row.epoch;
    let Some(read) = backend.seats.snapshot(&sale.keys, epoch).await? else { return Ok(()) };
    hub.apply(snapshot_frame(epoch, &read.bytes, read.at));
    let mut at = read.at;
    // A blocking read holds up everything behind it: a connection of its own, without a time-out.
    let config = redis::AsyncConnectionConfig::new().set_response_timeout(None);
    let mut connection =
        redis::Client::open(backend.redis_url.as_str())?.get_multiplexed_async_connection_with_config(&config).await?;
    loop {
        let started = Instant::now();
        let mut entries = read_log(&mut connection, &sale.keys, &at.to_string(), Some(LOG_WAIT_MS)).await?;
        if let Some(last) = entries.last() {
            // More of the same tick joins the frame.
            tokio::time::sleep(TICK.saturating_sub(started.elapsed().min(TICK / 2))).await;
            let more = read_log(&mut connection, &sale.keys, &last.id.clone(), None).await?;
            entries.extend(more);
        }
        let standing: Option<i64> = redis::cmd("GET").arg(sale.keys.epoch()).query_async(&mut connection).await?;
        if standing != Some(epoch) {
            return Ok(());
        }
        let Some(upto) = entries.last().and_then(crate::redis::LogEntry::position) else { continue };
        let changes = entries
            .iter()
            .flat_map(crate::redis::LogEntry::changes)
            .map(|(seat, byte)| (seat, SeatByte(byte).shown()))
            .collect();
        let frame = Frame::Delta { epoch: u64::try_from(epoch).unwrap_or(0), after: at, upto, changes };
        if !hub.apply(frame) {
            return Err(Error::Broken(format!("a delta of {id} does not continue the map")));
        }
        at = upto;
    }
}
