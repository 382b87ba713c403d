//! Plans made up from a number of seats: a concert bowl for demonstrations, trials and load tests.
//!
//! Owns the proportions of the house. The same arguments always give the same plan, seat by seat.
//!
//! The house is an end-stage arena: straight floor blocks before the stage, around them an open oval
//! of up to three tiers, cut into sections by aisles that run straight from the first row to the
//! last. The oval consists of tangent arcs, so every row is a curve parallel to the one before it.

mod bowl;
mod floor;
mod oval;
mod scenery;

use super::geometry::{Point, Rect};
use super::plan::{Category, Draft, DraftSection, Plan};

/// The fewest seats of a generated arena: below, there is no bowl to speak of.
pub const MIN_ARENA_SEATS: u32 = 200;
/// The most seats of a generated arena.
pub const MAX_ARENA_SEATS: u32 = 60_000;
/// From seat to seat in a row, in plan units (about half a metre).
pub const SEAT_PITCH: f64 = 24.0;

/// From row to row.
const ROW_DEPTH: f64 = 28.0;
/// The radius of a seat.
const SEAT_RADIUS: f64 = 9.0;
/// The clear strip around the house.
const MARGIN: f64 = 90.0;
/// Widths of the moat that are tried in search of a last row that comes out full.
const VARIANTS: u32 = 96;

/// The price levels of a generated arena, best first.
const CATEGORIES: [(&str, &str); 6] = [
    ("Front Floor", "#f6c453"),
    ("Floor", "#f0904f"),
    ("Lower Bowl", "#df5d78"),
    ("Club Level", "#b45ccf"),
    ("Upper Bowl", "#5b7be6"),
    ("Side View", "#3fa7a0"),
];

/// Index into [`CATEGORIES`].
#[derive(Clone, Copy, Debug)]
enum Level {
    FrontFloor = 0,
    Floor = 1,
    Lower = 2,
    Club = 3,
    Upper = 4,
    Side = 5,
}

/// A concert arena of exactly `seats` seats, wheelchair places and companions included. Numbers
/// outside [`MIN_ARENA_SEATS`]..=[`MAX_ARENA_SEATS`] count as the nearer of the two.
#[must_use]
pub fn arena(seats: u32, name: &str) -> Plan {
    build(seats, name, false)
}

/// The same house with places to stand where [`arena`] has chairs before the stage: a pit at the front, and
/// the floor behind it where the house is large enough for both. Exactly `seats` places and seats.
#[must_use]
pub fn standing_arena(seats: u32, name: &str) -> Plan {
    build(seats, name, true)
}

fn build(seats: u32, name: &str, standing: bool) -> Plan {
    let seats = seats.clamp(MIN_ARENA_SEATS, MAX_ARENA_SEATS);
    // The widest moat never decides alone: the best-filled last row does, the narrower moat on a tie.
    let house = (0..VARIANTS)
        .map(|variant| House::plan(seats, f64::from(variant)))
        .reduce(|best, next| if next.bowl.last_row_fill() > best.bowl.last_row_fill() + 1e-9 { next } else { best })
        .expect("there is at least one variant");
    house.draw(name, standing)
}

/// A house whose measures are settled and whose seats are counted, not yet drawn.
struct House {
    floor: floor::Floor,
    bowl: bowl::Bowl,
}

impl House {
    fn plan(seats: u32, extra_moat: f64) -> Self {
        let floor = floor::Floor::for_house(seats);
        let oval = scenery::oval_around(&floor, extra_moat);
        let bowl = bowl::Bowl::fill(oval, seats, floor.seats());
        Self { floor, bowl }
    }

    fn draw(&self, name: &str, standing: bool) -> Plan {
        let mut sections = if standing { self.floor.pits() } else { self.floor.sections() };
        sections.extend(self.bowl.sections());
        let areas = scenery::areas(&self.floor, &self.bowl);
        let bounds = bounds(&sections, &self.bowl).grown(MARGIN);
        let offset = Point::new(-bounds.min.x, -bounds.min.y);
        for row in sections.iter_mut().flat_map(|section| &mut section.rows) {
            settle(row, offset);
        }
        if let Some(first) = sections.first_mut() {
            first.areas = areas;
            for area in &mut first.areas {
                area.position = rounded(area.position.plus(offset));
            }
        }
        let draft = Draft {
            name: name.to_owned(),
            size: Some(super::geometry::Size { width: bounds.width().ceil(), height: bounds.height().ceil() }),
            categories: CATEGORIES
                .iter()
                .map(|(name, color)| Category { name: (*name).to_owned(), color: Some((*color).to_owned()) })
                .collect(),
            sections,
            kept: Vec::new(),
        };
        // A name beyond the limit is the only thing that a caller can get wrong; it is cut.
        let draft = Draft { name: cut(&draft.name), ..draft };
        draft.finish().expect("guids are made of section, row and seat, and the counts are far below the limits")
    }
}

/// The text up to the limit of a label.
fn cut(text: &str) -> String {
    let mut end = text.len().min(super::plan::MAX_TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

/// Moves the row into place: its first seat becomes its origin, all on hundredths of a unit.
fn settle(row: &mut super::plan::DraftRow, offset: Point) {
    let Some(first) = row.seats.first() else { return };
    row.position = rounded(first.position.plus(offset));
    for seat in &mut row.seats {
        seat.position = rounded(rounded(seat.position.plus(offset)).minus(row.position));
    }
}

fn rounded(point: Point) -> Point {
    let round = |value: f64| (value * 100.0).round() / 100.0 + 0.0;
    Point::new(round(point.x), round(point.y))
}

fn bounds(sections: &[DraftSection], bowl: &bowl::Bowl) -> Rect {
    let seats = sections.iter().flat_map(|section| &section.rows).flat_map(|row| &row.seats);
    let seats = seats.map(|seat| Rect::around(seat.position, SEAT_RADIUS)).reduce(Rect::union);
    let gates = Rect::bounding(scenery::gate_points(bowl));
    match (seats, gates) {
        (Some(seats), Some(gates)) => seats.union(gates),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => Rect::default(),
    }
}
