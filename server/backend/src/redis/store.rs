//! The way to Redis, be it one server or a cluster: each request goes to the server that owns the keys
//! it names, over one connection a server that repairs itself.
//!
//! All keys of one performance, and all of one queue, are in one slot ([`super::keys`]), so a request
//! has one owner. What has no key (`TIME`, `INFO`) is asked of the owner of a key, never of just any
//! server: two servers are two clocks and two runs. A single Redis owns all slots.
//!
//! A request that fails is not sent again: it may have been executed, and its caller knows whether
//! repeating it is harmless. Only a server that says that another owns the slot did nothing.

mod circuit;
mod node;
mod slots;

pub(super) use node::{check_version, read_facts, run_of};

use super::address::Address;
use super::scripts::{Script, Texts};
use node::Node;
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{
    Arg, Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, Pipeline, RedisError, RedisFuture, RedisResult,
    ServerErrorKind, Value,
};
use slots::{SLOTS, slot_of, tag_of};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// A script on an idle server takes well under a millisecond; a call that waits half a second is an outage.
pub(crate) const RESPONSE_TIMEOUT: Duration = Duration::from_millis(500);
/// A local or near server answers a connection at once.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);
/// A read that waits for news says after a second at most that there is none; one that says nothing for
/// so long waits for a server that hangs.
pub(super) const WAITING_READ_TIMEOUT: Duration = Duration::from_secs(3);
/// Staging of a whole house is one long pipeline, which takes longer than an answer usually may.
pub(super) const STAGING_TIMEOUT: Duration = Duration::from_secs(10);
/// How often a request follows a slot that has moved before it is given up.
const HOPS_MAX: usize = 3;
/// The owners of slots are looked up again at most so often, however many callers meet a fault.
const LOOK_UP_PAUSE: Duration = Duration::from_millis(200);
/// All our keys begin so, and no argument before the first key does.
const KEY_PREFIX: &[u8] = b"sa:";

/// What a server is asked.
pub(super) enum Request<'a> {
    /// One command.
    One(&'a Cmd),
    /// A pipeline, all keys in one slot.
    Many { pipeline: &'a Pipeline, offset: usize, count: usize },
    /// A script, by its digest on whichever server it meets.
    Script { script: Script, keys: &'a [String], args: &'a [&'a [u8]] },
}

impl Request<'_> {
    /// The call of a script whose texts are known.
    fn script_call(&self, texts: &Texts) -> Cmd {
        let mut call = redis::cmd("EVALSHA");
        if let Self::Script { script, keys, args } = self {
            call.arg(&texts.text(*script).digest).arg(keys.len()).arg(*keys);
            for arg in *args {
                call.arg(*arg);
            }
        }
        call
    }
}

/// All servers of one installation.
#[derive(Clone)]
pub(crate) struct Store(Arc<Inner>);

struct Inner {
    cluster: bool,
    /// How to reach a server, but for its host and port.
    manner: ConnectionInfo,
    /// The servers that the settings name.
    named: Vec<Arc<Node>>,
    map: RwLock<Map>,
    /// Held by whoever looks the owners up; when that was last done.
    looking: tokio::sync::Mutex<Option<Instant>>,
    /// Whether a look-up is under way or about to be.
    look_ordered: AtomicBool,
}

/// Who owns which slot, as far as is known.
struct Map {
    nodes: HashMap<String, Arc<Node>>,
    owners: Box<[Option<Arc<Node>>]>,
}

/// What one server says of itself.
#[derive(Clone, Debug)]
pub(crate) struct ServerFacts {
    /// Its address.
    pub(crate) name: String,
    /// Lines of `INFO`; none where it does not answer.
    pub(crate) facts: Option<HashMap<String, String>>,
}

impl Store {
    /// Finds the servers. Fails when none of them answers.
    pub(crate) async fn connect(address: &Address) -> RedisResult<Self> {
        let named: Vec<Arc<Node>> = address.servers.iter().map(|info| Arc::new(Node::new(info.clone()))).collect();
        let [first, ..] = address.servers.as_slice() else {
            return Err(RedisError::from((ErrorKind::InvalidClientConfig, "no server is named")));
        };
        let alone = if address.cluster { None } else { named.first().cloned() };
        let nodes = named.iter().map(|node| (node.name().to_owned(), Arc::clone(node))).collect();
        let store = Self(Arc::new(Inner {
            cluster: address.cluster,
            manner: first.clone(),
            named,
            map: RwLock::new(Map { nodes, owners: vec![alone; SLOTS].into() }),
            looking: tokio::sync::Mutex::default(),
            look_ordered: AtomicBool::new(false),
        }));
        if address.cluster {
            store.look_up().await?;
        } else {
            store.ping().await?;
        }
        Ok(store)
    }

    /// Calls a script; its keys are all in one slot.
    pub(crate) async fn script(&self, script: Script, keys: &[String], args: &[&[u8]]) -> RedisResult<Vec<Value>> {
        let Some(key) = keys.first() else { return Err(keyless()) };
        let value = self.send(slot_of(key.as_bytes()), &Request::Script { script, keys, args }).await?.pop();
        match value {
            Some(Value::Array(values)) => Ok(values),
            Some(value) => Ok(vec![value]),
            None => Ok(Vec::new()),
        }
    }

    /// Asks the owner of a key something that names no key.
    pub(crate) async fn ask_owner(&self, key: &str, command: &Cmd) -> RedisResult<Value> {
        // It would be answered by a server that owned the slot once: so the key itself is asked for first.
        let mut pipeline = redis::pipe();
        pipeline.cmd("EXISTS").arg(key).add_command(command.clone());
        let request = Request::Many { pipeline: &pipeline, offset: 0, count: 2 };
        let mut values = self.send(slot_of(key.as_bytes()), &request).await?;
        values.pop().ok_or_else(keyless)?.extract_error()
    }

    /// A connection of one's own to the owner of a key, with its own patience: a read that waits for
    /// news holds up everything behind it. When it fails, ask for another.
    pub(crate) async fn own(&self, key: &str, response_timeout: Duration) -> RedisResult<OwnConnection> {
        let opened = match self.owner(slot_of(key.as_bytes())) {
            Some(node) => node.open(response_timeout).await,
            None => Err(unowned()),
        };
        match opened {
            Ok(connection) => Ok(OwnConnection { store: self.clone(), connection }),
            Err(error) => {
                self.order_look_up();
                Err(error)
            }
        }
    }

    /// Asks for a sign of life: of the single server, or of all primaries. One that answers is enough:
    /// the sales of the others go on.
    pub(crate) async fn ping(&self) -> RedisResult<()> {
        let ping = redis::cmd("PING");
        let request = Request::One(&ping);
        let nodes = self.primaries();
        let answers = futures::future::join_all(nodes.iter().map(|node| node.call(&request))).await;
        let mut last = unowned();
        for answer in answers {
            match answer {
                Ok(_) => return Ok(()),
                Err(error) => last = error,
            }
        }
        self.order_look_up();
        Err(last)
    }

    /// What each server says of itself, for people.
    pub(crate) async fn facts(&self) -> Vec<ServerFacts> {
        let mut nodes: Vec<Arc<Node>> = self.map().nodes.values().cloned().collect();
        nodes.sort_by(|a, b| a.name().cmp(b.name()));
        let info = redis::cmd("INFO");
        let answers = futures::future::join_all(nodes.iter().map(|node| node.look(&info))).await;
        let read = |value: Value| redis::from_redis_value::<String>(value).ok().map(|text| read_facts(&text));
        nodes
            .iter()
            .zip(answers)
            .map(|(node, answer)| ServerFacts { name: node.name().to_owned(), facts: answer.ok().and_then(read) })
            .collect()
    }

    /// Whether the servers are a cluster.
    pub(crate) fn is_cluster(&self) -> bool {
        self.0.cluster
    }

    /// How many slots no server owns, as far as is known.
    pub(crate) fn unowned_slots(&self) -> usize {
        self.map().owners.iter().filter(|owner| owner.is_none()).count()
    }

    async fn send(&self, slot: usize, request: &Request<'_>) -> RedisResult<Vec<Value>> {
        let Some(mut node) = self.owner(slot) else {
            self.order_look_up();
            return Err(unowned());
        };
        for _ in 0..HOPS_MAX {
            let outcome = node.call(request).await;
            let Some(error) = fault(&outcome) else { return outcome };
            if !self.0.cluster {
                return outcome;
            }
            match moved_to(&error) {
                Some((host, port)) => {
                    // No host means: the one that was asked.
                    let host = if host.is_empty() { node.host().to_owned() } else { host };
                    node = self.node_at(&host, port);
                    self.set_owner(slot, &node);
                    self.order_look_up();
                }
                None => {
                    if concerns_owner(&error) {
                        self.order_look_up();
                    }
                    return outcome;
                }
            }
        }
        Err(RedisError::from((ErrorKind::Io, "a slot of the cluster moves on and on")))
    }

    fn map(&self) -> std::sync::RwLockReadGuard<'_, Map> {
        self.0.map.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn owner(&self, slot: usize) -> Option<Arc<Node>> {
        self.map().owners.get(slot).cloned().flatten()
    }

    fn set_owner(&self, slot: usize, node: &Arc<Node>) {
        let mut map = self.0.map.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(owner) = map.owners.get_mut(slot) {
            *owner = Some(Arc::clone(node));
        }
    }

    fn primaries(&self) -> Vec<Arc<Node>> {
        let mut found: Vec<Arc<Node>> = Vec::new();
        for owner in self.map().owners.iter().flatten() {
            if !found.iter().any(|node| Arc::ptr_eq(node, owner)) {
                found.push(Arc::clone(owner));
            }
        }
        found
    }

    fn node_at(&self, host: &str, port: u16) -> Arc<Node> {
        let info = self.0.manner.clone().set_addr(ConnectionAddr::Tcp(host.to_owned(), port));
        let mut map = self.0.map.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(map.nodes.entry(info.addr().to_string()).or_insert_with(|| Arc::new(Node::new(info))))
    }

    /// Has the owners looked up in the background, once for however many ask.
    fn order_look_up(&self) {
        if self.0.cluster && !self.0.look_ordered.swap(true, Ordering::AcqRel) {
            let store = self.clone();
            tokio::spawn(async move {
                let outcome = store.look_up().await;
                store.0.look_ordered.store(false, Ordering::Release);
                if let Err(error) = outcome {
                    tracing::warn!(%error, "no node of the Redis cluster tells who owns what");
                }
            });
        }
    }

    /// Asks every node that is known who owns what. Of two claims to a slot the later one counts, so
    /// that a node which was cut off and knows old owners is outvoted by any that does not.
    async fn look_up(&self) -> RedisResult<()> {
        let mut looked = self.0.looking.lock().await;
        if let Some(last) = *looked {
            tokio::time::sleep_until((last + LOOK_UP_PAUSE).into()).await;
        }
        let mut asked: Vec<Arc<Node>> = self.0.named.clone();
        asked.extend(
            self.map().nodes.values().filter(|node| !self.0.named.iter().any(|n| Arc::ptr_eq(n, node))).cloned(),
        );
        let command = redis::cmd("CLUSTER").arg("NODES").to_owned();
        let answers = futures::future::join_all(asked.iter().map(|node| node.look(&command))).await;
        *looked = Some(Instant::now());
        let mut claims: Vec<Option<(u64, Arc<Node>)>> = vec![None; SLOTS];
        let (mut known, mut last) = (HashMap::new(), None);
        for (node, answer) in asked.iter().zip(answers) {
            match answer.and_then(|value| Ok(redis::from_redis_value::<String>(value)?)) {
                Ok(text) => self.take_claims(node, &text, &mut claims, &mut known),
                Err(error) => last = Some(error),
            }
        }
        if known.is_empty() {
            return Err(last.unwrap_or_else(unowned));
        }
        for node in &self.0.named {
            known.entry(node.name().to_owned()).or_insert_with(|| Arc::clone(node));
        }
        let mut map = self.0.map.write().unwrap_or_else(PoisonError::into_inner);
        map.nodes = known;
        map.owners = claims.into_iter().map(|claim| claim.map(|(_, node)| node)).collect();
        Ok(())
    }

    fn take_claims(
        &self,
        asked: &Node,
        text: &str,
        claims: &mut [Option<(u64, Arc<Node>)>],
        known: &mut HashMap<String, Arc<Node>>,
    ) {
        for told in slots::read_nodes(text) {
            let host = told.host.unwrap_or_else(|| asked.host().to_owned());
            let node = self.node_at(&host, told.port);
            for (first, last) in told.slots.into_iter().filter(|_| told.primary) {
                for claim in &mut claims[first..=last] {
                    if claim.as_ref().is_none_or(|(epoch, _)| *epoch < told.epoch) {
                        *claim = Some((told.epoch, Arc::clone(&node)));
                    }
                }
            }
            known.insert(node.name().to_owned(), node);
        }
    }
}

/// Commands and pipelines go to the owner of the keys that they name.
impl ConnectionLike for Store {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            let key = key_of(cmd).ok_or_else(keyless)?;
            let mut values = self.send(slot_of(key), &Request::One(cmd)).await?;
            values.pop().ok_or_else(keyless)
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(async move {
            let mut keys = pipeline.cmd_iter().filter_map(key_of);
            let first = keys.next().ok_or_else(keyless)?;
            if keys.any(|key| tag_of(key) != tag_of(first)) {
                return Err(RedisError::from((ErrorKind::Client, "a pipeline over several slots")));
            }
            self.send(slot_of(first), &Request::Many { pipeline, offset, count }).await
        })
    }

    fn get_db(&self) -> i64 {
        self.0.manner.redis_settings().db()
    }
}

/// A connection that one caller has for itself.
pub(crate) struct OwnConnection {
    store: Store,
    connection: MultiplexedConnection,
}

impl OwnConnection {
    fn note<T>(&self, outcome: &RedisResult<T>) {
        if outcome.as_ref().is_err_and(|error| moved_to(error).is_some() || concerns_owner(error)) {
            self.store.order_look_up();
        }
    }
}

impl ConnectionLike for OwnConnection {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            let outcome = self.connection.req_packed_command(cmd).await.and_then(Value::extract_error);
            self.note(&outcome);
            outcome
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(async move {
            let outcome = self.connection.req_packed_commands(pipeline, offset, count).await;
            if let Some(error) = fault(&outcome) {
                self.note::<()>(&Err(error));
            }
            outcome
        })
    }

    fn get_db(&self) -> i64 {
        self.connection.get_db()
    }
}

/// The first key that a command names.
fn key_of(command: &Cmd) -> Option<&[u8]> {
    command.args_iter().find_map(|arg| match arg {
        Arg::Simple(text) if text.starts_with(KEY_PREFIX) => Some(text),
        _ => None,
    })
}

/// What went wrong as a whole, or with the first command of a pipeline that the server refused.
fn fault(outcome: &RedisResult<Vec<Value>>) -> Option<RedisError> {
    match outcome {
        Err(error) => Some(error.clone()),
        Ok(values) => values.iter().find_map(|value| match value {
            Value::ServerError(error) => Some(error.clone().into()),
            _ => None,
        }),
    }
}

fn moved_to(error: &RedisError) -> Option<(String, u16)> {
    if error.kind() != ErrorKind::Server(ServerErrorKind::Moved) {
        return None;
    }
    let (address, _slot) = error.redirect_node()?;
    let (host, port) = address.rsplit_once(':')?;
    Some((host.trim_matches(['[', ']']).to_owned(), port.parse().ok()?))
}

/// Whether another server may own the slot by now.
fn concerns_owner(error: &RedisError) -> bool {
    error.is_io_error()
        || matches!(
            error.kind(),
            ErrorKind::Server(
                ServerErrorKind::ClusterDown
                    | ServerErrorKind::MasterDown
                    | ServerErrorKind::ReadOnly
                    | ServerErrorKind::ExecAbort
            )
        )
}

fn keyless() -> RedisError {
    RedisError::from((ErrorKind::Client, "a request that names none of our keys has no server"))
}

fn unowned() -> RedisError {
    RedisError::from((ErrorKind::ClusterConnectionNotFound, "no server owns this slot"))
}
