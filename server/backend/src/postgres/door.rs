//! What doors are told about tickets.

use domain::ticket::change::Verdict;
use domain::{PerformanceId, TicketId};
use sqlx::{PgExecutor, Row as _};

/// A ticket about which the door's answer changed at least once.
pub(crate) struct DoorRow {
    pub(crate) id: TicketId,
    pub(crate) issue: i16,
    pub(crate) changes: i32,
    pub(crate) verdict: Verdict,
}

/// All of them, of one performance, as they stand at one moment.
pub(crate) async fn changed(db: impl PgExecutor<'_>, performance: PerformanceId) -> sqlx::Result<Vec<DoorRow>> {
    sqlx::query(
        "select t.id, t.issue, t.changes, t.revoked_ms is not null as revoked, t.frozen_ms is not null as frozen,
            exists (select 1 from ticket_transfers x where x.ticket_id = t.id and x.state = 'pending') as offered
         from tickets t where t.performance_id = $1 and t.changes > 0 order by t.id",
    )
    .bind(performance.0)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        let verdict = Verdict::of(row.try_get("revoked")?, row.try_get("frozen")?, row.try_get("offered")?);
        Ok(DoorRow {
            id: TicketId(row.try_get("id")?),
            issue: row.try_get("issue")?,
            changes: row.try_get("changes")?,
            verdict,
        })
    })
    .collect()
}
