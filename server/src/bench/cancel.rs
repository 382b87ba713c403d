//! Refunds that are reserved a second after a sold-out performance was cancelled, and how long all of them take;
//! beside the same refunds in plain multi-row statements. Nothing is sent to a provider: how fast that one is, is
//! not the program's.

use super::Context;
use super::figure::{Figure, per_second};
use super::house;
use anyhow::ensure;
use std::sync::Arc;

/// Orders of a real run, and of a quick one.
const ORDERS: (usize, usize) = (5_000, 250);
/// Seats of each.
const SEATS_EACH: u32 = 4;

pub(super) async fn measure(context: Arc<Context>) -> anyhow::Result<Vec<Figure>> {
    house::within(&context, false, async |house| {
        let orders = context.size(ORDERS.0, ORDERS.1);
        let seats = u32::try_from(orders)? * SEATS_EACH;
        let accounts: Vec<_> = house.fans(orders).await?.iter().map(|fan| fan.account).collect();
        let (cancelled, plain) = (house.sale(seats).await?, house.sale(seats).await?);
        house.bench.sell_out(cancelled, &accounts, SEATS_EACH).await?;
        house.bench.sell_out(plain, &accounts, SEATS_EACH).await?;
        // No worker runs in this house: what is timed is the batch alone.
        let reserved = house.bench.cancel(cancelled).await?;
        let plainly = house.bench.refund_plainly(plain).await?;
        for run in [reserved, plainly] {
            ensure!(run.count == orders, "{orders} orders were sold, {} refunds were reserved", run.count);
        }
        let rate = Figure::new("cancel.reserved", per_second(reserved.count, reserved.elapsed), "refunds/s");
        let whole = Figure::new(format!("cancel.{seats}.until_reserved"), reserved.elapsed.as_secs_f64(), "s");
        Ok(vec![rate.beside(per_second(plainly.count, plainly.elapsed)), whole.beside(plainly.elapsed.as_secs_f64())])
    })
    .await
}
