//! What was set aside: how it goes back to the payer, or is settled another way. It is written by
//! `attempts::quarantine`.

use super::catalog::bad;
use super::outbox::storable;
use super::readable;
use domain::organizer::disputes::{SetAsideKind, SetAsideState};
use domain::{AttemptId, Currency, Millis, Money, OrderId, OrganizationId, RefundId};
use serde_json::Value;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, PgConnection, PgExecutor, Row as _};
use uuid::Uuid;

/// The attempt that a row `q` is about: the one that its evidence names, or whose payment it is.
const ATTEMPT: &str = "coalesce(
    case when q.evidence ->> 'attempt' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then (q.evidence ->> 'attempt')::uuid end,
    (select b.id from attempts b where b.provider = q.provider and b.provider_ref = q.provider_ref))";

/// A refund of what was set aside, as it is followed.
#[derive(Clone, Debug)]
pub(crate) struct Return {
    /// In the books.
    pub(crate) refund: RefundId,
    pub(crate) amount: Money,
    /// The provider's own id, once it is known.
    pub(crate) reference: Option<String>,
}

/// Money that is due to go back.
#[derive(Debug)]
pub(crate) struct DueRow {
    pub(crate) id: i64,
    pub(crate) provider: String,
    /// The payment there.
    pub(crate) payment: String,
    pub(crate) attempt: Option<AttemptId>,
    /// None as long as no call can have been made.
    pub(crate) returning: Option<Return>,
    /// How many refunds of it failed.
    pub(crate) failures: i32,
    /// How often it was taken, this time included.
    pub(crate) tries: i32,
}

fn money(row: &PgRow) -> sqlx::Result<Option<Money>> {
    let (minor, code): (Option<i64>, Option<String>) = (row.try_get("amount_minor")?, row.try_get("currency")?);
    let Some((minor, code)) = minor.zip(code) else { return Ok(None) };
    let currency: Currency = code.parse().map_err(|e| bad("currency", e))?;
    Ok(Some(Money::new(minor, currency)))
}

fn due(row: &PgRow) -> sqlx::Result<DueRow> {
    let refund: Option<Uuid> = row.try_get("refund_id")?;
    let reference = row.try_get("refund_ref")?;
    let returning =
        refund.zip(money(row)?).map(|(refund, amount)| Return { refund: RefundId(refund), amount, reference });
    Ok(DueRow {
        id: row.try_get("id")?,
        provider: row.try_get("provider")?,
        payment: row.try_get("provider_ref")?,
        attempt: row.try_get::<Option<Uuid>, _>("attempt_id")?.map(AttemptId),
        returning,
        failures: row.try_get("failures")?,
        tries: row.try_get("tries")?,
    })
}

/// Takes money whose time has come, or that somebody wants returned; until `lease` nobody else has it in hand.
/// What was set aside before `since` goes back. A payment that was set aside for several reasons is taken once.
pub(crate) async fn take_due(
    db: impl PgExecutor<'_>,
    now: Millis,
    (since, lease): (Millis, Millis),
    most: i64,
) -> sqlx::Result<Vec<DueRow>> {
    sqlx::query(AssertSqlSafe(format!(
        "with due as (
            select w.id from payment_quarantine w
            where w.resolved_ms is null and w.kind = 'payment' and w.next_try_ms <= $1
                and (w.created_ms <= $2 or w.asked_ms is not null or w.returning_ms is not null)
                and not exists (select 1 from payment_quarantine f
                    where f.provider = w.provider and f.provider_ref = w.provider_ref and f.kind = 'payment'
                        and f.resolved_ms is null and f.id < w.id)
            order by w.next_try_ms, w.id limit $3 for update skip locked)
         update payment_quarantine q set tries = q.tries + 1, next_try_ms = $4
         from due where q.id = due.id returning q.*, {ATTEMPT} as attempt_id"
    )))
    .bind(now.0)
    .bind(since.0)
    .bind(most)
    .bind(lease.0)
    .fetch_all(db)
    .await
    .map(|rows| readable("quarantine", &rows, due))
}

/// Begins to return money, and has it in hand until `lease`; `false` when it was settled, or begun, before.
pub(crate) async fn begin(
    db: impl PgExecutor<'_>,
    id: i64,
    (refund, amount): (RefundId, Money),
    now: Millis,
    lease: Millis,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update payment_quarantine set returning_ms = $2, refund_id = $3, amount_minor = $4, currency = $5, error = null,
            next_try_ms = $6
         where id = $1 and resolved_ms is null and returning_ms is null",
    )
    .bind(id)
    .bind(now.0)
    .bind(refund.0)
    .bind(amount.minor)
    .bind(amount.currency.code())
    .bind(lease.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Lets go of what was in hand, as it was when it was taken: it is due at `next`. Nothing where its refund began or
/// failed since: that has a time of its own.
pub(crate) async fn let_go(db: impl PgExecutor<'_>, row: &DueRow, next: Millis) -> sqlx::Result<()> {
    sqlx::query(
        "update payment_quarantine set next_try_ms = least(next_try_ms, $3)
         where id = $1 and refund_id is not distinct from $2::uuid and failures = $4 and resolved_ms is null",
    )
    .bind(row.id)
    .bind(row.returning.as_ref().map(|begun| begun.refund.0))
    .bind(next.0)
    .bind(row.failures)
    .execute(db)
    .await?;
    Ok(())
}

/// Notes that the provider has the refund.
pub(crate) async fn submitted(db: impl PgExecutor<'_>, id: i64, refund: RefundId, reference: &str) -> sqlx::Result<()> {
    sqlx::query(
        "update payment_quarantine set refund_ref = $3, error = null
         where id = $1 and refund_id = $2 and resolved_ms is null",
    )
    .bind(id)
    .bind(refund.0)
    .bind(reference)
    .execute(db)
    .await?;
    Ok(())
}

/// Takes a refund back that did not succeed: another one follows at `next`, unless people settle it before.
/// `false` when it is not under way any more.
pub(crate) async fn failed(
    db: impl PgExecutor<'_>,
    id: i64,
    refund: RefundId,
    error: &str,
    next: Millis,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update payment_quarantine set returning_ms = null, refund_id = null, refund_ref = null,
            failures = failures + 1, error = $3, next_try_ms = $4
         where id = $1 and refund_id = $2 and resolved_ms is null",
    )
    .bind(id)
    .bind(refund.0)
    .bind(storable(error))
    .bind(next.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The money that a provider's refund gives back, or gave back, from what was set aside: by the refund's id there,
/// or, where that is not noted yet, by the number of the row.
pub(crate) async fn of_refund(
    db: impl PgExecutor<'_>,
    provider: &str,
    reference: &str,
    number: Option<i64>,
) -> sqlx::Result<Option<DueRow>> {
    sqlx::query(AssertSqlSafe(format!(
        "select q.*, {ATTEMPT} as attempt_id from payment_quarantine q
         where q.provider = $1 and q.refund_id is not null
            and (q.refund_ref = $2 or (q.refund_ref is null and q.id = $3))
         order by q.refund_ref nulls last limit 1"
    )))
    .bind(provider)
    .bind(reference)
    .bind(number)
    .fetch_optional(db)
    .await?
    .as_ref()
    .map(due)
    .transpose()
}

/// Keeps a refund that failed, as the daily match knows it; nothing where the provider never had it.
pub(crate) async fn keep_failed(db: impl PgExecutor<'_>, id: i64, refund: RefundId, now: Millis) -> sqlx::Result<()> {
    sqlx::query(
        "insert into quarantine_refunds_failed
            (refund_id, quarantine_id, provider, provider_ref, amount_minor, currency, failed_ms)
         select refund_id, id, provider, refund_ref, amount_minor, currency, $3 from payment_quarantine
         where id = $1 and refund_id = $2 and refund_ref is not null
         on conflict do nothing",
    )
    .bind(id)
    .bind(refund.0)
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(())
}

/// Whether a provider's refund is one of money that was set aside which failed.
pub(crate) async fn has_failed(db: impl PgExecutor<'_>, provider: &str, reference: &str) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "select exists (select 1 from quarantine_refunds_failed where provider = $1 and provider_ref = $2)",
    )
    .bind(provider)
    .bind(reference)
    .fetch_one(db)
    .await
}

/// Takes a refund back that had succeeded: the money is with us and waits again, with all the reasons for which its
/// payment was set aside. Another refund follows at `next`, unless people settle it before. `false` when it is not
/// the one by which the money went.
pub(crate) async fn came_back(
    db: impl PgExecutor<'_>,
    id: i64,
    refund: RefundId,
    error: &str,
    next: Millis,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "with back as (
            update payment_quarantine set resolved_ms = null, resolution = null, note = null, returning_ms = null,
                refund_id = null, refund_ref = null, failures = failures + 1, error = $3, next_try_ms = $4
            where id = $1 and refund_id = $2 and resolution = 'returned'
            returning provider, provider_ref, kind),
         beside as (
            update payment_quarantine b set resolved_ms = null, resolution = null, note = null, error = $3 from back w
            where b.provider = w.provider and b.provider_ref = w.provider_ref and b.kind = w.kind and b.id <> $1
                and b.resolution = 'returned')
         select 1 from back",
    )
    .bind(id)
    .bind(refund.0)
    .bind(storable(error))
    .bind(next.0)
    .fetch_optional(db)
    .await?;
    Ok(done.is_some())
}

/// Keeps beside what was set aside of a payment that some of its money was given back at the provider, and how that
/// stands; `false` where nothing of it was set aside.
pub(crate) async fn note_refund(
    db: impl PgExecutor<'_>,
    provider: &str,
    payment: &str,
    refund: &str,
    words: &str,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update payment_quarantine set evidence = jsonb_set(evidence, '{refunds}',
            coalesce(evidence -> 'refunds', '{}'::jsonb) || jsonb_build_object($3::text, $4::text))
         where provider = $1 and provider_ref = $2",
    )
    .bind(provider)
    .bind(payment)
    .bind(refund)
    .bind(words)
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Has money wait again that was set aside for a reason, came to nothing, and was taken afterwards, with what is found
/// now; `false` where it waits already, or its payment was settled in another way.
pub(crate) async fn reopen(
    db: impl PgExecutor<'_>,
    provider: &str,
    payment: &str,
    reason: &str,
    evidence: &Value,
    now: Millis,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update payment_quarantine q set resolved_ms = null, resolution = null, note = null, created_ms = $5,
            next_try_ms = 0, evidence = q.evidence || $4
         where q.provider = $1 and q.provider_ref = $2 and q.reason = $3 and q.kind = 'payment'
            and q.resolution = 'nothing' and not exists (select 1 from payment_quarantine b
                where b.provider = q.provider and b.provider_ref = q.provider_ref and b.kind = q.kind
                    and b.resolution is distinct from 'nothing')",
    )
    .bind(provider)
    .bind(payment)
    .bind(reason)
    .bind(evidence)
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Whether a payment was set aside and none of it waits: people settled it, or it went back.
pub(crate) async fn is_settled(db: impl PgExecutor<'_>, provider: &str, payment: &str) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "select count(*) > 0
            and bool_and(resolved_ms is not null and coalesce(resolution, 'settled') in ('settled', 'returned'))
         from payment_quarantine where provider = $1 and provider_ref = $2 and kind = 'payment'",
    )
    .bind(provider)
    .bind(payment)
    .fetch_one(db)
    .await
}

/// Notes why the last try did not end it.
pub(crate) async fn note_error(db: impl PgExecutor<'_>, id: i64, error: &str) -> sqlx::Result<()> {
    sqlx::query("update payment_quarantine set error = $2 where id = $1 and resolved_ms is null")
        .bind(id)
        .bind(storable(error))
        .execute(db)
        .await?;
    Ok(())
}

/// Ends money that was set aside, with all the reasons for which the same payment was; `refund` is the one that
/// must be under way. `false` when it has ended, or something else is under way.
pub(crate) async fn end(
    db: impl PgExecutor<'_>,
    id: i64,
    refund: Option<RefundId>,
    (state, note): (SetAsideState, &str),
    now: Millis,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "with ended as (
            update payment_quarantine set resolved_ms = $3, resolution = $4, note = $5, error = null
            where id = $1 and refund_id is not distinct from $2::uuid and resolved_ms is null
            returning provider, provider_ref, kind),
         beside as (
            update payment_quarantine b set resolved_ms = $3, resolution = $4, note = $5, error = null from ended e
            where b.provider = e.provider and b.provider_ref = e.provider_ref and b.kind = e.kind and b.id <> $1
                and b.resolved_ms is null)
         select 1 from ended",
    )
    .bind(id)
    .bind(refund.map(|refund| refund.0))
    .bind(now.0)
    .bind(state.as_str())
    .bind(note)
    .fetch_optional(db)
    .await?;
    Ok(done.is_some())
}

/// Asks for the return of a payment's money now; `false` when it was asked for, is under way, or has ended.
pub(crate) async fn ask(db: impl PgExecutor<'_>, id: i64, now: Millis) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update payment_quarantine q set asked_ms = $2, next_try_ms = 0 from payment_quarantine w
         where w.id = $1 and q.provider = w.provider and q.provider_ref = w.provider_ref and q.kind = 'payment'
            and w.kind = 'payment' and q.resolved_ms is null and q.returning_ms is null and q.asked_ms is null",
    )
    .bind(id)
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Settles what was set aside another way; `false` when it has ended, or may be on its way back. The reasons for
/// which the same payment was set aside stand and fall together.
pub(crate) async fn settle(db: &mut PgConnection, id: i64, note: &str, now: Millis) -> sqlx::Result<bool> {
    // Locked in one order, as all who change several of them do.
    let rows = sqlx::query(
        "select q.id, q.returning_ms from payment_quarantine q join payment_quarantine w
            on w.provider = q.provider and w.provider_ref = q.provider_ref and w.kind = q.kind
         where w.id = $1 and q.resolved_ms is null order by q.id for update of q",
    )
    .bind(id)
    .fetch_all(&mut *db)
    .await?;
    let (mut ids, mut free) = (Vec::new(), true);
    for row in &rows {
        ids.push(row.try_get::<i64, _>("id")?);
        free &= row.try_get::<Option<i64>, _>("returning_ms")?.is_none();
    }
    if !free || !ids.contains(&id) {
        return Ok(false);
    }
    let done = sqlx::query(
        "update payment_quarantine set resolved_ms = $2, resolution = 'settled', note = $3
         where id = any($1) and resolved_ms is null and returning_ms is null",
    )
    .bind(&ids)
    .bind(now.0)
    .bind(storable(note))
    .execute(&mut *db)
    .await?;
    Ok(done.rows_affected() == ids.len() as u64)
}

/// How much waits for people or for its time.
pub(crate) async fn waiting(db: impl PgExecutor<'_>) -> sqlx::Result<i64> {
    sqlx::query_scalar("select count(*) from payment_quarantine where resolved_ms is null").fetch_one(db).await
}

/// Something that was set aside, with whom it concerns.
#[derive(Debug)]
pub(crate) struct SetAsideRow {
    pub(crate) id: i64,
    pub(crate) kind: SetAsideKind,
    pub(crate) state: SetAsideState,
    pub(crate) order: Option<OrderId>,
    pub(crate) organization: Option<OrganizationId>,
    /// The venue's, where there is an order.
    pub(crate) time_zone: Option<String>,
    pub(crate) provider: String,
    pub(crate) reference: String,
    pub(crate) reason: String,
    pub(crate) evidence: Value,
    pub(crate) amount: Option<Money>,
    pub(crate) created: Millis,
    pub(crate) resolved: Option<Millis>,
    pub(crate) note: Option<String>,
    pub(crate) error: Option<String>,
}

fn set_aside(row: &PgRow) -> sqlx::Result<SetAsideRow> {
    let instant = |column: &str| row.try_get::<Option<i64>, _>(column).map(|at| at.map(Millis));
    let (kind, ended): (String, Option<String>) = (row.try_get("kind")?, row.try_get("resolution")?);
    let resolved = instant("resolved_ms")?;
    let state = match (resolved, ended.as_deref().and_then(SetAsideState::parse)) {
        (Some(_), ended) => ended.unwrap_or(SetAsideState::Settled),
        (None, _) if instant("returning_ms")?.is_some() => SetAsideState::Returning,
        (None, _) if instant("asked_ms")?.is_some() => SetAsideState::Asked,
        (None, _) => SetAsideState::Waiting,
    };
    Ok(SetAsideRow {
        id: row.try_get("id")?,
        kind: SetAsideKind::parse(&kind).ok_or_else(|| bad("kind", format!("`{kind}` is no kind")))?,
        state,
        order: row.try_get::<Option<Uuid>, _>("order_id")?.map(OrderId),
        organization: row.try_get::<Option<Uuid>, _>("organization_id")?.map(OrganizationId),
        time_zone: row.try_get("time_zone")?,
        provider: row.try_get("provider")?,
        reference: row.try_get("provider_ref")?,
        reason: row.try_get("reason")?,
        evidence: row.try_get("evidence")?,
        amount: money(row)?,
        created: Millis(row.try_get("created_ms")?),
        resolved,
        note: row.try_get("note")?,
        error: row.try_get("error")?,
    })
}

/// Rows with whom they concern, as [`set_aside`] reads them.
fn with_order(filter: &str) -> AssertSqlSafe<String> {
    AssertSqlSafe(format!(
        "select q.*, o.id as order_id, e.organization_id, l.time_zone
         from payment_quarantine q left join attempts a on a.id = {ATTEMPT}
         left join orders o on o.id = a.order_id left join performances p on p.id = o.performance_id
         left join events e on e.id = p.event_id left join plans l on l.id = p.plan_id
         {filter}"
    ))
}

/// One of them.
pub(crate) async fn one(db: impl PgExecutor<'_>, id: i64) -> sqlx::Result<Option<SetAsideRow>> {
    sqlx::query(with_order("where q.id = $1")).bind(id).fetch_optional(db).await?.as_ref().map(set_aside).transpose()
}

/// Those of an organization's orders: what waits first, then the newest.
pub(crate) async fn listed(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    most: i64,
) -> sqlx::Result<Vec<SetAsideRow>> {
    let filter = "where e.organization_id = $1 order by (q.resolved_ms is null) desc, q.id desc limit $2";
    sqlx::query(with_order(filter)).bind(organization.0).bind(most).fetch_all(db).await?.iter().map(set_aside).collect()
}

/// Those that wait, the oldest first, or with those that ended as well.
pub(crate) async fn all(db: impl PgExecutor<'_>, ended: bool, most: i64) -> sqlx::Result<Vec<SetAsideRow>> {
    let filter = "where $1 or q.resolved_ms is null order by (q.resolved_ms is null) desc, q.id limit $2";
    sqlx::query(with_order(filter)).bind(ended).bind(most).fetch_all(db).await?.iter().map(set_aside).collect()
}
