//! The words of choosing seats: values in, sentences in the language of the page out.

use super::model::Notice;
use crate::error::AppError;
use crate::i18n::{Locale, td_string};
use domain::venue::best::Seating;
use domain::{Code, SeatNo};

/// The sentence for a notice; `label` gives the seat's number as the venue names it, and none for a place
/// to stand.
pub fn notice(lang: Locale, notice: &Notice, limit: u32, label: impl Fn(SeatNo) -> Option<String>) -> String {
    let names = |seats: &[SeatNo]| {
        let glue = match lang {
            Locale::en => ", ",
            Locale::zh => "、",
        };
        seats.iter().map(|seat| label(*seat)).collect::<Option<Vec<_>>>().map(|names| names.join(glue))
    };
    match notice {
        Notice::Taken { lost, kept } => {
            let what = match (&lost[..], names(lost)) {
                ([_], Some(name)) => td_string!(lang, seats.taken_one, seat = name),
                (_, Some(names)) => td_string!(lang, seats.taken_many, seats = names),
                (places, None) => td_string!(lang, seats.taken_places, count = places.len()),
            };
            let rest = match (&kept[..], names(kept)) {
                ([], _) => td_string!(lang, seats.kept_none).to_owned(),
                ([_], Some(name)) => td_string!(lang, seats.kept_one, seat = name),
                (_, Some(names)) => td_string!(lang, seats.kept_many, seats = names),
                (_, None) => td_string!(lang, seats.kept_places).to_owned(),
            };
            match lang {
                Locale::en => format!("{what} {rest}"),
                Locale::zh => format!("{what}{rest}"),
            }
        }
        Notice::LimitReached => td_string!(lang, seats.limit_reached, limit = limit),
        Notice::NotFree(seat) => match label(*seat) {
            Some(seat) => td_string!(lang, seats.not_free, seat = seat),
            None => td_string!(lang, seats.not_free_place).to_owned(),
        },
        Notice::Picked { count: 1, seating } => picked_one(lang, *seating),
        Notice::Picked { count, seating } => picked(lang, *count, *seating),
        Notice::LeavesSingle { lonely, instead } => {
            let lonely = names(lonely).unwrap_or_default();
            match names(instead) {
                Some(instead) if !instead.is_empty() => {
                    td_string!(lang, seats.leaves_single, seat = lonely, instead = instead)
                }
                _ => td_string!(lang, seats.leaves_single_only, seat = lonely),
            }
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

    #[test]
    fn seats_are_named_and_standing_places_are_counted() {
        let label = |seat: SeatNo| (seat.0 < 100).then(|| seat.to_string());
        let say = |lost: &[u32], kept: &[u32]| {
            let seats = |list: &[u32]| list.iter().copied().map(SeatNo).collect();
            notice(Locale::en, &Notice::Taken { lost: seats(lost), kept: seats(kept) }, 8, label)
        };
        assert_eq!(say(&[7], &[8]), "Seat 7 was just taken. Your seat 8 is still yours.");
        assert_eq!(say(&[7, 8], &[]), "Seats 7, 8 were just taken. Nothing was held or charged.");
        let standing = say(&[700, 7], &[800]);
        assert!(standing.starts_with("2 of the places") && !standing.contains("00"), "{standing}");
        let refused = notice(Locale::en, &Notice::NotFree(SeatNo(700)), 8, label);
        assert!(!refused.contains("700"), "{refused}");
    }
}
