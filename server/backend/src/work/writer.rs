//! The order writer: reads one performance's log in order and commits rows with the new position.
//!
//! The position moves in the same transaction as the rows, under the condition that neither it nor
//! the epoch changed: each entry takes effect once, in order, whoever writes. An entry that can't be
//! written is set aside with its evidence, in such a transaction too, so that one bad entry never
//! holds up the others; many at once are no accident of an entry, and stop the writer instead.

mod bills;
mod fold;

use crate::backend::Backend;
use crate::catalog::Sale;
use crate::error::{Error, Result};
use crate::postgres::log as rows;
use crate::redis::{LogEntry, ShortAnswer, read_log};
use domain::{Millis, OrderId, PerformanceId};
use fold::{Folded, fold, understand};
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

/// Most entries of one batch that are set aside. More are a fault of ours or of the database: nothing
/// moves then, holding is refused as soon as the log is too far behind, and the log keeps everything.
const SET_ASIDE_MAX: usize = 20;

/// Writes until stopped.
pub(super) async fn write(backend: &Arc<Backend>, id: PerformanceId, stop: &CancellationToken) {
    while !stop.is_cancelled() {
        if let Err(error) = super::caught(write_epoch(backend, id, stop)).await {
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
    // A writer before this one may have died between its commit and its note.
    note_written(backend, &sale, &position).await?;
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
        if !take(backend, &sale, &position, &entries).await? {
            // Another writer moved the position, or the epoch rose: begin again from what is stored.
            return Ok(());
        }
        note_written(backend, &sale, &last).await?;
        metrics::counter!("stararena_log_entries_written_total").increment(count);
        metrics::histogram!("stararena_writer_batch_seconds").record(started.elapsed().as_secs_f64());
        position = last;
        since_trim += count;
        if since_trim >= TRIM_EVERY {
            trim(&mut connection, &sale, &position).await?;
            since_trim = 0;
        }
    }
    Ok(())
}

/// Before the first entry of a log.
const START: &str = "0-0";

/// Commits what the log of a sale still has, and says up to where, before its state is built anew from Postgres. The writer
/// may do so at the same time: each entry takes effect once, whoever is quicker.
pub(super) async fn drain(backend: &Arc<Backend>, sale: &Sale) -> Result<String> {
    let mut connection = backend.seats.connection();
    let mut upto = START.to_owned();
    for _ in 0..DRAIN_BATCHES_MAX {
        let Some((epoch, position)) = rows::position(&backend.pg, sale.id()).await? else {
            return Ok(START.to_owned());
        };
        let entries = read_log(&mut connection, &sale.keys, &position, None).await?;
        if entries.is_empty() || epoch != sale.row.epoch {
            return Ok(position);
        }
        take(backend, sale, &position, &entries).await?;
        upto = position;
    }
    Ok(upto)
}

/// Tells the scripts how far the log is written: they refuse to hold when it is too far behind.
async fn note_written(backend: &Backend, sale: &Sale, position: &str) -> Result<()> {
    match backend.seats.written(&sale.keys, sale.row.epoch, position).await? {
        ShortAnswer::Done | ShortAnswer::Again | ShortAnswer::Rebuilding => Ok(()),
        ShortAnswer::No(word, _) => Err(Error::Broken(format!("written.lua answered {word}"))),
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

/// Why a batch was not committed.
enum Refused {
    /// Postgres says no to what an entry says: again would not help.
    Data(String),
    /// Anything else.
    Fault(Error),
}

impl From<sqlx::Error> for Refused {
    fn from(error: sqlx::Error) -> Self {
        // Class 22: data exception; class 23: violated constraint. Everything else may pass.
        let code = error.as_database_error().and_then(|e| e.code());
        if code.is_some_and(|code| code.starts_with("22") || code.starts_with("23")) {
            Self::Data(error.to_string())
        } else {
            Self::Fault(error.into())
        }
    }
}

/// Commits entries that follow `from`: all in one transaction, or, where one of them can't be written,
/// each by itself. `false` when the position or the epoch is not what it was.
pub(crate) async fn take(backend: &Arc<Backend>, sale: &Sale, from: &str, entries: &[LogEntry]) -> Result<bool> {
    let Some(last) = entries.last() else { return Ok(true) };
    let whole: std::result::Result<Vec<_>, String> = entries.iter().map(understand).collect();
    if let Ok(understood) = whole {
        match commit(backend, sale, from, &last.id, fold(understood)).await {
            Ok(moved) => return Ok(moved),
            Err(Refused::Fault(error)) => return Err(error),
            Err(Refused::Data(_)) => {}
        }
    }
    let (mut from, mut set_aside) = (from.to_owned(), 0);
    for entry in entries {
        let outcome = match understand(entry) {
            Ok(understood) => commit(backend, sale, &from, &entry.id, fold([understood])).await,
            Err(why) => Err(Refused::Data(why)),
        };
        let moved = match outcome {
            Ok(moved) => moved,
            Err(Refused::Fault(error)) => return Err(error),
            Err(Refused::Data(why)) if set_aside < SET_ASIDE_MAX => {
                set_aside += 1;
                put_aside(backend, sale, &from, entry, &why).await?
            }
            Err(Refused::Data(why)) => {
                return Err(Error::Broken(format!("too many entries can't be written, the last one because {why}")));
            }
        };
        if !moved {
            return Ok(false);
        }
        from.clone_from(&entry.id);
    }
    Ok(true)
}

/// Moves past an entry that can't be written: its evidence is kept, the holds that it ended end, and a
/// hold that it would have made is given back, since it could never be paid.
async fn put_aside(backend: &Arc<Backend>, sale: &Sale, from: &str, entry: &LogEntry, why: &str) -> Result<bool> {
    let (id, now) = (sale.id(), backend.now());
    let mut tx = backend.pg.begin().await?;
    if !rows::advance(&mut *tx, id, sale.row.epoch, from, &entry.id).await? {
        tx.rollback().await?;
        return Ok(false);
    }
    rows::set_aside(&mut *tx, id, sale.row.epoch, &entry.id, &entry.to_json(), why, now).await?;
    if let Some(ended) = fold::ended(entry).filter(|ended| !ended.is_empty()) {
        let given_back: &[Uuid] = if fold::gives_back(entry) { ended.as_slice() } else { &[] };
        rows::close_ended(&mut tx, &ended, given_back, now).await?;
    }
    tx.commit().await?;
    metrics::counter!("stararena_log_entries_set_aside_total").increment(1);
    tracing::error!(%id, position = entry.id, why, "an entry of the log can't be written and was set aside");
    if let Some(hold) = entry.field("h").parse::<OrderId>().ok().filter(|_| entry.field("t") == "hold") {
        backend.seats.finish(&sale.keys, sale.row.epoch, hold).await?;
    }
    Ok(true)
}

/// Commits a batch: `false` when the position or the epoch is not what it was.
async fn commit(
    backend: &Arc<Backend>,
    sale: &Sale,
    from: &str,
    to: &str,
    folded: Folded,
) -> std::result::Result<bool, Refused> {
    let (id, now) = (sale.id(), backend.now());
    let mut tx = backend.pg.begin().await?;
    if !rows::advance(&mut *tx, id, sale.row.epoch, from, to).await? {
        tx.rollback().await?;
        return Ok(false);
    }
    if !folded.ended.is_empty() {
        rows::close_ended(&mut tx, &folded.ended, &folded.given_back, now).await?;
    }
    let (mut refused, mut over) = (Vec::new(), Vec::new());
    if !folded.orders.ids.is_empty() {
        let bills = bills::of(&mut tx, sale, &folded.orders).await?;
        refused = rows::insert_orders(&mut tx, id, &folded.orders, bills.as_ref(), now).await?;
        if let Some(order) = rows::incomplete(&mut *tx, &folded.orders).await? {
            return Err(Refused::Data(format!("order {order} names a seat that is not in the plan or has no price")));
        }
        over = rows::over_before(&mut *tx, &folded.orders).await?;
    }
    write_visits(&mut tx, id, folded.entered, folded.left, now).await?;
    tx.commit().await?;
    for hold in over {
        backend.seats.finish(&sale.keys, sale.row.epoch, OrderId(hold)).await.map_err(Refused::Fault)?;
    }
    if !refused.is_empty() {
        metrics::counter!("stararena_holds_refused_total").increment(refused.len() as u64);
        tracing::error!(%id, count = refused.len(), "holds were refused by the arbiter: the seats are built again");
        // Redis gave seats away that are another's: nothing it says can be trusted until it is rebuilt.
        backend.seats.distrust(&sale.keys).await.map_err(Refused::Fault)?;
    }
    Ok(true)
}

async fn write_visits(
    tx: &mut sqlx::PgConnection,
    id: PerformanceId,
    entered: HashMap<Uuid, (String, i64, i64)>,
    left: HashSet<Uuid>,
    now: Millis,
) -> std::result::Result<(), Refused> {
    if !entered.is_empty() {
        let (mut accounts, mut nonces, mut at, mut expires) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (account, (nonce, since, until)) in entered {
            accounts.push(account);
            nonces.push(nonce);
            at.push(since);
            expires.push(until);
        }
        rows::insert_admissions(tx, id, &accounts, &nonces, &at, &expires).await?;
    }
    if !left.is_empty() {
        let left: Vec<Uuid> = left.into_iter().collect();
        rows::end_admissions(tx, id, &left, now).await?;
    }
    Ok(())
}
