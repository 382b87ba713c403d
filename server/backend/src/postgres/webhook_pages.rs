//! What the pages of endpoints tell beyond their rows: how they are doing, and what a delivery says.

use domain::{EndpointId, Millis, OrganizationId};
use sqlx::{PgExecutor, Row as _};

/// How an endpoint is doing.
pub(crate) struct Doing {
    pub(crate) endpoint: EndpointId,
    /// Deliveries that have not ended.
    pub(crate) waiting: i64,
    /// When the last delivery ended, and how; none where none has.
    pub(crate) last: Option<(Millis, String)>,
}

/// How each endpoint of an organization is doing.
pub(crate) async fn doing(db: impl PgExecutor<'_>, organization: OrganizationId) -> sqlx::Result<Vec<Doing>> {
    sqlx::query(
        "select w.id, l.done_ms, l.outcome,
            (select count(*) from outbox o where o.endpoint_id = w.id and o.kind = 'webhook' and o.done_ms is null)
                as waiting
         from webhook_endpoints w
         left join lateral (
            select o.done_ms, o.outcome from outbox o
            where o.endpoint_id = w.id and o.kind = 'webhook' and o.done_ms is not null
            order by o.done_ms desc limit 1) l on true
         where w.organization_id = $1 and w.status <> 'removed'",
    )
    .bind(organization.0)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        let done: Option<i64> = row.try_get("done_ms")?;
        let outcome: Option<String> = row.try_get("outcome")?;
        Ok(Doing {
            endpoint: EndpointId(row.try_get("id")?),
            waiting: row.try_get("waiting")?,
            last: done.map(Millis).zip(outcome),
        })
    })
    .collect()
}

/// What a delivery to an organization's endpoint says; none where there is no such delivery.
pub(crate) async fn body(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    endpoint: EndpointId,
    outbox: i64,
) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar(
        "select e.body from outbox o join webhook_endpoints w on w.id = o.endpoint_id
         join webhook_events e on e.id = o.event_id
         where o.id = $1 and o.endpoint_id = $2 and w.organization_id = $3",
    )
    .bind(outbox)
    .bind(endpoint.0)
    .bind(organization.0)
    .fetch_optional(db)
    .await
}
