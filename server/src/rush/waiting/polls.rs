//! Reading the polled state: a few watchers all along, who keep the board; and everybody at once, to
//! see how many polls the server answers.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use domain::queue::QueueStatus;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::Scene;
use super::joins::micros;
use super::wire::{Tally, Wire, get_request};

/// Pause of a watcher between two polls: a place that is served is seen within it.
const WATCH_EVERY: Duration = Duration::from_millis(100);
/// How many watchers there are: servers of one sale may answer in any order.
const WATCHERS: usize = 4;

/// What a poll was answered with.
enum Polled {
    New(Box<QueueStatus>, Option<String>),
    Unchanged,
    Wrong(u16),
}

fn polled(answer: &crate::bench::load::Answer<'_>) -> Polled {
    match answer.status {
        304 => Polled::Unchanged,
        200 => serde_json::from_slice(answer.body).map_or(Polled::Wrong(200), |status| {
            Polled::New(Box::new(status), answer.header("etag").map(str::to_owned))
        }),
        status => Polled::Wrong(status),
    }
}

/// Watchers, until the run stops.
pub(super) fn watch(scene: &Arc<Scene>) -> Vec<JoinHandle<Tally>> {
    (0..WATCHERS).map(|number| tokio::spawn(watcher(Arc::clone(scene), scene.connections + number))).collect()
}

async fn watcher(scene: Arc<Scene>, number: usize) -> Tally {
    let (mut wire, mut tag, mut tally) = (Wire::new(scene.address, number), None::<String>, Tally::new());
    while !scene.stop.is_cancelled() {
        let request = get_request(&scene.authority, &scene.status_path, tag.as_deref());
        match wire.call(&request, polled).await {
            Ok(Polled::New(status, new)) => {
                scene.board.publish(&Arc::new(*status));
                tag = new;
            }
            Ok(Polled::Unchanged) => {}
            Ok(Polled::Wrong(status)) => tally.error("status", format!("an answer with the status {status}")),
            Err(_) => tally.error("status", "no answer"),
        }
        let _stopped = scene.stop.run_until_cancelled(sleep(WATCH_EVERY)).await;
    }
    tally
}

/// What a storm of polls came to.
pub(super) struct Storm {
    pub(super) tally: Tally,
    pub(super) answered: u64,
    /// Answers that said that nothing had changed.
    pub(super) unchanged: u64,
    pub(super) took: Duration,
}

impl Storm {
    /// Answers a second.
    pub(super) fn rate(&self) -> f64 {
        super::per_second(self.answered, self.took)
    }
}

/// Everybody polls, on every line the next when the last is answered, for a time.
pub(super) async fn storm(scene: &Arc<Scene>, lasts: Duration) -> anyhow::Result<Storm> {
    let started = Instant::now();
    let lines: Vec<_> =
        (0..scene.connections).map(|number| tokio::spawn(poller(Arc::clone(scene), number, started + lasts))).collect();
    let mut sum = Storm { tally: Tally::new(), answered: 0, unchanged: 0, took: Duration::ZERO };
    for line in lines {
        let part = line.await.context("a poller broke off")?;
        sum.tally.add(&part.tally);
        sum.answered += part.answered;
        sum.unchanged += part.unchanged;
    }
    sum.took = started.elapsed();
    Ok(sum)
}

async fn poller(scene: Arc<Scene>, number: usize, until: Instant) -> Storm {
    let mut part = Storm { tally: Tally::new(), answered: 0, unchanged: 0, took: Duration::ZERO };
    let mut wire = Wire::new(scene.address, number);
    let mut request = get_request(&scene.authority, &scene.status_path, None);
    while Instant::now() < until {
        let sent = Instant::now();
        // Parsing on every line would measure the client: the tag is all that the next poll needs.
        let answer = wire.call(&request, |answer| (answer.status, answer.header("etag").map(str::to_owned))).await;
        match answer {
            Ok((200, tag)) => {
                part.answered += 1;
                part.tally.answers.saturating_record(micros(sent.elapsed()));
                request = get_request(&scene.authority, &scene.status_path, tag.as_deref());
            }
            Ok((304, _)) => {
                part.answered += 1;
                part.unchanged += 1;
                part.tally.answers.saturating_record(micros(sent.elapsed()));
            }
            Ok((status, _)) => part.tally.error("status", format!("an answer with the status {status}")),
            Err(_) => {
                part.tally.error("status", "no answer");
                sleep(WATCH_EVERY).await;
            }
        }
    }
    part
}
