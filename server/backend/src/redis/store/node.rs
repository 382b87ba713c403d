//! One server: the connection to it, which repairs itself, its circuit, and the scripts of its run.

use super::circuit::{CALLS_MAX, Circuit, Turned, Verdict};
use super::{CONNECT_TIMEOUT, RESPONSE_TIMEOUT, Request};
use crate::redis::scripts::Texts;
use redis::aio::{ConnectionLike as _, MultiplexedConnection};
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, RedisError, RedisResult,
    ServerErrorKind, Value,
};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// Older servers keep their scripts over a restart and hand them to replicas, and the fence between
/// runs rests on their forgetting.
const OLDEST_VERSION: u32 = 7;
/// Connecting and two answers, which come at once from a server that is well.
const LOAD_TIMEOUT: Duration = Duration::from_secs(1);
/// Texts may have to be loaded twice, when somebody empties the server's script cache meanwhile.
const LOADS_MAX: usize = 2;

/// One server.
pub(super) struct Node {
    name: String,
    info: ConnectionInfo,
    link: RwLock<Option<Link>>,
    /// Held by whoever connects; remembers when that last failed, so that those who waited don't try
    /// one after the other.
    connecting: tokio::sync::Mutex<Option<Instant>>,
    texts: RwLock<Option<Arc<Texts>>>,
    /// The same for whoever loads scripts.
    loading: tokio::sync::Mutex<Option<Instant>>,
    circuit: Circuit,
}

/// A connection, told apart from those before and after it.
#[derive(Clone)]
struct Link {
    opened: Instant,
    connection: MultiplexedConnection,
}

impl Node {
    /// A server that nobody has connected to yet.
    pub(super) fn new(info: ConnectionInfo) -> Self {
        let name = info.addr().to_string();
        let circuit = Circuit::new(&name);
        Self {
            name,
            info,
            link: RwLock::default(),
            connecting: tokio::sync::Mutex::default(),
            texts: RwLock::default(),
            loading: tokio::sync::Mutex::default(),
            circuit,
        }
    }

    /// Its address.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Its host, for nodes that don't know their own.
    pub(super) fn host(&self) -> &str {
        match self.info.addr() {
            ConnectionAddr::Tcp(host, _) | ConnectionAddr::TcpTls { host, .. } => host.as_str(),
            _ => "",
        }
    }

    /// Sends a request, unless the circuit is open or too many wait already.
    pub(super) async fn call(&self, request: &Request<'_>) -> RedisResult<Vec<Value>> {
        let pass = self.circuit.enter(Instant::now()).map_err(turned_away)?;
        let outcome = self.perform(request).await;
        if self.circuit.settle(verdict(&outcome), Instant::now()) {
            tracing::warn!(server = self.name, "Redis does not answer: it is left alone but for probes");
            // What still lies in the way of a hanging server would be executed when it wakes up.
            *self.link.write().unwrap_or_else(PoisonError::into_inner) = None;
        }
        drop(pass);
        outcome
    }

    /// Sends a command whatever the circuit says: for looking whether the server is there, and at what
    /// it knows of its cluster.
    pub(super) async fn look(&self, command: &Cmd) -> RedisResult<Value> {
        let mut values = self.perform(&Request::One(command)).await?;
        values.pop().ok_or_else(|| RedisError::from((ErrorKind::Client, "a command has one answer")))
    }

    /// Opens a connection that belongs to the caller alone.
    pub(super) async fn open(&self, response_timeout: Duration) -> RedisResult<MultiplexedConnection> {
        open(&self.info, response_timeout).await
    }

    async fn perform(&self, request: &Request<'_>) -> RedisResult<Vec<Value>> {
        let mut link = self.link().await?;
        let outcome = match request {
            Request::One(command) => one(&mut link.connection, command).await,
            Request::Many { pipeline, offset, count } => {
                link.connection.req_packed_commands(pipeline, *offset, *count).await
            }
            Request::Script { .. } => self.script(&mut link, request).await,
        };
        if outcome.as_ref().is_err_and(RedisError::is_unrecoverable_error) {
            self.forget(&link);
        }
        outcome
    }

    /// Calls a script by its digest; where the server doesn't know it, all are made for its run.
    async fn script(&self, link: &mut Link, request: &Request<'_>) -> RedisResult<Vec<Value>> {
        let mut known = self.texts();
        for _ in 0..=LOADS_MAX {
            if let Some(texts) = &known {
                match one(&mut link.connection, &request.script_call(texts)).await {
                    Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {}
                    outcome => return outcome,
                }
            }
            known = Some(self.load(known.as_ref()).await?);
            *link = self.link().await?;
        }
        Err(RedisError::from((ErrorKind::Io, "Redis forgets scripts as soon as they are loaded")))
    }

    fn texts(&self) -> Option<Arc<Texts>> {
        self.texts.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Asks the server for its run and gives it the scripts of that run: both over one new connection,
    /// which can't outlive the run. So no text is ever loaded into another run than it names. From then
    /// on that connection is the one in use.
    async fn load(&self, known: Option<&Arc<Texts>>) -> RedisResult<Arc<Texts>> {
        let asked = Instant::now();
        let mut failed = self.loading.lock().await;
        if let Some(texts) = self.texts().filter(|texts| known.is_none_or(|known| !Arc::ptr_eq(texts, known))) {
            return Ok(texts);
        }
        if failed.is_some_and(|failed| failed > asked) {
            return Err(RedisError::from((ErrorKind::Io, "the scripts could not be loaded")));
        }
        let loaded = tokio::time::timeout(LOAD_TIMEOUT, self.load_now(known)).await;
        let outcome =
            loaded.unwrap_or_else(|_| Err(RedisError::from(std::io::Error::from(std::io::ErrorKind::TimedOut))));
        if outcome.is_err() {
            *failed = Some(Instant::now());
        }
        outcome
    }

    async fn load_now(&self, known: Option<&Arc<Texts>>) -> RedisResult<Arc<Texts>> {
        let mut connection = self.open(RESPONSE_TIMEOUT).await?;
        let facts = facts(&mut connection, "server").await?;
        let run = run_of(&facts)?;
        check_version(facts.get("redis_version").map_or("", String::as_str))?;
        let texts = Texts::of(&run);
        let mut pipeline = redis::pipe();
        for text in texts.all() {
            pipeline.cmd("SCRIPT").arg("LOAD").arg(&text.code).ignore();
        }
        pipeline.query_async::<()>(&mut connection).await?;
        metrics::counter!("stararena_redis_script_loads_total").increment(1);
        if known.is_some_and(|known| known.run() != run) {
            tracing::warn!(server = self.name, "Redis runs anew: what its last run left behind is not trusted");
        }
        let texts = Arc::new(texts);
        *self.texts.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&texts));
        let link = Link { opened: Instant::now(), connection };
        *self.link.write().unwrap_or_else(PoisonError::into_inner) = Some(link);
        Ok(texts)
    }

    fn current(&self) -> Option<Link> {
        self.link.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn link(&self) -> RedisResult<Link> {
        if let Some(link) = self.current() {
            return Ok(link);
        }
        let asked = Instant::now();
        let mut failed = self.connecting.lock().await;
        if let Some(link) = self.current() {
            return Ok(link);
        }
        if failed.is_some_and(|failed| failed > asked) {
            return Err(RedisError::from((ErrorKind::Io, "the connection could not be opened")));
        }
        match self.open(RESPONSE_TIMEOUT).await {
            Ok(connection) => {
                let link = Link { opened: Instant::now(), connection };
                *self.link.write().unwrap_or_else(PoisonError::into_inner) = Some(link.clone());
                Ok(link)
            }
            Err(error) => {
                *failed = Some(Instant::now());
                Err(error)
            }
        }
    }

    /// Gives up a connection, unless another has taken its place already.
    fn forget(&self, broken: &Link) {
        let mut link = self.link.write().unwrap_or_else(PoisonError::into_inner);
        if link.as_ref().is_some_and(|link| link.opened == broken.opened) {
            *link = None;
        }
    }
}

async fn open(info: &ConnectionInfo, response_timeout: Duration) -> RedisResult<MultiplexedConnection> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT_TIMEOUT))
        .set_response_timeout(Some(response_timeout))
        .set_pipeline_buffer_size(CALLS_MAX);
    Client::open(info.clone())?.get_multiplexed_async_connection_with_config(&config).await
}

async fn one(connection: &mut MultiplexedConnection, command: &Cmd) -> RedisResult<Vec<Value>> {
    Ok(vec![connection.req_packed_command(command).await?.extract_error()?])
}

/// A section of a server's account of itself.
async fn facts(connection: &mut MultiplexedConnection, section: &str) -> RedisResult<HashMap<String, String>> {
    let text: String = redis::cmd("INFO").arg(section).query_async(connection).await?;
    Ok(read_facts(&text))
}

/// The lines of an answer of `INFO`.
pub(in crate::redis) fn read_facts(text: &str) -> HashMap<String, String> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect()
}

/// The run of a server, which becomes part of scripts: nothing but digits is believed.
pub(in crate::redis) fn run_of(facts: &HashMap<String, String>) -> RedisResult<String> {
    facts
        .get("run_id")
        .filter(|run| !run.is_empty() && run.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .cloned()
        .ok_or_else(|| RedisError::from((ErrorKind::Client, "Redis tells no run_id")))
}

/// Refuses a server on which the fence between runs would not stand.
pub(in crate::redis) fn check_version(version: &str) -> RedisResult<()> {
    if version.split('.').next().and_then(|major| major.parse().ok()).is_some_and(|major: u32| major >= OLDEST_VERSION)
    {
        Ok(())
    } else {
        Err(RedisError::from((ErrorKind::InvalidClientConfig, "Redis 7.0 or newer is needed", version.to_owned())))
    }
}

fn turned_away(turned: Turned) -> RedisError {
    RedisError::from(match turned {
        Turned::Open => (ErrorKind::Io, "Redis did not answer, and is not asked again yet"),
        Turned::Full => (ErrorKind::Io, "too many calls wait for Redis"),
    })
}

/// Whether the server can be said to answer. Refusals of single commands are answers.
fn verdict(outcome: &RedisResult<Vec<Value>>) -> Verdict {
    let Err(error) = outcome else { return Verdict::Answered };
    match error.kind() {
        ErrorKind::Io | ErrorKind::ClusterConnectionNotFound => Verdict::Away,
        ErrorKind::Server(
            ServerErrorKind::BusyLoading | ServerErrorKind::ClusterDown | ServerErrorKind::MasterDown,
        ) => Verdict::Away,
        _ => Verdict::Answered,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_that_keep_scripts_over_a_restart_are_refused() {
        assert!(check_version("7.0.15").is_ok());
        assert!(check_version("8.2.0").is_ok());
        for old in ["6.2.14", "", "unknown"] {
            assert!(check_version(old).is_err(), "{old}");
        }
    }

    #[test]
    fn a_run_that_could_change_a_script_is_not_believed() {
        let told = |run: &str| run_of(&read_facts(&format!("redis_version:7.0.15\r\nrun_id:{run}\r\n")));
        assert_eq!(told("0a1b").unwrap(), "0a1b");
        assert!(told("' .. os.exit() --").is_err());
        assert!(told("").is_err());
    }
}
