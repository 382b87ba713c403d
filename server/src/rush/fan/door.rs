//! The way to the door: joining, waiting, entering.

use std::sync::Arc;
use std::time::Duration;

use domain::queue::{Entered, Joined, Phase, QueueStatus, Standing};
use domain::refusal::Code;
use tokio::time::{Instant, timeout};

use super::super::journal::{Kind, Outcome, Visit};
use super::super::world::{EXPIRY_MARGIN_US, read_status};
use super::{End, Fan, Reply};

/// Shortest wait between two polls of one fan, whatever the server says: bounds the load.
const POLL_MIN_MS: u64 = 1_000;
/// Longest wait for the board to change before a fan looks at its own clock again.
const BOARD_WAIT: Duration = Duration::from_secs(2);
/// Wait before the door is tried again where it names none.
const FULL_WAIT_MS: u64 = 1_000;
/// Longest wait before the door is tried again.
const FULL_WAIT_MAX_MS: u64 = 5_000;

impl Fan {
    /// Takes a place in the queue; some fans press twice.
    pub(super) async fn join(&mut self, start: Instant) -> Result<Joined, End> {
        let joined = self.press_join(start).await?;
        self.world.tally.joined.add();
        if self.habits.joins_twice {
            self.pause(self.world.think_ms).await;
            self.press_join(Instant::now()).await?;
        }
        Ok(joined)
    }

    async fn press_join(&mut self, intended: Instant) -> Result<Joined, End> {
        let performance = self.world.performance.to_string();
        match self.insist::<Joined>(Kind::Join, "/api/queue-join", &[("performance", &performance)], intended).await {
            Reply::Ok(joined) => {
                self.journal.arrivals.push(joined.arrival);
                Ok(joined)
            }
            Reply::No(refusal) if matches!(refusal.code, Code::QueueClosed | Code::SaleClosed) => Err(End::SoldOut),
            Reply::No(_) | Reply::Fault => Err(End::Failed),
        }
    }

    /// Waits until the place is reached, or until `leave_at`.
    pub(super) async fn wait_for_turn(&mut self, arrival: u32, leave_at: Option<Instant>) -> Result<(), End> {
        let mut board = self.world.board.subscribe();
        loop {
            if leave_at.is_some_and(|at| Instant::now() >= at) {
                return Err(End::LeftQueue);
            }
            let known = board.borrow_and_update().clone();
            let status = if self.habits.polls { self.poll().await } else { known };
            if let Some(status) = status
                && self.may_try(&status, arrival)?
            {
                return Ok(());
            }
            if self.habits.polls {
                self.wait_for_poll().await;
            } else {
                // Nothing new is no news: the loop looks at the clock.
                let _news = timeout(BOARD_WAIT, board.changed()).await;
            }
        }
    }

    async fn poll(&mut self) -> Option<Arc<QueueStatus>> {
        let (intended, sent_us) = (Instant::now(), self.world.clock.now_us());
        let (status, outcome) = match read_status(&mut self.line, &self.world.target, &self.world.status_path).await {
            Ok(status) => (Some(Arc::new(status)), Outcome::Ok),
            Err(outcome) => (None, outcome),
        };
        self.write(Kind::Status, outcome, intended, sent_us);
        if let Some(status) = &status {
            self.world.board.publish(status);
        }
        status
    }

    async fn wait_for_poll(&mut self) {
        if self.world.is_crowded() {
            self.line.hang_up();
        }
        let refresh_ms = self.world.board.newest().map_or(POLL_MIN_MS, |status| u64::from(status.refresh_ms));
        self.wait_about(refresh_ms.max(POLL_MIN_MS)).await;
    }

    /// Whether the place is reached; an end where nothing is left to wait for.
    fn may_try(&mut self, status: &QueueStatus, arrival: u32) -> Result<bool, End> {
        if status.phase == Phase::Open && self.loses_patience(status.stock) {
            return Err(End::SoldOut);
        }
        match status.standing(arrival) {
            Standing::Turn { place, .. } => {
                self.note_place(place);
                Ok(true)
            }
            Standing::Passed { place } => {
                self.note_place(place);
                Err(End::Passed)
            }
            Standing::Waiting { place, .. } => {
                self.note_place(place);
                Ok(false)
            }
            Standing::Lobby { .. } => Ok(false),
            Standing::Ended => Err(End::SoldOut),
        }
    }

    fn note_place(&mut self, place: u32) {
        let known = *self.place.get_or_insert(place);
        if known != place {
            self.journal.breaches.push(format!("I6: the place moved from {known} to {place}"));
            self.place = Some(place);
        }
    }

    /// Waits for the turn and goes in.
    pub(super) async fn enter(&mut self, joined: &Joined) -> Result<(), End> {
        let nonce = self.word();
        loop {
            self.wait_for_turn(joined.arrival, None).await?;
            if !self.habits.polls {
                // The board calls everybody at once; browsers poll at their own moments.
                self.pause(POLL_MIN_MS).await;
            }
            if self.knock(joined, &nonce).await? {
                return Ok(());
            }
        }
    }

    /// Tries the door while it is only full; `false` means to wait for the turn again.
    async fn knock(&mut self, joined: &Joined, nonce: &str) -> Result<bool, End> {
        let performance = self.world.performance.to_string();
        let form = [("performance", performance.as_str()), ("ticket", joined.ticket.as_str()), ("nonce", nonce)];
        loop {
            let refusal = match self.insist::<Entered>(Kind::Enter, "/api/queue-enter", &form, Instant::now()).await {
                Reply::Ok(entered) => {
                    let ends_us = self.world.clock.at(entered.expires).saturating_sub(EXPIRY_MARGIN_US);
                    if self.journal.visits.is_empty() {
                        self.world.tally.admitted.add();
                    }
                    self.journal.visits.push(Visit { from_us: self.last.ended_us, until_us: ends_us });
                    return Ok(true);
                }
                Reply::No(refusal) => refusal,
                Reply::Fault => return Err(End::Failed),
            };
            let wait_ms = refusal.retry_after_ms.map_or(FULL_WAIT_MS, u64::from).min(FULL_WAIT_MAX_MS);
            if self.world.is_crowded() {
                self.line.hang_up();
            }
            match refusal.code {
                Code::Full => self.wait_about(wait_ms).await,
                Code::NotYourTurn | Code::Paused => {
                    self.wait_about(wait_ms).await;
                    return Ok(false);
                }
                Code::SaleClosed | Code::QueueClosed => return Err(End::SoldOut),
                Code::TurnPassed => return Err(End::Passed),
                _ => return Err(End::Failed),
            }
            if let Some(status) = self.world.board.newest() {
                self.may_try(&status, joined.arrival)?;
            }
        }
    }
}
