//! From the two files to a map that can be asked.
//!
//! Owns every check between a file and its use: after [`decode`], all indices fit and all numbers
//! are finite, so that nothing that draws has to doubt them. No input makes it panic.

use std::collections::HashMap;

use super::VERSION;
use super::format::{
    Flags, HEADER_BYTES, MAGIC, MapArea, MapCategory, MapRow, MapSection, Meta, RUN_BYTES, SEAT_BYTES, SeatLabels,
};
use crate::venue::geometry::{Point, Rect};
use crate::venue::plan::{MAX_SEATS, SeatLabel};

/// Why the files are no map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The columns don't begin as they must.
    #[error("this is no map file")]
    NotAMap,
    /// Written by another version.
    #[error("the map has version {0}, this program reads {VERSION}")]
    Version(u16),
    /// Cut off or too long.
    #[error("the map file has {got} bytes, {wanted} are wanted")]
    Length {
        /// Bytes there are.
        got: usize,
        /// Bytes by the header.
        wanted: usize,
    },
    /// The JSON can't be read.
    #[error("the map's description can't be read: {0}")]
    Json(String),
    /// The parts contradict each other.
    #[error("the map contradicts itself: {0}")]
    Contradiction(&'static str),
}

/// One seat of the map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeatInfo<'a> {
    /// Index into [`MapData::sections`].
    pub section: u16,
    /// Index into [`MapData::rows`].
    pub row: u32,
    /// Its label.
    pub label: &'a str,
    /// Centre, to the right.
    pub x: f64,
    /// Centre, downwards.
    pub y: f64,
    /// Radius in plan units.
    pub radius: f64,
    /// Index into [`MapData::categories`].
    pub category: u8,
    /// What is special about it.
    pub flags: Flags,
}

/// A map in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct MapData {
    meta: Meta,
    points: Vec<Point>,
    radii: Vec<f32>,
    categories: Vec<u8>,
    flags: Vec<Flags>,
    rows: Vec<u32>,
    /// Where each row's numbers begin in `row_members`; one more than rows.
    row_starts: Vec<u32>,
    row_members: Vec<u32>,
    /// Each different seat label once: a house has few.
    labels: Vec<Box<str>>,
    label_of: Vec<u32>,
}

/// Takes little-endian values off the front.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (head, tail) = self.0.split_first_chunk::<N>().ok_or(DecodeError::NotAMap)?;
        self.0 = tail;
        Ok(*head)
    }

    fn bytes(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (head, tail) = self.0.split_at_checked(count).ok_or(DecodeError::NotAMap)?;
        self.0 = tail;
        Ok(head)
    }

    fn count(&mut self) -> Result<usize, DecodeError> {
        Ok(u32::from_le_bytes(self.take()?) as usize)
    }

    fn column(&mut self, count: usize) -> Result<Vec<u16>, DecodeError> {
        let mut value = 0_u16;
        let (pairs, _) = self.bytes(count * 2)?.as_chunks::<2>();
        Ok(pairs
            .iter()
            .map(|pair| {
                value = value.wrapping_add(u16::from_le_bytes(*pair));
                value
            })
            .collect())
    }

    fn runs(&mut self, runs: usize, seats: usize) -> Result<Vec<u32>, DecodeError> {
        let mut values = Vec::with_capacity(seats);
        for _ in 0..runs {
            let value = u32::from_le_bytes(self.take()?);
            let count = self.count()?;
            if count > seats - values.len() {
                return Err(DecodeError::Contradiction("a run goes beyond the last seat"));
            }
            values.resize(values.len() + count, value);
        }
        if values.len() == seats {
            Ok(values)
        } else {
            Err(DecodeError::Contradiction("the runs end before the last seat"))
        }
    }
}

/// Reads a map.
///
/// # Errors
///
/// The first reason why the files are no map, or don't belong together.
pub fn decode(bin: &[u8], json: &str) -> Result<MapData, DecodeError> {
    let meta: Meta = serde_json::from_str(json).map_err(|error| DecodeError::Json(error.to_string()))?;
    if meta.version != VERSION {
        return Err(DecodeError::Version(meta.version));
    }
    let mut reader = Reader(bin);
    if reader.take::<4>()? != MAGIC {
        return Err(DecodeError::NotAMap);
    }
    let version = u16::from_le_bytes(reader.take()?);
    if version != VERSION {
        return Err(DecodeError::Version(version));
    }
    reader.take::<2>()?;
    let [seats, rows, row_runs, radius_runs] = [reader.count()?, reader.count()?, reader.count()?, reader.count()?];
    if seats > MAX_SEATS || row_runs > seats || radius_runs > seats {
        return Err(DecodeError::Contradiction("more seats or runs than a plan may hold"));
    }
    let wanted = HEADER_BYTES + seats * SEAT_BYTES + (row_runs + radius_runs) * RUN_BYTES;
    if bin.len() != wanted {
        return Err(DecodeError::Length { got: bin.len(), wanted });
    }
    if rows != meta.rows.len() || seats != meta.seat_count as usize {
        return Err(DecodeError::Contradiction("the files count different rows or seats"));
    }
    let [x, y, scale] = [reader.take()?, reader.take()?, reader.take()?].map(f64::from_le_bytes);
    reader.take::<16>()?;
    let (xs, ys) = (reader.column(seats)?, reader.column(seats)?);
    let points = xs
        .into_iter()
        .zip(ys)
        .map(|(step_x, step_y)| Point::new(x + f64::from(step_x) * scale, y + f64::from(step_y) * scale));
    let points: Vec<Point> = points.collect();
    let categories = reader.bytes(seats)?.to_vec();
    let flags: Vec<Flags> = reader.bytes(seats)?.iter().copied().map(Flags).collect();
    let rows = reader.runs(row_runs, seats)?;
    let radii = reader.runs(radius_runs, seats)?.into_iter().map(f32::from_bits).collect();
    assemble(meta, Columns { points, radii, categories, flags, rows })
}

/// The columns as read, not yet checked.
struct Columns {
    points: Vec<Point>,
    radii: Vec<f32>,
    categories: Vec<u8>,
    flags: Vec<Flags>,
    rows: Vec<u32>,
}

fn assemble(meta: Meta, columns: Columns) -> Result<MapData, DecodeError> {
    check_columns(&meta, &columns)?;
    if meta.rows.iter().any(|row| usize::from(row.section) >= meta.sections.len()) {
        return Err(DecodeError::Contradiction("a row of a section that is missing"));
    }
    let (row_starts, row_members) = members(&meta, &columns.rows)?;
    let mut labels = Interner::default();
    let mut label_of = vec![0; columns.rows.len()];
    for (index, row) in meta.rows.iter().enumerate() {
        let members = slice_of(&row_starts, &row_members, index);
        label_row(row, members, &mut labels, &mut label_of)?;
    }
    let Columns { points, radii, categories, flags, rows } = columns;
    let labels = labels.labels;
    let (row_starts, row_members) = present(&row_starts, &row_members, &flags);
    Ok(MapData { meta, points, radii, categories, flags, rows, row_starts, row_members, labels, label_of })
}

fn check_columns(meta: &Meta, columns: &Columns) -> Result<(), DecodeError> {
    let finite = |point: &Point| point.x.is_finite() && point.y.is_finite();
    let radius = |radius: &f32| radius.is_finite() && *radius > 0.0;
    if !(columns.points.iter().all(finite) && columns.radii.iter().all(radius)) {
        return Err(DecodeError::Contradiction("a place or radius is no number"));
    }
    if columns.categories.iter().any(|category| usize::from(*category) >= meta.categories.len()) {
        return Err(DecodeError::Contradiction("a seat of a category that is missing"));
    }
    if columns.flags.iter().any(|flags| flags.0 & !Flags::KNOWN != 0) {
        return Err(DecodeError::Contradiction("a seat with unknown flags"));
    }
    let [_, _, width, height] = meta.view_box;
    if width < 0.0 || height < 0.0 {
        return Err(DecodeError::Contradiction("a view box turned inside out"));
    }
    let rings = meta.sections.iter().flat_map(|section| &section.outline);
    if rings.into_iter().any(|ring| ring.len() % 2 != 0) {
        return Err(DecodeError::Contradiction("an outline with half a point"));
    }
    Ok(())
}

/// The seat numbers by row without those of places that are gone, and where each row begins.
fn present(starts: &[u32], members: &[u32], flags: &[Flags]) -> (Vec<u32>, Vec<u32>) {
    let gone = |seat: &u32| flags.get(*seat as usize).is_none_or(|flags| flags.gone());
    let (mut kept_starts, mut kept) = (vec![0], Vec::with_capacity(members.len()));
    for row in 0..starts.len().saturating_sub(1) {
        kept.extend(slice_of(starts, members, row).iter().copied().filter(|seat| !gone(seat)));
        kept_starts.push(u32::try_from(kept.len()).unwrap_or(u32::MAX));
    }
    (kept_starts, kept)
}

/// The seat numbers by row, and where each row begins.
fn members(meta: &Meta, rows: &[u32]) -> Result<(Vec<u32>, Vec<u32>), DecodeError> {
    let mut starts = vec![0_u32; meta.rows.len() + 1];
    for row in rows {
        match starts.get_mut(*row as usize + 1) {
            Some(count) => *count += 1,
            None => return Err(DecodeError::Contradiction("a seat of a row that is missing")),
        }
    }
    for index in 1..starts.len() {
        starts[index] += starts[index - 1];
    }
    let mut next = starts.clone();
    let mut members = vec![0_u32; rows.len()];
    for (seat_no, row) in (0_u32..).zip(rows) {
        let slot = &mut next[*row as usize];
        members[*slot as usize] = seat_no;
        *slot += 1;
    }
    Ok((starts, members))
}

fn slice_of<'a>(starts: &[u32], members: &'a [u32], row: usize) -> &'a [u32] {
    match (starts.get(row), starts.get(row + 1)) {
        (Some(from), Some(to)) => members.get(*from as usize..*to as usize).unwrap_or(&[]),
        _ => &[],
    }
}

/// Gives each different label a number.
#[derive(Default)]
struct Interner {
    labels: Vec<Box<str>>,
    index_of: HashMap<Box<str>, u32>,
}

impl Interner {
    fn intern(&mut self, label: &str) -> u32 {
        if let Some(index) = self.index_of.get(label) {
            return *index;
        }
        // At most one label a seat, and seats are limited.
        let index = u32::try_from(self.labels.len()).unwrap_or(u32::MAX);
        self.labels.push(label.into());
        self.index_of.insert(label.into(), index);
        index
    }
}

fn label_row(row: &MapRow, members: &[u32], labels: &mut Interner, label_of: &mut [u32]) -> Result<(), DecodeError> {
    if row.count as usize != members.len() {
        return Err(DecodeError::Contradiction("a row counts other seats than it has"));
    }
    match &row.seats {
        SeatLabels::Run { start, step } => {
            for (index, seat_no) in (0_i64..).zip(members) {
                let number = step.checked_mul(index).and_then(|shift| start.checked_add(shift));
                let Some(number) = number else {
                    return Err(DecodeError::Contradiction("a label is too great a number"));
                };
                label_of[*seat_no as usize] = labels.intern(&number.to_string());
            }
        }
        SeatLabels::List(list) => {
            if list.len() != members.len() {
                return Err(DecodeError::Contradiction("a row has other labels than seats"));
            }
            for (label, seat_no) in list.iter().zip(members) {
                label_of[*seat_no as usize] = labels.intern(label);
            }
        }
    }
    Ok(())
}

impl MapData {
    /// The venue plan's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.meta.name
    }

    /// How many seats there are; their numbers are 0 up to it.
    #[must_use]
    pub fn seat_count(&self) -> u32 {
        self.meta.seat_count
    }

    /// What there is to see.
    #[must_use]
    pub fn view_box(&self) -> Rect {
        let [left, top, width, height] = self.meta.view_box;
        Rect::new(left, top, left + width, top + height)
    }

    /// Where everyone looks.
    #[must_use]
    pub fn focal_point(&self) -> Point {
        Point::new(self.meta.focal[0], self.meta.focal[1])
    }

    /// Price levels.
    #[must_use]
    pub fn categories(&self) -> &[MapCategory] {
        &self.meta.categories
    }

    /// Sections.
    #[must_use]
    pub fn sections(&self) -> &[MapSection] {
        &self.meta.sections
    }

    /// Row objects.
    #[must_use]
    pub fn rows(&self) -> &[MapRow] {
        &self.meta.rows
    }

    /// What to draw below the seats, in this order.
    #[must_use]
    pub fn areas(&self) -> &[MapArea] {
        &self.meta.areas
    }

    /// The centres of all seats; the index is the `seat_no`.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The categories of all seats; the index is the `seat_no`.
    #[must_use]
    pub fn seat_categories(&self) -> &[u8] {
        &self.categories
    }

    /// What is special about all seats; the index is the `seat_no`.
    #[must_use]
    pub fn seat_flags(&self) -> &[Flags] {
        &self.flags
    }

    /// The rows of all seats; the index is the `seat_no`.
    #[must_use]
    pub fn seat_rows(&self) -> &[u32] {
        &self.rows
    }

    /// The seat numbers of a row object, ascending, without those of places that are gone; empty for a
    /// row that is not there.
    #[must_use]
    pub fn row_seats(&self, row: u32) -> &[u32] {
        slice_of(&self.row_starts, &self.row_members, row as usize)
    }

    /// The greatest radius of a seat, for culling and hit tests.
    #[must_use]
    pub fn max_radius(&self) -> f64 {
        self.radii.iter().copied().fold(0.0, f32::max).into()
    }

    /// The seat of that number.
    #[must_use]
    pub fn seat(&self, seat_no: u32) -> Option<SeatInfo<'_>> {
        let index = seat_no as usize;
        let row = *self.rows.get(index)?;
        let point = self.points.get(index)?;
        Some(SeatInfo {
            section: self.meta.rows.get(row as usize)?.section,
            row,
            label: self.labels.get(*self.label_of.get(index)? as usize)?,
            x: point.x,
            y: point.y,
            radius: f64::from(*self.radii.get(index)?),
            category: *self.categories.get(index)?,
            flags: *self.flags.get(index)?,
        })
    }

    /// The words for the seat of that number.
    #[must_use]
    pub fn seat_label(&self, seat_no: u32) -> Option<SeatLabel<'_>> {
        let seat = self.seat(seat_no)?;
        Some(SeatLabel {
            section: &self.meta.sections.get(usize::from(seat.section))?.name,
            row: &self.meta.rows.get(seat.row as usize)?.label,
            seat: seat.label,
        })
    }
}
