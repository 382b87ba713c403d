//! Fee schedules: those of organizations, and those that performances were published with.

use super::catalog::{self, bad};
use domain::money::fees::{FeeSchedule, Rate, TaxMode, TaxRule};
use domain::{Currency, Millis, OrderId, OrganizationId, PerformanceId};
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{PgExecutor, Postgres, Row as _};
use std::collections::HashMap;

fn rate(row: &PgRow, column: &str) -> sqlx::Result<Rate> {
    let basis_points = u32::try_from(row.try_get::<i32, _>(column)?).map_err(|e| bad(column, e))?;
    Rate::try_from(basis_points).map_err(|e| bad(column, e))
}

fn tax(row: &PgRow, rate_column: &str, mode_column: &str) -> sqlx::Result<TaxRule> {
    let mode: String = row.try_get(mode_column)?;
    let mode = TaxMode::parse(&mode).ok_or_else(|| bad(mode_column, "an unknown mode"))?;
    Ok(TaxRule { rate: rate(row, rate_column)?, mode })
}

/// Both tables name the parts of a schedule alike.
fn schedule(row: &PgRow) -> sqlx::Result<FeeSchedule> {
    Ok(FeeSchedule {
        currency: catalog::currency(row, "currency")?,
        service_fixed_minor: row.try_get("service_fixed_minor")?,
        service_rate: rate(row, "service_rate_bp")?,
        order_fixed_minor: row.try_get("order_fixed_minor")?,
        ticket_tax: tax(row, "ticket_tax_bp", "ticket_tax_mode")?,
        service_tax: tax(row, "service_tax_bp", "service_tax_mode")?,
        order_tax: tax(row, "order_tax_bp", "order_tax_mode")?,
    })
}

type Bound = sqlx::query::Query<'static, Postgres, PgArguments>;

/// The parts of a schedule as the parameters $4 to $12.
fn bind(query: Bound, fees: &FeeSchedule) -> Bound {
    let rate = |rate: Rate| i32::try_from(rate.basis_points()).unwrap_or(i32::MAX);
    query
        .bind(fees.service_fixed_minor)
        .bind(rate(fees.service_rate))
        .bind(fees.order_fixed_minor)
        .bind(rate(fees.ticket_tax.rate))
        .bind(fees.ticket_tax.mode.as_str())
        .bind(rate(fees.service_tax.rate))
        .bind(fees.service_tax.mode.as_str())
        .bind(rate(fees.order_tax.rate))
        .bind(fees.order_tax.mode.as_str())
}

/// The schedules of an organization with their versions, by currency.
pub(crate) async fn of_organization(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
) -> sqlx::Result<Vec<(FeeSchedule, i32)>> {
    sqlx::query("select * from organization_fees where organization_id = $1 order by currency")
        .bind(organization.0)
        .fetch_all(db)
        .await?
        .iter()
        .map(|row| Ok((schedule(row)?, row.try_get::<i32, _>("version")?)))
        .collect()
}

/// The schedule of an organization for a currency.
pub(crate) async fn of_currency(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    currency: Currency,
) -> sqlx::Result<Option<FeeSchedule>> {
    sqlx::query("select * from organization_fees where organization_id = $1 and currency = $2")
        .bind(organization.0)
        .bind(currency.code())
        .fetch_optional(db)
        .await?
        .as_ref()
        .map(schedule)
        .transpose()
}

/// Adds the first schedule of an organization for its currency; `false` when there is one.
pub(crate) async fn add(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    fees: &FeeSchedule,
    now: Millis,
) -> sqlx::Result<bool> {
    let query = sqlx::query(
        "insert into organization_fees (organization_id, currency, changed_ms, service_fixed_minor, service_rate_bp,
            order_fixed_minor, ticket_tax_bp, ticket_tax_mode, service_tax_bp, service_tax_mode, order_tax_bp, order_tax_mode)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
         on conflict (organization_id, currency) do nothing",
    )
    .bind(organization.0)
    .bind(fees.currency.code())
    .bind(now.0);
    Ok(bind(query, fees).execute(db).await?.rows_affected() == 1)
}

/// Changes a schedule of that version; `false` when it moved on.
pub(crate) async fn change(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    version: i32,
    fees: &FeeSchedule,
    now: Millis,
) -> sqlx::Result<bool> {
    let query = sqlx::query(
        "update organization_fees set version = version + 1, changed_ms = $3, service_fixed_minor = $4, service_rate_bp = $5,
            order_fixed_minor = $6, ticket_tax_bp = $7, ticket_tax_mode = $8, service_tax_bp = $9, service_tax_mode = $10,
            order_tax_bp = $11, order_tax_mode = $12
         where organization_id = $1 and currency = $2 and version = $13",
    )
    .bind(organization.0)
    .bind(fees.currency.code())
    .bind(now.0);
    Ok(bind(query, fees).bind(version).execute(db).await?.rows_affected() == 1)
}

/// Keeps the schedule that a performance is published with, for the version of its first prices.
pub(crate) async fn publish(
    db: impl PgExecutor<'_>,
    performance: PerformanceId,
    version: i32,
    fees: &FeeSchedule,
) -> sqlx::Result<()> {
    let query = sqlx::query(
        "insert into performance_fees (performance_id, version, currency, service_fixed_minor, service_rate_bp,
            order_fixed_minor, ticket_tax_bp, ticket_tax_mode, service_tax_bp, service_tax_mode, order_tax_bp, order_tax_mode)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
    )
    .bind(performance.0)
    .bind(version)
    .bind(fees.currency.code());
    bind(query, fees).execute(db).await?;
    Ok(())
}

/// Gives a new version of prices the schedule of the one before it, if it has one.
pub(crate) async fn carry(db: impl PgExecutor<'_>, performance: PerformanceId, from: i32, to: i32) -> sqlx::Result<()> {
    sqlx::query(
        "insert into performance_fees (performance_id, version, currency, service_fixed_minor, service_rate_bp,
            order_fixed_minor, ticket_tax_bp, ticket_tax_mode, service_tax_bp, service_tax_mode, order_tax_bp, order_tax_mode)
         select performance_id, $3, currency, service_fixed_minor, service_rate_bp, order_fixed_minor, ticket_tax_bp,
            ticket_tax_mode, service_tax_bp, service_tax_mode, order_tax_bp, order_tax_mode
         from performance_fees where performance_id = $1 and version = $2",
    )
    .bind(performance.0)
    .bind(from)
    .bind(to)
    .execute(db)
    .await?;
    Ok(())
}

/// The schedule that goes with a version of a performance's prices.
pub(crate) async fn of_version(
    db: impl PgExecutor<'_>,
    performance: PerformanceId,
    version: i32,
) -> sqlx::Result<Option<FeeSchedule>> {
    sqlx::query("select * from performance_fees where performance_id = $1 and version = $2")
        .bind(performance.0)
        .bind(version)
        .fetch_optional(db)
        .await?
        .as_ref()
        .map(schedule)
        .transpose()
}

/// The schedules that go with versions of a performance's prices, by version.
pub(crate) async fn of_versions(
    db: impl PgExecutor<'_>,
    performance: PerformanceId,
    versions: &[i32],
) -> sqlx::Result<HashMap<i32, FeeSchedule>> {
    sqlx::query("select * from performance_fees where performance_id = $1 and version = any($2)")
        .bind(performance.0)
        .bind(versions)
        .fetch_all(db)
        .await?
        .iter()
        .map(|row| Ok((row.try_get::<i32, _>("version")?, schedule(row)?)))
        .collect()
}

/// The schedule that an order was billed by.
pub(crate) async fn of_order(db: impl PgExecutor<'_>, order: OrderId) -> sqlx::Result<Option<FeeSchedule>> {
    sqlx::query(
        "select f.* from orders o join performance_fees f on f.performance_id = o.performance_id and f.version = o.price_version
         where o.id = $1",
    )
    .bind(order.0)
    .fetch_optional(db)
    .await?
    .as_ref()
    .map(schedule)
    .transpose()
}
