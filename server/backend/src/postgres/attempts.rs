//! Attempts to pay, whom organizations are paid through, and the quarantine.

use super::catalog::currency;
use super::readable;
use super::setbacks::LeftOut;
use domain::order::AttemptStatus;
use domain::{AttemptId, Currency, Millis, OrderId, OrganizationId, PerformanceId};
use serde_json::Value;
use sqlx::postgres::PgRow;
use sqlx::{PgExecutor, Row as _};

/// One attempt.
#[derive(Clone, Debug)]
pub(crate) struct AttemptRow {
    pub(crate) id: AttemptId,
    pub(crate) order: OrderId,
    pub(crate) number: i32,
    pub(crate) status: AttemptStatus,
    /// The provider that it was made with, whatever its organization has chosen since.
    pub(crate) provider: String,
    pub(crate) provider_ref: Option<String>,
    pub(crate) pay_url: Option<String>,
    pub(crate) amount_minor: i64,
    pub(crate) currency: Currency,
    pub(crate) last_error: Option<String>,
    pub(crate) deadline: Millis,
    /// How often the schedule has asked the provider about it: the number of the present round.
    pub(crate) queries: i32,
}

/// What an attempt `a` is whose money is not taken here: it may still bring money, or ended without. What was set
/// aside goes back from there, or went, and is no attempt's any more.
macro_rules! uncaptured {
    () => {
        "(a.status in ('created', 'open', 'authorized') or (a.status = 'canceled' and not exists (
            select 1 from payment_quarantine q where q.provider = a.provider and q.provider_ref = a.provider_ref
                and q.kind = 'payment' and coalesce(q.resolution, '') not in ('booked', 'nothing'))))"
    };
}

fn attempt(row: &PgRow) -> sqlx::Result<AttemptRow> {
    let text: String = row.try_get("status")?;
    Ok(AttemptRow {
        id: AttemptId(row.try_get("id")?),
        order: OrderId(row.try_get("order_id")?),
        number: row.try_get("number")?,
        status: AttemptStatus::parse(&text).ok_or_else(|| sqlx::Error::ColumnDecode {
            index: "status".to_owned(),
            source: format!("`{text}` is no status of an attempt").into(),
        })?,
        provider: row.try_get("provider")?,
        provider_ref: row.try_get("provider_ref")?,
        pay_url: row.try_get("pay_url")?,
        amount_minor: row.try_get("amount_minor")?,
        currency: currency(row, "currency")?,
        last_error: row.try_get("last_error")?,
        deadline: Millis(row.try_get("deadline_ms")?),
        queries: row.try_get("queries")?,
    })
}

/// One attempt.
pub(crate) async fn one(db: impl PgExecutor<'_>, id: AttemptId) -> sqlx::Result<Option<AttemptRow>> {
    sqlx::query("select * from attempts where id = $1")
        .bind(id.0)
        .fetch_optional(db)
        .await?
        .as_ref()
        .map(attempt)
        .transpose()
}

/// One attempt; nobody else changes it, or what goes back of it, until this transaction ends.
pub(crate) async fn lock(db: impl PgExecutor<'_>, id: AttemptId) -> sqlx::Result<Option<AttemptRow>> {
    sqlx::query("select * from attempts where id = $1 for update")
        .bind(id.0)
        .fetch_optional(db)
        .await?
        .as_ref()
        .map(attempt)
        .transpose()
}

/// A query of the attempt that an order was sold with. Captures without a right to seats are told by their refund,
/// and, since there is an account for them, by their posting, which another one follows where the money took its
/// seats after all.
macro_rules! of_sale {
    ($rest:literal) => {
        concat!(
            "select a.* from attempts a where a.order_id = $1 and a.status in ('captured', 'refunded')
                and not exists (select 1 from refunds r where r.attempt_id = a.id and r.cause = 'late_money')
                and (not exists (select 1 from ledger_entries l
                        where l.source = 'capture:' || a.id and l.account = 'order_receivable')
                    or exists (select 1 from ledger_entries l where l.source = 'reclaim:' || a.id))
             order by a.number limit 1",
            $rest
        )
    };
}

/// The attempt that an order was sold with, as it is.
pub(crate) async fn sale(db: impl PgExecutor<'_>, order: OrderId) -> sqlx::Result<Option<AttemptRow>> {
    sqlx::query(of_sale!("")).bind(order.0).fetch_optional(db).await?.as_ref().map(attempt).transpose()
}

/// [`sale`], locked as by [`lock`].
pub(crate) async fn lock_sale(db: impl PgExecutor<'_>, order: OrderId) -> sqlx::Result<Option<AttemptRow>> {
    sqlx::query(of_sale!(" for update of a")).bind(order.0).fetch_optional(db).await?.as_ref().map(attempt).transpose()
}

/// The attempts of an order, newest first.
pub(crate) async fn of_order(db: impl PgExecutor<'_>, order: OrderId) -> sqlx::Result<Vec<AttemptRow>> {
    sqlx::query("select * from attempts where order_id = $1 order by number desc")
        .bind(order.0)
        .fetch_all(db)
        .await?
        .iter()
        .map(attempt)
        .collect()
}

/// Starts an attempt; `false` when another one is open, or the number is taken.
pub(crate) async fn insert(
    db: impl PgExecutor<'_>,
    row: &AttemptRow,
    next_query: Millis,
    now: Millis,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "insert into attempts (id, order_id, number, status, provider, amount_minor, currency, created_ms, deadline_ms, next_query_ms)
         values ($1, $2, $3, 'created', $4, $5, $6, $7, $8, $9) on conflict do nothing",
    )
    .bind(row.id.0)
    .bind(row.order.0)
    .bind(row.number)
    .bind(&row.provider)
    .bind(row.amount_minor)
    .bind(row.currency.code())
    .bind(now.0)
    .bind(row.deadline.0)
    .bind(next_query.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Notes where the provider keeps this attempt; `false` when it has ended meanwhile, or is kept elsewhere.
pub(crate) async fn set_open(
    db: impl PgExecutor<'_>,
    id: AttemptId,
    provider_ref: &str,
    pay_url: &str,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update attempts set status = case when status = 'created' then 'open' else status end, provider_ref = $2, pay_url = $3
         where id = $1 and status in ('created', 'open', 'authorized') and (provider_ref is null or provider_ref = $2)",
    )
    .bind(id.0)
    .bind(provider_ref)
    .bind(pay_url)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Ends an open attempt without money; `false` when it is open no more. What its provider knows of is asked about
/// again from `ask` on.
pub(crate) async fn cancel(db: impl PgExecutor<'_>, id: AttemptId, ask: Millis) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update attempts set status = 'canceled', next_query_ms = $2,
            ended_queries = case when provider_ref is not null then 0 end
         where id = $1 and status in ('created', 'open', 'authorized')",
    )
    .bind(id.0)
    .bind(ask.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Ends an attempt of which no provider was told; another one is left to its schedule. Who claims an attempt may find
/// that of a click that came before: by then it is paid, perhaps.
pub(crate) async fn cancel_unopened(db: impl PgExecutor<'_>, id: AttemptId) -> sqlx::Result<()> {
    sqlx::query(
        "update attempts set status = 'canceled', ended_queries = null
         where id = $1 and status = 'created' and provider_ref is null",
    )
    .bind(id.0)
    .execute(db)
    .await?;
    Ok(())
}

/// Notes that the money of an attempt is taken, also when it had ended without; `false` when that was noted before,
/// or its money was set aside.
pub(crate) async fn set_captured(db: impl PgExecutor<'_>, id: AttemptId, now: Millis) -> sqlx::Result<bool> {
    let done = sqlx::query(concat!(
        "update attempts a set status = 'captured',
            late_money_ms = case when a.status = 'canceled' then coalesce(a.late_money_ms, $2) else a.late_money_ms end
         where a.id = $1 and ",
        uncaptured!()
    ))
    .bind(id.0)
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Whether another attempt of an order may still bring money.
pub(crate) async fn other_is_open(db: impl PgExecutor<'_>, order: OrderId, id: AttemptId) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "select exists (select 1 from attempts
            where order_id = $1 and id <> $2 and status in ('created', 'open', 'authorized'))",
    )
    .bind(order.0)
    .bind(id.0)
    .fetch_one(db)
    .await
}

/// An ended attempt of which Redis may not know yet that it is over; each is read by itself.
pub(crate) struct NotTakenBack {
    pub(crate) id: AttemptId,
    pub(crate) sale: PerformanceId,
    pub(crate) attempt: sqlx::Result<AttemptRow>,
}

/// Ended attempts of which Redis may not know yet that they are over, the oldest first: also those whose money was
/// taken after their end, and went back before Redis could be told.
pub(crate) async fn not_taken_back(
    db: impl PgExecutor<'_>,
    out: &LeftOut,
    most: i64,
) -> sqlx::Result<Vec<NotTakenBack>> {
    sqlx::query(
        "select a.*, o.performance_id from attempts a join orders o on o.id = a.order_id
         where a.taken_back_ms is null and (a.status = 'canceled' or a.late_money_ms is not null)
            and o.performance_id <> all($4) and not exists (select 1 from setbacks b
                where b.job = $2 and b.subject = a.id and b.next_try_ms > $3)
         order by a.created_ms limit $1",
    )
    .bind(most)
    .bind(out.job.as_str())
    .bind(out.now.0)
    .bind(&out.sales)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        Ok(NotTakenBack {
            id: AttemptId(row.try_get("id")?),
            sale: PerformanceId(row.try_get("performance_id")?),
            attempt: attempt(row),
        })
    })
    .collect()
}

/// Notes that Redis knows that an ended attempt is over.
pub(crate) async fn set_taken_back(db: impl PgExecutor<'_>, id: AttemptId, now: Millis) -> sqlx::Result<()> {
    sqlx::query(
        "update attempts set taken_back_ms = $2
         where id = $1 and taken_back_ms is null and (status = 'canceled' or late_money_ms is not null)",
    )
    .bind(id.0)
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(())
}

/// Whether an attempt may still bring money; it stays so until this transaction ends.
pub(crate) async fn hold_open(db: impl PgExecutor<'_>, id: AttemptId) -> sqlx::Result<bool> {
    let open: Option<i32> = sqlx::query_scalar(
        "select 1 from attempts where id = $1 and status in ('created', 'open', 'authorized') for update",
    )
    .bind(id.0)
    .fetch_optional(db)
    .await?;
    Ok(open.is_some())
}

/// Whether the money of an attempt is not taken here, whether it is open or has ended; it stays so until this
/// transaction ends.
pub(crate) async fn hold_uncaptured(db: impl PgExecutor<'_>, id: AttemptId) -> sqlx::Result<bool> {
    let found: Option<i32> =
        sqlx::query_scalar(concat!("select 1 from attempts a where a.id = $1 and ", uncaptured!(), " for update of a"))
            .bind(id.0)
            .fetch_optional(db)
            .await?;
    Ok(found.is_some())
}

/// Notes why the provider declined, for the fan.
pub(crate) async fn set_error(db: impl PgExecutor<'_>, id: AttemptId, error: Option<&str>) -> sqlx::Result<()> {
    sqlx::query("update attempts set last_error = $2 where id = $1 and last_error is distinct from $2")
        .bind(id.0)
        .bind(error)
        .execute(db)
        .await?;
    Ok(())
}

/// Takes attempts that are due for a question, and sets when each is due next.
pub(crate) async fn take_due(db: impl PgExecutor<'_>, now: Millis, most: i64) -> sqlx::Result<Vec<AttemptRow>> {
    sqlx::query(
        "with due as (
            select id from attempts where status in ('created', 'open', 'authorized') and next_query_ms <= $1
            order by next_query_ms limit $2 for update skip locked)
         update attempts a set queries = queries + 1,
            -- 1 s, 2 s, 4 s … at most 30 s apart.
            next_query_ms = $1 + least(30000, 1000 * (1 << least(queries, 5)))
         from due where a.id = due.id returning a.*",
    )
    .bind(now.0)
    .bind(most)
    .fetch_all(db)
    .await
    .map(|rows| readable("query", &rows, attempt))
}

/// Takes ended attempts that are due for a question, and sets when each is due next, should it not be answered.
pub(crate) async fn take_due_ended(db: impl PgExecutor<'_>, now: Millis, most: i64) -> sqlx::Result<Vec<AttemptRow>> {
    sqlx::query(
        "with due as (
            select id from attempts where status = 'canceled' and ended_queries is not null and next_query_ms <= $1
            order by next_query_ms limit $2 for update skip locked)
         update attempts a set queries = queries + 1,
            next_query_ms = $1 + least(60000, 1000 * (1 << least(queries, 6)))
         from due where a.id = due.id returning a.*",
    )
    .bind(now.0)
    .bind(most)
    .fetch_all(db)
    .await?
    .iter()
    .map(attempt)
    .collect()
}

/// Notes that the provider answered about an ended attempt: it is asked three times, the second time nine minutes
/// after the first, the third time fifty minutes after the second.
pub(crate) async fn asked_ended(db: impl PgExecutor<'_>, id: AttemptId, now: Millis) -> sqlx::Result<()> {
    sqlx::query(
        "update attempts set ended_queries = case when ended_queries < 2 then ended_queries + 1 end,
            next_query_ms = $2 + case ended_queries when 0 then 540000 else 3000000 end
         where id = $1 and status = 'canceled' and ended_queries is not null",
    )
    .bind(id.0)
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(())
}

/// Notes that the payment of an ended attempt is not over at the provider: it is asked about at `next` again,
/// whoever is interrupted meanwhile. With `money` that was taken it is noted when. Answers since when money is known,
/// or the present instant where none is; none where the attempt is settled, or, with `money`, that was set aside.
pub(crate) async fn note_late(
    db: impl PgExecutor<'_>,
    id: AttemptId,
    provider_ref: &str,
    money: bool,
    (now, next): (Millis, Millis),
) -> sqlx::Result<Option<Millis>> {
    let since: Option<i64> = sqlx::query_scalar(concat!(
        "update attempts a set provider_ref = coalesce(a.provider_ref, $2), ended_queries = coalesce(a.ended_queries, 2),
            next_query_ms = case when a.ended_queries is null then $4 else least(a.next_query_ms, $4) end,
            late_money_ms = case when $3 then coalesce(a.late_money_ms, $5) else a.late_money_ms end
         where a.id = $1 and a.status = 'canceled' and (not $3 or ",
        uncaptured!(),
        ") returning coalesce(a.late_money_ms, $5)"
    ))
    .bind(id.0)
    .bind(provider_ref)
    .bind(money)
    .bind(next.0)
    .bind(now.0)
    .fetch_optional(db)
    .await?;
    Ok(since.map(Millis))
}

/// Sets money aside that fits nothing we know; `false` when it was set aside before.
pub(crate) async fn quarantine(
    db: impl PgExecutor<'_>,
    provider: &str,
    provider_ref: &str,
    reason: &str,
    evidence: &Value,
    now: Millis,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "insert into payment_quarantine (provider, provider_ref, reason, evidence, created_ms) values ($1, $2, $3, $4, $5)
         on conflict (provider, provider_ref, reason) do nothing",
    )
    .bind(provider)
    .bind(provider_ref)
    .bind(reason)
    .bind(evidence)
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The provider through which a performance's organization is paid; none where there is no such performance.
pub(crate) async fn provider_of(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar(
        "select o.provider from performances p join events e on e.id = p.event_id
         join organizations o on o.id = e.organization_id where p.id = $1",
    )
    .bind(id.0)
    .fetch_optional(db)
    .await
}

/// Chooses the provider of an organization; `false` where there is no such organization.
pub(crate) async fn set_provider(db: impl PgExecutor<'_>, id: OrganizationId, provider: &str) -> sqlx::Result<bool> {
    let done = sqlx::query("update organizations set provider = $2 where id = $1")
        .bind(id.0)
        .bind(provider)
        .execute(db)
        .await?;
    Ok(done.rows_affected() == 1)
}
