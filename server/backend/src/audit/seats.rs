//! Seats and shoppers of one sale: Redis by itself, and Redis beside Postgres.

use super::{Check, Evidence, Finding, Scope};
use crate::backend::Backend;
use crate::catalog::Sale;
use crate::error::Result;
use crate::holds::HoldRecord;
use crate::postgres::{desk, log, orders};
use crate::redis::Keys;
use crate::work::AFTER_SALE_MS;
use domain::PerformanceId;
use domain::hold::SeatState;
use domain::live::LogPosition;
use domain::order::OrderStatus;
use redis::AsyncCommands as _;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// How long the audit waits for the order writer to drain the log.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(20);
/// How often it looks meanwhile.
const DRAIN_LOOK_EVERY: Duration = Duration::from_millis(50);
/// How often a seat has to be found different in both stores before that is told: they are read one after the other,
/// and a sale goes on meanwhile.
const LOOKS: usize = 5;
/// How long a hold may take from one store to the other, at most a part of it.
const LOOK_EVERY: Duration = Duration::from_millis(400);

const fn named(invariant: &'static str, title: &'static str) -> Check {
    Check { invariant, title, scope: Scope::Performance }
}

const WRITTEN: Check = named("I4", "the log of the sale is written, and what follows from it is done");
const OWNERS: Check = named("I4", "in Redis a seat is taken exactly when a hold that lists it owns it");
const COUNTS: Check = named("I4", "what accounts have adds up to the seats that are taken");
const STORES: Check = named("I4", "the map in Redis is what the orders in Postgres say");
const DOOR: Check = named("I5", "no more shoppers are inside than were allowed");

/// The checks of this module, in their order.
pub(super) const CHECKS: &[Check] = &[WRITTEN, OWNERS, COUNTS, STORES, DOOR];

/// Everything that the audit reads of a sale in Redis, at one instant: bytes, owners, holds, counts by
/// account, shoppers.
type SeatsState = (Vec<u8>, HashMap<u32, String>, HashMap<String, String>, HashMap<String, String>, i64);

impl Backend {
    /// Waits until everything in the log, and everything that follows from it, is written. A sale that goes on is
    /// never at its end: there `false` means that what was there at the beginning took too long.
    pub(super) async fn log_is_written(&self, id: PerformanceId) -> Result<bool> {
        let started = Instant::now();
        let mut at_first: Option<(Option<LogPosition>, HashSet<Uuid>)> = None;
        loop {
            let sale = self.reload_sale(id).await?;
            let last = self.seats.snapshot(&sale.keys, sale.row.epoch).await?.map(|read| read.at);
            let written = log::position(&self.pg, id).await?.and_then(|(_, position)| LogPosition::parse(&position));
            // Long after the end nobody reads its log, in which no hold can begin any more.
            let over = sale.row.closes.plus(AFTER_SALE_MS) <= self.now();
            let pending: Vec<Uuid> = sqlx::query_scalar(
                "select id from orders where performance_id = $1 and (
                    status = 'paid' or (status in ('paid', 'fulfilled') and confirmed_ms is null)
                    or (status in ('closed', 'refused', 'refunded') and released_ms is null))
                 union
                 select i.order_id from order_items i join orders o on o.id = i.order_id
                 where o.performance_id = $1 and i.returned_ms is not null and i.released_ms is null",
            )
            .bind(id.0)
            .fetch_all(&self.pg)
            .await?;
            if (over || (last.is_some() && last == written)) && pending.is_empty() {
                return Ok(true);
            }
            let pending: HashSet<Uuid> = pending.into_iter().collect();
            let (end, waiting) = at_first.get_or_insert_with(|| (last, pending.clone()));
            waiting.retain(|order| pending.contains(order));
            if started.elapsed() > DRAIN_TIMEOUT {
                return Ok((over || (end.is_some() && *end <= written)) && waiting.is_empty());
            }
            tokio::time::sleep(DRAIN_LOOK_EVERY).await;
        }
    }

    /// Whether Redis has the whole state of a performance. What an earlier run of it left behind is nobody's.
    pub(super) async fn has_seats(&self, id: PerformanceId, epoch: i64) -> Result<bool> {
        let keys = Keys::new(id);
        let standing: Option<i64> = self.seats.connection().get(keys.epoch()).await?;
        Ok(standing == Some(epoch) && self.seats.snapshot(&keys, epoch).await?.is_some())
    }

    /// The checks of a sale's seats and shoppers.
    pub(super) async fn audit_seats(&self, sale: &Sale, written: bool) -> Result<Vec<Finding>> {
        let mut late = Evidence::default();
        if !written {
            late.add("the order writer did not drain the log in time".to_owned());
        }
        let (state, mut differing) = self.look_at(sale).await?;
        for _ in 1..LOOKS {
            if differing.is_empty() {
                break;
            }
            tokio::time::sleep(LOOK_EVERY).await;
            let (_, still) = self.look_at(sale).await?;
            differing.retain(|line| still.contains(line));
        }
        let mut stores = Evidence::default();
        differing.into_iter().for_each(|line| stores.add(line));
        let (bytes, owner, holds, held_by, shoppers) = state;
        Ok(vec![
            late.of(WRITTEN),
            owners(&bytes, &owner, &holds).of(OWNERS),
            counts(&bytes, &held_by).of(COUNTS),
            stores.of(STORES),
            self.door(sale, shoppers).await?.of(DOOR),
        ])
    }

    /// Reads a sale in both stores: what Redis has at one instant, and the seats of which they say another thing.
    async fn look_at(&self, sale: &Sale) -> Result<(SeatsState, BTreeSet<String>)> {
        let mut connection = self.seats.connection();
        let keys = &sale.keys;
        let state: SeatsState = redis::pipe()
            .atomic()
            .get(keys.seats())
            .hgetall(keys.owner())
            .hgetall(keys.holds())
            .hgetall(keys.held_by())
            .zcard(keys.shoppers())
            .query_async(&mut connection)
            .await?;
        let mut claimed: HashMap<u32, bool> = HashMap::new();
        for order in orders::owning(&self.pg, sale.id()).await? {
            let sold = matches!(order.status, OrderStatus::Paid | OrderStatus::Fulfilled);
            claimed.extend(order.seats.iter().filter_map(|seat| Some((u32::try_from(*seat).ok()?, sold))));
        }
        let (bytes, owner, holds, ..) = &state;
        let differing = compare(bytes, &claimed, &reclaiming(owner, holds));
        Ok((state, differing))
    }

    /// Who is inside stays inside when the maximum is lowered: nobody may have entered above it.
    async fn door(&self, sale: &Sale, shoppers: i64) -> Result<Evidence> {
        let since = self.now().plus(-self.config.visit_ttl_ms);
        let lowered = desk::maximum_since(&self.pg, sale.id(), since).await?.unwrap_or(0);
        let allowed = lowered.max(i64::from(sale.row.shoppers_max));
        let mut found = Evidence::default();
        if shoppers > allowed {
            found.add(format!("{shoppers} shoppers inside, {allowed} allowed"));
        }
        Ok(found)
    }

    /// Raw bytes of the map, for checks from outside.
    ///
    /// # Errors
    /// Outages only.
    pub async fn seat_bytes(&self, id: PerformanceId) -> Result<Vec<u8>> {
        let sale = self.sale(id).await?;
        Ok(self.seats.connection().get(sale.keys.seats()).await?)
    }
}

fn is_taken(byte: u8) -> bool {
    matches!(SeatState::from_byte(byte), SeatState::Held | SeatState::Sold)
}

fn owners(bytes: &[u8], owner: &HashMap<u32, String>, holds: &HashMap<String, String>) -> Evidence {
    let mut found = Evidence::default();
    for (seat, byte) in (0u32..).zip(bytes) {
        match (is_taken(*byte), owner.get(&seat)) {
            (true, None) => found.add(format!("seat {seat}, taken and without an owner")),
            (false, Some(hold)) => found.add(format!("seat {seat}, not taken and owned by {hold}")),
            (true, Some(hold)) if !lists(holds.get(hold), seat) => {
                found.add(format!("seat {seat}, owned by {hold}, which does not list it"));
            }
            _ => {}
        }
    }
    found
}

fn counts(bytes: &[u8], held_by: &HashMap<String, String>) -> Evidence {
    let taken = bytes.iter().filter(|byte| is_taken(**byte)).count();
    let counted: usize = held_by.values().filter_map(|text| text.split_once(':')?.0.parse::<usize>().ok()).sum();
    let mut found = Evidence::default();
    if counted != taken {
        found.add(format!("{counted} seats of accounts, {taken} on the map"));
    }
    found
}

/// The seats that late money has taken: Postgres decides about them, and claims none until then.
fn reclaiming(owner: &HashMap<u32, String>, holds: &HashMap<String, String>) -> HashSet<u32> {
    let undecided = |hold: &String| record_of(holds.get(hold)).is_some_and(|record| record.is_reclaiming());
    owner.iter().filter(|pair| undecided(pair.1)).map(|(seat, _)| *seat).collect()
}

/// `claimed`: the claimed seats in Postgres, each with whether it is sold. `undecided`: those that may be unclaimed.
fn compare(bytes: &[u8], claimed: &HashMap<u32, bool>, undecided: &HashSet<u32>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (seat, byte) in (0u32..).zip(bytes) {
        let here = SeatState::from_byte(*byte);
        match claimed.get(&seat) {
            Some(true) if here != SeatState::Sold => {
                found.insert(format!("seat {seat}, sold in Postgres and {here:?} in Redis"));
            }
            Some(false) if here != SeatState::Held => {
                found.insert(format!("seat {seat}, claimed in Postgres and {here:?} in Redis"));
            }
            None if is_taken(*byte) && !undecided.contains(&seat) => {
                found.insert(format!("seat {seat}, {here:?} in Redis and unclaimed in Postgres"));
            }
            _ => {}
        }
    }
    found
}

fn record_of(raw: Option<&String>) -> Option<HoldRecord> {
    raw.and_then(|raw| serde_json::from_str(raw).ok())
}

fn lists(record: Option<&String>, seat: u32) -> bool {
    record_of(record)
        .and_then(|record| domain::ids::parse_seats(&record.s).ok())
        .is_some_and(|seats| seats.iter().any(|s| s.0 == seat))
}
