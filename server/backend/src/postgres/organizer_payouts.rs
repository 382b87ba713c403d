//! What was transferred to organizations, as it was noted.

use super::catalog::currency;
use domain::{AccountId, Currency, Millis, Money, OrganizationId, PayoutId};
use sqlx::postgres::PgRow;
use sqlx::{PgExecutor, Row as _};

/// A payout as it is stored, with the addresses of who noted and reversed it.
pub(crate) struct PayoutRow {
    pub(crate) id: PayoutId,
    pub(crate) reference: String,
    pub(crate) amount: Money,
    /// The day of the transfer, as its beginning in UTC.
    pub(crate) day: Millis,
    pub(crate) recorded: Millis,
    pub(crate) recorded_by: Option<String>,
    /// When it was reversed, and why.
    pub(crate) reversed: Option<(Millis, String)>,
    pub(crate) reversed_by: Option<String>,
}

/// Every query of a payout begins so.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select p.*, r.email as recorded_email, v.email as reversed_email from organizer_payouts p
             left join accounts r on r.id = p.recorded_by left join accounts v on v.id = p.reversed_by ",
            $rest
        )
    };
}

fn payout(row: &PgRow) -> sqlx::Result<PayoutRow> {
    let reversed: Option<i64> = row.try_get("reversed_ms")?;
    let reason: Option<String> = row.try_get("reason")?;
    Ok(PayoutRow {
        id: PayoutId(row.try_get("id")?),
        reference: row.try_get("reference")?,
        amount: Money::new(row.try_get("amount_minor")?, currency(row, "currency")?),
        day: Millis(row.try_get("day_ms")?),
        recorded: Millis(row.try_get("recorded_ms")?),
        recorded_by: row.try_get("recorded_email")?,
        reversed: reversed.map(Millis).zip(reason),
        reversed_by: row.try_get("reversed_email")?,
    })
}

/// Lets nobody else note a payout of the organization until the transaction ends. Sales, refunds and reversals go on.
pub(crate) async fn lock(db: impl PgExecutor<'_>, organization: OrganizationId) -> sqlx::Result<()> {
    sqlx::query("select 1 from organizations where id = $1 for no key update").bind(organization.0).execute(db).await?;
    Ok(())
}

/// What is owed to the organization in a currency, in minor units, over all of its entries.
pub(crate) async fn owed_in(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    currency: Currency,
) -> sqlx::Result<i64> {
    sqlx::query_scalar(
        "select coalesce(-sum(amount_minor), 0)::bigint from ledger_entries
         where organization_id = $1 and account = 'organizer_payable' and currency = $2",
    )
    .bind(organization.0)
    .bind(currency.code())
    .fetch_one(db)
    .await
}

/// What is owed to the organization, by currency; those with nothing left out.
pub(crate) async fn owed(db: impl PgExecutor<'_>, organization: OrganizationId) -> sqlx::Result<Vec<Money>> {
    sqlx::query(
        "select currency, -sum(amount_minor)::bigint as owed_minor from ledger_entries
         where organization_id = $1 and account = 'organizer_payable'
         group by currency having sum(amount_minor) <> 0 order by currency",
    )
    .bind(organization.0)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| Ok(Money::new(row.try_get("owed_minor")?, currency(row, "currency")?)))
    .collect()
}

/// The payout of a reference.
pub(crate) async fn by_reference(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    reference: &str,
) -> sqlx::Result<Option<PayoutRow>> {
    sqlx::query(select!("where p.organization_id = $1 and p.reference = $2"))
        .bind(organization.0)
        .bind(reference)
        .fetch_optional(db)
        .await?
        .as_ref()
        .map(payout)
        .transpose()
}

/// A payout of an organization; none for another's.
pub(crate) async fn one(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    id: PayoutId,
) -> sqlx::Result<Option<PayoutRow>> {
    sqlx::query(select!("where p.organization_id = $1 and p.id = $2"))
        .bind(organization.0)
        .bind(id.0)
        .fetch_optional(db)
        .await?
        .as_ref()
        .map(payout)
        .transpose()
}

/// Payouts of an organization, the newest first; those older than `before`, where it is given.
pub(crate) async fn page(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    before: Option<PayoutId>,
    most: i64,
) -> sqlx::Result<Vec<PayoutRow>> {
    sqlx::query(select!("where p.organization_id = $1 and ($2::uuid is null or p.id < $2) order by p.id desc limit $3"))
        .bind(organization.0)
        .bind(before.map(|id| id.0))
        .bind(most)
        .fetch_all(db)
        .await?
        .iter()
        .map(payout)
        .collect()
}

/// What is noted of a transfer.
pub(crate) struct NewPayout<'a> {
    pub(crate) id: PayoutId,
    pub(crate) reference: &'a str,
    pub(crate) amount: Money,
    pub(crate) day: Millis,
    /// None for the command line.
    pub(crate) by: Option<AccountId>,
    pub(crate) now: Millis,
}

/// Notes a payout.
pub(crate) async fn insert(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    new: &NewPayout<'_>,
) -> sqlx::Result<()> {
    sqlx::query(
        "insert into organizer_payouts (id, organization_id, reference, amount_minor, currency, day_ms, recorded_by, recorded_ms)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(new.id.0)
    .bind(organization.0)
    .bind(new.reference)
    .bind(new.amount.minor)
    .bind(new.amount.currency.code())
    .bind(new.day.0)
    .bind(new.by.map(|id| id.0))
    .bind(new.now.0)
    .execute(db)
    .await?;
    Ok(())
}

/// Marks a payout as reversed; `false` when it was.
pub(crate) async fn reverse(
    db: impl PgExecutor<'_>,
    id: PayoutId,
    by: Option<AccountId>,
    reason: &str,
    now: Millis,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update organizer_payouts set reversed_by = $2, reversed_ms = $3, reason = $4
         where id = $1 and reversed_ms is null",
    )
    .bind(id.0)
    .bind(by.map(|id| id.0))
    .bind(now.0)
    .bind(reason)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}
