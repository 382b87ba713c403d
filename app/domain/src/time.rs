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

/// Year, month and day of a number of days since 1970, by the Gregorian calendar. Counted from the first of
/// March, so that the leap day is the last of its year, in eras of 400 years.
pub fn civil(days: i64) -> (i64, i64, i64) {
    const ERA_DAYS: i64 = 146_097;
    let from_march = days + 719_468;
    let (era, of_era) = (from_march.div_euclid(ERA_DAYS), from_march.rem_euclid(ERA_DAYS));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}
