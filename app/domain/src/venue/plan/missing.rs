//! What a newer version of a plan would take away from people.

use super::Plan;
use super::renew::same_seats;
use std::collections::HashSet;

/// The seats among `taken` (by number in the older version) that `old` has and `new` lacks, in words:
/// `Floor A, row 3, seat 12`. In the order of the old plan, each once. What the same seat is, is
/// decided as by [`super::renew`].
#[must_use]
pub fn missing_seats(old: &Plan, new: &Plan, taken: &[u32]) -> Vec<String> {
    let kept: HashSet<u32> = same_seats(old, new).into_iter().flatten().collect();
    let mut missing: Vec<u32> = taken.iter().copied().filter(|seat| !kept.contains(seat)).collect();
    missing.sort_unstable();
    missing.dedup();
    missing
        .into_iter()
        .filter_map(|seat_no| old.seat_label(seat_no))
        .map(|label| format!("{}, row {}, seat {}", label.section, label.row, label.seat))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::venue::generate;

    #[test]
    fn only_taken_seats_that_the_new_plan_lacks_are_named() {
        let old = generate::arena(generate::MIN_ARENA_SEATS, "House");
        let mut new = old.clone();
        new.seats.remove(9);
        new.seats.remove(5);
        assert_eq!(missing_seats(&old, &new, &[]), [""; 0], "nobody sits there");
        assert_eq!(missing_seats(&old, &new, &[1, 7]), [""; 0], "these are kept");
        let words = |seat_no: u32| {
            let label = old.seat_label(seat_no).unwrap();
            format!("{}, row {}, seat {}", label.section, label.row, label.seat)
        };
        assert_eq!(missing_seats(&old, &new, &[9, 1, 5, 9]), [words(5), words(9)]);
        assert_eq!(missing_seats(&old, &old, &[9]), [""; 0]);
        assert_eq!(missing_seats(&old, &new, &[u32::MAX]), [""; 0], "a seat that no version has");
    }

    #[test]
    fn a_seat_that_moved_or_was_renamed_or_has_another_id_is_not_missing() {
        let old = generate::arena(generate::MIN_ARENA_SEATS, "House");
        let taken: Vec<u32> = (0..).take(old.seats.len()).collect();
        let mut new = old.clone();
        new.seats.reverse();
        for seat in &mut new.seats {
            "moved".clone_into(&mut seat.label);
        }
        assert_eq!(missing_seats(&old, &new, &taken), [""; 0]);
        let mut new = old.clone();
        for seat in &mut new.seats {
            seat.guid.insert_str(0, "of another tool ");
        }
        assert_eq!(missing_seats(&old, &new, &taken), [""; 0]);
    }
}
