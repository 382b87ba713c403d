//! From what was found in a drawing to a draft.
//!
//! Owns the grouping into sections and rows, and the repair of what stands twice.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::fit::{Fit, round, rounded};
use super::naming::{Named, Names, capacity};
use super::standing::{MAX_LOOKS, spots};
use super::tell::{Place, Tells};
use super::walk::{Drawing, Found, MAX_STANDING};
use super::{guid, label, sitting};
use crate::venue::Point;
use crate::venue::finding::Code;
use crate::venue::geometry::{Rect, Size};
use crate::venue::plan::{
    DEFAULT_RADIUS, Draft, DraftArea, DraftRow, DraftSeat, DraftSection, Kind, MAX_SEATS, MAX_SECTIONS, Shape,
};

/// The name of a drawing without a title.
const UNTITLED: &str = "Untitled plan";
/// Corner points of all outlines of standing areas: half of what a plan may hold.
const MAX_OUTLINE_POINTS: usize = 50_000;
/// A seat is never drawn narrower than this part of its length.
const NARROWEST: f64 = 0.1;
/// The smallest radius, in plan units: smaller ones can't be seen or hit.
const LEAST_RADIUS: f64 = 0.01;
/// Between two places to stand, as a part of their distance.
const STANDING_SHARE: f64 = 0.4;
/// Height of the name of a standing area as a part of its own height.
const NAME_SHARE: f64 = 0.15;

/// A place of the plan in the making.
struct Spot {
    /// Index of the element.
    found: usize,
    label: String,
    guid: String,
    position: Point,
    radius: Option<f64>,
    /// Whether it is one of many of a standing area.
    standing: bool,
}

/// The draft, and all that is to say about it; `None` when there is nothing to draw.
pub(super) fn draft(drawing: &mut Drawing<'_>, tells: &mut Tells) -> Option<Draft> {
    if drawing.places_left_out > 0 {
        let message =
            format!("{} elements beyond {MAX_SEATS} seats or {MAX_STANDING} standing areas", drawing.places_left_out);
        tells.add(Code::LimitExceeded, Place::File, message, Vec::new());
    }
    let fit = Fit::of(drawing, tells);
    let mut areas = drawing.backdrop.areas(&fit, tells);
    let places = &drawing.places;
    let mut names = Names::new();
    let named: Vec<Option<Named>> =
        places.iter().enumerate().map(|(index, found)| names.of(index, found, tells)).collect();
    let said: Vec<Option<String>> = places.iter().map(|found| guid::said(found, tells)).collect();

    let mut spread = Spread { fit: &fit, said: &said, spots: Vec::new(), numbered: HashMap::new(), looks: MAX_LOOKS };
    spread.seats(places, &named, tells);
    let mut repeats = renumber(&mut spread.spots, &named, places);
    for spot in &mut spread.spots {
        let name = named.get(spot.found).and_then(Option::as_ref);
        if let (true, Some(name)) = (spot.guid.is_empty(), name) {
            spot.guid = guid::derived("seat", &[&name.section, &name.row, &spot.label]);
        }
    }
    spread.standing(places, &named, &mut areas, tells);
    let mut spots = spread.spots;
    let wanted = spots.iter_mut().map(|spot| std::mem::take(&mut spot.guid)).collect();
    for (spot, guid) in spots.iter_mut().zip(guid::unique(wanted)) {
        spot.guid = guid;
    }
    let mut finals: Vec<Vec<String>> = vec![Vec::new(); places.len()];
    for spot in &spots {
        if let Some(list) = finals.get_mut(spot.found) {
            list.push(spot.guid.clone());
        }
    }
    guid::tell_repeated(&said, places, &finals, tells);
    for (second, message, indices) in repeats.drain(..) {
        let guids = indices.iter().filter_map(|index| finals.get(*index)?.first().cloned()).collect();
        tells.add(Code::PlaceRepeated, second, message, guids);
    }
    let categories = names.tell(places, &finals, tells);
    let (title, _) = label::bounded(drawing.title);
    let sections = sections(spots, &named, areas, tells)?;
    let name = if title.is_empty() { UNTITLED.to_owned() } else { title };
    Some(Draft { name, size: Some(fit.size), categories, sections, kept: Vec::new() })
}

/// Seats and standing areas on their way to places.
struct Spread<'s> {
    fit: &'s Fit,
    said: &'s [Option<String>],
    spots: Vec<Spot>,
    /// The last number in use of each section and row of standing areas.
    numbered: HashMap<(String, String), usize>,
    looks: usize,
}

impl Spread<'_> {
    fn seats(&mut self, places: &[Found<'_>], named: &[Option<Named>], tells: &mut Tells) {
        for (index, (found, name)) in places.iter().zip(named).enumerate() {
            let (None, Some(name)) = (&found.area, name) else { continue };
            let Some(bounds) = found.bounds else {
                let message = format!("nothing is drawn for {:?}; it has no place", name.label);
                tells.add(Code::GeometryInvalid, found.place(), message, Vec::new());
                continue;
            };
            let (width, height) = (self.fit.length(bounds.width()), self.fit.length(bounds.height()));
            let radius = round(width.min(height).max(width.max(height) * NARROWEST) / 2.0);
            if radius < LEAST_RADIUS {
                let what = "seat drawn without any extent; it gets the usual one";
                tells.count(Code::DefaultUsed, what, &name.label, || found.place());
            }
            self.spots.push(Spot {
                found: index,
                label: name.label.clone(),
                guid: self.said.get(index).cloned().flatten().unwrap_or_default(),
                position: self.fit.point(bounds.center()),
                radius: Some(radius).filter(|radius| *radius >= LEAST_RADIUS),
                standing: false,
            });
        }
        let mut radii: Vec<f64> = self.spots.iter().filter_map(|spot| spot.radius).collect();
        radii.sort_by(f64::total_cmp);
        let usual = radii.get(radii.len() / 2).copied().unwrap_or(DEFAULT_RADIUS);
        for spot in &mut self.spots {
            spot.radius = spot.radius.or(Some(usual));
        }
    }

    fn standing(
        &mut self,
        places: &[Found<'_>],
        named: &[Option<Named>],
        areas: &mut Vec<DraftArea>,
        tells: &mut Tells,
    ) {
        let mut points_left = MAX_OUTLINE_POINTS;
        for (index, (found, name)) in places.iter().zip(named).enumerate() {
            let (Some(area), Some(name)) = (&found.area, name) else { continue };
            let room = MAX_SEATS.saturating_sub(self.spots.len());
            let count = capacity(area.capacity, room, found.place(), tells);
            let rings: Vec<Vec<Point>> =
                area.rings.iter().map(|ring| ring.iter().map(|point| self.fit.point(*point)).collect()).collect();
            let drawn = outline(&rings, found, &name.label, &mut points_left);
            let Some(bounds) = Rect::bounding(rings.iter().flatten().copied()) else {
                let message = format!("nothing is drawn for the standing area {:?}", name.label);
                tells.add(Code::GeometryInvalid, found.place(), message, Vec::new());
                continue;
            };
            areas.extend(drawn);
            let Some(count) = count else { continue };
            let Some((spots, spacing)) = spots(&rings, count, &mut self.looks) else {
                let message = format!("the outline of {:?} has no room for {count} places", name.label);
                tells.add(Code::GeometryInvalid, found.place(), message, Vec::new());
                continue;
            };
            let reach = (spacing * STANDING_SHARE).min(bounds.width().min(bounds.height()) / 2.0);
            let radius = round(reach).max(LEAST_RADIUS / 10.0);
            let number = self.numbered.entry((name.section.clone(), name.row.clone())).or_insert(0);
            if *number > 0 {
                let message = format!("another standing area {:?}; its numbers go on after {number}", name.label);
                tells.add(Code::PlaceRepeated, found.place(), message, Vec::new());
            }
            let said = self.said.get(index).cloned().flatten();
            let base = said.unwrap_or_else(|| guid::derived("area", &[&name.section, &name.row]));
            for position in spots {
                *number += 1;
                let label = number.to_string();
                let guid = format!("{base}/{label}");
                let (position, radius) = (rounded(position), Some(radius));
                self.spots.push(Spot { found: index, label, guid, position, radius, standing: true });
            }
        }
    }
}

/// The outlines of a standing area with its name, as long as there is room for their points.
fn outline(rings: &[Vec<Point>], found: &Found<'_>, name: &str, points_left: &mut usize) -> Vec<DraftArea> {
    let Some(bounds) = Rect::bounding(rings.iter().flatten().copied()) else { return Vec::new() };
    let count: usize = rings.iter().map(Vec::len).sum();
    let plain = |position, shape, text| DraftArea {
        position,
        rotation: 0.0,
        shape,
        color: found.fill.clone(),
        border_color: found.area.as_ref().and_then(|area| area.stroke.clone()),
        text,
        uuid: None,
    };
    let size = round((bounds.height() * NAME_SHARE).max(LEAST_RADIUS));
    let words = |position: Point| Some((name.to_owned(), rounded(bounds.center().minus(position)), None, size));
    // A group of many outlines is told apart by its box alone.
    if rings.len() == 1 && count <= *points_left {
        *points_left -= count;
        let position = bounds.min;
        let points = rings.iter().flatten().map(|point| rounded(point.minus(position))).collect();
        return vec![plain(position, Shape::Polygon(points), words(position))];
    }
    let extent = Size { width: round(bounds.width()), height: round(bounds.height()) };
    vec![plain(bounds.min, Shape::Rectangle(extent), words(bounds.min))]
}

/// Something to tell at a place about several.
type Repeat = (Place, String, Vec<usize>);

/// Gives seats of one section, row and number other numbers, `12 (2)` and so on, in file order; what
/// is to tell about it comes back.
fn renumber(spots: &mut [Spot], named: &[Option<Named>], places: &[Found<'_>]) -> Vec<Repeat> {
    let rows: Vec<(&str, &str)> = spots
        .iter()
        .map(|spot| named.get(spot.found).and_then(Option::as_ref).map_or(("", ""), |name| (&name.section, &name.row)))
        .collect();
    let mut taken: HashSet<(&str, &str, String)> = HashSet::new();
    let mut users: BTreeMap<(&str, &str, String), Vec<usize>> = BTreeMap::new();
    for (at, (spot, (section, row))) in spots.iter().zip(&rows).enumerate() {
        taken.insert((section, row, spot.label.clone()));
        users.entry((section, row, spot.label.clone())).or_default().push(at);
    }
    let mut told = Vec::new();
    for ((section, row, label), users) in users.into_iter().filter(|(_, users)| users.len() > 1) {
        let mut suffix = 2_usize;
        for &at in &users[1..] {
            let other = loop {
                let other = format!("{label} ({suffix})");
                suffix += 1;
                if taken.insert((section, row, other.clone())) {
                    break other;
                }
            };
            if let Some(spot) = spots.get_mut(at) {
                spot.label = other;
            }
        }
        let found: Vec<usize> = users.iter().filter_map(|at| spots.get(*at)).map(|spot| spot.found).collect();
        let Some(second) = found.get(1).and_then(|index| places.get(*index)) else { continue };
        let message = format!(
            "{} seats are section {section:?}, row {row:?}, seat {label:?}: {}",
            found.len(),
            guid::named(&found, places)
        );
        told.push((second.place(), message, found));
    }
    told
}

/// The places of one row object.
type Seated<'n> = Vec<(Spot, &'n Named)>;

/// Sections and rows in the order of the file, seats in the order of sitting.
fn sections(
    spots: Vec<Spot>,
    named: &[Option<Named>],
    areas: Vec<DraftArea>,
    tells: &mut Tells,
) -> Option<Vec<DraftSection>> {
    let mut sections: Vec<(DraftSection, Vec<Seated<'_>>)> = Vec::new();
    let mut section_of: HashMap<&str, usize> = HashMap::new();
    let mut row_of: HashMap<(&str, &str, Option<usize>), usize> = HashMap::new();
    for spot in spots {
        let Some(name) = named.get(spot.found).and_then(Option::as_ref) else { continue };
        let section = *section_of.entry(&name.section).or_insert_with(|| {
            sections.push((DraftSection { name: name.section.clone(), ..DraftSection::default() }, Vec::new()));
            sections.len() - 1
        });
        let Some((_, rows)) = sections.get_mut(section) else { continue };
        // Each standing area is a row object of its own.
        let area = spot.standing.then_some(spot.found);
        let row = *row_of.entry((&name.section, &name.row, area)).or_insert_with(|| {
            rows.push(Vec::new());
            rows.len() - 1
        });
        if let Some(row) = rows.get_mut(row) {
            row.push((spot, name));
        }
    }
    if sections.len() > MAX_SECTIONS {
        let message = format!("{} sections, the limit is {MAX_SECTIONS}", sections.len());
        tells.add(Code::LimitExceeded, Place::File, message, Vec::new());
        return None;
    }
    if sections.is_empty() {
        if areas.is_empty() {
            return None;
        }
        sections.push((DraftSection { name: UNTITLED.to_owned(), ..DraftSection::default() }, Vec::new()));
    }
    let mut drafts: Vec<DraftSection> = sections
        .into_iter()
        .map(|(section, rows)| DraftSection { rows: rows.into_iter().map(row).collect(), ..section })
        .collect();
    // One list, so that what lies over what stays as drawn.
    if let Some(first) = drafts.first_mut() {
        first.areas = areas;
    }
    Some(drafts)
}

fn row(spots: Seated<'_>) -> DraftRow {
    let standing = spots.first().is_some_and(|(spot, _)| spot.standing);
    let order = if standing {
        (0..spots.len()).collect()
    } else {
        sitting::order(&spots.iter().map(|(spot, _)| (spot.position, spot.label.as_str())).collect::<Vec<_>>())
    };
    let label = spots.first().map(|(_, name)| name.row.clone()).unwrap_or_default();
    let kind = spots.first().map(|(_, name)| (name.kind, name.restricted_view));
    let alike = spots.iter().all(|(_, name)| Some((name.kind, name.restricted_view)) == kind);
    let mut spots: Vec<Option<(Spot, &Named)>> = spots.into_iter().map(Some).collect();
    let seats = order.into_iter().filter_map(|index| spots.get_mut(index)?.take()).map(|(spot, name)| DraftSeat {
        guid: spot.guid,
        label: spot.label,
        position: spot.position,
        radius: spot.radius.unwrap_or(DEFAULT_RADIUS),
        category: name.category,
        kind: name.kind,
        restricted_view: name.restricted_view,
        start_direction: None,
        uuid: None,
    });
    let seat_label = kind.filter(|_| alike).and_then(|(kind, restricted)| words(kind, restricted));
    DraftRow { label, seat_label, seats: seats.collect(), ..DraftRow::default() }
}

/// The words of a row that tell what its places are for, where that is nothing ordinary: the
/// exchange format has no other way.
fn words(kind: Kind, restricted_view: bool) -> Option<String> {
    let what = match kind {
        Kind::Seat => "Seat %s",
        Kind::Wheelchair => "Wheelchair place %s",
        Kind::Companion => "Companion seat %s",
        Kind::Standing => "Standing place %s",
    };
    match (kind, restricted_view) {
        (Kind::Seat, false) => None,
        (_, false) => Some(what.to_owned()),
        (_, true) => Some(format!("{what}, restricted view")),
    }
}
