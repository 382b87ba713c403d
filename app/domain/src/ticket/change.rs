//! What may happen to an issued ticket: one pure function decides every step.
//!
//! ```text
//!            ┌─reissue, rename─▶ revoked; a ticket of the next issue takes its place
//! valid ─────┤
//!   ▲        └─offer─▶ offered ─accept─▶ revoked; the recipient has a ticket of the next issue
//!   └──take back, decline, expire──┘
//! ```
//!
//! A frozen ticket goes nowhere; what was offered before can be taken back. The stores apply a step to the
//! ticket as it was read, behind a lock on its order, and check that one row changed.

use crate::order::OrderStatus;
use crate::refusal::{Code, Refusal};
use crate::time::{Millis, ZonedTime};
use serde::{Deserialize, Serialize};

/// How long an offer stands, if the performance does not begin before.
pub const OFFER_TTL_MS: i64 = 7 * 24 * 3_600_000;
/// How often one seat's code is made anew at its holder's wish.
pub const REISSUES_MAX: i64 = 5;
/// How often one seat's ticket is offered: each offer sends a mail to an address of the holder's choice.
pub const OFFERS_MAX: i64 = 10;
/// The last issue that is made; a code has room for 255, and what revokes needs none.
pub const ISSUE_MAX: u8 = 200;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Another code, because this one may have been copied.
    Reissue,
    /// Another name.
    Rename,
    /// Offer it to somebody.
    Offer,
    /// The holder takes an offer back.
    TakeBack,
    /// The recipient does not want it.
    Decline,
    /// The recipient takes it.
    Accept,
    /// The time of an offer is over.
    Expire,
}

impl Step {
    /// Every step.
    pub const ALL: &[Self] =
        &[Self::Reissue, Self::Rename, Self::Offer, Self::TakeBack, Self::Decline, Self::Accept, Self::Expire];
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The ticket is revoked, and one of this issue takes its place.
    Replace(u8),
    /// An offer begins, and stands until then.
    Offered(Millis),
    /// The offer ends, and the ticket is valid at the door again.
    Returned,
}

/// The facts of a ticket on which is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TicketFacts {
    /// Where its order stands.
    pub order: OrderStatus,
    /// Whether it was revoked.
    pub revoked: bool,
    /// Whether a dispute has frozen it.
    pub frozen: bool,
    /// Until when an offer stands, while there is one.
    pub offered: Option<Millis>,
    /// Its issue.
    pub issue: u8,
    /// How often the seat's code was made anew at the holder's wish.
    pub reissues: i64,
    /// How often the seat's ticket was offered.
    pub offers: i64,
    /// When the performance begins.
    pub starts: Millis,
    /// How long before that names are fixed.
    pub name_cutoff_before_ms: Option<i64>,
}

impl TicketFacts {
    /// Until when a name can be changed.
    pub fn names_until(&self) -> Millis {
        self.starts.plus(-self.name_cutoff_before_ms.unwrap_or(0))
    }

    fn replace(&self) -> Result<Outcome, Refusal> {
        if self.issue >= ISSUE_MAX {
            return Err(Refusal::new(Code::LimitExceeded, "issue: this seat's ticket was replaced too often"));
        }
        Ok(Outcome::Replace(self.issue + 1))
    }

    /// What stands in the way of every change by a person.
    fn check(&self) -> Result<(), Refusal> {
        let wrong = |text: &str| Err(Refusal::new(Code::WrongState, text));
        if self.revoked {
            return wrong("ticket: it is not valid any more");
        }
        if self.order != OrderStatus::Fulfilled {
            return wrong("ticket: its order is not in force");
        }
        if self.frozen {
            return wrong("ticket: it is frozen while the payment is disputed");
        }
        Ok(())
    }
}

/// Decides one step.
///
/// # Errors
/// `wrong_state` says what stands in the way; `limit_exceeded` when it was done too often.
pub fn decide(facts: &TicketFacts, step: Step, now: Millis) -> Result<Outcome, Refusal> {
    let wrong = |text: &str| Err(Refusal::new(Code::WrongState, text));
    match step {
        Step::TakeBack | Step::Decline => match facts.offered {
            // Also of a frozen ticket: it stays frozen, and is its holder's again.
            Some(_) if !facts.revoked => Ok(Outcome::Returned),
            _ => wrong("transfer: this ticket is not offered to anybody"),
        },
        Step::Expire => match facts.offered {
            Some(until) if !facts.revoked && now >= until => Ok(Outcome::Returned),
            Some(_) => wrong("transfer: the offer has not reached its end"),
            None => wrong("transfer: this ticket is not offered to anybody"),
        },
        Step::Accept => {
            facts.check()?;
            match facts.offered {
                Some(until) if now < until && now < facts.starts => facts.replace(),
                Some(_) => wrong("transfer: the time of this offer is over"),
                None => wrong("transfer: this ticket is not offered to anybody"),
            }
        }
        Step::Reissue | Step::Rename | Step::Offer => {
            facts.check()?;
            if facts.offered.is_some() {
                return wrong("transfer: take the offer back first");
            }
            match step {
                Step::Rename if now >= facts.names_until() => wrong("name: it can't be changed any more"),
                Step::Offer if now >= facts.starts => wrong("transfer: the performance has begun"),
                Step::Offer if facts.offers >= OFFERS_MAX => Err(Refusal::new(
                    Code::LimitExceeded,
                    format!("transfer: a seat's ticket is offered at most {OFFERS_MAX} times"),
                )),
                Step::Offer => Ok(Outcome::Offered(now.plus(OFFER_TTL_MS).min(facts.starts))),
                Step::Reissue if facts.reissues >= REISSUES_MAX => Err(Refusal::new(
                    Code::LimitExceeded,
                    format!("ticket: a code is made anew at most {REISSUES_MAX} times"),
                )),
                _ => facts.replace(),
            }
        }
    }
}

/// What a door says about a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Come in.
    Valid,
    /// It was revoked: another ticket took its place, or the money went back.
    Revoked,
    /// Its payment is disputed.
    Frozen,
    /// It is offered to somebody, who has not answered yet.
    Pending,
    /// Rightly signed, and not known here.
    Unknown,
    /// Signed by a key that is not known here.
    UnknownKey,
    /// The signature is not ours.
    Forged,
    /// For another performance.
    OtherPerformance,
    /// Not a code of ours.
    Malformed,
}

impl Verdict {
    /// What becomes of a ticket that is known, whatever else is wrong with it: revoked counts first.
    pub fn of(revoked: bool, frozen: bool, offered: bool) -> Self {
        match (revoked, frozen, offered) {
            (true, ..) => Self::Revoked,
            (_, true, _) => Self::Frozen,
            (.., true) => Self::Pending,
            _ => Self::Valid,
        }
    }

    /// The text form, as published.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Revoked => "revoked",
            Self::Frozen => "frozen",
            Self::Pending => "pending",
            Self::Unknown => "unknown",
            Self::UnknownKey => "unknown_key",
            Self::Forged => "forged",
            Self::OtherPerformance => "other_performance",
            Self::Malformed => "malformed",
        }
    }
}

impl From<super::TicketCodeError> for Verdict {
    fn from(error: super::TicketCodeError) -> Self {
        match error {
            super::TicketCodeError::Malformed => Self::Malformed,
            super::TicketCodeError::UnknownKey => Self::UnknownKey,
            super::TicketCodeError::Forged => Self::Forged,
            super::TicketCodeError::OtherPerformance => Self::OtherPerformance,
        }
    }
}

/// Where a ticket that is not at hand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransferState {
    /// Offered; the door refuses it until somebody decides.
    Offered,
    /// Somebody else's by now.
    Gone,
}

/// A ticket on its way to somebody, or there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transfer {
    /// Where it stands.
    pub state: TransferState,
    /// To which address.
    pub to: String,
    /// Until when an offer stands; of no meaning for what is gone.
    pub until: Millis,
}

/// A ticket as its holder sees it, on a page or on paper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldTicket {
    /// The ticket.
    pub id: crate::TicketId,
    /// The order that it was bought with.
    pub order: crate::OrderId,
    /// The performance.
    pub performance: crate::PerformanceId,
    /// Name of the event.
    pub event: String,
    /// Who plays.
    pub artist: String,
    /// Name of the venue.
    pub venue: String,
    /// City of the venue.
    pub city: String,
    /// Picture theme of the event.
    pub cover: u8,
    /// When it begins, at the venue.
    pub starts: ZonedTime,
    /// Section as named by the venue.
    pub section: String,
    /// Row as named by the venue.
    pub row: String,
    /// Seat as named by the venue.
    pub seat: String,
    /// Price zone.
    pub category: String,
    /// 0 for the first issue.
    pub issue: u8,
    /// What the QR code says; empty when the ticket is somebody else's by now.
    pub code: String,
    /// Whether the order is the reader's own.
    pub bought: bool,
    /// Whether a dispute has frozen it.
    pub frozen: bool,
    /// The name on it.
    pub holder: Option<String>,
    /// To whom it is on its way, or went.
    pub transfer: Option<Transfer>,
    /// Until when a name can be changed, as people at the venue read it.
    pub names_until: ZonedTime,
    /// Whether another code can be had.
    pub may_reissue: bool,
    /// Whether the name can be changed.
    pub may_rename: bool,
    /// Whether it can be offered to somebody.
    pub may_offer: bool,
}

impl HeldTicket {
    /// Whether it is somebody else's by now.
    pub fn is_gone(&self) -> bool {
        self.transfer.as_ref().is_some_and(|transfer| transfer.state == TransferState::Gone)
    }

    /// Whether it is offered to somebody.
    pub fn is_offered(&self) -> bool {
        self.transfer.as_ref().is_some_and(|transfer| transfer.state == TransferState::Offered)
    }
}

/// What the link of an offer offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferOffer {
    /// Address of who offers it.
    pub from: String,
    /// Name of the event.
    pub event: String,
    /// Who plays.
    pub artist: String,
    /// Name of the venue.
    pub venue: String,
    /// When it begins, at the venue.
    pub starts: ZonedTime,
    /// Section as named by the venue.
    pub section: String,
    /// Row as named by the venue.
    pub row: String,
    /// Seat as named by the venue.
    pub seat: String,
    /// Until when the offer stands, as people at the venue read it.
    pub until: ZonedTime,
    /// Whether it can't be accepted right now, because its payment is disputed.
    pub frozen: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const START: Millis = Millis(1_000_000_000);

    fn facts() -> TicketFacts {
        TicketFacts {
            order: OrderStatus::Fulfilled,
            revoked: false,
            frozen: false,
            offered: None,
            issue: 0,
            reissues: 0,
            offers: 0,
            starts: START,
            name_cutoff_before_ms: None,
        }
    }

    #[track_caller]
    fn refused(facts: &TicketFacts, step: Step, now: Millis, code: Code) {
        assert_eq!(decide(facts, step, now).unwrap_err().code, code, "{step:?}");
    }

    #[test]
    fn each_step_does_what_it_says() {
        let valid = facts();
        assert_eq!(decide(&valid, Step::Reissue, Millis(0)), Ok(Outcome::Replace(1)));
        assert_eq!(decide(&valid, Step::Rename, Millis(0)), Ok(Outcome::Replace(1)));
        assert_eq!(decide(&valid, Step::Offer, Millis(0)), Ok(Outcome::Offered(Millis(OFFER_TTL_MS))));
        let late = START.plus(-1);
        assert_eq!(decide(&valid, Step::Offer, late), Ok(Outcome::Offered(START)), "never beyond the start");
        let offered = TicketFacts { offered: Some(Millis(500)), issue: 3, ..facts() };
        assert_eq!(decide(&offered, Step::Accept, Millis(499)), Ok(Outcome::Replace(4)));
        refused(&offered, Step::Accept, Millis(500), Code::WrongState);
        refused(&offered, Step::Expire, Millis(499), Code::WrongState);
        assert_eq!(decide(&offered, Step::Expire, Millis(500)), Ok(Outcome::Returned));
        for step in [Step::TakeBack, Step::Decline] {
            assert_eq!(decide(&offered, step, Millis(9_999)), Ok(Outcome::Returned));
            refused(&valid, step, Millis(0), Code::WrongState);
        }
        for step in [Step::Reissue, Step::Rename, Step::Offer] {
            refused(&offered, step, Millis(0), Code::WrongState);
        }
    }

    #[test]
    fn a_name_is_fixed_from_its_cutoff_on() {
        let facts = TicketFacts { name_cutoff_before_ms: Some(1_000), ..facts() };
        assert!(decide(&facts, Step::Rename, START.plus(-1_001)).is_ok());
        refused(&facts, Step::Rename, START.plus(-1_000), Code::WrongState);
        assert!(decide(&facts, Step::Reissue, START).is_ok(), "a copied code is replaced also at the door");
    }

    #[test]
    fn nothing_is_done_without_end() {
        refused(&TicketFacts { reissues: REISSUES_MAX, ..facts() }, Step::Reissue, Millis(0), Code::LimitExceeded);
        refused(&TicketFacts { offers: OFFERS_MAX, ..facts() }, Step::Offer, Millis(0), Code::LimitExceeded);
        refused(&TicketFacts { issue: ISSUE_MAX, ..facts() }, Step::Rename, Millis(0), Code::LimitExceeded);
    }

    #[test]
    fn a_frozen_ticket_goes_nowhere_but_back() {
        let frozen = TicketFacts { frozen: true, offered: Some(Millis(500)), ..facts() };
        for step in [Step::Reissue, Step::Rename, Step::Offer, Step::Accept] {
            refused(&frozen, step, Millis(0), Code::WrongState);
        }
        assert_eq!(decide(&frozen, Step::TakeBack, Millis(0)), Ok(Outcome::Returned));
        assert_eq!(Verdict::of(false, true, true), Verdict::Frozen);
        assert_eq!(Verdict::of(true, true, true), Verdict::Revoked);
        assert_eq!(Verdict::of(false, false, true), Verdict::Pending);
        assert_eq!(Verdict::of(false, false, false), Verdict::Valid);
    }

    proptest! {
        /// What is revoked, or whose order is not in force, gives nobody a ticket; and an issue only grows.
        #[test]
        fn no_ticket_comes_from_what_is_over(
            step in prop::sample::select(Step::ALL),
            order in prop::sample::select(OrderStatus::ALL),
            revoked in any::<bool>(),
            frozen in any::<bool>(),
            offered in prop::option::of(0..2_000_i64),
            issue in 0..=ISSUE_MAX,
            now in 0..2_000_i64,
        ) {
            let facts = TicketFacts { order, revoked, frozen, offered: offered.map(Millis), issue, ..facts() };
            match decide(&facts, step, Millis(now)) {
                Ok(Outcome::Replace(next)) => {
                    prop_assert!(!revoked && !frozen && order == OrderStatus::Fulfilled);
                    prop_assert_eq!(next, issue + 1);
                    prop_assert_eq!(step == Step::Accept, offered.is_some());
                }
                Ok(Outcome::Offered(until)) => {
                    prop_assert!(!revoked && !frozen && offered.is_none() && until > Millis(now));
                }
                Ok(Outcome::Returned) => prop_assert!(!revoked && offered.is_some()),
                Err(refusal) => prop_assert!(matches!(refusal.code, Code::WrongState | Code::LimitExceeded)),
            }
        }
    }
}
