//! Typed calls of the scripts over one performance and its queue.

use super::scripts::{Script, Scripts};
use super::store::{OwnConnection, Store};
use super::{Keys, store};
use crate::error::{Error, Result};
use domain::hold::SeatState;
use domain::live::LogPosition;
use domain::{AccountId, Millis, OrderId, PerformanceId, SeatNo};
use redis::{FromRedisValue as _, RedisError, Value};
use std::collections::HashMap;

/// Most log entries in one read: bounds a writer's batch and a hub's tick.
pub(crate) const LOG_BATCH: usize = 500;

/// The seats of all performances, on one server or spread over a cluster.
#[derive(Clone)]
pub(crate) struct RedisSeats {
    store: Store,
    pub(super) scripts: Scripts,
}

/// Which server's state it is, as that server says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoreRun {
    /// Changes with each start of the server.
    pub(crate) run: String,
    /// Changes when the data came from another server than before: after a replica was promoted.
    pub(crate) lineage: String,
}

/// What `pay.lua` and `unpay.lua` answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PayAnswer {
    Until(Millis),
    Rebuilding,
    Gone,
    Sold,
    /// A newer attempt runs, or this one is over.
    OtherAttempt,
}

/// What the scripts with a one-word answer say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ShortAnswer {
    /// Done now.
    Done,
    /// Done before.
    Again,
    /// The state is not complete, or of another epoch.
    Rebuilding,
    /// Anything else, by its word and its seats.
    No(String, Vec<SeatNo>),
}

/// The whole map as `snapshot.lua` reads it.
#[derive(Clone, Debug)]
pub(crate) struct SeatsRead {
    pub(crate) bytes: Vec<u8>,
    pub(crate) at: LogPosition,
}

/// One entry of the log.
#[derive(Clone, Debug)]
pub(crate) struct LogEntry {
    pub(crate) id: String,
    fields: HashMap<String, String>,
}

impl LogEntry {
    #[cfg(test)]
    pub(crate) fn new(id: &str, fields: &[(&str, &str)]) -> Self {
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { id: id.to_owned(), fields }
    }

    /// All fields, as evidence.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        serde_json::json!(self.fields)
    }

    pub(crate) fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }

    pub(crate) fn position(&self) -> Option<LogPosition> {
        LogPosition::parse(&self.id)
    }

    /// The seats with their new bytes, in order.
    pub(crate) fn changes(&self) -> Vec<(u32, u8)> {
        self.field("d")
            .split(',')
            .filter_map(|part| part.split_once(':'))
            .filter_map(|(seat, byte)| Some((seat.parse().ok()?, byte.parse().ok()?)))
            .collect()
    }
}

pub(super) fn broken(what: &str, value: &impl std::fmt::Debug) -> Error {
    Error::Broken(format!("{what} answered {value:?}"))
}

pub(super) fn word(values: &[Value]) -> String {
    values.first().and_then(|v| String::from_redis_value_ref(v).ok()).unwrap_or_default()
}

pub(super) fn number(values: &[Value], index: usize) -> Result<i64> {
    let value = values.get(index).ok_or_else(|| broken("a script", &values))?;
    // A script's number arrives as an integer, one that passed through a hash as text.
    i64::from_redis_value_ref(value)
        .ok()
        .or_else(|| f64::from_redis_value_ref(value).ok().map(whole))
        .ok_or_else(|| broken("a script", &values))
}

#[expect(clippy::cast_possible_truncation, reason = "milliseconds and counts of scripts stay far below 2^53")]
fn whole(value: f64) -> i64 {
    value as i64
}

pub(super) fn seats(values: &[Value], index: usize) -> Vec<SeatNo> {
    values
        .get(index)
        .and_then(|v| String::from_redis_value_ref(v).ok())
        .and_then(|text| domain::ids::parse_seats(&text).ok())
        .unwrap_or_default()
}

impl RedisSeats {
    pub(crate) fn new(store: Store) -> Self {
        Self { store, scripts: Scripts::new() }
    }

    /// The way for reads that need no script. Each must name a key.
    pub(crate) fn connection(&self) -> Store {
        self.store.clone()
    }

    /// A connection of one's own to the server of a performance, for reads that wait for news. It does
    /// not repair itself: when it fails, take another.
    pub(crate) async fn own_connection(&self, keys: &Keys) -> Result<OwnConnection> {
        Ok(self.store.own(keys.epoch(), store::WAITING_READ_TIMEOUT).await?)
    }

    /// A connection of one's own for the long pipeline of a rebuild.
    pub(crate) async fn staging_connection(&self, keys: &Keys) -> Result<OwnConnection> {
        Ok(self.store.own(keys.epoch(), store::STAGING_TIMEOUT).await?)
    }

    /// The clock of a performance's server: the one authority on when its holds and payments end.
    pub(crate) async fn time(&self, keys: &Keys) -> Result<Millis> {
        let value = self.store.ask_owner(keys.epoch(), &redis::cmd("TIME")).await?;
        let (seconds, micros): (i64, i64) = redis::from_redis_value(value).map_err(RedisError::from)?;
        Ok(Millis(seconds * 1000 + micros / 1000))
    }

    /// [`Self::time`] of a performance.
    pub(crate) async fn time_of(&self, performance: PerformanceId) -> Result<Millis> {
        self.time(&Keys::new(performance)).await
    }

    /// The run of the server that owns a performance.
    pub(crate) async fn store_run(&self, keys: &Keys) -> Result<StoreRun> {
        let info = redis::cmd("INFO").arg("server").arg("replication").to_owned();
        let value = self.store.ask_owner(keys.epoch(), &info).await?;
        let text: String = redis::from_redis_value(value).map_err(RedisError::from)?;
        let facts = store::read_facts(&text);
        let lineage = facts.get("master_replid").cloned().unwrap_or_default();
        Ok(StoreRun { run: store::run_of(&facts)?, lineage })
    }

    pub(super) async fn run(&self, script: &Script, keys: &[String], args: &[&str]) -> Result<Vec<Value>> {
        let args: Vec<&[u8]> = args.iter().map(|arg| arg.as_bytes()).collect();
        Ok(self.store.script(*script, keys, &args).await?)
    }

    /// The one word of a script's answer.
    pub(super) async fn word_of(&self, script: &Script, keys: &[String], args: &[&str]) -> Result<String> {
        Ok(word(&self.run(script, keys, args).await?))
    }

    pub(super) async fn short(&self, script: &Script, keys: &Keys, epoch: i64, args: &[&str]) -> Result<ShortAnswer> {
        let epoch = epoch.to_string();
        let all: Vec<&str> = std::iter::once(epoch.as_str()).chain(args.iter().copied()).collect();
        let values = self.run(script, keys.all(), &all).await?;
        Ok(match word(&values).as_str() {
            "ok" => ShortAnswer::Done,
            "again" => ShortAnswer::Again,
            "rebuilding" => ShortAnswer::Rebuilding,
            other => ShortAnswer::No(other.to_owned(), seats(&values, 1)),
        })
    }

    pub(crate) async fn release(
        &self,
        keys: &Keys,
        epoch: i64,
        hold: OrderId,
        account: AccountId,
    ) -> Result<ShortAnswer> {
        self.short(&self.scripts.release, keys, epoch, &[&hold.simple(), &account.simple()]).await
    }

    /// Takes the mark away that a state is complete: every script refuses until it is built again.
    pub(crate) async fn distrust(&self, keys: &Keys) -> Result<()> {
        Ok(redis::cmd("DEL").arg(keys.epoch()).query_async::<()>(&mut self.connection()).await?)
    }

    /// How long the oldest entry of the log has waited for the order writer, in ms; 0 when all are written.
    pub(crate) async fn writer_lag_ms(&self, keys: &Keys) -> Result<i64> {
        let mut connection = self.connection();
        let written: Option<String> =
            redis::cmd("HGET").arg(keys.meta()).arg("written").query_async(&mut connection).await?;
        let after = format!("({}", written.as_deref().unwrap_or("0-0"));
        let next: redis::streams::StreamRangeReply = redis::cmd("XRANGE")
            .arg(keys.log())
            .arg(after)
            .arg("+")
            .arg("COUNT")
            .arg(1)
            .query_async(&mut connection)
            .await?;
        let Some(at) = next.ids.first().and_then(|entry| LogPosition::parse(&entry.id)) else { return Ok(0) };
        Ok((self.time(keys).await?.0 - i64::try_from(at.ms).unwrap_or(0)).max(0))
    }

    pub(crate) async fn finish(&self, keys: &Keys, epoch: i64, hold: OrderId) -> Result<ShortAnswer> {
        self.short(&self.scripts.finish, keys, epoch, &[&hold.simple(), ""]).await
    }

    pub(crate) async fn confirm(&self, keys: &Keys, epoch: i64, hold: OrderId) -> Result<ShortAnswer> {
        self.short(&self.scripts.confirm, keys, epoch, &[&hold.simple()]).await
    }

    pub(crate) async fn unsell(&self, keys: &Keys, epoch: i64, hold: OrderId) -> Result<ShortAnswer> {
        self.short(&self.scripts.unsell, keys, epoch, &[&hold.simple()]).await
    }

    /// Takes seats out of the hold of a paid order: back to sale, and off it.
    pub(crate) async fn return_seats(
        &self,
        keys: &Keys,
        epoch: i64,
        hold: OrderId,
        back: &[SeatNo],
        off: &[SeatNo],
    ) -> Result<ShortAnswer> {
        let (back, off) = (domain::ids::join_seats(back), domain::ids::join_seats(off));
        self.short(&self.scripts.return_seats, keys, epoch, &[&hold.simple(), &back, &off]).await
    }

    pub(crate) async fn leave(&self, keys: &Keys, epoch: i64, account: AccountId) -> Result<ShortAnswer> {
        self.short(&self.scripts.leave, keys, epoch, &[&account.simple()]).await
    }

    pub(crate) async fn block(
        &self,
        keys: &Keys,
        epoch: i64,
        list: &[SeatNo],
        from: SeatState,
        to: SeatState,
    ) -> Result<ShortAnswer> {
        let (list, from, to) = (domain::ids::join_seats(list), (from as u8).to_string(), (to as u8).to_string());
        self.short(&self.scripts.block, keys, epoch, &[&list, &from, &to]).await
    }

    /// Puts seats into the allocation of a number (`keep`), or takes them out of it.
    pub(crate) async fn allocate(
        &self,
        keys: &Keys,
        epoch: i64,
        list: &[SeatNo],
        number: u8,
        keep: bool,
    ) -> Result<ShortAnswer> {
        let (list, number) = (domain::ids::join_seats(list), number.to_string());
        let word = if keep { "keep" } else { "free" };
        self.short(&self.scripts.allocate, keys, epoch, &[&list, &number, word]).await
    }

    /// Tells the scripts how far the log is written.
    pub(crate) async fn written(&self, keys: &Keys, epoch: i64, position: &str) -> Result<ShortAnswer> {
        self.short(&self.scripts.written, keys, epoch, &[position]).await
    }

    /// Marks what ran out and names it; `None` while rebuilding.
    pub(crate) async fn sweep(&self, keys: &Keys, epoch: i64, most: usize) -> Result<Option<Vec<OrderId>>> {
        let values = self.run(&self.scripts.sweep, keys.all(), &[&epoch.to_string(), &most.to_string()]).await?;
        if word(&values) != "ok" {
            return Ok(None);
        }
        let ids = values[1..].iter().filter_map(|v| String::from_redis_value_ref(v).ok()?.parse().ok()).collect();
        Ok(Some(ids))
    }

    async fn paying(&self, script: &Script, keys: &Keys, args: &[&str]) -> Result<PayAnswer> {
        let values = self.run(script, keys.all(), args).await?;
        Ok(match word(&values).as_str() {
            "ok" => PayAnswer::Until(Millis(number(&values, 1)?)),
            "rebuilding" => PayAnswer::Rebuilding,
            "sold" => PayAnswer::Sold,
            "other" => PayAnswer::OtherAttempt,
            "missing" | "closed" => PayAnswer::Gone,
            _ => return Err(broken("a payment script", &values)),
        })
    }

    /// Begins an attempt of an order, by its number.
    pub(crate) async fn pay(
        &self,
        keys: &Keys,
        epoch: i64,
        hold: OrderId,
        account: AccountId,
        attempt: i32,
        (allowed_ms, cap_ms): (i64, i64),
    ) -> Result<PayAnswer> {
        let args = [
            epoch.to_string(),
            hold.simple(),
            account.simple(),
            attempt.to_string(),
            allowed_ms.to_string(),
            cap_ms.to_string(),
        ];
        self.paying(&self.scripts.pay, keys, &args.each_ref().map(String::as_str)).await
    }

    /// Ends the attempts of an order up to a number.
    pub(crate) async fn unpay(
        &self,
        keys: &Keys,
        epoch: i64,
        hold: OrderId,
        attempt: i32,
        (least_ms, cap_ms): (i64, i64),
    ) -> Result<PayAnswer> {
        let args = [epoch.to_string(), hold.simple(), attempt.to_string(), least_ms.to_string(), cap_ms.to_string()];
        self.paying(&self.scripts.unpay, keys, &args.each_ref().map(String::as_str)).await
    }

    /// Reads the whole map; `None` while rebuilding.
    pub(crate) async fn snapshot(&self, keys: &Keys, epoch: i64) -> Result<Option<SeatsRead>> {
        let values = self.run(&self.scripts.snapshot, keys.all(), &[&epoch.to_string()]).await?;
        if word(&values) != "ok" {
            return Ok(None);
        }
        let [_, bytes, at] = values.as_slice() else { return Err(broken("snapshot.lua", &values)) };
        let at = String::from_redis_value_ref(at).ok().and_then(|text| LogPosition::parse(&text));
        match (Vec::<u8>::from_redis_value_ref(bytes), at) {
            (Ok(bytes), Some(at)) => Ok(Some(SeatsRead { bytes, at })),
            _ => Err(broken("snapshot.lua", &values.len())),
        }
    }

    /// Puts a staged state in place: the script's word.
    pub(crate) async fn swap(&self, keys: &Keys, epoch: i64, seat_count: usize, written: &str) -> Result<String> {
        let all: Vec<String> = keys.all().iter().chain(&keys.staging(epoch)).cloned().collect();
        let values =
            self.run(&self.scripts.swap, &all, &[&epoch.to_string(), &seat_count.to_string(), written]).await?;
        Ok(word(&values))
    }
}

/// Reads log entries after a position, in order, waiting up to `block_ms` where there are none.
/// Needs a connection of its own: a blocking read holds up everything behind it.
pub(crate) async fn read_log(
    connection: &mut impl redis::aio::ConnectionLike,
    keys: &Keys,
    after: &str,
    block_ms: Option<usize>,
) -> Result<Vec<LogEntry>> {
    let mut command = redis::cmd("XREAD");
    command.arg("COUNT").arg(LOG_BATCH);
    if let Some(ms) = block_ms {
        command.arg("BLOCK").arg(ms);
    }
    command.arg("STREAMS").arg(keys.log()).arg(after);
    let reply: Option<redis::streams::StreamReadReply> = command.query_async(connection).await?;
    let Some(stream) = reply.and_then(|reply| reply.keys.into_iter().next()) else { return Ok(Vec::new()) };
    Ok(stream
        .ids
        .into_iter()
        .map(|entry| LogEntry {
            id: entry.id,
            fields: entry
                .map
                .into_iter()
                .filter_map(|(name, value)| Some((name, String::from_redis_value(value).ok()?)))
                .collect(),
        })
        .collect())
}
