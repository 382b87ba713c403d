//! Prices and seats as people type them.

use crate::ids::SeatNo;
use crate::money::{Currency, parse_amount};
use crate::refusal::{Code, Refusal};
use crate::venue::SeatLabel;
use std::collections::HashMap;

/// Most lines of typed seats: more is done on the map, or in steps.
pub const TYPED_LINES_MAX: usize = 100;
/// Most parts of typed seats: each is looked for in a whole row.
const TYPED_PARTS_MAX: usize = 500;

fn invalid<T>(message: String) -> Result<T, Refusal> {
    Err(Refusal::new(Code::InvalidInput, message))
}

/// A price in minor units, or none for an empty text.
///
/// # Errors
/// `invalid_input` names the field.
pub fn typed_price(field: &str, text: &str, currency: Currency) -> Result<Option<i64>, Refusal> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    match parse_amount(text, currency) {
        Ok(0) => invalid(format!("{field}: more than zero is expected")),
        Ok(minor) => Ok(Some(minor)),
        Err(error) => invalid(format!("{field}: {error}")),
    }
}

/// The prices of all zones, by index.
///
/// # Errors
/// `invalid_input` names the price as `prices[2]`.
pub fn typed_prices(amounts: &[String], zones: usize, currency: Currency) -> Result<Vec<Option<i64>>, Refusal> {
    if amounts.len() != zones {
        return invalid(format!("prices: {zones} amounts are expected, one for each zone"));
    }
    amounts.iter().enumerate().map(|(zone, text)| typed_price(&format!("prices[{zone}]"), text, currency)).collect()
}

/// The seats of one section by row, as they are looked up.
type Rows<'a> = HashMap<&'a str, Vec<(SeatNo, &'a str)>>;

/// Reads seats that were typed, one group a line:
///
/// - `104; C; 1-10, 12`: seats of a row; a range goes by the numbers on the seats, and both its ends
///   must be there
/// - `104; C`: the whole row, `104`: the whole section
/// - `# 0-99, 105`: numbers of seats as the plan counts them
///
/// Commas may stand for the semicolons. Labels are compared as they are, without spaces around.
///
/// # Errors
/// `invalid_input` with the line and what was not found there.
pub fn typed_seats<'a>(text: &str, labels: impl Iterator<Item = SeatLabel<'a>>) -> Result<Vec<SeatNo>, Refusal> {
    let lines: Vec<(usize, &str)> =
        text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty()).collect();
    if lines.is_empty() {
        return Ok(Vec::new());
    }
    if lines.len() > TYPED_LINES_MAX {
        return invalid(format!("seats: at most {TYPED_LINES_MAX} lines are expected"));
    }
    if text.matches([',', '，', ';', '；']).count() > TYPED_PARTS_MAX {
        return invalid(format!("seats: at most {TYPED_PARTS_MAX} parts are expected"));
    }
    let mut house: HashMap<&str, Rows<'a>> = HashMap::new();
    let mut count = 0_u32;
    for (seat, label) in (0_u32..).map(SeatNo).zip(labels) {
        let row = house.entry(label.section.trim()).or_default().entry(label.row.trim()).or_default();
        row.push((seat, label.seat.trim()));
        count += 1;
    }
    let mut chosen = vec![false; count as usize];
    for (at, line) in lines {
        let found = line_seats(line, &house, count)
            .map_err(|what| Refusal::new(Code::InvalidInput, format!("seats: line {}: {what}", at + 1)))?;
        for seat in found {
            if let Some(slot) = chosen.get_mut(seat.0 as usize) {
                *slot = true;
            }
        }
    }
    Ok((0..count).zip(chosen).filter(|(_, chosen)| *chosen).map(|(seat, _)| SeatNo(seat)).collect())
}

fn line_seats(line: &str, house: &HashMap<&str, Rows<'_>>, count: u32) -> Result<Vec<SeatNo>, String> {
    if let Some(numbers) = line.strip_prefix('#') {
        return numbered(numbers, count);
    }
    let sign = if line.contains([';', '；']) { [';', '；'] } else { [',', '，'] };
    let mut parts = line.splitn(3, sign).map(str::trim);
    let section = parts.next().unwrap_or_default();
    let rows = house.get(section).ok_or_else(|| format!("there is no section `{}`", short(section)))?;
    let Some(name) = parts.next() else {
        return Ok(rows.values().flatten().map(|(seat, _)| *seat).collect());
    };
    let row = rows.get(name).ok_or_else(|| format!("section `{}` has no row `{}`", short(section), short(name)))?;
    let Some(list) = parts.next() else { return Ok(row.iter().map(|(seat, _)| *seat).collect()) };
    let mut seats = Vec::new();
    for part in list.split([',', '，', ';', '；']).map(str::trim).filter(|part| !part.is_empty()) {
        seats.extend(row_seats(row, part).map_err(|missing| {
            format!("row `{}` of section `{}` has no seat `{}`", short(name), short(section), short(&missing))
        })?);
    }
    Ok(seats)
}

/// Seats of a row by one label or by a range of numbers; the missing label otherwise.
fn row_seats(row: &[(SeatNo, &str)], part: &str) -> Result<Vec<SeatNo>, String> {
    let by_label =
        |label: &str| row.iter().filter(|(_, name)| *name == label).map(|(seat, _)| *seat).collect::<Vec<_>>();
    let exact = by_label(part);
    if !exact.is_empty() {
        return Ok(exact);
    }
    let (first, last) = part.split_once(['-', '–']).ok_or_else(|| part.to_owned())?;
    let (first, last) = (first.trim(), last.trim());
    for end in [first, last] {
        if by_label(end).is_empty() {
            return Err(end.to_owned());
        }
    }
    let (Ok(from), Ok(to)) = (first.parse::<u32>(), last.parse::<u32>()) else { return Err(part.to_owned()) };
    let within = |name: &str| name.parse::<u32>().is_ok_and(|number| (from.min(to)..=from.max(to)).contains(&number));
    Ok(row.iter().filter(|(_, name)| within(name)).map(|(seat, _)| *seat).collect())
}

fn numbered(list: &str, count: u32) -> Result<Vec<SeatNo>, String> {
    let mut chosen = vec![false; count as usize];
    for part in list.split([',', '，']).map(str::trim).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let range = match (first.trim().parse::<usize>(), last.trim().parse::<usize>()) {
            (Ok(first), Ok(last)) if first <= last => first..=last,
            _ => return Err(format!("`{}` is no seat number", short(part))),
        };
        chosen
            .get_mut(range)
            .ok_or_else(|| {
                format!("there is no seat `{}`: they run from 0 to {}", short(part), count.saturating_sub(1))
            })?
            .fill(true);
    }
    Ok((0..count).zip(chosen).filter(|(_, chosen)| *chosen).map(|(seat, _)| SeatNo(seat)).collect())
}

/// What somebody typed, short enough for a sentence.
fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Where seats are, one row a line, as one would type them; at most so many lines.
#[must_use]
pub fn tell_seats<'a>(seats: &[SeatNo], label: impl Fn(SeatNo) -> Option<SeatLabel<'a>>, lines: usize) -> Vec<String> {
    let labels: Vec<(SeatNo, SeatLabel<'a>)> = seats.iter().filter_map(|seat| Some((*seat, label(*seat)?))).collect();
    let rows = labels.chunk_by(|(_, a), (_, b)| a.section == b.section && a.row == b.row);
    rows.take(lines)
        .filter_map(|row| {
            let (_, first) = row.first()?;
            let next = |a: &str, b: &str| {
                matches!((a.parse::<u32>(), b.parse::<u32>()), (Ok(a), Ok(b)) if a.checked_add(1) == Some(b))
            };
            let runs = row.chunk_by(|(_, a), (_, b)| next(a.seat, b.seat)).filter_map(|run| match run {
                [] => None,
                [(_, one)] => Some(one.seat.to_owned()),
                [(_, first), .., (_, last)] => Some(format!("{}-{}", first.seat, last.seat)),
            });
            Some(format!("{}; {}; {}", first.section, first.row, runs.collect::<Vec<_>>().join(", ")))
        })
        .collect()
}
