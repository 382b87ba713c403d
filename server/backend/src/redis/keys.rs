//! The names of all keys in Redis, built here and nowhere else.
//!
//! `sa:1:{p<id>}:…` holds the state of one performance's sale, `sa:1:{q<id>}:…` the numbering of its
//! queue. The braces are hash tags: all keys of one performance fall into one slot, so that one
//! script is atomic over all its state and performances spread over a cluster. `1` is the version of
//! the layout.

use domain::PerformanceId;

/// How many live keys a performance has; every script over it declares them all, in this order.
const NAMES: [&str; 11] =
    ["epoch", "meta", "seats", "owner", "holds", "expiry", "held_by", "shoppers", "entered", "log", "tombs"];

/// The keys of one performance.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    all: [String; 11],
    staging: String,
    queue: [String; 3],
    pulse: String,
}

impl Keys {
    pub(crate) fn new(performance: PerformanceId) -> Self {
        let id = performance.simple();
        Self {
            all: NAMES.map(|name| format!("sa:1:{{p{id}}}:{name}")),
            staging: format!("sa:1:{{p{id}}}:staging"),
            queue: ["places", "queue", "arrivals"].map(|name| format!("sa:1:{{q{id}}}:{name}")),
            pulse: format!("sa:1:{{q{id}}}:pulse"),
        }
    }

    /// All live keys, in the order that `common.lua` names.
    pub(crate) fn all(&self) -> &[String] {
        &self.all
    }

    /// The staging keys of a rebuild for one epoch, in the order of the live ones after `epoch`: a rebuild
    /// that was overtaken writes beside its successor, never into it.
    pub(crate) fn staging(&self, epoch: i64) -> [String; 10] {
        std::array::from_fn(|i| format!("{}:{epoch}:{}", self.staging, NAMES[i + 1]))
    }

    /// The keys of the queue's numbering, in the order that `common_queue.lua` names.
    pub(crate) fn queue(&self) -> &[String] {
        &self.queue
    }

    pub(crate) fn epoch(&self) -> &str {
        &self.all[0]
    }

    pub(crate) fn meta(&self) -> &str {
        &self.all[1]
    }

    pub(crate) fn seats(&self) -> &str {
        &self.all[2]
    }

    pub(crate) fn owner(&self) -> &str {
        &self.all[3]
    }

    pub(crate) fn holds(&self) -> &str {
        &self.all[4]
    }

    pub(crate) fn expiry(&self) -> &str {
        &self.all[5]
    }

    pub(crate) fn held_by(&self) -> &str {
        &self.all[6]
    }

    pub(crate) fn shoppers(&self) -> &str {
        &self.all[7]
    }

    pub(crate) fn entered(&self) -> &str {
        &self.all[8]
    }

    pub(crate) fn log(&self) -> &str {
        &self.all[9]
    }

    pub(crate) fn queue_places(&self) -> &str {
        &self.queue[0]
    }

    pub(crate) fn queue_arrivals(&self) -> &str {
        &self.queue[2]
    }

    /// How the serving processes are: read by the door's controller.
    pub(crate) fn pulse(&self) -> &str {
        &self.pulse
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn every_key_of_a_performance_has_one_hash_tag() {
        let keys = Keys::new(PerformanceId(Uuid::from_u128(5)));
        let tag = |key: &str| key[key.find('{').unwrap()..=key.find('}').unwrap()].to_owned();
        let tags: std::collections::HashSet<String> =
            keys.all().iter().chain(&keys.staging(7)).map(|k| tag(k)).collect();
        assert_eq!(tags.len(), 1);
        assert!(keys.queue().iter().all(|key| tag(key) == tag(keys.pulse())));
    }
}
