//! What the program does about a difference. Each repair asks the provider or a job of ours and changes nothing
//! by its own judgement; what does not go away is handed to people with its evidence.

use super::chain;
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::payment::{PaymentProvider, ProviderState};
use crate::postgres::attempts::{self, AttemptRow};
use crate::postgres::differences::{self, DifferenceRow};
use crate::postgres::{ledger, settlement as rows};
use domain::ledger::Event;
use domain::order::AttemptStatus;
use domain::settlement::{Kind, Movement, OurAttempt, OurRefund, Ours, Owner, ProviderLine, Repair};
use domain::{Millis, Money};
use serde_json::json;
use std::sync::Arc;

/// Tries after which people have it: with the pauses between runs, an hour.
const TRIES_MAX: i32 = 6;

/// What a try came to.
enum Outcome {
    /// The program has done what it can; the next run sees whether it helped.
    Done,
    /// People decide, and this is why.
    Staff(String),
}

fn staff(why: impl Into<String>) -> Result<Outcome> {
    Ok(Outcome::Staff(why.into()))
}

impl Backend {
    /// Repairs what the program has of a day. One that fails holds up no other.
    pub(super) async fn repair_day(self: &Arc<Self>, provider: &str, day: Millis) -> Result<()> {
        for row in differences::of_day(&self.pg, provider, day).await? {
            // What people have may still be set aside by the program, once.
            let mine = row.owner == Owner::Worker || (row.repair == Repair::Quarantine && row.tries == 0);
            if mine {
                self.try_repair(&row).await?;
            }
        }
        Ok(())
    }

    /// Tries to repair a difference, and notes how that went.
    ///
    /// # Errors
    /// When the note can't be written; a repair that fails is noted.
    pub(super) async fn try_repair(self: &Arc<Self>, row: &DifferenceRow) -> Result<()> {
        self.fault("before-repair");
        let outcome = self.repair_as_it_says(row).await;
        self.fault("repair-done");
        let (error, to) = match outcome {
            Ok(Outcome::Done) if row.tries + 1 >= TRIES_MAX && row.owner == Owner::Worker => {
                (Some("it was repaired several times and is still there".to_owned()), Some(Owner::Finance))
            }
            Ok(Outcome::Done) => (None, None),
            Ok(Outcome::Staff(why)) => (Some(why), Some(people(row))),
            Err(error) => {
                let why = chain(&error);
                tracing::warn!(key = row.key, why, "a difference could not be repaired yet");
                (Some(why), (row.tries + 1 >= TRIES_MAX).then(|| people(row)))
            }
        };
        let to = to.filter(|_| row.owner == Owner::Worker);
        if to.is_some() {
            tracing::error!(
                provider = row.provider,
                key = row.key,
                why = error.as_deref().unwrap_or_default(),
                "a difference can't be repaired by the program: people decide"
            );
        }
        differences::tried(&self.pg, row.id, error.as_deref(), to).await?;
        self.fault("repair-noted");
        Ok(())
    }

    async fn repair_as_it_says(self: &Arc<Self>, row: &DifferenceRow) -> Result<Outcome> {
        let Some(kind) = Kind::parse(&row.kind) else { return staff("it stands still") };
        match row.repair {
            Repair::Import => self.import_line(row, kind).await,
            Repair::QueryAgain => self.query_again(row).await,
            Repair::Post if kind == Kind::PayoutNotPosted => self.post_payouts(row).await,
            Repair::Post => self.post_fees(row).await,
            Repair::Issue => {
                self.wake.issue.notify_one();
                self.issue_some().await?;
                Ok(Outcome::Done)
            }
            Repair::Quarantine => self.quarantine_line(row).await,
            Repair::AskStaff => Ok(Outcome::Done),
        }
    }

    /// Records here what the provider did by itself.
    async fn import_line(self: &Arc<Self>, row: &DifferenceRow, kind: Kind) -> Result<Outcome> {
        let Some(line) = row.theirs.first() else { return staff("no line of the provider says what to record") };
        match (kind, &row.ours) {
            (Kind::RefundUnknownHere, Some(Ours::Attempt(ours))) => {
                let mut attempt = self.attempt_of_ours(ours).await?;
                if attempt.status.is_open() {
                    // Its capture comes first.
                    self.settle(&attempt).await?;
                    attempt = self.attempt_of_ours(ours).await?;
                }
                let amount = Money::new(line.recorded_minor(), line.currency);
                if amount.minor <= 0 {
                    return staff("the provider's refund gives nothing back");
                }
                self.import_refund(&attempt, &line.id, amount, line.at).await?;
                Ok(Outcome::Done)
            }
            (Kind::DisputeUnknown, _) => {
                self.dispute_moved(self.provider_named(&row.provider)?, &line.id).await?;
                Ok(Outcome::Done)
            }
            _ => staff("it is not known what to record"),
        }
    }

    /// Asks the provider again, and lets those act on its answer who always do.
    async fn query_again(self: &Arc<Self>, row: &DifferenceRow) -> Result<Outcome> {
        let provider = self.provider_named(&row.provider)?;
        match (&row.ours, row.theirs.first()) {
            (Some(Ours::Attempt(ours)), line) => self.ask_about(provider, ours, line).await,
            (Some(Ours::Refund(OurRefund { provider_ref: Some(id), .. })), _) => {
                self.refund_moved(provider, id).await?;
                Ok(Outcome::Done)
            }
            (Some(Ours::Refund(refund)), _) => {
                // The call that was lost is made again under its key, and finds the refund.
                rows::hurry_refund(&self.pg, refund.refund, self.now()).await?;
                self.wake.query.notify_one();
                Ok(Outcome::Done)
            }
            (Some(Ours::Dispute(dispute)), _) => {
                self.dispute_moved(provider, &dispute.provider_ref).await?;
                Ok(Outcome::Done)
            }
            (None, Some(line)) if matches!(line.movement, Movement::Dispute | Movement::DisputeReversal) => {
                self.dispute_moved(provider, &line.id).await?;
                Ok(Outcome::Done)
            }
            (Some(Ours::Order(_) | Ours::Payout(_)) | None, _) => staff("there is nobody to ask"),
        }
    }

    async fn ask_about(
        self: &Arc<Self>,
        provider: &dyn PaymentProvider,
        ours: &OurAttempt,
        line: Option<&ProviderLine>,
    ) -> Result<Outcome> {
        let attempt = self.attempt_of_ours(ours).await?;
        if attempt.status.is_open() {
            self.settle(&attempt).await?;
            return Ok(Outcome::Done);
        }
        let known = attempt.provider_ref.clone().or_else(|| line.map(|line| line.payment.clone()));
        let Some(id) = known else { return staff("the provider has no payment of this attempt") };
        let state = provider.get(&id).await?.state;
        if state != ProviderState::Captured {
            return staff(format!("the provider says that payment {id} is {state:?}"));
        }
        if ours.is_recorded() {
            // Both agree: its line is late.
            return Ok(Outcome::Done);
        }
        // It ended here without money, and has it: settling decides whether the seats are still its own, and
        // gives the money back if they are not.
        self.settle_ended(&attempt, Some(&id)).await?;
        if self.attempt_of_ours(ours).await?.status == AttemptStatus::Canceled {
            return staff("its money was set aside");
        }
        Ok(Outcome::Done)
    }

    async fn attempt_of_ours(&self, ours: &OurAttempt) -> Result<AttemptRow> {
        let found = attempts::one(&self.pg, ours.attempt).await?;
        found.ok_or_else(|| Error::Broken(format!("there is no attempt {}", ours.attempt)))
    }

    /// Posts the fees of lines, each once by its key.
    async fn post_fees(&self, row: &DifferenceRow) -> Result<Outcome> {
        let now = self.now();
        let fee_of = |line: &ProviderLine| Event::ProviderFee {
            provider: row.provider.clone(),
            line: line.key(),
            amount: Money::new(line.fee_minor, line.currency),
        };
        let lines = row.theirs.iter().filter(|line| line.fee_minor != 0);
        self.post_lines(lines.map(|line| (fee_of(line), now)).collect()).await
    }

    /// Posts payouts that left or came back, each once by its id, at the provider's own time: a day is compared by it.
    async fn post_payouts(&self, row: &DifferenceRow) -> Result<Outcome> {
        let payout_of = |line: &ProviderLine| {
            let (provider, payout) = (row.provider.clone(), line.id.clone());
            let amount = Money::new(line.recorded_minor(), line.currency);
            match line.movement {
                Movement::Payout => Some((Event::ProviderPayout { provider, payout, amount }, line.at)),
                Movement::PayoutFailure => Some((Event::ProviderPayoutFailed { provider, payout, amount }, line.at)),
                _ => None,
            }
        };
        self.post_lines(row.theirs.iter().filter_map(payout_of).collect()).await
    }

    /// Posts what lines of a settlement stand for, each once by its source.
    async fn post_lines(&self, events: Vec<(Event, Millis)>) -> Result<Outcome> {
        let mut tx = self.pg.begin().await?;
        for (event, at) in &events {
            ledger::post(&mut tx, event, *at).await?;
        }
        self.fault("before-postings-commit");
        tx.commit().await?;
        self.fault("postings-made");
        Ok(Outcome::Done)
    }

    /// Keeps the evidence of a charge that nobody here knows, for people: other programs may use the same account,
    /// so that it doesn't go back by itself. What is recorded under another amount is left where it is: it may be
    /// the money of an order with tickets.
    async fn quarantine_line(&self, row: &DifferenceRow) -> Result<Outcome> {
        let charges = row.theirs.iter().filter(|line| line.movement == Movement::Charge);
        for line in charges.filter(|_| row.ours.is_none()) {
            let (reason, evidence) = ("settled for nobody", json!({ "line": line }));
            if attempts::quarantine(&self.pg, &row.provider, &line.payment, reason, &evidence, self.now()).await? {
                metrics::counter!("stararena_payments_quarantined_total").increment(1);
                tracing::error!(provider = row.provider, payment = line.payment, reason, "a charge was set aside");
            }
        }
        Ok(Outcome::Done)
    }
}

/// Who decides in place of the program: money is finance's, tickets are operators'.
fn people(row: &DifferenceRow) -> Owner {
    if row.repair == Repair::Issue { Owner::Operator } else { Owner::Finance }
}
