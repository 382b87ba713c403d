//! What the reconciler did.

use domain::{Millis, PerformanceId};
use sqlx::{PgExecutor, Row as _};

/// One thing that was put right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RepairRow {
    pub(crate) section: String,
    pub(crate) kind: String,
    pub(crate) subject: String,
    pub(crate) found: String,
    pub(crate) wanted: String,
}

/// Writes down what was put right.
pub(crate) async fn insert(
    db: impl PgExecutor<'_>,
    id: PerformanceId,
    rows: &[RepairRow],
    now: Millis,
) -> sqlx::Result<()> {
    let column = |of: fn(&RepairRow) -> &String| rows.iter().map(of).cloned().collect::<Vec<String>>();
    sqlx::query(
        "insert into repairs (performance_id, section, kind, subject, found, wanted, at_ms)
         select $1, section, kind, subject, found, wanted, $7
         from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
            as r (section, kind, subject, found, wanted)",
    )
    .bind(id.0)
    .bind(column(|row| &row.section))
    .bind(column(|row| &row.kind))
    .bind(column(|row| &row.subject))
    .bind(column(|row| &row.found))
    .bind(column(|row| &row.wanted))
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(())
}

/// Notes that a sale was compared.
pub(crate) async fn note(
    db: impl PgExecutor<'_>,
    id: PerformanceId,
    seats: i32,
    repaired: i32,
    now: Millis,
) -> sqlx::Result<()> {
    sqlx::query(
        "insert into reconciliations (performance_id, at_ms, seats, repaired) values ($1, $2, $3, $4)
         on conflict (performance_id) do update set at_ms = $2, seats = $3, repaired = reconciliations.repaired + $4",
    )
    .bind(id.0)
    .bind(now.0)
    .bind(seats)
    .bind(repaired)
    .execute(db)
    .await?;
    Ok(())
}

/// When a sale was last compared, and how many repairs it has needed in all.
pub(crate) async fn last(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<Option<(Millis, i32)>> {
    let row = sqlx::query("select at_ms, repaired from reconciliations where performance_id = $1")
        .bind(id.0)
        .fetch_optional(db)
        .await?;
    row.map(|row| Ok((Millis(row.try_get("at_ms")?), row.try_get("repaired")?))).transpose()
}
