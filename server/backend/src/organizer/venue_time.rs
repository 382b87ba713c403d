//! Local times of a venue and the instants that they mean. A time that the clocks skip, or go through
//! twice, is never guessed: an on-sale an hour early is an accident.

use crate::catalog::zoned;
use crate::error::{Error, Result};
use domain::organizer::sales::LocalText;
use domain::{Code, Millis, Refusal};
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

/// Years that a sale may lie in: outside, a digit is missing or too many.
const YEARS: std::ops::RangeInclusive<i16> = 2000..=2199;

/// The instant of a local time such as `2027-03-28T20:00`, perhaps with seconds, and perhaps with an
/// offset behind it (`+02:00`, `Z`), which must be one that the zone has then.
///
/// # Errors
/// `invalid_input` names the field, and for a time that happens twice both ways to write it.
pub(crate) fn venue_instant(field: &str, text: &str, zone: &str) -> std::result::Result<Millis, Refusal> {
    let refuse = |what: String| Refusal::new(Code::InvalidInput, format!("{field}: {what}"));
    let expected = || {
        refuse(
            "a local time such as 2027-03-28T20:00 is expected, with an offset such as +02:00 behind it if need be"
                .to_owned(),
        )
    };
    let text = text.trim().replace('\u{2212}', "-");
    let (local, given) = split(&text).ok_or_else(expected)?;
    let time: DateTime = local.parse().map_err(|_| expected())?;
    if !YEARS.contains(&time.year()) {
        return Err(refuse(format!("a year from {} to {} is expected", YEARS.start(), YEARS.end())));
    }
    let rules = TimeZone::get(zone).map_err(|_| refuse(format!("the time zone {zone} is not known here")))?;
    let offset = match (rules.to_ambiguous_timestamp(time).offset(), given) {
        (AmbiguousOffset::Unambiguous { offset }, None) => offset,
        (AmbiguousOffset::Unambiguous { offset }, Some(given)) if offset == given => offset,
        (AmbiguousOffset::Unambiguous { offset }, Some(given)) => {
            return Err(refuse(format!("{zone} is at {} then, not at {}", shown(offset), shown(given))));
        }
        (AmbiguousOffset::Fold { before, after }, Some(given)) if given == before || given == after => given,
        (AmbiguousOffset::Fold { before, after }, _) => {
            return Err(refuse(format!(
                "{local} happens twice in {zone}, as the clocks go back: write {local}{} or {local}{}",
                shown(before),
                shown(after)
            )));
        }
        (AmbiguousOffset::Gap { before, after }, _) => {
            let minutes = (after.seconds() - before.seconds()) / 60;
            return Err(refuse(format!(
                "{local} does not exist in {zone}: the clocks go forward by {minutes} minutes then"
            )));
        }
    };
    offset.to_timestamp(time).map(|at| Millis(at.as_millisecond())).map_err(|_| expected())
}

/// Local part and offset, if both look like what they are to be.
fn split(text: &str) -> Option<(&str, Option<Offset>)> {
    // The date has hyphens of its own: an offset stands behind the time of day.
    const DATE_BYTES: usize = "2027-03-28T".len();
    let end = text.get(DATE_BYTES..)?.find(['+', '-', 'Z']).map_or(text.len(), |at| at + DATE_BYTES);
    let (local, offset) = text.split_at_checked(end)?;
    let shape = local.bytes().map(|b| if b.is_ascii_digit() { b'0' } else { b }).collect::<Vec<_>>();
    if shape != b"0000-00-00T00:00" && shape != b"0000-00-00T00:00:00" {
        return None;
    }
    match offset {
        "" => Some((local, None)),
        "Z" => Some((local, Some(Offset::UTC))),
        offset => Some((local, Some(parse_offset(offset)?))),
    }
}

fn parse_offset(text: &str) -> Option<Offset> {
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let two = |part: &str| (part.len() == 2).then(|| part.parse::<u8>().ok()).flatten().map(i32::from);
    let (hours, minutes) = (two(hours)?, two(minutes).filter(|minutes| *minutes < 60)?);
    Offset::from_seconds(sign * (hours * 3_600 + minutes * 60)).ok()
}

fn shown(offset: Offset) -> String {
    let seconds = offset.seconds();
    let sign = if seconds < 0 { '-' } else { '+' };
    format!("{sign}{:02}:{:02}", seconds.abs() / 3_600, seconds.abs() / 60 % 60)
}

/// An instant as a form shows it at the venue; [`venue_instant`] reads it back, to the second.
pub(crate) fn local_text(at: Millis, zone: &str) -> Result<LocalText> {
    let zoned = zoned(at, zone)?;
    let mut text =
        format!("{:04}-{:02}-{:02}T{:02}:{:02}", zoned.year, zoned.month, zoned.day, zoned.hour, zoned.minute);
    let seconds = at.0.div_euclid(1_000).rem_euclid(60);
    if seconds != 0 {
        text.push_str(&format!(":{seconds:02}"));
    }
    let unknown = |e: jiff::Error| Error::Broken(format!("the time zone {zone} can't be used: {e}"));
    let local: DateTime = text.parse().map_err(unknown)?;
    let twice = TimeZone::get(zone).map_err(unknown)?.to_ambiguous_timestamp(local).is_ambiguous();
    let offset =
        if twice { Offset::from_seconds(zoned.offset_min * 60).map(shown).map_err(unknown)? } else { String::new() };
    Ok(LocalText { text, offset, zoned: Some(zoned) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, zone: &str) -> i64 {
        venue_instant("opens", text, zone).unwrap_or_else(|refusal| panic!("{text} in {zone}: {refusal}")).0
    }

    fn no(text: &str, zone: &str) -> String {
        venue_instant("opens", text, zone).unwrap_err().message
    }

    #[test]
    fn one_local_time_means_one_instant_whoever_writes_it() {
        // 2027-07-01 10:00 UTC, in three zones.
        let utc = 1_814_436_000_000;
        for (text, zone) in [
            ("2027-07-01T12:00", "Europe/Berlin"),
            ("2027-07-01T12:00:00", "Europe/Berlin"),
            ("2027-07-01T12:00+02:00", "Europe/Berlin"),
            ("2027-07-01T06:00", "America/New_York"),
            ("2027-07-01T06:00\u{2212}04:00", "America/New_York"),
            ("2027-07-01T15:30", "Asia/Kolkata"),
            ("2027-07-01T20:30", "Australia/Lord_Howe"),
            ("2027-07-01T10:00Z", "UTC"),
        ] {
            assert_eq!(at(text, zone), utc, "{text} in {zone}");
        }
    }

    #[test]
    fn a_time_that_the_clocks_skip_is_refused() {
        for (text, zone, minutes) in [
            ("2027-03-28T02:30", "Europe/Berlin", 60),
            ("2027-03-28T02:30+01:00", "Europe/Berlin", 60),
            ("2027-03-14T02:00", "America/New_York", 60),
            ("2026-10-04T02:15", "Australia/Lord_Howe", 30),
            ("2018-11-04T00:30", "America/Sao_Paulo", 60),
        ] {
            let message = no(text, zone);
            assert!(message.starts_with("opens: ") && message.contains("does not exist"), "{message}");
            assert!(message.contains(&format!("by {minutes} minutes")), "{message}");
        }
        assert!(at("2027-03-28T03:00", "Europe/Berlin") - at("2027-03-28T01:59", "Europe/Berlin") == 60_000);
        assert!(at("2026-11-04T00:30", "America/Sao_Paulo") > 0, "Brazil gave summer time up");
    }

    #[test]
    fn a_time_that_happens_twice_wants_its_offset() {
        let message = no("2026-10-25T02:30", "Europe/Berlin");
        assert!(message.contains("write 2026-10-25T02:30+02:00 or 2026-10-25T02:30+01:00"), "{message}");
        let (first, second) =
            (at("2026-10-25T02:30+02:00", "Europe/Berlin"), at("2026-10-25T02:30+01:00", "Europe/Berlin"));
        assert_eq!(second - first, 3_600_000);
        let message = no("2027-04-04T01:45", "Australia/Lord_Howe");
        assert!(message.contains("+11:00 or") && message.contains("+10:30"), "{message}");
        let lord_howe = |offset| at(&format!("2027-04-04T01:45{offset}"), "Australia/Lord_Howe");
        assert_eq!(lord_howe("+10:30") - lord_howe("+11:00"), 1_800_000, "half an hour, not a whole one");
        assert!(no("2026-11-01T01:30", "America/New_York").contains("-04:00"));
        assert!(no("2018-02-17T23:30", "America/Sao_Paulo").contains("-02:00"));
        assert!(no("2026-10-25T02:30+03:00", "Europe/Berlin").contains("twice"));
    }

    #[test]
    fn an_offset_that_the_zone_does_not_have_then_is_refused() {
        assert!(no("2027-07-01T12:00+01:00", "Europe/Berlin").contains("is at +02:00 then, not at +01:00"));
        assert!(no("2027-07-01T12:00Z", "Asia/Kolkata").contains("+05:30"));
    }

    #[test]
    fn what_is_no_local_time_is_refused() {
        for bad in [
            "",
            "tomorrow",
            "2027-03-28",
            "2027-03-28T",
            "2027-02-30T10:00",
            "2027-13-01T10:00",
            "2027-03-28T25:00",
            "2027-03-28T10:60",
            "2027-3-28T10:00",
            "20270328T1000",
            "2027-03-28T10:00[Europe/Berlin]",
            "2027-03-28T10:00+2",
            "2027-03-28T10:00+02:60",
            "2027-03-28T10:00+99:00",
            "١٢٣٤-٠٣-٢٨T10:00",
            "0026-03-28T10:00",
            "9999-12-31T23:59",
            "2027-03-28T10:00:00.5",
            "-2027-03-28T10:00",
        ] {
            assert!(no(bad, "Europe/Berlin").starts_with("opens: "), "{bad}");
        }
        assert!(no("2027-03-28T10:00", "Mars/Olympus").contains("Mars/Olympus"));
    }

    #[test]
    fn what_a_form_shows_reads_back_as_the_same_instant() {
        for zone in ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"] {
            // Across the end of summer time of each, in steps of seven minutes and a second.
            for step in 0..2_000 {
                let instant = Millis(1_792_880_000_000 + step * 421_000);
                let local = local_text(instant, zone).unwrap();
                let text = format!("{}{}", local.text, local.offset);
                assert_eq!(at(&text, zone), instant.0, "{text} in {zone}");
            }
        }
        assert_eq!(local_text(Millis(1_792_990_000_000), "Europe/Berlin").unwrap().offset, "");
    }
}
