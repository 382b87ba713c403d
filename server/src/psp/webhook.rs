//! Delivers events to the merchant: signed, retried until a 2xx, in no promised order.
//!
//! The queue is the `deliveries` table, so that a restart goes on where it stopped; this module keeps
//! only a bounded window of it in memory. Calls of the API never wait for a delivery.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Bytes;
use redb::ReadableTable;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::store::{self, StoreError, Tables};
use super::switches::{InForce, WebhookMode};
use super::{Inner, now_ms, signature};

/// Attempts under way at once.
const ATTEMPTS_MAX: usize = 64;
/// Requests to the merchant at once, copies included.
pub(super) const REQUESTS_MAX: usize = 128;
/// Events whose bytes wait in memory for their time; the others wait in the table.
const WINDOW_MAX: usize = 4096;
/// Rows of the table read at once.
const PAGE_MAX: usize = 512;
/// Rows of the table that one commit of a flush changes.
const FLUSH_MAX: usize = 1000;
/// The wait after the first failure; it doubles with each further one.
const BACKOFF_FIRST_MS: u64 = 100;
const BACKOFF_MAX_MS: u64 = 60_000;
/// The longest that a merchant may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// What is read of a merchant's answer before its connection is given up, in bytes.
const ANSWER_MAX_BYTES: usize = 64 * 1024;
/// How far apart shuffled events are thrown.
const SHUFFLE_SPREAD_MS: u64 = 500;
/// The table is looked at this often even when nobody calls.
const IDLE_POLL: Duration = Duration::from_secs(5);

/// Why an event is still in the table of deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    /// It waits for its first or next attempt.
    Due,
    /// The switch dropped it: nothing happens until a flush.
    Dropped,
    /// Somebody asked for it by hand: the switch does not hold it back.
    Forced,
}

impl From<Delivery> for u8 {
    fn from(delivery: Delivery) -> Self {
        match delivery {
            Delivery::Due => 0,
            Delivery::Dropped => 1,
            Delivery::Forced => 2,
        }
    }
}

impl From<u8> for Delivery {
    fn from(byte: u8) -> Self {
        match byte {
            1 => Self::Dropped,
            2 => Self::Forced,
            _ => Self::Due,
        }
    }
}

/// Asks the dispatcher to read its table from the start.
#[derive(Default)]
pub(super) struct Reload(AtomicBool);

impl Reload {
    fn take(&self) -> bool {
        self.0.swap(false, Ordering::AcqRel)
    }
}

/// Makes every undelivered event due now, whatever the switch says; answers how many there were.
pub(super) async fn flush(psp: &Inner) -> Result<u64, StoreError> {
    let (mut flushed, mut from) = (0, 0);
    loop {
        let seqs = psp
            .store
            .write(move |tables| {
                let mut seqs = Vec::new();
                for entry in tables.deliveries.range(from..)?.take(FLUSH_MAX) {
                    seqs.push(entry?.0.value());
                }
                for seq in &seqs {
                    tables.deliveries.insert(*seq, u8::from(Delivery::Forced))?;
                }
                Ok(seqs)
            })
            .await?;
        flushed += seqs.len() as u64;
        match seqs.last() {
            Some(last) if seqs.len() == FLUSH_MAX => from = last + 1,
            _ => break,
        }
    }
    reload(psp);
    Ok(flushed)
}

/// Queues one event again, delivered or not.
pub(super) fn queue_again(tables: &mut Tables<'_>, seq: u64) -> Result<(), StoreError> {
    tables.deliveries.insert(seq, u8::from(Delivery::Forced))?;
    Ok(())
}

/// Wakes the dispatcher after rows changed behind its back.
pub(super) fn reload(psp: &Inner) {
    psp.reload.0.store(true, Ordering::Release);
    psp.store.emitted.notify_one();
}

/// One event in the window.
struct Parcel {
    seq: u64,
    body: Bytes,
    failures: u32,
    forced: bool,
}

/// How one attempt ended.
enum Ended {
    /// The row was dealt with: delivered, or dropped by the switch.
    Settled,
    Failed,
}

/// Takes events from the table to the merchant until told to stop.
pub(super) struct Dispatcher {
    psp: Arc<Inner>,
    client: reqwest::Client,
    url: String,
    /// By the time of the next attempt.
    window: BTreeMap<(Instant, u64), Parcel>,
    attempts: JoinSet<(Parcel, Ended)>,
    /// Sequence numbers under way, which a reload must not read a second time.
    under_way: HashSet<u64>,
    /// Those of them that a reload found asked for by hand: they are looked at once more when they end.
    asked_again: HashSet<u64>,
    /// The last row that was read.
    cursor: u64,
    /// Nothing was behind `cursor` at the last look.
    drained: bool,
}

impl Dispatcher {
    pub(super) fn new(psp: Arc<Inner>, url: String) -> Result<Self, reqwest::Error> {
        crate::tls::use_tls();
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(ANSWER_TIMEOUT)
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_max_idle_per_host(REQUESTS_MAX)
            // The merchant is called directly: a proxy of the environment is meant for others.
            .no_proxy()
            .build()?;
        Ok(Self {
            psp,
            client,
            url,
            window: BTreeMap::new(),
            attempts: JoinSet::new(),
            under_way: HashSet::new(),
            asked_again: HashSet::new(),
            cursor: 0,
            drained: false,
        })
    }

    pub(super) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        loop {
            if self.psp.reload.take() {
                self.window.clear();
                self.cursor = 0;
                self.drained = false;
            }
            if !self.drained && self.window.len() + self.under_way.len() < WINDOW_MAX {
                self.read_page().await;
            }
            self.start_due();
            let idle_until = Instant::now() + IDLE_POLL;
            let full = self.attempts.len() >= ATTEMPTS_MAX;
            let next = self.window.keys().next().map(|(due, _)| *due).filter(|_| !full);
            // With rows left and room for them, the page after this one follows at once.
            let hungry = !self.drained && self.window.len() + self.under_way.len() < WINDOW_MAX;
            tokio::select! {
                _ = stop.wait_for(|stopped| *stopped) => break,
                () = self.psp.store.emitted.notified() => self.drained = false,
                Some(ended) = self.attempts.join_next(), if !self.attempts.is_empty() => self.settle(ended),
                () = std::future::ready(()), if hungry => {}
                () = sleep_until(next.unwrap_or(idle_until).min(idle_until)) => {
                    if next.is_none_or(|due| due > idle_until) {
                        self.drained = false;
                    }
                }
            }
        }
    }

    async fn read_page(&mut self) {
        let cursor = self.cursor;
        let page = self.psp.store.read(move |txn| {
            let events = txn.open_table(store::EVENTS)?;
            let mut page = Vec::new();
            for entry in txn.open_table(store::DELIVERIES)?.range(cursor + 1..)?.take(PAGE_MAX) {
                let (seq, delivery) = entry?;
                let body = events.get(seq.value())?.map(|body| Bytes::copy_from_slice(body.value()));
                page.push((seq.value(), Delivery::from(delivery.value()), body.unwrap_or_default()));
            }
            Ok(page)
        });
        let page = match page.await {
            Ok(page) => page,
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "undelivered events can't be read");
                self.drained = true;
                return;
            }
        };
        self.drained = page.len() < PAGE_MAX;
        self.cursor = page.last().map_or(self.cursor, |(seq, ..)| *seq);
        let InForce { switches, chance } = self.psp.in_force();
        let now = Instant::now();
        for (seq, delivery, body) in page {
            let forced = delivery == Delivery::Forced;
            if self.under_way.contains(&seq) {
                // Its attempt may end as dropped and leave the row behind the cursor.
                if forced {
                    self.asked_again.insert(seq);
                }
                continue;
            }
            if delivery == Delivery::Dropped {
                continue;
            }
            let spread_ms = if switches.webhook_shuffle { SHUFFLE_SPREAD_MS } else { 1 };
            let shuffled_ms = chance.below("webhook_shuffle", seq, spread_ms);
            let wait_ms = if forced { 0 } else { switches.webhook_delay_ms + shuffled_ms };
            let due = now + Duration::from_millis(wait_ms);
            self.window.insert((due, seq), Parcel { seq, body, failures: 0, forced });
        }
    }

    fn start_due(&mut self) {
        let now = Instant::now();
        while self.attempts.len() < ATTEMPTS_MAX
            && self.window.keys().next().is_some_and(|(due, _)| *due <= now)
            && let Some((_, parcel)) = self.window.pop_first()
        {
            self.under_way.insert(parcel.seq);
            let (psp, client, url) = (Arc::clone(&self.psp), self.client.clone(), self.url.clone());
            self.attempts.spawn(async move {
                let ended = attempt(&psp, &client, &url, &parcel).await;
                (parcel, ended)
            });
        }
    }

    fn settle(&mut self, ended: Result<(Parcel, Ended), tokio::task::JoinError>) {
        let (mut parcel, ended) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "an attempt to deliver broke off");
                return;
            }
        };
        self.under_way.remove(&parcel.seq);
        if self.asked_again.remove(&parcel.seq) && !parcel.forced {
            self.psp.reload.0.store(true, Ordering::Release);
        }
        if matches!(ended, Ended::Failed) {
            let wait_ms = BACKOFF_FIRST_MS.saturating_mul(1 << parcel.failures.min(16)).min(BACKOFF_MAX_MS);
            parcel.failures += 1;
            let due = Instant::now() + Duration::from_millis(wait_ms);
            self.window.insert((due, parcel.seq), parcel);
        }
    }
}

async fn attempt(psp: &Arc<Inner>, client: &reqwest::Client, url: &str, parcel: &Parcel) -> Ended {
    let InForce { switches, chance } = psp.in_force();
    let seq = parcel.seq;
    let drops =
        switches.webhooks == WebhookMode::Drop || chance.hits("webhook_drop", seq, switches.webhook_drop_permille);
    if drops && !parcel.forced {
        let dropped = psp.store.write(move |tables| {
            let due = tables.deliveries.get(seq)?.is_some_and(|row| Delivery::from(row.value()) == Delivery::Due);
            if due {
                tables.deliveries.insert(seq, u8::from(Delivery::Dropped))?;
            }
            Ok(())
        });
        return settled(dropped.await);
    }
    let mut copies = JoinSet::new();
    for _ in 0..switches.webhook_copies {
        let (psp, client, url, body) = (Arc::clone(psp), client.clone(), url.to_owned(), parcel.body.clone());
        copies.spawn(async move { send(&psp, &client, &url, body).await });
    }
    if copies.join_all().await.into_iter().any(|accepted| !accepted) {
        return Ended::Failed;
    }
    settled(psp.store.write(move |tables| tables.deliveries.remove(seq).map(drop).map_err(StoreError::from)).await)
}

fn settled(written: Result<(), StoreError>) -> Ended {
    match written {
        Ok(()) => Ended::Settled,
        Err(error) => {
            tracing::error!(error = &error as &dyn std::error::Error, "a delivery can't be recorded");
            Ended::Failed
        }
    }
}

/// Sends one copy; answers whether the merchant took it.
async fn send(psp: &Inner, client: &reqwest::Client, url: &str, body: Bytes) -> bool {
    let Ok(_permit) = psp.requests.acquire().await else {
        return false;
    };
    let signature = signature::sign(&psp.config.webhook_secret, &body, now_ms() / 1000);
    let request =
        client.post(url).header("content-type", "application/json").header(signature::HEADER, signature).body(body);
    let mut response = match request.send().await {
        Ok(response) => response,
        Err(error) => {
            tracing::debug!(error = &error as &dyn std::error::Error, "the merchant can't be reached");
            return false;
        }
    };
    let accepted = response.status().is_success();
    // Reading the answer to its end lets the connection serve the next delivery.
    let mut read_bytes = 0;
    while let Ok(Some(chunk)) = response.chunk().await {
        read_bytes += chunk.len();
        if read_bytes > ANSWER_MAX_BYTES {
            break;
        }
    }
    accepted
}
