//! The hold script with nothing around it: commands that are written down ahead and sent in batches
//! over one connection, as `redis-benchmark -P` does. Benchmarks compare the program with it.

use super::scripts::Texts;
use super::{HoldCall, Keys, RedisSeats};
use crate::error::{Error, Result};
use domain::hold::HoldRequest;
use domain::{AccountId, OrderId};
use redis::{ConnectionLike as _, FromRedisValue as _, Value};
use std::time::{Duration, Instant};

/// One hold to be asked of the script.
pub(crate) struct BareHold {
    pub(crate) hold: OrderId,
    pub(crate) account: AccountId,
    pub(crate) nonce: String,
    pub(crate) request: HoldRequest,
}

/// Commands ready to be sent, some in each batch.
pub(crate) struct PackedHolds {
    text: String,
    batches: Vec<(Vec<u8>, usize)>,
}

impl RedisSeats {
    /// Writes the calls of the hold script down, `depth` in each batch.
    pub(crate) async fn pack_holds(
        &self,
        keys: &Keys,
        epoch: i64,
        holds: &[BareHold],
        depth: usize,
    ) -> Result<PackedHolds> {
        let texts = Texts::of(&self.store_run(keys).await?.run);
        let script = texts.text(self.scripts.hold);
        let command = |bare: &BareHold| {
            let wish = bare.request.wish();
            let call = HoldCall {
                hold: bare.hold,
                account: bare.account,
                nonce: &bare.nonce,
                wish: &wish,
                seats: &bare.request.seats,
                areas: &[],
                allocations: &[],
                // Nobody writes these: that is no reason to refuse them.
                lag_max_ms: i64::MAX,
            };
            let mut command = redis::cmd("EVALSHA");
            command.arg(&script.digest).arg(keys.all().len()).arg(keys.all()).arg(&call.args(epoch));
            command
        };
        let batch = |holds: &[BareHold]| {
            let mut bytes = Vec::new();
            holds.iter().for_each(|hold| command(hold).write_packed_command(&mut bytes));
            (bytes, holds.len())
        };
        Ok(PackedHolds { text: script.code.clone(), batches: holds.chunks(depth.max(1)).map(batch).collect() })
    }
}

impl PackedHolds {
    /// Sends batch after batch, each when the one before it is answered, until none is left or the time
    /// is over: calls answered, and how long that took. Blocks its thread.
    pub(crate) fn send(&self, url: &str, limit: Duration) -> Result<(usize, Duration)> {
        let mut connection = redis::Client::open(url)?.get_connection()?;
        redis::cmd("SCRIPT").arg("LOAD").arg(&self.text).query::<()>(&mut connection)?;
        let started = Instant::now();
        let mut calls = 0;
        for (bytes, count) in &self.batches {
            for value in connection.req_packed_commands(bytes, 0, *count)? {
                let ok = matches!(&value, Value::Array(parts)
                    if parts.first().and_then(|word| String::from_redis_value_ref(word).ok()).as_deref() == Some("ok"));
                if !ok {
                    return Err(Error::Broken(format!("hold.lua answered {value:?} to a hold of fresh seats")));
                }
            }
            calls += count;
            if started.elapsed() >= limit {
                break;
            }
        }
        Ok((calls, started.elapsed()))
    }
}
