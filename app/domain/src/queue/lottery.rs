//! Windows of a lottery: when one ends, and how many places the next one calls.
//!
//! Pure: the caller looks four times a second, and writes `serving` and the window in one script.

#[cfg(test)]
mod tests;

use super::{Phase, Window};
use crate::time::Millis;

/// What the decision is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Called {
    /// The store's clock.
    pub now: Millis,
    /// Where the sale stands.
    pub phase: Phase,
    /// Whether the draw was made.
    pub drawn: bool,
    /// Registered places; none are given after the draw.
    pub joined: u32,
    /// Places called so far.
    pub serving: u32,
    /// The last window; none before the first, and once the door is open to all.
    pub window: Option<Window>,
    /// Seats available.
    pub available: u32,
    /// Most seats that one account may have.
    pub seat_limit: u32,
    /// Length of a window in milliseconds.
    pub window_ms: i64,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Nothing.
    Rests,
    /// The same window ends later: entry was paused in it.
    Extends(Window),
    /// A window opens: its places go from `window.from` up to `serving`.
    Opens {
        /// The new window.
        window: Window,
        /// Places called from now on.
        serving: u32,
    },
    /// All were called and seats are left: the window ends, and everybody who registered may enter.
    OpensToAll,
}

/// Decides whether the window ends, and what comes after it.
///
/// A window that has run out stays while no seat is available: the next winners would be called to empty
/// shelves, and seats of holds that end come back. A pause gives the window its length again, since its
/// winners could not enter.
pub fn next_window(called: &Called) -> Call {
    match (called.phase, called.window) {
        (Phase::Paused, Some(window)) => extended(called, window),
        (Phase::Open, Some(window)) if called.now < window.closes => Call::Rests,
        (Phase::Open, window) if called.drawn && called.available > 0 => after(called, window),
        _ => Call::Rests,
    }
}

/// Seldom enough that a pause is not written four times a second: at least half of the length is left.
fn extended(called: &Called, window: Window) -> Call {
    if called.now.until(window.closes) > called.window_ms / 2 {
        return Call::Rests;
    }
    Call::Extends(Window { closes: called.now.plus(called.window_ms.max(1)), ..window })
}

fn after(called: &Called, window: Option<Window>) -> Call {
    let left = called.joined.saturating_sub(called.serving);
    if left == 0 {
        return if window.is_some() { Call::OpensToAll } else { Call::Rests };
    }
    let winners = (called.available / called.seat_limit.max(1)).clamp(1, left);
    let window = Window {
        number: window.map_or(1, |window| window.number.saturating_add(1)),
        from: called.serving,
        opened: called.now,
        closes: called.now.plus(called.window_ms.max(1)),
    };
    Call::Opens { window, serving: called.serving + winners }
}
