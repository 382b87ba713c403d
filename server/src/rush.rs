//! The load simulator: virtual fans who join a queue, enter, choose seats, pay and get their tickets,
//! over real HTTP and WebSockets, and a judgement over what they were told.
//!
//! It owns the fans, their journals and the checks that only the outside can make ("nobody was told
//! that a seat is theirs while it was another's"). It does not own the server, the accounts or the
//! stores: it is given sessions and an address, has no bypass of any rule, and takes the server's own
//! audit as a future that it awaits at the end.
//!
//! [`wait`] is another crowd, which stays at the door: tens of thousands of fans on few connections, of whom
//! nobody buys.
//!
//! The load is open-loop where it matters: fans press Join at moments drawn beforehand, and latencies
//! count from those moments. Everything is bounded: connections, sockets, tries, journals, time.

mod area;
mod board;
mod checks;
mod chooser;
mod clock;
mod fan;
mod habits;
pub(crate) mod http;
mod journal;
#[cfg(test)]
mod mock;
mod progress;
mod report;
pub(crate) mod waiting;
mod watch;
mod world;

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use domain::{AccountId, PerformanceId};
use ed25519_dalek::VerifyingKey;
use futures::{StreamExt as _, stream};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng, seq::SliceRandom as _};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout, timeout_at};

use self::checks::{Entry, Rules};
use self::fan::{End, Fan};
use self::http::{Cookies, Line, source_address};
use self::watch::SocketLog;
use self::world::World;

pub use self::area::StandingArea;
pub use self::progress::Progress;
pub use self::report::Report;
pub use self::waiting::{Memory, WaitConfig, WaitReport, run as wait};

/// How long the queue's state and the first map may take to appear.
const READY_LIMIT: Duration = Duration::from_secs(30);
/// How long a last look at the map may take to show all tickets' seats as sold.
const MAP_SETTLE_LIMIT: Duration = Duration::from_secs(10);
/// How long a socket may take to end once the run is over.
const SOCKET_END_LIMIT: Duration = Duration::from_secs(5);
/// Orders read at the same time after the run.
const SETTLERS_MAX: usize = 64;
/// Most fans of one run: the loopback network has addresses for 16 million, memory for fewer.
const FANS_MAX: usize = 200_000;

/// One fan's sign-in.
#[derive(Clone, Debug)]
pub struct FanLogin {
    /// The account.
    pub account: AccountId,
    /// The whole value of the Cookie header for its session.
    pub cookie: String,
}

/// How fans behave, as shares from 0 to 1.
#[derive(Clone, Debug)]
pub struct Shares {
    /// Walk away from the queue.
    pub walk_away: f64,
    /// Give their seats back.
    pub release: f64,
    /// Leave without giving their seats back.
    pub abandon: f64,
    /// Try a declined card first.
    pub decline_first: f64,
    /// Press Join twice.
    pub join_twice: f64,
    /// Poll the queue's state themselves; the others share one poller.
    pub poll: f64,
    /// Follow the live map on a socket of their own; the others share one.
    pub sockets: f64,
}

impl Default for Shares {
    fn default() -> Self {
        Self {
            walk_away: 0.1,
            release: 0.1,
            abandon: 0.05,
            decline_first: 0.05,
            join_twice: 0.05,
            poll: 0.1,
            sockets: 0.2,
        }
    }
}

/// One run.
#[derive(Clone, Debug)]
pub struct RushConfig {
    /// Origin of the server, plain http.
    pub base_url: String,
    /// What is on sale.
    pub performance: PerformanceId,
    /// The fans; each joins once.
    pub fans: Vec<FanLogin>,
    /// Seats of the performance.
    pub seats: u32,
    /// The standing areas among them.
    pub areas: Vec<StandingArea>,
    /// Most shoppers behind the door, for the check of I5; 0 leaves it out.
    pub max_shoppers: u32,
    /// Most seats of one account.
    pub limit: u32,
    /// Over how many seconds the fans join.
    pub join_seconds: f64,
    /// How fans behave.
    pub shares: Shares,
    /// Fans who are still busy after this time are cut short.
    pub duration_limit: Duration,
    /// How long a paid order may take to its tickets (I2).
    pub settle_limit: Duration,
    /// Longest pause of a fan who looks or reads.
    pub think_max: Duration,
    /// How long a fan stays while nothing is left.
    pub patience: Duration,
    /// Every choice of the fans follows from it.
    pub seed: u64,
    /// Stores are made to fail during the run: a lease may be lost then (never doubled).
    pub store_faults: bool,
    /// Most open connections of all fans together.
    pub connections_max: usize,
    /// Most sockets to the live map.
    pub sockets_max: usize,
    /// The performance's public key: with it, tickets are verified as at the door.
    pub verify_key: Option<VerifyingKey>,
    /// Where to write the journals, one fan a line, as JSON.
    pub journal: Option<PathBuf>,
}

impl RushConfig {
    /// A run with the usual fans.
    pub fn new(base_url: String, performance: PerformanceId, fans: Vec<FanLogin>, seats: u32) -> Self {
        Self {
            base_url,
            performance,
            fans,
            seats,
            areas: Vec::new(),
            max_shoppers: 0,
            limit: 4,
            join_seconds: 5.0,
            shares: Shares::default(),
            duration_limit: Duration::from_secs(120),
            settle_limit: Duration::from_secs(120),
            think_max: Duration::from_secs(1),
            patience: Duration::from_secs(6),
            seed: 1,
            store_faults: false,
            connections_max: 2_000,
            sockets_max: 500,
            verify_key: None,
            journal: None,
        }
    }

    fn check(&self) -> anyhow::Result<()> {
        ensure!(!self.fans.is_empty(), "a rush needs at least one fan");
        ensure!(
            self.fans.len() <= FANS_MAX,
            "{} fans are too many: at most {FANS_MAX} run in one process",
            self.fans.len()
        );
        ensure!((0.0..=3_600.0).contains(&self.join_seconds), "join seconds: from 0 to 3600");
        ensure!(self.connections_max >= 4, "at least four connections are needed");
        let shares = &self.shares;
        for share in [
            shares.walk_away,
            shares.release,
            shares.abandon,
            shares.decline_first,
            shares.join_twice,
            shares.poll,
            shares.sockets,
        ] {
            ensure!((0.0..=1.0).contains(&share), "a share is a number from 0 to 1, not {share}");
        }
        Ok(())
    }
}

/// What is done beside the fans: it answers with every breach that it finds.
pub type Step<'a> = Pin<Box<dyn Future<Output = anyhow::Result<Vec<String>>> + Send + 'a>>;

/// What is done when the fans have had their evening.
#[derive(Default)]
pub struct Steps<'a> {
    /// At once: trouble is ended, and what it left behind is waited for.
    pub recovery: Option<Step<'a>>,
    /// When every order was read: the server's own audit.
    pub audit: Option<Step<'a>>,
}

/// Lives one rush and reports. `progress` is called about once a second. A breach is part of the report,
/// not an error.
///
/// # Errors
/// The configuration contradicts itself, the server does not answer at the start, a step fails, or the
/// journals can't be written.
pub async fn run(config: RushConfig, steps: Steps<'_>, mut progress: impl FnMut(&Progress)) -> anyhow::Result<Report> {
    config.check()?;
    let world = Arc::new(World::find(&config).await?);
    let stop = world.stop.clone().drop_guard();
    let keeper = Arc::clone(&world);
    tokio::spawn(async move { keeper.keep_board().await });
    let cookies = config.fans.first().map(|fan| fan.cookie.clone()).unwrap_or_default();
    let eyes = world.spawn_follower(Arc::clone(&world.eyes), None, cookies.clone());
    world.ready(Instant::now() + READY_LIMIT).await?;

    let mut fans = rush(&config, &world, &mut progress).await?;
    let left = match steps.recovery {
        Some(recovery) => recovery.await.context("waiting for the end of the trouble")?,
        None => Vec::new(),
    };
    let (settled, ends) = settle(&world, &mut fans).await;
    let map_breaches = last_look(&world, cookies, &settled).await;
    drop(stop);
    let mut sockets = world.take_sockets();
    sockets.push(eyes);
    let logs = end_sockets(sockets).await;

    if let Some(path) = &config.journal {
        write_journals(path, &settled).await.with_context(|| format!("writing the journals to {}", path.display()))?;
    }
    let entries: Vec<Entry<'_>> = settled.iter().map(|fan| (fan.account, &fan.journal)).collect();
    let mut breaches = checks::breaches(&rules(&config, &world), &entries);
    breaches.extend(world.board.contradictions());
    breaches.extend(map_breaches);
    breaches.extend(left);
    if let Some(audit) = steps.audit {
        let found = audit.await.context("the server's own audit")?;
        breaches.extend(found.into_iter().map(|what| format!("audit: {what}")));
    }
    Ok(report::write(&world, &entries, &ends, &logs, breaches))
}

/// Lets all fans live, and tells of it once a second.
async fn rush(
    config: &RushConfig,
    world: &Arc<World>,
    progress: &mut impl FnMut(&Progress),
) -> anyhow::Result<Vec<(Fan, End)>> {
    let deadline = Instant::now() + config.duration_limit;
    let mut evenings = JoinSet::new();
    for (mut fan, start) in cast(config, world) {
        evenings.spawn(async move {
            let end = timeout_at(deadline, fan.live(start)).await.unwrap_or(End::CutShort);
            fan.leave();
            (fan, end)
        });
    }
    let mut ticks = interval(Duration::from_secs(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut fans = Vec::with_capacity(config.fans.len());
    loop {
        tokio::select! {
            evening = evenings.join_next() => match evening {
                Some(evening) => {
                    world.tally.finished.add();
                    fans.push(evening.context("a fan's evening broke off")?);
                }
                None => break,
            },
            _ = ticks.tick() => progress(&Progress::of(config, world)),
        }
    }
    progress(&Progress::of(config, world));
    Ok(fans)
}

/// The fans and the moments at which they press Join: in random order, spread evenly with jitter.
fn cast(config: &RushConfig, world: &Arc<World>) -> Vec<(Fan, Instant)> {
    let mut dice = StdRng::seed_from_u64(config.seed);
    let mut slots: Vec<u32> = (0..).take(config.fans.len()).collect();
    slots.shuffle(&mut dice);
    let step_s = config.join_seconds / f64::from(u32::try_from(slots.len()).unwrap_or(u32::MAX).max(1));
    let begin = Instant::now();
    let logins = config.fans.iter().zip(slots).enumerate();
    logins
        .map(|(index, (login, slot))| {
            let start = begin + Duration::from_secs_f64((f64::from(slot) + dice.random::<f64>()) * step_s);
            let source = world.has_sources.then(|| source_address(index));
            let line = Line::new(source, world.places(), Cookies::new(login.cookie.clone()));
            (Fan::new(Arc::clone(world), login.account, line, StdRng::seed_from_u64(dice.random())), start)
        })
        .collect()
}

/// Reads what became of every order, the paid ones until they are settled.
async fn settle(world: &World, fans: &mut Vec<(Fan, End)>) -> (Vec<Fan>, Vec<End>) {
    let deadline = Instant::now() + world.settle_limit;
    stream::iter(std::mem::take(fans))
        .map(|(mut fan, end)| async move {
            fan.settle(deadline).await;
            (fan, end)
        })
        .buffer_unordered(SETTLERS_MAX)
        .unzip()
        .await
}

/// What a new visitor's map shows wrongly, once the last changes had time to arrive.
async fn last_look(world: &World, cookies: String, fans: &[Fan]) -> Vec<String> {
    let entries: Vec<Entry<'_>> = fans.iter().map(|fan| (fan.account, &fan.journal)).collect();
    let (door, deadline) = (world.door(None, cookies), Instant::now() + MAP_SETTLE_LIMIT.min(world.settle_limit));
    loop {
        let found = match door.look().await {
            Ok(map) => checks::unsold(map.seats(), &entries),
            Err(error) => vec![format!("the live map can't be read after the run: {error:#}")],
        };
        if found.is_empty() || Instant::now() >= deadline {
            return found;
        }
        sleep(Duration::from_millis(500)).await;
    }
}

async fn end_sockets(sockets: Vec<tokio::task::JoinHandle<SocketLog>>) -> Vec<SocketLog> {
    let mut logs = Vec::with_capacity(sockets.len());
    for mut socket in sockets {
        match timeout(SOCKET_END_LIMIT, &mut socket).await {
            Ok(Ok(log)) => logs.push(log),
            Ok(Err(_)) | Err(_) => socket.abort(),
        }
    }
    logs
}

fn rules(config: &RushConfig, world: &World) -> Rules {
    Rules {
        performance: config.performance,
        seats: config.seats,
        max_shoppers: config.max_shoppers,
        limit: world.limit,
        store_faults: config.store_faults,
        now_us: world.clock.now_us(),
        verify_key: config.verify_key,
    }
}

async fn write_journals(path: &std::path::Path, fans: &[Fan]) -> anyhow::Result<()> {
    let mut text = String::new();
    for fan in fans {
        let line = serde_json::json!({ "account": fan.account, "journal": &fan.journal });
        text.push_str(&line.to_string());
        text.push('\n');
    }
    tokio::fs::write(path, text).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::mock::{Fault, House};
    use super::*;
    use std::collections::BTreeMap;
    use uuid::Uuid;

    fn quick(house: &House, fans: usize) -> RushConfig {
        RushConfig {
            max_shoppers: house.max_shoppers,
            join_seconds: 0.2,
            think_max: Duration::from_millis(50),
            patience: Duration::from_secs(2),
            duration_limit: Duration::from_secs(60),
            settle_limit: Duration::from_secs(2),
            verify_key: Some(house.verify_key()),
            ..RushConfig::new(house.url.clone(), house.performance, house.logins(fans), house.seats)
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_honest_house_sells_out_without_a_breach() {
        let house = House::open(60, 10, Fault::None).await;
        let audit: Step<'_> = Box::pin(async { Ok(Vec::new()) });
        let steps = Steps { audit: Some(audit), ..Steps::default() };
        let report = run(quick(&house, 100), steps, |_| {}).await.unwrap();
        assert_eq!(report.breaches, Vec::<String>::new());
        assert_eq!(report.errors, BTreeMap::new());
        assert_eq!(report.ends.values().sum::<u64>(), 100);
        assert_eq!(house.fulfilled_seats(), report.tickets_issued);
        assert!(report.tickets_issued > 20 && report.orders_paid > 10, "{report:?}");
        assert!(report.walked_away > 5 && report.deltas > 0, "{report:?}");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_house_that_cheats_is_found_out() {
        let cases = [
            (Fault::SellsTwice, "I1: seat "),
            (Fault::LosesMoney, "I2: order "),
            (Fault::Overcrowds, "I5: "),
            (Fault::MovesPlaces, "I6: account "),
        ];
        let runs = cases.map(|(fault, mark)| async move {
            let house = House::open(60, 3, fault).await;
            let report = run(quick(&house, 60), Steps::default(), |_| {}).await.unwrap();
            assert!(report.breaches.iter().any(|what| what.starts_with(mark)), "{fault:?}: {:?}", report.breaches);
        });
        futures::future::join_all(runs).await;
    }

    #[tokio::test]
    async fn what_the_steps_find_is_reported() {
        let house = House::open(10, 2, Fault::None).await;
        let finds =
            |what: &'static str| -> Option<Step<'static>> { Some(Box::pin(async move { Ok(vec![what.to_owned()]) })) };
        let steps =
            Steps { recovery: finds("I2: a payment is open"), audit: finds("I3: a posting does not sum to zero") };
        let report = run(quick(&house, 5), steps, |_| {}).await.unwrap();
        assert_eq!(report.breaches, ["I2: a payment is open", "audit: I3: a posting does not sum to zero"]);
    }

    #[test]
    fn impossible_runs_are_refused() {
        let fan = FanLogin { account: AccountId(Uuid::nil()), cookie: String::new() };
        let plain = RushConfig::new("http://127.0.0.1:1".to_owned(), PerformanceId(Uuid::nil()), vec![fan], 10);
        assert!(plain.check().is_ok());
        assert!(RushConfig { fans: Vec::new(), ..plain.clone() }.check().is_err());
        assert!(RushConfig { join_seconds: f64::NAN, ..plain.clone() }.check().is_err());
        let shares = Shares { walk_away: 1.5, ..Shares::default() };
        assert!(RushConfig { shares, ..plain }.check().is_err());
    }
}
