//! The calls by which late money takes seats once more, and gives them up.

use super::seats::{broken, number, word};
use super::{Keys, RedisSeats, ShortAnswer};
use crate::error::Result;
use domain::live::LogPosition;
use domain::{AccountId, Millis, OrderId, SeatNo};
use redis::FromRedisValue as _;

/// What late money asks for: all seats of its order.
#[derive(Clone, Debug)]
pub(crate) struct ReclaimCall<'a> {
    pub(crate) hold: OrderId,
    pub(crate) account: AccountId,
    /// Number of the attempt that was captured.
    pub(crate) attempt: i32,
    /// Ascending.
    pub(crate) seats: &'a [SeatNo],
    /// Numbers of the allocations that this account may take from.
    pub(crate) allocations: &'a [u8],
    /// The prices that the order was made with.
    pub(crate) price_version: i32,
    /// When the order was made.
    pub(crate) created: Millis,
    /// How long the seats wait for Postgres.
    pub(crate) lease_ms: i64,
}

/// What `reclaim.lua` answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReclaimAnswer {
    /// The seats are the order's until Postgres decides, by this entry of the log. Whoever presents this fence may
    /// give them up, while nobody has asked for them since.
    Took {
        entry: LogPosition,
        fence: i64,
    },
    Rebuilding,
    /// What had been taken has ended.
    Gone,
    /// The hold of before has not ended yet.
    Standing,
    /// Another payment of this order is taking its seats.
    OtherAttempt,
    /// The order gave all of its seats back: its fan released them, or it was paid and they were returned.
    Returned,
    Limit,
    Taken,
    /// Blocked, kept for others, or not there.
    NotForSale,
}

impl RedisSeats {
    /// Takes all seats of a closed order, or goes on with them; where they were not taken before, only if `anew`.
    pub(crate) async fn reclaim(
        &self,
        keys: &Keys,
        epoch: i64,
        call: &ReclaimCall<'_>,
        anew: bool,
    ) -> Result<ReclaimAnswer> {
        let allocations: Vec<String> = call.allocations.iter().map(ToString::to_string).collect();
        let args = [
            epoch.to_string(),
            call.hold.simple(),
            call.account.simple(),
            call.attempt.to_string(),
            domain::ids::join_seats(call.seats),
            allocations.join(","),
            call.price_version.to_string(),
            call.created.0.to_string(),
            call.lease_ms.to_string(),
            u8::from(anew).to_string(),
        ];
        let values = self.run(&self.scripts.reclaim, keys.all(), &args.each_ref().map(String::as_str)).await?;
        Ok(match word(&values).as_str() {
            "ok" => {
                let entry = values.get(1).and_then(|value| String::from_redis_value_ref(value).ok());
                let entry = entry.and_then(|text| LogPosition::parse(&text));
                let entry = entry.ok_or_else(|| broken("reclaim.lua", &values))?;
                ReclaimAnswer::Took { entry, fence: number(&values, 2)? }
            }
            "rebuilding" => ReclaimAnswer::Rebuilding,
            "gone" => ReclaimAnswer::Gone,
            "standing" => ReclaimAnswer::Standing,
            "other" => ReclaimAnswer::OtherAttempt,
            "returned" => ReclaimAnswer::Returned,
            "limit" => ReclaimAnswer::Limit,
            "taken" => ReclaimAnswer::Taken,
            "unknown" | "blocked" | "reserved" => ReclaimAnswer::NotForSale,
            _ => return Err(broken("reclaim.lua", &values)),
        })
    }

    /// Ends what the try that was told this fence has taken; nothing where another one has asked since.
    pub(crate) async fn give_up(&self, keys: &Keys, epoch: i64, hold: OrderId, fence: i64) -> Result<ShortAnswer> {
        self.short(&self.scripts.finish, keys, epoch, &[&hold.simple(), &fence.to_string()]).await
    }
}
