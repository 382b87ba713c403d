//! Seeds in bounded number, and the proof that the checks can fail. A seed stands for no run in particular: whoever
//! adds a draw to an actor gives all of them other runs.

mod late;

use super::model::Wrong;
use super::{faults_of, run};

/// Seeds of one test in `make test`.
const SEEDS: u64 = 400;
/// Seeds within which each wrong variant must be caught.
const WRONG_SEEDS: u64 = 400;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Runs seeds; the first that fails is run again, to tell its steps.
fn seeds(list: impl IntoIterator<Item = u64>) {
    let (mut runs, mut steps) = (0_u64, 0);
    for seed in list {
        let faults = faults_of(seed);
        match run(seed, faults, None, false) {
            Ok(count) => steps += count,
            Err(_) => {
                let Err(failure) = run(seed, faults, None, true) else { panic!("seed {seed} failed once only") };
                panic!("{faults:?}\n{failure}");
            }
        }
        runs += 1;
    }
    println!("{runs} seeds, {steps} steps: every invariant held");
}

/// The seeds of one part of this run: parts run at the same time.
fn part(index: u64, parts: u64) {
    if let Some(seed) = number("STARARENA_SEED") {
        return if index == 0 {
            seeds([seed])
        };
    }
    let start = number("STARARENA_SEED_START").unwrap_or(0);
    let count = number("STARARENA_SEEDS").unwrap_or(SEEDS * parts);
    seeds((start..start + count).filter(|seed| seed % parts == index));
}

#[test]
fn seats_never_lie_first_half_of_the_seeds() {
    part(0, 2);
}

#[test]
fn seats_never_lie_second_half_of_the_seeds() {
    part(1, 2);
}

fn caught(list: &[Wrong]) {
    let mut missed = Vec::new();
    for wrong in list {
        match (0..WRONG_SEEDS).find_map(|seed| run(seed, faults_of(seed), Some(*wrong), false).err()) {
            Some(failure) => println!("{wrong:?} is caught by seed {}: {}", failure.seed, failure.why),
            None => missed.push(*wrong),
        }
    }
    assert!(missed.is_empty(), "no seed below {WRONG_SEEDS} catches {missed:?}");
}

#[test]
fn every_wrong_step_of_redis_is_caught() {
    caught(&[Wrong::TakeOverWithoutEnding, Wrong::TakeOverOfPaying, Wrong::SwapOverStanding, Wrong::PayShortens]);
}

#[test]
fn every_wrong_step_of_late_money_is_caught() {
    caught(&[Wrong::ReclaimOfTaken, Wrong::LeaseIgnored, Wrong::ReclaimWithoutClaims, Wrong::ReclaimAndRefund]);
}

#[test]
fn every_wrong_step_of_returned_seats_is_caught() {
    caught(&[Wrong::ReturnOfAnothers, Wrong::ReturnKeepsClaims, Wrong::ReturnTwice]);
}

#[test]
fn every_wrong_step_of_postgres_and_of_workers_is_caught() {
    caught(&[
        Wrong::WriterUnfenced,
        Wrong::WriterIgnoresPosition,
        Wrong::PositionBeforeRows,
        Wrong::ApplyWithoutVersion,
        Wrong::NoRefund,
        Wrong::RebuildWithoutDrain,
        Wrong::RedisFirst,
        Wrong::NobodyGoesOn,
    ]);
}
