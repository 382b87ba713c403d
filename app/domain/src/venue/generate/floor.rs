//! The floor before the stage: blocks of straight rows, A1 to the left of the stage's front.
//!
//! Owns the block grid; the stage's edge is at y = 0, the axis of the house at x = 0.

use super::{Level, ROW_DEPTH, SEAT_PITCH, SEAT_RADIUS};
use crate::venue::geometry::{Point, whole};
use crate::venue::plan::{DraftRow, DraftSeat, DraftSection, Kind, RowNumberPosition};

/// Between two blocks of one line.
const COLUMN_AISLE: f64 = 52.0;
/// Between two lines of blocks.
const LINE_AISLE: f64 = 60.0;
/// From the stage to the first row.
const PIT: f64 = 90.0;
/// Rows and seats that a block has about.
const BLOCK_ROWS: f64 = 17.0;
const BLOCK_SEATS: f64 = 14.0;

/// The measures of the floor.
#[derive(Clone, Debug)]
pub(super) struct Floor {
    columns: usize,
    lines: usize,
    seats_across: usize,
    rows_deep: usize,
}

impl Floor {
    /// About the share of the house that the floor takes: small houses are mostly floor.
    pub(super) fn for_house(seats: u32) -> Self {
        let share = match seats {
            0..1_500 => 0.40,
            1_500..6_000 => 0.22,
            _ => 0.15,
        };
        let target = f64::from(seats) * share;
        // A little deeper than wide.
        let across = (target * ROW_DEPTH / (SEAT_PITCH * 1.05)).sqrt();
        let columns = (across / BLOCK_SEATS).round().clamp(2.0, 6.0);
        let seats_across = (across / columns).round().max(3.0);
        let deep = target / (columns * seats_across);
        let lines = (deep / BLOCK_ROWS).round().clamp(1.0, 5.0);
        let rows_deep = (deep / lines).round().max(2.0);
        Self {
            columns: whole(columns),
            lines: whole(lines),
            seats_across: whole(seats_across),
            rows_deep: whole(rows_deep),
        }
    }

    pub(super) fn seats(&self) -> usize {
        self.columns * self.lines * self.seats_across * self.rows_deep
    }

    pub(super) fn half_width(&self) -> f64 {
        let blocks = (self.columns * self.seats_across) as f64 * SEAT_PITCH;
        (blocks + (self.columns - 1) as f64 * COLUMN_AISLE) / 2.0
    }

    /// From the stage's edge to behind the last row.
    pub(super) fn depth(&self) -> f64 {
        let rows = (self.lines * self.rows_deep) as f64 * ROW_DEPTH;
        PIT + rows + (self.lines - 1) as f64 * LINE_AISLE
    }

    pub(super) fn sections(&self) -> Vec<DraftSection> {
        let mut sections = Vec::new();
        for (line, letter) in (0..self.lines).zip('A'..='Z') {
            for column in 0..self.columns {
                sections.push(self.block(line, letter, column));
            }
        }
        sections
    }

    /// Places to stand instead of chairs, as many: the first line is the pit, the others are the floor.
    pub(super) fn pits(&self) -> Vec<DraftSection> {
        let per_line = self.seats() / self.lines;
        let height = self.rows_deep as f64 * ROW_DEPTH;
        let behind = PIT + height + LINE_AISLE;
        let mut sections = vec![self.pit("Pit", PIT, height, per_line, Level::FrontFloor)];
        if self.lines > 1 {
            sections.push(self.pit("Floor", behind, self.depth() - behind, self.seats() - per_line, Level::Floor));
        }
        sections
    }

    /// One standing area as wide as the floor, its places on a grid.
    fn pit(&self, name: &str, top: f64, height: f64, places: usize, level: Level) -> DraftSection {
        let width = self.half_width() * 2.0;
        let across = whole((places as f64 * width / height).sqrt().ceil()).max(1);
        let deep = places.div_ceil(across);
        let (step, depth) = (width / across as f64, height / deep as f64);
        let seats = (0..places).map(|place| DraftSeat {
            guid: format!("{}-{}", name.to_lowercase(), place + 1),
            label: (place + 1).to_string(),
            position: Point::new(
                ((place % across) as f64 + 0.5) * step - self.half_width(),
                top + ((place / across) as f64 + 0.5) * depth,
            ),
            radius: (step.min(depth) * 40.0).round() / 100.0,
            category: level as usize,
            kind: Kind::Standing,
            restricted_view: false,
            start_direction: None,
            uuid: None,
        });
        let row = DraftRow {
            seat_label: Kind::Standing.words(false).map(str::to_owned),
            seats: seats.collect(),
            ..DraftRow::default()
        };
        DraftSection {
            id: Some(format!("floor-{}", name.to_lowercase())),
            rows: vec![row],
            name: name.to_owned(),
            ..DraftSection::default()
        }
    }

    fn block(&self, line: usize, letter: char, column: usize) -> DraftSection {
        let name = format!("{letter}{}", column + 1);
        let width = self.seats_across as f64 * SEAT_PITCH;
        let left = column as f64 * (width + COLUMN_AISLE) - self.half_width();
        let height = self.rows_deep as f64 * ROW_DEPTH;
        let top = PIT + line as f64 * (height + LINE_AISLE);
        let level = if line == 0 { Level::FrontFloor } else { Level::Floor };
        let rows = (0..self.rows_deep).map(|row| {
            let y = top + (row as f64 + 0.5) * ROW_DEPTH;
            let seats = (0..self.seats_across).map(|seat| DraftSeat {
                guid: format!("{name}-{}-{}", row + 1, seat + 1),
                label: (seat + 1).to_string(),
                position: Point::new(left + (seat as f64 + 0.5) * SEAT_PITCH, y),
                radius: SEAT_RADIUS,
                category: level as usize,
                kind: Kind::Seat,
                restricted_view: false,
                start_direction: None,
                uuid: None,
            });
            DraftRow {
                label: (row + 1).to_string(),
                number_position: Some(RowNumberPosition::Start),
                seat_label: Some("Seat %s".to_owned()),
                row_label: Some("Row %s".to_owned()),
                seats: seats.collect(),
                ..DraftRow::default()
            }
        });
        DraftSection {
            id: Some(format!("floor-{}", name.to_lowercase())),
            rows: rows.collect(),
            name,
            ..DraftSection::default()
        }
    }
}
