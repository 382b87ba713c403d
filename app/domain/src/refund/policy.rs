//! What comes back: the policy of a performance, and what a refund of chosen seats comes to.

use super::{Cause, RefundBalance};
use crate::ids::{OrderId, SeatNo};
use crate::money::fees::{Amounts, Line, LineKind, Rate};
use crate::money::split::split;
use crate::money::{Currency, Money};
use crate::refusal::{Code, Refusal};
use crate::time::Millis;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A day of a policy: 24 hours, whatever the clocks of the venue do in between.
pub const DAY_MS: i64 = 24 * 3_600_000;
/// Most tiers of a policy: a list that a fan can read.
pub const TIERS_MAX: usize = 12;

/// What is kept of a ticket that is given back so early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tier {
    /// Applies while at least so many whole days are left until the start.
    pub days_left: u32,
    /// The rate of the ticket's gross that is kept.
    pub kept: Rate,
}

/// What fans may give back, and what they get for it. It binds wishes alone: when the performance is
/// cancelled, all comes back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefundPolicy {
    /// How long before the start giving back ends, in milliseconds. None: fans can't give back.
    pub ends_before_start_ms: Option<i64>,
    /// What is kept, the most days first. None: nothing is kept. With fewer days than the last tier
    /// asks for, all of it is.
    pub tiers: Vec<Tier>,
    /// Whether the service fee of a ticket comes back with it.
    pub returns_service_fee: bool,
    /// Whether the order's fee comes back with its last ticket.
    pub returns_order_fee: bool,
}

impl RefundPolicy {
    /// Checks what was typed.
    ///
    /// # Errors
    /// `invalid_input` names the field.
    pub fn check(&self) -> Result<(), Refusal> {
        let wrong = |message: String| Err(Refusal::new(Code::InvalidInput, message));
        if self.ends_before_start_ms.is_some_and(|ms| ms < 0) {
            return wrong("ends_before_start_ms: 0 or more is expected".to_owned());
        }
        if self.tiers.len() > TIERS_MAX {
            return wrong(format!("tiers: at most {TIERS_MAX} are possible"));
        }
        for pair in self.tiers.windows(2) {
            if pair[0].days_left <= pair[1].days_left {
                return wrong("tiers: the most days come first, each number once".to_owned());
            }
            if pair[0].kept > pair[1].kept {
                return wrong("tiers: with fewer days left, not less can be kept".to_owned());
            }
        }
        Ok(())
    }

    /// The rate of a ticket that is kept now.
    ///
    /// # Errors
    /// `wrong_state` when fans can't give back, or no longer.
    pub fn kept(&self, now: Millis, starts: Millis) -> Result<Rate, Refusal> {
        let Some(ends_ms) = self.ends_before_start_ms else {
            return Err(Refusal::new(Code::WrongState, "tickets of this performance can't be given back"));
        };
        if now >= starts.plus(ends_ms.saturating_neg()) {
            return Err(Refusal::new(Code::WrongState, "the time for giving tickets back has ended"));
        }
        let days = now.until(starts) / DAY_MS;
        let tier = self.tiers.iter().find(|tier| days >= i64::from(tier.days_left));
        let beyond = if self.tiers.is_empty() { Rate::NONE } else { Rate::WHOLE };
        Ok(tier.map_or(beyond, |tier| tier.kept))
    }
}

/// A line of an order, with what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderLine {
    /// The line.
    pub line: Line,
    /// What of it went back or is reserved to: the sum of the parts that live.
    pub returned: Amounts,
    /// Whether its seat was given back. Then nothing of it can be given back by wish again, also where
    /// a part was kept.
    pub given_back: bool,
}

impl OrderLine {
    /// What of its gross is with us, in minor units.
    #[must_use]
    pub fn left_minor(&self) -> i64 {
        self.line.amounts.gross_minor.saturating_sub(self.returned.gross_minor).max(0)
    }

    /// The next part of it, of so much gross in minor units. `None` when less is left.
    ///
    /// A part that fails comes back while later ones live, so the line is not given back from one end to the other.
    /// The tax of a part is therefore what brings all parts that live then nearest to the tax of so much of the line,
    /// within what is left of tax and net. Nothing of it is below zero, and the part that takes all that is left
    /// takes what is left of each.
    #[must_use]
    pub fn next_part(&self, gross_minor: i64) -> Option<Amounts> {
        if gross_minor < 0 {
            return None;
        }
        let (whole, live) = (self.line.amounts, self.returned);
        let together = whole.part(0, live.gross_minor.checked_add(gross_minor)?)?;
        let net_left_minor = whole.net_minor.saturating_sub(live.net_minor).max(0);
        let tax_left_minor = whole.tax_minor.saturating_sub(live.tax_minor).max(0);
        let least_minor = gross_minor.saturating_sub(net_left_minor).max(0);
        let most_minor = gross_minor.min(tax_left_minor);
        // Not `clamp`: parts that were cut by an older rule may leave no room between the two.
        let tax_minor = together.tax_minor.saturating_sub(live.tax_minor).max(least_minor).min(most_minor);
        Some(Amounts { net_minor: gross_minor - tax_minor, tax_minor, gross_minor })
    }
}

/// A paid order, as a refund needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefundableOrder {
    /// The order.
    pub order: OrderId,
    /// Its currency.
    pub currency: Currency,
    /// Its lines.
    pub lines: Vec<OrderLine>,
    /// The money of its captured payment.
    pub balance: RefundBalance,
}

/// What of an order is given back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// These seats.
    Seats(Vec<SeatNo>),
    /// All that was not given back yet.
    Order,
}

/// Why and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms<'a> {
    /// Why.
    pub cause: Cause,
    /// The policy of the performance.
    pub policy: &'a RefundPolicy,
    /// When it was asked for.
    pub now: Millis,
    /// When the performance begins.
    pub starts: Millis,
}

/// The part of one line that comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Kind of the line.
    pub kind: LineKind,
    /// Its seat; none for the order's fee.
    pub seat: Option<SeatNo>,
    /// What comes back of it.
    pub amounts: Amounts,
}

/// What a refund comes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quote {
    /// The order.
    pub order: OrderId,
    /// Currency of all amounts.
    pub currency: Currency,
    /// The parts, none of them 0.
    pub parts: Vec<Part>,
    /// Their sums.
    pub totals: Amounts,
    /// The seats that are given back by it, ascending.
    pub seats: Vec<SeatNo>,
}

impl Quote {
    /// What the fan gets.
    #[must_use]
    pub fn total(&self) -> Money {
        Money::new(self.totals.gross_minor, self.currency)
    }
}

/// What a refund comes to. By wish the policy decides what of each line comes back; for any other cause
/// all that is left of the chosen lines does. The order's fee goes with the last seat. Never more than
/// is left of the payment: where that is less, the parts share it by largest remainder.
///
/// # Errors
/// `invalid_input` without a seat, `unknown_seat` for one of another order, `wrong_state` when the policy
/// refuses, when a seat was given back before, or when nothing comes back.
pub fn quote(order: &RefundableOrder, scope: &Scope, terms: Terms<'_>) -> Result<Quote, Refusal> {
    let chosen = chosen(order, scope, terms.cause)?;
    let kept = match terms.cause {
        Cause::Wish => Some(terms.policy.kept(terms.now, terms.starts)?),
        Cause::Cancelled | Cause::Goodwill | Cause::LateMoney => None,
    };
    let is_chosen = |line: &OrderLine| line.line.seat.is_some_and(|seat| chosen.contains(&seat));
    let last = order.lines.iter().all(|line| line.line.seat.is_none() || line.given_back || is_chosen(line));
    let wanted = |line: &OrderLine| {
        let whole_minor = match (line.line.kind, kept) {
            (LineKind::OrderFee, _) if !last => 0,
            (LineKind::Ticket | LineKind::ServiceFee, _) if !is_chosen(line) => 0,
            (LineKind::ServiceFee, Some(_)) if !terms.policy.returns_service_fee => 0,
            (LineKind::OrderFee, Some(_)) if !terms.policy.returns_order_fee => 0,
            (LineKind::Ticket, Some(kept)) => {
                let gross_minor = line.line.amounts.gross_minor;
                gross_minor - kept.of(gross_minor)
            }
            _ => line.line.amounts.gross_minor,
        };
        u64::try_from(whole_minor.saturating_sub(line.returned.gross_minor)).unwrap_or_default()
    };
    let wanted: Vec<u64> = order.lines.iter().map(wanted).collect();
    let parts = parts(order, &wanted).ok_or_else(|| Refusal::new(Code::Internal, "lines: they do not add up"))?;
    if parts.is_empty() {
        let is_wanted = wanted.iter().any(|minor| *minor > 0);
        let is_kept = order.lines.iter().any(|line| is_chosen(line) && line.left_minor() > 0);
        return Err(nothing_because(order, is_wanted, is_kept));
    }
    let totals = Amounts::sum(parts.iter().map(|part| part.amounts))
        .ok_or_else(|| Refusal::new(Code::Internal, "lines: their sum is too large"))?;
    Ok(Quote { order: order.order, currency: order.currency, parts, totals, seats: chosen.into_iter().collect() })
}

/// Why nothing comes back: by what the lines would give, and what they have.
fn nothing_because(order: &RefundableOrder, is_wanted: bool, is_kept: bool) -> Refusal {
    let why = match (is_wanted, is_kept) {
        (true, _) if order.balance.disputed_minor > 0 => "nothing is left of the payment: a dispute took of it",
        (true, _) => "nothing is left of the payment",
        (false, true) => "nothing comes back now: the terms of the performance keep what is left of these seats",
        (false, false) => "nothing is left to give back",
    };
    Refusal::new(Code::WrongState, why)
}

/// The seats that a refund is about.
fn chosen(order: &RefundableOrder, scope: &Scope, cause: Cause) -> Result<BTreeSet<SeatNo>, Refusal> {
    let tickets = || order.lines.iter().filter(|line| line.line.kind == LineKind::Ticket);
    // What was kept of a seat that was given back comes back when the performance is cancelled.
    let again = |line: &&OrderLine| cause == Cause::Wish && line.given_back;
    let Scope::Seats(seats) = scope else {
        return Ok(tickets().filter(|line| !again(line)).filter_map(|line| line.line.seat).collect());
    };
    if seats.is_empty() {
        return Err(Refusal::new(Code::InvalidInput, "seats: at least one is expected"));
    }
    let chosen: BTreeSet<SeatNo> = seats.iter().copied().collect();
    let own: BTreeSet<SeatNo> = tickets().filter_map(|line| line.line.seat).collect();
    let unknown: Vec<SeatNo> = chosen.difference(&own).copied().collect();
    if !unknown.is_empty() {
        return Err(Refusal::new(Code::UnknownSeat, "seats: not all are of this order").with_seats(unknown));
    }
    let gone: Vec<SeatNo> =
        tickets().filter(again).filter_map(|line| line.line.seat).filter(|seat| chosen.contains(seat)).collect();
    if !gone.is_empty() {
        return Err(Refusal::new(Code::WrongState, "seats: some were given back or asked for before").with_seats(gone));
    }
    Ok(chosen)
}

/// The wanted amounts as parts of their lines, cut down to what is left of the payment.
fn parts(order: &RefundableOrder, wanted: &[u64]) -> Option<Vec<Part>> {
    let sum = wanted.iter().try_fold(0_u64, |sum, minor| sum.checked_add(*minor))?;
    let sum_minor = i64::try_from(sum).ok()?;
    let shares = match sum_minor {
        0 => return Some(Vec::new()),
        sum_minor => split(sum_minor.min(order.balance.left_minor()), wanted)?,
    };
    cut(order, &shares)
}

/// So much gross of each line, in minor units, as its next part. `None` when a line has less left.
pub(super) fn cut(order: &RefundableOrder, shares: &[i64]) -> Option<Vec<Part>> {
    let part = |(line, minor): (&OrderLine, &i64)| {
        Some(Part { kind: line.line.kind, seat: line.line.seat, amounts: line.next_part(*minor)? })
    };
    order.lines.iter().zip(shares).filter(|(_, minor)| **minor > 0).map(part).collect()
}

/// The parts of a refund that is tried again: of the same gross, with net and tax as the lines have them left.
/// Others may have been cut since it failed. `None` when a line has less left than its part.
#[must_use]
pub fn parts_again(order: &RefundableOrder, parts: &[Part]) -> Option<Vec<Part>> {
    let again = |part: &Part| {
        let line = order.lines.iter().find(|line| (line.line.kind, line.line.seat) == (part.kind, part.seat))?;
        Some(Part { amounts: line.next_part(part.amounts.gross_minor)?, ..*part })
    };
    parts.iter().map(again).collect()
}

/// What the refund of a performance comes to, order by order, and the reason for each order that has
/// none.
pub fn quote_all(orders: &[RefundableOrder], terms: Terms<'_>) -> Vec<(OrderId, Result<Quote, Refusal>)> {
    orders.iter().map(|order| (order.order, quote(order, &Scope::Order, terms))).collect()
}

/// The sums of many quotes by currency. `None` when one leaves the range.
pub fn sums<'a>(quotes: impl IntoIterator<Item = &'a Quote>) -> Option<BTreeMap<Currency, Amounts>> {
    let mut sums: BTreeMap<Currency, Amounts> = BTreeMap::new();
    for quote in quotes {
        let sum = sums.entry(quote.currency).or_default();
        *sum = sum.checked_add(quote.totals)?;
    }
    Some(sums)
}

#[cfg(test)]
mod tests;
