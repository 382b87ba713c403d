//! The words of the seat map: values in, sentences in the language of the page out.

use super::model::{Notice, Standing};
use super::zones::Zone;
use crate::error::AppError;
use crate::format;
use crate::i18n::{Locale, td_string};
use domain::hold::SeatState;
use domain::venue::SeatLabel;
use domain::venue::plan::Kind;
use domain::{Code, SeatNo};

/// One word or two for where a seat stands.
pub fn standing(lang: Locale, standing: Standing) -> &'static str {
    match standing {
        Standing::Live(SeatState::Available) => td_string!(lang, seats.state_available),
        Standing::Live(SeatState::Held) => td_string!(lang, seats.state_held),
        Standing::Live(SeatState::Sold) => td_string!(lang, seats.state_sold),
        Standing::Live(SeatState::Blocked) => td_string!(lang, seats.state_blocked),
        Standing::Chosen => td_string!(lang, seats.state_chosen),
        Standing::Mine => td_string!(lang, seats.state_mine),
    }
}

/// "Section 104, row C, seat 12".
pub fn place(lang: Locale, label: SeatLabel<'_>) -> String {
    if label.row.is_empty() {
        td_string!(lang, seats.seat_place_no_row, section = label.section, seat = label.seat)
    } else {
        td_string!(lang, seats.seat_place, section = label.section, row = label.row, seat = label.seat)
    }
}

/// The price of a zone, or that it is not for sale.
pub fn price(lang: Locale, zone: Option<&Zone>) -> String {
    zone.map_or_else(|| td_string!(lang, seats.not_for_sale).to_owned(), |zone| format::money(lang, zone.price))
}

/// What a place is for, where it is not an ordinary seat.
pub fn kind(lang: Locale, kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Seat => None,
        Kind::Wheelchair => Some(td_string!(lang, seats.kind_wheelchair)),
        Kind::Companion => Some(td_string!(lang, seats.kind_companion)),
        Kind::Standing => Some(td_string!(lang, seats.kind_standing)),
    }
}

/// The words that separate the parts of a list in this language.
pub fn comma(lang: Locale) -> &'static str {
    match lang {
        Locale::en => ", ",
        Locale::zh => "，",
    }
}

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
