//! What all fans of a run share: where the server is, the clock, the board over the queue, the map that
//! everybody sees, and the bounds on connections and sockets.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::queue::QueueStatus;
use domain::{Millis, PerformanceId};
use serde::Deserialize;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::RushConfig;
use super::board::Board;
use super::clock::Clock;
use super::http::{Cookies, Fault, Line, Target, has_source_addresses};
use super::journal::Outcome;
use super::watch::{Door, SocketLog, View, follow};
use super::{Shares, StandingArea};

/// By how much the end of a lease or of a visit is put forward before it is judged: covers the doubt
/// about the server's clock.
pub(super) const EXPIRY_MARGIN_US: u64 = 2_000_000;
/// How often the server's clock is asked for; the quickest answer counts.
const CLOCK_TRIES: u32 = 3;
/// Bounds of the wait between two reads of the board's own poller.
const BOARD_MIN_MS: u64 = 250;
const BOARD_MAX_MS: u64 = 5_000;

/// A count that many fans raise.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn add_many(&self, more: usize) {
        self.0.fetch_add(u64::try_from(more).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counts for the lines of progress; the report counts from the journals.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) joined: Count,
    pub(super) admitted: Count,
    pub(super) holds: Count,
    pub(super) conflicts: Count,
    pub(super) paid: Count,
    pub(super) tickets: Count,
    pub(super) finished: Count,
}

/// What all fans share.
pub(super) struct World {
    pub(super) target: Target,
    pub(super) performance: PerformanceId,
    pub(super) status_path: String,
    socket_path: String,
    pub(super) limit: u32,
    pub(super) areas: Vec<StandingArea>,
    pub(super) shares: Shares,
    pub(super) think_ms: u64,
    pub(super) patience: Duration,
    pub(super) settle_limit: Duration,
    pub(super) clock: Clock,
    pub(super) board: Board,
    /// The map that fans without a socket of their own see.
    pub(super) eyes: Arc<View>,
    pub(super) tally: Tally,
    /// Ends the sockets and the board's poller.
    pub(super) stop: CancellationToken,
    /// Whether each fan has a source address of its own.
    pub(super) has_sources: bool,
    places: Arc<Semaphore>,
    places_max: usize,
    sockets: Mutex<Vec<JoinHandle<SocketLog>>>,
    sockets_max: usize,
}

impl World {
    /// Finds the server and measures its clock.
    pub(super) async fn find(config: &RushConfig) -> anyhow::Result<Self> {
        let (target, _) = Target::resolve(&config.base_url).await?;
        let has_sources = has_source_addresses(&target).await;
        let places = Arc::new(Semaphore::new(config.connections_max));
        let mut clock = Clock::start();
        let mut line = Line::new(None, Arc::clone(&places), Cookies::default());
        measure_clock(&mut clock, &mut line, &target).await;
        Ok(Self {
            performance: config.performance,
            status_path: format!("/api/performances/{}/queue/status", config.performance),
            socket_path: format!("/ws/performances/{}", config.performance),
            limit: config.limit.max(1),
            areas: config.areas.clone(),
            shares: config.shares.clone(),
            think_ms: u64::try_from(config.think_max.as_millis()).unwrap_or(u64::MAX),
            patience: config.patience,
            settle_limit: config.settle_limit,
            clock,
            board: Board::new(),
            eyes: Arc::new(View::new()),
            tally: Tally::default(),
            stop: CancellationToken::new(),
            has_sources,
            places,
            places_max: config.connections_max,
            sockets: Mutex::new(Vec::new()),
            sockets_max: config.sockets_max,
            target,
        })
    }

    /// Whether a seat is a place to stand, which is drawn by the server and not chosen.
    pub(super) fn is_standing(&self, seat: u32) -> bool {
        self.areas.iter().any(|area| area.places.contains(&seat))
    }

    /// The places for open connections.
    pub(super) fn places(&self) -> Arc<Semaphore> {
        Arc::clone(&self.places)
    }

    /// Whether a fan should give its connection up while it waits.
    pub(super) fn is_crowded(&self) -> bool {
        self.places.available_permits() < self.places_max / 4
    }

    /// The way to the live map.
    pub(super) fn door(&self, source: Option<IpAddr>, cookies: String) -> Door {
        Door { target: self.target.clone(), path: self.socket_path.clone(), source, cookies }
    }

    /// Opens a socket that stays open until the run ends; `None` where there are enough.
    pub(super) fn open_socket(self: &Arc<Self>, source: Option<IpAddr>, cookies: String) -> Option<Arc<View>> {
        let mut sockets = self.sockets.lock().unwrap_or_else(PoisonError::into_inner);
        if sockets.len() >= self.sockets_max {
            return None;
        }
        let view = Arc::new(View::new());
        sockets.push(self.spawn_follower(Arc::clone(&view), source, cookies));
        Some(view)
    }

    /// Follows the map for a view until the run ends.
    pub(super) fn spawn_follower(
        self: &Arc<Self>,
        view: Arc<View>,
        source: Option<IpAddr>,
        cookies: String,
    ) -> JoinHandle<SocketLog> {
        let world = Arc::clone(self);
        tokio::spawn(async move {
            let door = world.door(source, cookies);
            follow(&door, &view, &world.clock, &world.stop).await
        })
    }

    /// The sockets opened so far.
    pub(super) fn take_sockets(&self) -> Vec<JoinHandle<SocketLog>> {
        std::mem::take(&mut self.sockets.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn socket_count(&self) -> usize {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Keeps the board current until the run ends.
    pub(super) async fn keep_board(&self) {
        let mut line = Line::new(None, self.places(), Cookies::default());
        while !self.stop.is_cancelled() {
            let mut wait_ms = BOARD_MIN_MS;
            if let Ok(status) = read_status(&mut line, &self.target, &self.status_path).await {
                wait_ms = u64::from(status.refresh_ms).clamp(BOARD_MIN_MS, BOARD_MAX_MS);
                self.board.publish(&Arc::new(status));
            }
            let _stopped = self.stop.run_until_cancelled(sleep(Duration::from_millis(wait_ms))).await;
        }
    }

    /// Waits until the queue's state and the shared map are there.
    pub(super) async fn ready(&self, deadline: Instant) -> anyhow::Result<()> {
        let both = async {
            let mut board = self.board.subscribe();
            // The sender lives as long as the board; the guard would keep the poller from writing.
            drop(board.wait_for(Option::is_some).await);
            self.eyes.ready().await;
        };
        tokio::time::timeout_at(deadline, both).await.map_err(|_| {
            anyhow::anyhow!("{} gives no queue state or no live map for this performance", self.target.origin())
        })
    }
}

async fn measure_clock(clock: &mut Clock, line: &mut Line, target: &Target) {
    #[derive(Deserialize)]
    struct ServerTime {
        now: Millis,
    }
    let mut quickest_us = u64::MAX;
    for _ in 0..CLOCK_TRIES {
        let sent_us = clock.now_us();
        let Ok(answer) = line.get(target, "/api/server-time").await else { continue };
        let ended_us = clock.now_us();
        let Ok(time) = serde_json::from_slice::<ServerTime>(&answer.body) else { continue };
        if ended_us - sent_us < quickest_us {
            quickest_us = ended_us - sent_us;
            clock.set_server(time.now, sent_us, ended_us);
        }
    }
}

/// Reads the queue's state.
pub(super) async fn read_status(line: &mut Line, target: &Target, path: &str) -> Result<QueueStatus, Outcome> {
    let answer = line.get(target, path).await.map_err(|fault| match fault {
        Fault::Failed => Outcome::Failed("not reached".to_owned()),
        Fault::Unknown => Outcome::Unknown,
    })?;
    if !answer.status.is_success() {
        return Err(Outcome::Failed(format!("status {}", answer.status.as_u16())));
    }
    serde_json::from_slice(&answer.body).map_err(|_| Outcome::Failed("unreadable answer".to_owned()))
}
