//! When a provider's day is matched, and when again.
//!
//! Days are UTC. A day is matched when it is over and a grace has passed, once more a day later for lines
//! that came late, and again while something of it is open: soon after the program repaired something, so
//! that the repair is checked, and a few times a day while people have it.

use crate::time::Millis;

/// Length of a day.
pub const DAY_MS: i64 = 24 * 3_600_000;
/// How far beyond the edges of a day lines and records are looked for as partners.
pub const EDGE_MS: i64 = 2 * 3_600_000;
/// Days that are looked back at: after an outage of the workers, and for what is open.
pub const BACK_DAYS_MAX: i64 = 31;
/// How soon a repair is checked.
const RECHECK_MS: i64 = 10 * 60_000;
/// How often what people have is looked at again.
const PEOPLE_RECHECK_MS: i64 = 6 * 3_600_000;

/// How many differences of a day are open, by who has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Open {
    /// The program.
    pub worker: i64,
    /// Finance or operators.
    pub people: i64,
}

/// The beginning of the day that an instant is in.
#[must_use]
pub fn day_of(at: Millis) -> Millis {
    Millis(at.0 - at.0.rem_euclid(DAY_MS))
}

/// When a day is matched for the first time.
#[must_use]
pub fn first_run(day: Millis, grace_ms: i64) -> Millis {
    day.plus(DAY_MS).plus(grace_ms)
}

/// When a day that was just matched is matched again; none: never.
#[must_use]
pub fn next_run(day: Millis, grace_ms: i64, now: Millis, open: Open) -> Option<Millis> {
    let first = first_run(day, grace_ms);
    let planned = [first, first.plus(DAY_MS)].into_iter().find(|run| now < *run);
    let again = match open {
        Open { worker: 1.., .. } => Some(now.plus(RECHECK_MS)),
        Open { people: 1.., .. } => Some(now.plus(PEOPLE_RECHECK_MS)),
        Open { .. } => None,
    };
    let again = again.filter(|_| now < day.plus(BACK_DAYS_MAX * DAY_MS));
    [planned, again].into_iter().flatten().min()
}

/// The days that are due by now, the oldest first, from the oldest one that is known on; where none is known,
/// yesterday alone.
#[must_use]
pub fn due_days(oldest: Option<Millis>, grace_ms: i64, now: Millis) -> Vec<Millis> {
    let newest = day_of(now.plus(-grace_ms)).plus(-DAY_MS);
    let first = oldest.unwrap_or(newest).min(newest).max(newest.plus(-(BACK_DAYS_MAX - 1) * DAY_MS));
    let mut days = Vec::new();
    let mut day = first;
    while day <= newest {
        days.push(day);
        day = day.plus(DAY_MS);
    }
    days
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Millis = Millis(100 * DAY_MS);
    const GRACE_MS: i64 = 3_600_000;
    const NONE: Open = Open { worker: 0, people: 0 };

    #[test]
    fn a_day_is_matched_after_its_end_and_once_more_for_late_lines() {
        let first = first_run(DAY, GRACE_MS);
        assert_eq!(first, Millis(101 * DAY_MS + GRACE_MS));
        let late = first.plus(DAY_MS);
        assert_eq!(next_run(DAY, GRACE_MS, first, NONE), Some(late));
        assert_eq!(next_run(DAY, GRACE_MS, late, NONE), None);
        assert_eq!(next_run(DAY, GRACE_MS, DAY.plus(5), NONE), Some(first), "by command, ahead of its end");
    }

    #[test]
    fn what_is_open_is_looked_at_again_for_a_month() {
        let now = first_run(DAY, GRACE_MS).plus(2 * DAY_MS);
        let repaired = Open { worker: 1, people: 5 };
        assert_eq!(next_run(DAY, GRACE_MS, now, repaired), Some(now.plus(RECHECK_MS)));
        let asked = Open { worker: 0, people: 1 };
        assert_eq!(next_run(DAY, GRACE_MS, now, asked), Some(now.plus(PEOPLE_RECHECK_MS)));
        let old = DAY.plus(BACK_DAYS_MAX * DAY_MS);
        assert_eq!(next_run(DAY, GRACE_MS, old, repaired), None);
    }

    #[test]
    fn days_that_nobody_matched_are_caught_up_within_bounds() {
        let now = first_run(DAY, GRACE_MS);
        assert_eq!(due_days(None, GRACE_MS, now), [DAY]);
        assert_eq!(due_days(None, GRACE_MS, now.plus(-1)), [DAY.plus(-DAY_MS)], "the grace is not over");
        assert_eq!(due_days(Some(DAY.plus(DAY_MS)), GRACE_MS, now), [DAY], "today was matched by command");
        assert_eq!(due_days(Some(DAY.plus(-DAY_MS)), GRACE_MS, now), [DAY.plus(-DAY_MS), DAY]);
        let long_ago = due_days(Some(Millis(0)), GRACE_MS, now);
        assert_eq!(i64::try_from(long_ago.len()), Ok(BACK_DAYS_MAX));
        assert_eq!(long_ago.last(), Some(&DAY));
        assert_eq!(day_of(Millis(-1)), Millis(-DAY_MS));
    }
}
