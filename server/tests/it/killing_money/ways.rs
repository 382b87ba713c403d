//! Which points lie on which way of money, seats and tickets, so that none is left out.

use backend::FAULT_POINTS;
use std::collections::BTreeSet;

/// What must be done to come to a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Two seats are paid: from Pay to the provider's page.
    Pay,
    /// They were paid: from the provider's word to tickets and mail.
    Settle,
    /// A payment had its time, and is ended at the provider.
    End,
    /// A payment was opened whose attempt had ended meanwhile.
    Unused,
    /// A fan gives an order up that is being paid. Its last step is also that of an order whose provider is away.
    FanCancel,
    /// Nobody pays for a hold, and its time is over.
    Expire,
    /// Staff gives the money of two seats back.
    Refund,
    /// A refund is answered with faults, fails, and is tried again by the staff.
    Retry,
    /// Money was given back at the provider, by its own staff.
    Import,
    /// A performance is cancelled.
    Cancel,
    /// Money came late, and has its seats once more.
    Reclaim,
    /// Seats of late money were taken, and can't be claimed.
    GiveUp,
    /// An ended attempt is asked about, and has brought its money after all.
    Ended,
    /// Money that fits no attempt goes back, after a refund that failed.
    SetAside,
    /// A bank calls a payment into question.
    Dispute,
    /// A day is matched, and what differs is repaired.
    Match,
    /// A ticket gets another code, another name, another holder.
    Change,
    /// Tickets are frozen by command.
    Freeze,
    /// It is no step of a payment, or its own tests come to it.
    Elsewhere,
}

/// Every point once, by its way.
const WAYS: &[(Way, &[&str])] = &[
    (
        Way::Pay,
        &[
            "attempt-claimed",
            "hold-extended",
            "before-begin-commit",
            "payment-begun",
            "before-create",
            "after-create",
            "payment-opened",
        ],
    ),
    (
        Way::Settle,
        &[
            "before-inbox",
            "after-inbox",
            "before-event",
            "event-applied",
            "before-payment-read",
            "after-payment-read",
            "before-capture",
            "after-capture",
            "before-captured-commit",
            "captured-committed",
            "before-issue-commit",
            "issued",
            "before-confirm",
            "after-confirm",
            "after-mail",
        ],
    ),
    (
        Way::End,
        &[
            "before-cancel",
            "after-cancel",
            "before-canceled-commit",
            "before-take-back",
            "taken-back",
            "take-back-noted",
        ],
    ),
    (Way::Unused, &["before-unused-cancel", "after-unused-cancel"]),
    (Way::FanCancel, &["before-fan-cancel", "after-fan-cancel", "before-step-commit", "step-committed"]),
    (
        Way::Expire,
        &["hold-swept", "before-close-commit", "order-closed", "hold-ended", "before-release", "after-release"],
    ),
    (
        Way::Refund,
        &[
            "before-ask-commit",
            "refund-asked",
            "before-decide-commit",
            "refund-decided",
            "before-refund",
            "before-refund-call",
            "refund-call-begun",
            "after-refund",
            "before-refund-commit",
            "refund-committed",
            "before-return",
            "after-return",
            "returned",
        ],
    ),
    (Way::Retry, &["before-fault-commit", "refund-fault-noted", "before-retry-commit", "refund-retried"]),
    (Way::Import, &["before-import", "imported"]),
    (Way::Cancel, &["before-cancel-commit", "performance-cancelled", "before-batch-commit", "batch-order-done"]),
    (Way::Reclaim, &["reclaim-taken", "before-reclaim-commit", "reclaim-committed"]),
    (Way::GiveUp, &["before-give-up", "after-give-up"]),
    (Way::Ended, &["before-ended-read", "after-ended-read", "late-noted", "ended-answered"]),
    (
        Way::SetAside,
        &["before-quarantine-failed", "quarantine-failed", "before-quarantine-returned", "quarantine-returned"],
    ),
    (Way::Dispute, &["before-dispute-commit", "dispute-committed"]),
    (
        Way::Match,
        &[
            "before-lines-commit",
            "lines-kept",
            "before-differences-commit",
            "differences-kept",
            "before-repair",
            "before-postings-commit",
            "postings-made",
            "repair-done",
            "repair-noted",
        ],
    ),
    (
        Way::Change,
        &[
            "before-reissue-commit",
            "ticket-reissued",
            "before-rename-commit",
            "ticket-renamed",
            "before-offer-commit",
            "ticket-offered",
            "before-take-back-commit",
            "ticket-taken-back",
            "before-decline-commit",
            "ticket-declined",
            "before-expiry-commit",
            "offer-expired",
            "before-accept-commit",
            "ticket-accepted",
        ],
    ),
    (Way::Freeze, &["before-freeze-commit", "tickets-frozen"]),
    (
        Way::Elsewhere,
        &[
            "after-webhook",
            "before-keyed-answer",
            "before-numbers-commit",
            "before-quarantine-refund",
            "after-quarantine-refund",
            "between-allocating",
            "plan-change-at-rest",
            "plan-change-committed",
        ],
    ),
];

/// The way to a point; none for one that nobody has thought of here.
pub(super) fn way(point: &str) -> Option<Way> {
    WAYS.iter().find(|(_, points)| points.contains(&point)).map(|(way, _)| *way)
}

#[test]
fn every_point_has_a_way_to_it() {
    let without: Vec<_> = FAULT_POINTS.iter().filter(|point| way(point).is_none()).collect();
    assert!(without.is_empty(), "nobody drives {without:?}");
    let all: Vec<&str> = WAYS.iter().flat_map(|(_, points)| points.iter().copied()).collect();
    let known: BTreeSet<&str> = FAULT_POINTS.iter().copied().collect();
    assert_eq!(all.iter().copied().collect::<BTreeSet<_>>(), known, "no way has a point that there is not");
    assert_eq!(all.len(), known.len(), "each point is on one way");
}
