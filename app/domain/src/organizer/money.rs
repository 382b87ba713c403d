//! What members who look after money see: the report of the books, and what the daily match found.

use super::search::PerformanceChoice;
use crate::ids::{DifferenceId, OrderId, PerformanceId};
use crate::ledger::report::CurrencyReport;
use crate::settlement::schedule::{DAY_MS, day_of};
use crate::settlement::stuck::StuckKind;
use crate::settlement::{Kind, Ours, Owner, ProviderLine, Repair};
use crate::time::{Millis, ZonedTime};
use serde::{Deserialize, Serialize};

/// Longest note of somebody who settles a difference, in characters.
pub const NOTE_MAX_CHARS: usize = 500;

/// The time that a report is about, in days of UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Period {
    /// Since midnight.
    Today,
    /// Seven days with this one.
    Week,
    /// Thirty days with this one.
    Month,
    /// Since ever.
    #[default]
    All,
}

impl Period {
    /// Every period.
    pub const ALL: &[Self] = &[Self::Today, Self::Week, Self::Month, Self::All];

    /// The text form, as in addresses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Today => "today",
            Self::Week => "week",
            Self::Month => "month",
            Self::All => "all",
        }
    }

    /// Reads the text form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|period| period.as_str() == text)
    }

    /// When it begins; none: never.
    #[must_use]
    pub fn since(self, now: Millis) -> Option<Millis> {
        let days_before = match self {
            Self::Today => 0,
            Self::Week => 6,
            Self::Month => 29,
            Self::All => return None,
        };
        Some(day_of(now).plus(-days_before * DAY_MS))
    }
}

/// What is downloaded as a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MoneyTable {
    /// The figures by currency and performance.
    Report,
    /// Every entry of the books.
    Postings,
    /// Every line of providers, and what does not match.
    Match,
}

impl MoneyTable {
    /// The text form, as in addresses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::Postings => "postings",
            Self::Match => "match",
        }
    }

    /// Reads the text form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Report, Self::Postings, Self::Match].into_iter().find(|table| table.as_str() == text)
    }
}

/// A text for a cell of a table. Spreadsheet programs run a cell that begins like a formula; what others
/// wrote gets a mark before it, which such programs hide.
#[must_use]
pub fn safe_cell(text: &str) -> String {
    match text.chars().next() {
        Some('=' | '+' | '-' | '@' | '\t' | '\r' | '\n') => format!("'{text}"),
        _ => text.to_owned(),
    }
}

/// The report of the books.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoneyReport {
    /// The time that it is about.
    pub period: Period,
    /// When that begins, in UTC; none: with the first entry.
    pub since: Option<ZonedTime>,
    /// When it was made, in UTC.
    pub made: ZonedTime,
    /// The one performance that it is about; none: all.
    pub performance: Option<PerformanceId>,
    /// By currency.
    pub currencies: Vec<CurrencyReport>,
    /// The organization's performances, for names and the filter.
    pub choices: Vec<PerformanceChoice>,
}

/// Where a provider's day stands, as far as an organization goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DayState {
    /// Everything fits.
    Matched,
    /// Something is open.
    Differences,
    /// It was not matched yet.
    NotYet,
}

impl DayState {
    /// A word for styles and tests.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Matched => "matched",
            Self::Differences => "differences",
            Self::NotYet => "not_yet",
        }
    }
}

/// A day of a provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchedDay {
    /// The day, as its beginning in UTC.
    pub day: ZonedTime,
    /// The provider.
    pub provider: String,
    /// Where it stands.
    pub state: DayState,
    /// How many of the organization's movements the provider listed.
    pub lines: u32,
    /// How many differences of the organization are open.
    pub open: u32,
    /// When it was last matched, in UTC.
    pub matched: Option<ZonedTime>,
    /// Whether the last try met a provider that did not answer.
    pub failed: bool,
}

/// What was found: by the daily match, or by the look at what stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Two sides that don't agree.
    Match(Kind),
    /// Something that stands still.
    Stuck(StuckKind),
}

impl What {
    /// Reads the text form, as stored: that of the kind, which for what stands still begins with `stuck_`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text.strip_prefix("stuck_") {
            Some(kind) => StuckKind::parse(kind).map(Self::Stuck),
            None => Kind::parse(text).map(Self::Match),
        }
    }
}

/// Whether somebody must still see to a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceStatus {
    /// Yes.
    Open,
    /// A later run did not find it any more.
    Repaired,
    /// A member says that it is settled, and why.
    Settled,
}

impl DifferenceStatus {
    /// Every status.
    pub const ALL: &[Self] = &[Self::Open, Self::Repaired, Self::Settled];

    /// The text form, as stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Repaired => "repaired",
            Self::Settled => "settled",
        }
    }

    /// Reads the text form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|status| status.as_str() == text)
    }
}

/// A difference with what both sides show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DifferenceView {
    /// Its id.
    pub id: DifferenceId,
    /// The provider.
    pub provider: String,
    /// The day, as its beginning in UTC.
    pub day: ZonedTime,
    /// What was found.
    pub what: What,
    /// Who sees to it.
    pub owner: Owner,
    /// What repairs it.
    pub repair: Repair,
    /// Whether somebody must still see to it.
    pub status: DifferenceStatus,
    /// What we recorded.
    pub ours: Option<Ours>,
    /// The provider's lines.
    pub theirs: Vec<ProviderLine>,
    /// The order, where it is known.
    pub order: Option<OrderId>,
    /// When it was first found, in UTC.
    pub first_seen: ZonedTime,
    /// When it was last found, in UTC.
    pub last_seen: ZonedTime,
    /// How often the program tried to repair it.
    pub tries: u32,
    /// Why that did not help, in English, as in logs.
    pub error: Option<String>,
    /// What the member wrote who settled it.
    pub note: Option<String>,
}

/// The page of the daily match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reconciliation {
    /// Days, the newest first.
    pub days: Vec<MatchedDay>,
    /// What is open, the oldest first.
    pub open: Vec<DifferenceView>,
    /// What was open lately, the newest first.
    pub closed: Vec<DifferenceView>,
    /// Whether more is open than is shown.
    pub more: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_begin_at_midnight() {
        let now = Millis(100 * DAY_MS + 7);
        assert_eq!(Period::Today.since(now), Some(Millis(100 * DAY_MS)));
        assert_eq!(Period::Week.since(now), Some(Millis(94 * DAY_MS)));
        assert_eq!(Period::Month.since(now), Some(Millis(71 * DAY_MS)));
        assert_eq!(Period::All.since(now), None);
        for period in Period::ALL {
            assert_eq!(Period::parse(period.as_str()), Some(*period));
        }
    }

    #[test]
    fn a_cell_is_never_a_formula() {
        for evil in ["=1+1", "+49", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1"] {
            assert_eq!(safe_cell(evil), format!("'{evil}"));
        }
        for plain in ["", "Nina", "a=b", "北京", "'quoted"] {
            assert_eq!(safe_cell(plain), plain);
        }
    }

    #[test]
    fn words_are_read_back() {
        for status in DifferenceStatus::ALL {
            assert_eq!(DifferenceStatus::parse(status.as_str()), Some(*status));
        }
        assert_eq!(What::parse("fee_line"), Some(What::Match(Kind::FeeLine)));
        assert_eq!(What::parse("stuck_refund"), Some(What::Stuck(StuckKind::Refund)));
        assert_eq!(What::parse("stuck_fee_line"), None);
        for table in [MoneyTable::Report, MoneyTable::Postings, MoneyTable::Match] {
            assert_eq!(MoneyTable::parse(table.as_str()), Some(table));
        }
    }
}
