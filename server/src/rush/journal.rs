//! What one fan did and was told: every operation with its outcome and times, the seats it was told it
//! owns, and its visits behind the door. The judgement over all journals is [`super::checks`]'s.
//!
//! Times are microseconds since the start of the run ([`super::clock::Clock`]). Latencies count from
//! the intended start, so that a slow server can't hide its slowness by slowing the fans down.

use std::collections::BTreeMap;

use domain::order::{OrderStatus, TicketView};
use domain::{OrderId, SeatNo};
use hdrhistogram::Histogram;
use serde::Serialize;

/// Most operations kept for one fan; later ones are only counted.
const OPERATIONS_MAX: usize = 2_000;
/// Longest latency that a histogram tells apart: beyond every time-out of a call.
const LATENCY_MAX_US: u64 = 600_000_000;

/// What a fan does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Join,
    Status,
    Enter,
    Hold,
    MyHold,
    Release,
    Pay,
    Card,
    Order,
}

impl Kind {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Join => "join",
            Self::Status => "status",
            Self::Enter => "enter",
            Self::Hold => "hold",
            Self::MyHold => "my_hold",
            Self::Release => "release",
            Self::Pay => "pay",
            Self::Card => "card",
            Self::Order => "order",
        }
    }
}

/// How an operation ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    Ok,
    /// A business "no", by its code.
    Refused(&'static str),
    /// No effect, or an answer that can't be read.
    Failed(String),
    /// Nobody can say whether it took effect.
    Unknown,
}

/// One operation.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Operation {
    pub(super) kind: Kind,
    pub(super) outcome: Outcome,
    /// When it was to start.
    pub(super) intended_us: u64,
    /// When it ended.
    pub(super) ended_us: u64,
}

/// Seats that a fan was told it owns, from the accepted hold on.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Claim {
    pub(super) order: OrderId,
    pub(super) seats: Vec<SeatNo>,
    /// When the hold's request left: no delta about it can be earlier.
    pub(super) sent_us: u64,
    /// When the answer came: from here on the fan was told.
    pub(super) told_us: u64,
    /// When the lease ends; nothing may end it before.
    pub(super) expires_us: u64,
    /// When the fan began to give the seats back.
    pub(super) given_back_us: Option<u64>,
    /// When the request left whose answer last showed the order as owner of its seats.
    pub(super) seen_owned_us: Option<u64>,
    /// The last status read, and when.
    pub(super) status: Option<(OrderStatus, u64)>,
    /// The order was gone when it was last asked for.
    pub(super) missing: bool,
    /// When a card was accepted.
    pub(super) charged_us: Option<u64>,
    /// When the tickets were seen.
    pub(super) fulfilled_us: Option<u64>,
    /// The tickets, once issued.
    #[serde(skip)]
    pub(super) tickets: Vec<TicketView>,
}

impl Claim {
    pub(super) fn new(order: OrderId, seats: Vec<SeatNo>, sent_us: u64, told_us: u64, expires_us: u64) -> Self {
        Self {
            order,
            seats,
            sent_us,
            told_us,
            expires_us,
            given_back_us: None,
            seen_owned_us: None,
            status: None,
            missing: false,
            charged_us: None,
            fulfilled_us: None,
            tickets: Vec::new(),
        }
    }

    /// Notes what reading the order showed: the request left at `sent_us`.
    pub(super) fn note(&mut self, status: OrderStatus, sent_us: u64) {
        self.status = Some((status, sent_us));
        self.missing = false;
        if status.owns_seats() {
            self.seen_owned_us = Some(sent_us);
        }
    }

    pub(super) fn is_sold(&self) -> bool {
        matches!(self.status, Some((OrderStatus::Paid | OrderStatus::Fulfilled, _)))
    }

    /// The end of the time during which these seats were surely this fan's. Doubts shorten it, so that
    /// an overlap of two such times can't be explained away.
    pub(super) fn owned_until_us(&self) -> u64 {
        if self.is_sold() {
            return u64::MAX;
        }
        let lease_us = match self.status {
            // Ended early, or sold and refunded: what was seen last is what is known.
            Some((status, _)) if !status.owns_seats() => self.seen_owned_us.unwrap_or(self.told_us).max(self.told_us),
            _ => self.expires_us.max(self.seen_owned_us.unwrap_or(0)),
        };
        lease_us.min(self.given_back_us.unwrap_or(u64::MAX))
    }
}

/// A time behind the door.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Visit {
    /// When the pass was told.
    pub(super) from_us: u64,
    /// When it ends at the latest, or something was sent that frees the place.
    pub(super) until_us: u64,
}

/// One fan's journal.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Journal {
    pub(super) operations: Vec<Operation>,
    /// Operations beyond the bound.
    pub(super) dropped: u64,
    /// Every arrival number that the fan was told.
    pub(super) arrivals: Vec<u32>,
    pub(super) visits: Vec<Visit>,
    pub(super) claims: Vec<Claim>,
    /// Breaches that showed at once: an answer that contradicts its request, or an earlier one.
    pub(super) breaches: Vec<String>,
}

impl Journal {
    /// Writes an operation down.
    pub(super) fn record(&mut self, operation: Operation) {
        if self.operations.len() < OPERATIONS_MAX {
            self.operations.push(operation);
        } else {
            self.dropped += 1;
        }
    }

    /// Notes that something was sent that frees the shopper's place.
    pub(super) fn end_visit(&mut self, at_us: u64) {
        if let Some(visit) = self.visits.last_mut() {
            visit.until_us = visit.until_us.min(at_us);
        }
    }
}

/// Counts and latencies over all journals.
pub(super) struct Figures {
    latencies: BTreeMap<Kind, Histogram<u64>>,
    /// Operations by "operation: what went wrong".
    pub(super) errors: BTreeMap<String, u64>,
    /// Ordinary refusals by "operation: code".
    pub(super) refusals: BTreeMap<String, u64>,
}

impl Figures {
    pub(super) fn over<'a>(journals: impl IntoIterator<Item = &'a Journal>) -> Self {
        let mut figures = Self { latencies: BTreeMap::new(), errors: BTreeMap::new(), refusals: BTreeMap::new() };
        for journal in journals {
            journal.operations.iter().for_each(|operation| figures.add(operation));
            if journal.dropped > 0 {
                *figures.errors.entry("journal: full".to_owned()).or_default() += journal.dropped;
            }
        }
        figures
    }

    fn add(&mut self, operation: &Operation) {
        let word = operation.kind.word();
        match &operation.outcome {
            Outcome::Ok => {
                let latency_us = operation.ended_us.saturating_sub(operation.intended_us);
                self.latencies.entry(operation.kind).or_insert_with(histogram).saturating_record(latency_us);
            }
            Outcome::Refused(code) if is_ordinary(code) => {
                *self.refusals.entry(format!("{word}: {code}")).or_default() += 1;
            }
            Outcome::Refused(code) => *self.errors.entry(format!("{word}: {code}")).or_default() += 1,
            Outcome::Failed(why) => *self.errors.entry(format!("{word}: {why}")).or_default() += 1,
            Outcome::Unknown => *self.errors.entry(format!("{word}: no answer")).or_default() += 1,
        }
    }

    /// How often a kind was refused by a code.
    pub(super) fn refused(&self, kind: Kind, code: &str) -> u64 {
        self.refusals.get(&format!("{}: {code}", kind.word())).copied().unwrap_or(0)
    }

    /// A latency of the successful operations of a kind, in milliseconds; 0 when there were none.
    pub(super) fn latency_ms(&self, kind: Kind, quantile: f64) -> f64 {
        self.latencies.get(&kind).map_or(0.0, |latencies| quantile_ms(latencies, quantile))
    }
}

/// Refusals that belong to a rush, as opposed to a server in trouble or a simulator that errs.
fn is_ordinary(code: &str) -> bool {
    const ORDINARY: &[&str] = &[
        "declined",
        "full",
        "hold_closed",
        "not_your_turn",
        "overloaded",
        "pass_required",
        "paused",
        "queue_closed",
        "sale_closed",
        "seat_not_for_sale",
        "seat_taken",
        "too_many_requests",
        "turn_passed",
    ];
    ORDINARY.contains(&code)
}

/// An empty histogram for latencies in microseconds, exact to three digits.
pub(super) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATENCY_MAX_US, 3).expect("the bounds are constants that fit three digits")
}

/// A quantile of microseconds in milliseconds, rounded to hundredths; 0 when there is nothing.
pub(super) fn quantile_ms(latencies: &Histogram<u64>, quantile: f64) -> f64 {
    if latencies.is_empty() {
        return 0.0;
    }
    let us = u32::try_from(latencies.value_at_quantile(quantile)).unwrap_or(u32::MAX);
    (f64::from(us) / 10.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(outcome: Outcome, latency_us: u64) -> Operation {
        Operation { kind: Kind::Hold, outcome, intended_us: 1_000, ended_us: 1_000 + latency_us }
    }

    #[test]
    fn latencies_are_those_of_successes_from_the_intended_start() {
        let mut journal = Journal::default();
        for ms in 1..=100 {
            journal.record(operation(Outcome::Ok, ms * 1_000));
        }
        journal.record(operation(Outcome::Unknown, 10_000_000));
        let figures = Figures::over([&journal]);
        assert!((figures.latency_ms(Kind::Hold, 0.99) - 99.0).abs() < 0.2);
        assert!((figures.latency_ms(Kind::Hold, 0.5) - 50.0).abs() < 0.2);
        assert!(figures.latency_ms(Kind::Join, 0.99).abs() < f64::EPSILON);
        assert_eq!(figures.errors["hold: no answer"], 1);
    }

    #[test]
    fn losing_a_seat_is_ordinary_and_a_forged_pass_is_not() {
        let mut journal = Journal::default();
        journal.record(operation(Outcome::Refused("seat_taken"), 1));
        journal.record(operation(Outcome::Refused("pass_invalid"), 1));
        let figures = Figures::over([&journal]);
        assert_eq!(figures.refused(Kind::Hold, "seat_taken"), 1);
        assert_eq!(figures.errors["hold: pass_invalid"], 1);
    }

    #[test]
    fn a_journal_is_bounded() {
        let mut journal = Journal::default();
        for _ in 0..OPERATIONS_MAX + 5 {
            journal.record(operation(Outcome::Ok, 1));
        }
        assert_eq!((journal.operations.len(), journal.dropped), (OPERATIONS_MAX, 5));
    }

    fn claim() -> Claim {
        Claim::new(domain::hold::NO_ORDER, vec![SeatNo(1)], 5, 10, 1_000)
    }

    #[test]
    fn a_lease_ends_by_its_time_or_by_giving_back() {
        assert_eq!(claim().owned_until_us(), 1_000);
        assert_eq!(Claim { given_back_us: Some(300), ..claim() }.owned_until_us(), 300);
    }

    #[test]
    fn a_payment_extends_and_a_sale_never_ends() {
        let mut paying = claim();
        paying.note(OrderStatus::PaymentProcessing, 2_000);
        assert_eq!(paying.owned_until_us(), 2_000);
        paying.note(OrderStatus::Fulfilled, 3_000);
        assert_eq!(paying.owned_until_us(), u64::MAX);
        paying.note(OrderStatus::Refunded, 9_000);
        assert_eq!(paying.owned_until_us(), 3_000);
    }
}
