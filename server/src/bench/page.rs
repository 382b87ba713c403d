//! The page of an event as the server sends it to somebody who is not signed in, beside the bare
//! application under the same load.

use super::Context;
use super::figure::{Budget, Figure, quantile_ms};
use super::hello::Hello;
use super::house::{self, House};
use super::join::TURNED_AWAY;
use super::load::{always, closed, get, open_loop};
use std::net::SocketAddr;
use std::sync::Arc;

/// Lines of the closed loop: as many as of the bare application's.
const CONNECTIONS: usize = 64;
/// Lines of the open loop.
const OPEN_CONNECTIONS: usize = 100;
/// The budget, in pages a second.
const RATE_MIN: f64 = 5_000.0;
/// The budget at half of the rate that was reached, in milliseconds.
const P99_MAX_MS: f64 = 50.0;

pub(super) async fn measure(context: Arc<Context>) -> anyhow::Result<Vec<Figure>> {
    let hello = Hello::start().await?;
    let outcome = house::within(&context, true, async |house| pages(&context, house, hello.address).await).await;
    hello.stop().await;
    outcome
}

async fn pages(context: &Context, house: &House, hello: SocketAddr) -> anyhow::Result<Vec<Figure>> {
    let id = house.sale(context.size(20_000, 1_000)).await?;
    house.warm(id).await?;
    let (address, connections) = (house.address()?, context.size(CONNECTIONS, 4));
    let slug = house.backend.performance(id).await?.slug.clone();
    let page = always(get(address, &format!("/events/{slug}")));
    let bare = closed(hello, connections, always(get(hello, "/")), context.load / 2).await?;
    let full = closed(address, connections, Arc::clone(&page), context.load).await?;
    // Under a closed loop the server may have more to do than it wants to: it sheds newcomers first.
    full.expect(TURNED_AWAY)?;
    let lines = context.size(OPEN_CONNECTIONS, 8);
    let half = open_loop(address, lines, page, context.load, full.half_rate()).await?;
    half.expect(context.size::<&[u16]>(&[], TURNED_AWAY))?;
    let latency = |name: &str, load: &super::load::Loaded, quantile| {
        Figure::new(name, quantile_ms(&load.latencies, quantile), "ms")
    };
    Ok(vec![
        Figure::new("page.hello.rate", bare.rate(), "requests/s"),
        Figure::new("page.event.rate", full.rate(), "pages/s").beside(bare.rate()).within(Budget::AtLeast(RATE_MIN)),
        latency("page.event.p50", &full, 0.5),
        latency("page.event.p99", &full, 0.99),
        Figure::new("page.event.turned_away", full.turned_away(), "pages"),
        Figure::new("page.event.half_rate.rate", half.rate(), "pages/s"),
        latency("page.event.half_rate.p50", &half, 0.5),
        latency("page.event.half_rate.p99", &half, 0.99).within(Budget::Below(P99_MAX_MS)),
    ])
}
