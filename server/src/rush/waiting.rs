//! A crowd at the door: fans who take places, wait, watch the draw, check what is published about it,
//! and go in when they are called, or never come. Nobody buys.
//!
//! It drives one sale that is still to open, through the plain routes, as fast as the machine allows:
//! joins are open-loop (latencies count from the moment at which a fan meant to press, waits that an
//! overloaded server asked for included), polls closed-loop. Many fans share a connection. What it can
//! judge from outside is in [`verdict`]; the figures stand in its report.

mod agenda;
mod entry;
mod joins;
#[cfg(test)]
mod mock;
mod polls;
mod report;
#[cfg(test)]
mod tests;
mod verdict;
mod wire;

pub use self::report::{Memory, WaitReport};
pub(crate) use self::wire::join_request;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use domain::queue::facts::DrawFacts;
use domain::queue::{Mode, Phase, QueueStatus};
use domain::refusal::Code;
use domain::{Millis, PerformanceId};
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use serde::Deserialize;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use self::entry::{Entries, Guest};
use self::joins::{Joins, Told};
use self::polls::Storm;
use self::verdict::Evidence;
use self::wire::{Tally, Wire, get_request};
use super::board::Board;
use super::clock::Clock;
use super::http::Target;
use super::journal::quantile_ms;
use super::{FANS_MAX, FanLogin};

/// How long the queue's state may take to appear.
const READY_LIMIT: Duration = Duration::from_secs(30);
/// How long after the opening the draw may be out.
const DRAW_LIMIT: Duration = Duration::from_secs(60);
/// How long after the polled state the facts may show the draw.
const FACTS_LIMIT: Duration = Duration::from_secs(10);
/// Who comes late comes so long after the opening: the doubt about the server's clock is shorter.
const LATE_AFTER: Duration = Duration::from_secs(1);
/// Bounds of the storm of polls that fills the time up to the opening.
const STORM_MIN: Duration = Duration::from_secs(2);
const STORM_MAX: Duration = Duration::from_secs(5);
/// How often the server's clock is asked for; the quickest answer counts.
const CLOCK_TRIES: u32 = 3;

/// One crowd.
#[derive(Clone, Debug)]
pub struct WaitConfig {
    /// Origin of the server, plain http.
    pub base_url: String,
    /// What they wait for: its opening is to come.
    pub performance: PerformanceId,
    /// The fans.
    pub fans: Vec<FanLogin>,
    /// Name of the cookie that carries a queue ticket of this performance.
    pub ticket_cookie: String,
    /// Over how many seconds the lobby's fans join; 0 is all at once.
    pub join_seconds: f64,
    /// The share that joins after the opening.
    pub late: f64,
    /// The share that presses Join twice.
    pub twice: f64,
    /// The share that never comes when it is called.
    pub no_show: f64,
    /// Most shoppers behind the door, for the check of I5; 0 leaves it out.
    pub max_shoppers: u32,
    /// Connections of all fans together.
    pub connections: usize,
    /// How long fans are let in once the draw is out.
    pub entry: Duration,
    /// Whoever has no place after this time is cut short.
    pub limit: Duration,
    /// Every choice of the fans follows from it.
    pub seed: u64,
}

impl WaitConfig {
    fn check(&self) -> anyhow::Result<()> {
        ensure!(!self.fans.is_empty(), "a crowd needs at least one fan");
        let fans = self.fans.len();
        ensure!(fans <= FANS_MAX, "{fans} fans are too many: at most {FANS_MAX} run in one process");
        ensure!((0.0..=3_600.0).contains(&self.join_seconds), "join seconds: from 0 to 3600");
        ensure!(self.connections > 0, "at least one connection is needed");
        for share in [self.late, self.twice, self.no_show] {
            ensure!((0.0..=1.0).contains(&share), "a share is a number from 0 to 1, not {share}");
        }
        Ok(())
    }
}

/// What all lines share.
struct Scene {
    address: SocketAddr,
    authority: String,
    performance: PerformanceId,
    status_path: String,
    fans: Vec<FanLogin>,
    /// By fan: whether it presses twice.
    twice: Vec<bool>,
    ticket_cookie: String,
    connections: usize,
    seed: u64,
    clock: Clock,
    board: Board,
    /// Ends the watchers.
    stop: CancellationToken,
}

impl Scene {
    async fn set(config: &WaitConfig, dice: &mut StdRng) -> anyhow::Result<Self> {
        let (target, _) = Target::resolve(&config.base_url).await?;
        let mut clock = Clock::start();
        measure_clock(&mut clock, &target).await?;
        Ok(Self {
            address: target.addr,
            authority: target.authority,
            performance: config.performance,
            status_path: format!("/api/performances/{}/queue/status", config.performance),
            fans: config.fans.clone(),
            twice: config.fans.iter().map(|_| dice.random::<f64>() < config.twice).collect(),
            ticket_cookie: config.ticket_cookie.clone(),
            connections: config.connections,
            seed: config.seed,
            clock,
            board: Board::new(),
            stop: CancellationToken::new(),
        })
    }

    fn presses_twice(&self, fan: usize) -> bool {
        self.twice.get(fan).copied().unwrap_or(false)
    }

    /// What a fan's browser sends along.
    fn cookies(&self, fan: usize, ticket: Option<&str>) -> String {
        let session = self.fans.get(fan).map(|login| login.cookie.as_str()).unwrap_or_default();
        match ticket {
            Some(ticket) => format!("{session}; {}={ticket}", self.ticket_cookie),
            None => session.to_owned(),
        }
    }

    /// The first state on the board for which something holds.
    async fn see(&self, deadline: Instant, holds: impl Fn(&QueueStatus) -> bool) -> Option<Arc<QueueStatus>> {
        let mut board = self.board.subscribe();
        let seen = board.wait_for(|status| status.as_ref().is_some_and(|status| holds(status)));
        let status = timeout_at(deadline, seen).await.ok()?.ok()?;
        (*status).clone()
    }

    async fn read(&self, path: &str) -> anyhow::Result<Vec<u8>> {
        let request = get_request(&self.authority, path, None);
        let mut wire = Wire::new(self.address, self.connections);
        let (status, body) = wire
            .call(&request, |answer| (answer.status, answer.body.to_vec()))
            .await
            .with_context(|| format!("reading {path}"))?;
        ensure!(status == 200, "{path} was answered with the status {status}");
        Ok(body)
    }

    /// The published facts of the draw, and the arrival list.
    async fn facts(&self) -> anyhow::Result<(DrawFacts, Vec<u8>)> {
        let path = format!("/api/performances/{}/queue", self.performance);
        let deadline = Instant::now() + FACTS_LIMIT;
        loop {
            let facts = self.read(&format!("{path}/draw")).await?;
            let facts: DrawFacts = serde_json::from_slice(&facts).context("the facts of the draw can't be read")?;
            if facts.seed.is_some() {
                return Ok((facts, self.read(&format!("{path}/arrivals")).await?));
            }
            ensure!(Instant::now() < deadline, "the polled state shows the draw, and the published facts don't");
            sleep(Duration::from_millis(200)).await;
        }
    }
}

async fn measure_clock(clock: &mut Clock, target: &Target) -> anyhow::Result<()> {
    #[derive(Deserialize)]
    struct ServerTime {
        now: Millis,
    }
    let (mut wire, mut quickest_us) = (Wire::new(target.addr, 0), u64::MAX);
    let request = get_request(&target.authority, "/api/server-time", None);
    for _ in 0..CLOCK_TRIES {
        let sent_us = clock.now_us();
        let time = wire
            .call(&request, |answer| serde_json::from_slice::<ServerTime>(answer.body))
            .await
            .context("asking the server for its time")?
            .context("the server's time can't be read")?;
        let ended_us = clock.now_us();
        if ended_us - sent_us < quickest_us {
            quickest_us = ended_us - sent_us;
            clock.set_server(time.now, sent_us, ended_us);
        }
    }
    Ok(())
}

/// Lets a crowd wait, and reports. A breach is part of the report, not an error. `memory` is looked at
/// before anybody joins and when the lobby waits.
///
/// # Errors
/// The configuration contradicts itself, the server does not answer, its sale is open already, or it
/// publishes no draw.
pub async fn run(
    config: WaitConfig,
    memory: impl AsyncFn() -> anyhow::Result<Memory>,
    tell: fn(&str),
) -> anyhow::Result<WaitReport> {
    config.check()?;
    let mut dice = StdRng::seed_from_u64(config.seed);
    let scene = Arc::new(Scene::set(&config, &mut dice).await?);
    let stop = scene.stop.clone().drop_guard();
    let watchers = polls::watch(&scene);
    let opening = opening(&scene).await?;
    let deadline = Instant::now() + config.limit;
    let (lobby, late) = sides(&config, &mut dice);

    let before = memory().await?;
    tell(&format!("{} fans join, the sale opens in {:.0} s", lobby.len(), secs_until(opening)));
    let over = Duration::from_secs_f64(config.join_seconds);
    let joined = joins::join(&scene, &lobby, Instant::now(), over, deadline).await?;
    let after = memory().await?;
    tell(&format!("{} places were told; everybody polls", joined.told.len()));
    let rest = opening.saturating_duration_since(Instant::now()).clamp(STORM_MIN, STORM_MAX);
    let storm = polls::storm(&scene, rest).await?;

    sleep_until(opening).await;
    let latecomers = async {
        sleep(LATE_AFTER).await;
        joins::join(&scene, &late, Instant::now(), over.mul_f64(config.late), deadline).await
    };
    let (came_late, drawn) = tokio::join!(latecomers, drawn(&scene, opening));
    let (came_late, (drawn, drawn_after)) = (came_late?, drawn?);
    let (facts, list) = scene.facts().await?;
    let told: Vec<Told> = joined.told.iter().chain(&came_late.told).cloned().collect();
    let guests = guests(&drawn, &told, config.no_show, &mut dice);
    tell(&format!("the draw of {:?} is out; {} mean to come", drawn.lobby, guests.len()));
    let entries = entry::enter(&scene, guests, Instant::now() + config.entry).await?;
    drop(stop);
    let watched = watched(watchers).await?;

    let last = scene.board.newest().unwrap_or_else(|| Arc::clone(&drawn));
    let evidence = Evidence {
        performance: config.performance,
        fans: &scene.fans,
        told: &told,
        opening_us: scene.clock.us(opening),
        drawn: &drawn,
        last: &last,
        facts: &facts,
        list: &list,
        visits: &entries.visits,
        max_shoppers: config.max_shoppers,
    };
    let offered = (config.join_seconds > 0.0).then(|| per_second(size(lobby.len()), over));
    let outcome = Outcome { offered, joined, came_late, storm, entries: &entries, watched, drawn_after };
    let mut report = outcome.report(&scene, &evidence);
    report.weigh(before, after, lobby.len());
    Ok(report)
}

async fn watched(watchers: Vec<JoinHandle<Tally>>) -> anyhow::Result<Tally> {
    let mut sum = Tally::new();
    for watcher in watchers {
        sum.add(&watcher.await.context("a watcher broke off")?);
    }
    Ok(sum)
}

/// When the sale opens, once its state is known.
async fn opening(scene: &Scene) -> anyhow::Result<Instant> {
    let Some(status) = scene.see(Instant::now() + READY_LIMIT, |_| true).await else {
        bail!("{} gives no queue state for this performance", scene.authority);
    };
    ensure!(status.mode == Mode::Queue, "this crowd waits in a line; the sale is a lottery");
    ensure!(
        status.phase == Phase::Lobby,
        "places in the lobby are wanted, and the sale is {:?}: it must open later",
        status.phase
    );
    let ahead_us = scene.clock.at(status.opens_at).saturating_sub(scene.clock.now_us());
    Ok(Instant::now() + Duration::from_micros(ahead_us))
}

fn secs_until(at: Instant) -> f64 {
    at.saturating_duration_since(Instant::now()).as_secs_f64()
}

/// Who joins before the opening, and who after it; in random order.
fn sides(config: &WaitConfig, dice: &mut StdRng) -> (Vec<usize>, Vec<usize>) {
    let mut fans: Vec<usize> = (0..config.fans.len()).collect();
    fans.shuffle(dice);
    fans.into_iter().partition(|_| dice.random::<f64>() >= config.late)
}

/// The first state with the draw, and how long after the opening it was seen.
async fn drawn(scene: &Scene, opening: Instant) -> anyhow::Result<(Arc<QueueStatus>, Duration)> {
    let status = scene.see(opening + DRAW_LIMIT, |status| status.draw().is_some()).await;
    let status = status.with_context(|| format!("no draw within {} s after the opening", DRAW_LIMIT.as_secs()))?;
    Ok((status, opening.elapsed()))
}

/// Fans with a place who mean to come when they are called.
fn guests(drawn: &QueueStatus, told: &[Told], no_show: f64, dice: &mut StdRng) -> Vec<Guest> {
    let Some(draw) = drawn.draw() else { return Vec::new() };
    told.iter()
        .filter(|told| told.first && dice.random::<f64>() >= no_show)
        .map(|told| Guest { fan: told.fan, place: draw.place(told.arrival), ticket: told.ticket.clone() })
        .collect()
}

/// All that a report is made of.
struct Outcome<'a> {
    /// Joins a second that were offered.
    offered: Option<f64>,
    joined: Joins,
    came_late: Joins,
    storm: Storm,
    entries: &'a Entries,
    watched: Tally,
    drawn_after: Duration,
}

impl Outcome<'_> {
    fn report(&self, scene: &Scene, evidence: &Evidence<'_>) -> WaitReport {
        let (joined, storm, entries) = (&self.joined, &self.storm, self.entries);
        let mut joins = Tally::new();
        joins.add(&joined.tally);
        joins.add(&self.came_late.tally);
        let mut later = BTreeMap::new();
        for (what, tally) in [("join", &joins), ("enter", &entries.tally)] {
            later.extend(tally.later.iter().map(|(code, count)| (format!("{what}: {code}"), *count)));
        }
        let mut breaches = evidence.breaches();
        breaches.extend(scene.board.contradictions());
        let first = |joins: &Joins| size(joins.told.iter().filter(|told| told.first).count());
        WaitReport {
            fans: size(scene.fans.len()),
            placed: first(joined) + first(&self.came_late),
            lobby: evidence.drawn.lobby.unwrap_or(0),
            joins_offered_per_s: self.offered,
            joins_per_s: joined.rate(),
            join_p50_ms: quantile_ms(&joined.tally.latencies, 0.5),
            join_p99_ms: quantile_ms(&joined.tally.latencies, 0.99),
            join_answer_p99_ms: quantile_ms(&joined.tally.answers, 0.99),
            shed: [Code::Overloaded, Code::TooManyRequests].map(|code| joins.later_by(code)).iter().sum(),
            late: first(&self.came_late),
            polls_per_s: storm.rate(),
            poll_p99_ms: quantile_ms(&storm.tally.answers, 0.99),
            polls_unchanged: share(storm.unchanged, storm.answered),
            drawn_after_ms: u64::try_from(self.drawn_after.as_millis()).unwrap_or(u64::MAX),
            called: entries.called,
            entered: size(entries.visits.len()),
            met_full: entries.tally.later_by(Code::Full),
            enter_p99_ms: quantile_ms(&entries.tally.answers, 0.99),
            shoppers_peak: evidence.shoppers_peak(),
            hello_per_s: None,
            join_ratio: None,
            poll_ratio: None,
            redis_bytes_a_fan: None,
            server_bytes_a_fan: None,
            later,
            errors: self.errors(),
            breaches,
            wall_s: (scene.clock.elapsed().as_secs_f64() * 100.0).round() / 100.0,
        }
    }

    /// What went wrong in any stage.
    fn errors(&self) -> BTreeMap<String, u64> {
        let mut sum = Tally::new();
        for tally in [&self.joined.tally, &self.came_late.tally, &self.storm.tally, &self.entries.tally, &self.watched]
        {
            sum.add(tally);
        }
        let cut_short = self.joined.cut_short + self.came_late.cut_short;
        if cut_short > 0 {
            sum.errors.insert("join: no place when the time was over".to_owned(), cut_short);
        }
        sum.errors
    }
}

fn size(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "counts and bytes of one run are far below 2^52")]
fn exact(n: u64) -> f64 {
    n as f64
}

/// How many a second, rounded to tenths.
fn per_second(count: u64, took: Duration) -> f64 {
    (exact(count) / took.as_secs_f64().max(1e-6) * 10.0).round() / 10.0
}

/// A part of all, rounded to thousandths; 0 of nothing.
fn share(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { (exact(part) / exact(all) * 1_000.0).round() / 1_000.0 }
}
