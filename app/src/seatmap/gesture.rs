//! Pointers, turned into intentions: pan, pinch, tap, double tap, hover.
//!
//! A pure state machine over positions in CSS pixels and times in milliseconds. It knows no seat and
//! no camera. **Invariant: a pointer that moved beyond the threshold, or that was part of a pinch,
//! never ends as a tap**, so that nothing is chosen by accident.

/// A place on the canvas in CSS pixels.
pub type At = (f64, f64);

/// What the fan wants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gesture {
    /// Move the map by so much.
    Pan {
        /// To the right.
        dx: f64,
        /// Downwards.
        dy: f64,
    },
    /// Scale about a place and move at once: two fingers.
    Pinch {
        /// The place between the fingers, which stays under them.
        at: At,
        /// The scale relative to the last step.
        factor: f64,
        /// Movement to the right.
        dx: f64,
        /// Movement downwards.
        dy: f64,
    },
    /// A short touch or click.
    Tap(At),
    /// A second touch soon after one that chose nothing.
    DoubleTap(At),
    /// The mouse rests or moves over this place.
    Hover(At),
    /// A rectangle is being drawn between these corners.
    Band(At, At),
    /// The rectangle between these corners is drawn.
    Banded(At, At),
}

/// How far a mouse may move within a click.
const MOUSE_SLOP_PX: f64 = 4.0;
/// How far a finger may move within a tap: fingertips roll.
const TOUCH_SLOP_PX: f64 = 10.0;
/// Longest touch that still is a tap.
const TAP_MAX_MS: f64 = 700.0;
/// Longest time between the two taps of a double tap.
const DOUBLE_TAP_MS: f64 = 320.0;
/// Farthest distance between the two taps of a double tap.
const DOUBLE_TAP_PX: f64 = 28.0;
/// Fingers that are followed; more are ignored.
const POINTERS_MAX: usize = 2;

#[derive(Clone, Copy, Debug)]
struct Pointer {
    id: i32,
    start: At,
    now: At,
    down_ms: f64,
    slop_px: f64,
}

/// The pointers that are down, and the last tap.
#[derive(Clone, Debug, Default)]
pub struct Gestures {
    pointers: Vec<Pointer>,
    /// Whether the touch under way can no longer be a tap.
    moved: bool,
    /// Whether the drag under way draws a rectangle.
    draws: bool,
    last_tap: Option<(At, f64)>,
    /// Until when taps are ignored.
    deaf_until_ms: f64,
}

fn distance(a: At, b: At) -> f64 {
    (a.0 - b.0).hypot(a.1 - b.1)
}

impl Gestures {
    /// A pointer went down.
    pub fn down(&mut self, id: i32, at: At, touch: bool, now_ms: f64) {
        if self.pointers.len() >= POINTERS_MAX || self.pointers.iter().any(|p| p.id == id) {
            return;
        }
        let slop_px = if touch { TOUCH_SLOP_PX } else { MOUSE_SLOP_PX };
        self.moved = !self.pointers.is_empty();
        self.draws = false;
        self.pointers.push(Pointer { id, start: at, now: at, down_ms: now_ms, slop_px });
    }

    /// The touch that has just begun draws a rectangle, as long as it stays alone.
    pub fn draw(&mut self) {
        self.draws = self.pointers.len() == 1;
    }

    /// A pointer moved.
    pub fn moved(&mut self, id: i32, at: At) -> Option<Gesture> {
        let Some(index) = self.pointers.iter().position(|p| p.id == id) else {
            return self.pointers.is_empty().then_some(Gesture::Hover(at));
        };
        let before = self.pointers[index].now;
        if let [a, b] = self.pointers[..] {
            self.pointers[index].now = at;
            let other = if index == 0 { b.now } else { a.now };
            let middle = |p: At| (f64::midpoint(p.0, other.0), f64::midpoint(p.1, other.1));
            let (from, to) = (middle(before), middle(at));
            let spread = distance(before, other).max(1.0);
            let factor = distance(at, other).max(1.0) / spread;
            return Some(Gesture::Pinch { at: to, factor, dx: to.0 - from.0, dy: to.1 - from.1 });
        }
        if !self.moved && distance(at, self.pointers[index].start) < self.pointers[index].slop_px {
            return None;
        }
        self.moved = true;
        self.pointers[index].now = at;
        if self.draws {
            return Some(Gesture::Band(self.pointers[index].start, at));
        }
        Some(Gesture::Pan { dx: at.0 - before.0, dy: at.1 - before.1 })
    }

    /// A pointer went up.
    pub fn up(&mut self, id: i32, at: At, now_ms: f64) -> Option<Gesture> {
        let index = self.pointers.iter().position(|p| p.id == id)?;
        let pointer = self.pointers.remove(index);
        if std::mem::take(&mut self.draws) && self.moved {
            self.last_tap = None;
            return Some(Gesture::Banded(pointer.start, at));
        }
        if !self.pointers.is_empty()
            || self.moved
            || now_ms - pointer.down_ms > TAP_MAX_MS
            || now_ms < self.deaf_until_ms
        {
            self.last_tap = None;
            return None;
        }
        if distance(at, pointer.start) >= pointer.slop_px {
            return None;
        }
        let second = self
            .last_tap
            .take()
            .is_some_and(|(place, time)| now_ms - time < DOUBLE_TAP_MS && distance(place, at) < DOUBLE_TAP_PX);
        if second {
            return Some(Gesture::DoubleTap(at));
        }
        self.last_tap = Some((at, now_ms));
        Some(Gesture::Tap(at))
    }

    /// A pointer was taken away by the system.
    pub fn cancel(&mut self, id: i32) {
        self.pointers.retain(|p| p.id != id);
        self.moved = true;
        self.draws = false;
        self.last_tap = None;
    }

    /// The last tap chose or zoomed: a second one is a tap of its own.
    pub fn tap_was_used(&mut self) {
        self.last_tap = None;
    }

    /// Ignores taps for a moment: the map moved under the finger, and the next tap may be meant for
    /// what stood there before.
    pub fn deafen(&mut self, until_ms: f64) {
        self.deaf_until_ms = until_ms;
        self.last_tap = None;
    }

    /// Whether the map is being moved.
    pub fn is_moving(&self) -> bool {
        self.moved && !self.pointers.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_click_is_a_tap_and_a_drag_is_none() {
        let mut gestures = Gestures::default();
        gestures.down(1, (10.0, 10.0), false, 0.0);
        assert_eq!(gestures.moved(1, (12.0, 11.0)), None);
        assert_eq!(gestures.up(1, (12.0, 11.0), 90.0), Some(Gesture::Tap((12.0, 11.0))));

        gestures.down(1, (10.0, 10.0), false, 1000.0);
        assert_eq!(gestures.moved(1, (30.0, 10.0)), Some(Gesture::Pan { dx: 20.0, dy: 0.0 }));
        // Back to where it began: still a drag.
        assert_eq!(gestures.moved(1, (10.0, 10.0)), Some(Gesture::Pan { dx: -20.0, dy: 0.0 }));
        assert_eq!(gestures.up(1, (10.0, 10.0), 1200.0), None);
    }

    #[test]
    fn two_fingers_pinch_about_their_middle_and_never_tap() {
        let mut gestures = Gestures::default();
        gestures.down(1, (100.0, 100.0), true, 0.0);
        gestures.down(2, (200.0, 100.0), true, 10.0);
        let pinch = gestures.moved(2, (300.0, 100.0)).unwrap();
        assert_eq!(pinch, Gesture::Pinch { at: (200.0, 100.0), factor: 2.0, dx: 50.0, dy: 0.0 });
        assert_eq!(gestures.up(2, (300.0, 100.0), 60.0), None);
        // The finger that stays goes on panning without a jump.
        assert_eq!(gestures.moved(1, (110.0, 100.0)), Some(Gesture::Pan { dx: 10.0, dy: 0.0 }));
        assert_eq!(gestures.up(1, (110.0, 100.0), 90.0), None);
    }

    #[test]
    fn a_second_tap_is_double_only_when_the_first_chose_nothing() {
        let tap = |gestures: &mut Gestures, ms: f64| {
            gestures.down(1, (50.0, 50.0), true, ms);
            gestures.up(1, (50.0, 50.0), ms + 40.0)
        };
        let mut gestures = Gestures::default();
        assert_eq!(tap(&mut gestures, 0.0), Some(Gesture::Tap((50.0, 50.0))));
        assert_eq!(tap(&mut gestures, 200.0), Some(Gesture::DoubleTap((50.0, 50.0))));
        assert_eq!(tap(&mut gestures, 400.0), Some(Gesture::Tap((50.0, 50.0))));
        gestures.tap_was_used();
        assert_eq!(tap(&mut gestures, 600.0), Some(Gesture::Tap((50.0, 50.0))));
        gestures.deafen(1000.0);
        assert_eq!(tap(&mut gestures, 800.0), None);
        assert_eq!(tap(&mut gestures, 1100.0), Some(Gesture::Tap((50.0, 50.0))));
    }

    #[test]
    fn a_drag_may_draw_a_rectangle_and_a_second_finger_ends_it() {
        let mut gestures = Gestures::default();
        gestures.down(1, (10.0, 10.0), true, 0.0);
        gestures.draw();
        assert_eq!(gestures.moved(1, (14.0, 10.0)), None, "fingertips roll");
        assert_eq!(gestures.moved(1, (60.0, 50.0)), Some(Gesture::Band((10.0, 10.0), (60.0, 50.0))));
        assert_eq!(gestures.up(1, (70.0, 50.0), 900.0), Some(Gesture::Banded((10.0, 10.0), (70.0, 50.0))));

        gestures.down(1, (10.0, 10.0), true, 1000.0);
        gestures.draw();
        assert!(matches!(gestures.moved(1, (60.0, 50.0)), Some(Gesture::Band(..))));
        gestures.down(2, (90.0, 50.0), true, 1100.0);
        gestures.draw();
        assert!(matches!(gestures.moved(2, (120.0, 50.0)), Some(Gesture::Pinch { .. })));
        assert_eq!(gestures.up(2, (120.0, 50.0), 1200.0), None);
        assert!(matches!(gestures.moved(1, (62.0, 50.0)), Some(Gesture::Pan { .. })));
        assert_eq!(gestures.up(1, (62.0, 50.0), 1300.0), None);

        // Without moving, it is a tap.
        gestures.down(1, (10.0, 10.0), false, 2000.0);
        gestures.draw();
        assert_eq!(gestures.up(1, (10.0, 10.0), 2050.0), Some(Gesture::Tap((10.0, 10.0))));
    }

    #[test]
    fn the_system_may_take_a_pointer_away() {
        let mut gestures = Gestures::default();
        gestures.down(1, (0.0, 0.0), true, 0.0);
        gestures.cancel(1);
        assert_eq!(gestures.up(1, (0.0, 0.0), 10.0), None);
        assert_eq!(gestures.moved(9, (4.0, 4.0)), Some(Gesture::Hover((4.0, 4.0))));
    }
}
