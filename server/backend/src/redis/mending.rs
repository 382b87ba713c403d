//! What the reconciler reads of the hot state, and how it corrects it: always on the condition that
//! nothing moved since it was read.

use super::seats::{broken, word};
use super::{Keys, RedisSeats};
use crate::error::Result;
use domain::live::LogPosition;
use domain::{AccountId, OrderId, SeatNo};
use redis::{FromRedisValue as _, Value};
use std::collections::HashMap;

/// One hold as the hot state has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HoldRead {
    /// Its record; none when an owner points to nothing.
    pub(crate) record: Option<String>,
    /// The score in `expiry`, as it was written.
    pub(crate) expiry: Option<String>,
}

/// A stretch of seats at one instant.
#[derive(Clone, Debug)]
pub(crate) struct Stretch {
    /// Position of the log up to which this is complete.
    pub(crate) at: LogPosition,
    pub(crate) first: u32,
    pub(crate) bytes: Vec<u8>,
    pub(crate) owner: HashMap<u32, OrderId>,
    pub(crate) holds: HashMap<OrderId, HoldRead>,
}

/// One seat as it was found and as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SeatMend<'a> {
    pub(crate) seat: SeatNo,
    pub(crate) found: (u8, Option<OrderId>),
    pub(crate) wanted: (u8, Option<OrderId>),
    /// The record of the wanted owner, for where there is none.
    pub(crate) record: &'a str,
}

fn text(value: &Value) -> String {
    String::from_redis_value_ref(value).unwrap_or_default()
}

impl RedisSeats {
    /// Reads the seats from `first` to `last` with their owners and holds; `None` while rebuilding.
    pub(crate) async fn peek(&self, keys: &Keys, epoch: i64, first: u32, last: u32) -> Result<Option<Stretch>> {
        let args = [epoch.to_string(), first.to_string(), last.to_string()];
        let values = self.run(&self.scripts.peek, keys.all(), &args.each_ref().map(String::as_str)).await?;
        if word(&values) != "ok" {
            return Ok(None);
        }
        let [_, at, bytes, owned, holds] = values.as_slice() else { return Err(broken("peek.lua", &values.len())) };
        let list = |value: &Value| Vec::<Value>::from_redis_value_ref(value).unwrap_or_default();
        let at = LogPosition::parse(&text(at)).ok_or_else(|| broken("peek.lua", at))?;
        let mut owner = HashMap::new();
        for pair in list(owned).chunks_exact(2) {
            if let (Ok(seat), Ok(hold)) = (u32::from_redis_value_ref(&pair[0]), text(&pair[1]).parse()) {
                owner.insert(seat, hold);
            }
        }
        let mut records = HashMap::new();
        for triple in list(holds).chunks_exact(3) {
            let some = |value| Some(text(value)).filter(|text| !text.is_empty());
            if let Ok(hold) = text(&triple[0]).parse() {
                records.insert(hold, HoldRead { record: some(&triple[1]), expiry: some(&triple[2]) });
            }
        }
        let bytes = Vec::<u8>::from_redis_value_ref(bytes).map_err(|_| broken("peek.lua", &"no bytes"))?;
        Ok(Some(Stretch { at, first, bytes, owner, holds: records }))
    }

    /// Corrects a seat; whether it was still as it was found.
    pub(crate) async fn mend(&self, keys: &Keys, epoch: i64, mend: &SeatMend<'_>) -> Result<bool> {
        let owner = |hold: Option<OrderId>| hold.map(|id| id.simple()).unwrap_or_default();
        let args = [
            epoch.to_string(),
            mend.seat.to_string(),
            mend.found.0.to_string(),
            owner(mend.found.1),
            mend.wanted.0.to_string(),
            owner(mend.wanted.1),
            mend.record.to_owned(),
        ];
        Ok(self.word_of(&self.scripts.mend, keys.all(), &args.each_ref().map(String::as_str)).await? == "ok")
    }

    /// Corrects what an account holds (`<count>:<open hold>`); whether it was still as it was found.
    pub(crate) async fn mend_count(
        &self,
        keys: &Keys,
        epoch: i64,
        account: AccountId,
        (found, wanted): (&str, &str),
    ) -> Result<bool> {
        let (epoch, account) = (epoch.to_string(), account.simple());
        let args = [epoch.as_str(), &account, found, wanted];
        Ok(self.word_of(&self.scripts.mend_count, keys.all(), &args).await? == "ok")
    }

    /// Corrects the record of a hold, and whether it can run out; whether it was still as it was found.
    pub(crate) async fn mend_hold(
        &self,
        keys: &Keys,
        epoch: i64,
        hold: OrderId,
        (found, wanted): (&str, &str),
    ) -> Result<bool> {
        let (epoch, hold) = (epoch.to_string(), hold.simple());
        let args = [epoch.as_str(), &hold, found, wanted];
        Ok(self.word_of(&self.scripts.mend_hold, keys.all(), &args).await? == "ok")
    }

    /// What each account holds, with the position of the log up to which that is complete.
    pub(crate) async fn counts(&self, keys: &Keys) -> Result<(LogPosition, HashMap<String, String>)> {
        let (info, counts): (redis::streams::StreamInfoStreamReply, HashMap<String, String>) = redis::pipe()
            .atomic()
            .xinfo_stream(keys.log())
            .hgetall(keys.held_by())
            .query_async(&mut self.connection())
            .await?;
        let at =
            LogPosition::parse(&info.last_generated_id).ok_or_else(|| broken("the log", &info.last_generated_id))?;
        Ok((at, counts))
    }
}
