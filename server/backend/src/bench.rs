//! What the benchmarks (`stararena bench`) need of the stores and no use-case gives: shoppers who are
//! inside without having queued, the hold script alone, a house that is half sold, an empty Redis.
//!
//! Public, because benchmarks measure the program from outside, over HTTP, while SQL, keys and scripts
//! stay in this crate. Every one of these is refused in production.

mod cancel;

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::postgres::bench::{self as rows, PlainOrders};
use crate::postgres::log;
use crate::redis::BareHold;
use crate::seeding::FanLogin;
use domain::account::{SESSION_PURPOSE, Session};
use domain::hold::{HoldRequest, SeatByte, hold_id};
use domain::live::{Frame, LogPosition};
use domain::queue::{PASS_PURPOSE, Pass};
use domain::{AccountId, PerformanceId, SeatNo};
use redis::AsyncCommands as _;
use std::sync::Arc;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Length of a seeded visit and of a seeded hold: longer than any run.
const LONG_MS: i64 = 3_600_000;
/// Shoppers in one statement and one command.
const SHOPPERS_BATCH: usize = 2_000;
/// Orders in one transaction: as many entries as the order writer reads at once.
const ORDERS_BATCH: usize = crate::redis::LOG_BATCH;
/// Idempotency key of holds that are asked of the script alone.
const BARE_KEY: &str = "bare";
/// How long a store that rewrites its append-only file is waited for.
const REWRITE_TIMEOUT: Duration = Duration::from_secs(20);

/// The stores of one installation, as benchmarks use them.
#[derive(Clone)]
pub struct Bench {
    backend: Arc<Backend>,
    /// Of the one Redis that benchmarks run on: what is asked of the server itself goes there directly.
    redis_url: String,
}

/// A fan who is inside.
#[derive(Clone, Debug)]
pub struct Shopper {
    /// The account.
    pub account: AccountId,
    /// Value of its `Cookie` header, without the pass.
    pub cookie: String,
    /// Its pass, a signed token.
    pub pass: String,
    nonce: String,
}

/// How often something was done, and how long all of it took.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Calls or rows.
    pub count: usize,
    /// From the first to the last.
    pub elapsed: Duration,
}

/// How far the order writer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriterState {
    /// Age of the oldest entry that is not written, by Redis's clock; 0 when all are.
    pub lag_ms: i64,
    /// Whether every entry is written.
    pub drained: bool,
}

/// One reading of the whole map.
#[derive(Clone, Copy, Debug)]
pub struct SnapshotTimes {
    /// The script, its answer, and the frame made of it.
    pub snapshot: Duration,
    /// A plain `GET` of the same bytes.
    pub plain: Duration,
}

/// Versions of both stores.
#[derive(Clone, Debug)]
pub struct Versions {
    /// Postgres.
    pub postgres: String,
    /// Redis.
    pub redis: String,
}

impl Bench {
    /// Opens what the benchmarks need.
    ///
    /// # Errors
    /// `forbidden` in production.
    pub fn new(backend: &Arc<Backend>, redis_url: &str) -> Result<Self> {
        backend.development_only("a benchmark")?;
        Ok(Self { backend: Arc::clone(backend), redis_url: redis_url.to_owned() })
    }

    /// Lets fans in without a queue: visits in both stores, and a pass for each.
    ///
    /// # Errors
    /// Outages only.
    pub async fn admit(&self, id: PerformanceId, fans: &[FanLogin]) -> Result<Vec<Shopper>> {
        let backend = &self.backend;
        let sale = backend.reload_sale(id).await?;
        let entered = backend.seats.time_of(id).await?;
        let expires = entered.plus(LONG_MS);
        let mut shoppers = Vec::with_capacity(fans.len());
        for fans in fans.chunks(SHOPPERS_BATCH) {
            let batch = fans.iter().map(|fan| self.shopper(id, fan)).collect::<Result<Vec<_>>>()?;
            let visits: Vec<(i64, String)> = batch.iter().map(|fan| (expires.0, fan.account.simple())).collect();
            let nonces: Vec<(String, &str)> =
                batch.iter().map(|fan| (fan.account.simple(), fan.nonce.as_str())).collect();
            let mut pipe = redis::pipe();
            pipe.zadd_multiple(sale.keys.shoppers(), &visits).ignore();
            pipe.hset_multiple(sale.keys.entered(), &nonces).ignore();
            pipe.query_async::<()>(&mut backend.seats.connection()).await?;
            let accounts: Vec<Uuid> = batch.iter().map(|fan| fan.account.0).collect();
            let nonces: Vec<String> = batch.iter().map(|fan| fan.nonce.clone()).collect();
            let (from, until) = (vec![entered.0; batch.len()], vec![expires.0; batch.len()]);
            let mut connection = backend.pg.acquire().await?;
            log::insert_admissions(&mut connection, id, &accounts, &nonces, &from, &until).await?;
            shoppers.extend(batch);
        }
        Ok(shoppers)
    }

    fn shopper(&self, performance: PerformanceId, fan: &FanLogin) -> Result<Shopper> {
        let tokens = &self.backend.tokens;
        let session = fan
            .cookie
            .split_once('=')
            .and_then(|(_, token)| tokens.read::<Session>(SESSION_PURPOSE, token).ok())
            .ok_or_else(|| Error::Broken("a seeded fan has no session".to_owned()))?;
        let nonce = format!("{}:bench", session.session.simple());
        let expires = self.backend.now().plus(LONG_MS);
        let pass = Pass { account: fan.account, performance, session: session.session, nonce: nonce.clone(), expires };
        Ok(Shopper { account: fan.account, cookie: fan.cookie.clone(), pass: tokens.sign(PASS_PURPOSE, &pass), nonce })
    }

    /// Asks the hold script alone for `seats_each` fresh seats for each shopper, from seat 0 on, `depth`
    /// calls at a time over one connection, until all have theirs or the time is over.
    ///
    /// # Errors
    /// When a call is answered with anything but the hold.
    pub async fn hold_bare(
        &self,
        id: PerformanceId,
        shoppers: &[Shopper],
        seats_each: u32,
        depth: usize,
        limit: Duration,
    ) -> Result<Run> {
        let backend = &self.backend;
        let sale = backend.reload_sale(id).await?;
        let fitting = usize::try_from(sale.row.seat_count / seats_each.max(1)).unwrap_or(0);
        let bare = |(number, shopper): (u32, &Shopper)| {
            let seats: Vec<SeatNo> = (0..seats_each).map(|seat| SeatNo(number * seats_each + seat)).collect();
            Ok(BareHold {
                hold: hold_id(shopper.account, id, BARE_KEY),
                account: shopper.account,
                nonce: shopper.nonce.clone(),
                request: HoldRequest::new(seats, BARE_KEY, sale.row.seat_limit)?,
            })
        };
        let holds = (0..).zip(shoppers.iter().take(fitting)).map(bare).collect::<Result<Vec<_>>>()?;
        let packed = backend.seats.pack_holds(&sale.keys, sale.row.epoch, &holds, depth).await?;
        let url = self.redis_url.clone();
        let (count, elapsed) = tokio::task::spawn_blocking(move || packed.send(&url, limit))
            .await
            .map_err(|e| Error::Broken(format!("the bare calls ended early: {e}")))??;
        Ok(Run { count, elapsed })
    }

    /// How far the order writer of a performance is.
    ///
    /// # Errors
    /// Outages only.
    pub async fn writer(&self, id: PerformanceId) -> Result<WriterState> {
        let backend = &self.backend;
        let sale = backend.sale(id).await?;
        let position = log::position(&backend.pg, id).await?.map_or_else(|| "0-0".to_owned(), |(_, position)| position);
        let oldest: redis::streams::StreamRangeReply = redis::cmd("XRANGE")
            .arg(sale.keys.log())
            .arg(format!("({position}"))
            .arg("+")
            .arg("COUNT")
            .arg(1)
            .query_async(&mut backend.seats.connection())
            .await?;
        let Some(at) = oldest.ids.first().and_then(|entry| LogPosition::parse(&entry.id)) else {
            return Ok(WriterState { lag_ms: 0, drained: true });
        };
        let now = backend.seats.time(&sale.keys).await?;
        Ok(WriterState { lag_ms: (now.0 - i64::try_from(at.ms).unwrap_or(now.0)).max(0), drained: false })
    }

    /// How many orders of a performance are written.
    ///
    /// # Errors
    /// Outages only.
    pub async fn orders(&self, id: PerformanceId) -> Result<usize> {
        Ok(usize::try_from(rows::count_orders(&self.backend.pg, id).await?).unwrap_or(0))
    }

    /// Writes orders of two seats, from seat 0 on, one for each account, with plain multi-row inserts; every
    /// second one is sold, the others are held.
    ///
    /// # Errors
    /// Outages only.
    pub async fn write_plainly(&self, id: PerformanceId, accounts: &[AccountId]) -> Result<Run> {
        let now = self.backend.now();
        let batches: Vec<PlainOrders> = plain_orders(accounts, 2, false);
        let mut connection = self.backend.pg.acquire().await?;
        let started = Instant::now();
        for batch in &batches {
            // One statement after the other on one connection, committed as one, like a batch of the writer.
            let mut tx = sqlx::Connection::begin(&mut *connection).await?;
            rows::insert_plainly(&mut tx, id, batch, (now, now.plus(LONG_MS))).await?;
            tx.commit().await?;
        }
        Ok(Run { count: accounts.len(), elapsed: started.elapsed() })
    }

    /// Reads the whole map as a hub does, and its bytes alone.
    ///
    /// # Errors
    /// `unavailable` while the seats are being built.
    pub async fn snapshot(&self, id: PerformanceId) -> Result<SnapshotTimes> {
        let backend = &self.backend;
        let sale = backend.sale(id).await?;
        let started = Instant::now();
        let Some(read) = backend.seats.snapshot(&sale.keys, sale.row.epoch).await? else {
            return crate::holds::rebuilding();
        };
        let frame = Frame::Snapshot {
            epoch: u64::try_from(sale.row.epoch).unwrap_or(0),
            at: read.at,
            seats: read.bytes.iter().map(|byte| SeatByte(*byte).shown()).collect(),
        };
        let encoded = frame.encode();
        let snapshot = started.elapsed();
        let started = Instant::now();
        let bytes: Vec<u8> = backend.seats.connection().get(sale.keys.seats()).await?;
        let plain = started.elapsed();
        if bytes.len() != read.bytes.len() || encoded.is_empty() || read.at == LogPosition::default() {
            return Err(Error::Broken("the map was read in two sizes, or without a position".to_owned()));
        }
        Ok(SnapshotTimes { snapshot, plain })
    }

    /// Loses everything that Redis has.
    ///
    /// # Errors
    /// Outages only.
    pub async fn empty_redis(&self) -> Result<()> {
        Ok(redis::cmd("FLUSHALL").query_async::<()>(&mut self.server().await?).await?)
    }

    /// How long Redis itself takes to load a copy of one performance's state.
    ///
    /// # Errors
    /// Outages only.
    pub async fn restore(&self, id: PerformanceId) -> Result<Duration> {
        let sale = self.backend.reload_sale(id).await?;
        let mut connection = self.backend.seats.connection();
        let mut restore = redis::pipe();
        // No epoch has this number: nobody else writes there.
        let copies = sale.keys.staging(0);
        for (live, copy) in sale.keys.all().iter().skip(1).zip(&copies) {
            let dump: Option<Vec<u8>> = redis::cmd("DUMP").arg(live).query_async(&mut connection).await?;
            if let Some(dump) = dump {
                restore.cmd("RESTORE").arg(copy).arg(0).arg(dump).arg("REPLACE").ignore();
            }
        }
        let started = Instant::now();
        restore.query_async::<()>(&mut connection).await?;
        let elapsed = started.elapsed();
        let _: i64 = connection.del(&copies).await?;
        Ok(elapsed)
    }

    /// Waits until Redis doesn't rewrite its append-only file, which takes a core for a while.
    ///
    /// # Errors
    /// Outages only; a rewrite that goes on is no error.
    pub async fn quiet(&self) -> Result<()> {
        let started = Instant::now();
        while started.elapsed() < REWRITE_TIMEOUT {
            let info = self.info("persistence").await?;
            if field(&info, "aof_rewrite_in_progress") != Some("1") {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }

    /// Bytes that Redis has allocated.
    ///
    /// # Errors
    /// Outages only.
    pub async fn redis_memory(&self) -> Result<u64> {
        let info = self.info("memory").await?;
        field(&info, "used_memory")
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| Error::Broken("Redis does not say how much memory it uses".to_owned()))
    }

    /// Closes the connections to Postgres, which has a process for each: this installation is done.
    pub async fn hang_up(&self) {
        self.backend.pg.close().await;
    }

    /// The versions of both stores.
    ///
    /// # Errors
    /// Outages only.
    pub async fn versions(&self) -> Result<Versions> {
        let info = self.info("server").await?;
        let redis = field(&info, "redis_version").unwrap_or("unknown").to_owned();
        Ok(Versions { postgres: rows::version(&self.backend.pg).await?, redis })
    }

    async fn info(&self, section: &str) -> Result<String> {
        Ok(redis::cmd("INFO").arg(section).query_async(&mut self.server().await?).await?)
    }

    async fn server(&self) -> Result<redis::aio::MultiplexedConnection> {
        Ok(redis::Client::open(self.redis_url.as_str())?.get_multiplexed_async_connection().await?)
    }
}

fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

/// Orders of so many seats, one for each account: all sold, or every second one.
fn plain_orders(accounts: &[AccountId], seats_each: u32, all_sold: bool) -> Vec<PlainOrders> {
    let seats_each = i32::try_from(seats_each).unwrap_or(0);
    let numbered: Vec<(i32, &AccountId)> = (0..).zip(accounts).collect();
    let batch = |orders: &[(i32, &AccountId)]| {
        let mut batch = PlainOrders { seats_each: i64::from(seats_each), ..PlainOrders::default() };
        for (number, account) in orders {
            let id = Uuid::now_v7();
            batch.ids.push(id);
            batch.accounts.push(account.0);
            batch.statuses.push(if all_sold || number % 2 == 0 { "fulfilled" } else { "pending_payment" });
            for seat in number * seats_each..(number + 1) * seats_each {
                batch.item_orders.push(id);
                batch.item_seats.push(seat);
            }
        }
        batch
    };
    numbered.chunks(ORDERS_BATCH).map(batch).collect()
}
