//! Small houses of every shape against a search of everything.

use crate::{DEPTH, house, wish};
use domain::SeatNo;
use domain::venue::Point;
use domain::venue::adjacency::Adjacency;
use domain::venue::alone;
use domain::venue::best::{Best, SPREAD_AMONG, Spread, Tier};
use domain::venue::plan::{Kind, Plan};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// A drawn house: sections, rows, and in each place what stands there; a blank is an aisle.
#[derive(Clone, Debug)]
struct Drawn {
    sections: Vec<Vec<String>>,
    /// By seat number.
    free: Vec<bool>,
    offered: Vec<bool>,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    // The end of each row tells its usual step.
    let row = "[.]?[.WC ]{0,6}".prop_map(|cells| format!("{cells} ...."));
    let sections = prop::collection::vec(prop::collection::vec(row, 1..4), 1..3);
    let coin = |most: usize| prop::collection::vec(prop::bool::weighted(0.7), most);
    (sections, coin(80), coin(80), any::<bool>()).prop_map(|(sections, free, mut offered, any)| {
        if any {
            offered.fill(true);
        }
        Drawn { sections, free, offered }
    })
}

impl Drawn {
    fn plan(&self) -> Plan {
        let mut y = 0.0;
        let sections = self.sections.iter().map(|rows| {
            let rows = rows.iter().map(|cells| {
                y += DEPTH;
                let places = cells.chars().enumerate().filter(|(_, cell)| *cell != ' ');
                places
                    .map(|(at, cell)| {
                        let kind = match cell {
                            'W' => Kind::Wheelchair,
                            'C' => Kind::Companion,
                            _ => Kind::Seat,
                        };
                        (Point::new(at as f64 * 24.0, y), kind)
                    })
                    .collect()
            });
            let rows = rows.collect();
            y += 200.0;
            rows
        });
        house(sections.collect())
    }

    /// Runs by section, as seat numbers.
    fn runs(&self) -> Vec<Vec<Vec<usize>>> {
        let mut next = 0;
        let mut sections = Vec::new();
        for rows in &self.sections {
            let mut runs = Vec::new();
            for cells in rows {
                let mut run = Vec::new();
                for cell in cells.chars() {
                    if cell == '.' {
                        run.push(next);
                    } else {
                        runs.push(std::mem::take(&mut run));
                    }
                    next += usize::from(cell != ' ');
                }
                runs.push(run);
            }
            runs.retain(|run: &Vec<usize>| !run.is_empty());
            sections.push(runs);
        }
        sections
    }
}

/// Free seats of a run without a free neighbour, after some are taken.
fn singles(run: &[usize], free: impl Fn(usize) -> bool) -> BTreeSet<usize> {
    let is_free = |at: Option<usize>| at.and_then(|at| run.get(at)).is_some_and(|seat| free(*seat));
    (0..run.len())
        .filter(|at| is_free(Some(*at)) && !is_free(at.checked_sub(1)) && !is_free(Some(at + 1)))
        .map(|at| run[at])
        .collect()
}

/// Which numbers of people a run seats with nobody alone.
fn seats_of(run: &[usize], usable: impl Fn(usize) -> bool) -> BTreeSet<usize> {
    (0..1_u32 << run.len())
        .filter(|mask| {
            (0..run.len()).all(|at| {
                let taken = |at: usize| at < run.len() && mask >> at & 1 == 1;
                !taken(at) || (usable(run[at]) && (taken(at + 1) || (at > 0 && taken(at - 1))))
            })
        })
        .map(|mask| mask.count_ones() as usize)
        .collect()
}

fn sums(sets: impl Iterator<Item = BTreeSet<usize>>) -> BTreeSet<usize> {
    sets.fold(BTreeSet::from([0]), |sums, set| sums.iter().flat_map(|a| set.iter().map(move |b| a + b)).collect())
}

/// The best tier that there is, by trying everything.
fn oracle(house: &Drawn, count: usize) -> Option<Tier> {
    let usable = |seat: usize| house.free[seat] && house.offered[seat];
    let (mut whole, mut leaving) = (false, false);
    for run in house.runs().iter().flatten() {
        let before = singles(run, |seat| house.free[seat]);
        for window in run.windows(count).filter(|window| window.iter().all(|seat| usable(*seat))) {
            let after = singles(run, |seat| house.free[seat] && !window.contains(&seat));
            if after.is_subset(&before) { whole = true } else { leaving = true }
        }
    }
    if whole || leaving {
        return Some(if whole { Tier::Together } else { Tier::LeavingOne });
    }
    if count < 2 {
        return None;
    }
    let sections: Vec<BTreeSet<usize>> =
        house.runs().iter().map(|runs| sums(runs.iter().map(|run| seats_of(run, usable)))).collect();
    if sections.iter().any(|section| section.contains(&count)) {
        return Some(Tier::OneSection);
    }
    sums(sections.into_iter()).contains(&count).then_some(Tier::Sections)
}

/// What is found is free, wanted, whole, and as good as it says.
fn check_found(house: &Drawn, count: usize, found: &Best) {
    let seats: BTreeSet<usize> = found.seats.iter().map(|seat| seat.0 as usize).collect();
    assert_eq!((seats.len(), found.seats.len()), (count, count), "distinct");
    assert!(found.seats.is_sorted());
    assert!(seats.iter().all(|seat| house.free[*seat] && house.offered[*seat]));
    let runs = house.runs();
    let mut groups = Vec::new();
    let mut sections = BTreeSet::new();
    let mut left = 0;
    for (section, run) in runs.iter().enumerate().flat_map(|(at, runs)| runs.iter().map(move |run| (at, run))) {
        let taken: Vec<usize> = (0..run.len()).filter(|at| seats.contains(&run[*at])).collect();
        if !taken.is_empty() {
            sections.insert(section);
        }
        groups.extend(taken.chunk_by(|a, b| a + 1 == *b).map(<[usize]>::len));
        let before = singles(run, |seat| house.free[seat]);
        left += singles(run, |seat| house.free[seat] && !seats.contains(&seat)).difference(&before).count();
    }
    assert_eq!(groups.iter().sum::<usize>(), count, "ordinary seats alone");
    match found.tier {
        Tier::Together => assert_eq!((groups.len(), left), (1, 0)),
        Tier::LeavingOne => assert!(groups.len() == 1 && left > 0),
        Tier::OneSection => assert!(sections.len() == 1 && groups.iter().all(|group| *group > 1), "{groups:?}"),
        Tier::Sections => assert!(sections.len() > 1 && groups.iter().all(|group| *group > 1), "{groups:?}"),
        Tier::Accessible => panic!("nobody asked for it"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn neighbours_are_those_without_an_aisle_between(house in drawn()) {
        let adjacency = Adjacency::of(&house.plan());
        let mut found: Vec<Vec<usize>> = adjacency
            .runs()
            .map(|run| {
                let mut run: Vec<usize> = run.iter().map(|seat| seat.0 as usize).collect();
                if run.first() > run.last() {
                    run.reverse();
                }
                run
            })
            .collect();
        found.sort();
        let mut expected: Vec<Vec<usize>> = house.runs().concat();
        expected.sort();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn nothing_better_is_left(house in drawn(), count in 1_u32..=9, number in any::<u64>()) {
        let adjacency = Adjacency::of(&house.plan());
        let free = |seat: SeatNo| house.free[seat.0 as usize];
        let offered = |seat: SeatNo| house.offered[seat.0 as usize];
        let expected = oracle(&house, count as usize);
        for spread in [Spread::NONE, Spread { number, among: SPREAD_AMONG }] {
            let found = adjacency.best(&wish(count), free, offered, spread);
            prop_assert_eq!(found.as_ref().ok().map(|found| found.tier), expected, "{:?}", found);
            prop_assert_eq!(&found, &adjacency.best(&wish(count), free, offered, spread), "the same again");
            match found {
                Ok(found) => check_found(&house, count as usize, &found),
                Err(none) => prop_assert!(none.groups.iter().sum::<u32>() <= count),
            }
        }
    }

    #[test]
    fn who_is_left_alone_is_named_and_the_suggestion_obeys(house in drawn(), picks in any::<u64>(), together in 0_usize..5) {
        let adjacency = Adjacency::of(&house.plan());
        let runs: Vec<Vec<usize>> = house.runs().concat();
        let usable: Vec<usize> = runs.concat().into_iter().filter(|seat| house.free[*seat]).collect();
        // Some seats at random, or neighbours.
        let chosen: Vec<usize> = if together > 0 {
            let windows: Vec<&[usize]> = runs.iter().flat_map(|run| run.windows(together))
                .filter(|window| window.iter().all(|seat| house.free[*seat])).collect();
            windows.get(picks as usize % windows.len().max(1)).map(|window| window.to_vec()).unwrap_or_default()
        } else {
            usable.iter().enumerate().filter(|(at, _)| picks >> (at % 64) & 1 == 1).map(|(_, seat)| *seat).take(20).collect()
        };
        let seats: Vec<SeatNo> = chosen.iter().map(|seat| SeatNo(*seat as u32)).collect();
        let free = |seat: SeatNo| house.free[seat.0 as usize];
        let found = alone::check(&adjacency, free, &seats);
        let named = alone::leaves_alone(&adjacency, free, &seats);
        let mut lonely = BTreeSet::new();
        for run in &runs {
            let own: Vec<usize> = (0..run.len()).filter(|at| chosen.contains(&run[*at])).collect();
            let before = singles(run, |seat| house.free[seat]);
            let new = |taken: &dyn Fn(usize) -> bool| -> BTreeSet<usize> {
                singles(run, |seat| house.free[seat] && !taken(seat)).difference(&before).copied().collect()
            };
            let left = new(&|seat| chosen.contains(&seat));
            let one_piece = own.windows(2).all(|pair| pair[0] + 1 == pair[1]);
            let avoidable = (0..1_u32 << run.len()).any(|mask| {
                let at: Vec<usize> = (0..run.len()).filter(|at| mask >> at & 1 == 1).collect();
                at.len() == own.len()
                    && at.iter().all(|at| house.free[run[*at]])
                    && (!one_piece || at.windows(2).all(|pair| pair[0] + 1 == pair[1]))
                    && new(&|seat| at.iter().any(|at| run[*at] == seat)).is_empty()
            });
            if avoidable {
                lonely.extend(left);
            }
        }
        let expected: Vec<SeatNo> = lonely.iter().map(|seat| SeatNo(*seat as u32)).collect();
        prop_assert_eq!(&named, &expected);
        if let Some(found) = found {
            prop_assert_eq!(found.instead.len(), seats.len());
            prop_assert!(found.instead.iter().all(|seat| free(*seat)));
            prop_assert_eq!(alone::leaves_alone(&adjacency, free, &found.instead), vec![], "{:?}", found.instead);
        } else {
            prop_assert!(expected.is_empty());
        }
    }
}
