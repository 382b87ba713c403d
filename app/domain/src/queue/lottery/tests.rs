//! Every registered place is called exactly once, in windows that never overlap.

use super::*;
use proptest::prelude::*;

fn called() -> Called {
    Called {
        now: Millis(10_000),
        phase: Phase::Open,
        drawn: true,
        joined: 100,
        serving: 0,
        window: None,
        available: 41,
        seat_limit: 4,
        window_ms: 60_000,
    }
}

#[test]
fn the_first_window_calls_as_many_as_find_their_limit() {
    let window = Window { number: 1, from: 0, opened: Millis(10_000), closes: Millis(70_000) };
    assert_eq!(next_window(&called()), Call::Opens { window, serving: 10 });
}

#[test]
fn nobody_is_called_before_the_draw_or_to_empty_shelves() {
    for rests in [
        Called { drawn: false, ..called() },
        Called { available: 0, ..called() },
        Called { phase: Phase::Lobby, ..called() },
        Called { phase: Phase::Paused, ..called() },
        Called { phase: Phase::Ended, ..called() },
        Called { joined: 0, ..called() },
    ] {
        assert_eq!(next_window(&rests), Call::Rests, "{rests:?}");
    }
}

#[test]
fn the_next_window_begins_where_the_last_ended() {
    let window = Window { number: 3, from: 20, opened: Millis(0), closes: Millis(60_000) };
    let running = Called { window: Some(window), serving: 50, ..called() };
    assert_eq!(next_window(&Called { now: Millis(59_999), ..running }), Call::Rests);
    let next = Window { number: 4, from: 50, opened: Millis(60_000), closes: Millis(120_000) };
    let over = Called { now: Millis(60_000), ..running };
    assert_eq!(next_window(&over), Call::Opens { window: next, serving: 60 });
    assert_eq!(next_window(&Called { available: 0, ..over }), Call::Rests, "seats may come back");
    assert_eq!(next_window(&Called { available: 3, ..over }), Call::Opens { window: next, serving: 51 });
    assert_eq!(next_window(&Called { joined: 53, ..over }), Call::Opens { window: next, serving: 53 });
}

#[test]
fn seats_that_are_left_are_everybodys() {
    let window = Window { number: 3, from: 90, opened: Millis(0), closes: Millis(60_000) };
    let last = Called { now: Millis(60_000), window: Some(window), serving: 100, ..called() };
    assert_eq!(next_window(&last), Call::OpensToAll);
    assert_eq!(next_window(&Called { available: 0, ..last }), Call::Rests);
    assert_eq!(next_window(&Called { window: None, ..last }), Call::Rests, "the door is open to all");
}

#[test]
fn a_pause_gives_a_window_its_length_again() {
    let window = Window { number: 1, from: 0, opened: Millis(0), closes: Millis(60_000) };
    let paused = Called { phase: Phase::Paused, window: Some(window), serving: 10, ..called() };
    assert_eq!(next_window(&Called { now: Millis(29_999), ..paused }), Call::Rests);
    let longer = Window { closes: Millis(105_000), ..window };
    assert_eq!(next_window(&Called { now: Millis(45_000), ..paused }), Call::Extends(longer));
    assert_eq!(next_window(&Called { now: Millis(45_250), window: Some(longer), ..paused }), Call::Rests);
    // Also one that ran out for want of seats: its winners could not use those that came back meanwhile.
    let late = Called { now: Millis(400_000), ..paused };
    assert_eq!(next_window(&late), Call::Extends(Window { closes: Millis(460_000), ..window }));
}

proptest! {
    /// A whole lottery with any stock, pauses and a clock that may stand still.
    #[test]
    fn every_place_is_called_exactly_once(
        joined in 0u32..400,
        seat_limit in 0u32..9,
        window_ms in 1i64..5_000,
        steps in proptest::collection::vec((0i64..3_000, 0u32..60, 0u8..8), 400..900),
    ) {
        let mut state = Called { joined, seat_limit, window_ms, available: 0, now: Millis(0), ..called() };
        let mut times = vec![0u32; joined as usize];
        let mut open_to_all = false;
        for (passed, available, chance) in steps {
            state.now = state.now.plus(passed);
            state.available = available;
            state.phase = if chance == 0 { Phase::Paused } else { Phase::Open };
            match next_window(&state) {
                Call::Rests => {}
                Call::Extends(window) => {
                    let before = state.window.expect("there is one to extend");
                    prop_assert_eq!(Window { closes: before.closes, ..window }, before);
                    prop_assert!(window.closes > before.closes);
                    state.window = Some(window);
                }
                Call::Opens { window, serving } => {
                    prop_assert!(!open_to_all && available > 0);
                    prop_assert_eq!(window.from, state.serving);
                    prop_assert_eq!(window.number, state.window.map_or(1, |before| before.number + 1));
                    prop_assert!(state.window.is_none_or(|before| before.closes <= window.opened));
                    prop_assert_eq!(window.closes.0 - window.opened.0, window_ms);
                    prop_assert!(window.from < serving && serving <= joined);
                    let winners = serving - window.from;
                    prop_assert!(winners == 1 || winners * seat_limit <= available);
                    for place in window.from..serving {
                        times[place as usize] += 1;
                    }
                    (state.serving, state.window) = (serving, Some(window));
                }
                Call::OpensToAll => {
                    prop_assert!(times.iter().all(|times| *times == 1));
                    prop_assert!(!open_to_all, "once");
                    open_to_all = true;
                    state.window = None;
                }
            }
            prop_assert!(times.iter().all(|times| *times <= 1));
        }
    }
}
