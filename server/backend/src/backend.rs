//! The one object that use-cases hang on: connections, keys, caches and the clock.

use crate::clock::Clock;
use crate::config::{Config, ConfigError};
use crate::error::{Error, Result, refuse};
use crate::live::Live;
use crate::mail::Mailer;
use crate::payment::Registry;
use crate::redis::{Address, RedisSeats, Store};
use domain::token::TokenKeys;
use domain::{AccountId, Code, Millis, PerformanceId, PlanId, Refusal, SessionId};
use governor::{Quota, RateLimiter, clock::DefaultClock, state::keyed::DashMapStateStore};
use sqlx::PgPool;
use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, RwLock};
use tokio::sync::{Notify, Semaphore};

/// Password hashes at once: each takes a core and 19 MiB for tens of milliseconds.
const HASHES_AT_ONCE: usize = 2;
/// Files of organizers that are read at once: the largest takes some hundreds of megabytes.
const FILES_AT_ONCE: usize = 1;
/// Tables of money that are made at once: the longest takes a hundred megabytes and more.
const TABLES_AT_ONCE: usize = 2;
/// Addresses that the limiter remembers before it drops those that are idle.
const LIMITED_ADDRESSES_MAX: usize = 50_000;

/// Wakes workers when there is something for them; each also looks by itself now and then, so that a
/// lost wake-up costs a little time and nothing else.
#[derive(Default)]
pub(crate) struct Wake {
    pub(crate) outbox: Notify,
    pub(crate) inbox: Notify,
    pub(crate) issue: Notify,
    pub(crate) confirm: Notify,
    pub(crate) query: Notify,
    pub(crate) release: Notify,
}

/// Limits calls by address; IPv6 by its /64, which one subscriber commonly has.
pub(crate) struct AddressLimit {
    limiter: RateLimiter<IpAddr, DashMapStateStore<IpAddr>, DefaultClock>,
}

impl AddressLimit {
    /// So many a minute, and as many at once.
    fn per_minute(count: u32) -> Self {
        Self { limiter: RateLimiter::dashmap(Quota::per_minute(NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN))) }
    }

    pub(crate) fn check(&self, ip: IpAddr) -> Result<()> {
        if self.limiter.len() > LIMITED_ADDRESSES_MAX {
            self.limiter.retain_recent();
        }
        let key = match ip {
            IpAddr::V4(v4) => IpAddr::V4(v4),
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !(u128::MAX >> 64))),
        };
        match self.limiter.check_key(&key) {
            Ok(()) => Ok(()),
            Err(_) => Err(Error::Refused(
                Refusal::new(Code::TooManyRequests, "too many tries from this address: wait a moment")
                    .retry_after_ms(10_000),
            )),
        }
    }
}

/// Limits calls by account.
pub(crate) struct AccountLimit {
    limiter: RateLimiter<AccountId, DashMapStateStore<AccountId>, DefaultClock>,
}

impl AccountLimit {
    /// So many a minute, and as many at once.
    fn per_minute(count: u32) -> Self {
        Self { limiter: RateLimiter::dashmap(Quota::per_minute(NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN))) }
    }

    pub(crate) fn check(&self, account: AccountId) -> Result<()> {
        if self.limiter.len() > LIMITED_ADDRESSES_MAX {
            self.limiter.retain_recent();
        }
        match self.limiter.check_key(&account) {
            Ok(()) => Ok(()),
            Err(_) => Err(Error::Refused(
                Refusal::new(Code::TooManyRequests, "too many tries of this account: wait a moment")
                    .retry_after_ms(10_000),
            )),
        }
    }
}

/// The whole of StarArena behind the web: every use-case is a method.
pub struct Backend {
    /// Settings, checked.
    pub(crate) config: Config,
    /// Orders, accounts, money: what must last.
    pub(crate) pg: PgPool,
    /// Seats and queue: what must be quick.
    pub(crate) seats: RedisSeats,
    clock: Arc<dyn Clock>,
    /// Those that payments can be made with here.
    pub(crate) providers: Registry,
    pub(crate) mailer: Box<dyn Mailer>,
    /// Tells organizers' systems of events.
    pub(crate) webhooks: crate::webhooks::WebhookSender,
    pub(crate) tokens: TokenKeys,
    /// Signs ticket codes.
    pub(crate) ticket_signer: crate::tickets::TicketSigner,
    /// Lists of revocations by performance, made again when they are older than a second.
    pub(crate) revocations: Mutex<HashMap<PerformanceId, crate::tickets::CachedRevocations>>,
    /// Sales by performance, read again when they are older than a second.
    pub(crate) sales: Mutex<HashMap<PerformanceId, crate::catalog::CachedSale>>,
    /// Seats of plans: immutable, so read once.
    pub(crate) plans: Mutex<HashMap<PlanId, Arc<crate::catalog::PlanSeats>>>,
    /// Who sits beside whom in a plan: told from its drawing once, when first asked for.
    pub(crate) adjacency: Mutex<HashMap<PlanId, crate::best::Neighbours>>,
    /// The on-sale desks that somebody looks at.
    pub(crate) desks: crate::organizer::Desks,
    /// Seats of performances with zones of their own: fixed for one plan, so read once.
    pub(crate) zoned: Mutex<HashMap<PerformanceId, (PlanId, Arc<crate::catalog::PlanSeats>)>>,
    /// One hub for each performance that somebody watches.
    pub(crate) live: Live,
    /// Sessions that were revoked while their cookies may still look fresh.
    pub(crate) revoked: RwLock<HashSet<SessionId>>,
    pub(crate) hashing: Semaphore,
    /// Makes long tables for organizers, a few at a time.
    pub(crate) tables: Semaphore,
    /// Reads large files of organizers, a few at a time.
    pub(crate) reading: Arc<Semaphore>,
    pub(crate) sign_in_limit: AddressLimit,
    /// Tries of codes by address, as many as sign-ins.
    pub(crate) code_address_limit: AddressLimit,
    /// Tries of codes by account.
    pub(crate) code_account_limit: AccountLimit,
    /// Kept seats by performance, read again when its allocations changed.
    pub(crate) kept: Mutex<HashMap<PerformanceId, Arc<crate::allocations::Kept>>>,
    /// Compared against where there is no account, so that both cases take the same time.
    pub(crate) dummy_hash: String,
    pub(crate) wake: Wake,
    /// Joins on their way to the store, by performance.
    pub(crate) joining: crate::queue::Joining,
    /// The arrival lists that this process has found in their files.
    pub(crate) lists: crate::queue::Lists,
    /// Public randomness of draws.
    pub(crate) beacon: Option<Box<dyn crate::beacon::Beacon>>,
    /// How the hold path of this process is, by performance.
    pub(crate) pulses: crate::pulse::Pulses,
    /// How busy this process is.
    pub(crate) load: Arc<crate::load::Load>,
}

/// Every point at which a process can be made to end by `STARARENA_FAULT_POINTS`, as if it were killed there: around
/// each call of a provider and each commit on the way of money, seats and tickets.
pub const FAULT_POINTS: &[&str] = &[
    "after-cancel",
    "after-capture",
    "after-confirm",
    "after-create",
    "after-ended-read",
    "after-fan-cancel",
    "after-give-up",
    "after-inbox",
    "after-mail",
    "after-payment-read",
    "after-quarantine-refund",
    "after-refund",
    "after-release",
    "after-return",
    "after-unused-cancel",
    "after-webhook",
    "attempt-claimed",
    "batch-order-done",
    "before-accept-commit",
    "before-ask-commit",
    "before-batch-commit",
    "before-begin-commit",
    "before-cancel",
    "before-cancel-commit",
    "before-canceled-commit",
    "before-capture",
    "before-captured-commit",
    "before-close-commit",
    "before-confirm",
    "before-create",
    "before-decide-commit",
    "before-decline-commit",
    "before-differences-commit",
    "before-dispute-commit",
    "before-ended-read",
    "before-event",
    "before-expiry-commit",
    "before-fan-cancel",
    "before-fault-commit",
    "before-freeze-commit",
    "before-give-up",
    "before-import",
    "before-inbox",
    "before-issue-commit",
    "before-keyed-answer",
    "before-lines-commit",
    "before-numbers-commit",
    "before-offer-commit",
    "before-payment-read",
    "before-postings-commit",
    "before-quarantine-failed",
    "before-quarantine-refund",
    "before-quarantine-returned",
    "before-reclaim-commit",
    "before-refund",
    "before-refund-call",
    "before-refund-commit",
    "before-reissue-commit",
    "before-release",
    "before-rename-commit",
    "before-repair",
    "before-retry-commit",
    "before-return",
    "before-step-commit",
    "before-take-back",
    "before-take-back-commit",
    "before-unused-cancel",
    "between-allocating",
    "captured-committed",
    "differences-kept",
    "dispute-committed",
    "ended-answered",
    "event-applied",
    "hold-ended",
    "hold-extended",
    "hold-swept",
    "imported",
    "issued",
    "late-noted",
    "lines-kept",
    "offer-expired",
    "order-closed",
    "payment-begun",
    "payment-opened",
    "performance-cancelled",
    "plan-change-at-rest",
    "plan-change-committed",
    "postings-made",
    "quarantine-failed",
    "quarantine-returned",
    "reclaim-committed",
    "reclaim-taken",
    "refund-asked",
    "refund-call-begun",
    "refund-committed",
    "refund-decided",
    "refund-fault-noted",
    "refund-retried",
    "repair-done",
    "repair-noted",
    "returned",
    "step-committed",
    "take-back-noted",
    "taken-back",
    "ticket-accepted",
    "ticket-declined",
    "ticket-offered",
    "ticket-reissued",
    "ticket-renamed",
    "ticket-taken-back",
    "tickets-frozen",
];

impl Backend {
    /// Connects to both stores and migrates Postgres.
    ///
    /// # Errors
    /// When a store can't be reached, or a migration can't be applied.
    pub async fn connect(
        config: Config,
        database_url: &str,
        redis_url: &str,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Self>> {
        let address =
            Address::parse(redis_url).map_err(|what| Error::Config(ConfigError(format!("REDIS_URL: {what}"))))?;
        let pg = crate::postgres::connect(database_url, config.database_connections).await?;
        crate::postgres::migrate(&pg).await?;
        let seats = RedisSeats::new(Store::connect(&address).await?);
        let providers = Registry::from_settings(&config)?;
        Ok(Arc::new(Self {
            mailer: crate::mail::from_settings(&config.delivery, &pg)?,
            webhooks: crate::webhooks::WebhookSender::new(&config.delivery)?,
            tokens: TokenKeys::new(config.token_keys.clone()),
            ticket_signer: crate::tickets::TicketSigner::new(&config.ticket_keys),
            revocations: Mutex::default(),
            pg,
            seats,
            clock,
            providers,
            sales: Mutex::default(),
            plans: Mutex::default(),
            adjacency: Mutex::default(),
            desks: crate::organizer::Desks::default(),
            zoned: Mutex::default(),
            live: Live::default(),
            revoked: RwLock::default(),
            hashing: Semaphore::new(HASHES_AT_ONCE),
            tables: Semaphore::new(TABLES_AT_ONCE),
            reading: Arc::new(Semaphore::new(FILES_AT_ONCE)),
            sign_in_limit: AddressLimit::per_minute(config.sign_ins_per_min),
            code_address_limit: AddressLimit::per_minute(config.sign_ins_per_min),
            code_account_limit: AccountLimit::per_minute(crate::allocations::CODES_PER_MIN),
            kept: Mutex::default(),
            dummy_hash: DUMMY_HASH.to_owned(),
            wake: Wake::default(),
            joining: crate::queue::Joining::default(),
            lists: crate::queue::Lists::default(),
            beacon: crate::beacon::from_settings(&config.beacon)?,
            pulses: crate::pulse::Pulses::default(),
            load: Arc::new(crate::load::Load::new(&config.queue)),
            config,
        }))
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The current instant by the application's clock.
    pub fn now(&self) -> Millis {
        self.clock.now()
    }

    /// The name of a cookie under the current origin.
    pub fn cookie_name(&self, name: &str) -> String {
        self.config.cookie_name(name)
    }

    /// Number and public key (32 bytes) of the key that signs ticket codes now.
    pub fn ticket_verify_key(&self) -> (u8, [u8; 32]) {
        self.ticket_keys().next().expect("there is a ticket key, or the process had not started")
    }

    /// Every key that doors accept, by number, the newest first.
    pub fn ticket_keys(&self) -> impl Iterator<Item = (u8, [u8; 32])> {
        self.ticket_signer.public()
    }

    /// Asks both stores for a sign of life.
    ///
    /// # Errors
    /// Names the store that did not answer.
    pub async fn ready(&self) -> Result<()> {
        sqlx::query("select 1").execute(&self.pg).await?;
        Ok(self.seats.connection().ping().await?)
    }

    /// Stops at a fault point that is switched on by name, as if the process were killed there.
    pub(crate) fn fault(&self, name: &str) {
        if self.config.fault_points.iter().any(|point| point == name) {
            tracing::warn!(name, "fault point reached: the process ends");
            std::process::abort();
        }
    }

    /// Refuses what only development may do.
    pub(crate) fn development_only(&self, what: &str) -> Result<()> {
        if self.config.is_development() {
            Ok(())
        } else {
            refuse(Code::Forbidden, format!("{what} is refused in production"))
        }
    }
}

/// A hash of nothing in particular, with the parameters of all others.
const DUMMY_HASH: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$c3RhcmFyZW5hLWR1bW15$Jm6QBQ7uRcc7eGQ0mYqHfQzJ0rBqPZzvIYd5nC8P1dA";

/// Random bytes of the operating system.
pub(crate) fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes; without them no secret is safe");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::Path;

    /// The names that sources below a folder stop at.
    fn names(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                names(&path, found);
            } else if path.extension().is_some_and(|kind| kind == "rs") {
                let text = std::fs::read_to_string(path).unwrap();
                let calls = text.split(concat!(".fault", "(\"")).skip(1);
                found.extend(calls.filter_map(|call| call.split('"').next()).map(str::to_owned));
            }
        }
    }

    #[test]
    fn every_fault_point_is_listed_and_every_listed_one_is_reached() {
        let mut called = BTreeSet::new();
        names(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut called);
        let listed: BTreeSet<String> = FAULT_POINTS.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(listed.len(), FAULT_POINTS.len(), "each once");
        assert_eq!(called, listed);
    }

    /// Sources that move money, seats or tickets: files, and folders with all that is in them.
    const MOVING: &[&str] =
        &["pay.rs", "pay", "refunds", "settlement.rs", "settlement", "tickets.rs", "tickets", "work/sweeper.rs"];
    /// How many commits of a file have no point, and why none is needed.
    const WITHOUT_POINT: &[(&str, usize, &str)] = &[
        ("pay/providers.rs", 1, "a choice for payments to come: nothing moves"),
        ("refunds/cancelling.rs", 1, "orders are to be looked at again, which their own points see to"),
        ("refunds/settling.rs", 1, "rows that the version before reserved; the refund itself has points"),
        ("refunds/terms.rs", 2, "rules for refunds to come: nothing moves"),
        ("settlement/staff.rs", 1, "a person's word about a difference: nothing moves"),
        ("tickets/changing.rs", 1, "revoking by itself: no command and no page does it"),
        ("tickets/transfers.rs", 1, "an offer of a ticket that somebody revoked by hand in the rows"),
    ];
    /// How many lines a point may be away from its commit.
    const NEAR_LINES: usize = 2;

    /// The commits of sources that have no point near, by file.
    fn bare_commits(root: &Path, path: &Path, found: &mut BTreeMap<String, usize>) {
        if path.is_dir() {
            for entry in std::fs::read_dir(path).unwrap() {
                bare_commits(root, &entry.unwrap().path(), found);
            }
            return;
        }
        let text = std::fs::read_to_string(path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let is_bare = |at: &usize| {
            let near = at.saturating_sub(NEAR_LINES)..lines.len().min(at + NEAR_LINES + 1);
            lines[*at].contains(".commit()") && !lines[near].iter().any(|line| line.contains(".fault(\""))
        };
        let bare = (0..lines.len()).filter(is_bare).count();
        if bare > 0 {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            found.insert(name.to_owned(), bare);
        }
    }

    #[test]
    fn every_commit_on_the_way_of_money_seats_and_tickets_has_a_fault_point() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut found = BTreeMap::new();
        for path in MOVING {
            bare_commits(&root, &root.join(path), &mut found);
        }
        let known: BTreeMap<String, usize> =
            WITHOUT_POINT.iter().map(|(file, commits, _)| ((*file).to_owned(), *commits)).collect();
        assert_eq!(found, known, "commits without a point, and those that need none");
    }
}
