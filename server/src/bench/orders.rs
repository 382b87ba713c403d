//! Orders that the order writer writes a second: a log that was filled while no worker ran, until all of
//! it is written; beside the same orders in plain multi-row inserts.

use super::Context;
use super::figure::{Figure, per_second};
use super::house::{self, House};
use anyhow::ensure;
use backend::Workers;
use domain::PerformanceId;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Holds in the log.
const HOLDS: usize = 20_000;
/// Calls under way at a time while it is filled.
const DEPTH: usize = 16;
/// How long filling may take: as fast as the store is.
const FILL_LIMIT: Duration = Duration::from_secs(60);
/// How long the writer may take to begin.
const BEGIN_LIMIT: Duration = Duration::from_secs(20);
/// How often it is looked at meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(2);

pub(super) async fn measure(context: Arc<Context>) -> anyhow::Result<Vec<Figure>> {
    house::within(&context, false, async |house| {
        let (seats, holds) = context.size((60_000, HOLDS), (2_000, 800));
        let fans = house.fans(holds).await?;
        let (logged, plain) = (house.sale(seats).await?, house.sale(seats).await?);
        house.warm_alone(&[logged, plain]).await?;
        let shoppers = house.bench.admit(logged, &fans).await?;
        let filled = house.bench.hold_bare(logged, &shoppers, 2, DEPTH, FILL_LIMIT).await?;
        house.bench.quiet().await?;
        let workers = Workers::start(&house.backend);
        let written = drain(house, logged, filled.count).await;
        workers.stop().await;
        let (count, elapsed) = written?;
        let accounts: Vec<_> = fans.iter().map(|fan| fan.account).collect();
        let plainly = house.bench.write_plainly(plain, &accounts).await?;
        let rate = Figure::new("orders.writer", per_second(count, elapsed), "orders/s");
        Ok(vec![rate.beside(per_second(plainly.count, plainly.elapsed))])
    })
    .await
}

/// Orders written, and how long it took, from the first batch that is seen to the last.
async fn drain(house: &House, id: PerformanceId, expected: usize) -> anyhow::Result<(usize, Duration)> {
    let begun = Instant::now();
    let first = loop {
        let written = house.bench.orders(id).await?;
        if written > 0 {
            break written;
        }
        ensure!(begun.elapsed() < BEGIN_LIMIT, "the order writer did not begin");
        tokio::time::sleep(LOOK_EVERY).await;
    };
    let started = Instant::now();
    house.drained(id).await?;
    let elapsed = started.elapsed();
    let written = house.bench.orders(id).await?;
    ensure!(written == expected, "{expected} holds are in the log, {written} orders were written");
    ensure!(written > first, "the log was written in one batch: too short to be timed");
    Ok((written - first, elapsed))
}
