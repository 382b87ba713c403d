//! The static part of the map, made ready for drawing and asking: columns by seat number, sections
//! with their boxes, row names with their places, and the grid that finds seats.
//!
//! Built once a map, coloured anew when prices or zones change. Owns no live state.
//!
//! **Invariant: a place that a newer version of the plan took away is nowhere**: in no section, row, zone
//! or count, and found by no search; its number and its name alone remain, for who has chosen it.

mod pits;
mod row_marks;

pub use pits::Pit;
pub use row_marks::RowMark;

use super::zones::{NO_ZONE, Zones};
use domain::SeatNo;
use domain::venue::plan::Kind;
use domain::venue::spatial::Grid;
use domain::venue::static_map::{MapArea, MapData};
use domain::venue::{Point, Rect, SeatLabel};

/// Different seat sizes that get stamps of their own; more are drawn as the nearest of these.
const SIZES_MAX: usize = 6;
/// Sizes closer than this, in plan units, count as one.
const SAME_SIZE: f64 = 0.25;
/// Stands for "none" where sections are written as two bytes: a plan has fewer.
const NO_BLOCK: u16 = u16::MAX;

/// A section with what is needed to show it as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Its name.
    pub name: String,
    /// Where its name stands.
    pub anchor: Point,
    /// The box around its seats.
    pub bounds: Rect,
    /// Closed rings, filled by the even-odd rule.
    pub rings: Vec<Vec<f64>>,
    /// How many seats can be sold here.
    pub seats: u32,
    /// The part of its box that its outline fills: a turned block has less room for words.
    pub fullness: f64,
}

/// A direction of the arrow keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the left.
    Left,
    /// To the right.
    Right,
    /// Upwards on the screen.
    Up,
    /// Downwards on the screen.
    Down,
}

/// The static map of one performance.
#[derive(Clone, Debug)]
pub struct Chart {
    map: MapData,
    grid: Grid,
    /// The category of each seat: the map's own, or what it was moved to.
    categories: Vec<u8>,
    /// The index of each seat's zone.
    zones_of: Vec<u8>,
    kinds: Vec<Kind>,
    /// The section of each seat, or [`NO_BLOCK`].
    blocks_of: Vec<u16>,
    sizes: Vec<f64>,
    sizes_of: Vec<u8>,
    blocks: Vec<Block>,
    row_marks: Vec<RowMark>,
    pits: Vec<Pit>,
    /// By section: the index of the standing area that it consists of.
    pit_of_block: Vec<Option<usize>>,
    /// The letter of each zone.
    letters: Vec<char>,
    /// Counts colourings, for who keeps what was made of one.
    colouring: u32,
}

impl Chart {
    /// Joins the published map with the prices of a performance.
    pub fn new(map: MapData, zones: &Zones) -> Self {
        let grid = Grid::build(&map);
        let count = map.seat_categories().len();
        let mut chart = Self {
            grid,
            categories: Vec::new(),
            zones_of: Vec::new(),
            kinds: Vec::with_capacity(count),
            blocks_of: Vec::with_capacity(count),
            sizes: Vec::new(),
            sizes_of: Vec::with_capacity(count),
            blocks: blocks_of(&map),
            row_marks: row_marks::of(&map),
            pits: Vec::new(),
            pit_of_block: Vec::new(),
            letters: Vec::new(),
            colouring: 0,
            map,
        };
        chart.fill_columns();
        chart.find_pits();
        chart.colour_by(zones, &[]);
        chart
    }

    /// Colours the seats by these zones. `moved` names seats of another zone than the map's, with its
    /// category; numbers that the map lacks are left out.
    pub fn colour_by(&mut self, zones: &Zones, moved: &[(SeatNo, u8)]) {
        self.categories.clear();
        self.categories.extend_from_slice(self.map.seat_categories());
        for (seat, category) in moved {
            if let Some(slot) = self.categories.get_mut(seat.0 as usize) {
                *slot = *category;
            }
        }
        let there = self.map.seat_flags().iter().map(|flags| !flags.gone());
        let zone_of = |(category, there): (&u8, bool)| if there { zones.index_of(*category) } else { NO_ZONE };
        self.zones_of = self.categories.iter().zip(there).map(zone_of).collect();
        self.letters = zones.list().iter().map(|zone| zone.letter).collect();
        self.colouring = self.colouring.wrapping_add(1);
        self.blocks.iter_mut().for_each(|block| block.seats = 0);
        for (block, zone) in self.blocks_of.iter().zip(&self.zones_of) {
            if let Some(block) = self.blocks.get_mut(usize::from(*block)) {
                block.seats += u32::from(*zone != NO_ZONE);
            }
        }
    }

    fn fill_columns(&mut self) {
        let mut boxes = vec![None::<Rect>; self.blocks.len()];
        for seat_no in 0..self.map.seat_count() {
            // Every number below the count has a seat: the decoder checked it.
            let Some(seat) = self.map.seat(seat_no) else { continue };
            self.kinds.push(if seat.flags.wheelchair() {
                Kind::Wheelchair
            } else if seat.flags.companion() {
                Kind::Companion
            } else if seat.flags.standing() {
                Kind::Standing
            } else {
                Kind::Seat
            });
            if seat.flags.gone() {
                self.blocks_of.push(NO_BLOCK);
                self.sizes_of.push(0);
                continue;
            }
            self.blocks_of.push(seat.section);
            let size = size_index(&mut self.sizes, seat.radius);
            self.sizes_of.push(size);
            if let Some(bounds) = boxes.get_mut(usize::from(seat.section)) {
                let place = Rect::around(Point::new(seat.x, seat.y), seat.radius);
                *bounds = Some(bounds.map_or(place, |bounds| bounds.union(place)));
            }
        }
        for (block, bounds) in self.blocks.iter_mut().zip(boxes) {
            block.bounds = bounds.unwrap_or_else(|| Rect::around(block.anchor, 0.0));
            let area: f64 = block.rings.iter().map(|ring| ring_area(ring)).sum();
            block.fullness = (area.abs() / (block.bounds.width() * block.bounds.height()).max(1.0)).clamp(0.2, 1.0);
        }
    }

    /// How many seat numbers there are, those of places that are gone among them.
    pub fn seat_count(&self) -> usize {
        self.zones_of.len()
    }

    /// How many seats there are.
    pub fn place_count(&self) -> usize {
        self.blocks_of.iter().filter(|block| **block != NO_BLOCK).count()
    }

    /// Whether a newer version of the plan took this seat away.
    pub fn is_gone(&self, seat: SeatNo) -> bool {
        self.map.seat_flags().get(seat.0 as usize).is_some_and(|flags| flags.gone())
    }

    /// What there is to see.
    pub fn view_box(&self) -> Rect {
        self.map.view_box()
    }

    /// Where everyone looks.
    pub fn focal_point(&self) -> Point {
        self.map.focal_point()
    }

    /// What is drawn below the seats.
    pub fn areas(&self) -> &[MapArea] {
        self.map.areas()
    }

    /// The sections.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The names of rows with their places.
    pub fn row_marks(&self) -> &[RowMark] {
        &self.row_marks
    }

    /// The section of a seat, as an index into [`Chart::blocks`].
    pub fn block_of(&self, seat: SeatNo) -> usize {
        let block = self.blocks_of.get(seat.0 as usize).copied().filter(|block| *block != NO_BLOCK);
        block.map_or(usize::MAX, usize::from)
    }

    /// The index of a seat's zone; `None` when it is in none, which is not for sale.
    pub fn zone(&self, seat: SeatNo) -> Option<usize> {
        self.zones_of.get(seat.0 as usize).copied().filter(|zone| *zone != NO_ZONE).map(usize::from)
    }

    /// Number of zones.
    pub fn zone_count(&self) -> usize {
        self.letters.len()
    }

    /// How many seats each zone has.
    pub fn zone_sizes(&self) -> Vec<u32> {
        let mut sizes = vec![0; self.letters.len()];
        for zone in &self.zones_of {
            if let Some(size) = sizes.get_mut(usize::from(*zone)) {
                *size += 1;
            }
        }
        sizes
    }

    /// The letter of a zone.
    pub fn letter(&self, zone: usize) -> char {
        self.letters.get(zone).copied().unwrap_or('·')
    }

    /// A number that changes with every colouring.
    pub fn colouring(&self) -> u32 {
        self.colouring
    }

    /// The category of a seat.
    pub fn category(&self, seat: SeatNo) -> u8 {
        self.categories.get(seat.0 as usize).copied().unwrap_or(u8::MAX)
    }

    /// Whether there are places of this kind.
    pub fn has(&self, kind: Kind) -> bool {
        self.kinds.iter().zip(&self.blocks_of).any(|(of, block)| *of == kind && *block != NO_BLOCK)
    }

    /// The seats of a section.
    pub fn block_seats(&self, block: usize) -> Vec<SeatNo> {
        (0..)
            .map(SeatNo)
            .zip(&self.blocks_of)
            .filter(|(_, of)| usize::from(**of) == block)
            .map(|(seat, _)| seat)
            .collect()
    }

    /// How many seats each section has, for sale or not.
    pub fn block_sizes(&self) -> Vec<u32> {
        let mut sizes = vec![0; self.blocks.len()];
        for block in &self.blocks_of {
            if let Some(size) = sizes.get_mut(usize::from(*block)) {
                *size += 1;
            }
        }
        sizes
    }

    /// The rows of a section that have seats: index and name.
    pub fn block_rows(&self, block: usize) -> Vec<(u32, &str)> {
        (0..)
            .zip(self.map.rows())
            .filter(|(index, row)| usize::from(row.section) == block && !self.map.row_seats(*index).is_empty())
            .map(|(index, row)| (index, row.label.as_str()))
            .collect()
    }

    /// The row of a seat, as an index.
    pub fn row_of(&self, seat: SeatNo) -> Option<u32> {
        self.map.seat_rows().get(seat.0 as usize).copied()
    }

    /// The seats of a row.
    pub fn row_seats(&self, row: u32) -> Vec<SeatNo> {
        self.map.row_seats(row).iter().copied().map(SeatNo).collect()
    }

    /// What a place is for.
    pub fn kind(&self, seat: SeatNo) -> Kind {
        self.kinds.get(seat.0 as usize).copied().unwrap_or_default()
    }

    /// The words that name a seat.
    pub fn label(&self, seat: SeatNo) -> Option<SeatLabel<'_>> {
        self.map.seat_label(seat.0)
    }

    /// The centre of a seat; `None` where it is gone.
    pub fn place(&self, seat: SeatNo) -> Option<Point> {
        self.map.points().get(seat.0 as usize).copied().filter(|_| !self.is_gone(seat))
    }

    /// The centres by seat number, those of places that are gone among them.
    pub fn places(&self) -> &[Point] {
        self.map.points()
    }

    /// The radii that seats are drawn with.
    pub fn sizes(&self) -> &[f64] {
        &self.sizes
    }

    /// Which of [`Chart::sizes`] each seat has.
    pub fn sizes_of(&self) -> &[u8] {
        &self.sizes_of
    }

    /// The radius of a seat.
    pub fn radius(&self, seat: SeatNo) -> f64 {
        self.sizes_of.get(seat.0 as usize).and_then(|size| self.sizes.get(usize::from(*size))).copied().unwrap_or(1.0)
    }

    /// The radius by which the level of detail is chosen: that of the first seats, the plan's own.
    pub fn usual_radius(&self) -> f64 {
        self.sizes.first().copied().unwrap_or(1.0)
    }

    /// Puts the seats seen in a box into `found`.
    pub fn seats_in(&self, seen: Rect, found: &mut Vec<u32>) {
        self.grid.in_rect(seen.grown(self.map.max_radius()), found);
    }

    /// The seats whose centre lies in a box.
    pub fn centres_in(&self, area: Rect) -> Vec<SeatNo> {
        let mut found = Vec::new();
        self.grid.in_rect(area, &mut found);
        found.into_iter().map(SeatNo).collect()
    }

    /// The seat nearest to a place, no further than `reach`.
    pub fn nearest(&self, place: Point, reach: f64) -> Option<SeatNo> {
        self.grid.nearest(place.x, place.y, reach).map(SeatNo)
    }

    /// The seat beside this one: the nearest within a quarter turn about the direction, those straight
    /// ahead before those aside, so that bent rows are followed and aisles are crossed.
    pub fn beside(&self, seat: SeatNo, direction: Direction) -> Option<SeatNo> {
        let from = self.place(seat)?;
        let whole = self.view_box().width().max(self.view_box().height());
        let mut reach = self.radius(seat) * 4.0;
        let mut found = Vec::new();
        while reach <= whole * 2.0 {
            self.grid.in_rect(Rect::around(from, reach), &mut found);
            let best = found
                .iter()
                .filter_map(|other| {
                    let to = self.place(SeatNo(*other))?.minus(from);
                    let (ahead, aside) = match direction {
                        Direction::Left => (-to.x, to.y.abs()),
                        Direction::Right => (to.x, to.y.abs()),
                        Direction::Up => (-to.y, to.x.abs()),
                        Direction::Down => (to.y, to.x.abs()),
                    };
                    // Beyond the reach a nearer one may be hidden in the corner of the box.
                    let score = 2.0f64.mul_add(aside, ahead);
                    (ahead > 0.0 && aside <= ahead && ahead <= reach).then_some((score, *other))
                })
                .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            if let Some((_, best)) = best {
                return Some(SeatNo(best));
            }
            reach *= 2.0;
        }
        None
    }
}

/// The signed area of a ring `[x, y, x, y, …]`; holes run the other way round.
fn ring_area(ring: &[f64]) -> f64 {
    let corners = || ring.chunks_exact(2);
    let doubled: f64 = corners().zip(corners().cycle().skip(1)).map(|(a, b)| a[0] * b[1] - b[0] * a[1]).sum();
    doubled / 2.0
}

fn blocks_of(map: &MapData) -> Vec<Block> {
    map.sections()
        .iter()
        .map(|section| Block {
            name: section.name.clone(),
            anchor: Point::new(section.anchor[0], section.anchor[1]),
            bounds: Rect::default(),
            rings: section.outline.clone(),
            seats: 0,
            fullness: 1.0,
        })
        .collect()
}

/// The index of a radius among the known sizes; learns it while there is room.
fn size_index(sizes: &mut Vec<f64>, radius: f64) -> u8 {
    let found = sizes.iter().position(|size| (size - radius).abs() < SAME_SIZE);
    let index = found.unwrap_or_else(|| {
        if sizes.len() < SIZES_MAX {
            sizes.push(radius);
            return sizes.len() - 1;
        }
        let by_distance = |a: &usize, b: &usize| (sizes[*a] - radius).abs().total_cmp(&(sizes[*b] - radius).abs());
        (0..sizes.len()).min_by(by_distance).unwrap_or(0)
    });
    u8::try_from(index).unwrap_or(0)
}

#[cfg(test)]
pub(super) mod tests;
