//! Where Redis is: one server, or nodes of a cluster from which the others are learned.

use redis::io::tcp::{TcpSettings, socket2::TcpKeepalive};
use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _};
use std::time::Duration;

/// Says of one address that its server belongs to a cluster.
const CLUSTER_SCHEME: &str = "redis+cluster://";
/// A peer that takes nothing for so long is gone: its host vanished without closing the connection.
const UNACKNOWLEDGED_MAX: Duration = Duration::from_secs(3);
/// A connection on which nothing is sent is probed after this time, and again as often.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// The parsed `REDIS_URL`.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    /// Whether the servers are nodes of a cluster.
    pub(super) cluster: bool,
    /// The named servers: exactly one, unless they are nodes of a cluster.
    pub(super) servers: Vec<ConnectionInfo>,
}

impl Address {
    /// Reads one address (`redis://…`, `unix://…`: a single server), or several, comma separated, or
    /// one that begins with `redis+cluster://` (nodes of a cluster).
    ///
    /// # Errors
    /// A sentence that says what is wrong. It never repeats the address, which may hold a password.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
        let cluster = parts.len() > 1 || parts.iter().any(|part| part.starts_with(CLUSTER_SCHEME));
        let mut servers = Vec::with_capacity(parts.len());
        for (part, number) in parts.iter().zip(1..) {
            let plain = part.strip_prefix(CLUSTER_SCHEME).map(|rest| format!("redis://{rest}"));
            let server = plain
                .as_deref()
                .unwrap_or(part)
                .into_connection_info()
                .map_err(|error| format!("address {number} can't be read: {error}"))?;
            servers.push(server.set_tcp_settings(tcp()));
        }
        let Some(first) = servers.first() else { return Err("an address is expected".to_owned()) };
        if cluster {
            for (server, number) in servers.iter().zip(1..) {
                check_node(server, first).map_err(|what| format!("address {number} {what}"))?;
            }
        }
        Ok(Self { cluster, servers })
    }
}

fn check_node(node: &ConnectionInfo, first: &ConnectionInfo) -> Result<(), &'static str> {
    let (here, there) = (node.redis_settings(), first.redis_settings());
    if matches!(node.addr(), ConnectionAddr::Unix(_)) {
        Err("is a socket: nodes of a cluster need host and port")
    } else if here.db() != 0 {
        Err("names a database: a cluster has only number 0")
    } else if here.username() != there.username() || here.password() != there.password() {
        Err("has another user or password than the first: all nodes of a cluster must have the same")
    } else {
        Ok(())
    }
}

fn tcp() -> TcpSettings {
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE);
    let settings = TcpSettings::default().set_nodelay(true).set_keepalive(keepalive);
    #[cfg(target_os = "linux")]
    let settings = settings.set_user_timeout(UNACKNOWLEDGED_MAX);
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_is_a_server_and_a_list_is_a_cluster() {
        assert!(!Address::parse("redis://127.0.0.1:6379/3").unwrap().cluster);
        assert!(!Address::parse("unix:///tmp/redis.sock").unwrap().cluster);
        let cluster = Address::parse("redis://10.0.0.1:7000, redis://10.0.0.2:7000").unwrap();
        assert!(cluster.cluster);
        assert_eq!(cluster.servers.len(), 2);
        let one = Address::parse("redis+cluster://:secret@10.0.0.1:7000").unwrap();
        assert!(one.cluster);
        assert_eq!(one.servers[0].redis_settings().password(), Some("secret"));
    }

    #[test]
    fn what_no_cluster_can_have_is_refused_without_the_password() {
        for (text, words) in [
            ("", "an address is expected"),
            ("http://x", "address 1 can't be read"),
            ("redis://a:7000,unix:///tmp/redis.sock", "address 2 is a socket"),
            ("redis+cluster://a:7000/2", "address 1 names a database"),
            ("redis://:secret@a:7000,redis://:other@b:7000", "address 2 has another user or password"),
        ] {
            let error = Address::parse(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
