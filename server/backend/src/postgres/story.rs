//! One order with all that was written about it, read in one snapshot.

use super::catalog::{bad, currency};
use super::orders::status;
use domain::account::Role;
use domain::order::{AttemptStatus, OrderStatus};
use domain::{AttemptId, Currency, Millis, OrderId, OrganizationId, PerformanceId, RefundId, SeatNo, TicketId};
use serde_json::Value;
use sqlx::postgres::PgRow;
use sqlx::{PgExecutor, Row as _};

fn instant(row: &PgRow, column: &str) -> sqlx::Result<Option<Millis>> {
    Ok(row.try_get::<Option<i64>, _>(column)?.map(Millis))
}

/// The order itself.
pub(crate) struct HeadRow {
    pub(crate) id: OrderId,
    pub(crate) status: OrderStatus,
    pub(crate) email: String,
    pub(crate) role: Option<Role>,
    pub(crate) performance: PerformanceId,
    pub(crate) artist: String,
    pub(crate) event: String,
    pub(crate) venue: String,
    pub(crate) time_zone: String,
    pub(crate) starts: Millis,
    pub(crate) currency: Currency,
    pub(crate) total_minor: i64,
    pub(crate) created: Millis,
    pub(crate) expires: Millis,
    pub(crate) paid: Option<Millis>,
    pub(crate) confirmed: Option<Millis>,
    pub(crate) released: Option<Millis>,
}

/// An order of this organization.
pub(crate) async fn head(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    id: OrderId,
) -> sqlx::Result<Option<HeadRow>> {
    let row = sqlx::query(
        "select o.*, a.email, m.role, p.starts_ms, e.artist, e.title, l.venue, l.time_zone
         from orders o join accounts a on a.id = o.account_id left join members m on m.account_id = o.account_id
         join performances p on p.id = o.performance_id join events e on e.id = p.event_id join plans l on l.id = p.plan_id
         where o.id = $1 and e.organization_id = $2",
    )
    .bind(id.0)
    .bind(organization.0)
    .fetch_optional(db)
    .await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(HeadRow {
        id,
        status: status(&row, "status")?,
        email: row.try_get("email")?,
        role: row.try_get::<Option<String>, _>("role")?.as_deref().and_then(Role::parse),
        performance: PerformanceId(row.try_get("performance_id")?),
        artist: row.try_get("artist")?,
        event: row.try_get("title")?,
        venue: row.try_get("venue")?,
        time_zone: row.try_get("time_zone")?,
        starts: Millis(row.try_get("starts_ms")?),
        currency: currency(&row, "currency")?,
        total_minor: row.try_get("total_minor")?,
        created: Millis(row.try_get("created_ms")?),
        expires: Millis(row.try_get("expires_ms")?),
        paid: instant(&row, "paid_ms")?,
        confirmed: instant(&row, "confirmed_ms")?,
        released: instant(&row, "released_ms")?,
    }))
}

/// A step of the order machine.
pub(crate) struct StepRow {
    pub(crate) event: String,
    pub(crate) from: OrderStatus,
    pub(crate) to: OrderStatus,
    pub(crate) at: Millis,
}

/// The steps of an order, in their order.
pub(crate) async fn steps(db: impl PgExecutor<'_>, id: OrderId, most: i64) -> sqlx::Result<Vec<StepRow>> {
    sqlx::query("select * from order_audit where order_id = $1 order by id limit $2")
        .bind(id.0)
        .bind(most)
        .fetch_all(db)
        .await?
        .iter()
        .map(|row| {
            Ok(StepRow {
                event: row.try_get("event")?,
                from: status(row, "from_status")?,
                to: status(row, "to_status")?,
                at: Millis(row.try_get("at_ms")?),
            })
        })
        .collect()
}

/// A try to pay, with its times.
pub(crate) struct AttemptRow {
    pub(crate) id: AttemptId,
    pub(crate) number: i32,
    pub(crate) status: AttemptStatus,
    pub(crate) provider: String,
    pub(crate) reference: Option<String>,
    pub(crate) amount_minor: i64,
    pub(crate) currency: Currency,
    pub(crate) last_error: Option<String>,
    pub(crate) queries: i32,
    pub(crate) created: Millis,
    pub(crate) deadline: Millis,
    pub(crate) next_query: Millis,
}

/// The tries to pay an order, in their order.
pub(crate) async fn attempts(db: impl PgExecutor<'_>, id: OrderId) -> sqlx::Result<Vec<AttemptRow>> {
    sqlx::query("select * from attempts where order_id = $1 order by number")
        .bind(id.0)
        .fetch_all(db)
        .await?
        .iter()
        .map(|row| {
            let text: String = row.try_get("status")?;
            Ok(AttemptRow {
                id: AttemptId(row.try_get("id")?),
                number: row.try_get("number")?,
                status: AttemptStatus::parse(&text).ok_or_else(|| bad("status", text))?,
                provider: row.try_get("provider")?,
                reference: row.try_get("provider_ref")?,
                amount_minor: row.try_get("amount_minor")?,
                currency: currency(row, "currency")?,
                last_error: row.try_get("last_error")?,
                queries: row.try_get("queries")?,
                created: Millis(row.try_get("created_ms")?),
                deadline: Millis(row.try_get("deadline_ms")?),
                next_query: Millis(row.try_get("next_query_ms")?),
            })
        })
        .collect()
}

/// What a provider told.
pub(crate) struct WebhookRow {
    pub(crate) provider: String,
    pub(crate) event: String,
    pub(crate) body: Value,
    pub(crate) received: Millis,
    pub(crate) applied: Option<Millis>,
    pub(crate) tries: i32,
    pub(crate) error: Option<String>,
}

/// What providers told about attempts, in its order. Our name for a payment is the attempt's id.
pub(crate) async fn webhooks(db: impl PgExecutor<'_>, attempts: &[String], most: i64) -> sqlx::Result<Vec<WebhookRow>> {
    // The first condition is the index's own; the second takes out what only begins like an id.
    sqlx::query(
        "select * from payment_inbox
         where left(coalesce(body #>> '{data,object,payment_reference}', body #>> '{data,object,reference}',
                             body #>> '{data,object,metadata,stararena_attempt}'), 36) = any($1)
            and coalesce(body #>> '{data,object,payment_reference}', body #>> '{data,object,reference}',
                         body #>> '{data,object,metadata,stararena_attempt}') = any($1)
         order by received_ms, event_id limit $2",
    )
    .bind(attempts)
    .bind(most)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        Ok(WebhookRow {
            provider: row.try_get("provider")?,
            event: row.try_get("event_id")?,
            body: row.try_get("body")?,
            received: Millis(row.try_get("received_ms")?),
            applied: instant(row, "applied_ms")?,
            tries: row.try_get("tries")?,
            error: row.try_get("error")?,
        })
    })
    .collect()
}

/// Money on its way back.
pub(crate) struct RefundRow {
    pub(crate) id: RefundId,
    pub(crate) attempt: i32,
    pub(crate) amount_minor: i64,
    pub(crate) currency: Currency,
    pub(crate) reason: String,
    pub(crate) status: String,
    pub(crate) reference: Option<String>,
    pub(crate) tries: i32,
    pub(crate) created: Millis,
}

/// The refunds of an order, in their order.
pub(crate) async fn refunds(db: impl PgExecutor<'_>, id: OrderId, most: i64) -> sqlx::Result<Vec<RefundRow>> {
    sqlx::query(
        "select r.*, a.number from attempts a join refunds r on r.attempt_id = a.id
         where a.order_id = $1 order by r.created_ms, r.id limit $2",
    )
    .bind(id.0)
    .bind(most)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        Ok(RefundRow {
            id: RefundId(row.try_get("id")?),
            attempt: row.try_get("number")?,
            amount_minor: row.try_get("amount_minor")?,
            currency: currency(row, "currency")?,
            reason: row.try_get("reason")?,
            status: row.try_get("status")?,
            reference: row.try_get("provider_ref")?,
            tries: row.try_get("tries")?,
            created: Millis(row.try_get("created_ms")?),
        })
    })
    .collect()
}

/// Money that was set aside.
pub(crate) struct SetAsideRow {
    pub(crate) reference: String,
    pub(crate) reason: String,
    pub(crate) evidence: Value,
    pub(crate) created: Millis,
    pub(crate) resolved: Option<Millis>,
}

/// What was set aside of an order's payments, in its order.
pub(crate) async fn set_aside(db: impl PgExecutor<'_>, id: OrderId, most: i64) -> sqlx::Result<Vec<SetAsideRow>> {
    sqlx::query(
        "select q.* from attempts a join payment_quarantine q on q.provider = a.provider and q.provider_ref = a.provider_ref
         where a.order_id = $1 order by q.id limit $2",
    )
    .bind(id.0)
    .bind(most)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        Ok(SetAsideRow {
            reference: row.try_get("provider_ref")?,
            reason: row.try_get("reason")?,
            evidence: row.try_get("evidence")?,
            created: Millis(row.try_get("created_ms")?),
            resolved: instant(row, "resolved_ms")?,
        })
    })
    .collect()
}

/// A ticket, revoked or not.
pub(crate) struct TicketRow {
    pub(crate) id: TicketId,
    pub(crate) seat: SeatNo,
    pub(crate) issue: i16,
    pub(crate) code: String,
    pub(crate) created: Millis,
    pub(crate) revoked: Option<Millis>,
    pub(crate) reason: Option<String>,
    pub(crate) frozen: bool,
    /// Address of a holder who did not buy it.
    pub(crate) holder: Option<String>,
}

/// The tickets of an order, by seat and issue.
pub(crate) async fn tickets(db: impl PgExecutor<'_>, id: OrderId, most: i64) -> sqlx::Result<Vec<TicketRow>> {
    sqlx::query(
        "select t.*, a.email as holder from tickets t join orders o on o.id = t.order_id
         left join accounts a on a.id = t.holder_account and a.id <> o.account_id
         where t.order_id = $1 order by t.seat_no, t.issue, t.created_ms limit $2",
    )
    .bind(id.0)
    .bind(most)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        Ok(TicketRow {
            id: TicketId(row.try_get("id")?),
            seat: SeatNo(u32::try_from(row.try_get::<i32, _>("seat_no")?).map_err(|e| bad("seat_no", e))?),
            issue: row.try_get("issue")?,
            code: row.try_get("code")?,
            created: Millis(row.try_get("created_ms")?),
            revoked: instant(row, "revoked_ms")?,
            reason: row.try_get("revoked_reason")?,
            frozen: instant(row, "frozen_ms")?.is_some(),
            holder: row.try_get("holder")?,
        })
    })
    .collect()
}

/// A mail.
pub(crate) struct MailRow {
    pub(crate) dedupe: String,
    pub(crate) to: String,
    pub(crate) subject: String,
    pub(crate) tries: i32,
    pub(crate) created: Millis,
    pub(crate) sent: Option<Millis>,
}

/// Mails by the keys that make each be sent once, in their order.
pub(crate) async fn mails(db: impl PgExecutor<'_>, keys: &[String]) -> sqlx::Result<Vec<MailRow>> {
    sqlx::query(
        "select o.dedupe, coalesce(o.payload ->> 'to', '') as recipient, coalesce(o.payload ->> 'subject', '') as subject,
            o.tries, o.created_ms,
            coalesce(m.sent_ms, case when o.outcome is distinct from 'given_up' then o.done_ms end) as sent_ms
         from outbox o left join mailbox m on m.outbox_id = o.id
         where o.kind = 'mail' and o.dedupe = any($1) order by o.id",
    )
    .bind(keys)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        Ok(MailRow {
            dedupe: row.try_get("dedupe")?,
            to: row.try_get("recipient")?,
            subject: row.try_get("subject")?,
            tries: row.try_get("tries")?,
            created: Millis(row.try_get("created_ms")?),
            sent: instant(row, "sent_ms")?,
        })
    })
    .collect()
}
