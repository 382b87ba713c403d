//! The tiers around the floor: curved rows, straight aisles, cross-aisles with wheelchair places.
//!
//! Owns counting and placing the seats of the bowl. Both go through [`Tier::run`], so that what was
//! counted is what is drawn.

use super::oval::Oval;
use super::{Level, ROW_DEPTH, SEAT_PITCH, SEAT_RADIUS};
use crate::venue::geometry::{Point, whole};
use crate::venue::plan::{DraftRow, DraftSeat, DraftSection, Kind, RowNumberPosition};

/// Clear width between two sections, beyond half a pitch on each side.
const AISLE: f64 = 34.0;
/// From the inner edge to the first row.
const FIRST_ROW: f64 = 30.0;
/// From the last row of a tier to the first of the next; the cross-aisle lies in between.
const CROSS_AISLE: f64 = 96.0;
/// From the last row of a tier to its wheelchair places.
const WHEELCHAIR_OFFSET: f64 = 34.0;
/// A wheelchair place, its companion's seat, and the distance to the next pair.
const PAIR_PITCH: f64 = 64.0;
/// From the middle of a wheelchair place to its companion's.
const COMPANION_OFFSET: f64 = 31.0;
const WHEELCHAIR_RADIUS: f64 = 12.0;
/// One pair for so many seats of the house.
const SEATS_PER_PAIR: usize = 220;
/// Seats in the middle row of a section, about.
const SECTION_SEATS: f64 = 16.0;

/// One tier, its rows counted.
#[derive(Clone, Debug)]
struct Tier {
    hundred: usize,
    level: Level,
    lettered: bool,
    /// Offset of the first row.
    offset: f64,
    rows: usize,
    /// Headings between which the sections lie.
    bounds: Vec<f64>,
    /// Wheelchair pairs behind the last row of each section.
    pairs: usize,
}

/// The tiers, filled to the exact number of seats.
#[derive(Clone, Debug)]
pub(super) struct Bowl {
    oval: Oval,
    tiers: Vec<Tier>,
    /// Seats of each section's last row in the last tier.
    last_row: Vec<usize>,
    /// How much of that row there would be.
    last_row_full: usize,
}

/// The seats of a section's row: how many, from where, how far apart.
struct Run {
    count: usize,
    start: f64,
    pitch: f64,
}

impl Tier {
    fn sections(&self) -> usize {
        self.bounds.len() - 1
    }

    /// The row of a section at that offset: as many seats as fit, spread evenly, so that the aisles
    /// keep straight edges.
    fn run(&self, oval: &Oval, section: usize, offset: f64) -> Run {
        let from = oval.length_to(self.bounds[section], offset) + AISLE / 2.0;
        let to = oval.length_to(self.bounds[section + 1], offset) - AISLE / 2.0;
        // The slack keeps the count the same where a row fits exactly.
        let count = whole(((to - from) / SEAT_PITCH + 1e-6).floor().max(1.0));
        Run { count, start: from, pitch: (to - from) / count as f64 }
    }

    fn ring(&self, oval: &Oval, row: usize) -> usize {
        let offset = self.row_offset(row);
        (0..self.sections()).map(|section| self.run(oval, section, offset).count).sum()
    }

    fn row_offset(&self, row: usize) -> f64 {
        self.offset + row as f64 * ROW_DEPTH
    }

    fn end(&self) -> f64 {
        self.row_offset(self.rows.saturating_sub(1))
    }

    /// Beside the stage the view is cut.
    fn restricted(&self, section: usize) -> bool {
        self.sections() >= 8 && (section == 0 || section + 1 == self.sections())
    }
}

impl Bowl {
    /// Stacks tiers along the oval until floor and bowl hold exactly `seats`.
    pub(super) fn fill(oval: Oval, seats: u32, floor_seats: usize) -> Self {
        let total = seats as usize;
        let mut left = total - floor_seats;
        let shares: &[(Level, f64)] = match total {
            0..1_500 => &[(Level::Lower, 1.0)],
            1_500..6_000 => &[(Level::Lower, 0.52), (Level::Upper, 1.0)],
            _ => &[(Level::Lower, 0.40), (Level::Club, 0.15), (Level::Upper, 1.0)],
        };
        let bowl_seats = left as f64;
        let mut tiers: Vec<Tier> = Vec::new();
        let mut offset = FIRST_ROW;
        let mut pairs_wanted = total.div_ceil(SEATS_PER_PAIR);
        let mut last_row = (0, 1);
        for (index, &(level, share)) in shares.iter().enumerate() {
            let is_last = index + 1 == shares.len();
            let target = if is_last { left } else { left.min(whole(bowl_seats * share)) };
            let mut tier = Tier::opened(&oval, index, level, offset, target);
            if !is_last || shares.len() == 1 {
                tier.pairs = tier.pairs_that_fit(&oval, pairs_wanted, left);
                let placed = tier.pairs * tier.sections();
                pairs_wanted = pairs_wanted.saturating_sub(placed);
                left -= 2 * placed;
            }
            let mut filled = 0;
            let target = if is_last { left } else { target };
            while filled < target {
                let ring = tier.ring(&oval, tier.rows);
                tier.rows += 1;
                last_row = (ring.min(target - filled), ring);
                filled += ring;
            }
            left -= if is_last { target } else { filled };
            offset = tier.end() + CROSS_AISLE;
            tiers.push(tier);
        }
        let mut bowl = Self { oval, tiers, last_row: Vec::new(), last_row_full: last_row.1 };
        bowl.last_row = bowl.share_last_row(last_row.0);
        bowl
    }

    /// How full the last row is, from 0 to 1.
    pub(super) fn last_row_fill(&self) -> f64 {
        self.last_row.iter().sum::<usize>() as f64 / self.last_row_full as f64
    }

    pub(super) fn oval(&self) -> &Oval {
        &self.oval
    }

    /// The offset of the outermost row.
    pub(super) fn outer_offset(&self) -> f64 {
        self.tiers.last().map_or(FIRST_ROW, |tier| tier.end() + if tier.pairs > 0 { WHEELCHAIR_OFFSET } else { 0.0 })
    }

    /// Fills the last row from the end opposite the stage towards both sides alike.
    fn share_last_row(&self, mut seats: usize) -> Vec<usize> {
        let Some(tier) = self.tiers.last() else { return Vec::new() };
        let offset = tier.end();
        let sections = tier.sections();
        let mut shares = vec![0; sections];
        for distance in 0..sections.div_ceil(2) {
            let left = (sections - 1) / 2 - distance.min((sections - 1) / 2);
            let right = sections - 1 - left;
            let full = tier.run(&self.oval, left, offset).count;
            if left == right {
                shares[left] = seats.min(full);
                seats -= shares[left];
                continue;
            }
            let both = seats.min(2 * full);
            shares[left] = both.div_ceil(2);
            shares[right] = both / 2;
            seats -= both;
        }
        shares
    }

    pub(super) fn sections(&self) -> Vec<DraftSection> {
        let last = self.tiers.len().saturating_sub(1);
        let tiers = self.tiers.iter().enumerate();
        tiers
            .flat_map(|(index, tier)| {
                (0..tier.sections()).map(move |section| self.section(tier, section, index == last))
            })
            .collect()
    }

    fn section(&self, tier: &Tier, section: usize, last_tier: bool) -> DraftSection {
        let name = (tier.hundred * 100 + section + 1).to_string();
        let restricted_view = tier.restricted(section);
        let category = if restricted_view { Level::Side } else { tier.level } as usize;
        let mut rows = Vec::new();
        for row in 0..tier.rows {
            let offset = tier.row_offset(row);
            let run = tier.run(&self.oval, section, offset);
            let is_last = last_tier && row + 1 == tier.rows;
            let count = if is_last { self.last_row[section] } else { run.count };
            if count == 0 {
                continue;
            }
            // A shortened row keeps the places of its middle.
            let skipped = (run.count - count) / 2;
            let label = if tier.lettered { letters(row) } else { (row + 1).to_string() };
            let seats = (0..count).map(|seat| {
                let length = run.start + ((seat + skipped) as f64 + 0.5) * run.pitch;
                DraftSeat {
                    guid: format!("{name}-{label}-{}", seat + 1),
                    label: (seat + 1).to_string(),
                    position: self.place(length, offset),
                    radius: SEAT_RADIUS,
                    category,
                    kind: Kind::Seat,
                    restricted_view,
                    start_direction: None,
                    uuid: None,
                }
            });
            let words = if restricted_view { "Seat %s, restricted view" } else { "Seat %s" };
            rows.push(row_of(&label, words, seats.collect()));
        }
        rows.extend(self.wheelchair_rows(tier, section, &name, category, restricted_view));
        DraftSection { id: Some(format!("section-{name}")), name, rows, ..DraftSection::default() }
    }

    /// Two row objects of one label: the places, and the seats beside them. Their words tell what
    /// they are for, also in formats without a field for it.
    fn wheelchair_rows(
        &self,
        tier: &Tier,
        section: usize,
        name: &str,
        category: usize,
        restricted_view: bool,
    ) -> Vec<DraftRow> {
        if tier.pairs == 0 {
            return Vec::new();
        }
        let offset = tier.end() + WHEELCHAIR_OFFSET;
        let run = tier.run(&self.oval, section, offset);
        let length = run.pitch * run.count as f64;
        let first = run.start + (length - tier.pairs as f64 * PAIR_PITCH) / 2.0;
        let seat = |pair: usize, kind: Kind| {
            let (shift, radius, suffix) = match kind {
                Kind::Companion => (COMPANION_OFFSET, SEAT_RADIUS, "C"),
                _ => (0.0, WHEELCHAIR_RADIUS, ""),
            };
            let middle = first + (pair as f64 + 0.5) * PAIR_PITCH - COMPANION_OFFSET / 2.0;
            DraftSeat {
                guid: format!("{name}-W-{}{suffix}", pair + 1),
                label: format!("{}{suffix}", pair + 1),
                position: self.place(middle + shift, offset),
                radius,
                category,
                kind,
                restricted_view,
                start_direction: None,
                uuid: None,
            }
        };
        [(Kind::Wheelchair, "Wheelchair place %s"), (Kind::Companion, "Companion seat %s")]
            .into_iter()
            .map(|(kind, words)| {
                let words = match restricted_view {
                    true => format!("{words}, restricted view"),
                    false => words.to_owned(),
                };
                row_of("W", &words, (0..tier.pairs).map(|pair| seat(pair, kind)).collect())
            })
            .collect()
    }

    fn place(&self, length: f64, offset: f64) -> Point {
        self.oval.at(self.oval.heading_at(length, offset), offset)
    }
}

impl Tier {
    /// A tier without rows yet; its sections are of equal width in the row that will be its middle.
    fn opened(oval: &Oval, index: usize, level: Level, offset: f64, target: usize) -> Self {
        let length = |offset: f64| 2.0 * oval.length_to(oval.reach(), offset);
        let rows = (target as f64 * SEAT_PITCH / length(offset)).ceil();
        let middle = offset + rows * ROW_DEPTH * 0.45;
        let width = SECTION_SEATS * SEAT_PITCH + AISLE;
        let sections = (length(middle) / width / 2.0).round().max(2.0) * 2.0;
        let step = length(middle) / sections;
        let bounds = (0..=whole(sections))
            .map(|bound| {
                let length = (bound as f64 - sections / 2.0) * step;
                oval.heading_at(length, middle)
            })
            .collect();
        Self { hundred: index + 1, level, lettered: matches!(level, Level::Club), offset, rows: 0, bounds, pairs: 0 }
    }

    /// Wheelchair pairs a section, as wanted and as the narrowest section has room for.
    fn pairs_that_fit(&self, oval: &Oval, wanted: usize, left: usize) -> usize {
        let narrowest =
            (0..self.sections()).map(|section| self.run(oval, section, self.offset).count).min().unwrap_or(0);
        let room = whole(narrowest as f64 * SEAT_PITCH / PAIR_PITCH);
        let affordable = left / (8 * self.sections());
        wanted.div_ceil(self.sections()).min(room).min(affordable)
    }
}

fn row_of(label: &str, words: &str, seats: Vec<DraftSeat>) -> DraftRow {
    DraftRow {
        label: label.to_owned(),
        number_position: Some(RowNumberPosition::Start),
        row_label: Some("Row %s".to_owned()),
        seat_label: Some(words.to_owned()),
        seats,
        ..DraftRow::default()
    }
}

/// A, B, … Z, AA, BB, … without I and O, which read as digits.
fn letters(row: usize) -> String {
    const LETTERS: &[u8; 24] = b"ABCDEFGHJKLMNPQRSTUVWXYZ";
    let letter = char::from(LETTERS[row % LETTERS.len()]);
    std::iter::repeat_n(letter, row / LETTERS.len() + 1).collect()
}
