//! What the fan has chosen, and what becomes of it: pure reducers without a browser.
//!
//! Owns the selection, its idempotency key, and the reasons told to the fan. It does not own the
//! live map ([`domain::live::LiveMap`]) nor any wording.
//!
//! **Invariant: the key belongs to exactly one set of seats.** The same set repeats its key, so that
//! a repeated request means the same hold; any change of the set drops it.

use domain::hold::SeatState;
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

/// The chosen seats, in the order of choosing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    seats: Vec<SeatNo>,
    key: Option<String>,
}

impl Selection {
    /// The seats, in the order of choosing.
    pub fn seats(&self) -> &[SeatNo] {
        &self.seats
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
        if self.seats.len() >= limit as usize {
            return Err(Notice::LimitReached);
        }
        self.seats.push(seat);
        self.key = None;
        Ok(())
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
