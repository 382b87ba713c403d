//! A Redis Cluster on loopback: three primaries with a replica each, as processes that end with the
//! test, also when it fails.

use super::{SOON, process};
use domain::PerformanceId;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use redis::aio::MultiplexedConnection;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::process::{Child, Command};

/// Primaries; each owns a third of the slots.
pub(crate) const PRIMARIES: usize = 3;
/// Silence after which the others say that a node has failed: short, so that a test sees the failover.
const NODE_TIMEOUT_MS: u32 = 1_500;
/// A failover by hand is asked for again after this time.
const ASK_AGAIN: Duration = Duration::from_secs(2);
const SLOTS: usize = 16_384;

/// One server of the cluster.
struct Node {
    port: u16,
    bus: u16,
    child: Child,
}

/// The running cluster.
pub(crate) struct Cluster {
    nodes: Vec<Node>,
}

impl Cluster {
    /// Starts six servers, joins them, and waits until every one of them says that all is well.
    pub(super) async fn start(root: &Path) -> Self {
        let mut nodes = Vec::new();
        for number in 0..PRIMARIES * 2 {
            nodes.push(Node::start(&root.join(format!("redis-{number}"))).await);
        }
        let cluster = Self { nodes };
        cluster.join().await;
        cluster
    }

    /// As settings name it: every node.
    pub(super) fn url(&self) -> String {
        self.nodes.iter().map(|node| format!("redis://127.0.0.1:{}", node.port)).collect::<Vec<_>>().join(",")
    }

    async fn join(&self) {
        let first = &self.nodes[0];
        for (number, node) in self.nodes.iter().enumerate() {
            let mut to = node.connect().await;
            // Each claims its slots in a version of its own, before they know of each other.
            command(&mut to, &format!("CLUSTER SET-CONFIG-EPOCH {}", number + 1)).await;
            if number < PRIMARIES {
                let (from, upto) = (number * SLOTS / PRIMARIES, (number + 1) * SLOTS / PRIMARIES - 1);
                command(&mut to, &format!("CLUSTER ADDSLOTSRANGE {from} {upto}")).await;
            }
            if number > 0 {
                command(&mut to, &format!("CLUSTER MEET 127.0.0.1 {} {}", first.port, first.bus)).await;
            }
        }
        for node in &self.nodes {
            let mut to = node.connect().await;
            let known = format!("cluster_known_nodes:{}", self.nodes.len());
            eventually!(SOON, "the nodes know each other", text(&mut to, "CLUSTER INFO").await.contains(&known));
        }
        for number in 0..PRIMARIES {
            let primary = text(&mut self.nodes[number].connect().await, "CLUSTER MYID").await;
            let mut replica = self.nodes[number + PRIMARIES].connect().await;
            let order = format!("CLUSTER REPLICATE {primary}");
            // It is refused until the replica has heard of its primary.
            eventually!(SOON, "a replica follows", command_answers(&mut replica, &order).await);
        }
        self.await_healthy().await;
    }

    /// Waits until every slot has an owner and every running replica follows its primary.
    pub(crate) async fn await_healthy(&self) {
        for node in self.running() {
            let mut to = node.connect().await;
            eventually!(SOON, "the cluster is well", {
                text(&mut to, "CLUSTER INFO").await.contains("cluster_state:ok") && {
                    let replication = text(&mut to, "INFO replication").await;
                    replication.contains("role:master") || replication.contains("master_link_status:up")
                }
            });
        }
    }

    fn running(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.child.id().is_some())
    }

    /// Which node owns a performance now, by the account of a node that runs.
    pub(crate) async fn primary_of(&self, performance: PerformanceId) -> usize {
        let mut to = self.running().next().unwrap().connect().await;
        let key = format!("{{p{}}}", performance.simple());
        let slot: usize = redis::cmd("CLUSTER").arg("KEYSLOT").arg(key).query_async(&mut to).await.unwrap();
        let nodes = text(&mut to, "CLUSTER NODES").await;
        let owner =
            nodes.lines().find(|line| owns(line, slot)).unwrap_or_else(|| panic!("nobody owns {slot}:\n{nodes}"));
        let port = owner.split_whitespace().nth(1).and_then(|address| address.split([':', '@']).nth(1)).unwrap();
        self.nodes.iter().position(|node| node.port.to_string() == port).unwrap()
    }

    /// The running replica of a primary.
    pub(crate) async fn replica_of(&self, primary: usize) -> usize {
        let mut to = self.nodes[primary].connect().await;
        let id = text(&mut to, "CLUSTER MYID").await;
        let nodes = text(&mut to, "CLUSTER NODES").await;
        let line = nodes.lines().find(|line| line.split_whitespace().nth(3) == Some(id.as_str())).unwrap();
        let port = line.split_whitespace().nth(1).and_then(|address| address.split([':', '@']).nth(1)).unwrap();
        self.nodes.iter().position(|node| node.port.to_string() == port).unwrap()
    }

    /// Ends a node as a power cut would.
    pub(crate) async fn kill(&mut self, node: usize) {
        self.nodes[node].child.kill().await.unwrap();
    }

    /// Makes a node hang, or go on.
    pub(crate) fn signal(&self, node: usize, signal: Signal) {
        let pid = self.nodes[node].child.id().unwrap();
        kill(Pid::from_raw(i32::try_from(pid).unwrap()), signal).unwrap();
    }

    /// Has a replica take its primary's place in good order.
    pub(crate) async fn hand_over_to(&self, replica: usize) {
        let mut to = self.nodes[replica].connect().await;
        let deadline = Instant::now() + SOON;
        // The others don't vote twice within a short while, and an order that got no votes is forgotten.
        while !text(&mut to, "INFO replication").await.contains("role:master") {
            assert!(Instant::now() < deadline, "the replica did not take over");
            command_answers(&mut to, "CLUSTER FAILOVER").await;
            let ends = Instant::now() + ASK_AGAIN;
            while Instant::now() < ends && !text(&mut to, "INFO replication").await.contains("role:master") {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}

impl Node {
    async fn start(home: &Path) -> Self {
        std::fs::create_dir(home).unwrap();
        let (port, bus) = (process::free_port(), process::free_port());
        let settings = [
            ("port", port.to_string()),
            ("cluster-port", bus.to_string()),
            ("bind", "127.0.0.1".to_owned()),
            ("dir", home.to_str().unwrap().to_owned()),
            ("cluster-enabled", "yes".to_owned()),
            ("cluster-node-timeout", NODE_TIMEOUT_MS.to_string()),
            // One third without an owner must not stop the two others.
            ("cluster-require-full-coverage", "no".to_owned()),
            ("cluster-replica-validity-factor", "0".to_owned()),
            ("repl-diskless-sync-delay", "0".to_owned()),
            ("appendonly", "yes".to_owned()),
            ("save", String::new()),
            ("maxmemory-policy", "noeviction".to_owned()),
            ("logfile", home.join("redis.log").to_str().unwrap().to_owned()),
        ];
        let mut command = Command::new(program());
        for (name, value) in settings {
            command.arg(format!("--{name}")).arg(value);
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).kill_on_drop(true).spawn().unwrap();
        let node = Self { port, bus, child };
        eventually!(SOON, "a node answers", node.try_connect().await.is_some());
        node
    }

    async fn connect(&self) -> MultiplexedConnection {
        self.try_connect().await.expect("a running node answers")
    }

    async fn try_connect(&self) -> Option<MultiplexedConnection> {
        let config = redis::AsyncConnectionConfig::new()
            .set_connection_timeout(Some(Duration::from_secs(5)))
            .set_response_timeout(Some(Duration::from_secs(5)));
        let client = redis::Client::open(format!("redis://127.0.0.1:{}", self.port)).unwrap();
        client.get_multiplexed_async_connection_with_config(&config).await.ok()
    }
}

/// The same program that embedded stores run.
fn program() -> PathBuf {
    let places = backend::embedded::Places::of_this_system();
    places
        .programs
        .iter()
        .map(|folder| folder.join("redis-server"))
        .find(|path| path.is_file())
        .expect("Redis is installed")
}

fn parts(line: &str) -> redis::Cmd {
    let mut words = line.split(' ');
    let mut command = redis::cmd(words.next().unwrap());
    for word in words {
        command.arg(word);
    }
    command
}

async fn command(to: &mut MultiplexedConnection, line: &str) {
    let () = parts(line).query_async(to).await.unwrap_or_else(|error| panic!("{line}: {error}"));
}

async fn command_answers(to: &mut MultiplexedConnection, line: &str) -> bool {
    parts(line).query_async::<()>(to).await.is_ok()
}

async fn text(to: &mut MultiplexedConnection, line: &str) -> String {
    parts(line).query_async(to).await.unwrap_or_else(|error| panic!("{line}: {error}"))
}

/// Whether a line of `CLUSTER NODES` claims a slot.
fn owns(line: &str, slot: usize) -> bool {
    line.split_whitespace().skip(8).any(|range| {
        let (from, upto) = range.split_once('-').unwrap_or((range, range));
        matches!((from.parse::<usize>(), upto.parse::<usize>()), (Ok(from), Ok(upto)) if from <= slot && slot <= upto)
    })
}
