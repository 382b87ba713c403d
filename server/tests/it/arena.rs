//! One on-sale with all that it needs: stores of its own, a `Backend` beside them for seeding and
//! looking, and, where a test asks for them, the provider and the server as processes.

pub(crate) mod cluster;
pub(crate) mod crowd;
mod fan;
mod house;
pub(crate) mod http;
pub(crate) mod journal;
mod kept;
mod member;
mod parts;
mod process;
pub(crate) mod provider;
pub(crate) mod shop;
mod stores;
pub(crate) mod stripe;
pub(crate) mod upload;

pub(crate) use fan::Fan;
pub(crate) use http::Reply;
pub(crate) use kept::{kept_from, seat_set};
pub(crate) use member::ORGANIZATION;
pub(crate) use parts::reached;
pub(crate) use process::{program, run_to_end};
pub(crate) use provider::Provider;

use backend::embedded::Stores;
use backend::{Backend, Config, SystemClock, Workers};
use cluster::Cluster;
use domain::organizer::draft::WINDOW_MS;
use domain::queue::Mode;
use domain::venue::{Plan, generate};
use domain::{Millis, OrderId, PerformanceId, SeatNo};
use process::Server;
use sqlx::PgPool;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How long a test waits for what must happen soon, on a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(15);

/// What differs between the sales of tests.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) seats: u32,
    /// A house of the test's own instead of the generated one.
    pub(crate) plan: Option<Plan>,
    pub(crate) seat_limit: u32,
    pub(crate) hold_ttl_ms: i64,
    pub(crate) shoppers_max: u32,
    /// Waiting room or lottery.
    pub(crate) mode: Mode,
    /// So long after it is made the sale opens; 0 for a sale that is open.
    pub(crate) opens_in_ms: i64,
    /// So long after it is made places are given; none: at once.
    pub(crate) registers_in_ms: Option<i64>,
    /// By so long after it is made accounts must have been made; none: any time.
    pub(crate) cutoff_in_ms: Option<i64>,
    /// Length of a lottery's window.
    pub(crate) window_ms: i64,
    /// Whether Redis is a cluster rather than one server.
    pub(crate) cluster: bool,
    /// Further variables of the server's and the test's settings.
    pub(crate) settings: Vec<(&'static str, String)>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            seats: generate::MIN_ARENA_SEATS,
            plan: None,
            seat_limit: 4,
            hold_ttl_ms: 120_000,
            shoppers_max: 2_000,
            mode: Mode::Queue,
            opens_in_ms: 0,
            registers_in_ms: None,
            cutoff_in_ms: None,
            window_ms: WINDOW_MS,
            cluster: false,
            settings: Vec::new(),
        }
    }
}

impl Setup {
    /// A sale like any other, with Redis as a cluster.
    pub(crate) fn on_a_cluster() -> Self {
        Self { cluster: true, ..Self::default() }
    }

    /// A short time at the provider, so that its end is seen within a test.
    pub(crate) fn provider_deadline(mut self, deadline_ms: i64, grace_ms: i64) -> Self {
        self.settings.push(("STARARENA_PROVIDER_DEADLINE_MS", deadline_ms.to_string()));
        self.settings.push(("STARARENA_PROVIDER_GRACE_MS", grace_ms.to_string()));
        self
    }
}

/// A folder that goes away with the test.
struct Scratch(PathBuf);

impl Scratch {
    /// In the system's temporary folder: Postgres, which refuses to run as root, must reach it.
    fn new() -> Self {
        use std::os::unix::fs::DirBuilderExt as _;
        let unique = uuid::Uuid::new_v4().simple().to_string();
        let path = std::env::temp_dir().join(format!("sa-it-{}", &unique[..10]));
        std::fs::DirBuilder::new().mode(0o755).create(&path).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// A sale and everything around it. Processes end with it, also when a test fails.
pub(crate) struct Arena {
    /// The sale that tests speak of.
    pub(crate) performance: PerformanceId,
    /// Use-cases without HTTP between, on the same stores.
    pub(crate) backend: Arc<Backend>,
    /// Rows, to be looked at and tampered with.
    pub(crate) pg: PgPool,
    /// The origin that browsers would see.
    pub(crate) origin: String,
    /// The payment provider, in tests that pay.
    provider: Option<Provider>,
    server: Option<Server>,
    /// What the server's process is: `all`, or `serve` beside workers of their own.
    role: &'static str,
    /// Workers as processes, by number; none where one was killed.
    crew: Vec<Option<Server>>,
    /// Where processes tell their metrics, in tests that ask: workers by number, then the web.
    scraped: Vec<String>,
    workers: Option<Workers>,
    settings: HashMap<String, String>,
    client: reqwest::Client,
    // Fields drop in this order: the folder outlives what runs in it.
    pub(crate) stores: Option<Stores>,
    cluster: Option<Cluster>,
    scratch: Scratch,
}

impl Arena {
    /// Stores and a sale, the workers in this process; no server, no provider.
    pub(crate) async fn bare(setup: Setup) -> Self {
        let mut arena = Self::prepare(&setup, false).await;
        arena.start_workers();
        arena.prepared().await;
        arena
    }

    /// The whole program: provider and server are processes of their own.
    pub(crate) async fn web(setup: Setup) -> Self {
        let mut arena = Self::prepare(&setup, true).await;
        arena.start_server(&[]).await;
        arena.prepared().await;
        arena
    }

    async fn prepare(setup: &Setup, web: bool) -> Self {
        let scratch = Scratch::new();
        let stores = stores::open(&scratch.0, !setup.cluster).await;
        let cluster = if setup.cluster { Some(Cluster::start(&scratch.0).await) } else { None };
        let database = stores.database_url.clone().unwrap();
        let redis = cluster.as_ref().map_or_else(|| stores.redis_url.clone().unwrap(), Cluster::url);
        let port = process::free_port();
        let origin = format!("http://127.0.0.1:{port}");
        let provider = if web { Some(Provider::start(&scratch.0, &origin).await) } else { None };
        let psp_url = provider.as_ref().map_or_else(String::new, |provider| provider.url.clone());
        let fixed = [
            ("STARARENA_LISTEN", format!("127.0.0.1:{port}")),
            ("STARARENA_PUBLIC_URL", origin.clone()),
            ("STARARENA_DATA_DIR", scratch.0.join("data").to_str().unwrap().to_owned()),
            ("STARARENA_DATABASE_CONNECTIONS", "10".to_owned()),
            // Many tests share a machine: its timers are late, and that is not what they are about.
            ("STARARENA_SHED_LATENESS_MS", "60000".to_owned()),
            ("STARARENA_HOLD_P99_BUDGET_MS", "60000".to_owned()),
            ("STARARENA_POOL_WAIT_BUDGET_MS", "60000".to_owned()),
            // What a killed process had in hand is somebody else's soon.
            ("STARARENA_SMTP_TIMEOUT_MS", "2000".to_owned()),
            ("STARARENA_WEBHOOK_TIMEOUT_MS", "2000".to_owned()),
            ("STARARENA_DELIVERY_LEASE_MS", "6000".to_owned()),
            ("STARARENA_PSP_URL", psp_url),
            ("DATABASE_URL", database.clone()),
            ("REDIS_URL", redis.clone()),
        ];
        let settings: HashMap<String, String> = fixed
            .into_iter()
            .chain(setup.settings.iter().cloned())
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        let config = Config::read(|name| settings.get(name).cloned()).unwrap();
        let backend = Backend::connect(config, &database, &redis, Arc::new(SystemClock)).await.unwrap();
        let plan = setup.plan.clone().unwrap_or_else(|| generate::arena(setup.seats, "House"));
        let performance = seed(&backend, plan, setup).await;
        backend::use_tls();
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build().unwrap();
        let pg = PgPool::connect(&database).await.unwrap();
        Self {
            performance,
            backend,
            pg,
            origin,
            provider,
            server: None,
            role: "all",
            crew: Vec::new(),
            scraped: Vec::new(),
            workers: None,
            settings,
            client,
            stores: Some(stores),
            cluster,
            scratch,
        }
    }

    /// Another sale in the same house.
    pub(crate) async fn another_sale(&self) -> PerformanceId {
        let setup = Setup::default();
        let id = seed(&self.backend, generate::arena(setup.seats, "Other house"), &setup).await;
        self.await_seats(id).await;
        id
    }

    async fn prepared(&self) {
        self.await_seats(self.performance).await;
    }

    async fn await_seats(&self, id: PerformanceId) {
        eventually!(SOON, "the seats are built", self.backend.watch(id).await.is_ok());
    }

    /// Starts the workers in this process.
    pub(crate) fn start_workers(&mut self) {
        self.workers = Some(Workers::start(&self.backend));
    }

    /// Stops the workers of this process.
    pub(crate) async fn stop_workers(&mut self) {
        self.workers.take().unwrap().stop().await;
    }

    /// Starts the server, with further variables, on the address that it always has.
    pub(crate) async fn start_server(&mut self, further: &[(&str, &str)]) {
        let log = self.scratch.0.join("server.log");
        let mut settings = self.settings.clone();
        settings.extend(further.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        self.server = Some(Server::start(self.role, &settings, &log).await);
    }

    /// Kills the server as a power cut would.
    pub(crate) async fn kill_server(&mut self) {
        self.server.take().unwrap().kill().await;
    }

    /// Kills the server as a power cut would, and starts it again.
    pub(crate) async fn restart_server(&mut self, further: &[(&str, &str)]) {
        self.kill_server().await;
        self.start_server(further).await;
    }

    /// The running server.
    pub(crate) fn server(&mut self) -> &mut Server {
        self.server.as_mut().unwrap()
    }

    /// The most memory that the server ever had, in KiB.
    pub(crate) fn server_peak_kib(&self) -> u64 {
        self.server.as_ref().unwrap().peak_kib()
    }

    /// The provider.
    pub(crate) fn provider(&self) -> &Provider {
        self.provider.as_ref().unwrap()
    }

    /// Settings of the server, for further processes on the same stores.
    pub(crate) fn settings(&self) -> &HashMap<String, String> {
        &self.settings
    }

    /// One number from Postgres, of a query without parameters or with the performance as $1.
    pub(crate) async fn count(&self, sql: &'static str) -> i64 {
        let query = sqlx::query_scalar(sql);
        let query = if sql.contains("$1") { query.bind(self.performance.0) } else { query };
        query.fetch_one(&self.pg).await.unwrap()
    }

    /// One number about an order, which is $1.
    pub(crate) async fn count_of(&self, order: OrderId, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).bind(order.0).fetch_one(&self.pg).await.unwrap()
    }

    /// The status of an order's row, once it is written.
    pub(crate) async fn status(&self, order: OrderId) -> Option<String> {
        sqlx::query_scalar("select status from orders where id = $1")
            .bind(order.0)
            .fetch_optional(&self.pg)
            .await
            .unwrap()
    }

    /// Waits until an order's row says so.
    pub(crate) async fn await_status(&self, order: OrderId, status: &str) {
        eventually!(SOON, format!("order {order} is {status}"), self.status(order).await.as_deref() == Some(status));
    }

    /// The cluster, in tests that have one.
    pub(crate) fn cluster(&self) -> &Cluster {
        self.cluster.as_ref().unwrap()
    }

    /// The cluster, to be broken.
    pub(crate) fn cluster_mut(&mut self) -> &mut Cluster {
        self.cluster.as_mut().unwrap()
    }

    /// A connection to Redis, to be looked at and broken.
    pub(crate) async fn redis(&self) -> redis::aio::MultiplexedConnection {
        let url = self.settings["REDIS_URL"].as_str();
        redis::Client::open(url).unwrap().get_multiplexed_async_connection().await.unwrap()
    }

    /// Redis's clock, the authority on ends.
    pub(crate) async fn redis_now(&self) -> Millis {
        let (s, us): (i64, i64) = redis::cmd("TIME").query_async(&mut self.redis().await).await.unwrap();
        Millis(s * 1_000 + us / 1_000)
    }

    /// The byte of one seat.
    pub(crate) async fn seat(&self, seat: u32) -> u8 {
        self.backend.seat_bytes(self.performance).await.unwrap()[seat as usize]
    }

    /// The sales whose seats are looked at at the end.
    async fn audited_sales(&self) -> Vec<PerformanceId> {
        // As in `finish`: a store that hung may be answered for by the circuit alone.
        let mut sales = self.backend.audited_sales().await;
        eventually!(SOON, "the seat store answers", {
            if matches!(sales, Err(backend::Error::Redis(_))) {
                sales = self.backend.audited_sales().await;
            }
            !matches!(sales, Err(backend::Error::Redis(_)))
        });
        sales.unwrap()
    }

    /// Checks an empty outbox and inbox, every invariant of all performances (also of those that ended or were
    /// cancelled) and of the whole system, and the orderly end of every process. At the end of every test.
    pub(crate) async fn finish(mut self) {
        if self.workers.is_none() && self.crew.is_empty() && (self.server.is_none() || self.role == "serve") {
            self.start_workers();
        }
        eventually!(
            SOON,
            "the inbox is empty",
            self.count("select count(*) from payment_inbox where applied_ms is null").await == 0
        );
        eventually!(
            SOON,
            "the outbox is empty",
            self.count("select count(*) from outbox where done_ms is null").await == 0
        );
        let mut breaches = Vec::new();
        for sale in self.audited_sales().await {
            // A test may have made the store hang: this process has a circuit of its own, which closes with a probe.
            let mut audited = self.backend.audit(sale).await;
            eventually!(SOON, "the seat store answers", {
                if matches!(audited, Err(backend::Error::Redis(_))) {
                    audited = self.backend.audit(sale).await;
                }
                !matches!(audited, Err(backend::Error::Redis(_)))
            });
            breaches.extend(audited.unwrap());
        }
        let published = self.backend.audit_published().await.unwrap();
        let whole = self.backend.audit_system().await.unwrap();
        breaches.extend(published.iter().chain(&whole).filter_map(backend::Finding::breach));
        assert!(breaches.is_empty(), "{}", breaches.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
        if let Some(server) = self.server.take() {
            server.stop().await;
        }
        for worker in self.crew.drain(..).flatten() {
            worker.stop().await;
        }
        if let Some(workers) = self.workers.take() {
            workers.stop().await;
        }
        if let Some(provider) = self.provider.take() {
            provider.stop().await;
        }
        self.pg.close().await;
        self.stores.take().unwrap().stop().await.unwrap();
    }
}

async fn seed(backend: &Arc<Backend>, plan: Plan, setup: &Setup) -> PerformanceId {
    let name = plan.name.clone();
    backend
        .seed_sale(plan, &name, |sale| {
            sale.seat_limit = setup.seat_limit;
            sale.hold_ttl_ms = setup.hold_ttl_ms;
            sale.shoppers_max = setup.shoppers_max;
            let made = sale.opens;
            sale.opens = made.plus(setup.opens_in_ms);
            sale.mode = setup.mode;
            sale.registers = setup.registers_in_ms.map(|ms| made.plus(ms));
            sale.account_cutoff = setup.cutoff_in_ms.map(|ms| made.plus(ms));
            sale.window_ms = setup.window_ms;
            // The door is not what these tests wait for.
            sale.release_per_min = 600_000;
        })
        .await
        .unwrap()
}

/// Seat numbers as a list.
pub(crate) fn seats(list: &[u32]) -> Vec<SeatNo> {
    list.iter().copied().map(SeatNo).collect()
}
