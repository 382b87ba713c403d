//! Selecting many seats: what a tap, a rectangle, a row or a section does to the set of the selected.
//!
//! Pure reducers over sets of seat numbers; which seats lie in a rectangle is the chart's to say.

use domain::SeatNo;
use std::collections::BTreeSet;

/// What a drag over the map does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Moves the map.
    #[default]
    Move,
    /// Draws a rectangle; what is in it is selected.
    Add,
    /// Draws a rectangle; what is in it is no longer selected.
    Remove,
}

impl Mode {
    /// Whether a drag draws a rectangle.
    pub fn draws(self) -> bool {
        self != Self::Move
    }
}

/// Selects these seats, or takes them away.
pub fn apply(selection: &mut BTreeSet<SeatNo>, seats: impl IntoIterator<Item = SeatNo>, remove: bool) {
    if remove {
        for seat in seats {
            selection.remove(&seat);
        }
    } else {
        selection.extend(seats);
    }
}

/// Selects a group; takes it away where all of it was selected already.
pub fn toggle(selection: &mut BTreeSet<SeatNo>, group: &[SeatNo]) {
    let whole = group.iter().all(|seat| selection.contains(seat));
    apply(selection, group.iter().copied(), whole);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(seats: &[u32]) -> BTreeSet<SeatNo> {
        seats.iter().copied().map(SeatNo).collect()
    }

    #[test]
    fn a_group_is_completed_before_it_is_taken_away() {
        let mut selection = set(&[1, 7]);
        let group: Vec<SeatNo> = set(&[1, 2, 3]).into_iter().collect();
        toggle(&mut selection, &group);
        assert_eq!(selection, set(&[1, 2, 3, 7]));
        toggle(&mut selection, &group);
        assert_eq!(selection, set(&[7]));
    }

    #[test]
    fn removing_takes_what_was_selected_and_nothing_else() {
        let mut selection = set(&[1, 2, 3]);
        apply(&mut selection, [SeatNo(2), SeatNo(9)], true);
        assert_eq!(selection, set(&[1, 3]));
        apply(&mut selection, [SeatNo(1), SeatNo(9)], false);
        assert_eq!(selection, set(&[1, 3, 9]));
    }
}
