//! What the books say of an organization, and what providers listed of its money.

use super::catalog::{bad, currency};
use domain::ledger::Account;
use domain::ledger::report::Sum;
use domain::{Currency, Millis, OrderId, OrganizationId, PerformanceId};
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{AssertSqlSafe, PgExecutor, Postgres, Row as _};
use uuid::Uuid;

/// The entries of an organization: those of its orders, the providers' fees for those, and its payouts. A fee is
/// an entry of a provider as a whole; whose it is, its line says. `$1` the organization, `$2` since when, `$3` a
/// performance or none.
const ENTRIES: &str = "
    with own as (
        select o.id as order_id, p.id as performance_id, e.title, e.artist
        from events e join performances p on p.event_id = e.id join orders o on o.performance_id = p.id
        where e.organization_id = $1 and ($3::uuid is null or p.id = $3)),
    entries as (
        select l.id, l.source, l.account, l.currency, l.amount_minor, l.at_ms, own.order_id, own.performance_id, own.title, own.artist, null::text as reference
        from own join ledger_entries l on l.order_id = own.order_id where l.at_ms >= $2
        union all
        select l.id, l.source, l.account, l.currency, l.amount_minor, l.at_ms, own.order_id, own.performance_id, own.title, own.artist, null::text
        from own join settlement_lines s on s.order_id = own.order_id and s.copy = 0 and s.fee_minor <> 0
        join ledger_entries l on l.source = 'provider-fee:' || s.provider || ':' || s.key
        where l.at_ms >= $2 and l.order_id is null
        union all
        select l.id, l.source, l.account, l.currency, l.amount_minor, l.at_ms, null::uuid, null::uuid, null::text, null::text, p.reference
        from ledger_entries l left join organizer_payouts p on p.organization_id = $1
            and l.source in ('organizer-payout:' || p.id, 'organizer-payout-reversed:' || p.id)
        where l.organization_id = $1 and l.order_id is null and $3::uuid is null and l.at_ms >= $2
            and not starts_with(l.source, 'provider-fee:'))";

/// A question about the entries, which begins with [`ENTRIES`] and has its three parameters.
fn about(
    sql: String,
    organization: OrganizationId,
    since: Millis,
    only: Option<PerformanceId>,
) -> sqlx::query::Query<'static, Postgres, PgArguments> {
    sqlx::query(AssertSqlSafe(sql)).bind(organization.0).bind(since.0).bind(only.map(|id| id.0))
}

fn account(row: &PgRow) -> sqlx::Result<Account> {
    let text: String = row.try_get("account")?;
    Account::parse(&text).ok_or_else(|| bad("account", format!("`{text}` is no account of the chart")))
}

fn performance(row: &PgRow) -> sqlx::Result<Option<PerformanceId>> {
    Ok(row.try_get::<Option<Uuid>, _>("performance_id")?.map(PerformanceId))
}

/// The entries of an organization, added up by account, kind of source, currency and performance.
pub(crate) async fn sums(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    since: Millis,
    only: Option<PerformanceId>,
) -> sqlx::Result<Vec<Sum>> {
    let sql = format!(
        "{ENTRIES}
         select account, split_part(source, ':', 1) as kind, currency, performance_id,
            coalesce(sum(amount_minor) filter (where amount_minor > 0), 0)::bigint as debit_minor,
            coalesce(-sum(amount_minor) filter (where amount_minor < 0), 0)::bigint as credit_minor
         from entries group by 1, 2, 3, 4 order by 1, 2, 3, 4"
    );
    about(sql, organization, since, only)
        .fetch_all(db)
        .await?
        .iter()
        .map(|row| {
            Ok(Sum {
                account: account(row)?,
                source: row.try_get("kind")?,
                currency: currency(row, "currency")?,
                performance: performance(row)?,
                debit_minor: row.try_get("debit_minor")?,
                credit_minor: row.try_get("credit_minor")?,
            })
        })
        .collect()
}

/// One entry of the books.
pub(crate) struct EntryRow {
    pub(crate) at: Millis,
    pub(crate) source: String,
    pub(crate) account: Account,
    pub(crate) currency: Currency,
    pub(crate) amount_minor: i64,
    pub(crate) order: Option<OrderId>,
    pub(crate) performance: Option<PerformanceId>,
    pub(crate) event: Option<String>,
    pub(crate) artist: Option<String>,
    /// Of a payout: what the bank's statement says.
    pub(crate) reference: Option<String>,
}

/// The entries of an organization, in the order in which they were written.
pub(crate) async fn entries(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    since: Millis,
    only: Option<PerformanceId>,
    most: i64,
) -> sqlx::Result<Vec<EntryRow>> {
    let sql = format!("{ENTRIES} select * from entries order by id limit $4");
    about(sql, organization, since, only)
        .bind(most)
        .fetch_all(db)
        .await?
        .iter()
        .map(|row| {
            Ok(EntryRow {
                at: Millis(row.try_get("at_ms")?),
                source: row.try_get("source")?,
                account: account(row)?,
                currency: currency(row, "currency")?,
                amount_minor: row.try_get("amount_minor")?,
                order: row.try_get::<Option<Uuid>, _>("order_id")?.map(OrderId),
                performance: performance(row)?,
                event: row.try_get("title")?,
                artist: row.try_get("artist")?,
                reference: row.try_get("reference")?,
            })
        })
        .collect()
}

/// A line of a provider beside what was found about it. Without a line: a difference that only our side shows.
pub(crate) struct MatchRow {
    pub(crate) at: Millis,
    pub(crate) provider: String,
    pub(crate) movement: Option<String>,
    pub(crate) subject: String,
    pub(crate) payment: Option<String>,
    pub(crate) reference: Option<String>,
    pub(crate) currency: Option<String>,
    /// Gross, fee and net.
    pub(crate) minor: Option<(i64, i64, i64)>,
    pub(crate) order: Option<OrderId>,
    pub(crate) difference: Option<String>,
    pub(crate) status: Option<String>,
    pub(crate) note: Option<String>,
}

/// The lines of an organization's orders with the differences that name them, and the differences that name no
/// line.
pub(crate) async fn matched(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    since: Millis,
    only: Option<PerformanceId>,
    most: i64,
) -> sqlx::Result<Vec<MatchRow>> {
    sqlx::query(
        "with own as (
            select o.id as order_id from events e join performances p on p.event_id = e.id join orders o on o.performance_id = p.id
            where e.organization_id = $1 and ($3::uuid is null or p.id = $3)),
         told as (
            select d.provider, substr(d.key, length(d.kind) + 2) as subject, d.kind, d.status, d.note, d.first_seen_ms, d.order_id,
               jsonb_array_length(d.evidence -> 'theirs') as lines
            from differences d where d.organization_id = $1 and ($3::uuid is null or d.order_id in (select order_id from own))),
         listed as (
            select provider, subject, string_agg(kind, ' ' order by kind) as kinds, string_agg(distinct status, ' ') as statuses,
               string_agg(note, ' ' order by kind) as notes
            from told where lines > 0 group by provider, subject)
         select s.at_ms, s.provider, s.movement, s.subject, s.payment, s.reference, s.currency::text as currency,
            s.gross_minor, s.fee_minor, s.net_minor, s.order_id, l.kinds, l.statuses, l.notes
         from own join settlement_lines s on s.order_id = own.order_id
         left join listed l on l.provider = s.provider and l.subject = s.key
         where s.at_ms >= $2
         union all
         select t.first_seen_ms, t.provider, null, t.subject, null, null, null, null, null, null, t.order_id, t.kind, t.status, t.note
         from told t where t.first_seen_ms >= $2 and not exists (
            select 1 from settlement_lines s where s.provider = t.provider and s.key = t.subject and s.order_id is not null)
         order by 1, 2, 4 limit $4",
    )
    .bind(organization.0)
    .bind(since.0)
    .bind(only.map(|id| id.0))
    .bind(most)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        let minor = |column: &str| row.try_get::<Option<i64>, _>(column);
        let sums = (minor("gross_minor")?, minor("fee_minor")?, minor("net_minor")?);
        Ok(MatchRow {
            at: Millis(row.try_get("at_ms")?),
            provider: row.try_get("provider")?,
            movement: row.try_get("movement")?,
            subject: row.try_get("subject")?,
            payment: row.try_get("payment")?,
            reference: row.try_get("reference")?,
            currency: row.try_get("currency")?,
            minor: match sums {
                (Some(gross), Some(fee), Some(net)) => Some((gross, fee, net)),
                _ => None,
            },
            order: row.try_get::<Option<Uuid>, _>("order_id")?.map(OrderId),
            difference: row.try_get("kinds")?,
            status: row.try_get("statuses")?,
            note: row.try_get("notes")?,
        })
    })
    .collect()
}
