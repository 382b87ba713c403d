//! Instants and venue-local times as values. Nothing here reads a clock.

use serde::{Deserialize, Serialize};

/// An instant: milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub i64);

impl Millis {
    /// This instant moved by `delta_ms` (may be negative); saturates at the ends of the range.
    #[must_use]
    pub fn plus(self, delta_ms: i64) -> Self {
        Self(self.0.saturating_add(delta_ms))
    }

    /// How long until `later`, in milliseconds; 0 when it is past.
    pub fn until(self, later: Self) -> i64 {
        later.0.saturating_sub(self.0).max(0)
    }
}

/// An instant as people at the venue read it. The parts are computed on the server, where the time
/// zone rules are, so that the browser needs no zone database and both sides render the same text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZonedTime {
    /// The instant itself.
    pub at: Millis,
    /// IANA name, such as `Europe/Berlin`.
    pub zone: String,
    /// Calendar year in the zone.
    pub year: i16,
    /// Month, 1–12.
    pub month: u8,
    /// Day of the month, 1–31.
    pub day: u8,
    /// Hour, 0–23.
    pub hour: u8,
    /// Minute, 0–59.
    pub minute: u8,
    /// Day of the week, 1 = Monday … 7 = Sunday.
    pub weekday: u8,
    /// Offset from UTC in minutes, east positive.
    pub offset_min: i32,
}
