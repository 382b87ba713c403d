//! The house: blocks seats and puts them back, keeps seats in the allocation and lets them go, refunds seats of
//! a paid order. A change of seats holds the epoch in Postgres while Redis is asked, as `organizer/blocking.rs` does.

use crate::redis::ShortAnswer;
use crate::simulation::model::postgres::is_sold;
use crate::simulation::model::redis::What;
use crate::simulation::sale::{ALLOCATION, SEATS};
use crate::simulation::world::{Actor, Reply, Shared, Store};
use domain::OrderId;
use domain::hold::SeatState;

/// A transaction that is open; the epoch can't be raised until it ends, however it does.
pub(crate) struct Transaction(Shared);

impl Drop for Transaction {
    fn drop(&mut self) {
        if let Ok(mut world) = self.0.try_borrow_mut() {
            world.stores.epoch_locks -= 1;
        }
    }
}

/// Changes seats now and then.
pub(crate) async fn house(me: Actor) {
    while !me.is_closing() {
        me.idle(50, 1_500).await;
        // Refused or interrupted: nothing is told, it is tried again some time.
        let _lost = match me.below(8) {
            0 | 1 => block(&me, true).await,
            2 => block(&me, false).await,
            3 => allocate(&me, true).await,
            4 => allocate(&me, false).await,
            _ => refund(&me).await,
        };
    }
}

/// Begins a transaction that holds the epoch.
pub(crate) async fn begin(me: &Actor) -> Reply<(Transaction, i64)> {
    // A lost connection ends its transaction: the lock is taken where the reply arrives.
    let epoch = me.postgres("begin, hold epoch", |rows| rows.epoch).await?;
    let mut world = me.world.borrow_mut();
    // Another epoch since the reply was made: the lock would have waited, or be of the newer one.
    let epoch = epoch.max(world.stores.rows.epoch);
    world.stores.epoch_locks += 1;
    drop(world);
    Ok((Transaction(me.world.clone()), epoch))
}

fn some_seats(me: &Actor) -> Vec<u32> {
    let mut seats: Vec<u32> = (0..1 + me.below(2)).map(|_| u32::try_from(me.below(SEATS)).unwrap_or(0)).collect();
    seats.sort_unstable();
    seats.dedup();
    seats
}

async fn block(me: &Actor, off: bool) -> Reply<()> {
    let (open, epoch) = begin(me).await?;
    let seats = some_seats(me);
    let unpriced = me.world.borrow().stores.rows.unpriced.clone();
    let list: Vec<u32> =
        if off { seats.clone() } else { seats.iter().copied().filter(|s| !unpriced.contains(s)).collect() };
    let (from, to) =
        if off { (SeatState::Available, SeatState::Blocked) } else { (SeatState::Blocked, SeatState::Available) };
    let answer = me.redis("block", move |hot, at| hot.block(at, epoch, &list, from, to)).await?;
    if matches!(answer, ShortAnswer::Done | ShortAnswer::Again) {
        let done = move |rows: &mut crate::simulation::model::postgres::Rows| {
            for seat in &seats {
                if off {
                    rows.blocked.insert(*seat)
                } else {
                    rows.blocked.remove(seat)
                };
            }
        };
        me.postgres("commit block", done).await?;
    }
    drop(open);
    Ok(())
}

async fn allocate(me: &Actor, keep: bool) -> Reply<()> {
    let (open, epoch) = begin(me).await?;
    let seats = some_seats(me);
    let list = seats.clone();
    let answer = me.redis("allocate", move |hot, at| hot.allocate(at, epoch, &list, ALLOCATION, keep)).await?;
    if matches!(answer, ShortAnswer::Done | ShortAnswer::Again) {
        let done = move |rows: &mut crate::simulation::model::postgres::Rows| {
            for seat in &seats {
                if keep {
                    rows.kept.insert(*seat, ALLOCATION)
                } else {
                    rows.kept.remove(seat)
                };
            }
        };
        me.postgres("commit allocate", done).await?;
    }
    drop(open);
    Ok(())
}

/// Refunds some seats of a paid order, or all, perhaps once more: they go back to sale, or off it.
async fn refund(me: &Actor) -> Reply<()> {
    let paid: Vec<(OrderId, Vec<u32>)> = me
        .postgres("paid orders", |rows| {
            let paid = rows.orders.iter().filter(|(_, order)| is_sold(order.status));
            paid.map(|(id, order)| (*id, order.items.iter().copied().collect())).collect()
        })
        .await?;
    if paid.is_empty() {
        return Ok(());
    }
    let (id, seats, sells_again) = {
        let mut world = me.world.borrow_mut();
        let random = &mut world.random;
        let (id, items) = random.pick(&paid).clone();
        let all = random.one_in(2);
        let seats: Vec<u32> = items.into_iter().filter(|_| all || random.one_in(2)).collect();
        (id, seats, !random.one_in(4))
    };
    me.postgres("refund seats", move |rows| rows.give_back(id, &seats, sells_again)).await
}

/// Writes an entry into the log that can't be understood, now and then.
pub(crate) async fn vandal(me: Actor) {
    while !me.is_closing() {
        me.idle(500, 5_000).await;
        let _lost = me
            .call(Store::Redis, "rubbish in the log", |stores| {
                let (at, stranger) = (stores.at(), OrderId(stores.id()));
                if stores.hot.epoch.is_some() {
                    stores.hot.append(at, What::Poison(stranger), Vec::new(), Vec::new());
                }
            })
            .await;
    }
}
