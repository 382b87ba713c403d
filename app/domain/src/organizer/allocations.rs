//! Kept seats of a performance, as its organizers see and change them.

use super::pricing::SeatSet;
use super::sales::LocalText;
use crate::allocation::AllocationKind;
use crate::ids::{AllocationCodeId, AllocationId, PerformanceId};
use crate::refusal::{Code, Refusal};
use crate::time::{Millis, ZonedTime};
use serde::{Deserialize, Serialize};

/// Longest name of an allocation, and longest note of a code.
pub const NAME_MAX_CHARS: usize = 80;
/// Most seats in one change: one script runs over all of them while fans wait behind it.
pub const SEATS_AT_ONCE_MAX: usize = 5_000;
/// Codes of one allocation: more are not told apart by people.
pub const CODES_MAX: usize = 100;
/// Most accounts of one code.
pub const USES_MAX: u32 = 1_000_000;

/// Name, kind and seats as people filled them in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllocationForm {
    /// What the organizer calls it.
    pub name: String,
    /// Whom it is for: the word of a kind.
    pub kind: String,
    /// When its seats go on general sale, in the venue's local time; empty when by hand only.
    #[serde(default)]
    pub release: String,
    /// Seats that were picked on the map, in the form of [`SeatSet`].
    #[serde(default)]
    pub picked: String,
    /// Seats that were typed.
    #[serde(default)]
    pub typed: String,
}

/// What to do with chosen seats of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptStep {
    /// They are kept as well.
    Add,
    /// They go back on general sale.
    Remove,
}

/// A code as people filled it in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeForm {
    /// The code itself.
    pub code: String,
    /// What the organizer calls it, so that it is told from others later; empty for its number.
    #[serde(default)]
    pub label: String,
    /// Most accounts that may use it; empty for any number.
    #[serde(default)]
    pub uses_max: String,
}

impl CodeForm {
    /// Most accounts that may use the code.
    ///
    /// # Errors
    /// `invalid_input` names the field.
    pub fn most(&self) -> Result<Option<u32>, Refusal> {
        let text = self.uses_max.trim();
        if text.is_empty() {
            return Ok(None);
        }
        match text.parse::<u32>() {
            Ok(most) if (1..=USES_MAX).contains(&most) => Ok(Some(most)),
            _ => Err(Refusal::new(
                Code::InvalidInput,
                format!("uses_max: a whole number from 1 to {USES_MAX} is expected, or nothing for any number"),
            )),
        }
    }
}

/// A name without the spaces around it.
///
/// # Errors
/// `invalid_input` names the field.
pub fn check_name<'a>(field: &str, text: &'a str) -> Result<&'a str, Refusal> {
    let text = text.trim();
    if !(1..=NAME_MAX_CHARS).contains(&text.chars().count()) || text.chars().any(char::is_control) {
        let what = format!("{field}: 1 to {NAME_MAX_CHARS} characters without control characters are expected");
        return Err(Refusal::new(Code::InvalidInput, what));
    }
    Ok(text)
}

/// Checks that an instant of release is to come.
///
/// # Errors
/// `invalid_input` names the field.
pub fn check_release(at: Option<Millis>, now: Millis) -> Result<Option<Millis>, Refusal> {
    match at {
        Some(at) if at <= now => {
            Err(Refusal::new(Code::InvalidInput, "release: this is in the past; release the seats now instead"))
        }
        at => Ok(at),
    }
}

/// Seats of an allocation by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptCounts {
    /// Nobody has them yet.
    pub free: u32,
    /// In holds.
    pub held: u32,
    /// Sold.
    pub sold: u32,
    /// Off sale as well.
    pub blocked: u32,
}

/// A code of an allocation. The code itself is not known any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeView {
    /// Its id.
    pub id: AllocationCodeId,
    /// What the organizer calls it.
    pub label: String,
    /// Accounts that used it.
    pub uses: u32,
    /// Most accounts that may.
    pub uses_max: Option<u32>,
    /// Whether it was revoked: it opens nothing any more.
    pub revoked: bool,
}

/// An allocation with its seats.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllocationView {
    /// Its id.
    pub id: AllocationId,
    /// What the organizer calls it.
    pub name: String,
    /// Whom it is for.
    pub kind: AllocationKind,
    /// When its seats go on general sale.
    pub release: Option<LocalText>,
    /// Raised by each change of name and release.
    pub version: i32,
    /// Its seats.
    pub seats: SeatSet,
    /// Where they are, as one would type them.
    pub places: Vec<String>,
    /// Its seats by state; none while the seats are being built.
    pub counts: Option<KeptCounts>,
    /// Its codes, the newest first.
    pub codes: Vec<CodeView>,
    /// Accounts that may take its seats.
    pub accounts: u32,
}

/// An allocation whose seats went on general sale.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleasedView {
    /// What the organizer called it.
    pub name: String,
    /// Whom it was for.
    pub kind: AllocationKind,
    /// When.
    pub at: ZonedTime,
}

/// All allocations of a performance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllocationsView {
    /// The performance.
    pub performance: PerformanceId,
    /// Title of the event.
    pub title: String,
    /// Time zone of the venue.
    pub time_zone: String,
    /// Those that keep seats.
    pub open: Vec<AllocationView>,
    /// Those that were released, the newest first.
    pub released: Vec<ReleasedView>,
    /// A code that nobody has yet, offered to the organizer.
    pub suggested: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_uses_and_instants_have_their_bounds() {
        assert_eq!(check_name("name", "  Fan club ").unwrap(), "Fan club");
        for bad in ["", "  ", "a\nb", &"x".repeat(NAME_MAX_CHARS + 1)] {
            assert!(check_name("name", bad).unwrap_err().message.starts_with("name: "));
        }
        let most = |text: &str| CodeForm { code: String::new(), label: String::new(), uses_max: text.into() }.most();
        assert_eq!((most(" ").unwrap(), most("7").unwrap()), (None, Some(7)));
        for bad in ["0", "-1", "1.5", "x", "1000001"] {
            assert!(most(bad).is_err(), "{bad}");
        }
        assert!(check_release(Some(Millis(5)), Millis(5)).is_err());
        assert_eq!(check_release(Some(Millis(6)), Millis(5)).unwrap(), Some(Millis(6)));
        assert_eq!(check_release(None, Millis(5)).unwrap(), None);
    }
}
