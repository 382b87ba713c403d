//! The payment provider of the simulation: an outside system that may be slow, late and unwilling.

use domain::AttemptId;
use std::collections::{BTreeMap, BTreeSet};

/// Where a payment stands there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum There {
    Open,
    Authorized,
    Captured,
    Canceled,
}

/// A payment there, by our reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Payment {
    pub(crate) state: There,
    pub(crate) amount: i64,
    /// When the provider stops waiting for the fan, by a clock of its own.
    pub(crate) expires: i64,
    /// The fan was there.
    pub(crate) visited: bool,
}

/// All that the provider knows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Provider {
    pub(crate) payments: BTreeMap<AttemptId, Payment>,
    /// Refunds by their key, and whether each succeeded.
    pub(crate) refunds: BTreeMap<(AttemptId, usize), bool>,
}

impl Provider {
    /// Opens a payment; the same attempt finds the payment that was opened first.
    pub(crate) fn create(&mut self, attempt: AttemptId, amount: i64, expires: i64, now: i64) -> There {
        // One that is opened after its end can't be paid.
        let state = if now < expires { There::Open } else { There::Canceled };
        self.payments.entry(attempt).or_insert(Payment { state, amount, expires, visited: false }).state
    }

    /// What the fan does there, in time.
    pub(crate) fn visit(&mut self, attempt: AttemptId, to: There, now: i64) {
        if let Some(payment) = self.payments.get_mut(&attempt) {
            payment.visited = true;
            if payment.state == There::Open && now < payment.expires {
                payment.state = to;
            }
        }
    }

    pub(crate) fn find(&self, attempt: AttemptId) -> Option<There> {
        self.payments.get(&attempt).map(|payment| payment.state)
    }

    /// Moves a payment from one of some states, or leaves it; where it stands then.
    pub(crate) fn shift(&mut self, attempt: AttemptId, from: &[There], to: There) -> Option<There> {
        let payment = self.payments.get_mut(&attempt)?;
        if from.contains(&payment.state) {
            payment.state = to;
        }
        Some(payment.state)
    }

    /// Gives captured money back, once by its key; whether that succeeds.
    pub(crate) fn refund(&mut self, attempt: AttemptId, key: usize, succeeds: bool) -> bool {
        *self.refunds.entry((attempt, key)).or_insert(succeeds)
    }

    /// Payments whose money went back.
    pub(crate) fn refunded(&self) -> BTreeSet<AttemptId> {
        self.refunds.iter().filter(|(_, succeeded)| **succeeded).map(|((attempt, _), _)| *attempt).collect()
    }

    /// What was captured and not given back, in minor units.
    pub(crate) fn kept(&self) -> i64 {
        let refunded = self.refunded();
        let kept = |(attempt, payment): &(&AttemptId, &Payment)| {
            payment.state == There::Captured && !refunded.contains(attempt)
        };
        self.payments.iter().filter(kept).map(|(_, payment)| payment.amount).sum()
    }
}
