//! Which seats are where: a uniform grid over a map.
//!
//! Owns culling and hit testing. It never changes once built: seats don't move during a sale.

use super::geometry::{Point, Rect, index_clamped, whole};
use super::static_map::MapData;

/// Seats in a cell on average: few enough to look at all, many enough to keep the grid small.
const SEATS_PER_CELL: f64 = 4.0;

/// Seats sorted into cells.
#[derive(Clone, Debug)]
pub struct Grid {
    bounds: Rect,
    cell: f64,
    columns: usize,
    lines: usize,
    /// Where each cell begins in `seats`; one more than cells.
    starts: Vec<u32>,
    /// Numbers and places together, so that a query touches one run of memory.
    seats: Vec<(u32, Point)>,
}

impl Grid {
    /// Sorts the seats of the map, without places that are gone.
    #[must_use]
    pub fn build(map: &MapData) -> Self {
        let seats = (0_u32..).zip(map.points().iter().copied());
        Self::of(seats.zip(map.seat_flags()).filter(|(_, flags)| !flags.gone()).map(|(seat, _)| seat).collect())
    }

    /// Sorts places; the index is the `seat_no`.
    #[must_use]
    pub fn over(points: &[Point]) -> Self {
        Self::of((0_u32..).zip(points.iter().copied()).collect())
    }

    fn of(seats: Vec<(u32, Point)>) -> Self {
        let bounds = Rect::bounding(seats.iter().map(|(_, point)| *point)).unwrap_or_default();
        let count = seats.len().max(1) as f64;
        let area = bounds.width() * bounds.height();
        // Seats in one line have no area; then the length alone sets the cell.
        let longer = bounds.width().max(bounds.height());
        let cell = (area * SEATS_PER_CELL / count).sqrt().max(longer * SEATS_PER_CELL / count);
        let cell = if cell > 0.0 { cell } else { 1.0 };
        let columns = whole(bounds.width() / cell) + 1;
        let lines = whole(bounds.height() / cell) + 1;
        let mut grid = Self {
            bounds,
            cell,
            columns,
            lines,
            starts: vec![0; columns * lines + 1],
            seats: vec![(0, Point::default()); seats.len()],
        };
        for (_, point) in &seats {
            let cell = grid.cell_of(*point);
            grid.starts[cell + 1] += 1;
        }
        for index in 1..grid.starts.len() {
            grid.starts[index] += grid.starts[index - 1];
        }
        let mut next = grid.starts.clone();
        for (seat_no, point) in seats {
            let cell = grid.cell_of(point);
            grid.seats[next[cell] as usize] = (seat_no, point);
            next[cell] += 1;
        }
        grid
    }

    fn column(&self, x: f64) -> usize {
        index_clamped((x - self.bounds.min.x) / self.cell, self.columns - 1)
    }

    fn line(&self, y: f64) -> usize {
        index_clamped((y - self.bounds.min.y) / self.cell, self.lines - 1)
    }

    fn cell_of(&self, point: Point) -> usize {
        self.line(point.y) * self.columns + self.column(point.x)
    }

    /// Calls `visit` with each seat in a cell that the box touches.
    fn near(&self, rect: Rect, mut visit: impl FnMut(u32, Point)) {
        if !rect.touches(self.bounds) {
            return;
        }
        let (left, right) = (self.column(rect.min.x), self.column(rect.max.x));
        for line in self.line(rect.min.y)..=self.line(rect.max.y) {
            // Cells of one line lie side by side in memory.
            let from = self.starts[line * self.columns + left] as usize;
            let to = self.starts[line * self.columns + right + 1] as usize;
            for (seat_no, point) in self.seats.get(from..to).unwrap_or(&[]) {
                visit(*seat_no, *point);
            }
        }
    }

    /// Puts the seats whose centre lies in the box into `found`, which is emptied first. Grow the box
    /// by a radius to get those that are seen in part.
    pub fn in_rect(&self, rect: Rect, found: &mut Vec<u32>) {
        found.clear();
        self.near(rect, |seat_no, point| {
            if rect.contains(point) {
                found.push(seat_no);
            }
        });
    }

    /// The seat nearest to the place, no further than `max_dist`; of equally near ones the lowest.
    #[must_use]
    pub fn nearest(&self, x: f64, y: f64, max_dist: f64) -> Option<u32> {
        let target = Point::new(x, y);
        let mut best: Option<(f64, u32)> = None;
        let limit = max_dist * max_dist;
        self.near(Rect::around(target, max_dist), |seat_no, point| {
            let distance = point.distance_squared(target);
            if distance <= limit && best.is_none_or(|best| (distance, seat_no) < best) {
                best = Some((distance, seat_no));
            }
        });
        best.map(|(_, seat_no)| seat_no)
    }
}
