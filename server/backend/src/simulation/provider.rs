//! The payment provider of the simulation: an outside system that may be slow, late and unwilling.

use domain::AttemptId;
use std::collections::BTreeMap;

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
    /// Until then it answers no question about this payment.
    pub(crate) silent_until: i64,
}

/// All that the provider knows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Provider {
    pub(crate) payments: BTreeMap<AttemptId, Payment>,
    /// Refunds by their key: whether each succeeded, and its amount.
    pub(crate) refunds: BTreeMap<(AttemptId, usize), (bool, i64)>,
}

impl Provider {
    /// Opens a payment; the same attempt finds the payment that was opened first.
    pub(crate) fn create(&mut self, attempt: AttemptId, amount: i64, expires: i64, now: i64) -> There {
        // One that is opened after its end can't be paid.
        let state = if now < expires { There::Open } else { There::Canceled };
        let new = Payment { state, amount, expires, visited: false, silent_until: 0 };
        self.payments.entry(attempt).or_insert(new).state
    }

    /// Has nothing to say about a payment whose money it took, for a while: so money comes late.
    pub(crate) fn fall_silent(&mut self, attempt: AttemptId, until: i64) {
        if let Some(payment) = self.payments.get_mut(&attempt).filter(|payment| payment.state == There::Captured) {
            payment.silent_until = until;
        }
    }

    /// Whether nothing can be asked about a payment.
    pub(crate) fn is_silent(&self, attempt: AttemptId, now: i64) -> bool {
        self.payments.get(&attempt).is_some_and(|payment| now < payment.silent_until)
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

    /// Gives so much of captured money back, once by its key; whether that succeeds.
    pub(crate) fn refund(&mut self, attempt: AttemptId, key: usize, amount: i64, succeeds: bool) -> bool {
        self.refunds.entry((attempt, key)).or_insert((succeeds, amount)).0
    }

    /// What went back of a payment, in minor units.
    pub(crate) fn refunded(&self, attempt: AttemptId) -> i64 {
        let of_it = self.refunds.iter().filter(|((of, _), (succeeded, _))| *of == attempt && *succeeded);
        of_it.map(|(_, (_, amount))| *amount).sum()
    }

    /// What was captured and not given back, in minor units.
    pub(crate) fn kept(&self) -> i64 {
        let captured = self.payments.iter().filter(|(_, payment)| payment.state == There::Captured);
        captured.map(|(attempt, payment)| payment.amount - self.refunded(*attempt)).sum()
    }
}
