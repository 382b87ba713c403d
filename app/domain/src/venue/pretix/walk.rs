//! From the JSON tree to a draft: plan, zones, rows and seats.
//!
//! Owns the schema, written as code. Each step reports all that it finds and goes on, so that one
//! run tells every problem; what could not be read is left out of a draft that is then refused.

mod area;
mod fields;

use std::collections::HashMap;

use super::Mode;
use super::node::{At, Node};
use crate::venue::finding::{Code, Findings};
use crate::venue::geometry::{Point, Size};
use crate::venue::plan::{
    Category, DEFAULT_RADIUS, Draft, DraftRow, DraftSeat, DraftSection, Kept, Kind, MAX_AREAS, MAX_CATEGORIES,
    MAX_POLYGON_POINTS, MAX_ROWS, MAX_SEATS, MAX_SECTIONS, RowNumberPosition,
};
use fields::Fields;

/// The name of the category that stands in for a missing one.
const DEFAULT_CATEGORY: &str = "Default";

/// A guid as written, and what a repair would be built from.
pub(super) struct GuidAt {
    pub(super) guid: String,
    /// Indices of zone, row object and seat.
    pub(super) place: (usize, usize, usize),
    /// The words that a missing guid is replaced by.
    pub(super) fallback: String,
}

/// One run over a file.
pub(super) struct Walk<'f> {
    mode: Mode,
    findings: &'f mut Findings,
    guids: Vec<GuidAt>,
    kept: Vec<Kept>,
    categories: Vec<Category>,
    category_by_name: HashMap<String, usize>,
    left: Budget,
}

/// What may still come before a limit is told, once.
struct Budget {
    seats: usize,
    rows: usize,
    areas: usize,
    points: usize,
}

impl<'f> Walk<'f> {
    pub(super) fn new(mode: Mode, findings: &'f mut Findings) -> Self {
        Self {
            mode,
            findings,
            guids: Vec::new(),
            kept: Vec::new(),
            categories: Vec::new(),
            category_by_name: HashMap::new(),
            left: Budget { seats: MAX_SEATS, rows: MAX_ROWS, areas: MAX_AREAS, points: MAX_POLYGON_POINTS },
        }
    }

    pub(super) fn into_guids(self) -> Vec<GuidAt> {
        self.guids
    }

    pub(super) fn plan(&mut self, root: &Node) -> Option<Draft> {
        let at = At::Root;
        let fields = self.object(root, &at, &["name", "categories", "zones", "size"])?;
        let name = self.text_or(fields, "name", &at, || "Untitled plan".to_owned()).unwrap_or_default();
        if let Some(items) = self.list_or_empty(fields, "categories", &at) {
            let at = at.key("categories");
            let items = self.bounded(items, MAX_CATEGORIES, "categories", &at);
            for (index, node) in items.iter().enumerate() {
                self.category(node, &at.index(index));
            }
        }
        let size = self.size(fields, &at);
        let mut sections = Vec::new();
        if let Some(items) = self.list(fields, "zones", &at) {
            let at = at.key("zones");
            let items = self.bounded(items, MAX_SECTIONS, "sections", &at);
            for (index, node) in items.iter().enumerate() {
                sections.extend(self.zone(node, &at.index(index), index));
            }
        }
        Some(Draft {
            name,
            size,
            categories: std::mem::take(&mut self.categories),
            sections,
            kept: std::mem::take(&mut self.kept),
        })
    }

    /// The first `limit` items; more are told once.
    fn bounded<'n>(&mut self, items: &'n [Node], limit: usize, what: &str, at: &At<'_>) -> &'n [Node] {
        if items.len() > limit {
            self.add(Code::LimitExceeded, at, format!("{} {what}, the limit is {limit}", items.len()));
        }
        items.get(..limit).unwrap_or(items)
    }

    fn size(&mut self, plan: Fields<'_>, at: &At<'_>) -> Option<Size> {
        let Some(node) = self.get(plan, "size", at) else {
            self.defaulted("size", at, "the extent of the content");
            return None;
        };
        let at = at.key("size");
        let fields = self.object(node, &at, &["width", "height"])?;
        let width = self.side(fields, "width", &at);
        let height = self.side(fields, "height", &at);
        Some(Size { width: width?, height: height? })
    }

    fn side(&mut self, size: Fields<'_>, key: &'static str, at: &At<'_>) -> Option<f64> {
        let Some(value) = self.number(size, key, at) else {
            if !size.has(key) {
                self.defaulted(key, at, "the extent of the content");
            }
            return None;
        };
        let at = at.key(key);
        if value.fract() != 0.0 {
            self.add(Code::SizeNotInteger, &at, format!("{value} is not whole; it is rounded up"));
        }
        if value <= 0.0 {
            self.add(Code::SizeNotPositive, &at, format!("{value} is no size; the extent of the content is used"));
            return None;
        }
        Some(value.ceil())
    }

    fn category(&mut self, node: &Node, at: &At<'_>) {
        let Some(fields) = self.object(node, at, &["name", "color"]) else { return };
        let name = self.text(fields, "name", at);
        let color = self.optional_text(fields, "color", at);
        let Some(name) = name else {
            if !fields.has("name") {
                self.add(Code::MissingProperty, &at.key("name"), "a category needs a name".into());
            }
            return;
        };
        if self.category_by_name.contains_key(&name) {
            self.add(
                Code::CategoryRepeated,
                &at.key("name"),
                format!("category {name:?} is declared twice; the first counts, this is set aside"),
            );
            self.keep(at, node);
            return;
        }
        self.category_by_name.insert(name.clone(), self.categories.len());
        self.categories.push(Category { name, color });
    }

    fn zone(&mut self, node: &Node, at: &At<'_>, index: usize) -> Option<DraftSection> {
        let known = ["name", "zone_id", "uuid", "position", "rows", "areas"];
        let fields = self.object(node, at, &known)?;
        let id = self.optional_text(fields, "zone_id", at);
        let name = match self.text(fields, "name", at) {
            Some(name) => name,
            None => self.zone_name(id.as_deref(), index, at),
        };
        let mut section = DraftSection {
            uuid: self.optional_text(fields, "uuid", at),
            position: self.position_or_origin(fields, at),
            name,
            id,
            ..DraftSection::default()
        };
        if let Some(items) = self.list_or_empty(fields, "rows", at) {
            let at = at.key("rows");
            let items = self.bounded(items, self.left.rows, "rows from here on", &at);
            self.left.rows -= items.len();
            for (row, node) in items.iter().enumerate() {
                section.rows.extend(self.row(node, &at.index(row), (index, row), &section.name));
            }
        }
        if let Some(items) = self.optional_list(fields, "areas", at) {
            let at = at.key("areas");
            let items = self.bounded(items, self.left.areas, "areas from here on", &at);
            self.left.areas -= items.len();
            for (area, node) in items.iter().enumerate() {
                section.areas.extend(self.area(node, &at.index(area)));
            }
        }
        Some(section)
    }

    /// The schema lets a zone have no name, a ticket does not.
    fn zone_name(&mut self, id: Option<&str>, index: usize, at: &At<'_>) -> String {
        let name = id.map_or_else(|| format!("Section {}", index + 1), str::to_owned);
        self.add(Code::DefaultUsed, &at.key("name"), format!("no name; {name:?} is used"));
        name
    }

    fn row(&mut self, node: &Node, at: &At<'_>, (zone, row): (usize, usize), section: &str) -> Option<DraftRow> {
        let known = ["row_number", "row_label", "seat_label", "uuid", "seats", "row_number_position", "position"];
        let fields = self.object(node, at, &known)?;
        let label = self.text_or(fields, "row_number", at, || (row + 1).to_string()).unwrap_or_default();
        let seat_label = self.nullable_text(fields, "seat_label", at);
        let mut drawn = DraftRow {
            number_position: self.number_position(fields, at),
            row_label: self.nullable_text(fields, "row_label", at),
            uuid: self.optional_text(fields, "uuid", at),
            position: self.optional_point(fields, "position", at).unwrap_or_default(),
            label,
            seat_label,
            seats: Vec::new(),
        };
        let (kind, restricted_view) = kind_in_words(drawn.seat_label.as_deref());
        if let Some(items) = self.list_or_empty(fields, "seats", at) {
            let at = at.key("seats");
            let items = self.bounded(items, self.left.seats, "seats from here on", &at);
            self.left.seats -= items.len();
            for (index, node) in items.iter().enumerate() {
                let fallback = format!("seat/{section}/{}", drawn.label);
                let seat = self.seat(node, &at.index(index), (zone, row, index), &fallback);
                drawn.seats.extend(seat.map(|seat| DraftSeat { kind, restricted_view, ..seat }));
            }
        }
        Some(drawn)
    }

    fn number_position(&mut self, row: Fields<'_>, at: &At<'_>) -> Option<RowNumberPosition> {
        let text = self.nullable_text(row, "row_number_position", at)?;
        match text.as_str() {
            "start" => Some(RowNumberPosition::Start),
            "end" => Some(RowNumberPosition::End),
            "both" => Some(RowNumberPosition::Both),
            _ => {
                let at = at.key("row_number_position");
                self.add(Code::UnknownValue, &at, format!("{text:?} is none of start, end, both, null"));
                self.keep(&at, &Node::Text(text));
                None
            }
        }
    }

    fn seat(&mut self, node: &Node, at: &At<'_>, place: (usize, usize, usize), fallback: &str) -> Option<DraftSeat> {
        let known = ["seat_guid", "seat_number", "uuid", "start_direction", "radius", "position", "category"];
        let fields = self.object(node, at, &known)?;
        let label = self.text_or(fields, "seat_number", at, || (place.2 + 1).to_string()).unwrap_or_default();
        let guid = self.guid(fields, at);
        if let Some(guid) = guid.clone() {
            let fallback = format!("{fallback}/{label}");
            self.guids.push(GuidAt { guid, place, fallback });
        }
        let category = self.seat_category(fields, at);
        let radius = self.radius(fields, at);
        let start_direction = self.start_direction(fields, at);
        let uuid = self.optional_text(fields, "uuid", at);
        let position = self.point(fields, "position", at);
        Some(DraftSeat {
            guid: guid?,
            label,
            position: position?,
            radius,
            category: category?,
            kind: Kind::Seat,
            restricted_view: false,
            start_direction,
            uuid,
        })
    }

    /// The guid as written; empty where there is none, which the guid check deals with.
    fn guid(&mut self, seat: Fields<'_>, at: &At<'_>) -> Option<String> {
        match self.text(seat, "seat_guid", at) {
            Some(guid) => Some(guid),
            None if seat.has_value("seat_guid") => None,
            None => {
                if self.mode == Mode::Strict {
                    let at = at.key("seat_guid");
                    self.add(Code::MissingProperty, &at, "a seat needs a guid".into());
                    return None;
                }
                Some(String::new())
            }
        }
    }

    fn seat_category(&mut self, seat: Fields<'_>, at: &At<'_>) -> Option<usize> {
        let name = self.text_or(seat, "category", at, || DEFAULT_CATEGORY.to_owned())?;
        if let Some(&index) = self.category_by_name.get(&name) {
            return Some(index);
        }
        let index = self.categories.len();
        if self.mode == Mode::Tolerant {
            if index >= MAX_CATEGORIES {
                self.add(Code::LimitExceeded, &at.key("category"), format!("more categories than {MAX_CATEGORIES}"));
                return None;
            }
            self.category_by_name.insert(name.clone(), index);
            self.categories.push(Category { name: name.clone(), color: None });
        }
        self.add(Code::CategoryUndeclared, &at.key("category"), format!("category {name:?} is not declared"));
        Some(index)
    }

    fn radius(&mut self, seat: Fields<'_>, at: &At<'_>) -> f64 {
        match self.number(seat, "radius", at) {
            Some(radius) if radius > 0.0 => radius,
            Some(radius) => {
                self.add(
                    Code::RadiusNotPositive,
                    &at.key("radius"),
                    format!("{radius} is no radius; {DEFAULT_RADIUS} is used"),
                );
                DEFAULT_RADIUS
            }
            None => DEFAULT_RADIUS,
        }
    }

    fn start_direction(&mut self, seat: Fields<'_>, at: &At<'_>) -> Option<String> {
        let text = self.nullable_text(seat, "start_direction", at)?;
        if !matches!(text.as_str(), "<" | ">" | "<>") {
            self.add(
                Code::StartDirectionUnknown,
                &at.key("start_direction"),
                format!("{text:?} is none of <, >, <>; it is kept without effect"),
            );
        }
        Some(text)
    }

    fn position_or_origin(&mut self, zone: Fields<'_>, at: &At<'_>) -> Point {
        if zone.has_value("position") {
            return self.point(zone, "position", at).unwrap_or_default();
        }
        self.defaulted("position", at, "0,0");
        Point::default()
    }
}

/// The format has no field for the kind of a place; the words of the row's seats tell it.
pub(super) fn kind_in_words(seat_label: Option<&str>) -> (Kind, bool) {
    let words = seat_label.unwrap_or_default().to_lowercase();
    let kind = if words.starts_with("wheelchair") {
        Kind::Wheelchair
    } else if words.starts_with("companion") {
        Kind::Companion
    } else if words.starts_with("standing") {
        Kind::Standing
    } else {
        Kind::Seat
    };
    (kind, words.contains("restricted view"))
}
