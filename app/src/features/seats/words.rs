//! The words of choosing seats: values in, sentences in the language of the page out.

use super::model::Notice;
use crate::error::AppError;
use crate::i18n::{Locale, td_string};
use domain::venue::best::Seating;
use domain::{Code, SeatNo};

/// How a notice names what it speaks of.
pub trait Names {
    /// The number of a seat as the venue names it.
    fn seat(&self, seat: SeatNo) -> String;
    /// The name of a standing area.
    fn area(&self, area: u32) -> String;
}

/// The sentence for a notice.
pub fn notice(lang: Locale, notice: &Notice, limit: u32, names: &impl Names) -> String {
    let list = |seats: &[SeatNo]| {
        let glue = match lang {
            Locale::en => ", ",
            Locale::zh => "、",
        };
        seats.iter().map(|seat| names.seat(*seat)).collect::<Vec<_>>().join(glue)
    };
    match notice {
        Notice::Taken { lost, kept } => {
            let what = match &lost[..] {
                [_] => td_string!(lang, seats.taken_one, seat = list(lost)),
                _ => td_string!(lang, seats.taken_many, seats = list(lost)),
            };
            let rest = match &kept[..] {
                [] => td_string!(lang, seats.kept_none).to_owned(),
                [_] => td_string!(lang, seats.kept_one, seat = list(kept)),
                _ => td_string!(lang, seats.kept_many, seats = list(kept)),
            };
            match lang {
                Locale::en => format!("{what} {rest}"),
                Locale::zh => format!("{what}{rest}"),
            }
        }
        Notice::AreaShort { area, left: 0 } => td_string!(lang, seats.area_none, area = names.area(*area)),
        Notice::AreaShort { area, left } => {
            td_string!(lang, seats.area_short, area = names.area(*area), count = *left)
        }
        Notice::LimitReached => td_string!(lang, seats.limit_reached, limit = limit),
        Notice::NotFree(seat) => td_string!(lang, seats.not_free, seat = names.seat(*seat)),
        Notice::Picked { count: 1, seating } => picked_one(lang, *seating),
        Notice::Picked { count, seating } => picked(lang, *count, *seating),
        Notice::LeavesSingle { lonely, instead } if instead.is_empty() => {
            td_string!(lang, seats.leaves_single_only, seat = list(lonely))
        }
        Notice::LeavesSingle { lonely, instead } => {
            td_string!(lang, seats.leaves_single, seat = list(lonely), instead = list(instead))
        }
        Notice::PassRequired => td_string!(lang, seats.pass_required).to_owned(),
        Notice::SignInRequired => td_string!(lang, seats.sign_in_required).to_owned(),
        Notice::GivenBack => td_string!(lang, seats.own_given_back).to_owned(),
        Notice::Ended => td_string!(lang, seats.own_ended).to_owned(),
        Notice::Refused(refusal) if refusal.code == Code::LimitExceeded => {
            td_string!(lang, seats.limit_reached, limit = limit)
        }
        // The text alone is wanted: a new error would set the status of an answer.
        Notice::Refused(refusal) => AppError(refusal.clone()).text(lang).to_owned(),
    }
}

fn picked_one(lang: Locale, seating: Seating) -> String {
    match seating {
        Seating::Accessible => td_string!(lang, seats.picked_place),
        _ => td_string!(lang, seats.picked_one),
    }
    .to_owned()
}

/// How many seats were picked, and how they lie to each other.
fn picked(lang: Locale, count: usize, seating: Seating) -> String {
    match seating {
        Seating::Together => td_string!(lang, seats.picked_together, count = count),
        Seating::Behind => td_string!(lang, seats.picked_behind, count = count),
        Seating::OneSection => td_string!(lang, seats.picked_section, count = count),
        Seating::Sections => td_string!(lang, seats.picked_sections, count = count),
        Seating::Accessible => td_string!(lang, seats.picked_accessible, count = count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct House;

    impl Names for House {
        fn seat(&self, seat: SeatNo) -> String {
            seat.to_string()
        }

        fn area(&self, _area: u32) -> String {
            "Pit".to_owned()
        }
    }

    #[test]
    fn seats_are_named_and_standing_places_are_counted() {
        let say = |notice: Notice| super::notice(Locale::en, &notice, 8, &House);
        let taken = |lost: &[u32], kept: &[u32]| {
            let seats = |list: &[u32]| list.iter().copied().map(SeatNo).collect();
            say(Notice::Taken { lost: seats(lost), kept: seats(kept) })
        };
        assert_eq!(taken(&[7], &[8]), "Seat 7 was just taken. Your seat 8 is still yours.");
        assert_eq!(taken(&[7, 8], &[]), "Seats 7, 8 were just taken. Nothing was held or charged.");
        assert_eq!(say(Notice::AreaShort { area: 3, left: 2 }), "Places left in Pit, standing: 2.");
        assert_eq!(say(Notice::AreaShort { area: 3, left: 0 }), "No place is left in Pit, standing.");
    }
}
