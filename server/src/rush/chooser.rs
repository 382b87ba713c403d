//! Which seats a fan goes for: neighbours where there are some, and mostly the popular ones, so that
//! fans get into each other's way as they do in a real on-sale. Pure: the map and the dice are arguments.

use domain::SeatNo;
use domain::hold::SeatState;
use rand::{Rng, RngExt as _};

/// How strongly fans prefer low numbers: of the seats that are left, the lowest of three draws, so that
/// half of the fans begin within the first fifth.
const PREFERENCE_DRAWS: usize = 3;

/// Picks `wanted` available seats: the first run of neighbours from a popular one on, else the first
/// single seats from there. `None` when nothing is available.
///
/// The draw is among the seats that are left, not among all: else everybody would go for the same first
/// seat behind the sold ones.
pub(super) fn choose(
    states: &[SeatState],
    wanted: usize,
    avoid: impl Fn(u32) -> bool,
    dice: &mut impl Rng,
) -> Option<Vec<SeatNo>> {
    let free = |(seat, state): &(u32, &SeatState)| **state == SeatState::Available && !avoid(*seat);
    let left: Vec<u32> = (0..).zip(states).filter(free).map(|(seat, _)| seat).collect();
    if left.is_empty() {
        return None;
    }
    let start = (0..PREFERENCE_DRAWS).map(|_| dice.random_range(0..left.len())).min().unwrap_or(0);
    // Going round the end of the house is no neighbourhood: the numbers then don't follow each other.
    let from_start = || left[start..].iter().chain(&left[..start]).copied();
    let mut run: Vec<u32> = Vec::with_capacity(wanted);
    // Twice round: neighbours may lie on both sides of the start.
    for seat in from_start().chain(from_start()) {
        if run.last().is_some_and(|last| last + 1 != seat) {
            run.clear();
        }
        run.push(seat);
        if run.len() == wanted {
            return Some(run.into_iter().map(SeatNo).collect());
        }
    }
    Some(from_start().take(wanted).map(SeatNo).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng as _;
    use rand::rngs::StdRng;

    fn none(_seat: u32) -> bool {
        false
    }

    fn house(free: &[u32]) -> Vec<SeatState> {
        let mut states = vec![SeatState::Held; 100];
        for seat in free {
            states[*seat as usize] = SeatState::Available;
        }
        states[3] = SeatState::Sold;
        states[4] = SeatState::Blocked;
        states
    }

    #[test]
    fn only_available_seats_are_chosen_and_neighbours_first() {
        let states = house(&[0, 10, 50, 51, 99]);
        for seed in 0..200 {
            let mut dice = StdRng::seed_from_u64(seed);
            assert_eq!(choose(&states, 2, none, &mut dice), Some(vec![SeatNo(50), SeatNo(51)]));
            let one = choose(&states, 1, none, &mut dice).unwrap();
            assert_eq!(states[one[0].0 as usize], SeatState::Available);
        }
    }

    #[test]
    fn single_seats_are_taken_where_no_neighbours_are_left() {
        let (states, mut dice) = (house(&[10, 50, 99]), StdRng::seed_from_u64(1));
        let two = choose(&states, 2, none, &mut dice).unwrap();
        assert_eq!(two.len(), 2);
        assert!(two[0] != two[1] && two.iter().all(|seat| [10, 50, 99].contains(&seat.0)));
    }

    #[test]
    fn nothing_is_chosen_where_nothing_is_left() {
        let mut dice = StdRng::seed_from_u64(1);
        assert_eq!(choose(&house(&[]), 1, none, &mut dice), None);
        assert_eq!(choose(&[], 1, none, &mut dice), None);
        assert_eq!(choose(&house(&[7]), 1, |seat| seat == 7, &mut dice), None);
    }

    #[test]
    fn low_numbers_are_popular() {
        let states = vec![SeatState::Available; 1000];
        let mut dice = StdRng::seed_from_u64(7);
        let low =
            (0..1000).filter_map(|_| choose(&states, 1, none, &mut dice)).filter(|seats| seats[0].0 < 200).count();
        assert!((400..600).contains(&low), "{low} of 1000 in the first fifth");
    }
}
