//! Joins on their way to the store: those that come while a call is under way travel in the next one.
//!
//! At the opening thousands come in the same milliseconds. One call of the script takes many of them, so
//! that the store, the connection to it and the scheduler do their work once for all; alone, a join waits for
//! nobody. The line of those who wait is bounded: whoever finds it full is told to come again at once.

use crate::error::{Error, Result};
use crate::redis::{JoinAnswer, JoinCall, Keys, RedisSeats};
use domain::{Code, PerformanceId, Refusal};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

/// Joins of one call: a script of so many takes about a millisecond, in which nothing else of the server runs.
const BATCH_MAX: usize = 256;
/// Calls under way at once: one is executed while the next travels.
const CALLS_AT_ONCE: usize = 2;
/// Joins that wait: some tenths of a second's work. Whoever comes behind them is better told to come again.
const WAITING_MAX: usize = 8_192;
/// A line that nobody joins for so long is given up.
const IDLE: Duration = Duration::from_secs(60);
/// When those who find the line full may come again; the edge spreads it.
const AGAIN_MS: u32 = 2_000;

/// A join that waits for its answer.
struct Ask {
    call: JoinCall,
    reply: oneshot::Sender<Answer>,
}

/// A fault of the store is told to everybody who travelled in the call.
type Answer = std::result::Result<JoinAnswer, Arc<Error>>;

/// The lines of one process.
#[derive(Default)]
pub(crate) struct Joining {
    lines: Mutex<HashMap<PerformanceId, mpsc::Sender<Ask>>>,
}

impl Joining {
    /// Joins with whoever else comes at this moment.
    pub(super) async fn join(
        &self,
        seats: &RedisSeats,
        performance: PerformanceId,
        keys: &Keys,
        call: JoinCall,
    ) -> Result<JoinAnswer> {
        let (reply, answer) = oneshot::channel();
        let mut ask = Ask { call, reply };
        loop {
            match self.line(seats, performance, keys).try_send(ask) {
                Ok(()) => break,
                // The line was given up just now: the next one begins.
                Err(mpsc::error::TrySendError::Closed(back)) => ask = back,
                Err(mpsc::error::TrySendError::Full(_)) => {
                    metrics::counter!("stararena_joins_shed_total", "why" => "line").increment(1);
                    return Err(Error::Refused(
                        Refusal::new(Code::Overloaded, "very many join at this moment: nothing is lost, come again")
                            .retry_after_ms(AGAIN_MS),
                    ));
                }
            }
        }
        match answer.await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(fault)) => Err(Error::Shared(fault)),
            Err(_) => Err(Error::Broken("a line of joins ended early".to_owned())),
        }
    }

    /// The part of the longest line that is taken, from 0 to 1.
    pub(crate) fn fullness(&self) -> f64 {
        let longest = self.lock().values().map(|line| WAITING_MAX - line.capacity()).max().unwrap_or(0);
        ratio(longest)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PerformanceId, mpsc::Sender<Ask>>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn line(&self, seats: &RedisSeats, performance: PerformanceId, keys: &Keys) -> mpsc::Sender<Ask> {
        let mut lines = self.lock();
        lines.retain(|id, line| *id == performance || !line.is_closed());
        match lines.get(&performance) {
            Some(line) if !line.is_closed() => line.clone(),
            _ => {
                let (line, asks) = mpsc::channel(WAITING_MAX);
                lines.insert(performance, line.clone());
                tokio::spawn(serve(seats.clone(), keys.clone(), asks));
                line
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a line has some thousand places")]
fn ratio(waiting: usize) -> f64 {
    waiting as f64 / WAITING_MAX as f64
}

/// Serves one line until nobody comes any more.
async fn serve(seats: RedisSeats, keys: Keys, mut asks: mpsc::Receiver<Ask>) {
    let slots = Arc::new(Semaphore::new(CALLS_AT_ONCE));
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        let mut batch = Vec::with_capacity(BATCH_MAX);
        match tokio::time::timeout(IDLE, asks.recv_many(&mut batch, BATCH_MAX)).await {
            Ok(0) => return,
            Ok(_) => {}
            Err(_) => {
                // Who is in the line already is still served: from here on nobody can join it.
                asks.close();
                continue;
            }
        }
        tokio::spawn(call(seats.clone(), keys.clone(), batch, slot));
    }
}

async fn call(seats: RedisSeats, keys: Keys, batch: Vec<Ask>, slot: OwnedSemaphorePermit) {
    let calls: Vec<JoinCall> = batch.iter().map(|ask| ask.call).collect();
    let outcome = seats.join_all(&keys, &calls).await;
    drop(slot);
    metrics::histogram!("stararena_join_batch").record(u32::try_from(calls.len()).unwrap_or(u32::MAX));
    match outcome {
        Ok(answers) => {
            for (ask, answer) in batch.into_iter().zip(answers) {
                // Who has left meanwhile has a place all the same, and is told it when asking again.
                drop(ask.reply.send(Ok(answer)));
            }
        }
        Err(fault) => {
            let fault = Arc::new(fault);
            for ask in batch {
                drop(ask.reply.send(Err(Arc::clone(&fault))));
            }
        }
    }
}
