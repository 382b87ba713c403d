//! The guardian: sees when Redis lost a sale's state, and rebuilds it from Postgres. The warm-up
//! before an on-sale is the same code.

use super::writer;
use crate::backend::Backend;
use crate::catalog::Sale;
use crate::error::{Error, Result};
use crate::postgres::orders::{EndedRow, OwningRow};
use crate::postgres::queue::{AdmissionRow, QueueRow};
use crate::postgres::{allocations, catalog, log, orders, queue};
use crate::redis::{ARRIVAL_BYTES, QueueStart, StoreRun, read_log};
use domain::hold::{SeatByte, SeatState};
use domain::order::OrderStatus;
use domain::{Millis, PerformanceId, SeatNo};
use redis::AsyncCommands as _;
use serde_json::json;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How often the state is looked at.
const EVERY: Duration = Duration::from_millis(250);
/// Numbers that may have been given and lost within a second of the rush: skipped, so that none is given
/// twice. Joins reach some ten thousands a second.
const RUSH_GAP: i64 = 200_000;
/// The rush: so long around the moments at which many join.
const RUSH_MS: i64 = 5_000;
/// At other times as many as were ever given between two checkpoints, twice, and this.
const GAP_LEAST: i64 = 256;
/// Places that are put back in one call: the store does nothing else for some milliseconds.
const RESTORE_MAX: usize = 4_096;
/// Ended holds are remembered by a rebuild for so long after they were made: a request may be repeated.
const TOMB_TTL_MS: i64 = 86_400_000;
/// Most ended holds that a rebuild remembers, the newest: it must be quick, and old requests don't come back.
const TOMBS_MAX: i64 = 50_000;
/// A staged state that nobody puts in place goes away: far longer than a rebuild takes.
const STAGING_TTL_MS: i64 = 600_000;

/// Guards until stopped.
pub(super) async fn guard(backend: &Arc<Backend>, id: PerformanceId, stop: &CancellationToken) {
    let mut every = tokio::time::interval(EVERY);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = every.tick() => {}
            () = stop.cancelled() => return,
        }
        if let Err(error) = super::caught(guard_once(backend, id)).await {
            metrics::counter!("stararena_guardian_failures_total").increment(1);
            tracing::warn!(%id, error = &error as &dyn std::error::Error, "the state of a sale could not be checked or rebuilt");
        }
    }
}

async fn guard_once(backend: &Arc<Backend>, id: PerformanceId) -> Result<()> {
    let mut sale = backend.sale(id).await?;
    let mut connection = backend.seats.connection();
    let run = backend.seats.store_run(&sale.keys).await?;
    let standing: Option<i64> = connection.get(sale.keys.epoch()).await?;
    let (built_by, lineage): (Option<String>, Option<String>) =
        connection.hmget(sale.keys.meta(), &["run", "lineage"]).await?;
    if standing != Some(sale.row.epoch) {
        // Another leader may have built it since this sale was read: a good state is never taken down.
        sale = backend.reload_sale(id).await?;
    }
    if standing == Some(sale.row.epoch)
        && sale.row.epoch > 0
        && built_by.as_ref() == Some(&run.run)
        && lineage.as_ref() == Some(&run.lineage)
    {
        refresh_settings(backend, &sale).await?;
        // The numbers may be on another server than the seats, and lost alone.
        if backend.seats.lobby(&sale.keys).await?.is_none() {
            let mut alone = backend.pg.begin().await?;
            if catalog::build_alone(&mut *alone, id).await? {
                open_queue(backend, &sale, false).await?;
            }
        }
        return Ok(());
    }
    // Whoever builds the seats now, here or in another process, does so alone: two would undo each other.
    let mut alone = backend.pg.begin().await?;
    if !catalog::build_alone(&mut *alone, id).await? {
        return Ok(());
    }
    // Whoever was before this one may have put a good state in place: that is never taken down.
    if connection.get::<_, Option<i64>>(sale.keys.epoch()).await? != standing {
        return Ok(());
    }
    // Another run of the store may have lost its last second: refuse until it is rebuilt.
    backend.seats.distrust(&sale.keys).await?;
    let started = Instant::now();
    // Nothing is added from here on: what the log still has was accepted, and goes first.
    let written = writer::drain(backend, &sale).await?;
    rebuild(backend, id, (sale.row.epoch, &written), &run).await?;
    drop(alone);
    metrics::counter!("stararena_rebuilds_total").increment(1);
    metrics::histogram!("stararena_rebuild_seconds").record(started.elapsed().as_secs_f64());
    Ok(())
}

/// Stops a sale and writes down all that it had accepted: up to where; none where something is left to
/// write. The sale refuses from here on, until its seats are put in place again.
pub(crate) async fn bring_to_rest(backend: &Arc<Backend>, sale: &Sale) -> Result<Option<String>> {
    backend.seats.distrust(&sale.keys).await?;
    let written = writer::drain(backend, sale).await?;
    let rest = read_log(&mut backend.seats.connection(), &sale.keys, &written, None).await?;
    Ok(rest.is_empty().then_some(written))
}

/// Carries what the organizer changed into the running sale; whether it has them now. Older settings
/// than those that are there change nothing.
pub(crate) async fn refresh_settings(backend: &Backend, sale: &Sale) -> Result<bool> {
    let row = &sale.row;
    let times = (row.registers, row.opens, row.closes);
    backend.seats.put_settings(&sale.keys, row.epoch, row.settings_version, &settings(sale), times).await
}

fn settings(sale: &Sale) -> Vec<(&'static str, String)> {
    let row = &sale.row;
    vec![
        ("opens", row.opens.0.to_string()),
        ("closes", row.closes.0.to_string()),
        ("limit", row.seat_limit.to_string()),
        ("ttl", row.hold_ttl_ms.to_string()),
        ("version", row.price_version.to_string()),
        ("max", row.shoppers_max.to_string()),
        ("paused", u8::from(row.paused).to_string()),
    ]
}

/// Builds the state of a sale from Postgres and puts it in place in one step. `from` is the epoch whose
/// log was written, up to `written`: where another guardian has raised it since, that one's state may have
/// been sold from already, and its log is not ours to drop.
pub(crate) async fn rebuild(
    backend: &Arc<Backend>,
    id: PerformanceId,
    (from, written): (i64, &str),
    run: &StoreRun,
) -> Result<()> {
    // First in Postgres: from here on no writer of the old epoch can commit. With it begins the position:
    // an epoch without one would keep whoever comes next from writing what was accepted meanwhile.
    let mut tx = backend.pg.begin().await?;
    let Some(epoch) = catalog::raise_epoch(&mut *tx, id, from).await? else { return Ok(()) };
    log::start_epoch(&mut *tx, id, epoch).await?;
    tx.commit().await?;
    put_in_place(backend, id, (epoch, written), run).await
}

/// The second half of a rebuild, once Postgres has the new epoch.
pub(crate) async fn put_in_place(
    backend: &Arc<Backend>,
    id: PerformanceId,
    (epoch, written): (i64, &str),
    run: &StoreRun,
) -> Result<()> {
    let sale = backend.reload_sale(id).await?;
    let owning = orders::owning(&backend.pg, id).await?;
    let visits = queue::admissions(&backend.pg, id, backend.seats.time(&sale.keys).await?).await?;
    let queued = queue::read(&backend.pg, id).await?;
    // The first time nobody can have been given a number.
    open_queue(backend, &sale, epoch <= 1).await?;
    let kept = allocations::kept(&backend.pg, id).await?;
    let bytes = seat_bytes(&sale, &catalog::blocked(&backend.pg, id).await?, &kept, &owning)?;
    check_counts(&sale, &bytes, &owning)?;
    let now = backend.seats.time(&sale.keys).await?;
    let ended = orders::ended_since(&backend.pg, id, now.plus(-TOMB_TTL_MS), TOMBS_MAX).await?;
    let built = Built { bytes: &bytes, owning: &owning, ended: &ended, visits: &visits, queued: &queued };
    stage(backend, &sale, run, &built).await?;
    match backend.seats.swap(&sale.keys, epoch, bytes.len(), written).await?.as_str() {
        "ok" => {
            tracing::info!(%id, epoch, seats = bytes.len(), orders = owning.len(), "the state of a sale was built");
            Ok(())
        }
        "newer" => Ok(()),
        other => Err(Error::Broken(format!("the rebuilt state of {id} was not accepted: {other}"))),
    }
}

/// Puts the numbers of a queue right in this run of the store, and opens it; nothing where it is open.
async fn open_queue(backend: &Backend, sale: &Sale, first_time: bool) -> Result<()> {
    if backend.seats.lobby(&sale.keys).await?.is_some() {
        return Ok(());
    }
    let queued = queue::read(&backend.pg, sale.id()).await?;
    let mut next = 0;
    while let Some(row) = queue::arrivals_from(&backend.pg, sale.id(), next).await? {
        for (at, part) in row.accounts.chunks(RESTORE_MAX * ARRIVAL_BYTES).enumerate() {
            let first = row.first + i64::try_from(at * RESTORE_MAX).unwrap_or(0);
            let first = u32::try_from(first).map_err(|e| Error::Broken(format!("an arrival number: {e}")))?;
            if !backend.seats.queue_restore(&sale.keys, first, part).await? {
                return Ok(());
            }
        }
        next = row.first + i64::try_from(row.accounts.len() / ARRIVAL_BYTES).unwrap_or(0);
    }
    let now = backend.seats.time(&sale.keys).await?;
    let gap = if first_time { 0 } else { arrival_gap(&sale.row, queued.joined_step, now) };
    let start = QueueStart {
        registers: sale.row.registers,
        opens: sale.row.opens,
        closes: sale.row.closes,
        mode: sale.row.mode,
        next: next.max(queued.joined) + gap,
        lobby: queued.lobby,
        holes: gap > 0,
    };
    backend.seats.queue_init(&sale.keys, &start).await
}

/// How many numbers may have been given since they were last written down.
fn arrival_gap(row: &catalog::PerformanceRow, steepest: i64, now: Millis) -> i64 {
    let rush = [row.registers, row.opens].iter().any(|at| (now.0 - at.0).abs() <= RUSH_MS);
    if rush { RUSH_GAP } else { (2 * steepest + GAP_LEAST).min(RUSH_GAP) }
}

/// The bytes that the rows of Postgres come to.
pub(super) fn seat_bytes(sale: &Sale, blocked: &[u32], kept: &[(u32, u8)], owning: &[OwningRow]) -> Result<Vec<u8>> {
    let mut states: Vec<SeatState> = (0..sale.row.seat_count)
        .map(|seat| if sale.price(SeatNo(seat)).is_some() { SeatState::Available } else { SeatState::Blocked })
        .collect();
    let outside = |seat: &dyn std::fmt::Display| Error::Broken(format!("seat {seat} is not in the plan"));
    for seat in blocked {
        *states.get_mut(*seat as usize).ok_or_else(|| outside(seat))? = SeatState::Blocked;
    }
    for order in owning {
        let state = if is_sold(order.status) { SeatState::Sold } else { SeatState::Held };
        for seat in &order.seats {
            let slot =
                usize::try_from(*seat).ok().and_then(|seat| states.get_mut(seat)).ok_or_else(|| outside(seat))?;
            *slot = state;
        }
    }
    let mut bytes: Vec<u8> = states.iter().map(|state| SeatByte::new(*state, 0).0).collect();
    for (seat, number) in kept {
        let slot = bytes.get_mut(*seat as usize).ok_or_else(|| outside(seat))?;
        *slot = SeatByte::new(SeatByte(*slot).state(), *number).0;
    }
    Ok(bytes)
}

pub(super) fn is_sold(status: OrderStatus) -> bool {
    matches!(status, OrderStatus::Paid | OrderStatus::Fulfilled)
}

/// The state of the hold of an open or paid order.
fn hold_state(status: OrderStatus) -> &'static str {
    match status {
        OrderStatus::PendingPayment => "held",
        OrderStatus::PaymentProcessing => "paying",
        _ => "sold",
    }
}

/// The record of a hold, from its order. It has no wish: that is not kept in Postgres.
pub(super) fn record_of(order: &OwningRow) -> String {
    let csv = order.seats.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    json!({ "a": order.account.simple(), "s": csv, "n": order.seats.len(), "v": order.price_version,
            "c": order.created.0, "x": order.expires.0, "o": order.expires.0, "st": hold_state(order.status),
            "k": order.attempt })
    .to_string()
}

/// Held and sold seats of each section must be as many as its claims: a state that does not add up is
/// never put in place.
fn check_counts(sale: &Sale, bytes: &[u8], owning: &[OwningRow]) -> Result<()> {
    let mut claims: HashMap<u16, usize> = HashMap::new();
    for seat in owning.iter().flat_map(|order| &order.seats) {
        let section =
            usize::try_from(*seat).ok().and_then(|seat| sale.seats.seats.get(seat)).map(|seat| seat.section_no);
        *claims.entry(section.unwrap_or(u16::MAX)).or_default() += 1;
    }
    let mut taken: HashMap<u16, usize> = HashMap::new();
    for (byte, seat) in bytes.iter().zip(&sale.seats.seats) {
        if matches!(SeatState::from_byte(*byte), SeatState::Held | SeatState::Sold) {
            *taken.entry(seat.section_no).or_default() += 1;
        }
    }
    if claims == taken && bytes.len() == sale.seats.seats.len() {
        Ok(())
    } else {
        metrics::counter!("stararena_rebuild_mismatches_total").increment(1);
        Err(Error::Broken("claims and rebuilt seats differ in a section".to_owned()))
    }
}

/// What a rebuild read of Postgres.
struct Built<'a> {
    bytes: &'a [u8],
    owning: &'a [OwningRow],
    /// Orders that are over: the key of an ended hold must not come alive again.
    ended: &'a [EndedRow],
    visits: &'a [AdmissionRow],
    queued: &'a QueueRow,
}

async fn stage(backend: &Arc<Backend>, sale: &Sale, run: &StoreRun, built: &Built<'_>) -> Result<()> {
    let staging = sale.keys.staging(sale.row.epoch);
    let [meta, seats, owner, holds, expiry, held_by, shoppers, entered, _log, tombs] = &staging;
    let mut pipe = redis::pipe();
    for key in &staging {
        pipe.del(key).ignore();
    }
    pipe.set(seats, built.bytes).ignore();
    pipe.hset_multiple(meta, &settings(sale)).ignore();
    pipe.hset(meta, "settings", sale.row.settings_version).ignore();
    // Written down before it was shown: nothing that a fan saw is taken back, and nothing is added.
    pipe.hset(meta, "serving", built.queued.serving).ignore();
    pipe.hset(meta, "control", &built.queued.control).hset(meta, "window", &built.queued.window).ignore();
    pipe.hset(meta, "run", &run.run).hset(meta, "lineage", &run.lineage).ignore();
    stage_holds(&mut pipe, [owner, holds, expiry, held_by], built.owning);
    for visit in built.visits {
        pipe.zadd(shoppers, visit.account.simple(), visit.expires.0).ignore();
        pipe.hset(entered, visit.account.simple(), &visit.nonce).ignore();
    }
    for order in built.ended {
        let account = order.account.simple();
        let record = json!({ "a": account, "s": "", "n": 0, "v": 1, "c": 0, "x": 0, "o": 0, "st": "closed", "k": 0 });
        pipe.hset(holds, order.id.simple(), record.to_string()).ignore();
        pipe.zadd(tombs, order.id.simple(), order.created.plus(TOMB_TTL_MS).0).ignore();
    }
    for key in &staging {
        pipe.pexpire(key, STAGING_TTL_MS).ignore();
    }
    pipe.query_async::<()>(&mut backend.seats.staging_connection(&sale.keys).await?).await?;
    Ok(())
}

/// The open and paid orders as holds, and what each account has of them.
fn stage_holds(pipe: &mut redis::Pipeline, [owner, holds, expiry, held_by]: [&String; 4], owning: &[OwningRow]) {
    let mut counts: HashMap<String, (usize, String)> = HashMap::new();
    for order in owning {
        let (id, account) = (order.id.simple(), order.account.simple());
        let state = hold_state(order.status);
        pipe.hset(holds, &id, record_of(order)).ignore();
        for seat in &order.seats {
            pipe.hset(owner, seat, &id).ignore();
        }
        if state == "held" {
            pipe.zadd(expiry, &id, order.expires.0).ignore();
        }
        let entry = counts.entry(account).or_default();
        entry.0 += order.seats.len();
        if state != "sold" {
            entry.1 = id;
        }
    }
    for (account, (count, open)) in counts {
        pipe.hset(held_by, account, format!("{count}:{open}")).ignore();
    }
}
