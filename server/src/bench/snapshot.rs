//! The whole map: its size on the wire, and the time of script and encoding beside a plain read.

use super::Context;
use super::figure::{Budget, Figure, count, median, ms};
use super::house::{self, House};
use super::socket::Socket;
use domain::PerformanceId;
use std::sync::Arc;

/// Readings of each map; the middle one counts.
const READINGS: usize = 200;
/// Bytes of the budget.
const SIZE_MAX_BYTES: f64 = 6.0 * 1_024.0;

pub(super) async fn measure(context: Arc<Context>) -> anyhow::Result<Vec<Figure>> {
    house::within(&context, true, async |house| {
        let mut figures = Vec::new();
        for seats in context.size(vec![20_000, 60_000], vec![20_000]) {
            let id = house.sale(seats).await?;
            house.warm(id).await?;
            figures.extend(of(&context, house, id, seats).await?);
        }
        Ok(figures)
    })
    .await
}

async fn of(context: &Context, house: &House, id: PerformanceId, seats: u32) -> anyhow::Result<Vec<Figure>> {
    // Half of the seats are somebody's: a map of one colour would flatter whatever compresses.
    let fans = house.fans(context.size(seats as usize / 4, 200)).await?;
    let shoppers = house.bench.admit(id, &fans).await?;
    house.bench.hold_bare(id, &shoppers, 2, 16, context.load * 4).await?;
    house.drained(id).await?;
    let size = Socket::open(house.address()?, id, 0).await?.first_frame().await?;
    let (mut reads, mut plain) = (Vec::new(), Vec::new());
    for _ in 0..context.size(READINGS, 10) {
        let times = house.bench.snapshot(id).await?;
        reads.push(times.snapshot);
        plain.push(times.plain);
    }
    let wire = Figure::new(format!("snapshot.{seats}.wire"), count(size), "bytes");
    let wire = if seats == 20_000 { wire.within(Budget::AtMost(SIZE_MAX_BYTES)) } else { wire };
    let time = Figure::new(format!("snapshot.{seats}.script_and_encoding"), ms(median(reads)), "ms");
    Ok(vec![wire.beside(f64::from(seats)), time.beside(ms(median(plain)))])
}
