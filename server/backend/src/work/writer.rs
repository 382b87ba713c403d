//! The order writer: reads one performance's log in order and commits rows with the new position.
//!
//! The position moves in the same transaction as the rows, under the condition that neither it nor
//! the epoch changed: each entry takes effect once, in order, whoever writes.

use crate::backend::Backend;
use crate::catalog::Sale;
use crate::error::Result;
use crate::postgres::log as rows;
use crate::redis::{LogEntry, read_log};
use domain::PerformanceId;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// How long one read waits for news.
const WAIT_MS: usize = 500;
/// Entries of a few milliseconds travel in one transaction: a commit costs more than a row.
const GATHER: Duration = Duration::from_millis(5);
/// Pause after a fault.
const RETRY_EVERY: Duration = Duration::from_millis(200);
/// Committed entries are trimmed in steps, since each trim costs a call.
const TRIM_EVERY: u64 = 1_000;

/// Most batches that a rebuild waits for; a log that is longer than this was not being written.
const DRAIN_BATCHES_MAX: usize = 200;

/// What a batch of entries comes to.
#[derive(Debug, Default)]
struct Folded {
    ended: Vec<Uuid>,
    orders: rows::NewOrders,
    entered: HashMap<Uuid, (String, i64, i64)>,
    left: HashSet<Uuid>,
}

/// Writes until stopped.
pub(super) async fn write(backend: &Arc<Backend>, id: PerformanceId, stop: &CancellationToken) {
    while !stop.is_cancelled() {
        if let Err(error) = write_epoch(backend, id, stop).await {
            metrics::counter!("stararena_writer_failures_total").increment(1);
            tracing::warn!(%id, error = &error as &dyn std::error::Error, "the order writer was interrupted");
        }
        tokio::select! {
            () = tokio::time::sleep(RETRY_EVERY) => {}
            () = stop.cancelled() => {}
        }
    }
}

async fn write_epoch(backend: &Arc<Backend>, id: PerformanceId, stop: &CancellationToken) -> Result<()> {
    let sale = backend.reload_sale(id).await?;
    let Some((epoch, mut position)) = rows::position(&backend.pg, id).await? else { return Ok(()) };
    if epoch != sale.row.epoch {
        return Ok(());
    }
    let mut connection = backend.seats.own_connection(&sale.keys).await?;
    let mut since_trim = 0;
    while !stop.is_cancelled() {
        let standing: Option<i64> = redis::cmd("GET").arg(sale.keys.epoch()).query_async(&mut connection).await?;
        if standing != Some(epoch) {
            return Ok(());
        }
        let mut entries = read_log(&mut connection, &sale.keys, &position, Some(WAIT_MS)).await?;
        if let Some(last) = entries.last().filter(|_| entries.len() < crate::redis::LOG_BATCH) {
            tokio::time::sleep(GATHER).await;
            let more = read_log(&mut connection, &sale.keys, &last.id.clone(), None).await?;
            entries.extend(more);
        }
        let Some(last) = entries.last().map(|entry| entry.id.clone()) else { continue };
        let started = Instant::now();
        let count = entries.len() as u64;
        if !commit(backend, &sale, &position, &last, fold(&entries)).await? {
            // Another writer moved the position, or the epoch rose: begin again from what is stored.
            return Ok(());
        }
        metrics::counter!("stararena_log_entries_written_total").increment(count);
        metrics::histogram!("stararena_writer_batch_seconds").record(started.elapsed().as_secs_f64());
        note_lag(&last, backend.seats.time(&sale.keys).await?.0);
        position = last;
        since_trim += count;
        if since_trim >= TRIM_EVERY {
            trim(&mut connection, &sale, &position).await?;
            since_trim = 0;
        }
    }
    Ok(())
}

/// Commits what the log of a sale still has, before its state is built anew from Postgres. The writer
/// may do so at the same time: each entry takes effect once, whoever is quicker.
pub(super) async fn drain(backend: &Arc<Backend>, id: PerformanceId) -> Result<()> {
    let sale = backend.reload_sale(id).await?;
    let mut connection = backend.seats.connection();
    for _ in 0..DRAIN_BATCHES_MAX {
        let Some((epoch, position)) = rows::position(&backend.pg, id).await? else { return Ok(()) };
        let entries = read_log(&mut connection, &sale.keys, &position, None).await?;
        let Some(last) = entries.last().filter(|_| epoch == sale.row.epoch) else { return Ok(()) };
        commit(backend, &sale, &position, &last.id, fold(&entries)).await?;
    }
    Ok(())
}

/// How far the written position is behind Redis's clock, once a batch is committed.
#[expect(clippy::cast_precision_loss, reason = "a lag in milliseconds is far below 2^52")]
fn note_lag(last: &str, now_ms: i64) {
    if let Some(at) = domain::live::LogPosition::parse(last).and_then(|at| i64::try_from(at.ms).ok()) {
        metrics::gauge!("stararena_writer_lag_seconds").set((now_ms - at).max(0) as f64 / 1000.0);
    }
}

/// Hubs read behind the writer by a second at most; what lies further back is kept for nobody.
async fn trim(connection: &mut impl redis::aio::ConnectionLike, sale: &Sale, position: &str) -> Result<()> {
    const KEEP_MS: u64 = 60_000;
    if let Some(at) = domain::live::LogPosition::parse(position) {
        let below = format!("{}-0", at.ms.saturating_sub(KEEP_MS));
        redis::cmd("XTRIM")
            .arg(sale.keys.log())
            .arg("MINID")
            .arg("~")
            .arg(below)
            .query_async::<i64>(connection)
            .await?;
    }
    Ok(())
}

/// Folds entries in their order: a hold that ended within the batch never claims its seats.
fn fold(entries: &[LogEntry]) -> Folded {
    let mut folded = Folded::default();
    let mut index: HashMap<Uuid, usize> = HashMap::new();
    for entry in entries {
        for ended in entry.field("e").split(',').filter_map(|id| Uuid::parse_str(id).ok()) {
            folded.ended.push(ended);
            if let Some(at) = index.get(&ended) {
                folded.orders.open[*at] = false;
            }
        }
        let account = Uuid::parse_str(entry.field("a")).ok();
        match (entry.field("t"), account) {
            ("hold", Some(account)) => {
                let Ok(id) = Uuid::parse_str(entry.field("h")) else { continue };
                index.insert(id, folded.orders.ids.len());
                add_order(&mut folded.orders, id, account, entry);
            }
            ("enter", Some(account)) => {
                let number = |name: &str| entry.field(name).parse().unwrap_or(0);
                folded.left.remove(&account);
                folded.entered.insert(account, (entry.field("n").to_owned(), number("c"), number("x")));
            }
            ("sold" | "leave", Some(account)) => {
                folded.left.insert(account);
            }
            _ => {}
        }
    }
    folded.ended.sort_unstable();
    folded.ended.dedup();
    folded
}

fn add_order(orders: &mut rows::NewOrders, id: Uuid, account: Uuid, entry: &LogEntry) {
    orders.ids.push(id);
    orders.accounts.push(account);
    orders.open.push(true);
    orders.price_versions.push(entry.field("v").parse().unwrap_or(0));
    orders.created.push(entry.field("c").parse().unwrap_or(0));
    orders.expires.push(entry.field("x").parse().unwrap_or(0));
    for seat in entry.field("s").split(',').filter_map(|seat| seat.parse().ok()) {
        orders.item_orders.push(id);
        orders.item_seats.push(seat);
    }
}

/// Commits a batch: `false` when the position or the epoch is not what it was.
async fn commit(backend: &Arc<Backend>, sale: &Sale, from: &str, to: &str, folded: Folded) -> Result<bool> {
    let (id, now) = (sale.id(), backend.now());
    let mut tx = backend.pg.begin().await?;
    if !rows::advance(&mut *tx, id, sale.row.epoch, from, to).await? {
        tx.rollback().await?;
        return Ok(false);
    }
    if !folded.ended.is_empty() {
        rows::close_ended(&mut tx, &folded.ended, now).await?;
    }
    let refused = if folded.orders.ids.is_empty() {
        Vec::new()
    } else {
        rows::insert_orders(&mut tx, id, &folded.orders, now).await?
    };
    if !folded.entered.is_empty() {
        let (mut accounts, mut nonces, mut entered, mut expires) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (account, (nonce, at, until)) in folded.entered {
            accounts.push(account);
            nonces.push(nonce);
            entered.push(at);
            expires.push(until);
        }
        rows::insert_admissions(&mut tx, id, &accounts, &nonces, &entered, &expires).await?;
    }
    if !folded.left.is_empty() {
        let left: Vec<Uuid> = folded.left.into_iter().collect();
        rows::end_admissions(&mut tx, id, &left, now).await?;
    }
    tx.commit().await?;
    if !refused.is_empty() {
        metrics::counter!("stararena_holds_refused_total").increment(refused.len() as u64);
        tracing::error!(%id, count = refused.len(), "holds were refused by the arbiter: the seats are built again");
        // Redis gave seats away that are another's: nothing it says can be trusted until it is rebuilt.
        redis::cmd("DEL").arg(sale.keys.epoch()).query_async::<i64>(&mut backend.seats.connection()).await?;
    }
    Ok(true)
}
