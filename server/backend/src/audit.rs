//! The invariants as checks on live stores. Each answers what is wrong, or nothing.

use crate::backend::Backend;
use crate::catalog::Sale;
use crate::error::Result;
use crate::postgres::{catalog, orders};
use domain::PerformanceId;
use domain::hold::SeatState;
use domain::order::OrderStatus;
use redis::AsyncCommands as _;
use sqlx::Row as _;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the audit waits for the order writer to drain the log.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(20);
/// How often it looks meanwhile.
const DRAIN_LOOK_EVERY: Duration = Duration::from_millis(50);
/// Most lines of one kind in a report.
const LINES_MAX: usize = 10;

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// Which invariant, such as `I1`.
    pub invariant: &'static str,
    /// What was found.
    pub what: String,
}

impl std::fmt::Display for Breach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.invariant, self.what)
    }
}

/// Everything that the audit reads of a sale in Redis, at one instant: bytes, owners, holds, counts by
/// account, shoppers.
type SeatsState = (Vec<u8>, HashMap<u32, String>, HashMap<String, String>, HashMap<String, String>, i64);

/// Queries that must find no row: invariant, what a row means, SQL with the performance as $1.
const MUST_BE_EMPTY: &[(&str, &str, &str)] = &[
    (
        "I1",
        "a seat belongs to two open or paid orders",
        "select i.seat_no::text from order_items i join orders o on o.id = i.order_id
         where o.performance_id = $1 and o.status in ('pending_payment', 'payment_processing', 'paid', 'fulfilled')
            and i.returned_ms is null
         group by i.seat_no having count(*) > 1",
    ),
    (
        "I4",
        "a claim without an open or paid order",
        "select c.seat_no::text from seat_claims c left join orders o on o.id = c.order_id
         where c.performance_id = $1 and (o.id is null or o.status not in ('pending_payment', 'payment_processing', 'paid', 'fulfilled'))",
    ),
    (
        "I4",
        "an item of an open or paid order without its claim, or one that was given back with it",
        "select i.seat_no::text from order_items i join orders o on o.id = i.order_id
         left join seat_claims c on c.performance_id = o.performance_id and c.seat_no = i.seat_no and c.order_id = o.id
         where o.performance_id = $1 and o.status in ('pending_payment', 'payment_processing', 'paid', 'fulfilled')
            and (c.order_id is null) <> (i.returned_ms is not null)",
    ),
    (
        "I2",
        "a fulfilled order with other than one valid ticket a seat",
        "select o.id::text from orders o where o.performance_id = $1 and o.status = 'fulfilled'
         and (select count(*) from order_items i where i.order_id = o.id and i.returned_ms is null)
          <> (select count(*) from tickets t where t.order_id = o.id and t.revoked_ms is null)
         -- A dispute that was lost revoked them.
         and not exists (select 1 from disputes d where d.order_id = o.id and d.status = 'lost')",
    ),
    (
        "I2",
        "captured money on an order that is neither paid nor being refunded",
        "select a.id::text from attempts a join orders o on o.id = a.order_id
         where o.performance_id = $1 and a.status = 'captured' and o.status not in ('paid', 'fulfilled')
         and not exists (select 1 from refunds r where r.attempt_id = a.id and r.status not in ('failed', 'rejected'))
         and not (o.status = 'refunded' and exists (select 1 from refunds r
            where r.attempt_id = a.id and r.status = 'failed' and r.retried_as is null))",
    ),
    (
        "I2",
        "more money on its way back, or back, than was captured",
        "select a.id::text from attempts a join orders o on o.id = a.order_id join refunds r on r.attempt_id = a.id
         where o.performance_id = $1 and r.status in ('requested', 'approved', 'submitted', 'succeeded')
            and r.note <> 'made at the provider'
         group by a.id, a.amount_minor having sum(r.amount_minor) > a.amount_minor",
    ),
    (
        "I2",
        "a paid order without captured money",
        "select o.id::text from orders o where o.performance_id = $1 and o.status in ('paid', 'fulfilled')
         and not exists (select 1 from attempts a where a.order_id = o.id and a.status in ('captured', 'refunded'))",
    ),
    (
        "I3",
        "a posting that does not sum to zero",
        "select source from ledger_entries where $1::uuid is not null group by source, currency having sum(amount_minor) <> 0",
    ),
    (
        "I3",
        "captured money that is not posted",
        "select a.id::text from attempts a join orders o on o.id = a.order_id where o.performance_id = $1 and a.status in ('captured', 'refunded')
         and not exists (select 1 from ledger_entries l where l.source = 'capture:' || a.id and l.account = 'provider_clearing' and l.amount_minor = a.amount_minor)",
    ),
    (
        "I3",
        "an order whose lines do not sum to its total",
        "select o.id::text from orders o join order_lines l on l.order_id = o.id where o.performance_id = $1
         group by o.id having sum(l.gross_minor) <> o.total_minor",
    ),
    (
        "I3",
        "an order that was billed by fees and has no lines",
        "select o.id::text from orders o
         join performance_fees f on f.performance_id = o.performance_id and f.version = o.price_version
         where o.performance_id = $1 and not exists (select 1 from order_lines l where l.order_id = o.id)",
    ),
    (
        "I3",
        "an organization whose documents leave out a number",
        "select organization_id::text from invoices where $1::uuid is not null
         group by organization_id having count(*) <> max(number)",
    ),
    (
        "I1",
        "a seat with two valid tickets",
        "select seat_no::text from tickets where performance_id = $1 and revoked_ms is null group by seat_no having count(*) > 1",
    ),
];

impl Backend {
    /// Checks I1 to I5 of one performance in both stores, after the log has been drained.
    ///
    /// # Errors
    /// Outages only: a breach is a result.
    pub async fn audit(self: &Arc<Self>, id: PerformanceId) -> Result<Vec<Breach>> {
        let mut breaches = Vec::new();
        if !self.drained(id).await? {
            breaches
                .push(Breach { invariant: "I4", what: "the order writer did not drain the log in time".to_owned() });
        }
        for (invariant, meaning, sql) in MUST_BE_EMPTY {
            let rows: Vec<String> = sqlx::query_scalar(*sql).bind(id.0).fetch_all(&self.pg).await?;
            if !rows.is_empty() {
                let shown = rows.iter().take(LINES_MAX).cloned().collect::<Vec<_>>().join(", ");
                breaches.push(Breach { invariant, what: format!("{meaning}: {shown} ({} in all)", rows.len()) });
            }
        }
        let sale = self.reload_sale(id).await?;
        breaches.extend(self.audit_seats(&sale).await?);
        Ok(breaches)
    }

    /// Every performance that is on sale.
    ///
    /// # Errors
    /// Outages only.
    pub async fn sales(&self) -> Result<Vec<PerformanceId>> {
        Ok(catalog::on_sale(&self.pg, self.now()).await?)
    }

    /// Waits until everything in the log, and everything that follows from it, is written.
    async fn drained(&self, id: PerformanceId) -> Result<bool> {
        let started = Instant::now();
        loop {
            let sale = self.reload_sale(id).await?;
            let last = self.seats.snapshot(&sale.keys, sale.row.epoch).await?.map(|read| read.at.to_string());
            let written = crate::postgres::log::position(&self.pg, id).await?.map(|(_, position)| position);
            let pending: i64 = sqlx::query(
                "select count(*) as n from orders where performance_id = $1 and (
                    status = 'paid' or (status in ('paid', 'fulfilled') and confirmed_ms is null)
                    or (status in ('closed', 'refused', 'refunded') and released_ms is null)
                    or exists (select 1 from order_items i where i.order_id = orders.id
                        and i.returned_ms is not null and i.released_ms is null))",
            )
            .bind(id.0)
            .fetch_one(&self.pg)
            .await?
            .try_get("n")?;
            if last.is_some() && last == written && pending == 0 {
                return Ok(true);
            }
            if started.elapsed() > DRAIN_TIMEOUT {
                return Ok(false);
            }
            tokio::time::sleep(DRAIN_LOOK_EVERY).await;
        }
    }

    /// I4 and I5 in Redis, and between Redis and Postgres.
    async fn audit_seats(&self, sale: &Sale) -> Result<Vec<Breach>> {
        let mut connection = self.seats.connection();
        let keys = &sale.keys;
        let (bytes, owner, holds, held_by, shoppers): SeatsState = redis::pipe()
            .atomic()
            .get(keys.seats())
            .hgetall(keys.owner())
            .hgetall(keys.holds())
            .hgetall(keys.held_by())
            .zcard(keys.shoppers())
            .query_async(&mut connection)
            .await?;
        let mut found = Vec::new();
        let mut breach = |invariant, what: String| {
            if found.len() < LINES_MAX * 4 {
                found.push(Breach { invariant, what });
            }
        };
        let mut taken = 0usize;
        for (seat, byte) in (0u32..).zip(&bytes) {
            let is_taken = matches!(SeatState::from_byte(*byte), SeatState::Held | SeatState::Sold);
            taken += usize::from(is_taken);
            match (is_taken, owner.get(&seat)) {
                (true, None) => breach("I4", format!("seat {seat} is taken and has no owner")),
                (false, Some(hold)) => breach("I4", format!("seat {seat} is not taken and is owned by {hold}")),
                (true, Some(hold)) if !lists(holds.get(hold), seat) => {
                    breach("I4", format!("seat {seat} is owned by {hold}, which does not list it"))
                }
                _ => {}
            }
        }
        let counted: usize = held_by.values().filter_map(|text| text.split_once(':')?.0.parse::<usize>().ok()).sum();
        if counted != taken {
            breach("I4", format!("accounts hold {counted} seats, the map says {taken}"));
        }
        // Who is inside stays inside when the maximum is lowered: nobody may have entered above it.
        let since = self.now().plus(-self.config.visit_ttl_ms);
        let lowered = crate::postgres::desk::maximum_since(&self.pg, sale.id(), since).await?.unwrap_or(0);
        let allowed = lowered.max(i64::from(sale.row.shoppers_max));
        if shoppers > allowed {
            breach("I5", format!("{shoppers} shoppers are inside, {allowed} are allowed"));
        }
        let mut claimed: HashMap<u32, bool> = HashMap::new();
        for order in orders::owning(&self.pg, sale.id()).await? {
            let sold = matches!(order.status, OrderStatus::Paid | OrderStatus::Fulfilled);
            claimed.extend(order.seats.iter().filter_map(|seat| Some((u32::try_from(*seat).ok()?, sold))));
        }
        for (seat, byte) in (0u32..).zip(&bytes) {
            let here = SeatState::from_byte(*byte);
            match claimed.get(&seat) {
                Some(true) if here != SeatState::Sold => {
                    breach("I4", format!("seat {seat} is sold in Postgres and {here:?} in Redis"))
                }
                Some(false) if here != SeatState::Held => {
                    breach("I4", format!("seat {seat} is claimed in Postgres and {here:?} in Redis"))
                }
                None if matches!(here, SeatState::Held | SeatState::Sold) => {
                    breach("I4", format!("seat {seat} is {here:?} in Redis and unclaimed in Postgres"))
                }
                _ => {}
            }
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

fn lists(record: Option<&String>, seat: u32) -> bool {
    record
        .and_then(|raw| serde_json::from_str::<crate::holds::HoldRecord>(raw).ok())
        .and_then(|record| domain::ids::parse_seats(&record.s).ok())
        .is_some_and(|seats| seats.iter().any(|s| s.0 == seat))
}
