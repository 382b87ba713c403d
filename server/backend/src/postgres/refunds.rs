//! Refunds: reserved in the transaction that asks for them, submitted afterwards, moved by the steps of their
//! machine alone.
//!
//! Who changes a refund has locked its attempt before ([`super::attempts::lock`]), so that what is left of a
//! payment is never counted while somebody else takes of it.

use super::catalog::{bad, currency};
use super::outbox::storable;
use super::readable;
use domain::ledger::{Origin, Shares};
use domain::money::fees::{Amounts, LineKind};
use domain::refund::policy::Part;
use domain::refund::{Cause, RefundOrigin, RefundStatus, Transition};
use domain::{AccountId, AttemptId, Millis, Money, OrderId, RefundId, SeatNo};
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{PgExecutor, Row as _};
use uuid::Uuid;

/// A refund.
#[derive(Clone, Debug)]
pub(crate) struct RefundRow {
    pub(crate) id: RefundId,
    pub(crate) order: OrderId,
    pub(crate) attempt: AttemptId,
    pub(crate) amount: Money,
    pub(crate) status: RefundStatus,
    pub(crate) cause: Cause,
    /// Who made it: what the provider's people gave back nobody here asked for.
    pub(crate) origin: RefundOrigin,
    pub(crate) note: String,
    /// The fan's account, or a member's; none for a rule.
    pub(crate) asked_by: Option<AccountId>,
    /// What of which line comes back.
    pub(crate) parts: Vec<Part>,
    /// The seats that are given back with it.
    pub(crate) seats: Vec<SeatNo>,
    pub(crate) failure: Option<String>,
    /// The refund by which it was tried again.
    pub(crate) retried_as: Option<RefundId>,
    /// Booked when it was reserved; else, as refunds were before, when it succeeds.
    pub(crate) reserved: bool,
    /// Whether its money was booked as late money.
    pub(crate) late: bool,
    pub(crate) created: Millis,
    /// The provider that took the money.
    pub(crate) provider: String,
    pub(crate) provider_ref: Option<String>,
    pub(crate) payment_ref: Option<String>,
}

impl RefundRow {
    /// From where its money is booked.
    pub(crate) fn booked_from(&self) -> Origin {
        if self.late {
            Origin::Late(self.amount.minor)
        } else {
            Origin::Sale(shares_of(self.parts.iter().map(|part| (part.kind, part.amounts)), self.amount.minor))
        }
    }

    /// Whether it failed and nothing followed.
    pub(crate) fn waits_for_staff(&self) -> bool {
        self.status == RefundStatus::Failed && self.retried_as.is_none() && self.cause != Cause::LateMoney
    }
}

/// Whose an amount is, by the lines that it is made of. What they don't tell is the organizer's.
pub(crate) fn shares_of(lines: impl IntoIterator<Item = (LineKind, Amounts)>, minor: i64) -> Shares {
    let shares = Shares::of(lines).unwrap_or_default();
    let told = shares.organizer_minor.saturating_add(shares.fees_minor).saturating_add(shares.tax_minor);
    if told > minor {
        return Shares::all_to_organizer(minor);
    }
    Shares { organizer_minor: shares.organizer_minor + (minor - told), ..shares }
}

/// Reads a seat's number as tables have it.
pub(crate) fn seat(number: i32) -> sqlx::Result<SeatNo> {
    u32::try_from(number).map(SeatNo).map_err(|e| bad("seat_no", e))
}

/// Seats as tables have them.
pub(crate) fn numbers(seats: &[SeatNo]) -> Vec<i32> {
    seats.iter().filter_map(|seat| i32::try_from(seat.0).ok()).collect()
}

/// Reads a row of a query that `select!` begins.
pub(crate) fn refund(row: &PgRow) -> sqlx::Result<RefundRow> {
    let (status, cause): (String, String) = (row.try_get("status")?, row.try_get("cause")?);
    let origin: String = row.try_get("origin")?;
    let seats: Vec<i32> = row.try_get("seats")?;
    Ok(RefundRow {
        id: RefundId(row.try_get("id")?),
        order: OrderId(row.try_get("of_order")?),
        attempt: AttemptId(row.try_get("attempt_id")?),
        amount: Money::new(row.try_get("amount_minor")?, currency(row, "currency")?),
        status: RefundStatus::parse(&status).ok_or_else(|| bad("status", &status))?,
        cause: Cause::parse(&cause).ok_or_else(|| bad("cause", &cause))?,
        origin: RefundOrigin::parse(&origin).ok_or_else(|| bad("origin", &origin))?,
        note: row.try_get("note")?,
        asked_by: row.try_get::<Option<Uuid>, _>("asked_by")?.map(AccountId),
        parts: row.try_get::<Json<Vec<Part>>, _>("parts")?.0,
        seats: seats.into_iter().map(seat).collect::<sqlx::Result<_>>()?,
        failure: row.try_get("failure")?,
        retried_as: row.try_get::<Option<Uuid>, _>("retried_as")?.map(RefundId),
        reserved: row.try_get::<i16, _>("books")? >= 2,
        late: row.try_get("late")?,
        created: Millis(row.try_get("created_ms")?),
        provider: row.try_get("provider")?,
        provider_ref: row.try_get("provider_ref")?,
        payment_ref: row.try_get("payment_ref")?,
    })
}

/// A query of refunds `r` with their attempts `a`, as [`refund`] reads them.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select r.*, a.order_id as of_order, a.provider, a.provider_ref as payment_ref
             from refunds r join attempts a on a.id = r.attempt_id ",
            $rest
        )
    };
}

/// One refund.
pub(crate) async fn one(db: impl PgExecutor<'_>, id: RefundId) -> sqlx::Result<Option<RefundRow>> {
    sqlx::query(select!("where r.id = $1")).bind(id.0).fetch_optional(db).await?.as_ref().map(refund).transpose()
}

/// The refunds of an order, the newest first.
pub(crate) async fn of_order(db: impl PgExecutor<'_>, order: OrderId) -> sqlx::Result<Vec<RefundRow>> {
    sqlx::query(select!("where a.order_id = $1 order by r.created_ms desc, r.id desc"))
        .bind(order.0)
        .fetch_all(db)
        .await?
        .iter()
        .map(refund)
        .collect()
}

/// The refunds of an attempt.
pub(crate) async fn of_attempt(db: impl PgExecutor<'_>, attempt: AttemptId) -> sqlx::Result<Vec<RefundRow>> {
    sqlx::query(select!("where r.attempt_id = $1 order by r.created_ms, r.id"))
        .bind(attempt.0)
        .fetch_all(db)
        .await?
        .iter()
        .map(refund)
        .collect()
}

/// The refund that a provider knows under this id.
pub(crate) async fn by_reference(
    db: impl PgExecutor<'_>,
    provider: &str,
    provider_ref: &str,
) -> sqlx::Result<Option<RefundRow>> {
    sqlx::query(select!("where a.provider = $1 and r.provider_ref = $2"))
        .bind(provider)
        .bind(provider_ref)
        .fetch_optional(db)
        .await?
        .as_ref()
        .map(refund)
        .transpose()
}

/// A refund to be written; it is requested, and booked so.
pub(crate) struct RefundInsert<'a> {
    pub(crate) id: RefundId,
    pub(crate) order: OrderId,
    pub(crate) attempt: AttemptId,
    pub(crate) amount: Money,
    pub(crate) cause: Cause,
    pub(crate) origin: RefundOrigin,
    pub(crate) note: &'a str,
    pub(crate) asked_by: Option<AccountId>,
    pub(crate) parts: &'a [Part],
    pub(crate) seats: &'a [SeatNo],
    pub(crate) late: bool,
    pub(crate) created: Millis,
}

/// Adds a refund. It is due when it is approved; the schedule of the version before never sees it.
pub(crate) async fn insert(db: impl PgExecutor<'_>, new: &RefundInsert<'_>) -> sqlx::Result<()> {
    sqlx::query(
        "insert into refunds (id, attempt_id, order_id, amount_minor, currency, reason, status, cause, note, asked_by,
            parts, seats, books, late, created_ms, next_try_ms, origin)
         values ($1, $2, $3, $4, $5, $6, 'requested', $7, $8, $9, $10, $11, 2, $12, $13, $14, $15)",
    )
    .bind(new.id.0)
    .bind(new.attempt.0)
    .bind(new.order.0)
    .bind(new.amount.minor)
    .bind(new.amount.currency.code())
    .bind(reason(new.cause))
    .bind(new.cause.as_str())
    .bind(storable(new.note))
    .bind(new.asked_by.map(|account| account.0))
    .bind(Json(new.parts))
    .bind(numbers(new.seats))
    .bind(new.late)
    .bind(new.created.0)
    .bind(i64::MAX)
    .bind(new.origin.as_str())
    .execute(db)
    .await?;
    Ok(())
}

/// Why money goes back, for those who read the table.
fn reason(cause: Cause) -> &'static str {
    match cause {
        Cause::Wish => "the fan gives seats back",
        Cause::Cancelled => "the performance was cancelled",
        Cause::Goodwill => "the staff decided so",
        Cause::LateMoney => "captured without seats",
    }
}

/// What a step notes beside the new status; what is none stays as it was.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Change<'a> {
    pub(crate) provider_ref: Option<&'a str>,
    pub(crate) failure: Option<&'a str>,
    pub(crate) note: Option<&'a str>,
    pub(crate) approved_by: Option<AccountId>,
    /// When it is submitted.
    pub(crate) due: Option<Millis>,
}

/// Takes a step of the machine; `false` when the refund is not in the state that is left.
pub(crate) async fn step(
    db: impl PgExecutor<'_>,
    id: RefundId,
    step: Transition,
    change: Change<'_>,
    now: Millis,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update refunds set status = $3, provider_ref = coalesce($4, provider_ref), failure = coalesce($5, failure),
            note = coalesce($6, note), approved_by = coalesce($7, approved_by), due_ms = coalesce($8, due_ms),
            decided_ms = case when $3 in ('approved', 'rejected') then $9 else decided_ms end
         where id = $1 and status = $2",
    )
    .bind(id.0)
    .bind(step.from.as_str())
    .bind(step.to.as_str())
    .bind(change.provider_ref)
    .bind(change.failure.map(storable))
    .bind(change.note.map(storable))
    .bind(change.approved_by.map(|account| account.0))
    .bind(change.due.map(|due| due.0))
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Takes refunds that are due, and sets when each is due again. Those that the version before wrote need no
/// approval.
pub(crate) async fn take_due(db: impl PgExecutor<'_>, now: Millis, most: i64) -> sqlx::Result<Vec<RefundRow>> {
    sqlx::query(
        "with due as (
            select id from refunds
            where (status in ('approved', 'submitted') and coalesce(due_ms, next_try_ms) <= $1)
               or (status = 'requested' and books = 1 and next_try_ms <= $1)
            order by coalesce(due_ms, next_try_ms) limit $2 for update skip locked)
         update refunds r set tries = tries + 1, due_ms = $1 + least(30000, 1000 * (1 << least(r.tries, 5)))
         from due, attempts a where r.id = due.id and a.id = r.attempt_id
         returning r.*, a.order_id as of_order, a.provider, a.provider_ref as payment_ref",
    )
    .bind(now.0)
    .bind(most)
    .fetch_all(db)
    .await
    .map(|rows| readable("refund", &rows, refund))
}

/// How many refunds of an attempt failed.
pub(crate) async fn failed(db: impl PgExecutor<'_>, attempt: AttemptId) -> sqlx::Result<i64> {
    sqlx::query_scalar("select count(*) from refunds where attempt_id = $1 and status = 'failed'")
        .bind(attempt.0)
        .fetch_one(db)
        .await
}

/// Notes by which refund a failed one is tried again; `false` when another one is noted, or it did not fail.
pub(crate) async fn set_retried(db: impl PgExecutor<'_>, failed: RefundId, again: RefundId) -> sqlx::Result<bool> {
    let done =
        sqlx::query("update refunds set retried_as = $2 where id = $1 and status = 'failed' and retried_as is null")
            .bind(failed.0)
            .bind(again.0)
            .execute(db)
            .await?;
    Ok(done.rows_affected() == 1)
}

/// Notes that all failed refunds of an attempt, of one cause, are tried again by one.
pub(crate) async fn set_all_retried(
    db: impl PgExecutor<'_>,
    attempt: AttemptId,
    cause: Cause,
    again: RefundId,
) -> sqlx::Result<()> {
    sqlx::query(
        "update refunds set retried_as = $3
         where attempt_id = $1 and cause = $2 and status = 'failed' and retried_as is null",
    )
    .bind(attempt.0)
    .bind(cause.as_str())
    .bind(again.0)
    .execute(db)
    .await?;
    Ok(())
}

/// Marks an attempt as refunded once all of its money went back.
pub(crate) async fn mark_attempt(db: impl PgExecutor<'_>, attempt: AttemptId) -> sqlx::Result<()> {
    sqlx::query(
        "update attempts set status = 'refunded' where id = $1 and status = 'captured' and amount_minor <= (
            select sum(amount_minor) from refunds where attempt_id = $1 and status = 'succeeded')",
    )
    .bind(attempt.0)
    .execute(db)
    .await?;
    Ok(())
}

/// An attempt whose refund came back is captured again.
pub(crate) async fn unmark_attempt(db: impl PgExecutor<'_>, attempt: AttemptId) -> sqlx::Result<()> {
    sqlx::query("update attempts set status = 'captured' where id = $1 and status = 'refunded'")
        .bind(attempt.0)
        .execute(db)
        .await?;
    Ok(())
}

pub(crate) use select;
