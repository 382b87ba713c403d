//! Who of the released fans came in, and how many are still to come. Not all come, those who do see
//! their turn at their next poll, and some come late: a place once reached stays admissible.

use super::milliseconds;
use serde::{Deserialize, Serialize};

/// How long released fans are expected, in milliseconds: the status is up to 1 s old in a cache, clients
/// poll every 1 s, or every few seconds where they are told to, with jitter, and entering takes a call.
/// Who comes later is seen as a shopper.
const WINDOW_MS: i64 = 8_000;

/// How long they take on average, in milliseconds, by [`Cohort::outstanding`].
pub(super) const MEAN_MS: i64 = WINDOW_MS / 3;

/// Releases of so many milliseconds are kept as one cohort: sixteen of them fill the window.
const COHORT_MS: i64 = 500;

/// Fans who met a full house try again after so many milliseconds (the answer's Retry-After).
const RETRY_MS: i64 = 1_000;

/// Weight, in places, of the assumption that everybody comes: it is what is believed before anybody could.
const PRIOR_PLACES: f64 = 20.0;

/// So many called places are remembered, or as many as the house has slots; then both counts are halved.
/// Enough for an error of about one per cent, and few enough that a change is seen within a few thousand
/// places. With fewer than the house, those who come before their places count would weigh too much.
const REMEMBERED_PLACES: f64 = 4_000.0;

/// Lowest share that is believed: below it one step would release ten times the free slots.
const SHOW_UP_MIN: f64 = 0.1;

/// Places that were released together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Cohort {
    /// Milliseconds since its first place was released.
    #[serde(rename = "a")]
    age_ms: i64,
    /// How many.
    #[serde(rename = "n")]
    places: u32,
}

impl Cohort {
    /// Share of those who come that is still to come. Most come at their first poll, so the rest shrinks
    /// with the square of the time that is left; on average a third of the window passes.
    fn outstanding(self) -> f64 {
        let left_ms = (WINDOW_MS - self.age_ms).clamp(0, WINDOW_MS);
        (milliseconds(left_ms) / milliseconds(WINDOW_MS)).powi(2)
    }
}

/// How many are on their way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Coming {
    /// Fans who will want a slot.
    pub(super) expected: f64,
    /// Variance of that number, by the chance of each released fan to come.
    pub(super) variance: f64,
}

/// The cohorts that are expected, and the share that comes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Arrivals {
    /// Youngest last.
    cohorts: Vec<Cohort>,
    /// Fans who came, and places whose window is over; both are halved together. Those who came count at
    /// once and their places later: until the first window is over everybody is believed to come.
    came: f64,
    called: f64,
    /// Fans who met a full house and will try again.
    knocking: f64,
    /// Whether entries met a full house since the step before.
    met_full: bool,
    /// Milliseconds until fans whose release was not seen have come.
    settling_ms: i64,
}

impl Arrivals {
    /// Time passed, fans entered, entries met a full house.
    pub(super) fn pass(&mut self, shoppers_max: u32, aged_ms: i64, entered: u64, met_full: u64) {
        // Counts are far below 2⁵³.
        self.came += entered as f64;
        let kept = 1.0 - milliseconds(aged_ms.min(RETRY_MS)) / milliseconds(RETRY_MS);
        self.knocking = self.knocking * kept + met_full as f64;
        self.met_full = met_full > 0;
        self.settling_ms = self.settling_ms.saturating_sub(aged_ms).max(0);
        for cohort in &mut self.cohorts {
            cohort.age_ms = cohort.age_ms.saturating_add(aged_ms);
            if cohort.age_ms >= WINDOW_MS {
                self.called += f64::from(cohort.places);
            }
        }
        self.cohorts.retain(|cohort| cohort.age_ms < WINDOW_MS);
        let remembered = f64::from(shoppers_max).max(REMEMBERED_PLACES);
        while self.called > remembered {
            self.called /= 2.0;
            self.came /= 2.0;
        }
    }

    /// Places were released just now.
    pub(super) fn released(&mut self, places: u32) {
        if places == 0 {
            return;
        }
        match self.cohorts.last_mut() {
            Some(youngest) if youngest.age_ms < COHORT_MS => {
                youngest.places = youngest.places.saturating_add(places);
            }
            _ => self.cohorts.push(Cohort { age_ms: 0, places }),
        }
    }

    /// Places that were thought to be released were not: the youngest are forgotten.
    pub(super) fn take_back(&mut self, mut places: u32) {
        while places > 0
            && let Some(youngest) = self.cohorts.last_mut()
        {
            let taken = youngest.places.min(places);
            youngest.places -= taken;
            places -= taken;
            if youngest.places == 0 {
                self.cohorts.pop();
            }
        }
    }

    /// Places were served that this memory does not know of: their fans are given the time to come, and
    /// tell nothing about the share that comes.
    pub(super) fn served_unseen(&mut self) {
        self.settling_ms = WINDOW_MS;
    }

    /// Whether fans are on their way whose number is not known.
    pub(super) fn settling(&self) -> bool {
        self.settling_ms > 0
    }

    /// Whether entries met a full house since the step before.
    pub(super) fn meets_full(&self) -> bool {
        self.met_full
    }

    /// Share of released places whose fans come in.
    pub(super) fn show_up(&self) -> f64 {
        ((self.came + PRIOR_PLACES) / (self.called + PRIOR_PLACES)).clamp(SHOW_UP_MIN, 1.0)
    }

    /// How many are on their way.
    pub(super) fn coming(&self) -> Coming {
        let outstanding: f64 = self.cohorts.iter().map(|cohort| f64::from(cohort.places) * cohort.outstanding()).sum();
        let share = self.show_up();
        Coming { expected: outstanding * share + self.knocking, variance: outstanding * share * (1.0 - share) }
    }
}
