//! Disputes: a payer calls a payment into question at the bank, and the bank decides.
//!
//! ```text
//! (none) ─opened─▶ opened ─won─▶ won
//!    │                └────lost─▶ lost
//!    └─won, lost─▶ won, lost      (the messages came in another order)
//! ```
//!
//! Providers deliver messages more than once and in any order (Stripe and Adyen document both), so a
//! message that says what is known changes nothing, and an opening that comes after its end is no news.
//! Only two ends that contradict each other are refused: then the provider's own object is read and the
//! staff is asked. An early warning or an inquiry that withdraws no money is no dispute here.
//!
//! An open dispute freezes the tickets of what was paid with it, a lost one revokes them, a won one
//! restores them. Whether the seats of a lost one are sold again is the policy of the organizer.

use crate::ledger::{Origin, Shares};
use crate::money::split::split;
use crate::refusal::{Code, Refusal};
use crate::time::Millis;
use serde::{Deserialize, Serialize};

/// Where a dispute stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DisputeStatus {
    /// The money is withdrawn; the bank has not decided.
    Opened,
    /// The money came back to us.
    Won,
    /// The money stays with the payer.
    Lost,
}

impl DisputeStatus {
    /// Every status.
    pub const ALL: &[Self] = &[Self::Opened, Self::Won, Self::Lost];

    /// The text form, as stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::Won => "won",
            Self::Lost => "lost",
        }
    }

    /// Reads the text form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|status| status.as_str() == text)
    }

    /// Whether the money is away: withdrawn, or lost.
    #[must_use]
    pub fn takes_money(self) -> bool {
        matches!(self, Self::Opened | Self::Lost)
    }
}

/// What is booked for a step. The ledger has an event for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Booking {
    /// The withdrawal.
    Opened,
    /// Its return.
    Won,
    /// Who bears it.
    Lost,
}

/// A step that the machine allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The state that is left: part of the condition of the update. None: the dispute is new here.
    pub from: Option<DisputeStatus>,
    /// The state that is entered.
    pub to: DisputeStatus,
    /// What is booked, in this order. An end that is heard of first books the opening as well.
    pub books: &'static [Booking],
    /// What happens to the tickets, as far as no other dispute of the payment stands against it: see
    /// [`tickets_of`].
    pub tickets: TicketStep,
}

/// What a step does to tickets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TicketStep {
    /// They open no door until it is decided.
    Freeze,
    /// They open the door again.
    Restore,
    /// They never open one again.
    Revoke,
}

/// Decides what a message about a dispute changes; `None` when it says nothing new. `found` is what the
/// provider says now.
///
/// # Errors
/// `wrong_state` when a decided dispute is said to have ended otherwise.
pub fn transition(known: Option<DisputeStatus>, found: DisputeStatus) -> Result<Option<Transition>, Refusal> {
    use DisputeStatus as S;
    let step = |books: &'static [Booking], tickets| Ok(Some(Transition { from: known, to: found, books, tickets }));
    match (known, found) {
        (None, S::Opened) => step(&[Booking::Opened], TicketStep::Freeze),
        (None, S::Won) => step(&[Booking::Opened, Booking::Won], TicketStep::Restore),
        (None, S::Lost) => step(&[Booking::Opened, Booking::Lost], TicketStep::Revoke),
        (Some(S::Opened), S::Won) => step(&[Booking::Won], TicketStep::Restore),
        (Some(S::Opened), S::Lost) => step(&[Booking::Lost], TicketStep::Revoke),
        (Some(_), S::Opened) | (Some(S::Won), S::Won) | (Some(S::Lost), S::Lost) => Ok(None),
        (Some(known @ (S::Won | S::Lost)), found) => Err(Refusal::new(
            Code::WrongState,
            format!("a dispute that was {} is now said to be {}", known.as_str(), found.as_str()),
        )),
    }
}

/// What the disputes of a payment make of its tickets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TicketHold {
    /// Nothing stands against them.
    #[default]
    Valid,
    /// They open no door for now.
    Frozen,
    /// They are revoked.
    Revoked,
}

/// What all disputes of a payment make of its tickets: one that is lost revokes them, else one that is
/// open freezes them. The order of the disputes does not matter.
pub fn tickets_of(disputes: impl IntoIterator<Item = DisputeStatus>) -> TicketHold {
    let hold = |status| match status {
        DisputeStatus::Won => TicketHold::Valid,
        DisputeStatus::Opened => TicketHold::Frozen,
        DisputeStatus::Lost => TicketHold::Revoked,
    };
    disputes.into_iter().map(hold).max().unwrap_or_default()
}

/// Who bears a lost dispute: those who have the money of the payment, in proportion to what each still has
/// (`left`), or, where nothing is left, to what each was given when it was `taken`. Money that was never booked
/// as a sale is the fan's own. `None` when the amount can't be split.
#[must_use]
pub fn borne_by(amount_minor: i64, taken: Shares, left: Shares) -> Option<Origin> {
    let weights = |shares: Shares| {
        [shares.organizer_minor, shares.fees_minor, shares.tax_minor].map(|minor| u64::try_from(minor).unwrap_or(0))
    };
    if weights(taken).iter().all(|weight| *weight == 0) {
        return Some(Origin::Late(amount_minor));
    }
    let left = weights(left);
    let by = if left.iter().all(|weight| *weight == 0) { weights(taken) } else { left };
    match *split(amount_minor, &by)? {
        [organizer_minor, fees_minor, tax_minor] => {
            Some(Origin::Sale(Shares { organizer_minor, fees_minor, tax_minor }))
        }
        _ => None,
    }
}

/// What becomes of the seats of a lost dispute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeatPolicy {
    /// They stay empty.
    #[default]
    Keep,
    /// They return to sale, up to so long before the start.
    Sell {
        /// In milliseconds.
        until_before_start_ms: i64,
    },
}

impl SeatPolicy {
    /// Whether a seat returns to sale now. One whose ticket was used is taken by somebody.
    #[must_use]
    pub fn frees(self, now: Millis, starts: Millis, was_used: bool) -> bool {
        match self {
            Self::Keep => false,
            Self::Sell { until_before_start_ms } => {
                !was_used && now < starts.plus(until_before_start_ms.max(0).saturating_neg())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_dispute_freezes_and_its_end_decides() {
        let opened = transition(None, DisputeStatus::Opened).unwrap().unwrap();
        assert_eq!((opened.from, opened.tickets), (None, TicketStep::Freeze));
        for (end, booking, tickets) in [
            (DisputeStatus::Won, Booking::Won, TicketStep::Restore),
            (DisputeStatus::Lost, Booking::Lost, TicketStep::Revoke),
        ] {
            let step = transition(Some(DisputeStatus::Opened), end).unwrap().unwrap();
            assert_eq!((step.books, step.tickets), (&[booking][..], tickets));
            let first = transition(None, end).unwrap().unwrap();
            assert_eq!((first.books, first.tickets), (&[Booking::Opened, booking][..], tickets));
        }
    }

    #[test]
    fn two_ends_that_contradict_each_other_are_refused() {
        for (known, found) in [(DisputeStatus::Won, DisputeStatus::Lost), (DisputeStatus::Lost, DisputeStatus::Won)] {
            let refusal = transition(Some(known), found).unwrap_err();
            assert_eq!(refusal.code, Code::WrongState);
            assert!(refusal.message.contains(known.as_str()) && refusal.message.contains(found.as_str()));
        }
    }

    #[test]
    fn one_lost_dispute_of_several_revokes() {
        use DisputeStatus::{Lost, Opened, Won};
        for (disputes, hold) in [
            (vec![], TicketHold::Valid),
            (vec![Won, Won], TicketHold::Valid),
            (vec![Won, Opened], TicketHold::Frozen),
            (vec![Opened, Lost, Won], TicketHold::Revoked),
        ] {
            assert_eq!(tickets_of(disputes.iter().copied()), hold, "{disputes:?}");
            assert_eq!(tickets_of(disputes.iter().rev().copied()), hold, "{disputes:?}");
        }
    }

    #[test]
    fn a_seat_returns_by_policy_while_it_can_still_be_used() {
        let (starts, sell) = (Millis(10_000), SeatPolicy::Sell { until_before_start_ms: 1_000 });
        assert!(sell.frees(Millis(8_999), starts, false));
        assert!(!sell.frees(Millis(9_000), starts, false));
        assert!(!sell.frees(Millis(0), starts, true), "somebody sits there");
        assert!(!SeatPolicy::Keep.frees(Millis(0), starts, false));
    }

    #[test]
    fn a_lost_dispute_is_borne_by_those_who_have_the_money() {
        let shares = |organizer_minor, fees_minor, tax_minor| Shares { organizer_minor, fees_minor, tax_minor };
        let none = Shares::default();
        assert_eq!(borne_by(100, none, none), Some(Origin::Late(100)), "it was never a sale");
        let taken = shares(8_000, 1_000, 1_000);
        assert_eq!(borne_by(10_000, taken, taken), Some(Origin::Sale(taken)), "all of it");
        assert_eq!(borne_by(5_000, taken, taken), Some(Origin::Sale(shares(4_000, 500, 500))), "a part");
        let left = shares(0, 1_000, 0);
        assert_eq!(borne_by(1_000, taken, left), Some(Origin::Sale(left)), "the tickets went back before");
        let spent = shares(-5, 0, 0);
        assert_eq!(borne_by(10, taken, spent), Some(Origin::Sale(shares(8, 1, 1))), "nobody has any of it");
    }

    #[test]
    fn states_are_read_back() {
        for status in DisputeStatus::ALL {
            assert_eq!(DisputeStatus::parse(status.as_str()), Some(*status));
        }
        assert_eq!(DisputeStatus::parse("closed"), None);
    }

    proptest! {
        /// One true story, told in any order with anything twice: the end is the same, and each booking
        /// is made once, the withdrawal first.
        #[test]
        fn duplicates_and_any_order_come_to_the_same(
            end in prop::sample::select(vec![DisputeStatus::Won, DisputeStatus::Lost]),
            late in prop::collection::vec(any::<bool>(), 0..10),
        ) {
            let told: Vec<DisputeStatus> =
                late.into_iter().map(|ended| if ended { end } else { DisputeStatus::Opened }).chain([end]).collect();
            let (mut status, mut booked) = (None, Vec::new());
            for found in told {
                let Some(step) = transition(status, found).unwrap() else { continue };
                prop_assert_eq!(step.from, status);
                status = Some(step.to);
                booked.extend_from_slice(step.books);
            }
            prop_assert_eq!(status, Some(end));
            let last = if end == DisputeStatus::Won { Booking::Won } else { Booking::Lost };
            prop_assert_eq!(booked, vec![Booking::Opened, last]);
            prop_assert_eq!(end.takes_money(), last == Booking::Lost);
        }
    }
}
