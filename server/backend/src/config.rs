//! Settings: read once from the environment, checked, and handed on as typed values.
//!
//! Every value, its unit and its default are listed in `docs/operations.md`.

mod delivery;
mod stripe;
mod tickets;

pub use delivery::{DeliverySettings, SmtpSettings, SmtpTls};
pub use stripe::StripeSettings;
pub use tickets::TicketKey;

use std::fmt;
use std::path::PathBuf;

/// Where this installation runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Environment {
    /// On a developer's machine: sandbox provider, demo, mailbox page, known secrets.
    Development,
    /// For real fans: all of that refuses to start.
    Production,
}

/// How to reach the sandbox payment provider.
#[derive(Clone)]
pub struct PspSettings {
    /// Its base address, without a slash at the end.
    pub url: String,
    /// Bearer key of our merchant.
    pub api_key: String,
    /// Secrets that verify its webhooks; two while rotating.
    pub webhook_secrets: Vec<String>,
    /// Our merchant there: a payment for another is not ours.
    pub merchant: String,
}

/// Where the public randomness of draws comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BeaconSettings {
    /// From nowhere: the pages say that the operator could have influenced a draw.
    None,
    /// Rounds that anybody can compute beforehand: for practice only.
    Sandbox,
    /// A chain of the drand network.
    Drand {
        /// Relays, asked in order; no slash at the end.
        urls: Vec<String>,
        /// Hash of the chain, hexadecimal.
        chain: String,
        /// When round 1 was due.
        genesis_ms: i64,
        /// Time from round to round.
        period_ms: i64,
    },
}

/// The waiting room of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSettings {
    /// How long after the opening the beacon's round is due: the list must be published before.
    pub beacon_delay_ms: i64,
    /// How long a round that is due is waited for before the draw is made without it.
    pub beacon_patience_ms: i64,
    /// Polls of one performance's status a second that this process, or the cache in front of it, should get:
    /// with more who wait, each comes less often.
    pub polls_per_s: u32,
    /// 99th percentile of a hold beyond which fewer fans are let in.
    pub hold_p99_budget_ms: i64,
    /// Wait for a connection to Postgres beyond which fewer fans are let in.
    pub pool_wait_budget_ms: i64,
    /// Lateness of this process's own timers, a sign of busy cores, beyond which joins are shed.
    pub shed_lateness_ms: i64,
    /// Memory of this process in bytes beyond which joins are shed; 0 for nine tenths of what the machine or
    /// its group allows.
    pub shed_memory_bytes: u64,
}

/// Bounds of the live maps of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveSettings {
    /// Sockets that are open at once; more are told to come again.
    pub sockets_max: usize,
    /// A client that gave no sign of life for this long is gone. Signs are asked for three times as often.
    pub silence_max_ms: i64,
    /// A performance that nobody watches or asks about is followed for this long.
    pub hub_idle_ms: i64,
}

/// All settings of one process.
#[derive(Clone)]
pub struct Config {
    /// Development or production.
    pub environment: Environment,
    /// The origin that browsers see, without a slash at the end.
    pub public_url: String,
    /// Folder for embedded stores, static maps and logs.
    pub data_dir: PathBuf,
    /// Postgres; none starts an embedded one.
    pub database_url: Option<String>,
    /// Redis: one server, or nodes of a cluster, comma separated; none starts an embedded one.
    pub redis_url: Option<String>,
    /// Keys for signed tokens; the first signs.
    pub token_keys: Vec<Vec<u8>>,
    /// Keys of ticket codes; the first signs, all verify.
    pub ticket_keys: Vec<TicketKey>,
    /// The sandbox provider.
    pub psp: PspSettings,
    /// Stripe, where it is set up.
    pub stripe: Option<StripeSettings>,
    /// Length of a visit after entry.
    pub visit_ttl_ms: i64,
    /// How long the provider gives a fan to pay.
    pub provider_deadline_ms: i64,
    /// What is added to that deadline before the payment is ended.
    pub provider_grace_ms: i64,
    /// How long money that fits no attempt waits for people before it goes back by itself.
    pub quarantine_refund_ms: i64,
    /// Holding is refused while an entry of a sale's log has waited longer than this for the order writer.
    pub writer_lag_max_ms: i64,
    /// How often the hot state of a sale is compared with Postgres.
    pub reconcile_every_ms: i64,
    /// How often the leading worker checks the invariants of the whole system.
    pub audit_every_ms: i64,
    /// How long after a day's end it is matched with what providers settled.
    pub settlement_grace_ms: i64,
    /// Connections to Postgres.
    pub database_connections: u32,
    /// Sign-ins and sign-ups a minute from one address.
    pub sign_ins_per_min: u32,
    /// Length of the demo's holds.
    pub demo_hold_ttl_ms: i64,
    /// Bounds of live maps.
    pub live: LiveSettings,
    /// The waiting room.
    pub queue: QueueSettings,
    /// Public randomness of draws.
    pub beacon: BeaconSettings,
    /// Mail and webhooks.
    pub delivery: DeliverySettings,
    /// Names that may be stopped at by the fault points of tests; empty otherwise.
    pub fault_points: Vec<String>,
}

/// Keys that are known to everybody who reads this file: refused in production.
const DEVELOPMENT_TOKEN_KEY: &str = "development token key known to everybody";
const DEVELOPMENT_PSP_KEY: &str = "sandbox-api-key";
const DEVELOPMENT_WEBHOOK_SECRET: &str = "sandbox-webhook-secret";
/// Shortest token key, in bytes: the output size of its hash.
const TOKEN_KEY_MIN_BYTES: usize = 32;

/// Settings that can't be used; the sentence names the variable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub String);

fn wrong<T>(text: impl Into<String>) -> Result<T, ConfigError> {
    Err(ConfigError(text.into()))
}

impl Config {
    /// Reads the settings from `get`, which answers a variable's value (the process environment, or a
    /// map in tests).
    ///
    /// # Errors
    /// Names the variable that is wrong, or the two that contradict each other.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let get = |name: &str| get(name).filter(|value| !value.is_empty());
        let environment = match get("STARARENA_ENV").as_deref() {
            None | Some("development") => Environment::Development,
            Some("production") => Environment::Production,
            Some(other) => {
                return wrong(format!("STARARENA_ENV is `{other}`: `development` or `production` is expected"));
            }
        };
        let number = |name: &str, default: i64, range: std::ops::RangeInclusive<i64>| match get(name) {
            None => Ok(default),
            Some(text) => match text.parse::<i64>() {
                Ok(value) if range.contains(&value) => Ok(value),
                _ => {
                    wrong(format!("{name} is `{text}`: a number from {} to {} is expected", range.start(), range.end()))
                }
            },
        };
        let list = |name: &str, default: &str| -> Vec<String> {
            get(name)
                .unwrap_or_else(|| default.to_owned())
                .split(',')
                .map(|s| s.trim().to_owned())
                .filter(|s| !s.is_empty())
                .collect()
        };
        let provider_deadline_ms = number("STARARENA_PROVIDER_DEADLINE_MS", 10 * 60_000, 1_000..=24 * 3_600_000)?;
        let config = Self {
            environment,
            public_url: get("STARARENA_PUBLIC_URL").unwrap_or_default().trim_end_matches('/').to_owned(),
            data_dir: get("STARARENA_DATA_DIR").unwrap_or_else(|| "data".to_owned()).into(),
            database_url: get("DATABASE_URL"),
            redis_url: get("REDIS_URL"),
            token_keys: list("STARARENA_TOKEN_KEYS", DEVELOPMENT_TOKEN_KEY)
                .into_iter()
                .map(String::into_bytes)
                .collect(),
            ticket_keys: tickets::read(get)?,
            psp: PspSettings {
                url: get("STARARENA_PSP_URL").unwrap_or_default().trim_end_matches('/').to_owned(),
                api_key: get("STARARENA_PSP_API_KEY").unwrap_or_else(|| DEVELOPMENT_PSP_KEY.to_owned()),
                webhook_secrets: list("STARARENA_PSP_WEBHOOK_SECRETS", DEVELOPMENT_WEBHOOK_SECRET),
                merchant: get("STARARENA_PSP_MERCHANT").unwrap_or_else(|| "StarArena".to_owned()),
            },
            stripe: stripe::read(get, environment, provider_deadline_ms)?,
            visit_ttl_ms: number("STARARENA_VISIT_TTL_MS", 20 * 60_000, 1_000..=24 * 3_600_000)?,
            provider_deadline_ms,
            provider_grace_ms: number("STARARENA_PROVIDER_GRACE_MS", 30_000, 0..=3_600_000)?,
            quarantine_refund_ms: number("STARARENA_QUARANTINE_REFUND_MS", 3_600_000, 0..=30 * 24 * 3_600_000)?,
            writer_lag_max_ms: number("STARARENA_WRITER_LAG_MAX_MS", 5_000, 100..=600_000)?,
            reconcile_every_ms: number("STARARENA_RECONCILE_EVERY_MS", 30_000, 100..=24 * 3_600_000)?,
            audit_every_ms: number("STARARENA_AUDIT_EVERY_MS", 300_000, 1_000..=24 * 3_600_000)?,
            settlement_grace_ms: number("STARARENA_SETTLEMENT_GRACE_MS", 2 * 3_600_000, 0..=12 * 3_600_000)?,
            database_connections: u32::try_from(number("STARARENA_DATABASE_CONNECTIONS", 20, 4..=500)?).unwrap_or(20),
            sign_ins_per_min: u32::try_from(number("STARARENA_SIGN_INS_PER_MIN", 30, 1..=1_000_000)?).unwrap_or(30),
            demo_hold_ttl_ms: number("STARARENA_DEMO_HOLD_TTL_MS", 15 * 60_000, 1_000..=24 * 3_600_000)?,
            live: LiveSettings {
                sockets_max: usize::try_from(number("STARARENA_SOCKETS_MAX", 20_000, 1..=1_000_000)?).unwrap_or(20_000),
                silence_max_ms: number("STARARENA_SOCKET_SILENCE_MS", 60_000, 300..=3_600_000)?,
                hub_idle_ms: number("STARARENA_HUB_IDLE_MS", 60_000, 1_000..=3_600_000)?,
            },
            queue: QueueSettings {
                beacon_delay_ms: number("STARARENA_BEACON_DELAY_MS", 30_000, 0..=24 * 3_600_000)?,
                beacon_patience_ms: number("STARARENA_BEACON_PATIENCE_MS", 60_000, 0..=3_600_000)?,
                polls_per_s: u32::try_from(number("STARARENA_POLLS_PER_S", 10_000, 1..=10_000_000)?).unwrap_or(10_000),
                hold_p99_budget_ms: number("STARARENA_HOLD_P99_BUDGET_MS", 150, 1..=60_000)?,
                pool_wait_budget_ms: number("STARARENA_POOL_WAIT_BUDGET_MS", 250, 1..=60_000)?,
                shed_lateness_ms: number("STARARENA_SHED_LATENESS_MS", 250, 1..=600_000)?,
                shed_memory_bytes: number("STARARENA_SHED_MEMORY_BYTES", 0, 0..=i64::MAX)?.unsigned_abs(),
            },
            beacon: read_beacon(get, number)?,
            delivery: delivery::read(environment, get, number)?,
            fault_points: list("STARARENA_FAULT_POINTS", ""),
        };
        if let Some(url) = &config.redis_url
            && let Err(what) = crate::redis::Address::parse(url)
        {
            return wrong(format!("REDIS_URL: {what}"));
        }
        config.check_production()?;
        Ok(config)
    }

    /// Reads the process environment.
    ///
    /// # Errors
    /// As [`Config::read`].
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::read(|name| std::env::var(name).ok())
    }

    fn check_production(&self) -> Result<(), ConfigError> {
        if self.environment != Environment::Production {
            return Ok(());
        }
        if self.beacon == BeaconSettings::Sandbox {
            return wrong("STARARENA_BEACON is `sandbox`: its rounds are known beforehand; it is for practice only");
        }
        if !self.fault_points.is_empty() {
            return wrong(
                "STARARENA_FAULT_POINTS is set: fault points are for tests and refuse to start in production",
            );
        }
        if !self.public_url.starts_with("https://") {
            return wrong("STARARENA_PUBLIC_URL: an https:// address is expected in production");
        }
        if self.token_keys.iter().any(|key| key.as_slice() == DEVELOPMENT_TOKEN_KEY.as_bytes()) {
            return wrong(
                "STARARENA_TOKEN_KEYS: the default key is known to everybody; set a random one in production",
            );
        }
        if self.token_keys.iter().any(|key| key.len() < TOKEN_KEY_MIN_BYTES) {
            return wrong(format!(
                "STARARENA_TOKEN_KEYS: each key needs at least {TOKEN_KEY_MIN_BYTES} bytes in production"
            ));
        }
        tickets::check_production(&self.ticket_keys)?;
        // The sandbox moves no money, so nothing that it says may issue a ticket to real people.
        if !self.psp.url.is_empty() {
            return wrong("STARARENA_PSP_URL is set: the sandbox payment provider refuses to start in production");
        }
        if self.stripe.is_none() {
            return wrong(
                "the sandbox payment provider refuses to start in production, and no other provider is configured: set STARARENA_STRIPE_API_KEY",
            );
        }
        Ok(())
    }

    /// Whether the sandbox, the demo and the mailbox page may be used.
    pub fn is_development(&self) -> bool {
        self.environment == Environment::Development
    }

    /// The name of a cookie: `__Host-` binds it to this origin, which browsers allow on https alone.
    pub fn cookie_name(&self, name: &str) -> String {
        if self.public_url.starts_with("https://") { format!("__Host-{name}") } else { name.to_owned() }
    }

    /// Where published static maps are kept.
    pub fn maps_dir(&self) -> PathBuf {
        self.data_dir.join("maps")
    }

    /// Where pictures of events are kept.
    pub fn pictures_dir(&self) -> PathBuf {
        self.data_dir.join("pictures")
    }
}

/// The main chain of drand's public network ("quicknet"), as its `/info` tells it.
const QUICKNET: &str = "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971";
const QUICKNET_GENESIS_MS: i64 = 1_692_803_367_000;
const QUICKNET_PERIOD_MS: i64 = 3_000;
const QUICKNET_RELAYS: &str = "https://api.drand.sh,https://api2.drand.sh,https://api3.drand.sh";

/// Reads where public randomness comes from.
fn read_beacon(
    get: impl Fn(&str) -> Option<String>,
    number: impl Fn(&str, i64, std::ops::RangeInclusive<i64>) -> Result<i64, ConfigError>,
) -> Result<BeaconSettings, ConfigError> {
    match get("STARARENA_BEACON").as_deref() {
        None | Some("none") => Ok(BeaconSettings::None),
        Some("sandbox") => Ok(BeaconSettings::Sandbox),
        Some("drand") => {
            let urls = get("STARARENA_BEACON_URLS").unwrap_or_else(|| QUICKNET_RELAYS.to_owned());
            let urls = urls.split(',').map(|url| url.trim().trim_end_matches('/').to_owned());
            let urls: Vec<String> = urls.filter(|url| !url.is_empty()).collect();
            if let Some(url) = urls.iter().find(|url| !url.starts_with("http://") && !url.starts_with("https://")) {
                return wrong(format!("STARARENA_BEACON_URLS: `{url}` is no http address"));
            }
            let chain = get("STARARENA_BEACON_CHAIN").unwrap_or_else(|| QUICKNET.to_owned());
            if chain.len() != 64 || !chain.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return wrong("STARARENA_BEACON_CHAIN: 64 hexadecimal digits are expected");
            }
            Ok(BeaconSettings::Drand {
                urls,
                chain,
                genesis_ms: number("STARARENA_BEACON_GENESIS_MS", QUICKNET_GENESIS_MS, 0..=i64::MAX / 2)?,
                period_ms: number("STARARENA_BEACON_PERIOD_MS", QUICKNET_PERIOD_MS, 100..=3_600_000)?,
            })
        }
        Some(other) => wrong(format!("STARARENA_BEACON is `{other}`: `none`, `sandbox` or `drand` is expected")),
    }
}

/// Secrets are never printed.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("environment", &self.environment)
            .field("public_url", &self.public_url)
            .field("data_dir", &self.data_dir)
            .field("database_url", &self.database_url.as_ref().map(|_| "(set)"))
            .field("redis_url", &self.redis_url.as_ref().map(|_| "(set)"))
            .field("token_keys", &format_args!("({} keys)", self.token_keys.len()))
            .field("ticket_keys", &format_args!("({} keys)", self.ticket_keys.len()))
            .field("psp_url", &self.psp.url)
            .field("stripe", &self.stripe.as_ref().map(|stripe| &stripe.url))
            .field("visit_ttl_ms", &self.visit_ttl_ms)
            .field("provider_deadline_ms", &self.provider_deadline_ms)
            .field("provider_grace_ms", &self.provider_grace_ms)
            .field("database_connections", &self.database_connections)
            .field("live", &self.live)
            .field("delivery", &self.delivery)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn read(pairs: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let map: HashMap<String, String> = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Config::read(|name| map.get(name).cloned())
    }

    #[test]
    fn development_needs_nothing() {
        let config = read(&[]).unwrap();
        assert!(config.is_development());
        assert_eq!(config.cookie_name("sa-session"), "sa-session");
    }

    #[test]
    fn wrong_values_name_their_variable() {
        for (name, value) in [
            ("STARARENA_ENV", "prod"),
            ("STARARENA_VISIT_TTL_MS", "soon"),
            ("STARARENA_VISIT_TTL_MS", "-1"),
            ("STARARENA_TICKET_KEY", "zz"),
            ("STARARENA_BEACON", "dice"),
            ("REDIS_URL", "localhost"),
            ("REDIS_URL", "redis://10.0.0.1:7000,unix:///tmp/redis.sock"),
        ] {
            let error = read(&[(name, value)]).unwrap_err();
            assert!(error.0.contains(name), "{error}");
        }
    }

    #[test]
    fn production_refuses_default_secrets_fault_points_and_the_sandbox() {
        let key = "0123456789abcdef0123456789abcdef";
        let hex = "11".repeat(32);
        let relay = ("STARARENA_SMTP_URL", "smtps://mail.example.org");
        let from = ("STARARENA_MAIL_FROM", "tickets@example.org");
        let public_url = ("STARARENA_PUBLIC_URL", "https://tickets.example.org");
        let base = [("STARARENA_ENV", "production"), relay, from, public_url];
        let with = |extra: &[(&'static str, &str)]| {
            let mut all: Vec<(&str, &str)> = base.to_vec();
            all.extend_from_slice(extra);
            read(&all).unwrap_err().0
        };
        assert!(read(&base[..3]).unwrap_err().0.contains("STARARENA_PUBLIC_URL"));
        assert!(with(&[]).contains("STARARENA_TOKEN_KEYS: the default key"));
        assert!(with(&[("STARARENA_TOKEN_KEYS", "short")]).contains("STARARENA_TOKEN_KEYS"));
        assert!(with(&[("STARARENA_TOKEN_KEYS", key)]).contains("STARARENA_TICKET_KEY: the default key"));
        assert!(with(&[("STARARENA_TOKEN_KEYS", key), ("STARARENA_TICKET_KEY", &hex)]).contains("sandbox"));
        assert!(with(&[("STARARENA_FAULT_POINTS", "capture")]).contains("STARARENA_FAULT_POINTS"));
    }

    #[test]
    fn secrets_are_not_printed() {
        let printed = format!("{:?}", read(&[("STARARENA_TOKEN_KEYS", "very secret")]).unwrap());
        assert!(!printed.contains("very secret"));
    }
}
