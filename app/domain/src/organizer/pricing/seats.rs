//! A set of seats in a short text form, as forms, pages and the audit log carry it.

use crate::ids::SeatNo;
use crate::venue::plan::MAX_SEATS;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Seats in ascending order, none twice. As text `0-99.105`: numbers and ranges, ascending, with
/// points between, since a form sends neither of these signs in three bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SeatSet(Vec<SeatNo>);

/// Not a set of seats.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no list of seat numbers, such as 0-99.105")]
pub struct NotSeats(String);

impl SeatSet {
    /// No seat.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// The seats in order.
    #[must_use]
    pub fn list(&self) -> &[SeatNo] {
        &self.0
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a seat is among them.
    #[must_use]
    pub fn contains(&self, seat: SeatNo) -> bool {
        self.0.binary_search(&seat).is_ok()
    }
}

impl FromIterator<SeatNo> for SeatSet {
    fn from_iter<I: IntoIterator<Item = SeatNo>>(seats: I) -> Self {
        let mut list: Vec<SeatNo> = seats.into_iter().collect();
        list.sort_unstable();
        list.dedup();
        Self(list)
    }
}

impl fmt::Display for SeatSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, run) in self.0.chunk_by(|a, b| a.0.checked_add(1) == Some(b.0)).enumerate() {
            let dot = if at == 0 { "" } else { "." };
            match run {
                [one] => write!(f, "{dot}{one}")?,
                [first, .., last] => write!(f, "{dot}{first}-{last}")?,
                [] => {}
            }
        }
        Ok(())
    }
}

impl FromStr for SeatSet {
    type Err = NotSeats;

    /// Ascending only, so that a short text can't stand for more seats than a plan may have.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut list = Vec::new();
        let mut next = 0_u32;
        for part in text.split('.').filter(|part| !part.is_empty()) {
            let wrong = || NotSeats(part.chars().take(40).collect());
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (u32, u32) = (first.parse().map_err(|_| wrong())?, last.parse().map_err(|_| wrong())?);
            if first < next || last < first || last as usize >= MAX_SEATS {
                return Err(wrong());
            }
            list.extend((first..=last).map(SeatNo));
            next = last + 1;
        }
        Ok(Self(list))
    }
}

impl TryFrom<String> for SeatSet {
    type Error = NotSeats;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<SeatSet> for String {
    fn from(seats: SeatSet) -> Self {
        seats.to_string()
    }
}
