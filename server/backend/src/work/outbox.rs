//! Doing what waits in the outbox: mails and webhooks, each in a loop of its own, so that neither holds up the
//! other.
//!
//! Rows are claimed for a while, delivered outside of any transaction and then noted. A slow recipient takes one
//! place and nobody else's; a worker that dies lets its claims run out, and others take them. So each is
//! delivered at least once, and a second time where a worker died, or Postgres was away, between the delivery
//! and the note.

use crate::backend::Backend;
use crate::error::Result;
use crate::mail::{Delivered, Letter, Mail};
use crate::postgres::outbox::{self, Claimed, Outcome};
use domain::Millis;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Mails on their way at once: so many connections a relay takes from one client.
const MAILS_AT_ONCE: usize = 16;
/// Webhooks on their way at once.
const WEBHOOKS_AT_ONCE: usize = 32;
/// Webhooks on their way to one endpoint at once: a slow one leaves most places to others.
const WEBHOOKS_OF_ONE: i64 = 4;
/// How often each loop looks although nobody poked it.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often what is kept no longer is forgotten.
const FORGET_EVERY: Duration = Duration::from_secs(60);
/// A mail is given up when it could not be delivered for this long: what it says is old by then.
const MAIL_GIVE_UP_MS: i64 = 24 * 3_600_000;
/// Pause after the first failed try of a mail; it doubles with each.
const MAIL_PAUSE_MS: i64 = 1_000;
/// Longest pause: after an outage of the relay all is sent within this time.
const MAIL_PAUSE_MAX_MS: i64 = 600_000;
/// Pauses are longer by up to this share of theirs, in percent, so that what failed together is not tried together.
const SPREAD_PERCENT: i64 = 20;

/// Starts both loops, and the tidying behind them.
pub(super) fn spawn_all(tasks: &mut JoinSet<()>, backend: &Arc<Backend>, stop: &CancellationToken) {
    tasks.spawn(send_mails(Arc::clone(backend), stop.clone()));
    tasks.spawn(send_webhooks(Arc::clone(backend), stop.clone()));
    tasks.spawn(forget(Arc::clone(backend), stop.clone()));
}

/// A claim that nobody else has, its begin and its end.
fn claim(backend: &Backend) -> (Uuid, Millis, Millis) {
    let now = backend.now();
    (Uuid::new_v4(), now, now.plus(backend.config.delivery.lease_ms))
}

async fn send_mails(backend: Arc<Backend>, stop: CancellationToken) {
    let mut under_way = JoinSet::new();
    super::went_well("mail", backend.now());
    while !stop.is_cancelled() {
        let room = MAILS_AT_ONCE.saturating_sub(under_way.len());
        if let Ok(most @ 1..) = i64::try_from(room) {
            let (lease, now, until) = claim(&backend);
            let claimed = outbox::claim_mails(&backend.pg, lease, now, until, most);
            match super::told(&backend, "mail", async { Ok(claimed.await?) }).await {
                Ok(claimed) => {
                    for row in claimed {
                        let backend = Arc::clone(&backend);
                        under_way
                            .spawn(async move { note("mail", row.id, super::caught(send_mail(&backend, row)).await) });
                    }
                }
                Err(error) => note("mail", 0, Err(error)),
            }
        }
        if under_way.is_empty() {
            backend.mailer.rest();
        }
        wait(&mut under_way, &backend.wake.outbox, &stop).await;
    }
    // What is under way is ended, within the bound on the whole stop.
    while under_way.join_next().await.is_some() {}
}

async fn send_webhooks(backend: Arc<Backend>, stop: CancellationToken) {
    // Nobody pokes: events are written deep within the transactions of their changes.
    let (mut under_way, busy, never) = (JoinSet::new(), Busy::default(), Notify::new());
    super::went_well("webhook", backend.now());
    while !stop.is_cancelled() {
        let room = WEBHOOKS_AT_ONCE.saturating_sub(under_way.len());
        if let Ok(most @ 1..) = i64::try_from(room) {
            let (lease, now, until) = claim(&backend);
            let endpoints = busy.endpoints();
            let claimed = outbox::claim_webhooks(&backend.pg, lease, (now, until), &endpoints, WEBHOOKS_OF_ONE, most);
            match super::told(&backend, "webhook", async { Ok(claimed.await?) }).await {
                Ok(claimed) => {
                    for row in claimed {
                        let (backend, place) = (Arc::clone(&backend), busy.take(row.endpoint));
                        under_way.spawn(async move {
                            note("webhook", row.id, super::caught(backend.deliver_webhook(&row)).await);
                            drop(place);
                        });
                    }
                }
                Err(error) => note("webhook", 0, Err(error)),
            }
        }
        wait(&mut under_way, &never, &stop).await;
    }
    while under_way.join_next().await.is_some() {}
}

/// Waits until something ended, there may be something new, or it is time to look.
async fn wait(under_way: &mut JoinSet<()>, wake: &Notify, stop: &CancellationToken) {
    let ended = tokio::select! {
        Some(ended) = under_way.join_next() => Some(ended),
        () = wake.notified() => None,
        () = tokio::time::sleep(LOOK_EVERY) => None,
        () = stop.cancelled() => None,
    };
    // One look for all that ended meanwhile.
    for ended in std::iter::successors(ended, |_| under_way.try_join_next()) {
        if let Err(error) = ended {
            tracing::error!(%error, "a delivery ended in a panic; it is tried again when its claim has run out");
        }
    }
}

/// Reports a delivery that could not be tried or noted, once, here.
fn note(kind: &'static str, id: i64, outcome: Result<()>) {
    if let Err(error) = outcome {
        metrics::counter!("stararena_job_failures_total", "job" => kind).increment(1);
        tracing::warn!(
            kind,
            id,
            error = &error as &dyn std::error::Error,
            "a side effect was interrupted; it is tried again when its claim has run out"
        );
    }
}

/// One try of a mail, and the note of how it ended.
async fn send_mail(backend: &Backend, row: Claimed) -> Result<()> {
    let delivered = match serde_json::from_value::<Mail>(row.payload.clone()) {
        Ok(mail) => {
            let letter = Letter { outbox: row.id, dedupe: row.dedupe.clone(), mail, written: row.created };
            backend.mailer.deliver(&letter, backend.now()).await?
        }
        // A newer version may have written it, and may read it tomorrow.
        Err(error) => Delivered::Later(format!("the mail can't be read: {error}")),
    };
    if delivered == Delivered::Done {
        backend.fault("after-mail");
    }
    let now = backend.now();
    let (outcome, held) = match delivered {
        Delivered::Done => ("sent", outbox::finish(&backend.pg, &row, Outcome::Delivered, None, now).await?),
        Delivered::Later(why) if now.0 - row.created.0 < MAIL_GIVE_UP_MS => {
            let next = now.plus(mail_pause_ms(row.tries, row.id));
            ("retried", outbox::retry(&backend.pg, &row, &why, next).await?)
        }
        Delivered::Later(why) | Delivered::Never(why) => {
            let held = outbox::finish(&backend.pg, &row, Outcome::GivenUp, Some(&why), now).await?;
            // The reason may name the recipient: it is in the row, and not in the log.
            tracing::error!(id = row.id, "a mail was given up; the reason is in its row of the outbox");
            ("given_up", held)
        }
    };
    metrics::counter!("stararena_mails_total", "outcome" => outcome).increment(1);
    if !held {
        metrics::counter!("stararena_claims_lost_total").increment(1);
        tracing::warn!(id = row.id, outcome, "a mail was in hand for too long: it may be sent twice");
    }
    Ok(())
}

/// How long a mail waits after a failed try; `failed` counts those before it, `id` spreads mails.
fn mail_pause_ms(failed: i32, id: i64) -> i64 {
    let pause = (MAIL_PAUSE_MS << failed.clamp(0, 16)).min(MAIL_PAUSE_MAX_MS);
    pause + pause * SPREAD_PERCENT / 100 * id.rem_euclid(100) / 100
}

/// How many webhooks of this process are on their way, by endpoint.
#[derive(Clone, Default)]
struct Busy(Arc<Mutex<HashMap<Uuid, usize>>>);

/// The place of one webhook, free again when it is dropped: also after a panic.
struct Place {
    busy: Busy,
    endpoint: Option<Uuid>,
}

impl Busy {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Uuid, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn endpoints(&self) -> Vec<Uuid> {
        self.lock().keys().copied().collect()
    }

    fn take(&self, endpoint: Option<Uuid>) -> Place {
        if let Some(endpoint) = endpoint {
            *self.lock().entry(endpoint).or_default() += 1;
        }
        Place { busy: self.clone(), endpoint }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(endpoint) = self.endpoint else { return };
        let mut busy = self.busy.lock();
        let left = busy.get(&endpoint).map_or(0, |count| count.saturating_sub(1));
        if left == 0 {
            busy.remove(&endpoint);
        } else {
            busy.insert(endpoint, left);
        }
    }
}

/// Forgets deliveries of webhooks that are kept no longer.
async fn forget(backend: Arc<Backend>, stop: CancellationToken) {
    super::went_well("forget webhooks", backend.now());
    let mut every = tokio::time::interval(FORGET_EVERY);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = every.tick() => {}
            () = stop.cancelled() => return,
        }
        loop {
            match super::told(&backend, "forget webhooks", backend.forget_webhooks()).await {
                Ok(true) if !stop.is_cancelled() => {}
                Ok(_) => break,
                Err(error) => {
                    note("forget webhooks", 0, Err(error));
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_of_a_mail_double_up_to_ten_minutes_and_are_spread() {
        let pauses: Vec<i64> = (0..12).map(|failed| mail_pause_ms(failed, 0)).collect();
        assert_eq!(pauses[..4], [1_000, 2_000, 4_000, 8_000]);
        assert_eq!(pauses[10..], [MAIL_PAUSE_MAX_MS, MAIL_PAUSE_MAX_MS]);
        assert_eq!(mail_pause_ms(i32::MAX, 0), MAIL_PAUSE_MAX_MS);
        for id in [1, 42, 99, 12_345] {
            let pause = mail_pause_ms(20, id);
            assert!((MAIL_PAUSE_MAX_MS..MAIL_PAUSE_MAX_MS * 6 / 5).contains(&pause), "{id}: {pause}");
        }
    }

    #[test]
    fn an_endpoint_is_busy_until_its_last_webhook_has_ended() {
        let (busy, endpoint) = (Busy::default(), Uuid::from_u128(7));
        let (first, second) = (busy.take(Some(endpoint)), busy.take(Some(endpoint)));
        drop(first);
        assert_eq!(busy.endpoints(), [endpoint]);
        drop(second);
        assert!(busy.endpoints().is_empty());
        drop(busy.take(None));
        assert!(busy.endpoints().is_empty());
    }
}
