//! A refund that was made at the provider by hand: which seats and lines was it for?
//!
//! Its money is booked in any case. Tickets are revoked only where the amount leaves one reading.

use super::policy::{OrderLine, Part, RefundableOrder, cut};
use crate::ids::SeatNo;
use crate::money::fees::LineKind;
use crate::money::split::split;
use std::collections::BTreeMap;

/// Most different sums that are looked at. An order of prices that are all different has more; then the
/// staff decides.
const SUMS_MAX: usize = 20_000;

/// The seats, ascending, that a refund of an amount was for: all of them when it is all that is left,
/// else the only choice of seats, with or without their service fees, that comes to the amount. `None`
/// when there is no such choice or more than one.
#[must_use]
pub fn seats_of(order: &RefundableOrder, minor: i64) -> Option<Vec<SeatNo>> {
    if minor <= 0 {
        return None;
    }
    let seats = seats(order);
    if minor == left_of(&order.lines)? {
        return (!seats.is_empty()).then(|| seats.into_keys().collect());
    }
    // By sum, the choice of seats that comes to it; none where several do.
    let mut sums: BTreeMap<i64, Option<Vec<SeatNo>>> = BTreeMap::from([(0, Some(Vec::new()))]);
    for (seat, [ticket_minor, both_minor]) in seats {
        let mut next = sums.clone();
        for value_minor in [ticket_minor, both_minor] {
            for (sum, choice) in &sums {
                let Some(sum) = sum.checked_add(value_minor).filter(|sum| *sum <= minor) else { continue };
                let choice = choice.as_ref().map(|seats| [&seats[..], &[seat]].concat());
                next.entry(sum)
                    .and_modify(|known| *known = known.take().filter(|known| Some(known) == choice.as_ref()))
                    .or_insert(choice);
            }
        }
        if next.len() > SUMS_MAX {
            return None;
        }
        sums = next;
    }
    sums.remove(&minor).flatten()
}

/// What is left of lines together, in minor units.
fn left_of<'a>(lines: impl IntoIterator<Item = &'a OrderLine>) -> Option<i64> {
    lines.into_iter().try_fold(0_i64, |sum, line| sum.checked_add(line.left_minor()))
}

/// The seats that were not given back: what is left of each ticket, alone and with its service fee.
fn seats(order: &RefundableOrder) -> BTreeMap<SeatNo, [i64; 2]> {
    let mut seats: BTreeMap<SeatNo, [i64; 2]> = BTreeMap::new();
    for line in order.lines.iter().filter(|line| !line.given_back) {
        let Some(seat) = line.line.seat else { continue };
        let [ticket_minor, both_minor] = seats.entry(seat).or_default();
        if line.line.kind == LineKind::Ticket {
            *ticket_minor = ticket_minor.saturating_add(line.left_minor());
        }
        *both_minor = both_minor.saturating_add(line.left_minor());
    }
    seats
}

/// An amount as parts of lines: of the lines of the seats that it was for, or of all that are left. What is more
/// than the lines have is in no part. `None` when a sum leaves the range.
#[must_use]
pub fn parts_of(order: &RefundableOrder, seats: &[SeatNo], minor: i64) -> Option<Vec<Part>> {
    let of_seats = |line: &OrderLine| line.line.seat.is_some_and(|seat| seats.contains(&seat));
    let tickets = |line: &OrderLine| of_seats(line) && line.line.kind == LineKind::Ticket;
    let tickets_minor = left_of(order.lines.iter().filter(|line| tickets(line)))?;
    let all_minor = left_of(&order.lines)?;
    let counts = |line: &OrderLine| {
        if seats.is_empty() || minor >= all_minor {
            true
        } else if minor == tickets_minor {
            tickets(line)
        } else {
            of_seats(line)
        }
    };
    let weight = |line: &OrderLine| if counts(line) { u64::try_from(line.left_minor()).unwrap_or(0) } else { 0 };
    let weights: Vec<u64> = order.lines.iter().map(weight).collect();
    let sum_minor = left_of(order.lines.iter().filter(|line| counts(line)))?;
    if sum_minor == 0 {
        return Some(Vec::new());
    }
    cut(order, &split(minor.min(sum_minor), &weights)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::OrderId;
    use crate::money::fees::{Amounts, Line};
    use crate::refund::RefundBalance;
    use uuid::Uuid;

    fn line(kind: LineKind, seat: Option<u32>, gross_minor: i64) -> OrderLine {
        let amounts = Amounts { net_minor: gross_minor, tax_minor: 0, gross_minor };
        let line = Line { kind, seat: seat.map(SeatNo), amounts };
        OrderLine { line, returned: Amounts::default(), given_back: false }
    }

    /// Seats 1, 2, 3 at 50, 70 and 120, each with a fee of 5; 3 for the order.
    fn order() -> RefundableOrder {
        let mut lines = Vec::new();
        for (seat, minor) in [(1, 50), (2, 70), (3, 120)] {
            lines.push(line(LineKind::Ticket, Some(seat), minor));
            lines.push(line(LineKind::ServiceFee, Some(seat), 5));
        }
        lines.push(line(LineKind::OrderFee, None, 3));
        RefundableOrder {
            order: OrderId(Uuid::from_u128(1)),
            currency: "EUR".parse().unwrap(),
            lines,
            balance: RefundBalance::default(),
        }
    }

    fn found(order: &RefundableOrder, minor: i64) -> Option<Vec<u32>> {
        seats_of(order, minor).map(|seats| seats.into_iter().map(|seat| seat.0).collect())
    }

    #[test]
    fn an_amount_that_leaves_one_reading_names_its_seats() {
        let order = order();
        for (minor, seats) in [
            (258, Some(vec![1, 2, 3])),
            (50, Some(vec![1])),
            (55, Some(vec![1])),
            (75, Some(vec![2])),
            (170, Some(vec![1, 3])),
            // Seat 3 alone, or 1 and 2 together.
            (120, None),
            (125, None),
            (130, Some(vec![1, 2])),
            (51, None),
            (0, None),
            (-50, None),
            (259, None),
        ] {
            assert_eq!(found(&order, minor), seats, "{minor}");
        }
    }

    #[test]
    fn equal_seats_and_seats_that_were_given_back_are_told_apart() {
        let mut order = order();
        order.lines[2].line.amounts = order.lines[0].line.amounts;
        assert_eq!(found(&order, 50), None, "either of two");
        for line in &mut order.lines[0..2] {
            (line.given_back, line.returned) = (true, line.line.amounts);
        }
        assert_eq!(found(&order, 50), Some(vec![2]));
        assert_eq!(found(&order, 183), Some(vec![2, 3]), "all that is left");
    }

    #[test]
    fn an_amount_is_that_of_its_seats_or_of_all_lines() {
        use LineKind::{OrderFee, ServiceFee, Ticket};
        let lines = vec![
            line(Ticket, Some(1), 50),
            line(ServiceFee, Some(1), 5),
            line(Ticket, Some(2), 70),
            line(OrderFee, None, 3),
        ];
        let order = RefundableOrder { lines, ..order() };
        let told = |seats: &[u32], minor: i64| -> Vec<(LineKind, i64)> {
            let seats: Vec<SeatNo> = seats.iter().copied().map(SeatNo).collect();
            let parts = parts_of(&order, &seats, minor).unwrap();
            parts.into_iter().map(|part| (part.kind, part.amounts.gross_minor)).collect()
        };
        assert_eq!(told(&[1], 50), [(Ticket, 50)]);
        assert_eq!(told(&[1], 55), [(Ticket, 50), (ServiceFee, 5)]);
        assert_eq!(told(&[1, 2], 128), [(Ticket, 50), (ServiceFee, 5), (Ticket, 70), (OrderFee, 3)]);
        assert_eq!(told(&[], 64).iter().map(|(_, minor)| minor).sum::<i64>(), 64);
        assert_eq!(told(&[], 500).iter().map(|(_, minor)| minor).sum::<i64>(), 128, "no line gives more than it has");
    }
}
