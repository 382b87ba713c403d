//! Events and performances as organizers see them, and the forms that they send.

use super::draft::{Check, HOLD_TTL_MAX_MS, HOLD_TTL_MIN_MS, WINDOW_MAX_MS, WINDOW_MIN_MS};
use crate::ids::{EventId, PerformanceId, PlanId};
use crate::money::fees::FeeSchedule;
use crate::money::{Currency, Money};
use crate::queue::{Mode, Phase};
use crate::refusal::{Code, Refusal};
use crate::time::ZonedTime;
use serde::{Deserialize, Serialize};

/// Longest part of an address, in bytes.
pub const SLUG_MAX_BYTES: usize = 80;

/// An event in the organizer's list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventLine {
    /// The event.
    pub id: EventId,
    /// Part of its address.
    pub slug: String,
    /// Title.
    pub title: String,
    /// Who plays.
    pub artist: String,
    /// Picture theme.
    pub cover: u8,
    /// Digest of its own picture.
    pub picture: Option<String>,
    /// Its performances: published ones by date, then those in the making.
    pub performances: Vec<PerformanceLine>,
}

/// A performance in that list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerformanceLine {
    /// The performance.
    pub id: PerformanceId,
    /// Where its sale stands; none while it is in the making.
    pub phase: Option<Phase>,
    /// How places become turns; the usual way while it is in the making.
    #[serde(default)]
    pub mode: Mode,
    /// Venue and city, once a plan is chosen.
    pub venue: Option<String>,
    /// When it begins, at the venue.
    pub starts: Option<ZonedTime>,
    /// When the sale opens, at the venue.
    pub opens: Option<ZonedTime>,
    /// Seats of paid orders.
    pub sold: u32,
    /// Seats in all.
    pub seats: u32,
}

/// An event as its organizer edits it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrganizerEvent {
    /// The event with its performances.
    pub line: EventLine,
    /// Plain text.
    pub description: String,
    /// Whether a performance was published: links to the address are out, so it stays.
    pub slug_frozen: bool,
}

/// What is written about an event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventFields {
    /// Part of its address; made of the title when empty.
    #[serde(default)]
    pub slug: String,
    /// Title.
    pub title: String,
    /// Who plays.
    pub artist: String,
    /// Plain text.
    pub description: String,
    /// Picture theme.
    #[serde(default)]
    pub cover: u8,
}

/// A plan to choose from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanHead {
    /// The plan.
    pub id: PlanId,
    /// Name of the venue.
    pub venue: String,
    /// City.
    pub city: String,
    /// Time zone of the venue, by its IANA name.
    pub zone: String,
    /// Name of the static map.
    pub map_digest: String,
    /// Number of seats.
    pub seats: u32,
}

/// A local time as it stands in a form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalText {
    /// Such as `2027-03-28T20:00`; empty for none.
    pub text: String,
    /// Such as `+02:00`, for the hour that the clocks go through twice; empty otherwise.
    pub offset: String,
    /// The same for people.
    pub zoned: Option<ZonedTime>,
}

/// A zone with what is for sale in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneTotal {
    /// Its name.
    pub name: String,
    /// Seats for sale.
    pub sellable: u32,
    /// Price of a seat, once price and currency are decided.
    pub price: Option<Money>,
}

/// What is fixed once a performance is published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Published {
    /// SHA-256 of the secret seed of the draw, hexadecimal.
    pub commitment: String,
    /// Where the sale stands.
    pub phase: Phase,
    /// Whether its seats are in place.
    pub readiness: Readiness,
    /// Until when fans may change the names on their tickets.
    pub names: NameTerms,
}

/// A performance as its organizer edits it, or sees it after publishing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftView {
    /// The performance.
    pub id: PerformanceId,
    /// Raised by every change; what is saved names the one that it began from.
    pub version: i32,
    /// The event.
    pub event: EventId,
    /// Part of the event's address.
    pub slug: String,
    /// The event's title.
    pub title: String,
    /// Who plays.
    pub artist: String,
    /// The chosen plan.
    pub plan: Option<PlanHead>,
    /// The plans to choose from.
    pub plans: Vec<PlanHead>,
    /// When the performance begins.
    pub starts: LocalText,
    /// When the on-sale opens.
    pub opens: LocalText,
    /// How places become turns.
    pub mode: Mode,
    /// From when on places can be taken; empty: from publication on.
    pub registers: LocalText,
    /// Accounts that were made later get no place; empty: all may.
    pub account_cutoff: LocalText,
    /// Length of a lottery's window.
    pub window_ms: i64,
    /// When the sale ends.
    pub closes: LocalText,
    /// Most seats for one account.
    pub seat_limit: u32,
    /// Length of a hold.
    pub hold_ttl_ms: i64,
    /// Whether a choice that leaves one seat alone is refused.
    pub single_seat_rule: bool,
    /// Most shoppers inside at once.
    pub shoppers_max: u32,
    /// Places released a minute.
    pub release_per_min: u32,
    /// Currency of all prices.
    pub currency: Option<Currency>,
    /// Fees and tax: those that would apply if it were published now, or those that it was published with.
    #[serde(default)]
    pub fees: Option<FeeSchedule>,
    /// The price zones.
    pub zones: Vec<ZoneTotal>,
    /// Seats off sale.
    pub blocked: u32,
    /// Whether another plan would drop added zones or blocked seats.
    pub loses_with_plan: bool,
    /// What is missing; empty once published.
    pub checks: Vec<Check>,
    /// None while it is in the making.
    pub published: Option<Published>,
}

/// What a form says about a performance in the making: texts, as people typed them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DraftForm {
    /// Id of the plan; empty for none.
    pub plan: String,
    /// Local time at the venue, such as `2027-03-28T20:00`, with an offset behind it if need be.
    pub starts: String,
    /// Offset from UTC such as `+02:00`, where the local time alone has two meanings.
    pub starts_offset: String,
    /// Local time of the opening.
    pub opens: String,
    /// Its offset.
    pub opens_offset: String,
    /// `queue` or `lottery`; empty for a queue.
    pub mode: String,
    /// Local time from when on places can be taken; empty: from publication on.
    pub registers: String,
    /// Its offset.
    pub registers_offset: String,
    /// Local time after which new accounts get no place; empty: all get one.
    pub account_cutoff: String,
    /// Its offset.
    pub account_cutoff_offset: String,
    /// Length of a lottery's window in minutes; a fraction is allowed. Empty: as it was.
    pub window_min: String,
    /// Local time of the end of the sale.
    pub closes: String,
    /// Its offset.
    pub closes_offset: String,
    /// Most seats for one account.
    pub seat_limit: String,
    /// Length of a hold in minutes; a fraction is allowed.
    pub hold_ttl_min: String,
    /// Not empty when a choice that leaves one seat alone is to be refused.
    pub single_seat_rule: String,
    /// Most shoppers inside at once.
    pub shoppers_max: String,
    /// Places released a minute.
    pub release_per_min: String,
    /// Three letters; empty for none yet.
    pub currency: String,
    /// Not empty when added zones and blocked seats may go with the old plan.
    pub drop_zones: String,
}

/// Until when fans may change the names on their tickets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameTerms {
    /// How many hours before the start names are fixed; none: at the start.
    pub hours: Option<i64>,
    /// When that is, at the venue.
    pub until: ZonedTime,
}

/// How the seats of a published performance stand in the fast store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    /// They are being put in place; holds are refused meanwhile.
    Building {
        /// Seats of the plan.
        seats: u32,
    },
    /// They are in place, as many as the plan has in every section.
    Ready {
        /// Seats in all.
        seats: u32,
        /// The state's number: raised whenever it is built.
        epoch: i64,
        /// Counts by section.
        sections: Vec<SectionReady>,
    },
}

/// The seats of one section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SectionReady {
    /// Its name.
    pub name: String,
    /// Seats in all.
    pub seats: u32,
    /// Seats off sale.
    pub blocked: u32,
    /// Seats that are held or sold.
    pub taken: u32,
}

/// A whole number of a form.
///
/// # Errors
/// `invalid_input` names the field and the range.
pub fn whole_number(field: &str, text: &str, from: u32, to: u32) -> Result<u32, Refusal> {
    match text.trim().parse() {
        Ok(number) if (from..=to).contains(&number) => Ok(number),
        _ => Err(invalid(format!("{field}: a whole number from {from} to {to} is expected"))),
    }
}

/// The length of a hold in milliseconds, of minutes as people write them: `15`, `0.5`. Whole seconds.
///
/// # Errors
/// `invalid_input` names the field.
pub fn hold_time(field: &str, text: &str) -> Result<i64, Refusal> {
    match milliseconds(text) {
        Some(ttl_ms) if (HOLD_TTL_MIN_MS..=HOLD_TTL_MAX_MS).contains(&ttl_ms) => Ok(ttl_ms),
        _ => Err(invalid(format!("{field}: minutes from one second (0.02) to one day (1440) are expected"))),
    }
}

/// The length of a lottery's window in milliseconds, of minutes in the form of [`hold_time`].
///
/// # Errors
/// `invalid_input` names the field.
pub fn window_time(field: &str, text: &str) -> Result<i64, Refusal> {
    match milliseconds(text) {
        Some(window_ms) if (WINDOW_MIN_MS..=WINDOW_MAX_MS).contains(&window_ms) => Ok(window_ms),
        _ => Err(invalid(format!("{field}: minutes from one second (0.02) to seven days (10080) are expected"))),
    }
}

/// Minutes as people write them, in milliseconds of whole seconds.
fn milliseconds(minutes: &str) -> Option<i64> {
    let text = minutes.trim();
    let plain = text.len() <= 10 && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let seconds = text.parse::<f64>().ok().filter(|_| plain).map(|minutes| (minutes * 60.0).round())?;
    #[expect(clippy::cast_possible_truncation, reason = "ten characters of digits are far below 2^53")]
    let seconds = seconds as i64;
    Some(seconds * 1_000)
}

/// Milliseconds as minutes that [`hold_time`] and [`window_time`] read back.
#[must_use]
pub fn minutes_text(length_ms: i64) -> String {
    if length_ms % 60_000 == 0 {
        return (length_ms / 60_000).to_string();
    }
    // Three digits of a minute are finer than a second.
    let thousandths = (length_ms + 30) / 60;
    format!("{}.{:03}", thousandths / 1_000, thousandths % 1_000)
}

/// Checks the part of an address that an event is known by.
///
/// # Errors
/// `invalid_input` names the field.
pub fn check_slug(slug: &str) -> Result<(), Refusal> {
    let fits = !slug.is_empty()
        && slug.len() <= SLUG_MAX_BYTES
        && slug.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if fits {
        Ok(())
    } else {
        Err(invalid(format!("slug: 1 to {SLUG_MAX_BYTES} lower-case letters, digits and hyphens are expected")))
    }
}

/// An address made of a title: `Tide & Stone` becomes `tide-and-stone`; none when no letter or digit
/// of the Latin alphabet is in it.
#[cfg(feature = "import")]
#[must_use]
pub fn suggest_slug(title: &str) -> Option<String> {
    use unicode_normalization::UnicodeNormalization as _;
    let mut slug = String::new();
    // A letter with its accent comes apart into both; the accent alone is dropped.
    let plain = title.replace('&', " and ").replace('ß', "ss");
    for c in plain.nfkd().filter(|c| !unicode_normalization::char::is_combining_mark(*c)) {
        if slug.len() >= SLUG_MAX_BYTES / 2 {
            break;
        }
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if c != '\'' && c != '’' && !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    (!slug.is_empty()).then(|| slug.to_owned())
}

fn invalid(message: String) -> Refusal {
    Refusal::new(Code::InvalidInput, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_forms_are_whole_and_within_their_range() {
        assert_eq!(whole_number("seat_limit", " 6 ", 1, 20), Ok(6));
        for bad in ["", "0", "21", "-1", "6.5", "six", "1e3", "99999999999"] {
            let refusal = whole_number("seat_limit", bad, 1, 20).unwrap_err();
            assert!(refusal.message.starts_with("seat_limit: "), "{bad}");
        }
    }

    #[test]
    fn the_time_of_a_hold_reads_back_as_it_was_written() {
        for ttl_ms in [1_000, 20_000, 30_000, 900_000, 901_000, 86_400_000] {
            assert_eq!(hold_time("hold_ttl_min", &minutes_text(ttl_ms)), Ok(ttl_ms), "{}", minutes_text(ttl_ms));
        }
        assert_eq!(window_time("window_min", &minutes_text(WINDOW_MAX_MS)), Ok(WINDOW_MAX_MS));
        assert!(window_time("window_min", "10080.1").is_err() && window_time("window_min", "").is_err());
        assert_eq!(hold_time("hold_ttl_min", "0.5"), Ok(30_000));
        for bad in ["", "0", "0.001", "1441", "-5", "NaN", "inf", "1e3", "15 min", "99999999999"] {
            assert!(hold_time("hold_ttl_min", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_address_is_plain() {
        assert!(check_slug("tide-and-stone-2").is_ok());
        for bad in ["", "Tide", "a b", "a/b", "ä", &"x".repeat(SLUG_MAX_BYTES + 1)] {
            assert!(check_slug(bad).is_err(), "{bad}");
        }
    }

    #[cfg(feature = "import")]
    #[test]
    fn a_title_suggests_an_address_that_is_allowed() {
        for (title, slug) in [
            ("Tide & Stone", Some("tide-and-stone")),
            ("  Björk’s Ørkester — Live! ", Some("bjorks-rkester-live")),
            ("Straße 7", Some("strasse-7")),
            ("北极光巡演", None),
            ("'--'", None),
        ] {
            assert_eq!(suggest_slug(title).as_deref(), slug, "{title}");
        }
        let long = suggest_slug(&"very long ".repeat(40)).unwrap();
        assert!(check_slug(&long).is_ok());
    }
}
