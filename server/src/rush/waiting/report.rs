//! What a crowd at the door came to.

use super::{exact, size};
use serde::Serialize;
use std::collections::BTreeMap;

/// Memory in bytes, where it can be seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    /// What Redis has allocated.
    pub redis: Option<u64>,
    /// The server's resident memory.
    pub server: Option<u64>,
}

/// What a crowd came to.
#[derive(Clone, Debug, Serialize)]
pub struct WaitReport {
    /// Fans.
    pub fans: u64,
    /// Fans who were told a place.
    pub placed: u64,
    /// Size of the frozen lobby.
    pub lobby: u32,
    /// Joins a second that were offered before the opening; none where all came at once.
    pub joins_offered_per_s: Option<f64>,
    /// Joins a second that were answered with a place before the opening.
    pub joins_per_s: f64,
    /// Median time from the moment at which a fan meant to join to its place.
    pub join_p50_ms: f64,
    /// 99th percentile of it.
    pub join_p99_ms: f64,
    /// 99th percentile of a single answer with a place, from the moment of the try.
    pub join_answer_p99_ms: f64,
    /// Joins that an overloaded server asked to come again.
    pub shed: u64,
    /// Fans who joined after the opening.
    pub late: u64,
    /// Polls answered a second, closed loop.
    pub polls_per_s: f64,
    /// 99th percentile of a poll.
    pub poll_p99_ms: f64,
    /// The share of polls that were answered with "nothing changed".
    pub polls_unchanged: f64,
    /// Milliseconds from the opening to the draw, as a watcher saw it.
    pub drawn_after_ms: u64,
    /// Fans whose place was reached and who came.
    pub called: u64,
    /// Fans who went in.
    pub entered: u64,
    /// Knocks that met a full house.
    pub met_full: u64,
    /// 99th percentile of a knock that let in.
    pub enter_p99_ms: f64,
    /// Most shoppers who were surely inside at one moment.
    pub shoppers_peak: u64,
    /// Requests a second of a bare application under the same tool, where it was measured.
    pub hello_per_s: Option<f64>,
    /// Joins by these.
    pub join_ratio: Option<f64>,
    /// Polls by these.
    pub poll_ratio: Option<f64>,
    /// Growth of Redis by waiting fan, in bytes.
    pub redis_bytes_a_fan: Option<f64>,
    /// Growth of the server by waiting fan, in bytes.
    pub server_bytes_a_fan: Option<f64>,
    /// Answers that asked to come again, by "what: code".
    pub later: BTreeMap<String, u64>,
    /// What should not happen on a healthy server, by "what: why".
    pub errors: BTreeMap<String, u64>,
    /// Contradictions to the invariants, in sentences.
    pub breaches: Vec<String>,
    /// How long the run took.
    pub wall_s: f64,
}

impl WaitReport {
    /// Puts the rate of a bare application beside the figures.
    pub fn put_beside(&mut self, hello_per_s: f64) {
        let share = |rate: f64| (hello_per_s > 0.0).then(|| (rate / hello_per_s * 1_000.0).round() / 1_000.0);
        (self.join_ratio, self.poll_ratio) = (share(self.joins_per_s), share(self.polls_per_s));
        self.hello_per_s = Some(hello_per_s);
    }
}

impl WaitReport {
    /// Notes by how much both stores of the lobby grew. What was given back meanwhile is no growth.
    pub(super) fn weigh(&mut self, before: Memory, after: Memory, fans: usize) {
        let growth = |before: Option<u64>, after: Option<u64>| {
            let grown = after?.saturating_sub(before?);
            Some((exact(grown) / exact(size(fans).max(1)) * 10.0).round() / 10.0)
        };
        self.redis_bytes_a_fan = growth(before.redis, after.redis);
        self.server_bytes_a_fan = growth(before.server, after.server);
    }
}
