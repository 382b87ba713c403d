//! What the on-sale desk reads of the hot state, and how an organizer's settings reach it.

use super::{Keys, RedisSeats};
use crate::error::Result;
use domain::Millis;
use domain::live::LogPosition;

/// The numbers of a sale that are no seats.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SaleRead {
    /// Redis's clock.
    pub(crate) now: Millis,
    /// Accounts with a place.
    pub(crate) places: u32,
    /// Places released.
    pub(crate) serving: u32,
    /// Visits that have not ended.
    pub(crate) shoppers: u32,
    /// Holds that may still run out.
    pub(crate) open_holds: u32,
    /// When the oldest entry after the written position was made.
    pub(crate) unwritten_since: Option<Millis>,
}

impl RedisSeats {
    /// Reads the numbers of a sale. They are not of one instant: each is true by itself.
    pub(crate) async fn sale_read(&self, keys: &Keys, written: &str) -> Result<SaleRead> {
        let now = self.time(keys).await?;
        let mut connection = self.connection();
        let after = format!("({written}");
        let (serving, shoppers, open_holds, next): (Option<u32>, u32, u32, redis::streams::StreamRangeReply) =
            redis::pipe()
                .hget(keys.meta(), "serving")
                .zcount(keys.shoppers(), format!("({}", now.0), "+inf")
                .zcard(keys.expiry())
                .xrange_count(keys.log(), after, "+", 1)
                .query_async(&mut connection)
                .await?;
        let places: u32 = redis::cmd("HLEN").arg(keys.queue_places()).query_async(&mut connection).await?;
        let unwritten_since = next
            .ids
            .first()
            .and_then(|entry| LogPosition::parse(&entry.id))
            .and_then(|at| i64::try_from(at.ms).ok())
            .map(Millis);
        Ok(SaleRead { now, places, serving: serving.unwrap_or(0), shoppers, open_holds, unwritten_since })
    }

    /// Carries settings of a version into sale and queue, unless newer ones are there; whether both
    /// have them now.
    pub(crate) async fn put_settings(
        &self,
        keys: &Keys,
        epoch: i64,
        version: i64,
        fields: &[(&'static str, String)],
        (registers, opens, closes): (Millis, Millis, Millis),
    ) -> Result<bool> {
        let (epoch, version) = (epoch.to_string(), version.to_string());
        let mut args: Vec<&str> = vec![&epoch, &version];
        for (name, value) in fields {
            args.extend([*name, value.as_str()]);
        }
        let sale = self.word_of(&self.scripts.settings, keys.all(), &args).await?;
        let times = [opens, closes, registers].map(|at| at.0.to_string());
        let [opens, closes, registers] = times.each_ref().map(String::as_str);
        let args = [version.as_str(), opens, closes, registers];
        let queue = self.word_of(&self.scripts.queue_settings, keys.queue(), &args).await?;
        Ok(sale == "ok" && queue == "ok")
    }
}
