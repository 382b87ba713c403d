//! Places in a queue: taken over HTTP by fans who are signed in and have none yet, beside the bare
//! application under the same load; and what a waiting fan costs in memory.

use super::Context;
use super::figure::{Budget, Figure, count, quantile_ms};
use super::hello::Hello;
use super::house::{self, House};
use super::load::{Loaded, always, closed, each, get, open_loop};
use anyhow::ensure;
use bytes::Bytes;
use domain::PerformanceId;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Fans of the closed loop, each of whom joins once: more than the machine of the tables lets join in
/// one load.
const FANS_CLOSED: usize = 120_000;
/// Fans of the open loop.
const FANS_OPEN: usize = 80_000;
/// Lines of the closed loop: as many as of the bare application's.
const CONNECTIONS: usize = 64;
/// Lines of the open loop: many more than are busy at its rate, so that none waits for another.
const OPEN_CONNECTIONS: usize = 200;
/// The share of the bare application's rate that joins must reach.
const SHARE: f64 = 0.3;
/// The budget at half of the rate that was reached, in milliseconds.
const P99_MAX_MS: f64 = 100.0;
/// The budget of one waiting fan in Redis, in bytes.
const FAN_MAX_BYTES: f64 = 200.0;
/// Statuses of what an overloaded server sheds. At half of its rate it must not, except on a machine of
/// tests, which others load.
pub(super) const TURNED_AWAY: &[u16] = &[429, 503];
/// How long the polled status may take to count everybody.
const COUNT_LIMIT: Duration = Duration::from_secs(5);

pub(super) async fn measure(context: Arc<Context>) -> anyhow::Result<Vec<Figure>> {
    let hello = Hello::start().await?;
    let outcome = house::within(&context, true, async |house| joins(&context, house, hello.address).await).await;
    hello.stop().await;
    outcome
}

async fn joins(context: &Context, house: &House, hello: SocketAddr) -> anyhow::Result<Vec<Figure>> {
    let (at_once, paced) = context.size((FANS_CLOSED, FANS_OPEN), (400, 100));
    (context.tell)("join: making fans");
    let fans = house.fans(at_once + paced).await?;
    let id = house.lobby(1_000).await?;
    house.warm(id).await?;
    let requests = fans.iter().map(|fan| house.join_request(id, fan)).collect::<anyhow::Result<Vec<Bytes>>>()?;
    let (first, second) = requests.split_at(at_once);
    let (address, connections) = (house.address()?, context.size(CONNECTIONS, 4));
    // The server has met the sale before it is weighed.
    let status = always(get(address, &format!("/api/performances/{id}/queue/status")));
    closed(address, connections, status, context.load / 10).await?.expect(&[])?;

    (context.tell)("join: closed loop");
    let bare = async || closed(hello, connections, always(get(hello, "/")), context.load / 2).await;
    let mut hello_loaded = bare().await?;
    let before = house.memory().await?;
    let joined = closed(address, connections, each(first.to_vec()), context.load).await?;
    // What a server sheds under a closed loop was told to come again, and has no place.
    joined.expect(TURNED_AWAY)?;
    let after = house.memory().await?;
    let again = bare().await?;
    hello_loaded.add(&again);
    hello_loaded.elapsed += again.elapsed;

    (context.tell)("join: open loop");
    let lines = context.size(OPEN_CONNECTIONS, 8);
    let half = open_loop(address, lines, each(second.to_vec()), context.load, joined.half_rate()).await?;
    half.expect(context.size::<&[u16]>(&[], TURNED_AWAY))?;
    everybody_is_counted(house, id, &[&joined, &half]).await?;
    house.audit(id).await?;
    let mut figures = rates(&hello_loaded, &joined, &half);
    figures.extend(memory(before, after, joined.accepted()));
    Ok(figures)
}

fn rates(hello: &Loaded, joined: &Loaded, half: &Loaded) -> Vec<Figure> {
    let latency = |name: &str, load: &Loaded, quantile| Figure::new(name, quantile_ms(&load.latencies, quantile), "ms");
    vec![
        Figure::new("join.hello.rate", hello.rate(), "requests/s"),
        Figure::new("join.rate", joined.rate(), "joins/s").beside(hello.rate()).within(Budget::Share(SHARE)),
        latency("join.p50", joined, 0.5).beside(quantile_ms(&hello.latencies, 0.5)),
        latency("join.p99", joined, 0.99).beside(quantile_ms(&hello.latencies, 0.99)),
        Figure::new("join.turned_away", joined.turned_away(), "joins"),
        Figure::new("join.half_rate.rate", half.rate(), "joins/s"),
        latency("join.half_rate.p50", half, 0.5),
        latency("join.half_rate.p99", half, 0.99).within(Budget::Below(P99_MAX_MS)),
        latency("join.half_rate.p99.9", half, 0.999),
    ]
}

/// Growth by fan. What was given back meanwhile is no growth.
fn memory(before: [f64; 2], after: [f64; 2], fans: usize) -> [Figure; 2] {
    let growth = |at: usize| (after[at] - before[at]).max(0.0) / count(fans).max(1.0);
    [
        Figure::new("join.memory_a_fan.redis", growth(0), "bytes").within(Budget::AtMost(FAN_MAX_BYTES)),
        Figure::new("join.memory_a_fan.server", growth(1), "bytes"),
    ]
}

/// The numbering counts whoever was told a place, and nobody else but those who got no answer.
async fn everybody_is_counted(house: &House, id: PerformanceId, loads: &[&Loaded]) -> anyhow::Result<()> {
    let told: usize = loads.iter().map(|load| load.accepted()).sum();
    let asked: usize = loads.iter().flat_map(|load| load.statuses.values()).sum();
    let started = Instant::now();
    loop {
        let joined = usize::try_from(house.backend.queue_status(id).await?.joined)?;
        if (told..=asked).contains(&joined) {
            return Ok(());
        }
        ensure!(started.elapsed() < COUNT_LIMIT, "{told} fans were told a place, {joined} are counted");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
