//! Chance from a seed: SplitMix64 (Steele, Lea and Flood 2014). For simulations alone; nothing that a
//! fan could gain from is drawn with it.

/// A stream of numbers that follows from its seed.
#[derive(Clone, Debug)]
pub(super) struct Chance {
    state: u64,
}

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Even, from 0 to below 1.
    pub(super) fn share(&mut self) -> f64 {
        const STEPS: f64 = (1u64 << 53) as f64;
        (self.next() >> 11) as f64 / STEPS
    }

    /// True in that share of cases.
    pub(super) fn happens(&mut self, share: f64) -> bool {
        self.share() < share
    }

    /// Even, from `low` to below `high`.
    pub(super) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.share()
    }

    /// Exponential with that mean.
    pub(super) fn exponential(&mut self, mean: f64) -> f64 {
        // `share` is below 1, so the logarithm is finite.
        -mean * (1.0 - self.share()).ln()
    }
}
