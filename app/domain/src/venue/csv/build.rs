//! From all lines together to a plan: rows, identities, categories, places.
//!
//! Owns what one line can't tell: repeated seats and ids, coordinates for some lines, prices that
//! differ within a category. The plan is made even when the file is refused, so that what is wrong
//! can be shown on it.

use std::collections::HashMap;

use sha2::{Digest as _, Sha256};

use super::layout::{self, Outline};
use super::lines::{Line, SectionName};
use super::order;
use super::prices::Prices;
use super::{blocked_path, note_path};
use crate::venue::finding::{Code, Finding, Findings};
use crate::venue::geometry::Point;
use crate::venue::guid::repeats;
use crate::venue::plan::{
    Draft, DraftArea, DraftRow, DraftSeat, DraftSection, Kept, Kind, MAX_TEXT_BYTES, Plan, Shape, guid_fits,
};

/// Lines that one finding names; the message counts the rest.
const MAX_LINES_NAMED: usize = 20;
/// Longest guid that is made of labels; room for the suffix of a repair stays.
const MAX_MADE_GUID_BYTES: usize = MAX_TEXT_BYTES - 32;

/// One place of the table.
pub(super) struct Entry<'l> {
    pub(super) line: &'l Line,
    pub(super) label: String,
    pub(super) guid: String,
    pub(super) at: Point,
}

/// A row object in the making.
pub(super) struct RowOf<'l> {
    pub(super) section: usize,
    pub(super) label: &'l str,
    pub(super) standing: bool,
    /// Places in the order of sitting.
    pub(super) entries: Vec<Entry<'l>>,
}

/// What became of the lines.
pub(super) struct Built {
    pub(super) plan: Option<Plan>,
    pub(super) prices: Prices,
    /// The seats of each line.
    pub(super) seats_of: HashMap<u32, Vec<u32>>,
    /// For a line that was left out, the line that it repeats.
    pub(super) repeats_line: HashMap<u32, u32>,
}

/// Makes the plan.
pub(super) fn build(name: String, lines: &[Line], sections: &[SectionName], findings: &mut Findings) -> Built {
    let mut repeats_line = HashMap::new();
    let mut rows = rows(lines, sections, findings, &mut repeats_line);
    let groups = identities(&mut rows, sections, findings);
    let placed = located(lines, findings);
    let (outlines, scenery) = if placed {
        rows.iter_mut().for_each(order::by_place);
        (order::spread(&mut rows), None)
    } else {
        rows.iter_mut().for_each(order::by_number);
        laid_out(&mut rows, sections, findings)
    };
    let prices = Prices::new(rows_in_order(&rows, sections.len()).flat_map(|row| &row.entries), findings);
    let draft = draft(name, &rows, sections, outlines, scenery, &prices);
    let lines_of: HashMap<String, u32> =
        rows.iter().flat_map(|row| &row.entries).map(|entry| (entry.guid.clone(), entry.line.line)).collect();
    let plan = match draft.finish() {
        Ok(plan) => Some(plan),
        Err(error) => {
            findings.add(Code::LimitExceeded, String::new(), error.to_string());
            None
        }
    };
    let mut seats_of: HashMap<u32, Vec<u32>> = HashMap::new();
    if let Some(plan) = &plan {
        for (seat_no, seat) in (0_u32..).zip(&plan.seats) {
            if let Some(line) = lines_of.get(&seat.guid) {
                seats_of.entry(*line).or_default().push(seat_no);
            }
        }
    }
    tell_repeated(&groups, &seats_of, findings);
    Built { plan, prices, seats_of, repeats_line }
}

/// Rows as the plan will have them: section after section.
fn rows_in_order<'a, 'l>(rows: &'a [RowOf<'l>], sections: usize) -> impl Iterator<Item = &'a RowOf<'l>> {
    let mut by_section = vec![Vec::new(); sections];
    for row in rows {
        if let Some(list) = by_section.get_mut(row.section) {
            list.push(row);
        }
    }
    by_section.into_iter().flatten()
}

/// Lines of one section and row become one row object; places to stand are a row of their own.
fn rows<'l>(
    lines: &'l [Line],
    sections: &[SectionName],
    findings: &mut Findings,
    repeats_line: &mut HashMap<u32, u32>,
) -> Vec<RowOf<'l>> {
    let mut rows: Vec<RowOf<'l>> = Vec::new();
    let mut index: HashMap<(usize, &str, bool), usize> = HashMap::new();
    let mut seen: HashMap<(usize, &str, &str), &Line> = HashMap::new();
    for line in lines {
        let standing = line.kind == Kind::Standing;
        for label in &line.labels {
            if let Some(first) = seen.get(&(line.section, line.row.as_str(), label.as_str())) {
                let told_apart = !line.id.is_empty() && !first.id.is_empty() && line.id != first.id;
                if repeats_line.insert(line.line, first.line) != Some(first.line) {
                    tell_seat_repeated(line, first, label, sections, told_apart, findings);
                }
                if !told_apart {
                    continue;
                }
            } else {
                seen.insert((line.section, &line.row, label), line);
            }
            let row = *index.entry((line.section, &line.row, standing)).or_insert_with(|| {
                rows.push(RowOf { section: line.section, label: &line.row, standing, entries: Vec::new() });
                rows.len() - 1
            });
            let at = line.place.unwrap_or_default();
            if let Some(row) = rows.get_mut(row) {
                row.entries.push(Entry { line, label: label.clone(), guid: String::new(), at });
            }
        }
    }
    rows
}

fn tell_seat_repeated(
    line: &Line,
    first: &Line,
    label: &str,
    sections: &[SectionName],
    told_apart: bool,
    findings: &mut Findings,
) {
    let section = sections.get(line.section).map_or("", |section| section.name.as_str());
    let what = format!("section {section:?}, row {:?}, seat {label:?}", line.row);
    let (code, message) = if told_apart {
        (Code::LabelRepeated, format!("{what} stands in line {} as well; their ids tell them apart", first.line))
    } else {
        (Code::SeatRepeated, format!("{what} stands in line {} as well", first.line))
    };
    findings.tell(Finding { line: Some(line.line), ..Finding::new(code, "seat", message) });
}

/// A guid that several lines share.
struct Shared {
    guid: String,
    lines: Vec<u32>,
}

/// Gives each place its permanent identity.
fn identities(rows: &mut [RowOf<'_>], sections: &[SectionName], findings: &mut Findings) -> Vec<Shared> {
    let mut short_ids = (0_usize, 0);
    let mut wanted = Vec::new();
    let mut lines = Vec::new();
    // In the order of the file, which rows are not.
    let mut entries: Vec<&mut Entry<'_>> = Vec::new();
    for row in rows {
        let section = sections.get(row.section).map_or("", |section| section.name.as_str());
        for entry in &mut row.entries {
            entry.guid = guid(entry, section, row.label, row.standing);
            if !entry.line.id.is_empty() && !guid_fits(&entry.line.id) {
                short_ids.0 += 1;
                short_ids.1 = if short_ids.1 == 0 { entry.line.line } else { entry.line.line.min(short_ids.1) };
            }
            entries.push(entry);
        }
    }
    entries.sort_by_key(|entry| entry.line.line);
    for entry in &entries {
        wanted.push(entry.guid.clone());
        lines.push(entry.line.line);
    }
    if short_ids.0 > 0 {
        let message = format!("{} ids are too short for other formats; \"id/\" is put before them", short_ids.0);
        findings.tell(Finding { line: Some(short_ids.1), ..Finding::new(Code::DefaultUsed, "column \"id\"", message) });
    }
    let found = repeats(&wanted);
    for (entry, repaired) in entries.into_iter().zip(found.repaired) {
        if let Some(guid) = repaired {
            entry.guid = guid;
        }
    }
    let shared = found.groups.into_iter().map(|places| Shared {
        guid: places.first().and_then(|place| wanted.get(*place)).cloned().unwrap_or_default(),
        lines: places.iter().filter_map(|place| lines.get(*place).copied()).collect(),
    });
    shared.collect()
}

/// The id of the line; where several places share a line, with their label; where there is none, made
/// of the labels, so that the same labels give the same identity in every version of the table.
fn guid(entry: &Entry<'_>, section: &str, row: &str, standing: bool) -> String {
    let Entry { line, label, .. } = entry;
    let made = if line.id.is_empty() {
        let plain = |text: &str| text.replace('%', "%25").replace('/', "%2F");
        let kind = if standing { "standing" } else { "seat" };
        format!("{kind}/{}/{}/{}", plain(section), plain(row), plain(label))
    } else if line.area || line.labels.len() > 1 {
        format!("{}/{label}", line.id)
    } else if guid_fits(&line.id) {
        return line.id.clone();
    } else {
        format!("id/{}", line.id)
    };
    if made.len() <= MAX_MADE_GUID_BYTES && guid_fits(&made) {
        return made;
    }
    let digest = Sha256::digest(made.as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256/{hex}")
}

fn tell_repeated(groups: &[Shared], seats_of: &HashMap<u32, Vec<u32>>, findings: &mut Findings) {
    for Shared { guid, lines } in groups {
        let named: Vec<String> = lines.iter().take(MAX_LINES_NAMED).map(u32::to_string).collect();
        let more = lines.len() - named.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let message = format!("{} places share the id {guid:?}: lines {}{more}", lines.len(), named.join(", "));
        let seats = lines.iter().take(MAX_LINES_NAMED).filter_map(|line| seats_of.get(line)).flatten().copied();
        findings.tell(Finding {
            line: lines.get(1).copied(),
            seats: seats.take(MAX_LINES_NAMED).collect(),
            ..Finding::new(Code::GuidRepeated, "id", message)
        });
    }
}

/// Whether the table brings its own places. Where only some lines do, the fewer are told.
fn located(lines: &[Line], findings: &mut Findings) -> bool {
    let with = lines.iter().filter(|line| line.place.is_some()).count();
    let without = lines.len() - with;
    if with == 0 || without == 0 {
        return with > 0;
    }
    let fewer_with = with < without;
    let message = if fewer_with {
        format!("this line has coordinates, {without} others have none")
    } else {
        format!("no coordinates, but {with} other lines have them")
    };
    for line in lines.iter().filter(|line| line.place.is_some() == fewer_with) {
        let finding = Finding::new(Code::CoordinatesPartial, "x, y", message.clone());
        findings.tell(Finding { line: Some(line.line), ..finding });
    }
    false
}

type Drawing = (Vec<Option<Outline>>, Option<DraftArea>);

fn laid_out(rows: &mut [RowOf<'_>], sections: &[SectionName], findings: &mut Findings) -> Drawing {
    if rows.is_empty() {
        return (Vec::new(), None);
    }
    let wanted: Vec<layout::RowIn<'_>> = rows
        .iter()
        .map(|row| layout::RowIn {
            section: row.section,
            label: row.label,
            standing: row.standing,
            count: row.entries.len(),
        })
        .collect();
    let stands: Vec<&str> = sections.iter().map(|section| section.stand.as_str()).collect();
    let laid = layout::generate(&wanted, &stands);
    for (row, places) in rows.iter_mut().zip(laid.places) {
        for (entry, at) in row.entries.iter_mut().zip(places) {
            entry.at = at;
        }
    }
    let message = "the table has no coordinates; the places are laid out by section";
    findings.add(Code::LayoutGenerated, "x, y".into(), message.into());
    // An outline is for areas; places to stand that are told one by one have none.
    let outlines = rows.iter().zip(laid.outlines);
    let outlines =
        outlines.map(|(row, outline)| outline.filter(|_| row.entries.iter().any(|entry| entry.line.area))).collect();
    (outlines, Some(laid.scenery))
}

fn draft(
    name: String,
    rows: &[RowOf<'_>],
    sections: &[SectionName],
    outlines: Vec<Option<Outline>>,
    scenery: Option<DraftArea>,
    prices: &Prices,
) -> Draft {
    let mut drawn: Vec<DraftSection> =
        sections.iter().map(|section| DraftSection { name: section.name.clone(), ..DraftSection::default() }).collect();
    if let Some(first) = drawn.first_mut() {
        first.areas.extend(scenery);
    }
    let (radius, standing_radius) = order::radii(rows);
    let mut kept = prices.kept();
    for entry in rows_in_order(rows, sections.len()).flat_map(|row| &row.entries) {
        keep(entry, &mut kept);
    }
    for (row, outline) in rows.iter().zip(outlines) {
        let Some(section) = drawn.get_mut(row.section) else { continue };
        let text = if row.label.is_empty() { section.name.clone() } else { format!("{} {}", section.name, row.label) };
        section.areas.extend(outline.map(|outline| area(&outline, text)));
        let first = row.entries.first().map(|entry| (entry.line.kind, entry.line.restricted_view));
        let alike = row.entries.iter().all(|entry| Some((entry.line.kind, entry.line.restricted_view)) == first);
        let words = first.filter(|_| alike).and_then(|(kind, restricted)| kind.words(restricted));
        section.rows.push(DraftRow {
            label: row.label.to_owned(),
            seat_label: words.map(str::to_owned),
            seats: row
                .entries
                .iter()
                .map(|entry| DraftSeat {
                    guid: entry.guid.clone(),
                    label: entry.label.clone(),
                    position: entry.at,
                    radius: if row.standing { standing_radius } else { radius },
                    category: prices.category(entry.line),
                    kind: entry.line.kind,
                    restricted_view: entry.line.restricted_view,
                    start_direction: None,
                    uuid: None,
                })
                .collect(),
            ..DraftRow::default()
        });
    }
    Draft { name, size: None, categories: prices.categories(), sections: drawn, kept }
}

/// What a plan has no field for stays beside it.
fn keep(entry: &Entry<'_>, kept: &mut Vec<Kept>) {
    if !entry.line.note.is_empty() {
        let json = serde_json::Value::from(entry.line.note.as_str()).to_string();
        kept.push(Kept { path: note_path(&entry.guid), json });
    }
    if entry.line.blocked {
        kept.push(Kept { path: blocked_path(&entry.guid), json: "true".into() });
    }
}

fn area(outline: &Outline, text: String) -> DraftArea {
    /// Words stand out, and fit where the area is flat.
    const TEXT_SIZE: f64 = 24.0;
    let middle = Point::new(outline.size.width / 2.0, outline.size.height / 2.0);
    DraftArea {
        position: outline.corner,
        rotation: outline.rotation,
        shape: Shape::Rectangle(outline.size),
        color: None,
        border_color: Some("#888888".into()),
        text: Some((text, middle, None, TEXT_SIZE.min(outline.size.height / 2.0))),
        uuid: None,
    }
}
