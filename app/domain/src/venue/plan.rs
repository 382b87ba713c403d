//! The layout of a house as the rest of the system sees it.
//!
//! Owns the shape of a plan: sections, row objects, densely numbered seats, areas to draw, and the
//! originals that an exchange format needs back. A [`Plan`] is built by [`Draft::finish`]
//! alone, which numbers the seats and refuses what breaks a limit.
//!
//! **Invariant: `seat_no` is the index into [`Plan::seats`]**, in the canonical order: section, then
//! numeric row number or else row position, then numeric seat number or else seat position. A plan that
//! was put in the place of another keeps its numbers instead; see [`renew`].

mod document;
mod draft;
mod missing;
mod renew;

pub use missing::missing_seats;
pub use renew::{RenewError, Renewal, renew};

pub(in crate::venue) use draft::stepped;

pub use document::DocumentError;
pub use draft::{Draft, DraftArea, DraftRow, DraftSeat, DraftSection, PlanError, guid_fits};

use super::geometry::{Point, Rect, Size};
use serde::{Deserialize, Serialize};

/// Seats of one plan. Five times the largest hall; beyond, one performance's map no longer fits a frame.
pub const MAX_SEATS: usize = 100_000;
/// Row objects of one plan: at worst one a seat.
pub const MAX_ROWS: usize = 100_000;
/// Sections of one plan: their index is 16 bits wide in the published map.
pub const MAX_SECTIONS: usize = 10_000;
/// Categories of one plan: their index is 8 bits wide in the published map.
pub const MAX_CATEGORIES: usize = 250;
/// Areas of one plan.
pub const MAX_AREAS: usize = 10_000;
/// Corner points of all polygons of one plan together.
pub const MAX_POLYGON_POINTS: usize = 100_000;
/// Bytes of any one name, label or identifier.
pub const MAX_TEXT_BYTES: usize = 1_024;
/// The greatest absolute coordinate, in plan units.
pub const MAX_COORDINATE: f64 = 1_000_000.0;
/// The radius of a seat that names none, in plan units.
pub const DEFAULT_RADIUS: f64 = 10.0;
/// The text size of an area that names none, in plan units.
pub const DEFAULT_TEXT_SIZE: f64 = 16.0;

/// A venue layout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What the organizer calls it.
    pub name: String,
    /// The sheet that the plan was drawn on; content may lie outside.
    pub size: Size,
    /// The union of the sheet and all content.
    pub view_box: Rect,
    /// Abstract price levels.
    pub categories: Vec<Category>,
    /// Sections, in file order.
    pub sections: Vec<Section>,
    /// Row objects, in file order, section after section.
    pub rows: Vec<Row>,
    /// Seats; the index is the `seat_no`.
    pub seats: Vec<Seat>,
    /// Stage, bars, decoration: drawn in this order, below the seats, never sold.
    pub areas: Vec<Area>,
    /// Foreign properties that a tolerant import set aside.
    pub kept: Vec<Kept>,
}

/// An abstract price level, mapped to a price by each performance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Category {
    /// The join key; may be a meaningless id.
    pub name: String,
    /// A CSS colour, as written by the organizer.
    pub color: Option<String>,
}

/// A part of the house that is named on the ticket.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// Its name on the ticket.
    pub name: String,
    /// The id of the zone in the source.
    pub id: Option<String>,
    /// The UUID of the zone in the source.
    pub uuid: Option<String>,
    /// The origin that its rows and areas are relative to.
    pub position: Point,
}

/// Where the row's number is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowNumberPosition {
    /// Before the first seat.
    Start,
    /// After the last seat.
    End,
    /// At both ends.
    Both,
}

/// A row object: seats without an aisle between them. An aisle splits one labelled row into
/// several objects of the same label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Index into [`Plan::sections`].
    pub section: u16,
    /// The row's number or letter, as on the ticket.
    pub label: String,
    /// Where the number is drawn.
    pub number_position: Option<RowNumberPosition>,
    /// The row in words; may hold `%s` for the label.
    pub row_label: Option<String>,
    /// The seat in words; may hold `%s` for the seat's label.
    pub seat_label: Option<String>,
    /// The UUID of the row in the source.
    pub uuid: Option<String>,
    /// The origin that its seats are relative to, itself relative to the section.
    pub position: Point,
}

/// What a place is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An ordinary seat.
    #[default]
    Seat,
    /// A place for a wheelchair.
    Wheelchair,
    /// A seat for who comes with a wheelchair.
    Companion,
    /// A place to stand in an area with a capacity; its spot on the map says nothing.
    Standing,
}

impl Kind {
    /// The words for a place of a row, `%s` standing for its number, by which the pretix format
    /// carries what the place is for; none for an ordinary seat, which needs no words.
    #[must_use]
    pub const fn words(self, restricted_view: bool) -> Option<&'static str> {
        match (self, restricted_view) {
            (Self::Seat, false) => None,
            (Self::Seat, true) => Some("Seat %s, restricted view"),
            (Self::Wheelchair, false) => Some("Wheelchair place %s"),
            (Self::Wheelchair, true) => Some("Wheelchair place %s, restricted view"),
            (Self::Companion, false) => Some("Companion seat %s"),
            (Self::Companion, true) => Some("Companion seat %s, restricted view"),
            (Self::Standing, false) => Some("Standing place %s"),
            (Self::Standing, true) => Some("Standing place %s, restricted view"),
        }
    }
}

/// One place; its index in [`Plan::seats`] is its `seat_no`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seat {
    /// The permanent identity across versions of the plan.
    pub guid: String,
    /// Index into [`Plan::sections`].
    pub section: u16,
    /// Index into [`Plan::rows`].
    pub row: u32,
    /// Position among the seats of its row object, in file order: physical order, label or not.
    pub index_in_row: u32,
    /// The seat's number, as on the ticket.
    pub label: String,
    /// Absolute centre, to the right.
    pub x: f64,
    /// Absolute centre, downwards.
    pub y: f64,
    /// The centre relative to the row, as the source gave it.
    pub local: Point,
    /// Radius in plan units.
    pub radius: f64,
    /// Index into [`Plan::categories`].
    pub category: u8,
    /// What the place is for.
    pub kind: Kind,
    /// Whether something stands between the seat and the stage.
    pub restricted_view: bool,
    /// Marks a start of ordered booking: `<`, `>` or `<>`.
    pub start_direction: Option<String>,
    /// The UUID of the seat in the source.
    pub uuid: Option<String>,
    /// Whether a newer version of the plan took the place away: it keeps its number, so that this is
    /// never another's, and is neither drawn nor sold.
    #[serde(default, skip_serializing_if = "is_false")]
    pub gone: bool,
}

/// What a plan that no newer version took anything from does not write.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

impl Seat {
    /// The absolute centre.
    #[must_use]
    pub fn center(&self) -> Point {
        Point::new(self.x, self.y)
    }
}

/// The outline of an area.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Corner points relative to the area's position.
    Polygon(Vec<Point>),
    /// From the area's position to the right and downwards.
    Rectangle(Size),
    /// Radii about the area's position.
    Ellipse(Point),
    /// A radius about the area's position.
    Circle(f64),
    /// No outline, the text alone.
    Text,
}

/// Something to see that is not sold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Area {
    /// Index into [`Plan::sections`]: the section that it was drawn in.
    pub section: u16,
    /// Position relative to the section, as the source gave it.
    pub local: Point,
    /// Absolute position.
    pub position: Point,
    /// Degrees clockwise about the position; turns outline and text.
    pub rotation: f64,
    /// The outline.
    pub shape: Shape,
    /// Fill, a CSS colour as written.
    pub color: Option<String>,
    /// Border, a CSS colour as written.
    pub border_color: Option<String>,
    /// Words in it.
    pub text: Option<AreaText>,
    /// The UUID of the area in the source.
    pub uuid: Option<String>,
}

/// Words in an area.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AreaText {
    /// The words.
    pub text: String,
    /// Centre relative to the area, as the source gave it.
    pub local: Point,
    /// Absolute centre.
    pub position: Point,
    /// A CSS colour as written.
    pub color: Option<String>,
    /// Height in plan units.
    pub size: f64,
}

/// A foreign property that a tolerant import set aside instead of dropping it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Where it stood, such as `zones[0].rows[3].vendor`.
    pub path: String,
    /// Its value as JSON text.
    pub json: String,
}

/// The parts that name a seat to people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeatLabel<'a> {
    /// The section's name.
    pub section: &'a str,
    /// The row's label.
    pub row: &'a str,
    /// The seat's label.
    pub seat: &'a str,
}

impl Plan {
    /// The seat of that number.
    #[must_use]
    pub fn seat(&self, seat_no: u32) -> Option<&Seat> {
        self.seats.get(usize::try_from(seat_no).ok()?)
    }

    /// The words for the seat of that number.
    #[must_use]
    pub fn seat_label(&self, seat_no: u32) -> Option<SeatLabel<'_>> {
        let seat = self.seat(seat_no)?;
        Some(SeatLabel {
            section: &self.sections.get(usize::from(seat.section))?.name,
            row: &self.rows.get(seat.row as usize)?.label,
            seat: &seat.label,
        })
    }

    /// The seat numbers of each row object in file order, which is the order of sitting: two that
    /// follow each other are neighbours unless the drawing leaves a gap. Places that are gone are in none.
    #[must_use]
    pub fn seats_by_row(&self) -> Vec<Vec<u32>> {
        let mut rows = vec![Vec::new(); self.rows.len()];
        for (seat_no, seat) in (0_u32..).zip(&self.seats).filter(|(_, seat)| !seat.gone) {
            if let Some(row) = rows.get_mut(seat.row as usize) {
                row.push((seat.index_in_row, seat_no));
            }
        }
        rows.into_iter()
            .map(|mut row: Vec<(u32, u32)>| {
                row.sort_unstable();
                row.into_iter().map(|(_, seat_no)| seat_no).collect()
            })
            .collect()
    }

    /// Where everyone looks: the middle of the first area whose words name a stage, else the
    /// middle of the top edge.
    #[must_use]
    pub fn focal_point(&self) -> Point {
        self.areas
            .iter()
            .find(|area| area.text.as_ref().is_some_and(|text| names_stage(&text.text)))
            .and_then(Area::bounds)
            .map_or_else(|| Point::new(self.view_box.center().x, self.view_box.min.y), Rect::center)
    }

    /// Where the seat stood in the source, such as `zones[0].rows[3].seats[7]`.
    #[must_use]
    pub fn path_of(&self, seat: &Seat) -> String {
        let first = self.rows.partition_point(|row| row.section < seat.section);
        format!(
            "zones[{}].rows[{}].seats[{}]",
            seat.section,
            (seat.row as usize).saturating_sub(first),
            seat.index_in_row
        )
    }
}

impl Area {
    /// The box around the turned outline; for a text alone, its centre.
    #[must_use]
    pub fn bounds(&self) -> Option<Rect> {
        let corners: Vec<Point> = match &self.shape {
            Shape::Polygon(points) => points.clone(),
            Shape::Rectangle(size) => vec![
                Point::default(),
                Point::new(size.width, 0.0),
                Point::new(size.width, size.height),
                Point::new(0.0, size.height),
            ],
            // The box of a turned ellipse lies within that of its greater circle.
            Shape::Ellipse(radii) => circle_box(radii.x.abs().max(radii.y.abs())),
            Shape::Circle(radius) => circle_box(radius.abs()),
            Shape::Text => vec![self.text.as_ref()?.local],
        };
        let (sin, cos) = self.rotation.to_radians().sin_cos();
        Rect::bounding(corners.into_iter().map(|corner| {
            self.position.plus(Point::new(corner.x * cos - corner.y * sin, corner.x * sin + corner.y * cos))
        }))
    }
}

fn circle_box(radius: f64) -> Vec<Point> {
    vec![
        Point::new(-radius, -radius),
        Point::new(radius, -radius),
        Point::new(radius, radius),
        Point::new(-radius, radius),
    ]
}

/// The word for a stage in the languages that real plans come in.
fn names_stage(text: &str) -> bool {
    const WORDS: [&str; 12] = [
        "stage",
        "bühne",
        "buhne",
        "scène",
        "scene",
        "escenario",
        "palco",
        "сцена",
        "舞台",
        "ステージ",
        "무대",
        "scena",
    ];
    let text = text.to_lowercase();
    // The middle of a generated bowl.
    if text == "pitch" {
        return true;
    }
    // "Backstage" and "stage door" are places to stay away from.
    !text.contains("backstage") && !text.contains("door") && WORDS.iter().any(|word| text.contains(word))
}
