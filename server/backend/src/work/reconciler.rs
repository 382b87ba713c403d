//! The reconciler: compares the hot state with Postgres, section by section, and puts right what differs.
//!
//! Both sides move while it looks. So a stretch of seats is read in Redis in one script together with
//! the position of the log, Postgres is read only when the log is written up to there, a difference
//! counts only when it is found a second time unchanged, and each correction is a compare-and-set:
//! where anything moved meanwhile, nothing is corrected. What it did is written down and alarmed:
//! without a fault of the stores or of ours there is nothing to put right.

use crate::backend::Backend;
use crate::catalog::Sale;
use crate::error::{Error, Result};
use crate::holds::HoldRecord;
use crate::postgres::orders::OwningRow;
use crate::postgres::repairs::{self, RepairRow};
use crate::postgres::{allocations, catalog, log, orders, reclaims, returns};
use crate::redis::{HoldRead, SeatMend, ShortAnswer, Stretch};
use crate::work::guardian::{is_sold, record_of, seat_bytes};
use domain::hold::{SeatByte, SeatState};
use domain::live::LogPosition;
use domain::{AccountId, Millis, OrderId, PerformanceId, SeatNo};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Seats in one look: one script reads them while fans wait behind it.
const STRETCH_SEATS: u32 = 1_000;
/// A difference must still be there after this long: what is under way is no fault.
const CONFIRM_AFTER: Duration = Duration::from_secs(1);
/// How long the order writer is waited for; a stretch that it doesn't reach is looked at next time.
const WRITTEN_TIMEOUT: Duration = Duration::from_secs(3);
/// How often it is looked at meanwhile.
const WRITTEN_LOOK_EVERY: Duration = Duration::from_millis(20);

/// What one run came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reconciled {
    /// Seats that were compared.
    pub seats: u32,
    /// What was put right, a line each.
    pub repairs: Vec<String>,
}

/// A seat that is not what Postgres says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SeatDifference {
    seat: u32,
    found: (u8, Option<OrderId>),
    wanted: (u8, Option<OrderId>),
}

/// A hold whose record, or whose place among those that can run out, is not what its order says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct HoldDifference {
    hold: OrderId,
    found: HoldRead,
    wanted: String,
}

/// What differs in a stretch.
#[derive(Clone, Debug, Default)]
struct Differences {
    seats: Vec<SeatDifference>,
    holds: Vec<HoldDifference>,
    /// The orders that own seats there.
    owning: HashMap<OrderId, OwningRow>,
}

impl Differences {
    fn is_empty(&self) -> bool {
        self.seats.is_empty() && self.holds.is_empty()
    }

    /// Those that an earlier look found as well.
    fn confirmed_by(mut self, before: &Self) -> Self {
        self.seats.retain(|one| before.seats.contains(one));
        self.holds.retain(|one| before.holds.contains(one));
        self
    }
}

/// Compares until stopped.
pub(super) async fn keep(backend: &Arc<Backend>, id: PerformanceId, stop: &CancellationToken) {
    let pause = Duration::from_millis(u64::try_from(backend.config.reconcile_every_ms).unwrap_or(u64::MAX));
    loop {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stop.cancelled() => return,
        }
        if let Err(error) = super::caught(backend.reconcile(id)).await {
            metrics::counter!("stararena_reconciler_failures_total").increment(1);
            tracing::warn!(%id, error = &error as &dyn std::error::Error, "a sale could not be compared with its orders");
        }
    }
}

impl Backend {
    /// Compares the hot state of a sale with Postgres and puts right what differs.
    ///
    /// # Errors
    /// Outages. While the state is being rebuilt nothing is compared, and that is no error.
    pub async fn reconcile(self: &Arc<Self>, id: PerformanceId) -> Result<Reconciled> {
        let sale = self.reload_sale(id).await?;
        let mut done = Reconciled::default();
        let mut rows = Vec::new();
        let mut first = 0;
        while first < sale.row.seat_count {
            let last = (first + STRETCH_SEATS - 1).min(sale.row.seat_count - 1);
            if let Some(found) = self.confirmed(&sale, first, last).await? {
                done.seats += last - first + 1;
                self.mend_stretch(&sale, found, &mut rows).await?;
            }
            first = last + 1;
        }
        self.mend_counts(&sale, &mut rows).await?;
        let now = self.now();
        if !rows.is_empty() {
            repairs::insert(&self.pg, id, &rows, now).await?;
        }
        let (seats, count) = (i32::try_from(done.seats), i32::try_from(rows.len()));
        repairs::note(&self.pg, id, seats.unwrap_or(i32::MAX), count.unwrap_or(i32::MAX), now).await?;
        for row in rows {
            metrics::counter!("stararena_repairs_total", "kind" => row.kind.clone()).increment(1);
            let line = format!("{} {}: {} became {}", row.kind, row.subject, row.found, row.wanted);
            tracing::error!(%id, line, "the hot state differed from the orders and was put right");
            done.repairs.push(line);
        }
        Ok(done)
    }

    /// When a sale was last compared, and how many repairs it has needed in all.
    ///
    /// # Errors
    /// Outages only.
    pub async fn last_reconciled(&self, id: PerformanceId) -> Result<Option<(Millis, i32)>> {
        Ok(repairs::last(&self.pg, id).await?)
    }

    /// What differs in a stretch, twice in a row; `None` where it could not be compared.
    async fn confirmed(&self, sale: &Sale, first: u32, last: u32) -> Result<Option<Differences>> {
        let Some(before) = self.differences(sale, first, last).await? else { return Ok(None) };
        if before.is_empty() {
            return Ok(Some(before));
        }
        tokio::time::sleep(CONFIRM_AFTER).await;
        Ok(self.differences(sale, first, last).await?.map(|now| now.confirmed_by(&before)))
    }

    async fn differences(&self, sale: &Sale, first: u32, last: u32) -> Result<Option<Differences>> {
        let Some(stretch) = self.seats.peek(&sale.keys, sale.row.epoch, first, last).await? else { return Ok(None) };
        if !self.is_written(sale, stretch.at).await? {
            return Ok(None);
        }
        let id = sale.id();
        let bounds = (i32::try_from(first).unwrap_or(i32::MAX), i32::try_from(last).unwrap_or(i32::MAX));
        // One snapshot of Postgres: rows that were read apart would differ by themselves.
        let mut tx = self.pg.begin().await?;
        sqlx::query("set transaction isolation level repeatable read, read only").execute(&mut *tx).await?;
        // Seats that are given back are on their way: until Redis knows, the stores differ rightly.
        if returns::under_way(&mut *tx, id).await? {
            tx.rollback().await?;
            return Ok(None);
        }
        let owning = orders::owning_in(&mut *tx, id, Some(bounds)).await?;
        let blocked = catalog::blocked(&mut *tx, id).await?;
        let kept = allocations::kept(&mut *tx, id).await?;
        tx.rollback().await?;
        Ok(Some(compare(sale, &stretch, &blocked, &kept, owning)?))
    }

    /// Waits until the log is committed up to a position; whether it came to that.
    pub(crate) async fn is_written(&self, sale: &Sale, at: LogPosition) -> Result<bool> {
        let started = Instant::now();
        loop {
            match log::position(&self.pg, sale.id()).await? {
                Some((epoch, position)) if epoch == sale.row.epoch => {
                    if LogPosition::parse(&position).is_some_and(|written| written >= at) {
                        return Ok(true);
                    }
                }
                _ => return Ok(false),
            }
            if started.elapsed() > WRITTEN_TIMEOUT {
                return Ok(false);
            }
            tokio::time::sleep(WRITTEN_LOOK_EVERY).await;
        }
    }

    async fn mend_stretch(&self, sale: &Sale, found: Differences, rows: &mut Vec<RepairRow>) -> Result<()> {
        for one in &found.seats {
            if let Some(kind) = self.mend_seat(sale, one, &found.owning).await? {
                let say = |(byte, owner): (u8, Option<OrderId>)| {
                    let byte = SeatByte(byte);
                    let owner = owner.map_or_else(|| "nobody".to_owned(), |id| id.to_string());
                    format!("{:?} of {owner}, allocation {}", byte.state(), byte.allocation())
                };
                rows.push(RepairRow {
                    section: section(sale, one.seat),
                    kind: kind.to_owned(),
                    subject: format!("seat {}", one.seat),
                    found: say(one.found),
                    wanted: say(one.wanted),
                });
            }
        }
        for one in found.holds {
            let record = one.found.record.clone().unwrap_or_default();
            let pair = (record.as_str(), one.wanted.as_str());
            if self.seats.mend_hold(&sale.keys, sale.row.epoch, one.hold, pair).await? {
                let expiry = one.found.expiry.unwrap_or_else(|| "none".to_owned());
                rows.push(RepairRow {
                    section: String::new(),
                    kind: "hold".to_owned(),
                    subject: format!("hold {}", one.hold),
                    found: format!("{record}, expiry {expiry}"),
                    wanted: one.wanted,
                });
            }
        }
        Ok(())
    }

    /// Puts one seat right by the mildest step that does; the kind of the repair, or none where the seat
    /// had moved.
    async fn mend_seat(
        &self,
        sale: &Sale,
        one: &SeatDifference,
        owning: &HashMap<OrderId, OwningRow>,
    ) -> Result<Option<&'static str>> {
        let (keys, epoch) = (&sale.keys, sale.row.epoch);
        let done = |answer: ShortAnswer, kind| (answer == ShortAnswer::Done).then_some(kind);
        match (one.found.1, one.wanted.1) {
            // Postgres knows no such order, or one that is over: the whole hold goes. Of one that stands, the seat.
            (Some(stray), None) => {
                let answer = if returns::owns_any(&self.pg, stray).await? {
                    // The rest of the hold is an order's: this seat alone goes.
                    let seat = [SeatNo(one.seat)];
                    let (back, off) = match SeatByte(one.wanted.0).state() {
                        SeatState::Blocked => (&seat[..0], &seat[..]),
                        _ => (&seat[..], &seat[..0]),
                    };
                    self.seats.return_seats(keys, epoch, stray, back, off).await?
                } else if SeatByte(one.found.0).state() == SeatState::Sold {
                    self.seats.unsell(keys, epoch, stray).await?
                } else {
                    self.seats.finish(keys, epoch, stray).await?
                };
                match answer {
                    // The hold is gone and its seat was left behind.
                    ShortAnswer::Again => {}
                    ShortAnswer::No(word, _) if word == "missing" => {}
                    answer => return Ok(done(answer, "stray hold")),
                }
            }
            (Some(a), Some(b)) if a == b && SeatByte(one.wanted.0).state() == SeatState::Sold => {
                if let ShortAnswer::Done = self.seats.confirm(keys, epoch, b).await? {
                    return Ok(Some("unconfirmed sale"));
                }
            }
            _ => {}
        }
        let record = one.wanted.1.and_then(|id| owning.get(&id)).map(record_of).unwrap_or_default();
        let mend = SeatMend { seat: SeatNo(one.seat), found: one.found, wanted: one.wanted, record: &record };
        Ok(self.seats.mend(keys, epoch, &mend).await?.then_some("seat"))
    }

    /// Puts right what accounts hold: the count behind the purchase limit, and the open hold.
    async fn mend_counts(&self, sale: &Sale, rows: &mut Vec<RepairRow>) -> Result<()> {
        let Some(before) = self.count_differences(sale).await? else { return Ok(()) };
        if before.is_empty() {
            return Ok(());
        }
        tokio::time::sleep(CONFIRM_AFTER).await;
        let now = self.count_differences(sale).await?.unwrap_or_default();
        for (account, (found, wanted)) in now {
            if before.get(&account) != Some(&(found.clone(), wanted.clone())) {
                continue;
            }
            let id: AccountId =
                account.parse().map_err(|_| Error::Broken(format!("`{account}` is no account, and holds seats")))?;
            if self.seats.mend_count(&sale.keys, sale.row.epoch, id, (&found, &wanted)).await? {
                rows.push(RepairRow {
                    section: String::new(),
                    kind: "count".to_owned(),
                    subject: format!("account {id}"),
                    found,
                    wanted,
                });
            }
        }
        Ok(())
    }

    /// Accounts that hold something else than their orders say: what was found, and what is wanted.
    async fn count_differences(&self, sale: &Sale) -> Result<Option<HashMap<String, (String, String)>>> {
        let (at, found) = self.seats.counts(&sale.keys).await?;
        if !self.is_written(sale, at).await? || returns::under_way(&self.pg, sale.id()).await? {
            return Ok(None);
        }
        let mut wanted: HashMap<String, (usize, String)> = HashMap::new();
        for order in orders::owning(&self.pg, sale.id()).await? {
            let entry = wanted.entry(order.account.simple()).or_default();
            entry.0 += order.seats.len();
            if !is_sold(order.status) {
                entry.1 = order.id.simple();
            }
        }
        let mut differ = HashMap::new();
        for (account, (count, open)) in &wanted {
            let text = format!("{count}:{open}");
            let is = found.get(account).cloned().unwrap_or_default();
            if is != text {
                differ.insert(account.clone(), (is, text));
            }
        }
        for (account, is) in found {
            if !wanted.contains_key(&account) {
                differ.insert(account, (is, String::new()));
            }
        }
        if !differ.is_empty() {
            // Seats that late money has taken count for their account while Postgres decides.
            for account in reclaims::undecided(&self.pg, sale.id()).await? {
                differ.remove(&account.simple());
            }
        }
        Ok(Some(differ))
    }
}

/// The section of a seat, for people.
fn section(sale: &Sale, seat: u32) -> String {
    sale.seats.seats.get(seat as usize).map(|seat| seat.section.clone()).unwrap_or_default()
}

/// What Postgres says of a stretch, against what was read of it.
fn compare(
    sale: &Sale,
    stretch: &Stretch,
    blocked: &[u32],
    kept: &[(u32, u8)],
    owning: Vec<OwningRow>,
) -> Result<Differences> {
    let bytes = seat_bytes(sale, blocked, kept, &owning)?;
    let mut owner: HashMap<u32, OrderId> = HashMap::new();
    for order in &owning {
        owner.extend(order.seats.iter().filter_map(|seat| Some((u32::try_from(*seat).ok()?, order.id))));
    }
    let mut differ = Differences::default();
    for (seat, byte) in (stretch.first..).zip(&stretch.bytes) {
        let found = (*byte, stretch.owner.get(&seat).copied());
        let wanted = (bytes.get(seat as usize).copied().unwrap_or(*byte), owner.get(&seat).copied());
        // What late money has taken is decided in Postgres, or ends by itself: until then it is no difference.
        let undecided = wanted.1.is_none() && found.1.is_some_and(|hold| is_reclaiming(stretch.holds.get(&hold)));
        if found != wanted && !undecided {
            differ.seats.push(SeatDifference { seat, found, wanted });
        }
    }
    for order in &owning {
        if let Some(found) = stretch.holds.get(&order.id)
            && let Some(wanted) = hold_wanted(order, found)?
        {
            differ.holds.push(HoldDifference { hold: order.id, found: found.clone(), wanted });
        }
    }
    differ.owning = owning.into_iter().map(|order| (order.id, order)).collect();
    Ok(differ)
}

fn is_reclaiming(hold: Option<&HoldRead>) -> bool {
    hold.and_then(|hold| hold.record.as_deref())
        .and_then(|raw| serde_json::from_str::<HoldRecord>(raw).ok())
        .is_some_and(|record| record.is_reclaiming())
}

/// The record that a hold should have, where it has another one or is wrongly listed as able to run out.
fn hold_wanted(order: &OwningRow, found: &HoldRead) -> Result<Option<String>> {
    // A hold without a record is put right with its seats.
    let Some(raw) = &found.record else { return Ok(None) };
    let mut record: Value = serde_json::from_str(raw)
        .map_err(|e| Error::Broken(format!("the record of {} can't be read: {e}", order.id)))?;
    let wanted: Value = serde_json::from_str(&record_of(order))
        .map_err(|e| Error::Broken(format!("a record that was just written can't be read: {e}")))?;
    // A hold that is being ended by the sweeper is still pending in Postgres.
    let ending = record["st"] == "closing" && wanted["st"] == "held";
    // Pay tells Redis first. Where its order does not follow, the schedule ends the attempt, and takes it back.
    let beginning = record["st"] == "paying" && order.begins.is_some_and(|number| record["k"] == number);
    let mut same = record["a"] == wanted["a"] && record["s"] == wanted["s"] && record["n"] == wanted["n"];
    if !ending && !beginning && record["st"] != wanted["st"] {
        // A sale that is not confirmed yet is put right with its seats.
        same = same && wanted["st"] == "sold";
    }
    let can_end = ending || (wanted["st"] == "held" && record["st"] == "held");
    let listed = found.expiry.is_some();
    if same && (wanted["st"] == "sold" || can_end == listed) {
        return Ok(None);
    }
    if !same {
        for name in ["a", "s", "n", "st", "k"] {
            record[name] = wanted[name].clone();
        }
    }
    Ok(Some(record.to_string()))
}
