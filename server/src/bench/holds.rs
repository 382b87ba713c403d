//! Holds a second: over HTTP with real sessions and passes, the order writer on, beside the very same
//! script asked alone.

use super::Context;
use super::figure::{Budget, Figure, ms, per_second, quantile_ms};
use super::house::{self, House};
use super::load::{Loaded, closed, each, open_loop};
use anyhow::ensure;
use backend::bench::{Bench, Shopper};
use domain::{PerformanceId, SeatNo};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// Calls of the bare script that are under way at a time.
const DEPTH: usize = 16;
/// Lines of the closed loop.
const CONNECTIONS: usize = 64;
/// Lines of the open loop: many more than are busy at its rate, so that none waits for another.
const OPEN_CONNECTIONS: usize = 100;
/// Rate of the open loop, in holds a second.
const OPEN_RATE: u32 = 1_000;
/// The share of the script's rate that HTTP must reach.
const SHARE: f64 = 0.25;
/// What the order writer may be behind: Pay waits no longer than this for an order's row.
const LAG_MAX_MS: f64 = 2_000.0;
/// How often its lag is looked at during the open loop.
const LAG_LOOK_EVERY: Duration = Duration::from_millis(200);

pub(super) async fn measure(context: Arc<Context>) -> anyhow::Result<Vec<Figure>> {
    house::within(&context, true, async |house| {
        let (seats, count) = context.size((60_000, 30_000), (1_000, 400));
        let fans = house.fans(count).await?;
        let mut sales = Vec::new();
        for _ in 0..5 {
            sales.push(house.sale(seats).await?);
        }
        let mut shoppers = Vec::new();
        for id in &sales {
            house.warm(*id).await?;
            shoppers.push(house.bench.admit(*id, &fans).await?);
        }
        let mut figures = Vec::new();
        for (at, each) in [(0, 2), (1, 1)] {
            (context.tell)(&format!("holds: closed loop, {each} seats each"));
            figures.push(closed_loop(&context, house, (sales[at], each), &shoppers[at]).await?);
        }
        (context.tell)("holds: open loop");
        let paced = paced(&context, house, sales[2], &shoppers[2]).await?;
        // The script alone has the machine for itself, as in a benchmark of Redis.
        house.stop_server().await;
        house.bench.quiet().await?;
        let two = bare(&context, house, (sales[3], 2), &shoppers[3]).await?;
        let one = bare(&context, house, (sales[4], 1), &shoppers[4]).await?;
        let mut all = vec![
            Figure::new("holds.script.2_seats", two, "holds/s"),
            Figure::new("holds.script.1_seat", one, "holds/s"),
        ];
        for (http, (script, name)) in figures.into_iter().zip([(two, "2_seats"), (one, "1_seat")]) {
            all.extend(http.figures(name, script));
        }
        all.extend(paced);
        Ok(all)
    })
    .await
}

/// What a closed loop came to.
struct Closed {
    loaded: Loaded,
    /// How far the order writer was behind when the last hold was answered.
    lag_ms: i64,
    drained: Duration,
}

impl Closed {
    fn figures(&self, seats: &str, script: f64) -> Vec<Figure> {
        let name = |what: &str| format!("holds.http.{seats}{what}");
        let latency =
            |what: &str, quantile| Figure::new(name(what), quantile_ms(&self.loaded.latencies, quantile), "ms");
        let rate = Figure::new(name(""), self.loaded.rate(), "holds/s").beside(script);
        // The budget of the design is about two seats.
        let rate = if seats == "2_seats" { rate.within(Budget::Share(SHARE)) } else { rate };
        let lag = Figure::new(name(".writer_lag"), lag(self.lag_ms), "ms").within(Budget::Below(LAG_MAX_MS));
        vec![
            rate,
            latency(".p50", 0.5),
            latency(".p99", 0.99),
            latency(".p99.9", 0.999),
            Figure::new(name(".turned_away"), self.loaded.turned_away(), "holds"),
            lag,
            Figure::new(name(".drained_after"), ms(self.drained), "ms"),
        ]
    }
}

#[expect(clippy::cast_precision_loss, reason = "a lag in milliseconds is far below 2^52")]
fn lag(ms: i64) -> f64 {
    ms as f64
}

/// One request for each shopper, each for seats of its own.
fn requests(
    house: &House,
    (id, each): (PerformanceId, u32),
    shoppers: &[Shopper],
    seats: u32,
) -> anyhow::Result<Vec<bytes::Bytes>> {
    (0..seats / each)
        .zip(shoppers)
        .map(|(number, shopper)| {
            let wanted: Vec<SeatNo> = (0..each).map(|seat| SeatNo(number * each + seat)).collect();
            house.hold_request(id, shopper, &wanted)
        })
        .collect()
}

async fn closed_loop(
    context: &Context,
    house: &House,
    (id, seats_each): (PerformanceId, u32),
    shoppers: &[Shopper],
) -> anyhow::Result<Closed> {
    let seats = context.size(60_000, 1_000);
    let requests = requests(house, (id, seats_each), shoppers, seats)?;
    let connections = context.size(CONNECTIONS, 8);
    let loaded = closed(house.address()?, connections, each(requests), context.load).await?;
    let lag_ms = house.bench.writer(id).await?.lag_ms;
    // Beyond the bound of the order writer's lag the program turns holds away: told, not wrong.
    loaded.expect(&[503])?;
    let drained = house.drained(id).await?;
    told_and_written(house, id, &loaded).await?;
    Ok(Closed { loaded, lag_ms, drained })
}

/// Every accepted hold has its order, and both stores agree. What was turned away may have been taken
/// nevertheless, where the store's answer came too late.
async fn told_and_written(house: &House, id: PerformanceId, loaded: &Loaded) -> anyhow::Result<()> {
    let (accepted, written) = (loaded.accepted(), house.bench.orders(id).await?);
    let unknown = loaded.statuses.get(&503).copied().unwrap_or(0);
    ensure!(
        (accepted..=accepted + unknown).contains(&written),
        "{accepted} holds were accepted, {written} orders were written"
    );
    house.audit(id).await
}

/// A thousand holds a second, each at its own moment.
async fn paced(
    context: &Context,
    house: &House,
    id: PerformanceId,
    shoppers: &[Shopper],
) -> anyhow::Result<Vec<Figure>> {
    let requests = requests(house, (id, 2), shoppers, context.size(60_000, 1_000))?;
    let (connections, rate) = context.size((OPEN_CONNECTIONS, OPEN_RATE), (8, 100));
    // The order writer's lag is looked at all along: the worst counts.
    let worst = Arc::new(AtomicI64::new(0));
    let watch = tokio::spawn(watch_lag(house.bench.clone(), id, Arc::clone(&worst)));
    let loaded = open_loop(house.address()?, connections, each(requests), context.load, rate).await;
    watch.abort();
    let loaded = loaded?;
    loaded.expect(&[])?;
    house.drained(id).await?;
    told_and_written(house, id, &loaded).await?;
    let name = |what: &str| format!("holds.open_{rate}_a_second.{what}");
    let latency = |what: &str, quantile| Figure::new(name(what), quantile_ms(&loaded.latencies, quantile), "ms");
    Ok(vec![
        latency("p50", 0.5),
        latency("p99", 0.99).within(Budget::Below(25.0)),
        latency("p99.9", 0.999),
        Figure::new(name("rate"), loaded.rate(), "holds/s"),
        Figure::new(name("writer_lag"), lag(worst.load(Ordering::Relaxed)), "ms").within(Budget::Below(LAG_MAX_MS)),
    ])
}

/// Keeps the worst lag, until it is ended.
async fn watch_lag(bench: Bench, id: PerformanceId, worst: Arc<AtomicI64>) {
    loop {
        // Whoever doesn't answer has no lag to tell; the load itself finds an outage.
        if let Ok(state) = bench.writer(id).await {
            worst.fetch_max(state.lag_ms, Ordering::Relaxed);
        }
        tokio::time::sleep(LAG_LOOK_EVERY).await;
    }
}

/// The script alone: holds a second.
async fn bare(
    context: &Context,
    house: &House,
    (id, seats_each): (PerformanceId, u32),
    shoppers: &[Shopper],
) -> anyhow::Result<f64> {
    let run = house.bench.hold_bare(id, shoppers, seats_each, DEPTH, context.load).await?;
    Ok(per_second(run.count, run.elapsed))
}
