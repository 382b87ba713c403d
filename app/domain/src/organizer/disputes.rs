//! Disputes and money that was set aside, as the pages of finance show them.

use crate::dispute::{DisputeStatus, SeatPolicy, TicketHold};
use crate::ids::{DisputeId, OrderId};
use crate::money::Money;
use crate::refusal::{Code, Refusal};
use crate::time::ZonedTime;
use serde::{Deserialize, Serialize};

/// Longest note about a decision, in characters.
pub const NOTE_MAX_CHARS: usize = 500;
/// Longest time before the start until which seats are sold again, in hours: a year.
pub const SELL_UNTIL_MAX_HOURS: i64 = 24 * 365;

/// A dispute in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisputeView {
    /// Its id.
    pub id: DisputeId,
    /// The order that was paid with the money.
    pub order: OrderId,
    /// Address of its account.
    pub email: String,
    /// Who plays and what.
    pub event: String,
    /// How much.
    pub amount: Money,
    /// The bank's reason, as the provider calls it.
    pub reason: String,
    /// Where it is answered.
    pub provider: String,
    /// Its id there.
    pub reference: String,
    /// Where it stands.
    pub status: DisputeStatus,
    /// When it was opened.
    pub opened: ZonedTime,
    /// When it was decided.
    pub ended: Option<ZonedTime>,
    /// What all disputes of the order make of its tickets.
    pub tickets: TicketHold,
    /// How many of its seats went back to sale.
    pub seats_sold: u32,
}

/// What was set aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetAsideKind {
    /// Money at the provider that fits no attempt.
    Payment,
    /// A message of the provider that is not ours.
    Event,
    /// A dispute that can't be followed.
    Dispute,
}

impl SetAsideKind {
    /// Every kind.
    pub const ALL: &[Self] = &[Self::Payment, Self::Event, Self::Dispute];

    /// The text form, as stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Payment => "payment",
            Self::Event => "event",
            Self::Dispute => "dispute",
        }
    }

    /// Reads the text form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == text)
    }
}

/// Where something that was set aside stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetAsideState {
    /// It waits for people or for its time.
    Waiting,
    /// Somebody wants it returned; it is about to be.
    Asked,
    /// The provider is giving it back.
    Returning,
    /// It went back.
    Returned,
    /// It fitted after all: it was booked as any payment.
    Booked,
    /// No money had been taken.
    Nothing,
    /// People settled it another way.
    Settled,
}

impl SetAsideState {
    /// Every state.
    pub const ALL: &[Self] =
        &[Self::Waiting, Self::Asked, Self::Returning, Self::Returned, Self::Booked, Self::Nothing, Self::Settled];

    /// The text form; of an ended one it is how it ended, as stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Asked => "asked",
            Self::Returning => "returning",
            Self::Returned => "returned",
            Self::Booked => "booked",
            Self::Nothing => "nothing",
            Self::Settled => "settled",
        }
    }

    /// Reads the text form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|state| state.as_str() == text)
    }

    /// Whether it has ended.
    #[must_use]
    pub fn is_over(self) -> bool {
        !matches!(self, Self::Waiting | Self::Asked | Self::Returning)
    }

    /// Whether people may still say that it is settled: once the provider may have been called they can't.
    #[must_use]
    pub fn can_be_settled(self) -> bool {
        matches!(self, Self::Waiting | Self::Asked)
    }
}

/// Something that was set aside, in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetAsideView {
    /// Its number.
    pub id: i64,
    /// The order that it is about.
    pub order: OrderId,
    /// What it is.
    pub kind: SetAsideKind,
    /// Where it stands.
    pub state: SetAsideState,
    /// The provider.
    pub provider: String,
    /// Its id there.
    pub reference: String,
    /// Why it was set aside.
    pub reason: String,
    /// What was found, flat.
    pub evidence: Vec<(String, String)>,
    /// What goes back, once it was read.
    pub amount: Option<Money>,
    /// Since when it lies there.
    pub since: ZonedTime,
    /// When it goes back by itself, where it does.
    pub returns: Option<ZonedTime>,
    /// When it ended.
    pub resolved: Option<ZonedTime>,
    /// What was said about its end.
    pub note: Option<String>,
    /// Why the last try to return it did not succeed.
    pub error: Option<String>,
}

/// The queue of finance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisputeDesk {
    /// Disputes, open ones first.
    pub disputes: Vec<DisputeView>,
    /// What was set aside, what waits first.
    pub set_aside: Vec<SetAsideView>,
    /// What becomes of the seats of a lost dispute.
    pub policy: SeatPolicy,
    /// Whether there are more than are shown.
    pub left_out: bool,
}

/// Reads what becomes of seats, as its form has it: `keep`, or `sell` with hours before the start.
///
/// # Errors
/// `invalid_input` names the field.
pub fn read_policy(seats: &str, hours: &str) -> Result<SeatPolicy, Refusal> {
    let wrong = |message: String| Err(Refusal::new(Code::InvalidInput, message));
    match seats {
        "keep" => Ok(SeatPolicy::Keep),
        "sell" => match hours.trim().parse::<i64>() {
            Ok(hours) if (0..=SELL_UNTIL_MAX_HOURS).contains(&hours) => {
                Ok(SeatPolicy::Sell { until_before_start_ms: hours * 3_600_000 })
            }
            _ => wrong(format!("hours: a number from 0 to {SELL_UNTIL_MAX_HOURS} is expected")),
        },
        _ => wrong("seats: `keep` or `sell` is expected".to_owned()),
    }
}

/// Reads the note of a decision.
///
/// # Errors
/// `invalid_input` names the field.
pub fn read_note(note: &str) -> Result<&str, Refusal> {
    let note = note.trim();
    if (1..=NOTE_MAX_CHARS).contains(&note.chars().count()) {
        return Ok(note);
    }
    Err(Refusal::new(Code::InvalidInput, format!("note: 1 to {NOTE_MAX_CHARS} characters are expected")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_back() {
        for kind in SetAsideKind::ALL {
            assert_eq!(SetAsideKind::parse(kind.as_str()), Some(*kind));
        }
        for state in SetAsideState::ALL {
            assert_eq!(SetAsideState::parse(state.as_str()), Some(*state));
            assert!(!(state.is_over() && state.can_be_settled()), "{state:?}");
        }
        assert!(!SetAsideState::Returning.is_over() && !SetAsideState::Returning.can_be_settled());
    }

    #[test]
    fn a_policy_is_read_or_its_field_is_named() {
        assert_eq!(read_policy("keep", "nonsense").unwrap(), SeatPolicy::Keep);
        let sell = SeatPolicy::Sell { until_before_start_ms: 86_400_000 };
        assert_eq!(read_policy("sell", " 24 ").unwrap(), sell);
        for (seats, hours, field) in
            [("sell", "", "hours"), ("sell", "-1", "hours"), ("sell", "8761", "hours"), ("burn", "1", "seats")]
        {
            let refusal = read_policy(seats, hours).unwrap_err();
            assert!(refusal.code == Code::InvalidInput && refusal.message.starts_with(field), "{seats} {hours}");
        }
    }

    #[test]
    fn a_note_says_something() {
        assert_eq!(read_note("  paid back by hand ").unwrap(), "paid back by hand");
        for bad in ["", "  ", "\n", &"座".repeat(NOTE_MAX_CHARS + 1)] {
            assert!(read_note(bad).unwrap_err().message.starts_with("note: "));
        }
    }
}
