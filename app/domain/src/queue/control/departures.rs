//! How many shoppers will have left when a fan who is released now comes to the door.

use super::milliseconds;
use serde::{Deserialize, Serialize};

/// Time constant of the measured departures, in milliseconds: long enough to even out chance, short
/// enough that a house in which nobody can pay any more, and nobody leaves, is seen at once.
const SMOOTH_MS: f64 = 10_000.0;

/// Part of the measured departures that is relied on. The rest is a margin for visits that become longer.
const RELIED_ON: f64 = 0.9;

/// Departures as measured lately.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Departures {
    /// Shoppers inside at the last step; none before the first.
    shoppers: Option<u32>,
    /// Shoppers who leave in a millisecond.
    per_ms: f64,
}

impl Departures {
    /// Time passed and fans entered; so many are inside now.
    pub(super) fn pass(&mut self, passed_ms: i64, entered: u64, shoppers: u32) {
        let before = self.shoppers.replace(shoppers);
        let Some(before) = before.filter(|_| passed_ms > 0) else { return };
        let left = (u64::from(before) + entered).saturating_sub(u64::from(shoppers));
        let passed_ms = milliseconds(passed_ms);
        let weight = 1.0 - (-passed_ms / SMOOTH_MS).exp();
        self.per_ms += (left as f64 / passed_ms - self.per_ms) * weight;
    }

    /// How many will leave within so many milliseconds, counted carefully; never more than are inside.
    pub(super) fn expected(&self, within_ms: i64) -> f64 {
        let inside = f64::from(self.shoppers.unwrap_or(0));
        (self.per_ms * milliseconds(within_ms) * RELIED_ON).min(inside)
    }
}
