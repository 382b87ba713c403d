//! The waiting room: places, the draw, the one object that every waiting client polls, and the door.
//!
//! [`draw`] is the permutation, [`facts`] what is published about it and how anybody checks it,
//! [`control`] decides how fast the door serves, and [`simulation`] shows what comes of it; [`lottery`]
//! calls groups instead.

pub mod control;
pub mod draw;
pub mod facts;
pub mod lottery;
pub mod simulation;

pub use draw::{Draw, Seed, commitment};

use crate::ids::{AccountId, PerformanceId, SessionId};
use crate::refusal::{Code, Refusal};
use crate::time::Millis;
use serde::{Deserialize, Serialize};

/// 32 bytes of hexadecimal text.
pub(crate) fn hex32(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    hex::decode_to_slice(text, &mut bytes).ok()?;
    Some(bytes)
}

/// A waiting client asks again after this part of its estimated wait.
const NEAR_PART: i64 = 3;
/// But not more often than this, in milliseconds: the status is made four times a second and kept for one.
const NEAR_MIN_MS: u32 = 1_000;

/// How places become turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// A lobby that is drawn at the opening, then first come, first served: one line.
    #[default]
    Queue,
    /// Registration until the opening; then the drawn order is called in groups, each with a window of
    /// time to buy. Nobody registers later.
    Lottery,
}

impl Mode {
    /// The text form, as stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Lottery => "lottery",
        }
    }

    /// Reads the text form.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Queue, Self::Lottery].into_iter().find(|mode| mode.as_str() == text)
    }
}

/// What a fan holds while waiting: signed, bound to account and performance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueTicket {
    /// Whose place it is.
    pub account: AccountId,
    /// For which performance.
    pub performance: PerformanceId,
    /// The arrival number, from 0.
    pub arrival: u32,
}

/// Purpose of the queue ticket among signed tokens.
pub const TICKET_PURPOSE: &str = "qt1";
/// Purpose of the pass among signed tokens.
pub const PASS_PURPOSE: &str = "pass1";

/// The right to be inside: bound to account, performance and session. Each exchange makes a new
/// nonce, and the stores know the current one, so that a taken-over pass is worth nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    /// Whose pass it is.
    pub account: AccountId,
    /// For which performance.
    pub performance: PerformanceId,
    /// The sign-in to which it was given.
    pub session: SessionId,
    /// What the client chose when it exchanged the ticket; repeated after a lost reply.
    pub nonce: String,
    /// End of the visit, unless it pays or leaves before.
    pub expires: Millis,
}

/// Where a sale stands, as the door sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Places can't be taken yet.
    Announced,
    /// Before the on-sale: places are taken, the draw is to come.
    Lobby,
    /// The on-sale runs.
    Open,
    /// Entry rests; whoever is inside goes on.
    Paused,
    /// The sale is over.
    Ended,
}

impl Phase {
    /// The phase at an instant, of a sale that was published. Places are taken from `registers` on.
    pub fn at(now: Millis, registers: Millis, opens: Millis, closes: Millis, paused: bool) -> Self {
        if now < registers && now < opens {
            Self::Announced
        } else if now < opens {
            Self::Lobby
        } else if now >= closes {
            Self::Ended
        } else if paused {
            Self::Paused
        } else {
            Self::Open
        }
    }
}

/// What is left, as waiting fans are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Supply {
    /// Seats are for sale.
    #[default]
    OnSale,
    /// All seats are held or sold; those of holds that end come back.
    Returns,
    /// All seats are sold. Only a refund brings one back.
    SoldOut,
}

/// A window of a lottery: the places that may enter now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Its number, from 1.
    pub number: u32,
    /// Its first place; it goes up to `serving`. Places below had their turn.
    pub from: u32,
    /// When it began.
    pub opened: Millis,
    /// When it ends.
    pub closes: Millis,
}

/// The polled object: the same for everybody, cacheable for a second. What is the same for all of a
/// performance's life is in it as well, so that a client needs nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueStatus {
    /// The performance.
    pub performance: PerformanceId,
    /// Waiting room or lottery.
    #[serde(default)]
    pub mode: Mode,
    /// Where the sale stands.
    pub phase: Phase,
    /// The server's clock when this object was made: clients measure their offset from it.
    pub now: Millis,
    /// When places can be taken from.
    pub registers_at: Millis,
    /// When the on-sale opens.
    pub opens_at: Millis,
    /// When it ends.
    pub closes_at: Millis,
    /// Places given so far.
    pub joined: u32,
    /// Size of the frozen lobby, once it is frozen.
    pub lobby: Option<u32>,
    /// SHA-256 of the seed, hexadecimal: published with the on-sale.
    pub commitment: String,
    /// When the public randomness that was named is due; none where none was named.
    pub beacon_due: Option<Millis>,
    /// The facts of the draw, all at once, when it was made.
    pub drawn: Option<Drawn>,
    /// Places below this number may enter.
    pub serving: u32,
    /// The window of a lottery that is open.
    pub window: Option<Window>,
    /// Released places a minute, as measured over the last while.
    pub rate_per_min: u32,
    /// Seats that are available now.
    pub stock: u32,
    /// What is left.
    #[serde(default)]
    pub supply: Supply,
    /// How long to wait before the next poll.
    pub refresh_ms: u32,
}

/// What makes the order of a draw: with it, everybody computes every place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drawn {
    /// The seed, hexadecimal.
    pub seed: String,
    /// SHA-256 of the arrival list, hexadecimal.
    pub list: String,
    /// The public randomness, hexadecimal; empty where the draw was made without.
    pub beacon: String,
}

impl Drawn {
    /// The draw over a lobby of that size; `None` where a field is no such text.
    pub fn draw(&self, lobby: u32) -> Option<Draw> {
        let beacon = hex::decode(&self.beacon).ok()?;
        Some(Draw::new(&hex32(&self.seed)?, u64::from(lobby), &hex32(&self.list)?, &beacon))
    }
}

impl QueueStatus {
    /// The draw, once the seed is out.
    pub fn draw(&self) -> Option<Draw> {
        self.drawn.as_ref()?.draw(self.lobby?)
    }

    /// Where an arrival number stands now.
    pub fn standing(&self, arrival: u32) -> Standing {
        match (self.phase, self.draw()) {
            (Phase::Ended, _) => Standing::Ended,
            (_, None) => Standing::Lobby { joined: self.joined.max(arrival.saturating_add(1)) },
            (phase, Some(draw)) => self.drawn_standing(phase, draw.place(arrival)),
        }
    }

    /// How long this arrival waits before the next poll: as told to all, but sooner when the place comes near.
    /// Who is far back asks seldom, and nobody learns of the own turn much later than it is.
    pub fn refresh_ms_of(&self, arrival: Option<u32>) -> u32 {
        let near = match arrival.map(|arrival| self.standing(arrival)) {
            Some(Standing::Turn { .. }) => 0,
            Some(Standing::Waiting { wait_ms: Some(wait_ms), .. }) => {
                u32::try_from(wait_ms / NEAR_PART).unwrap_or(u32::MAX)
            }
            _ => return self.refresh_ms,
        };
        near.clamp(NEAR_MIN_MS.min(self.refresh_ms), self.refresh_ms)
    }

    fn drawn_standing(&self, phase: Phase, place: u32) -> Standing {
        if place < self.serving {
            return match self.window {
                Some(window) if place < window.from => Standing::Passed { place },
                window if phase == Phase::Open => Standing::Turn { place, until: window.map(|window| window.closes) },
                _ => Standing::Waiting { place, ahead: 0, wait_ms: None },
            };
        }
        let ahead = place - self.serving;
        // A lottery calls groups: between two of them nothing moves, and a pace would be a lie.
        let pace = if self.mode == Mode::Lottery { 0 } else { self.rate_per_min };
        let wait_ms = (pace > 0).then(|| i64::from(ahead) * 60_000 / i64::from(pace));
        Standing::Waiting { place, ahead, wait_ms }
    }
}

/// What a waiting page shows, computed by the client from the polled object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// In the lobby: the draw is to come.
    Lobby {
        /// How many take part so far.
        joined: u32,
    },
    /// Drawn, and not yet reached.
    Waiting {
        /// The place, from 0.
        place: u32,
        /// How many are to be released before.
        ahead: u32,
        /// Estimate of the wait in milliseconds, where a rate is known.
        wait_ms: Option<i64>,
    },
    /// May enter.
    Turn {
        /// The place, from 0.
        place: u32,
        /// Until when, in a lottery.
        until: Option<Millis>,
    },
    /// The window of a lottery in which this place could enter is over.
    Passed {
        /// The place, from 0.
        place: u32,
    },
    /// The sale is over.
    Ended,
}

/// Decides entry as far as it depends on the ticket: right account, right performance, place reached.
///
/// # Errors
/// `pass_invalid` for another's ticket or performance, `paused`, `sale_closed`, `not_your_turn`,
/// `turn_passed`.
pub fn may_enter(
    ticket: &QueueTicket,
    account: AccountId,
    performance: PerformanceId,
    status: &QueueStatus,
) -> Result<(), Refusal> {
    if ticket.account != account {
        return Err(Refusal::new(Code::PassInvalid, "this place in the queue belongs to another account"));
    }
    if ticket.performance != performance {
        return Err(Refusal::new(Code::PassInvalid, "this place in the queue is for another performance"));
    }
    match (status.phase, status.standing(ticket.arrival)) {
        (Phase::Paused, _) => Err(Refusal::new(Code::Paused, "the organizer has paused entry; your place is kept")
            .retry_after_ms(status.refresh_ms)),
        (_, Standing::Turn { .. }) => Ok(()),
        (_, Standing::Ended) => Err(Refusal::new(Code::SaleClosed, "the sale has ended")),
        (_, Standing::Passed { .. }) => {
            Err(Refusal::new(Code::TurnPassed, "the window of time in which this place could enter is over"))
        }
        (_, Standing::Lobby { .. } | Standing::Waiting { .. }) => {
            Err(Refusal::new(Code::NotYourTurn, "your place has not been reached yet; it is kept")
                .retry_after_ms(status.refresh_ms))
        }
    }
}

/// A fan's own place, as the join answers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joined {
    /// The signed ticket.
    pub ticket: String,
    /// The arrival number, from 0.
    pub arrival: u32,
}

/// The answer to a successful exchange.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entered {
    /// The signed pass (also set as a cookie).
    pub pass: String,
    /// End of the visit.
    pub expires: Millis,
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn status() -> QueueStatus {
        QueueStatus {
            performance: PerformanceId(Uuid::from_u128(1)),
            phase: Phase::Open,
            now: Millis(0),
            opens_at: Millis(0),
            closes_at: Millis(1000),
            joined: 10,
            lobby: Some(4),
            mode: Mode::Queue,
            registers_at: Millis(0),
            commitment: String::new(),
            beacon_due: None,
            drawn: Some(Drawn { seed: "07".repeat(32), list: "08".repeat(32), beacon: String::new() }),
            window: None,
            supply: Supply::OnSale,
            serving: 5,
            rate_per_min: 60,
            stock: 10,
            refresh_ms: 1000,
        }
    }

    #[test]
    fn only_the_own_ticket_of_the_right_performance_enters() {
        let (me, you) = (AccountId(Uuid::from_u128(1)), AccountId(Uuid::from_u128(2)));
        let status = status();
        let ticket = QueueTicket { account: me, performance: status.performance, arrival: 3 };
        assert_eq!(may_enter(&ticket, me, status.performance, &status), Ok(()));
        assert_eq!(may_enter(&ticket, you, status.performance, &status).unwrap_err().code, Code::PassInvalid);
        let other = PerformanceId(Uuid::from_u128(9));
        assert_eq!(may_enter(&ticket, me, other, &status).unwrap_err().code, Code::PassInvalid);
        let late = QueueTicket { arrival: 7, ..ticket.clone() };
        assert_eq!(may_enter(&late, me, status.performance, &status).unwrap_err().code, Code::NotYourTurn);
        let paused = QueueStatus { phase: Phase::Paused, ..status.clone() };
        assert_eq!(may_enter(&ticket, me, paused.performance, &paused).unwrap_err().code, Code::Paused);
    }

    #[test]
    fn who_is_near_asks_more_often_than_who_is_far_back() {
        // A place a second is served.
        let status = QueueStatus { joined: 2_000, refresh_ms: 30_000, ..status() };
        let of = |arrival: u32| status.refresh_ms_of(Some(arrival));
        assert_eq!(of(5 + 1_000), 30_000);
        assert_eq!(of(5 + 30), 10_000);
        assert_eq!(of(5), 1_000, "next in line");
        assert_eq!(of(0), 1_000, "the own turn");
        assert_eq!(status.refresh_ms_of(None), 30_000);
        assert_eq!(QueueStatus { refresh_ms: 500, ..status.clone() }.refresh_ms_of(Some(0)), 500);
        assert_eq!(QueueStatus { rate_per_min: 0, ..status }.refresh_ms_of(Some(50)), 30_000, "no pace, no nearness");
    }

    #[test]
    fn before_the_draw_nobody_has_a_turn() {
        let lobby = QueueStatus { lobby: None, drawn: None, phase: Phase::Lobby, ..status() };
        assert_eq!(lobby.standing(12), Standing::Lobby { joined: 13 });
    }
}
