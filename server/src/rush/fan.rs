//! One virtual fan: its life from joining the queue to the tickets, and how it speaks to the server.
//!
//! The parts of that life are in [`door`] (queue and entry), [`shop`] (seats) and [`checkout`] (money).
//! A fan judges nothing: it writes down what it is told; [`super::checks`] judges.

mod checkout;
mod door;
mod shop;

use std::sync::Arc;
use std::time::Duration;

use domain::AccountId;
use domain::refusal::{Code, Refusal};
use rand::RngExt as _;
use rand::rngs::StdRng;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep, sleep_until};

use super::habits::{Habits, Wish};
use super::http::{Fault, Line};
use super::journal::{Journal, Kind, Operation, Outcome};
use super::world::World;

/// How often a call that is safe to repeat is sent before its fan gives up.
const TRIES_MAX: u32 = 8;
/// First wait before a repeated call; doubled each time.
const BACKOFF_MS: u64 = 200;
/// Longest wait before a repeated call, whatever the server asks for.
const BACKOFF_MAX_MS: u64 = 10_000;

/// How a fan's evening ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Has tickets.
    Bought,
    /// Walked away from the queue.
    LeftQueue,
    /// Gave seats back and went.
    Released,
    /// Went without giving its seats back.
    Abandoned,
    /// Nothing was left, or the sale was over.
    SoldOut,
    /// Others were quicker every time.
    Outrun,
    /// The time behind the door was over, again.
    ShownOut,
    /// The window in which its place could enter is over.
    Passed,
    /// The hold ran out before it was paid.
    RanOut,
    /// Paid, and saw no tickets in time.
    Unsettled,
    /// The server did not let this fan go on; the journal says why.
    Failed,
    /// The run's time was over.
    CutShort,
}

impl End {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Bought => "bought",
            Self::LeftQueue => "left_queue",
            Self::Released => "released",
            Self::Abandoned => "abandoned",
            Self::SoldOut => "sold_out",
            Self::Outrun => "outrun",
            Self::ShownOut => "shown_out",
            Self::Passed => "passed",
            Self::RanOut => "ran_out",
            Self::Unsettled => "unsettled",
            Self::Failed => "failed",
            Self::CutShort => "cut_short",
        }
    }
}

/// What a call came to.
enum Reply<T> {
    Ok(T),
    No(Refusal),
    /// No answer, or none that can be read.
    Fault,
}

/// When the last call's first request left, and when its last answer came.
#[derive(Clone, Copy, Default)]
struct Span {
    sent_us: u64,
    ended_us: u64,
}

/// One fan.
pub(super) struct Fan {
    world: Arc<World>,
    pub(super) account: AccountId,
    line: Line,
    dice: StdRng,
    habits: Habits,
    pub(super) journal: Journal,
    last: Span,
    /// Since when there has been nothing to buy.
    dry_since: Option<Instant>,
    /// Place in the draw, once known: it must never change.
    place: Option<u32>,
}

impl Fan {
    pub(super) fn new(world: Arc<World>, account: AccountId, line: Line, mut dice: StdRng) -> Self {
        let habits = Habits::draw(&world.shares, world.limit, &mut dice);
        Self {
            world,
            account,
            line,
            dice,
            habits,
            journal: Journal::default(),
            last: Span::default(),
            dry_since: None,
            place: None,
        }
    }

    /// Lives from `start`, the moment at which the fan means to press Join.
    pub(super) async fn live(&mut self, start: Instant) -> End {
        sleep_until(start).await;
        match self.evening(start).await {
            Ok(end) | Err(end) => end,
        }
    }

    async fn evening(&mut self, start: Instant) -> Result<End, End> {
        let joined = self.join(start).await?;
        self.line.hang_up();
        let leave_at = self.habits.leaves_after.map(|after| Instant::now() + after);
        if leave_at.is_some() {
            self.wait_for_turn(joined.arrival, leave_at).await?;
            return Ok(End::LeftQueue);
        }
        self.enter(&joined).await?;
        let claim = self.choose_seats(&joined).await?;
        self.pause(self.world.think_ms).await;
        match self.habits.wish {
            Wish::Buy => self.buy(claim).await,
            Wish::Release => self.release(claim).await,
            Wish::Abandon => Ok(End::Abandoned),
        }
    }

    /// Closes the connection: others may have its place.
    pub(super) fn leave(&mut self) {
        self.line.hang_up();
    }

    /// Sends one form and writes the operation down.
    async fn post<T: DeserializeOwned>(
        &mut self,
        kind: Kind,
        path: &str,
        form: &[(&str, &str)],
        intended: Instant,
    ) -> Reply<T> {
        let sent_us = self.world.clock.now_us();
        let answer = self.line.post(&self.world.target, path, form).await;
        let (reply, outcome) = match answer {
            Err(Fault::Failed) => (Reply::Fault, Outcome::Failed("not reached".to_owned())),
            Err(Fault::Unknown) => (Reply::Fault, Outcome::Unknown),
            Ok(answer) if answer.status.is_success() => match serde_json::from_slice(&answer.body) {
                Ok(value) => (Reply::Ok(value), Outcome::Ok),
                Err(_) => (Reply::Fault, Outcome::Failed("unreadable answer".to_owned())),
            },
            Ok(answer) => match serde_json::from_slice::<Refusal>(&answer.body) {
                Ok(refusal) => {
                    let code = refusal.code.as_str();
                    (Reply::No(refusal), Outcome::Refused(code))
                }
                Err(_) => (Reply::Fault, Outcome::Failed(format!("status {}", answer.status.as_u16()))),
            },
        };
        self.write(kind, outcome, intended, sent_us);
        reply
    }

    fn write(&mut self, kind: Kind, outcome: Outcome, intended: Instant, sent_us: u64) {
        let ended_us = self.world.clock.now_us();
        self.last = Span { sent_us, ended_us };
        let intended_us = self.world.clock.us(intended);
        self.journal.record(Operation { kind, outcome, intended_us, ended_us });
    }

    /// Sends a form that is safe to repeat until there is an answer, with growing waits. The span of the
    /// call then begins with its first request: any of them may have taken effect.
    async fn insist<T: DeserializeOwned>(
        &mut self,
        kind: Kind,
        path: &str,
        form: &[(&str, &str)],
        intended: Instant,
    ) -> Reply<T> {
        let mut intended = intended;
        let mut first_sent_us = None;
        for attempt in 1.. {
            let reply = self.post(kind, path, form, intended).await;
            self.last.sent_us = *first_sent_us.get_or_insert(self.last.sent_us);
            let asked_ms = match &reply {
                Reply::No(refusal) if passes(refusal.code) => refusal.retry_after_ms.map(u64::from),
                Reply::Fault => None,
                Reply::Ok(_) | Reply::No(_) => return reply,
            };
            if attempt >= TRIES_MAX {
                return reply;
            }
            let backoff_ms = asked_ms.unwrap_or(BACKOFF_MS << attempt.min(6)).min(BACKOFF_MAX_MS);
            self.wait_about(backoff_ms).await;
            intended = Instant::now();
        }
        Reply::Fault
    }

    /// Waits for a time and up to half of it more, so that fans don't come back in step.
    async fn wait_about(&mut self, ms: u64) {
        let jitter_ms = self.dice.random_range(0..=ms / 2);
        sleep(Duration::from_millis(ms + jitter_ms)).await;
    }

    /// Waits for up to `ms`: a person who reads or looks.
    async fn pause(&mut self, ms: u64) {
        let pause_ms = self.dice.random_range(0..=ms);
        sleep(Duration::from_millis(pause_ms)).await;
    }

    /// An unguessable word for keys and nonces; from the seed, so that runs can be repeated.
    fn word(&mut self) -> String {
        format!("{:016x}{:016x}", self.dice.random::<u64>(), self.dice.random::<u64>())
    }

    /// Notes how much is on sale, and says whether this fan has seen nothing for longer than its patience.
    fn loses_patience(&mut self, stock: u32) -> bool {
        if stock > 0 {
            self.dry_since = None;
            return false;
        }
        self.dry_since.get_or_insert_with(Instant::now).elapsed() > self.world.patience
    }
}

/// Whether the same request may be answered otherwise in a moment.
fn passes(code: Code) -> bool {
    matches!(
        code,
        Code::TooManyRequests | Code::Overloaded | Code::Unavailable | Code::ProviderUnavailable | Code::Internal
    )
}
