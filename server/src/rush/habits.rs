//! What kind of fan somebody is, drawn once from the seed: two runs with the same seed have the same
//! fans, whatever the server does.

use std::time::Duration;

use rand::{Rng, RngExt as _};

use super::Shares;

/// The longest that somebody who walks away stays in the queue, in milliseconds.
const LEAVES_AFTER_MAX_MS: u64 = 8_000;
/// One of so many fans wants as many seats as allowed (up to [`SEATS_WANTED_MAX`]); the others one or two.
const GROUP_ONE_IN: u32 = 10;
/// One of so many fans would rather stand.
const STANDS_ONE_IN: u32 = 4;
/// Most seats that a fan goes for.
const SEATS_WANTED_MAX: u32 = 4;

/// What a fan does with the seats once it has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Buy,
    /// Gives the seats back.
    Release,
    /// Closes the page: the seats come back when the hold runs out.
    Abandon,
}

/// One fan's habits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Habits {
    /// Walks away from the queue after this time, or at its turn if that comes first.
    pub(super) leaves_after: Option<Duration>,
    /// Presses the button twice.
    pub(super) joins_twice: bool,
    /// Polls the queue's state itself; the others look at the shared board.
    pub(super) polls: bool,
    /// Keeps an own socket to the live map.
    pub(super) follows_map: bool,
    pub(super) wanted: usize,
    pub(super) wish: Wish,
    /// Tries a card first that is declined.
    pub(super) declined_first: bool,
    /// Would rather stand, where there are places to stand.
    pub(super) stands: bool,
}

impl Habits {
    /// Draws one fan. `limit` is the most seats of one account.
    pub(super) fn draw(shares: &Shares, limit: u32, dice: &mut impl Rng) -> Self {
        let mut chance = |share: f64| dice.random::<f64>() < share;
        let leaves = chance(shares.walk_away);
        let joins_twice = chance(shares.join_twice);
        let polls = chance(shares.poll);
        let follows_map = chance(shares.sockets);
        let declined_first = chance(shares.decline_first);
        let fate: f64 = dice.random();
        let wish = match fate {
            fate if fate < shares.release => Wish::Release,
            fate if fate < shares.release + shares.abandon => Wish::Abandon,
            _ => Wish::Buy,
        };
        let group = dice.random_range(0..GROUP_ONE_IN) == 0;
        let wanted = if group { SEATS_WANTED_MAX } else { dice.random_range(1..=2u32) }.min(limit).max(1);
        let stands = dice.random_range(0..STANDS_ONE_IN) == 0;
        let leaves_after_ms = dice.random_range(0..=LEAVES_AFTER_MAX_MS);
        Self {
            leaves_after: leaves.then_some(Duration::from_millis(leaves_after_ms)),
            joins_twice,
            polls,
            follows_map,
            wanted: usize::try_from(wanted).unwrap_or(1),
            wish,
            declined_first,
            stands,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng as _;
    use rand::rngs::StdRng;

    fn draw_many(shares: &Shares, seed: u64) -> Vec<Habits> {
        let mut dice = StdRng::seed_from_u64(seed);
        (0..2_000).map(|_| Habits::draw(shares, 4, &mut dice)).collect()
    }

    #[test]
    fn the_same_seed_draws_the_same_fans() {
        let shares = Shares::default();
        assert_eq!(draw_many(&shares, 1), draw_many(&shares, 1));
        assert_ne!(draw_many(&shares, 1), draw_many(&shares, 2));
    }

    #[test]
    fn shares_are_kept() {
        let fans = draw_many(&Shares::default(), 3);
        let share = |test: fn(&Habits) -> bool| fans.iter().filter(|fan| test(fan)).count();
        assert!((140..260).contains(&share(|fan| fan.leaves_after.is_some())));
        assert!((140..260).contains(&share(|fan| fan.wish == Wish::Release)));
        assert!((60..140).contains(&share(|fan| fan.wish == Wish::Abandon)));
        assert!((60..140).contains(&share(|fan| fan.declined_first)));
        assert!(fans.iter().all(|fan| (1..=4).contains(&fan.wanted)));
        let all_walk = Shares { walk_away: 1.0, ..Shares::default() };
        assert!(draw_many(&all_walk, 1).iter().all(|fan| fan.leaves_after.is_some()));
    }

    #[test]
    fn nobody_wants_more_than_the_limit() {
        let mut dice = StdRng::seed_from_u64(1);
        assert!((0..500).all(|_| Habits::draw(&Shares::default(), 1, &mut dice).wanted == 1));
    }
}
