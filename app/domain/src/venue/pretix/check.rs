//! What no schema can say: unique guids, overlaps, content outside the sheet.
//!
//! Owns the repair rule for guids. It depends on the file alone, so that the same file always
//! gives the same identities:
//!
//! 1. an empty guid becomes `seat/<section>/<row>/<seat>`;
//! 2. one that the schema's pattern refuses becomes `seat/` and its text without outer spaces, line
//!    breaks turned into spaces;
//! 3. guids that several seats share are told apart by the rule of [`super::super::guid`].

use std::collections::{HashMap, HashSet};

use super::walk::GuidAt;
use crate::venue::finding::{Code, Findings};
use crate::venue::guid::{Repeats, repeats};
use crate::venue::plan::{Draft, MAX_TEXT_BYTES, Plan, guid_fits};

/// Comparisons of the overlap search before it is given up: a real plan of the greatest size needs
/// a tenth; only a drawing made to be slow needs more.
const MAX_COMPARISONS: usize = 20_000_000;
/// Part of the radii that seats may share before they count as overlapping: drawings round.
const OVERLAP_SLACK: f64 = 0.02;
/// Seats that one finding names; the message counts the rest.
const MAX_PLACES_NAMED: usize = 20;

/// A new guid for the seat at that place.
pub(super) struct Repair {
    place: (usize, usize, usize),
    guid: String,
}

fn path((zone, row, seat): (usize, usize, usize)) -> String {
    format!("zones[{zone}].rows[{row}].seats[{seat}].seat_guid")
}

/// Tells all guids that are empty, malformed or repeated, and how they are repaired.
pub(super) fn guids(guids: &[GuidAt], findings: &mut Findings) -> Vec<Repair> {
    let mut wanted = Vec::with_capacity(guids.len());
    for at in guids {
        wanted.push(well_formed(at, findings));
    }
    let Repeats { groups, repaired } = repeats(&wanted);
    for indices in &groups {
        if let Some(guid) = indices.first().and_then(|first| wanted.get(*first)) {
            tell_repeated(guid, indices, guids, findings);
        }
    }
    wanted
        .into_iter()
        .zip(repaired)
        .zip(guids)
        .filter_map(|((wanted, unique), at)| {
            let guid = unique.unwrap_or(wanted);
            (guid != at.guid).then_some(Repair { place: at.place, guid })
        })
        .collect()
}

/// The guid, repaired by rule 1 or 2 where it must be.
fn well_formed(at: &GuidAt, findings: &mut Findings) -> String {
    if guid_fits(&at.guid) {
        return at.guid.clone();
    }
    let trimmed = at.guid.trim();
    let (code, what) = if trimmed.is_empty() {
        (Code::GuidEmpty, "is empty")
    } else {
        (Code::GuidMalformed, "is refused by the format's pattern")
    };
    let tail = if trimmed.is_empty() { &at.fallback["seat/".len()..] } else { trimmed };
    let clean: String = tail.split(['\n', '\r', '\u{2028}', '\u{2029}']).collect::<Vec<_>>().join(" ");
    let mut repaired = format!("seat/{}", clean.trim_end());
    // Room for the suffix of rule 3 stays.
    while repaired.len() > MAX_TEXT_BYTES - 32 {
        repaired.pop();
    }
    let repaired = repaired.trim_end().to_owned();
    findings.add(code, path(at.place), format!("the guid {:?} {what}; repaired: {repaired:?}", at.guid));
    repaired
}

fn tell_repeated(guid: &str, indices: &[usize], guids: &[GuidAt], findings: &mut Findings) {
    let places: Vec<String> =
        indices.iter().take(MAX_PLACES_NAMED).filter_map(|index| guids.get(*index)).map(|at| path(at.place)).collect();
    let more = indices.len().saturating_sub(places.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let first_repeat = places.get(1).cloned().unwrap_or_default();
    findings.add(
        Code::GuidRepeated,
        first_repeat,
        format!("{} seats share the guid {guid:?}: {}{more}", indices.len(), places.join(", ")),
    );
}

/// Puts the repaired guids in place. The draft is complete, or it was refused before.
pub(super) fn apply(draft: &mut Draft, repairs: Vec<Repair>) {
    for Repair { place: (zone, row, seat), guid } in repairs {
        let seat = draft
            .sections
            .get_mut(zone)
            .and_then(|section| section.rows.get_mut(row))
            .and_then(|row| row.seats.get_mut(seat));
        if let Some(seat) = seat {
            seat.guid = guid;
        }
    }
}

/// Tells what is allowed but odd.
pub(super) fn advise(plan: &Plan, findings: &mut Findings) {
    let mut used = vec![false; plan.categories.len()];
    for seat in &plan.seats {
        if let Some(used) = used.get_mut(usize::from(seat.category)) {
            *used = true;
        }
        if seat.x < 0.0 || seat.y < 0.0 || seat.x > plan.size.width || seat.y > plan.size.height {
            findings.add(
                Code::SeatOutsideSize,
                format!("{}.position", plan.path_of(seat)),
                format!("{},{} is outside the sheet; the view box was widened", seat.x, seat.y),
            );
        }
    }
    for (index, (category, _)) in plan.categories.iter().zip(used).enumerate().filter(|(_, (_, used))| !used) {
        findings.add(
            Code::CategoryUnused,
            format!("categories[{index}]"),
            format!("no seat is of category {:?}", category.name),
        );
    }
    uuids(plan, findings);
    overlaps(plan, findings);
}

fn uuids(plan: &Plan, findings: &mut Findings) {
    let mut seen = HashSet::new();
    let sections = plan
        .sections
        .iter()
        .enumerate()
        .filter_map(|(index, section)| Some((section.uuid.as_deref()?, format!("zones[{index}].uuid"))));
    let seats =
        plan.seats.iter().filter_map(|seat| Some((seat.uuid.as_deref()?, format!("{}.uuid", plan.path_of(seat)))));
    for (uuid, path) in sections.chain(seats) {
        if !seen.insert(uuid) {
            findings.add(Code::UuidRepeated, path, format!("the UUID {uuid} is used twice"));
        }
    }
}

/// Tells, for each seat that lies over an earlier one, the first such.
fn overlaps(plan: &Plan, findings: &mut Findings) {
    let (pairs, searched) = overlapping(plan);
    for (seat, other) in pairs {
        findings.add(
            Code::SeatsOverlap,
            format!("{}.position", plan.path_of(&plan.seats[seat])),
            format!("drawn over {}", plan.path_of(&plan.seats[other])),
        );
    }
    if let Some(index) = searched {
        findings.add(
            Code::OverlapCheckIncomplete,
            String::new(),
            format!("overlaps were searched among the first {index} seats only"),
        );
    }
}

/// Each seat that lies over an earlier one, with the first such; and how many seats were looked at,
/// where the search was given up.
pub(in crate::venue) fn overlapping(plan: &Plan) -> (Vec<(usize, usize)>, Option<usize>) {
    let mut pairs = Vec::new();
    let widest = plan.seats.iter().map(|seat| seat.radius).fold(0.0, f64::max);
    if widest <= 0.0 {
        return (pairs, None);
    }
    let cell = widest * 2.0;
    let key = |value: f64| (value / cell).floor() as i64;
    let mut cells: HashMap<(i64, i64), Vec<usize>> = HashMap::new();
    let mut comparisons = 0;
    for (index, seat) in plan.seats.iter().enumerate() {
        let (column, line) = (key(seat.x), key(seat.y));
        let around = (-1..=1).flat_map(|dx| (-1..=1).map(move |dy| (column + dx, line + dy)));
        let earlier = around.filter_map(|key| cells.get(&key)).flatten();
        let hit = earlier.copied().find(|other| {
            comparisons += 1;
            let other = &plan.seats[*other];
            let reach = (seat.radius + other.radius) * (1.0 - OVERLAP_SLACK);
            seat.center().distance_squared(other.center()) < reach * reach
        });
        pairs.extend(hit.map(|other| (index, other)));
        if comparisons > MAX_COMPARISONS {
            return (pairs, Some(index));
        }
        cells.entry((column, line)).or_default().push(index);
    }
    (pairs, None)
}
