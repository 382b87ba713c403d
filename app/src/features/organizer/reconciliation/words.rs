//! The words of the daily match.

use crate::i18n::{Locale, td_string};
use domain::dispute::DisputeStatus;
use domain::organizer::money::{DayState, DifferenceStatus, What};
use domain::refund::RefundStatus;
use domain::settlement::stuck::StuckKind;
use domain::settlement::{Kind, Movement, Owner, Repair};

/// What is wrong, as a title.
pub(super) fn what_text(lang: Locale, what: What) -> &'static str {
    match what {
        What::Match(kind) => match kind {
            Kind::CapturedNotRecorded => td_string!(lang, reconciliation.captured_not_recorded),
            Kind::RecordedNotCaptured => td_string!(lang, reconciliation.recorded_not_captured),
            Kind::AmountDiffers => td_string!(lang, reconciliation.amount_differs),
            Kind::CurrencyDiffers => td_string!(lang, reconciliation.currency_differs),
            Kind::RefundUnknownHere => td_string!(lang, reconciliation.refund_unknown_here),
            Kind::RefundMissingThere => td_string!(lang, reconciliation.refund_missing_there),
            Kind::PaidNotIssued => td_string!(lang, reconciliation.paid_not_issued),
            Kind::IssuedNotPaid => td_string!(lang, reconciliation.issued_not_paid),
            Kind::DuplicateLine => td_string!(lang, reconciliation.duplicate_line),
            Kind::FeeLine => td_string!(lang, reconciliation.fee_line),
            Kind::DisputeUnknown => td_string!(lang, reconciliation.dispute_unknown),
            Kind::DisputeMissingThere => td_string!(lang, reconciliation.dispute_missing_there),
            Kind::PayoutNotPosted => td_string!(lang, reconciliation.payout_not_posted),
            Kind::PayoutMissingThere => td_string!(lang, reconciliation.payout_missing_there),
        },
        What::Stuck(kind) => match kind {
            StuckKind::Attempt => td_string!(lang, reconciliation.stuck_attempt),
            StuckKind::Issue => td_string!(lang, reconciliation.stuck_issue),
            StuckKind::Refund => td_string!(lang, reconciliation.stuck_refund),
            StuckKind::Inbox => td_string!(lang, reconciliation.stuck_inbox),
            StuckKind::Outbox => td_string!(lang, reconciliation.stuck_outbox),
            StuckKind::Quarantine => td_string!(lang, reconciliation.stuck_quarantine),
        },
    }
}

/// Who sees to it.
pub(super) fn owner_text(lang: Locale, owner: Owner) -> &'static str {
    match owner {
        Owner::Worker => td_string!(lang, reconciliation.owner_worker),
        Owner::Finance => td_string!(lang, reconciliation.owner_finance),
        Owner::Operator => td_string!(lang, reconciliation.owner_operator),
    }
}

/// What repairs it.
pub(super) fn repair_text(lang: Locale, repair: Repair) -> &'static str {
    match repair {
        Repair::Import => td_string!(lang, reconciliation.repair_import),
        Repair::QueryAgain => td_string!(lang, reconciliation.repair_query_again),
        Repair::Post => td_string!(lang, reconciliation.repair_post),
        Repair::Issue => td_string!(lang, reconciliation.repair_issue),
        Repair::Quarantine => td_string!(lang, reconciliation.repair_quarantine),
        Repair::AskStaff => td_string!(lang, reconciliation.repair_ask_staff),
    }
}

/// Whether somebody must still see to it.
pub(super) fn status_text(lang: Locale, status: DifferenceStatus) -> &'static str {
    match status {
        DifferenceStatus::Open => td_string!(lang, reconciliation.status_open),
        DifferenceStatus::Repaired => td_string!(lang, reconciliation.status_repaired),
        DifferenceStatus::Settled => td_string!(lang, reconciliation.status_settled),
    }
}

/// Where a day stands.
pub(super) fn day_text(lang: Locale, state: DayState) -> &'static str {
    match state {
        DayState::Matched => td_string!(lang, reconciliation.day_matched),
        DayState::Differences => td_string!(lang, reconciliation.day_differences),
        DayState::NotYet => td_string!(lang, reconciliation.day_not_yet),
    }
}

/// What moved at the provider.
pub(super) fn movement_text(lang: Locale, movement: Movement) -> &'static str {
    match movement {
        Movement::Charge => td_string!(lang, reconciliation.movement_charge),
        Movement::Refund => td_string!(lang, reconciliation.movement_refund),
        Movement::RefundFailure => td_string!(lang, reconciliation.movement_refund_failure),
        Movement::Dispute => td_string!(lang, reconciliation.movement_dispute),
        Movement::DisputeReversal => td_string!(lang, reconciliation.movement_dispute_reversal),
        Movement::Fee => td_string!(lang, reconciliation.movement_fee),
        Movement::Payout => td_string!(lang, reconciliation.movement_payout),
        Movement::PayoutFailure => td_string!(lang, reconciliation.movement_payout_failure),
    }
}

/// Where a refund stands.
pub(super) fn refund_text(lang: Locale, status: RefundStatus) -> &'static str {
    match status {
        RefundStatus::Requested => td_string!(lang, reconciliation.refund_requested),
        RefundStatus::Approved => td_string!(lang, reconciliation.refund_approved),
        RefundStatus::Submitted => td_string!(lang, reconciliation.refund_submitted),
        RefundStatus::Succeeded => td_string!(lang, reconciliation.refund_succeeded),
        RefundStatus::Failed => td_string!(lang, reconciliation.refund_failed),
        RefundStatus::Rejected => td_string!(lang, reconciliation.refund_rejected),
    }
}

/// Where a dispute stands.
pub(super) fn dispute_text(lang: Locale, status: DisputeStatus) -> &'static str {
    match status {
        DisputeStatus::Opened => td_string!(lang, reconciliation.dispute_opened),
        DisputeStatus::Won => td_string!(lang, reconciliation.dispute_won),
        DisputeStatus::Lost => td_string!(lang, reconciliation.dispute_lost),
    }
}
