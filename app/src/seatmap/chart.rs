//! The static part of the map, made ready for drawing and asking: columns by seat number, sections
//! with their boxes, row names with their places, and the grid that finds seats.
//!
//! Built once a performance from the published map and its prices. Owns no live state.

use super::zones::{PALETTE, Zones};
use domain::SeatNo;
use domain::venue::plan::Kind;
use domain::venue::spatial::Grid;
use domain::venue::static_map::{MapArea, MapData};
use domain::venue::{Point, Rect, SeatLabel};

/// Different seat sizes that get stamps of their own; more are drawn as the nearest of these.
const SIZES_MAX: usize = 6;
/// Sizes closer than this, in plan units, count as one.
const SAME_SIZE: f64 = 0.25;
/// The colour of what is not for sale.
const NO_COLOUR: u8 = u8::MAX;

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

/// The name of a row beside its first seat.
#[derive(Clone, Debug, PartialEq)]
pub struct RowMark {
    /// Its number or letter.
    pub label: String,
    /// Where it stands.
    pub at: Point,
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
    colours: Vec<u8>,
    kinds: Vec<Kind>,
    blocks_of: Vec<u16>,
    sizes: Vec<f64>,
    sizes_of: Vec<u8>,
    blocks: Vec<Block>,
    row_marks: Vec<RowMark>,
    /// The letter of the first zone of each colour.
    letters: [char; PALETTE],
}

impl Chart {
    /// Joins the published map with the prices of a performance.
    pub fn new(map: MapData, zones: &Zones) -> Self {
        let grid = Grid::build(&map);
        let colours: Vec<u8> = map
            .seat_categories()
            .iter()
            .map(|category| zones.of_category(*category).map_or(NO_COLOUR, |zone| zone.colour))
            .collect();
        let mut letters = ['·'; PALETTE];
        for zone in zones.list().iter().rev() {
            letters[usize::from(zone.colour)] = zone.letter;
        }
        let mut chart = Self {
            grid,
            kinds: Vec::with_capacity(colours.len()),
            blocks_of: Vec::with_capacity(colours.len()),
            sizes: Vec::new(),
            sizes_of: Vec::with_capacity(colours.len()),
            blocks: blocks_of(&map),
            row_marks: row_marks_of(&map),
            colours,
            letters,
            map,
        };
        chart.fill_columns();
        chart
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
            self.blocks_of.push(seat.section);
            let size = size_index(&mut self.sizes, seat.radius);
            self.sizes_of.push(size);
            if let Some(block) = self.blocks.get_mut(usize::from(seat.section)) {
                let place = Rect::around(Point::new(seat.x, seat.y), seat.radius);
                let bounds = &mut boxes[usize::from(seat.section)];
                *bounds = Some(bounds.map_or(place, |bounds| bounds.union(place)));
                block.seats += u32::from(self.colours[seat_no as usize] != NO_COLOUR);
            }
        }
        for (block, bounds) in self.blocks.iter_mut().zip(boxes) {
            block.bounds = bounds.unwrap_or_else(|| Rect::around(block.anchor, 0.0));
            let area: f64 = block.rings.iter().map(|ring| ring_area(ring)).sum();
            block.fullness = (area.abs() / (block.bounds.width() * block.bounds.height()).max(1.0)).clamp(0.2, 1.0);
        }
    }

    /// Number of seats.
    pub fn seat_count(&self) -> usize {
        self.colours.len()
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
        self.blocks_of.get(seat.0 as usize).copied().map_or(usize::MAX, usize::from)
    }

    /// The palette colour of a seat; `None` when it is not for sale.
    pub fn colour(&self, seat: SeatNo) -> Option<u8> {
        self.colours.get(seat.0 as usize).copied().filter(|colour| *colour != NO_COLOUR)
    }

    /// The letter of a palette colour.
    pub fn letter(&self, colour: usize) -> char {
        self.letters[colour % PALETTE]
    }

    /// The category of a seat.
    pub fn category(&self, seat: SeatNo) -> u8 {
        self.map.seat_categories().get(seat.0 as usize).copied().unwrap_or(u8::MAX)
    }

    /// What a place is for.
    pub fn kind(&self, seat: SeatNo) -> Kind {
        self.kinds.get(seat.0 as usize).copied().unwrap_or_default()
    }

    /// The words that name a seat.
    pub fn label(&self, seat: SeatNo) -> Option<SeatLabel<'_>> {
        self.map.seat_label(seat.0)
    }

    /// The centre of a seat.
    pub fn place(&self, seat: SeatNo) -> Option<Point> {
        self.map.points().get(seat.0 as usize).copied()
    }

    /// The centres of all seats.
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

/// Each row's name, one seat's width before its first seat in the direction of the row.
fn row_marks_of(map: &MapData) -> Vec<RowMark> {
    (0..)
        .zip(map.rows())
        .filter(|(_, row)| !row.label.is_empty())
        .filter_map(|(index, row)| {
            let members = map.row_seats(index);
            let first = map.seat(*members.first()?)?;
            let at = Point::new(first.x, first.y);
            let ahead = members.get(1).and_then(|next| map.seat(*next)).map_or(Point::new(1.0, 0.0), |next| {
                let step = Point::new(next.x, next.y).minus(at);
                let length = step.distance(Point::default());
                if length > 0.0 { Point::new(step.x / length, step.y / length) } else { Point::new(1.0, 0.0) }
            });
            let back = first.radius * 2.1;
            Some(RowMark { label: row.label.clone(), at: at.plus(Point::new(-ahead.x * back, -ahead.y * back)) })
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
pub(super) mod tests {
    use super::*;
    use domain::Money;
    use domain::catalog::PriceZone;
    use domain::venue::generate::arena;
    use domain::venue::static_map::{decode, encode};

    /// A generated house whose last category has no price.
    pub(in super::super) fn chart(seats: u32) -> Chart {
        let plan = arena(seats, "Test hall");
        let files = encode(&plan);
        let map = decode(&files.bin, &files.json).unwrap();
        let last = map.seat_categories().iter().copied().max().unwrap();
        let prices: Vec<PriceZone> = (0..=last)
            .map(|category| PriceZone {
                category,
                name: format!("category {category}"),
                price: (category != last)
                    .then(|| Money::new(9_000 - 500 * i64::from(category), "EUR".parse().unwrap())),
            })
            .collect();
        Chart::new(map, &Zones::of(&prices))
    }

    #[test]
    fn every_seat_has_its_columns_and_lies_in_its_section() {
        let chart = chart(2_000);
        assert!(chart.seat_count() >= 1_900);
        for seat in (0..).take(chart.seat_count()).map(SeatNo) {
            let block = &chart.blocks()[chart.block_of(seat)];
            assert!(block.bounds.contains(chart.place(seat).unwrap()));
            assert!(chart.label(seat).is_some() && chart.radius(seat) > 0.0);
        }
        assert!(!chart.row_marks().is_empty());
    }

    #[test]
    fn arrows_lead_to_neighbours_and_back_along_a_row() {
        let chart = chart(2_000);
        let start = chart.nearest(chart.focal_point(), f64::MAX.sqrt() / 4.0).unwrap();
        let mut reached = std::collections::BTreeSet::from([start]);
        let mut open = vec![start];
        while let Some(seat) = open.pop() {
            for direction in [Direction::Left, Direction::Right, Direction::Up, Direction::Down] {
                if let Some(next) = chart.beside(seat, direction) {
                    let step = chart.place(next).unwrap().minus(chart.place(seat).unwrap());
                    let ahead = match direction {
                        Direction::Left => -step.x,
                        Direction::Right => step.x,
                        Direction::Up => -step.y,
                        Direction::Down => step.y,
                    };
                    assert!(ahead > 0.0, "an arrow never leads backwards");
                    if reached.insert(next) {
                        open.push(next);
                    }
                }
            }
        }
        // By keyboard alone, practically the whole house can be reached.
        assert!(reached.len() * 100 >= chart.seat_count() * 99, "{} of {}", reached.len(), chart.seat_count());
    }
}
