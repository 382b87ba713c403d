//! All SQL, one file per noun. Functions take an executor and plain values and decide nothing: every
//! change names the state that it expects, and says whether one row changed.

pub(crate) mod accounts;
pub(crate) mod allocations;
pub(crate) mod attempts;
pub(crate) mod audit_log;
pub(crate) mod audited;
pub(crate) mod batches;
pub(crate) mod bench;
pub(crate) mod catalog;
pub(crate) mod desk;
pub(crate) mod details;
pub(crate) mod differences;
pub(crate) mod disputes;
pub(crate) mod door;
pub(crate) mod drafts;
pub(crate) mod draws;
pub(crate) mod events;
pub(crate) mod fees;
pub(crate) mod grants;
pub(crate) mod idempotency;
pub(crate) mod imports;
pub(crate) mod inbox;
pub(crate) mod invoices;
pub(crate) mod leaders;
pub(crate) mod ledger;
pub(crate) mod lines;
pub(crate) mod log;
pub(crate) mod members;
pub(crate) mod money;
pub(crate) mod orders;
pub(crate) mod organizer_payouts;
pub(crate) mod outbox;
pub(crate) mod plans;
pub(crate) mod prices;
pub(crate) mod publishing;
pub(crate) mod quarantine;
pub(crate) mod queue;
pub(crate) mod reclaims;
pub(crate) mod refund_keys;
pub(crate) mod refund_lists;
pub(crate) mod refunds;
pub(crate) mod repairs;
pub(crate) mod replanning;
pub(crate) mod returns;
pub(crate) mod search;
pub(crate) mod setbacks;
pub(crate) mod settled_payouts;
pub(crate) mod settlement;
pub(crate) mod settlement_days;
pub(crate) mod story;
pub(crate) mod stuck;
pub(crate) mod terms;
pub(crate) mod tickets;
pub(crate) mod transfers;
pub(crate) mod webhook_pages;
pub(crate) mod webhooks;

use crate::error::Result;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions, PgRow};
use sqlx::{PgConnection, PgPool};
use std::str::FromStr as _;
use std::time::Duration;

/// A request that waits longer for a connection is better told to come back.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(3);

/// Opens the pool. A transaction that its client forgot is ended by the server (a cancelled `begin`
/// can leave one behind in this version of sqlx), and no statement runs without a bound.
pub(crate) async fn connect(url: &str, connections: u32) -> Result<PgPool> {
    let options = PgConnectOptions::from_str(url)?.application_name("stararena").options([
        ("idle_in_transaction_session_timeout", "10s"),
        ("statement_timeout", "30s"),
        ("lock_timeout", "10s"),
    ]);
    Ok(PgPoolOptions::new().max_connections(connections).acquire_timeout(ACQUIRE_TIMEOUT).connect_with(options).await?)
}

/// Applies the migrations that are missing.
pub(crate) async fn migrate(pool: &PgPool) -> Result<()> {
    Ok(sqlx::migrate!("../../migrations").run(pool).await?)
}

/// Makes a transaction see one moment, and change nothing: its first statement.
pub(crate) async fn one_snapshot(db: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query("set transaction isolation level repeatable read, read only").execute(db).await?;
    Ok(())
}

/// Reads what a job has taken, each row by itself: one that can't be read is reported, and holds up no other. Its own
/// schedule takes it again.
pub(crate) fn readable<T>(job: &'static str, rows: &[PgRow], read: impl Fn(&PgRow) -> sqlx::Result<T>) -> Vec<T> {
    let report = |error: &sqlx::Error| {
        metrics::counter!("stararena_job_failures_total", "job" => job).increment(1);
        tracing::error!(job, error = error as &dyn std::error::Error, "a row can't be read; the others go on");
    };
    rows.iter().filter_map(|row| read(row).inspect_err(report).ok()).collect()
}

/// Runs `work` to its end even when the caller goes away: a request that is dropped must not leave
/// half a step, nor a connection inside a transaction.
pub(crate) async fn detached<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    match tokio::spawn(work).await {
        Ok(result) => result,
        Err(e) => Err(crate::Error::Broken(format!("a step of the database work ended early: {e}"))),
    }
}
