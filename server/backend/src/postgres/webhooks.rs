//! Webhooks: where organizations are told of events, what they are told, and every try to do so.
//!
//! Rows are locked in one order, endpoint first and then what waits for it, so that a failure that is noted and
//! an endpoint that is disabled never wait for each other.

use super::catalog::bad;
use crate::postgres::outbox::storable;
use crate::webhooks::{EndpointId, EndpointStatus, WebhookAttempt, WebhookDelivery, WebhookEndpoint, WebhookEvent};
use domain::{AccountId, Millis, OrganizationId};
use sqlx::postgres::PgRow;
use sqlx::{PgExecutor, Row as _};
use uuid::Uuid;

/// A statement that tells the enabled endpoints what `$changed` finds: organizations with data as JSON, of those
/// alone who are listening to events of kind `$2` (the CTE `listening`). Where nobody listens it does nothing.
macro_rules! tell {
    ($changed:literal) => {
        concat!(
            "with listening as (
                select distinct organization_id from webhook_endpoints where status = 'enabled' and $2 = any(kinds)),
             changed as (",
            $changed,
            "),
             told as (
                insert into webhook_events (id, organization_id, kind, body, created_ms)
                select gen_random_uuid(), c.organization_id, $2, json_build_object(
                    'type', $2, 'version', 1,
                    'timestamp', to_char(to_timestamp($3 / 1000.0) at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'),
                    'data', c.data)::text, $3
                from changed c returning id, organization_id)
             insert into outbox (kind, dedupe, payload, created_ms, next_try_ms, event_id, endpoint_id)
             select 'webhook', 'webhook:' || t.id || ':' || w.id, '{}'::jsonb, $3, $3, t.id, w.id
             from told t join webhook_endpoints w on w.organization_id = t.organization_id
                and w.status = 'enabled' and $2 = any(w.kinds)"
        )
    };
}

async fn tell(
    db: impl PgExecutor<'_>,
    statement: &'static str,
    event: WebhookEvent,
    ids: &[Uuid],
    now: Millis,
) -> sqlx::Result<()> {
    sqlx::query(statement).bind(ids).bind(event.as_str()).bind(now.0).execute(db).await?;
    Ok(())
}

/// Tells what happened to orders, as they are in this transaction.
pub(crate) async fn tell_orders(
    db: impl PgExecutor<'_>,
    event: WebhookEvent,
    orders: &[Uuid],
    now: Millis,
) -> sqlx::Result<()> {
    let statement = tell!(
        "select e.organization_id, json_build_object(
            'order', o.id, 'performance', o.performance_id, 'event', p.event_id, 'status', o.status,
            'currency', o.currency, 'total_minor', o.total_minor,
            'seats', coalesce((
                select json_agg(json_build_object('seat_no', i.seat_no, 'section', s.section, 'row', s.row_label,
                    'seat', s.seat_label, 'amount_minor', i.amount_minor,
                    'given_back', i.returned_ms is not null) order by i.seat_no)
                from order_items i join plan_seats s on s.plan_id = p.plan_id and s.seat_no = i.seat_no
                where i.order_id = o.id), '[]'::json)) as data
         from orders o join performances p on p.id = o.performance_id join events e on e.id = p.event_id
         join listening l on l.organization_id = e.organization_id
         where o.id = any($1)"
    );
    tell(db, statement, event, orders, now).await
}

/// Tells which tickets orders have got. Their codes are nobody's but the fan's.
pub(crate) async fn tell_tickets(db: impl PgExecutor<'_>, orders: &[Uuid], now: Millis) -> sqlx::Result<()> {
    let statement = tell!(
        "select e.organization_id, json_build_object(
            'order', o.id, 'performance', o.performance_id, 'event', p.event_id,
            'tickets', coalesce((
                select json_agg(json_build_object('ticket', t.id, 'seat_no', t.seat_no, 'section', s.section,
                    'row', s.row_label, 'seat', s.seat_label) order by t.seat_no)
                from tickets t join plan_seats s on s.plan_id = p.plan_id and s.seat_no = t.seat_no
                where t.order_id = o.id and t.revoked_ms is null), '[]'::json)) as data
         from orders o join performances p on p.id = o.performance_id join events e on e.id = p.event_id
         join listening l on l.organization_id = e.organization_id
         where o.id = any($1)"
    );
    tell(db, statement, WebhookEvent::TicketIssued, orders, now).await
}

/// Tells that the provider has given money back.
pub(crate) async fn tell_refund(db: impl PgExecutor<'_>, refund: Uuid, now: Millis) -> sqlx::Result<()> {
    let statement = tell!(
        "select e.organization_id, json_build_object(
            'refund', r.id, 'order', o.id, 'performance', o.performance_id, 'event', p.event_id,
            'currency', r.currency, 'amount_minor', r.amount_minor, 'cause', r.cause,
            'seats', to_json(r.seats)) as data
         from refunds r join attempts a on a.id = r.attempt_id join orders o on o.id = a.order_id
         join performances p on p.id = o.performance_id join events e on e.id = p.event_id
         join listening l on l.organization_id = e.organization_id
         where r.id = any($1)"
    );
    tell(db, statement, WebhookEvent::RefundSucceeded, &[refund], now).await
}

fn status(row: &PgRow) -> sqlx::Result<EndpointStatus> {
    let text: String = row.try_get("status")?;
    EndpointStatus::parse(&text).ok_or_else(|| bad("status", format!("`{text}` is no status of an endpoint")))
}

fn instant(row: &PgRow, column: &str) -> sqlx::Result<Option<Millis>> {
    Ok(row.try_get::<Option<i64>, _>(column)?.map(Millis))
}

/// Adds an endpoint.
pub(crate) async fn insert_endpoint(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    id: EndpointId,
    (url, events): (&str, &[WebhookEvent]),
    secret: &[u8],
    now: Millis,
) -> sqlx::Result<()> {
    let kinds: Vec<String> = events.iter().map(|event| event.as_str().to_owned()).collect();
    sqlx::query(
        "insert into webhook_endpoints (id, organization_id, url, kinds, secret, created_ms)
         values ($1, $2, $3, $4, $5, $6)",
    )
    .bind(id.0)
    .bind(organization.0)
    .bind(url)
    .bind(kinds)
    .bind(secret)
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(())
}

/// How many endpoints an organization has.
pub(crate) async fn count(db: impl PgExecutor<'_>, organization: OrganizationId) -> sqlx::Result<i64> {
    sqlx::query_scalar("select count(*) from webhook_endpoints where organization_id = $1 and status <> 'removed'")
        .bind(organization.0)
        .fetch_one(db)
        .await
}

/// The endpoints of an organization, in the order in which they were added.
pub(crate) async fn endpoints(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
) -> sqlx::Result<Vec<WebhookEndpoint>> {
    sqlx::query(
        "select id, url, kinds, status, reason, failing_since_ms, created_ms from webhook_endpoints
         where organization_id = $1 and status <> 'removed' order by created_ms, id",
    )
    .bind(organization.0)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        // A kind that a newer version knows is none that this one sends.
        let kinds: Vec<String> = row.try_get("kinds")?;
        Ok(WebhookEndpoint {
            id: EndpointId(row.try_get("id")?),
            url: row.try_get("url")?,
            events: kinds.iter().filter_map(|kind| WebhookEvent::parse(kind)).collect(),
            status: status(row)?,
            reason: row.try_get("reason")?,
            failing_since: instant(row, "failing_since_ms")?,
            created: Millis(row.try_get("created_ms")?),
        })
    })
    .collect()
}

/// The status of an organization's endpoint; it stays so until this transaction ends.
pub(crate) async fn hold_status(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    id: EndpointId,
) -> sqlx::Result<Option<EndpointStatus>> {
    sqlx::query("select status from webhook_endpoints where id = $1 and organization_id = $2 for no key update")
        .bind(id.0)
        .bind(organization.0)
        .fetch_optional(db)
        .await?
        .as_ref()
        .map(status)
        .transpose()
}

/// Moves an endpoint from one status to another; `false` when it is not in the first.
pub(crate) async fn set_status(
    db: impl PgExecutor<'_>,
    id: EndpointId,
    from: EndpointStatus,
    to: EndpointStatus,
    reason: Option<&str>,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update webhook_endpoints set status = $3, reason = $4, failing_since_ms = null where id = $1 and status = $2",
    )
    .bind(id.0)
    .bind(from.as_str())
    .bind(to.as_str())
    .bind(reason.map(storable))
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Gives up what waits for an endpoint.
pub(crate) async fn end_waiting(
    db: impl PgExecutor<'_>,
    id: EndpointId,
    reason: &str,
    now: Millis,
) -> sqlx::Result<u64> {
    let done = sqlx::query(
        "update outbox set done_ms = $2, outcome = 'given_up', error = $3, lease = null
         where endpoint_id = $1 and kind = 'webhook' and done_ms is null",
    )
    .bind(id.0)
    .bind(now.0)
    .bind(reason)
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}

/// Gives an endpoint a new secret; the one so far signs as well until then. `false` when there is no such endpoint.
pub(crate) async fn rotate(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    id: EndpointId,
    secret: &[u8],
    until: Millis,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update webhook_endpoints set old_secret = secret, old_until_ms = $4, secret = $3
         where id = $1 and organization_id = $2 and status <> 'removed'",
    )
    .bind(id.0)
    .bind(organization.0)
    .bind(secret)
    .bind(until.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// What is sent, and where.
pub(crate) struct DeliveryRow {
    pub(crate) endpoint: EndpointId,
    pub(crate) organization: OrganizationId,
    pub(crate) url: String,
    pub(crate) status: EndpointStatus,
    pub(crate) secret: Vec<u8>,
    pub(crate) old_secret: Option<Vec<u8>>,
    pub(crate) old_until: Option<Millis>,
    pub(crate) event: Uuid,
    pub(crate) body: String,
}

/// What a row of the outbox sends.
pub(crate) async fn delivery(db: impl PgExecutor<'_>, outbox: i64) -> sqlx::Result<Option<DeliveryRow>> {
    let row = sqlx::query(
        "select w.id, w.organization_id, w.url, w.status, w.secret, w.old_secret, w.old_until_ms, e.id as event, e.body
         from outbox o join webhook_endpoints w on w.id = o.endpoint_id join webhook_events e on e.id = o.event_id
         where o.id = $1",
    )
    .bind(outbox)
    .fetch_optional(db)
    .await?;
    row.map(|row| {
        Ok(DeliveryRow {
            endpoint: EndpointId(row.try_get("id")?),
            organization: OrganizationId(row.try_get("organization_id")?),
            url: row.try_get("url")?,
            status: status(&row)?,
            secret: row.try_get("secret")?,
            old_secret: row.try_get("old_secret")?,
            old_until: instant(&row, "old_until_ms")?,
            event: row.try_get("event")?,
            body: row.try_get("body")?,
        })
    })
    .transpose()
}

/// Notes that an endpoint works.
pub(crate) async fn set_working(db: impl PgExecutor<'_>, id: EndpointId) -> sqlx::Result<()> {
    sqlx::query("update webhook_endpoints set failing_since_ms = null where id = $1 and failing_since_ms is not null")
        .bind(id.0)
        .execute(db)
        .await?;
    Ok(())
}

/// Notes that an endpoint failed; answers since when it does.
pub(crate) async fn set_failing(db: impl PgExecutor<'_>, id: EndpointId, now: Millis) -> sqlx::Result<Millis> {
    sqlx::query_scalar(
        "update webhook_endpoints set failing_since_ms = coalesce(failing_since_ms, $2) where id = $1
         returning failing_since_ms",
    )
    .bind(id.0)
    .bind(now.0)
    .fetch_one(db)
    .await
    .map(Millis)
}

/// Adds a try to the log of deliveries.
pub(crate) async fn insert_attempt(db: impl PgExecutor<'_>, outbox: i64, attempt: &WebhookAttempt) -> sqlx::Result<()> {
    sqlx::query(
        "insert into webhook_attempts (outbox_id, at_ms, status, duration_ms, answer, error)
         values ($1, $2, $3, $4, $5, $6)",
    )
    .bind(outbox)
    .bind(attempt.at.0)
    .bind(attempt.status.map(i32::from))
    .bind(attempt.duration_ms)
    .bind(attempt.answer.replace('\0', ""))
    .bind(attempt.error.as_deref().map(storable))
    .execute(db)
    .await?;
    Ok(())
}

/// The tries of a delivery of an organization, in their order.
pub(crate) async fn attempts(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    outbox: i64,
) -> sqlx::Result<Vec<WebhookAttempt>> {
    sqlx::query(
        "select a.at_ms, a.status, a.duration_ms, a.answer, a.error from webhook_attempts a
         join outbox o on o.id = a.outbox_id join webhook_endpoints w on w.id = o.endpoint_id
         where a.outbox_id = $1 and w.organization_id = $2 order by a.id",
    )
    .bind(outbox)
    .bind(organization.0)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        let status: Option<i32> = row.try_get("status")?;
        Ok(WebhookAttempt {
            at: Millis(row.try_get("at_ms")?),
            status: status.map(u16::try_from).transpose().map_err(|e| bad("status", e.to_string()))?,
            duration_ms: row.try_get("duration_ms")?,
            answer: row.try_get("answer")?,
            error: row.try_get("error")?,
        })
    })
    .collect()
}

/// The deliveries of an organization's endpoint, newest first.
pub(crate) async fn deliveries(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    id: EndpointId,
    most: i64,
) -> sqlx::Result<Vec<WebhookDelivery>> {
    sqlx::query(
        "select o.id, o.event_id, e.kind, o.created_ms, o.done_ms, o.outcome, o.error, o.next_try_ms,
            (select count(*) from webhook_attempts a where a.outbox_id = o.id) as attempts
         from outbox o join webhook_endpoints w on w.id = o.endpoint_id join webhook_events e on e.id = o.event_id
         where o.endpoint_id = $1 and w.organization_id = $2 order by o.id desc limit $3",
    )
    .bind(id.0)
    .bind(organization.0)
    .bind(most)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        let done = instant(row, "done_ms")?;
        Ok(WebhookDelivery {
            id: row.try_get("id")?,
            message: crate::webhooks::message_id(row.try_get("event_id")?),
            event: row.try_get("kind")?,
            created: Millis(row.try_get("created_ms")?),
            outcome: row.try_get("outcome")?,
            error: row.try_get("error")?,
            next_try: done.is_none().then_some(Millis(row.try_get("next_try_ms")?)),
            done,
            attempts: row.try_get("attempts")?,
        })
    })
    .collect()
}

/// Sends again what has ended: one delivery, or all that were given up. Answers how many.
pub(crate) async fn redeliver(
    db: impl PgExecutor<'_>,
    id: EndpointId,
    delivery: Option<i64>,
    now: Millis,
) -> sqlx::Result<u64> {
    let done = sqlx::query(
        "update outbox set done_ms = null, outcome = null, error = null, lease = null, tries = 0, next_try_ms = $3
         where endpoint_id = $1 and kind = 'webhook' and done_ms is not null
            and (id = $2 or ($2 is null and outcome = 'given_up'))",
    )
    .bind(id.0)
    .bind(delivery)
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}

/// An owner as a mail needs it.
pub(crate) struct OwnerRow {
    pub(crate) account: AccountId,
    pub(crate) email: String,
    pub(crate) lang: String,
}

/// The owners of an organization.
pub(crate) async fn owners(db: impl PgExecutor<'_>, organization: OrganizationId) -> sqlx::Result<Vec<OwnerRow>> {
    sqlx::query(
        "select a.id, a.email, a.lang from members m join accounts a on a.id = m.account_id
         where m.organization_id = $1 and m.role = 'owner' order by a.id",
    )
    .bind(organization.0)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        Ok(OwnerRow {
            account: AccountId(row.try_get("id")?),
            email: row.try_get("email")?,
            lang: row.try_get("lang")?,
        })
    })
    .collect()
}

/// Forgets deliveries that ended before an instant, with their tries. Answers how many.
pub(crate) async fn forget_deliveries(db: impl PgExecutor<'_>, before: Millis, most: i64) -> sqlx::Result<u64> {
    let done = sqlx::query(
        "delete from outbox where id in (
            select id from outbox where kind = 'webhook' and done_ms is not null and done_ms < $1
            order by done_ms limit $2 for update skip locked)",
    )
    .bind(before.0)
    .bind(most)
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}

/// Forgets events from before an instant that no delivery needs any more. Answers how many.
pub(crate) async fn forget_events(db: impl PgExecutor<'_>, before: Millis, most: i64) -> sqlx::Result<u64> {
    let done = sqlx::query(
        "delete from webhook_events where id in (
            select e.id from webhook_events e
            where e.created_ms < $1 and not exists (select 1 from outbox o where o.event_id = e.id)
            order by e.created_ms limit $2)",
    )
    .bind(before.0)
    .bind(most)
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}
