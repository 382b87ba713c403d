//! One leader for the duties over logs and queues. An advisory lock chooses it, a term fences it.

use super::{AFTER_SALE_MS, auditing, door::Door, guardian, invoicing, reconciler, sweeper, writer};
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::postgres::{catalog, leaders};
use domain::PerformanceId;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// The lock's name.
const NAME: &str = "sales";
/// How often a follower tries to lead: a crashed leader is replaced well within two seconds.
const TRY_EVERY: Duration = Duration::from_millis(500);
/// How often the leader looks for new performances and checks that it still leads.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Leads whenever nobody else does, until stopped.
pub(super) async fn lead(backend: Arc<Backend>, stop: CancellationToken) {
    while !stop.is_cancelled() {
        if let Err(error) = super::caught(try_lead(&backend, &stop)).await {
            // Also after a panic: whoever does not lead says so.
            metrics::gauge!("stararena_leader").set(0.0);
            metrics::counter!("stararena_job_failures_total", "job" => "lead").increment(1);
            tracing::warn!(error = &error as &dyn std::error::Error, "the leader's duties were interrupted");
        }
        tokio::select! {
            () = tokio::time::sleep(TRY_EVERY) => {}
            () = stop.cancelled() => {}
        }
    }
}

async fn try_lead(backend: &Arc<Backend>, stop: &CancellationToken) -> Result<()> {
    // The lock lives as long as this connection: taken out of the pool, closed at the end.
    let mut connection = backend.pg.acquire().await?.detach();
    let Some(term) = leaders::acquire(&mut connection, NAME).await? else { return Ok(()) };
    tracing::info!(term, "this process leads");
    metrics::gauge!("stararena_leader").set(1.0);
    let duties = CancellationToken::new();
    let mut tasks = JoinSet::new();
    tasks.spawn(invoicing::keep(Arc::clone(backend), duties.clone()));
    tasks.spawn(auditing::keep(Arc::clone(backend), duties.clone()));
    let mut known: HashMap<PerformanceId, ()> = HashMap::new();
    let outcome = loop {
        match leaders::still_leads(&mut connection, NAME, term).await {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(e) => break Err(e.into()),
        }
        match catalog::on_sale(&backend.pg, backend.now().plus(-AFTER_SALE_MS)).await {
            Ok(list) => {
                for id in list {
                    if known.insert(id, ()).is_none() {
                        tasks.spawn(run_sale(Arc::clone(backend), id, term, duties.clone()));
                    }
                }
            }
            Err(e) => break Err(e.into()),
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = stop.cancelled() => break Ok(()),
            // Each catches what panics in its steps, and ends when it is told to. All begin anew.
            Some(_) = tasks.join_next() => break Err(Error::Broken("a duty of the leader ended by itself".to_owned())),
        }
    };
    duties.cancel();
    while tasks.join_next().await.is_some() {}
    metrics::gauge!("stararena_leader").set(0.0);
    outcome
}

/// All duties of one performance.
async fn run_sale(backend: Arc<Backend>, id: PerformanceId, term: i64, stop: CancellationToken) {
    tokio::join!(
        guardian::guard(&backend, id, &stop),
        writer::write(&backend, id, &stop),
        sweeper::sweep(&backend, id, &stop),
        reconciler::keep(&backend, id, &stop),
        Door::new(id, term).keep(&backend, &stop),
    );
}
