//! The draw is a permutation, its inverse is one, and it prefers nobody.
//!
//! All seeds of the statistics are fixed, so that a test which passes passes always.

use super::*;
use proptest::prelude::*;

/// The largest lobby: as many as there are arrival numbers.
const LOBBY_MAX: u64 = 1 << 32;

/// A draw of its own for each number.
fn draw(seed: u32, lobby: u64) -> Draw {
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&seed.to_le_bytes());
    Draw::new(&bytes, lobby, &[], &[])
}

/// Upper quantile of the chi-square distribution at `z` deviations of the normal one (Wilson and
/// Hilferty 1931; from 5 degrees of freedom on off by less than a per cent).
fn chi_square_quantile(degrees: f64, z: f64) -> f64 {
    let spread = 2.0 / (9.0 * degrees);
    degrees * (1.0 - spread + z * spread.sqrt()).powi(3)
}

/// Chi-square of counts that should all be the same.
fn chi_square(counts: &[u32]) -> f64 {
    let expected = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
    counts.iter().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum()
}

/// Asserts that counts are as even as chance makes them: one test in a million draws would fail.
#[track_caller]
fn assert_even(counts: &[u32], what: &str) {
    const ONE_IN_A_MILLION: f64 = 4.75;
    let (found, most) = (chi_square(counts), chi_square_quantile(counts.len() as f64 - 1.0, ONE_IN_A_MILLION));
    // Too even is no chance either; the quantile is only good there with many cells.
    let least = if counts.len() > 20 { chi_square_quantile(counts.len() as f64 - 1.0, -ONE_IN_A_MILLION) } else { 0.0 };
    assert!((least..most).contains(&found), "{what}: chi-square {found} is not in {least}..{most}");
}

#[test]
fn small_lobbies_are_bijective_both_ways() {
    for lobby in 1..=64u32 {
        for seed in 0..4 {
            let draw = draw(seed, lobby.into());
            let mut places: Vec<u32> = (0..lobby).map(|arrival| draw.place(arrival)).collect();
            for (arrival, place) in (0..lobby).zip(&places) {
                assert_eq!(draw.arrival(*place), arrival, "lobby {lobby}, seed {seed}");
            }
            places.sort_unstable();
            assert_eq!(places, (0..lobby).collect::<Vec<_>>(), "lobby {lobby}, seed {seed}");
        }
    }
}

#[test]
fn later_arrivals_follow_the_lobby_in_order() {
    for (lobby, arrival) in [(100, 100), (0, 0), (0, 5), (1, 1), (LOBBY_MAX - 1, u32::MAX)] {
        assert_eq!(draw(1, lobby).place(arrival), arrival);
        assert_eq!(draw(1, lobby).arrival(arrival), arrival);
    }
}

/// Every lobby up to 64: where the first arrival and one in the middle go to.
#[test]
fn every_small_lobby_is_uniform() {
    const DRAWS_PER_PLACE: u32 = 20;
    let (mut sum, mut degrees) = (0.0, 0.0);
    for lobby in 2..=64u32 {
        for arrival in [0, lobby / 2] {
            let mut counts = vec![0; lobby as usize];
            for seed in 0..lobby * DRAWS_PER_PLACE {
                // Seeds of two lobbies differ anyway by the size in the key.
                counts[draw(seed, lobby.into()).place(arrival) as usize] += 1;
            }
            assert_even(&counts, &format!("arrival {arrival} of {lobby}"));
            sum += chi_square(&counts);
            degrees += f64::from(lobby - 1);
        }
    }
    // Pooled: a small bias of every lobby adds up.
    let (least, most) = (chi_square_quantile(degrees, -3.3), chi_square_quantile(degrees, 3.3));
    assert!((least..most).contains(&sum), "pooled chi-square {sum} of {degrees} is not in {least}..{most}");
}

/// Small lobbies: where two arrivals go to together, every ordered pair of places.
#[test]
fn pairs_are_uniform() {
    const DRAWS_PER_PAIR: u32 = 100;
    for lobby in 3..=8u32 {
        let pairs = lobby * (lobby - 1);
        let mut counts = vec![0; pairs as usize];
        for seed in 0..pairs * DRAWS_PER_PAIR {
            let draw = draw(seed, lobby.into());
            let (first, last) = (draw.place(0), draw.place(lobby - 1));
            let rank = last - u32::from(last > first);
            counts[(first * (lobby - 1) + rank) as usize] += 1;
        }
        assert_even(&counts, &format!("pairs of {lobby}"));
    }
}

/// Four fans: all 24 orders, so that none is impossible.
#[test]
fn all_orders_of_four_are_uniform() {
    let mut counts = std::collections::BTreeMap::new();
    for seed in 0..24 * 150 {
        let draw = draw(seed, 4);
        *counts.entry([0, 1, 2, 3].map(|arrival| draw.place(arrival))).or_insert(0u32) += 1;
    }
    assert_eq!(counts.len(), 24);
    assert_even(&counts.into_values().collect::<Vec<_>>(), "orders of four");
}

/// A million fans, places in 64 buckets: one arrival over many draws, and neighbours within one draw.
#[test]
fn a_large_lobby_is_uniform() {
    const LOBBY: u32 = 1_000_000;
    const BUCKETS: u32 = 64;
    let bucket = |place: u32, buckets: u32| (u64::from(place) * u64::from(buckets) / u64::from(LOBBY)) as usize;
    let (mut one, mut neighbours) = (vec![0; BUCKETS as usize], vec![0; BUCKETS as usize]);
    let single = draw(7, LOBBY.into());
    for n in 0..BUCKETS * 60 {
        one[bucket(draw(n, LOBBY.into()).place(12_345), BUCKETS)] += 1;
        let (left, right) = (single.place(2 * n), single.place(2 * n + 1));
        neighbours[bucket(left, 8) * 8 + bucket(right, 8)] += 1;
    }
    assert_even(&one, "one arrival of a million");
    assert_even(&neighbours, "neighbours of a million");
}

/// Any size, with the edges: the largest, powers of two and their neighbours.
fn lobby() -> impl Strategy<Value = u64> {
    let power = (1u32..=32, -1i64..=1)
        .prop_map(|(bits, beside)| (1u64 << bits).saturating_add_signed(beside).clamp(1, LOBBY_MAX));
    prop_oneof![1..=LOBBY_MAX, power, Just(LOBBY_MAX), Just(LOBBY_MAX - 1), 1..=300u64]
}

proptest! {
    #[test]
    fn any_lobby_is_bijective(seed: [u8; 32], lobby in lobby(), a: u32, b: u32) {
        let draw = Draw::new(&seed, lobby, b"digest", b"beacon");
        let within = |arrival: u32| u32::try_from(u64::from(arrival) % lobby).expect("below 2^32");
        let (a, b) = (within(a), within(b));
        let (place_a, place_b) = (draw.place(a), draw.place(b));
        prop_assert!(u64::from(place_a) < lobby);
        prop_assert_eq!(draw.arrival(place_a), a);
        prop_assert_eq!(draw.place(draw.arrival(a)), a);
        prop_assert_eq!(a == b, place_a == place_b);
    }

    #[test]
    fn the_last_of_a_lobby_stay_in_it(seed: [u8; 32], lobby in lobby()) {
        let draw = Draw::new(&seed, lobby, &[], &[]);
        let last = u32::try_from(lobby - 1).expect("below 2^32");
        prop_assert!(u64::from(draw.place(last)) < lobby);
        prop_assert_eq!(draw.arrival(draw.place(last)), last);
    }
}

#[test]
fn every_part_of_the_key_matters() {
    let keys = [
        Draw::new(&[1; 32], 10, b"list", b"beacon"),
        Draw::new(&[2; 32], 10, b"list", b"beacon"),
        Draw::new(&[1; 32], 11, b"list", b"beacon"),
        Draw::new(&[1; 32], 10, b"lisu", b"beacon"),
        Draw::new(&[1; 32], 10, b"list", b""),
        Draw::new(&[1; 32], 10, b"listbeacon", b""),
    ]
    .map(|draw| *draw.key());
    let distinct: std::collections::BTreeSet<_> = keys.iter().collect();
    assert_eq!(distinct.len(), keys.len());
}

#[test]
fn the_commitment_is_the_seeds_digest() {
    let expected = "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925";
    assert_eq!(hex::encode(commitment(&[0; 32])), expected);
}
