//! Single rules of the controller; what they add up to is tested by the simulation.

use super::*;
use proptest::prelude::*;

const STEP_MS: i64 = 250;
const LIMITS: Limits = Limits { shoppers_max: 2_000, rate_max_per_min: 60_000 };
const BUDGETS: Budgets = Budgets { hold_p99_ms: 250.0, writer_lag_ms: 1_000.0, pool_wait_ms: 100.0 };

fn measured() -> Measured {
    Measured {
        now: Millis(1_000_000),
        phase: Phase::Open,
        drawn: true,
        joined: 1_000_000,
        serving: 0,
        shoppers: 0,
        entered: 0,
        met_full: 0,
        available: 20_000,
        held: 0,
        hold_p99_ms: None,
        writer_lag_ms: 0.0,
        pool_wait_ms: None,
    }
}

/// A door whose decisions are carried out, and whose fans come at once and leave at once.
struct Door {
    memory: Memory,
    measured: Measured,
    limits: Limits,
}

impl Door {
    fn new(limits: Limits) -> Self {
        Self { memory: Memory::default(), measured: measured(), limits }
    }

    /// Takes over how the hold path does.
    fn measure(&mut self, other: &Measured) {
        self.measured.hold_p99_ms = other.hold_p99_ms;
        self.measured.writer_lag_ms = other.writer_lag_ms;
        self.measured.pool_wait_ms = other.pool_wait_ms;
    }

    fn step(&mut self, passed_ms: i64) -> Decision {
        self.measured.now = self.measured.now.plus(passed_ms);
        let decision = self.memory.step(self.limits, BUDGETS, &self.measured);
        assert!(decision.serving >= self.measured.serving, "a place never gets worse");
        self.measured.entered += u64::from(decision.serving - self.measured.serving);
        self.measured.serving = decision.serving;
        decision
    }

    fn steps(&mut self, length_ms: i64) -> Decision {
        let mut last = self.step(STEP_MS);
        for _ in 1..length_ms / STEP_MS {
            last = self.step(STEP_MS);
        }
        last
    }
}

#[test]
fn nobody_is_served_before_the_draw_or_while_entry_rests() {
    for (phase, drawn) in [
        (Phase::Announced, true),
        (Phase::Lobby, true),
        (Phase::Paused, true),
        (Phase::Ended, true),
        (Phase::Open, false),
    ] {
        let mut door = Door::new(LIMITS);
        (door.measured.phase, door.measured.drawn) = (phase, drawn);
        let decision = door.steps(60_000);
        assert_eq!((decision.serving, decision.reason), (0, Reason::Closed), "{phase:?}");
    }
}

#[test]
fn a_slow_rate_is_exact_over_time() {
    for rate_max_per_min in [1, 7, 60, 100, 1_200] {
        let mut door = Door::new(Limits { rate_max_per_min, ..LIMITS });
        // The first step only learns the time.
        door.step(0);
        let decision = door.steps(3_600_000);
        let expected = 60 * rate_max_per_min;
        assert!((expected - 1..=expected).contains(&decision.serving), "{decision:?} at {rate_max_per_min}");
        assert!(decision.pace_per_min.abs_diff(rate_max_per_min) <= 1 + rate_max_per_min / 50, "{decision:?}");
        assert!(matches!(decision.reason, Reason::Rate | Reason::Fills), "{decision:?}");
    }
}

#[test]
fn sixty_a_minute_is_one_a_second() {
    let mut door = Door::new(Limits { rate_max_per_min: 60, ..LIMITS });
    door.step(0);
    for second in 1..=120 {
        assert_eq!(door.steps(1_000).serving, second);
    }
}

#[test]
fn a_fast_rate_is_bounded_by_the_house() {
    let mut door = Door::new(Limits { rate_max_per_min: 600_000, ..LIMITS });
    // Nobody comes: the house is on its way, then it is believed that few come.
    let mut most = 0;
    for _ in 0..(7_500 / STEP_MS) {
        door.measured.entered = 0;
        let before = door.measured.serving;
        most = most.max(door.step(STEP_MS).serving - before);
    }
    assert!(most <= LIMITS.shoppers_max, "{most}");
    assert!(door.measured.serving >= LIMITS.shoppers_max);
}

#[test]
fn a_gap_is_not_made_up_for() {
    let mut door = Door::new(Limits { rate_max_per_min: 6_000, ..LIMITS });
    let before = door.steps(10_000).serving;
    let after = door.step(3_600_000).serving;
    assert!(after - before <= 101, "{} places after a gap", after - before);
}

#[test]
fn a_clock_that_stands_or_goes_back_releases_nothing() {
    let mut door = Door::new(Limits { rate_max_per_min: 6_000, ..LIMITS });
    let before = door.steps(10_000).serving;
    for _ in 0..100 {
        door.step(0);
    }
    let back = door.step(-86_400_000).serving;
    assert!(back - before <= 1, "a kept fraction at most");
    assert!(door.steps(1_000).serving - back >= 99, "it goes on by the new clock");
}

#[test]
fn counters_that_begin_again_change_nothing() {
    let mut door = Door::new(Limits { rate_max_per_min: 6_000, ..LIMITS });
    door.measured.met_full = 70;
    let before = door.steps(30_000);
    (door.measured.entered, door.measured.met_full) = (0, 0);
    let after = door.step(STEP_MS);
    assert_eq!(after.reason, before.reason);
    assert!((after.show_up - before.show_up).abs() < 0.01);
}

#[test]
fn a_lost_memory_lets_those_come_who_were_served() {
    let mut door = Door::new(LIMITS);
    (door.measured.serving, door.measured.entered, door.measured.met_full) = (500_000, 300_000, 40);
    door.measured.shoppers = 1_500;
    let decision = door.steps(8_000);
    assert_eq!((decision.serving, decision.reason), (500_000, Reason::House));
    let step = door.step(STEP_MS).serving - 500_000;
    assert!((1..=251).contains(&step), "{step} places: no more than a step of the rate, and a kept one");
}

#[test]
fn a_decision_that_was_not_carried_out_leaves_nobody_on_the_way() {
    let mut door = Door::new(LIMITS);
    for _ in 0..40 {
        door.step(STEP_MS);
        (door.measured.serving, door.measured.entered) = (0, 0);
    }
    assert!(door.memory.arrivals.coming().expected <= 250.0, "one step at most");
}

#[test]
fn places_behind_the_last_fan_are_not_served() {
    let mut door = Door::new(LIMITS);
    door.measured.joined = 60;
    let decision = door.steps(2_000);
    assert_eq!((decision.serving, decision.reason), (60, Reason::NobodyWaits));
    door.measured.joined = 61;
    assert_eq!(door.step(STEP_MS).serving, 61);
}

#[test]
fn nobody_is_let_in_to_empty_shelves() {
    let mut door = Door::new(LIMITS);
    (door.measured.available, door.measured.held) = (0, 500);
    let decision = door.steps(10_000);
    assert_eq!((decision.serving, decision.reason), (0, Reason::NoStock));
    // A returned seat is worth a few, not a house.
    door.measured.available = 2;
    let decision = door.steps(STEP_MS);
    assert!((1..=20).contains(&decision.serving), "{decision:?}");
}

#[test]
fn one_seat_lets_one_in_however_small_the_house() {
    let mut door = Door::new(Limits { shoppers_max: 1, ..LIMITS });
    door.measured.available = 1;
    assert_eq!(door.steps(500).serving, 1);
}

#[test]
fn entries_that_meet_a_full_house_stop_it() {
    let mut door = Door::new(LIMITS);
    door.measured.shoppers = 1_000;
    door.steps(1_000);
    let before = door.measured.serving;
    for _ in 0..8 {
        door.measured.met_full += 3;
        let decision = door.step(STEP_MS);
        assert_eq!((decision.serving, decision.reason), (before, Reason::MeetsFull));
    }
    assert!(door.step(STEP_MS).serving > before);
}

#[test]
fn the_rate_falls_once_a_hold_off_and_rises_by_steps() {
    let well = measured();
    for (spoiled, reason) in [
        (Measured { hold_p99_ms: Some(251.0), ..well }, Reason::HoldsSlow),
        (Measured { writer_lag_ms: 1_001.0, ..well }, Reason::WriterBehind),
        (Measured { pool_wait_ms: Some(101.0), ..well }, Reason::PoolWaits),
    ] {
        let mut door = Door::new(Limits { shoppers_max: 100_000, rate_max_per_min: 6_000 });
        assert_eq!(door.steps(20_000).rate_per_min, 6_000);
        door.measure(&spoiled);
        let first = door.step(STEP_MS);
        assert_eq!(first.reason, reason);
        assert!((3_900..=4_200).contains(&first.rate_per_min), "{first:?}");
        assert_eq!(door.steps(1_750).rate_per_min, first.rate_per_min, "it waits for the effect");
        assert!(door.steps(500).rate_per_min < first.rate_per_min);
        let lowest = door.steps(60_000).rate_per_min;
        assert_eq!(lowest, 60, "a hundredth of the organizer's, and sixty a minute");
        door.measure(&well);
        assert_eq!(door.steps(4_750).rate_per_min, lowest, "it waits until all is calm");
        assert!(door.steps(2_000).rate_per_min > lowest);
        assert_eq!(door.steps(90_000).rate_per_min, 6_000);
    }
}

#[test]
fn a_measure_that_improves_is_given_time() {
    let mut door = Door::new(Limits { shoppers_max: 100_000, rate_max_per_min: 6_000 });
    door.steps(20_000);
    door.measured.hold_p99_ms = Some(10_000.0);
    let first = door.step(STEP_MS).rate_per_min;
    for _ in 0..40 {
        door.measured.hold_p99_ms = door.measured.hold_p99_ms.map(|p99| p99 * 0.97);
        assert_eq!(door.step(STEP_MS).rate_per_min, first);
    }
}

#[test]
fn between_ease_and_budget_the_rate_stays() {
    let mut door = Door::new(Limits { shoppers_max: 100_000, rate_max_per_min: 6_000 });
    door.steps(20_000);
    door.measured.writer_lag_ms = 1_500.0;
    let fallen = door.step(STEP_MS).rate_per_min;
    door.measured.writer_lag_ms = 900.0;
    assert_eq!(door.steps(60_000).rate_per_min, fallen);
}

#[test]
fn the_organizers_rate_holds_at_once() {
    let mut door = Door::new(LIMITS);
    door.steps(2_000);
    door.limits.rate_max_per_min = 120;
    assert_eq!(door.step(STEP_MS).rate_per_min, 120);
    door.limits.rate_max_per_min = 600;
    assert_eq!(door.step(STEP_MS).rate_per_min, 600, "without pressure it follows");
}

#[test]
fn the_memory_is_small_and_goes_on_where_it_stopped() {
    let mut door = Door::new(Limits { shoppers_max: 100_000, rate_max_per_min: 987_654 });
    door.measured.joined = u32::MAX;
    door.measured.met_full = u64::MAX / 3;
    for step in 0..200u32 {
        door.measured.shoppers = 50_000 + step * 7;
        door.measured.writer_lag_ms = if step % 40 == 0 { 3_333.3 } else { 10.1 };
        door.step(STEP_MS);
    }
    let text = serde_json::to_string(&door.memory).unwrap();
    assert!(text.len() < 1_024, "{} bytes: {text}", text.len());
    let mut restored: Memory = serde_json::from_str(&text).unwrap();
    door.measured.now = door.measured.now.plus(STEP_MS);
    let went_on = door.memory.step(door.limits, BUDGETS, &door.measured);
    let restored = restored.step(door.limits, BUDGETS, &door.measured);
    assert_eq!((restored.serving, restored.reason), (went_on.serving, went_on.reason));
    // A version of the program that keeps more, or less, reads it all the same.
    assert_eq!(serde_json::from_str::<Memory>("{}").unwrap(), Memory::default());
    assert_eq!(serde_json::from_str::<Memory>(r#"{"new":1}"#).unwrap(), Memory::default());
}

#[test]
fn supply_tells_returns_from_the_end() {
    assert_eq!(supply(1, 0), Supply::OnSale);
    assert_eq!(supply(0, 1), Supply::Returns);
    assert_eq!(supply(0, 0), Supply::SoldOut);
}

fn any_measured() -> impl Strategy<Value = Measured> {
    let phase = prop_oneof![9 => Just(Phase::Open), 1 => Just(Phase::Paused), 1 => Just(Phase::Ended)];
    let counts = (0u32..5_000, 0u32..5_000, 0u32..5_000, 0u64..5_000, 0u64..50, 0u32..5_000, 0u32..500);
    let times =
        (-5_000i64..20_000, proptest::option::of(-1.0f64..1e9), 0.0f64..5_000.0, proptest::option::of(0.0..1e3));
    (phase, any::<bool>(), counts, times).prop_map(|(phase, drawn, counts, times)| Measured {
        now: Millis(times.0),
        phase,
        drawn,
        joined: counts.0,
        serving: counts.1,
        shoppers: counts.2,
        entered: counts.3,
        met_full: counts.4,
        available: counts.5,
        held: counts.6,
        hold_p99_ms: times.1.map(|p99| if p99 < 0.0 { f64::NAN } else { p99 }),
        writer_lag_ms: times.2,
        pool_wait_ms: times.3,
    })
}

proptest! {
    /// Whatever is measured, in any order: bounds hold and no number is lost.
    #[test]
    fn no_measure_breaks_a_bound(
        steps in proptest::collection::vec(any_measured(), 1..60),
        shoppers_max in 0u32..3_000,
        rate_max_per_min in 0u32..100_000,
    ) {
        let limits = Limits { shoppers_max, rate_max_per_min };
        let mut memory = Memory::default();
        for measured in steps {
            let decision = memory.step(limits, BUDGETS, &measured);
            let released = decision.serving - measured.serving;
            prop_assert!(released == 0 || decision.serving <= measured.joined);
            prop_assert!(u64::from(released) <= 2 + 2 * u64::from(rate_max_per_min) * 1_000 / 60_000);
            prop_assert!(released == 0 || (measured.available > 0 && measured.phase == Phase::Open && measured.drawn));
            prop_assert!(decision.rate_per_min <= rate_max_per_min);
            prop_assert!((0.1..=1.0).contains(&decision.show_up));
            let text = serde_json::to_string(&memory).unwrap();
            prop_assert!(text.len() < 1_024, "{}", text);
            memory = serde_json::from_str(&text).unwrap();
        }
    }
}
