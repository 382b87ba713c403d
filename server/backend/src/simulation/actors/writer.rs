//! The order writer: the mirror of `work/writer.rs`. Two run at once, as after a hand-over to which the
//! old one sleeps through.

use crate::simulation::model::Wrong;
use crate::simulation::model::redis::Entry;
use crate::simulation::model::writing::Taken;
use crate::simulation::world::{Actor, Reply, Store};
use domain::live::LogPosition;

/// Most batches that a rebuild waits for.
const DRAIN_BATCHES_MAX: usize = 50;

/// Writes for ever.
pub(crate) async fn writer(me: Actor) {
    loop {
        // Interrupted; it begins again from what is stored.
        let _lost = write_epoch(&me).await;
        me.idle(20, 200).await;
    }
}

async fn write_epoch(me: &Actor) -> Reply<()> {
    let epoch = me.reload_sale().await?;
    let Some((standing, mut position)) = me.postgres("read position", |rows| rows.position).await? else {
        return Ok(());
    };
    if standing != epoch {
        return Ok(());
    }
    me.redis("written", move |hot, _| hot.written(epoch, position)).await?;
    loop {
        if me.redis("standing epoch", |hot, _| hot.epoch).await? != Some(epoch) {
            return Ok(());
        }
        let entries = read_log(me, position).await?;
        let Some((last, _)) = entries.last().cloned() else {
            me.idle(5, 150).await;
            continue;
        };
        if !take(me, epoch, position, entries).await? {
            return Ok(());
        }
        me.redis("written", move |hot, _| hot.written(epoch, last)).await?;
        position = last;
    }
}

/// Some entries after a position, in order.
async fn read_log(me: &Actor, after: LogPosition) -> Reply<Vec<(LogPosition, Entry)>> {
    let most = 1 + usize::try_from(me.below(5)).unwrap_or(0);
    me.redis("read log", move |hot, _| hot.log.iter().filter(|(at, _)| *at > after).take(most).cloned().collect()).await
}

/// `take`: commits, and does what follows a commit.
async fn take(me: &Actor, epoch: i64, from: LogPosition, entries: Vec<(LogPosition, Entry)>) -> Reply<bool> {
    let taken = if me.world.borrow().stores.rows.wrong == Some(Wrong::PositionBeforeRows) {
        torn(me, epoch, from, entries).await?
    } else {
        me.call(Store::Postgres, "take", move |stores| {
            let taken = stores.rows.take(epoch, from, &entries);
            stores.refused += taken.refused.len() as u64;
            taken
        })
        .await?
    };
    if !taken.refused.is_empty() {
        me.redis("distrust", |hot, _| hot.distrust()).await?;
    }
    for hold in taken.set_aside {
        me.redis("finish", move |hot, at| hot.finish(at, epoch, hold)).await?;
    }
    Ok(taken.moved)
}

/// The wrong way: the position first, the rows afterwards.
async fn torn(me: &Actor, epoch: i64, from: LogPosition, entries: Vec<(LogPosition, Entry)>) -> Reply<Taken> {
    let Some(to) = entries.last().map(|(at, _)| *at) else { return Ok(Taken::default()) };
    let moved = me
        .postgres("move position", move |rows| {
            let fits = rows.position == Some((epoch, from)) && rows.epoch == epoch;
            if fits {
                rows.position = Some((epoch, to));
            }
            fits
        })
        .await?;
    if !moved {
        return Ok(Taken::default());
    }
    me.postgres("write rows", move |rows| rows.write(&entries)).await
}

/// `drain`
pub(crate) async fn drain(me: &Actor, epoch: i64) -> Reply<LogPosition> {
    let mut upto = LogPosition::default();
    for _ in 0..DRAIN_BATCHES_MAX {
        let Some((standing, position)) = me.postgres("read position", |rows| rows.position).await? else {
            return Ok(upto);
        };
        let entries = read_log(me, position).await?;
        if entries.is_empty() || standing != epoch {
            return Ok(position);
        }
        take(me, epoch, position, entries).await?;
        upto = position;
    }
    Ok(upto)
}
