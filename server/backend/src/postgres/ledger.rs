//! The books: one balanced posting for each business event, once by its source key.

use crate::error::{Error, Result};
use domain::ledger::{Event, Subject};
use domain::{AttemptId, Millis};
use sqlx::{PgConnection, PgExecutor};

/// Whom a posting is about, in columns: an order's organization is found with it.
fn subject(event: &Event, subject: Subject) -> (Option<uuid::Uuid>, Option<uuid::Uuid>, Option<&str>) {
    match (subject, event) {
        (Subject::Order(order), _) => (Some(order.0), None, None),
        (Subject::Organization(organization), _) => (None, Some(organization.0), None),
        (
            Subject::Provider,
            Event::ProviderFee { provider, .. }
            | Event::ProviderPayout { provider, .. }
            | Event::ProviderPayoutFailed { provider, .. },
        ) => (None, None, Some(provider.as_str())),
        (Subject::Provider, _) => (None, None, None),
    }
}

/// Writes the posting of an event, once by its source key; `false` when it was there.
///
/// # Errors
/// `Broken` when the event moves nothing or less than nothing, or when another event took its key at this
/// very moment: then nothing of the transaction may stay.
pub(crate) async fn post(db: &mut PgConnection, event: &Event, now: Millis) -> Result<bool> {
    let posting = event.posting().map_err(|e| Error::Broken(format!("an event can't be posted: {e}")))?;
    let accounts: Vec<&str> = posting.entries().iter().map(|entry| entry.account.as_str()).collect();
    let amounts: Vec<i64> = posting.entries().iter().map(|entry| entry.amount_minor).collect();
    let (order, organization, provider) = subject(event, posting.subject());
    let done = sqlx::query(
        "insert into ledger_entries (source, account, currency, amount_minor, at_ms, order_id, organization_id, provider)
         select $1, entry.account, $4, entry.amount, $5, $6,
            coalesce($7, (select e.organization_id from orders o join performances p on p.id = o.performance_id
                join events e on e.id = p.event_id where o.id = $6)), $8
         from unnest($2::text[], $3::bigint[]) as entry (account, amount)
         where not exists (select 1 from ledger_entries where source = $1)
         on conflict (source, account) do nothing",
    )
    .bind(posting.source())
    .bind(&accounts)
    .bind(&amounts)
    .bind(posting.currency().code())
    .bind(now.0)
    .bind(order)
    .bind(organization)
    .bind(provider)
    .execute(db)
    .await?
    .rows_affected();
    match usize::try_from(done) {
        Ok(0) => Ok(false),
        Ok(count) if count == accounts.len() => Ok(true),
        _ => Err(Error::Broken(format!("{} was posted by another event at the same time", posting.source()))),
    }
}

/// Whether the money of an attempt was booked as late money, and is no sale until today.
pub(crate) async fn is_late(db: impl PgExecutor<'_>, attempt: AttemptId) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "select exists (select 1 from ledger_entries where source = 'capture:' || $1::uuid and account = 'order_receivable')
            and not exists (select 1 from ledger_entries where source = 'reclaim:' || $1::uuid)",
    )
    .bind(attempt.0)
    .fetch_one(db)
    .await
}
