//! Refunds as the staff of an organization sees them.

use super::refunds::{RefundRow, refund, select};
use domain::refund::view::RefundFilter;
use domain::{AccountId, Millis, OrganizationId};
use sqlx::{PgExecutor, Row as _};

/// A refund with what people need to know of its order.
pub(crate) struct ListedRefund {
    pub(crate) refund: RefundRow,
    /// The order's account.
    pub(crate) owner: AccountId,
    pub(crate) email: String,
    pub(crate) artist: String,
    pub(crate) event: String,
    pub(crate) starts: Millis,
    pub(crate) time_zone: String,
    /// Address of who asked.
    pub(crate) asked_by: Option<String>,
}

/// Refunds of an organization, the newest first.
pub(crate) async fn page(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    filter: &RefundFilter,
    most: i64,
) -> sqlx::Result<Vec<ListedRefund>> {
    sqlx::query(
        "with found as (
            select r.id, o.account_id, e.artist, e.title, p.starts_ms, l.time_zone
            from refunds r join attempts a on a.id = r.attempt_id join orders o on o.id = a.order_id
            join performances p on p.id = o.performance_id join events e on e.id = p.event_id
            join plans l on l.id = p.plan_id
            where e.organization_id = $1 and ($2::text is null or r.status = $2)
                and ($3::uuid is null or o.performance_id = $3)
                and ($4::uuid is null or (r.created_ms, r.id) < (select b.created_ms, b.id from refunds b where b.id = $4))
            order by r.created_ms desc, r.id desc limit $5)
         select r.*, a.order_id as of_order, a.provider, a.provider_ref as payment_ref,
            f.account_id as owner, f.artist, f.title, f.starts_ms, f.time_zone, w.email, m.email as asked_email
         from found f join refunds r on r.id = f.id join attempts a on a.id = r.attempt_id
         join accounts w on w.id = f.account_id left join accounts m on m.id = r.asked_by
         order by r.created_ms desc, r.id desc",
    )
    .bind(organization.0)
    .bind(filter.status.map(domain::refund::RefundStatus::as_str))
    .bind(filter.performance.map(|id| id.0))
    .bind(filter.before.map(|id| id.0))
    .bind(most)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        Ok(ListedRefund {
            refund: refund(row)?,
            owner: AccountId(row.try_get("owner")?),
            email: row.try_get("email")?,
            artist: row.try_get("artist")?,
            event: row.try_get("title")?,
            starts: Millis(row.try_get("starts_ms")?),
            time_zone: row.try_get("time_zone")?,
            asked_by: row.try_get("asked_email")?,
        })
    })
    .collect()
}

/// How many refunds of an organization wait for a decision, and how many failed and were not tried again. Late
/// money is tried again by itself.
pub(crate) async fn counts(db: impl PgExecutor<'_>, organization: OrganizationId) -> sqlx::Result<(i64, i64)> {
    let row = sqlx::query(
        "select count(*) filter (where r.status = 'requested') as waiting,
            count(*) filter (where r.status = 'failed') as failed
         from refunds r join attempts a on a.id = r.attempt_id join orders o on o.id = a.order_id
         join performances p on p.id = o.performance_id join events e on e.id = p.event_id
         where e.organization_id = $1 and (r.status = 'requested' or (r.status = 'failed'
            and r.retried_as is null and r.cause <> 'late_money'))",
    )
    .bind(organization.0)
    .fetch_one(db)
    .await?;
    Ok((row.try_get("waiting")?, row.try_get("failed")?))
}

/// A refund of an organization; none for another's.
pub(crate) async fn own(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    id: domain::RefundId,
) -> sqlx::Result<Option<RefundRow>> {
    sqlx::query(select!(
        "join orders o on o.id = a.order_id join performances p on p.id = o.performance_id
         join events e on e.id = p.event_id where r.id = $1 and e.organization_id = $2"
    ))
    .bind(id.0)
    .bind(organization.0)
    .fetch_optional(db)
    .await?
    .as_ref()
    .map(refund)
    .transpose()
}
