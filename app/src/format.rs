//! Numbers, money, dates and durations as people read them, in English and Simplified Chinese.
//!
//! Two languages don't need a locale library in the browser. Money is formatted from integers: the
//! digits are exact, whatever the currency. Nothing here reads a clock or a time zone database.

use crate::i18n::Locale;
use domain::time::civil;
use domain::{Millis, Money, ZonedTime};

/// Between an amount or a symbol and what belongs to it: keeps them on one line.
const NO_BREAK: char = '\u{a0}';
/// The sign of negative amounts.
const MINUS: char = '\u{2212}';

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const WEEKDAYS_ZH: [&str; 7] = ["周一", "周二", "周三", "周四", "周五", "周六", "周日"];

/// Symbols that the language's readers take for exactly this currency; others show their code.
fn symbol(lang: Locale, code: &str) -> Option<&'static str> {
    match (lang, code) {
        (_, "EUR") => Some("€"),
        (_, "GBP") => Some("£"),
        (_, "KRW") => Some("₩"),
        (Locale::en, "USD") => Some("$"),
        (Locale::zh, "USD") => Some("US$"),
        (Locale::en, "JPY") => Some("¥"),
        (Locale::zh, "JPY") => Some("JP¥"),
        (Locale::en, "CNY") => Some("CN¥"),
        (Locale::zh, "CNY") => Some("¥"),
        _ => None,
    }
}

/// A whole number in groups of three digits.
pub fn number(value: impl Into<u64>) -> String {
    group(&value.into().to_string())
}

fn group(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// An amount with exactly its currency's digits: `€45.00`, `¥5,000`, `KWD 1.235`.
pub fn money(lang: Locale, amount: Money) -> String {
    let decimal = Money { minor: amount.minor.saturating_abs(), ..amount }.decimal();
    let (whole, fraction) = decimal.split_once('.').map_or((decimal.as_str(), None), |(w, f)| (w, Some(f)));
    let mut out = String::new();
    if amount.minor < 0 {
        out.push(MINUS);
    }
    match symbol(lang, amount.currency.code()) {
        Some(symbol) => out.push_str(symbol),
        None => {
            out.push_str(amount.currency.code());
            out.push(NO_BREAK);
        }
    }
    out.push_str(&group(whole));
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

fn name(names: &'static [&'static str], from_one: u8) -> &'static str {
    names.get(usize::from(from_one).wrapping_sub(1)).copied().unwrap_or("")
}

/// The day: `Sat, 5 Dec 2026`, `2026年12月5日 周六`.
pub fn day(lang: Locale, time: &ZonedTime) -> String {
    match lang {
        Locale::en => {
            format!("{}, {} {} {}", name(&WEEKDAYS, time.weekday), time.day, name(&MONTHS, time.month), time.year)
        }
        Locale::zh => format!("{}年{}月{}日 {}", time.year, time.month, time.day, name(&WEEKDAYS_ZH, time.weekday)),
    }
}

/// The day of the month, its month and the weekday by themselves, for large dates on posters and
/// tickets: (`5`, `Dec`, `Sat`), (`5`, `12月`, `周六`).
pub fn day_parts(lang: Locale, time: &ZonedTime) -> (String, String, &'static str) {
    match lang {
        Locale::en => (time.day.to_string(), name(&MONTHS, time.month).to_owned(), name(&WEEKDAYS, time.weekday)),
        Locale::zh => (time.day.to_string(), format!("{}月", time.month), name(&WEEKDAYS_ZH, time.weekday)),
    }
}

/// The time of day at the venue: `20:00`.
pub fn clock_time(time: &ZonedTime) -> String {
    format!("{:02}:{:02}", time.hour, time.minute)
}

/// Day and time: `Sat, 5 Dec 2026, 20:00`, `2026年12月5日 周六 20:00`.
pub fn date_time(lang: Locale, time: &ZonedTime) -> String {
    let comma = if lang == Locale::en { "," } else { "" };
    format!("{}{comma} {}", day(lang, time), clock_time(time))
}

/// Day, time and how far it is from UTC, for moments that people elsewhere must hit:
/// `Sat, 5 Dec 2026, 20:00 (UTC+1)`.
pub fn moment(lang: Locale, time: &ZonedTime) -> String {
    let (open, close) = if lang == Locale::en { (" (", ")") } else { ("（", "）") };
    format!("{}{open}{}{close}", date_time(lang, time), utc_offset(time.offset_min))
}

/// As [`moment`], with the second, for logs: `Sat, 5 Dec 2026, 20:00:07 (UTC+1)`.
pub fn exact(lang: Locale, time: &ZonedTime) -> String {
    let (open, close) = if lang == Locale::en { (" (", ")") } else { ("（", "）") };
    // Zones differ by whole minutes: the second is the same in all of them.
    let second = time.at.0.div_euclid(1_000).rem_euclid(60);
    format!("{}:{second:02}{open}{}{close}", date_time(lang, time), utc_offset(time.offset_min))
}

/// The time of day at the venue with its distance from UTC: `20:00 (UTC+1)`.
pub fn venue_clock(lang: Locale, time: &ZonedTime) -> String {
    let (open, close) = if lang == Locale::en { (" (", ")") } else { ("（", "）") };
    format!("{}{open}{}{close}", clock_time(time), utc_offset(time.offset_min))
}

/// A moment with the name of its zone, for who decides about it: `Sat, 5 Dec 2026, 20:00 (UTC+1), Europe/Berlin`.
pub fn zoned_moment(lang: Locale, time: &ZonedTime) -> String {
    let comma = if lang == Locale::en { ", " } else { "，" };
    format!("{}{comma}{}", moment(lang, time), time.zone)
}

/// The time of day to the second with its distance from UTC: `20:00:07 (UTC+1)`.
pub fn exact_clock(lang: Locale, time: &ZonedTime) -> String {
    let (open, close) = if lang == Locale::en { (" (", ")") } else { ("（", "）") };
    let second = time.at.0.div_euclid(1_000).rem_euclid(60);
    format!("{}:{second:02}{open}{}{close}", clock_time(time), utc_offset(time.offset_min))
}

/// A moment on the clock of `near`, with that clock's distance from UTC: for moments that come without
/// their own. Where the zone's clocks were set between the two it is the same instant, told an hour off the
/// wall; the distance that is shown beside it keeps it true.
pub fn beside(at: Millis, near: &ZonedTime) -> ZonedTime {
    const DAY_MIN: i64 = 24 * 60;
    let minutes = at.0.div_euclid(60_000).saturating_add(i64::from(near.offset_min));
    let (days, minute) = (minutes.div_euclid(DAY_MIN), minutes.rem_euclid(DAY_MIN));
    let (year, month, day) = civil(days);
    ZonedTime {
        at,
        zone: near.zone.clone(),
        year: i16::try_from(year).unwrap_or(i16::MAX),
        month: small(month),
        day: small(day),
        hour: small(minute / 60),
        minute: small(minute % 60),
        // The first of January 1970 was a Thursday.
        weekday: small((days + 3).rem_euclid(7) + 1),
        offset_min: near.offset_min,
    }
}

/// A part of a date or a time, which is small by its nature.
fn small(part: i64) -> u8 {
    u8::try_from(part).unwrap_or(0)
}

fn utc_offset(minutes: i32) -> String {
    let sign = if minutes < 0 { MINUS } else { '+' };
    let (hours, rest) = (minutes.unsigned_abs() / 60, minutes.unsigned_abs() % 60);
    match (hours, rest) {
        (0, 0) => "UTC".to_owned(),
        (hours, 0) => format!("UTC{sign}{hours}"),
        (hours, rest) => format!("UTC{sign}{hours}:{rest:02}"),
    }
}

/// The machine form for `<time datetime>`: `2026-12-05T20:00+01:00`.
pub fn machine_time(time: &ZonedTime) -> String {
    let sign = if time.offset_min < 0 { '-' } else { '+' };
    let offset = time.offset_min.unsigned_abs();
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}{sign}{:02}:{:02}",
        time.year,
        time.month,
        time.day,
        time.hour,
        time.minute,
        offset / 60,
        offset % 60
    )
}

/// Whole seconds that remain, rounded up, so that "0" is shown at the end and not before it.
pub fn seconds_left(now: Millis, until: Millis) -> i64 {
    now.until(until).saturating_add(999) / 1_000
}

/// Days, hours, minutes and seconds.
pub fn parts(seconds: i64) -> (i64, i64, i64, i64) {
    (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60)
}

/// A short countdown: `14:59`, `1:02:03`.
pub fn short_clock(seconds: i64) -> String {
    let (days, hours, minutes, seconds) = parts(seconds.max(0));
    match days * 24 + hours {
        0 => format!("{minutes:02}:{seconds:02}"),
        hours => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// An estimate with its uncertainty, in whole minutes: from two thirds to one and a half of the
/// measured wait, as rates swing by about that while a sale runs. `None` for below a minute.
pub fn wait_minutes(wait_ms: i64) -> Option<(i64, i64)> {
    const MINUTE_MS: i64 = 60_000;
    if wait_ms < MINUTE_MS / 2 {
        return None;
    }
    let low = (wait_ms * 2 / 3 / MINUTE_MS).max(1);
    let high = (wait_ms.saturating_mul(3) / 2 + MINUTE_MS - 1) / MINUTE_MS;
    Some((low, high.max(low + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn money_of(minor: i64, code: &str) -> Money {
        Money::new(minor, code.parse().unwrap())
    }

    fn evening() -> ZonedTime {
        ZonedTime {
            at: Millis(1_796_497_200_000),
            zone: "Europe/Berlin".into(),
            year: 2026,
            month: 12,
            day: 5,
            hour: 20,
            minute: 0,
            weekday: 6,
            offset_min: 60,
        }
    }

    #[test]
    fn every_currency_shows_exactly_its_digits() {
        assert_eq!(money(Locale::en, money_of(4_500, "EUR")), "€45.00");
        assert_eq!(money(Locale::zh, money_of(4_500, "EUR")), "€45.00");
        assert_eq!(money(Locale::en, money_of(1_234_567, "USD")), "$12,345.67");
        assert_eq!(money(Locale::en, money_of(5_000, "JPY")), "¥5,000");
        assert_eq!(money(Locale::zh, money_of(5_000, "JPY")), "JP¥5,000");
        assert_eq!(money(Locale::en, money_of(1_235, "KWD")), "KWD\u{a0}1.235");
        assert_eq!(money(Locale::zh, money_of(68_000, "CNY")), "¥680.00");
        assert_eq!(money(Locale::en, money_of(-5, "EUR")), "\u{2212}€0.05");
        assert_eq!(money(Locale::en, money_of(10_001, "CLF")), "CLF\u{a0}1.0001");
    }

    #[test]
    fn dates_are_the_venues() {
        assert_eq!(date_time(Locale::en, &evening()), "Sat, 5 Dec 2026, 20:00");
        assert_eq!(date_time(Locale::zh, &evening()), "2026年12月5日 周六 20:00");
        assert_eq!(moment(Locale::en, &evening()), "Sat, 5 Dec 2026, 20:00 (UTC+1)");
        assert_eq!(moment(Locale::zh, &evening()), "2026年12月5日 周六 20:00（UTC+1）");
        let later = ZonedTime { at: Millis(1_796_497_207_999), ..evening() };
        assert_eq!(exact(Locale::en, &later), "Sat, 5 Dec 2026, 20:00:07 (UTC+1)");
        assert_eq!(venue_clock(Locale::en, &evening()), "20:00 (UTC+1)");
        assert_eq!(zoned_moment(Locale::en, &evening()), "Sat, 5 Dec 2026, 20:00 (UTC+1), Europe/Berlin");
        assert_eq!(zoned_moment(Locale::zh, &evening()), "2026年12月5日 周六 20:00（UTC+1），Europe/Berlin");
        assert_eq!(machine_time(&evening()), "2026-12-05T20:00+01:00");
        let kathmandu = ZonedTime { offset_min: 345, ..evening() };
        assert!(moment(Locale::en, &kathmandu).ends_with("(UTC+5:45)"));
        let newfoundland = ZonedTime { offset_min: -210, ..evening() };
        assert!(moment(Locale::en, &newfoundland).ends_with("(UTC\u{2212}3:30)"));
        assert!(machine_time(&newfoundland).ends_with("-03:30"));
    }

    #[test]
    fn a_moment_beside_another_is_on_its_clock() {
        let near = evening();
        assert_eq!(beside(near.at, &near), near);
        let leap = beside(Millis(1_709_164_799_000), &ZonedTime { offset_min: 0, ..evening() });
        assert_eq!(date_time(Locale::en, &leap), "Wed, 28 Feb 2024, 23:59");
        let next = beside(Millis(1_709_164_801_000), &leap);
        assert_eq!(exact(Locale::en, &next), "Thu, 29 Feb 2024, 00:00:01 (UTC)");
        let new_year = beside(Millis(0), &ZonedTime { offset_min: -210, ..evening() });
        assert_eq!(date_time(Locale::en, &new_year), "Wed, 31 Dec 1969, 20:30");
        assert_eq!(exact_clock(Locale::zh, &next), "00:00:01（UTC）");
    }

    #[test]
    fn a_countdown_reaches_zero_at_the_end_and_not_before() {
        assert_eq!(seconds_left(Millis(1), Millis(1_001)), 1);
        assert_eq!(seconds_left(Millis(1_000), Millis(1_001)), 1);
        assert_eq!(seconds_left(Millis(1_001), Millis(1_001)), 0);
        assert_eq!(seconds_left(Millis(9_000), Millis(1_001)), 0);
        assert_eq!(short_clock(899), "14:59");
        assert_eq!(short_clock(3_723), "1:02:03");
        assert_eq!(parts(93_784), (1, 2, 3, 4));
    }

    #[test]
    fn an_estimate_is_a_range_that_contains_the_measured_wait() {
        assert_eq!(wait_minutes(10_000), None);
        for minutes in 1..300 {
            let (low, high) = wait_minutes(minutes * 60_000).unwrap();
            assert!(low <= minutes && minutes <= high && low < high, "{minutes}: {low} to {high}");
        }
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(number(0u32), "0");
        assert_eq!(number(999u32), "999");
        assert_eq!(number(1_000u32), "1,000");
        assert_eq!(number(1_234_567u64), "1,234,567");
    }
}
