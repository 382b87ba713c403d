//! A performance as a file for calendars (RFC 5545).
//!
//! It has no METHOD: that would make it a message of RFC 5546, which asks for an ORGANIZER with an address of mail.
//! The instant is written in UTC, which needs no description of a time zone in the file and can't be wrong;
//! the venue's own time and zone are told in the text.

use crate::time::{Millis, ZonedTime, civil};

/// How long an evening is in a calendar, as nobody says when it ends.
const DURATION: &str = "PT3H";
/// Longest line, in bytes without its end (RFC 5545, 3.1).
const LINE_MAX_BYTES: usize = 75;

/// What a calendar is told.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// Stays the same for this evening, so that a second file replaces the first.
    pub uid: &'a str,
    /// Counts changes of what the calendar shows.
    pub sequence: u32,
    /// When the file is made.
    pub made: Millis,
    /// When the evening begins.
    pub starts: &'a ZonedTime,
    /// Who plays, and the name of the event.
    pub summary: &'a str,
    /// Venue and city.
    pub location: &'a str,
    /// Seats, and what else belongs in the text, a line each.
    pub lines: &'a [String],
    /// Where the order is.
    pub url: &'a str,
}

/// The file.
pub fn file(entry: &Entry<'_>) -> String {
    let local = local(entry.starts);
    let text: Vec<&str> = entry.lines.iter().map(String::as_str).chain([local.as_str(), entry.url]).collect();
    let lines = [
        "BEGIN:VCALENDAR".to_owned(),
        "VERSION:2.0".to_owned(),
        "PRODID:-//StarArena//Tickets//EN".to_owned(),
        "CALSCALE:GREGORIAN".to_owned(),
        "BEGIN:VEVENT".to_owned(),
        format!("UID:{}", entry.uid),
        format!("SEQUENCE:{}", entry.sequence),
        format!("DTSTAMP:{}", utc(entry.made)),
        format!("DTSTART:{}", utc(entry.starts.at)),
        format!("DURATION:{DURATION}"),
        format!("SUMMARY:{}", escaped(entry.summary)),
        format!("LOCATION:{}", escaped(entry.location)),
        format!("DESCRIPTION:{}", escaped(&text.join("\n"))),
        format!("URL:{}", entry.url),
        "STATUS:CONFIRMED".to_owned(),
        "END:VEVENT".to_owned(),
        "END:VCALENDAR".to_owned(),
    ];
    lines.iter().map(|line| folded(line)).collect()
}

/// The venue's own time, in words of no language: `2026-12-05 20:00 (UTC+01:00, Europe/Berlin)`.
pub fn local(at: &ZonedTime) -> String {
    let (sign, offset) = (if at.offset_min < 0 { '-' } else { '+' }, at.offset_min.unsigned_abs());
    format!(
        "{:04}-{:02}-{:02} {:02}:{:02} (UTC{sign}{:02}:{:02}, {})",
        at.year,
        at.month,
        at.day,
        at.hour,
        at.minute,
        offset / 60,
        offset % 60,
        at.zone
    )
}

/// A date with time in UTC: `20261205T190000Z`.
fn utc(at: Millis) -> String {
    let seconds = at.0.div_euclid(1_000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    format!("{year:04}{month:02}{day:02}T{:02}{:02}{:02}Z", second / 3_600, second / 60 % 60, second % 60)
}

/// A value of the type TEXT (RFC 5545, 3.3.11). What can't be in one is left out.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | ';' | ',' => {
                out.push('\\');
                out.push(c);
            }
            '\n' => out.push_str("\\n"),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// A line with its end, in pieces of at most 75 bytes that begin with a space from the second on; no character
/// is cut (RFC 5545, 3.1).
fn folded(line: &str) -> String {
    let mut out = String::with_capacity(line.len() + line.len() / LINE_MAX_BYTES * 3 + 2);
    let mut used = 0;
    for c in line.chars() {
        if used + c.len_utf8() > LINE_MAX_BYTES {
            out.push_str("\r\n ");
            used = 1;
        }
        out.push(c);
        used += c.len_utf8();
    }
    out.push_str("\r\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    fn made(summary: &str, lines: &[String]) -> String {
        file(&Entry {
            uid: "performance-1@tickets.example.org",
            sequence: 0,
            made: Millis(1_709_164_800_000),
            starts: &evening(),
            summary,
            location: "Hall, Berlin",
            lines,
            url: "https://tickets.example.org/orders/1",
        })
    }

    #[test]
    fn an_evening_is_an_instant_with_the_venues_time_beside_it() {
        let text = made("Ana; the Band, live", &["Block A · row 1 · seat 2".to_owned()]);
        for line in [
            "BEGIN:VCALENDAR\r\n",
            "UID:performance-1@tickets.example.org\r\n",
            "SEQUENCE:0\r\n",
            "DTSTAMP:20240229T000000Z\r\n",
            "DTSTART:20261205T190000Z\r\n",
            "DURATION:PT3H\r\n",
            "SUMMARY:Ana\\; the Band\\, live\r\n",
            "LOCATION:Hall\\, Berlin\r\n",
        ] {
            assert!(text.contains(line), "{line:?} in {text}");
        }
        let whole = text.replace("\r\n ", "");
        assert!(
            whole.contains(
                "DESCRIPTION:Block A · row 1 · seat 2\\n2026-12-05 20:00 (UTC+01:00\\, Europe/Berlin)\\nhttps://"
            ),
            "{whole}"
        );
        assert!(text.ends_with("END:VCALENDAR\r\n"));
        assert!(!text.contains("METHOD"), "a message would need an organizer with an address");
    }

    #[test]
    fn a_value_can_not_begin_a_line_of_its_own() {
        let text = made("Ana\r\nDTSTART:19700101T000000Z", &[]);
        assert_eq!(text.matches("\r\nDTSTART:").count(), 1, "{text}");
        assert!(text.contains("SUMMARY:Ana\\nDTSTART:"), "{text}");
    }

    proptest! {
        /// Every line fits, and folding takes nothing away.
        #[test]
        fn lines_are_short_and_whole(text in "\\PC{0,300}") {
            let line = format!("SUMMARY:{}", escaped(&text));
            let folded = folded(&line);
            prop_assert!(folded.ends_with("\r\n"));
            for piece in folded.trim_end_matches("\r\n").split("\r\n") {
                prop_assert!(piece.len() <= LINE_MAX_BYTES);
            }
            prop_assert_eq!(folded.trim_end_matches("\r\n").replace("\r\n ", ""), line);
        }
    }
}
