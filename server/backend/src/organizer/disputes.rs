//! The queue of finance: disputes, and money that was set aside.

use super::access::Member;
use crate::backend::Backend;
use crate::catalog::zoned;
use crate::error::{Error, Result, not_found, refuse};
use crate::postgres::detached;
use crate::postgres::disputes::{self, ListedRow};
use crate::postgres::quarantine::{self, SetAsideRow};
use domain::account::{Role, Session};
use domain::dispute::{SeatPolicy, tickets_of};
use domain::organizer::Action;
use domain::organizer::disputes::{
    DisputeDesk, DisputeView, SetAsideKind, SetAsideState, SetAsideView, read_note, read_policy,
};
use domain::organizer::members::flatten;
use domain::{Code, Millis, Money, OrderId};
use serde_json::{Value, json};
use sqlx::{PgConnection, PgExecutor};
use std::sync::Arc;

/// Disputes, and rows of money set aside, that one page shows: more than anybody works through in a day.
const ROWS_MAX: usize = 200;
/// Rows that a command lists.
const COMMAND_ROWS_MAX: i64 = 1_000;
/// The zone of times that belong to no venue.
const UTC: &str = "UTC";

/// Something that was set aside, as who runs commands on the machine sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAsideMoney {
    /// Its number.
    pub id: i64,
    /// What it is.
    pub kind: SetAsideKind,
    /// Where it stands.
    pub state: SetAsideState,
    /// The order that it is about, where it is about one of ours.
    pub order: Option<OrderId>,
    /// The provider.
    pub provider: String,
    /// Its id there.
    pub reference: String,
    /// Why it was set aside.
    pub reason: String,
    /// What goes back, once it was read.
    pub amount: Option<Money>,
    /// Since when it lies there.
    pub since: Millis,
    /// When it goes back by itself, where it does.
    pub returns: Option<Millis>,
    /// What was said about its end.
    pub note: Option<String>,
    /// Why the last try to return it did not succeed.
    pub error: Option<String>,
}

impl Backend {
    /// Disputes, what was set aside, and what becomes of seats.
    ///
    /// # Errors
    /// `not_found`, `forbidden`.
    pub async fn dispute_desk(&self, session: &Session) -> Result<DisputeDesk> {
        let member = self.member(session, Action::ReadMoney).await?;
        let most = i64::try_from(ROWS_MAX + 1).unwrap_or(i64::MAX);
        let mut found = disputes::listed(&self.pg, member.organization, most).await?;
        let mut set_aside = quarantine::listed(&self.pg, member.organization, most).await?;
        let left_out = found.len() > ROWS_MAX || set_aside.len() > ROWS_MAX;
        found.truncate(ROWS_MAX);
        set_aside.truncate(ROWS_MAX);
        let Some(policy) = disputes::policy_of(&self.pg, member.organization).await? else {
            return not_found("page");
        };
        Ok(DisputeDesk {
            disputes: found.into_iter().map(dispute_view).collect::<Result<_>>()?,
            set_aside: set_aside.into_iter().map(|row| self.set_aside_view(row)).collect::<Result<_>>()?,
            policy,
            left_out,
        })
    }

    /// Sets what becomes of the seats of a lost dispute; `seats` and `hours` as their form has them.
    ///
    /// # Errors
    /// `not_found`, `forbidden`; `invalid_input` names the field.
    pub async fn set_dispute_policy(self: &Arc<Self>, session: &Session, seats: &str, hours: &str) -> Result<()> {
        let member = self.member(session, Action::EditTerms).await?;
        let policy = read_policy(seats, hours)?;
        let this = Arc::clone(self);
        detached(async move {
            let mut tx = this.pg.begin().await?;
            if !disputes::set_policy(&mut *tx, member.organization, policy).await? {
                return not_found("organization");
            }
            let until_ms = match policy {
                SeatPolicy::Keep => None,
                SeatPolicy::Sell { until_before_start_ms } => Some(until_before_start_ms),
            };
            let (subject, detail) =
                (format!("organization {}", member.organization), json!({ "sell_until_before_start_ms": until_ms }));
            this.record(&mut *tx, &member, "dispute.seats", &subject, &detail).await?;
            Ok(tx.commit().await?)
        })
        .await
    }

    /// Returns money that was set aside now, rather than when its time comes.
    ///
    /// # Errors
    /// `not_found`, `forbidden`; `wrong_state` when it is on its way, has ended, or is no money.
    pub async fn return_set_aside(self: &Arc<Self>, session: &Session, id: i64) -> Result<()> {
        let member = self.member(session, Action::DecideMoney).await?;
        self.ask_return(Some(member), id).await
    }

    /// Says that what was set aside is settled another way, and how.
    ///
    /// # Errors
    /// `not_found`, `forbidden`; `invalid_input` for the note; `wrong_state` when it has ended, or may be on its
    /// way back.
    pub async fn settle_aside(self: &Arc<Self>, session: &Session, id: i64, note: &str) -> Result<()> {
        let member = self.member(session, Action::DecideMoney).await?;
        self.note_settled(Some(member), id, note).await
    }

    /// What was set aside, of all organizations and of none; with what has ended, or without. For who runs
    /// commands on the machine, as the two below.
    ///
    /// # Errors
    /// Outages only.
    pub async fn set_aside(&self, ended: bool) -> Result<Vec<SetAsideMoney>> {
        let rows = quarantine::all(&self.pg, ended, COMMAND_ROWS_MAX).await?;
        Ok(rows.into_iter().map(|row| self.set_aside_money(row)).collect())
    }

    /// Returns money that was set aside now, by command.
    ///
    /// # Errors
    /// As [`Self::return_set_aside`].
    pub async fn return_by_command(self: &Arc<Self>, id: i64) -> Result<()> {
        self.ask_return(None, id).await
    }

    /// Says that what was set aside is settled another way, by command.
    ///
    /// # Errors
    /// As [`Self::settle_aside`].
    pub async fn settle_by_command(self: &Arc<Self>, id: i64, note: &str) -> Result<()> {
        self.note_settled(None, id, note).await
    }

    async fn ask_return(self: &Arc<Self>, member: Option<Member>, id: i64) -> Result<()> {
        let this = Arc::clone(self);
        detached(async move {
            let mut tx = this.pg.begin().await?;
            let row = decidable(&mut *tx, member.as_ref(), id).await?;
            if row.kind != SetAsideKind::Payment {
                return refuse(Code::WrongState, "money: nothing was taken that could go back; look at the provider");
            }
            if !quarantine::ask(&mut *tx, id, this.now()).await? {
                return decided();
            }
            this.record_decision(&mut tx, member, &row, "quarantine.return", &json!({ "quarantine": id })).await?;
            tx.commit().await?;
            this.wake.query.notify_one();
            Ok(())
        })
        .await
    }

    async fn note_settled(self: &Arc<Self>, member: Option<Member>, id: i64, note: &str) -> Result<()> {
        let (this, note) = (Arc::clone(self), read_note(note)?.to_owned());
        detached(async move {
            let mut tx = this.pg.begin().await?;
            let row = decidable(&mut *tx, member.as_ref(), id).await?;
            if !quarantine::settle(&mut tx, id, &note, this.now()).await? {
                return decided();
            }
            let detail = json!({ "quarantine": id, "note": note });
            this.record_decision(&mut tx, member, &row, "quarantine.settle", &detail).await?;
            Ok(tx.commit().await?)
        })
        .await
    }

    /// Writes a decision down with the organization that it concerns; where it concerns none, the row itself
    /// says what was decided.
    async fn record_decision(
        &self,
        db: &mut PgConnection,
        member: Option<Member>,
        row: &SetAsideRow,
        action: &str,
        detail: &Value,
    ) -> Result<()> {
        let Some(organization) = row.organization else { return Ok(()) };
        let member = member.unwrap_or(Member { organization, account: None, role: Role::Owner });
        let subject = row.order.map_or_else(|| format!("quarantine {}", row.id), |order| format!("order {order}"));
        self.record(&mut *db, &member, action, &subject, detail).await
    }

    /// When money goes back by itself: none where it does not, or has.
    fn returns(&self, row: &SetAsideRow) -> Option<Millis> {
        (row.kind == SetAsideKind::Payment && !row.state.is_over())
            .then(|| row.created.plus(self.config.quarantine_refund_ms))
    }

    fn set_aside_view(&self, row: SetAsideRow) -> Result<SetAsideView> {
        let Some(order) = row.order else {
            return Err(Error::Broken(format!("row {} of what was set aside has no order", row.id)));
        };
        let zone = row.time_zone.as_deref().unwrap_or(UTC);
        Ok(SetAsideView {
            id: row.id,
            order,
            kind: row.kind,
            state: row.state,
            returns: self.returns(&row).map(|at| zoned(at, zone)).transpose()?,
            since: zoned(row.created, zone)?,
            resolved: row.resolved.map(|at| zoned(at, zone)).transpose()?,
            evidence: flatten(&row.evidence),
            amount: row.amount,
            provider: row.provider,
            reference: row.reference,
            reason: row.reason,
            note: row.note.filter(|note| !note.is_empty()),
            error: row.error,
        })
    }

    fn set_aside_money(&self, row: SetAsideRow) -> SetAsideMoney {
        SetAsideMoney {
            returns: self.returns(&row),
            id: row.id,
            kind: row.kind,
            state: row.state,
            order: row.order,
            provider: row.provider,
            reference: row.reference,
            reason: row.reason,
            amount: row.amount,
            since: row.created,
            note: row.note.filter(|note| !note.is_empty()),
            error: row.error,
        }
    }
}

/// What a member of its organization, or a command, may decide about.
async fn decidable(db: impl PgExecutor<'_>, member: Option<&Member>, id: i64) -> Result<SetAsideRow> {
    let row = quarantine::one(db, id).await?;
    let is_theirs = |row: &SetAsideRow| member.is_none_or(|member| row.organization == Some(member.organization));
    match row.filter(is_theirs) {
        Some(row) => Ok(row),
        None => not_found("money that was set aside"),
    }
}

fn decided<T>() -> Result<T> {
    refuse(Code::WrongState, "money: it is on its way back, or was decided before; look at the list again")
}

fn dispute_view(row: ListedRow) -> Result<DisputeView> {
    let zone = row.time_zone.as_str();
    Ok(DisputeView {
        id: row.id,
        order: row.order,
        event: format!("{} · {}", row.artist, row.title),
        amount: Money::new(row.amount_minor, row.currency),
        opened: zoned(row.opened, zone)?,
        ended: row.ended.map(|at| zoned(at, zone)).transpose()?,
        tickets: tickets_of(row.all),
        seats_sold: u32::try_from(row.seats_sold).unwrap_or(0),
        email: row.email,
        reason: row.reason,
        provider: row.provider,
        reference: row.reference,
        status: row.status,
    })
}
