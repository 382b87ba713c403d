//! Seats kept for somebody: whom for, the codes that open them, and what a fan is told of them.
//!
//! Owns the kinds, the form of codes, and the rule for accessible places. Which seats are kept, and
//! when they are released, is the server's.

use crate::organizer::pricing::SeatSet;
use crate::refusal::{Code, Refusal};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Shortest code, once normalised: shorter ones are guessed.
pub const CODE_MIN_CHARS: usize = 6;
/// Longest code, once normalised: it is typed by hand.
pub const CODE_MAX_CHARS: usize = 32;
/// Longest text that is looked at as a code, in bytes: with spaces, hyphens and room to spare.
const CODE_TEXT_MAX_BYTES: usize = 256;
/// Companions beside each accessible place in one hold.
pub const COMPANIONS_MAX: usize = 3;

/// Whom seats are kept for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AllocationKind {
    /// Another seller, a club, a sponsor: opened by a code.
    Channel,
    /// Who may buy ahead of others: opened by a code.
    Presale,
    /// The house itself: opened for single accounts by a member.
    House,
    /// People who need an accessible place: opened by saying so; released as soon as the price level is
    /// sold out on general sale.
    Accessible,
}

impl AllocationKind {
    /// Every kind, in the order of forms.
    pub const ALL: [Self; 4] = [Self::Channel, Self::Presale, Self::House, Self::Accessible];

    /// The stable word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Channel => "channel",
            Self::Presale => "presale",
            Self::House => "house",
            Self::Accessible => "accessible",
        }
    }

    /// Whether codes open seats of this kind.
    #[must_use]
    pub const fn has_codes(self) -> bool {
        matches!(self, Self::Channel | Self::Presale)
    }
}

impl fmt::Display for AllocationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for AllocationKind {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| {
            Refusal::new(Code::InvalidInput, "kind: one of channel, presale, house, accessible is expected")
        })
    }
}

/// A code as it is compared: upper case, without the spaces and hyphens that people add for reading.
///
/// # Errors
/// `invalid_input` for one that is too short, too long, or has other signs than letters and digits.
pub fn normal_code(text: &str) -> Result<String, Refusal> {
    let wrong = || {
        Refusal::new(
            Code::InvalidInput,
            format!("code: {CODE_MIN_CHARS} to {CODE_MAX_CHARS} letters and digits are expected"),
        )
    };
    if text.len() > CODE_TEXT_MAX_BYTES {
        return Err(wrong());
    }
    let written = text.chars().filter(|c| !c.is_whitespace() && !matches!(c, '-' | '‐' | '‑' | '–' | '—'));
    let code: String = written.flat_map(char::to_uppercase).collect();
    let count = code.chars().count();
    if !(CODE_MIN_CHARS..=CODE_MAX_CHARS).contains(&count) || !code.chars().all(char::is_alphanumeric) {
        return Err(wrong());
    }
    Ok(code)
}

/// Checks how many others may come with accessible places in one hold.
///
/// # Errors
/// `limit_exceeded`.
pub fn check_companions(accessible: usize, others: usize) -> Result<(), Refusal> {
    if others <= accessible.saturating_mul(COMPANIONS_MAX) {
        return Ok(());
    }
    let text = if accessible == 0 {
        "companions' seats come together with an accessible place".to_owned()
    } else {
        format!("at most {COMPANIONS_MAX} companions come with each accessible place")
    };
    Err(Refusal::new(Code::LimitExceeded, text))
}

/// Seats that one account may take beside those on general sale.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    /// What the organizer calls them.
    pub name: String,
    /// Whom they are kept for.
    pub kind: AllocationKind,
    /// Which: all but those that are off sale.
    pub seats: SeatSet,
    /// Those of them that are free now.
    pub free: SeatSet,
}

/// What of a performance's kept seats concerns a fan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Openings {
    /// Whether there are seats that a code opens.
    pub codes: bool,
    /// Whether there are seats for people who need an accessible place.
    pub accessible: bool,
    /// What is open to this account.
    pub opened: Vec<Opened>,
}

impl Openings {
    /// All seats that are open to this account.
    #[must_use]
    pub fn seats(&self) -> SeatSet {
        self.opened.iter().flat_map(|opened| opened.seats.list().iter().copied()).collect()
    }

    /// Those of them that are free now.
    #[must_use]
    pub fn free(&self) -> SeatSet {
        self.opened.iter().flat_map(|opened| opened.free.list().iter().copied()).collect()
    }

    /// Whether any seats are open to this account.
    #[must_use]
    pub fn any(&self) -> bool {
        self.opened.iter().any(|opened| !opened.seats.is_empty())
    }

    /// Whether seats of this kind are open to this account.
    #[must_use]
    pub fn has(&self, kind: AllocationKind) -> bool {
        self.opened.iter().any(|opened| opened.kind == kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_the_same_however_people_write_it() {
        for text in ["ABCD-EFGH", " abcd efgh ", "abcdefgh", "AbCd‑EfGh\t", "a-b-c-d-e-f-g-h"] {
            assert_eq!(normal_code(text).unwrap(), "ABCDEFGH", "{text}");
        }
        assert_eq!(normal_code("粉丝俱乐部一").unwrap(), "粉丝俱乐部一");
    }

    #[test]
    fn what_is_no_code_is_refused() {
        let long = "A".repeat(CODE_MAX_CHARS + 1);
        let longer = "A ".repeat(10_000);
        for bad in ["", "  -- ", "ABCDE", "ABC_DEF", "ABCDEF'", "ABC;DEF", "ABC\0DEF", &long, &longer] {
            assert_eq!(normal_code(bad).unwrap_err().code, Code::InvalidInput, "{bad:.20}");
        }
        assert!(normal_code(&"A".repeat(CODE_MAX_CHARS)).is_ok());
    }

    #[test]
    fn a_kind_reads_back_from_its_word() {
        for kind in AllocationKind::ALL {
            assert_eq!(kind.as_str().parse::<AllocationKind>().unwrap(), kind);
        }
        assert!("Channel".parse::<AllocationKind>().is_err());
    }

    #[test]
    fn three_companions_come_with_each_accessible_place() {
        for (accessible, others, fits) in [(1, 0, true), (1, 3, true), (1, 4, false), (2, 6, true), (0, 1, false)] {
            assert_eq!(check_companions(accessible, others).is_ok(), fits, "{accessible} and {others}");
        }
        assert!(check_companions(0, 0).is_ok());
    }
}
