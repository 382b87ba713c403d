//! The waiting room: the draw, the queue ticket, and the one object that every waiting client polls.
//!
//! The draw is a keyed permutation of `[0, n)` (Feistel network with cycle walking; the construction
//! of "ciphers with arbitrary finite domains", Black and Rogaway 2002), so that a place is computed
//! in O(1) by anybody who has the published facts, and nothing is stored per fan. Commitment and key
//! are SHA-256 over length-prefixed fields under a version label.

use crate::ids::{AccountId, PerformanceId, SessionId};
use crate::refusal::{Code, Refusal};
use crate::time::Millis;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Feistel rounds: eight and more are needed for small domains; the cost is a hash each.
const ROUNDS: u8 = 10;

/// The secret seed of a draw, published after the lobby is frozen.
pub type Seed = [u8; 32];

fn digest(label: &str, parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(label.as_bytes());
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// The commitment to a seed that is published when the on-sale is scheduled: its SHA-256.
pub fn commitment(seed: &Seed) -> [u8; 32] {
    Sha256::digest(seed).into()
}

/// The key of one draw, and the size of its lobby.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw {
    key: [u8; 32],
    lobby: u32,
}

impl Draw {
    /// Key = H(seed, lobby size, digest of the published list, public randomness). The last two are
    /// empty where none is published; the queue page then says so.
    pub fn new(seed: &Seed, lobby: u32, list_digest: &[u8], beacon: &[u8]) -> Self {
        let key = digest("stararena draw 1", &[seed, &lobby.to_le_bytes(), list_digest, beacon]);
        Self { key, lobby }
    }

    /// The place, from 0, of an arrival number: drawn within the lobby, first come first served
    /// after it. Bijective.
    pub fn place(&self, arrival: u32) -> u32 {
        if arrival >= self.lobby {
            return arrival;
        }
        // The smallest even number of bits whose domain holds the lobby: fewer than four walks on average.
        let bits = 32 - (self.lobby - 1).leading_zeros();
        let half = bits.div_ceil(2).max(1);
        let mut value = u64::from(arrival);
        loop {
            value = self.feistel(value, half);
            if value < u64::from(self.lobby) {
                return u32::try_from(value).expect("below a u32 lobby");
            }
        }
    }

    fn feistel(&self, value: u64, half: u32) -> u64 {
        let mask = (1u64 << half) - 1;
        let (mut left, mut right) = (value >> half, value & mask);
        for round in 0..ROUNDS {
            let hash = digest("stararena round 1", &[&self.key, &[round], &right.to_le_bytes()]);
            let f = u64::from_le_bytes(hash[..8].try_into().expect("a hash has 32 bytes")) & mask;
            (left, right) = (right, left ^ f);
        }
        (left << half) | right
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
    /// The phase at an instant, of a sale that was published.
    pub fn at(now: Millis, opens: Millis, closes: Millis, paused: bool) -> Self {
        if now < opens {
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

/// The polled object: the same for everybody, cacheable for a second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueStatus {
    /// The performance.
    pub performance: PerformanceId,
    /// Where the sale stands.
    pub phase: Phase,
    /// The server's clock when this object was made: clients measure their offset from it.
    pub now: Millis,
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
    /// The seed itself, hexadecimal, revealed once the lobby is frozen.
    pub seed: Option<String>,
    /// Places below this number may enter.
    pub serving: u32,
    /// Released places a minute, as measured.
    pub rate_per_min: u32,
    /// Seats that are available now.
    pub stock: u32,
    /// How long to wait before the next poll.
    pub refresh_ms: u32,
}

impl QueueStatus {
    /// The draw, once the seed is out.
    pub fn draw(&self) -> Option<Draw> {
        let mut seed = Seed::default();
        let (lobby, text) = (self.lobby?, self.seed.as_ref()?);
        if text.len() != 64 {
            return None;
        }
        for (byte, pair) in seed.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Draw::new(&seed, lobby, &[], &[]))
    }

    /// Where an arrival number stands now.
    pub fn standing(&self, arrival: u32) -> Standing {
        match (self.phase, self.draw()) {
            (Phase::Ended, _) => Standing::Ended,
            (_, None) => Standing::Lobby { joined: self.joined.max(arrival.saturating_add(1)) },
            (phase, Some(draw)) => {
                let place = draw.place(arrival);
                if place < self.serving && phase == Phase::Open {
                    Standing::Turn { place }
                } else {
                    let ahead = place.saturating_sub(self.serving);
                    let wait_ms =
                        (self.rate_per_min > 0).then(|| i64::from(ahead) * 60_000 / i64::from(self.rate_per_min));
                    Standing::Waiting { place, ahead, wait_ms }
                }
            }
        }
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
    },
    /// The sale is over.
    Ended,
}

/// Decides entry as far as it depends on the ticket: right account, right performance, place reached.
///
/// # Errors
/// `pass_invalid` for another's ticket or performance, `paused`, `sale_closed`, `not_your_turn`.
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
    use proptest::prelude::*;
    use uuid::Uuid;

    fn draw(seed: u8, lobby: u32) -> Draw {
        Draw::new(&[seed; 32], lobby, &[], &[])
    }

    #[test]
    fn small_lobbies_are_bijective() {
        for lobby in 1..=64u32 {
            for seed in 0..20 {
                let mut places: Vec<u32> = (0..lobby).map(|a| draw(seed, lobby).place(a)).collect();
                places.sort_unstable();
                assert_eq!(places, (0..lobby).collect::<Vec<_>>(), "lobby {lobby}, seed {seed}");
            }
        }
    }

    #[test]
    fn later_arrivals_follow_the_lobby_in_order() {
        assert_eq!(draw(1, 100).place(100), 100);
        assert_eq!(draw(1, 0).place(5), 5);
    }

    /// Chi-square over (arrival, place) for a lobby of 6 and 6,000 seeds: 25 degrees of freedom; the
    /// 99.9% quantile is 52.6. The seeds are fixed, so the test is deterministic.
    #[test]
    fn places_are_uniform() {
        const LOBBY: u32 = 6;
        const SEEDS: u32 = 6000;
        let mut counts = [[0f64; LOBBY as usize]; LOBBY as usize];
        for seed in 0..SEEDS {
            let mut bytes = [0; 32];
            bytes[..4].copy_from_slice(&seed.to_le_bytes());
            let draw = Draw::new(&bytes, LOBBY, &[], &[]);
            for arrival in 0..LOBBY {
                counts[arrival as usize][draw.place(arrival) as usize] += 1.0;
            }
        }
        let expected = f64::from(SEEDS / LOBBY);
        let chi: f64 = counts.iter().flatten().map(|c| (c - expected).powi(2) / expected).sum();
        assert!(chi < 52.6, "chi-square {chi}");
    }

    proptest! {
        #[test]
        fn places_stay_in_the_lobby_and_differ(seed: [u8; 32], lobby in 2u32.., a: u32, b: u32) {
            let draw = Draw::new(&seed, lobby, b"digest", b"beacon");
            let (a, b) = (a % lobby, b % lobby);
            prop_assert!(draw.place(a) < lobby);
            prop_assert_eq!(a == b, draw.place(a) == draw.place(b));
        }
    }

    fn status() -> QueueStatus {
        QueueStatus {
            performance: PerformanceId(Uuid::from_u128(1)),
            phase: Phase::Open,
            now: Millis(0),
            opens_at: Millis(0),
            closes_at: Millis(1000),
            joined: 10,
            lobby: Some(4),
            commitment: String::new(),
            seed: Some("07".repeat(32)),
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
    fn before_the_draw_nobody_has_a_turn() {
        let lobby = QueueStatus { lobby: None, seed: None, phase: Phase::Lobby, ..status() };
        assert_eq!(lobby.standing(12), Standing::Lobby { joined: 13 });
    }

    #[test]
    fn the_commitment_is_the_seeds_digest() {
        let expected = "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925";
        let hex: String = commitment(&[0; 32]).iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(hex, expected);
    }
}
