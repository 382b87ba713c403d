//! The match itself: lines against records, records against lines, tickets against both.

mod payouts;

use super::{
    Day, Difference, ISSUE_GRACE_MS, Kind, Movement, OurAttempt, OurDispute, OurPayout, OurRefund, Ours, Owner,
    ProviderLine, Repair,
};
use crate::dispute::DisputeStatus;
use crate::ids::{AttemptId, OrderId, RefundId};
use crate::money::Money;
use crate::order::OrderStatus;
use crate::refund::RefundStatus;
use std::collections::{BTreeMap, BTreeSet};

/// Compares the three sides of a day. The answer is ordered by kind and key and does not depend on the
/// order of lines or records; a day that matches has none.
#[must_use]
pub fn compare(day: &Day) -> Vec<Difference> {
    let mut found = Match::of(day);
    found.lines();
    found.captures();
    found.refunds();
    found.disputes();
    found.payouts();
    found.tickets();
    let mut differences = found.differences;
    differences.sort_by(|a, b| (a.kind, &a.key).cmp(&(b.kind, &b.key)));
    differences
}

/// The sides by what they are looked up by, and what was found so far.
struct Match<'a> {
    day: &'a Day,
    /// Lines by movement and id. The first of several counts, in an order of their own.
    lines: BTreeMap<(Movement, &'a str), Vec<&'a ProviderLine>>,
    attempts: BTreeMap<AttemptId, &'a OurAttempt>,
    by_payment: BTreeMap<&'a str, &'a OurAttempt>,
    refunds: BTreeMap<&'a str, &'a OurRefund>,
    /// Refunds of which we don't know whether the provider has them, by id.
    unanswered: BTreeMap<RefundId, &'a OurRefund>,
    disputes: BTreeMap<&'a str, &'a OurDispute>,
    payouts: BTreeMap<&'a str, &'a OurPayout>,
    /// Attempts that a charge stands behind.
    charged: BTreeSet<AttemptId>,
    differences: Vec<Difference>,
}

impl<'a> Match<'a> {
    fn of(day: &'a Day) -> Self {
        let mut lines: BTreeMap<(Movement, &str), Vec<&ProviderLine>> = BTreeMap::new();
        for line in &day.lines {
            lines.entry((line.movement, line.id.as_str())).or_default().push(line);
        }
        for same in lines.values_mut() {
            same.sort();
        }
        let known = |refund: &'a OurRefund| refund.provider_ref.as_deref().map(|id| (id, refund));
        // What still waits for somebody's approval was never sent.
        let sent = |status: RefundStatus| matches!(status, RefundStatus::Approved | RefundStatus::Submitted);
        let unanswered = |refund: &&OurRefund| refund.provider_ref.is_none() && sent(refund.status);
        Self {
            day,
            lines,
            attempts: day.attempts.iter().map(|attempt| (attempt.attempt, attempt)).collect(),
            by_payment: day.attempts.iter().filter_map(|a| Some((a.payment.as_deref()?, a))).collect(),
            refunds: day.refunds.iter().filter_map(known).collect(),
            unanswered: day.refunds.iter().filter(unanswered).map(|refund| (refund.refund, refund)).collect(),
            disputes: day.disputes.iter().map(|dispute| (dispute.provider_ref.as_str(), dispute)).collect(),
            payouts: day.payouts.iter().map(|payout| (payout.payout.as_str(), payout)).collect(),
            charged: BTreeSet::new(),
            differences: Vec::new(),
        }
    }

    /// The attempt that a line is about: by its payment, else by our reference while we don't know of
    /// any payment. A second payment under one reference is nobody's.
    fn attempt_of(&self, line: &ProviderLine) -> Option<&'a OurAttempt> {
        let by_reference = || {
            let attempt = *self.attempts.get(&line.reference.parse::<AttemptId>().ok()?)?;
            attempt.payment.is_none().then_some(attempt)
        };
        self.by_payment.get(line.payment.as_str()).copied().or_else(by_reference)
    }

    /// The line of a movement of something.
    fn line(&self, movement: Movement, id: &'a str) -> Option<&'a ProviderLine> {
        self.lines.get(&(movement, id)).and_then(|same| same.first()).copied()
    }

    fn tell(
        &mut self,
        kind: Kind,
        (owner, repair): (Owner, Repair),
        subject: &str,
        ours: Option<Ours>,
        theirs: &[&ProviderLine],
    ) {
        let key = format!("{}:{subject}", kind.as_str());
        let theirs = theirs.iter().map(|line| (*line).clone()).collect();
        self.differences.push(Difference { key, kind, owner, repair, ours, theirs });
    }

    /// What lines say by themselves, and each against the record that it is about.
    fn lines(&mut self) {
        let groups: Vec<Vec<&'a ProviderLine>> = self.lines.values().cloned().collect();
        for group in groups {
            let line = group[0];
            if line.movement == Movement::Charge
                && let Some(attempt) = self.attempt_of(line)
            {
                self.charged.insert(attempt.attempt);
            }
            if !group.iter().any(|line| self.day.has(line.at)) {
                continue;
            }
            if group.len() > 1 {
                self.tell(Kind::DuplicateLine, (Owner::Finance, Repair::AskStaff), &line.key(), None, &group);
            }
            if line.gross_minor.checked_sub(line.fee_minor) != Some(line.net_minor) {
                let subject = format!("{}:net", line.key());
                self.tell(Kind::AmountDiffers, (Owner::Finance, Repair::AskStaff), &subject, None, &[line]);
            }
            if line.fee_minor != 0 && !self.day.fees_posted.contains(&line.key()) {
                self.tell(Kind::FeeLine, (Owner::Worker, Repair::Post), &line.key(), None, &[line]);
            }
            match line.movement {
                Movement::Charge => self.charge(line),
                Movement::Refund => self.refund(line),
                Movement::RefundFailure => self.refund_failure(line),
                Movement::Dispute => self.dispute(line),
                Movement::DisputeReversal => self.dispute_reversal(line),
                Movement::Payout => self.payout(line),
                Movement::PayoutFailure => self.payout_failure(line),
                Movement::Fee => {}
            }
        }
    }

    /// Tells a wrong amount or currency; `true` when both are right.
    fn fits(&mut self, line: &'a ProviderLine, amount: Money, ours: impl Fn() -> Ours) -> bool {
        let finance = (Owner::Finance, Repair::Quarantine);
        if line.currency != amount.currency {
            self.tell(Kind::CurrencyDiffers, finance, &line.key(), Some(ours()), &[line]);
        } else if line.recorded_minor() != amount.minor {
            self.tell(Kind::AmountDiffers, finance, &line.key(), Some(ours()), &[line]);
        } else {
            return true;
        }
        false
    }

    fn charge(&mut self, line: &'a ProviderLine) {
        let Some(attempt) = self.attempt_of(line) else {
            return self.tell(
                Kind::CapturedNotRecorded,
                (Owner::Finance, Repair::Quarantine),
                &line.key(),
                None,
                &[line],
            );
        };
        let ours = || Ours::Attempt(attempt.clone());
        if self.fits(line, attempt.amount, ours) && !attempt.is_recorded() {
            let worker = (Owner::Worker, Repair::QueryAgain);
            self.tell(Kind::CapturedNotRecorded, worker, &line.key(), Some(ours()), &[line]);
        }
    }

    fn refund(&mut self, line: &'a ProviderLine) {
        if let Some(refund) = self.refunds.get(line.id.as_str()).copied() {
            let ours = || Ours::Refund(refund.clone());
            let came_back = self.line(Movement::RefundFailure, &line.id).is_some();
            if self.fits(line, refund.amount, ours) && !came_back && refund.status != RefundStatus::Succeeded {
                let worker = (Owner::Worker, Repair::QueryAgain);
                self.tell(Kind::RefundUnknownHere, worker, &line.key(), Some(ours()), &[line]);
            }
            return;
        }
        let attempt = self.attempt_of(line);
        let ours = attempt.map(|attempt| Ours::Attempt(attempt.clone()));
        // A call of ours may have reached the provider without its answer reaching us: imported, it would
        // count twice.
        let may_be = |refund: &&OurRefund| {
            attempt.is_some_and(|attempt| attempt.attempt == refund.attempt)
                && (line.currency, line.recorded_minor()) == (refund.amount.currency, refund.amount.minor)
        };
        let call = self.unanswered.values().copied().find(may_be);
        let (how, ours) = match (call, ours) {
            (Some(refund), _) => {
                self.unanswered.remove(&refund.refund);
                ((Owner::Worker, Repair::QueryAgain), Some(Ours::Refund(refund.clone())))
            }
            (None, Some(ours)) => ((Owner::Worker, Repair::Import), Some(ours)),
            (None, None) => ((Owner::Finance, Repair::Quarantine), None),
        };
        self.tell(Kind::RefundUnknownHere, how, &line.key(), ours, &[line]);
    }

    /// What came back must be recorded as failed. One that is recorded as done is told with the records.
    fn refund_failure(&mut self, line: &'a ProviderLine) {
        let worker = (Owner::Worker, Repair::QueryAgain);
        match self.refunds.get(line.id.as_str()).copied() {
            Some(refund) => {
                let ours = || Ours::Refund(refund.clone());
                if self.fits(line, refund.amount, ours) && refund.status.is_pending() {
                    self.tell(Kind::RefundUnknownHere, worker, &line.key(), Some(ours()), &[line]);
                }
            }
            None => self.tell(Kind::RefundUnknownHere, (Owner::Finance, Repair::AskStaff), &line.key(), None, &[line]),
        }
    }

    fn dispute(&mut self, line: &'a ProviderLine) {
        let Some(dispute) = self.disputes.get(line.id.as_str()).copied() else {
            let attempt = self.attempt_of(line);
            let how = match attempt {
                Some(_) => (Owner::Worker, Repair::Import),
                None => (Owner::Finance, Repair::Quarantine),
            };
            let ours = attempt.map(|attempt| Ours::Attempt(attempt.clone()));
            return self.tell(Kind::DisputeUnknown, how, &line.key(), ours, &[line]);
        };
        self.fits(line, dispute.amount, || Ours::Dispute(dispute.clone()));
    }

    fn dispute_reversal(&mut self, line: &'a ProviderLine) {
        let worker = (Owner::Worker, Repair::QueryAgain);
        let Some(dispute) = self.disputes.get(line.id.as_str()).copied() else {
            return self.tell(Kind::DisputeUnknown, worker, &line.key(), None, &[line]);
        };
        let ours = || Ours::Dispute(dispute.clone());
        if self.fits(line, dispute.amount, ours) && dispute.status != DisputeStatus::Won {
            self.tell(Kind::DisputeUnknown, worker, &line.key(), Some(ours()), &[line]);
        }
    }

    /// Money that is recorded and has no charge behind it.
    fn captures(&mut self) {
        let day = self.day;
        for attempt in &day.attempts {
            let today = attempt.captured.is_some_and(|at| day.has(at));
            if today && attempt.is_recorded() && !self.charged.contains(&attempt.attempt) {
                let (worker, ours) = ((Owner::Worker, Repair::QueryAgain), Ours::Attempt(attempt.clone()));
                self.tell(Kind::RecordedNotCaptured, worker, &attempt.attempt.to_string(), Some(ours), &[]);
            }
        }
    }

    /// Refunds that are recorded as done and did not go out, or came back.
    fn refunds(&mut self) {
        let day = self.day;
        for refund in day.refunds.iter().filter(|refund| refund.status == RefundStatus::Succeeded) {
            let id = refund.provider_ref.as_deref().unwrap_or_default();
            let (out, back) = (self.line(Movement::Refund, id), self.line(Movement::RefundFailure, id));
            let missing = day.has(refund.at) && out.is_none();
            if missing || back.is_some_and(|line| day.has(line.at)) {
                let (worker, ours) = ((Owner::Worker, Repair::QueryAgain), Ours::Refund(refund.clone()));
                let theirs: Vec<&ProviderLine> = out.into_iter().chain(back).collect();
                self.tell(Kind::RefundMissingThere, worker, &refund.refund.to_string(), Some(ours), &theirs);
            }
        }
    }

    /// Disputes that are recorded and took no money.
    fn disputes(&mut self) {
        let day = self.day;
        for dispute in day.disputes.iter().filter(|dispute| day.has(dispute.opened)) {
            if self.line(Movement::Dispute, &dispute.provider_ref).is_none() {
                let (worker, ours) = ((Owner::Worker, Repair::QueryAgain), Ours::Dispute(dispute.clone()));
                self.tell(Kind::DisputeMissingThere, worker, &dispute.dispute.to_string(), Some(ours), &[]);
            }
        }
    }

    /// Tickets against the money of their orders.
    fn tickets(&mut self) {
        let day = self.day;
        // Money as far as anybody knows of it: recorded here, or a charge there.
        let pays = |attempt: &&OurAttempt| attempt.is_recorded() || self.charged.contains(&attempt.attempt);
        let with_money: BTreeSet<OrderId> = day.attempts.iter().filter(pays).map(|attempt| attempt.order).collect();
        for order in &day.orders {
            let has_money = order.total_minor == 0 || with_money.contains(&order.order);
            let paid = matches!(order.status, OrderStatus::Paid | OrderStatus::Fulfilled);
            let without = order.seats.difference(&order.tickets).next().is_some();
            let beyond = order.tickets.difference(&order.seats).next().is_some();
            let overdue = order.paid.is_some_and(|at| at.plus(ISSUE_GRACE_MS) <= day.as_of);
            let (kind, how) = if beyond || !(order.tickets.is_empty() || paid && has_money) {
                (Kind::IssuedNotPaid, (Owner::Operator, Repair::AskStaff))
            } else if paid && !has_money {
                (Kind::RecordedNotCaptured, (Owner::Finance, Repair::AskStaff))
            } else if paid && without && overdue {
                (Kind::PaidNotIssued, (Owner::Worker, Repair::Issue))
            } else {
                continue;
            };
            self.tell(kind, how, &order.order.to_string(), Some(Ours::Order(order.clone())), &[]);
        }
    }
}
