//! Seat changes on their way to many sockets: how long from the accepted hold until a browser knows,
//! and what a socket costs the server.
//!
//! Every socket reads all that it is sent. Frames are decoded, and their delays noted, on a sample of
//! the sockets: decoding on all of them would measure the client.

use super::Context;
use super::figure::{Budget, Figure, count, latencies, note, per_second, quantile_ms};
use super::house::{self, House};
use super::load::Line;
use super::memory::resident;
use super::socket::Socket;
use anyhow::{Context as _, bail, ensure};
use backend::bench::Shopper;
use domain::hold::SeatState;
use domain::live::{Frame, FrameError, LiveMap, RESYNC};
use domain::{PerformanceId, SeatNo};
use futures::{StreamExt as _, stream};
use hdrhistogram::Histogram;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

/// Seats of the house.
const SEATS: u32 = 20_000;
/// Seat changes a second, two with each hold.
const CHANGES_PER_S: u32 = 200;
/// Most holds of one stage.
const HOLDS_MAX: usize = 2_000;
/// Lines that carry the holds: one that waits doesn't hold the others up.
const HOLDERS: usize = 8;
/// Most sockets whose frames are decoded.
const SAMPLE: usize = 500;
/// Sockets opened at the same time.
const OPENED_AT_ONCE: usize = 64;
/// Descriptors besides those of the sockets.
const OTHER_DESCRIPTORS: u64 = 400;
/// How long the last change may take to the last socket of the sample.
const ARRIVAL_LIMIT: Duration = Duration::from_secs(10);
/// Budgets: 99% of the deltas, in milliseconds, and memory of a socket, in bytes.
const P99_MAX_MS: f64 = 500.0;
const SOCKET_MAX_BYTES: f64 = 20.0 * 1_024.0;

/// What the sockets of the sample share: when which seat was taken, and what they found.
struct Board {
    started: Instant,
    /// Microseconds from the start to the accepted hold, by seat; 0 where there is none.
    accepted_us: Vec<AtomicU64>,
    /// Changes accepted, and how many the sample noted altogether.
    changes: AtomicUsize,
    noted: AtomicUsize,
    gaps: AtomicUsize,
    frames: AtomicUsize,
    delays: Mutex<Histogram<u64>>,
}

pub(super) async fn measure(context: Arc<Context>) -> anyhow::Result<Vec<Figure>> {
    let stages: Vec<usize> = context.size(vec![10, 1_000, 10_000], vec![2, 20]);
    raise_descriptors(stages.last().copied().unwrap_or(0))?;
    house::within(&context, true, async |house| {
        let id = house.sale(context.size(SEATS, 1_000)).await?;
        house.warm(id).await?;
        // The first who looks wakes the hub up; until it has read the map, others are told to come back.
        Socket::open(house.address()?, id, 0).await?.first_frame().await?;
        let holds = holds_of(&context);
        let shoppers = house.bench.admit(id, &house.fans(holds * stages.len()).await?).await?;
        let mut figures = Vec::new();
        let mut baseline = None;
        for (at, (sockets, shoppers)) in stages.iter().zip(shoppers.chunks(holds)).enumerate() {
            (context.tell)(&format!("fanout: {sockets} sockets"));
            let first_seat = u32::try_from(at * holds * 2)?;
            let stage = stage(house, id, *sockets, (shoppers, first_seat)).await?;
            match &baseline {
                // The first stage is so small that its delays are those of the tick alone.
                None => baseline = Some(stage),
                Some(few) => figures.extend(stage.figures(few)),
            }
        }
        house.audit(id).await?;
        Ok(figures)
    })
    .await
}

/// Holds of one stage.
fn holds_of(context: &Context) -> usize {
    let wanted = context.load.as_secs_f64() * f64::from(CHANGES_PER_S / 2);
    // The longest load has two thousand of them, and a load has at least one.
    (1..=HOLDS_MAX).rev().find(|holds| count(*holds) <= wanted).unwrap_or(1)
}

/// What one number of sockets came to.
struct Stage {
    sockets: usize,
    sample: usize,
    delays: Histogram<u64>,
    rate: f64,
    gaps: usize,
    frames: usize,
    socket_bytes: f64,
}

impl Stage {
    fn figures(&self, few: &Self) -> Vec<Figure> {
        let sampled = if self.sample < self.sockets { format!(".sample_of_{}", self.sample) } else { String::new() };
        let name = |what: &str| format!("fanout.{}.{what}", self.sockets);
        let delay = |what: &str, quantile| {
            let value = quantile_ms(&self.delays, quantile);
            Figure::new(name(&format!("{what}{sampled}")), value, "ms").beside(quantile_ms(&few.delays, quantile))
        };
        let large = self.sockets >= 10_000;
        let p99 = delay("delta_p99", 0.99);
        let memory = Figure::new(name("memory_a_socket"), self.socket_bytes, "bytes");
        vec![
            delay("delta_p50", 0.5),
            if large { p99.within(Budget::Below(P99_MAX_MS)) } else { p99 },
            Figure::new(name("changes"), self.rate, "changes/s"),
            Figure::new(name("frames_received"), count(self.frames), "frames"),
            Figure::new(name(&format!("gaps{sampled}")), count(self.gaps), "gaps"),
            if large { memory.within(Budget::AtMost(SOCKET_MAX_BYTES)) } else { memory },
        ]
    }
}

/// Lets this process, and those that it starts, open as many sockets as are needed.
fn raise_descriptors(sockets: usize) -> anyhow::Result<()> {
    let wanted = u64::try_from(sockets)? + OTHER_DESCRIPTORS;
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    ensure!(hard >= wanted, "{wanted} open files are needed and this system allows {hard} (ulimit -Hn)");
    if soft < wanted {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard).context("raising the number of open files")?;
    }
    Ok(())
}

async fn stage(
    house: &House,
    id: PerformanceId,
    sockets: usize,
    (shoppers, first_seat): (&[Shopper], u32),
) -> anyhow::Result<Stage> {
    let address = house.address()?;
    let pid = house.server.as_ref().and_then(crate::run::ServerProcess::pid).context("the server has ended")?;
    let seats = house.backend.performance(id).await?.seat_count as usize;
    let board = Arc::new(Board {
        started: Instant::now(),
        accepted_us: std::iter::repeat_with(AtomicU64::default).take(seats).collect(),
        changes: AtomicUsize::new(0),
        noted: AtomicUsize::new(0),
        gaps: AtomicUsize::new(0),
        frames: AtomicUsize::new(0),
        delays: Mutex::new(latencies()),
    });
    let before = resident(pid)?;
    let stop = CancellationToken::new();
    let mut readers = JoinSet::new();
    let mut opening =
        stream::iter(0..sockets).map(|number| Socket::open(address, id, number)).buffer_unordered(OPENED_AT_ONCE);
    let every = sockets.div_ceil(SAMPLE);
    let mut opened = 0;
    while let Some(socket) = opening.next().await {
        let (board, stop, sampled) = (Arc::clone(&board), stop.clone(), opened % every == 0);
        let socket = socket.with_context(|| format!("after {opened} sockets"))?;
        readers.spawn(async move { stop.run_until_cancelled(read(socket, &board, sampled)).await });
        opened += 1;
    }
    drop(opening);
    let sample = sockets.div_ceil(every);
    let started = Instant::now();
    hold_seats(house, id, &board, (shoppers, first_seat)).await?;
    let rate = per_second(board.changes.load(Ordering::Relaxed), started.elapsed());
    let after = resident(pid)?;
    arrived(&board, sample, &mut readers).await?;
    stop.cancel();
    while let Some(reader) = readers.join_next().await {
        // A reader ends by the token alone; one that ended before has said why.
        match reader? {
            None => {}
            Some(Err(error)) => return Err(error.context("a socket of the fan-out")),
            Some(Ok(())) => bail!("a socket of the fan-out ended by itself"),
        }
    }
    let delays = board.delays.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(Stage {
        sockets,
        sample,
        delays,
        rate,
        gaps: board.gaps.load(Ordering::Relaxed),
        frames: board.frames.load(Ordering::Relaxed),
        socket_bytes: (after - before).max(0.0) / count(sockets),
    })
}

impl Board {
    fn now_us(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Writes down that seats are somebody's from now on.
    fn accepted(&self, seats: &[SeatNo]) {
        for seat in seats {
            if let Some(at) = self.accepted_us.get(seat.0 as usize) {
                at.store(self.now_us(), Ordering::Relaxed);
            }
        }
        self.changes.fetch_add(seats.len(), Ordering::Relaxed);
    }

    /// Notes how long it took until a socket knew of these seats. One that knows before the answer of
    /// the hold is here waited for nothing.
    fn arrived(&self, seats: &[u32]) {
        let now = self.now_us();
        let mut delays = self.delays.lock().unwrap_or_else(PoisonError::into_inner);
        for accepted in seats.iter().filter_map(|seat| self.accepted_us.get(*seat as usize)) {
            let accepted = match accepted.load(Ordering::Relaxed) {
                0 => now,
                at => at,
            };
            note(&mut delays, Duration::from_micros(now.saturating_sub(accepted)));
        }
        self.noted.fetch_add(seats.len(), Ordering::Relaxed);
    }
}

/// Reads a socket for ever; one of the sample keeps the map as a browser does.
async fn read(mut socket: Socket, board: &Board, sampled: bool) -> anyhow::Result<()> {
    let mut map = LiveMap::new();
    if sampled {
        socket.keep();
    }
    loop {
        let found = socket.read().await?;
        board.frames.fetch_add(found.frames, Ordering::Relaxed);
        for payload in found.payloads {
            let frame = Frame::decode(&payload)?;
            let held = newly_held(&map, &frame);
            match map.apply(frame) {
                Ok(_) => board.arrived(&held),
                Err(FrameError::Gap) => {
                    board.gaps.fetch_add(1, Ordering::Relaxed);
                    socket.say(RESYNC).await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// The seats of which a frame is the first to say that they are held. A first snapshot says nothing new.
fn newly_held(map: &LiveMap, frame: &Frame) -> Vec<u32> {
    let is_new = |seat: u32, state: SeatState| {
        state == SeatState::Held && map.state(seat).is_some_and(|known| known != SeatState::Held)
    };
    match frame {
        Frame::Delta { changes, .. } => {
            changes.iter().filter(|(seat, state)| is_new(*seat, *state)).map(|(seat, _)| *seat).collect()
        }
        Frame::Snapshot { seats, .. } => {
            (0..).zip(seats).filter(|(seat, state)| is_new(*seat, **state)).map(|(seat, _)| seat).collect()
        }
    }
}

/// Holds two seats for each shopper, each at its own moment, over a few lines.
async fn hold_seats(
    house: &House,
    id: PerformanceId,
    board: &Arc<Board>,
    (shoppers, first_seat): (&[Shopper], u32),
) -> anyhow::Result<()> {
    let step = Duration::from_secs(2) / CHANGES_PER_S;
    let start = Instant::now();
    let mut due = Vec::with_capacity(shoppers.len());
    for (number, shopper) in (0..).zip(shoppers) {
        let seat = first_seat + number * 2;
        let seats = [SeatNo(seat), SeatNo(seat + 1)];
        due.push((start + step * number, seats, house.hold_request(id, shopper, &seats)?));
    }
    let mut holders = JoinSet::new();
    for number in 0..HOLDERS {
        let mut line = Line::open(house.address()?, number).await?;
        let (mine, board) = (due.iter().skip(number).step_by(HOLDERS).cloned().collect::<Vec<_>>(), Arc::clone(board));
        holders.spawn(async move {
            for (at, seats, request) in mine {
                sleep_until(at).await;
                let answer = line.call(&request).await?;
                let text = String::from_utf8_lossy(answer.body);
                ensure!(answer.status == 200, "a hold was answered with {}: {text}", answer.status);
                board.accepted(&seats);
            }
            Ok(())
        });
    }
    while let Some(holder) = holders.join_next().await {
        holder??;
    }
    Ok(())
}

/// Waits until every socket of the sample knows every change.
async fn arrived(
    board: &Board,
    sample: usize,
    readers: &mut JoinSet<Option<anyhow::Result<()>>>,
) -> anyhow::Result<()> {
    let expected = board.changes.load(Ordering::Relaxed) * sample;
    let deadline = Instant::now() + ARRIVAL_LIMIT;
    while board.noted.load(Ordering::Relaxed) < expected {
        if let Some(Some(Err(error))) = readers.try_join_next().transpose()? {
            return Err(error.context("a socket of the fan-out"));
        }
        let noted = board.noted.load(Ordering::Relaxed);
        ensure!(Instant::now() < deadline, "of {expected} changes on the sockets of the sample {noted} arrived");
        sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}
