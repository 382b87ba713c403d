//! The words of choosing seats: values in, sentences in the language of the page out.

use super::model::Notice;
use crate::error::AppError;
use crate::i18n::{Locale, td_string};
use domain::{Code, SeatNo};

/// The sentence for a notice; `label` gives the seat's number as the venue names it.
pub fn notice(lang: Locale, notice: &Notice, limit: u32, label: impl Fn(SeatNo) -> String) -> String {
    let names = |seats: &[SeatNo]| {
        let glue = match lang {
            Locale::en => ", ",
            Locale::zh => "、",
        };
        seats.iter().map(|seat| label(*seat)).collect::<Vec<_>>().join(glue)
    };
    match notice {
        Notice::Taken { lost, kept } => {
            let what = match &lost[..] {
                [seat] => td_string!(lang, seats.taken_one, seat = label(*seat)),
                many => td_string!(lang, seats.taken_many, seats = names(many)),
            };
            let rest = match &kept[..] {
                [] => td_string!(lang, seats.kept_none).to_owned(),
                [seat] => td_string!(lang, seats.kept_one, seat = label(*seat)),
                many => td_string!(lang, seats.kept_many, seats = names(many)),
            };
            match lang {
                Locale::en => format!("{what} {rest}"),
                Locale::zh => format!("{what}{rest}"),
            }
        }
        Notice::LimitReached => td_string!(lang, seats.limit_reached, limit = limit),
        Notice::NotFree(seat) => td_string!(lang, seats.not_free, seat = label(*seat)),
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
