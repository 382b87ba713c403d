//! The draw: a keyed permutation of `[0, n)` (Feistel network with cycle walking; the construction of
//! "ciphers with arbitrary finite domains", Black and Rogaway 2002), so that a place is computed in
//! O(1) by anybody who has the published facts, and nothing is stored per fan. Commitment and key are
//! SHA-256 over length-prefixed fields under a version label.

#[cfg(test)]
mod tests;

use sha2::{Digest as _, Sha256};

/// Feistel rounds: eight and more are needed for small domains; the cost is a hash each.
const ROUNDS: u8 = 10;

/// The secret seed of a draw, published after the lobby is frozen.
pub type Seed = [u8; 32];

/// SHA-256 over a label and length-prefixed parts: no two lists of parts give one input.
pub(super) fn digest(label: &str, parts: &[&[u8]]) -> [u8; 32] {
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
    lobby: u64,
}

impl Draw {
    /// Key = H(seed, lobby size, digest of the published list, public randomness), the size as 8 bytes,
    /// little end first. The randomness is empty where no beacon was named; the queue page then says so.
    /// `lobby` is at most 2³².
    pub fn new(seed: &Seed, lobby: u64, list_digest: &[u8], beacon: &[u8]) -> Self {
        let key = digest("stararena draw 1", &[seed, &lobby.to_le_bytes(), list_digest, beacon]);
        Self { key, lobby }
    }

    /// The key, for who recomputes it.
    pub fn key(&self) -> &[u8; 32] {
        &self.key
    }

    /// The place, from 0, of an arrival number: drawn within the lobby, first come first served
    /// after it. Bijective.
    pub fn place(&self, arrival: u32) -> u32 {
        if u64::from(arrival) >= self.lobby {
            return arrival;
        }
        let half = self.half();
        let mut value = u64::from(arrival);
        loop {
            value = self.feistel(value, half);
            if let Ok(place) = u32::try_from(value)
                && value < self.lobby
            {
                return place;
            }
        }
    }

    /// The arrival number that drew a place: the inverse of [`Draw::place`].
    pub fn arrival(&self, place: u32) -> u32 {
        if u64::from(place) >= self.lobby {
            return place;
        }
        let half = self.half();
        let mut value = u64::from(place);
        loop {
            value = self.back(value, half);
            if let Ok(arrival) = u32::try_from(value)
                && value < self.lobby
            {
                return arrival;
            }
        }
    }

    /// Half of the smallest even number of bits whose domain holds the lobby: fewer than four walks on average.
    fn half(&self) -> u32 {
        let bits = 64 - self.lobby.saturating_sub(1).leading_zeros();
        bits.div_ceil(2).max(1)
    }

    fn round(&self, round: u8, right: u64, mask: u64) -> u64 {
        let hash = digest("stararena round 1", &[&self.key, &[round], &right.to_le_bytes()]);
        u64::from_le_bytes(hash[..8].try_into().expect("a hash has 32 bytes")) & mask
    }

    fn feistel(&self, value: u64, half: u32) -> u64 {
        let mask = (1u64 << half) - 1;
        let (mut left, mut right) = (value >> half, value & mask);
        for round in 0..ROUNDS {
            (left, right) = (right, left ^ self.round(round, right, mask));
        }
        (left << half) | right
    }

    fn back(&self, value: u64, half: u32) -> u64 {
        let mask = (1u64 << half) - 1;
        let (mut left, mut right) = (value >> half, value & mask);
        for round in (0..ROUNDS).rev() {
            (left, right) = (right ^ self.round(round, left, mask), left);
        }
        (left << half) | right
    }
}
