//! Checks of the audit that are queries: each row that one finds, a text, contradicts it.

use crate::audit::{Check, Finding, LINES_MAX};
use domain::PerformanceId;
use sqlx::{AssertSqlSafe, PgExecutor, Row as _};
use uuid::Uuid;

/// The trial balance: the sum of all entries of each currency, in minor units. Each is zero.
pub(crate) async fn balances(db: impl PgExecutor<'_>) -> sqlx::Result<Vec<(String, i64)>> {
    sqlx::query(
        "select currency::text as currency, sum(amount_minor)::bigint as minor from ledger_entries group by currency",
    )
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| Ok((row.try_get("currency")?, row.try_get("minor")?)))
    .collect()
}

/// What a check looks at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Of {
    /// The whole system.
    System,
    /// Every performance that was ever published.
    Published,
    /// One performance.
    One(PerformanceId),
}

/// Makes a check: the first rows that contradict it come back, with how many there are.
pub(crate) async fn query(db: impl PgExecutor<'_>, check: Check, sql: &'static str, of: Of) -> sqlx::Result<Finding> {
    let counted = format!(
        "select wrong.line, count(*) over () as found from (
{sql}
) as wrong (line) limit {LINES_MAX}"
    );
    let query = sqlx::query(AssertSqlSafe(counted));
    let query = match of {
        Of::System => query,
        Of::Published => query.bind(None::<Uuid>),
        Of::One(id) => query.bind(Some(id.0)),
    };
    let mut finding = Finding { check, evidence: Vec::new(), count: 0 };
    for row in query.fetch_all(db).await? {
        finding.evidence.push(row.try_get("line")?);
        finding.count = usize::try_from(row.try_get::<i64, _>("found")?).unwrap_or(usize::MAX);
    }
    Ok(finding)
}
