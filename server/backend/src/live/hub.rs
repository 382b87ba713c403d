//! The hubs of one process: who is followed, what is shown, and the frames that all sockets share.
//!
//! Owns maps, encoded frames and the life of a hub. Reads no store: that is the follower's part.

use bytes::Bytes;
use domain::PerformanceId;
use domain::hold::SeatState;
use domain::live::{Frame, LiveMap, LogPosition};
use domain::queue::QueueStatus;
use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OnceCell, broadcast};
use tokio_util::sync::CancellationToken;

/// Frames that wait for a slow socket before it is given a snapshot instead: some seconds of a busy
/// sale. The frames are shared, so that a socket that is behind costs nothing.
const FRAMES_BUFFERED: usize = 16;
/// Changes within this time travel in one frame.
const TICK: Duration = Duration::from_millis(100);
/// The tick while sockets can't be served faster: fewer and larger frames cost less than many small
/// ones, and a map that is a quarter of a second behind still looks alive.
const TICK_STRETCHED: Duration = Duration::from_millis(250);
/// From so many sockets on the tick is stretched: a send takes some 10 µs, so that 4,000 of them take
/// most of the usual tick on the cores that also sell seats.
const SOCKETS_MANY: usize = 4_000;
/// Half of the sockets have taken a frame after this time, or sending takes the whole tick.
const FAN_OUT_LONG: Duration = Duration::from_millis(50);

/// The hubs of one process.
#[derive(Default)]
pub(crate) struct Live {
    slots: Mutex<HashMap<PerformanceId, Arc<Slot>>>,
}

/// A place for one hub: whoever comes first starts it, all others wait for that one.
type Slot = OnceCell<Arc<Hub>>;

/// Waits at a slot; takes an unused slot away when the last one who waits leaves.
struct Waiting<'a> {
    live: &'a Live,
    id: PerformanceId,
    slot: Option<Arc<Slot>>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut slots = self.live.lock();
        // Slots are handed out under this lock: with two owners, they are the table and this one.
        let unused = |slot: &Arc<Slot>| !slot.initialized() && Arc::strong_count(slot) == 2;
        if self.slot.take_if(|slot| unused(slot)).is_some() {
            slots.remove(&self.id);
        }
        // Within the lock, so that the next one to leave counts right.
        self.slot = None;
    }
}

impl Live {
    fn lock(&self) -> MutexGuard<'_, HashMap<PerformanceId, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The hub of a performance, started by `start` unless there is one. However many ask at once, one
    /// of them starts it; should that one fail or leave, the next one does.
    pub(super) async fn hub<E, F: Future<Output = Result<Arc<Hub>, E>>>(
        &self,
        id: PerformanceId,
        start: impl FnOnce() -> F,
    ) -> Result<Arc<Hub>, E> {
        let waiting = {
            let mut slots = self.lock();
            let slot = slots.entry(id).or_default();
            if let Some(hub) = slot.get() {
                // Within the lock, so that it is not retired before it is used.
                hub.touch();
                return Ok(Arc::clone(hub));
            }
            Waiting { live: self, id, slot: Some(Arc::clone(slot)) }
        };
        let slot = waiting.slot.as_ref().expect("the slot is taken away by drop alone");
        Ok(Arc::clone(slot.get_or_try_init(start).await?))
    }

    /// The polled object of a hub that runs; none where it has to be started first.
    pub(super) fn status(&self, id: PerformanceId) -> Option<Arc<StatusText>> {
        let slots = self.lock();
        let hub = slots.get(&id)?.get()?;
        // Within the lock, as above.
        hub.touch();
        Some(hub.status())
    }

    /// Ends a hub that nobody watches and nobody has asked for within `idle`; whether it has ended.
    pub(super) fn retire(&self, id: PerformanceId, hub: &Arc<Hub>, idle: Duration) -> bool {
        if hub.frames.receiver_count() > 0 || hub.idle() < idle {
            return false;
        }
        let mut slots = self.lock();
        if hub.frames.receiver_count() > 0 || hub.idle() < idle {
            return false;
        }
        if slots.get(&id).and_then(|slot| slot.get()).is_some_and(|found| Arc::ptr_eq(found, hub)) {
            slots.remove(&id);
        }
        hub.stop.cancel();
        true
    }
}

/// The polled object, and how it is sent.
pub struct StatusText {
    /// What it says.
    pub status: Arc<QueueStatus>,
    /// As JSON.
    pub json: Bytes,
    /// Changes with it; in quotes, as the header wants it. Shared by all answers, as the JSON is.
    pub etag: Bytes,
}

impl StatusText {
    fn new(status: QueueStatus) -> Self {
        let json = Bytes::from(serde_json::to_vec(&status).unwrap_or_default());
        let etag = Bytes::from(format!("\"{}-{}-{}\"", status.now.0, status.serving, status.stock));
        Self { status: Arc::new(status), json, etag }
    }
}

/// One performance as this process follows it.
pub(crate) struct Hub {
    shown: RwLock<Shown>,
    frames: broadcast::Sender<Arc<Sent>>,
    /// The last frame, which tells how long it takes to reach everybody.
    last: Mutex<Option<Arc<Sent>>>,
    status: RwLock<Arc<StatusText>>,
    used: Mutex<Instant>,
    /// Cancelled when this hub has ended: its follower and its board end, and nobody may join it.
    pub(super) stop: CancellationToken,
}

/// The map, and its snapshot once somebody wants it: encoded once for each state, whoever joins.
#[derive(Default)]
struct Shown {
    map: LiveMap,
    snapshot: OnceLock<Bytes>,
}

/// A frame on its way to all sockets.
struct Sent {
    bytes: Bytes,
    at: Instant,
    /// So many takers are half of the sockets.
    half: usize,
    taken: AtomicUsize,
    /// How long it took until half of them had it; 0 until then.
    took_us: AtomicU64,
}

impl Sent {
    fn note_taken(&self) {
        if self.taken.fetch_add(1, Ordering::Relaxed) + 1 == self.half {
            let took = self.at.elapsed();
            self.took_us.store(u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1), Ordering::Relaxed);
            metrics::histogram!("stararena_fan_out_seconds").record(took.as_secs_f64());
        }
    }

    /// How long the way to half of the sockets took, or takes so far.
    fn fan_out(&self) -> Duration {
        match self.took_us.load(Ordering::Relaxed) {
            0 if self.half > 0 => self.at.elapsed(),
            us => Duration::from_micros(us),
        }
    }
}

impl Hub {
    pub(super) fn new(status: QueueStatus) -> Self {
        Self {
            shown: RwLock::default(),
            frames: broadcast::channel(FRAMES_BUFFERED).0,
            last: Mutex::default(),
            status: RwLock::new(Arc::new(StatusText::new(status))),
            used: Mutex::new(Instant::now()),
            stop: CancellationToken::new(),
        }
    }

    fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn idle(&self) -> Duration {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// Joins the map, as long as there is one and the hub has not ended.
    pub(super) fn feed(self: &Arc<Self>) -> Option<Feed> {
        let feed = Feed { frames: self.frames.subscribe(), hub: Arc::clone(self) };
        // Subscribed first: from here on the hub isn't retired, unless it was before.
        (!self.stop.is_cancelled() && !self.read().map.seats().is_empty()).then_some(feed)
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Shown> {
        self.shown.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies a frame and sends it to every socket; whether it continues the map.
    fn apply(&self, frame: Frame) -> bool {
        let mut shown = self.shown.write().unwrap_or_else(PoisonError::into_inner);
        let encoded = Bytes::from(frame.encode());
        if shown.map.apply(frame).is_err() {
            return false;
        }
        shown.snapshot = OnceLock::new();
        // Under the lock: nothing falls between a snapshot and the subscription that goes with it.
        self.send(encoded);
        true
    }

    fn send(&self, bytes: Bytes) {
        let half = self.frames.receiver_count().div_ceil(2);
        let sent =
            Arc::new(Sent { bytes, at: Instant::now(), half, taken: AtomicUsize::new(0), took_us: AtomicU64::new(0) });
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&sent));
        metrics::counter!("stararena_frames_total").increment(1);
        // No receiver is no error: nobody watches.
        drop(self.frames.send(sent));
    }

    /// Takes over a state that was read anew; whether it is as new as the map.
    pub(super) fn take_over(&self, epoch: u64, at: LogPosition, seats: Vec<SeatState>) -> bool {
        let frame = self.read().map.towards(epoch, at, seats);
        match frame {
            Ok(Some(frame)) => self.apply(frame),
            Ok(None) => true,
            Err(_) => false,
        }
    }

    /// Takes over changes up to a position; whether all of them are of seats that there are.
    pub(super) fn change(&self, upto: LogPosition, changes: impl IntoIterator<Item = (u32, SeatState)>) -> bool {
        let frame = self.read().map.delta(upto, changes);
        self.apply(frame)
    }

    /// Sends a sign of life, unless a frame was sent within `quiet`.
    pub(super) fn beat(&self, quiet: Duration) {
        let shown = self.read();
        if self.since_sent().is_none_or(|since| since >= quiet) && !shown.map.seats().is_empty() {
            self.send(shown.map.beat().encode().into());
        }
    }

    /// How long ago the last frame was sent.
    pub(super) fn since_sent(&self) -> Option<Duration> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|sent| sent.at.elapsed())
    }

    /// The time from one frame to the next.
    pub(super) fn tick(&self) -> Duration {
        let fan_out = self.last.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|sent| sent.fan_out());
        tick(self.frames.receiver_count(), fan_out.unwrap_or_default())
    }

    /// The states of all seats; empty before the first snapshot.
    pub(super) fn seats(&self) -> Vec<SeatState> {
        self.read().map.seats().to_vec()
    }

    /// How many seats can be held, and how many are held.
    pub(super) fn stock(&self) -> (u32, u32) {
        let shown = self.read();
        let held = shown.map.seats().iter().filter(|state| **state == SeatState::Held).count();
        (shown.map.available(), u32::try_from(held).unwrap_or(u32::MAX))
    }

    /// Whether the map was read at all.
    pub(super) fn is_read(&self) -> bool {
        !self.read().map.seats().is_empty()
    }

    /// The polled object.
    pub(super) fn status(&self) -> Arc<StatusText> {
        Arc::clone(&self.status.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn set_status(&self, status: QueueStatus) {
        let text = Arc::new(StatusText::new(status));
        *self.status.write().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

/// The tick for so many sockets, of which the slower half takes a frame later than `fan_out`.
fn tick(sockets: usize, fan_out: Duration) -> Duration {
    if sockets >= SOCKETS_MANY || fan_out >= FAN_OUT_LONG { TICK_STRETCHED } else { TICK }
}

/// What one socket is to be sent: a snapshot, then every change, and another snapshot in place of what
/// it was too slow for. All of it is shared with the other sockets.
pub struct Feed {
    hub: Arc<Hub>,
    frames: broadcast::Receiver<Arc<Sent>>,
}

impl Feed {
    /// The map as it stands, encoded; the changes go on from there.
    pub fn snapshot(&mut self) -> Bytes {
        // The lock is held while subscribing, and by the follower while it applies and sends: no
        // change can fall between snapshot and subscription.
        let shown = self.hub.read();
        self.frames = self.hub.frames.subscribe();
        metrics::counter!("stararena_snapshots_sent_total").increment(1);
        let encode = || {
            metrics::counter!("stararena_snapshots_encoded_total").increment(1);
            Bytes::from(shown.map.encoded())
        };
        shown.snapshot.get_or_init(encode).clone()
    }

    /// The next frame; nothing is lost when this is dropped while it waits.
    pub async fn next(&mut self) -> Bytes {
        match self.frames.recv().await {
            Ok(sent) => {
                sent.note_taken();
                sent.bytes.clone()
            }
            Err(RecvError::Lagged(_)) => {
                metrics::counter!("stararena_sockets_lagged_total").increment(1);
                self.snapshot()
            }
            // The hub holds the sender, and this feed the hub.
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Millis;
    use domain::queue::{Mode, Phase, Supply};
    use uuid::Uuid;

    fn hub() -> Arc<Hub> {
        let hub = Hub::new(QueueStatus {
            performance: PerformanceId(Uuid::nil()),
            mode: Mode::Queue,
            phase: Phase::Open,
            now: Millis(0),
            registers_at: Millis(0),
            opens_at: Millis(0),
            closes_at: Millis(1),
            joined: 0,
            lobby: None,
            commitment: String::new(),
            beacon_due: None,
            drawn: None,
            serving: 0,
            window: None,
            rate_per_min: 0,
            stock: 0,
            supply: Supply::OnSale,
            refresh_ms: 1_000,
        });
        assert!(hub.take_over(1, at(1), vec![SeatState::Available; 4]));
        Arc::new(hub)
    }

    fn at(ms: u64) -> LogPosition {
        LogPosition { ms, seq: 0 }
    }

    fn follow(map: &mut LiveMap, bytes: &Bytes) {
        map.apply(Frame::decode(bytes).unwrap()).unwrap();
    }

    #[test]
    fn the_tick_is_stretched_for_many_sockets_and_for_slow_ones() {
        assert_eq!(tick(1, Duration::ZERO), TICK);
        assert_eq!(tick(SOCKETS_MANY, Duration::ZERO), TICK_STRETCHED);
        assert_eq!(tick(1, FAN_OUT_LONG), TICK_STRETCHED);
    }

    #[tokio::test]
    async fn one_slow_socket_does_not_stretch_the_tick_of_the_others() {
        let hub = hub();
        let mut feeds: Vec<Feed> = (0..3).map(|_| hub.feed().unwrap()).collect();
        assert!(hub.change(at(2), [(0, SeatState::Held)]));
        for feed in &mut feeds[..2] {
            feed.next().await;
        }
        let last = hub.last.lock().unwrap().clone().unwrap();
        assert!(last.took_us.load(Ordering::Relaxed) > 0, "two of three are the faster half");
    }

    #[tokio::test]
    async fn a_feed_that_lags_goes_on_with_a_snapshot_and_misses_nothing() {
        let hub = hub();
        let (mut quick, mut slow) = (hub.feed().unwrap(), hub.feed().unwrap());
        let mut maps = [LiveMap::new(), LiveMap::new()];
        follow(&mut maps[0], &quick.snapshot());
        follow(&mut maps[1], &slow.snapshot());
        for n in 0..FRAMES_BUFFERED as u64 * 2 {
            let state = if n % 2 == 0 { SeatState::Held } else { SeatState::Available };
            assert!(hub.change(at(n + 2), [((n % 4) as u32, state)]));
            follow(&mut maps[0], &quick.next().await);
        }
        let caught_up = slow.next().await;
        assert!(matches!(Frame::decode(&caught_up), Ok(Frame::Snapshot { .. })));
        follow(&mut maps[1], &caught_up);
        assert_eq!(maps[0], maps[1]);
        assert!(hub.change(at(1_000), [(3, SeatState::Sold)]));
        follow(&mut maps[1], &slow.next().await);
        assert_eq!(maps[1].state(3), Some(SeatState::Sold));
    }

    #[test]
    fn a_snapshot_is_encoded_once_for_all_who_join_at_one_state() {
        let hub = hub();
        let (mut a, mut b) = (hub.feed().unwrap(), hub.feed().unwrap());
        assert_eq!(a.snapshot().as_ptr(), b.snapshot().as_ptr(), "the same memory");
        let before = a.snapshot();
        assert!(hub.change(at(2), [(0, SeatState::Held)]));
        assert_ne!(a.snapshot(), before);
    }

    #[tokio::test]
    async fn whoever_is_first_starts_the_hub_and_an_unused_slot_goes_away() {
        let live = Live::default();
        let id = PerformanceId(Uuid::from_u128(1));
        let failed = live.hub(id, async || Err::<Arc<Hub>, _>("no such performance")).await;
        assert!(failed.is_err());
        assert!(live.lock().is_empty(), "strangers' ids leave nothing behind");
        let starts = AtomicUsize::new(0);
        let ask = || {
            live.hub(id, async || {
                starts.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
                Ok::<_, ()>(hub())
            })
        };
        assert!(live.status(id).is_none(), "asking alone starts nothing");
        // Whoever begins and leaves is followed by the next.
        drop(futures::poll!(Box::pin(ask())));
        let hubs = futures::future::join_all((0..1_000).map(|_| ask())).await;
        assert_eq!(starts.load(Ordering::Relaxed), 2, "one that was given up, and one for all");
        let first = hubs[0].clone().unwrap();
        assert!(Arc::ptr_eq(&live.status(id).unwrap(), &first.status()), "without waiting");
        assert!(hubs.iter().all(|hub| Arc::ptr_eq(hub.as_ref().unwrap(), &first)));

        let feed = first.feed().unwrap();
        assert!(!live.retire(id, &first, Duration::ZERO), "it is watched");
        drop(feed);
        assert!(!live.retire(id, &first, Duration::from_secs(60)), "somebody asked just now");
        assert!(live.retire(id, &first, Duration::ZERO));
        assert!(first.feed().is_none(), "nobody joins a hub that has ended");
        assert!(live.lock().is_empty());
    }
}
