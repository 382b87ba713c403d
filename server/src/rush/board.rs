//! The board over the queue: the newest state that any poller of this process has read, for fans that
//! do not poll themselves, and a check that what is published never contradicts itself.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use domain::queue::{self, QueueStatus, Seed};
use tokio::sync::watch;

/// Most contradictions kept.
const CONTRADICTIONS_MAX: usize = 20;
/// Only states this far apart are compared: several processes, each with a cache of a second, may
/// publish within it in any order.
const SETTLED_AFTER_MS: i64 = 2_500;
/// Most states remembered for that comparison.
const REMEMBERED_MAX: usize = 1_024;

/// The newest known state of the queue.
pub(super) struct Board {
    newest: watch::Sender<Option<Arc<QueueStatus>>>,
    record: Mutex<Record>,
}

#[derive(Default)]
struct Record {
    /// States by age: the first is the newest settled one, as seen from the last.
    recent: VecDeque<Arc<QueueStatus>>,
    contradictions: Vec<String>,
}

impl Record {
    fn add(&mut self, status: &Arc<QueueStatus>) {
        let is_settled = |known: &Arc<QueueStatus>| known.now.until(status.now) >= SETTLED_AFTER_MS;
        while self.recent.get(1).is_some_and(is_settled) {
            self.recent.pop_front();
        }
        let settled = self.recent.front().filter(|known| is_settled(known));
        if let Some(what) = settled.and_then(|known| contradiction(known, status))
            && self.contradictions.len() < CONTRADICTIONS_MAX
        {
            self.contradictions.push(what);
        }
        if self.recent.len() < REMEMBERED_MAX {
            self.recent.push_back(Arc::clone(status));
        }
    }
}

impl Board {
    pub(super) fn new() -> Self {
        Self { newest: watch::Sender::new(None), record: Mutex::default() }
    }

    /// Puts a state up unless one as new hangs there already. Everybody who waits is told, also when
    /// nothing changed: time goes on.
    pub(super) fn publish(&self, status: &Arc<QueueStatus>) {
        self.newest.send_modify(|newest| {
            if newest.as_ref().is_none_or(|known| known.now < status.now) {
                self.record.lock().unwrap_or_else(PoisonError::into_inner).add(status);
                *newest = Some(Arc::clone(status));
            }
        });
    }

    pub(super) fn newest(&self) -> Option<Arc<QueueStatus>> {
        self.newest.borrow().clone()
    }

    /// For waiting until the next state is put up.
    pub(super) fn subscribe(&self) -> watch::Receiver<Option<Arc<QueueStatus>>> {
        self.newest.subscribe()
    }

    /// What contradicted itself.
    pub(super) fn contradictions(&self) -> Vec<String> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner).contradictions.clone()
    }
}

/// How a later state contradicts an earlier one, if it does (I6).
fn contradiction(before: &QueueStatus, after: &QueueStatus) -> Option<String> {
    if before.commitment != after.commitment {
        return Some(format!("I6: the commitment changed from {} to {}", before.commitment, after.commitment));
    }
    if before.lobby.is_some() && before.lobby != after.lobby {
        return Some(format!("I6: the frozen lobby changed from {:?} to {:?}", before.lobby, after.lobby));
    }
    if before.drawn.is_some() && before.drawn != after.drawn {
        return Some("I6: the facts of the draw changed".to_owned());
    }
    if before.drawn.is_none()
        && let Some(drawn) = &after.drawn
        && !fits(&drawn.seed, &after.commitment)
    {
        return Some(format!("I6: the revealed seed does not fit the commitment {}", after.commitment));
    }
    if after.serving < before.serving {
        return Some(format!("I6: serving went back from {} to {}", before.serving, after.serving));
    }
    None
}

fn fits(seed: &str, commitment: &str) -> bool {
    let mut bytes = Seed::default();
    hex::decode_to_slice(seed, &mut bytes).is_ok()
        && hex::encode(queue::commitment(&bytes)).eq_ignore_ascii_case(commitment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::queue::{Drawn, Mode, Phase, Supply};
    use domain::{Millis, PerformanceId};
    use uuid::Uuid;

    fn status(now: i64, serving: u32) -> QueueStatus {
        QueueStatus {
            performance: PerformanceId(Uuid::nil()),
            mode: Mode::Queue,
            phase: Phase::Open,
            now: Millis(now),
            registers_at: Millis(0),
            opens_at: Millis(0),
            closes_at: Millis(1_000),
            joined: 1,
            lobby: None,
            commitment: "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925".to_owned(),
            beacon_due: None,
            drawn: None,
            serving,
            window: None,
            rate_per_min: 0,
            stock: 1,
            supply: Supply::OnSale,
            refresh_ms: 1_000,
        }
    }

    #[test]
    fn the_newest_state_stays_up() {
        let board = Board::new();
        for (now, serving) in [(2, 5), (1, 3), (3, 6)] {
            board.publish(&Arc::new(status(now, serving)));
        }
        assert_eq!(board.newest().unwrap().serving, 6);
        assert_eq!(board.contradictions(), Vec::<String>::new());
    }

    #[test]
    fn only_settled_states_are_compared() {
        let told = |steps: &[(i64, u32)]| {
            let board = Board::new();
            steps.iter().for_each(|(now, serving)| board.publish(&Arc::new(status(*now, *serving))));
            board.contradictions().len()
        };
        assert_eq!(told(&[(0, 5), (1_000, 4), (2_000, 6), (9_000, 6)]), 0);
        assert_eq!(told(&[(0, 5), (1_000, 4), (2_000, 4), (3_000, 4)]), 1);
        assert_eq!(told(&[(0, 5), (60_000, 9), (120_000, 8), (180_000, 9)]), 1);
    }

    #[test]
    fn contradictions_are_found() {
        let plain = status(1, 5);
        assert_eq!(contradiction(&plain, &status(2, 5)), None);
        assert!(contradiction(&plain, &status(2, 4)).unwrap().contains("serving went back"));
        let with_seed =
            |seed: &str| Some(Drawn { seed: seed.repeat(32), list: "08".repeat(32), beacon: String::new() });
        let drawn = QueueStatus { lobby: Some(3), drawn: with_seed("00"), ..status(2, 5) };
        assert_eq!(contradiction(&plain, &drawn), None);
        let forged = QueueStatus { lobby: Some(3), drawn: with_seed("01"), ..status(2, 5) };
        assert!(contradiction(&plain, &forged).unwrap().contains("does not fit"));
        let larger = QueueStatus { lobby: Some(4), ..drawn.clone() };
        assert!(contradiction(&drawn, &larger).unwrap().contains("lobby changed"));
        let undrawn = QueueStatus { drawn: None, ..drawn.clone() };
        assert!(contradiction(&drawn, &undrawn).unwrap().contains("draw changed"));
    }
}
