//! When a lost connection is tried again, and when an open one is taken for dead. Pure: clocks and
//! chance come in as arguments, in milliseconds and from 0 to below 1.

use domain::live::{BEAT_MS, GOING_AWAY, QUIET_MAX_MS};

/// Longest wait between two tries to reach the live map: the spread of a whole audience.
pub const RECONNECT_MAX_MS: f64 = 30_000.0;
/// Shortest wait: a server that closes every socket must not be asked in a loop.
const RECONNECT_MIN_MS: f64 = 250.0;
/// The first try after a plain break comes within this time; each failure doubles it.
const RECONNECT_SOON_MS: f64 = 1_000.0;
/// A connection that stood for this long was a success; one that broke sooner counts as a failure.
const STEADY_MS: f64 = 5_000.0;
/// A beat that is late by this much is worth a question, if somebody has just come back to look.
const BEAT_LATE_MS: f64 = 2_000.0;
/// A snapshot that was asked for and isn't there after this time never comes.
const ANSWER_MAX_MS: f64 = 5_000.0;
/// "Service restart" and "try again later" (IANA's registry of close codes): what proxies say.
const RESTARTS: [u16; 3] = [GOING_AWAY, 1_012, 1_013];

/// How often in a row it failed, and why it is away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backoff {
    failures: u32,
    restarts: bool,
}

impl Backoff {
    /// The connection is lost, or was not made: it had brought frames for `stood_ms`, if any, and was
    /// closed with that code.
    pub fn lost(&mut self, stood_ms: Option<f64>, code: u16) {
        self.restarts = RESTARTS.contains(&code);
        let steady = stood_ms.is_some_and(|ms| ms >= STEADY_MS);
        self.failures = if steady { 0 } else { self.failures.saturating_add(1) };
    }

    /// How long to wait before the next try. After a break of this connection alone, a moment. After a
    /// restart, which everybody learned of at once, spread over the longest wait. After failures,
    /// doubling up to that; always spread evenly, so that who was lost together comes back apart.
    pub fn wait_ms(self, random: f64) -> f64 {
        let doubled = RECONNECT_SOON_MS * 2f64.powi(i32::try_from(self.failures.min(16)).unwrap_or(16));
        let ceiling = if self.restarts { RECONNECT_MAX_MS } else { doubled.min(RECONNECT_MAX_MS) };
        (ceiling - RECONNECT_MIN_MS).mul_add(random.clamp(0.0, 1.0), RECONNECT_MIN_MS)
    }

    /// How long to wait when the network or the viewer has just come back: a moment, whatever failed
    /// meanwhile; `None` when the spread of a restart must stand.
    pub fn sooner_ms(self, random: f64) -> Option<f64> {
        (!self.restarts).then(|| Self::default().wait_ms(random))
    }
}

/// When the connection is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Now and then.
    Watch,
    /// The page is seen again, after sleep or behind another tab.
    Shown,
    /// The device says that it is online again.
    Online,
}

/// What to do with an open connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing: it lives.
    Keep,
    /// Ask for a snapshot, which also brings up what was missed.
    Ask,
    /// Give it up and make another.
    Renew,
}

/// Judges a connection that brought nothing for `quiet_ms`, and of which a snapshot was asked
/// `asked_ms` ago that has not come yet.
pub fn judge(moment: Moment, quiet_ms: f64, asked_ms: Option<f64>) -> Verdict {
    if asked_ms.is_some_and(|ms| ms >= ANSWER_MAX_MS) || quiet_ms >= f64::from(QUIET_MAX_MS) {
        return Verdict::Renew;
    }
    // A clock that was set back tells nothing: better to ask.
    let unsure = !(0.0..f64::from(BEAT_MS) + BEAT_LATE_MS).contains(&quiet_ms);
    match moment {
        Moment::Online if asked_ms.is_none() => Verdict::Ask,
        Moment::Shown if asked_ms.is_none() && unsure => Verdict::Ask,
        _ => Verdict::Keep,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPREAD: [f64; 4] = [0.0, 0.3, 0.7, 0.999];

    fn lost(stood_ms: Option<f64>, code: u16) -> Backoff {
        let mut backoff = Backoff::default();
        backoff.lost(stood_ms, code);
        backoff
    }

    #[test]
    fn every_wait_is_spread_and_bounded() {
        for failures in 0..40 {
            for restarts in [false, true] {
                for random in SPREAD {
                    let wait = Backoff { failures, restarts }.wait_ms(random);
                    assert!((RECONNECT_MIN_MS..=RECONNECT_MAX_MS).contains(&wait), "{failures} {random}: {wait}");
                }
            }
        }
    }

    #[test]
    fn a_plain_break_is_tried_again_soon() {
        let backoff = lost(Some(60_000.0), 1_006);
        assert!(SPREAD.iter().all(|random| backoff.wait_ms(*random) <= RECONNECT_SOON_MS));
        assert!(backoff.wait_ms(0.9) > backoff.wait_ms(0.1), "and not by all at the same instant");
    }

    #[test]
    fn a_restart_is_spread_over_thirty_seconds_and_nothing_shortens_it() {
        for code in RESTARTS {
            let backoff = lost(Some(60_000.0), code);
            assert!(backoff.wait_ms(0.999) > 29_000.0);
            assert!(backoff.wait_ms(0.01) < 1_000.0, "the spread reaches down");
            assert_eq!(backoff.sooner_ms(0.5), None);
        }
    }

    #[test]
    fn failures_double_the_wait_and_a_success_resets_it() {
        let mut backoff = lost(Some(60_000.0), 1_006);
        let mut before = backoff.wait_ms(0.999);
        for _ in 0..5 {
            backoff.lost(None, 1_006);
            let wait = backoff.wait_ms(0.999);
            assert!(wait > before * 1.8, "{before} then {wait}");
            before = wait;
        }
        backoff.lost(None, 1_006);
        assert!(backoff.wait_ms(0.999) > 29_000.0, "repeated failure is spread like a restart");
        assert!(backoff.sooner_ms(0.999).is_some_and(|wait| wait <= RECONNECT_SOON_MS), "but for who comes back");
        backoff.lost(Some(STEADY_MS - 1.0), 1_006);
        assert!(backoff.wait_ms(0.999) > 29_000.0, "one frame alone is no success");
        backoff.lost(Some(STEADY_MS), 1_006);
        assert!(backoff.wait_ms(0.999) <= RECONNECT_SOON_MS);
    }

    #[test]
    fn a_quiet_connection_is_asked_or_given_up() {
        let (beat, dead) = (f64::from(BEAT_MS), f64::from(QUIET_MAX_MS));
        assert_eq!(judge(Moment::Watch, beat, None), Verdict::Keep);
        assert_eq!(judge(Moment::Watch, dead, None), Verdict::Renew);
        assert_eq!(judge(Moment::Shown, beat, None), Verdict::Keep, "a short look elsewhere costs nothing");
        assert_eq!(judge(Moment::Shown, beat + BEAT_LATE_MS, None), Verdict::Ask);
        assert_eq!(judge(Moment::Shown, -1.0, None), Verdict::Ask);
        assert_eq!(judge(Moment::Shown, dead, None), Verdict::Renew, "after a sleep");
        assert_eq!(judge(Moment::Online, 0.0, None), Verdict::Ask);
        assert_eq!(judge(Moment::Online, 0.0, Some(10.0)), Verdict::Keep, "asked once");
        assert_eq!(judge(Moment::Watch, 0.0, Some(ANSWER_MAX_MS)), Verdict::Renew, "a question without an answer");
    }
}
