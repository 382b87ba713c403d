//! What documents say about an organization besides its name.

use domain::document::Details;
use domain::{Millis, OrganizationId};
use sqlx::postgres::PgRow;
use sqlx::{PgExecutor, Row as _};

/// The details of a row that was joined with them: the usual ones where there are none.
pub(super) fn details(row: &PgRow) -> sqlx::Result<Details> {
    let prefix: Option<String> = row.try_get("prefix")?;
    let Some(prefix) = prefix else { return Ok(Details::default()) };
    Ok(Details { address: row.try_get("address")?, tax_id: row.try_get("tax_id")?, prefix })
}

/// Details of an organization with their version, 0 where it gave none, and the last number of its sequence.
pub(crate) async fn settings(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
) -> sqlx::Result<Option<(String, Details, i32, i64)>> {
    let row = sqlx::query(
        "select g.name, d.address, d.tax_id, d.prefix, coalesce(d.version, 0) as version,
            coalesce(s.last_number, 0) as last_number
         from organizations g left join organization_details d on d.organization_id = g.id
         left join invoice_sequences s on s.organization_id = g.id where g.id = $1",
    )
    .bind(organization.0)
    .fetch_optional(db)
    .await?;
    row.map(|row| Ok((row.try_get("name")?, details(&row)?, row.try_get("version")?, row.try_get("last_number")?)))
        .transpose()
}

/// Changes details of the version that was read, 0 for the first ones; `false` when they are others by now.
pub(crate) async fn set_details(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    details: &Details,
    version: i32,
    now: Millis,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "insert into organization_details as d (organization_id, address, tax_id, prefix, changed_ms)
         select $1, $2, $3, $4, $6 where $5 = 0 or exists (select 1 from organization_details where organization_id = $1)
         on conflict (organization_id) do update set address = excluded.address, tax_id = excluded.tax_id,
            prefix = excluded.prefix, changed_ms = excluded.changed_ms, version = d.version + 1 where d.version = $5",
    )
    .bind(organization.0)
    .bind(&details.address)
    .bind(&details.tax_id)
    .bind(&details.prefix)
    .bind(version)
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}
