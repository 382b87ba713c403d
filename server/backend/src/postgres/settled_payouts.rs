//! Payouts of providers, as the books have them.

use super::catalog::currency;
use domain::settlement::{Movement, OurPayout, ProviderLine};
use domain::{Millis, Money};
use sqlx::{PgExecutor, Row as _};

/// The payouts of a provider that left or came back in an interval, and those that a line names. Their postings carry
/// the provider's own time.
pub(crate) async fn payouts(
    db: impl PgExecutor<'_>,
    provider: &str,
    (from, to): (Millis, Millis),
    lines: &[ProviderLine],
) -> sqlx::Result<Vec<OurPayout>> {
    let moved = lines.iter().filter(|line| matches!(line.movement, Movement::Payout | Movement::PayoutFailure));
    let named: Vec<&str> = moved.map(|line| line.id.as_str()).collect();
    sqlx::query(
        "with posted as (
            select substr(source, length('provider-payout:' || $1) + 2) as payout from ledger_entries
               where provider = $1 and starts_with(source, 'provider-payout:') and at_ms >= $2 and at_ms < $3
            union select substr(source, length('provider-payout-failed:' || $1) + 2) from ledger_entries
               where provider = $1 and starts_with(source, 'provider-payout-failed:') and at_ms >= $2 and at_ms < $3
            union select unnest($4::text[]))
         select p.payout, l.amount_minor, l.currency, l.at_ms, f.at_ms as failed_ms
         from posted p
         join ledger_entries l on l.source = 'provider-payout:' || $1 || ':' || p.payout and l.account = 'bank'
         left join ledger_entries f
            on f.source = 'provider-payout-failed:' || $1 || ':' || p.payout and f.account = 'bank'",
    )
    .bind(provider)
    .bind(from.0)
    .bind(to.0)
    .bind(named)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        Ok(OurPayout {
            payout: row.try_get("payout")?,
            amount: Money::new(row.try_get("amount_minor")?, currency(row, "currency")?),
            at: Millis(row.try_get("at_ms")?),
            failed: row.try_get::<Option<i64>, _>("failed_ms")?.map(Millis),
        })
    })
    .collect()
}
