//! Chance by a seed: which calls and which webhooks a switch hits.
//!
//! A draw is a digest of the seed, of what is drawn for, and of a number; it is not the next value of a
//! generator. So webhooks that are sent side by side draw the same, in whatever order they come.

use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

/// The draws of one seed.
#[derive(Debug)]
pub(super) struct Chance {
    seed: u64,
    /// Calls that were numbered so far.
    calls: AtomicU64,
}

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, calls: AtomicU64::new(0) }
    }

    /// The number of a call: they are counted from the last change of the switches.
    pub(super) fn next_call(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed)
    }

    /// Whether number `number` is one of the `permille` of 1,000 that `what` hits.
    pub(super) fn hits(&self, what: &str, number: u64, permille: u32) -> bool {
        permille > 0 && self.below(what, number, 1000) < u64::from(permille)
    }

    /// A value below `bound`, which is not zero.
    pub(super) fn below(&self, what: &str, number: u64, bound: u64) -> u64 {
        let mut digest = Sha256::new();
        digest.update(self.seed.to_be_bytes());
        digest.update(number.to_be_bytes());
        digest.update(what.as_bytes());
        let bytes: [u8; 32] = digest.finalize().into();
        let first = bytes.iter().take(8).fold(0_u64, |value, byte| (value << 8) | u64::from(*byte));
        first % bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_and_shares_are_kept() {
        let hits = |seed, what| {
            let chance = Chance::new(seed);
            (0..10_000).filter(|number| chance.hits(what, *number, 250)).collect::<Vec<u64>>()
        };
        assert_eq!(hits(7, "fail"), hits(7, "fail"));
        assert_ne!(hits(7, "fail"), hits(8, "fail"));
        assert_ne!(hits(7, "fail"), hits(7, "drop"));
        let share = hits(7, "fail").len();
        assert!((2_300..2_700).contains(&share), "{share}");
        let chance = Chance::new(1);
        assert!((0..1000).all(|number| chance.hits("fail", number, 1000) && !chance.hits("fail", number, 0)));
        assert_eq!((chance.next_call(), chance.next_call()), (0, 1));
    }
}
