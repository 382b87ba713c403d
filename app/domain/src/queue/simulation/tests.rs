//! What the controller promises, over many seeds.

use super::*;

/// Enough seeds that a promise which holds by luck is found out.
const SEEDS: std::ops::Range<u64> = 0..30;

/// The default sale for ten minutes of a full house.
fn scenario(seed: u64) -> Scenario {
    Scenario { seats: 40_000, horizon_ms: 600_000, seed, ..Scenario::default() }
}

fn slow(from_ms: i64, to_ms: i64, capacity: f64) -> Option<Slow> {
    Some(Slow { span: Span { from_ms, to_ms }, capacity })
}

/// The samples from one instant to another.
fn between(run: &Run, from_ms: i64, to_ms: i64) -> Vec<Sample> {
    run.samples.iter().copied().filter(|sample| (from_ms..to_ms).contains(&sample.at_ms)).collect()
}

fn shoppers_at(run: &Run, at_ms: i64) -> u32 {
    run.samples.iter().rev().find(|sample| sample.at_ms <= at_ms).map_or(0, |sample| sample.shoppers)
}

#[test]
fn a_run_follows_from_its_seed() {
    assert_eq!(run(&scenario(7)), run(&scenario(7)));
    assert_ne!(run(&scenario(7)).summary, run(&scenario(8)).summary);
}

#[test]
fn nine_of_ten_slots_are_used_while_four_of_ten_fans_never_come() {
    for seed in SEEDS {
        let summary = run(&scenario(seed)).summary;
        assert!(summary.shoppers_max <= 2_000, "{summary:?}");
        assert!(summary.slot_use.is_some_and(|share| share >= 0.95), "{summary:?}");
        assert!(summary.steady_shoppers_min >= 1_800, "{summary:?}");
        // One entry in a hundred at most needs the store's own bound.
        assert!(summary.met_full * 100 <= summary.entered, "{summary:?}");
        assert_eq!(summary.turns, 0, "nothing was slow: {summary:?}");
    }
}

#[test]
fn other_crowds_use_the_house_as_well() {
    type Other = fn(Scenario) -> Scenario;
    let others: [(&str, Other); 6] = [
        ("two of ten come", |base| Scenario { show_up: 0.2, ..base }),
        ("all come", |base| Scenario { show_up: 1.0, ..base }),
        ("four of ten come late", |base| Scenario { late: 0.4, late_mean_ms: 60_000.0, ..base }),
        ("they poll every five seconds", |base| Scenario { poll_ms: 5_000.0, jitter_ms: 2_000.0, ..base }),
        ("visits last seconds", |base| Scenario {
            visit_min_ms: 2_000.0,
            visit_mean_ms: 6_000.0,
            visit_max_ms: 20_000.0,
            seats: 200_000,
            capacity_per_s: 6_000.0,
            ..base
        }),
        ("the house is small", |base| Scenario {
            fans: 6_000,
            limits: Limits { shoppers_max: 50, rate_max_per_min: 600_000 },
            ..base
        }),
    ];
    for (what, other) in others {
        for seed in 0..5 {
            let scenario = other(scenario(seed));
            let summary = run(&scenario).summary;
            assert!(summary.shoppers_max <= scenario.limits.shoppers_max, "{what}: {summary:?}");
            assert!(summary.slot_use.is_some_and(|share| share >= 0.9), "{what}: {summary:?}");
        }
    }
}

#[test]
fn a_slow_database_lets_fewer_in_and_is_forgotten_within_a_minute() {
    for seed in SEEDS {
        let run = run(&Scenario { slow: slow(200_000, 320_000, 0.15), ..scenario(seed) });
        let before = between(&run, 150_000, 200_000);
        let flow = |samples: &[Sample]| {
            let (first, last) = (samples.first().expect("samples"), samples.last().expect("samples"));
            f64::from(last.served - first.served) / (samples.len() - 1) as f64
        };
        let during = between(&run, 220_000, 300_000);
        assert!(flow(&during) < 0.6 * flow(&before), "it lets fewer in: seed {seed}");
        assert!(during.iter().all(|sample| sample.rate_per_min < 60_000), "seed {seed}");
        // Within a minute the house is as good as full again, within a minute and a half it is.
        assert!(shoppers_at(&run, 380_000) >= 1_800, "seed {seed}: {}", shoppers_at(&run, 380_000));
        assert!(between(&run, 410_000, 600_000).iter().all(|sample| sample.shoppers >= 1_900), "seed {seed}");
        assert!(between(&run, 410_000, 600_000).iter().all(|sample| sample.rate_per_min == 60_000), "seed {seed}");
        assert!(run.summary.shoppers_max <= 2_000 && run.summary.turns <= 12, "{:?}", run.summary);
    }
}

#[test]
fn a_database_that_stays_slow_finds_a_level_without_swinging() {
    for seed in 0..10 {
        let run = run(&Scenario { slow: slow(100_000, 1_500_000, 0.12), horizon_ms: 1_500_000, ..scenario(seed) });
        let level = between(&run, 700_000, 1_500_000);
        let shoppers = || level.iter().map(|sample| f64::from(sample.shoppers));
        let mean = shoppers().sum::<f64>() / level.len() as f64;
        let (least, most) = (shoppers().fold(f64::MAX, f64::min), shoppers().fold(0.0, f64::max));
        assert!(most - least < 0.4 * mean, "seed {seed}: {least} to {most} around {mean}");
        // A fall needs a hold-off and a rise five seconds of calm: in fact about three turns a minute.
        assert!(run.summary.turns <= 5 * 1_400 / 60, "seed {seed}: {} turns", run.summary.turns);
        let within = level.iter().filter(|sample| sample.hold_p99_ms <= 250.0).count();
        assert!(within * 10 >= level.len() * 8, "seed {seed}: {within} of {} within the budget", level.len());
    }
}

#[test]
fn a_new_leader_goes_on_where_the_old_one_stopped() {
    for seed in SEEDS {
        for from_ms in [1_000, 200_000] {
            let change = Span { from_ms, to_ms: from_ms + 2_000 };
            let scenario = Scenario { leader_change: Some(change), ..scenario(seed) };
            let (changed, whole) = (run(&scenario), run(&Scenario { leader_change: None, ..scenario }));
            assert!(changed.summary.shoppers_max <= 2_000);
            // The gap is not made up for: a step releases at most one second of the rate.
            assert!(changed.summary.largest_step <= 1_001, "{:?}", changed.summary);
            // Nor is a cohort released twice: as many are out ten seconds later as without the change.
            let served = |run: &Run| run.samples[usize::try_from(from_ms / 1_000 + 12).expect("small")].served;
            let (with, without) = (f64::from(served(&changed)), f64::from(served(&whole)));
            assert!(with < without * 1.1, "seed {seed} at {from_ms}: {with} places, {without} without");
            assert!(changed.summary.met_full * 50 <= changed.summary.entered, "{:?}", changed.summary);
            assert!(changed.summary.slot_use.is_some_and(|share| share >= 0.95), "{:?}", changed.summary);
        }
    }
}

#[test]
fn a_pause_lets_nobody_in_and_its_end_no_crowd() {
    for seed in SEEDS {
        let pause = Span { from_ms: 200_000, to_ms: 300_000 };
        let run = run(&Scenario { pause: Some(pause), ..scenario(seed) });
        let paused = between(&run, 202_000, 300_000);
        assert!(paused.iter().all(|sample| sample.reason == Reason::Closed), "seed {seed}");
        assert!(paused.windows(2).all(|pair| pair[1].shoppers <= pair[0].shoppers), "seed {seed}");
        assert_eq!(paused.first().map(|sample| sample.served), paused.last().map(|sample| sample.served));
        assert!(run.summary.shoppers_max <= 2_000);
        assert!(run.summary.met_full * 50 <= run.summary.entered, "{:?}", run.summary);
        assert!(between(&run, 330_000, 600_000).iter().all(|sample| sample.shoppers >= 1_800), "seed {seed}");
    }
}

#[test]
fn the_end_lets_in_no_crowd_for_seats_that_are_gone() {
    for seed in SEEDS {
        let scenario = Scenario { seats: 4_000, horizon_ms: 2_400_000, seed, ..Scenario::default() };
        let run = run(&scenario);
        assert!(run.summary.sold >= 3_990, "{:?}", run.summary);
        for pair in run.samples.windows(2) {
            let released = pair[1].served - pair[0].served;
            // Three shoppers a seat, or a hundredth of the house, six of ten of whom come.
            let worth = (3 * pair[0].available.max(pair[1].available)).max(20);
            assert!(released * 6 / 10 <= worth + 10, "seed {seed}: {released} released for {:?}", pair[0]);
            assert!(released == 0 || pair[0].available > 0 || pair[1].available > 0, "seed {seed}: {:?}", pair[1]);
        }
        // All in all hardly more than the seats had use for: a shopper buys one and a half.
        assert!(run.summary.entered < 4_000, "{:?}", run.summary);
    }
}

#[test]
fn a_million_fans_are_served() {
    let summary = run(&Scenario {
        seats: 4_000_000,
        limits: Limits { shoppers_max: 80_000, rate_max_per_min: 1_000_000 },
        capacity_per_s: 40_000.0,
        horizon_ms: 3_600_000,
        ..Scenario::default()
    })
    .summary;
    assert_eq!(summary.served, 1_000_000);
    assert!((595_000..605_000).contains(&summary.entered), "{summary:?}");
    assert!(summary.shoppers_max <= 80_000 && summary.slot_use.is_some_and(|share| share >= 0.9), "{summary:?}");
}
