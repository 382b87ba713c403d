//! What is wrong with the settings of Redis, by its servers' own account: for `doctor`.

use super::store::{ServerFacts, Store, check_version};
use crate::backend::Backend;

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreFinding {
    /// Whether it is as it should be.
    pub ok: bool,
    /// A line for people.
    pub text: String,
}

impl StoreFinding {
    fn ok(text: String) -> Self {
        Self { ok: true, text }
    }

    fn wrong(text: String) -> Self {
        Self { ok: false, text }
    }
}

impl Backend {
    /// Looks at every server of Redis: reachable, new enough, set so that nothing is dropped silently,
    /// and in a cluster every slot owned and every primary with a replica.
    pub async fn check_redis(&self) -> Vec<StoreFinding> {
        let store: Store = self.seats.connection();
        let facts = store.facts().await;
        let mut found: Vec<StoreFinding> =
            facts.iter().flat_map(|server| of_server(server, store.is_cluster())).collect();
        if store.is_cluster() {
            found.push(of_slots(facts.len(), store.unowned_slots()));
        }
        found
    }
}

fn of_slots(servers: usize, unowned: usize) -> StoreFinding {
    if unowned == 0 {
        StoreFinding::ok(format!("Redis: a cluster of {servers} servers, every slot has an owner"))
    } else {
        StoreFinding::wrong(format!("Redis: {unowned} slots of the cluster have no owner: sales in them can't be held"))
    }
}

fn of_server(server: &ServerFacts, cluster: bool) -> Vec<StoreFinding> {
    let name = &server.name;
    let Some(facts) = &server.facts else {
        return vec![StoreFinding::wrong(format!("Redis at {name}: does not answer"))];
    };
    let fact = |name: &str| facts.get(name).map_or("", String::as_str);
    let (version, role) = (fact("redis_version"), fact("role"));
    let mut found = Vec::new();
    if check_version(version).is_err() {
        found.push(StoreFinding::wrong(format!("Redis at {name}: version {version}; 7.0 or newer is needed")));
    }
    if fact("cluster_enabled") == "1" && !cluster {
        found.push(StoreFinding::wrong(format!(
            "Redis at {name}: is a node of a cluster: write redis+cluster:// before its address in REDIS_URL, or list all nodes"
        )));
    }
    let policy = fact("maxmemory_policy");
    if policy != "noeviction" {
        found.push(StoreFinding::wrong(format!(
            "Redis at {name}: maxmemory-policy is {policy}: a dropped key frees held seats; set noeviction"
        )));
    }
    if fact("aof_enabled") != "1" {
        found.push(StoreFinding::wrong(format!(
            "Redis at {name}: appendonly is off: its end loses the holds that were not written yet"
        )));
    }
    if cluster && role == "master" && fact("connected_slaves") == "0" {
        found.push(StoreFinding::wrong(format!(
            "Redis at {name}: has no replica: its sales stop when it ends, until it is back"
        )));
    }
    if found.is_empty() {
        found.push(StoreFinding::ok(format!("Redis at {name}: version {version}, {role}")));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(changes: &[(&str, &str)]) -> ServerFacts {
        let good = [
            ("redis_version", "7.0.15"),
            ("role", "master"),
            ("maxmemory_policy", "noeviction"),
            ("aof_enabled", "1"),
            ("cluster_enabled", "1"),
            ("connected_slaves", "1"),
        ];
        let all = good.iter().chain(changes).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        ServerFacts { name: "10.0.0.1:7000".to_owned(), facts: Some(all.collect()) }
    }

    fn wrong(server: &ServerFacts, cluster: bool) -> Vec<String> {
        of_server(server, cluster).into_iter().filter(|finding| !finding.ok).map(|finding| finding.text).collect()
    }

    #[test]
    fn each_dangerous_setting_is_named() {
        assert!(wrong(&server(&[]), true).is_empty());
        for (changes, words) in [
            (("redis_version", "6.2.14"), "7.0 or newer"),
            (("maxmemory_policy", "allkeys-lru"), "noeviction"),
            (("aof_enabled", "0"), "appendonly"),
            (("connected_slaves", "0"), "no replica"),
        ] {
            let found = wrong(&server(&[changes]), true);
            assert!(found.len() == 1 && found[0].contains(words), "{found:?}");
        }
        assert!(wrong(&server(&[]), false)[0].contains("redis+cluster://"));
        assert!(wrong(&server(&[("cluster_enabled", "0"), ("connected_slaves", "0")]), false).is_empty());
        let silent = ServerFacts { name: "a:1".to_owned(), facts: None };
        assert_eq!(wrong(&silent, true).len(), 1);
    }
}
