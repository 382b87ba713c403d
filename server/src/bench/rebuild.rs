//! Redis emptied, half of the house sold or held: how long until the first hold is accepted again.

use super::Context;
use super::figure::{Budget, Figure};
use super::house::{self, House};
use super::load::Line;
use anyhow::ensure;
use domain::hold::SeatState;
use domain::{PerformanceId, SeatNo};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often Redis is emptied; the slowest time counts.
const ROUNDS: u32 = 3;
/// Pause between two tries of the fan who waits.
const TRY_EVERY: Duration = Duration::from_millis(2);
/// How long it is tried.
const TRY_LIMIT: Duration = Duration::from_secs(20);
/// The budget, in seconds.
const BUDGET_S: f64 = 2.0;

pub(super) async fn measure(context: Arc<Context>) -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for seats in context.size(vec![20_000, 60_000], vec![1_000]) {
        figures.push(of(&context, seats).await?);
    }
    Ok(figures)
}

async fn of(context: &Context, seats: u32) -> anyhow::Result<Figure> {
    house::within(context, false, async |house| {
        // Two seats an order, half of the house; one order an account.
        let orders = seats as usize / 4;
        let fans = house.fans(orders + ROUNDS as usize).await?;
        let id = house.sale(seats).await?;
        let owners: Vec<_> = fans[..orders].iter().map(|fan| fan.account).collect();
        house.bench.write_plainly(id, &owners).await?;
        house.start_server().await?;
        house.warm(id).await?;
        let waiting = house.bench.admit(id, &fans[orders..]).await?;
        let mut slowest = Duration::ZERO;
        for (round, shopper) in (0..).zip(&waiting) {
            let free = seats / 2 + round * 2;
            let request = house.hold_request(id, shopper, &[SeatNo(free), SeatNo(free + 1)])?;
            let mut line = Line::open(house.address()?, 0).await?;
            house.bench.empty_redis().await?;
            slowest = slowest.max(first_hold(&mut line, &request).await?);
            house.drained(id).await?;
        }
        same_seats(house, id, seats).await?;
        house.stop_server().await;
        let plain = house.bench.restore(id).await?;
        let figure = Figure::new(format!("rebuild.{seats}.first_hold"), slowest.as_secs_f64(), "s");
        let figure = figure.beside(plain.as_secs_f64());
        Ok(if seats == 20_000 { figure.within(Budget::Below(BUDGET_S)) } else { figure })
    })
    .await
}

async fn first_hold(line: &mut Line, request: &[u8]) -> anyhow::Result<Duration> {
    let emptied = Instant::now();
    loop {
        let answer = line.call(request).await?;
        if answer.status == 200 {
            return Ok(emptied.elapsed());
        }
        let text = String::from_utf8_lossy(answer.body);
        ensure!(answer.status == 503, "a hold after the loss was answered with {}: {text}", answer.status);
        ensure!(emptied.elapsed() < TRY_LIMIT, "no hold was accepted within {} s: {text}", TRY_LIMIT.as_secs());
        tokio::time::sleep(TRY_EVERY).await;
    }
}

/// Nothing that was somebody's is free, and nothing that was free is somebody's.
async fn same_seats(house: &House, id: PerformanceId, seats: u32) -> anyhow::Result<()> {
    let bytes = house.backend.seat_bytes(id).await?;
    let count = |state: SeatState| bytes.iter().filter(|byte| SeatState::from_byte(**byte) == state).count();
    let (held, sold) = (count(SeatState::Held), count(SeatState::Sold));
    let taken = (seats / 4 * 2 + ROUNDS * 2) as usize;
    ensure!(held + sold == taken, "after the rebuilds {held} seats are held and {sold} sold, {taken} were taken");
    Ok(())
}
