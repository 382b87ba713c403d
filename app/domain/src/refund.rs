//! Refunds: the machine, what is left to give back, and who must agree.
//!
//! ```text
//! requested ─approve─▶ approved ─submit─▶ submitted ─succeed─▶ succeeded
//!     │                   │                   └─fail─▶ failed ◀─fail─┘
//!     └─reject─▶ rejected └─fail─▶ failed
//! ```
//!
//! The amount is reserved when the refund is requested, before the provider is called. So what is done
//! and what is pending never exceeds what was captured, however many ask at once. A refund that failed
//! stays failed; another try is another refund under its own key.
//!
//! A refund can fail after it succeeded. Stripe documents this: the bank may return the money, for
//! instance since the account was closed; `refund.failed` is sent, and the amount comes back to the
//! merchant's balance. Adyen and PayPal document the like. Then the money is with us and must not be.
//!
//! What a refund comes to is in [`policy`]; what a refund that was made at the provider by hand was for,
//! in [`import`]. A policy as people read it is in [`stages`], as they type it in [`typed`].

pub mod import;
pub mod policy;
pub mod stages;
pub mod typed;
pub mod view;

use crate::account::Role;
use crate::ids::AccountId;
use crate::refusal::{Code, Refusal};
use serde::{Deserialize, Serialize};

/// Where a refund stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefundStatus {
    /// Asked for; its amount is reserved.
    Requested,
    /// May be submitted. From here on a call to the provider may have been made.
    Approved,
    /// The provider has it.
    Submitted,
    /// The provider says that the money went back.
    Succeeded,
    /// Ended without money going back, or with the money returned.
    Failed,
    /// Turned down by finance before anything was sent.
    Rejected,
}

impl RefundStatus {
    /// Every status.
    pub const ALL: &[Self] =
        &[Self::Requested, Self::Approved, Self::Submitted, Self::Succeeded, Self::Failed, Self::Rejected];

    /// The text form, as stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::Approved => "approved",
            Self::Submitted => "submitted",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Rejected => "rejected",
        }
    }

    /// Reads the text form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|status| status.as_str() == text)
    }

    /// Whether its amount is reserved and not yet gone.
    #[must_use]
    pub fn is_pending(self) -> bool {
        matches!(self, Self::Requested | Self::Approved | Self::Submitted)
    }

    /// Whether nothing more is asked of the provider. What succeeded can still fail.
    #[must_use]
    pub fn is_settled(self) -> bool {
        !self.is_pending()
    }
}

/// What happens to a refund.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefundEvent {
    /// Finance or a rule agrees.
    Approve,
    /// Finance turns it down.
    Reject,
    /// The provider took it.
    Submit,
    /// The provider says that it succeeded.
    Succeed,
    /// The provider refuses it, cancels it, or says that it failed.
    Fail,
}

/// What a step does to the money.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefundEffect {
    /// The amount stays reserved.
    Kept,
    /// The reserved amount is gone to the fan.
    Done,
    /// The reserved amount is free again.
    Released,
    /// The amount was gone and is with us again.
    Returned,
}

/// A step that the machine allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The state that is left: part of the condition of the update.
    pub from: RefundStatus,
    /// The state that is entered.
    pub to: RefundStatus,
    /// What it does to the money; the ledger has an event for each that moves some.
    pub effect: RefundEffect,
}

/// Decides one step.
///
/// An approved refund can't be rejected: after a crash nobody knows whether the provider was called, so
/// it is called again under the same key, and its answer decides.
///
/// # Errors
/// `wrong_state` when the machine has no such step, as for a message that comes a second time.
pub fn transition(status: RefundStatus, event: RefundEvent) -> Result<Transition, Refusal> {
    use RefundEffect as Effect;
    use RefundEvent as E;
    use RefundStatus as S;
    let step = |to, effect| Ok(Transition { from: status, to, effect });
    match (status, event) {
        (S::Requested, E::Approve) => step(S::Approved, Effect::Kept),
        (S::Requested, E::Reject) => step(S::Rejected, Effect::Released),
        (S::Approved, E::Submit) => step(S::Submitted, Effect::Kept),
        (S::Submitted, E::Succeed) => step(S::Succeeded, Effect::Done),
        (S::Approved | S::Submitted, E::Fail) => step(S::Failed, Effect::Released),
        (S::Succeeded, E::Fail) => step(S::Failed, Effect::Returned),
        (status, event) => Err(Refusal::new(
            Code::WrongState,
            format!("a refund that is {} does not take {}", status.as_str(), event_word(event)),
        )),
    }
}

fn event_word(event: RefundEvent) -> &'static str {
    match event {
        RefundEvent::Approve => "an approval",
        RefundEvent::Reject => "a rejection",
        RefundEvent::Submit => "a submission",
        RefundEvent::Succeed => "a success",
        RefundEvent::Fail => "a failure",
    }
}

/// The money of one captured payment, in minor units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefundBalance {
    /// What was captured.
    pub captured_minor: i64,
    /// What went back.
    pub done_minor: i64,
    /// What is reserved to go back.
    pub pending_minor: i64,
    /// What an open or lost dispute took. Stripe documents that a refund and a dispute of one charge
    /// are independent of each other: without this the fan would be paid twice.
    pub disputed_minor: i64,
}

impl RefundBalance {
    /// The balance after refunds in their states. `None` when a sum leaves the range.
    pub fn of(
        captured_minor: i64,
        disputed_minor: i64,
        refunds: impl IntoIterator<Item = (RefundStatus, i64)>,
    ) -> Option<Self> {
        let mut balance = Self { captured_minor, disputed_minor, ..Self::default() };
        for (status, minor) in refunds {
            if status.is_pending() {
                balance.pending_minor = balance.pending_minor.checked_add(minor)?;
            } else if status == RefundStatus::Succeeded {
                balance.done_minor = balance.done_minor.checked_add(minor)?;
            }
        }
        Some(balance)
    }

    /// What may still go back: captured − done − pending − disputed, never below zero.
    #[must_use]
    pub fn left_minor(self) -> i64 {
        self.captured_minor
            .saturating_sub(self.done_minor)
            .saturating_sub(self.pending_minor)
            .saturating_sub(self.disputed_minor)
            .max(0)
    }

    /// Whether more is reserved, or went, than was captured: a dispute, or a refund that the provider made on its
    /// own, took money that was promised before.
    #[must_use]
    pub fn is_overdrawn(self) -> bool {
        self.done_minor.saturating_add(self.pending_minor).saturating_add(self.disputed_minor) > self.captured_minor
    }

    /// Checks that all that went, and all that is to go, is covered by what was captured.
    ///
    /// # Errors
    /// `wrong_state` says what overdrew it. What is reserved here never does: it is the provider's own refunds,
    /// where refunds alone are too much already, else a dispute.
    pub fn check_covered(self) -> Result<(), Refusal> {
        if !self.is_overdrawn() {
            return Ok(());
        }
        let undisputed = Self { disputed_minor: 0, ..self };
        let why = if undisputed.is_overdrawn() {
            "money was given back at the provider: less is left of the payment than is to go back"
        } else {
            "a dispute took of the payment: less is left of it than is to go back"
        };
        Err(Refusal::new(Code::WrongState, why))
    }

    /// The balance with an amount reserved.
    ///
    /// # Errors
    /// `invalid_input` for nothing or less, `limit_exceeded` for more than is left.
    pub fn reserve(self, minor: i64) -> Result<Self, Refusal> {
        if minor <= 0 {
            return Err(Refusal::new(Code::InvalidInput, "amount: more than 0 is expected"));
        }
        if minor > self.left_minor() {
            return Err(Refusal::new(
                Code::LimitExceeded,
                format!("amount: {} minor units are left to give back, not {minor}", self.left_minor()),
            ));
        }
        Ok(Self { pending_minor: self.pending_minor.saturating_add(minor), ..self })
    }
}

/// Why money goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The fan asks, and the performance's policy allows it.
    Wish,
    /// The performance does not take place: all comes back.
    Cancelled,
    /// The staff decides beyond the policy: all of what is chosen comes back.
    Goodwill,
    /// Money that arrived without a right to seats.
    LateMoney,
}

impl Cause {
    /// Every cause.
    pub const ALL: &[Self] = &[Self::Wish, Self::Cancelled, Self::Goodwill, Self::LateMoney];

    /// The text form, as stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Wish => "wish",
            Self::Cancelled => "cancelled",
            Self::Goodwill => "goodwill",
            Self::LateMoney => "late_money",
        }
    }

    /// Reads the text form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|cause| cause.as_str() == text)
    }
}

/// Who gave money back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefundOrigin {
    /// It was asked for here.
    Ours,
    /// The provider's own pages: it is known here since the provider told of it.
    Provider,
}

impl RefundOrigin {
    /// Every origin.
    pub const ALL: &[Self] = &[Self::Ours, Self::Provider];

    /// The text form, as stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Provider => "provider",
        }
    }

    /// Reads the text form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|origin| origin.as_str() == text)
    }
}

/// Who must agree to refunds of an organization.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRule {
    /// A refund by the policy up to this amount, in minor units, needs nobody. 0: each needs finance.
    pub automatic_to_minor: i64,
    /// From this amount on, in minor units, whoever asked can't be the one who agrees. None: never.
    pub four_eyes_from_minor: Option<i64>,
}

/// Who agrees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// The rule itself, at once.
    Automatic,
    /// A member who may: owner or finance.
    Finance,
}

impl ApprovalRule {
    /// Who must agree to a refund.
    ///
    /// Late money goes back without a human: it is not ours (I2). A cancelled performance was decided
    /// once, for all of its orders.
    #[must_use]
    pub fn needed(self, cause: Cause, minor: i64) -> Approval {
        match cause {
            Cause::LateMoney | Cause::Cancelled => Approval::Automatic,
            Cause::Wish if minor <= self.automatic_to_minor => Approval::Automatic,
            Cause::Wish | Cause::Goodwill => Approval::Finance,
        }
    }

    /// Checks that a member may agree to a refund, or turn it down.
    ///
    /// # Errors
    /// `forbidden` says whether it is the role or the person.
    pub fn check(self, role: Role, member: AccountId, asked_by: Option<AccountId>, minor: i64) -> Result<(), Refusal> {
        if !matches!(role, Role::Owner | Role::Finance) {
            return Err(Refusal::new(Code::Forbidden, "only owner and finance decide on refunds"));
        }
        let watched = self.four_eyes_from_minor.is_some_and(|from_minor| minor >= from_minor);
        if watched && asked_by == Some(member) {
            return Err(Refusal::new(Code::Forbidden, "a refund of this amount is decided by another member"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
