//! The on-sale desk: live numbers, their history, and the controls.
//!
//! Pure: what a control changes is decided here from the settings as they stand; clock, stores and
//! the audit are the server's.

use crate::catalog::PriceZone;
use crate::ids::{EventId, PerformanceId};
use crate::money::Money;
use crate::queue::control::Reason;
use crate::queue::{Mode, Phase, Window};
use crate::refusal::{Code, Refusal};
use crate::time::{Millis, ZonedTime};
use serde::{Deserialize, Serialize};

/// Largest rate, in places a minute: far above what the seat-lock path takes, so a typo and no plan.
pub const RATE_MAX: u32 = 1_000_000;
/// Largest maximum of shoppers: as many fans as wait for the largest sale.
pub const SHOPPERS_MAX: u32 = 1_000_000;
/// Longest history in one answer: a day.
pub const MINUTES_MAX: u32 = 24 * 60;
/// Most points of a chart: one every few pixels.
pub const POINTS_MAX: usize = 240;
/// A minute.
pub const MINUTE_MS: i64 = 60_000;

/// How many accounts wait: they have a place and were never let in. A place that has been reached
/// and not used yet is still waiting; who was in before and comes again is not. After a loss of the
/// seat store a place counts again as soon as its ticket is shown, so the number is low until then,
/// never below zero.
#[must_use]
pub fn waiting(places: u32, admitted: u32) -> u32 {
    places.saturating_sub(admitted)
}

/// What a control may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SaleSettings {
    /// From when on places can be taken.
    pub registers: Millis,
    /// When the on-sale opens.
    pub opens: Millis,
    /// When it ends.
    pub closes: Millis,
    /// Whether entry rests.
    pub paused: bool,
    /// Most places released a minute; the door's controller decides below it.
    pub rate_per_min: u32,
    /// Most shoppers inside at once.
    pub shoppers_max: u32,
}

impl SaleSettings {
    /// Where the sale stands.
    #[must_use]
    pub fn phase(&self, now: Millis) -> Phase {
        Phase::at(now, self.registers, self.opens, self.closes, self.paused)
    }
}

/// A control of a sale. Numbers come with the value that was seen: what a colleague changed
/// meanwhile isn't overwritten unseen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SaleChange {
    /// Opens the on-sale now, ahead of its time.
    Open,
    /// Entry rests; who is inside goes on, and payments do.
    Pause,
    /// Entry goes on.
    Resume,
    /// Most places released a minute.
    Rate {
        /// As it was seen.
        from: u32,
        /// As it should be.
        to: u32,
    },
    /// Most shoppers inside at once.
    Maximum {
        /// As it was seen.
        from: u32,
        /// As it should be.
        to: u32,
    },
    /// Ends the sale now: nothing new is held, what is held may be paid.
    Close,
}

fn wrong_state<T>(message: &str) -> Result<T, Refusal> {
    Err(Refusal::new(Code::WrongState, message))
}

fn in_bounds(field: &str, value: u32, most: u32) -> Result<(), Refusal> {
    if (1..=most).contains(&value) {
        Ok(())
    } else {
        Err(Refusal::new(Code::InvalidInput, format!("{field}: a number from 1 to {most} is expected")))
    }
}

impl SaleChange {
    /// The word of the audit log.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Open => "sale.open",
            Self::Pause => "sale.pause",
            Self::Resume => "sale.resume",
            Self::Rate { .. } => "sale.rate",
            Self::Maximum { .. } => "sale.maximum",
            Self::Close => "sale.close",
        }
    }

    /// The settings after this change.
    ///
    /// # Errors
    /// `wrong_state` when the sale does not stand as the change expects; `invalid_input` for a
    /// number outside of its bounds.
    pub fn apply(self, old: &SaleSettings, now: Millis) -> Result<SaleSettings, Refusal> {
        let phase = old.phase(now);
        let mut new = *old;
        match (self, phase) {
            (Self::Rate { to, .. }, _) => in_bounds("rate", to, RATE_MAX)?,
            (Self::Maximum { to, .. }, _) => in_bounds("maximum", to, SHOPPERS_MAX)?,
            _ => {}
        }
        match (self, phase) {
            (_, Phase::Ended) => return wrong_state("the sale has ended"),
            (Self::Open, Phase::Lobby | Phase::Announced) => new.opens = now,
            // From its opening on a lobby is frozen, and its draw follows from when that was.
            (Self::Open, _) => return wrong_state("the sale is open already"),
            (Self::Pause, _) if old.paused => return wrong_state("entry is paused already"),
            (Self::Pause, _) => new.paused = true,
            (Self::Resume, _) if !old.paused => return wrong_state("entry is not paused"),
            (Self::Resume, _) => new.paused = false,
            (Self::Rate { from, to }, _) if from == old.rate_per_min => new.rate_per_min = to,
            (Self::Maximum { from, to }, _) if from == old.shoppers_max => new.shoppers_max = to,
            (Self::Rate { .. } | Self::Maximum { .. }, _) => {
                return wrong_state("somebody changed this meanwhile: look at it again");
            }
            // A sale that opened in this very millisecond still ends after it opened.
            (Self::Close, Phase::Open | Phase::Paused) => new.closes = now.max(old.opens.plus(1)),
            (Self::Close, _) => return wrong_state("the sale has not opened yet"),
        }
        Ok(new)
    }
}

/// Seats by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatCounts {
    /// Can be held.
    pub free: u32,
    /// In holds.
    pub held: u32,
    /// Sold.
    pub sold: u32,
    /// Not for sale.
    pub blocked: u32,
    /// Kept in an allocation, and neither held nor sold.
    #[serde(default)]
    pub kept: u32,
}

impl SeatCounts {
    /// All seats that are, or were, for sale.
    #[must_use]
    pub fn for_sale(&self) -> u32 {
        self.free + self.held + self.sold + self.kept
    }
}

/// A price zone as the desk shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneSales {
    /// The zone and its present price.
    pub zone: PriceZone,
    /// Its seats.
    pub seats: SeatCounts,
    /// The tickets of its paid orders at the prices that they were made at: without fees, and without tax that
    /// was added, which belong to no zone.
    pub revenue: Money,
}

/// Whether the seats can be held now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    /// The state of the seats is complete.
    Ready,
    /// It is being built: nothing can be held until it is complete.
    Building,
    /// The seat store is out of reach.
    Away,
}

/// The window of a lottery that is open, as the desk shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeskWindow {
    /// Its number, its first place and its times; it goes up to [`DeskView::serving`].
    pub window: Window,
    /// When it ends, at the venue.
    pub closes: ZonedTime,
}

/// The desk of one performance, at most about a second old.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeskView {
    /// The performance.
    pub performance: PerformanceId,
    /// Its event.
    pub event: EventId,
    /// Address part of the event.
    pub slug: String,
    /// Title.
    pub title: String,
    /// Who plays.
    pub artist: String,
    /// Venue.
    pub venue: String,
    /// City.
    pub city: String,
    /// When it begins, at the venue.
    pub starts: ZonedTime,
    /// How places become turns.
    pub mode: Mode,
    /// From when on places can be taken, at the venue; none: from publication on.
    pub registers: Option<ZonedTime>,
    /// When the on-sale opens, at the venue.
    pub opens: ZonedTime,
    /// When the sale ends, at the venue.
    pub closes: ZonedTime,
    /// Name of the static map.
    pub map_digest: String,
    /// The clock that decides about the sale.
    pub now: Millis,
    /// Where the sale stands.
    pub phase: Phase,
    /// What the controls change.
    pub settings: SaleSettings,
    /// Version of the prices that new holds get.
    pub price_version: i32,
    /// How often the state of the seats was built.
    pub epoch: i64,
    /// Whether it is complete.
    pub readiness: Readiness,
    /// Accounts with a place in the queue.
    pub joined: u32,
    /// How many of them [wait](waiting).
    pub waiting: u32,
    /// Places below this number may enter.
    pub serving: u32,
    /// The window of a lottery that is open.
    pub window: Option<DeskWindow>,
    /// What the door's controller saw and decided last; none while it has nothing to decide.
    pub door: Option<DoorSample>,
    /// Shoppers inside now: visits that have not ended.
    pub shoppers: u32,
    /// Seats by state.
    pub seats: SeatCounts,
    /// Holds that are open and not being paid for.
    pub open_holds: u32,
    /// Orders whose payment is under way.
    pub in_payment: u32,
    /// Orders paid and not given back.
    pub paid_orders: u32,
    /// Captured minus refunded money of paid orders, by the ledger.
    pub revenue: Money,
    /// Orders paid in the last 60 seconds.
    pub orders_per_min: u32,
    /// Captured minus refunded in the last 60 seconds, by the ledger.
    pub revenue_per_min: Money,
    /// By price zone.
    pub zones: Vec<ZoneSales>,
    /// Age of the oldest entry of the log that is not yet in Postgres, in milliseconds; 0 when all is written.
    pub writer_lag_ms: i64,
}

/// What the door's controller saw and decided.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DoorSample {
    /// The bound of the rate at that time, in places a minute; never above the organizer's.
    pub rate_per_min: u32,
    /// Released places a minute, smoothed.
    pub pace_per_min: u32,
    /// Share of released places whose fans come in, from 0 to 1.
    pub show_up: f32,
    /// 99th percentile of recent holds in milliseconds; none without holds.
    pub hold_p99_ms: Option<f32>,
    /// The order writer's lag in milliseconds.
    pub writer_lag_ms: u32,
    /// Wait for a connection to Postgres in milliseconds; none without samples.
    pub pool_wait_ms: Option<f32>,
    /// Why the door served as it did.
    pub reason: Reason,
}

/// The sale as the door's leader saw it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// When.
    pub at: Millis,
    /// How many waited.
    pub waiting: u32,
    /// Places released.
    pub serving: u32,
    /// Shoppers inside.
    pub shoppers: u32,
    /// Seats free.
    pub available: u32,
    /// Seats in holds.
    pub held: u32,
    /// Seats sold.
    pub sold: u32,
    /// What the door's controller saw and decided; none in samples of older programs.
    #[serde(default)]
    pub door: Option<DoorSample>,
}

/// A sample with its time at the venue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesPoint {
    /// At the venue.
    pub time: ZonedTime,
    /// What was seen.
    pub sample: Sample,
}

/// What one minute of the clock brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MinuteSum {
    /// When the minute began.
    pub at: Millis,
    /// Orders paid in it.
    pub orders: u32,
    /// Captured minus refunded in it, in minor units, by the ledger.
    pub revenue_minor: i64,
}

/// A minute with its time at the venue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MinutePoint {
    /// When the minute began, at the venue.
    pub time: ZonedTime,
    /// What it brought.
    pub sum: MinuteSum,
}

/// What the charts show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeskSeries {
    /// Samples by time, at most [`POINTS_MAX`].
    pub samples: Vec<SeriesPoint>,
    /// Minutes by time, without a gap; the last one is still running.
    pub minutes: Vec<MinutePoint>,
    /// An amount of nothing, in the sale's currency.
    pub zero: Money,
    /// Most shoppers inside at once, as it stands now.
    pub shoppers_max: u32,
}

/// Thins samples (by time) to `most`: spans of equal length from `from` to `to`, of each its last
/// sample. What is kept was seen; nothing is averaged. The newest sample is always kept.
#[must_use]
pub fn thin(samples: &[Sample], from: Millis, to: Millis, most: usize) -> Vec<Sample> {
    let most_ms = i64::try_from(most.max(1)).unwrap_or(i64::MAX);
    let span_ms = (from.until(to) / most_ms + 1).max(1);
    let mut kept: Vec<(i64, Sample)> = Vec::with_capacity(samples.len().min(most));
    for sample in samples.iter().filter(|sample| from <= sample.at && sample.at < to) {
        let span = (sample.at.0 - from.0) / span_ms;
        match kept.last_mut() {
            Some((last, slot)) if *last == span => *slot = *sample,
            _ => kept.push((span, *sample)),
        }
    }
    kept.into_iter().map(|(_, sample)| sample).collect()
}

/// The last `count` minutes of the clock, the running one included, with a zero where nothing was.
#[must_use]
pub fn by_minute(found: &[MinuteSum], now: Millis, count: u32) -> Vec<MinuteSum> {
    let running = now.0.div_euclid(MINUTE_MS);
    (running - i64::from(count) + 1..=running)
        .map(|minute| {
            let at = Millis(minute * MINUTE_MS);
            found.iter().find(|sum| sum.at == at).copied().unwrap_or(MinuteSum { at, orders: 0, revenue_minor: 0 })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPENS: Millis = Millis(1_000);
    const CLOSES: Millis = Millis(9_000);

    fn settings() -> SaleSettings {
        SaleSettings {
            registers: Millis(0),
            opens: OPENS,
            closes: CLOSES,
            paused: false,
            rate_per_min: 60,
            shoppers_max: 5,
        }
    }

    fn code(change: SaleChange, old: &SaleSettings, now: i64) -> Code {
        change.apply(old, Millis(now)).expect_err("refused").code
    }

    #[test]
    fn each_change_expects_the_state_it_changes() {
        let (old, paused) = (settings(), SaleSettings { paused: true, ..settings() });
        assert_eq!(SaleChange::Open.apply(&old, Millis(500)).map(|new| new.opens), Ok(Millis(500)));
        assert_eq!(code(SaleChange::Open, &old, 1_000), Code::WrongState);
        assert_eq!(SaleChange::Pause.apply(&old, Millis(2_000)).map(|new| new.paused), Ok(true));
        assert_eq!(SaleChange::Pause.apply(&old, Millis(0)).map(|new| new.paused), Ok(true), "it then opens paused");
        assert_eq!(code(SaleChange::Pause, &paused, 2_000), Code::WrongState);
        assert_eq!(SaleChange::Resume.apply(&paused, Millis(2_000)).map(|new| new.paused), Ok(false));
        assert_eq!(code(SaleChange::Resume, &old, 2_000), Code::WrongState);
        assert_eq!(SaleChange::Close.apply(&paused, Millis(2_000)).map(|new| new.closes), Ok(Millis(2_000)));
        assert_eq!(code(SaleChange::Close, &old, 500), Code::WrongState);
        let at_once = SaleChange::Close.apply(&old, OPENS).expect("open");
        assert!(at_once.closes > at_once.opens, "the stores refuse a sale that ends before it opens");
        for change in [SaleChange::Open, SaleChange::Pause, SaleChange::Close, SaleChange::Rate { from: 60, to: 1 }] {
            assert_eq!(code(change, &old, 9_000), Code::WrongState, "{change:?} after the end");
        }
    }

    #[test]
    fn a_number_changes_from_what_was_seen_and_within_its_bounds() {
        let old = settings();
        let rate = |from, to| SaleChange::Rate { from, to }.apply(&old, Millis(2_000));
        assert_eq!(rate(60, RATE_MAX).map(|new| new.rate_per_min), Ok(RATE_MAX));
        assert_eq!(rate(59, 100).expect_err("seen otherwise").code, Code::WrongState);
        for wrong in [0, RATE_MAX + 1] {
            let refusal = rate(60, wrong).expect_err("out of bounds");
            assert!(refusal.code == Code::InvalidInput && refusal.message.starts_with("rate: "), "{refusal:?}");
        }
        let maximum = SaleChange::Maximum { from: 5, to: 7 }.apply(&old, Millis(2_000)).expect("open");
        assert_eq!(maximum, SaleSettings { shoppers_max: 7, ..old });
    }

    #[test]
    fn waiting_is_who_has_a_place_and_was_never_inside() {
        assert_eq!(waiting(10, 3), 7);
        assert_eq!(waiting(3, 10), 0, "places that the store lost count again with their tickets");
    }

    fn sample(at: i64) -> Sample {
        let n = u32::try_from(at).unwrap_or(0);
        Sample { at: Millis(at), waiting: n, serving: n, shoppers: n, available: 0, held: 0, sold: 0, door: None }
    }

    #[test]
    fn thinned_samples_are_seen_ones_in_order_and_end_with_the_newest() {
        let all: Vec<Sample> = (0..1_000).map(|i| sample(i * 5)).collect();
        let thin_to = |most| thin(&all, Millis(0), Millis(5_000), most);
        for most in [1, 2, 7, 240, 999] {
            let kept = thin_to(most);
            assert!(kept.len() <= most && kept.len() * 2 >= most, "{most}: {}", kept.len());
            assert!(kept.windows(2).all(|pair| pair[0].at < pair[1].at));
            assert_eq!(kept.last(), all.last());
        }
        assert_eq!(thin_to(10_000), all, "few samples stay as they are");
        assert_eq!(thin(&all, Millis(100), Millis(111), 240).len(), 3, "from 100 to below 111");
        assert_eq!(thin(&[], Millis(0), Millis(0), 0), []);
    }

    #[test]
    fn minutes_have_no_gap_and_end_with_the_running_one() {
        let found = [MinuteSum { at: Millis(2 * MINUTE_MS), orders: 4, revenue_minor: 100 }];
        let minutes = by_minute(&found, Millis(3 * MINUTE_MS + 1), 3);
        let numbers: Vec<(i64, u32)> = minutes.iter().map(|m| (m.at.0 / MINUTE_MS, m.orders)).collect();
        assert_eq!(numbers, [(1, 0), (2, 4), (3, 0)]);
    }
}
