//! The words of choosing seats: values in, sentences in the language of the page out.

use super::model::Notice;
use crate::error::AppError;
use crate::i18n::{Locale, td_string};
use crate::seatmap::words::prices;
use domain::money::summary::Summary;
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

/// What a total has in it beside the prices, for the least and the most that it can be; nothing where it is
/// the prices alone.
pub fn included(lang: Locale, least: &Summary, most: &Summary) -> Option<String> {
    let (fees, tax) = ((least.fees(), most.fees()), (least.tax_added(), most.tax_added()));
    let words = match (fees.1.minor > 0, tax.1.minor > 0) {
        (false, false) => return None,
        (true, false) => td_string!(lang, fees.includes_fees, fees = prices(lang, Some(fees))),
        (false, true) => td_string!(lang, fees.includes_tax, tax = prices(lang, Some(tax))),
        (true, true) => {
            td_string!(lang, fees.includes_both, fees = prices(lang, Some(fees)), tax = prices(lang, Some(tax)))
        }
    };
    Some(words.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Money;
    use domain::money::fees::{FeeSchedule, Rate, TaxMode, TaxRule};

    #[test]
    fn a_total_says_what_it_has_in_it() {
        let none = FeeSchedule::none("EUR".parse().unwrap());
        let tax = TaxRule { rate: Rate::try_from(1_000).unwrap(), mode: TaxMode::Added };
        let sums = |schedule: FeeSchedule, minor: i64| {
            Summary::of(&schedule, &schedule.bill_of_prices(&[Money::new(minor, schedule.currency)]).unwrap())
        };
        let said = |schedule: FeeSchedule, least: i64, most: i64| {
            included(Locale::en, &sums(schedule, least), &sums(schedule, most))
        };
        let fee = FeeSchedule { service_rate: Rate::try_from(500).unwrap(), ..none };
        let both = FeeSchedule { ticket_tax: tax, ..fee };
        assert_eq!(said(none, 1_000, 2_000), None);
        assert_eq!(said(fee, 1_000, 1_000).as_deref(), Some("Includes €0.50 in fees."));
        assert_eq!(
            said(both, 1_000, 2_000).as_deref(),
            Some("Includes €0.50 to €1.00 in fees and €1.00 to €2.00 in tax.")
        );
        let taxed = FeeSchedule { ticket_tax: tax, ..none };
        assert_eq!(said(taxed, 1_000, 1_000).as_deref(), Some("Includes €1.00 in tax."));
    }

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
