//! The call of `hold.lua`, which has the most to say and to answer.

use super::seats::{broken, number, seats, word};
use super::{Keys, RedisSeats};
use crate::error::Result;
use domain::{AccountId, Millis, OrderId, SeatNo};
use redis::FromRedisValue as _;

/// Places to be drawn from one area.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AreaDraw {
    /// How many.
    pub(crate) count: u32,
    /// Where in the area the search begins, so that fans who ask at once don't all look at its first place.
    pub(crate) start: u32,
    /// First and last seat of each stretch of the area.
    pub(crate) ranges: Vec<(u32, u32)>,
}

/// `start` stays below this: the scripts reckon with it.
pub(crate) const AREA_START_MAX: u32 = 1_000_000;

impl std::fmt::Display for AreaDraw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ranges: Vec<String> = self.ranges.iter().map(|(first, last)| format!("{first}-{last}")).collect();
        write!(f, "{}:{}:{}", self.count, self.start % AREA_START_MAX, ranges.join("/"))
    }
}

/// What one hold asks for.
#[derive(Clone, Debug)]
pub(crate) struct HoldCall<'a> {
    pub(crate) hold: OrderId,
    pub(crate) account: AccountId,
    /// Of the account's current pass.
    pub(crate) nonce: &'a str,
    /// The request in a normal form: the same key with another wish is refused.
    pub(crate) wish: &'a str,
    /// Ascending.
    pub(crate) seats: &'a [SeatNo],
    pub(crate) areas: &'a [AreaDraw],
    /// Numbers of the allocations that this account may take from.
    pub(crate) allocations: &'a [u8],
    /// Holding is refused while an entry of the log has waited longer for the order writer.
    pub(crate) lag_max_ms: i64,
}

impl HoldCall<'_> {
    /// The arguments of the script, in its order.
    pub(super) fn args(&self, epoch: i64) -> [String; 9] {
        let areas: Vec<String> = self.areas.iter().map(ToString::to_string).collect();
        let allocations: Vec<String> = self.allocations.iter().map(ToString::to_string).collect();
        [
            epoch.to_string(),
            self.hold.simple(),
            self.account.simple(),
            self.nonce.to_owned(),
            self.wish.to_owned(),
            domain::ids::join_seats(self.seats),
            areas.join(","),
            allocations.join(","),
            self.lag_max_ms.to_string(),
        ]
    }
}

/// What `hold.lua` answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HoldAnswer {
    Held {
        expires: Millis,
        price_version: i32,
        /// All seats of the hold, with those that were drawn.
        seats: Vec<SeatNo>,
    },
    Rebuilding,
    /// The order writer is too far behind.
    Behind,
    KeyReused,
    Closed,
    SaleClosed,
    PassRequired,
    HoldOpen(Option<OrderId>),
    Limit,
    Unknown(Vec<SeatNo>),
    Taken(Vec<SeatNo>),
    Blocked(Vec<SeatNo>),
    /// In an allocation that this account may not take from.
    Reserved(Vec<SeatNo>),
    /// Too few places are left in an area: its position in the call, and how many there are.
    AreaFull(usize, u32),
}

impl HoldAnswer {
    /// One word for a metric.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Held { .. } => "ok",
            Self::Rebuilding => "rebuilding",
            Self::Behind => "behind",
            Self::KeyReused => "key_reused",
            Self::Closed => "closed",
            Self::SaleClosed => "sale_closed",
            Self::PassRequired => "pass_required",
            Self::HoldOpen(_) => "hold_open",
            Self::Limit => "limit",
            Self::Unknown(_) => "unknown",
            Self::Taken(_) => "taken",
            Self::Blocked(_) => "blocked",
            Self::Reserved(_) => "reserved",
            Self::AreaFull(..) => "area_full",
        }
    }
}

impl RedisSeats {
    /// Takes seats and draws places: all or nothing.
    pub(crate) async fn hold(&self, keys: &Keys, epoch: i64, call: &HoldCall<'_>) -> Result<HoldAnswer> {
        let args = call.args(epoch);
        let values = self.run(&self.scripts.hold, keys.all(), &args.each_ref().map(String::as_str)).await?;
        Ok(match word(&values).as_str() {
            "ok" => HoldAnswer::Held {
                expires: Millis(number(&values, 1)?),
                price_version: i32::try_from(number(&values, 3)?).map_err(|_| broken("hold.lua", &values))?,
                seats: seats(&values, 5),
            },
            "rebuilding" => HoldAnswer::Rebuilding,
            "behind" => HoldAnswer::Behind,
            "key_reused" => HoldAnswer::KeyReused,
            "closed" => HoldAnswer::Closed,
            "sale_closed" => HoldAnswer::SaleClosed,
            "pass_required" => HoldAnswer::PassRequired,
            "hold_open" => {
                HoldAnswer::HoldOpen(values.get(1).and_then(|v| String::from_redis_value_ref(v).ok()?.parse().ok()))
            }
            "limit" => HoldAnswer::Limit,
            "unknown" => HoldAnswer::Unknown(seats(&values, 1)),
            "taken" => HoldAnswer::Taken(seats(&values, 1)),
            "blocked" => HoldAnswer::Blocked(seats(&values, 1)),
            "reserved" => HoldAnswer::Reserved(seats(&values, 1)),
            "area" => {
                let whole = |index| number(&values, index).map(|n| u32::try_from(n).unwrap_or(0));
                HoldAnswer::AreaFull(whole(1)? as usize, whole(2)?)
            }
            _ => return Err(broken("hold.lua", &values)),
        })
    }
}
