//! The daily match of three sides: what we recorded, what the provider settled, which tickets are out.
//!
//! [`compare::compare`] is a function of a [`Day`]: it repairs nothing and asks nobody. Each
//! [`Difference`] says what is wrong, who owns it, what both sides show, and what repairs it. Its key is
//! the same on every run, so that it is put before people once.
//!
//! **Edges of the day.** A payment that we record a second before midnight may be settled a second after.
//! So the caller hands in lines and records from a while before and after the day as well, as partners;
//! only what lies inside of the day is reported.

pub mod compare;
pub mod schedule;
pub mod stuck;

use crate::dispute::DisputeStatus;
use crate::ids::{AttemptId, DisputeId, OrderId, RefundId, SeatNo};
use crate::money::{Currency, Money};
use crate::order::{AttemptStatus, OrderStatus};
use crate::refund::RefundStatus;
use crate::time::Millis;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// How long after its payment an order may be without tickets, in milliseconds: issuing is retried until
/// it is done, and has this long (I2).
pub const ISSUE_GRACE_MS: i64 = 2 * 60_000;

/// A movement of money at the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Movement {
    /// A payment was captured.
    Charge,
    /// A refund went out.
    Refund,
    /// A refund came back.
    RefundFailure,
    /// A disputed amount was withdrawn.
    Dispute,
    /// It was returned.
    DisputeReversal,
    /// A fee by itself.
    Fee,
    /// Money went from the provider to the bank.
    Payout,
    /// It did not arrive, and is at the provider again.
    PayoutFailure,
}

impl Movement {
    /// Every movement.
    pub const ALL: &[Self] = &[
        Self::Charge,
        Self::Refund,
        Self::RefundFailure,
        Self::Dispute,
        Self::DisputeReversal,
        Self::Fee,
        Self::Payout,
        Self::PayoutFailure,
    ];

    /// The text form, as settlement files and keys of differences have it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Charge => "charge",
            Self::Refund => "refund",
            Self::RefundFailure => "refund_failure",
            Self::Dispute => "dispute",
            Self::DisputeReversal => "dispute_reversal",
            Self::Fee => "fee",
            Self::Payout => "payout",
            Self::PayoutFailure => "payout_failure",
        }
    }

    /// Reads the text form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|movement| movement.as_str() == text)
    }
}

/// A line of a provider's settlement. Whoever reads the file turns the provider's own signs into these.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProviderLine {
    /// What moved.
    pub movement: Movement,
    /// Id of what moved: the payment, the refund, the dispute, the fee, the payout.
    pub id: String,
    /// Id of the payment that it goes back to; empty for a fee by itself and for a payout.
    pub payment: String,
    /// The reference that we gave to the payment: the attempt's id.
    pub reference: String,
    /// Currency of the amounts.
    pub currency: Currency,
    /// What moved, in minor units: towards us positive, away from us negative.
    pub gross_minor: i64,
    /// What the provider kept for it, in minor units; negative where it gave a fee back.
    pub fee_minor: i64,
    /// Gross less fee.
    pub net_minor: i64,
    /// When.
    pub at: Millis,
}

impl ProviderLine {
    /// The key of the line within its provider: the same movement of the same thing is one line.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}:{}", self.movement.as_str(), self.id)
    }

    /// The amount as we record it: positive, when the money went the way that the movement says.
    #[must_use]
    pub fn recorded_minor(&self) -> i64 {
        match self.movement {
            Movement::Refund | Movement::Dispute | Movement::Payout => self.gross_minor.saturating_neg(),
            _ => self.gross_minor,
        }
    }
}

/// An attempt to pay, as we recorded it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OurAttempt {
    /// The attempt.
    pub attempt: AttemptId,
    /// Its order.
    pub order: OrderId,
    /// Id of the payment at the provider, once known.
    pub payment: Option<String>,
    /// What was asked for.
    pub amount: Money,
    /// Where it stands.
    pub status: AttemptStatus,
    /// When its capture was recorded.
    pub captured: Option<Millis>,
}

impl OurAttempt {
    /// Whether its money was recorded as captured.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        matches!(self.status, AttemptStatus::Captured | AttemptStatus::Refunded)
    }
}

/// A refund, as we recorded it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OurRefund {
    /// The refund.
    pub refund: RefundId,
    /// The attempt whose money it gives back.
    pub attempt: AttemptId,
    /// Its id at the provider, once known.
    pub provider_ref: Option<String>,
    /// How much.
    pub amount: Money,
    /// Where it stands.
    pub status: RefundStatus,
    /// When that was recorded.
    pub at: Millis,
}

/// A dispute, as we recorded it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OurDispute {
    /// The dispute.
    pub dispute: DisputeId,
    /// Its id at the provider.
    pub provider_ref: String,
    /// The attempt whose money is disputed.
    pub attempt: AttemptId,
    /// How much was withdrawn.
    pub amount: Money,
    /// Where it stands.
    pub status: DisputeStatus,
    /// When its opening was recorded.
    pub opened: Millis,
}

/// A payout of the provider, as it was posted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OurPayout {
    /// Its id at the provider.
    pub payout: String,
    /// How much; below zero where the provider collected it.
    pub amount: Money,
    /// When it left, as the provider said.
    pub at: Millis,
    /// When it came back, where that was posted.
    pub failed: Option<Millis>,
}

/// An order with its tickets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OurOrder {
    /// The order.
    pub order: OrderId,
    /// Where it stands.
    pub status: OrderStatus,
    /// What it came to, in minor units. An order of 0 needs no payment.
    pub total_minor: i64,
    /// When it was paid.
    pub paid: Option<Millis>,
    /// Its seats that were not given back.
    pub seats: BTreeSet<SeatNo>,
    /// The seats that its valid tickets are for. Frozen ones count, revoked ones don't.
    pub tickets: BTreeSet<SeatNo>,
}

/// All sides of one provider's day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Day {
    /// When the day begins.
    pub from: Millis,
    /// When it ends; this instant is the next day's.
    pub to: Millis,
    /// The instant at which our records were read.
    pub as_of: Millis,
    /// Attempts at this provider: those that were captured around the day, those of the orders below, and
    /// those that a line names by payment or reference, however old.
    pub attempts: Vec<OurAttempt>,
    /// Refunds around the day, and those that a line names, however old.
    pub refunds: Vec<OurRefund>,
    /// Disputes around the day, and those that a line names, however old.
    pub disputes: Vec<OurDispute>,
    /// Orders that were paid or changed on the day.
    pub orders: Vec<OurOrder>,
    /// Payouts that were posted around the day, and those that a line names, however old.
    pub payouts: Vec<OurPayout>,
    /// Keys of lines whose fees are in the ledger.
    pub fees_posted: BTreeSet<String>,
    /// The provider's lines.
    pub lines: Vec<ProviderLine>,
}

impl Day {
    /// Whether an instant is of the day.
    #[must_use]
    pub fn has(&self, at: Millis) -> bool {
        self.from <= at && at < self.to
    }
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The provider has money that is not recorded here.
    CapturedNotRecorded,
    /// Money is recorded here that the provider does not have.
    RecordedNotCaptured,
    /// Both have it, with another amount; or a line's own amounts don't add up.
    AmountDiffers,
    /// Both have it, in another currency.
    CurrencyDiffers,
    /// A refund went out, or came back, that is not recorded here.
    RefundUnknownHere,
    /// A refund is recorded as done here, and the provider did not send it or got it back.
    RefundMissingThere,
    /// An order is paid and has no ticket for a seat.
    PaidNotIssued,
    /// A ticket is out for what is not paid, or was given back.
    IssuedNotPaid,
    /// The provider lists the same movement of the same thing more than once.
    DuplicateLine,
    /// The provider kept a fee that is not in the ledger.
    FeeLine,
    /// A dispute took or returned money that is not recorded here.
    DisputeUnknown,
    /// A dispute is recorded here and the provider withdrew nothing for it.
    DisputeMissingThere,
    /// A payout left the provider, or came back, that is not in the ledger.
    PayoutNotPosted,
    /// A payout, or its failure, is in the ledger and the provider does not list it.
    PayoutMissingThere,
}

impl Kind {
    /// Every kind.
    pub const ALL: &[Self] = &[
        Self::CapturedNotRecorded,
        Self::RecordedNotCaptured,
        Self::AmountDiffers,
        Self::CurrencyDiffers,
        Self::RefundUnknownHere,
        Self::RefundMissingThere,
        Self::PaidNotIssued,
        Self::IssuedNotPaid,
        Self::DuplicateLine,
        Self::FeeLine,
        Self::DisputeUnknown,
        Self::DisputeMissingThere,
        Self::PayoutNotPosted,
        Self::PayoutMissingThere,
    ];

    /// Reads the text form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == text)
    }

    /// The text form, as stored and as in keys.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CapturedNotRecorded => "captured_not_recorded",
            Self::RecordedNotCaptured => "recorded_not_captured",
            Self::AmountDiffers => "amount_differs",
            Self::CurrencyDiffers => "currency_differs",
            Self::RefundUnknownHere => "refund_unknown_here",
            Self::RefundMissingThere => "refund_missing_there",
            Self::PaidNotIssued => "paid_not_issued",
            Self::IssuedNotPaid => "issued_not_paid",
            Self::DuplicateLine => "duplicate_line",
            Self::FeeLine => "fee_line",
            Self::DisputeUnknown => "dispute_unknown",
            Self::DisputeMissingThere => "dispute_missing_there",
            Self::PayoutNotPosted => "payout_not_posted",
            Self::PayoutMissingThere => "payout_missing_there",
        }
    }
}

/// Who sees to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// The program, by itself.
    Worker,
    /// Members who look after money.
    Finance,
    /// Members who look after the event.
    Operator,
}

impl Owner {
    /// Every owner.
    pub const ALL: &[Self] = &[Self::Worker, Self::Finance, Self::Operator];

    /// The text form, as stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Worker => "worker",
            Self::Finance => "finance",
            Self::Operator => "operator",
        }
    }

    /// Reads the text form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|owner| owner.as_str() == text)
    }
}

/// What repairs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repair {
    /// Record here what the provider did by itself.
    Import,
    /// Ask the provider again, and act on what it says.
    QueryAgain,
    /// Post it to the ledger.
    Post,
    /// Issue the tickets.
    Issue,
    /// Set the money aside with its evidence.
    Quarantine,
    /// People decide.
    AskStaff,
}

impl Repair {
    /// Every repair.
    pub const ALL: &[Self] =
        &[Self::Import, Self::QueryAgain, Self::Post, Self::Issue, Self::Quarantine, Self::AskStaff];

    /// The text form, as stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Import => "import",
            Self::QueryAgain => "query_again",
            Self::Post => "post",
            Self::Issue => "issue",
            Self::Quarantine => "quarantine",
            Self::AskStaff => "ask_staff",
        }
    }

    /// Reads the text form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|repair| repair.as_str() == text)
    }
}

/// One of our records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ours {
    /// An attempt.
    Attempt(OurAttempt),
    /// A refund.
    Refund(OurRefund),
    /// A dispute.
    Dispute(OurDispute),
    /// An order.
    Order(OurOrder),
    /// A payout.
    Payout(OurPayout),
}

impl Ours {
    /// The attempt that it is about, where it is about one.
    #[must_use]
    pub fn attempt(&self) -> Option<AttemptId> {
        match self {
            Self::Attempt(attempt) => Some(attempt.attempt),
            Self::Refund(refund) => Some(refund.attempt),
            Self::Dispute(dispute) => Some(dispute.attempt),
            Self::Order(_) | Self::Payout(_) => None,
        }
    }

    /// The order that it is about, where it names one.
    #[must_use]
    pub fn order(&self) -> Option<OrderId> {
        match self {
            Self::Attempt(attempt) => Some(attempt.order),
            Self::Order(order) => Some(order.order),
            Self::Refund(_) | Self::Dispute(_) | Self::Payout(_) => None,
        }
    }
}

/// Something that does not match, with what both sides show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// Kind and subject; the same on every run.
    pub key: String,
    /// What is wrong.
    pub kind: Kind,
    /// Who sees to it.
    pub owner: Owner,
    /// What repairs it.
    pub repair: Repair,
    /// What we recorded.
    pub ours: Option<Ours>,
    /// The provider's lines, in order.
    pub theirs: Vec<ProviderLine>,
}

#[cfg(test)]
mod tests;
