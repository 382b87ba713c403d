//! What members see of the daily match, and what they do about a difference.

use crate::backend::Backend;
use crate::catalog::zoned;
use crate::error::{Error, Result, not_found, refuse};
use crate::organizer::Member;
use crate::postgres::differences::{self, DifferenceRow};
use crate::postgres::{detached, settlement_days as days};
use domain::account::Session;
use domain::organizer::Action;
use domain::organizer::money::{
    DayState, DifferenceStatus, DifferenceView, MatchedDay, NOTE_MAX_CHARS, Reconciliation, What,
};
use domain::settlement::schedule::{DAY_MS, day_of};
use domain::{Code, DifferenceId, Millis, ZonedTime};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Days on the page.
const DAYS_SHOWN: i64 = 14;
/// Open differences on the page.
const OPEN_SHOWN: usize = 100;
/// Differences on the page that nobody has to see to any more.
const CLOSED_SHOWN: i64 = 30;

fn utc(at: Millis) -> Result<ZonedTime> {
    zoned(at, "UTC")
}

fn count(number: i64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl Backend {
    /// Days and differences of the organization.
    ///
    /// # Errors
    /// `not_found`, `forbidden`.
    pub async fn reconciliation(&self, session: &Session) -> Result<Reconciliation> {
        let member = self.member(session, Action::ReadMoney).await?;
        let organization = member.organization;
        let most = i64::try_from(OPEN_SHOWN + 1).unwrap_or(i64::MAX);
        let mut open = differences::of_organization(&self.pg, organization, true, most).await?;
        let more = open.len() > OPEN_SHOWN;
        open.truncate(OPEN_SHOWN);
        let closed = differences::of_organization(&self.pg, organization, false, CLOSED_SHOWN).await?;
        Ok(Reconciliation {
            days: self.matched_days(&member).await?,
            open: open.into_iter().map(view).collect::<Result<_>>()?,
            closed: closed.into_iter().map(view).collect::<Result<_>>()?,
            more,
        })
    }

    /// The last days, the newest first; those that were not matched yet as well.
    async fn matched_days(&self, member: &Member) -> Result<Vec<MatchedDay>> {
        let Some(provider) = days::provider_of(&self.pg, member.organization).await? else { return not_found("page") };
        let newest = day_of(self.now()).plus(-DAY_MS);
        let since = newest.plus(-(DAYS_SHOWN - 1) * DAY_MS);
        let rows = days::of_organization(&self.pg, member.organization, &provider, since, DAY_MS).await?;
        let known: BTreeSet<Millis> = rows.iter().filter(|row| row.provider == provider).map(|row| row.day).collect();
        let mut shown = Vec::new();
        for row in rows {
            let state = match (row.last_run, row.open) {
                (_, 1..) => DayState::Differences,
                (Some(_), _) => DayState::Matched,
                (None, _) => DayState::NotYet,
            };
            shown.push(MatchedDay {
                day: utc(row.day)?,
                provider: row.provider,
                state,
                lines: count(row.lines),
                open: count(row.open),
                matched: row.last_run.map(utc).transpose()?,
                failed: row.failed,
            });
        }
        if !known.contains(&newest) {
            shown.push(MatchedDay {
                day: utc(newest)?,
                provider,
                state: DayState::NotYet,
                lines: 0,
                open: 0,
                matched: None,
                failed: false,
            });
        }
        shown.sort_by(|a, b| (b.day.at, &a.provider).cmp(&(a.day.at, &b.provider)));
        Ok(shown)
    }

    /// Repairs a difference now, as far as the program can, and looks whether that helped.
    ///
    /// # Errors
    /// `not_found`, `forbidden`; `wrong_state` when it is not open any more; outages of the provider.
    pub async fn repair_difference(self: &Arc<Self>, session: &Session, id: DifferenceId) -> Result<()> {
        let member = self.member(session, Action::DecideMoney).await?;
        let this = Arc::clone(self);
        detached(async move {
            let row = this.open_difference(&member, id).await?;
            let subject = format!("difference {id}");
            let detail = json!({ "difference": row.key, "repair": row.repair.as_str() });
            this.record(&this.pg, &member, "difference.repair", &subject, &detail).await?;
            if row.kind.starts_with("stuck_") {
                this.sweep_money().await?;
                return Ok(());
            }
            this.try_repair(&row).await?;
            this.compare_day(&row.provider, row.day).await?;
            Ok(())
        })
        .await
    }

    /// Settles a difference by a member's word, which stays with it. It opens again when the provider shows
    /// something else.
    ///
    /// # Errors
    /// `not_found`, `forbidden`; `invalid_input` for a note that is missing or too long; `wrong_state` when it is
    /// not open any more.
    pub async fn settle_difference(self: &Arc<Self>, session: &Session, id: DifferenceId, note: &str) -> Result<()> {
        let member = self.member(session, Action::DecideMoney).await?;
        let row = self.open_difference(&member, id).await?;
        let note = note.trim().to_owned();
        if !(1..=NOTE_MAX_CHARS).contains(&note.chars().count()) {
            return refuse(Code::InvalidInput, format!("note: 1 to {NOTE_MAX_CHARS} characters are expected"));
        }
        let this = Arc::clone(self);
        detached(async move {
            let mut tx = this.pg.begin().await?;
            if !differences::settle(&mut *tx, id, member.account, &note, this.now()).await? {
                return closed();
            }
            let (subject, detail) = (format!("difference {id}"), json!({ "difference": row.key, "note": note }));
            this.record(&mut *tx, &member, "difference.settle", &subject, &detail).await?;
            Ok(tx.commit().await?)
        })
        .await
    }

    async fn open_difference(&self, member: &Member, id: DifferenceId) -> Result<DifferenceRow> {
        match differences::one(&self.pg, member.organization, id).await? {
            Some(row) if row.status == DifferenceStatus::Open => Ok(row),
            Some(_) => closed(),
            None => not_found("difference"),
        }
    }
}

fn closed<T>() -> Result<T> {
    refuse(Code::WrongState, "this difference is not open any more; look at the page again")
}

fn view(row: DifferenceRow) -> Result<DifferenceView> {
    let Some(what) = What::parse(&row.kind) else {
        return Err(Error::Broken(format!("difference {} has the kind `{}`", row.id, row.kind)));
    };
    Ok(DifferenceView {
        id: row.id,
        provider: row.provider,
        day: utc(row.day)?,
        what,
        owner: row.owner,
        repair: row.repair,
        status: row.status,
        ours: row.ours,
        theirs: row.theirs,
        order: row.order,
        first_seen: utc(row.first_seen)?,
        last_seen: utc(row.last_seen)?,
        tries: u32::try_from(row.tries).unwrap_or(0),
        error: row.error,
        note: row.note,
    })
}
