//! The words of every map: values in, words in the language of the page out.

use super::house::Standing;
use super::zones::Zone;
use crate::format;
use crate::i18n::{Locale, td_string};
use domain::Money;
use domain::hold::SeatState;
use domain::venue::SeatLabel;
use domain::venue::plan::Kind;

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

/// "Section 104, row C, seat 12"; a place to stand has no number that anybody could find.
pub fn place(lang: Locale, label: SeatLabel<'_>, kind: Kind) -> String {
    if kind == Kind::Standing {
        td_string!(lang, seats.standing_place, section = label.section)
    } else if label.row.is_empty() {
        td_string!(lang, seats.seat_place_no_row, section = label.section, seat = label.seat)
    } else {
        td_string!(lang, seats.seat_place, section = label.section, row = label.row, seat = label.seat)
    }
}

/// The price of a zone, or that it is not for sale.
pub fn price(lang: Locale, zone: Option<&Zone>) -> String {
    zone.and_then(|zone| zone.price)
        .map_or_else(|| td_string!(lang, seats.not_for_sale).to_owned(), |price| format::money(lang, price))
}

/// One price, or the lowest and the highest; that it is not for sale where there is none.
pub fn prices(lang: Locale, ends: Option<(Money, Money)>) -> String {
    match ends {
        None => td_string!(lang, seats.not_for_sale).to_owned(),
        Some((from, to)) if from == to => format::money(lang, from),
        Some((from, to)) => {
            td_string!(lang, seats.price_range, from = format::money(lang, from), to = format::money(lang, to))
        }
    }
}

/// What a place is for, where [`place`] doesn't say it already.
pub fn kind(lang: Locale, kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Seat | Kind::Standing => None,
        Kind::Wheelchair => Some(td_string!(lang, seats.kind_wheelchair)),
        Kind::Companion => Some(td_string!(lang, seats.kind_companion)),
    }
}

/// The words that separate the parts of a list in this language.
pub fn comma(lang: Locale) -> &'static str {
    match lang {
        Locale::en => ", ",
        Locale::zh => "，",
    }
}
