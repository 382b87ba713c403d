//! The reconciler: the mirror of `work/reconciler.rs`.

use crate::redis::ShortAnswer;
use crate::simulation::model::house::{CountPair, SeatPair};
use crate::simulation::model::postgres::Rows;
use crate::simulation::model::redis::{Hot, Record};
use crate::simulation::sale::SEATS;
use crate::simulation::world::{Actor, Reply, Store};
use domain::hold::{HoldState, SeatByte, SeatState};
use domain::live::LogPosition;
use domain::{AccountId, OrderId};
use std::collections::BTreeMap;

/// Seats in one look: two looks make a run.
const STRETCH: u32 = 7;
/// A difference must still be there after this long.
const CONFIRM_AFTER_MS: i64 = 1_500;
/// The same where things go wrong: short, so that much moves between the look and the correction.
const CONFIRM_EARLY_MS: i64 = 50;

fn confirm_after(me: &Actor) -> i64 {
    if me.world.borrow().calm { CONFIRM_AFTER_MS } else { CONFIRM_EARLY_MS }
}

/// Looks at the written position.
const WRITTEN_LOOKS: usize = 20;

/// A stretch of seats, and everything that hangs on it, at one instant.
#[derive(Clone, Debug)]
struct Stretch {
    at: LogPosition,
    seats: BTreeMap<u32, SeatPair>,
    holds: BTreeMap<OrderId, (Option<Record>, bool)>,
}

/// What differs: found and wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Differences {
    seats: BTreeMap<u32, (SeatPair, SeatPair)>,
    holds: BTreeMap<OrderId, (Record, bool, Record)>,
    records: BTreeMap<OrderId, Record>,
}

/// Compares for ever.
pub(crate) async fn reconciler(me: Actor) {
    loop {
        me.idle(300, 2_000).await;
        // Interrupted; it compares again.
        let _lost = run(&me).await;
    }
}

/// One run over all seats and counts; how much was put right.
pub(crate) async fn run(me: &Actor) -> Reply<u64> {
    let epoch = me.reload_sale().await?;
    let (before, mut first) = (me.world.borrow().stores.repairs, 0);
    let seats = u32::try_from(SEATS).unwrap_or(0);
    while first < seats {
        let last = (first + STRETCH - 1).min(seats - 1);
        if let Some(found) = confirmed(me, epoch, first, last).await? {
            mend(me, epoch, found).await?;
        }
        first = last + 1;
    }
    mend_counts(me, epoch).await?;
    let repaired = me.world.borrow().stores.repairs - before;
    Ok(repaired)
}

async fn confirmed(me: &Actor, epoch: i64, first: u32, last: u32) -> Reply<Option<Differences>> {
    let Some(before) = differences(me, epoch, first, last).await? else { return Ok(None) };
    if before.seats.is_empty() && before.holds.is_empty() {
        return Ok(None);
    }
    me.pause(confirm_after(me)).await;
    Ok(differences(me, epoch, first, last).await?.map(|mut now| {
        now.seats.retain(|seat, one| before.seats.get(seat) == Some(one));
        now.holds.retain(|hold, one| before.holds.get(hold) == Some(one));
        now
    }))
}

async fn differences(me: &Actor, epoch: i64, first: u32, last: u32) -> Reply<Option<Differences>> {
    let Some(stretch) = me.redis("peek", move |hot, _| peek(hot, epoch, first, last)).await? else { return Ok(None) };
    if !is_written(me, epoch, stretch.at).await? {
        return Ok(None);
    }
    me.postgres("compare", move |rows| Some(compare(rows, &stretch))).await
}

fn peek(hot: &mut Hot, epoch: i64, first: u32, last: u32) -> Option<Stretch> {
    if !hot.is_complete(epoch) {
        return None;
    }
    let seats: BTreeMap<u32, SeatPair> = (first..=last)
        .filter_map(|seat| Some((seat, (*hot.state.seats.get(seat as usize)?, hot.state.owner.get(&seat).copied()))))
        .collect();
    let owners = seats.values().filter_map(|(_, owner)| *owner);
    let holds =
        owners.map(|id| (id, (hot.state.holds.get(&id).cloned(), hot.state.expiry.contains_key(&id)))).collect();
    Some(Stretch { at: hot.last(), seats, holds })
}

pub(crate) async fn is_written(me: &Actor, epoch: i64, at: LogPosition) -> Reply<bool> {
    for _ in 0..WRITTEN_LOOKS {
        match me.postgres("read position", |rows| rows.position).await? {
            Some((standing, position)) if standing == epoch => {
                if position >= at {
                    return Ok(true);
                }
            }
            _ => return Ok(false),
        }
        me.pause(50).await;
    }
    Ok(false)
}

fn compare(rows: &Rows, stretch: &Stretch) -> Differences {
    let bytes = rows.bytes();
    let mut differ = Differences::default();
    for (seat, found) in &stretch.seats {
        let wanted = (bytes[*seat as usize], rows.claims.get(seat).copied());
        // What late money has taken is decided in Postgres, or ends by itself: until then it is no difference.
        let owner = found.1.filter(|_| wanted.1.is_none()).and_then(|hold| stretch.holds.get(&hold));
        let undecided = owner.is_some_and(|(record, _)| record.as_ref().is_some_and(Record::is_reclaiming));
        if *found != wanted && !undecided {
            differ.seats.insert(*seat, (*found, wanted));
        }
    }
    let owning = rows.owning();
    for (id, seats) in &owning {
        let Some(record) = rows.record_of(*id, seats) else { continue };
        if let Some((Some(found), listed)) = stretch.holds.get(id)
            && let Some(wanted) = hold_wanted(&record, rows.begins(*id), found, *listed)
        {
            differ.holds.insert(*id, (found.clone(), *listed, wanted));
        }
        differ.records.insert(*id, record);
    }
    differ
}

/// The record that a hold should have, where it has another one or is wrongly listed as able to run out.
fn hold_wanted(wanted: &Record, begins: Option<i32>, found: &Record, listed: bool) -> Option<Record> {
    let ending = found.state == HoldState::Closing && wanted.state == HoldState::Held;
    let beginning = found.state == HoldState::Paying && begins == Some(found.attempt);
    let mut same = found.account == wanted.account && found.seats == wanted.seats;
    if !ending && !beginning && found.state != wanted.state {
        same = same && wanted.state == HoldState::Sold;
    }
    let can_end = ending || (wanted.state == HoldState::Held && found.state == HoldState::Held);
    if same && (wanted.state == HoldState::Sold || can_end == listed) {
        return None;
    }
    let mut record = found.clone();
    if !same {
        record.account = wanted.account;
        record.seats.clone_from(&wanted.seats);
        (record.state, record.attempt) = (wanted.state, wanted.attempt);
    }
    Some(record)
}

/// One correction; it counts where it was made.
async fn correct(me: &Actor, what: &'static str, act: impl Fn(&mut Hot) -> bool + 'static) -> Reply<bool> {
    me.call(Store::Redis, what, move |stores| {
        let done = act(&mut stores.hot);
        stores.repairs += u64::from(done);
        stores.half_mended |= done;
        done
    })
    .await
}

async fn mend(me: &Actor, epoch: i64, found: Differences) -> Reply<()> {
    for (seat, (found_pair, wanted)) in found.seats {
        if mildly(me, epoch, seat, (found_pair, wanted)).await? {
            continue;
        }
        let record = wanted.1.and_then(|id| found.records.get(&id)).cloned();
        let at = me.world.borrow().stores.at();
        correct(me, "mend", move |hot| hot.mend(at, epoch, seat, found_pair, wanted, record.as_ref())).await?;
    }
    for (hold, (is, _, wanted)) in found.holds {
        correct(me, "mend hold", move |hot| hot.mend_hold(epoch, hold, &is, &wanted)).await?;
    }
    Ok(())
}

/// The mildest step that puts a seat right, where there is one; whether nothing else is to be done.
async fn mildly(me: &Actor, epoch: i64, seat: u32, (found, wanted): (SeatPair, SeatPair)) -> Reply<bool> {
    match (found.1, wanted.1) {
        (Some(stray), None) => {
            let sold = SeatByte(found.0).state() == SeatState::Sold;
            let off = SeatByte(wanted.0).state() == SeatState::Blocked;
            // Where the rest of the hold is an order's, this seat alone goes.
            let rest = me.postgres("owns any", move |rows| rows.owns_any(stray)).await?;
            let answer = me
                .call(Store::Redis, "end stray hold", move |stores| {
                    let (at, one) = (stores.at(), [seat]);
                    let answer = if rest {
                        let (back, gone) = if off { (&one[..0], &one[..]) } else { (&one[..], &one[..0]) };
                        stores.hot.return_seats(at, epoch, stray, back, gone)
                    } else if sold {
                        stores.hot.unsell(at, epoch, stray)
                    } else {
                        stores.hot.finish(at, epoch, stray)
                    };
                    stores.repairs += u64::from(answer == ShortAnswer::Done);
                    answer
                })
                .await?;
            Ok(match answer {
                ShortAnswer::Again => false,
                ShortAnswer::No(word, _) => word != "missing",
                ShortAnswer::Done | ShortAnswer::Rebuilding => true,
            })
        }
        (Some(a), Some(b)) if a == b && SeatByte(wanted.0).state() == SeatState::Sold => {
            let at = me.world.borrow().stores.at();
            correct(me, "confirm", move |hot| hot.confirm(at, epoch, b) == ShortAnswer::Done).await
        }
        _ => Ok(false),
    }
}

async fn mend_counts(me: &Actor, epoch: i64) -> Reply<()> {
    let Some(before) = count_differences(me, epoch).await? else { return Ok(()) };
    if before.is_empty() {
        return Ok(());
    }
    me.pause(confirm_after(me)).await;
    for (account, pair) in count_differences(me, epoch).await?.unwrap_or_default() {
        if before.get(&account) == Some(&pair) {
            correct(me, "mend count", move |hot| hot.mend_count(epoch, account, pair.0, pair.1)).await?;
        }
    }
    Ok(())
}

async fn count_differences(me: &Actor, epoch: i64) -> Reply<Option<BTreeMap<AccountId, (CountPair, CountPair)>>> {
    let (at, found) = me.redis("counts", |hot, _| (hot.last(), hot.state.held_by.clone())).await?;
    if !is_written(me, epoch, at).await?
        || me.postgres("returns under way", |rows| !rows.returns_due().is_empty()).await?
    {
        return Ok(None);
    }
    let mut differ = me
        .postgres("compare counts", move |rows| {
            let wanted = rows.build(0, 0).held_by;
            let mut differ = BTreeMap::new();
            for account in found.keys().chain(wanted.keys()) {
                let pair: (CountPair, CountPair) = (found.get(account).copied(), wanted.get(account).copied());
                if pair.0 != pair.1 {
                    differ.insert(*account, pair);
                }
            }
            differ
        })
        .await?;
    if !differ.is_empty() {
        // Seats that late money has taken count for their account while Postgres decides.
        for account in me.postgres("undecided", |rows| rows.reclaiming_accounts()).await? {
            differ.remove(&account);
        }
    }
    Ok(Some(differ))
}
