//! Which key a refund has at its provider: the calls under it are counted, and their answers of 500.

use domain::Millis;
use sqlx::PgExecutor;

/// When a refund gets another key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// So many answers of 500 in a row, at least.
    pub(crate) faults: i32,
    /// Over so long a time, at least.
    pub(crate) spread_ms: i64,
    /// So long after its beginning a call is under way no more, whatever became of it.
    pub(crate) call_ms: i64,
}

/// Begins a call that asks for a refund, and says under which generation of its key. The key is another one where
/// every call under the one before was answered with a 500, and there were enough of them; a call without an answer
/// that may be under way forbids it. To be committed before the call is made.
pub(crate) async fn begin_call(
    db: impl PgExecutor<'_>,
    reference: &str,
    limits: Limits,
    now: Millis,
) -> sqlx::Result<i32> {
    sqlx::query_scalar(
        "insert into refund_keys as k (reference, calls, since_ms, last_ms) values ($1, 1, $2, $2)
         on conflict (reference) do update set
            generation = k.generation
                + case when k.calls = k.faults and k.faults >= $3 and k.since_ms <= $2 - $4 then 1 else 0 end,
            calls = case when (k.calls = k.faults and k.faults >= $3 and k.since_ms <= $2 - $4)
                or (k.calls > k.faults and k.last_ms <= $2 - $5) then 1 else k.calls + 1 end,
            faults = case when (k.calls = k.faults and k.faults >= $3 and k.since_ms <= $2 - $4)
                or (k.calls > k.faults and k.last_ms <= $2 - $5) then 0 else k.faults end,
            since_ms = case when (k.calls = k.faults and k.faults >= $3 and k.since_ms <= $2 - $4)
                or (k.calls > k.faults and k.last_ms <= $2 - $5) then $2 else k.since_ms end,
            last_ms = greatest(k.last_ms, $2)
         returning generation",
    )
    .bind(reference)
    .bind(now.0)
    .bind(limits.faults)
    .bind(limits.spread_ms)
    .bind(limits.call_ms)
    .fetch_one(db)
    .await
}

/// Notes that a call which began at `began` was answered with a 500.
pub(crate) async fn faulted(
    db: impl PgExecutor<'_>,
    reference: &str,
    generation: i32,
    began: Millis,
) -> sqlx::Result<()> {
    // A call that was counted out, because it took too long, counts no more.
    sqlx::query(
        "update refund_keys set faults = faults + 1
         where reference = $1 and generation = $2 and since_ms <= $3 and faults < calls",
    )
    .bind(reference)
    .bind(generation)
    .bind(began.0)
    .execute(db)
    .await?;
    Ok(())
}
