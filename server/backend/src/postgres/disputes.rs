//! Disputes, what they make of an order, and what becomes of its seats.

use super::catalog::{bad, currency};
use crate::error::Result;
use domain::dispute::{DisputeStatus, SeatPolicy};
use domain::ledger::{Account, Shares};
use domain::{AttemptId, Currency, DisputeId, Millis, Money, OrderId, OrganizationId, PerformanceId};
use serde_json::Value;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, PgExecutor, Row as _};

fn status(row: &PgRow) -> sqlx::Result<DisputeStatus> {
    let text: String = row.try_get("status")?;
    DisputeStatus::parse(&text).ok_or_else(|| bad("status", format!("`{text}` is no status of a dispute")))
}

fn policy(until_ms: Option<i64>) -> SeatPolicy {
    until_ms.map_or(SeatPolicy::Keep, |until_before_start_ms| SeatPolicy::Sell { until_before_start_ms })
}

/// A dispute as it is followed.
#[derive(Clone, Debug)]
pub(crate) struct DisputeRow {
    pub(crate) id: DisputeId,
    pub(crate) status: DisputeStatus,
    pub(crate) amount: Money,
}

/// A dispute that is new here.
#[derive(Debug)]
pub(crate) struct NewDispute<'a> {
    pub(crate) id: DisputeId,
    pub(crate) provider: &'a str,
    pub(crate) reference: &'a str,
    pub(crate) attempt: AttemptId,
    pub(crate) order: OrderId,
    pub(crate) amount: Money,
    pub(crate) reason: &'a str,
    pub(crate) status: DisputeStatus,
    pub(crate) opened: Millis,
}

/// The dispute that a provider knows under this id.
pub(crate) async fn by_reference(
    db: impl PgExecutor<'_>,
    provider: &str,
    reference: &str,
) -> sqlx::Result<Option<DisputeRow>> {
    sqlx::query("select id, status, amount_minor, currency from disputes where provider = $1 and provider_ref = $2")
        .bind(provider)
        .bind(reference)
        .fetch_optional(db)
        .await?
        .as_ref()
        .map(|row| {
            Ok(DisputeRow {
                id: DisputeId(row.try_get("id")?),
                status: status(row)?,
                amount: Money::new(row.try_get("amount_minor")?, currency(row, "currency")?),
            })
        })
        .transpose()
}

/// Writes a dispute that is new here; `false` when it is known.
pub(crate) async fn insert(
    db: impl PgExecutor<'_>,
    new: &NewDispute<'_>,
    evidence: &Value,
    now: Millis,
) -> sqlx::Result<bool> {
    let ended = (new.status != DisputeStatus::Opened).then_some(now.0);
    let done = sqlx::query(
        "insert into disputes (id, provider, provider_ref, attempt_id, order_id, amount_minor, currency, reason, status,
            opened_ms, ended_ms, evidence)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, jsonb_build_array($12::jsonb))
         on conflict (provider, provider_ref) do nothing",
    )
    .bind(new.id.0)
    .bind(new.provider)
    .bind(new.reference)
    .bind(new.attempt.0)
    .bind(new.order.0)
    .bind(new.amount.minor)
    .bind(new.amount.currency.code())
    .bind(new.reason)
    .bind(new.status.as_str())
    .bind(new.opened.0)
    .bind(ended)
    .bind(evidence)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Ends an open dispute; `false` when it is not in the status that was left.
pub(crate) async fn end(
    db: impl PgExecutor<'_>,
    id: DisputeId,
    (from, to): (DisputeStatus, DisputeStatus),
    evidence: &Value,
    now: Millis,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update disputes set status = $3, ended_ms = $4, evidence = evidence || jsonb_build_array($5::jsonb)
         where id = $1 and status = $2",
    )
    .bind(id.0)
    .bind(from.as_str())
    .bind(to.as_str())
    .bind(now.0)
    .bind(evidence)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The disputes of an order's payments, and where they stand.
pub(crate) async fn of_order(db: impl PgExecutor<'_>, order: OrderId) -> sqlx::Result<Vec<(DisputeId, DisputeStatus)>> {
    sqlx::query("select id, status from disputes where order_id = $1 order by opened_ms, id")
        .bind(order.0)
        .fetch_all(db)
        .await?
        .iter()
        .map(|row| Ok((DisputeId(row.try_get("id")?), status(row)?)))
        .collect()
}

/// How much of a payment's money is away by disputes, open or lost, in minor units.
pub(crate) async fn disputed_minor(db: &mut PgConnection, attempt: AttemptId) -> Result<i64> {
    Ok(sqlx::query_scalar(
        "select coalesce(sum(amount_minor), 0)::bigint from disputes where attempt_id = $1 and status in ('opened', 'lost')",
    )
    .bind(attempt.0)
    .fetch_one(db)
    .await?)
}

/// Whose the money of a payment was when it was booked as a sale, and what each has of it now.
pub(crate) async fn shares_of(db: impl PgExecutor<'_>, attempt: AttemptId) -> sqlx::Result<(Shares, Shares)> {
    let rows = sqlx::query(
        "with sources as (
            select 'capture:' || $1::uuid as source, true as took
            union all select 'reclaim:' || $1::uuid, true
            union all select p.prefix || r.id, false from refunds r
                cross join (values ('refund-reserved:'), ('refund:'), ('refund-failed:'), ('refund-returned:')) as p (prefix)
                where r.attempt_id = $1::uuid
            union all select 'dispute-lost:' || d.id, false from disputes d where d.attempt_id = $1::uuid)
         select l.account, coalesce(-sum(l.amount_minor) filter (where s.took), 0)::bigint as taken,
            coalesce(-sum(l.amount_minor), 0)::bigint as remains
         from sources s join ledger_entries l on l.source = s.source
         where l.account in ('organizer_payable', 'service_fees', 'tax_payable') group by l.account",
    )
    .bind(attempt.0)
    .fetch_all(db)
    .await?;
    let (mut taken, mut left) = (Shares::default(), Shares::default());
    for row in &rows {
        let account: String = row.try_get("account")?;
        let (took, remains): (i64, i64) = (row.try_get("taken")?, row.try_get("remains")?);
        let (of_taken, of_left) = match Account::parse(&account) {
            Some(Account::OrganizerPayable) => (&mut taken.organizer_minor, &mut left.organizer_minor),
            Some(Account::ServiceFees) => (&mut taken.fees_minor, &mut left.fees_minor),
            Some(Account::TaxPayable) => (&mut taken.tax_minor, &mut left.tax_minor),
            _ => return Err(bad("account", format!("`{account}` has no share of a sale"))),
        };
        (*of_taken, *of_left) = (took, remains);
    }
    Ok((taken, left))
}

/// What becomes of the seats of a lost dispute of a performance, and when that begins.
pub(crate) async fn policy_of_performance(
    db: impl PgExecutor<'_>,
    performance: PerformanceId,
) -> sqlx::Result<Option<(SeatPolicy, Millis)>> {
    sqlx::query(
        "select o.dispute_sell_until_ms, p.starts_ms from performances p join events e on e.id = p.event_id
         join organizations o on o.id = e.organization_id where p.id = $1",
    )
    .bind(performance.0)
    .fetch_optional(db)
    .await?
    .as_ref()
    .map(|row| Ok((policy(row.try_get("dispute_sell_until_ms")?), Millis(row.try_get("starts_ms")?))))
    .transpose()
}

/// What becomes of the seats of an organization's lost disputes.
pub(crate) async fn policy_of(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
) -> sqlx::Result<Option<SeatPolicy>> {
    let row: Option<Option<i64>> = sqlx::query_scalar("select dispute_sell_until_ms from organizations where id = $1")
        .bind(organization.0)
        .fetch_optional(db)
        .await?;
    Ok(row.map(policy))
}

/// Sets what becomes of the seats of lost disputes; `false` where there is no such organization.
pub(crate) async fn set_policy(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    policy: SeatPolicy,
) -> sqlx::Result<bool> {
    let until = match policy {
        SeatPolicy::Keep => None,
        SeatPolicy::Sell { until_before_start_ms } => Some(until_before_start_ms),
    };
    let done = sqlx::query("update organizations set dispute_sell_until_ms = $2 where id = $1")
        .bind(organization.0)
        .bind(until)
        .execute(db)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Gives those seats of an order back to sale that it still has, and notes it at the dispute: how many there
/// were. Their items are marked as for a refund, by which a job tells Redis.
pub(crate) async fn return_seats(
    db: impl PgExecutor<'_>,
    dispute: DisputeId,
    order: OrderId,
    now: Millis,
) -> sqlx::Result<i64> {
    sqlx::query_scalar(
        "with marked as (
            update order_items set returned_ms = $3 where order_id = $2 and returned_ms is null returning order_id, seat_no),
         freed as (
            delete from seat_claims c using marked m where c.order_id = m.order_id and c.seat_no = m.seat_no),
         noted as (
            update disputes set seats_sold = (select count(*)::integer from marked) where id = $1)
         select count(*) from marked",
    )
    .bind(dispute.0)
    .bind(order.0)
    .bind(now.0)
    .fetch_one(db)
    .await
}

/// A dispute in the list of an organization.
#[derive(Debug)]
pub(crate) struct ListedRow {
    pub(crate) id: DisputeId,
    pub(crate) order: OrderId,
    pub(crate) email: String,
    pub(crate) artist: String,
    pub(crate) title: String,
    pub(crate) time_zone: String,
    pub(crate) amount_minor: i64,
    pub(crate) currency: Currency,
    pub(crate) reason: String,
    pub(crate) provider: String,
    pub(crate) reference: String,
    pub(crate) status: DisputeStatus,
    pub(crate) opened: Millis,
    pub(crate) ended: Option<Millis>,
    /// Where all disputes of the order stand.
    pub(crate) all: Vec<DisputeStatus>,
    pub(crate) seats_sold: i32,
}

/// The disputes of an organization, open ones first, then the newest.
pub(crate) async fn listed(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    most: i64,
) -> sqlx::Result<Vec<ListedRow>> {
    sqlx::query(
        "select d.*, a.email, e.artist, e.title, l.time_zone,
            array(select o2.status from disputes o2 where o2.order_id = d.order_id) as statuses
         from disputes d join orders o on o.id = d.order_id join accounts a on a.id = o.account_id
         join performances p on p.id = o.performance_id join events e on e.id = p.event_id
         join plans l on l.id = p.plan_id
         where e.organization_id = $1
         order by (d.status = 'opened') desc, d.opened_ms desc, d.id desc limit $2",
    )
    .bind(organization.0)
    .bind(most)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        let all: Vec<String> = row.try_get("statuses")?;
        Ok(ListedRow {
            id: DisputeId(row.try_get("id")?),
            order: OrderId(row.try_get("order_id")?),
            email: row.try_get("email")?,
            artist: row.try_get("artist")?,
            title: row.try_get("title")?,
            time_zone: row.try_get("time_zone")?,
            amount_minor: row.try_get("amount_minor")?,
            currency: currency(row, "currency")?,
            reason: row.try_get("reason")?,
            provider: row.try_get("provider")?,
            reference: row.try_get("provider_ref")?,
            status: status(row)?,
            opened: Millis(row.try_get("opened_ms")?),
            ended: row.try_get::<Option<i64>, _>("ended_ms")?.map(Millis),
            all: all.iter().filter_map(|text| DisputeStatus::parse(text)).collect(),
            seats_sold: row.try_get("seats_sold")?,
        })
    })
    .collect()
}
