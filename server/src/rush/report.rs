//! The report of a run: figures from the journals, and every breach.

use std::collections::BTreeMap;

use serde::Serialize;

use super::checks::Entry;
use super::fan::End;
use super::journal::{Claim, Figures, Kind, Operation, Outcome, histogram, quantile_ms};
use super::watch::{SocketLog, delta_latencies};
use super::world::World;

/// What a run came to. Latencies are of successful operations, from their intended start.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Fans.
    pub fans: u64,
    /// Places taken a second, while places were being taken.
    pub joins_per_s: f64,
    /// Median time of a join.
    pub join_p50_ms: f64,
    /// 99th percentile of a join.
    pub join_p99_ms: f64,
    /// Fans who went in.
    pub admitted: u64,
    /// 99th percentile of an exchange.
    pub enter_p99_ms: f64,
    /// Accepted holds.
    pub holds: u64,
    /// Holds refused because another had a seat first.
    pub hold_conflicts: u64,
    /// Median time of an accepted hold.
    pub hold_p50_ms: f64,
    /// 99th percentile of an accepted hold.
    pub hold_p99_ms: f64,
    /// Paid orders.
    pub orders_paid: u64,
    /// Tickets issued.
    pub tickets_issued: u64,
    /// Median time from the accepted card to the tickets (seen by looking every 200 ms, later 1 s).
    pub order_p50_ms: f64,
    /// 99th percentile of it.
    pub order_p99_ms: f64,
    /// Median time from a hold's answer to its arrival on the sockets' maps.
    pub delta_p50_ms: f64,
    /// 99th percentile of it.
    pub delta_p99_ms: f64,
    /// Arrivals that were measured.
    pub deltas: u64,
    /// Sockets to the live map.
    pub sockets: u64,
    /// Times that a socket broke or did not open.
    pub socket_failures: u64,
    /// Snapshots asked for after a gap.
    pub resyncs: u64,
    /// Fans who left the queue, gave seats back, or left them behind.
    pub walked_away: u64,
    /// How the evenings ended.
    pub ends: BTreeMap<String, u64>,
    /// Ordinary refusals, by "operation: code".
    pub refusals: BTreeMap<String, u64>,
    /// What should not happen on a healthy server, by "operation: what".
    pub errors: BTreeMap<String, u64>,
    /// Contradictions to the invariants, in sentences.
    pub breaches: Vec<String>,
    /// How long the run took.
    pub wall_s: f64,
}

/// Adds everything up.
pub(super) fn write(
    world: &World,
    entries: &[Entry<'_>],
    ends: &[End],
    logs: &[SocketLog],
    breaches: Vec<String>,
) -> Report {
    let figures = Figures::over(entries.iter().map(|(_, journal)| *journal));
    let claims = || entries.iter().flat_map(|(_, journal)| &journal.claims);
    let deltas = delta_latencies(claims(), logs);
    let settlements = settlements(claims());
    let mut errors = figures.errors.clone();
    let malformed: u64 = logs.iter().map(|log| log.malformed).sum();
    if malformed > 0 {
        errors.insert("socket: malformed frame".to_owned(), malformed);
    }
    Report {
        fans: count(entries.len()),
        joins_per_s: joins_per_s(entries),
        join_p50_ms: figures.latency_ms(Kind::Join, 0.5),
        join_p99_ms: figures.latency_ms(Kind::Join, 0.99),
        admitted: count(entries.iter().filter(|(_, journal)| !journal.visits.is_empty()).count()),
        enter_p99_ms: figures.latency_ms(Kind::Enter, 0.99),
        holds: count(claims().count()),
        hold_conflicts: figures.refused(Kind::Hold, "seat_taken"),
        hold_p50_ms: figures.latency_ms(Kind::Hold, 0.5),
        hold_p99_ms: figures.latency_ms(Kind::Hold, 0.99),
        orders_paid: count(claims().filter(|claim| claim.is_sold()).count()),
        tickets_issued: claims().map(|claim| count(claim.tickets.len())).sum(),
        order_p50_ms: quantile_ms(&settlements, 0.5),
        order_p99_ms: quantile_ms(&settlements, 0.99),
        delta_p50_ms: quantile_ms(&deltas, 0.5),
        delta_p99_ms: quantile_ms(&deltas, 0.99),
        deltas: deltas.len(),
        sockets: count(logs.len()),
        socket_failures: logs.iter().map(|log| log.failures).sum(),
        resyncs: logs.iter().map(|log| log.resyncs).sum(),
        walked_away: count(
            ends.iter().filter(|end| matches!(end, End::LeftQueue | End::Released | End::Abandoned)).count(),
        ),
        ends: ends.iter().fold(BTreeMap::new(), |mut counts, end| {
            *counts.entry(end.word().to_owned()).or_default() += 1;
            counts
        }),
        refusals: figures.refusals,
        errors,
        breaches,
        wall_s: (world.clock.elapsed().as_secs_f64() * 100.0).round() / 100.0,
    }
}

fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

fn settlements<'a>(claims: impl Iterator<Item = &'a Claim>) -> hdrhistogram::Histogram<u64> {
    let mut latencies = histogram();
    for claim in claims {
        if let (Some(charged_us), Some(fulfilled_us)) = (claim.charged_us, claim.fulfilled_us) {
            latencies.saturating_record(fulfilled_us.saturating_sub(charged_us));
        }
    }
    latencies
}

/// Successful joins a second, from the first that was intended to the last answer.
fn joins_per_s(entries: &[Entry<'_>]) -> f64 {
    let is_join = |operation: &&Operation| operation.kind == Kind::Join && operation.outcome == Outcome::Ok;
    let joins = || entries.iter().flat_map(|(_, journal)| &journal.operations).filter(is_join);
    let (Some(first_us), Some(last_us)) = (joins().map(|o| o.intended_us).min(), joins().map(|o| o.ended_us).max())
    else {
        return 0.0;
    };
    let lasted_us = u32::try_from(last_us - first_us).unwrap_or(u32::MAX).max(1);
    let joined = u32::try_from(joins().count()).unwrap_or(u32::MAX);
    (f64::from(joined) * 1e7 / f64::from(lasted_us)).round() / 10.0
}
