//! The guardian: the mirror of `work/guardian.rs`. Two run at once, as after a hand-over that the old one
//! sleeps through.

use crate::simulation::actors::writer::drain;
use crate::simulation::model::Wrong;
use crate::simulation::world::{Actor, Reply, Store};
use domain::live::LogPosition;

/// Guards for ever.
pub(crate) async fn guardian(me: Actor) {
    loop {
        // Interrupted; it looks again.
        let _lost = guard_once(&me).await;
        me.idle(50, 400).await;
    }
}

async fn guard_once(me: &Actor) -> Reply<()> {
    let mut epoch = me.sale().await?;
    let run = me.call(Store::Redis, "run id", |stores| stores.run).await?;
    let standing = me.redis("standing epoch", |hot, _| hot.epoch).await?;
    let built_by = me.redis("built by", |hot, _| hot.state.meta.run).await?;
    if standing != Some(epoch) {
        epoch = me.reload_sale().await?;
    }
    if standing == Some(epoch) && epoch > 0 && built_by == run {
        let settings = me.postgres("read settings", |rows| rows.settings).await?;
        me.redis("settings", move |hot, _| hot.settings(epoch, settings)).await?;
        return Ok(());
    }
    me.redis("distrust", |hot, _| hot.distrust()).await?;
    let skipped = me.world.borrow().stores.hot.wrong == Some(Wrong::RebuildWithoutDrain);
    let written = if skipped { LogPosition { ms: u64::MAX, seq: 0 } } else { drain(me, epoch).await? };
    rebuild(me, (epoch, written), run).await
}

async fn rebuild(me: &Actor, (from, written): (i64, LogPosition), run: u64) -> Reply<()> {
    let raised = me
        .call(Store::Postgres, "raise epoch", move |stores| {
            // Whoever changes seats in both stores holds the epoch meanwhile.
            let raised = if stores.epoch_locks > 0 { None } else { stores.rows.raise_epoch(from) };
            raised.inspect(|epoch| stores.rows.start_epoch(*epoch))
        })
        .await?;
    let Some(epoch) = raised else { return Ok(()) };
    let now = me.time().await?;
    let state = me.postgres("read rows", move |rows| rows.build(now, run)).await?;
    let seats = state.seats.len();
    me.redis("stage", move |hot, _| hot.stage(epoch, state.clone())).await?;
    let swapped = me
        .call(Store::Redis, "swap", move |stores| {
            let at = stores.at();
            let word = stores.hot.swap(at, epoch, seats, written);
            stores.half_mended &= word != "ok";
            word
        })
        .await?;
    me.world.borrow_mut().say(|_| format!("swap of epoch {epoch}: {swapped}"));
    Ok(())
}
