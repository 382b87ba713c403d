//! What the fan has chosen, and what becomes of it: pure reducers without a browser.
//!
//! Owns the selection, its idempotency key, and the reasons told to the fan. It does not own the
//! live map ([`domain::live::LiveMap`]) nor any wording.
//!
//! **Invariant: the key belongs to exactly one choice**: a set of seats, and a number of places for each
//! standing area. The same choice repeats its key, so that a repeated request means the same hold; any
//! change of it drops the key.

use domain::hold::{AreaWish, SeatState};
use domain::venue::best::Seating;
use domain::{Code, Refusal, SeatNo};

/// Something to tell the fan, in order of what happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Somebody else took these; the others are still chosen.
    Taken {
        /// No longer chosen.
        lost: Vec<SeatNo>,
        /// Still chosen.
        kept: Vec<SeatNo>,
    },
    /// Fewer places are left in a standing area than were chosen, or are wanted.
    AreaShort {
        /// The area.
        area: u32,
        /// How many are left.
        left: u32,
    },
    /// As many seats are chosen as one account may have.
    LimitReached,
    /// This seat can't be chosen now.
    NotFree(SeatNo),
    /// The door was not passed, or the visit has ended.
    PassRequired,
    /// Nobody is signed in.
    SignInRequired,
    /// The best seats were picked and are held.
    Picked {
        /// How many.
        count: usize,
        /// How they lie to each other.
        seating: Seating,
    },
    /// The choice would leave seats alone.
    LeavesSingle {
        /// The seats that would be alone.
        lonely: Vec<SeatNo>,
        /// What could be chosen in place of the choice.
        instead: Vec<SeatNo>,
    },
    /// The own hold was given back.
    GivenBack,
    /// The time of the own hold ended.
    Ended,
    /// Another refusal.
    Refused(Refusal),
}

/// The chosen seats and places, in the order of choosing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    seats: Vec<SeatNo>,
    /// Never with a count of 0, each area once.
    areas: Vec<AreaWish>,
    key: Option<String>,
}

impl Selection {
    /// The seats, in the order of choosing.
    pub fn seats(&self) -> &[SeatNo] {
        &self.seats
    }

    /// The standing areas, in the order of choosing.
    pub fn areas(&self) -> &[AreaWish] {
        &self.areas
    }

    /// How many places of a standing area are chosen.
    pub fn count_in(&self, area: u32) -> u32 {
        self.areas.iter().find(|wish| wish.area == area).map_or(0, |wish| wish.count)
    }

    /// Seats and places together.
    pub fn places(&self) -> u32 {
        let seats = u32::try_from(self.seats.len()).unwrap_or(u32::MAX);
        self.areas.iter().fold(seats, |sum, wish| sum.saturating_add(wish.count))
    }

    /// Whether nothing is chosen.
    pub fn is_empty(&self) -> bool {
        self.seats.is_empty() && self.areas.is_empty()
    }

    /// Whether the seat is chosen.
    pub fn contains(&self, seat: SeatNo) -> bool {
        self.seats.contains(&seat)
    }

    /// Chooses the seat, or gives it up.
    ///
    /// # Errors
    /// The notice that explains why the seat can't be chosen; the selection is as it was.
    pub fn toggle(&mut self, seat: SeatNo, free: bool, limit: u32) -> Result<(), Notice> {
        if self.contains(seat) {
            self.remove(&[seat]);
            return Ok(());
        }
        if !free {
            return Err(Notice::NotFree(seat));
        }
        if self.places() >= limit {
            return Err(Notice::LimitReached);
        }
        self.seats.push(seat);
        self.key = None;
        Ok(())
    }

    /// Wants this many places of a standing area; 0 gives it up.
    ///
    /// # Errors
    /// The notice that explains why there can't be so many; the selection is as it was.
    pub fn want(&mut self, wish: AreaWish, free: u32, limit: u32) -> Result<(), Notice> {
        let before = self.count_in(wish.area);
        if wish.count > before && wish.count > free {
            return Err(Notice::AreaShort { area: wish.area, left: free });
        }
        if wish.count > before && self.places() - before + wish.count > limit {
            return Err(Notice::LimitReached);
        }
        self.set_count(wish);
        Ok(())
    }

    fn set_count(&mut self, wish: AreaWish) {
        if self.count_in(wish.area) == wish.count {
            return;
        }
        self.key = None;
        match self.areas.iter().position(|chosen| chosen.area == wish.area) {
            Some(at) if wish.count == 0 => drop(self.areas.remove(at)),
            Some(at) => self.areas[at] = wish,
            None => self.areas.push(wish),
        }
    }

    /// Gives up all standing areas: their places are held now.
    pub fn clear_areas(&mut self) {
        if !self.areas.is_empty() {
            self.areas.clear();
            self.key = None;
        }
    }

    /// Gives up these seats.
    pub fn remove(&mut self, seats: &[SeatNo]) {
        let before = self.seats.len();
        self.seats.retain(|seat| !seats.contains(seat));
        if self.seats.len() != before {
            self.key = None;
        }
    }

    /// Chooses these seats in place of all others.
    pub fn replace(&mut self, seats: Vec<SeatNo>) {
        self.seats = seats;
        self.key = None;
    }

    /// The idempotency key of exactly these seats; `fresh` makes one when the set is new.
    pub fn key(&mut self, fresh: impl FnOnce() -> String) -> String {
        self.key.get_or_insert_with(fresh).clone()
    }

    /// Forgets the key: its hold has ended, and the same seats may be held anew.
    pub fn renew_key(&mut self) {
        self.key = None;
    }

    /// Gives up what is no longer free, and says so.
    pub fn drop_taken(&mut self, state: impl Fn(SeatNo) -> Option<SeatState>) -> Option<Notice> {
        let lost: Vec<SeatNo> =
            self.seats.iter().copied().filter(|seat| state(*seat) != Some(SeatState::Available)).collect();
        self.lose(lost)
    }

    /// Wants no more places than are left in each standing area, and says where there were fewer.
    pub fn drop_full(&mut self, free: impl Fn(u32) -> u32) -> Option<Notice> {
        let short = self.areas.iter().copied().find(|wish| free(wish.area) < wish.count)?;
        for wish in self.areas.clone() {
            self.set_count(AreaWish { count: wish.count.min(free(wish.area)), ..wish });
        }
        Some(Notice::AreaShort { area: short.area, left: free(short.area) })
    }

    /// Takes the server's refusal of a hold into account.
    pub fn refused(&mut self, refusal: Refusal) -> Notice {
        match refusal.code {
            Code::SeatTaken | Code::SeatNotForSale | Code::UnknownSeat if !refusal.seats.is_empty() => {
                self.lose(refusal.seats.clone()).unwrap_or(Notice::Refused(refusal))
            }
            Code::LeavesSingle if !refusal.seats.is_empty() => {
                Notice::LeavesSingle { lonely: refusal.seats, instead: refusal.instead }
            }
            Code::PassRequired | Code::PassInvalid => Notice::PassRequired,
            Code::SignInRequired => Notice::SignInRequired,
            Code::HoldClosed | Code::KeyReused => {
                self.renew_key();
                Notice::Refused(refusal)
            }
            _ => Notice::Refused(refusal),
        }
    }

    fn lose(&mut self, lost: Vec<SeatNo>) -> Option<Notice> {
        let before = self.seats.len();
        self.remove(&lost);
        (self.seats.len() < before).then(|| Notice::Taken { lost, kept: self.seats.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seats(list: &[u32]) -> Vec<SeatNo> {
        list.iter().copied().map(SeatNo).collect()
    }

    fn chosen(list: &[u32]) -> Selection {
        let mut selection = Selection::default();
        for seat in seats(list) {
            selection.toggle(seat, true, 8).unwrap();
        }
        selection
    }

    #[test]
    fn the_limit_and_taken_seats_stop_a_choice() {
        let mut selection = chosen(&[1, 2]);
        assert_eq!(selection.toggle(SeatNo(3), true, 2), Err(Notice::LimitReached));
        assert_eq!(selection.toggle(SeatNo(3), false, 8), Err(Notice::NotFree(SeatNo(3))));
        assert_eq!(selection.toggle(SeatNo(1), false, 2), Ok(()), "giving up is always possible");
        assert_eq!(selection.seats(), seats(&[2]));
    }

    #[test]
    fn a_key_lives_as_long_as_its_set_of_seats() {
        let mut selection = chosen(&[1, 2]);
        assert_eq!(selection.key(|| "a".to_owned()), "a");
        assert_eq!(selection.key(|| "b".to_owned()), "a");
        selection.remove(&seats(&[9]));
        assert_eq!(selection.key(|| "b".to_owned()), "a", "nothing changed");
        selection.toggle(SeatNo(2), true, 8).unwrap();
        assert_eq!(selection.key(|| "c".to_owned()), "c");
    }

    #[test]
    fn a_conflict_takes_only_the_seats_it_names() {
        let mut selection = chosen(&[11, 12]);
        let _key = selection.key(|| "a".to_owned());
        let refusal = Refusal::new(Code::SeatTaken, "taken").with_seats(seats(&[12]));
        assert_eq!(selection.refused(refusal), Notice::Taken { lost: seats(&[12]), kept: seats(&[11]) });
        assert_eq!(selection.seats(), seats(&[11]));
        assert_eq!(selection.key(|| "b".to_owned()), "b", "the remaining seats are another request");
    }

    #[test]
    fn a_delta_takes_what_another_fan_took() {
        let mut selection = chosen(&[1, 2, 3]);
        let state = |seat: SeatNo| Some(if seat.0 == 2 { SeatState::Held } else { SeatState::Available });
        assert_eq!(selection.drop_taken(state), Some(Notice::Taken { lost: seats(&[2]), kept: seats(&[1, 3]) }));
        assert_eq!(selection.drop_taken(state), None);
    }

    #[test]
    fn places_of_areas_count_with_the_seats_and_belong_to_the_key() {
        let mut selection = chosen(&[1]);
        let want = |area, count| AreaWish { area, count };
        assert_eq!(selection.want(want(7, 3), 9, 4), Ok(()));
        assert_eq!((selection.places(), selection.count_in(7)), (4, 3));
        assert_eq!(selection.want(want(7, 4), 9, 4), Err(Notice::LimitReached));
        assert_eq!(selection.want(want(8, 1), 9, 4), Err(Notice::LimitReached));
        assert_eq!(selection.toggle(SeatNo(2), true, 4), Err(Notice::LimitReached));
        assert_eq!(selection.key(|| "a".to_owned()), "a");
        assert_eq!(selection.want(want(7, 3), 0, 4), Ok(()), "nothing changed");
        assert_eq!(selection.key(|| "b".to_owned()), "a");
        assert_eq!(selection.want(want(7, 2), 0, 4), Ok(()), "fewer are always possible");
        assert_eq!(selection.key(|| "b".to_owned()), "b");
        assert_eq!(selection.want(want(7, 3), 2, 4), Err(Notice::AreaShort { area: 7, left: 2 }));
        assert_eq!(selection.want(want(7, 0), 2, 4), Ok(()));
        assert!(selection.areas().is_empty() && !selection.is_empty());
    }

    #[test]
    fn an_area_that_fills_up_leaves_what_is_left() {
        let mut selection = chosen(&[1]);
        selection.want(AreaWish { area: 7, count: 3 }, 9, 8).unwrap();
        selection.want(AreaWish { area: 8, count: 2 }, 9, 8).unwrap();
        assert_eq!(selection.drop_full(|_| 3), None);
        let free = |area| if area == 7 { 1 } else { 0 };
        assert_eq!(selection.drop_full(free), Some(Notice::AreaShort { area: 7, left: 1 }));
        assert_eq!(selection.areas(), [AreaWish { area: 7, count: 1 }]);
        assert_eq!(selection.seats(), seats(&[1]));
    }

    #[test]
    fn a_choice_that_leaves_one_alone_is_kept_until_the_suggestion_is_taken() {
        let mut selection = chosen(&[2, 3]);
        let refusal = Refusal::new(Code::LeavesSingle, "").with_seats(seats(&[1])).with_instead(seats(&[1, 2]));
        let told = Notice::LeavesSingle { lonely: seats(&[1]), instead: seats(&[1, 2]) };
        assert_eq!(selection.refused(refusal), told);
        assert_eq!(selection.seats(), seats(&[2, 3]));
        let _key = selection.key(|| "a".to_owned());
        selection.replace(seats(&[1, 2]));
        assert_eq!(selection.seats(), seats(&[1, 2]));
        assert_eq!(selection.key(|| "b".to_owned()), "b");
    }

    #[test]
    fn other_refusals_keep_the_choice() {
        let mut selection = chosen(&[1]);
        assert_eq!(selection.refused(Refusal::new(Code::PassRequired, "")), Notice::PassRequired);
        assert_eq!(selection.refused(Refusal::new(Code::SignInRequired, "")), Notice::SignInRequired);
        assert!(matches!(selection.refused(Refusal::new(Code::Unavailable, "")), Notice::Refused(_)));
        assert_eq!(selection.seats(), seats(&[1]));
    }
}
