//! A layout for tables without coordinates: a block for each section, the blocks around a pitch or
//! in front of a stage.
//!
//! Owns where things go; knows no lines, guids or labels but the numbers of rows. It depends on the
//! counts alone, so that the same table always looks the same, and no two places ever overlap:
//! a block is a rectangle with its places inside, blocks in front of a stage stand in shelves, and
//! blocks of a bowl stand outward on the edges of a convex polygon, where rectangles can't meet.

mod bowl;

use crate::venue::geometry::{Point, Rect, Size};
use crate::venue::plan::{DraftArea, Shape};

/// From one seat of a row to the next.
pub(super) const SEAT_PITCH: f64 = 22.0;
/// From one row to the next.
const ROW_DEPTH: f64 = 26.0;
/// From one place to stand to the next, both ways.
const STANDING_PITCH: f64 = 10.0;
/// The radius of a place to stand.
pub(super) const STANDING_RADIUS: f64 = 4.5;
/// Clear space between the places of a block and its edge.
const PADDING: f64 = 14.0;
/// Aisle between blocks.
const AISLE: f64 = 40.0;
/// Space around everything.
const MARGIN: f64 = 40.0;
/// Seats in one line; a longer row is folded into several, each behind the other.
const LINE_SEATS_MAX: usize = 120;
/// Lines behind each other; more stand in columns side by side.
const COLUMN_LINES_MAX: usize = 100;

/// A row object: its section, label and size.
pub(super) struct RowIn<'a> {
    pub(super) section: usize,
    pub(super) label: &'a str,
    pub(super) standing: bool,
    pub(super) count: usize,
}

/// The outline of a standing area: its corner, and degrees clockwise about that.
#[derive(Clone, Debug)]
pub(super) struct Outline {
    pub(super) corner: Point,
    pub(super) size: Size,
    pub(super) rotation: f64,
}

/// Where everything is.
pub(super) struct Laid {
    /// The places of each row.
    pub(super) places: Vec<Vec<Point>>,
    /// For each row of places to stand, the outline around them.
    pub(super) outlines: Vec<Option<Outline>>,
    /// What everybody looks at.
    pub(super) scenery: DraftArea,
}

/// A section's rows in a rectangle of its own: across from the left, and back from the front edge.
struct Block {
    size: Size,
    /// Row index and the places of the row.
    rows: Vec<(usize, Vec<Point>)>,
    /// Row index, corner and size.
    standing: Vec<(usize, Rect)>,
}

/// Where a block stands: the left end of its front edge, and the direction that its front edge runs in.
#[derive(Clone, Copy)]
struct Stand {
    corner: Point,
    /// Sine and cosine of the front edge's direction; back is a quarter turn to its left or right.
    sin: f64,
    cos: f64,
    /// Whether back is to the left of the front edge, as in a bowl that is walked clockwise.
    back_left: bool,
}

impl Stand {
    fn place(&self, local: Point) -> Point {
        let back = if self.back_left { -local.y } else { local.y };
        Point::new(
            self.corner.x + local.x * self.cos - back * self.sin,
            self.corner.y + local.x * self.sin + back * self.cos,
        )
    }

    /// The outline of an upright rectangle of the block.
    fn outline(&self, rect: Rect) -> Outline {
        // A rectangle goes to the right and downwards of its corner; where back is up, that corner is
        // the one at the back.
        let corner = if self.back_left { Point::new(rect.min.x, rect.max.y) } else { rect.min };
        Outline {
            corner: rounded(self.place(corner)),
            size: Size { width: rect.width(), height: rect.height() },
            rotation: hundredth(self.sin.atan2(self.cos).to_degrees()),
        }
    }
}

/// Lays out all rows. `stands` names, for each section, the part of the house that it belongs to.
pub(super) fn generate(rows: &[RowIn<'_>], stands: &[&str]) -> Laid {
    let blocks: Vec<Block> = (0..stands.len()).map(|section| block(rows, section)).collect();
    let (placed, scenery) = bowl::arrange(&blocks, stands).unwrap_or_else(|| shelves(&blocks));
    let mut places: Vec<Vec<Point>> = rows.iter().map(|_| Vec::new()).collect();
    let mut outlines: Vec<Option<Outline>> = rows.iter().map(|_| None).collect();
    for (block, stand) in blocks.iter().zip(&placed) {
        for (row, local) in &block.rows {
            if let Some(slot) = places.get_mut(*row) {
                *slot = local.iter().map(|point| rounded(stand.place(*point))).collect();
            }
        }
        for (row, rect) in &block.standing {
            if let Some(slot) = outlines.get_mut(*row) {
                *slot = Some(stand.outline(*rect));
            }
        }
    }
    Laid { places, outlines, scenery }
}

fn hundredth(value: f64) -> f64 {
    (value * 100.0).round() / 100.0 + 0.0
}

fn rounded(point: Point) -> Point {
    Point::new(hundredth(point.x), hundredth(point.y))
}

/// Places to stand in a grid, from the corner of its outline.
pub(super) struct Grid {
    pub(super) places: Vec<Point>,
    pub(super) size: Size,
}

/// A grid somewhat wider than deep.
pub(super) fn standing_grid(count: usize) -> Grid {
    const WIDER: f64 = 1.6;
    let across = crate::venue::geometry::whole((count as f64 * WIDER).sqrt().ceil()).max(1);
    let lines = count.div_ceil(across).max(1);
    let place = |index: usize| {
        let (line, column) = (index / across, index % across);
        let start = PADDING + STANDING_PITCH / 2.0;
        Point::new(start + column as f64 * STANDING_PITCH, start + line as f64 * STANDING_PITCH)
    };
    let size = Size {
        width: across as f64 * STANDING_PITCH + 2.0 * PADDING,
        height: lines as f64 * STANDING_PITCH + 2.0 * PADDING,
    };
    Grid { places: (0..count).map(place).collect(), size }
}

/// Standing areas in front, then the rows by number, each folded where it is too long for a line.
fn block(rows: &[RowIn<'_>], section: usize) -> Block {
    let of_section = |row: &&(usize, &RowIn<'_>)| row.1.section == section;
    let all: Vec<(usize, &RowIn<'_>)> = rows.iter().enumerate().collect();
    let mut block = Block { size: Size::default(), rows: Vec::new(), standing: Vec::new() };
    for (index, row) in all.iter().filter(of_section).filter(|(_, row)| row.standing) {
        let grid = standing_grid(row.count);
        let front = Point::new(0.0, block.size.height);
        block.rows.push((*index, grid.places.iter().map(|place| front.plus(*place)).collect()));
        let rect = Rect::new(0.0, front.y, grid.size.width, front.y + grid.size.height);
        block.standing.push((*index, rect));
        block.size = Size { width: block.size.width.max(rect.max.x), height: rect.max.y };
    }
    let mut seated: Vec<(usize, &RowIn<'_>)> =
        all.iter().filter(of_section).filter(|(_, row)| !row.standing).copied().collect();
    let numbers: Option<Vec<u64>> = seated.iter().map(|(_, row)| row.label.parse().ok()).collect();
    if numbers.is_some() {
        seated.sort_by_key(|(_, row)| row.label.parse::<u64>().unwrap_or_default());
    }
    if !seated.is_empty() {
        columns(&seated, &mut block);
    }
    block
}

/// Lines of seats, at most [`COLUMN_LINES_MAX`] behind each other.
fn columns(seated: &[(usize, &RowIn<'_>)], block: &mut Block) {
    // A section whose seats have no row at all becomes a square, not a thread.
    let fold = |count: usize| {
        if count <= LINE_SEATS_MAX {
            count.max(1)
        } else {
            crate::venue::geometry::whole((count as f64 * 1.5).sqrt().ceil()).clamp(1, 3 * LINE_SEATS_MAX)
        }
    };
    // Each line: the row, the first seat and the seats in it.
    let lines: Vec<(usize, usize)> = seated
        .iter()
        .flat_map(|(index, row)| {
            let width = fold(row.count);
            (0..row.count).step_by(width).map(move |first| (*index, width.min(row.count - first)))
        })
        .collect();
    let front = block.size.height;
    let mut left = 0.0;
    let mut depth = 0_usize;
    let mut places: std::collections::BTreeMap<usize, Vec<Point>> = std::collections::BTreeMap::new();
    for column in lines.chunks(COLUMN_LINES_MAX) {
        let widest = column.iter().map(|(_, count)| *count).max().unwrap_or(1) as f64 * SEAT_PITCH;
        for (line, (row, count)) in column.iter().enumerate() {
            let start = left + PADDING + (widest - *count as f64 * SEAT_PITCH) / 2.0 + SEAT_PITCH / 2.0;
            let y = front + PADDING + (line as f64 + 0.5) * ROW_DEPTH;
            let seats = (0..*count).map(|seat| Point::new(start + seat as f64 * SEAT_PITCH, y));
            places.entry(*row).or_default().extend(seats);
        }
        left += widest + 2.0 * PADDING;
        depth = depth.max(column.len());
    }
    block.rows.extend(places);
    block.size = Size { width: block.size.width.max(left), height: front + depth as f64 * ROW_DEPTH + 2.0 * PADDING };
}

/// Few sections, or odd ones: shelves in front of a stage.
fn shelves(blocks: &[Block]) -> (Vec<Stand>, DraftArea) {
    const STAGE_DEPTH: f64 = 120.0;
    let widest = blocks.iter().map(|block| block.size.width).fold(0.0, f64::max);
    let area: f64 = blocks.iter().map(|block| (block.size.width + AISLE) * (block.size.height + AISLE)).sum::<f64>();
    let most = widest.max((area * 1.6).sqrt());
    let mut shelves: Vec<(f64, f64, Vec<usize>)> = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        match shelves.last_mut() {
            Some((width, depth, shelf)) if *width + AISLE + block.size.width <= most => {
                *width += AISLE + block.size.width;
                *depth = depth.max(block.size.height);
                shelf.push(index);
            }
            _ => shelves.push((block.size.width, block.size.height, vec![index])),
        }
    }
    let middle = MARGIN + most / 2.0;
    let mut placed = vec![Stand { corner: Point::default(), sin: 0.0, cos: 1.0, back_left: false }; blocks.len()];
    let mut y = MARGIN + STAGE_DEPTH + 2.0 * AISLE;
    for (width, depth, shelf) in shelves {
        let mut x = middle - width / 2.0;
        for index in shelf {
            if let (Some(stand), Some(block)) = (placed.get_mut(index), blocks.get(index)) {
                stand.corner = Point::new(x, y);
                x += block.size.width + AISLE;
            }
        }
        y += depth + AISLE;
    }
    let width = (most * 0.6).clamp(120.0, 2_000.0);
    let size = Size { width: hundredth(width), height: STAGE_DEPTH };
    (placed, scenery("Stage", Point::new(hundredth(middle - width / 2.0), MARGIN), size))
}

fn scenery(name: &str, corner: Point, size: Size) -> DraftArea {
    DraftArea {
        position: corner,
        rotation: 0.0,
        shape: Shape::Rectangle(size),
        color: None,
        border_color: Some("#888888".into()),
        text: Some((
            name.into(),
            Point::new(size.width / 2.0, size.height / 2.0),
            None,
            (size.height / 4.0).min(160.0),
        )),
        uuid: None,
    }
}
