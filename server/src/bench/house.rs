//! A house for one group: private stores, a server as a child where one is wanted, sales and shoppers.
//! It is always closed again, also when the group fails or takes too long.

use super::Context;
use crate::run::{ServerProcess, StoreAccess, TemporaryFolder};
use anyhow::{Context as _, bail, ensure};
use app::context::pass_cookie;
use backend::bench::{Bench, Shopper};
use backend::{Backend, Config, FanLogin, SystemClock, Workers};
use domain::venue::generate;
use domain::{PerformanceId, SeatNo};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Longest time of one group, the opening and closing of its house left out.
const GROUP_LIMIT: Duration = Duration::from_secs(100);
/// How long the seats of a sale may take to be in place.
const WARM_LIMIT: Duration = Duration::from_secs(30);
/// How long the lobby of a sale lasts in which fans only wait: longer than any group.
const LOBBY_MS: i64 = 3_600_000;
/// How long the order writer may take to write what is left after a load.
const DRAIN_LIMIT: Duration = Duration::from_secs(60);
/// How often it is looked at meanwhile.
const DRAIN_LOOK_EVERY: Duration = Duration::from_millis(5);

/// One group's installation.
pub(super) struct House {
    pub(super) backend: Arc<Backend>,
    pub(super) bench: Bench,
    config: Config,
    pub(super) stores: StoreAccess,
    pub(super) server: Option<ServerProcess>,
}

/// Opens a house, lets `work` use it within the bound of a group, and closes it in any case.
pub(super) async fn within<T>(
    context: &Context,
    with_server: bool,
    work: impl AsyncFnOnce(&mut House) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let mut config = Config::from_env()?;
    let folder = TemporaryFolder::new("bench")?;
    config.data_dir = folder.path().to_owned();
    config.database_url = None;
    config.redis_url = None;
    let stores = StoreAccess::open(&config).await?;
    let mut house = match House::open(context, config, stores, with_server).await {
        Ok(house) => house,
        Err((error, stores)) => {
            stores.close().await?;
            return Err(error);
        }
    };
    let outcome = match tokio::time::timeout(GROUP_LIMIT, work(&mut house)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(anyhow::anyhow!("not done within {} s", GROUP_LIMIT.as_secs())),
    };
    house.stop_server().await;
    house.stores.close().await?;
    drop(folder);
    outcome
}

impl House {
    async fn open(
        context: &Context,
        mut config: Config,
        stores: StoreAccess,
        with_server: bool,
    ) -> Result<Self, (anyhow::Error, StoreAccess)> {
        let opened = async {
            let server = if with_server { Some(ServerProcess::start(&config, &stores, &[]).await?) } else { None };
            if let Some(server) = &server {
                config.public_url.clone_from(&server.url);
            }
            let (database, redis) = (&stores.database_url, &stores.redis_url);
            let backend = Backend::connect(config.clone(), database, redis, Arc::new(SystemClock))
                .await
                .context("opening the stores")?;
            let bench = Bench::new(&backend, redis)?;
            let versions = bench.versions().await?;
            context.versions.get_or_init(|| versions);
            anyhow::Ok((server, backend, bench))
        };
        match opened.await {
            Ok((server, backend, bench)) => Ok(Self { backend, bench, config, stores, server }),
            Err(error) => Err((error, stores)),
        }
    }

    /// Where the server listens.
    pub(super) fn address(&self) -> anyhow::Result<SocketAddr> {
        let server = self.server.as_ref().context("this house has no server")?;
        server.url.trim_start_matches("http://").parse().context("the server's address")
    }

    /// Starts the server of a house that was opened without one, or whose server was stopped.
    pub(super) async fn start_server(&mut self) -> anyhow::Result<()> {
        self.stop_server().await;
        self.server = Some(ServerProcess::start(&self.config, &self.stores, &[]).await?);
        Ok(())
    }

    /// Ends the server, if there is one: what follows has the machine for itself.
    pub(super) async fn stop_server(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop().await;
        }
    }

    /// Makes a sale that is open, with room for as many shoppers as are let in.
    pub(super) async fn sale(&self, seats: u32) -> anyhow::Result<PerformanceId> {
        self.sale_that_opens_in(0, seats).await
    }

    /// Makes a sale that opens after the run: places in its queue can be taken, and nobody is let in.
    pub(super) async fn lobby(&self, seats: u32) -> anyhow::Result<PerformanceId> {
        self.sale_that_opens_in(LOBBY_MS, seats).await
    }

    async fn sale_that_opens_in(&self, ms: i64, seats: u32) -> anyhow::Result<PerformanceId> {
        let name = format!("Bench Arena {seats}");
        let id = self
            .backend
            .seed_sale(generate::arena(seats, &name), &name, |sale| {
                sale.opens = sale.opens.plus(ms);
                sale.shoppers_max = 1_000_000;
                sale.hold_ttl_ms = 3_600_000;
                sale.seat_limit = 4;
            })
            .await?;
        Ok(id)
    }

    /// Waits until the seats of a sale are in place and its log is written.
    pub(super) async fn warm(&self, id: PerformanceId) -> anyhow::Result<()> {
        ensure!(self.backend.wait_until_warm(id, WARM_LIMIT).await?, "the seats of a sale were not put in place");
        self.drained(id).await?;
        Ok(())
    }

    /// Warms a sale up in a house without a server.
    pub(super) async fn warm_alone(&self, ids: &[PerformanceId]) -> anyhow::Result<()> {
        let workers = Workers::start(&self.backend);
        let mut outcome = Ok(());
        for id in ids {
            outcome = outcome.and(self.warm(*id).await);
        }
        workers.stop().await;
        outcome
    }

    /// Waits until the order writer has written everything, and answers how long that took.
    pub(super) async fn drained(&self, id: PerformanceId) -> anyhow::Result<Duration> {
        let started = std::time::Instant::now();
        while !self.bench.writer(id).await?.drained {
            if started.elapsed() > DRAIN_LIMIT {
                bail!("the order writer did not write everything within {} s", DRAIN_LIMIT.as_secs());
            }
            tokio::time::sleep(DRAIN_LOOK_EVERY).await;
        }
        Ok(started.elapsed())
    }

    /// Makes fans, signed in.
    pub(super) async fn fans(&self, count: usize) -> anyhow::Result<Vec<FanLogin>> {
        Ok(self.backend.seed_fans(count).await?)
    }

    /// The whole request of a hold, as the page sends it.
    pub(super) fn hold_request(
        &self,
        id: PerformanceId,
        shopper: &Shopper,
        seats: &[SeatNo],
    ) -> anyhow::Result<bytes::Bytes> {
        let address = self.address()?;
        let pass = self.backend.cookie_name(&pass_cookie(id));
        let (performance, seats) = (id.to_string(), domain::ids::join_seats(seats));
        let body = crate::rush::http::encode_form(&[
            ("performance", performance.as_str()),
            ("seats", seats.as_str()),
            ("key", "bench"),
        ]);
        let text = format!(
            "POST /api/hold HTTP/1.1\r\nhost: {address}\r\norigin: http://{address}\r\naccept: application/json\r\n\
             cookie: {}; {pass}={}\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
            shopper.cookie,
            shopper.pass,
            body.len(),
        );
        Ok(text.into())
    }

    /// The whole request for a place in a queue, as the page sends it.
    pub(super) fn join_request(&self, id: PerformanceId, fan: &FanLogin) -> anyhow::Result<bytes::Bytes> {
        Ok(crate::rush::waiting::join_request(&self.address()?.to_string(), id, &fan.cookie))
    }

    /// Memory that Redis has allocated, and the server's resident memory, in bytes.
    pub(super) async fn memory(&self) -> anyhow::Result<[f64; 2]> {
        // A rewrite of the append-only file would be counted for what was asked for.
        self.bench.quiet().await?;
        let redis = super::figure::bytes(self.bench.redis_memory().await?);
        let server = self.server.as_ref().and_then(ServerProcess::pid).context("the server has ended")?;
        Ok([redis, super::memory::resident(server)?])
    }

    /// Refuses a run after which an invariant doesn't hold.
    pub(super) async fn audit(&self, id: PerformanceId) -> anyhow::Result<()> {
        let breaches: Vec<String> = self.backend.audit(id).await?.iter().map(ToString::to_string).collect();
        ensure!(breaches.is_empty(), "after the load an invariant doesn't hold: {}", breaches.join("; "));
        Ok(())
    }
}
