//! What a newer version of a plan would take away from people.

use super::Plan;
use std::collections::HashSet;

/// The seats among `taken` (by guid, the identity of a seat across versions) that `old` has and `new`
/// lacks, in words: `Floor A, row 3, seat 12`. In the order of the old plan, each once.
#[must_use]
pub fn missing_seats(old: &Plan, new: &Plan, taken: &[&str]) -> Vec<String> {
    let kept: HashSet<&str> = new.seats.iter().map(|seat| seat.guid.as_str()).collect();
    let missing: HashSet<&str> = taken.iter().copied().filter(|guid| !kept.contains(guid)).collect();
    (0_u32..)
        .zip(&old.seats)
        .filter(|(_, seat)| missing.contains(seat.guid.as_str()))
        .filter_map(|(seat_no, _)| old.seat_label(seat_no))
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
        let guid = |seat_no: u32| old.seat(seat_no).unwrap().guid.as_str();
        let mut new = old.clone();
        new.seats.retain(|seat| seat.guid != guid(5) && seat.guid != guid(9));
        assert_eq!(missing_seats(&old, &new, &[]), [""; 0], "nobody sits there");
        assert_eq!(missing_seats(&old, &new, &[guid(1), guid(7)]), [""; 0], "these are kept");
        let words = |seat_no: u32| {
            let label = old.seat_label(seat_no).unwrap();
            format!("{}, row {}, seat {}", label.section, label.row, label.seat)
        };
        assert_eq!(missing_seats(&old, &new, &[guid(9), guid(1), guid(5), guid(9)]), [words(5), words(9)]);
        assert_eq!(missing_seats(&old, &old, &[guid(9)]), [""; 0]);
        assert_eq!(missing_seats(&old, &new, &["a seat of another house"]), [""; 0]);
    }

    #[test]
    fn a_seat_that_moved_or_was_renamed_is_not_missing() {
        let old = generate::arena(generate::MIN_ARENA_SEATS, "House");
        let mut new = old.clone();
        new.seats.reverse();
        for seat in &mut new.seats {
            "moved".clone_into(&mut seat.label);
        }
        let taken: Vec<&str> = old.seats.iter().map(|seat| seat.guid.as_str()).collect();
        assert_eq!(missing_seats(&old, &new, &taken), [""; 0]);
    }
}
