//! Seats into allocations and out of them: one change of Postgres and Redis.
//!
//! The row of the performance is locked while Redis is asked, so that changes of one performance come
//! one after the other, and a rebuild either comes first, and then Redis refuses, or reads what was
//! committed here. When the process dies between the two stores, Redis has moved seats of which
//! Postgres knows nothing: doing the same again makes both agree, and so does the reconciler.

use super::gone;
use crate::backend::Backend;
use crate::catalog::Sale;
use crate::error::{Error, Result, not_found, refuse};
use crate::organizer::Member;
use crate::organizer::blocking::name_seats;
use crate::postgres::allocations::{self as rows, AllocationRow, DueRow};
use crate::postgres::setbacks::{self, Job, LeftOut};
use crate::postgres::{audit_log, detached};
use crate::redis::ShortAnswer;
use domain::allocation::AllocationKind;
use domain::hold::ALLOCATIONS_MAX;
use domain::organizer::allocations::SEATS_AT_ONCE_MAX;
use domain::organizer::pricing::SeatSet;
use domain::{AccountId, AllocationId, Code, Millis, OrganizationId, Refusal, SeatNo};
use serde_json::{Value, json};
use sqlx::PgConnection;
use std::sync::Arc;
use std::time::Duration;

/// Longest wait for Redis inside of the transaction, far below the time after which Postgres ends it.
const REDIS_TIMEOUT: Duration = Duration::from_secs(4);

/// What is done with seats.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// Seats are kept under a new name.
    Create { name: String, kind: AllocationKind, release: Option<Millis>, seats: SeatSet },
    /// Further seats are kept.
    Add(SeatSet),
    /// Seats are kept no longer.
    Remove(SeatSet),
    /// All seats go on general sale, and the allocation ends.
    Release,
    /// The price level of these seats is sold out: they go on general sale.
    SoldOut(SeatSet),
}

/// Who does it.
#[derive(Clone, Debug)]
pub(crate) enum By {
    /// A member, or the command line.
    Member(Member),
    /// The schedule, for this organization.
    Schedule(OrganizationId),
}

impl By {
    fn of(&self) -> (OrganizationId, Option<AccountId>) {
        match self {
            Self::Member(member) => (member.organization, member.account),
            Self::Schedule(organization) => (*organization, None),
        }
    }
}

/// What is to be done in Redis, and how it is told.
struct Plan {
    number: u8,
    seats: Vec<SeatNo>,
    keep: bool,
    word: &'static str,
    detail: Value,
}

impl Backend {
    /// Moves seats, all or none, and writes down who did.
    pub(crate) async fn move_kept(
        self: &Arc<Self>,
        sale: &Arc<Sale>,
        id: AllocationId,
        change: Change,
        by: By,
    ) -> Result<()> {
        if let Change::Create { seats, .. } | Change::Add(seats) | Change::Remove(seats) = &change {
            check_seats(sale, seats)?;
        }
        let (this, of) = (Arc::clone(self), Arc::clone(sale));
        detached(async move { this.move_kept_now(&of, id, &change, &by).await }).await?;
        // This process shows it at once, all others within a second.
        self.reload_sale(sale.id()).await.map(drop)
    }

    async fn move_kept_now(&self, sale: &Sale, id: AllocationId, change: &Change, by: &By) -> Result<()> {
        let performance = sale.id();
        let mut tx = self.pg.begin().await?;
        let epoch = match by {
            By::Member(_) => match rows::begin_change(&mut *tx, performance).await? {
                Some(epoch) => epoch,
                None => return not_found("performance"),
            },
            // Somebody else is at it: this is tried again in a moment.
            By::Schedule(_) => match rows::begin_change_unless_busy(&mut *tx, performance).await? {
                Some(epoch) => epoch,
                None => return Ok(()),
            },
        };
        let Some(plan) = self.write_rows(&mut tx, sale, id, change, by).await? else { return Ok(()) };
        let ((organization, account), subject) = (by.of(), format!("performance {performance}"));
        audit_log::insert(&mut *tx, organization, account, plan.word, &subject, &plan.detail, self.now()).await?;
        // Dropping the transaction on any refusal takes the rows back.
        tokio::time::timeout(REDIS_TIMEOUT, self.move_kept_bytes(sale, epoch, &plan)).await.map_err(|_| {
            Refusal::new(Code::Unavailable, "the seats can't be reached right now; try the same again")
        })??;
        self.fault("between-allocating");
        tx.commit().await?;
        Ok(())
    }

    /// Writes the rows of a change; `None` when there is nothing left to do.
    async fn write_rows(
        &self,
        tx: &mut PgConnection,
        sale: &Sale,
        id: AllocationId,
        change: &Change,
        by: &By,
    ) -> Result<Option<Plan>> {
        let performance = sale.id();
        if let Change::Create { name, kind, release, seats } = change {
            let number = rows::free_number(&mut *tx, performance).await?.and_then(|number| u8::try_from(number).ok());
            let Some(number) = number else {
                let text = format!("at most {ALLOCATIONS_MAX} allocations keep seats at a time: release one first");
                return refuse(Code::WrongState, text);
            };
            let (name, kind, release) = (name.clone(), *kind, *release);
            let row = AllocationRow { id, number, name, kind, release, version: 1 };
            rows::insert(&mut *tx, performance, &row, self.now()).await?;
            keep_rows(tx, sale, id, seats).await?;
            let mut detail = told(&row, seats);
            detail["kind"] = json!(row.kind.as_str());
            detail["release_ms"] = json!(row.release.map(|at| at.0));
            return Ok(Some(Plan {
                number,
                seats: seats.list().to_vec(),
                keep: true,
                word: "allocation.create",
                detail,
            }));
        }
        let Some(row) = rows::one(&mut *tx, performance, id).await? else {
            // Released before: that is what was wanted.
            return if matches!(change, Change::Release | Change::SoldOut(_)) { Ok(None) } else { gone() };
        };
        let plan = |seats: &SeatSet, keep, word| Plan {
            number: row.number,
            seats: seats.list().to_vec(),
            keep,
            word,
            detail: told(&row, seats),
        };
        Ok(Some(match change {
            Change::Create { .. } => return gone(),
            Change::Add(seats) => {
                keep_rows(tx, sale, id, seats).await?;
                plan(seats, true, "allocation.add")
            }
            Change::Remove(seats) => {
                let has: SeatSet = rows::seats(&mut *tx, id).await?.into_iter().collect();
                let foreign: Vec<SeatNo> = seats.list().iter().copied().filter(|seat| !has.contains(*seat)).collect();
                if !foreign.is_empty() {
                    let text = format!("seats: not in this allocation: {}", name_seats(sale, &foreign));
                    return Err(Error::Refused(Refusal::new(Code::InvalidInput, text).with_seats(foreign)));
                }
                rows::delete_seats(&mut *tx, id, seats.list()).await?;
                plan(seats, false, "allocation.remove")
            }
            Change::Release => {
                // Looked at again, now that nobody else can move it to another instant.
                let scheduled = matches!(by, By::Schedule(_));
                if scheduled {
                    let now = rows::clock(&mut *tx).await?;
                    if row.release.is_none_or(|at| at > now) {
                        return Ok(None);
                    }
                }
                let seats: SeatSet = rows::seats(&mut *tx, id).await?.into_iter().collect();
                rows::release(&mut *tx, id).await?;
                plan(&seats, false, if scheduled { "allocation.due" } else { "allocation.release" })
            }
            Change::SoldOut(seats) => {
                rows::delete_seats(&mut *tx, id, seats.list()).await?;
                if rows::seats(&mut *tx, id).await?.is_empty() {
                    rows::release(&mut *tx, id).await?;
                }
                plan(seats, false, "allocation.soldout")
            }
        }))
    }

    async fn move_kept_bytes(&self, sale: &Sale, epoch: i64, plan: &Plan) -> Result<()> {
        for part in plan.seats.chunks(SEATS_AT_ONCE_MAX) {
            match self.seats.allocate(&sale.keys, epoch, part, plan.number, plan.keep).await? {
                ShortAnswer::Done | ShortAnswer::Again => {}
                ShortAnswer::Rebuilding => return crate::holds::rebuilding(),
                ShortAnswer::No(word, seats) => {
                    let code = if word == "unknown" { Code::UnknownSeat } else { Code::SeatTaken };
                    let text = format!("seats: held, sold or kept already: {}", name_seats(sale, &seats));
                    return Err(Error::Refused(Refusal::new(code, text).with_seats(seats)));
                }
            }
        }
        Ok(())
    }

    /// Releases what is due, by the database's clock: how many allocations were looked at.
    pub(crate) async fn release_due(self: &Arc<Self>, most: i64) -> Result<usize> {
        let due = rows::due(&self.pg, &self.kept_left_out(), most).await?;
        for row in &due {
            let released = self.release_one(row, Change::Release).await;
            self.note_release(row, released).await?;
        }
        Ok(due.len())
    }

    fn kept_left_out(&self) -> LeftOut {
        LeftOut { job: Job::KeptSeats, now: self.now(), sales: Vec::new() }
    }

    /// Releases accessible places whose price level is sold out on general sale.
    pub(crate) async fn release_sold_out(self: &Arc<Self>) -> Result<()> {
        for row in rows::accessible(&self.pg, &self.kept_left_out()).await? {
            let released = self.release_if_sold_out(&row).await;
            self.note_release(&row, released).await?;
        }
        Ok(())
    }

    async fn release_if_sold_out(self: &Arc<Self>, row: &DueRow) -> Result<bool> {
        let sale = self.sale(row.performance).await?;
        let Some(read) = self.seats.snapshot(&sale.keys, sale.row.epoch).await? else { return Ok(false) };
        let sold_out = super::sold_out::zones(&sale, &read.bytes);
        let seats: SeatSet = rows::seats(&self.pg, row.id)
            .await?
            .into_iter()
            .filter(|seat| sale.zone(*seat).is_some_and(|zone| sold_out.get(zone) == Some(&true)))
            .collect();
        if seats.is_empty() { Ok(false) } else { self.release_one(row, Change::SoldOut(seats)).await }
    }

    /// Releases one; `true`, so that earlier failures of it are forgotten.
    async fn release_one(self: &Arc<Self>, row: &DueRow, change: Change) -> Result<bool> {
        let sale = self.sale(row.performance).await?;
        self.move_kept(&sale, row.id, change, By::Schedule(row.organization)).await?;
        Ok(true)
    }

    /// One that can't be released now doesn't hold up the others: it is tried again in a moment, or, where it is at
    /// fault itself, after a pause.
    async fn note_release(&self, row: &DueRow, released: Result<bool>) -> Result<()> {
        let error = match released {
            Ok(false) => return Ok(()),
            Ok(true) => return Ok(setbacks::clear(&self.pg, Job::KeptSeats, &[row.id.0]).await?),
            Err(error) => error,
        };
        metrics::counter!("stararena_release_failures_total").increment(1);
        if error.is_outage_of_seats() {
            tracing::warn!(id = %row.id, error = &error as &dyn std::error::Error, "kept seats could not be released yet");
            return Ok(setbacks::put_off(&self.pg, Job::KeptSeats, row.id.0, self.now()).await?);
        }
        self.set_back(Job::KeptSeats, row.id.0, error).await
    }
}

fn check_seats(sale: &Sale, seats: &SeatSet) -> Result<()> {
    if seats.is_empty() || seats.len() > SEATS_AT_ONCE_MAX {
        return refuse(Code::InvalidInput, format!("seats: 1 to {SEATS_AT_ONCE_MAX} seats are expected at once"));
    }
    let unknown: Vec<SeatNo> = seats.list().iter().copied().filter(|s| s.0 >= sale.row.seat_count).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let text = format!("seats: there is no seat {} in this performance", domain::ids::join_seats(&unknown));
    Err(Error::Refused(Refusal::new(Code::UnknownSeat, text).with_seats(unknown)))
}

/// Puts seats into an allocation, unless another one has some of them.
async fn keep_rows(tx: &mut PgConnection, sale: &Sale, id: AllocationId, seats: &SeatSet) -> Result<()> {
    let elsewhere = rows::elsewhere(&mut *tx, sale.id(), id, seats.list()).await?;
    if !elsewhere.is_empty() {
        let text = format!("seats: kept in another allocation: {}", name_seats(sale, &elsewhere));
        return Err(Error::Refused(Refusal::new(Code::SeatTaken, text).with_seats(elsewhere)));
    }
    Ok(rows::insert_seats(tx, sale.id(), id, seats.list()).await?)
}

fn told(row: &AllocationRow, seats: &SeatSet) -> Value {
    json!({ "allocation": row.name, "seats": seats.len(), "numbers": seats })
}
