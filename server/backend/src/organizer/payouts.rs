//! Payouts to the organization. Nothing here moves money: finance notes what was transferred, and the books follow.

use super::access::Member;
use crate::backend::Backend;
use crate::catalog::zoned;
use crate::error::{Result, not_found, refuse};
use crate::postgres::organizer_payouts::{self as rows, NewPayout, PayoutRow};
use crate::postgres::{detached, ledger};
use crate::settlement::{day_text, read_day};
use domain::account::Session;
use domain::ledger::Event;
use domain::organizer::Action;
use domain::organizer::payouts::{PayoutDesk, PayoutForm, PayoutView, Reversal, read_reason};
use domain::settlement::schedule::{DAY_MS, day_of};
use domain::{Code, Millis, Money, PayoutId};
use serde_json::json;
use std::sync::Arc;

/// Payouts on a page.
const PAGE_PAYOUTS: usize = 50;

impl Backend {
    /// What is owed, and payouts, the newest first; those older than `before`, where it is given.
    ///
    /// # Errors
    /// `not_found`, `forbidden`.
    pub async fn payout_desk(&self, session: &Session, before: Option<PayoutId>) -> Result<PayoutDesk> {
        let member = self.member(session, Action::ReadMoney).await?;
        self.payouts_of(&member, before).await
    }

    /// As [`Self::payout_desk`], by command.
    ///
    /// # Errors
    /// Outages only.
    pub async fn payouts_of(&self, member: &Member, before: Option<PayoutId>) -> Result<PayoutDesk> {
        let most = i64::try_from(PAGE_PAYOUTS + 1).unwrap_or(i64::MAX);
        let owed = rows::owed(&self.pg, member.organization).await?;
        let mut found = rows::page(&self.pg, member.organization, before, most).await?;
        let more = found.len() > PAGE_PAYOUTS;
        found.truncate(PAGE_PAYOUTS);
        let next = found.last().filter(|_| more).map(|row| row.id);
        Ok(PayoutDesk { owed, payouts: found.into_iter().map(view).collect::<Result<_>>()?, next })
    }

    /// Notes that an amount was transferred to the organization. Noted twice under one reference, it is there once:
    /// the answer is the payout of the first time.
    ///
    /// # Errors
    /// `not_found`, `forbidden`; `invalid_input` names the field, also where more is noted than is owed in the
    /// currency, and where the reference belongs to another transfer; `wrong_state` where its payout was reversed.
    pub async fn record_payout(self: &Arc<Self>, session: &Session, form: &PayoutForm) -> Result<PayoutId> {
        let member = self.member(session, Action::DecideMoney).await?;
        self.record_payout_for(&member, form).await
    }

    /// As [`Self::record_payout`], by command.
    ///
    /// # Errors
    /// As there.
    pub async fn record_payout_for(self: &Arc<Self>, member: &Member, form: &PayoutForm) -> Result<PayoutId> {
        let (amount, reference) = form.read()?;
        let day = read_day(form.day.trim())?;
        // East of Greenwich the bank's day begins earlier than that of UTC.
        if day > day_of(self.now()).plus(DAY_MS) {
            return refuse(Code::InvalidInput, "day: a transfer is noted when it was made, not before");
        }
        let (this, member, reference) = (Arc::clone(self), member.clone(), reference.to_owned());
        detached(async move {
            let mut tx = this.pg.begin().await?;
            rows::lock(&mut *tx, member.organization).await?;
            if let Some(known) = rows::by_reference(&mut *tx, member.organization, &reference).await? {
                return known_as(&known, amount, day);
            }
            let owed =
                Money::new(rows::owed_in(&mut *tx, member.organization, amount.currency).await?, amount.currency);
            if amount.minor > owed.minor {
                let most = Money::new(owed.minor.max(0), owed.currency);
                return refuse(Code::InvalidInput, format!("amount: at most {most} is owed by the books"));
            }
            let (id, now) = (PayoutId(uuid::Uuid::now_v7()), this.now());
            let new = NewPayout { id, reference: &reference, amount, day, by: member.account, now };
            rows::insert(&mut *tx, member.organization, &new).await?;
            let event = Event::OrganizerPayout { payout: id.to_string(), organization: member.organization, amount };
            ledger::post(&mut tx, &event, now).await?;
            let detail = json!({ "amount": amount.to_string(), "day": day_text(day)?, "reference": reference });
            this.record(&mut *tx, &member, "payout.record", &format!("payout {id}"), &detail).await?;
            tx.commit().await?;
            Ok(id)
        })
        .await
    }

    /// Reverses a payout that did not happen, came back, or was noted wrongly. It stays in the list, with the reason;
    /// its amount is owed again.
    ///
    /// # Errors
    /// `not_found` for another organization's; `forbidden`; `invalid_input` for the reason; `wrong_state` when it was
    /// reversed.
    pub async fn reverse_payout(self: &Arc<Self>, session: &Session, id: PayoutId, reason: &str) -> Result<()> {
        let member = self.member(session, Action::DecideMoney).await?;
        self.reverse_payout_for(&member, id, reason).await
    }

    /// As [`Self::reverse_payout`], by command.
    ///
    /// # Errors
    /// As there.
    pub async fn reverse_payout_for(self: &Arc<Self>, member: &Member, id: PayoutId, reason: &str) -> Result<()> {
        let (this, member) = (Arc::clone(self), member.clone());
        // Whether it is there is told first: of somebody else's nothing is.
        let reason = reason.to_owned();
        detached(async move {
            let mut tx = this.pg.begin().await?;
            let Some(row) = rows::one(&mut *tx, member.organization, id).await? else { return not_found("payout") };
            let (reason, now) = (read_reason(&reason)?, this.now());
            if !rows::reverse(&mut *tx, id, member.account, reason, now).await? {
                return refuse(Code::WrongState, "this payout was reversed before; look at the list again");
            }
            let event = Event::OrganizerPayoutReversed {
                payout: id.to_string(),
                organization: member.organization,
                amount: row.amount,
            };
            ledger::post(&mut tx, &event, now).await?;
            let detail = json!({ "amount": row.amount.to_string(), "reference": row.reference, "reason": reason });
            this.record(&mut *tx, &member, "payout.reverse", &format!("payout {id}"), &detail).await?;
            Ok(tx.commit().await?)
        })
        .await
    }
}

/// The answer where a reference is known already.
fn known_as(known: &PayoutRow, amount: Money, day: Millis) -> Result<PayoutId> {
    if known.reversed.is_some() {
        return refuse(Code::WrongState, "the payout of this reference was reversed; note the new one under another");
    }
    if (known.amount, known.day) != (amount, day) {
        return refuse(Code::InvalidInput, "reference: another transfer is noted under it, with another amount or day");
    }
    Ok(known.id)
}

fn view(row: PayoutRow) -> Result<PayoutView> {
    let reversed = match row.reversed {
        Some((at, reason)) => Some(Reversal { at: zoned(at, "UTC")?, by: row.reversed_by, reason }),
        None => None,
    };
    Ok(PayoutView {
        id: row.id,
        amount: row.amount,
        day: zoned(row.day, "UTC")?,
        reference: row.reference,
        recorded: zoned(row.recorded, "UTC")?,
        recorded_by: row.recorded_by,
        reversed,
    })
}
