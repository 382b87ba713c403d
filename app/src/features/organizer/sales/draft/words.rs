//! The words of the checklist, and of how places become turns.

use crate::format;
use crate::i18n::{Locale, td_string};
use domain::organizer::draft::{Detail, Item, WINDOW_MAX_MS, WINDOW_MIN_MS};
use domain::queue::Mode;

/// How places become turns, in a few words.
pub(in crate::features::organizer::sales) fn mode_text(lang: Locale, mode: Mode) -> &'static str {
    match mode {
        Mode::Queue => td_string!(lang, sales.mode_queue),
        Mode::Lottery => td_string!(lang, sales.mode_lottery),
    }
}

/// A point of the checklist.
pub(super) fn item_text(lang: Locale, item: Item) -> &'static str {
    match item {
        Item::Plan => td_string!(lang, sales.plan),
        Item::Starts => td_string!(lang, sales.starts),
        Item::Opens => td_string!(lang, sales.opens),
        Item::Closes => td_string!(lang, sales.closes),
        Item::Registers => td_string!(lang, sales.registers),
        Item::AccountCutoff => td_string!(lang, sales.account_cutoff),
        Item::Window => td_string!(lang, sales.window),
        Item::Currency => td_string!(lang, sales.currency),
        Item::Zones => td_string!(lang, sales.item_zones),
        Item::Prices => td_string!(lang, sales.item_prices),
        Item::SeatLimit => td_string!(lang, sales.seat_limit),
        Item::HoldTime => td_string!(lang, sales.hold_time),
        Item::Shoppers => td_string!(lang, sales.shoppers),
        Item::Release => td_string!(lang, sales.release),
    }
}

/// Why a point stands as it does.
pub(super) fn detail_text(lang: Locale, detail: &Detail) -> String {
    let plain = match detail {
        Detail::Fine => "",
        Detail::Unset => td_string!(lang, sales.unset),
        Detail::Past => td_string!(lang, sales.past),
        Detail::OpensAtOnce => td_string!(lang, sales.opens_at_once),
        Detail::OpensAfterStart => td_string!(lang, sales.opens_after_start),
        Detail::ClosesBeforeOpening => td_string!(lang, sales.closes_before_opening),
        Detail::ClosesAfterStart => td_string!(lang, sales.closes_after_start),
        Detail::NobodyRegisters => td_string!(lang, sales.nobody_registers),
        Detail::RegistersAtOpening => td_string!(lang, sales.registers_at_opening),
        Detail::CutoffAfterOpening => td_string!(lang, sales.cutoff_after_opening),
        Detail::NoWholeWindow => td_string!(lang, sales.no_whole_window),
        Detail::NoCurrency => td_string!(lang, sales.no_currency),
        Detail::NothingForSale => td_string!(lang, sales.nothing_for_sale),
        Detail::ZonesUnfit => td_string!(lang, sales.zones_unfit),
        Detail::Unpriced(zones) => {
            let list: Vec<String> =
                zones.iter().map(|(name, count)| format!("{name} ({})", format::number(*count))).collect();
            let list = list.join(if lang == Locale::en { ", " } else { "、" });
            return td_string!(lang, sales.unpriced, zones = list).to_string();
        }
        Detail::PriceOutOfRange(zone) => {
            return td_string!(lang, sales.price_out_of_range, zone = zone.clone()).to_string();
        }
        Detail::SeatsOutside(count) => {
            return td_string!(lang, sales.seats_outside, count = format::number(*count)).to_string();
        }
        Detail::SeatsTwice(count) => {
            return td_string!(lang, sales.seats_twice, count = format::number(*count)).to_string();
        }
        // In the form it is minutes that are written.
        Detail::OutOfRange(WINDOW_MIN_MS, WINDOW_MAX_MS) => td_string!(lang, sales.window_range),
        Detail::OutOfRange(from, to) => {
            return td_string!(lang, sales.out_of_range, from = *from, to = *to).to_string();
        }
    };
    plain.to_owned()
}
