//! A plan in the making: nested as people draw it, before the seats are numbered.
//!
//! Owns the way from a drawing to a [`Plan`]: canonical numbering, absolute places, limits.
//! It repairs nothing; an importer decides what to repair and does so before.

use std::collections::HashSet;

use super::{
    Area, AreaText, Category, Kept, Kind, MAX_AREAS, MAX_CATEGORIES, MAX_COORDINATE, MAX_POLYGON_POINTS, MAX_ROWS,
    MAX_SEATS, MAX_SECTIONS, MAX_TEXT_BYTES, Plan, Row, RowNumberPosition, Seat, Section, Shape,
};
use crate::venue::geometry::{Point, Rect, Size};

/// A plan as drawn.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// What the organizer calls it.
    pub name: String,
    /// The sheet; `None` takes the content's extent, in whole units.
    pub size: Option<Size>,
    /// Abstract price levels.
    pub categories: Vec<Category>,
    /// Sections with their rows and areas.
    pub sections: Vec<DraftSection>,
    /// Foreign properties set aside.
    pub kept: Vec<Kept>,
}

/// A section as drawn.
#[derive(Clone, Debug, Default)]
pub struct DraftSection {
    /// Its name on the ticket.
    pub name: String,
    /// The id of the zone in the source.
    pub id: Option<String>,
    /// The UUID of the zone in the source.
    pub uuid: Option<String>,
    /// Its origin.
    pub position: Point,
    /// Row objects.
    pub rows: Vec<DraftRow>,
    /// Areas.
    pub areas: Vec<DraftArea>,
}

/// A row object as drawn.
#[derive(Clone, Debug, Default)]
pub struct DraftRow {
    /// The row's number or letter.
    pub label: String,
    /// Where the number is drawn.
    pub number_position: Option<RowNumberPosition>,
    /// The row in words.
    pub row_label: Option<String>,
    /// The seat in words.
    pub seat_label: Option<String>,
    /// The UUID of the row in the source.
    pub uuid: Option<String>,
    /// Its origin, relative to the section.
    pub position: Point,
    /// Seats in order of sitting.
    pub seats: Vec<DraftSeat>,
}

/// A seat as drawn.
#[derive(Clone, Debug)]
pub struct DraftSeat {
    /// The permanent identity; see [`guid_fits`].
    pub guid: String,
    /// The seat's number.
    pub label: String,
    /// Its centre, relative to the row.
    pub position: Point,
    /// Radius in plan units.
    pub radius: f64,
    /// Index into [`Draft::categories`].
    pub category: usize,
    /// What the place is for.
    pub kind: Kind,
    /// Whether something stands between the seat and the stage.
    pub restricted_view: bool,
    /// Marks a start of ordered booking.
    pub start_direction: Option<String>,
    /// The UUID of the seat in the source.
    pub uuid: Option<String>,
}

/// An area as drawn.
#[derive(Clone, Debug)]
pub struct DraftArea {
    /// Its position, relative to the section.
    pub position: Point,
    /// Degrees clockwise about the position.
    pub rotation: f64,
    /// The outline.
    pub shape: Shape,
    /// Fill.
    pub color: Option<String>,
    /// Border.
    pub border_color: Option<String>,
    /// Words: text, centre relative to the area, colour, size.
    pub text: Option<(String, Point, Option<String>, f64)>,
    /// The UUID of the area in the source.
    pub uuid: Option<String>,
}

/// Why a draft is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// More of something than a plan may hold.
    #[error("{got} {what}, the limit is {limit}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there are.
        got: usize,
        /// How many there may be.
        limit: usize,
    },
    /// A text longer than [`MAX_TEXT_BYTES`].
    #[error("a text of {0} bytes, the limit is {MAX_TEXT_BYTES}")]
    TextTooLong(usize),
    /// A seat guid that the exchange formats can't carry.
    #[error("the seat guid {0:?} is empty, too short, or begins or ends with a space")]
    GuidMalformed(String),
    /// Two seats of one identity.
    #[error("the seat guid {0:?} is used twice")]
    GuidRepeated(String),
    /// A seat of a category that the draft lacks.
    #[error("seat {0:?} refers to a category that does not exist")]
    CategoryUnknown(String),
    /// A number that is not finite, out of range, or no radius.
    #[error("a coordinate, size or radius is out of range at seat or area {0:?}")]
    NumberOutOfRange(String),
}

/// Whether every exchange format can carry the guid: two characters or more, no space at either
/// end, no line break inside.
#[must_use]
pub fn guid_fits(guid: &str) -> bool {
    let inner = guid.trim_matches(' ');
    inner.len() == guid.len() && guid.chars().nth(1).is_some() && !guid.contains(['\n', '\r', '\u{2028}', '\u{2029}'])
}

impl Draft {
    /// Numbers the seats and checks the limits.
    ///
    /// # Errors
    ///
    /// The first limit or rule that the draft breaks.
    pub fn finish(mut self) -> Result<Plan, PlanError> {
        self.round();
        self.check_counts()?;
        self.check_seats()?;
        let mut flat = Flat::default();
        for (section, drawn) in (0_u16..).zip(self.sections) {
            flat.section(section, drawn)?;
        }
        flat.keyed.sort_by_key(|(key, _)| *key);
        let seats: Vec<Seat> = flat.keyed.into_iter().map(|(_, seat)| seat).collect();
        let content = seats
            .iter()
            .map(|seat| Rect::around(seat.center(), seat.radius))
            .chain(flat.areas.iter().filter_map(Area::bounds))
            .reduce(Rect::union);
        let size = self.size.unwrap_or_else(|| {
            content.map_or(Size { width: 1.0, height: 1.0 }, |content| Size {
                width: content.max.x.ceil().max(1.0),
                height: content.max.y.ceil().max(1.0),
            })
        });
        let sheet = Rect::new(0.0, 0.0, size.width, size.height);
        Ok(Plan {
            name: self.name,
            size,
            view_box: content.map_or(sheet, |content| sheet.union(content)),
            categories: self.categories,
            sections: flat.sections,
            rows: flat.rows,
            seats,
            areas: flat.areas,
            kept: self.kept,
        })
    }

    /// Brings all numbers to the steps that every written form keeps.
    fn round(&mut self) {
        if let Some(size) = &mut self.size {
            *size = Size { width: stepped(size.width), height: stepped(size.height) };
        }
        for section in &mut self.sections {
            section.position = stepped_point(section.position);
            for row in &mut section.rows {
                row.position = stepped_point(row.position);
                for seat in &mut row.seats {
                    seat.position = stepped_point(seat.position);
                    // A radius below half a step is still one.
                    seat.radius = if seat.radius > 0.0 { stepped(seat.radius).max(STEP) } else { seat.radius };
                }
            }
            section.areas.iter_mut().for_each(round_area);
        }
    }

    fn check_counts(&self) -> Result<(), PlanError> {
        let rows = self.sections.iter().map(|section| section.rows.len()).sum();
        let seats = self.sections.iter().flat_map(|section| &section.rows).map(|row| row.seats.len()).sum();
        let areas = self.sections.iter().map(|section| section.areas.len()).sum();
        let points = self
            .sections
            .iter()
            .flat_map(|section| &section.areas)
            .map(|area| match &area.shape {
                Shape::Polygon(points) => points.len(),
                _ => 0,
            })
            .sum();
        let counts = [
            ("categories", self.categories.len(), MAX_CATEGORIES),
            ("sections", self.sections.len(), MAX_SECTIONS),
            ("rows", rows, MAX_ROWS),
            ("seats", seats, MAX_SEATS),
            ("areas", areas, MAX_AREAS),
            ("polygon points", points, MAX_POLYGON_POINTS),
        ];
        match counts.into_iter().find(|(_, got, limit)| got > limit) {
            Some((what, got, limit)) => Err(PlanError::TooMany { what, got, limit }),
            None => Ok(()),
        }
    }

    fn check_seats(&self) -> Result<(), PlanError> {
        let mut seen = HashSet::new();
        let rows = self.sections.iter().flat_map(|section| &section.rows);
        for seat in rows.flat_map(|row| &row.seats) {
            if !guid_fits(&seat.guid) {
                return Err(PlanError::GuidMalformed(seat.guid.clone()));
            }
            if !seen.insert(seat.guid.as_str()) {
                return Err(PlanError::GuidRepeated(seat.guid.clone()));
            }
            if seat.category >= self.categories.len() {
                return Err(PlanError::CategoryUnknown(seat.guid.clone()));
            }
            if !(in_range(seat.radius) && seat.radius > 0.0) {
                return Err(PlanError::NumberOutOfRange(seat.guid.clone()));
            }
            text_fits(&seat.guid)?;
            text_fits(&seat.label)?;
        }
        if let Some(size) = self.size
            && !(in_range(size.width) && in_range(size.height))
        {
            return Err(PlanError::NumberOutOfRange(self.name.clone()));
        }
        self.categories.iter().try_for_each(|c| text_fits(&c.name))?;
        text_fits(&self.name)
    }
}

/// The lists of a plan while they fill.
#[derive(Default)]
struct Flat {
    sections: Vec<Section>,
    rows: Vec<Row>,
    keyed: Vec<(Key, Seat)>,
    areas: Vec<Area>,
}

/// Section, row number or position, seat number or position; then file order between equals.
type Key = (u16, i64, i64, u32, u32);

impl Flat {
    fn section(&mut self, section: u16, drawn: DraftSection) -> Result<(), PlanError> {
        text_fits(&drawn.name)?;
        place(drawn.position, &drawn.name)?;
        for (index, row) in (0_u32..).zip(drawn.rows) {
            self.row(section, drawn.position, index, row)?;
        }
        for area in drawn.areas {
            self.areas.push(absolute_area(section, drawn.position, area)?);
        }
        self.sections.push(Section { name: drawn.name, id: drawn.id, uuid: drawn.uuid, position: drawn.position });
        Ok(())
    }

    fn row(&mut self, section: u16, origin: Point, index: u32, drawn: DraftRow) -> Result<(), PlanError> {
        text_fits(&drawn.label)?;
        // `check_counts` came first: row objects fit 32 bits.
        let row = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
        let row_rank = rank(&drawn.label, index);
        let origin = origin.plus(drawn.position);
        for (seat_index, seat) in (0_u32..).zip(drawn.seats) {
            let key = (section, row_rank, rank(&seat.label, seat_index), row, seat_index);
            let center = origin.plus(seat.position);
            place(center, &seat.guid)?;
            self.keyed.push((
                key,
                Seat {
                    guid: seat.guid,
                    section,
                    row,
                    index_in_row: seat_index,
                    label: seat.label,
                    x: center.x,
                    y: center.y,
                    local: seat.position,
                    radius: seat.radius,
                    // `check_counts` and `check_seats` came first: the index exists and fits 8 bits.
                    category: u8::try_from(seat.category).unwrap_or(u8::MAX),
                    kind: seat.kind,
                    restricted_view: seat.restricted_view,
                    start_direction: seat.start_direction,
                    uuid: seat.uuid,
                    gone: false,
                },
            ));
        }
        self.rows.push(Row {
            section,
            label: drawn.label,
            number_position: drawn.number_position,
            row_label: drawn.row_label,
            seat_label: drawn.seat_label,
            uuid: drawn.uuid,
            position: drawn.position,
        });
        Ok(())
    }
}

fn absolute_area(section: u16, origin: Point, drawn: DraftArea) -> Result<Area, PlanError> {
    let position = origin.plus(drawn.position);
    let name = drawn.text.as_ref().map_or("", |(text, ..)| text.as_str());
    place(position, name)?;
    let area = Area {
        section,
        local: drawn.position,
        position,
        rotation: drawn.rotation,
        shape: drawn.shape,
        color: drawn.color,
        border_color: drawn.border_color,
        text: drawn.text.map(|(text, local, color, size)| AreaText {
            text,
            local,
            position: position.plus(local),
            color,
            size,
        }),
        uuid: drawn.uuid,
    };
    match area.bounds() {
        Some(bounds) if !(finite(bounds.min) && finite(bounds.max)) => Err(PlanError::NumberOutOfRange(String::new())),
        _ => Ok(area),
    }
}

/// A plan unit has a million steps. Rounding to them removes the noise of drawing programs
/// (7.7e-13) and makes writing and reading exact inverses, whatever the decimal reader does.
const STEPS_PER_UNIT: f64 = 1_000_000.0;
const STEP: f64 = 1.0 / STEPS_PER_UNIT;

/// The nearest step.
pub(in crate::venue) fn stepped(value: f64) -> f64 {
    // Adding zero turns a negative zero into the plain one.
    (value * STEPS_PER_UNIT).round() / STEPS_PER_UNIT + 0.0
}

fn stepped_point(point: Point) -> Point {
    Point::new(stepped(point.x), stepped(point.y))
}

fn round_area(area: &mut DraftArea) {
    area.position = stepped_point(area.position);
    area.rotation = stepped(area.rotation);
    match &mut area.shape {
        Shape::Polygon(points) => points.iter_mut().for_each(|point| *point = stepped_point(*point)),
        Shape::Rectangle(size) => *size = Size { width: stepped(size.width), height: stepped(size.height) },
        Shape::Ellipse(radii) => *radii = stepped_point(*radii),
        Shape::Circle(radius) => *radius = stepped(*radius),
        Shape::Text => {}
    }
    if let Some((_, position, _, size)) = &mut area.text {
        *position = stepped_point(*position);
        *size = stepped(*size);
    }
}

/// The number that the label is, else the position in the list.
fn rank(label: &str, index: u32) -> i64 {
    label.trim().parse().unwrap_or(i64::from(index))
}

fn text_fits(text: &str) -> Result<(), PlanError> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(PlanError::TextTooLong(text.len()));
    }
    Ok(())
}

fn in_range(value: f64) -> bool {
    value.is_finite() && value.abs() <= MAX_COORDINATE
}

fn finite(point: Point) -> bool {
    point.x.is_finite() && point.y.is_finite()
}

fn place(point: Point, name: &str) -> Result<(), PlanError> {
    // Three nested offsets, each within the range of a coordinate.
    let fits = |value: f64| value.is_finite() && value.abs() <= 3.0 * MAX_COORDINATE;
    if fits(point.x) && fits(point.y) { Ok(()) } else { Err(PlanError::NumberOutOfRange(name.to_owned())) }
}
