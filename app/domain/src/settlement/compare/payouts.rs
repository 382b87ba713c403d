//! Payouts of the provider to the bank: each is in the ledger once, and so is each that came back.

use super::Match;
use crate::settlement::{Kind, Movement, Ours, Owner, ProviderLine, Repair};

impl<'a> Match<'a> {
    /// A payout that left. One of nothing moves nothing.
    pub(super) fn payout(&mut self, line: &'a ProviderLine) {
        match self.payouts.get(line.id.as_str()).copied() {
            Some(payout) => {
                self.fits(line, payout.amount, || Ours::Payout(payout.clone()));
            }
            None if line.gross_minor != 0 => {
                self.tell(Kind::PayoutNotPosted, (Owner::Worker, Repair::Post), &line.key(), None, &[line]);
            }
            None => {}
        }
    }

    /// A payout that came back. It must have left before: what was never posted as gone can't return.
    pub(super) fn payout_failure(&mut self, line: &'a ProviderLine) {
        let worker = (Owner::Worker, Repair::Post);
        let left = self.line(Movement::Payout, &line.id);
        match (self.payouts.get(line.id.as_str()).copied(), left) {
            (Some(payout), _) => {
                let ours = || Ours::Payout(payout.clone());
                if self.fits(line, payout.amount, ours) && payout.failed.is_none() {
                    self.tell(Kind::PayoutNotPosted, worker, &line.key(), Some(ours()), &[line]);
                }
            }
            (None, Some(left)) if (left.currency, left.recorded_minor()) == (line.currency, line.recorded_minor()) => {
                if line.gross_minor != 0 {
                    self.tell(Kind::PayoutNotPosted, worker, &line.key(), None, &[line]);
                }
            }
            (None, left) => {
                let finance = (Owner::Finance, Repair::AskStaff);
                let theirs: Vec<&ProviderLine> = left.into_iter().chain([line]).collect();
                self.tell(Kind::PayoutNotPosted, finance, &line.key(), None, &theirs);
            }
        }
    }

    /// Payouts, and failures of them, that are posted and not listed.
    pub(super) fn payouts(&mut self) {
        let day = self.day;
        for payout in &day.payouts {
            let sides = [(Movement::Payout, Some(payout.at)), (Movement::PayoutFailure, payout.failed)];
            for (movement, posted) in sides {
                let today = posted.is_some_and(|at| day.has(at));
                if today && self.line(movement, &payout.payout).is_none() {
                    let subject = format!("{}:{}", movement.as_str(), payout.payout);
                    let finance = (Owner::Finance, Repair::AskStaff);
                    self.tell(Kind::PayoutMissingThere, finance, &subject, Some(Ours::Payout(payout.clone())), &[]);
                }
            }
        }
    }
}
