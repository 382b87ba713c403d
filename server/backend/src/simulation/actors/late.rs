//! Money that came late takes its seats once more: the mirror of `pay/reclaim.rs`.

use crate::redis::ReclaimAnswer;
use crate::simulation::actors::{house, reconciler};
use crate::simulation::model::postgres::{Order, Rows};
use crate::simulation::model::reclaim::Again;
use crate::simulation::sale::{ALLOCATION, RECLAIM_LEASE_MS, TRANSACTION_MS, UNDECIDED_MS};
use crate::simulation::world::{Actor, Lost, Reply, Store};
use domain::live::LogPosition;
use domain::{AttemptId, OrderId};

/// What came of a try.
enum Outcome {
    Reclaimed,
    /// The seats are not to be had.
    Refused,
    /// Nobody can say so now.
    Undecided,
    /// Redis did not answer: what was taken stays until its time.
    Away,
}

/// Seats that wait for Postgres, as the try that asked last was told.
struct Taken {
    entry: LogPosition,
    fence: i64,
}

/// How seats were taken, or why they were not.
fn taken_by(answer: &ReclaimAnswer) -> Result<Taken, Outcome> {
    Err(match answer {
        ReclaimAnswer::Took { entry, fence } => return Ok(Taken { entry: *entry, fence: *fence }),
        ReclaimAnswer::Rebuilding | ReclaimAnswer::Gone | ReclaimAnswer::Standing | ReclaimAnswer::OtherAttempt => {
            Outcome::Undecided
        }
        ReclaimAnswer::Returned | ReclaimAnswer::Limit | ReclaimAnswer::Taken | ReclaimAnswer::NotForSale => {
            Outcome::Refused
        }
    })
}

/// `Backend::reclaim`: `false` when the money must go back.
pub(crate) async fn reclaim(me: &Actor, id: AttemptId, row: &Order) -> Reply<bool> {
    let outcome = try_reclaim(me, id, row).await?;
    let now = me.world.borrow().stores.clock;
    match outcome {
        Outcome::Reclaimed => Ok(true),
        // The schedule comes again.
        Outcome::Undecided | Outcome::Away if now < row.expires + UNDECIDED_MS => Err(Lost),
        Outcome::Refused | Outcome::Undecided | Outcome::Away => Ok(false),
    }
}

async fn try_reclaim(me: &Actor, id: AttemptId, row: &Order) -> Reply<Outcome> {
    let epoch = me.reload_sale().await?;
    // What is open to an account may have changed since it chose its seats.
    let allocations = if me.below(4) == 0 { Vec::new() } else { vec![ALLOCATION] };
    let chosen = move |rows: &mut Rows| rows.chosen(id, allocations.clone(), RECLAIM_LEASE_MS);
    let Some(ask) = me.postgres("chosen seats", chosen).await? else { return Ok(Outcome::Refused) };
    let Ok(answer) = take_seats_again(me, epoch, &ask).await else { return Ok(Outcome::Away) };
    let mut taken = match taken_by(&answer) {
        Ok(taken) => taken,
        Err(outcome) => return Ok(outcome),
    };
    let outcome = sell_again(me, id, row, epoch, (&ask, &mut taken)).await?;
    let keeps = matches!(outcome, Outcome::Reclaimed | Outcome::Away);
    Ok(if keeps || give_seats_up(me, id, epoch, (ask.hold, taken.fence)).await? { outcome } else { Outcome::Away })
}

async fn script(me: &Actor, epoch: i64, ask: &Again, anew: bool) -> Reply<ReclaimAnswer> {
    let ask = ask.clone();
    me.redis("reclaim", move |hot, at| hot.reclaim(at, epoch, &ask, anew)).await
}

async fn take_seats_again(me: &Actor, epoch: i64, ask: &Again) -> Reply<ReclaimAnswer> {
    let answer = script(me, epoch, ask, true).await?;
    if answer != ReclaimAnswer::Standing {
        return Ok(answer);
    }
    // The order has closed, and Redis was not told yet.
    let hold = ask.hold;
    me.redis("finish", move |hot, at| hot.finish(at, epoch, hold)).await?;
    script(me, epoch, ask, true).await
}

/// Claims the seats that were taken in Redis, and makes their order paid: one transaction, in which the script is
/// asked once more.
async fn sell_again(
    me: &Actor,
    id: AttemptId,
    row: &Order,
    epoch: i64,
    (ask, taken): (&Again, &mut Taken),
) -> Reply<Outcome> {
    if !reconciler::is_written(me, epoch, taken.entry).await? {
        return Ok(Outcome::Undecided);
    }
    let (open, epoch) = house::begin(me).await?;
    let read = row.clone();
    if !me.postgres("hold attempt and order", move |rows| rows.is_undecided(id, &read)).await? {
        return Ok(Outcome::Refused);
    }
    let Ok(answer) = script(me, epoch, ask, false).await else { return Ok(Outcome::Away) };
    match taken_by(&answer) {
        Ok(still) => *taken = still,
        Err(outcome) => return Ok(outcome),
    }
    let (read, asked) = (row.clone(), me.world.borrow().stores.clock);
    let done = me
        .call(Store::Postgres, "order reclaimed", move |stores| {
            // One that arrives late has had its locks until then, and none stands still for longer than that.
            let stands = stores.rows.epoch == epoch && stores.clock < asked + TRANSACTION_MS;
            stands.then(|| stores.rows.reclaim(id, &read))
        })
        .await?;
    drop(open);
    match done {
        Some(true) => Ok(Outcome::Reclaimed),
        Some(false) => Ok(Outcome::Refused),
        // Nobody was told whether it was committed.
        None => Err(Lost),
    }
}

/// Frees seats that were taken and are not paid, where nobody else has settled the payment; `false` where Redis did
/// not answer.
async fn give_seats_up(me: &Actor, id: AttemptId, epoch: i64, (hold, fence): (OrderId, i64)) -> Reply<bool> {
    let is_open = move |rows: &mut Rows| rows.attempts.get(&id).is_some_and(|one| one.status.is_open());
    if !me.postgres("hold attempt", is_open).await? {
        return Ok(true);
    }
    Ok(me.redis("give up", move |hot, at| hot.finish_by(at, epoch, hold, Some(fence))).await.is_ok())
}
